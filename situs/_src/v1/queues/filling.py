"""Summaries of how full an input queue is: an empty queue stalls the training."""

from __future__ import annotations

from situs._src.base import dtype as dt
from situs._src.ops.cast import cast
from situs._src.ops.math import maximum, multiply
from situs._src.ops.queue import QueueBase
from situs._src.summaries.graph_summaries import scalar


def summarize_filling(queue: QueueBase, capacity: int, least: int = 0, name: str | None = None) -> None:
    """Adds the summary of the part of a queue that is filled.

    Args:
        queue: The queue.
        capacity: How many elements it holds.
        least: How many of them it never gives away; they do not count.
        name: The name of the summary; by default it says the numbers.
    """
    room = capacity - least
    if name is None:
        name = f"fraction_over_{least}_of_{room}_full" if least else f"fraction_of_{capacity}_full"
    count = queue.size()
    if least:
        count = maximum(0, count - least)
    scalar(name, multiply(cast(count, dt.float32), 1.0 / room))
