"""Models that do not fit on one GPU: the simple placer runs out of memory, the dynamic one spreads them."""

from __future__ import annotations

MODEL = """
import numpy as np
import situs as tf2
import situs.compat.v1 as tf

LAYERS = 6
BATCH = np.random.RandomState(0).randn(64, 256).astype("f")


def build(device):
    x = tf.placeholder(tf.float32, [None, 256], name="x")
    with tf.device(device):
        h = x
        for i in range(LAYERS):
            w = tf.Variable((np.random.RandomState(i).randn(256, 256) * 0.05).astype("f"), name=f"w{i}")
            h = tf.nn.relu(tf.matmul(h, w))
        loss = tf.reduce_mean(tf.square(h - 1.0))
        return x, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss)


def losses(placer, device, steps=20):
    tf2.config.set_placer(placer)
    with tf.Graph().as_default():
        x, loss, train = build(device)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found = [session.run([loss, train], {x: BATCH})[0] for _ in range(steps)]
            homes = {session.placement()[f"w{i}"].device.short_name for i in range(LAYERS)}
            return found, homes, tf2.explain(session).plan
"""

TRAINS = (
    MODEL
    + """
expected, _, _ = losses("simple", "/cpu:0")
try:
    losses("simple", "/device:GPU:*")
except tf.errors.ResourceExhaustedError as error:
    print("simple: out of memory")
found, homes, plan = losses("dynamic", "/device:GPU:*")
np.testing.assert_allclose(found, expected, rtol=1e-6)
limit = 2400 * 1024
print("dynamic:", *sorted(homes))
print("alone:", plan.single)
print("within:", all(plan.forecast.peak[name] <= limit for name in ("GPU:0", "GPU:1")))
peaks = [tf2.config.experimental.get_memory_info(f"GPU:{i}")["peak"] for i in range(2)]
print("held:", all(peak <= limit for peak in peaks))
"""
)

REFUSED = (
    MODEL
    + """
from situs._src.placement.search.conflict import InfeasibleError
try:
    losses("dynamic", "/device:GPU:*")
except InfeasibleError as error:
    print("refused:", error)
    print("wishes:", sorted({wish.kind for wish in error.wishes}))
"""
)


def test_a_model_that_exceeds_one_gpu_trains_after_automatic_placement(run_python, tmp_path):
    printed = run_python(TRAINS, SITUS_VIRTUAL_GPUS="2x2400KiB", SITUS_COSTS=str(tmp_path / "costs.json"))
    assert "simple: out of memory" in printed
    assert "dynamic: GPU:0 GPU:1" in printed
    assert "alone: None" in printed
    assert "within: True" in printed
    assert "held: True" in printed


def test_a_model_that_exceeds_all_gpus_is_refused_with_the_reason(run_python, tmp_path):
    printed = run_python(REFUSED, SITUS_VIRTUAL_GPUS="2x600KiB", SITUS_COSTS=str(tmp_path / "costs.json"))
    assert "refused:" in printed
    assert "memory" in printed
    assert "GPU:0" in printed
