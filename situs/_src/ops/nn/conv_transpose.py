"""Transposed convolution: the gradient of a convolution with respect to its input.

Where a convolution of an input of `output_shape` would give `input`'s shape, the transposed one
goes the other way. The filter is ``spatial x out x in``: its channels are those of that convolution.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from situs._src.base.dtype import FLOATING
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, HostValue, IntsLike, PaddingLike, ShapeLike, SizesOf
from situs._src.ir.registry.op import Op, find_op
from situs._src.ir.registry.traits import FRESH, PRODUCT
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.naming import Composed
from situs._src.ops.nn.conv import (
    CONVOLUTION,
    OF_FILTER,
    TRANSPOSED,
    check_depths,
    check_filter_rank,
    filter_first,
    spatial_rank,
)
from situs._src.ops.nn.window import (
    Slide,
    as_given,
    attributes,
    channels_first,
    defaults,
    join_shape,
    multiplications,
    passing_on,
    slide,
    split_shape,
)
from situs._src.ops.spelling import renamed


def _declare(name: str, n: int) -> Op:
    """Declares transposed convolution over `n` spatial dimensions."""
    signature = "input_sizes: host, filter: T, out_backprop: T -> output: T"
    declared = op(name, signature, traits={FRESH, PRODUCT}, T=FLOATING, **defaults(n))
    declared.shape(partial(_transpose_shape, n))
    declared.kernel(CPU, GPU)(partial(_transpose_kernel, n))
    declared.work(multiplications)
    declared.gradient(passing_on(partial(_transpose_gradient, n)))
    return declared


def _transpose_shape(
    n: int, input_sizes: HostValue, filter: TensorShape, out_backprop: TensorShape, *, data_format: str, **window: Any
) -> TensorShape:
    check_filter_rank(filter, n)
    if out_backprop.rank not in (None, n + 2):
        raise ArgumentError(f"The input must be {n + 2}-dimensional, got {brackets(out_backprop)}")
    wanted = _result_shape(n, input_sizes, filter, out_backprop, data_format)
    if filter.rank is None or out_backprop.rank is None:
        return wanted
    batch, channels, sizes = split_shape(wanted, n, data_format)
    check_depths(channels, filter)
    laid = slide(sizes, tuple(filter[:n]), data_format, **window)
    found = join_shape(batch, filter[-1], laid.counts, data_format)
    if not found.is_compatible_with(out_backprop):
        raise ArgumentError(
            f"Size of out_backprop doesn't match computed: actual = {brackets(out_backprop)}, computed = "
            f"{brackets(found)}, which is what output_shape {brackets(wanted)} convolves to with filter "
            f"{brackets(filter)}, strides {list(window['strides'])} and padding {window['padding']}"
        )
    return wanted


def _result_shape(
    n: int, input_sizes: Any, filter: TensorShape, out_backprop: TensorShape, data_format: str
) -> TensorShape:
    batch = TensorShape([out_backprop[0]])
    sizes = [None] * n if input_sizes is None else input_sizes
    if not isinstance(sizes, (list, tuple)) or len(sizes) not in (n, n + 2):
        raise ArgumentError(f"output_shape must contain {n + 2} values or {n} values, but got: {input_sizes!r}")
    if len(sizes) == n + 2:
        return TensorShape(sizes)
    depth = None if filter.rank is None or input_sizes is None else filter[-2]  # in groups there are more channels
    return join_shape(batch, depth, sizes, data_format)


def _transpose_kernel(
    n: int, input_sizes: HostValue, filter: torch.Tensor, out_backprop: torch.Tensor, *, data_format: str, **window: Any
) -> torch.Tensor:
    # PyTorch would take what it gets and find a size of its own, so the rule is asked first.
    shape = _transpose_shape(
        n, input_sizes, TensorShape(filter.shape), TensorShape(out_backprop.shape), data_format=data_format, **window
    )
    dims: Any = shape.as_list()
    if 0 in dims or 0 in out_backprop.shape:
        return out_backprop.new_zeros(dims)
    _, channels, sizes = split_shape(shape, n, data_format)
    laid = slide(sizes, tuple(filter.shape[:n]), data_format, **window).lifted()
    x = channels_first(out_backprop, n, data_format)
    groups = channels // filter.shape[-2]  # type: ignore[operator]
    y = transposed(x, filter_first(filter, n), laid, sizes if n > 1 else (1, *sizes), groups)
    return as_given(y, n, data_format)


def _transpose_gradient(
    n: int, grad: Tensor, filter: Tensor, out_backprop: Tensor, filter_shape: SizesOf, **window: Any
) -> tuple[Any, Any]:
    return (
        lambda: find_op(OF_FILTER[n])(grad, filter_shape, out_backprop, **window),
        lambda: find_op(CONVOLUTION[n])(grad, filter, **window),
    )


def transposed(x: torch.Tensor, filter: torch.Tensor, laid: Slide, sizes: tuple[Any, ...], groups: int) -> torch.Tensor:
    """The transposed convolution of PyTorch's view of the tensors: what of `sizes` convolves to the shape of `x`."""
    symmetric = laid.before == laid.after
    margins = laid.before if symmetric else (0,) * len(sizes)
    convolve = torch.conv_transpose3d if len(sizes) == 3 else torch.conv_transpose2d
    y = convolve(x, filter, None, laid.strides, margins, _unreached(filter, laid, sizes), groups, laid.dilations)
    if not symmetric:
        for dim, (start, size) in enumerate(zip(laid.before, sizes, strict=True), start=2):
            y = y.narrow(dim, start, size)
    return y


