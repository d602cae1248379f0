"""``tf.tables_initializer``: everything in a graph that has to be filled before it is used, besides variables.

    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    sess.run(tf.tables_initializer())

Monitored sessions run it among their local initializers.
"""

from __future__ import annotations

from typing import Any

from situs.graph.context import get_collection
from situs.ops.placeholder import group
from situs.variables.collections import GraphKeys


def tables_initializer(name: str = "init_all_tables") -> Any:
    """An operation that runs all initializers in the collection ``TABLE_INITIALIZERS`` of the default graph."""
    return group(*get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)
