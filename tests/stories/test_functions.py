"""Programs as people write them for TensorFlow 2: Python functions that run as graphs."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf


def test_training_a_line_step_by_step():
    """Variables outside, one function for the step, data as tensors."""
    w, b = tf.Variable([0.0, 0.0, 0.0], name="w"), tf.Variable(0.0, name="b")
    made = []

    @tf.function
    def step(x, y, rate):
        made.append(1)
        wrong = tf.linalg.matvec(x, w) + b - y
        w.assign_sub(rate * 2.0 * tf.reduce_mean(wrong[:, None] * x, axis=0))
        b.assign_sub(rate * 2.0 * tf.reduce_mean(wrong))
        return tf.reduce_mean(tf.square(wrong))

    rng = np.random.default_rng(0)
    truth = np.array([1.0, -2.0, 0.5], np.float32)
    for _ in range(150):
        x = rng.standard_normal((32, 3)).astype(np.float32)
        loss = step(x, x @ truth + 3.0, tf.constant(0.2))
    assert float(loss) < 1e-4
    np.testing.assert_allclose(w.numpy(), truth, atol=1e-2)
    assert len(made) == 1


def test_a_layer_that_makes_its_variables_when_it_sees_data():
    class Dense:
        def __init__(self, units):
            self.units = units
            self.w = self.b = None

        @tf.function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(np.full([x.shape[-1], self.units], 0.5, np.float32))
                self.b = tf.Variable([0.0] * self.units)
            return tf.nn.relu(tf.matmul(x, self.w) + self.b)

    class Model:
        def __init__(self):
            self.first, self.second = Dense(4), Dense(2)

        @tf.function
        def __call__(self, x):
            return self.second(self.first(x))

    model = Model()
    found = model(tf.ones([3, 2]))
    assert found.numpy().tolist() == [[2.0, 2.0]] * 3
    model.second.b.assign([1.0, -10.0])
    assert model(tf.ones([1, 2])).numpy().tolist() == [[3.0, 0.0]]
    assert model.first.w.shape == [2, 4]


def test_collatz_with_autograph():
    @tf.function
    def steps(n):
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count

    def by_python(n):
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count

    assert [int(steps(tf.constant(n))) for n in range(1, 30)] == [by_python(n) for n in range(1, 30)]
    assert steps.experimental_get_tracing_count() == 1


def test_a_power_method_until_it_stands_still():
    @tf.function
    def largest(a, tolerance):
        v = tf.ones([a.shape[0], 1])
        value, before, turns = 0.0, -1.0, 0
        while tf.abs(value - before) > tolerance and turns < 1000:
            w = tf.matmul(a, v)
            before = value
            value = tf.norm(w)
            v = w / value
            turns += 1
        return value, turns

    a = np.random.default_rng(1).standard_normal((5, 5)).astype(np.float32)
    a = a @ a.T
    found, turns = largest(tf.constant(a), tf.constant(1e-4))
    assert float(found) == pytest.approx(np.linalg.eigvalsh(a)[-1], rel=1e-3)
    assert 1 < int(turns) < 1000


def test_towers_on_four_devices():
    """The seed's program for several GPUs, as a function: each tower is pinned, the sum follows the caller."""

    @tf.function
    def towers(a, b):
        parts = []
        for device in ("/gpu:0", "/gpu:1", "/gpu:2", "/gpu:3"):
            with tf.device(device):
                parts.append(tf.matmul(a, b))
        return tf.add_n(parts), parts

    a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3])
    with tf.device("/cpu:0"):
        total, parts = towers(a, tf.reshape(a, [3, 2]))
    assert total.numpy().tolist() == [[88.0, 112.0], [196.0, 256.0]]
    assert total.device.endswith("CPU:0")
    assert [part.device[-5:] for part in parts] == ["GPU:0", "GPU:1", "GPU:2", "GPU:3"]


def test_a_random_walk_that_can_be_repeated():
    @tf.function
    def walk(steps):
        x = tf.zeros([2])
        for _ in tf.range(steps):
            x += tf.random.normal([2])
        return x

    first, second = walk(tf.constant(10)).numpy(), walk(tf.constant(10)).numpy()
    assert not np.array_equal(first, second)

    def seeded():
        tf.random.set_seed(3)
        again = tf.function(lambda: tf.random.normal([2]))
        return np.stack([again().numpy(), again().numpy()])

    np.testing.assert_array_equal(seeded(), seeded())


def test_batches_of_many_lengths_with_one_graph():
    made = []

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32), tf.TensorSpec([None], tf.int32)])
    def mean_of_valid(x, lengths):
        made.append(1)
        mask = tf.cast(tf.range(tf.shape(x)[1])[None, :] < lengths[:, None], tf.float32)
        return tf.reduce_sum(x * mask, axis=1) / tf.cast(lengths, tf.float32)

    rng = np.random.default_rng(2)
    for rows, columns in ((1, 3), (4, 2), (2, 7)):
        x = rng.standard_normal((rows, columns)).astype(np.float32)
        lengths = rng.integers(1, columns + 1, rows).astype(np.int32)
        expected = [row[:n].mean() for row, n in zip(x, lengths, strict=True)]
        np.testing.assert_allclose(mean_of_valid(x, lengths).numpy(), expected, rtol=1e-5)
    assert made == [1]


def test_breaks_and_early_returns():
    @tf.function
    def first_above(xs, limit):
        if tf.reduce_max(xs) <= limit:
            return -1.0
        found = 0.0
        for x in xs:
            if x > limit:
                found = x
                break
        return found

    @tf.function
    def sum_until_negative(xs):
        total = 0.0
        for x in xs:
            if x < 0.0:
                break
            total += x
        return total

    xs = tf.constant([1.0, 3.0, 5.0, -2.0, 7.0])
    assert [float(first_above(xs, tf.constant(limit))) for limit in (2.0, 4.0, 100.0)] == [3.0, 5.0, -1.0]
    assert float(sum_until_negative(xs)) == 9.0
