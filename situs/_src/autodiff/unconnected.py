"""What to give for something that a result does not depend on."""

from __future__ import annotations

from enum import Enum
from typing import Any

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.ops.constant import zeros_like


@export("UnconnectedGradients")
class UnconnectedGradients(Enum):
    """What `gradients` gives where there is no way from a source to a target: nothing, or zeros."""

    NONE = "none"
    ZERO = "zero"


def as_choice(value: object) -> UnconnectedGradients:
    """The choice that a program made, as itself or as its word.

    Raises:
        ValueError: it is neither.
    """
    try:
        return UnconnectedGradients(value)
    except ValueError:
        raise ArgumentError(f"Unknown value for unconnected_gradients: {value!r}. Say 'none' or 'zero'.") from None


def filled(grad: Any, source: Any, choice: UnconnectedGradients) -> Any:
    """The gradient of a source; zeros in its place if it has none and the program asked for them."""
    return zeros_like(source) if grad is None and choice is UnconnectedGradients.ZERO else grad
