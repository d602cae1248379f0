"""`tf.gradients`: operations for gradients, where they go, and what they compute."""

from __future__ import annotations

import numpy as np
import pytest

import situs as eager
import situs.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def run(fetches, feed_dict=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed_dict)


def test_gradients_of_variables_and_placeholders():
    x = tf.placeholder(tf.float32, [None])
    v = tf.Variable([2.0, 3.0])
    y = x * v + x
    found = tf.gradients(y, [x, v])
    assert [g.tolist() for g in run(found, {x: [5.0, 7.0]})] == [[3.0, 4.0], [5.0, 7.0]]


def test_names_are_those_of_the_operations_they_belong_to(graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    tf.gradients(tf.multiply(x, x, name="square"), x)
    names = [operation.name for operation in graph.get_operations()]
    assert "gradients/square_grad/Mul" in names
    assert any(name.startswith("gradients/grad_ys_0") for name in names)


def test_gradients_are_asked_for_the_device_of_their_operation():
    with tf.device("/gpu:1"):
        x = tf.constant([1.0, 2.0])
        y = x * x
    (grad,) = tf.gradients(y, [x])
    with tf.Session() as session:
        placed = session.placement()
        assert placed[grad.op].device.short_name == "GPU:1"


def test_colocated_gradients_follow_their_operation():
    with tf.device("/gpu:2"):
        x = tf.constant([1.0, 2.0])
        y = x * x
    (grad,) = tf.gradients(y, [x], colocate_gradients_with_ops=True)
    with tf.Session() as session:
        assert session.placement()[grad.op].device.short_name == "GPU:2"


def test_unconnected_is_none_or_zeros():
    x, y = tf.constant([1.0, 2.0]), tf.constant(3.0)
    assert tf.gradients(y * y, [x]) == [None]
    assert run(tf.gradients(y * y, [x], unconnected_gradients="zero"))[0].tolist() == [0.0, 0.0]


def test_grad_ys_weigh_the_targets():
    x = tf.constant([1.0, 2.0])
    assert run(tf.gradients(x * x, [x], grad_ys=[tf.constant([10.0, 100.0])]))[0].tolist() == [20.0, 400.0]
    x = tf.constant([1.0, 2.0], tf.float64)  # numbers take the dtype of what they weigh
    assert run(tf.gradients(x * x, [x], grad_ys=[[10, 100]]))[0].tolist() == [20.0, 400.0]


def test_the_wrong_number_of_grad_ys_is_refused():
    x = tf.constant(1.0)
    with pytest.raises(ValueError, match="Passed 2 grad_ys for 1 ys"):
        tf.gradients(x * x, [x], grad_ys=[x, x])


def test_stop_gradients_are_constants():
    a = tf.constant(3.0)
    b = 2.0 * a
    assert run(tf.gradients(a + b, [a, b], stop_gradients=[a, b])) == [1.0, 1.0]
    assert run(tf.gradients(a + b, [a, b])) == [3.0, 1.0]


def test_gated_gradients_are_the_same():
    x, v = tf.constant(2.0), tf.Variable(3.0)
    assert run(tf.gradients(x * v, [x, v], gate_gradients=True)) == [3.0, 2.0]


def test_second_derivatives():
    x = tf.constant([1.0, 2.0])
    (first,) = tf.gradients(x * x * x, x)
    assert run(tf.gradients(first, x))[0].tolist() == [6.0, 12.0]


def test_hessians():
    x = tf.constant([1.0, 2.0])
    (found,) = tf.hessians(x[0] * x[0] * x[1], x)
    assert run(found).tolist() == [[4.0, 2.0], [2.0, 0.0]]


@pytest.mark.parametrize(("shape", "x"), [([None], [1.0, 2.0, 3.0]), ([2, None], [[1.0], [2.0]]), (None, 2.0)])
def test_hessians_of_sizes_that_are_known_when_they_run(shape, x):
    fed = tf.placeholder(tf.float32, shape)
    (found,) = tf.hessians(tf.reduce_sum(fed**3) + tf.reduce_prod(fed), fed)
    assert found.shape.is_compatible_with(np.shape(x) * 2)
    flat, places = np.ravel(x), range(np.size(x))
    product = [[0.0 if i == j else np.prod(np.delete(flat, [i, j])) for j in places] for i in places]
    right = (np.diag(6 * flat) + product).reshape(np.shape(x) * 2)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(found, {fed: x}), right)


