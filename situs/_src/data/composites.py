"""Sparse and ragged tensors in datasets: their rows as elements, and elements joined into them.

    from_tensor_slices(ragged)         a row of the ragged tensor each: a tensor, or a ragged one
    ds.batch(2)                        such rows, joined again: they may differ in length

The specs of such values know how: ``_unbatch()`` and ``_unstacked(values)``, ``_batch(size)`` and ``_stacked(rows)``,
of what the components are on the host.
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

    return _changed(spec, row, lambda own: _asked(own, "_unbatch")())


def spec_of_batches(spec: Spec, size: int | None) -> Spec:
    """What batches of such elements are.

    Raises:
        UnimplementedError: there is something in them that cannot be joined.
    """
    return _changed(spec, lambda shape: TensorShape([size]) + shape, lambda own: _asked(own, "_batch")(size))


def _asked(spec: Any, method: str) -> Any:
    found = getattr(spec, method, None)
    if found is None:
        raise UnimplementedError(f"Elements with {spec!r} have no rows, and cannot be joined into batches.")
    return found


def rows_in(groups: Sequence[Group], values: Sequence[Any]) -> list[Element]:
    """The rows of one element.

    Raises:
        InvalidArgumentError: its parts have other numbers of rows.
    """
    columns: list[list[Any]] = []
    for spec, places in groups:
        given = [values[place] for place in places]
        columns.append([(row,) for row in rows_of(given[0])] if spec is None else spec._unstacked(given))
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
            if spec is None:
                made.append(stacked([element[places[0]] for element in elements], number))
            else:
                made += spec._stacked([[element[place] for place in places] for element in elements])
        return tuple(made)

    return joined
