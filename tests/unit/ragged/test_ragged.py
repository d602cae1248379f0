"""Ragged tensors against figures of TensorFlow 2.21."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import situs as tf
import situs.compat.v1 as v1
from tests.unit.ragged.ragged_cases import cases, shown

FIGURES = json.loads((Path(__file__).parents[2] / "data" / "ragged_figures.json").read_text())
CASES = cases(tf)


@pytest.mark.parametrize("name", FIGURES)
def test_results_are_tensorflows(name: str) -> None:
    wanted = FIGURES[name]
    if isinstance(wanted, str) and wanted.startswith("ERR"):
        with pytest.raises((ValueError, IndexError) if wanted == "ERR V" else TypeError):
            CASES[name]()
    else:
        assert json.loads(json.dumps(shown(tf, CASES[name]()), default=str)) == wanted


def test_splitting_strings_in_sessions() -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        parts = session.run(v1.string_split(["a,b;c", ""], delimiter=",;"))
        assert (parts.values.tolist(), parts.dense_shape.tolist()) == ([b"a", b"b", b"c"], [2, 3])
        kept = session.run(v1.string_split(["a  b"], skip_empty=False))
        assert kept.values.tolist() == [b"a", b"", b"b"]
        assert session.run(v1.strings.split(["a b", "c"])).indices.tolist() == [[0, 0], [0, 1], [1, 0]]
        rows = session.run(v1.strings.split(["a b", "c"], result_type="RaggedTensor"))
        assert rows.to_list() == [[b"a", b"b"], [b"c"]]


def test_in_a_saved_program(tmp_path: Path) -> None:
    module = tf.Module()
    spec = tf.RaggedTensorSpec([None, None], tf.float32)
    module.f = tf.function(lambda rows: (rows * 2.0, tf.reduce_sum(rows, 1)), input_signature=[spec])
    tf.saved_model.save(module, tmp_path)
    twice, sums = tf.saved_model.load(tmp_path).f(tf.ragged.constant([[1.0], [2.0, 3.0]]))
    assert (twice.to_list(), sums.numpy().tolist()) == ([[2.0], [4.0, 6.0]], [1.0, 5.0])


def test_refusals() -> None:
    rows = tf.ragged.constant([[1.0], [2.0, 3.0]])
    for wrong in (lambda: tf.matmul(rows, rows), lambda: tf.convert_to_tensor(rows), lambda: tf.sort(rows)):
        with pytest.raises((TypeError, ValueError)):
            wrong()
    with pytest.raises(ValueError, match="private"):
        tf.RaggedTensor([1], [0, 1])
    with pytest.raises(ValueError, match="incompatible"):
        rows + tf.ragged.constant([[1.0, 2.0], [3.0]])


def test_tables_of_ragged_and_sparse_keys() -> None:
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), 0)
    assert table.lookup(tf.ragged.constant([["a"], ["b", "c"]])).to_list() == [[1], [2, 0]]
    assert table.lookup(tf.sparse.from_dense([["a", ""], ["", "b"]])).values.numpy().tolist() == [1, 2]
