"""``tf.summary.FileWriter``: writes summaries, graphs and run metadata to an event file.

    writer = tf.summary.FileWriter("logs", sess.graph)
    writer.add_summary(sess.run(merged), step)
    writer.close()

What it adds is on disk after ``flush`` or ``close``. A closed writer does nothing, and warns, until it is reopened.
"""

from __future__ import annotations

import time
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from situs._src.base import locks
from situs._src.base.errors import ArgumentError, DataLossError, DTypeError, InvalidArgumentError, shown
from situs._src.base.export import export
from situs._src.base.typing import IntLike, PathLike, SessionLike
from situs._src.files.paths import as_text
from situs._src.ir.graph.graph import Graph
from situs._src.summaries import messages
from situs._src.summaries.event_file import EventFile

if TYPE_CHECKING:
    from situs._src.base.proto.graph import GraphDef


@export(v1=("summary.FileWriter", "train.SummaryWriter"))
class FileWriter:
    """Writes events to a file in a folder.

    Args:
        logdir: The folder, which is made if need be.
        graph: A graph to write at once, such as ``sess.graph``.
        max_queue: How many events may wait before they go to disk.
        flush_secs: How often they go to disk, in seconds, while events come.
        graph_def: A graph as a message, instead of `graph`.
        filename_suffix: What the name of the file ends with.
        session: Accepted for TensorFlow's programs if it is None.

    Raises:
        OpError: the folder or the file cannot be made.
    """

    def __init__(
        self,
        logdir: PathLike,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: SessionLike | None = None,
    ) -> None:
        if session is not None:
            raise ArgumentError("A FileWriter is no part of a session here. Leave `session` out.")
        self._logdir = as_text(logdir)
        self._options = (max_queue, flush_secs, filename_suffix or "")
        self._lock = locks.rlock()
        self._file = EventFile(self._logdir, *self._options)
        self._described: set[str] = set()  # tags whose metadata are in the file
        self._run_tags: set[str] = set()
        if graph is not None or graph_def is not None:
            self._add_initial_graph(graph, graph_def)

    def _add_initial_graph(self, graph: Any, graph_def: Any) -> None:
        data = graph_bytes(graph, graph_def)
        self._add(None, graph_def=data)
        meta = messages.proto("meta_graph_pb2").MetaGraphDef()
        meta.graph_def.ParseFromString(data)
        self.add_meta_graph(meta)

    # What can be added.

    def add_summary(self, summary: object, global_step: IntLike | None = None) -> None:
        """Adds a ``Summary``, or the bytes of one as ``session.run`` gives them.

        Raises:
            TypeError: it is neither.
            DataLossError: the bytes are no summary.
        """
        found, step = _as_summary(summary), _step_or_none(global_step)
        with self._lock:
            if not self._file.closed:
                for value in found.value:
                    self._describe_once(value)
            self._add(step, summary=found)

    def _describe_once(self, value: Any) -> None:
        """Leaves out the metadata of a tag that the file has them of."""
        if not value.HasField("metadata"):
            return
        if value.tag in self._described:
            value.ClearField("metadata")
        self._described.add(value.tag)

    def add_graph(self, graph: Graph | None = None, global_step: IntLike | None = None, graph_def: Any = None) -> None:
        """Adds a graph, which TensorBoard draws.

        Args:
            graph: A ``tf.Graph``.
            global_step: A step to add it at.
            graph_def: A ``GraphDef``, instead of `graph`.

        Raises:
            TypeError: there is no graph, or it is not one.
            ValueError: there are two.
        """
        self._add(global_step, graph_def=graph_bytes(graph, graph_def))

    def add_meta_graph(self, meta_graph_def: Any, global_step: IntLike | None = None) -> None:
        """Adds a ``MetaGraphDef``.

        Raises:
            TypeError: it is not one.
        """
        if not isinstance(meta_graph_def, messages.proto("meta_graph_pb2").MetaGraphDef):
            raise DTypeError(f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}")
        self._add(global_step, meta_graph_def=meta_graph_def.SerializeToString())

    def add_run_metadata(self, run_metadata: object, tag: str, global_step: IntLike | None = None) -> None:
        """Adds what ``session.run`` reported of a run, under a tag of its own.

        Raises:
            ValueError: the tag has been used.
            TypeError: it is no ``RunMetadata``.
        """
        if not isinstance(tag, str):
            raise DTypeError(f"The tag of a run is a string, got {shown(tag)}.")
        step = _step_or_none(global_step)
        with self._lock:
            if tag in self._run_tags:
                raise ArgumentError(f"The provided tag was already used for this event type: {tag!r}.")
            if not isinstance(run_metadata, messages.proto("config_pb2").RunMetadata):
                raise DTypeError(f"What a run took is a tf.RunMetadata, got {shown(run_metadata)}.")
            report = run_metadata.SerializeToString()
            self._run_tags.add(tag)
        tagged = messages.proto("event_pb2").TaggedRunMetadata(tag=tag, run_metadata=report)
        self._add(step, tagged_run_metadata=tagged)

    def add_session_log(self, session_log: Any, global_step: IntLike | None = None) -> None:
        """Adds a ``SessionLog``: that a session started, stopped or saved a checkpoint.

        Raises:
            TypeError: it is not one.
        """
        if not isinstance(session_log, messages.proto("event_pb2").SessionLog):
            raise DTypeError(f"A session is logged by a tf.SessionLog, got {shown(session_log)}.")
        self._add(global_step, session_log=session_log)

    def add_event(self, event: Any) -> None:
        """Adds an ``Event`` as it is.

        Raises:
            TypeError: it is not one.
        """
        if not isinstance(event, messages.proto("event_pb2").Event):
            raise DTypeError(f"An event is a tf.Event, got {shown(event)}.")
        with self._lock:
            if self._is_open():
                self._file.add(event)

    def _add(self, global_step: Any, **what: Any) -> None:
        step = _step_or_none(global_step)
        event = messages.proto("event_pb2").Event(wall_time=time.time(), **what)
        if step is not None:
            event.step = step
        self.add_event(event)

    # Its life.

    def get_logdir(self) -> str:
        """The folder."""
        return self._logdir

    def flush(self) -> None:
        """Brings what was added to disk."""
        with self._lock:
            if self._is_open():
                self._file.flush()

    def close(self) -> None:
        """Brings what was added to disk and closes the file."""
        with self._lock:
            self._file.close()

    def reopen(self) -> None:
        """Opens another file in the same folder, if the writer is closed."""
        with self._lock:
            if self._file.closed:
                self._file = EventFile(self._logdir, *self._options)

    def _is_open(self) -> bool:
        if self._file.closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter is "
                "explicitly reopened.",
                stacklevel=4,
            )
        return not self._file.closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"FileWriter({self._logdir!r})"


