"""``tf.saved_model.signature_def_utils``: signatures."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.saved_model.signature_defs import build_signature_def as build_signature_def
from situs._src.saved_model.signature_defs import classification_signature_def as classification_signature_def
from situs._src.saved_model.signature_defs import is_valid_signature as is_valid_signature
from situs._src.saved_model.signature_defs import predict_signature_def as predict_signature_def
from situs._src.saved_model.signature_defs import regression_signature_def as regression_signature_def
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
