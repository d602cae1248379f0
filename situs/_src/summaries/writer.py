"""The writers of TensorFlow 2: ``tf.summary.create_file_writer``.

    writer = tf.summary.create_file_writer("logs")
    with writer.as_default():
        tf.summary.scalar("loss", 0.25, step=1)        on disk at the end of the block

A writer makes its file at once. It is the default of a thread inside ``as_default``, or from ``set_as_default`` on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError, DTypeError, StateError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import IntLike, PathLike
from situs._src.files.paths import as_text
from situs._src.ir.graph.graph import Graph
from situs._src.ops.attribute import as_float, as_word
from situs._src.ops.constant import constant
from situs._src.summaries import messages
from situs._src.summaries.event_file import EventFile
from situs._src.summaries.file_writer import graph_bytes
from situs._src.summaries.recording import if_recording, state
from situs._src.summaries.write_ops import flush_in_graph
from situs._src.tracing.function import inside_function

if TYPE_CHECKING:
    from situs._src.base.proto.graph import GraphDef


@export("summary.SummaryWriter", v1=())
class SummaryWriter:
    """What summaries are written with; made by ``tf.summary.create_file_writer``."""

    def set_as_default(self, step: IntLike | None = None) -> None:
        """Makes this the default writer of the thread, and `step` its step if it is given."""
        raise UnimplementedError(f"{type(self).__name__} has no method `set_as_default`.")

    def as_default(self, step: IntLike | None = None) -> Any:
        """A context in which this is the default writer of the thread, and `step` its step if it is given."""
        raise UnimplementedError(f"{type(self).__name__} has no method `as_default`.")

    def init(self) -> None:
        """Does nothing: a writer is ready when it is made."""

    def flush(self) -> None:
        """Brings what was written to disk; in a ``tf.function``, whenever it runs."""

    def close(self) -> None:
        """Brings what was written to disk, and ends the writer."""


class FileSummaryWriter(SummaryWriter):
    """Writes into one event file."""

    def __init__(self, file: EventFile) -> None:
        self._file = file

    def set_as_default(self, step: IntLike | None = None) -> None:
        """Makes this the default writer of the thread, and `step` its step if it is given.

        Raises:
            RuntimeError: it is closed.
        """
        self._check_open()
        state.writer = self
        if step is not None:
            state.step = step

    @contextmanager
    def as_default(self, step: IntLike | None = None) -> Iterator[SummaryWriter]:
        """A context in which this is the default writer of the thread, and `step` its step if it is given.

        Raises:
            RuntimeError: it is closed.
        """
        self._check_open()
        before = state.writer, state.step
        self.set_as_default(step)
        try:
            yield self
            self.flush()
        finally:
            state.writer = before[0]
            if step is not None:
                state.step = before[1]

    def init(self) -> None:
        """Does nothing: a writer is ready when it is made.

        Raises:
            RuntimeError: it is closed.
        """
        self._check_open()

    def flush(self) -> None:
        """Brings what was written to disk; in a ``tf.function``, whenever it runs."""
        if here.graph is None:
            self.flush_now()
        elif inside_function():
            flush_in_graph(self)

    def flush_now(self) -> None:
        """Brings what was written to disk; a closed writer has done so."""
        if not self._file.closed:
            self._file.flush()

    def close(self) -> None:
        """Brings what was written to disk, and ends the writer."""
        self._file.close()

    def add(self, event: Any) -> None:
        """Adds an event.

        Raises:
            RuntimeError: the writer is closed.
        """
        self._file.add(event)

    def _check_open(self) -> None:
        if self._file.closed:
            raise StateError(f"SummaryWriter {self!r} is already closed. Make another one.")

    def __repr__(self) -> str:
        return f"<SummaryWriter of {str(self._file.path)!r}>"


class NoopSummaryWriter(SummaryWriter):
    """Stands where a writer is wanted, and writes nothing."""

    def set_as_default(self, step: IntLike | None = None) -> None:
        """Does nothing."""

    @contextmanager
    def as_default(self, step: IntLike | None = None) -> Iterator[SummaryWriter]:
        """A context in which nothing is different."""
        yield self


@export(
    "summary.create_file_writer",
    v1=(),
    differs="Summaries are written in the caller's thread, buffered: a full disk is an error there.",
)
def create_file_writer(
    logdir: PathLike,
    max_queue: int | None = None,
    flush_millis: int | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
    experimental_trackable: bool = False,
    experimental_mesh: object = None,
) -> SummaryWriter:
    """Makes a writer, and a file for it.

    Args:
        logdir: The folder, which is made if need be.
        max_queue: How many summaries may wait before they go to disk; 10 by default.
        flush_millis: How long they may wait, in milliseconds, before the next one takes them along; two minutes.
        filename_suffix: What the name of the file ends with; ``.v2`` by default.
        name: Accepted for TensorFlow's programs.
        experimental_trackable: Accepted for TensorFlow's programs: a writer has no state to save.
        experimental_mesh: Must be None.

    Raises:
        ValueError: there is no folder.
        OpError: the folder or the file cannot be made.
    """
    if logdir is None:
        raise ArgumentError("Argument `logdir` cannot be None")
    if experimental_mesh is not None:
        raise ArgumentError("A writer belongs to this process. Leave `experimental_mesh` out.")
    wait = 120_000 if flush_millis is None else as_float(flush_millis, "flush_millis")
    suffix = ".v2" if filename_suffix is None else as_word(filename_suffix, "filename_suffix")
    return FileSummaryWriter(EventFile(as_text(logdir), 10 if max_queue is None else max_queue, wait / 1000, suffix))


@export("summary.create_noop_writer", v1=())
def create_noop_writer() -> SummaryWriter:
    """A writer that writes nothing, for code that wants one."""
    return NoopSummaryWriter()


@export("summary.flush", v1=())
def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Brings what a writer, the default one if none is given, wrote to disk."""
    chosen = state.writer if writer is None else writer
    if not isinstance(chosen, (SummaryWriter, type(None))):
        raise DTypeError(f"`writer` must be a writer such as tf.summary.create_file_writer makes, got {shown(chosen)}.")
    if chosen is not None:
        chosen.flush()


@export("summary.graph", v1=())
def graph(graph_data: Graph | GraphDef) -> Tensor:
    """Writes a graph, such as ``function.get_concrete_function(...).graph``, for TensorBoard to draw.

    Returns:
        Whether it was written, as a boolean tensor.

    Raises:
        RuntimeError: a graph is being built.
        TypeError: it is not a graph.
    """
    if here.graph is not None:
        raise StateError("graph() cannot be invoked inside a graph context.")
    writer = state.writer
    if not isinstance(writer, FileSummaryWriter):
        return constant(False)
    data = graph_bytes(graph_data, None)

    def record() -> Tensor:
        writer.add(messages.proto("event_pb2").Event(wall_time=time.time(), graph_def=data))
        return constant(True)

    return if_recording(record)
