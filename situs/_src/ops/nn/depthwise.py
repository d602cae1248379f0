"""Depthwise and separable convolution of images: every channel has filters of its own."""

from __future__ import annotations

from typing import Any

import torch

from situs._src.base.dtype import FLOATING
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, IntsLike, PaddingLike, SizesOf
from situs._src.ir.registry.traits import FRESH, PRODUCT
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.naming import Composed
from situs._src.ops.nn.conv import conv2d, padded
from situs._src.ops.nn.conv_gradient import filter_gradient
from situs._src.ops.nn.conv_transpose import transposed
from situs._src.ops.nn.window import (
    as_given,
    attributes,
    channels_first,
    defaults,
    join_shape,
    multiplications,
    passing_on,
    shape_of,
    slide,
    split_shape,
)
from situs._src.ops.spelling import renamed

_depthwise = op(
    "DepthwiseConv2dNative", "input: T, filter: T -> output: T", traits={FRESH, PRODUCT}, T=FLOATING, **defaults(2)
)


@_depthwise.shape
def _depthwise_shape(input: TensorShape, filter: TensorShape, *, data_format: str, **window: Any) -> TensorShape:
    for what, shape in (("input", input), ("filter", filter)):
        if shape.rank not in (None, 4):
            raise ArgumentError(f"{what} must be 4-dimensional: {brackets(shape)}")
    if input.rank is None or filter.rank is None:
        return UNKNOWN
    batch, channels, sizes = split_shape(input, 2, data_format)
    if channels is not None and filter[2] is not None and channels != filter[2]:
        raise ArgumentError(f"input and filter must have the same depth: {channels} vs {filter[2]}")
    if 0 in filter[:2]:
        raise ArgumentError(f"filter must not have zero elements, got {brackets(filter)}")
    depth = channels if filter[2] is None else filter[2]
    results = None if depth is None or filter[3] is None else depth * filter[3]
    laid = slide(sizes, tuple(filter[:2]), data_format, **window)
    return join_shape(batch, results, laid.counts, data_format)


@_depthwise.kernel(CPU, GPU)
def _depthwise_kernel(input: torch.Tensor, filter: torch.Tensor, *, data_format: str, **window: Any) -> torch.Tensor:
    if input.ndim != 4 or filter.ndim != 4:
        raise ValueError("wrong rank")  # the shape rule says it better
    height, width, channels, _ = filter.shape
    x = channels_first(input, 2, data_format)
    laid = slide(tuple(x.shape[2:]), (height, width), data_format, **window)
    if 0 in input.shape or 0 in filter.shape or 0 in laid.counts:
        shape = _depthwise_shape(TensorShape(input.shape), TensorShape(filter.shape), data_format=data_format, **window)
        return input.new_zeros(shape.as_list())  # type: ignore[arg-type]
    x, laid = padded(x, laid)
    weight = _one_channel_each(filter)
    return as_given(torch.conv2d(x, weight, None, laid.strides, laid.before, laid.dilations, channels), 2, data_format)


def _one_channel_each(filter: torch.Tensor) -> torch.Tensor:
    """PyTorch's view of the filters: each is one of a group with a single input channel."""
    height, width, _, _ = filter.shape
    return filter.permute(2, 3, 0, 1).reshape(-1, 1, height, width)


def _depthwise_gradient(
    grad: Tensor, input: Tensor, filter: Tensor, input_shape: SizesOf, filter_shape: SizesOf, **window: Any
) -> tuple[Any, Any]:
    return (
        lambda: _of_input(input_shape, filter, grad, **window),
        lambda: _of_filter(input, filter_shape, grad, **window),
    )


_depthwise.work(multiplications)
_depthwise.gradient(passing_on(_depthwise_gradient))

# The way back to the input.

_of_input = op(
    "DepthwiseConv2dNativeBackpropInput",
    "input_sizes: host, filter: T, out_backprop: T -> output: T",
    traits={PRODUCT},
    T=FLOATING,
    **defaults(2),
)


_of_input.work(multiplications)


@_of_input.shape
def _of_input_shape(
    input_sizes: Any, filter: TensorShape, out_backprop: TensorShape, *, data_format: str, **window: Any
) -> TensorShape:
    wanted = TensorShape([None] * 4 if input_sizes is None else input_sizes)
    _check_fits(wanted, filter, out_backprop, data_format=data_format, **window)
    return wanted


