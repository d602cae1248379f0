"""Optimizers of Keras change all variables by one op; what Keras would do one by one is the truth."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import situs as tf
from situs._src.as_tensorflow import fused_updates

OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {},
    "SGD with momentum": {"momentum": 0.9},
    "SGD of Nesterov": {"momentum": 0.9, "nesterov": True},
    "Adam": {},
    "Adam with the largest": {"amsgrad": True},
    "AdamW": {"weight_decay": 0.01},
    "Adamax": {},
    "Nadam": {},
    "RMSprop": {},
    "RMSprop with momentum": {"momentum": 0.5},
    "RMSprop around the mean": {"centered": True},
    "RMSprop of all": {"centered": True, "momentum": 0.5},
    "Adagrad": {},
    "Adadelta": {},
    "Ftrl": {"l1_regularization_strength": 0.01, "beta": 0.1},
    "Lion": {},
}


def optimizer_of(name: str, **others: Any) -> Any:
    return getattr(tf.keras.optimizers, name.split()[0])(0.05, **OPTIMIZERS[name], **others)


def trained(optimizer: Any, dtype: str, in_function: bool, steps: int = 4) -> list[np.ndarray]:
    variables = [tf.Variable(np.linspace(-1, 1, n), dtype=dtype) for n in (3, 4, 5)]
    gradients = [tf.constant(np.sin(np.arange(v.shape[0]) + 1.0), dtype) for v in variables]

    def step() -> None:
        optimizer.apply_gradients([(g * (v + 1), v) for g, v in zip(gradients, variables, strict=True)])

    call = tf.function(step) if in_function else step
    for _ in range(steps):
        call()
    slots = [each.numpy() for each in optimizer.variables]
    return [*(v.numpy() for v in variables), *slots]


@pytest.mark.parametrize("in_function", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_one_op_does_what_keras_does(name: str, dtype: str, in_function: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    found = trained(optimizer_of(name), dtype, in_function)
    monkeypatch.setattr(fused_updates, "_rules", dict)
    monkeypatch.setattr(fused_updates, "_decay_together", _keras_decay)
    wanted = trained(optimizer_of(name), dtype, in_function)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


def _keras_decay(optimizer: Any, variables: Any) -> None:
    for variable in variables:
        value = variable if isinstance(variable, tf.Variable) else variable.value
        value.assign_sub(value * optimizer.weight_decay * tf.cast(optimizer.learning_rate, value.dtype))


def ops_of(optimizer: Any) -> list[str]:
    variables = [tf.Variable(tf.ones([n])) for n in (3, 4, 5)]

    @tf.function
    def step() -> None:
        optimizer.apply_gradients([(tf.ones_like(v), v) for v in variables])

    return [operation.type for operation in step.get_concrete_function().graph.get_operations()]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_function_has_one_op_for_each_variable(name: str) -> None:
    applied = [kind for kind in ops_of(optimizer_of(name)) if re.match("Apply(?!WeightDecay)", kind)]
    assert len(applied) == 3
    assert len(set(applied)) == 1


def test_the_updates_of_a_step_are_one_call(capfd: pytest.CaptureFixture[str]) -> None:
    variables = [tf.Variable(tf.ones([n])) for n in (3, 4, 5)]
    optimizer = optimizer_of("Adam")
    optimizer.build(variables)
    tf.debugging.set_log_device_placement(True)
    try:
        optimizer.apply_gradients([(tf.ones_like(v), v) for v in variables])
    finally:
        tf.debugging.set_log_device_placement(False)
    assert capfd.readouterr().out.count("ApplyAdamW") == 1


def test_an_optimizer_of_ones_own_goes_keras_way() -> None:
    class Halves(tf.keras.optimizers.Adam):
        def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
            self.assign(variable, variable / 2)

    variable = tf.Variable([4.0])
    Halves().apply_gradients([(tf.ones([1]), variable)])
    assert variable.numpy().tolist() == [2.0]


@pytest.mark.parametrize("in_function", [False, True], ids=["eager", "function"])
def test_gradients_of_rows_and_whole_ones_in_one_step(in_function: bool) -> None:
    table, bias = tf.Variable(tf.zeros([4, 2])), tf.Variable(tf.zeros([2]))
    optimizer = tf.keras.optimizers.SGD(1.0)

    def step() -> None:
        rows = tf.IndexedSlices(tf.ones([2, 2]), tf.constant([1, 3]), tf.constant([4, 2]))
        optimizer.apply_gradients([(rows, table), (tf.ones([2]), bias)])

    (tf.function(step) if in_function else step)()
    assert table.numpy()[:, 0].tolist() == [0.0, -1.0, 0.0, -1.0]
    assert bias.numpy().tolist() == [-1.0, -1.0]


def test_variables_of_several_devices_and_dtypes() -> None:
    variables = []
    for device in ("/CPU:0", "/GPU:0", "/GPU:1"):
        with tf.device(device):
            variables += [tf.Variable([1.0, 2.0]), tf.Variable([1.0, 2.0], dtype=tf.float64)]
    optimizer = tf.keras.optimizers.Adam(0.1)
    optimizer.apply_gradients([(tf.ones([2], v.dtype), v) for v in variables])
    for variable in variables:
        np.testing.assert_allclose(variable.numpy(), [0.9, 1.9], rtol=1e-5)
    slots = [slot.value.device for slot in optimizer._momentums]
    assert slots == [variable.device for variable in variables]


def test_a_gradient_of_another_shape_is_refused() -> None:
    variable = tf.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match="shape"):
        tf.keras.optimizers.SGD().apply_gradients([(tf.ones([3]), variable)])
    assert variable.numpy().tolist() == [1.0, 2.0]


def test_decay_leaves_out_what_it_is_told_to() -> None:
    kernel, bias = tf.Variable([1.0], name="kernel"), tf.Variable([1.0], name="bias")
    optimizer = tf.keras.optimizers.SGD(0.5, weight_decay=0.5)
    optimizer.exclude_from_weight_decay([bias])
    optimizer.apply_gradients([(tf.zeros([1]), kernel), (tf.zeros([1]), bias)])
    assert (float(kernel[0]), float(bias[0])) == (0.75, 1.0)


def test_casting_a_variable_reads_it_and_slices_stay_slices():
    variable = tf.keras.Variable(np.ones((3, 2), np.float32))

    @tf.function
    def cast():
        return tf.cast(variable, "float32")

    assert "Cast" not in {node.type for node in cast.get_concrete_function().graph.get_operations()}
    slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([2]), tf.constant([3, 2]))
    for dtype in ("float32", "float16"):
        found = tf.cast(slices, dtype)
        assert isinstance(found, tf.IndexedSlices)
        assert found.values.dtype.name == dtype
