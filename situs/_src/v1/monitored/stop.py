"""Hooks for the end and start of a loop: `StopAtStepHook` ends it, `GlobalStepWaiterHook` delays its start."""

from __future__ import annotations

import logging
import time

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.typing import SessionLike
from situs._src.ops.attribute import as_int
from situs._src.v1.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from situs._src.v1.monitored.steps import StepReader
from situs._src.v1.queues.coordinator import Coordinator

_logger = logging.getLogger("situs")
_WAIT = 0.5  # seconds


@export(v1="train.StopAtStepHook")
class StopAtStepHook(SessionRunHook):
    """Asks to stop at a step.

    Args:
        num_steps: After how many steps; with a restored session, after so many more.
        last_step: At which global step, instead.

    Raises:
        ValueError: none of them is given, or both.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ArgumentError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ArgumentError("Only one of num_steps or last_step can be specified.")
        self._num_steps = None if num_steps is None else as_int(num_steps, "num_steps")
        self._last_step = None if last_step is None else as_int(last_step, "last_step")

    def begin(self) -> None:
        """Finds the global step."""
        self._steps = StepReader("StopAtStepHook")

    def after_create_session(self, session: SessionLike, coord: Coordinator | None) -> None:
        """Counts from here, if it is the first session."""
        if self._last_step is None:
            assert self._num_steps is not None
            self._last_step = self._steps.read(session) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the global step."""
        return SessionRunArgs(self._steps.tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Stops if the step is reached."""
        assert self._last_step is not None
        if run_values.results + 1 >= self._last_step and self._steps.read(run_context.session) >= self._last_step:
            run_context.request_stop()


@export(v1="train.GlobalStepWaiterHook")
class GlobalStepWaiterHook(SessionRunHook):
    """Lets the first run wait until other threads have brought the global step to a number."""

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = as_int(wait_until_step, "wait_until_step")

    def begin(self) -> None:
        """Finds the global step."""
        self._started = False
        self._steps = StepReader("_GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> None:
        """Waits, the first time."""
        if not self._started and self._wait_until_step > 0:
            self._wait(run_context.session)
        self._started = True

    def _wait(self, session: SessionLike) -> None:
        _logger.info("Waiting for global step %d before starting training.", self._wait_until_step)
        logged = 0
        while (step := self._steps.read(session)) < self._wait_until_step:
            if step - logged > 1000:
                logged = step
                _logger.info(
                    "Waiting for global step %d before starting training. Current step is %d.",
                    self._wait_until_step,
                    step,
                )
            time.sleep(_WAIT)
