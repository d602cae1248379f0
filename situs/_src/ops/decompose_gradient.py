"""Gradients of solving and decomposing.

The rules of the ops in `ops.decompose`, where each is attached to its op. They follow from the effect of a small change
of the input on the results: for ``X = inv(A)``, for example, ``dX = -X dA X``.

Factors are not unique: columns of `u` and `v` may change their signs, or turn by any angle if they are complex. A
gradient exists for what does not depend on that choice, and where no two singular values or eigenvalues are equal.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from situs._src.base.errors import UnimplementedError
from situs._src.base.shapes import brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import SizesOf
from situs._src.ir.registry.op import find_op
from situs._src.ops.array import expand_dims
from situs._src.ops.cast import cast, complex_dtype, real
from situs._src.ops.constant import ones_like, zeros_like
from situs._src.ops.cumulative import add_n
from situs._src.ops.diagonal import band_part, diag, diag_part, set_diag
from situs._src.ops.gather import one_hot
from situs._src.ops.join import concat, split
from situs._src.ops.linalg import adjoint as adjoint_of
from situs._src.ops.linalg import matmul
from situs._src.ops.math import add, conjugated, divide, multiply, negative, reciprocal_no_nan, square, subtract
from situs._src.ops.sum_to import sum_to

# Inverses and determinants.


def inverse_gradient(grad: Tensor, output: Tensor, *, adjoint: bool) -> Tensor:
    """Back through an inverse, or the inverse of an adjoint."""
    inner = matmul(grad, output, adjoint_a=adjoint, adjoint_b=not adjoint)
    return negative(matmul(output, inner, adjoint_a=not adjoint))


def determinant_gradient(grad: Tensor, input: Tensor, output: Tensor) -> Tensor:
    """Back through a determinant."""
    return multiply(_over_matrices(multiply(grad, conjugated(output))), _adjoint_inverse(input))


def log_determinant_gradient(grads: list[Any], input: Tensor) -> Tensor | None:
    """Back through the logarithm of a determinant's absolute value; its sign is taken as a constant."""
    if grads[1] is None:
        return None
    return multiply(_over_matrices(_real_part(grads[1])), _adjoint_inverse(input))


def _adjoint_inverse(matrix: Tensor) -> Tensor:
    return find_op("MatrixInverse")(matrix, adjoint=True)


def _over_matrices(x: Tensor) -> Tensor:
    """One number for each matrix, so that it broadcasts over the matrix."""
    return expand_dims(expand_dims(x, -1), -1)


def _real_part(x: Tensor) -> Tensor:
    """The real part as a complex number, of a tensor that stands for real numbers."""
    return cast(real(x), x.dtype) if x.dtype.is_complex else x


# Equations.


def solve_gradient(grad: Tensor, matrix: Tensor, output: Tensor, *, adjoint: bool) -> tuple[Any, Any]:
    """Back through the solution of equations."""
    of_rhs = cache(lambda: find_op("MatrixSolve")(matrix, grad, adjoint=not adjoint))
    return lambda: _matrix_gradient(of_rhs(), output, adjoint), of_rhs


def triangular_solve_gradient(
    grad: Tensor,
    matrix: Tensor,
    output: Tensor,
    matrix_shape: SizesOf,
    rhs_shape: SizesOf,
    *,
    lower: bool,
    adjoint: bool,
) -> tuple[Any, Any]:
    """Back through the solution of triangular equations: only the triangle that was read has a gradient."""
    of_rhs = cache(lambda: _solve_triangular(matrix, grad, lower=lower, adjoint=not adjoint))

    def of_matrix() -> Tensor:
        whole = sum_to(_matrix_gradient(of_rhs(), output, adjoint), matrix_shape)
        return band_part(whole, -1, 0) if lower else band_part(whole, 0, -1)

    return of_matrix, lambda: sum_to(of_rhs(), rhs_shape)


def _matrix_gradient(of_rhs: Tensor, solution: Tensor, adjoint: bool) -> Tensor:
    first, second = (solution, of_rhs) if adjoint else (of_rhs, solution)
    return negative(matmul(first, second, adjoint_b=True))


def _solve_triangular(matrix: Tensor, rhs: Tensor, *, lower: bool = True, adjoint: bool = False) -> Tensor:
    return find_op("MatrixTriangularSolve")(matrix, rhs, lower=lower, adjoint=adjoint)


# Triangular factors.


