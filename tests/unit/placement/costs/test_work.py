"""What operations have to do, from their ops and shapes: against counts made by hand."""

from __future__ import annotations

import pytest

import situs.compat.v1 as tf
from situs._src.placement.costs.work import GUESS, NOTHING, TURNS, work_of


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_a_product_takes_two_steps_for_each_multiplication(graph):
    product = tf.matmul(tf.placeholder(tf.float32, [128, 784]), tf.placeholder(tf.float32, [784, 256]))
    found = work_of(product.op)
    assert found.steps == 2 * 128 * 784 * 256
    assert found.bytes == 4 * (128 * 784 + 784 * 256 + 128 * 256)
    assert found.calls == 1
    assert not found.guessed


def test_a_convolution_counts_its_filter(graph):
    images, filters = tf.placeholder(tf.float32, [2, 8, 8, 3]), tf.placeholder(tf.float32, [3, 3, 3, 16])
    made = tf.nn.conv2d(images, filters, strides=[1, 1, 1, 1], padding="SAME")
    assert work_of(made.op).steps == 2 * (2 * 8 * 8 * 16) * (3 * 3 * 3)


def test_an_element_wise_op_is_as_large_as_its_tensors(graph):
    found = work_of(tf.nn.relu(tf.placeholder(tf.float32, [10, 20])).op)
    assert (found.steps, found.bytes) == (200, 1600)


@pytest.mark.parametrize("make", [tf.identity, tf.shape, tf.stop_gradient], ids=lambda make: make.__name__)
def test_what_moves_nothing_costs_nothing(graph, make):
    assert work_of(make(tf.placeholder(tf.float32, [10, 20])).op) == NOTHING


def test_constants_variables_and_placeholders_cost_nothing(graph):
    variable = tf.Variable([1.0, 2.0])
    for node in (tf.constant([1.0]).op, variable.op, tf.placeholder(tf.float32).op, tf.no_op()):
        assert work_of(node) == NOTHING


def test_a_view_is_a_call_that_moves_nothing(graph):
    found = work_of(tf.reshape(tf.placeholder(tf.float32, [10, 20]), [20, 10]).op)
    assert (found.steps, found.bytes, found.calls) == (0, 0, 1)


def test_unknown_sizes_are_guessed_and_said_to_be(graph):
    found = work_of(tf.nn.relu(tf.placeholder(tf.float32, [None, 20])).op)
    assert found.steps == GUESS * 20
    assert found.guessed
    assert work_of(tf.matmul(tf.placeholder(tf.float32, [None, 8]), tf.placeholder(tf.float32, [8, 8])).op).guessed


def test_a_loop_does_what_its_body_does_several_times(graph):
    x = tf.placeholder(tf.float32, [100])
    _, out = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(y)), [0, x])
    once = work_of(tf.tanh(x).op)
    assert work_of(out.op).steps >= TURNS * once.steps
