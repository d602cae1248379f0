"""Groups of elements as datasets: window, group_by_window.

    range(7).window(3)                           {0 1 2} {3 4 5} {6}                 each {} a dataset
    range(4).window(2, shift=1)                  {0 1} {1 2} {2 3} {3}
    ds.group_by_window(key, reduce, size)        elements of one key, reduce(key, {...})

The elements of a group are kept until the group is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Self

import torch

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.tree import LEAF
from situs._src.base.typing import IntLike
from situs._src.data.base import DatasetV2
from situs._src.data.element import DatasetSpec, Element, Spec, is_dataset, joined
from situs._src.data.function import Bound, ElementFunction
from situs._src.data.mapping import Computed
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
from situs._src.data.sources import INT64
from situs._src.ops.attribute import as_bool


class Windows(DatasetV2):
    """Elements in groups."""

    def window(
        self,
        size: Any,
        shift: IntLike | None = None,
        stride: Any = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Groups of elements, each a dataset; of elements with several components, a dataset for each.

        Args:
            size: How many elements make a window.
            shift: How far the next window begins behind this one; by default as many elements as it has.
            stride: How far the elements of a window are apart.
            drop_remainder: Whether to leave out windows at the end that are smaller.
            name: Accepted for TensorFlow's programs.
        """
        wide = as_number(size, "size")
        step = wide if shift is None else as_number(shift, "shift")
        drops = as_bool(drop_remainder, "drop_remainder")
        return self._of(Window(self._node, wide, step, as_number(stride, "stride"), drops))

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: IntLike | None = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Self:
        """Groups elements by a key, and makes a dataset of each group of one size.

        Args:
            key_func: Gives an int64 scalar for an element.
            reduce_func: Makes a dataset of a key and a dataset of the elements that have it.
            window_size: How many elements make a group.
            window_size_func: Gives that number for a key.
            name: Accepted for TensorFlow's programs.
        """
        if (window_size is None) is (window_size_func is None):
            raise ArgumentError("Either the `window_size` or the `window_size_func` argument must be specified.")
        key = self._scalar(self._function(key_func, "group_by_window"), "key_func")
        pair = joined([INT64, Spec(LEAF, [DatasetSpec(self._node.spec)])])
        reduce = ElementFunction(reduce_func, pair, "group_by_window", self._of)
        if not is_dataset(reduce.spec):
            raise DTypeError(f"`reduce_func` must return a `Dataset` object. Got {reduce.spec.structure!r}.")
        if window_size_func is None:
            size: Any = as_number(window_size, "window_size")
        else:
            sizing = ElementFunction(window_size_func, INT64, "group_by_window", self._of)
            size = self._scalar(sizing, "window_size_func")
        return self._of(GroupByWindow(self._node, key, reduce, size))

    def _scalar(self, function: ElementFunction, what: str) -> ElementFunction:
        leaf = function.spec.leaves[0]
        if function.spec.form is not LEAF or leaf.dtype is not dt.int64 or leaf.shape.rank not in (0, None):
            raise DTypeError(
                f"Invalid `{what}`. Expected `{what}` to return a scalar tf.int64 tensor, but got "
                f"{function.spec.structure!r}."
            )
        return function


class Elements(Node):
    """Elements that are there already."""

    title = "Window"

    def __init__(self, spec: Spec, elements: list[Element]) -> None:
        super().__init__(spec)
        self._elements = elements

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        return Stream(iter(self._elements))

    def cardinality(self, binding: Binding) -> int:
        """The number of elements."""
        return len(self._elements)


