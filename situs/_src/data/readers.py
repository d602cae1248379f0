"""Readers of TensorFlow 1: files whose names come from a queue, read record by record.

    names = tf.train.string_input_producer(["a.csv", "b.csv"])
    key, line = tf.TextLineReader().read(names)                     a new line in every run

    reader                      a record is                 its key
    TextLineReader              a line                      a.csv:1         the number of the line
    TFRecordReader              a record of bytes           a.csv:0         where it begins
    FixedLengthRecordReader     fixed-size bytes            a.csv:0         the number of the record
    WholeFileReader             a file                      a.csv
    IdentityReader              the name itself             a.csv

A reader dequeues the next name at the end of a file. It is an operation whose value belongs to the session (`Reading`),
as for queues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base import locks
from situs._src.base.devices.scope import here
from situs._src.base.errors import DTypeError, InvalidArgumentError, StateError, UnimplementedError, shown
from situs._src.base.shapes import SCALAR, TensorShape
from situs._src.data.records import next_record
from situs._src.data.text import lines_of, opened_file, read_up_to
from situs._src.files.paths import local, translated
from situs._src.files.record_writer import as_compression
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.signature import Arg
from situs._src.ir.registry.traits import BLOCKS
from situs._src.ops.attribute import as_int, as_name
from situs._src.ops.define import CPU, op
from situs._src.ops.queue_base import QueueBase, add_queue
from situs._src.runtime.run.queue_buffer import Buffer
from situs._src.runtime.run.state import Run
from situs._src.runtime.symbolic.bind import SymbolicBinder

Records = Iterator[tuple[bytes, bytes]]  # keys and values


class Reading:
    """What a session holds of a reader: the file that is being read.

    Args:
        records: From the name of a file to its records.
    """

    def __init__(self, records: Callable[[str], Records]) -> None:
        self._records = records
        self._lock = locks.lock()
        self._file: Records | None = None
        self._name = b""
        self.produced = 0
        self.completed = 0

    def next(self, queue: Buffer, run: Any) -> tuple[bytes, bytes]:
        """The key and the value of the next record.

        Raises:
            OutOfRangeError: the queue is closed, and the last file read.
        """
        with self._lock:
            return self._next(queue, run)

    def up_to(self, queue: Buffer, count: int, run: Any) -> list[tuple[bytes, bytes]]:
        """So many records, or fewer at the end of a file."""
        with self._lock:
            found = [self._next(queue, run)]
            while len(found) < count and self._file is not None:
                record = self._of_file()
                if record is None:
                    break
                found.append(record)
            return found

    def _next(self, queue: Buffer, run: Run) -> tuple[bytes, bytes]:
        while True:
            if self._file is None:
                self._name = bytes(queue.take(1, run)[0][0][()])
                self._file = self._records(self._name.decode())
            record = self._of_file()
            if record is not None:
                return record

    def _of_file(self) -> tuple[bytes, bytes] | None:
        """The next record of the file; none at its end."""
        assert self._file is not None
        try:
            record = next(self._file, None)
        except BaseException:  # a file that cannot be read is left; the next run reads the next one
            self._file = None
            raise
        if record is None:
            self._file = None
            self.completed += 1
            return None
        self.produced += 1
        return record

    def reset(self) -> None:
        """Begins again: with the next name of the queue."""
        with self._lock:
            self._file, self.produced, self.completed = None, 0, 0

    def wake(self) -> None:
        """Nothing waits here: who waits for a name waits in the queue."""


# The kinds of records.


def _lines(name: str, skip: int) -> Records:
    for number, line in enumerate(lines_of("", None)(name), 1):
        if number > skip:
            yield f"{name}:{number}".encode(), line


def _tf_records(name: str, compression: str) -> Records:
    offset = 0
    with opened_file(name, compression) as file:
        while found := next_record(file, name, offset):
            yield f"{name}:{offset}".encode(), found[0]
            offset = found[1]


def _fixed(name: str, sizes: tuple[int, int, int, int], compression: str) -> Records:
    """Records of one length between a header and a footer; what is left at the end is no record."""
    header, size, footer, hop = sizes
    with opened_file(name, compression) as file:
        read_up_to(file, header)
        number, held = 0, b""
        while True:
            held += read_up_to(file, size + footer - len(held))
            if len(held) < size + footer:
                return
            yield f"{name}:{number}".encode(), held[:size]
            number += 1
            if hop > len(held):
                read_up_to(file, hop - len(held))
            held = held[hop:]


def _whole(name: str) -> Records:
    with translated(name):
        content = local(name).read_bytes()
    yield name.encode(), content


def _identity(name: str) -> Records:
    yield name.encode(), name.encode()


# The ops.


def _reader_op(name: str, records: Callable[..., Callable[[str], Records]], **attrs: Any) -> Op:
    declared = op(name, "-> handle: resource", stateful=True, container="", shared_name="", node_name="", **attrs)
    declared.shape(lambda **attrs: SCALAR)

    @declared.kernel(CPU)
    def kernel(*, container: str, shared_name: str, node_name: str, run: Run, **given: Any) -> Reading:
        key = f"{container}/reader/{shared_name or node_name}"
        made: Reading = run.state.resource(key, lambda: Reading(records(**given)))
        return made

    return declared


def _fixed_of(
    header_bytes: int, record_bytes: int, footer_bytes: int, hop_bytes: int, encoding: str
) -> Callable[[str], Records]:
    sizes = (header_bytes, record_bytes, footer_bytes, hop_bytes or record_bytes)
    return lambda name: _fixed(name, sizes, encoding)


_text_op = _reader_op(
    "TextLineReaderV2", lambda skip_header_lines: lambda name: _lines(name, skip_header_lines), skip_header_lines=0
)
_record_op = _reader_op(
    "TFRecordReaderV2", lambda compression_type: lambda name: _tf_records(name, compression_type), compression_type=""
)
_fixed_op = _reader_op(
    "FixedLengthRecordReaderV2",
    _fixed_of,
    header_bytes=0,
    record_bytes=1,
    footer_bytes=0,
    hop_bytes=0,
    encoding="",
)
_whole_op = _reader_op("WholeFileReaderV2", lambda: _whole)
_identity_op = _reader_op("IdentityReaderV2", lambda: _identity)

_read = op(
    "ReaderReadV2", "reader: resource, queue: resource -> key: string, value: string", traits={BLOCKS}, stateful=True
)
_read_up_to = op(
    "ReaderReadUpToV2",
    "reader: resource, queue: resource, num_records: host -> keys: string, values: string",
    traits={BLOCKS},
    stateful=True,
)
_produced = op("ReaderNumRecordsProducedV2", "reader: resource -> records_produced: int64", stateful=True)
_completed = op("ReaderNumWorkUnitsCompletedV2", "reader: resource -> units_completed: int64", stateful=True)
_reset = op("ReaderResetV2", "reader: resource ->", stateful=True)
_read.shape(lambda reader, queue: (SCALAR, SCALAR))
_read_up_to.shape(lambda reader, queue, num_records: (TensorShape([None]), TensorShape([None])))
_produced.shape(lambda reader: SCALAR)
_completed.shape(lambda reader: SCALAR)
_reset.shape(lambda reader: [])


@_read.kernel(CPU)
def _read_kernel(reader: Reading, queue: Buffer, *, run: Run | None = None) -> tuple[Any, Any]:
    _check_names(queue)
    key, value = reader.next(queue, run)
    return np.array(key, dtype=object), np.array(value, dtype=object)


@_read_up_to.kernel(CPU)
def _read_up_to_kernel(reader: Reading, queue: Buffer, num_records: int, *, run: Run | None = None) -> tuple[Any, Any]:
    _check_names(queue)
    if num_records < 1:
        raise InvalidArgumentError(f"num_records must be positive, got {num_records}")
    found = reader.up_to(queue, num_records, run)
    keys, values = np.empty(len(found), dtype=object), np.empty(len(found), dtype=object)
    keys[:], values[:] = [key for key, _ in found], [value for _, value in found]
    return keys, values


def _check_names(queue: Buffer) -> None:
    if tuple(queue.form.dtypes) != (dt.string,):
        names = [dtype.name for dtype in queue.form.dtypes]
        raise InvalidArgumentError(f"A reader takes names of files from a queue of single strings, got one of {names}.")


@_produced.kernel(CPU)
def _produced_kernel(reader: Reading) -> torch.Tensor:
    return torch.tensor(reader.produced)


@_completed.kernel(CPU)
def _completed_kernel(reader: Reading) -> torch.Tensor:
    return torch.tensor(reader.completed)


@_reset.kernel(CPU)
def _reset_kernel(reader: Reading) -> tuple[()]:
    reader.reset()
    return ()


# What programs use.


class ReaderBase:
    """What all readers do. Programs make one of its subclasses.

    Args:
        reader_ref: The handle.
        supports_serialize: Whether its state can be written down; no reader's can here.
    """

    def __init__(self, reader_ref: Any, supports_serialize: bool = False) -> None:
        if not isinstance(reader_ref, SymbolicTensor):
            raise DTypeError(f"A reader is made with tf.TextLineReader and its like, not of {shown(reader_ref)}.")
        self._reader_ref = reader_ref

    @property
    def reader_ref(self) -> SymbolicTensor:
        """The operation's handle."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether its state can be written down."""
        return False

    def read(self, queue: Any, name: str | None = None) -> tuple[Any, Any]:
        """The key and the value of the next record, a new one in every run.

        Args:
            queue: The queue of names of files, as ``tf.train.string_input_producer`` makes one.
            name: A name for the operation.
        """
        results = [(Arg(what, "any"), dt.string, SCALAR) for what in ("key", "value")]
        key, value = self._add(_read, (_handle(queue),), results, as_name(name, "ReaderReadV2"))
        return key, value

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> tuple[Any, Any]:
        """The keys and values of so many records, or of fewer at the end of a file."""
        named = as_name(name, "ReaderReadUpToV2")
        with self._reader_ref.graph.as_default():
            count = SymbolicBinder(self._reader_ref.graph, named).host(num_records)
        results = [(Arg(what, "any"), dt.string, TensorShape([None])) for what in ("keys", "values")]
        keys, values = self._add(_read_up_to, (_handle(queue), count), results, named)
        return keys, values

    def num_records_produced(self, name: str | None = None) -> Any:
        """How many records it has read."""
        return self._number(_produced, as_name(name, "ReaderNumRecordsProducedV2"))

    def num_work_units_completed(self, name: str | None = None) -> Any:
        """How many files it has read to their ends."""
        return self._number(_completed, as_name(name, "ReaderNumWorkUnitsCompletedV2"))

    def reset(self, name: str | None = None) -> Any:
        """An operation after which the reader begins with the next name of its queue."""
        graph = self._reader_ref.graph
        return graph.add(_reset, (self._reader_ref,), {}, {}, [], as_name(name, "ReaderResetV2"))

    def serialize_state(self, name: str | None = None) -> Any:
        """Refused."""
        raise UnimplementedError("Readers do not write their state down here. tf.data has datasets that resume.")

    def restore_state(self, state: object, name: str | None = None) -> Any:
        """Refused."""
        raise UnimplementedError("Readers do not write their state down here. tf.data has datasets that resume.")

    def _number(self, op_def: Op, name: str) -> Any:
        return self._add(op_def, (), [(Arg("number", "any"), dt.int64, SCALAR)], name)[0]

    def _add(self, op_def: Op, inputs: tuple[Any, ...], results: list[Any], name: str) -> Any:
        graph = here.graph or self._reader_ref.graph
        handles = [graph.capture(value) if isinstance(value, SymbolicTensor) else value for value in inputs]
        with graph.as_default():
            return graph.add(op_def, (graph.capture(self._reader_ref), *handles), {}, {}, results, name).outputs