def _check_fits(input: TensorShape, filter: TensorShape, out_backprop: TensorShape, **window: Any) -> None:
    found = _depthwise_shape(input, filter, **window)
    if not found.is_compatible_with(out_backprop):
        raise ArgumentError(
            f"out_backprop has shape {brackets(out_backprop)}; an input of shape {brackets(input)} convolved with a "
            f"filter of shape {brackets(filter)} gives {brackets(found)}"
        )


@_of_input.kernel(CPU, GPU)
def _of_input_kernel(
    input_sizes: tuple[int, ...], filter: torch.Tensor, out_backprop: torch.Tensor, *, data_format: str, **window: Any
) -> torch.Tensor:
    shapes = TensorShape(input_sizes), TensorShape(filter.shape), TensorShape(out_backprop.shape)
    _check_fits(*shapes, data_format=data_format, **window)
    if 0 in input_sizes or 0 in out_backprop.shape:
        return out_backprop.new_zeros(input_sizes)
    _, _, sizes = split_shape(shapes[0], 2, data_format)
    laid = slide(sizes, tuple(filter.shape[:2]), data_format, **window)
    x = channels_first(out_backprop, 2, data_format)
    return as_given(transposed(x, _one_channel_each(filter), laid, sizes, filter.shape[2]), 2, data_format)


def _of_input_gradient(
    grad: Tensor, filter: Tensor, out_backprop: Tensor, filter_shape: SizesOf, **window: Any
) -> tuple[Any, Any]:
    return lambda: _of_filter(grad, filter_shape, out_backprop, **window), lambda: _depthwise(grad, filter, **window)


_of_input.gradient(passing_on(_of_input_gradient))

# The way back to the filter.

_of_filter = op(
    "DepthwiseConv2dNativeBackpropFilter",
    "input: T, filter_sizes: host, out_backprop: T -> output: T",
    traits={PRODUCT},
    T=FLOATING,
    **defaults(2),
)


_of_filter.work(multiplications)


@_of_filter.shape
def _of_filter_shape(input: TensorShape, filter_sizes: Any, out_backprop: TensorShape, **window: Any) -> TensorShape:
    wanted = TensorShape([None] * 4 if filter_sizes is None else filter_sizes)
    _check_fits(input, wanted, out_backprop, **window)
    return wanted


@_of_filter.kernel(CPU, GPU)
def _of_filter_kernel(
    input: torch.Tensor, filter_sizes: tuple[int, ...], out_backprop: torch.Tensor, *, data_format: str, **window: Any
) -> torch.Tensor:
    shapes = TensorShape(input.shape), TensorShape(filter_sizes), TensorShape(out_backprop.shape)
    _check_fits(*shapes, data_format=data_format, **window)
    if 0 in input.shape or 0 in out_backprop.shape or 0 in filter_sizes:
        return input.new_zeros(filter_sizes)
    height, width, channels, multiplier = filter_sizes
    x, y = (channels_first(each, 2, data_format) for each in (input, out_backprop))
    x, laid = padded(x, slide(tuple(x.shape[2:]), (height, width), data_format, **window))
    made = filter_gradient(x, y, (channels * multiplier, 1, height, width), laid)
    return made.reshape(channels, multiplier, height, width).permute(2, 3, 0, 1).contiguous()


def _of_filter_gradient(
    grad: Tensor, input: Tensor, out_backprop: Tensor, input_shape: SizesOf, **window: Any
) -> tuple[Any, Any]:
    return lambda: _of_input(input_shape, grad, out_backprop, **window), lambda: _depthwise(input, grad, **window)


_of_filter.gradient(passing_on(_of_filter_gradient))


