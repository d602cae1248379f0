"""``tf.ragged``: rows of different lengths as plain values."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.composite_values import RaggedTensorValue as RaggedTensorValue
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
