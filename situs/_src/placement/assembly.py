"""Turning a graph and the costs of its operations into a search problem.

    operations and their constraints (`placer.Wish`)      ->  nodes: times by device, devices allowed, groups
    results and their consumers                           ->  tensors: bytes, consumers
    control inputs                                        ->  tensors of no bytes that take no time
    feeds and fetches                                     ->  nodes where the values come from or go to
    devices, their free memory, the links between them    ->  devices and links
    how the run will go (`Running`)                       ->  who launches kernels, and which run as a CUDA graph

A copy from or to a GPU is ordered with the GPU's own work, and the host waits for it, as in `runtime.plan.transfer`.

What takes no part in a step is left out:

    constants            copied to their devices when the plan is built
    sizes                computed on the host, whatever the request (`runtime.passes.host_sizes`)
    Identity, Reshape    aliases: consumers use their input directly

A variable is alive during the whole step, once: its value is a tensor that is also consumed by a final node,
which is colocated with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from situs._src.base.devices.logical import Device as Logical
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import ALIAS, FED, SHAPE_ONLY, SIZE_ARITHMETIC, STATE, VIEW
from situs._src.placement.costs.kinds import kind_of, processor_of
from situs._src.placement.costs.model import Cost, CostModel
from situs._src.placement.costs.work import shape_bytes, tensor_bytes
from situs._src.placement.placer import Wish
from situs._src.placement.search.problem import Device, Link, Node, Problem, Tensor

BEFORE = frozenset({STATE, FED})
VIEW_SECONDS = 2e-5  # the maximum time of a view
HOST, ORDERING = "host", "ordering"  # who launches calls: the host's processor (`costs.kinds`), or a separate thread
Ends = Sequence[tuple[SymbolicTensor, Logical]]


@dataclass(frozen=True)
class Running:
    """How a run is assumed to execute, if a GPU is involved.

    Attributes:
        side_by_side: Whether several threads make calls, so that the host computes while it launches.
        orders: Whether GPU calls are launched one by one, unless everything is captured.
        recordings: The CUDA graph that the calls of a device can be captured in; equal ones go together.
        converts: Whether feeds are arrays of the program, which the run has to convert to tensors.
    """

    side_by_side: bool = False
    orders: bool = True
    recordings: Mapping[Logical, str] = field(default_factory=dict)
    converts: bool = False


@dataclass(frozen=True)
class Assembly:
    """A problem, and the operations of its nodes.

    Attributes:
        problem: The problem.
        wishes: The operations that are nodes of it, by name, with their choices.
        follows: Operations that are left out, with the one that each follows.
        costs: The cost of each node on each kind of device, by name and kind.
    """

    problem: Problem
    wishes: Mapping[str, Wish]
    follows: Mapping[Operation, Operation]
    costs: Mapping[tuple[str, str], Cost]


def assemble(
    wishes: Sequence[Wish],
    devices: Sequence[Logical],
    model: CostModel,
    feeds: Ends = (),
    fetches: Ends = (),
    known: Mapping[Operation, Operation] | None = None,
    memory: Mapping[Logical, float] | None = None,
    shapes: Mapping[SymbolicTensor, TensorShape] | None = None,
    running: Running | None = None,
) -> Assembly:
    """The problem of placing operations.

    Args:
        wishes: The operations in execution order, each with its choices.
        devices: The devices, in order of preference for ties.
        model: The costs of operations and copies.
        feeds: The fed tensors, and their devices.
        fetches: The fetched tensors, and their target devices.
        known: Replacements for some operations with better known shapes.
        memory: The free bytes of devices that have a limit.
        shapes: Shapes of tensors that are known from elsewhere, such as those of feeds.
        running: How the run will execute.
    """
    how = running or Running()
    return _Assembler(wishes, devices, model, feeds, fetches, known or {}, memory or {}, shapes or {}, how).made()


def is_made_before(node: Operation) -> bool:
    """Whether the result of an operation exists before a step begins: a constant."""
    return not node.inputs and not node.op_def.stateful and FED not in node.op_def.traits and len(node.outputs) == 1


@dataclass
class _Row:
    """A tensor under construction: its producer and consumers, as names of nodes."""

    producer: str
    bytes: float
    consumers: dict[str, None] = field(default_factory=dict)
    is_order: bool = False  # a control dependency: no data moves


class _Assembler:
    def __init__(
        self,
        wishes: Sequence[Wish],
        devices: Sequence[Logical],
        model: CostModel,
        feeds: Ends,
        fetches: Ends,
        known: Mapping[Operation, Operation],
        memory: Mapping[Logical, float],
        shapes: Mapping[SymbolicTensor, TensorShape],
        running: Running,
    ) -> None:
        self.running = running
        cards = any(device.is_card for device in devices)
        self.orderer = None if not cards else ORDERING if running.side_by_side else HOST
        self.by_node = {wish.node: wish for wish in wishes}
        self.devices = tuple(devices)
        self.model = model
        self.feeds = dict(feeds)
        self.fetches = fetches
        self.known = known
        self.memory = memory
        self.shapes = shapes
        self.number = {device: number for number, device in enumerate(self.devices)}
        self.nodes: dict[str, Node] = {}
        self.kept: dict[str, Node] = {}  # keeps variables until the end
        self.wishes: dict[str, Wish] = {}
        self.costs: dict[tuple[str, str], Cost] = {}
        self.follows: dict[Operation, Operation] = {}
        self.sizes: set[SymbolicTensor] = set()
        self.source: dict[SymbolicTensor, SymbolicTensor] = {}  # of a view, its base
        self.rows: dict[SymbolicTensor | Operation, _Row] = {}
        self.constants: dict[str, float] = {}  # bytes of constants, by the node that uses them first

    def made(self) -> Assembly:
        feeding = self.model.feeding(self.devices[-1])
        for tensor, device in self.feeds.items():
            seconds = feeding.seconds(self._bytes(tensor)) if self.running.converts else 0.0
            self._add_end(f"(fed) {tensor.name}", device, seconds)
            self.rows[tensor] = _Row(f"(fed) {tensor.name}", self._bytes(tensor))
        # What exists before the step comes first: variables, and feeds. It waits for nothing.
        ordered = sorted(self.by_node, key=lambda node: not _is_there(node))
        for node in ordered:
            self._add(node)
        for tensor, device in self.fetches:
            found = self.rows.get(self.source.get(tensor, tensor))
            if found is not None:
                self._add_end(f"(fetched) {tensor.name}", device)
                found.consumers[f"(fetched) {tensor.name}"] = None
        self.nodes |= self.kept
        links = [
            self._link(source, target) for source in self.devices for target in self.devices if source is not target
        ]
        problem = Problem(
            tuple(self._with_constants(node) for node in self.nodes.values()),
            tuple(self._tensors()),
            tuple(self._device(device) for device in self.devices),
            tuple(links),
            tuple(self._basis()),
            self.orderer,
        )
        return Assembly(problem, self.wishes, self.follows, self.costs)

    # Operations.

    def _add(self, node: Operation) -> None:
        wish = self.by_node[node]
        if is_made_before(node) and wish.group is None:
            return  # placed where it is used
        if self._is_size(node):
            self.sizes.update(node.outputs)
            return
        if self._is_same_memory(node):
            root = self.source.get(node.inputs[0], node.inputs[0])
            self.source[node.outputs[0]] = root
            self.follows[node] = root.op
            return
        self._add_node(node, wish)
        for tensor in node.inputs:
            self._take(tensor, node)
        for other in node.control_inputs:
            first = self.follows.get(other, other)
            if first.name in self.nodes and first in self.by_node:
                self.rows.setdefault(first, _Row(first.name, 0.0, is_order=True)).consumers[node.name] = None

    def _add_node(self, node: Operation, wish: Wish) -> None:
        times = tuple(self._time(node, device) for device in self.devices)
        allowed = tuple(self.number[device] for device in wish.devices if device in self.number)
        group = None if wish.group is None else wish.group.name
        every = tuple(number for number, time in enumerate(times) if time is not None)
        workspace = float(sum(map(tensor_bytes, node.outputs))) if _makes_anew(node) else 0.0
        open_to_all = sorted(allowed) == list(every)
        left = None if open_to_all else allowed
        self.nodes[node.name] = Node(node.name, times, 0.0, workspace, group, left, self._ordering(node))
        self.wishes[node.name] = wish
        for tensor in node.outputs:
            if tensor in self.feeds:
                continue
            overwritten = tensor.is_ref and STATE not in node.op_def.traits
            taken = bool(node.consumers) and all(user.op_def.overwrites for user in tensor.op.consumers)
            size = 0.0 if overwritten or taken else float(self._bytes(tensor))
            self.rows[tensor] = _Row(node.name, size)
            if STATE in node.op_def.traits:
                name = f"(kept) {node.name}"
                self.kept[name] = Node(name, tuple(None if t is None else 0.0 for t in times), group=group or node.name)
                self.rows[tensor].consumers[name] = None
                if group is None:
                    self.nodes[node.name] = replace(self.nodes[node.name], group=node.name)

    def _take(self, tensor: SymbolicTensor, node: Operation) -> None:
        root = self.source.get(tensor, tensor)
        row = self.rows.get(root)
        if row is not None:
            row.consumers[node.name] = None
        elif root not in self.sizes and root.op in self.by_node:  # a constant
            size = float(self._bytes(root))
            self.constants[node.name] = self.constants.get(node.name, 0.0) + size
            self.follows.setdefault(root.op, node)

    def _time(self, node: Operation, device: Logical) -> float | None:
        if node.op_def.kernel_for(device.type, node.types) is None:
            return None
        kind = kind_of(device)
        found = self.costs.get((node.name, kind))
        if found is None:
            found = self.costs[node.name, kind] = self.model.time(self.known.get(node, node), device)
        return found.seconds

    def _ordering(self, node: Operation) -> tuple[float, ...]:
        """The host's time to launch an operation on each device; empty if it is zero."""
        if self.orderer is None or not self.running.orders:
            return ()
        costs = [self.costs.get((node.name, kind_of(device))) for device in self.devices]
        found = tuple(0.0 if cost is None else cost.ordering for cost in costs)
        return found if any(found) else ()

    def _is_size(self, node: Operation) -> bool:
        """Whether an operation computes sizes, which happens on the host."""
        traits = node.op_def.traits
        if SHAPE_ONLY in traits:
            return True
        if SIZE_ARITHMETIC not in traits or node.control_inputs or self.sizes.isdisjoint(node.inputs):
            return False
        of_sizes = all(tensor in self.sizes or is_made_before(tensor.op) for tensor in node.inputs)
        return of_sizes and all(tensor.dtype.is_integer for tensor in node.outputs)

    def _is_same_memory(self, node: Operation) -> bool:
        """Whether the result of an operation aliases its input, and can follow it to any device."""
        if node.op_def.traits.isdisjoint((ALIAS, VIEW)) or node.control_inputs or len(node.outputs) != 1:
            return False
        root = self.source.get(node.inputs[0], node.inputs[0]) if node.inputs else None
        if root is None or root not in self.rows or root.op not in self.by_node or node.outputs[0] in self.feeds:
            return False
        mine, theirs = self.by_node[node], self.by_node[root.op]
        together = mine.group is None or mine.group is theirs.group or mine.group is root.op
        same = self._bytes(node.outputs[0]) == self._bytes(root) and not self._is_copied(node)
        return together and same and set(theirs.devices) <= set(mine.devices)

    def _is_copied(self, node: Operation) -> bool:
        """Whether a view was measured to be a copy: the input of a reshape may be strided."""
        times = [self.model.time(self.known.get(node, node), device) for device in self.by_node[node].devices]
        return any(cost.source == "measured" and cost.seconds > VIEW_SECONDS for cost in times)

    # The rest.

    def _add_end(self, name: str, device: Logical, seconds: float = 0.0) -> None:
        """A feed or fetch: a node on a device, which takes at most some host time."""
        self.nodes[name] = Node(name, (seconds,) * len(self.devices), allowed=(self.number[device],))

    def _with_constants(self, node: Node) -> Node:
        extra = self.constants.get(node.name)
        if extra is None:
            return node
        return replace(node, weights=node.weights + extra)

    def _tensors(self) -> Iterable[Tensor]:
        number = {name: place for place, name in enumerate(self.nodes)}
        for row in self.rows.values():
            consumers = tuple(sorted(number[name] for name in row.consumers))
            if row.is_order and not consumers:
                continue
            yield Tensor(number[row.producer], row.bytes, consumers, 0.0 if row.is_order else None)

    def _device(self, device: Logical) -> Device:
        recording = self.running.recordings.get(device)
        return Device(device.short_name, device.type, self.memory.get(device), 1, processor_of(device), recording)

    def _link(self, source: Logical, target: Logical) -> Link:
        cost = self.model.link(source, target)
        busy = dict.fromkeys(processor_of(end) for end in (source, target) if end.is_card)
        if not busy:
            busy[processor_of(target)] = None  # the host copies
        elif self.orderer is not None and not (source.is_card and target.is_card):
            busy[self.orderer] = None  # the launching thread waits
        return Link(self.number[source], self.number[target], cost.latency, cost.per_byte, tuple(busy))

    def _bytes(self, tensor: SymbolicTensor) -> int:
        """The size of a tensor, as far as its shape is known."""
        if tensor in self.shapes:
            return shape_bytes(self.shapes[tensor], tensor.dtype)
        other = self.known.get(tensor.op)
        return tensor_bytes(tensor if other is None else other.outputs[tensor.value_index])

    def _basis(self) -> list[str]:
        """The origin of the costs, in words."""
        return basis_of(self.costs.values())


def _is_there(node: Operation) -> bool:
    return not node.inputs and not node.control_inputs and not BEFORE.isdisjoint(node.op_def.traits)


def basis_of(costs: Iterable[Cost]) -> list[str]:
    """The origin of costs, in words: how many of them were measured and how long ago, how many estimated."""
    found = [cost for cost in costs if cost.source != "free"]
    if not found:
        return ["nothing in it takes time"]
    lines = []
    for source in ("measured", "interpolated", "estimated"):
        some = [cost for cost in found if cost.source == source]
        if some:
            lines.append(f"{len(some)} of {len(found)} times {source}")
    guessed = sum(cost.guessed for cost in found)
    if guessed:
        lines.append(f"{guessed} times with unknown sizes guessed")
    dates = [cost.at for cost in found if cost.at]
    if dates:
        lines.append(f"oldest measurement {_day(min(dates))}, newest {_day(max(dates))}")
    return lines


def _day(at: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _makes_anew(node: Operation) -> bool:
    """Whether an update of a variable allocates a new value, rather than updating in place."""
    if not node.op_def.updates or node.op_def.overwrites:
        return False
    return not any(hasattr(kernel.function, "on_cells") for kernel in node.op_def.kernels)
