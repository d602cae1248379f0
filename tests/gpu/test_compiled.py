"""Compiled regions on a card: in the CUDA graph of a step, compared, timed, and with Situs' own results.

Each program runs in a process of its own, because devices and memory are settled once per process.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from situs._src.base.devices.physical import find_cards
from situs._src.runtime.run import inductor
from situs._src.runtime.run.cuda_graph import CAPTURED_AFTER
from tests.conftest import RunPython

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not find_cards(), reason="needs an NVIDIA card and a PyTorch with CUDA"),
]

PROGRAM = """
import logging
import numpy as np
import situs as tf

logging.basicConfig(level=logging.WARNING)
tf.config.experimental.enable_tensor_float_32_execution(False)
rng = np.random.RandomState(0)
x = tf.constant(rng.randn(256, 64).astype("f"))
y = tf.constant(rng.randint(0, 10, 256))
first = [rng.randn(64, 128).astype("f") * 0.1, np.zeros(128, "f"), rng.randn(128, 10).astype("f") * 0.1]

def gelu(h):
    return 0.5 * h * (1.0 + tf.tanh(0.7978845608 * (h + 0.044715 * h * h * h)))

def trained(jit_compile):
    v = [tf.Variable(each) for each in first]

    @tf.function(jit_compile=jit_compile)
    def step(x, y):
        with tf.GradientTape() as tape:
            h = x @ v[0] + v[1]
            mean = tf.reduce_mean(h, -1, keepdims=True)
            h = gelu((h - mean) * tf.math.rsqrt(tf.reduce_mean((h - mean) ** 2, -1, keepdims=True) + 1e-5))
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, h @ v[2]))
        for variable, gradient in zip(v, tape.gradient(loss, v)):
            variable.assign_sub(0.1 * gradient)
        return loss

    losses = [float(step(x, y)) for _ in range(40)]
    return losses, [each.numpy() for each in v], tf.explain(step)

usual, variables, _ = trained(None)
new, others, explained = trained(True)
np.testing.assert_allclose(new, usual, rtol=1e-3)
for one, other in zip(variables, others):
    np.testing.assert_allclose(other, one, rtol=1e-2, atol=1e-4)
print(*sorted({each.runs_as for each in explained}), sep="\\n")
"""


def test_a_step_is_compiled_captured_and_the_same(run_python: RunPython) -> None:
    said = run_python(PROGRAM)
    if inductor.missing(on_card=True) is None:
        assert "compiled region" in said or "slower compiled" in said
    assert "gave other results" not in said


def test_without_a_compiler_jit_compile_says_what_to_install(run_python: RunPython) -> None:
    said = run_python(
        "import os\nos.environ.update(PATH='', CC='', CXX='')\nimport situs as tf\n"
        "f = tf.function(lambda x: tf.reduce_sum(tf.exp(x * 2.0) + tf.tanh(x)), jit_compile=True)\n"
        "try:\n    f(tf.ones([8]))\nexcept tf.errors.NotFoundError as error:\n    print('refused', error)"
    )
    assert "refused A function with jit_compile=True is compiled, and this machine lacks" in said


def test_a_program_that_settles_is_captured_as_before(run_python: RunPython) -> None:
    """Nothing asks for a compiler: the step is captured, and PyTorch's compiler is not loaded."""
    said = run_python(
        "import sys\nimport situs as tf\nv = tf.Variable(tf.ones([64, 64]))\n"
        "@tf.function\ndef f(x):\n"
        "    for _ in range(8): x = tf.tanh(x @ v)\n"
        "    v.assign_add(x * 0.01)\n    return tf.reduce_sum(x)\n"
        f"for _ in range({CAPTURED_AFTER + 5}): y = f(tf.ones([64, 64]))\n"
        "print(float(y), [name for name in sys.modules if name.startswith('torch._inductor')])"
    )
    assert np.isfinite(float(said.split()[0]))
    assert said.strip().endswith("[]")


OPTIMIZED = """
import logging
import numpy as np
import situs as tf

logging.basicConfig(level=logging.WARNING)
tf.config.experimental.enable_tensor_float_32_execution(False)
rng = np.random.RandomState(0)
table, w = rng.randn(50, 64).astype("f"), rng.randn(64, 10).astype("f") * 0.1
x, y = tf.constant(rng.randint(0, 50, 256)), tf.constant(rng.randint(0, 10, 256))

def trained(jit_compile, runs=40):
    v = [tf.Variable(w), tf.Variable(np.zeros(10, "f"))]
    rows = tf.constant(table)
    optimizer = tf.keras.optimizers.Adam(0.01)

    @tf.function(jit_compile=jit_compile)
    def step(x, y):
        with tf.GradientTape() as tape:
            h = tf.tanh(tf.gather(rows, x)) @ v[0] + v[1]
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, h))
        optimizer.apply_gradients(zip(tape.gradient(loss, v), v))
        return loss

    losses = [float(step(x, y)) for _ in range(runs)]
    return losses, v, step

def check(usual, new):
    np.testing.assert_allclose(new[0], usual[0], rtol=1e-3)
    for one, other in zip(usual[1], new[1]):
        np.testing.assert_allclose(other, one, rtol=1e-2, atol=1e-4)
"""


