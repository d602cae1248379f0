"""Solving and decomposing, against NumPy and by what the results must satisfy, on every type of device."""

from __future__ import annotations

import math

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from situs._src.base import dtype as dt
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.ir.registry.op import find_op, infer_shapes
from situs._src.ops import decompose as d
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import InvalidArgumentError

PRECISE = sorted(d.PRECISE, key=str)
NAN = [[math.nan, 1.0], [1.0, 2.0]]
SINGULAR = [[1.0, 1.0], [1.0, 1.0]]
by_dtype = pytest.mark.parametrize("dtype", PRECISE, ids=lambda t: t.name)


def random(shape, dtype=dt.float64):
    rng = np.random.default_rng(7)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.is_complex else x).astype(dtype.as_numpy_dtype)


def positive_definite(shape, dtype=dt.float64):
    x = random(shape, dtype)
    return x @ x.conj().swapaxes(-1, -2) + np.eye(shape[-1], dtype=x.dtype) * 2


def tolerance(dtype):
    return {"rtol": 1e-3, "atol": 1e-3} if dtype.real_dtype is dt.float32 else {"rtol": 1e-8, "atol": 1e-8}


# Inverses and determinants.


@by_dtype
def test_inverse(on_device, dtype):
    x = random((3, 4, 4), dtype)
    for adjoint in (False, True):
        inverse = d.inv(x, adjoint)
        assert (inverse.dtype, inverse.device) == (dtype, on_device)
        expected = np.linalg.inv(x.conj().swapaxes(-1, -2) if adjoint else x)
        np.testing.assert_allclose(inverse.numpy(), expected, **tolerance(dtype))


def test_a_matrix_without_an_inverse_is_an_error(on_device):
    with pytest.raises(InvalidArgumentError, match=r"Input is not invertible\."):
        d.inv(SINGULAR)
    with pytest.raises(InvalidArgumentError, match=r"Input is not invertible\."):
        d.inv([[[1.0, 0.0], [0.0, 1.0]], SINGULAR])


@by_dtype
def test_determinants(on_device, dtype):
    x = random((3, 4, 4), dtype)
    sign, logarithm = d.slogdet(x)
    expected = np.linalg.det(x)
    np.testing.assert_allclose(d.det(x).numpy(), expected, **tolerance(dtype))
    np.testing.assert_allclose(sign.numpy() * np.exp(logarithm.numpy()), expected, **tolerance(dtype))
    assert sign.dtype is logarithm.dtype is dtype
    definite = positive_definite((2, 3, 3), dtype)
    volume = d.logdet(definite)
    assert volume.dtype is dtype.real_dtype
    np.testing.assert_allclose(volume.numpy(), np.linalg.slogdet(definite)[1], **tolerance(dtype))


def test_determinants_of_singular_and_of_empty_matrices(on_device):
    assert d.det(SINGULAR).numpy() == 0
    assert [float(part) for part in d.slogdet([[0.0, 0.0], [0.0, 0.0]])] == [0.0, -math.inf]
    assert d.det(np.zeros((0, 0))).numpy() == 1
    assert d.det(np.zeros((0, 2, 2))).shape == (0,)


# Cholesky factors.


@by_dtype
def test_cholesky_factors_multiply_to_the_matrix(on_device, dtype):
    x = positive_definite((2, 4, 4), dtype)
    factor = d.cholesky(x).numpy()
    np.testing.assert_allclose(factor @ factor.conj().swapaxes(-1, -2), x, **tolerance(dtype))
    assert not np.triu(factor, 1).any()


def test_cholesky_reads_the_lower_triangle_only(on_device):
    # Recorded from TensorFlow 2.21.
    np.testing.assert_allclose(d.cholesky([[4.0, 99.0], [1.0, 3.0]]).numpy(), [[2.0, 0.0], [0.5, 1.65831244]])


@pytest.mark.parametrize("x", [[[-1.0]], [[1.0, 2.0], [2.0, 1.0]], NAN])
def test_a_matrix_that_is_not_positive_definite_is_an_error(on_device, x):
    with pytest.raises(InvalidArgumentError, match=r"Cholesky decomposition was not successful\. The input might not"):
        d.cholesky(x)


# Linear equations.


