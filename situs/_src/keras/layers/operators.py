"""Python's operators on the tensors of models that are being drawn: each use is a call of a layer, `Operation`.

x = tf.keras.Input((4,))
x + 1, x[:, 0], -x                  KerasTensors, made by layers named add, getitem, neg
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from situs._src.keras.layers.base import Layer
from situs._src.keras.layers.symbolic import KerasTensor
from situs._src.keras.losses.naming import unique_name

_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
_OTHERS = ("lt", "le", "gt", "ge", "neg", "abs", "getitem")


class Operation(Layer):
    """A Python operator between tensors of a model that is being drawn."""

    def __init__(self, function: Callable[..., Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.function = function

    def call(self, *inputs: Any) -> Any:
        """Applies the operator."""
        return self.function(*inputs)


def _install(name: str, function: Callable[..., Any]) -> None:
    def apply(self: KerasTensor, *others: Any) -> Any:
        return Operation(function, name=unique_name(name), autocast=False)(self, *others)

    setattr(KerasTensor, f"__{name}__", apply)


def _swapped(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: function(y, x)


for _name in (*_BINARY, *_OTHERS):
    _install(_name, getattr(operator, f"__{_name}__"))
for _name in _BINARY:
    _install(f"r{_name}", _swapped(getattr(operator, f"__{_name}__")))
