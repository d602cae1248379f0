"""Models of Keras on several devices: where variables and ops are, and that reports and errors name layers."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import numpy as np
import pytest

import situs as tf
from tests.conftest import RunPython

layers = tf.keras.layers


def model_of(name: str = "net") -> Any:
    tf.keras.utils.set_random_seed(0)
    parts = [layers.Dense(4, activation="relu", name="hidden"), layers.Dense(2, name="logits")]
    return tf.keras.Sequential([tf.keras.Input((3,)), *parts], name=name)


@pytest.mark.parametrize("device", ["CPU:0", "GPU:0", "GPU:1"])
def test_a_model_trains_where_its_scope_says(device: str) -> None:
    x, y = np.ones([8, 3], np.float32), np.zeros([8, 2], np.float32)
    with tf.device(device):
        model = model_of()
        model.compile(tf.keras.optimizers.Adam(0.1), "mse")
        losses = model.fit(x, y, epochs=20, batch_size=4, verbose=0).history["loss"]
    held = [*model.weights, *model.optimizer._momentums]
    assert {variable.value.device[-5:] for variable in held} == {device}
    assert losses[-1] < losses[0]


def test_layers_of_one_model_on_two_devices() -> None:
    with tf.device("GPU:0"):
        first = layers.Dense(4, name="hidden")
        first.build((None, 3))
    with tf.device("GPU:1"):
        second = layers.Dense(2, name="logits")
        second.build((None, 4))

    @tf.function
    def run(x: Any) -> Any:
        with tf.device("GPU:0"):
            h = first(x)
        with tf.device("GPU:1"):
            return second(h)

    y = run(tf.ones([1, 3]))
    assert y.device.endswith("GPU:1")
    wanted = (np.ones([1, 3]) @ first.kernel.numpy() + first.bias.numpy()) @ second.kernel.numpy()
    np.testing.assert_allclose(y.numpy(), wanted + second.bias.numpy(), rtol=1e-5)


def test_slots_of_optimizers_are_beside_their_variables() -> None:
    with tf.device("GPU:1"):
        variable = tf.Variable([1.0])
    optimizer = tf.keras.optimizers.Adam()
    with tf.device("CPU:0"):
        optimizer.build([variable])
    assert {slot[0].value.device for slot in (optimizer._momentums, optimizer._velocities)} == {variable.device}


def test_the_placement_log_of_a_function_names_layers(capfd: pytest.CaptureFixture[str]) -> None:
    model = model_of()
    tf.debugging.set_log_device_placement(True)
    try:
        tf.function(lambda x: model(x))(tf.ones([1, 3]))
    finally:
        tf.debugging.set_log_device_placement(False)
    assert re.search(r"net\w*/logits\w*/MatMul.*GPU:0", capfd.readouterr().out)


def test_a_snapshot_names_variables_and_lines_of_the_program() -> None:
    with tf.device("GPU:1"):
        model = model_of()
        model.build((None, 3))
    held = [holder for device in tf.memory.snapshot().devices for holder in device.holders]
    found = {holder.op: holder.line for holder in held if holder.op.startswith("Variable net/")}
    assert found.keys() >= {"Variable net/hidden/kernel", "Variable net/logits/kernel"}
    assert {line.partition(":")[0] for line in found.values()} == {"test_devices.py"}


def test_running_out_of_memory_names_layers(run_python: RunPython) -> None:
    program = """
        import numpy as np
        import situs as tf

        tf.config.set_virtual_gpus(1, memory="48MiB")
        parts = [tf.keras.layers.Conv2D(32, 3, activation="relu", name=name) for name in ("first", "second")]
        head = [tf.keras.layers.Flatten(), tf.keras.layers.Dense(10, name="logits")]
        model = tf.keras.Sequential([tf.keras.Input((64, 64, 3)), *parts, *head], name="net")
        model.compile("adam", "mse")
        try:
            model.fit(np.ones([32, 64, 64, 3], np.float32), np.ones([32, 10], np.float32), verbose=0)
        except tf.errors.ResourceExhaustedError as error:
            print(error)
    """
    said = run_python(textwrap.dedent(program))
    assert re.search(r"MiB  Conv2D net\w*/first\w*, 1 tensor  program.py:11", said)
    assert re.search(r"MiB  Variable net/logits/kernel, 1 tensor  program.py:\d+", said)
    assert "keras/src" not in said
