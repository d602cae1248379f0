"""The one interception point: every call of an op goes through here.

Every path looks up a cached step first, which is all that most calls need:

    memo[op, place of x, place of y]  ->  Step  ->  kernel  ->  tensor

While a graph is being built the memo is empty, and the call becomes an operation of the graph. So it does, at any
time, when an input is a symbolic tensor. Anything else out of the ordinary (a Python value, a first call, logging, a
device function, a recording tape) is not in the memo either and takes the slow path, `execute`. Variables are looked
up by their place, as tensors are.

A cache miss is found by looking up, not by catching an exception: whatever is raised on the fast path was raised by a
kernel. It is translated at once, as on the slow path, and no kernel runs twice.

``apply`` serves all ops. `unary`, `binary`, `with_host_inputs` and `typed` make functions for ops of one or two
tensors, with the look-up inlined: these calls must cost next to nothing. Tensors and variables have separate lines in
it, because Python's interpreter is fast where a line always sees the same type."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from operator import is_not
from typing import Any, Protocol

from situs._src.base.devices.scope import common, here
from situs._src.base.dtype import DType
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, read
from situs._src.ir.graph.function import graph_of
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.signature import LIST
from situs._src.runtime.eager import tape
from situs._src.runtime.eager.binding import PLAIN
from situs._src.runtime.eager.bridge import Place
from situs._src.runtime.eager.capacity import INTEGERS, LARGE
from situs._src.runtime.eager.cell import VARIABLES
from situs._src.runtime.eager.convert import PYTHON_NUMBERS, scalar
from situs._src.runtime.eager.execute import execute, note, recall, run_step, wrap_results
from situs._src.runtime.eager.tensor import EagerTensor, wrap
from situs._src.runtime.symbolic import build


class UnaryFunction(Protocol):
    """A public function of one tensor."""

    def __call__(self, x: Any, name: str | None = None) -> Tensor:
        """Runs the op."""
        ...


class HostInputFunction(Protocol):
    """A function of one tensor, host values and attributes."""

    def __call__(self, x: Any, *host: Any, name: str | None = None, **attrs: Any) -> Tensor:
        """Runs the op."""
        ...


class TypedFunction(Protocol):
    """A function of one tensor, the dtype of its result, and host values."""

    def __call__(self, x: Any, dtype: DType, *host: Any, name: str | None = None) -> Tensor:
        """Runs the op."""
        ...


class SizedFunction(Protocol):
    """A function of the dtype of its result, a shape, host values and all attributes of the op."""

    def __call__(self, dtype: DType, shape: Any, *host: Any, name: str | None = None, **attrs: Any) -> Tensor:
        """Runs the op."""
        ...


class BinaryFunction(Protocol):
    """A public function of two tensors."""

    def __call__(self, x: Any, y: Any, name: str | None = None) -> Tensor:
        """Runs the op."""
        ...


@export("executing_eagerly", v1=())
def executing_eagerly() -> bool:
    """Whether ops run immediately, rather than being added to a graph."""
    return here.graph is None


def apply(op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], name: str | None = None) -> Any:
    """Runs an op on inputs of any kind: a cached step if there is one, else the slow path."""
    found = recall(op, inputs, attrs, common.memo or here.memo)
    if found is not None:
        return run_step(*found, inputs, attrs)
    if on_composite and (handle := _handler(inputs)) is not None:
        return handle(op, inputs, attrs, name)
    if here.graph is not None:
        return build.apply(op, inputs, attrs, name, graph=here.graph)
    graph = graph_of(inputs)
    if graph is not None:
        return build.apply(op, inputs, attrs, name, graph=graph)
    values = _read(op, inputs)
    if here.tapes:
        return tape.run(op, values, attrs, name)
    found = recall(op, values, attrs, here.scope.memo) if any(map(is_not, values, inputs)) else None
    return execute(op, values, attrs, name) if found is None else run_step(*found, values, attrs)


def _read(op: Op, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs, with the tensors of what stands for tensors: variables, those of Keras, objects of a program."""
    if len(inputs) != len(op.kinds):
        return inputs
    return tuple(
        [
            [read(each) for each in item] if kind is LIST and isinstance(item, (list, tuple)) else read(item)
            for kind, item in zip(op.kinds, inputs)  # noqa: B905 -- see `recall`
        ]
    )


