"""``examples/two_gpus.py`` and ``examples/memory_picture.py``: they draw what they show."""

from __future__ import annotations

import json
from pathlib import Path

from tests.examples.conftest import RunExample


def test_two_gpus_draws_lanes_and_writes_a_trace(run_example: RunExample, tmp_path: Path):
    printed = run_example("two_gpus.py", tmp_path / "picture.svg")
    assert "both GPUs at work for" in printed
    assert "GPU:1" in (tmp_path / "picture.svg").read_text()
    assert json.loads((tmp_path / "picture.json").read_text())["traceEvents"]


def test_memory_picture_shows_both_gpus(run_example: RunExample, tmp_path: Path):
    printed = run_example("memory_picture.py", tmp_path / "picture.svg")
    assert "GPU:0" in printed
    assert "GPU:1" in (tmp_path / "picture.svg").read_text()
