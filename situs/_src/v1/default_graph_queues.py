"""``tf.compat.v1.queue``: queues created in the default graph, unless execution is eager.

Their methods need no such wrapper: they add to the graph of the queue.
"""

from typing import Any as _Any

from situs._src.base.export import export
from situs._src.ops import queue as _queue
from situs._src.ops.queue import QueueBase as QueueBase
from situs._src.v1.frontend import call_through as _call_through


class _InDefaultGraph:
    def __init__(self, *args: _Any, **kwargs: _Any) -> None:
        _call_through(super().__init__, args, kwargs)


@export(v1=("FIFOQueue", "queue.FIFOQueue"))
class FIFOQueue(_InDefaultGraph, _queue.FIFOQueue):
    """A queue that gives elements out in the order they came in."""


@export(v1=("RandomShuffleQueue", "queue.RandomShuffleQueue", "io.RandomShuffleQueue"))
class RandomShuffleQueue(_InDefaultGraph, _queue.RandomShuffleQueue):
    """A queue that gives elements out at random."""


@export(v1=("PaddingFIFOQueue", "queue.PaddingFIFOQueue", "io.PaddingFIFOQueue"))
class PaddingFIFOQueue(_InDefaultGraph, _queue.PaddingFIFOQueue):
    """A queue whose elements may differ in size."""


@export(v1=("PriorityQueue", "queue.PriorityQueue", "io.PriorityQueue"))
class PriorityQueue(_InDefaultGraph, _queue.PriorityQueue):
    """A queue that gives the element with the least priority out first."""
