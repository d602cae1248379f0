"""Convolution over one, two or three spatial dimensions.

The input is ``batch... x spatial x channels`` (or ``batch... x channels x spatial``), the filter
``spatial x in x out``. A filter with fewer input channels than the input convolves groups of channels.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import torch
from torch.nn import functional

from situs._src.base.dtype import FLOATING
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, Dim, TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, IntsLike, PaddingLike, SizesOf
from situs._src.ir.registry.op import Op, find_op
from situs._src.ir.registry.traits import FRESH, PRODUCT
from situs._src.ops.array import expand_dims, reshape
from situs._src.ops.array import shape as sizes_op
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.join import concat
from situs._src.ops.naming import Composed
from situs._src.ops.nn.window import (
    Slide,
    as_given,
    attributes,
    channels_first,
    defaults,
    join_shape,
    multiplications,
    passing_on,
    rank_of,
    slide,
    split_shape,
)
from situs._src.ops.reduce import reduce_prod
from situs._src.ops.spelling import renamed

CONVOLUTION = {1: "Conv1D", 2: "Conv2D", 3: "Conv3D"}
# The ops that go back: to the input, and to the filter.
TRANSPOSED = {1: "Conv1DBackpropInput", 2: "Conv2DBackpropInput", 3: "Conv3DBackpropInputV2"}
OF_FILTER = {1: "Conv1DBackpropFilter", 2: "Conv2DBackpropFilter", 3: "Conv3DBackpropFilterV2"}
_FILTER_TO_TORCH = {1: (2, 1, 0), 2: (3, 2, 0, 1), 3: (4, 3, 0, 1, 2)}


def _declare(name: str, n: int) -> Op:
    """Declares convolution over `n` spatial dimensions."""
    declared = op(name, "input: T, filter: T -> output: T", traits={FRESH, PRODUCT}, T=FLOATING, **defaults(n))
    declared.shape(partial(_conv_shape, n))
    declared.kernel(CPU, GPU)(partial(_conv_kernel, n))
    declared.work(multiplications)
    declared.gradient(passing_on(partial(_conv_gradient, n)))
    return declared


def _conv_shape(n: int, input: TensorShape, filter: TensorShape, *, data_format: str, **window: Any) -> TensorShape:
    check_filter_rank(filter, n)
    if input.rank is None or filter.rank is None:
        return UNKNOWN
    if input.rank < n + 2:
        raise ArgumentError(f"convolution input must be {n + 2}-dimensional: {brackets(input)}")
    batch, channels, sizes = split_shape(input, n, data_format)
    check_depths(channels, filter)
    laid = slide(sizes, tuple(filter[:n]), data_format, **window)
    return join_shape(batch, filter[-1], laid.counts, data_format)


def check_filter_rank(filter: TensorShape, n: int) -> None:
    """Raises unless the filter has, or may have, `n` spatial dimensions."""
    if filter.rank not in (None, n + 2):
        raise ArgumentError(f"convolution filter must be {n + 2}-dimensional: {brackets(filter)}")


def check_depths(channels: Dim, filter: TensorShape) -> None:
    """Raises unless the filter's channels fit those of the input, in one group or several."""
    *windows, depth, results = filter
    if depth == 0:
        raise ArgumentError("filter depth must be strictly positive, got 0")
    if 0 in windows:
        raise ArgumentError(
            f"filter must not have zero elements (i.e. all dimensions must be non-zero), got {brackets(filter)}"
        )
    if channels is None or depth is None:
        return
    if channels == 0 or channels % depth:
        raise ArgumentError(f"input depth must be evenly divisible by filter depth: {channels} vs {depth}")
    groups = channels // depth
    if results is not None and results % groups:
        raise ArgumentError(f"output depth must be evenly divisible by number of groups: {results} vs {groups}")


def _conv_kernel(n: int, input: torch.Tensor, filter: torch.Tensor, *, data_format: str, **window: Any) -> torch.Tensor:
    if input.ndim < n + 2 or filter.ndim != n + 2:
        raise ValueError("wrong rank")  # the shape rule says it better
    batch = input.shape[: -n - 1]
    x = input if input.ndim == n + 2 else input.reshape(prod(batch), *input.shape[-n - 1 :])
    x = channels_first(x, n, data_format)
    laid = slide(tuple(x.shape[-n:]), tuple(filter.shape[:n]), data_format, **window)
    if 0 in x.shape or 0 in filter.shape or 0 in laid.counts:  # legal, but PyTorch refuses most of it
        shape = _conv_shape(n, TensorShape(input.shape), TensorShape(filter.shape), data_format=data_format, **window)
        return input.new_zeros(shape.as_list())  # type: ignore[arg-type]
    x, laid = padded(x, laid.lifted())
    groups = x.shape[1] // filter.shape[-2]
    convolve = torch.conv3d if n == 3 else torch.conv2d
    y = convolve(x, filter_first(filter, n), None, laid.strides, laid.before, laid.dilations, groups)
    y = as_given(y, n, data_format)
    return y if input.ndim == n + 2 else y.reshape(*batch, *y.shape[1:])


