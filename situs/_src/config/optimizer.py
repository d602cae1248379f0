"""``tf.config.optimizer``: whether graphs are compiled after some runs; the runtime is loaded only when it is used."""

from __future__ import annotations

from situs._src.base.export import export

_CLUSTERING = "autoclustering"


@export("config.optimizer.set_jit", as_is=True)
def set_jit(enabled: bool | str) -> None:
    """Lets graphs be compiled into fused kernels when they have run ten times.

    It holds for functions and sessions that run for the first time after it. ``tf.function(jit_compile=True)`` compiles
    one function, at once.

    Args:
        enabled: ``True`` or ``"autoclustering"``; anything else switches it off, as in TensorFlow.
    """
    from situs._src.runtime.run import compiled  # here, because it loads PyTorch

    compiled.switch.on = enabled is True or enabled == _CLUSTERING


@export("config.optimizer.get_jit", as_is=True)
def get_jit() -> str:
    """Returns ``"autoclustering"`` if graphs are compiled when they have run, and an empty text if not."""
    from situs._src.runtime.run import compiled

    return _CLUSTERING if compiled.switch.on else ""