@export("nn.depthwise_conv2d", v1="nn.depthwise_conv2d_native")
def depthwise_conv2d(
    input: ArrayLike,
    filter: ArrayLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = None,
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolves every channel of images with filters of its own.

    Args:
        input: ``batch x height x width x channels``, or channels first for ``"NCHW"``.
        filter: ``height x width x channels x multiplier``; channel `c` gives the results
            ``c * multiplier`` to ``(c + 1) * multiplier - 1``.
        strides: Four numbers, one per dimension of the input; or one, or two.
        padding: ``"SAME"``, ``"VALID"`` or a list of four pairs.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: One number, two, or four.
        name: A name for the op.
    """
    return _depthwise(input, filter, **attributes(2, strides, padding, data_format, dilations), name=name)


@export("nn.depthwise_conv2d_backprop_input", v1=())
def depthwise_conv2d_backprop_input(
    input_sizes: Any,
    filter: ArrayLike,
    out_backprop: ArrayLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str = "NHWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The gradient of ``tf.nn.depthwise_conv2d`` with respect to its input.

    Args:
        input_sizes: The shape of the input.
        filter: The filters.
        out_backprop: The gradient of the result.
        strides: See ``tf.nn.depthwise_conv2d``.
        padding: See ``tf.nn.depthwise_conv2d``.
        data_format: See ``tf.nn.depthwise_conv2d``.
        dilations: See ``tf.nn.depthwise_conv2d``.
        name: A name for the op.
    """
    window = attributes(2, strides, padding, data_format, dilations)
    return _of_input(input_sizes, filter, out_backprop, **window, name=name)


@export("nn.depthwise_conv2d_backprop_filter", v1=())
def depthwise_conv2d_backprop_filter(
    input: ArrayLike,
    filter_sizes: Any,
    out_backprop: ArrayLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str = "NHWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The gradient of ``tf.nn.depthwise_conv2d`` with respect to its filters.

    Args:
        input: The images.
        filter_sizes: The shape of the filters.
        out_backprop: The gradient of the result.
        strides: See ``tf.nn.depthwise_conv2d``.
        padding: See ``tf.nn.depthwise_conv2d``.
        data_format: See ``tf.nn.depthwise_conv2d``.
        dilations: See ``tf.nn.depthwise_conv2d``.
        name: A name for the op.
    """
    window = attributes(2, strides, padding, data_format, dilations)
    return _of_filter(input, filter_sizes, out_backprop, **window, name=name)


@export("nn.separable_conv2d", v1=())
def separable_conv2d(
    input: ArrayLike,
    depthwise_filter: ArrayLike,
    pointwise_filter: ArrayLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = None,
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolves every channel of images by itself, then mixes the channels.

    Args:
        input: ``batch x height x width x channels``, or channels first for ``"NCHW"``.
        depthwise_filter: ``height x width x channels x multiplier``.
        pointwise_filter: ``1 x 1 x (channels * multiplier) x out``.
        strides: Four numbers, one per dimension of the input; or one, or two.
        padding: ``"SAME"``, ``"VALID"`` or a list of four pairs.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: One number, two, or four.
        name: A name for the op.
    """
    shape = shape_of(pointwise_filter)
    if not shape.is_compatible_with([1, 1, None, None]):
        raise ArgumentError(f"pointwise_filter must have shape [1, 1, in, out], got {shape}")
    with Composed(name, "separable_conv2d") as last:
        deep = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
        return conv2d(deep, pointwise_filter, 1, "VALID", data_format, name=last)


# As TensorFlow 1 spells it.


@export(v1="nn.depthwise_conv2d")
def depthwise_conv2d_v1(
    input: ArrayLike,
    filter: ArrayLike,
    strides: IntsLike,
    padding: PaddingLike,
    rate: IntsLike | None = None,
    name: str | None = "depthwise",
    data_format: str | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """Convolves every channel of images with filters of its own, with TensorFlow 1's arguments."""
    dilations = renamed("dilations", dilations, "rate", rate)
    return depthwise_conv2d(input, filter, strides, padding, data_format, dilations, name)


@export(v1="nn.separable_conv2d")
def separable_conv2d_v1(
    input: ArrayLike,
    depthwise_filter: ArrayLike,
    pointwise_filter: ArrayLike,
    strides: IntsLike,
    padding: PaddingLike,
    rate: IntsLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """Convolves every channel by itself, then mixes the channels, with TensorFlow 1's arguments."""
    dilations = renamed("dilations", dilations, "rate", rate)
    return separable_conv2d(input, depthwise_filter, pointwise_filter, strides, padding, data_format, dilations, name)
