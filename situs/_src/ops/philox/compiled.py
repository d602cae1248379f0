"""Philox in C, for the CPU: the same numbers as by PyTorch's ops, to the bit, in a tenth of the time.

The arithmetic is that of `words` and `floats`, whose constants it is given. It works on `LANES` blocks at a time, in
loops without branches, which the compiler turns into vector instructions. It may not contract a product and a sum into
one operation, which would round once where PyTorch's ops round twice.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import torch

from situs._src.base import settings
from situs._src.base.compile_c import library
from situs._src.base.streams import WORD, Position
from situs._src.ops.philox import floats
from situs._src.runtime.eager.addresses import address

_SOURCE = r"""
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 128 };
static const double inverses[16] = { %(inverses)s };
static const double centres[16] = { %(centres)s };

typedef struct { uint32_t w[4][LANES]; } blocks;

static void ten_rounds(blocks *b, uint64_t key) {
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        for (int j = 0; j < LANES; j++) {
            uint64_t first = (uint64_t)b->w[0][j] * 0xD2511F53u, second = (uint64_t)b->w[2][j] * 0xCD9E8D57u;
            uint32_t c1 = b->w[1][j], c3 = b->w[3][j];
            b->w[0][j] = (uint32_t)(second >> 32) ^ c1 ^ k0;
            b->w[1][j] = (uint32_t)second;
            b->w[2][j] = (uint32_t)(first >> 32) ^ c3 ^ k1;
            b->w[3][j] = (uint32_t)first;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

static void place(blocks *b, int j, uint64_t low, uint64_t high, uint64_t offset) {
    uint64_t sum = low + offset;
    high += sum < low;
    b->w[0][j] = (uint32_t)sum; b->w[1][j] = (uint32_t)(sum >> 32);
    b->w[2][j] = (uint32_t)high; b->w[3][j] = (uint32_t)(high >> 32);
}

static void following(blocks *b, uint64_t key, uint64_t low, uint64_t high, uint64_t first) {
    for (int j = 0; j < LANES; j++) place(b, j, low, high, first + (uint64_t)j);
    ten_rounds(b, key);
}

static inline float unit(uint32_t word) {
    uint32_t bits = (word & 0x7FFFFFu) | 0x3F800000u;
    float made;
    memcpy(&made, &bits, 4);
    return made - 1.0f;
}

static inline float logarithm(float x) {
    int32_t bits, rest;
    memcpy(&bits, &x, 4);
    int32_t shifted = bits - %(log_begin)s, row = (shifted >> 19) & 15, power = shifted >> 23;
    rest = bits - (int32_t)((uint32_t)power << 23);
    float z;
    memcpy(&z, &rest, 4);
    double ratio = (double)z * inverses[row] - 1.0, square = ratio * ratio;
    double fine = %(l0)s * square + (%(l1)s * ratio + %(l2)s);
    double coarse = (centres[row] + (double)power * %(log2)s) + ratio;
    return (float)(fine * square + coarse);
}

static inline void box_muller(uint32_t first, uint32_t second, float *one, float *other) {
    float u = unit(first);
    u = u < %(least)sf ? %(least)sf : u;
    float radius = sqrtf(-2.0f * logarithm(u));
    double wide = (double)(float)((double)unit(second) * %(turn)s);
    int32_t number = (int32_t)(wide * %(quadrants)s + 0.5);
    double r = wide - (double)number * %(quadrant)s;
    double square = r * r, cube = square * r, fourth = square * square;
    float sine = (float)((r + cube * %(s0)s) + (cube * square) * (%(s1)s + square * %(s2)s));
    float cosine = (float)(((1.0 + square * %(c0)s) + fourth * %(c1)s)
                           + (fourth * square) * (%(c2)s + square * %(c3)s));
    float a = number & 1 ? cosine : sine, b = number & 1 ? sine : cosine;
    *one = (number & 2 ? -a : a) * radius;
    *other = ((number + 1) & 2 ? -b : b) * radius;
}

static void normals_of(const blocks *b, float made[4][LANES]) {
    for (int half = 0; half < 4; half += 2)
        for (int j = 0; j < LANES; j++)
            box_muller(b->w[half][j], b->w[half + 1][j], &made[half][j], &made[half + 1][j]);
}

void fill_words(uint64_t key, uint64_t low, uint64_t high, int64_t count, uint32_t *out) {
    blocks b;
    for (int64_t first = 0; first < count; first += LANES) {
        int64_t many = count - first < LANES ? count - first : LANES;
        following(&b, key, low, high, (uint64_t)first);
        for (int64_t j = 0; j < many; j++)
            for (int place = 0; place < 4; place++) out[4 * (first + j) + place] = b.w[place][j];
    }
}

void fill_words_at(uint64_t key, uint64_t low, uint64_t high, int64_t count, const int64_t *offsets, uint32_t *out) {
    blocks b;
    memset(&b, 0, sizeof b);
    for (int64_t first = 0; first < count; first += LANES) {
        int64_t many = count - first < LANES ? count - first : LANES;
        for (int64_t j = 0; j < many; j++) place(&b, (int)j, low, high, (uint64_t)offsets[first + j]);
        ten_rounds(&b, key);
        for (int64_t j = 0; j < many; j++)
            for (int place = 0; place < 4; place++) out[4 * (first + j) + place] = b.w[place][j];
    }
}

static void copy_out(float made[4][LANES], float *out, int64_t done, int64_t count) {
    float joined[4 * LANES];
    for (int j = 0; j < LANES; j++)
        for (int place = 0; place < 4; place++) joined[4 * j + place] = made[place][j];
    int64_t many = count - done < 4 * LANES ? count - done : 4 * LANES;
    memcpy(out + done, joined, (size_t)many * sizeof(float));
}

void fill_uniform(uint64_t key, uint64_t low, uint64_t high, int64_t count, float *out) {
    blocks b;
    float made[4][LANES];
    for (int64_t done = 0; done < count; done += 4 * LANES) {
        following(&b, key, low, high, (uint64_t)(done / 4));
        for (int place = 0; place < 4; place++)
            for (int j = 0; j < LANES; j++) made[place][j] = unit(b.w[place][j]);
        copy_out(made, out, done, count);
    }
}

void fill_normal(uint64_t key, uint64_t low, uint64_t high, int64_t count, float *out) {
    blocks b;
    float made[4][LANES];
    for (int64_t done = 0; done < count; done += 4 * LANES) {
        following(&b, key, low, high, (uint64_t)(done / 4));
        normals_of(&b, made);
        copy_out(made, out, done, count);
    }
}

/* Groups of four outputs, each with 256 blocks of its own: the first four normals within two deviations. */
void fill_truncated(uint64_t key, uint64_t low, uint64_t high, int64_t count, float *out) {
    blocks b;
    float made[4][LANES], group[4];
    int64_t groups = (count + 3) / 4;
    for (int64_t first = 0; first < groups; first += LANES) {
        int64_t many = groups - first < LANES ? groups - first : LANES;
        uint64_t used = 0;
        int8_t found[LANES] = { 0 };
        int64_t open = many;
        while (open) {
            for (int j = 0; j < LANES; j++) place(&b, j, low, high, 256u * (uint64_t)(first + j) + used);
            ten_rounds(&b, key);
            normals_of(&b, made);
            for (int64_t j = 0; j < many; j++) {
                if (found[j] == 4) continue;
                for (int place = 0; place < 4 && found[j] < 4; place++) {
                    float x = made[place][j];
                    int64_t where = 4 * (first + j) + found[j];
                    if (fabsf(x) < 2.0f) {
                        if (where < count) out[where] = x;
                        found[j]++;
                    }
                }
                open -= found[j] == 4;
            }
            used++;
        }
    }
}
"""


class Functions:
    """The functions of the library, on tensors of the CPU."""

    def __init__(self, found: ctypes.CDLL) -> None:
        number, pointer = ctypes.c_uint64, ctypes.c_void_p
        self._words = _declared(found.fill_words, number, number, number, ctypes.c_int64, pointer)
        self._words_at = _declared(found.fill_words_at, number, number, number, ctypes.c_int64, pointer, pointer)
        self._fills = {
            name: _declared(getattr(found, f"fill_{name}"), number, number, number, ctypes.c_int64, pointer)
            for name in ("uniform", "normal", "truncated")
        }

    def words(self, begin: Position, count: int) -> torch.Tensor:
        """Blocks from a position on, as int32: [count, 4]."""
        made = torch.empty(count, 4, dtype=torch.int32)
        if not made.is_meta:  # called for the shape alone (`runtime.abstract`)
            self._words(begin.key, begin.counter % WORD, begin.counter // WORD, count, address(made))
        return made

    def words_at(self, begin: Position, offsets: torch.Tensor) -> torch.Tensor:
        """Blocks so far behind a position, as int32."""
        made = torch.empty(*offsets.shape, 4, dtype=torch.int32)
        low, high = begin.counter % WORD, begin.counter // WORD
        self._words_at(begin.key, low, high, offsets.numel(), address(offsets), address(made))
        return made

    def fill(self, what: str, begin: Position, sizes: Sequence[int], device: torch.device) -> torch.Tensor:
        """Numbers of float32 that are uniform, normal or truncated normal."""
        made = torch.empty(sizes, dtype=torch.float32, device=device)
        low, high = begin.counter % WORD, begin.counter // WORD
        if not made.is_meta:
            self._fills[what](begin.key, low, high, made.numel(), address(made))
        return made


def _declared(function: Any, *types: type) -> Callable[..., None]:
    function.argtypes, function.restype = types, None
    return function  # type: ignore[no-any-return]


def functions() -> Functions | None:
    """The functions in C; None where they cannot be compiled, or shall not be."""
    global _found
    if settings.no_compiler():
        return None
    if _found is _UNASKED:
        made = library("philox", source())
        _found = None if made is None else Functions(made)
    return _found  # type: ignore[return-value]


_UNASKED = object()
_found: object = _UNASKED


def source() -> str:
    """The text of the source, with the constants of `floats`, all of them to the last bit."""
    named: dict[str, float | Sequence[float]] = {
        "inverses": floats.LOG_INVERSES,
        "centres": floats.LOG_CENTRES,
        "log2": floats.LOG_2,
        "turn": floats.TURN,
        "quadrants": floats.QUADRANTS,
        "quadrant": floats.QUADRANT,
    }
    for letter, factors in (("l", floats.LOG_FACTORS), ("s", floats.SINES), ("c", floats.COSINES)):
        named |= {f"{letter}{place}": factor for place, factor in enumerate(factors)}
    texts = {name: _as_c(value) for name, value in named.items()}
    return _SOURCE % {**texts, "log_begin": str(floats.LOG_BEGIN), "least": repr(floats.LEAST)}


def _as_c(value: float | Sequence[float]) -> str:
    return value.hex() if isinstance(value, float) else ", ".join(map(_as_c, value))
