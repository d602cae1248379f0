"""``tf.linalg.LinearOperator``: matrices that are known by what they do, and the simple ones among them.

An operator is a matrix, or a batch of matrices, that need not exist as a tensor: one of few parameters multiplies,
solves and has a determinant without it. Every class says what it knows to do better than `LinearOperator`, which makes
the matrix. Operators made of operators are in `ops.linear_operators`.
"""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ops import debug, decompose, diagonal, linalg
from situs._src.ops.array import broadcast_dynamic_shape, broadcast_to, expand_dims, squeeze
from situs._src.ops.array import shape as shape_of
from situs._src.ops.cast import cast, real
from situs._src.ops.constant import convert_to_tensor, ones, zeros
from situs._src.ops.join import concat, stack
from situs._src.ops.math import abs as magnitude
from situs._src.ops.math import conj, log, sqrt
from situs._src.ops.reduce import reduce_max, reduce_min, reduce_prod, reduce_sum


@export("linalg.LinearOperator")
class LinearOperator:
    """A matrix, or a batch of matrices, known by what it does.

    A subclass defines ``_shape`` and ``_matmul``, or ``_to_dense``, and what it can do better than by its matrix:
    ``_solve``, ``_determinant``, ``_log_abs_determinant``, ``_diag_part``, ``_trace``, ``_eigvals``.

    Args:
        dtype: The dtype of the matrix.
        graph_parents: Accepted for TensorFlow's programs.
        is_non_singular: Whether it has an inverse; None where that is not known.
        is_self_adjoint: Whether it is its own adjoint.
        is_positive_definite: Whether it is positive definite.
        is_square: Whether it is square.
        name: A name.
        parameters: Accepted for TensorFlow's programs.

    Example:
        >>> import situs as tf
        >>> operator = tf.linalg.LinearOperatorDiag([1.0, 2.0])
        >>> operator.matvec([3.0, 4.0]).numpy().tolist()
        [3.0, 8.0]
    """

    def __init__(
        self,
        dtype: Any,
        graph_parents: Any = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
        parameters: Any = None,
    ) -> None:
        if is_positive_definite and is_non_singular is False:
            raise ArgumentError("A positive definite operator is always non-singular.")
        if (is_non_singular or is_self_adjoint or is_positive_definite) and is_square is False:
            raise ArgumentError("Only a square operator is non-singular, self-adjoint or positive definite.")
        self._dtype = dt.as_dtype(dtype)
        self._is_non_singular = True if is_positive_definite else is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        self._is_square = is_square
        self._name = name or type(self).__name__
        self.parameters = parameters or {}

    # What is known.

    @property
    def dtype(self) -> dt.DType:
        """The dtype of the matrix."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def graph_parents(self) -> list[Any]:
        """Nothing: it is here for TensorFlow's programs."""
        return []

    @property
    def is_non_singular(self) -> bool | None:
        """Whether it has an inverse, as far as that is known."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether it is its own adjoint, as far as that is known."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether it is positive definite, as far as that is known."""
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether it is square, as far as that is known."""
        rows, columns = self.range_dimension, self.domain_dimension
        known = None if rows is None or columns is None else rows == columns
        if known is not None and self._is_square is not None and known != self._is_square:
            raise ArgumentError(f"The operator of shape {self.shape} was said to have is_square={self._is_square}.")
        hints = self._is_non_singular or self._is_self_adjoint or self._is_positive_definite
        return known if known is not None else True if hints else self._is_square

    @property
    def shape(self) -> TensorShape:
        """The shape of the matrix, as far as it is known."""
        return self._shape()

    @property
    def batch_shape(self) -> TensorShape:
        """The shape of the batch."""
        return self.shape[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """How many dimensions the matrix has."""
        return self.shape.rank

    @property
    def domain_dimension(self) -> int | None:
        """How many columns it has."""
        return None if self.shape.rank is None else self.shape[-1]

    @property
    def range_dimension(self) -> int | None:
        """How many rows it has."""
        return None if self.shape.rank is None else self.shape[-2]

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """The shape, as a tensor."""
        if self.shape.is_fully_defined():
            return convert_to_tensor(self.shape.as_list(), dt.int32)
        return self._shape_tensor()

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The shape of the batch, as a tensor."""
        return self.shape_tensor()[:-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """How many dimensions the matrix has, as a tensor."""
        return shape_of(self.shape_tensor())[0]

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """How many columns it has, as a tensor."""
        return self.shape_tensor()[-1]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """How many rows it has, as a tensor."""
        return self.shape_tensor()[-2]

    # For subclasses.

    def _shape(self) -> TensorShape:
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self) -> Tensor:
        return shape_of(self._to_dense())

    def _to_dense(self) -> Tensor:
        size = self.domain_dimension
        number: Any = self.domain_dimension_tensor() if size is None else size
        return self._matmul(diagonal.eye(number, batch_shape=self.batch_shape_tensor(), dtype=self.dtype))

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return linalg.matmul(self._to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        matrix, right = self._to_dense(), linalg.adjoint(rhs) if adjoint_arg else rhs
        matrix, right = batched(matrix, right)
        if self.is_self_adjoint and self.is_positive_definite:
            return decompose.cholesky_solve(decompose.cholesky(matrix), right)
        return decompose.solve(matrix, right, adjoint=adjoint)

    def _determinant(self) -> Tensor:
        return decompose.det(self._to_dense())

    def _log_abs_determinant(self) -> Tensor:
        return decompose.slogdet(self._to_dense()).log_abs_determinant

    def _diag_part(self) -> Tensor:
        return diagonal.diag_part(self._to_dense())

    def _trace(self) -> Tensor:
        return reduce_sum(self.diag_part(), -1)

    def _eigvals(self) -> Tensor:
        dense = self._to_dense()
        return decompose.eigvalsh(dense) if self.is_self_adjoint else decompose.eigvals(dense)

    # What it does.

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """The matrix."""
        return self._to_dense()

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        """The product with a matrix, or with another operator: an operator then.

        Args:
            x: The matrix, or a batch.
            adjoint: Whether to multiply the adjoint.
            adjoint_arg: Whether to multiply by the adjoint of `x`.
            name: Accepted for TensorFlow's programs.
        """
        if isinstance(x, LinearOperator):
            left, right = self.adjoint() if adjoint else self, x.adjoint() if adjoint_arg else x
            self._check_fits(left.domain_dimension, right.range_dimension)
            return left._composed(right)
        given = self._converted(x)
        self._check_fits(
            self.range_dimension if adjoint else self.domain_dimension, given.shape[-1 if adjoint_arg else -2]
        )
        return self._matmul(given, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def _composed(self, other: LinearOperator) -> LinearOperator:
        from situs._src.ops.linear_operators import LinearOperatorComposition

        return LinearOperatorComposition([self, other])

    def matvec(self, x: ArrayLike, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """The product with a vector, or a batch of vectors."""
        return squeeze(self.matmul(expand_dims(self._converted(x), -1), adjoint=adjoint), [-1])

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        """The x of ``A x = rhs``, for a matrix or an operator.

        Args:
            rhs: The matrix, or a batch.
            adjoint: Whether to solve with the adjoint.
            adjoint_arg: Whether to solve for the adjoint of `rhs`.
            name: Accepted for TensorFlow's programs.
        """
        self._check_solvable()
        if isinstance(rhs, LinearOperator):
            left, right = self.adjoint() if adjoint else self, rhs.adjoint() if adjoint_arg else rhs
            return left.inverse()._composed(right)
        given = self._converted(rhs)
        self._check_fits(
            self.domain_dimension if adjoint else self.range_dimension, given.shape[-1 if adjoint_arg else -2]
        )
        return self._solve(given, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def solvevec(self, rhs: ArrayLike, adjoint: bool = False, name: str = "solvevec") -> Tensor:
        """The x of ``A x = rhs``, for a vector or a batch of vectors."""
        return squeeze(self.solve(expand_dims(self._converted(rhs), -1), adjoint=adjoint), [-1])

    def _check_solvable(self) -> None:
        if self.is_non_singular is False:
            raise NotImplementedError("Exact solve not implemented for an operator that is expected to be singular.")
        if self.is_square is False:
            raise NotImplementedError("Exact solve not implemented for an operator that is expected to not be square.")

    def _check_square(self, what: str) -> None:
        if self.is_square is False:
            raise NotImplementedError(f"{what} not implemented for an operator that is expected to not be square.")

    def _check_fits(self, one: int | None, other: int | None) -> None:
        if one is not None and other is not None and one != other:
            raise ArgumentError(f"Dimensions are not compatible: {one} and {other}, for the operator {self.shape}.")

    def _converted(self, x: Any) -> Tensor:
        given = convert_to_tensor(x, None if isinstance(x, Tensor) else self.dtype)
        if given.dtype is not self.dtype:
            raise DTypeError(f"Expected an argument of dtype {self.dtype.name}, got {given.dtype.name}.")
        return given

    def determinant(self, name: str = "det") -> Tensor:
        """The determinant."""
        self._check_square("Determinant")
        return self._determinant()

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """The logarithm of the absolute value of the determinant."""
        self._check_square("Determinant")
        return self._log_abs_determinant()

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The diagonal."""
        return self._diag_part()

    def trace(self, name: str = "trace") -> Tensor:
        """The sum of the diagonal."""
        return self._trace()

    def add_to_tensor(self, x: ArrayLike, name: str = "add_to_tensor") -> Tensor:
        """The sum of the matrix and another."""
        return self._to_dense() + self._converted(x)

    def eigvals(self, name: str = "eigvals") -> Tensor:
        """The eigenvalues."""
        if not self.is_self_adjoint and not hasattr(self, "_knows_eigvals"):
            raise NotImplementedError("Only self-adjoint matrices are supported.")
        return self._eigvals()

    def cond(self, name: str = "cond") -> Tensor:
        """The condition number: the largest singular value over the smallest one."""
        self._check_square("Condition number")
        values = (
            magnitude(self._eigvals()) if self.is_self_adjoint else decompose.svd(self._to_dense(), compute_uv=False)
        )
        return reduce_max(values, -1) / reduce_min(values, -1)

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The adjoint, as an operator."""
        if self.is_self_adjoint:
            return self
        return self._adjoint()

    H = property(adjoint, None, None, "The adjoint, as an operator.")

    def _adjoint(self) -> LinearOperator:
        from situs._src.ops.linear_operators import LinearOperatorAdjoint

        return LinearOperatorAdjoint(self)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The inverse, as an operator."""
        if self.is_square is False:
            raise ArgumentError("Cannot get the inverse of an operator that is not square.")
        if self.is_non_singular is False:
            raise ArgumentError("Cannot get the inverse of an operator that is singular.")
        return self._inverse()

    def _inverse(self) -> LinearOperator:
        from situs._src.ops.linear_operators import LinearOperatorInversion

        return LinearOperatorInversion(self)

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The lower triangle whose product with its adjoint is this operator."""
        if not (self.is_positive_definite and self.is_self_adjoint):
            raise ArgumentError("Cannot take the Cholesky decomposition: not a positive definite self adjoint matrix.")
        return self._cholesky()

    def _cholesky(self) -> LinearOperator:
        return LinearOperatorLowerTriangular(decompose.cholesky(self._to_dense()), is_non_singular=True)

    def assert_non_singular(self, name: str = "assert_non_singular") -> Any:
        """Checks that it has an inverse, by its condition number."""
        limit = 1 / {dt.float32: 1.2e-7, dt.complex64: 1.2e-7}.get(self.dtype, 2.3e-16)
        return debug.assert_less(
            self.cond(), cast(limit, self.dtype.real_dtype), message="Singular matrix encountered."
        )

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Any:
        """Checks that it is its own adjoint."""
        dense = self._to_dense()
        return debug.assert_equal(dense, linalg.adjoint(dense), message="Matrix was not equal to its adjoint.")

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Any:
        """Checks that it is positive definite, by the diagonal of its Cholesky decomposition."""
        lower = real(diagonal.diag_part(decompose.cholesky(self._to_dense())))
        return debug.assert_positive(lower, message="Matrix was not positive definite.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} shape={self.shape} dtype={self.dtype.name}>"


def batched(one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Two batches of matrices as batches of one shape."""
    known = one.shape[:-2], other.shape[:-2]
    if known[0].is_fully_defined() and known[0] == known[1]:
        return one, other
    batch = broadcast_dynamic_shape(shape_of(one)[:-2], shape_of(other)[:-2])
    return tuple(broadcast_to(x, concat([batch, shape_of(x)[-2:]], 0)) for x in (one, other))  # type: ignore[return-value]


def _turned(x: Tensor, adjoint: bool) -> Tensor:
    return linalg.adjoint(x) if adjoint else x


def _parameter(value: Any, name: str, least: int) -> Tensor:
    made = convert_to_tensor(value)
    if not (made.dtype.is_floating or made.dtype.is_complex):
        raise DTypeError(f"Argument {name} must have a dtype of floats or of complex numbers, got {made.dtype.name}.")
    if made.shape.rank is not None and made.shape.rank < least:
        raise ArgumentError(f"Argument {name} must have at least {least} dimensions. Found: {made.shape}.")
    return made


@export("linalg.LinearOperatorFullMatrix")
class LinearOperatorFullMatrix(LinearOperator):
    """An operator whose matrix is given.

    Args:
        matrix: The matrix, or a batch.
        is_non_singular: Whether it has an inverse.
        is_self_adjoint: Whether it is its own adjoint.
        is_positive_definite: Whether it is positive definite.
        is_square: Whether it is square.
        name: A name.
    """

    def __init__(
        self,
        matrix: ArrayLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        self._matrix = _parameter(matrix, "matrix", 2)
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(self._matrix.dtype, None, *hints, name=name)

    @property
    def matrix(self) -> Tensor:
        """The matrix."""
        return self._matrix

    def _shape(self) -> TensorShape:
        return self._matrix.shape

    def _to_dense(self) -> Tensor:
        return self._matrix


@export("linalg.LinearOperatorLowerTriangular")
class LinearOperatorLowerTriangular(LinearOperator):
    """An operator that is the lower triangle of a matrix.

    Args:
        tril: The matrix, whose upper triangle does not count, or a batch.
        is_non_singular: Whether it has an inverse.
        is_self_adjoint: Whether it is its own adjoint.
        is_positive_definite: Whether it is positive definite.
        is_square: Must not be off.
        name: A name.
    """

    _knows_eigvals = True

    def __init__(
        self,
        tril: ArrayLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        if is_square is False:
            raise ArgumentError("Only square lower triangular operators supported at this time.")
        self._given = _parameter(tril, "tril", 2)
        self._tril = diagonal.band_part(self._given, -1, 0)
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, True)
        super().__init__(self._tril.dtype, None, *hints, name=name)

    @property
    def tril(self) -> Tensor:
        """The matrix."""
        return self._given

    def _shape(self) -> TensorShape:
        return self._tril.shape

    def _to_dense(self) -> Tensor:
        return self._tril

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        matrix, right = batched(self._tril, _turned(rhs, adjoint_arg))
        return decompose.triangular_solve(matrix, right, lower=True, adjoint=adjoint)

    def _diag_part(self) -> Tensor:
        return diagonal.diag_part(self._tril)

    def _eigvals(self) -> Tensor:
        return self._diag_part()

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diag_part(), -1)

    def _log_abs_determinant(self) -> Tensor:
        return reduce_sum(log(magnitude(self._diag_part())), -1)


@export("linalg.LinearOperatorDiag")
class LinearOperatorDiag(LinearOperator):
    """An operator that is a diagonal matrix.

    Args:
        diag: The diagonal, or a batch.
        is_non_singular: Whether it has an inverse.
        is_self_adjoint: Whether it is its own adjoint; that is known of real ones.
        is_positive_definite: Whether it is positive definite.
        is_square: Must not be off.
        name: A name.
    """

    _knows_eigvals = True

    def __init__(
        self,
        diag: ArrayLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        self._diag = _parameter(diag, "diag", 1)
        if not self._diag.dtype.is_complex:
            if is_self_adjoint is False:
                raise ArgumentError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        if is_square is False:
            raise ArgumentError("Only square diagonal operators currently supported.")
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, True)
        super().__init__(self._diag.dtype, None, *hints, name=name)

    @property
    def diag(self) -> Tensor:
        """The diagonal."""
        return self._diag

    def _shape(self) -> TensorShape:
        return self._diag.shape.concatenate(self._diag.shape[-1:])

    def _shape_tensor(self) -> Tensor:
        sizes = shape_of(self._diag)
        return concat([sizes, sizes[-1:]], 0)

    def _to_dense(self) -> Tensor:
        return diagonal.diag(self._diag)

    def _diag_part(self) -> Tensor:
        return self._diag

    def _eigvals(self) -> Tensor:
        return self._diag

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return (conj(self._diag) if adjoint else self._diag)[..., None] * _turned(x, adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return _turned(rhs, adjoint_arg) / (conj(self._diag) if adjoint else self._diag)[..., None]

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diag, -1)

    def _log_abs_determinant(self) -> Tensor:
        made = reduce_sum(log(magnitude(self._diag)), -1)
        return cast(made, self.dtype) if self.dtype.is_complex else made

    def add_to_tensor(self, x: ArrayLike, name: str = "add_to_tensor") -> Tensor:
        """The sum of the matrix and another."""
        given = self._converted(x)
        return diagonal.set_diag(given, diagonal.diag_part(given) + self._diag)

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorDiag(conj(self._diag), self.is_non_singular, None, self.is_positive_definite)

    def _inverse(self) -> LinearOperator:
        return LinearOperatorDiag(1 / self._diag, True, self.is_self_adjoint, self.is_positive_definite)

    def _cholesky(self) -> LinearOperator:
        return LinearOperatorDiag(sqrt(self._diag), True, True, True)


class _OfUnit(LinearOperator):
    """What operators that are a multiple of the unit matrix have in common."""

    _rows: Any
    _columns: Any
    _batch: Any

    def _sized(self, rows: Any, columns: Any, batch: Any) -> None:
        self._rows, self._columns, self._batch = rows, rows if columns is None else columns, batch

    def _known_size(self, value: Any) -> int | None:
        return None if isinstance(value, Tensor) and not hasattr(value, "numpy") else int(value)

    def _batch_sizes(self) -> TensorShape:
        if self._batch is None:
            return TensorShape([])
        if isinstance(self._batch, Tensor) and not hasattr(self._batch, "numpy"):
            return (
                TensorShape([None] * (self._batch.shape[0] or 0))
                if self._batch.shape[0] is not None
                else TensorShape(None)
            )
        return TensorShape([int(size) for size in self._batch])

    def _shape(self) -> TensorShape:
        return self._batch_sizes().concatenate([self._known_size(self._rows), self._known_size(self._columns)])

    def _shape_tensor(self) -> Tensor:
        ends = stack([cast(self._rows, dt.int32), cast(self._columns, dt.int32)])
        return ends if self._batch is None else concat([cast(self._batch, dt.int32), ends], 0)

    def _spread(self, x: Tensor) -> Tensor:
        """A batch of matrices, as large as that of the operator."""
        if self._batch_sizes().rank == 0:
            return x
        batch = broadcast_dynamic_shape(self.batch_shape_tensor(), shape_of(x)[:-2])
        return broadcast_to(x, concat([batch, shape_of(x)[-2:]], 0))


@export("linalg.LinearOperatorIdentity")
class LinearOperatorIdentity(_OfUnit):
    """The operator that changes nothing.

    Args:
        num_rows: The size of the matrix.
        batch_shape: The shape of a batch.
        dtype: The dtype of the matrix.
        is_non_singular: Must not be off.
        is_self_adjoint: Must not be off.
        is_positive_definite: Must not be off.
        is_square: Must not be off.
        assert_proper_shapes: Accepted for TensorFlow's programs.
        name: A name.
    """

    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        if False in (is_non_singular, is_self_adjoint, is_positive_definite, is_square):
            raise ArgumentError("An identity operator is always square, non-singular, self-adjoint, positive definite.")
        super().__init__(dt.float32 if dtype is None else dtype, None, True, True, True, True, name=name)
        self._sized(num_rows, None, batch_shape)

    def _to_dense(self) -> Tensor:
        return diagonal.eye(self._rows, batch_shape=self._batch, dtype=self.dtype)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._spread(_turned(x, adjoint_arg))

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._spread(_turned(rhs, adjoint_arg))

    def _diag_part(self) -> Tensor:
        return ones(self.shape_tensor()[:-1], self.dtype)

    def _eigvals(self) -> Tensor:
        return self._diag_part()

    def _determinant(self) -> Tensor:
        return ones(self.batch_shape_tensor(), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), self.dtype)

    def _inverse(self) -> LinearOperator:
        return self

    def _cholesky(self) -> LinearOperator:
        return self


@export("linalg.LinearOperatorScaledIdentity")
class LinearOperatorScaledIdentity(_OfUnit):
    """The operator that multiplies by a number.

    Args:
        num_rows: The size of the matrix.
        multiplier: The number, or a batch of numbers.
        is_non_singular: Whether it has an inverse.
        is_self_adjoint: Whether it is its own adjoint; that is known of real ones.
        is_positive_definite: Whether it is positive definite.
        is_square: Must not be off.
        assert_proper_shapes: Accepted for TensorFlow's programs.
        name: A name.
    """

    _knows_eigvals = True

    def __init__(
        self,
        num_rows: Any,
        multiplier: ArrayLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        if is_square is False:
            raise ArgumentError("A ScaledIdentity operator is always square.")
        self._multiplier = _parameter(multiplier, "multiplier", 0)
        if is_self_adjoint is None and not self._multiplier.dtype.is_complex:
            is_self_adjoint = True
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, True)
        super().__init__(self._multiplier.dtype, None, *hints, name=name)
        self._sized(num_rows, None, None)

    @property
    def multiplier(self) -> Tensor:
        """The number."""
        return self._multiplier

    def _shape(self) -> TensorShape:
        size = self._known_size(self._rows)
        return self._multiplier.shape.concatenate([size, size])

    def _shape_tensor(self) -> Tensor:
        return concat([shape_of(self._multiplier), stack([cast(self._rows, dt.int32)] * 2)], 0)

    def _factor(self, adjoint: bool) -> Tensor:
        return (conj(self._multiplier) if adjoint else self._multiplier)[..., None, None]

    def _to_dense(self) -> Tensor:
        return self._factor(False) * diagonal.eye(self._rows, dtype=self.dtype)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._factor(adjoint) * _turned(x, adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return _turned(rhs, adjoint_arg) / self._factor(adjoint)

    def _diag_part(self) -> Tensor:
        return self._multiplier[..., None] * ones([self._rows], self.dtype)

    def _eigvals(self) -> Tensor:
        return self._diag_part()

    def _determinant(self) -> Tensor:
        return self._multiplier ** cast(self._rows, self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return cast(self._rows, self.dtype.real_dtype) * log(magnitude(self._multiplier))

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorScaledIdentity(self._rows, conj(self._multiplier), self.is_non_singular)

    def _inverse(self) -> LinearOperator:
        hints = (True, self.is_self_adjoint, self.is_positive_definite)
        return LinearOperatorScaledIdentity(self._rows, 1 / self._multiplier, *hints)

    def _cholesky(self) -> LinearOperator:
        return LinearOperatorScaledIdentity(self._rows, sqrt(self._multiplier), True, True, True)


@export("linalg.LinearOperatorZeros")
class LinearOperatorZeros(_OfUnit):
    """The operator whose matrix has nothing but zeros.

    Args:
        num_rows: How many rows.
        num_columns: How many columns; as many by default.
        batch_shape: The shape of a batch.
        dtype: The dtype of the matrix.
        is_non_singular: Must not be on.
        is_self_adjoint: Whether it is its own adjoint.
        is_positive_definite: Must not be on.
        is_square: Whether it is square.
        assert_proper_shapes: Accepted for TensorFlow's programs.
        name: A name.
    """

    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        if is_non_singular or is_positive_definite:
            raise ArgumentError("A zero operator is always singular and never positive definite.")
        super().__init__(
            dt.float32 if dtype is None else dtype, None, False, is_self_adjoint, False, is_square, name=name
        )
        self._sized(num_rows, num_columns, batch_shape)

    def _to_dense(self) -> Tensor:
        return zeros(self.shape_tensor(), self.dtype)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        given = self._spread(_turned(x, adjoint_arg))
        sizes = shape_of(given)
        rows = self.domain_dimension_tensor() if adjoint else self.range_dimension_tensor()
        return zeros(concat([sizes[:-2], stack([rows, sizes[-1]])], 0), self.dtype)

    def _diag_part(self) -> Tensor:
        ends = self.shape_tensor()
        return zeros(concat([ends[:-2], reduce_min(ends[-2:])[None]], 0), self.dtype)

    def _eigvals(self) -> Tensor:
        return self._diag_part()

    def _determinant(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), self.dtype.real_dtype) - float("inf")
