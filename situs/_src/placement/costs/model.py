"""The cost model: the time of an operation on a device, and of a copy between two, with its source.

    model.time(node, device)     Cost(seconds=0.00012, source="measured", at=...)
    model.link(a, b)             Link: latency + bytes * per_byte
    model.feeding(host)          the same for arrays of the program that become tensors

A call on a GPU takes time twice: of the host, which launches it (`Cost.ordering`), and then of the GPU.

Interpolation follows the estimate, which knows how work grows with shapes: measurements give the factor by which the
estimate of a family is wrong at some amounts of work, and in between the factor changes linearly in the logarithm of
the work:

    factor          measured / estimated
      3 |  o------.
      2 |          `-----.           o  measured
      1 |                 `---o----     beyond the last one its factor holds
        +---------------------------- work (log)

All of it is deterministic: the same store gives the same times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from situs._src.base.devices.logical import Device
from situs._src.ir.graph.function import FunctionGraph, graphs_of
from situs._src.ir.graph.node import Operation
from situs._src.placement.costs.key import key_of
from situs._src.placement.costs.kinds import GPU_CALL, Speed, kind_of, speed_of
from situs._src.placement.costs.store import CostStore, Measured, ordering_of
from situs._src.placement.costs.work import TURNS, Work, work_of

MEASURED, INTERPOLATED, ESTIMATED, FREE = "measured", "interpolated", "estimated", "free"
NEVER = 1e-7  # seconds: the minimum time of a measured call
HOST_BANDWIDTH = 8e9  # bytes per second between memories of the host
PCIE_BANDWIDTH = 1.2e10
PEER_BANDWIDTH = 2e10  # between two GPUs, or through the host
HOST_LATENCY = 3e-6
CARD_LATENCY = 1.2e-5
SAME_CARD_BANDWIDTH = 5e11


@dataclass(frozen=True)
class Cost:
    """The time of something.

    Attributes:
        seconds: The time.
        source: ``measured``, ``interpolated``, ``estimated`` or ``free``: there is nothing to do.
        at: When it was measured, in seconds since 1970; 0 for an estimate.
        guessed: Whether it is based on guessed sizes.
        ordering: The host's time to launch it on a GPU; 0 on the host itself.
    """

    seconds: float
    source: str
    at: float = 0.0
    guessed: bool = False
    ordering: float = 0.0


@dataclass(frozen=True)
class LinkCost:
    """The time of copies from one device to another: a latency, and a time per byte."""

    latency: float
    per_byte: float
    source: str
    at: float = 0.0

    def seconds(self, size: float) -> float:
        """The time of a copy of a number of bytes."""
        return self.latency + size * self.per_byte


def estimate(work: Work, speed: Speed) -> float:
    """The estimated time at that speed: the calls, and the slower of arithmetic and memory."""
    return work.calls * speed.call + max(work.steps / speed.steps, work.bytes / speed.bandwidth)


class CostModel:
    """Times of operations and copies, measured if possible.

    Args:
        store: The measurements.
        held: Times of control-flow operations in this program, by name and kind of device: they have no key.
    """

    def __init__(self, store: CostStore, held: Mapping[tuple[str, str], Cost] | None = None) -> None:
        self.store = store
        self.held = held or {}

    def time(self, node: Operation, device: Device) -> Cost:
        """The time of an operation on a device, with the shapes known in its graph."""
        graphs = graphs_of(node)
        if graphs:
            return self.held.get((node.name, kind_of(device))) or self._of_graphs(graphs, device)
        work = work_of(node)
        if not work.calls:
            return Cost(0.0, FREE)
        kind, key, speed = kind_of(device), key_of(node), speed_of(device)
        found = None if key is None else self.store.measured(kind, key)
        if found is not None:
            return Cost(max(found.median, NEVER), MEASURED, found.at, ordering=self._ordering(kind, [found], speed))
        guess = estimate(work, speed)
        others = [] if key is None else self.store.family(kind, key.family)
        ordering = self._ordering(kind, others, speed)
        if others:
            factor = interpolated_factor(others, work, speed)
            seconds, oldest = max(guess * factor, NEVER), min(each.at for each in others)
            return Cost(seconds, INTERPOLATED, oldest, work.guessed, ordering)
        return Cost(guess, ESTIMATED, 0.0, work.guessed, ordering)

    def _ordering(self, kind: str, measured: Sequence[Measured], speed: Speed) -> float:
        """The host's time to launch a measured call within a sequence: it does not depend on sizes."""
        if not speed.launch:
            return 0.0
        times = [seconds for each in measured for seconds in each.ordering]
        return median(times) * self.store.pace(ordering_of(kind)).share if times else speed.launch

    def _of_graphs(self, graphs: Sequence[tuple[str, FunctionGraph]], device: Device) -> Cost:
        """The time of an operation that runs graphs: that of the graphs, for a loop several times."""
        turns = TURNS if any(name == "body" for name, _ in graphs) else 1
        inner = [self.time(node, device) for _, graph in graphs for node in graph.operations]
        ordering = turns * sum(cost.ordering for cost in inner)
        return Cost(turns * sum(cost.seconds for cost in inner), ESTIMATED, guessed=True, ordering=ordering)

    def feeding(self, host: Device) -> LinkCost:
        """The time to convert an array of the program to a tensor of the host."""
        found = self.store.link(feeding_name(host))
        if found is not None:
            return LinkCost(found.latency, found.per_byte, MEASURED, found.at)
        return LinkCost(HOST_LATENCY, 1 / HOST_BANDWIDTH, ESTIMATED)

    def link(self, source: Device, target: Device) -> LinkCost:
        """The time of copies from one device to another."""
        found = self.store.link(link_name(source, target))
        same = source.is_card and target.is_card and source.physical is target.physical
        if found is not None:  # on one GPU a copy is a call like any other, without waiting
            return LinkCost(GPU_CALL if same else found.latency, found.per_byte, MEASURED, found.at)
        if not (source.is_card or target.is_card):
            return LinkCost(HOST_LATENCY, 1 / HOST_BANDWIDTH, ESTIMATED)
        if source.is_card and target.is_card:
            latency = GPU_CALL if same else CARD_LATENCY
            return LinkCost(latency, 1 / (SAME_CARD_BANDWIDTH if same else PEER_BANDWIDTH), ESTIMATED)
        return LinkCost(CARD_LATENCY, 1 / PCIE_BANDWIDTH, ESTIMATED)


