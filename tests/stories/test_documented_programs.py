"""The programs of the documents that Situs is built after, as they are written there.

Each runs in a process of its own, on virtual GPUs; what it prints is compared with what the documents
show, device names in canonical form.
"""

from __future__ import annotations

import textwrap

LOCAL = "/job:localhost/replica:0/task:0"
NO_GPU = {"CUDA_VISIBLE_DEVICES": "-1"}
PRODUCT = "tf.Tensor(\n[[22. 28.]\n [49. 64.]], shape=(2, 2), dtype=float32)\n"

MATMUL = """
import situs as tf
tf.debugging.set_log_device_placement(True)

# Creates some tensors
a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
c = tf.matmul(a, b)
print(c)
"""


def test_logging_placement_without_a_gpu(run_python):
    assert run_python(MATMUL, **NO_GPU) == f"Executing op MatMul in device {LOCAL}/device:CPU:0\n{PRODUCT}"


def test_logging_placement_with_gpus(run_python):
    out = run_python(MATMUL, SITUS_VIRTUAL_GPUS="2")
    assert out == f"Executing op MatMul in device {LOCAL}/device:GPU:0\n{PRODUCT}"


MANUAL = """
import situs as tf
tf.debugging.set_log_device_placement(True)

# Place tensors on the CPU
with tf.device('/cpu:0'):
  a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
  b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
c = tf.matmul(a, b)
print(c)
"""


def test_manual_placement_and_automatic_copies(run_python):
    assert run_python(MANUAL, **NO_GPU) == f"Executing op MatMul in device {LOCAL}/device:CPU:0\n{PRODUCT}"
    out = run_python(MANUAL + "print(a.device, c.device)", SITUS_VIRTUAL_GPUS="1")
    expected = (
        f"Executing op MatMul in device {LOCAL}/device:GPU:0\n{PRODUCT}{LOCAL}/device:CPU:0 {LOCAL}/device:GPU:0\n"
    )
    assert out == expected


ONE_GPU = """
import situs as tf
{soft}
tf.debugging.set_log_device_placement(True)

# Specify a device
with tf.device('/device:GPU:2'):
  a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
  b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
  c = tf.matmul(a, b)

print(c)
"""
SOFT = "tf.config.set_soft_device_placement(True)"


def test_a_single_gpu_on_a_multi_gpu_system(run_python):
    out = run_python(ONE_GPU.format(soft=""), SITUS_VIRTUAL_GPUS="4")
    assert out == f"Executing op MatMul in device {LOCAL}/device:GPU:2\n{PRODUCT}"


def test_a_device_that_does_not_exist_is_a_runtime_error(run_python):
    for gpus in ("0", "2"):
        out = run_python(ONE_GPU.format(soft=""), fails=True, SITUS_VIRTUAL_GPUS=gpus)
        name = f"{LOCAL}/device:GPU:2"
        assert f"Error copying tensor to device: {name}. {name} unknown device." in out


def test_soft_placement_chooses_an_existing_device(run_python):
    for gpus, device in {"0": "CPU:0", "2": "GPU:0"}.items():
        out = run_python(ONE_GPU.format(soft=SOFT), SITUS_VIRTUAL_GPUS=gpus)
        assert out == f"Executing op MatMul in device {LOCAL}/device:{device}\n{PRODUCT}"


TOWERS = """
import situs as tf
tf.debugging.set_log_device_placement(True)

# Replicate your computation on multiple GPUs
c = []
for d in ['/device:GPU:2', '/device:GPU:3']:
  with tf.device(d):
    a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3])
    b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2])
    c.append(tf.matmul(a, b))
with tf.device('/cpu:0'):
  sum = tf.add_n(c)

print(sum)
"""


def test_towers_on_several_gpus(run_python):
    assert run_python(TOWERS, SITUS_VIRTUAL_GPUS="4") == textwrap.dedent(f"""\
        Executing op MatMul in device {LOCAL}/device:GPU:2
        Executing op MatMul in device {LOCAL}/device:GPU:3
        Executing op AddN in device {LOCAL}/device:CPU:0
        tf.Tensor(
        [[ 44.  56.]
         [ 98. 128.]], shape=(2, 2), dtype=float32)
        """)


def test_memory_growth_and_fraction_as_first_statements(run_python):
    for statement in (
        "tf.config.gpu.set_per_process_memory_growth()",
        "tf.config.gpu.set_per_process_memory_fraction(0.4)",
        "tf.gpu.set_per_process_memory_fraction(0.4)",
        "[tf.config.experimental.set_memory_growth(g, True) for g in tf.config.list_physical_devices('GPU')]",
    ):
        out = run_python(f"import situs as tf\n{statement}\nprint(tf.add(1.0, 2.0).numpy())", SITUS_VIRTUAL_GPUS="2")
        assert out == "3.0\n"


def test_choosing_devices_through_the_environment(run_python):
    out = run_python(
        """
import os
os.environ["CUDA_DEVICE_ORDER"]="PCI_BUS_ID"
os.environ["CUDA_VISIBLE_DEVICES"]="0"
from situs.python.client import device_lib
print(device_lib.list_local_devices())
""",
        SITUS_VIRTUAL_GPUS="4",
    )
    assert out.count("device_type:") == 2
    assert 'name: "/device:CPU:0"\ndevice_type: "CPU"\nmemory_limit: 268435456\n' in out
    assert "device: 0, name: Situs virtual GPU, pci bus id: virtual:00.0, compute capability: 9.0" in out


GPU_IF_AVAILABLE = """
import situs as tf
if tf.test.is_gpu_available() == True: processor = '/gpu:0'
else : processor = '/cpu:0'
with tf.device(processor):
  print(tf.add(1.0, 2.0).device)
"""


def test_a_gpu_if_there_is_one_else_the_cpu(run_python):
    assert run_python(GPU_IF_AVAILABLE, **NO_GPU) == f"{LOCAL}/device:CPU:0\n"
    assert run_python(GPU_IF_AVAILABLE, SITUS_VIRTUAL_GPUS="1") == f"{LOCAL}/device:GPU:0\n"
