"""Simulating a placement: the source of every cost in a search and in a plan.

``step``: one step, as the executor dispatches it. Calls are dispatched in one order, that of the nodes. Every device
is a stream (or several: its lanes) that runs its calls in that order, and so is every resource of a link. A tensor that
another device needs is sent there once, when the first call that needs it is dispatched; the transfer begins when the
tensor is available and the link's resources are free, and computation continues meanwhile.

    GPU:0    [ a ][ c ]
    GPU:0 -> CPU   [a]                 a's result is sent for b; c does not wait for it
    CPU               [ b ]

Kernels on GPUs are launched by one host thread, the *orderer*, one after the other; a kernel starts after its
launch. A step that runs entirely on one GPU can be captured as a CUDA graph, without a cost per launch.

    host     [launch a][launch b][launch c]
    GPU:0              [ a ]     [ b ]     [ c ]

Memory is counted in the order of dispatch, as an allocator would: weights stay; a result is allocated at its call and
freed after the last call or transfer that uses it has been dispatched, a copy after its last call, workspace after the
call. A copy on a relay stays until the last transfer of the tensor. Results without consumers stay until the end.

``latency`` and ``max_load`` are the models of the published workloads (see `published`): each device holds the sum of
its nodes' sizes, hosts compute on as many cores as there are nodes, and hosts pay nothing for transfers.

    max_load   the largest of all devices' loads: time of its nodes + price of all distinct tensors in + out
        latency    an accelerator's nodes run in calls, split where a path leaves the device and comes back; a call
        begins when
                   all its inputs are available, transfers its tensors in, computes, and transfers its results out
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.placement.search.flat import Flat, flatten, floats, ints, rows_of
from situs._src.placement.search.problem import OBJECTIVES, Objective, Problem, checked_problem

INFINITY = math.inf


@dataclass(frozen=True)
class Span:
    """An interval of time.

    Attributes:
        row: Where: a device, or ``GPU:0 -> CPU:0``.
        name: A node, or the node whose tensor was sent.
        start: When it began.
        end: When it ended.
        kind: ``run``, ``send`` or ``call``.
        lane: Which of the device's lanes.
    """

    row: str
    name: str
    start: float
    end: float
    kind: str
    lane: int = 0


@export("placement.Simulation")
@dataclass(frozen=True)
class Simulation:
    """The time of a placement.

    Attributes:
        value: The objective; infinite if there is a cycle of calls (``latency`` alone).
        busy: Time spent computing, by device.
        peak: The peak memory in bytes, by device.
        traffic: Bytes sent, by (source, target), over each link.
        sending: Time spent sending, by (source, target).
        violations: What is wrong with the placement, in words; empty if it is valid.
        timeline: Everything that took time, in the order of dispatch.
        ordering: Time that the host spent launching GPU calls.
    """

    value: float
    busy: Mapping[str, float]
    peak: Mapping[str, float]
    traffic: Mapping[tuple[str, str], float]
    sending: Mapping[tuple[str, str], float]
    violations: tuple[str, ...]
    timeline: tuple[Span, ...]
    ordering: float = 0.0


@export("placement.simulate", as_is=True)
def simulate(
    problem: Problem, placement: Mapping[str, str], objective: Objective = "step", flat: Flat | None = None
) -> Simulation:
    """Simulates a placement.

    Args:
        problem: The problem.
        placement: Devices by names of nodes.
        objective: The model.
        flat: The problem's arrays, if available, with any blocks.

    Raises:
        InvalidArgumentError: a node is not in the placement, or is on a device that has no kernel for it, or that
            there is not.
    """
    if not isinstance(placement, Mapping):
        raise DTypeError(f"A placement is a mapping from names of nodes to devices, got {shown(placement)}.")
    if objective not in OBJECTIVES:
        raise ArgumentError(f"The objective must be one of {', '.join(OBJECTIVES)}, got {shown(objective)}.")
    devices = devices_of(checked_problem(problem), placement)
    if flat is None or objective == "max_load":  # whose blocks are what is placed
        flat = flatten(problem, [[v] for v in range(len(problem.nodes))])
    trace = Trace()
    value, peak = _by_model(replace(flat, check_memory=1), devices, objective, trace)
    names = [device.name for device in problem.devices]
    busy = dict.fromkeys(names, 0.0)
    for v, d in enumerate(devices):
        busy[names[d]] += problem.nodes[v].times[d] or 0.0
    sends = trace.sends if objective == "step" else _published_sends(problem, devices)
    traffic: dict[tuple[str, str], float] = {}
    sending: dict[tuple[str, str], float] = {}
    for t, source, target, start, end in sends:
        pair = names[source], names[target]
        traffic[pair] = traffic.get(pair, 0.0) + problem.tensors[t].bytes
        sending[pair] = sending.get(pair, 0.0) + (end - start)
    violations = _violations(problem, devices, peak, flat, objective)
    if value == INFINITY:
        violations.append("Calls of accelerators wait for each other in a circle.")
    timeline = _spans(problem, trace, devices)
    peaks = dict(zip(names, peak, strict=True))
    return Simulation(value, busy, peaks, traffic, sending, tuple(violations), timeline, trace.ordering)


def devices_of(problem: Problem, placement: Mapping[str, str]) -> list[int]:
    """A placement by index.

    Raises:
        InvalidArgumentError: it does not match the problem.
    """
    found = []
    for node in problem.nodes:
        if node.name not in placement:
            raise ArgumentError(f"Node {shown(node.name)} is not in the placement.")
        d = problem.device_index.get(placement[node.name])
        if d is None:
            there = ", ".join(problem.device_index)
            raise ArgumentError(
                f"Node {shown(node.name)} is placed on {shown(placement[node.name])}; there are {there}."
            )
        if node.times[d] is None:
            raise ArgumentError(f"Node {shown(node.name)} has no kernel for {placement[node.name]}.")
        found.append(d)
    return found


@dataclass
class Trace:
    """What happened in a run.

    Attributes:
        runs: (node, lane, start, end).
        sends: (tensor, source, target, start, end).
        calls: (device, nodes, start, end), of ``latency``.
        loads: (device, work, load), of ``max_load``.
        ordering: Time that the orderer was busy.
    """

    runs: list[tuple[int, int, float, float]] = field(default_factory=list)
    sends: list[tuple[int, int, int, float, float]] = field(default_factory=list)
    calls: list[tuple[int, list[int], float, float]] = field(default_factory=list)
    loads: list[tuple[int, float, float]] = field(default_factory=list)
    ordering: float = 0.0


class Step:
    """The model of one step. ``step`` in ``fast.c`` is the same."""

    def __init__(self, flat: Flat) -> None:
        self.flat = flat
        self.time, self.tail, self.weights = floats(flat.time), floats(flat.tail), floats(flat.weights)
        self.workspace, self.bytes, self.hops = floats(flat.workspace), floats(flat.bytes), floats(flat.hop)
        self.latency, self.per_byte = floats(flat.link_latency), floats(flat.link_per_byte)
        self.limit, self.producer = floats(flat.limit), ints(flat.producer)
        self.relay, self.is_relay, self.lanes = ints(flat.relay), ints(flat.is_relay), ints(flat.lane_start)
        self.takes = rows_of(flat.in_start, flat.in_tensor)
        self.makes = rows_of(flat.out_start, flat.out_tensor)
        self.consumers = rows_of(flat.consumer_start, flat.consumer)
        rows = rows_of(flat.resource_start, flat.resource)
        self.resources = [[flat.lanes + number for number in row] for row in rows]  # after the lanes, or one of these
        self.ordering, self.recording = floats(flat.ordering), ints(flat.recording)
        self.recordable = [v for v, counts in enumerate(ints(flat.recordable)) if counts]
        self.trace: Trace | None = None
        self.peak: list[float] = []

    def run(self, dev: Sequence[int], enough: float = INFINITY) -> tuple[float, float]:
        """The value and the excess of memory of a placement; an infinite value if it is above `enough`."""
        flat = self.flat
        k, memory = flat.devices, flat.check_memory
        self.dev = dev
        self.finish = finish = [0.0] * flat.nodes
        self.arrival = [-1.0] * (flat.tensors * k)
        self.free = self.engine = free = [0.0] * (flat.lanes + flat.resources)
        self.held = held = [0.0] * k
        for v, d in enumerate(dev):
            held[d] += self.weights[v]
        self.peak = list(held)
        if memory:
            self._begin_memory()
        end = 0.0
        producer, time, tail, lanes = self.producer, self.time, self.tail, self.lanes
        orderer = flat.orderer if flat.orderer >= 0 and not self._is_recorded(dev) else -1
        for v, d in enumerate(dev):
            ready = 0.0
            for t in self.takes[v]:
                u = producer[t]
                at = finish[u] if dev[u] == d else self._bring(t, dev[u], d, finish[u])
                if at > ready:
                    ready = at
            if orderer >= 0 and self.ordering[v * k + d] > 0:
                free[orderer] += self.ordering[v * k + d]
                if free[orderer] > ready:
                    ready = free[orderer]
                if self.trace is not None:
                    self.trace.ordering += self.ordering[v * k + d]
            lane = lanes[2 * d]
            for i in range(lane + 1, lanes[2 * d + 1]):
                if free[i] < free[lane]:
                    lane = i
            if free[lane] > ready:
                ready = free[lane]
            done = ready + time[v * k + d]
            finish[v] = free[lane] = done
            if self.trace is not None:
                self.trace.runs.append((v, lane - lanes[2 * d], ready, done))
            if done > end:
                end = done
            if done + tail[v] > enough:
                return INFINITY, 0.0
            if memory:
                self._account(v, d)
        return end, excess_of(self.peak, self.limit)

    def _is_recorded(self, dev: Sequence[int]) -> bool:
        """Whether all nodes that could be recorded are on devices of one recording."""
        found = {self.recording[dev[v]] for v in self.recordable}
        return len(found) == 1 and -1 not in found

    def _bring(self, t: int, home: int, d: int, made: float) -> float:
        """When a tensor is on a device that did not make it; sends it if it has not been."""
        k = self.flat.devices
        here = t * k + d
        if self.arrival[here] >= 0:
            return self.arrival[here]
        relay = self.relay[home * k + d]
        if relay >= 0:
            made = self._bring(t, home, relay, made)
            home = relay
        at = self.arrival[here] = self._hop(t, home, d, made)
        if self.flat.check_memory:
            self.holds[here] = True
            self.held[d] += self.bytes[t]
            self.peak[d] = max(self.peak[d], self.held[d])
            if self.left[here]:
                self.pending[t] -= 1
        return at

    def _hop(self, t: int, source: int, target: int, ready: float) -> float:
        link = source * self.flat.devices + target
        for r in self.resources[link]:
            if self.engine[r] > ready:
                ready = self.engine[r]
        hop = self.hops[t]
        end = ready + (hop if hop >= 0 else self.latency[link] + self.bytes[t] * self.per_byte[link])
        for r in self.resources[link]:
            self.engine[r] = end
        if self.trace is not None:
            self.trace.sends.append((t, source, target, ready, end))
        return end

    def _begin_memory(self) -> None:
        k, dev = self.flat.devices, self.dev
        self.left = left = [0] * (self.flat.tensors * k)  # calls to come that take a tensor, by tensor and device
        self.holds = [False] * (self.flat.tensors * k)
        self.pending = [0] * self.flat.tensors  # devices that a tensor is still to be sent to
        for t in range(self.flat.tensors):
            home = dev[self.producer[t]]
            for c in self.consumers[t]:
                left[t * k + dev[c]] += 1
            self.pending[t] = sum(1 for d in range(k) if d != home and left[t * k + d])

    def _account(self, v: int, d: int) -> None:
        k = self.flat.devices
        kept = 0.0
        for t in self.makes[v]:
            kept += self.bytes[t]
            self.holds[t * k + d] = True
        self.held[d] += kept
        self.peak[d] = max(self.peak[d], self.held[d] + self.workspace[v])
        for t in self.takes[v]:
            self.left[t * k + d] -= 1
            if not self.left[t * k + d] or not self.pending[t]:
                if not self.pending[t]:
                    self.pending[t] = -1  # once after the last transfer
                self._release(t)

    def _release(self, t: int) -> None:
        """Gives back what holds a tensor that nothing there takes or sends any more."""
        k, home = self.flat.devices, self.dev[self.producer[t]]
        for d in range(k):
            here = t * k + d
            sends = self.pending[t] > 0 and (d == home or self.is_relay[d])
            if self.holds[here] and not self.left[here] and not sends:
                self.holds[here] = False
                self.held[d] -= self.bytes[t]


class Latency:
    """The published model of one sample. ``latency`` in ``fast.c`` is the same."""

    def __init__(self, flat: Flat) -> None:
        self.flat = flat
        self.time, self.size, self.limit = floats(flat.time), floats(flat.size), floats(flat.limit)
        self.price_in, self.price_out = floats(flat.price_in), floats(flat.price_out)
        self.is_host, self.producer = ints(flat.is_host), ints(flat.producer)
        self.takes = rows_of(flat.in_start, flat.in_tensor)
        self.makes = rows_of(flat.out_start, flat.out_tensor)
        self.consumers = rows_of(flat.consumer_start, flat.consumer)
        self.trace: Trace | None = None
        self.peak: list[float] = []

    def run(self, dev: Sequence[int], enough: float = INFINITY) -> tuple[float, float]:
        """The value and the excess of memory of a placement; an infinite value if it is above `enough`."""
        k = self.flat.devices
        self.peak = [0.0] * k
        for v, d in enumerate(dev):
            self.peak[d] += self.size[v]
        excess = excess_of(self.peak, self.limit)
        group, members = self._cut(dev)
        waits = [0] * len(members)
        for t, takers in enumerate(self.consumers):
            home = group[self.producer[t]]
            for c in takers:
                waits[group[c]] += group[c] != home
        stack = [g for g in range(len(members) - 1, -1, -1) if not waits[g]]
        finish = [0.0] * len(members)
        mark = [-1] * self.flat.tensors
        end, done = 0.0, 0
        while stack:
            g = stack.pop()
            d = dev[members[g][0]]
            start = work = received = sent = 0.0
            done += 1
            for v in reversed(members[g]):
                work += self.time[v * k + d]
                for t in self.takes[v]:
                    home = group[self.producer[t]]
                    if home == g or mark[t] == g:
                        continue
                    mark[t] = g
                    received += self.price_in[t * k + d]
                    start = max(start, finish[home])
                for t in self.makes[v]:
                    leaves = False
                    for c in self.consumers[t]:
                        if group[c] == g:
                            continue
                        leaves = True
                        waits[group[c]] -= 1
                        if not waits[group[c]]:
                            stack.append(group[c])
                    if leaves:
                        sent += self.price_out[t * k + d]
            finish[g] = start + received + work + sent
            if self.trace is not None:
                self.trace.calls.append((d, members[g], start, finish[g]))
            end = max(end, finish[g])
            if finish[g] > enough:
                return INFINITY, excess
        return (INFINITY if done < len(members) else end), excess

    def _cut(self, dev: Sequence[int]) -> tuple[list[int], list[list[int]]]:
        """Cuts devices' nodes into calls: the call of each node, and the nodes of each call."""
        k = self.flat.devices
        nothing = [0] * k
        levels: list[list[int]] = []
        group: list[int] = []
        members: list[list[int]] = []
        calls: dict[tuple[int, int], int] = {}
        for v, d in enumerate(dev):
            level, own = nothing, 1
            for t in self.takes[v]:
                u = self.producer[t]
                before = levels[u]
                level = before if level is nothing else list(map(max, level, before))
                own = max(own, before[d] + (dev[u] != d))
            levels.append(level)
            if self.is_host[d]:
                group.append(len(members))
                members.append([v])
                continue
            if level[d] != own:
                levels[v] = [*level[:d], own, *level[d + 1 :]]
            g = calls.setdefault((own, d), len(members))
            if g == len(members):
                members.append([])
            members[g].append(v)
            group.append(g)
        return group, members


