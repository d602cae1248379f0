"""Sparse tensors against figures of TensorFlow 2.21."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import situs as tf
import situs.compat.v1 as v1
from tests.unit.sparse.sparse_cases import cases, shown

FIGURES = json.loads((Path(__file__).parents[2] / "data" / "sparse_figures.json").read_text())
CASES = cases(tf)


@pytest.mark.parametrize("name", FIGURES)
def test_results_are_tensorflows(name: str) -> None:
    wanted = FIGURES[name]
    if isinstance(wanted, str) and wanted.startswith("ERR"):
        with pytest.raises((ValueError, IndexError) if wanted == "ERR V" else TypeError):
            CASES[name]()
    else:
        assert json.loads(json.dumps(shown(tf, CASES[name]()), default=str)) == wanted


def test_gradients_are_dense() -> None:
    values, dense = tf.Variable([1.0, 2.0, 3.0]), tf.Variable(tf.reshape(tf.range(12.0), [4, 3]))
    with tf.GradientTape() as tape:
        sp = tf.SparseTensor([[0, 0], [1, 2], [2, 1]], values, [3, 4])
        total = tf.reduce_sum(tf.sparse.sparse_dense_matmul(sp, dense) ** 2) + tf.reduce_sum(
            tf.sparse.to_dense(sp) ** 3
        )
    of_values, of_dense = tape.gradient(total, [values, dense])
    wide = tf.constant([[1.0, 0, 0, 0], [0, 0, 2.0, 0], [0, 3.0, 0, 0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(wide)
        total = tf.reduce_sum((wide @ dense) ** 2) + tf.reduce_sum(wide**3)
    assert of_dense.numpy().tolist() == tape.gradient(total, dense).numpy().tolist()
    wanted = tape.gradient(total, wide).numpy()
    assert of_values.numpy().tolist() == [wanted[0, 0], wanted[1, 2], wanted[2, 1]]


def test_refusals() -> None:
    sp = tf.SparseTensor([[0, 0]], [1.0], [2, 2])
    for wrong in (lambda: tf.sparse.to_dense(3), lambda: sp * sp, lambda: tf.matmul(sp, sp), lambda: sp + 1.0):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ValueError, match="out of order"):
        tf.sparse.to_dense(tf.SparseTensor([[1, 0], [0, 0]], [1.0, 2.0], [2, 2]))
    with pytest.raises(ValueError, match="repeated"):
        tf.sparse.to_dense(tf.SparseTensor([[1, 0], [1, 0]], [1.0, 2.0], [2, 2]))


def test_in_sessions() -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        sp = v1.SparseTensor([[0, 1], [1, 0]], [3.0, 4.0], [2, 2])
        twice = v1.sparse_add(sp, sp)
        value, dense = session.run([twice, v1.sparse_tensor_to_dense(twice)])
        assert isinstance(value, v1.SparseTensorValue)
        assert (value.values.tolist(), dense.tolist()) == ([6.0, 8.0], [[0.0, 6.0], [8.0, 0.0]])
        given = v1.sparse_placeholder(v1.float32, [None, 2])
        total = v1.sparse_reduce_sum(given, 1)
        assert session.run(total, {given: value}).tolist() == [6.0, 8.0]
        assert session.run(total, {given: (value.indices, [1.0, 2.0], value.dense_shape)}).tolist() == [1.0, 2.0]


def test_in_a_saved_program(tmp_path: Path) -> None:
    module = tf.Module()
    module.f = tf.function(lambda sp: (tf.sparse.add(sp, sp), tf.sparse.reduce_sum(sp)))
    module.f(tf.SparseTensor([[0, 1]], [3.0], [2, 2]))
    tf.saved_model.save(module, tmp_path)
    twice, total = tf.saved_model.load(tmp_path).f(tf.SparseTensor([[1, 0]], [5.0], [2, 2]))
    assert (tf.sparse.to_dense(twice).numpy().tolist(), float(total)) == ([[0.0, 0.0], [10.0, 0.0]], 5.0)
