"""``situs demo``: a program placed on the devices of this machine, with its log and its reasons; then a model in two
halves, each on a GPU of its own, that trains.

With four GPUs it uses them; with fewer it splits the first GPU in four; without a GPU it uses
four virtual GPUs. The program is the same in all three. It ends with the address of a report on all of it.
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
TRAINING = """
# A model in two halves, each on a GPU of its own, trained as one graph.
with tf.device('/device:GPU:0'):
  w1 = tf.Variable(0.1 * tf.random.stateless_normal([64, 256], seed=[1, 2]))
with tf.device('/device:GPU:1'):
  w2 = tf.Variable(0.1 * tf.random.stateless_normal([256, 1], seed=[3, 4]))
x = tf.random.stateless_normal([512, 64], seed=[5, 6])
y = tf.reduce_sum(x[:, :3], axis=1, keepdims=True)

@tf.function
def step():
  with tf.GradientTape() as tape:
    with tf.device('/device:GPU:0'):
      h = tf.nn.relu(tf.matmul(x, w1))
    with tf.device('/device:GPU:1'):
      loss = tf.reduce_mean((tf.matmul(h, w2) - y) ** 2)
  for v, g in zip([w1, w2], tape.gradient(loss, [w1, w2])):
    v.assign_sub(0.01 * g)
  return loss

for i in range(31):
  loss = step()
  if i % 10 == 0:
    print('step', i, 'loss', round(float(loss), 3))
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
    path = Path(tempfile.mkdtemp(prefix="situs-")) / "demo.html"  # a name that nobody else has taken
    whole = PROGRAM + TRAINING
    linecache.cache[NAME] = (len(whole), None, whole.splitlines(keepends=True), NAME)
    names: dict[str, Any] = {"__name__": "__demo__"}
    with Report(path, "situs demo", "situs demo"):
        _show("The program:", PROGRAM)
        exec(compile(PROGRAM, NAME, "exec"), names)
        names["tf"].debugging.set_log_device_placement(False)
        print("\nWhy each op ran where it did:\n")
        print(explain())
        _show("It goes on:", TRAINING)
        exec(compile("\n" * PROGRAM.count("\n") + TRAINING, NAME, "exec"), names)
    print(f"\nThe whole story, as a page: {path.as_uri()}")
    print("Of any program: situs run --report out.html program.py")


def _show(title: str, program: str) -> None:
    print(f"\n{title}\n")
    print("\n".join(f"    {line}" for line in program.strip().splitlines()))
    print("\nWhat it prints:\n", flush=True)


def _provide_gpus() -> str:
    """Makes sure that there are four GPUs of some kind; returns a sentence about them."""
    gpus = process.physical("GPU")
    if not gpus:
        # CUDA_VISIBLE_DEVICES chooses among virtual GPUs too; with no GPU there is nothing it should hide.
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        process.set_virtual_gpus(VirtualGpus(GPUS))
        return f"No GPU for this process: {GPUS} virtual ones stand in."
    if len(gpus) >= GPUS:
        return f"{len(gpus)} GPUs for this process."
    process.set_split(gpus[0], [LogicalDeviceConfiguration(memory_limit=256)] * (GPUS - len(gpus) + 1))
    return f"{len(gpus)} GPU(s) for this process: the first is split to make {GPUS} logical ones."