def link_name(source: Device, target: Device) -> str:
    """The name of a pair of devices in a store: their kinds, and which ones they are."""
    return f"{kind_of(source)} {source.short_name} -> {kind_of(target)} {target.short_name}"


def feeding_name(host: Device) -> str:
    """The name of feeding in a store."""
    return f"program -> {kind_of(host)}"


def interpolated_factor(measured: Sequence[Measured], work: Work, speed: Speed) -> float:
    """The factor by which the estimate is wrong at an amount of work, from measurements of its family.

    Args:
        measured: At least one measurement.
        work: The work of the operation in question.
        speed: The assumed speed of the device.
    """
    points = sorted((_size(each.work, speed), _factor(each, speed)) for each in measured)
    size = _size(work, speed)
    if size <= points[0][0]:
        return points[0][1]
    for (low, low_factor), (high, high_factor) in pairwise(points):
        if size <= high:
            share = 1.0 if high == low else (math.log(size) - math.log(low)) / (math.log(high) - math.log(low))
            return math.exp((1 - share) * math.log(low_factor) + share * math.log(high_factor))
    return points[-1][1]


def _factor(measured: Measured, speed: Speed) -> float:
    return max(measured.median, NEVER) / max(estimate(measured.work, speed), NEVER)


def _size(work: Work, speed: Speed) -> float:
    """The amount of work in one number: its estimated time without the call."""
    return max(work.steps / speed.steps, work.bytes / speed.bandwidth, 1e-12)
