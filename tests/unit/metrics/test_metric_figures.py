"""The metrics of Keras against figures recorded from TensorFlow 2.21, in eager code and in a function."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import situs as tf
from situs import metrics

FIGURES = json.loads((Path(__file__).parents[2] / "data" / "metrics_figures.json").read_text())["metrics"]
CASES = [pytest.param(case, id=f"{number}-{case['class']}") for number, case in enumerate(FIGURES)]


def tensor(values: Any) -> Any:
    found = np.asarray(values)
    return tf.constant(found.astype(np.float32 if found.dtype == np.float64 else np.int64))


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("case", CASES)
def test_a_metric_is_tensorflows(case: dict[str, Any], traced: bool) -> None:
    metric = getattr(metrics, case["class"])(**case["options"])
    update = tf.function(metric.update_state) if traced else metric.update_state
    can_trace = (
        case["class"] != "R2Score"
    )  # its result is an `if` of Python's on a tensor, which Keras keeps from AutoGraph
    result = tf.function(metric.result) if traced and can_trace else metric.result
    if case["name"] is not None:
        assert metric.name.rstrip("_0123456789") == case["name"]
    for batch, wanted in zip(case["batches"], case["results"], strict=True):
        update(**{name: tensor(values) for name, values in batch.items()})
        np.testing.assert_allclose(result().numpy(), np.asarray(wanted, np.float64), rtol=5e-6, atol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_a_metric_is_made_again_from_its_config(case: dict[str, Any]) -> None:
    metric = getattr(metrics, case["class"])(**case["options"])
    again = type(metric).from_config(metric.get_config())
    assert again.get_config() == metric.get_config()
    assert [variable.shape for variable in again.variables] == [variable.shape for variable in metric.variables]
