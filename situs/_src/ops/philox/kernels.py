"""The Triton kernels of `card`: a lane makes a block, or a group of a truncated normal.

The arithmetic is that of `words` and `floats`, operation by operation: products and sums are not fused
(``enable_fp_fusion=False``), and the logarithm, sine and cosine are computed in float64, which every GPU has.

Where a draw begins is given in numbers, or lies in the memory of the GPU (`words.Placed`), where the kernel reads it:

    GIVEN      key, low, high                     three integers of 64 bits: known on the host
    SEED       place -> two integers              scrambled by every program of the kernel for itself
    POSITION   place -> key, low, high

A draw is one launch and one allocation, without any other op. `launch` has how it is launched.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton  # type: ignore[import-not-found, unused-ignore]
import triton.language as tl  # type: ignore[import-not-found, unused-ignore]

from situs._src.base.streams import WORD, Position
from situs._src.ops.philox import floats
from situs._src.ops.philox.launch import Kernel
from situs._src.ops.philox.words import SCRAMBLING_KEY as SCRAMBLING
from situs._src.ops.philox.words import Begin, Placed

LANES = 256
_UNIFORM, _NORMAL, _TRUNCATED = 0, 1, 2
_KINDS = {"uniform": _UNIFORM, "normal": _NORMAL, "truncated": _TRUNCATED}
_GIVEN, _SEED, _POSITION = 0, 1, 2
_PLAIN = ["count", "key", "low", "high", "place"]  # compiled for any

UNIFORM, TRUNCATED = tl.constexpr(_UNIFORM), tl.constexpr(_TRUNCATED)
GIVEN, SEED = tl.constexpr(_GIVEN), tl.constexpr(_SEED)
SCRAMBLE = tl.constexpr(SCRAMBLING)
LEAST, TURN = tl.constexpr(floats.LEAST), tl.constexpr(floats.TURN)
LOG_BEGIN, LOG_2 = tl.constexpr(floats.LOG_BEGIN), tl.constexpr(floats.LOG_2)
L0, L1, L2 = (tl.constexpr(factor) for factor in floats.LOG_FACTORS)
QUADRANTS, QUADRANT = tl.constexpr(floats.QUADRANTS), tl.constexpr(floats.QUADRANT)
S0, S1, S2 = (tl.constexpr(factor) for factor in floats.SINES)
C0, C1, C2, C3 = (tl.constexpr(factor) for factor in floats.COSINES)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _begin(key, low, high, place, source: tl.constexpr):  # type: ignore[no-untyped-def]
    """The key and the two words of the counter."""
    if source == GIVEN:
        k, c, d = key.to(tl.int64), low.to(tl.int64), high.to(tl.int64)
    elif source == SEED:
        first, second = tl.load(place), tl.load(place + 1)
        w0, w1, w2, w3 = tl.philox(
            SCRAMBLE,
            first.to(tl.uint32),
            (first >> 32).to(tl.uint32),
            second.to(tl.uint32),
            (second >> 32).to(tl.uint32),
        )
        k = w1.to(tl.int64) << 32 | w0.to(tl.int64)
        c = (low * 0).to(tl.int64)
        d = w3.to(tl.int64) << 32 | w2.to(tl.int64)
    else:
        k, c, d = tl.load(place), tl.load(place + 1), tl.load(place + 2)
    return k.to(tl.uint64, bitcast=True), c.to(tl.uint64, bitcast=True), d.to(tl.uint64, bitcast=True)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _block(offset, key, low, high):  # type: ignore[no-untyped-def]
    """The block that is so far behind a position."""
    total = low + offset.to(tl.uint64, bitcast=True)
    above = high + (total < low).to(tl.uint64)
    return tl.philox(
        key, total.to(tl.uint32), (total >> 32).to(tl.uint32), above.to(tl.uint32), (above >> 32).to(tl.uint32)
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


@triton.jit(do_not_specialize=_PLAIN)  # type: ignore[untyped-decorator, unused-ignore]
def _fill(  # type: ignore[no-untyped-def]
    out,
    place,
    table,
    count: tl.int64,
    key: tl.int64,
    low: tl.int64,
    high: tl.int64,
    kind: tl.constexpr,
    source: tl.constexpr,
    lanes: tl.constexpr,
):
    k, c, d = _begin(key, low, high, place, source)
    first = tl.program_id(0).to(tl.int64) * lanes
    number = first + tl.arange(0, lanes).to(tl.int64)
    if kind != TRUNCATED:
        w0, w1, w2, w3 = _block(number, k, c, d)
        if kind == UNIFORM:
            one, two, three, four = _unit(w0), _unit(w1), _unit(w2), _unit(w3)
        else:
            one, two = _normals(w0, w1, table)
            three, four = _normals(w2, w3, table)
        together = tl.interleave(tl.interleave(one, three), tl.interleave(two, four))  # in the order of the blocks
        at = first * 4 + tl.arange(0, 4 * lanes).to(tl.int64)
        if (first + lanes) * 4 <= count:  # a store without a mask is one of four words
            tl.store(out + at, together)
        else:
            tl.store(out + at, together, mask=at < count)
    else:
        found = tl.where(number * 4 < count, 0, 4).to(tl.int32)
        used = number * 256
        while tl.min(found, axis=0) < 4:
            w0, w1, w2, w3 = _block(used, k, c, d)
            one, two = _normals(w0, w1, table)
            three, four = _normals(w2, w3, table)
            for turn in tl.static_range(4):
                x = one if turn == 0 else two if turn == 1 else three if turn == 2 else four
                fits = (tl.abs(x) < 2.0) & (found < 4)
                at = number * 4 + found
                tl.store(out + at, x, mask=fits & (at < count))
                found = found + fits.to(tl.int32)
            used = used + 1


@triton.jit(do_not_specialize=[*_PLAIN, "offsets"])  # type: ignore[untyped-decorator, unused-ignore]
def _fill_words(  # type: ignore[no-untyped-def]
    out,
    offsets,
    place,
    count: tl.int64,
    key: tl.int64,
    low: tl.int64,
    high: tl.int64,
    source: tl.constexpr,
    lanes: tl.constexpr,
):
    k, c, d = _begin(key, low, high, place, source)
    number = tl.program_id(0).to(tl.int64) * lanes + tl.arange(0, lanes).to(tl.int64)
    inside = number < count
    w0, w1, w2, w3 = _block(tl.load(offsets + number, mask=inside, other=0), k, c, d)
    tl.store(out + number * 4, w0.to(tl.int64), mask=inside)
    tl.store(out + number * 4 + 1, w1.to(tl.int64), mask=inside)
    tl.store(out + number * 4 + 2, w2.to(tl.int64), mask=inside)
    tl.store(out + number * 4 + 3, w3.to(tl.int64), mask=inside)


# Launches.

_fill_kernel = Kernel(_fill, enable_fp_fusion=False)
_words_kernel = Kernel(_fill_words, enable_fp_fusion=False)
_tables: dict[torch.device, torch.Tensor] = {}


def _new_table(device: torch.device) -> torch.Tensor:
    """What the logarithm looks up, on a GPU."""
    made = torch.tensor((*floats.LOG_INVERSES, *floats.LOG_CENTRES), dtype=torch.float64, device=device)
    return _tables.setdefault(device, made)


def _words_of(begin: Position) -> tuple[int, int, int]:
    """A key and a counter as a kernel takes them: words of 64 bits with their sign."""
    key, counter = begin
    low, high = counter & _MASK, counter >> 64
    return key - (key & _SIGN) * 2, low - (low & _SIGN) * 2, high - (high & _SIGN) * 2


_SIGN, _MASK = WORD // 2, WORD - 1  # the bit of a word that counts 2**63, with a sign -2**63
_NOWHERE = (0, 0, 0)


def fill(what: str, begin: Begin, sizes: Sequence[int], device: torch.device) -> torch.Tensor:
    """Numbers of float32 that are uniform, normal or truncated normal."""
    made = torch.empty(sizes, dtype=torch.float32, device=device)
    count = made.numel()
    if count:
        table = _tables.get(device)
        if table is None:
            table = _new_table(device)
        programs = -(-count // (4 * LANES))
        if isinstance(begin, Position):
            constants = _GIVEN_CONSTANTS[what]
            _fill_kernel.launch(
                made.get_device(), programs, (made, table, table), (count, *_words_of(begin)), constants
            )
        else:
            place, source = _placed(begin)
            constants = (_KINDS[what], source, LANES)
            _fill_kernel.launch(made.get_device(), programs, (made, place, table), (count, *_NOWHERE), constants)
    return made


_GIVEN_CONSTANTS = {what: (kind, _GIVEN, LANES) for what, kind in _KINDS.items()}


def _placed(begin: Placed) -> tuple[torch.Tensor, int]:
    """A position in memory as a kernel takes it, and what it is there."""
    return begin.words.contiguous(), _SEED if begin.is_seed else _POSITION


def words_at(begin: Begin, offsets: torch.Tensor) -> torch.Tensor:
    """Blocks so far behind a position, each word a number in int64."""
    made = torch.empty(*offsets.shape, 4, dtype=torch.int64, device=offsets.device)
    count = offsets.numel()
    if count:
        given = offsets.contiguous()
        if isinstance(begin, Position):
            place, source, numbers = given, _GIVEN, _words_of(begin)
        else:
            (place, source), numbers = _placed(begin), _NOWHERE
        tensors = (made, given, place)
        _words_kernel.launch(made.get_device(), -(-count // LANES), tensors, (count, *numbers), (source, LANES))
    return made
