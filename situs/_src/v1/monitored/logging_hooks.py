"""Hooks that log: values of tensors, NaN losses, steps per second.

INFO:situs:loss = 0.25, step = 100 (0.731 sec)
INFO:situs:global_step/sec: 136.8
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from situs._src.base.errors import ArgumentError, DTypeError, FailedPreconditionError, shown
from situs._src.base.export import export
from situs._src.base.tree import listed
from situs._src.base.typing import IntLike, PathLike, SessionLike
from situs._src.ir.graph.context import as_graph_element
from situs._src.ops.attribute import as_int
from situs._src.v1.monitored.events import event_writer, scalar
from situs._src.v1.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from situs._src.v1.monitored.steps import NeverTriggerTimer, SecondOrStepTimer, SessionTimer, StepReader

_logger = logging.getLogger("situs")


@export(v1="train.LoggingTensorHook")
class LoggingTensorHook(SessionRunHook):
    """Logs the values of tensors.

    Args:
        tensors: The tensors, or their names: a list, one name, or a dictionary of the words to log them under.
        every_n_iter: Runs between two logs.
        every_n_secs: Seconds between two logs, instead.
        at_end: Whether to log at the end of the loop too, or only there.
        formatter: A function from the dictionary of values to the text.

    Raises:
        ValueError: it is not said when to log, or twice.
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[Any, Any]], str] | None = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ArgumentError("either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is not None and as_int(every_n_iter, "every_n_iter") <= 0:
            raise ArgumentError(f"invalid every_n_iter={every_n_iter}.")
        if isinstance(tensors, Mapping):
            self._tags, self._tensors = sorted(tensors, key=str), dict(tensors)
        else:
            self._tags = [tensors] if isinstance(tensors, str) else listed(tensors, "tensors to log")
            self._tensors = _by_themselves(self._tags)
        self._formatter = formatter
        self._at_end = at_end
        self._timer: SessionTimer = (
            NeverTriggerTimer() if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)
        )

    def begin(self) -> None:
        """Finds the tensors."""
        self._timer.reset()
        self._runs = 0
        self._fetches = {tag: as_graph_element(tensor) for tag, tensor in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Asks for the values if it is time."""
        self._is_time = self._timer.should_trigger_for_step(self._runs)
        return SessionRunArgs(self._fetches) if self._is_time else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs if it is time."""
        if self._is_time:
            self._log(run_values.results)
        self._runs += 1

    def end(self, session: SessionLike) -> None:
        """Logs if it is wished for at the end."""
        if self._at_end:
            self._log(session.run(self._fetches))

    def _log(self, values: dict[Any, Any]) -> None:
        seconds, _ = self._timer.update_last_triggered_step(self._runs)
        with np.printoptions(suppress=True):
            if self._formatter is not None:
                _logger.info("%s", self._formatter(values))
                return
            text = ", ".join(f"{tag} = {values[tag]}" for tag in self._tags)
        _logger.info("%s", text if seconds is None else f"{text} ({seconds:.3f} sec)")


def _by_themselves(tensors: list[Any]) -> dict[Any, Any]:
    try:
        return {tensor: tensor for tensor in tensors}
    except TypeError:  # lists of tensors, for instance
        raise DTypeError(f"LoggingTensorHook takes tensors of a graph or their names, got {shown(tensors)}.") from None


@export(v1="train.NanLossDuringTrainingError")
class NanLossDuringTrainingError(FailedPreconditionError):
    """The loss is not a number."""

    def __init__(self, message: str = "NaN loss during training.") -> None:
        super().__init__(message)


@export(v1="train.NanTensorHook")
class NanTensorHook(SessionRunHook):
    """Ends the loop when a loss is not a number.

    Args:
        loss_tensor: The loss, a scalar.
        fail_on_nan_loss: Whether to raise `NanLossDuringTrainingError`; else the loop ends well.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss_tensor = loss_tensor
        self._fail_on_nan_loss = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the loss."""
        return SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Looks at it."""
        if not _has_nan(run_values.results):
            return
        if self._fail_on_nan_loss:
            _logger.error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        _logger.warning("Model diverged with loss = NaN.")
        run_context.request_stop()


def _has_nan(loss: Any) -> bool:
    try:
        return bool(np.isnan(loss).any())
    except TypeError:
        raise DTypeError(f"NanTensorHook looks at a tensor of numbers, whose value was {shown(loss)}.") from None


@export(v1="train.StepCounterHook")
class StepCounterHook(SessionRunHook):
    """Logs how many steps are made in a second, and writes it as a summary.

    Args:
        every_n_steps: Steps between two logs.
        every_n_secs: Seconds between two logs, instead.
        output_dir: The folder for the summaries; they are not written if there is neither this nor `summary_writer`.
        summary_writer: What writes them.

    Raises:
        ValueError: not exactly one of `every_n_steps` and `every_n_secs` is given.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: PathLike | None = None,
        summary_writer: Any = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ArgumentError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._summary_writer = summary_writer
        self._output_dir = output_dir
        self._last_step: Any = None
        self._warnings_left = 5

    def begin(self) -> None:
        """Finds the global step, and opens the event file."""
        self._steps = StepReader("StepCounterHook")
        self._summary_tag = f"{self._steps.tensor.op.name}/sec"
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = event_writer(self._output_dir)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the global step."""
        return SessionRunArgs(self._steps.tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs if it is time; warns if the global step stands still."""
        fetched = run_values.results
        if self._timer.should_trigger_for_step(fetched + 1):
            step = self._steps.read(run_context.session)
            if self._timer.should_trigger_for_step(step):
                seconds, steps = self._timer.update_last_triggered_step(step)
                if seconds is not None and steps is not None:
                    self._log_and_record(steps, seconds, step)
        if fetched == self._last_step and self._warnings_left:
            self._warn(fetched)
        self._last_step = fetched

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        speed = elapsed_steps / max(elapsed_time, 1e-9)
        if self._summary_writer is not None:
            self._summary_writer.add_summary(scalar(self._summary_tag, speed), global_step)
        _logger.info("%s: %g", self._summary_tag, speed)

    def _warn(self, step: IntLike) -> None:
        self._warnings_left -= 1
        _logger.warning(
            "It seems that global step (tf.train.get_global_step) has not been increased. Current value (could be "
            "stable): %s vs previous value: %s. You could increase the global step by passing "
            "tf.train.get_global_step() to Optimizer.apply_gradients or Optimizer.minimize.",
            step,
            self._last_step,
        )
