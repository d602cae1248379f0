"""Examples of strategies: several replicas and processes train as one device does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.examples.conftest import EXAMPLES, RunExample, devices, numbers


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("cifar10_mirrored.py", ("--steps", 3, "--batch", 8)), ("custom_loop.py", ("--epochs", 2))],
)
def test_replicas_train_as_one_device_does(run_example: RunExample, name: str, arguments: tuple[object, ...]):
    one, two = (run_example(name, "--gpus", gpus, *arguments) for gpus in (0, 2))
    assert numbers("loss", one)
    np.testing.assert_allclose(numbers("loss", two), numbers("loss", one), rtol=1e-5)
    assert numbers("accuracy", two) == numbers("accuracy", one)
    assert devices(one) == {"CPU:0"}
    assert devices(two) == {"GPU:0", "GPU:1"}


def test_a_loop_of_ones_own_learns(run_example: RunExample):
    assert numbers("accuracy", run_example("custom_loop.py"))[-1] > 0.95


def test_two_processes_train_as_one_does(tmp_path: Path):
    """Keras' own saving warns, so warnings are no errors here."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SITUS_", "CUDA_"))}
    printed = []
    for number, command in enumerate(([], ["-m", "situs", "launch", "-n", "2"])):
        arguments = [str(EXAMPLES / "multi_worker.py"), "--epochs", "2", "--backup", str(tmp_path / str(number))]
        done = subprocess.run(
            [sys.executable, *command, *arguments],
            env={**clean, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert [numbers("replicas", each) for each in printed] == [[1], [2]]
    assert len(numbers("loss", printed[0])) == 2
    np.testing.assert_allclose(numbers("loss", printed[1]), numbers("loss", printed[0]), rtol=1e-5)
