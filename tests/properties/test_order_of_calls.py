"""What an op returns does not depend on what ran before it.

Calls are remembered: steps with their kernels, numbers, equations, windows. So every row of the table is called with
several dtypes, in a random order, and gives each time what it gives when nothing is remembered: the same dtype, shape
and value, or the same error. What a result says of its dtype is what its array has.
"""

from __future__ import annotations

import importlib
import random

import numpy as np
import pytest

import situs as tf
from situs._src.base.devices import scope
from situs._src.base.tensor import Tensor
from situs._src.base.tree import flatten
from situs._src.runtime.eager.allocations import release
from tests.op_table import ROWS, Host

DTYPES = ["float32", "float64", "float16", "int32", "int64", "uint8", "complex64", "bool"]
PURE = [row for row in ROWS if not row.function.startswith(("random.", "nn.dropout.", "control.", "debug."))]
PARTS = 6


def cast(value, dtype):
    """An argument of the table with its tensors in another dtype, if they are numbers."""
    if isinstance(value, Host):
        return value.value
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        with np.errstate(all="ignore"):
            return tf.constant(np.nan_to_num(value).real.astype(dtype))
    if isinstance(value, np.ndarray):
        return tf.constant(value)
    if isinstance(value, (list, tuple)):
        return type(value)(cast(item, dtype) for item in value)
    return value


def outcome(row, dtype):
    """What a call gives, as plain data: dtypes, shapes and bytes, or the error."""
    module, _, name = row.function.rpartition(".")
    function = getattr(importlib.import_module(f"situs._src.ops.{module}"), name)
    args = [cast(value, dtype) for value in row.args]
    kwargs = {key: cast(value, dtype) for key, value in row.kwargs.items()}
    try:
        found = flatten(function(*args, **kwargs))
    except tf.errors.InternalError:
        raise
    except (tf.errors.OpError, TypeError, ValueError) as error:
        return type(error).__name__, str(error)
    return [described(tensor) for tensor in found]


def described(item):
    if not isinstance(item, Tensor):
        return repr(item)
    array = np.asarray(item.numpy())
    if item.dtype is not tf.string:
        assert array.dtype == item.dtype.as_numpy_dtype
    assert array.shape == tuple(item.shape)
    return item.dtype.name, array.shape, array.tolist() if array.dtype == object else array.tobytes()


@pytest.mark.parametrize("part", range(PARTS))
def test_what_ran_before_makes_no_difference(fast, part):
    calls = [(row, dtype) for row in PURE[part::PARTS] for dtype in DTYPES]
    alone = {}
    for number, (row, dtype) in enumerate(calls):
        scope.forget()
        alone[number] = outcome(row, dtype)
    order = [*range(len(calls)), *range(len(calls))]
    random.Random(part).shuffle(order)
    for number in order:
        row, dtype = calls[number]
        assert outcome(row, dtype) == alone[number], f"{row} of {dtype}"


X = np.ones((1, 4, 4, 1), np.float32)
K = np.ones((2, 2, 1, 1), np.float32)
# Functions of a number: for each, 1, 1.0 and True are equal, and need not mean the same.
OF_A_NUMBER = {
    "multiply": lambda x, n: x * n,
    "divide": lambda x, n: x / n,
    "from the left": lambda x, n: n - x,
    "of integers": lambda x, n: tf.constant([1]) * n,
    "pool": lambda x, n: tf.nn.max_pool2d(x, 2, n, "SAME"),
    "conv": lambda x, n: tf.nn.conv2d(x, K, n, "SAME"),
    "axis": lambda x, n: tf.reduce_sum(x, n),
    "axes": lambda x, n: tf.reduce_mean(x, [n, 2]),
    "argmax": lambda x, n: tf.argmax(x, n),
    "index": lambda x, n: x[n],
    "part": lambda x, n: x[:, n:],
    "step": lambda x, n: x[..., ::n],
    "reshape": lambda x, n: tf.reshape(x, [16, n]),
    "transpose": lambda x, n: tf.transpose(x, [0, n, 2, 3]),
    "expand": lambda x, n: tf.expand_dims(x, n),
    "concat": lambda x, n: tf.concat([x, x], n),
    "stack": lambda x, n: tf.stack([x, x], n),
    "one_hot": lambda x, n: tf.one_hot([0], n),
    "fill": lambda x, n: tf.fill([2], n),
    "range": lambda x, n: tf.range(n),
    "tile": lambda x, n: tf.tile(x, [n, 1, 1, 1]),
}
NUMBERS = [1, 1.0, True, np.int64(1), np.float32(1), 0, 0.0, -0.0, False, -1, -1.0, 1 + 0j, float("nan")]


def told(function, number):
    try:
        return described(function(tf.constant(X), number))
    except (tf.errors.OpError, TypeError, ValueError) as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("seed", range(4))
def test_equal_numbers_of_other_types_make_no_difference(fast, seed):
    calls = [(function, number) for function in OF_A_NUMBER for number in range(len(NUMBERS))]
    alone = {}
    for function, number in calls:
        scope.forget()
        release()
        alone[function, number] = told(OF_A_NUMBER[function], NUMBERS[number])
    order = calls * 2
    random.Random(seed).shuffle(order)
    for function, number in order:
        found = told(OF_A_NUMBER[function], NUMBERS[number])
        assert found == alone[function, number], f"{function} of {NUMBERS[number]!r}"


EQUATIONS = ["ij->", "ij->i", "ij->ji", "ij,jk->ik", "ii->", "ii->i", "ij,ij->", "ij,kj->", "i...->...", "...->..."]


def einsum_of(equation, dtype):
    x = np.arange(9).reshape(3, 3).astype(dtype)
    return [x] * (equation.count(",") + 1)


@pytest.mark.parametrize("first", ["ij->", "ij,jk->ik"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "bfloat16", "float16", "complex64"])
def test_einsum_has_the_dtype_of_its_operands(fast, first, dtype):
    scope.forget()
    kind = getattr(tf, dtype)
    for equation in [first, *EQUATIONS]:
        operands = einsum_of(equation, kind.as_numpy_dtype)
        wanted = np.einsum(equation, *(x.astype(np.complex128) for x in operands)).real
        traced = tf.function(lambda *given, equation=equation: tf.einsum(equation, *given))
        with tf.Graph().as_default() as graph:
            node = tf.einsum(equation, *map(tf.constant, operands))
            assert node.dtype is kind
            fetched = tf.compat.v1.Session(graph=graph).run(node)
        for made in (tf.einsum(equation, *operands), traced(*operands)):
            assert made.dtype is kind
            assert made.numpy().dtype == kind.as_numpy_dtype
            np.testing.assert_allclose(made.numpy().astype(np.complex128).real, wanted, rtol=2e-2)
        assert fetched.dtype == kind.as_numpy_dtype


def test_integers_wrap_around_in_einsum_as_in_tensorflow(fast):
    x = tf.constant([2**31 - 1, 1])
    assert tf.einsum("i->", x).numpy() == -(2**31)
