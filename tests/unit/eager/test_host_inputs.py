"""Ops that read values on the host: they are remembered by what decides where they run, not by these values."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs._src.base.budget.ledger import accounts
from situs._src.base.errors import ArgumentError
from situs._src.ir.graph import origin
from situs._src.ir.registry.op import find_op
from situs._src.ir.registry.signature import HOST, NO_SIZE, TENSOR
from situs._src.runtime import dispatch

A = np.arange(6, dtype=np.float32).reshape(2, 3)


def calls():
    """Calls that differ in the values of host inputs alone, each a function of a number."""
    a, sizes, rows = tf.constant(A), tf.constant([3, 2]), tf.constant([0, 2, 1])
    generator = tf.random.Generator.from_seed(5)
    return {
        "reshape": lambda n: tf.reshape(a, [[6], [3, 2], [1, 6]][n]),
        "reshape by a tensor": lambda n: tf.reshape(a, sizes),
        "reshape by an array": lambda n: tf.reshape(a, np.array([[2, 3], [3, 2], [6, 1]][n])),
        "tile": lambda n: tf.tile(a, [n, 2]),
        "pad": lambda n: tf.pad(a, [[n, 1], [0, n]]),
        "fill": lambda n: tf.fill([n, 3], 1.5),
        "range": lambda n: tf.range(n * 100),
        "one_hot": lambda n: tf.one_hot(rows, 3 + n),
        "normal": lambda n: tf.random.normal([n, 4], seed=n),
        "uniform": lambda n: tf.random.uniform([n, 4], seed=10**12 + n),
        "uniform integers": lambda n: tf.random.uniform([4], 0, 10**9 + n, tf.int32),
        "stateless_normal": lambda n: tf.random.stateless_normal([4], [n, 2**40]),
        "stateless_normal by a tensor": lambda n: tf.random.stateless_normal([4], rows[:2] + n),
        "Generator.normal": lambda n: generator.normal([n + 2]),
        "Generator.uniform": lambda n: generator.uniform([n + 2], 0, 10**12, tf.int64),
    }


@pytest.mark.parametrize("name", calls())
def test_other_values_on_the_host_take_the_short_way(name, fast, monkeypatch, on_device):
    tf.config.set_soft_device_placement(True)
    call, whole = calls()[name], []
    expected = call(1)

    def noticed(op, *rest):
        whole.append(op.name)
        return execute(op, *rest)

    execute = dispatch.execute
    monkeypatch.setattr(dispatch, "execute", noticed)
    made = [call(n) for n in (2, 0, 1)]
    assert whole == []
    assert made[-1].shape == expected.shape
    assert made[-1].dtype is expected.dtype


def test_an_op_says_which_values_make_no_result_large():
    assert find_op("StatelessRandomNormal").kinds == (HOST, NO_SIZE)
    assert find_op("StatelessRandomNormal").signature.kinds == (HOST, HOST)
    assert find_op("Slice").kinds == (TENSOR, NO_SIZE, NO_SIZE)
    assert find_op("Tile").kinds == (TENSOR, HOST)
    with pytest.raises(ArgumentError, match=r"StatelessRandomNormal .* has no host input 'seeds'"):
        find_op("StatelessRandomNormal").takes_no_size("seeds")


def test_a_large_shape_is_refused_on_the_short_way_too(fast):
    for seed in (1, 2):
        tf.random.normal([3], seed=seed)
        with pytest.raises(tf.errors.ResourceExhaustedError, match=r"by RandomStandardNormal: it takes"):
            tf.random.normal([10**13], seed=seed)
        with pytest.raises(tf.errors.ResourceExhaustedError, match=r"by StatelessRandomNormal: it takes"):
            tf.random.stateless_normal([10**7, 10**6], [seed, 2])


@pytest.mark.parametrize("shape", [[-1], [2, -3], [1.5], [[1]], "ab"])
def test_both_ways_refuse_a_shape_alike(fast, shape):
    texts = []
    for _ in range(2):
        with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)) as found:
            tf.random.normal(shape, seed=3)
        texts.append((found.type, str(found.value)))
        tf.random.normal([2], seed=3)
    assert texts[0] == texts[1]


def test_the_line_of_the_program_is_found_however_frames_are_looked_at(fast, monkeypatch):
    (account,) = [each for each in accounts() if each.device.index == 0]
    places = []
    for module_at in (origin._module_at, None):
        monkeypatch.setattr(origin, "_module_at", module_at)
        with tf.device("/GPU:0"):
            kept = tf.random.normal([5000], seed=1)
        places.append(account.holdings()[-1].made_at)
        assert kept.shape == [5000]
    assert [each[0][0].co_name for each in places] == [
        "test_the_line_of_the_program_is_found_however_frames_are_looked_at"
    ] * 2
    assert places[0] == places[1]
