"""``tf.compat.v1.queue``: queues that are made in the default graph, unless ops run at once.

Their methods need nothing of the kind: they add to the graph of the queue.
"""

from typing import Any as _Any

from situs.compat.v1.door import call_through as _call_through
from situs.ops import queue as _queue
from situs.ops.queue import QueueBase as QueueBase


class _InDefaultGraph:
    def __init__(self, *args: _Any, **kwargs: _Any) -> None:
        _call_through(super().__init__, args, kwargs)


class FIFOQueue(_InDefaultGraph, _queue.FIFOQueue):
    """A queue that gives elements out in the order they came in."""


class RandomShuffleQueue(_InDefaultGraph, _queue.RandomShuffleQueue):
    """A queue that gives elements out at random."""


class PaddingFIFOQueue(_InDefaultGraph, _queue.PaddingFIFOQueue):
    """A queue whose elements may differ in size."""


class PriorityQueue(_InDefaultGraph, _queue.PriorityQueue):
    """A queue that gives the element with the least priority out first."""
