"""From words to floating-point numbers, as TensorFlow makes them on Linux.

A unit float is made of bits: as many as the dtype has fraction bits become a number of [1, 2), less 1. A pair of normal
numbers is made of two unit floats by Box and Muller:

    u, v  ->  sqrt(-2 log(max(u, 1e-7)))  *  (sin 2 pi v, cos 2 pi v)

TensorFlow calls the C library for the logarithm and the sine of float32. Those of glibc, since 2.28, are polynomials in
float64, rounded at the end, with tables from Arm Optimized Routines (see NOTICE). The same polynomials are used here,
so that numbers are equal bit for bit on every device, whatever the C library is. With another library, TensorFlow
itself may differ in the last bit.

For float64 the functions are PyTorch's: they may differ from the C library's in the last bit.
"""

from __future__ import annotations

import math

import torch

LEAST = 1.0e-7  # what the logarithm is taken of at least
TURN = 2.0 * math.pi

# The logarithm: x = 2**k z, z near one of 16 centres; 1/c and log(c) of each, then a polynomial of z/c - 1.
LOG_INVERSES = tuple(
    map(
        float.fromhex,
        (
            "0x1.661ec79f8f3bep+0", "0x1.571ed4aaf883dp+0", "0x1.49539f0f010bp+0", "0x1.3c995b0b80385p+0",
            "0x1.30d190c8864a5p+0", "0x1.25e227b0b8eap+0", "0x1.1bb4a4a1a343fp+0", "0x1.12358f08ae5bap+0",
            "0x1.0953f419900a7p+0", "0x1p+0", "0x1.e608cfd9a47acp-1", "0x1.ca4b31f026aap-1",
            "0x1.b2036576afce6p-1", "0x1.9c2d163a1aa2dp-1", "0x1.886e6037841edp-1", "0x1.767dcf5534862p-1",
        ),
    )
)  # fmt: skip
LOG_CENTRES = tuple(
    map(
        float.fromhex,
        (
            "-0x1.57bf7808caadep-2", "-0x1.2bef0a7c06ddbp-2", "-0x1.01eae7f513a67p-2", "-0x1.b31d8a68224e9p-3",
            "-0x1.6574f0ac07758p-3", "-0x1.1aa2bc79c81p-3", "-0x1.a4e76ce8c0e5ep-4", "-0x1.1973c5a611cccp-4",
            "-0x1.252f438e10c1ep-5", "0x0p+0", "0x1.aa5aa5df25984p-5", "0x1.c5e53aa362eb4p-4",
            "0x1.526e57720db08p-3", "0x1.bc2860d22477p-3", "0x1.1058bc8a07ee1p-2", "0x1.4043057b6ee09p-2",
        ),
    )
)  # fmt: skip
LOG_FACTORS = tuple(map(float.fromhex, ("-0x1.00ea348b88334p-2", "0x1.5575b0be00b6ap-2", "-0x1.ffffef20a4123p-2")))
LOG_2 = math.log(2.0)
LOG_BEGIN = 0x3F330000  # the bits of the least z

# Sine and cosine: x = n pi/2 + r, then a polynomial of r each, exchanged and negated as the quadrant n says.
QUADRANTS = float.fromhex("0x1.45F306DC9C883p-1")  # 2 / pi
QUADRANT = math.pi / 2
SINES = tuple(map(float.fromhex, ("-0x1.555545995a603p-3", "0x1.1107605230bc4p-7", "-0x1.994eb3774cf24p-13")))
COSINES = tuple(
    map(
        float.fromhex,
        ("-0x1.ffffffd0c621cp-2", "0x1.55553e1068f19p-5", "-0x1.6c087e89a359dp-10", "0x1.99343027bf8c3p-16"),
    )
)

_tables: dict[torch.device, tuple[torch.Tensor, torch.Tensor]] = {}


def unit32(words: torch.Tensor) -> torch.Tensor:
    """Words as float32 of [0, 1)."""
    return ((words & 0x7FFFFF) | 0x3F800000).to(torch.int32).view(torch.float32).sub_(1.0)


