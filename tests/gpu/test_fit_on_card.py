"""Keras' fit on a real NVIDIA card: batches of the host reach the launches, and the numbers are those of the CPU.

Skipped where there is no card. Each program runs in a process of its own.
"""

from __future__ import annotations

import pytest

from situs._src.base.devices.physical import find_cards

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not find_cards(), reason="needs an NVIDIA card and a PyTorch with CUDA"),
]

FIT = """
import gc
import numpy as np
import situs as tf
from situs._src.runtime.run.cuda_graph import CapturedProgram
keras = tf.keras
tf.config.experimental.enable_tensor_float_32_execution(False)
rng = np.random.default_rng(0)
x, y = rng.normal(size=(64 * 40, 300)).astype('float32'), rng.integers(0, 10, 64 * 40)
def losses_of(device, data, layer=lambda: keras.layers.Dense(32, activation='relu'), shape=(300,)):
    keras.utils.set_random_seed(3)
    with tf.device(device):
        model = keras.Sequential([keras.Input(shape), layer(), keras.layers.Dense(10)])
        numbers = np.random.default_rng(1)
        for weight in model.trainable_weights:
            weight.assign(numbers.normal(size=weight.shape) * 0.1)
        model.compile('adam', keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=['accuracy'])
        found = model.fit(**data(), epochs=3, verbose=0, shuffle=False).history
    return np.array([found['loss'], found['accuracy']])
def captures():
    return [each.captured for each in gc.get_objects() if type(each) is CapturedProgram and each.captured is not None]
def arrays(): return dict(x=x, y=y, batch_size=64)
def batches(): return dict(x=tf.data.Dataset.from_tensor_slices((x, y)).batch(64))
def prefetched(): return dict(x=tf.data.Dataset.from_tensor_slices((x, y)).batch(64).prefetch(4))
"""


@pytest.mark.parametrize("data", ["arrays", "batches", "prefetched"])
def test_what_fit_is_fed_goes_through_pinned_memory_and_the_losses_are_those_of_the_cpu(run_python, data):
    out = run_python(
        FIT + f"ours, theirs = losses_of('/gpu:0', {data}), losses_of('/cpu:0', {data})\n"
        "np.testing.assert_allclose(ours, theirs, rtol=2e-3)\n"
        "(captured,) = captures()\n"
        "assert captured.replays > 90 and captured._staging is not None and not captured._direct, vars(captured)\n"
        "assert len(captured._staging._halves[0].crossings) == 2  # the rows, and the labels\n"
        "print('same')"
    )
    assert "same" in out.splitlines()


def test_the_host_waits_for_a_half_that_the_card_has_not_read(run_python):
    """Batches that the host overwrites as soon as it has handed them over arrive as they were."""
    out = run_python(
        FIT + "with tf.device('/gpu:0'):\n"
        "    w = tf.Variable(tf.ones([2048, 2048]) * 1e-4)\n"
        "@tf.function\n"
        "def step(rows):\n"
        "    with tf.device('/gpu:0'):\n"
        "        made = tf.tanh(rows)\n"
        "        for _ in range(20):\n"
        "            made = tf.tanh(tf.matmul(made, w))\n"
        "        return rows[0, 0] + 0.0 * tf.reduce_sum(made)\n"
        "found = [step(tf.constant(np.full([256, 2048], n, 'float32'))) for n in range(200)]\n"
        "print([float(each) for each in found] == [float(n) for n in range(200)])"
    )
    assert "True" in out.splitlines()


@pytest.mark.parametrize("kind", ["GRU", "LSTM"])
def test_recurrent_layers_train_on_a_card_as_on_the_cpu(run_python, kind):
    out = run_python(
        FIT + f"data = lambda: dict(x=x.reshape(-1, 10, 30), y=y, batch_size=64)\n"
        f"layer = lambda: keras.layers.{kind}(16)\n"
        "ours, theirs = (losses_of(where, data, layer, (10, 30)) for where in ('/gpu:0', '/cpu:0'))\n"
        "np.testing.assert_allclose(ours, theirs, rtol=5e-3)\n"
        "print('same')"
    )
    assert "same" in out.splitlines()