Op.apply = staticmethod(apply)

Handler = Callable[[Op, tuple[Any, ...], dict[str, Any], str | None], Any]
on_composite: dict[type, Handler] = {}  # by class of composite values; registered by the layers above


def _handler(inputs: tuple[Any, ...]) -> Handler | None:
    """The handler that runs an op on inputs of which one is a composite."""
    for value in inputs:
        for item in value if type(value) is list else (value,):
            found = on_composite.get(type(item))
            if found is not None:
                return found
    return None


def unary(op: Op) -> UnaryFunction:
    """The public function of an op with one tensor input and no attributes."""

    def call(x: Any, name: str | None = None) -> Any:
        if type(x) is EagerTensor:
            place, given = x._place, x._value
        elif type(x) in VARIABLES:
            cell = x._cell
            place, given = cell.place, cell.value
        else:
            given = None
        if given is not None:
            memo = common.memo
            step = (here.memo if memo is None else memo).get((op, place))
            if step is not None:
                run = step.run
                try:
                    value = run(given)
                except Exception as error:
                    raise step.failure(error, (x,), {}) from None
                if step.varies and getattr(value, "dtype", None) is not step.dtype:
                    return wrap_results(step, value)
                tensor = EagerTensor()
                tensor._value = value
                tensor._place = step.place
                tensor._made_by = made_by = step.assignment
                note(made_by)
                return tensor
            if here.tapes and here.graph is None:
                return tape.run_plain(op, (read(x),), name)
        return apply(op, (x,), {}, name)

    return call


def with_host_inputs(op: Op) -> HostInputFunction:
    """A fast path for an op of one tensor and some host values, such as axes or bounds.

    Host values that are plain already go to a cached step unchanged: numbers, strings, tuples of these.
    """

    def call(x: Any, *host: Any, name: str | None = None, **attrs: Any) -> Any:
        held = x if type(x) is EagerTensor else x._cell if type(x) in VARIABLES else None
        if held is not None:
            step = (common.memo or here.memo).get((op, held._place))
            given = held._value
            if step is not None and given is not None and _are_plain(host):
                try:
                    value = step.run(given, *host, **attrs)
                except Exception as error:
                    raise step.failure(error, (x, *host), attrs) from None
                if step.varies and getattr(value, "dtype", None) is not step.dtype:
                    return wrap_results(step, value)
                note(step.assignment)
                return wrap(value, step.place, step.assignment)
        return apply(op, (x, *host), attrs, name)

    return call


def typed(op: Op) -> TypedFunction:
    """A fast path for an op of one tensor and some host values, where the caller gives the dtype of the result."""
    (given,) = op.given_types

    def call(x: Any, dtype: DType, *host: Any, name: str | None = None) -> Any:
        held = x if type(x) is EagerTensor else x._cell if type(x) in VARIABLES else None
        if held is not None:
            step = (common.memo or here.memo).get((op, held._place, dtype.name))
            value = held._value
            if step is not None and value is not None and _are_plain(host):
                attrs = {**op.attrs, given: dtype}
                try:
                    made = step.run(value, *host, **attrs)
                except Exception as error:
                    raise step.failure(error, (x, *host), attrs) from None
                return wrap_results(step, made)
        return apply(op, (x, *host), {given: dtype}, name)

    return call


def sized(op: Op) -> SizedFunction:
    """A fast path for an op that takes a shape and other host values, where the caller gives the dtype."""
    (given,) = op.given_types

    def call(dtype: DType, shape: Any, *host: Any, name: str | None = None, **attrs: Any) -> Any:
        step = (common.memo or here.memo).get((op, dtype.name))
        if step is not None:
            sizes = tuple(shape) if type(shape) is list else shape
            plain = type(sizes) is tuple and INTEGERS.issuperset(map(type, sizes)) and -LARGE < prod(sizes) < LARGE
            if plain and (not host or _are_plain(host)):
                attrs[given] = dtype
                try:
                    made = step.run(sizes, *host, **attrs)
                except Exception as error:
                    raise step.failure(error, (shape, *host), attrs) from None
                return wrap_results(step, made)
        return apply(op, (shape, *host), {**attrs, given: dtype}, name)

    return call


