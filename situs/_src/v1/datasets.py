"""``tf.compat.v1.data``: datasets in TensorFlow 1's dialect.

    dataset = tf.data.Dataset.from_tensor_slices(x).batch(2)
    iterator = tf.data.make_one_shot_iterator(dataset)        or dataset.make_one_shot_iterator()

These are the same datasets. Their methods build into the default graph, unless execution is eager: functions are traced
inside it, and may use its placeholders and variables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import FunctionType
from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.errors import DTypeError
from situs._src.base.export import export
from situs._src.base.typing import ArrayLike, IntLike
from situs._src.data import graph_iterator
from situs._src.data.base import DatasetV2, node_of
from situs._src.data.dataset import Dataset
from situs._src.data.fixed_length import slices_of
from situs._src.data.graph_iterator import Iterator as Iterator
from situs._src.data.graph_iterator import classes_of, dtypes_of, shapes_of
from situs._src.data.iterator import IteratorBase, OwnedIterator
from situs._src.data.records import records_of
from situs._src.data.text import lines_of, reading
from situs._src.ir.graph.context import get_default_graph
from situs._src.ops.inner import building
from situs._src.ops.seeds import known_seeds
from situs._src.variables.symbolic import makes_graph_variables


def _in_default_graph() -> AbstractContextManager[Any]:
    """A context in which the default graph is being built, unless another one is, or ops run at once."""
    return building(get_default_graph()) if here.graph is None and makes_graph_variables() else nullcontext()


def _through(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        with _in_default_graph():
            return method(*args, **kwargs)

    return call


def _built_in_graphs(cls: type) -> type:
    """Lets the methods that a class inherits build into the default graph."""
    for base in cls.__mro__[1:]:
        for name, value in list(vars(base).items()):
            if name.startswith("_") or not issubclass(base, DatasetV2) or name in vars(cls):
                continue
            if isinstance(value, classmethod):
                setattr(cls, name, classmethod(_through(value.__func__)))
            elif isinstance(value, FunctionType):
                setattr(cls, name, _through(value))
    return cls


@export(v1="data.Dataset")
class DatasetV1(Dataset):
    """A dataset in TensorFlow 1's dialect."""

    @classmethod
    def _family(cls) -> type[DatasetV2]:
        return DatasetV1

    def make_one_shot_iterator(self) -> Any:
        """An iterator that begins by itself, once in every session."""
        return make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Any:
        """An iterator that begins when its initializer runs."""
        return make_initializable_iterator(self, shared_name)

    def map_with_legacy_function(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: IntLike | None = None,
        deterministic: bool | None = None,
        use_unbounded_threadpool: bool = False,
    ) -> DatasetV1:
        """The same as ``map``; `use_unbounded_threadpool` is accepted for TensorFlow's programs."""
        return self.map(map_func, num_parallel_calls, deterministic)

    def filter_with_legacy_function(self, predicate: Callable[..., Any]) -> DatasetV1:
        """The same as ``filter``."""
        return self.filter(predicate)

    @property
    def output_types(self) -> Any:
        """The dtypes of the elements, in their structure."""
        return dtypes_of(self._node.spec)

    @property
    def output_shapes(self) -> Any:
        """The shapes of the elements, in their structure."""
        return shapes_of(self._node.spec)

    @property
    def output_classes(self) -> Any:
        """The classes of the elements: tensors, in their structure."""
        return classes_of(self._node.spec)

    def __iter__(self) -> IteratorBase:
        with _in_default_graph():
            return super().__iter__()

    def as_numpy_iterator(self) -> Any:
        """The elements, with NumPy arrays instead of tensors; only where ops run at once."""
        with _in_default_graph():
            return super().as_numpy_iterator()


_built_in_graphs(DatasetV1)


@export(v1="data.TextLineDataset")
class TextLineDatasetV1(DatasetV1):
    """The lines of text files, as strings without the ends of the lines.

    Args:
        filenames: The name of a file, a list of names, or a dataset of names.
        compression_type: ``"GZIP"``, ``"ZLIB"`` or none.
        buffer_size: How many bytes to read at a time.
        num_parallel_reads: How many files to read at a time, line by line in turn; one after the other by default.
        name: Accepted for TensorFlow's programs.
    """

    def __init__(
        self,
        filenames: ArrayLike,
        compression_type: ArrayLike | None = None,
        buffer_size: IntLike | None = None,
        num_parallel_reads: IntLike | None = None,
        name: str | None = None,
    ) -> None:
        with _in_default_graph():
            reader = lines_of(compression_type, buffer_size)
            self._node = reading(filenames, reader, num_parallel_reads, "TextLineDataset")


