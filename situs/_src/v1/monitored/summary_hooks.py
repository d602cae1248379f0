"""``SummarySaverHook``: writes summaries periodically, for TensorBoard."""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.typing import PathLike, SessionLike
from situs._src.v1.monitored.events import event_writer, session_started
from situs._src.v1.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from situs._src.v1.monitored.scaffold import Scaffold, as_scaffold
from situs._src.v1.monitored.steps import SecondOrStepTimer, StepReader


@export(v1="train.SummarySaverHook")
class SummarySaverHook(SessionRunHook):
    """Computes summaries along with a run, and writes them: of the first step, and of every so many after it.

    Args:
        save_steps: Steps between two.
        save_secs: Seconds between two, instead.
        output_dir: The folder.
        summary_writer: What writes, instead of a writer of that folder.
        scaffold: The scaffold whose `summary_op` to run.
        summary_op: What to run, instead: a string tensor, or a list of them.

    Raises:
        ValueError: not exactly one of `save_steps` and `save_secs`, or of `scaffold` and `summary_op`, is given.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: PathLike | None = None,
        summary_writer: Any = None,
        scaffold: Scaffold | None = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ArgumentError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op = summary_op
        self._summary_writer = summary_writer
        self._output_dir = output_dir
        self._scaffold = as_scaffold(scaffold)
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        """Finds the global step, and opens the event file."""
        self._steps = StepReader("SummarySaverHook")
        self._next_step: int | None = None
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = event_writer(self._output_dir)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the summaries if it is time."""
        self._is_time = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        requests = {"global_step": self._steps.tensor}
        summaries = self._summaries() if self._is_time else []
        if summaries:
            requests["summary"] = summaries
        return SessionRunArgs(requests)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes them."""
        if self._summary_writer is None:
            return
        fetched = run_values.results["global_step"]
        if not self._is_time:
            self._next_step = self._steps.estimate(fetched) + 1
            return
        step = self._steps.read(run_context.session, fetched)
        if self._next_step is None:
            self._summary_writer.add_session_log(session_started(), step)
        self._timer.update_last_triggered_step(step)
        for summary in run_values.results.get("summary", ()):
            self._summary_writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: SessionLike) -> None:
        """Writes what is still in memory."""
        if self._summary_writer is not None:
            self._summary_writer.flush()

    def _summaries(self) -> list[Any]:
        found = self._summary_op
        if found is None and self._scaffold is not None:
            found = self._scaffold.summary_op
        if found is None:
            return []
        return list(found) if isinstance(found, (list, tuple)) else [found]
