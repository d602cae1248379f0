"""Running sums along an axis, sums of many tensors, and sums by segment.

A segment is a group of slices of a tensor's first axis that carry the same number:

    segment_sum([1, 2, 3, 4], [0, 0, 1, 3])                 [3, 3, 0, 4]
    unsorted_segment_sum([1, 2, 3, 4], [1, 0, 1, -1], 2)    [2, 4]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch

from situs._src.base.dtype import COMPLEX, FLOATING, INDEX, NUMERIC, REAL, WIDE_UNSIGNED, DTypes, as_dtype, int32
from situs._src.base.errors import ArgumentError, DTypeError, KernelError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, Dim, TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, AxisLike, DTypeLike, HostInput, HostValue, IntLike, SizesOf
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.op import find_op
from situs._src.ir.registry.traits import ADDS, COMMUTATIVE
from situs._src.ops.array import SIGNED_TWIN, expand_dims, rank, reshape
from situs._src.ops.attribute import as_bool
from situs._src.ops.cast import as_index, cast
from situs._src.ops.compare import equal, less
from situs._src.ops.constant import convert_to_tensor, fill, ones_like
from situs._src.ops.define import CPU, GPU, compiled_as, of_sizes, op
from situs._src.ops.gather import where
from situs._src.ops.join import concat
from situs._src.ops.masked import masked
from situs._src.ops.math import conjugated, div_no_nan, divide, maximum, negative, sqrt, subtract, times
from situs._src.ops.naming import Composed
from situs._src.runtime.dispatch import binary

# Running sums and products.

Scan = Callable[[torch.Tensor, int], torch.Tensor]


class ScanFunction(Protocol):
    """A public function that runs along one axis."""

    def __call__(
        self, x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
    ) -> Tensor:
        """Runs the op."""
        ...


def _scan(name: str, scan: Scan, start: float, types: DTypes, doc: str) -> ScanFunction:
    """Declares a running op and makes its public function; `start` is what an exclusive one begins with."""
    declared = op(name, "x: T, axis: host -> out: T", T=types, exclusive=False, reverse=False)
    declared.shape(_scan_shape)
    kernel = _scan_kernel(scan, start)
    declared.kernel(CPU, GPU, T=types - WIDE_UNSIGNED)(kernel)
    if types & WIDE_UNSIGNED:
        declared.kernel(CPU, T=WIDE_UNSIGNED)(_as_signed(kernel))

    def call(
        x: ArrayLike, axis: AxisLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
    ) -> Tensor:
        switches = {"exclusive": as_bool(exclusive, "exclusive"), "reverse": as_bool(reverse, "reverse")}
        return declared(x, axis, name=name, **switches)

    call.__doc__ = doc
    return call


def _scan_shape(x: TensorShape, axis: HostValue, *, exclusive: bool, reverse: bool) -> TensorShape:
    if x.rank is not None and axis is not None:
        _scan_axis(axis, x.rank)
    return x


def _scan_axis(axis: HostValue, rank: int) -> int:
    if not isinstance(axis, int):
        raise ArgumentError(f"ScanOp: axis must be a scalar integer, not {axis!r}")
    if not -rank <= axis < rank:
        raise KernelError(f"ScanOp: Expected scan axis in the range [{-rank}, {rank}), but got {axis}")
    return axis % rank


def _scan_kernel(scan: Scan, start: float) -> Callable[..., torch.Tensor]:
    def kernel(x: torch.Tensor, axis: HostValue, exclusive: bool = False, reverse: bool = False) -> torch.Tensor:
        dim = _scan_axis(axis, x.ndim)
        result = scan(x.flip(dim) if reverse else x, dim)
        if exclusive and x.numel():
            first = torch.full_like(result.narrow(dim, 0, 1), start)
            result = torch.cat([first, result.narrow(dim, 0, result.shape[dim] - 1)], dim)
        return result.flip(dim) if reverse else result

    return kernel


def _as_signed(kernel: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A kernel of unsigned integers, which PyTorch can hardly move: results of signed ones have their bits."""

    def signed(x: torch.Tensor, axis: HostValue, exclusive: bool = False, reverse: bool = False) -> torch.Tensor:
        return kernel(x.view(SIGNED_TWIN[x.dtype]), axis, exclusive, reverse).view(x.dtype)

    return signed


cumsum = export("cumsum", "math.cumsum")(
    _scan(
        "Cumsum",
        lambda x, dim: torch.cumsum(x, dim, dtype=x.dtype),
        0,
        NUMERIC,
        "Sums up along `axis`; `exclusive` leaves each element out of its own sum, `reverse` starts from the end.",
    )
)
cumprod = export(
    "math.cumprod",
    v1=("cumprod", "math.cumprod"),
    differs="The gradient of complex numbers is conjugated, as all others are.",
)(
    _scan(
        "Cumprod",
        lambda x, dim: torch.cumprod(x, dim, dtype=x.dtype),
        1,
        NUMERIC,
        "Multiplies along `axis`; `exclusive` leaves an element out of its own product, `reverse` starts from the end.",
    )
)
cumulative_logsumexp = export(
    "math.cumulative_logsumexp",
    differs="NaN makes what follows it NaN; TensorFlow leaves it out of the sum.",
)(
    _scan(
        "CumulativeLogsumexp",
        torch.logcumsumexp,
        -math.inf,
        FLOATING,
        "Computes log(cumsum(exp(x))) along `axis` without overflow; the other arguments are those of `cumsum`.",
    )
)


