"""FarmHash's 64-bit fingerprint of bytes: the same on every machine, and in every release.

>>> fingerprint64(b"")
11160318154034397263
"""

from __future__ import annotations

_MASK = 2**64 - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def fingerprint64(text: bytes) -> int:
    """The fingerprint of some bytes."""
    size = len(text)
    if size <= 16:
        return _up_to_16(text, size)
    if size <= 32:
        return _up_to_32(text, size)
    return _up_to_64(text, size) if size <= 64 else _long(text, size)


def _word(text: bytes, at: int) -> int:
    return int.from_bytes(text[at : at + 8], "little")


def _rotated(value: int, by: int) -> int:
    value &= _MASK
    return (value >> by) | ((value << (64 - by)) & _MASK)


def _mixed(value: int) -> int:
    value &= _MASK
    return value ^ (value >> 47)


def _pair(u: int, v: int, factor: int) -> int:
    a = _mixed(((u ^ v) & _MASK) * factor)
    b = _mixed(((v ^ a) & _MASK) * factor)
    return (b * factor) & _MASK


def _up_to_16(text: bytes, size: int) -> int:
    factor = _K2 + size * 2
    if size >= 8:
        a, b = _word(text, 0) + _K2, _word(text, size - 8)
        return _pair(_rotated(b, 37) * factor + a, (_rotated(a, 25) + b) * factor, factor)
    if size >= 4:
        first, last = int.from_bytes(text[:4], "little"), int.from_bytes(text[size - 4 :], "little")
        return _pair(size + (first << 3), last, factor)
    if size:
        y = text[0] + (text[size >> 1] << 8)
        z = size + (text[size - 1] << 2)
        return (_mixed(((y * _K2) ^ (z * _K0)) & _MASK) * _K2) & _MASK
    return _K2


def _up_to_32(text: bytes, size: int) -> int:
    factor = _K2 + size * 2
    a, b = _word(text, 0) * _K1, _word(text, 8)
    c, d = _word(text, size - 8) * factor, _word(text, size - 16) * _K2
    return _pair(_rotated(a + b, 43) + _rotated(c, 30) + d, a + _rotated(b + _K2, 18) + c, factor)


def _up_to_64(text: bytes, size: int) -> int:
    factor = _K2 + size * 2
    a, b = _word(text, 0) * _K2, _word(text, 8)
    c, d = _word(text, size - 8) * factor, _word(text, size - 16) * _K2
    y = (_rotated(a + b, 43) + _rotated(c, 30) + d) & _MASK
    z = _pair(y, a + _rotated(b + _K2, 18) + c, factor)
    e, f = _word(text, 16) * factor, _word(text, 24)
    g, h = (y + _word(text, size - 32)) * factor, (z + _word(text, size - 24)) * factor
    return _pair(_rotated(e + f, 43) + _rotated(g, 30) + h, e + _rotated(f + a, 18) + g, factor)


def _weak(text: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """Four words of text with two others."""
    w, x, y, z = (_word(text, at + 8 * number) for number in range(4))
    a += w
    b = _rotated(b + a + z, 21)
    c = a
    a += x + y
    b += _rotated(a, 44)
    return (a + z) & _MASK, (b + c) & _MASK


def _long(text: bytes, size: int) -> int:
    seed = 81
    y = (seed * _K1 + 113) & _MASK
    z = (_mixed(y * _K2 + 113) * _K2) & _MASK
    x = (seed * _K2 + _word(text, 0)) & _MASK
    v, w = (0, 0), (0, 0)
    end = (size - 1) // 64 * 64
    for at in range(0, end, 64):
        x, y, z, v, w = _round(text, at, x, y, z, v, w, _K1, 1)
    factor = _K1 + ((z & 0xFF) << 1)
    first = (w[0] + ((size - 1) & 63)) & _MASK
    v = ((v[0] + first) & _MASK, v[1])
    w = ((first + v[0]) & _MASK, w[1])
    x, y, z, v, w = _round(text, end + ((size - 1) & 63) - 63, x, y, z, v, w, factor, 9)
    left = _pair(v[0], w[0], factor) + _mixed(y) * _K0 + z
    return _pair(left & _MASK, (_pair(v[1], w[1], factor) + x) & _MASK, factor)


def _round(
    text: bytes, at: int, x: int, y: int, z: int, v: tuple[int, int], w: tuple[int, int], factor: int, times: int
) -> tuple[int, int, int, tuple[int, int], tuple[int, int]]:
    x = (_rotated(x + y + v[0] + _word(text, at + 8), 37) * factor) & _MASK
    y = (_rotated(y + v[1] + _word(text, at + 48), 42) * factor) & _MASK
    x ^= (w[1] * times) & _MASK
    y = (y + v[0] * times + _word(text, at + 40)) & _MASK
    z = (_rotated(z + w[0], 33) * factor) & _MASK
    v = _weak(text, at, v[1] * factor, x + w[0])
    w = _weak(text, at + 32, z + w[1], y + _word(text, at + 16))
    return z, y, x, v, w
