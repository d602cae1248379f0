"""Training steps of models that are written out, in Situs, Keras on Situs, PyTorch and JAX.

    python compiled_programs.py LIBRARY MODEL [--small]

A model is a function of an array namespace, so that all libraries run the same expressions; images are
[batch, height, width, channels] everywhere. The last line that is printed is JSON: milliseconds of a step, seconds
until the steps have settled, and the loss.
"""

import argparse
import itertools
import json
import time
from types import SimpleNamespace

import numpy as np

RATE = 0.05
SETTLE, SERIES, STEPS = 25, 5, 10
LIBRARIES = ("situs", "situs compiled", "torch", "cuda graph", "torch.compile", "jax")

# Of each model: rows, width, depth, and the side of an image, the heads of attention or the length of a sequence.
LARGE = {
    "mlp": (128, 1024, 3, 0),
    "cnn": (128, 32, 2, 32),
    "resnet": (32, 64, (3, 4, 6, 3), 112),
    "lstm": (64, 512, 1, 64),
    "transformer": (8, 512, 6, 256),
    "unet": (8, 32, 3, 128),
    "keras": (128, 1024, 3, 0),
    "tiny": (8, 0, 1000, 0),
    "elementwise": (4096, 1024, 4, 0),
}
SMALL = {
    "mlp": (128, 1024, 3, 0),
    "cnn": (32, 16, 2, 16),
    "resnet": (4, 16, (1, 1, 1), 32),
    "lstm": (32, 128, 1, 16),
    "transformer": (4, 128, 2, 64),
    "unet": (2, 8, 2, 32),
    "keras": (128, 1024, 3, 0),
    "tiny": (8, 0, 1000, 0),
    "elementwise": (512, 256, 4, 0),
}
HEADS = 8
UNTRAINED = ("tiny",)  # a chain that is only computed


class Weights:
    """Makes the first weights of a model, in the order in which it takes them."""

    def __init__(self, rng):
        self.made = []
        self._rng = rng

    def product(self, rows, columns):
        """A matrix."""
        self.made.append((self._rng.randn(rows, columns) / np.sqrt(rows)).astype(np.float32))

    def conv(self, side, inside, outside):
        """Filters, and the scale and offset of their batch normalization."""
        self.filters(side, inside, outside)
        self.made += [np.ones(outside, np.float32), np.zeros(outside, np.float32)]

    def filters(self, side, inside, outside):
        """Filters alone."""
        scale = np.sqrt(2 / (side * side * inside))
        self.made.append((self._rng.randn(side, side, inside, outside) * scale).astype(np.float32))


def setup(model, is_small):
    """The first weights, a batch and its labels, one-hot."""
    rows, width, depth, side = (SMALL if is_small else LARGE)[model]
    rng = np.random.RandomState(0)
    weights = Weights(rng)
    labels = np.eye(10, dtype=np.float32)[rng.randint(0, 10, rows)]
    x = rng.randn(rows, width).astype(np.float32) if width else rng.randn(rows).astype(np.float32)
    if model in ("mlp", "keras", "elementwise"):
        widths = [width] * (depth + 1) + [10] if model == "elementwise" else [784, *[width] * (depth - 1), 10]
        x = rng.randn(rows, widths[0]).astype(np.float32)
        for pair in itertools.pairwise(widths):
            weights.product(*pair)
    elif model == "lstm":
        weights.product(2 * width, 4 * width)
        weights.made.append(np.zeros(4 * width, np.float32))
        weights.product(width, 10)
        x = rng.randn(rows, side, width).astype(np.float32)
    elif model == "transformer":
        for _ in range(depth):
            for shape in ((width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)):
                weights.product(*shape)
        weights.product(width, 10)
        x = rng.randn(rows, side, width).astype(np.float32)
    elif model in ("cnn", "resnet", "unet"):
        x = rng.randn(rows, side, side, 3).astype(np.float32)
        {"cnn": _cnn_weights, "resnet": _resnet_weights, "unet": _unet_weights}[model](weights, width, depth, side)
    return weights.made, x, labels


