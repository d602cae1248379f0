"""``tf.graph_util`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.tracing.importing import import_graph_def as import_graph_def
from situs._src.v1.frontend import build_graphs as _build_graphs
from situs._src.v1.graph_util import convert_variables_to_constants as convert_variables_to_constants
from situs._src.v1.graph_util import extract_sub_graph as extract_sub_graph

_build_graphs(globals())
