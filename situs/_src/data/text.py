"""Files: their names, and their lines.

    Dataset.list_files("logs/*.txt")       the names that match a pattern
    TextLineDataset(["a.txt", "b.txt"])    the lines of the files, without their ends

A file that cannot be read is an error instead of its first line, or where it is damaged; the next files follow. Files
are read in blocks. A line or record takes little more memory than its size, and one that is longer than
``SITUS_LONGEST_RECORD`` is an error: a few compressed megabytes can expand to terabytes.
"""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO, Self

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.errors import DataLossError, DTypeError, InvalidArgumentError, ResourceExhaustedError
from situs._src.base.settings import longest_record
from situs._src.base.shapes import SCALAR
from situs._src.base.tree import LEAF
from situs._src.base.typing import ArrayLike
from situs._src.data.base import DatasetV2
from situs._src.data.element import Spec
from situs._src.data.mapping import as_calls, workers_for
from situs._src.data.nesting import in_turn_ahead, one_by_one
from situs._src.data.node import UNKNOWN, Binding, Node, Number, Stream, as_number, guarded, guarded_items
from situs._src.data.seeding import seed_for, words_of
from situs._src.data.shuffling import shuffled
from situs._src.data.sources import Slices, Tensors, components_of
from situs._src.files.paths import local, translated
from situs._src.files.record_writer import WINDOWS, as_compression
from situs._src.files.tree import glob
from situs._src.ops.attribute import as_bool
from situs._src.tracing.spec import TensorSpec

STRING = Spec(LEAF, [TensorSpec(SCALAR, dt.string)])
Reader = Callable[[str], Iterator[Any]]
PIECE = 2**20  # bytes of a long line or record that are read at a time


class Listing(DatasetV2):
    """Names of files."""

    @classmethod
    def list_files(
        cls, file_pattern: Any, shuffle: bool | None = None, seed: Any = None, name: str | None = None
    ) -> Self:
        """The names of the files that fit a pattern, or one of several.

        Args:
            file_pattern: A pattern with ``*``, ``?`` and ``[]``, or a list of them.
            shuffle: Whether the names come in another order in every iteration, as they do by default.
            seed: Makes that order the same in every program.
            name: Accepted for TensorFlow's programs.

        Raises:
            InvalidArgumentError: nothing fits, found out when the dataset is iterated in a graph.
        """
        shuffles = shuffle is None or as_bool(shuffle, "shuffle")
        order = seed_for(seed) if shuffles else None
        return cls._of(Files(Tensors(*components_of(_as_texts(file_pattern))), shuffles, order))


