"""Attention and layer norms on a real NVIDIA card: the kernels chosen, their numbers, capture. Skipped without one.

Each program runs in a process of its own, because devices and memory are settled once per process.
"""

from __future__ import annotations

import pytest

from situs._src.base.devices.physical import find_cards

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not find_cards(), reason="needs an NVIDIA card and a PyTorch with CUDA"),
]

# Attention and its gradients on the card, against float64 on the CPU.
COMPARE = """
import os
os.environ['TF_FORCE_GPU_ALLOW_GROWTH'] = 'true'
import numpy as np
import situs as tf
from situs._src.ops.nn import attention_kernels as kernels

chosen, seen = kernels._way, []
def watching(asked):
    seen.append(chosen(asked))
    return seen[-1]
kernels._way = watching

def waves(*shape, start=0):
    return 1.5 * np.sin(np.arange(start, start + int(np.prod(shape)), dtype=np.float64) ** 1.3).reshape(shape)

def attend(device, values, dtype, weights, **kwargs):
    with tf.device(device):
        tensors = [tf.cast(tf.constant(each), dtype) for each in values]
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            made = tf.nn.dot_product_attention(*tensors, **kwargs)
            total = tf.reduce_sum(made * tf.cast(weights, dtype))
        return [tf.cast(each, tf.float64).numpy() for each in (made, *tape.gradient(total, tensors))]

def compare(dtype, batch, length, keys, heads, size, *bias, **kwargs):
    values = [waves(batch, own, heads, size, start=own) for own in (length, keys, keys)]
    values += [waves(*shape, start=9) for shape in bias]
    with tf.device('/cpu:0'):
        rounded = [tf.cast(tf.cast(each, dtype), tf.float64).numpy() for each in values]
        weights = tf.cast(tf.cast(waves(batch, length, heads, size, start=7), dtype), tf.float64).numpy()
    seen.clear()
    found = attend('/gpu:0', rounded, dtype, weights, **kwargs)
    way = seen[:]
    exact = attend('/cpu:0', rounded, 'float64', weights, **kwargs)
    errors = [np.abs(a - b).max() / max(1, np.abs(b).max()) if a.size else 0 for a, b in zip(found, exact)]
    assert way == [way[0]] * 2, way
    print(way[0], max(errors))
"""

CASES = [
    ("flash", "'bfloat16', 2, 128, 128, 4, 64, is_causal=True"),
    ("flash", "'float16', 2, 77, 77, 2, 40, is_causal=True"),
    ("flash", "'float16', 2, 33, 70, 2, 256, scale=0.2"),
    ("flash", "'bfloat16', 1, 1, 1, 1, 8, is_causal=True"),
    ("efficient", "'bfloat16', 2, 33, 70, 2, 64, is_causal=True"),
    ("efficient", "'float16', 2, 70, 33, 2, 64, is_causal=True"),
    ("efficient", "'bfloat16', 2, 1, 50, 2, 64, is_causal=True"),
    ("efficient", "'float32', 2, 37, 37, 2, 20, is_causal=True"),
    ("efficient", "'float32', 2, 64, 128, 3, 64"),
    ("efficient", "'float32', 2, 37, 45, 2, 256"),
    ("efficient", "'bfloat16', 2, 37, 45, 2, 32, mask=waves(2, 1, 37, 45) > 0"),
    ("efficient", "'float32', 2, 37, 45, 2, 32, mask=waves(2, 1, 1, 45) > 0"),
    ("efficient", "'float32', 2, 37, 45, 2, 32, mask=np.arange(37)[:, None] > 5"),
    ("efficient", "'float16', 2, 37, 45, 2, 32, mask=waves(37, 45) > 1.45, is_causal=True"),
    ("efficient", "'float32', 2, 37, 45, 2, 32, (2, 2, 37, 45)"),
    ("efficient", "'float32', 2, 37, 45, 2, 32, (2, 37, 1)"),
    ("efficient", "'float16', 2, 40, 48, 2, 32, (1, 1, 1, 48), is_causal=True"),
    ("efficient", "'float32', 2, 37, 45, 2, 32, (37, 45), mask=waves(37, 45) > 0, is_causal=True, scale=0.1"),
    ("written", "'bfloat16', 2, 37, 45, 2, 12, is_causal=True"),
    ("written", "'float32', 2, 37, 45, 2, 33, (37, 45), is_causal=True"),
    ("written", "'float32', 2, 37, 45, 2, 512, is_causal=True"),
    ("written", "'float64', 2, 37, 45, 2, 32, is_causal=True"),
    ("written", "'bfloat16', 2, 37, 37, 2, 32, scale=-0.2, is_causal=True"),
    ("written", "'bfloat16', 2, 37, 0, 2, 32"),
    ("written", "'bfloat16', 0, 37, 37, 2, 32, is_causal=True"),
]
PRECISION = {"float16": 0.01, "bfloat16": 0.06, "float32": 0.005, "float64": 1e-10}


