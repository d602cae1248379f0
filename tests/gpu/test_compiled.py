"""Compiled regions on a card: in the CUDA graph of a step, compared, timed, and with Situs' own results.

Each program runs in a process of its own, because devices and memory are settled once per process.
"""

from __future__ import annotations

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


def test_a_program_that_runs_for_long_is_compiled_beside_itself(run_python: RunPython) -> None:
    said = run_python(
        OPTIMIZED + "import time\n"
        "from situs._src.runtime.run import background\n"
        "background.FIRST_SECONDS = background.SECONDS_A_CALL = 0.0\n"
        "usual = trained(False, runs=400)\n"
        "losses, v, step = trained(None, runs=200)\n"
        "def programs():\n"
        "    return [ready._program for made in step._graphs for ready in made._programs.values()]\n"
        "program = programs()[0]._capturing or programs()[0]._compiling\n"
        "beside = program._beside[1] if isinstance(program._beside, tuple) else program._beside\n"
        "if beside is not None:\n"
        "    beside.wait(240)\n"
        "losses += [float(step(x, y)) for _ in range(200)]\n"
        "check(usual, (losses, v))\n"
        "print(*sorted({each.runs_as for each in tf.explain(step)}), sep='\\n')",
    )
    if inductor.missing(on_card=True) is None:
        assert "compiled region" in said or "slower compiled" in said, said
    assert "gave other results" not in said
