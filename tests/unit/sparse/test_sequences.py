"""Sequences of labels against figures of TensorFlow 2.21."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from tests.unit.sparse.sequences_cases import cases

FIGURES = json.loads((Path(__file__).parents[2] / "data" / "sequences_figures.json").read_text())
CASES = cases(tf)


@pytest.mark.parametrize("name", FIGURES)
def test_results_are_tensorflows(name: str) -> None:
    wanted = FIGURES[name]
    if isinstance(wanted, str) and wanted.startswith("ERR"):
        with pytest.raises(ValueError, match="blank_index"):
            CASES[name]()
    else:
        assert json.loads(json.dumps(CASES[name]())) == wanted


def test_in_a_session() -> None:
    logits = np.random.RandomState(0).randn(6, 2, 5).astype(np.float32)
    with v1.Graph().as_default(), v1.Session() as session:
        labels = v1.SparseTensor([[0, 0], [1, 0]], np.array([1, 3], np.int32), [2, 1])
        given = v1.placeholder(v1.float32, [None, 2, 5])
        loss = v1.nn.ctc_loss(labels, given, [6, 4])
        slopes = v1.gradients(loss, given)[0]
        found, down = session.run([loss, slopes], {given: logits})
    assert found.shape == (2,)
    np.testing.assert_allclose(down.sum(2), np.zeros((6, 2)), atol=1e-5)  # along each softmax
    assert not down[4:, 1].any()


def test_refusals() -> None:
    logits = tf.zeros([3, 1, 4])
    with pytest.raises(ValueError, match="from 0 to 3"):
        tf.nn.ctc_loss([[1]], logits, [1], [5])
    with pytest.raises(ValueError, match="from 0 to 3"):
        tf.nn.ctc_loss([[7]], logits, [1], [3])
    with pytest.raises(ValueError, match="no class"):
        tf.nn.ctc_loss([[1]], logits, [1], [3], blank_index=9)
    with pytest.raises(TypeError, match="Hypothesis must be a SparseTensor"):
        tf.edit_distance([1], [2])
    with pytest.raises(ValueError, match="3-Tensor"):
        tf.nn.ctc_greedy_decoder(tf.zeros([2, 2]), [1])
