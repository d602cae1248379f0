"""What an eager op costs: Situs against raw PyTorch, TensorFlow and JAX, in one run.

    python -m benchmarks.eager_dispatch [--tensorflow PYTHON] [--jax PYTHON] [--json]

PYTHON is an interpreter that can import the peer; the current one is tried by default. Raw PyTorch
and Situs are measured in turns in this process, so that both see the same machine. Figures are the
best of several rounds, in nanoseconds per call; beside them stands the ratio to raw PyTorch.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import timeit
from collections.abc import Callable
from pathlib import Path

import torch

import situs as tf
from benchmarks.report import Bar, print_bars, print_machine

ROUNDS, CALLS = 150, 200  # many short ones: the best of them is one that nothing else ran beside
PEERS = Path(__file__).parent / "peers"
VALUES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
# The ratio to raw PyTorch that Situs means to stay under, by case. Cases of tensors and variables have one, those that
# look into shapes another. What variables become has none: PyTorch writes into them, and Situs makes a new value.
BARS = {
    "matmul 2x3 @ 3x2": 1.5,
    "add 2x3": 1.5,
    "a + b": 1.5,
    "a * 2.0": 1.5,
    "matmul(a, v)": 1.5,
    "matmul(v, a)": 1.5,
    "add(a, w)": 1.5,
    "w + a": 1.5,
    "w * w": 1.5,
    "w * 2.0": 1.5,
    "relu(w)": 1.5,
    "Dense layer": 2.5,
    "a[0]": 2.5,
    "a[:, 1:3]": 2.5,
    "a[..., None]": 2.5,
    "w[0]": 2.5,
    "reshape": 2.5,
    "reshape [-1]": 2.5,
    "transpose": 2.5,
    "reduce_sum": 2.5,
    "reduce_sum(w)": 2.5,
    "reduce_mean axis=1": 2.5,
    "reduce_max": 2.5,
    "constant of six floats": 1.5,
    "matmul in device scope": 1.7,
    "add in device scope": 1.7,
    "matmul on GPU": 1.3,
    "add on GPU": 1.3,
}
IMPORT_BAR = 0.2  # seconds
Case = tuple[Callable[[], object], Callable[[], object]]  # the same in raw PyTorch and in Situs
Figures = dict[str, dict[str, float]]  # nanoseconds by case and library


def measure(cases: dict[str, Case]) -> Figures:
    """Times raw PyTorch and Situs in turns."""
    best = {name: {"torch": float("inf"), "situs": float("inf")} for name in cases}
    for name, pair in cases.items():
        for _ in range(ROUNDS):
            for library, call in zip(("torch", "situs"), pair, strict=True):
                best[name][library] = min(best[name][library], timeit.timeit(call, number=CALLS) / CALLS * 1e9)
    return best


def cpu_cases() -> dict[str, Case]:
    """Small ops whose inputs are on the CPU."""
    with tf.device("/cpu:0"):
        a, b, c = tf.constant(VALUES, shape=[2, 3]), tf.constant(VALUES, shape=[3, 2]), tf.ones([2, 3])
    ra, rb, rc = (torch.from_dlpack(t) for t in (a, b, c))
    matmul, add, constant = tf.matmul, tf.add, tf.constant
    torch_matmul, torch_add, torch_tensor = torch.matmul, torch.add, torch.tensor
    return {
        "matmul 2x3 @ 3x2": (lambda: torch_matmul(ra, rb), lambda: matmul(a, b)),
        "add 2x3": (lambda: torch_add(ra, rc), lambda: add(a, c)),
        "a + b": (lambda: ra + rc, lambda: a + c),
        "a * 2.0": (lambda: ra * 2.0, lambda: a * 2.0),
        "constant of six floats": (lambda: torch_tensor(VALUES), lambda: constant(VALUES)),
    }


def variable_cases() -> dict[str, Case]:
    """Ops on variables, what changes them, and a layer, which is a module of PyTorch's there."""
    with tf.device("/cpu:0"):
        a, v, w = tf.constant(VALUES, shape=[2, 3]), tf.Variable(tf.ones([3, 2])), tf.Variable(tf.ones([2, 3]))
        layer, x = tf.keras.layers.Dense(2), tf.ones([2, 3])
        layer(x)
    ra, rv, rw = torch.ones(2, 3), torch.ones(3, 2), torch.ones(2, 3)
    linear, rx = torch.nn.Linear(3, 2).requires_grad_(False), torch.ones(2, 3)
    return {
        "matmul(a, v)": (lambda: torch.matmul(ra, rv), lambda: tf.matmul(a, v)),
        "matmul(v, a)": (lambda: torch.matmul(rv, ra), lambda: tf.matmul(v, a)),
        "add(a, w)": (lambda: torch.add(ra, rw), lambda: tf.add(a, w)),
        "w + a": (lambda: rw + ra, lambda: w + a),
        "w * w": (lambda: rw * rw, lambda: w * w),
        "w * 2.0": (lambda: rw * 2.0, lambda: w * 2.0),
        "relu(w)": (lambda: torch.relu(rw), lambda: tf.nn.relu(w)),
        "reduce_sum(w)": (lambda: rw.sum(), lambda: tf.reduce_sum(w)),
        "w[0]": (lambda: rw[0], lambda: w[0]),
        "w.assign(a)": (lambda: rw.copy_(ra), lambda: w.assign(a)),
        "w.assign_add(a)": (lambda: rw.add_(ra), lambda: w.assign_add(a)),
        "Dense layer": (lambda: linear(rx), lambda: layer(x)),
    }


