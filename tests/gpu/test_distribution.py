"""Strategies on a real NVIDIA card: two logical devices of it, and two processes that share it. Skipped without one.

Each program runs in a process of its own, because devices and memory are settled once per process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from situs._src.base.devices.physical import find_cards
from tests.conftest import ROOT, RunPython

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not find_cards(), reason="needs an NVIDIA card and a PyTorch with CUDA"),
]

TRAINING = """
import numpy as np
import situs as tf

tf.config.experimental.enable_tensor_float_32_execution(False)


def losses(strategy):
    x = np.random.default_rng(0).normal(size=(256, 8)).astype("float32")
    y = x.sum(1, keepdims=True)
    with strategy.scope():
        tf.keras.utils.set_random_seed(0)
        layers = [tf.keras.layers.Dense(64, "relu"), tf.keras.layers.Dense(1)]
        model = tf.keras.Sequential([tf.keras.Input((8,)), *layers])
        model.compile(tf.keras.optimizers.SGD(0.05), "mse")
    return model.fit(x, y, batch_size=64, epochs=3, shuffle=False, verbose=0).history["loss"]
"""


def test_two_logical_devices_of_a_card(run_python: RunPython) -> None:
    program = (
        TRAINING
        + """
card = tf.config.list_physical_devices("GPU")[0]
parts = [tf.config.LogicalDeviceConfiguration(memory_limit=2048) for _ in range(2)]
tf.config.set_logical_device_configuration(card, parts)
one = losses(tf.distribute.OneDeviceStrategy("/gpu:0"))
two = losses(tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"]))
np.testing.assert_allclose(two, one, rtol=1e-5)
print("done")
"""
    )
    assert run_python(program).strip().endswith("done")


def test_two_processes_that_share_a_card(tmp_path: Path) -> None:
    """NCCL needs a card for each process, so the sums go through the host."""
    path = tmp_path / "program.py"
    path.write_text(
        TRAINING
        + """
import sys

strategy = tf.distribute.MultiWorkerMirroredStrategy()
assert strategy.extended.worker_devices[0].endswith("GPU:0")
found = losses(strategy)
sums = strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("SUM", tf.ones([3])))
assert sums.device.endswith("GPU:0") and sums.numpy().tolist() == [2.0] * 3
if strategy.extended.should_checkpoint:
    np.savetxt(sys.argv[1], found)
    np.savetxt(sys.argv[1] + ".one", losses(tf.distribute.OneDeviceStrategy("/gpu:0")))
"""
    )
    out = tmp_path / "losses"
    command = [sys.executable, "-m", "situs", "launch", "-n", "2", str(path), str(out)]
    env = {name: value for name, value in os.environ.items() if not name.startswith("SITUS_")}  # no virtual GPUs
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=500, check=False, env=env)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.loadtxt(out), np.loadtxt(f"{out}.one"), rtol=1e-5)


def test_nccl_on_one_card_is_refused_in_words(tmp_path: Path) -> None:
    """Also where the workers have found out before that they share a card, and went through the host."""
    path = tmp_path / "program.py"
    path.write_text(
        """
import situs as tf

kinds = tf.distribute.experimental.CommunicationImplementation
options = tf.distribute.experimental.CommunicationOptions
strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options(implementation=kinds.AUTO))


def reduced(kind):
    context = tf.distribute.get_replica_context()
    return context.all_reduce("SUM", tf.ones([3]), options(implementation=kind))


for kind in (kinds.NCCL, kinds.AUTO, kinds.NCCL, kinds.RING):
    try:
        print(kind.value, strategy.run(reduced, (kind,)).numpy().tolist(), flush=True)
    except tf.errors.UnimplementedError as error:
        print(kind.value, "share one of" in str(error) and "by gloo" in str(error), flush=True)
"""
    )
    command = [sys.executable, "-m", "situs", "launch", "-n", "2", str(path)]
    env = {name: value for name, value in os.environ.items() if not name.startswith("SITUS_")}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False, env=env)
    assert done.returncode == 0, done.stderr
    sums = "[2.0, 2.0, 2.0]"
    for line in ("NCCL True", f"AUTO {sums}", f"RING {sums}"):
        assert line in done.stdout


def test_replicas_of_a_card_are_traced_once_and_run_in_one_graph(run_python: RunPython) -> None:
    """Numbers, devices and the ways of what is reduced: on two logical devices as on one."""
    program = (
        TRAINING
        + """
card = tf.config.list_physical_devices("GPU")[0]
parts = [tf.config.LogicalDeviceConfiguration(memory_limit=2048) for _ in range(2)]
tf.config.set_logical_device_configuration(card, parts)
strategy = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])
with strategy.scope():
    v = tf.Variable(tf.ones([600, 600]))
    small = tf.Variable(tf.ones([600]))
    generator = tf.random.Generator.from_seed(1)
calls = []


def step(x):
    calls.append(1)
    with tf.GradientTape() as tape:
        y = tf.nn.dropout(x @ v, 0.5, seed=3) + small
        _, y = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, tf.tanh(y) * small), [0, y])
        loss = tf.reduce_mean(y)
    gradients = tape.gradient(loss, [v, small])
    for variable, gradient in zip([v, small], tf.distribute.get_replica_context().all_reduce("SUM", gradients)):
        variable.assign_sub(gradient)
    return loss


function = tf.function(lambda x: strategy.run(step, (x,)))
for _ in range(30):  # as long as it takes for a plan to settle
    found = function(tf.ones([8, 600]))
assert len(calls) == 1
assert [each.device[-5:] for each in found.values] == ["GPU:0", "GPU:1"]
for each in (v, small):
    np.testing.assert_array_equal(each.values[0], each.values[1])
drawn = tf.function(lambda: strategy.run(lambda: generator.normal([3])))()
assert drawn.values[0].numpy().tolist() != drawn.values[1].numpy().tolist()
print("done")
"""
    )
    assert run_python(program).strip().endswith("done")
