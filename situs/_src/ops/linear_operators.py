"""``tf.linalg.LinearOperator``: matrices of which something is known, so that products and solutions take less.

    LinearOperatorLowerTriangular(a).to_dense()      a, with zeros above the diagonal
    LinearOperatorDiag([1.0, 2.0]).solve(b)          b, its rows divided by 1 and 2
    LinearOperatorFullMatrix(a) @ b                  tf.matmul(a, b)

They are structures, not tensors: each op on them is one on what they are made of, and gradients flow to that.
"""

from __future__ import annotations

from typing import Any

from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, DTypeLike
from situs._src.ir.graph.context import name_scope
from situs._src.ops.array import expand_dims, squeeze
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_int
from situs._src.ops.constant import convert_to_tensor, ones
from situs._src.ops.decompose import cholesky, det, inv, slogdet, solve, triangular_solve
from situs._src.ops.diagonal import band_part, diag, diag_part, set_diag
from situs._src.ops.linalg import adjoint as adjoint_of
from situs._src.ops.linalg import matmul
from situs._src.ops.math import abs, conj, log
from situs._src.ops.reduce import reduce_prod, reduce_sum


@export("linalg.LinearOperator")
class LinearOperator:
    """A matrix, or several, known by what they are made of.

    Args:
        dtype: The dtype of the elements.
        is_non_singular: What is known of it: whether it has an inverse.
        is_self_adjoint: Whether it is its own adjoint.
        is_positive_definite: Whether products with vectors are positive.
        is_square: Whether it has as many rows as columns.
        name: The name of its operations.
        parameters: Accepted for TensorFlow's programs.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
        parameters: Any = None,
    ) -> None:
        if is_square is False and (is_non_singular or is_self_adjoint or is_positive_definite):
            raise ArgumentError("A matrix that is not square has no inverse, and is not its own adjoint.")
        self._dtype = as_dtype(dtype)
        self._name = name or type(self).__name__
        self._is_non_singular, self._is_self_adjoint = is_non_singular, is_self_adjoint
        self._is_positive_definite, self._is_square = is_positive_definite, is_square

    # What is known of it.

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name of its operations."""
        return self._name

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._dense().shape

    @property
    def batch_shape(self) -> TensorShape:
        """The shape without that of a matrix."""
        return self.shape[:-2]

    @property
    def range_dimension(self) -> Any:
        """The number of rows."""
        return self.shape[-2]

    @property
    def domain_dimension(self) -> Any:
        """The number of columns."""
        return self.shape[-1]

    @property
    def tensor_rank(self) -> int | None:
        """The rank of the tensor that it stands for."""
        return self.shape.rank

    @property
    def is_non_singular(self) -> bool | None:
        """Whether it has an inverse; None if that is not known."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether it is its own adjoint; None if that is not known."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether products with vectors are positive; None if that is not known."""
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether it has as many rows as columns; None if that is not known."""
        if self._is_square is not None or self.shape.rank is None:
            return self._is_square
        rows, columns = self.shape.as_list()[-2:]
        return None if rows is None or columns is None else rows == columns

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """The shape, as a tensor."""
        with self._scope(name):
            return shape_of(self._dense())

    # What can be computed.

    def _dense(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not say what it is as a matrix: define _dense.")

    def _solved(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return solve(self._dense(), rhs, adjoint=adjoint)

    def _scope(self, name: str) -> Any:
        return name_scope(f"{self._name}/{name}")

    def _tensor(self, value: Any) -> Tensor:
        return convert_to_tensor(value, self._dtype)

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """The matrix as a tensor."""
        with self._scope(name):
            return self._dense()

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        """The product with a matrix, or with another operator."""
        if isinstance(x, LinearOperator):
            return LinearOperatorFullMatrix(matmul(self._dense(), x._dense(), adjoint_a=adjoint, adjoint_b=adjoint_arg))
        with self._scope(name):
            return self._product(self._tensor(x), adjoint, adjoint_arg)

    def _product(self, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
        return matmul(self._dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def matvec(self, x: ArrayLike, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """The product with a vector."""
        with self._scope(name):
            return squeeze(self._product(expand_dims(self._tensor(x), -1), adjoint, False), [-1])

    def solve(self, rhs: ArrayLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Tensor:
        """The matrix whose product with it is `rhs`."""
        self._must_be_square()
        with self._scope(name):
            given = self._tensor(rhs)
            return self._solved(adjoint_of(given) if adjoint_arg else given, adjoint)

    def solvevec(self, rhs: ArrayLike, adjoint: bool = False, name: str = "solve") -> Tensor:
        """The vector whose product with it is `rhs`."""
        self._must_be_square()
        with self._scope(name):
            return squeeze(self._solved(expand_dims(self._tensor(rhs), -1), adjoint), [-1])

    def _must_be_square(self) -> None:
        if self.is_square is False:
            raise ArgumentError(f"{self._name} is not square: {self.shape}.")

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The diagonal."""
        with self._scope(name):
            return diag_part(self._dense())

    def trace(self, name: str = "trace") -> Tensor:
        """The sum of the diagonal."""
        return reduce_sum(self.diag_part(name), -1)

    def determinant(self, name: str = "det") -> Tensor:
        """The determinant."""
        self._must_be_square()
        with self._scope(name):
            return det(self._dense())

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """The logarithm of the size of the determinant."""
        self._must_be_square()
        with self._scope(name):
            return slogdet(self._dense())[1]

    def add_to_tensor(self, x: ArrayLike, name: str = "add_to_tensor") -> Tensor:
        """The sum with a tensor."""
        with self._scope(name):
            return self._dense() + self._tensor(x)

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The adjoint, as an operator."""
        return self if self._is_self_adjoint else LinearOperatorFullMatrix(adjoint_of(self._dense()), name=name)

    H = property(adjoint)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The inverse, as an operator."""
        self._must_be_square()
        return LinearOperatorFullMatrix(inv(self._dense()), name=name)

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The lower triangle whose product with its adjoint this is."""
        return LinearOperatorLowerTriangular(cholesky(self._dense()), name=name)


@export("linalg.LinearOperatorFullMatrix")
class LinearOperatorFullMatrix(LinearOperator):
    """A matrix of which nothing is known.

    Args:
        matrix: The matrix.
        is_non_singular: What is known of it, as of any `LinearOperator`.
        is_self_adjoint: The same.
        is_positive_definite: The same.
        is_square: The same.
        name: The name of its operations.
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
        self._matrix = _at_least(2, convert_to_tensor(matrix), "matrix")
        super().__init__(self._matrix.dtype, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)

    def _dense(self) -> Tensor:
        return self._matrix