def _handle(queue: Any) -> SymbolicTensor:
    ref = queue.queue_ref if isinstance(queue, QueueBase) else queue
    if not isinstance(ref, SymbolicTensor) or ref.dtype is not dt.resource:
        raise DTypeError(
            f"A reader takes names of files from a queue, such as tf.train.string_input_producer makes; got "
            f"{shown(queue)}."
        )
    return ref


def _made(op_def: Op, name: str | None, **attrs: Any) -> SymbolicTensor:
    if here.graph is None:
        raise StateError(
            "Readers are not supported when eager execution is enabled. Instead, please use tf.data to get data into "
            "your model."
        )
    unique = here.graph.claim_name(op_def, name)
    return add_queue(here.graph, op_def, {**attrs, "node_name": unique}, f"{unique}/")


class TextLineReader(ReaderBase):
    """Reads lines, without their ends.

    Args:
        skip_header_lines: How many lines of each file to leave out.
        name: A name for the operation.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        skip = 0 if skip_header_lines is None else as_int(skip_header_lines, "skip_header_lines")
        super().__init__(_made(_text_op, name, skip_header_lines=skip))


class TFRecordReader(ReaderBase):
    """Reads the records of TFRecord files.

    Args:
        name: A name for the operation.
        options: A ``TFRecordOptions``, which says how the files are compressed.
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        super().__init__(_made(_record_op, name, compression_type=as_compression(options)))


