"""``tf.compat.v1.io.tf_record_iterator``: the records of a file, one after the other, in Python.

    for record in tf.compat.v1.io.tf_record_iterator("data.tfrecord"): ...

At the end of the file the iterator keeps its position: when more has been written, it continues. After `close` it
reopens the file at that position, which may be another file by then.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from situs._src.base.export import export
from situs._src.base.typing import PathLike
from situs._src.data.records import next_record
from situs._src.data.text import opened_file
from situs._src.files.paths import as_text
from situs._src.files.record_writer import as_compression


class TFRecordIterator:
    """The records of a file.

    Args:
        path: The name of the file.
        compression: The kind of compression.
    """

    def __init__(self, path: str, compression: str) -> None:
        self._path = path
        self._compression = compression
        self._offset = 0
        self._held = ExitStack()
        self._file: Any = self._opened()

    def _opened(self) -> Any:
        """The file, at the place of the next record."""
        file = self._held.enter_context(opened_file(self._path, self._compression))
        if self._compression:
            left = self._offset
            while left and (piece := file.read(min(left, _PIECE))):
                left -= len(piece)
        return file

    def __iter__(self) -> TFRecordIterator:
        return self

    def __next__(self) -> bytes:
        if self._file is None:
            self._file = self._opened()
        if not self._compression:  # what was read of a record that was not whole is read again
            self._file.seek(self._offset)
        found = next_record(self._file, self._path, self._offset)
        if found is None:
            raise StopIteration
        record, self._offset = found
        return record

    def close(self) -> None:
        """Closes the file; the next record is read from the file that is there then."""
        self._file = None
        self._held.close()

    def reopen(self) -> None:
        """Closes the file and opens it again, to go on from the same place."""
        self.close()
        self._file = self._opened()

    def __del__(self) -> None:
        self._held.close()


_PIECE = 2**20  # bytes


@export(v1=("io.tf_record_iterator", "python_io.tf_record_iterator"))
def tf_record_iterator(path: PathLike, options: object = None) -> TFRecordIterator:
    """An iterator over the records of a file, as bytes.

    Args:
        path: The name of the file.
        options: A ``TFRecordOptions``, or the name of a kind of compression.
    """
    return TFRecordIterator(as_text(path), as_compression(options))
