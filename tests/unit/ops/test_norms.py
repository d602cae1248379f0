"""Norms, against NumPy and recorded TensorFlow 2.21 results, on every type of device."""

from __future__ import annotations

import math

import numpy as np
import pytest

import situs as tf
from situs._src.base import dtype as dt
from situs._src.base.dtype import FLOATING
from situs._src.ops.norms import global_norm, norm, norm_v1, normalize
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import InvalidArgumentError

X = np.array([[3.0, -4.0], [5.0, 12.0]], np.float32)


# Recorded from TensorFlow 2.21.
@pytest.mark.parametrize(
    ("ord", "axis", "expected"),
    [
        ("euclidean", None, 13.928388595581055),
        ("euclidean", 0, [5.830951690673828, 12.649110794067383]),
        ("euclidean", (0, 1), 13.928388595581055),
        ("fro", [-2, -1], 13.928388595581055),
        (1, None, 24.0),
        (1, 1, [7.0, 17.0]),
        (1, (0, 1), 16.0),
        (1, (1, 0), 17.0),
        (2, None, 13.928388595581055),
        (2, 1, [5.0, 13.0]),
        (2, (0, 1), 13.27412223815918),
        (np.inf, None, 12.0),
        (np.inf, 0, [5.0, 12.0]),
        (np.inf, (0, 1), 17.0),
        (np.inf, (1, 0), 16.0),
        (3, 0, [5.336803436279297, 12.146356582641602]),
        (0.5, None, 88.96678161621094),
    ],
)
def test_norms(on_device, ord, axis, expected):
    result = norm(X, ord, axis)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5)
    assert result.device == on_device
    kept = norm(X, ord, axis, keepdims=True)
    assert kept.shape.rank == 2
    np.testing.assert_allclose(np.squeeze(kept.numpy()), np.squeeze(expected), rtol=1e-5)


@pytest.mark.parametrize("axis", [(0, 2), (2, 0), (-1, 1)])
@pytest.mark.parametrize("ord", ["fro", 1, 2, np.inf])
def test_norms_of_matrices_anywhere_in_a_tensor(on_device, ord, axis):
    x = np.random.default_rng(3).normal(size=(2, 3, 4))
    for keepdims in (False, True):
        expected = np.linalg.norm(x, ord, axis, keepdims)
        np.testing.assert_allclose(norm(x, ord, axis, keepdims).numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", sorted(FLOATING, key=str), ids=lambda d: d.name)
def test_norms_keep_their_dtype(on_device, dtype):
    for ord in ("euclidean", 1, np.inf):
        assert norm(to_tensor(X, dtype), ord).dtype is dtype
    assert float(norm(to_tensor([3, 4], dtype))) == 5.0


def test_norms_of_complex_numbers(on_device):
    # As in TensorFlow, a Euclidean norm keeps the complex dtype and the others are real.
    x = np.array([3 + 4j, 0])
    assert norm(x).numpy() == 5 + 0j
    assert [norm(x, ord).dtype for ord in ("euclidean", 1, np.inf)] == [dt.complex128, dt.float64, dt.float64]
    assert norm(np.diag(x), 2, axis=(0, 1)).numpy() == pytest.approx(5.0)


def test_norm_of_integers(on_device):
    assert norm([3, -4], 1).numpy() == 7
    with pytest.raises(TypeError, match="is not in the list of allowed values"):
        norm([3, 4])


def test_norms_of_scalars_and_of_nothing(on_device):
    assert norm(-3.0).numpy() == 3.0
    assert norm(np.zeros(0)).numpy() == 0.0
    assert norm(np.zeros(0), np.inf).numpy() == -math.inf


@pytest.mark.parametrize(
    ("ord", "axis", "message"),
    [
        ("fro", None, "supported vector norm, got fro"),
        (-1, 0, "supported vector norm, got -1"),
        (0, None, "supported vector norm, got 0"),
        (3, (0, 1), "supported matrix norm"),
        ("x", (0, 1), "supported matrix norm"),
        (2, (0, 0), "a tuple of 2 unique integers"),
        (2, [0], "a tuple of 2 unique integers"),
        (2, (0, 1, 1), "a tuple of 2 unique integers"),
        (2, 2, r"Invalid reduction dimension \(2"),
        (2, (0, 5), "out of range"),
        (1, 0.5, "'axis' must be None"),
    ],
)
def test_norms_that_do_not_exist_are_refused(on_device, ord, axis, message):
    with pytest.raises(InvalidArgumentError, match=message):
        norm(X, ord, axis)


def test_old_argument_names(on_device):
    assert norm_v1(X, axis=1, keep_dims=True).numpy().tolist() == [[5.0], [13.0]]
    with pytest.raises(ValueError, match="Cannot specify both"):
        norm_v1(X, keepdims=True, keep_dims=True)


def test_normalize_gives_the_tensor_and_its_norms(on_device):
    x, norms = normalize(X, axis=1)
    np.testing.assert_allclose(x.numpy(), X / [[5], [13]], rtol=1e-6)
    assert norms.numpy().tolist() == [[5.0], [13.0]]
    largest, norms = normalize(X, np.inf, axis=0)
    np.testing.assert_allclose(largest.numpy(), X / [5, 12], rtol=1e-6)
    assert np.isnan(normalize([0.0, 0.0])[0].numpy()).all()
    z, _ = normalize(np.array([3 + 4j, 0]), 1)
    np.testing.assert_allclose(z.numpy(), [0.6 + 0.8j, 0])


def test_global_norm(on_device):
    assert float(global_norm([X, None, [1.0]])) == pytest.approx(math.sqrt((X**2).sum() + 1))
    assert float(global_norm([])) == 0.0
    assert float(global_norm((None,))) == 0.0
    assert global_norm([to_tensor([3, 4], dt.float16)]).dtype is dt.float16


@pytest.mark.parametrize(
    ("value", "message"),
    [(X, "should be a sequence"), ("abc", "should be a sequence"), ([[3, 4]], "takes floating-point tensors")],
)
def test_global_norm_takes_lists_of_floats(value, message):
    with pytest.raises(TypeError, match=message):
        global_norm(to_tensor(value) if value is X else value)


def test_global_norm_does_not_mix_dtypes():
    with pytest.raises(TypeError, match="input #1"):
        global_norm([X, X.astype(np.float64)])


@pytest.mark.parametrize("ord", [[2], None, np.zeros(3), dt.float32, object()])
def test_an_order_that_is_no_number_is_refused(ord):
    with pytest.raises(InvalidArgumentError, match="'ord' must be a number or the name of a norm"):
        norm(X, ord)


def test_the_norms_of_complex_tensors_come_back_in_their_dtype():  # as in TensorFlow 2.21
    assert [t.dtype for t in normalize(np.array([1 + 2j, 3j]), 3)] == [dt.complex128, dt.complex128]


@pytest.mark.parametrize("axis", [[0, None], [0, "1"], [0, 1.5], [1, 1], [0], [0, 1, 2], "01"])
def test_axes_that_are_no_pair_are_refused(axis):
    with pytest.raises(InvalidArgumentError, match="'axis' must be None, an integer, or a tuple of 2 unique integers"):
        norm(X, 1, axis)
    with tf.Graph().as_default(), pytest.raises(InvalidArgumentError, match="'axis' must be None, an integer"):
        norm(X, 1, axis)
