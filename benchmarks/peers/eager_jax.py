"""The eager cases in JAX; prints nanoseconds per call as JSON."""

import json
import timeit

import jax
import jax.numpy as jnp

VALUES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
cpu = jax.devices("cpu")[0]
with jax.default_device(cpu):
    a, b, c = jnp.array(VALUES).reshape(2, 3), jnp.array(VALUES).reshape(3, 2), jnp.ones((2, 3))


def best(call):
    call()
    return min(timeit.repeat(call, number=2000, repeat=7)) / 2000 * 1e9


with jax.default_device(cpu):
    figures = {
        "matmul 2x3 @ 3x2": best(lambda: jnp.matmul(a, b)),
        "add 2x3": best(lambda: jnp.add(a, c)),
        "a + b": best(lambda: a + c),
        "a * 2.0": best(lambda: a * 2.0),
        "a[0]": best(lambda: a[0]),
        "reduce_sum": best(lambda: jnp.sum(a)),
        "reshape": best(lambda: jnp.reshape(a, (3, 2))),
        "constant of six floats": best(lambda: jnp.array(VALUES)),
    }
print(json.dumps(figures))
