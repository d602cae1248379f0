"""`tf.memory.plan` and `tf.memory.swap_to_host` as programs call them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import situs
import situs.compat.v1 as tf
from situs._src.base.devices.inventory import process
from situs._src.base.devices.scope import build_into, here
from situs._src.inspect.planned import MemoryPlan
from situs._src.inspect.planning import plan, swap_to_host
from situs._src.runtime.run import swap

FLOATS = 4


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


@pytest.fixture
def sess(graph):
    with tf.Session() as session:
        yield session


@pytest.fixture
def x(graph):
    return tf.placeholder(tf.float32, [None, 10], name="x")


# What is asked for.


def test_without_a_session_the_graph_of_the_fetches_is_taken():
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        made = tf.exp(tf.placeholder(tf.float32, [10]))
        done = tf.group(made)
    expected = plan([made])["CPU:0"].peak
    assert expected >= 2 * 10 * FLOATS
    assert plan({"made": made})["CPU:0"].peak == expected
    assert plan(done)["CPU:0"].peak == expected


@pytest.mark.parametrize(
    "fetches",
    [
        lambda y: y,
        lambda y: [y, y],
        lambda y: {"loss": y},
        lambda y: y.name,
        lambda y: y.op,
        lambda y: (y, [y.op, {"again": y}]),
    ],
)
def test_fetches_are_what_run_takes(sess, x, fetches):
    y = tf.tanh(x, name="y")
    assert plan(fetches(y), {x: (8, 10)})["GPU:0"].peak == 2 * 80 * FLOATS


@pytest.mark.parametrize(
    "given", [(8, 10), (np.int64(8), 10), tf.TensorShape([8, 10]), np.zeros([8, 10]), [[0.0] * 10] * 8, (8, None)]
)
def test_feeds_are_values_or_shapes(sess, x, given):
    assert plan(tf.tanh(x), {x: given})["GPU:0"].peak == 2 * 80 * FLOATS


def test_a_tuple_of_tensors_may_be_fed_shapes(sess, x):
    z = tf.placeholder(tf.float32, [10])
    assert plan(x * z, {(x, z): ((8, 10), (10,))}).exact


def test_a_placeholder_that_is_left_out_has_the_shape_it_was_declared_with(sess, x):
    z = tf.placeholder(tf.float32, [8, 10], name="z")
    assert plan(tf.tanh(z))["GPU:0"].peak == 2 * 80 * FLOATS
    assert plan(tf.tanh(z)).exact
    left_open = plan(tf.tanh(x) + z)
    assert not left_open.exact
    assert any("x" in what for what in left_open["GPU:0"].unknown)


def test_any_tensor_may_be_fed(sess, x):
    y = tf.matmul(x, tf.ones([10, 1000]))
    assert plan(tf.sin(y), {y: (3, 1000)})["GPU:0"].peak == 2 * 3000 * FLOATS


def test_nothing_is_run(sess):
    v = tf.Variable(1.0)
    plan(v.assign_add(1.0))
    assert sess.run(tf.is_variable_initialized(v)) == np.False_


# Sessions.


def test_without_a_session_the_graph_is_placed_for_itself(graph, x):
    w = tf.Variable(tf.ones([10, 20]), name="w")
    account = next(d for d in process.devices() if d.short_name == "GPU:0").account
    before = account.usage().current
    found = plan(tf.matmul(x, w), {x: (8, 10)})["GPU:0"]
    assert [item.name for item in found.persistent] == ["w"]
    assert account.usage().current <= before


def test_a_tensor_of_another_graph_brings_its_graph_along():
    with tf.Graph().as_default():
        y = tf.ones([10])
    assert plan(y)["GPU:0"].peak == 10 * FLOATS


def test_a_session_may_be_given(graph, x):
    y = tf.tanh(x)
    config = tf.ConfigProto(device_count={"GPU": 0})
    with tf.Session(config=config) as elsewhere:
        pass
    with tf.Session(config=config) as on_cpu:
        assert [d.name for d in plan(y, {x: (8, 10)}, session=on_cpu)] == [process.devices()[-1].name]
    with pytest.raises(tf.errors.FailedPreconditionError, match="closed"):
        plan(y, {x: (8, 10)}, elsewhere)


# Functions.


def test_a_concrete_function():
    weights = eager(lambda: situs.Variable(situs.ones([10, 1000])))

    @situs.function
    def product(a):
        return situs.tanh(situs.matmul(a, weights))

    made = eager(lambda: product.get_concrete_function(situs.TensorSpec([None, 10], situs.float32)))
    found = plan(made, {made.inputs[0]: (8, 10)})["GPU:0"]
    assert found.exact
    assert found.peak == (10 * 1000 + 8 * 10 + 8 * 1000) * FLOATS
    assert not plan(made).exact
    argument = eager(lambda: situs.ones([8, 10]))
    assert plan(made, {made.inputs[0]: argument})["GPU:0"].peak == found.peak


def eager(make):
    """Runs something as a program of TensorFlow 2 does."""
    before = build_into(None, here.scope)
    try:
        with tf.device("/gpu:0"):
            return make()
    finally:
        build_into(*before)


def test_a_function_without_its_arguments_is_refused():
    with pytest.raises(TypeError, match="get_concrete_function"):
        plan(situs.function(lambda a: a))


def test_a_tensor_that_is_no_argument_is_refused():
    made = eager(lambda: situs.function(lambda a: a + 1.0).get_concrete_function(situs.TensorSpec([10], situs.float32)))
    with pytest.raises(ValueError, match="no argument"):
        plan(made, {made.outputs[0]: (10,)})


# The answer.


def test_the_answer_tells_where_the_peak_is_and_what_is_held(sess, x):
    y = tf.matmul(x, tf.ones([10, 1000]), name="wide")
    found = plan(tf.reduce_sum(y), {x: (8, 10)})["gpu:0"]
    assert found.at.name in ("wide", "Sum")
    assert found.at.line.startswith("test_planning.py:")
    assert (found.alive[0].name, found.alive[0].size) == ("ones", 10 * 1000 * FLOATS)
    assert sum(item.size for item in found.alive) + sum(item.size for item in found.persistent) == found.peak


def test_devices_are_found_by_any_name(sess, x):
    found = plan(tf.tanh(x), {x: (8, 10)})
    full = "/job:localhost/replica:0/task:0/device:GPU:0"
    assert found["GPU:0"] is found["/gpu:0"] is found[full]
    assert [device.name for device in found][-1] == full
    assert len(found) == 2
    with pytest.raises(tf.errors.NotFoundError, match="GPU:3"):
        found["GPU:3"]


def test_whether_it_fits(sess):
    limit = next(d for d in process.devices() if d.short_name == "GPU:0").account.limit
    assert plan(tf.zeros([1000])).fits
    too_large = plan(tf.zeros([limit // FLOATS + 1]))
    assert not too_large.fits
    assert " no " in str(too_large)


def test_it_prints_as_a_table(sess, x):
    w = tf.Variable(tf.ones([10, 1000]), name="w")
    text = str(plan(tf.tanh(tf.matmul(x, w, name="product")), {x: (8, 10)}))
    for part in ("GPU:0", "CPU:0", "w", "product", "test_planning.py:", "39.1 KiB", "2.0 GiB", "yes"):
        assert part in text
    assert "at least" not in text
    assert "holds more" in str(plan(tf.tanh(x)))
    assert "at least" in str(plan(tf.tanh(x)))


def test_it_is_plain_data_too(sess, x):
    data = json.loads(json.dumps(plan(tf.tanh(x), {x: (8, 10)}).to_dict()))
    gpu = data["devices"][-1]
    assert gpu["peak"] == 2 * 80 * FLOATS
    assert gpu["exact"] is True
    assert gpu["alive"][0]["line"].startswith("test_planning.py:")


def test_a_run_that_holds_nothing_says_so():
    assert str(MemoryPlan(())) == "The run holds nothing on any device."


def test_calls_that_run_side_by_side_are_mentioned(sess):
    parts = []
    for number in range(2):
        with tf.device(f"/gpu:{number}"):
            a = tf.ones([500, 500])
            parts.append(tf.matmul(a, a))
    found = plan(parts)
    assert not found.in_order
    assert "side by side" in str(found)


# What cannot be.


@pytest.mark.parametrize(
    ("fetches", "feeds", "error"),
    [
        (None, None, TypeError),
        (3, None, TypeError),
        ("nothing:0", None, ValueError),
        ([[]], {}, None),
        ("y:0", {"x:0": (8, 11)}, ValueError),
        ("y:0", {"x:0": (8,)}, ValueError),
        ("y:0", {"x:0": (-8, 10)}, ValueError),
        ("y:0", {"x:0": np.zeros([8, 11])}, ValueError),
        ("y:0", {"x:0": "words"}, ValueError),
        ("y:0", {"x:0": None}, TypeError),
        ("y:0", {"z:0": (8, 10)}, TypeError),
        ("y:0", [1, 2], TypeError),
        ("y:0", {3: (8, 10)}, TypeError),
    ],
)
def test_bad_input_is_refused_as_by_run(sess, x, fetches, feeds, error):
    tf.tanh(x, name="y")
    if error is None:
        assert len(plan(fetches, feeds)) == 0
        return
    with pytest.raises(error):
        plan(fetches, feeds)


def test_an_empty_graph_is_refused(sess):
    with pytest.raises(tf.errors.FailedPreconditionError, match="empty"):
        plan([])


@pytest.mark.parametrize("session", ["a session", 3, tf.Session])
def test_something_else_than_a_session_is_refused(x, session):
    with pytest.raises(TypeError, match="session"):
        plan(x, None, session)


# Swapping.


def test_swapping_is_switched_on_and_off():
    assert not swap.switch.on
    swap_to_host()
    assert swap.switch.on
    swap_to_host(False)
    assert not swap.switch.on


def test_a_context_sets_back_what_was_before():
    with swap_to_host():
        with swap_to_host(False):
            assert not swap.switch.on
        assert swap.switch.on
    assert not swap.switch.on


@pytest.mark.parametrize("bad", ["yes", None, 2.0, []])
def test_the_switch_is_on_or_off(bad):
    with pytest.raises(TypeError, match="enable"):
        swap_to_host(bad)
    assert not swap.switch.on
