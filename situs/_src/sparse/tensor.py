"""``SparseTensor``: the places where a tensor is not zero, and its values there.

SparseTensor(indices=[[0, 0], [1, 2]], values=[1, 2], dense_shape=[3, 4])

[[1, 0, 0, 0]
 [0, 0, 2, 0]
 [0, 0, 0, 0]]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.base.tensor import Tensor
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.traits import ZERO_OF_ZERO
from situs._src.ops.cast import cast
from situs._src.ops.composite_values import SparseTensorValue
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.join import stack
from situs._src.runtime.dispatch import on_composite
from situs._src.runtime.symbolic.fold import partial_value
from situs._src.tracing.extension_type import name_spec
from situs._src.tracing.spec import TensorSpec
from situs._src.tracing.type_spec import CompositeTensor, TypeSpec


@export("SparseTensor", "sparse.SparseTensor")
class SparseTensor(CompositeTensor):
    """A tensor that is zero but for some places.

    Args:
        indices: The places: a row of indices for each, int64. Most ops want them in order: `tf.sparse.reorder`.
        values: The values there.
        dense_shape: The shape of the whole, int64.

    Raises:
        ValueError: their shapes do not go together.

    Example:
        >>> import situs as tf
        >>> tf.sparse.to_dense(tf.SparseTensor([[0, 1], [1, 0]], [3, 4], [2, 2])).numpy().tolist()
        [[0, 3], [4, 0]]
    """

    __array_priority__ = 100

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        self._indices = _int64(indices, "indices")
        self._values: Any = convert_to_tensor(values)
        self._dense_shape = _int64(dense_shape, "dense_shape")
        places = self._indices.shape.with_rank(2)
        count = self._values.shape.with_rank(1)[0]
        rank = self._dense_shape.shape.with_rank(1)[0]
        for ours, theirs, what in ((places[0], count, "values"), (places[1], rank, "dense_shape")):
            if ours is not None and theirs is not None and ours != theirs:
                raise ArgumentError(
                    f"Dimensions {ours} and {theirs} are not compatible: indices of shape {places} and {what} of "
                    f"shape {TensorShape([theirs])}."
                )
        self._shape = _known_shape(self._dense_shape)

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """The tensor of a value, as a session gives it."""
        if isinstance(sparse_tensor_value, SparseTensor):
            return sparse_tensor_value
        if not isinstance(sparse_tensor_value, SparseTensorValue):
            raise DTypeError(f"Neither a SparseTensor nor SparseTensorValue: {shown(sparse_tensor_value)}.")
        return cls(*sparse_tensor_value)

    # What it is made of.

    @property
    def indices(self) -> Any:
        """The places, int64."""
        return self._indices

    @property
    def values(self) -> Any:
        """The values there."""
        return self._values

    @property
    def dense_shape(self) -> Any:
        """The shape of the whole as a tensor, int64."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole, as far as it is known."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._values.dtype  # type: ignore[no-any-return]

    @property
    def op(self) -> Any:
        """The operation that makes the values."""
        return self._values.op

    @property
    def graph(self) -> Any:
        """The graph that the tensors are in."""
        return self._indices.graph

    def get_shape(self) -> TensorShape:
        """The same as ``shape``."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Adds to what is known of the shape."""
        self._shape = self._shape.merge_with(TensorShape(shape))

    def with_values(self, new_values: Any) -> SparseTensor:
        """The same places with other values."""
        made = SparseTensor(self._indices, new_values, self._dense_shape)
        made._shape = self._shape
        return made

    def consumers(self) -> list[Any]:
        """The operations that take one of the tensors."""
        found = {node: None for part in (self._indices, self._values, self._dense_shape) for node in part.consumers()}
        return list(found)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """The value, in a session."""
        from situs._src.checkpoints.cells import plain_session

        return plain_session(session).run(self, feed_dict)

    @property
    def _type_spec(self) -> SparseTensorSpec:
        return SparseTensorSpec(self._shape, self._values.dtype)

    def __apply__(self, function: Callable[[Any], Any]) -> SparseTensor:
        return self.with_values(function(self._values))

    def __fetched__(self) -> SparseTensorValue:
        return SparseTensorValue(self._indices, self._values, self._dense_shape)

    def __repr__(self) -> str:
        return f"SparseTensor(indices={self._indices!s}, values={self._values!s}, dense_shape={self._dense_shape!s})"

    # Arithmetic that keeps the places.

    def __mul__(self, other: Any) -> SparseTensor:
        return self._with_dense(other, lambda mine, theirs: mine * theirs)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> SparseTensor:
        return self._with_dense(other, lambda mine, theirs: mine / theirs)

    def _with_dense(self, other: Any, function: Callable[[Any, Any], Any]) -> SparseTensor:
        if isinstance(other, SparseTensor):
            raise DTypeError("Two sparse tensors are multiplied and divided as dense ones: tf.sparse.to_dense.")
        from situs._src.sparse.arithmetic import at_places

        return self.with_values(function(self._values, at_places(self, convert_to_tensor(other, self.dtype))))

    # Its rows, for `tf.map_fn`.

    def __row_numbers__(self) -> Any:
        from situs._src.ops.constant import range as range_of

        return range_of(self._dense_shape[0])

    def __row__(self, number: Any) -> SparseTensor:
        from situs._src.ops.compare import equal
        from situs._src.ops.gather import boolean_mask

        inside = equal(self._indices[:, 0], number)
        indices, values = boolean_mask(self._indices, inside), boolean_mask(self._values, inside)
        made = SparseTensor(indices[:, 1:], values, self._dense_shape[1:])
        made.set_shape(self._shape[1:])
        return made


