"""``tensorflow.python.client.timeline``."""

from situs.session.timeline import Timeline as Timeline
