"""``situs demo``: a program placed on the devices of this machine, with its log and its reasons.

With four GPUs it uses them; with fewer it splits the first card in four; without a card it uses
four virtual GPUs. The program is the same in all three. It ends with the address of a report on the program.
"""

from __future__ import annotations

import argparse
import linecache
import os
import tempfile
from pathlib import Path
from typing import Any

from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import LogicalDeviceConfiguration
from situs._src.base.settings import VirtualGpus
from situs._src.cli import devices

GPUS = 4
NAME = "<demo>"  # of the program
PROGRAM = """
import situs as tf
tf.debugging.set_log_device_placement(True)

# One product, wherever it runs best.
a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
print(tf.matmul(a, b))

# Two towers, summed on the CPU.
c = []
for d in ['/device:GPU:2', '/device:GPU:3']:
  with tf.device(d):
    a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3])
    b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2])
    c.append(tf.matmul(a, b))
with tf.device('/cpu:0'):
  sum = tf.add_n(c)
print(sum)
"""


def add_command(commands: Any) -> None:
    """Adds ``demo`` to the command line."""
    parser = commands.add_parser("demo", help="place and run a small program, and say why")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Runs the demonstration."""
    from situs._src.inspect.explain import explain  # here, because these load PyTorch
    from situs._src.report.report import Report

    print(_provide_gpus())
    devices.run(argparse.Namespace(json=False))
    print("The program:\n")
    print("\n".join(f"    {line}" for line in PROGRAM.strip().splitlines()))
    print("\nWhat it prints:\n", flush=True)
    path = Path(tempfile.gettempdir()) / "situs-demo.html"
    linecache.cache[NAME] = (
        len(PROGRAM),
        None,
        PROGRAM.splitlines(keepends=True),
        NAME,
    )
    with Report(path, "situs demo", "situs demo"):
        exec(compile(PROGRAM, NAME, "exec"), {"__name__": "__demo__"})
    print("\nWhy each op ran where it did:\n")
    print(explain())
    print(f"\nThe whole story, as a page: {path.as_uri()}")
    print("Of any program: situs run --report out.html program.py")


def _provide_gpus() -> str:
    """Makes sure that there are four GPUs of some kind; returns a sentence about them."""
    gpus = process.physical("GPU")
    if not gpus:
        # CUDA_VISIBLE_DEVICES chooses among virtual GPUs too; with no card there is nothing it should hide.
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        process.set_virtual_gpus(VirtualGpus(GPUS))
        return f"No GPU for this process: {GPUS} virtual ones stand in."
    if len(gpus) >= GPUS:
        return f"{len(gpus)} GPUs for this process."
    process.set_split(gpus[0], [LogicalDeviceConfiguration(memory_limit=256)] * (GPUS - len(gpus) + 1))
    return f"{len(gpus)} GPU(s) for this process: the first is split to make {GPUS} logical ones."
