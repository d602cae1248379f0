"""Dropout: which elements survive, and what they become."""

from __future__ import annotations

import numpy as np
import pytest

from situs._src.base import dtype as dt
from situs._src.ops.nn.dropout import dropout, dropout_v1
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError

ONES = np.ones((50, 40), np.float32)


@pytest.mark.parametrize("rate", [0.25, 0.5, 0.75])
def test_survivors_are_scaled_up(on_device, rate):
    result = dropout(ONES, rate, seed=1)
    assert result.device == on_device
    y = result.numpy()
    np.testing.assert_allclose(np.unique(y), [0, 1 / (1 - rate)], rtol=1e-6)
    assert (y == 0).mean() == pytest.approx(rate, abs=0.05)


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16, dt.float64], ids=lambda d: d.name)
def test_dtypes(on_device, dtype):
    result = dropout(to_tensor(ONES, dtype), 0.5)
    assert result.dtype is dtype
    np.testing.assert_array_equal(np.unique(np.asarray(result, np.float64)), [0, 2])


def test_a_rate_of_zero_changes_nothing(on_device):
    x = to_tensor(ONES)
    assert dropout(x, 0) is x


def test_elements_share_their_fate_along_dimensions_of_size_one(on_device):
    for noise_shape in ([50, 1], [None, 1], (50, 1), to_tensor([50, 1])):
        y = dropout(ONES, 0.5, noise_shape=noise_shape, seed=3).numpy()
        assert {len(set(row)) for row in y} == {1}
        assert set(y[:, 0]) == {0, 2}


def test_the_rate_may_be_a_tensor(on_device):
    y = dropout(to_tensor(ONES), to_tensor(0.5)).numpy()
    assert set(np.unique(y)) == {0, 2}


def test_dropped_elements_are_zero_whatever_they_were(on_device):
    y = dropout(np.full(200, np.inf, np.float32), 0.5, seed=2).numpy()
    assert set(y) == {0, np.inf}


def test_first_generation_says_what_is_kept(on_device):
    y = dropout_v1(ONES, 0.25, seed=1).numpy()
    np.testing.assert_allclose(np.unique(y), [0, 4])
    assert (y == 0).mean() == pytest.approx(0.75, abs=0.05)
    np.testing.assert_allclose(np.unique(dropout_v1(ONES, rate=0.75).numpy()), [0, 4])
    assert set(np.unique(dropout_v1(to_tensor(ONES), to_tensor(0.5)).numpy())) == {0, 2}


@pytest.mark.parametrize(
    ("x", "rate", "noise_shape", "text"),
    [
        (ONES, 1, None, r"`rate` must be a scalar tensor or a float in the range \[0, 1\). Received: rate=1"),
        (ONES, -0.1, None, "in the range"),
        (ONES, "half", None, "`rate` must be a scalar or scalar tensor"),
        (ONES, to_tensor([0.5]), None, "must have rank 0"),
        (np.array([1, 2]), 0.5, None, "`x.dtype` must be a floating point tensor"),
        (ONES, 0.5, [50, 2], "Incompatible shapes"),
        (ONES, 0.5, [3, 50, 40], "does not broadcast to the shape of x"),
        (np.ones((1, 3), np.float32), 0.5, [2, 3], "does not broadcast to the shape of x"),
    ],
)
def test_what_cannot_be_dropped_is_refused(on_device, x, rate, noise_shape, text):
    with pytest.raises(InvalidArgumentError, match=text):
        dropout(x, rate, noise_shape)


def test_a_rate_of_another_dtype_is_refused(on_device):
    with pytest.raises(DTypeError, match="cast input 'rate'"):
        dropout(to_tensor(ONES), to_tensor(0.5, dt.float64))


def test_first_generation_takes_one_of_two_names():
    with pytest.raises(InvalidArgumentError, match="Cannot specify both 'keep_prob' and 'rate'"):
        dropout_v1(ONES, keep_prob=0.5, rate=0.5)
    with pytest.raises(InvalidArgumentError, match="`rate` must be provided"):
        dropout_v1(ONES)
    with pytest.raises(InvalidArgumentError, match="in the range"):
        dropout_v1(ONES, keep_prob=0.0)