def cholesky_gradient(grad: Tensor, output: Tensor) -> Tensor:
    """Back through a Cholesky factor; the gradient is self-adjoint, as the input is taken to be."""
    inner = band_part(matmul(output, grad, adjoint_a=True), -1, 0)
    inner = set_diag(inner, multiply(diag_part(inner), 0.5))
    half = adjoint_of(_solve_triangular(output, inner, adjoint=True))
    whole = _solve_triangular(output, half, adjoint=True)
    return multiply(add(whole, adjoint_of(whole)), 0.5)


def lu_gradient(grads: list[Any], input_shape: SizesOf, lu: Tensor, p: Tensor) -> Tensor | None:
    """Back through both triangular factors of matrices, and the order of their rows."""
    grad = grads[0]
    if grad is None:
        return None
    upper = band_part(lu, 0, -1)
    lower = band_part(set_diag(lu, ones_like(diag_part(lu))), -1, 0)
    below = matmul(lower, _strictly_lower(grad), adjoint_a=True)
    above = matmul(band_part(grad, 0, -1), upper, adjoint_b=True)
    inner = add(_strictly_lower(below), band_part(above, 0, -1))
    reordered = _times_inverse_adjoint(_solve_triangular(lower, inner, adjoint=True), upper)
    order = one_hot(p, input_shape[-1], dtype=lu.dtype)
    return matmul(order, reordered, transpose_a=True)


def _strictly_lower(x: Tensor) -> Tensor:
    return subtract(band_part(x, -1, 0), band_part(x, 0, 0))


def _times_inverse_adjoint(x: Tensor, upper: Tensor) -> Tensor:
    """``x`` times the inverse of the adjoint of an upper triangular matrix."""
    return adjoint_of(_solve_triangular(upper, adjoint_of(x), lower=False))


def qr_gradient(grads: list[Any], input: Tensor, q: Tensor, r: Tensor, *, full_matrices: bool) -> Tensor:
    """Back through orthogonal and triangular factors.

    Raises:
        UnimplementedError: the sizes of the matrices are not known, or `q` has columns that they do not determine.
    """
    rows, columns = _known_sizes(input, "qr")
    if full_matrices and rows != columns:
        raise UnimplementedError(
            f"The gradient of tf.linalg.qr with full_matrices=True exists for square matrices only, got "
            f"{brackets(input.shape)}. Leave full_matrices out."
        )
    of_q, of_r = (zeros_like(x) if grad is None else grad for grad, x in zip(grads, (q, r), strict=True))
    if rows >= columns:
        return _tall_qr_gradient(of_q, of_r, q, r)
    rest = [rows, columns - rows]
    r_left, _ = split(r, rest, axis=-1)
    of_left, of_right = split(of_r, rest, axis=-1)
    _, right = split(input, rest, axis=-1)
    of_q = add(of_q, matmul(right, of_right, adjoint_b=True))
    return concat([_tall_qr_gradient(of_q, of_left, q, r_left), matmul(q, of_right)], -1)


def _known_sizes(matrix: Tensor, function: str) -> tuple[int, int]:
    rows, columns = (None, None) if matrix.shape.rank is None else matrix.shape[-2:].as_list()
    if rows is None or columns is None:
        raise UnimplementedError(
            f"The gradient of tf.linalg.{function} needs the sizes of the matrices when the graph is built, got "
            f"{brackets(matrix.shape)}. Set them with tf.ensure_shape."
        )
    return rows, columns


def _tall_qr_gradient(of_q: Tensor, of_r: Tensor, q: Tensor, r: Tensor) -> Tensor:
    within = matmul(q, of_q, adjoint_a=True)
    triangle = subtract(matmul(r, of_r, adjoint_b=True), adjoint_of(within))
    skew = band_part(subtract(triangle, adjoint_of(triangle)), -1, 0)
    if q.dtype.is_complex:  # the diagonal of r is real, and what would turn it is not one of the gradient
        diagonal = diag_part(triangle)
        skew = add(skew, conjugated(diag(subtract(diagonal, _real_part(diagonal)))))
    return add(
        matmul(q, add(of_r, _times_inverse_adjoint(skew, r))),
        _times_inverse_adjoint(subtract(of_q, matmul(q, within)), r),
    )


# Singular values.


