"""``MonitoredSession``: a session for a training loop.

    with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=100)]) as sess:
        while not sess.should_stop():
            sess.run(train_op)

On entry hooks begin, the graph is completed and finalized, variables are restored or initialized, and queue runners
start. On exit hooks end, threads stop, and the session is closed; the end of the input (``OutOfRangeError``) ends the
loop normally.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NoReturn

from situs._src.base.errors import ArgumentError, DTypeError, OutOfRangeError, StateError, shown
from situs._src.base.export import export
from situs._src.base.proto.config import ConfigProto
from situs._src.base.typing import FeedDict, PathLike, SessionLike
from situs._src.ir.graph.context import get_default_graph
from situs._src.ir.graph.graph import Graph
from situs._src.ops.attribute import as_float
from situs._src.v1.monitored.hook import SessionRunHook, objects_with
from situs._src.v1.monitored.layers import CoordinatedSession, HookedSession, RecoverableSession
from situs._src.v1.monitored.scaffold import Scaffold
from situs._src.v1.monitored.session_creator import ChiefSessionCreator, SessionCreator
from situs._src.v1.queues.coordinator import Coordinator
from situs._src.v1.queues.queue_runner import start_queue_runners
from situs._src.variables.collections import GraphKeys

_METHODS = ("begin", "after_create_session", "before_run", "after_run", "end")


class StepContext:
    """What a function passed to ``run_step_fn`` gets: the session, with and without hooks."""

    def __init__(self, session: SessionLike, run_with_hooks_fn: Callable[..., Any]) -> None:
        self._session = session
        self._run_with_hooks_fn = run_with_hooks_fn

    @property
    def session(self) -> Any:
        """The session itself: what is run in it is not seen by hooks."""
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """Runs as ``MonitoredSession.run`` does."""
        return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self) -> NoReturn:
        """Ends the loop: leaves the ``with`` of the monitored session, in good order."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class _BaseMonitoredSession:
    """What recoverable and other monitored sessions do."""

    StepContext = StepContext

    def __init__(self, creator: Any, hooks: Any, stop_grace_period_secs: float, recovers: bool) -> None:
        self._hooks: list[SessionRunHook] = objects_with(_METHODS, hooks, "hooks", "tf.train.SessionRunHook")
        self._graph = get_default_graph()
        self._graph_was_finalized = self._graph.finalized
        grace = as_float(stop_grace_period_secs, "stop_grace_period_secs")
        with self._graph.as_default():
            for hook in self._hooks:
                hook.begin()
            self._maker = _Maker(creator, self._hooks, grace, self._graph)
        make = self._maker.make
        self._session: RecoverableSession | CoordinatedSession | None = None
        try:
            self._session = RecoverableSession(make) if recovers else make()
        except BaseException:
            self._let_go()  # the graph can be changed again, as if nothing had been
            raise

    @property
    def graph(self) -> Graph | None:
        """The graph that the session runs; None when it is closed."""
        return None if self._maker.session is None else self._maker.session.graph

    def _tf_sess(self) -> Any:
        return self._maker.session

    # Running.

    def run(
        self, fetches: object, feed_dict: FeedDict | None = None, options: object = None, run_metadata: object = None
    ) -> Any:
        """Runs as ``Session.run`` does, together with what the hooks ask for.

        Args:
            fetches: What to compute.
            feed_dict: Values to stand in for tensors, none of which a hook feeds too.
            options: A ``RunOptions``.
            run_metadata: A ``RunMetadata`` to be filled.

        Raises:
            RuntimeError: the session is closed, or was asked to stop, or a hook feeds the same tensor.
        """
        return self._open().run(fetches, feed_dict, options, run_metadata)

    def _open(self) -> RecoverableSession | CoordinatedSession:
        if self._session is None:
            raise StateError("Attempted to use a closed Session: its `with` is over, or it was closed.")
        return self._session

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Calls a function of one argument ``step_context``, for steps that are several runs; returns what it returns.

        Raises:
            ValueError: the function has other arguments.
            StopIteration: it asked to stop.
        """
        _check_step_fn(step_fn)
        session = self._open()

        def step(coordinated: CoordinatedSession) -> Any:
            return step_fn(step_context=StepContext(self._maker.session, coordinated.run))

        return session.run_in(step) if isinstance(session, RecoverableSession) else step(session)

    def should_stop(self) -> bool:
        """Whether the loop should end: a hook or a thread asked for it, or the session is closed."""
        return self._session is None or self._session.should_stop()

    # Its end.

    def close(self) -> None:
        """Ends the hooks, stops the threads and closes the session.

        Raises:
            RuntimeError: it is closed already.
        """
        self._close(well=True)

    def __enter__(self) -> _BaseMonitoredSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        well = kind is None or issubclass(kind, (OutOfRangeError, StopIteration))
        self._close(well)
        return well

    def _close(self, well: bool) -> None:
        if self._session is None:
            raise StateError("Session is already closed.")
        try:
            if well:
                for hook in self._hooks:
                    hook.end(self._maker.session)
        finally:
            self._let_go()

    def _let_go(self) -> None:
        session, self._session = self._session, None
        try:
            if session is not None:
                session.close()
        finally:
            self._maker.session = None
            if not self._graph_was_finalized:
                self._graph.reopen()


@export(v1="train.MonitoredSession")
class MonitoredSession(_BaseMonitoredSession):
    """A session for a training loop, which goes on from the last checkpoint after a failure elsewhere.

    Args:
        session_creator: Makes the session; a `ChiefSessionCreator` if it is not given.
        hooks: What is called around its runs, in this order.
        stop_grace_period_secs: How long threads may take to stop.
    """

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        super().__init__(session_creator, hooks, stop_grace_period_secs, recovers=True)


@export(v1="train.SingularMonitoredSession")
class SingularMonitoredSession(_BaseMonitoredSession):
    """A session for a training loop that ends with the first failure.

    Args:
        hooks: What is called around its runs, in this order.
        scaffold: The operations it needs; a new one if it is not given.
        master: Empty: the devices of this process.
        config: A ``ConfigProto``.
        checkpoint_dir: The folder whose latest checkpoint to restore.
        stop_grace_period_secs: How long threads may take to stop.
        checkpoint_filename_with_path: The checkpoint to restore, instead.
    """

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        checkpoint_dir: PathLike | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: PathLike | None = None,
    ) -> None:
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, stop_grace_period_secs, recovers=False)

    def raw_session(self) -> Any:
        """The session itself; None when it is closed."""
        return self._tf_sess()


class _Maker:
    """Makes sessions with their threads and hooks, and knows the latest one."""

    def __init__(self, creator: Any, hooks: Sequence[SessionRunHook], grace: float, graph: Graph) -> None:
        self._creator = ChiefSessionCreator() if creator is None else _as_creator(creator)
        self._hooks = hooks
        self._grace = grace
        self._graph = graph
        self.session: Any = None

    def make(self) -> CoordinatedSession:
        with self._graph.as_default():
            self.session = self._creator.create_session()
            coord = Coordinator(clean_stop_exception_types=())
            made = CoordinatedSession(HookedSession(self.session, self._hooks), coord, self._grace)
            try:
                self._start(coord)
            except BaseException:
                coord.request_stop()
                self.session.close()
                raise
            return made

    def _start(self, coord: Coordinator) -> None:
        if self._graph.get_collection(GraphKeys.QUEUE_RUNNERS):
            start_queue_runners(self.session, coord)
        for hook in self._hooks:
            hook.after_create_session(self.session, coord)


def _as_creator(creator: object) -> Any:
    if not callable(getattr(creator, "create_session", None)):
        raise DTypeError(f"session_creator has a method create_session(); {shown(creator)} has none.")
    return creator


def _check_step_fn(step_fn: Callable[..., Any]) -> None:
    try:
        names = tuple(inspect.signature(step_fn).parameters)
    except (TypeError, ValueError):
        raise DTypeError(f"step_fn is a function of one argument `step_context`, got {shown(step_fn)}.") from None
    if names != ("step_context",):
        raise ArgumentError(
            "`step_fn` may either have one `step_context` argument, or `self` and `step_context` arguments if it's an "
            f"instance method. Got {names} instead."
        )
