"""Reducing the values of all replicas: sums and means over devices.

    sum_over([a on GPU:0, b on GPU:1], "GPU:0")     copied there, and added

Values have been packed into a few buffers by then (`packing`): each is copied to the reducing device, and the sum from
there to the devices of the replicas, which unpack it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from situs._src.base.devices.scope import device
from situs._src.base.dtype import float64
from situs._src.base.errors import ArgumentError, InvalidArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import read
from situs._src.ops.array import identity, size
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.cumulative import add_n
from situs._src.ops.join import concat
from situs._src.ops.math import divide
from situs._src.ops.reduce import reduce_sum
from situs._src.ops.slices import IndexedSlices


@export("distribute.ReduceOp")
class ReduceOp(enum.Enum):
    """How the values of replicas are reduced."""

    SUM = "SUM"
    MEAN = "MEAN"


def as_reduce_op(given: Any) -> ReduceOp:
    """A reduction, given itself or by name.

    Raises:
        ValueError: there is no such reduction.
    """
    if isinstance(given, str):
        given = given.upper()
    try:
        return ReduceOp(given)
    except ValueError:
        raise ArgumentError(f"{given!r} is not a valid ReduceOp: it is SUM or MEAN.") from None


UNEQUAL = (
    "These are the values of the replicas, which are reduced. A batch of fewer rows than there are replicas leaves "
    "some of them without any: use larger batches, or drop_remainder=True."
)


@export("distribute.CrossDeviceOps")
class CrossDeviceOps:
    """How values of several devices are reduced.

    Args:
        reduce_to_device: The device that computes sums; by default the first one.
    """

    def __init__(self, reduce_to_device: Any = None) -> None:
        self._device = reduce_to_device

    def reduced(self, op: ReduceOp, values: Sequence[Any], to: str) -> Any:
        """The sum or the mean of values, on a device."""
        with device(self._device or to):
            total = summed(values)
            return divided(total, len(values)) if op is ReduceOp.MEAN else total

    def reduced_all(self, op: ReduceOp, rows: Sequence[Sequence[Any]], to: str) -> list[Any]:
        """For each position in lists of values, one list per replica, the sum or the mean, on a device."""
        return [self.reduced(op, column, to) for column in zip(*rows, strict=True)]


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
    """The default: values of one process are summed on its first device.

    Args:
        num_packs: Accepted for TensorFlow's programs.
    """

    def __init__(self, num_packs: int = 1) -> None:
        super().__init__()


@export("distribute.HierarchicalCopyAllReduce")
class HierarchicalCopyAllReduce(CrossDeviceOps):
    """The same in Situs: the values of one process are summed on its first device.

    Args:
        num_packs: Accepted for TensorFlow's programs.
    """

    def __init__(self, num_packs: int = 1) -> None:
        super().__init__()


def summed(values: Sequence[Any]) -> Any:
    """The sum of values, on the device of the current scope; sparse rows are concatenated."""
    if any(isinstance(value, IndexedSlices) for value in values):
        slices = [value for value in values if isinstance(value, IndexedSlices)]
        if len(slices) == len(values):
            rows, places = [s.values for s in slices], [s.indices for s in slices]
            return IndexedSlices(concat(rows, 0), concat(places, 0), slices[0]._dense_shape)
    tensors = [convert_to_tensor(read(value)) for value in values]
    if len(tensors) == 1:
        return identity(tensors[0])
    try:
        return add_n(tensors)
    except InvalidArgumentError as error:
        error.add_note(UNEQUAL)
        raise


def bytes_of(value: Any) -> int | None:
    """The bytes of a value, as far as its shape is known."""
    if isinstance(value, IndexedSlices):
        parts = bytes_of(value.values), bytes_of(value.indices)
        return None if None in parts else sum(parts)  # type: ignore[arg-type]
    count = value.shape.num_elements()
    return None if count is None else count * value.dtype.size


def divided(value: Any, by: int) -> Any:
    """A sum divided by a number; of integers it has a fraction, as in TensorFlow."""
    if isinstance(value, IndexedSlices):
        return IndexedSlices(divided(value.values, by), value.indices, value._dense_shape)
    return divide(value, cast(by, value.dtype))


def reduced_within(
    op: ReduceOp, values: Sequence[Any], axis: Any, across: Callable[[Sequence[Any]], list[Any]] = list
) -> Any:
    """The sum or the mean of values along an axis and over replicas, weighting all elements equally.

    Args:
        op: The reduction.
        values: The values of this process's replicas. Scalars, which have no axis, count as one element each.
        axis: The axis.
        across: Sums values over workers.
    """
    tensors = [convert_to_tensor(read(value)) for value in values]
    sums = [tensor if tensor.shape.rank == 0 else reduce_sum(tensor, axis) for tensor in tensors]
    total = summed(sums)
    if op is ReduceOp.SUM:
        return across([total])[0]
    kind = total.dtype if total.dtype.is_floating or total.dtype.is_complex else float64
    counts = [cast(size(tensor), kind) / cast(size(each), kind) for tensor, each in zip(tensors, sums, strict=True)]
    total, count = across([cast(total, kind), summed(counts)])
    return total / count
