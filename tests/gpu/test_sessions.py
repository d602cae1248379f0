"""Graphs and sessions on a real NVIDIA card. Skipped where there is none.

Each program runs in a process of its own, because devices and memory are settled once per process.
"""

from __future__ import annotations

import pytest

from situs._src.base.devices.physical import find_cards

LOCAL = "/job:localhost/replica:0/task:0"
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not find_cards(), reason="needs an NVIDIA card and a PyTorch with CUDA"),
]

SEED = """
import situs.compat.v1 as tf
a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
c = tf.matmul(a, b)
sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))
print(sess.run(c))
"""

CHAIN = """
import numpy as np
import situs.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 4])
v = tf.Variable(np.eye(4, dtype=np.float32))
h = x
for _ in range(20):
    h = tf.matmul(h, v) + 0.25
change = v.assign(2.0 * tf.eye(4))
sess = tf.Session()
sess.run(v.initializer)
def expected(fed, matrix):
    for _ in range(20):
        fed = fed @ matrix + np.float32(0.25)
    return fed
def program(fetch):
    return next(p.program for p in sess._prepared.values() if p.fetches.tensors == [fetch])
"""


def test_the_first_seed_program_runs_on_the_card(run_python):
    out = run_python(SEED)
    assert f"Device mapping:\n{LOCAL}/device:GPU:0 -> device: 0, name: NVIDIA" in out
    assert "pci bus id: 0000" in out
    for line in ("MatMul", "a", "b"):
        assert f"\n{line}: {LOCAL}/device:GPU:0\n" in out
    assert out.endswith("[[22. 28.]\n [49. 64.]]\n")


def test_towers_on_logical_gpus_of_one_card(run_python):
    out = run_python(
        "import situs\ngpu = situs.config.list_physical_devices('GPU')[0]\n"
        "part = situs.config.LogicalDeviceConfiguration(memory_limit=1024)\n"
        "situs.config.set_logical_device_configuration(gpu, [part] * 4)\n"
        "import situs.compat.v1 as tf\nc = []\n"
        "for d in ['/gpu:2', '/gpu:3']:\n"
        "  with tf.device(d):\n"
        "    a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3])\n"
        "    b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2])\n"
        "    c.append(tf.matmul(a, b))\n"
        "with tf.device('/cpu:0'):\n  sum = tf.add_n(c)\n"
        "sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))\nprint(sess.run(sum))"
    )
    assert f"MatMul_1: {LOCAL}/device:GPU:3" in out
    assert f"AddN: {LOCAL}/device:CPU:0" in out
    assert out.endswith("[[ 44.  56.]\n [ 98. 128.]]\n")


def test_a_program_is_captured_and_sees_new_values_of_variables_and_feeds(run_python):
    out = run_python(
        CHAIN + "fed = np.ones((3, 4), np.float32)\n"
        "for _ in range(40): first = sess.run(h, {x: fed})\n"
        "assert program(h)._capturing.captured is not None\n"
        "np.testing.assert_allclose(first, expected(fed, np.eye(4, dtype=np.float32)), rtol=1e-5)\n"
        "sess.run(change.op)\n"
        "twice = 2 * np.eye(4, dtype=np.float32)\n"
        "np.testing.assert_allclose(sess.run(h, {x: fed}), expected(fed, twice), rtol=1e-5)\n"
        "np.testing.assert_allclose(sess.run(h, {x: 3 * fed}), expected(3 * fed, twice), rtol=1e-5)\n"
        "other = np.ones((5, 4), np.float32)\n"
        "np.testing.assert_allclose(sess.run(h, {x: other}), expected(other, twice), rtol=1e-5)\n"
        "print('same')"
    )
    assert out.endswith("same\n")


def test_threads_share_a_captured_program(run_python):
    out = run_python(
        CHAIN + "import threading\nwrong = []\n"
        "def work(number):\n"
        "  fed = np.full((3, 4), number, np.float32)\n"
        "  right = expected(fed, np.eye(4, dtype=np.float32))\n"
        "  for _ in range(200):\n"
        "    if not np.allclose(sess.run(h, {x: fed}), right): wrong.append(number)\n"
        "threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "assert program(h)._capturing.captured is not None\nprint('wrong', wrong)"
    )
    assert out.endswith("wrong []\n")


