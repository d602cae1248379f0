"""The hash of `tf.strings.to_hash_bucket`, with figures of TensorFlow 2.21."""

from __future__ import annotations

import pytest

import situs as tf
import situs.compat.v1 as v1
from situs.errors import InvalidArgumentError

BUCKETS = {
    b"": 598820,
    b"a": 789371,
    b"ab": 280251,
    b"abc": 979194,
    b"abcd": 813845,
    b"abcde": 451772,
    b"abcdef": 584855,
    b"abcdefg": 784299,
    b"abcdefgh": 41559,
    b"Hello World": 685923,
    b"x" * 40: 862193,
    "\u00e9".encode(): 164913,
    b"\xff\xfe\x80abc": 776174,
}


def test_buckets_are_tensorflows():
    words, wanted = tf.constant(list(BUCKETS)), list(BUCKETS.values())
    assert tf.strings.to_hash_bucket(words, 1000003).numpy().tolist() == wanted
    assert tf.function(lambda x: tf.strings.to_hash_bucket(x, 1000003))(words).numpy().tolist() == wanted
    assert int(tf.strings.to_hash_bucket("a", num_buckets=2**62)) == 2996632905371535868


def test_shapes_and_rows():
    assert tf.strings.to_hash_bucket(tf.zeros([2, 0], tf.string), 5).shape == [2, 0]
    rows = tf.strings.to_hash_bucket(tf.ragged.constant([["a"], ["b", "c"]]), 10)
    assert rows.to_list() == [[8], [0, 7]]


def test_in_a_session():
    with v1.Graph().as_default(), v1.Session() as session:
        assert session.run(v1.string_to_hash_bucket(string_tensor=["a"], num_buckets=5)).tolist() == [3]
        assert session.run(v1.strings.to_hash_bucket(input=["a"], num_buckets=5)).tolist() == [3]


def test_there_is_a_bucket():
    with pytest.raises(InvalidArgumentError, match=r"num_buckets.* 0 less than minimum 1"):
        tf.strings.to_hash_bucket(["a"], 0)
