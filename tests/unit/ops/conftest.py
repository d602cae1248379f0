"""What tests of ops share: results held against NumPy, and the three ways to run a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1


def check(result: tf.Tensor, expected: Any, device: str | None = None) -> None:
    """Holds a tensor against what NumPy makes, and against the device it should be on."""
    np.testing.assert_array_equal(result.numpy(), expected)
    assert result.shape == np.shape(expected)
    if device is not None:
        assert result.device == device


def eagerly(function: Callable[[], Any]) -> Any:
    return function()


def in_function(function: Callable[[], Any]) -> Any:
    return tf.function(function, autograph=False)()


def in_session(function: Callable[[], Any]) -> Any:
    with v1.Graph().as_default() as graph, v1.Session() as sess:
        made = function()
        graph.verify()
        return sess.run(made)


def plain(value: Any) -> Any:
    """A structure of tensors and arrays as plain Python, lists and tuples told apart."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if hasattr(value, "_fields"):
        return type(value)(*map(plain, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    if isinstance(value, tf.Tensor):
        value = value.numpy()
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


@pytest.fixture(params=[eagerly, in_function, in_session], ids=lambda way: way.__name__)
def way(request: pytest.FixtureRequest) -> Callable[[Callable[[], Any]], Any]:
    """Runs a program in each way and gives its results as plain Python."""
    return lambda function: plain(request.param(function))
