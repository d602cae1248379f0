"""Functions of each element: of one tensor, and of two that are broadcast."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from situs._src.base.dtype import as_dtype, float64, int8
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.numpy_api.arrays import promoted, to_float, to_tensor
from situs._src.numpy_api.dtypes import result_type
from situs._src.numpy_api.refusing import refuse_by_our_errors
from situs._src.ops import array as shapes
from situs._src.ops import compare, constant, loop, reduce, spaced
from situs._src.ops import math as m
from situs._src.ops.cast import cast
from situs._src.ops.cast import imag as imaginary_part
from situs._src.ops.cast import real as real_part
from situs._src.ops.gather import where

Function = Callable[..., Any]


class OfOne(Protocol):
    """A function of one tensor."""

    def __call__(self, x: ArrayLike) -> Tensor:
        """Computes it."""
        ...


class OfTwo(Protocol):
    """A function of two tensors."""

    def __call__(self, x1: ArrayLike, x2: ArrayLike) -> Tensor:
        """Computes it."""
        ...


def _named(function: Any, name: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _of_floats(function: Function, name: str, doc: str) -> OfOne:
    def call(x: ArrayLike) -> Any:
        return function(to_float(x))

    return _named(call, name, doc)  # type: ignore[no-any-return]


def _of_one(function: Function, name: str, doc: str) -> OfOne:
    def call(x: ArrayLike) -> Any:
        return function(to_tensor(x))

    return _named(call, name, doc)  # type: ignore[no-any-return]


def _of_two(function: Function, name: str, doc: str) -> OfTwo:
    def call(x1: ArrayLike, x2: ArrayLike) -> Any:
        return function(*promoted(x1, x2))

    return _named(call, name, doc)  # type: ignore[no-any-return]


def _or(of_numbers: Function, of_booleans: Function) -> Function:
    return lambda x, y: (of_booleans if x.dtype.is_bool else of_numbers)(x, y)


def _of_numbers(function: Function) -> Function:
    """Booleans count as integers of eight bits."""
    return lambda x, y: function(cast(x, int8), cast(y, int8)) if x.dtype.is_bool else function(x, y)


def _in_floats(function: Function) -> Function:
    return lambda x, y: function(to_float(x), to_float(y))


def _like(x: Tensor, number: float) -> Tensor:
    return constant.constant(number, x.dtype)


def _quotient(x: Tensor, y: Tensor) -> Tensor:
    if x.dtype.is_bool:
        x, y = cast(x, float64), cast(y, float64)
    return m.truediv(x, y)


def _cube_root(x: Tensor) -> Tensor:
    root = m.pow(m.abs(x), _like(x, 1 / 3))
    return where(compare.less(x, _like(x, 0)), m.negative(root), root)


def _toward_zero(x: Tensor) -> Tensor:
    return where(compare.less(x, _like(x, 0)), m.ceil(x), m.floor(x))


def _sinc(x: Tensor) -> Tensor:
    is_zero = compare.equal(x, _like(x, 0))
    angle = m.multiply(where(is_zero, _like(x, 1), x), _like(x, math.pi))  # so that the gradient at zero is a number
    return where(is_zero, _like(x, 1), m.divide(m.sin(angle), angle))


def _invert(x: Tensor) -> Tensor:
    return (compare.logical_not if x.dtype.is_bool else compare.bitwise_invert)(x)


def _signbit(x: Tensor) -> Tensor:
    return compare.logical_and(x, False) if x.dtype.is_bool else compare.less(x, _like(x, 0))


def _heaviside(x: Tensor, y: Tensor) -> Tensor:
    zero, one = _like(y, 0), _like(y, 1)
    return to_float(where(compare.less(x, zero), zero, where(compare.greater(x, zero), one, y)))


def _hypot(x: Tensor, y: Tensor) -> Tensor:
    return m.sqrt(to_float(m.add(m.square(x), m.square(y))))


def _logaddexp(x: Tensor, y: Tensor) -> Tensor:
    x, y = to_float(x), to_float(y)
    difference = m.subtract(x, y)
    sum = m.add(m.maximum(x, y), m.log1p(m.exp(m.negative(m.abs(difference)))))
    return where(m.is_nan(difference), m.add(x, y), sum)


def _logaddexp2(x: Tensor, y: Tensor) -> Tensor:
    x, y = to_float(x), to_float(y)
    difference = m.subtract(x, y)
    rest = m.log1p(m.pow(_like(x, 2), m.negative(m.abs(difference))))
    return where(m.is_nan(difference), m.add(x, y), m.add(m.maximum(x, y), m.divide(rest, _like(x, math.log(2)))))


def _gcd(x: Tensor, y: Tensor) -> Tensor:
    if not x.dtype.is_integer:
        raise ArgumentError("Arguments to gcd must be integers.")
    zero, one = _like(x, 0), _like(x, 1)
    shape = shapes.broadcast_dynamic_shape(shapes.shape(x), shapes.shape(y))

    def step(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        ends = compare.equal(y, zero)
        return where(ends, x, y), where(ends, y, m.floormod(x, where(ends, one, y)))

    first = [shapes.broadcast_to(m.abs(each), shape) for each in (x, y)]
    made = loop.while_loop(lambda x, y: reduce.reduce_any(compare.not_equal(y, zero)), step, first)
    return made[0]  # type: ignore[no-any-return]


def _lcm(x: Tensor, y: Tensor) -> Tensor:
    divisor = _gcd(x, y)
    is_zero = compare.equal(divisor, _like(x, 0))
    quotient = m.floordiv(m.abs(y), where(is_zero, _like(x, 1), divisor))
    return where(is_zero, _like(x, 0), m.multiply(m.abs(x), quotient))


# Of one tensor, which become floats unless they are.

log = export("experimental.numpy.log")(_of_floats(m.log, "log", "The natural logarithm."))
exp = export("experimental.numpy.exp")(_of_floats(m.exp, "exp", "e to the power of each element."))
sqrt = export("experimental.numpy.sqrt")(_of_floats(m.sqrt, "sqrt", "The square root."))
sin = export("experimental.numpy.sin")(_of_floats(m.sin, "sin", "The sine."))
cos = export("experimental.numpy.cos")(_of_floats(m.cos, "cos", "The cosine."))
tan = export("experimental.numpy.tan")(_of_floats(m.tan, "tan", "The tangent."))
sinh = export("experimental.numpy.sinh")(_of_floats(m.sinh, "sinh", "The hyperbolic sine."))
cosh = export("experimental.numpy.cosh")(_of_floats(m.cosh, "cosh", "The hyperbolic cosine."))
tanh = export("experimental.numpy.tanh")(_of_floats(m.tanh, "tanh", "The hyperbolic tangent."))
arcsin = export("experimental.numpy.arcsin")(_of_floats(m.asin, "arcsin", "The inverse of the sine."))
arccos = export("experimental.numpy.arccos")(_of_floats(m.acos, "arccos", "The inverse of the cosine."))
arctan = export("experimental.numpy.arctan")(_of_floats(m.atan, "arctan", "The inverse of the tangent."))
arcsinh = export("experimental.numpy.arcsinh")(_of_floats(m.asinh, "arcsinh", "The inverse of the hyperbolic sine."))
arccosh = export("experimental.numpy.arccosh")(_of_floats(m.acosh, "arccosh", "The inverse of the hyperbolic cosine."))
arctanh = export("experimental.numpy.arctanh")(_of_floats(m.atanh, "arctanh", "The inverse of the hyperbolic tangent."))
ceil = export("experimental.numpy.ceil")(_of_floats(m.ceil, "ceil", "The smallest whole number that is not less."))
floor = export("experimental.numpy.floor")(
    _of_floats(m.floor, "floor", "The largest whole number that is not greater.")
)
expm1 = export("experimental.numpy.expm1")(_of_floats(m.expm1, "expm1", "exp(x) - 1, exact near zero."))
log1p = export("experimental.numpy.log1p")(_of_floats(m.log1p, "log1p", "log(1 + x), exact near zero."))
log2 = export("experimental.numpy.log2")(
    _of_floats(lambda x: m.divide(m.log(x), _like(x, math.log(2))), "log2", "The logarithm to base 2.")
)
log10 = export("experimental.numpy.log10")(
    _of_floats(lambda x: m.divide(m.log(x), _like(x, math.log(10))), "log10", "The logarithm to base 10.")
)
exp2 = export("experimental.numpy.exp2")(
    _of_floats(lambda x: m.pow(_like(x, 2), x), "exp2", "2 to the power of each element.")
)
deg2rad = export("experimental.numpy.deg2rad")(
    _of_floats(lambda x: m.multiply(x, _like(x, math.pi / 180)), "deg2rad", "Angles in degrees, in radians.")
)
rad2deg = export("experimental.numpy.rad2deg")(
    _of_floats(lambda x: m.multiply(x, _like(x, 180 / math.pi)), "rad2deg", "Angles in radians, in degrees.")
)
cbrt = export("experimental.numpy.cbrt")(_of_floats(_cube_root, "cbrt", "The cube root."))
fix = export("experimental.numpy.fix")(_of_floats(_toward_zero, "fix", "The next whole number towards zero."))
sinc = export("experimental.numpy.sinc")(_of_floats(_sinc, "sinc", "sin(pi x) / (pi x), which is 1 at zero."))
isnan = export("experimental.numpy.isnan")(_of_floats(m.is_nan, "isnan", "Which elements are no number."))
isfinite = export("experimental.numpy.isfinite")(_of_floats(m.is_finite, "isfinite", "Which elements are finite."))

# Of one tensor, as they are.

abs = export("experimental.numpy.abs")(_of_one(m.abs, "abs", "The absolute value."))
absolute = export("experimental.numpy.absolute")(_of_one(m.abs, "absolute", "The absolute value."))
fabs = export("experimental.numpy.fabs")(_of_one(m.abs, "fabs", "The absolute value."))
conj = export("experimental.numpy.conj")(_of_one(m.conj, "conj", "The complex conjugate."))
conjugate = export("experimental.numpy.conjugate")(_of_one(m.conj, "conjugate", "The complex conjugate."))
negative = export("experimental.numpy.negative")(_of_one(m.negative, "negative", "Numbers of the opposite sign."))
reciprocal = export("experimental.numpy.reciprocal")(_of_one(m.reciprocal, "reciprocal", "One over each element."))
square = export("experimental.numpy.square")(_of_one(m.square, "square", "The square."))
positive = export("experimental.numpy.positive")(_of_one(lambda x: x, "positive", "The elements as they are."))
bitwise_not = export("experimental.numpy.bitwise_not")(
    _of_one(_invert, "bitwise_not", "The opposite of each bit, or of each boolean.")
)
signbit = export("experimental.numpy.signbit")(_of_one(_signbit, "signbit", "Which elements are negative."))

# Of two, which take the dtype that they have together.

add = export("experimental.numpy.add")(
    _of_two(_or(m.add, compare.logical_or), "add", "The sum; of booleans, whether one is true.")
)
subtract = export("experimental.numpy.subtract")(_of_two(m.subtract, "subtract", "The difference."))
multiply = export("experimental.numpy.multiply")(
    _of_two(_or(m.multiply, compare.logical_and), "multiply", "The product; of booleans, whether both are true.")
)
true_divide = export("experimental.numpy.true_divide")(
    _of_two(_quotient, "true_divide", "The quotient: of integers and booleans a float.")
)
divide = export("experimental.numpy.divide")(
    _of_two(_quotient, "divide", "The quotient: of integers and booleans a float.")
)
floor_divide = export("experimental.numpy.floor_divide")(
    _of_two(_of_numbers(m.floordiv), "floor_divide", "The quotient, rounded down.")
)
mod = export("experimental.numpy.mod")(
    _of_two(_of_numbers(m.floormod), "mod", "What is left of a division, with the sign of the divisor.")
)
remainder = export("experimental.numpy.remainder")(
    _of_two(_of_numbers(m.floormod), "remainder", "What is left of a division, with the sign of the divisor.")
)
maximum = export("experimental.numpy.maximum")(
    _of_two(_or(m.maximum, compare.logical_or), "maximum", "The greater of two.")
)
minimum = export("experimental.numpy.minimum")(
    _of_two(_or(m.minimum, compare.logical_and), "minimum", "The less of two.")
)
power = export("experimental.numpy.power")(_of_two(m.pow, "power", "The power."))
float_power = export("experimental.numpy.float_power")(_of_two(m.pow, "float_power", "The power."))
arctan2 = export("experimental.numpy.arctan2")(
    _of_two(_in_floats(m.atan2), "arctan2", "The angle of the point (x2, x1).")
)
nextafter = export("experimental.numpy.nextafter")(
    _of_two(_in_floats(m.nextafter), "nextafter", "The next number after `x1` in the direction of `x2`.")
)
heaviside = export("experimental.numpy.heaviside")(
    _of_two(_heaviside, "heaviside", "0 where `x1` is negative, 1 where it is positive, `x2` where it is zero.")
)
hypot = export("experimental.numpy.hypot")(_of_two(_hypot, "hypot", "The length of the hypotenuse."))
logaddexp = export("experimental.numpy.logaddexp")(_of_two(_logaddexp, "logaddexp", "log(exp(x1) + exp(x2))."))
logaddexp2 = export("experimental.numpy.logaddexp2")(_of_two(_logaddexp2, "logaddexp2", "log2(2**x1 + 2**x2)."))
gcd = export("experimental.numpy.gcd")(_of_two(_gcd, "gcd", "The greatest common divisor."))
lcm = export("experimental.numpy.lcm")(_of_two(_lcm, "lcm", "The least common multiple."))
bitwise_and = export("experimental.numpy.bitwise_and")(
    _of_two(_or(compare.bitwise_and, compare.logical_and), "bitwise_and", "Both, bit by bit.")
)
bitwise_or = export("experimental.numpy.bitwise_or")(
    _of_two(_or(compare.bitwise_or, compare.logical_or), "bitwise_or", "Either, bit by bit.")
)
bitwise_xor = export("experimental.numpy.bitwise_xor")(
    _of_two(_or(compare.bitwise_xor, compare.logical_xor), "bitwise_xor", "One of two alone, bit by bit.")
)


@export("experimental.numpy.divmod")
def divmod(x1: ArrayLike, x2: ArrayLike) -> tuple[Tensor, Tensor]:
    """The quotient, rounded down, and what is left."""
    return floor_divide(x1, x2), mod(x1, x2)


@export("experimental.numpy.clip")
def clip(a: ArrayLike, a_min: ArrayLike | None, a_max: ArrayLike | None) -> Tensor:
    """The elements, with those below `a_min` replaced by it and those above `a_max` by that.

    Raises:
        ValueError: there is neither.
    """
    if a_min is None and a_max is None:
        raise ArgumentError("Not more than one of `a_min` and `a_max` may be `None`.")
    if a_min is None or a_max is None:
        return minimum(a, a_max) if a_max is not None else maximum(a, a_min)  # type: ignore[arg-type]
    x, low, high = promoted(a, a_min, a_max)
    return m.minimum(m.maximum(x, low), high)


@export("experimental.numpy.angle")
def angle(z: ArrayLike, deg: bool = False) -> Tensor:
    """The angle of complex numbers, in radians or in degrees; of a real number 0 or pi."""
    x = to_float(z)
    made = m.angle(x) if x.dtype.is_complex else where(compare.less(x, _like(x, 0)), _like(x, math.pi), _like(x, 0))
    return rad2deg(made) if deg else made


@export("experimental.numpy.real")
def real(val: ArrayLike) -> Tensor:
    """The real part."""
    return real_part(to_tensor(val))


@export("experimental.numpy.imag")
def imag(val: ArrayLike) -> Tensor:
    """The imaginary part, which is zero for a real number."""
    x = to_tensor(val)
    return imaginary_part(x) if x.dtype.is_complex else constant.zeros_like(x)


@export("experimental.numpy.sign")
def sign(x: ArrayLike, out: Any = None, where: Any = None, **kwargs: Any) -> Tensor:
    """-1, 0 or 1.

    Raises:
        ValueError: `out`, `where` or something else is given.
    """
    if out is not None or where is not None or kwargs:
        raise ArgumentError(f"sign() takes only x, got {', '.join(['out', 'where', *kwargs])}.")
    return m.sign(to_tensor(x))


@export("experimental.numpy.around")
def around(a: ArrayLike, decimals: int = 0) -> Tensor:
    """Numbers rounded to a number of decimals, half of one to the even one."""
    x = to_tensor(a)
    number = to_float(x)
    if decimals == 0:
        return cast(m.round(number), x.dtype)
    factor = cast(constant.constant(float(10**decimals), as_dtype("float64")), number.dtype)
    return cast(m.divide(m.round(m.multiply(number, factor)), factor), x.dtype)


@export("experimental.numpy.round")
def round(a: ArrayLike, decimals: int = 0) -> Tensor:
    """The same as `around`."""
    return around(a, decimals)


@export("experimental.numpy.polyval")
def polyval(p: ArrayLike, x: ArrayLike) -> Tensor:
    """The values of a polynomial, whose coefficients are given from the highest power on.

    Raises:
        ValueError: it is not known how many there are.
    """
    coefficients, at = promoted(p, x)
    if coefficients.shape.rank == 0:
        coefficients = shapes.reshape(coefficients, [1])
    made = constant.zeros_like(at)
    if coefficients.shape[0] is None:
        raise ArgumentError("polyval() takes a known number of coefficients.")
    for number in range(coefficients.shape[0]):
        made = m.add(m.multiply(made, at), coefficients[number])
    return made


def _spaced(start: Any, stop: Any, num: int, endpoint: bool, axis: int, dtype: Any) -> tuple[Tensor, Tensor]:
    """Evenly spaced numbers, of a floating-point dtype, and the step between them."""
    if num < 0:
        raise ArgumentError(f"Argument `num` (number of samples) must be a non-negative integer. Received: num={num}")
    low, high = to_tensor(start, dtype), to_tensor(stop, dtype)
    parts = num - 1 if endpoint else num
    step = m.divide(m.subtract(high, low), _like(low, parts)) if parts > 0 else _like(low, math.nan)
    if not endpoint and num > 1:
        high = m.subtract(high, step)
    return spaced.linspace(low, high, num, axis=axis), step


def _space_dtype(*ends: Any) -> Any:
    found = result_type(*ends, 1.0)
    return found if found.is_floating or found.is_complex else float64


@export(
    "experimental.numpy.linspace",
    differs="The result has the dtype that is asked for, which TensorFlow leaves aside beside NumPy 2.",
)
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = float,
    axis: int = 0,
) -> Any:
    """Evenly spaced numbers from `start` to `stop`, and with `retstep` the step between them.

    Raises:
        ValueError: `num` is negative.
    """
    made, step = _spaced(start, stop, num, endpoint, axis, _space_dtype(start, stop))
    if dtype is not None and dtype is not float:
        asked = result_type(dtype)
        made = cast(m.floor(made) if asked.is_integer else made, asked)
    return (made, step) if retstep else made


@export(
    "experimental.numpy.logspace",
    differs="The result has the dtype that is asked for, which TensorFlow leaves aside beside NumPy 2.",
)
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """Powers of `base` whose exponents are evenly spaced."""
    exponents, _ = _spaced(start, stop, num, endpoint, axis, _space_dtype(start, stop))
    made = m.pow(to_tensor(base, exponents.dtype), exponents)
    return made if dtype is None else cast(made, result_type(dtype))


@export("experimental.numpy.geomspace")
def geomspace(
    start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Tensor:
    """Numbers from `start` to `stop` of which each is the same multiple of the one before."""
    asked = _space_dtype(start, stop) if dtype is None else result_type(dtype)
    working = as_dtype(np.promote_types(asked.as_numpy_dtype, np.float32))
    low, high = to_tensor(start, working), to_tensor(stop, working)
    are_negative = compare.logical_and(compare.less(low, _like(low, 0)), compare.less(high, _like(high, 0)))
    sign = where(are_negative, _like(low, -1), _like(low, 1))
    exponents, _ = _spaced(log10(m.multiply(sign, low)), log10(m.multiply(sign, high)), num, endpoint, 0, working)
    made = m.multiply(sign, m.pow(_like(low, 10), exponents))
    if axis:
        from situs._src.numpy_api.shaping import moveaxis

        made = moveaxis(made, 0, axis)
    return cast(made, asked)


refuse_by_our_errors(globals())
