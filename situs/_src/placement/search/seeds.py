"""Common placement heuristics, as starting points of the search.

    one device     everything on one device, where it may be; one seed for each device
    fill           blocks in order, device after device, each until it is full; in several orders
    balanced       the same, each until it has its share of the work
    greedy         in the order of dispatch, each where it would finish first           lists.py
    heft           highest rank first, where it would finish first
    etf            earliest start time first
    slices         blocks in order, cut at the best positions (all are compared)
    previous       the previous placement

Heuristics work on blocks (`reduce.blocks_of`). A block's memory is the total of its nodes; if nothing fits, the device
with the most free memory is used, and the search repairs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from situs._src.placement.search import lists
from situs._src.placement.search.compiled import Library
from situs._src.placement.search.flat import Blocks, Flat, Floats
from situs._src.placement.search.problem import Objective, Problem

Place = list[int]

PIECES = 50  # the least number of pieces of an order, before slicing
QUICK = 2  # orders for the first `fill`s
STATES = 600  # counts of devices that slices keep apart at most
WIDTH = 12  # ready nodes that `etf` compares


class Rules:
    """The rules, for one problem in blocks.

    Args:
        problem: The problem.
        blocks: Nodes that move together.
        flat: Its arrays.
        orders: Orders of the blocks, by name.
        compiled: The compiled functions; None for Python alone.
    """

    def __init__(
        self,
        problem: Problem,
        blocks: Blocks,
        flat: Flat,
        orders: Mapping[str, Sequence[int]],
        compiled: Library | None = None,
    ) -> None:
        self.problem = problem
        self.blocks = blocks
        self.flat = flat
        self.orders = orders
        self._list = compiled.list_schedule if compiled else lists.list_schedule
        starts, flat_candidates = flat.candidate_start.tolist(), flat.candidate.tolist()
        self.candidates = [flat_candidates[starts[b] : starts[b + 1]] for b in range(len(blocks))]
        self.size: list[float] = flat.block_size.tolist()
        self.limit: list[float] = flat.limit.tolist()
        # The fastest first; hosts last among equals.
        reach = np.where(np.isfinite(flat.block_time), flat.block_time, np.nanmax(flat.block_time, initial=0.0))
        total = np.where(np.isfinite(reach), reach, 0.0).sum(axis=0)
        self.devices = sorted(range(flat.devices), key=lambda d: (total[d], bool(flat.is_host[d]), d))

    def quick(self) -> Iterator[tuple[str, Place]]:
        """Starting points from a single pass over the blocks, with their names."""
        yield "greedy", self._list(self.flat, lists.in_order(self.flat), 1)
        for d in self.devices:
            yield f"one device, {self.problem.devices[d].name}", self.single(d)
        for name, order in list(self.orders.items())[:QUICK]:
            yield f"fill, {name} order", self.fill(order)
            yield f"balanced, {name} order", self.fill(order, balanced=True)
        ranks = lists.ranks(self.flat)
        yield "heft", self._list(self.flat, ranks, 1)
        yield "etf", self._list(self.flat, ranks, WIDTH)

    def thorough(self, objective: Objective, effort: float) -> Iterator[tuple[str, Place]]:
        """All others.

        Args:
            objective: What slices minimize.
            effort: The total number of table entries of all slices; long orders are cut into pieces first.
        """
        for name, order in list(self.orders.items())[QUICK:]:
            yield f"fill, {name} order", self.fill(order)
            yield f"balanced, {name} order", self.fill(order, balanced=True)
        for name, order in self.orders.items():
            for devices in self._sets():
                found = self.slices(order, objective, devices, effort / (2 * len(self.orders)))
                if found is not None:
                    yield f"slices, {name} order, {len(devices)} devices", found

    def _sets(self) -> list[list[int]]:
        """The devices that slices are spread over: all of them, and all but the hosts."""
        own = [d for d in self.devices if not self.flat.is_host[d]]
        return [self.devices, own] if 0 < len(own) < len(self.devices) else [self.devices]

    def single(self, device: int) -> Place:
        """Everything on one device; what cannot be there is where it is fastest."""
        best = {d: i for i, d in enumerate(self.devices)}
        return [device if device in found else min(found, key=best.__getitem__) for found in self.candidates]

    def fill(self, order: Sequence[int], balanced: bool = False) -> Place:
        """Device after device, each until it is full, or until it has its share of the work."""
        place, held, work = [0] * len(order), [0.0] * self.flat.devices, [0.0] * self.flat.devices
        times = self.flat.block_time
        share = 0.0
        if balanced:
            own = [d for d in self.devices if not self.flat.is_host[d]] or self.devices
            best = times.min(axis=1)
            share = float(best.sum() / len(own) + best.max(initial=0.0))
        now = 0
        for b in order:
            while now < len(self.devices) - 1 and not self._room(self.devices[now], b, held, work, share):
                now += 1
            choices = [d for d in self.devices[now:] if d in self.candidates[b]] or self.candidates[b]
            fitting = [d for d in choices if held[d] + self.size[b] <= self.limit[d]]
            others = [d for d in self.candidates[b] if held[d] + self.size[b] <= self.limit[d]]
            d = (fitting or others or [max(self.candidates[b], key=lambda e: self.limit[e] - held[e])])[0]
            place[b] = d
            held[d] += self.size[b]
            work[d] += float(times[b, d])
        return place

    def _room(self, d: int, b: int, held: Sequence[float], work: Sequence[float], share: float) -> bool:
        if d not in self.candidates[b]:
            return True  # it goes elsewhere, and this device is not closed
        fits = held[d] + self.size[b] <= self.limit[d]
        return fits and (not share or work[d] + float(self.flat.block_time[b, d]) <= share)

    def previous(self, placement: Mapping[str, str]) -> Place:
        """A placement by names, as far as it is valid for each block; the rest with its neighbours."""
        best = {d: i for i, d in enumerate(self.devices)}
        index = self.problem.device_index
        place = [-1] * len(self.blocks)
        for b, block in enumerate(self.blocks):
            wanted = [index.get(placement.get(self.problem.nodes[v].name, ""), -1) for v in block]
            found = [d for d in wanted if d in self.candidates[b]]
            if found:
                place[b] = max(sorted(set(found)), key=found.count)
        starts, near = self.flat.near_start.tolist(), self.flat.near.tolist()
        for b in range(len(place)):
            if place[b] < 0:
                around = [place[c] for c in near[starts[b] : starts[b + 1]] if place[c] in self.candidates[b]]
                place[b] = around[0] if around else min(self.candidates[b], key=best.__getitem__)
        return place

    # Slices.

    def slices(self, order: Sequence[int], objective: Objective, devices: Sequence[int], effort: float) -> Place | None:
        """The best way to cut an order into one interval for each device: least largest load, or least sum.

        Equal devices form one class, so that a state is how many of each class are used:
        ``best[state][j] = min over i, class of combine(best[state without one of class][i], price of i..j there)``.
        """
        classes = self._classes(devices)
        shape = [len(members) + 1 for members in classes]
        states = int(np.prod(shape))
        if states > STATES:
            return None
        most = max(PIECES, int((effort / (states * len(classes))) ** 0.5))
        pieces = np.array_split(np.asarray(order), min(most, len(order)))
        prices = [self._prices(pieces, members[0]) for members in classes]
        combine = np.maximum if objective == "max_load" else np.add
        count = len(pieces)
        best: dict[tuple[int, ...], Floats] = {}
        came: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        for state in product(*(range(size) for size in shape)):
            row, back = np.full(count + 1, np.inf), [(-1, -1)] * (count + 1)
            row[0] = 0.0
            for c in range(len(classes)):
                if not state[c]:
                    continue
                before = best[(*state[:c], state[c] - 1, *state[c + 1 :])]
                table = combine(before[:count, None], prices[c])  # [i, j]: the stretch of the pieces i to j
                first = table.argmin(axis=0)
                value = table[first, np.arange(count)]
                for j in np.flatnonzero(value < row[1:]).tolist():
                    row[j + 1] = value[j]
                    back[j + 1] = c, int(first[j])
            best[state], came[state] = row, back
        state, at = min(best, key=lambda each: (best[each][count], each)), count
        if not np.isfinite(best[state][count]):
            return None
        place, free = [0] * len(self.blocks), [list(members) for members in classes]
        while at > 0:
            c, start = came[state][at]
            d = free[c].pop()
            for piece in pieces[start:at]:
                for b in piece.tolist():
                    place[b] = d
            state, at = (*state[:c], state[c] - 1, *state[c + 1 :]), start
        return place

    def _classes(self, devices: Sequence[int]) -> list[list[int]]:
        """Devices with equal costs, grouped."""
        found: dict[tuple[bytes, ...], list[int]] = {}
        flat = self.flat
        for d in devices:
            columns = flat.block_time[:, d], flat.bundle_in[:, d], flat.bundle_out[:, d], flat.limit[d : d + 1]
            found.setdefault(tuple(column.tobytes() for column in columns), []).append(d)
        return list(found.values())

    def _prices(self, pieces: Sequence[np.ndarray], d: int) -> Floats:
        """The cost of each interval of an order on one device: work, and all traffic in and out; [first, last].

        Each bundle of tensors adds its price to rectangles of that table, as differences that are summed at the end.
        """
        flat, n = self.flat, len(pieces)
        where = np.empty(flat.blocks, np.int64)
        for i, piece in enumerate(pieces):
            where[piece] = i
        work = np.zeros(n + 1)
        held = np.zeros(n + 1)
        np.add.at(work, where + 1, flat.block_time[:, d])
        np.add.at(held, where + 1, flat.block_size)
        table = np.zeros((n + 1, n + 1))

        def add(first: int, last: int, low: int, high: int, price: float) -> None:
            if first <= last and low <= high:  # starts first..last, ends low..high
                table[first, low] += price
                table[first, high + 1] -= price
                table[last + 1, low] -= price
                table[last + 1, high + 1] += price

        takers: list[set[int]] = [set() for _ in range(flat.bundles)]
        starts, takes = flat.takes_start.tolist(), flat.takes.tolist()
        for b in range(flat.blocks):
            for g in takes[starts[b] : starts[b + 1]]:
                takers[g].add(int(where[b]))
        for g in range(flat.bundles):
            p = int(where[flat.bundle_home[g]])
            sent, received = float(flat.bundle_out[g, d]), float(flat.bundle_in[g, d])
            ends = sorted(takers[g])
            add(0, p, p, n - 1, sent)
            add(0, min(p, ends[0]), max(p, ends[-1]), n - 1, -sent)
            before = p
            for c in [e for e in ends if e > p]:
                add(before + 1, c, c, n - 1, received)
                before = c
            after = p
            for c in [e for e in reversed(ends) if e < p]:
                add(0, c, c, after - 1, received)
                after = c
        prices = table[:n, :n].cumsum(axis=0).cumsum(axis=1)
        sums, sizes = work.cumsum(), held.cumsum()
        with np.errstate(invalid="ignore"):
            prices += sums[None, 1:] - sums[:-1, None]
        too_much = sizes[None, 1:] - sizes[:-1, None] > flat.limit[d]
        barred = np.zeros(n + 1)
        np.add.at(barred, where + 1, [d not in found for found in self.candidates])
        bars = barred.cumsum()
        prices[too_much | (bars[None, 1:] - bars[:-1, None] > 0) | ~np.isfinite(prices)] = np.inf
        prices[np.tril_indices(n, -1)] = np.inf
        return prices
