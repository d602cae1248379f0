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
from situs._src.ops import seeds
from situs._src.ops.philox import compiled, draw
from tests.unit.ops.seeded_calls import CALLS, FILE, KEPT, arrays, figures

FIGURES = json.loads(FILE.read_text())
ROUNDED = ("gamma", "eager", "functions", "graph draws", "samplers")  # samples that are made in float64 and rounded
CLOSE = {"float64": 1e-14, "float32": 2.5e-7, "float16": 1e-3}


@pytest.fixture(autouse=True)
def _no_seed():
    tf.random.set_seed(None)
    yield
    tf.random.set_seed(None)


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


@pytest.mark.parametrize(
    "name", [name for name in CALLS if name.endswith((" 1", " 5", "int32", "float32", "function"))]
)
def test_numbers_are_tensorflows_without_a_compiler(name, monkeypatch):
    monkeypatch.setenv("SITUS_NO_COMPILER", "1")
    check(name)


@pytest.mark.parametrize("name", CALLS)
def test_numbers_are_tensorflows_on_a_gpu(name):
    tf.config.set_soft_device_placement(True)  # some have kernels for the CPU alone
    with tf.device("/GPU:0"):
        check(name)


def test_hue_saturation_and_contrast_are_drawn_as_uniform_numbers():
    image = np.float32(np.arange(36) % 11).reshape(3, 4, 3) / 11
    for seed in ([1, 2], [7, 3]):
        for name, low, high in (("hue", -0.2, 0.2), ("saturation", 0.5, 2.0), ("contrast", 0.5, 2.0)):
            bounds = (high,) if name == "hue" else (low, high)
            drawn = getattr(tf.image, f"stateless_random_{name}")(image, *bounds, seed)
            wanted = getattr(tf.image, f"adjust_{name}")(image, tf.random.stateless_uniform([], seed, low, high))
            np.testing.assert_array_equal(drawn.numpy(), wanted.numpy())


def test_eager_code_keeps_a_stream_for_each_op_dtype_and_seed():
    tf.random.set_seed(1)
    first, second = tf.random.uniform([3], seed=2), tf.random.uniform([3], seed=2)
    assert not np.array_equal(first, second)
    tf.random.uniform([3], seed=2, dtype=tf.float64)  # another stream
    tf.random.normal([3], seed=2)
    third = tf.random.uniform([3], seed=2)
    tf.random.set_seed(1)
    again = [tf.random.uniform([3], seed=2) for _ in range(3)]
    np.testing.assert_array_equal(np.stack(again), np.stack([first, second, third]))


def test_streams_are_kept_for_op_seeds_alone():
    """A program that draws for long holds no more for it."""
    tf.random.set_seed(1)
    for _ in range(50):
        tf.random.normal([2])
    assert len(seeds.eager._streams) == 0
    for _ in range(50):
        tf.random.normal([2], seed=3)
    assert len(seeds.eager._streams) == 1


def test_without_a_seed_numbers_come_from_the_devices_own_generator(monkeypatch):
    """Nothing of Philox is touched: the quickest generator there is draws, and nobody can say what."""

    def refuse(*_):
        raise AssertionError("a stream was used")

    for name in ("words", "normal", "uniform", "truncated_normal", "integers", "permutation"):
        monkeypatch.setattr(draw, name, refuse)
    monkeypatch.setattr(compiled, "functions", refuse)
    drawn = [tf.random.normal([4]), tf.random.uniform([4]), tf.random.truncated_normal([4])]
    drawn += [tf.random.uniform([4], 0, 2**30, tf.int32), tf.random.shuffle(tf.range(99)), tf.random.gamma([3], 2.0)]
    drawn += [tf.random.poisson([3], 5.0), tf.random.categorical(np.zeros([1, 9], np.float32), 20)]
    again = [tf.random.normal([4]), tf.random.uniform([4]), tf.random.truncated_normal([4])]
    assert not any(np.array_equal(a, b) for a, b in zip(drawn, again, strict=False))


def test_sessions_keep_the_streams_of_their_operations():
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        v1.set_random_seed(3)
        x, y = v1.random_uniform([2]), v1.random_normal([2])
        with v1.Session() as one, v1.Session() as other:
            first = one.run(x)
            one.run(y)  # another operation, another stream
            second = one.run(x)
            np.testing.assert_array_equal(other.run(x), first)
            np.testing.assert_array_equal(other.run([x, y])[0], second)


def test_a_seed_of_a_graph_counts_the_operations_without_one_of_their_own():
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        v1.set_random_seed(3)
        assert v1.get_seed(None) == (3, 0)
        v1.random_normal([1], seed=8)  # has one: not counted
        tf.constant(1.0) + 2.0  # draws nothing: not counted
        v1.nn.dropout(tf.ones([2]), rate=0.5)
        assert v1.get_seed(None) == (3, 2)
        assert v1.get_seed(5) == (3, 5)
    with tf.Graph().as_default():
        assert v1.get_seed(None) == (None, None)
        assert v1.get_seed(5) == (87654321, 5)
        v1.set_random_seed(0)
        assert v1.get_seed(0) == (0, 2**31 - 1)  # (0, 0) would stand for no seed
