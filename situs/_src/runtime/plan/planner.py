"""Building plans from placed operations.

If a call needs a tensor from another device, a copy is inserted before it: one per (tensor, destination), however many
calls need it. Constants are copied to their devices when the plan is built. An ``Identity`` within one device is not a
call. Sizes are computed on the host (`runtime.passes.host_sizes`).

A variable is read where its value is needed, not at its ``v/read``: an operation that depends on an
assignment sees the assigned value, as in TensorFlow, where the two share memory. Between two updates, a variable
is read once, and copied once to each device that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from situs._src.base.devices.logical import Device
from situs._src.base.dtype import string
from situs._src.base.errors import InvalidArgumentError
from situs._src.base.shapes import brackets
from situs._src.ir.graph.function import FunctionGraph, graphs_of
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.signature import Arg
from situs._src.ir.registry.traits import ALIAS, FED, NO_WORK, STATE
from situs._src.placement.candidates import Assignment
from situs._src.runtime.eager.binding import host_value
from situs._src.runtime.eager.bridge import home_of, host
from situs._src.runtime.eager.convert import to_tensor
from situs._src.runtime.eager.tensor import EagerTensor, copy_to, to_numpy_value
from situs._src.runtime.passes.fuse_updates import join
from situs._src.runtime.passes.host_sizes import Sizes
from situs._src.runtime.passes.inline_calls import inline_calls
from situs._src.runtime.passes.reuse import overwrite
from situs._src.runtime.plan.control_flow import prepare
from situs._src.runtime.plan.kernels import function_of
from situs._src.runtime.plan.plan import OTHERS_MAY_RUN, Call, Literal, Placed, Plan, Slot, Source, slots_in
from situs._src.runtime.plan.prune import producers, prune
from situs._src.runtime.plan.transfer import transfer
from situs._src.runtime.symbolic.fold import constant_value

PlaceInner = Callable[[FunctionGraph, dict[Operation, Device], Device], Placed]


class Planner:
    """Makes plans for one set of devices.

    Args:
        place_inner: Places the graphs of branches, loop bodies and functions, given the device of the operation that
        contains them.
        side_by_side: Whether the plans may run on several threads.
    """

    def __init__(self, place_inner: PlaceInner, side_by_side: bool = False) -> None:
        self.place_inner = place_inner
        self.side_by_side = side_by_side
        self.constants: dict[tuple[Operation, Device], Literal] = {}  # shared by all plans

    def plan(
        self,
        placement: Placed,
        feeds: Sequence[tuple[SymbolicTensor, Device]],
        fetches: Sequence[tuple[SymbolicTensor, Device]],
        targets: Iterable[Operation] = (),
        roots: Mapping[SymbolicTensor, SymbolicTensor] | None = None,
    ) -> Plan:
        """The plan that computes `fetches`, each on a device, and runs `targets`.

        Args:
            placement: The device of each operation.
            feeds: The fed tensors, and their devices.
            fetches: The tensors to compute, and their target devices.
            targets: Other operations to run.
            roots: The feeds that are cells, and the variable of the outer graph that each belongs to.
        """
        targets, fed = list(targets), {tensor for tensor, _ in feeds}
        nodes = prune([*producers((tensor for tensor, _ in fetches), fed), *targets], fed)
        placed = {node: placement[node] for node in nodes}
        builder = Builder(self, placed, feeds, roots or {})
        for node in nodes:
            builder.add(node)
        outputs = [builder.value(tensor, device) for tensor, device in fetches]
        waited_for = {other for node in nodes for other in node.control_inputs}
        calls = _needed(builder.calls, outputs, waited_for | set(targets))
        used = {call.node: placed[call.node] for call in calls if call.node is not None}
        if builder.changes_state:
            calls = join(calls, outputs, builder.root)
        slots, changes = builder.slots, builder.changes_state
        plan = Plan(calls, builder.feeds, outputs, slots, used, changes, placed, builder.may_fold)
        plan = inline_calls(plan, self.side_by_side)
        if plan.as_known:
            overwrite(plan.calls, plan.outputs, plan.placed)
        return plan


class Builder:
    """A plan under construction."""

    def __init__(
        self,
        planner: Planner,
        placement: dict[Operation, Assignment],
        feeds: Sequence[tuple[SymbolicTensor, Device]],
        roots: Mapping[SymbolicTensor, SymbolicTensor],
    ) -> None:
        self.planner = planner
        self.placement = placement
        self.calls: list[Call] = []
        self.slots = 0
        self.changes_state = False
        self.arithmetic = Sizes()
        self.sources: dict[tuple[SymbolicTensor, Device], Source] = {}
        self.homes: dict[SymbolicTensor, Device] = {}
        self.made_by: dict[Operation, int] = {}  # the call of an operation
        self.waits: dict[Operation, set[int]] = {}  # of an operation without a call, the calls that it depends on
        self.fed_state = {tensor for tensor, _ in feeds if tensor.is_ref and tensor not in roots}
        self.roots = dict(roots)  # the variable behind each tensor that represents state
        self.views = {tensor: tensor for tensor in roots if not tensor.is_ref}  # values, and their variables
        self.current: dict[SymbolicTensor, dict[Device, Source]] = {}  # the values of variables, until they change
        self.changes: dict[SymbolicTensor, list[int]] = {}  # the calls that may have updated a variable
        # Static shapes and sizes hold only if nothing that they were inferred from is fed with something else.
        self.may_fold = all(FED in tensor.op.op_def.traits for tensor, _ in feeds)
        self.controls: set[int] = set()  # the calls that the operation being added waits for
        self.feeds = [self._feed(tensor, device) for tensor, device in feeds]

    def _feed(self, tensor: SymbolicTensor, device: Device) -> int:
        slot = self._new_slot()
        self.homes[tensor] = device
        self.sources[tensor, device] = Slot(slot)
        return slot

    def _new_slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    # Operations.

    def add(self, node: Operation) -> None:
        """Adds the call of an operation, after the copies that its inputs need."""
        assignment = self.placement[node] = self.arithmetic.placed(node, self.placement[node])
        self.controls = {call for other in node.control_inputs for call in self._calls_of(other)}
        if node.type == "Identity" and node.inputs[0].is_ref and node.control_inputs:
            self.current.pop(self.root(node.inputs[0]), None)  # read again, after what it waits for
        if node.type == "Placeholder" and node.outputs[0] in self.homes:
            pass  # it is fed; something has a control dependency on it
        elif node.type == "Const":
            self._add_constant(node, assignment.device)
        elif self._is_view(node, assignment.device):
            self._view(node)
        elif ALIAS in node.op_def.traits and self._may_alias(node, assignment.device):
            self._alias(node)
        else:
            self._add_call(node, assignment)
        if node not in self.made_by and (node.control_inputs or node.inputs):
            before = [*node.control_inputs, *(tensor.op for tensor in node.inputs)]
            self.waits[node] = {call for other in before for call in self._calls_of(other)}

    def _calls_of(self, node: Operation) -> Iterable[int]:
        """The calls that have finished when an operation has."""
        return (self.made_by[node],) if node in self.made_by else self.waits.get(node, ())

    def _add_constant(self, node: Operation, device: Device) -> None:
        tensor = node.outputs[0]
        if tensor in self.homes:
            return  # it is fed
        if node.consumers and all(consumer.op_def.overwrites for consumer in node.consumers):
            self._add_first_value(node, device)
            return
        known = self.planner.constants
        if (node, device) not in known:
            known[node, device] = Literal(_constant(node, device)._value)
        self.homes[tensor] = device
        self.sources[tensor, device] = known[node, device]

    def _add_first_value(self, node: Operation, device: Device) -> None:
        """A constant that is only assigned to a variable is created in the run: cached, it would exist twice."""
        slot = self._result(node.outputs[0], device)
        self.made_by[node] = len(self.calls)
        made = partial(_first_value, node, device)
        self.calls.append(Call(made, [], [slot], device, node, after=sorted(self.controls)))

    def _is_view(self, node: Operation, device: Device) -> bool:
        """Whether this is the ``v/read`` that came with a variable, on the variable's device."""
        if node.type != "Identity" or not node.inputs[0].is_ref or node.control_inputs:
            return False
        source = node.inputs[0]
        return node.name == f"{source.op.name}/read" and self.homes[source] is device

    def _view(self, node: Operation) -> None:
        result, source = node.outputs[0], node.inputs[0]
        if result not in self.homes:  # else it is fed
            self.homes[result] = self.homes[source]
            self.views[result] = source

    def _may_alias(self, node: Operation, device: Device) -> bool:
        source = node.inputs[0]
        stays = not source.is_ref and source not in self.views
        return stays and self.homes[source] is device and not node.control_inputs

    def _alias(self, node: Operation) -> None:
        result, source = node.outputs[0], node.inputs[0]
        device = self.homes[source]
        if result not in self.homes:
            self.homes[result] = device
            self.sources[result, device] = self.sources[source, device]

    def _add_call(self, node: Operation, assignment: Assignment) -> None:
        device = assignment.device
        function, takes_run, inputs = self._prepared(node, assignment)
        outputs = [self._result(tensor, home_of(assignment)) for tensor in node.outputs]
        single = len(node.op_def.outputs) == 1 and not node.op_def.outputs[0].is_list
        after = self.controls | {call for tensor in node.inputs for call in self.waits.get(tensor.op, ())}
        after |= self._changing(node, len(self.calls))
        if not node.op_def.traits.isdisjoint(OTHERS_MAY_RUN):
            self.current.clear()  # while it waits, another run may change any variable
        self.made_by[node] = len(self.calls)
        self.changes_state |= node.op_def.stateful and STATE not in node.op_def.traits  # that only identifies it
        self.calls.append(Call(function, inputs, outputs, device, node, takes_run, single, sorted(after)))

    def _changing(self, node: Operation, number: int) -> set[int]:
        """Records the variables that a call may update; returns the earlier calls that use the same ones.

        A branch or a loop takes its variables by reference, so it comes after earlier uses of them. Assignments are
        ordered by control dependencies only.
        """
        if not node.op_def.stateful:
            return set()
        if graphs_of(node):
            roots = {self.root(tensor) for tensor in node.inputs if tensor.is_ref or tensor in self.views}
            before = {call for root in roots for call in self.changes.get(root, ())}
        else:
            pairs = zip(node.op_def.inputs, node.args, strict=True)
            roots, before = {self.root(value) for arg, value in pairs if arg.is_ref}, set()
        for root in roots:
            self.changes.setdefault(root, []).append(number)
            self.current.pop(root, None)
        return before

    def root(self, tensor: SymbolicTensor) -> SymbolicTensor:
        """The variable behind a tensor that represents its state or value."""
        tensor = self.views.get(tensor, tensor)
        if tensor not in self.roots:
            changed = [source for source in tensor.op.inputs if source.is_ref]
            self.roots[tensor] = self.root(changed[0]) if changed else tensor
        return self.roots[tensor]

    def _prepared(self, node: Operation, assignment: Assignment) -> tuple[Callable[..., Any], bool, list[Source]]:
        if NO_WORK in node.op_def.traits:
            return _nothing, False, []
        if node.type == "Placeholder":
            return _not_fed(node), False, []
        if graphs_of(node):
            return prepare(node, assignment, self)
        function, takes_run = function_of(node, assignment, self.may_fold)
        pairs = zip(node.op_def.inputs, node.args, strict=True)
        inputs = [
            self.value(value, assignment.device)
            if arg.name in node.op_def.card_inputs and self._lies_on_card(value, assignment.device)
            else self._argument(arg, value, assignment.device)
            for arg, value in pairs
        ]
        return function, takes_run, inputs

    def _result(self, tensor: SymbolicTensor, device: Device) -> int:
        slot = self._new_slot()
        if tensor not in self.homes:  # else it is fed, and the call's result is dropped
            self.homes[tensor] = device
            self.sources[tensor, device] = Slot(slot)
        return slot

    # Values.

    def _argument(self, arg: Arg, value: Any, device: Device) -> Source:
        if arg.is_host:
            return self._host_argument(value)
        if arg.is_list:
            return [self.value(tensor, device) for tensor in value]
        return self._state(value) if arg.is_ref else self.value(value, device)

    def _lies_on_card(self, value: object, device: Device) -> bool:
        """Whether a host input is a tensor on the GPU of the operation, and not statically known."""
        if not _computes_beside_the_host(device) or not isinstance(value, SymbolicTensor):
            return False
        if self.may_fold and constant_value(value) is not None:
            return False
        is_state = value.is_ref or value in self.views
        return self.homes.get(self.root(value) if is_state else value) == device

    def _state(self, tensor: SymbolicTensor) -> Source:
        """The cell of a variable, for an operation that updates or inspects it."""
        if tensor in self.fed_state:
            raise InvalidArgumentError(
                f"The value of variable {tensor.name} is fed in this run, so nothing can be assigned to it."
            )
        return self.sources[tensor, self.homes[tensor]]

    def _host_argument(self, value: object) -> Source:
        if isinstance(value, SymbolicTensor):
            known = constant_value(value) if self.may_fold else None
            if known is not None:
                return Literal(known)
            source = self.value(value, host())
            if isinstance(source, Literal):
                return Literal(host_value(to_numpy_value(source.value)))
            return Slot(source.number, host=True) if isinstance(source, Slot) else source
        if isinstance(value, tuple) and any(isinstance(item, (SymbolicTensor, tuple)) for item in value):
            return tuple(self._host_argument(item) for item in value)
        return Literal(value)

    def value(self, tensor: SymbolicTensor, device: Device) -> Source:
        """The source of a tensor's value on a device, after a copy if it is elsewhere."""
        if tensor.is_ref or tensor in self.views:
            return self._current(tensor, device)
        found = self.sources.get((tensor, device))
        if found is None:
            home = self.homes[tensor]
            found = self._copied(self.sources[tensor, home], tensor, home, device)
            self.sources[tensor, device] = found
        return found

    def cell(self, tensor: SymbolicTensor) -> Source:
        """The cell of the variable that a tensor represents, or is the value of."""
        state = self.views.get(tensor, tensor)
        return self.sources[state, self.homes[state]]

    def _current(self, tensor: SymbolicTensor, device: Device) -> Source:
        """The value of a variable at this point of the run."""
        home = self.homes[tensor]
        known = self.current.setdefault(self.root(tensor), {})
        if home not in known:
            known[home] = self._read(tensor, home)
        if device not in known:
            known[device] = self._copied(known[home], tensor, home, device)
        return known[device]

    def _read(self, tensor: SymbolicTensor, home: Device) -> Source:
        slot = self._new_slot()
        after = set(self.changes.get(self.root(tensor), ()))
        if tensor.op in self.made_by:
            after.add(self.made_by[tensor.op])
        after |= self.controls
        self.calls.append(Call(_read_cell, [self.cell(tensor)], [slot], home, after=sorted(after), reads=tensor.op))
        return Slot(slot)

    def _copied(self, source: Source, tensor: SymbolicTensor, home: Device, device: Device) -> Source:
        copy = transfer(home, device, tensor.dtype, tensor.op.made_at)
        if copy is None:
            return source
        if isinstance(source, Literal):
            known = self.planner.constants
            if (tensor.op, device) not in known:
                known[tensor.op, device] = Literal(copy(source.value))
            return known[tensor.op, device]
        slot = self._new_slot()
        self.calls.append(Call(copy, [source], [slot], device, copies=tensor))
        return Slot(slot)


