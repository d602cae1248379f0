"""FarmHash's Fingerprint64 of bytes: a hash that is the same on all machines, after Pike and Alakuijala (2014).

Strings of up to 16, 32 and 64 bytes have ways of their own; longer ones are taken 64 bytes at a time.
"""

from __future__ import annotations

_MASK = 2**64 - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_SEED = 81


def fingerprint(data: bytes) -> int:
    """The hash of some bytes, as an unsigned integer of 64 bits.

    Example:
        >>> f"{fingerprint(b''):x}"
        '9ae16a3b2f90404f'
    """
    size = len(data)
    if size <= 16:
        return _up_to_16(data, size)
    if size <= 32:
        return _up_to_32(data, size)
    return _up_to_64(data, size) if size <= 64 else _longer(data, size)


def _word(data: bytes, place: int) -> int:
    return int.from_bytes(data[place : place + 8], "little")


def _half(data: bytes, place: int) -> int:
    return int.from_bytes(data[place : place + 4], "little")


def _turned(value: int, bits: int) -> int:
    """The bits of a number turned to the right."""
    value &= _MASK
    return (value >> bits | value << (64 - bits)) & _MASK


def _mixed(value: int) -> int:
    value &= _MASK
    return value ^ value >> 47


def _of_two(first: int, second: int, factor: int) -> int:
    second &= _MASK
    once = _mixed(((first & _MASK) ^ second) * factor)
    return _mixed((second ^ once) * factor) * factor & _MASK


def _up_to_16(data: bytes, size: int) -> int:
    factor = _K2 + size * 2
    if size >= 8:
        a, b = _word(data, 0) + _K2, _word(data, size - 8)
        return _of_two(_turned(b, 37) * factor + a, (_turned(a, 25) + b) * factor, factor)
    if size >= 4:
        return _of_two(size + (_half(data, 0) << 3), _half(data, size - 4), factor)
    if size:
        y, z = data[0] + (data[size >> 1] << 8), size + (data[size - 1] << 2)
        return _mixed(y * _K2 ^ z * _K0) * _K2 & _MASK
    return _K2


def _up_to_32(data: bytes, size: int) -> int:
    factor = _K2 + size * 2
    a, b = _word(data, 0) * _K1, _word(data, 8)
    c, d = _word(data, size - 8) * factor, _word(data, size - 16) * _K2
    return _of_two(_turned(a + b, 43) + _turned(c, 30) + d, a + _turned(b + _K2, 18) + c, factor)


def _up_to_64(data: bytes, size: int) -> int:
    factor = _K2 + size * 2
    a, b = _word(data, 0) * _K2, _word(data, 8)
    c, d = _word(data, size - 8) * factor, _word(data, size - 16) * _K2
    y = _turned(a + b, 43) + _turned(c, 30) + d
    z = _of_two(y, a + _turned(b + _K2, 18) + c, factor)
    e, f = _word(data, 16) * factor, _word(data, 24)
    g, h = (y + _word(data, size - 32)) * factor, (z + _word(data, size - 24)) * factor
    return _of_two(_turned(e + f, 43) + _turned(g, 30) + h, e + _turned(f + a, 18) + g, factor)


def _weak(data: bytes, place: int, a: int, b: int) -> tuple[int, int]:
    """Two numbers, with 32 bytes mixed in."""
    w, x, y, z = (_word(data, place + 8 * number) for number in range(4))
    a = (a + w) & _MASK
    b = _turned(b + a + z, 21)
    whole = (a + x + y) & _MASK
    return (whole + z) & _MASK, (b + _turned(whole, 44) + a) & _MASK


def _longer(data: bytes, size: int) -> int:
    x = (_SEED * _K2 + _word(data, 0)) & _MASK
    y = (_SEED * _K1 + 113) & _MASK
    z = _mixed(y * _K2 + 113) * _K2 & _MASK
    v, w = (0, 0), (0, 0)
    end = (size - 1) // 64 * 64
    for place in range(0, end, 64):
        x, y, z, v, w = _step(data, place, x, y, z, v, w, _K1, 1)
    factor = _K1 + ((z & 0xFF) << 1)
    first = w[0] + ((size - 1) & 63)
    v = ((v[0] + first) & _MASK, v[1])
    w = ((first + v[0]) & _MASK, w[1])
    x, y, z, v, w = _step(data, end + ((size - 1) & 63) - 63, x, y, z, v, w, factor, 9)
    return _of_two(_of_two(v[0], w[0], factor) + _mixed(y) * _K0 + z, _of_two(v[1], w[1], factor) + x, factor)


Pair = tuple[int, int]


def _step(
    data: bytes, place: int, x: int, y: int, z: int, v: Pair, w: Pair, factor: int, times: int
) -> tuple[int, int, int, Pair, Pair]:
    """The state after 64 more bytes."""
    x = _turned(x + y + v[0] + _word(data, place + 8), 37) * factor & _MASK
    y = _turned(y + v[1] + _word(data, place + 48), 42) * factor & _MASK
    x ^= w[1] * times & _MASK
    y = (y + v[0] * times + _word(data, place + 40)) & _MASK
    z = _turned(z + w[0], 33) * factor & _MASK
    v = _weak(data, place, v[1] * factor, x + w[0])
    w = _weak(data, place + 32, z + w[1], y + _word(data, place + 16))
    return z, y, x, v, w
