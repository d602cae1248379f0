"""How much of a card each memory policy takes, measured: the table of ``docs/memory.md``.

    python -m tests.gpu.memory_table

Each row is a program in a process of its own, because policies are settled once per process. NVML says what the
process has of the card, context included; PyTorch's allocator says what is taken for tensors and what tensors hold.
Needs a card that nobody else uses meanwhile.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
MIB = 2**20

# What every program begins with: NVML's figure before anything is touched.
HEAD = """
import json, sys, time
import pynvml
pynvml.nvmlInit()
card = pynvml.nvmlDeviceGetHandleByIndex(0)
MIB = 2**20
def used():
    now, before = pynvml.nvmlDeviceGetMemoryInfo(card).used, None
    while now != before:  # the driver takes its time to give back what a process had
        time.sleep(0.05)
        now, before = pynvml.nvmlDeviceGetMemoryInfo(card).used, now
    return now
TOTAL = pynvml.nvmlDeviceGetMemoryInfo(card).total
BEFORE = used()
def taken(): return used() - BEFORE
def reserved(): return torch.cuda.memory_reserved()
def figures():
    return {"total": TOTAL, "nvml": taken(), "reserved": reserved(), "tensors": torch.cuda.memory_allocated()}
def tell(): print(json.dumps(figures()), flush=True)
"""
SITUS = HEAD + "import situs as tf\nimport situs.compat.v1 as tf1\nimport torch\n"
LIMIT = "tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit={})])\n"
GPU = "gpu = tf.config.list_physical_devices('GPU')[0]\n"
GROWTH = GPU + "tf.config.experimental.set_memory_growth(gpu, True)\n"
FRACTION = "tf.config.gpu.set_per_process_memory_fraction(0.4)\n"
USE = "tf.add(1.0, 2.0)\n"
HOLD = "kept = tf.zeros([2**28])\n"  # 1 GiB
RELEASE = "tf.config.experimental.release_memory()\n"


class Row(NamedTuple):
    """A program, what it asks for and what it does, in words."""

    policy: str
    asked: str
    program: str


ROWS = [
    Row(
        "CUDA's context alone", "nothing: PyTorch, without a tensor", HEAD + "import torch\ntorch.cuda.synchronize()\n"
    ),
    Row("map all", "nothing; one op", SITUS + USE),
    Row("map all", "nothing; one op; `release_memory()`", SITUS + USE + RELEASE),
    Row("map all", "nothing; 1 GiB held; `release_memory()`", SITUS + HOLD + RELEASE),
    Row("growth", "`set_memory_growth`; one op", SITUS + GROWTH + USE),
    Row("growth", "`set_memory_growth`; 1 GiB held", SITUS + GROWTH + HOLD),
    Row("growth", "`set_memory_growth`; 1 GiB freed", SITUS + GROWTH + HOLD + "del kept\n"),
    Row(
        "growth",
        "`set_memory_growth`; 1 GiB freed; `release_memory()`",
        SITUS + GROWTH + HOLD + "del kept\n" + RELEASE,
    ),
    Row("fraction", "`set_per_process_memory_fraction(0.4)`; one op", SITUS + FRACTION + USE),
    Row("limit", "`memory_limit=4096`; one op", SITUS + GPU + LIMIT.format(4096) + USE),
    Row("limit, growing", "`memory_limit=4096` and growth; one op", SITUS + GROWTH + LIMIT.format(4096) + USE),
    Row(
        "two logical GPUs",
        "`memory_limit=2048` each; one op",
        SITUS
        + GPU
        + "half = tf.config.LogicalDeviceConfiguration(memory_limit=2048)\n"
        + "tf.config.set_logical_device_configuration(gpu, [half, half])\n"
        + USE,
    ),
]


def start(program: str, **env: str) -> subprocess.Popen[str]:
    """Starts a program that talks over pipes, with no settings but those given."""
    clean = {
        key: value for key, value in os.environ.items() if not key.startswith(("SITUS_", "CUDA_", "TF_", "PYTORCH_"))
    }
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env={**clean, "PYTHONPATH": str(ROOT), **env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def measure(program: str, **env: str) -> dict[str, int]:
    """The figures of a program after it has run, in bytes."""
    process = start(program + "tell()\n", **env)
    out, _ = process.communicate(timeout=300)
    if process.returncode != 0:
        raise RuntimeError(f"The program failed:\n{program}")
    return read(out)


def read(out: str) -> dict[str, int]:
    """The figures that a program told last."""
    found: dict[str, int] = json.loads(out.strip().splitlines()[-1])
    return found


SIDE_BY_SIDE = (
    SITUS
    + FRACTION
    + USE
    + """
tell()
sys.stdin.readline()  # until the other one is there as well
a = tf.random.uniform([4096, 4096])
ends = time.time() + 3
count = 0
while time.time() < ends:
    b = tf.matmul(a, a)
    count += 1
    float(b[0, 0])
print(json.dumps({"products": count, **figures()}), flush=True)
sys.stdin.readline()
"""
)


def side_by_side() -> list[dict[str, int]]:
    """The figures of two processes at 40 % of one card each, both computing at the same time."""
    processes, found = [], []
    try:
        for _ in range(2):
            processes.append(start(SIDE_BY_SIDE))
            found.append(_line(processes[-1]))  # NVML's figure before it was without this process, so it is its own
        for process in processes:
            _go(process)
        for number, process in enumerate(processes):
            found[number] |= {"products": _line(process)["products"]}
        return found
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def _line(process: subprocess.Popen[str]) -> dict[str, int]:
    assert process.stdout is not None
    return read(process.stdout.readline())


def _go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def main() -> None:
    """Prints the table."""
    print(
        "| policy | what the program asks for and does | NVML, this process | share | reserved for tensors | tensors |"
    )
    print("|---|---|---|---|---|---|")
    for row in ROWS:
        _print_row(row.policy, row.asked, measure(row.program))
    for number, found in enumerate(side_by_side(), 1):
        _print_row("fraction", f"0.4, process {number} of two side by side, both computing", found)


def _print_row(policy: str, asked: str, found: dict[str, int]) -> None:
    sizes = [f"{found[name] / MIB:,.0f} MiB" for name in ("nvml", "reserved", "tensors")]
    share = f"{found['nvml'] / found['total']:.1%}"
    print(f"| {policy} | {asked} | {sizes[0]} | {share} | {sizes[1]} | {sizes[2]} |", flush=True)


if __name__ == "__main__":
    main()
