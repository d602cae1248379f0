"""Keras' callbacks that write files, under a strategy of several processes: the chief writes, all of them read.

    BackupAndRestore(folder)    the chief saves and clears up; when training begins, all wait for each other, then read
    ModelCheckpoint(path)       the chief saves

Keras would write in every process, to the same path. With one process nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


def let_chief_back_up(module: Any) -> None:
    """Changes `BackupAndRestore`, which the module has."""
    backup = module.BackupAndRestore
    backup._save_model = _by_chief(backup._save_model)
    backup.on_train_end = _by_chief(backup.on_train_end)
    backup.on_train_begin = _after_all(backup.on_train_begin)


def let_chief_save(module: Any) -> None:
    """Changes `ModelCheckpoint`, which the module has."""
    module.ModelCheckpoint._save_model = _by_chief(module.ModelCheckpoint._save_model)


def _by_chief(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(self, *args, **kwargs) if self.model.distribute_strategy.extended.should_checkpoint else None

    return call


def _after_all(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that reads what the chief may have been writing, or removing: it has come this far, too."""

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.model.distribute_strategy.extended.barrier()
        return method(self, *args, **kwargs)

    return call
