"""``tf.summary.FileWriterCache``: one shared writer per folder.

FileWriterCache.get("logs") is FileWriterCache.get("logs")
"""

from __future__ import annotations

from typing import ClassVar

from situs._src.base import locks
from situs._src.base.export import export
from situs._src.base.typing import PathLike
from situs._src.files.paths import as_text
from situs._src.summaries.file_writer import FileWriter


@export(v1="summary.FileWriterCache")
class FileWriterCache:
    """The writers of this process, by folder."""

    _writers: ClassVar[dict[str, FileWriter]] = {}
    _lock = locks.rlock()

    @staticmethod
    def get(logdir: PathLike) -> FileWriter:
        """The writer for a folder, made if there is none."""
        folder = as_text(logdir)
        with FileWriterCache._lock:
            if folder not in FileWriterCache._writers:
                FileWriterCache._writers[folder] = FileWriter(folder)
            return FileWriterCache._writers[folder]

    @staticmethod
    def clear() -> None:
        """Closes all writers and forgets them."""
        with FileWriterCache._lock:
            writers = list(FileWriterCache._writers.values())
            FileWriterCache._writers.clear()
        for writer in writers:
            writer.close()
