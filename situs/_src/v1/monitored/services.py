"""The threads of a ``Supervisor``: each does one thing periodically, until the supervisor stops."""

from __future__ import annotations

import logging
import time
from typing import Any

from situs._src.v1.monitored.events import checkpoint_saved, scalar
from situs._src.v1.queues.coordinator import LooperThread

_logger = logging.getLogger("situs")


class SummaryThread(LooperThread):
    """Computes all summaries and writes them."""

    def __init__(self, sv: Any, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self) -> None:
        """Writes the summaries of now."""
        wanted = {"summary": self._sv.summary_op}
        if self._sv.global_step is not None:
            wanted["step"] = self._sv.global_step
        found = self._sess.run(wanted)
        step = None if "step" not in found else int(found["step"])
        if step is not None:
            _logger.info("Recording summary at step %d.", step)
        self._sv.summary_writer.add_summary(found["summary"], step)


class StepCounterThread(LooperThread):
    """Logs how many steps are made in a second, and writes it as a summary."""

    def __init__(self, sv: Any, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess
        self._tag = f"{sv.global_step.op.name}/sec"

    def start_loop(self) -> None:
        """Counts from here."""
        self._last_time = time.monotonic()
        self._last_step = int(self._sess.run(self._sv.global_step))

    def run_loop(self) -> None:
        """Logs what was done since the last time."""
        step, now = int(self._sess.run(self._sv.global_step)), time.monotonic()
        speed = (step - self._last_step) / max(now - self._last_time, 1e-9)
        self._last_step, self._last_time = step, now
        _logger.info("%s: %g", self._tag, speed)
        self._sv.summary_writer.add_summary(scalar(self._tag, speed), step)


class TimerCheckpointThread(LooperThread):
    """Saves checkpoints."""

    def __init__(self, sv: Any, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_model_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self) -> None:
        """Saves one."""
        sv = self._sv
        _logger.info("Saving checkpoint to path %s", sv.save_path)
        sv.saver.save(self._sess, sv.save_path, global_step=sv.global_step)
        if sv.summary_writer is not None and sv.global_step is not None:
            sv.summary_writer.add_session_log(checkpoint_saved(sv.save_path), int(self._sess.run(sv.global_step)))