class MaxLoad:
    """The published model of a pipeline: loads, and what a move changes of them. ``fast.c`` does the same."""

    def __init__(self, flat: Flat) -> None:
        self.flat = flat
        self.time, self.size, self.limit = floats(flat.block_time), floats(flat.block_size), floats(flat.limit)
        self.price_in, self.price_out = floats(flat.bundle_in), floats(flat.bundle_out)
        self.home = ints(flat.bundle_home)
        self.makes = rows_of(flat.makes_start, flat.makes)
        self.takes = rows_of(flat.takes_start, flat.takes)

    def begin(self, place: list[int]) -> None:
        """Computes all loads of a placement of blocks, which `shift` will change."""
        k = self.flat.devices
        self.now = place
        self.load, self.peak = [0.0] * k, [0.0] * k
        self.count = [0] * (self.flat.bundles * k)  # blocks that take a bundle, by bundle and device
        self.away = [0] * self.flat.bundles  # ... elsewhere than where it is made
        for b, d in enumerate(place):
            self.load[d] += self.time[b * k + d]
            self.peak[d] += self.size[b]
            for g in self.takes[b]:
                self.count[g * k + d] += 1
                self.away[g] += d != place[self.home[g]]
        for g in range(self.flat.bundles):
            home = place[self.home[g]]
            for d in range(k):
                if d != home and self.count[g * k + d]:
                    self.load[d] += self.price_in[g * k + d]
            if self.away[g]:
                self.load[home] += self.price_out[g * k + home]

    def shift(self, b: int, d: int) -> None:
        """Moves a block to a device."""
        k, now, load, count, away = self.flat.devices, self.now, self.load, self.count, self.away
        source = now[b]
        load[source] -= self.time[b * k + source]
        load[d] += self.time[b * k + d]
        self.peak[source] -= self.size[b]
        self.peak[d] += self.size[b]
        for g in self.takes[b]:
            home, row = now[self.home[g]], g * k
            count[row + source] -= 1
            if source != home:
                if not count[row + source]:
                    load[source] -= self.price_in[row + source]
                away[g] -= 1
                if not away[g]:
                    load[home] -= self.price_out[row + home]
            if d != home:
                if not count[row + d]:
                    load[d] += self.price_in[row + d]
                if not away[g]:
                    load[home] += self.price_out[row + home]
                away[g] += 1
            count[row + d] += 1
        for g in self.makes[b]:
            row = g * k
            if away[g]:
                load[source] -= self.price_out[row + source]
            if count[row + source]:
                load[source] += self.price_in[row + source]
            if count[row + d]:
                load[d] -= self.price_in[row + d]
            away[g] += count[row + source] - count[row + d]
            if away[g]:
                load[d] += self.price_out[row + d]
        now[b] = d

    def value(self) -> tuple[float, float]:
        """The largest load and the excess of memory."""
        return max(0.0, *self.load), excess_of(self.peak, self.limit)


