"""``situs launch``: a program in several processes, which torchrun starts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from situs._src.cli.main import main
from situs._src.cli.worker import tf_config
from tests.conftest import ROOT

PROGRAM = """
import os, sys
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
total = float(strategy.reduce("SUM", tf.constant(1.0), axis=None))
with open(f"{sys.argv[1]}/{strategy.cluster_resolver.task_id}", "w") as file:
    file.write(f"{total} {strategy.num_replicas_in_sync} {os.environ['WORLD_SIZE']}")
if strategy.cluster_resolver.task_id == 1:
    sys.exit(3)
"""


def test_two_workers_of_which_one_fails(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "situs", "launch", "-n", "2", str(path), str(tmp_path)],
        env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert "worker 1 of 2 failed with status 3" in done.stderr
    assert "elastic" not in done.stderr  # torchrun's own account of it
    assert [(tmp_path / str(rank)).read_text() for rank in range(2)] == ["2.0 2 2"] * 2


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["-n", "0", __file__], 2, "1 to 1024"),
        (["-n", "2"], 2, "needs a program"),
        (["-n", "2", "nowhere.py"], 1, "no program 'nowhere.py'"),
        (["-n", "2", "-m", "nowhere.at.all"], 1, "no module"),
    ],
)
def test_what_cannot_be_launched(
    capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, message: str
) -> None:
    assert main(["launch", *arguments]) == status
    assert message in capsys.readouterr().err


def test_what_workers_are_told() -> None:
    told = json.loads(tf_config(1, 3, "127.0.0.1", 5000))
    assert told["cluster"]["worker"] == ["127.0.0.1:5000", "127.0.0.1:5001", "127.0.0.1:5002"]
    assert told["task"] == {"type": "worker", "index": 1}