def shape_cases() -> dict[str, Case]:
    """Parts, shapes, reductions, and what joins tensors."""
    with tf.device("/cpu:0"):
        a, c = tf.constant(VALUES, shape=[2, 3]), tf.ones([2, 3])
    ra, rc = (torch.from_dlpack(t) for t in (a, c))
    return {
        "a[0]": (lambda: ra[0], lambda: a[0]),
        "a[:, 1:3]": (lambda: ra[:, 1:3], lambda: a[:, 1:3]),
        "a[..., None]": (lambda: ra[..., None], lambda: a[..., None]),
        "reshape": (lambda: ra.reshape(3, 2), lambda: tf.reshape(a, [3, 2])),
        "reshape [-1]": (lambda: ra.reshape(-1), lambda: tf.reshape(a, [-1])),
        "transpose": (lambda: ra.permute(1, 0), lambda: tf.transpose(a)),
        "reduce_sum": (lambda: ra.sum(), lambda: tf.reduce_sum(a)),
        "reduce_mean axis=1": (lambda: ra.mean(1), lambda: tf.reduce_mean(a, axis=1)),
        "reduce_max": (lambda: ra.amax(), lambda: tf.reduce_max(a)),
        "argmax": (lambda: ra.argmax(1), lambda: tf.argmax(a, 1)),
        "concat": (lambda: torch.cat([ra, rc], 0), lambda: tf.concat([a, c], 0)),
        "stack": (lambda: torch.stack([ra, rc]), lambda: tf.stack([a, c])),
        "cast": (lambda: ra.to(torch.int32), lambda: tf.cast(a, tf.int32)),
        "shape": (lambda: torch.tensor(ra.shape, dtype=torch.int32), lambda: tf.shape(a)),
    }


def host_cases() -> dict[str, Case]:
    """Shapes, sizes and numbers that ops read on the host, given in several ways."""
    with tf.device("/cpu:0"):
        a, sizes, rows = tf.constant(VALUES, shape=[2, 3]), tf.constant([3, 2]), tf.constant([0, 2, 1])
    ra, rrows = torch.from_dlpack(a), torch.tensor([0, 2, 1])
    return {
        "reshape by a tensor": (lambda: ra.reshape(3, 2), lambda: tf.reshape(a, sizes)),
        "tile": (lambda: ra.tile(2, 1), lambda: tf.tile(a, [2, 1])),
        "pad": (lambda: torch.nn.functional.pad(ra, (0, 0, 1, 1)), lambda: tf.pad(a, [[1, 1], [0, 0]])),
        "zeros": (lambda: torch.zeros(2, 3), lambda: tf.zeros([2, 3])),
        "fill": (lambda: torch.full((2, 3), 1.5), lambda: tf.fill([2, 3], 1.5)),
        "range": (lambda: torch.arange(6, dtype=torch.int32), lambda: tf.range(6)),
        "one_hot": (lambda: torch.nn.functional.one_hot(rrows, 3), lambda: tf.one_hot(rows, 3)),
        "random.normal": (lambda: torch.randn(2, 3), lambda: tf.random.normal([2, 3])),
        "random.normal(seed=1)": (lambda: torch.randn(2, 3), lambda: tf.random.normal([2, 3], seed=1)),
        "stateless_normal": (lambda: torch.randn(2, 3), lambda: tf.random.stateless_normal([2, 3], [1, 2])),
    }


