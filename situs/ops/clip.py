"""Gradients kept in bounds: tensors scaled down to a norm."""

from __future__ import annotations

from typing import Any

from situs.errors import InvalidArgumentError
from situs.ops.array import size
from situs.ops.cast import cast
from situs.ops.compare import greater
from situs.ops.constant import convert_to_tensor, ones_like
from situs.ops.gather import where
from situs.ops.math import add, divide, maximum, minimum, multiply, reciprocal, rsqrt, sqrt, subtract
from situs.ops.naming import Composed
from situs.ops.norms import global_norm, tensor_list
from situs.ops.reduce import reduce_sum
from situs.tensor import Tensor


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """Scales a tensor down to a Euclidean norm; one that is within it stays as it is.

    Args:
        t: A tensor.
        clip_norm: The largest norm; a negative one counts as 0.
        axes: The axes along which norms are taken; by default all, which makes one norm.
        name: A name for the op.
    """
    t = convert_to_tensor(t)
    with Composed(name, "clip_by_norm") as last:
        limit = maximum(cast(clip_norm, t.dtype), 0)
        norm = _norm(t, axes)
        scaled = multiply(t, limit)
        if not scaled.shape.is_compatible_with(t.shape):
            raise InvalidArgumentError(
                f"Shapes {t.shape} and {scaled.shape} are incompatible: clip_norm has too many axes."
            )
        return divide(scaled, maximum(norm, limit), last)


def _norm(t: Tensor, axes: Any) -> Tensor:
    """The Euclidean norm, with a gradient of 0 instead of NaN where it is 0."""
    squares = reduce_sum(multiply(t, t), axes, keepdims=True)
    positive = greater(squares, 0)
    return where(positive, sqrt(where(positive, squares, ones_like(squares))), squares)


def clip_by_global_norm(
    t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Tensor | None], Tensor]:
    """Scales many tensors down together, so that their elements have a Euclidean norm of at most `clip_norm`.

    Args:
        t_list: The tensors; None entries stay None.
        clip_norm: The largest norm.
        use_norm: Their norm, if it is known already; see `situs.ops.norms.global_norm`.
        name: A name for the ops.

    Returns:
        The tensors, and the norm they had. If it was not finite, the tensors are NaN.

    Raises:
        TypeError: `t_list` is no list of tensors.
    """
    tensors = tensor_list(t_list)
    norm = global_norm(tensors, name) if use_norm is None else convert_to_tensor(use_norm)
    with Composed(name, "clip_by_global_norm"):
        limit = cast(clip_norm, norm.dtype)
        scale = multiply(limit, minimum(reciprocal(norm), reciprocal(limit)))
        scale = add(scale, subtract(norm, norm))  # NaN for a norm that is infinite
        return [None if t is None else _scaled(t, scale) for t in tensors], norm


def _scaled(t: Any, scale: Tensor) -> Tensor:
    t = convert_to_tensor(t)
    return multiply(t, cast(scale, t.dtype))


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """Scales a tensor down so that its Euclidean norm per element is at most `clip_norm`."""
    t = convert_to_tensor(t)
    with Composed(name, "clip_by_average_norm") as last:
        limit = cast(clip_norm, t.dtype)
        per_norm = multiply(rsqrt(reduce_sum(multiply(t, t))), cast(size(t), t.dtype))
        return multiply(multiply(t, limit), minimum(per_norm, reciprocal(limit)), last)
