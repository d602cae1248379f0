"""The ops of tables from keys to values; `lookup` has the classes that programs use.

A table is a `Store`. In eager code and in functions the operations hold it themselves; in a graph of TensorFlow 1 it
is the value of an operation, a handle, and each session has its own:

    TableFind(keys, default), store                             eager code, functions, datasets
    HashTableV2 ---handle---> LookupTableFindV2(keys, default)  graphs
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base import locks
from situs._src.base.dtype import ALL, DType, as_dtype
from situs._src.base.errors import ArgumentError, DataLossError, FailedPreconditionError, shown
from situs._src.base.shapes import SCALAR, TensorShape
from situs._src.ir.graph.objects import install
from situs._src.ir.graph.plain import NotPlainError
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.traits import EACH_VALUE
from situs._src.ops.define import CPU, op
from situs._src.ops.strings import strings_of
from situs._src.runtime.eager.bridge import TORCH_DTYPE, Value

KEYS = frozenset({dt.string, dt.int32, dt.int64, dt.uint8, dt.int8, dt.int16, dt.float32, dt.float64, dt.bool})


class Store:
    """Keys and values.

    Args:
        key_dtype: The dtype of the keys.
        value_dtype: The dtype of the values.
        value_shape: The shape of each value.
        is_static: Whether it is filled once, before it is used.
    """

    def __init__(
        self, key_dtype: DType, value_dtype: DType, value_shape: tuple[int, ...] = (), is_static: bool = False
    ) -> None:
        self.key_dtype, self.value_dtype, self.value_shape = key_dtype, value_dtype, value_shape
        self.is_static = is_static
        self.is_filled = not is_static
        self.reserved: frozenset[Any] = frozenset()  # keys that must not be used
        self._items: dict[Any, Any] = {}
        self._lock = locks.lock()

    # What there is.

    def find(self, keys: Value, default: Value) -> Value:
        """The values of keys; for those that are not there `default`, one for all or one for each."""
        self._check_filled()
        wanted = _flat(keys)
        self._check_keys(wanted)
        shape = (*keys.shape, *self.value_shape)
        get = self._items.get
        if tuple(default.shape) == self.value_shape:
            other = self._rows(default)[0]
            found = [get(key, other) for key in wanted]
        elif tuple(default.shape) == shape:
            found = [get(key, other) for key, other in zip(wanted, self._rows(default), strict=True)]
        else:
            raise ArgumentError(
                f"Expected the default value to have shape {list(self.value_shape)}, or {list(shape)} for a value for "
                f"each key; got {list(default.shape)}."
            )
        return self._value(found, shape)

    def size(self) -> int:
        """How many keys there are: none, before it is filled."""
        return len(self._items)

    def export(self) -> tuple[Value, Value]:
        """All keys, and their values."""
        self._check_filled()
        with self._lock:
            keys, values = list(self._items), list(self._items.values())
        return _made(keys, self.key_dtype, (len(keys),)), self._value(values, (len(keys), *self.value_shape))

    # Changing it.

    def fill(self, keys: Value, values: Value) -> None:
        """Puts everything into a table that is filled once.

        Raises:
            InvalidArgumentError: a key has two values.
            FailedPreconditionError: it has been filled with something else.
        """
        given: dict[Any, Any] = {}
        for key, value in zip(*self._pairs(keys, values), strict=True):
            if given.setdefault(key, value) != value:
                raise ArgumentError(
                    f"HashTable has different value for same key. Key {_text(key)} has {_text(given[key])} and trying "
                    f"to add value {_text(value)}"
                )
        with self._lock:
            if self.is_filled and given != self._items:
                raise FailedPreconditionError("Table was already initialized with different data.")
            self._items, self.is_filled = given, True

    def insert(self, keys: Value, values: Value) -> None:
        """Puts values under keys, which may be there already."""
        flat, rows = self._pairs(keys, values)
        self._check_keys(flat)
        with self._lock:
            self._items.update(zip(flat, rows, strict=True))

    def remove(self, keys: Value) -> None:
        """Takes keys away; those that are not there are ignored."""
        flat = _flat(keys)
        self._check_keys(flat)
        with self._lock:
            for key in flat:
                self._items.pop(key, None)

    def replace(self, keys: Value, values: Value) -> None:
        """Makes these all that there is."""
        flat, rows = self._pairs(keys, values)
        with self._lock:
            self._items = dict(zip(flat, rows, strict=True))

    def _pairs(self, keys: Value, values: Value) -> tuple[list[Any], list[Any]]:
        wanted = (*keys.shape, *self.value_shape)
        if tuple(values.shape) != wanted:
            raise ArgumentError(
                f"Expected shape {list(wanted)} for value, got {list(values.shape)}: a value of shape "
                f"{list(self.value_shape)} for each key."
            )
        return _flat(keys), self._rows(values)

    def _rows(self, values: Value) -> list[Any]:
        if not self.value_shape:
            return _flat(values)
        width = int(np.prod(self.value_shape))
        flat = _flat(values)
        return [tuple(flat[n * width : (n + 1) * width]) for n in range(len(flat) // width if width else 0)]

    def _value(self, rows: list[Any], shape: tuple[int, ...]) -> Value:
        flat = [item for row in rows for item in row] if self.value_shape else rows
        return _made(flat, self.value_dtype, shape)

    def _check_filled(self) -> None:
        if not self.is_filled:
            raise FailedPreconditionError("Table not initialized.")

    def _check_keys(self, keys: list[Any]) -> None:
        if self.reserved and not self.reserved.isdisjoint(keys):
            raise ArgumentError("Using the empty_key or the deleted_key as a table key is not allowed.")

    # As text.

    def to_text(self) -> str:
        """The table as JSON."""
        content = {
            "key_dtype": self.key_dtype.name,
            "value_dtype": self.value_dtype.name,
            "value_shape": list(self.value_shape),
            "is_static": self.is_static,
            "is_filled": self.is_filled,
            "keys": [_encoded(key) for key in self._items],
            "values": [
                [_encoded(item) for item in row] if self.value_shape else _encoded(row) for row in self._items.values()
            ],
        }
        return json.dumps(content)

    @classmethod
    def from_text(cls, text: str | bytes) -> Store:
        """The table that `to_text` described.

        Raises:
            DataLossError: the data is invalid.
        """
        try:
            content = json.loads(text)
            shape = tuple(int(size) for size in content["value_shape"])
            made = cls(
                as_dtype(content["key_dtype"]), as_dtype(content["value_dtype"]), shape, content["is_static"] is True
            )
            keys = [_decoded(key, made.key_dtype) for key in content["keys"]]
            values: list[Any] = [
                tuple(_decoded(item, made.value_dtype) for item in row) if shape else _decoded(row, made.value_dtype)
                for row in content["values"]
            ]
            made._items = dict(zip(keys, values, strict=True))
            made.is_filled = content["is_filled"] is True
            made._value(values, (len(values), *shape))
        except (ValueError, TypeError, LookupError, AttributeError, RuntimeError, RecursionError) as error:
            raise DataLossError(f"This is no description of a table: {shown(error)}.") from None
        return made


def _flat(value: Value) -> list[Any]:
    return value.ravel().tolist() if isinstance(value, np.ndarray) else value.reshape(-1).tolist()


def _made(items: list[Any], dtype: DType, shape: tuple[int, ...]) -> Value:
    if dtype is dt.string:
        return strings_of(items, shape)
    return torch.tensor(items, dtype=TORCH_DTYPE[dtype]).reshape(shape)


def _text(item: Any) -> str:
    return item.decode(errors="replace") if isinstance(item, bytes) else str(item)


def _encoded(item: Any) -> Any:
    return base64.b64encode(item).decode() if isinstance(item, bytes) else item


def _decoded(item: Any, dtype: DType) -> Any:
    if dtype is dt.string:
        return base64.b64decode(item, validate=True)
    if not isinstance(item, (bool, int, float)):
        raise ValueError(f"{item!r} is no number")
    return item


def _describe(store: Store, place: Any) -> tuple[str, list[Any]]:
    if not store.is_static:
        raise NotPlainError("a table that can be changed")
    return store.to_text(), []


install(Store, "table", _describe, lambda text, graphs, inputs: Store.from_text(text))


# The operations, with a store of their own or with a handle.

_STORE: dict[str, Any] = {"store": None}


def _kernels(plain: Op, with_handle: Op, run: Callable[..., Any]) -> None:
    """Registers the same function for an op that holds a store and for one that takes a handle."""

    @plain.kernel(CPU)
    def own(*inputs: Value, store: Store, **attrs: Any) -> Any:
        return run(store, *inputs)

    @with_handle.kernel(CPU)
    def by_handle(handle: Store, *inputs: Value, **attrs: Any) -> Any:
        return run(handle, *inputs)


table_find = op(
    "TableFind",
    "keys: Tin, default_value: Tout -> values: Tout",
    traits={EACH_VALUE},
    Tin=KEYS,
    Tout=ALL,
    stateful=True,
    **_STORE,
)
lookup_table_find = op(
    "LookupTableFindV2",
    "handle: resource, keys: Tin, default_value: Tout -> values: Tout",
    traits={EACH_VALUE},
    Tin=KEYS,
    Tout=ALL,
    stateful=True,
    value_shape=(),
)


@table_find.shape
def _find_shape(keys: TensorShape, default_value: TensorShape, *, store: Store) -> TensorShape:
    return keys.concatenate(TensorShape(store.value_shape))


@lookup_table_find.shape
def _handle_find_shape(
    handle: TensorShape, keys: TensorShape, default_value: TensorShape, *, value_shape: tuple[int, ...]
) -> TensorShape:
    return keys.concatenate(TensorShape(value_shape))


_kernels(table_find, lookup_table_find, lambda store, keys, default: store.find(keys, default))

table_insert = op("TableInsert", "keys: Tin, values: Tout ->", Tin=KEYS, Tout=ALL, stateful=True, **_STORE)
lookup_table_insert = op(
    "LookupTableInsertV2", "handle: resource, keys: Tin, values: Tout ->", Tin=KEYS, Tout=ALL, stateful=True
)
initialize_table = op(
    "InitializeTableV2", "handle: resource, keys: Tkey, values: Tval ->", Tkey=KEYS, Tval=ALL, stateful=True
)
table_fill = op("TableFill", "keys: Tkey, values: Tval ->", Tkey=KEYS, Tval=ALL, stateful=True, **_STORE)
table_remove = op("TableRemove", "keys: Tin ->", Tin=KEYS, stateful=True, **_STORE)
lookup_table_remove = op("LookupTableRemoveV2", "handle: resource, keys: Tin ->", Tin=KEYS, stateful=True)
for _each in (
    table_insert,
    lookup_table_insert,
    initialize_table,
    table_fill,
    table_remove,
    lookup_table_remove,
):
    _each.shape(lambda *inputs, **attrs: [])


def _nothing(change: Callable[..., None]) -> Callable[..., tuple[()]]:
    def run(store: Store, *inputs: Value) -> tuple[()]:
        change(store, *inputs)
        return ()

    return run


_kernels(table_insert, lookup_table_insert, _nothing(Store.insert))
_kernels(table_fill, initialize_table, _nothing(Store.fill))
_kernels(table_remove, lookup_table_remove, _nothing(Store.remove))

table_size = op("TableSize", "-> size: int64", stateful=True, **_STORE)
lookup_table_size = op("LookupTableSizeV2", "handle: resource -> size: int64", stateful=True)
table_size.shape(lambda **attrs: SCALAR)
lookup_table_size.shape(lambda handle: SCALAR)
_kernels(table_size, lookup_table_size, lambda store: torch.tensor(store.size()))

table_export = op("TableExport", "-> keys: Tkeys, values: Tvalues", Tkeys=KEYS, Tvalues=ALL, stateful=True, **_STORE)
lookup_table_export = op(
    "LookupTableExportV2",
    "handle: resource -> keys: Tkeys, values: Tvalues",
    Tkeys=KEYS,
    Tvalues=ALL,
    stateful=True,
    value_shape=(),
)


@table_export.shape
def _export_shape(*, store: Store) -> list[TensorShape]:
    return [TensorShape([None]), TensorShape([None, *store.value_shape])]


@lookup_table_export.shape
def _handle_export_shape(handle: TensorShape, *, value_shape: tuple[int, ...]) -> list[TensorShape]:
    return [TensorShape([None]), TensorShape([None, *value_shape])]


_kernels(table_export, lookup_table_export, lambda store: store.export())

# Handles.

hash_table = op(
    "HashTableV2",
    "-> handle: resource",
    stateful=True,
    container="",
    shared_name="",
    node_name="",
    key_dtype=dt.string,
    value_dtype=dt.int64,
    value_shape=(),
    is_static=True,
    reserved=(),
    store=None,
)
hash_table.shape(lambda **attrs: SCALAR)


@hash_table.kernel(CPU)
def _hash_table_kernel(
    *,
    container: str,
    shared_name: str,
    node_name: str,
    key_dtype: DType,
    value_dtype: DType,
    value_shape: tuple[int, ...],
    is_static: bool,
    reserved: tuple[Any, ...],
    store: Store | None,
    run: Any,
) -> Store:
    def make() -> Store:
        made = Store(key_dtype, value_dtype, tuple(value_shape), is_static)
        made.reserved = frozenset(reserved)
        return made

    found: Store = store or run.state.resource(f"table/{container}/{shared_name or node_name}", make)
    return found


# Lines of files.

WHOLE_LINE, LINE_NUMBER = -2, -1

table_lines = op(
    "TableLines",
    "filename: string -> keys: key_dtype, values: value_dtype",
    key_dtype=KEYS,
    value_dtype=ALL,
    stateful=True,
    key_index=WHOLE_LINE,
    value_index=LINE_NUMBER,
    vocab_size=-1,
    delimiter="\t",
    offset=0,
)
table_lines.shape(lambda filename, **attrs: [TensorShape([None]), TensorShape([None])])


@table_lines.kernel(CPU)
def _lines_kernel(
    filename: Any,
    *,
    key_index: int,
    value_index: int,
    vocab_size: int,
    delimiter: str,
    offset: int,
    key_dtype: DType,
    value_dtype: DType,
) -> tuple[Value, Value]:
    return _columns(filename, key_dtype, value_dtype, key_index, value_index, vocab_size, delimiter, offset)


initialize_from_file = op(
    "InitializeTableFromTextFileV2",
    "table_handle: resource, filename: string ->",
    stateful=True,
    key_index=WHOLE_LINE,
    value_index=LINE_NUMBER,
    vocab_size=-1,
    delimiter="\t",
    offset=0,
)
initialize_from_file.shape(lambda table_handle, filename, **attrs: [])


@initialize_from_file.kernel(CPU)
def _initialize_from_file_kernel(table_handle: Store, filename: Any, **attrs: Any) -> tuple[()]:
    table_handle.fill(*_columns(filename, table_handle.key_dtype, table_handle.value_dtype, **attrs))
    return ()


def _columns(
    filename: Any,
    key_dtype: DType,
    value_dtype: DType,
    key_index: int,
    value_index: int,
    vocab_size: int,
    delimiter: str,
    offset: int,
) -> tuple[Value, Value]:
    """The keys and values that the lines of a file have."""
    path = _path(filename)
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - bytes, as the tensor has them
            lines = [line.rstrip(b"\r\n") for line in file]
    except OSError as error:
        raise FailedPreconditionError(f"{error.strerror}: the file {shown(path)} cannot be read.") from None
    if vocab_size > len(lines):
        raise ArgumentError(f"Invalid vocab_size in {_text(path)}: expected {vocab_size} but got {len(lines)}")
    lines = lines if vocab_size < 0 else lines[:vocab_size]
    columns = []
    for index, dtype, shift in ((key_index, key_dtype, 0), (value_index, value_dtype, offset)):
        columns.append(_made(_column(lines, index, dtype, delimiter.encode(), shift), dtype, (len(lines),)))
    return columns[0], columns[1]


def _path(filename: Any) -> bytes:
    found = filename[()] if filename.ndim == 0 else filename.ravel().tolist()
    if isinstance(found, list):
        if len(found) != 1:
            raise ArgumentError(f"filename should be a single string, but got {len(found)} of them.")
        found = found[0]
    return bytes(found)


def _column(lines: list[bytes], index: int, dtype: DType, delimiter: bytes, offset: int) -> list[Any]:
    if index == LINE_NUMBER:
        return [number + offset for number in range(len(lines))]
    cells: list[bytes] = []
    for number, line in enumerate(lines, start=1):
        parts = [line] if index == WHOLE_LINE else line.split(delimiter)
        if index >= len(parts):
            raise ArgumentError(
                f"Invalid number of columns in line {number} ({shown(line)}): expected at least {index + 1}, got "
                f"{len(parts)}."
            )
        cells.append(parts[max(index, 0)])
    if dtype is dt.string:
        return list(cells)
    convert: Callable[[bytes], Any] = int if dtype.is_integer else float
    try:
        return [convert(cell) for cell in cells]
    except ValueError as error:
        raise ArgumentError(f"A column of the file has to be of {dtype.name}: {error}.") from None
