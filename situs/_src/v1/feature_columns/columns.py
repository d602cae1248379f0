"""Columns: descriptions of inputs computed from the features of records.

    numeric_column("age")                                        numbers as they are
    bucketized_column(age, [18, 65])                             which range a number is in
    categorical_column_with_vocabulary_list("city", [...])       which word it is; with_hash_bucket, with_identity, ...
    crossed_column(["city", "age_range"], 1000)                  which combination
    indicator_column(city)                                       a category as a row of zeros and ones
    embedding_column(city, 8)                                    a category as a row of weights

Dense columns yield numbers: numeric, bucketized, indicator and embedding ones. Categorical ones yield ids, and become
dense through an indicator or an embedding.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.ir.graph.context import control_dependencies
from situs._src.lookup.initializers import KeyValueTensorInitializer, TextFileIndex, TextFileInitializer
from situs._src.lookup.tables import StaticHashTable, StaticVocabularyTable
from situs._src.ops.array import expand_dims, identity, reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_int
from situs._src.ops.bucketize import bucketize
from situs._src.ops.cast import cast
from situs._src.ops.compare import greater_equal, less, logical_and, not_equal
from situs._src.ops.constant import convert_to_tensor, fill
from situs._src.ops.constant import range as range_of
from situs._src.ops.debug import Assert
from situs._src.ops.gather import gather_nd, one_hot, where
from situs._src.ops.parse_example import FixedLenFeature, VarLenFeature
from situs._src.ops.reduce import reduce_sum
from situs._src.ops.strings import as_string, to_hash_bucket_fast
from situs._src.sparse.crossing import cross_hashed
from situs._src.sparse.dense import to_dense
from situs._src.sparse.lookups import safe_embedding_lookup_sparse
from situs._src.sparse.tensor import SparseTensor
from situs._src.variables.initializers import TruncatedNormal

Spec = dict[str, Any]
MakeWeights = Callable[[tuple[int, ...], Any, bool], Any]  # from shape, initializer and whether it is trained


class Features:
    """The features of some records, and what columns have made of them: each thing once.

    Args:
        given: Tensors by name; vectors stand for one value a record.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        if not isinstance(given, Mapping):
            raise DTypeError(f"Features are a dictionary of tensors by name, got {shown(given)}.")
        self._given = given
        self._made: dict[Any, Any] = {}

    def get(self, key: Any) -> Any:
        """A feature by its name, or what a column makes of features."""
        if key not in self._made:
            self._made[key] = key.transform(self) if isinstance(key, Column) else self._feature(key)
        return self._made[key]

    def _feature(self, key: str) -> Any:
        if key not in self._given:
            raise ArgumentError(f"Feature {key} is not in features dictionary.")
        found = self._given[key]
        if isinstance(found, SparseTensor):
            return found
        dense = convert_to_tensor(found)
        if dense.shape.rank == 0:
            raise ArgumentError(f"Feature (key: {key}) cannot have rank 0.")
        return expand_dims(dense, -1) if dense.shape.rank == 1 else dense


class Column:
    """A column."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called: its feature, and what is made of it."""

    @property
    @abstractmethod
    def parse_example_spec(self) -> Spec:
        """What it reads of a record, for ``tf.io.parse_example``."""

    @abstractmethod
    def transform(self, features: Features) -> Any:
        """What it makes of features."""


class DenseColumn(Column):
    """A column that gives numbers."""

    @property
    @abstractmethod
    def variable_shape(self) -> tuple[int, ...]:
        """The shape of what it gives for a record."""

    @abstractmethod
    def dense(self, features: Features, weights: MakeWeights) -> Any:
        """The numbers of each record."""


class CategoricalColumn(Column):
    """A column that gives ids, as a sparse matrix."""

    @property
    @abstractmethod
    def num_buckets(self) -> int:
        """How many ids there are."""

    def ids_and_weights(self, features: Features) -> tuple[SparseTensor, SparseTensor | None]:
        """The ids of each record, and their weights if they have some."""
        found: SparseTensor = features.get(self)
        return found, None


# Numbers.


