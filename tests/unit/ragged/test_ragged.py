"""Ragged tensors against figures of TensorFlow 2.21."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
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


def test_rows_are_checked_in_functions_too():
    whole = tf.function(lambda values, splits: tf.RaggedTensor.from_row_splits(values, splits))
    by_number = tf.function(lambda values, ids, count: tf.RaggedTensor.from_value_rowids(values, ids, count))
    add = tf.function(lambda one, other: one + other)
    assert whole([1, 2, 3], tf.constant([0, 2, 3])).to_list() == [[1, 2], [3]]
    assert by_number([1, 2, 3], tf.constant([0, 0, 2]), tf.constant(4)).to_list() == [[1, 2], [], [3], []]
    for splits in ([0, 2, 1], [1, 2, 3], [0, 2, 2], [0, 2, 4]):
        for make in (whole, tf.RaggedTensor.from_row_splits):
            with pytest.raises(tf.errors.InvalidArgumentError, match="valid RaggedTensor") as caught:
                make([1, 2, 3], tf.constant(splits))
            assert type(caught.value).__name__ == "InvalidArgumentError"
    for ids in ([1, 0, 1], [0, 0, 5], [-1, 0, 0]):
        for make in (by_number, tf.RaggedTensor.from_value_rowids):
            with pytest.raises(tf.errors.InvalidArgumentError, match="row"):
                make([1, 2, 3], tf.constant(ids), tf.constant(3))
    one, other = tf.ragged.constant([[1], [2, 3]]), tf.ragged.constant([[1, 2], [3]])
    assert add(one, one).to_list() == [[2], [4, 6]]
    for call in (add, tf.add):
        with pytest.raises(tf.errors.InvalidArgumentError, match="incompatible shapes"):
            call(one, other)


def test_rows_are_checked_in_graphs_of_sessions():
    with v1.Graph().as_default():
        splits = v1.placeholder(tf.int64, [None])
        dense = tf.RaggedTensor.from_row_splits(tf.constant([1, 2, 3]), splits).to_tensor()
        with v1.Session() as sess:
            assert sess.run(dense, {splits: [0, 1, 3]}).tolist() == [[1, 0], [2, 3]]
            with pytest.raises(tf.errors.InvalidArgumentError, match="valid RaggedTensor"):
                sess.run(dense, {splits: [0, 2, 1]})


@pytest.mark.parametrize("in_function", [False, True])
def test_functions_of_rows_may_return_rows_of_any_length(in_function):
    # As TensorFlow has them.
    call = tf.function if in_function else lambda made: made
    rows, row = tf.ragged.constant([[1.0, 2.0], [], [3.0]]), tf.RaggedTensorSpec
    doubled = call(lambda: tf.map_fn(lambda x: x * 2, rows, fn_output_signature=row([None], tf.float32)))()
    assert doubled.to_list() == [[2.0, 4.0], [], [6.0]]
    assert doubled.shape.as_list() == [3, None]
    assert call(lambda: tf.map_fn(lambda x: x * 2, rows))().to_list() == [[2.0, 4.0], [], [6.0]]
    counted = call(lambda n: tf.map_fn(tf.range, n, fn_output_signature=row([None], tf.int32)))(tf.constant([1, 0, 2]))
    assert counted.to_list() == [[0], [], [0, 1]]
    repeated = call(
        lambda: tf.map_fn(
            lambda pair: tf.repeat(pair[0], pair[1]),
            (tf.constant([1.5, 2.5]), tf.constant([2, 1])),
            fn_output_signature=row([None], tf.float32),
        )
    )()
    assert repeated.to_list() == [[1.5, 1.5], [2.5]]
    text = tf.constant(["a b", ""])
    words = call(lambda: tf.map_fn(tf.strings.split, text, fn_output_signature=row([None], tf.string)))
    assert words().to_list() == [[b"a", b"b"], []]

    @call
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            made = tf.map_fn(lambda n: x[:n] * x[0], tf.constant([1, 3]), fn_output_signature=row([None], tf.float32))
            y = tf.reduce_sum(made.flat_values)
        return tape.gradient(y, x)

    assert slope(tf.constant([1.0, 2.0, 3.0])).numpy().tolist() == [9.0, 1.0, 1.0]


JOINED = [  # axis, separator, keepdims, what TensorFlow makes of it
    (None, " ", False, b"hello world a b c"),
    (1, "", False, [b"hello worlda b", b"c", b""]),
    (-1, " ", False, [b"hello world a b", b"c", b""]),
    (0, "+", False, [b"hello world+c", b"a b"]),
    (1, "", True, [[b"hello worlda b"], [b"c"], [b""]]),
    ([0, 1], ",", False, b"hello world,a b,c,"),
]


def listed(made):
    return made.to_list() if isinstance(made, tf.RaggedTensor) else np.asarray(made.numpy()).tolist()


@pytest.mark.parametrize(("axis", "separator", "keepdims", "expected"), JOINED)
@pytest.mark.parametrize("in_function", [False, True])
def test_strings_of_rows_are_joined(axis, separator, keepdims, expected, in_function):
    rows = tf.ragged.constant([["hello world", "a b"], ["c"], []])
    call = tf.function(tf.strings.reduce_join) if in_function else tf.strings.reduce_join
    made = call(rows, axis=axis, separator=separator, keepdims=keepdims)
    assert listed(made) == expected


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        (-1, [[b"a", b"b-c"], [b""]]),
        (1, [[b"a-b", b"c"], []]),
        (0, [[b"a"], [b"b", b"c"]]),
        ([1, 2], [b"a-b-c", b""]),
        ([2, 1], [b"a-b-c", b""]),
    ],
)
def test_strings_of_deeper_rows_are_joined(axis, expected):
    made = tf.strings.reduce_join(tf.ragged.constant([[["a"], ["b", "c"]], [[]]]), axis, separator="-")
    assert listed(made) == expected


def test_strings_of_rows_are_joined_in_sessions():
    with v1.Graph().as_default(), v1.Session() as session:
        rows = tf.ragged.constant([["a", "b"], ["c"]])
        assert session.run(v1.strings.reduce_join(rows, axis=1, separator=".")).tolist() == [b"a.b", b"c"]


def test_strings_of_rows_of_vectors_are_joined():
    rows = tf.RaggedTensor.from_row_splits([["a", "b"], ["c", "d"], ["e", "f"]], [0, 2, 3])
    assert tf.strings.reduce_join(rows, -1, separator="-").to_list() == [[b"a-b", b"c-d"], [b"e-f"]]
    assert tf.strings.reduce_join(rows, 1, separator="-").numpy().tolist() == [[b"a-c", b"b-d"], [b"e", b"f"]]
    with pytest.raises(ValueError, match="Invalid reduction dimension of 3"):
        tf.strings.reduce_join(rows, 3)


@pytest.mark.parametrize("axis", [1, -1, np.int64(1), np.array([1]), tf.constant(1), tf.constant([-1]), (1,)], ids=repr)
def test_an_axis_of_any_kind_is_the_one_reduced(axis):
    rows = tf.ragged.constant([[1, 2], [3], []])
    assert tf.reduce_sum(rows, axis).numpy().tolist() == [3, 3, 0]
    assert tf.reduce_max(rows[:2], axis).numpy().tolist() == [2, 3]


def test_an_axis_that_is_computed_in_a_function_is_refused():
    with pytest.raises(ValueError, match="axes to reduce a ragged tensor along are known numbers"):
        tf.function(tf.reduce_sum)(tf.ragged.constant([[1, 2], [3]]), tf.constant(1))


@pytest.mark.parametrize("shape", [(4, 0), (2, 0, 3), (2, 3, 0), (0, 3)])
def test_rows_without_strings_are_kept(shape):
    text, wanted = tf.zeros(shape, tf.string), np.zeros([*shape, 0]).tolist()
    assert tf.strings.split(text).to_list() == wanted
    assert tf.strings.bytes_split(text).to_list() == wanted
    assert tf.strings.unicode_decode(text, "UTF-8").to_list() == wanted
    spec = tf.TensorSpec([None] * len(shape), tf.string)
    assert tf.function(tf.strings.split, input_signature=[spec])(text).to_list() == wanted


def test_pads_alone_are_no_words():
    # TensorFlow makes them of an empty row only where another row has words.
    assert tf.strings.ngrams(tf.zeros([0], tf.string), 2, pad_values="P").numpy().tolist() == []
    empty = tf.ragged.constant([[], []], dtype=tf.string)
    assert tf.strings.ngrams(empty, 2, pad_values="P").to_list() == [[], []]
    mixed = tf.ragged.constant([[], ["a"]], dtype=tf.string)
    assert tf.strings.ngrams(mixed, 2, pad_values="P").to_list() == [[b"P P"], [b"P a", b"a P"]]


@pytest.mark.parametrize("in_function", [False, True])
def test_softmax_of_rows(in_function):
    call = tf.function(tf.nn.softmax) if in_function else tf.nn.softmax
    made = call(tf.ragged.constant([[1.0, 2.0], [], [3.0], [1000.0, 1000.0]])).to_list()
    assert made[1:] == [[], [1.0], [0.5, 0.5]]
    np.testing.assert_allclose(made[0], [0.26894143, 0.7310586], rtol=1e-6)
    deeper = call(tf.ragged.constant([[[0.0, 0.0], [5.0]], []]))
    assert deeper.to_list() == [[[0.5, 0.5], [1.0]], []]
    vectors = call(tf.RaggedTensor.from_row_splits([[1.0, 1.0], [7.0, 7.0]], [0, 0, 2]))
    assert vectors.to_list() == [[], [[0.5, 0.5], [0.5, 0.5]]]
    rows = tf.ragged.constant([[4.0, 4.0], [3.0]])
    assert tf.nn.softmax(rows, axis=1).to_list() == tf.nn.softmax(rows, -1).to_list() == [[0.5, 0.5], [1.0]]
    with pytest.raises(ValueError, match="along its last dimension, got axis=0"):
        tf.nn.softmax(rows, axis=0)


@pytest.mark.parametrize("in_function", [False, True])
def test_the_rank_of_rows(in_function):
    call = tf.function(tf.rank) if in_function else tf.rank
    made = call(tf.ragged.constant([[[1], [2, 3]], []]))
    assert (int(made), made.dtype) == (3, tf.int32)
