"""The cost model: how long an operation takes on a device, and a copy between two, and where that is known from.

    model.time(node, device)     Cost(seconds=0.00012, source="measured", at=...)
    model.link(a, b)             Link: latency + bytes * per_byte

Interpolation goes along the estimate, which knows how work grows with shapes: measurements say by which factor the
estimate of a family is wrong at some amounts of work, and between two of these the factor changes evenly in the
logarithm of the work:

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

from situs._src.base.devices.logical import Device
from situs._src.ir.graph.function import FunctionGraph, graphs_of
from situs._src.ir.graph.node import Operation
from situs._src.placement.costs.key import key_of
from situs._src.placement.costs.kinds import Speed, kind_of, speed_of
from situs._src.placement.costs.store import CostStore, Measured
from situs._src.placement.costs.work import TURNS, Work, work_of

MEASURED, INTERPOLATED, ESTIMATED, FREE = "measured", "interpolated", "estimated", "free"
NEVER = 1e-7  # seconds: what a measured call takes at least
HOST_BANDWIDTH = 8e9  # bytes a second between memories of the host
PCIE_BANDWIDTH = 1.2e10
PEER_BANDWIDTH = 2e10  # between two cards, or through the host
HOST_LATENCY = 3e-6
CARD_LATENCY = 1.2e-5
SAME_CARD_BANDWIDTH = 5e11


@dataclass(frozen=True)
class Cost:
    """How long something takes.

    Attributes:
        seconds: The time.
        source: ``measured``, ``interpolated``, ``estimated`` or ``free``: nothing has to be done.
        at: When it was measured, in seconds since 1970; 0 for an estimate.
        guessed: Whether sizes had to be guessed for it.
    """

    seconds: float
    source: str
    at: float = 0.0
    guessed: bool = False


@dataclass(frozen=True)
class LinkCost:
    """How long copies from one device to another take: a latency, and so much for each byte."""

    latency: float
    per_byte: float
    source: str
    at: float = 0.0

    def seconds(self, size: float) -> float:
        """How long a copy of so many bytes takes."""
        return self.latency + size * self.per_byte


def estimate(work: Work, speed: Speed) -> float:
    """How long a device of that speed should take: the calls, and the slower of arithmetic and memory."""
    return work.calls * speed.launch + max(work.steps / speed.steps, work.bytes / speed.bandwidth)


class CostModel:
    """Times of operations and copies, from measurements where there are any.

    Args:
        store: The measurements.
        held: What operations that hold graphs took in this program, by name and kind of device: they have no key.
    """

    def __init__(self, store: CostStore, held: Mapping[tuple[str, str], Cost] | None = None) -> None:
        self.store = store
        self.held = held or {}

    def time(self, node: Operation, device: Device) -> Cost:
        """How long an operation takes on a device; its shapes are taken as they are known in its graph."""
        graphs = graphs_of(node)
        if graphs:
            return self.held.get((node.name, kind_of(device))) or self._of_graphs(graphs, device)
        work = work_of(node)
        if not work.calls:
            return Cost(0.0, FREE)
        kind, key = kind_of(device), key_of(node)
        found = None if key is None else self.store.measured(kind, key)
        if found is not None:
            return Cost(max(found.median, NEVER), MEASURED, found.at)
        guess = estimate(work, speed_of(device))
        others = [] if key is None else self.store.family(kind, key.family)
        if others:
            factor = interpolated_factor(others, work, speed_of(device))
            return Cost(max(guess * factor, NEVER), INTERPOLATED, min(each.at for each in others), work.guessed)
        return Cost(guess, ESTIMATED, 0.0, work.guessed)

    def _of_graphs(self, graphs: Sequence[tuple[str, FunctionGraph]], device: Device) -> Cost:
        """How long an operation takes that runs graphs: what these take, a loop several times."""
        turns = TURNS if any(name == "body" for name, _ in graphs) else 1
        inner = [self.time(node, device) for _, graph in graphs for node in graph.operations]
        return Cost(turns * sum(cost.seconds for cost in inner), ESTIMATED, guessed=True)

    def link(self, source: Device, target: Device) -> LinkCost:
        """How long copies from one device to another take."""
        found = self.store.link(link_name(source, target))
        if found is not None:
            return LinkCost(found.latency, found.per_byte, MEASURED, found.at)
        if not (source.is_card or target.is_card):
            return LinkCost(HOST_LATENCY, 1 / HOST_BANDWIDTH, ESTIMATED)
        if source.is_card and target.is_card:
            same = source.physical is target.physical
            return LinkCost(CARD_LATENCY, 1 / (SAME_CARD_BANDWIDTH if same else PEER_BANDWIDTH), ESTIMATED)
        return LinkCost(CARD_LATENCY, 1 / PCIE_BANDWIDTH, ESTIMATED)


def link_name(source: Device, target: Device) -> str:
    """What a pair of devices is called in a store: their kinds, and which of them they are."""
    return f"{kind_of(source)} {source.short_name} -> {kind_of(target)} {target.short_name}"


def interpolated_factor(measured: Sequence[Measured], work: Work, speed: Speed) -> float:
    """By which factor the estimate is wrong at an amount of work, from measurements of its family.

    Args:
        measured: At least one measurement.
        work: The work of the operation in question.
        speed: How fast the device is taken to be.
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
    """How much work that is, in one figure: what it should take without the call."""
    return max(work.steps / speed.steps, work.bytes / speed.bandwidth, 1e-12)
