"""The Triton kernels of `card`: a lane makes a block, or a group of a truncated normal.

The arithmetic is that of `words` and `floats`, operation by operation: products and sums are not fused
(``enable_fp_fusion=False``), and the logarithm, sine and cosine are computed in float64, which every card has.

A position is given in six words of 32 bits with a bit above them: Triton compiles a kernel anew for integers that need
fewer bits, and these always need as many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import triton  # type: ignore[import-not-found, unused-ignore]
import triton.language as tl  # type: ignore[import-not-found, unused-ignore]

from situs._src.base.streams import Position
from situs._src.ops.philox import floats

LANES = 256
_ABOVE = 1 << 33
_UNIFORM, _NORMAL, _TRUNCATED = 0, 1, 2
_KINDS = {"uniform": _UNIFORM, "normal": _NORMAL, "truncated": _TRUNCATED}
_POSITION = ["k0", "k1", "c0", "c1", "c2", "c3", "count"]

UNIFORM, TRUNCATED = tl.constexpr(_UNIFORM), tl.constexpr(_TRUNCATED)
LEAST, TURN = tl.constexpr(floats.LEAST), tl.constexpr(floats.TURN)
LOG_BEGIN, LOG_2 = tl.constexpr(floats.LOG_BEGIN), tl.constexpr(floats.LOG_2)
L0, L1, L2 = (tl.constexpr(factor) for factor in floats.LOG_FACTORS)
QUADRANTS, QUADRANT = tl.constexpr(floats.QUADRANTS), tl.constexpr(floats.QUADRANT)
S0, S1, S2 = (tl.constexpr(factor) for factor in floats.SINES)
C0, C1, C2, C3 = (tl.constexpr(factor) for factor in floats.COSINES)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _block(offset, k0, k1, c0, c1, c2, c3):  # type: ignore[no-untyped-def]
    """The block that is so far behind a position."""
    word = 0xFFFFFFFF
    low = ((c1 & word) << 32 | (c0 & word)).to(tl.uint64, bitcast=True)
    high = ((c3 & word) << 32 | (c2 & word)).to(tl.uint64, bitcast=True)
    key = ((k1 & word) << 32 | (k0 & word)).to(tl.uint64, bitcast=True)
    total = low + offset.to(tl.uint64, bitcast=True)
    high = high + (total < low).to(tl.uint64)
    return tl.philox(
        key, total.to(tl.uint32), (total >> 32).to(tl.uint32), high.to(tl.uint32), (high >> 32).to(tl.uint32)
    )


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _unit(word):  # type: ignore[no-untyped-def]
    return ((word & 0x7FFFFF) | 0x3F800000).to(tl.float32, bitcast=True) - 1.0


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _normals(first, second, table):  # type: ignore[no-untyped-def]
    """Two normal numbers of two words."""
    u = _unit(first)
    bits = tl.where(u < LEAST, tl.full(u.shape, LEAST, tl.float32), u).to(tl.int32, bitcast=True)
    shifted = bits - LOG_BEGIN
    row, power = (shifted >> 19) & 15, shifted >> 23
    z = (bits - (power << 23)).to(tl.float32, bitcast=True).to(tl.float64)
    ratio = z * tl.load(table + row) - 1.0
    square = ratio * ratio
    fine = L0 * square + (L1 * ratio + L2)
    coarse = (tl.load(table + 16 + row) + power.to(tl.float64) * LOG_2) + ratio
    logarithm = (fine * square + coarse).to(tl.float32)
    radius = tl.sqrt((logarithm * -2.0).to(tl.float64)).to(tl.float32)
    wide = (_unit(second).to(tl.float64) * TURN).to(tl.float32).to(tl.float64)
    number = (wide * QUADRANTS + 0.5).to(tl.int32)
    rest = wide - number.to(tl.float64) * QUADRANT
    square = rest * rest
    cube = square * rest
    fourth = square * square
    sine = ((rest + cube * S0) + (cube * square) * (S1 + square * S2)).to(tl.float32)
    cosine = (((1.0 + square * C0) + fourth * C1) + (fourth * square) * (C2 + square * C3)).to(tl.float32)
    odd = (number & 1) == 1
    one, other = tl.where(odd, cosine, sine), tl.where(odd, sine, cosine)
    one = tl.where((number & 2) == 2, -one, one)
    other = tl.where(((number + 1) & 2) == 2, -other, other)
    return one * radius, other * radius


@triton.jit(do_not_specialize=_POSITION)  # type: ignore[untyped-decorator, unused-ignore]
def _fill(  # type: ignore[no-untyped-def]
    out, count, k0, k1, c0, c1, c2, c3, table, kind: tl.constexpr, lanes: tl.constexpr
):
    count = count & 0x1FFFFFFFF
    number = tl.program_id(0).to(tl.int64) * lanes + tl.arange(0, lanes).to(tl.int64)
    place = out + number * 4
    if kind != TRUNCATED:
        w0, w1, w2, w3 = _block(number, k0, k1, c0, c1, c2, c3)
        if kind == UNIFORM:
            a, b, c, d = _unit(w0), _unit(w1), _unit(w2), _unit(w3)
        else:
            a, b = _normals(w0, w1, table)
            c, d = _normals(w2, w3, table)
        tl.store(place, a, mask=number * 4 < count)
        tl.store(place + 1, b, mask=number * 4 + 1 < count)
        tl.store(place + 2, c, mask=number * 4 + 2 < count)
        tl.store(place + 3, d, mask=number * 4 + 3 < count)
    else:
        found = tl.where(number * 4 < count, 0, 4).to(tl.int32)
        used = number * 256
        while tl.min(found, axis=0) < 4:
            w0, w1, w2, w3 = _block(used, k0, k1, c0, c1, c2, c3)
            a, b = _normals(w0, w1, table)
            c, d = _normals(w2, w3, table)
            for turn in tl.static_range(4):
                x = a if turn == 0 else b if turn == 1 else c if turn == 2 else d
                fits = (tl.abs(x) < 2.0) & (found < 4)
                tl.store(place + found, x, mask=fits & (number * 4 + found < count))
                found = found + fits.to(tl.int32)
            used = used + 1


@triton.jit(do_not_specialize=_POSITION)  # type: ignore[untyped-decorator, unused-ignore]
def _fill_words(  # type: ignore[no-untyped-def]
    out, offsets, count, k0, k1, c0, c1, c2, c3, lanes: tl.constexpr
):
    count = count & 0x1FFFFFFFF
    number = tl.program_id(0).to(tl.int64) * lanes + tl.arange(0, lanes).to(tl.int64)
    inside = number < count
    w0, w1, w2, w3 = _block(tl.load(offsets + number, mask=inside, other=0), k0, k1, c0, c1, c2, c3)
    tl.store(out + number * 4, w0.to(tl.int64), mask=inside)
    tl.store(out + number * 4 + 1, w1.to(tl.int64), mask=inside)
    tl.store(out + number * 4 + 2, w2.to(tl.int64), mask=inside)
    tl.store(out + number * 4 + 3, w3.to(tl.int64), mask=inside)


def _words_of(begin: Position) -> list[int]:
    whole = begin.key + (begin.counter << 64)
    return [(whole >> 32 * place) & 0xFFFFFFFF | _ABOVE for place in range(6)]


_tables: dict[torch.device, torch.Tensor] = {}


def _table(device: torch.device) -> torch.Tensor:
    found = _tables.get(device)
    if found is None:
        both = (*floats.LOG_INVERSES, *floats.LOG_CENTRES)
        found = _tables[device] = torch.tensor(both, dtype=torch.float64, device=device)
    return found


def fill(what: str, begin: Position, sizes: Sequence[int], device: torch.device) -> torch.Tensor:
    """Numbers of float32 that are uniform, normal or truncated normal."""
    made = torch.empty(sizes, dtype=torch.float32, device=device)
    count = math.prod(sizes)
    if count:
        grid = (triton.cdiv(count, 4 * LANES),)
        arguments = (made, count | _ABOVE, *_words_of(begin), _table(device))
        with torch.cuda.device_of(made):  # type: ignore[no-untyped-call] # Triton launches on the current device
            _fill[grid](*arguments, kind=_KINDS[what], lanes=LANES, enable_fp_fusion=False)
    return made


def words_at(begin: Position, offsets: torch.Tensor) -> torch.Tensor:
    """Blocks so far behind a position, each word a number in int64."""
    made = torch.empty(*offsets.shape, 4, dtype=torch.int64, device=offsets.device)
    count = offsets.numel()
    if count:
        grid = (triton.cdiv(count, LANES),)
        arguments = (made, offsets.contiguous(), count | _ABOVE, *_words_of(begin))
        with torch.cuda.device_of(made):  # type: ignore[no-untyped-call]
            _fill_words[grid](*arguments, lanes=LANES, enable_fp_fusion=False)
    return made
