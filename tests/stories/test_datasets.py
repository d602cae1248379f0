"""Programs that read their input with datasets, in both dialects, as people write them."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs import data, errors
from situs._src.v1 import datasets as v1

TRUE_WEIGHTS = np.array([2.0, -3.0, 0.5], np.float32)


@pytest.fixture
def samples():
    random = np.random.default_rng(0)
    x = random.normal(size=(512, 3)).astype(np.float32)
    return x, x @ TRUE_WEIGHTS + 1.0


def test_an_eager_program_learns_from_shuffled_batches(samples):
    x, y = samples
    scale = tf.constant(2.0)
    ds = (
        data.Dataset.from_tensor_slices({"x": x / 2.0, "y": y})
        .cache()
        .shuffle(512, seed=1)
        .map(lambda row: (row["x"] * scale, row["y"]), num_parallel_calls=data.AUTOTUNE)
        .batch(32, drop_remainder=True)
        .prefetch(data.AUTOTUNE)
    )
    assert len(ds) == 16
    w, b = tf.Variable(tf.zeros([3])), tf.Variable(0.0)
    for _ in range(20):
        for features, target in ds:
            error = tf.linalg.matvec(features, w) + b - target
            w.assign_sub(0.05 * tf.linalg.matvec(features, error, transpose_a=True) / 16.0)
            b.assign_sub(0.05 * 2.0 * tf.reduce_mean(error))
    np.testing.assert_allclose(w.numpy(), TRUE_WEIGHTS, atol=1e-3)
    assert float(b) == pytest.approx(1.0, abs=1e-3)


def until_the_end(sess, fetch):
    """What a session gives until the input ends."""
    made = []
    try:
        while True:
            made.append(sess.run(fetch))
    except tf1.errors.OutOfRangeError:
        return made


def test_a_graph_program_trains_and_validates_by_turns(samples):
    x, y = samples
    with tf1.Graph().as_default():
        rows, targets = tf1.placeholder(tf1.float32, [None, 3]), tf1.placeholder(tf1.float32, [None])
        both = v1.DatasetV1.from_tensor_slices((rows, targets))
        training = both.skip(128).shuffle(384, seed=2).batch(32)
        validation = both.take(128).batch(64)
        iterator = v1.Iterator.from_structure(training.output_types, training.output_shapes)
        train, validate = iterator.make_initializer(training), iterator.make_initializer(validation)
        features, target = iterator.get_next()
        w = tf1.get_variable("w", [3, 1], initializer=tf1.zeros_initializer())
        error = tf1.reshape(tf1.matmul(features, w), [-1]) + 1.0 - target
        loss = tf1.reduce_mean(error * error)
        gradient = tf1.matmul(features, tf1.reshape(error, [-1, 1]), transpose_a=True) / 16.0
        step = tf1.assign_sub(w, 0.1 * gradient)
        losses = []
        with tf1.Session() as sess:
            sess.run(tf1.global_variables_initializer())
            for _ in range(5):
                sess.run(train, {rows: x, targets: y})
                assert len(until_the_end(sess, step)) == 12
                sess.run(validate, {rows: x, targets: y})
                seen = until_the_end(sess, loss)
                assert len(seen) == 2
                losses.append(np.mean(seen))
            np.testing.assert_allclose(sess.run(w).ravel(), TRUE_WEIGHTS, atol=0.01)
    assert losses[-1] < 0.01 * losses[0]


def test_text_files_become_padded_batches(tmp_path):
    (tmp_path / "a.txt").write_text("the cat\nthe dog sat\n")
    (tmp_path / "b.txt").write_text("a cat sat on the dog\n\n")
    words = {word: number for number, word in enumerate(["the", "a", "cat", "dog", "sat", "on"], start=1)}

    def encode(line):
        return np.array([words[word] for word in line.decode().split()], np.int64)

    def as_numbers(line):
        numbers = tf.numpy_function(encode, [line], tf.int64)
        numbers.set_shape([None])
        return numbers, tf.size(numbers)

    ds = (
        data.Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)
        .interleave(data.TextLineDataset, cycle_length=2, num_parallel_calls=2)
        .map(as_numbers, num_parallel_calls=2)
        .filter(lambda numbers, size: size > 0)
        .padded_batch(2, padded_shapes=([None], []))
    )
    batches = [(numbers.tolist(), sizes.tolist()) for numbers, sizes in ds.as_numpy_iterator()]
    assert batches == [([[1, 3, 0, 0, 0, 0], [2, 3, 5, 6, 1, 4]], [2, 6]), ([[1, 4, 5]], [3])]


def test_a_time_series_becomes_windows_and_labels():
    series = np.sin(np.arange(50, dtype=np.float32) / 5.0)
    ds = (
        data.Dataset.from_tensor_slices(series)
        .window(5, shift=1, drop_remainder=True)
        .flat_map(lambda window: window.batch(5))
        .map(lambda window: (window[:-1], window[-1]))
        .shuffle(100, seed=0)
        .batch(16)
    )
    seen = [(row, label) for rows, labels in ds.as_numpy_iterator() for row, label in zip(rows, labels, strict=True)]
    assert len(seen) == 46
    for row, label in seen:
        start = int(np.argmin(np.abs(series[:46] - row[0]) + np.abs(series[1:47] - row[1])))
        np.testing.assert_array_equal(row, series[start : start + 4])
        assert label == series[start + 4]


def test_each_gpu_gets_its_part_of_the_input_ahead_of_its_use():
    rows = np.arange(64, dtype=np.float32).reshape(32, 2)
    ds = data.Dataset.from_tensor_slices(rows)
    totals = []
    for gpu in range(2):
        part = ds.shard(2, gpu).batch(4).apply(data.experimental.prefetch_to_device(f"/gpu:{gpu}"))
        with tf.device(f"/gpu:{gpu}"):
            total = tf.zeros([2])
            for batch in part:
                assert batch.device.endswith(f"GPU:{gpu}")
                total = total + tf.reduce_sum(batch, axis=0)
        totals.append(total.numpy())
    np.testing.assert_array_equal(totals, [rows[0::2].sum(0), rows[1::2].sum(0)])


def test_a_generator_that_fails_stops_the_program_where_it_should():
    def readings():
        yield 1.0
        yield 2.0
        raise OSError("the sensor is gone")

    elements = iter(data.Dataset.from_generator(readings, output_signature=tf.TensorSpec([], tf.float32)).prefetch(2))
    assert [float(next(elements)), float(next(elements))] == [1.0, 2.0]
    with pytest.raises(errors.UnknownError, match=r"OSError: the sensor is gone(.|\n)*in readings"):
        next(elements)
