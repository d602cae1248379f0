"""MurmurHash64A of bytes, after Appleby: the hash of ``tf.strings.to_hash_bucket``."""

from __future__ import annotations

import struct

_MASK = 2**64 - 1
_FACTOR = 0xC6A4A7935BD1E995
_SEED = 0xDECAFCAFFE


def murmur64(data: bytes) -> int:
    """The hash of some bytes, as an unsigned integer of 64 bits.

    Example:
        >>> murmur64(b"a") % 100
        68
    """
    made = _SEED ^ (len(data) * _FACTOR & _MASK)
    whole = len(data) // 8 * 8
    for word in struct.unpack(f"<{whole // 8}Q", data[:whole]):
        made = (made ^ _mixed(word * _FACTOR & _MASK) * _FACTOR & _MASK) * _FACTOR & _MASK
    if whole < len(data):
        made = (made ^ int.from_bytes(data[whole:], "little")) * _FACTOR & _MASK
    return _mixed(_mixed(made) * _FACTOR & _MASK)


def _mixed(value: int) -> int:
    return value ^ value >> 47
