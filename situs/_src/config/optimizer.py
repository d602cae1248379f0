"""``tf.config.optimizer``: whether graphs are compiled after some runs; the runtime is loaded only when it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from situs._src.base.errors import DTypeError, shown
from situs._src.base.export import export

_CLUSTERING = "autoclustering"
# TensorFlow's options, in its order.
_SWITCHES = (
    "layout_optimizer",
    "constant_folding",
    "shape_optimization",
    "remapping",
    "arithmetic_optimization",
    "dependency_optimization",
    "loop_optimization",
    "function_optimization",
    "debug_stripper",
    "disable_model_pruning",
    "scoped_allocator_optimization",
    "pin_to_host_optimization",
    "implementation_selector",
    "auto_mixed_precision",
    "use_plugin_optimizers",
    "disable_meta_optimizer",
    "auto_mixed_precision_onednn_bfloat16",
    "auto_mixed_precision_mkl",
)
_options: dict[str, Any] = {"disable_model_pruning": False, "disable_meta_optimizer": False}


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


@export(
    "config.optimizer.set_experimental_options",
    as_is=True,
    differs="The options are kept and returned. Situs' passes are others, and do not depend on them.",
)
def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Sets options of TensorFlow's graph optimizer, for programs that do: Situs' passes do not depend on them.

    Args:
        options: Values by name, such as ``{"constant_folding": False}``; other options stay as they are.

    Raises:
        TypeError: it is no dictionary.
    """
    if not isinstance(options, Mapping):
        raise DTypeError(f"`options` is a dictionary of options by name, got {shown(options)}.")
    _options.update({name: bool(options[name]) for name in _SWITCHES if name in options})
    if options.get("min_graph_nodes"):
        _options["min_graph_nodes"] = int(options["min_graph_nodes"])


@export("config.optimizer.get_experimental_options", as_is=True)
def get_experimental_options() -> dict[str, Any]:
    """Returns the options that have been set."""
    return {name: _options[name] for name in (*_SWITCHES, "min_graph_nodes") if name in _options}
