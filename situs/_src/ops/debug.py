"""Assertions about tensors: ``tf.Assert`` and ``tf.debugging.assert_*``.

In eager mode a failed assertion raises immediately, with the values in its message, and a good one returns None. In a
graph it is an operation that fails when it runs; what is known statically, such as shapes and dtypes and the values of
constants, is checked when it is created.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.devices import scope
from situs._src.base.devices.scope import here
from situs._src.base.dtype import FLOATING, NUMERIC, DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, FailedPreconditionError, InvalidArgumentError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor, is_tensor, read
from situs._src.base.typing import ArrayLike, DTypeLike, IntLike, IntsLike
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import CHECK, VIEW
from situs._src.ops import array
from situs._src.ops.attribute import as_int, as_word, is_plain, plain
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal, greater, greater_equal, less, less_equal, not_equal
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, GPU, all_finite, op, same_shape
from situs._src.ops.join import concat, stack
from situs._src.ops.math import abs as absolute
from situs._src.ops.math import add, multiply, subtract
from situs._src.ops.naming import Composed
from situs._src.ops.placeholder import group, no_op
from situs._src.ops.printing import OLD, text_of
from situs._src.ops.reduce import reduce_all, reduce_any
from situs._src.runtime.eager.bridge import TORCH_DTYPE
from situs._src.runtime.eager.convert import to_tensor
from situs._src.runtime.eager.tensor import EagerTensor, to_numpy
from situs._src.runtime.symbolic.fold import constant_value

# Assert.

_assert = op("Assert", "condition: bool, data: any* ->", traits={CHECK}, stateful=True, summarize=3)


@_assert.shape
def _assert_op_shape(condition: TensorShape, data: list[TensorShape], *, summarize: int) -> list[TensorShape]:
    if condition.num_elements() not in (None, 1):
        raise ArgumentError(f"The condition of an assertion is a scalar, got shape {condition}.")
    return []


@_assert.kernel(CPU, GPU)
def _assert_kernel(condition: torch.Tensor, data: list[Any], *, summarize: int) -> tuple[()]:
    if condition.numel() != 1:
        raise ArgumentError(f"condition must be a scalar, got shape {list(condition.shape)}")
    if not condition.item():
        texts = [text_of(item, summarize, OLD).decode(errors="backslashreplace") for item in data]
        raise ArgumentError(f"assertion failed: {' '.join(f'[{text}]' for text in texts)}")
    return ()


@export("Assert", "debugging.Assert")
def Assert(  # noqa: N802 - the name programs use
    condition: ArrayLike, data: Any, summarize: int | None = None, name: str | None = None
) -> Any:
    """Raises unless a condition is true.

    Args:
        condition: A boolean scalar.
        data: A list of tensors and values to show if it is not.
        summarize: How many elements of each tensor to show; 3 by default, -1 for all.
        name: A name for the op.

    Raises:
        InvalidArgumentError: the condition is false.
    """
    if not isinstance(data, (list, tuple, str)):
        raise DTypeError(f"The data of an assertion is a list of tensors, got {data!r}.")
    holds = read(condition)
    if here.graph is not None or isinstance(holds, SymbolicTensor):
        with Composed(name, "Assert", "Assert") as last:
            return _assert_later(holds, list(data), summarize, last)
    if not _truth(holds):
        shown = "\n".join(_element_list(read(item), summarize) for item in data)
        raise InvalidArgumentError(f"Expected '{holds!s}' to be true. Summarized data: {shown}")
    return None


def _assert_later(condition: ArrayLike, data: list[Any], summarize: int | None, name: str | None) -> list[Tensor]:
    holds = convert_to_tensor(condition, name="condition")
    with scope.device(None):  # text lies on the host
        shown = [convert_to_tensor(item, name=f"data_{number}") for number, item in enumerate(data)]
    limit = 3 if summarize is None else as_int(summarize, "summarize")
    return _assert.many(cast(holds, dt.bool), shown, summarize=limit, name=name)


def _truth(condition: ArrayLike) -> bool:
    if isinstance(condition, (EagerTensor, np.ndarray)) and np.size(condition) != 1:
        raise ArgumentError(f"The condition of an assertion is a scalar, got {condition!r}. Use tf.reduce_all.")
    return bool(condition)


def _count(summarize: int | None, size: int) -> int:
    wanted = 3 if summarize is None else as_int(summarize, "summarize")
    return size if wanted < 0 else wanted


def _values(item: object) -> np.ndarray[Any, Any]:
    return to_numpy(to_tensor(item))


def _first_elements(item: object, summarize: int | None) -> list[str]:
    """The first elements of a tensor or value as texts."""
    flat = _values(item).ravel()
    shown = flat[: _count(summarize, flat.size)]
    return [str(element) for element in shown] + (["..."] if len(shown) < flat.size else [])


def _element_list(item: object, summarize: int | None) -> str:
    return ", ".join(_first_elements(item, summarize))


def _static(value: object) -> Tensor:
    """A tensor to look at the shape and dtype of; Python values need no device for that."""
    value = read(value)
    return value if isinstance(value, Tensor) else to_tensor(value)


# Comparisons of two tensors.


def _assert_all(
    holds: Tensor,
    x: ArrayLike,
    y: ArrayLike,
    symbol: str,
    data: Any,
    summarize: int | None,
    message: str | None,
    name: str | None,
) -> Any:
    """Raises unless a comparison holds everywhere."""
    condition = reduce_all(holds)
    if not isinstance(condition, EagerTensor):
        return _assert_all_later(condition, x, y, symbol, data, summarize, message, name)
    if bool(condition):
        return None
    if data is None:
        said = [
            f"Condition x {symbol} y did not hold.",
            *_differences(_values(holds), _values(x), _values(y), summarize),
        ]
    else:
        said = [_datum(read(item), summarize) for item in _listed(data, "data")]
    raise InvalidArgumentError(_text([*_opening(message), *said], symbol))


def _text(lines: list[str], symbol: str) -> str:
    """The lines, or the least that can be said if the program has given none."""
    return "\n".join(lines) if any(lines) else f"Condition x {symbol} y did not hold."


def _assert_all_later(
    condition: Tensor,
    x: ArrayLike,
    y: ArrayLike,
    symbol: str,
    data: Any,
    summarize: int | None,
    message: str | None,
    name: Any,
) -> Any:
    """The same in a graph: an operation, or an error at once if constants break the rule."""
    left, right = (read(value) for value in (x, y))
    if data is None:
        said = [f"Condition x {symbol} y did not hold element-wise:"]
        data = [*said, f"x ({_title(left)}) = ", left, f"y ({_title(right)}) = ", right]
    data = [*_opening(message), *_listed(data, "data")]
    known = _known_values(left, right)
    if known is not None and not np.all(_SYMBOLS[symbol](*known)):
        raise InvalidArgumentError(_text([_shown(item, summarize) for item in data], symbol))
    return Assert(condition, data, summarize, name)


_SYMBOLS: dict[str, Callable[..., Any]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def _known_values(x: ArrayLike, y: ArrayLike) -> tuple[Any, Any] | None:
    """Two values as arrays, if both are known before the graph runs."""
    arrays = []
    for value in (x, y):
        if isinstance(value, SymbolicTensor):
            found = constant_value(value)
            if found is None or value.dtype is dt.string:
                return None
            sizes: Any = tuple(value.shape)
            arrays.append(np.asarray(found).reshape(sizes))
        elif is_plain(value):
            arrays.append(_values(value))
        else:
            return None
    return arrays[0], arrays[1]


def _title(value: object) -> str:
    return getattr(value, "name", "value") if isinstance(value, SymbolicTensor) else "value"


def _shown(item: object, summarize: int | None) -> str:
    if isinstance(item, str):
        return item
    known = constant_value(item) if isinstance(item, SymbolicTensor) else item
    return repr(item) if known is None else _element_list(known, summarize)


def _opening(message: str | None) -> list[str]:
    text = "" if message is None else str(message)
    return [text] if text else []


def _differences(holds: Any, left: Any, right: Any, summarize: int | None) -> list[str]:
    """Where and how two arrays differ, as lines."""
    lines = []
    if left.shape == right.shape and left.ndim > 0:
        where = np.argwhere(~holds)
        where = where[: _count(summarize, len(where))]
        lines += [f"Indices of first {len(where)} different values:", str(where)]
        for what, values in (("x", left), ("y", right)):
            lines += [f"Corresponding {what} values:", str(values[tuple(where.T)])]
    for what, values in (("x", left), ("y", right)):
        first = values.ravel()[: _count(summarize, values.size)]
        lines += [f"First {len(first)} elements of {what}:", str(first)]
    return lines


def _datum(item: object, summarize: int | None) -> str:
    """A value of the program's own data, as a line."""
    if isinstance(item, EagerTensor):
        texts = _first_elements(item, summarize)
        return str(texts) if item.ndim else texts[0]
    return str(item)


