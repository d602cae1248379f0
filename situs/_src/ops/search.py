"""Order among elements: sort, top_k, unique, searchsorted, and permutations.

Sorting is stable: of equal elements the one with the lower index comes first, in either direction.
NaN counts as larger than every number.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch

from situs._src.base.dtype import FLOATING, INDEX, REAL, WIDE_UNSIGNED, DType, as_dtype, int16, int32
from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape, brackets, normalize_axis
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, AxisLike, DTypeLike, HostInput, HostValue, IntLike, SizesOf
from situs._src.ops import quick_counts
from situs._src.ops.array import SIGNED_TWIN, as_integer, as_sizes, has_dimensions, partly
from situs._src.ops.attribute import as_bool
from situs._src.ops.define import CPU, GPU, KernelValue, of_sizes, op
from situs._src.ops.gather_gradient import gather_grad
from situs._src.ops.work import n_log_n
from situs._src.runtime.eager.bridge import TORCH_DTYPE

# Sort and Argsort.

ASCENDING, DESCENDING = "ASCENDING", "DESCENDING"
_sort = op("Sort", "values: T, axis: host -> output: T", T=REAL, direction=ASCENDING)
_argsort = op("Argsort", "values: T, axis: host -> output: int32", T=REAL, direction=ASCENDING)


for _declared in (_sort, _argsort):
    _declared.work(n_log_n)


@_sort.shape
@_argsort.shape
def _sort_shape(values: TensorShape, axis: HostValue, *, direction: str) -> TensorShape:
    if values.rank is not None and axis is not None:
        normalize_axis(as_integer(axis, "The axis of sort"), values.rank)
    return values


@_sort.kernel(CPU)
@_sort.kernel(GPU, T=REAL - WIDE_UNSIGNED)
def _sort_kernel(values: torch.Tensor, axis: HostValue, direction: str) -> torch.Tensor:
    return _sorted(values, axis, direction)[0]


@_argsort.kernel(CPU)
@_argsort.kernel(GPU, T=REAL - WIDE_UNSIGNED)
def _argsort_kernel(values: torch.Tensor, axis: HostValue, direction: str) -> torch.Tensor:
    return _sorted(values, axis, direction)[1].to(torch.int32)


def _sorted(values: torch.Tensor, axis: HostValue, direction: str) -> tuple[torch.Tensor, torch.Tensor]:
    place = normalize_axis(as_integer(axis, "The axis of sort"), values.ndim)
    return _stable_sort(values, place, direction == DESCENDING)


def _stable_sort(values: torch.Tensor, axis: int, descending: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Sorts with NaN as the largest and zeros of both signs as equal, on every device."""
    if values.is_floating_point() and values.device.type != "cpu":
        # On a GPU PyTorch sorts by bits, to which NaNs and zeros of different signs differ.
        keys = values.masked_fill(values.isnan(), torch.nan) + 0.0
        order = torch.sort(keys, dim=axis, descending=descending, stable=True).indices
        return values.gather(axis, order), order
    return torch.sort(values, dim=axis, descending=descending, stable=True)


# Permuted: elements in the order that sorts others, or, inverse, back from there.

_permuted = op("Permuted", "x: T, by: T, axis: host -> y: T", T=FLOATING, direction=ASCENDING, inverse=False)
_permuted.shape(lambda x, by, axis, *, direction, inverse: x)


@_permuted.kernel(CPU, GPU)
def _permuted_kernel(x: torch.Tensor, by: torch.Tensor, axis: HostValue, direction: str, inverse: bool) -> torch.Tensor:
    place = normalize_axis(as_integer(axis, "The axis of sort"), x.ndim)
    order = _sorted(by, place, direction)[1]
    return torch.empty_like(x).scatter_(place, order, x) if inverse else x.gather(place, order)


@_sort.gradient
def _sort_gradient(grad: Tensor, values: Tensor, axis: HostInput, *, direction: str) -> Tensor:
    return _permuted(grad, values, axis, direction=direction, inverse=True)


@_permuted.gradient
def _permuted_gradient(
    grad: Tensor, by: Tensor, axis: HostInput, *, direction: str, inverse: bool
) -> tuple[Tensor, None]:
    return _permuted(grad, by, axis, direction=direction, inverse=not inverse), None


