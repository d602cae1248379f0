"""On a real NVIDIA card: discovery, placement, copies, memory. Skipped where there is none.

Each program runs in a process of its own, because devices and memory are settled once per process.
"""

from __future__ import annotations

import pytest

from situs._src.base.devices.physical import find_cards

LOCAL = "/job:localhost/replica:0/task:0"
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not find_cards(), reason="needs an NVIDIA card and a PyTorch with CUDA"),
]

MEMORY = """
import os, pynvml
pynvml.nvmlInit()
card = pynvml.nvmlDeviceGetHandleByIndex(0)
def used(): return pynvml.nvmlDeviceGetMemoryInfo(card).used / 2**20
def total(): return pynvml.nvmlDeviceGetMemoryInfo(card).total / 2**20
before = used()
import situs as tf
"""


def test_listing_devices_maps_no_memory(run_forked):
    out = run_forked(
        MEMORY + "from situs.python.client import device_lib\n"
        "tf.config.list_physical_devices(); tf.config.list_logical_devices(); print(device_lib.list_local_devices())\n"
        "print(tf.test.is_gpu_available(), tf.test.gpu_device_name()); print('grew', used() - before)"
    )
    assert 'physical_device_desc: "device: 0, name: NVIDIA' in out
    assert "True /device:GPU:0" in out
    assert float(out.split("grew")[1]) < 1


def test_code_without_a_device_runs_on_the_card(run_forked):
    out = run_forked(
        "import situs as tf\ntf.debugging.set_log_device_placement(True)\n"
        "a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')\n"
        "b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')\n"
        "c = tf.matmul(a, b)\nprint(c)\nimport torch\nprint(torch.from_dlpack(c).device)"
    )
    assert out == (
        f"Executing op MatMul in device {LOCAL}/device:GPU:0\n"
        "tf.Tensor(\n[[22. 28.]\n [49. 64.]], shape=(2, 2), dtype=float32)\ncuda:0\n"
    )


def test_a_card_that_is_not_there_is_the_seeds_error(run_forked):
    out = run_forked("import situs as tf\nwith tf.device('/device:GPU:99'): tf.constant([1.0])", fails=True)
    assert f"Error copying tensor to device: {LOCAL}/device:GPU:99. {LOCAL}/device:GPU:99 unknown device." in out


def test_towers_on_one_card_split_in_four(run_forked):
    out = run_forked(
        "import situs as tf\ngpu = tf.config.list_physical_devices('GPU')[0]\n"
        "quarter = tf.config.LogicalDeviceConfiguration(memory_limit=512)\n"
        "tf.config.set_logical_device_configuration(gpu, [quarter] * 4)\n"
        "c = []\n"
        "for d in ['/device:GPU:2', '/device:GPU:3']:\n"
        "  with tf.device(d):\n"
        "    a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3])\n"
        "    b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2])\n"
        "    c.append(tf.matmul(a, b))\n"
        "with tf.device('/cpu:0'): sum = tf.add_n(c)\n"
        "print(c[1].device, sum.device); print(sum)\n"
        "try: tf.zeros([2**30])\n"
        "except tf.errors.ResourceExhaustedError: print('over the limit')"
    )
    assert f"{LOCAL}/device:GPU:3 {LOCAL}/device:CPU:0\n" in out
    assert "[ 98. 128.]], shape=(2, 2), dtype=float32)" in out
    assert "over the limit" in out


def test_integers_are_really_on_the_card_and_shapes_on_the_host(run_forked):
    out = run_forked(
        "import situs as tf\na = tf.constant([[1, 2]]) + 1\nprint(a._value.device, a.device)\n"
        "s = tf.shape(a)\nprint(s._value.device, s.device)\nprint(tf.matmul(a, [[1], [1]]).device)"
    )
    assert out.splitlines() == [
        f"cuda:0 {LOCAL}/device:GPU:0",
        f"cpu {LOCAL}/device:CPU:0",
        f"{LOCAL}/device:CPU:0",
    ]


def test_memory_is_shared_with_pytorch(run_forked):
    out = run_forked(
        "import torch, situs as tf\nt = torch.arange(4., device='cuda')\nours = tf.experimental.dlpack.from_dlpack(t)\n"
        "print(ours.device, torch.from_dlpack(ours).data_ptr() == t.data_ptr(), (ours + 1.0).numpy())"
    )
    assert out == f"{LOCAL}/device:GPU:0 True [1. 2. 3. 4.]\n"


@pytest.mark.parametrize(
    ("setting", "low", "high"),
    [
        ("pass", 0.90, 1.0),
        ("tf.config.gpu.set_per_process_memory_fraction(0.4)", 0.39, 0.42),
        ("tf.config.gpu.set_per_process_memory_growth()", 0.0, 0.02),
    ],
)
def test_memory_policies_take_what_they_say(run_forked, setting, low, high):
    out = run_forked(MEMORY + f"{setting}\ntf.add(1.0, 2.0)\nprint((used() - before) / total(), before / total())")
    share, before = map(float, out.split())
    assert low * (1 - before) <= share <= high


def test_running_out_is_an_error_and_the_program_goes_on(run_forked):
    out = run_forked(
        "import situs as tf\ntf.config.gpu.set_per_process_memory_fraction(0.1)\n"
        "for _ in range(3):\n"
        "  try: tf.zeros([2**35])\n"
        "  except tf.errors.ResourceExhaustedError as error: print(str(error)[:8])\n"
        "print(tf.add(1.0, 2.0).numpy())"
    )
    assert out == "OOM when\n" * 3 + "3.0\n"


def test_cpu_and_card_agree(run_forked):
    out = run_forked(
        "import numpy as np, situs as tf\nx = np.random.default_rng(0).normal(size=(64, 32)).astype('float32')\n"
        "def f():\n"
        "  h = tf.nn.relu(tf.matmul(x, x, transpose_b=True))\n"
        "  return tf.reduce_mean(tf.nn.softmax(h) * tf.exp(-h), axis=1).numpy()\n"
        "gpu = f()\n"
        "with tf.device('/cpu:0'): cpu = f()\n"
        "print(np.abs(gpu - cpu).max() < 1e-4)"
    )
    assert out == "True\n"
