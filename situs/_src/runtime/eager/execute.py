"""Running ops eagerly: place, copy inputs, call the kernel, wrap the result.

    execute(op, inputs, attrs)
      bind      inputs -> tensors and host values, type variables -> dtypes
      prepare   scope, kernels, devices -> a Step: where, with which kernel, after which copies
      run       the step on the values; a failure is translated into one of our errors
      wrap      the result's values -> tensors at their place

A `Step` depends only on the op, the scope and the places (device, dtype) of the inputs, so it is cached in the scope's
memo. `runtime.dispatch` looks there first: that is the fast path, and all that an op pays for placement after its first
call. Steps are not cached while something has to be done per call: logging, device functions, verification, strict
device policies.

A step knows the dtypes of its results from the op's signature. They are checked in every call, because a kernel's
result may depend on more than the step does: on shapes, or on attributes. Only if the kernel is `settled` (PyTorch's
own functions of tensors of one dtype) is the first call enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from situs._src.base import settings
from situs._src.base.devices import scope
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device
from situs._src.base.devices.scope import here
from situs._src.base.dtype import DType, variant
from situs._src.base.errors import OpError
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.signature import ANY, HOST, NO_SIZE, TENSOR
from situs._src.placement import explain, options
from situs._src.placement.candidates import Assignment, assign
from situs._src.runtime import watch
from situs._src.runtime.eager import policy
from situs._src.runtime.eager.allocations import counted
from situs._src.runtime.eager.binding import PLAIN, BoundInputs, bind, host_value, is_host_value
from situs._src.runtime.eager.bridge import (
    STRINGS,
    TORCH_DTYPE,
    Copy,
    Place,
    copier,
    home_of,
    host,
    place,
    place_of,
    torch_device,
)
from situs._src.runtime.eager.capacity import check_fits, may_be_large
from situs._src.runtime.eager.cell import holder
from situs._src.runtime.eager.failure import translate
from situs._src.runtime.eager.tensor import EagerTensor, wrap
from situs._src.runtime.eager.verify import verify_dtypes, verify_shapes

note = explain.recent.append
_SMALL = 16  # smaller host values are axes and the like: a few of them cannot make a large result


class Step:
    """A resolved call: ``run`` takes the inputs' values; ``place`` is the place of a single result.

    ``dtype`` is PyTorch's dtype of a single result, or NumPy's for strings; None if there are several results, or the
    signature leaves it open. ``varies`` says that it must be checked in every call. ``several`` has the same for each
    result, if there are several or a list.
    """

    __slots__ = ("assignment", "dtype", "op", "place", "run", "several", "target", "types", "varies")

    def __init__(
        self, op: Op, types: dict[str, DType], assignment: Assignment, run: Callable[..., Any], target: Device
    ) -> None:
        self.op = op
        self.types = types  # the dtypes of the signature's type variables
        self.assignment = assignment
        self.run = run
        self.target = target  # the device of the results
        self.place: Any = None
        self.dtype: Any = None
        self.varies = not assignment.kernel.settled
        promised = op.outputs[0].type if len(op.outputs) == 1 and not op.outputs[0].is_list else ANY
        dtype = promised if isinstance(promised, DType) else types.get(promised)  # unknown for empty lists
        if dtype is not None:
            self.place = place(target, dtype)
            self.dtype = TORCH_DTYPE.get(dtype, STRINGS)
        self.several: list[tuple[Any, Place]] = []
        if self.dtype is None:
            known = [arg.type if isinstance(arg.type, DType) else types.get(arg.type) for arg in op.outputs]
            self.several = [(TORCH_DTYPE.get(each, STRINGS), place(target, each)) for each in known if each is not None]

    def verify(self, made: object) -> None:
        """Raises unless a kernel returned what the op's signature promises.

        Raises:
            InternalError: it returned something else.
        """
        verify_dtypes(self.op, self.types, made, self.assignment)

    def failure(self, error: Exception, inputs: Sequence[Any], attrs: dict[str, Any]) -> Exception:
        """The error to raise for the kernel's exception; nothing is run again.

        The error has no traceback, whose frames would hold values.
        """
        error = error.with_traceback(None)
        if isinstance(error, OpError):
            return error.in_op(self.op.name)
        attrs = self.op.complete_attrs(attrs)
        return translate(error, self.op, bind(self.op, inputs, attrs), attrs, self.assignment)


class State(Protocol):
    """What ops on state need to know about it: its name and place."""

    @property
    def name(self) -> str:
        """The name of the variable."""
        ...

    @property
    def place(self) -> Place:
        """The device that holds it, and its dtype."""
        ...

    @property
    def memo(self) -> dict[Any, Step]:
        """The cached steps of ops on it."""
        ...


class OpInfo:
    """What a device function sees of an op in eager mode."""

    __slots__ = ("device", "name", "type")

    def __init__(self, op: Op, name: str | None) -> None:
        self.type = op.name
        self.name = op.name if name is None else str(name)
        self.device = ""


def execute(
    op: Op, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None = None, state: State | None = None
) -> Any:
    """Runs an op and returns its tensor, or a list of tensors.

    An op on `state` (a variable) runs where the state is, whatever the scope says.
    """
    rules = scope.generation()
    attrs = op.complete_attrs(attrs)
    bound = bind(op, inputs, attrs)
    memo = here.scope.memo if state is None else state.memo
    key = _key(op, bound)
    step = memo.get(key)
    is_new = step is None
    if step is None:
        step = _prepare(op, bound, decide(op, bound.types, name) if state is None else _follow(op, bound.types, state))
        log(step.assignment)
    values = [_value(item) for item in bound.inputs]
    try:
        check_fits(op, bound, attrs, step.assignment)
        made = step.run(*values, **attrs)
    except OpError as error:
        raise error.in_op(op.name) from None
    except Exception as error:  # without its traceback, whose frames hold values
        raise translate(error.with_traceback(None), op, bound, attrs, step.assignment) from None
    result = wrap_results(step, made)
    if verifying():
        verify_shapes(op, bound, attrs, result, step.assignment)
    elif is_new and _may_keep(bound, step):
        scope.remember(memo, key, step, rules)
    return result


def compute(op: Op, inputs: Sequence[Any], attrs: dict[str, Any]) -> EagerTensor:
    """Runs an op with one result on the host, for internal use: without placement, recording or logging."""
    bound = bind(op, inputs, attrs)
    kernel = op.kernel_for("CPU", bound.types)
    assert kernel is not None
    where = {"device": torch_device(host())} if kernel.takes_device else {}
    value = kernel.function(*(_value(item) for item in bound.inputs), **attrs, **where)
    return wrap(value, place_of(host(), value))


def decide(op: Op, types: dict[str, DType], name: str | None) -> Assignment:
    """The assignment of an op, from the enclosing scopes, its kernels and the devices of this process."""
    request = here.scope.eager_request(OpInfo(op, name))
    try:
        return assign(op, types, process.devices(), request, options.current.soft)
    except OpError as error:
        if watch.watcher is not None:
            watch.watcher.refused(op.name, "" if request is None else request.to_string(), error)
        raise


def _follow(op: Op, types: dict[str, DType], state: State) -> Assignment:
    pinned = assign(op, types, process.devices(), state.place.device.spec, soft=False)
    return replace(pinned, kind="state", detail=f"follows variable '{state.name}'", requested="")


def log(assignment: Assignment) -> None:
    """Prints the device of an op, if device logging is on."""
    if options.current.log:
        print(f"Executing op {assignment.op} in device {assignment.device.name}", flush=True)


def recall(
    op: Op, inputs: Sequence[Any], attrs: dict[str, Any], memo: dict[Any, Step]
) -> tuple[Step, list[Any]] | None:
    """The cached step for these inputs, and their values.

    None if there is none, or an input has to be converted to a tensor first: `execute` handles that.
    """
    kinds = op.kinds
    if not memo or len(inputs) != len(kinds):
        return None
    key: list[Any] = [op]
    values: list[Any] = []
    large: list[Any] = []  # host values that could lead to a large result
    for kind, item in zip(kinds, inputs):  # noqa: B905 -- a keyword would cost every op a tenth of a microsecond
        if kind is TENSOR:
            held = item if type(item) is EagerTensor else holder(item)
            if held is None or held._value is None:
                return None
            key.append(held._place)
            values.append(held._value)
        elif kind is HOST or kind is NO_SIZE:
            given_as = type(item)
            if given_as is int:
                if kind is HOST and not -_SMALL < item < _SMALL:
                    large.append(item)
                values.append(item)
                continue
            if (given_as is list or given_as is tuple) and PLAIN.issuperset(map(type, item)):
                item = tuple(item)
            elif is_host_value(item):
                item = host_value(item)
            else:
                return None
            if kind is HOST:
                large.append(item)
            values.append(item)
        elif type(item) is list or type(item) is tuple:
            several = [each if type(each) is EagerTensor else holder(each) for each in item]
            given = [None if held is None else held._value for held in several]
            for value in given:
                if value is None:
                    return None
            key.append(tuple([held._place for held in several]))
            values.append(given)
        else:
            return None
    for name in op.given_types:
        given_type = attrs.get(name)
        if type(given_type) is not DType:
            return None
        key.append(given_type.name)  # its hash is cached
    for name in attrs:
        if name not in op.attr_names:
            return None
    step = memo.get(tuple(key))
    return None if step is None or (large and may_be_large(large)) else (step, values)


def run_step(step: Step, values: Sequence[Any], inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Runs a cached step on values; `inputs` are the original inputs, for errors."""
    op = step.op
    try:
        made = step.run(*values, **(attrs if len(attrs) == len(op.attr_names) else {**op.attrs, **attrs}))
    except Exception as error:
        raise step.failure(error, inputs, attrs) from None
    return wrap_results(step, made)


