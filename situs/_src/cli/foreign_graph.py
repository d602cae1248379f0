"""Graphs that cannot be imported, as problems for ``situs place``: read from the message, by bytes alone.

    node { name: "y" op: "Theirs" input: "x" input: "^before" device: "/gpu:0" attr { "_class": loc:@x ... } }

    sizes      what the message says: ``_output_shapes``, ``shape``, the value of a constant; else as large as the
               largest input of the node
    times      a call, and what is read and written through the device's memory; nothing for what takes no input
    wishes     requests for devices that there are; ``_class`` for what is colocated

Nothing of the graph is run or inferred, so that any graph can be placed; the plan says what that rests on. Loops of old
graphs go in circles: the edge that closes one is left out.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

from situs._src.base.devices.logical import Device as Logical
from situs._src.base.devices.spec import parse_spec
from situs._src.base.dtype import DType, as_dtype, float32
from situs._src.base.errors import ArgumentError, OpError
from situs._src.base.proto.graph import GraphDef
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.placement.costs.kinds import processor_of, speed_of
from situs._src.placement.costs.model import CostModel, estimate
from situs._src.placement.costs.work import Work, shape_bytes
from situs._src.placement.search.problem import Device, Link, Node, Problem, Tensor
from situs._src.placement.search.reduce import Union

_DTYPES = ("dtype", "DstT", "out_type", "output_type", "Tout", "T")  # attributes that say what a result is made of
_COLOCATED = b"loc:@"


def problem_of_message(
    message: GraphDef, devices: Sequence[Logical], model: CostModel, memory: dict[Logical, float], why: str = ""
) -> Problem:
    """The problem of placing a graph of which only the message is known.

    Args:
        message: The graph.
        devices: The devices.
        model: What copies cost.
        memory: How many bytes devices have, for those with a limit.
        why: Why it cannot be imported.

    Raises:
        InvalidArgumentError: the message is malformed: two nodes of a name, or an input that is nowhere.
    """
    nodes = list(message.node)
    index = {node.name: i for i, node in enumerate(nodes)}
    if len(index) < len(nodes):
        raise ArgumentError("The graph has two nodes of the same name.")
    takes = [[_source(text, node.name, index) for text in node.input] for node in nodes]
    order = _order(takes)
    place = {old: new for new, old in enumerate(order)}
    sizes = _sizes(nodes, takes, order)
    groups = _groups(nodes, index)
    made = []
    for i in order:
        moved = sizes[i] + sum(sizes[u] for u, is_data in takes[i] if is_data)
        work = Work(0.0, moved, 1 if takes[i] else 0)
        times = tuple(estimate(work, speed_of(device)) if takes[i] else 0.0 for device in devices)
        made.append(Node(nodes[i].name, times, group=groups[i], allowed=_allowed(nodes[i].device, devices)))
    links = tuple(_link(a, b, devices, model) for a in range(len(devices)) for b in range(len(devices)) if a != b)
    own = tuple(Device(d.short_name, d.type, memory.get(d), processor=processor_of(d)) for d in devices)
    known = sum(_said(node) is not None for node in nodes)
    return Problem(
        tuple(made),
        tuple(_tensors(takes, place, sizes)),
        own,
        links,
        (
            "the graph has ops that are not known here, or not in this form: all times are estimated, from bytes alone",
            *([f"it cannot be imported: {why}"] if why else ()),
            f"the sizes of {known} of {len(nodes)} results stand in the file; the others are guessed",
        ),
    )


def _source(text: str, taker: str, index: dict[str, int]) -> tuple[int, bool]:
    """Which node an input is from, and whether it is a value, and not only something to wait for."""
    name = text.removeprefix("^").partition(":")[0]
    if name not in index:
        raise ArgumentError(f"Node {taker!r} takes {text!r}, and there is no node of that name.")
    return index[name], not text.startswith("^")


def _order(takes: list[list[tuple[int, bool]]]) -> list[int]:
    """An order in which nodes can run, as near as possible to the file's; what closes a circle is taken out."""
    after: list[list[int]] = [[] for _ in takes]
    waits = [0] * len(takes)
    for v, sources in enumerate(takes):
        for u in {u for u, _ in sources}:
            after[u].append(v)
            waits[v] += 1
    ready = [v for v, count in enumerate(waits) if not count]
    left = iter(range(len(takes)))
    order: list[int] = []
    done = [False] * len(takes)
    while len(order) < len(takes):
        if not ready:  # the first node that is left waits for one after it, in a circle
            ready.append(next(v for v in left if not done[v]))
        v = heapq.heappop(ready)
        if done[v]:
            continue
        done[v] = True
        order.append(v)
        takes[v] = [(u, is_data) for u, is_data in takes[v] if done[u] and u != v]
        for c in after[v]:
            waits[c] -= 1
            if not waits[c] and not done[c]:
                heapq.heappush(ready, c)
    return order


