"""Columns of text files: ``CsvDataset`` and ``make_csv_dataset``, and records written from datasets.

CsvDataset(["a.csv"], [tf.float32, "none"], header=True)        (1.5, b"red")  (2.0, b"none")
make_csv_dataset("*.csv", 32, label_name="price")               ({"size": [...], "colour": [...]}, [...])
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from collections import OrderedDict
from typing import Any

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR
from situs._src.data.base import DatasetV2
from situs._src.data.dataset import Dataset, TextLineDataset
from situs._src.files.paths import as_text, as_texts, local, translated
from situs._src.files.record_writer import TFRecordOptions
from situs._src.files.record_writer import TFRecordWriter as RecordWriter
from situs._src.files.tree import glob
from situs._src.ops.attribute import as_bool, as_int
from situs._src.ops.constant import constant
from situs._src.ops.decode_csv import decode_csv

_KINDS = (dt.int32, dt.int64, dt.float32, dt.float64, dt.string)  # in the order in which they are tried


@export("data.experimental.CsvDataset")
class CsvDataset(Dataset):
    """The lines of text files, a tuple of fields each.

    Args:
        filenames: The name of a file, or a list of names.
        record_defaults: For each column a dtype, if its fields have to be there, or what they are where they are empty.
        compression_type: ``"GZIP"``, ``"ZLIB"`` or none.
        buffer_size: How many bytes to read at a time.
        header: Whether the first line of each file is left out.
        field_delim: What stands between fields, one character.
        use_quote_delim: Whether double quotes stand around fields.
        na_value: What counts as empty, besides nothing.
        select_cols: The columns to take, in order; all by default.
        exclude_cols: The columns to leave out; not both.

    Raises:
        ValueError: both `select_cols` and `exclude_cols` are given.
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Any = None,
        exclude_cols: Any = None,
    ) -> None:
        if select_cols is not None and exclude_cols is not None:
            raise ArgumentError("Either select_cols or exclude_cols should be specified, not both.")
        if not isinstance(record_defaults, (list, tuple)) or not record_defaults:
            raise DTypeError(f"`record_defaults` has an entry for each column, got {shown(record_defaults)}.")
        defaults = [_default(each) for each in record_defaults]
        if exclude_cols is not None:
            left_out = {as_int(each, "exclude_cols") for each in exclude_cols}
            total = len(defaults) + len(left_out)
            select_cols = [number for number in range(total) if number not in left_out]
        skipped = 1 if as_bool(header, "header") else 0

        def fields(line: Any) -> tuple[Any, ...]:
            made = decode_csv(line, defaults, field_delim, use_quote_delim, na_value, select_cols)
            return tuple(made)

        def lines(file: Any) -> Any:
            return TextLineDataset(file, compression_type, buffer_size).skip(skipped)

        names: Any = filenames if isinstance(filenames, DatasetV2) else Dataset.from_tensor_slices(_names(filenames))
        self._node = names.flat_map(lines).map(fields)._node


def _names(filenames: Any) -> Any:
    if hasattr(filenames, "dtype"):
        from situs._src.ops.array import reshape

        return reshape(filenames, [-1])
    listed = _paths(filenames, "filenames")
    return constant(listed, dt.string) if listed else constant([], dt.string)


def _paths(given: Any, what: str) -> list[str]:
    """One path, or a list of them."""
    return as_texts([given] if isinstance(given, (str, bytes, os.PathLike)) else given, what)


def _default(given: Any) -> Any:
    """What an empty field is: nothing for a dtype, whose fields have to be there."""
    if isinstance(given, DType) or (isinstance(given, type) and issubclass(given, np.generic)):
        return constant([], as_dtype(given))
    return given


# Whole tables.


