"""Runs with a time limit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from situs._src.base.errors import CancelledError, DeadlineExceededError
from situs._src.runtime.run.state import Run
from situs._src.runtime.run.thread_exit import wait_at_exit


def within(limit_ms: int, run: Run, work: Callable[[], Any]) -> Any:
    """Does some work on another thread, with a time limit.

    Raises:
        DeadlineExceededError: the time limit passed. The work is cancelled; a call in progress runs to its end.
    """
    outcome: list[tuple[Any, BaseException | None]] = []

    def attempt() -> None:
        try:
            outcome.append((work(), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=attempt, name="situs-timed-run", daemon=True)
    wait_at_exit(thread)
    thread.start()
    try:
        thread.join(min(limit_ms / 1000, threading.TIMEOUT_MAX))
    except BaseException:  # KeyboardInterrupt: what has not begun must not start any more
        run.stop(CancelledError("The run was interrupted."))
        raise
    if not outcome:
        late = DeadlineExceededError(
            f"Timed out waiting for notification: the run took longer than the {limit_ms} ms it was given."
        )
        run.stop(late)
        raise late
    made, error = outcome[0]
    if error is not None:
        raise error
    return made
