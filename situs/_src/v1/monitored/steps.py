"""Steps: the global step as hooks see it, and timers that trigger every given number of steps or seconds.

A hook fetches the global step along with a run that increments it. It gets the value before or after that, depending on
the order of the run's operations; so where the exact value matters, it is read again.

>>> timer = SecondOrStepTimer(every_steps=10)
>>> timer.should_trigger_for_step(3)       # the first time, always
True
>>> timer.update_last_triggered_step(3)
(None, None)
>>> [timer.should_trigger_for_step(step) for step in (3, 12, 13)]
[False, False, True]
"""

from __future__ import annotations

import time
from typing import Any

from situs._src.base.errors import ArgumentError, StateError, UnimplementedError
from situs._src.base.export import export
from situs._src.base.typing import SessionLike
from situs._src.ops.attribute import as_float, as_int
from situs._src.v1.optimizers.global_step import get_global_step


class StepReader:
    """Reads the global step of the default graph.

    Args:
        reader: Who reads it, for the message of the error.

    Raises:
        RuntimeError: the graph has no global step.
    """

    def __init__(self, reader: str) -> None:
        self.tensor = get_global_step()
        if self.tensor is None:
            raise StateError(
                f"Global step should be created to use {reader}. Call tf.train.get_or_create_global_step(), and pass "
                "it to the optimizer."
            )
        self._behind = 1

    def read(self, session: SessionLike, fetched: Any = None) -> int:
        """The global step now.

        Args:
            session: The session that holds it.
            fetched: What was fetched in the run before: teaches `estimate` how far behind such numbers are.
        """
        step = int(session.run(self.tensor))
        if fetched is not None:
            self._behind = step - int(fetched)
        return step

    def estimate(self, fetched: Any) -> int:
        """The global step after a run in which this number was fetched."""
        return int(fetched) + self._behind


class SessionTimer:
    """Says when it is time again; to be subclassed."""

    def __init__(self) -> None:
        self._last_triggered_step: int | None = None

    def reset(self) -> None:
        """Forgets everything: the next step triggers."""
        self._last_triggered_step = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether it is time, at this step."""
        raise UnimplementedError(f"{type(self).__name__} has no should_trigger_for_step(step).")

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Notes that something was done at this step; returns the seconds and steps since the time before."""
        raise UnimplementedError(f"{type(self).__name__} has no update_last_triggered_step(step).")

    def last_triggered_step(self) -> int | None:
        """The step noted last."""
        return self._last_triggered_step


@export(v1="train.SecondOrStepTimer")
class SecondOrStepTimer(SessionTimer):
    """Goes off at first, and then every so many seconds or every so many steps.

    Args:
        every_secs: Seconds between two times.
        every_steps: Steps between two times.

    Raises:
        ValueError: none of them is given, or both.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        super().__init__()
        if every_secs is None and every_steps is None:
            raise ArgumentError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ArgumentError("Can not provide both every_secs and every_steps.")
        self._every_secs = None if every_secs is None else as_float(every_secs, "every_secs")
        self._every_steps = None if every_steps is None else as_int(every_steps, "every_steps")
        self._last_time: float | None = None

    def reset(self) -> None:
        """Forgets everything: the next step triggers."""
        super().reset()
        self._last_time = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether it is time; never twice at one step."""
        if self._last_triggered_step is None or self._last_time is None:
            return True
        if self._last_triggered_step == step:
            return False
        if self._every_secs is not None:
            return time.monotonic() >= self._last_time + self._every_secs
        assert self._every_steps is not None
        return step >= self._last_triggered_step + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Notes that something was done at this step; returns the seconds and steps since the time before."""
        now, step = time.monotonic(), as_int(step, "step")
        before, last = self._last_time, self._last_triggered_step
        self._last_time, self._last_triggered_step = now, step
        if before is None or last is None:
            return None, None
        return now - before, step - last


class NeverTriggerTimer(SessionTimer):
    """Never goes off."""

    def should_trigger_for_step(self, step: int) -> bool:
        """False."""
        return False

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Nothing to tell."""
        return None, None