@export(
    "sort",
    differs="NaN counts as the largest; TensorFlow may put it anywhere.",
)
def sort(values: ArrayLike, axis: AxisLike = -1, direction: str = ASCENDING, name: str | None = "sort") -> Tensor:
    """Sorts a tensor along an axis.

    Args:
        values: A tensor of real numbers, of at least one dimension.
        axis: The axis; by default the last.
        direction: ``"ASCENDING"`` or ``"DESCENDING"``.
        name: A name for the op.
    """
    return _sort(values, _as_axis(axis), direction=_as_direction(direction), name=name)


@export(
    "argsort",
    differs="NaN counts as the largest; TensorFlow may put it anywhere.",
)
def argsort(
    values: ArrayLike,
    axis: AxisLike = -1,
    direction: str = ASCENDING,
    stable: bool = False,
    name: str | None = "argsort",
) -> Tensor:
    """Returns the indices (int32) that sort a tensor along an axis.

    Args:
        values: A tensor of real numbers, of at least one dimension.
        axis: The axis; by default the last.
        direction: ``"ASCENDING"`` or ``"DESCENDING"``.
        stable: Not used: the order of equal elements is always kept.
        name: A name for the op.
    """
    return _argsort(values, _as_axis(axis), direction=_as_direction(direction), name=name)


def _as_axis(axis: AxisLike) -> Any:
    if has_dimensions(axis):
        raise ArgumentError(f"Argument `axis` must be a constant scalar. Received: axis={shown(axis)}.")
    return axis


def _as_direction(direction: str) -> str:
    if not isinstance(direction, str) or direction not in (ASCENDING, DESCENDING):
        raise ArgumentError(
            f"Argument `direction` should be one of ASCENDING, DESCENDING. Received: direction={direction}"
        )
    return direction


# TopKV2 and InTopKV2.


class TopKV2(NamedTuple):
    """The result of `top_k`."""

    values: Tensor
    indices: Tensor


_top_k = op(
    "TopKV2",
    "input: T, k: host -> values: T, indices: index_type",
    T=REAL,
    index_type=INDEX | {int16},
    sorted=True,
)
_in_top_k = op("InTopKV2", "predictions: float32, targets: T, k: host -> precision: bool", T=INDEX)
_top_k.work(n_log_n)

# From so many elements on, a search for the k largest keys beats a sort of the whole rows.
_MANY = 2048


@_top_k.shape
def _top_k_shape(input: TensorShape, k: HostValue, *, sorted: bool) -> list[TensorShape]:
    if input.rank is None:
        return [UNKNOWN] * 2
    if input.rank == 0:
        raise ArgumentError("input must be >= 1-D, got shape []")
    size = input[-1]
    count = None if k is None else _as_k(k)
    if count is not None and size is not None and count > size:
        raise ArgumentError(f"input must have at least k columns. Had {size}, needed {count}")
    return [TensorShape([*input[:-1], count])] * 2


def _as_k(k: HostValue) -> int:
    if isinstance(k, tuple):
        raise ArgumentError(f"k must be scalar, got {list(k)}")
    count = as_integer(k, "k")
    if count < 0:
        raise ArgumentError(f"Need k >= 0, got {count}")
    return count


@_top_k.kernel(CPU)
@_top_k.kernel(GPU, T=REAL - WIDE_UNSIGNED)
def _top_k_kernel(
    input: torch.Tensor, k: HostValue, sorted: bool, index_type: DType
) -> tuple[torch.Tensor, torch.Tensor]:
    count = _as_k(k)
    if input.ndim == 0 or count > input.shape[-1]:
        raise ValueError("not that many")  # the shape rule says it better
    if input.numel() < _MANY or input.dtype.itemsize > 4 or input.dtype in SIGNED_TWIN:
        values, indices = (each[..., :count] for each in _stable_sort(input, -1, descending=True))
    else:
        indices = 0xFFFFFFFF - (_keys(input).topk(count, dim=-1).values & 0xFFFFFFFF)
        values = input.gather(-1, indices)
    return values, indices.to(TORCH_DTYPE[index_type])


