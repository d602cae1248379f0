"""``tf.config.reset``: devices given up and configured anew, in processes of their own."""

from __future__ import annotations

HEAD = """
import situs as tf

def attempt():
    try:
        tf.config.reset()
    except tf.errors.FailedPreconditionError as error:
        print(*(line.strip() for line in str(error).splitlines()[1:-1] if "by line" not in line), sep="; ")
    else:
        print("done")

tf.config.set_virtual_gpus(2, "64MiB")
"""


def test_a_cell_that_configures_can_be_run_again_and_another_wish_takes_hold_after_a_reset(run_python):
    program = """
def step(device):
    with tf.device(device):
        return (tf.ones([2]) * 2.0).device[-5:]

with tf.device("/cpu:0"):
    stays = tf.constant([1.0, 2.0])
print(step("/gpu:1"), step("/gpu:1"))
tf.config.set_virtual_gpus(2, "64MiB")
try:
    tf.config.set_virtual_gpus(4)
except tf.errors.AlreadyInitializedError as error:
    print("tf.config.reset()" in str(error))
tf.config.reset()
tf.config.set_virtual_gpus(4)
print(step("/gpu:3"), len(tf.config.list_logical_devices("GPU")))
tf.config.reset()
tf.config.set_virtual_gpus(1)
try:
    step("/gpu:1")
except tf.errors.UnknownDeviceError:
    print("gone")
print((stays + stays).numpy().tolist(), (stays + stays).device[-5:], stays.device[-5:])
"""
    assert run_python(HEAD + program) == "GPU:1 GPU:1\nTrue\nGPU:3 4\ngone\n[2.0, 4.0] GPU:0 CPU:0\n"


def test_it_is_refused_while_something_is_alive_and_says_what(run_python):
    program = """
x = tf.matmul([[1.0]], [[2.0]])
attempt()
x = [tf.ones([2]) + 1.0 for _ in range(3)]
attempt()
x = tf.Variable([1.0], name="w")
attempt()
x = None
session = tf.compat.v1.Session(graph=tf.Graph())
attempt()
session.close()
attempt()
function = tf.function(lambda: tf.constant(2.0) * 3.0)
attempt()
function()
attempt()
del function
attempt()
"""
    assert run_python(HEAD + program).splitlines() == [
        "1 tensor: MatMul on GPU:0",
        "3 tensors: 3 x AddV2 on GPU:0",
        "1 variable: w on GPU:0",
        "1 session: Session of 0 operations",
        "done",
        "done",  # it has not run yet
        "1 function: lambda",
        "done",
    ]


def test_the_lines_that_made_tensors_are_named(run_python):
    program = (
        HEAD + "x = tf.ones([64, 64]) + 1.0\ntry:\n  tf.config.reset()\nexcept RuntimeError as error:\n  print(error)\n"
    )
    line = program.splitlines().index("x = tf.ones([64, 64]) + 1.0") + 1
    assert f"on GPU:0 by line: program.py:{line} (1)" in run_python(program)


def test_all_that_was_said_about_devices_is_forgotten_and_the_rest_stays(run_python):
    program = """
import torch

before = torch.get_num_threads()
first, second = tf.config.list_physical_devices("GPU")
tf.config.set_visible_devices(first, "GPU")
tf.config.experimental.set_memory_growth(first, True)
tf.config.threading.set_intra_op_parallelism_threads(before + 1)
tf.config.set_soft_device_placement(True)
tf.config.set_placer("dynamic")
(tf.ones([2]) + 1.0).numpy()
print(tf.memory.snapshot()["GPU:0"].policy, torch.get_num_threads() - before)
tf.config.reset()
tf.config.set_virtual_gpus(2)
print(len(tf.config.get_visible_devices("GPU")), tf.config.threading.get_intra_op_parallelism_threads())
(tf.ones([2]) + 1.0).numpy()
print(tf.memory.snapshot()["GPU:0"].policy, torch.get_num_threads() - before)
print(tf.config.get_soft_device_placement(), tf.config.get_placer())
"""
    assert run_python(HEAD + program) == "growth 1\n2 0\nmap all 0\nTrue dynamic\n"


def test_a_model_can_be_trained_before_and_after(run_python):
    program = """
import numpy as np

def train():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0)

train()
tf.config.reset()
tf.config.set_virtual_gpus(1)
train()
print(len(tf.config.list_logical_devices("GPU")))
"""
    assert run_python(HEAD + program) == "1\n"


def test_results_that_ipython_hides_do_not_count_and_those_it_shows_do(run_python):
    program = """
import sys
import types

class Shell:
    user_ns = {"_": tf.ones([2]) + 1.0}
    user_ns_hidden = dict(user_ns, __=tf.ones([3]) + 1.0)

sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: Shell)
attempt()  # both dictionaries have "_"
Shell.user_ns.clear()  # what "%reset -f out" does
attempt()
"""
    assert run_python(HEAD + program) == "1 tensor: AddV2 on GPU:0\ndone\n"
