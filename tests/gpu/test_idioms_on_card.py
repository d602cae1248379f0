"""What is written out, in steps that are recorded on a card: the same losses with the kernels for it and without.

Each program runs in a process of its own, because devices and memory are settled once per process.
"""

from __future__ import annotations

import pytest

from situs._src.base.devices.physical import find_cards

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not find_cards(), reason="needs an NVIDIA card and a PyTorch with CUDA"),
]

# Thirty steps: ten before one is rewritten, twenty before it is recorded.
TRAIN = """
import os
os.environ['TF_FORCE_GPU_ALLOW_GROWTH'] = 'true'
import numpy as np
import situs as tf
from situs._src.runtime.passes.idioms import Fused
from situs._src.runtime.run import cuda_graph, program

def normalized(x, axes):
    away = x - tf.reduce_mean(x, axes, keepdims=True)
    return away * tf.math.rsqrt(tf.reduce_mean(away * away, axes, keepdims=True) + 1e-5)

def gelu(x):
    return 0.5 * x * (1.0 + tf.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

def losses(axes):
    rng = np.random.RandomState(0)
    with tf.device('/gpu:0'):
        w = tf.Variable((rng.randn(32, 32) / 6).astype(np.float32))
        x = tf.constant(rng.randn(64, 32).astype(np.float32))

        @tf.function
        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(gelu(normalized(x @ w, axes)) ** 2)
            w.assign_sub(0.01 * tape.gradient(loss, w))
            return loss

        made = [float(step(x)) for _ in range(30)]
    return made, {each.op: each.runs_as for each in tf.explain(step)}

for axes in ([-1], [0]):
    found, ways = losses(axes)
    assert 'gelu' in ways['Tanh'], ways
    assert 'normalization' in ways['Rsqrt'], ways
    kept = program.with_idioms
    program.with_idioms = cuda_graph.with_idioms = lambda calls, kept, slots: Fused(calls, slots, {}, {})
    wanted, _ = losses(axes)
    program.with_idioms = cuda_graph.with_idioms = kept
    np.testing.assert_allclose(found, wanted, rtol=2e-3)
print('done')
"""


def test_steps_give_the_same_losses_fused(run_python):
    assert "done" in run_python(TRAIN)