def _keys(input: torch.Tensor) -> torch.Tensor:
    """Integers with the order of the elements in their upper half and of the indices, reversed, in the lower.

    No two are equal, so that the k largest are those that a stable sort would put first.
    """
    if input.is_floating_point():
        bits = (input.float() + 0.0).view(torch.int32)  # + 0.0 makes -0.0 equal to 0.0
        order = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).masked_fill_(input.isnan(), 0x7FFFFFFF).to(torch.int64)
    else:
        order = input.to(torch.int64)
    places = torch.arange(input.shape[-1], device=input.device)
    return (order << 32) | (0xFFFFFFFF - places)


@_top_k.gradient
def _top_k_gradient(grads: list[Any], input_shape: SizesOf, indices: Tensor) -> Tensor:
    return gather_grad(grads[0], indices, input_shape, -1, batch_dims=-1)


@_in_top_k.shape
def _in_top_k_shape(predictions: TensorShape, targets: TensorShape, k: HostValue) -> TensorShape:
    if predictions.rank not in (2, None):
        raise ArgumentError("predictions must be 2-dimensional")
    if targets.rank not in (1, None):
        raise ArgumentError("targets must be 1-dimensional")
    if not predictions[:1].is_compatible_with(targets):
        raise ArgumentError(
            f"First dimension of predictions {predictions[0]} must match length of targets {targets[0]}"
        )
    return predictions[:1].merge_with(targets)


_in_top_k_sizes = of_sizes(lambda predictions, targets: _in_top_k_shape(predictions, targets, None))


_COUNTED_EXACTLY = 2**24  # by float32


@_in_top_k.kernel(CPU)
def _in_top_k_cpu(predictions: torch.Tensor, targets: torch.Tensor, k: HostValue) -> torch.Tensor:
    _in_top_k_sizes(predictions.shape, targets.shape)
    found = quick_counts.in_top_k(predictions, targets, as_integer(k, "k"))
    return _in_top_k_by_numpy(predictions, targets, k) if found is None else found


def _in_top_k_by_numpy(predictions: torch.Tensor, targets: torch.Tensor, k: HostValue) -> torch.Tensor:
    classes = predictions.shape[1]
    rows, chosen = predictions.numpy(), targets.numpy()  # NumPy's comparisons are four times as fast as PyTorch's
    without_sign = chosen.view(f"u{chosen.itemsize}")  # so that a negative number is too large
    if not len(chosen) or without_sign.max() >= classes or classes > _COUNTED_EXACTLY:
        return _in_top_k_gpu(predictions, targets, k)
    ones = np.ones(classes, np.float32)
    better = rows > rows[np.arange(len(rows)), chosen][:, None]
    inside = better.astype(np.float32) @ ones < as_integer(k, "k")  # a product sums faster than a sum, and as exactly
    with np.errstate(all="ignore"):
        sums = rows @ ones
    return torch.from_numpy(inside if np.isfinite(sums).all() else inside & np.isfinite(rows).all(1))


@_in_top_k.kernel(GPU)
def _in_top_k_gpu(predictions: torch.Tensor, targets: torch.Tensor, k: HostValue) -> torch.Tensor:
    _in_top_k_sizes(predictions.shape, targets.shape)
    classes = predictions.shape[1]
    exists = (targets >= 0) & (targets < classes)
    if classes == 0:
        return exists
    chosen = predictions.gather(1, targets.clamp(0, classes - 1).to(torch.int64)[:, None])
    better = (predictions > chosen).sum(1)
    return exists & predictions.isfinite().all(1) & (better < as_integer(k, "k"))


@export("math.top_k", "nn.top_k")
def top_k(
    input: ArrayLike, k: IntLike = 1, sorted: bool = True, index_type: DTypeLike = int32, name: str | None = None
) -> TopKV2:
    """Returns the k largest elements along the last dimension, the largest first, and their indices.

    Args:
        input: A tensor of real numbers, of at least one dimension.
        k: How many.
        sorted: Not used: the result is always sorted.
        index_type: The dtype of the indices.
        name: A name for the op.
    """
    return TopKV2(*_top_k.many(input, k, sorted=as_bool(sorted, "sorted"), index_type=as_dtype(index_type), name=name))


