"""Solving with LU decompositions, matrices of three diagonals, triangular bands; square roots and logarithms."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import COMPLEX
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape, broadcast
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, SizesOf
from situs._src.ops.array import broadcast_dynamic_shape as joint_sizes
from situs._src.ops.array import broadcast_to, expand_dims, matrix_transpose, reshape, squeeze
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_bool
from situs._src.ops.cast import cast
from situs._src.ops.compare import greater, less_equal, logical_and
from situs._src.ops.constant import convert_to_tensor, ones_like, zeros_like
from situs._src.ops.decompose import eigh, eigvalsh, solve, triangular_solve
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.diagonal import band_part, diag, diag_part, eye, set_diag
from situs._src.ops.gather import boolean_mask, gather
from situs._src.ops.join import concat, pad, stack
from situs._src.ops.linalg import adjoint, matmul
from situs._src.ops.linear_operator import LinearOperator
from situs._src.ops.loop import while_loop
from situs._src.ops.math import conj, negative
from situs._src.ops.naming import Composed
from situs._src.ops.reduce import reduce_max, reduce_sum
from situs._src.ops.search import argsort
from situs._src.ops.sum_to import sum_to

DECOMPOSED = frozenset({dt.float32, dt.float64}) | COMPLEX

# LU decompositions.


def _permuted(x: Tensor, order: Tensor) -> Tensor:
    """The rows of matrices in another order, given for each or for all of them."""
    if order.shape.rank == 1:
        return gather(x, order, axis=-2)
    batch = joint_sizes(shape_of(x)[:-2], shape_of(order)[:-1])
    rows = broadcast_to(x, concat([batch, shape_of(x)[-2:]], 0))
    orders = broadcast_to(order, concat([batch, shape_of(order)[-1:]], 0))
    rank = broadcast(x.shape[:-2], order.shape[:-1]).rank
    if rank is None:
        raise ArgumentError("The ranks of LU decompositions and of what they solve must be known.")

    return gather(rows, orders, axis=rank, batch_dims=rank)


@export("linalg.lu_solve")
def lu_solve(
    lower_upper: ArrayLike, perm: ArrayLike, rhs: ArrayLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The x of ``A x = rhs``, from the results of ``tf.linalg.lu`` for A.

    Args:
        lower_upper: The two triangles in one matrix, or a batch of such.
        perm: The order of rows.
        rhs: The right-hand sides: as many rows as A has.
        validate_args: Accepted for TensorFlow's programs; shapes are always checked.
        name: A name for the ops.
    """
    with Composed(name, "lu_solve"):
        both, order, right = convert_to_tensor(lower_upper), convert_to_tensor(perm), convert_to_tensor(rhs)
        rows = _permuted(right, order)
        batch = joint_sizes(shape_of(both)[:-2], shape_of(rows)[:-2])
        both = broadcast_to(both, concat([batch, shape_of(both)[-2:]], 0))
        rows = broadcast_to(rows, concat([batch, shape_of(rows)[-2:]], 0))
        return triangular_solve(both, triangular_solve(_lower(both), rows), lower=False)


def _lower(both: Tensor) -> Tensor:
    return set_diag(band_part(both, -1, 0), ones_like(diag_part(both)))


