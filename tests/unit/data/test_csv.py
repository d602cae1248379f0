"""Columns of text files against figures of TensorFlow 2.21."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import situs as tf
from tests.unit.data.csv_cases import cases

FIGURES = json.loads((Path(__file__).parents[2] / "data" / "csv_figures.json").read_text())


@pytest.mark.parametrize("name", FIGURES)
def test_results_are_tensorflows(name: str, tmp_path: Path) -> None:
    wanted, call = FIGURES[name], cases(tf, str(tmp_path))[name]
    if isinstance(wanted, str) and wanted.startswith("ERR"):
        with pytest.raises(ValueError, match=r"\w"):
            call()
    else:
        assert json.loads(json.dumps(call(), default=str)) == wanted
