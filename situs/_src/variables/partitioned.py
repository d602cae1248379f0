"""Partitioned variables: ``get_variable(partitioner=...)``, and partitioners.

    with tf.variable_scope("root", partitioner=tf.fixed_size_partitioner(5)):
        w = tf.get_variable("w", [10, 4])        five variables root/w/part_0 ... of shape [2, 4]
    tf.matmul(x, w)                              takes them joined

A part knows its position in the whole (`variables.slicing`): a ``Saver`` saves the parts under the name of the whole,
and restores them into a variable with another partition, or none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor, read
from situs._src.base.typing import ArrayLike, DTypeLike, ShapeLike
from situs._src.ir.graph.context import name_scope
from situs._src.ops import operators
from situs._src.ops.array import identity
from situs._src.ops.attribute import as_int
from situs._src.ops.indexing import slice as slice_of
from situs._src.ops.join import concat
from situs._src.ops.placeholder import group
from situs._src.variables.slicing import SaveSliceInfo

Partitioner = Callable[..., Sequence[int]]


@export(v1="PartitionedVariable")
class PartitionedVariable:
    """A variable in parts, which are variables.

    Args:
        name: The name of the whole.
        shape: Its shape.
        dtype: Its dtype.
        variable_list: The parts, in order.
        partitions: How many parts there are in each dimension; one dimension at most is cut.

    Raises:
        TypeError: the parts are no list of variables.
        ValueError: they do not make the whole.
    """

    __array_priority__ = 100

    def __init__(self, name: str, shape: Any, dtype: DTypeLike, variable_list: Any, partitions: Any) -> None:
        if not isinstance(variable_list, (list, tuple)):
            raise DTypeError(f"variable_list is not a list or tuple: {shown(variable_list)}")
        if not isinstance(partitions, (list, tuple)):
            raise DTypeError(f"partitions is not a list or tuple: {shown(partitions)}")
        if not all(isinstance(count, int) and count >= 1 for count in partitions):
            raise ArgumentError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ArgumentError("variable_list may not be empty")
        for part in variable_list:
            if getattr(part, "_save_slice_info", None) is None:
                raise ArgumentError(f"All variables must have save_slice_info available: {shown(part)}")
        if math.prod(partitions) != len(variable_list):
            raise ArgumentError(f"{partitions} are not the partitions of {len(variable_list)} variables.")
        self._name = name
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self._parts = list(variable_list)
        self._partitions = list(partitions)

    @property
    def name(self) -> str:
        """The name of the whole."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """The same as ``shape``."""
        return self._shape

    def _get_variable_list(self) -> list[Any]:
        return self._parts

    def _get_partitions(self) -> list[int]:
        return self._partitions

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def _axis(self) -> int | None:
        """The dimension that is cut; None if there is one part."""
        cut = [axis for axis, count in enumerate(self._partitions) if count > 1]
        if len(cut) > 1:
            raise ArgumentError(
                f"Cannot join the parts of {self._name}: it is cut along {len(cut)} dimensions, {self._partitions}."
            )
        return cut[0] if cut else None

    def as_tensor(self) -> Tensor:
        """The parts joined; in a graph, reading them waits for nothing."""
        axis, own = self._axis, self._name.rpartition("/")[2]
        waiting = nullcontext() if here.graph is None else here.graph.control_dependencies(None)
        with name_scope(None), waiting:
            if axis is None:
                return identity(read(self._parts[0]), name=self._name or own)
            return concat([read(part) for part in self._parts], axis, name=self._name or own)

    def __tensor__(self) -> Tensor:
        axis = self._axis
        parts: list[Tensor] = [read(part) for part in self._parts]
        return parts[0] if axis is None else concat(parts, axis)

    def _each(self, method: str, value: ArrayLike, use_locking: bool, name: str | None, read_value: bool) -> Any:
        infos = [part._save_slice_info for part in self._parts]
        if isinstance(value, (list, PartitionedVariable)):
            pieces = list(value)
        else:
            pieces = [slice_of(value, info.var_offset, info.var_shape) for info in infos]
        made = [
            getattr(part, method)(piece, use_locking, name, read_value)
            for part, piece in zip(self._parts, pieces, strict=True)
        ]
        return made if read_value else group(*[change for change in made if change is not None])

    def assign(
        self, value: ArrayLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Gives the parts new values: of a tensor of the whole, or of a list with one for each part."""
        return self._each("assign", value, use_locking, name, read_value)

    def assign_add(
        self, value: ArrayLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Adds to the parts, as `assign` takes it."""
        return self._each("assign_add", value, use_locking, name, read_value)

    def assign_sub(
        self, value: ArrayLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtracts from the parts, as `assign` takes it."""
        return self._each("assign_sub", value, use_locking, name, read_value)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        kind = f"shape={self._shape} dtype={self._dtype.name}"
        return f"<PartitionedVariable '{self._name}' {kind} partitions={self._partitions}>"


operators.install(PartitionedVariable)
PartitionedVariable.__eq__ = lambda self, other: self is other  # type: ignore[method-assign]
PartitionedVariable.__ne__ = lambda self, other: self is not other  # type: ignore[method-assign]


# Cutting.


def _sizes(shape: Any) -> list[int]:
    return [as_int(size, "shape") for size in TensorShape(shape).as_list()]


def checked_partitions(partitions: Any, shape: TensorShape, name: str) -> list[int]:
    """How many parts there are in each dimension.

    Raises:
        InvalidArgumentError: a shape cannot be cut like this.
    """
    sizes = _sizes(shape)
    counts = [as_int(count, "partitions") for count in partitions]
    if len(counts) != len(sizes):
        raise ArgumentError(
            f"Partitioner returned a partition list that does not match the Variable's rank: {counts} vs. {shape}, for "
            f"{name}."
        )
    if any(count < 1 for count in counts):
        raise ArgumentError(f"Partitioner returned zero partitions for some axes: {counts}, for {name}.")
    for count, size in zip(counts, sizes, strict=True):
        if count > size:
            raise ArgumentError(f"{name} of shape {shape} cannot be cut into {counts}: {count} parts of {size}.")
    if sum(count > 1 for count in counts) > 1:
        raise ArgumentError(
            f"Can only slice a variable along one dimension: shape: {sizes}, partitioning: {counts}, for {name}."
        )
    return counts


def pieces(shape: TensorShape, partitions: Sequence[int], full_name: str) -> list[SaveSliceInfo]:
    """Where the parts are: of sizes that differ by one at most, the larger ones first."""
    sizes = _sizes(shape)
    axis = next((place for place, count in enumerate(partitions) if count > 1), 0)
    size, more = divmod(sizes[axis], partitions[axis])
    made, begin = [], 0
    for number in range(partitions[axis]):
        length = size + (number < more)
        offset, part = [0] * len(sizes), list(sizes)
        offset[axis], part[axis] = begin, length
        made.append(SaveSliceInfo(full_name, sizes, offset, part))
        begin += length
    return made


# What says how to cut.


@export(v1="fixed_size_partitioner")
def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """A partitioner that cuts a dimension into so many parts, or as many as it has."""

    def partition(shape: ShapeLike, **kwargs: Any) -> list[int]:
        sizes = _sizes(shape)
        made = [1] * len(sizes)
        made[axis] = min(num_shards, sizes[axis])
        return made

    return partition


@export(v1="variable_axis_size_partitioner")
def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Partitioner:
    """A partitioner that cuts a dimension so that no part has more bytes than so many.

    Args:
        max_shard_bytes: The most bytes of a part.
        axis: The dimension to cut.
        bytes_per_string_element: What a string counts for.
        max_shards: The most parts.
    """
    max_shard_bytes = as_int(max_shard_bytes, "max_shard_bytes")
    if max_shard_bytes < 1 or as_int(bytes_per_string_element, "bytes_per_string_element") < 1:
        raise ArgumentError("Both max_shard_bytes and bytes_per_string_element must be positive.")
    if max_shards is not None and as_int(max_shards, "max_shards") < 1:
        raise ArgumentError("max_shards must be positive.")

    def partition(shape: ShapeLike, dtype: DTypeLike, **kwargs: Any) -> list[int]:
        sizes = _sizes(shape)
        made = [1] * len(sizes)
        slice_bytes = math.prod(sizes) // sizes[axis] * _bytes_of(dtype, bytes_per_string_element)
        slices = max(1, max_shard_bytes // slice_bytes)
        shards = -(-sizes[axis] // slices)
        made[axis] = max(1, shards if max_shards is None else min(max_shards, shards))
        return made

    return partition


@export(v1="min_max_variable_partitioner")
def min_max_variable_partitioner(
    max_partitions: int = 1, axis: int = 0, min_slice_size: int = 256 << 10, bytes_per_string_element: int = 16
) -> Partitioner:
    """A partitioner that cuts a dimension into parts of at least so many bytes, at most so many of them.

    Args:
        max_partitions: The most parts.
        axis: The dimension to cut.
        min_slice_size: The fewest bytes of a part.
        bytes_per_string_element: What a string counts for.
    """

    def partition(shape: ShapeLike, dtype: DTypeLike, **kwargs: Any) -> list[int]:
        sizes = _sizes(shape)
        made = [1] * len(sizes)
        total = math.prod(sizes) * _bytes_of(dtype, bytes_per_string_element)
        made[axis] = max(1, min(sizes[axis], max_partitions, total // min_slice_size))
        return made

    return partition


def _bytes_of(dtype: DTypeLike, string: int) -> int:
    found = as_dtype(dtype)
    return string if found.name == "string" else found.size
