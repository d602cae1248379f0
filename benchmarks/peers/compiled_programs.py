"""Training steps of models that are written out, in Situs, PyTorch and JAX.

    python compiled_programs.py LIBRARY MODEL [--small]

A model is a function of an array namespace, so that all libraries run the same expressions. The last line that is
printed is JSON: milliseconds of a step, seconds until the steps have settled, and the loss.
"""

import argparse
import itertools
import json
import time
from types import SimpleNamespace

import numpy as np

RATE = 0.05
SETTLE, SERIES, STEPS = 25, 5, 10


def sizes(model, is_small):
    """Rows, width and depth of a model."""
    large = {"mlp": (128, 1024, 3), "elementwise": (4096, 1024, 4), "lstm": (64, 512, 64)}
    small = {"mlp": (128, 1024, 3), "elementwise": (512, 256, 4), "lstm": (32, 128, 16)}
    return (small if is_small else large)[model]


def setup(model, is_small):
    """The first weights, a batch and its labels, one-hot."""
    rows, width, depth = sizes(model, is_small)
    rng = np.random.RandomState(0)

    def normal(*shape):
        return (rng.randn(*shape) / np.sqrt(shape[0])).astype(np.float32)

    labels = np.eye(10, dtype=np.float32)[rng.randint(0, 10, rows)]
    if model == "lstm":
        weights = [normal(2 * width, 4 * width), np.zeros(4 * width, np.float32), normal(width, 10)]
        return weights, rng.randn(rows, depth, width).astype(np.float32), labels
    widths = [784, *[width] * (depth - 1), 10] if model == "mlp" else [width] * (depth + 1) + [10]
    weights = [normal(*pair) for pair in itertools.pairwise(widths)]
    return weights, rng.randn(rows, widths[0]).astype(np.float32), labels


def mlp(m, weights, x):
    """Products and rectifiers."""
    for w in weights[:-1]:
        x = m.relu(x @ w)
    return x @ weights[-1]


def elementwise(m, weights, x):
    """Layer normalization and gelu, written out."""
    for w in weights[:-1]:
        x = x @ w
        away = x - m.mean(x)
        x = away * m.rsqrt(m.mean(away * away) + 1e-5)
        x = 0.5 * x * (1.0 + m.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
    return x @ weights[-1]


def lstm(m, weights, x):
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


MODELS = {"mlp": mlp, "elementwise": elementwise, "lstm": lstm}


def loss_of(m, model, weights, x, y):
    """The mean cross entropy."""
    return -m.mean_of_all(m.log_softmax(MODELS[model](m, weights, x)) * y) * 10.0


def situs_step(model, first, x, y, compiles):
    """A step of Situs."""
    import situs as tf

    m = SimpleNamespace(
        relu=tf.nn.relu,
        tanh=tf.tanh,
        sigmoid=tf.sigmoid,
        rsqrt=tf.math.rsqrt,
        mean=lambda x: tf.reduce_mean(x, -1, keepdims=True),
        mean_of_all=tf.reduce_mean,
        log_softmax=tf.nn.log_softmax,
        concat=lambda parts: tf.concat(parts, -1),
    )
    weights = [tf.Variable(w) for w in first]
    x, y = tf.constant(x), tf.constant(y)

    @tf.function(jit_compile=compiles)
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(m, model, weights, x, y)
        for w, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            w.assign_sub(RATE * gradient)
        return loss

    return lambda: step(x, y), float


def torch_step(model, first, x, y, compiles):
    """A step of PyTorch."""
    import torch

    m = SimpleNamespace(
        relu=torch.relu,
        tanh=torch.tanh,
        sigmoid=torch.sigmoid,
        rsqrt=torch.rsqrt,
        mean=lambda x: x.mean(-1, keepdim=True),
        mean_of_all=torch.mean,
        log_softmax=lambda x: torch.log_softmax(x, -1),
        concat=lambda parts: torch.cat(parts, -1),
    )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_float32_matmul_precision("high")
    weights = [torch.tensor(w, device=device, requires_grad=True) for w in first]
    x, y = torch.tensor(x, device=device), torch.tensor(y, device=device)

    def loss_at(x, y):
        return loss_of(m, model, weights, x, y)

    forward = torch.compile(loss_at, mode="reduce-overhead" if device == "cuda" else None) if compiles else loss_at

    def step():
        loss = forward(x, y)
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for w, gradient in zip(weights, gradients, strict=True):
                w -= RATE * gradient
        return loss.detach()

    return step, float


def jax_step(model, first, x, y):
    """A step of JAX."""
    import jax
    import jax.numpy as jnp

    m = SimpleNamespace(
        relu=jax.nn.relu,
        tanh=jnp.tanh,
        sigmoid=jax.nn.sigmoid,
        rsqrt=jax.lax.rsqrt,
        mean=lambda x: x.mean(-1, keepdims=True),
        mean_of_all=jnp.mean,
        log_softmax=jax.nn.log_softmax,
        concat=lambda parts: jnp.concatenate(parts, -1),
    )
    weights = [jnp.asarray(w) for w in first]
    x, y = jnp.asarray(x), jnp.asarray(y)

    @jax.jit
    def descend(weights, x, y):
        loss, gradients = jax.value_and_grad(lambda weights: loss_of(m, model, weights, x, y))(weights)
        return [w - RATE * gradient for w, gradient in zip(weights, gradients, strict=True)], loss

    def step():
        nonlocal weights
        weights, loss = descend(weights, x, y)
        return loss

    return step, float


def main():
    """Runs one program and prints its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", choices=["situs", "situs compiled", "torch", "torch.compile", "jax"])
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    given = arguments.model, *setup(arguments.model, arguments.small)
    start = time.perf_counter()
    if arguments.library == "jax":
        step, finish = jax_step(*given)
    else:
        make = situs_step if arguments.library.startswith("situs") else torch_step
        step, finish = make(*given, arguments.library in ("situs compiled", "torch.compile") or None)
    for _ in range(SETTLE):
        loss = finish(step())
    settled, best = time.perf_counter() - start, float("inf")
    for _ in range(SERIES):
        began = time.perf_counter()
        for _ in range(STEPS):
            made = step()
        loss = finish(made)
        best = min(best, (time.perf_counter() - began) / STEPS)
    print(json.dumps({"ms": best * 1e3, "settled_s": settled, "loss": loss}))


if __name__ == "__main__":
    main()