class Window(Transformation):
    """Groups of elements that follow each other."""

    title = "Window"

    def __init__(self, input: Node, size: Number, shift: Number, stride: Number, drops: bool) -> None:
        _check_on_host(input, "window()")
        leaves = [DatasetSpec(Spec(LEAF, [leaf])) for leaf in input.spec.leaves]
        super().__init__(input, input.spec.with_leaves(leaves), (size, shift, stride))
        self._numbers = (size, shift, stride)
        self._drops = drops
        for number, name in zip(self._numbers, _NAMES, strict=True):
            if isinstance(number, int):
                positive(number, f"Window {name} must be greater than zero")

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        numbers = zip(self._numbers, _NAMES, strict=True)
        size, shift, stride = [
            positive(binding.number(number), f"Window {name} must be greater than zero") for number, name in numbers
        ]
        items = self.input.start(binding).elements()
        return Stream(self._windows(items, size, shift, stride, binding))

    def _windows(self, items: Iterator[Any], size: int, shift: int, stride: int, binding: Binding) -> Iterator[Any]:
        reach = (size - 1) * stride + 1
        buffer: list[Any] = []
        while True:
            buffer += islice(items, reach - len(buffer))
            if not buffer or (self._drops and len(buffer) < reach):
                return
            chosen = buffer[:reach:stride]
            failed = next((item for item in chosen if type(item) is Failure), None)
            yield self._window(chosen, binding) if failed is None else Failure(failed.error)
            for _ in islice(items, max(shift - len(buffer), 0)):
                pass
            del buffer[:shift]

    def _window(self, elements: list[Element], binding: Binding) -> Element:
        """One dataset for each component."""
        columns = zip(*elements, strict=True)
        specs = [leaf.spec for leaf in self.spec.leaves if isinstance(leaf, DatasetSpec)]
        return tuple(
            [
                Bound(Elements(spec, [(value,) for value in column]), binding.within({}))
                for spec, column in zip(specs, columns, strict=True)
            ]
        )

    def cardinality(self, binding: Binding) -> int:
        """How many windows there are."""
        known, there = [binding.known(number) for number in self._numbers], self.input.cardinality(binding)
        if there < 0 or None in known:
            return there if there == INFINITE else UNKNOWN
        size, shift, stride = [number for number in known if number is not None]
        last = (size - 1) * stride + 1 if self._drops else 1  # elements that the last window needs
        return 0 if there < last else (there - last) // shift + 1


_NAMES = ("size", "shift", "stride")


def _check_on_host(input: Node, what: str) -> None:
    if input.where is not None:
        raise ArgumentError(f"{what} makes datasets of elements on the host: bring them to a device afterwards.")


class GroupByWindow(Computed):
    """Datasets made of groups of elements that have one key."""

    title = "GroupByWindow"

    def __init__(self, input: Node, key: ElementFunction, reduce: ElementFunction, size: Any) -> None:
        _check_on_host(input, "group_by_window()")
        sizing = size.captures if isinstance(size, ElementFunction) else [size]
        leaf = reduce.spec.leaves[0]
        assert isinstance(leaf, DatasetSpec)
        super().__init__(input, key, leaf.spec, *reduce.captures, *sizing)
        self._reduce = reduce
        self._size = size

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        items = self.input.start(binding).elements()
        return Stream(self._groups(items, guarded(self.function.bind(binding)), binding))

    def _groups(self, items: Iterator[Any], key_of: Callable[[Any], Any], binding: Binding) -> Iterator[Any]:
        reduce, size_of = self._reducer(binding), self._sizes(binding)
        groups: dict[int, list[Element]] = {}
        for item in items:
            key = key_of(item)
            size = size_of(key)
            if type(size) is Failure:
                yield size
                continue
            group = groups.setdefault(int(key[0]), [])
            group.append(item)
            if len(group) >= size:
                yield from reduce(key, groups.pop(int(key[0])))
        for number, group in groups.items():
            yield from reduce((_scalar(number),), group)

    def _reducer(self, binding: Binding) -> Callable[[Element, list[Element]], Iterator[Any]]:
        call = guarded(self._reduce.bind(binding))

        def reduce(key: Element, group: list[Element]) -> Iterator[Any]:
            made = call((key[0], Bound(Elements(self.input.spec, group), binding.within({}))))
            if type(made) is Failure:
                yield made
            else:
                yield from made[0][()].start().elements()

        return reduce

    def _sizes(self, binding: Binding) -> Callable[[Any], Any]:
        """From a key to the size of its groups; a `Failure` if the key is one, or the size cannot be told."""
        if not isinstance(self._size, ElementFunction):
            fixed = _checked_size(binding.number(self._size))
            return guarded(lambda key: fixed)
        call = self._size.bind(binding)
        return guarded(lambda key: _checked_size(int(call(key)[0])))


def _checked_size(size: int) -> int:
    return positive(size, "Window size must be greater than zero")


def _scalar(number: int) -> torch.Tensor:
    return torch.tensor(number, dtype=torch.int64)
