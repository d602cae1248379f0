"""Running the examples as their readers do, and reaching into them as modules."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType

import pytest

from tests.conftest import ROOT, STUCK

EXAMPLES = ROOT / "examples"

RunExample = Callable[..., str]
LoadExample = Callable[[str], ModuleType]


@pytest.fixture
def run_example() -> RunExample:
    """Runs an example with some arguments, and returns what it printed."""

    def run(name: str, *args: object, fails: bool = False) -> str:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SITUS_", "CUDA_"))}
        done = subprocess.run(
            [sys.executable, "-W", "error", str(EXAMPLES / name), *map(str, args)],
            env={**clean, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=STUCK,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


@pytest.fixture
def load_example(monkeypatch: pytest.MonkeyPatch) -> LoadExample:
    """Imports an example without running it; it finds its neighbours."""
    monkeypatch.syspath_prepend(EXAMPLES)

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"example_{name.removesuffix('.py')}", EXAMPLES / name)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def numbers(pattern: str, printed: str) -> list[float]:
    """The numbers that follow a word: numbers("loss", "loss 2.5 ... loss 1.0") is [2.5, 1.0]."""
    return [float(found) for found in re.findall(rf"\b{pattern} (\d+(?:\.\d+)?)", printed)]


def devices(printed: str) -> set[str]:
    """The devices in the line that says where ops ran."""
    line = next(line for line in printed.splitlines() if "ran on" in line)
    return set(re.findall(r"[CG]PU:\d+", line))
