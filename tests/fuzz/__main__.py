"""``python -m tests.fuzz [TARGET ...] --minutes N --seed S``: tries targets, each in a process of its own.

python -m tests.fuzz                                   every target, a minute in all
python -m tests.fuzz graphs checkpoints --minutes 10   two of them, five minutes each
python -m tests.fuzz graphs --seed 3 --only 1234       one case again, with its traceback
python -m tests.fuzz threads --minutes 5               16 threads, five minutes on a session and five on eager ops
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import report
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
_PROCESS = "import sys; from pathlib import Path; from tests.fuzz.loop import run; n, s, f, u, p = sys.argv[1:]; "
_PROCESS += "run(n, int(s), int(f), float(u), Path(p))"


def main() -> int:
    """Runs the command line; 1 if there were findings."""
    arguments = _parsed()
    os.environ.setdefault("SITUS_VIRTUAL_GPUS", "2x1GiB")
    if arguments.only is not None:
        return _again(arguments.targets[0], arguments.seed, arguments.only, arguments.patience)
    if arguments.targets == ["threads"]:
        from tests.fuzz import threads

        return threads.main(arguments.minutes, arguments.seed)
    names = arguments.targets or list(TARGETS)
    found = 0
    for name in names:
        started = time.monotonic()
        counts = _tried(name, arguments.seed, 60 * arguments.minutes / len(names))
        print("\n".join(report.lines(name, arguments.seed, time.monotonic() - started, counts)), flush=True)
        found += len(counts["findings"])
    return 1 if found else 0


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"threads, or some of {', '.join(TARGETS)}")
    parser.add_argument("--minutes", type=float, default=1.0, help="for all targets together; for each half of threads")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="the one case to run again")
    parser.add_argument("--patience", type=float, default=5.0, help="seconds that the one case may take")
    parsed = parser.parse_args()
    unknown = [name for name in parsed.targets if name not in TARGETS and parsed.targets != ["threads"]]
    if unknown or (parsed.only is not None and len(parsed.targets) != 1):
        parser.error(f"no target {', '.join(unknown)}" if unknown else "--only takes one target")
    return parsed


def _again(name: str, seed: int, number: int, patience: float) -> int:
    from tests.fuzz.judge import judge
    from tests.fuzz.loop import prepared

    with tempfile.TemporaryDirectory() as folder:
        case = prepared(name, Path(folder)).case(Random(f"{seed}:{name}:{number}"))
        print(ascii(case.shown))
        verdict = judge(case, patience)
    print(verdict.details or verdict.error or "It succeeds.")
    return 1 if verdict.finding else 0


def _tried(name: str, seed: int, seconds: float) -> dict[str, Any]:
    """The counts of a target, over as many processes as it takes."""
    total: dict[str, Any] = {"executions": 0, "succeeded": 0, "errors": Counter(), "findings": {}}
    until, first = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-c", _PROCESS, name, str(seed), str(first), str(until), folder],
                cwd=ROOT,
                stderr=subprocess.PIPE,
                check=False,
            )
            _add(total, Path(folder), done)
            if not (Path(folder) / "at").exists():
                break  # the target itself could not be made
            first = int((Path(folder) / "at").read_text()) + 1
    return total


def _add(total: dict[str, Any], folder: Path, done: subprocess.CompletedProcess[bytes]) -> None:
    saved = folder / "counts"
    counts = json.loads(saved.read_text()) if saved.exists() else {}
    total["executions"] += counts.get("executions", 0)
    total["succeeded"] += counts.get("succeeded", 0)
    total["errors"].update(counts.get("errors", {}))
    total["findings"].update(counts.get("findings", {}))
    if done.returncode:
        at = folder / "at"
        number = int(at.read_text()) if at.exists() else -1
        ended = {"number": number, "case": "", "details": done.stderr.decode(errors="replace")[-4000:], "times": 1}
        total["findings"][f"the process ended with {done.returncode} at {number}"] = ended


if __name__ == "__main__":
    sys.exit(main())
