"""``tf.train.Example``. The bytes are TensorFlow 2.21's."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base.proto.example import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)

RECORD = base64.b64decode(
    "CkQKFAoBYRIPGg0KCwH+//////////8BCgUKAWUSAAoVCgFmEhASDgoMAAAAPwAAwD8AACBACg4KAXMSCQoHCgF4CgJ5eg=="
)


def example() -> Example:
    """What TensorFlow made the record of."""
    feature = {
        "a": Feature(int64_list=Int64List(value=[1, -2])),
        "f": Feature(float_list=FloatList(value=[0.5, 1.5, 2.5])),
        "s": Feature(bytes_list=BytesList(value=[b"x", b"yz"])),
        "e": Feature(),
    }
    return Example(features=Features(feature=feature))


def test_the_bytes_are_tensorflows():
    assert example().SerializeToString(deterministic=True) == RECORD
    assert Example.FromString(RECORD) == example()


def test_reading_a_record():
    read = Example()
    assert read.ParseFromString(RECORD) == len(RECORD)
    assert list(read.features.feature["a"].int64_list.value) == [1, -2]
    assert read.features.feature["s"].bytes_list.value[1] == b"yz"
    assert read.features.feature["f"].WhichOneof("kind") == "float_list"
    assert read.features.feature["e"].WhichOneof("kind") is None


def test_printing():
    made = Example(features=Features(feature={"s": Feature(bytes_list=BytesList(value=[b"x"]))}))
    assert str(made).split()[:6] == ["features", "{", "feature", "{", "key:", '"s"']


def test_sequences():
    steps = FeatureList(feature=[Feature(int64_list=Int64List(value=[n])) for n in (3, 4)])
    made = SequenceExample(feature_lists=FeatureLists(feature_list={"t": steps}))
    assert SequenceExample.FromString(made.SerializeToString()) == made


int64s = st.integers(-(2**63), 2**63 - 1)
features = st.one_of(
    st.lists(int64s).map(lambda v: Feature(int64_list=Int64List(value=v))),
    st.lists(st.floats(width=32, allow_nan=False)).map(lambda v: Feature(float_list=FloatList(value=v))),
    st.lists(st.binary(max_size=9)).map(lambda v: Feature(bytes_list=BytesList(value=v))),
)


@given(st.dictionaries(st.text(max_size=4), features, max_size=4))
def test_what_is_written_is_read(feature):
    made = Example(features=Features(feature=feature))
    data = made.SerializeToString()
    assert Example.FromString(data) == made


@pytest.mark.parametrize("length", range(1, len(RECORD)))
def test_a_record_that_was_cut_off_is_refused(length):
    with pytest.raises(DecodeError):
        Example.FromString(RECORD[:length])


def test_lists_of_single_values_are_read_too():
    """Older writers give a tag to each number."""
    ints = b"\x1a\x04\x08\x05\x08\x07"
    floats = b"\x12\x05\x0d" + np.float32(2.5).tobytes()
    for body, expected in ((ints, [5, 7]), (floats, [2.5])):
        entry = b"\x0a\x01k\x12" + bytes([len(body)]) + body
        features = b"\x0a" + bytes([len(entry)]) + entry
        data = b"\x0a" + bytes([len(features)]) + features
        read = Example.FromString(data).features.feature["k"]
        assert list(getattr(read, read.WhichOneof("kind")).value) == expected