def _conv_gradient(
    n: int, grad: Tensor, input: Tensor, filter: Tensor, input_shape: SizesOf, filter_shape: SizesOf, **window: Any
) -> tuple[Any, Any]:
    one = input.shape.rank == n + 2
    given = grad if one else _in_one_batch(grad, n)

    def of_input() -> Tensor:
        sizes = input_shape if one else _sizes_in_one_batch(input_shape, n)
        made = find_op(TRANSPOSED[n])(sizes, filter, given, **window)
        return made if one else reshape(made, input_shape)

    def of_filter() -> Tensor:
        return find_op(OF_FILTER[n])(input if one else _in_one_batch(input, n), filter_shape, given, **window)

    return of_input, of_filter


def _in_one_batch(x: Tensor, n: int) -> Tensor:
    """A tensor whose batch dimensions, however many, have become one."""
    sizes = tuple(x.shape) if x.shape.is_fully_defined() else sizes_op(x)
    return reshape(x, _sizes_in_one_batch(sizes, n))


def _sizes_in_one_batch(sizes: Any, n: int) -> Tensor | tuple[Any, ...]:
    if isinstance(sizes, tuple):
        return (prod(sizes[: -n - 1]), *sizes[-n - 1 :])
    return concat([expand_dims(reduce_prod(sizes[: -n - 1]), 0), sizes[-n - 1 :]], 0)


def filter_first(filter: torch.Tensor, n: int) -> torch.Tensor:
    """PyTorch's view of a filter: output channels, input channels, at least two spatial dimensions."""
    filter = filter.permute(_FILTER_TO_TORCH[n])
    return filter.unsqueeze(2) if n == 1 else filter


def padded(x: torch.Tensor, laid: Slide) -> tuple[torch.Tensor, Slide]:
    """Adds the padding that PyTorch cannot add by itself, because the two sides differ."""
    if laid.before == laid.after:
        return x, laid
    none = (0,) * len(laid.before)
    return functional.pad(x, laid.amounts()), laid._replace(before=none, after=none)


_BY_RANK = {n: _declare(name, n) for n, name in CONVOLUTION.items()}


def _convolve(
    n: int,
    input: ArrayLike,
    filters: ArrayLike,
    strides: Any,
    padding: PaddingLike,
    data_format: str | None,
    dilations: Any,
    name: str | None,
) -> Tensor:
    return _BY_RANK[n](input, filters, **attributes(n, strides, padding, data_format, dilations), name=name)


