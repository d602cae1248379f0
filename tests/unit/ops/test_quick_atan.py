"""The inverse tangent of many float32 by plain arithmetic, against NumPy's in double precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import situs as tf
import situs.compat.v1 as v1
from situs._src.ops import quick_atan
from situs._src.ops.quick_tanh import MANY

INF = float("inf")


def units(found, x):
    """How far results are from the right ones, in units of the last place."""
    right = np.arctan(x.double().numpy())
    return np.abs(found.numpy() - right) / np.spacing(np.abs(right).astype(np.float32))


# The bits of the numbers from the smallest to 1, and from there to the largest.
RANGES = [(0x00000001, 0x3F000000), (0x3F000000, 0x3F800000), (0x3F800001, 0x7F7FFFFF)]


@pytest.mark.parametrize(("first", "last"), RANGES)
def test_it_is_within_two_units_over_the_whole_range(first, last):
    x = torch.linspace(first, last, 300_000, dtype=torch.float64).to(torch.int32).view(torch.float32)
    for each in (x, -x):
        assert units(quick_atan.quick_atan(each), each).max() < 2  # TensorFlow's is within 3.7


@pytest.mark.parametrize("also", [0.5, 1.0, -1.0, 1.0000001, INF, -INF, float("nan"), 3e38])
def test_edges(also):
    x = torch.tensor([0.0, -0.0, 1e-45, -1e-45, 1e-30, -1e-30, also])
    found = quick_atan.quick_atan(x).numpy()
    right = np.arctan(x.numpy())
    np.testing.assert_array_almost_equal_nulp(found[~np.isnan(right)], right[~np.isnan(right)], nulp=2)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(right))
    np.testing.assert_array_equal(np.signbit(found[:6]), np.signbit(right[:6]))


def test_layouts_and_sizes():
    x = torch.rand(700, 600) * 2 - 1
    x[0, 0] = 5.0  # which only the first part sees
    for each in (x.t(), x[::2, 1:], x.reshape(2, -1, 10).transpose(0, 2)):
        found = quick_atan.quick_atan(each)
        assert found.shape == each.shape
        assert units(found, each).max() < 2


@pytest.mark.parametrize("size", [MANY - 1, MANY, 3 * MANY])
@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_the_op_and_its_gradient_are_right_on_either_side_of_the_limit(size, scale):
    x = np.random.default_rng(0).uniform(-scale, scale, size).astype(np.float32)
    wide = x.astype(np.float64)
    traced = tf.function(lambda x: tf.atan(x + 0.0) * 1.0)
    for found in (tf.atan(x), traced(x)):
        assert found.dtype == tf.float32
        np.testing.assert_allclose(found.numpy(), np.arctan(wide), rtol=3e-7)
    source = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(source)
        made = tf.atan(source)
    np.testing.assert_allclose(tape.gradient(made, source).numpy(), 1 / (1 + wide * wide), rtol=1e-6)


def test_graphs_take_pytorchs_own_where_there_are_few_elements():
    def shaped(*sizes):
        with tf.Graph().as_default():
            return v1.placeholder(tf.float32, sizes)

    assert quick_atan.lower(shaped(4, 4)) is torch.atan
    assert quick_atan.lower(shaped(None, 4)) is torch.atan
    assert quick_atan.lower(shaped(MANY, 4)) is None
