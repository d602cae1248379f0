"""A placement problem: nodes with their times on each device, tensors between them, devices, links.

    nodes    in the order of dispatch; each with a time per device (None: no kernel there), weights, workspace, wishes
    tensors  one producer, any consumers, bytes
    devices  a kind, a memory limit, lanes (how many nodes run in parallel)
    links    ordered pairs of devices: latency + bytes * seconds_per_byte, and the resources that a transfer occupies
    orderer  the thread of the host that launches the calls of all GPUs

A pair of devices without a link is connected through one other device (`Problem.route`): two GPUs through the host if
there is no peer access. A constraint is hard: ``allowed`` devices (a single one is a pin), a ``group`` whose members
share a device, a memory limit. Everything is validated when a problem is created, so readers need not.

Times are in seconds and sizes in bytes by convention; nothing depends on it, except for reports.

The JSON form names nodes and devices, and its nodes may be in any order that can be sorted:

    {"format": "situs.placement.problem", "version": 1,
     "devices": [{"name": "GPU:0", "kind": "GPU", "memory": 1e9}, {"name": "CPU:0", "kind": "CPU", "lanes": 4}],
     "links":   [{"from": "CPU:0", "to": "GPU:0", "latency": 1e-5, "seconds_per_byte": 1e-10, "resources": ["in"]}],
     "nodes":   [{"name": "x", "times": {"CPU:0": 1e-3}}, {"name": "y", "times": {...}, "allowed": ["GPU:0"]}],
     "tensors": [{"from": "x", "bytes": 4096, "to": ["y"]}]}
"""

from __future__ import annotations

import heapq
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export

FORMAT = "situs.placement.problem"
VERSION = 1
MOST_LANES = 2**16
ROUNDING = 1e-12  # of a limit: what sums of the same bytes in other orders may differ by
HOST = "CPU"  # the kind of devices whose memory is the host's

Objective = Literal["step", "latency", "max_load"]
OBJECTIVES: tuple[Objective, ...] = ("step", "latency", "max_load")

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@export("placement.Device")
@dataclass(frozen=True)
class Device:
    """A device for nodes.

    Attributes:
        name: Its name in plans.
        kind: ``CPU`` for the host; any other string for a device with its own memory.
        memory: Its bytes; None for no limit.
        lanes: How many nodes it runs in parallel: streams of a GPU, cores of a host.
        processor: Its processor, if shared: devices with the same processor share its lanes. So do logical devices of
        one
            physical GPU, and virtual ones of the host. None for one of its own.
        recording: The CUDA graph that its calls can be captured in, to be launched at once; None for none. A step is
            captured if all of its nodes that could be on such a device are on devices of one recording.
    """

    name: str
    kind: str
    memory: float | None = None
    lanes: int = 1
    processor: str | None = None
    recording: str | None = None

    @property
    def is_host(self) -> bool:
        """Whether it computes in the host's memory."""
        return self.kind == HOST

    @property
    def room(self) -> float:
        """How many bytes fit, whatever the order in which they are added up; infinite without a limit."""
        return math.inf if self.memory is None else self.memory * (1 + ROUNDING)


@export("placement.Node")
@dataclass(frozen=True)
class Node:
    """A node to be placed.

    Attributes:
        name: Its unique name.
        times: Its time on each device, by the device's index; None if it has no kernel there.
        weights: Bytes that stay on its device during the whole step.
        workspace: Bytes that it needs while it runs.
        group: Nodes of the same group are on the same device; None for no group.
        allowed: Indices of the devices that the user allows; None for all of them.
        ordering: The launch time on each device before it can begin there, unless the step is captured; empty for
            none.
    """

    name: str
    times: tuple[float | None, ...]
    weights: float = 0.0
    workspace: float = 0.0
    group: str | None = None
    allowed: tuple[int, ...] | None = None
    ordering: tuple[float, ...] = ()


