"""Writes gru_of_tensorflow.json: what a small model with GRUs learns in TensorFlow.

python make_gru_of_tensorflow.py           with an interpreter that has TensorFlow and Keras
"""

import json
from pathlib import Path

import keras
import numpy as np


def case(reset_after: bool) -> dict:
    """Weights, words and targets, and the losses of three epochs."""
    numbers = np.random.default_rng(0)
    model = keras.Sequential(
        [
            keras.Input((8,)),
            keras.layers.Embedding(12, 5, mask_zero=True),
            keras.layers.Bidirectional(keras.layers.GRU(4, reset_after=reset_after)),
            keras.layers.Dense(1),
        ]
    )
    weights = [np.round(numbers.normal(size=each.shape) * 0.5, 3) for each in model.get_weights()]
    model.set_weights([each.astype(np.float32) for each in weights])
    x = numbers.integers(1, 12, (16, 8))
    x[np.arange(8) >= numbers.integers(1, 9, (16, 1))] = 0
    y = np.round(numbers.normal(size=(16, 1)), 3)
    model.compile("adam", "mse")
    losses = model.fit(x, y.astype(np.float32), epochs=3, batch_size=8, shuffle=False, verbose=0).history["loss"]
    return {
        "reset_after": reset_after,
        "weights": [each.tolist() for each in weights],
        "x": x.tolist(),
        "y": y.tolist(),
        "losses": losses,
    }


if __name__ == "__main__":
    cases = [case(True), case(False)]
    Path(__file__).with_name("gru_of_tensorflow.json").write_text(json.dumps(cases))
