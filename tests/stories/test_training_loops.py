"""Training loops as people write them, and how their processes end."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import situs as tf
from tests.conftest import ROOT

GRAPH = """
import numpy as np, situs.compat.v1 as tf
data = tf.data.Dataset.from_tensor_slices(np.zeros((4000, 32, 32, 3), np.uint8)).repeat()
data = data.map(lambda x: tf.cast(x, tf.float32)).batch(64).prefetch(2)
batch = tf.data.make_one_shot_iterator(data).get_next()
with tf.Session() as sess:
    for _ in range(5):
        sess.run(batch)
"""
EAGER = """
import numpy as np, situs as tf
data = tf.data.Dataset.from_tensor_slices(np.zeros((4000, 32, 32, 3), np.uint8)).repeat()
data = data.map(lambda x: tf.cast(x, tf.float32), num_parallel_calls=2).batch(64).prefetch(2)
for number, batch in enumerate(data):
    if number == 5:
        break
"""


@pytest.mark.parametrize("program", [GRAPH, EAGER], ids=["graph", "eager"])
def test_a_program_ends_well_while_its_input_works_ahead(program):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_a_loop_over_a_dataset_with_a_tape_inside_a_function():
    """The loss is first bound inside the loop, inside the tape's block, and used after that."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 3)).astype(np.float32)
    y = x @ np.array([[1.0], [-2.0], [0.5]], np.float32)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
    w = tf.Variable(tf.zeros([3, 1]))
    optimizer = tf.keras.optimizers.SGD(0.1)
    mean = tf.keras.metrics.Mean()

    @tf.function
    def epoch():
        for features, labels in data:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(features, w) - labels))
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
            mean.update_state(loss)

    epoch()
    first = float(mean.result())
    mean.reset_state()
    for _ in range(30):
        epoch()
    assert float(mean.result()) < first / 10
    np.testing.assert_allclose(w.numpy()[:, 0], [1.0, -2.0, 0.5], atol=0.05)


def test_why_the_operations_of_a_function_run_where_they_do():
    @tf.function
    def spread(x):
        with tf.device("/gpu:1"):
            y = tf.matmul(x, x)
        return tf.reduce_sum(y)

    spread(tf.ones([2, 2]))
    found = {row["op"]: row["device"][-5:] for row in tf.explain(spread).to_dicts()}
    assert found == {"MatMul": "GPU:1", "Sum": "GPU:0"}
    assert len(tf.explain(spread.get_concrete_function(tf.ones([2, 2])))) == 2