@export(v1="data.TFRecordDataset")
class TFRecordDatasetV1(DatasetV1):
    """The records of TFRecord files, as strings.

    Args:
        filenames: The name of a file, a list of names, or a dataset of names.
        compression_type: ``"GZIP"``, ``"ZLIB"`` or none.
        buffer_size: Accepted for TensorFlow's programs.
        num_parallel_reads: How many files to read at a time, in turn; one after the other by default.
        name: Accepted for TensorFlow's programs.
    """

    def __init__(
        self,
        filenames: ArrayLike,
        compression_type: ArrayLike | None = None,
        buffer_size: IntLike | None = None,
        num_parallel_reads: IntLike | None = None,
        name: str | None = None,
    ) -> None:
        with _in_default_graph():
            self._node = reading(filenames, records_of(compression_type), num_parallel_reads, "TFRecordDataset")


@export(v1="data.FixedLengthRecordDataset")
class FixedLengthRecordDatasetV1(DatasetV1):
    """Records of one length from binary files, as strings, in the TensorFlow 1 dialect.

    Args:
        filenames: The name of a file, a list of names, or a dataset of names.
        record_bytes: How many bytes a record has.
        header_bytes: How many bytes to leave out at the beginning of each file.
        footer_bytes: How many bytes to leave out at the end.
        buffer_size: Accepted for TensorFlow's programs.
        compression_type: ``"GZIP"``, ``"ZLIB"`` or none.
        num_parallel_reads: How many files to read at a time, in turn; one after the other by default.
        name: Accepted for TensorFlow's programs.
    """

    def __init__(
        self,
        filenames: ArrayLike,
        record_bytes: Any,
        header_bytes: IntLike | None = None,
        footer_bytes: IntLike | None = None,
        buffer_size: IntLike | None = None,
        compression_type: ArrayLike | None = None,
        num_parallel_reads: IntLike | None = None,
        name: str | None = None,
    ) -> None:
        reader = slices_of(record_bytes, header_bytes, footer_bytes, compression_type)
        with _in_default_graph():
            self._node = reading(filenames, reader, num_parallel_reads, "FixedLengthRecordDataset")


@export(v1="data.make_one_shot_iterator")
def make_one_shot_iterator(dataset: Any) -> Any:
    """An iterator of a dataset that begins by itself, once in every session.

    Raises:
        ValueError: the dataset depends on a placeholder or a variable.
    """
    node = node_of(dataset, "make_one_shot_iterator()")
    with _in_default_graph():
        if here.graph is not None:
            known_seeds()  # TensorFlow counts it as a random operation
        return OwnedIterator(node, dataset._of) if here.graph is None else graph_iterator.one_shot(node, dataset._of)


@export(v1="data.make_initializable_iterator")
def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Iterator:
    """An iterator of a dataset that begins when its initializer runs.

    Args:
        dataset: The dataset; it may depend on placeholders and variables.
        shared_name: A name under which a session has only one such iterator.

    Raises:
        RuntimeError: ops run at once.
    """
    node = node_of(dataset, "make_initializable_iterator()")
    with _in_default_graph():
        if here.graph is None:
            raise EagerIteratorError(
                "make_initializable_iterator() is not supported in eager mode. Use Python-style iteration instead."
            )
        return graph_iterator.initializable(node, shared_name, dataset._of)


class EagerIteratorError(DTypeError, RuntimeError):
    """An iterator of graphs was asked for where ops run at once."""


@export(v1="data.get_output_types")
def get_legacy_output_types(dataset_or_iterator: Any) -> Any:
    """The dtypes of the elements of a dataset or iterator, in their structure."""
    return _spec_of(dataset_or_iterator, dtypes_of)


@export(v1="data.get_output_shapes")
def get_legacy_output_shapes(dataset_or_iterator: Any) -> Any:
    """The shapes of the elements of a dataset or iterator, in their structure."""
    return _spec_of(dataset_or_iterator, shapes_of)


@export(v1="data.get_output_classes")
def get_legacy_output_classes(dataset_or_iterator: Any) -> Any:
    """The classes of the elements of a dataset or iterator, in their structure."""
    return _spec_of(dataset_or_iterator, classes_of)


def _spec_of(dataset_or_iterator: Any, what: Callable[[Any], Any]) -> Any:
    if isinstance(dataset_or_iterator, DatasetV2):
        return what(dataset_or_iterator._node.spec)
    if isinstance(dataset_or_iterator, IteratorBase):
        return what(dataset_or_iterator._spec)
    raise DTypeError(f"Expected a tf.data.Dataset or an iterator of one, got {dataset_or_iterator!r}.")
