"""Mixing integers: near numbers in, unrelated numbers out (splitmix64).

Seeds, counters and keys become the seeds of random number generators this way.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

UNPREDICTABLE = -1  # in the place of a seed: a new one is to be taken for every draw
_MASK = 2**64 - 1
_STEP = 0x9E3779B97F4A7C15
_FIRST_FACTOR = 0xBF58476D1CE4E5B9
_SECOND_FACTOR = 0x94D049BB133111EB


def unpredictable() -> int:
    """An integer that no seed leads to."""
    return int.from_bytes(os.urandom(8), "little") >> 1


def mix(numbers: Iterable[int]) -> int:
    """Integers of any size as one of 63 bits: near ones give unrelated results (splitmix64)."""
    return _state(numbers) >> 1


def mix_each(numbers: Iterable[int], last: int, offsets: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """``mix((*numbers, last + offset))`` for each offset of an array of uint64, as int64."""
    import numpy as np

    z = offsets + np.uint64((_state(numbers) + _STEP + last) & _MASK)  # NumPy's integers wrap around by themselves
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_FIRST_FACTOR)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_SECOND_FACTOR)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


def _state(numbers: Iterable[int]) -> int:
    state = 0
    for number in numbers:
        z = (state + _STEP + (number & _MASK)) & _MASK
        z = ((z ^ (z >> 30)) * _FIRST_FACTOR) & _MASK
        z = ((z ^ (z >> 27)) * _SECOND_FACTOR) & _MASK
        state = z ^ (z >> 31)
    return state