def wrap_results(step: Step, made: object) -> Any:
    """The result of a kernel as a tensor, or as a list of them.

    Raises:
        InternalError: it is not what the op's signature promises.
    """
    assignment = step.assignment
    if step.dtype is None or getattr(made, "dtype", None) is not step.dtype:
        results = _wrap_each(step, made)
        note(assignment)
        if results is not None:
            return results
        step.verify(made)
        if type(made) is tuple or type(made) is list:
            return [wrap(value, place_of(step.target, value), assignment) for value in made]
        return wrap(made, place_of(step.target, made), assignment)
    note(assignment)
    tensor = EagerTensor()
    tensor._value = made
    tensor._place = step.place
    tensor._made_by = assignment
    return tensor


def _wrap_each(step: Step, made: object) -> list[EagerTensor] | None:
    """Several results as tensors; None unless each is what the op's signature promises."""
    if type(made) is not tuple and type(made) is not list:
        return None
    promised, outputs = step.several, step.op.outputs
    if len(outputs) == 1 and outputs[0].is_list:
        promised = promised * len(made)
    if len(made) != len(promised):
        return None
    results = []
    for value, (dtype, where) in zip(made, promised):  # noqa: B905 -- see `recall`
        if getattr(value, "dtype", None) is not dtype:
            return None
        results.append(wrap(value, where, step.assignment))
    return results


