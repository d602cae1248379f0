"""`EventFile`: one file of events, in a folder that TensorBoard is pointed at.

    events.out.tfevents.1700000000.host.4711.0.v2        when, where, process, number in the process, suffix

A record is written by TensorBoard's ``RecordWriter`` into a buffer. The buffer is flushed when more than `max_queue`
events wait in it, when the last flush is more than `flush_secs` ago, and by `flush` and `close`; a file that is not
closed is flushed at exit. Threads may share one.
"""

from __future__ import annotations

import itertools
import os
import socket
import time
from pathlib import Path
from typing import IO, Any
from weakref import finalize

from situs._src.base import locks
from situs._src.base.errors import DTypeError, FailedPreconditionError, NotFoundError, shown
from situs._src.base.typing import PathLike
from situs._src.files.paths import local, translated
from situs._src.ops.attribute import as_float, as_int
from situs._src.summaries import messages

_numbers = itertools.count()


class EventFile:
    """A file that events are added to.

    Args:
        logdir: The folder, which is made if need be.
        max_queue: How many events may wait before they go to disk.
        flush_secs: How long they may wait, in seconds, before the next event takes them along.
        suffix: What the name of the file ends with.

    Raises:
        OpError: the folder or the file cannot be made.
    """

    def __init__(self, logdir: PathLike, max_queue: int = 10, flush_secs: float = 120, suffix: str = "") -> None:
        self._max_queue, self._flush_secs = as_int(max_queue, "max_queue"), as_float(flush_secs, "flush_secs")
        record_writer = messages.part("tensorboard.summary.writer.record_writer").RecordWriter
        folder = local(logdir)
        with translated(logdir):
            if folder.exists() and not folder.is_dir():
                raise FailedPreconditionError(f"{folder} is not a directory. Events are written into a folder.")
            folder.mkdir(parents=True, exist_ok=True)
            self.path = folder / f"{_base_name()}{suffix}"
            self._file = open_new(self.path)
        self._finish = finalize(self, _finish, self._file)
        self._records = record_writer(self._file)
        self._lock = locks.rlock()
        self._waiting, self._last_flush = 0, time.monotonic()
        self.add(_first_event())
        self.flush()

    @property
    def closed(self) -> bool:
        """Whether the file has been closed."""
        return self._file.closed

    def add(self, event: Any) -> None:
        """Adds an event, which has its time.

        Raises:
            FailedPreconditionError: the file is closed.
            ResourceExhaustedError: the disk is full.
        """
        if not hasattr(event, "SerializeToString"):
            raise DTypeError(f"An event is a message such as tf.Event, got {shown(event)}.")
        data = event.SerializeToString()
        with self._lock:
            self._check_open()
            with translated(self.path):
                self._records.write(data)
            self._waiting += 1
            if self._waiting > self._max_queue or time.monotonic() - self._last_flush > self._flush_secs:
                self.flush()

    def flush(self) -> None:
        """Brings what waits to disk.

        Raises:
            NotFoundError: the file was removed.
            ResourceExhaustedError: the disk is full.
        """
        with self._lock:
            self._check_open()
            with translated(self.path):
                self._file.flush()
            self._waiting, self._last_flush = 0, time.monotonic()
        if not self.path.exists():
            raise NotFoundError(
                f"The events file {self.path} has disappeared: what is written to it is lost. Keep the folder while "
                "a writer uses it, or close the writer first."
            )

    def close(self) -> None:
        """Brings what waits to disk and closes the file."""
        with self._lock, translated(self.path):
            try:
                self._file.close()
            finally:
                if self._file.closed:
                    self._finish.detach()

    def _check_open(self) -> None:
        if self._file.closed:
            raise FailedPreconditionError(f"The events file {self.path} is closed. Make another writer.")


def open_new(path: Path) -> IO[bytes]:
    """A new file, opened for writing."""
    return path.open("xb")


def _base_name() -> str:
    return f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}"


def _first_event() -> Any:
    """What an events file begins with."""
    events = messages.proto("event_pb2")
    return events.Event(wall_time=time.time(), file_version="brain.Event:2")


def _finish(file: IO[bytes]) -> None:
    """Closes a file that is not written to any more; errors are ignored."""
    try:
        file.close()
    except OSError:
        pass