def scope_cases() -> dict[str, Case]:
    """The cases with a bar of their own inside ``with tf.device('/cpu:0')``."""
    cases = cpu_cases()
    return {"matmul in device scope": cases["matmul 2x3 @ 3x2"], "add in device scope": cases["add 2x3"]}


def gpu_cases() -> dict[str, Case]:
    """Launches on the first GPU; nothing waits for their results."""
    a, b, c = tf.constant(VALUES, shape=[2, 3]), tf.constant(VALUES, shape=[3, 2]), tf.ones([2, 3])
    ra, rb, rc = (torch.tensor(t.numpy(), device="cuda") for t in (a, b, c))
    return {
        "matmul on GPU": (lambda: torch.matmul(ra, rb), lambda: tf.matmul(a, b)),
        "add on GPU": (lambda: torch.add(ra, rc), lambda: tf.add(a, c)),
    }


def measure_all() -> Figures:
    """Every case that this machine has the devices for."""
    cases = cpu_cases() | variable_cases() | shape_cases() | host_cases()
    if not torch.cuda.is_available():
        figures = measure(cases)
    else:
        with tf.device("/cpu:0"):  # without it, code with no device in it would run on the card
            figures = measure(cases)
        figures |= measure(gpu_cases())
    with tf.device("/cpu:0"):
        return figures | measure(scope_cases())


def add_peer(figures: Figures, name: str, python: str | None) -> None:
    """Adds the times of another library, measured in a process of its own, where it can be imported."""
    command = [python or sys.executable, str(PEERS / f"eager_{name}.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        if python is not None:
            sys.exit(f"{python} cannot run {name}:\n{done.stderr}")
        return
    for case, time in json.loads(done.stdout.strip().splitlines()[-1]).items():
        if case in figures:
            figures[case][name] = time


IMPORTS = """
from time import perf_counter as now
start = now(); import torch; middle = now(); import situs; situs.add; print(middle - start, now() - middle)
"""


def import_seconds() -> dict[str, float]:
    """Seconds to import torch, and then Situs with all its ops; the best of several processes."""
    runs = [
        subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True) for _ in range(7)
    ]
    times = [tuple(map(float, run.stdout.split())) for run in runs]
    return {"torch": min(t[0] for t in times), "situs": min(t[1] for t in times)}


def report(figures: Figures, imports: dict[str, float]) -> None:
    """Prints the figures as a table."""
    print_machine()
    print(f"{'ns per call (x raw torch)':26}{'torch':>8}{'situs':>16}{'tensorflow':>18}{'jax':>18}")
    for case, times in figures.items():
        cells = "".join(_cell(times, peer, width) for peer, width in (("situs", 16), ("tensorflow", 18), ("jax", 18)))
        print(f"{case:26}{times['torch']:>8.0f}{cells}")
    print(f"import: torch {imports['torch']:.2f} s, situs and its ops +{imports['situs']:.2f} s")
    print_bars(bars(figures, imports))


def bars(figures: Figures, imports: dict[str, float]) -> list[Bar]:
    """What Situs means to stay under."""
    times = {case: figures[case] for case in BARS if case in figures}
    found = [Bar(case, each["situs"] / each["torch"], BARS[case], "x torch") for case, each in times.items()]
    return [*found, Bar("importing Situs and its ops, after torch", imports["situs"], IMPORT_BAR, " s")]


def _cell(times: dict[str, float], peer: str, width: int) -> str:
    if peer not in times:
        return f"{'-':>{width}}"
    return f"{times[peer]:.0f} ({times[peer] / times['torch']:.2f}x)".rjust(width)


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow", help="an interpreter that has TensorFlow")
    parser.add_argument("--jax", help="an interpreter that has JAX")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    figures = measure_all()
    add_peer(figures, "tensorflow", arguments.tensorflow)
    add_peer(figures, "jax", arguments.jax)
    imports = import_seconds()
    if arguments.json:
        print(json.dumps({"ns": figures, "import_s": imports}))
    else:
        report(figures, imports)


if __name__ == "__main__":
    main()
