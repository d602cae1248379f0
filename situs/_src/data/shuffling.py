"""Shuffling: a full buffer, from which random items are taken.

    items 0 1 2 3 4 ...  ->  buffer [0 2 4]  ->  1, 3, ...

Items may be row indices of a table: then the buffer holds integers. With a seed the order is TensorFlow's: a word of
the iteration's stream (`data.seeding`), modulo the number of items in the buffer, selects the item, counted from the
oldest; the oldest takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

from situs._src.base.errors import FailedPreconditionError, InvalidArgumentError
from situs._src.base.mixing import unpredictable
from situs._src.base.typing import IntLike
from situs._src.data.base import DatasetV2
from situs._src.data.element import Element
from situs._src.data.node import UNKNOWN, Binding, Failure, Node, Number, Stream, Transformation, as_number
from situs._src.data.seeding import LateSeed, late_seed_for, order_seed, words_of
from situs._src.ops.attribute import as_bool


class Shuffling(DatasetV2):
    """Elements in another order."""

    def shuffle(
        self,
        buffer_size: IntLike,
        seed: IntLike | None = None,
        reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """The elements at random, from a buffer that holds so many.

        Args:
            buffer_size: How many elements to choose from; as many as there are for a uniform order.
            seed: Makes the order the same in every program; in a graph it may be a tensor.
            reshuffle_each_iteration: Whether every iteration has an order of its own, as it has by default.
            name: Accepted for TensorFlow's programs.
        """
        again = reshuffle_each_iteration is None or as_bool(reshuffle_each_iteration, "reshuffle_each_iteration")
        return self._of(Shuffle(self._node, as_number(buffer_size, "buffer_size"), late_seed_for(seed), again))


class Shuffle(Transformation):
    """The items of another node in another order.

    Attributes:
        again: Whether every iteration has an order of its own.
    """

    title = "Shuffle"

    def __init__(self, input: Node, size: Number, seed: int | LateSeed | None, again: bool) -> None:
        super().__init__(input, None, (size, seed.given if isinstance(seed, LateSeed) else None))
        self._size = _checked(size) if isinstance(size, int) else size
        self.again = again
        self._seed = seed
        self._drawn = None if again else unpredictable()
        self._order: list[int] | None = None  # of random access: drawn once

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration, in an order of its own."""
        stream, size = self.input.start(binding), _checked(binding.number(self._size))
        words = words_of(binding.order(self, self._seed_in(binding), self.again, self._drawn))
        return Stream(shuffled(stream.items, size, words.below), stream.table)

    def pass_over(self, binding: Binding) -> None:
        """Leaves out an order; what is shuffled would not have begun yet."""
        if self.again:
            binding.memory(self).next_epoch()

    def _seed_in(self, binding: Binding) -> int | None:
        """The seed, with the value that it has in an iteration."""
        if isinstance(self._seed, LateSeed):
            return self._seed.settled(binding.number(self._seed.given))
        return self._seed

    def at(self, binding: Binding, index: int) -> Element:
        """One element of the first iteration's order, which all of these share."""
        self.checked_index(binding, index)
        there = self.input.cardinality(binding)
        if there < 0:
            raise FailedPreconditionError(
                f"Random access to a shuffled dataset needs to know how many elements it has; it has {there}, which "
                "stands for an unknown or infinite number."
            )
        if self._order is None or len(self._order) != there:
            given = self._seed_in(binding)
            seed = order_seed(self._drawn if given is None else given, 0 if self.again else None)
            self._order = list(shuffled(iter(range(there)), _checked(binding.number(self._size)), words_of(seed).below))
        return self.input.at(binding, self._order[index])

    def cardinality(self, binding: Binding) -> int:
        """As many as there were."""
        return self.input.cardinality(binding)


def _checked(size: int) -> int:
    if size <= 0 and size != UNKNOWN:
        raise InvalidArgumentError(
            f"buffer_size must be greater than zero or UNKNOWN_CARDINALITY, which is {UNKNOWN}; got {size}."
        )
    return size


def shuffled(items: Iterator[Any], size: int, choose: Callable[[int], int]) -> Iterator[Any]:
    """Items at random from a buffer of so many, or of all; `choose` gives a number below another."""
    buffer: list[Any] = []  # a ring once it is full: the oldest item is at `oldest`
    oldest = 0
    for item in items:
        if type(item) is Failure:
            yield item
        elif size < 0 or len(buffer) < size - 1:
            buffer.append(item)
        elif len(buffer) < size:
            buffer.append(item)
            yield _taken(buffer, oldest, size, choose)
            oldest = 1 % size
        else:
            buffer[oldest - 1] = item  # where the last oldest one was
            yield _taken(buffer, oldest, size, choose)
            oldest = (oldest + 1) % size
    left = len(buffer) - (size >= 0 and len(buffer) == size)
    while left:
        yield _taken(buffer, oldest, left, choose)
        oldest, left = (oldest + 1) % len(buffer), left - 1


def _taken(buffer: list[Any], oldest: int, count: int, choose: Callable[[int], int]) -> Any:
    """Takes one of the `count` items from the oldest on; the oldest takes its place, which is free then."""
    place = (oldest + choose(count)) % len(buffer)
    taken, buffer[place] = buffer[place], buffer[oldest]
    buffer[oldest] = None
    return taken
