"""Whether steps take what the dynamic placer predicts: predicted against measured, over several placements.

    SITUS_VIRTUAL_GPUS=2x4GiB python -m benchmarks.placement_fidelity      the CPU, and two virtual GPUs
    python -m benchmarks.placement_fidelity --split                        on a card, as two logical GPUs, and the CPU

Training steps of an MLP, a CNN and a transformer are placed on one device, on the CPU and a GPU, and in halves on two
GPUs. For each placement, steps are recorded and timed (``tf.placement.profile``), and timed by this program, in turns;
then the step is predicted from the measured costs, in a session of its own. With ``--cpu-time`` the clock is that of
the process: on a machine that is busy with other programs, what these take is not taken for an error of the
prediction. It is for the host alone, and one thread (``OMP_NUM_THREADS=1``).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

BAR = 0.10
TURNS = 15
WARM = 25  # steps: by then they are compiled, or captured as graphs of a card


def mlp(tf: Any) -> tuple[Any, dict[Any, Any]]:
    """Five layers of 1024, a batch of 256."""
    x = tf.placeholder(tf.float32, [256, 1024])
    h = x
    for layer in range(5):
        h = tf.nn.relu(tf.matmul(h, weight(tf, layer, (1024, 1024))))
    return train(tf, tf.reduce_mean(tf.square(h - 0.5))), {x: values(0, (256, 1024))}


def cnn(tf: Any) -> tuple[Any, dict[Any, Any]]:
    """Four convolutions, a batch of 16 images."""
    x = tf.placeholder(tf.float32, [16, 32, 32, 16])
    h = x
    for layer, channels in enumerate((32, 32, 64, 64)):
        kernel = weight(tf, layer, (3, 3, int(h.shape[-1]), channels))
        h = tf.nn.relu(tf.nn.conv2d(h, kernel, strides=[1, 1, 1, 1], padding="SAME"))
    return train(tf, tf.reduce_mean(tf.square(h - 0.5))), {x: values(0, (16, 32, 32, 16))}


def transformer(tf: Any) -> tuple[Any, dict[Any, Any]]:
    """Three blocks of attention and a wide layer, of size 256, over 8 sequences of 64."""
    size, heads, length, batch = 256, 4, 64, 8
    x = tf.placeholder(tf.float32, [batch, length, size])

    def dense(h: Any, number: int, width: int) -> Any:
        flat = tf.reshape(h, [batch * length, int(h.shape[-1])])
        return tf.reshape(tf.matmul(flat, weight(tf, number, (int(h.shape[-1]), width))), [batch, length, width])

    def split(h: Any) -> Any:
        return tf.transpose(tf.reshape(h, [batch, length, heads, size // heads]), [0, 2, 1, 3])

    h = x
    for block in range(3):
        q, k, v = (split(dense(h, 10 * block + i, size)) for i in range(3))
        scores = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / np.sqrt(size / heads).astype("f"))
        mixed = tf.reshape(tf.transpose(tf.matmul(scores, v), [0, 2, 1, 3]), [batch, length, size])
        h = h + dense(mixed, 10 * block + 3, size)
        h = h + dense(tf.nn.relu(dense(h, 10 * block + 4, 4 * size)), 10 * block + 5, size)
    return train(tf, tf.reduce_mean(tf.square(h - 0.5))), {x: values(0, (batch, length, size))}


def weight(tf: Any, seed: int, shape: tuple[int, ...]) -> Any:
    """A variable of random numbers that keep values where they are."""
    return tf.Variable(values(seed + 1, shape) / np.sqrt(np.prod(shape[:-1])).astype("f"))


def values(seed: int, shape: tuple[int, ...]) -> Any:
    """Random numbers."""
    return np.random.RandomState(seed).randn(*shape).astype("f")


def train(tf: Any, loss: Any) -> Any:
    """A step of gradient descent."""
    return tf.train.GradientDescentOptimizer(1e-3).minimize(loss)


Model = Callable[[Any], tuple[Any, dict[Any, Any]]]
MODELS: dict[str, Model] = {"mlp": mlp, "cnn": cnn, "transformer": transformer}


def halves(operations: list[Any], first: str, second: str) -> dict[str, str]:
    """The first half of the variables, and all that is made of them alone, on one device; the rest on another.

    Gradients are where the operations are that they are gradients of, as their names say.
    """
    placed: dict[str, str] = {}
    variables = [node.name for node in operations if node.type == "Variable"]
    turn = operations[[node.name for node in operations].index(variables[len(variables) // 2])].index
    home = {node.name: first if node.index < turn else second for node in operations}
    for node in operations:
        scope = node.name.removeprefix("gradients/")
        origin = scope.partition("_grad/")[0] if scope != node.name else None
        placed[node.name] = home.get(origin or "", second if origin is not None else home[node.name])
        if node.colocated_with or node.op_def.updates:
            state = next((t.op.name for t in node.inputs if t.is_ref), None)
            placed[node.name] = placed[state or next(iter(node.colocated_with), node.name)]
    return placed


def layouts(operations: list[Any], gpus: int) -> dict[str, dict[str, str]]:
    """The placements that are compared: devices by names of operations."""
    found = {"CPU:0": {node.name: "CPU:0" for node in operations}}
    if gpus:
        found["GPU:0"] = {node.name: "GPU:0" for node in operations}
        found["CPU:0 and GPU:0"] = halves(operations, "CPU:0", "GPU:0")
    if gpus > 1:
        found["GPU:0 and GPU:1"] = halves(operations, "GPU:0", "GPU:1")
    return found


def measured(model: Model, name: str, turns: int, clock: Callable[[], float]) -> tuple[float, float]:
    """The predicted and the measured time of a step, in seconds."""
    import situs as tf2
    import situs.compat.v1 as tf
    from situs._src.placement.search.plan import Forecast, Plan

    taken = []
    with tf.Graph().as_default() as graph:
        step, feeds = model(tf)
        gpus = len(tf2.config.list_logical_devices("GPU"))
        plan = Plan(layouts(graph.get_operations(), gpus)[name], "step", Forecast(0.0, {}, {}, {}))
        start = tf.global_variables_initializer()
        tf2.config.set_placer(plan)
        with tf.Session() as session:
            session.run([start])
            for _ in range(WARM):  # PyTorch chooses kernels, and the program its form
                session.run(step, feeds)
            with tf2.placement.profile(save=False):
                session.run(step, feeds)
            for _ in range(turns):
                begin = clock()
                session.run(step, feeds)
                taken.append(clock() - begin)
                with tf2.placement.profile(save=False, links=False):
                    session.run(step, feeds)  # recorded
                    session.run(step, feeds)  # and timed as a whole
        with tf.Session() as session:
            session.run([start])
            session.run(step, feeds)
            return tf2.explain(session).plan.forecast.value, median(taken)


def main() -> int:
    """Prints a table; the exit status says whether all predictions are within the bar."""
    parser = argparse.ArgumentParser(description="Predicted against measured step times.")
    parser.add_argument("--split", action="store_true", help="use the first card as two logical GPUs")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--cpu-time", action="store_true", help="measure the time of the process, not of the wall")
    arguments = parser.parse_args()
    os.environ["SITUS_COSTS"] = str(Path(tempfile.mkdtemp(prefix="situs-fidelity-")) / "costs.json")
    import situs as tf2
    from situs._src.runtime.run import program, trace

    if arguments.cpu_time:
        trace.now, program.clock = time.process_time_ns, time.process_time
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    if arguments.split:
        card = tf2.config.list_physical_devices("GPU")[0]
        part = tf2.config.LogicalDeviceConfiguration(memory_limit=8192)
        tf2.config.set_logical_device_configuration(card, [part, part])
    gpus = len(tf2.config.list_logical_devices("GPU"))
    names = ["CPU:0", *(["GPU:0", "CPU:0 and GPU:0"] if gpus else []), *(["GPU:0 and GPU:1"] if gpus > 1 else [])]
    worst = 0.0
    print(f"{'model':<12} {'placement':<16} {'predicted':>10} {'measured':>10} {'error':>7}")
    for model, build in MODELS.items():
        for name in names:
            predicted, taken = measured(build, name, arguments.turns, clock)
            error = predicted / taken - 1
            worst = max(worst, abs(error))
            print(
                f"{model:<12} {name:<16} {predicted * 1e3:>7.2f} ms {taken * 1e3:>7.2f} ms {error:>+7.1%}", flush=True
            )
    print(f"worst error {worst:.1%}, bar {BAR:.0%}: {'reached' if worst <= BAR else 'missed'}")
    return int(worst > BAR)


if __name__ == "__main__":
    sys.exit(main())