@export("linalg.lu_reconstruct")
def lu_reconstruct(
    lower_upper: ArrayLike, perm: ArrayLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The matrices whose decompositions ``tf.linalg.lu`` gave.

    Args:
        lower_upper: The two triangles in one matrix, or a batch of such.
        perm: The order of rows.
        validate_args: Accepted for TensorFlow's programs; shapes are always checked.
        name: A name for the ops.
    """
    with Composed(name, "lu_reconstruct"):
        both, order = convert_to_tensor(lower_upper), convert_to_tensor(perm)
        return _permuted(matmul(_lower(both), band_part(both, 0, -1)), argsort(order))


@export("linalg.lu_matrix_inverse")
def lu_matrix_inverse(
    lower_upper: ArrayLike, perm: ArrayLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The inverses of the matrices whose decompositions ``tf.linalg.lu`` gave.

    Args:
        lower_upper: The two triangles in one matrix, or a batch of such.
        perm: The order of rows.
        validate_args: Accepted for TensorFlow's programs; shapes are always checked.
        name: A name for the ops.
    """
    with Composed(name, "lu_matrix_inverse"):
        both = convert_to_tensor(lower_upper)
        sizes = shape_of(both)
        unit = eye(sizes[-1], batch_shape=sizes[:-2], dtype=both.dtype)
        unit = reshape(unit, sizes) if both.shape.rank is None else broadcast_to(unit, sizes)
        return lu_solve(both, perm, unit, validate_args)


# Three diagonals.

_tridiagonal = op("TridiagonalSolve", "diagonals: T, rhs: T -> output: T", T=DECOMPOSED, partial_pivoting=True)
_tridiagonal.shape(lambda diagonals, rhs, **attrs: rhs)


@_tridiagonal.kernel(CPU, GPU)
def _tridiagonal_kernel(diagonals: torch.Tensor, rhs: torch.Tensor, *, partial_pivoting: bool) -> torch.Tensor:
    """Gaussian elimination, with an exchange of two rows where the next one has the larger entry."""
    count = rhs.shape[-2]
    main = [diagonals[..., 1, i, None] for i in range(count)]
    above = [diagonals[..., 0, i, None] for i in range(count)]
    beyond = [torch.zeros_like(each) for each in main]
    rows = list(rhs.unbind(-2))
    if count:
        above[-1] = torch.zeros_like(above[-1])
    for i in range(count - 1):
        below = diagonals[..., 2, i + 1, None]
        if partial_pivoting:
            swap = below.abs() > main[i].abs()
            first = (main[i], above[i], beyond[i], rows[i])
            second = (below, main[i + 1], above[i + 1], rows[i + 1])
            pairs = list(zip(first, second, strict=True))
            main[i], above[i], beyond[i], rows[i] = (torch.where(swap, b, a) for a, b in pairs)
            below, main[i + 1], above[i + 1], rows[i + 1] = (torch.where(swap, a, b) for a, b in pairs)
        part = below / main[i]
        main[i + 1] = main[i + 1] - part * above[i]
        above[i + 1] = above[i + 1] - part * beyond[i]
        rows[i + 1] = rows[i + 1] - part * rows[i]
    for i in reversed(range(count)):
        if i + 1 < count:
            rows[i] = rows[i] - above[i] * rows[i + 1]
        if i + 2 < count:
            rows[i] = rows[i] - beyond[i] * rows[i + 2]
        rows[i] = rows[i] / main[i]
    return torch.stack(rows, -2) if rows else rhs.clone()


def _shifted(x: Tensor, by: int, axis: int) -> Tensor:
    """Moved by one along an axis from the end, with zeros where there is nothing."""
    paddings = [[0, 0]] * (len(x.shape) + axis) + [[by > 0, by < 0]] + [[0, 0]] * (-1 - axis)
    paddings = [[int(a), int(b)] for a, b in paddings]
    part = x[..., :-1] if by > 0 else x[..., 1:]
    if axis == -2:
        part = x[..., :-1, :] if by > 0 else x[..., 1:, :]
    return pad(part, paddings)


@_tridiagonal.gradient
def _tridiagonal_gradient(
    grad: Tensor, diagonals: Tensor, output: Tensor, diagonals_shape: SizesOf, *, partial_pivoting: bool
) -> tuple[Any, Any]:
    above, main, below = diagonals[..., 0, :], diagonals[..., 1, :], diagonals[..., 2, :]
    turned = conj(stack([_shifted(below, -1, -1), main, _shifted(above, 1, -1)], -2))
    of_rhs = _tridiagonal(turned, grad, partial_pivoting=partial_pivoting)

    def of_diagonals() -> Tensor:
        known = conj(output)
        parts = [reduce_sum(of_rhs * each, -1) for each in (_shifted(known, -1, -2), known, _shifted(known, 1, -2))]
        return sum_to(negative(stack(parts, -2)), diagonals_shape)

    return of_diagonals, lambda: of_rhs


def _compact(diagonals: Any, form: str) -> Tensor:
    """Three diagonals as the rows of a matrix: the one above the main one, the main one, the one below."""
    if form == "compact":
        given = convert_to_tensor(diagonals)
        if given.shape.rank is not None and (given.shape.rank < 2 or given.shape[-2] not in (3, None)):
            raise ArgumentError(f"Expected diagonals to be 3 in the last but one dimension, got {given.shape}.")
        return given
    if form == "matrix":
        given = convert_to_tensor(diagonals)
        if given.shape.rank is not None and not given.shape[-2:].is_compatible_with(given.shape[-2:][::-1]):
            raise ArgumentError(f"Expected last two dimensions of diagonals to be same, got {given.shape}.")
        return diag_part(given, k=(-1, 1), align="LEFT_RIGHT")
    if form != "sequence":
        raise ArgumentError(f"Unrecognized diagonals_format: {form}")
    if not isinstance(diagonals, (list, tuple)) or len(diagonals) != 3:
        raise ArgumentError("Expected diagonals to be a sequence of length 3.")
    above, main, below = map(convert_to_tensor, diagonals)
    size = main.shape[-1]

    def full(x: Tensor, at_end: bool) -> Tensor:
        if size is None or x.shape[-1] is None or x.shape[-1] == size:
            return x
        if x.shape[-1] != size - 1:
            raise ArgumentError(f"A diagonal beside one of {size} elements has {size - 1} or as many, got {x.shape}.")
        return pad(x, [[0, 0]] * (len(x.shape) - 1) + [[0, 1] if at_end else [1, 0]])

    return stack([full(above, True), main, full(below, False)], -2)


@export("linalg.tridiagonal_solve")
def tridiagonal_solve(
    diagonals: Any,
    rhs: ArrayLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Tensor:
    """The x of ``A x = rhs``, where A has nothing but three diagonals.

    Args:
        diagonals: The one above the main one, the main one, the one below, in the form that `diagonals_format` says.
        rhs: The right-hand sides: a vector, or a matrix with as many rows as A, or a batch of these.
        diagonals_format: ``"compact"``: the rows of a matrix, all as long as the main diagonal, of which the last
            element of the first and the first one of the last do not count; ``"sequence"``: a list of three, or
            ``"matrix"``: A itself.
        transpose_rhs: Whether to transpose `rhs`.
        conjugate_rhs: Whether to conjugate it.
        name: A name for the ops.
        partial_pivoting: Whether rows are exchanged for accuracy.
        perturb_singular: Must be off: singular matrices give infinities.
    """
    if perturb_singular:
        raise ArgumentError("tridiagonal_solve does not perturb singular matrices: leave perturb_singular off.")
    with Composed(name, "tridiagonal_solve"):
        three, right = _compact(diagonals, diagonals_format), convert_to_tensor(rhs)
        if conjugate_rhs:
            right = conj(right)
        is_vector = right.shape.rank is not None and right.shape.rank == len(three.shape) - 1
        if is_vector:
            right = expand_dims(right, -1)
        elif transpose_rhs:
            right = matrix_transpose(right)
        batch = joint_sizes(shape_of(three)[:-2], shape_of(right)[:-2])
        right = broadcast_to(right, concat([batch, shape_of(right)[-2:]], 0))
        made = _tridiagonal(three, right, partial_pivoting=as_bool(partial_pivoting, "partial_pivoting"))
        return squeeze(made, [-1]) if is_vector else made


@export("linalg.tridiagonal_matmul")
def tridiagonal_matmul(
    diagonals: Any, rhs: ArrayLike, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """The product of a matrix that has nothing but three diagonals and another.

    Args:
        diagonals: See ``tf.linalg.tridiagonal_solve``.
        rhs: The other matrix.
        diagonals_format: See ``tf.linalg.tridiagonal_solve``.
        name: A name for the ops.
    """
    with Composed(name, "tridiagonal_matmul"):
        three, right = _compact(diagonals, diagonals_format), convert_to_tensor(rhs)
        above, main, below = (three[..., i, :, None] for i in range(3))
        return main * right + above * _shifted(right, -1, -2) + below * _shifted(right, 1, -2)


@export("linalg.eigh_tridiagonal")
def eigh_tridiagonal(
    alpha: ArrayLike,
    beta: ArrayLike,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: Any = None,
    tol: Any = None,
    name: str | None = None,
) -> Any:
    """The eigenvalues of a Hermitian matrix of three diagonals, in ascending order, and the eigenvectors on demand.

    Args:
        alpha: The main diagonal.
        beta: The diagonal above it, one element shorter.
        eigvals_only: Whether to return the values alone.
        select: Which: ``"a"`` all, ``"i"`` those from a number to another, ``"v"`` those between two values.
        select_range: The two numbers or values.
        tol: Accepted for TensorFlow's programs; the results are as accurate as their dtype.
        name: A name for the ops.
    """
    if select not in ("a", "i", "v"):
        raise ArgumentError("'select must have a value in {'a', 'i', 'v'}.")
    if select != "a" and (select_range is None or len(select_range) != 2):
        raise ArgumentError(f"select={select!r} needs a select_range of two, got {select_range!r}.")
    with Composed(name, "eigh_tridiagonal"):
        main, beside = convert_to_tensor(alpha), convert_to_tensor(beta)
        whole = diag(main) + diag(beside, k=1) + diag(conj(beside), k=-1)
        values, vectors = (eigvalsh(whole), None) if eigvals_only else eigh(whole)
        if values.dtype.is_complex:
            values = cast(values, values.dtype.real_dtype)
        if select == "i":
            first, last = select_range
            if first > last:
                raise ArgumentError("Got empty index range in select_range.")
            values, vectors = values[first : last + 1], None if vectors is None else vectors[:, first : last + 1]
        elif select == "v":
            low, high = select_range
            if low > high:
                raise ArgumentError("Got empty interval in select_range.")
            within = logical_and(greater(values, low), less_equal(values, high))
            vectors = None if vectors is None else boolean_mask(vectors, within, axis=1)
            values = boolean_mask(values, within)
        return values if vectors is None else (values, vectors)


@export("linalg.banded_triangular_solve")
def banded_triangular_solve(
    bands: ArrayLike, rhs: ArrayLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """The x of ``A x = rhs``, where A is triangular and has few diagonals.

    Args:
        bands: The diagonals as the rows of a matrix, from the top right to the bottom left: the main one is the first
            of a lower triangle, and the last of an upper one. Each element stands in its column of A.
        rhs: The right-hand sides.
        lower: Whether the triangle is the lower one.
        adjoint: Whether to solve with the adjoint of A.
        name: A name for the ops.
    """
    with Composed(name, "banded_triangular_solve"):
        given, is_lower = convert_to_tensor(bands), as_bool(lower, "lower")
        count = given.shape[-2] if given.shape.rank is not None else None
        if count is None:
            raise ArgumentError("The number of bands must be known.")
        k = (1 - count, 0) if is_lower else (0, count - 1)
        return triangular_solve(diag(given, k=k, align="LEFT_RIGHT"), rhs, is_lower, as_bool(adjoint, "adjoint"))


# Square roots and logarithms.


def _root(x: torch.Tensor) -> torch.Tensor:
    """The principal square roots of complex matrices: by eigenvalues, or by Newton's method if that is not accurate."""
    values, vectors = torch.linalg.eig(x)
    try:
        made = torch.linalg.solve(vectors, vectors * values.sqrt()[..., None, :], left=False)
    except RuntimeError:
        made = torch.full_like(x, torch.nan)
    scale = x.abs().amax((-2, -1), keepdim=True).clamp_min(1e-300)
    far = ~((made @ made - x).abs() <= 1e-11 * scale).all(-1).all(-1)
    if bool(far.any()):
        made[far] = _newton_root(x[far])
    return made  # type: ignore[no-any-return]


def _newton_root(x: torch.Tensor) -> torch.Tensor:
    unit = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    root, inverse = x, unit.expand_as(x)
    for _ in range(100):
        halved = torch.linalg.inv_ex(inverse)[0], torch.linalg.inv_ex(root)[0]
        before, root, inverse = root, (root + halved[0]) / 2, (inverse + halved[1]) / 2
        if bool(((root - before).abs() <= 1e-15 * root.abs().amax((-2, -1), keepdim=True)).all()):
            break
    return root


_square_root = op("MatrixSquareRoot", "input: T -> output: T", T=DECOMPOSED)
_logarithm = op("MatrixLogarithm", "input: T -> output: T", T=COMPLEX)


@_square_root.shape
@_logarithm.shape
def _square_matrix(input: TensorShape) -> TensorShape:
    if input.rank is not None and (input.rank < 2 or not input[-2:].is_compatible_with(input[-2:][::-1])):
        raise ArgumentError(f"Input matrix must be square, got shape {input}.")
    return input


@_square_root.kernel(CPU, GPU)
def _square_root_kernel(input: torch.Tensor) -> torch.Tensor:
    if not input.numel():
        return input.clone()
    root = _root(input.to(torch.complex128))
    if input.is_complex():
        return root.to(input.dtype)
    unreal = root.imag.abs().amax((-2, -1), keepdim=True) > 1e-7 * root.real.abs().amax((-2, -1), keepdim=True)
    return torch.where(unreal, torch.nan, root.real).to(input.dtype)


@_square_root.gradient
def _square_root_gradient(grad: Tensor, output: Tensor) -> Tensor:
    """The G of ``X^H G + G X^H = grad``, as one system of equations for all of its elements."""
    sizes, turned = shape_of(output), adjoint(output)
    count = sizes[-1]
    unit = eye(count, dtype=output.dtype)
    left = turned[..., :, None, :, None] * unit[None, :, None, :]
    right = unit[:, None, :, None] * conj(output)[..., None, :, None, :]
    square = concat([sizes[:-2], stack([count * count, count * count])], 0)
    column = concat([sizes[:-2], stack([count * count, 1])], 0)
    return reshape(solve(reshape(left + right, square), reshape(grad, column)), sizes)


@export("linalg.sqrtm", "matrix_square_root", v1=("linalg.sqrtm", "matrix_square_root"))
def sqrtm(input: ArrayLike, name: str | None = None) -> Tensor:
    """The principal square roots of matrices: products with themselves give the matrices. NaN where there is none.

    Args:
        input: A square matrix, or a batch.
        name: A name for the op.
    """
    return _square_root(input, name=name)


@_logarithm.kernel(CPU, GPU)
def _logarithm_kernel(input: torch.Tensor) -> torch.Tensor:
    """Roots are taken until they are close to one, where a series for ``2 atanh((X - 1) / (X + 1))`` is short."""
    if not input.numel():
        return input.clone()
    x, times = input.to(torch.complex128), 1
    unit = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    while times < 2**40 and float((x - unit).abs().amax()) * x.shape[-1] > 0.1:
        x, times = _root(x), times * 2
    part = torch.linalg.solve_ex(x + unit, x - unit)[0]
    squared, power, total = part @ part, part, part
    for n in range(3, 21, 2):
        power = power @ squared
        total = total + power / n
    return (2 * times * total).to(input.dtype)  # type: ignore[no-any-return]


@export("linalg.logm")
def logm(input: ArrayLike, name: str | None = None) -> Tensor:
    """The logarithms of complex matrices, which ``tf.linalg.expm`` undoes.

    Args:
        input: A square matrix of a complex dtype, or a batch.
        name: A name for the op.
    """
    return _logarithm(input, name=name)


# Conjugate gradients.


class CGState(NamedTuple):
    """What `conjugate_gradient` returns."""

    i: Any
    x: Any
    r: Any
    p: Any
    gamma: Any


@export("linalg.experimental.conjugate_gradient")
def conjugate_gradient(
    operator: Any,
    rhs: ArrayLike,
    preconditioner: Any = None,
    x: Any = None,
    tol: float = 1e-5,
    max_iter: int = 20,
    name: str = "conjugate_gradient",
) -> CGState:
    """An approximate x of ``A x = rhs`` for a positive definite operator, with the state of the search.

    Args:
        operator: A ``tf.linalg.LinearOperator`` that is self-adjoint and positive definite.
        rhs: A vector, or a batch of vectors.
        preconditioner: An operator that approximates the inverse.
        x: Where to begin; zeros by default.
        tol: The search ends when what is left of `rhs` is so small a part of it.
        max_iter: The most steps.
        name: A name for the ops.
    """
    if not isinstance(operator, LinearOperator):
        raise DTypeError(f"conjugate_gradient takes a tf.linalg.LinearOperator, got {shown(operator)}.")
    if not (operator.is_self_adjoint and operator.is_positive_definite):
        raise ArgumentError("Expected a self-adjoint, positive definite operator.")
    with Composed(name, "conjugate_gradient"):
        right = convert_to_tensor(rhs)
        tiny = tol * _length(right)

        def dot(a: Tensor, b: Tensor) -> Tensor:
            return reduce_sum(conj(a) * b, -1)

        def guided(r: Tensor) -> Tensor:
            return r if preconditioner is None else preconditioner.matvec(r)

        def goes_on(i: Any, state: CGState) -> Any:
            return logical_and(i < max_iter, reduce_max(_length(state.r) - tiny) > 0)

        def step(i: Any, state: CGState) -> Any:
            z = operator.matvec(state.p)
            by = (state.gamma / dot(state.p, z))[..., None]
            r = state.r - by * z
            q = guided(r)
            gamma = dot(r, q)
            p = q + (gamma / state.gamma)[..., None] * state.p
            return i + 1, CGState(i + 1, state.x + by * state.p, r, p, gamma)

        start = zeros_like(right) if x is None else convert_to_tensor(x)
        left = right if x is None else right - operator.matvec(start)
        first = guided(left)
        zero = convert_to_tensor(0, dt.int32)
        return while_loop(goes_on, step, (zero, CGState(zero, start, left, first, dot(left, first))))[1]  # type: ignore[no-any-return]


def _length(x: Tensor) -> Tensor:
    squared = reduce_sum(conj(x) * x, -1)
    return cast(squared, squared.dtype.real_dtype) ** 0.5
