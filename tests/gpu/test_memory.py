"""Memory on a real NVIDIA card: what policies take, what limits bound, what is given back. Skipped where there is none.

Each program runs in a process of its own, because policies are settled once per process. NVML, which sees the card
from outside, is the truth for what is taken; the programs count what their tensors hold by themselves.
"""

from __future__ import annotations

import re

import pytest

from situs._src.base.devices.physical import find_cards
from tests.conftest import STUCK
from tests.gpu import memory_table
from tests.gpu.memory_table import FRACTION, GPU, GROWTH, HEAD, HOLD, LIMIT, RELEASE, SITUS, USE, read

LOCAL = "/job:localhost/replica:0/task:0"
MIB = 2**20
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not find_cards(), reason="needs an NVIDIA card and a PyTorch with CUDA"),
]

INFO = "def info(name='GPU:0'): return tf.config.experimental.get_memory_info(name)\n"
OOM = """
def oom(call):
    try:
        call()
    except tf.errors.ResourceExhaustedError as error:
        return str(error)
    raise AssertionError("there was room")
def fill(size):
    kept = []
    try:
        while True: kept.append(tf.zeros([size // 4]))
    except tf.errors.ResourceExhaustedError:
        return kept
"""
LIMITED = SITUS + GPU + LIMIT.format(2048) + INFO + OOM + "LIMIT = 2048 * MIB\n"
GROWING = SITUS + GROWTH + LIMIT.format(2048) + INFO + OOM + "LIMIT = 2048 * MIB\n"


@pytest.fixture
def measure(run_forked):
    """Gives the figures of a program after it has run, in bytes."""
    return lambda program, **env: read(run_forked(program + "tell()\n", **env))


@pytest.fixture(scope="module")
def context(forking, tmp_path_factory) -> int:
    """What CUDA takes of the card for a process before it has a tensor."""
    program = HEAD + "import torch\ntorch.cuda.synchronize()\ntell()\n"
    return read(forking.run(program, tmp_path_factory.mktemp("context"), STUCK).out)["nvml"]


def test_the_context_is_small_and_known(context):
    print(f"CUDA's context: {context / MIB:.0f} MiB")
    assert 0 < context < 1024 * MIB


# What policies take.


def session(setting: str = "") -> str:
    """A program that asks for a policy in the options of a session."""
    run = "with tf1.Session(config=config) as s: s.run(tf1.add(1.0, 2.0))\n"
    return f"{SITUS}config = tf1.ConfigProto()\n{setting}\n{run}"


MAP_ALL = {"the default": SITUS + USE, "a session": session()}
GROWN = {
    "for one GPU": SITUS + GROWTH + USE,
    "for all": SITUS + "tf.config.gpu.set_per_process_memory_growth()\n" + USE,
    "by a session": session("config.gpu_options.allow_growth = True"),
}
SHARED = {
    "by the process": SITUS + FRACTION + USE,
    "by a session": session("config.gpu_options.per_process_gpu_memory_fraction = 0.4"),
}


@pytest.mark.parametrize("program", MAP_ALL.values(), ids=MAP_ALL)
def test_map_all_takes_nearly_everything(program, measure):
    found = measure(program)
    assert 0.9 * found["total"] <= found["nvml"] <= found["total"]
    assert found["reserved"] >= 0.9 * found["total"]


@pytest.mark.parametrize("program", GROWN.values(), ids=GROWN)
def test_growth_starts_small(program, context, measure):
    found = measure(program)
    assert found["nvml"] - context < 0.02 * found["total"]
    assert found["reserved"] <= 64 * MIB


def test_the_environment_can_force_growth(context, measure):
    found = measure(SITUS + USE, TF_FORCE_GPU_ALLOW_GROWTH="true")
    assert found["nvml"] - context < 0.02 * found["total"]
    off = measure(SITUS + GROWTH + USE, TF_FORCE_GPU_ALLOW_GROWTH="false")
    assert off["nvml"] >= 0.9 * off["total"]


@pytest.mark.parametrize("program", SHARED.values(), ids=SHARED)
def test_a_fraction_is_taken_at_once(program, measure):
    found = measure(program)
    assert 0.38 * found["total"] <= found["nvml"] <= 0.42 * found["total"]
    assert found["reserved"] <= 0.4 * found["total"]


def test_two_processes_share_a_card_and_compute_side_by_side():
    """The picture of the seed: two processes at 0.4, each with 40 % of the card."""
    found = memory_table.side_by_side()
    for number, figures in enumerate(found):
        print(f"process {number}: {figures['nvml'] / MIB:.0f} MiB of {figures['total'] / MIB:.0f} MiB")
        assert 0.38 * figures["total"] <= figures["nvml"] <= 0.42 * figures["total"]
        assert figures["products"] > 10


