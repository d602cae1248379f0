"""``Supervisor``: the predecessor of monitored sessions.

    sv = tf.train.Supervisor(logdir="run")               completes the graph, and closes it for changes
    with sv.managed_session() as sess:                   restored or initialized; threads save and log
        while not sv.should_stop():
            sess.run(train_op)

Its services are threads that save checkpoints and summaries periodically in the background.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from situs._src.base.errors import DTypeError, StateError, shown
from situs._src.base.export import export
from situs._src.base.proto.config import ConfigProto
from situs._src.base.typing import FeedDict, IntLike, PathLike, SessionLike
from situs._src.checkpoints.saver import Saver
from situs._src.files.graph_file import write_graph
from situs._src.files.paths import as_text
from situs._src.ir.graph.context import get_collection, get_default_graph
from situs._src.ir.graph.graph import Graph
from situs._src.ops.attribute import as_float, as_word
from situs._src.ops.placeholder import group
from situs._src.summaries.file_writer import graph_message
from situs._src.v1.monitored.events import merged_summaries, own_event_writer, session_started, session_stopped
from situs._src.v1.monitored.services import StepCounterThread, SummaryThread, TimerCheckpointThread
from situs._src.v1.monitored.session_manager import SessionManager
from situs._src.v1.monitored.tables import tables_initializer
from situs._src.v1.optimizers.global_step import get_global_step
from situs._src.v1.queues.coordinator import Coordinator, LooperThread
from situs._src.v1.queues.queue_runner import QueueRunner
from situs._src.variables.collections import (
    GraphKeys,
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)

_logger = logging.getLogger("situs")


@export(v1="train.Supervisor")
class Supervisor:
    """Prepares sessions for a training loop, and starts threads that save and log beside it.

    What is not given of the operations is taken from the graph's collection for it, or made; None stands for none.

    Args:
        graph: The graph; the default one if it is not given.
        ready_op: A string tensor with the names of what has no value yet.
        ready_for_local_init_op: The same for what `local_init_op` needs.
        is_chief: Whether it initializes and saves; else it waits until somebody else has initialized.
        init_op: What to run if there is no checkpoint to restore.
        init_feed_dict: What to feed to it.
        local_init_op: What to run in every session, restored or not.
        logdir: The folder for checkpoints and summaries; nothing is written if it is not given.
        summary_op: A string tensor with all summaries.
        saver: What saves and restores.
        global_step: The global step.
        save_summaries_secs: Seconds between summaries; 0 for none.
        save_model_secs: Seconds between checkpoints; 0 for none.
        recovery_wait_secs: Seconds between two looks at whether a model is ready.
        stop_grace_secs: How long threads may take to stop.
        checkpoint_basename: How the names of checkpoints begin.
        session_manager: What makes sessions.
        summary_writer: What writes summaries; None for nobody.
        init_fn: A function of the session, called after `init_op`.
        local_init_run_options: Options for the run of `local_init_op`.
    """

    USE_DEFAULT: Any = 0  # TensorFlow's number for it

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: FeedDict | None = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: PathLike | None = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: IntLike = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        if graph is not None and not isinstance(graph, Graph):
            raise DTypeError(f"graph must be a tf.Graph, got {shown(graph)}.")
        if session_manager is not None and not hasattr(session_manager, "prepare_session"):
            raise DTypeError(f"session_manager must be a tf.train.SessionManager, got {shown(session_manager)}.")
        self._graph = get_default_graph() if graph is None else graph
        self._is_chief = bool(is_chief)
        self._coord = Coordinator()
        self._recovery_wait_secs = as_float(recovery_wait_secs, "recovery_wait_secs")
        self._stop_grace_secs = as_float(stop_grace_secs, "stop_grace_secs")
        self._save_summaries_secs = as_float(save_summaries_secs, "save_summaries_secs")
        self._save_model_secs = as_float(save_model_secs, "save_model_secs")
        self._init_fn, self._init_feed_dict = init_fn, init_feed_dict
        self._local_init_run_options = local_init_run_options
        self._started_threads: list[threading.Thread] = []
        self._place(logdir, checkpoint_basename, summary_writer)
        with self._graph.as_default():
            self._find_ready_ops(ready_op, ready_for_local_init_op)
            self._find_init_ops(init_op, local_init_op)
            self._find_services(summary_op, saver, global_step)
        self._session_manager = self._manager() if session_manager is None else session_manager
        self._graph.finalize()

    # What it needs.

    def _place(self, logdir: Any, basename: str, summary_writer: Any) -> None:
        """Only the chief writes; without a folder nobody does."""
        self._logdir = as_text(logdir) if logdir and self._is_chief else None
        name = as_word(basename, "checkpoint_basename")
        self._save_path = None if self._logdir is None else os.path.join(self._logdir, name)  # noqa: PTH118
        given = summary_writer is not Supervisor.USE_DEFAULT
        self._summary_writer = summary_writer if given and self._is_chief else None
        if not given and self._logdir is not None:
            self._summary_writer = own_event_writer(self._logdir)

    def _find_ready_ops(self, ready_op: Any, ready_for_local_init_op: Any) -> None:
        self._ready_op = _chosen(ready_op, GraphKeys.READY_OP, report_uninitialized_variables)
        self._ready_for_local_init_op = _chosen(
            ready_for_local_init_op,
            GraphKeys.READY_FOR_LOCAL_INIT_OP,
            lambda: report_uninitialized_variables(global_variables()),
        )

    def _find_init_ops(self, init_op: Any, local_init_op: Any) -> None:
        self._init_op = _chosen(init_op, GraphKeys.INIT_OP, global_variables_initializer)
        self._local_init_op = _chosen(
            local_init_op,
            GraphKeys.LOCAL_INIT_OP,
            lambda: group(local_variables_initializer(), tables_initializer()),
        )
        if self._local_init_op is None:
            self._ready_for_local_init_op = None

    def _find_services(self, summary_op: Any, saver: Any, global_step: IntLike) -> None:
        self._summary_op = _chosen(summary_op, GraphKeys.SUMMARY_OP, merged_summaries)
        self._saver = _chosen(saver, GraphKeys.SAVERS, lambda: Saver() if global_variables() else None)
        default = global_step is Supervisor.USE_DEFAULT
        self._global_step = get_global_step(self._graph) if default else global_step

    def _manager(self) -> SessionManager:
        return SessionManager(
            local_init_op=self._local_init_op,
            ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_for_local_init_op,
            graph=self._graph,
            recovery_wait_secs=self._recovery_wait_secs,
            local_init_run_options=self._local_init_run_options,
        )

    @property
    def is_chief(self) -> bool:
        """Whether it initializes and saves."""
        return self._is_chief

    @property
    def session_manager(self) -> SessionManager:
        """What makes its sessions."""
        return self._session_manager

    @property
    def coord(self) -> Coordinator:
        """What stops its threads."""
        return self._coord

    @property
    def init_op(self) -> Any:
        """What is run if there is no checkpoint."""
        return self._init_op

    @property
    def init_feed_dict(self) -> Mapping[Any, Any] | None:
        """What is fed to `init_op`."""
        return self._init_feed_dict

    @property
    def ready_op(self) -> Any:
        """The names of what has no value yet."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """The names of what the local initializers wait for."""
        return self._ready_for_local_init_op

    @property
    def summary_writer(self) -> Any:
        """What writes summaries; None if nobody does."""
        return self._summary_writer

    @property
    def summary_op(self) -> Any:
        """All summaries; None if there are none."""
        return self._summary_op

    @property
    def save_summaries_secs(self) -> float:
        """Seconds between summaries."""
        return self._save_summaries_secs

    @property
    def global_step(self) -> Any:
        """The global step; None if there is none."""
        return self._global_step

    @property
    def saver(self) -> Any:
        """What saves and restores; None if there is nothing to save."""
        return self._saver

    @property
    def save_model_secs(self) -> float:
        """Seconds between checkpoints."""
        return self._save_model_secs

    @property
    def save_path(self) -> str | None:
        """How the paths of checkpoints begin; None if they are not saved."""
        return self._save_path

    # Sessions.

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: ConfigProto | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Any:
        """A session that is ready, with its threads started.

        Args:
            master: Empty: the devices of this process.
            config: A ``ConfigProto``.
            wait_for_checkpoint: Whether to wait until there is a checkpoint to restore.
            max_wait_secs: How long.
            start_standard_services: Whether to start the threads that save and log.
        """
        self._coord.clear_stop()
        if self._summary_writer is not None:
            self._summary_writer.reopen()
        if self._is_chief:
            session = self._prepared(master, config, wait_for_checkpoint, max_wait_secs)
        else:
            session = self._session_manager.wait_for_session(master, config, max_wait_secs)
        try:
            self._start(session, start_standard_services)
        except BaseException:
            self._coord.request_stop()
            session.close()
            raise
        return session

    def _start(self, session: SessionLike, services: bool) -> None:
        if self._is_chief:
            self._write_graph()
        if not services:
            return
        if self._is_chief:
            _logger.info("Starting standard services.")
            self.start_standard_services(session)
        _logger.info("Starting queue runners.")
        self.start_queue_runners(session)

    def _prepared(self, master: str, config: ConfigProto | None, waits: bool, most: float) -> Any:
        return self._session_manager.prepare_session(
            master,
            init_op=self._init_op,
            saver=self._saver,
            checkpoint_dir=self._logdir,
            wait_for_checkpoint=waits,
            max_wait_secs=most,
            config=config,
            init_feed_dict=self._init_feed_dict,
            init_fn=self._init_fn,
        )

    def _write_graph(self) -> None:
        if self._logdir is not None:
            write_graph(graph_message(self._graph), self._logdir, "graph.pbtxt")
        if self._summary_writer is not None:
            self._summary_writer.add_graph(self._graph)

    @contextmanager
    def managed_session(
        self,
        master: str = "",
        config: ConfigProto | None = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Any]:
        """A context with a session; leaving it stops the threads, and an exception stops them too.

        The end of the input (``OutOfRangeError``) is a good end.
        """
        session = self.prepare_or_wait_for_session(master, config, start_standard_services=start_standard_services)
        try:
            yield session
        except Exception as error:
            self.request_stop(error)
        finally:
            self._finish(session, close_summary_writer)

    def _finish(self, session: Any, close_summary_writer: bool) -> None:
        try:
            self.stop(close_summary_writer=close_summary_writer, ignore_live_threads=True)
        finally:
            session.close()

    # Threads.

    def start_standard_services(self, sess: SessionLike) -> list[threading.Thread] | None:
        """Starts the threads that save checkpoints and summaries and count steps; returns them.

        Raises:
            RuntimeError: this is not the chief.
        """
        if not self._is_chief:
            raise StateError(
                "Only chief supervisor can start standard services. Because only chief supervisors can write events."
            )
        if self._logdir is None:
            _logger.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self._global_step is not None and self._summary_writer is not None:
            self._summary_writer.add_session_log(session_started(), int(sess.run(self._global_step)))
        started: list[threading.Thread] = self._services(sess)
        for thread in started:
            thread.start()
        self._started_threads.extend(started)
        return started

    def _services(self, sess: SessionLike) -> list[threading.Thread]:
        made: list[threading.Thread] = []
        if self._save_summaries_secs and self._summary_writer is not None:
            if self._summary_op is not None:
                made.append(SummaryThread(self, sess))
            if self._global_step is not None:
                made.append(StepCounterThread(self, sess))
        if self._saver is not None and self._save_model_secs:
            made.append(TimerCheckpointThread(self, sess))
        return made

    def start_queue_runners(
        self, sess: SessionLike, queue_runners: Sequence[QueueRunner] | None = None
    ) -> list[threading.Thread]:
        """Starts the threads of queue runners, by default of all that the graph has collected."""
        runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS) if queue_runners is None else queue_runners
        threads = [
            thread for runner in runners for thread in runner.create_threads(sess, self._coord, daemon=True, start=True)
        ]
        self._started_threads.extend(threads)
        return threads

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Any = None,
    ) -> LooperThread:
        """Starts a thread that calls a function again and again until the supervisor stops."""
        looper = LooperThread(self._coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    # The end.

    def stop(
        self,
        threads: Iterable[threading.Thread] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stops the threads, and raises what one of them raised.

        Args:
            threads: Who to wait for; by default all that were started here.
            close_summary_writer: Whether to close the event file.
            ignore_live_threads: Whether threads that do not stop in time are let be.
        """
        self._coord.request_stop()
        try:
            self._coord.join(
                self._started_threads if threads is None else threads, self._stop_grace_secs, ignore_live_threads
            )
        finally:
            self._started_threads = []
            if close_summary_writer and self._summary_writer is not None:
                self._summary_writer.add_session_log(session_stopped())
                self._summary_writer.close()

    def request_stop(self, ex: Any = None) -> None:
        """Asks the loop and all threads to stop; `ex` is the reason, to be raised at the end."""
        self._coord.request_stop(ex)

    def should_stop(self) -> bool:
        """Whether somebody asked to stop."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> AbstractContextManager[None]:
        """A context that turns an exception into a request to stop."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Waits until somebody asks to stop."""
        self._coord.wait_for_stop()

    # Summaries.

    def summary_computed(self, sess: SessionLike, summary: object, global_step: int | None = None) -> None:
        """Writes a summary.

        Args:
            sess: The session, to read the global step from.
            summary: The summary, or its bytes.
            global_step: The step, if it is known.

        Raises:
            RuntimeError: there is nothing to write with.
        """
        if self._summary_writer is None:
            raise StateError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = int(sess.run(self._global_step))
        self._summary_writer.add_summary(summary, global_step)

    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


def _chosen(given: object, key: str, make: Callable[[], Any]) -> Any:
    """What was given; else the first of a collection of the default graph; else a new one, which is collected."""
    if given is not Supervisor.USE_DEFAULT:
        return given
    found = get_collection(key)
    if found:
        return found[0]
    made = make()
    if made is not None:
        get_default_graph().add_to_collection(key, made)
    return made
