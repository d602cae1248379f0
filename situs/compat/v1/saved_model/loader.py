"""``tf.saved_model.loader``: graphs and variables for sessions."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.saved_model.files import contains_saved_model as maybe_saved_model_directory
from situs._src.saved_model.sessions import load as load
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
