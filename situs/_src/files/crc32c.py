"""CRC-32C, the checksum of TFRecord files: by google-crc32c where it is installed (``situs[records]``), else by NumPy.

google-crc32c uses the processor's own instruction, and is about a hundred times faster (decision 25).

A cyclic redundancy check is linear: that of a block is the XOR of the contributions of its bytes, each of which depends
only on the byte and on how many bytes follow. With a table of all contributions a block takes one look-up in NumPy;
pure Python is a hundred times slower.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

_POLYNOMIAL = 0x82F63B78  # Castagnoli's, reflected
_BLOCK = 1024
_MASK = 0xA282EAD8


def with_numpy(data: bytes) -> int:
    """The CRC-32C of some bytes.

    Example:
        >>> hex(with_numpy(b"123456789"))
        '0xe3069283'
    """
    table, state = _contributions(), 0xFFFFFFFF
    for start in range(0, len(data), _BLOCK):
        block = np.frombuffer(data, np.uint8, min(_BLOCK, len(data) - start), start).astype(np.int64)
        # The state after a block: before it, the state counts as part of the first four bytes.
        count = len(block)
        for number in range(min(count, 4)):
            block[number] ^= (state >> (8 * number)) & 0xFF
        made = np.bitwise_xor.reduce(table[np.arange(count - 1, -1, -1), block])
        state = int(made) ^ (state >> (8 * count) if count < 4 else 0)
    return state ^ 0xFFFFFFFF


def fastest() -> Callable[[bytes], int]:
    """google-crc32c's function, or the one above: what google-crc32c does without its extension is slower still."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it tells those who have no extension to build one
            import google_crc32c
    except ImportError:
        return with_numpy
    found: Callable[[bytes], int] = google_crc32c.value
    return found if google_crc32c.implementation == "c" else with_numpy


crc32c = fastest()


def masked_crc32c(data: bytes) -> int:
    """The CRC-32C of some bytes as TFRecord files hold it: turned around, so that it can be part of data itself."""
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + _MASK) & 0xFFFFFFFF


@cache
def _contributions() -> np.ndarray[Any, Any]:
    """What each byte contributes, by the number of bytes that follow it and by its value."""
    states = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        states = np.where(states & 1, (states >> 1) ^ np.uint32(_POLYNOMIAL), states >> 1)
    table = np.empty((_BLOCK, 256), np.uint32)
    table[0] = states
    for following in range(1, _BLOCK):
        before = table[following - 1]
        table[following] = states[before & 0xFF] ^ (before >> 8)
    return table