def test_lookups_losses_and_updates_are_in_the_region(run_python: RunPython) -> None:
    said = run_python(
        OPTIMIZED + "usual, new = trained(False), trained(True)\ncheck(usual, new)\n"
        "step = new[2]\n"
        "print(*sorted({f'{each.op}: {each.runs_as}' for each in tf.explain(step)}), sep='\\n')\n"
        "bad = tf.constant(np.full(256, 99))\n"
        "print('wrong label', float(new[2](x, bad)), float(usual[2](x, bad)))"
    )
    assert "gave other results" not in said
    assert "wrong label nan nan" in said  # as in TensorFlow, on a card
    if inductor.missing(on_card=True) is None and "slower compiled" not in said:
        for op in ("GatherV2", "SparseSoftmaxCrossEntropyWithLogits", "ApplyAdam"):
            assert any(line.startswith(op) and "compiled region" in line for line in said.splitlines()), said


def test_trying_compiled_work_changes_no_variable(run_python: RunPython) -> None:
    """In the run in which the step is compiled, compared, timed and recorded, the variables move by one step."""
    said = run_python(
        OPTIMIZED
        + "usual, new = trained(False, runs=3), trained(True, runs=3)\ncheck(usual, new)\nprint('all the same')"
    )
    assert "all the same" in said


BESIDE = """
import time
from situs._src.runtime.run import background
background.FIRST_SECONDS = background.SECONDS_A_CALL = background.LEAST_SECONDS = 0.0
usual = trained(False, runs=800)
losses, v, step = trained(None, runs=200)

def program():
    (found,) = [ready._program for made in step._graphs for ready in made._programs.values()]
    return found._capturing

if program()._beside is not None:
    program()._beside[1].wait(240)
losses += [float(step(x, y)) for _ in range(600)]
check(usual, (losses, v))
print(*sorted({each.runs_as for each in tf.explain(step)}), sep="\\n")
"""


def test_a_program_that_runs_for_long_is_compiled_beside_itself(run_python: RunPython, tmp_path: Path) -> None:
    """Then another process finds what was compiled on disk."""
    folder = tmp_path / "kept"
    for _ in range(2):
        said = run_python(OPTIMIZED + BESIDE, SITUS_COMPILE="auto", SITUS_COMPILE_CACHE=str(folder))
        if inductor.missing(on_card=True) is None:
            assert "compiled region" in said or "slower compiled" in said, said
            assert len(list(folder.iterdir())) >= 1
        assert "gave other results" not in said


def test_a_program_on_a_card_that_ends_while_it_is_compiled_ends_at_once(run_python: RunPython) -> None:
    said = run_python(
        OPTIMIZED
        + BESIDE.partition("usual =")[0]
        + "trained(None, runs=200)\nprint('over', time.perf_counter(), flush=True)",
        SITUS_COMPILE="auto",
        SITUS_COMPILE_CACHE="0",
    )
    assert said.startswith("over")


DROPPING = """
import logging
import numpy as np
import situs as tf

logging.basicConfig(level=logging.WARNING)
tf.config.experimental.enable_tensor_float_32_execution(False)
rng = np.random.RandomState(0)
x = tf.constant(rng.randn(256, 64).astype("f"))
first = rng.randn(64, 64).astype("f") * 0.1

def trained(jit_compile):
    weight, seed = tf.Variable(first), tf.Variable(tf.constant([1, 2], tf.int64))

    @tf.function(jit_compile=jit_compile)
    def step(x):
        with tf.GradientTape() as tape:
            h = tf.tanh(x @ weight)
            kept = tf.cast(tf.random.stateless_uniform([256, 64], seed.read_value()) >= 0.5, tf.float32)
            noise = tf.random.stateless_normal([256, 64], seed.read_value()) * 0.01
            loss = tf.reduce_mean((h * kept * 2.0 + noise - x) ** 2)
        seed.assign_add([1, 1])
        weight.assign_sub(0.1 * tape.gradient(loss, weight))
        return loss

    return [float(step(x)) for _ in range(40)], weight.numpy(), seed.numpy(), step

with tf.device("/gpu:0"):
    usual, new = trained(False), trained(True)
np.testing.assert_allclose(new[0], usual[0], rtol=1e-3)
np.testing.assert_allclose(new[1], usual[1], rtol=1e-2, atol=1e-4)
np.testing.assert_array_equal(new[2], usual[2])
print(*sorted({f"{each.op}: {each.runs_as}" for each in tf.explain(new[3])}), sep="\\n")
"""


def test_dropout_in_a_compiled_step_drops_what_it_drops_uncompiled(run_python: RunPython) -> None:
    said = run_python(DROPPING)
    assert "gave other results" not in said
    if inductor.missing(on_card=True) is None and "slower compiled" not in said:
        for op in ("StatelessRandomUniform", "StatelessRandomNormal", "AssignAdd"):
            assert any(line.startswith(op) and "compiled region" in line for line in said.splitlines()), said
