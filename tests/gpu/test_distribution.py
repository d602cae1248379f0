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


SPLIT = """
card = tf.config.list_physical_devices("GPU")[0]
parts = [tf.config.LogicalDeviceConfiguration(memory_limit=LIMIT) for _ in range(2)]
tf.config.set_logical_device_configuration(card, parts)
"""

# A step of two layers and Adam, by a strategy, and what has been recorded of it.
STEPS = """
import torch
from situs._src.runtime.run.cuda_graph import CAPTURED_AFTER


def stepping(strategy, width=64, rows=32):
    with strategy.scope():
        tf.keras.utils.set_random_seed(0)
        layers = [tf.keras.layers.Dense(width, "relu"), tf.keras.layers.Dense(width, "relu"), tf.keras.layers.Dense(1)]
        model = tf.keras.Sequential([tf.keras.Input((8,)), *layers])
        optimizer = tf.keras.optimizers.Adam(0.001)
        optimizer.build(model.trainable_variables)

    def replica_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(model(x, training=True) - y)) / rows
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    step = tf.function(lambda x, y: strategy.reduce("SUM", strategy.run(replica_step, (x, y)), axis=None))
    x = np.random.default_rng(0).normal(size=(rows, 8)).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).batch(rows)
    (batch,) = list(strategy.experimental_distribute_dataset(data))
    return step, batch, model


def captures(step):
    made = [each for traced in step._graphs for each in traced._programs.values()]
    return [each._program._capturing.captured for each in made if each._program._capturing is not None]
"""


def test_a_mirrored_step_over_two_logical_devices_is_recorded(run_python: RunPython) -> None:
    """Its losses and weights are those of one device, before it is recorded and for 20 steps after."""
    program = (
        TRAINING
        + SPLIT.replace("LIMIT", "2048")
        + STEPS
        + """
RUNS = CAPTURED_AFTER + 20
mirrored = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])
step, batch, model = stepping(mirrored)
found = [float(step(*batch)) for _ in range(RUNS)]
(captured,) = captures(step)
assert captured is not None and captured.replays == 20, captured
assert [device.short_name for device in captured._parts.devices] == ["GPU:0", "GPU:1"]
other, one_batch, one_model = stepping(tf.distribute.OneDeviceStrategy("/gpu:0"))
expected = [float(other(*one_batch)) for _ in range(RUNS)]
np.testing.assert_allclose(found, expected, rtol=1e-5)
for mine, theirs in zip(model.trainable_variables, one_model.trainable_variables, strict=True):
    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-5)
np.testing.assert_allclose([float(step(*batch))], [float(other(*one_batch))], rtol=1e-5)
print("done")
"""
    )
    assert run_python(program).strip().endswith("done")


def test_a_copy_that_has_to_be_made_is_recorded(run_python: RunPython) -> None:
    """The value of a variable goes to the other device, and the variable changes before it is used there."""
    program = (
        TRAINING
        + SPLIT.replace("LIMIT", "2048")
        + """
with tf.device("/gpu:0"):
    v = tf.Variable(tf.zeros([2**20]))


@tf.function
def step(x):
    with tf.device("/gpu:0"):
        old = v.read_value()
    with tf.device("/gpu:1"):
        seen = tf.identity(old)
    with tf.device("/gpu:0"):
        y = x
        for _ in range(8):
            y = y * 1.0
        v.assign_add(y)
    with tf.device("/gpu:1"):
        for _ in range(8):
            seen = seen + 1.0
        return tf.reduce_min(seen), tf.reduce_max(seen)


with tf.device("/gpu:0"):
    x = tf.ones([2**20])
for number in range(40):
    least, most = step(x)
    assert float(least) == float(most) == number + 8.0, (number, float(least), float(most))
made = [each for traced in step._graphs for each in traced._programs.values()]
(captured,) = [each._program._capturing.captured for each in made]
assert captured.replays == 20 and len(captured._parts.devices) == 2
print("done")
"""
    )
    assert run_python(program).strip().endswith("done")


