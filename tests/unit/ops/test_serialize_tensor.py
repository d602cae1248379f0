"""Tensors as strings: the bytes are those that TensorFlow 2.21 wrote."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf

RECORDED = [
    (tf.constant([1, 2], tf.int8), b'\x08\x06\x12\x04\x12\x02\x08\x02"\x02\x01\x02'),
    (tf.constant(True), b'\x08\n\x12\x00"\x01\x01'),
    (tf.constant(["a", "bc"]), b"\x08\x07\x12\x04\x12\x02\x08\x02B\x01aB\x02bc"),
    (tf.constant([[0.5]]), b'\x08\x01\x12\x08\x12\x02\x08\x01\x12\x02\x08\x01"\x04\x00\x00\x00?'),
]


@pytest.mark.parametrize(("tensor", "text"), RECORDED)
def test_bytes_are_tensorflows(tensor: tf.Tensor, text: bytes) -> None:
    assert tf.io.serialize_tensor(tensor).numpy() == text
    np.testing.assert_array_equal(tf.io.parse_tensor(text, tensor.dtype).numpy(), tensor.numpy())


@pytest.mark.parametrize("dtype", [tf.bfloat16, tf.float16, tf.complex64, tf.uint16, tf.int64, tf.float64])
def test_values_come_back(dtype: tf.DType) -> None:
    tensor = tf.cast(tf.reshape(tf.range(6), [2, 3]), dtype)
    np.testing.assert_array_equal(tf.io.parse_tensor(tf.io.serialize_tensor(tensor), dtype).numpy(), tensor.numpy())


def test_empty_tensors_keep_their_shape() -> None:
    assert tf.io.parse_tensor(tf.io.serialize_tensor(tf.zeros([0, 3])), tf.float32).shape == [0, 3]


def test_in_functions_and_datasets() -> None:
    again = tf.function(lambda x: tf.io.parse_tensor(tf.io.serialize_tensor(x), tf.int64))
    assert again(tf.constant([3], tf.int64)).numpy().tolist() == [3]
    texts = tf.data.Dataset.range(3).map(tf.io.serialize_tensor)
    assert [int(tf.io.parse_tensor(text, tf.int64)) for text in texts] == [0, 1, 2]


def test_what_is_no_tensor_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse"):
        tf.io.parse_tensor(b"\xff\xff", tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Type mismatch"):
        tf.io.parse_tensor(tf.io.serialize_tensor(1.0), tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="scalar"):
        tf.io.parse_tensor([tf.io.serialize_tensor(1)], tf.int32)
