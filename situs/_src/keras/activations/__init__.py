"""``tf.keras.activations``: functions by name, for the argument ``activation`` of layers.

tf.keras.activations.get("relu")            the function
tf.keras.activations.get(tf.nn.relu)        any function of a tensor will do
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.ops import math
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.gather import where
from situs._src.ops.nn import activation as nn
from situs._src.ops.nn.activation import silu as silu
from situs._src.ops.nn.activation import softsign as softsign


@export("keras.activations.linear")
def linear(x: Any) -> Any:
    """Returns `x` as it is."""
    return x


@export("keras.activations.relu")
def relu(x: Any, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Tensor:
    """Rectifies: ``max(x, 0)``, unless other arguments are given.

    Args:
        x: A tensor.
        negative_slope: The slope below the threshold.
        max_value: What results are at most.
        threshold: Below it results are ``negative_slope * (x - threshold)``.
    """
    if negative_slope == 0 and threshold == 0:
        found = nn.relu6(x) if max_value == 6 else nn.relu(x)
        return found if max_value in (None, 6) else math.minimum(found, max_value)
    if threshold == 0 and max_value is None:
        return nn.leaky_relu(x, negative_slope)
    value = convert_to_tensor(x)
    below = (value - threshold) * negative_slope
    found = where(value >= threshold, value, below)
    return found if max_value is None else math.minimum(found, max_value)


@export("keras.activations.relu6")
def relu6(x: Any) -> Tensor:
    """``min(max(x, 0), 6)``."""
    return nn.relu6(x)


@export("keras.activations.leaky_relu")
def leaky_relu(x: Any, negative_slope: float = 0.2) -> Tensor:
    """``x`` where it is positive, ``negative_slope * x`` elsewhere."""
    return nn.leaky_relu(x, negative_slope)


@export("keras.activations.elu")
def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """``x`` where it is positive, ``alpha * (exp(x) - 1)`` elsewhere."""
    found = nn.elu(x)
    return found if alpha == 1 else where(convert_to_tensor(x) > 0, found, found * alpha)


@export("keras.activations.selu")
def selu(x: Any) -> Tensor:
    """The scaled exponential linear unit."""
    return nn.selu(x)


@export("keras.activations.gelu")
def gelu(x: Any, approximate: bool = False) -> Tensor:
    """``x`` times the share of the normal distribution below it."""
    return nn.gelu(x, approximate)


@export("keras.activations.softmax")
def softmax(x: Any, axis: int = -1) -> Tensor:
    """``exp(x)``, divided by its sum along `axis`."""
    return nn.softmax(x, axis)


@export("keras.activations.log_softmax")
def log_softmax(x: Any, axis: int = -1) -> Tensor:
    """The logarithm of `softmax`."""
    return nn.log_softmax(x, axis)


@export("keras.activations.softplus")
def softplus(x: Any) -> Tensor:
    """``log(exp(x) + 1)``."""
    return nn.softplus(x)


@export("keras.activations.log_sigmoid")
def log_sigmoid(x: Any) -> Tensor:
    """The logarithm of `sigmoid`."""
    return nn.log_sigmoid(x)


@export("keras.activations.sigmoid")
def sigmoid(x: Any) -> Tensor:
    """``1 / (1 + exp(-x))``."""
    return math.sigmoid(x)


@export("keras.activations.tanh")
def tanh(x: Any) -> Tensor:
    """The hyperbolic tangent."""
    return math.tanh(x)


@export("keras.activations.exponential")
def exponential(x: Any) -> Tensor:
    """``exp(x)``."""
    return math.exp(x)


@export("keras.activations.hard_sigmoid")
def hard_sigmoid(x: Any) -> Tensor:
    """``x / 6 + 0.5`` within 0 and 1."""
    return nn.relu6(convert_to_tensor(x) + 3.0) / 6.0


@export("keras.activations.hard_silu", "keras.activations.hard_swish")
def hard_silu(x: Any) -> Tensor:
    """``x * hard_sigmoid(x)``."""
    return math.multiply(x, hard_sigmoid(x))


@export("keras.activations.mish")
def mish(x: Any) -> Tensor:
    """``x * tanh(softplus(x))``."""
    return math.multiply(x, math.tanh(nn.softplus(x)))


swish, hard_swish = silu, hard_silu
_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    elu, exponential, gelu, hard_sigmoid, hard_silu, leaky_relu, linear, log_sigmoid, log_softmax, mish, relu, relu6,
    selu, sigmoid, silu, softmax, softplus, softsign, tanh,
)  # fmt: skip
_NAMES: dict[str, Callable[..., Any]] = {
    **{function.__name__: function for function in _FUNCTIONS},
    "swish": silu,
    "hard_swish": hard_silu,
}


@export("keras.activations.get")
def get(identifier: Any) -> Callable[..., Any]:
    """The function that a name, or the function itself, stands for; `linear` for None.

    Raises:
        ValueError: it is neither.
    """
    if identifier is None:
        return linear
    if isinstance(identifier, (str, Mapping)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier  # type: ignore[no-any-return]
    raise ArgumentError(f"Could not interpret activation function identifier: {shown(identifier)}")


@export("keras.activations.deserialize")
def deserialize(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """The function of a name; `custom_objects` has the program's own."""
    name = config.get("config") if isinstance(config, Mapping) else config
    known = {**_NAMES, **(custom_objects or {})}
    if not isinstance(name, str) or name not in known:
        raise ArgumentError(
            f"Could not interpret activation function identifier: {shown(config)}. Known are "
            f"{', '.join(sorted(known))}."
        )
    return known[name]  # type: ignore[no-any-return]


@export("keras.activations.serialize")
def serialize(activation: Callable[..., Any]) -> str:
    """The name of a function."""
    return getattr(activation, "__name__", None) or shown(activation)


__all__ = [
    "deserialize",
    "elu",
    "exponential",
    "gelu",
    "get",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "leaky_relu",
    "linear",
    "log_sigmoid",
    "log_softmax",
    "mish",
    "relu",
    "relu6",
    "selu",
    "serialize",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "softsign",
    "swish",
    "tanh",
]
