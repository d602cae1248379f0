"""The hyperbolic tangent of many float32 by plain arithmetic, against PyTorch's in double precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import situs as tf
import situs.compat.v1 as v1
from situs._src.ops import quick_atan, quick_tanh
from situs._src.ops.quick_tanh import MANY

INF = float("inf")


def units(found, x):
    """How far results are from the right ones, in units of the last place."""
    right = torch.tanh(x.double()).numpy()
    return np.abs(found.numpy() - right) / np.spacing(np.abs(right).astype(np.float32))


RANGES = [(0x00800000, 0x3F000000), (0x3F000000, 0x40E00000), (0x40E00000, 0x7F7FFFFF)]  # of the bits


@pytest.mark.parametrize(("first", "last"), RANGES)
def test_it_is_within_four_units_over_the_whole_range(first, last):
    x = torch.linspace(first, last, 300_000, dtype=torch.float64).to(torch.int32).view(torch.float32)
    for each in (x, -x):
        found = quick_tanh.quick_tanh(each)
        assert units(found, each).max() < 4
        assert found.abs().max() <= 1


@pytest.mark.parametrize("size", [MANY - 1, MANY, 300_001])
@pytest.mark.parametrize("module", [quick_tanh, quick_atan])
def test_results_written_over_inputs_are_the_same(module, size):
    x = torch.linspace(-20, 20, size)
    right = module.kernel(x)
    for given in (x.clone(), torch.empty(2 * size)[::2].copy_(x)):
        assert module.in_place()(given) is given
        np.testing.assert_array_equal(given.numpy(), right.numpy())


def test_edges():
    x = torch.tensor([INF, -INF, float("nan"), 0.0, -0.0, 1e-45, -1e-30, 3e38, 20.0, -20.0])
    found = quick_tanh.quick_tanh(x).numpy()
    np.testing.assert_array_equal(found, np.tanh(x.numpy()).astype(np.float32))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(np.tanh(x.numpy())))
    few = torch.tensor([0.5, -0.0, 6.9])  # where nothing is large, nothing is cut off
    np.testing.assert_allclose(quick_tanh.quick_tanh(few).numpy(), np.tanh(few.numpy()), rtol=5e-7)


def test_layouts_and_sizes():
    x = torch.randn(700, 600)
    for each in (x.t(), x[::2, 1:], x.reshape(2, -1, 10).transpose(0, 2)):
        found = quick_tanh.quick_tanh(each)
        assert found.shape == each.shape
        assert units(found, each).max() < 4


@pytest.mark.parametrize("size", [MANY - 1, MANY, 3 * MANY])
def test_the_op_is_right_on_either_side_of_the_limit(size):
    x = np.random.default_rng(0).normal(size=size).astype(np.float32)
    traced = tf.function(lambda x: tf.tanh(x + 0.0) * 1.0)
    for found in (tf.tanh(x), traced(x)):
        assert found.dtype == tf.float32
        np.testing.assert_allclose(found.numpy(), np.tanh(x.astype(np.float64)), rtol=5e-7)


def test_graphs_take_pytorchs_own_where_there_are_few_elements():
    def shaped(*sizes):
        with tf.Graph().as_default():
            return v1.placeholder(tf.float32, sizes)

    assert quick_tanh.lower(shaped(4, 4)) is torch.tanh
    assert quick_tanh.lower(shaped(None, 4)) is torch.tanh
    assert quick_tanh.lower(shaped(MANY, 4)) is None
