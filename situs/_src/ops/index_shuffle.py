"""``tf.random.experimental.index_shuffle``: where a permutation puts an index, without making the permutation.

An index is encrypted by a small block cipher of Simon's kind, whose key is the seed, again and again until what comes
out is an index of the interval: a cipher is a permutation of its blocks, and leaving some out on the way leaves one
of the rest.

    block of 2 w bits, w from 8 to 32     left, right              F(x) = (x <<< 1 & x <<< 8) ^ x <<< 2
    two rounds                            left ^= F(right) ^ k0    right ^= F(left) ^ k1
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from situs._src.base.dtype import INDEX
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, HostValue, IntLike
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.define import CPU, op
from situs._src.ops.join import concat

_FIRST_WORD = 498247692  # what TensorFlow puts before the two words of a seed
_LEAST_BLOCK = 16
_ROUNDS = 4
_ADDED, _SEQUENCE = 0xFFFFFFFC, 0x7369F885192C0EF5
Array = np.ndarray[Any, np.dtype[np.uint64]]

_index_shuffle = op("RandomIndexShuffle", "index: T, seed: host, max_index: host -> output: T", T=INDEX, rounds=4)
_index_shuffle.stops_gradients()


@_index_shuffle.shape
def _index_shuffle_shape(index: TensorShape, seed: HostValue, max_index: HostValue, *, rounds: int) -> TensorShape:
    if index.rank not in (None, 0, 1):
        raise ArgumentError(f"Index must be a scalar or vector, got one of shape {brackets(index)}.")
    return index


@_index_shuffle.kernel(CPU)
def _index_shuffle_kernel(index: torch.Tensor, seed: Any, max_index: Any, *, rounds: int) -> torch.Tensor:
    if not isinstance(seed, tuple) or len(seed) != 3:
        raise ArgumentError(f"Seed must be a vector of size [3], got {seed!r}.")
    given = index.reshape(-1).to(torch.int64).numpy()
    if given.size and not 0 <= given.min() <= given.max() <= max_index:
        raise ArgumentError(f"index must be between 0 and max_index={max_index}, got {given.min()} to {given.max()}.")
    found = permuted(given.astype(np.uint64), seed, max_index, rounds)
    return torch.from_numpy(found.astype(np.int64)).to(index.dtype).reshape(index.shape)


def permuted(index: Array, key: tuple[int, ...], highest: int, rounds: int = _ROUNDS) -> Array:
    """Where a permutation of the numbers up to `highest` puts some of them."""
    if highest == 0:
        return np.zeros_like(index)
    bits = (highest - 1).bit_length()  # of the next power of two
    width = max(bits + bits % 2, _LEAST_BLOCK) // 2
    keys = _round_keys(key, width, rounds)
    if width == _LEAST_BLOCK // 2:
        return _walked(index, _encrypted(np.arange(2**_LEAST_BLOCK, dtype=np.uint64), keys, width).tolist(), highest)
    made, walking = index.copy(), np.arange(index.size)
    while walking.size:  # at most three of four blocks are left out
        made[walking] = _encrypted(made[walking], keys, width)
        walking = walking[made[walking] > highest]
    return made


def _walked(index: Array, cipher: list[int], highest: int) -> Array:
    """The same with all blocks encrypted beforehand: where they are small, most may be left out on the way."""
    made = []
    for place in index.tolist():
        while (place := cipher[place]) > highest:
            pass
        made.append(place)
    return np.array(made, np.uint64)


def _round_keys(key: tuple[int, ...], width: int, rounds: int) -> list[int]:
    mask = (1 << width) - 1
    keys = [word & mask for word in key]
    for number in range(3, rounds):
        last = keys[-1]
        turned = (last >> 3 | last << (width - 3)) ^ (last >> 4 | last << (width - 4))
        keys.append((_ADDED ^ ((_SEQUENCE & mask) >> (number - 3) & 1) ^ keys[-3] ^ turned) & mask)
    return keys


def _encrypted(block: Array, keys: list[int], width: int) -> Array:
    mask = np.uint64((1 << width) - 1)
    left, right = block >> np.uint64(width), block & mask

    def mixed(x: Array) -> Array:
        one, eight, two = ((x << np.uint64(by) | x >> np.uint64(width - by)) & mask for by in (1, 8, 2))
        mixture: Array = (one & eight) ^ two
        return mixture

    for first, second in zip(keys[::2], keys[1::2], strict=True):
        left = left ^ mixed(right) ^ np.uint64(first)
        right = right ^ mixed(left) ^ np.uint64(second)
    return left << np.uint64(width) | right


@export("random.experimental.index_shuffle", v1=())
def index_shuffle(index: ArrayLike, seed: Any, max_index: IntLike) -> Tensor:
    """Where a permutation of the numbers from 0 to `max_index` puts an index.

    Args:
        index: A number, or a vector of them.
        seed: Two integers, which decide the permutation.
        max_index: The highest number.
    """
    words = convert_to_tensor(seed)
    if not words.shape.is_compatible_with([2]):
        raise ArgumentError(f"seed must have shape [2], not {brackets(words.shape)}.")
    return _index_shuffle(index, concat([constant([_FIRST_WORD], words.dtype), words], 0), max_index)
