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
