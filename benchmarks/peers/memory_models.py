"""The models whose memory is measured: their sizes, weights and data, the same for both libraries.

    cnn    32x32x3 -> (conv 5x5x64, relu, max pool 3x3/2) twice -> 384 -> 192 -> 10, batches of 128
    mlp    784 -> 1024 -> 1024 -> 10, batches of 128

Weights are kept as TensorFlow does: filters as height, width, in, out; images and what is flattened with the
channels last.
"""

import numpy as np

BATCH = 128
CONVOLUTIONS = {"cnn": [(5, 5, 3, 64), (5, 5, 64, 64)], "mlp": []}
DENSE = {"cnn": [(7 * 7 * 64, 384), (384, 192), (192, 10)], "mlp": [(784, 1024), (1024, 1024), (1024, 10)]}
INPUT = {"cnn": (32, 32, 3), "mlp": (784,)}
WARM = 50  # runs, after which nothing is prepared any more
STEPS = 1000


def weights(model):
    """Filters and matrices, and a bias for each, small enough to keep the results so."""
    rng = np.random.default_rng(0)
    made = []
    for shape in [*CONVOLUTIONS[model], *DENSE[model]]:
        scale = 1 / np.sqrt(np.prod(shape[:-1]))
        made.append((_normal(rng, shape) * np.float32(scale), _normal(rng, shape[-1:]) * np.float32(0.1)))
    return made


def batch(model):
    """A batch of inputs."""
    return _normal(np.random.default_rng(1), (BATCH, *INPUT[model]))


def _normal(rng, shape):
    return rng.standard_normal(shape, dtype=np.float32)
