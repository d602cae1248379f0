"""Solving and decomposing: inverses, determinants, factors, singular values, eigenvalues.

A matrix is the last two dimensions of a tensor; the dimensions before them make it a batch. As in
TensorFlow, these functions take float32, float64 and complex numbers, not half precision. A matrix
that cannot be inverted or factored is an error, not a result full of NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from situs._src.base.dtype import COMPLEX, INDEX, DType, as_dtype, float32, float64, int32
from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, Dim, TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, DTypeLike, IntsLike
from situs._src.ir.graph.node import Operation
from situs._src.ops import decompose_gradient as rules
from situs._src.ops.array import expand_dims, shape
from situs._src.ops.attribute import as_bool
from situs._src.ops.cast import cast, complex_dtype, dtype_of, real
from situs._src.ops.compare import greater, greater_equal
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.control import cond
from situs._src.ops.define import CPU, GPU, KernelValue, all_finite, of_sizes, op
from situs._src.ops.diagonal import diag_part, eye
from situs._src.ops.linalg import batch_shape, matmul
from situs._src.ops.math import add, log, maximum, multiply, reciprocal_no_nan
from situs._src.ops.naming import Composed
from situs._src.ops.reduce import reduce_max, reduce_sum
from situs._src.runtime.eager.bridge import TORCH_DTYPE

PRECISE = frozenset({float32, float64}) | COMPLEX
NotSuccessful: type[RuntimeError] = torch.linalg.LinAlgError  # type: ignore[attr-defined]


# Shapes.


def _matrix(input: TensorShape) -> tuple[TensorShape, Dim, Dim]:
    """The batch, the rows and the columns of matrices."""
    if input.rank is None:
        return UNKNOWN, None, None
    if input.rank < 2:
        raise ArgumentError(f"Input tensor 0 must have rank >= 2, got {input.rank}: {brackets(input)}")
    return input[:-2], input[-2], input[-1]


def _square(input: TensorShape) -> tuple[TensorShape, Dim]:
    """The batch and the size of square matrices."""
    batch, rows, columns = _matrix(input)
    if rows is not None and columns is not None and rows != columns:
        raise ArgumentError(f"Input matrix must be square, got {brackets(input)}.")
    return batch, columns if rows is None else rows


def _square_shape(input: TensorShape, **attrs: Any) -> TensorShape:
    batch, size = _square(input)
    return batch.concatenate([size, size])


def _smaller(rows: Dim, columns: Dim) -> Dim:
    return None if rows is None or columns is None else min(rows, columns)


_square_sizes, _matrix_sizes = of_sizes(_square), of_sizes(_matrix)


def _check_square(x: torch.Tensor) -> None:
    _square_sizes(x.shape)


def _failed(info: torch.Tensor) -> bool:
    """Whether LAPACK said of a matrix that it could not do it."""
    return bool(info if info.ndim == 0 else info.any())


@contextmanager
def _explained(what: str, x: torch.Tensor) -> Iterator[None]:
    """Raises an error that names the decomposition if it fails.

    NaN and infinity are refused beforehand: LAPACK makes finite eigenvalues of them, or crashes.
    """
    failure = ArgumentError(f"{what} was not successful. The input might not be valid.")
    if not all_finite(x):
        raise failure
    try:
        yield
    except NotSuccessful:
        raise failure from None


# Small matrices on the host: NumPy, whose LAPACK is twice as fast there, and which computes in double precision.

_SMALL = 64  # rows


def _is_small(x: torch.Tensor) -> bool:
    return x.device.type == "cpu" and x.ndim >= 2 and x.shape[-1] <= _SMALL


def _by_numpy(function: Callable[..., Any], *matrices: torch.Tensor) -> torch.Tensor:
    with np.errstate(all="ignore"):
        return torch.from_numpy(np.asarray(function(*[each.resolve_conj().resolve_neg().numpy() for each in matrices])))


# What decompositions take: all is about the product of both sizes of a matrix with the smaller one, times a figure.


def _multiplications(node: Operation, times: float) -> int | None:
    matrices = node.inputs[0].shape
    count = matrices.num_elements()
    if count is None or len(matrices) < 2:
        return None
    rows, columns = matrices[-2:]
    return int(times * count * min(rows or 0, columns or 0))


def _multiplications_to_solve(node: Operation, times: float) -> int | None:
    """As of the matrix, and its rows by what is on the right."""
    own, right = _multiplications(node, times), node.inputs[1].shape.num_elements()
    if own is None or right is None:
        return None
    return own + right * (node.inputs[0].shape[-1] or 0)


# Inverses and determinants.

_inverse = op("MatrixInverse", "input: T -> output: T", T=PRECISE, adjoint=False)
_inverse.work(partial(_multiplications, times=1.0))
_inverse.shape(_square_shape)


@_inverse.kernel(CPU, GPU)
def _inverse_kernel(input: torch.Tensor, adjoint: bool = False) -> Any:
    _check_square(input)
    matrix = input.mH if adjoint else input
    failure = ArgumentError("Input is not invertible.")
    if _is_small(input):
        try:
            return _by_numpy(np.linalg.inv, matrix)
        except np.linalg.LinAlgError:
            raise failure from None
    inverse, info = torch.linalg.inv_ex(matrix)
    if _failed(info):
        raise failure
    return inverse


_inverse.gradient(rules.inverse_gradient)


@export("linalg.inv", v1=("matrix_inverse", "linalg.inv"))
def inv(input: ArrayLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Inverts matrices; those of their adjoints if `adjoint` is set.

    Raises:
        ValueError: a matrix is not square, or not invertible.
    """
    return _inverse(input, adjoint=as_bool(adjoint, "adjoint"), name=name)


