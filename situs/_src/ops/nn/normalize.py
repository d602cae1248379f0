"""Normalization: moments, batch, layer and local response normalization, L2 normalization."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import FIXED, FLOATING, STRING, WIDE_UNSIGNED
from situs._src.base.errors import ArgumentError, InvalidArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, TensorShape, brackets, normalize_axis
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, AxisLike
from situs._src.ir.registry.traits import FRESH, FRESH_FIRST
from situs._src.ops import cast as casts
from situs._src.ops.array import stop_gradient
from situs._src.ops.attribute import as_bool, as_float, as_int, as_word
from situs._src.ops.cast import cast, dtype_of, imag, real
from situs._src.ops.define import CPU, GPU, KernelValue, op
from situs._src.ops.math import add, maximum, multiply, negative, rsqrt, square, squared_difference, subtract
from situs._src.ops.naming import Composed
from situs._src.ops.nn.normalize_gradient import (
    FUSED,
    SPATIAL,
    batch_norm_grad,
    channel_sums,
    layer_norm_grad,
    lrn_grad,
    to_negative_power,
)
from situs._src.ops.nn.window import as_given, channels_first
from situs._src.ops.reduce import reduce_mean, reduce_sum
from situs._src.ops.spelling import renamed
from situs._src.runtime.eager.bridge import TORCH_DTYPE

_NARROW = frozenset({dt.float16, dt.bfloat16})

# Moments.


@export("nn.moments", v1=())
def moments(
    x: ArrayLike, axes: AxisLike, shift: ArrayLike | None = None, keepdims: bool | None = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Computes the mean and the variance along some axes.

    Args:
        x: A tensor; for 16-bit floats the arithmetic is float32's.
        axes: The axes to reduce, such as ``[0, 1, 2]`` for the channels of a batch of images.
        shift: Not used.
        keepdims: Whether the reduced dimensions stay, with size 1.
        name: A name for the ops.

    Returns:
        The mean and the (biased) variance.
    """
    keepdims = as_bool(keepdims, "keepdims")
    dtype = dtype_of(x)
    with Composed(name, "moments"):
        wide = cast(x, dt.float32) if dtype in _NARROW else x
        kept = reduce_mean(wide, axes, True, "mean")
        squares = squared_difference(wide, stop_gradient(kept))
        variance = reduce_mean(squares, axes, keepdims, "variance" if keepdims else "Squeeze_1")
        mean = kept if keepdims else reduce_mean(kept, axes, name="Squeeze")
        return (cast(mean, dtype), cast(variance, dtype)) if dtype in _NARROW else (mean, variance)


