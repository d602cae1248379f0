"""``GFile``: a file that is read or written, as text or as bytes.

    with tf.io.gfile.GFile("notes.txt", "w") as f:
        f.write("first\\n")
    for line in tf.io.gfile.GFile("notes.txt"):
        print(line)

It is opened lazily, so a missing file is detected by the first ``read``. A file that is read and written has separate
positions: what was written can be read at once. Positions and counts are bytes, in text mode too; a character is never
split. Lines end with a line feed, which is not translated.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Any

from situs._src.base.errors import DTypeError, InvalidArgumentError, OutOfRangeError, PermissionDeniedError, shown
from situs._src.base.export import export
from situs._src.files.paths import local, translated
from situs._src.files.tree import stat

_MODES = ("r", "w", "a", "r+", "w+", "a+")


@export("io.gfile.GFile", v1=("gfile.FastGFile", "gfile.GFile", "gfile.Open"))
class GFile:
    """A file of this machine.

    Args:
        name: Its path.
        mode: ``r``, ``w``, ``a``, ``r+``, ``w+`` or ``a+``; with a ``b``, what is read is bytes.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._file: IO[bytes] | None = None  # first, for __del__
        self._reader: IO[bytes] | None = None  # of a file that is written too
        self._creates = False  # whether a file to be changed is made if there is none: by what is written to it
        plain = mode.replace("b", "", 1) if isinstance(mode, str) else mode
        if plain not in _MODES:
            raise InvalidArgumentError(
                f"mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+', each with or without a 'b': {mode!r}"
            )
        local(name)
        self._name, self._mode, self._plain = name, mode, plain

    @property
    def name(self) -> Any:
        """The path, as it was given."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode, as it was given."""
        return self._mode

    def size(self) -> int:
        """How many bytes the file has."""
        if self._file is not None:
            self.flush()
        return stat(self._name).length

    # Reading.

    def read(self, n: int = -1) -> Any:
        """What follows the current position: all of it, or `n` bytes, or a few more to complete a character."""
        file = self._readable()
        count = -1 if n is None else max(_as_int(n, "n"), -1)
        with translated(self._name):
            read = file.read(count)
            read += b"" if "b" in self._mode else _rest_of_character(read, file)
        return self._given(read)

    def readline(self) -> str | bytes:
        """The next line, with its line feed; empty at the end of the file."""
        file = self._readable()
        with translated(self._name):
            line = file.readline()
        return self._given(line)

    def readlines(self) -> list[Any]:
        """The lines that follow."""
        return list(self)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> str | bytes:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def next(self) -> Any:
        """The next line, as in ``for line in file``."""
        return next(self)

    def _given(self, read: bytes) -> str | bytes:
        if "b" in self._mode:
            return read
        try:
            return read.decode()
        except UnicodeDecodeError as error:
            raise InvalidArgumentError(
                f"{self._name} is not UTF-8 text ({error}); open it with mode 'rb' to read bytes"
            ) from error

    # Writing.

    def write(self, file_content: str | bytes) -> None:
        """Writes text, as UTF-8, or bytes."""
        if not isinstance(file_content, (str, bytes, bytearray, memoryview)):
            raise DTypeError(f"Expected binary or unicode string, got {file_content!r}")
        file = self._writable()
        content = _encoded(file_content) if isinstance(file_content, str) else file_content
        with translated(self._name):
            file.write(content)

    def flush(self) -> None:
        """Hands what was written to the operating system, so that others can read it."""
        if self._file is not None:
            with translated(self._name):
                self._file.flush()

    # Position.

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Moves to a byte of the file.

        Args:
            offset: How far from `whence`.
            whence: 0 for the beginning, 1 for the current position, 2 for the end.
            position: An older name of `offset`.
        """
        distance = position if offset is None else offset
        if distance is None or whence not in (0, 1, 2):
            raise InvalidArgumentError(f"seek takes an offset and a whence of 0, 1 or 2, got {offset!r} and {whence!r}")
        distance = _as_int(distance, "offset")
        file = self._readable()
        target = distance + (0, file.tell(), self.size())[whence]
        if target < 0:
            raise InvalidArgumentError(f"Seeking to a negative position: {target}")
        if target > self.size():
            raise OutOfRangeError(f"{self._name}: position {target} is past the end of the file, {self.size()}")
        file.seek(target)

    def seekable(self) -> bool:
        """Whether `seek` works: always."""
        return True

    def tell(self) -> int:
        """The current position, in bytes."""
        return (self._opened() if self._plain in ("w", "a") else self._readable()).tell()

    # Its life.

    def close(self) -> None:
        """Closes the file; using it again opens it again."""
        files, self._file, self._reader = (self._reader, self._file), None, None
        for file in files:
            if file is not None:
                with translated(self._name):
                    file.close()

    def __enter__(self) -> GFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        for file in (self._file, self._reader):  # ``GFile(name).read()`` is common, and Python warns of files left open
            if file is not None:
                file.close()

    def __repr__(self) -> str:
        return f"GFile({self._name!r}, {self._mode!r})"

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            with translated(self._name):
                self._file = self._open()
        return self._file

    def _open(self) -> IO[bytes]:
        path = local(self._name)
        try:
            return path.open(f"{self._plain}b")
        except FileNotFoundError:
            if self._plain != "r+" or not self._creates:
                raise
        return path.open("w+b")

    def _readable(self) -> IO[bytes]:
        if self._plain in ("w", "a"):
            raise PermissionDeniedError(f"{os.fspath(self._name)!r} isn't open for reading: its mode is {self._mode!r}")
        file = self._opened()
        if self._plain == "r":
            return file
        with translated(self._name):
            file.flush()
            if self._reader is None:
                self._reader = local(self._name).open("rb")
        return self._reader

    def _writable(self) -> IO[bytes]:
        if self._plain == "r":
            raise PermissionDeniedError(f"{os.fspath(self._name)!r} isn't open for writing: its mode is {self._mode!r}")
        self._creates = True
        return self._opened()


def _as_int(value: Any, name: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise DTypeError(f"Expected int for argument '{name}' not {shown(value)}.") from None


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(f"This text has no UTF-8 ({error}); write bytes instead") from None


def _rest_of_character(read: bytes, file: IO[bytes]) -> bytes:
    """The bytes that complete the last UTF-8 character of what was read."""
    for back in range(1, min(3, len(read)) + 1):
        byte = read[-back]
        if byte >= 0xC0:  # the first byte of a character of two, three or four
            return file.read(max(2 + (byte >= 0xE0) + (byte >= 0xF0) - back, 0))
        if byte < 0x80:
            break
    return b""
