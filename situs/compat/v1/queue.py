"""``tf.compat.v1.queue``: queues that are made in the default graph, unless ops run at once.

Their methods need nothing of the kind: they add to the graph of the queue.
"""

from typing import Any as _Any

from situs.compat.v1.door import builds_graphs as _builds_graphs
from situs.devices.scope import build_into as _build_into
from situs.devices.scope import here as _here
from situs.graph.context import get_default_graph as _get_default_graph
from situs.ops import queue as _queue
from situs.ops.python_function import runs_at_once as _runs_at_once
from situs.ops.queue import QueueBase as QueueBase


class _InDefaultGraph:
    def __init__(self, *args: _Any, **kwargs: _Any) -> None:
        if _here.graph is not None or not _builds_graphs() or _runs_at_once():
            super().__init__(*args, **kwargs)
            return
        before = _build_into(_get_default_graph(), _here.scope)
        try:
            super().__init__(*args, **kwargs)
        finally:
            _build_into(*before)


class FIFOQueue(_InDefaultGraph, _queue.FIFOQueue):
    """A queue that gives elements out in the order they came in."""


class RandomShuffleQueue(_InDefaultGraph, _queue.RandomShuffleQueue):
    """A queue that gives elements out at random."""


class PaddingFIFOQueue(_InDefaultGraph, _queue.PaddingFIFOQueue):
    """A queue whose elements may differ in size."""


class PriorityQueue(_InDefaultGraph, _queue.PriorityQueue):
    """A queue that gives the element with the least priority out first."""
