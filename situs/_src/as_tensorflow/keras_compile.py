"""Keras' ``compile(jit_compile="auto")``, which is its default: nothing said, rather than True where there is a GPU.

A model of which nothing is said runs as other programs do: it is compiled where ``tf.config.optimizer.set_jit`` or the
environment asks for that, and never fails for want of a compiler. ``compile(jit_compile=True)`` is what it says.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
from collections.abc import Sequence
from types import ModuleType

TRAINER = "keras.src.trainers.trainer"  # the module of Keras' that decides


def trainer_spec(path: Sequence[str] | None) -> importlib.machinery.ModuleSpec | None:
    """How to load Keras' trainer; None to leave that to Python, where it is not a file of source code."""
    found = importlib.machinery.PathFinder.find_spec(TRAINER, path)
    if found is None or found.origin is None or type(found.loader) is not importlib.machinery.SourceFileLoader:
        return None
    return importlib.util.spec_from_file_location(TRAINER, found.origin, loader=_Loader(TRAINER, found.origin))


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads Keras' trainer, and lets "auto" say nothing."""

    def exec_module(self, module: ModuleType) -> None:
        """Runs the module's code."""
        super().exec_module(module)
        module.Trainer._resolve_auto_jit_compile = _unsaid


def _unsaid(trainer: object) -> None:
    """What "auto" is: neither True nor False."""
