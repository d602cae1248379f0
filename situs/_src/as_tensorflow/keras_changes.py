"""Changes made to Keras at run time, when one of its modules is imported with Situs beneath.

    keras.src.trainers.trainer              ``compile(jit_compile="auto")`` says nothing               here
    keras.src.metrics.metric                metrics have `reset_states`, their name before Keras 3     here
    keras.src.optimizers.loss_scale_optimizer    replicas agree whether their gradients are finite     here
    keras.src.backend.tensorflow.rnn        an LSTM or GRU is one op, on the CPU too      fused_recurrent.py
    keras.src.layers.rnn.gru                a GRU says when that cannot be                fused_recurrent.py
    keras.src.callbacks.callback_list       logs of a batch are read where a callback looks at them    lazy_logs.py
    keras.src.callbacks.model_checkpoint    the chief writes                                           chief_only.py
    keras.src.callbacks.backup_and_restore  the same                                                   chief_only.py

This does not depend on whether the program imports them (``import keras``) or ``tf.keras``. Decision 28 says what may
be changed, and why.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
from collections.abc import Callable, Sequence
from functools import wraps
from types import ModuleType
from typing import Any

from situs._src.as_tensorflow.chief_only import let_chief_back_up, let_chief_save
from situs._src.as_tensorflow.fused_recurrent import have_recurrent_ops, keep_zero_outputs
from situs._src.as_tensorflow.lazy_logs import read_where_wanted
from situs._src.base.dtype import int32
from situs._src.distribute.context import get_replica_context
from situs._src.distribute.reduction import ReduceOp
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal

Change = Callable[[ModuleType], None]


def _compile_where_asked(trainer: ModuleType) -> None:
    """Lets ``jit_compile="auto"``, the default, say nothing, rather than True where there is a GPU.

    A model of which nothing is said runs as other programs do: it is compiled where ``tf.config.optimizer.set_jit`` or
    the environment asks for that, and never fails for lack of a compiler. ``jit_compile=True`` is what it says.
    """
    trainer.Trainer._resolve_auto_jit_compile = _unsaid


def _unsaid(trainer: object) -> None:
    """What "auto" is: neither True nor False."""


def _keep_older_name(metric: ModuleType) -> None:
    """Gives metrics the method that TensorFlow's guides call."""
    metric.Metric.reset_states = metric.Metric.reset_state


def _agree_on_finite(module: ModuleType) -> None:
    """Lets replicas skip a step together: where the gradients of any of them overflow, as their sum does.

    Each looks at its own gradients, before they are reduced; Keras asks the first replica of each process.
    """
    optimizer = module.LossScaleOptimizer
    are_finite = optimizer.check_finite

    @wraps(are_finite)
    def check_finite(self: Any, grads: Sequence[Any]) -> Any:
        finite = are_finite(self, grads)
        replica = get_replica_context()
        if replica is None or not replica.strategy.extended.exchanges:
            return finite
        return equal(replica.all_reduce(ReduceOp.SUM, cast(finite, int32)), replica.num_replicas_in_sync)

    optimizer.check_finite = check_finite


CHANGES: dict[str, Change] = {
    "keras.src.trainers.trainer": _compile_where_asked,
    "keras.src.metrics.metric": _keep_older_name,
    "keras.src.optimizers.loss_scale_optimizer": _agree_on_finite,
    "keras.src.backend.tensorflow.rnn": have_recurrent_ops,
    "keras.src.layers.rnn.gru": keep_zero_outputs,
    "keras.src.callbacks.callback_list": read_where_wanted,
    "keras.src.callbacks.model_checkpoint": let_chief_save,
    "keras.src.callbacks.backup_and_restore": let_chief_back_up,
}


def changed_spec(name: str, path: Sequence[str] | None) -> importlib.machinery.ModuleSpec | None:
    """How to load a module of Keras; None to leave that to Python, where it is not a file of source code."""
    found = importlib.machinery.PathFinder.find_spec(name, path)
    if found is None or found.origin is None or type(found.loader) is not importlib.machinery.SourceFileLoader:
        return None
    return importlib.util.spec_from_file_location(name, found.origin, loader=_Loader(name, found.origin))


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module of Keras, and changes it."""

    def exec_module(self, module: ModuleType) -> None:
        """Runs the module's code."""
        super().exec_module(module)
        CHANGES[module.__name__](module)
