"""Random numbers on a real NVIDIA card: those of the CPU and of TensorFlow. Skipped where there is none.

Each program runs in a process of its own, because devices and memory are settled once per process.
"""

from __future__ import annotations

import pytest

from situs._src.base.devices.physical import find_cards

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not find_cards(), reason="needs an NVIDIA card and a PyTorch with CUDA"),
]

WAYS = """
import torch
from situs._src.base.streams import COUNTERS, Position
from situs._src.ops.philox import card, draw
from situs._src.ops.philox.words import scrambled, words, words_at
CUDA, CPU = torch.device('cuda:0'), torch.device('cpu')
PLACES = [scrambled(1, 2), Position(2**64 - 1, COUNTERS - 3), Position(7, 2**64 - 2), Position(1, 1)]
def check(dtypes):
    for begin in PLACES:
        for sizes in ((1,), (3,), (1027,), (100, 333), (0,)):
            for dtype in dtypes:
                for what in ('uniform', 'normal', 'truncated_normal'):
                    on_card = getattr(draw, what)(sizes, dtype, begin, CUDA)
                    on_host = getattr(draw, what)(sizes, dtype, begin, CPU)
                    assert on_card.device.type == 'cuda' and on_card.dtype is dtype
                    if dtype is torch.float64 and what != 'uniform':
                        assert torch.allclose(on_card.cpu(), on_host, rtol=1e-14, atol=1e-15), (what, begin, sizes)
                    else:
                        assert torch.equal(on_card.cpu(), on_host), (what, dtype, begin, sizes)
        assert torch.equal(words(begin, 300, CUDA).cpu(), words(begin, 300, CPU))
        offsets = torch.tensor([0, 1, 5, 2**33, 2**62])
        assert torch.equal(words_at(begin, offsets.cuda()).cpu(), words_at(begin, offsets))
        for low, high in ((0, 10), (-(2**63), 2**63 - 1), (-5, 2**33)):
            drawn = [draw.integers((101,), low, high, torch.int64, begin, device).cpu() for device in (CUDA, CPU)]
            assert torch.equal(*drawn)
"""


def test_triton_draws_the_numbers_of_the_cpu(run_python):
    every = "[torch.float32, torch.float16, torch.bfloat16, torch.float64]"
    run_python(WAYS + f"assert card.functions() is not None\ncheck({every})")


def test_pytorchs_ops_draw_the_same_where_there_is_no_triton(run_python):
    run_python(WAYS + "card._found = None\ncheck([torch.float32, torch.float64])")


def test_large_draws_are_the_same(run_python):
    run_python(
        WAYS + "for begin in PLACES:\n"
        "    found = draw.normal((4_000_001,), torch.float32, begin, CUDA)\n"
        "    assert torch.equal(found.cpu(), draw.normal((4_000_001,), torch.float32, begin, CPU))\n"
    )


def test_programs_with_seeds_draw_tensorflows_numbers(run_python):
    """The programs of ``tests/unit/ops/seeded_calls.py`` on the card, against what TensorFlow drew."""
    run_python(
        "import situs as tf\n"
        "from tests.unit.ops.test_seeded import CALLS, check\n"
        "tf.config.set_soft_device_placement(True)\n"
        "with tf.device('/GPU:0'):\n"
        "    for name in CALLS:\n"
        "        tf.random.set_seed(None)\n"
        "        check(name)\n"
    )


def test_captured_steps_go_on_with_their_streams(run_python):
    """Random numbers of a step that has become a CUDA graph: each run draws the next ones, as on the CPU."""
    run_python(
        "import numpy as np, situs, situs.compat.v1 as tf\n"
        "def drawn(device):\n"
        "    with tf.Graph().as_default(), tf.device(device):\n"
        "        tf.set_random_seed(5)\n"
        "        w = tf.Variable(tf.truncated_normal([64, 64]))\n"
        "        noise = tf.random_normal([32, 64])\n"
        "        x = tf.nn.dropout(tf.ones([32, 64]), rate=0.5)\n"
        "        for _ in range(4):\n"
        "            x = tf.nn.relu(x + 0.5) - 0.25 * noise\n"
        "        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:\n"
        "            session.run(tf.global_variables_initializer())\n"
        "            return [session.run([w, noise, x]) for _ in range(40)]\n"
        "for one, other in zip(drawn('/gpu:0'), drawn('/cpu:0')):\n"
        "    assert np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1])\n"
        "    np.testing.assert_allclose(one[2], other[2], rtol=1e-6, atol=1e-6)\n"
    )


def test_functions_and_generators_draw_on_the_card(run_python):
    run_python(
        "import numpy as np, situs as tf\n"
        "def drawn(device):\n"
        "    with tf.device(device):\n"
        "        tf.random.set_seed(3)\n"
        "        g = tf.random.Generator.from_seed(9)\n"
        "        step = tf.function(lambda: (tf.random.normal([3]), g.uniform([5]), tf.random.uniform([2], seed=4)))\n"
        "        made = [step() for _ in range(30)]\n"
        "        assert all(('GPU' in t.device) == ('gpu' in device) for t in made[0]), made[0][0].device\n"
        "        return [np.concatenate([t.numpy() for t in each]) for each in made]\n"
        "np.testing.assert_array_equal(drawn('/gpu:0'), drawn('/cpu:0'))\n"
    )


