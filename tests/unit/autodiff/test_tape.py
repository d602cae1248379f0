"""`tf.GradientTape` in eager code: what is recorded, what is asked for, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf


def test_a_watched_tensor_has_a_gradient():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x * 2.0
    assert tape.gradient(y, x).numpy().tolist() == [4.0, 8.0, 12.0]


def test_what_is_not_watched_has_none():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x) is None


def test_trainable_variables_are_watched_when_they_are_read():
    v, w = tf.Variable(3.0), tf.Variable(4.0, trainable=False)
    with tf.GradientTape(persistent=True) as tape:
        y = v * w
    assert float(tape.gradient(y, v)) == 4.0
    assert tape.gradient(y, w) is None
    assert [variable is v for variable in tape.watched_variables()] == [True]


def test_variables_are_not_watched_if_the_tape_is_told_so():
    v, w = tf.Variable(3.0), tf.Variable(4.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(w)
        y = v * w
    assert [None if g is None else float(g) for g in tape.gradient(y, [v, w])] == [None, 3.0]


def test_a_tape_that_is_not_persistent_answers_once():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="A non-persistent GradientTape can only be used"):
        tape.gradient(y, x)


def test_a_persistent_tape_answers_again():
    x = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
        z = y * y
    assert float(tape.gradient(z, x)) == 108.0
    assert float(tape.gradient(y, x)) == 6.0


def test_sources_may_be_results_on_the_way():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        z = y * y
    assert [float(g) for g in tape.gradient(z, [x, y])] == [108.0, 18.0]


def test_the_answer_has_the_form_of_the_sources():
    x, y = tf.Variable(2.0), tf.Variable(5.0)
    with tf.GradientTape() as tape:
        z = x * y
    found = tape.gradient(z, {"a": x, "b": [y, (x,)]})
    assert float(found["a"]) == 5.0
    assert float(found["b"][0]) == 2.0
    assert float(found["b"][1][0]) == 5.0


def test_several_targets_add_up():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        targets = [x * x, x * 3.0]
    assert float(tape.gradient(targets, x)) == 7.0


def test_output_gradients_weigh_the_targets():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x, output_gradients=tf.constant([10.0, 100.0])).numpy().tolist() == [20.0, 400.0]


def test_zeros_stand_for_unconnected_gradients_if_wanted():
    x, y = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = y * y
    found = tape.gradient(z, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert found.numpy().tolist() == [0.0, 0.0]


def test_an_unknown_choice_for_unconnected_gradients_is_refused():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * x
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients"):
        tape.gradient(y, x, unconnected_gradients="nothing")


def test_nested_tapes_give_second_derivatives():
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x * x * x
        first = inner.gradient(y, x)
    assert float(first) == 12.0
    assert float(outer.gradient(first, x)) == 12.0


def test_nothing_is_recorded_while_the_tape_is_stopped():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        with tape.stop_recording():
            z = y * 100.0
        w = y + 1.0
    assert tape.gradient([w, z], x) is not None
    with tf.GradientTape() as tape, tape.stop_recording():
        z = x * x
    assert tape.gradient(z, x) is None


def test_a_tape_that_is_reset_forgets():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        tape.reset()
        z = x * 3.0
    assert [None if g is None else float(g) for g in [tape.gradient([y, z], x)]] == [3.0]


def test_stop_gradient_makes_a_constant():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.stop_gradient(x * x) * x
    assert float(tape.gradient(y, x)) == 9.0


def test_an_assignment_while_the_tape_records_counts_for_what_is_read_after_it():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        x.assign(10.0)
        z = x * x
    assert float(tape.gradient(y + z, x) if False else tape.gradient([y, z], x)) == 24.0


def test_jacobian_has_the_shape_of_the_target_and_then_of_the_source():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reshape(x[:2] * x[1:], [2, 1])
    found = tape.jacobian(y, x)
    assert found.shape == [2, 1, 3]
    assert found.numpy().reshape(2, 3).tolist() == [[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]]


def test_batch_jacobian_goes_row_by_row():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    expected = [[[2.0, 0.0], [0.0, 4.0]], [[6.0, 0.0], [0.0, 8.0]]]
    assert tape.batch_jacobian(y, x).numpy().tolist() == expected


@pytest.mark.parametrize("shape", [None, [None, 2]])
@pytest.mark.parametrize("method", ["jacobian", "batch_jacobian"])
def test_a_jacobian_of_a_shape_that_is_known_when_the_graph_runs(method, shape):
    def slopes(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return getattr(tape, method)(y, x)

    x = tf.constant([[1.0, 2.0]])
    made = tf.function(slopes, input_signature=[tf.TensorSpec(shape)])(x)
    np.testing.assert_array_equal(made, slopes(x))


def test_a_tape_that_was_asked_wrongly_can_be_asked_again():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x * x
    for ask in (tape.gradient, tape.jacobian):
        with pytest.raises(ValueError, match="Unknown value for unconnected_gradients"):
            ask(y, x, unconnected_gradients="ones")
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 4.0]


@pytest.mark.parametrize("target", [3.0, "x", [object()]])
def test_targets_that_are_no_tensors_are_refused(target):
    with tf.GradientTape() as tape, pytest.raises(TypeError, match="is a tensor or a variable"):
        tape.gradient(target, tf.Variable(1.0))


def test_watching_something_else_is_refused():
    with tf.GradientTape() as tape, pytest.raises(ValueError, match=r"not tf\.Tensor or tf\.Variable"):
        tape.watch(3.0)


def test_integers_have_no_gradients(caplog):
    x = tf.constant([1, 2])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x) is None
    assert "must be floating" in caplog.text


def test_entering_a_tape_twice_is_refused():
    tape = tf.GradientTape()
    with tape, pytest.raises(ValueError, match="still recording"):
        tape.__enter__()


def test_an_op_without_a_gradient_says_so():
    x = tf.Variable([3.0, 1.0])
    with tf.GradientTape() as tape:
        y = tf.truncatemod(x, x)
    with pytest.raises(LookupError, match="No gradient defined"):
        tape.gradient(y, x)


def test_gradients_are_computed_on_the_devices_of_the_ops():
    with tf.device("/gpu:1"):
        x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        with tf.device("/gpu:1"):
            y = x * x
        with tf.device("/cpu:0"):
            z = y * 2.0
    grad = tape.gradient(z, x)
    assert grad.device.endswith("GPU:1")


def test_a_gradient_is_added_up_where_it_is_unless_the_program_asks_for_a_device():
    with tf.device("/gpu:1"):
        x = tf.Variable([1.0, 2.0])
        with tf.GradientTape(persistent=True) as tape:
            y = x * x
    assert tape.gradient(y, x).device.endswith("GPU:1")
    with tf.device("/gpu:2"):
        assert tape.gradient(y, x).device.endswith("GPU:2")


def test_threads_have_tapes_of_their_own():
    from concurrent.futures import ThreadPoolExecutor

    def derivative(value):
        x = tf.constant(float(value))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return float(tape.gradient(y, x))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(derivative, range(100))) == [2.0 * value for value in range(100)]


def test_a_tape_keeps_no_tensor_that_no_rule_asks_for():
    from situs._src.base.budget.ledger import accounts

    account = accounts()[0]
    with tf.device("/gpu:0"):
        x = tf.zeros([256, 256])
        before = account.usage().current
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(10):
                y = y + 1.0
    assert account.usage().current - before <= 2 * 256 * 256 * 4
    assert np.all(tape.gradient(y, x).numpy() == 1.0)


def test_ops_with_attributes_take_the_short_way_too(run_python):
    # In a process of its own: the tests verify kernels, which takes the long way.
    program = (
        "import situs as tf\n"
        "x = tf.constant([[1.0, 2.0], [3.0, 4.0]])\n"
        "multiply, shift = lambda x: tf.matmul(x, x), lambda x: tf.nn.bias_add(x, [1.0, 2.0])\n"
        "for function in (multiply, shift, tf.nn.softmax, tf.nn.relu, tf.nn.gelu):\n"
        "    for _ in range(2):\n"
        "        with tf.GradientTape() as tape:\n"
        "            tape.watch(x)\n"
        "            y = function(x)\n"
        "        grad = tape.gradient(y, x)\n"
        "    print(grad.shape)\n"
    )
    assert run_python(program, SITUS_VERIFY="0") == "(2, 2)\n" * 5


def test_an_eager_tensor_that_a_function_uses_has_a_gradient_in_it():
    x, apart = tf.constant([1.0, 2.0]), tf.constant([5.0])

    @tf.function
    def grads(y):
        with tf.GradientTape() as tape:
            tape.watch([x, apart])
            loss = tf.reduce_sum(x * x * y) + tf.reduce_sum(3.0 * x)  # it gets into the graph twice
        return tape.gradient(loss, [x, apart], unconnected_gradients="zero")

    of_x, of_apart = grads(tf.constant(2.0))
    np.testing.assert_array_equal(of_x, [7.0, 11.0])
    np.testing.assert_array_equal(of_apart, [0.0])


def test_a_variable_of_a_graph_that_is_watched_is_known():
    with tf.Graph().as_default():
        a, b = (tf.compat.v1.Variable(1.0) for _ in range(2))
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(b)
            y, z = a**2, b**3
        assert tape.watched_variables() == (b,)
        of_a, of_b = tape.gradient([y, z], [a, b])
        assert of_a is None
        assert of_b is not None


@pytest.mark.parametrize("dtype", [tf.int32, tf.bool])
def test_jacobians_of_what_has_no_gradient_are_none_or_zeros(dtype):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.cast(x, dtype)
    assert tape.jacobian(y, [x]) == [None]
    zeros = tape.jacobian(y, x, unconnected_gradients="zero")
    assert zeros.dtype is tf.float32
    assert zeros.numpy().tolist() == [[0.0, 0.0], [0.0, 0.0]]