def excess_of(peak: Sequence[float], limit: Sequence[float]) -> float:
    """Memory over the limits, as shares of them, added up."""
    over = 0.0
    for held, most in zip(peak, limit, strict=True):
        if held > most:
            over += (held - most) / (most + 1.0)
    return over


def _by_model(flat: Flat, devices: list[int], objective: Objective, trace: Trace) -> tuple[float, list[float]]:
    if objective == "max_load":
        load = MaxLoad(flat)
        load.begin(list(devices))
        for d in range(flat.devices):
            work = sum(load.time[v * flat.devices + d] for v, e in enumerate(devices) if e == d)
            trace.loads.append((d, work, load.load[d]))
        return load.value()[0], load.peak
    counted = replace(flat, check_memory=1)  # what is held is told, whether or not there is a limit to it
    model: Step | Latency = Step(counted) if objective == "step" else Latency(counted)
    model.trace = trace
    return model.run(devices)[0], model.peak


def _published_sends(problem: Problem, devices: Sequence[int]) -> list[tuple[int, int, int, float, float]]:
    """What is sent over links, of which the published models know only the price: each tensor once to each device."""
    found = []
    for t, tensor in enumerate(problem.tensors):
        home = devices[tensor.producer]
        hops: dict[tuple[int, int], float] = {}
        for target in {devices[c] for c in tensor.consumers} - {home}:
            hops |= {(link.source, link.target): link.seconds(tensor) for link in problem.routes[home, target]}
        found += [(t, source, target, 0.0, seconds) for (source, target), seconds in sorted(hops.items())]
    return found


