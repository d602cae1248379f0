"""``tf.python.client.timeline``: traces of sessions for Chrome's viewer."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.runtime.session.timeline import Timeline as Timeline
