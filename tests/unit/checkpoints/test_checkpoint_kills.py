"""A kill at any moment leaves the last good checkpoint: hundreds of kills, in processes of their own.

The long version: python -m tests.unit.checkpoints.kills --kills 5000 --every-step
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import STUCK

ROOT = Path(__file__).parents[3]
MEMORY = "/dev/shm"  # where waiting for the disk takes no time


def kills(*arguments: str) -> list[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SITUS_", "CUDA_"))}
    done = subprocess.run(
        [sys.executable, "-m", "tests.unit.checkpoints.kills", *arguments],
        cwd=ROOT,
        env={**clean, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=STUCK,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_writers_that_are_killed_at_random_moments_lose_nothing(tmp_path):
    lines = kills("--kills", "70", "--folder", str(tmp_path))
    found = [re.fullmatch(r"(\w+): 70 kills, (\d+) in the middle of a save, nothing lost", line) for line in lines]
    assert [match[1] for match in found] == ["saver", "overwriting", "manager"]
    assert sum(int(match[2]) for match in found) > 20  # else the kills come at the wrong time


@pytest.mark.skipif(not Path(MEMORY).is_dir(), reason="without a file system in memory it would take a minute")
def test_writers_that_end_or_fail_before_any_step_lose_nothing():
    lines = kills("--kills", "0", "--every-step", "--folder", MEMORY)
    steps = [int(match[1]) for line in lines if (match := re.search(r"each of (\d+) steps, nothing lost", line))]
    assert len(steps) == 6
    assert min(steps) > 15