Comparison = Callable[..., Any]


def _nothing_to_check(name: str | None) -> Operation | None:
    """What an assertion returns that a tensor equals itself, of which nothing is looked at, as in TensorFlow."""
    return None if here.graph is None else no_op(name)


def _comparison(default: str, symbol: str, words: str, compare: Comparison, old: bool = False) -> Comparison:
    """Makes an assertion that compares two tensors, with the arguments of TensorFlow 2 or of 1 (`old`)."""

    def assertion(
        x: ArrayLike, y: ArrayLike, message: str | None = None, summarize: int | None = None, name: str | None = None
    ) -> Any:
        if x is y and symbol == "==":
            return _nothing_to_check(name)
        with Composed(name, default, "Assert/Assert") as last:
            return _assert_all(compare(x, y), x, y, symbol, None, summarize, message, last)

    def old_assertion(
        x: ArrayLike,
        y: ArrayLike,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Any:
        if x is y and symbol == "==":
            return _nothing_to_check(name)
        with Composed(name, default, "Assert/Assert") as last:
            return _assert_all(compare(x, y), x, y, symbol, data, summarize, message, last)

    made = old_assertion if old else assertion
    made.__doc__ = f"Raises ``InvalidArgumentError`` unless every element of `x` {words} that of `y`."
    return made


_EQUAL = ("assert_equal", "==", "equals", equal)
_NONE_EQUAL = ("assert_none_equal", "!=", "differs from", not_equal)
_LESS = ("assert_less", "<", "is less than", less)
_LESS_EQUAL = ("assert_less_equal", "<=", "is at most", less_equal)
_GREATER = ("assert_greater", ">", "is greater than", greater)
_GREATER_EQUAL = ("assert_greater_equal", ">=", "is at least", greater_equal)

assert_equal = export("assert_equal", "debugging.assert_equal", v1=())(_comparison(*_EQUAL))
assert_less = export("assert_less", "debugging.assert_less", v1=())(_comparison(*_LESS))
assert_less_equal = export("debugging.assert_less_equal", v1=())(_comparison(*_LESS_EQUAL))
assert_greater = export("assert_greater", "debugging.assert_greater", v1=())(_comparison(*_GREATER))
assert_greater_equal = export("debugging.assert_greater_equal", v1=())(_comparison(*_GREATER_EQUAL))

assert_equal_v1 = export(v1=("assert_equal", "debugging.assert_equal"))(_comparison(*_EQUAL, old=True))
assert_none_equal_v1 = export(v1=("assert_none_equal", "debugging.assert_none_equal"))(
    _comparison(*_NONE_EQUAL, old=True)
)
assert_less_v1 = export(v1=("assert_less", "debugging.assert_less"))(_comparison(*_LESS, old=True))
assert_less_equal_v1 = export(v1=("assert_less_equal", "debugging.assert_less_equal"))(
    _comparison(*_LESS_EQUAL, old=True)
)
assert_greater_v1 = export(v1=("assert_greater", "debugging.assert_greater"))(_comparison(*_GREATER, old=True))
assert_greater_equal_v1 = export(v1=("assert_greater_equal", "debugging.assert_greater_equal"))(
    _comparison(*_GREATER_EQUAL, old=True)
)


@export("debugging.assert_none_equal", v1=())
def assert_none_equal(
    x: ArrayLike, y: ArrayLike, summarize: int | None = None, message: str | None = None, name: str | None = None
) -> Any:
    """Raises ``InvalidArgumentError`` unless every element of `x` differs from that of `y`."""
    return assert_none_equal_v1(x, y, None, summarize, message, name)


# The sign of a tensor.


def _sign(default: str, symbol: str, words: str, compare: Comparison, old: bool = False) -> Comparison:
    """Makes an assertion about the sign of a tensor, with the arguments of TensorFlow 2 or of 1 (`old`)."""

    def check(x: ArrayLike, data: Any, summarize: int | None, message: str | None, name: str | None) -> Any:
        with Composed(name, default, "Assert/Assert") as last:
            tensor = convert_to_tensor(x, name="x")
            if data is None:
                said = [_prefix(message), f"Condition x {symbol} 0 did not hold element-wise:"]
                data = [*said, f"x ({_description(tensor)}) = ", tensor]
            return _assert_all(compare(tensor, 0), tensor, 0, symbol, data, summarize, None, last)

    def assertion(
        x: ArrayLike, message: str | None = None, summarize: int | None = None, name: str | None = None
    ) -> Any:
        return check(x, None, summarize, message, name)

    def old_assertion(
        x: ArrayLike,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Any:
        return check(x, data, summarize, message, name)

    made = old_assertion if old else assertion
    made.__doc__ = f"Raises ``InvalidArgumentError`` unless every element of `x` is {words}."
    return made


_POSITIVE = ("assert_positive", ">", "positive", greater)
_NEGATIVE = ("assert_negative", "<", "negative", less)
_NON_NEGATIVE = ("assert_non_negative", ">=", "zero or positive", greater_equal)
_NON_POSITIVE = ("assert_non_positive", "<=", "zero or negative", less_equal)

assert_positive = export("debugging.assert_positive", v1=())(_sign(*_POSITIVE))
assert_negative = export("debugging.assert_negative", v1=())(_sign(*_NEGATIVE))
assert_non_negative = export("debugging.assert_non_negative", v1=())(_sign(*_NON_NEGATIVE))
assert_non_positive = export("debugging.assert_non_positive", v1=())(_sign(*_NON_POSITIVE))

assert_positive_v1 = export(v1=("assert_positive", "debugging.assert_positive"))(_sign(*_POSITIVE, old=True))
assert_negative_v1 = export(v1=("assert_negative", "debugging.assert_negative"))(_sign(*_NEGATIVE, old=True))
assert_non_negative_v1 = export(v1=("assert_non_negative", "debugging.assert_non_negative"))(
    _sign(*_NON_NEGATIVE, old=True)
)
assert_non_positive_v1 = export(v1=("assert_non_positive", "debugging.assert_non_positive"))(
    _sign(*_NON_POSITIVE, old=True)
)


def _prefix(message: str | None) -> str:
    return "".join(f"{text}.  " for text in _opening(message))


def _description(tensor: Tensor) -> str:
    return f"shape={tensor.shape} dtype={tensor.dtype.name}"


# Nearness and finiteness.


@export("debugging.assert_near", v1=())
def assert_near(
    x: ArrayLike,
    y: ArrayLike,
    rtol: ArrayLike | None = None,
    atol: ArrayLike | None = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Raises unless ``|x - y| <= atol + rtol * |y|`` everywhere.

    Args:
        x: A tensor of floating-point or complex numbers.
        y: A tensor of the same dtype that broadcasts with it.
        rtol: The tolerance relative to `y`; by default ten times the precision of the dtype.
        atol: The absolute tolerance; by default the same.
        message: What to say first in the error.
        summarize: How many elements of each tensor to show.
        name: A name for the op.

    Raises:
        InvalidArgumentError: they are not near.
    """
    return assert_near_v1(x, y, rtol, atol, None, summarize, message, name)


@export(v1=("assert_near", "debugging.assert_near"))
def assert_near_v1(
    x: ArrayLike,
    y: ArrayLike,
    rtol: ArrayLike | None = None,
    atol: ArrayLike | None = None,
    data: ArrayLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Raises unless ``|x - y| <= atol + rtol * |y|``: `assert_near` with TensorFlow 1's arguments."""
    with Composed(name, "assert_near", "Assert/Assert") as last:
        left = convert_to_tensor(x, name="x")
        right = convert_to_tensor(y, left.dtype, name="y")
        relative, absolute_ = (
            convert_to_tensor(_tolerance(t, left.dtype), left.dtype.real_dtype) for t in (rtol, atol)
        )
        limit = add(absolute_, multiply(relative, absolute(right)))
        condition = reduce_all(less_equal(absolute(subtract(left, right)), limit))
        if data is None:
            said = f"x and y not equal to tolerance rtol = {relative!s}, atol = {absolute_!s}"
            texts = [f"{what} ({_description(t)}) = " for what, t in (("x", left), ("y", right))]
            data = [_prefix(message), said, texts[0], left, texts[1], right]
        return Assert(condition, data, summarize, last)


def _tolerance(given: object, dtype: DType) -> Any:
    if not dtype.is_floating and not dtype.is_complex:
        raise DTypeError(f"assert_near compares floating-point or complex tensors, got {dtype.name}. Use assert_equal.")
    if given is not None:
        return given
    return 10 * torch.finfo(TORCH_DTYPE[dtype.real_dtype]).eps


_check_numerics = op(
    "CheckNumerics", "tensor: T -> output: T", traits={CHECK, VIEW}, T=FLOATING, stateful=True, message=""
)
_check_numerics.shape(same_shape)


@_check_numerics.kernel(CPU, GPU)
def _check_numerics_kernel(tensor: torch.Tensor, *, message: str) -> torch.Tensor:
    if not all_finite(tensor):
        found = [("Inf", torch.isinf), ("NaN", torch.isnan)]
        names = " and ".join(name for name, test in found if test(tensor).any())
        raise ArgumentError(f"{message} : Tensor had {names} values")
    return tensor


@_check_numerics.gradient
def _check_numerics_gradient(grad: Tensor, *, message: str) -> Tensor:
    return check_numerics(grad, f"Not a number (NaN) or infinity (Inf) values detected in gradient. {message}")


@export("debugging.check_numerics", v1=("check_numerics", "debugging.check_numerics"))
def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """Returns a tensor whose numbers are all finite.

    Args:
        tensor: A tensor of floating-point numbers.
        message: What to say first in the error.
        name: A name for the op.

    Raises:
        InvalidArgumentError: there is an infinity or a NaN in it.
    """
    return _check_numerics(tensor, message=as_word(message, "message"), name=name)


@export(v1="add_check_numerics_ops")
def add_check_numerics_ops() -> Operation | None:
    """An operation that checks the numbers of all tensors of the graph so far, one after the other.

    Raises:
        RuntimeError: ops are not being added to a graph.
    """
    graph = here.graph
    if graph is None:
        said = "add_check_numerics_ops() is for graphs; where ops run at once, call tf.debugging.check_numerics."
        raise FailedPreconditionError(said)
    checked: list[Any] = []
    for operation in graph.get_operations():
        for number, output in enumerate(operation.outputs):
            if output.dtype in FLOATING and not output.is_ref:
                with graph.control_dependencies(checked):
                    checked = [check_numerics(output, f"{operation.name}:{number}")]
    return group(*checked)


@export("debugging.assert_all_finite", v1=())
def assert_all_finite(x: ArrayLike, message: str, name: str | None = None) -> Tensor:
    """Returns a tensor whose numbers are all finite: the same as `check_numerics`."""
    return check_numerics(x, message, name)


@export(v1=("verify_tensor_all_finite", "debugging.assert_all_finite"))
def assert_all_finite_v1(
    t: ArrayLike | None = None,
    msg: str | None = None,
    name: str | None = None,
    x: ArrayLike | None = None,
    message: str | None = None,
) -> Tensor:
    """Returns a tensor whose numbers are all finite: with TensorFlow 1's arguments."""
    said = msg if message is None else message
    return check_numerics(t if x is None else x, "" if said is None else said, name)


# Ranks and shapes.


def _assert_rank(
    x: Any,
    ranks: Sequence[Any],
    words: str,
    compare: Callable[..., Any],
    data: Any,
    summarize: int | None,
    message: str | None,
    last: str | None,
) -> Any:
    """Raises unless the rank of `x` compares well with one of `ranks`; what is not known is asserted later."""
    tensor = _static(x)
    rank = tensor.shape.rank
    wanted = [_as_rank(each) for each in ranks]
    words = words.format(*wanted, all=tuple(wanted))
    if rank is None or not is_plain(wanted):
        holds = [compare(array.rank(tensor), each) for each in wanted]
        said = [f"{_prefix(message)}Tensor must have rank {words}. Received shape: ", array.shape(tensor)]
        given = [] if data is None else _listed(data, "data")
        return Assert(reduce_any(stack(holds)), [*said, *given], summarize, last)
    if not any(_STATIC[compare](rank, each) for each in wanted):
        raise ArgumentError(
            f"{_prefix(message)}Tensor  must have rank {words}.  Received rank {rank}, shape {tensor.shape}"
        )
    return no_op(last and _DETERMINED)


_STATIC: dict[Any, Callable[[int, int], bool]] = {equal: operator.eq, greater_equal: operator.ge}
_DETERMINED = "static_checks_determined_all_ok"


def _as_rank(rank: IntLike) -> Any:
    """A rank as an integer, or a tensor that is not known before its graph runs."""
    rank = read(rank)
    number = plain(rank, "rank") if is_plain(rank) else rank
    if isinstance(number, (list, tuple)):
        raise ArgumentError(f"Rank must be a scalar, got {rank!r}.")
    if isinstance(number, Tensor) and number.dtype.is_integer:
        if number.shape.rank not in (None, 0):
            raise ArgumentError(f"Rank must be a scalar, got {rank!r}.")
        return array.ensure_shape(number, [])  # else one of several would do
    if not isinstance(number, int) or isinstance(number, bool):
        raise DTypeError(f"A rank is an integer (tf.int32), got {rank!r}.")
    return number


@export("assert_rank", "debugging.assert_rank", v1=())
def assert_rank(x: ArrayLike, rank: IntLike, message: str | None = None, name: str | None = None) -> Any:
    """Raises ``ValueError`` unless `x` has this rank."""
    return assert_rank_v1(x, rank, None, None, message, name)


@export("debugging.assert_rank_at_least", v1=())
def assert_rank_at_least(x: ArrayLike, rank: IntLike, message: str | None = None, name: str | None = None) -> Any:
    """Raises ``ValueError`` unless `x` has this rank or a higher one."""
    return assert_rank_at_least_v1(x, rank, None, None, message, name)


@export("debugging.assert_rank_in", v1=())
def assert_rank_in(x: ArrayLike, ranks: Iterable[Any], message: str | None = None, name: str | None = None) -> Any:
    """Raises ``ValueError`` unless the rank of `x` is one of `ranks`."""
    return assert_rank_in_v1(x, ranks, None, None, message, name)


@export(v1=("assert_rank", "debugging.assert_rank"))
def assert_rank_v1(
    x: ArrayLike,
    rank: IntLike,
    data: ArrayLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Raises ``ValueError`` unless `x` has this rank: with TensorFlow 1's arguments."""
    with Composed(name, "assert_rank", "Assert/Assert") as last:
        return _assert_rank(x, [rank], "{}", equal, data, summarize, message, last)


@export(v1=("assert_rank_at_least", "debugging.assert_rank_at_least"))
def assert_rank_at_least_v1(
    x: ArrayLike,
    rank: IntLike,
    data: ArrayLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Raises ``ValueError`` unless `x` has at least this rank: with TensorFlow 1's arguments."""
    with Composed(name, "assert_rank_at_least", "Assert/Assert") as last:
        return _assert_rank(x, [rank], "at least {}", greater_equal, data, summarize, message, last)


@export(v1=("assert_rank_in", "debugging.assert_rank_in"))
def assert_rank_in_v1(
    x: ArrayLike,
    ranks: Iterable[Any],
    data: ArrayLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Raises ``ValueError`` unless the rank of `x` is one of `ranks`: with TensorFlow 1's arguments."""
    wanted = _listed(ranks, "ranks")
    with Composed(name, "assert_rank_in", "Assert/Assert") as last:
        return _assert_rank(x, wanted, "in {all}", equal, data, summarize, message, last)


@export("debugging.assert_scalar", v1=())
def assert_scalar(tensor: ArrayLike, message: str | None = None, name: str | None = None) -> None:
    """Raises ``ValueError`` unless a tensor is known to be a scalar."""
    found = _static(tensor).shape
    if found.rank != 0:
        raise ArgumentError(f"{_prefix(message)}Expected scalar shape, saw shape: {found}.")


@export(v1=("assert_scalar", "debugging.assert_scalar"))
def assert_scalar_v1(tensor: ArrayLike, name: str | None = None, message: str | None = None) -> Tensor:
    """Returns a tensor that is known to be a scalar: with TensorFlow 1's arguments."""
    assert_scalar(tensor, message)
    return convert_to_tensor(tensor, name=name or "assert_scalar")


@export("debugging.assert_shapes")
def assert_shapes(
    shapes: object,
    data: ArrayLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation | None:
    """Raises unless tensors have shapes that fit each other.

    Sizes that are not known yet, in a graph, are checked by the operation that is returned.

    Args:
        shapes: Pairs of a tensor and its shape, or a dictionary of them. A shape consists of
            integers; of words, each of which stands for one size throughout; of None or ``"."`` for
            any size; and may begin with ``...`` or ``"*"`` for any number of dimensions.
        data: Taken for TensorFlow's sake.
        summarize: Likewise.
        message: What to say first in the error.
        name: A name for the op.

    Raises:
        ValueError: a shape does not fit.
    """
    sizes: dict[Any, tuple[Any, str]] = {}  # of each word: the size, and who said so
    pairs = shapes.items() if isinstance(shapes, dict) else _listed(shapes, "shapes")
    later: list[Any] = []
    with Composed(name, "assert_shapes"):
        for tensor, wanted in (_as_pair(each) for each in pairs):
            if wanted is None:  # any shape will do
                continue
            later += _assert_shape(_static(_dereferenced(tensor)), wanted, sizes, message)
        return group(*(check for check in later if check is not None))


def _listed(values: Any, name: str) -> list[Any]:
    try:
        return list(values)
    except TypeError:
        raise DTypeError(f"Expected a list for argument '{name}' not {shown(values)}.") from None


def _as_pair(value: object) -> tuple[Any, Any]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ArgumentError(f"Expected pairs of a tensor and its shape, got {shown(value)}.")
    return value[0], value[1]


def _dereferenced(tensor: ArrayLike) -> Any:
    """Tensors cannot be keys of a dictionary, but their references can."""
    return tensor.deref() if hasattr(tensor, "deref") else tensor


def _assert_shape(tensor: Tensor, wanted: object, sizes: dict[Any, tuple[Any, str]], message: str | None) -> list[Any]:
    """Checks one shape; returns the checks that wait for the graph to run."""
    symbols = _symbols(tensor, wanted, message)
    symbols = symbols or [1]  # a vector of one element passes for a scalar
    is_open = _is_rest(symbols[0])
    if is_open:
        symbols = symbols[1:]
        later = [assert_rank_at_least(tensor, len(symbols), message)]
    elif len(symbols) == 1:
        later = [assert_rank_in(tensor, (0, 1), message)]  # a scalar passes for a vector of one element
    else:
        later = [assert_rank(tensor, len(symbols), message)]
    rank = tensor.shape.rank
    offset = 0 if not is_open or rank is None else rank - len(symbols)
    for axis, (symbol, size) in enumerate(zip(symbols, _last_sizes(tensor, len(symbols)), strict=True)):
        if symbol is not None and symbol != ".":
            later.append(_assert_size(tensor, axis + offset, symbol, size, sizes, message))
    return later


def _last_sizes(tensor: Tensor, count: int) -> list[Any]:
    """The last sizes of a tensor: integers, or tensors where they are not known before the graph runs."""
    rank = tensor.shape.rank
    known: list[Any] = [None] * count
    if rank is not None:
        known = [1] if rank < count else list(tensor.shape)[rank - count :]
    if None not in known:
        return known
    dynamic = concat([[1], array.shape(tensor)], 0)  # the 1 is there for a scalar
    return [dynamic[i - count] if size is None else size for i, size in enumerate(known)]


def _symbols(tensor: Tensor, wanted: object, message: str | None) -> Sequence[Any]:
    if not isinstance(wanted, Iterable):
        raise ArgumentError(
            f"{_prefix(message)}Tensor {_description(tensor)}.  Specified shape must be an iterable.  "
            f"Received specified shape: {wanted}"
        )
    symbols = tuple(_as_symbol(each) for each in wanted)
    for index, symbol in enumerate(symbols[1:], start=1):
        if _is_rest(symbol):
            raise ArgumentError(
                f"{_prefix(message)}Tensor {_description(tensor)} specified shape index {index}.  Symbol `...` or `*` "
                "for a variable number of unspecified dimensions is only allowed as the first entry"
            )
    return symbols


def _as_symbol(symbol: Any) -> Hashable | int:
    """One entry of a shape, with its integers as Python's; anything else that can be a key stands for a size."""
    is_float = isinstance(symbol, (float, np.floating))
    try:
        return operator.index(int(symbol) if is_float and symbol.is_integer() else symbol)
    except TypeError:
        if is_float or is_tensor(symbol) or not isinstance(symbol, Hashable):
            raise ArgumentError(
                f"A shape consists of integers, words, None and `...`, got the entry {shown(symbol)}."
            ) from None
    return symbol


def _is_rest(symbol: object) -> bool:
    return symbol is Ellipsis or symbol == "*"


def _assert_size(
    tensor: Tensor, axis: int, symbol: object, size: IntsLike, sizes: dict[Any, tuple[Any, str]], message: str | None
) -> Any:
    if isinstance(symbol, int):
        wanted, by = symbol, "Specified explicitly."
    else:
        said = f"Specified by tensor {_description(tensor)} dimension {axis}."
        wanted, by = sizes.setdefault(symbol, (size, said))
    if size is wanted:
        return None
    said = f"{_prefix(message)}{by}  Tensor {_description(tensor)} dimension {axis} must have size"
    if not isinstance(size, int) or not isinstance(wanted, int):
        shown = [said, wanted, "Received shape: ", array.shape(tensor)]
        return Assert(equal(size, wanted), shown)
    if size != wanted:
        raise ArgumentError(f"{said} {wanted}.  Received size {size}, shape {tensor.shape}")
    return None


# Dtypes and Python types.


@export("debugging.assert_type", v1=("assert_type", "debugging.assert_type"))
def assert_type(
    tensor: ArrayLike, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> Operation | None:
    """Raises ``TypeError`` unless a tensor has this dtype."""
    wanted, found = as_dtype(tf_type), _static(tensor).dtype
    if found is not wanted:
        raise DTypeError(f"{_prefix(message)}tensor must be of type {wanted!r}; got {found!r}")
    with Composed(name, "assert_type"):
        return no_op("statically_determined_correct_type")


@export("debugging.assert_integer", v1=("assert_integer", "debugging.assert_integer"))
def assert_integer(x: ArrayLike, message: str | None = None, name: str | None = None) -> Operation | None:
    """Raises ``TypeError`` unless a tensor holds integers."""
    found = _static(x).dtype
    if not found.is_integer:
        raise DTypeError(f'{_prefix(message)}Expected "x" to be integer type.  Found: tensor of dtype {found}')
    with Composed(name, "assert_integer"):
        return no_op("statically_determined_was_integer")


@export("debugging.assert_same_float_dtype", v1=("assert_same_float_dtype", "debugging.assert_same_float_dtype"))
def assert_same_float_dtype(tensors: object = None, dtype: DTypeLike | None = None) -> DType:
    """Returns the floating-point dtype that all tensors have, and `dtype` if it is given.

    Raises:
        ValueError: they differ, or are not floating-point numbers.
    """
    expected = None if dtype is None else as_dtype(dtype)
    for tensor in () if tensors is None else _listed(tensors, "tensors"):
        found = _static(tensor).dtype
        expected = expected or found
        if found is not expected:
            raise DTypeError(f"{tensor!s}, type={found}, must be of the same type ({expected}).")
    expected = expected or dt.float32
    if not expected.is_floating:
        raise DTypeError(f"Expected floating point type, got {expected}.")
    return expected


@export("debugging.assert_proper_iterable", v1=("assert_proper_iterable", "debugging.assert_proper_iterable"))
def assert_proper_iterable(values: ArrayLike) -> None:
    """Raises ``TypeError`` unless `values` is an iterable of things: no tensor, array or string."""
    if isinstance(read(values), (Tensor, np.ndarray, str, bytes)):
        raise DTypeError(f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}')
    if not isinstance(values, Iterable):
        raise DTypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


@export("debugging.is_numeric_tensor", v1=("is_numeric_tensor", "debugging.is_numeric_tensor"))
def is_numeric_tensor(tensor: ArrayLike) -> bool:
    """Whether this is a tensor of numbers."""
    return isinstance(tensor, Tensor) and tensor.dtype in NUMERIC
