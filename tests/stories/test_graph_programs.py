"""Programs as people wrote them for TensorFlow 1: graphs built once, run many times."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs._src.ops.python_function import py_func
from situs.python.client import timeline


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def after(operations, make):
    with tf.control_dependencies(operations):
        return make()


def test_linear_regression_by_hand():
    """Parameters on the host, arithmetic on a GPU, data fed in batches."""
    x, y = tf.placeholder(tf.float32, [None, 3], name="x"), tf.placeholder(tf.float32, [None], name="y")
    with tf.device("/cpu:0"):
        w, b = tf.Variable(tf.zeros([3]), name="w"), tf.Variable(0.0, name="b")
        step = tf.Variable(0, trainable=False, name="step")
    with tf.device("/gpu:1"), tf.name_scope("model"):
        wrong = tf.reduce_sum(x * w, axis=1) + b - y
        loss = tf.reduce_mean(tf.square(wrong), name="loss")
        slope_w, slope_b = tf.reduce_mean(2.0 * wrong[:, None] * x, axis=0), tf.reduce_mean(2.0 * wrong)
    train = tf.group(w.assign_sub(0.2 * slope_w), b.assign_sub(0.2 * slope_b), step.assign_add(1), name="train")
    rng = np.random.default_rng(0)
    truth = np.array([1.0, -2.0, 0.5], np.float32)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(150):
            batch = rng.standard_normal((32, 3)).astype(np.float32)
            _, last = sess.run([train, loss], {x: batch, y: batch @ truth + 3.0})
        assert last < 1e-4
        found = sess.run({"w": w, "b": b, "step": step})
    assert np.allclose(found["w"], truth, atol=1e-2)
    assert found["b"] == pytest.approx(3.0, abs=1e-2)
    assert found["step"] == 150


def test_towers_share_variables_and_average():
    """Each tower works on its part of the batch; the host averages what they found."""
    with tf.device("/cpu:0"):
        w = tf.Variable([1.0, 1.0], name="w")
    parts = tf.split(tf.placeholder(tf.float32, [8, 2], name="batch"), 4)
    towers = []
    for number, part in enumerate(parts):
        with tf.device(f"/gpu:{number}"), tf.name_scope(f"tower_{number}"):
            towers.append(tf.reduce_mean(part * w, axis=0))
    with tf.device("/cpu:0"):
        mean = tf.add_n(towers) / 4.0
        update = w.assign_sub(0.5 * mean)
    batch = np.arange(16, dtype=np.float32).reshape(8, 2)
    with tf.Session() as sess:
        sess.run(w.initializer)
        assert sess.run(mean, {"batch:0": batch}).tolist() == batch.mean(axis=0).tolist()
        assert sess.run(update, {"batch:0": batch}).tolist() == (1.0 - 0.5 * batch.mean(axis=0)).tolist()
    assert towers[2].op.name == "tower_2/Mean"
    assert towers[2].device == "/device:GPU:2"


def test_a_moving_average_is_updated_before_it_is_used():
    value, mean = tf.placeholder(tf.float32, []), tf.Variable(0.0, trainable=False)
    update = mean.assign_sub((mean - value) * 0.5)
    centred = after([update], lambda: value - mean)
    with tf.Session() as sess:
        sess.run(mean.initializer)
        assert [float(sess.run(centred, {value: v})) for v in (8.0, 8.0, 0.0)] == [4.0, 2.0, -3.0]


def test_training_and_evaluation_switch_by_a_placeholder():
    """What batch normalization does: statistics are learnt while training, and used otherwise."""
    training, x = tf.placeholder_with_default(False, []), tf.placeholder(tf.float32, [None])
    kept = tf.Variable(0.0, trainable=False)

    def learn():
        mean = tf.reduce_mean(x)
        return after([kept.assign(0.9 * kept + 0.1 * mean)], lambda: tf.identity(mean))

    centred = x - tf.cond(training, learn, lambda: kept.read_value())
    with tf.Session() as sess:
        sess.run(kept.initializer)
        assert sess.run(centred, {x: [10.0, 30.0]}).tolist() == [10.0, 30.0]
        assert sess.run(centred, {x: [10.0, 30.0], training: True}).tolist() == [-10.0, 10.0]
        assert sess.run(kept) == pytest.approx(2.0)
        assert sess.run(centred, {x: [10.0]}).tolist() == [8.0]


def test_a_loop_iterates_until_it_has_converged():
    """Newton's method for a square root, on a GPU, with the number of turns bounded."""
    number = tf.placeholder(tf.float64, [])
    with tf.device("/gpu:3"):
        root, turns = tf.while_loop(
            lambda x, i: tf.logical_and(tf.abs(x * x - number) > 1e-12, i < 50),
            lambda x, i: ((x + number / x) / 2.0, i + 1),
            (number, tf.constant(0)),
        )
    with tf.Session() as sess:
        for value in (2.0, 81.0, 1e6):
            found, count = sess.run([root, turns], {number: value})
            assert found == pytest.approx(value**0.5)
            assert 0 < count < 50


