"""Feature columns give what TensorFlow's give, and refuse nonsense."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from tests.unit.feature_columns.feature_column_cases import figures

WANTED = json.loads((Path(__file__).parents[2] / "data" / "feature_column_figures.json").read_text())
fc = tf.feature_column


def rows(features, columns):
    """What a session gives for the columns of features, which a function makes."""
    with v1.Graph().as_default():
        made = v1.feature_column.input_layer(features(), columns)
        with v1.Session() as session:
            session.run([v1.global_variables_initializer(), v1.tables_initializer()])
            return session.run(made)


@pytest.fixture(scope="module")
def found():
    return json.loads(json.dumps(figures(tf, v1)))


@pytest.mark.parametrize("name", WANTED)
def test_a_column_gives_what_tensorflow_gives(found, name):
    assert found[name] == WANTED[name]


def test_columns_read_what_is_parsed_from_records():
    columns = [fc.numeric_column("x"), fc.indicator_column(fc.categorical_column_with_identity("k", 3))]
    feature = {
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=[2.5])),
        "k": tf.train.Feature(int64_list=tf.train.Int64List(value=[2, 0])),
    }
    record = tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
    found = rows(lambda: v1.parse_example([record], fc.make_parse_example_spec(columns)), columns)
    np.testing.assert_array_equal(found, [[1.0, 0.0, 1.0, 2.5]])


def test_a_vocabulary_in_a_file(tmp_path):
    path = tmp_path / "words"
    path.write_text("oslo\nrome\nbern\n")
    column = fc.categorical_column_with_vocabulary_file("city", str(path))
    assert column.num_buckets == 3
    found = rows(lambda: {"city": v1.constant(["bern", "nowhere"])}, fc.indicator_column(column))
    np.testing.assert_array_equal(found, [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])


def test_an_id_outside_is_an_error_where_there_is_no_default():
    column = fc.indicator_column(fc.categorical_column_with_identity("k", 3))
    with pytest.raises(tf.errors.InvalidArgumentError, match="from 0 to below 3"):
        rows(lambda: {"k": v1.constant([[5]], tf.int64)}, column)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fc.numeric_column(3), "key must be a string"),
        (lambda: fc.numeric_column("x", shape=(0,)), "greater than 0"),
        (lambda: fc.numeric_column("x", dtype=tf.string), "convertible to float"),
        (lambda: fc.bucketized_column(fc.numeric_column("x"), [3, 1]), "sorted"),
        (lambda: fc.bucketized_column("x", [3]), "numeric_column"),
        (lambda: fc.categorical_column_with_identity("x", 0), "num_buckets"),
        (lambda: fc.categorical_column_with_hash_bucket("x", 0), "hash_bucket_size"),
        (lambda: fc.categorical_column_with_vocabulary_list("x", []), "non-empty"),
        (lambda: fc.categorical_column_with_vocabulary_list("x", ["a", "a"]), "Duplicate"),
        (lambda: fc.crossed_column(["x"], 5), "length > 1"),
        (lambda: fc.crossed_column([fc.categorical_column_with_hash_bucket("x", 3), "y"], 5), "collision"),
        (lambda: fc.embedding_column(fc.numeric_column("x"), 3), "categorical"),
        (lambda: fc.indicator_column(7), "categorical"),
        (lambda: fc.make_parse_example_spec([3]), "columns of tf.feature_column"),
        (lambda: v1.feature_column.input_layer({"x": [1.0]}, []), "must not be empty"),
        (lambda: v1.feature_column.input_layer({}, fc.numeric_column("x")), "not in features"),
        (
            lambda: v1.feature_column.input_layer({"x": ["a"]}, fc.categorical_column_with_hash_bucket("x", 3)),
            "Wrap a categorical column",
        ),
    ],
)
def test_nonsense_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
