"""Streaming metrics against figures recorded from TensorFlow 2.21: variables, each update, the value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs.compat.v1 import metrics

FIGURES = json.loads((Path(__file__).parents[2] / "data" / "metrics_figures.json").read_text())["streaming"]


def cases() -> list[Any]:
    """Each case with shapes that are known, where all batches have the same, and with shapes that are not."""
    found = []
    for number, case in enumerate(FIGURES):
        shapes = {tuple(np.shape(values) for values in batch.values()) for batch in case["batches"]}
        for known in (True, False):
            if not known or len(shapes) == 1:
                words = "known" if known else "unknown"
                found.append(pytest.param(case, known, id=f"{number}-{case['function']}-{words}"))
    return [case for case in found if "mean_tensor-unknown" not in case.id]  # its variables need the shape


def array(values: Any) -> np.ndarray:
    found = np.asarray(values)
    return found.astype(np.float32 if found.dtype == np.float64 else np.int64)


def figures(values: Any) -> np.ndarray:
    return np.asarray(values, np.float64)  # "nan" is a number to NumPy


def placeholders(batch: dict[str, Any], known: bool) -> dict[str, Any]:
    arrays = {name: array(values) for name, values in batch.items()}
    return {
        name: tf.placeholder(values.dtype, values.shape if known else [None] * values.ndim)
        for name, values in arrays.items()
    }


@pytest.mark.parametrize(("case", "known"), cases())
def test_a_metric_is_tensorflows(case: dict[str, Any], known: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = placeholders(case["batches"][0], known)
        value, update = getattr(metrics, case["function"])(**inputs, **case["options"])
        assert [variable.op.name for variable in tf.local_variables()] == case["variables"]
        session.run(tf.local_variables_initializer())
        for batch, wanted in zip(case["batches"], case["updates"], strict=True):
            found = session.run(update, {inputs[name]: array(values) for name, values in batch.items()})
            np.testing.assert_allclose(found, figures(wanted), rtol=2e-6, atol=1e-6)
        np.testing.assert_allclose(session.run(value), figures(case["value"]), rtol=2e-6, atol=1e-6)