def _on_values(op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], name: str | None) -> Any:
    if op.name == "Shape":
        return cast(inputs[0].dense_shape, attrs.get("out_type", dt.int32))
    if op.name == "Size":
        from situs._src.ops.reduce import reduce_prod

        return cast(reduce_prod(inputs[0].dense_shape), attrs["out_type"])
    if op.name == "DenseBincount":
        return _bincount(inputs, attrs)
    if ZERO_OF_ZERO not in op.traits or not isinstance(inputs[0], SparseTensor):
        raise DTypeError(f"{op.name} takes no SparseTensor. Use a function of tf.sparse, or tf.sparse.to_dense.")
    return inputs[0].with_values(op(inputs[0].values, *inputs[1:], name=name, **attrs))


def _bincount(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """The values that a sparse tensor has, counted: what is not in it counts for nothing."""
    from situs._src.ops.count import bincount_flat

    sp, weights, minlength, maxlength = inputs
    if not isinstance(sp, SparseTensor):
        raise ArgumentError(f"`weights` must be a tensor, as `arr` is, got {shown(weights)}")
    if isinstance(weights, SparseTensor):
        weights = weights.values
    elif not (isinstance(weights, Tensor) and weights.shape == [0]):
        raise ArgumentError(f"`weights` must be a SparseTensor, as `arr` is, got {shown(weights)}")
    by_row = attrs["per_row"] and sp.shape.rank != 1
    if by_row and sp.shape.rank not in (2, None):
        raise ArgumentError(f"Counting along axis -1 takes arr of rank at most 2, got {sp.shape}")
    rows, count = (sp.indices[:, 0], sp.dense_shape[0]) if by_row else (None, None)
    return bincount_flat(sp.values, rows, count, weights, minlength, maxlength, attrs)


on_composite[SparseTensor] = _on_values


def _int64(value: Any, what: str) -> Any:
    """Integers as an int64 tensor."""
    if isinstance(value, Tensor):
        if not value.dtype.is_integer:
            raise DTypeError(f"The {what} of a sparse tensor are int64, got {shown(value)}.")
        return cast(value, dt.int64)
    if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
        return stack([_int64(item, what) for item in value])
    given = np.asarray(value) if not isinstance(value, TensorShape) else np.asarray(value.as_list())
    if given.size == 0 and what == "indices" and given.ndim < 2:
        raise ArgumentError(f"The indices of a sparse tensor have the shape [count, rank], got {shown(value)}.")
    return convert_to_tensor(value if isinstance(value, (list, tuple)) and given.size else given, dt.int64)


def _known_shape(dense_shape: Any) -> TensorShape:
    if isinstance(dense_shape, SymbolicTensor):
        found = partial_value(dense_shape)
        if found is None:
            rank = dense_shape.shape[0]
            return UNKNOWN if rank is None else TensorShape([None] * rank)
        return TensorShape([None if size is None or size < 0 else int(size) for size in found])
    return TensorShape(dense_shape.numpy().tolist())


@export("SparseTensorSpec")
class SparseTensorSpec(TypeSpec):
    """Describes a `SparseTensor`.

    Args:
        shape: The shape of the whole.
        dtype: The dtype of the values.

    Example:
        >>> SparseTensorSpec([None, 3], "float32")
        SparseTensorSpec(TensorShape([None, 3]), tf.float32)
    """

    __slots__ = ("_dtype", "_shape")
    value_type = SparseTensor

    def __init__(self, shape: Any = None, dtype: Any = dt.float32) -> None:
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole, as far as it is fixed."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._dtype

    @classmethod
    def from_value(cls, value: Any) -> SparseTensorSpec:
        """The kind of a sparse tensor, or of its value."""
        if isinstance(value, SparseTensor):
            return value._type_spec
        if isinstance(value, SparseTensorValue):
            return cls(list(np.asarray(value.dense_shape)), as_dtype(np.asarray(value.values).dtype))
        raise DTypeError(f"Expected SparseTensor or SparseTensorValue, got {shown(value)}.")

    @property
    def _component_specs(self) -> tuple[TensorSpec, ...]:
        rank = self._shape.rank
        return TensorSpec([None, rank], dt.int64), TensorSpec([None], self._dtype), TensorSpec([rank], dt.int64)

    def _to_components(self, value: Any) -> tuple[Any, ...]:
        return value.indices, value.values, value.dense_shape

    def _from_components(self, components: Any) -> Any:
        if all(isinstance(part, (np.ndarray, np.generic)) for part in components):
            return SparseTensorValue(*components)
        made = SparseTensor(*components)
        if self._shape.is_compatible_with(made._shape):
            made._shape = made._shape.merge_with(self._shape)
        return made

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype

    # In datasets.

    def _unbatch(self) -> SparseTensorSpec:
        """The kind of one row."""
        if self._shape.rank is not None and self._shape.rank < 2:
            raise ArgumentError(f"The rows of a sparse tensor of shape {self._shape} are no sparse tensors.")
        return SparseTensorSpec(self._shape[1:], self._dtype)

    def _batch(self, size: int | None) -> SparseTensorSpec:
        """The kind of rows joined."""
        return SparseTensorSpec(TensorShape([size]).concatenate(self._shape), self._dtype)

    def _unstacked(self, values: Any) -> list[Any]:
        """The rows of one, on the host."""
        indices, elements, shape = values
        rows = []
        for number in range(int(shape[0])):
            chosen = (indices[:, 0] == number).nonzero().reshape(-1)
            picked = elements[chosen.numpy()] if isinstance(elements, np.ndarray) else elements[chosen]
            rows.append((indices[chosen, 1:], picked, shape[1:]))
        return rows

    def _stacked(self, rows: Any) -> list[Any]:
        """Rows joined, on the host; the largest shape is that of all."""
        indices = [
            torch.cat([torch.full((len(row[0]), 1), number, dtype=torch.int64), row[0]], 1)
            for number, row in enumerate(rows)
        ]
        elements = [row[1] for row in rows]
        joined = np.concatenate(elements) if isinstance(elements[0], np.ndarray) else torch.cat(elements)
        shape = torch.stack([row[2] for row in rows]).amax(0)
        return [torch.cat(indices), joined, torch.cat([torch.tensor([len(rows)]), shape])]


name_spec("tf.SparseTensorSpec", SparseTensorSpec)
