"""Where the operations of a ``tf.function`` run, on four GPUs."""

from __future__ import annotations

import pytest

import situs as tf
from situs._src.base.devices.scope import here
from situs.errors import UnknownDeviceError


def where(*tensors):
    return [tensor.device.rpartition(":")[0][-3:] + ":" + tensor.device[-1] for tensor in tensors]


@pytest.fixture
def spread():
    """A function of each test's own: its constants stay on the devices for as long as it lives."""

    @tf.function
    def spread(x):
        free = tf.sin(x)
        with tf.device("/gpu:1"):
            pinned = tf.cos(x)
        with tf.device(None):
            asks_nothing = tf.tan(x)
        with tf.device("/gpu"):
            asks_for_a_gpu = tf.exp(x)
        return free, pinned, asks_nothing, asks_for_a_gpu, tf.constant([1.0, 2.0])

    return spread


@pytest.fixture
def x():
    with tf.device("/cpu:0"):
        return tf.constant(1.0)


def test_without_a_scope_the_first_gpu_is_taken(x, spread):
    assert where(*spread(x)) == ["GPU:0", "GPU:1", "GPU:0", "GPU:0", "GPU:0"]


@pytest.mark.parametrize("device", ["CPU:0", "GPU:2", "GPU:3"])
def test_what_is_not_pinned_follows_the_caller(x, device, spread):
    gpu = device if device.startswith("GPU") else "GPU:0"
    for _ in range(2):
        with tf.device(f"/{device}"):
            assert where(*spread(x)) == [device, "GPU:1", device, gpu, device]
    with tf.device(f"/{device}"), tf.device(None):
        assert where(*spread(x)) == where(*spread(x)) == ["GPU:0", "GPU:1", "GPU:0", "GPU:0", "GPU:0"]


def test_the_device_of_the_first_call_is_not_kept(x):
    f = tf.function(lambda x: x + 1.0)
    with tf.device("/gpu:3"):
        assert where(f(x)) == ["GPU:3"]
    assert where(f(x)) == ["GPU:0"]
    assert f.experimental_get_tracing_count() == 1


def test_the_scope_around_the_definition_does_not_matter(x):
    with tf.device("/gpu:3"):
        f = tf.function(lambda x: x + 1.0)
    assert where(f(x)) == ["GPU:0"]


def test_nested_scopes_inside(x):
    @tf.function
    def f(x):
        with tf.device("/gpu:1"):
            with tf.device("/gpu:3"):
                inner = tf.sin(x)
            with tf.device("/job:localhost"):
                merged = tf.sin(x)
        return inner, merged

    with tf.device("/gpu:2"):
        assert where(*f(x)) == ["GPU:3", "GPU:1"]


def test_requests_are_those_of_the_body_alone(x):
    seen = []

    @tf.function
    def f(x):
        with tf.device("/gpu:1"):
            seen.append((x + 1.0).device)
        seen.append((x + 1.0).device)
        return x

    with tf.device("/gpu:2"):
        f(x)
    assert seen == ["/device:GPU:1", ""]


def test_arguments_stay_where_they_are_and_are_copied_for_use():
    with tf.device("/gpu:3"):
        x = tf.constant([1.0, 2.0])
    f = tf.function(lambda x: (x, x * 2.0))
    given, made = f(x)
    assert where(given, made) == ["GPU:3", "GPU:0"]
    assert made.numpy().tolist() == [2.0, 4.0]


def test_captured_tensors_are_copied():
    with tf.device("/gpu:3"):
        y = tf.constant([1.0, 2.0])
    f = tf.function(lambda x: x + y)
    with tf.device("/gpu:1"):
        made = f(tf.constant([1.0, 1.0]))
    assert where(made) == ["GPU:1"]
    assert made.numpy().tolist() == [2.0, 3.0]


def test_variables_stay_and_are_changed_where_they_are():
    with tf.device("/gpu:3"):
        v = tf.Variable(1.0)

    @tf.function
    def f():
        v.assign_add(1.0)
        return v + 1.0

    with tf.device("/gpu:2"):
        assert where(f()) == ["GPU:2"]
    assert where(v) == ["GPU:3"]
    assert float(v) == 2.0


def test_integers():
    """Counting and shapes go on beside the data."""
    f = tf.function(lambda x, n: (tf.shape(x)[0] + n, tf.range(n), x[: n - 1]))
    with tf.device("/gpu:1"):
        size, steps, part = f(tf.constant([1.0, 2.0, 3.0]), tf.constant(2))
    assert int(size) == 5
    assert steps.numpy().tolist() == [0, 1]
    assert part.numpy().tolist() == [1.0]
    assert where(part) == ["GPU:1"]


