"""Reducing problems: blocks of nodes that stay together, and smaller graphs for large ones.

Blocks lose nothing that a search could gain, except for memory, so they are limited to a share of a device:

    colocation   the members of a group; nodes connected through groups
    folding      a node that takes no time and little memory, with its only neighbour block
    chains       u -> v, where u is v's only producer and v is u's only consumer, and the price of a cut between them is
    at
                 least that of cutting before u and computing u, and that of cutting after v and computing v: then
                 moving u to v, or v to u, increases no device's load, whichever of the two is the host

A graph of more than `LARGE` nodes is placed through smaller ones, made of clusters (`coarsen`), repeatedly, until about
`SMALL` are left. Clusters never form a cycle: each has a stage, and every tensor between two goes to a higher one.
Groups whose members join the same cluster are merged, as long as the result is small enough.

    stage 1   a   b        c takes from a and b; joins b's cluster if it is larger and a's stage is below b's,
    stage 2    c           or opens one at stage 2. Clusters of the same stage may be joined, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from situs._src.placement.search.flat import block_candidates
from situs._src.placement.search.problem import Node, Problem, Tensor

LARGE = 4000
SMALL = 2000
SHARE = 1 / 8  # largest block made here, relative to the smallest device's memory
TINY = 1 / 1024  # largest node that is folded


class Union:
    """Sets of numbers that are joined."""

    def __init__(self, count: int) -> None:
        self.root = list(range(count))

    def find(self, x: int) -> int:
        """The representative of a number's set: its smallest."""
        while self.root[x] != x:
            self.root[x] = self.root[self.root[x]]
            x = self.root[x]
        return x

    def join(self, x: int, y: int) -> None:
        """Merges two sets."""
        a, b = sorted((self.find(x), self.find(y)))
        self.root[b] = a

    def sets(self) -> list[list[int]]:
        """All sets, by their smallest numbers."""
        found: dict[int, list[int]] = {}
        for x in range(len(self.root)):
            found.setdefault(self.find(x), []).append(x)
        return list(found.values())


def groups_of(problem: Problem) -> list[list[int]]:
    """Nodes that the user groups, as sets."""
    union = Union(len(problem.nodes))
    first: dict[str, int] = {}
    for i, node in enumerate(problem.nodes):
        if node.group is not None:
            union.join(first.setdefault(node.group, i), i)
    return union.sets()


def blocks_of(problem: Problem) -> list[list[int]]:
    """The blocks of a problem: groups, with folded nodes and with chains that no search would cut."""
    blocks = groups_of(problem)
    for _ in range(8):  # each iteration at least halves a chain; little is left after some
        joined = _join_once(problem, blocks)
        if len(joined) == len(blocks):
            break
        blocks = joined
    return blocks


@dataclass
class _Block:
    candidates: list[int]
    slowest: float  # on any of its devices
    size: float
    into: dict[int, float]  # the price of its inputs, by producing block
    out: dict[int, float]  # the price of its results, by consuming block


def _join_once(problem: Problem, blocks: Sequence[Sequence[int]]) -> list[list[int]]:
    rows = _block_rows(problem, blocks)
    limits = [device.memory for device in problem.devices if device.memory is not None]
    cap = min(limits, default=float("inf"))
    union, touched = Union(len(blocks)), set[int]()
    may_fuse = sum(device.is_host for device in problem.devices) <= 1  # between hosts a cut costs nothing

    def join(b: int, other: int, share: float) -> None:
        fits = rows[b].size + (rows[other].size if share == SHARE else 0.0) <= share * cap
        if fits and b not in touched and other not in touched and rows[b].candidates == rows[other].candidates:
            touched.update((b, other))
            union.join(b, other)

    for b, row in enumerate(rows):
        around = row.into.keys() | row.out.keys()
        if len(around) == 1 and row.slowest == 0.0:
            join(b, next(iter(around)), TINY)
        if len(row.out) == 1 and may_fuse:
            (other, price), before = next(iter(row.out.items())), sum(row.into.values())
            after = sum(rows[other].out.values())
            if len(rows[other].into) == 1 and price >= max(before + row.slowest, after + rows[other].slowest):
                join(b, other, SHARE)
    return [sorted(x for b in chosen for x in blocks[b]) for chosen in union.sets()]


