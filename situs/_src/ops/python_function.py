"""Python functions as ops: ``py_func``, ``numpy_function`` and ``py_function``.

    y = tf.numpy_function(np.sinh, [x], tf.float32)       the function gets NumPy arrays, on the host
    y = tf.py_function(lambda x: x * x, [x], tf.float32)  it gets eager tensors, on the op's device

In a graph the function is called when the operation runs; nothing is being built around it then. What it raises becomes
the error of the operation, with the function's own traceback. In eager code it is called at once.
"""

from __future__ import annotations

import functools
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.devices.logical import Device
from situs._src.base.devices.scope import ROOT, Scope, build_into, here
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import (
    ArgumentError,
    DTypeError,
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
)
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN
from situs._src.base.tensor import Tensor, is_tensor, read
from situs._src.base.typing import DTypeLike
from situs._src.ir.graph.function import graph_of
from situs._src.ir.graph.graph import Graph
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.signature import ANY, Arg
from situs._src.ir.registry.traits import CALLS_PYTHON
from situs._src.ops.array import identity
from situs._src.ops.attribute import as_bool
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, GPU, op
from situs._src.runtime.eager.bridge import Value, host, place_of
from situs._src.runtime.eager.convert import host_to_value, to_array, to_tensor
from situs._src.runtime.eager.tensor import EagerTensor, copy_to, to_numpy_value, wrap
from situs._src.runtime.run.state import Run
from situs._src.runtime.symbolic.bind import SymbolicBinder

Function = Callable[..., Any]

_numpy_op = op(
    "PyFunc", "input: any* -> output: any*", traits={CALLS_PYTHON}, stateful=True, function=None, token="", Tout=()
)
_stateless_op = op(
    "PyFuncStateless", "input: any* -> output: any*", traits={CALLS_PYTHON}, function=None, token="", Tout=()
)
_eager_op = op(
    "EagerPyFunc", "input: any* -> output: any*", traits={CALLS_PYTHON}, stateful=True, function=None, token="", Tout=()
)
for _declared in (_numpy_op, _stateless_op, _eager_op):
    _declared.shape(lambda input, *, Tout, **attrs: [UNKNOWN] * len(Tout))  # noqa: N803 - TensorFlow's name

_numpy_op.stops_gradients()
_stateless_op.stops_gradients()

_numbers = count()


# What programs call.


@export(
    v1="py_func",
    differs="Tout holds in eager code too, as it does in graphs.",
)
def py_func(func: Function, inp: Any, Tout: Any, stateful: bool = True, name: str | None = None) -> Any:  # noqa: N803
    """Calls a Python function of NumPy arrays as an op.

    Args:
        func: The function. It gets an array, a NumPy scalar or bytes for each input, and returns an array or a list.
        inp: A list of tensors.
        Tout: The dtype of the result, or a list of dtypes.
        stateful: Whether two calls with the same inputs may differ.
        name: A name for the operation.

    Returns:
        A tensor, or a list of them if `Tout` is one. In a graph, their shapes are unknown.
    """
    _check_callable(func)
    wanted, listed = _as_dtypes(Tout)
    graph = here.graph or graph_of(_as_inputs(inp))
    if graph is None:
        return _call_numpy_now(func, _as_inputs(inp), wanted, listed)
    return _add(graph, _numpy_op if as_bool(stateful, "stateful") else _stateless_op, func, inp, wanted, listed, name)


