"""What the ledger and a recording add to an eager op, in a process of its own: prints nanoseconds per call as JSON.

The step that the dispatcher remembers for an op holds the counted kernel; the kernel alone is put in its place and
taken out again, in turns. On the CPU a step holds the kernel itself: there is nothing to take out. A recording is
compared with the counted op.
"""

import json
import os
import timeit

import torch

if not torch.cuda.is_available():
    os.environ["SITUS_VIRTUAL_GPUS"] = "1x64MiB"
os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"

import situs as tf
from situs._src.base.devices.scope import here

ROUNDS, CALLS = 25, 4000
RECORDED_ROUNDS = 5  # a recording keeps what it has seen
GPU = "card" if torch.cuda.is_available() else "virtual GPU"


def remembered(call):
    """The step that a call has just used: the memo is empty before."""
    here.memo.clear()
    call()
    (step,) = here.memo.values()
    return step


def cost(call):
    """Nanoseconds per call, the best of several rounds in turns: with the ledger, and without."""
    step = remembered(call)
    counted, alone = step.run, getattr(step.run, "__wrapped__", step.run)
    if counted is alone:
        time = min(_round(call) for _ in range(ROUNDS))
        return {"counted": time, "alone": time}
    best = {"counted": float("inf"), "alone": float("inf")}
    for _ in range(ROUNDS):
        for name, run in (("counted", counted), ("alone", alone)):
            step.run = run
            best[name] = min(best[name], _round(call))
    return best


def recording_cost(call):
    """Nanoseconds per call, the best of several rounds: while memory is recorded, and without."""
    alone = min(_round(call) for _ in range(RECORDED_ROUNDS))
    with tf.memory.record():
        return {"counted": min(_round(call) for _ in range(RECORDED_ROUNDS)), "alone": alone}


def _round(call):
    return timeit.timeit(call, number=CALLS) / CALLS * 1e9


def measure():
    """The cost of small sums and products on the CPU and on the GPU."""
    figures = {}
    for device, label in (("/cpu:0", "CPU"), ("/gpu:0", GPU)):
        with tf.device(device):
            a, b = tf.ones([2, 3]), tf.ones([3, 2])
            figures[f"ledger, add on the {label}"] = cost(lambda a=a: tf.add(a, a))
            figures[f"ledger, matmul on the {label}"] = cost(lambda a=a, b=b: tf.matmul(a, b))
    with tf.device("/gpu:0"):
        large = tf.ones([128, 128])  # so large that it is listed on a card
        figures[f"recording, add on the {GPU}"] = recording_cost(lambda: tf.add(large, large))
    return figures


if __name__ == "__main__":
    print(json.dumps(measure()))
