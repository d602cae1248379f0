"""Losses of both dialects against figures recorded from TensorFlow 2.21."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs import losses
from situs._src.v1 import losses as classic
from situs.compat.v1 import losses as losses_v1

FIGURES = json.loads((Path(__file__).parents[2] / "data" / "metrics_figures.json").read_text())
CASES = [pytest.param(case, id=f"{number}-{case['class']}") for number, case in enumerate(FIGURES["losses"])]
OLD_CASES = [pytest.param(case, id=f"{number}-{case['function']}") for number, case in enumerate(FIGURES["losses_v1"])]


def tensors(call: dict[str, Any]) -> dict[str, Any]:
    arrays = {name: np.asarray(values) for name, values in call.items() if isinstance(values, list)}
    typed = {n: a.astype(np.float32 if a.dtype == np.float64 else np.int64) for n, a in arrays.items()}
    return call | {name: tf.constant(values) for name, values in typed.items()}


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("case", CASES)
def test_a_loss_is_tensorflows(case: dict[str, Any], traced: bool) -> None:
    loss = getattr(losses, case["class"])(**case["options"])
    function = tf.function(loss.__call__) if traced else loss
    found = function(**tensors(case["call"]))
    np.testing.assert_allclose(found.numpy(), np.asarray(case["result"]), rtol=5e-6, atol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_a_loss_is_made_again_from_its_config(case: dict[str, Any]) -> None:
    loss = getattr(losses, case["class"])(**case["options"])
    again = losses.deserialize(losses.serialize(loss))
    assert again.get_config() == loss.get_config()


@pytest.mark.parametrize("case", OLD_CASES)
def test_a_loss_of_tensorflow_1_is_tensorflows(case: dict[str, Any]) -> None:
    found = getattr(classic, case["function"])(**tensors(case["call"]), **case["options"])
    np.testing.assert_allclose(found.numpy(), np.asarray(case["result"]), rtol=5e-6, atol=1e-6)
    with tf1.Graph().as_default(), tf1.Session() as session:
        arrays = {name: np.asarray(values) for name, values in case["call"].items()}
        feeds = {
            name: tf1.placeholder(tf1.float32 if a.dtype == np.float64 else tf1.int64, [None] * a.ndim)
            for name, a in arrays.items()
        }
        loss = getattr(losses_v1, case["function"])(**feeds, **case["options"])
        assert tf1.get_collection(tf1.GraphKeys.LOSSES) == [loss]
        in_session = session.run(loss, {feeds[name]: arrays[name] for name in feeds})
    np.testing.assert_allclose(in_session, np.asarray(case["result"]), rtol=5e-6, atol=1e-6)