@export("placement.Tensor")
@dataclass(frozen=True)
class Tensor:
    """A result of a node with its consumers.

    A tensor without consumers is a result of the step: it stays until the end.

    Attributes:
        producer: The index of the node that produces it.
        bytes: Its size.
        consumers: The indices of the nodes that consume it.
        hop_seconds: The time of one transfer over any link, if known independently of the link; 0 for a mere
            dependency.
    """

    producer: int
    bytes: float
    consumers: tuple[int, ...]
    hop_seconds: float | None = None


@export("placement.Link")
@dataclass(frozen=True)
class Link:
    """A connection from one device to another.

    Attributes:
        source: Index of the device that sends.
        target: Index of the device that receives.
        latency: The fixed time of a transfer.
        seconds_per_byte: The time per byte.
        resources: What a transfer occupies exclusively: a copy engine, a bus. Links with the same resource wait for
        each
            other. The name of a processor is that processor's first lane: a copy made by the host itself.
    """

    source: int
    target: int
    latency: float = 0.0
    seconds_per_byte: float = 0.0
    resources: tuple[str, ...] = ()

    def seconds(self, tensor: Tensor) -> float:
        """The time of the transfer of a tensor, once it has begun."""
        if tensor.hop_seconds is not None:
            return tensor.hop_seconds
        return self.latency + tensor.bytes * self.seconds_per_byte


