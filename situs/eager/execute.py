"""Running ops at once: place, copy inputs, call the kernel, wrap the result.

    execute(op, inputs, attrs)
      bind      inputs -> tensors and host values, type variables -> dtypes
      prepare   scope, kernels, devices -> a Step: where, with which kernel, after which copies
      run       the step on the values; a failure becomes an error of ours
      wrap      the result's values -> tensors at their place

A `Step` depends only on the op, the scope and the places (device, dtype) of the inputs, so it is
kept in the scope's memo. `situs.dispatch` looks there first: that is the fast path, and all that
an op pays for placement once its kind of call has been seen. Steps are not kept while something
has to be done per call: logging, device functions, verification, strict device policies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from situs import settings
from situs.devices.inventory import process
from situs.devices.logical import Device
from situs.devices.scope import here
from situs.dtype import DType
from situs.eager import policy
from situs.eager.binding import BoundInputs, bind
from situs.eager.bridge import Copy, Place, copier, host, place_of, torch_device
from situs.eager.failure import translate
from situs.eager.tensor import EagerTensor, wrap
from situs.eager.verify import verify
from situs.errors import SitusError
from situs.placement import explain, options
from situs.placement.candidates import Assignment, assign
from situs.registry.op import Op

note = explain.recent.append


class Step:
    """A decided call: ``run`` takes the inputs' values; ``place`` is where a single result lies."""

    __slots__ = ("assignment", "place", "run", "target")

    def __init__(self, assignment: Assignment, run: Callable[..., Any], target: Device) -> None:
        self.assignment = assignment
        self.run = run
        self.target = target  # the device that holds the results
        self.place: Place | None = None  # known after the first run


class State(Protocol):
    """What ops on state need to know of it: its name and where it is."""

    @property
    def name(self) -> str:
        """The name of the variable."""
        ...

    @property
    def place(self) -> Place:
        """The device that holds it, and its dtype."""
        ...


class OpInfo:
    """What a device function sees of an op in eager mode."""

    __slots__ = ("device", "name", "type")

    def __init__(self, op: Op, name: str | None) -> None:
        self.type = op.name
        self.name = name or op.name
        self.device = ""


def execute(
    op: Op, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None = None, state: State | None = None
) -> Any:
    """Runs an op now and returns its tensor, or a list of tensors.

    An op on `state` (a variable) runs where the state is, whatever the scope says.
    """
    bound = bind(op, inputs, attrs)
    complete = op.complete_attrs(attrs)
    key, keep = _key(op, bound), _may_keep() and state is None
    step = here.scope.memo.get(key) if keep else None
    if step is None:
        step = _prepare(op, bound, _decide(op, bound, name, state))
    if options.current.log:
        print(f"Executing op {op.name} in device {step.assignment.device.name}", flush=True)
    result = _run(op, bound, complete, step)
    if keep and (policy.copies_may_be_kept() or not _copies(bound, step.assignment.device)):
        here.scope.memo[key] = step  # only now: other threads may use what is in a memo at once
    if _verifying():
        verify(op, bound, complete, result, step.assignment)
    return result


def _run(op: Op, bound: BoundInputs, attrs: dict[str, Any], step: Step) -> Any:
    values = [_value(item) for item in bound.inputs]
    try:
        made = step.run(*values, **_kernel_attrs(attrs, step.assignment))
    except SitusError:
        raise
    except Exception as error:
        raise translate(error, op, bound, attrs, step.assignment) from None
    note(step.assignment)
    if isinstance(made, (tuple, list)):
        return [wrap(value, place_of(step.target, value), step.assignment) for value in made]
    step.place = place_of(step.target, made)
    return wrap(made, step.place, step.assignment)


def _value(item: Any) -> Any:
    if isinstance(item, EagerTensor):
        return item._value
    return [tensor._value for tensor in item] if isinstance(item, list) else item


