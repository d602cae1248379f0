"""Runs Keras' own tests, which its wheel contains, with Situs beneath, and compares with the lists of this folder.

    python -m tests.keras.run                            all of them, several files at once
    python -m tests.keras.run ops/ trainers              those whose path begins so
    python -m tests.keras.run --with build/keras_tests   with packages that the tests import: `make test-keras`
    python -m tests.keras.run --python .venv-tensorflow/bin/python --on tensorflow
                                                         on TensorFlow itself, for `tensorflow_failures.txt`

``expected_failures.txt`` has the tests that are known to fail on Situs, each below its reason in brackets; a star at
the end of a line stands for anything. A test that fails and is in no list is an error: the exit status is 1. One that
is in the list and passes is reported, so that the list gets shorter. ``tensorflow_failures.txt`` has, in the same
form, those that fail on TensorFlow as well, in the same setting: they count for nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXPECTED, OF_TENSORFLOW = HERE / "expected_failures.txt", HERE / "tensorflow_failures.txt"
NOT_RUN = {"applications/applications_test.py": "downloads weights and pictures"}
FILE_LIMIT = 1800  # seconds
WHOLE_LIMIT = 4 * 3600


class Listed:
    """Tests by their ids, or the beginnings of ids, each with a reason."""

    def __init__(self, text: str) -> None:
        self.exact: dict[str, str] = {}
        self.beginnings: dict[str, str] = {}
        reason = ""
        for line in map(str.strip, text.splitlines()):
            if line.startswith("[") and line.endswith("]"):
                reason = line[1:-1]
            elif line and not line.startswith("#"):
                if not reason:
                    raise ValueError(f"A list of tests begins with a reason in brackets, got {line!r}.")
                (self.beginnings if line.endswith("*") else self.exact)[line.rstrip("*")] = reason

    def reason(self, test: str) -> str | None:
        """Why a test is in the list; None if it is not."""
        if test in self.exact:
            return self.exact[test]
        return next((reason for start, reason in self.beginnings.items() if test.startswith(start)), None)


@dataclass
class Verdict:
    """What a run means, given the lists."""

    passed: int = 0
    skipped: int = 0
    expected: Counter[str] = field(default_factory=Counter)  # failures by their reasons
    as_tensorflow: int = 0  # failures that TensorFlow has too
    lacking: Counter[str] = field(default_factory=Counter)  # failures for want of a package, by its name
    unexpected: dict[str, str] = field(default_factory=dict)  # failures that no list has, with the last words of each
    surprising: dict[str, str] = field(default_factory=dict)  # listed, and passed; with the reasons

    @property
    def share(self) -> float:
        """Of the tests that TensorFlow passes, the part that passes here."""
        failed = len(self.unexpected) + self.expected.total()
        return self.passed / max(self.passed + failed, 1)


def judge(outcomes: dict[str, dict[str, str]], expected: Listed, of_tensorflow: Listed) -> Verdict:
    """Compares what became of the tests with the lists."""
    verdict = Verdict()
    for test, found in outcomes.items():
        known, theirs = expected.reason(test), of_tensorflow.reason(test)
        if found["outcome"] == "passed":
            if theirs is None:
                verdict.passed += 1
            if known is not None and test in expected.exact:
                verdict.surprising[test] = known
        elif found["outcome"] != "failed":
            verdict.skipped += 1
        elif (package := _lacking(found.get("why", ""))) is not None:
            verdict.lacking[package] += 1
        elif theirs is not None:
            verdict.as_tensorflow += 1
        elif known is not None:
            verdict.expected[known] += 1
        else:
            verdict.unexpected[test] = _last_words(found.get("why", ""))
    return verdict


def _lacking(why: str) -> str | None:
    """The package that is not installed and that a test needs; None if it failed for another reason."""
    found = re.search(r"ModuleNotFoundError: No module named '(\w+)", _last_words(why))
    return None if found is None or found[1] in ("tensorflow", "keras", "situs") else found[1]


def _last_words(why: str) -> str:
    lines = why.strip().splitlines() or ["no reason was given"]
    return next((line[1:].strip() for line in lines if line.startswith("E ")), lines[-1].strip())


def tests_of_keras(python: str) -> Path:
    """The folder that has Keras' tests, for an interpreter that has Keras installed. Imports nothing of it."""
    ask = "import importlib.util as u; print(u.find_spec('keras').submodule_search_locations[0])"
    found = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
    return (Path(found.stdout.strip()) / "src").resolve()  # pytest names tests by where they really are


