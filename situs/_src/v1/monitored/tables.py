"""``tf.tables_initializer``: initializes everything in a graph except variables.

    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    sess.run(tf.tables_initializer())

Monitored sessions run it among their local initializers.
"""

from __future__ import annotations

from typing import Any

from situs._src.base.export import export
from situs._src.ir.graph.context import get_collection
from situs._src.ops.placeholder import group
from situs._src.variables.collections import GraphKeys


@export(v1=("initialize_all_tables", "tables_initializer", "initializers.tables_initializer"))
def tables_initializer(name: str = "init_all_tables") -> Any:
    """An operation that runs all initializers in the collection ``TABLE_INITIALIZERS`` of the default graph."""
    return group(*get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)
