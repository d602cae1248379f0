"""Elements put where indices say: the scatter family, dynamic_partition and dynamic_stitch.

An index that does not exist is an error on the CPU. On a GPU, where looking would make the host
wait, its update is left out, as in TensorFlow: it goes to a spare row that the result does not show.

Where several updates meet, sums and extremes take all of them. Of updates that replace, the last
one wins on the CPU; on a GPU it is not said which.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from situs._src.base.dtype import (
    ALL,
    BOOL,
    COMPLEX,
    FIXED,
    FLOATING,
    INDEX,
    NUMERIC,
    REAL,
    STRING,
    WIDE_UNSIGNED,
    DTypes,
)
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, HostValue, ShapeLike, SizesOf
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import Op
from situs._src.ops.array import also_by_bits, as_attribute, as_sizes, by_bits, partly, sizes_of
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal
from situs._src.ops.constant import zeros_like
from situs._src.ops.define import CPU, GPU, KernelValue, of_sizes, op
from situs._src.ops.gather import check_bad_indices_policy, gather, gather_nd
from situs._src.ops.math import add, divide, multiply, negative
from situs._src.ops.positions import linear_indices, safe_linear_indices
from situs._src.runtime.symbolic.fold import constant_value

# How an update meets what is there: in place, on a matrix with one row for each slice that an index can name.

Combine = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], Any]


def _add_in_order(output: torch.Tensor, rows: torch.Tensor, updates: torch.Tensor) -> None:
    output.index_put_((rows,), updates, accumulate=True)  # on a CPU ten times as fast as index_add_ for wide rows


def _add(output: torch.Tensor, rows: torch.Tensor, updates: torch.Tensor) -> None:
    output.index_add_(0, rows, updates)


def _replace_in_order(output: torch.Tensor, rows: torch.Tensor, updates: torch.Tensor) -> None:
    """The last update of a row wins, as NumPy has it; index_copy_ does not promise it when it runs in parallel."""
    _as_array(output)[rows.numpy()] = _as_array(updates)


def _as_array(value: torch.Tensor) -> np.ndarray[Any, Any]:
    """The memory of a tensor of the host's as an array."""
    return (value.view(torch.int16) if value.dtype is torch.bfloat16 else value.resolve_conj()).numpy()


def _replace(output: torch.Tensor, rows: torch.Tensor, updates: torch.Tensor) -> None:
    output.index_copy_(0, rows, updates)


def _smallest(output: torch.Tensor, rows: torch.Tensor, updates: torch.Tensor) -> None:
    updates = _nan_as(torch.inf, updates)
    output.scatter_reduce_(0, rows[:, None].expand_as(updates), updates, "amin")


def _largest(output: torch.Tensor, rows: torch.Tensor, updates: torch.Tensor) -> None:
    updates = _nan_as(-torch.inf, updates)
    output.scatter_reduce_(0, rows[:, None].expand_as(updates), updates, "amax")


def _nan_as(never: float, updates: torch.Tensor) -> torch.Tensor:
    """Updates of which none is NaN, which changes nothing: in TensorFlow it is neither greater nor less."""
    return updates.nan_to_num(never, torch.inf, -torch.inf) if updates.is_floating_point() else updates


# What all kernels share.


def _check_updates(indices: TensorShape, updates: TensorShape, output: TensorShape) -> None:
    """Raises unless the updates have the shape of the slices that the indices name."""
    if updates.rank == 0 or indices.rank == 0:
        what, found = ("Updates", updates) if updates.rank == 0 else ("Indices", indices)
        raise ArgumentError(f"{what} shape must have rank at least one. Found:{brackets(found)}")
    if indices.rank is None or updates.rank is None or output.rank is None or indices[-1] is None:
        return
    outer, depth = indices.rank - 1, indices[-1]
    if not updates[:outer].is_compatible_with(indices[:-1]):
        raise ArgumentError(
            f"Dimensions [0,{outer}) of indices[shape={brackets(indices)}] must match "
            f"dimensions [0,{outer}) of updates[shape={brackets(updates)}]"
        )
    if depth > output.rank or not updates[outer:].is_compatible_with(output[depth:]):
        raise ArgumentError(
            f"Dimensions [{depth},{output.rank}) of input[shape={brackets(output)}] must match "
            f"dimensions [{outer},{updates.rank}) of updates[shape={brackets(updates)}]"
        )


