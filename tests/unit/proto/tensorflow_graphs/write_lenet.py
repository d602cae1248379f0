"""Writes `lenet.pb` and `lenet.npz` with TensorFlow 2.21: a small LeNet, frozen, and what it computes.

    python tests/unit/proto/tensorflow_graphs/write_lenet.py

needs TensorFlow, and nothing of Situs. The files in this folder were made so; tests read them.
"""

from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

FOLDER = Path(__file__).parent


def main() -> None:
    tf.keras.utils.set_random_seed(7)
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((28, 28, 1)),
            tf.keras.layers.Conv2D(6, 5, padding="same", activation="relu", bias_initializer="random_normal"),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.Conv2D(8, 5, bias_initializer="random_normal"),
            tf.keras.layers.BatchNormalization(
                moving_mean_initializer="random_normal", gamma_initializer="random_uniform"
            ),
            tf.keras.layers.Activation("tanh"),
            tf.keras.layers.AveragePooling2D(2),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(32, activation="relu", bias_initializer="random_normal"),
            tf.keras.layers.Dense(10, activation="softmax", bias_initializer="random_normal"),
        ],
        name="lenet",
    )
    call = tf.function(lambda image: model(image, training=False))
    concrete = call.get_concrete_function(tf.TensorSpec([None, 28, 28, 1], tf.float32, name="image"))
    frozen = convert_variables_to_constants_v2(concrete)
    images = np.random.default_rng(7).uniform(-1, 1, (3, 28, 28, 1)).astype(np.float32)
    (result,) = frozen(tf.constant(images))
    (FOLDER / "lenet.pb").write_bytes(frozen.graph.as_graph_def().SerializeToString(deterministic=True))
    np.savez_compressed(
        FOLDER / "lenet.npz", images=images, probabilities=result.numpy(), output=frozen.outputs[0].name
    )
    print(sorted({node.op for node in frozen.graph.as_graph_def().node}), frozen.inputs, frozen.outputs)


if __name__ == "__main__":
    main()
