"""``tf.saved_model.builder``: what writes graphs and variables of sessions."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.saved_model.sessions import SavedModelBuilder as SavedModelBuilder
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