_checked_updates = of_sizes(_check_updates)


def _check_values(indices: torch.Tensor, updates: KernelValue, shape: tuple[int, ...]) -> None:
    _checked_updates(indices.shape, updates.shape, tuple(shape))


def _on_cpu(base: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, combine: Combine) -> torch.Tensor:
    """`base`, which is fresh, with the updates put in; indices are checked."""
    _check_values(indices, updates, base.shape)
    rows = linear_indices(indices, base.shape, "shape")
    count, width = _matrix_shape(indices, base)
    combine(base.view(count, width), rows, updates.reshape(len(rows), width))
    return base


def _on_gpu(base: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, combine: Combine) -> torch.Tensor:
    """A copy of `base` with the updates put in, less those whose index does not exist."""
    _check_values(indices, updates, base.shape)
    rows, missing = safe_linear_indices(indices, base.shape)
    count, width = _matrix_shape(indices, base)
    output = base.new_empty((count + 1, width))
    output[:count] = base.reshape(count, width)
    output[count] = 0
    combine(output, rows.masked_fill(missing, count), updates.reshape(len(rows), width))
    return output[:count].view(base.shape)


def _matrix_shape(indices: torch.Tensor, base: torch.Tensor) -> tuple[int, int]:
    depth = indices.shape[-1]
    return math.prod(base.shape[:depth]), math.prod(base.shape[depth:])


# ScatterNd.

_scatter_nd = op("ScatterNd", "indices: Tindices, updates: T, shape: host -> output: T", Tindices=INDEX)


@_scatter_nd.shape
def _scatter_nd_shape(indices: TensorShape, updates: TensorShape, shape: HostValue) -> TensorShape:
    if shape is None:
        return UNKNOWN
    output = TensorShape(partly(as_sizes, shape))
    _check_updates(indices, updates, output)
    return output


@also_by_bits(_scatter_nd, CPU)
@_scatter_nd.kernel(CPU)
def _scatter_nd_cpu(indices: torch.Tensor, updates: torch.Tensor, shape: HostValue) -> torch.Tensor:
    return _on_cpu(updates.new_zeros(as_sizes(shape)), indices, updates, _add_in_order)


@also_by_bits(_scatter_nd, GPU)
@_scatter_nd.kernel(GPU, T=FIXED - WIDE_UNSIGNED)
def _scatter_nd_gpu(indices: torch.Tensor, updates: torch.Tensor, shape: HostValue) -> torch.Tensor:
    return _on_gpu(updates.new_zeros(()).expand(as_sizes(shape)), indices, updates, _add)


@_scatter_nd.kernel(CPU, T=STRING)
def _scatter_nd_strings(indices: torch.Tensor, updates: KernelValue, shape: HostValue) -> KernelValue:
    output = np.full(as_sizes(shape), b"", object)
    return _strings(output, indices, updates, operator.add)


def _strings(
    output: KernelValue, indices: torch.Tensor, updates: KernelValue, combine: Callable[[Any, Any], Any]
) -> KernelValue:
    _check_values(indices, updates, output.shape)
    rows = linear_indices(indices, output.shape, "shape").tolist()
    depth = indices.shape[-1]
    table = output.reshape([math.prod(output.shape[:depth]), *output.shape[depth:]])
    for row, update in zip(rows, updates.reshape([len(rows), *table.shape[1:]]), strict=True):
        table[row] = combine(table[row], update)
    return output


@_scatter_nd.gradient
def _scatter_nd_gradient(grad: Tensor, indices: Tensor) -> tuple[None, Tensor]:
    return None, gather_nd(grad, indices)


