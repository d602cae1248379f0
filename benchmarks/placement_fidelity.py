"""Whether steps take what the dynamic placer predicts: predicted against measured, over several placements.

    SITUS_VIRTUAL_GPUS=2x4GiB python -m benchmarks.placement_fidelity      the CPU, and two virtual GPUs
    python -m benchmarks.placement_fidelity --split                        on a card, as two logical GPUs, and the CPU

Training steps of an MLP, a CNN and a transformer are placed on one device, on the CPU and a GPU, and in halves on two
GPUs. For each placement, steps are recorded and timed (``tf.placement.profile``), and timed by this program, in turns;
then the step is predicted from the measured costs, in a session of its own. ``--evidence`` shows what the figures are
made of: how the program runs, how busy each device is, and the calls whose costs differ most from what was recorded.
With ``--cpu-time`` the clock is that of
the process: on a machine that is busy with other programs, what these take is not taken for an error of the
prediction. It is for the host alone, and one thread (``OMP_NUM_THREADS=1``).
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

BAR = 0.10
TURNS = 5
PAIRS = 3  # of a recorded step and one that is timed as a whole, in a turn
COLD, ROW = 3, 7  # steps in a turn: those that are not timed, and those that are
WARM = 30  # steps: by then they are captured as graphs of a card


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


@dataclass
class Row:
    """One placement of one model.

    Attributes:
        predicted: Seconds of a step, from the measured costs.
        measured: Seconds of a step, on the clock.
        evidence: What each of them is made of, in lines.
    """

    predicted: float
    measured: float
    evidence: list[str]

    @property
    def error(self) -> float:
        """By which share the prediction is off."""
        return self.predicted / self.measured - 1


def measured(model: Model, name: str, turns: int, clock: Callable[[], float]) -> Row:
    """The predicted and the measured time of a step.

    Steps are timed in rows, after some that are not: what came before, such as working out costs, has left caches and
    clocks cold.
    """
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
            with tf2.placement.profile(save=False) as profile:
                session.run(step, feeds)
            for _ in range(turns):
                with tf2.placement.profile(save=False, links=False) as profile:
                    for _ in range(PAIRS):
                        session.run(step, feeds)  # recorded
                        session.run(step, feeds)  # and timed as a whole
                for number in range(COLD + ROW):
                    begin = clock()
                    session.run(step, feeds)
                    if number >= COLD:
                        taken.append(clock() - begin)
            running = next(reversed(session._programs.values())).way.value
            (seen,) = profile._seen.values()
        with tf.Session() as session:
            session.run([start])
            session.run(step, feeds)
            predicted = tf2.explain(session).plan.forecast
            made = session._engine._assembly
        spread = f"{min(taken) * 1e3:.3f} to {max(taken) * 1e3:.3f} ms, {len(taken)} steps"
        lines = [f"{running}; {spread}; as the profile timed it {median(seen.wholes) * 1e3:.3f} ms"]
        return Row(predicted.value, median(taken), lines + evidence(predicted, made, seen.recorded, plan))


def evidence(predicted: Any, made: Any, recorded: Any, plan: Any) -> list[str]:
    """What a prediction and a recorded step are made of: time by device, and the calls that differ most."""
    from situs._src.runtime.dynamic.learn import _taken

    taken = _taken(list(recorded))
    device = {node.name: plan.placement.get(node.name) for node in made.problem.nodes}
    number = made.problem.device_index
    expected = {
        node.name: (node.times[number[where]], node.ordering[number[where]] if node.ordering else 0.0)
        for node in made.problem.nodes
        if (where := device[node.name]) is not None
    }
    found = {call.node.name: each for call, each in taken.items() if call.node is not None}
    recorded_busy: dict[str, float] = {}
    for call, each in taken.items():
        what = call.device.short_name
        if call.node is None:
            what = f"{'reads' if call.copies is None else 'copies'} to {what}"
        recorded_busy[what] = recorded_busy.get(what, 0.0) + each.seconds
    lines = [
        "predicted  " + _times(predicted.busy) + f"; ordering {predicted.ordering * 1e3:.3f}",
        "recorded   " + _times(recorded_busy) + f"; ordering {sum(t.ordering for t in taken.values()) * 1e3:.3f}",
    ]
    both = [name for name in expected if name in found]
    both.sort(key=lambda name: -abs(expected[name][0] - found[name].seconds))
    for name in both[:5]:
        (seconds, ordering), raw = expected[name], found[name]
        lines.append(
            f"{name[-48:]:<48} {device[name]}: predicted {seconds * 1e6:.1f} + {ordering * 1e6:.1f} us, "
            f"recorded {raw.seconds * 1e6:.1f} + {raw.ordering * 1e6:.1f}"
        )
    return lines


def _times(busy: Any) -> str:
    return ", ".join(f"{name} {seconds * 1e3:.3f}" for name, seconds in sorted(busy.items()) if seconds)


def main() -> int:
    """Prints a table; the exit status says whether all predictions are within the bar."""
    parser = argparse.ArgumentParser(description="Predicted against measured step times.")
    parser.add_argument("--split", action="store_true", help="use the first card as two logical GPUs")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--cpu-time", action="store_true", help="measure the time of the process, not of the wall")
    parser.add_argument("--evidence", action="store_true", help="show what each figure is made of")
    parser.add_argument("--models", default=",".join(MODELS), help="which models, with commas between them")
    arguments = parser.parse_args()
    os.environ["SITUS_COSTS"] = str(Path(tempfile.mkdtemp(prefix="situs-fidelity-")) / "costs.json")
    import situs as tf2
    from situs._src.placement.costs.store import shared_store
    from situs._src.runtime.run import program, trace

    if arguments.evidence:  # why a program was not captured, if it was not
        logging.basicConfig(stream=sys.stdout, format="    %(message)s")
        logging.getLogger("situs").setLevel(logging.DEBUG)
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
    for model in arguments.models.split(","):
        for name in names:
            row = measured(MODELS[model], name, arguments.turns, clock)
            worst = max(worst, abs(row.error))
            times = f"{row.predicted * 1e3:>7.2f} ms {row.measured * 1e3:>7.2f} ms {row.error:>+7.1%}"
            print(f"{model:<12} {name:<16} {times}", flush=True)
            if arguments.evidence:
                print("\n".join(f"    {line}" for line in row.evidence), flush=True)
    if arguments.evidence:
        store = shared_store()
        for link, cost in sorted(store.links().items()):
            print(f"    {link}: {cost.latency * 1e6:.1f} us and {1e-9 / (cost.per_byte or 1e-18):.2f} GB/s")
        for kind, pace in sorted(store.paces().items()):
            print(f"    pace of {kind}: {pace.per_call * 1e6:.2f} us less a call, {pace.share:.3f} of the rest")
    print(f"worst error {worst:.1%}, bar {BAR:.0%}: {'reached' if worst <= BAR else 'missed'}")
    return int(worst > BAR)


if __name__ == "__main__":
    sys.exit(main())
