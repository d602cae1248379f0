"""SipHash-2-4 of bytes: a hash by a key of 128 bits, after Aumasson and Bernstein (2012)."""

from __future__ import annotations

import struct

_MASK = 2**64 - 1


def siphash(data: bytes, low: int, high: int) -> int:
    """The hash of some bytes by the two halves of a key, as an unsigned integer of 64 bits.

    Example:
        >>> f"{siphash(bytes(range(15)), 0x0706050403020100, 0x0F0E0D0C0B0A0908):x}"
        'a129ca6149be45e5'
    """
    low, high = low & _MASK, high & _MASK
    a, b = low ^ 0x736F6D6570736575, high ^ 0x646F72616E646F6D
    c, d = low ^ 0x6C7967656E657261, high ^ 0x7465646279746573
    whole = len(data) // 8 * 8
    last = int.from_bytes(data[whole:], "little") | (len(data) & 0xFF) << 56
    for word in (*struct.unpack(f"<{whole // 8}Q", data[:whole]), last):
        d ^= word
        a, b, c, d = _round(*_round(a, b, c, d))
        a ^= word
    c ^= 0xFF
    for _ in range(4):
        a, b, c, d = _round(a, b, c, d)
    return a ^ b ^ c ^ d


def _round(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    a = (a + b) & _MASK
    c = (c + d) & _MASK
    b = _turned(b, 13) ^ a
    d = _turned(d, 16) ^ c
    a = _turned(a, 32)
    c = (c + b) & _MASK
    a = (a + d) & _MASK
    b = _turned(b, 17) ^ c
    d = _turned(d, 21) ^ a
    return a, b, _turned(c, 32), d


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> 64 - bits) & _MASK
