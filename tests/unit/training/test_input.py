"""Producers of rows and names, and how often they go through them. Names are TensorFlow 2.21's."""

from __future__ import annotations

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs.compat.v1 import train

pytestmark = pytest.mark.usefixtures("graph")


def test_a_producer_gives_rows_again_and_again(all_of):
    q = train.input_producer([[1, 2], [3, 4]], shuffle=False)
    assert [row.tolist() for row in all_of(q.dequeue(), most=5)] == [[1, 2], [3, 4]] * 2 + [[1, 2]]


@pytest.mark.parametrize("epochs", [1, 3])
def test_or_so_many_times(all_of, epochs):
    q = train.input_producer(np.arange(5), num_epochs=epochs, shuffle=False, capacity=2)
    assert all_of(q.dequeue()) == list(range(5)) * epochs


def test_every_epoch_has_all_rows_in_another_order(all_of):
    taken = all_of(train.range_input_producer(20, num_epochs=2, seed=1).dequeue())
    assert sorted(taken[:20]) == sorted(taken[20:]) == list(range(20))
    assert taken[:20] != taken[20:]


def test_strings(all_of):
    q = train.string_input_producer(["a", "b"], num_epochs=2, shuffle=False)
    assert all_of(q.dequeue()) == [b"a", b"b", b"a", b"b"]
    assert q.name == "input_producer"


def test_strings_of_unknown_number(all_of):
    given = tf.placeholder_with_default(tf.constant(["a", "b"]), [None])
    q = train.string_input_producer(given, num_epochs=1, shuffle=False)
    assert all_of(q.dequeue()) == [b"a", b"b"]


def test_slices_belong_together(all_of):
    x, y = train.slice_input_producer([np.arange(6) * 10, ["0", "1", "2", "3", "4", "5"]], num_epochs=1, seed=3)
    taken = all_of([x, y])
    assert sorted(int(a) for a, _ in taken) == [0, 10, 20, 30, 40, 50]
    assert all(int(a) == 10 * int(b) for a, b in taken)


def test_slices_of_an_unknown_number_of_rows(all_of):
    rows = tf.placeholder_with_default(tf.constant([[1.0, 2.0], [3.0, 4.0]]), [None, 2])
    (row,) = train.slice_input_producer([rows], num_epochs=1, shuffle=False)
    assert [made.tolist() for made in all_of(row)] == [[1, 2], [3, 4]]


def test_a_tensor_can_be_read_so_many_times(all_of):
    assert all_of(train.limit_epochs(tf.constant(3.0), 4)) == [3.0] * 4
    x = tf.constant(1.0)
    assert train.limit_epochs(x) is x


def test_names_of_operations_and_variables():
    q = train.input_producer([1.0, 2.0], num_epochs=2)
    assert q.name == "input_producer/FIFOQueueV2"
    assert [runner.name for runner in tf.get_collection("queue_runners")] == [q.name]
    assert [v.name for v in tf.local_variables()] == ["input_producer/limit_epochs/epochs:0"]
    assert train.input_producer([1.0], name="mine").name == "mine/mine"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: train.string_input_producer([]), "string_input_producer requires a non-null input tensor"),
        (lambda: train.string_input_producer(tf.constant([], tf.string)), "requires a non-null input tensor"),
        (lambda: train.limit_epochs(tf.constant(1.0), 0), "num_epochs must be > 0 not 0"),
        (lambda: train.input_producer(tf.placeholder(tf.float32)), "`element_shape` must be specified"),
        (lambda: train.slice_input_producer([]), "Expected at least one tensor in slice_input_producer"),
    ],
)
def test_what_cannot_be_is_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make()
