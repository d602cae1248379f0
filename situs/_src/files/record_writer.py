"""``tf.io.TFRecordWriter``: records of bytes in a file, each with its length and checksums.

    length (8 bytes)   checksum of the length (4)   record   checksum of the record (4)        and so on

`data.records` reads them.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from situs._src.base.errors import DTypeError, FailedPreconditionError, InvalidArgumentError, shown
from situs._src.base.export import export
from situs._src.base.typing import ArrayLike, PathLike
from situs._src.files.crc32c import masked_crc32c
from situs._src.files.paths import local, translated

LENGTH = struct.Struct("<Q")
CHECK = struct.Struct("<I")
WINDOWS = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS | 16}  # how zlib is told which of the two


@export(v1=("io.TFRecordCompressionType", "python_io.TFRecordCompressionType"))
class TFRecordCompressionType:
    """The kinds of compression, by TensorFlow 1's numbers."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


_NUMBERED = {0: "", 1: "ZLIB", 2: "GZIP"}


@export("io.TFRecordOptions", v1=("io.TFRecordOptions", "python_io.TFRecordOptions"))
class TFRecordOptions:
    """How records are written.

    Args:
        compression_type: ``"GZIP"``, ``"ZLIB"``, or ``""`` for none.
        compression_level: How hard to compress, from 0 to 9; -1 leaves it to zlib.
        **options: Accepted for TensorFlow's programs: more that zlib can be told.

    Raises:
        InvalidArgumentError: there is no such kind or level.
    """

    def __init__(
        self, compression_type: ArrayLike | None = None, compression_level: int | None = None, **options: Any
    ) -> None:
        self.compression_type = as_compression(compression_type)
        self.compression_level = -1 if compression_level is None else compression_level
        if self.compression_level not in range(-1, 10):
            raise InvalidArgumentError(f"`compression_level` is from -1 to 9, got {shown(compression_level)}.")

    @classmethod
    def get_compression_type_string(cls, options: object) -> str:
        """The name of the kind of compression that options, or a number of TensorFlow 1's, stand for."""
        return as_compression(options)


def as_compression(compression: Any) -> str:
    """The name of a kind of compression, also of TensorFlow 1's numbers and of options.

    Raises:
        InvalidArgumentError: there is no such kind.
    """
    if isinstance(compression, TFRecordOptions):
        return compression.compression_type
    kind = _NUMBERED.get(compression, compression) if isinstance(compression, int) else compression or ""
    if kind not in ("", "ZLIB", "GZIP"):
        raise InvalidArgumentError(f"Unsupported compression type: {shown(compression)}. Use '', 'ZLIB' or 'GZIP'.")
    return str(kind)


@export("io.TFRecordWriter", v1=("io.TFRecordWriter", "python_io.TFRecordWriter"))
class TFRecordWriter:
    """Writes records to a file that ``TFRecordDataset`` reads.

    Args:
        path: The name of the file.
        options: A `TFRecordOptions`, or the name of a kind of compression.

    Example:
        with tf.io.TFRecordWriter("data.tfrecord") as writer:
            writer.write(b"a record")
    """

    def __init__(self, path: PathLike, options: Any = None) -> None:
        kind = as_compression(options)
        level = options.compression_level if isinstance(options, TFRecordOptions) else -1
        place: Path = local(path)
        with translated(path):
            self._file: BinaryIO = place.open("wb")
        self._packer = zlib.compressobj(level, wbits=WINDOWS[kind]) if kind else None

    def write(self, record: object) -> None:
        """Adds a record of bytes."""
        if not isinstance(record, bytes):
            raise DTypeError(f"A record is bytes, got {shown(record)} of type {type(record).__name__!r}.")
        if self._file.closed:
            raise FailedPreconditionError("Writer is closed.")
        head = LENGTH.pack(len(record))
        self._put(head + CHECK.pack(masked_crc32c(head)) + record + CHECK.pack(masked_crc32c(record)))

    def _put(self, content: bytes) -> None:
        with translated(self._file.name):
            self._file.write(content if self._packer is None else self._packer.compress(content))

    def flush(self) -> None:
        """Hands everything that was written to the operating system."""
        if self._file.closed:
            raise FailedPreconditionError("Writer is closed.")
        with translated(self._file.name):
            if self._packer is not None:
                self._file.write(self._packer.flush(zlib.Z_SYNC_FLUSH))
            self._file.flush()

    def close(self) -> None:
        """Ends the file."""
        if self._file.closed:
            return
        with translated(self._file.name):
            if self._packer is not None:
                self._file.write(self._packer.flush())
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
