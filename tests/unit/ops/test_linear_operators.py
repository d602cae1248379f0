"""``tf.linalg.LinearOperator...``: NumPy's numbers of the matrices that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1

A = np.array([[2.0, 5.0, 1.0], [1.0, 3.0, -1.0], [0.5, 2.0, 4.0]])
D = np.array([2.0, -3.0, 0.5])
B = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
linalg = tf.linalg
CASES = {
    "full": (lambda: linalg.LinearOperatorFullMatrix(A), A),
    "lower": (lambda: linalg.LinearOperatorLowerTriangular(A), np.tril(A)),
    "diag": (lambda: linalg.LinearOperatorDiag(D), np.diag(D)),
    "identity": (lambda: linalg.LinearOperatorIdentity(3, dtype=tf.float64), np.eye(3)),
    "scaled": (lambda: linalg.LinearOperatorScaledIdentity(3, tf.constant(2.5, tf.float64)), 2.5 * np.eye(3)),
    "several": (lambda: linalg.LinearOperatorLowerTriangular(np.stack([A, 2 * A])), np.tril(np.stack([A, 2 * A]))),
}


@pytest.mark.parametrize("case", CASES)
def test_they_compute_as_their_matrices_do(case):
    made, matrix = CASES[case]
    operator = made()
    turned = np.swapaxes(matrix, -1, -2)
    found = {
        "dense": (operator.to_dense(), matrix),
        "product": (operator @ tf.constant(B), matrix @ B),
        "adjoint product": (operator.matmul(B.T, adjoint=True, adjoint_arg=True), turned @ B),
        "vector": (operator.matvec(D), matrix @ D),
        "solution": (operator.solve(np.broadcast_to(B, (*matrix.shape[:-2], 3, 2))), np.linalg.solve(matrix, B)),
        "diagonal": (operator.diag_part(), np.diagonal(matrix, axis1=-2, axis2=-1)),
        "trace": (operator.trace(), np.trace(matrix, axis1=-2, axis2=-1)),
        "determinant": (operator.determinant(), np.linalg.det(matrix)),
        "logarithm": (operator.log_abs_determinant(), np.linalg.slogdet(matrix)[1]),
        "sum": (operator.add_to_tensor(np.ones_like(matrix)), matrix + 1),
        "adjoint": (operator.H.to_dense(), turned),
        "inverse": (operator.inverse().to_dense(), np.linalg.inv(matrix)),
    }
    for name, (value, expected) in found.items():
        np.testing.assert_allclose(value.numpy(), expected, rtol=1e-9, atol=1e-12, err_msg=name)
    assert operator.shape == matrix.shape
    assert operator.is_square


def test_in_graphs_with_gradients():
    with tf1.Graph().as_default(), tf1.Session() as session:
        a = tf1.placeholder(tf.float64, [None, None])
        lower = tf1.linalg.LinearOperatorLowerTriangular(a)
        gradient = tf1.gradients(tf1.reduce_sum(lower.matmul(tf1.constant(B)) ** 2), a)[0]
        assert np.allclose(session.run(gradient, {a: A}), np.tril(2 * (np.tril(A) @ B) @ B.T))
