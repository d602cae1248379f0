"""Reductions: tensors summed up, and the like, along some or all of their axes.

Every function takes ``axis``: None for all axes, a number, a list (an empty one reduces nothing),
or a tensor of these; negative axes count from the end. Results have the dtype of the input, so
the mean of integers is an integer, rounded towards zero.

    reduce_sum([[1, 2], [3, 4]])                            10
    reduce_sum([[1, 2], [3, 4]], axis=1, keepdims=True)     [[3], [7]]

Over no elements a sum is 0, a product 1, a maximum the lowest value there is, a mean NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import (
    BOOL,
    COMPLEX,
    FIXED,
    FLOATING,
    INDEX,
    NUMERIC,
    REAL,
    STRING,
    WIDE_UNSIGNED,
    DType,
    DTypes,
    as_dtype,
)
from situs._src.base.errors import ArgumentError, DTypeError, KernelError
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, UNKNOWN, TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, AxisLike, DTypeLike, HostInput, HostValue, ShapeLike, SizesOf
from situs._src.ir.registry.op import Op, find_op
from situs._src.ir.registry.traits import FOLDABLE, FRESH, SIZE_ARITHMETIC, Traits
from situs._src.ops.attribute import as_bool
from situs._src.ops.cast import real
from situs._src.ops.constant import convert_to_tensor, ones_like
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.math import conj, divide, exp, is_finite, maximum, multiply, real_part, sqrt, subtract, times
from situs._src.ops.naming import Composed
from situs._src.ops.spelling import renamed
from situs._src.runtime import dispatch
from situs._src.runtime.eager.bridge import TORCH_DTYPE

Axes = tuple[int, ...]
Reduce = Callable[[torch.Tensor, Axes, bool], torch.Tensor]

# Says "all axes" to an op, whatever the rank: None would mean that the axes are not known yet.
EVERY_AXIS = "all axes"


class ReduceFunction(Protocol):
    """A public function that reduces a tensor."""

    def __call__(
        self, input_tensor: Any, axis: Any = None, keepdims: bool | None = False, name: str | None = None
    ) -> Tensor:
        """Runs the op."""
        ...


def reduction_axes(axis: Any, rank: int) -> Axes:
    """The axes that a host value names, from 0 up, in order.

    Raises:
        InvalidArgumentError: one of them is not an axis of a tensor of that rank, or stands there twice.
    """
    if axis == EVERY_AXIS:
        return tuple(range(rank))
    axes = tuple(_position(item, rank) for item in _flat(axis))
    if len(set(axes)) != len(axes):
        twice = next(item for item in axes if axes.count(item) > 1)
        raise KernelError(f"Invalid reduction arguments: Axes contains duplicate dimension: {twice}")
    return tuple(sorted(axes))


def _flat(axis: AxisLike) -> list[Any]:
    return [inner for item in axis for inner in _flat(item)] if isinstance(axis, tuple) else [axis]


def _position(axis: AxisLike, rank: int) -> int:
    if not isinstance(axis, int):
        raise DTypeError(f"A reduction axis is an integer, got {axis!r} of type {type(axis).__name__!r}")
    if not -rank <= axis < rank:
        raise ArgumentError(f"Invalid reduction dimension ({axis} for input with {rank} dimension(s))")
    return axis % rank


# The table of reductions.


def _reduction(
    name: str,
    reduce: Reduce,
    types: DTypes | None,
    doc: str,
    wide: Callable[..., Any] | None = None,
    whole: Callable[[torch.Tensor], torch.Tensor] | None = None,
    traits: Traits = frozenset({FRESH}),
) -> ReduceFunction:
    """Declares a reduction and makes its public function; `types` is None for reductions of bools.

    `whole` reduces all axes to a scalar: PyTorch is quicker where it is not told which axes these are.
    """
    kind = "bool" if types is None else "T"
    limits: dict[str, Any] = {} if types is None else {"T": types}
    native: dict[str, Any] = {} if types is None else {"T": types - WIDE_UNSIGNED}
    declared = op(name, f"input: {kind}, axis: host -> output: {kind}", traits=traits, keep_dims=False, **limits)
    declared.shape(_reduced_shape)
    declared.kernel(CPU, GPU, **native)(_kernel(reduce, whole))
    if wide is not None:
        declared.kernel(CPU, T=WIDE_UNSIGNED)(_kernel(_by_numpy(wide)))
    return _public(declared, doc)


def _public(declared: Op, doc: str) -> ReduceFunction:
    run = dispatch.with_host_inputs(declared)

    def call(
        input_tensor: ArrayLike, axis: AxisLike | None = None, keepdims: bool | None = False, name: str | None = None
    ) -> Tensor:
        axes = EVERY_AXIS if axis is None else tuple(axis) if type(axis) is list else axis
        if keepdims is False:
            return run(input_tensor, axes, name=name)
        return run(input_tensor, axes, name=name, keep_dims=as_bool(keepdims, "keepdims"))

    call.__name__ = call.__qualname__ = declared.name
    call.__doc__ = doc
    return call


def _reduced_shape(input: TensorShape, axis: HostValue, *, keep_dims: bool) -> TensorShape:
    if input.rank is None or axis is None:
        # What is known while the rank or the axes are not.
        if not keep_dims:
            return SCALAR if axis == EVERY_AXIS else UNKNOWN
        return UNKNOWN if input.rank is None else TensorShape([None] * input.rank)
    axes = reduction_axes(axis, input.rank)
    return TensorShape(1 if i in axes else dim for i, dim in enumerate(input) if keep_dims or i not in axes)


def _kernel(reduce: Reduce, whole: Callable[[torch.Tensor], torch.Tensor] | None = None) -> Callable[..., torch.Tensor]:
    def kernel(input: torch.Tensor, axis: HostValue, keep_dims: bool = False) -> torch.Tensor:
        if axis == EVERY_AXIS and whole is not None and not keep_dims:
            return whole(input)
        rank = input.ndim
        if type(axis) is int and -rank <= axis < rank:
            return reduce(input, (axis,), keep_dims)
        axes = reduction_axes(axis, rank)
        if not axes:  # to PyTorch, no axes are all axes: reduce a new axis of size 1 instead
            return reduce(input.unsqueeze(0), (0,), False)
        return reduce(input, axes, keep_dims)

    return kernel


def _by_numpy(function: Callable[..., Any]) -> Reduce:
    def reduce(x: torch.Tensor, axes: Axes, keep: bool) -> torch.Tensor:
        array = x.numpy()
        return torch.from_numpy(np.asarray(function(array, axis=axes, keepdims=keep), dtype=array.dtype))

    return reduce


def _sum(x: torch.Tensor, axes: Axes, keep: bool) -> torch.Tensor:
    return torch.sum(x, axes[0] if len(axes) == 1 else axes, keep, dtype=x.dtype)


def _whole_mean(x: torch.Tensor) -> torch.Tensor:
    return torch.mean(x) if x.dtype.is_floating_point or x.dtype.is_complex else _mean(x, tuple(range(x.ndim)), False)


def _whole_max(x: torch.Tensor) -> torch.Tensor:
    return torch.amax(x) if x.numel() else _max(x, tuple(range(x.ndim)), False)


def _whole_min(x: torch.Tensor) -> torch.Tensor:
    return torch.amin(x) if x.numel() else _min(x, tuple(range(x.ndim)), False)


def _mean(x: torch.Tensor, axes: Axes, keep: bool) -> torch.Tensor:
    if x.dtype.is_floating_point or x.dtype.is_complex:
        return torch.mean(x, axes, keep)
    total = torch.sum(x, axes, keep, dtype=torch.int64)
    return torch.div(total, max(_count(x.shape, axes), 1), rounding_mode="trunc").to(x.dtype)


def _wide_mean(x: np.ndarray[Any, Any], axis: Axes, keepdims: bool) -> Any:
    total = np.sum(x, axis, dtype=np.uint64, keepdims=keepdims)
    return total // np.uint64(max(_count(x.shape, axis), 1))


def _count(shape: Sequence[int], axes: Axes) -> int:
    """How many elements go into one."""
    return math.prod(shape[i] for i in axes)


def _prod(x: torch.Tensor, axes: Axes, keep: bool) -> torch.Tensor:
    for axis in reversed(axes):
        x = torch.prod(x, axis, keep, dtype=x.dtype)
    return x


def _max(x: torch.Tensor, axes: Axes, keep: bool) -> torch.Tensor:
    if x.numel() == 0:
        low = -math.inf if x.dtype.is_floating_point else torch.iinfo(x.dtype).min
        return torch.full_like(torch.sum(x, axes, keep, dtype=x.dtype), low)
    return torch.amax(x, axes, keep)


def _min(x: torch.Tensor, axes: Axes, keep: bool) -> torch.Tensor:
    if x.numel() == 0:
        high = math.inf if x.dtype.is_floating_point else torch.iinfo(x.dtype).max
        return torch.full_like(torch.sum(x, axes, keep, dtype=x.dtype), high)
    return torch.amin(x, axes, keep)


def _euclidean_norm(x: torch.Tensor, axes: Axes, keep: bool) -> torch.Tensor:
    if x.dtype.is_floating_point or x.dtype.is_complex:
        norm: torch.Tensor = torch.linalg.vector_norm(x, 2, axes, keep)
        return norm.to(x.dtype)
    squares = torch.sum(x * x, axes, keep, dtype=x.dtype)  # integers wrap around, here as in all sums
    return squares.to(torch.float64).sqrt().to(x.dtype)


def _wide_euclidean_norm(x: np.ndarray[Any, Any], axis: Axes, keepdims: bool) -> Any:
    return np.sqrt(np.sum(np.square(x), axis, x.dtype, keepdims=keepdims), dtype=np.float64)


def _all(x: torch.Tensor, axes: Axes, keep: bool) -> torch.Tensor:
    if x.numel() < _MANY_BOOLS or not axes:
        return torch.all(x, axes, keep)
    return x.view(torch.uint8).amin(axes, keep).view(torch.bool)  # ten times as fast


def _any(x: torch.Tensor, axes: Axes, keep: bool) -> torch.Tensor:
    if x.numel() < _MANY_BOOLS or not axes:
        return torch.any(x, axes, keep)
    return x.view(torch.uint8).amax(axes, keep).view(torch.bool)


_MANY_BOOLS = 1024


_OF_SIZES: Traits = frozenset({FRESH, FOLDABLE, SIZE_ARITHMETIC})
reduce_sum = export("reduce_sum", "math.reduce_sum", v1=())(
    _reduction(
        "Sum",
        _sum,
        NUMERIC,
        "Sums the elements along `axis`.",
        np.sum,
        lambda x: torch.sum(x, dtype=x.dtype),
        _OF_SIZES,
    )
)
reduce_mean = export("reduce_mean", "math.reduce_mean", v1=())(
    _reduction("Mean", _mean, NUMERIC, "Averages the elements along `axis`.", _wide_mean, _whole_mean)
)
reduce_prod = export("reduce_prod", "math.reduce_prod", v1=())(
    _reduction("Prod", _prod, NUMERIC, "Multiplies the elements along `axis`.", np.prod, None, _OF_SIZES)
)
reduce_max = export("reduce_max", "math.reduce_max", v1=())(
    _reduction(
        "Max",
        _max,
        REAL,
        "Finds the largest elements along `axis`; NaN if there is one.",
        lambda x, axis, keepdims: np.max(x, axis, keepdims=keepdims, initial=0),
        _whole_max,
        _OF_SIZES,
    )
)
reduce_min = export("reduce_min", "math.reduce_min", v1=())(
    _reduction(
        "Min",
        _min,
        REAL,
        "Finds the smallest elements along `axis`; NaN if there is one.",
        lambda x, axis, keepdims: np.min(x, axis, keepdims=keepdims, initial=np.iinfo(x.dtype).max),
        _whole_min,
        _OF_SIZES,
    )
)
reduce_all = export("reduce_all", "math.reduce_all", v1=())(
    _reduction("All", _all, None, "Says whether all elements along `axis` are true.", whole=torch.all)
)
reduce_any = export("reduce_any", "math.reduce_any", v1=())(
    _reduction("Any", _any, None, "Says whether any element along `axis` is true.", whole=torch.any)
)
reduce_euclidean_norm = export("math.reduce_euclidean_norm")(
    _reduction(
        "EuclideanNorm",
        _euclidean_norm,
        NUMERIC,
        "Takes the square root of the sum of squares of the elements along `axis`.",
        _wide_euclidean_norm,
    )
)
reduce_logsumexp = export("reduce_logsumexp", "math.reduce_logsumexp", v1=())(
    _reduction(
        "ReduceLogSumExp",
        torch.logsumexp,
        FLOATING,
        "Computes log(sum(exp(x))) along `axis`, without overflow for large elements.",
    )
)


# The way back: what reached the result of a reduction reaches every element that went into it.

_spread = op("Spread", "x: T, shape: host, axis: host -> y: T", T=FLOATING | COMPLEX, keep_dims=False, mean=False)


@_spread.shape
def _spread_shape(x: TensorShape, shape: Any, axis: HostValue, *, keep_dims: bool, mean: bool) -> TensorShape:
    return UNKNOWN if shape is None else TensorShape(shape)


@_spread.kernel(CPU, GPU)
def _spread_kernel(
    x: torch.Tensor, shape: tuple[int, ...], axis: Any, keep_dims: bool = False, mean: bool = False
) -> torch.Tensor:
    axes = reduction_axes(axis, len(shape))
    kept = x if axis == EVERY_AXIS else _with_axes(x, axes, len(shape), keep_dims)  # a scalar fits any place
    return (kept / _count(shape, axes) if mean and 0 not in shape else kept).expand(shape)


def _with_axes(x: torch.Tensor, axes: Axes, rank: int, keep_dims: bool) -> torch.Tensor:
    """The result of a reduction with the reduced axes back in their places, of size 1."""
    if keep_dims or not axes:
        return x
    sizes = iter(x.shape)
    return x.reshape([1 if i in axes else next(sizes) for i in range(rank)])


_run_spread = dispatch.with_host_inputs(_spread)


def spread(x: Tensor, shape: ShapeLike, axis: Any, keep_dims: bool = False, mean: bool = False) -> Tensor:
    """Repeats the result of a reduction along the axes that were reduced, until it has the shape from before.

    Args:
        x: A tensor of the shape that a reduction along `axis` gives.
        shape: The shape before the reduction: a tuple, or a tensor.
        axis: The axes of the reduction.
        keep_dims: Whether `x` has them still, with size 1.
        mean: Whether to divide by the number of elements that each one is repeated to.
    """
    return _run_spread(x, shape, axis, keep_dims=keep_dims, mean=mean)


@_spread.gradient
def _spread_gradient(grad: Tensor, axis: HostInput, *, keep_dims: bool, mean: bool) -> Tensor:
    return (reduce_mean if mean else reduce_sum)(grad, axis, keep_dims)


@find_op("Sum").gradient
def _sum_gradient(grad: Tensor, input_shape: SizesOf, axis: HostInput, *, keep_dims: bool) -> Tensor:
    return spread(grad, input_shape, axis, keep_dims)


@find_op("Mean").gradient
def _mean_gradient(grad: Tensor, input_shape: SizesOf, axis: HostInput, *, keep_dims: bool) -> Tensor:
    return spread(grad, input_shape, axis, keep_dims, mean=True)


@find_op("EuclideanNorm").gradient
def _euclidean_norm_gradient(
    grad: Tensor, input: Tensor, output: Tensor, input_shape: SizesOf, axis: HostInput, *, keep_dims: bool
) -> Tensor:
    return multiply(input, spread(divide(real_part(grad), output), input_shape, axis, keep_dims))


@find_op("ReduceLogSumExp").gradient
def _logsumexp_gradient(
    grad: Tensor, input: Tensor, output: Tensor, input_shape: SizesOf, axis: HostInput, *, keep_dims: bool
) -> Tensor:
    """The gradient rule: shares of ``exp(input - output)``, which is 1 in all unless the output is too large for it."""
    share = exp(subtract(input, spread(output, input_shape, axis, keep_dims)))
    total = find_op("Sum")(share, axis, keep_dims=keep_dims)
    whole = find_op("SelectV2")(is_finite(total), total, ones_like(total))
    return multiply(spread(divide(grad, whole), input_shape, axis, keep_dims), share)


# The way back from a maximum or a minimum: to all elements that are the largest, in equal parts.

_extreme_grad = op("ExtremeGrad", "x: T, y: T, dy: T, axis: host -> dx: T", T=FLOATING, keep_dims=False)


@_extreme_grad.shape
def _extreme_grad_shape(
    x: TensorShape, y: TensorShape, dy: TensorShape, axis: HostValue, *, keep_dims: bool
) -> TensorShape:
    return x


@_extreme_grad.kernel(CPU, GPU)
def _extreme_grad_kernel(
    x: torch.Tensor, y: torch.Tensor, dy: torch.Tensor, axis: HostValue, *, keep_dims: bool
) -> torch.Tensor:
    axes = reduction_axes(axis, x.ndim)
    chosen = x == _with_axes(y, axes, x.ndim, keep_dims)
    count = chosen.sum(axes, keepdim=True) if axes else chosen
    return chosen * (_with_axes(dy, axes, x.ndim, keep_dims) / count)


@_extreme_grad.gradient
def _extreme_grad_gradient(
    grad: Tensor, x: Tensor, y: Tensor, dy: Tensor, axis: HostInput, *, keep_dims: bool
) -> tuple[Any, ...]:
    shares = _extreme_grad(x, y, ones_like(dy), axis, keep_dims=keep_dims)
    return None, None, reduce_sum(multiply(grad, shares), axis, keep_dims)


@find_op("Max").gradient
@find_op("Min").gradient
def _extreme_gradient(grad: Tensor, input: Tensor, output: Tensor, axis: HostInput, *, keep_dims: bool) -> Tensor:
    return _extreme_grad(input, output, grad, axis, keep_dims=keep_dims)


# The way back from a product: to each element times the product of the others, which no division gives where there are
# zeros. The axes that were multiplied along become the first, and running products from both ends meet at each element.

_fold = op("FoldAxes", "x: T, axis: host -> y: T", T=FLOATING | COMPLEX)
_unfold = op("UnfoldAxes", "x: T, shape: host, axis: host -> y: T", T=FLOATING | COMPLEX)


@_fold.shape
def _fold_shape(x: TensorShape, axis: HostValue) -> TensorShape:
    if x.rank is None or axis is None:
        return UNKNOWN
    axes = reduction_axes(axis, x.rank)
    sizes = [x[i] for i in axes]
    folded = None if None in sizes else math.prod(size for size in sizes if size is not None)
    return TensorShape([folded, *(size for i, size in enumerate(x) if i not in axes)])


@_unfold.shape
def _unfold_shape(x: TensorShape, shape: Any, axis: HostValue) -> TensorShape:
    return UNKNOWN if shape is None else TensorShape(shape)


@_fold.kernel(CPU, GPU)
def _fold_kernel(x: torch.Tensor, axis: HostValue) -> torch.Tensor:
    axes = reduction_axes(axis, x.ndim)
    return x.movedim(axes, tuple(range(len(axes)))).flatten(0, len(axes) - 1) if axes else x.unsqueeze(0)


@_unfold.kernel(CPU, GPU)
def _unfold_kernel(x: torch.Tensor, shape: tuple[int, ...], axis: Any) -> torch.Tensor:
    axes = reduction_axes(axis, len(shape))
    sizes = [shape[i] for i in axes] + [size for i, size in enumerate(shape) if i not in axes]
    return x.reshape(sizes).movedim(tuple(range(len(axes))), axes)


_fold.gradient(lambda grad, x_shape, axis: _unfold(grad, x_shape, axis))
_unfold.gradient(lambda grad, axis: _fold(grad, axis))


@find_op("Prod").gradient
def _prod_gradient(grad: Tensor, input: Tensor, input_shape: SizesOf, axis: HostInput, *, keep_dims: bool) -> Tensor:
    rows, running = _fold(input, axis), find_op("Cumprod")
    others = multiply(running(rows, 0, exclusive=True), running(rows, 0, exclusive=True, reverse=True))
    return times(spread(grad, input_shape, axis, keep_dims), _unfold(others, input_shape, axis))


# Reductions made of others.


@export("math.reduce_variance")
def reduce_variance(
    input_tensor: ArrayLike, axis: AxisLike | None = None, keepdims: bool | None = False, name: str | None = None
) -> Tensor:
    """Averages the squared distances from the mean along `axis`; a real number also for complex input.

    Raises:
        TypeError: the input consists of integers.
    """
    if hasattr(type(input_tensor), "with_flat_values"):  # rows of different lengths: TensorFlow's way, and its digits
        rows: Any = input_tensor
        if rows.dtype.is_complex:
            raise ArgumentError("reduce_variance is not supported for RaggedTensors with complex dtypes.")
        mean = reduce_mean(rows, axis, keepdims)
        return maximum(subtract(reduce_mean(multiply(rows, rows), axis, keepdims), multiply(mean, mean)), 0)
    x = convert_to_tensor(input_tensor)
    if x.dtype.is_integer:
        raise DTypeError(f"Input must be either real or complex. Received integer type {x.dtype}.")
    with Composed(name, "reduce_variance", "Mean") as last:
        deviation = subtract(x, reduce_mean(x, axis, keepdims=True))
        squared = real(multiply(deviation, conj(deviation))) if x.dtype.is_complex else multiply(deviation, deviation)
        return reduce_mean(squared, axis, keepdims, last)


@export("math.reduce_std")
def reduce_std(
    input_tensor: ArrayLike, axis: AxisLike | None = None, keepdims: bool | None = False, name: str | None = None
) -> Tensor:
    """Takes the square root of the variance along `axis`.

    Raises:
        TypeError: the input consists of integers.
    """
    with Composed(name, "reduce_std", "Sqrt") as last:
        return sqrt(reduce_variance(input_tensor, axis, keepdims), last)


# Where the largest and smallest elements are.


def _arg_reduction(
    name: str, find: Callable[[torch.Tensor, int], torch.Tensor], find_wide: Callable[..., Any], outputs: DTypes
) -> dispatch.TypedFunction:
    signature = "input: T, dimension: host -> output: output_type"
    declared = op(name, signature, traits={FRESH}, T=REAL | BOOL, output_type=outputs)
    declared.shape(_arg_shape)

    @declared.kernel(CPU, GPU, T=(REAL | BOOL) - WIDE_UNSIGNED)
    def kernel(input: torch.Tensor, dimension: HostValue, *, output_type: DType) -> torch.Tensor:
        axis = _arg_axis(dimension, input.shape)
        places = find(input.to(torch.uint8) if input.dtype is torch.bool else input, axis)
        return places if output_type is dt.int64 else places.to(TORCH_DTYPE[output_type])

    @declared.kernel(CPU, T=WIDE_UNSIGNED)
    def wide_kernel(input: torch.Tensor, dimension: HostValue, *, output_type: DType) -> torch.Tensor:
        axis = _arg_axis(dimension, input.shape)
        return torch.from_numpy(np.asarray(find_wide(input.numpy(), axis))).to(TORCH_DTYPE[output_type])

    return dispatch.typed(declared)


def _arg_shape(input: TensorShape, dimension: HostValue) -> TensorShape:
    if input.rank is None:
        return UNKNOWN
    if dimension is None:
        return TensorShape([None] * max(input.rank - 1, 0))
    axis = _arg_axis(dimension, input)
    return input[:axis] + input[axis + 1 :]


def _arg_axis(dimension: Any, shape: Any) -> int:
    rank = len(shape)
    if not isinstance(dimension, int):
        raise DTypeError(f"axis must be an integer or a scalar integer tensor, got {dimension!r}")
    if not -rank <= dimension < rank:
        raise ArgumentError(f"Expected dimension in the range [{-rank}, {rank}), but got {dimension}")
    if shape[dimension] == 0:
        raise KernelError(f"Reduction axis {dimension} is empty in shape {brackets(list(shape))}")
    return dimension % rank


def _replace_nan(x: torch.Tensor, value: float) -> torch.Tensor:
    """TensorFlow passes over NaN; PyTorch would find it first."""
    return torch.nan_to_num(x, value, math.inf, -math.inf) if x.dtype.is_floating_point else x


_argmax_op = _arg_reduction(
    "ArgMax", lambda x, axis: torch.argmax(_replace_nan(x, -math.inf), axis), np.argmax, INDEX | {dt.int16, dt.uint16}
)
_argmin_op = _arg_reduction("ArgMin", lambda x, axis: torch.argmin(_replace_nan(x, math.inf), axis), np.argmin, INDEX)


@export("argmax", "math.argmax", v1=())
def argmax(
    input: ArrayLike, axis: AxisLike | None = None, output_type: DTypeLike = dt.int64, name: str | None = None
) -> Tensor:
    """Returns the index of the largest element along `axis`, the first one if there are several.

    Args:
        input: A tensor of real numbers or bools.
        axis: The axis to look along; by default the first.
        output_type: The dtype of the indices.
        name: A name for the op.
    """
    return _argmax_op(input, as_dtype(output_type), 0 if axis is None else axis, name=name)


@export("argmin", "math.argmin", v1=())
def argmin(
    input: ArrayLike, axis: AxisLike | None = None, output_type: DTypeLike = dt.int64, name: str | None = None
) -> Tensor:
    """Returns the index of the smallest element along `axis`, the first one if there are several.

    The arguments are those of `argmax`.
    """
    return _argmin_op(input, as_dtype(output_type), 0 if axis is None else axis, name=name)


# Counting.

_count_nonzero = op(
    "CountNonzero", "input: T, axis: host -> dtype", traits={FRESH}, T=FIXED | STRING, dtype=NUMERIC, keep_dims=False
)
_count_nonzero.shape(_reduced_shape)
_count_nonzero.stops_gradients()


@_count_nonzero.kernel(CPU)
@_count_nonzero.kernel(GPU, T=FIXED)
def _count_nonzero_kernel(input: torch.Tensor, axis: HostValue, *, keep_dims: bool, dtype: DType) -> torch.Tensor:
    counts = _kernel(_sum_of_bools)(input != 0, axis, keep_dims)
    return counts.to(TORCH_DTYPE[dtype])


@_count_nonzero.kernel(CPU, T=STRING)
def _count_strings(input: np.ndarray[Any, Any], axis: HostValue, *, keep_dims: bool, dtype: DType) -> torch.Tensor:
    return _count_nonzero_kernel(torch.from_numpy(np.asarray(input != b"")), axis, keep_dims=keep_dims, dtype=dtype)


def _sum_of_bools(x: torch.Tensor, axes: Axes, keep: bool) -> torch.Tensor:
    return torch.sum(x, axes, keep, dtype=torch.int64)


@export("math.count_nonzero", v1=())
def count_nonzero(
    input: ArrayLike,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = dt.int64,
    name: str | None = "count_nonzero",
) -> Tensor:
    """Counts the elements along `axis` that are not zero, not false, or not the empty string."""
    axis = EVERY_AXIS if axis is None else axis
    return _count_nonzero(input, axis, keep_dims=as_bool(keepdims, "keepdims"), dtype=as_dtype(dtype), name=name)


# TensorFlow 1's spellings.


class ReduceFunctionV1(Protocol):
    """A public function that reduces a tensor, with TensorFlow 1's arguments."""

    def __call__(
        self,
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: AxisLike | None = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        """Runs the op."""
        ...


def _v1(function: ReduceFunction) -> ReduceFunctionV1:
    """The same function with TensorFlow 1's old argument names beside the new ones."""

    def call(
        input_tensor: ArrayLike,
        axis: AxisLike | None = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: AxisLike | None = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        axis = renamed("axis", axis, "reduction_indices", reduction_indices)
        return function(input_tensor, axis, renamed("keepdims", keepdims, "keep_dims", keep_dims), name)

    for attribute in ("__name__", "__qualname__", "__doc__"):  # functools.wraps would show the other signature too
        setattr(call, attribute, getattr(function, attribute))
    return call


reduce_sum_v1 = export(v1=("reduce_sum", "math.reduce_sum"))(_v1(reduce_sum))
reduce_mean_v1 = export(v1=("reduce_mean", "math.reduce_mean"))(_v1(reduce_mean))
reduce_prod_v1 = export(v1=("reduce_prod", "math.reduce_prod"))(_v1(reduce_prod))
reduce_max_v1 = export(v1=("reduce_max", "math.reduce_max"))(_v1(reduce_max))
reduce_min_v1 = export(v1=("reduce_min", "math.reduce_min"))(_v1(reduce_min))
reduce_all_v1 = export(v1=("reduce_all", "math.reduce_all"))(_v1(reduce_all))
reduce_any_v1 = export(v1=("reduce_any", "math.reduce_any"))(_v1(reduce_any))
reduce_logsumexp_v1 = export(v1=("reduce_logsumexp", "math.reduce_logsumexp"))(_v1(reduce_logsumexp))


@export(v1=("count_nonzero", "math.count_nonzero"))
def count_nonzero_v1(
    input_tensor: ArrayLike | None = None,
    axis: AxisLike | None = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = dt.int64,
    name: str | None = "count_nonzero",
    reduction_indices: AxisLike | None = None,
    keep_dims: bool | None = None,
    input: ArrayLike | None = None,
) -> Tensor:
    """Counts the elements along `axis` that are not zero; TensorFlow 1's argument names."""
    return count_nonzero(
        renamed("input", input, "input_tensor", input_tensor),
        renamed("axis", axis, "reduction_indices", reduction_indices),
        renamed("keepdims", keepdims, "keep_dims", keep_dims),
        dtype,
        name,
    )


@export(v1=("argmax", "math.argmax"))
def argmax_v1(
    input: ArrayLike,
    axis: AxisLike | None = None,
    name: str | None = None,
    dimension: AxisLike | None = None,
    output_type: DTypeLike = dt.int64,
) -> Tensor:
    """Returns the index of the largest element along `axis`; TensorFlow 1's argument names."""
    return argmax(input, renamed("axis", axis, "dimension", dimension), output_type, name)


@export(v1=("argmin", "math.argmin"))
def argmin_v1(
    input: ArrayLike,
    axis: AxisLike | None = None,
    name: str | None = None,
    dimension: AxisLike | None = None,
    output_type: DTypeLike = dt.int64,
) -> Tensor:
    """Returns the index of the smallest element along `axis`; TensorFlow 1's argument names."""
    return argmin(input, renamed("axis", axis, "dimension", dimension), output_type, name)


@export(v1="arg_max")
def arg_max(
    input: ArrayLike, dimension: AxisLike, output_type: DTypeLike = dt.int64, name: str | None = None
) -> Tensor:
    """Returns the index of the largest element along `dimension`, as TensorFlow 1 first spelled it."""
    return argmax(input, dimension, output_type, name)


@export(v1="arg_min")
def arg_min(
    input: ArrayLike, dimension: AxisLike, output_type: DTypeLike = dt.int64, name: str | None = None
) -> Tensor:
    """Returns the index of the smallest element along `dimension`, as TensorFlow 1 first spelled it."""
    return argmin(input, dimension, output_type, name)
