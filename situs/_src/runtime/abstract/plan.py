"""Abstract evaluation of a plan's calls: how large their results will be.

Going through the calls in order, the shape rule of each op and its kernel, run abstractly (`kernels`), propagate the
shapes of the feeds:

    %1 = copy %0 to GPU:0        [128,784]    401,408 bytes
    %2 = MatMul(%1, w)           [128,10]     5,120 bytes
    %3 = Reshape(%2, [-1])       [1280]       in the memory of %2

Branches and loops are evaluated as well: both branches, unless the choice is known, and two iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from situs._src.base.devices.logical import Device
from situs._src.base.dtype import DType, variant
from situs._src.base.errors import OpError
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.ir.graph.function import graphs_of
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import infer_shapes
from situs._src.ir.registry.signature import Arg
from situs._src.ir.registry.traits import CALLS_PYTHON, NO_WORK, STATE, VIEW
from situs._src.runtime.abstract.kernels import AbstractMode, is_known, meta_tensor
from situs._src.runtime.abstract.values import AbstractValue, AbstractValues, Box, in_box
from situs._src.runtime.eager.binding import host_value
from situs._src.runtime.eager.bridge import TORCH_DTYPE, home_of, host
from situs._src.runtime.eager.tensor import to_numpy_value
from situs._src.runtime.plan.plan import Call, Literal, Plan, Slot, Source
from situs._src.runtime.run.control_flow import Held
from situs._src.runtime.run.failure import in_node

ITERATIONS = 2  # of a loop: the inputs of the second are the results of the first


@dataclass(eq=False)
class Step:
    """A call: its results, its workspace, and the variables it updates."""

    call: Call
    made: list[AbstractValue]
    meanwhile: int = 0  # the peak in bytes while it computes, its results included
    changes: list[tuple[Box, AbstractValue]] = field(default_factory=list)
    inside: list[Steps] = field(default_factory=list)  # the plans that it runs: of a loop, tests and two iterations


@dataclass(eq=False)
class Steps:
    """A plan on abstract values."""

    plan: Plan
    fed: list[AbstractValue]
    steps: list[Step]


def walk(abstract: AbstractValues, plan: Plan, fed: Sequence[AbstractValue]) -> Steps:
    """Evaluates the calls of a plan.

    Raises:
        OpError: the fed shapes are incompatible; the error names the operation.
    """
    return _Walk(abstract, plan, fed).steps()


class _Walk:
    """The values of one plan, during its evaluation."""

    def __init__(self, abstract: AbstractValues, plan: Plan, fed: Sequence[AbstractValue]) -> None:
        self.abstract = abstract
        self.plan = plan
        self.fed = list(fed)
        self.values = dict(zip(plan.inputs, fed, strict=True))

    def steps(self) -> Steps:
        """Evaluates the calls."""
        steps: list[Step] = []
        for call in self.plan.calls:
            steps.append(self._step(call))
            self.values.update(zip(call.outputs, steps[-1].made, strict=True))
        return Steps(self.plan, self.fed, steps)

    def results(self) -> list[AbstractValue]:
        """The results of the plan."""
        return [self._value(source, host()) for source in self.plan.outputs]

    def _step(self, call: Call) -> Step:
        node = call.node
        if node is None:
            given = self._value(call.inputs[0], call.device)
            return Step(call, [self._read(given) if call.copies is None else self._copy(given, call)])
        if NO_WORK in node.op_def.traits:
            return Step(call, [])
        if STATE in node.op_def.traits:
            return Step(call, [in_box(self.abstract.box(node, call.device))])
        if graphs_of(node):
            return self._holder(call, node)
        return self._operation(call, node)

    def _read(self, given: AbstractValue) -> AbstractValue:
        return given if given.box is None else self.abstract.content(given.box)

    def _copy(self, given: AbstractValue, call: Call) -> AbstractValue:
        assert call.copies is not None
        return self._arrived(given, call, call.copies.op)

    def _arrived(self, value: AbstractValue, call: Call, node: Operation) -> AbstractValue:
        """A value, copied to the device of a call."""
        if value.value is None:
            return self.abstract.unsized(value.shape, value.dtype, call.device, f"the size of '{node.name}'")
        return self.abstract.made(value.value.clone(), call.device, node.name, "Copy", node.made_at)

    # Operations that contain graphs.

    def _holder(self, call: Call, node: Operation) -> Step:
        """A branch, a loop or a call: its function is run, with the plans inside evaluated abstractly."""
        given = [self._value(source, call.device) for source in call.inputs]
        inner = _Inner(self.abstract, len(node.args[0]) if node.type == "While" else None)
        assert isinstance(call.function, Held)
        function: Any = call.function.again(inner.part, lambda move: lambda value: self._arrived(value, call, node))
        try:
            if node.type == "If":
                pairs = zip(*(function(inner, truth, *given[1:]) for truth in _truths(given[0])), strict=True)
                made = [max(map(_gathered, pair), key=lambda result: result.size) for pair in pairs]
            else:
                made = [_gathered(result) for result in function(inner, *given)]
        except OpError:
            raise
        except Exception:
            return self._closed(call, node)
        if inner.grows or any(result.is_resource for result in made):
            self.abstract.unknown[call.device, f"what '{node.name}' keeps of each further iteration"] = None
        return Step(call, made, inside=inner.plans)

    def _closed(self, call: Call, node: Operation) -> Step:
        """An opaque operation: only its results are counted."""
        self.abstract.unknown[call.device, f"what '{node.name}' does inside"] = None
        return Step(call, [self._by_shape(t.shape, t.dtype, node, call.device) for t in node.outputs])

    # Ordinary operations.

    def _operation(self, call: Call, node: Operation) -> Step:
        pairs = zip(node.op_def.inputs, call.inputs, strict=True)
        given = [self._argument(arg, source, call.device) for arg, source in pairs]
        shapes = self._shapes(node, given)
        values, meanwhile = self._run(call, node, given, shapes)
        if node.op_def.updates:
            return self._update(call, node, given[0].box, shapes[0], values[0])
        device = home_of(self.plan.assignments[node])
        results = zip(node.outputs, shapes, values, strict=True)
        made = [self._result(node, device, t.dtype, shape, value, given) for t, shape, value in results]
        if call.overwrites is not None:
            return Step(call, [self._over(made[0], self.values[call.overwrites])])
        return Step(call, made, meanwhile)

    def _result(
        self, node: Operation, device: Device, dtype: DType, shape: TensorShape, value: Any, given: Sequence[Any]
    ) -> AbstractValue:
        if value is not None:
            return self.abstract.made(value, device, node.name, node.type, node.made_at)
        whole = next((item for item in given if isinstance(item, AbstractValue)), None)
        if VIEW not in node.op_def.traits or whole is None or whole.block is None:
            return self._by_shape(shape, dtype, node, device)
        if not shape.is_fully_defined():
            return AbstractValue(shape, dtype, block=whole.block)
        return self.abstract.inside(meta_tensor(shape, TORCH_DTYPE[dtype]), whole.block)

    def _by_shape(self, shape: TensorShape, dtype: DType, node: Operation, device: Device) -> AbstractValue:
        if dtype not in TORCH_DTYPE or not shape.is_fully_defined():
            return self.abstract.unsized(shape, dtype, device, f"the size of '{node.name}'")
        return self.abstract.made(meta_tensor(shape, TORCH_DTYPE[dtype]), device, node.name, node.type, node.made_at)

    def _over(self, made: AbstractValue, into: AbstractValue) -> AbstractValue:
        """A result that overwrites an input."""
        if made.value is None or into.block is None:
            return made
        return self.abstract.inside(made.value, into.block)

    def _update(self, call: Call, node: Operation, box: Box, shape: TensorShape, value: Any) -> Step:
        """An assignment: its result is the new value of the variable."""
        if value is None:
            box.content = self._by_shape(shape, box.dtype, node, call.device)
        else:
            box.content = self.abstract.made(value, call.device, box.name, node.type, node.made_at)
        return Step(call, [in_box(box)], changes=[(box, box.content)])

    def _shapes(self, node: Operation, given: Sequence[Any]) -> list[TensorShape]:
        """The shapes of the results, from the rule, and from the graph."""
        try:
            found = _inferred(node, given)
        except OpError as error:
            raise in_node(error.in_op(node.type), node) from None
        known = [tensor.shape for tensor in node.outputs]
        if not self.plan.as_known or len(known) != len(found):
            return found
        return [a.merge_with(b) if a.is_compatible_with(b) else a for a, b in zip(found, known, strict=True)]

    def _run(
        self, call: Call, node: Operation, given: Sequence[Any], shapes: Sequence[TensorShape]
    ) -> tuple[list[Any], int]:
        """The abstract results, None for unknown ones, and the bytes of the kernel's workspace."""
        nothing: list[Any] = [None] * len(node.outputs)
        if not self._runs_abstractly(node) or not all(map(_is_complete, given)):
            return nothing, 0
        try:
            with AbstractMode() as mode:
                made = self._kernel(node)(*[_for_kernel(item) for item in given])
        except Exception:
            return nothing, 0  # it reads elements
        made = [made] if call.single else list(made)
        return [_checked(v, t, s) for v, t, s in zip(made, node.outputs, shapes, strict=True)], mode.peak

    def _runs_abstractly(self, node: Operation) -> bool:
        """Whether running a kernel has no side effects."""
        if node.op_def.stateful and not node.op_def.updates:
            return False
        return not self.plan.assignments[node].kernel.takes_run and CALLS_PYTHON not in node.op_def.traits

    def _kernel(self, node: Operation) -> Callable[..., Any]:
        kernel = self.plan.assignments[node].kernel
        bound = dict(node.attrs)
        if kernel.takes_device:
            bound["device"] = torch.device("cpu")
        return lambda *values: kernel.function(*values, **bound)

    # Inputs.

    def _argument(self, arg: Arg, source: Source, device: Device) -> Any:
        """An input of a call: an abstract value, a list of them, or a host value."""
        if arg.is_host:
            return self._host_value(source)
        if isinstance(source, list):
            return [self._value(item, device) for item in source]
        return self._value(source, device)

    def _value(self, source: Source, device: Device) -> AbstractValue:
        if isinstance(source, Slot):
            return self.values[source.number]
        assert isinstance(source, Literal)
        return self.abstract.literal(source, device)

    def _host_value(self, source: Source) -> _Host:
        if isinstance(source, tuple):
            items = [self._host_value(item) for item in source]
            return _Host(tuple(item.value for item in items), all(item.known for item in items))
        if isinstance(source, Literal):
            return _Host(source.value)
        assert isinstance(source, Slot)
        value = self.values[source.number].value
        if value is None or not is_known(value):
            return _Host(None, known=False)
        return _Host(host_value(to_numpy_value(value)))


