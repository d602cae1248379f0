"""``tf.contrib.lookup``: tables between words and numbers, under the names they had before ``tf.lookup``."""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as _dt
from situs._src.base.typing import ArrayLike, DTypeLike, PathLike
from situs._src.lookup.initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from situs._src.lookup.initializers import TextFileIndex as TextFileIndex
from situs._src.lookup.initializers import TextFileInitializer as TextFileInitializer
from situs._src.lookup.tables import MutableHashTable as MutableHashTable
from situs._src.lookup.tables import StaticHashTableV1 as _Table
from situs._src.lookup.tables import StaticVocabularyTableV1 as _Vocabulary
from situs._src.ops.array import size as _size
from situs._src.ops.cast import cast as _cast
from situs._src.ops.constant import convert_to_tensor as _convert
from situs._src.ops.constant import range as _range
from situs._src.v1.contrib.absent import without as _without
from situs._src.v1.frontend import builds as _builds

_LINE, _NUMBER = TextFileIndex.WHOLE_LINE, TextFileIndex.LINE_NUMBER


class HashTable(_Table):
    """A table that is filled once, by ``tf.tables_initializer()``.

    Args:
        initializer: What fills it.
        default_value: The value of keys that are not there.
        shared_name: Accepted for TensorFlow's programs.
        name: A name for it.
    """

    def __init__(
        self, initializer: Any, default_value: Any, shared_name: str | None = None, name: str | None = None
    ) -> None:
        super().__init__(initializer, default_value, name)


def _numbers(content: Any, default_value: int, num_oov_buckets: int, dtype: DTypeLike, name: str | None) -> Any:
    """A table from keys to their numbers: the default or a bucket for those that are not in it."""
    if num_oov_buckets:
        return _Vocabulary(content, num_oov_buckets, lookup_key_dtype=dtype, name=name)
    return _Table(content, default_value, name=name)


@_builds
def index_table_from_file(
    vocabulary_file: PathLike,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: object = None,
    key_dtype: DTypeLike = _dt.string,
    name: str | None = None,
    key_column_index: int = _LINE,
    value_column_index: int = _NUMBER,
    delimiter: str = "\t",
) -> Any:
    """A table from the lines of a file to their numbers.

    Args:
        vocabulary_file: The file, with a key in each line.
        num_oov_buckets: How many numbers there are besides, among which other keys are spread by their hashes.
        vocab_size: How many lines to read; all by default.
        default_value: The number of other keys, if there are no buckets.
        hasher_spec: Accepted for TensorFlow's programs: the hash is its fast one.
        key_dtype: The dtype of the keys.
        name: A name for it.
        key_column_index: The column of the keys, if lines have several.
        value_column_index: The column of the numbers, if lines have them.
        delimiter: What is between columns.
    """
    keys = _dt.string if key_dtype == _dt.string else _dt.int64
    content = TextFileInitializer(
        vocabulary_file, keys, key_column_index, _dt.int64, value_column_index, vocab_size, delimiter
    )
    return _numbers(content, default_value, num_oov_buckets, key_dtype, name)


@_builds
def index_table_from_tensor(
    mapping: ArrayLike | None = None,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: object = None,
    dtype: DTypeLike = _dt.string,
    name: str | None = None,
    vocabulary_list: ArrayLike | None = None,
) -> Any:
    """A table from the elements of a vector to their numbers.

    Args:
        mapping: The vector.
        num_oov_buckets: How many numbers there are besides, among which other keys are spread by their hashes.
        default_value: The number of other keys, if there are no buckets.
        hasher_spec: Accepted for TensorFlow's programs: the hash is its fast one.
        dtype: The dtype of the keys.
        name: A name for it.
        vocabulary_list: Another name of `mapping`.
    """
    keys = _convert(vocabulary_list if mapping is None else mapping, dtype)
    content = KeyValueTensorInitializer(keys, _range(_cast(_size(keys), _dt.int64)))
    return _numbers(content, default_value, num_oov_buckets, dtype, name)


@_builds
def index_to_string_table_from_file(
    vocabulary_file: PathLike,
    vocab_size: int | None = None,
    default_value: str = "UNK",
    name: str | None = None,
    key_column_index: int = _NUMBER,
    value_column_index: int = _LINE,
    delimiter: str = "\t",
) -> Any:
    """A table from numbers to the lines of a file.

    Args:
        vocabulary_file: The file.
        vocab_size: How many lines to read; all by default.
        default_value: What other numbers give.
        name: A name for it.
        key_column_index: The column of the numbers, if lines have them.
        value_column_index: The column of the strings, if lines have several.
        delimiter: What is between columns.
    """
    content = TextFileInitializer(
        vocabulary_file, _dt.int64, key_column_index, _dt.string, value_column_index, vocab_size, delimiter
    )
    return _Table(content, default_value, name=name)


@_builds
def index_to_string_table_from_tensor(
    mapping: ArrayLike | None = None,
    default_value: str = "UNK",
    name: str | None = None,
    vocabulary_list: ArrayLike | None = None,
) -> Any:
    """A table from numbers to the elements of a vector.

    Args:
        mapping: The vector, of strings.
        default_value: What other numbers give.
        name: A name for it.
        vocabulary_list: Another name of `mapping`.
    """
    values = _convert(vocabulary_list if mapping is None else mapping, _dt.string)
    content = KeyValueTensorInitializer(_range(_cast(_size(values), _dt.int64)), values)
    return _Table(content, default_value, name=name)


__all__ = [
    "HashTable",
    "KeyValueTensorInitializer",
    "MutableHashTable",
    "TextFileIndex",
    "TextFileInitializer",
    "index_table_from_file",
    "index_table_from_tensor",
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
]

__getattr__ = _without("tf.contrib.lookup")
