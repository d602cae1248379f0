"""The error function of many float32 on a host, in C: PyTorch's takes two to four times as long as TensorFlow's.

It is odd, and 1 in float32 from 3.92 on, so below that one quotient of two polynomials of the square is enough:

    erf(x) = x P(x^2) / Q(x^2)        both of degree 5, fitted to 2e-8

The loop has no branch, so the compiler makes vector instructions of it. The result is within 6 units in the last place.
The library is looked for, or compiled, when a process first has so many elements: whether it is used never changes
while a program runs, so neither do results. Where there is no compiler PyTorch's function is taken.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch

from situs._src.base import settings
from situs._src.base.compile_c import library
from situs._src.base.tensor import Tensor
from situs._src.runtime.eager.addresses import address

MANY = 2**14  # elements, from which on it is quicker
_OF_A_THREAD = 2**15  # elements that PyTorch gives a thread at least
_THREADS = 4  # as many of PyTorch's are as fast

SOURCE = r"""
#include <math.h>
#include <stdint.h>

#if defined(__FMA__) || defined(__aarch64__)
#define PLUS(a, x, rest) fmaf(x, rest, a)
#else
#define PLUS(a, x, rest) ((a) + (x) * (rest))
#endif

static inline float erf_at(float x) {
    x = x > 3.92f ? 3.92f : x;
    x = x < -3.92f ? -3.92f : x;
    float t = x * x;
    float p = PLUS(2.8489038717109926e-4f, t, 2.050728216852455e-6f);
    p = PLUS(1.1283791461812342f, t, PLUS(1.903778270133843e-1f, t, PLUS(5.27456089640243e-2f, t,
        PLUS(3.764565029391935e-3f, t, p))));
    float q = PLUS(1.1623380340240782e-3f, t, 3.809872790118255e-5f);
    q = PLUS(1.0f, t, PLUS(5.020506985762884e-1f, t, PLUS(1.1409788473791051e-1f, t,
        PLUS(1.4967094553096185e-2f, t, q))));
    float made = x * p / q;
    float size = fabsf(made);
    size = size > 1.0f ? 1.0f : size;
    size = t >= 3.92f * 3.92f ? 1.0f : size;
    return copysignf(size, x);
}

void erf_of(const float *restrict values, int64_t count, float *restrict out) {
    for (int64_t i = 0; i < count; i++)
        out[i] = erf_at(values[i]);
}

void erf_over(float *values, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        values[i] = erf_at(values[i]);
}
"""


def kernel(x: torch.Tensor) -> torch.Tensor:
    """The error function, by whichever way is quicker."""
    return quick_erf(x) if _is_quicker(x) else torch.erf(x)


kernel.when_compiled = torch.erf  # type: ignore[attr-defined]


def kernel_in_place(x: torch.Tensor) -> torch.Tensor:
    """The same, with the result written over `x`."""
    functions = _functions() if _is_quicker(x) and x.is_contiguous() else None
    if functions is None:
        return x.copy_(kernel(x))
    functions[1](address(x), x.numel())
    return x


kernel_in_place.when_compiled = torch.erf  # type: ignore[attr-defined]


def _is_quicker(x: torch.Tensor) -> bool:
    size = x.numel()
    return x.is_cpu and size >= MANY and min(size // _OF_A_THREAD, torch.get_num_threads()) < _THREADS


def lower(x: Tensor) -> Any:
    """In a graph: PyTorch's own function, which can run together with others, unless there surely are many elements."""
    size = x.shape.num_elements()
    return torch.erf if size is None or size < MANY else None


def quick_erf(x: torch.Tensor) -> torch.Tensor:
    """The error function of each element of a float32 tensor of the host's."""
    functions = _functions()
    if functions is None:
        return torch.erf(x)
    given = x.resolve_neg().contiguous()
    made = torch.empty(given.shape, dtype=torch.float32)
    functions[0](address(given), given.numel(), address(made))
    return made


def _functions() -> tuple[Callable[..., None], Callable[..., None]] | None:
    """One that writes results elsewhere, and one that writes them over the values; None without a compiler."""
    global _found
    if settings.no_compiler():
        return None
    if _found is _UNASKED:
        made = library("erf", SOURCE)
        if made is None:
            _found = None
        else:
            made.erf_of.argtypes = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
            made.erf_of.restype = None
            made.erf_over.argtypes = (ctypes.c_void_p, ctypes.c_int64)
            made.erf_over.restype = None
            _found = made.erf_of, made.erf_over
    return _found  # type: ignore[return-value]


_UNASKED = object()
_found: object = _UNASKED
