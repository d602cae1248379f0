"""``SessionRunHook``: code that is called around every run of a monitored session.

begin()                            the graph may still grow
after_create_session(sess, coord)  it is final, variables have values; again after every recovery
before_run(context)                additional fetches, feeds and options, as a SessionRunArgs
after_run(context, values)         the results; context.request_stop() ends the loop
end(sess)                          the loop ended well: not called after an exception
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from situs._src.base.errors import DTypeError, shown
from situs._src.base.export import export
from situs._src.base.tree import listed
from situs._src.base.typing import SessionLike
from situs._src.v1.queues.coordinator import Coordinator


@export(v1="train.SessionRunArgs")
class SessionRunArgs(NamedTuple):
    """What is asked of a run: by the program, or by a hook in addition to that.

    Example:
        >>> SessionRunArgs(["loss:0"])
        SessionRunArgs(fetches=['loss:0'], feed_dict=None, options=None)
    """

    fetches: Any
    feed_dict: Any = None
    options: Any = None


@export(v1="train.SessionRunValues")
class SessionRunValues(NamedTuple):
    """What a run gave a hook: the values of what it fetched, the options of the run, and what was traced of it."""

    results: Any
    options: Any
    run_metadata: Any


@export(v1="train.SessionRunContext")
class SessionRunContext:
    """What a hook may know about a run, and its way to end the loop."""

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """What the program asked for."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session itself: what is run in it is not seen by hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook asked to stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Lets ``should_stop()`` of the monitored session be true from now on."""
        self._stop_requested = True


@export(
    v1="train.SessionRunHook",
    differs="The global step that a hook sees is the one after the increment; in TensorFlow it is often the one "
    "before.",
)
class SessionRunHook:
    """Something called around the runs of a monitored session; to be subclassed. All methods do nothing."""

    def begin(self) -> None:
        """Called once, before the session is made: the last chance to add to the graph."""

    def after_create_session(self, session: SessionLike, coord: Coordinator | None) -> None:
        """Called when a session has been made: at the start, and after every recovery."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before a run; returns what to fetch and feed in addition, or None."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after a run that did not fail, with the values of what `before_run` asked for."""

    def end(self, session: SessionLike) -> None:
        """Called once, when the session is about to be closed and no exception was raised."""


def objects_with(methods: Sequence[str], values: Any, what: str, example: str) -> list[Any]:
    """A list that a program gave of objects with some methods; None stands for an empty one.

    Raises:
        DTypeError: one of them lacks a method, or is a class.
    """
    given = [] if values is None else listed(values, what)
    for value in given:
        if isinstance(value, type) or not all(callable(getattr(value, method, None)) for method in methods):
            raise DTypeError(f"{what.capitalize()} are objects of classes such as {example}, got {shown(value)}.")
    return given
