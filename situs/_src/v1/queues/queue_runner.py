"""``QueueRunner``: threads that keep a queue full.

    runner = QueueRunner(queue, [queue.enqueue(x)] * 4)
    threads = runner.create_threads(sess, coord=coord, start=True)

        enqueue, enqueue, enqueue ...  until the inputs end    -> the queue is closed, and consumers get the rest
                                       until the coordinator   -> the queue is closed, and pending enqueues fail
                                       stops

Functions that build pipelines collect their runners in the graph; `start_queue_runners` starts them all.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from situs._src.base import locks
from situs._src.base.errors import ArgumentError, DTypeError, OpError, OutOfRangeError, StateError, shown
from situs._src.base.export import export
from situs._src.base.tree import listed
from situs._src.base.typing import SessionLike
from situs._src.ir.graph.context import add_to_collection, get_default_session
from situs._src.ops.attribute import as_bool
from situs._src.ops.queue import QueueBase
from situs._src.runtime.session.session import BaseSession
from situs._src.v1.queues.coordinator import Coordinator
from situs._src.variables.collections import GraphKeys

_logger = logging.getLogger("situs")


@export(v1=("train.QueueRunner", "train.queue_runner.QueueRunner"))
class QueueRunner:
    """Runs operations that put elements into a queue, each in a thread of its own.

    Args:
        queue: The queue.
        enqueue_ops: The operations; one may stand in the list several times.
        close_op: What closes the queue when the inputs end; made if it is not given.
        cancel_op: What closes it when the coordinator stops; made if it is not given.
        queue_closed_exception_types: Exceptions that mean the end of the inputs; ``OutOfRangeError`` by default.
        queue_runner_def: Not supported.
        import_scope: Not supported.

    Raises:
        ValueError: there is no queue, or nothing to run.
        TypeError: `queue_closed_exception_types` is no tuple of error classes.
    """

    def __init__(
        self,
        queue: QueueBase | None = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: tuple[type[OpError], ...] | None = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if queue_runner_def is not None or import_scope is not None:
            raise ArgumentError("A QueueRunner is made from a queue and enqueue_ops, not from a message.")
        operations = [] if enqueue_ops is None else listed(enqueue_ops, "operations")
        if queue is None or not operations:
            raise ArgumentError("Must provide queue and enqueue_ops.")
        if not isinstance(queue, QueueBase):
            raise DTypeError(f"A QueueRunner fills a queue, such as a tf.FIFOQueue; got {shown(queue)}.")
        if any(operation is None for operation in operations):
            raise StateError(
                "QueueRunners are not supported when eager execution is enabled. Build the queue in a graph, or start "
                "threads that call its methods."
            )
        self._queue = queue
        self._enqueue_ops = operations
        self._close_op = queue.close() if close_op is None else close_op
        self._cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        self._closed_types = _as_error_types(queue_closed_exception_types)
        self._lock = locks.lock()
        self._running: WeakKeyDictionary[Any, int] = WeakKeyDictionary()  # threads, by session
        self._exceptions_raised: list[BaseException] = []

    # What it is.

    @property
    def queue(self) -> QueueBase:
        """The queue."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Any]:
        """The operations that are run again and again."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        """What closes the queue when the inputs end."""
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        """What closes the queue when the coordinator stops."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[OpError], ...]:
        """Exceptions that mean the end of the inputs."""
        return self._closed_types

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """What its threads raised, where no coordinator was told."""
        return self._exceptions_raised

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self._queue.name

    # Threads.

    def create_threads(
        self, sess: SessionLike, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Makes the threads for a session; none if those of an earlier call still run.

        Args:
            sess: The session.
            coord: Who is told of exceptions, and stops the threads.
            daemon: Whether the threads end with the program.
            start: Whether to start them.
        """
        if not hasattr(sess, "run"):
            raise DTypeError(f"The threads of a QueueRunner work in a session, got {shown(sess)}.")
        if not isinstance(coord, (Coordinator, type(None))):
            raise DTypeError(f"`coord` must be a tf.train.Coordinator, got {shown(coord)}.")
        daemon, start = as_bool(daemon, "daemon"), as_bool(start, "start")
        with self._lock:
            if self._running.get(sess, 0) > 0:
                return []
            self._running[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        threads = [self._thread(self._run, sess, operation, coord) for operation in self._enqueue_ops]
        if coord is not None:
            threads.append(self._thread(self._close_on_stop, sess, self._cancel_op, coord))
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            thread.daemon = daemon
            if start:
                thread.start()
        return threads

    def _thread(self, work: Any, sess: SessionLike, operation: Any, coord: Coordinator | None) -> threading.Thread:
        what = "close_on_stop" if work == self._close_on_stop else getattr(operation, "name", str(operation))
        return threading.Thread(
            target=work, args=(sess, operation, coord), name=f"QueueRunnerThread-{self.name}-{what}"
        )

    def _run(self, sess: SessionLike, operation: Any, coord: Coordinator | None) -> None:
        """The work of one thread: one operation, again and again."""
        ended = False
        try:
            while coord is None or not coord.should_stop():
                sess.run(operation)
        except self._closed_types:
            ended = True
        except Exception as error:
            self._report(error, coord)
        finally:
            self._leave(sess, close=ended)

    def _report(self, error: Exception, coord: Coordinator | None) -> None:
        if coord is not None:
            coord.request_stop(error)
            return
        _logger.error("Exception in QueueRunner: %s", error)
        with self._lock:
            self._exceptions_raised.append(error)
        raise error

    def _leave(self, sess: SessionLike, close: bool) -> None:
        """Counts a thread out; the last one to see the end of the inputs closes the queue."""
        with self._lock:
            self._running[sess] -= 1
            last = not self._running[sess]
        if close and last:
            _run_quietly(sess, self._close_op)

    def _close_on_stop(self, sess: SessionLike, operation: Any, coord: Coordinator) -> None:
        coord.wait_for_stop()
        _run_quietly(sess, operation)


def _run_quietly(sess: SessionLike, operation: Any) -> None:
    """Closes a queue; that it is closed already, or the session is, does not matter at the end."""
    try:
        sess.run(operation)
    except Exception as error:
        _logger.debug("Ignored exception: %s", error)


def _as_error_types(types: object) -> tuple[type[OpError], ...]:
    if types is None:
        return (OutOfRangeError,)
    if (
        not isinstance(types, tuple)
        or not types
        or not all(isinstance(t, type) and issubclass(t, OpError) for t in types)
    ):
        raise DTypeError(
            f"queue_closed_exception_types, when provided, must be a tuple of tf.error types, but saw: {types}"
        )
    return types


# The runners of a graph.


@export(v1=("train.add_queue_runner", "train.queue_runner.add_queue_runner"))
def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a runner to a collection of the default graph, where `start_queue_runners` finds it."""
    if not isinstance(qr, QueueRunner):
        raise DTypeError(f"Expected a tf.train.QueueRunner, got {shown(qr)}.")
    add_to_collection(collection, qr)


@export(v1=("train.start_queue_runners", "train.queue_runner.start_queue_runners"))
def start_queue_runners(
    sess: SessionLike | None = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Makes the threads of all runners of the session's graph, and starts them.

    Args:
        sess: The session; the default one if it is not given.
        coord: Who is told of exceptions, and stops the threads.
        daemon: Whether the threads end with the program.
        start: Whether to start them.
        collection: The collection of the runners.

    Raises:
        ValueError: there is no session.
        TypeError: `sess` is not a session.
    """
    if sess is None:
        sess = get_default_session()
    if sess is None:
        raise ArgumentError(
            "Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or pass an "
            "explicit session to tf.start_queue_runners(sess=sess)"
        )
    if not isinstance(sess, BaseSession):
        raise DTypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    runners = sess.graph.get_collection(collection)
    if not runners:
        _logger.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined. You can safely remove "
            "the call to this deprecated function."
        )
    return [thread for runner in runners for thread in runner.create_threads(sess, coord, daemon, start)]


__all__ = ["QueueRunner", "add_queue_runner", "start_queue_runners"]