def test_each_way_computes_what_the_cpu_does(run_python):
    out = run_python(COMPARE + "\n".join(f"compare({arguments})" for _, arguments in CASES))
    for (way, arguments), line in zip(CASES, out.splitlines(), strict=True):
        found, error = line.split()
        assert found == way, arguments
        assert float(error) < PRECISION[arguments.split("'")[1]], (arguments, error)


def test_views_that_begin_anywhere_are_read_rightly(run_python):
    out = run_python(
        COMPARE + "packed = waves(2, 16, 3, 2, 9)\n"
        "def run(device, dtype):\n"
        "  with tf.device(device):\n"
        "    x = tf.identity(tf.cast(tf.constant(packed), dtype))\n"
        "    with tf.GradientTape() as tape:\n"
        "      tape.watch(x)\n"
        "      q, k, v = tf.unstack(x[..., 1:], axis=2)\n"
        "      total = tf.reduce_sum(tf.square(tf.nn.dot_product_attention(q, k, v, is_causal=True)))\n"
        "    return tf.cast(tape.gradient(total, x), tf.float64).numpy()\n"
        "exact = run('/cpu:0', 'float64')\n"
        "for dtype in ('float16', 'bfloat16', 'float32'):\n"
        "  print(np.abs(run('/gpu:0', dtype) - exact).max())"
    )
    assert [float(line) < limit for line, limit in zip(out.split(), (0.02, 0.2, 0.01), strict=True)] == [True] * 3, out


def test_queries_that_may_look_at_nothing_give_zeros_and_pass_zeros_back(run_python):
    out = run_python(
        COMPARE + "mask = np.ones((2, 1, 40, 40), bool)\nmask[0, :, 3] = mask[1, :, 17:] = False\n"
        "for dtype in ('float16', 'bfloat16', 'float32', 'float64'):\n"
        "  values = [waves(2, 40, 2, 32, start=n) for n in range(3)]\n"
        "  made, q, k, v = attend('/gpu:0', values, dtype, np.ones((2, 40, 2, 32)), mask=mask)\n"
        "  whole = all(np.isfinite(each).all() for each in (made, q, k, v))\n"
        "  print(dtype, whole, *(bool((each[0, 3] == 0).all() and (each[1, 17:] == 0).all()) for each in (made, q)))"
    )
    assert out.splitlines() == [f"{dtype} True True True" for dtype in ("float16", "bfloat16", "float32", "float64")]


