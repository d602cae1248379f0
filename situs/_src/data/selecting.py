"""Selecting and repeating elements: take, skip, shard, repeat, unique.

    range(7).skip(1).take(4)       1 2 3 4
    range(7).shard(3, 1)           1 4
    range(2).repeat(2)             0 1 0 1

The first four do not inspect elements: for a table, they pass on row indices.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, Self

from situs._src.base import dtype as dt
from situs._src.base.errors import DTypeError, FailedPreconditionError, InvalidArgumentError, OpError
from situs._src.base.typing import IntLike
from situs._src.data.base import DatasetV2
from situs._src.data.element import Element
from situs._src.data.node import INFINITE, UNKNOWN, Binding, Failure, Node, Number, Stream, Transformation, as_number
from situs._src.data.shuffling import Shuffle
from situs._src.data.table import OneByOne
from situs._src.runtime.eager.tensor import to_numpy_value


class Selecting(DatasetV2):
    """Some of the elements, or all of them again."""

    def take(self, count: IntLike, name: str | None = None) -> Self:
        """The first `count` elements; all if it is -1."""
        return self._of(Take(self._node, as_number(count, "count")))

    def skip(self, count: IntLike, name: str | None = None) -> Self:
        """The elements after the first `count`; none if it is -1."""
        return self._of(Skip(self._node, as_number(count, "count")))

    def shard(self, num_shards: IntLike, index: object, name: str | None = None) -> Self:
        """Every element whose number gives `index` when divided by `num_shards`: a part for one of many workers."""
        return self._of(Shard(self._node, as_number(num_shards, "num_shards"), as_number(index, "index")))

    def repeat(self, count: IntLike | None = None, name: str | None = None) -> Self:
        """The elements `count` times over; without end if it is None or -1."""
        return self._of(Repeat(self._node, as_number(-1 if count is None else count, "count")))

    def unique(self, name: str | None = None) -> Self:
        """Each element once: those that were there before are left out."""
        return self._of(Unique(self._node))

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Self:
        """The elements without those that could not be made.

        Args:
            log_warning: Whether to log a warning for each of them.
            name: Accepted for TensorFlow's programs.
        """
        return self._of(IgnoreErrors(self._node, bool(log_warning)))


class Take(Transformation):
    """The first elements."""

    title = "Take"

    def __init__(self, input: Node, count: Number) -> None:
        super().__init__(input, None, (count,))
        self._count = count

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        stream, count = self.input.start(binding), binding.number(self._count)
        return Stream(stream.items if count < 0 else _taken(stream.items, count), stream.table)

    def at(self, binding: Binding, index: int) -> Element:
        """One of the first elements."""
        return self.input.at(binding, self.checked_index(binding, index))

    def cardinality(self, binding: Binding) -> int:
        """The count, or what there is if that is less."""
        count, there = binding.known(self._count), self.input.cardinality(binding)
        if count is None:
            return UNKNOWN
        if count < 0:
            return there
        return count if there == INFINITE else there if there == UNKNOWN else min(count, there)


def _taken(items: Iterator[Any], count: int) -> Iterator[Any]:
    if count == 0:
        return
    for item in items:
        yield item
        count -= type(item) is not Failure
        if count == 0:
            return


class Skip(Transformation):
    """All but the first elements."""

    title = "Skip"

    def __init__(self, input: Node, count: Number) -> None:
        super().__init__(input, None, (count,))
        self._count = count

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        stream, count = self.input.start(binding), binding.number(self._count)
        return Stream(iter(()) if count < 0 else _skipped(stream.items, count), stream.table)

    def at(self, binding: Binding, index: int) -> Element:
        """One of the elements that are left."""
        return self.input.at(binding, self.checked_index(binding, index) + binding.number(self._count))

    def cardinality(self, binding: Binding) -> int:
        """What is left."""
        count, there = binding.known(self._count), self.input.cardinality(binding)
        if count is None:
            return UNKNOWN
        if count < 0:
            return 0
        return max(there - count, 0) if there >= 0 else there


def _skipped(items: Iterator[Any], count: int) -> Iterator[Any]:
    for item in items:
        if type(item) is Failure:
            yield item
        elif count:
            count -= 1
        else:
            yield item
            break
    yield from items


class Shard(Transformation):
    """Every n-th element."""

    title = "Shard"

    def __init__(self, input: Node, shards: Number, index: Number) -> None:
        super().__init__(input, None, (shards, index))
        self._shards, self._index = shards, index
        if isinstance(shards, int):
            _check_shard(shards, index if isinstance(index, int) else 0)

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        stream = self.input.start(binding)
        shards, index = binding.number(self._shards), binding.number(self._index)
        _check_shard(shards, index)
        return Stream(_sharded(stream.items, shards, index), stream.table)

    def at(self, binding: Binding, index: int) -> Element:
        """One element of this part."""
        shards, first = binding.number(self._shards), binding.number(self._index)
        return self.input.at(binding, self.checked_index(binding, index) * shards + first)

    def cardinality(self, binding: Binding) -> int:
        """The size of this part."""
        shards, index = binding.known(self._shards), binding.known(self._index)
        there = self.input.cardinality(binding)
        if shards is None or index is None or there < 0:
            return there if there == INFINITE else UNKNOWN
        return max(there - index + shards - 1, 0) // shards


def _check_shard(shards: int, index: int) -> None:
    if shards <= 0:
        raise InvalidArgumentError(f"Number of shards must be greater than zero (currently num_shards = {shards}).")
    if not 0 <= index < shards:
        raise InvalidArgumentError(f"Index must be between 0 and {shards - 1} (currently index = {index}).")


def _sharded(items: Iterator[Any], shards: int, index: int) -> Iterator[Any]:
    number = 0
    for item in items:
        if type(item) is Failure:
            yield item
            continue
        if number % shards == index:
            yield item
        number += 1


class Repeat(Transformation):
    """The elements over and over.

    So many rounds are gone through, also those without elements. Without end, it ends at a round without elements; but
    behind ``shuffle``, which TensorFlow makes one step with this one, only if that is the first.
    """

    title = "Repeat"

    def __init__(self, input: Node, count: Number) -> None:
        super().__init__(input, None, (count,))
        self._count = count
        self._goes_on = isinstance(input, Shuffle)

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration, which begins others of what is repeated."""
        count = binding.number(self._count)
        first = self.input.start(binding)
        table = OneByOne(first.table) if first.table is not None and _reshuffles(self.input) else first.table
        return Stream(self._repeated(first.items, count, binding), table)

    def at(self, binding: Binding, index: int) -> Element:
        """One element of one of the rounds."""
        self.checked_index(binding, index)
        there = self.input.cardinality(binding)
        if there == UNKNOWN:
            raise FailedPreconditionError(
                "Random access to a repeated dataset needs to know how many elements it repeats. Use cache() or "
                "assert_cardinality() before repeat()."
            )
        return self.input.at(binding, index % there if there > 0 else index)

    def _repeated(self, items: Iterator[Any], count: int, binding: Binding) -> Iterator[Any]:
        begun = False  # whether a round had elements
        alone = count == 1  # TensorFlow leaves such a step out
        while count:
            is_empty = True
            for item in items:
                is_empty = False
                yield item
            if is_empty and count < 0 and not (begun and self._goes_on):  # it would be so for ever
                return
            begun |= not is_empty
            count -= 1
            if count:
                binding.life.check()
                items = self.input.start(binding).items
        if not self._goes_on and not alone:
            self.input.pass_over(binding)  # TensorFlow begins another round, and then ends

    def cardinality(self, binding: Binding) -> int:
        """So many times what there is."""
        count, there = binding.known(self._count), self.input.cardinality(binding)
        if count == 0 or there == 0:
            return 0
        if count is None or (there == UNKNOWN and count >= 0):
            return UNKNOWN
        return INFINITE if count < 0 or there == INFINITE else count * there


