"""``tf.python.client``: the devices of this process, and traces of sessions."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs.python.client import device_lib as device_lib
from situs.python.client import timeline as timeline
