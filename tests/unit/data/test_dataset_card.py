"""On a real card: elements go through pinned memory, on a stream of their own, while the program's stream computes."""

from __future__ import annotations

import pytest

from situs._src.base.devices.physical import find_cards

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not find_cards(), reason="needs an NVIDIA card and a PyTorch with CUDA"),
]

PROGRAM = """
import json, sys, tempfile, time
import numpy as np, torch
import situs as tf, situs.data

rows = np.random.default_rng(0).random((64, 512, 1024), np.float32)
batches = situs.data.Dataset.from_tensor_slices(rows).batch(8).repeat(6)
ahead = batches.apply(situs.data.experimental.prefetch_to_device("/gpu:0"))
with tf.device("/gpu:0"):
    weights = tf.random.normal([1024, 1024])

def work(batch):
    for _ in range(12):
        batch = tf.matmul(batch, weights) * 0.01
    return batch

def epoch(dataset):
    start = time.perf_counter()
    with tf.device("/gpu:0"):
        for batch in dataset:
            made = work(batch)
        made.numpy()
    return time.perf_counter() - start

first = next(iter(ahead))
assert first.device.endswith("GPU:0")
np.testing.assert_array_equal(first.numpy(), rows[:8])
epoch(batches), epoch(ahead)
for name, dataset in [("on demand", batches), ("ahead", ahead)]:
    print(name, "%.1f ms" % (1e3 * min(epoch(dataset), epoch(dataset))))

kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
with torch.profiler.profile(activities=kinds) as profile:
    epoch(ahead)
with tempfile.NamedTemporaryFile(suffix=".json") as file:
    profile.export_chrome_trace(file.name)
    events = json.load(open(file.name))["traceEvents"]
copies = [e for e in events if e.get("cat") == "gpu_memcpy" and "HtoD" in e["name"]]
kernels = [e for e in events if e.get("cat") == "kernel"]
large = [e for e in copies if e["args"].get("bytes", 0) > 2**20]
print("copies", len(large), "pinned", sum("Pinned" in e["name"] for e in large))
print("streams", not {e["args"]["stream"] for e in large} & {e["args"]["stream"] for e in kernels})
beside = [c for c in large if any(k["ts"] < c["ts"] + c["dur"] and c["ts"] < k["ts"] + k["dur"] for k in kernels)]
print("beside", len(beside))
"""


def test_a_trace_shows_copies_beside_kernels(run_python):
    lines = run_python(PROGRAM).splitlines()
    print(*lines, sep="\n")
    found = dict(line.split(" ", 1) for line in lines if line.startswith(("copies", "streams", "beside")))
    count, _, pinned = found["copies"].split()
    assert int(count) == int(pinned) >= 40
    assert found["streams"] == "True"
    assert int(found["beside"]) >= int(count) // 8  # how many depends on how busy the host is


def test_values_arrive_whole_however_fast_they_are_taken(run_python):
    """Small batches, taken without waiting for the card: memory must not be used again too early."""
    program = (
        "import numpy as np, situs as tf, situs.data\n"
        "rows = np.arange(4096 * 64, dtype=np.float32).reshape(4096, 64)\n"
        "ds = situs.data.Dataset.from_tensor_slices(rows).map(lambda x: x + 1.0).batch(16)\n"
        "ds = ds.repeat(8).apply(situs.data.experimental.prefetch_to_device('/gpu:0', 4))\n"
        "with tf.device('/gpu:0'):\n"
        "    sums = [tf.reduce_sum(batch * 1.0) for batch in ds]\n"
        "    found = tf.stack(sums).numpy()\n"
        "expected = np.tile((rows + 1.0).reshape(256, -1).astype(np.float64).sum(1), 8)\n"
        "np.testing.assert_allclose(found, expected, rtol=1e-5)\n"
        "print('whole')\n"
    )
    assert run_python(program).endswith("whole\n")
