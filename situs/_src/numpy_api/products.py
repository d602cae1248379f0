"""Products of vectors, matrices and tensors."""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError, InvalidArgumentError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, DTypeLike
from situs._src.numpy_api import picking, reducing, shaping
from situs._src.numpy_api.arrays import at_least, choose, promoted, rank_of, to_tensor
from situs._src.numpy_api.dtypes import wanted
from situs._src.numpy_api.refusing import refuse_by_our_errors
from situs._src.ops import array as shapes
from situs._src.ops import compare, constant, contract, join, linalg
from situs._src.ops import math as m


def _is(rank: Any, number: int) -> Any:
    return rank == number if isinstance(rank, int) else compare.equal(rank, number)


def _either(first: Any, second: Any) -> Any:
    if isinstance(first, bool) and isinstance(second, bool):
        return first or second
    return compare.logical_or(first, second)


@export("experimental.numpy.matmul")
def matmul(x1: ArrayLike, x2: ArrayLike) -> Tensor:
    """The product of matrices, or of stacks of them; of vectors a number.

    Raises:
        ValueError: the shapes do not fit.
    """
    x, y = promoted(x1, x2)

    def of_matrix() -> Any:
        return choose(_is(rank_of(x), 1), lambda: contract.tensordot(x, y, [[0], [-2]]), lambda: linalg.matmul(x, y))

    try:
        return choose(_is(rank_of(y), 1), lambda: contract.tensordot(x, y, 1), of_matrix)  # type: ignore[no-any-return]
    except InvalidArgumentError as error:
        raise ArgumentError(str(error)) from None


@export("experimental.numpy.dot")
def dot(a: ArrayLike, b: ArrayLike) -> Tensor:
    """The sums of products over the last axis of `a` and the last but one of `b`, or its only one."""
    x, y = promoted(a, b)

    def contracted() -> Any:
        return choose(
            _is(rank_of(y), 1),
            lambda: contract.tensordot(x, y, [[-1], [-1]]),
            lambda: contract.tensordot(x, y, [[-1], [-2]]),
        )

    is_scalar = _either(_is(rank_of(x), 0), _is(rank_of(y), 0))
    return choose(is_scalar, lambda: m.multiply(x, y), contracted)  # type: ignore[no-any-return]


@export("experimental.numpy.inner")
def inner(a: ArrayLike, b: ArrayLike) -> Tensor:
    """The sums of products over the last axes of both."""
    x, y = promoted(a, b)
    is_scalar = _either(_is(rank_of(x), 0), _is(rank_of(y), 0))
    return choose(  # type: ignore[no-any-return]
        is_scalar, lambda: m.multiply(x, y), lambda: contract.tensordot(x, y, [[-1], [-1]])
    )


@export("experimental.numpy.vdot")
def vdot(a: ArrayLike, b: ArrayLike) -> Tensor:
    """The sum of the products of all elements, those of `a` conjugated."""
    x, y = promoted(a, b)
    return contract.tensordot(shaping.ravel(m.conj(x) if x.dtype.is_complex else x), shaping.ravel(y), 1)


@export("experimental.numpy.outer")
def outer(a: ArrayLike, b: ArrayLike) -> Tensor:
    """The products of every element of one with every element of the other."""
    x, y = promoted(a, b)
    return m.multiply(shapes.reshape(x, [-1, 1]), shapes.reshape(y, [-1]))


@export("experimental.numpy.tensordot")
def tensordot(a: ArrayLike, b: ArrayLike, axes: Any = 2) -> Tensor:
    """The sums of products over some axes of both."""
    x, y = promoted(a, b)
    return contract.tensordot(x, y, axes)


@export("experimental.numpy.einsum")
def einsum(subscripts: str, *operands: ArrayLike, casting: str = "safe", optimize: Any = False) -> Tensor:
    """The sums of products that letters for axes describe.

    Args:
        subscripts: The letters of each operand's axes and of the result's, such as ``ij,jk->ik``.
        *operands: The tensors.
        casting: ``safe`` gives them a dtype together, ``no`` leaves them as they are.
        optimize: False, True, ``greedy`` or ``optimal``: how the order of the products is found.

    Raises:
        ValueError: `casting` or `optimize` is something else.
    """
    if casting not in ("safe", "no"):
        raise ArgumentError(f'Expected casting="safe" or casting="no". Received: casting={shown(casting)}')
    if optimize not in (False, True, "greedy", "optimal"):
        raise ArgumentError(f'Expected one of {{True, "greedy", "optimal"}}. Received: optimize={shown(optimize)}')
    given = promoted(*operands) if casting == "safe" else [to_tensor(each) for each in operands]
    return contract.einsum(subscripts, *given, optimize="optimal" if optimize == "optimal" else "greedy")


@export("experimental.numpy.kron")
def kron(a: ArrayLike, b: ArrayLike) -> Tensor:
    """Each element of one times the whole of the other.

    Raises:
        ValueError: the number of dimensions of one is not known.
    """
    x, y = promoted(a, b)
    if x.shape.rank is None or y.shape.rank is None:
        raise ArgumentError("kron() takes tensors whose number of dimensions is known.")
    rank = max(x.shape.rank, y.shape.rank)
    x, y = at_least(rank, x), at_least(rank, y)
    sizes = m.multiply(shapes.shape(x), shapes.shape(y))
    for axis in range(rank):
        x, y = shapes.expand_dims(x, 2 * axis + 1), shapes.expand_dims(y, 2 * axis)
    return shapes.reshape(m.multiply(x, y), sizes)


@export("experimental.numpy.cross")
def cross(
    a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Tensor:
    """The vector products of vectors of two or three numbers.

    Args:
        a: Vectors.
        b: Vectors.
        axisa: The axis of `a` along which the numbers of a vector lie.
        axisb: That of `b`.
        axisc: That of the result.
        axis: All three.

    Raises:
        ValueError: a vector has neither two nor three numbers.
    """
    first, second, third = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    x, y = promoted(a, b)
    x, y = shaping.moveaxis(x, first, -1), shaping.moveaxis(y, second, -1)
    sizes = tuple(3 if size is None else size for size in (x.shape[-1], y.shape[-1]))
    if not all(size in (2, 3) for size in sizes):
        raise ArgumentError(f"cross() takes vectors of 2 or 3 numbers, got shapes {x.shape} and {y.shape}.")
    x0, x1, *x2 = join.unstack(x, sizes[0], axis=-1)
    y0, y1, *y2 = join.unstack(y, sizes[1], axis=-1)
    last = m.subtract(m.multiply(x0, y1), m.multiply(x1, y0))
    if sizes == (2, 2):
        return last
    xz, yz = (x2 or [constant.zeros_like(x0)])[0], (y2 or [constant.zeros_like(y0)])[0]
    parts = [m.subtract(m.multiply(x1, yz), m.multiply(xz, y1)), m.subtract(m.multiply(xz, y0), m.multiply(x0, yz))]
    return shaping.moveaxis(join.stack([*parts, last], -1), -1, third)


@export("experimental.numpy.trace")
def trace(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None) -> Tensor:
    """The sums of diagonals."""
    x = to_tensor(a, wanted(dtype))
    return reducing.sum(picking.diagonal_(x, offset, axis1, axis2), -1, dtype)


refuse_by_our_errors(globals())