def _sizes(nodes: Sequence[Any], takes: Sequence[Sequence[tuple[int, bool]]], order: Sequence[int]) -> list[float]:
    """The bytes of each node's results."""
    found = [0.0] * len(nodes)
    for i in order:
        said = _said(nodes[i])
        inputs = [found[u] for u, is_data in takes[i] if is_data]
        found[i] = said if said is not None else max(inputs, default=float(shape_bytes(UNKNOWN, float32)))
    return found


def _said(node: Any) -> float | None:
    """The bytes of a node's results, if the message tells their shapes."""
    attrs, dtype = node.attr, _dtype(node)
    if "_output_shapes" in attrs:
        return float(sum(shape_bytes(_shape(shape), dtype) for shape in attrs["_output_shapes"].list.shape))
    if "value" in attrs:
        return float(shape_bytes(_shape(attrs["value"].tensor.tensor_shape), dtype))
    return float(shape_bytes(_shape(attrs["shape"].shape), dtype)) if "shape" in attrs else None


def _dtype(node: Any) -> DType:
    for name in _DTYPES:
        if name in node.attr and node.attr[name].type:
            try:
                return as_dtype(node.attr[name].type)
            except TypeError:  # one that Situs does not have
                break
    return float32


def _shape(message: Any) -> TensorShape:
    if message.unknown_rank:
        return UNKNOWN
    return TensorShape([None if dim.size < 0 else dim.size for dim in message.dim])


def _groups(nodes: Sequence[Any], index: dict[str, int]) -> list[str | None]:
    """The group of each node; None for one that is with no other."""
    union = Union(len(nodes))
    for i, node in enumerate(nodes):
        for text in node.attr["_class"].list.s if "_class" in node.attr else ():
            other = index.get(text.removeprefix(_COLOCATED).decode(errors="replace"))
            if text.startswith(_COLOCATED) and other is not None:
                union.join(i, other)
    named: list[str | None] = [None] * len(nodes)
    for members in union.sets():
        if len(members) > 1:
            for i in members:
                named[i] = nodes[members[0]].name
    return named


def _allowed(request: str, devices: Sequence[Logical]) -> tuple[int, ...] | None:
    """The devices that a request matches; None where it matches none of these, or says nothing."""
    if not request:
        return None
    try:
        spec = parse_spec(request)
    except OpError:
        return None
    found = tuple(d for d, device in enumerate(devices) if spec.matches(device.spec))
    return found if 0 < len(found) < len(devices) else None


def _tensors(
    takes: Sequence[Sequence[tuple[int, bool]]], place: dict[int, int], sizes: Sequence[float]
) -> list[Tensor]:
    values: dict[int, set[int]] = {}
    waits: dict[int, set[int]] = {}
    for v, sources in enumerate(takes):
        for u, is_data in sources:
            (values if is_data else waits).setdefault(u, set()).add(place[v])
    found = [Tensor(place[u], sizes[u], tuple(sorted(takers))) for u, takers in values.items()]
    return found + [Tensor(place[u], 0.0, tuple(sorted(takers)), 0.0) for u, takers in waits.items()]


def _link(source: int, target: int, devices: Sequence[Logical], model: CostModel) -> Link:
    cost = model.link(devices[source], devices[target])
    return Link(source, target, cost.latency, cost.per_byte, (processor_of(devices[target]),))