def run(
    files: Sequence[str] = (),
    *,
    python: str = sys.executable,
    on: str = "situs",
    packages: str = "",
    jobs: int = 0,
    limit: int = FILE_LIMIT,
    quiet: bool = True,
) -> dict[str, dict[str, str]]:
    """What became of each test of Keras, by its id; a file that cannot be imported is one failure.

    Args:
        files: Files, relative to the folder of Keras' tests, or the beginnings of their paths; all if it is empty.
        python: The interpreter.
        on: What is beneath Keras: ``situs`` or ``tensorflow``.
        packages: A folder of packages that the tests import and the interpreter does not have.
        jobs: How many files run at once; 0: one after the other, in one process.
        limit: How many seconds the tests of a file may take.
        quiet: Whether nothing is to be printed.
    """
    folder = tests_of_keras(python)
    known = sorted(str(path.relative_to(folder)) for path in folder.rglob("*_test.py"))
    wanted = [name for name in known if name not in NOT_RUN and (not files or name.startswith(tuple(files)))]
    if not wanted:
        raise ValueError(f"Keras has no tests {', '.join(files)} in {folder}.")
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch) / "results"
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SITUS_", "PYTEST_"))}
        environment |= {
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), packages, os.environ.get("PYTHONPATH", "")])),
            "PYTHONSAFEPATH": "1",  # Keras' folder has modules of the names of Python's
            "PYTHONHASHSEED": "0",
            "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "SITUS_KERAS_TESTS_ON": on,
            "SITUS_KERAS_TESTS_LIMIT": str(limit),
            "SITUS_KERAS_TESTS_RESULTS": str(results),
        }
        command = [python, "-m", "pytest", "-q", "--assert=plain", "--tb=short", "-W", "ignore", "-r", "N"]
        command += ["-p", "tests.keras.plugin", "-p", "no:cacheprovider", "-c", str(HERE / "keras_tests.ini")]
        command += ["--continue-on-collection-errors", "--rootdir", str(folder)]
        command += [*(["-n", str(jobs), "--dist", "loadfile"] if jobs else []), *wanted]
        output = subprocess.PIPE if quiet else None
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            timeout=WHOLE_LIMIT,
            check=False,
            stdout=output,
            stderr=subprocess.STDOUT if quiet else None,
            text=True,
        )
        if not results.exists():
            raise RuntimeError(f"Keras' tests did not run: {done.stdout}")
        return _read(results.read_text().splitlines())


def _read(lines: Iterable[str]) -> dict[str, dict[str, str]]:
    """The outcomes by id. A test that fails twice, in itself and when it is cleaned up after, has failed."""
    outcomes: dict[str, dict[str, str]] = {}
    for line in map(json.loads, lines):
        line["id"] = re.sub(r"\s*at\s*0x[0-9a-f]+", "", line["id"])  # the address of a function, in a name
        if outcomes.get(line["id"], {}).get("outcome") != "failed":
            outcomes[line["id"]] = line
    return outcomes


def lists() -> tuple[Listed, Listed]:
    """The tests that are expected to fail, and those that fail on TensorFlow too."""
    return Listed(EXPECTED.read_text()), Listed(OF_TENSORFLOW.read_text())


def main() -> int:
    """Runs the tests and says what is new."""
    parser = argparse.ArgumentParser(description="Keras' own tests, with Situs beneath.")
    parser.add_argument("files", nargs="*", help="beginnings of paths below keras/src")
    parser.add_argument("--on", choices=["situs", "tensorflow"], default="situs", help="what is beneath Keras")
    parser.add_argument("--python", default=sys.executable, help="the interpreter")
    parser.add_argument("--with", dest="packages", default="", help="a folder of packages that the tests import")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many files run at once")
    parser.add_argument("--limit", type=int, default=FILE_LIMIT, help="seconds that a file may take")
    parser.add_argument("--outcomes", help="a file to write all outcomes to, as JSON")
    given = parser.parse_args()
    packages = str(Path(given.packages).resolve()) if given.packages else ""
    outcomes = run(
        given.files,
        python=given.python,
        on=given.on,
        packages=packages,
        jobs=given.jobs,
        limit=given.limit,
        quiet=False,
    )
    if given.outcomes:
        Path(given.outcomes).write_text(json.dumps(outcomes, indent=0))
    if given.on == "tensorflow":
        for test, found in outcomes.items():
            if found["outcome"] == "failed":
                print(f"{test}\n    {_last_words(found.get('why', ''))}")
        return 0
    verdict = judge(outcomes, *lists())
    for reason, count in verdict.expected.most_common():
        print(f"{count:6} fail as expected: {reason}")
    for test, reason in verdict.surprising.items():
        print(f"passes, and is in the list ({reason}): {test}")
    for test, words in verdict.unexpected.items():
        print(f"FAILS: {test}\n       {words}")
    print(
        f"{verdict.passed} passed, {verdict.expected.total()} failed as expected, {len(verdict.unexpected)} failed, "
        f"{verdict.skipped} skipped; not counted: {verdict.as_tensorflow} that fail on TensorFlow too, and "
        f"{verdict.lacking.total()} for want of packages ({', '.join(verdict.lacking) or 'none'}). "
        f"Of those that TensorFlow passes, {100 * verdict.share:.1f} % pass."
    )
    return 1 if verdict.unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
