"""Sparse and ragged tensors: classes to ask ``isinstance`` of. There are none yet: they refuse to be made."""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import UnimplementedError
from situs._src.base.export import export


class _Absent:
    """A class of TensorFlow's that has no objects here."""

    _instead = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise UnimplementedError(f"Situs has no tf.{type(self).__name__} yet: {self._instead}")


@export("SparseTensor")
class SparseTensor(_Absent):
    """A tensor given by the elements that are not zero."""

    _instead = "use a dense tensor, or tf.IndexedSlices for some rows of one."


@export("RaggedTensor")
class RaggedTensor(_Absent):
    """A tensor whose rows have different lengths."""

    _instead = "pad the rows to one length, for instance with tf.data.Dataset.padded_batch."


@export("SparseTensorSpec")
class SparseTensorSpec(_Absent):
    """The kind of a `SparseTensor`."""

    _instead = SparseTensor._instead


@export("RaggedTensorSpec")
class RaggedTensorSpec(_Absent):
    """The kind of a `RaggedTensor`."""

    _instead = RaggedTensor._instead