def _reshuffles(node: Node) -> bool:
    """Whether each round has an order of its own: one that begins early takes the order of another iteration."""
    return (isinstance(node, Shuffle) and node.again) or any(map(_reshuffles, node.inputs))


class Unique(Transformation):
    """The elements that were not there before."""

    title = "Unique"

    def __init__(self, input: Node) -> None:
        super().__init__(input)
        if len(input.spec.leaves) != 1:
            raise InvalidArgumentError("UniqueDataset only supports inputs with a single component.")
        dtype = input.spec.leaves[0].dtype
        if dtype not in (dt.int32, dt.int64, dt.string):
            raise DTypeError(
                f"`tf.data.Dataset.unique` does not support type {dtype!r} -- only `tf.int32`, `tf.int64`, and "
                "`tf.string` are supported."
            )

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        return Stream(_first_ones(self.input.start(binding).elements()))


def _first_ones(items: Iterator[Any]) -> Iterator[Any]:
    seen: set[Any] = set()
    for item in items:
        key = None if type(item) is Failure else _key(item)
        if key is None or key not in seen:
            seen.add(key)
            yield item


def _key(element: Element) -> tuple[Any, tuple[Any, ...]]:
    array = to_numpy_value(element[0])
    return array.shape, tuple(array.ravel().tolist())


_logger = logging.getLogger("situs")


class IgnoreErrors(Transformation):
    """The elements that could be made."""

    title = "IgnoreErrors"

    def __init__(self, input: Node, log_warning: bool) -> None:
        super().__init__(input)
        self._log = log_warning

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        return Stream(self._without_errors(self.input.start(binding).elements()))

    def _without_errors(self, items: Iterator[Any]) -> Iterator[Any]:
        for item in items:
            if type(item) is not Failure or not isinstance(item.error, OpError):
                yield item
            elif self._log:
                _logger.warning("An element of a dataset was left out: %s", item.error)