@export("scatter_nd", v1=("scatter_nd", "manip.scatter_nd"))
def scatter_nd(
    indices: ArrayLike, updates: ArrayLike, shape: ShapeLike, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """Returns zeros of a shape with updates added where indices say; updates of one place add up.

    Args:
        indices: Integers; each vector along the last axis names positions in the first dimensions. One that
            does not exist is an error on the CPU and is left out on a GPU.
        updates: The elements or slices, one for each vector.
        shape: The shape of the result.
        bad_indices_policy: ``"DEFAULT"``, or empty.
        name: A name for the op.
    """
    check_bad_indices_policy(bad_indices_policy)
    return _scatter_nd(indices, updates, shape, name=name)


# TensorScatterUpdate and its kind.


def _tensor_scatter_shape(tensor: TensorShape, indices: TensorShape, updates: TensorShape) -> TensorShape:
    _check_updates(indices, updates, tensor)
    return tensor


def _tensor_scatter(name: str, cpu: Combine, gpu: Combine, types: DTypes, signless: bool) -> Op:
    """Declares an op that puts updates into a copy of a tensor.

    Args:
        name: TensorFlow's name of the op.
        cpu: How updates meet what is there, on a CPU.
        gpu: The same on a GPU.
        types: The dtypes it takes.
        signless: Whether it does the same to the bits of signed and unsigned integers.
    """
    declared = op(name, "tensor: T, indices: Tindices, updates: T -> output: T", T=types, Tindices=INDEX)
    declared.shape(_tensor_scatter_shape)

    def on_cpu(tensor: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor) -> torch.Tensor:
        return _on_cpu(tensor.clone(memory_format=torch.contiguous_format), indices, updates, cpu)

    def on_gpu(tensor: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor) -> torch.Tensor:
        return _on_gpu(tensor, indices, updates, gpu)

    for device_type, kernel in ((CPU, on_cpu), (GPU, on_gpu)):
        declared.kernel(device_type, T=types - STRING - WIDE_UNSIGNED)(kernel)
        if signless:
            declared.kernel(device_type, T=WIDE_UNSIGNED)(by_bits(kernel))
    return declared


def _add_negative(add: Combine) -> Combine:
    return lambda output, rows, updates: add(output, rows, -updates)


_less_in_order, _less = _add_negative(_add_in_order), _add_negative(_add)

_scatter_update = _tensor_scatter("TensorScatterUpdate", _replace_in_order, _replace, ALL, signless=True)
_scatter_add = _tensor_scatter("TensorScatterAdd", _add_in_order, _add, NUMERIC | BOOL, signless=True)
_scatter_sub = _tensor_scatter("TensorScatterSub", _less_in_order, _less, NUMERIC, signless=True)
_scatter_min = _tensor_scatter("TensorScatterMin", _smallest, _smallest, REAL, signless=False)
_scatter_max = _tensor_scatter("TensorScatterMax", _largest, _largest, REAL, signless=False)


@_scatter_update.kernel(CPU, T=STRING)
def _scatter_update_strings(tensor: Any, indices: torch.Tensor, updates: Any) -> KernelValue:
    return _strings(tensor.copy(), indices, updates, lambda old, new: new)


# Of updates that meet, all have the gradient of the place where they meet, as in TensorFlow, even if one has won.


@_scatter_update.gradient
def _scatter_update_gradient(grad: Tensor, indices: Tensor) -> tuple[Any, None, Any]:
    updates = gather_nd(grad, indices)
    return lambda: _scatter_update(grad, indices, zeros_like(updates)), None, updates


@_scatter_add.gradient
def _scatter_add_gradient(grad: Tensor, indices: Tensor) -> tuple[Any, None, Any]:
    return grad, None, lambda: gather_nd(grad, indices)


@_scatter_sub.gradient
def _scatter_sub_gradient(grad: Tensor, indices: Tensor) -> tuple[Any, None, Any]:
    return grad, None, lambda: negative(gather_nd(grad, indices))


@_scatter_min.gradient
@_scatter_max.gradient
def _scatter_extreme_gradient(
    grad: Tensor, tensor: Tensor, indices: Tensor, updates: Tensor, output: Tensor
) -> tuple[Any, None, Any]:
    """Those that are equal to the extreme share its gradient."""
    held = cast(equal(tensor, output), grad.dtype)
    hit = cast(equal(updates, gather_nd(output, indices)), grad.dtype)
    share = divide(grad, add(held, _scatter_nd(indices, hit, sizes_of(tensor))))
    return lambda: multiply(share, held), None, lambda: multiply(gather_nd(share, indices), hit)


@_scatter_min.kernel(CPU, T=WIDE_UNSIGNED)
def _scatter_min_unsigned(tensor: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor) -> torch.Tensor:
    return _extreme_unsigned(tensor, indices, updates, np.minimum)


@_scatter_max.kernel(CPU, T=WIDE_UNSIGNED)
def _scatter_max_unsigned(tensor: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor) -> torch.Tensor:
    return _extreme_unsigned(tensor, indices, updates, np.maximum)


def _extreme_unsigned(
    tensor: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, pick: np.ufunc
) -> torch.Tensor:
    fresh = tensor.clone(memory_format=torch.contiguous_format)
    return _on_cpu(fresh, indices, updates, lambda out, rows, new: pick.at(out.numpy(), rows.numpy(), new.numpy()))


@export("tensor_scatter_nd_update", v1=("tensor_scatter_nd_update", "tensor_scatter_update"))
def tensor_scatter_nd_update(
    tensor: ArrayLike, indices: ArrayLike, updates: ArrayLike, name: str | None = None
) -> Tensor:
    """Returns `tensor` with the elements or slices that `indices` name replaced by `updates`."""
    return _scatter_update(tensor, indices, updates, name=name)


@export("tensor_scatter_nd_add", v1=("tensor_scatter_add", "tensor_scatter_nd_add"))
def tensor_scatter_nd_add(
    tensor: ArrayLike, indices: ArrayLike, updates: ArrayLike, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """Returns `tensor` with `updates` added to the elements or slices that `indices` name."""
    check_bad_indices_policy(bad_indices_policy)
    return _scatter_add(tensor, indices, updates, name=name)


@export("tensor_scatter_nd_sub", v1=("tensor_scatter_nd_sub", "tensor_scatter_sub"))
def tensor_scatter_nd_sub(
    tensor: ArrayLike, indices: ArrayLike, updates: ArrayLike, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """Returns `tensor` with `updates` subtracted from the elements or slices that `indices` name."""
    check_bad_indices_policy(bad_indices_policy)
    return _scatter_sub(tensor, indices, updates, name=name)


@export("tensor_scatter_nd_min")
def tensor_scatter_nd_min(
    tensor: ArrayLike, indices: ArrayLike, updates: ArrayLike, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """Returns `tensor` with the elements that `indices` name lowered to those of `updates` that are smaller."""
    check_bad_indices_policy(bad_indices_policy)
    return _scatter_min(tensor, indices, updates, name=name)


@export("tensor_scatter_nd_max")
def tensor_scatter_nd_max(
    tensor: ArrayLike, indices: ArrayLike, updates: ArrayLike, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """Returns `tensor` with the elements that `indices` name raised to those of `updates` that are larger."""
    check_bad_indices_policy(bad_indices_policy)
    return _scatter_max(tensor, indices, updates, name=name)


# DynamicPartition and DynamicStitch.

_partition = op("DynamicPartition", "data: T, partitions: int32 -> outputs: T*", num_partitions=1)
_stitch = op("DynamicStitch", "indices: int32*, data: T* -> merged: T")


@_partition.shape
def _partition_shape(data: TensorShape, partitions: TensorShape, *, num_partitions: int) -> list[TensorShape]:
    if num_partitions < 1:
        raise ArgumentError(f"Value for attr 'num_partitions' of {num_partitions} must be at least minimum 1")
    if data.rank is None or partitions.rank is None:
        return [UNKNOWN] * num_partitions
    if not data[: partitions.rank].is_compatible_with(partitions):
        raise ArgumentError(
            "data.shape must start with partitions.shape, got "
            f"data.shape = {brackets(data)}, partitions.shape = {brackets(partitions)}"
        )
    return [TensorShape([None, *data[partitions.rank :]])] * num_partitions


_partition_sizes = of_sizes(_partition_shape)


@_partition.kernel(GPU, T=FIXED - WIDE_UNSIGNED)
def _partition_kernel(
    data: KernelValue, partitions: torch.Tensor, num_partitions: int
) -> list[Any] | tuple[torch.Tensor, ...]:
    _partition_sizes(data.shape, partitions.shape, num_partitions=num_partitions)
    bad = (partitions < 0) | (partitions >= num_partitions)
    if bool(bad.any()):
        where = bad.nonzero()[0].tolist()
        value = int(partitions[tuple(where)])
        raise ArgumentError(f"partitions{brackets(where)} = {value} is not in [0, {num_partitions})")
    flat = partitions.reshape(-1).to(torch.int64)
    rows, order = data.reshape([len(flat), *data.shape[partitions.ndim :]]), flat.argsort(stable=True)
    sizes = torch.bincount(flat, minlength=num_partitions).tolist()
    if isinstance(rows, torch.Tensor):
        return rows.index_select(0, order).split_with_sizes(sizes)
    return [rows[part.numpy()] for part in order.split_with_sizes(sizes)]


@also_by_bits(_partition, CPU)
@_partition.kernel(CPU)
def _partition_on_host(
    data: KernelValue, partitions: torch.Tensor, num_partitions: int
) -> list[np.ndarray[Any, Any]] | tuple[torch.Tensor, ...]:
    numbers = partitions.numpy().reshape(-1)
    order = numbers.argsort(kind="stable")
    if not numbers.size or numbers[order[0]] < 0 or numbers[order[-1]] >= num_partitions:
        return _partition_kernel(data, partitions, num_partitions)
    _partition_sizes(data.shape, partitions.shape, num_partitions=num_partitions)
    rows = data if partitions.ndim == 1 else data.reshape([len(numbers), *data.shape[partitions.ndim :]])
    sizes = np.bincount(numbers, minlength=num_partitions)
    if isinstance(rows, torch.Tensor):
        return rows.index_select(0, torch.from_numpy(order)).split_with_sizes(sizes.tolist())
    return np.split(rows[order], np.cumsum(sizes)[:-1])


_partition.kernel(GPU, T=WIDE_UNSIGNED)(by_bits(_partition_kernel))


@_stitch.shape
def _stitch_shape(indices: list[TensorShape], data: list[TensorShape]) -> TensorShape:
    if len(indices) != len(data) or not indices:
        raise ArgumentError(
            f"dynamic_stitch needs lists of one length, at least 1; got {len(indices)} indices and {len(data)} data"
        )
    inner = UNKNOWN
    for number, (index, part) in enumerate(zip(indices, data, strict=True)):
        if index.rank is None or part.rank is None:
            continue
        if not part[: index.rank].is_compatible_with(index):
            raise ArgumentError(
                f"data[{number}].shape = {brackets(part)} does not start with "
                f"indices[{number}].shape = {brackets(index)}"
            )
        if not inner.is_compatible_with(part[index.rank :]):
            raise ArgumentError(
                f"All data must have slices of one shape, got {brackets(inner)} and, "
                f"in data[{number}] of shape {brackets(part)}, {brackets(part[index.rank :])}"
            )
        inner = inner.merge_with(part[index.rank :])
    return TensorShape([None]).concatenate(inner)


@also_by_bits(_stitch, CPU, GPU)
@_stitch.kernel(CPU)
@_stitch.kernel(GPU, T=FIXED - WIDE_UNSIGNED)
def _stitch_kernel(indices: list[torch.Tensor], data: list[Any]) -> Any:
    _stitch_shape([TensorShape(each.shape) for each in indices], [TensorShape(each.shape) for each in data])
    rows = torch.cat([each.reshape(-1) for each in indices]).to(torch.int64)
    if bool((rows < 0).any()):
        raise ArgumentError(f"indices must not be negative, got {int(rows.min())}")
    # For each of `count` rows, the place of the last index that names it, or -1.
    count = int(rows.max()) + 1 if len(rows) else 0
    order = torch.arange(len(rows), device=rows.device)
    last = rows.new_full((count,), -1).scatter_reduce_(0, rows, order, "amax")
    inner = data[0].shape[indices[0].ndim :]
    parts = [part.reshape([index.numel(), *inner]) for index, part in zip(indices, data, strict=True)]
    if not isinstance(parts[0], torch.Tensor):
        strings = np.concatenate([*parts, np.full([1, *inner], b"", object)])
        return strings[last.numpy()]  # -1 is the empty row
    table = torch.cat(parts)
    if not len(rows):
        return table
    gaps = (last < 0).reshape([-1, *[1] * len(inner)])
    return table.index_select(0, last.clamp(min=0)).masked_fill_(gaps, 0)


@_partition.gradient
def _partition_gradient(grads: list[Any], data_shape: SizesOf, partitions: Tensor) -> tuple[Tensor, None]:
    given = tuple(number for number, grad in enumerate(grads) if grad is not None)
    parts = [grads[number] for number in given]
    return _partition_grad(parts, partitions, data_shape, given=given, num_partitions=len(grads)), None


@_stitch.gradient
def _stitch_gradient(grad: Tensor, indices: list[Tensor]) -> tuple[None, list[Any]]:
    return None, [_picked(grad, index) for index in indices]


def _picked(grad: Tensor, index: Tensor) -> Callable[[], Tensor]:
    return lambda: gather(grad, index)


# DynamicPartitionGrad: the parts that have a gradient, where they came from; zeros elsewhere.

_partition_grad = op(
    "DynamicPartitionGrad",
    "grads: T*, partitions: int32, shape: host -> output: T",
    T=FLOATING | COMPLEX,
    given=(),  # the numbers of the parts that have gradients
    num_partitions=1,
)


@_partition_grad.shape
def _partition_grad_shape(
    grads: list[TensorShape], partitions: TensorShape, shape: Any, *, given: tuple[int, ...], num_partitions: int
) -> TensorShape:
    return UNKNOWN if shape is None else TensorShape(shape)


@_partition_grad.kernel(CPU, GPU)
def _partition_grad_kernel(
    grads: list[torch.Tensor],
    partitions: torch.Tensor,
    shape: tuple[int, ...],
    given: tuple[int, ...],
    num_partitions: int,
) -> torch.Tensor:
    flat = partitions.reshape(-1).to(torch.int64)
    places = flat.argsort(stable=True).split_with_sizes(torch.bincount(flat, minlength=num_partitions).tolist())
    whole = grads[0].new_zeros(shape)
    rows = whole.view(len(flat), *shape[partitions.ndim :])
    for number, grad in zip(given, grads, strict=True):
        rows.index_copy_(0, places[number], grad)
    return whole


@_partition_grad.gradient
def _partition_grad_gradient(
    grad: Tensor, partitions: Tensor, *, given: tuple[int, ...], num_partitions: int
) -> tuple[list[Tensor], None]:
    parts = _partition.many(grad, partitions, num_partitions=num_partitions)
    return [parts[number] for number in given], None


@export("dynamic_partition")
def dynamic_partition(
    data: ArrayLike, partitions: ArrayLike, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """Sorts the slices of `data` into `num_partitions` tensors, by the number that `partitions` gives each."""
    count = as_attribute(num_partitions, "num_partitions")
    return _partition.many(data, partitions, num_partitions=count, name=name)


@export("dynamic_stitch")
def dynamic_stitch(indices: ArrayLike, data: ArrayLike, name: str | None = None) -> Tensor:
    """Merges slices into one tensor, each at its index; of slices with one index the last one is taken.

    Args:
        indices: A list of tensors of int32. Rows that no index names are zero.
        data: A list of tensors of as many slices.
        name: A name for the op.
    """
    merged = _stitch(indices, data, name=name)
    if isinstance(merged, SymbolicTensor):
        known = [constant_value(each) for each in merged.op.args[0]]
        if all(each is not None for each in known):
            largest = max((int(np.max(each)) for each in known if np.size(each)), default=-1)
            merged.set_shape(TensorShape([largest + 1]) + merged.shape[1:])
    return merged
