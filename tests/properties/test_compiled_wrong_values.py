"""Ops in compiled regions refuse what they refuse alone: indices out of range, divisors of zero, unknown segments.

Each row of the table of ops that takes integers runs, compiled for its own values, with others in their place. Either
way there is an error, and it is the same one; or the results are the same. A variable that is changed beside the op has
changed if it would have without a compiler.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import situs as tf
from situs._src.runtime.run import compiled_region, inductor
from tests.properties.test_compiled_ops import PURE, as_function

STEP = int(os.environ.get("SITUS_TEST_EVERY", "5"))  # 1 for all rows
WRONG = {"negative": -1, "zero": 0, "large": 1_000_000}


def has_integers(row):
    return any(array.dtype in (np.int32, np.int64) for array in as_function(row)[1])


def outcome(function, variable, tensors):
    """What a function makes, or the error without the place in the program that it came from; and the variable."""
    try:
        made = [value.numpy() for value in function(*tensors)]
    except (tf.errors.OpError, TypeError, ValueError, LookupError) as error:
        made = str(error).partition(" (made at")[0].partition("\n")[0]
    return made, variable.numpy()


@pytest.mark.parametrize("row", [row for row in PURE if has_integers(row)][::STEP], ids=str)
def test_an_op_refuses_compiled_what_it_refuses(fast, monkeypatch, row):
    monkeypatch.setattr(compiled_region, "TRIALS", 0)
    monkeypatch.setattr(inductor, "missing", lambda on_card: None)
    monkeypatch.setattr(inductor, "compiled", lambda traced, exact=False: lambda values: traced.graph(*values))
    monkeypatch.setattr(compiled_region.CompiledRegion, "_difference", lambda *args: "")  # it is looked for here
    op, arrays = as_function(row)
    variables = [tf.Variable([1.0, 2.0]) for _ in range(2)]

    def function(variable, *tensors):
        with tf.device("/cpu:0"):
            made = op(*tensors)
            variable.assign_add(tf.tanh(variable) * 0.5)
            return made

    with tf.device("/cpu:0"):
        specs = [tf.TensorSpec([None] * array.ndim, array.dtype) for array in arrays]
        usual, new = (
            tf.function(lambda *tensors, v=v: function(v, *tensors), input_signature=specs, jit_compile=jit)
            for v, jit in zip(variables, (None, True), strict=True)
        )
        try:
            usual(*arrays)
        except (tf.errors.OpError, TypeError, ValueError, LookupError):
            pytest.skip("takes what is not a tensor, or has no gradient")
        variables[0].assign([1.0, 2.0])
        for _ in range(4):
            usual(*arrays), new(*arrays)
        for value in WRONG.values():
            wrong = [np.full_like(a, value) if a.dtype in (np.int32, np.int64) else a for a in arrays]
            expected, found = outcome(usual, variables[0], wrong), outcome(new, variables[1], wrong)
            assert type(found[0]) is type(expected[0]), (value, expected[0], found[0])
            if isinstance(expected[0], str):
                assert found[0] == expected[0]
            else:
                for one, other in zip(expected[0], found[0], strict=True):
                    if one.dtype == object:
                        np.testing.assert_array_equal(other, one)
                    else:
                        np.testing.assert_allclose(other, one, rtol=2e-4, atol=1e-5)
            np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)