class _Inner:
    """Stands for the run of an operation that contains graphs; a loop runs `ITERATIONS` iterations."""

    def __init__(self, abstract: AbstractValues, states: int | None) -> None:
        self.plans: list[Steps] = []
        self.grows = False
        self._abstract = abstract
        self._states = states  # the number of loop variables; None if it is not a loop
        self._sizes: list[list[int]] = []

    def check(self) -> None:
        """Does nothing: abstract runs are not cancelled."""

    def part(self, plan: Plan) -> Callable[..., tuple[Any, ...]]:
        """A plan as a function of abstract values."""
        return lambda run, *values: self._play(plan, values)

    def _play(self, plan: Plan, values: Sequence[Any]) -> tuple[Any, ...]:
        states = self._states or 0
        fed = [value.without_elements() for value in values[:states]] + list(values[states:])
        walk = _Walk(self._abstract, plan, fed)
        self.plans.append(walk.steps())
        if self._states is None:
            return tuple(walk.results())
        if len(self.plans) % 2:  # the test comes before each iteration
            return (torch.tensor(len(self.plans) <= 2 * ITERATIONS),)
        results = walk.results()
        self._sizes.append([result.size for result in results])
        self.grows = self._sizes[0] != self._sizes[-1]
        return tuple(results)


def _truths(predicate: AbstractValue) -> list[torch.Tensor]:
    """The possible values of a predicate: both, unless it is known."""
    if predicate.value is not None and is_known(predicate.value):
        return [predicate.value]
    return [torch.tensor(True), torch.tensor(False)]


