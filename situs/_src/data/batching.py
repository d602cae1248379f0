"""Batching and unbatching.

    range(5).batch(2)              [0 1] [2 3] [4]
    range(5).batch(2, True)        [0 1] [2 3]
    ds.unbatch()                   the rows of each element

The rows of a table are gathered for a whole batch at once (`data.table`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Self

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, InvalidArgumentError, UnimplementedError
from situs._src.base.shapes import TensorShape
from situs._src.base.typing import DTypeLike, IntLike
from situs._src.data.base import DatasetV2
from situs._src.data.columns import rows_of, stacked
from situs._src.data.composites import (
    as_ragged_rows,
    groups_of,
    has_composites,
    joiner,
    rows_in,
    spec_of_batches,
    spec_of_ragged_rows,
    spec_of_rows,
)
from situs._src.data.element import Element, Spec
from situs._src.data.node import (
    INFINITE,
    UNKNOWN,
    Binding,
    Failure,
    Node,
    Number,
    Stream,
    Transformation,
    as_number,
    guarded,
    positive,
)
from situs._src.data.table import Table
from situs._src.ops.attribute import as_bool


class Batching(DatasetV2):
    """Batching and unbatching methods."""

    def batch(
        self,
        batch_size: IntLike,
        drop_remainder: bool = False,
        num_parallel_calls: IntLike | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """Elements joined into batches, component by component.

        Args:
            batch_size: How many elements make a batch.
            drop_remainder: Whether to leave out the last batch if it is smaller.
            num_parallel_calls: Accepted for TensorFlow's programs: a batch is one copy.
            deterministic: Accepted for TensorFlow's programs.
            name: Accepted for TensorFlow's programs.
        """
        size, drops = as_number(batch_size, "batch_size"), as_bool(drop_remainder, "drop_remainder")
        kind = CompositeBatch if has_composites(self._node.spec) else Batch
        return self._of(kind(self._node, size, drops))

    def ragged_batch(
        self,
        batch_size: IntLike,
        drop_remainder: bool = False,
        row_splits_dtype: DTypeLike = dt.int64,
        name: str | None = None,
    ) -> Self:
        """Elements joined into batches, as ragged tensors where their sizes may differ.

        Args:
            batch_size: How many elements make a batch.
            drop_remainder: Whether to leave out the last batch if it is smaller.
            row_splits_dtype: The dtype of the splits of ragged tensors, int32 or int64.
            name: Accepted for TensorFlow's programs.

        Example:
            >>> import situs as tf
            >>> ds = tf.data.Dataset.range(1, 4).map(lambda n: tf.range(n)).ragged_batch(2)
            >>> [batch.to_list() for batch in ds]
            [[[0], [0, 1]], [[0, 1, 2]]]
        """
        size, drops = as_number(batch_size, "batch_size"), as_bool(drop_remainder, "drop_remainder")
        splits = as_dtype(row_splits_dtype)
        if splits not in (dt.int32, dt.int64):
            raise ArgumentError(f"row_splits_dtype is int32 or int64, got {splits.name}.")
        return self._of(RaggedBatch(self._node, size, drops, splits))

    def unbatch(self, name: str | None = None) -> Self:
        """The rows of the elements, one after the other."""
        return self._of(Unbatch(self._node))

    def rebatch(self, batch_size: IntLike, drop_remainder: bool = False, name: str | None = None) -> Self:
        """Batches of another size, of the rows of the batches there are."""
        return self.unbatch().batch(batch_size, drop_remainder)


def leading(size: Number, drops: bool) -> int | None:
    """The first dimension of batches: known if all of them are full."""
    return size if drops and isinstance(size, int) else None


def number_of_batches(there: int, size: int | None, drops: bool) -> int:
    """How many batches so many elements make."""
    if there == INFINITE:
        return INFINITE
    if there == UNKNOWN or size is None:
        return UNKNOWN
    return there // size if drops else -(-there // size)


class Batch(Transformation):
    """Elements joined."""

    title = "Batch"

    def __init__(self, input: Node, size: Number, drops: bool) -> None:
        super().__init__(input, self._spec(input, leading(size, drops)), (size,))
        self._size = checked_size(size) if isinstance(size, int) else size
        self._drops = drops

    def _spec(self, input: Node, size: int | None) -> Spec:
        rows = TensorShape([size])
        return input.spec.with_shapes(lambda shape: rows + shape)

    def _join(self, group: Sequence[Element]) -> Element:
        return _joined(group)

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        return self.start_after(binding, 0)

    def start_after(self, binding: Binding, count: int) -> Stream:
        """Begins an iteration behind the first batches, without joining them."""
        size = checked_size(binding.number(self._size))
        stream = self.input.start_after(binding, count * size)
        if stream.table is not None and type(self) is Batch:
            return Stream(_batches_of_rows(stream.items, size, self._drops, stream.table))
        return Stream(map(guarded(self._join), groups(stream.elements(), size, self._drops)))

    def at(self, binding: Binding, index: int) -> Element:
        """One batch."""
        size, there = checked_size(binding.number(self._size)), self.input.cardinality(binding)
        first = self.checked_index(binding, index) * size
        last = first + size if there < 0 else min(first + size, there)
        return self._join([self.input.at(binding, number) for number in range(first, last)])

    def cardinality(self, binding: Binding) -> int:
        """How many batches there are."""
        return number_of_batches(self.input.cardinality(binding), binding.known(self._size), self._drops)


class CompositeBatch(Batch):
    """Elements joined, of which some parts are sparse or ragged."""

    def __init__(self, input: Node, size: Number, drops: bool) -> None:
        self._join_parts = joiner(groups_of(input.spec.form))
        super().__init__(input, size, drops)

    def _spec(self, input: Node, size: int | None) -> Spec:
        return spec_of_batches(input.spec, size)

    def _join(self, group: Sequence[Element]) -> Element:
        return self._join_parts(group)


class RaggedBatch(Batch):
    """Elements joined, tensors of unknown sizes into ragged ones."""

    title = "RaggedBatch"

    def __init__(self, input: Node, size: Number, drops: bool, splits: DType) -> None:
        if has_composites(input.spec):
            raise UnimplementedError("ragged_batch() joins tensors; for sparse and ragged elements use batch().")
        self._rows = spec_of_ragged_rows(input.spec, splits)
        self._groups = groups_of(self._rows.form)
        self._join_parts = joiner(self._groups)
        super().__init__(input, size, drops)

    def _spec(self, input: Node, size: int | None) -> Spec:
        return spec_of_batches(self._rows, size)

    def _join(self, group: Sequence[Element]) -> Element:
        return self._join_parts([as_ragged_rows(self._groups, element) for element in group])


def checked_size(size: int) -> int:
    """The size of a batch.

    Raises:
        InvalidArgumentError: there is no such batch.
    """
    return positive(size, "Batch size must be greater than zero")


def _batches_of_rows(numbers: Iterator[int], size: int, drops: bool, table: Table) -> Iterator[Element]:
    while chosen := list(islice(numbers, size)):
        if len(chosen) == size or not drops:
            yield table.rows(chosen)


def groups(items: Iterator[Any], size: int, drops: bool) -> Iterator[Any]:
    """Elements in groups of so many; one that failed takes those before it in its group with it."""
    left: list[Any] = []  # what was taken behind an element that failed
    while group := left + list(islice(items, size - len(left))):
        left = []
        if Failure in map(type, group):
            number = next(i for i, item in enumerate(group) if type(item) is Failure)
            left = group[number + 1 :]
            yield group[number]
        elif len(group) == size or not drops:
            yield group
        del group


def _joined(group: Sequence[Element]) -> Element:
    return tuple([stacked(values, number) for number, values in enumerate(zip(*group, strict=True))])


class Unbatch(Transformation):
    """The rows of elements."""

    title = "Unbatch"

    def __init__(self, input: Node) -> None:
        self._groups = groups_of(input.spec.form) if has_composites(input.spec) else None
        if self._groups is not None:
            self._rows: int | None = None
            super().__init__(input, spec_of_rows(input.spec))
            return
        shapes = [leaf.shape for leaf in input.spec.leaves]
        if any(shape.rank == 0 for shape in shapes):
            raise ArgumentError("Cannot unbatch an input with scalar components.")
        sizes = [shape[0] for shape in shapes if shape[0] is not None]
        for size in sizes:
            if size != sizes[0]:
                raise ArgumentError(_different(sizes[0], size))
        self._rows = sizes[0] if sizes else None
        super().__init__(input, input.spec.with_shapes(lambda shape: shape[1:]))

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        found = self._groups
        apart = _taken_apart if found is None else lambda element: rows_in(found, element)
        return Stream(_rows(self.input.start(binding).elements(), apart))

    def cardinality(self, binding: Binding) -> int:
        """Known if every element has as many rows."""
        there = self.input.cardinality(binding)
        if there < 0 or self._rows is None:
            return there if there == INFINITE else UNKNOWN
        return there * self._rows


def _rows(items: Iterator[Any], apart: Callable[[Element], list[Element]]) -> Iterator[Any]:
    for item in items:
        taken_apart = guarded(apart)(item)
        if type(taken_apart) is Failure:
            yield taken_apart
        else:
            yield from taken_apart


def _taken_apart(element: Element) -> list[Element]:
    for value in element:
        if not value.ndim:
            raise InvalidArgumentError("Input element must have a non-scalar value in each component.")
        if len(value) != len(element[0]):
            raise InvalidArgumentError(_different(len(element[0]), len(value)))
    return list(zip(*[rows_of(value) for value in element], strict=True))


def _different(one: int, other: int) -> str:
    return (
        "`unbatch()` is only supported for datasets of elements whose components have a matching leading dimension. "
        f"Encountered both {one} and {other}."
    )
