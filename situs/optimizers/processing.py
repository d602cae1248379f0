"""What is done to gradients before an optimizer of Keras uses them, and the checks of its arguments."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from situs.errors import InvalidArgumentError
from situs.ops.cast import cast
from situs.ops.clip import clip_by_global_norm, clip_by_norm
from situs.ops.math import clip_by_value
from situs.ops.slices import IndexedSlices, scaled
from situs.tensor import read


def without_missing(grads: Sequence[Any], variables: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Gradients and variables without the pairs that have no gradient.

    Raises:
        InvalidArgumentError: none has one.
    """
    if not [None for grad in grads if grad is None]:
        return list(grads), list(variables)
    pairs = [(grad, variable) for grad, variable in zip(grads, variables, strict=True) if grad is not None]
    if not pairs:
        raise InvalidArgumentError("No gradients provided for any variable.")
    names = [v.name for grad, v in zip(grads, variables, strict=True) if grad is None]
    warnings.warn(
        f"Gradients do not exist for variables {names} when minimizing the loss. If using `model.compile()`, did you "
        "forget to provide a `loss` argument?",
        stacklevel=2,
    )
    return [grad for grad, _ in pairs], [variable for _, variable in pairs]


def divided(grads: Sequence[Any], by: Any) -> list[Any]:
    """Gradients divided by a number."""
    return [scaled(grad, 1.0 / by) if isinstance(grad, IndexedSlices) else read(grad) / by for grad in grads]


def in_dtypes(grads: Sequence[Any], variables: Sequence[Any]) -> list[Any]:
    """Gradients in the dtypes of their variables."""
    return [_in_dtype(grad, variable.dtype) for grad, variable in zip(grads, variables, strict=True)]


def _in_dtype(grad: Any, dtype: Any) -> Any:
    if isinstance(grad, IndexedSlices):
        return IndexedSlices(cast(grad.values, dtype), grad.indices, grad._dense_shape)
    return cast(read(grad), dtype)


def clipped(
    grads: list[Any], norm: float | None = None, global_norm: float | None = None, value: float | None = None
) -> list[Any]:
    """Gradients kept in bounds: each to a norm, all to a norm, or each element to a value."""
    if norm:
        return [clip_by_norm(grad, norm) for grad in grads]
    if global_norm:
        return clip_by_global_norm(grads, global_norm)[0]
    return [_clipped(grad, value) for grad in grads] if value else grads


def _clipped(grad: Any, limit: float) -> Any:
    if isinstance(grad, IndexedSlices):
        return IndexedSlices(clip_by_value(grad.values, -limit, limit), grad.indices, grad._dense_shape)
    return clip_by_value(grad, -limit, limit)


# Arguments.


def check_clipping(clipnorm: Any, clipvalue: Any, global_clipnorm: Any) -> None:
    """Raises if gradients are to be clipped in more than one way."""
    if sum(limit is not None for limit in (clipnorm, clipvalue, global_clipnorm)) > 1:
        raise InvalidArgumentError(
            "Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set. Received: "
            f"clipnorm={clipnorm}, clipvalue={clipvalue}, global_clipnorm={global_clipnorm}"
        )


def check_averaging(use_ema: bool, momentum: float, frequency: Any) -> None:
    """Raises unless the arguments for moving averages make sense."""
    if use_ema and not 0 <= momentum <= 1:
        raise InvalidArgumentError(f"`ema_momentum` must be in the range [0, 1]. Received: ema_momentum={momentum}")
    if use_ema and frequency and (not isinstance(frequency, int) or frequency < 1):
        raise InvalidArgumentError(
            f"`ema_overwrite_frequency` must be an integer >= 1 or None. Received: ema_overwrite_frequency={frequency}"
        )


def check_accumulation(steps: Any) -> None:
    """Raises unless several gradients are to be averaged, or none."""
    if steps and not steps >= 2:
        raise InvalidArgumentError(
            f"`gradient_accumulation_steps` must be an integer >= 2. Received: gradient_accumulation_steps={steps}"
        )


def check_rest(kwargs: dict[str, Any]) -> None:
    """Raises if there are arguments that no optimizer takes; ``decay`` is one of older ones, and does nothing."""
    if kwargs.pop("decay", None) is not None:
        warnings.warn("Argument `decay` is no longer supported and will be ignored.", stacklevel=3)
    if kwargs:
        raise InvalidArgumentError(f"Argument(s) not recognized: {kwargs}")