@export("math.in_top_k", "nn.in_top_k", v1=())
def in_top_k(targets: ArrayLike, predictions: ArrayLike, k: IntLike, name: str | None = "in_top_k") -> Tensor:
    """Says for each row of `predictions` whether fewer than k entries exceed the one at its target.

    Args:
        targets: A vector of class numbers; one that does not exist is not among the top.
        predictions: A matrix of float32; a row with an entry that is not finite has no top.
        k: How many count as the top.
        name: A name for the op.
    """
    return _in_top_k(predictions, targets, k, name=name)


@export(v1=("math.in_top_k", "nn.in_top_k"))
def in_top_k_v1(predictions: ArrayLike, targets: ArrayLike, k: IntLike, name: str | None = "in_top_k") -> Tensor:
    """Says whether targets are in the top k, with the argument order of TensorFlow 1."""
    return in_top_k(targets, predictions, k, name)


# LowerBound and UpperBound.

_lower_bound = op("LowerBound", "sorted_inputs: T, values: T -> output: out_type", T=REAL, out_type=INDEX)
_upper_bound = op("UpperBound", "sorted_inputs: T, values: T -> output: out_type", T=REAL, out_type=INDEX)


@_lower_bound.shape
@_upper_bound.shape
def _bound_shape(sorted_inputs: TensorShape, values: TensorShape) -> TensorShape:
    if sorted_inputs.rank == 0 or values.rank == 0:
        raise ArgumentError(
            "searchsorted needs tensors of at least one dimension, got shapes "
            f"{brackets(sorted_inputs)} and {brackets(values)}"
        )
    return values


@_lower_bound.kernel(CPU, GPU)
def _lower_bound_kernel(sorted_inputs: torch.Tensor, values: torch.Tensor, out_type: DType) -> torch.Tensor:
    return _find(sorted_inputs, values, out_type, right=False)


@_upper_bound.kernel(CPU, GPU)
def _upper_bound_kernel(sorted_inputs: torch.Tensor, values: torch.Tensor, out_type: DType) -> torch.Tensor:
    return _find(sorted_inputs, values, out_type, right=True)


def _find(sorted_inputs: torch.Tensor, values: torch.Tensor, out_type: DType, right: bool) -> torch.Tensor:
    if values.ndim == 0:
        raise ValueError("one value is not a row")  # the shape rule says it better
    leading = math.prod(sorted_inputs.shape[:-1])
    if sorted_inputs.ndim > 1 and leading != math.prod(values.shape[:-1]):
        raise ArgumentError(
            "Leading dim_size of both tensors must match: "
            f"sorted_sequence is {brackets(sorted_inputs.shape)}, values {brackets(values.shape)}"
        )
    table, wanted = (_ordered(each).contiguous() for each in (sorted_inputs, values))
    if table.ndim > 1 and table.shape[:-1] != wanted.shape[:-1]:  # as many rows, in another order of dimensions
        table = table.reshape(*wanted.shape[:-1], table.shape[-1])
    return torch.searchsorted(table, wanted, right=right, out_int32=out_type is int32)


def _ordered(tensor: torch.Tensor) -> torch.Tensor:
    """Wide unsigned integers as signed ones in the same order; others as they are."""
    signed = SIGNED_TWIN.get(tensor.dtype)
    return tensor if signed is None else tensor.view(signed) ^ torch.iinfo(signed).min