@by_dtype
def test_solutions_satisfy_their_equations(on_device, dtype):
    a, b = random((2, 4, 4), dtype), random((2, 4, 3), dtype)
    np.testing.assert_allclose(a @ d.solve(a, b).numpy(), b, **tolerance(dtype))
    adjoint = a.conj().swapaxes(-1, -2)
    np.testing.assert_allclose(adjoint @ d.solve(a, b, adjoint=True).numpy(), b, **tolerance(dtype))
    definite = positive_definite((2, 4, 4), dtype)
    solved = d.cholesky_solve(d.cholesky(definite), b)
    np.testing.assert_allclose(definite @ solved.numpy(), b, **tolerance(dtype))


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@by_dtype
def test_triangular_solve_reads_one_triangle(on_device, dtype, lower, adjoint):
    a, b = random((2, 4, 4), dtype) + 3 * np.eye(4, dtype=dtype.as_numpy_dtype), random((2, 4, 3), dtype)
    triangle = np.tril(a) if lower else np.triu(a)
    used = triangle.conj().swapaxes(-1, -2) if adjoint else triangle
    solved = d.triangular_solve(a, b, lower=lower, adjoint=adjoint).numpy()
    np.testing.assert_allclose(used @ solved, b, **tolerance(dtype))


def test_triangular_solve_broadcasts_batches(on_device):
    solved = d.triangular_solve([[2.0, 0.0], [1.0, 3.0]], np.ones((3, 2, 1), np.float32))
    np.testing.assert_allclose(solved.numpy(), [[[0.5], [1 / 6]]] * 3, rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "a", "b", "message"),
    [
        (d.solve, SINGULAR, [[1.0], [2.0]], "Input matrix is not invertible"),
        (d.solve, np.eye(2), np.ones(2), r"same rank: \[2,2\] and \[2\].*expand_dims"),
        (d.solve, np.eye(2), np.ones((3, 2, 1)), "same rank"),
        (d.solve, np.eye(2), np.ones((3, 1)), r"incompatible: \[2,2\] and \[3,1\]"),
        (d.solve, np.ones((2, 2, 2)), np.ones((3, 2, 1)), "same outer dimensions"),
        (d.solve, np.ones((2, 3)), np.ones((2, 1)), "must be square"),
        (d.triangular_solve, np.eye(2), np.ones(2), r"ndims must be >= 2: 1.*expand_dims"),
        (d.triangular_solve, np.eye(2), np.ones((3, 1)), r"mismatch In\[1\] shape: 2 vs. 3"),
        (d.triangular_solve, np.ones((2, 2, 2)), np.ones((3, 2, 1)), "compatible batch dimensions"),
        (d.triangular_solve, np.ones((2, 3)), np.ones((2, 1)), "must be square"),
        (d.cholesky_solve, np.eye(2), np.ones((3, 1)), "2 vs. 3"),
        (d.lstsq, np.ones((3, 2)), np.ones((2, 1)), r"size-incompatible: In\[0\]: \[3,2\], In\[1\]: \[2,1\]"),
        (d.lstsq, np.ones((3, 2)), np.ones(3), "rank >= 2, got 1"),
    ],
)
def test_equations_that_do_not_fit_are_refused(on_device, function, a, b, message):
    with pytest.raises(InvalidArgumentError, match=message):
        function(a, b)


# Least squares.


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("shape", [(2, 5, 3), (5, 3), (3, 5)])
@by_dtype
def test_least_squares_equal_numpy(on_device, dtype, shape, fast):
    a, b = random(shape, dtype), random((*shape[:-1], 2), dtype)
    expected = np.linalg.pinv(a) @ b
    np.testing.assert_allclose(d.lstsq(a, b, fast=fast).numpy(), expected, **tolerance(dtype))


def test_least_squares_hold_the_solution_down(on_device):
    # Recorded from TensorFlow 2.21.
    a, b = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([[1.0], [2.0], [4.0]])
    np.testing.assert_allclose(d.lstsq(a, b, l2_regularizer=0.5).numpy(), [[0.4229398], [0.2724009]], rtol=1e-5)
    wide = d.lstsq(a.T, b[:2], l2_regularizer=0.5).numpy()
    np.testing.assert_allclose(wide, [[0.3225806], [0.1935484], [0.0645161]], rtol=1e-5)


def test_least_squares_of_a_matrix_without_full_rank(on_device):
    slow = d.lstsq(np.ones((3, 2)), [[1.0], [2.0], [4.0]], fast=False)
    np.testing.assert_allclose(slow.numpy(), [[7 / 6], [7 / 6]])
    with pytest.raises(InvalidArgumentError, match="Cholesky decomposition was not successful"):
        d.lstsq(np.zeros((3, 2), np.float32), np.ones((3, 1), np.float32))


# QR and LU factors.


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", [(2, 5, 3), (3, 5), (4, 4)])
@by_dtype
def test_qr_factors_multiply_to_the_matrix(on_device, dtype, shape, full):
    x = random(shape, dtype)
    q, r = (part.numpy() for part in d.qr(x, full_matrices=full))
    np.testing.assert_allclose(q @ r, x, **tolerance(dtype))
    inner = np.eye(q.shape[-1])
    np.testing.assert_allclose(
        q.conj().swapaxes(-1, -2) @ q, np.broadcast_to(inner, (*shape[:-2], *inner.shape)), **tolerance(dtype)
    )
    assert q.shape[-1] == (shape[-2] if full else min(shape[-2:]))
    assert not np.tril(r, -1).any()