def _violations(
    problem: Problem, devices: Sequence[int], peak: Sequence[float], flat: Flat, objective: Objective
) -> list[str]:
    found = []
    for device, held in zip(problem.devices, peak, strict=True):
        if device.memory is not None and held > device.room:
            found.append(f"{device.name} holds {held:.6g} bytes and has {device.memory:.6g}.")
    together: dict[str, int] = {}
    split = set()
    for node, d in zip(problem.nodes, devices, strict=True):
        if node.allowed is not None and d not in node.allowed:
            found.append(f"Node {shown(node.name)} is not allowed on {problem.devices[d].name}.")
        if node.group is not None and together.setdefault(node.group, d) != d:
            split.add(node.group)
    return found + [f"Group {shown(group)} is on more than one device." for group in sorted(split)]


def _spans(problem: Problem, trace: Trace, devices: Sequence[int]) -> tuple[Span, ...]:
    names = [device.name for device in problem.devices]
    spans = [
        Span(names[devices[v]], problem.nodes[v].name, start, end, "run", lane) for v, lane, start, end in trace.runs
    ]
    for t, source, target, start, end in trace.sends:
        name = problem.nodes[problem.tensors[t].producer].name
        spans.append(Span(f"{names[source]} -> {names[target]}", name, start, end, "send"))
    for d, members, start, end in trace.calls:
        first = problem.nodes[members[0]].name
        name = first if len(members) == 1 else f"{first} and {len(members) - 1} more"
        spans.append(Span(names[d], name, start, end, "call"))
    for d, work, load in trace.loads:
        spans += [Span(names[d], "computation", 0.0, work, "run"), Span(names[d], "transfers", work, load, "send")]
    return tuple(spans)