@find_op("Cumsum").gradient
def _cumsum_gradient(grad: Tensor, axis: HostInput, *, exclusive: bool, reverse: bool) -> Tensor:
    return cumsum(grad, axis, exclusive, not reverse)


@find_op("Cumprod").gradient
def _cumprod_gradient(
    grad: Tensor, x: Tensor, out: Tensor, axis: HostInput, *, exclusive: bool, reverse: bool
) -> Tensor:
    return div_no_nan(cumsum(times(grad, out), axis, exclusive, not reverse), conjugated(x))


# Sums of weights times powers, exp(x) * scan(weight * exp(y)), by their logarithms: one power may be too large for its
# dtype where the product is not. They are linear in the weights, and say so by a gradient of their own: logarithms
# have none where a weight is zero.

_weigh = op("WeighPowers", "weight: T, x: T, y: T, axis: host -> out: T", T=FLOATING, exclusive=False, reverse=False)


@_weigh.shape
def _weigh_shape(
    weight: TensorShape, x: TensorShape, y: TensorShape, axis: HostValue, *, exclusive: bool, reverse: bool
) -> TensorShape:
    return _scan_shape(weight.merge_with(x).merge_with(y), axis, exclusive=exclusive, reverse=reverse)


@_weigh.kernel(CPU, GPU)
def _weigh_kernel(
    weight: torch.Tensor, x: torch.Tensor, y: torch.Tensor, axis: HostValue, exclusive: bool, reverse: bool
) -> torch.Tensor:
    def summed(size: torch.Tensor) -> torch.Tensor:
        return torch.exp(_summed_powers(torch.where(size > 0, size.log() + y, -math.inf), axis, exclusive, reverse) + x)

    return summed(weight) - summed(-weight)


_summed_powers = _scan_kernel(torch.logcumsumexp, -math.inf)


@_weigh.gradient
def _weigh_gradient(
    grad: Tensor, weight: Tensor, x: Tensor, y: Tensor, out: Tensor, axis: HostInput, *, exclusive: bool, reverse: bool
) -> tuple[Any, ...]:
    along_weight = _weigh(grad, y, x, axis, exclusive=exclusive, reverse=not reverse)
    return along_weight, lambda: times(grad, out), lambda: times(weight, along_weight)


@find_op("CumulativeLogsumexp").gradient
def _logsumexp_gradient(
    grad: Tensor, x: Tensor, out: Tensor, axis: HostInput, *, exclusive: bool, reverse: bool
) -> Tensor:
    return _weigh(grad, x, negative(out), axis, exclusive=exclusive, reverse=not reverse)


# Sums of many tensors.

_add_n = op("AddN", "inputs: T* -> sum: T", traits={ADDS, COMMUTATIVE}, T=NUMERIC)
_add_n.hints_dtype = True


@_add_n.shape
def _add_n_shape(inputs: Sequence[TensorShape]) -> TensorShape:
    merged = inputs[0]
    for number, shape in enumerate(inputs):
        if not merged.is_compatible_with(shape):
            raise ArgumentError(
                f"Inputs to operation AddN must have the same size and shape. "
                f"Input 0: {brackets(inputs[0])} != input {number}: {brackets(shape)}"
            )
        merged = merged.merge_with(shape)
    return merged


@_add_n.kernel(CPU, GPU, T=NUMERIC - WIDE_UNSIGNED)
def _add_n_kernel(inputs: list[torch.Tensor]) -> torch.Tensor:
    first = inputs[0]
    if any(x.shape != first.shape for x in inputs):
        raise ValueError("shapes differ")  # the shape rule says it better
    if len(inputs) == 1:
        return first
    total = first + inputs[1]
    for x in inputs[2:]:
        total += x
    return total


_add_n_kernel.adds_up = True  # type: ignore[attr-defined]  # see situs._src.runtime.passes.sum_parts
_add_n.fresh_when(lambda node: len(node.inputs) > 1)


@_add_n.in_place(0, 1, fits=lambda node, place: True)  # all have one shape, or it fails
def _add_n_in_place(node: Operation, place: int) -> Callable[..., torch.Tensor]:
    def add(inputs: list[torch.Tensor]) -> torch.Tensor:
        total, others = inputs[place], [x for number, x in enumerate(inputs) if number != place]
        if any(x.shape != total.shape for x in others):
            raise ValueError("shapes differ")  # the shape rule says it better
        for x in others:
            total.add_(x)
        return total

    return add


@_add_n.kernel(CPU, T=WIDE_UNSIGNED)
def _add_n_wide(inputs: list[torch.Tensor]) -> torch.Tensor:
    if any(x.shape != inputs[0].shape for x in inputs):
        raise ValueError("shapes differ")  # the shape rule says it better
    total = inputs[0].numpy().copy()
    for x in inputs[1:]:
        total += x.numpy()
    return torch.from_numpy(total)


