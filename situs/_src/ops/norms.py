"""Norms of vectors and matrices, and of many tensors together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import normalize_axis
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.base.typing import ArrayLike, AxisLike
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops import array
from situs._src.ops.array import expand_dims, transpose
from situs._src.ops.attribute import NUMBERS, as_bool, is_plain, plain
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.constant import range as range_
from situs._src.ops.cumulative import add_n
from situs._src.ops.decompose import svd
from situs._src.ops.join import concat, stack
from situs._src.ops.math import abs as abs_
from situs._src.ops.math import divide, floormod, multiply, sqrt
from situs._src.ops.math import pow as pow_
from situs._src.ops.naming import Composed
from situs._src.ops.reduce import reduce_euclidean_norm, reduce_max, reduce_min, reduce_sum
from situs._src.ops.search import setdiff1d
from situs._src.ops.slices import IndexedSlices
from situs._src.ops.spelling import renamed


@export("norm", "linalg.norm", v1=())
def norm(
    tensor: ArrayLike, ord: Any = "euclidean", axis: Any = None, keepdims: bool | None = None, name: str | None = None
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
        raise ArgumentError(f"'ord' must be a number or the name of a norm, got {shown(ord)}")
    axis = plain(axis, "axis") if is_plain(axis) else axis
    keep = as_bool(keepdims, "keepdims")
    x = convert_to_tensor(tensor)
    with Composed(name, "norm") as last:
        if isinstance(axis, SymbolicTensor):
            axis = _entries(axis)
        if axis is None or isinstance(axis, (int, SymbolicTensor)):
            return _vector_norm(x, ord, axis, keep, last)
        if not _is_pair(axis):
            raise ArgumentError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}")
        return _matrix_norm(x, ord, (axis[0], axis[1]), keep, last)


def _entries(axis: SymbolicTensor) -> tuple[Tensor, Tensor] | SymbolicTensor:
    """A computed axis, or a pair of them."""
    if axis.shape.rank is None or axis.shape not in ([], [1], [2]):
        raise ArgumentError(f"The shape of 'axis' must be known when the graph is built: [] or [2], got {axis!r}")
    return (axis[0], axis[1]) if axis.shape == [2] else axis


def _is_pair(axis: AxisLike) -> bool:
    """Whether these are two axes, numbers or tensors, that may differ."""
    if not isinstance(axis, (tuple, list)) or len(axis) != 2:
        return False
    are_numbers = [isinstance(one, (int, np.integer)) for one in axis]
    if not all(is_number or is_tensor(one) for one, is_number in zip(axis, are_numbers, strict=True)):
        return False
    return axis[0] != axis[1] if all(are_numbers) else axis[0] is not axis[1]


def _vector_norm(x: Tensor, ord: Any, axis: Any, keep: bool, name: str | None) -> Tensor:
    if ord in ("euclidean", 2):
        return _euclidean(x, axis, keep, name)
    if isinstance(ord, str) or not ord > 0:
        raise ArgumentError(f"'ord' must be a supported vector norm, got {ord}")
    if ord == 1:
        return reduce_sum(abs_(x), axis, keep, name)
    if ord == math.inf:
        return reduce_max(abs_(x), axis, keep, name)
    return pow_(reduce_sum(pow_(abs_(x), ord), axis, keep), 1.0 / ord, name)


def _matrix_norm(x: Tensor, ord: Any, axis: tuple[Any, Any], keep: bool, name: str | None) -> Tensor:
    if ord in ("euclidean", "fro"):
        return _euclidean(x, axis, keep, name)
    if ord == 2:
        return _spectral_norm(x, axis, keep, name)
    if ord not in (1, math.inf):
        raise ArgumentError(f"'ord' must be a supported matrix norm in ['euclidean', 'fro', 1, 2, inf], got {ord}")
    inner, outer = axis if ord == 1 else axis[::-1]
    sums = reduce_sum(abs_(x), inner, keepdims=True)
    if keep:
        return reduce_max(sums, outer, keepdims=True, name=name)
    return reduce_max(sums, axis, name=name)


def _euclidean(x: Tensor, axis: AxisLike, keep: bool, name: str | None) -> Tensor:
    if not (x.dtype.is_floating or x.dtype.is_complex):
        return sqrt(x, name)  # integers have no root, as sqrt says
    return reduce_euclidean_norm(x, axis, keep, name)


def _spectral_norm(x: Tensor, axis: tuple[Any, Any], keep: bool, name: str | None) -> Tensor:
    """The largest singular value of the matrices that two axes make."""
    if x.shape.rank is None or not is_plain(axis):
        return _spectral_norm_later(x, axis, keep, name)
    rank = x.shape.rank
    rows, columns = (normalize_axis(one, rank) for one in axis)
    rest = [i for i in range(rank) if i not in (rows, columns)]
    values = svd(transpose(x, [*rest, rows, columns]), compute_uv=False)
    if not keep:
        return reduce_max(values, -1, name=name)
    first, second = sorted((rows, columns))
    return expand_dims(expand_dims(reduce_max(values, -1), first), second, name)


def _spectral_norm_later(x: Tensor, axis: tuple[Any, Any], keep: bool, name: str | None) -> Tensor:
    """The same where the rank or the axes are not known before the graph runs."""
    rank = array.rank(x)
    axes = floormod(stack(axis), rank)
    rest = setdiff1d(range_(rank), axes).out
    values = svd(transpose(x, concat([rest, axes], 0)), compute_uv=False)
    if not keep:
        return reduce_max(values, -1, name=name)
    return expand_dims(expand_dims(reduce_max(values, -1), reduce_min(axes)), reduce_max(axes), name)


@export(v1=("norm", "linalg.norm"))
def norm_v1(
    tensor: ArrayLike,
    ord: str | float = "euclidean",
    axis: AxisLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Computes the norm of a tensor; `norm` with TensorFlow 1's arguments."""
    return norm(tensor, ord, axis, renamed("keepdims", keepdims, "keep_dims", keep_dims), name)