_determinant = op("MatrixDeterminant", "input: T -> output: T", T=PRECISE)
_determinant.work(partial(_multiplications, times=1 / 3))
_log_determinant = op("LogMatrixDeterminant", "input: T -> sign: T, log_abs_determinant: T", T=PRECISE)
_log_determinant.work(partial(_multiplications, times=1 / 3))


@_determinant.shape
def _determinant_shape(input: TensorShape) -> TensorShape:
    return _square(input)[0]


@_log_determinant.shape
def _log_determinant_shape(input: TensorShape) -> tuple[TensorShape, TensorShape]:
    return (_square(input)[0],) * 2


@_determinant.kernel(CPU, GPU)
def _determinant_kernel(input: torch.Tensor) -> torch.Tensor:
    _check_square(input)
    determinant: torch.Tensor = _by_numpy(np.linalg.det, input) if _is_small(input) else torch.linalg.det(input)
    return determinant


@_log_determinant.kernel(CPU, GPU)
def _log_determinant_kernel(input: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    _check_square(input)
    if _is_small(input):
        with np.errstate(all="ignore"):
            both = np.linalg.slogdet(input.resolve_conj().resolve_neg().numpy())
        sign, logarithm = (torch.from_numpy(np.asarray(each)).to(input.dtype) for each in both)
        return sign, logarithm
    sign, logarithm = torch.linalg.slogdet(input)
    return sign, logarithm.to(input.dtype)


_determinant.gradient(rules.determinant_gradient)
_log_determinant.gradient(rules.log_determinant_gradient)


@export(
    "linalg.det",
    v1=("matrix_determinant", "linalg.det"),
    differs="The gradient of complex numbers is conjugated, as all others are.",
)
def det(input: ArrayLike, name: str | None = None) -> Tensor:
    """Computes the determinants of square matrices."""
    return _determinant(input, name=name)


class LogMatrixDeterminant(NamedTuple):
    """The result of `slogdet`."""

    sign: Tensor
    log_abs_determinant: Tensor


@export("linalg.slogdet")
def slogdet(input: ArrayLike, name: str | None = None) -> LogMatrixDeterminant:
    """Computes the signs of determinants, and the logarithms of their absolute values."""
    return LogMatrixDeterminant(*_log_determinant.many(input, name=name))


@export("linalg.logdet")
def logdet(matrix: ArrayLike, name: str | None = None) -> Tensor:
    """Computes the logarithms of the determinants of positive definite matrices."""
    with Composed(name, "logdet") as last:
        pivots = real(diag_part(cholesky(matrix)))
        return multiply(reduce_sum(log(pivots), -1), 2.0, last)


# Cholesky factors.

_cholesky = op("Cholesky", "input: T -> output: T", T=PRECISE)
_cholesky.work(partial(_multiplications, times=1 / 6))
_cholesky.shape(_square_shape)


@_cholesky.kernel(CPU, GPU)
def _cholesky_kernel(input: torch.Tensor) -> Any:
    _check_square(input)
    factor, info = torch.linalg.cholesky_ex(input)
    if bool(info.any()):
        raise ArgumentError("Cholesky decomposition was not successful. The input might not be valid.")
    return factor


_cholesky.gradient(rules.cholesky_gradient)


@export(
    "linalg.cholesky",
    v1=("cholesky", "linalg.cholesky"),
    differs="A matrix that is not positive definite, or has NaN or infinities in it, is an error; TensorFlow "
    "returns NaN on the CPU.",
)
def cholesky(input: ArrayLike, name: str | None = None) -> Tensor:
    """Finds the lower triangular factors L of positive definite matrices: L times its adjoint.

    Only the lower triangles of the matrices are read.

    Raises:
        ValueError: a matrix is not positive definite.
    """
    return _cholesky(input, name=name)


@export("linalg.cholesky_solve", v1=("cholesky_solve", "linalg.cholesky_solve"))
def cholesky_solve(chol: ArrayLike, rhs: ArrayLike, name: str | None = None) -> Tensor:
    """Solves ``A x = rhs``, given the Cholesky factor of A."""
    with Composed(name, "cholesky_solve") as last:
        return triangular_solve(chol, triangular_solve(chol, rhs), adjoint=True, name=last)


# Linear equations.

_solve = op("MatrixSolve", "matrix: T, rhs: T -> output: T", T=PRECISE, adjoint=False)
_solve.work(partial(_multiplications_to_solve, times=1 / 3))


@_solve.shape
def _solve_shape(matrix: TensorShape, rhs: TensorShape, *, adjoint: bool) -> TensorShape:
    batch, size = _square(matrix)
    if rhs.rank is None or matrix.rank is None:
        return UNKNOWN
    if matrix.rank != rhs.rank:
        raise ArgumentError(
            f"All input tensors must have the same rank: {brackets(matrix)} and {brackets(rhs)}. "
            "A vector is a matrix of one column: tf.expand_dims(rhs, -1)."
        )
    if not batch.is_compatible_with(rhs[:-2]):
        raise ArgumentError(
            f"All input tensors must have the same outer dimensions: {brackets(matrix)} and {brackets(rhs)}."
        )
    if size is not None and rhs[-2] not in (None, size):
        raise ArgumentError(f"Input matrix and rhs are incompatible: {brackets(matrix)} and {brackets(rhs)}.")
    return batch.merge_with(rhs[:-2]).concatenate([size, rhs[-1]])


_solve_sizes = of_sizes(_solve_shape)


@_solve.kernel(CPU, GPU)
def _solve_kernel(matrix: torch.Tensor, rhs: torch.Tensor, adjoint: bool = False) -> Any:
    _solve_sizes(matrix.shape, rhs.shape, adjoint=adjoint)
    used = matrix.mH if adjoint else matrix
    failure = ArgumentError("Input matrix is not invertible.")
    if _is_small(matrix):
        try:
            return _by_numpy(np.linalg.solve, used, rhs)
        except np.linalg.LinAlgError:
            raise failure from None
    solution, info = torch.linalg.solve_ex(used, rhs)
    if _failed(info):
        raise failure
    return solution


_solve.gradient(rules.solve_gradient)


@export("linalg.solve", v1=("matrix_solve", "linalg.solve"))
def solve(matrix: ArrayLike, rhs: ArrayLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Solves ``matrix x = rhs``, or with the adjoint of the matrix.

    Raises:
        ValueError: the sizes do not match, or a matrix is not invertible.
    """
    return _solve(matrix, rhs, adjoint=as_bool(adjoint, "adjoint"), name=name)


_triangular_solve = op("MatrixTriangularSolve", "matrix: T, rhs: T -> output: T", T=PRECISE, lower=True, adjoint=False)
_triangular_solve.work(partial(_multiplications_to_solve, times=0.0))


@_triangular_solve.shape
def _triangular_shape(matrix: TensorShape, rhs: TensorShape, *, lower: bool, adjoint: bool) -> TensorShape:
    size = _square(matrix)[1]
    if rhs.rank is not None and rhs.rank < 2:
        raise ArgumentError(
            f"In[1] ndims must be >= 2: {rhs.rank}. A vector is a matrix of one column: tf.expand_dims(rhs, -1)."
        )
    if rhs.rank is None or matrix.rank is None:
        return UNKNOWN
    if size is not None and rhs[-2] not in (None, size):
        raise ArgumentError(f"In[0] mismatch In[1] shape: {size} vs. {rhs[-2]}: {brackets(matrix)} {brackets(rhs)}")
    return batch_shape(matrix, rhs).concatenate([size, rhs[-1]])


_triangular_sizes = of_sizes(_triangular_shape)


@_triangular_solve.kernel(CPU, GPU)
def _triangular_kernel(
    matrix: torch.Tensor, rhs: torch.Tensor, lower: bool = True, adjoint: bool = False
) -> torch.Tensor:
    _triangular_sizes(matrix.shape, rhs.shape, lower=lower, adjoint=adjoint)
    used = matrix.mH if adjoint else matrix
    solution: torch.Tensor = torch.linalg.solve_triangular(used, rhs, upper=lower == adjoint)
    return solution


_triangular_solve.gradient(rules.triangular_solve_gradient)


@export("linalg.triangular_solve", v1=("matrix_triangular_solve", "linalg.triangular_solve"))
def triangular_solve(
    matrix: ArrayLike, rhs: ArrayLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solves ``matrix x = rhs`` for triangular matrices; their other triangles are not read.

    Args:
        matrix: Square matrices.
        rhs: The right-hand sides, as the columns of matrices; batches broadcast.
        lower: Whether the lower triangles count, or the upper ones.
        adjoint: Whether to solve with the adjoints of the matrices.
        name: A name for the op.
    """
    return _triangular_solve(matrix, rhs, lower=as_bool(lower, "lower"), adjoint=as_bool(adjoint, "adjoint"), name=name)


# Least squares.

_least_squares = op("MatrixSolveLs", "matrix: T, rhs: T -> output: T", T=PRECISE)
_least_squares.work(partial(_multiplications_to_solve, times=1.0))


@_least_squares.shape
def _least_squares_shape(matrix: TensorShape, rhs: TensorShape) -> TensorShape:
    _, rows, columns = _matrix(matrix)
    _, height, width = _matrix(rhs)
    if rows is not None and height is not None and rows != height:
        raise ArgumentError(f"Matrix size-incompatible: In[0]: {brackets(matrix)}, In[1]: {brackets(rhs)}")
    if matrix.rank is None or rhs.rank is None:
        return UNKNOWN
    return batch_shape(matrix, rhs).concatenate([columns, width])


_least_squares_sizes = of_sizes(_least_squares_shape)


@_least_squares.kernel(CPU, GPU)
def _least_squares_kernel(matrix: torch.Tensor, rhs: torch.Tensor) -> torch.Tensor:
    _least_squares_sizes(matrix.shape, rhs.shape)
    with _explained("Least squares", matrix):
        inverse: torch.Tensor = torch.linalg.pinv(matrix)
    return inverse @ rhs


@export("linalg.lstsq", v1=("matrix_solve_ls", "linalg.lstsq"))
def lstsq(
    matrix: ArrayLike, rhs: ArrayLike, l2_regularizer: ArrayLike = 0.0, fast: bool = True, name: str | None = None
) -> Tensor:
    """Finds the x that brings ``matrix x`` nearest to `rhs`; of several, the smallest.

    Args:
        matrix: The matrices.
        rhs: The right-hand sides, as the columns of matrices.
        l2_regularizer: How much to hold the size of x down; only with `fast`.
        fast: Whether to solve the normal equations, which needs matrices of full rank, or to go
            through singular values, which is slower, more precise, and works for every matrix.
        name: A name for the op.

    Raises:
        ValueError: the sizes do not match, or a matrix has not full rank and `fast` is set.
    """
    matrix = convert_to_tensor(matrix)
    rhs = convert_to_tensor(rhs, matrix.dtype)
    _least_squares_shape(matrix.shape, rhs.shape)
    if not as_bool(fast, "fast"):
        return _least_squares(matrix, rhs, name=name)
    with Composed(name, "matrix_solve_ls") as last:
        rows, columns = _sizes(matrix)
        if isinstance(rows, int) and isinstance(columns, int):
            return (_overdetermined if rows >= columns else _underdetermined)(matrix, rhs, l2_regularizer, last)
        return cond(  # type: ignore[no-any-return]
            greater_equal(rows, columns),
            lambda: _overdetermined(matrix, rhs, l2_regularizer),
            lambda: _underdetermined(matrix, rhs, l2_regularizer),
            name=last,
        )


def _sizes(matrix: Tensor) -> list[Any]:
    """The rows and columns of matrices: integers, or tensors of them where they are not known."""
    known = [matrix.shape[-2], matrix.shape[-1]]
    if None not in known:
        return list(known)
    sizes = shape(matrix)
    return [sizes[-2], sizes[-1]]


def _overdetermined(matrix: Tensor, rhs: Tensor, l2_regularizer: ArrayLike, name: str | None = None) -> Tensor:
    gram = matmul(matrix, matrix, adjoint_a=True)
    factor = cholesky(_regularized(gram, _sizes(matrix)[1], l2_regularizer))
    return cholesky_solve(factor, matmul(matrix, rhs, adjoint_a=True), name)


def _underdetermined(matrix: Tensor, rhs: Tensor, l2_regularizer: ArrayLike, name: str | None = None) -> Tensor:
    gram = matmul(matrix, matrix, adjoint_b=True)
    factor = cholesky(_regularized(gram, _sizes(matrix)[0], l2_regularizer))
    return matmul(matrix, cholesky_solve(factor, rhs), adjoint_a=True, name=name)


def _regularized(gram: Tensor, size: IntsLike, l2_regularizer: ArrayLike) -> Tensor:
    if isinstance(l2_regularizer, (int, float)) and l2_regularizer == 0:
        return gram
    weight = cast(l2_regularizer, gram.dtype)
    return add(gram, multiply(eye(size, dtype=gram.dtype), weight))


# QR and LU factors.

_qr = op("Qr", "input: T -> q: T, r: T", T=PRECISE, full_matrices=False)
_qr.work(partial(_multiplications, times=2.0))


@_qr.shape
def _qr_shape(input: TensorShape, *, full_matrices: bool) -> tuple[TensorShape, TensorShape]:
    batch, rows, columns = _matrix(input)
    inner = rows if full_matrices else _smaller(rows, columns)
    return batch.concatenate([rows, inner]), batch.concatenate([inner, columns])


@_qr.kernel(CPU, GPU)
def _qr_kernel(input: torch.Tensor, full_matrices: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    q, r = torch.linalg.qr(input, "complete" if full_matrices else "reduced")
    return q, r


_qr.gradient(rules.qr_gradient)


class Qr(NamedTuple):
    """The result of `qr`."""

    q: Tensor
    r: Tensor


@export("linalg.qr", v1=("qr", "linalg.qr"))
def qr(input: ArrayLike, full_matrices: bool = False, name: str | None = None) -> Qr:
    """Factors matrices into orthogonal ones and upper triangular ones.

    Args:
        input: The matrices.
        full_matrices: Whether the orthogonal factors are square, or only as wide as needed.
        name: A name for the op.
    """
    return Qr(*_qr.many(input, full_matrices=as_bool(full_matrices, "full_matrices"), name=name))


_lu = op("Lu", "input: T -> lu: T, p: output_idx_type", T=PRECISE, output_idx_type=INDEX)
_lu.work(partial(_multiplications, times=1 / 3))


@_lu.shape
def _lu_shape(input: TensorShape) -> tuple[TensorShape, TensorShape]:
    batch, size = _square(input)
    return batch.concatenate([size, size]), batch.concatenate([size])


@_lu.kernel(CPU, GPU)
def _lu_kernel(input: torch.Tensor, *, output_idx_type: DType) -> tuple[torch.Tensor, torch.Tensor]:
    _check_square(input)
    factors, pivots, info = torch.linalg.lu_factor_ex(input)
    if _failed(info):
        raise ArgumentError("Input is not invertible.")
    if not input.numel():
        return factors, pivots.to(TORCH_DTYPE[output_idx_type])
    if input.ndim == 2 and input.device.type == "cpu":
        order = list(range(len(pivots)))
        for row, other in enumerate(pivots.tolist()):
            order[row], order[other - 1] = order[other - 1], order[row]
        return factors, torch.tensor(order, dtype=TORCH_DTYPE[output_idx_type])
    swaps, _, _ = torch.lu_unpack(factors, pivots, unpack_data=False)
    return factors, swaps.abs().argmax(-2).to(TORCH_DTYPE[output_idx_type])


_lu.gradient(rules.lu_gradient)


class Lu(NamedTuple):
    """The result of `lu`."""

    lu: Tensor
    p: Tensor


@export("linalg.lu")
def lu(input: ArrayLike, output_idx_type: DTypeLike = int32, name: str | None = None) -> Lu:
    """Factors square matrices into triangular ones after reordering their rows.

    Returns:
        Both triangles in one matrix (the lower one has ones on its diagonal), and the rows of the
        input in their new order.
    """
    return Lu(*_lu.many(input, output_idx_type=as_dtype(output_idx_type), name=name))


# Singular values.

_svd = op("Svd", "input: T -> s: T, u: T, v: T", T=PRECISE, compute_uv=True, full_matrices=False)
_svd.work(partial(_multiplications, times=10.0))


@_svd.shape
def _svd_shape(input: TensorShape, *, compute_uv: bool, full_matrices: bool) -> tuple[TensorShape, ...]:
    batch, rows, columns = _matrix(input)
    least = _smaller(rows, columns)
    values = batch.concatenate([least])
    if not compute_uv:
        return values, TensorShape([0]), TensorShape([0])
    return (
        values,
        batch.concatenate([rows, rows if full_matrices else least]),
        batch.concatenate([columns, columns if full_matrices else least]),
    )


@_svd.kernel(CPU, GPU)
def _svd_kernel(
    input: torch.Tensor, compute_uv: bool = True, full_matrices: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    _matrix_sizes(input.shape)
    with _explained("SVD", input):
        if not compute_uv:
            return torch.linalg.svdvals(input).to(input.dtype), input.new_empty(0), input.new_empty(0)
        u, s, vh = torch.linalg.svd(input, full_matrices)
    return s.to(input.dtype), u, vh.mH


_svd.gradient(rules.svd_gradient)


@export(
    "linalg.svd",
    v1=("svd", "linalg.svd"),
    differs="NaN and infinities are an error; TensorFlow returns NaN on the CPU.",
)
def svd(tensor: ArrayLike, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """Finds the singular values of matrices, and their singular vectors.

    Args:
        tensor: The matrices.
        full_matrices: Whether `u` and `v` are square, or only as wide as there are singular values.
        compute_uv: Whether to find the vectors too.
        name: A name for the op.

    Returns:
        ``s, u, v``, where ``tensor`` is ``u diag(s) adjoint(v)``; only ``s`` without `compute_uv`.
    """
    compute_uv, full_matrices = as_bool(compute_uv, "compute_uv"), as_bool(full_matrices, "full_matrices")
    flags: dict[str, Any] = {"compute_uv": compute_uv, "full_matrices": full_matrices}
    if not dtype_of(tensor).is_complex:
        s, u, v = _svd.many(tensor, **flags, name=name)
        return (s, u, v) if compute_uv else s
    with Composed(name, "Svd") as last:
        s, u, v = _svd.many(tensor, **flags)
        values = real(s, last)
    return (values, u, v) if compute_uv else values


@export("linalg.matrix_rank")
def matrix_rank(a: ArrayLike, tol: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """Counts the singular values of matrices that exceed `tol`; by default, the precision of their computation."""
    a = _floats(a)
    with Composed(name, "matrix_rank") as last:
        s = svd(a, compute_uv=False)
        if tol is None:
            tol = multiply(reduce_max(s, -1, keepdims=True), _precision(a))
        return reduce_sum(cast(greater(s, cast(tol, s.dtype)), int32), -1, name=last)


@export("linalg.pinv")
def pinv(a: ArrayLike, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """Finds the pseudo-inverses of matrices.

    Args:
        a: The matrices.
        rcond: Singular values less than this share of the largest count as zero; by default, ten times
            the precision of their computation.
        validate_args: Makes no difference here.
        name: A name for the op.
    """
    a = _floats(a)
    with Composed(name, "pinv") as last:
        s, u, v = svd(a)
        cutoff = 10 * _precision(a) if rcond is None else expand_dims(cast(rcond, s.dtype), -1)
        kept = greater(s, multiply(reduce_max(s, -1, keepdims=True), cutoff))
        inverse = reciprocal_no_nan(multiply(s, cast(kept, s.dtype)))
        return matmul(multiply(v, cast(expand_dims(inverse, -2), v.dtype)), u, adjoint_b=True, name=last)


def _floats(a: ArrayLike) -> Tensor:
    tensor = convert_to_tensor(a)
    if not (tensor.dtype.is_floating or tensor.dtype.is_complex):
        raise DTypeError(f"Input `a` must have `float`-like `dtype` (saw {tensor.dtype.name}).")
    if tensor.shape.rank is not None and tensor.shape.rank < 2:
        raise ArgumentError(f"Input `a` must have at least 2 dimensions (saw: {tensor.shape.rank}).")
    return tensor


def _precision(a: Tensor) -> Any:
    """How large a singular value can be without meaning anything, as a share of the largest."""
    rows, columns = _sizes(a)
    epsilon = float(np.finfo(a.dtype.real_dtype.as_numpy_dtype).eps)
    if isinstance(rows, int) and isinstance(columns, int):
        return epsilon * max(rows, columns)
    return multiply(cast(maximum(rows, columns), a.dtype.real_dtype), epsilon)


# Eigenvalues.

_eigh = op("SelfAdjointEigV2", "input: T -> e: T, v: T", T=PRECISE, compute_v=True)
_eigh.work(partial(_multiplications, times=5.0))
_eig = op("Eig", "input: T -> e: Tout, v: Tout", T=PRECISE, Tout=COMPLEX, compute_v=True)
_eig.work(partial(_multiplications, times=12.0))


@_eigh.shape
@_eig.shape
def _eig_shape(input: TensorShape, *, compute_v: bool) -> tuple[TensorShape, TensorShape]:
    batch, size = _square(input)
    return batch.concatenate([size]), batch.concatenate([size, size]) if compute_v else TensorShape([0])


@_eigh.kernel(CPU, GPU)
def _eigh_kernel(input: torch.Tensor, compute_v: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    _check_square(input)
    with _explained("Self-adjoint eigen decomposition", input):
        if not compute_v:
            return torch.linalg.eigvalsh(input).to(input.dtype), input.new_empty(0)
        e, v = torch.linalg.eigh(input)
    return e.to(input.dtype), v


@_eig.kernel(CPU, GPU)
def _eig_kernel(
    input: torch.Tensor,
    compute_v: bool = True,
    *,
    Tout: DType,  # noqa: N803
) -> tuple[torch.Tensor, torch.Tensor]:
    _check_square(input)
    with _explained("Eigen decomposition", input):
        if not compute_v:
            e = torch.linalg.eigvals(input)
            return e, e.new_empty(0)
        e, v = torch.linalg.eig(input)
    return e, v


_eigh.gradient(rules.eigh_gradient)
_eig.gradient(rules.eig_gradient)


@export(
    "linalg.eigh",
    v1=("self_adjoint_eig", "linalg.eigh"),
    differs="NaN and infinities are an error; TensorFlow returns NaN on the CPU.",
)
def eigh(tensor: ArrayLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Finds the eigenvalues of self-adjoint matrices, in ascending order, and their eigenvectors.

    Only the lower triangles of the matrices are read.
    """
    e, v = _eigh.many(tensor, name=name)
    return e, v


@export("linalg.eigvalsh", v1=("self_adjoint_eigvals", "linalg.eigvalsh"))
def eigvalsh(tensor: ArrayLike, name: str | None = None) -> Tensor:
    """Finds the eigenvalues of self-adjoint matrices, in ascending order."""
    return _eigh.many(tensor, compute_v=False, name=name)[0]


@export("linalg.eig")
def eig(tensor: ArrayLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Finds the eigenvalues of square matrices, in no particular order, and their eigenvectors; both are complex."""
    tensor = convert_to_tensor(tensor)
    e, v = _eig.many(tensor, Tout=complex_dtype(tensor.dtype), name=name)
    return e, v


@export("linalg.eigvals")
def eigvals(tensor: ArrayLike, name: str | None = None) -> Tensor:
    """Finds the eigenvalues of square matrices, in no particular order; they are complex."""
    tensor = convert_to_tensor(tensor)
    return _eig.many(tensor, compute_v=False, Tout=complex_dtype(tensor.dtype), name=name)[0]


# Functions of matrices.

_exponential = op("MatrixExponential", "input: T -> output: T", T=PRECISE)
_exponential.work(partial(_multiplications, times=12.0))
_exponential.shape(_square_shape)


@_exponential.kernel(CPU, GPU)
def _exponential_kernel(input: torch.Tensor) -> KernelValue:
    _check_square(input)
    return torch.linalg.matrix_exp(input) if input.numel() else input


_exponential.gradient(rules.exponential_gradient)


@export("linalg.expm")
def expm(input: ArrayLike, name: str | None = None) -> Tensor:
    """Computes the exponentials of square matrices."""
    return _exponential(input, name=name)