def test_a_limit_is_taken_at_once_and_never_exceeded(context, measure):
    found = measure(SITUS + GPU + LIMIT.format(4096) + USE)
    assert 0.9 * 4096 * MIB <= found["reserved"] <= 4096 * MIB
    assert found["nvml"] - context <= (4096 + 256) * MIB


def test_growth_and_a_limit_combine(context, run_forked, measure):
    found = measure(GROWING + USE)
    assert found["reserved"] <= 64 * MIB
    assert found["nvml"] - context < 512 * MIB
    out = run_forked(
        GROWING + "kept = fill(16 * MIB)\n"
        "print(json.dumps({'held': sum(x._value.nbytes for x in kept), **figures()}))\n"
        "assert str(info()['limit']) == str(LIMIT), info()"
    )
    full = read(out)
    assert 0.95 * 2048 * MIB <= full["held"] <= full["reserved"] <= 2048 * MIB


# Limits under random programs.

RANDOM = """
import random
rng, kept, most, refused = random.Random({seed}), [], 0, 0
def held():
    blocks = [x._value.untyped_storage() for x in kept]
    return sum({{block.data_ptr(): block.nbytes() for block in blocks}}.values())
while refused < 12:
    try:
        size = int(2 ** rng.uniform(8, 27))
        made = tf.zeros([size // 4 + 1])
        kept.append(rng.choice([lambda: made, lambda: made[1:], lambda: made + made])())
        del made
    except tf.errors.ResourceExhaustedError:
        refused += 1
        rng.shuffle(kept)
        del kept[: len(kept) // 2]
    if rng.random() < 0.2 and kept: kept.pop(rng.randrange(len(kept)))
    assert reserved() <= LIMIT, (reserved(), LIMIT)
    most = max(most, info()['current'])
    assert held() <= info()['current'] <= LIMIT, (held(), info())
made = None
kept.clear()
print(json.dumps({{'most': most, 'left': info()['current'], **figures()}}))
"""


@pytest.mark.parametrize(("program", "seed"), [(LIMITED, 1), (GROWING, 2)], ids=["taken at once", "growing"])
def test_tensors_never_exceed_a_limit_whatever_the_program_does(program, seed, run_forked, context):
    found = read(run_forked(program + RANDOM.format(seed=seed)))
    assert found["most"] >= 0.8 * 2048 * MIB  # the limit can be used, too
    assert found["left"] <= 64 * MIB  # workspaces of the matrix library, no tensors
    assert found["nvml"] - context <= (2048 + 256) * MIB


def test_many_small_tensors_fit_into_a_fraction(run_forked):
    out = run_forked(
        SITUS
        + FRACTION.replace("0.4", "0.3")
        + INFO
        + "import random\nrng = random.Random(0)\n"
        + USE
        + "first = taken()\n"
        "kept = [tf.zeros([rng.randrange(100, 25_000)]) for _ in range(10_000)]\n"
        "large = [tf.zeros([2**24]) for _ in range(4)]\n"
        "kept += [tf.zeros([rng.randrange(100, 25_000)]) for _ in range(10_000)]\n"
        "total = float(tf.add_n([tf.reduce_sum(x) for x in kept[::100]]))\n"
        "print(json.dumps({'sum': total, 'more': taken() - first, **figures()}))"
    )
    found = read(out)
    assert found["sum"] == 0.0
    assert found["reserved"] <= 0.3 * found["total"]
    assert found["more"] <= 256 * MIB  # they came out of what was taken, apart from modules of the driver


def test_two_logical_gpus_on_one_card_each_keep_to_their_own_limit(run_forked):
    out = run_forked(
        SITUS + GPU + INFO + OOM + "part = tf.config.LogicalDeviceConfiguration\n"
        "tf.config.set_logical_device_configuration(gpu, [part(memory_limit=1024), part(memory_limit=3072)])\n"
        "def on(number, size):\n"
        "    with tf.device(f'/gpu:{number}'): return fill(size)\n"
        "first = on(0, 64 * MIB)\nassert 14 <= len(first) <= 16, len(first)\n"
        "second = on(1, 64 * MIB)\nassert 44 <= len(second) <= 48, len(second)\n"
        "for number, kept in enumerate((first, second)):\n"
        "    assert info(f'GPU:{number}')['current'] == len(kept) * 64 * MIB, info(f'GPU:{number}')\n"
        "assert reserved() <= 4096 * MIB\n"
        "kept = None\nsecond.clear()\n"
        "with tf.device('/gpu:0'): text = oom(lambda: tf.zeros([2**25]))\n"
        "print(text)\n"  # there is room on the card, but not for this one
        "first.clear()\nassert info('GPU:0')['current'] == 0, info('GPU:0')\nagain = on(0, 64 * MIB)\n"
        "copied = again[0].gpu(1)\nassert info('GPU:1')['current'] == 64 * MIB\nprint('again', len(again))"
    )
    assert f"on {LOCAL}/device:GPU:0 by Full: tried to allocate 128.0 MiB" in out
    assert "limit 1024 MiB" in out
    assert re.search(r"again 1[456]\n", out)


