"""Lines of comma-separated values as tensors: ``tf.io.decode_csv``, by the rules of RFC 4180.

>>> import situs as tf
>>> a, b = tf.io.decode_csv(["1,x", ',"y, z"'], [[0], [""]])
>>> a.numpy().tolist(), b.numpy().tolist()
([1, 0], [b'x', b'y, z'])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import ROOT, build_into, here
from situs._src.base.dtype import DType
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor, read
from situs._src.base.typing import ArrayLike
from situs._src.ir.graph.function import graph_of
from situs._src.ir.graph.graph import Graph
from situs._src.ir.registry.signature import ANY, Arg
from situs._src.ops.attribute import as_bool, as_int, as_word
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, KernelValue, op
from situs._src.ops.strings import strings_of
from situs._src.runtime.eager.bridge import Value, host, place_of
from situs._src.runtime.eager.convert import host_to_value
from situs._src.runtime.eager.tensor import EagerTensor, copy_to, wrap
from situs._src.runtime.symbolic.bind import SymbolicBinder

_TYPES = (dt.float32, dt.float64, dt.int32, dt.int64, dt.string)
_NAMES = {dt.float32: "float", dt.float64: "double", dt.int32: "int32", dt.int64: "int64"}

_op = op(
    "DecodeCSV",
    "records: string, record_defaults: any* -> output: any*",
    OUT_TYPE=(),
    field_delim=",",
    use_quote_delim=True,
    na_value="",
    select_cols=(),
)
_op.shape(lambda records, record_defaults, *, OUT_TYPE, **attrs: [records] * len(OUT_TYPE))  # noqa: N803
_op.stops_gradients()


@export("io.decode_csv", v1=())
def decode_csv(
    records: ArrayLike,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """The fields of lines of text, a tensor for each column.

    Args:
        records: Strings, each a line.
        record_defaults: For each column a value to take where the field is empty, which also says the dtype; an empty
            vector if the field has to be there.
        field_delim: What stands between fields, one character.
        use_quote_delim: Whether double quotes stand around fields, which may then have the delimiter in them.
        na_value: What counts as empty, besides nothing.
        select_cols: The columns to take, in order; all by default.
        name: A name for the operation.

    Raises:
        InvalidArgumentError: a line has too few or too many fields, or one that is not a number where one is wanted.
        ValueError: the columns are not in order, or there are more or fewer than defaults.
    """
    if not isinstance(record_defaults, (list, tuple, np.ndarray)) or getattr(record_defaults, "ndim", 1) == 0:
        raise DTypeError(f"Expected list for 'record_defaults' argument to 'decode_csv' Op, not {record_defaults!r}.")
    delimiter = as_word(field_delim, "field_delim")
    if len(delimiter) != 1:
        raise ArgumentError(f"field_delim should be only 1 char, got {delimiter!r}")
    columns = () if select_cols is None else tuple(as_int(column, "select_cols") for column in select_cols)
    _check_columns(columns, len(record_defaults), select_cols is not None)
    lines = convert_to_tensor(records, dt.string)
    defaults = [_default(value) for value in record_defaults]
    attrs: dict[str, Any] = {
        "OUT_TYPE": tuple(default.dtype for default in defaults),
        "field_delim": delimiter,
        "use_quote_delim": as_bool(use_quote_delim, "use_quote_delim"),
        "na_value": as_word(na_value, "na_value"),
        "select_cols": columns,
    }
    graph = here.graph or graph_of([lines, *defaults])
    if graph is not None:
        return _add(graph, lines, defaults, attrs, name)
    given: list[EagerTensor] = [lines, *defaults]  # type: ignore[list-item]
    text, *others = [copy_to(tensor, host())._value for tensor in given]
    return [wrap(value, place_of(host(), value)) for value in _kernel(text, others, **attrs)]


@export(v1=("decode_csv", "io.decode_csv"))
def decode_csv_v1(
    records: ArrayLike,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Tensor]:
    """`decode_csv`, with the argument order of TensorFlow 1."""
    return decode_csv(records, record_defaults, field_delim, use_quote_delim, na_value, select_cols, name)


def _check_columns(columns: tuple[int, ...], count: int, given: bool) -> None:
    if any(column < 0 for column in columns):
        raise ArgumentError("select_cols contains negative values.")
    if list(columns) != sorted(set(columns)):
        raise ArgumentError("select_cols is not strictly increasing.")
    if given and len(columns) != count:
        raise ArgumentError(f"Length of select_cols and record_defaults do not match. {len(columns)} and {count}")


def _default(value: object) -> Tensor:
    tensor = convert_to_tensor(value)
    if tensor.dtype not in _TYPES:
        names = ", ".join(dtype.name for dtype in _TYPES)
        raise DTypeError(f"The dtype of a record default is one of {names}, got {tensor.dtype.name}.")
    if tensor.shape.rank is not None and tensor.shape.rank > 1:
        raise ArgumentError(
            "Each record default should be at most rank 1: Shape must be at most rank 1 but is rank "
            f"{tensor.shape.rank}"
        )
    return tensor


def _add(
    graph: Graph, records: ArrayLike, defaults: list[Any], attrs: dict[str, Any], name: str | None
) -> list[Tensor]:
    before = build_into(graph, here.scope if here.graph is graph else ROOT)
    try:
        unique = graph.claim_name(_op, name)
        binder = SymbolicBinder(graph, unique)
        lines, *others = [
            binder.tensor(read(value), None, Arg(f"input_{i}", ANY)) for i, value in enumerate([records, *defaults])
        ]
        results: list[tuple[Arg, DType, TensorShape]] = [
            (Arg("output", ANY), dtype, lines.shape) for dtype in attrs["OUT_TYPE"]
        ]
        return list(graph.add(_op, (lines, others), attrs, {}, results, f"{unique}/").outputs)
    finally:
        build_into(*before)


@_op.kernel(CPU)
def _kernel(
    records: KernelValue,
    record_defaults: list[Value],
    *,
    OUT_TYPE: Sequence[DType],  # noqa: N803 - TensorFlow's name
    field_delim: str,
    use_quote_delim: bool,
    na_value: str,
    select_cols: Sequence[int],
) -> list[Value]:
    defaults = [np.asarray(default).ravel().tolist() for default in record_defaults]
    chosen, empty = set(select_cols), na_value.encode()
    columns: list[list[Any]] = [[] for _ in OUT_TYPE]
    for number, line in enumerate(records.ravel().tolist()):
        fields = list(_fields(line, field_delim.encode(), use_quote_delim))
        if select_cols:
            fields = [field for place, field in enumerate(fields) if place in chosen]
        if len(fields) != len(OUT_TYPE):
            raise ArgumentError(f"Expect {len(OUT_TYPE)} fields but have {len(fields)} in record {number}")
        for place, (field, dtype) in enumerate(zip(fields, OUT_TYPE, strict=True)):
            if field in (b"", empty):
                if len(defaults[place]) != 1:
                    raise ArgumentError(f"Field {place} is required but missing in record {number}!")
                columns[place].append(defaults[place][0])
            else:
                columns[place].append(_number(field, dtype, place, number))
    pairs = zip(columns, OUT_TYPE, strict=True)
    return [_column(column, dtype, tuple(records.shape)) for column, dtype in pairs]


def _column(values: list[Any], dtype: DType, shape: tuple[int, ...]) -> Value:
    if dtype is dt.string:
        return strings_of(values, shape)
    return host_to_value(np.array(values, dtype.as_numpy_dtype).reshape(shape), dtype)


def _number(field: bytes, dtype: DType, place: int, record: int) -> bytes | float | int:
    if dtype is dt.string:
        return field
    try:
        text = field.decode("ascii").strip()
        if "_" in text:
            raise ValueError(text)
        if not dtype.is_integer:
            return float(text)
        number, bits = int(text), 8 * dtype.size - 1
        if not -(2**bits) <= number < 2**bits:
            raise ValueError(text)
        return number
    except ValueError:
        raise ArgumentError(
            f"Field {place} in record {record} is not a valid {_NAMES[dtype]}: {field.decode(errors='replace')}"
        ) from None


def _fields(line: bytes, delimiter: bytes, quotes: bool) -> Iterator[bytes]:
    """The fields of a line; ends of lines before a field are left out."""
    place, size = 0, len(line)
    while place < size:
        if line[place : place + 1] in (b"\n", b"\r"):
            place += 1
            continue
        if quotes and line[place : place + 1] == b'"':
            field, place = _quoted(line, place + 1, delimiter)
        else:
            end = line.find(delimiter, place)
            end = size if end < 0 else end
            field, place = line[place:end], end + 1
            if quotes and any(mark in field for mark in (b'"', b"\n", b"\r")):
                raise ArgumentError(f"Unquoted fields cannot have quotes/CRLFs inside: {shown(field)}")
        yield field
    if line.endswith(delimiter):
        yield b""


def _quoted(line: bytes, place: int, delimiter: bytes) -> tuple[bytes, int]:
    """A field up to the quote that ends it, and the place behind its delimiter."""
    parts: list[bytes] = []
    while True:
        end = line.find(b'"', place)
        if end < 0:
            raise ArgumentError("Quoted field has to end with quote followed by delim or end")
        parts.append(line[place:end])
        after = line[end + 1 : end + 2]
        if after == b'"':
            parts.append(b'"')
            place = end + 2
        elif after in (b"", delimiter):
            return b"".join(parts), end + 2
        else:
            raise ArgumentError("Quoted field has to end with quote followed by delim or end")
