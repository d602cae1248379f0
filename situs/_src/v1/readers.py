"""Readers created in the default graph; see `data.readers`."""

from __future__ import annotations

from typing import Any

from situs._src.base.export import export
from situs._src.data import readers
from situs._src.data.readers import ReaderBase as ReaderBase
from situs._src.v1.frontend import call_through


class _InDefaultGraph:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        call_through(super().__init__, args, kwargs)


@export(v1="TextLineReader")
class TextLineReader(_InDefaultGraph, readers.TextLineReader):
    """Reads lines, without their ends."""


@export(v1="TFRecordReader")
class TFRecordReader(_InDefaultGraph, readers.TFRecordReader):
    """Reads the records of TFRecord files."""


@export(v1="FixedLengthRecordReader")
class FixedLengthRecordReader(_InDefaultGraph, readers.FixedLengthRecordReader):
    """Reads records of one length."""


@export(v1="WholeFileReader")
class WholeFileReader(_InDefaultGraph, readers.WholeFileReader):
    """Reads files, each as one record."""


@export(
    v1="IdentityReader",
    differs="serialize_state is an error: use tf.data, whose iterators can be saved.",
)
class IdentityReader(_InDefaultGraph, readers.IdentityReader):
    """Gives the names themselves, as keys and as values."""


export(v1="ReaderBase")(ReaderBase)