@export("searchsorted")
def searchsorted(
    sorted_sequence: ArrayLike,
    values: ArrayLike,
    side: str = "left",
    out_type: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Finds where values would go into sorted rows.

    Args:
        sorted_sequence: Rows that are sorted along the last dimension.
        values: What to look for, in the row at the same place, or in the only one.
        side: ``"left"`` to go before equal elements, ``"right"`` to go after them.
        out_type: int32 or int64.
        name: A name for the op.
    """
    if not isinstance(side, str) or side not in ("left", "right"):
        raise ArgumentError(f"Argument `side` must be either 'right' or 'left'. Received: `side` = {side!r}.")
    bound = _lower_bound if side == "left" else _upper_bound
    return bound(sorted_sequence, values, out_type=as_dtype(out_type), name=name)


# Unique, UniqueWithCounts, ListDiff: in the order of first occurrence, on the CPU.


class Unique(NamedTuple):
    """The result of `unique`."""

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    """The result of `unique_with_counts`."""

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]


class ListDiff(NamedTuple):
    """The result of `setdiff1d`."""

    out: Tensor
    idx: Tensor


_unique = op("Unique", "x: T -> y: T, idx: out_idx", out_idx=INDEX)
_unique_with_counts = op("UniqueWithCounts", "x: T -> y: T, idx: out_idx, count: out_idx", out_idx=INDEX)
for _declared in (_unique, _unique_with_counts):
    _declared.work(n_log_n)
_list_diff = op("ListDiff", "x: T, y: T -> out: T, idx: out_idx", out_idx=INDEX)


@_unique.shape
def _unique_shape(x: TensorShape) -> list[TensorShape]:
    return _unique_with_counts_shape(x)[:2]


@_unique_with_counts.shape
def _unique_with_counts_shape(x: TensorShape) -> list[TensorShape]:
    if x.rank not in (1, None):
        raise ArgumentError("unique expects a 1D vector.")
    return [TensorShape([None]), x.with_rank(1), TensorShape([None])]


@_list_diff.shape
def _list_diff_shape(x: TensorShape, y: TensorShape) -> list[TensorShape]:
    for what, each in (("x", x), ("y", y)):
        if each.rank not in (1, None):
            raise ArgumentError(f"{what} should be a 1D vector.")
    return [TensorShape([None])] * 2


@_unique.kernel(CPU)
def _unique_kernel(x: KernelValue, out_idx: DType) -> tuple[Any, torch.Tensor]:
    return _first_occurrences(x, out_idx)


@_unique_with_counts.kernel(CPU)
def _unique_with_counts_kernel(x: KernelValue, out_idx: DType) -> tuple[Any, torch.Tensor, torch.Tensor]:
    y, indices = _first_occurrences(x, out_idx)
    counts = np.bincount(indices.numpy(), minlength=len(y))
    return y, indices, torch.from_numpy(counts.astype(out_idx.as_numpy_dtype))


def _first_occurrences(x: Any, out_idx: DType) -> tuple[Any, torch.Tensor]:
    """The different elements in the order in which they come, and for each element which it is."""
    if x.ndim != 1:
        raise ValueError("not a vector")  # the shape rule says it better
    array = _comparable(x)
    if array.dtype.kind == "i" and len(array) >= _MANY_NUMBERS:
        lowest = int(array.min())
        span = int(array.max()) - lowest + 1
        if span <= 4 * len(array):
            numbers, places = _first_in_table(array.astype(np.int64) - lowest, span)
            found = torch.from_numpy((numbers + lowest).astype(array.dtype))
            return found, torch.from_numpy(places.astype(out_idx.as_numpy_dtype))
    elements = array.tolist()
    seen: dict[Any, Any] = dict.fromkeys(elements)
    kind = out_idx.as_numpy_dtype
    if len(seen) == len(elements):  # all differ
        places = np.arange(len(elements), dtype=kind)
    else:
        seen.update(zip(seen, range(len(seen)), strict=True))
        places = np.fromiter(map(seen.__getitem__, elements), kind, len(elements))
    indices = torch.from_numpy(places)
    y: Any = np.fromiter(seen, array.dtype, len(seen))
    return torch.from_numpy(y).to(x.dtype) if isinstance(x, torch.Tensor) else y, indices


_MANY_NUMBERS = 64  # from how many on a table of them pays


def _first_in_table(numbers: Any, span: int) -> tuple[Any, Any]:
    """The same for numbers below `span`, by a table with a row for each: where it was seen first."""
    first = np.full(span, len(numbers))
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]  # of several, the last that is written stays
    present = np.flatnonzero(first < len(numbers))
    found = present[first[present].argsort()]
    rank = first  # for each number that is there: which it is
    rank[found] = np.arange(len(found))
    return found, rank[numbers]


def _comparable(x: ArrayLike) -> Any:
    if not isinstance(x, torch.Tensor):
        return x
    return (x.float() if x.dtype is torch.bfloat16 else x).resolve_conj().numpy()


@_list_diff.kernel(CPU)
def _list_diff_kernel(x: KernelValue, y: KernelValue, out_idx: DType) -> tuple[torch.Tensor | Any, torch.Tensor]:
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError("not a vector")  # the shape rule says it better
    known = set(_comparable(y).tolist())
    kept = [place for place, each in enumerate(_comparable(x).tolist()) if each not in known]
    indices = torch.tensor(kept, dtype=torch.int64)
    return x[indices if isinstance(x, torch.Tensor) else indices.numpy()], indices.to(TORCH_DTYPE[out_idx])


@export("unique")
def unique(x: ArrayLike, out_idx: Any = int32, name: str | None = None) -> Unique:
    """Returns the different elements of a vector in order of first occurrence, and for each element which it is."""
    return Unique(*_unique.many(x, out_idx=as_dtype(out_idx), name=name))


@export("unique_with_counts")
def unique_with_counts(x: ArrayLike, out_idx: Any = int32, name: str | None = None) -> UniqueWithCounts:
    """Returns what `unique` does, and how often each different element occurs."""
    return UniqueWithCounts(*_unique_with_counts.many(x, out_idx=as_dtype(out_idx), name=name))


@export(v1="setdiff1d")
def setdiff1d(x: ArrayLike, y: ArrayLike, index_dtype: DTypeLike = int32, name: str | None = None) -> ListDiff:
    """Returns the elements of vector `x` that are not in vector `y`, in their order, and their indices."""
    return ListDiff(*_list_diff.many(x, y, out_idx=as_dtype(index_dtype), name=name))


# InvertPermutation and UnravelIndex.

_invert_permutation = op("InvertPermutation", "x: T -> y: T", T=INDEX)
_unravel_index = op("UnravelIndex", "indices: T, dims: host -> output: T", T=INDEX)


@_invert_permutation.shape
def _invert_permutation_shape(x: TensorShape) -> TensorShape:
    if x.rank not in (1, None):
        raise ArgumentError("invert_permutation expects a 1D vector.")
    return x


@_invert_permutation.kernel(CPU, GPU)
def _invert_permutation_kernel(x: torch.Tensor) -> torch.Tensor:
    if x.ndim != 1:
        raise ValueError("not a vector")  # the shape rule says it better
    size = len(x)
    bad = x[(x < 0) | (x >= size)]
    if len(bad):
        raise ArgumentError(f"{int(bad[0])} is not between 0 and {size}")
    counts = torch.bincount(x, minlength=size)
    if size and int(counts.max()) > 1:
        raise ArgumentError(f"{int(counts.argmax())} is duplicated in the input.")
    places = torch.arange(size, dtype=x.dtype, device=x.device)
    return torch.empty_like(x).scatter_(0, x.to(torch.int64), places)


@_unravel_index.shape
def _unravel_index_shape(indices: TensorShape, dims: HostValue) -> TensorShape:
    return TensorShape([None if dims is None else len(partly(_as_dims, dims))]).concatenate(indices)


def _as_dims(dims: HostValue) -> tuple[int, ...]:
    sizes = as_sizes(dims)
    if any(size < 0 for size in sizes):
        raise ArgumentError(f"dims must not be negative, got {list(sizes)}")
    return sizes


@_unravel_index.kernel(CPU, GPU)
def _unravel_index_kernel(indices: torch.Tensor, dims: HostValue) -> torch.Tensor:
    sizes = _as_dims(dims)
    if bool(((indices < 0) | (indices >= math.prod(sizes))).any()):
        raise ArgumentError(f"index is out of bound as with dims {list(sizes)}")
    if not sizes:
        return indices.new_empty((0, *indices.shape))
    return torch.stack(torch.unravel_index(indices, sizes)).to(indices.dtype)


@export("math.invert_permutation", v1=("invert_permutation", "math.invert_permutation"))
def invert_permutation(x: ArrayLike, name: str | None = None) -> Tensor:
    """Returns the permutation that undoes `x`: ``y[x[i]] == i``."""
    return _invert_permutation(x, name=name)


@export("unravel_index")
def unravel_index(indices: ArrayLike, dims: AxisLike, name: str | None = None) -> Tensor:
    """Returns the coordinates, one row for each dimension, of places in a flattened tensor of shape `dims`."""
    return _unravel_index(indices, dims, name=name)
