"""``fit`` of a Keras model under the dynamic placer: the layers are placed, and not the step as a whole."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

PROGRAM = """
import numpy as np
import situs as tf
from situs import keras


def trained(placer):
    keras.utils.set_random_seed(1)
    tf.config.set_placer(placer)
    x = inputs = keras.Input((512,))
    for i in range(4):
        with tf.device(f"/gpu:{i // 2}"):
            layer = keras.layers.Dense(512, activation="relu")
            layer.build((None, 512))
        x = layer(x)
    model = keras.Model(inputs, x)
    model.compile(optimizer=keras.optimizers.SGD(0.01), loss="mse")
    batch = np.random.RandomState(0).randn(32, 512).astype("f")
    found = model.fit(batch, batch, batch_size=8, epochs=3, verbose=0, shuffle=False)
    return found.history["loss"], tf.explain(model.train_function)


expected, _ = trained("simple")
found, placed = trained("dynamic")
np.testing.assert_allclose(found, expected, rtol=1e-4)
homes = [each.device.short_name for each in placed if each.op == "MatMul" and "one_step_on_data" in each.node]
print("calls:", sum(each.op == "PartitionedCall" for each in placed))
print("products:", len(homes), *sorted(set(homes)))
"""


@pytest.mark.skipif(find_spec("keras") is None, reason="Keras is not installed")
def test_layers_go_where_their_weights_are(run_python, tmp_path):
    printed = run_python(PROGRAM, SITUS_VIRTUAL_GPUS="2x256MiB", SITUS_COSTS=str(tmp_path / "costs.json"))
    assert "calls: 0" in printed
    assert "products: 11 GPU:0 GPU:1" in printed
