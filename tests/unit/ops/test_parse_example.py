"""Parsing records, and bytes as numbers. The figures and messages are TensorFlow 2.21's."""

from __future__ import annotations

import base64

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from situs._src.base.proto.example import BytesList, Example, Feature, Features, FloatList, Int64List

RECORD = base64.b64decode(
    "CkQKFAoBYRIPGg0KCwH+//////////8BCgUKAWUSAAoVCgFmEhASDgoMAAAAPwAAwD8AACBACg4KAXMSCQoHCgF4CgJ5eg=="
)
F = tf.io.FixedLenFeature
ALL = {"a": F([2], tf.int64), "f": F([3, 1], tf.float32), "s": F([2], tf.string)}
VALUES = {"a": [1, -2], "f": [[0.5], [1.5], [2.5]], "s": [b"x", b"yz"]}


def as_lists(made):
    """Tensors or arrays as Python has them."""
    return {key: np.asarray(value).tolist() for key, value in made.items()}


def test_one_record():
    made = tf.io.parse_single_example(RECORD, ALL)
    assert as_lists(made) == VALUES
    assert {key: value.dtype for key, value in made.items()} == {"a": tf.int64, "f": tf.float32, "s": tf.string}


def test_a_batch_of_records():
    made = tf.io.parse_example([RECORD, RECORD], ALL)
    assert as_lists(made) == {key: [value, value] for key, value in VALUES.items()}
    assert as_lists(tf.io.parse_example(RECORD, ALL)) == VALUES
    empty = tf.io.parse_example(tf.constant([], tf.string), ALL)
    assert {key: value.shape.as_list() for key, value in empty.items()} == {"a": [0, 2], "f": [0, 3, 1], "s": [0, 2]}


def test_keys_may_be_bytes():
    made = tf.io.parse_single_example(RECORD, {b"a": ALL["a"], "f": ALL["f"]})
    assert as_lists(made) == {b"a": VALUES["a"], "f": VALUES["f"]}


def test_default_values():
    features = {
        "q": F([], tf.int64, 7),
        "r": F([2], tf.float32, [1, 2]),
        "z": F([], tf.string, "d"),
        "e": F([], tf.int64, 3),
    }
    assert as_lists(tf.io.parse_single_example(RECORD, features)) == {"q": 7, "r": [1, 2], "z": b"d", "e": 3}
    batch = tf.io.parse_example([RECORD, b""], {"a": F([2], tf.int64, [8, 9])})
    assert as_lists(batch) == {"a": [[1, -2], [8, 9]]}


def test_in_a_session():
    with v1.Graph().as_default(), v1.Session() as session:
        record, records = v1.placeholder(tf.string, []), v1.placeholder(tf.string, [None])
        features = {"a": v1.io.FixedLenFeature([2], tf.int64), "d": v1.io.FixedLenFeature([], tf.float32, 1.5)}
        one = v1.io.parse_single_example(record, features)
        many = v1.io.parse_example(records, features)
        assert (one["a"].shape, many["a"].shape.as_list(), many["d"].shape.as_list()) == ([2], [None, 2], [None])
        found = session.run([one, many], {record: RECORD, records: [RECORD] * 3})
    assert as_lists(found[0]) == {"a": [1, -2], "d": 1.5}
    assert as_lists(found[1]) == {"a": [[1, -2]] * 3, "d": [1.5] * 3}


