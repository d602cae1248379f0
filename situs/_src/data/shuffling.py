"""Shuffling: a buffer that is kept full, and of which an item at random goes on.

    items 0 1 2 3 4 ...  ->  buffer [0 2 4]  ->  1, 3, ...

Items may be the numbers of rows of a table: then the buffer holds integers. With a seed the order is the same in every
program, on every machine and Python; it is not TensorFlow's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, Self

from situs._src.base.errors import FailedPreconditionError, InvalidArgumentError
from situs._src.base.mixing import unpredictable
from situs._src.base.typing import IntLike
from situs._src.data.base import DatasetV2
from situs._src.data.element import Element
from situs._src.data.node import UNKNOWN, Binding, Failure, Node, Number, Stream, Transformation, as_number
from situs._src.data.seeding import LateSeed, late_seed_for, order_seed
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
    """The items of another node in another order."""

    title = "Shuffle"

    def __init__(self, input: Node, size: Number, seed: int | LateSeed | None, again: bool) -> None:
        super().__init__(input, None, (size, seed.given if isinstance(seed, LateSeed) else None))
        self._size = _checked(size) if isinstance(size, int) else size
        self._again = again
        self._seed = seed
        self._drawn = None if again else unpredictable()
        self._order: list[int] | None = None  # of random access: drawn once

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration, in an order of its own."""
        stream, size = self.input.start(binding), _checked(binding.number(self._size))
        draw = random.Random(binding.order(self, self._seed_in(binding), self._again, self._drawn)).random
        return Stream(_shuffled(stream.items, size, draw), stream.table)

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
            draw = random.Random(order_seed(self._drawn if given is None else given, 0)).random
            self._order = list(_shuffled(iter(range(there)), _checked(binding.number(self._size)), draw))
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


def _shuffled(items: Iterator[Any], size: int, draw: Callable[..., Any]) -> Iterator[Any]:
    """Items at random from a buffer of so many, or of all."""
    buffer: list[Any] = []
    for item in items:
        if type(item) is Failure:
            yield item
        elif size < 0 or len(buffer) < size - 1:
            buffer.append(item)
        else:
            buffer.append(item)
            yield _taken(buffer, draw)
    while buffer:
        yield _taken(buffer, draw)


def _taken(buffer: list[Any], draw: Callable[..., Any]) -> Any:
    """Takes an item out of the buffer at random; the last one takes its place."""
    number = int(draw() * len(buffer))
    taken, buffer[number] = buffer[number], buffer[-1]
    buffer.pop()
    return taken
