"""Messages in the wire format of protocol buffers (``tf.train.Example``), and raw numbers, damaged and read."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import situs as tf
from situs._src.base.devices.scope import build_into, here
from situs._src.base.proto.example import Example, SequenceExample
from situs._src.base.proto.formats import from_bytes
from tests.fuzz.case import Case, require
from tests.fuzz.mutation import mutated_bytes

DTYPES = ("float32", "int64", "uint8", "int16", "float64", "bool", "complex64", "bfloat16")


def _example() -> bytes:
    message = Example()
    message.features.feature["label"].int64_list.value.extend([3, -1, 2**62])
    message.features.feature["image"].bytes_list.value.extend([b"\0\xff", b"", b"abc" * 30])
    message.features.feature["weights"].float_list.value.extend([0.5, -1.25, 3e38])
    message.features.feature["empty"].float_list.SetInParent()
    return bytes(message.SerializeToString(deterministic=True))


def _sequence() -> bytes:
    message = SequenceExample()
    message.context.feature["length"].int64_list.value.append(2)
    for number in range(2):
        message.feature_lists.feature_list["rows"].feature.add().int64_list.value.append(number)
    return bytes(message.SerializeToString(deterministic=True))


def _features() -> dict[str, Any]:
    return {
        "label": tf.io.FixedLenFeature([3], tf.int64, [0, 0, 0]),
        "image": tf.io.FixedLenFeature([3], tf.string, ["", "", ""]),
        "weights": tf.io.FixedLenFeature([3], tf.float32, [0.0, 0.0, 0.0]),
    }


class Examples:
    """Cases of examples."""

    def __init__(self, folder: Path) -> None:
        self._seeds = [_example(), _sequence()]
        self._features = _features()

    def case(self, random: Random) -> Case:
        """Bytes of a message that are damaged, read as a message, as features or as numbers."""
        number = random.randrange(2)
        content = mutated_bytes(random, self._seeds[number], self._seeds)
        way = random.choice((self._message, self._message, self._parsed, self._parsed, self._raw))
        dtype = random.choice(DTYPES)
        return Case(
            f"{way.__name__} {content!a} {dtype}", lambda: way(content, (Example, SequenceExample)[number], dtype)
        )

    def _message(self, content: bytes, kind: Any, dtype: str) -> None:
        made = from_bytes(content, kind)
        again = made.SerializeToString(deterministic=True)
        read = kind.FromString(again)
        require(read.SerializeToString(deterministic=True) == again, "the bytes of a message are not the message")
        str(made)

    def _parsed(self, content: bytes, kind: Any, dtype: str) -> None:
        before = build_into(None, here.scope)
        try:
            made = tf.io.parse_single_example(content, self._features)
            require([tuple(made[key].shape) for key in self._features] == [(3,)] * 3, "the shapes that were asked for")
            tf.io.parse_example([content, content], self._features)
        finally:
            build_into(*before)

    def _raw(self, content: bytes, kind: Any, dtype: str) -> None:
        before = build_into(None, here.scope)
        try:
            made = tf.io.decode_raw(content, dtype)
            if dtype == "int16":
                require(np.array_equal(made.numpy(), np.frombuffer(content, "<i2")), "the numbers in the bytes")
        finally:
            build_into(*before)
