"""Sparse and ragged tensors in datasets: their rows as elements, and elements joined into them.

    from_tensor_slices(ragged)         a row of the ragged tensor each: a tensor, or a ragged one
    ds.batch(2)                        such rows, joined again: they may differ in length

The specs of such values know how: ``_unbatch()`` and ``_unstacked(values)``, ``_batch(size)`` and ``_stacked(rows)``,
of what the components are on the host. Of other composites every component has the rows, as in a structure of tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from situs._src.base.errors import ArgumentError, UnimplementedError
from situs._src.base.shapes import TensorShape
from situs._src.base.tree import LEAF, Form, put_together, specs_in, take_apart
from situs._src.data.columns import rows_of, stacked
from situs._src.data.element import DatasetSpec, Element, Spec, spec_of
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

    return _changed(spec, row, lambda own: own._unbatch() if hasattr(own, "_unbatch") else _parts_changed(own, row))


def spec_of_batches(spec: Spec, size: int | None) -> Spec:
    """What batches of such elements are.

    Raises:
        UnimplementedError: there is something in them that cannot be joined.
    """

    def batch(shape: TensorShape) -> TensorShape:
        return TensorShape([size]) + shape

    return _changed(spec, batch, lambda own: own._batch(size) if hasattr(own, "_batch") else _parts_changed(own, batch))


def _parts_changed(spec: Any, of_tensor: Callable[[TensorShape], TensorShape]) -> Any:
    """The kind of a composite whose components have other shapes."""
    form, leaves = take_apart(spec._serialize())
    made = []
    for leaf in leaves:
        if isinstance(leaf, TypeSpec) and not isinstance(leaf, TensorSpec):
            raise UnimplementedError(f"Elements with {spec!r} have no rows, and cannot be joined into batches.")
        made.append(TensorSpec(of_tensor(leaf.shape), leaf.dtype) if isinstance(leaf, TensorSpec) else leaf)
    return type(spec)(*put_together(form, made))


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