@export("linalg.normalize")
def normalize(
    tensor: ArrayLike, ord: str | float = "euclidean", axis: AxisLike | None = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Divides a tensor, or the vectors or matrices in it, by their norms.

    The arguments are those of `norm`.

    Returns:
        The normalized tensor, and the norms.
    """
    x = convert_to_tensor(tensor)
    with Composed(name, "normalize", "truediv") as last:
        norms = cast(norm(x, ord, axis, keepdims=True), x.dtype)
        return divide(x, norms, last), norms


@export("linalg.global_norm", v1=("global_norm", "linalg.global_norm"))
def global_norm(t_list: Any, name: str | None = None) -> Tensor:
    """Computes the Euclidean norm of the elements of many tensors together; None entries are left out.

    Slices of a tensor count with their rows as they are, also with those that come up more than once.

    Raises:
        TypeError: `t_list` is no list of tensors.
    """
    tensors = [convert_to_tensor(values_of(t)) for t in tensor_list(t_list) if t is not None]
    if not tensors:
        return convert_to_tensor(0.0, name=name or "global_norm")
    for t in tensors:
        if not t.dtype.is_floating:
            raise DTypeError(f"A global norm takes floating-point tensors, got {t.dtype.name}; use tf.cast.")
    with Composed(name, "global_norm", "global_norm") as last:
        return sqrt(add_n([reduce_sum(multiply(t, t)) for t in tensors]), last)


def tensor_list(t_list: Any) -> Sequence[Any]:
    """The list itself, once it is clear that it is one.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(t_list, Sequence) or isinstance(t_list, (str, bytes)):
        raise DTypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    return t_list


def values_of(t: ArrayLike) -> Any:
    """The rows of slices; anything else itself."""
    return t.values if isinstance(t, IndexedSlices) else t
