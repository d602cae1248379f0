"""The three nested sessions inside a monitored one.

RecoverableSession     creates a new session after a recoverable failure
'- CoordinatedSession  stops the session's threads, and raises their exceptions
   '- HookedSession    calls the hooks, and merges their requests with the program's
      '- a Session     runs it
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from situs._src.base.errors import AbortedError, DTypeError, StateError, UnavailableError, shown
from situs._src.base.proto.config import RunOptions
from situs._src.base.proto.stats import RunMetadata
from situs._src.runtime.session.feeds import as_mapping
from situs._src.v1.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from situs._src.v1.queues.coordinator import Coordinator

_logger = logging.getLogger("situs")

PREEMPTION = AbortedError, UnavailableError  # failures that a new session may not meet again


class HookedSession:
    """Runs what the program and the hooks ask for, in one run."""

    def __init__(self, session: Any, hooks: Sequence[SessionRunHook]) -> None:
        self._session = session
        self._hooks = hooks
        self._should_stop = False

    def run(self, fetches: object, feed_dict: Any = None, options: object = None, run_metadata: object = None) -> Any:
        """The values of `fetches`; the hooks get those of theirs."""
        if self._should_stop:
            raise StateError("Run called even after should_stop requested.")
        if not self._hooks:
            return self._session.run(fetches, feed_dict, options, run_metadata)
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._session)
        wanted: dict[Any, Any] = {"caller": fetches}
        requests = {number: _checked(hook.before_run(context), hook) for number, hook in enumerate(self._hooks)}
        asked = {number: request for number, request in requests.items() if request is not None}
        wanted.update((number, request.fetches) for number, request in asked.items() if request.fetches is not None)
        feed_dict = _all_feeds([request.feed_dict for request in asked.values() if request.feed_dict], feed_dict)
        options = _all_options([request.options for request in asked.values() if request.options], options)
        if options is not None and run_metadata is None:
            run_metadata = RunMetadata()
        values = self._session.run(wanted, feed_dict, options, run_metadata)
        self._tell(context, values, options, run_metadata)
        return values["caller"]

    def _tell(self, context: SessionRunContext, values: Mapping[Any, Any], options: object, metadata: object) -> None:
        options = RunOptions() if options is None else options
        metadata = RunMetadata() if metadata is None else metadata
        for number, hook in enumerate(self._hooks):
            hook.after_run(context, SessionRunValues(values.get(number), options, metadata))
        self._should_stop = self._should_stop or context.stop_requested

    def should_stop(self) -> bool:
        """Whether a hook asked to stop."""
        return self._should_stop

    def close(self) -> None:
        """Closes the session."""
        self._session.close()


def _checked(request: object, hook: SessionRunHook) -> SessionRunArgs | None:
    if request is not None and not isinstance(request, SessionRunArgs):
        raise DTypeError(
            f"before_run of {type(hook).__name__} returns a tf.train.SessionRunArgs, or None; got {shown(request)}."
        )
    return request


def _all_feeds(from_hooks: Sequence[Any], from_program: object) -> Any:
    """One feed of all; that of the program as it is if no hook feeds anything."""
    if not from_hooks:
        return from_program
    merged: dict[Any, Any] = {}
    for feed in map(as_mapping, from_hooks):
        _check_apart(merged, feed, "Same tensor is fed by two hooks.")
        merged.update(feed)
    feed = as_mapping(from_program)
    _check_apart(feed, merged, "Same tensor is fed by a SessionRunHook and user.")
    return {**merged, **feed}


def _check_apart(one: Mapping[Any, Any], other: Mapping[Any, Any], what: str) -> None:
    both = [tensor for tensor in one if tensor in other]
    if both:
        raise StateError(f"{what} Conflict(s): {both}")


def _all_options(from_hooks: Sequence[RunOptions], from_program: object) -> Any:
    """Options that contain what each asks for: the most of traces and of time, all that is to be put out."""
    if not from_hooks:
        return from_program
    merged = RunOptions()
    if from_program is not None:
        merged.CopyFrom(from_program)
    for options in from_hooks:
        merged.trace_level = max(merged.trace_level, options.trace_level)
        merged.timeout_in_ms = max(merged.timeout_in_ms, options.timeout_in_ms)
        merged.inter_op_thread_pool = max(merged.inter_op_thread_pool, options.inter_op_thread_pool)
        merged.output_partition_graphs = merged.output_partition_graphs or options.output_partition_graphs
        merged.report_tensor_allocations_upon_oom = (
            merged.report_tensor_allocations_upon_oom or options.report_tensor_allocations_upon_oom
        )
    return merged


class CoordinatedSession:
    """A session with threads: they stop with it, and what they raise is heard."""

    def __init__(self, session: HookedSession, coord: Coordinator, stop_grace_period_secs: float) -> None:
        self._session = session
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Runs; if a thread was stopped by a failure elsewhere, that is the error, as the run's comes from it."""
        try:
            return self._session.run(*args, **kwargs)
        except PREEMPTION:
            raise
        except Exception:
            if isinstance(self._coord.requested_exception, PREEMPTION):
                raise self._coord.requested_exception from None
            raise  # what other threads raised is told when the session is closed

    def should_stop(self) -> bool:
        """Whether a hook or a thread asked to stop; raises what a thread raised."""
        self._coord.raise_requested_exception()
        return self._coord.should_stop() or self._session.should_stop()

    def close(self) -> None:
        """Stops the threads and closes the session; raises what a thread raised."""
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True)
        finally:
            self._session.close()


class RecoverableSession:
    """A session that is made again when a failure elsewhere stopped it.

    Args:
        make: Makes a session that is ready: with the values of the last checkpoint, if there is one.
    """

    def __init__(self, make: Callable[[], CoordinatedSession]) -> None:
        self._make = make
        self._session: CoordinatedSession | None = self._made()

    def _made(self) -> CoordinatedSession:
        while True:
            try:
                return self._make()
            except PREEMPTION as error:
                _logger.info("A session could not be made, and this is tried again: %s", error)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Runs, in new sessions until it works or fails for a reason of its own."""
        return self.run_in(lambda session: session.run(*args, **kwargs))

    def run_in(self, step: Callable[[CoordinatedSession], Any]) -> Any:
        """Calls a function of the session, with new sessions until it works or fails for a reason of its own."""
        while True:
            try:
                if self._session is None:
                    self._session = self._made()
                return step(self._session)
            except PREEMPTION as error:
                self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        _logger.info(
            "A run was stopped by a failure elsewhere. The session is closed, and a new one goes on from the last "
            "checkpoint, if there is one: %s",
            error,
        )
        self.close()

    def should_stop(self) -> bool:
        """Whether a hook or a thread asked to stop; not if a failure elsewhere was the reason."""
        if self._session is None:
            return True
        try:
            return self._session.should_stop()
        except PREEMPTION as error:
            self._give_up(error)
            self._session = self._made()
            return False

    def close(self) -> None:
        """Closes the session."""
        session, self._session = self._session, None
        if session is None:
            return
        try:
            session.close()
        except PREEMPTION as error:
            _logger.info("Closing a session met the failure elsewhere as well: %s", error)
