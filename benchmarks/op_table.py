"""What the ops that people use cost: Situs against TensorFlow, op by op.

    python -m benchmarks.op_table [--tensorflow PYTHON] [--only WORD] [--rounds N] [--threads N] [--json]

PYTHON is an interpreter that can import TensorFlow; the current one is tried by default. Each op is written once, as a
function of ``tf`` (``benchmarks/peers/op_programs.py``), and runs in two sizes, eagerly and in a ``tf.function``. Two
processes, one a library, stay alive and take turns with every program, so that both see the same machine; the least
time of many short batches counts. The table holds Situs' time as a share of TensorFlow's: less than 1 is faster.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.peers.op_programs import PROGRAMS, SIZES
from benchmarks.report import Bar, print_bars, print_machine

ROOT = Path(__file__).parent.parent
RUNNER = ROOT / "benchmarks" / "peers" / "op_runner.py"
WAYS = ("eager", "function")
ROUNDS = 10
WORST_BAR, MEDIAN_BAR = 2.0, 0.5  # times TensorFlow
SHOWN = 8  # how many of the slowest are named below the table
Key = tuple[str, str, str]  # a program, a size, a way to run it
Figures = dict[Key, dict[str, float]]  # seconds by library


class Peer:
    """A process that times programs in one library when it is asked to."""

    def __init__(self, library: str, python: str, threads: int) -> None:
        env = {**os.environ, "PYTHONPATH": str(ROOT) if library == "situs" else ""}
        command = [python, str(RUNNER), library, str(threads)]
        self.library = library
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.version: str = self._answer()

    def seconds(self, key: Key) -> float:
        """What a call of a program takes, now."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(key) + "\n")
        self._process.stdin.flush()
        return float(self._answer())

    def end(self) -> None:
        """Lets the process end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"The process that times {self.library} has ended; what it printed is above.")
        return json.loads(line)


def peers_of(tensorflow: str | None, threads: int) -> list[Peer]:
    """The processes that take turns; Situs' alone where the current interpreter has no TensorFlow and none is given."""
    found = [Peer("situs", sys.executable, threads)]
    asked = [tensorflow or sys.executable, "-c", "import tensorflow"]
    if tensorflow is not None or subprocess.run(asked, capture_output=True, check=False).returncode == 0:
        found.append(Peer("tensorflow", asked[0], threads))
    return found


def measure(peers: list[Peer], names: list[str], rounds: int) -> Figures:
    """The least seconds of each program, the libraries in turns."""
    keys = [(name, size, way) for name in names for way in WAYS for size in SIZES]
    best: Figures = {key: {} for key in keys}
    for _ in range(rounds):
        for key in keys:
            for peer in peers:
                best[key][peer.library] = min(peer.seconds(key), best[key].get(peer.library, float("inf")))
    return best


def ratios(figures: Figures) -> dict[Key, float]:
    """Situs' time as a share of TensorFlow's."""
    return {key: times["situs"] / times["tensorflow"] for key, times in figures.items()}


def report(figures: Figures, versions: dict[str, str]) -> None:
    """Prints the figures as a table, with the slowest below it."""
    print_machine()
    shares = ratios(figures)
    print(f"situs {versions['situs']} / tensorflow {versions['tensorflow']}, {len(shares) // 4} ops, time / time")
    columns = [(way, size) for way in WAYS for size in SIZES]
    print(f"{'op':34}" + "".join(f"{way + ' ' + size:>17}" for way, size in columns))
    for name in dict.fromkeys(key[0] for key in shares):
        print(f"{name:34}" + "".join(f"{shares[name, size, way]:>17.2f}" for way, size in columns))
    medians = [median(share for key, share in shares.items() if key[1:] == (size, way)) for way, size in columns]
    print(f"{'median':34}" + "".join(f"{share:>17.2f}" for share in medians))
    print("slowest:")
    for key in sorted(shares, key=shares.__getitem__, reverse=True)[:SHOWN]:
        ours, theirs = (figures[key][library] * 1e6 for library in ("situs", "tensorflow"))
        print(f"  {shares[key]:.2f}x  {', '.join(key)}: {ours:.1f} us against {theirs:.1f}")
    print_bars(bars(shares))


def bars(shares: dict[Key, float]) -> list[Bar]:
    """What Situs means to stay under."""
    worst = max(shares, key=shares.__getitem__)
    return [
        Bar(f"the slowest of {len(shares)}: {', '.join(worst)}", shares[worst], WORST_BAR, "x tensorflow"),
        Bar(f"the median of {len(shares)}", median(shares.values()), MEDIAN_BAR, "x tensorflow"),
    ]


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow", help="an interpreter that can import tensorflow")
    parser.add_argument("--only", default="", help="only ops whose name holds one of these words, set off by commas")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each program is measured")
    parser.add_argument("--threads", type=int, default=0, help="threads for one op; by default what the library takes")
    parser.add_argument("--json", action="store_true", help="print the seconds as JSON")
    given = parser.parse_args()
    names = [name for name in PROGRAMS if any(word in name for word in given.only.split(","))]
    peers = peers_of(given.tensorflow, given.threads)
    figures = measure(peers, names, given.rounds)
    versions = {peer.library: peer.version for peer in peers}
    for peer in peers:
        peer.end()
    if given.json:
        print(json.dumps({", ".join(key): times for key, times in figures.items()}))
    elif "tensorflow" not in versions:
        print("There is no TensorFlow to compare with: give an interpreter that has it, --tensorflow PYTHON.")
    else:
        report(figures, versions)


if __name__ == "__main__":
    main()
