"""Devices as TensorFlow 2.21 gives them: beside other operations, in scopes that nest, and with any type."""

from __future__ import annotations

import pytest

import situs as tf
import situs.compat.v1 as v1


def test_sums_of_gradients_go_with_the_operation_whose_gradients_they_are():
    with tf.Graph().as_default() as graph:
        with graph.device("/cpu:0"):
            x = tf.multiply(tf.constant([[1.0]]), 1.0, name="x")
        with graph.device("/cpu:1"):
            one = tf.matmul(x, x)
        with graph.device("/cpu:2"):
            other = tf.matmul(x, x)
        with graph.device("/cpu:1"):
            (gradient,) = v1.gradients([one, other], [x], colocate_gradients_with_ops=True)
    assert (gradient.op.type, gradient.op.device) == ("AddN", "/device:CPU:0")
    assert gradient.op.colocation_groups() == [b"loc:@x"]


# (inside what, expected device, expected groups); a is on CPU:1, b is nowhere; recorded from TensorFlow.
COLOCATED = {
    "a, then b": ("/device:CPU:1", [b"loc:@a", b"loc:@b"]),
    "b, then a": ("/device:CPU:1", [b"loc:@a", b"loc:@b"]),
    "b, then a scope": ("/device:CPU:2", [b"loc:@b"]),
    "a scope, then b": ("", [b"loc:@b"]),
    "a scope, then b alone": ("", [b"loc:@b"]),
    "a scope, then a alone, then b": ("/device:CPU:1", [b"loc:@a", b"loc:@b"]),
}


@pytest.mark.parametrize("name", COLOCATED)
def test_colocation_nests(name):
    with tf.Graph().as_default() as graph:
        with graph.device("/cpu:1"):
            a = tf.constant(1.0, name="a").op
        b = tf.constant(1.0, name="b").op
        scope, beside = graph.device("/cpu:2"), graph.colocate_with
        stack = {
            "a, then b": [beside(a), beside(b)],
            "b, then a": [beside(b), beside(a)],
            "b, then a scope": [beside(b), scope],
            "a scope, then b": [scope, beside(b)],
            "a scope, then b alone": [scope, beside(b, ignore_existing=True)],
            "a scope, then a alone, then b": [scope, beside(a, ignore_existing=True), beside(b)],
        }[name]
        for entered in stack:
            entered.__enter__()
        made = tf.constant(1.0).op
        for entered in reversed(stack):
            entered.__exit__(None, None, None)
    assert (made.device, made.colocation_groups()) == COLOCATED[name]


def test_python_functions_called_at_once_obey_the_scope():
    seen = []

    def plus_one(x):
        made = x + 1.0
        seen.append(getattr(made, "device", ""))
        return made

    gpu = tf.config.list_logical_devices("GPU")[1].name
    with tf.device(gpu):
        made = tf.py_function(plus_one, [1.0], tf.float32)
        plain = tf.numpy_function(plus_one, [1.0], tf.float32)
    assert [made.device, plain.device, seen[0]] == ["/job:localhost/replica:0/task:0/device:GPU:1"] * 3
    assert tf.numpy_function(lambda x: None, [1.0], []) is None


def test_any_type_of_device_will_do():
    for name in ("/device:*:0", "/device:*:*"):
        with tf.device(name):
            assert tf.constant(1.0).device == "/job:localhost/replica:0/task:0/device:CPU:0"
        with tf.Graph().as_default() as graph, graph.device(name), v1.Session() as session:
            made = tf.constant(1.0) + 1.0
            assert made.device == name
            assert session.run(made) == 2.0


def left_out_of_order(one, other):
    one.__enter__()
    other.__enter__()
    try:
        one.__exit__(None, None, None)
    finally:
        try:
            other.__exit__(None, None, None)
        except (RuntimeError, AssertionError):
            pass


def test_scopes_left_out_of_order_are_refused():
    graph = tf.Graph()
    with pytest.raises(RuntimeError, match="without proper scope nesting"):
        left_out_of_order(graph.device("/cpu:0"), graph.device("/cpu:1"))
    with tf.Graph().as_default():
        with pytest.raises(RuntimeError, match="Improper nesting of variable_scope"):
            left_out_of_order(v1.variable_scope("a"), v1.variable_scope("b"))
        with pytest.raises(AssertionError, match="Nesting violated"):
            left_out_of_order(v1.Session().as_default(), v1.Session().as_default())
    with pytest.raises(AssertionError, match="Nesting violated"):
        left_out_of_order(tf.Graph().as_default(), tf.Graph().as_default())


def test_what_is_cached_goes_where_that_says_alone():
    with tf.Graph().as_default(), tf.device("/job:server/task:1"):
        assert v1.Variable(1.0, caching_device="/job:localhost").value().device == "/job:localhost"
        old = v1.get_variable("old", [], caching_device="/job:localhost", use_resource=False)
        assert old.value().device == "/job:localhost/task:1"


def test_specs_that_can_be_changed_make_others():
    spec = v1.DeviceSpec(job="a")
    assert spec.make_merged_spec(v1.DeviceSpec(task=1)).to_string() == "/job:a/task:1"
    assert spec.replace(task=2).to_string() == "/job:a/task:2"
    assert type(spec.replace(task=2)) is v1.DeviceSpec
    assert spec.to_string() == "/job:a"


def test_a_traced_run_of_a_constant_has_statistics():
    metadata = v1.RunMetadata()
    with tf.Graph().as_default(), v1.Session() as session:
        session.run(tf.constant(1.0), options=v1.RunOptions(trace_level=3), run_metadata=metadata)
    assert metadata.HasField("step_stats")
    (device,) = metadata.step_stats.dev_stats
    assert [node.node_name for node in device.node_stats] == ["Const"]
