"""Pooling: the maximum, or the mean, of every window.

Padding takes no part: an average counts the elements of the input alone.

PyTorch computes the positions of the maxima in any case, so max pooling returns them too, for its gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.nn import functional

from situs._src.base import dtype as dt
from situs._src.base.dtype import FLOATING, INDEX, SIGNED, as_dtype
from situs._src.base.errors import ArgumentError, UnimplementedError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, DTypeLike, IntsLike, PaddingLike, SizesOf
from situs._src.ir.registry.op import Op, find_op
from situs._src.ir.registry.traits import FRESH
from situs._src.ops.attribute import as_bool, as_word
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.nn import quick_pool
from situs._src.ops.nn.pool_window import AVG_POOL, MAX_POOL, Ints, fit_to, lay, lifted
from situs._src.ops.nn.window import (
    FORMATS,
    Slide,
    as_given,
    as_padding,
    attributes,
    channels_first,
    defaults,
    join_shape,
    passing_on,
    shape_of,
    split_shape,
    vector,
)
from situs._src.ops.spelling import renamed
from situs._src.ops.work import n_windows
from situs._src.runtime.eager.bridge import TORCH_DTYPE

_ORDERED = FLOATING | SIGNED | {dt.uint8}


def _pool_shape(n: int, input: TensorShape, *, ksize: Ints, data_format: str, **window: Any) -> TensorShape:
    if input.rank not in (None, n + 2):
        raise ArgumentError(f"pooling input must be {n + 2}-dimensional, got {brackets(input)}")
    batch, channels, sizes = split_shape(input.with_rank(n + 2), n, data_format)
    _, laid = lay(sizes, ksize, data_format, **window)
    return join_shape(batch, channels, laid.counts, data_format)


Pool = Callable[[torch.Tensor, Ints, Slide], Any]


def _pool_kernel(
    n: int, pool: Pool, input: torch.Tensor, *, ksize: Ints, data_format: str, **window: Any
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    if input.ndim != n + 2:
        raise ValueError("wrong rank")  # the shape rule says it better
    x = channels_first(input, n, data_format)
    windows, laid = lay(tuple(x.shape[-n:]), ksize, data_format, **window)
    if 0 in input.shape or 0 in laid.counts:
        shape = _pool_shape(n, TensorShape(input.shape), ksize=ksize, data_format=data_format, **window)
        empty = input.new_empty(shape.as_list())  # type: ignore[arg-type]
        return empty if pool is _mean else (empty, empty.long())
    made = pool(x, *lifted(windows, laid))
    if pool is _mean:
        return as_given(made, n, data_format)
    return as_given(made[0], n, data_format), as_given(made[1], n, data_format)


def _cropped(y: torch.Tensor, starts: Ints, laid: Slide) -> torch.Tensor:
    for dim, (start, count) in enumerate(zip(starts, laid.counts, strict=True), start=2):
        if count != y.shape[dim]:
            y = y.narrow(dim, start, count)  # type: ignore[arg-type]
    return y


def _largest(x: torch.Tensor, windows: Ints, laid: Slide) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest elements, and their places in the flattened spatial dimensions, as TensorFlow compares.

    A NaN is not counted, and nothing is less than the least finite number; but the gradient goes to a NaN that stands
    first in its window.
    """
    found = quick_pool.max_pool(x, windows, laid) if x.is_cpu else None
    y, places = _search(x, windows, laid) if found is None else found
    if not x.is_floating_point() or x.is_cuda or math.isfinite(y.amin()):  # a GPU should not wait
        return y, places
    y, places = _search(torch.where(torch.isnan(x), -torch.inf, x), windows, laid)
    _, firsts = _search(torch.full_like(x, -torch.inf), windows, laid)
    begins_lost = torch.isnan(_at(firsts, x))
    return y.clamp(min=torch.finfo(y.dtype).min), torch.where(begins_lost, firsts, places)