@export(v1="nn.moments")
def moments_v1(
    x: ArrayLike,
    axes: AxisLike,
    shift: ArrayLike | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Computes the mean and the variance along some axes, with TensorFlow 1's arguments."""
    return moments(x, axes, shift, renamed("keepdims", keepdims, "keep_dims", keep_dims), name)


# Batches.


@export("nn.batch_normalization")
def batch_normalization(
    x: ArrayLike,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: ArrayLike,
    name: str | None = None,
) -> Tensor:
    """Computes ``(x - mean) / sqrt(variance + variance_epsilon) * scale + offset``.

    Args:
        x: A floating-point tensor.
        mean: The mean; it broadcasts.
        variance: The variance; it broadcasts.
        offset: What to add, or None.
        scale: What to multiply with, or None.
        variance_epsilon: A small number that keeps the division safe.
        name: A name for the op.
    """
    dtype = dtype_of(x)
    with Composed(name, "batchnorm", "add_1") as last:
        factor = rsqrt(add(variance, variance_epsilon, "add"))
        if scale is not None:
            factor = multiply(factor, scale)
        shifted = multiply(mean, factor)
        rest = negative(shifted) if offset is None else subtract(offset, shifted)
        return add(multiply(x, cast(factor, dtype)), cast(rest, dtype), last)


@export("nn.batch_norm_with_global_normalization", v1=())
def batch_norm_with_global_normalization(
    input: ArrayLike,
    mean: ArrayLike,
    variance: ArrayLike,
    beta: Any,
    gamma: Any,
    variance_epsilon: Any,
    scale_after_normalization: bool,
    name: str | None = None,
) -> Tensor:
    """Normalises a batch; `gamma` counts only if `scale_after_normalization` says so."""
    scale = gamma if as_bool(scale_after_normalization, "scale_after_normalization") else None
    return batch_normalization(input, mean, variance, beta, scale, variance_epsilon, name)


@export(v1="nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization_v1(
    t: ArrayLike | None = None,
    m: ArrayLike | None = None,
    v: ArrayLike | None = None,
    beta: ArrayLike | None = None,
    gamma: ArrayLike | None = None,
    variance_epsilon: ArrayLike | None = None,
    scale_after_normalization: bool = False,
    name: str | None = None,
    input: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
) -> Tensor:
    """Normalises a batch, with TensorFlow 1's short names for its inputs."""
    input = renamed("input", input, "t", t)
    mean, variance = renamed("mean", mean, "m", m), renamed("variance", variance, "v", v)
    return batch_norm_with_global_normalization(
        input, mean, variance, beta, gamma, variance_epsilon, scale_after_normalization, name
    )


_fused_batch_norm = op(
    "FusedBatchNormV3",
    "x: T, scale: U, offset: U, mean: U, variance: U"
    " -> y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U",
    traits={FRESH_FIRST},
    T=FUSED,
    U=frozenset({dt.float32}),
    epsilon=1e-4,
    exponential_avg_factor=1.0,
    data_format="NHWC",
    is_training=True,
)


@_fused_batch_norm.shape
def _fused_batch_norm_shape(
    x: TensorShape,
    scale: TensorShape,
    offset: TensorShape,
    mean: TensorShape,
    variance: TensorShape,
    *,
    data_format: str,
    is_training: bool,
    exponential_avg_factor: float,
    epsilon: float,
) -> tuple[TensorShape, ...]:
    rank = SPATIAL[data_format] + 2
    if x.rank not in (None, rank):
        raise ArgumentError(f"input must be {rank}-dimensional{brackets(x)}")
    channels = TensorShape([x[1 if data_format[1] == "C" else -1]])
    unread = is_training and exponential_avg_factor == 1  # the old moments, which may then be empty
    for name, shape in (("scale", scale), ("offset", offset), ("mean", mean), ("variance", variance)):
        if shape.rank not in (None, 1):
            raise ArgumentError(f"{name} must be 1-dimensional{brackets(shape)}")
        if not shape.is_compatible_with(channels) and not (unread and name in ("mean", "variance") and shape[0] == 0):
            raise ArgumentError(
                f"{name} must have the same number of elements as the channels of x, got {shape[0]} and {channels[0]}"
            )
    return x, channels, channels, channels, channels


@_fused_batch_norm.kernel(CPU, GPU)
def _fused_batch_norm_kernel(
    x: torch.Tensor,
    scale: torch.Tensor,
    offset: torch.Tensor,
    mean: torch.Tensor,
    variance: torch.Tensor,
    *,
    data_format: str,
    is_training: bool,
    exponential_avg_factor: float,
    epsilon: float,
) -> tuple[torch.Tensor, ...]:
    n = SPATIAL[data_format]
    if x.ndim != n + 2:
        raise ValueError("wrong rank")  # the shape rule says it better
    images = channels_first(x, n, data_format)
    unread = is_training and exponential_avg_factor == 1
    for each in (scale, offset, mean, variance):
        if each.shape != images.shape[1:2] and (each.numel() or not unread):
            raise ValueError("wrong size")
    if not is_training:
        y, _, _ = torch.native_batch_norm(images, scale, offset, mean, variance, False, 0.0, epsilon)
        return as_given(y, n, data_format), mean, variance, mean, variance
    y, *moments = _trained(images, scale, offset, mean, variance, exponential_avg_factor, epsilon)
    return as_given(y, n, data_format), *moments


def _trained(
    images: torch.Tensor,
    scale: torch.Tensor,
    offset: torch.Tensor,
    mean: torch.Tensor,
    variance: torch.Tensor,
    factor: float,
    epsilon: float,
) -> tuple[torch.Tensor, ...]:
    """The normalised images, the moving mean and variance, and the batch's mean and inverse deviation."""
    if images.numel() == 0:
        return images, *(torch.full_like(scale, torch.nan) for _ in range(4))
    old_mean, old_variance = (each if each.numel() else torch.zeros_like(scale) for each in (mean, variance))
    moving_mean, moving_variance = old_mean.clone(), old_variance.clone()  # updated in place, with TensorFlow's formula
    y, batch_mean, deviation = torch.native_batch_norm(
        images, scale, offset, moving_mean, moving_variance, True, factor, epsilon
    )
    if images.numel() == images.shape[1]:  # TensorFlow takes 0 for the unbiased variance of one element, PyTorch NaN
        moving_variance = old_variance * (1 - factor)
    return y, moving_mean, moving_variance, batch_mean, deviation


@_fused_batch_norm.gradient
def _fused_batch_norm_gradient(
    grads: list[Any],
    x: Tensor,
    scale: Tensor,
    reserve_space_1: Tensor,
    reserve_space_2: Tensor,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> tuple[Any, ...]:
    if grads[0] is None:  # nothing flows back from the moments
        return None, None, None, None, None
    attrs = {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}
    return *batch_norm_grad(grads[0], x, scale, reserve_space_1, reserve_space_2, **attrs), None, None


@export(v1="nn.fused_batch_norm")
def fused_batch_norm(
    x: ArrayLike,
    scale: ArrayLike,
    offset: ArrayLike,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalises a batch of images in one kernel.

    Args:
        x: ``batch x height x width x channels``, or as `data_format` says; at most float32.
        scale: What to multiply each channel with, float32.
        offset: What to add to each channel, float32.
        mean: The means to normalise with, or, in training, to move towards the batch's.
        variance: The same for the variances.
        epsilon: A small number that keeps the division safe; at least 1.001e-5.
        data_format: ``"NHWC"``, ``"NCHW"``, ``"NDHWC"`` or ``"NCDHW"``.
        is_training: Whether to normalise with the moments of the batch itself.
        name: A name for the op.
        exponential_avg_factor: How far `mean` and `variance` move towards those of the batch: 1 is all the way.

    Returns:
        The normalised images, and the (moved) mean and unbiased variance.
    """
    if as_word(data_format, "data_format") not in SPATIAL:
        allowed = ", ".join(f'"{each}"' for each in SPATIAL)
        raise InvalidArgumentError(
            f"Value for attr 'data_format' of \"{data_format}\" is not in the list of allowed values: {allowed}"
        )
    is_training = as_bool(is_training, "is_training")
    factor = as_float(exponential_avg_factor, "exponential_avg_factor")
    if (not is_training or factor != 1.0) and (mean is None or variance is None):
        raise ArgumentError(
            "Both `mean` and `variance` must be a 1D tensor when `is_training` is False or `exponential_avg_factor` "
            f"!= 1.0. Received: `mean` {mean!r} and `variance` {variance!r}"
        )
    none = np.zeros(0, np.float32)
    y, batch_mean, batch_variance, *_ = _fused_batch_norm.many(
        x,
        scale,
        offset,
        none if mean is None else mean,
        none if variance is None else variance,
        epsilon=max(as_float(epsilon, "epsilon"), 1.001e-5),
        exponential_avg_factor=factor,
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    return y, batch_mean, batch_variance


# Layers.

_layer_norm = op(
    "LayerNorm",
    "x: T, scale: T, offset: T -> y: T, mean: U, deviation: U",
    traits={FRESH},
    T=FLOATING,
    U=FLOATING - _NARROW,
    axis=(-1,),
    epsilon=1e-3,
)


@_layer_norm.shape
def _layer_norm_shape(
    x: TensorShape, scale: TensorShape, offset: TensorShape, *, axis: tuple[int, ...], epsilon: float
) -> tuple[TensorShape, TensorShape, TensorShape]:
    if x.rank is None:
        return x, x, x
    axes = _sorted_axes(axis, x.rank)
    wanted = TensorShape(x[each] for each in axes)
    for name, shape in (("scale", scale), ("offset", offset)):
        if not shape.is_compatible_with(wanted):
            raise ArgumentError(
                f"{name} must have the shape of the normalised dimensions, {brackets(wanted)}, got {brackets(shape)}"
            )
    moments = TensorShape([*(x[each] for each in range(x.rank) if each not in axes), *(1 for _ in axes)])
    return x, moments, moments


def _sorted_axes(axis: tuple[int, ...], rank: int) -> tuple[int, ...]:
    axes = tuple(sorted({normalize_axis(each, rank) for each in axis}))
    if len(axes) != len(axis) or not axes:
        raise ArgumentError(f"axis must name each dimension at most once and at least one, got {list(axis)}")
    return axes


@_layer_norm.kernel(CPU, GPU)
def _layer_norm_kernel(
    x: torch.Tensor,
    scale: torch.Tensor,
    offset: torch.Tensor,
    *,
    axis: tuple[int, ...],
    epsilon: float,
    U: dt.DType,  # noqa: N803
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    axes = _sorted_axes(axis, x.ndim)
    sizes, wide = [x.shape[each] for each in axes], TORCH_DTYPE[U]
    last = tuple(range(x.ndim - len(axes), x.ndim))
    examples = x if axes == last else x.movedim(axes, last)
    y, mean, deviation = torch.native_layer_norm(examples, sizes, scale, offset, epsilon)
    return (y if axes == last else y.movedim(last, axes)), mean.to(wide), deviation.to(wide)


@_layer_norm.gradient
def _layer_norm_gradient(
    grads: list[Any], x: Tensor, scale: Tensor, mean: Tensor, deviation: Tensor, *, axis: tuple[int, ...]
) -> list[Tensor]:
    return layer_norm_grad(grads[0], x, scale, mean, deviation, axis)


@export("nn.layer_norm")
def layer_norm(
    x: ArrayLike,
    scale: ArrayLike,
    offset: ArrayLike,
    axis: AxisLike = -1,
    epsilon: float = 1e-3,
    name: str | None = None,
) -> Tensor:
    """Normalises every example by the mean and the variance along some axes.

    TensorFlow has no such function: there it is a layer of Keras.

    Args:
        x: A floating-point tensor.
        scale: What to multiply with, in the shape of the normalised dimensions.
        offset: What to add, in the same shape.
        axis: The axis or axes to normalise along.
        epsilon: A small number that keeps the division safe.
        name: A name for the op.
    """
    axes = tuple(as_int(each, "axis") for each in (axis if isinstance(axis, (list, tuple)) else (axis,)))
    dtype = dtype_of(x)
    wide = dt.float32 if dtype in _NARROW else dtype
    return _layer_norm.many(x, scale, offset, axis=axes, epsilon=as_float(epsilon, "epsilon"), U=wide, name=name)[0]


# Neighbouring channels.

_lrn = op("LRN", "input: T -> output: T", traits={FRESH}, T=FUSED, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5)


@_lrn.shape
def _lrn_shape(input: TensorShape, *, depth_radius: int, bias: float, alpha: float, beta: float) -> TensorShape:
    if input.rank not in (None, 4):
        raise ArgumentError(f"in must be 4-dimensional, got {brackets(input)}")
    if depth_radius < 0:
        raise ArgumentError(f"depth_radius must not be negative, got {depth_radius}")
    return input


@_lrn.kernel(CPU, GPU)
def _lrn_kernel(input: torch.Tensor, *, depth_radius: int, bias: float, alpha: float, beta: float) -> torch.Tensor:
    if input.ndim != 4 or depth_radius < 0:
        raise ValueError("wrong rank or radius")  # the shape rule says it better
    if input.numel() == 0:
        return input
    norm = channel_sums(input.float().square(), depth_radius).mul_(alpha).add_(bias)
    return (input * to_negative_power(norm, beta)).to(input.dtype)


@_lrn.gradient
def _lrn_gradient(
    grad: Tensor, input: Tensor, output: Tensor, *, depth_radius: int, bias: float, alpha: float, beta: float
) -> Tensor:
    return lrn_grad(grad, input, output, depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta)


@export("nn.local_response_normalization", "nn.lrn")
def local_response_normalization(
    input: ArrayLike,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """Divides every element by a power of the sum of squares over neighbouring channels.

    The result is ``input / (bias + alpha * sum(input[..., c - r : c + r + 1] ** 2)) ** beta``.

    Args:
        input: ``batch x height x width x channels``, at most float32.
        depth_radius: The number of neighbours on each side.
        bias: What to add to the sum.
        alpha: What to multiply the sum with.
        beta: The exponent.
        name: A name for the op.
    """
    return _lrn(
        input,
        depth_radius=as_int(depth_radius, "depth_radius"),
        bias=as_float(bias, "bias"),
        alpha=as_float(alpha, "alpha"),
        beta=as_float(beta, "beta"),
        name=name,
    )


lrn = local_response_normalization

# Lengths, and zeros.


@export("linalg.l2_normalize", "math.l2_normalize", "nn.l2_normalize")
def l2_normalize(
    x: ArrayLike,
    axis: AxisLike | None = None,
    epsilon: ArrayLike = 1e-12,
    name: str | None = None,
    dim: AxisLike | None = None,
) -> Tensor:
    """Divides by the Euclidean length along some axes, so that it becomes one.

    Args:
        x: A floating-point or complex tensor.
        axis: The axis or axes; all of them by default.
        epsilon: The least square of a length to divide by.
        name: A name for the op.
        dim: The older name of `axis`.
    """
    axis = renamed("axis", axis, "dim", dim)
    with Composed(name, "l2_normalize") as last:
        if dtype_of(x).is_complex:
            parts = real(x), imag(x)
            factor = _inverse_length(add(square(parts[0]), square(parts[1])), axis, epsilon)
            return casts.complex(multiply(parts[0], factor), multiply(parts[1], factor), last)
        return multiply(x, _inverse_length(square(x), axis, epsilon), last)


def _inverse_length(squares: Tensor, axis: AxisLike, epsilon: ArrayLike) -> Tensor:
    return rsqrt(maximum(reduce_sum(squares, axis, True), epsilon))


_zero_fraction = op("ZeroFraction", "value: T -> fraction: float32", T=FIXED | STRING)


@_zero_fraction.shape
def _zero_fraction_shape(value: TensorShape) -> TensorShape:
    return SCALAR


@_zero_fraction.kernel(CPU, GPU, T=FIXED - WIDE_UNSIGNED)
def _zero_fraction_kernel(value: torch.Tensor) -> torch.Tensor:
    zeros = value.numel() - torch.count_nonzero(value)
    return zeros.to(torch.float32) / value.numel()


@_zero_fraction.kernel(CPU, T=STRING | WIDE_UNSIGNED)
def _zero_fraction_by_numpy(value: KernelValue) -> torch.Tensor:
    empty = b"" if isinstance(value, np.ndarray) else 0
    equal = np.asarray(value) == empty
    return torch.tensor(equal.mean() if equal.size else np.nan, dtype=torch.float32)


_zero_fraction.stops_gradients()


@export("math.zero_fraction", "nn.zero_fraction")
def zero_fraction(value: ArrayLike, name: str | None = "zero_fraction") -> Tensor:
    """Returns which fraction of the elements is zero, as a float32 scalar; NaN if there are no elements."""
    return _zero_fraction(value, name=name)
