"""``tf.autodiff`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.autodiff.forward import ForwardAccumulator as ForwardAccumulator
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
