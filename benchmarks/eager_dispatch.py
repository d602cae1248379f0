"""What an eager op costs: Situs against raw PyTorch, TensorFlow and JAX, in one run.

    python -m benchmarks.eager_dispatch [--tensorflow PYTHON] [--jax PYTHON] [--json]

PYTHON is an interpreter that can import the peer; the current one is tried by default. Raw PyTorch
and Situs are measured in turns in this process, so that both see the same machine. Figures are the
best of several rounds, in nanoseconds per call.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import timeit
from collections.abc import Callable
from pathlib import Path

ROUNDS, CALLS = 15, 5000
PEERS = Path(__file__).parent / "peers"
VALUES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
# Ratio to raw PyTorch that Situs means to stay under, by case.
BARS = {
    "matmul 2x3 @ 3x2": 1.5,
    "add 2x3": 1.5,
    "matmul in device scope": 1.7,
    "add in device scope": 1.7,
    "constant of six floats": 1.5,
    "matmul on GPU": 1.3,
    "add on GPU": 1.3,
}
Case = tuple[Callable[[], object], Callable[[], object]]


def measure(cases: dict[str, Case]) -> dict[str, tuple[float, float]]:
    """Times raw PyTorch and Situs in turns; nanoseconds per call of each."""
    best = dict.fromkeys(cases, (float("inf"), float("inf")))
    for _ in range(ROUNDS):
        for name, pair in cases.items():
            times = [timeit.timeit(call, number=CALLS) / CALLS * 1e9 for call in pair]
            best[name] = (min(best[name][0], times[0]), min(best[name][1], times[1]))
    return best


def cpu_cases() -> dict[str, Case]:
    """The calls that the bars are about."""
    import torch

    import situs as tf

    with tf.device("/cpu:0"):
        a, b, c = tf.constant(VALUES, shape=[2, 3]), tf.constant(VALUES, shape=[3, 2]), tf.ones([2, 3])
    ra, rb, rc = (torch.from_dlpack(t) for t in (a, b, c))
    matmul, add, constant = tf.matmul, tf.add, tf.constant
    torch_matmul, torch_add, torch_tensor = torch.matmul, torch.add, torch.tensor
    return {
        "matmul 2x3 @ 3x2": (lambda: torch_matmul(ra, rb), lambda: matmul(a, b)),
        "add 2x3": (lambda: torch_add(ra, rc), lambda: add(a, c)),
        "a + b operator": (lambda: ra + rc, lambda: a + c),
        "a * 2.0": (lambda: ra * 2.0, lambda: a * 2.0),
        "constant of six floats": (lambda: torch_tensor(VALUES), lambda: constant(VALUES)),
    }


def scope_cases() -> dict[str, Case]:
    """The same, to be called inside ``with tf.device('/cpu:0')``."""
    return {f"{name.split()[0]} in device scope": case for name, case in cpu_cases().items() if name in list(BARS)[:2]}


def gpu_cases() -> dict[str, Case]:
    """Launches on the first GPU; the queue is long enough that none of them waits."""
    import torch

    import situs as tf

    a, b, c = tf.constant(VALUES, shape=[2, 3]), tf.constant(VALUES, shape=[3, 2]), tf.ones([2, 3])
    ra, rb, rc = (torch.tensor(t.numpy(), device="cuda") for t in (a, b, c))
    return {
        "matmul on GPU": (lambda: torch.matmul(ra, rb), lambda: tf.matmul(a, b)),
        "add on GPU": (lambda: torch.add(ra, rc), lambda: tf.add(a, c)),
    }


def peer(name: str, python: str) -> dict[str, float]:
    """Times the cases in another library, in a process of its own; empty if it cannot be imported."""
    done = subprocess.run([python, PEERS / f"eager_{name}.py"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout.strip().splitlines()[-1]) if done.returncode == 0 else {}


def import_seconds() -> dict[str, float]:
    """Seconds to import torch, and torch with Situs and all its ops."""
    programs = {"torch": "import torch", "torch + situs": "import torch, situs; situs.add"}
    times = {}
    for name, program in programs.items():
        command = [sys.executable, "-c", program]
        times[name] = min(timeit.repeat(lambda c=command: subprocess.run(c, check=True), number=1, repeat=5))
    return times


def run(arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """All figures: per case, nanoseconds of each library."""
    import torch

    import situs as tf

    pairs = measure(cpu_cases()) if not torch.cuda.is_available() else {}
    if not pairs:
        with tf.device("/cpu:0"):
            pairs = measure({k: v for k, v in cpu_cases().items() if "constant" not in k})
        torch.cuda.synchronize()
        pairs |= measure(gpu_cases())
    with tf.device("/cpu:0"):
        pairs |= measure(scope_cases())
    figures = {case: {"torch": raw, "situs": ours} for case, (raw, ours) in pairs.items()}
    for name in ("tensorflow", "jax"):
        for case, time in peer(name, getattr(arguments, name)).items():
            figures.setdefault(case, {})[name] = time
    return figures


def report(figures: dict[str, dict[str, float]], imports: dict[str, float]) -> None:
    """Prints the figures as a table of ratios to raw PyTorch."""
    print(f"{'case':26}{'torch':>10}{'situs':>10}{'tensorflow':>12}{'jax':>10}   situs/torch  bar")
    for case, times in figures.items():
        if "situs" not in times:
            continue
        cells = "".join(f"{times[p]:>{w}.0f}" if p in times else f"{'-':>{w}}" for p, w in _COLUMNS)
        ratio = times["situs"] / times["torch"]
        bar = BARS.get(case)
        verdict = "" if bar is None else f"{bar:.1f} {'reached' if ratio <= bar else 'MISSED'}"
        print(f"{case:26}{cells}   {ratio:>10.2f}x  {verdict}")
    added = imports["torch + situs"] - imports["torch"]
    print(f"import: torch {imports['torch']:.2f} s, with situs and its ops +{added:.2f} s (bar 0.2 s)")


_COLUMNS = (("torch", 10), ("situs", 10), ("tensorflow", 12), ("jax", 10))


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow", default=sys.executable, help="an interpreter that has TensorFlow")
    parser.add_argument("--jax", default=sys.executable, help="an interpreter that has JAX")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    figures, imports = run(arguments), import_seconds()
    print(json.dumps({"ns": figures, "import_s": imports})) if arguments.json else report(figures, imports)


if __name__ == "__main__":
    main()
