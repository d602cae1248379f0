"""Prefetching: the next elements are produced while the program works on the current one.

    ds.map(decode).batch(32).prefetch(2)         two batches ahead, produced by a separate thread

The thread starts with the first request. It produces at most `buffer_size` elements ahead; with ``AUTOTUNE`` none while
elements are fast, then a few, and more if that helps (`data.parallel`).
"""

from __future__ import annotations

from typing import Self

from situs._src.base.errors import InvalidArgumentError
from situs._src.base.typing import IntLike
from situs._src.data.base import DatasetV2
from situs._src.data.element import Element
from situs._src.data.node import AUTOTUNE, Binding, Node, Number, Stream, Transformation, as_number
from situs._src.data.parallel import Limit, TunedLimit, prefetched, prefetched_if_slow


class Prefetching(DatasetV2):
    """Elements made before they are asked for."""

    def prefetch(self, buffer_size: IntLike, name: str | None = None) -> Self:
        """The same elements, made ahead by a thread.

        Args:
            buffer_size: How many elements to make ahead; ``AUTOTUNE`` or None to find out, 0 for none.
            name: Accepted for TensorFlow's programs.
        """
        return self._of(
            Prefetch(self._node, as_number(AUTOTUNE if buffer_size is None else buffer_size, "buffer_size"))
        )


class Prefetch(Transformation):
    """The same elements, earlier."""

    title = "Prefetch"

    def __init__(self, input: Node, size: Number) -> None:
        super().__init__(input, None, (size,))
        self._size = checked_buffer(size) if isinstance(size, int) else size

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration; its thread begins with the first element."""
        return self.start_after(binding, 0)

    def start_after(self, binding: Binding, count: int) -> Stream:
        """Begins an iteration behind the first elements."""
        size = checked_buffer(binding.number(self._size))
        items = self.input.start_after(binding, count).elements()
        if size == AUTOTUNE:
            return Stream(prefetched_if_slow(items, binding.life))
        return Stream(items if size == 0 else prefetched(items, Limit(size), binding.life))

    def at(self, binding: Binding, index: int) -> Element:
        """The same element."""
        return self.input.at(binding, index)

    def cardinality(self, binding: Binding) -> int:
        """As many as there were."""
        return self.input.cardinality(binding)


def limit_for(size: int) -> Limit:
    """The limit of a buffer of that size."""
    return TunedLimit() if size == AUTOTUNE else Limit(size)


def checked_buffer(size: int) -> int:
    """The size of a buffer.

    Raises:
        InvalidArgumentError: there is no such buffer.
    """
    if size < 0 and size != AUTOTUNE:
        raise InvalidArgumentError(
            f"buffer_size must be >= 0 or set buffer_size to be {AUTOTUNE} for auto-tuning; got {size}."
        )
    return size