def _kernel_attrs(attrs: dict[str, Any], assignment: Assignment) -> dict[str, Any]:
    """The attributes, and PyTorch's device if the kernel wants to know it."""
    if assignment.kernel.takes_device:
        return {**attrs, "device": torch_device(assignment.device)}
    return attrs


def _decide(op: Op, bound: BoundInputs, name: str | None, state: State | None) -> Assignment:
    if state is not None:
        pinned = assign(op, bound.types, process.devices(), state.place.device.spec, soft=False)
        return replace(pinned, kind="state", detail=f"follows variable '{state.name}'", requested="")
    request = here.scope.eager_request(OpInfo(op, name))
    return assign(op, bound.types, process.devices(), request, options.current.soft)


def _prepare(op: Op, bound: BoundInputs, decided: Assignment) -> Step:
    run = _with_types(decided.kernel.function, op, bound.types)
    copies = _input_copies(op, bound, decided.device)
    if any(copy is not None for copy in copies):
        run = _copying(run, copies)
    return Step(decided, run, host() if decided.kernel.host_output else decided.device)


def _with_types(function: Callable[..., Any], op: Op, types: dict[str, DType]) -> Callable[..., Any]:
    """Passes on the dtypes that only the caller knows, such as the target of a cast."""
    from_inputs = {arg.type for arg in op.inputs}
    given = {name: dtype for name, dtype in types.items() if name not in from_inputs}
    if not given:
        return function
    return lambda *values, **attrs: function(*values, **given, **attrs)


def _input_copies(op: Op, bound: BoundInputs, device: Device) -> list[Copy | list[Copy | None] | None]:
    """For each input: how to bring it to `device`, or None where it is there already."""
    copies: list[Copy | list[Copy | None] | None] = []
    for number, item in enumerate(bound.inputs):
        if isinstance(item, EagerTensor):
            copies.append(_copy_of(op, number, item, device))
        elif isinstance(item, list):
            each = [_copy_of(op, number + i, tensor, device) for i, tensor in enumerate(item)]
            copies.append(each if any(copy is not None for copy in each) else None)
        else:
            copies.append(None)
    return copies


def _copy_of(op: Op, number: int, tensor: EagerTensor, device: Device) -> Copy | None:
    if tensor._place.device is not device:
        policy.check(op.name, number, tensor._place, device)
    return copier(tensor._place.device, device)


def _copying(run: Callable[..., Any], copies: list[Any]) -> Callable[..., Any]:
    def copy_then_run(*values: Any, **attrs: Any) -> Any:
        return run(*(_apply_copy(copy, value) for copy, value in zip(copies, values, strict=True)), **attrs)

    return copy_then_run


def _apply_copy(copy: Any, value: Any) -> Any:
    if copy is None:
        return value
    if isinstance(copy, list):
        return [_apply_copy(each, item) for each, item in zip(copy, value, strict=True)]
    return copy(value)


def _copies(bound: BoundInputs, device: Device) -> bool:
    flat = (t for item in bound.inputs for t in (item if isinstance(item, list) else (item,)))
    return any(isinstance(t, EagerTensor) and t._place.device is not device for t in flat)


def _key(op: Op, bound: BoundInputs) -> tuple[Any, ...]:
    """What a step depends on: for a plain call of tensors, ``(op, place, place, ...)``."""
    places: list[Any] = [op]
    for item in bound.inputs:
        if isinstance(item, EagerTensor):
            places.append(item._place)
        elif isinstance(item, list):
            places.append(tuple(tensor._place for tensor in item))
    from_inputs = {arg.type for arg in op.inputs}
    places += [dtype for name, dtype in bound.types.items() if name not in from_inputs]
    return tuple(places)


def _may_keep() -> bool:
    return not (options.current.log or here.scope.calls_functions or _verifying())


_verify: bool | None = None


def _verifying() -> bool:
    global _verify
    if _verify is None:
        _verify = settings.verify_kernels()
    return _verify