@export("data.experimental.make_csv_dataset")
def make_csv_dataset(
    file_pattern: Any,
    batch_size: int,
    column_names: Any = None,
    column_defaults: Any = None,
    label_name: str | None = None,
    select_columns: Any = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: Any = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Any:
    """Batches of the columns of text files, by the names of the columns.

    Args:
        file_pattern: Files, or patterns of names such as ``data/*.csv``.
        batch_size: How many lines make a batch.
        column_names: The names; by default the first line has them.
        column_defaults: For each column that is taken a dtype or a default; by default the first lines say the dtypes.
        label_name: A column that is given apart, as the second part of each element.
        select_columns: Names or numbers of the columns to take; all by default.
        field_delim: What stands between fields, one character.
        use_quote_delim: Whether double quotes stand around fields.
        na_value: What counts as empty, besides nothing.
        header: Whether the first line of each file has the names.
        num_epochs: How often to go through the files; without end by default.
        shuffle: Whether to shuffle the lines.
        shuffle_buffer_size: From how many lines the next one is drawn.
        shuffle_seed: A seed for that.
        prefetch_buffer_size: How many batches to make ahead.
        num_parallel_reads: How many files to read at a time.
        sloppy: Accepted for TensorFlow's programs.
        num_rows_for_inference: How many lines to look at for the dtypes; all for None.
        compression_type: ``"GZIP"``, ``"ZLIB"`` or none.
        ignore_errors: Whether lines with errors are left out.
        encoding: How the files are written, for the names.

    Returns:
        A dataset of dictionaries, or of pairs of a dictionary and the column `label_name`.

    Raises:
        ValueError: there are no such files or columns, or the files have other columns.
    """
    files = _matching(file_pattern)
    if column_names is None:
        if not header:
            raise ArgumentError("Cannot infer column names without a header line: give column_names.")
        column_names = _header(files, field_delim, use_quote_delim, compression_type, encoding)
    names = list(column_names)
    if len(set(names)) < len(names):
        raise ArgumentError(f"Cannot have duplicate column names: {names}.")
    chosen = _chosen(names, select_columns)
    if label_name is not None and label_name not in [names[number] for number in chosen]:
        raise ArgumentError(f"`label_name` provided must be one of the columns; got {shown(label_name)}.")
    if column_defaults is None:
        options = (field_delim, use_quote_delim, na_value, header, num_rows_for_inference, compression_type, encoding)
        defaults: list[Any] = _inferred(files, len(names), chosen, *options)
    else:
        defaults = list(column_defaults)
        if len(defaults) != len(chosen):
            raise ArgumentError(f"There are {len(chosen)} columns, and {len(defaults)} entries in column_defaults.")
    skipped, numbers = int(bool(header)), None if len(chosen) == len(names) else chosen
    titles, values = [names[number] for number in chosen], [_default(each) for each in defaults]

    def lines(file: Any) -> Any:
        return TextLineDataset(file, compression_type).skip(skipped)

    def columns(batch: Any) -> Any:
        made = decode_csv(batch, values, field_delim, use_quote_delim, na_value, numbers)
        found: Any = OrderedDict(zip(titles, made, strict=True))
        return found if label_name is None else (found, found.pop(label_name))

    sources = Dataset.from_tensor_slices(constant(files, dt.string))
    if shuffle:
        sources = sources.shuffle(len(files), shuffle_seed)
    dataset: Any = sources.interleave(lines, cycle_length=num_parallel_reads or 1)
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    dataset = dataset.repeat(num_epochs)
    if ignore_errors:
        single = dataset.map(lambda line: decode_csv(line, values, field_delim, use_quote_delim, na_value, numbers))
        dataset = single.ignore_errors().batch(batch_size, drop_remainder=num_epochs is None)

        def named(*made: Any) -> Any:
            found: Any = OrderedDict(zip(titles, made, strict=True))
            return found if label_name is None else (found, found.pop(label_name))

        return dataset.map(named).prefetch(prefetch_buffer_size or 1)
    batches = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(columns)
    return batches.prefetch(prefetch_buffer_size or 1)


def _matching(file_pattern: Any) -> list[str]:
    patterns = _paths(file_pattern, "file_pattern")
    files = sorted({str(file) for pattern in patterns for file in glob(pattern)})
    if not files:
        raise ArgumentError(f"No files match {shown(file_pattern)}.")
    return files


def _reader(file: str, delimiter: str, quotes: bool, compression: Any, encoding: str) -> Any:
    """The rows of a file."""
    with translated(file):
        content = local(file).read_bytes()
    kind = str(compression or "").upper()
    if kind == "GZIP":
        content = gzip.decompress(content)
    elif kind == "ZLIB":
        content = zlib.decompress(content)
    try:
        text = content.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise ArgumentError(f"{file} is no text: {error}.") from None
    quoting: Any = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    try:
        return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=quoting)
    except TypeError as error:
        raise DTypeError(f"`field_delim` is one character, got {shown(delimiter)}: {error}.") from None


def _header(files: list[str], delimiter: str, quotes: bool, compression: Any, encoding: str) -> list[str]:
    first: list[str] | None = None
    for file in files:
        found = next(_reader(file, delimiter, quotes, compression, encoding), None)
        if found is None:
            raise ArgumentError(f"{file} is empty: it has no names of columns.")
        if first is not None and found != first:
            raise ArgumentError(f"All input CSV files must have the same column names: {first} and {found} of {file}.")
        first = found
    assert first is not None
    return first


def _chosen(names: list[str], select_columns: Any) -> list[int]:
    if select_columns is None:
        return list(range(len(names)))
    found: list[int] = []
    for each in select_columns:
        if isinstance(each, str):
            if each not in names:
                raise ArgumentError(f"Value {each!r} in `select_columns` is no column: {names}.")
            found.append(names.index(each))
        else:
            number = as_int(each, "select_columns")
            if not 0 <= number < len(names):
                raise ArgumentError(f"There are {len(names)} columns, and no column {number}.")
            found.append(number)
    if len(set(found)) < len(found):
        raise ArgumentError(f"`select_columns` names a column twice: {shown(select_columns)}.")
    return sorted(found)