def test_in_a_function_and_in_a_dataset(tmp_path):
    path = str(tmp_path / "data.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for number in range(5):
            feature = {
                "label": Feature(int64_list=Int64List(value=[number])),
                "image": Feature(bytes_list=BytesList(value=[bytes([number] * 4)])),
                "scale": Feature(float_list=FloatList(value=[number / 2])),
            }
            writer.write(Example(features=Features(feature=feature)).SerializeToString())

    def parse(record):
        features = {"label": F([], tf.int64), "image": F([], tf.string), "scale": F([1], tf.float32)}
        made = tf.io.parse_single_example(record, features)
        pixels = tf.reshape(tf.io.decode_raw(made["image"], tf.uint8), [2, 2])
        return tf.cast(pixels, tf.float32) * made["scale"], made["label"]

    dataset = tf.data.TFRecordDataset(path).map(parse, num_parallel_calls=2).batch(5)
    images, labels = next(iter(dataset))
    assert labels.numpy().tolist() == [0, 1, 2, 3, 4]
    assert images.numpy()[:, 0, 0].tolist() == [0.0, 0.5, 2.0, 4.5, 8.0]
    assert tf.function(lambda record: parse(record)[1])(tf.constant(RECORD_OF_SEVEN)).numpy() == 7


RECORD_OF_SEVEN = Example(
    features=Features(
        feature={
            "label": Feature(int64_list=Int64List(value=[7])),
            "image": Feature(bytes_list=BytesList(value=[b"abcd"])),
            "scale": Feature(float_list=FloatList(value=[1.0])),
        }
    )
).SerializeToString()

WRONG = [
    (RECORD, {"q": F([], tf.int64)}, r"Feature: q \(data type: int64\) is required but could not be found"),
    (b"", {"a": F([2], tf.int64)}, r"Feature: a \(data type: int64\) is required"),
    (RECORD, {"e": F([], tf.int64)}, "Feature: e .* is required"),
    (RECORD, {"a": F([2], tf.float32)}, "Key: a.  Data types don't match. Data type: int64 but expected type: float"),
    (RECORD, {"a": F([3], tf.int64)}, r"Number of int64 values != expected.  Values size: 2 but output shape: \[3\]"),
    (RECORD, {"a": F([], tf.int64)}, "Values size: 2"),
    (b"hello", ALL, "Could not parse example input"),
    (b"\xff\xff\xff", ALL, "Could not parse example input"),
    (RECORD[:-3], ALL, "Could not parse example input"),
]


@pytest.mark.parametrize(("record", "features", "message"), WRONG)
def test_records_that_do_not_fit(record, features, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.io.parse_single_example(record, features)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.io.parse_example([record], features)


@pytest.mark.parametrize(
    ("features", "error", "message"),
    [
        ({}, ValueError, "features cannot be empty"),
        (None, ValueError, "features cannot be None"),
        (np.zeros(2), ValueError, "features cannot be array"),
        ({"a": F([2], tf.int64), 1: F([], tf.int64)}, TypeError, "The key of a feature is a string, got 1"),
        ({"a": 3}, ValueError, "Unsupported int 3 for key 'a'"),
        ({"a": F([None], tf.int64)}, ValueError, "not known"),
        ({"a": F([2], tf.int32)}, TypeError, "int64, float and string"),
        ({"a": F([2], tf.float32, [1, 2, 3])}, ValueError, "3 values"),
    ],
)
def test_features_that_cannot_be(features, error, message):
    expected = tf.errors.UnimplementedError if error is NotImplementedError else error
    with pytest.raises(expected, match=message):
        tf.io.parse_single_example(RECORD, features)


def test_one_record_is_a_scalar():
    with pytest.raises(ValueError, match="must be a scalar"):
        tf.io.parse_single_example([RECORD, RECORD], ALL)
    with pytest.raises(ValueError, match="scalar or a vector"):
        tf.io.parse_example([[RECORD]], ALL)


# Bytes as numbers.


@pytest.mark.parametrize(
    ("data", "dtype", "ways", "expected"),
    [
        (b"\x01\x02\x03\x04", tf.uint8, {}, [1, 2, 3, 4]),
        (b"\x01\x02\x03\x04", tf.int16, {}, [513, 1027]),
        (b"\x01\x02\x03\x04", tf.int16, {"little_endian": False}, [258, 772]),
        (np.float32([1, 2]).tobytes(), tf.float32, {}, [1.0, 2.0]),
        (np.array([1 + 2j], ">c8").tobytes(), tf.complex64, {"little_endian": False}, [1 + 2j]),
        (np.float16([1, 2]).tobytes(), tf.float16, {}, [1.0, 2.0]),
        (b"\x80\x3f", tf.bfloat16, {}, [1.0]),
        ([[b"\x01\x02"], [b"\x03\x04"]], tf.uint8, {}, [[[1, 2]], [[3, 4]]]),
        (b"", tf.uint8, {}, []),
        (b"\x01\x00\x02", tf.bool, {}, [True, False, True]),
        ([b"\x01\x02\x03", b"\x04"], tf.uint8, {"fixed_length": 2}, [[1, 2], [4, 0]]),
        (b"\xff\xff", tf.uint16, {}, [65535]),
    ],
)
def test_decode_raw(data, dtype, ways, expected):
    made = tf.io.decode_raw(data, dtype, **ways)
    assert made.dtype == dtype
    assert made.numpy().tolist() == expected


@pytest.mark.parametrize(
    ("data", "dtype", "ways", "message"),
    [
        (b"\x01\x02\x03", tf.int16, {}, "has length 3 that is not a multiple of 2, the size of int16"),
        ([b"\x01\x02", b"\x03"], tf.uint8, {}, "element 1 has size 2 != 1"),
        (b"\x01\x02", tf.int16, {"fixed_length": 3}, "fixed_length"),
        (b"\x01\x02", tf.int16, {"fixed_length": 0}, "fixed_length"),
    ],
)
def test_bytes_that_are_no_numbers(data, dtype, ways, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.io.decode_raw(data, dtype, **ways)


def test_there_are_no_strings_in_bytes():
    with pytest.raises((TypeError, ValueError)):
        tf.io.decode_raw(b"ab", tf.string)


def test_decode_raw_in_a_session():
    with v1.Graph().as_default(), v1.Session() as session:
        data = v1.placeholder(tf.string, [None])
        made = v1.io.decode_raw(bytes=data, out_type=tf.uint8)
        assert made.shape.as_list() == [None, None]
        assert session.run(made, {data: [b"ab", b"cd"]}).tolist() == [[97, 98], [99, 100]]
