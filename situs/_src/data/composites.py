"""Sparse and ragged tensors in datasets: slicing and batching.

    from_tensor_slices(ragged)         a row of the ragged tensor each: a tensor, or a ragged one
    ds.batch(2)                        such rows, joined again: they may differ in length
    ds.ragged_batch(2)                 tensors that differ in size, joined into ragged tensors

The specs of such values implement it: ``_unbatch()`` and ``_unstacked(values)``, ``_batch(size)`` and
``_stacked(rows)``, on host components. For other composites every component has the rows, as in a structure of tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import torch

from situs._src.base.dtype import DType
from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import TensorShape
from situs._src.base.tree import LEAF, Form, put_together, specs_in, take_apart
from situs._src.data.columns import rows_of, stacked
from situs._src.data.element import DatasetSpec, Element, Spec, spec_of
from situs._src.ragged.tensor import RaggedTensorSpec
from situs._src.runtime.eager.bridge import TORCH_DTYPE
from situs._src.tracing.spec import TensorSpec
from situs._src.tracing.type_spec import TypeSpec

Group = tuple[Any, list[int]]  # the spec of a composite, None for a tensor; and the places of its tensors


def has_composites(spec: Spec) -> bool:
    """Whether some of an element is made of several tensors."""
    return bool(specs_in(spec.form))


def groups_of(form: Any) -> list[Group]:
    """The tensors and composites of an element, in order."""
    return list(_groups(form, count()))


def _groups(form: Any, places: Iterator[int]) -> Iterator[Group]:
    if form is LEAF:
        yield None, [next(places)]
    elif isinstance(form, Form) and form.is_composite and form.extra is not None:
        yield form.extra, [place for _, inside in _inside(form, places) for place in inside]
    elif isinstance(form, Form):
        yield from _inside(form, places)


def _inside(form: Form, places: Iterator[int]) -> Iterator[Group]:
    for item in form.items:
        yield from _groups(item, places)


def _changed(spec: Spec, of_tensor: Callable[[TensorShape], TensorShape], of_composite: Callable[[Any], Any]) -> Spec:
    form, leaves = take_apart(spec.structure)
    made: list[Any] = []
    for leaf in leaves:
        if isinstance(leaf, TensorSpec):
            made.append(TensorSpec(of_tensor(leaf.shape), leaf.dtype))
        elif isinstance(leaf, DatasetSpec):
            made.append(DatasetSpec(leaf.spec, of_tensor(leaf.shape)))
        else:
            made.append(of_composite(leaf))
    return spec_of(put_together(form, made))


def spec_of_rows(spec: Spec) -> Spec:
    """What the rows of such elements are.

    Raises:
        UnimplementedError: there is something in them that has no rows.
    """

    def row(shape: TensorShape) -> TensorShape:
        if shape.rank == 0:
            raise ArgumentError("Unbatching a tensor is only supported for rank >= 1: a scalar has no rows.")
        return shape[1:]

    def rows(own: Any) -> Any:
        return own._unbatch() if hasattr(own, "_unbatch") else _parts_changed(own, row, rows)

    return _changed(spec, row, rows)


def spec_of_batches(spec: Spec, size: int | None) -> Spec:
    """What batches of such elements are.

    Raises:
        UnimplementedError: there is something in them that cannot be joined.
    """

    def batch(shape: TensorShape) -> TensorShape:
        return TensorShape([size]) + shape

    def batches(own: Any) -> Any:
        return own._batch(size) if hasattr(own, "_batch") else _parts_changed(own, batch, batches)

    return _changed(spec, batch, batches)


def _parts_changed(
    spec: Any, of_tensor: Callable[[TensorShape], TensorShape], of_composite: Callable[[Any], Any]
) -> Any:
    """The kind of a composite whose components have other shapes; a shape among its fields changes as theirs do."""
    form, leaves = take_apart(spec._serialize())
    made: list[Any] = []
    for leaf in leaves:
        if isinstance(leaf, TensorSpec):
            made.append(TensorSpec(of_tensor(leaf.shape), leaf.dtype))
        elif isinstance(leaf, TypeSpec):
            made.append(of_composite(leaf))
        else:
            made.append(of_tensor(leaf) if isinstance(leaf, TensorShape) else leaf)
    return type(spec)._deserialize(put_together(form, made))


def spec_of_ragged_rows(spec: Spec, splits: DType) -> Spec:
    """The same elements, of which tensors with unknown sizes are rows of ragged tensors.

    Raises:
        InvalidArgumentError: not even the rank of a tensor is known.
    """
    form, leaves = take_apart(spec.structure)
    return spec_of(put_together(form, [_ragged_row(leaf, splits) for leaf in leaves]))


def _ragged_row(leaf: Any, splits: DType) -> Any:
    if not isinstance(leaf, TensorSpec) or leaf.shape.is_fully_defined():
        return leaf
    if leaf.shape.rank is None:
        raise ArgumentError(f"Elements of unknown rank cannot be joined into ragged tensors: {leaf!r}.")
    last = max(axis for axis, size in enumerate(leaf.shape) if size is None)
    return RaggedTensorSpec(leaf.shape, leaf.dtype, last, splits)


def as_ragged_rows(groups: Sequence[Group], element: Element) -> Element:
    """An element of tensors as that of `spec_of_ragged_rows` with these groups: some of them with splits."""
    made: list[Any] = []
    for value, (spec, places) in zip(element, groups, strict=True):
        made.append(value if len(places) == 1 else value.reshape(-1, *value.shape[len(places) :]))
        for axis in range(1, len(places)):
            rows, size = math.prod(value.shape[:axis]), value.shape[axis]
            made.append(torch.arange(rows + 1, dtype=TORCH_DTYPE[spec.row_splits_dtype]) * size)
    return tuple(made)


def rows_in(groups: Sequence[Group], values: Sequence[Any]) -> list[Element]:
    """The rows of one element.

    Raises:
        InvalidArgumentError: its parts have other numbers of rows.
    """
    columns: list[list[Any]] = []
    for spec, places in groups:
        given = [values[place] for place in places]
        if hasattr(spec, "_unstacked"):
            columns.append(spec._unstacked(given))
        else:
            columns.append(list(zip(*map(rows_of, given), strict=True)))
    for column in columns[1:]:
        if len(column) != len(columns[0]):
            raise ArgumentError(
                f"Dimensions {len(columns[0])} and {len(column)} are not compatible: all parts have as many rows."
            )
    return [tuple(part for parts in row for part in parts) for row in zip(*columns, strict=True)]


def joiner(groups: Sequence[Group]) -> Callable[[Sequence[Element]], Element]:
    """A function that joins elements."""

    def joined(elements: Sequence[Element]) -> Element:
        made: list[Any] = []
        for number, (spec, places) in enumerate(groups):
            if hasattr(spec, "_stacked"):
                made += spec._stacked([[element[place] for place in places] for element in elements])
            else:
                made += [stacked([element[place] for element in elements], number) for place in places]
        return tuple(made)

    return joined
