"""The hash of `tf.strings.to_hash_bucket_fast`, with figures of TensorFlow 2.21."""

from __future__ import annotations

import pytest

import situs as tf
from situs._src.ops.farmhash import fingerprint64

TEXT = bytes((7 * number) % 251 for number in range(300))
BUCKETS = {
    0: 1936946117179621455,
    1: 4494688008148699988,
    3: 3225035365289182248,
    4: 365121004050576997,
    7: 1123016345076934235,
    8: 2037891737372276647,
    16: 4301628150755241371,
    17: 2691913911681613940,
    32: 764915578794662492,
    33: 4270527518038761543,
    64: 4389904345543036661,
    65: 3017696507073527804,
    128: 651049388705982093,
    129: 2290906597760139249,
    200: 1276147053939082597,
    300: 1987667210937437789,
}


@pytest.mark.parametrize(("size", "bucket"), BUCKETS.items())
def test_fingerprints(size: int, bucket: int) -> None:
    assert fingerprint64(TEXT[:size]) % 2**62 == bucket


def test_buckets() -> None:
    assert tf.strings.to_hash_bucket_fast(["Hello", "TensorFlow", "2.x"], 3).numpy().tolist() == [0, 2, 2]
    assert tf.strings.to_hash_bucket_fast(tf.zeros([2, 0], tf.string), 3).shape.as_list() == [2, 0]
    with pytest.raises(ValueError, match="less than minimum 1"):
        tf.strings.to_hash_bucket_fast(["a"], 0)
    with pytest.raises(TypeError, match="string"):
        tf.strings.to_hash_bucket_fast([1], 3)