def test_integer_targets_have_no_gradients():
    x = tf.constant(1)
    assert tf.gradients(x * x, [x]) == [None]


def test_eager_tensors_are_refused():
    with eager.init_scope():
        pass
    with pytest.raises((TypeError, ValueError)):
        tf.gradients(tf.constant(1.0), [3.0])


def test_a_tensor_used_often_adds_its_gradients():
    x = tf.placeholder(tf.float32, [])
    y = x * x + x * 3.0 + x
    assert run(tf.gradients(y, x), {x: 5.0}) == [14.0]


@pytest.mark.parametrize("taken", [True, False])
def test_gradients_go_through_the_branch_that_is_taken(taken):
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [None])
    v = tf.Variable([2.0, 2.0])
    y = tf.cond(p, lambda: x * x * v, lambda: x * 5.0)
    found = run(tf.gradients(y, [x, v]), {p: taken, x: [3.0, 4.0]})
    assert found[0].tolist() == ([12.0, 16.0] if taken else [5.0, 5.0])
    assert found[1].tolist() == ([9.0, 16.0] if taken else [0.0, 0.0])


def test_gradients_go_through_loops():
    x, v = tf.placeholder(tf.float32, [None]), tf.Variable([2.0, 3.0])
    turns = tf.placeholder(tf.int32, [])
    _, y = tf.while_loop(lambda i, y: i < turns, lambda i, y: (i + 1, y * v), [0, x])
    found = tf.gradients(y, [x, v])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for count in (0, 1, 4):
            dx, dv = session.run(found, {x: [5.0, 7.0], turns: count})
            np.testing.assert_allclose(dx, np.array([2.0, 3.0]) ** count)
            np.testing.assert_allclose(
                dv, count * np.array([5.0, 7.0]) * np.array([2.0, 3.0]) ** max(count - 1, 0) if count else [0.0, 0.0]
            )


def test_gradients_go_through_a_branch_inside_a_loop():
    x = tf.placeholder(tf.float32, [])

    def turn(i, y):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: y * y, lambda: y * 3.0)

    _, y = tf.while_loop(lambda i, y: i < 4, turn, [0, x])
    # ((x^2 * 3)^2) * 3 = 27 x^4
    assert run(tf.gradients(y, x), {x: 2.0}) == [27.0 * 4 * 8]


def test_a_random_number_in_a_branch_is_the_same_on_the_way_back():
    x = tf.placeholder(tf.float32, [1000])
    y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * tf.random_uniform([1000]), lambda: x)
    value, grad = run([y, tf.gradients(y, x)[0]], {x: np.ones(1000)})
    np.testing.assert_array_equal(value, grad)


def test_a_random_number_in_a_loop_is_the_same_on_the_way_back():
    x = tf.placeholder(tf.float32, [100])
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * tf.random_uniform([100])), [0, x])
    value, grad = run([y, tf.gradients(y, x)[0]], {x: np.ones(100)})
    np.testing.assert_allclose(value, grad, rtol=1e-6)


def test_sums_of_gradients_go_with_those_of_their_device():
    with tf.Graph().as_default() as graph:
        with graph.device("/device:CPU:0"):
            x = tf.constant(1.0, shape=[1, 2])
        with graph.device("/device:CPU:1"):
            p = tf.square(x)
        with graph.device("/device:CPU:2"):
            q, r = tf.exp(x), tf.sin(x)
        (total,) = tf.gradients(p + q + r, [x], colocate_gradients_with_ops=True)
        assert (total.op.colocation_groups(), total.op.device) == ([b"loc:@Const"], "/device:CPU:0")
        assert [part.op.device for part in total.op.inputs] == ["/device:CPU:1", "/device:CPU:2"]


def test_a_sum_of_gradients_of_one_device_goes_with_the_first_use():
    with tf.Graph().as_default() as graph:
        with graph.device("/device:GPU:1"):
            w = tf.constant(1.0, shape=[1, 1])
        first, second = (tf.matmul(w, tf.ones([1, 2])) for _ in range(2))
        (total,) = tf.gradients(first + second, [w], colocate_gradients_with_ops=True)
        assert total.op.colocation_groups() == first.op.colocation_groups() == [b"loc:@MatMul"]