def _gathered(result: Any) -> AbstractValue:
    """A result; for a collected list, an abstract list of its elements."""
    if isinstance(result, AbstractValue):
        return result
    return AbstractValue(UNKNOWN, variant, items=tuple(_gathered(item) for item in result.rows()))


@dataclass(frozen=True)
class _Host:
    """A shape, an axis or a size, with None for unknown parts."""

    value: Any
    known: bool = True


def _inferred(node: Operation, given: Sequence[Any]) -> list[TensorShape]:
    """The result of the rule; a partly known host value counts as unknown if the rule cannot handle it."""
    inputs = tuple(map(_for_rule, given))
    if any(_is_partial(item) for item in given):
        try:
            return infer_shapes(node.op_def, inputs, node.attrs)
        except Exception:
            inputs = tuple(None if _is_partial(item) else _for_rule(item) for item in given)
    return infer_shapes(node.op_def, inputs, node.attrs)


def _is_partial(item: object) -> bool:
    return isinstance(item, _Host) and not item.known and item.value is not None


def _for_rule(item: Any) -> Any:
    if isinstance(item, _Host):
        return item.value
    return [each.shape for each in item] if isinstance(item, list) else item.shape


def _is_complete(item: Any) -> bool:
    """Whether enough is known about an input to run a kernel abstractly."""
    if isinstance(item, list):
        return all(map(_is_complete, item))
    if isinstance(item, _Host):
        return item.known
    if item.box is not None:
        return item.box.content is None or item.box.content.value is not None
    return item.value is not None


def _for_kernel(item: Any) -> Any:
    if isinstance(item, list):
        return [_for_kernel(each) for each in item]
    if isinstance(item, _Host):
        return item.value
    if item.box is not None:
        return None if item.box.content is None else item.box.content.value
    return item.value


def _checked(value: object, tensor: SymbolicTensor, shape: TensorShape) -> torch.Tensor | None:
    """An abstract result, if it is what the graph promises."""
    if not isinstance(value, torch.Tensor) or TORCH_DTYPE.get(tensor.dtype) is not value.dtype:
        return None
    return value if shape.is_compatible_with(value.shape) else None
