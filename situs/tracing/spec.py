"""``TensorSpec``: the kind of a tensor, dtype and shape, without a value."""

from __future__ import annotations

from typing import Any

from situs import dtype as dt
from situs.dtype import DType, as_dtype
from situs.shapes import TensorShape


class TensorSpec:
    """Describes a tensor: what a ``tf.function`` takes.

    Example:
        >>> TensorSpec([None, 3], "float32")
        TensorSpec(shape=(None, 3), dtype=tf.float32, name=None)
    """

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, shape: Any, dtype: Any = dt.float32, name: str | None = None) -> None:
        self.shape = TensorShape(shape)
        self.dtype: DType = as_dtype(dtype)
        self.name = name

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """The kind of a tensor."""
        return cls(tensor.shape, tensor.dtype, name)

    from_spec = from_tensor

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Whether a tensor, or every tensor of a kind, may be of this kind."""
        return spec_or_tensor.dtype is self.dtype and self.shape.is_compatible_with(spec_or_tensor.shape)

    def is_subtype_of(self, other: TensorSpec) -> bool:
        """Whether every tensor of this kind is of the other."""
        if other.dtype is not self.dtype:
            return False
        if other.shape.rank is None:
            return True
        return self.shape.rank == other.shape.rank and all(
            theirs is None or ours == theirs for ours, theirs in zip(self.shape, other.shape, strict=True)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and (self.shape, self.dtype, self.name) == (
            other.shape,
            other.dtype,
            other.name,
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.name))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"
