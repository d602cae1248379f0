"""The models that are measured: their sizes, weights and data, the same for all libraries.

    cnn    32x32x3 -> (conv 5x5x64, relu, max pool 3x3/2) twice -> 384 -> 192 -> 10, batches of 128
    mlp    784 -> 1024 -> 1024 -> 10, batches of 128
    gpt    GPT-2 of 124M parameters in bfloat16, batches of 8 x 512

Weights are kept as TensorFlow does: filters as height, width, in, out; images and what is flattened with the
channels last.
"""

import numpy as np

BATCH = 128
CONVOLUTIONS = {"cnn": [(5, 5, 3, 64), (5, 5, 64, 64)], "mlp": []}
DENSE = {"cnn": [(7 * 7 * 64, 384), (384, 192), (192, 10)], "mlp": [(784, 1024), (1024, 1024), (1024, 10)]}
INPUT = {"cnn": (32, 32, 3), "mlp": (784,)}
RATE = 0.01
WARM = 50  # runs, after which nothing is prepared any more
STEPS = 1000

LAYERS, HEADS, WIDTH, VOCABULARY, LENGTH, TEXTS = 12, 12, 768, 50257, 512, 8  # of the GPT
GPT_RATE = 3e-4


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


def labels():
    """What a batch is to be told apart as."""
    return np.arange(BATCH) % 10


def gpt_weights():
    """The weights of the GPT by name, in float32."""
    rng = np.random.default_rng(0)
    made = {"wte": _small(rng, (VOCABULARY, WIDTH)), "wpe": _small(rng, (LENGTH, WIDTH))}
    for layer in range(LAYERS):
        for name, inputs, outputs in (("qkv", 1, 3), ("out", 1, 1), ("up", 1, 4), ("down", 4, 1)):
            made[f"{layer}/{name}"] = _small(rng, (inputs * WIDTH, outputs * WIDTH))
            made[f"{layer}/{name}/bias"] = np.zeros(outputs * WIDTH, np.float32)
        made |= _norm(f"{layer}/before attention") | _norm(f"{layer}/before mlp")
    return made | _norm("last")


def gpt_batch():
    """Texts of token numbers, and the tokens that follow them."""
    tokens = np.random.default_rng(1).integers(0, VOCABULARY, (TEXTS, LENGTH + 1))
    return tokens[:, :-1], tokens[:, 1:]


def _norm(name):
    return {f"{name}/scale": np.ones(WIDTH, np.float32), f"{name}/shift": np.zeros(WIDTH, np.float32)}


def _small(rng, shape):
    return _normal(rng, shape) * np.float32(0.02)


def _normal(rng, shape):
    return rng.standard_normal(shape, dtype=np.float32)