def test_positions_in_the_memory_of_the_card_are_read_there(run_python):
    run_python(
        WAYS + "from situs._src.ops.philox.words import Placed\n"
        "def signed(word): return word - 2**64 if word >= 2**63 else word\n"
        "def compare(placed, begin):\n"
        "    for n in (1, 1023, 1024, 1025, 70_001):\n"
        "        for what in ('uniform', 'normal', 'truncated_normal'):\n"
        "            for dtype in (torch.float32, torch.float16):\n"
        "                if dtype is torch.float16 and what == 'truncated_normal': continue\n"
        "                on_card = getattr(draw, what)((n,), dtype, placed, CUDA)\n"
        "                assert torch.equal(on_card.cpu(), getattr(draw, what)((n,), dtype, begin, CPU)), (what, n)\n"
        "    assert torch.equal(words(placed, 300, CUDA).cpu(), words(begin, 300, CPU))\n"
        "for has_triton in (True, False):\n"
        "    if not has_triton: card._found = None\n"
        "    for begin in PLACES:\n"
        "        numbers = [signed(each) for each in (begin.key, begin.counter % 2**64, begin.counter // 2**64)]\n"
        "        compare(Placed(torch.tensor(numbers, device=CUDA), False), begin)\n"
        "        compare(Placed(torch.tensor([0, *numbers], device=CUDA)[1:], False), begin)  # 8 bytes further on\n"
        "    for seed in ((1, 2), (-5, 2**40), (2**63 - 1, -2**63)):\n"
        "        compare(Placed(torch.tensor(seed, device=CUDA), True), scrambled(*seed))\n"
    )


CAPTURED = """
import numpy as np, situs as tf
from situs._src.runtime.run.cuda_graph import CAPTURED_AFTER
RUNS = CAPTURED_AFTER + 15
def captures_of(function):
    traces = [function._graphs, *function._of_replicas.values()]
    ready = [each for graphs in traces for concrete in graphs for each in concrete._programs.values()]
    return [each._program._capturing.captured for each in ready if each._program._capturing is not None]
"""


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_captured_step_reads_its_seed_on_the_card(run_python, dtype):
    run_python(
        CAPTURED + "DRAWS = [lambda s: tf.random.stateless_uniform([50, 30], s),\n"
        "         lambda s: tf.random.stateless_normal([3001], s),\n"
        "         lambda s: tf.random.stateless_truncated_normal([77], s),\n"
        "         lambda s: tf.random.stateless_uniform([9], s, 0, 100, tf.int32),\n"
        "         lambda s: tf.random.stateless_normal([70], s, dtype=tf.bfloat16)]\n"
        "with tf.device('/GPU:0'):\n"
        "    state = tf.Variable([5, 2**40 - 3], dtype=tf.int64)\n"
        "    @tf.function\n"
        "    def step(x):\n"
        f"        seed = tf.cast((state * 1) % (2**31 - 1), tf.{dtype})\n"
        "        state.assign_add([0, 1])\n"
        "        for _ in range(8): x = tf.tanh(x)\n"
        "        return [draw(seed) for draw in DRAWS], x\n"
        "    for turn in range(RUNS):\n"
        "        made, _ = step(tf.ones([3]))\n"
        "        with tf.device('/CPU:0'):\n"
        "            for one, draw in zip(made, DRAWS):\n"
        "                assert 'GPU' in one.device\n"
        "                np.testing.assert_array_equal(one, draw([5, (2**40 - 3 + turn) % (2**31 - 1)]))\n"
        "assert captures_of(step)[0] is not None\n"
        "assert state.numpy().tolist() == [5, 2**40 - 3 + RUNS]\n"
    )


def test_a_generator_whose_state_lies_on_the_card_is_captured(run_python):
    run_python(
        CAPTURED + "strategy = tf.distribute.OneDeviceStrategy('/GPU:0')\n"
        "with strategy.scope():\n"
        "    g, beside = (tf.random.Generator.from_state([-2, 7, 11], 'philox') for _ in range(2))\n"
        "    assert 'GPU' in g.state.device\n"
        "    @tf.function\n"
        "    def step(x):\n"
        "        for _ in range(8): x = tf.tanh(x)\n"
        "        return g.normal([3000]), g.uniform([2, 2]), x\n"
        "    for _ in range(RUNS):\n"
        "        made = strategy.run(step, args=(tf.ones([3]),))\n"
        "        expected = strategy.run(lambda: (beside.normal([3000]), beside.uniform([2, 2])))\n"
        "        for one, other in zip(made[:2], expected): np.testing.assert_array_equal(one, other)\n"
        "np.testing.assert_array_equal(g.state, beside.state)\n"
        "assert captures_of(step)[0] is not None\n"
    )


def test_a_keras_step_with_dropout_is_captured(run_python):
    """Its losses are those of the CPU."""
    run_python(
        CAPTURED + "def losses(device):\n"
        "    with tf.device(device):\n"
        "        keras = tf.keras\n"
        "        keras.utils.set_random_seed(3)\n"
        "        layers = keras.layers\n"
        "        model = keras.Sequential([layers.Dense(64, 'relu'), layers.Dropout(0.4), layers.Dense(1)])\n"
        "        optimizer = keras.optimizers.SGD(0.05)\n"
        "        x = tf.reshape(tf.linspace(-1.0, 1.0, 640), [160, 4])\n"
        "        model.build(x.shape)\n"
        "        optimizer.build(model.trainable_variables)\n"
        "        @tf.function\n"
        "        def step(x):\n"
        "            with tf.GradientTape() as tape:\n"
        "                loss = tf.reduce_mean(tf.square(model(x, training=True) - 1.0))\n"
        "            optimizer.apply(tape.gradient(loss, model.trainable_variables))\n"
        "            return loss\n"
        "        return [float(step(x)) for _ in range(RUNS)], step\n"
        "tf.config.experimental.enable_tensor_float_32_execution(False)\n"
        "found, step = losses('/GPU:0')\n"
        "np.testing.assert_allclose(found, losses('/CPU:0')[0], rtol=1e-4)\n"
        "assert captures_of(step)[0] is not None\n"
    )
