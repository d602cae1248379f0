"""``TensorSpec``: dtype and shape of a tensor, without a value; ``IndexedSlicesSpec``: the same for slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.tree import listed
from situs._src.base.typing import DTypeLike
from situs._src.ops.inner import common
from situs._src.ops.slices import IndexedSlices
from situs._src.tracing.type_spec import TypeSpec


@export("type_spec_from_value")
def type_spec_from_value(value: object) -> Any:
    """The spec of a value: its own, if it has one, else that of the tensor.

    Raises:
        TypeError: it is not a tensor.
    """
    own = getattr(value, "_type_spec", None)
    if own is not None:
        return own
    if isinstance(value, IndexedSlices):
        return IndexedSlicesSpec.from_value(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return TensorSpec(value.shape, as_dtype(value.dtype))
    if not isinstance(value, Tensor):
        raise DTypeError(f"Could not build a TypeSpec for {shown(value)} of type {type(value).__name__}.")
    return TensorSpec(value.shape, value.dtype)


@export("TensorSpec")
class TensorSpec(TypeSpec):
    """Describes a tensor, such as an argument of a ``tf.function``.

    Args:
        shape: The shape; None for unknown dimensions, or for an unknown rank.
        dtype: The dtype.
        name: A name for the argument.

    Example:
        >>> TensorSpec([None, 3], "float32")
        TensorSpec(shape=(None, 3), dtype=tf.float32, name=None)
    """

    __slots__ = ("_dtype", "_name", "_shape")
    value_type = Tensor

    def __init__(self, shape: Any, dtype: Any = dt.float32, name: str | None = None) -> None:
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        if not isinstance(name, (str, type(None))):
            raise DTypeError(f"The name of a TensorSpec is a string, got {shown(name)}.")
        self._name = name

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is fixed."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name of the argument."""
        return self._name

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """The spec of a tensor."""
        if not hasattr(tensor, "shape") or not isinstance(getattr(tensor, "dtype", None), DType):
            raise DTypeError(f"`tensor` should be a tf.Tensor, but got type {type(tensor)}.")
        own = getattr(getattr(tensor, "op", None), "name", None)
        return cls(tensor.shape, tensor.dtype, name or own)

    @classmethod
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> TensorSpec:
        """The same spec, with another name if one is given."""
        if not isinstance(spec, TensorSpec):
            raise DTypeError(f"`spec` should be a tf.TensorSpec, but got type {type(spec)}.")
        return cls(spec.shape, spec.dtype, name or spec.name)

    @property
    def _component_specs(self) -> TensorSpec:
        return self

    def _to_components(self, value: object) -> Any:
        return value

    def _from_components(self, components: object) -> Any:
        return components

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._name

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Whether a tensor, or every tensor with a spec, is compatible with this spec."""
        if getattr(spec_or_tensor, "dtype", None) is not self._dtype:
            return False
        return self._shape.is_compatible_with(spec_or_tensor.shape)

    def is_subtype_of(self, other: TensorSpec) -> bool:
        """Whether every tensor of this spec is also of the other."""
        if _checked(other).dtype is not self._dtype:
            return False
        if other.shape.rank is None:
            return True
        return self._shape.rank == other.shape.rank and all(
            theirs is None or ours == theirs for ours, theirs in zip(self._shape, other.shape, strict=True)
        )

    def most_specific_common_supertype(self, others: Sequence[TensorSpec]) -> TensorSpec | None:
        """The most specific spec that includes all of these; None if the dtypes differ."""
        shape = self._shape
        for other in listed(others, "TensorSpecs"):
            if _checked(other).dtype is not self._dtype:
                return None
            shape = common(shape, other.shape)
        return TensorSpec(shape, self._dtype, self._name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and (self._shape, self._dtype, self._name) == (
            other._shape,
            other._dtype,
            other._name,
        )

    def __hash__(self) -> int:
        return hash((self._shape, self._dtype, self._name))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


@export("IndexedSlicesSpec")
class IndexedSlicesSpec(TypeSpec):
    """Describes ``IndexedSlices``.

    Args:
        shape: The shape of the whole tensor.
        dtype: The dtype of the rows.
        indices_dtype: The dtype of the indices.
        dense_shape_dtype: The dtype of `dense_shape`; None if the slices have none.
        indices_shape: The shape of the indices; any vector by default.

    Example:
        >>> IndexedSlicesSpec([None, 3], "float32")
        IndexedSlicesSpec(TensorShape([None, 3]), tf.float32, tf.int64, None, TensorShape([None]))
    """

    value_type = IndexedSlices

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = dt.float32,
        indices_dtype: DTypeLike = dt.int64,
        dense_shape_dtype: DTypeLike | None = None,
        indices_shape: Any = None,
    ) -> None:
        self._shape = TensorShape(shape)
        self._dtypes = (
            as_dtype(dtype),
            as_dtype(indices_dtype),
            None if dense_shape_dtype is None else as_dtype(dense_shape_dtype),
        )
        self._indices_shape = TensorShape([None] if indices_shape is None else indices_shape)

    @property
    def _component_specs(self) -> tuple[Any, ...]:
        return self.components().__components__()

    def _to_components(self, value: IndexedSlices) -> tuple[Any, ...]:
        return value.__components__()

    def _from_components(self, components: Sequence[Any]) -> IndexedSlices:
        return IndexedSlices(*components)

    @classmethod
    def from_value(cls, slices: IndexedSlices) -> IndexedSlicesSpec:
        """The spec of some slices."""
        sizes = None if slices.dense_shape is None else slices.dense_shape.dtype
        return cls(slices.shape, slices.dtype, slices.indices.dtype, sizes, slices.indices.shape)

    def components(self) -> IndexedSlices:
        """Slices with specs for tensors."""
        values, indices, sizes = self._dtypes
        rows = self._indices_shape.concatenate(self._shape[1:])
        dense = None if sizes is None else TensorSpec([self._shape.rank], sizes)
        return IndexedSlices(TensorSpec(rows, values), TensorSpec(self._indices_shape, indices), dense)

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether slices, or all slices with a spec, are compatible with this spec."""
        other = self.from_value(spec_or_value) if isinstance(spec_or_value, IndexedSlices) else spec_or_value
        return (
            isinstance(other, IndexedSlicesSpec)
            and self._dtypes == other._dtypes
            and self._shape.is_compatible_with(other._shape)
            and self._indices_shape.is_compatible_with(other._indices_shape)
        )

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, *self._dtypes, self._indices_shape


def _checked(other: object) -> TensorSpec:
    if not isinstance(other, TensorSpec):
        raise DTypeError(f"Expected a tf.TensorSpec, got {shown(other)} of type {type(other).__name__!r}.")
    return other
