"""Loops over datasets in ``tf.function``.

    for x in dataset: ...        becomes     while IteratorHasNext(it):
                                                 x = IteratorGetNext(it)

`walk` is AutoGraph's hook for the iterable of a ``for`` loop.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from situs._src.base.devices.scope import here
from situs._src.data.base import DatasetV2
from situs._src.data.iterator import FunctionIterator, OwnedIterator
from situs._src.ir.graph.function import outermost
from situs._src.tracing.autograph import hooks


class Walk(NamedTuple):
    """How a loop of a graph goes through something.

    Attributes:
        more: Gives a tensor that says whether there is another element.
        element: Gives the next element.
    """

    more: Any
    element: Any


def walk(iterated: object) -> Walk | None:
    """How a loop of the graph being built goes through a dataset or an iterator; None for everything else."""
    if here.graph is None or not outermost(here.graph).compares_elements:
        return None
    iterated = getattr(iterated, "__dataset__", iterated)  # a strategy's has one underneath
    if isinstance(iterated, DatasetV2):
        iterated = FunctionIterator.of(iterated._node, here.graph, iterated._of)
    if isinstance(iterated, (FunctionIterator, OwnedIterator)):
        return Walk(iterated.has_next, iterated.get_next)
    return None


hooks.install(walk=walk)
