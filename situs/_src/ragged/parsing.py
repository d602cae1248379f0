"""Records of named lists as tensors: ``tf.io.parse_example`` and its like.

    FixedLenFeature            the same number of values in each record         a dense tensor
    VarLenFeature              any number                                       a sparse tensor
    RaggedFeature              any number                                       a ragged tensor
    FixedLenSequenceFeature    any number of steps, of one shape each           a dense tensor, filled up

`ops.parse_example` reads the records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.ops.array import reshape
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.gather import gather
from situs._src.ops.join import concat
from situs._src.ops.parse_example import _LISTS, FixedLenFeature, VarLenFeature, feature_rows, parse_fixed
from situs._src.ragged.tensor import RaggedTensor
from situs._src.sparse.tensor import SparseTensor


@export("io.FixedLenSequenceFeature", v1=("FixedLenSequenceFeature", "io.FixedLenSequenceFeature"))
class FixedLenSequenceFeature(NamedTuple):
    """A list of any number of steps, each of one shape.

    Attributes:
        shape: The shape of one step.
        dtype: int64, float32 or string.
        allow_missing: Whether records may do without it.
        default_value: What records with fewer steps are filled up with.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


@export("io.RaggedFeature")
class RaggedFeature(NamedTuple):
    """A list of any length, which becomes a row of a ragged tensor.

    Attributes:
        dtype: int64, float32 or string.
        value_key: The name in records; the key of the feature by default.
        partitions: Not supported: rows of rows.
        row_splits_dtype: int32 or int64.
        validate: Accepted for TensorFlow's programs.
    """

    dtype: Any
    value_key: Any = None
    partitions: Any = ()
    row_splits_dtype: Any = dt.int32
    validate: bool = False


# Examples.


@export("io.parse_example", v1=())
def parse_example(serialized: Any, features: Any, example_names: Any = None, name: str | None = None) -> Any:
    """The features of records, stacked.

    Args:
        serialized: A vector of strings, each a serialized ``tf.train.Example``; or one of them.
        features: A dictionary of features.
        example_names: Accepted for TensorFlow's programs.
        name: A name for the op.

    Returns:
        A dictionary of tensors, whose first dimension is that of `serialized`.

    Raises:
        InvalidArgumentError: a record is damaged, or does not have such features.
    """
    given = convert_to_tensor(serialized, dt.string)
    if given.shape.rank == 0:
        return parse_single_example(given, features, example_names, name)
    return _examples(given, _mapping(features, "features"), name)


@export("io.parse_single_example", v1=())
def parse_single_example(serialized: Any, features: Any, example_names: Any = None, name: str | None = None) -> Any:
    """The features of one record.

    Args:
        serialized: A scalar string: a serialized ``tf.train.Example``.
        features: A dictionary of features.
        example_names: Accepted for TensorFlow's programs.
        name: A name for the op.

    Returns:
        A dictionary of tensors.

    Raises:
        InvalidArgumentError: the record is damaged, or does not have such features.
    """
    given = convert_to_tensor(serialized, dt.string)
    if given.shape.rank not in (0, None):
        raise ArgumentError(f"Input serialized must be a scalar, got shape {given.shape}")
    asked = _mapping(features, "features")
    fixed = {key: each for key, each in asked.items() if not _is_open(each)}
    scalar = reshape(given, []) if given.shape.rank is None else given
    made = parse_fixed(scalar, fixed, name) if fixed or not asked else {}
    for key, feature in asked.items():
        if _is_open(feature):
            made[key] = _first(_row_feature(reshape(given, [1]), key, feature, "example"))
    return {key: made[key] for key in sorted(asked, key=_text)}


@export(v1=("parse_single_example", "io.parse_single_example"))
def parse_single_example_v1(serialized: Any, features: Any, name: str | None = None, example_names: Any = None) -> Any:
    """The features of one record, with TensorFlow 1's order of arguments."""
    return parse_single_example(serialized, features, example_names, name)


@export(v1=("parse_example", "io.parse_example"))
def parse_example_v1(serialized: Any, features: Any, name: str | None = None, example_names: Any = None) -> Any:
    """The features of records, with TensorFlow 1's order of arguments."""
    return parse_example(serialized, features, example_names, name)


def _examples(given: Any, asked: Mapping[Any, Any], name: str | None) -> dict[Any, Any]:
    fixed = {key: each for key, each in asked.items() if not _is_open(each)}
    made = parse_fixed(given, fixed, name) if fixed or not asked else {}
    for key, feature in asked.items():
        if _is_open(feature):
            made[key] = _row_feature(given, key, feature, "example")
    return {key: made[key] for key in sorted(asked, key=_text)}


