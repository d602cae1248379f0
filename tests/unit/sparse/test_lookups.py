"""Lookups by sparse ids, sets, beam search, products of sparse matrices: TensorFlow's figures, and NumPy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from situs._src.sparse.products import sparse_matmul
from tests.unit.sparse.lookup_cases import figures, plain

WANTED = json.loads((Path(__file__).parents[2] / "data" / "lookup_figures.json").read_text())


@pytest.fixture(scope="module")
def found():
    return json.loads(json.dumps(figures(tf)))


@pytest.mark.parametrize("name", WANTED)
def test_a_call_gives_what_tensorflow_gives(found, name):
    assert_close(found[name], WANTED[name])


def assert_close(ours, theirs):
    if isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for pair in zip(ours, theirs, strict=True):
            assert_close(*pair)
    else:
        assert ours == pytest.approx(theirs, abs=2e-3) if isinstance(theirs, float) else ours == theirs


def test_gradients_of_a_lookup_are_rows_of_the_table():
    table = tf.Variable([[1.0], [2.0], [5.0]])
    ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [0, 2, 2], [2, 2])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.nn.embedding_lookup_sparse(table, ids, None, "mean") ** 2)
    gradient = tape.gradient(loss, table)
    assert isinstance(gradient, tf.IndexedSlices)
    np.testing.assert_allclose(tf.convert_to_tensor(gradient).numpy(), [[3.0], [0.0], [13.0]])


def test_tensorflow_1_deals_rows_out_to_shards_one_by_one():
    with v1.Graph().as_default(), v1.Session() as session:
        shards = [v1.constant([[0.0], [2.0]]), v1.constant([[1.0], [3.0]])]
        ids = v1.SparseTensor([[0, 0], [1, 0]], [1, 2], [2, 1])
        made = session.run(v1.nn.embedding_lookup_sparse(shards, ids, None, combiner="sum"))
    np.testing.assert_array_equal(made, [[1.0], [2.0]])


def test_sets_and_lookups_in_functions():
    @tf.function
    def run(a, b):
        return tf.sparse.to_dense(tf.sets.union(a, b)), tf.sets.size(tf.sets.intersection(a, b))

    both, sizes = run(tf.constant([[1, 2]]), tf.constant([[2, 3]]))
    assert both.numpy().tolist() == [[1, 2, 3]]
    assert sizes.numpy().tolist() == [1]


def test_repeated_labels_are_merged_as_in_tensorflow_1():
    logits = np.log([[[0.8, 0.1, 0.1]], [[0.1, 0.1, 0.8]], [[0.8, 0.1, 0.1]]]).astype(np.float32)
    [apart], _ = tf.nn.ctc_beam_search_decoder(logits, [3])
    assert apart.values.numpy().tolist() == [0, 0]
    with v1.Graph().as_default(), v1.Session() as session:
        [merged], _ = v1.nn.ctc_beam_search_decoder(logits, [3])
        assert session.run(merged).values.tolist() == [0]


@pytest.mark.parametrize("stack", [(), (3,)])
def test_products_of_sparse_matrices(stack):
    rng = np.random.default_rng(0)
    a, b = ((rng.random((*stack, *shape)) * (rng.random((*stack, *shape)) < 0.5)) for shape in ((4, 5), (5, 2)))
    made = sparse_matmul(tf.sparse.from_dense(a), tf.sparse.from_dense(b))
    np.testing.assert_allclose(tf.sparse.to_dense(made).numpy(), a @ b)
    assert made.shape == [*stack, 4, 2]


def test_map_fn_takes_sparse_tensors_row_by_row():
    dense = np.array([[[1.0, 0.0], [0.0, 2.0]], [[0.0, 3.0], [4.0, 0.0]]])
    sp, other = tf.sparse.from_dense(dense), tf.constant([[[1.0], [2.0]], [[3.0], [4.0]]], tf.float64)

    def product(pair):
        return tf.sparse.sparse_dense_matmul(pair[0], pair[1])

    for run in (tf.map_fn, tf.function(tf.map_fn)):
        made = run(product, (sp, other), fn_output_signature=tf.float64)
        np.testing.assert_allclose(made.numpy(), dense @ other.numpy())
    with pytest.raises(ValueError, match="fn_output_signature"):
        tf.map_fn(product, (sp, other))


def test_a_row_partition_says_the_same_in_all_ways():
    partition = tf.experimental.RowPartition
    ways = [
        partition.from_row_splits([0, 2, 2, 5]),
        partition.from_row_lengths([2, 0, 3]),
        partition.from_value_rowids([0, 0, 2, 2, 2]),
        partition.from_row_starts([0, 2, 2], 5),
    ]
    for rows in ways:
        assert plain(rows.row_splits()) == [0, 2, 2, 5]
        assert plain(rows.row_lengths()) == [2, 0, 3]
        assert plain(rows.value_rowids()) == [0, 0, 2, 2, 2]
        assert plain([rows.row_starts(), rows.row_limits()]) == [[0, 2, 2], [2, 2, 5]]
        assert (int(rows.nrows()), int(rows.nvals()), rows.static_nrows) == (3, 5, 3)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tf.sets.intersection([[1.0]], [[1.0]]), TypeError, "integers or strings"),
        (lambda: tf.sets.union([1], [1]), ValueError, "last dimension"),
        (lambda: tf.sets.union([[1]], [[1], [2]]), ValueError, "must be the same"),
        (lambda: tf.sets.size([[1]]), TypeError, "SparseTensor"),
        (lambda: tf.nn.embedding_lookup_sparse([[1.0]], [[0]], None), TypeError, "SparseTensor"),
        (
            lambda: tf.nn.embedding_lookup_sparse([[1.0]], tf.sparse.eye(2, dtype=tf.int32), None, "most"),
            ValueError,
            "combiner",
        ),
        (
            lambda: tf.nn.ctc_beam_search_decoder([[[0.0, 1.0]]], [1], top_paths=3, beam_width=2),
            ValueError,
            "top_paths",
        ),
        (lambda: tf.nn.ctc_beam_search_decoder([[0.0, 1.0]], [1]), ValueError, "3-Tensor"),
        (lambda: tf.experimental.RowPartition(None), ValueError, "private"),
    ],
)
def test_nonsense_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
