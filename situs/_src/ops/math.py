"""Elementwise arithmetic: the basic operations, powers, exponentials, trigonometry, rounding.

Results have the dtype of the inputs, which must agree: nothing is promoted. Two inputs broadcast as
in NumPy. Most of this file is a table; kernels that need more than one call stand before their row, gradient rules
after the rows of their section.

The gradient of an analytic function is `times` its derivative; what was broadcast is summed up (`sum_to`):

    y = exp(x)      times(grad, y)
    z = x * y       sum_to(times(grad, y), x_shape, y_shape), sum_to(times(grad, x), y_shape, x_shape)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import (
    BOOL,
    COMPLEX,
    FLOATING,
    INDEX,
    INTEGER,
    NUMERIC,
    REAL,
    SIGNED,
    STRING,
    WIDE_UNSIGNED,
    DType,
    DTypes,
)
from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.base.typing import ArrayLike, SizesOf
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import find_op
from situs._src.ir.registry.traits import ADDS, COMMUTATIVE, FRESH, ZERO_OF_ZERO
from situs._src.ops import quick_atan, quick_erf, quick_numpy, quick_tanh
from situs._src.ops.cast import cast, dtype_of, real
from situs._src.ops.compare import equal, greater, greater_equal, less_equal, not_equal
from situs._src.ops.constant import ones_like, zeros_like
from situs._src.ops.define import (
    ARITHMETIC,
    CPU,
    GPU,
    NUMPY_FLOATING,
    POINTWISE,
    THROUGH_ZERO,
    KernelValue,
    binary,
    compiled_as,
    has_no_zero,
    numpy_kernel,
    op,
    same_shape,
    unary,
)
from situs._src.ops.igamma import igamma_grad_a
from situs._src.ops.masked import masked, unmasked
from situs._src.ops.naming import Composed
from situs._src.ops.slices import IndexedSlices, scaled
from situs._src.ops.sum_to import sum_to
from situs._src.runtime import dispatch
from situs._src.runtime.dispatch import BinaryFunction, UnaryFunction
from situs._src.runtime.eager.convert import to_array
from situs._src.runtime.eager.shown import number_in
from situs._src.runtime.eager.torch_private import operator
from situs._src.runtime.symbolic.fold import known_value

HALF: DTypes = frozenset({dt.float16, dt.bfloat16})
SINGLE_AND_DOUBLE: DTypes = FLOATING - HALF
NATIVE = NUMERIC - WIDE_UNSIGNED  # what PyTorch has kernels for
NATIVE_INTEGER = INTEGER - WIDE_UNSIGNED
ANALYTIC = FLOATING | COMPLEX
Gradients = tuple[Any, Any]


def times(grad: Tensor, derivative: Tensor) -> Tensor:
    """A gradient on its way back through a function: times the derivative, conjugated if it is complex."""
    return multiply(grad, conjugated(derivative))


def _over(grad: Tensor, divisor: Tensor) -> Tensor:
    """The same for a derivative of 1 / divisor."""
    return _real_div(grad, conjugated(divisor))


def conjugated(x: Tensor) -> Tensor:
    """The conjugate of a tensor; a real one itself."""
    return conj(x) if x.dtype.is_complex else x


def real_part(x: Tensor) -> Tensor:
    """The tensor without imaginary parts, in its own dtype: what reaches a function whose results are real."""
    return cast(real(x), x.dtype) if x.dtype.is_complex else x


# The four rules.

add = export("add", "math.add")(
    binary(
        "AddV2",
        torch.add,
        NUMERIC | STRING,
        "Returns x + y element-wise.",
        gpu=NATIVE,
        wide=np.add,
        node="Add",
        traits=ARITHMETIC | {ADDS, COMMUTATIVE},
    )
)
find_op("AddV2").hints_dtype = True
subtract = export("subtract", "math.subtract", v1=("sub", "subtract", "math.subtract"))(
    binary("Sub", torch.sub, NUMERIC, "Returns x - y element-wise.", wide=np.subtract, traits=ARITHMETIC)
)
multiply = export("multiply", "math.multiply", v1=("mul", "multiply", "math.multiply"))(
    binary(
        "Mul",
        torch.mul,
        NUMERIC | BOOL,
        "Returns x * y element-wise; of booleans, x and y.",
        wide=np.multiply,
        traits=ARITHMETIC | {COMMUTATIVE},
    )
)
_real_div = export("realdiv")(binary("RealDiv", torch.true_divide, ANALYTIC, "Returns x / y element-wise."))


def _is_same_known(x_shape: Any, y_shape: Any) -> bool:
    """Whether both shapes are known and equal; one that is known only in the run is a tensor, and compares as such."""
    return isinstance(x_shape, tuple) and isinstance(y_shape, tuple) and x_shape == y_shape


@find_op("AddV2").gradient
def _add_gradient(grad: Tensor, x_shape: SizesOf, y_shape: SizesOf) -> Gradients:
    if _is_same_known(x_shape, y_shape):
        return grad, grad
    return lambda: sum_to(grad, x_shape, y_shape), lambda: sum_to(grad, y_shape, x_shape)


@find_op("Sub").gradient
def _subtract_gradient(grad: Tensor, x_shape: SizesOf, y_shape: SizesOf) -> Gradients:
    return lambda: sum_to(grad, x_shape, y_shape), lambda: negative(sum_to(grad, y_shape, x_shape))


@find_op("Mul").gradient
def _multiply_gradient(grad: Tensor, x: Tensor, y: Tensor, x_shape: SizesOf, y_shape: SizesOf) -> Gradients:
    if _is_same_known(x_shape, y_shape):
        return lambda: times(grad, y), lambda: times(grad, x)
    return lambda: sum_to(times(grad, y), x_shape, y_shape), lambda: sum_to(times(grad, x), y_shape, x_shape)


@find_op("RealDiv").gradient
def _divide_gradient(grad: Tensor, y: Tensor, z: Tensor, x_shape: SizesOf, y_shape: SizesOf) -> Gradients:
    return (
        lambda: sum_to(_over(grad, y), x_shape, y_shape),
        lambda: sum_to(_over(times(negative(grad), z), y), y_shape, x_shape),
    )


@find_op("AddV2").kernel(CPU, T=STRING)
def _join_strings(x: KernelValue, y: KernelValue) -> np.ndarray[Any, Any]:
    return np.asarray(np.add(x, y), dtype=object)


_QUOTIENT: dict[DType, DType] = {
    dt.int8: dt.float32,
    dt.uint8: dt.float32,
    dt.int16: dt.float32,
    dt.uint16: dt.float32,
    dt.int32: dt.float64,
    dt.uint32: dt.float64,
    dt.int64: dt.float64,
    dt.uint64: dt.float64,
}


_OF_ANY_DTYPE = (bool, np.ndarray, np.generic)  # what takes the dtype of the tensor beside it


@export("divide", "truediv", "math.divide", "math.truediv")
def truediv(x: ArrayLike, y: ArrayLike, name: str | None = "truediv") -> Tensor:
    """Returns x / y element-wise; integers divide as floats.

    The quotient of 8-bit and 16-bit integers is float32, that of wider ones float64.
    """
    return _quotient(_real_div, x, y, name)


divide = truediv
realdiv = _real_div


@export(v1="div")
def div(x: ArrayLike, y: ArrayLike, name: str | None = "div") -> Tensor:
    """Returns x / y element-wise as Python 2 divides: integers round down to an integer."""
    return (floordiv if _operand_dtype(x, y).is_integer else _real_div)(x, y, name)


def _quotient(divide: BinaryFunction, x: ArrayLike, y: ArrayLike, name: str | None) -> Tensor:
    """A quotient of two operands as they are, or cast to the dtype of their quotient if they are integers."""
    dtype = _operand_dtype(x, y)
    quotient = _QUOTIENT.get(dtype)
    if quotient is None:
        try:
            return divide(x, y, name)
        except TypeError:
            if is_tensor(x) and is_tensor(y) and dtype_of(y) is not dtype:  # the caller's error, not the op's
                raise _mixed(x, y) from None
            if dtype not in ANALYTIC:
                raise DTypeError(f"Invalid dtype {dtype!r} in a quotient: numbers are divided; use tf.cast.") from None
            raise
    x, y = [to_array(operand, dtype)[0] if isinstance(operand, _OF_ANY_DTYPE) else operand for operand in (x, y)]
    for operand in (x, y):
        other = dtype_of(operand)
        if other is not dtype and (is_tensor(operand) or not other.is_integer):
            raise _mixed(x, y)
    with Composed(name, "truediv") as last:
        return divide(cast(x, quotient), cast(y, quotient), last)


def _mixed(x: ArrayLike, y: ArrayLike) -> DTypeError:
    return DTypeError(f"`x` and `y` must have the same dtype, got {dtype_of(x)!r} != {dtype_of(y)!r}.")


def _operand_dtype(x: ArrayLike, y: ArrayLike) -> DType:
    """The dtype that two operands are to have: that of a tensor, else that of the first."""
    return dtype_of(y if is_tensor(y) and not is_tensor(x) else x)


@export("scalar_mul", "math.scalar_mul")
def scalar_mul(scalar: Any, x: ArrayLike, name: str | None = None) -> Any:
    """Multiplies every element of `x` by one number.

    Args:
        scalar: A number, or a tensor of rank 0.
        x: A tensor, or slices of one, which stay slices.
        name: A name for the op.
    """
    shape = _shape_of(scalar)
    if shape.rank not in (None, 0):
        raise ArgumentError(f"The input scalar must be a 0-D value. Received shape {shape}.")
    return scaled(x, scalar) if isinstance(x, IndexedSlices) else multiply(x, scalar, name)


def _shape_of(value: Any) -> TensorShape:
    return value.shape if is_tensor(value) else TensorShape(to_array(value)[0].shape)


# Division that has an answer for zero.


def _div_no_nan_kernel(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x / y).masked_fill_(y == 0, 0)


def _div_no_nan_on_host(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x / y if has_no_zero(y) else _div_no_nan_kernel(x, y)


_div_no_nan_on_host.when_compiled = _div_no_nan_kernel  # type: ignore[attr-defined]


_div_no_nan = binary("DivNoNan", _div_no_nan_kernel, ANALYTIC, "Returns x / y, and 0 where y is 0.")
multiply_no_nan = export(
    "math.multiply_no_nan", differs="The gradient of complex numbers is conjugated, as all others are."
)(
    binary(
        "MulNoNan",
        lambda x, y: (x * y).masked_fill_(y == 0, 0),
        ANALYTIC,
        "Returns x * y, and 0 where y is 0 whatever x is.",
        node="multiply_no_nan",
    )
)


find_op("DivNoNan").kernel(CPU, T=NUMPY_FLOATING)(_div_no_nan_on_host)


@find_op("DivNoNan").gradient
def _div_no_nan_gradient(grad: Tensor, y: Tensor, z: Tensor, x_shape: SizesOf, y_shape: SizesOf) -> Gradients:
    by = conjugated(y)
    return (
        lambda: sum_to(_div_no_nan(grad, by), x_shape, y_shape),
        lambda: sum_to(_div_no_nan(times(negative(grad), z), by), y_shape, x_shape),
    )


@find_op("MulNoNan").gradient
def _mul_no_nan_gradient(grad: Tensor, x: Tensor, y: Tensor, x_shape: SizesOf, y_shape: SizesOf) -> Gradients:
    return (
        lambda: sum_to(multiply_no_nan(grad, conjugated(y)), x_shape, y_shape),
        lambda: sum_to(multiply_no_nan(conjugated(x), grad), y_shape, x_shape),
    )


@export("math.divide_no_nan", v1=("div_no_nan", "math.divide_no_nan"))
def divide_no_nan(x: ArrayLike, y: ArrayLike, name: str | None = "div_no_nan") -> Tensor:
    """Returns x / y element-wise, and 0 where y is 0; integers divide as floats."""
    return _quotient(_div_no_nan, x, y, name)


div_no_nan = divide_no_nan


@export("math.reciprocal_no_nan")
def reciprocal_no_nan(x: ArrayLike, name: str | None = "reciprocal_no_nan") -> Tensor:
    """Returns 1 / x element-wise, and 0 where x is 0."""
    return _div_no_nan(dtype_of(x).as_numpy_dtype(1), x, name)


# Division that rounds, and what it leaves over.


def _refusing_zero(kernel: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Makes an integer division by zero an error wherever it runs; PyTorch's GPU kernels return garbage."""

    def checked(x: Any, y: Any) -> Any:
        if 0 not in x.shape and not has_no_zero(y):
            raise ArgumentError("Integer division by zero")
        return kernel(x, y)

    return checked


