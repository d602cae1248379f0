"""The targets of the fuzzer can be made, and their first case is no finding."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT, STUCK
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("target", TARGETS)
def test_the_first_case_of_a_target_is_no_finding(target):
    env = {key: value for key, value in os.environ.items() if not key.startswith("SITUS_")}
    command = [sys.executable, "-m", "tests.fuzz", target, "--only", "0", "--patience", str(STUCK)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=STUCK, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