@export("nn.conv1d", v1=())
def conv1d(
    input: ArrayLike,
    filters: Any,
    stride: Any,
    padding: Any,
    data_format: str | None = "NWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolves sequences with filters.

    Args:
        input: ``batch... x width x channels`` (``batch... x channels x width`` for ``"NCW"``).
        filters: ``width x in x out``.
        stride: The step between windows.
        padding: ``"SAME"``, ``"VALID"`` or a list of three pairs.
        data_format: ``"NWC"`` or ``"NCW"``.
        dilations: The distance between the elements of a window.
        name: A name for the op.
    """
    with Composed(name, "conv1d", "Squeeze") as last:
        return _convolve(1, input, filters, stride, padding, data_format, dilations, last)


@export("nn.conv2d", v1=())
def conv2d(
    input: ArrayLike,
    filters: ArrayLike,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolves images with filters.

    Args:
        input: ``batch... x height x width x channels``, or channels first for ``"NCHW"``.
        filters: ``height x width x in x out``; `in` divides the number of channels.
        strides: One number, two, or four (one per dimension of the input).
        padding: ``"SAME"``, ``"VALID"`` or a list of four pairs.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: One number, two, or four.
        name: A name for the op.
    """
    return _convolve(2, input, filters, strides, padding, data_format, dilations, name)


@export("nn.conv3d", v1=())
def conv3d(
    input: ArrayLike,
    filters: ArrayLike,
    strides: Any,
    padding: Any,
    data_format: str | None = "NDHWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolves volumes with filters.

    Args:
        input: ``batch... x depth x height x width x channels``, or channels first for ``"NCDHW"``.
        filters: ``depth x height x width x in x out``.
        strides: One number, three, or five (one per dimension of the input).
        padding: ``"SAME"``, ``"VALID"`` or a list of five pairs.
        data_format: ``"NDHWC"`` or ``"NCDHW"``.
        dilations: One number, three, or five.
        name: A name for the op.
    """
    return _convolve(3, input, filters, strides, padding, data_format, dilations, name)


@export("nn.convolution", v1=())
def convolution(
    input: ArrayLike,
    filters: ArrayLike,
    strides: IntsLike | None = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: IntsLike | None = None,
    name: str | None = "convolution",
) -> Tensor:
    """Convolves over as many spatial dimensions as the filter has: one, two or three."""
    n = spatial_rank(filters, input)
    if _has_more_than_one(strides) and _has_more_than_one(dilations):
        raise ArgumentError(
            "`strides > 1` not supported in conjunction with `dilation_rate > 1`. "
            f"Received: strides={strides} and dilation_rate={dilations}"
        )
    return _convolve(n, input, filters, strides, padding, data_format, dilations, name)


def _has_more_than_one(steps: Any) -> bool:
    """Whether one of some steps, given as a number or a list, is larger than one."""
    numbers = steps if isinstance(steps, (list, tuple)) else [steps]
    return any(isinstance(number, int) and number > 1 for number in numbers)


def spatial_rank(filters: ArrayLike, input: ArrayLike) -> int:
    """The number of spatial dimensions of a filter.

    Raises:
        InvalidArgumentError: it is unknown, or not 1 to 3.
    """
    rank = rank_of(filters)
    if rank is None:
        rank = rank_of(input)
    if rank is None or not 3 <= rank <= 5:
        raise ArgumentError(f"`filters` must have rank 3, 4 or 5, for 1 to 3 spatial dimensions, got rank {rank}.")
    return rank - 2


@export("nn.atrous_conv2d")
def atrous_conv2d(
    value: ArrayLike, filters: ArrayLike, rate: IntsLike, padding: PaddingLike, name: str | None = "convolution"
) -> Tensor:
    """Convolves images with filters whose elements are `rate` apart."""
    return conv2d(value, filters, 1, padding, dilations=rate, name=name)


# As TensorFlow 1 spells it.


@export(v1="nn.conv1d")
def conv1d_v1(
    value: ArrayLike | None = None,
    filters: ArrayLike | None = None,
    stride: IntsLike | None = None,
    padding: PaddingLike | None = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: ArrayLike | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """Convolves sequences with filters, with TensorFlow 1's arguments."""
    return conv1d(renamed("input", input, "value", value), filters, stride, padding, data_format, dilations, name)


@export(v1="nn.conv2d")
def conv2d_v1(
    input: ArrayLike,
    filter: ArrayLike | None = None,
    strides: IntsLike | None = None,
    padding: PaddingLike | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
    filters: ArrayLike | None = None,
) -> Tensor:
    """Convolves images with filters, with TensorFlow 1's arguments."""
    return conv2d(input, renamed("filters", filters, "filter", filter), strides, padding, data_format, dilations, name)


@export(v1="nn.conv3d")
def conv3d_v1(
    input: ArrayLike,
    filter: ArrayLike | None = None,
    strides: IntsLike | None = None,
    padding: PaddingLike | None = None,
    data_format: str | None = "NDHWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
    filters: ArrayLike | None = None,
) -> Tensor:
    """Convolves volumes with filters, with TensorFlow 1's arguments."""
    return conv3d(input, renamed("filters", filters, "filter", filter), strides, padding, data_format, dilations, name)


@export(v1="nn.convolution")
def convolution_v1(
    input: ArrayLike,
    filter: ArrayLike | None = None,
    padding: PaddingLike | None = None,
    strides: IntsLike | None = None,
    dilation_rate: IntsLike | None = None,
    name: str | None = "convolution",
    data_format: str | None = None,
    filters: ArrayLike | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """Convolves over one to three spatial dimensions, with TensorFlow 1's arguments."""
    return convolution(
        input,
        renamed("filters", filters, "filter", filter),
        strides,
        padding,
        data_format,
        renamed("dilations", dilations, "dilation_rate", dilation_rate),
        name,
    )