def _is_open(feature: Any) -> bool:
    return isinstance(feature, (VarLenFeature, FixedLenSequenceFeature, RaggedFeature))


def _mapping(features: Any, what: str) -> Mapping[Any, Any]:
    if not isinstance(features, Mapping) or not features:
        found = "empty" if isinstance(features, Mapping) else shown(features)
        raise ArgumentError(f"Invalid argument: {what} cannot be {found}. Give a dictionary of features.")
    for key in features:
        _text(key)
    return features


def _text(key: Any) -> str:
    if not isinstance(key, (str, bytes)):
        raise DTypeError(f"The key of a feature is a string, got {shown(key)}.")
    return key if isinstance(key, str) else key.decode(errors="backslashreplace")


def _rows(given: Any, key: Any, dtype: Any, part: str, size: int = -1, required: bool = False) -> Any:
    wanted = _checked(key, dtype)
    return feature_rows.many(given, dtype=wanted, key=_text(key), part=part, size=size, required=required)


def _checked(key: Any, dtype: Any) -> DType:
    wanted = as_dtype(dtype)
    if wanted not in _LISTS:
        raise DTypeError(f"Feature {key!r} is {wanted.name}; an Example has int64, float and string.")
    return wanted


def _row_feature(given: Any, key: Any, feature: Any, part: str) -> Any:
    """One feature of any length, with a row for each record."""
    if isinstance(feature, RaggedFeature):
        if feature.partitions:
            raise UnimplementedError(f"Feature {key!r} has partitions: rows of rows cannot be parsed.")
        source = key if feature.value_key is None else feature.value_key
        values, splits, _ = _rows(given, source, feature.dtype, part)
        return RaggedTensor(values, cast(splits, as_dtype(feature.row_splits_dtype)), internal=True)
    values, splits, _ = _rows(given, key, feature.dtype, part)
    rows = RaggedTensor(values, splits, internal=True)
    if isinstance(feature, VarLenFeature):
        return rows.to_sparse()
    if not feature.allow_missing:
        raise ArgumentError(f"Unsupported: FixedLenSequenceFeature requires allow_missing to be True: {key!r}.")
    return _filled(values, splits, key, feature)


def _filled(values: Any, splits: Any, key: Any, feature: FixedLenSequenceFeature) -> Any:
    """Steps of one shape, filled up to the longest record."""
    shape, count = _step(key, feature)
    steps = RaggedTensor(reshape(values, [-1, *shape]), splits // count, internal=True)
    made = steps.to_tensor(feature.default_value)
    made.shape.assert_is_compatible_with(TensorShape([None, None, *shape]))
    return made


def _step(key: Any, feature: FixedLenSequenceFeature) -> tuple[list[int], int]:
    known = TensorShape(feature.shape)
    if not known.is_fully_defined():
        raise ArgumentError(f"Shape {known} of feature {key!r} is not known. Give all dimensions of a step.")
    return [size for size in known.as_list() if size is not None], max(known.num_elements() or 1, 1)


def _first(made: Any) -> Any:
    """The row of the only record."""
    if isinstance(made, SparseTensor):
        return SparseTensor(made.indices[:, 1:], made.values, made.dense_shape[1:])
    return made[0]


# Sequences.


@export("io.parse_single_sequence_example", v1=("parse_single_sequence_example", "io.parse_single_sequence_example"))
def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """The features of one record with sequences in it.

    Args:
        serialized: A scalar string: a serialized ``tf.train.SequenceExample``.
        context_features: Features of the whole, by name: of a fixed size, or of any length.
        sequence_features: Features of the steps, by name: `FixedLenSequenceFeature`, `VarLenFeature`, `RaggedFeature`.
        example_name: Accepted for TensorFlow's programs.
        name: A name for the op.

    Returns:
        Two dictionaries of tensors; the first dimension of those of the second is that of the steps.

    Raises:
        InvalidArgumentError: the record is damaged, or does not have such features.
    """
    given = convert_to_tensor(serialized, dt.string)
    if given.shape.rank not in (0, None):
        raise ArgumentError(f"Input serialized must be a scalar, got shape {given.shape}")
    context, sequences, _ = parse_sequence_example(reshape(given, [1]), context_features, sequence_features)
    of_steps = {key: _steps_of_one(key, (sequence_features or {})[key], reshape(given, [1])) for key in sequences}
    return {key: _first(made) for key, made in context.items()}, of_steps


def _steps_of_one(key: Any, feature: Any, given: Any) -> Any:
    if isinstance(feature, FixedLenSequenceFeature):
        shape, count = _step(key, feature)
        values = _rows(given, key, feature.dtype, "sequence", count, not feature.allow_missing)[0]
        return reshape(values, [-1, *shape])
    dtype = feature.dtype
    values, splits, _ = _rows(given, key, dtype, "sequence")
    rows = RaggedTensor(values, splits, internal=True)
    return rows.to_sparse() if isinstance(feature, VarLenFeature) else rows


@export("io.parse_sequence_example", v1=("io.parse_sequence_example",))
def parse_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any]]:
    """The features of records with sequences in them, stacked.

    Args:
        serialized: A vector of strings, each a serialized ``tf.train.SequenceExample``.
        context_features: Features of the whole records, by name.
        sequence_features: Features of the steps, by name.
        example_names: Accepted for TensorFlow's programs.
        name: A name for the op.

    Returns:
        Three dictionaries: the features of the records; those of the steps, filled up to the longest record; and how
        many steps each record has, for the features of a fixed size.
    """
    if not context_features and not sequence_features:
        raise ArgumentError(
            "Both context_features and sequence_features arguments are None, but at least one is needed."
        )
    given = convert_to_tensor(serialized, dt.string)
    if given.shape.rank not in (1, None):
        raise ArgumentError(f"Input serialized must be a vector, got shape {given.shape}")
    context: dict[Any, Any] = {}
    for key, feature in _mapping(context_features, "context_features").items() if context_features else ():
        context[key] = _context(given, key, feature)
    sequences: dict[Any, Any] = {}
    lengths: dict[Any, Any] = {}
    for key, feature in _mapping(sequence_features, "sequence_features").items() if sequence_features else ():
        sequences[key], count = _sequence(given, key, feature)
        if count is not None:
            lengths[key] = count
    return context, sequences, lengths


