"""Orders of blocks, along which intervals are moved and slices are cut.

    first, last   by the first (last) of a block's nodes in the order of dispatch
    rank          by the longest path to the end in time, the longest first
    folded        by the distance to the nearer end: a layer's forward and backward halves come together

        forward    a0 a1 a2 a3 |         depth from the start   0 1 2 3 4 5 6 7
        backward   b0 b1 b2 b3 | turns   depth to the end       7 6 5 4 3 2 1 0
                                         folded                 0 1 2 3 3 2 1 0

No order is best for all graphs: what is cheap to cut in one is scattered in another.
"""

from __future__ import annotations

from collections.abc import Callable

from situs._src.placement.search.flat import Blocks
from situs._src.placement.search.problem import Problem


def orders_of(problem: Problem, blocks: Blocks) -> dict[str, list[int]]:
    """The orders, by name, without duplicates."""
    count = len(problem.nodes)
    least = [min((time for time in node.times if time is not None), default=0.0) for node in problem.nodes]
    depth, height, rank = [0] * count, [0] * count, list(least)
    after: list[list[int]] = [[] for _ in range(count)]
    for tensor in problem.tensors:
        after[tensor.producer] += tensor.consumers
    for v in range(count):
        for c in after[v]:
            depth[c] = max(depth[c], depth[v] + 1)
    for v in reversed(range(count)):
        height[v] = max((height[c] + 1 for c in after[v]), default=0)
        rank[v] += max((rank[c] for c in after[v]), default=0.0)

    def by(key: Callable[[int], float]) -> list[int]:
        return sorted(range(len(blocks)), key=lambda b: (key(b), blocks[b][0]))

    found = {
        "rank": by(lambda b: -max(rank[v] for v in blocks[b])),
        "last": by(lambda b: max(blocks[b])),
        "folded": by(lambda b: min(min(depth[v], height[v]) for v in blocks[b])),
        "first": by(lambda b: min(blocks[b])),
    }
    return {name: order for i, (name, order) in enumerate(found.items()) if order not in list(found.values())[:i]}