def test_a_program_that_looks_at_values_is_not_captured_and_still_right(run_python):
    out = run_python(
        "import numpy as np\nimport situs.compat.v1 as tf\nx = tf.placeholder(tf.float32, [None])\nh = x\n"
        "for _ in range(12): h = tf.boolean_mask(h, h > -1.0) + 1.0\nsess = tf.Session()\n"
        "for _ in range(40): made = sess.run(h, {x: np.zeros(5, np.float32)})\nprint(made.tolist())"
    )
    assert out.endswith("[12.0, 12.0, 12.0, 12.0, 12.0]\n")


def test_large_copies_go_on_a_stream_of_their_own_and_are_whole(run_python):
    out = run_python(
        "import situs\ngpu = situs.config.list_physical_devices('GPU')[0]\n"
        "part = situs.config.LogicalDeviceConfiguration(memory_limit=8192)\n"
        "situs.config.set_logical_device_configuration(gpu, [part] * 2)\n"
        "import numpy as np\nimport situs.compat.v1 as tf\nx = tf.placeholder(tf.float32, [2048, 2048])\n"
        "with tf.device('/gpu:0'): a = tf.matmul(x, x)\n"
        "with tf.device('/gpu:1'): b = tf.matmul(a, x) - tf.matmul(x, a)\n"
        "with tf.device('/gpu:0'): c = b + a\n"
        "sess = tf.Session()\nfed = np.eye(2048, dtype=np.float32) * 3\n"
        "for _ in range(10):\n  made = sess.run(c, {x: fed})\n  assert np.array_equal(made, np.eye(2048) * 9)\n"
        "from situs._src.runtime.plan import transfer\nprint('streams', len(transfer._streams))"
    )
    assert out.endswith("streams 1\n")


def test_out_of_memory_leaves_the_session_usable(run_python):
    out = run_python(
        "import situs.compat.v1 as tf\nn = tf.placeholder(tf.int32, [])\nbig = tf.reduce_sum(tf.zeros([n, 2**20]))\n"
        "sess = tf.Session()\ntry: sess.run(big, {n: 10**6})\n"
        "except tf.errors.ResourceExhaustedError as e: print('refused', '{{node' in str(e))\n"
        "print(sess.run(big, {n: 4}))"
    )
    assert out.endswith("refused True\n0.0\n")


def test_functions_run_on_the_card_and_are_captured(run_python):
    out = run_python(
        "import situs as tf, numpy as np\n@tf.function\ndef f(x):\n"
        "  for _ in range(10): x = tf.matmul(x, x) * 0.5\n  return x\n"
        "a = tf.ones([2, 2])\nfor _ in range(40): made = f(a)\nprint(made.device)\nkept = f(a)\nf(a * 3.0)\n"
        "np.testing.assert_allclose(kept.numpy(), made.numpy())\nprint('kept')"
    )
    assert out.endswith(f"{LOCAL}/device:GPU:0\nkept\n")


def test_a_trace_has_the_card_as_a_device(run_python):
    out = run_python(
        SEED + "m = tf.RunMetadata()\n"
        "sess.run(c, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=m)\n"
        "print(sorted(d.device for d in m.step_stats.dev_stats))"
    )
    assert f"{LOCAL}/device:GPU:0" in out.splitlines()[-1]


def test_large_feeds_that_change_in_every_run_arrive_whole(run_python):
    """They go through pinned memory, which the host fills anew while the card is still at the runs before."""
    out = run_python(
        "import numpy as np\nimport situs as tf\n"
        "with tf.device('/gpu:0'):\n"
        "    total = tf.Variable(tf.zeros([300_000]))\n"
        "    @tf.function\n"
        "    def step(x):\n"
        "        y = x\n"
        "        for _ in range(10): y = y * 2.0 - x\n"
        "        total.assign_add(y)\n"
        "        return tf.reduce_sum(y[:10])\n"
        "    fed = np.empty(300_000, np.float32)\n"
        "    for turn in range(200):\n"
        "        fed[:] = turn % 7\n"
        "        made = step(tf.constant(fed) if turn % 2 else fed)\n"
        "    right = float(sum(turn % 7 for turn in range(200)))\n"
        "    assert np.all(total.numpy() == right), (total.numpy()[:3], right)\n"
        "print('whole')"
    )
    assert "whole" in out.splitlines()
