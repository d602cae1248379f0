"""Training steps in JAX: jitted, the weights donated; on the card if there is one."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from models import RATE, batch, labels, weights
from training_loop import main


def forward(made, h):
    """The layers of a network."""
    for number, (w, b) in enumerate(made):
        if w.ndim == 4:
            h = lax.conv_general_dilated(h, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            h = lax.reduce_window(jax.nn.relu(h + b), -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "VALID")
            continue
        h = h.reshape(h.shape[0], -1) @ w + b
        if number < len(made) - 1:
            h = jax.nn.relu(h)
    return h


def loss_of(made, x, y):
    """The mean cross entropy."""
    return -jnp.take_along_axis(jax.nn.log_softmax(forward(made, x)), y[:, None], 1).mean()


@partial(jax.jit, donate_argnums=0)
def descend(made, x, y):
    """The weights after a step, and the loss before it."""
    loss, grads = jax.value_and_grad(loss_of)(made, x, y)
    return jax.tree.map(lambda w, grad: w - RATE * grad, made, grads), loss


def classifier(model):
    """A step by gradient descent."""

    def make():
        made = [(jnp.asarray(w), jnp.asarray(b)) for w, b in weights(model)]
        x, y = jnp.asarray(batch(model)), jnp.asarray(labels())

        def step():
            nonlocal made
            made, loss = descend(made, x, y)
            return loss

        return step

    return make


if __name__ == "__main__":
    main({model: classifier(model) for model in ("mlp", "cnn")})
