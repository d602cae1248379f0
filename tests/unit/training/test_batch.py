"""Batches from queues: their sizes, their order and the forms they come in. Names and shapes are TensorFlow 2.21's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs.compat.v1 import train

pytestmark = pytest.mark.usefixtures("graph")


def numbers(count: int, epochs: int = 1) -> Any:
    return train.range_input_producer(count, epochs, shuffle=False).dequeue()


def test_elements_are_batched_in_order_and_the_rest_is_left_out(all_of):
    made = train.batch([numbers(10)], 4)
    assert (made.name, made.shape) == ("batch:0", (4,))
    assert [b.tolist() for b in all_of(made)] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_or_makes_a_smaller_last_batch(all_of):
    made = train.batch([numbers(10)], 4, allow_smaller_final_batch=True)
    assert made.shape == (None,)
    assert [b.tolist() for b in all_of(made)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_several_tensors_and_dictionaries(all_of):
    n = numbers(4)
    assert [t.tolist() for t in all_of(train.batch([n, n * 2], 2), most=1)[0]] == [[0, 1], [0, 2]]
    made = train.batch({"b": n, "a": tf.stack([n, n])}, 2)
    assert {key: tensor.shape for key, tensor in made.items()} == {"a": (2, 2), "b": (2,)}


def test_rows_are_elements_with_enqueue_many(all_of):
    rows = train.limit_epochs(tf.constant([[1, 2], [3, 4], [5, 6]]), 2)
    made = train.batch([rows], 2, enqueue_many=True, capacity=3)
    assert [b.tolist() for b in all_of(made)] == [[[1, 2], [3, 4]], [[5, 6], [1, 2]], [[3, 4], [5, 6]]]


def test_elements_of_different_size_are_padded(all_of):
    n = numbers(4)
    made = train.batch([tf.fill([n], n)], 4, dynamic_pad=True, shapes=[(None,)])
    np.testing.assert_array_equal(all_of(made)[0], [[0, 0, 0], [1, 0, 0], [2, 2, 0], [3, 3, 3]])


def test_several_threads_lose_nothing(all_of):
    made = train.batch([numbers(40)], 5, num_threads=4)
    assert sorted(np.concatenate(all_of(made)).tolist()) == list(range(40))


def test_shuffled_batches_have_everything_once(all_of):
    made = train.shuffle_batch([numbers(40)], 5, capacity=20, min_after_dequeue=10, seed=1)
    assert made.name == "shuffle_batch:0"
    taken = np.concatenate(all_of(made)).tolist()
    assert sorted(taken) == list(range(40)) != taken


@pytest.mark.parametrize(
    "join",
    [
        lambda sources: train.batch_join(sources, 5),
        lambda sources: train.shuffle_batch_join(sources, 5, capacity=20, min_after_dequeue=5),
    ],
)
def test_sources_are_joined(all_of, join):
    with tf.name_scope("one"):
        one = numbers(10)
    with tf.name_scope("other"):
        other = numbers(10) + 100
    taken = np.concatenate(all_of(join([[one], [other]])))
    assert sorted(taken.tolist()) == [*range(10), *range(100, 110)]


def test_only_what_is_to_be_kept_is_batched(all_of):
    made = train.maybe_batch([tf.constant([1, 2, 3, 4])], tf.constant([True, False, True, True]), 3, enqueue_many=True)
    assert all_of(made, most=1)[0].tolist() == [1, 3, 4]


@pytest.mark.parametrize("maybe", [train.maybe_batch, train.maybe_shuffle_batch])
def test_only_elements_that_are_to_be_kept_are_batched(all_of, maybe):
    n = numbers(10)
    options = {} if maybe is train.maybe_batch else {"capacity": 10, "min_after_dequeue": 0}
    made = maybe([n], keep_input=tf.equal(n % 2, 0), batch_size=5, **options)
    assert sorted(all_of(made)[0].tolist()) == [0, 2, 4, 6, 8]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: train.batch([], 4), ValueError, r"Expected at least one tensor in batch\(\)"),
        (lambda: train.batch([tf.placeholder("float32")], 4), ValueError, "Cannot infer Tensor's rank"),
        (lambda: train.batch([tf.placeholder("float32", [None])], 4), ValueError, "All shapes must be fully defined"),
        (lambda: train.batch(tf.constant([1.0]), 4), TypeError, "takes a list or a dictionary of tensors"),
        (lambda: train.batch({1: 1.0, "a": 2.0}, 4), TypeError, "must be comparable"),
        (lambda: train.batch_join([], 4), ValueError, "Expected at least one set of tensors"),
        (lambda: train.batch_join([[1.0], [2]], 4), TypeError, "Expected types to be consistent: float32 vs. int32"),
        (lambda: train.batch_join([[1.0], [2.0, 1.0]], 4), ValueError, "same number of tensors"),
        (lambda: train.batch_join([{"a": 1.0}, {"b": 1.0}], 4), ValueError, "same keys"),
        (lambda: train.maybe_batch([1.0], tf.placeholder("bool"), 4), ValueError, "dimensions must be known"),
        (lambda: train.maybe_batch([1.0], tf.placeholder("bool", [2]), 4), ValueError, "cannot be a vector"),
    ],
)
def test_what_cannot_be_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_a_list_of_tensors_in_the_list_is_one_tensor(all_of):
    """As of what ``tf.decode_csv`` gives: all columns but the last, and the last."""
    columns = [numbers(2)] * 4
    made = train.batch([columns[0:-1], columns[-1:]], 2)
    assert [each.shape for each in made] == [(2, 3), (2, 1)]
    assert [each.tolist() for each in all_of(made)[0]] == [[[0, 0, 0], [1, 1, 1]], [[0], [1]]]
