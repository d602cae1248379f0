"""The warning about graphs that are made too often."""

from __future__ import annotations

import logging

import pytest

import situs as tf


@pytest.fixture
def warnings(caplog):
    caplog.set_level(logging.WARNING, logger="situs")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "situs"]


def test_many_graphs_are_warned_of_twice(warnings):
    """Five in ten calls, as in TensorFlow."""
    f = tf.function(lambda n: n)
    for number in range(12):
        f(number)
    assert len(warnings()) == 2
    first, second = warnings()
    assert first.startswith("5 out of the last 5 calls to <function ")
    assert "triggered tf.function retracing" in first
    assert second.startswith("6 out of the last 6 calls")


def test_few_graphs_are_not(warnings):
    f = tf.function(lambda n: n)
    x = tf.constant(1.0)
    for number in range(20):
        f(number // 5)
        f(x)
        f(x)
    assert warnings() == []


def test_calls_that_take_the_short_way_count(warnings, fast):
    f = tf.function(lambda n: n)
    x = tf.constant(1.0)
    for number in range(8):
        for _ in range(9):
            f(x)
        f(number)
    assert warnings() == []


def test_functions_made_in_a_loop_are_found_out(warnings):
    for _ in range(6):
        tf.function(lambda x: x)(tf.constant(1.0))
    assert warnings()[0].startswith("5 out of the last 5 calls")


def test_many_instances_are_no_reason_to_warn(warnings):
    class Layer:
        @tf.function
        def __call__(self, x):
            return x

    layers = [Layer() for _ in range(8)]
    for layer in layers:
        layer(tf.constant(1.0))
    assert warnings() == []


def test_neither_is_a_function_that_many_others_call(warnings):
    inner = tf.function(lambda x: x + 1.0)

    def user(number):
        return tf.function(lambda x: inner(x) * number, autograph=False)

    for number in range(8):
        user(number).get_concrete_function(tf.TensorSpec([], tf.float32))
    assert not [text for text in warnings() if "inner" in text or "x + 1.0" in text]
    assert inner.experimental_get_tracing_count() == 8