def _unreached(filter: torch.Tensor, laid: Slide, sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """How much of the padded input lies behind the last window."""
    each = zip(sizes, filter.shape[2:], *laid, strict=True)
    return tuple(
        size + before + after - ((count - 1) * stride + (window - 1) * dilation + 1)
        for size, window, count, before, after, stride, dilation in each
    )


_BY_RANK = {n: _declare(name, n) for n, name in TRANSPOSED.items()}


def _convolve(
    n: int,
    input: ArrayLike,
    filters: ArrayLike,
    output_shape: Any,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None,
    dilations: Any,
    name: str | None,
) -> Tensor:
    if output_shape is None:
        raise ArgumentError("`output_shape` must be given: several shapes convolve to that of `input`.")
    window = attributes(n, strides, padding, data_format, dilations)
    return _BY_RANK[n](output_shape, filters, input, **window, name=name)


@export("nn.conv1d_transpose")
def conv1d_transpose(
    input: ArrayLike,
    filters: ArrayLike,
    output_shape: ShapeLike,
    strides: IntsLike,
    padding: PaddingLike = "SAME",
    data_format: str | None = "NWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Computes the transposed convolution of sequences.

    The arguments are those of `conv2d_transpose`, with one spatial dimension.
    """
    with Composed(name, "conv1d_transpose", "Squeeze") as last:
        return _convolve(1, input, filters, output_shape, strides, padding, data_format, dilations, last)


@export("nn.conv2d_transpose", v1=())
def conv2d_transpose(
    input: ArrayLike,
    filters: ArrayLike,
    output_shape: Any,
    strides: Any,
    padding: PaddingLike = "SAME",
    data_format: str | None = "NHWC",
    dilations: IntsLike | None = None,
    name: str | None = "conv2d_transpose",
) -> Tensor:
    """Computes the transposed convolution of images.

    Args:
        input: ``batch x height x width x in``, or channels first for ``"NCHW"``.
        filters: ``height x width x out x in``.
        output_shape: The shape of the result, or only its height and width.
        strides: One number, two, or four (one per dimension of the input).
        padding: ``"SAME"``, ``"VALID"`` or a list of four pairs.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: One number, two, or four.
        name: A name for the op.
    """
    return _convolve(2, input, filters, output_shape, strides, padding, data_format, dilations, name)


@export("nn.conv3d_transpose", v1=())
def conv3d_transpose(
    input: ArrayLike,
    filters: ArrayLike,
    output_shape: Any,
    strides: Any,
    padding: PaddingLike = "SAME",
    data_format: str | None = "NDHWC",
    dilations: IntsLike | None = None,
    name: str | None = "conv3d_transpose",
) -> Tensor:
    """Computes the transposed convolution of volumes.

    The arguments are those of `conv2d_transpose`, with three spatial dimensions.
    """
    return _convolve(3, input, filters, output_shape, strides, padding, data_format, dilations, name)


@export("nn.conv_transpose")
def conv_transpose(
    input: ArrayLike,
    filters: ArrayLike,
    output_shape: ShapeLike,
    strides: IntsLike,
    padding: PaddingLike = "SAME",
    data_format: str | None = None,
    dilations: IntsLike | None = None,
    name: str | None = "conv_transpose",
) -> Tensor:
    """Computes the transposed convolution over as many spatial dimensions as the filter has."""
    n = spatial_rank(filters, input)
    return _convolve(n, input, filters, output_shape, strides, padding, data_format, dilations, name)


@export("nn.atrous_conv2d_transpose")
def atrous_conv2d_transpose(
    value: ArrayLike,
    filters: ArrayLike,
    output_shape: ShapeLike,
    rate: IntsLike,
    padding: PaddingLike,
    name: str | None = "atrous_conv2d_transpose",
) -> Tensor:
    """Computes the transposed convolution of images with filters whose elements are `rate` apart."""
    return conv2d_transpose(value, filters, output_shape, 1, padding, dilations=rate, name=name)


# As TensorFlow 1 spells it.


@export(v1="nn.conv2d_transpose")
def conv2d_transpose_v1(
    value: ArrayLike | None = None,
    filter: ArrayLike | None = None,
    output_shape: ShapeLike | None = None,
    strides: IntsLike | None = None,
    padding: PaddingLike = "SAME",
    data_format: str | None = "NHWC",
    name: str | None = "conv2d_transpose",
    input: ArrayLike | None = None,
    filters: ArrayLike | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """Computes the transposed convolution of images, with TensorFlow 1's arguments."""
    value = renamed("input", input, "value", value)
    filter = renamed("filters", filters, "filter", filter)
    return conv2d_transpose(value, filter, output_shape, strides, padding, data_format, dilations, name)


@export(v1="nn.conv3d_transpose")
def conv3d_transpose_v1(
    value: ArrayLike | None = None,
    filter: ArrayLike | None = None,
    output_shape: ShapeLike | None = None,
    strides: IntsLike | None = None,
    padding: PaddingLike = "SAME",
    data_format: str | None = "NDHWC",
    name: str | None = "conv3d_transpose",
    input: ArrayLike | None = None,
    filters: ArrayLike | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """Computes the transposed convolution of volumes, with TensorFlow 1's arguments."""
    value = renamed("input", input, "value", value)
    filter = renamed("filters", filters, "filter", filter)
    return conv3d_transpose(value, filter, output_shape, strides, padding, data_format, dilations, name)