@export(
    "numpy_function",
    differs="Tout holds in eager code too, as it does in graphs.",
)
def numpy_function(
    func: Function | None = None,
    inp: Any = None,
    Tout: DTypeLike | None = None,  # noqa: N803
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """The same as `py_func`; without `func`, a decorator: ``@tf.numpy_function(Tout=tf.float32)``."""
    if func is None:
        return _decorator(lambda function, args: py_func(function, args, Tout, stateful, name))
    return py_func(func, () if inp is None else inp, Tout, stateful, name)


@export("py_function")
def py_function(
    func: Function | None = None,
    inp: Any = None,
    Tout: Any = None,  # noqa: N803
    name: str | None = None,
) -> Any:
    """Calls a Python function of eager tensors as an op; without `func`, a decorator.

    Args:
        func: The function. It gets an eager tensor for each input, and returns a tensor, a value or a list of them.
        inp: A list of tensors.
        Tout: The dtype of the result, or a list of dtypes.
        name: A name for the operation.

    Returns:
        A tensor, or a list of them if `Tout` is one. In a graph, their shapes are unknown.
    """
    if func is None:
        return _decorator(lambda function, args: py_function(function, args, Tout, name))
    _check_callable(func)
    wanted, listed = _as_dtypes(Tout)
    inputs = _as_inputs(() if inp is None else inp)
    graph = here.graph or graph_of(inputs)
    if graph is not None:
        return _add(graph, _eager_op, func, inputs, wanted, listed, name)
    results = _call_eagerly(func, [convert_to_tensor(value) for value in inputs], wanted, _title(func), here.scope)
    placed = _under_scope(results)
    return placed if listed else placed[0]


def _decorator(call: Callable[[Function, tuple[Any, ...]], Any]) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        _check_callable(function)

        @functools.wraps(function)
        def wrapped(*args: Any) -> Any:
            return call(function, args)

        return wrapped

    return decorate


def _check_callable(func: Any) -> None:
    if not callable(func):
        raise ArgumentError(f"Expected func to be callable. Received func={func!r} of type {type(func)}.")


def _as_inputs(inp: Any) -> list[Any]:
    if not isinstance(inp, (list, tuple)):
        raise DTypeError(f"The inputs of a Python function are a list of tensors, got {type(inp).__name__!r}.")
    return list(inp)


def _as_dtypes(given: Any) -> tuple[tuple[DType, ...], bool]:
    """The dtypes of the results, and whether these are a list."""
    listed = isinstance(given, (list, tuple))
    items = given if listed else (given,)
    return tuple(as_dtype(item if isinstance(item, DType) else getattr(item, "dtype", item)) for item in items), listed


def _title(func: Function) -> str:
    return getattr(func, "__name__", type(func).__name__)


def _add(
    graph: Graph, op_def: Op, func: Function, inp: Any, wanted: tuple[DType, ...], listed: bool, name: str | None
) -> Any:
    inputs = [read(value) for value in _as_inputs(inp)]
    before = build_into(graph, here.scope if here.graph is graph else ROOT)
    try:
        unique = graph.claim_name(op_def, name)
        binder = SymbolicBinder(graph, unique)
        tensors = [binder.tensor(value, None, Arg(f"input_{i}", ANY)) for i, value in enumerate(inputs)]
        attrs = {"function": func, "token": f"pyfunc_{next(_numbers)}", "Tout": wanted}
        results = [(Arg("output", ANY), dtype, UNKNOWN) for dtype in wanted]
        node = graph.add(op_def, (tensors,), attrs, {}, results, f"{unique}/")
    finally:
        build_into(*before)
    if not wanted:
        return node
    return list(node.outputs) if listed else node.outputs[0]


# Functions of NumPy arrays.


@_numpy_op.kernel(CPU)
@_stateless_op.kernel(CPU)
def _numpy_kernel(
    input: list[Value],
    *,
    function: Function,
    token: str,
    Tout: Sequence[DType],  # noqa: N803
) -> list[Value]:
    who = f"{token} ({_title(function)})"
    arrays = [_as_argument(to_numpy_value(value)) for value in input]
    with _at_once():
        results = _results(_called(function, arrays), len(Tout), who)
        return [_checked_value(number, *each, who) for number, each in enumerate(zip(results, Tout, strict=True))]


def _as_argument(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What a function may keep and change: a copy, or a NumPy scalar or bytes for a scalar."""
    return array.copy() if array.ndim else array[()]


def _call_numpy_now(func: Function, inputs: list[Any], wanted: tuple[DType, ...], listed: bool) -> Any:
    """Calls at once: what the function raises is raised as it is."""
    arrays = [_as_argument(np.asarray(convert_to_tensor(value))) for value in inputs]
    who = _title(func)
    results = _results(func(*arrays), len(wanted), who)
    tensors = [_checked_tensor(number, *each, who) for number, each in enumerate(zip(results, wanted, strict=True))]
    if not wanted:
        return None
    placed = _under_scope(tensors)
    return placed if listed else placed[0]


def _under_scope(tensors: list[EagerTensor]) -> list[Any]:
    """The results of an eager call, on the device that the scope around it asks for."""
    return list(tensors) if here.scope is ROOT else [identity(tensor) for tensor in tensors]


def _results(returned: object, wanted: int, who: str) -> list[Any]:
    """What a function returned, as a list of so many values."""
    if not isinstance(returned, (list, tuple)):
        returned = [] if returned is None else [returned]
    results = list(returned)
    if len(results) != wanted:
        raise InvalidArgumentError(f"{who} returns {len(results)} values, but expects to see {wanted} values.")
    return results


def _checked_value(number: int, result: object, wanted: DType, who: str) -> Value:
    try:
        array, found = to_array(np.asarray(read(result)))
    except Exception as error:  # whatever an object of the program raises while it becomes an array
        raise InvalidArgumentError(f"{number}-th value returned by {who} is no tensor: {error}") from None
    if found is not wanted:
        raise InvalidArgumentError(
            f"{number}-th value returned by {who} is {found.proto_name}, but expects {wanted.proto_name}"
        )
    return host_to_value(array, found)


def _checked_tensor(number: int, result: object, wanted: DType, who: str) -> EagerTensor:
    if not isinstance(result, (np.ndarray, np.generic)) and not is_tensor(result):
        return _as_eager(number, result, wanted, who)  # a Python number has no dtype that could be wrong
    value = _checked_value(number, result, wanted, who)
    return wrap(value, place_of(host(), value))


# Functions of eager tensors.


@_eager_op.kernel(CPU, GPU)
def _eager_kernel(
    input: list[Value],
    *,
    function: Function,
    token: str,
    Tout: Sequence[DType],  # noqa: N803
    run: Run,
    where: Device,
) -> list[Value]:
    tensors = [wrap(value, place_of(_home(value, where), value)) for value in input]
    results = _call_eagerly(function, tensors, Tout, f"{token} ({_title(function)})")
    return [tensor._value if tensor.dtype is dt.string else copy_to(tensor, where)._value for tensor in results]


def _home(value: Value, where: Device) -> Device:
    return host() if isinstance(value, np.ndarray) else where  # strings are on the host wherever the op runs


def _call_eagerly(
    func: Function, tensors: Sequence[Tensor], wanted: Sequence[DType], who: str, scope: Scope = ROOT
) -> list[EagerTensor]:
    with _at_once(scope):
        results = _results(_called(func, tensors), len(wanted), who)
        return [_as_eager(number, *each, who) for number, each in enumerate(zip(results, wanted, strict=True))]


def _as_eager(number: int, result: object, wanted: DType, who: str) -> EagerTensor:
    """A result as a tensor, which stays on the device that it is on."""
    value = read(result)
    if isinstance(value, EagerTensor) and value.dtype is wanted:
        return value
    try:
        return to_tensor(value, wanted)
    except Exception as error:  # as above
        raise InvalidArgumentError(f"{number}-th value returned by {who} is no {wanted.name} tensor: {error}") from None


# Calling.


class _Calls(threading.local):
    """How many calls of such functions this thread is in."""

    def __init__(self) -> None:
        self.depth = 0


_calls = _Calls()


def runs_at_once() -> bool:
    """Whether a Python function is running as an op in this thread, so that ops in it run at once."""
    return _calls.depth > 0


@contextmanager
def _at_once(scope: Scope = ROOT) -> Iterator[None]:
    """A context in which nothing is being built."""
    before = build_into(None, scope)
    _calls.depth += 1
    try:
        yield
    finally:
        _calls.depth -= 1
        build_into(*before)


def _called(func: Function, arguments: Sequence[Any]) -> Any:
    """Calls a function of the program.

    Raises:
        OpError: the function raised something; the kind is TensorFlow's choice.
    """
    try:
        return func(*arguments)
    except Exception as error:
        raise _translated(error) from error


_KINDS: tuple[tuple[tuple[type[Exception], ...], type[OpError]], ...] = (
    ((ValueError, TypeError), InvalidArgumentError),
    ((StopIteration,), OutOfRangeError),
    ((MemoryError,), ResourceExhaustedError),
    ((NotImplementedError,), UnimplementedError),
)


def _translated(error: Exception) -> OpError:
    kind = next((ours for theirs, ours in _KINDS if isinstance(error, theirs)), UnknownError)
    own = error.__traceback__.tb_next if error.__traceback__ is not None else None  # without the call above
    if isinstance(error, OpError) and error.op is not None:  # of a run inside this one, which may be many levels deep
        return kind(f"{type(error).__name__}: {error.message[:_LONGEST]}")
    text = "".join(traceback.format_exception(type(error), error, own)).rstrip()
    return kind(f"{type(error).__name__}: {error}\n{text}\n")


_LONGEST = 4000  # characters of an error inside an error


__all__ = ["numpy_function", "py_func", "py_function"]
