"""Clipping by norms, against recorded TensorFlow 2.21 results, on every type of device."""

from __future__ import annotations

import math

import numpy as np
import pytest

from situs._src.base import dtype as dt
from situs._src.ops.clip import clip_by_average_norm, clip_by_global_norm, clip_by_norm
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import InvalidArgumentError

X = np.array([[3.0, -4.0], [5.0, 12.0]], np.float32)
CLIPPED = [[1.0769372, -1.4359163], [1.7948954, 4.3077488]]


# Recorded from TensorFlow 2.21.
@pytest.mark.parametrize(
    ("t", "clip_norm", "axes", "expected"),
    [
        (X, 5.0, None, CLIPPED),
        (X, 5, None, CLIPPED),
        (X, np.float64(5), None, CLIPPED),
        (X, 50.0, None, X),
        (X, 5.0, [1], [[3.0, -4.0], [1.9230769, 4.6153846]]),
        (X, [5.0, 1.0], None, [[1.0769372, -0.28718325], [1.7948954, 0.8615498]]),
        (X, -1.0, None, [[0.0, 0.0], [0.0, 0.0]]),
        ([0.0, 0.0], 1.0, None, [0.0, 0.0]),
        ([math.nan, 1.0], 1.0, None, [math.nan, math.nan]),
        ([math.inf, 1.0], 1.0, None, [math.nan, 0.0]),
        (-3.0, 1.0, None, -1.0),
        (np.zeros((0, 2), np.float32), 1.0, None, np.zeros((0, 2))),
    ],
)
def test_clip_by_norm(on_device, t, clip_norm, axes, expected):
    result = clip_by_norm(t, clip_norm, axes)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)
    assert (result.dtype, result.device) == (dt.float32, on_device)


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16, dt.float64])
def test_clipping_keeps_the_dtype(on_device, dtype):
    t = to_tensor([3, 4], dtype)
    clipped, norm = clip_by_global_norm([t], 2.5)
    assert clip_by_norm(t, 2.5).dtype is clipped[0].dtype is norm.dtype is dtype
    for result in (clip_by_norm(t, 2.5), clipped[0]):
        np.testing.assert_allclose(result.numpy().astype(float), [1.5, 2.0], rtol=1e-2)


@pytest.mark.parametrize(
    ("t", "clip_norm", "message"),
    [
        (X, [[[5.0]]], r"Shapes \(2, 2\) and \(1, 2, 2\) are incompatible"),
        (X, [1.0, 2.0, 3.0], r"Incompatible shapes: \[2,2\] vs. \[3\]"),
        ([3, 4], 2.0, "not in the list of allowed values"),
    ],
)
def test_norms_that_do_not_fit_are_refused(on_device, t, clip_norm, message):
    with pytest.raises(InvalidArgumentError, match=message):
        clip_by_norm(t, clip_norm)


# Recorded from TensorFlow 2.21.
@pytest.mark.parametrize(
    ("t_list", "clip_norm", "expected", "norm"),
    [
        ([X, None, [1.0]], 5.0, [[[1.0741723, -1.4322298], [1.7902873, 4.296689]], None, [0.35805744]], 13.96424),
        ([X], 500.0, [X], 13.928389),
        ([[math.inf, 1.0]], 5.0, [[math.nan, math.nan]], math.inf),
        ([[math.nan, 1.0]], 5.0, [[math.nan, math.nan]], math.nan),
        ([[0.0, 0.0]], 5.0, [[0.0, 0.0]], 0.0),
        ([], 5.0, [], 0.0),
    ],
)
def test_clip_by_global_norm(on_device, t_list, clip_norm, expected, norm):
    clipped, had = clip_by_global_norm(t_list, clip_norm)
    np.testing.assert_allclose(had.numpy(), norm, rtol=1e-6)
    assert isinstance(clipped, list)
    for result, wanted in zip(clipped, expected, strict=True):
        assert (result is None) == (wanted is None)
        if result is not None:
            np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-6)


def test_a_norm_that_is_known_is_used(on_device):
    clipped, norm = clip_by_global_norm([X], 5.0, use_norm=to_tensor(10.0))
    np.testing.assert_allclose(clipped[0].numpy(), X / 2)
    assert float(norm) == 10.0


@pytest.mark.parametrize("t_list", ["abc", 3.0])
def test_clip_by_global_norm_takes_a_list(t_list):
    with pytest.raises(TypeError, match="should be a sequence of tensors"):
        clip_by_global_norm(t_list, 1.0)


def test_clip_by_average_norm(on_device):
    # Recorded from TensorFlow 2.21.
    expected = [[0.86154974, -1.148733], [1.4359163, 3.446199]]
    np.testing.assert_allclose(clip_by_average_norm(X, 1.0).numpy(), expected, rtol=1e-5)
    assert clip_by_average_norm([0.0, 0.0], 1.0).numpy().tolist() == [0.0, 0.0]
