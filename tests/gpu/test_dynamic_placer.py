"""The dynamic placer on a real NVIDIA card. Skipped where there is none.

Each program runs in a process of its own, because devices and memory are settled once per process.
"""

from __future__ import annotations

import pytest

from situs._src.base.devices.physical import find_cards

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not find_cards(), reason="needs an NVIDIA card and a PyTorch with CUDA"),
]

SPLIT = """
import numpy as np
import situs as tf2
import situs.compat.v1 as tf

card = tf2.config.list_physical_devices("GPU")[0]
part = tf2.config.LogicalDeviceConfiguration(memory_limit=LIMIT)
tf2.config.set_logical_device_configuration(card, [part, part])
tf2.config.experimental.enable_tensor_float_32_execution(False)
BATCH = np.random.RandomState(0).randn(64, 1024).astype("f")


def losses(placer, device, layers, steps=30):
    tf2.config.set_placer(placer)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 1024], name="x")
        with tf.device(device):
            h = x
            for i in range(layers):
                start = np.random.RandomState(i).randn(1024, 1024).astype("f") * 0.03
                h = tf.nn.relu(tf.matmul(h, tf.Variable(start, name=f"w{i}")))
            loss = tf.reduce_mean(tf.square(h - 1.0))
            step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found = [session.run([loss, step], {x: BATCH})[0] for _ in range(steps)]
            homes = sorted({session.placement()[f"w{i}"].device.short_name for i in range(layers)})
            return found, homes, tf2.explain(session).plan
"""

TOO_LARGE = (
    SPLIT.replace("LIMIT", "160")  # all weights and gradients are 192 MB
    + """
try:
    losses("simple", "/gpu:0", 24)
except tf.errors.ResourceExhaustedError:
    print("simple: out of memory")
found, homes, plan = losses("dynamic", "/device:GPU:*", 24)
expected, _, _ = losses("simple", "/cpu:0", 24)
np.testing.assert_allclose(found, expected, rtol=1e-3)
print("dynamic:", *homes)
print(plan.rests_on)
"""
)

ALONE = (
    SPLIT.replace("LIMIT", "4096")
    + """
found, homes, plan = losses("dynamic", "", 6)
expected, _, _ = losses("simple", "/cpu:0", 6)
np.testing.assert_allclose(found, expected, rtol=1e-3)
print("homes:", *homes)
print("alone:", plan.single is not None)
with tf2.placement.profile(save=False) as measured:
    pass
print("links:", len(measured.store.links()), all(link.per_byte > 0 for link in measured.store.links().values()))
"""
)

MODULE = """
import torch
from torch import nn
import situs.torch


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.wide, self.narrow = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x):
        return x + self.narrow(torch.relu(self.wide(x)))


torch.manual_seed(0)
net = nn.Sequential(*(Block(256) for _ in range(8)))
x = torch.randn(4, 256)
expected = net(x)
block = sum(value.nbytes for value in net[0].parameters())
found = situs.torch.device_map(net, x, max_memory={0: 5 * block, "cpu": "1GiB"})
print("devices:", *sorted(map(str, set(found.values()))))
import accelerate

placed = accelerate.dispatch_model(net, device_map=dict(found))
print("equal:", torch.allclose(placed(x).cpu(), expected, atol=1e-4))
"""


def test_a_model_that_exceeds_one_logical_gpu_trains_over_two(run_python, tmp_path):
    printed = run_python(TOO_LARGE, SITUS_COSTS=str(tmp_path / "costs.json"))
    assert "simple: out of memory" in printed
    assert "dynamic: GPU:0 GPU:1" in printed


def test_one_card_is_not_taken_for_two(run_python, tmp_path):
    printed = run_python(ALONE, SITUS_COSTS=str(tmp_path / "costs.json"))
    homes = next(line for line in printed.splitlines() if line.startswith("homes:"))
    assert len(homes.split()) == 2  # one device: logical GPUs of a card do not compute side by side
    assert "alone: True" in printed
    assert "links: 7 True" in printed  # three devices, and what is fed


def test_accelerate_runs_a_module_by_the_map(run_python):
    pytest.importorskip("accelerate")
    printed = run_python(MODULE)
    assert "devices: 0 cpu" in printed
    assert "equal: True" in printed


RECORDED = (
    SPLIT.replace("LIMIT", "2048")
    + """
from situs._src.runtime.run import cuda_graph

recorded = []
record = cuda_graph.Captured.record


def noted(captured):
    record(captured)
    recorded.append([device.short_name for device in captured._parts.devices])


cuda_graph.Captured.record = noted


def trained(placer, devices, steps=60):
    tf2.config.set_placer(placer)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [64, 1024], name="x")
        h = x
        for i in range(6):
            with tf.device(devices[i % len(devices)]):
                start = np.random.RandomState(i).randn(1024, 1024).astype("f") * 0.03
                h = tf.nn.relu(tf.matmul(h, tf.Variable(start, name=f"w{i}")))
        with tf.device(devices[-1]):
            loss = tf.reduce_mean(tf.square(h - 1.0))
        step = tf.train.GradientDescentOptimizer(0.02).minimize(loss, colocate_gradients_with_ops=True)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return [session.run([loss, step], {x: BATCH})[0] for _ in range(steps)]


found = trained("dynamic", ["/gpu:0", "/gpu:1"])
print("recorded on:", *recorded[-1])
np.testing.assert_allclose(found, trained("simple", ["/cpu:0"]), rtol=1e-3)
np.testing.assert_allclose(found, trained("simple", ["/gpu:0"]), rtol=1e-4)
"""
)


def test_a_plan_over_two_logical_devices_is_recorded(run_python, tmp_path):
    """Layers of a model in turns on both: one CUDA graph, and the losses of one device."""
    printed = run_python(RECORDED, SITUS_COSTS=str(tmp_path / "costs.json"))
    assert "recorded on: GPU:0 GPU:1" in printed
