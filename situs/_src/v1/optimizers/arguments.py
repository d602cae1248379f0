"""Checks of optimizers' arguments, before anything is changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from situs._src.base.errors import DTypeError, shown
from situs._src.base.tensor import is_tensor


def check_number(**values: Any) -> None:
    """Raises unless arguments, given by name, are numbers or tensors."""
    for name, value in values.items():
        if not is_tensor(value) and not hasattr(value, "__float__"):
            raise DTypeError(f"Argument `{name}` must be a number. Received: {name}={shown(value)}")


def as_pairs(grads_and_vars: Any) -> list[tuple[Any, Any]]:
    """Pairs of a gradient and a variable, as a list.

    Raises:
        DTypeError: they are no pairs.
    """
    # Not tried out: a generator that computes gradients may raise errors of its own.
    pairs = list(grads_and_vars) if isinstance(grads_and_vars, Iterable) else [grads_and_vars]
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise DTypeError(f"Expected a list of pairs of a gradient and a variable, got {shown(pair)}.")
    return pairs