def test_kernels_of_two_replicas_run_side_by_side(run_python: RunPython) -> None:
    program = (
        TRAINING
        + SPLIT.replace("LIMIT", "8192")
        + STEPS
        + """
step, batch, _ = stepping(tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"]), width=2048, rows=256)
for _ in range(CAPTURED_AFTER + 5):
    step(*batch)
assert captures(step)[0].replays == 5
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiled:
    step(*batch)
    torch.cuda.synchronize()
times = [event.time_range for event in profiled.events() if event.device_type.name == "CUDA"]
beside = sum(any(other.start < each.start < other.end for other in times) for each in times)
assert beside > 0, len(times)
print("done")
"""
    )
    assert "done" in run_python(program).splitlines()  # the profiler may have a warning to say after it


def test_limits_of_logical_devices_hold_when_steps_are_recorded(run_python: RunPython) -> None:
    """What a recorded step keeps is counted for each device, what does not fit is refused, and a capture makes room."""
    program = (
        TRAINING
        + SPLIT.replace("LIMIT", "512")
        + STEPS
        + """
step, batch, _ = stepping(tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"]), width=2048, rows=256)
usage = lambda: [tf.config.experimental.get_memory_info(f"GPU:{n}")["current"] for n in range(2)]
for _ in range(CAPTURED_AFTER):
    step(*batch)
before = usage()
for _ in range(5):
    first = float(step(*batch))
(captured,) = captures(step)
assert captured.replays == 5 and captured.memory.is_held
kept = [b - a for a, b in zip(before, usage())]
assert all(each > 2**20 for each in kept), kept
del captured
for name in ("/gpu:0", "/gpu:1"):
    with tf.device(name):
        try:
            too_much = tf.zeros([600 * 2**18])
            raise SystemExit("600 MiB fitted into 512")
        except tf.errors.ResourceExhaustedError as error:
            assert f"GPU:{name[-1]}" in str(error), error
# As much as is left when the capture is given back, and not while it is there.
with tf.device("/gpu:1"):
    large = tf.zeros([(512 * 2**20 - before[1] - 2**19) // 4])
assert captures(step) == [None]
del large
assert np.isfinite(float(step(*batch)))
print("done")
"""
    )
    assert run_python(program).strip().endswith("done")


def test_nccl_of_one_process(run_python: RunPython) -> None:
    """A cluster of one that asks for NCCL: sums, a step and a gather go through it."""
    program = (
        TRAINING
        + """
import json
import os
import socket

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
os.environ["TF_CONFIG"] = json.dumps(
    {"cluster": {"worker": [f"127.0.0.1:{port}"]}, "task": {"type": "worker", "index": 0}}
)
kinds = tf.distribute.experimental.CommunicationImplementation
options = tf.distribute.experimental.CommunicationOptions(implementation=kinds.NCCL)
strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
assert strategy.num_replicas_in_sync == 1
assert strategy.extended.worker_devices[0].endswith("GPU:0")


def summed():
    given = [tf.range(5, dtype=tf.float32), tf.ones([3], tf.int32), tf.ones([2**20], tf.float16)]
    return tf.distribute.get_replica_context().all_reduce("SUM", given)


from situs._src.distribute import workers

for call in (lambda: strategy.run(summed), tf.function(lambda: strategy.run(summed))):
    floats, integers, halves = call()
    assert floats.numpy().tolist() == [0.0, 1.0, 2.0, 3.0, 4.0] and floats.device.endswith("GPU:0")
    assert integers.numpy().tolist() == [1, 1, 1]
    assert halves.numpy().min() == halves.numpy().max() == 1.0
assert "NCCL" in type(workers.joined()._nccl).__name__
gathered = strategy.gather(tf.reshape(tf.range(6.0), [2, 3]), axis=0)
assert gathered.numpy().tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
np.testing.assert_allclose(losses(strategy), losses(tf.distribute.OneDeviceStrategy("/gpu:0")), rtol=1e-5)
print("done")
"""
    )
    assert run_python(program).strip().endswith("done")
