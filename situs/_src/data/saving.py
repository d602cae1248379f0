"""Elements in files, to be read by another program: ``Dataset.save``, ``Dataset.load``, ``Dataset.snapshot``.

    train.map(slow).save("train")                  train/elements.dataset, train/spec.json
    tf.data.Dataset.load("train").batch(32)

The files are Situs' own, and nothing in them can run: `cache_file` says what is in them. The order is kept, so that
functions which say how files are split up, or read side by side, see one file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from situs._src.base.drafts import Draft
from situs._src.base.errors import ArgumentError, NotFoundError
from situs._src.base.typing import PathLike
from situs._src.checkpoints.strict_json import loads
from situs._src.data.base import DatasetV2
from situs._src.data.cache_file import CacheFile
from situs._src.data.caching import Caching, FileCache
from situs._src.data.cursor import Cursor
from situs._src.data.element import Spec, spec_of
from situs._src.data.node import UNKNOWN, Binding, Node, Stream, guarded_items
from situs._src.files.paths import as_text, local, translated
from situs._src.ir.graph.plain import NotPlainError

_ELEMENTS, _SPEC = "elements", "spec.json"


class Saving(Caching):
    """Elements kept in files by name."""

    def save(
        self,
        path: PathLike,
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: Any = None,
    ) -> None:
        """Writes the elements to files in a folder.

        Args:
            path: The folder.
            compression: Accepted for TensorFlow's programs.
            shard_func: Accepted for TensorFlow's programs: there is one file, in the order of the elements.
            checkpoint_args: Accepted for TensorFlow's programs.
        """
        from situs._src.data.serializing import spec_to_json

        _check_compression(compression)
        folder, node = local(as_text(path)), self._node
        file = CacheFile(f"{as_text(path)}/{_ELEMENTS}", node.spec)
        with file.writer() as writer:
            for item in self._items():
                writer.write(item)
            writer.finish()
        try:
            described = spec_to_json(node.spec)
        except NotPlainError:
            described = None  # load() is told what the elements are, then
        with translated(folder), Draft(Path(folder)) as draft:
            draft.file.write(json.dumps({"spec": described}).encode())
            draft.finish()
            draft.replace(Path(folder) / _SPEC)

    def _items(self) -> Iterator[Any]:
        """The elements, as values."""
        cursor = Cursor(self._node, Binding())
        try:
            while (item := cursor.pull()) is not None:
                yield item
        finally:
            cursor.close()

    @classmethod
    def load(
        cls,
        path: PathLike,
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: Callable[..., Any] | None = None,
        wait: bool = False,
    ) -> Self:
        """The elements that ``save`` has written.

        Args:
            path: The folder.
            element_spec: What they are, as ``dataset.element_spec`` says it; by default what was written down.
            compression: Accepted for TensorFlow's programs.
            reader_func: Makes one dataset of a dataset of the files' datasets, of which there is one.
            wait: Accepted for TensorFlow's programs: what is there is complete.

        Raises:
            NotFoundError: there is no such folder.
        """
        _check_compression(compression)
        name = as_text(path)
        spec = _read_spec(name) if element_spec is None else spec_of(element_spec)
        found = cls._of(Saved(name, spec))
        return found if reader_func is None else _read_by(reader_func, found)

    def snapshot(
        self,
        path: PathLike,
        compression: str = "AUTO",
        reader_func: Callable[..., Any] | None = None,
        shard_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Self:
        """The same elements; the first whole iteration writes them to a file, and later ones read that.

        Args:
            path: The folder of the file.
            compression: Accepted for TensorFlow's programs.
            reader_func: Makes one dataset of a dataset of the files' datasets, of which there is one.
            shard_func: Accepted for TensorFlow's programs.
            name: Accepted for TensorFlow's programs.
        """
        _check_compression(compression)
        kept = self._of(FileCache(self._node, f"{as_text(path)}/{_ELEMENTS}"))
        return kept if reader_func is None else _read_by(reader_func, kept)


class Saved(Node):
    """Elements out of a file.

    Args:
        path: The folder.
        spec: What they are.
    """

    title = "Load"

    def __init__(self, path: str, spec: Spec) -> None:
        super().__init__(spec)
        self._file = CacheFile(f"{path}/{_ELEMENTS}", spec)

    def start(self, binding: Binding) -> Stream:
        """Begins to read."""
        return Stream(guarded_items(self._file.read()))

    def cardinality(self, binding: Binding) -> int:
        """As many as the end of the file says."""
        return self._file.count() if self._file.exists() else UNKNOWN


def _read_by(reader: Callable[..., Any], dataset: Any) -> Any:
    made = reader(dataset.from_tensors(dataset))
    if not isinstance(made, DatasetV2):
        raise ArgumentError(f"`reader_func` returns a dataset, it returned {made!r}.")
    return made


def _check_compression(compression: object) -> None:
    if compression not in (None, "", "AUTO", "NONE", "GZIP", "SNAPPY"):
        raise ArgumentError(f'Invalid `compression`: "AUTO", "NONE", "GZIP" or None, got {compression!r}.')


def _read_spec(path: str) -> Spec:
    from situs._src.data.serializing import spec_from_json

    file = Path(local(path)) / _SPEC
    if not file.exists():
        raise NotFoundError(f"{path} has no saved dataset: there is no {_SPEC}. It is written by dataset.save(path).")
    with translated(file):
        content = loads(file.read_bytes())
    described = content.get("spec") if isinstance(content, dict) else None
    if described is None:
        raise ArgumentError(
            f"What the elements in {path} are is not written down there, because their structure has classes of the "
            "program's. Give it to load: element_spec=dataset.element_spec."
        )
    return spec_from_json(described)