def as_step(step: IntLike) -> int:
    """A step as a number of 64 bits.

    Raises:
        TypeError: it is not a number.
        ValueError: it is too large, or not finite.
    """
    if hasattr(step, "numpy"):
        step = step.numpy()
    if isinstance(step, np.ndarray) and step.size == 1:
        step = step.reshape(-1)[0]
    if isinstance(step, (bool, np.bool_)) or not isinstance(step, (int, float, np.integer, np.floating)):
        raise DTypeError(f"A step is a whole number, got {shown(step)}.")
    if not -(2**63) <= step < 2**63:  # which is not so for NaN either
        raise ArgumentError(f"A step is a whole number of 64 bits, got {shown(step)}.")
    return int(step)


def _step_or_none(step: Any) -> int | None:
    return None if step is None else as_step(step)


def _as_summary(summary: object) -> Any:
    kind = messages.proto("summary_pb2").Summary
    if isinstance(summary, kind):
        made = kind()
        made.CopyFrom(summary)  # metadata may be left out of it
        return made
    if hasattr(summary, "numpy"):
        summary = summary.numpy()
    if isinstance(summary, np.ndarray) and summary.ndim == 0:
        summary = summary[()]
    if not isinstance(summary, bytes):
        raise DTypeError(
            f"add_summary takes a tf.Summary, or the bytes that running a summary op gives; got {shown(summary)}. "
            "Pass sess.run(op), not the op itself."
        )
    return parsed(kind, summary)


def parsed(kind: Any, data: bytes) -> Any:
    """The message of some bytes.

    Raises:
        DataLossError: they are not events.
    """
    try:
        return kind.FromString(data)
    except messages.part("google.protobuf.message").DecodeError as error:
        raise DataLossError(f"These bytes are no {kind.__name__} message: {shown(data)} ({error}).") from None


def graph_bytes(graph: Any, graph_def: Any) -> bytes:
    """A graph in the bytes that TensorBoard reads.

    Raises:
        TypeError: there is none.
        ValueError: there are two.
    """
    if graph is not None and graph_def is not None:
        raise ArgumentError("Please pass only graph, or graph_def (deprecated), but not both.")
    given = graph_def if graph is None else graph
    if isinstance(given, Graph):
        given = graph_message(given)
    if not isinstance(given, messages.proto("graph_pb2").GraphDef):
        raise DTypeError(
            f"The passed graph must be an instance of `Graph` or the deprecated `GraphDef`, got {shown(given)}."
        )
    return given.SerializeToString()  # type: ignore[no-any-return]


def graph_message(graph: Graph) -> GraphDef:
    """A graph as a message to look at: Python objects in it, such as functions, are named and not written down."""
    from situs._src.base.proto.graph import GraphDef
    from situs._src.ir.graph.serialize import VERSION, to_node_def  # here, because it loads protobuf

    try:
        return graph.as_graph_def(add_shapes=True)
    except InvalidArgumentError:
        made = GraphDef()
        made.versions.producer = VERSION  # TensorBoard puts graphs of one version together
        made.node.extend([to_node_def(node) for node in graph.operations])
        return made
