"""Hooks that add to a run: `FeedFnHook` adds feeds to every run, `FinalOpsHook` runs something at the end."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from situs._src.base.errors import DTypeError, OutOfRangeError, shown
from situs._src.base.export import export
from situs._src.base.typing import SessionLike
from situs._src.v1.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunHook

_logger = logging.getLogger("situs")


@export(v1="train.FeedFnHook")
class FeedFnHook(SessionRunHook):
    """Feeds every run with what a function returns, a dictionary from tensors to values."""

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        if not callable(feed_fn):
            raise DTypeError(f"feed_fn is a function that returns a feed_dict, got {shown(feed_fn)}.")
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the feed."""
        return SessionRunArgs(None, self.feed_fn())


@export(v1="train.FinalOpsHook")
class FinalOpsHook(SessionRunHook):
    """Runs something at the end of the loop, and keeps the values.

    Args:
        final_ops: What to run; what ``Session.run`` takes.
        final_ops_feed_dict: What to feed to it.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final_ops = final_ops
        self._final_ops_feed_dict = final_ops_feed_dict
        self._final_ops_values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values, in the form of `final_ops`; None before the end."""
        return self._final_ops_values

    def end(self, session: SessionLike) -> None:
        """Runs it."""
        if self._final_ops is None:
            return
        try:
            self._final_ops_values = session.run(self._final_ops, self._final_ops_feed_dict)
        except (OutOfRangeError, StopIteration):
            _logger.warning("What FinalOpsHook runs needs input, which is at its end. Let it read variables only.")
            raise
