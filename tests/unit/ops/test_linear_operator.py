"""``tf.linalg.LinearOperator`` and its kinds: what they do, with figures of TensorFlow 2.21."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import situs as tf
from tests import recorded

FIGURES = Path(__file__).parents[2] / "data" / "linear_operator_figures.json"
L = tf.linalg
random = np.random.RandomState(2)
MATRIX = random.randn(2, 3, 3) + 3 * np.eye(3)
POSITIVE = MATRIX[0] @ MATRIX[0].T
WIDE = random.randn(3, 5)
DIAGONAL = random.rand(2, 3) + 0.5
NARROW, OTHER = random.randn(3, 2), random.randn(3, 2)

full = lambda **hints: L.LinearOperatorFullMatrix(MATRIX, **hints)  # noqa: E731
small = lambda: L.LinearOperatorDiag([2.0, 3.0 + 0 * DIAGONAL[0, 0]])  # noqa: E731
KINDS: dict[str, Any] = {
    "full": full,
    "positive": lambda: L.LinearOperatorFullMatrix(POSITIVE, is_self_adjoint=True, is_positive_definite=True),
    "complex": lambda: L.LinearOperatorFullMatrix(MATRIX + 1j * MATRIX[::-1]),
    "triangle": lambda: L.LinearOperatorLowerTriangular(MATRIX),
    "diagonal": lambda: L.LinearOperatorDiag(DIAGONAL, is_positive_definite=True),
    "complex diagonal": lambda: L.LinearOperatorDiag(DIAGONAL + 1j),
    "identity": lambda: L.LinearOperatorIdentity(3, [2], tf.float64),
    "scaled": lambda: L.LinearOperatorScaledIdentity(3, np.array([2.0, -3.0])),
    "product": lambda: L.LinearOperatorComposition([full(), L.LinearOperatorDiag(DIAGONAL)]),
    "kronecker": lambda: L.LinearOperatorKronecker([full(), L.LinearOperatorFullMatrix(MATRIX[0, :2, :2])]),
    "blocks": lambda: L.LinearOperatorBlockDiag([full(), L.LinearOperatorDiag(DIAGONAL[0, :2])]),
    "update": lambda: L.LinearOperatorLowRankUpdate(full(), NARROW, DIAGONAL[0, :2], OTHER),
    "positive update": lambda: L.LinearOperatorLowRankUpdate(KINDS["diagonal"](), NARROW),
    "adjoint": lambda: L.LinearOperatorAdjoint(KINDS["complex"]()),
    "inversion": lambda: L.LinearOperatorInversion(full()),
}


def what_it_does(kind: str) -> Any:
    operator = KINDS[kind]()
    right = tf.constant(np.cos(np.arange(operator.shape[-1] * 2.0)).reshape(-1, 2), operator.dtype)
    turned = tf.linalg.adjoint(right)
    return [
        operator.to_dense(),
        operator.matmul(right),
        operator.matmul(turned, adjoint=True, adjoint_arg=True),
        operator.matvec(right[:, 0]),
        operator.solve(right),
        operator.solve(turned, adjoint=True, adjoint_arg=True),
        operator.solvevec(right[:, 0], adjoint=True),
        operator.determinant(),
        operator.log_abs_determinant(),
        operator.diag_part(),
        operator.trace(),
        operator.add_to_tensor(tf.zeros_like(operator.to_dense())),
        operator.adjoint().to_dense(),
        operator.inverse().to_dense(),
        operator.shape_tensor(),
        operator.batch_shape_tensor(),
    ]


CASES: dict[str, Any] = {kind: lambda kind=kind: what_it_does(kind) for kind in KINDS} | {
    "zeros": lambda: [
        L.LinearOperatorZeros(3, 5, [2], tf.float64, is_square=False, is_self_adjoint=False).matmul(WIDE.T),
        L.LinearOperatorZeros(3, dtype=tf.float64).determinant(),
        L.LinearOperatorZeros(3, dtype=tf.float64).add_to_tensor(WIDE[:, :3]),
    ],
    "cholesky": lambda: [KINDS[kind]().cholesky().to_dense() for kind in ("positive", "identity")],
    "condition": lambda: [KINDS[kind]().cond() for kind in ("positive", "diagonal", "full")],
    "eigenvalues": lambda: [KINDS[kind]().eigvals() for kind in ("positive", "diagonal")],
    "operators times operators": lambda: [
        (full() @ KINDS["diagonal"]()).to_dense(),
        full().matmul(KINDS["triangle"](), adjoint=True).to_dense(),
        full().solve(KINDS["diagonal"]()).to_dense(),
    ],
    "wide": lambda: [
        L.LinearOperatorFullMatrix(WIDE).matvec(WIDE[0]),
        L.LinearOperatorFullMatrix(WIDE).H.matvec(WIDE[:, 0]),
    ],
}


@pytest.mark.parametrize("case", CASES)
def test_figures(case):
    recorded.check(CASES[case](), FIGURES, case, 1e-5, 1e-8)


def test_hints():
    def hints(operator):
        return operator.is_non_singular, operator.is_self_adjoint, operator.is_positive_definite, operator.is_square

    assert hints(KINDS["positive"]()) == (True, True, True, True)
    assert hints(full()) == (None, None, None, True)
    assert hints(KINDS["diagonal"]()) == (True, True, True, True)
    assert hints(KINDS["positive update"]()) == (True, True, True, True)
    assert hints(L.LinearOperatorFullMatrix(WIDE)) == (None, None, None, False)
    assert hints(L.LinearOperatorComposition([full(is_non_singular=True)] * 2))[0] is True


def test_gradients_reach_the_parameters():
    diagonal = tf.Variable([2.0, 4.0])
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(L.LinearOperatorDiag(diagonal).solvevec([1.0, 1.0]))
    np.testing.assert_allclose(tape.gradient(total, diagonal), [-0.25, -0.0625])


def test_functions_of_unknown_shapes():
    @tf.function(input_signature=[tf.TensorSpec([None, None, None], tf.float64), tf.TensorSpec([None, 2], tf.float64)])
    def solved(matrix, diagonal):
        first = L.LinearOperatorFullMatrix(matrix, is_square=True)
        operator = L.LinearOperatorBlockDiag([first, L.LinearOperatorDiag(diagonal)])
        return operator.to_dense(), operator.matmul(tf.ones([5, 1], tf.float64)), operator.log_abs_determinant()

    dense, rows, size = solved(MATRIX, DIAGONAL[:, :2])
    np.testing.assert_allclose(rows[..., 0], np.sum(dense, -1))
    np.testing.assert_allclose(size, np.linalg.slogdet(dense)[1])


def test_checks():
    KINDS["positive"]().assert_positive_definite()
    KINDS["positive"]().assert_non_singular()
    with pytest.raises(tf.errors.InvalidArgumentError):
        full().assert_self_adjoint()


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="not compatible"):
        full().matmul(np.ones((2, 2)))
    with pytest.raises(ValueError, match="not compatible"):
        L.LinearOperatorComposition([full(), small()][:1] + [L.LinearOperatorFullMatrix(WIDE.T)])
    with pytest.raises(TypeError, match="dtype"):
        full().matmul(tf.ones([3, 1], tf.float32))
    with pytest.raises(ValueError, match="Cholesky"):
        full().cholesky()
    with pytest.raises(NotImplementedError, match="singular"):
        L.LinearOperatorZeros(3).solve(tf.ones([3, 1]))