def test_strings_stay_on_the_host():
    f = tf.function(lambda s: tf.strings.join([s, "!"]))
    with tf.device("/cpu:0"):
        assert f(tf.constant("a")).numpy() == b"a!"


def test_branches_and_loops_are_inside_their_scope(x):
    @tf.function
    def f(x):
        with tf.device("/gpu:1"):
            branch = tf.cond(x > 0.0, lambda: tf.sin(x), lambda: tf.cos(x))
            _, loop = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * 2.0), (0, x))
        return branch, loop, tf.cond(x > 0.0, lambda: tf.sin(x), lambda: tf.cos(x))

    with tf.device("/gpu:2"):
        assert where(*f(x)) == ["GPU:1", "GPU:1", "GPU:2"]


def test_called_functions_are_inside_the_scope_of_the_call(x):
    g = tf.function(lambda x: tf.sin(x))

    @tf.function
    def f(x):
        with tf.device("/gpu:1"):
            first = g(x)
        return first, g(x)

    with tf.device("/gpu:2"):
        assert where(*f(x)) == ["GPU:1", "GPU:2"]


def test_variables_made_inside_go_where_the_scopes_say(x):
    made = []

    @tf.function
    def f(x):
        if not made:
            with tf.device("/gpu:1"):
                made.append(tf.Variable(1.0))
            made.append(tf.Variable(1.0))
        return x + made[0]

    with tf.device("/gpu:2"):
        f(x)
    assert where(*made) == ["GPU:1", "GPU:2"]


# Devices that are not there.


@tf.function
def asks_for_too_much(x):
    with tf.device("/gpu:7"):
        return x + 1.0


def test_a_missing_device_of_the_caller(x, spread):
    with tf.device("/gpu:7"):
        with pytest.raises(UnknownDeviceError, match="Could not satisfy device specification"):
            spread(x)
        tf.config.set_soft_device_placement(True)
        assert where(*spread(x)) == ["GPU:0", "GPU:1", "GPU:0", "GPU:0", "GPU:0"]
        tf.config.set_soft_device_placement(False)
        with pytest.raises(UnknownDeviceError, match="enable_soft_placement=0"):
            spread(x)
    assert here.graph is None


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("device", ["/job:nope", "/task:3"])
def test_softness_forgives_no_wrong_job(x, device, soft, spread):
    tf.config.set_soft_device_placement(soft)
    with tf.device(device), pytest.raises(ValueError, match="Could not satisfy device specification"):
        spread(x)


def test_a_missing_device_in_the_body(x):
    with pytest.raises(UnknownDeviceError, match="explicitly assigned to /device:GPU:7"):
        asks_for_too_much(x)
    tf.config.set_soft_device_placement(True)
    assert where(asks_for_too_much(x)) == ["GPU:0"]
    tf.config.set_soft_device_placement(False)
    with pytest.raises(UnknownDeviceError, match="GPU:7"):
        asks_for_too_much(x)


# Seeing it.


def test_the_log_shows_the_function_and_its_operations(x, capsys):
    f = tf.function(lambda x: tf.sin(x) * 2.0)
    f(x)
    assert capsys.readouterr().out == ""
    tf.debugging.set_log_device_placement(True)
    with tf.device("/gpu:1"):
        f(x)
        first = capsys.readouterr().out
        f(x)
        second = capsys.readouterr().out
    assert "Sin: /job:localhost/replica:0/task:0/device:GPU:1" in first
    executing = [line for line in first.splitlines() if line.startswith("Executing op __inference_")]
    assert executing == second.splitlines()
    assert executing[0].endswith("in device /job:localhost/replica:0/task:0/device:GPU:1")
    tf.debugging.set_log_device_placement(False)
    f(x)
    assert capsys.readouterr().out == ""


def test_explain_shows_the_operations(x):
    @tf.function
    def f(x):
        y = tf.cond(x > 0.0, lambda: tf.atan(x), lambda: tf.acos(x))
        with tf.device("/gpu:2"):
            return tf.asinh(y)

    made = f(x)
    shown = {entry["op"]: entry["device"][-5:] for entry in tf.explain(12).to_dicts()}
    assert shown["Asinh"] == "GPU:2"
    assert shown["Atan"] == shown["Acos"] == "GPU:0"
    assert tf.explain(made)[0].op == "Asinh"
    assert "requested" in tf.explain(made)[0].reason
