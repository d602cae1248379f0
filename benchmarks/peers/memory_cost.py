"""What the ledger adds to an eager op, in a process of its own: prints nanoseconds per call, counted and not, as JSON.

The step that the dispatcher remembers for an op holds the counted kernel; the kernel alone is put in its place and
taken out again, in turns. On the CPU a step holds the kernel itself: there is nothing to take out.
"""

import json
import os
import timeit

import torch

if not torch.cuda.is_available():
    os.environ["SITUS_VIRTUAL_GPUS"] = "1x64MiB"
os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"

import situs as tf
from situs.devices.scope import here

ROUNDS, CALLS = 25, 4000
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


def _round(call):
    return timeit.timeit(call, number=CALLS) / CALLS * 1e9


def measure():
    """The cost of small sums and products on the CPU and on the GPU."""
    figures = {}
    for device, label in (("/cpu:0", "CPU"), ("/gpu:0", GPU)):
        with tf.device(device):
            a, b = tf.ones([2, 3]), tf.ones([3, 2])
            figures[f"add on the {label}"] = cost(lambda a=a: tf.add(a, a))
            figures[f"matmul on the {label}"] = cost(lambda a=a, b=b: tf.matmul(a, b))
    return figures


if __name__ == "__main__":
    print(json.dumps(measure()))