@_add_n.gradient
def _add_n_gradient(grad: Tensor, inputs_shape: list[Any]) -> list[Tensor]:
    return [grad] * len(inputs_shape)


@export("add_n", "math.add_n")
def add_n(inputs: ArrayLike, name: str | None = None) -> Tensor:
    """Adds tensors of one shape and dtype, element by element.

    Raises:
        ValueError: there is no tensor, or their shapes differ.
    """
    return _add_n(_tensors(inputs), name=name)


def _tensors(inputs: Any) -> list[Any]:
    sequence = (
        isinstance(inputs, Iterable) and not isinstance(inputs, (str, bytes)) and getattr(inputs, "ndim", None) != 0
    )
    listed = list(inputs) if sequence else []
    if not listed or any(item is None for item in listed):
        raise ArgumentError(
            f"Inputs must be an iterable of at least one Tensor with the same dtype and shape, got {inputs!r}."
        )
    return listed


@export("math.accumulate_n", v1=("accumulate_n", "math.accumulate_n"))
def accumulate_n(
    inputs: ArrayLike, shape: Any = None, tensor_dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor:
    """Adds tensors of one shape and dtype, which may be stated to have them checked.

    Args:
        inputs: A list of tensors.
        shape: The shape that they all should have.
        tensor_dtype: The dtype that they all should have.
        name: A name for the op.
    """
    tensors = [convert_to_tensor(x) for x in _tensors(inputs)]
    for x in tensors if shape is not None else []:
        if not x.shape.is_compatible_with(shape):
            raise ArgumentError(f"Shapes {TensorShape(shape)} and {x.shape} are not compatible")
    if tensor_dtype is not None and tensors[0].dtype is not as_dtype(tensor_dtype):
        raise DTypeError(
            f"The `tensor_dtype` argument is {as_dtype(tensor_dtype)}, but `input` is of type {tensors[0].dtype}. "
            "These must be equal. Try casting the input to the desired type."
        )
    return add_n(tensors, name)


# Segments.
#
# Every segment op makes a tensor with one row per segment, filled with what an empty segment
# yields, and combines each row of the data into the row of its segment. Where slices may belong to
# no segment, one more row, cut off at the end, takes them.

Combine = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
Fill = Callable[[torch.dtype], float]


def _add_rows(base: torch.Tensor, rows: torch.Tensor, data: torch.Tensor) -> torch.Tensor:
    if data.device.type != "cpu" or data.dtype not in _RANGED:
        return base.index_add_(0, rows, data)
    return base.scatter_add_(0, _for_each(rows, data), data)  # twice as fast on the host


def _scatter(how: str, include_self: bool = False) -> Combine:
    def combine(base: torch.Tensor, rows: torch.Tensor, data: torch.Tensor) -> torch.Tensor:
        return base.scatter_reduce_(0, _for_each(rows, data), data, how, include_self=include_self)

    return combine


def _for_each(rows: torch.Tensor, data: torch.Tensor) -> torch.Tensor:
    """For each element of the data the row it belongs to; PyTorch sees that those of a slice are the same."""
    indices = rows.long()
    if data.ndim > 1:
        indices = indices.as_strided(data.shape, (indices.stride(0), *[0] * (data.ndim - 1)))
    return indices


def _extreme(how: str, never: float, bound: Fill | None = None) -> Combine:
    """The largest, or smallest, as TensorFlow compares: what comes after a NaN takes its place.

    So a segment has the extreme of what stands after its last NaN; `never` is less, or greater, than that. `bound` is
    what rows begin with, where that counts too: of unordered segments the largest is finite, or infinity.
    """
    plain, among_slices = _scatter(how, include_self=True), _scatter(how)  # the first takes half the time

    def combine(base: torch.Tensor, rows: torch.Tensor, data: torch.Tensor) -> torch.Tensor:
        base = plain(base, rows, data)  # where it has no NaN, there was none
        if (
            not data.is_floating_point() or data.is_cuda or not base.numel() or not math.isnan(base.amax().item())
        ):  # a GPU should not wait
            return base
        column = (-1, *[1] * (data.ndim - 1))
        places, to = torch.arange(len(data)).reshape(column), rows.to(torch.int64).reshape(column).expand_as(data)
        lost = torch.isnan(data)
        last = torch.full(base.shape, -1).scatter_reduce_(0, to, torch.where(lost, places, -1), "amax")
        after = places > last.gather(0, to)
        ends = torch.zeros_like(last).scatter_reduce_(0, to, after.long(), "amax")
        base = among_slices(base, rows, torch.where(after, data, never))
        if bound is not None:
            base = torch.where((last < 0) & (base == never), bound(data.dtype), base)
        return torch.where((last >= 0) & (ends == 0), torch.nan, base)

    return combine


def _by_ufunc(ufunc: Any) -> Combine:
    def combine(base: torch.Tensor, rows: torch.Tensor, data: torch.Tensor) -> torch.Tensor:
        ufunc.at(base.numpy(), rows.numpy(), data.numpy())
        return base

    return combine


def _zero(dtype: torch.dtype) -> float:
    return 0


def _one(dtype: torch.dtype) -> float:
    return 1


def _lowest(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).min if dtype.is_floating_point else torch.iinfo(dtype).min


def _highest(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).max if dtype.is_floating_point else torch.iinfo(dtype).max


def _below_all(dtype: torch.dtype) -> float:
    return -math.inf if dtype.is_floating_point else torch.iinfo(dtype).min


def _above_all(dtype: torch.dtype) -> float:
    return math.inf if dtype.is_floating_point else torch.iinfo(dtype).max


def _by_segment(data: torch.Tensor, ids: torch.Tensor, count: int, combine: Combine, fill: Fill) -> torch.Tensor:
    """Combines the slices of `data` by their segment."""
    inner = data.shape[ids.ndim :]
    begin, shape = fill(data.dtype), (count, *inner)
    base = data.new_full(shape, begin) if begin else data.new_zeros(shape)
    if not data.numel():
        return base
    if ids.ndim == 1:
        return combine(base, ids, data)
    return combine(base, ids.reshape(-1), data.reshape(ids.numel(), *inner))


def _gpu_types(name: str, native: DTypes) -> DTypes:
    """The dtypes of a segment op on a GPU, where PyTorch does not multiply complex numbers into rows."""
    return native - COMPLEX if name.endswith("Prod") else native


# Segments whose numbers stand in order.


class SegmentFunction(Protocol):
    """A public function of data and the ordered numbers of its segments."""

    def __call__(self, data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
        """Runs the op."""
        ...


SegmentKernel = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def _segment(name: str, kernel: SegmentKernel, wide: SegmentKernel, types: DTypes, doc: str) -> SegmentFunction:
    native = types - WIDE_UNSIGNED
    declared = op(name, "data: T, segment_ids: Tindices -> output: T", T=types, Tindices=INDEX)
    declared.shape(_segment_shape)
    declared.kernel(CPU, T=native)(kernel)
    declared.kernel(GPU, T=_gpu_types(name, native))(kernel)
    declared.kernel(CPU, T=WIDE_UNSIGNED)(wide)

    combined = binary(declared)

    def call(data: Any, segment_ids: ArrayLike, name: str | None = None) -> Tensor:
        if isinstance(segment_ids, Tensor):
            return combined(data, segment_ids, name)
        return declared(data, segment_ids, name=name)

    call.__doc__ = doc
    return call


def _segment_shape(data: TensorShape, segment_ids: TensorShape) -> TensorShape:
    if segment_ids.rank not in (None, 1):
        raise ArgumentError(f"segment_ids should be a vector, got shape {brackets(segment_ids)}.")
    if data.rank is None:
        return UNKNOWN
    if data.rank == 0:
        raise ArgumentError("input must be at least rank 1, got a scalar")
    if not segment_ids[:1].is_compatible_with(data[:1]):
        raise KernelError(
            f"segment_ids should be the same size as dimension 0 of input, got {brackets(segment_ids)} "
            f"for input {brackets(data)}."
        )
    return TensorShape([None]) + data[1:]


_segment_sizes = of_sizes(_segment_shape)


def _segment_count(data: torch.Tensor, ids: torch.Tensor) -> int:
    """The number of segments; one more than the last id."""
    _segment_sizes(data.shape, ids.shape)
    if not ids.numel():
        return 0
    if ids.numel() <= _FEW:
        numbers: Any = ids.tolist()
        in_order = numbers == sorted(numbers)
    else:
        numbers = ids.numpy() if ids.device.type == "cpu" else ids
        in_order = not (numbers[1:] < numbers[:-1]).any()
    if not in_order:
        raise ArgumentError("segment ids are not increasing. Sort them, or use an unsorted_segment function.")
    if numbers[0] < 0:
        raise ArgumentError(f"segment ids must be >= 0, got {int(numbers[0])}")
    return int(numbers[-1]) + 1


_FEW = 512  # numbers that Python compares sooner than others are called to
_SMALL = 1024  # elements that NumPy combines sooner than PyTorch finds out how
_RANGED = frozenset({torch.float32, torch.float64, torch.int32, torch.int64})


def _by_range(
    data: torch.Tensor, ids: torch.Tensor, count: int, ufunc: Any, averages: bool = False
) -> torch.Tensor | None:
    """Combines rows whose ids stand in order, a segment at a time; zeros where there is none.

    None where there are many elements or none, and for what NumPy does not hold.
    """
    if data.dtype not in _RANGED or data.device.type != "cpu" or not 0 < data.numel() <= _SMALL:
        return None
    numbers = ids.tolist()
    starts = [0, *[n for n in range(1, len(numbers)) if numbers[n] != numbers[n - 1]]]
    ends = [*starts[1:], len(numbers)]
    values = data.numpy()
    with np.errstate(all="ignore"):
        made = ufunc.reduceat(values, starts, axis=0)
    if averages:
        sizes = np.subtract(ends, starts).astype(values.dtype).reshape(-1, *[1] * (values.ndim - 1))
        np.divide(made, sizes, out=made)
    if len(starts) < count:
        present, made_of_them = [numbers[start] for start in starts], made
        made = np.zeros((count, *values.shape[1:]), values.dtype)
        made[present] = made_of_them
    return torch.from_numpy(made)


def _combining(combine: Combine, gaps: Fill) -> SegmentKernel:
    """A kernel that combines segments; `gaps` is the result for numbers that no slice has."""

    def kernel(data: torch.Tensor, segment_ids: torch.Tensor) -> torch.Tensor:
        return _by_segment(data, segment_ids, _segment_count(data, segment_ids), combine, gaps)

    return kernel


def _finding(how: str, ufunc: Any, never: float, begin: Fill) -> SegmentKernel:
    """A kernel that finds the extremes of segments, and 0 for numbers that no slice has.

    Few elements are left to NumPy's function, wide rows to PyTorch, unless there is a NaN: see `_extreme`, which
    begins with `begin`.
    """
    combine = _extreme(how, never)

    def kernel(data: torch.Tensor, segment_ids: torch.Tensor) -> torch.Tensor:
        count = _segment_count(data, segment_ids)
        if _has_wide_rows(data) and data.numel() > _SMALL:
            made = data.new_zeros((count, *data.shape[1:]))
            made.scatter_reduce_(0, _for_each(segment_ids, data), data, how, include_self=False)
            if not math.isnan(made.amax().item()):
                return made
        ranged = _by_range(data, segment_ids, count, ufunc)
        if ranged is not None and not (data.is_floating_point() and _has_nan(ranged)):
            return ranged
        return _without_gaps(_by_segment(data, segment_ids, count, combine, begin), segment_ids)

    return kernel


def _without_gaps(made: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Rows of segments, with 0 in those whose number no slice has."""
    if len(ids) <= _FEW and ids.device.type == "cpu":
        for row in set(range(len(made))).difference(ids.tolist()):
            made[row].zero_()
        return made
    present = torch.zeros(len(made), dtype=torch.bool, device=made.device).index_fill_(0, ids.long(), True)
    return made.masked_fill_(present.logical_not_().view(-1, *[1] * (made.ndim - 1)), 0)


def _combining_wide(ufunc: Any, fill: Fill, gaps: int) -> SegmentKernel:
    """The same for wide unsigned integers: rows begin with `fill`, and where nothing came, become `gaps`."""

    def kernel(data: torch.Tensor, segment_ids: torch.Tensor) -> torch.Tensor:
        count = _segment_count(data, segment_ids)
        result = _by_segment(data, segment_ids, count, _by_ufunc(ufunc), fill)
        if fill(data.dtype) == gaps:
            return result
        bits = SIGNED_TWIN[result.dtype]  # PyTorch 2.11 fills no wide unsigned integers
        sizes = torch.bincount(segment_ids, minlength=count).reshape(count, *[1] * (data.ndim - 1))
        empty = sizes == 0
        return result.view(bits).masked_fill(empty, gaps).view(result.dtype)

    return kernel


def _has_nan(made: torch.Tensor) -> bool:
    return bool(np.isnan(made.numpy()).any())


def _averaging(combine: Combine) -> SegmentKernel:
    def kernel(data: torch.Tensor, segment_ids: torch.Tensor) -> torch.Tensor:
        count = _segment_count(data, segment_ids)
        if data.is_floating_point():
            made = _by_range(data, segment_ids, count, np.add, averages=True)
            if made is not None:
                return made
            if _has_wide_rows(data):
                return _by_segment(data, segment_ids, count, _mean_of_rows, _zero)
        total = _by_segment(data, segment_ids, count, combine, _zero)
        if data.dtype.is_floating_point and data.dtype is not torch.bfloat16 and data.device.type == "cpu":
            rows = total.numpy()  # where NumPy divides sooner than PyTorch finds out how
            sizes = np.maximum(np.bincount(segment_ids.numpy(), minlength=count), 1).astype(rows.dtype)
            np.divide(rows, sizes.reshape(-1, *[1] * (rows.ndim - 1)), out=rows)
            return total
        of_each = _sizes(segment_ids, count, data.ndim)
        if data.dtype.is_floating_point:
            return total.div_(of_each)
        if data.dtype.is_complex:
            return total / of_each.to(data.dtype)
        if data.dtype in SIGNED_TWIN:  # PyTorch divides no wide unsigned integers
            return torch.from_numpy(total.numpy() // of_each.to(data.dtype).numpy())
        return torch.div(total.to(torch.int64), of_each, rounding_mode="trunc").to(data.dtype)

    return kernel


_WIDE = 16  # elements of a row, from which on PyTorch combines rows rather than elements
_BY_ROWS = frozenset({torch.float32, torch.float64})
_mean_of_rows = _scatter("mean")


def _has_wide_rows(data: torch.Tensor) -> bool:
    """Whether PyTorch combines whole rows of the data, rather than elements."""
    return data.dtype in _BY_ROWS and data.is_cpu and data.numel() >= _WIDE * len(data)


def _sizes(ids: torch.Tensor, count: int, rank: int) -> torch.Tensor:
    """How many slices each segment has, at least 1, shaped to stand beside data of that rank."""
    return torch.bincount(ids, minlength=count).clamp_min_(1).view(count, *[1] * (rank - 1))


segment_sum = export("math.segment_sum", v1=("segment_sum", "math.segment_sum"))(
    _segment(
        "SegmentSum",
        _combining(_add_rows, _zero),
        _combining_wide(np.add, _zero, 0),
        NUMERIC,
        "Sums the slices of `data` that have the same number in the ordered `segment_ids`.",
    )
)
segment_mean = export("math.segment_mean", v1=("segment_mean", "math.segment_mean"))(
    _segment(
        "SegmentMean",
        _averaging(_add_rows),
        _averaging(_by_ufunc(np.add)),
        NUMERIC,
        "Averages the slices of `data` that have the same number in the ordered `segment_ids`.",
    )
)
segment_prod = export("math.segment_prod", v1=("segment_prod", "math.segment_prod"))(
    _segment(
        "SegmentProd",
        _combining(_scatter("prod"), _one),
        _combining_wide(np.multiply, _one, 1),
        NUMERIC,
        "Multiplies the slices of `data` that have the same number in the ordered `segment_ids`.",
    )
)
segment_max = export("math.segment_max", v1=("segment_max", "math.segment_max"))(
    _segment(
        "SegmentMax",
        _finding("amax", np.maximum, -math.inf, _below_all),
        _combining_wide(np.maximum, _lowest, 0),
        REAL,
        "Finds the maximum of the slices of `data` that have the same number in the ordered `segment_ids`.",
    )
)
segment_min = export("math.segment_min", v1=("segment_min", "math.segment_min"))(
    _segment(
        "SegmentMin",
        _finding("amin", np.minimum, math.inf, _above_all),
        _combining_wide(np.minimum, _highest, 0),
        REAL,
        "Finds the minimum of the slices of `data` that have the same number in the ordered `segment_ids`.",
    )
)


# The way back: to each slice what reached its segment.

_segment_rows = op("SegmentRows", "rows: T, segment_ids: Tindices -> output: T", T=FLOATING | COMPLEX, Tindices=INDEX)


@_segment_rows.shape
def _segment_rows_shape(rows: TensorShape, segment_ids: TensorShape) -> TensorShape:
    return UNKNOWN if rows.rank is None else segment_ids + rows[1:]


@_segment_rows.kernel(CPU, GPU)
def _segment_rows_kernel(rows: torch.Tensor, segment_ids: torch.Tensor) -> torch.Tensor:
    ids, shape = segment_ids.reshape(-1), (*segment_ids.shape, *rows.shape[1:])
    if not len(rows):
        return rows.new_zeros(shape)
    outside = ((ids < 0) | (ids >= len(rows))).reshape(-1, *[1] * (rows.ndim - 1))
    return rows.index_select(0, ids.clamp(0, len(rows) - 1)).masked_fill_(outside, 0).reshape(shape)


def _rows_of(rows: Tensor, segment_ids: Tensor) -> Tensor:
    """The row of its segment for each slice; 0 for slices that are in none."""
    return _segment_rows(rows, segment_ids)


@_segment_rows.gradient
def _segment_rows_gradient(grad: Tensor, segment_ids: Tensor, rows_shape: SizesOf) -> tuple[Any, ...]:
    return unsorted_segment_sum(grad, segment_ids, rows_shape[0]), None


@find_op("SegmentSum").gradient
def _segment_sum_gradient(grad: Tensor, segment_ids: Tensor) -> tuple[Any, ...]:
    return _rows_of(grad, segment_ids), None


@find_op("SegmentMean").gradient
def _segment_mean_gradient(grad: Tensor, segment_ids: Tensor) -> tuple[Any, ...]:
    sizes = segment_sum(ones_like(segment_ids, grad.dtype), segment_ids)
    return _rows_of(div_no_nan(grad, reshape(sizes, _beside_rows(grad, sizes))), segment_ids), None


@find_op("SegmentMax").gradient
@find_op("SegmentMin").gradient
def _segment_extreme_gradient(grad: Tensor, data: Tensor, segment_ids: Tensor, output: Tensor) -> tuple[Any, ...]:
    return _extreme_gradient(grad, data, segment_ids, output, segment_sum), None


@find_op("SegmentProd").gradient
def _segment_prod_gradient(grad: Tensor, data: Tensor, segment_ids: Tensor, output: Tensor) -> tuple[Any, ...]:
    return _prod_gradient(grad, data, segment_ids, output, segment_sum, segment_prod), None


def _extreme_gradient(
    grad: Tensor, data: Tensor, segment_ids: Tensor, output: Tensor, sum_of: SegmentFunction
) -> Tensor:
    """The gradient of a maximum or minimum: equal shares for all elements that reach it."""
    chosen = equal(data, _rows_of(output, segment_ids))
    count = sum_of(cast(chosen, grad.dtype), segment_ids)
    return masked(chosen, _rows_of(div_no_nan(grad, count), segment_ids))


def _prod_gradient(
    grad: Tensor, data: Tensor, segment_ids: Tensor, output: Tensor, sum_of: SegmentFunction, prod_of: SegmentFunction
) -> Tensor:
    """The gradient of a product: for each element, the product of the others in its segment.

    By division, except where the element is the only zero of its segment.
    """
    is_zero = equal(data, 0)
    zeros = sum_of(cast(is_zero, int32), segment_ids)
    passing = masked(less(zeros, 2), grad)  # of two zeros, neither makes a difference
    without_zeros = prod_of(where(is_zero, ones_like(data), data), segment_ids)
    divided = div_no_nan(_rows_of(output, segment_ids), data)
    others = where(is_zero, _rows_of(without_zeros, segment_ids), divided)
    return times(_rows_of(passing, segment_ids), others)


# Segments whose numbers stand in any order.


class UnsortedSegmentFunction(Protocol):
    """A public function of data, the numbers of its segments, and how many there are."""

    def __call__(self, data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
        """Runs the op."""
        ...


def _unsorted_segment(
    name: str, combine: Combine, ufunc: Any, fill: Fill, types: DTypes, doc: str, on_gpu: Combine | None = None
) -> UnsortedSegmentFunction:
    declared = op(name, "data: T, segment_ids: Tindices, num_segments: host -> output: T", T=types, Tindices=INDEX)
    declared.shape(_unsorted_shape)
    native = types - WIDE_UNSIGNED
    on_host = _unsorted_kernel(combine, fill, _checked_ids, ufunc)
    on_card = _unsorted_kernel(on_gpu or combine, fill, _known_ids)
    declared.kernel(CPU, T=native)(on_host)
    declared.kernel(GPU, T=_gpu_types(name, native))(on_card)
    compiled_as(on_host, _unsorted_kernel(combine, fill, _known_ids), lambda data, ids, count: (ids >= count).any())
    compiled_as(on_card, on_card)
    declared.kernel(CPU, T=WIDE_UNSIGNED)(_unsorted_kernel(_by_ufunc(ufunc), fill, _checked_ids))

    def call(data: Any, segment_ids: ArrayLike, num_segments: IntLike, name: str | None = None) -> Tensor:
        return declared(data, as_index(segment_ids), num_segments, name=name)

    call.__doc__ = doc
    return call


def _unsorted_shape(data: TensorShape, segment_ids: TensorShape, num_segments: HostValue) -> TensorShape:
    count: Dim = None if num_segments is None else _num_segments(num_segments)
    if data.rank is None or segment_ids.rank is None:
        return UNKNOWN
    if not data[: segment_ids.rank].is_compatible_with(segment_ids):
        raise ArgumentError(
            f"data.shape = {brackets(data)} does not start with segment_ids.shape = {brackets(segment_ids)}"
        )
    return TensorShape([count]) + data[segment_ids.rank :]


_unsorted_sizes_of = of_sizes(_unsorted_shape)


def _num_segments(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ArgumentError(f"num_segments should be a scalar integer, got {value!r}")
    if value < 0:
        raise ArgumentError(f"Input num_segments == {value} must not be negative.")
    return value


def _unsorted_kernel(
    combine: Combine, fill: Fill, rows: Callable[[torch.Tensor, int], torch.Tensor], ufunc: Any = None
) -> Callable[..., torch.Tensor]:
    def kernel(data: torch.Tensor, segment_ids: torch.Tensor, num_segments: Any) -> torch.Tensor:
        _unsorted_sizes_of(data.shape, segment_ids.shape, num_segments=num_segments)
        known = rows(segment_ids, num_segments)
        count = num_segments if known is segment_ids else num_segments + 1
        made = None
        if ufunc is not None and data.dtype in _RANGED and 0 < data.numel() <= _SMALL:
            made = _few_by_segment(data, known, count, ufunc, fill)
        if made is None:
            made = _by_segment(data, known, count, combine, fill)
        return made if count == num_segments else made[:num_segments].clone()  # and the row of those left out goes

    return kernel


def _few_by_segment(data: torch.Tensor, ids: torch.Tensor, count: int, ufunc: Any, fill: Fill) -> torch.Tensor | None:
    """Combines few slices by NumPy, which is sooner; None where NaNs have to be compared: see `_extreme`."""
    values = data.numpy()
    base = np.full((count, *values.shape[ids.ndim :]), fill(data.dtype), values.dtype)
    with np.errstate(all="ignore"):
        ufunc.at(base, ids.numpy(), values)
    if data.is_floating_point() and ufunc in _EXTREMES and np.isnan(base).any():
        return None
    return torch.from_numpy(base)


_EXTREMES = frozenset({np.maximum, np.minimum})


def _checked_ids(ids: torch.Tensor, count: int) -> torch.Tensor:
    """The ids, or where there are negative ones, these turned to `count`; too large ones are an error."""
    if not ids.numel():
        return ids
    numbers: Any = ids.tolist() if ids.ndim == 1 and len(ids) <= _FEW else ids.numpy()
    lowest, highest = (min(numbers), max(numbers)) if type(numbers) is list else (numbers.min(), numbers.max())
    if highest >= count:
        where = tuple((ids >= count).nonzero()[0].tolist())
        place = ",".join(map(str, where))
        raise ArgumentError(f"segment_ids[{place}] = {int(ids[where])} is out of range [0, {count})")
    return ids if lowest >= 0 else torch.where(ids < 0, count, ids)


def _known_ids(ids: torch.Tensor, count: int) -> torch.Tensor:
    """The ids with negative and too large ones turned to `count`: a GPU drops both, as a check would have to wait."""
    return torch.where((ids < 0) | (ids >= count), count, ids)


unsorted_segment_sum = export("math.unsorted_segment_sum", v1=("unsorted_segment_sum", "math.unsorted_segment_sum"))(
    _unsorted_segment(
        "UnsortedSegmentSum",
        _add_rows,
        np.add,
        _zero,
        NUMERIC,
        "Sums the slices of `data` that have the same number in `segment_ids`; negative numbers are left out.",
    )
)
unsorted_segment_prod = export(
    "math.unsorted_segment_prod", v1=("unsorted_segment_prod", "math.unsorted_segment_prod")
)(
    _unsorted_segment(
        "UnsortedSegmentProd",
        _scatter("prod"),
        np.multiply,
        _one,
        NUMERIC,
        "Multiplies the slices of `data` that have the same number in `segment_ids`; negative numbers are left out.",
    )
)
unsorted_segment_max = export("math.unsorted_segment_max", v1=("unsorted_segment_max", "math.unsorted_segment_max"))(
    _unsorted_segment(
        "UnsortedSegmentMax",
        _extreme("amax", -math.inf, _lowest),
        np.maximum,
        _lowest,
        REAL,
        "Finds the maximum of the slices of `data` by `segment_ids`; the lowest value where there is no slice.",
        _scatter("amax", include_self=True),
    )
)
unsorted_segment_min = export("math.unsorted_segment_min", v1=("unsorted_segment_min", "math.unsorted_segment_min"))(
    _unsorted_segment(
        "UnsortedSegmentMin",
        _extreme("amin", math.inf, _highest),
        np.minimum,
        _highest,
        REAL,
        "Finds the minimum of the slices of `data` by `segment_ids`; the highest value where there is no slice.",
        _scatter("amin", include_self=True),
    )
)


@find_op("UnsortedSegmentSum").gradient
def _unsorted_sum_gradient(grad: Tensor, segment_ids: Tensor) -> tuple[Any, ...]:
    return _rows_of(grad, segment_ids), None


@find_op("UnsortedSegmentMax").gradient
@find_op("UnsortedSegmentMin").gradient
def _unsorted_extreme_gradient(
    grad: Tensor, data: Tensor, segment_ids: Tensor, num_segments: HostInput, output: Tensor
) -> tuple[Any, ...]:
    sum_of = partial(unsorted_segment_sum, num_segments=num_segments)
    return _extreme_gradient(grad, data, segment_ids, output, sum_of), None


@find_op("UnsortedSegmentProd").gradient
def _unsorted_prod_gradient(
    grad: Tensor, data: Tensor, segment_ids: Tensor, num_segments: HostInput, output: Tensor
) -> tuple[Any, ...]:
    sum_of = partial(unsorted_segment_sum, num_segments=num_segments)
    prod_of = partial(unsorted_segment_prod, num_segments=num_segments)
    return _prod_gradient(grad, data, segment_ids, output, sum_of, prod_of), None


@export("math.unsorted_segment_mean", v1=("unsorted_segment_mean", "math.unsorted_segment_mean"))
def unsorted_segment_mean(
    data: ArrayLike, segment_ids: ArrayLike, num_segments: IntLike, name: str | None = None
) -> Tensor:
    """Averages the slices of `data` that have the same number in `segment_ids`; 0 where there is no slice."""
    data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
    with Composed(name, "UnsortedSegmentMean") as last:
        sizes = _unsorted_sizes(data, segment_ids, num_segments)
        return divide(unsorted_segment_sum(data, segment_ids, num_segments), sizes, last)


@export("math.unsorted_segment_sqrt_n", v1=("unsorted_segment_sqrt_n", "math.unsorted_segment_sqrt_n"))
def unsorted_segment_sqrt_n(
    data: ArrayLike, segment_ids: ArrayLike, num_segments: IntLike, name: str | None = None
) -> Tensor:
    """Sums the slices of `data` by `segment_ids` and divides by the square root of their number."""
    data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
    with Composed(name, "UnsortedSegmentSqrtN") as last:
        sizes = _unsorted_sizes(data, segment_ids, num_segments)
        return divide(unsorted_segment_sum(data, segment_ids, num_segments), sqrt(sizes), last)


def _unsorted_sizes(data: Tensor, segment_ids: Tensor, num_segments: IntLike) -> Tensor:
    """How many slices each segment has, at least 1, in the dtype of the data and shaped to divide its sums."""
    _unsorted_shape(data.shape, segment_ids.shape, None)
    sizes = unsorted_segment_sum(ones_like(segment_ids, data.dtype), segment_ids, num_segments)
    return maximum(reshape(sizes, _beside_rows(data, segment_ids)), 1)


def _beside_rows(data: Tensor, segment_ids: Tensor) -> list[int] | Tensor:
    """The shape in which one number for each segment lies beside the segments themselves."""
    if data.shape.rank is not None and segment_ids.shape.rank is not None:
        return [-1] + [1] * (data.shape.rank - segment_ids.shape.rank)
    return concat([[-1], fill(expand_dims(subtract(rank(data), rank(segment_ids)), 0), 1)], 0)
