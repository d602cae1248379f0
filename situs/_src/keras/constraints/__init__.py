"""``tf.keras.constraints``: what optimizers do to a variable after they have changed it."""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import UnimplementedError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.keras.finding import Shelf
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.math import clip_by_value, divide, maximum, multiply, sqrt, square
from situs._src.ops.reduce import reduce_sum

_SMALL = 1e-7


@export("keras.constraints.Constraint")
class Constraint:
    """The base of constraints: a function from a value to one that is allowed."""

    def __call__(self, w: Any) -> Tensor:
        """The allowed value."""
        raise UnimplementedError(f"{type(self).__name__} has no method `__call__`, which gives the allowed value.")

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return dict(vars(self))

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A constraint made with the arguments that `get_config` returned."""
        return cls(**config)


@export("keras.constraints.NonNeg", "keras.constraints.non_neg")
class NonNeg(Constraint):
    """No value is below zero."""

    def __call__(self, w: Any) -> Tensor:
        """The value, with zeros for what is below."""
        return maximum(convert_to_tensor(w), 0.0)


@export("keras.constraints.UnitNorm", "keras.constraints.unit_norm")
class UnitNorm(Constraint):
    """The values along `axis` have norm 1."""

    def __init__(self, axis: Any = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> Tensor:
        """The value, scaled."""
        return divide(w, _norms(w, self.axis) + _SMALL)


@export("keras.constraints.MaxNorm", "keras.constraints.max_norm")
class MaxNorm(Constraint):
    """The values along `axis` have at most a norm of `max_value`."""

    def __init__(self, max_value: float = 2, axis: Any = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: Any) -> Tensor:
        """The value, scaled where it is too long."""
        norms = _norms(w, self.axis)
        return multiply(w, clip_by_value(norms, 0.0, float(self.max_value)) / (norms + _SMALL))


@export("keras.constraints.MinMaxNorm", "keras.constraints.min_max_norm")
class MinMaxNorm(Constraint):
    """The norms along `axis` go towards the range from `min_value` to `max_value`, by the share `rate`."""

    def __init__(self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: Any = 0) -> None:
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w: Any) -> Tensor:
        """The value, scaled."""
        norms = _norms(w, self.axis)
        wanted = self.rate * clip_by_value(norms, float(self.min_value), float(self.max_value))
        return multiply(w, (wanted + (1 - self.rate) * norms) / (norms + _SMALL))


def _norms(w: Any, axis: Any) -> Tensor:
    return sqrt(reduce_sum(square(convert_to_tensor(w)), axis, keepdims=True))


max_norm, min_max_norm, non_neg, unit_norm = MaxNorm, MinMaxNorm, NonNeg, UnitNorm
_shelf = Shelf("constraint", "keras.constraints", (MaxNorm, MinMaxNorm, NonNeg, UnitNorm))
get, serialize, deserialize = _shelf.get, _shelf.serialize, _shelf.deserialize
export("keras.constraints.serialize")(serialize)
export("keras.constraints.get")(get)
export("keras.constraints.deserialize")(deserialize)

__all__ = [
    "Constraint",
    "MaxNorm",
    "MinMaxNorm",
    "NonNeg",
    "UnitNorm",
    "deserialize",
    "get",
    "max_norm",
    "min_max_norm",
    "non_neg",
    "serialize",
    "unit_norm",
]
