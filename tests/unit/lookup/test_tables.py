"""Tables from keys to values: eager, in functions and datasets, in graphs, in checkpoints and saved programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1


def letters(default: int = -1) -> Any:
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), default)


def test_values_of_keys() -> None:
    table = letters()
    assert table.lookup(tf.constant([["a"], ["z"]])).numpy().tolist() == [[1], [-1]]
    assert int(table[tf.constant("b")]) == 2
    assert table.lookup(["b"]).numpy().tolist() == [2]
    assert table.lookup(tf.zeros([0], tf.string)).shape.as_list() == [0]
    assert int(table.size()) == 2
    keys, values = table.export()
    assert dict(zip(keys.numpy().tolist(), values.numpy().tolist(), strict=True)) == {b"a": 1, b"b": 2}
    assert (table.key_dtype, table.value_dtype) == (tf.string, tf.int32)


@pytest.mark.parametrize(
    ("keys", "values", "default", "asked", "wanted"),
    [
        (tf.constant([1, 2], tf.int64), ["x", "y"], "?", tf.constant([2, 3], tf.int64), [b"y", b"?"]),
        (tf.constant([1, 2], tf.int32), [0.5, 1.5], 0.0, tf.constant([1], tf.int32), [0.5]),
        (["a"], [True], False, tf.constant(["a", "b"]), [True, False]),
    ],
)
def test_other_dtypes(keys: Any, values: Any, default: Any, asked: Any, wanted: Any) -> None:
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), default)
    assert table.lookup(asked).numpy().tolist() == wanted


def test_in_functions_and_datasets() -> None:
    table = letters()
    assert tf.function(table.lookup)(tf.constant(["b", "c"])).numpy().tolist() == [2, -1]
    words = tf.data.Dataset.from_tensor_slices(["a", "b", "c"])
    assert list(words.map(table.lookup).as_numpy_iterator()) == [1, 2, -1]

    @tf.function
    def made_inside(x: Any) -> Any:
        inside = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["k"], [5]), 0)
        return inside.lookup(x)

    assert int(made_inside(tf.constant("k"))) == 5


def test_a_table_is_on_the_host(on_device: str) -> None:
    numbers = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant([3, 4], tf.int64), tf.constant([0.5, 1.5])), 0.0
    )
    asked = tf.constant([4, 5], tf.int64)
    for find in (numbers.lookup, tf.function(numbers.lookup)):
        assert find(asked).numpy().tolist() == [1.5, 0.0]


def test_wrong_keys_and_contents() -> None:
    table = letters()
    with pytest.raises(TypeError, match="must be string, received: int32"):
        table.lookup(tf.constant([1]))
    with pytest.raises(TypeError, match="keys"):
        table.lookup([1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Key a has 1 and trying to add value 2"):
        tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "a"], [1, 2]), 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="a value of shape"):
        tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2, 3]), 0)
    with pytest.raises(TypeError, match="initializer"):
        tf.lookup.StaticHashTable({"a": 1}, 0)
    with pytest.raises(ValueError, match="default value"):
        tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), [0, 0])


# Files.


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "words.txt"
    path.write_text("x 3\ny 4\r\nz 5\n")
    return str(path)


def test_columns_of_a_file(file: str) -> None:
    table = tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(file, tf.string, 0, tf.int64, 1, delimiter=" "), -1)
    assert table.lookup(tf.constant(["y", "q"])).numpy().tolist() == [4, -1]
    index = tf.lookup.TextFileIndex
    numbered = tf.lookup.TextFileInitializer(
        file, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER, vocab_size=2, value_index_offset=10
    )
    table = tf.lookup.StaticHashTable(numbered, -1)
    assert table.lookup(tf.constant(["y 4", "z 5"])).numpy().tolist() == [11, -1]
    lines = tf.lookup.TextFileInitializer(file, tf.int64, index.LINE_NUMBER, tf.string, index.WHOLE_LINE)
    assert tf.lookup.StaticHashTable(lines, "").lookup(tf.constant([2], tf.int64)).numpy().tolist() == [b"z 5"]


def test_wrong_files(file: str) -> None:
    def table(name: str, *what: Any, **more: Any) -> Any:
        return tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(name, *what, **more), -1)

    with pytest.raises(tf.errors.OpError, match="cannot be read"):
        table(f"{file}.not", tf.string, 0, tf.int64, 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected at least 4"):
        table(file, tf.string, 0, tf.int64, 3, delimiter=" ")
    with pytest.raises(tf.errors.InvalidArgumentError, match="has to be of int64"):
        table(file, tf.string, 0, tf.int64, 0, delimiter=" ")
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected 9 but got 3"):
        table(file, tf.string, -2, tf.int64, -1, vocab_size=9)
    with pytest.raises(ValueError, match="must be int64"):
        table(file, tf.string, -1, tf.int64, -2)
    with pytest.raises(ValueError, match="should be >= -2"):
        table(file, tf.string, -3, tf.int64, -1)
    with pytest.raises(ValueError, match="vocab_size"):
        table(file, tf.string, -2, tf.int64, -1, vocab_size=0)
    with pytest.raises(ValueError, match="one character"):
        table(file, tf.string, 0, tf.int64, 1, delimiter="::")


# Vocabularies. The numbers are TensorFlow 2.21's.


def test_strange_words_get_the_last_numbers() -> None:
    words = tf.lookup.KeyValueTensorInitializer(["emerson", "lake", "palmer"], tf.constant([0, 1, 2], tf.int64))
    table = tf.lookup.StaticVocabularyTable(words, 5)
    asked = tf.constant(["emerson", "lake", "palmer", "king", "crimson"])
    assert table.lookup(asked).numpy().tolist() == [0, 1, 2, 6, 7]
    assert int(table.size()) == 8
    numbers = tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant([10, 20], tf.int64), tf.constant([0, 1], tf.int64)), 3
    )
    assert numbers.lookup(tf.constant([20, 7], tf.int64)).numpy().tolist()[0] == 1
    with pytest.raises(ValueError, match="num_oov_buckets"):
        tf.lookup.StaticVocabularyTable(words, 0)
    with pytest.raises(TypeError, match="value_dtype"):
        tf.lookup.StaticVocabularyTable(tf.lookup.KeyValueTensorInitializer(["a"], [1.0]), 1)


# Tables that change.


def test_inserting_and_removing() -> None:
    table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, [0.0, 0.0])
    table.insert(tf.constant([1, 2], tf.int64), [[1.0, 2.0], [3.0, 4.0]])
    asked = tf.constant([2, 5], tf.int64)
    assert table.lookup(asked).numpy().tolist() == [[3.0, 4.0], [0.0, 0.0]]
    assert table.lookup(asked, [[7.0, 7.0], [8.0, 8.0]]).numpy().tolist() == [[3.0, 4.0], [8.0, 8.0]]
    table.insert(tf.constant([2], tf.int64), [[9.0, 9.0]])
    table.remove(tf.constant([1, 100], tf.int64))
    keys, values = table.export()
    assert (keys.numpy().tolist(), values.numpy().tolist()) == ([2], [[9.0, 9.0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="for each key"):
        table.insert(tf.constant([1], tf.int64), [1.0])


def test_changes_in_functions_happen_in_order() -> None:
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)

    @tf.function
    def step(key: Any, value: Any) -> Any:
        before = table.lookup(key)
        table.insert(key, value)
        return before, table.lookup(key), table.size()

    for number in range(3):
        found = step(tf.constant(["k"]), tf.constant([number], tf.int64))
        assert [int(np.squeeze(each)) for each in found] == [number - 1, number, 1]


def test_keys_with_a_meaning_of_their_own() -> None:
    table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, empty_key=0, deleted_key=-1)
    table.insert(tf.constant([1], tf.int64), tf.constant([5], tf.int64))
    assert table.lookup(tf.constant([1, 2], tf.int64)).numpy().tolist() == [5, -1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="empty_key"):
        table.insert(tf.constant([0], tf.int64), tf.constant([5], tf.int64))
    with pytest.raises(ValueError, match="cannot be equal"):
        tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 3, 3)


def test_in_a_checkpoint(tmp_path: Path) -> None:
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    table.insert(tf.constant(["a"]), tf.constant([1], tf.int64))
    path = tf.train.Checkpoint(table=table).save(tmp_path / "ckpt")
    other = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    other.insert(tf.constant(["z"]), tf.constant([9], tf.int64))
    tf.train.Checkpoint(table=other).restore(path).assert_consumed()
    assert other.lookup(tf.constant(["a", "z"])).numpy().tolist() == [1, -1]
    wrong = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, -1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="other dtypes"):
        tf.train.Checkpoint(table=wrong).restore(path)


# In saved programs.


def test_a_saved_function_has_its_table(tmp_path: Path) -> None:
    module = tf.Module()
    module.table = letters()
    module.f = tf.function(lambda x: module.table.lookup(x), input_signature=[tf.TensorSpec([None], tf.string)])
    tf.saved_model.save(module, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert loaded.f(tf.constant(["b", "?"])).numpy().tolist() == [2, -1]


def test_a_table_that_changes_is_not_saved_with_a_function(tmp_path: Path) -> None:
    module = tf.Module()
    module.table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    module.f = tf.function(lambda x: module.table.lookup(x), input_signature=[tf.TensorSpec([None], tf.string)])
    with pytest.raises(ValueError, match="a table that can be changed"):
        tf.saved_model.save(module, tmp_path)


# In graphs.


def test_each_session_has_its_own(tmp_path: Path) -> None:
    with v1.Graph().as_default():
        table = v1.lookup.StaticHashTable(v1.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
        found = table.lookup(v1.constant(["b", "c"]))
        changing = v1.lookup.experimental.MutableHashTable(v1.string, v1.int64, -1)
        insert = changing.insert(v1.constant(["q"]), v1.constant([4], v1.int64))
        size = changing.size()
        words = v1.data.Dataset.from_tensor_slices(["a", "q"]).map(table.lookup)
        iterator = v1.data.make_initializable_iterator(words)
        element = iterator.get_next()
        with v1.Session() as session:
            with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized"):
                session.run(found)
            session.run([v1.tables_initializer(), table.initializer])
            session.run(v1.tables_initializer())
            assert session.run(found).tolist() == [2, -1]
            session.run(insert)
            assert session.run(size) == 1
            session.run(iterator.initializer)
            assert [session.run(element), session.run(element)] == [1, -1]
        with v1.Session() as session:
            assert session.run(size) == 0
        v1.train.export_meta_graph(str(tmp_path / "graph.meta"))
    with v1.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(str(tmp_path / "graph.meta"))
        session.run(v1.tables_initializer())
        assert session.run(found.name).tolist() == [2, -1]


def test_a_table_that_is_not_filled_has_no_keys() -> None:
    class Later(tf.lookup.KeyValueTensorInitializer):
        def initialize(self, table: Any) -> None:
            pass

    table = tf.lookup.StaticHashTable(Later(["a"], [1]), -1)
    assert int(table.size()) == 0
    with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized"):
        table.lookup(tf.constant(["a"]))
    assert tf.keras.layers.TextVectorization().get_vocabulary() == ["", "[UNK]"]