def unit64(high: torch.Tensor, low: torch.Tensor) -> torch.Tensor:
    """Pairs of words as float64 of [0, 1)."""
    return (((high & 0xFFFFF) << 32) | low | (1023 << 52)).view(torch.float64).sub_(1.0)


def unit16(words: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Words as float16 or bfloat16 of [0, 1)."""
    fraction, one = (0x3FF, 15 << 10) if dtype is torch.float16 else (0x7F, 127 << 7)
    return ((words & fraction) | one).to(torch.int16).view(dtype).sub_(1.0)


def log32(x: torch.Tensor) -> torch.Tensor:
    """The logarithm of positive, normal float32."""
    inverses, centres = _log_tables(x.device)
    bits = x.view(torch.int32)
    shifted = bits - LOG_BEGIN
    row, power = ((shifted >> 19) & 15).to(torch.int64), shifted >> 23
    ratio = (bits - (power << 23)).view(torch.float32).to(torch.float64).mul_(inverses[row]).sub_(1.0)
    square = ratio * ratio
    fine = (LOG_FACTORS[0] * square).add_((LOG_FACTORS[1] * ratio).add_(LOG_FACTORS[2]))
    coarse = centres[row].add_(power.to(torch.float64).mul_(LOG_2)).add_(ratio)
    return fine.mul_(square).add_(coarse).to(torch.float32)


def _log_tables(device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    if device not in _tables:
        both = [torch.tensor(table, dtype=torch.float64, device=device) for table in (LOG_INVERSES, LOG_CENTRES)]
        _tables[device] = both[0], both[1]
    return _tables[device]


def sine_and_cosine32(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The sine and the cosine of float32 of [0, 2 pi]."""
    wide = x.to(torch.float64)
    quadrant = (wide * QUADRANTS).add_(0.5).floor_()
    rest = wide - quadrant * QUADRANT
    square = rest * rest
    cube, fourth = square * rest, square * square
    sine = (rest + cube * SINES[0]) + (cube * square) * (SINES[1] + square * SINES[2])
    cosine = ((1.0 + square * COSINES[0]) + fourth * COSINES[1]) + (fourth * square) * (
        COSINES[2] + square * COSINES[3]
    )
    sine, cosine = sine.to(torch.float32), cosine.to(torch.float32)
    number = quadrant.to(torch.int32)
    is_odd = (number & 1).to(torch.bool)
    first, second = torch.where(is_odd, cosine, sine), torch.where(is_odd, sine, cosine)
    return (
        torch.where((number & 2).to(torch.bool), -first, first),
        torch.where(((number + 1) & 2).to(torch.bool), -second, second),
    )


def box_muller32(first: torch.Tensor, second: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Two normal float32 of two words each."""
    logarithm = log32(unit32(first).clamp_min_(LEAST)).mul_(-2.0)
    radius = (
        logarithm.to(torch.float64).sqrt_().to(torch.float32)
    )  # PyTorch's root of float32 is not always the nearest
    angle = unit32(second).to(torch.float64).mul_(TURN).to(torch.float32)
    sine, cosine = sine_and_cosine32(angle)
    return sine.mul_(radius), cosine.mul_(radius)


def box_muller64(words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Two normal float64 of a block each."""
    radius = unit64(words[..., 0], words[..., 1]).clamp_min_(LEAST).log_().mul_(-2.0).sqrt_()
    angle = unit64(words[..., 2], words[..., 3]).mul_(TURN)
    return torch.sin(angle).mul_(radius), torch.cos(angle).mul_(radius)


def normals(words: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Normal numbers of blocks: four of each, or two of float64, in the last dimension."""
    if dtype is torch.float64:
        return torch.stack(box_muller64(words), dim=-1)
    pairs = box_muller32(words[..., 0], words[..., 1]) + box_muller32(words[..., 2], words[..., 3])
    return torch.stack(pairs, dim=-1).to(dtype)


def uniforms(words: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Numbers of [0, 1) of blocks: four of each, or two of float64, in the last dimension."""
    if dtype is torch.float64:
        return unit64(words[..., 0::2], words[..., 1::2])
    return unit32(words) if dtype is torch.float32 else unit16(words, dtype)