class FixedLengthRecordReader(ReaderBase):
    """Reads records of one length.

    Args:
        record_bytes: The length.
        header_bytes: How many bytes at the beginning of a file are no record.
        footer_bytes: The number of bytes at its end that are not records.
        hop_bytes: How far it is from the beginning of one record to that of the next; the length by default.
        name: A name for the operation.
        encoding: ``"ZLIB"`` if the files are compressed.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        sizes = {"record_bytes": as_int(record_bytes, "record_bytes")}
        if sizes["record_bytes"] <= 0:
            raise InvalidArgumentError(f"record_bytes must be > 0, got {record_bytes}")
        for what, value in (("header_bytes", header_bytes), ("footer_bytes", footer_bytes), ("hop_bytes", hop_bytes)):
            sizes[what] = 0 if value is None else as_int(value, what)
            if sizes[what] < 0:
                raise InvalidArgumentError(f"{what} must be >= 0, got {value}")
        super().__init__(_made(_fixed_op, name, encoding=as_compression(encoding), **sizes))


class WholeFileReader(ReaderBase):
    """Reads files, each as one record.

    Args:
        name: A name for the operation.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(_made(_whole_op, name))


class IdentityReader(ReaderBase):
    """Gives the names themselves, as keys and as values.

    Args:
        name: A name for the operation.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(_made(_identity_op, name))