class Files(Node):
    """The names of files that fit patterns."""

    title = "Shuffle"

    def __init__(self, patterns: Tensors, shuffles: bool, seed: int | None) -> None:
        _check_strings(patterns, "file_pattern")
        super().__init__(STRING, (), patterns.symbols)
        self._patterns = patterns
        self._shuffles = shuffles
        self._seed = seed
        if not patterns.symbols:
            self._found(Binding())

    def _found(self, binding: Binding) -> list[str]:
        patterns = _strings(self._patterns, binding)
        found = sorted({path for pattern in patterns for path in glob(pattern)})
        if not found:
            raise InvalidArgumentError(f"No files matched pattern: {', '.join(patterns)}")
        return found

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration over what is there now."""
        found = self._found(binding)
        if self._shuffles:
            words = words_of(binding.order(self, self._seed, True))
            found = list(shuffled(iter(found), len(found), words.below))
        return Stream(iter([(_as_value(os.fsencode(path)),) for path in found]))

    def cardinality(self, binding: Binding) -> int:
        """The number of files, as far as the patterns are known."""
        return UNKNOWN if self._patterns.symbols else len(self._found(binding))


def _check_strings(tensors: Tensors, name: str) -> None:
    leaf = tensors.spec.leaves[0]
    if tensors.spec.form is LEAF and leaf.dtype is not dt.string and name == "filenames":
        raise DTypeError(f"The `filenames` argument must contain `tf.string` elements. Got `{leaf.dtype!r}` elements.")
    if tensors.spec.form is not LEAF or leaf.dtype is not dt.string:
        raise DTypeError(f"`{name}` must be a string, or a list of strings; got {tensors.spec.structure!r}.")
    if leaf.shape.rank is not None and leaf.shape.rank > 1:
        raise DTypeError(f"`{name}` must be a scalar or a vector of strings; it has shape {leaf.shape}.")


def _strings(tensors: Tensors, binding: Binding) -> list[str]:
    value = next(tensors.start(binding).items)[0]
    return [os.fsdecode(text) for text in np.asarray(value, dtype=object).ravel().tolist()]


def _as_value(text: bytes) -> np.ndarray[Any, Any]:
    return np.array(text, dtype=object)


# Reading.


class FileReader(Node):
    """What is in files: the records of each, as a reader finds them.

    Args:
        names: A node that gives the names.
        reader: From a name to what is in the file.
        calls: How many files to read at a time; None for one after the other.
        title: What its dataset is called when it is printed.
    """

    def __init__(self, names: Node, reader: Reader, calls: Number | None, title: str) -> None:
        super().__init__(STRING, (names,), (calls,))
        self._reader = reader
        self._calls = calls
        self.title = title

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        opened = map(guarded(self._records), self.inputs[0].start(binding).elements())
        calls = None if self._calls is None else binding.number(self._calls)
        if calls is None:
            return Stream(one_by_one(opened))
        workers = workers_for(calls)
        return Stream(in_turn_ahead(opened, workers, 1, workers, binding))

    def _records(self, element: Any) -> Iterator[Any]:
        records = self._reader(os.fsdecode(element[0][()]))
        return guarded_items((_as_value(record),) for record in records)


def names_node(filenames: Any, what: str) -> Node:
    """The node that gives the names of files: from a dataset of names, a list, or one name.

    Raises:
        DTypeError: they are not strings.
    """
    if isinstance(filenames, DatasetV2):
        leaves = filenames._node.spec.leaves
        if len(leaves) != 1 or leaves[0].dtype is not dt.string or leaves[0].shape.rank not in (0, None):
            if len(leaves) == 1 and leaves[0].dtype is dt.string:
                raise DTypeError(
                    "The `filenames` argument must contain `tf.string` elements of shape [] (i.e. scalars). Got a "
                    f"dataset of element shape {leaves[0].shape}."
                )
            raise DTypeError(
                "The `filenames` argument must contain `tf.string` elements. Got a dataset of "
                f"{', '.join(f'`{leaf.dtype!r}`' for leaf in leaves)} elements. It was given to {what}."
            )
        return filenames._node
    components = components_of(_as_texts(filenames))
    tensors = Tensors(*components)
    _check_strings(tensors, "filenames")
    return tensors if tensors.spec.leaves[0].shape.rank == 0 else Slices(*components)


def _as_texts(names: object) -> Any:
    """Names of files, with strings instead of paths."""
    if isinstance(names, (list, tuple)):
        if not names:
            return np.array([], dtype=object)  # which has a dtype
        return [_as_text(name) for name in names]  # deeper lists are refused where they become a tensor
    return _as_text(names)


def _as_text(names: object) -> Any:
    return os.fspath(names) if isinstance(names, os.PathLike) else names


def reading(filenames: ArrayLike, reader: Reader, parallel: Any, what: str) -> FileReader:
    """The node that reads files."""
    calls = as_calls(parallel)
    return FileReader(names_node(filenames, what), reader, calls, what.removesuffix("Dataset"))


# Lines.


def lines_of(compression: Any, buffer_size: Any) -> Reader:
    """What reads the lines of a file."""
    kind = as_compression(compression)
    size = -1 if buffer_size is None else as_number(buffer_size, "buffer_size")
    return partial(_lines, compression=kind, buffering=size if isinstance(size, int) and size > 1 else -1)


def _lines(path: str, compression: str, buffering: int) -> Iterator[bytes]:
    most = longest_record()
    with opened_file(path, compression, buffering) as file:
        while line := file.readline(PIECE):
            whole = line[-1:] == b"\n" or len(line) < PIECE
            found = line.removesuffix(b"\n").replace(b"\r", b"")  # wherever they stand, as in TensorFlow
            yield _checked(found, most, path, "line") if whole else _long_line(file, found, most, path)


def _long_line(file: Any, begun: bytes, most: int, path: str) -> bytes:
    line = io.BytesIO()  # which gives away what it holds without a copy
    line.write(begun)
    while piece := file.readline(PIECE):
        line.write(piece.removesuffix(b"\n").replace(b"\r", b""))
        if line.tell() > most:
            raise too_long(most, path, "line")
        if piece[-1:] == b"\n":
            break
    return line.getvalue()


def read_up_to(file: Any, length: int) -> bytes:
    """The next bytes of a file, fewer at its end; a length that is wrong does not lead to a large buffer."""
    if length <= PIECE:
        return file.read(length)  # type: ignore[no-any-return]
    found = io.BytesIO()
    while found.tell() < length and (piece := file.read(min(length - found.tell(), PIECE))):
        found.write(piece)
    return found.getvalue()


def _checked(record: bytes, most: int, path: str, what: str) -> bytes:
    if len(record) > most:
        raise too_long(most, path, what)
    return record


def too_long(most: int, path: str, what: str) -> ResourceExhaustedError:
    """The error for a line or record that a program does not want to hold in memory."""
    return ResourceExhaustedError(
        f"{path}: a {what} is longer than {most} bytes, the most that is read as one element. Is the file what it "
        "should be? If so, set SITUS_LONGEST_RECORD to more, for example SITUS_LONGEST_RECORD=8GiB."
    )


@contextmanager
def opened_file(path: str, compression: str, buffering: int = -1) -> Iterator[Any]:
    """A file to read, with what is compressed in it as it was before.

    Raises:
        NotFoundError: there is none.
        DataLossError: what is in it is damaged.
    """
    try:
        with translated(path), _opened(path, compression, buffering) as file:
            yield file
    except (EOFError, zlib.error) as error:
        raise DataLossError(f"{path}: this is not what {compression} compression gives: {error}") from None


def _opened(path: str, compression: str, buffering: int) -> BinaryIO:
    file = local(path).open("rb", buffering)
    return io.BufferedReader(_Inflated(file, WINDOWS[compression]), _BLOCK) if compression else file


_BLOCK = 2**16  # bytes


class _Inflated(io.RawIOBase):
    """What is in a file of compressed bytes, as it was before."""

    def __init__(self, file: BinaryIO, window: int) -> None:
        self._file = file
        self._window = window
        self._pieces = zlib.decompressobj(window)

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Puts the next bytes into the buffer, as many as there are at hand; none at the end of the file."""
        piece = self._next(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def _next(self, most: int) -> bytes:
        while block := self._pieces.unconsumed_tail or self._pieces.unused_data or self._file.read(_BLOCK):
            if self._pieces.eof:  # another file compressed behind the first
                self._pieces = zlib.decompressobj(self._window)
            if made := self._pieces.decompress(block, most):
                return made
        if not self._pieces.eof:
            raise EOFError("the file ends too early")
        return b""

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
        super().close()
