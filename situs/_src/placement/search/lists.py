"""List scheduling: nodes one after the other, each where it would end (or begin) first, without backtracking.

    rank      the longest path to the end, of mean times and mean prices of tensors; dispatch order, for `in_order`
    ready     nodes whose inputs are available, the highest rank first
    width     1: the first of them goes where it ends first (HEFT); more: among that many the one that begins first
    (ETF)

A device's lanes and the resources of links are waited for as in `simulate.Step`; a tensor is sent once to each device.
The difference to a step is the order: here it is that of the ranks.

A node without inputs that takes no time, such as a variable, says nothing about where its block should be. It waits
for another node of its block, or for the first node that uses it:

    w0 [ ]                      by itself w0 would go to the first device, as would w1, w2, ... and with them their
    product0(x, w0) [####]      products: everything on one device
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from situs._src.placement.search.flat import Flat, floats, ints, rows_of

OPEN = -1  # the device of a block that is not placed yet


def ranks(flat: Flat) -> list[float]:
    """For each node the longest path to the end, with times and prices averaged over devices and links."""
    k = flat.devices
    times, hops, sizes = floats(flat.time), floats(flat.hop), floats(flat.bytes)
    known = [[x for x in times[v * k : v * k + k] if x < float("inf")] for v in range(flat.nodes)]
    found = [sum(each) / len(each) if each else 0.0 for each in known]
    links = [i for i, relay in enumerate(ints(flat.relay)) if relay < 0 and i // k != i % k]
    latency = sum(floats(flat.link_latency)[i] for i in links) / max(1, len(links))
    per_byte = sum(floats(flat.link_per_byte)[i] for i in links) / max(1, len(links))
    prices = [hop if hop >= 0 else latency + size * per_byte for hop, size in zip(hops, sizes, strict=True)]
    makes, consumers = rows_of(flat.out_start, flat.out_tensor), rows_of(flat.consumer_start, flat.consumer)
    for v in range(flat.nodes - 1, -1, -1):
        most = 0.0
        for t in makes[v]:
            for c in consumers[t]:
                if prices[t] + found[c] > most:
                    most = prices[t] + found[c]
        found[v] += most
    return found


def in_order(flat: Flat) -> list[float]:
    """Ranks that give the order of dispatch."""
    return [float(flat.nodes - v) for v in range(flat.nodes)]


def list_schedule(flat: Flat, rank: Sequence[float], width: int) -> list[int]:
    """A placement of blocks.

    Args:
        flat: The problem.
        rank: For each node, how early it comes among those that are ready.
        width: How many of these are compared; see the head of this file.
    """
    return _Lists(flat).run(rank, width)


class _Lists:
    """The same as ``list_all`` in ``fast.c``."""

    def __init__(self, flat: Flat) -> None:
        self.flat = flat
        self.time, self.bytes, self.hops = floats(flat.time), floats(flat.bytes), floats(flat.hop)
        self.latency, self.per_byte = floats(flat.link_latency), floats(flat.link_per_byte)
        self.limit, self.size = floats(flat.limit), floats(flat.block_size)
        self.producer, self.relay, self.lanes = ints(flat.producer), ints(flat.relay), ints(flat.lane_start)
        self.takes = rows_of(flat.in_start, flat.in_tensor)
        self.makes = rows_of(flat.out_start, flat.out_tensor)
        self.consumers = rows_of(flat.consumer_start, flat.consumer)
        self.resources = [[flat.lanes + r for r in row] for row in rows_of(flat.resource_start, flat.resource)]
        self.candidates = rows_of(flat.candidate_start, flat.candidate)
        self.block = [0] * flat.nodes
        for b, members in enumerate(rows_of(flat.block_start, flat.block_node)):
            for v in members:
                self.block[v] = b
        self.place = [OPEN] * flat.blocks
        self.held = [0.0] * flat.devices
        self.free = [0.0] * (flat.lanes + flat.resources)
        self.finish = [0.0] * flat.nodes
        self.arrival: dict[int, float] = {}

    def run(self, rank: Sequence[float], width: int) -> list[int]:
        waits = [len(row) for row in self.takes]
        ready = [(-rank[v], v) for v in range(self.flat.nodes) if not waits[v]]
        heapq.heapify(ready)
        while ready:
            v, d = self._next(ready, width)
            if d != OPEN:
                self._run(v, d)
            for t in self.makes[v]:
                for c in self.consumers[t]:
                    waits[c] -= 1
                    if not waits[c]:
                        heapq.heappush(ready, (-rank[c], c))
        for b, d in enumerate(self.place):
            if d == OPEN:
                self._settle(b, self._fitting(b)[0])
        return self.place

    def _next(self, ready: list[tuple[float, int]], width: int) -> tuple[int, int]:
        """Takes a node off the ready ones: which, and where it goes."""
        top: list[tuple[float, int]] = []
        best, chosen, least = -1, OPEN, float("inf")
        while ready and len(top) < width:
            top.append(heapq.heappop(ready))
            v = top[-1][1]
            if self._says_nothing(v):
                best, chosen = v, OPEN
                break
            choices = self._fitting(self.block[v]) if self.place[self.block[v]] == OPEN else [self.place[self.block[v]]]
            for d in choices:
                when = self._start(v, d, list(self.free))
                if width == 1:
                    when += self.time[v * self.flat.devices + d]
                if best < 0 or when < least:
                    best, chosen, least = v, d, when
        for other in top:
            if other[1] != best:
                heapq.heappush(ready, other)
        return best, chosen

    def _says_nothing(self, v: int) -> bool:
        if self.takes[v]:
            return False
        k = self.flat.devices
        return all(self.time[v * k + d] == 0.0 for d in self.candidates[self.block[v]])

    def _fitting(self, b: int) -> list[int]:
        """The devices with room for a block; the one with the most room if none has enough."""
        found = [d for d in self.candidates[b] if self.held[d] + self.size[b] <= self.limit[d]]
        return found or [max(self.candidates[b], key=lambda d: self.limit[d] - self.held[d])]

    def _settle(self, b: int, d: int) -> None:
        self.place[b] = d
        self.held[d] += self.size[b]

    def _start(self, v: int, d: int, free: list[float], is_run: bool = False) -> float:
        """When a node would begin on a device; what is sent for it occupies `free`."""
        ready = 0.0
        for t in self.takes[v]:
            u = self.producer[t]
            home = self.place[self.block[u]]
            made = self.finish[u]
            at = made if home in (OPEN, d) else self._bring(t, home, d, made, free, is_run)
            if at > ready:
                ready = at
        lane = self._lane(d, free)
        return free[lane] if free[lane] > ready else ready

    def _lane(self, d: int, free: Sequence[float]) -> int:
        lane = self.lanes[2 * d]
        for i in range(lane + 1, self.lanes[2 * d + 1]):
            if free[i] < free[lane]:
                lane = i
        return lane

    def _bring(self, t: int, home: int, d: int, made: float, free: list[float], is_run: bool) -> float:
        k = self.flat.devices
        found = self.arrival.get(t * k + d)
        if found is not None:
            return found
        relay = self.relay[home * k + d]
        if relay >= 0:
            made = self._bring(t, home, relay, made, free, is_run)
            home = relay
        link = home * k + d
        for r in self.resources[link]:
            if free[r] > made:
                made = free[r]
        hop = self.hops[t]
        end = made + (hop if hop >= 0 else self.latency[link] + self.bytes[t] * self.per_byte[link])
        for r in self.resources[link]:
            free[r] = end
        if is_run:
            self.arrival[t * k + d] = end
        return end

    def _run(self, v: int, d: int) -> None:
        for b in (self.block[v], *(self.block[self.producer[t]] for t in self.takes[v])):
            if self.place[b] == OPEN:
                fitting = self._fitting(b)
                self._settle(b, d if d in fitting else fitting[0])
        start = self._start(v, d, self.free, True)
        lane = self._lane(d, self.free)
        self.finish[v] = self.free[lane] = start + self.time[v * self.flat.devices + d]
