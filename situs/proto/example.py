"""``tf.train.Example``: a record of named lists, as TFRecord files hold them.

    Example(features=Features(feature={"label": Feature(int64_list=Int64List(value=[3]))}))

Their bytes are those of TensorFlow: what either writes, the other reads.
"""

from __future__ import annotations

from typing import Any

from situs.proto.field import MessageMapField, Nested, RepeatedNested, RepeatedScalar
from situs.proto.kind import BYTES, FLOAT, INT64, STRING
from situs.proto.wire import FIXED32, LENGTH, VARINT, WireError, WireMessage, fields, text_of, varints


class BytesList(WireMessage):
    """Any number of strings of bytes."""

    value = RepeatedScalar(1, BYTES)


class FloatList(WireMessage):
    """Any number of floats."""

    value = RepeatedScalar(1, FLOAT)


class Int64List(WireMessage):
    """Any number of integers."""

    value = RepeatedScalar(1, INT64)


class Feature(WireMessage):
    """One of the three lists."""

    bytes_list = Nested(1, BytesList, oneof="kind")
    float_list = Nested(2, FloatList, oneof="kind")
    int64_list = Nested(3, Int64List, oneof="kind")


class Features(WireMessage):
    """Lists by name."""

    feature = MessageMapField(1, STRING, Feature)


class Example(WireMessage):
    """A record."""

    features = Nested(1, Features)


class FeatureList(WireMessage):
    """Any number of lists, such as one for each step of a sequence."""

    feature = RepeatedNested(1, Feature)


class FeatureLists(WireMessage):
    """Lists of lists by name."""

    feature_list = MessageMapField(1, STRING, FeatureList)


class SequenceExample(WireMessage):
    """A record with sequences in it."""

    context = Nested(1, Features)
    feature_lists = Nested(2, FeatureLists)


# Without messages: a record is read a few times as quickly.

BYTES_LIST, FLOAT_LIST, INT64_LIST = 1, 2, 3


def lists_in(data: bytes) -> dict[str, tuple[int, list[Any]]]:
    """The lists of an ``Example`` by name: which of the three, and the values of its fields as they are spelled.

    Raises:
        WireError: this is no ``Example``.
    """
    found: dict[str, tuple[int, list[Any]]] = {}
    for features in _messages(data, 1):
        for entry in _messages(features, 1):
            key, feature = "", b""
            for number, kind, value in fields(entry):
                _expect(kind)
                if number == 1:
                    key = text_of(value)
                elif number == 2:
                    feature = value
            found[key] = _list_in(feature)
    return found


def _messages(data: bytes, wanted: int) -> list[bytes]:
    found = []
    for number, kind, value in fields(data):
        if number == wanted:
            _expect(kind)
            found.append(value)
    return found


def _expect(kind: int) -> None:
    if kind != LENGTH:
        raise WireError(f"a message is not spelled in kind {kind}")


def _list_in(feature: bytes) -> tuple[int, list[Any]]:
    which, content = 0, b""
    for number, kind, value in fields(feature):
        if number in (BYTES_LIST, FLOAT_LIST, INT64_LIST):
            _expect(kind)
            content = content + value if number == which else value  # the same list twice is one, else the last counts
            which = number
    return which, [_spelled(which, kind, value) for number, kind, value in fields(content) if number == 1]


_SPELLINGS = {BYTES_LIST: (LENGTH,), FLOAT_LIST: (LENGTH, FIXED32), INT64_LIST: (LENGTH, VARINT)}


def _spelled(which: int, kind: int, value: Any) -> Any:
    """A string; bytes of floats; an array of integers."""
    if kind not in _SPELLINGS.get(which, ()):
        raise WireError(f"a list has values of kind {kind}")
    if which == FLOAT_LIST and len(value) % 4:
        raise WireError(f"{len(value)} bytes are no list of floats")
    if which != INT64_LIST:
        return value
    return varints(value) if kind == LENGTH else [value if value < 2**63 else value - 2**64]
