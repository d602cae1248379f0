"""``CheckpointSaverHook``: saves checkpoints during a loop, the first before it and the last after it.

    run/model.ckpt-0, run/model.ckpt-100, ...    run/checkpoint    run/graph.pbtxt    run/events.out.tfevents...

Listeners are called before and after each of them, and may end the loop.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any

from situs._src.base.errors import ArgumentError, InvalidArgumentError, StateError
from situs._src.base.export import export
from situs._src.base.typing import PathLike, SessionLike
from situs._src.files.graph_file import write_graph
from situs._src.files.paths import as_text
from situs._src.ir.graph.graph import Graph
from situs._src.ops.attribute import as_word
from situs._src.summaries.file_writer import graph_message
from situs._src.v1.monitored.events import checkpoint_saved, event_writer
from situs._src.v1.monitored.hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    objects_with,
)
from situs._src.v1.monitored.scaffold import Scaffold, as_saver, as_scaffold, saver_of_graph
from situs._src.v1.monitored.steps import SecondOrStepTimer, StepReader
from situs._src.v1.queues.coordinator import Coordinator
from situs._src.variables.collections import GraphKeys

_logger = logging.getLogger("situs")
_METHODS = ("begin", "before_save", "after_save", "end")


@export(v1="train.CheckpointSaverListener")
class CheckpointSaverListener:
    """Something called around the saving of checkpoints; to be subclassed. All methods do nothing."""

    def begin(self) -> None:
        """Called once, before the session is made."""

    def before_save(self, session: SessionLike, global_step_value: int) -> None:
        """Called before a checkpoint is saved."""

    def after_save(self, session: SessionLike, global_step_value: int) -> bool | None:
        """Called after a checkpoint was saved; returning True ends the loop."""
        return None

    def end(self, session: SessionLike, global_step_value: int) -> None:
        """Called once, after the last checkpoint."""


@export(v1="train.CheckpointSaverHook")
class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint at the start, every so many steps or seconds, and at the end.

    Args:
        checkpoint_dir: The folder.
        save_secs: Seconds between two.
        save_steps: Steps between two, instead.
        saver: What saves; by default that of the scaffold, or the one that the graph has collected.
        checkpoint_basename: How the names of its files begin.
        scaffold: The scaffold of the session.
        listeners: Who is told before and after.
        save_graph_def: Whether to write the graph into ``graph.pbtxt``.

    Raises:
        ValueError: not exactly one of `save_secs` and `save_steps` is given, or both `saver` and `scaffold` are.
    """

    def __init__(
        self,
        checkpoint_dir: PathLike,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Scaffold | None = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
        save_graph_def: bool = True,
    ) -> None:
        _logger.info("Create CheckpointSaverHook.")
        if saver is not None and scaffold is not None:
            raise ArgumentError("You cannot provide both saver and scaffold.")
        self._saver = as_saver(saver)
        self._scaffold = as_scaffold(scaffold)
        self._checkpoint_dir = as_text(checkpoint_dir)
        basename = as_word(checkpoint_basename, "checkpoint_basename")
        self._save_path = os.path.join(self._checkpoint_dir, basename)  # noqa: PTH118 - as it was written
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners: list[CheckpointSaverListener] = objects_with(
            _METHODS, listeners, "listeners", "tf.train.CheckpointSaverListener"
        )
        self._save_graph_def = save_graph_def

    def begin(self) -> None:
        """Opens the event file and finds the global step."""
        self._steps = StepReader("CheckpointSaverHook")
        self._summary_writer = event_writer(self._checkpoint_dir)
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: SessionLike, coord: Coordinator | None) -> None:
        """Writes the graph, and the first checkpoint: what the loop starts from."""
        step = self._steps.read(session)
        self._write_graph(session.graph)
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def _write_graph(self, graph: Graph) -> None:
        """Writes the graph; with Python objects in it, such as datasets, it is to look at, and not for checkpoints."""
        try:
            message = graph.as_graph_def(add_shapes=True)
            self._write_meta_graph = self._save_graph_def
        except InvalidArgumentError as error:
            message = graph_message(graph)
            self._write_meta_graph = False
            _logger.info("Checkpoints are saved without the graph: %s", error)
        if self._save_graph_def:
            write_graph(message, self._checkpoint_dir, "graph.pbtxt")
        self._summary_writer.add_graph(graph_def=message)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the global step."""
        return SessionRunArgs(self._steps.tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Saves if it is time."""
        if not self._timer.should_trigger_for_step(run_values.results + 1):
            return
        step = self._steps.read(run_context.session)
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: SessionLike) -> None:
        """Saves the last checkpoint, if there was a step since."""
        step = self._steps.read(session)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: SessionLike, step: int) -> bool:
        """Saves a checkpoint; returns whether a listener wants the loop to end."""
        _logger.info("Calling checkpoint listeners before saving checkpoint %d...", step)
        for listener in self._listeners:
            listener.before_save(session, step)
        _logger.info("Saving checkpoints for %d into %s.", step, self._save_path)
        self._find_saver().save(session, self._save_path, global_step=step, write_meta_graph=self._write_meta_graph)
        self._summary_writer.add_session_log(checkpoint_saved(self._save_path), step)
        _logger.info("Calling checkpoint listeners after saving checkpoint %d...", step)
        return self._asked_to_stop(session, step)

    def _asked_to_stop(self, session: SessionLike, step: int) -> bool:
        wishes = [(listener, listener.after_save(session, step)) for listener in self._listeners]
        stopping = [listener for listener, wish in wishes if wish]
        for listener in stopping:
            _logger.info("A CheckpointSaverListener requested that training be stopped. listener: %s", listener)
        return bool(stopping)

    def _find_saver(self) -> Any:
        if self._saver is None:
            self._saver = saver_of_graph() if self._scaffold is None else self._scaffold.saver
        if self._saver is None:
            raise StateError(
                f"No items in collection {GraphKeys.SAVERS}. Please add a saver to the collection or provide a saver "
                "or scaffold."
            )
        return self._saver
