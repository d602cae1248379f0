"""``tf.data.Dataset``: input pipelines.

    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).batch(32).prefetch(2)
    for features, labels in ds: ...

A dataset is a declarative description; iterating it runs it. Each family of methods is next to its nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.errors import StateError
from situs._src.base.export import export
from situs._src.base.tree import take_apart
from situs._src.base.typing import ArrayLike, IntLike
from situs._src.data.base import DatasetV2
from situs._src.data.composed import Composed
from situs._src.data.consuming import Consuming
from situs._src.data.element import Spec
from situs._src.data.fixed_length import slices_of
from situs._src.data.generator import Generating
from situs._src.data.iterator import FunctionIterator, IteratorBase, OwnedIterator
from situs._src.data.options import Optioned
from situs._src.data.records import records_of
from situs._src.data.saving import Saving
from situs._src.data.shuffling import Shuffling
from situs._src.data.text import Listing, lines_of, reading
from situs._src.ir.graph.function import outermost
from situs._src.runtime.eager.tensor import EagerTensor


@export(
    "data.Dataset",
    v1=(),
    differs="A SparseTensorValue in an element is an error: convert it with tf.SparseTensor.from_value(value). "
    "flat_map of a function whose Python if on a tensor returns one of two datasets is an error: use tf.where on the "
    "elements, or filter.",
)
class Dataset(
    Composed,
    Generating,
    Listing,
    Shuffling,
    Saving,
    Optioned,
    Consuming,
):
    """A sequence of elements, made when they are asked for.

    Example:
        >>> list(Dataset.range(10).filter(lambda x: x % 2 == 0).batch(3).as_numpy_iterator())
        [array([0, 2, 4]), array([6, 8])]
    """

    @classmethod
    def _family(cls) -> type[DatasetV2]:
        return Dataset

    def __iter__(self) -> IteratorBase:
        if here.graph is None:
            return OwnedIterator(self._node, self._of)
        if not outermost(here.graph).compares_elements:
            raise StateError(
                "`tf.data.Dataset` only supports Python-style iteration in eager mode or within tf.function. In a "
                "graph, use make_one_shot_iterator(dataset).get_next()."
            )
        return FunctionIterator.of(self._node, here.graph, self._of)

    def as_numpy_iterator(self) -> Iterator[Any]:
        """The elements, with NumPy arrays instead of tensors.

        Raises:
            RuntimeError: a graph is being built.
        """
        if here.graph is not None:
            raise StateError("as_numpy_iterator() is not supported while tracing functions or graphs")
        return NumpyIterator(OwnedIterator(self._node, self._of), self._node.spec)


class NumpyIterator(Iterator[Any]):
    """Elements with NumPy arrays instead of tensors."""

    def __init__(self, iterator: OwnedIterator, spec: Spec) -> None:
        self._iterator, self._spec = iterator, spec

    def __next__(self) -> Any:
        _, leaves = take_apart(next(self._iterator))
        return self._spec.pack([_leaf_as_numpy(leaf) for leaf in leaves])

    def next(self) -> Any:
        """The same as ``next(iterator)``."""
        return next(self)


def _leaf_as_numpy(leaf: Any) -> Any:
    return leaf.numpy() if isinstance(leaf, EagerTensor) else leaf.as_numpy_iterator()


@export(
    "data.TextLineDataset",
    v1=(),
    differs="A line that is longer than 1 GiB is a ResourceExhaustedError, unless SITUS_LONGEST_RECORD is set to "
    "more: what is compressed may stand for more than there is memory.",
)
class TextLineDataset(Dataset):
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
        reader = lines_of(compression_type, buffer_size)
        self._node = reading(filenames, reader, num_parallel_reads, "TextLineDataset")


@export(
    "data.TFRecordDataset",
    v1=(),
    differs="A record that is longer than 1 GiB is a ResourceExhaustedError, unless SITUS_LONGEST_RECORD is set "
    "to more: what is compressed may stand for more than there is memory.",
)
class TFRecordDataset(Dataset):
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
        self._node = reading(filenames, records_of(compression_type), num_parallel_reads, "TFRecordDataset")


@export("data.FixedLengthRecordDataset", v1=())
class FixedLengthRecordDataset(Dataset):
    """Records of one length from binary files, as strings.

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
        self._node = reading(filenames, reader, num_parallel_reads, "FixedLengthRecordDataset")