def _dividing(kernel: Callable[..., torch.Tensor], of_torch: Callable[..., torch.Tensor]) -> Callable[..., Any]:
    """A kernel that divides integers, with what a compiler is shown: there is a division that ends the process.

    Not only that by zero: the smallest integer divided by -1 overflows as well.
    """
    compiled_as(
        kernel,
        lambda x, y: of_torch(x, torch.where(_ends_process(x, y), 1, y)),
        lambda x, y: _ends_process(x, y).any(),
    )
    return kernel


def _by_known(kernel: Callable[..., torch.Tensor]) -> Callable[[Any, Any], Callable[..., Any] | None]:
    """In a graph: does not look at a divisor that is a constant without zeros, so a GPU is not waited for."""

    def divided(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return kernel(x, y)

    def lower(x: Any, y: Any) -> Callable[..., Any] | None:
        known = known_value(y)
        return divided if known is not None and has_no_zero(np.asarray(known)) else None

    compiled_as(divided, kernel)
    return lower


def _ends_process(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (y == 0) | ((y == -1) & (x == torch.iinfo(x.dtype).min))


def _float_floordiv(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    # PyTorch's own divides x - x % y, as Python does, and so gives 9 for 1.0 // 0.1 where TensorFlow gives 10.
    return torch.floor(x / y)


def _float_floormod(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.remainder(x, y)


def _compiled_floormod(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    # The compiler's own remainder is x - floor(x / y) * y: far off where x / y is large, and NaN where y is infinite.
    left = torch.fmod(x, y)
    return torch.where((left != 0) & ((left < 0) != (y < 0)), left + y, left)


compiled_as(_float_floormod, _compiled_floormod)


def _integer_truncatediv(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    # Not rounding_mode="trunc": there the smallest integer divided by -1 kills the process.
    return torch.floor_divide(x - torch.fmod(x, y), y)


_float_truncatediv = functools.partial(torch.div, rounding_mode="trunc")
_wide_div = _refusing_zero(np.floor_divide)
_wide_mod = _refusing_zero(np.remainder)

floordiv = export("math.floordiv", v1=("floor_div", "floordiv", "math.floordiv"))(
    binary(
        "FloorDiv",
        _float_floordiv,
        REAL,
        "Returns x / y rounded down, element-wise.",
        wide=_wide_div,
        node="floordiv",
        traits=ARITHMETIC,
    )
)
floormod = export("math.floormod", "math.mod", v1=("floormod", "mod", "math.floormod", "math.mod"))(
    binary(
        "FloorMod",
        _float_floormod,
        REAL,
        "Returns x - floor(x / y) * y: signed as y.",
        wide=_wide_mod,
        traits=ARITHMETIC,
    )
)
truncatediv = export("truncatediv")(
    binary(
        "TruncateDiv",
        _float_truncatediv,
        REAL,
        "Returns x / y rounded towards zero.",
        wide=_wide_div,
        traits=ARITHMETIC,
    )
)
truncatemod = export("truncatemod")(
    binary("TruncateMod", torch.fmod, REAL, "Returns what truncatediv leaves: signed as x.", wide=_wide_mod)
)
for _name, _kernel in (
    ("FloorDiv", torch.floor_divide),
    ("FloorMod", torch.remainder),
    ("TruncateDiv", _integer_truncatediv),
    ("TruncateMod", torch.fmod),
):
    _divides = _dividing(_refusing_zero(_kernel), _kernel)
    find_op(_name).kernel(CPU, T=NATIVE_INTEGER)(_divides)
    find_op(_name).kernel(GPU, T=NATIVE_INTEGER, lower=_by_known(_kernel))(_divides)
# NumPy divides by one number without division.
find_op("FloorDiv").kernel(CPU, T=NATIVE_INTEGER)(_dividing(numpy_kernel(_wide_div), torch.floor_divide))
find_op("FloorMod").kernel(CPU, T=NATIVE_INTEGER)(
    _dividing(numpy_kernel(lambda x, y: x - _wide_div(x, y) * y), torch.remainder)
)
find_op("FloorDiv").stops_gradients()
find_op("TruncateDiv").stops_gradients()


@find_op("FloorMod").in_place(0, 1)
def _floormod_in_place(node: Operation, place: int) -> Callable[..., Any] | None:
    if not node.outputs[0].dtype.is_floating:
        return None
    return torch.Tensor.remainder_ if place == 0 else lambda x, y: torch.remainder(x, y, out=y)


@find_op("FloorMod").gradient
def _floormod_gradient(grad: Tensor, x: Tensor, y: Tensor, x_shape: SizesOf, y_shape: SizesOf) -> Gradients:
    return (
        lambda: sum_to(grad, x_shape, y_shape),
        lambda: sum_to(multiply(negative(grad), floordiv(x, y)), y_shape, x_shape),
    )


floor_div = floordiv
mod = floormod


# Powers, and functions of differences.


def _integer_pow(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if 0 not in x.shape and (y < 0).any():
        raise ArgumentError("Integers to negative integer powers are not allowed")
    return torch.pow(x, y)


compiled_as(_integer_pow, lambda x, y: torch.pow(x, y.clamp(min=0)), lambda x, y: (y < 0).any())


def _squared_difference(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    difference = x - y
    return difference * difference.conj()


def _pow_itself(x: Tensor, y: Tensor) -> Any:
    """In a graph, PyTorch's function itself where the exponent is known to be no scalar."""
    return torch.pow if y.shape.rank else None


def _float_pow(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Squares are products, which PyTorch knows of a number alone: with a tensor it takes thirty times as long."""
    if y.ndim == 0 and y.is_cpu:
        number = number_in(y)
        if number == 2 or number == 1:
            return torch.pow(x, number)
    return torch.pow(x, y)


pow = export("pow", "math.pow")(binary("Pow", torch.pow, ANALYTIC | SIGNED, "Raises x to the power y, element-wise."))
find_op("Pow").kernel(CPU, T=FLOATING, lower=_pow_itself, settled=True)(_float_pow)
find_op("Pow").kernel(CPU, GPU, T=SIGNED)(_integer_pow)


@find_op("Pow").in_place(0, 1)
def _pow_in_place(node: Operation, place: int) -> Callable[..., torch.Tensor] | None:
    if not node.outputs[0].dtype.is_floating or not node.inputs[1].shape.rank:
        return None  # integers are checked, and one number may be 2
    return torch.Tensor.pow_ if place == 0 else lambda x, y: torch.pow(x, y, out=y)


squared_difference = export(
    "math.squared_difference",
    v1=("squared_difference", "math.squared_difference"),
    differs="The gradient of complex numbers is conjugated, as all others are.",
)(binary("SquaredDifference", _squared_difference, ANALYTIC | INDEX, "Returns the square of |x - y|, element-wise."))


@find_op("SquaredDifference").in_place(0, 1)
def _squared_difference_in_place(node: Operation, place: int) -> Callable[..., torch.Tensor] | None:
    if node.outputs[0].dtype.is_complex:
        return None
    return lambda x, y: torch.sub(x, y, out=(x, y)[place]).square_()


maximum = export("maximum", "math.maximum")(
    binary(
        "Maximum",
        torch.maximum,
        REAL,
        "Returns the greater of x and y; NaN if one is NaN.",
        wide=np.maximum,
        traits=ARITHMETIC,
    )
)
minimum = export("minimum", "math.minimum")(
    binary(
        "Minimum",
        torch.minimum,
        REAL,
        "Returns the lesser of x and y; NaN if one is NaN.",
        wide=np.minimum,
        traits=ARITHMETIC,
    )
)

square = export("square", "math.square")(
    unary("Square", torch.square, NUMERIC, "Returns x * x element-wise.", traits=THROUGH_ZERO, wide=np.square)
)
sqrt = export("sqrt", "math.sqrt")(
    unary("Sqrt", torch.sqrt, ANALYTIC, "Computes the square root of x; NaN for negative x.", traits=THROUGH_ZERO)
)
rsqrt = export("math.rsqrt", v1=("rsqrt", "math.rsqrt"))(
    unary("Rsqrt", torch.rsqrt, ANALYTIC, "Computes 1 / sqrt(x), element-wise.")
)
reciprocal = export("math.reciprocal", v1=("reciprocal", "math.reciprocal"))(
    unary("Reciprocal", torch.reciprocal, ANALYTIC, "Computes 1 / x, element-wise.")
)


@find_op("Pow").gradient
def _pow_gradient(grad: Tensor, x: Tensor, y: Tensor, z: Tensor, x_shape: SizesOf, y_shape: SizesOf) -> Gradients:
    return (
        lambda: sum_to(times(grad, multiply(y, pow(x, subtract(y, 1)))), x_shape, y_shape),
        lambda: sum_to(times(grad, multiply(z, _log_or_zero(x))), y_shape, x_shape),
    )


def _log_or_zero(x: Tensor) -> Tensor:
    """The logarithm where there is one, else 0: with a gradient that is a number in either case."""
    has_one = not_equal(x, 0) if x.dtype.is_complex else greater(x, 0)
    return log(find_op("SelectV2")(has_one, x, ones_like(x)))


@find_op("SquaredDifference").gradient
def _squared_difference_gradient(grad: Tensor, x: Tensor, y: Tensor, x_shape: SizesOf, y_shape: SizesOf) -> Gradients:
    length = real_part(grad)
    both = multiply(add(length, length), subtract(x, y))
    return lambda: sum_to(both, x_shape, y_shape), lambda: negative(sum_to(both, y_shape, x_shape))


@find_op("Maximum").gradient
def _maximum_gradient(grad: Tensor, x: Tensor, y: Tensor, x_shape: SizesOf, y_shape: SizesOf) -> Gradients:
    return _picked(grad, greater_equal(x, y), x_shape, y_shape)


@find_op("Minimum").gradient
def _minimum_gradient(grad: Tensor, x: Tensor, y: Tensor, x_shape: SizesOf, y_shape: SizesOf) -> Gradients:
    return _picked(grad, less_equal(x, y), x_shape, y_shape)


def _picked(grad: Tensor, first: Tensor, x_shape: Any, y_shape: Any) -> Gradients:
    """The gradients of two tensors one of which was picked, element by element; of equal ones the first was."""
    return (
        lambda: sum_to(masked(first, grad), x_shape, y_shape),
        lambda: sum_to(unmasked(first, grad), y_shape, x_shape),
    )


# Gradients of functions by their results y, each one op with the name that TensorFlow gives it. Where TensorFlow's is 0
# for a gradient of 0 whatever y is, so is ours: ``where(x > 0, sqrt(x), 0)`` has a gradient everywhere.


def _by_result(
    name: str,
    kernel: Callable[..., torch.Tensor],
    derivative: Callable[[Tensor, Tensor], Tensor],
    of_reals: Callable[..., torch.Tensor] | None = None,
) -> BinaryFunction:
    """Declares the gradient of a function by its result; `derivative` is its own with respect to that.

    Args:
        name: The name of the op.
        kernel: Its kernel.
        derivative: The derivative of the gradient with respect to the result.
        of_reals: A quicker kernel for real numbers in a graph.
    """
    declared = op(name, "y: T, dy: T -> z: T", traits={FRESH}, T=ANALYTIC)
    declared.shape(same_shape)
    declared.kernel(CPU, GPU, lower=lambda y, dy: None if y.dtype.is_complex else of_reals)(kernel)
    function = dispatch.binary(declared)
    declared.gradient(
        lambda grad, y, dy: (lambda: times(grad, derivative(y, dy)), lambda: function(conjugated(y), grad))
    )
    return function


def _sigmoid_grad_kernel(y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    return dy * y * (1 - y) if y.is_complex() else _sigmoid_backward(dy, y)


def _tanh_grad_kernel(y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    return dy * (1 - y * y) if y.is_complex() else _tanh_backward(dy, y)


_sigmoid_backward = operator(torch.ops.aten.sigmoid_backward)
_tanh_backward = operator(torch.ops.aten.tanh_backward)


def _in_script(function: Callable[..., torch.Tensor], text: str) -> Callable[..., torch.Tensor]:
    """A kernel that says what it is in TorchScript: see `runtime.run.torchscript`."""
    function.in_script = text  # type: ignore[attr-defined]
    return function


_sigmoid_of_reals = _in_script(lambda y, dy: _sigmoid_backward(dy, y), "torch.ops.aten.sigmoid_backward({1}, {0})")
_tanh_of_reals = _in_script(lambda y, dy: _tanh_backward(dy, y), "torch.ops.aten.tanh_backward({1}, {0})")

_sqrt_grad: BinaryFunction = _by_result(
    "SqrtGrad",
    lambda y, dy: (dy * 0.5).div_(y).masked_fill_(dy == 0, 0),
    lambda y, dy: multiply(_real_div(_sqrt_grad(y, dy), y), -1.0),
)
_rsqrt_grad = _by_result(
    "RsqrtGrad",
    lambda y, dy: (dy * -0.5).mul_(y * y * y).masked_fill_(dy == 0, 0),
    lambda y, dy: multiply(multiply(square(y), dy), -1.5),
)
_reciprocal_grad = _by_result(
    "ReciprocalGrad",
    lambda y, dy: (y * y).mul_(dy).neg_().masked_fill_(dy == 0, 0),
    lambda y, dy: multiply(multiply(y, dy), -2.0),
)
_sigmoid_grad = _by_result(
    "SigmoidGrad", _sigmoid_grad_kernel, lambda y, dy: multiply(dy, subtract(1.0, add(y, y))), _sigmoid_of_reals
)
_tanh_grad = _by_result("TanhGrad", _tanh_grad_kernel, lambda y, dy: multiply(multiply(y, dy), -2.0), _tanh_of_reals)

find_op("Square").gradient(lambda grad, x: times(grad, add(x, x)))
find_op("Sqrt").gradient(lambda grad, y: _sqrt_grad(conjugated(y), grad))
find_op("Rsqrt").gradient(lambda grad, y: _rsqrt_grad(conjugated(y), grad))
find_op("Reciprocal").gradient(lambda grad, y: _reciprocal_grad(conjugated(y), grad))


@export("clip_by_value")
def clip_by_value(t: ArrayLike, clip_value_min: ArrayLike, clip_value_max: ArrayLike, name: str | None = None) -> Any:
    """Limits the elements of `t` to lie between two bounds.

    Args:
        t: A tensor, or slices of one, which stay slices.
        clip_value_min: The least value allowed: a number, or a tensor that broadcasts to the shape of `t`.
        clip_value_max: The greatest value allowed, likewise. Where it is less than the other, the other is returned.
        name: A name for the op.
    """
    if hasattr(type(t), "with_flat_values") and not hasattr(type(clip_value_min), "with_flat_values"):
        rows: Any = t  # rows of different lengths stay such
        return rows.with_flat_values(clip_by_value(rows.flat_values, clip_value_min, clip_value_max, name))
    if isinstance(t, IndexedSlices):
        return IndexedSlices(clip_by_value(t.values, clip_value_min, clip_value_max, name), t.indices, t.dense_shape)
    with Composed(name, "clip_by_value") as last:
        clipped = maximum(minimum(t, clip_value_max), clip_value_min, last)
    _shape_of(t).assert_is_compatible_with(clipped.shape)
    return clipped


# Signs.


def _float_sign(x: torch.Tensor) -> torch.Tensor:
    return torch.maximum(torch.sign(x), x.clamp(max=-1.0))  # of which the second is the larger one only if it is NaN


_abs = unary(
    "Abs",
    torch.abs,
    FLOATING | SIGNED,
    "Returns the absolute value of every element.",
    traits=ARITHMETIC | {ZERO_OF_ZERO},
)
_complex_abs = op("ComplexAbs", "x: T -> y: Tout", traits={FRESH}, T=COMPLEX)
_complex_abs.shape(same_shape)


@_complex_abs.kernel(CPU, GPU)
def _complex_abs_kernel(x: torch.Tensor, *, Tout: DType) -> torch.Tensor:  # noqa: N803
    return torch.abs(x)


@export("abs", "math.abs")
def abs(x: ArrayLike, name: str | None = None) -> Tensor:
    """Returns the absolute value of every element; that of a complex number is real."""
    dtype = dtype_of(x)
    return _complex_abs(x, Tout=dtype.real_dtype, name=name) if dtype.is_complex else _abs(x, name)


negative = export("negative", "math.negative", v1=("neg", "negative", "math.negative"))(
    unary("Neg", torch.neg, ANALYTIC | SIGNED, "Returns -x element-wise.", traits=ARITHMETIC | {ZERO_OF_ZERO})
)
sign = export("sign", "math.sign")(
    unary(
        "Sign",
        torch.sgn,
        ANALYTIC | SIGNED,
        "Returns -1, 0 or 1 by the sign of x; x / |x| for complex x.",
        traits=THROUGH_ZERO,
    )
)
find_op("Sign").kernel(CPU, GPU, T=FLOATING)(_float_sign)
_conj = unary(
    "Conj",
    torch.conj_physical,
    NUMERIC,
    "Returns the complex conjugate of every element.",
    traits=POINTWISE - {FRESH},  # of real numbers, PyTorch returns its input
)


@export("math.conj", v1=("conj", "math.conj"))
def conj(x: Any, name: str | None = None) -> Tensor:
    """Returns the complex conjugate of every element; in a graph, a tensor of real numbers itself."""
    is_real = isinstance(x, SymbolicTensor) and (x.dtype.is_floating or x.dtype.is_integer)
    return x if is_real else _conj(x, name)


find_op("Abs").gradient(lambda grad, x: multiply(grad, sign(x)))
find_op("Neg").gradient(lambda grad: negative(grad))
find_op("Conj").gradient(lambda grad: conjugated(grad))


@_complex_abs.gradient
def _complex_abs_gradient(grad: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return multiply(cast(_div_no_nan(grad, y), x.dtype), x)


@find_op("Sign").gradient
def _sign_gradient(grad: Tensor, x: Tensor, y: Tensor) -> Tensor:
    if not x.dtype.is_complex:
        return zeros_like(grad)  # TensorFlow has zeros here, where it has nothing for other steps
    along = multiply(y, real_part(multiply(conjugated(y), grad)))  # would change the length of x, and no sign
    return _real_div(subtract(grad, along), cast(abs(x), x.dtype))


_angle = op("Angle", "input: T -> output: Tout", traits={FRESH}, T=ANALYTIC)
_angle.shape(same_shape)


@_angle.kernel(CPU, GPU)
def _angle_kernel(input: torch.Tensor, *, Tout: DType) -> torch.Tensor:  # noqa: N803
    return torch.angle(input) if input.is_complex() else torch.where(input < 0, torch.pi, torch.zeros_like(input))


@_angle.gradient
def _angle_gradient(grad: Tensor, input: Tensor) -> Tensor | None:
    if not input.dtype.is_complex:
        return None
    return _over(multiply(cast(grad, input.dtype), 1j), input)


@export("math.angle", v1=("angle", "math.angle"))
def angle(input: ArrayLike, name: str | None = None) -> Tensor:
    """Returns the argument of every element in radians, between -pi and pi."""
    return _angle(input, Tout=dtype_of(input).real_dtype, name=name)


# Exponentials and logarithms.


def _zero_where(x: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
    """What was made of x and more, and 0 where x is; on the host, to look for zeros costs less than to fill them in."""
    return made if x.device.type == "cpu" and has_no_zero(x) else made.masked_fill_(x == 0, 0)


exp = export("exp", "math.exp")(unary("Exp", torch.exp, ANALYTIC, "Computes e to the power x, element-wise."))
expm1 = export("math.expm1", v1=("expm1", "math.expm1"))(
    unary("Expm1", torch.expm1, ANALYTIC, "Computes exp(x) - 1, precise for small x.", traits=THROUGH_ZERO)
)
log = export("math.log", v1=("log", "math.log"))(
    unary("Log", torch.log, ANALYTIC, "Computes the natural logarithm of x, element-wise.")
)
log1p = export("math.log1p", v1=("log1p", "math.log1p"))(
    unary("Log1p", torch.log1p, ANALYTIC, "Computes log(1 + x), precise for small x.", traits=THROUGH_ZERO)
)
sigmoid = export("sigmoid", "math.sigmoid", "nn.sigmoid")(
    unary("Sigmoid", torch.sigmoid, ANALYTIC, "Computes 1 / (1 + exp(-x)), element-wise.")
)
xlogy = export("math.xlogy")(
    binary(
        "Xlogy",
        lambda x, y: _zero_where(x, x * torch.log(y)),
        ANALYTIC,
        "Computes x * log(y), and 0 where x is 0 whatever y is.",
    )
)
xlog1py = export("math.xlog1py")(
    binary(
        "Xlog1py",
        lambda x, y: _zero_where(x, x * torch.log1p(y)),
        ANALYTIC,
        "Computes x * log1p(y), and 0 where x is 0 whatever y is.",
    )
)
xdivy = export("math.xdivy", differs="The gradient of complex numbers is conjugated, as all others are.")(
    binary("Xdivy", lambda x, y: _zero_where(x, x / y), ANALYTIC, "Computes x / y, and 0 where x is 0 whatever y is.")
)

find_op("Exp").gradient(lambda grad, y: times(grad, y))
find_op("Expm1").gradient(lambda grad, x: times(grad, exp(x)))
find_op("Log").gradient(lambda grad, x: _over(grad, x))
find_op("Log1p").gradient(lambda grad, x: _over(grad, add(x, 1)))
find_op("Sigmoid").gradient(lambda grad, y: _sigmoid_grad(conjugated(y), grad))


@find_op("Xlogy").gradient
def _xlogy_gradient(grad: Tensor, x: Tensor, y: Tensor, x_shape: SizesOf, y_shape: SizesOf) -> Gradients:
    return (
        lambda: sum_to(times(grad, xlogy(_one_unless_zero(x), y)), x_shape, y_shape),
        lambda: sum_to(times(grad, xdivy(x, y)), y_shape, x_shape),
    )


@find_op("Xlog1py").gradient
def _xlog1py_gradient(grad: Tensor, x: Tensor, y: Tensor, x_shape: SizesOf, y_shape: SizesOf) -> Gradients:
    return (
        lambda: sum_to(times(grad, xlog1py(_one_unless_zero(x), y)), x_shape, y_shape),
        lambda: sum_to(times(grad, xdivy(x, add(y, 1))), y_shape, x_shape),
    )


@find_op("Xdivy").gradient
def _xdivy_gradient(grad: Tensor, x: Tensor, y: Tensor, x_shape: SizesOf, y_shape: SizesOf) -> Gradients:
    return (
        lambda: sum_to(times(grad, xdivy(_one_unless_zero(x), y)), x_shape, y_shape),
        lambda: sum_to(times(grad, xdivy(negative(x), square(y))), y_shape, x_shape),
    )


def _one_unless_zero(x: Tensor) -> Tensor:
    return cast(not_equal(x, 0), x.dtype)


# Trigonometry.

sin = export("sin", "math.sin")(
    unary("Sin", torch.sin, ANALYTIC, "Computes the sine of x, element-wise.", traits=THROUGH_ZERO)
)
cos = export("cos", "math.cos")(unary("Cos", torch.cos, ANALYTIC, "Computes the cosine of x, element-wise."))
tan = export("tan", "math.tan")(
    unary("Tan", torch.tan, ANALYTIC, "Computes the tangent of x, element-wise.", traits=THROUGH_ZERO)
)
asin = export("asin", "math.asin")(
    unary(
        "Asin",
        torch.asin,
        ANALYTIC,
        "Computes the inverse sine of x; NaN for real x outside [-1, 1].",
        traits=THROUGH_ZERO,
    )
)
acos = export("acos", "math.acos")(
    unary("Acos", torch.acos, ANALYTIC, "Computes the inverse cosine of x; NaN for real x outside [-1, 1].")
)
atan = export("atan", "math.atan")(
    unary("Atan", torch.atan, ANALYTIC, "Computes the inverse tangent of x, element-wise.", traits=THROUGH_ZERO)
)
if quick_tanh.IS_NEEDED:
    find_op("Atan").kernel(CPU, T=frozenset({dt.float32}), lower=quick_atan.lower, settled=True)(quick_atan.kernel)
    find_op("Atan").in_place(0)(lambda node, place: quick_atan.in_place())
sinh = export("sinh", "math.sinh")(
    unary("Sinh", torch.sinh, ANALYTIC, "Computes the hyperbolic sine of x, element-wise.", traits=THROUGH_ZERO)
)
cosh = export("cosh", "math.cosh")(
    unary("Cosh", torch.cosh, ANALYTIC, "Computes the hyperbolic cosine of x, element-wise.")
)
tanh = export("tanh", "math.tanh", "nn.tanh")(
    unary("Tanh", torch.tanh, ANALYTIC, "Computes the hyperbolic tangent of x, element-wise.", traits=THROUGH_ZERO)
)
if quick_tanh.IS_NEEDED:
    find_op("Tanh").kernel(CPU, T=frozenset({dt.float32}), lower=quick_tanh.lower, settled=True)(quick_tanh.kernel)
    find_op("Tanh").in_place(0)(lambda node, place: quick_tanh.in_place())
asinh = export("asinh", "math.asinh")(
    unary(
        "Asinh", torch.asinh, ANALYTIC, "Computes the inverse hyperbolic sine of x, element-wise.", traits=THROUGH_ZERO
    )
)
acosh = export("acosh", "math.acosh")(
    unary("Acosh", torch.acosh, ANALYTIC, "Computes the inverse hyperbolic cosine of x; NaN for real x below 1.")
)
atanh = export("atanh", "math.atanh")(
    unary(
        "Atanh",
        torch.atanh,
        ANALYTIC,
        "Computes the inverse hyperbolic tangent of x, element-wise.",
        traits=THROUGH_ZERO,
    )
)
_atan2 = binary("Atan2", torch.atan2, FLOATING, "Computes the angle of the point (y, x).")

for _name, _of_torch, _of_numpy in (
    ("Tan", torch.tan, np.tan),
    ("Asin", torch.asin, np.arcsin),
    ("Acos", torch.acos, np.arccos),
    ("Atan", torch.atan, np.arctan),
    ("Atan2", torch.atan2, np.arctan2),
    ("Sinh", torch.sinh, np.sinh),
    ("Cosh", torch.cosh, np.cosh),
    ("Tanh", torch.tanh, np.tanh),
    ("Asinh", torch.asinh, np.arcsinh),
    ("Acosh", torch.acosh, np.arccosh),
    ("Atanh", torch.atanh, np.arctanh),
):
    quick_numpy.add_kernels(find_op(_name), _of_torch, _of_numpy)

find_op("Sin").gradient(lambda grad, x: times(grad, cos(x)))
find_op("Cos").gradient(lambda grad, x: times(negative(grad), sin(x)))
find_op("Tan").gradient(lambda grad, y: times(grad, add(square(y), 1)))
find_op("Asin").gradient(lambda grad, x: _over(grad, sqrt(subtract(1, square(x)))))
find_op("Acos").gradient(lambda grad, x: _over(negative(grad), sqrt(subtract(1, square(x)))))
find_op("Atan").gradient(lambda grad, x: _over(grad, add(square(x), 1)))
find_op("Sinh").gradient(lambda grad, x: times(grad, cosh(x)))
find_op("Cosh").gradient(lambda grad, x: times(grad, sinh(x)))
find_op("Tanh").gradient(lambda grad, y: _tanh_grad(conjugated(y), grad))
find_op("Asinh").gradient(lambda grad, y: _over(grad, cosh(y)))
find_op("Acosh").gradient(lambda grad, y: _over(grad, sinh(y)))
find_op("Atanh").gradient(lambda grad, x: _over(grad, subtract(1, square(x))))


@find_op("Atan2").gradient
def _atan2_gradient(grad: Tensor, x: Tensor, y: Tensor, x_shape: SizesOf, y_shape: SizesOf) -> Gradients:
    """The gradient rule; x, which stands first, is the ordinate of the point."""
    per_square = _real_div(grad, add(square(x), square(y)))
    return (
        lambda: sum_to(multiply(y, per_square), x_shape, y_shape),
        lambda: sum_to(multiply(negative(x), per_square), y_shape, x_shape),
    )


@export("atan2", "math.atan2")
def atan2(y: ArrayLike, x: ArrayLike, name: str | None = None) -> Tensor:
    """Computes the angle of the point (x, y) in radians, between -pi and pi."""
    return _atan2(y, x, name)


# Rounding, and what is next to a number.

floor = export("floor", "math.floor")(
    unary("Floor", torch.floor, FLOATING, "Rounds down to a whole number.", traits=THROUGH_ZERO)
)
ceil = export("math.ceil", v1=("ceil", "math.ceil"))(
    unary("Ceil", torch.ceil, FLOATING, "Rounds up to a whole number.", traits=THROUGH_ZERO)
)
round = export("round", "math.round")(
    unary(
        "Round",
        torch.round,
        REAL,
        "Rounds to a whole number, halves to the even one.",
        traits=THROUGH_ZERO,
        wide=np.positive,
    )
)
rint = export("math.rint", v1=("rint", "math.rint"))(
    unary("Rint", torch.round, FLOATING, "Rounds to a whole number, halves to the even one.", traits=THROUGH_ZERO)
)
is_nan = export("math.is_nan", v1=("is_nan", "math.is_nan", "debugging.is_nan"))(
    unary("IsNan", torch.isnan, FLOATING, "Says which elements are NaN.", result="bool")
)
is_inf = export("math.is_inf", v1=("is_inf", "math.is_inf", "debugging.is_inf"))(
    unary("IsInf", torch.isinf, FLOATING, "Says which elements are infinite.", result="bool")
)
is_finite = export("math.is_finite", v1=("is_finite", "math.is_finite", "debugging.is_finite"))(
    unary("IsFinite", torch.isfinite, FLOATING, "Says which elements are finite numbers.", result="bool")
)
for _name, _test, _plain in (
    ("IsNan", np.isnan, torch.isnan),
    ("IsInf", np.isinf, torch.isinf),
    ("IsFinite", np.isfinite, torch.isfinite),
):
    _quick = numpy_kernel(_test)  # which is many times as fast
    compiled_as(_quick, _plain)
    find_op(_name).kernel(CPU, T=NUMPY_FLOATING)(_quick)
_nextafter = binary("NextAfter", torch.nextafter, SINGLE_AND_DOUBLE, "Returns the neighbour of x towards y.")

for _step in ("Floor", "Ceil", "Round", "Rint"):
    find_op(_step).stops_gradients()


@find_op("NextAfter").gradient
def _nextafter_gradient(grad: Tensor, x_shape: SizesOf, y_shape: SizesOf) -> Gradients:
    return lambda: sum_to(grad, x_shape, y_shape), lambda: sum_to(zeros_like(grad), y_shape, x_shape)


@export("math.nextafter")
def nextafter(x1: ArrayLike, x2: ArrayLike, name: str | None = None) -> Tensor:
    """Returns the number next to `x1` in the direction of `x2`, element-wise."""
    return _nextafter(x1, x2, name)


# Special functions.


def _in_float32(kernel: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A kernel for the 16-bit floats, which many of PyTorch's special functions do not take."""

    def widened(x: torch.Tensor) -> torch.Tensor:
        return kernel(x.float()).to(x.dtype)

    return widened


def _special(name: str, kernel: Callable[..., torch.Tensor], doc: str) -> UnaryFunction:
    function = unary(name, kernel, FLOATING, doc)
    find_op(name).kernel(CPU, GPU, T=HALF)(_in_float32(kernel))
    return function


# At poles and infinities PyTorch's functions differ from TensorFlow's, which are Eigen's.


def _digamma_kernel(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x == 0, torch.nan, torch.digamma(x))  # from either side another infinity


def _zeta_kernel(x: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    value = torch.special.zeta(x, q)
    pole = (q <= 0) & (q == torch.floor(q))
    value = torch.where(torch.isnan(x) | (pole & (x > 1) & (torch.remainder(x, 2) != 0)), torch.nan, value)
    vanishing = ((x > 1) & (q == torch.inf)) | ((q > 1) & torch.isnan(value) & (x > 1))
    return torch.where(vanishing, 0, value)


def _polygamma_kernel(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    order = a + 1
    magnitude = torch.exp(torch.lgamma(order)) * _zeta_kernel(order, x)
    value = torch.where(order % 2 == 0, magnitude, -magnitude)
    value = torch.where(a == 0, _digamma_kernel(x), value)
    return torch.where((a >= 0) & (a == torch.floor(a)), value, torch.nan)


def _igamma_kernel(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    value = torch.where(_lacks_gamma(a, x), torch.nan, torch.special.gammainc(a, x))
    return torch.where(((x == 0) & ~torch.isnan(a)) | ((a == torch.inf) & (x == torch.inf)), 0, value)


def _igammac_kernel(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    value = torch.where(_lacks_gamma(a, x), torch.nan, torch.special.gammaincc(a, x))
    return torch.where((a == torch.inf) & (x == torch.inf), 0, value)


def _lacks_gamma(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Where the incomplete gamma functions are not defined, though PyTorch gives a number."""
    return torch.isnan(a) | torch.isnan(x) | ((a == 0) & (x > 0))


def _infinite_below_zero(function: Callable[[torch.Tensor], torch.Tensor], sign: int) -> Callable[..., torch.Tensor]:
    """A Bessel function that goes to infinity at 0, and stays there for numbers below."""
    return lambda x: torch.where(x < 0, sign * torch.inf, function(x))


_bessel_y0 = _infinite_below_zero(torch.special.bessel_y0, -1)
_bessel_y1 = _infinite_below_zero(torch.special.bessel_y1, -1)
_modified_bessel_k0 = _infinite_below_zero(torch.special.modified_bessel_k0, 1)
_scaled_modified_bessel_k0 = _infinite_below_zero(torch.special.scaled_modified_bessel_k0, 1)
_modified_bessel_k1 = _infinite_below_zero(torch.special.modified_bessel_k1, 1)
_scaled_modified_bessel_k1 = _infinite_below_zero(torch.special.scaled_modified_bessel_k1, 1)

erf = export(
    "math.erf",
    v1=("erf", "math.erf"),
    differs="Infinities of float64 give 1 and -1; TensorFlow gives NaN.",
)(unary("Erf", torch.erf, FLOATING, "Computes the error function of x, element-wise.", traits=THROUGH_ZERO))
find_op("Erf").kernel(CPU, T=frozenset({dt.float32}), lower=quick_erf.lower, settled=True)(quick_erf.kernel)
find_op("Erf").in_place(0)(lambda node, place: quick_erf.kernel_in_place)
erfc = export("math.erfc", v1=("erfc", "math.erfc"))(
    unary("Erfc", torch.erfc, FLOATING, "Computes 1 - erf(x), precise for large x.")
)
erfinv = export("math.erfinv")(
    _special("Erfinv", torch.erfinv, "Computes the inverse of the error function; NaN outside [-1, 1].")
)
ndtri = export("math.ndtri")(
    _special("Ndtri", torch.special.ndtri, "Computes the quantiles of the standard normal distribution.")
)
lgamma = export("math.lgamma", v1=("lgamma", "math.lgamma"))(
    _special("Lgamma", torch.lgamma, "Computes the logarithm of |gamma(x)|, element-wise.")
)
digamma = export("math.digamma", v1=("digamma", "math.digamma"))(
    _special("Digamma", _digamma_kernel, "Computes the derivative of lgamma(x), element-wise.")
)
bessel_i0 = export("math.bessel_i0", "math.special.bessel_i0", v1="math.bessel_i0")(
    _special("BesselI0", torch.special.i0, "Computes the modified Bessel function I0.")
)
bessel_i0e = export("math.bessel_i0e", "math.special.bessel_i0e", v1="math.bessel_i0e")(
    _special("BesselI0e", torch.special.i0e, "Computes the Bessel function I0 times exp(-|x|).")
)
bessel_i1 = export(
    "math.bessel_i1",
    "math.special.bessel_i1",
    v1="math.bessel_i1",
    differs="The gradient at 0 is 1/2, the derivative; TensorFlow gives 1.",
)(_special("BesselI1", torch.special.i1, "Computes the modified Bessel function I1."))
bessel_i1e = export("math.bessel_i1e", "math.special.bessel_i1e", v1="math.bessel_i1e")(
    _special("BesselI1e", torch.special.i1e, "Computes the Bessel function I1 times exp(-|x|).")
)
bessel_j0 = export("math.special.bessel_j0", v1=())(
    _special("BesselJ0", torch.special.bessel_j0, "Computes the Bessel function J0.")
)
bessel_j1 = export("math.special.bessel_j1", v1=())(
    _special("BesselJ1", torch.special.bessel_j1, "Computes the Bessel function J1.")
)
bessel_y0 = export("math.special.bessel_y0", v1=())(
    _special("BesselY0", _bessel_y0, "Computes the Bessel function Y0.")
)
bessel_y1 = export("math.special.bessel_y1", v1=())(
    _special("BesselY1", _bessel_y1, "Computes the Bessel function Y1.")
)
bessel_k0 = export("math.special.bessel_k0", v1=())(
    _special("BesselK0", _modified_bessel_k0, "Computes the modified Bessel function K0.")
)
bessel_k0e = export("math.special.bessel_k0e", v1=())(
    _special("BesselK0e", _scaled_modified_bessel_k0, "Computes K0 times exp(x).")
)
bessel_k1 = export("math.special.bessel_k1", v1=())(
    _special("BesselK1", _modified_bessel_k1, "Computes the modified Bessel function K1.")
)
bessel_k1e = export("math.special.bessel_k1e", v1=())(
    _special("BesselK1e", _scaled_modified_bessel_k1, "Computes K1 times exp(x).")
)
_igamma = binary("Igamma", _igamma_kernel, SINGLE_AND_DOUBLE, "Computes P(x, y).")
_igammac = binary("Igammac", _igammac_kernel, SINGLE_AND_DOUBLE, "Computes Q(x, y).")
_zeta = binary("Zeta", _zeta_kernel, SINGLE_AND_DOUBLE, "Computes the Hurwitz zeta function.")
_polygamma = binary("Polygamma", _polygamma_kernel, SINGLE_AND_DOUBLE, "Computes derivatives of digamma.")

_BELL = 2 / math.sqrt(math.pi)  # the derivative of erf at 0

find_op("Erf").gradient(lambda grad, x: multiply(multiply(grad, _BELL), exp(negative(square(x)))))
find_op("Erfc").gradient(lambda grad, x: multiply(multiply(grad, -_BELL), exp(negative(square(x)))))
find_op("Erfinv").gradient(lambda grad, y: multiply(multiply(grad, 1 / _BELL), exp(square(y))))
find_op("Ndtri").gradient(
    lambda grad, y: multiply(multiply(grad, math.sqrt(2 * math.pi)), exp(multiply(square(y), 0.5)))
)
find_op("Lgamma").gradient(lambda grad, x: multiply(grad, digamma(x)))
find_op("Digamma").gradient(lambda grad, x: multiply(grad, _polygamma(1, x)))
find_op("BesselI0").gradient(lambda grad, x: multiply(grad, bessel_i1(x)))
find_op("BesselI0e").gradient(lambda grad, x, y: multiply(grad, subtract(bessel_i1e(x), multiply(sign(x), y))))
find_op("BesselI1").gradient(lambda grad, x, y: multiply(grad, subtract(bessel_i0(x), _ratio(y, x))))
find_op("BesselI1e").gradient(
    lambda grad, x, y: multiply(grad, subtract(bessel_i0e(x), add(multiply(sign(x), y), _ratio(y, x))))
)
find_op("BesselJ0").gradient(lambda grad, x: multiply(negative(grad), bessel_j1(x)))
find_op("BesselJ1").gradient(lambda grad, x, y: multiply(grad, subtract(bessel_j0(x), _ratio(y, x))))
find_op("BesselY0").gradient(lambda grad, x: multiply(negative(grad), bessel_y1(x)))
find_op("BesselY1").gradient(lambda grad, x, y: multiply(grad, subtract(bessel_y0(x), _real_div(y, x))))
find_op("BesselK0").gradient(lambda grad, x: multiply(negative(grad), bessel_k1(x)))
find_op("BesselK0e").gradient(lambda grad, x, y: multiply(grad, subtract(y, bessel_k1e(x))))
find_op("BesselK1").gradient(lambda grad, x, y: multiply(negative(grad), add(bessel_k0(x), _real_div(y, x))))
find_op("BesselK1e").gradient(lambda grad, x, y: multiply(grad, subtract(subtract(y, bessel_k0e(x)), _real_div(y, x))))


def _ratio(y: Tensor, x: Tensor) -> Tensor:
    """The ratio y / x of a Bessel function of order 1, which is 1/2 where both are 0."""
    at_zero = equal(x, 0)
    return add(_div_no_nan(y, x), multiply(cast(at_zero, x.dtype), 0.5))


@find_op("Igamma").gradient
def _igamma_gradient(grad: Tensor, x: Tensor, y: Tensor, x_shape: SizesOf, y_shape: SizesOf) -> Gradients:
    return (
        lambda: sum_to(multiply(grad, igamma_grad_a(x, y)), x_shape, y_shape),
        lambda: sum_to(multiply(grad, _gamma_density(x, y)), y_shape, x_shape),
    )


@find_op("Igammac").gradient
def _igammac_gradient(grad: Tensor, x: Tensor, y: Tensor, x_shape: SizesOf, y_shape: SizesOf) -> Gradients:
    return _igamma_gradient(negative(grad), x, y, x_shape, y_shape)


def _gamma_density(a: Tensor, x: Tensor) -> Tensor:
    return exp(subtract(subtract(multiply(subtract(a, 1), log(x)), x), lgamma(a)))


@find_op("Zeta").gradient
def _zeta_gradient(grad: Tensor, x: Tensor, y: Tensor, y_shape: SizesOf) -> Gradients:
    return None, lambda: sum_to(multiply(grad, multiply(negative(x), _zeta(add(x, 1), y))), y_shape)


@find_op("Polygamma").gradient
def _polygamma_gradient(grad: Tensor, x: Tensor, y: Tensor, y_shape: SizesOf) -> Gradients:
    return None, lambda: sum_to(multiply(grad, _polygamma(add(x, 1), y)), y_shape)


@export("math.erfcinv")
def erfcinv(x: ArrayLike, name: str | None = None) -> Tensor:
    """Computes the inverse of the complementary error function; NaN outside [0, 2]."""
    with Composed(name, "erfcinv") as last:
        return multiply(ndtri(multiply(x, 0.5)), -math.sqrt(0.5), last)


@export("math.igamma", v1=("igamma", "math.igamma"))
def igamma(a: ArrayLike, x: ArrayLike, name: str | None = None) -> Tensor:
    """Computes the lower regularized incomplete gamma function P(a, x)."""
    return _igamma(a, x, name)


@export("math.igammac", v1=("igammac", "math.igammac"))
def igammac(a: ArrayLike, x: ArrayLike, name: str | None = None) -> Tensor:
    """Computes the upper regularized incomplete gamma function Q(a, x) = 1 - P(a, x)."""
    return _igammac(a, x, name)


@export("math.zeta", v1=("zeta", "math.zeta"))
def zeta(x: ArrayLike, q: ArrayLike, name: str | None = None) -> Tensor:
    """Computes the Hurwitz zeta function: the sum of (q + n) to the power -x over all n from 0."""
    return _zeta(x, q, name)


@export("math.polygamma", v1=("polygamma", "math.polygamma"))
def polygamma(a: ArrayLike, x: ArrayLike, name: str | None = None) -> Tensor:
    """Computes the derivative of order `a` of the digamma function at `x`; NaN where `a` is no whole number."""
    return _polygamma(a, x, name)
