"""``tf.train.CheckpointManager``: the numbered checkpoints of a folder, of which the last few are kept.

    manager = tf.train.CheckpointManager(checkpoint, "run", max_to_keep=3)
    manager.restore_or_initialize()
    for batch in batches:
        ...
        manager.save()

A manager of the same folder in another process continues where the last one stopped: the file ``checkpoint`` lists the
checkpoints, and when they were saved.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.proto.meta_graph import CheckpointState
from situs._src.base.typing import SessionLike
from situs._src.checkpoints.cells import is_variable
from situs._src.checkpoints.checkpoint import Checkpoint
from situs._src.checkpoints.finding import checkpoint_exists, latest_checkpoint, remove_checkpoint
from situs._src.checkpoints.keeping import Keeper
from situs._src.checkpoints.layout import prefix_path
from situs._src.checkpoints.options import CheckpointOptions, as_options
from situs._src.checkpoints.saver import as_step
from situs._src.checkpoints.state import get_checkpoint_state, update_checkpoint_state
from situs._src.files.paths import as_text, translated, without_scheme
from situs._src.ops.attribute import as_bool, as_float, as_int


@export("train.CheckpointManager")
class CheckpointManager:
    """Saves a checkpoint again and again, and deletes old ones.

    Args:
        checkpoint: A ``tf.train.Checkpoint``.
        directory: The folder for its files, which is made if it is not there.
        max_to_keep: How many to keep, the latest ones; None for all.
        keep_checkpoint_every_n_hours: Keeps one for ever in so many hours.
        checkpoint_name: What the names of the files begin with.
        step_counter: A variable that counts steps.
        checkpoint_interval: How many steps have to pass between two checkpoints.
        init_fn: Called by `restore_or_initialize` if there is no checkpoint yet.

    Raises:
        ValueError: `max_to_keep` is no positive number, or an interval is given without a counter.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: Any,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
        last_checkpoint_step: int | None = None,
    ) -> None:
        if not isinstance(checkpoint, Checkpoint):
            raise DTypeError(f"A CheckpointManager manages a tf.train.Checkpoint, got {shown(checkpoint)}.")
        if max_to_keep is not None and as_int(max_to_keep, "max_to_keep") <= 0:
            raise ArgumentError(f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}.")
        if checkpoint_interval is not None and step_counter is None:
            raise ArgumentError("`step_counter` should be passed if `checkpoint_interval` is not None.")
        self._checkpoint = checkpoint
        self._directory = as_text(directory)
        self._prefix = os.path.join(self._directory, as_text(checkpoint_name))  # noqa: PTH118 - as it was written
        self._step_counter, self._init_fn = step_counter, init_fn
        self._interval = None if checkpoint_interval is None else as_int(checkpoint_interval, "checkpoint_interval")
        self._last_step = None if last_checkpoint_step is None else as_int(last_checkpoint_step, "last_checkpoint_step")
        every = keep_checkpoint_every_n_hours
        self._hours = math.inf if every is None else as_float(every, "keep_checkpoint_every_n_hours")
        self._keeper = self._recovered(max_to_keep)

    def _recovered(self, max_to_keep: int | None) -> Keeper:
        """What an earlier manager of this folder knew."""
        state = get_checkpoint_state(self._directory)
        preserved = None if state is None else state.last_preserved_timestamp or None
        keeper = Keeper(math.inf if max_to_keep is None else max_to_keep, self._hours, preserved)
        self._latest: str | None = None
        if state is not None:
            keeper.set(self._here(state))
            if checkpoint_exists(state.model_checkpoint_path):
                self._latest = state.model_checkpoint_path
        return keeper

    def _here(self, state: CheckpointState) -> list[tuple[str, float]]:
        """The checkpoints of this folder that a manager has saved, with their times.

        What is elsewhere, or was saved by a ``Checkpoint`` alone, which notes no times, is not this manager's to
        delete.
        """
        folder = _folder(self._directory)
        times = dict(zip(state.all_model_checkpoint_paths, state.all_model_checkpoint_timestamps, strict=False))
        paths = [path for path in state.all_model_checkpoint_paths if checkpoint_exists(path)]
        found = [path for path in paths if prefix_path(path).parent.resolve() == folder]
        return [(path, times[path]) for path in found if path in times]

    # What there is.

    @property
    def directory(self) -> str:
        """The folder."""
        return self._directory

    @property
    def checkpoint(self) -> Checkpoint:
        """What is saved."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        """How many steps have to pass between two checkpoints."""
        return self._interval

    @property
    def checkpoints(self) -> list[str]:
        """The checkpoints that are kept, oldest first."""
        return self._keeper.paths

    @property
    def latest_checkpoint(self) -> str | None:
        """The latest of them; None if there is none."""
        return self._keeper.paths[-1] if self._keeper.paths else self._latest

    # Saving and restoring.

    def save(
        self,
        checkpoint_number: Any = None,
        check_interval: bool = True,
        options: CheckpointOptions | None = None,
        session: SessionLike | None = None,
    ) -> str | None:
        """Saves the checkpoint under the next number, then deletes those that are too many.

        Args:
            checkpoint_number: A number to use in place of the count of saves: an integer, or a variable that holds one.
            check_interval: Whether to do nothing if too few steps have passed.
            options: How to write it.
            session: The session of graph variables; the default one if it is not given.

        Returns:
            Its path; None if nothing was saved.
        """
        step = None if self._interval is None else as_step(self._step_counter, session)
        if step is not None and as_bool(check_interval, "check_interval") and not self._is_due(step):
            return None
        number = None if checkpoint_number is None else as_step(checkpoint_number, session)
        path = self._checkpoint.write_numbered(self._prefix, number, session, as_options(options), self._note)
        self._last_step = step
        return path

    def _note(self, path: str) -> None:
        self._keeper.add(path)
        self._keeper.write_state(self._write_state, remove_checkpoint)

    def sync(self) -> None:
        """Waits for a checkpoint that is being written beside the program, and raises what its writing met."""
        self._checkpoint.sync()

    def _is_due(self, step: int) -> bool:
        assert self._interval is not None
        return self._last_step is None or step >= self._last_step + self._interval

    def _write_state(self, paths: list[str], times: list[float]) -> None:
        update_checkpoint_state(self._directory or ".", paths[-1], paths, None, times, self._keeper.last_preserved)

    def restore_or_initialize(self) -> str | None:
        """Restores the latest checkpoint that is complete; calls `init_fn` if there is none.

        Returns:
            Its path; None if there is none.
        """
        found = latest_checkpoint(self._directory)
        if found is None:
            if self._init_fn is not None:
                self._init_fn()
            return None
        self._checkpoint.restore(found)
        if is_variable(self._step_counter) and self._interval is not None:
            self._last_step = as_step(self._step_counter, None)
        return found


def _folder(directory: str) -> Path:
    path = Path(without_scheme(directory))
    with translated(path):
        return path.resolve()
