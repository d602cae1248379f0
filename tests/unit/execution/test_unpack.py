"""Reading rows of one list together."""

import numpy as np

import situs as tf
from situs._src.runtime.passes.unpack import unpacked
from situs._src.runtime.plan import control_flow as control


def test_what_a_turn_saved_is_read_in_one_call(monkeypatch):
    plans = []

    def noting(plan):
        made = unpacked(plan)
        plans.append((plan, made))
        return made

    monkeypatch.setattr(control, "unpacked", noting)

    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y) * tf.exp(y) * x), (0, x))
        return tape.gradient(y, x)

    made = run(tf.constant(0.5, tf.float64))

    def program(x):
        y = x
        for _ in range(3):
            y = np.sin(y) * np.exp(y) * x
        return y

    np.testing.assert_allclose(made, (program(0.5 + 1e-6) - program(0.5 - 1e-6)) / 2e-6, rtol=1e-6)
    plan, quick = max(plans, key=lambda pair: len(pair[0].calls))
    reads = [call for call in plan.calls if call.node is not None and call.node.type == "TensorListGetItem"]
    assert len(reads) > 2
    assert len(plan.calls) - len(quick.calls) == len(reads) - 2  # the list of the turn, and all that is in it


def test_a_loop_variable_that_nothing_flows_back_to_has_a_gradient_of_zero():
    @tf.function
    def run(a, b):
        y, _ = tf.while_loop(lambda y, z: y < 10.0, lambda y, z: (y * 2.0, z * 3.0), (a, b))
        return tf.gradients(y, [a, b])

    assert [float(grad) for grad in run(tf.constant(1.0), tf.constant(1.0))] == [16.0, 0.0]


def test_a_plan_without_such_reads_stays_as_it_is(monkeypatch):
    plans = []

    def noting(plan):
        plans.append((plan, unpacked(plan)))
        return plans[-1][1]

    monkeypatch.setattr(control, "unpacked", noting)

    @tf.function
    def run(x):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + x), (0, x))[1]

    assert float(run(tf.constant(1.0))) == 4.0
    assert plans
    assert all(plan is made for plan, made in plans)


def test_long_chains_have_gradients():
    @tf.function(autograph=False)
    def run(x):
        for _ in range(3000):  # more than Python calls inside of one another
            x = x * 1.001
        return x

    x = tf.constant(1.0, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = run(x)
    np.testing.assert_allclose(tape.gradient(y, x), 1.001**3000, rtol=1e-9)


def test_gradients_of_third_order_through_lists_in_a_map():
    run = tf.function(lambda x: tf.reduce_sum(tf.map_fn(lambda row: tf.constant(1.0) + 0.0 * row, tf.stack([x, x]))))

    def derivative(x, order):
        if order == 0:
            return run(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = derivative(x, order - 1)
        return tape.gradient(y, x, unconnected_gradients="zero")

    assert [float(derivative(tf.constant(0.5), order)) for order in range(4)] == [2.0, 0.0, 0.0, 0.0]
