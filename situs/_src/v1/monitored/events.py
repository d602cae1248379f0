"""Events of monitored sessions for TensorBoard: writers of event files, and their events.

The package ``tensorboard`` is imported when something is written: a loop that writes nothing does not need it.
"""

from __future__ import annotations

from typing import Any

from situs._src.base.tensor import Tensor
from situs._src.base.typing import PathLike
from situs._src.summaries import messages
from situs._src.summaries.cache import FileWriterCache
from situs._src.summaries.file_writer import FileWriter
from situs._src.summaries.graph_summaries import merge_all


def event_writer(folder: PathLike) -> FileWriter:
    """The writer of a folder: the same one for all who ask."""
    return FileWriterCache.get(folder)


def own_event_writer(folder: PathLike) -> FileWriter:
    """A new writer of a folder, for who closes it."""
    return FileWriter(folder)


def merged_summaries() -> Tensor | None:
    """A string tensor with all summaries of the default graph; None if it has none."""
    return merge_all()


def session_started() -> Any:
    """The event that a session was made."""
    return _session_log("START")


def session_stopped() -> Any:
    """The event that a session ended."""
    return _session_log("STOP")


def checkpoint_saved(path: str) -> Any:
    """The event that a checkpoint was saved."""
    return _session_log("CHECKPOINT", checkpoint_path=path)


def _session_log(status: str, **fields: Any) -> Any:
    kind = messages.proto("event_pb2").SessionLog
    return kind(status=getattr(kind, status), **fields)


def scalar(tag: str, value: float) -> Any:
    """A summary of one number."""
    kind = messages.proto("summary_pb2").Summary
    return kind(value=[kind.Value(tag=tag, simple_value=value)])