def test_the_second_order_on_the_card(run_python):
    out = run_python(
        COMPARE + "values = [waves(1, 8, 2, 8, start=n) for n in range(3)]\n"
        "def second(device, dtype):\n"
        "  with tf.device(device):\n"
        "    q, k, v = tensors = [tf.cast(tf.constant(each), dtype) for each in values]\n"
        "    with tf.GradientTape() as outer:\n"
        "      outer.watch(tensors)\n"
        "      with tf.GradientTape() as inner:\n"
        "        inner.watch(tensors)\n"
        "        total = tf.reduce_sum(tf.square(tf.nn.dot_product_attention(q, k, v, is_causal=True)))\n"
        "      length = sum(tf.reduce_sum(tf.square(g)) for g in inner.gradient(total, tensors))\n"
        "    return [tf.cast(g, tf.float64).numpy() for g in outer.gradient(length, tensors)]\n"
        "pairs = zip(second('/gpu:0', 'float32'), second('/cpu:0', 'float64'))\n"
        "print(max(np.abs(a - b).max() / np.abs(b).max() for a, b in pairs))"
    )
    assert float(out) < 0.02


def test_memory_does_not_grow_with_the_square_of_the_length(run_python):
    out = run_python(
        COMPARE + "import torch\n"
        "for dtype in ('bfloat16', 'float32'):\n"
        "  x = tf.cast(tf.random.normal([1, 16384, 4, 64]), dtype)\n"
        "  torch.cuda.reset_peak_memory_stats(); before = torch.cuda.memory_allocated()\n"
        "  with tf.GradientTape() as tape:\n"
        "    tape.watch(x)\n"
        "    y = tf.nn.dot_product_attention(x, x, x, is_causal=True)\n"
        "  tape.gradient(y, x).numpy()\n"
        "  print((torch.cuda.max_memory_allocated() - before) / 2**20)"
    )
    assert all(float(each) < 500 for each in out.split()), out  # the scores of one head would be 512 MiB, or 1 GiB


STEP = """
import os
os.environ['TF_FORCE_GPU_ALLOW_GROWTH'] = 'true'
import numpy as np
import situs.compat.v1 as tf
random = np.random.RandomState(0)
fed = random.normal(size=(4, 32, 64)).astype(np.float32)

def losses(device, dtype, runs):
    draw = np.random.RandomState(1)
    with tf.Graph().as_default(), tf.device(device):
        x = tf.placeholder(tf.float32, [None, 32, 64])
        packed = tf.Variable((draw.normal(size=(64, 192)) / 8).astype(np.float32))
        scale, offset = tf.Variable(tf.ones([64])), tf.Variable(tf.zeros([64]))
        h = tf.cast(x, dtype)
        for _ in range(2):
            normal = tf.nn.layer_norm(h, tf.cast(scale, dtype), tf.cast(offset, dtype), epsilon=1e-5)
            parts = tf.reshape(tf.matmul(tf.reshape(normal, [-1, 64]), tf.cast(packed, dtype)), [-1, 32, 3, 4, 16])
            q, k, v = tf.unstack(parts, axis=2)
            h += tf.reshape(tf.nn.dot_product_attention(q, k, v, is_causal=True), tf.shape(x))
        loss = tf.reduce_mean(tf.square(tf.cast(h, tf.float32) - 1.0))
        train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
        session = tf.Session()
        session.run(tf.global_variables_initializer())
        made = [session.run([loss, train], {x: fed})[0] for _ in range(runs)]
    captures = [prepared.program._capturing for prepared in session._prepared.values()]
    return made, [each for each in captures if each is not None and each.captured is not None]
"""


@pytest.mark.parametrize(("dtype", "precision"), [("float32", 5e-3), ("bfloat16", 3e-2)])
def test_a_training_step_is_captured_and_trains_as_on_the_cpu(run_python, dtype, precision):
    out = run_python(
        STEP + f"made, captures = losses('/gpu:0', '{dtype}', 45)\nexact, _ = losses('/cpu:0', 'float32', 45)\n"
        "print(len(captures), exact[0] > 1.5 * exact[-1])\n"
        "print(np.abs(np.array(made) / np.array(exact) - 1).max())"
    )
    captured, error = out.splitlines()
    assert captured == "1 True"
    assert float(error) < precision
