"""Caching: elements are computed once, and reused in later iterations.

    ds.map(slow).cache()              kept in memory
    ds.map(slow).cache("train")       kept in a file, train.dataset, also for other programs

An iteration that runs to its end fills the cache; one that is abandoned, or raises an error, leaves nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, Self

from situs._src.base.errors import DTypeError, InvalidArgumentError, OutOfRangeError
from situs._src.base.typing import PathLike
from situs._src.data.base import DatasetV2
from situs._src.data.cache_file import CacheFile
from situs._src.data.element import Element
from situs._src.data.node import Binding, Failure, Memory, Node, Stream, Transformation, guarded_items
from situs._src.data.table import Table
from situs._src.files.paths import as_text


class Caching(DatasetV2):
    """Elements kept for later iterations."""

    def cache(self, filename: PathLike = "", name: str | None = None) -> Self:
        """The same elements, made only in the first iteration.

        Args:
            filename: What the name of the file begins with; empty to keep them in memory.
            name: Accepted for TensorFlow's programs.
        """
        if not isinstance(filename, (str, bytes)) and not hasattr(filename, "__fspath__"):
            raise DTypeError(f"`filename` of cache() is a path, got {filename!r} of type {type(filename).__name__!r}.")
        path = as_text(filename)
        return self._of(FileCache(self._node, path) if path else MemoryCache(self._node))


class MemoryCache(Transformation):
    """Elements kept in memory; of a table, only the numbers of the rows."""

    title = "Cache"

    def pass_over(self, binding: Binding) -> None:
        """What is kept is gone through: nothing else begins."""

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration of what is kept, or of what is to be kept."""
        memory = binding.memory(self)
        if memory.kept is not None:
            items, table = memory.kept
            return Stream(iter(items), table)
        stream = self.input.start(binding)
        return Stream(_keeping(stream.items, stream.table, memory), stream.table)

    def at(self, binding: Binding, index: int) -> Element:
        """An element of what is kept, which is made first if need be."""
        memory = binding.memory(self)
        if memory.kept is None:
            for item in self.start(binding).items:
                if type(item) is Failure:
                    raise item.take()
        items, table = memory.kept
        if not 0 <= index < len(items):
            raise OutOfRangeError(f"Index out of range [0, {len(items)}): {index}")
        return items[index] if table is None else table.row(items[index])  # type: ignore[no-any-return]

    def cardinality(self, binding: Binding) -> int:
        """As many as there were."""
        return self.input.cardinality(binding)


def _keeping(items: Iterator[Any], table: Table | None, memory: Memory) -> Iterator[Any]:
    kept: list[Any] = []
    ended = failed = False
    try:
        for item in items:
            failed |= type(item) is Failure
            kept.append(item)
            yield item
        ended = True
        if not failed:
            memory.kept = kept, table
    finally:
        if not ended and kept:
            _logger.debug("A dataset was not iterated to its end, so that nothing of it is cached.")


_logger = logging.getLogger("situs")


class FileCache(Transformation):
    """Elements kept in a file."""

    title = "Cache"

    def __init__(self, input: Node, path: str) -> None:
        super().__init__(input)
        if input.spec.has_datasets:
            raise InvalidArgumentError("Datasets cannot be kept in a file; use flat_map() before cache().")
        if input.where is not None:
            raise InvalidArgumentError("Elements on a device cannot be kept in a file; use cache() before that.")
        self._file = CacheFile(path, input.spec)

    def pass_over(self, binding: Binding) -> None:
        """What is kept is gone through: nothing else begins."""

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration of what is in the file; if there is none yet, writes one."""
        if self._file.exists():
            return Stream(self._file.read())
        return Stream(guarded_items(_written(self.input.start(binding).elements(), self._file)))

    def cardinality(self, binding: Binding) -> int:
        """As many as there were."""
        return self.input.cardinality(binding)


def _written(items: Iterator[Any], file: CacheFile) -> Iterator[Any]:
    """The same items; a file of them is there when all of them were written. Raises if it cannot be written."""
    with file.writer() as writer:
        for item in items:
            if type(item) is Failure:
                writer.give_up()
            else:
                writer.write(item)
            yield item
        writer.finish()
