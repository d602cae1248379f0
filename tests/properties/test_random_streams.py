"""What holds of seeded random numbers for any seed: distributions, independence, and how streams are taken apart."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import situs as tf
from situs._src.base.streams import COUNTERS, Position
from situs._src.data.shuffling import shuffled
from situs._src.ops.philox.words import words, words_at
from tests.unit.ops.test_philox import CPU

SEEDS = st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
PLACES = st.builds(Position, st.integers(0, 2**64 - 1), st.integers(0, COUNTERS - 1))
N = 4000


def as_seed(pair):
    return tf.constant(pair, tf.int64)


def distance(sample, cdf):
    """Kolmogorov's and Smirnov's."""
    ordered = np.sort(np.asarray(sample, np.float64).ravel())
    at = cdf(ordered)
    places = np.arange(len(ordered) + 1) / len(ordered)
    return max(np.abs(at - places[1:]).max(), np.abs(at - places[:-1]).max())


def normal_cdf(x):
    return 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


TOO_FAR = 2.6 / math.sqrt(N)  # once in a million times


@settings(max_examples=15)
@given(SEEDS)
def test_any_seed_draws_from_the_distribution(seed):
    normal = tf.random.stateless_normal([N], as_seed(seed)).numpy()
    assert distance(normal, normal_cdf) < TOO_FAR
    assert distance(tf.random.stateless_uniform([N], as_seed(seed)).numpy(), lambda x: x) < TOO_FAR
    truncated = tf.random.stateless_truncated_normal([N], as_seed(seed)).numpy()
    edge = normal_cdf(np.array([2.0]))[0]
    assert distance(truncated, lambda x: (normal_cdf(x) - 1 + edge) / (2 * edge - 1)) < TOO_FAR
    assert abs(normal.mean()) < 5 / math.sqrt(N)
    assert abs((normal**2).mean() - 1) < 5 * math.sqrt(2 / N)
    assert abs(np.corrcoef(normal[:-1], normal[1:])[0, 1]) < 5 / math.sqrt(N)


@settings(max_examples=10)
@given(SEEDS, st.floats(0.1, 50.0), st.floats(0.1, 60.0))
def test_samples_of_rejection_have_their_moments(seed, alpha, rate):
    drawn = tf.random.stateless_gamma([N], as_seed(seed), alpha, dtype=tf.float64).numpy()
    assert abs(drawn.mean() - alpha) < 5 * math.sqrt(alpha / N)
    drawn = tf.random.stateless_poisson([N], as_seed(seed), rate, dtype=tf.float64).numpy()
    assert abs(drawn.mean() - rate) < 5 * math.sqrt(rate / N)
    drawn = tf.random.stateless_binomial([N], as_seed(seed), 100.0, rate / 61).numpy()
    assert abs(drawn.mean() - 100 * rate / 61) < 5 * math.sqrt(25 / N)


@settings(max_examples=10)
@given(SEEDS)
def test_split_streams_share_no_block(seed):
    seeds = tf.random.split(as_seed(seed), 40)
    drawn = [tf.random.stateless_uniform([64, 2], each, None, None, tf.uint64).numpy() for each in seeds]
    blocks = {tuple(block) for block in np.concatenate(drawn).tolist()}
    assert len(blocks) == 40 * 64
    generators = tf.random.Generator.from_seed(seed[0]).split(40)
    blocks |= {tuple(block) for g in generators for block in g.uniform_full_int([64, 2]).numpy().tolist()}
    assert len(blocks) == 2 * 40 * 64


@given(PLACES, st.integers(0, 2**62), st.integers(1, 9))
def test_a_position_further_on_is_the_rest_of_the_stream(begin, offset, count):
    further = words(begin.skip(offset), count, CPU)
    assert words_at(begin, offset + torch.arange(count)).tolist() == further.tolist()


@given(st.integers(0, 2**63 - 1), st.lists(st.integers(0, 30), max_size=5))
def test_a_generator_moves_on_as_if_it_had_skipped(seed, counts):
    drawing, skipping = tf.random.Generator.from_seed(seed), tf.random.Generator.from_seed(seed)
    for count in counts:
        drawing.normal([count])
        before = skipping.skip(count)
    assert drawing.state.numpy().tolist() == skipping.state.numpy().tolist()
    if counts:
        again = tf.random.Generator.from_state(before, "philox")
        again.skip(counts[-1])
        assert again.state.numpy().tolist() == drawing.state.numpy().tolist()


@given(st.integers(0, 40), st.integers(1, 50), st.integers(0, 2**32))
def test_a_buffer_shuffles_by_choosing_from_the_oldest_on(count, size, salt):
    """Against a list from which the chosen one is taken, and the oldest put in its place."""

    def chooser():
        state = salt

        def choose(below):
            nonlocal state
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            return (state >> 33) % below

        return choose

    choose, waiting, expected, items = chooser(), [], [], iter(range(count))
    while True:
        while len(waiting) < size and (item := next(items, None)) is not None:
            waiting.append(item)
        if not waiting:
            break
        place = choose(len(waiting))
        expected.append(waiting[place])
        waiting[place] = waiting[0]
        del waiting[0]
    assert list(shuffled(iter(range(count)), size, chooser())) == expected


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_same_function_of_a_seed_in_graphs_and_in_eager_code(dtype):
    @tf.function
    def drawn(seed):
        return tf.random.stateless_normal([9], seed, dtype=dtype)

    for seed in ([1, 2], [-1, 2**40], [0, 0]):
        eager = tf.random.stateless_normal([9], as_seed(seed), dtype=dtype)
        np.testing.assert_array_equal(drawn(as_seed(seed)).numpy(), eager.numpy())
