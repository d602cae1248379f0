"""The values of all replicas as one: sums and means over devices.

    sum_over([a on GPU:0, b on GPU:1], "GPU:0")     copied there, and added

Lists of values are packed: those of one dtype go to the device that adds as one buffer for each replica, and back as
one, so that a model's gradients are few transfers.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from situs._src.base.devices.scope import device
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import read
from situs._src.ops.array import identity, reshape, size
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.cumulative import add_n
from situs._src.ops.join import concat, split
from situs._src.ops.math import divide
from situs._src.ops.reduce import reduce_sum
from situs._src.ops.slices import IndexedSlices

PACKED_UP_TO = 1 << 20  # elements: larger values are added by themselves, and nothing is copied to pack them


@export("distribute.ReduceOp")
class ReduceOp(enum.Enum):
    """How the values of replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"


def as_reduce_op(given: Any) -> ReduceOp:
    """A way to reduce, given itself or by its name.

    Raises:
        ValueError: it is not one.
    """
    if isinstance(given, str):
        given = given.upper()
    try:
        return ReduceOp(given)
    except ValueError:
        raise ArgumentError(f"{given!r} is not a valid ReduceOp: it is SUM or MEAN.") from None


@export("distribute.CrossDeviceOps")
class CrossDeviceOps:
    """How values of several devices are reduced.

    Args:
        reduce_to_device: Where sums are computed; by default on the first device.
    """

    def __init__(self, reduce_to_device: Any = None) -> None:
        self._device = reduce_to_device

    def reduced(self, op: ReduceOp, values: Sequence[Any], to: str) -> Any:
        """The sum or the mean of values, on a device."""
        with device(self._device or to):
            total = summed(values)
            return divided(total, len(values)) if op is ReduceOp.MEAN else total

    def reduced_all(self, op: ReduceOp, rows: Sequence[Sequence[Any]], sources: Sequence[str]) -> list[Any]:
        """For each place in lists of values, one list a replica, the sum or the mean, on the first replica's device."""
        return self.reduced_to(op, rows, sources, [self._device or sources[0]])[0]

    def reduced_to(
        self, op: ReduceOp, rows: Sequence[Sequence[Any]], sources: Sequence[str], devices: Sequence[str]
    ) -> list[list[Any]]:
        """The same, on each of several devices: what was packed goes there as it is, and is taken apart there.

        Args:
            op: The sum or the mean.
            rows: The values, a list for each replica.
            sources: The devices of the replicas, which pack there what they send. On the first one they are added.
            devices: Where the results are wanted.
        """
        columns, to = list(zip(*rows, strict=True)), sources[0]
        found: list[list[Any]] = [[None] * len(columns) for _ in devices]
        packs: dict[Any, list[int]] = {}
        for place, column in enumerate(columns):
            packs.setdefault(_pack_of(column, place), []).append(place)
        for places in packs.values():
            is_packed = len(places) > 1
            if is_packed:
                total = self.reduced(op, [_packed(row, places, at) for row, at in zip(rows, sources, strict=True)], to)
            else:
                total = self.reduced(op, columns[places[0]], to)
            for results, name in zip(found, devices, strict=True):
                with device(name):
                    is_there = isinstance(total, IndexedSlices) or name == (self._device or to)
                    here = total if is_there else identity(total)
                    parts = _unpacked(here, [rows[0][place].shape for place in places]) if is_packed else [here]
                for place, part in zip(places, parts, strict=True):
                    results[place] = part
        return found


def _packed(row: Sequence[Any], places: Sequence[int], at: str) -> Any:
    """Some of the values of a replica as one buffer, on its device."""
    with device(at):
        return concat([reshape(row[place], [-1]) for place in places], 0)


def _unpacked(buffer: Any, shapes: Sequence[Any]) -> list[Any]:
    """The values that were packed into a buffer."""
    parts = split(buffer, [shape.num_elements() for shape in shapes])
    return [reshape(part, shape) for part, shape in zip(parts, shapes, strict=True)]


def _pack_of(column: Sequence[Any], place: int) -> Any:
    """What tells which values are packed together: those of a dtype, if their sizes are known and small."""
    for value in column:
        count = None if isinstance(value, IndexedSlices) else value.shape.num_elements()
        if count is None or count > PACKED_UP_TO:
            return place
    return column[0].dtype


@export("distribute.ReductionToOneDevice")
class ReductionToOneDevice(CrossDeviceOps):
    """Copies all values to one device and adds them there.

    Args:
        reduce_to_device: The device; by default the first one.
        accumulation_fn: Accepted for TensorFlow's programs: values are added.
    """

    def __init__(self, reduce_to_device: Any = None, accumulation_fn: Any = None) -> None:
        super().__init__(reduce_to_device)


@export("distribute.NcclAllReduce")
class NcclAllReduce(CrossDeviceOps):
    """The default: values of one process are added on its first device.

    Args:
        num_packs: Accepted for TensorFlow's programs.
    """

    def __init__(self, num_packs: int = 1) -> None:
        super().__init__()


@export("distribute.HierarchicalCopyAllReduce")
class HierarchicalCopyAllReduce(CrossDeviceOps):
    """The same here: the devices of one process are added on the first.

    Args:
        num_packs: Accepted for TensorFlow's programs.
    """

    def __init__(self, num_packs: int = 1) -> None:
        super().__init__()


def summed(values: Sequence[Any]) -> Any:
    """The sum of values, where the device scope says; rows are put one after another."""
    if any(isinstance(value, IndexedSlices) for value in values):
        slices = [value for value in values if isinstance(value, IndexedSlices)]
        if len(slices) == len(values):
            rows, places = [s.values for s in slices], [s.indices for s in slices]
            return IndexedSlices(concat(rows, 0), concat(places, 0), slices[0]._dense_shape)
    tensors = [convert_to_tensor(read(value)) for value in values]
    return identity(tensors[0]) if len(tensors) == 1 else add_n(tensors)


def bytes_of(value: Any) -> int | None:
    """How many bytes a value has, as far as its shape is known."""
    if isinstance(value, IndexedSlices):
        parts = bytes_of(value.values), bytes_of(value.indices)
        return None if None in parts else sum(parts)  # type: ignore[arg-type]
    count = value.shape.num_elements()
    return None if count is None else count * value.dtype.size


def divided(value: Any, by: int) -> Any:
    """A sum divided by a number."""
    if isinstance(value, IndexedSlices):
        return IndexedSlices(divided(value.values, by), value.indices, value._dense_shape)
    return divide(value, cast(by, value.dtype)) if value.dtype.is_floating else value // by


def reduced_within(
    op: ReduceOp, values: Sequence[Any], axis: Any, across: Callable[[Sequence[Any]], list[Any]] = list
) -> Any:
    """The sum or the mean of values along an axis, and over replicas: of all elements alike.

    Args:
        op: Which.
        values: The values of this process's replicas. Scalars, which have no axis, are one element each.
        axis: The axis.
        across: From values to their sums over workers.
    """
    tensors = [convert_to_tensor(read(value)) for value in values]
    sums = [tensor if tensor.shape.rank == 0 else reduce_sum(tensor, axis) for tensor in tensors]
    total = summed(sums)
    if op is ReduceOp.SUM:
        return across([total])[0]
    counts = [
        cast(size(tensor), total.dtype) / cast(size(each), total.dtype)
        for tensor, each in zip(tensors, sums, strict=True)
    ]
    total, count = across([total, summed(counts)])
    return total / count