@by_dtype
def test_lu_factors_multiply_to_the_reordered_matrix(on_device, dtype):
    x = random((2, 4, 4), dtype)
    factors, order = d.lu(x, output_idx_type=dt.int64)
    assert order.dtype is dt.int64
    packed = factors.numpy()
    product = (np.tril(packed, -1) + np.eye(4)) @ np.triu(packed)
    reordered = np.take_along_axis(x, order.numpy()[..., None], -2)
    np.testing.assert_allclose(product, reordered, **tolerance(dtype))


def test_lu_of_special_matrices(on_device):
    assert [part.shape for part in d.lu(np.zeros((0, 0)))] == [(0, 0), (0,)]
    with pytest.raises(InvalidArgumentError, match="not invertible"):
        d.lu([[0.0, 0.0], [0.0, 0.0]])


# Singular values.


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", [(2, 5, 3), (3, 5), (4, 4)])
@by_dtype
def test_singular_vectors_multiply_to_the_matrix(on_device, dtype, shape, full):
    x = random(shape, dtype)
    s, u, v = d.svd(x, full_matrices=full)
    assert (s.dtype, u.dtype, v.dtype) == (dtype.real_dtype, dtype, dtype)
    n = min(shape[-2:])
    left, right = u.numpy()[..., :n] * s.numpy()[..., None, :], v.numpy()[..., :n].conj().swapaxes(-1, -2)
    np.testing.assert_allclose(left @ right, x, **tolerance(dtype))
    assert (u.shape[-1], v.shape[-1]) == (shape[-2:] if full else (n, n))
    values = d.svd(x, compute_uv=False)
    assert values.dtype is dtype.real_dtype
    np.testing.assert_allclose(values.numpy(), np.linalg.svd(x, compute_uv=False), **tolerance(dtype))


def test_flags_may_be_constants_of_a_graph():
    with v1.Graph().as_default(), v1.Session() as session:
        values = d.svd(np.eye(2, dtype=np.float32), compute_uv=tf.constant(False))
        assert session.run(values).tolist() == [1, 1]


def test_singular_values_of_nothing(on_device):
    s, u, v = d.svd(np.zeros((0, 2)), full_matrices=True)
    assert (s.shape, u.shape, v.numpy().tolist()) == ((0,), (0, 0), [[1.0, 0.0], [0.0, 1.0]])


@by_dtype
def test_rank_and_pseudo_inverse(on_device, dtype):
    x = random((4, 2), dtype) @ random((2, 3), dtype)
    assert d.matrix_rank(x).numpy() == 2
    assert d.matrix_rank(np.stack([x, 0 * x])).numpy().tolist() == [2, 0]
    assert d.matrix_rank(x).dtype is dt.int32
    np.testing.assert_allclose(d.pinv(x).numpy(), np.linalg.pinv(x, 1e-5), **tolerance(dtype))