def _context(given: Any, key: Any, feature: Any) -> Any:
    if _is_open(feature) and not isinstance(feature, FixedLenSequenceFeature):
        return _row_feature(given, key, feature, "context")
    if not isinstance(feature, FixedLenFeature):
        raise ArgumentError(f"Unsupported {type(feature).__name__} {shown(feature)} for key {key!r} of a context.")
    shape = TensorShape(feature.shape)
    if not shape.is_fully_defined():
        raise ArgumentError(f"Shape {shape} of feature {key!r} is not known. Give all dimensions.")
    sizes = [size for size in shape.as_list() if size is not None]
    count = shape.num_elements() or 0
    if feature.default_value is None:
        values = _rows(given, key, feature.dtype, "context", count)[0]
        return reshape(values, [-1, *sizes])
    values, splits, _ = _rows(given, key, feature.dtype, "context")
    default = reshape(convert_to_tensor(feature.default_value, _checked(key, feature.dtype)), [-1])
    return reshape(_with_default(values, splits, default, count), [-1, *sizes])


def _with_default(values: Any, splits: Any, default: Any, count: int) -> Any:
    """Rows of `count` values; those of records that have none are the default."""
    rows = RaggedTensor(values, splits, internal=True)
    lengths = rows.row_lengths()
    every = concat(
        [rows.to_tensor(shape=[None, count]), gather(reshape(default, [1, -1]), cast(lengths * 0, dt.int32))], 1
    )
    columns = every[:, :count], every[:, count:]
    from situs._src.ops.compare import equal
    from situs._src.ops.gather import where

    return where(reshape(equal(lengths, 0), [-1, 1]), columns[1], columns[0])


def _sequence(given: Any, key: Any, feature: Any) -> tuple[Any, Any]:
    if isinstance(feature, FixedLenSequenceFeature):
        shape, count = _step(key, feature)
        values, splits, records = _rows(given, key, feature.dtype, "sequence", count, not feature.allow_missing)
        steps = RaggedTensor(reshape(values, [-1, *shape]), records, internal=True)
        return steps.to_tensor(feature.default_value), steps.row_lengths()
    if not isinstance(feature, (VarLenFeature, RaggedFeature)):
        raise ArgumentError(f"Unsupported {type(feature).__name__} {shown(feature)} for key {key!r} of a sequence.")
    values, splits, records = _rows(given, key, feature.dtype, "sequence")
    rows = RaggedTensor(RaggedTensor(values, splits, internal=True), records, internal=True)
    return (rows.to_sparse() if isinstance(feature, VarLenFeature) else rows), None