def _are_plain(host: tuple[Any, ...]) -> bool:
    for item in host:
        if type(item) not in PLAIN and not (isinstance(item, tuple) and PLAIN.issuperset(map(type, item))):
            return False
    return True


def recalled(op: Op) -> Callable[[Any, Any], EagerTensor | None]:
    """Only the fast path, for a pure op whose kernel takes preprocessed host values in addition to those of the op.

    The function returns None if no step is cached, and if the kernel fails: the op itself is called then, and raises
    the error.
    """
    assert not op.stateful

    def call(x: Any, host: Any) -> EagerTensor | None:
        held = x if type(x) is EagerTensor else x._cell if type(x) in VARIABLES else None
        if held is None:
            return None
        step = (common.memo or here.memo).get((op, held._place))
        given = held._value
        if step is None or given is None:
            return None
        try:
            value = step.run(given, host)
        except Exception:
            return None
        if step.varies and getattr(value, "dtype", None) is not step.dtype:
            return None
        note(step.assignment)
        return wrap(value, step.place, step.assignment)

    return call


def joined(op: Op) -> Callable[[list[Any], Any], EagerTensor | None]:
    """Only the fast path, like `recalled`, for a pure op of a list of tensors and one more value."""
    assert not op.stateful

    def call(tensors: list[Any], host: Any) -> EagerTensor | None:
        for each in tensors:
            if type(each) is not EagerTensor:
                return None
        step = (common.memo or here.memo).get((op, tuple([each._place for each in tensors])))
        if step is None:
            return None
        try:
            value = step.run([each._value for each in tensors], host)
        except Exception:
            return None
        if step.varies and getattr(value, "dtype", None) is not step.dtype:
            return None
        note(step.assignment)
        return wrap(value, step.place, step.assignment)

    return call


def binary(op: Op) -> BinaryFunction:
    """The public function of an op with two tensor inputs and no attributes."""
    last: tuple[Any, Place | None, Place | None, Any] = (op, None, None, None)  # the last step and its key

    def call(x: Any, y: Any, name: str | None = None) -> Any:
        nonlocal last
        left: Place | None
        right: Place | None
        if type(x) is EagerTensor:
            left, first = x._place, x._value
        elif type(x) in VARIABLES:
            cell = x._cell
            left, first = cell.place, cell.value
        else:
            left = first = None
        if type(y) is EagerTensor:
            right, second = y._place, y._value
        elif type(y) in VARIABLES:
            cell = y._cell
            right, second = cell.place, cell.value
        else:
            right = second = None
        if first is not None and second is not None:
            rules = common.rules
            found_under, on_left, on_right, step = last
            if found_under is not rules or on_left is not left or on_right is not right:
                step = (common.memo or here.memo).get((op, left, right))
                if step is not None and rules is not None:
                    last = rules, left, right, step
            if step is not None:
                run = step.run
                try:
                    value = run(first, second)
                except Exception as error:
                    raise step.failure(error, (x, y), {}) from None
                if step.varies and getattr(value, "dtype", None) is not step.dtype:
                    return wrap_results(step, value)
                tensor = EagerTensor()
                tensor._value = value
                tensor._place = step.place
                tensor._made_by = made_by = step.assignment
                note(made_by)
                return tensor
            if here.tapes and here.graph is None:
                return tape.run_plain(op, (read(x), read(y)), name)
        elif left is not None and type(y) in PYTHON_NUMBERS and here.graph is None:
            number = scalar(y, left)
            if number is not None:
                return call(x, number, name)
        elif right is not None and type(x) in PYTHON_NUMBERS and here.graph is None:
            number = scalar(x, right)
            if number is not None:
                return call(number, y, name)
        return apply(op, (x, y), {}, name)

    return call
