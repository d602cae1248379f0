"""Same seed, same numbers as TensorFlow 2.21: the programs of `seeded_calls`, on every device, by C and without.

Numbers of float64 that a logarithm or a sine makes may differ from TensorFlow's in the last bits, where the C library
and PyTorch do; samples that a test accepts or rejects by these may then differ in the same way. All others are the same
to the bit.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import situs as tf
from situs._src.ops.philox import compiled
from tests.unit.ops.seeded_calls import CALLS, FILE, KEPT, arrays, figures

FIGURES = json.loads(FILE.read_text())
ROUNDED = ("gamma", "eager", "functions", "graph draws", "samplers")  # samples that are made in float64 and rounded
CLOSE = {"float64": 1e-14, "float32": 2.5e-7, "float16": 1e-3}


@pytest.fixture(autouse=True)
def _no_seed():
    tf.random.set_seed(None)
    yield
    tf.random.set_seed(None)


@pytest.fixture(params=["compiled", "portable"])
def way(request, monkeypatch):
    """Random numbers by C, and by PyTorch's ops."""
    if request.param == "portable":
        monkeypatch.setenv("SITUS_NO_COMPILER", "1")
    elif compiled.functions() is None:
        pytest.skip("no C compiler")
    return request.param


def check(name):
    made = CALLS[name](tf)
    expected = FIGURES[name]
    assert len(arrays(made)) == len(expected)
    for number, (array, mine, theirs) in enumerate(zip(arrays(made), figures(made), expected, strict=True)):
        assert mine[:2] == theirs[:2], (name, number)
        if mine[2] == theirs[2]:
            continue
        may_round = array.dtype == np.float64 or any(word in name for word in ROUNDED)
        assert may_round, (name, number, mine[3], theirs[3])
        assert str(array.dtype) in CLOSE, (name, number, mine[3], theirs[3])
        np.testing.assert_allclose(
            array.reshape(-1)[:KEPT].astype(np.float64), theirs[3], CLOSE[str(array.dtype)], 1e-15, err_msg=name
        )


@pytest.mark.parametrize("name", CALLS)
def test_numbers_are_tensorflows(name):
    check(name)