def _cnn_weights(weights, width, depth, side):
    channels = [3, *(width * 2**level for level in range(depth))]
    for pair in itertools.pairwise(channels):
        weights.filters(3, *pair)
    weights.product(channels[-1] * (side // 2**depth) ** 2, 10)


def _resnet_weights(weights, width, depth, side):
    weights.conv(3, 3, width)
    before = width
    for level, blocks in enumerate(depth):
        inside = width * 2**level
        for block in range(blocks):
            weights.conv(1, before, inside)
            weights.conv(3, inside, inside)
            weights.conv(1, inside, 4 * inside)
            if block == 0:
                weights.conv(1, before, 4 * inside)
            before = 4 * inside
    weights.product(before, 10)


def _unet_weights(weights, width, depth, side):
    channels = [3, *(width * 2**level for level in range(depth + 1))]
    for pair in itertools.pairwise(channels):
        weights.filters(3, *pair)
    for level in range(depth, 0, -1):
        weights.filters(3, channels[level + 1] + channels[level], channels[level])
    weights.product(channels[1], 10)


# The models: functions of an array namespace, weights and a batch.


def mlp(m, weights, x, depth):
    """Products and rectifiers."""
    for w in weights[:-1]:
        x = m.relu(x @ w)
    return x @ weights[-1]


def _normalized(m, x):
    away = x - m.mean(x)
    return away * m.rsqrt(m.mean(away * away) + 1e-5)


def _gelu(m, x):
    return 0.5 * x * (1.0 + m.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def elementwise(m, weights, x, depth):
    """Layer normalization and gelu, written out."""
    for w in weights[:-1]:
        x = _gelu(m, _normalized(m, x @ w))
    return x @ weights[-1]


def lstm(m, weights, x, depth):
    """One recurrent layer, unrolled."""
    w, b, last = weights
    width = x.shape[-1]
    h = c = x[:, 0] * 0.0
    for step in range(x.shape[1]):
        gates = m.concat([x[:, step], h]) @ w + b
        i, f, g, o = (gates[:, part * width : (part + 1) * width] for part in range(4))
        c = m.sigmoid(f + 1.0) * c + m.sigmoid(i) * m.tanh(g)
        h = m.sigmoid(o) * m.tanh(c)
    return h @ last


def transformer(m, weights, x, depth):
    """Attention, layer normalization and gelu, written out."""
    rows, length, width = x.shape
    each = width // HEADS
    for layer in range(depth):
        qkv, out, wide, narrow = weights[4 * layer : 4 * layer + 4]
        parts = _normalized(m, x) @ qkv
        q, k, v = (
            m.transpose(m.reshape(parts[:, :, n * width : (n + 1) * width], (rows, length, HEADS, each)), (0, 2, 1, 3))
            for n in range(3)
        )
        scores = m.softmax(q @ m.transpose(k, (0, 1, 3, 2)) * each**-0.5)
        joined = m.reshape(m.transpose(scores @ v, (0, 2, 1, 3)), (rows, length, width))
        x = x + joined @ out
        x = x + _gelu(m, _normalized(m, x) @ wide) @ narrow
    return m.mean_over(x, (1,)) @ weights[-1]


def cnn(m, weights, x, depth):
    """Convolutions and pools."""
    for w in weights[:-1]:
        x = m.pool(m.relu(m.conv(x, w)))
    return m.reshape(x, (x.shape[0], -1)) @ weights[-1]


def _batch_normalized(m, x, scale, offset):
    mean = m.mean_over(x, (0, 1, 2))
    away = x - mean
    return away * m.rsqrt(m.mean_over(away * away, (0, 1, 2)) + 1e-5) * scale + offset


def resnet(m, weights, x, depth):
    """Blocks of three convolutions with batch normalization, written out, as in ResNet-50."""
    given = iter(weights)

    def conv(x):
        return _batch_normalized(m, m.conv(x, next(given)), next(given), next(given))

    x = m.relu(conv(x))
    for level, blocks in enumerate(depth):
        for block in range(blocks):
            if block == 0 and level:
                x = m.pool(x)
            y = conv(m.relu(conv(m.relu(conv(x)))))
            x = m.relu(y + (conv(x) if block == 0 else x))
    return m.mean_over(x, (1, 2)) @ next(given)


def unet(m, weights, x, depth):
    """Down by pools, up by repeating, with what was there joined."""
    given = iter(weights)
    kept = []
    for _ in range(depth):
        x = m.relu(m.conv(x, next(given)))
        kept.append(x)
        x = m.pool(x)
    x = m.relu(m.conv(x, next(given)))
    for _ in range(depth):
        x = m.relu(m.conv(m.concat([m.twice(x), kept.pop()]), next(given)))
    return m.mean_over(x, (1, 2)) @ next(given)


def tiny(m, weights, x, depth):
    """A chain of small operations."""
    for _ in range(depth // 2):
        x = m.tanh(x) + 0.001
    return x


MODELS = {
    "mlp": mlp,
    "cnn": cnn,
    "resnet": resnet,
    "lstm": lstm,
    "transformer": transformer,
    "unet": unet,
    "keras": mlp,
    "tiny": tiny,
    "elementwise": elementwise,
}


def loss_of(m, model, depth, weights, x, y):
    """The mean cross entropy; of a model that is not trained, its mean."""
    made = MODELS[model](m, weights, x, depth)
    return m.mean_of_all(made) if model in UNTRAINED else -m.mean_of_all(m.log_softmax(made) * y) * 10.0


# The libraries.


def situs_step(model, depth, first, x, y, library):
    """A step of Situs."""
    import situs as tf

    m = SimpleNamespace(
        relu=tf.nn.relu,
        tanh=tf.tanh,
        sigmoid=tf.sigmoid,
        rsqrt=tf.math.rsqrt,
        softmax=tf.nn.softmax,
        mean=lambda x: tf.reduce_mean(x, -1, keepdims=True),
        mean_over=lambda x, axes: tf.reduce_mean(x, list(axes)),
        mean_of_all=tf.reduce_mean,
        log_softmax=tf.nn.log_softmax,
        concat=lambda parts: tf.concat(parts, -1),
        reshape=tf.reshape,
        transpose=tf.transpose,
        conv=lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"),
        pool=lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"),
        twice=lambda x: tf.repeat(tf.repeat(x, 2, 1), 2, 2),
    )
    compiles = library == "situs compiled"  # rather than nothing: then cards would
    weights = [tf.Variable(w) for w in first]
    x, y = tf.constant(x), tf.constant(y)

    @tf.function(jit_compile=compiles)
    def step(x, y):
        if model in UNTRAINED:
            return loss_of(m, model, depth, weights, x, y)
        with tf.GradientTape() as tape:
            loss = loss_of(m, model, depth, weights, x, y)
        for w, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            w.assign_sub(RATE * gradient)
        return loss

    return lambda: step(x, y)


def keras_step(model, depth, first, x, y, library):
    """A step of Keras on Situs: the layers of the MLP."""
    import situs as tf

    layers = [tf.keras.layers.Dense(w.shape[1], "relu", use_bias=False) for w in first[:-1]]
    layers.append(tf.keras.layers.Dense(first[-1].shape[1], use_bias=False))
    made = tf.keras.Sequential([tf.keras.Input((x.shape[1],)), *layers])
    made.set_weights(first)
    loss = tf.keras.losses.CategoricalCrossentropy(from_logits=True)
    made.compile(tf.keras.optimizers.SGD(RATE), loss, jit_compile=library == "situs compiled")
    x, y = tf.constant(x), tf.constant(y)
    made.make_train_function()
    batches = itertools.repeat((x, y))
    return lambda: made.train_function(batches)["loss"]


def torch_step(model, depth, first, x, y, library):
    """A step of PyTorch: as it is, compiled, or recorded as a CUDA graph by hand."""
    import torch
    import torch.nn.functional as f

    def of_images(function):
        """A function of images with channels first, for images with channels last: no copy is made."""
        return lambda x, *rest: function(x.permute(0, 3, 1, 2), *rest).permute(0, 2, 3, 1)

    m = SimpleNamespace(
        relu=torch.relu,
        tanh=torch.tanh,
        sigmoid=torch.sigmoid,
        rsqrt=torch.rsqrt,
        softmax=lambda x: torch.softmax(x, -1),
        mean=lambda x: x.mean(-1, keepdim=True),
        mean_over=lambda x, axes: x.mean(axes),
        mean_of_all=torch.mean,
        log_softmax=lambda x: torch.log_softmax(x, -1),
        concat=lambda parts: torch.cat(parts, -1),
        reshape=torch.reshape,
        transpose=torch.permute,
        conv=of_images(lambda x, w: f.conv2d(x, w.permute(3, 2, 0, 1), padding="same")),
        pool=of_images(lambda x: f.max_pool2d(x, 2)),
        twice=lambda x: x.repeat_interleave(2, 1).repeat_interleave(2, 2),
    )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    weights = [torch.tensor(w, device=device, requires_grad=True) for w in first]
    x, y = torch.tensor(x, device=device), torch.tensor(y, device=device)

    def loss_at(x, y):
        return loss_of(m, model, depth, weights, x, y)

    mode = "reduce-overhead" if device == "cuda" else None
    forward = torch.compile(loss_at, mode=mode) if library == "torch.compile" else loss_at

    def step():
        if model in UNTRAINED:
            with torch.no_grad():
                return forward(x, y)
        loss = forward(x, y)
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for w, gradient in zip(weights, gradients, strict=True):
                w -= RATE * gradient
        return loss.detach()

    return _recorded(step) if library == "cuda graph" else step


def _recorded(step):
    """A step as a CUDA graph: a few runs on another stream, then one that is recorded."""
    import torch

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay():
        graph.replay()
        return loss

    return replay


def jax_step(model, depth, first, x, y, library):
    """A step of JAX."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_default_matmul_precision", "tensorfloat32")
    m = SimpleNamespace(
        relu=jax.nn.relu,
        tanh=jnp.tanh,
        sigmoid=jax.nn.sigmoid,
        rsqrt=jax.lax.rsqrt,
        softmax=jax.nn.softmax,
        mean=lambda x: x.mean(-1, keepdims=True),
        mean_over=lambda x, axes: x.mean(axes),
        mean_of_all=jnp.mean,
        log_softmax=jax.nn.log_softmax,
        concat=lambda parts: jnp.concatenate(parts, -1),
        reshape=jnp.reshape,
        transpose=jnp.transpose,
        conv=lambda x, w: jax.lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        ),
        pool=lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
        twice=lambda x: jnp.repeat(jnp.repeat(x, 2, 1), 2, 2),
    )
    weights = [jnp.asarray(w) for w in first]
    x, y = jnp.asarray(x), jnp.asarray(y)

    @jax.jit
    def descend(weights, x, y):
        if model in UNTRAINED:
            return weights, loss_of(m, model, depth, weights, x, y)
        loss, gradients = jax.value_and_grad(lambda weights: loss_of(m, model, depth, weights, x, y))(weights)
        return [w - RATE * gradient for w, gradient in zip(weights, gradients, strict=True)], loss

    def step():
        nonlocal weights
        weights, loss = descend(weights, x, y)
        return loss

    return step


def step_of(library, model, is_small):
    """A step of a library, to be called without arguments; it returns the loss."""
    depth = (SMALL if is_small else LARGE)[model][2]
    if library == "jax":
        make = jax_step
    elif library.startswith("situs"):
        make = keras_step if model == "keras" else situs_step
    else:
        make = torch_step
    return make(model, depth, *setup(model, is_small), library)


def main():
    """Runs one program and prints its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    start = time.perf_counter()
    step = step_of(arguments.library, arguments.model, arguments.small)
    for _ in range(SETTLE):
        loss = float(step())
    settled, best = time.perf_counter() - start, float("inf")
    for _ in range(SERIES):
        began = time.perf_counter()
        for _ in range(STEPS):
            made = step()
        loss = float(made)
        best = min(best, (time.perf_counter() - began) / STEPS)
    print(json.dumps({"ms": best * 1e3, "settled_s": settled, "loss": loss}))


if __name__ == "__main__":
    main()
