"""Random graphs that TensorFlow 2.21 placed on four CPUs: the same devices here, or the same complaint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from situs.errors import InvalidArgumentError
from tests.sketch import placed

CASES = json.loads(Path(__file__).with_name("tensorflow_placements.json").read_text())


@pytest.mark.parametrize("case", [pytest.param(case, id=str(number)) for number, case in enumerate(CASES)])
def test_a_graph_is_placed_as_tensorflow_placed_it(case):
    picture = "\n".join(case["graph"])
    if "error" in case:
        with pytest.raises(InvalidArgumentError, match=case["error"]):
            placed(picture, soft=case["soft"])
    else:
        assert (
            " ".join(f"{name}={device}" for name, device in placed(picture, soft=case["soft"]).items())
            == case["placed"]
        )
