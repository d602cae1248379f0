"""Variables: state on a device."""

from __future__ import annotations

import copy
import threading

import numpy as np
import pytest

import situs as tf

LOCAL = "/job:localhost/replica:0/task:0"
CPU0, GPU0, GPU1 = (f"{LOCAL}/device:{name}" for name in ("CPU:0", "GPU:0", "GPU:1"))


def test_a_variable_is_placed_like_an_op():
    assert tf.Variable(3.0).device == GPU0
    with tf.device("/cpu:0"):
        assert tf.Variable(3.0).device == CPU0


def test_there_is_no_gpu_kernel_for_int32_variables():
    assert tf.Variable(3).device == CPU0
    with (
        tf.device("/gpu:0"),
        pytest.raises(tf.errors.InvalidArgumentError, match="no supported kernel for GPU devices"),
    ):
        tf.Variable(3)
    tf.config.set_soft_device_placement(True)
    with tf.device("/gpu:0"):
        assert tf.Variable(3).device == CPU0
        assert tf.Variable(3, dtype=tf.float32).device == GPU0
        assert tf.Variable(3, dtype=tf.int64).device == GPU0


def test_a_device_function_sees_the_type_variable():
    def variables_on_cpu(op):
        return "/cpu:0" if op.type == "Variable" else "/gpu:0"

    with tf.device(variables_on_cpu):
        a = tf.Variable(3.0)
        b = tf.constant(4.0)
        c = a * b
    assert [a.device, b.device, c.device] == [CPU0, GPU0, GPU0]
    assert c.numpy() == 12.0


def test_assignments_run_where_the_variable_is():
    with tf.device("/gpu:1"):
        v = tf.Variable([1.0, 2.0], name="v")
    with tf.device("/cpu:0"):
        v.assign_add([1.0, 1.0])
    assert v.device == GPU1
    assert tf.explain(1)[0].reason == "state: follows variable 'v:0'"
    v.assign_sub([0.5, 0.5]).assign_add(v)
    assert v.numpy().tolist() == [3.0, 5.0]
    v.assign([7, 8])
    assert v.numpy().tolist() == [7.0, 8.0]


def test_reading_follows_tensorflow():
    with tf.device("/gpu:1"):
        v = tf.Variable([1.0])
    assert v.value().device == GPU1
    assert v.read_value().device == GPU0
    assert (v + 1.0).device == GPU0


def test_what_was_read_does_not_change():
    v = tf.Variable([1.0])
    before = v.value()
    v.assign([2.0])
    assert before.numpy() == [1.0]


def test_a_variable_is_taken_wherever_a_tensor_is():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    assert tf.reduce_sum(v).numpy() == 10.0
    assert tf.matmul(v, v).shape == (2, 2)
    assert (2.0 * v)[1, 1].numpy() == 8.0
    assert v[0].numpy().tolist() == [1.0, 2.0]
    assert tf.concat([v, v], 0).shape == (4, 2)
    assert np.asarray(v).shape == (2, 2)
    assert tf.convert_to_tensor(v).dtype is tf.float32
    assert bool(tf.reduce_all(v == v))


def test_repr_is_tensorflows():
    assert repr(tf.Variable(1.5, name="x")) == "<tf.Variable 'x:0' shape=() dtype=float32, numpy=1.5>"


@pytest.mark.parametrize(
    ("value", "error"),
    [([1.0, 2.0, 3.0], ValueError), (["a", "b"], TypeError), (None, ValueError), ([[1.0, 2.0]], ValueError)],
)
def test_what_does_not_fit_is_refused_and_leaves_the_value(value, error):
    v = tf.Variable([1.0, 2.0])
    for change in (v.assign, v.assign_add):
        with pytest.raises(error):
            change(value)
    assert v.numpy().tolist() == [1.0, 2.0]


def test_adding_in_place_would_lose_the_variable_and_is_refused():
    v = tf.Variable(1.0)
    with pytest.raises(NotImplementedError, match=r"variable.assign_add\(value\)"):
        v += 1.0


def test_a_copy_is_another_variable_on_the_same_device():
    with tf.device("/gpu:1"):
        v = tf.Variable([1.0], name="v", trainable=False)
    other = copy.deepcopy(v)
    other.assign([2.0])
    assert (other.device, other.name, other.trainable, v.numpy()) == (GPU1, "v:0", False, [1.0])
    assert tf.is_tensor(v)


def test_a_copy_has_the_same_constraint():
    v = tf.Variable([1.0], constraint=tf.nn.relu)
    assert copy.deepcopy(v).constraint is tf.nn.relu


def test_unknown_dimensions_may_change():
    v = tf.Variable([1.0], shape=[None])
    with pytest.raises(ValueError, match="Shape mismatch"):
        v.assign_add([1.0, 2.0])  # would broadcast
    assert v.assign([1.0, 2.0]).numpy().tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="Shape mismatch"):
        v.assign([[1.0]])


def test_initial_values_may_be_functions_tensors_and_variables():
    assert tf.Variable(lambda: tf.constant([1.0])).shape == (1,)
    assert tf.Variable(tf.Variable([1.0])).numpy() == [1.0]
    with pytest.raises(ValueError, match="initial_value"):
        tf.Variable()


def test_threads_that_add_are_all_counted():
    v = tf.Variable(0.0)
    threads = [threading.Thread(target=lambda: [v.assign_add(1.0) for _ in range(100)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert v.numpy() == 400.0


@pytest.mark.parametrize("name", ["cross entropy/total", "_hidden", "\u00e9t\u00e9", "a:b", "plain"])
def test_a_variable_of_any_name_is_used_in_functions_and_saved(name, tmp_path):
    module = tf.Module()
    module.v = tf.Variable([1.0, 2.0], name=name)
    module.f = tf.function(lambda: module.v.assign_add([1.0, 1.0]) * 2, input_signature=[])
    assert module.f().numpy().tolist() == [4.0, 6.0]
    assert module.v.name == f"{name}:0"
    tf.saved_model.save(module, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert loaded.f().numpy().tolist() == [6.0, 8.0]
    assert loaded.v.name == f"{name}:0"
