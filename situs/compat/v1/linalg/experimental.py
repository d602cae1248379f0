"""``tf.linalg.experimental`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.matrix_functions import conjugate_gradient as conjugate_gradient
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
