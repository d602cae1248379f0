"""``tf.config.reset`` on a real NVIDIA card: memory goes back, another policy takes hold. Skipped without a card."""

from __future__ import annotations

import pytest

from situs._src.base.devices.physical import find_cards

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not find_cards(), reason="needs an NVIDIA card and a PyTorch with CUDA"),
]


def test_memory_is_given_back_and_another_limit_holds(run_forked):
    """By what this process has taken: how much a policy finds to take depends on who else uses the card."""
    program = """
import situs as tf
import torch

MIB = 2**20
gpu = tf.config.list_physical_devices("GPU")[0]
tf.config.set_visible_devices(gpu, "GPU")
tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=2048)])
kept = [tf.ones([8 * MIB]) for _ in range(8)]  # 256 MiB
product = tf.ones([1024, 1024]) @ tf.ones([1024, 1024])
print(float(product[0, 0]), torch.cuda.memory_reserved() >= 256 * MIB)
del kept, product
tf.config.reset()
print(torch.cuda.memory_reserved() < 128 * MIB)  # the work space of the matrix library stays
tf.config.set_visible_devices(gpu, "GPU")
tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=512)] * 2)
print([device.name for device in tf.config.list_logical_devices("GPU")])
with tf.device("/gpu:1"):
    print(float(tf.reduce_sum(tf.ones([1024, 1024]))))
    try:
        tf.zeros([600 * MIB // 4])
    except tf.errors.ResourceExhaustedError:
        print("bounded")
"""
    expected = ["1024.0 True", "True", "['/device:GPU:0', '/device:GPU:1']", "1048576.0", "bounded"]
    assert run_forked(program).splitlines() == expected


def test_a_function_that_was_captured_lets_go_of_the_card(run_forked):
    program = """
import situs as tf

def work():
    @tf.function
    def step(x):
        return tf.nn.relu(tf.matmul(x, x))

    x = tf.ones([256, 256]) * 1e-3
    for _ in range(40):
        x = step(x)
    return float(tf.reduce_sum(x))

first = work()
tf.config.reset()
tf.config.gpu.set_per_process_memory_growth(True)
print(first == work(), tf.memory.snapshot()["GPU:0"].policy)
"""
    assert run_forked(program) == "True growth\n"
