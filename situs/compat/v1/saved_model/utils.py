"""``tf.saved_model.utils``: tensors as messages."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.saved_model.signature_defs import build_tensor_info as build_tensor_info
from situs._src.saved_model.signature_defs import get_tensor_from_tensor_info as get_tensor_from_tensor_info
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