def test_what_counts_as_zero_can_be_chosen(on_device):
    # Recorded from TensorFlow 2.21.
    x = [[1.0, 2.0], [3.0, 4.0]]
    assert d.matrix_rank(x, tol=1.0).numpy() == 1
    expected = [[0.04264282, 0.09639632], [0.06051038, 0.13678688]]
    np.testing.assert_allclose(d.pinv(x, rcond=0.1).numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("function", [d.matrix_rank, d.pinv])
def test_rank_and_pseudo_inverse_take_matrices_of_floats(function):
    with pytest.raises(ValueError, match=r"at least 2 dimensions \(saw: 1\)"):
        function([1.0])
    with pytest.raises(TypeError, match="`float`-like"):
        function(to_tensor([[1, 2]]))


# Eigenvalues.


@by_dtype
def test_eigenvectors_of_self_adjoint_matrices(on_device, dtype):
    x = positive_definite((2, 4, 4), dtype)
    e, v = d.eigh(np.tril(x))
    assert e.dtype is v.dtype is dtype
    np.testing.assert_allclose(x @ v.numpy(), v.numpy() * e.numpy()[..., None, :], **tolerance(dtype))
    np.testing.assert_allclose(e.numpy(), np.linalg.eigvalsh(x), **tolerance(dtype))
    np.testing.assert_allclose(d.eigvalsh(x).numpy(), e.numpy(), **tolerance(dtype))


@by_dtype
def test_eigenvectors_of_any_matrix(on_device, dtype):
    x = random((2, 4, 4), dtype)
    e, v = d.eig(x)
    assert e.dtype is v.dtype is (dt.complex64 if dtype.real_dtype is dt.float32 else dt.complex128)
    np.testing.assert_allclose(x @ v.numpy(), v.numpy() * e.numpy()[..., None, :], **tolerance(dtype))
    values = d.eigvals(x).numpy()
    np.testing.assert_allclose(
        np.sort_complex(values.round(3)), np.sort_complex(e.numpy().round(3)), **tolerance(dtype)
    )


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("function", [d.eigh, d.eigvalsh, d.eig, d.eigvals, d.svd, d.pinv, d.matrix_rank])
def test_nan_and_infinity_have_no_decomposition(on_device, function, bad):
    with pytest.raises(InvalidArgumentError, match="was not successful"):
        function([[bad, 1.0], [1.0, 2.0]])


# Functions of matrices.


@by_dtype
def test_exponentials(on_device, dtype):
    x = random((2, 3, 3), dtype)
    series, term = np.zeros_like(x), np.broadcast_to(np.eye(3), x.shape)
    for n in range(1, 40):
        series, term = series + term, term @ x / n
    np.testing.assert_allclose(d.expm(x).numpy(), series, **tolerance(dtype))
    assert d.expm(np.zeros((0, 0))).shape == (0, 0)


# What none of them takes.


@pytest.mark.parametrize("function", [d.inv, d.det, d.slogdet, d.cholesky, d.lu, d.eigh, d.eigvalsh, d.eig, d.expm])
def test_matrices_that_are_not_square_are_refused(on_device, function):
    with pytest.raises(InvalidArgumentError, match=r"Input matrix must be square, got \[2,3\]"):
        function(np.ones((2, 3)))


@pytest.mark.parametrize(
    "function", [d.inv, d.det, d.slogdet, d.cholesky, d.qr, d.svd, d.lu, d.eigh, d.eig, d.expm, d.logdet]
)
@pytest.mark.parametrize("x", [1.0, [1.0, 2.0]])
def test_vectors_and_scalars_are_refused(on_device, function, x):
    with pytest.raises(InvalidArgumentError, match="must have rank >= 2"):
        function(x)


@pytest.mark.parametrize("function", [d.inv, d.det, d.slogdet, d.cholesky, d.qr, d.svd, d.lu, d.eigh, d.eig, d.expm])
@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16, dt.int32])
def test_half_precision_and_integers_are_refused(function, dtype):
    with pytest.raises(TypeError, match="not in the list of allowed values"):
        function(to_tensor([[1, 0], [0, 1]], dtype))


@pytest.mark.parametrize("function", [d.inv, d.cholesky, d.qr, d.svd, d.eigh, d.expm])
def test_inputs_stay_as_they_are(on_device, function):
    before = positive_definite((3, 3))
    x = to_tensor(before.T)
    function(x)
    np.testing.assert_array_equal(x.numpy(), before.T)


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "expected"),
    [
        ("MatrixInverse", (TensorShape([None, 3, None]),), {"adjoint": False}, [TensorShape([None, 3, 3])]),
        ("MatrixDeterminant", (UNKNOWN,), {}, [UNKNOWN]),
        ("MatrixSolve", (UNKNOWN, TensorShape([2, 2])), {"adjoint": False}, [UNKNOWN]),
        (
            "Qr",
            (TensorShape([None, 3]),),
            {"full_matrices": False},
            [TensorShape([None, None]), TensorShape([None, 3])],
        ),
        (
            "Svd",
            (TensorShape([2, 3]),),
            {"compute_uv": False, "full_matrices": False},
            [TensorShape([2]), TensorShape([0]), TensorShape([0])],
        ),
    ],
)
def test_shape_rules_of_partly_known_shapes(op, inputs, attrs, expected):
    assert infer_shapes(find_op(op), inputs, attrs) == expected


def test_results_have_fields() -> None:
    matrix = np.array([[4.0, 1.0], [2.0, -3.0]])
    factors, determinant = tf.linalg.qr(matrix), tf.linalg.slogdet(matrix)
    np.testing.assert_allclose(factors.q.numpy() @ factors.r.numpy(), matrix, atol=1e-12)
    assert float(determinant.sign) == -1.0
    np.testing.assert_allclose(float(determinant.log_abs_determinant), np.log(14.0))
    assert [type(made).__name__ for made in (factors, determinant)] == ["Qr", "LogMatrixDeterminant"]
    triangles = tf.linalg.lu(matrix)
    assert triangles._fields == ("lu", "p")
    np.testing.assert_array_equal(triangles.p.numpy(), [0, 1])