@dataclass(frozen=True)
class NumericColumn(DenseColumn):
    """Numbers as they are."""

    key: str
    shape: tuple[int, ...]
    default_value: Any
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        """The name of the feature."""
        return self.key

    @property
    def parse_example_spec(self) -> Spec:
        """A tensor of its shape."""
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def variable_shape(self) -> tuple[int, ...]:
        """The shape of a record."""
        return self.shape

    def transform(self, features: Features) -> Any:
        """The numbers, normalized."""
        found = features.get(self.key)
        if isinstance(found, SparseTensor):
            raise ArgumentError(f"The feature of a numeric column is dense; '{self.key}' is a SparseTensor.")
        made = found if self.normalizer_fn is None else self.normalizer_fn(found)
        return cast(made, dt.float32)

    def dense(self, features: Features, weights: MakeWeights) -> Any:
        """The numbers."""
        return features.get(self)


@export("feature_column.numeric_column")
def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = None,
    dtype: Any = dt.float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> NumericColumn:
    """A column of numbers.

    Args:
        key: The name of the feature.
        shape: The shape of a record's numbers.
        default_value: What a record has where the feature is missing: a number, or as many as the shape has.
        dtype: The dtype of the feature, a number's.
        normalizer_fn: A function of the tensor, such as one that scales it.

    Example:
        >>> import situs.compat.v1 as tf
        >>> age = tf.feature_column.numeric_column("age", normalizer_fn=lambda x: x / 100.0)
        >>> tf.feature_column.make_parse_example_spec([age])
        {'age': FixedLenFeature(shape=(1,), dtype=tf.float32, default_value=None)}
    """
    kind = as_dtype(dtype)
    if not (kind.is_integer or kind.is_floating):
        raise ArgumentError(f"dtype must be convertible to float. dtype: {kind.name}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise DTypeError(f"normalizer_fn must be a callable. Given: {shown(normalizer_fn)}")
    sizes = tuple(as_int(size, "shape") for size in (shape if isinstance(shape, (list, tuple)) else [shape]))
    if not sizes or min(sizes) < 1:
        raise ArgumentError(f"shape dimensions must be greater than 0. shape: {shown(shape)}, key: {key}")
    default = default_value
    if default is not None and not isinstance(default, (list, tuple)) and not hasattr(default, "shape"):
        default = _filled(sizes, default)
    return NumericColumn(_key(key), sizes, _frozen(default), kind, normalizer_fn)


def _filled(sizes: tuple[int, ...], value: Any) -> Any:
    return value if not sizes else tuple(_filled(sizes[1:], value) for _ in range(sizes[0]))


def _frozen(value: Any) -> Any:
    listed = value.tolist() if hasattr(value, "tolist") else value
    return tuple(map(_frozen, listed)) if isinstance(listed, (list, tuple)) else listed


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise ArgumentError(f"key must be a string. Got: type {type(key)}. Given key: {shown(key)}.")
    return key


@dataclass(frozen=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """Which range each number is in."""

    source_column: NumericColumn
    boundaries: tuple[float, ...]

    @property
    def name(self) -> str:
        """The name of the feature, bucketized."""
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> Spec:
        """That of the numbers."""
        return self.source_column.parse_example_spec

    @property
    def variable_shape(self) -> tuple[int, ...]:
        """A one for the range of each number."""
        return (*self.source_column.shape, len(self.boundaries) + 1)

    @property
    def num_buckets(self) -> int:
        """The ranges of all numbers of a record."""
        return (len(self.boundaries) + 1) * math.prod(self.source_column.shape)

    def transform(self, features: Features) -> Any:
        """The number of the range of each number."""
        return bucketize(features.get(self.source_column), boundaries=self.boundaries)

    def dense(self, features: Features, weights: MakeWeights) -> Any:
        """A row of zeros and a one for each number."""
        return one_hot(cast(features.get(self), dt.int64), depth=len(self.boundaries) + 1)

    def ids_and_weights(self, features: Features) -> tuple[SparseTensor, SparseTensor | None]:
        """The ranges as ids; each number of a record has ids of its own."""
        count = math.prod(self.source_column.shape)
        ranges = cast(reshape(features.get(self), [-1, count]), dt.int64)
        ids = ranges + (len(self.boundaries) + 1) * range_of(cast(count, dt.int64))
        sizes = shape_of(ids, dt.int64)
        return SparseTensor(where(fill(sizes, True)), reshape(ids, [-1]), sizes), None


@export("feature_column.bucketized_column")
def bucketized_column(source_column: Any, boundaries: Any) -> BucketizedColumn:
    """A column that says which range a number is in: ``[18, 65]`` has below 18, from 18 to below 65, and from 65.

    Args:
        source_column: A numeric column of one dimension.
        boundaries: Where ranges begin, in order.
    """
    if not isinstance(source_column, NumericColumn):
        raise ArgumentError(f"source_column must be a column generated with numeric_column(). Given: {source_column}")
    if len(source_column.shape) > 1:
        raise ArgumentError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not isinstance(boundaries, (list, tuple)) or not boundaries:
        raise ArgumentError(f"boundaries must be a non-empty list. Given: {shown(boundaries)}")
    if any(after <= before for before, after in pairwise(boundaries)):
        raise ArgumentError(f"boundaries must be a sorted list. Given: {shown(boundaries)}")
    return BucketizedColumn(source_column, tuple(map(float, boundaries)))


# Categories.


def _sparse(tensor: Any) -> SparseTensor:
    """A feature as a sparse matrix: of a dense one, what is not -1, or no empty string."""
    if isinstance(tensor, SparseTensor):
        return tensor
    nothing: Any = "" if tensor.dtype is dt.string else cast(-1, tensor.dtype)
    places = where(not_equal(tensor, nothing))
    return SparseTensor(places, gather_nd(tensor, places), shape_of(tensor, dt.int64))


@dataclass(frozen=True)
class _Keyed(CategoricalColumn):
    """A category that one feature says."""

    key: str
    dtype: DType

    @property
    def name(self) -> str:
        """The name of the feature."""
        return self.key

    @property
    def parse_example_spec(self) -> Spec:
        """Any number of values."""
        return {self.key: VarLenFeature(self.dtype)}

    def transform(self, features: Features) -> Any:
        """The ids."""
        found = _sparse(features.get(self.key))
        if (found.dtype is dt.string) is not (self.dtype is dt.string):
            raise ArgumentError(
                f"Column dtype and SparseTensors dtype must be compatible. key: {self.key}, column dtype: "
                f"{self.dtype.name}, tensor dtype: {found.dtype.name}"
            )
        return found.with_values(self.ids(found.values))

    @abstractmethod
    def ids(self, values: Any) -> Any:
        """The id of each value."""


@dataclass(frozen=True)
class IdentityColumn(_Keyed):
    """Numbers that are ids."""

    number_buckets: int
    default_value: int | None

    @property
    def num_buckets(self) -> int:
        """How many ids there are."""
        return self.number_buckets

    def ids(self, values: Any) -> Any:
        """The values; those outside are the default, or an error."""
        given = cast(values, dt.int64)
        inside = logical_and(greater_equal(given, 0), less(given, cast(self.number_buckets, dt.int64)))
        if self.default_value is not None:
            return where(inside, given, fill(shape_of(given), cast(self.default_value, dt.int64)))
        from situs._src.ops.reduce import reduce_all

        text = f"Values of the feature '{self.key}' are from 0 to below {self.number_buckets}; got"
        check = Assert(reduce_all(inside), [text, given])
        with control_dependencies([] if check is None else [check]):
            return identity(given)


@export("feature_column.categorical_column_with_identity")
def categorical_column_with_identity(key: str, num_buckets: int, default_value: int | None = None) -> IdentityColumn:
    """A column of integers that are ids.

    Args:
        key: The name of the feature.
        num_buckets: How many ids there are: 0 to below that.
        default_value: The id of other values; they are errors without one.
    """
    count = as_int(num_buckets, "num_buckets")
    if count < 1:
        raise ArgumentError(f"num_buckets {count} < 1, column_name {key}")
    if default_value is not None and not 0 <= as_int(default_value, "default_value") < count:
        raise ArgumentError(f"default_value {default_value} not in range [0, {count}), column_name {key}")
    return IdentityColumn(_key(key), dt.int64, count, default_value)


@dataclass(frozen=True)
class HashedColumn(_Keyed):
    """Ids by a hash."""

    hash_bucket_size: int

    @property
    def num_buckets(self) -> int:
        """How many ids there are."""
        return self.hash_bucket_size

    def ids(self, values: Any) -> Any:
        """The hash of each value, as text."""
        text = values if values.dtype is dt.string else as_string(values)
        return to_hash_bucket_fast(text, self.hash_bucket_size)


@export("feature_column.categorical_column_with_hash_bucket")
def categorical_column_with_hash_bucket(key: str, hash_bucket_size: int, dtype: Any = dt.string) -> HashedColumn:
    """A column of strings or integers whose ids are hashes.

    Args:
        key: The name of the feature.
        hash_bucket_size: How many ids there are.
        dtype: string, or an integer's.
    """
    count = as_int(hash_bucket_size, "hash_bucket_size")
    if count < 1:
        raise ArgumentError(f"hash_bucket_size must be at least 1. hash_bucket_size: {count}, key: {key}")
    return HashedColumn(_key(key), _text_or_integer(dtype, key), count)


def _text_or_integer(dtype: Any, key: str) -> DType:
    kind = as_dtype(dtype)
    if kind is not dt.string and not kind.is_integer:
        raise ArgumentError(f"dtype must be string or integer. dtype: {kind.name}, column_name: {key}")
    return kind


@dataclass(frozen=True)
class VocabularyColumn(_Keyed):
    """Ids by the place in a vocabulary: given as values, or as a file with one on each line."""

    vocabulary: tuple[Any, ...] | str
    size: int
    default_value: int
    num_oov_buckets: int

    @property
    def num_buckets(self) -> int:
        """The words, and the ids of others."""
        return self.size + self.num_oov_buckets

    def ids(self, values: Any) -> Any:
        """The place of each value in the vocabulary."""
        keys = dt.string if self.dtype is dt.string else dt.int64
        if isinstance(self.vocabulary, str):
            line, whole = TextFileIndex.LINE_NUMBER, TextFileIndex.WHOLE_LINE
            entries: Any = TextFileInitializer(self.vocabulary, keys, whole, dt.int64, line, vocab_size=self.size)
        else:
            numbers = convert_to_tensor(list(range(self.size)), dt.int64)
            entries = KeyValueTensorInitializer(convert_to_tensor(list(self.vocabulary), keys), numbers, keys, dt.int64)
        given = values if keys is dt.string else cast(values, dt.int64)
        if self.num_oov_buckets:
            return StaticVocabularyTable(entries, self.num_oov_buckets).lookup(given)
        return StaticHashTable(entries, self.default_value).lookup(given)


@export("feature_column.categorical_column_with_vocabulary_list")
def categorical_column_with_vocabulary_list(
    key: str, vocabulary_list: Any, dtype: Any = None, default_value: int = -1, num_oov_buckets: int = 0
) -> VocabularyColumn:
    """A column whose ids are places in a list.

    Args:
        key: The name of the feature.
        vocabulary_list: The values, strings or integers, each once.
        dtype: string, or an integer's; by default that of the values.
        default_value: The id of other values; -1 leaves them out.
        num_oov_buckets: How many ids other values share, by a hash; then there is no `default_value`.
    """
    words = tuple(vocabulary_list) if isinstance(vocabulary_list, (list, tuple)) else ()
    if not words:
        raise ArgumentError(f"vocabulary_list {shown(vocabulary_list)} must be non-empty, column_name: {key}")
    if not all(isinstance(word, (str, bytes, int, np.integer)) for word in words):
        raise ArgumentError(f"A vocabulary has strings or integers, got {shown(vocabulary_list)}, column_name: {key}")
    if len(set(words)) != len(words):
        raise ArgumentError(f"Duplicate keys in vocabulary_list: {shown(vocabulary_list)}, column_name: {key}")
    natural = dt.string if isinstance(words[0], (str, bytes)) else dt.int64
    kind = _text_or_integer(natural if dtype is None else dtype, key)
    if (kind is dt.string) is not (natural is dt.string):
        raise ArgumentError(f"dtype {kind.name} and vocabulary dtype {natural.name} do not match, column_name: {key}")
    default, others = _others(default_value, num_oov_buckets, key)
    return VocabularyColumn(_key(key), kind, words, len(words), default, others)


@export(v1="feature_column.categorical_column_with_vocabulary_file")
def categorical_column_with_vocabulary_file_v1(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = dt.string,
) -> VocabularyColumn:
    """`categorical_column_with_vocabulary_file`, with the argument order of TensorFlow 1."""
    return categorical_column_with_vocabulary_file(
        key, vocabulary_file, vocabulary_size, dtype, default_value, num_oov_buckets
    )


@export("feature_column.categorical_column_with_vocabulary_file", v1=())
def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    dtype: Any = dt.string,
    default_value: int | None = None,
    num_oov_buckets: int = 0,
    file_format: str | None = None,
) -> VocabularyColumn:
    """A column whose ids are the numbers of lines in a file.

    Args:
        key: The name of the feature.
        vocabulary_file: The name of the file.
        vocabulary_size: How many of its lines count; all by default.
        dtype: string, or an integer's.
        default_value: The id of other values; -1, the default, leaves them out.
        num_oov_buckets: How many ids other values share, by a hash; then there is no `default_value`.
        file_format: ``"text"``, the default.
    """
    if file_format not in (None, "text"):
        raise ArgumentError(f"A vocabulary is a file of the format 'text', got {shown(file_format)} for {key}.")
    if not isinstance(vocabulary_file, str) or not vocabulary_file:
        raise ArgumentError(f"Missing vocabulary_file in {key}: {shown(vocabulary_file)}.")
    if vocabulary_size is None:
        from situs._src.files.handle import GFile

        with GFile(vocabulary_file) as lines:
            vocabulary_size = sum(1 for _ in lines)
    size = as_int(vocabulary_size, "vocabulary_size")
    if size < 1:
        raise ArgumentError(f"Invalid vocabulary_size in {key}.")
    default, others = _others(-1 if default_value is None else default_value, num_oov_buckets, key)
    return VocabularyColumn(_key(key), _text_or_integer(dtype, key), vocabulary_file, size, default, others)


def _others(default_value: Any, num_oov_buckets: Any, key: str) -> tuple[int, int]:
    default, others = as_int(default_value, "default_value"), as_int(num_oov_buckets, "num_oov_buckets")
    if others < 0:
        raise ArgumentError(f"Invalid num_oov_buckets {others} in {key}.")
    if others and default != -1:
        raise ArgumentError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    return default, others


@dataclass(frozen=True)
class WeightedColumn(CategoricalColumn):
    """Categories with a weight each, which another feature has."""

    categorical_column: CategoricalColumn
    weight_feature_key: str
    dtype: DType

    @property
    def name(self) -> str:
        """The two names."""
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> Spec:
        """The categories, and as many weights."""
        return {**self.categorical_column.parse_example_spec, self.weight_feature_key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        """How many ids there are."""
        return self.categorical_column.num_buckets

    def transform(self, features: Features) -> Any:
        """The ids and the weights."""
        ids, _ = self.categorical_column.ids_and_weights(features)
        weights = features.get(self.weight_feature_key)
        if not isinstance(weights, SparseTensor):
            weights = SparseTensor(ids.indices, gather_nd(weights, ids.indices), ids.dense_shape)
        return ids, weights.with_values(cast(weights.values, dt.float32))

    def ids_and_weights(self, features: Features) -> tuple[SparseTensor, SparseTensor | None]:
        """The ids and the weights."""
        found: tuple[SparseTensor, SparseTensor] = features.get(self)
        return found


@export("feature_column.weighted_categorical_column")
def weighted_categorical_column(
    categorical_column: Any, weight_feature_key: str, dtype: Any = dt.float32
) -> WeightedColumn:
    """A column of categories whose weights another feature has.

    Args:
        categorical_column: The categories.
        weight_feature_key: The name of the feature with a weight for each.
        dtype: The dtype of the weights.
    """
    kind = as_dtype(dtype)
    if not (kind.is_integer or kind.is_floating):
        raise ArgumentError(f"dtype {kind.name} is not convertible to float.")
    return WeightedColumn(_categorical(categorical_column), _key(weight_feature_key), kind)


def _categorical(column: Any) -> CategoricalColumn:
    if not isinstance(column, CategoricalColumn):
        raise ArgumentError(
            f"A categorical column is expected, such as categorical_column_with_*; got {shown(column)}."
        )
    return column


@dataclass(frozen=True)
class CrossedColumn(CategoricalColumn):
    """Combinations of categories, by a hash."""

    keys: tuple[str | CategoricalColumn, ...]
    hash_bucket_size: int
    hash_key: int | None

    @property
    def name(self) -> str:
        """The names, in order."""
        return "_X_".join(sorted(key if isinstance(key, str) else key.name for key in self._leaves()))

    def _leaves(self) -> list[str | CategoricalColumn]:
        found: list[str | CategoricalColumn] = []
        for key in self.keys:
            found += key._leaves() if isinstance(key, CrossedColumn) else [key]
        return found

    @property
    def parse_example_spec(self) -> Spec:
        """What all of them read."""
        found: Spec = {}
        for key in self.keys:
            found |= {key: VarLenFeature(dt.string)} if isinstance(key, str) else key.parse_example_spec
        return found

    @property
    def num_buckets(self) -> int:
        """How many ids there are."""
        return self.hash_bucket_size

    def transform(self, features: Features) -> Any:
        """The hashes of the combinations of each record."""
        given = []
        for key in self._leaves():
            if isinstance(key, str):
                given.append(features.get(key))
            else:
                ids, weights = key.ids_and_weights(features)
                if weights is not None:
                    raise ArgumentError(
                        f"crossed_column does not support weight_tensor, but the given column does: {key}"
                    )
                given.append(ids)
        return cross_hashed(given, self.hash_bucket_size, self.hash_key)


@export("feature_column.crossed_column")
def crossed_column(keys: Any, hash_bucket_size: int, hash_key: int | None = None) -> CrossedColumn:
    """A column of the combinations of categories, whose ids are hashes.

    Args:
        keys: Two or more: names of features of strings, or categorical columns other than hashed ones.
        hash_bucket_size: How many ids there are.
        hash_key: A key of the hash.
    """
    count = as_int(hash_bucket_size, "hash_bucket_size")
    if count < 1:
        raise ArgumentError(f"hash_bucket_size must be > 1. hash_bucket_size: {count}")
    if not isinstance(keys, (list, tuple, set)) or len(keys) < 2:
        raise ArgumentError(f"keys must be a list with length > 1. Given: {shown(keys)}")
    for key in keys:
        if not isinstance(key, (str, CategoricalColumn)):
            raise ArgumentError(
                "Unsupported key type. All keys must be either string, or categorical column except "
                f"HashedCategoricalColumn. Given: {shown(key)}"
            )
        if isinstance(key, HashedColumn):
            raise ArgumentError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before crossing will "
                f"increase probability of collision. Instead, use the feature name as a string. Given: {key}"
            )
    return CrossedColumn(tuple(keys), count, None if hash_key is None else as_int(hash_key, "hash_key"))


# Categories as numbers.


@dataclass(frozen=True)
class IndicatorColumn(DenseColumn):
    """A category as a row of zeros with a one, or with how often it is there."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        """The name of the category."""
        return f"{self.categorical_column.name}_indicator"

    @property
    def parse_example_spec(self) -> Spec:
        """That of the category."""
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> tuple[int, ...]:
        """A place for each id."""
        return (self.categorical_column.num_buckets,)

    def transform(self, features: Features) -> Any:
        """The rows."""
        ids, weights = self.categorical_column.ids_and_weights(features)
        depth = self.categorical_column.num_buckets
        rows = one_hot(to_dense(ids, default_value=-1), depth=depth)
        if weights is not None:
            rows = rows * expand_dims(to_dense(weights), -1)
        return reduce_sum(rows, axis=[-2])

    def dense(self, features: Features, weights: MakeWeights) -> Any:
        """The rows."""
        return features.get(self)


@export("feature_column.indicator_column")
def indicator_column(categorical_column: Any) -> IndicatorColumn:
    """A category as zeros and ones.

    Args:
        categorical_column: The category.
    """
    return IndicatorColumn(_categorical(categorical_column))


@dataclass(frozen=True)
class EmbeddingColumn(DenseColumn):
    """A category as a row of weights that are learned; several are put together."""

    categorical_column: CategoricalColumn
    dimension: int
    combiner: str
    initializer: Any
    max_norm: float | None
    trainable: bool

    @property
    def name(self) -> str:
        """The name of the category."""
        return f"{self.categorical_column.name}_embedding"

    @property
    def parse_example_spec(self) -> Spec:
        """That of the category."""
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> tuple[int, ...]:
        """The length of a row."""
        return (self.dimension,)

    def transform(self, features: Features) -> Any:
        """The ids and their weights."""
        return self.categorical_column.ids_and_weights(features)

    def dense(self, features: Features, weights: MakeWeights) -> Any:
        """The rows of the table."""
        ids, importance = features.get(self)
        table = weights((self.categorical_column.num_buckets, self.dimension), self.initializer, self.trainable)
        return safe_embedding_lookup_sparse(table, ids, importance, self.combiner, max_norm=self.max_norm)


@export("feature_column.embedding_column")
def embedding_column(
    categorical_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> EmbeddingColumn:
    """A category as a row of weights.

    Args:
        categorical_column: The category.
        dimension: How long a row is.
        combiner: How the rows of several are put together: ``"mean"``, ``"sqrtn"`` or ``"sum"``.
        initializer: How the weights begin; by default normal, with the deviation 1 / sqrt(dimension).
        ckpt_to_load_from: Not supported: assign the weights after making them.
        tensor_name_in_ckpt: Not supported.
        max_norm: The greatest length of a row; longer ones are scaled down.
        trainable: Whether the weights are trained.
        use_safe_embedding_lookup: Accepted for TensorFlow's programs: lookups are safe.
    """
    size = as_int(dimension, "dimension")
    if not 1 <= size < 2**31:
        raise ArgumentError(f"Invalid dimension {shown(dimension)}: rows have from 1 to below 2**31 numbers.")
    if ckpt_to_load_from is not None or tensor_name_in_ckpt is not None:
        raise ArgumentError("ckpt_to_load_from is not supported: make the weights, then restore or assign them.")
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ArgumentError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {shown(combiner)}.")
    if initializer is not None and not callable(initializer):
        raise ArgumentError(f"initializer must be callable if specified. Embedding of column: {categorical_column}")
    begin = TruncatedNormal(mean=0.0, stddev=1 / math.sqrt(size)) if initializer is None else initializer
    return EmbeddingColumn(_categorical(categorical_column), size, combiner, begin, max_norm, bool(trainable))


@export("feature_column.make_parse_example_spec")
def make_parse_example_spec(feature_columns: Any) -> Spec:
    """What ``tf.io.parse_example`` is to read for some columns.

    Args:
        feature_columns: The columns.

    Raises:
        ValueError: two of them read the same feature as other things.
    """
    found: Spec = {}
    for column in feature_columns if isinstance(feature_columns, Sequence) else [feature_columns]:
        if not isinstance(column, Column):
            raise ArgumentError(f"All feature_columns must be columns of tf.feature_column. Given: {shown(column)}")
        for key, value in column.parse_example_spec.items():
            if found.setdefault(key, value) != value:
                raise ArgumentError(
                    f"feature_columns contain different parse_spec for key {key}. Given: {value} and {found[key]}"
                )
    return found
