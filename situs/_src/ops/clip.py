"""Gradient clipping: tensors scaled down to a norm.

Slices of a tensor (`ops.slices`) are scaled by their rows, and stay sparse.
"""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, AxisLike
from situs._src.ops.array import size
from situs._src.ops.cast import cast
from situs._src.ops.compare import greater
from situs._src.ops.constant import convert_to_tensor, ones_like
from situs._src.ops.gather import where
from situs._src.ops.math import add, divide, maximum, minimum, multiply, reciprocal, rsqrt, sqrt, subtract
from situs._src.ops.naming import Composed
from situs._src.ops.norms import global_norm, tensor_list, values_of
from situs._src.ops.reduce import reduce_sum
from situs._src.ops.slices import IndexedSlices


@export("clip_by_norm")
def clip_by_norm(
    t: ArrayLike, clip_norm: ArrayLike, axes: AxisLike | None = None, name: str | None = None
) -> IndexedSlices | Tensor:
    """Scales a tensor down to a Euclidean norm; one that is within it stays as it is.

    Args:
        t: A tensor, or slices of one.
        clip_norm: The largest norm; a negative one counts as 0.
        axes: The axes along which norms are taken; by default all, which makes one norm.
        name: A name for the op.
    """
    values = convert_to_tensor(values_of(t))
    with Composed(name, "clip_by_norm") as last:
        limit = maximum(cast(clip_norm, values.dtype), 0)
        norm = _norm(values, axes)
        scaled = multiply(values, limit)
        if not scaled.shape.is_compatible_with(values.shape):
            raise ArgumentError(
                f"Shapes {values.shape} and {scaled.shape} are incompatible: clip_norm has too many axes."
            )
        return _like(t, divide(scaled, maximum(norm, limit), last))


def _like(t: ArrayLike, values: Tensor) -> IndexedSlices | Tensor:
    """Values as what they were computed for: a tensor, or slices of one."""
    return IndexedSlices(values, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else values


def _norm(t: Tensor, axes: Any) -> Tensor:
    """The Euclidean norm, with a gradient of 0 instead of NaN where it is 0."""
    squares = reduce_sum(multiply(t, t), axes, keepdims=True)
    positive = greater(squares, 0)
    return where(positive, sqrt(where(positive, squares, ones_like(squares))), squares)


@export("clip_by_global_norm")
def clip_by_global_norm(
    t_list: Any, clip_norm: ArrayLike, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """Scales many tensors down together, so that their elements have a Euclidean norm of at most `clip_norm`.

    Args:
        t_list: The tensors, or slices; None entries stay None.
        clip_norm: The largest norm.
        use_norm: Their norm, if it is known already; see `ops.norms.global_norm`.
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


def _scaled(t: ArrayLike, scale: Tensor) -> IndexedSlices | Tensor:
    values = convert_to_tensor(values_of(t))
    return _like(t, multiply(values, cast(scale, values.dtype)))


@export(v1="clip_by_average_norm")
def clip_by_average_norm(t: ArrayLike, clip_norm: ArrayLike, name: str | None = None) -> Tensor:
    """Scales a tensor down so that its Euclidean norm per element is at most `clip_norm`."""
    values = convert_to_tensor(t)
    with Composed(name, "clip_by_average_norm") as last:
        limit = cast(clip_norm, values.dtype)
        per_norm = multiply(rsqrt(reduce_sum(multiply(values, values))), cast(size(values), values.dtype))
        return multiply(multiply(values, limit), minimum(per_norm, reciprocal(limit)), last)
