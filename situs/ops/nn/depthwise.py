"""Depthwise and separable convolution of images: every channel has filters of its own."""

from __future__ import annotations

from typing import Any

import torch

from situs.dtype import FLOATING
from situs.errors import InvalidArgumentError
from situs.ops.define import CPU, GPU, op
from situs.ops.naming import Composed
from situs.ops.nn.conv import conv2d, padded
from situs.ops.nn.window import (
    as_given,
    attributes,
    channels_first,
    defaults,
    join_shape,
    shape_of,
    slide,
    split_shape,
)
from situs.ops.spelling import renamed
from situs.shapes import UNKNOWN, TensorShape, brackets
from situs.tensor import Tensor

_depthwise = op("DepthwiseConv2dNative", "input: T, filter: T -> output: T", T=FLOATING, **defaults(2))


@_depthwise.shape
def _depthwise_shape(input: TensorShape, filter: TensorShape, *, data_format: str, **window: Any) -> TensorShape:
    for what, shape in (("input", input), ("filter", filter)):
        if shape.rank not in (None, 4):
            raise InvalidArgumentError(f"{what} must be 4-dimensional: {brackets(shape)}")
    if input.rank is None or filter.rank is None:
        return UNKNOWN
    batch, channels, sizes = split_shape(input, 2, data_format)
    if channels is not None and filter[2] is not None and channels != filter[2]:
        raise InvalidArgumentError(f"input and filter must have the same depth: {channels} vs {filter[2]}")
    if 0 in filter[:2]:
        raise InvalidArgumentError(f"filter must not have zero elements, got {brackets(filter)}")
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
    weight = filter.permute(2, 3, 0, 1).reshape(-1, 1, height, width)
    return as_given(torch.conv2d(x, weight, None, laid.strides, laid.before, laid.dilations, channels), 2, data_format)


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
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


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
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
        raise InvalidArgumentError(f"pointwise_filter must have shape [1, 1, in, out], got {shape}")
    with Composed(name, "separable_conv2d") as last:
        deep = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
        return conv2d(deep, pointwise_filter, 1, "VALID", data_format, name=last)


# As TensorFlow 1 spells it.


def depthwise_conv2d_v1(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = "depthwise",
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Convolves every channel of images with filters of its own, with TensorFlow 1's arguments."""
    dilations = renamed("dilations", dilations, "rate", rate)
    return depthwise_conv2d(input, filter, strides, padding, data_format, dilations, name)


def separable_conv2d_v1(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Convolves every channel by itself, then mixes the channels, with TensorFlow 1's arguments."""
    dilations = renamed("dilations", dilations, "rate", rate)
    return separable_conv2d(input, depthwise_filter, pointwise_filter, strides, padding, data_format, dilations, name)
