"""Checks of what programs give to optimizers and schedules, made before anything is changed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from situs._src.base.errors import ArgumentError, DTypeError, shown
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


def check_clipping(clipnorm: Any, clipvalue: Any, global_clipnorm: Any) -> None:
    """Raises if gradients are to be clipped in more than one way."""
    if sum(limit is not None for limit in (clipnorm, clipvalue, global_clipnorm)) > 1:
        raise ArgumentError(
            "Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set. Received: "
            f"clipnorm={clipnorm}, clipvalue={clipvalue}, global_clipnorm={global_clipnorm}"
        )


def check_averaging(use_ema: bool, momentum: float, frequency: Any) -> None:
    """Raises unless the arguments for moving averages make sense."""
    if not use_ema:
        return
    check_number(ema_momentum=momentum)
    if not 0 <= momentum <= 1:
        raise ArgumentError(f"`ema_momentum` must be in the range [0, 1]. Received: ema_momentum={momentum}")
    if frequency and (not isinstance(frequency, int) or frequency < 1):
        raise ArgumentError(
            f"`ema_overwrite_frequency` must be an integer >= 1 or None. Received: ema_overwrite_frequency={frequency}"
        )


def check_accumulation(steps: Any) -> None:
    """Raises unless several gradients are to be averaged, or none."""
    if steps and (not isinstance(steps, (int, np.integer)) or steps < 2):
        raise ArgumentError(
            f"`gradient_accumulation_steps` must be an integer >= 2. Received: gradient_accumulation_steps={steps}"
        )


def check_rest(kwargs: dict[str, Any]) -> None:
    """Raises if there are arguments that no optimizer takes; ``decay``, of older optimizers, does nothing."""
    if kwargs.pop("decay", None) is not None:
        warnings.warn("Argument `decay` is no longer supported and will be ignored.", stacklevel=3)
    if kwargs:
        raise ArgumentError(f"Argument(s) not recognized: {kwargs}")
