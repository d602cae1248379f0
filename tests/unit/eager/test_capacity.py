"""Results that no memory can hold are refused before anything is allocated."""

from __future__ import annotations

import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs._src.runtime.eager.capacity import LARGE, may_be_large

HUGE = 10**13


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.zeros([HUGE]),
        lambda: tf.ones([10**7, 10**7]),
        lambda: tf.fill([HUGE], 1.0),
        lambda: tf.range(HUGE),
        lambda: tf.linspace(0.0, 1.0, HUGE),
        lambda: tf.eye(10**7),
        lambda: tf.one_hot([0], HUGE),
        lambda: tf.tile([1.0], [HUGE]),
        lambda: tf.pad([1.0], [[0, HUGE]]),
        lambda: tf.repeat([1.0], HUGE),
        lambda: tf.sequence_mask([1], HUGE),
        lambda: tf.scatter_nd([[0]], [1.0], [HUGE]),
        lambda: tf.random.normal([HUGE]),
        lambda: tf.random.uniform([10**7, 10**7], maxval=5, dtype=tf.int32),
    ],
)
def test_a_result_larger_than_all_memory_is_an_error_and_the_program_goes_on(on_device, make):
    for _ in range(2):  # the second time, a step for this kind of call may be remembered
        with pytest.raises(tf.errors.ResourceExhaustedError, match=r"OOM when .* takes [\d.]+ GiB"):
            make()
    assert tf.zeros([2]).shape == [2]


def test_strings_in_graphs_are_refused_too():
    with tf1.Graph().as_default(), tf1.Session() as session:
        size = tf1.placeholder(tf1.int64, [1])
        for made in (tf1.fill(size, "a"), tf1.tile(["a"], size), tf1.broadcast_to(["a"], size)):
            with pytest.raises(tf.errors.ResourceExhaustedError, match=r"OOM when .* type string .* takes 74505.8 GiB"):
                session.run(made, {size: [HUGE]})


def test_it_holds_on_the_fast_path_too(fast):
    tf.zeros([2])
    with pytest.raises(MemoryError):
        tf.zeros([HUGE])


@pytest.mark.parametrize(
    ("host", "large"),
    [
        ([(2, 3)], False),
        ([(LARGE, 2)], True),
        ([(2**14, 2**14)], True),
        ([2**14, 2**14], True),
        ([0, LARGE * 2, 1], True),
        ([(0, HUGE)], False),
        ([((1, 2), (3, 4))], False),
        ([((1, HUGE),)], True),
        (["word", (b"bytes",), None, (1.5, 2.5)], False),
    ],
)
def test_only_large_products_are_looked_at(host, large):
    assert may_be_large(host) is large
