"""What graphs cost: Situs' sessions against TensorFlow's and against the same calls in straight-line PyTorch.

    python -m benchmarks.session [--tensorflow PYTHON] [--json]

PYTHON is an interpreter that can import TensorFlow; the current one is tried by default. Each library runs the
same programs (``benchmarks/peers/session_programs.py``) in processes of their own, in turns, and the best figure
of all turns counts. PyTorch runs the same kernels written out line by line. With a card, the chain of small
nodes runs on it as well, against a CUDA graph captured by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.peers.session_programs import SMALL, best, chain_graph
from benchmarks.report import Bar, print_bars, print_machine

PEERS = Path(__file__).parent / "peers"
ROOT = Path(__file__).parent.parent
TURNS = 3
# case: (what Situs is compared with, the largest ratio to it that is meant)
BARS = {
    "one op, one feed": ("tensorflow", 0.2),
    "1000 tiny nodes": ("torch", 1.05),
    "100 products of 512x512": ("tensorflow", 1.0),
    "build and place 10,000 nodes": ("tensorflow", 0.5),
    "1000 tiny nodes on GPU": ("torch", 1.2),
}
MEMORY_BAR = 2.0  # activations beside the input
NOISE = 0.02  # what two measurements of the same thing differ by
Figures = dict[str, dict[str, float]]


def straight_line(calls: list[str]) -> Callable[..., torch.Tensor]:
    """A Python function of the given lines, as a person would write them one below the other."""
    source = "\n ".join(["def run(h, w, matmul=torch.matmul, add=torch.add):", *calls, "return h"])
    namespace: dict[str, object] = {"torch": torch}
    exec(source, namespace)
    return namespace["run"]  # type: ignore[return-value]


def torch_figures() -> dict[str, float]:
    """The same kernels in PyTorch, in seconds."""
    chain = straight_line(["h = matmul(h, w)", "h = add(h, w)"] * 500)
    w = torch.from_numpy(SMALL)
    values = torch.rand(101, 512, 512)
    return {
        "one op, one feed": best(lambda: torch.matmul(torch.from_numpy(SMALL), w).numpy(), 500),
        "1000 tiny nodes": best(lambda: chain(torch.from_numpy(SMALL), w), 20),
        "100 products of 512x512": best(lambda: [torch.matmul(values[0], b) for b in values[1:]], 1, 15),
    }


def peer_figures(name: str, python: str, *arguments: str) -> dict[str, float] | None:
    """The figures of one library from a process of its own; None where it cannot be imported."""
    command = [python, str(PEERS / f"session_{name}.py"), *arguments]
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}  # these are figures of the CPU
    env |= {"PYTHONPATH": str(ROOT)} if name == "situs" else {}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode != 0:
        if name == "situs" or python != sys.executable:
            sys.exit(f"{python} cannot run {name}:\n{done.stderr}")
        return None
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def measure(tensorflow: str | None) -> Figures:
    """Everything, in turns: seconds by case and library."""
    figures: Figures = {}
    for _ in range(TURNS):
        sources = {
            "torch": torch_figures(),
            "situs": peer_figures("situs", sys.executable),
            "tensorflow": peer_figures("tensorflow", tensorflow or sys.executable),
        }
        for library, found in sources.items():
            for case, seconds in (found or {}).items():
                times = figures.setdefault(case, {})
                times[library] = min(seconds, times.get(library, float("inf")))
    return figures


def memory(tensorflow: str | None) -> dict[str, float]:
    """The peak of a chain of 200 layers beside its input, in activations."""
    found = {"situs": peer_figures("situs", sys.executable, "memory")}
    found["tensorflow"] = peer_figures("tensorflow", tensorflow or sys.executable, "memory")
    return {library: next(iter(figures.values())) for library, figures in found.items() if figures}


def gpu_figures() -> Figures:
    """The chain of small nodes on a card: a session's run, and a CUDA graph captured by hand, fed and fetched alike."""
    import situs.compat.v1 as tf  # here, because all other figures come from processes of their own

    x, h = chain_graph(tf)
    session = tf.Session()
    for _ in range(30):
        session.run(h, {x: SMALL})
    ours = best(lambda: session.run(h, {x: SMALL}), 50)
    return {"1000 tiny nodes on GPU": {"situs": ours, "torch": _captured_by_hand()}}


def _captured_by_hand() -> float:
    chain = straight_line(["h = matmul(h, w)", "h = add(h, w)"] * 500)
    fed, w = torch.zeros(2, 2, device="cuda"), torch.from_numpy(SMALL).cuda()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        chain(fed, w)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = chain(fed, w)

    def run() -> object:
        fed.copy_(torch.from_numpy(SMALL))
        graph.replay()
        return result.cpu().numpy()

    return best(run, 50)


def report(figures: Figures, peaks: dict[str, float]) -> None:
    """Prints the figures as a table."""
    print_machine()
    print(f"{'us per run':32}{'situs':>12}{'tensorflow':>22}{'torch':>22}")
    for case, times in figures.items():
        cells = "".join(_cell(times, peer) for peer in ("tensorflow", "torch"))
        print(f"{case:32}{times['situs'] * 1e6:>12.1f}{cells}")
    for library, peak in peaks.items():
        print(f"peak of 200 layers, {library}: input + {peak:.2f} activations")
    print_bars(bars(figures, peaks))


def _cell(times: dict[str, float], peer: str) -> str:
    if peer not in times:
        return f"{'-':>22}"
    return f"{times[peer] * 1e6:.1f} ({times['situs'] / times[peer]:.2f}x)".rjust(22)


def bars(figures: Figures, peaks: dict[str, float]) -> list[Bar]:
    """What Situs means to stay under, where the peer is there to compare with."""
    found = []
    for case, times in figures.items():
        peer, most = BARS[case]
        if peer in times:
            found.append(Bar(case, times["situs"] / times[peer], most, f"x {peer}", noise=NOISE))
    return [*found, Bar("peak of 200 layers beside the input", peaks["situs"], MEMORY_BAR, " activations")]


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow", help="an interpreter that can import tensorflow")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    figures = measure(arguments.tensorflow)
    if torch.cuda.is_available():
        figures |= gpu_figures()
    peaks = memory(arguments.tensorflow)
    if arguments.json:
        print(json.dumps({"seconds": figures, "activations": peaks}))
    else:
        report(figures, peaks)


if __name__ == "__main__":
    main()