def svd_gradient(
    grads: list[Any], input: Tensor, s: Tensor, u: Tensor, v: Tensor, *, compute_uv: bool, full_matrices: bool
) -> Tensor:
    """Back through singular values and vectors.

    Raises:
        UnimplementedError: `u` or `v` have columns that the matrices do not determine.
    """
    if not compute_uv:
        _, u, v = find_op("Svd").many(input)
        return matmul(matmul(u, diag(_real_part(grads[0]))), v, adjoint_b=True)
    if full_matrices and len(set(_known_sizes(input, "svd"))) > 1:
        raise UnimplementedError(
            f"The gradient of tf.linalg.svd with full_matrices=True exists for square matrices only, got "
            f"{brackets(input.shape)}. Leave full_matrices out."
        )
    of_s, of_u, of_v = grads
    parts = [] if of_s is None else [matmul(matmul(u, diag(_real_part(of_s))), v, adjoint_b=True)]
    if of_u is not None:
        parts.append(_left_vectors_gradient(of_u, s, u, v))
    if of_v is not None:  # of the adjoint matrix they are the left ones
        parts.append(adjoint_of(_left_vectors_gradient(of_v, s, v, u, turn=False)))
    return parts[0] if len(parts) == 1 else add_n(parts)


def _left_vectors_gradient(of_u: Tensor, s: Tensor, u: Tensor, v: Tensor, turn: bool = True) -> Tensor:
    """The gradient of matrices ``u diag(s) adjoint(v)`` from that of `u`.

    Where `u` and `v` are complex, both may be turned by an angle; `turn` says whether to count that in.
    """
    squares, columns = square(s), expand_dims(s, -2)
    gaps = reciprocal_no_nan(subtract(expand_dims(squares, -2), expand_dims(squares, -1)))
    within = matmul(u, of_u, adjoint_a=True)
    skew = subtract(within, adjoint_of(within))
    inner = multiply(multiply(skew, gaps), columns)
    if turn and u.dtype.is_complex:
        inner = add(inner, diag(divide(diag_part(skew), multiply(s, 2))))
    outside = divide(subtract(of_u, matmul(u, within)), columns)
    return matmul(add(matmul(u, inner), outside), v, adjoint_b=True)


# Eigenvalues.


def eigh_gradient(grads: list[Any], input: Tensor, e: Tensor, v: Tensor, *, compute_v: bool) -> Tensor:
    """Back through eigenvalues and eigenvectors of self-adjoint matrices, to the lower triangles that were read."""
    of_e, of_v = grads if compute_v else (grads[0], None)
    if not compute_v:
        e, v = find_op("SelfAdjointEigV2").many(input)
    inner = None if of_e is None else diag(_real_part(of_e))
    if of_v is not None:
        gaps = reciprocal_no_nan(subtract(expand_dims(e, -2), expand_dims(e, -1)))
        turned = multiply(gaps, matmul(v, of_v, adjoint_a=True))
        inner = turned if inner is None else add(inner, turned)
    assert inner is not None, "a rule is called if there is a gradient"
    whole = matmul(matmul(v, inner), v, adjoint_b=True)
    both = band_part(add(whole, adjoint_of(whole)), -1, 0)
    return set_diag(both, multiply(diag_part(both), 0.5))


def eig_gradient(grads: list[Any], input: Tensor, e: Tensor, v: Tensor, *, compute_v: bool) -> Tensor:
    """Back through eigenvalues and eigenvectors, which are complex, of matrices that may be real."""
    of_e, of_v = grads if compute_v else (grads[0], None)
    if not compute_v:
        e, v = find_op("Eig").many(input, Tout=complex_dtype(input.dtype))
    inner = None if of_e is None else diag(of_e)
    if of_v is not None:
        within = matmul(v, of_v, adjoint_a=True)
        # Vectors have length one: what would change that is not one of the gradient.
        lengths = _real_part(diag_part(within))
        within = subtract(within, matmul(v, multiply(v, expand_dims(lengths, -2)), adjoint_a=True))
        gaps = conjugated(subtract(expand_dims(e, -2), expand_dims(e, -1)))
        turned = multiply(within, reciprocal_no_nan(gaps))
        inner = turned if inner is None else add(inner, turned)
    assert inner is not None, "a rule is called if there is a gradient"
    whole = find_op("MatrixSolve")(v, matmul(inner, v, adjoint_b=True), adjoint=True)
    return whole if input.dtype.is_complex else real(whole)


# Functions of matrices.


def exponential_gradient(grad: Tensor, input: Tensor) -> Tensor:
    """Back through an exponential: a block of the exponential of a matrix of twice the size."""
    turned = adjoint_of(input)
    upper, lower = concat([turned, grad], -1), concat([zeros_like(turned), turned], -1)
    whole = find_op("MatrixExponential")(concat([upper, lower], -2))
    return split(split(whole, 2, axis=-2)[0], 2, axis=-1)[1]
