"""Models of Keras in checkpoints of objects: whatever is built when, the same weights come back."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf

X = np.arange(10, dtype=np.float32).reshape(2, 5)


def sequential():
    return tf.keras.Sequential([tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(3)])


class Blocks(tf.keras.Model):
    """A model whose layers are in lists and dictionaries, one of them private."""

    def __init__(self):
        super().__init__()
        self.blocks = [tf.keras.layers.Dense(4), tf.keras.layers.Dense(4)]
        self._hidden = [tf.keras.layers.Dense(4)]
        self.table = {"last": tf.keras.layers.Dense(2)}

    def call(self, x):
        for layer in [*self.blocks, *self._hidden, self.table["last"]]:
            x = layer(x)
        return x


@pytest.mark.parametrize("make", [sequential, Blocks])
@pytest.mark.parametrize("built_first", [True, False])
def test_what_is_restored_before_or_after_a_model_is_built_is_the_same(make, built_first, tmp_path):
    saved, other = make(), make()
    expected = saved(X)
    path = tf.train.Checkpoint(model=saved).save(tmp_path / "point")
    if built_first:
        other(X)
    status = tf.train.Checkpoint(model=other).restore(path)
    np.testing.assert_array_equal(other(X), expected)
    status.assert_existing_objects_matched()
    status.assert_consumed()


def test_the_names_in_a_checkpoint_of_a_sequential_are_tensorflows(tmp_path):
    model = sequential()
    model(X)
    path = tf.train.Checkpoint(model=model).save(tmp_path / "point")
    names = [name for name, _ in tf.train.list_variables(path) if name.startswith("model")]
    layers = "model/_functional/_operations"
    expected = [f"{layers}/{n}/{name}/.ATTRIBUTES/VARIABLE_VALUE" for n in (1, 2) for name in ("_kernel", "bias")]
    assert names == expected
