"""``tf.bitwise`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.compare import bitwise_and as bitwise_and
from situs._src.ops.compare import bitwise_invert as invert
from situs._src.ops.compare import bitwise_or as bitwise_or
from situs._src.ops.compare import bitwise_xor as bitwise_xor
from situs._src.ops.compare import left_shift as left_shift
from situs._src.ops.compare import right_shift as right_shift
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