def _inferred(
    files: list[str],
    count: int,
    chosen: list[int],
    delimiter: str,
    quotes: bool,
    empty: str,
    header: bool,
    most: int | None,
    compression: Any,
    encoding: str,
) -> list[Any]:
    """What empty fields of columns are, of the dtypes that the first rows have."""
    kinds = [0] * len(chosen)
    seen = 0
    for file in files:
        for number, row in enumerate(_reader(file, delimiter, quotes, compression, encoding)):
            if (header and number == 0) or not row:
                continue
            if most is not None and seen >= most:
                break
            seen += 1
            if len(row) != count:
                raise ArgumentError(
                    f"Problem inferring types: {file} has a row of {len(row)} fields, expected {count}."
                )
            for place, column in enumerate(chosen):
                while not _is_of(row[column], _KINDS[kinds[place]], empty):
                    kinds[place] += 1
    return [
        np.array([""] if kind is dt.string else [0], kind.as_numpy_dtype) for kind in map(_KINDS.__getitem__, kinds)
    ]


def _is_of(field: str, dtype: DType, empty: str) -> bool:
    if dtype is dt.string or field in ("", empty):
        return True
    try:
        if dtype.is_integer:
            number = int(field)
            return int(dtype.min) <= number <= int(dtype.max)
        value = float(field)
    except ValueError:
        return False
    return dtype is dt.float64 or not np.isfinite(value) or abs(value) <= float(np.finfo(np.float32).max)


@export("data.experimental.TFRecordWriter")
class TFRecordWriter:
    """Writes the elements of a dataset of strings as records.

    Args:
        filename: The file.
        compression_type: ``"GZIP"``, ``"ZLIB"`` or none.
    """

    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._filename = as_text(filename)
        self._options = TFRecordOptions(compression_type)

    def write(self, dataset: Any) -> None:
        """Writes the elements, in their order.

        Raises:
            TypeError: this is not a dataset of scalar strings.
        """
        if not isinstance(dataset, DatasetV2):
            raise DTypeError(f"`dataset` must be a `tf.data.Dataset` object, got {shown(dataset)}.")
        spec = dataset.element_spec
        if getattr(spec, "dtype", None) is not dt.string or not spec.shape.is_compatible_with(SCALAR):
            raise DTypeError(f"`dataset` must produce scalar strings, got {spec!r}.")
        with RecordWriter(self._filename, self._options) as writer:
            elements: Any = dataset
            for element in elements.as_numpy_iterator():
                writer.write(element)


@export("data.experimental.make_batched_features_dataset")
def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int,
    features: Any,
    reader: Any = None,
    label_key: str | None = None,
    reader_args: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Any:
    """Batches of the features of ``Example`` records in files.

    Args:
        file_pattern: Files, or patterns of names.
        batch_size: How many records make a batch.
        features: A dictionary of features, as for ``tf.io.parse_example``.
        reader: A class of datasets of records; ``TFRecordDataset`` by default.
        label_key: A feature that is given apart, as the second part of each element.
        reader_args: More arguments of `reader`.
        num_epochs: How often to go through the files; without end by default.
        shuffle: Whether to shuffle the records.
        shuffle_buffer_size: From how many records the next one is drawn.
        shuffle_seed: A seed for that.
        prefetch_buffer_size: How many batches to make ahead.
        reader_num_threads: How many files to read at a time.
        parser_num_threads: How many batches to parse at a time.
        sloppy_ordering: Accepted for TensorFlow's programs.
        drop_final_batch: Whether to leave out the last batch if it is smaller.
    """
    from situs._src.data.dataset import TFRecordDataset
    from situs._src.ragged.parsing import parse_example

    files = _matching(file_pattern)
    read = TFRecordDataset if reader is None else reader
    sources = Dataset.from_tensor_slices(constant(files, dt.string))
    if shuffle:
        sources = sources.shuffle(len(files), shuffle_seed)
    records: Any = sources.interleave(
        lambda file: read(file, *(reader_args or [])), cycle_length=reader_num_threads or 1
    )
    if shuffle:
        records = records.shuffle(shuffle_buffer_size, shuffle_seed)
    batches = records.repeat(num_epochs).batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)

    def parsed(batch: Any) -> Any:
        found = dict(parse_example(batch, features))
        if label_key is None:
            return found
        if label_key not in found:
            raise ArgumentError(f"The `label_key` provided ({label_key!r}) must be one of the `features` keys.")
        return found, found.pop(label_key)

    return batches.map(parsed, num_parallel_calls=parser_num_threads).prefetch(prefetch_buffer_size or 1)
