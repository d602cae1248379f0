"""Indexed slices: a tensor that is zero but for some of its rows.

The gradient of `tf.gather` touches only the rows that were gathered; a large table should not be filled with zeros
for it. ``values[i]`` is added to row ``indices[i]``; rows may come up more than once.

    IndexedSlices(values=[[1., 2.], [3., 4.]], indices=[0, 2], dense_shape=[3, 2])   ->   [[1, 2], [0, 0], [3, 4]]

Wherever a tensor is expected, the slices stand for the whole of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from situs._src.base.dtype import DType, int32
from situs._src.base.errors import ArgumentError, UnimplementedError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor, read
from situs._src.base.tree import composites
from situs._src.base.typing import ArrayLike
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import find_op
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.runtime.eager.binding import host_value
from situs._src.runtime.symbolic.bind import constant as symbolic_constant
from situs._src.runtime.symbolic.fold import partial_value


@export(v1="IndexedSlicesValue")
class IndexedSlicesValue(NamedTuple):
    """The values of slices of a graph, as a session gives them."""

    values: Any
    indices: Any
    dense_shape: Any = None


@export("IndexedSlices")
class IndexedSlices:
    """Rows of a tensor, and which ones they are.

    Args:
        values: The rows.
        indices: The number of each row.
        dense_shape: The shape of the whole tensor; needed to make it.

    Example:
        >>> import situs as tf
        >>> slices = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1]), tf.constant([2, 2]))
        >>> tf.convert_to_tensor(slices).numpy().tolist()
        [[0.0, 0.0], [1.0, 2.0]]
    """

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def values(self) -> Any:
        """The rows."""
        return self._values

    @property
    def indices(self) -> Any:
        """The number of each row."""
        return self._indices

    @property
    def dense_shape(self) -> Any:
        """The shape of the whole tensor, as a tensor; None if it is not known."""
        if isinstance(self._dense_shape, tuple):  # a rule of gradients gives the sizes, which few programs ask for
            self._dense_shape = self._constant(self._dense_shape)
        return self._dense_shape

    def _constant(self, sizes: tuple[int, ...]) -> Tensor:
        """A tensor with sizes, where the rows are: in a graph, or not."""
        if isinstance(self._values, SymbolicTensor):
            return symbolic_constant(self._values.graph, np.array(sizes, np.int32), int32)
        return constant(sizes, int32)

    @property
    def dtype(self) -> DType:
        """The dtype of the rows."""
        return self._values.dtype  # type: ignore[no-any-return]

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole tensor, as far as it is known."""
        sizes = self._dense_shape
        known = partial_value(sizes) if isinstance(sizes, SymbolicTensor) else host_value(sizes)
        return TensorShape(known)

    @property
    def name(self) -> str:
        """The name of the rows."""
        return self._values.name  # type: ignore[no-any-return]

    @property
    def device(self) -> str:
        """The device of the rows."""
        return self._values.device  # type: ignore[no-any-return]

    @property
    def op(self) -> Any:
        """The operation that makes the rows."""
        return self._values.op

    @property
    def graph(self) -> Any:
        """The graph of the rows."""
        return self._values.graph

    def get_shape(self) -> TensorShape:
        """The same as ``shape``."""
        return self.shape

    def consumers(self) -> Any:
        """The operations that use the rows; those of a graph only."""
        if not hasattr(self._values, "consumers"):
            raise UnimplementedError("Eager tensors do not know the operations that use them.")
        return self._values.consumers()

    def __tensor__(self) -> Tensor:
        if self._dense_shape is None:
            raise ArgumentError(
                f"Tensor conversion requested for IndexedSlices without dense_shape: {self}. Give the shape of the "
                "whole tensor as `dense_shape`."
            )
        return find_op("UnsortedSegmentSum")(self._values, self._indices, self._dense_shape[0])

    def __fetched__(self) -> IndexedSlicesValue:
        """What a session fetches for slices."""
        return IndexedSlicesValue(self._values, self._indices, self.dense_shape)

    def __apply__(self, function: Callable[[Any], Any]) -> IndexedSlices:
        """Slices of what a function makes of the whole tensor, if it keeps zeros, from what it makes of the rows."""
        return IndexedSlices(function(_tensor(self._values)), self._indices, self._dense_shape)

    def __components__(self) -> tuple[Any, Any, Any]:
        """The tensors that the slices are made of, as the arguments that make them again."""
        return self._values, self._indices, self.dense_shape

    def __neg__(self) -> IndexedSlices:
        return self.__apply__(lambda values: -values)

    def __repr__(self) -> str:
        shape = "" if self._dense_shape is None else f", dense_shape={self.dense_shape!s}"
        return f"IndexedSlices(indices={self._indices!s}, values={self._values!s}{shape})"


composites.add(IndexedSlices)


def _tensor(values: ArrayLike) -> Tensor:
    return convert_to_tensor(read(values))


def scaled(slices: Any, factor: Any) -> Any:
    """A gradient times a number: slices stay slices."""
    if isinstance(slices, IndexedSlices):
        return slices.__apply__(lambda values: values * factor)
    return slices * factor
