"""Initializers of immutable tables."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.ir.graph.context import init_scope
from situs._src.ops import table as ops
from situs._src.ops.attribute import as_int
from situs._src.ops.constant import convert_to_tensor
from situs._src.variables.collections import GraphKeys


@export("lookup.TextFileIndex")
class TextFileIndex:
    """What of a line is meant, beside the number of a column."""

    WHOLE_LINE = ops.WHOLE_LINE
    LINE_NUMBER = ops.LINE_NUMBER


class TableInitializerBase:
    """The base of what fills tables.

    Args:
        key_dtype: The dtype of the keys.
        value_dtype: The dtype of the values.
    """

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype = as_dtype(key_dtype)
        self._value_dtype = as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        return self._value_dtype

    def initialize(self, table: Any) -> Any:
        """Fills a table; in a graph, the operation that does."""
        raise NotImplementedError(f"{type(self).__name__}.initialize()")

    @property
    def _shared_name(self) -> str:
        return ""


@export("lookup.KeyValueTensorInitializer")
class KeyValueTensorInitializer(TableInitializerBase):
    """Keys and values that are tensors.

    Args:
        keys: The keys.
        values: A value for each.
        key_dtype: The dtype of the keys, if they are no tensor.
        value_dtype: The dtype of the values, if they are no tensor.
        name: Accepted for TensorFlow's programs.
    """

    def __init__(
        self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None
    ) -> None:
        with init_scope():
            self._keys = convert_to_tensor(keys, None if key_dtype is None else as_dtype(key_dtype))
            self._values = convert_to_tensor(values, None if value_dtype is None else as_dtype(value_dtype))
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table: Any) -> Any:
        """Fills a table; in a graph, the operation that does."""
        check_dtypes(table, self)
        return filled(table, lambda: (self._keys, self._values))


@export("lookup.TextFileInitializer")
class TextFileInitializer(TableInitializerBase):
    """Keys and values that are columns of a file, or the numbers of its lines.

    Args:
        filename: The file.
        key_dtype: The dtype of the keys.
        key_index: The column of the keys, or a `TextFileIndex`.
        value_dtype: The dtype of the values.
        value_index: The column of the values, or a `TextFileIndex`.
        vocab_size: How many lines to read; all of them by default.
        delimiter: What stands between columns.
        name: Accepted for TensorFlow's programs.
        value_index_offset: What to add to the numbers of lines.

    Raises:
        ValueError: the columns and dtypes do not fit.
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        super().__init__(key_dtype, value_dtype)
        if (
            not isinstance(filename, (str, bytes))
            and not hasattr(filename, "dtype")
            and not hasattr(filename, "__fspath__")
        ):
            raise ArgumentError(
                f"`filename` argument required for tf.lookup.TextFileInitializer, got {shown(filename)}."
            )
        for what, index, dtype in (("key", key_index, self.key_dtype), ("value", value_index, self.value_dtype)):
            if as_int(index, f"{what}_index") < TextFileIndex.WHOLE_LINE:
                raise ArgumentError(f"`{what}_index` should be >= -2, received: {index}.")
            if index == TextFileIndex.LINE_NUMBER and dtype is not dt.int64:
                raise ArgumentError(f"`{what}_dtype` must be int64 if `{what}_index` is -1, received: {dtype.name}.")
            if index == TextFileIndex.WHOLE_LINE and not (dtype.is_integer or dtype is dt.string):
                raise ArgumentError(
                    f"`{what}_dtype` should be either integer or string for `{what}_index` -2, received: {dtype.name}."
                )
        if vocab_size is not None and as_int(vocab_size, "vocab_size") <= 0:
            raise ArgumentError(f"`vocab_size` should be > 0, received: {vocab_size}.")
        if not isinstance(delimiter, str) or len(delimiter) != 1:
            raise ArgumentError(f"`delimiter` is one character, received: {shown(delimiter)}.")
        self._filename = filename if hasattr(filename, "dtype") else os.fsdecode(filename)
        self._attrs: dict[str, Any] = {
            "key_index": key_index,
            "value_index": value_index,
            "vocab_size": -1 if vocab_size is None else vocab_size,
            "delimiter": delimiter,
            "offset": as_int(value_index_offset, "value_index_offset"),
        }

    def initialize(self, table: Any) -> Any:
        """Fills a table; in a graph, the operation that does."""
        check_dtypes(table, self)

        def columns() -> tuple[Any, Any]:
            path = convert_to_tensor(self._filename, dt.string)
            if here.graph is not None:
                here.graph.add_to_collection(GraphKeys.ASSET_FILEPATHS, path)
            found = ops.table_lines(path, key_dtype=self.key_dtype, value_dtype=self.value_dtype, **self._attrs)
            return found[0], found[1]

        return filled(table, columns)


@export("lookup.TextFileStringTableInitializer", v1=())
class TextFileStringTableInitializer(TextFileInitializer):
    """Strings by the numbers of their lines, or by another column."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
    ) -> None:
        super().__init__(filename, dt.int64, key_column_index, dt.string, value_column_index, vocab_size, delimiter)


def filled(table: Any, columns: Callable[[], tuple[Any, Any]]) -> Any:
    """Fills a table with what a function gives; in a graph, notes the operation with those to be run at the start."""
    keys, values = columns()
    made = table._change(ops.table_fill, ops.initialize_table, keys, values)
    if made is not None and here.graph is not None:
        here.graph.add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
    return made


def check_dtypes(table: Any, initializer: TableInitializerBase) -> None:
    """Raises unless an initializer has the dtypes of a table.

    Raises:
        TypeError: it has others.
    """
    for what in ("key_dtype", "value_dtype"):
        ours, theirs = as_dtype(getattr(table, what)), as_dtype(getattr(initializer, what))
        if ours is not theirs:
            raise DTypeError(f"Invalid {what} for the table: it has {ours.name}, its initializer {theirs.name}.")
