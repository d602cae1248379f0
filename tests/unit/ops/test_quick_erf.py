"""The error function of many elements in C, against Python's own in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import situs as tf
from situs._src.base import compile_c
from situs._src.ops import quick_erf
from situs._src.ops.quick_erf import MANY

EDGES = [0.0, -0.0, 1e-45, -1e-45, 1e-30, 3.8, -3.8, 3.92, 4.0, 1e30, float("inf"), -float("inf"), float("nan")]


@pytest.fixture(autouse=True)
def _one_thread_of_the_host():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with tf.device("/CPU:0"):
        yield
    torch.set_num_threads(threads)


@pytest.mark.skipif(compile_c._compiler() is None, reason="no C compiler")
def test_it_is_right_to_the_last_places():
    x = np.concatenate([np.linspace(-4.5, 4.5, MANY), np.geomspace(1e-30, 1.0, 999), EDGES]).astype(np.float32)
    found = tf.math.erf(x).numpy()
    right = np.array([math.erf(value) for value in x.astype(np.float64)])
    known = ~np.isnan(right)
    np.testing.assert_array_equal(np.isnan(found), ~known)
    np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(right[known]))
    units = np.abs(found[known] - right[known]) / np.spacing(np.abs(right[known]).astype(np.float32))
    assert units.max() < 6
    assert (np.abs(found[known]) <= 1).all()
    assert (found[x >= 3.92] == 1).all()
    assert quick_erf._functions() is not None


@pytest.mark.parametrize("size", [MANY - 1, MANY + 3])
def test_results_written_over_inputs_are_the_same(size):
    x = torch.linspace(-5, 5, size)
    right = quick_erf.kernel(x)
    for given in (x.clone(), torch.empty(2 * size)[::2].copy_(x)):
        assert quick_erf.kernel_in_place(given) is given
        np.testing.assert_array_equal(given.numpy(), right.numpy())


def test_without_a_compiler_it_is_pytorchs(monkeypatch):
    monkeypatch.setenv("SITUS_NO_COMPILER", "1")
    x = np.linspace(-4, 4, MANY, dtype=np.float32)
    np.testing.assert_array_equal(tf.math.erf(x).numpy(), torch.erf(torch.tensor(x)).numpy())


def test_it_is_the_same_in_functions_of_views_and_has_a_gradient():
    x = tf.transpose(tf.constant(np.linspace(-3, 3, MANY, dtype=np.float32).reshape(128, -1)))
    eager = tf.math.erf(x).numpy()
    np.testing.assert_array_equal(tf.function(tf.math.erf)(x).numpy(), eager)
    np.testing.assert_allclose(eager, torch.erf(torch.from_numpy(x.numpy()).double()).numpy(), rtol=0, atol=5e-7)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.erf(x)
    slope = 2 / math.sqrt(math.pi) * np.exp(-(x.numpy().astype(np.float64) ** 2))
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), slope, rtol=1e-5)
