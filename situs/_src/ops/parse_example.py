"""Records of named lists as tensors: features of a fixed size, and lists of any length. `ragged.parsing` has the rest.

    parse_single_example(record, {"label": FixedLenFeature([], tf.int64)})["label"]        a scalar
    parse_example([record, record], {"label": FixedLenFeature([], tf.int64)})["label"]     a vector of two

A feature declares the shape and dtype of a list. Without a default value it is required.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import ROOT, build_into, here
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import (
    ArgumentError,
    DataLossError,
    DTypeError,
    InvalidArgumentError,
    shown,
)
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape, brackets
from situs._src.base.tensor import Tensor, read
from situs._src.base.typing import ArrayLike
from situs._src.ir.graph.function import graph_of
from situs._src.ir.graph.graph import Graph
from situs._src.ir.registry.signature import ANY, Arg
from situs._src.ops.array import reshape
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.define import CPU, KernelValue, op
from situs._src.ops.strings import strings_of
from situs._src.runtime.eager.bridge import Value, host, place_of
from situs._src.runtime.eager.convert import host_to_value
from situs._src.runtime.eager.tensor import EagerTensor, copy_to, wrap
from situs._src.runtime.symbolic.bind import SymbolicBinder

_LISTS = {dt.string: "bytes_list", dt.float32: "float_list", dt.int64: "int64_list"}
_NAMES = {"bytes_list": "string", "float_list": "float", "int64_list": "int64"}


@export("io.FixedLenFeature", v1=("FixedLenFeature", "io.FixedLenFeature"))
class FixedLenFeature(NamedTuple):
    """A list that has the same number of values in each record.

    Attributes:
        shape: The shape of the tensor.
        dtype: int64, float32 or string.
        default_value: What it is where a record does not have the list; None if each must.
    """

    shape: Any
    dtype: Any
    default_value: Any = None


@export("io.VarLenFeature", v1=("VarLenFeature", "io.VarLenFeature"))
class VarLenFeature(NamedTuple):
    """A list of any length, which becomes a row of a sparse tensor.

    Attributes:
        dtype: int64, float32 or string.
    """

    dtype: Any


class _Spec(NamedTuple):
    key: Any  # as the program spells it: text, or bytes
    dtype: DType
    shape: tuple[int, ...]
    default: Any  # a tensor; an empty one if there is none


def parse_fixed(serialized: Tensor, features: Mapping[Any, FixedLenFeature], name: str | None) -> dict[Any, Any]:
    """The features of records that have the same number of values in each, as dense tensors by their keys.

    Args:
        serialized: Strings: a scalar, or a vector.
        features: What to find.
        name: A name for the op.

    Raises:
        InvalidArgumentError: a record is damaged, or does not have such features.
    """
    return _parse(serialized, features, name)


# What is asked for.


def _specs(features: Any) -> list[_Spec]:
    if not isinstance(features, Mapping) or not features:
        found = "empty" if isinstance(features, Mapping) else shown(features)
        raise ArgumentError(f"Invalid argument: features cannot be {found}. Give a dictionary of features.")
    return [_spec(key, features[key]) for key in sorted(features, key=_name_of)]


def _name_of(key: object) -> str:
    """The name of a feature in records, for a key of the program."""
    if not isinstance(key, (str, bytes)):
        raise DTypeError(f"The key of a feature is a string, got {shown(key)}.")
    return key if isinstance(key, str) else key.decode(errors="backslashreplace")


def _spec(key: Any, feature: Any) -> _Spec:
    if not isinstance(feature, FixedLenFeature):
        raise ArgumentError(f"Unsupported {type(feature).__name__} {shown(feature)} for key {key!r}")
    dtype, shape = as_dtype(feature.dtype), TensorShape(feature.shape)
    if dtype not in _LISTS:
        raise DTypeError(f"Feature {key!r} is {dtype.name}; an Example has int64, float and string.")
    if not shape.is_fully_defined():
        raise ArgumentError(f"Shape {shape} of feature {key!r} is not known. Give all dimensions.")
    sizes = tuple(shape.as_list())
    return _Spec(key, dtype, sizes, _default(feature, dtype, sizes))  # type: ignore[arg-type]


def _default(feature: FixedLenFeature, dtype: DType, sizes: tuple[int, ...]) -> Tensor:
    if feature.default_value is None:
        return constant([], dtype)
    return reshape(convert_to_tensor(feature.default_value, dtype), sizes)


# The op.

_op = op(
    "ParseExampleV2",
    "serialized: string, dense_defaults: any* -> dense_values: any*",
    dense_keys=(),
    Tdense=(),
    dense_shapes=(),
)


@_op.shape
def _parsed_shapes(
    serialized: TensorShape,
    dense_defaults: Any,
    *,
    dense_keys: Any,
    Tdense: Any,  # noqa: N803 - TensorFlow's name
    dense_shapes: Sequence[TensorShape],
) -> list[TensorShape]:
    if serialized.rank is not None and serialized.rank > 1:
        raise ArgumentError(f"serialized must be a scalar or a vector, got shape {brackets(serialized)}")
    return [UNKNOWN if serialized.rank is None else serialized + shape for shape in dense_shapes]


def _parse(serialized: Tensor, features: Mapping[Any, FixedLenFeature], name: str | None) -> dict[Any, Any]:
    specs = _specs(features)
    attrs: dict[str, Any] = {
        "dense_keys": tuple(_name_of(spec.key) for spec in specs),
        "Tdense": tuple(spec.dtype for spec in specs),
        "dense_shapes": tuple(TensorShape(spec.shape) for spec in specs),
    }
    defaults = [spec.default for spec in specs]
    graph = here.graph or graph_of([serialized, *defaults])
    if graph is not None:
        tensors: list[Any] = _add(graph, serialized, defaults, attrs, name)
    else:
        _parsed_shapes(serialized.shape, None, **attrs)
        given: list[EagerTensor] = [serialized, *defaults]  # type: ignore[list-item]
        records, *others = [copy_to(tensor, host())._value for tensor in given]
        values = _kernel(records, others, **attrs)
        tensors = [wrap(value, place_of(host(), value)) for value in values]
    return {spec.key: tensor for spec, tensor in zip(specs, tensors, strict=True)}


def _add(
    graph: Graph, serialized: ArrayLike, defaults: list[Any], attrs: dict[str, Any], name: str | None
) -> list[Tensor]:
    before = build_into(graph, here.scope if here.graph is graph else ROOT)
    try:
        unique = graph.claim_name(_op, name)
        binder = SymbolicBinder(graph, unique)
        records, *others = [
            binder.tensor(read(value), None, Arg(f"input_{i}", ANY)) for i, value in enumerate([serialized, *defaults])
        ]
        shapes = _parsed_shapes(records.shape, None, **attrs)
        results = [(Arg("dense_values", ANY), *each) for each in zip(attrs["Tdense"], shapes, strict=True)]
        return list(graph.add(_op, (records, others), attrs, {}, results, f"{unique}/").outputs)
    finally:
        build_into(*before)


_op.stops_gradients()


@_op.kernel(CPU)
def _kernel(
    serialized: KernelValue,
    dense_defaults: list[Value],
    *,
    dense_keys: Sequence[str],
    Tdense: Sequence[DType],  # noqa: N803
    dense_shapes: Sequence[TensorShape],
) -> list[Value]:
    records = [_lists(record) for record in serialized.ravel()]
    values = []
    for key, dtype, shape, default in zip(dense_keys, Tdense, dense_shapes, dense_defaults, strict=True):
        sizes: tuple[Any, ...] = tuple(shape.as_list())
        rows = [_row(record.get(key), key, dtype, sizes, default) for record in records]
        values.append(_stacked(rows, dtype, (*serialized.shape, *sizes)))
    return values


def _lists(record: bytes) -> Mapping[str, Any]:
    """The features of a record by name."""
    from situs._src.base.proto.example import Example  # here, because it loads protobuf
    from situs._src.base.proto.formats import from_bytes

    try:
        found: Any = from_bytes(record, Example)
    except DataLossError as error:
        raise InvalidArgumentError(f"Could not parse example input, value: {shown(record)}: {error}") from None
    return found.features.feature  # type: ignore[no-any-return]


def _row(found: Any, key: str, dtype: DType, sizes: tuple[int, ...], default: object) -> Any:
    """The values of one feature of one record, flat."""
    count = math.prod(sizes)
    which = None if found is None else found.WhichOneof("kind")
    if which is None:
        given = np.asarray(default).ravel()
        if len(given) != count or not count:
            raise InvalidArgumentError(f"Feature: {key} (data type: {dtype.name}) is required but could not be found.")
        return given
    if which != _LISTS[dtype]:
        raise ArgumentError(
            f"Key: {key}.  Data types don't match. Data type: {_NAMES[which]} but expected type: "
            f"{_NAMES[_LISTS[dtype]]}"
        )
    values = getattr(found, which).value
    if len(values) != count:
        raise ArgumentError(
            f"Key: {key}.  Number of {_NAMES[which]} values != expected.  Values size: {len(values)} but output shape: "
            f"{brackets(sizes)}"
        )
    return values if dtype is dt.string else np.array(values, dtype.as_numpy_dtype)


def _stacked(rows: list[Any], dtype: DType, shape: tuple[int, ...]) -> Value:
    if dtype is dt.string:
        return strings_of([item for row in rows for item in row], shape)
    array = np.concatenate(rows) if rows else np.zeros(0)
    return host_to_value(array.astype(dtype.as_numpy_dtype).reshape(shape), dtype)


# Lists of any length.

feature_rows = op(
    "ParseFeatureRows",
    "serialized: string -> values: dtype, row_splits: int64, record_splits: int64",
    dtype=frozenset(_LISTS),
    key="",
    part="example",
    size=-1,
    required=False,
)
feature_rows.stops_gradients()


@feature_rows.shape
def _rows_shape(serialized: TensorShape, **attrs: Any) -> list[TensorShape]:
    if serialized.rank not in (1, None):
        raise ArgumentError(f"serialized must be a vector, got shape {brackets(serialized)}")
    count = serialized[0] if serialized.rank else None
    records = TensorShape([None if count is None else count + 1])
    return [TensorShape([None]), TensorShape([None]), records]


@feature_rows.kernel(CPU)
def _rows_kernel(
    serialized: Any, *, key: str, part: str, size: int, required: bool, dtype: DType
) -> tuple[Value, Value, Value]:
    """The values of one feature of all records; where the rows of them end, and where the records end."""
    values: list[Any] = []
    ends, records = [0], [0]
    for index, record in enumerate(serialized.ravel().tolist()):
        for step, found in enumerate(_rows_of(record, key, part, required, index)):
            which = None if found is None else found.WhichOneof("kind")
            if which not in (None, _LISTS[dtype]):
                raise ArgumentError(
                    f"Key: {key}, Index: {step}.  Data types don't match. Expected type: {_NAMES[_LISTS[dtype]]}, "
                    f"but got {_NAMES[which]}."
                )
            row = [] if which is None else list(getattr(found, which).value)
            if size not in (-1, len(row)):
                raise ArgumentError(
                    f"Key: {key}, Index: {step}.  Number of {dtype.name} values != expected.  Values size: {len(row)} "
                    f"but output shape has {size}."
                )
            values += row
            ends.append(len(values))
        records.append(len(ends) - 1)
    flat = (
        strings_of(values, [len(values)])
        if dtype is dt.string
        else host_to_value(np.array(values, dtype.as_numpy_dtype), dtype)
    )
    return flat, host_to_value(np.array(ends), dt.int64), host_to_value(np.array(records), dt.int64)


def _rows_of(record: bytes, key: str, part: str, required: bool, index: int) -> list[Any]:
    if part == "example":
        return [_lists(record).get(key)]
    from situs._src.base.proto.example import SequenceExample
    from situs._src.base.proto.formats import from_bytes

    try:
        found: Any = from_bytes(record, SequenceExample)
    except DataLossError as error:
        raise InvalidArgumentError(f"Could not parse sequence example, value: {shown(record)}: {error}") from None
    if part == "context":
        return [found.context.feature.get(key)]
    steps = found.feature_lists.feature_list.get(key)
    if steps is None and required:
        raise InvalidArgumentError(
            f"Key: {key}, Index: {index}.  Feature list '{key}' is required but could not be found. Did you mean to "
            "say allow_missing=True of it?"
        )
    return [] if steps is None else list(steps.feature)