def _needed(calls: list[Call], outputs: Sequence[Source], targets: set[Operation]) -> list[Call]:
    """The calls without dead ones: statically known values leave some of them unused."""
    used, kept = set(slots_in(outputs)), set[int]()
    for number in reversed(range(len(calls))):
        call = calls[number]
        has_effect = call.node is not None and (call.node in targets or call.node.op_def.stateful)
        if number in kept or has_effect or not used.isdisjoint(call.outputs):
            kept.add(number)
            kept.update(call.after)
            used.update(slots_in(call.inputs))
    if len(kept) == len(calls):
        return calls
    numbers = {old: new for new, old in enumerate(sorted(kept))}
    for old in numbers:
        calls[old].after = [numbers[other] for other in calls[old].after]
    return [calls[old] for old in numbers]


def _constant(node: Operation, device: Device) -> EagerTensor:
    """The value of a constant, on a device."""
    value = node.attrs["value"]
    eager = value if isinstance(value, EagerTensor) else to_tensor(value, node.outputs[0].dtype)
    return copy_to(eager, device, "Const", node.made_at)


def _first_value(node: Operation, device: Device) -> Any:
    made = _constant(node, device)
    if made is not node.attrs["value"]:
        return made._value
    return made._value.copy() if made.dtype is string else made._value.clone()  # the graph keeps its copy


def _read_cell(cell: Any) -> Any:
    return cell.read()


def _not_fed(node: Operation) -> Callable[[], Any]:
    def refuse() -> Any:
        shape = node.outputs[0].shape
        known = "" if shape.rank is None else f" and shape {brackets(shape)}"
        raise InvalidArgumentError(
            f"You must feed a value for placeholder tensor '{node.name}' with dtype {node.outputs[0].dtype.proto_name}"
            f"{known}"
        )

    return refuse


def _computes_beside_the_host(device: Device) -> bool:
    """Whether reading a value from a device means to synchronize with it, which a virtual GPU does not need."""
    return device.is_card


def _nothing() -> tuple[()]:
    return ()
