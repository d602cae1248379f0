"""Solving with LU decompositions, three diagonals and bands, square roots: figures of TensorFlow 2.21; and NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import situs as tf
from tests import recorded

FIGURES = Path(__file__).parents[2] / "data" / "matrix_function_figures.json"
linalg = tf.linalg
random = np.random.RandomState(1)
MATRICES = random.randn(2, 4, 4).astype("float32") + 4 * np.eye(4, dtype="float32")
MATRIX = MATRICES[0]
RIGHT = random.randn(2, 4, 3).astype("float32")
THREE = random.randn(2, 3, 5)
COLUMNS = random.randn(2, 5, 2)
COMPLEX = random.randn(2, 3, 3) + 1j * random.randn(2, 3, 3) + 4 * np.eye(3)
BANDS = random.rand(2, 3, 5) + 1
POSITIVE = (MATRIX @ MATRIX.T).astype("float64")


def slopes(function: Any, *given: Any) -> Any:
    """The result of a function, and the gradients of a weighed sum of it."""
    tensors = [tf.constant(each) for each in given]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        made = function(*tensors)
        weights = np.cos(np.arange(np.prod(made.shape))).reshape(made.shape)
        total = tf.reduce_sum(made * tf.constant(weights.astype(made.dtype.as_numpy_dtype)))
    return [made, *tape.gradient(total, tensors)]


def tridiagonal(form: str) -> Any:
    above, main, below = THREE[0]
    whole = np.diag(main) + np.diag(above[:-1], 1) + np.diag(below[1:], -1)
    return [tf.constant(each) for each in (above[:-1], main, below[1:])] if form == "sequence" else tf.constant(whole)


def chosen(**options: Any) -> Any:
    return linalg.eigh_tridiagonal(THREE[0, 0], THREE[0, 1, :4], **options)


def of_any_shape(function: Any, *given: Any) -> Any:
    specs = [tf.TensorSpec([None] * each.ndim, tf.as_dtype(each.dtype)) for each in given]
    return tf.function(function, input_signature=specs)(*given)


def searched(**options: Any) -> Any:
    operator = linalg.LinearOperatorFullMatrix(POSITIVE, is_self_adjoint=True, is_positive_definite=True)
    made = linalg.experimental.conjugate_gradient(operator, tf.constant(RIGHT[0, :, 0], tf.float64), **options)
    return [made.i, made.x, made.gamma] if options else [made.x]


CASES: dict[str, Any] = {
    "lu_solve": lambda: slopes(lambda b: linalg.lu_solve(*linalg.lu(MATRICES), b), RIGHT),
    "lu_solve, one": lambda: linalg.lu_solve(*linalg.lu(MATRIX), RIGHT[0]),
    "lu_solve, any size": lambda: of_any_shape(lambda a, b: linalg.lu_solve(*linalg.lu(a), b), MATRICES, RIGHT),
    "lu_reconstruct": lambda: linalg.lu_reconstruct(*linalg.lu(MATRICES)),
    "lu_matrix_inverse": lambda: linalg.lu_matrix_inverse(*linalg.lu(MATRICES)),
    "tridiagonal_solve": lambda: slopes(linalg.tridiagonal_solve, THREE, COLUMNS),
    "tridiagonal_solve, vector": lambda: linalg.tridiagonal_solve(tf.constant(THREE), tf.constant(COLUMNS[..., 0])),
    "tridiagonal_solve, sequence": lambda: linalg.tridiagonal_solve(
        tridiagonal("sequence"), tf.constant(COLUMNS[0]), "sequence"
    ),
    "tridiagonal_solve, matrix": lambda: linalg.tridiagonal_solve(
        tridiagonal("matrix"), tf.constant(COLUMNS[0]), "matrix"
    ),
    "tridiagonal_solve, turned": lambda: linalg.tridiagonal_solve(
        tf.constant(THREE + 1j), tf.constant(np.swapaxes(COLUMNS, 1, 2) * 1j), transpose_rhs=True, conjugate_rhs=True
    ),
    "tridiagonal_solve, no pivots": lambda: linalg.tridiagonal_solve(
        tf.constant(THREE), tf.constant(COLUMNS), partial_pivoting=False
    ),
    "tridiagonal_solve, any size": lambda: of_any_shape(linalg.tridiagonal_solve, THREE, COLUMNS),
    "tridiagonal_matmul": lambda: slopes(linalg.tridiagonal_matmul, THREE, COLUMNS),
    "tridiagonal_matmul, matrix": lambda: linalg.tridiagonal_matmul(tridiagonal("matrix"), COLUMNS[0], "matrix"),
    "eigh_tridiagonal": lambda: [chosen(), chosen(select="i", select_range=(1, 2))],
    "eigh_tridiagonal, by value": lambda: chosen(select="v", select_range=(-1.0, 1.0)),
    "banded_triangular_solve": lambda: slopes(linalg.banded_triangular_solve, BANDS, COLUMNS),
    "banded_triangular_solve, upper": lambda: linalg.banded_triangular_solve(BANDS, COLUMNS, lower=False, adjoint=True),
    "sqrtm": lambda: slopes(linalg.sqrtm, MATRICES),
    "sqrtm, complex": lambda: linalg.sqrtm(COMPLEX),
    "logm": lambda: linalg.logm(COMPLEX),
    "conjugate_gradient": searched,
    "conjugate_gradient, two steps": lambda: searched(max_iter=2),
}


@pytest.mark.parametrize("case", CASES)
def test_figures(case):
    recorded.check(CASES[case](), FIGURES, case, 2e-4, 1e-5)


def test_a_root_of_a_matrix_that_has_too_few_eigenvectors():
    jordan = np.array([[4.0, 1.0], [0.0, 4.0]])
    np.testing.assert_allclose(linalg.sqrtm(jordan), [[2.0, 0.25], [0.0, 2.0]], rtol=1e-6)
    made = linalg.logm(jordan.astype(complex))
    np.testing.assert_allclose(made, [[np.log(4), 0.25], [0, np.log(4)]], atol=1e-7)


def test_the_slope_of_a_complex_root_is_that_of_a_number():
    given = np.array([[3.0 + 4.0j]])
    slopes_of = [slopes(function, given)[1].numpy() for function in (linalg.sqrtm, tf.sqrt)]
    np.testing.assert_allclose(*slopes_of)


def test_a_real_matrix_without_a_real_root_has_none():
    assert np.isnan(linalg.sqrtm(np.diag([-1.0, 2.0]))).all()


def test_a_pivot_is_needed_where_a_diagonal_has_a_zero():
    made = linalg.tridiagonal_solve([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], [3.0, 5.0])
    np.testing.assert_allclose(made, [5.0, 3.0])


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="Unrecognized diagonals_format"):
        linalg.tridiagonal_solve(THREE, COLUMNS, "sideways")
    with pytest.raises(ValueError, match="must be square"):
        linalg.sqrtm(np.ones((2, 3)))
