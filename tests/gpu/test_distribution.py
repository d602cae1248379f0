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