def _at(places: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return x.flatten(2).gather(2, places.flatten(2)).reshape(places.shape)


def _search(x: torch.Tensor, windows: Ints, laid: Slide) -> tuple[torch.Tensor, torch.Tensor]:
    """The same as PyTorch compares: a NaN is the largest."""
    pool = functional.max_pool3d_with_indices if len(windows) == 3 else functional.max_pool2d_with_indices
    sizes = tuple(x.shape[2:])
    fit = fit_to(sizes, windows, laid)
    if fit is None:
        x = functional.pad(x, laid.amounts(), value=_smallest(x.dtype))
        y, places = pool(x, windows, laid.strides, (0,) * len(windows), laid.dilations)
        return y, _without_padding(places, sizes, laid)
    y, places = pool(x, windows, laid.strides, fit.margins, laid.dilations, fit.beyond)
    return (y, places) if fit.exact else (_cropped(y, fit.starts, laid), _cropped(places, fit.starts, laid))


def _without_padding(places: torch.Tensor, sizes: Ints, laid: Slide) -> torch.Tensor:
    """Places in a padded tensor as those in the tensor itself."""
    found, factor = torch.zeros_like(places), 1
    for size, before, after in zip(sizes[::-1], laid.before[::-1], laid.after[::-1], strict=True):
        width = size + before + after
        found += (places % width - before).clamp_(0, size - 1) * factor
        places, factor = places // width, factor * size
    return found


def _smallest(dtype: torch.dtype) -> float:
    return -torch.inf if dtype.is_floating_point else torch.iinfo(dtype).min


def _mean(x: torch.Tensor, windows: Ints, laid: Slide) -> torch.Tensor:
    if max(laid.dilations) > 1:
        return _dilated_mean(x, windows, laid)
    sizes = tuple(x.shape[2:])
    fit = fit_to(sizes, windows, laid)
    if len(windows) == 2 and fit is not None:
        y = functional.avg_pool2d(x, windows, laid.strides, fit.margins, fit.beyond, count_include_pad=False)
        return _cropped(y, fit.starts, laid)
    wide = x.float() if x.dtype.itemsize == 2 else x  # avg_pool3d knows no 16-bit floats on the CPU
    if fit is None or any(window > size for window, size in zip(windows, sizes, strict=True)):
        # For windows larger than the input, which avg_pool3d refuses even where padding makes up for it.
        pool = functional.avg_pool3d if len(windows) == 3 else functional.avg_pool2d
        both = (functional.pad(each, laid.amounts()) for each in (wide, torch.ones_like(wide[:1, :1])))
        sums, counts = (pool(each, windows, laid.strides, divisor_override=1) for each in both)
        return (sums / counts).to(x.dtype)
    y = functional.avg_pool3d(wide, windows, laid.strides, fit.margins, fit.beyond, count_include_pad=False)
    return _cropped(y, fit.starts, laid).to(x.dtype)


def _dilated_mean(x: torch.Tensor, windows: Ints, laid: Slide) -> torch.Tensor:
    if any(laid.before) or any(laid.after):
        raise UnimplementedError("Dilated average pooling takes 'VALID' padding only.")
    for dim, (window, stride, dilation) in enumerate(zip(windows, laid.strides, laid.dilations, strict=True), start=2):
        x = x.unfold(dim, (window - 1) * dilation + 1, stride)[..., ::dilation]
    return x.mean(tuple(range(-len(windows), 0)))


def _declare(name: str, n: int, pool: Pool, types: dt.DTypes, signature: str) -> Op:
    """Declares pooling over `n` spatial dimensions."""
    declared = op(name, signature, traits={FRESH}, T=types, ksize=(1,) * (n + 2), **defaults(n))
    declared.kernel(CPU)(partial(_pool_kernel, n, pool))
    declared.kernel(GPU, T=FLOATING)(partial(_pool_kernel, n, pool))
    declared.work(n_windows)
    return declared


def _declare_max(name: str, n: int) -> Op:
    declared = _declare(name, n, _largest, _ORDERED, "input: T -> output: T, places: int64")
    declared.shape(lambda input, **window: (_pool_shape(n, input, **window),) * 2)
    declared.gradient(passing_on(partial(_max_gradient, f"{name}Grad"), "ksize"))
    return declared


def _declare_avg(name: str, n: int) -> Op:
    declared = _declare(name, n, _mean, FLOATING, "input: T -> output: T")
    declared.shape(partial(_pool_shape, n))
    declared.gradient(passing_on(partial(_avg_gradient, f"{name}Grad"), "ksize"))
    return declared


def _max_gradient(
    grad_op: str, grads: list[Any], input_shape: SizesOf, output: Tensor, places: Tensor, **window: Any
) -> Tensor:
    return find_op(grad_op)(input_shape, output, grads[0], places, **window)


def _avg_gradient(grad_op: str, grad: Tensor, input_shape: SizesOf, **window: Any) -> Tensor:
    return find_op(grad_op)(input_shape, grad, **window)


_MAX = {n: _declare_max(name, n) for n, name in MAX_POOL.items()}
_AVG = {n: _declare_avg(name, n) for n, name in AVG_POOL.items()}


def _run(
    ops: dict[int, Op],
    n: int,
    input: ArrayLike,
    ksize: IntsLike,
    strides: Any,
    padding: Any,
    data_format: str | None,
    name: str | None,
    dilations: Any = None,
) -> Tensor:
    window = attributes(n, strides, padding, data_format, dilations)
    window["ksize"] = vector(ksize, n, window["data_format"], "ksize")
    if ops is _MAX:
        return ops[n].many(input, **window, name=name)[0]
    if window["padding"] == "EXPLICIT":
        raise ArgumentError(f"Average pooling takes padding 'SAME' or 'VALID', got {padding!r}.")
    return ops[n](input, **window, name=name)


def _spatial_rank(input: ArrayLike, data_format: str | None) -> int:
    shape = shape_of(input)
    rank = shape.rank
    if rank is None and data_format is not None:
        rank = len(as_word(data_format, "data_format"))
    if rank is None or not 3 <= rank <= 5:
        raise ArgumentError(f"`input.shape.rank` must be 3, 4 or 5. Received: input.shape={shape} of rank {rank}.")
    return rank - 2


def _layout(n: int, data_format: str | None) -> str:
    """The data format for `n` spatial dimensions, from one that says no more than where the channels stand."""
    last, first = FORMATS[n]
    is_first = data_format is not None and as_word(data_format, "data_format").startswith("NC")
    return first if is_first else last


@export("nn.max_pool", v1="nn.max_pool_v2")
def max_pool(
    input: ArrayLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Takes the largest element of every window, over one to three spatial dimensions.

    Args:
        input: ``batch x spatial x channels``, or channels first for a format that begins with ``"NC"``.
        ksize: The sizes of a window: one number, one per spatial dimension, or one per dimension.
        strides: The steps between windows, in the same forms.
        padding: ``"SAME"``, ``"VALID"`` or a list of a pair for each dimension.
        data_format: Where the channels stand; last by default.
        name: A name for the op.
    """
    n = _spatial_rank(input, data_format)
    own = {1: "MaxPool1d", 2: "MaxPool2d", 3: "MaxPool3D"}[n] if name is None else name
    return _run(_MAX, n, input, ksize, strides, padding, _layout(n, data_format), own)


@export("nn.max_pool1d")
def max_pool1d(
    input: ArrayLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = "NWC",
    name: str | None = "MaxPool1d",
) -> Tensor:
    """Takes the largest element of every window of sequences; see `max_pool`."""
    return _run(_MAX, 1, input, ksize, strides, padding, data_format, name)


@export("nn.max_pool2d")
def max_pool2d(
    input: ArrayLike,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    name: str | None = "MaxPool2d",
) -> Tensor:
    """Takes the largest element of every window of images; see `max_pool`."""
    return _run(_MAX, 2, input, ksize, strides, padding, data_format, name)


@export(
    "nn.max_pool3d",
    differs="Where several elements are the largest, the gradient goes to the first, as in one and two "
    "dimensions; TensorFlow's goes to all of them on the CPU, to one on a GPU.",
)
def max_pool3d(
    input: ArrayLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Takes the largest element of every window of volumes; see `max_pool`."""
    return _run(_MAX, 3, input, ksize, strides, padding, data_format, name)


@export("nn.avg_pool", v1="nn.avg_pool_v2")
def avg_pool(
    input: ArrayLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Takes the mean of every window, over one to three spatial dimensions.

    The arguments are those of `max_pool`; `padding` is ``"SAME"`` or ``"VALID"``.
    """
    n = _spatial_rank(input, data_format)
    return _run(_AVG, n, input, ksize, strides, padding, _layout(n, data_format), name)


@export("nn.avg_pool1d")
def avg_pool1d(
    input: ArrayLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = "NWC",
    name: str | None = "AvgPool1D",
) -> Tensor:
    """Takes the mean of every window of sequences; see `avg_pool`."""
    return _run(_AVG, 1, input, ksize, strides, padding, data_format, name)


@export("nn.avg_pool2d", v1=())
def avg_pool2d(
    input: ArrayLike,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    name: str | None = "AvgPool2D",
) -> Tensor:
    """Takes the mean of every window of images; see `avg_pool`."""
    return _run(_AVG, 2, input, ksize, strides, padding, data_format, name)


@export("nn.avg_pool3d")
def avg_pool3d(
    input: ArrayLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Takes the mean of every window of volumes; see `avg_pool`."""
    return _run(_AVG, 3, input, ksize, strides, padding, data_format, name)


@export("nn.pool", v1=())
def pool(
    input: ArrayLike,
    window_shape: IntsLike,
    pooling_type: str,
    strides: IntsLike | None = None,
    padding: PaddingLike = "VALID",
    data_format: str | None = None,
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Pools windows over as many spatial dimensions as `window_shape` has entries.

    Args:
        input: ``batch x spatial x channels``, or channels first for a format that begins with ``"NC"``.
        window_shape: The sizes of a window, one per spatial dimension.
        pooling_type: ``"MAX"`` or ``"AVG"``.
        strides: The steps between windows.
        padding: ``"SAME"`` or ``"VALID"``; dilated windows take ``"VALID"`` only.
        data_format: Where the channels stand; last by default.
        dilations: The distances between the elements of a window.
        name: A name for the op.
    """
    n = shape_of(window_shape).num_elements() or 0
    ops = {"MAX": _MAX, "AVG": _AVG}.get(as_word(pooling_type, "pooling_type"), {})
    if n not in ops:
        raise ArgumentError(f"{n}-D {pooling_type} pooling is not supported.")
    layout = _layout(n, data_format)
    if as_padding(padding, n)[0] == "SAME" and max(vector(dilations, n, layout, "dilations")) > 1:
        raise ArgumentError("pooling with 'SAME' padding is not implemented for `dilations` > 1.")
    own = f"{pooling_type.lower()}_pool" if name is None else name
    return _run(ops, n, input, window_shape, strides, padding, layout, own, dilations)


# The largest elements and where they were.

_max_pool_with_argmax = op(
    "MaxPoolWithArgmax",
    "input: T -> output: T, argmax: Targmax",
    T=_ORDERED,
    Targmax=INDEX,
    ksize=(1, 1, 1, 1),
    strides=(1, 1, 1, 1),
    padding="VALID",
    include_batch_in_index=False,
)
_UNDILATED = {"explicit_paddings": (), "dilations": (1, 1, 1, 1)}


@_max_pool_with_argmax.shape
def _argmax_shape(
    input: TensorShape, *, ksize: Ints, strides: Ints, padding: str, include_batch_in_index: bool
) -> tuple[TensorShape, TensorShape]:
    shape = _pool_shape(2, input, ksize=ksize, data_format="NHWC", strides=strides, padding=padding, **_UNDILATED)
    return shape, shape


@_max_pool_with_argmax.kernel(CPU)
@_max_pool_with_argmax.kernel(GPU, T=FLOATING)
def _argmax_kernel(
    input: torch.Tensor,
    *,
    Targmax: dt.DType,  # noqa: N803
    ksize: Ints,
    strides: Ints,
    padding: str,
    include_batch_in_index: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    index_dtype = TORCH_DTYPE[Targmax]
    if input.ndim != 4:
        raise ValueError("wrong rank")  # the shape rule says it better
    windows, laid = lay(tuple(input.shape[1:3]), ksize, "NHWC", strides=strides, padding=padding, **_UNDILATED)
    batch, height, width, channels = input.shape
    if 0 in input.shape or 0 in laid.counts:
        empty = input.new_empty((batch, *laid.counts, channels))  # type: ignore[arg-type]
        return empty, empty.to(index_dtype)
    x = channels_first(input, 2, "NHWC")
    _, places = _largest(x, windows, laid)
    y, places = as_given(_at(places, x), 2, "NHWC"), as_given(places, 2, "NHWC")
    places = places * channels + torch.arange(channels, device=input.device)
    if include_batch_in_index:
        places = places + torch.arange(batch, device=input.device).reshape(-1, 1, 1, 1) * (height * width * channels)
    return y, places.to(index_dtype)


@_max_pool_with_argmax.gradient
def _argmax_gradient(grads: list[Any], input_shape: SizesOf, argmax: Tensor, *, include_batch_in_index: bool) -> Tensor:
    batched = include_batch_in_index
    return find_op("MaxPoolGradWithArgmax")(input_shape, grads[0], argmax, include_batch_in_index=batched)


class MaxPoolWithArgmax(NamedTuple):
    """The result of `max_pool_with_argmax`."""

    output: Tensor
    argmax: Tensor


@export("nn.max_pool_with_argmax", v1=())
def max_pool_with_argmax(
    input: ArrayLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = "NHWC",
    output_dtype: DTypeLike = dt.int64,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> MaxPoolWithArgmax:
    """Takes the largest element of every window of images, and says where it was.

    Args:
        input: ``batch x height x width x channels``.
        ksize: The sizes of a window: one number, two, or four.
        strides: The steps between windows, in the same forms.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"``.
        output_dtype: ``tf.int64`` or ``tf.int32``.
        include_batch_in_index: Whether indices count through the whole batch or start again with every image.
        name: A name for the op.

    Returns:
        The largest elements, and their indices into the flattened image or batch.
    """
    if as_word(data_format, "data_format") != "NHWC":
        raise ArgumentError(
            f"`data_format` values other than 'NHWC' are not supported. Received: data_format={data_format}"
        )
    if as_padding(padding, 2)[0] == "EXPLICIT":
        raise ArgumentError(f"max_pool_with_argmax takes padding 'SAME' or 'VALID', got {padding!r}.")
    made = _max_pool_with_argmax.many(
        input,
        ksize=vector(ksize, 2, "NHWC", "ksize"),
        strides=vector(strides, 2, "NHWC", "strides"),
        padding=padding,
        include_batch_in_index=as_bool(include_batch_in_index, "include_batch_in_index"),
        Targmax=as_dtype(output_dtype),
        name=name,
    )
    return MaxPoolWithArgmax(*made)


# As TensorFlow 1 spells it.


@export(v1="nn.max_pool")
def max_pool_v1(
    value: ArrayLike | None = None,
    ksize: IntsLike | None = None,
    strides: IntsLike | None = None,
    padding: PaddingLike | None = None,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: ArrayLike | None = None,
) -> Tensor:
    """Takes the largest element of every window of images, with TensorFlow 1's arguments."""
    return max_pool2d(renamed("input", input, "value", value), ksize, strides, padding, data_format, name)


@export(v1=("nn.avg_pool", "nn.avg_pool2d"))
def avg_pool_v1(
    value: ArrayLike | None = None,
    ksize: IntsLike | None = None,
    strides: IntsLike | None = None,
    padding: PaddingLike | None = None,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: ArrayLike | None = None,
) -> Tensor:
    """Takes the mean of every window of images, with TensorFlow 1's arguments."""
    return avg_pool2d(renamed("input", input, "value", value), ksize, strides, padding, data_format, name)


@export(v1="nn.pool")
def pool_v1(
    input: ArrayLike,
    window_shape: IntsLike,
    pooling_type: str,
    padding: PaddingLike,
    dilation_rate: IntsLike | None = None,
    strides: IntsLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """Pools windows over one to three spatial dimensions, with TensorFlow 1's arguments."""
    dilations = renamed("dilations", dilations, "dilation_rate", dilation_rate)
    return pool(input, window_shape, pooling_type, strides, padding, data_format, dilations, name)


@export(v1="nn.max_pool_with_argmax")
def max_pool_with_argmax_v1(
    input: ArrayLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = "NHWC",
    Targmax: DTypeLike | None = None,  # noqa: N803
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
    include_batch_in_index: bool = False,
) -> MaxPoolWithArgmax:
    """Takes the largest elements and their indices, with TensorFlow 1's arguments."""
    dtype = renamed("output_dtype", output_dtype, "Targmax", Targmax)
    return max_pool_with_argmax(
        input, ksize, strides, padding, data_format, dt.int64 if dtype is None else dtype, include_batch_in_index, name
    )