@export("placement.Problem")
@dataclass(frozen=True)
class Problem:
    """A graph with costs, and devices for it.

    Attributes:
        nodes: In the order of dispatch: a node comes after the producers of its inputs.
        tensors: All tensors.
        devices: At least one.
        links: At most one for an ordered pair.
        rests_on: The origin of the costs, in words, for plans: how many were measured, when.
        orderer: What launches the calls of nodes with an `ordering`: the name of a processor, which computes nothing
            meanwhile (its first lane), or of a resource like those of links.

    Raises:
        InvalidArgumentError: it is invalid.
    """

    nodes: tuple[Node, ...]
    tensors: tuple[Tensor, ...]
    devices: tuple[Device, ...]
    links: tuple[Link, ...] = ()
    rests_on: tuple[str, ...] = field(default=(), compare=False)
    orderer: str | None = None

    def __post_init__(self) -> None:
        _check(self)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Nodes by name."""
        return {node.name: i for i, node in enumerate(self.nodes)}

    @cached_property
    def device_index(self) -> Mapping[str, int]:
        """Devices by name."""
        return {device.name: i for i, device in enumerate(self.devices)}

    @cached_property
    def link(self) -> Mapping[tuple[int, int], Link]:
        """Links by source and target."""
        return {(link.source, link.target): link for link in self.links}

    @cached_property
    def routes(self) -> Mapping[tuple[int, int], tuple[Link, ...]]:
        """The links from a device to another: one, or two with a relay between them."""
        pairs = ((s, t) for s in range(len(self.devices)) for t in range(len(self.devices)) if s != t)
        return {pair: found for pair in pairs if (found := _route(self, *pair))}

    def candidates(self, node: int) -> tuple[int, ...]:
        """The devices that have a kernel for a node and that the user allows, by index."""
        return self._candidates[node]

    @cached_property
    def _candidates(self) -> list[tuple[int, ...]]:
        known: dict[tuple[tuple[bool, ...], tuple[int, ...] | None], tuple[int, ...]] = {}
        found = []
        for node in self.nodes:
            key = tuple(time is not None for time in node.times), node.allowed
            if key not in known:
                allowed = range(len(self.devices)) if node.allowed is None else node.allowed
                known[key] = tuple(d for d, has_kernel in enumerate(key[0]) if has_kernel and d in allowed)
            found.append(known[key])
        return found

    def only(self, names: Sequence[str]) -> Problem:
        """The problem restricted to some of its devices.

        Raises:
            InvalidArgumentError: one of them does not exist, or they are not connected without the others.
        """
        for name in names:
            if name not in self.device_index:
                raise ArgumentError(f"There is no device {shown(name)}; there are {', '.join(self.device_index)}.")
        kept = [d for d, device in enumerate(self.devices) if device.name in names]
        place = {d: i for i, d in enumerate(kept)}
        nodes = tuple(
            replace(
                node,
                times=tuple(node.times[d] for d in kept),
                allowed=None if node.allowed is None else tuple(place[d] for d in node.allowed if d in place),
                ordering=tuple(node.ordering[d] for d in kept) if node.ordering else (),
            )
            for node in self.nodes
        )
        links = tuple(
            replace(link, source=place[link.source], target=place[link.target])
            for link in self.links
            if link.source in place and link.target in place
        )
        devices = tuple(self.devices[d] for d in kept)
        return Problem(nodes, self.tensors, devices, links, self.rests_on, self.orderer)

    def to_json(self) -> dict[str, Json]:
        """The problem as plain data, which `from_json` reads."""
        return _to_json(self)


def from_json(data: object) -> Problem:
    """Reads the result of `Problem.to_json`, or a hand-written problem.

    Raises:
        InvalidArgumentError: it is something else; the message says where.
    """
    return _Reader().problem(data)


def loads(text: str | bytes) -> Problem:
    """Reads the JSON text of a problem.

    Raises:
        InvalidArgumentError: it is not JSON, or not a problem.
    """
    return from_json(parse(text))


def parse(text: str | bytes) -> object:
    """Parses untrusted JSON.

    Raises:
        InvalidArgumentError: it is not JSON.
    """
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"This is not JSON: {error}.") from None
    return found


def sort_nodes(count: int, tensors: Sequence[Tensor]) -> list[int]:
    """A topological order of nodes, as close as possible to the given one.

    Raises:
        InvalidArgumentError: there is a cycle.
    """
    after: list[list[int]] = [[] for _ in range(count)]
    waits = [0] * count
    for tensor in tensors:
        for consumer in tensor.consumers:
            after[tensor.producer].append(consumer)
            waits[consumer] += 1
    ready = [i for i in range(count) if not waits[i]]
    order = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for j in after[i]:
            waits[j] -= 1
            if not waits[j]:
                heapq.heappush(ready, j)
    if len(order) < count:
        raise ArgumentError(f"{count - len(order)} nodes wait for each other in a circle; a step has none.")
    return order


# Validation.


def checked_problem(problem: object) -> Problem:
    """Checks that something is a problem.

    Raises:
        TypeError: it is not.
    """
    if not isinstance(problem, Problem):
        raise DTypeError(f"A Problem is wanted, got {shown(problem)}.")
    return problem


def _check(problem: Problem) -> None:
    wanted = {"nodes": Node, "tensors": Tensor, "devices": Device, "links": Link}
    for name, kind in wanted.items():
        given = getattr(problem, name)
        if not isinstance(given, (list, tuple)) or not all(isinstance(each, kind) for each in given):
            raise DTypeError(f"The {name} of a problem are a tuple of {kind.__name__}s, got {shown(given)}.")
    if problem.orderer is not None and not isinstance(problem.orderer, str):
        raise DTypeError(
            f"The orderer of a problem is the name of a processor or resource, got {shown(problem.orderer)}."
        )
    _check_devices(problem)
    count, width = len(problem.nodes), len(problem.devices)
    if len(problem.index) < count:
        raise ArgumentError(f"Two nodes are named {shown(_twice(node.name for node in problem.nodes))}.")
    for node in problem.nodes:
        if len(node.times) != width:
            raise ArgumentError(
                f"Node {shown(node.name)} has {len(node.times)} times, and there are {width} devices: it needs one for "
                "each, None where it has no kernel."
            )
        for time in node.times:
            _amount("time", node.name, 0.0 if time is None else time)
        if not isinstance(node.ordering, (list, tuple)):
            raise DTypeError(
                f"The ordering of node {shown(node.name)} is a tuple of times, got {shown(node.ordering)}."
            )
        if node.ordering and (len(node.ordering) != width or problem.orderer is None):
            raise ArgumentError(
                f"Node {shown(node.name)} has {len(node.ordering)} times of ordering: it needs one for each of the "
                f"{width} devices, and the problem an orderer."
            )
        for time in node.ordering:
            _amount("time of ordering", node.name, time)
        _amount("size of weights", node.name, node.weights)
        _amount("workspace", node.name, node.workspace)
        if node.allowed is not None and not all(0 <= d < width for d in node.allowed):
            raise ArgumentError(f"Node {shown(node.name)} is allowed on device {shown(node.allowed)} of {width}.")
    for tensor in problem.tensors:
        if not 0 <= tensor.producer < count or not all(0 <= c < count for c in tensor.consumers):
            raise ArgumentError(f"A tensor goes from node {tensor.producer} to {shown(tensor.consumers)} of {count}.")
        name = problem.nodes[tensor.producer].name
        _amount("size of a result", name, tensor.bytes)
        _amount("time of a transfer", name, tensor.hop_seconds or 0.0)
        for consumer in tensor.consumers:
            if consumer <= tensor.producer:
                raise ArgumentError(
                    f"Node {shown(problem.nodes[consumer].name)} takes what {shown(name)} makes and is dispatched "
                    "before it. Nodes stand in the order of dispatch."
                )


def _check_devices(problem: Problem) -> None:
    width = len(problem.devices)
    if not width:
        raise ArgumentError("There is no device to place anything on.")
    if len(problem.device_index) < width:
        raise ArgumentError(f"Two devices are named {shown(_twice(device.name for device in problem.devices))}.")
    for device in problem.devices:
        _amount("memory limit", device.name, device.memory or 0.0)
        if not 1 <= device.lanes <= MOST_LANES:
            raise ArgumentError(
                f"Device {shown(device.name)} needs at least one lane and at most {MOST_LANES}, got "
                f"{shown(device.lanes)}."
            )
    for link in problem.links:
        if not (0 <= link.source < width and 0 <= link.target < width) or link.source == link.target:
            raise ArgumentError(f"A link goes from device {link.source} to {link.target} of {width}.")
        _amount("latency", "a link", link.latency)
        _amount("time per byte", "a link", link.seconds_per_byte)
    if len(problem.link) < len(problem.links):
        raise ArgumentError("Two links go from the same device to the same other one.")
    for source in range(width):
        for target in range(width):
            if source != target and (source, target) not in problem.routes:
                raise ArgumentError(
                    f"Nothing can get from {problem.devices[source].name} to {problem.devices[target].name}: there is "
                    "neither a link nor one device with links to both. Add a link."
                )


def _route(problem: Problem, source: int, target: int) -> tuple[Link, ...]:
    """The link itself, or the two of the fastest relay; hosts are preferred among equals."""
    direct = problem.link.get((source, target))
    if direct is not None:
        return (direct,)
    ways = [
        (first, second)
        for relay in range(len(problem.devices))
        if (first := problem.link.get((source, relay))) and (second := problem.link.get((relay, target)))
    ]
    mebibyte = 2.0**20

    def price(way: tuple[Link, Link]) -> tuple[float, bool, int]:
        seconds = sum(link.latency + mebibyte * link.seconds_per_byte for link in way)
        relay = way[0].target
        return seconds, not problem.devices[relay].is_host, relay

    return min(ways, key=price, default=())


def _amount(what: str, whose: str, value: float) -> None:
    if not (isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf):
        raise ArgumentError(f"The {what} of {shown(whose)} must be a number from 0, got {shown(value)}.")


def _twice(names: Iterable[str]) -> str:
    return next(name for name, count in Counter(names).items() if count > 1)


# JSON.


def _to_json(problem: Problem) -> dict[str, Json]:
    names = [device.name for device in problem.devices]
    nodes: list[Json] = []
    for node in problem.nodes:
        times: dict[str, Json] = {n: t for n, t in zip(names, node.times, strict=True) if t is not None}
        row: dict[str, Json] = {"name": node.name, "times": times}
        row |= {key: value for key in ("weights", "workspace") if (value := getattr(node, key))}
        if node.ordering:
            row["ordering"] = {n: t for n, t in zip(names, node.ordering, strict=True) if t}
        if node.group is not None:
            row["group"] = node.group
        if node.allowed is not None:
            row["allowed"] = [names[d] for d in node.allowed]
        nodes.append(row)
    tensors: list[Json] = []
    for tensor in problem.tensors:
        ends: list[Json] = [problem.nodes[c].name for c in tensor.consumers]
        row = {"from": problem.nodes[tensor.producer].name, "bytes": tensor.bytes, "to": ends}
        if tensor.hop_seconds is not None:
            row["hop_seconds"] = tensor.hop_seconds
        tensors.append(row)
    orderer: dict[str, Json] = {} if problem.orderer is None else {"orderer": problem.orderer}
    return {
        "format": FORMAT,
        "version": VERSION,
        "rests_on": list(problem.rests_on),
        **orderer,
        "devices": [_device_row(device) for device in problem.devices],
        "links": [
            {
                "from": names[link.source],
                "to": names[link.target],
                "latency": link.latency,
                "seconds_per_byte": link.seconds_per_byte,
                "resources": list(link.resources),
            }
            for link in problem.links
        ],
        "nodes": nodes,
        "tensors": tensors,
    }


def _device_row(device: Device) -> dict[str, Json]:
    row: dict[str, Json] = {"name": device.name, "kind": device.kind, "memory": device.memory, "lanes": device.lanes}
    row |= {key: value for key in ("processor", "recording") if (value := getattr(device, key)) is not None}
    return row


class _Reader:
    """Reads plain data, and reports where it is invalid."""

    def __init__(self) -> None:
        self.devices: dict[str, int] = {}
        self.nodes: dict[str, int] = {}

    def problem(self, data: object) -> Problem:
        table = check_head(data, FORMAT, VERSION)
        devices = tuple(self._device(row, f"devices[{i}]") for i, row in enumerate(rows(table, "devices")))
        self.devices = {device.name: i for i, device in enumerate(devices)}
        if len(self.devices) < len(devices):
            raise ArgumentError(f"Two devices are named {shown(_twice(device.name for device in devices))}.")
        links = tuple(self._link(row, f"links[{i}]") for i, row in enumerate(rows(table, "links", ())))
        nodes = [self._node(row, f"nodes[{i}]") for i, row in enumerate(rows(table, "nodes"))]
        self.nodes = {node.name: i for i, node in enumerate(nodes)}
        tensors = [self._tensor(row, f"tensors[{i}]") for i, row in enumerate(rows(table, "tensors", ()))]
        basis = tuple(str(line) for line in rows(table, "rests_on", ()))
        order = sort_nodes(len(nodes), tensors)
        place = {old: new for new, old in enumerate(order)}
        moved = tuple(
            Tensor(place[t.producer], t.bytes, tuple(place[c] for c in t.consumers), t.hop_seconds) for t in tensors
        )
        orderer = None if table.get("orderer") is None else text(table, "orderer", "the file")
        return Problem(tuple(nodes[i] for i in order), moved, devices, links, basis, orderer)

    def _device(self, data: object, where: str) -> Device:
        row = table_of(data, where)
        memory = None if row.get("memory") is None else number(row, "memory", where)
        lanes = row.get("lanes", 1)
        if not isinstance(lanes, int) or isinstance(lanes, bool):
            raise ArgumentError(f"{where}: lanes must be a whole number, got {shown(lanes)}.")
        processor = None if row.get("processor") is None else text(row, "processor", where)
        recording = None if row.get("recording") is None else text(row, "recording", where)
        return Device(text(row, "name", where), text(row, "kind", where), memory, lanes, processor, recording)

    def _link(self, data: object, where: str) -> Link:
        row = table_of(data, where)
        resources = tuple(str(name) for name in rows(row, "resources", ()))
        source, target = self._device_index(row.get("from"), where), self._device_index(row.get("to"), where)
        latency, per_byte = number(row, "latency", where, 0.0), number(row, "seconds_per_byte", where, 0.0)
        return Link(source, target, latency, per_byte, resources)

    def _node(self, data: object, where: str) -> Node:
        row = table_of(data, where)
        given = table_of(row.get("times"), f"{where}.times")
        times: list[float | None] = [None] * len(self.devices)
        for name in given:
            times[self._device_index(name, where)] = None if given[name] is None else number(given, name, where)
        group = None if row.get("group") is None else text(row, "group", where)
        allowed = None
        if row.get("allowed") is not None:
            allowed = tuple(self._device_index(name, where) for name in rows(row, "allowed"))
        weights, workspace = number(row, "weights", where, 0.0), number(row, "workspace", where, 0.0)
        ordering = [0.0] * len(self.devices) if row.get("ordering") is not None else []
        if ordering:
            ordered = table_of(row["ordering"], f"{where}.ordering")
            for name in ordered:
                ordering[self._device_index(name, where)] = number(ordered, name, where)
        return Node(text(row, "name", where), tuple(times), weights, workspace, group, allowed, tuple(ordering))

    def _tensor(self, data: object, where: str) -> Tensor:
        row = table_of(data, where)
        consumers = tuple(self._node_index(name, where) for name in rows(row, "to"))
        seconds = None if row.get("hop_seconds") is None else number(row, "hop_seconds", where)
        return Tensor(self._node_index(row.get("from"), where), number(row, "bytes", where, 0.0), consumers, seconds)

    def _device_index(self, name: object, where: str) -> int:
        if not isinstance(name, str) or name not in self.devices:
            known = ", ".join(self.devices) or "none"
            raise ArgumentError(f"{where}: there is no device {shown(name)}; there are {shown(known)}.")
        return self.devices[name]

    def _node_index(self, name: object, where: str) -> int:
        if not isinstance(name, str) or name not in self.nodes:
            raise ArgumentError(f"{where}: there is no node {shown(name)}.")
        return self.nodes[name]


def check_head(data: object, wanted: str, version: int) -> Mapping[str, object]:
    """Plain data as a table, if it has this format and version."""
    table = table_of(data, "the file")
    if table.get("format") != wanted:
        raise ArgumentError(f"The file says that its format is {shown(table.get('format'))}, and not {wanted!r}.")
    if table.get("version") != version:
        raise ArgumentError(
            f"The file is version {shown(table.get('version'))} of {wanted}; this Situs reads version {version}."
        )
    return table


def table_of(data: object, where: str) -> Mapping[str, object]:
    """The data, which must be a table."""
    if not isinstance(data, dict):
        raise ArgumentError(f"{where} must be a table of names and values, got {shown(data)}.")
    return data


def rows(table: Mapping[str, object], key: str, default: Sequence[object] | None = None) -> Sequence[object]:
    """A list in a table."""
    found = table.get(key, default)
    if not isinstance(found, (list, tuple)):
        raise ArgumentError(f"{key!r} must be a list, got {shown(found)}.")
    return found


def text(row: Mapping[str, object], key: str, where: str) -> str:
    """A string in the table at `where`."""
    found = row.get(key)
    if not isinstance(found, str):
        raise ArgumentError(f"{where}: {key} must be a text, got {shown(found)}.")
    return found


def number(row: Mapping[str, object], key: str, where: str, default: float | None = None) -> float:
    """A finite, nonnegative number in the table at `where`."""
    found = row.get(key, default)
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        raise ArgumentError(f"{where}: {key} must be a number, got {shown(found)}.")
    try:
        value = float(found)
    except OverflowError:
        value = math.inf
    if not 0 <= value < math.inf:
        raise ArgumentError(f"{where}: {key} must be a number from 0, got {shown(found)}.")
    return value
