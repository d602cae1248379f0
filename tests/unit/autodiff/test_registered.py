"""Gradient functions of the program, registered by name, and where they are asked."""

from __future__ import annotations

import pytest

import situs as tf
import situs._src.autodiff.registered as registered
import situs.compat.v1 as v1


@pytest.fixture(autouse=True)
def _names_of_this_test(monkeypatch):
    monkeypatch.setattr(registered, "_functions", {})


def test_an_operation_made_under_the_map_has_the_registered_gradient():
    @tf.RegisterGradient("Tenfold")
    def _(op, grad):
        assert op.type == "Identity"
        return 10.0 * grad

    with v1.Graph().as_default() as graph, v1.Session() as session:
        x = v1.constant([2.0, 3.0])
        with graph.gradient_override_map({"Identity": "Tenfold"}):
            y = v1.identity(x)
        z = v1.identity(x)
        assert session.run(v1.gradients(y * y, x)[0]).tolist() == [40.0, 60.0]
        assert session.run(v1.gradients(z * z, x)[0]).tolist() == [4.0, 6.0]


def test_guided_backpropagation():
    @tf.RegisterGradient("GuidedRelu")
    def _(op, grad):
        return tf.where(grad > 0.0, tf.where(op.outputs[0] > 0.0, grad, tf.zeros_like(grad)), tf.zeros_like(grad))

    with v1.Graph().as_default() as graph, v1.Session() as session:
        x = v1.constant([-1.0, 2.0, 3.0])
        with graph.gradient_override_map({"Relu": "GuidedRelu"}):
            y = v1.nn.relu(x)
        assert session.run(v1.gradients(y, x, grad_ys=[v1.constant([1.0, -5.0, 7.0])])[0]).tolist() == [0.0, 0.0, 7.0]


def test_in_a_function_too_and_under_maps_inside_of_each_other():
    tf.RegisterGradient("Two")(lambda op, grad: 2.0 * grad)
    tf.RegisterGradient("Three")(lambda op, grad: 3.0 * grad)

    @tf.function
    def slopes(x):
        graph = v1.get_default_graph()
        with tf.GradientTape() as tape:
            tape.watch(x)
            with graph.gradient_override_map({"Identity": "Two"}):
                with graph.gradient_override_map({"Identity": "Three"}):
                    y = tf.identity(x)
                y = y + tf.identity(x)
        return tape.gradient(y, x)

    assert float(slopes(tf.constant(1.0))) == 5.0


def test_one_gradient_for_each_input():
    tf.RegisterGradient("Swapped")(lambda op, grad: (op.inputs[1] * grad, None))
    tf.RegisterGradient("TooFew")(lambda op, grad: [grad])
    with v1.Graph().as_default() as graph, v1.Session() as session:
        x, y = v1.constant(2.0), v1.constant(5.0)
        with graph.gradient_override_map({"AddV2": "Swapped"}):
            z = v1.add(x, y)
        first, second = v1.gradients(z, [x, y])
        assert (session.run(first), second) == (5.0, None)
        with graph.gradient_override_map({"AddV2": "TooFew"}):
            z = v1.add(x, y)
        with pytest.raises(ValueError, match=r"Num gradients 1 generated for op .* do not match num inputs 2"):
            v1.gradients(z, [x, y])


def test_what_is_refused():
    tf.RegisterGradient("Mine")(lambda op, grad: grad)
    with pytest.raises(KeyError, match="two gradient with name 'Mine'"):
        tf.RegisterGradient("Mine")(lambda op, grad: grad)
    with pytest.raises(KeyError, match="two gradient with name 'MatMul'"):
        tf.RegisterGradient("MatMul")(lambda op, grad: grad)
    with pytest.raises(TypeError, match="op_type must be a string"):
        tf.RegisterGradient(3)
    with pytest.raises(TypeError, match="op_type must be a string"):
        tf.no_gradient(None)
    with v1.Graph().as_default() as graph:
        with pytest.raises(TypeError, match="op_type_map must be a dictionary"):
            graph.gradient_override_map([("Identity", "Mine")]).__enter__()
        with pytest.raises(TypeError, match="must map strings to strings"):
            graph.gradient_override_map({"Identity": 3}).__enter__()
        x = v1.constant(1.0)
        with graph.gradient_override_map({"Identity": "Nobodys"}):
            y = v1.identity(x)
        with pytest.raises(LookupError, match=r"No gradient defined for operation .*Identity"):
            v1.gradients(y, x)


def test_nothing_flows_back_through_what_has_no_gradient():
    v1.NotDifferentiable("Nothing")
    with v1.Graph().as_default() as graph:
        x = v1.constant(1.0)
        with graph.gradient_override_map({"Identity": "Nothing"}):
            y = v1.identity(x)
        assert v1.gradients(y, x) == [None]