def _value(item: object) -> Any:
    if isinstance(item, EagerTensor):
        return item._value
    return [tensor._value for tensor in item] if isinstance(item, list) else item


def _prepare(op: Op, bound: BoundInputs, decided: Assignment) -> Step:
    run = decided.kernel.function
    if decided.kernel.takes_device:
        run = partial(run, device=torch_device(decided.device))
    target = home_of(decided)
    run = counted(run, target, decided.op, once=op.stateful)
    if watch.watcher is not None:
        run = watch.watcher.kernel(run, op, decided)
    copies = _input_copies(decided.op, bound, decided.device)
    if any(copy is not None for copy in copies):
        run = _copying(run, copies)
    return Step(op, bound.types, decided, run, target)


def _input_copies(op: str, bound: BoundInputs, device: Device) -> list[Copy | list[Copy | None] | None]:
    """For each input: how to copy it to `device`, or None if it is there already."""
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


def _copy_of(op: str, number: int, tensor: EagerTensor, device: Device) -> Copy | None:
    if tensor._place.dtype is variant:
        return None  # the rows of a list are not moved
    if tensor._place.device is not device and tensor._made_by is not None:  # else a literal of the program
        policy.check(op, number, tensor._place, device)
    copy = copier(tensor._place.device, device)
    if copy is None or watch.watcher is None:
        return copy
    return watch.watcher.copy(copy, tensor._place.device, device)


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


def _key(op: Op, bound: BoundInputs) -> tuple[Any, ...]:
    """The cache key of a step: the op, the places of its tensors, the dtypes that the caller gave.

    `recall` and the fast path of `runtime.dispatch` build the same key.
    """
    tensors = (item for item in bound.inputs if isinstance(item, (EagerTensor, list)))
    places = [tuple(t._place for t in item) if isinstance(item, list) else item._place for item in tensors]
    return (op, *places, *(bound.types[name].name for name in op.given_types))


def _may_keep(bound: BoundInputs, step: Step) -> bool:
    if options.current.log or here.scope.calls_functions:
        return False
    return policy.copies_may_be_kept() or not _any_elsewhere(bound, step.assignment.device)


def _any_elsewhere(bound: BoundInputs, device: Device) -> bool:
    flat = (t for item in bound.inputs for t in (item if isinstance(item, list) else (item,)))
    return any(isinstance(t, EagerTensor) and t._place.device is not device for t in flat)


_verify: bool | None = None


def verifying() -> bool:
    """Whether every kernel's results are checked, as in the tests."""
    global _verify
    if _verify is None:
        _verify = settings.verify_kernels()
    return _verify
