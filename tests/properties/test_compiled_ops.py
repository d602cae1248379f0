"""Ops in compiled regions give what they give alone, with their gradients.

The graph that the compiler would be given runs in the place of what it would make of it: what is looked for is a kernel
that comes out of tracing as another function, because it looks at memory or keeps something of its own.
"""

from __future__ import annotations

import importlib
import os

import numpy as np
import pytest

import situs as tf
from situs._src.base.tree import flatten
from situs._src.runtime.run import compiled, compiled_region, inductor
from situs._src.runtime.run.carry import described, packed, unpacked
from situs._src.runtime.run.region_body import Body
from tests.op_table import ROWS, Host

STEP = int(os.environ.get("SITUS_TEST_EVERY", "7"))  # 1 for all rows
PURE = [row for row in ROWS if not row.function.startswith(("random.", "nn.dropout.", "control.", "debug."))]


def arrays_in(value):
    if isinstance(value, np.ndarray) and value.dtype != object:
        return [value]
    return [each for item in value for each in arrays_in(item)] if isinstance(value, (list, tuple)) else []


def with_tensors(value, tensors):
    """An argument of the table with tensors in the place of its arrays."""
    if isinstance(value, Host):
        return value.value
    if isinstance(value, np.ndarray) and value.dtype != object:
        return next(tensors)
    return type(value)(with_tensors(item, tensors) for item in value) if type(value) in (list, tuple) else value


def as_function(row):
    """The op of a row, its gradients, and something beside each result, as a function of the arrays of the row."""
    module, _, name = row.function.rpartition(".")
    op = getattr(importlib.import_module(f"situs._src.ops.{module}"), name)

    def function(*tensors):
        given = iter(tensors)
        args = [with_tensors(value, given) for value in row.args]
        kwargs = {key: with_tensors(value, given) for key, value in row.kwargs.items()}
        leaves = [leaf for leaf in flatten(op(*args, **kwargs)) if tf.is_tensor(leaf)]
        found = [leaf + leaf if leaf.dtype.is_floating or leaf.dtype.is_integer else leaf for leaf in leaves]
        floating = [leaf for leaf in found if leaf.dtype.is_floating]
        sources = [tensor for tensor in tensors if tensor.dtype.is_floating]
        if floating and sources:
            gradients = tf.gradients(floating, sources)  # some are slices
            found += [tf.convert_to_tensor(gradient) for gradient in gradients if gradient is not None]
        return found

    return function, [*arrays_in(row.args), *arrays_in(tuple(row.kwargs.values()))]


@pytest.mark.parametrize("row", PURE[::STEP], ids=str)
def test_an_op_in_a_region_gives_what_it_gives_alone(fast, monkeypatch, row):
    monkeypatch.setattr(compiled_region, "TRIALS", 0)
    monkeypatch.setattr(inductor, "missing", lambda on_card: None)
    monkeypatch.setattr(inductor, "compiled", lambda traced, exact=False: lambda values: traced.graph(*values))
    monkeypatch.setattr(compiled_region.CompiledRegion, "_difference", lambda *args: "")  # it is looked for here
    bodies: list[Body] = []
    usual_way = compiled._Here.found
    monkeypatch.setattr(compiled._Here, "found", lambda here, given: bodies.extend(given) or usual_way(here, given))
    function, arrays = as_function(row)
    with tf.device("/cpu:0"):
        tensors = [tf.constant(array) for array in arrays]
        try:
            usual = tf.function(function)(*tensors)
        except (tf.errors.OpError, TypeError, ValueError, LookupError):
            pytest.skip("takes what is not a tensor, or has no gradient")
        new = tf.function(function, jit_compile=True)
        for _ in range(4):
            found = new(*tensors)
    for one, other in zip(usual, found, strict=True):
        assert one.dtype is other.dtype
        if one.dtype is tf.string:
            assert np.array_equal(one.numpy(), other.numpy())
        else:
            np.testing.assert_allclose(other, one, rtol=2e-4, atol=1e-5)
    for body in bodies:  # another process could compile it, and find it on disk
        assert described(unpacked(packed(body))) == described(body)
