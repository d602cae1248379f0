"""Comparisons, logic, and questions about the kinds of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from situs._src.base.dtype import bool as bool_
from situs._src.base.dtype import int32
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.numpy_api.arrays import choose, promoted, rank_of, sizes_of, to_tensor
from situs._src.numpy_api.elementwise import OfTwo, _named, imag
from situs._src.numpy_api.refusing import refuse_by_our_errors
from situs._src.ops import array as shapes
from situs._src.ops import compare, constant, reduce
from situs._src.ops import math as m
from situs._src.ops.cast import cast
from situs._src.runtime.dispatch import BinaryFunction

Function = Callable[..., Any]


def _comparison(function: Function, name: str, doc: str, ordered: bool = True) -> OfTwo:
    def call(x1: ArrayLike, x2: ArrayLike) -> Any:
        x, y = promoted(x1, x2)
        if ordered and x.dtype.is_bool:
            x, y = cast(x, int32), cast(y, int32)
        return function(x, y)

    return _named(call, name, doc)  # type: ignore[no-any-return]


def _logical(function: Function, name: str, doc: str) -> OfTwo:
    def call(x1: ArrayLike, x2: ArrayLike) -> Any:
        return function(to_tensor(x1, bool_), to_tensor(x2, bool_))

    return _named(call, name, doc)  # type: ignore[no-any-return]


equal = export("experimental.numpy.equal")(_comparison(compare.equal, "equal", "Where two are equal.", False))
not_equal = export("experimental.numpy.not_equal")(
    _comparison(compare.not_equal, "not_equal", "Where two differ.", False)
)
greater = export("experimental.numpy.greater")(_comparison(compare.greater, "greater", "Where `x1` is greater."))
greater_equal = export("experimental.numpy.greater_equal")(
    _comparison(compare.greater_equal, "greater_equal", "Where `x1` is not less.")
)
less = export("experimental.numpy.less")(_comparison(compare.less, "less", "Where `x1` is less."))
less_equal = export("experimental.numpy.less_equal")(
    _comparison(compare.less_equal, "less_equal", "Where `x1` is not greater.")
)
logical_and = export("experimental.numpy.logical_and")(
    _logical(compare.logical_and, "logical_and", "Where both are true, which numbers are that are not zero.")
)
logical_or = export("experimental.numpy.logical_or")(
    _logical(compare.logical_or, "logical_or", "Where one is true, which numbers are that are not zero.")
)
logical_xor = export("experimental.numpy.logical_xor")(
    _logical(compare.logical_xor, "logical_xor", "Where only one is true, which numbers are that are not zero.")
)


@export("experimental.numpy.logical_not")
def logical_not(x: ArrayLike) -> Tensor:
    """Where it is false, or zero."""
    return compare.logical_not(to_tensor(x, bool_))


@export("experimental.numpy.isclose")
def isclose(a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Where two numbers differ by no more than ``atol + rtol * abs(b)``; integers, where they are equal."""
    x, y = promoted(a, b)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        return compare.equal(x, y)
    far = m.abs(m.subtract(x, y))
    within = m.add(constant.constant(atol, far.dtype), m.multiply(constant.constant(rtol, far.dtype), m.abs(y)))
    close = compare.logical_or(compare.less_equal(far, within), compare.equal(x, y))  # the same infinity is close
    if equal_nan:
        close = compare.logical_or(close, compare.logical_and(compare.not_equal(x, x), compare.not_equal(y, y)))
    return close


@export("experimental.numpy.allclose")
def allclose(a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether all numbers differ by no more than `isclose` allows."""
    return reduce.reduce_all(isclose(a, b, rtol, atol, equal_nan))


@export("experimental.numpy.array_equal")
def array_equal(a1: ArrayLike, a2: ArrayLike) -> Tensor:
    """Whether two have the same shape and the same elements."""
    x, y = promoted(a1, a2)
    ranks, sizes = (rank_of(x), rank_of(y)), (sizes_of(x), sizes_of(y))

    def are_equal() -> Tensor:
        return reduce.reduce_all(compare.equal(x, y))

    def no() -> Tensor:
        return constant.constant(False)

    def of_one_rank() -> Any:
        if all(isinstance(each, list) for each in sizes):
            return are_equal() if sizes[0] == sizes[1] else no()
        same = reduce.reduce_all(compare.equal(shapes.shape(x), shapes.shape(y)))
        return choose(same, are_equal, no)

    if all(isinstance(each, int) for each in ranks):
        return of_one_rank() if ranks[0] == ranks[1] else no()
    return choose(compare.equal(*ranks), of_one_rank, no)  # type: ignore[no-any-return]


@export("experimental.numpy.isinf")
def isinf(x: ArrayLike) -> Tensor:
    """Which elements are infinite."""
    given = to_tensor(x)
    return m.is_inf(given) if given.dtype.is_floating else _nowhere(given)


@export("experimental.numpy.isposinf")
def isposinf(x: ArrayLike) -> Tensor:
    """Which elements are infinite and positive."""
    return _is(x, math.inf)


@export("experimental.numpy.isneginf")
def isneginf(x: ArrayLike) -> Tensor:
    """Which elements are infinite and negative."""
    return _is(x, -math.inf)


def _is(x: ArrayLike, number: float) -> Tensor:
    given = to_tensor(x)
    return compare.equal(given, constant.constant(number, given.dtype)) if given.dtype.is_floating else _nowhere(given)


def _nowhere(x: Tensor) -> Tensor:
    return constant.zeros_like(x, bool_)


@export("experimental.numpy.iscomplex")
def iscomplex(x: ArrayLike) -> Tensor:
    """Which elements have an imaginary part."""
    return _compare_with_zero(compare.not_equal, x)


@export("experimental.numpy.isreal")
def isreal(x: ArrayLike) -> Tensor:
    """Which elements have no imaginary part."""
    return _compare_with_zero(compare.equal, x)


def _compare_with_zero(function: BinaryFunction, x: ArrayLike) -> Tensor:
    part = imag(x)
    return function(part, constant.zeros_like(part))


@export("experimental.numpy.iscomplexobj")
def iscomplexobj(x: ArrayLike) -> bool:
    """Whether the dtype is complex."""
    return to_tensor(x).dtype.is_complex


@export("experimental.numpy.isrealobj")
def isrealobj(x: ArrayLike) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


@export("experimental.numpy.isscalar")
def isscalar(num: ArrayLike) -> bool:
    """Whether it has no dimensions."""
    return to_tensor(num).shape.rank == 0


refuse_by_our_errors(globals())
