"""``tf.strings.to_hash_bucket_fast``: the hashes are TensorFlow 2.21's, of strings of all lengths that differ."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs._src.ops.farmhash import fingerprint

COUNT = 2**62 + 1
TEXT = "The quick brown fox jumps over the lazy dog. " * 9
SHORT = {
    "": 1936946117179621453,
    "a": 3694432073954588129,
    "ab": 3066228220894225692,
    "abc": 2640714258260161385,
    "abcd": 1897425971756105985,
    "Hello": 1569640939275362436,
    "TensorFlow": 4265654129848386254,
    "0123456789abcdef": 1493332391325024358,
    "0123456789abcdefg": 2800675501336285768,
}
LONG = {
    24: 2090655887396268340,
    32: 3916272259504149088,
    33: 3629877152734163923,
    48: 2802621515246882112,
    64: 919341830274840734,
    65: 3719300126253718715,
    100: 2620204633922199343,
    127: 918917554820701832,
    128: 1937016712440144409,
    129: 4258610567929440975,
    200: 640913882323733241,
    256: 1404527261454035148,
    300: 3368820042289680846,
}
HASHES = SHORT | {TEXT[:size]: number for size, number in LONG.items()}


def test_hashes_of_tensorflow():
    assert {word: fingerprint(word.encode()) % COUNT for word in HASHES} == HASHES
    found = tf.strings.to_hash_bucket_fast([list(HASHES)], COUNT)
    assert found.dtype is tf.int64
    np.testing.assert_array_equal(found.numpy(), [list(HASHES.values())])


def test_in_functions():
    put = tf.function(lambda x: tf.strings.to_hash_bucket_fast(x, 3))
    assert put(["Hello", "TensorFlow", "2.x"]).numpy().tolist() == [0, 2, 2]
    assert tf.strings.to_hash_bucket_fast(tf.constant([], tf.string), 3).shape == (0,)


@pytest.mark.parametrize(
    ("error", "call", "words"),
    [
        (ValueError, lambda: tf.strings.to_hash_bucket_fast(["a"], 0), "num_buckets.* passed 0 less than minimum 1"),
        (TypeError, lambda: tf.strings.to_hash_bucket_fast(["a"], "3"), "num_buckets"),
        (TypeError, lambda: tf.strings.to_hash_bucket_fast([1], 3), "string"),
    ],
)
def test_bad_arguments(error, call, words):
    with pytest.raises(error, match=words):
        call()
