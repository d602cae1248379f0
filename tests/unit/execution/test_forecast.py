"""What a run will hold, against what the ledger has measured when it ran."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs._src.base.devices.inventory import process
from situs._src.base.devices.scope import build_into, here
from situs._src.inspect.planning import plan
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.constant import zeros
from tests.op_table import ROWS
from tests.unit.graph.test_ops_in_graphs import built

FLOATS = 4  # bytes of each
GPU, OTHER = "GPU:3", "GPU:2"  # those that other tests leave alone


@pytest.fixture(autouse=True)
def sess():
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.Graph().as_default(), tf.device(f"/{GPU}"), tf.Session(config=config) as session:
        yield session


def gpu():
    return next(d for d in process.devices() if d.short_name == GPU)


def peaks(sess, fetches, feeds, devices=(GPU,)):
    """Of each device, what is predicted from the shapes alone, and what a run holds."""
    predicted = plan(fetches, {key: np.shape(value) for key, value in feeds.items()})
    accounts = [d.account for name in devices for d in process.devices() if d.short_name == name]
    sess.run(fetches, feeds)  # whatever is made once and kept is there now
    for account in accounts:
        account.reset_peak()
    sess.run(fetches, feeds)
    found = [(predicted[name].peak + predicted[name].others) for name in devices]
    return predicted, list(zip(found, [account.usage().peak for account in accounts], strict=True))


def variable(*shape):
    return tf.Variable(tf.ones(shape))


# The example models.


def mlp():
    x = h = tf.placeholder(tf.float32, [None, 784])
    for rows, columns in ((784, 1024), (1024, 1024), (1024, 10)):
        h = tf.matmul(h, variable(rows, columns)) + variable(columns)
        h = tf.nn.relu(h) if columns > 10 else tf.nn.softmax(h)
    return h, {x: np.zeros((128, 784), np.float32)}


def cnn():
    x = h = tf.placeholder(tf.float32, [None, 32, 32, 3])
    for channels in (3, 64):
        h = tf.nn.conv2d(h, variable(5, 5, channels, 64), 1, "SAME")
        h = tf.nn.max_pool(tf.nn.relu(tf.nn.bias_add(h, variable(64))), 3, 2, "SAME")
    h = tf.reshape(h, [tf.shape(x)[0], 8 * 8 * 64])
    for rows, columns in ((4096, 384), (384, 192), (192, 10)):
        h = tf.matmul(h, variable(rows, columns)) + variable(columns)
        h = tf.nn.relu(h) if columns > 10 else tf.nn.softmax(h)
    return h, {x: np.zeros((128, 32, 32, 3), np.float32)}


def two_gpus():
    x = tf.placeholder(tf.float32, [None, 256])
    with tf.device(f"/{GPU}"):
        a = tf.nn.relu(tf.matmul(x, variable(256, 512)))
        b = tf.sin(a)
    with tf.device(f"/{OTHER}"):
        c = tf.exp(tf.matmul(a, variable(512, 1024)))
        d = c + tf.concat([b, b], 1)
    with tf.device(f"/{GPU}"):
        e = tf.matmul(d, variable(1024, 64)) + 1.0
    return [e, d], {x: np.zeros((64, 256), np.float32)}


def skips():
    x = h = tf.placeholder(tf.float32, [None, 128])
    kept = []
    for _ in range(6):
        kept.append(h)
        h = tf.tanh(tf.matmul(h, variable(128, 128)))
    for value in reversed(kept):
        h = h * value + tf.transpose(tf.reshape(tf.transpose(value), [128, -1]))
    left, right = tf.split(h, 2, 1)
    return tf.reduce_sum(left * right), {x: np.zeros((300, 128), np.float32)}


@pytest.mark.parametrize("model", [mlp, cnn, skips])
def test_the_peak_of_a_model_is_predicted(sess, model):
    fetches, feeds = model()
    sess.run(tf.global_variables_initializer())
    predicted, [(expected, measured)] = peaks(sess, fetches, feeds)
    assert predicted.exact
    assert expected == pytest.approx(measured, rel=0.1)


def test_the_peaks_of_two_gpus_are_predicted(sess):
    fetches, feeds = two_gpus()
    sess.run(tf.global_variables_initializer())
    predicted, found = peaks(sess, fetches, feeds, (GPU, OTHER))
    assert predicted.exact
    for expected, measured in found:
        assert expected == pytest.approx(measured, rel=0.1)


@pytest.mark.virtual
@pytest.mark.parametrize("model", [mlp, cnn, skips])
def test_on_virtual_gpus_the_prediction_is_exact(sess, model):
    fetches, feeds = model()
    sess.run(tf.global_variables_initializer())
    _, [(expected, measured)] = peaks(sess, fetches, feeds)
    assert expected == measured


# Every op.


CASES = [(row, way) for row in ROWS for way in ("full", "unknown") if way not in row.refuses]


@pytest.mark.virtual
@pytest.mark.parametrize(("row", "way"), CASES, ids=str)
def test_the_memory_of_every_op_is_predicted_or_a_lower_bound(sess, row, way):
    feeds = {}
    if gpu().account.usage().current:
        gc.collect()
    left_over = gpu().account.usage().current  # of other tests
    with tf.device(f"/{GPU}"):
        made = [item for item in built(row, way, feeds) if isinstance(item, (SymbolicTensor, Operation))]
    predicted = plan(made, {k: v if v.dtype == object else v.shape for k, v in feeds.items()})
    sess.run(made, feeds)
    gpu().account.reset_peak()
    sess.run(made, feeds)
    measured = gpu().account.usage().peak - left_over
    names = [device.name for device in predicted]
    expected = predicted[GPU].peak + predicted[GPU].others if gpu().name in names else 0
    assert expected == measured or (expected < measured and not predicted.exact)


# What is counted.


def test_a_chain_holds_one_value_where_results_are_written_over_inputs():
    x = tf.placeholder(tf.float32, [1000])
    y = tf.sin(tf.cos(tf.exp(tf.matmul(tf.reshape(x, [1, 1000]), tf.ones([1000, 1000])))))
    found = plan(y, {x: (1000,)})[GPU]
    assert [item.op for item in found.alive] == ["Full", "Copy", "MatMul"]


def test_views_take_no_memory():
    x = tf.placeholder(tf.float32, [64, 100])
    moved = tf.transpose(tf.reshape(tf.expand_dims(x, 0), [100, 64]))
    first, second = tf.split(moved, 2)
    assert plan([first[1:], second], {x: (64, 100)})[GPU].peak == 64 * 100 * FLOATS


def test_a_reshaped_transpose_is_a_copy():
    x = tf.placeholder(tf.float32, [64, 100])
    y = tf.reshape(tf.transpose(x), [-1])
    assert plan(y, {x: (64, 100)})[GPU].peak == 2 * 64 * 100 * FLOATS


def test_sizes_follow_from_the_shapes_that_are_fed():
    x = tf.placeholder(tf.float32, [None, 10])
    rows = tf.shape(x)[0]
    y = tf.fill([rows * 3, 100], 1.0)
    found = plan(y, {x: (7, 10)})[GPU]
    assert found.exact
    assert [item.size for item in found.alive] == [21 * 100 * FLOATS]


def test_sizes_follow_from_small_values_that_are_fed():
    count = tf.placeholder(tf.int32, [])
    y = tf.zeros([count, 100])
    assert plan(y, {count: 5})[GPU].peak == 5 * 100 * FLOATS
    assert not plan(y, {count: ()}).exact


def test_what_is_known_only_in_the_run_makes_a_lower_bound():
    x = tf.placeholder(tf.float32, [100], name="x")
    y = tf.sin(tf.boolean_mask(x, x > 0.0))
    found = plan(y, {x: (100,)})
    assert not found[GPU].exact
    assert found[GPU].peak >= 100 * FLOATS
    assert any("boolean_mask" in what for what in found[GPU].unknown)


def test_large_values_are_not_made():
    wide = 2**20
    y = tf.reduce_sum(tf.zeros([wide, wide]) + 1.0)
    assert plan(y)[GPU].peak > wide * wide * FLOATS


def test_nothing_is_printed_or_drawn(sess, capfd):
    draw = tf.random_uniform([3], seed=1)
    y = tf.Print(draw, [draw], "seen")
    plan(y)
    assert capfd.readouterr() == ("", "")
    first = sess.run(draw)
    with tf.Session() as other:
        assert (other.run(draw) == first).all()


# Variables and constants.


def test_variables_and_constants_are_held_before_and_after(sess):
    w = tf.Variable(tf.ones([100, 50]), name="w")
    y = tf.matmul(tf.constant(np.ones((10, 100), np.float32), name="c"), w)
    before = plan(y)[GPU]
    sess.run(tf.global_variables_initializer())
    after = plan(y)[GPU]
    for found in (before, after):  # a variable that was not initialized counts by its shape
        assert {(i.op, i.name): i.size for i in found.persistent} == {
            ("Variable", "w"): 100 * 50 * FLOATS,
            ("Const", "c"): 10 * 100 * FLOATS,
        }
        assert found.peak == (100 * 50 + 10 * 100 + 10 * 50) * FLOATS


def test_variables_that_a_run_does_not_use_are_held_too(sess):
    tf.Variable(tf.ones([1000]), name="other")
    sess.run(tf.global_variables_initializer())
    y = tf.ones([10]) + 1.0
    assert "other" in [item.name for item in plan(y)[GPU].persistent]


def test_an_initializer_makes_what_it_assigns(sess):
    tf.Variable(tf.ones([1000]), name="v")
    found = plan(tf.global_variables_initializer())[GPU]
    assert found.peak == 1000 * FLOATS
    sess.run(tf.global_variables_initializer())
    again = plan(tf.global_variables_initializer())[GPU]
    assert again.peak == 2 * 1000 * FLOATS  # the old value is there until the new one is


def test_an_update_needs_the_old_value_and_the_new_one(sess):
    v = variable(1000)
    sess.run(tf.global_variables_initializer())
    predicted, [(expected, measured)] = peaks(sess, tf.assign_add(v, tf.ones([1000])).op, {})
    assert expected == measured
    assert predicted[GPU].at.op == "AssignAdd"


def test_a_variable_of_open_shape_is_a_lower_bound():
    v = tf.Variable([1.0], validate_shape=False, shape=tf.TensorShape([None]), name="open")
    found = plan(tf.sin(v.read_value()))[GPU]
    assert any("open" in what for what in found.unknown)


def test_a_variable_may_be_fed():
    v = tf.Variable(tf.ones([10]), name="v")
    found = plan(tf.sin(v), {v: np.ones([10], np.float32)})
    assert found[GPU].peak == 2 * 10 * FLOATS


def test_other_holders_are_told_apart(sess):
    y = tf.ones([1000]) * 2.0
    quiet = plan(y)[GPU]
    held = eager_zeros(4096)
    found = plan(y)[GPU]
    assert found.peak == quiet.peak
    assert found.others == quiet.others + 4096 * FLOATS
    del held


def eager_zeros(count):
    before = build_into(None, here.scope)
    try:
        with tf.device(f"/{GPU}"):
            return zeros([count])
    finally:
        build_into(*before)


# Branches, loops and calls.


def looped():
    x, v = tf.placeholder(tf.float32, [None, 64]), variable(64, 64)
    turned = tf.while_loop(
        lambda i, h: i < 5, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, v)) + tf.sin(h)), [tf.constant(0), x]
    )
    return turned[1], {x: np.ones((50, 64), np.float32)}


def called():
    v = variable(64, 64)

    @tf.function
    def inner(a):
        return tf.nn.relu(tf.matmul(a, v)) * 2.0

    x = tf.placeholder(tf.float32, [None, 64])
    return inner(inner(x) + 1.0), {x: np.ones((50, 64), np.float32)}


def branched():
    x, v = tf.placeholder(tf.float32, [None, 64]), variable(64, 64)
    small, large = lambda: tf.reduce_sum(x), lambda: tf.reduce_sum(tf.exp(tf.matmul(x, v)) + tf.sin(x))
    return tf.cond(tf.reduce_sum(x) > 0.0, large, small), {x: np.ones((50, 64), np.float32)}


def branched_by_shape():
    x, v = tf.placeholder(tf.float32, [None, 64]), variable(64, 64)
    large = lambda: tf.reduce_sum(tf.exp(tf.matmul(tf.concat([x, x, x], 0), v)))  # noqa: E731
    return tf.cond(tf.shape(x)[0] > 100, large, lambda: tf.reduce_sum(x)), {x: np.ones((50, 64), np.float32)}


@pytest.mark.parametrize("model", [looped, called, branched, branched_by_shape])
def test_what_happens_inside_branches_and_loops_counts(sess, model):
    fetches, feeds = model()
    sess.run(tf.global_variables_initializer())
    predicted, [(expected, measured)] = peaks(sess, fetches, feeds)
    assert predicted.exact
    assert expected == pytest.approx(measured, rel=0.1)


def test_of_two_branches_the_larger_one_counts(sess):
    fetches, feeds = branched()
    sess.run(tf.global_variables_initializer())
    predicted = plan(fetches, {key: value.shape for key, value in feeds.items()})
    _, [(_, measured)] = peaks(sess, fetches, {key: -value for key, value in feeds.items()})
    assert predicted[GPU].peak > measured


def test_a_loop_that_collects_is_a_lower_bound(sess):
    x = tf.placeholder(tf.float32, [None, 64])
    mapped = tf.map_fn(tf.sin, x)
    predicted, [(expected, measured)] = peaks(sess, mapped, {x: np.ones((50, 64), np.float32)})
    assert expected <= measured
    assert any("further iteration" in what for what in predicted[GPU].unknown)


def test_a_loop_whose_values_grow_is_a_lower_bound():
    x = tf.placeholder(tf.float32, [None])
    grown = tf.while_loop(
        lambda h: tf.size(h) < 1000,
        lambda h: (tf.concat([h, h], 0),),
        [x],
        shape_invariants=[tf.TensorShape([None])],
    )
    assert any("further iteration" in what for what in plan(grown, {x: (10,)})[GPU].unknown)


# Errors.


def test_shapes_that_do_not_fit_together_are_refused():
    x, y = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.float32, [None, None])
    z = tf.matmul(x, y, name="product")
    with pytest.raises(tf.errors.InvalidArgumentError, match="product"):
        plan(z, {x: (3, 4), y: (5, 6)})
