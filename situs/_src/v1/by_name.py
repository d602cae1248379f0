"""Activations and initializers by name, as layers and cells of TensorFlow 1 take them.

activation_of("relu")              ``tf.nn.relu``
initializer_of("glorot_uniform")   ``tf.glorot_uniform_initializer()``
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.ops import math
from situs._src.ops.nn import activation as nn
from situs._src.variables import initializers

_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "elu": nn.elu,
    "exponential": math.exp,
    "gelu": nn.gelu,
    "linear": lambda x: x,
    "relu": nn.relu,
    "relu6": nn.relu6,
    "selu": nn.selu,
    "sigmoid": math.sigmoid,
    "softmax": nn.softmax,
    "softplus": nn.softplus,
    "softsign": nn.softsign,
    "swish": nn.silu,
    "tanh": math.tanh,
}
_INITIALIZERS: dict[str, Callable[[], Any]] = {
    "glorot_normal": initializers.GlorotNormal,
    "glorot_uniform": initializers.GlorotUniform,
    "he_normal": initializers.he_normal,
    "he_uniform": initializers.he_uniform,
    "identity": initializers.Identity,
    "lecun_normal": initializers.lecun_normal,
    "lecun_uniform": initializers.lecun_uniform,
    "normal": initializers.RandomNormal,
    "ones": initializers.Ones,
    "orthogonal": initializers.Orthogonal,
    "random_normal": initializers.RandomNormal,
    "random_uniform": initializers.RandomUniform,
    "truncated_normal": initializers.TruncatedNormal,
    "uniform": initializers.RandomUniform,
    "zeros": initializers.Zeros,
}


def activation_of(given: Any) -> Callable[[Any], Any]:
    """The function that a name, or the function itself, stands for; None stands for ``linear``."""
    return _found("linear" if given is None else given, _ACTIVATIONS, "activation")  # type: ignore[no-any-return]


def initializer_of(given: Any) -> Any:
    """The initializer that a name, a class or the initializer itself stands for; None for None."""
    if given is None:
        return None
    found = _found(given, _INITIALIZERS, "initializer")
    return found() if isinstance(given, str) or isinstance(found, type) else found


def _found(given: Any, known: dict[str, Any], what: str) -> Any:
    if isinstance(given, str):
        if given not in known:
            raise ArgumentError(f"Unknown {what}: {given!r}. Known are {', '.join(known)}; or give a function.")
        return known[given]
    if not callable(given) and not (what == "initializer" and hasattr(given, "dtype")):  # a tensor is its own value
        raise DTypeError(f"An {what} is a function or the name of one, got {shown(given)}.")
    return given
