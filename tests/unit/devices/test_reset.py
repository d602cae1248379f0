"""``tf.config.reset``: devices given up and configured anew, in processes of their own."""

from __future__ import annotations

import pytest

REFUSED = """
try:
    tf.config.reset()
except tf.errors.FailedPreconditionError as error:
    print(str(error).splitlines()[1].strip())
else:
    print("done")
"""
HEAD = "import situs as tf\ntf.config.set_virtual_gpus(2, '64MiB')\n"


def test_a_cell_that_configures_can_be_run_again_and_another_wish_takes_hold_after_a_reset(run_python):
    program = (
        HEAD + "a = tf.ones([2]) + 1.0\n"
        "tf.config.set_virtual_gpus(2, '64MiB')\n"
        "try:\n  tf.config.set_virtual_gpus(4)\n"
        "except tf.errors.AlreadyInitializedError as error:\n  print('tf.config.reset()' in str(error))\n"
        "del a\n"
        "tf.config.reset()\n"
        "tf.config.set_virtual_gpus(4)\n"
        "with tf.device('/gpu:3'):\n  print((tf.ones([2]) + 1.0).device[-5:])\n"
        "print(len(tf.config.list_logical_devices('GPU')))\n"
    )
    assert run_python(program) == "True\nGPU:3\n4\n"


def test_fewer_devices_are_fewer_also_for_what_was_decided_before(run_python):
    program = (
        HEAD + "def step():\n  with tf.device('/gpu:1'):\n    return (tf.ones([2]) * 2.0).device[-5:]\n"
        "print(step(), step())\n"
        "tf.config.reset()\n"
        "tf.config.set_virtual_gpus(1)\n"
        "try:\n  step()\nexcept tf.errors.UnknownDeviceError:\n  print('gone')\n"
    )
    assert run_python(program) == "GPU:1 GPU:1\ngone\n"


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("x = tf.matmul([[1.0]], [[2.0]])", "1 tensor: MatMul on GPU:0"),
        ("x = [tf.ones([2]) + 1.0 for _ in range(3)]", "3 tensors: 3 x AddV2 on GPU:0"),
        ("x = tf.Variable([1.0], name='w')", "1 variable: w on GPU:0"),
        ("x = tf.compat.v1.Session(graph=tf.Graph())", "1 session: Session of 0 operations"),
        ("f = tf.function(lambda: tf.constant(2.0) * 3.0)\nf()", "1 function: lambda"),
    ],
    ids=["a tensor", "tensors", "a variable", "a session", "a function"],
)
def test_it_is_refused_while_something_is_alive_and_says_what(run_python, code, line):
    assert run_python(f"{HEAD}{code}\n{REFUSED}").startswith(line)


def test_the_lines_that_made_tensors_are_named(run_python):
    program = (
        HEAD + "x = tf.ones([64, 64]) + 1.0\ntry:\n  tf.config.reset()\nexcept RuntimeError as error:\n  print(error)\n"
    )
    assert "on GPU:0 by line: " in run_python(program)


@pytest.mark.parametrize(
    "code",
    [
        "with tf.device('/cpu:0'):\n  x = tf.ones([2])",  # CPU:0 stays
        "f = tf.function(lambda: tf.constant(2.0))",  # has not run
        "with tf.compat.v1.Session(graph=tf.Graph()) as x:\n  pass",  # is closed
        "(tf.ones([2]) + 1.0).numpy()",
    ],
)
def test_what_holds_no_device_is_no_hindrance(run_python, code):
    assert run_python(f"{HEAD}{code}\n{REFUSED}") == "done\n"


def test_tensors_of_the_first_cpu_live_on(run_python):
    program = (
        HEAD + "with tf.device('/cpu:0'):\n  x = tf.constant([1.0, 2.0])\n"
        "tf.config.reset()\n"
        "tf.config.set_virtual_gpus(3)\n"
        "print((x + x).numpy().tolist(), (x + x).device[-5:], x.device[-5:])\n"
    )
    assert run_python(program) == "[2.0, 4.0] GPU:0 CPU:0\n"


def test_memory_policies_visible_devices_and_threads_are_as_at_the_start(run_python):
    program = (
        "import torch\nbefore = torch.get_num_threads()\n"
        + HEAD
        + "first, second = tf.config.list_physical_devices('GPU')\n"
        "tf.config.set_visible_devices(first, 'GPU')\n"
        "tf.config.experimental.set_memory_growth(first, True)\n"
        "tf.config.threading.set_intra_op_parallelism_threads(before + 1)\n"
        "(tf.ones([2]) + 1.0).numpy()\n"
        "print(tf.memory.snapshot()['GPU:0'].policy, torch.get_num_threads() - before)\n"
        "tf.config.reset()\n"
        + HEAD.splitlines()[1]
        + "\nprint(len(tf.config.get_visible_devices('GPU')), tf.config.threading.get_intra_op_parallelism_threads())\n"
        "(tf.ones([2]) + 1.0).numpy()\n"
        "print(tf.memory.snapshot()['GPU:0'].policy, torch.get_num_threads() - before)\n"
    )
    assert run_python(program) == "growth 1\n2 0\nmap all 0\n"


def test_soft_placement_and_the_placer_stay(run_python):
    program = (
        HEAD + "tf.config.set_soft_device_placement(True)\ntf.config.set_placer('dynamic')\n"
        "tf.config.reset()\nprint(tf.config.get_soft_device_placement(), tf.config.get_placer())\n"
    )
    assert run_python(program) == "True dynamic\n"


def test_a_model_can_be_trained_before_and_after(run_python):
    program = (
        HEAD + "import gc, numpy as np\n"
        "def train():\n"
        "  model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        "  model.compile('sgd', 'mse')\n"
        "  model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0)\n"
        "train()\n"
        "tf.config.reset()\n"
        "tf.config.set_virtual_gpus(1)\n"
        "train()\n"
        "print(len(tf.config.list_logical_devices('GPU')))\n"
    )
    assert run_python(program) == "1\n"