# Giving back.


def test_released_memory_goes_back_to_the_driver(context, measure):
    after = measure(SITUS + USE + RELEASE)
    assert after["nvml"] - context <= 128 * MIB
    live = measure(SITUS + HOLD + "small = tf.ones([10])\n" + RELEASE + "assert float(tf.reduce_sum(small)) == 10.0\n")
    assert 1024 * MIB <= live["nvml"] - context <= (1024 + 256) * MIB


def test_after_a_release_a_program_goes_on(run_forked):
    out = run_forked(
        SITUS + INFO + "x = tf.ones([1000, 1000])\n" + RELEASE + "low = taken()\n"
        "y = [tf.matmul(x, x) for _ in range(3)]\nassert float(y[0][0, 0]) == 1000.0\n"
        "tf.config.experimental.release_memory('GPU:0')\nz = tf.zeros([2**28])\n"
        "assert info()['reserved'] >= 2**30\nprint('went on')"
    )
    assert out.endswith("went on\n")


def test_closing_a_session_frees_its_variables(run_forked):
    out = run_forked(
        SITUS + GROWTH + INFO + USE + "start, first = info()['current'], taken()\n"
        "with tf1.Graph().as_default() as graph:\n"
        "    with tf1.device('/gpu:0'):\n"
        "        v = tf1.Variable(tf1.zeros([2**28]))\n"
        "        y = tf1.reduce_sum(v * tf1.constant(2.0))\n"
        "    s = tf1.Session()\n"
        "    s.run(v.initializer)\n"
        "    for _ in range(30): s.run(y)\n"
        "held = info()['current']\ns.close()\nafter = info()['current']\n" + RELEASE + "last = taken()\n"
        "print(json.dumps({'start': start, 'held': held, 'after': after, 'first': first, 'last': last}))"
    )
    found = read(out)
    assert found["held"] - found["start"] >= 1024 * MIB
    assert found["after"] - found["start"] <= 64 * MIB
    assert found["last"] - found["first"] <= 256 * MIB


# Running out.


def test_a_hundred_times_out_of_memory_in_eager_code(run_forked):
    out = run_forked(
        LIMITED + "import gc\na = tf.ones([1000, 1000])\ntf.matmul(a, a)\n" + RELEASE + "gc.disable()\n"
        "start, first = info()['current'], taken()\n"
        "for cycle in range(100):\n"
        "    kept = fill(128 * MIB)\n    assert 14 <= len(kept) <= 16, (cycle, len(kept))\n    kept = None\n"
        "    oom(lambda: tf.zeros([2**31]))\n"
        "    assert info()['current'] == start, (cycle, info(), start)\n"
        "assert float(tf.matmul(a, a)[0, 0]) == 1000.0\n" + RELEASE + "print('grew', (taken() - first) / MIB)"
    )
    assert abs(float(out.split("grew")[1])) <= 32


def test_a_hundred_times_out_of_memory_in_graphs_leaves_variables_intact(run_forked):
    out = run_forked(
        LIMITED + "import gc\nimport numpy as np\n"
        "with tf1.Graph().as_default(), tf1.device('/gpu:0'):\n"
        "    n = tf1.placeholder(tf.int32, [])\n"
        "    v = tf1.Variable(tf1.ones([2**27]))\n"  # 512 MiB
        "    w = tf1.Variable(np.arange(1000, dtype=np.float32))\n"
        "    big = tf1.reduce_sum(tf1.zeros([n, 2**20]) + 1.0)\n"
        "    change = [w.assign_add(tf1.ones([1000])).op, big]\n"
        "    many = tf1.reduce_sum(tf1.concat([v, v, v], 0))\n"
        "    s = tf1.Session()\n"
        "    s.run(tf1.global_variables_initializer())\n"
        "    s.run(big, {n: 1}), s.run(change, {n: 1}), s.run(w.initializer)\n"
        "    tf.config.experimental.release_memory()\n    gc.disable()\n    start, first = info()['current'], taken()\n"
        "    for cycle in range(100):\n"
        "        for call in (lambda: s.run(big, {n: 450}), lambda: s.run(many), lambda: s.run(big, {n: 10**6})):\n"
        "            assert 'OOM when allocating' in oom(call)\n"
        "        assert info()['current'] == start, (cycle, info(), start)\n"
        "    oom(lambda: s.run(change, {n: 450}))\n"
        "    assert s.run(tf1.reduce_sum(v)) == 2.0**27\n"
        "    found = s.run(w) - np.arange(1000)\n"
        "    assert (found == found[0]).all() and found[0] in (0.0, 1.0), found\n"
        "    assert s.run(big, {n: 2}) == 2.0**21\n"
        "    tf.config.experimental.release_memory()\n    print('grew', (taken() - first) / MIB)"
    )
    assert abs(float(out.split("grew")[1])) <= 32