def test_clusters_are_found():
    """k-means: assignments and new centres in one run, until nothing moves."""
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [10.0, 10.0], [0.0, 10.0]])
    points = np.concatenate([c + rng.standard_normal((30, 2)) for c in centres])
    x = tf.constant(points)
    means = tf.Variable(points[[0, 30, 60]])
    nearest = tf.argmin(tf.reduce_sum((x[:, None, :] - means[None, :, :]) ** 2, axis=2), axis=1)
    sums = tf.unsorted_segment_sum(x, nearest, 3)
    counts = tf.unsorted_segment_sum(tf.ones_like(x), nearest, 3)
    moved = tf.reduce_max(tf.abs(means - sums / counts))
    update = after([moved], lambda: means.assign(sums / counts))
    with tf.Session() as sess:
        sess.run(means.initializer)
        for _ in range(20):
            change, _ = sess.run([moved, update.op])
            if change == 0.0:
                break
        assert change == 0.0
        assert np.allclose(sess.run(means), centres, atol=0.7)


def test_a_producer_and_consumers_share_a_session():
    """Threads count words into one variable, each in runs of its own."""
    words, totals = tf.placeholder(tf.string, [None]), tf.Variable(tf.zeros([3], tf.int64))
    vocabulary = tf.constant(["a", "b", "c"])
    hits = tf.reduce_sum(tf.cast(tf.equal(words[:, None], vocabulary[None, :]), tf.int64), axis=0)
    add = totals.assign_add(hits)
    sess = tf.Session()
    sess.run(totals.initializer)

    def feed(text):
        for word in text:
            sess.run(add.op, {words: [word, "a"]})

    threads = [threading.Thread(target=feed, args=(text,)) for text in ("abc" * 10, "c" * 20, "b" * 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sess.run(totals).tolist() == [10 + 55, 10 + 5, 10 + 20]


def test_side_effects_happen_once_a_run_and_only_if_needed():
    seen = []
    a = py_func(lambda: seen.append("a") or np.float32(1.0), [], tf.float32)
    a.set_shape([])
    b, unused = a * 2.0, py_func(lambda: seen.append("unused") or np.float32(1.0), [], tf.float32)
    chosen = tf.cond(
        a > 5.0, lambda: py_func(lambda: seen.append("then") or np.float32(1.0), [], tf.float32), lambda: b
    )
    with tf.Session() as sess:
        assert sess.run([a, b, chosen]) == [1.0, 2.0, 2.0]
        assert seen == ["a"]
        assert sess.run(chosen, {a: 6.0}) == 1.0
        assert seen == ["a", "then"]
    assert unused.op.type == "PyFunc"


def test_a_program_at_a_prompt():
    sess = tf.InteractiveSession()
    try:
        x = tf.Variable([1.0, 2.0])
        x.initializer.run()
        assert (x - [3.0, 3.0]).eval().tolist() == [-2.0, -1.0]
        x.load([5.0, 5.0])
        assert x.eval().tolist() == [5.0, 5.0]
    finally:
        sess.close()


def test_a_step_is_profiled(tmp_path):
    with tf.device("/gpu:2"):
        product = tf.matmul(tf.ones([64, 64]), tf.ones([64, 64]), name="product")
    options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
    with tf.Session() as sess:
        sess.run(product, options=options, run_metadata=metadata)
    path = tmp_path / "timeline.json"
    path.write_text(timeline.Timeline(metadata.step_stats).generate_chrome_trace_format())
    names = [event["args"]["name"] for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    assert "product" in names


def test_a_mistake_in_a_long_program_is_found(graph):
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    h = x
    for number in range(3):
        with tf.name_scope(f"layer{number}"):
            w = tf.placeholder_with_default(np.eye(4, dtype=np.float32), [None, None], name="w")
            h = tf.nn.relu(tf.matmul(h, w))
    with tf.Session() as sess:
        assert sess.run(h, {x: np.ones((2, 4))}).tolist() == np.ones((2, 4)).tolist()
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"In\[0\]: \[2,4\], In\[1\]: \[3,3\]") as caught:
            sess.run(h, {x: np.ones((2, 4)), "layer1/w:0": np.eye(3)})
        assert caught.value.op.name == "layer1/MatMul"
        assert "h = tf.nn.relu(tf.matmul(h, w))" in str(caught.value)
        assert sess.run(h, {x: np.zeros((1, 4))}).tolist() == [[0.0] * 4]


def test_two_graphs_and_two_sessions_take_turns(graph):
    a, other = tf.Variable(1.0, name="v"), tf.Graph()
    with other.as_default():
        b = tf.Variable(10.0, name="v")
        more = b.assign_add(1.0)
    with tf.Session() as first, tf.Session(graph=other) as second:
        first.run(a.initializer)
        second.run(b.initializer)
        assert [float(second.run(more)) for _ in range(3)] == [11.0, 12.0, 13.0]
        assert first.run(a) == 1.0
        with pytest.raises(ValueError, match="is not an element of this graph"):
            first.run(more)
