"""``tf.types`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.frontend import build_graphs as _build_graphs
from situs.compat.v1.types import experimental as experimental

_build_graphs(globals())
