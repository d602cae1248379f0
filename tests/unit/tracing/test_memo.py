"""Calls seen before take a short way, and mean the same."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf

pytestmark = pytest.mark.usefixtures("fast")


@pytest.fixture
def f(monkeypatch):
    made = tf.function(lambda x, y, k=1.0: x - y * k)
    slow = []
    inside = made._call
    monkeypatch.setattr(made, "_call", lambda args, kwargs: slow.append(1) or inside(args, kwargs))
    made.slow = slow
    return made


def a(value):
    return tf.constant(float(value))


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f(a(5), a(2)),
        lambda f: f(a(5), y=a(2)),
        lambda f: f(y=a(2), x=a(5)),
        lambda f: f(a(5), a(2), 1.0),
        lambda f: f(a(5), a(2), k=1.0),
        lambda f: f(x=a(5), y=a(2), k=a(1)),
        lambda f: f(a(5), 2.0),
    ],
)
def test_the_second_call_is_short(f, call):
    assert [float(call(f)) for _ in range(3)] == [3.0, 3.0, 3.0]
    assert len(f.slow) == 1


def test_which_tensor_is_which(f):
    assert float(f(x=a(5), y=a(2))) == 3.0
    assert float(f(y=a(2), x=a(5))) == 3.0
    assert float(f(x=a(2), y=a(5))) == -3.0
    assert float(f(y=a(5), x=a(2))) == -3.0


def test_a_tensor_given_twice_does_not_hide_which_is_which(f):
    same = a(4)
    for _ in range(2):
        assert float(f(same, same)) == 0.0
        assert float(f(x=same, y=same)) == 0.0
    assert float(f(a(5), a(2))) == 3.0
    assert float(f(x=a(5), y=a(2))) == 3.0
    assert float(f(a(5), a(2), k=same)) == -3.0
    assert float(f(same, same, k=same)) == -12.0
    assert float(f(a(5), a(2), k=a(1))) == 3.0


@pytest.mark.parametrize(("first", "second"), [(1, 1.0), (0.0, -0.0), (1, True), (2.0, 3.0)])
def test_numbers_are_told_apart(first, second):
    f = tf.function(lambda x, k: (x, k))
    x = a(1)
    for value in (first, second, first, second):
        found = f(x, value)[1].numpy()
        assert (found.item(), np.signbit(found)) == (value, np.signbit(value))
        assert found.dtype.kind == np.asarray(value).dtype.kind


def test_shapes_dtypes_and_places_are_told_apart():
    f = tf.function(lambda x: x + x)
    for _ in range(2):
        assert f(tf.constant([1.0, 2.0])).shape == [2]
        assert f(tf.constant([1.0])).shape == [1]
        assert f(tf.constant(1)).dtype is tf.int32
        with tf.device("/gpu:2"):
            x = tf.constant(1.0)
            assert f(x).device.endswith("GPU:2")
        assert f(x).device.endswith("GPU:0")


def test_structures_and_arrays_take_the_whole_way():
    f = tf.function(lambda s: s[0] + s[1])
    for n in range(3):
        assert float(f([a(n), a(1)])) == n + 1
        assert float(f((a(n), a(1)))) == n + 1
    g = tf.function(lambda x: x * 2)
    assert [g(np.array([n])).numpy().tolist() for n in range(3)] == [[0], [2], [4]]


def test_changed_rules_are_followed(f):
    x, y = a(5), a(2)
    with tf.device("/gpu:9"):
        tf.config.set_soft_device_placement(True)
        f(x, y)
        f(x, y)
        tf.config.set_soft_device_placement(False)
        with pytest.raises(ValueError, match="GPU:9"):
            f(x, y)
        with pytest.raises(ValueError, match="GPU:9"):
            f(x, y, k=1.0)


def test_many_shapes_do_not_fill_the_memory():
    f = tf.function(lambda x: tf.size(x), input_signature=[tf.TensorSpec([None], tf.float32)])
    for n in range(1100):
        assert int(f(tf.zeros([n]))) == n
    assert len(f._memo._of_tensors) <= 1000


def test_while_a_graph_is_built_nothing_is_run():
    f = tf.function(lambda x: x + 1.0)
    x = a(1)
    f(x)
    f(x)
    g = tf.function(lambda: f(x))
    assert float(g()) == 2.0
    assert "PartitionedCall" in str(g.get_concrete_function().graph)


def test_concrete_functions_have_one_as_well():
    made = tf.function(lambda x, y: x - y).get_concrete_function(a(1), a(1))
    for n in range(3):
        assert float(made(a(n), a(1))) == n - 1
    with pytest.raises(TypeError):
        made(tf.constant([1.0]), a(1))
