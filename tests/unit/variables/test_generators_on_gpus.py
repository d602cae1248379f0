"""Generators whose state lies on a GPU, as under strategies: it is changed there, with the numbers of a CPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import situs as tf
from situs._src.variables import generator

STATES = [[0, 0, 1], [-1, 0, 5], [-256, -1, 7], [2**63 - 1, 2**63 - 1, -3], [-(2**63), -(2**63), 2**63 - 1]]


class Holder:
    """A cell, as far as `_advance` asks."""

    def __init__(self, state):
        import threading

        self.value, self.lock = torch.tensor(state), threading.RLock()

    def read(self):
        return self.value


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("count", [0, 1, 255, 2**40, 2**56, 2**62])
def test_a_state_advances_by_pytorchs_ops_as_by_pythons_integers(state, count):
    cell = Holder(state)
    before = generator._advance(cell, count)
    assert list(before) == state
    assert generator._advanced(torch.tensor(state), count).tolist() == cell.value.tolist()
    memory = torch.tensor(state)
    assert generator._skip_in_memory(memory, 1, count).tolist() == state
    assert memory.tolist() == cell.value.tolist()


def draws(g):
    return tf.concat([g.normal([3]), g.uniform([5]), g.truncated_normal([2])], 0)


def test_the_numbers_are_those_of_a_cpu():
    found = {}
    for device in ("/GPU:0", "/CPU:0"):
        strategy = tf.distribute.OneDeviceStrategy(device)
        with strategy.scope():
            g = tf.random.Generator.from_state([-300, 4, 11], "philox")
            assert device[1:4] in g.state.device
            step = tf.function(lambda g=g: draws(g))
            made = [strategy.run(step), strategy.run(step), strategy.run(lambda g=g: draws(g))]
            found[device] = [each.numpy() for each in made], g.state.numpy().tolist()
    np.testing.assert_array_equal(found["/GPU:0"][0], found["/CPU:0"][0])
    assert found["/GPU:0"][1] == found["/CPU:0"][1] == [-300 + 30 * 256, 4 + 1, 11]


def test_replicas_on_gpus_draw_their_own():
    strategy = tf.distribute.MirroredStrategy(["/GPU:0", "/GPU:1"])
    with strategy.scope():
        g, beside = (tf.random.Generator.from_seed(5) for _ in range(2))
        step = tf.function(lambda: draws(g))
        for _ in range(3):
            one, other = strategy.experimental_local_results(strategy.run(step))
            eager = strategy.experimental_local_results(strategy.run(lambda: draws(beside)))
            np.testing.assert_array_equal([one, other], list(eager))
            assert not np.array_equal(one, other)
