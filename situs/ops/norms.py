"""Norms of vectors and matrices, and of many tensors together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from situs.eager.binding import host_value
from situs.eager.convert import short
from situs.errors import DTypeError, InvalidArgumentError
from situs.ops.array import expand_dims, squeeze, transpose
from situs.ops.attribute import NUMBERS, as_bool
from situs.ops.cast import cast
from situs.ops.constant import convert_to_tensor
from situs.ops.cumulative import add_n
from situs.ops.decompose import svd
from situs.ops.math import abs as abs_
from situs.ops.math import divide, multiply, sqrt
from situs.ops.math import pow as pow_
from situs.ops.reduce import reduce_euclidean_norm, reduce_max, reduce_sum
from situs.ops.spelling import renamed
from situs.shapes import normalize_axis
from situs.tensor import Tensor


def norm(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: bool | None = None, name: str | None = None
) -> Tensor:
    """Computes the norm of a tensor, or of the vectors or matrices in it.

    Args:
        tensor: A tensor of real or complex numbers.
        ord: ``"euclidean"``, a positive number or infinity; for matrices ``"euclidean"``, ``"fro"``, 1, 2
            or infinity.
        axis: None for the norm of all elements as one vector, a number for the norms of the vectors
            along that axis, two numbers for the norms of matrices.
        keepdims: Whether reduced dimensions stay, with size 1.
        name: A name for the op.

    Raises:
        ValueError: there is no such norm.
    """
    if not isinstance(ord, (str, *NUMBERS)):
        raise InvalidArgumentError(f"'ord' must be a number or the name of a norm, got {short(ord)}")
    axis = host_value(axis)
    keep = as_bool(keepdims, "keepdims")
    x = convert_to_tensor(tensor)
    if axis is None or isinstance(axis, int):
        return _vector_norm(x, ord, axis, keep, name)
    if not isinstance(axis, tuple) or len(axis) != 2 or axis[0] == axis[1]:
        raise InvalidArgumentError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}")
    return _matrix_norm(x, ord, axis, keep, name)


def _vector_norm(x: Tensor, ord: Any, axis: int | None, keep: bool, name: str | None) -> Tensor:
    if ord in ("euclidean", 2):
        return _euclidean(x, axis, keep, name)
    if isinstance(ord, str) or not ord > 0:
        raise InvalidArgumentError(f"'ord' must be a supported vector norm, got {ord}")
    if ord == 1:
        return reduce_sum(abs_(x), axis, keep, name)
    if ord == math.inf:
        return reduce_max(abs_(x), axis, keep, name)
    return pow_(reduce_sum(pow_(abs_(x), ord), axis, keep), 1.0 / ord, name)


def _matrix_norm(x: Tensor, ord: Any, axis: tuple[int, int], keep: bool, name: str | None) -> Tensor:
    if ord in ("euclidean", "fro"):
        return _euclidean(x, axis, keep, name)
    if ord == 2:
        return _spectral_norm(x, axis, keep, name)
    if ord not in (1, math.inf):
        raise InvalidArgumentError(
            f"'ord' must be a supported matrix norm in ['euclidean', 'fro', 1, 2, inf], got {ord}"
        )
    inner, outer = axis if ord == 1 else axis[::-1]
    largest = reduce_max(reduce_sum(abs_(x), inner, keepdims=True), outer, keepdims=True)
    return largest if keep else squeeze(largest, axis, name)


def _euclidean(x: Tensor, axis: Any, keep: bool, name: str | None) -> Tensor:
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise DTypeError(f"A Euclidean norm takes floating-point or complex numbers, got {x.dtype.name}; use tf.cast.")
    return reduce_euclidean_norm(x, axis, keep, name)


def _spectral_norm(x: Tensor, axis: tuple[int, int], keep: bool, name: str | None) -> Tensor:
    """The largest singular value of the matrices that two axes make."""
    rank = len(x.shape)
    rows, columns = (normalize_axis(one, rank) for one in axis)
    rest = [i for i in range(rank) if i not in (rows, columns)]
    largest = reduce_max(svd(transpose(x, [*rest, rows, columns]), compute_uv=False), -1)
    for one in sorted((rows, columns)) if keep else ():
        largest = expand_dims(largest, one)
    return largest


def norm_v1(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Computes the norm of a tensor; `norm` with TensorFlow 1's arguments."""
    return norm(tensor, ord, axis, renamed("keepdims", keepdims, "keep_dims", keep_dims), name)


def normalize(tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Divides a tensor, or the vectors or matrices in it, by their norms.

    Returns:
        The normalized tensor, and the norms; the other arguments are those of `norm`.
    """
    x = convert_to_tensor(tensor)
    norms = cast(norm(x, ord, axis, keepdims=True), x.dtype)
    return divide(x, norms, name), norms


def global_norm(t_list: Any, name: str | None = None) -> Tensor:
    """Computes the Euclidean norm of the elements of many tensors together; None entries are left out.

    Raises:
        TypeError: `t_list` is no list of tensors.
    """
    tensors = [convert_to_tensor(t) for t in tensor_list(t_list) if t is not None]
    if not tensors:
        return convert_to_tensor(0.0)
    for t in tensors:
        if not t.dtype.is_floating:
            raise DTypeError(f"A global norm takes floating-point tensors, got {t.dtype.name}; use tf.cast.")
    return sqrt(add_n([reduce_sum(multiply(t, t)) for t in tensors]), name)


def tensor_list(t_list: Any) -> Sequence[Any]:
    """The list itself, once it is clear that it is one.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(t_list, Sequence) or isinstance(t_list, (str, bytes)):
        raise DTypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    return t_list