@export("linalg.LinearOperatorLowerTriangular")
class LinearOperatorLowerTriangular(LinearOperator):
    """A matrix with zeros above the diagonal.

    Args:
        tril: A square matrix; what is above its diagonal does not count.
        is_non_singular: What is known of it, as of any `LinearOperator`.
        is_self_adjoint: The same.
        is_positive_definite: The same.
        is_square: The same.
        name: The name of its operations.

    Example:
        >>> import situs as tf
        >>> tf.linalg.LinearOperatorLowerTriangular([[1.0, 9.0], [2.0, 3.0]]).to_dense().numpy().tolist()
        [[1.0, 0.0], [2.0, 3.0]]
    """

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
        self._tril = _at_least(2, convert_to_tensor(tril), "tril")
        super().__init__(self._tril.dtype, is_non_singular, is_self_adjoint, is_positive_definite, True, name)

    def _dense(self) -> Tensor:
        return band_part(self._tril, -1, 0)

    def _solved(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return triangular_solve(self._tril, rhs, lower=True, adjoint=adjoint)

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The diagonal."""
        with self._scope(name):
            return diag_part(self._tril)

    def determinant(self, name: str = "det") -> Tensor:
        """The determinant: the product of the diagonal."""
        return reduce_prod(self.diag_part(name), -1)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """The logarithm of the size of the determinant."""
        return reduce_sum(log(abs(self.diag_part(name))), -1)


@export("linalg.LinearOperatorDiag")
class LinearOperatorDiag(LinearOperator):
    """A matrix with zeros beside the diagonal.

    Args:
        diag: The diagonal.
        is_non_singular: What is known of it, as of any `LinearOperator`.
        is_self_adjoint: The same.
        is_positive_definite: The same.
        is_square: The same.
        name: The name of its operations.
    """

    def __init__(
        self,
        diag: ArrayLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        if is_square is False:
            raise ArgumentError("Only square diagonal operators currently supported.")
        self._diag = _at_least(1, convert_to_tensor(diag), "diag")
        known = is_self_adjoint if self._diag.dtype.is_complex else True
        super().__init__(self._diag.dtype, is_non_singular, known, is_positive_definite, True, name)

    @property
    def diag(self) -> Tensor:
        """The diagonal."""
        return self._diag

    def _dense(self) -> Tensor:
        return diag(self._diag)

    def _column(self, adjoint: bool) -> Tensor:
        return expand_dims(conj(self._diag) if adjoint else self._diag, -1)

    def _product(self, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
        return self._column(adjoint) * (adjoint_of(x) if adjoint_arg else x)

    def _solved(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return rhs / self._column(adjoint)

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The diagonal."""
        return self._diag

    def determinant(self, name: str = "det") -> Tensor:
        """The determinant: the product of the diagonal."""
        return reduce_prod(self._diag, -1)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """The logarithm of the size of the determinant."""
        return reduce_sum(log(abs(self._diag)), -1)

    def add_to_tensor(self, x: ArrayLike, name: str = "add_to_tensor") -> Tensor:
        """The sum with a tensor."""
        with self._scope(name):
            given = self._tensor(x)
            return set_diag(given, diag_part(given) + self._diag)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The inverse, as an operator."""
        return LinearOperatorDiag(1 / self._diag, name=name)


@export("linalg.LinearOperatorIdentity")
class LinearOperatorIdentity(LinearOperatorDiag):
    """The matrix that changes nothing.

    Args:
        num_rows: How many rows and columns it has.
        batch_shape: The shape of a tensor of such matrices; a single one by default.
        dtype: The dtype of the elements; float32 by default.
        is_non_singular: Accepted for TensorFlow's programs, as the three after it: all are true.
        is_self_adjoint: The same.
        is_positive_definite: The same.
        is_square: The same.
        assert_proper_shapes: Accepted for TensorFlow's programs.
        name: The name of its operations.
    """

    def __init__(
        self,
        num_rows: int,
        batch_shape: Any = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool = True,
        is_self_adjoint: bool = True,
        is_positive_definite: bool = True,
        is_square: bool = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        if not (is_non_singular and is_self_adjoint and is_positive_definite and is_square):
            raise ArgumentError("An identity operator is square, positive definite, its own adjoint and its inverse.")
        shape = [*([] if batch_shape is None else batch_shape), as_int(num_rows, "num_rows")]
        super().__init__(ones(shape, as_dtype(dtype or "float32")), True, True, True, True, name)


@export("linalg.LinearOperatorScaledIdentity")
class LinearOperatorScaledIdentity(LinearOperatorDiag):
    """The identity, multiplied by a number.

    Args:
        num_rows: How many rows and columns it has.
        multiplier: The number, or several for a tensor of such matrices.
        is_non_singular: What is known of it, as of any `LinearOperator`.
        is_self_adjoint: The same.
        is_positive_definite: The same.
        is_square: The same.
        assert_proper_shapes: Accepted for TensorFlow's programs.
        name: The name of its operations.
    """

    def __init__(
        self,
        num_rows: int,
        multiplier: ArrayLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        self._multiplier = convert_to_tensor(multiplier)
        line = ones([as_int(num_rows, "num_rows")], self._multiplier.dtype)
        diagonal = expand_dims(self._multiplier, -1) * line
        super().__init__(diagonal, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)

    @property
    def multiplier(self) -> Tensor:
        """The number."""
        return self._multiplier


def _at_least(rank: int, tensor: Tensor, name: str) -> Tensor:
    if tensor.shape.rank is not None and tensor.shape.rank < rank:
        raise ArgumentError(f"Argument {name} must have at least {rank} dimensions. Found: {tensor}")
    return tensor