def test_the_error_says_what_was_asked_for_and_who_holds_what(run_forked):
    out = run_forked(
        LIMITED + "kept = [tf.zeros([2**26]) for _ in range(4)]\n"
        "w = tf.Variable(tf.ones([2**25]))\n"
        "print(oom(lambda: tf.zeros([4, 2**26])))\n"
        "with tf.device('/cpu:0'): host = tf.ones([2**28])\n"
        "print(oom(lambda: tf.reduce_sum(host)))"
    )
    line = LIMITED.count("\n") + 1
    first, second = out.split("OOM when allocating")[1:]
    assert first.startswith(f" tensor with shape[4,67108864] and type float on {LOCAL}/device:GPU:0 by Full: 1.0 GiB")
    assert "(limit 2048 MiB; " in first
    assert re.search(rf"\n +1.0 GiB  Full, 4 tensors  program.py:{line}\n +128.0 MiB  .*program.py:{line + 1}\n", first)
    assert "tf.memory.snapshot()" in first
    assert f"on {LOCAL}/device:GPU:0 by " in second
    assert "tried to allocate 1.0 GiB, with 1.1 GiB of 2.0 GiB in use" in second


# Figures.


def test_the_figures_follow_the_tensors(run_forked):
    out = run_forked(
        GROWING
        + "def about(found, size): assert size <= found < size + MIB, found\n"  # a block may not be worth splitting
        "a = tf.ones([512, 512])\ntf.matmul(a, a)\nstart = info()\n"
        "x = tf.zeros([2**22])\nabout(info()['current'] - start['current'], 16 * MIB)\n"
        "y = tf.reshape(x, [2**11, 2**11])\nabout(info()['current'] - start['current'], 16 * MIB)\n"
        "del x, y\nassert info()['current'] == start['current']\n"
        "assert info()['peak'] >= start['current'] + 16 * MIB\n"
        "tf.config.experimental.reset_memory_stats('GPU:0')\nassert info()['peak'] == info()['current']\n"
        "tf.zeros([2**20])\nabout(info()['peak'] - info()['current'], 4 * MIB)\n"
        "assert info()['current'] == torch.cuda.memory_allocated()\n"
        "assert info()['reserved'] == torch.cuda.memory_reserved()\n"
        "assert info()['limit'] == LIMIT\nprint('followed')"
    )
    assert out.endswith("followed\n")


STEPS = """
import numpy as np
rng = np.random.default_rng(0)
with tf1.Graph().as_default(), tf1.device('/gpu:0'):
    x = tf1.placeholder(tf.float32, [None, 784])
    h = x
    for rows, columns in ((784, 1024), (1024, 1024), (1024, 10)):
        w = tf1.Variable(rng.standard_normal((rows, columns), dtype=np.float32) / 30)
        h = tf1.nn.relu(tf1.nn.bias_add(tf1.matmul(h, w), tf1.Variable(np.zeros(columns, np.float32))))
    total = tf1.reduce_sum(h)
    counter = tf1.Variable(0.0)
    step = [total, counter.assign_add(1.0).op]
    s = tf1.Session()
    s.run(tf1.global_variables_initializer())
    for _ in range(60): s.run({fetches}, {{x: np.ones((128, 784), np.float32)}})
    before, first = reserved(), taken()
    for _ in range(1000): s.run({fetches}, {{x: np.ones((128, 784), np.float32)}})
    print(json.dumps({{'more': reserved() - before, 'seen': taken() - first}}))
"""


@pytest.mark.parametrize("fetches", ["total", "step"], ids=["captured", "with an assignment"])
def test_a_thousand_steps_take_no_more_memory(fetches, run_forked):
    found = read(run_forked(SITUS + GROWTH + STEPS.format(fetches=fetches)))
    assert found["more"] == 0
    assert found["seen"] <= 2 * MIB


def test_a_thousand_eager_steps_take_no_more_memory(run_forked):
    out = run_forked(
        SITUS + GROWTH + "w = tf.Variable(tf.ones([1024, 1024]))\n"
        "def step():\n"
        "    x = tf.ones([128, 1024])\n"
        "    h = tf.nn.relu(tf.matmul(x, w))\n"
        "    w.assign_sub(1e-9 * tf.matmul(x, h, transpose_a=True))\n"
        "for _ in range(50): step()\n"
        "before = reserved()\nfor _ in range(1000): step()\nprint(json.dumps({'more': reserved() - before}))"
    )
    assert read(out)["more"] == 0
