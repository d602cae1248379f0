"""``tf.graph_util``: graphs as messages."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.tracing.importing import import_graph_def_v2 as import_graph_def
