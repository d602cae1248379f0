"""The values of a layer's variables as NumPy arrays, taken out and put back.

Variables of a graph have their values in a session: the default one is asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from situs._src.base.errors import ArgumentError, shown
from situs._src.variables.symbolic import RefVariable


def get_values(variables: list[Any]) -> list[Any]:
    """The values, in order."""
    return [variable.eval() if isinstance(variable, RefVariable) else variable.numpy() for variable in variables]


def set_values(layer: Any, variables: list[Any], values: Any) -> None:
    """Puts values into variables: all of them, or none if one does not fit."""
    given = list(values) if isinstance(values, (list, tuple)) else None
    if given is None or len(given) != len(variables):
        count = shown(values) if given is None else f"{len(given)} weights"
        raise ArgumentError(
            f"You called `set_weights(weights)` on layer '{layer.name}' with {count}; the layer expects a list of "
            f"{len(variables)} weights."
        )
    arrays = [_array(variable, value) for variable, value in zip(variables, given, strict=True)]
    for variable, array in zip(variables, arrays, strict=True):
        if not variable.shape.is_compatible_with(array.shape):
            raise ArgumentError(
                f"Layer {layer.name} weight shape {variable.shape} of '{variable.name}' is not compatible with "
                f"provided weight shape {array.shape}."
            )
    for variable, array in zip(variables, arrays, strict=True):
        if isinstance(variable, RefVariable):
            variable.load(array)
        else:
            variable.assign(array)


def _array(variable: Any, value: Any) -> Any:
    """A value as an array of a variable's dtype."""
    try:
        return np.asarray(value).astype(variable.dtype.as_numpy_dtype)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"The weight '{variable.name}' is an array of {variable.dtype.name}, got {shown(value)}: {error}"
        ) from None