def _block_rows(problem: Problem, blocks: Sequence[Sequence[int]]) -> list[_Block]:
    block_of = {node: b for b, block in enumerate(blocks) for node in block}
    rows = []
    for block in blocks:
        candidates = block_candidates(problem, block)
        times = [sum(problem.nodes[v].times[d] or 0.0 for v in block) for d in candidates]
        size = sum(problem.nodes[v].weights + problem.nodes[v].workspace for v in block)
        rows.append(_Block(candidates, max(times, default=0.0), size, {}, {}))
    for tensor in problem.tensors:
        home = block_of[tensor.producer]
        rows[home].size += tensor.bytes
        price = max((link.seconds(tensor) for link in problem.links), default=0.0)
        for taker in {block_of[c] for c in tensor.consumers} - {home}:
            rows[home].out[taker] = rows[home].out.get(taker, 0.0) + price
            rows[taker].into[home] = rows[taker].into.get(home, 0.0) + price
    return rows


# Large graphs.


@dataclass(frozen=True)
class Coarse:
    """A smaller problem that represents a larger one.

    Attributes:
        problem: The smaller one.
        cluster_of: For each node of the larger one, its node in the smaller one.
    """

    problem: Problem
    cluster_of: list[int]


def coarsen(problem: Problem, goal: int = SMALL) -> list[Coarse]:
    """Successively smaller problems, until one has about `goal` nodes or cannot be reduced; empty if it is small."""
    found: list[Coarse] = []
    while len(problem.nodes) > goal:
        coarse = _coarsen_once(problem, max(goal, len(problem.nodes) // 4))
        if len(coarse.problem.nodes) > 0.9 * len(problem.nodes):
            break
        found.append(coarse)
        problem = coarse.problem
    return found


def _coarsen_once(problem: Problem, goal: int) -> Coarse:
    clusters = _Clusters(problem, goal)
    for v in range(len(problem.nodes)):
        clusters.place(v)
    clusters.join_stages()
    return clusters.result()


class _Clusters:
    """Nodes in clusters; each cluster has a stage, and tensors between clusters go to higher ones.

    A set stays together: the nodes of a group, or one node, and all sets that share a cluster. Its work and size are
    those of all its nodes, in whichever clusters they are.
    """

    def __init__(self, problem: Problem, goal: int) -> None:
        self.problem = problem
        self.cluster_of: list[int] = []
        self.stage: list[int] = []
        self.first: list[int] = []  # a node of each cluster
        self.takes: list[list[Tensor]] = [[] for _ in problem.nodes]
        self.size = [node.weights for node in problem.nodes]
        for tensor in problem.tensors:
            self.size[tensor.producer] += tensor.bytes
            for c in tensor.consumers:
                self.takes[c].append(tensor)
        self.work = [min((t for t in node.times if t is not None), default=0.0) for node in problem.nodes]
        limits = [device.memory for device in problem.devices if device.memory is not None]
        self.size_cap = SHARE * min(limits, default=float("inf"))
        self.work_cap = 2.0 * sum(self.work) / goal
        self.candidates = [problem.candidates(v) for v in range(len(problem.nodes))]
        self.goal = goal
        self.sets = Union(len(problem.nodes))
        for group in groups_of(problem):
            for v in group[1:]:
                self._join(group[0], v)
        self.follows = self._followers()

    def _followers(self) -> dict[int, int]:
        """Nodes without inputs and with a single consumer, such as weights: they follow it."""
        takers: list[set[int]] = [set() for _ in self.problem.nodes]
        for tensor in self.problem.tensors:
            takers[tensor.producer].update(tensor.consumers)
        found = {}
        for v, consumers in enumerate(takers):
            if len(consumers) == 1 and not self.takes[v]:
                c = next(iter(consumers))
                is_small = self.work[v] == 0.0 and self.size[v] <= TINY * self.size_cap
                is_together = self.sets.find(v) == self.sets.find(c)
                if self.candidates[v] == self.candidates[c] and (is_together or is_small):
                    found[v] = c
        return found

    def _join(self, u: int, v: int) -> None:
        a, b = self.sets.find(u), self.sets.find(v)
        if a != b:
            self.sets.join(a, b)
            root, other = min(a, b), max(a, b)
            self.work[root] += self.work[other]
            self.size[root] += self.size[other]

    def _may_join(self, u: int, v: int) -> bool:
        a, b = self.sets.find(u), self.sets.find(v)
        return self.candidates[u] == self.candidates[v] and (
            a == b or (self.work[a] + self.work[b] <= self.work_cap and self.size[a] + self.size[b] <= self.size_cap)
        )

    def place(self, v: int) -> None:
        """Puts a node into the cluster of one of its producers, or into a new one."""
        if v in self.follows:
            self.cluster_of.append(-1)
            return
        pull = {self.cluster_of[tensor.producer] for tensor in self.takes[v]} - {-1}
        highest = max((self.stage[c] for c in pull), default=0)
        top = [c for c in pull if self.stage[c] == highest]
        if len(top) == 1 and self._may_join(self.first[top[0]], v):
            self.cluster_of.append(top[0])
            self._join(self.first[top[0]], v)
            return
        self.cluster_of.append(len(self.stage))
        self.stage.append(highest + 1)
        self.first.append(v)

    def join_stages(self) -> None:
        """Joins neighbours of the same stage while there are more clusters than wanted."""
        if len(self.stage) <= self.goal:
            return
        into = list(range(len(self.stage)))
        open_at: dict[tuple[int, tuple[int, ...]], int] = {}
        for c in sorted(range(len(self.stage)), key=lambda c: (self.stage[c], c)):
            key = self.stage[c], self.candidates[self.first[c]]
            other = open_at.get(key)
            if other is not None and self._may_join(self.first[other], self.first[c]):
                into[c] = other
                self._join(self.first[other], self.first[c])
            else:
                open_at[key] = c
        self.cluster_of = [into[c] if c >= 0 else c for c in self.cluster_of]

    def result(self) -> Coarse:
        """The clusters as a problem, in the order of their stages."""
        for v, c in self.follows.items():
            self.cluster_of[v] = self.cluster_of[c]
            self._join(v, c)
        used = sorted(set(self.cluster_of), key=lambda c: (self.stage[c], c))
        place = {c: i for i, c in enumerate(used)}
        cluster_of = [place[c] for c in self.cluster_of]
        members: list[list[int]] = [[] for _ in used]
        for v, c in enumerate(cluster_of):
            members[c].append(v)
        clusters = [{self.sets.find(v) for v in inside}.pop() for inside in members]
        spread = {root for root, count in Counter(clusters).items() if count > 1}
        groups = [str(root) if root in spread else None for root in clusters]
        nodes = tuple(self._node(c, inside, groups[c]) for c, inside in enumerate(members))
        tensors = _merged(self.problem.tensors, cluster_of)
        problem = replace(self.problem, nodes=nodes, tensors=tensors, rests_on=())
        return Coarse(problem, cluster_of)

    def _node(self, c: int, members: Sequence[int], group: str | None) -> Node:
        nodes = [self.problem.nodes[v] for v in members]
        times: list[float | None] = []
        for d in range(len(self.problem.devices)):
            each = [node.times[d] for node in nodes]
            known = [time for time in each if time is not None]
            times.append(sum(known) if len(known) == len(each) else None)
        first = nodes[0]
        weights, workspace = sum(node.weights for node in nodes), max(node.workspace for node in nodes)
        ordered = [node.ordering for node in nodes if node.ordering]
        ordering = tuple(map(sum, zip(*ordered, strict=True)))
        return Node(str(c), tuple(times), weights, workspace, group, first.allowed, ordering)


def _merged(tensors: Iterable[Tensor], cluster_of: Sequence[int]) -> tuple[Tensor, ...]:
    """The tensors between clusters; those with the same ends are one."""
    found: dict[tuple[int, tuple[int, ...], bool], tuple[float, float]] = {}
    for tensor in tensors:
        home = cluster_of[tensor.producer]
        takers = tuple(sorted({cluster_of[c] for c in tensor.consumers} - {home}))
        if takers or not tensor.consumers:
            key = home, takers, tensor.hop_seconds is None
            size, seconds = found.get(key, (0.0, 0.0))
            found[key] = size + tensor.bytes, seconds + (tensor.hop_seconds or 0.0)
    return tuple(
        Tensor(home, size, takers, None if by_link else seconds)
        for (home, takers, by_link), (size, seconds) in found.items()
    )
