"""What is done to gradients before an optimizer uses them: scaled back, cast, clipped, checked for being finite."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from situs._src.base.errors import ArgumentError
from situs._src.base.tensor import read
from situs._src.ops.cast import cast
from situs._src.ops.clip import clip_by_global_norm, clip_by_norm
from situs._src.ops.join import stack
from situs._src.ops.math import clip_by_value, is_finite
from situs._src.ops.norms import values_of
from situs._src.ops.reduce import reduce_all
from situs._src.ops.slices import IndexedSlices, scaled


def without_missing(grads: Sequence[Any], variables: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Gradients and variables without the pairs that have no gradient.

    Raises:
        InvalidArgumentError: none has one.
    """
    if all(grad is not None for grad in grads):
        return list(grads), list(variables)
    pairs = [(grad, variable) for grad, variable in zip(grads, variables, strict=True) if grad is not None]
    if not pairs:
        raise ArgumentError("No gradients provided for any variable.")
    names = [v.name for grad, v in zip(grads, variables, strict=True) if grad is None]
    warnings.warn(
        f"Gradients do not exist for variables {names} when minimizing the loss. If using `model.compile()`, did you "
        "forget to provide a `loss` argument?",
        stacklevel=2,
    )
    return [grad for grad, _ in pairs], [variable for _, variable in pairs]


def all_finite(grads: Sequence[Any]) -> Any:
    """Whether all elements of gradients are finite, as a tensor; gradients that are None do not count.

    Raises:
        InvalidArgumentError: there are no others.
    """
    parts = [reduce_all(is_finite(read(values_of(grad)))) for grad in grads if grad is not None]
    if not parts:
        raise ArgumentError("No gradients provided for any variable.")
    return reduce_all(stack(parts))


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
