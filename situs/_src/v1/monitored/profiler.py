"""``ProfilerHook``: traces of single steps, for a browser (``chrome://tracing``, Perfetto).

run/timeline-100.json, run/timeline-200.json, ...
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from situs._src.base.export import export
from situs._src.base.proto.config import RunOptions
from situs._src.base.typing import PathLike
from situs._src.files.paths import as_text, translated, without_scheme
from situs._src.runtime.session.timeline import Timeline
from situs._src.v1.monitored.events import event_writer
from situs._src.v1.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from situs._src.v1.monitored.steps import SecondOrStepTimer, StepReader

_logger = logging.getLogger("situs")


@export(v1="train.ProfilerHook")
class ProfilerHook(SessionRunHook):
    """Traces a step every so many steps or seconds, and writes what it saw.

    Args:
        save_steps: Steps between two traces.
        save_secs: Seconds between two, instead.
        output_dir: The folder.
        show_dataflow: Whether arrows show which op uses the tensors of which.
        show_memory: Whether tensors and allocators are shown.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: PathLike = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._output_dir = as_text(output_dir)
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._show_dataflow = show_dataflow
        self._show_memory = show_memory

    def begin(self) -> None:
        """Finds the global step, and opens the event file."""
        self._steps = StepReader("ProfilerHook")
        self._next_step: int | None = None
        self._file_writer = event_writer(self._output_dir or ".")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for a trace if it is time: not in the first run, which is unlike the others."""
        self._is_time = self._next_step is not None and self._timer.should_trigger_for_step(self._next_step)
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._is_time else None
        return SessionRunArgs({"global_step": self._steps.tensor}, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes the trace."""
        fetched = run_values.results["global_step"]
        if self._is_time:
            step = self._steps.read(run_context.session, fetched)
            self._timer.update_last_triggered_step(step)
            self._save(step, run_values.run_metadata)
        elif self._next_step is None:
            step = self._steps.read(run_context.session, fetched)
            self._timer.update_last_triggered_step(step - 1)
        else:
            step = self._steps.estimate(fetched)
        self._next_step = step + 1

    def _save(self, step: int, run_metadata: Any) -> None:
        path = os.path.join(self._output_dir, f"timeline-{step}.json")  # noqa: PTH118 - as it was written
        _logger.info("Saving timeline for %d into '%s'.", step, path)
        timeline = Timeline(run_metadata.step_stats)
        text = timeline.generate_chrome_trace_format(self._show_dataflow, self._show_memory)
        with translated(path):
            Path(without_scheme(path)).write_text(text)
        self._file_writer.add_run_metadata(run_metadata, f"step_{step}")
