"""Pruning: the ancestors of the fetches, cut off at the feeds.

Operations are numbered in creation order, and inputs are created first, so creation order is a
topological order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor


def prune(targets: Iterable[Operation], fed: Collection[SymbolicTensor]) -> list[Operation]:
    """The operations that must run for `targets`, in order; a fed tensor needs none."""
    needed: set[Operation] = set()
    waiting = list(targets)
    while waiting:
        node = waiting.pop()
        if node not in needed:
            needed.add(node)
            waiting += [tensor.op for tensor in node.inputs if tensor not in fed]
            waiting += node.control_inputs
    return sorted(needed, key=lambda node: node.index)


def producers(tensors: Iterable[SymbolicTensor], fed: Collection[SymbolicTensor]) -> list[Operation]:
    """The operations behind tensors that are not fed."""
    return [tensor.op for tensor in tensors if tensor not in fed]
