"""Ranks of targets and histograms of many floats, in C.

Both are a look at each element and a count. By whole-tensor ops each takes several passes over memory, and neither can
stop early; in C

    in_top_k     a row ends as soon as k of its entries exceed the one at its target, 64 entries at a time
    histogram    a bin is found and its count raised while the element is in a register

The arithmetic is TensorFlow's: the distance from the lower end in the values' dtype, divided in float64. Where there is
no compiler PyTorch's ops take over; the results are equal, and the tests compare them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch

from situs._src.base.compile_c import Deferred
from situs._src.runtime.eager.addresses import address

WORTH_COMPILING = 2_000_000  # elements seen by a process: by then PyTorch's ops have spent some 10 ms on them
MOST_BINS = 2**20  # whose counts fit into a cache; more are left to PyTorch's ops

SOURCE = r"""
#include <stdint.h>
#include <string.h>

enum { BLOCK = 64, MANY = 256 };

static inline int is_finite(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return (bits & 0x7F800000u) != 0x7F800000u;
}

void in_top_k(const float *rows, const void *targets, int wide, int64_t count, int64_t classes, int64_t k,
              uint8_t *out) {
    for (int64_t i = 0; i < count; i++, rows += classes) {
        int64_t target = wide ? ((const int64_t *)targets)[i] : ((const int32_t *)targets)[i];
        out[i] = 0;
        if (target < 0 || target >= classes || !is_finite(rows[target])) continue;
        float chosen = rows[target];
        int64_t better = 0;
        for (int64_t first = 0; first < classes && better < k; first += BLOCK) {
            int64_t many = classes - first < BLOCK ? classes - first : BLOCK;
            int32_t found = 0, strange = 0;
            for (int64_t j = 0; j < many; j++) {
                found += rows[first + j] > chosen;
                strange += !is_finite(rows[first + j]);
            }
            better = strange ? k : better + found;
        }
        out[i] = better < k;
    }
}

/* 0 where a value is no number. */
#define HISTOGRAM(name, real)                                                                              \
    int name(const real *values, int64_t count, real low, double step, int32_t bins, int64_t *out) {       \
        int32_t places[MANY];                                                                              \
        double last = bins - 1;                                                                            \
        for (int64_t first = 0; first < count; first += MANY) {                                            \
            int64_t many = count - first < MANY ? count - first : MANY;                                    \
            int32_t strange = 0;                                                                           \
            for (int64_t j = 0; j < many; j++) {                                                           \
                real value = values[first + j];                                                            \
                strange += value != value;                                                                 \
                double place = (double)((value > low ? value : low) - low) / step;                         \
                places[j] = (int32_t)(place < last ? place : last);                                        \
            }                                                                                              \
            if (strange) return 0;                                                                         \
            for (int64_t j = 0; j < many; j++) out[places[j]]++;                                           \
        }                                                                                                  \
        return 1;                                                                                          \
    }
HISTOGRAM(histogram_float32, float)
HISTOGRAM(histogram_float64, double)
"""


class _Functions:
    """The functions of the library, on tensors of the CPU."""

    def __init__(self, found: ctypes.CDLL) -> None:
        pointer, long, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
        self.in_top_k: Callable[..., None] = found.in_top_k
        found.in_top_k.argtypes = (pointer, pointer, ctypes.c_int, long, long, long, pointer)
        found.in_top_k.restype = None
        self.histograms: dict[torch.dtype, Callable[..., int]] = {
            torch.float32: found.histogram_float32,
            torch.float64: found.histogram_float64,
        }
        found.histogram_float32.argtypes = (pointer, long, ctypes.c_float, real, ctypes.c_int32, pointer)
        found.histogram_float64.argtypes = (pointer, long, real, real, ctypes.c_int32, pointer)


def deferred(worth_compiling: int = WORTH_COMPILING) -> Deferred[_Functions]:
    """The library, which is compiled after so many elements."""
    return Deferred("counts", SOURCE, _Functions, worth_compiling)


_library = deferred()


def in_top_k(predictions: torch.Tensor, targets: torch.Tensor, k: int) -> torch.Tensor | None:
    """Whether fewer than `k` entries of each row exceed the one at its target; None where there is no library.

    Args:
        predictions: A matrix of float32.
        targets: As many int32 or int64 as it has rows.
        k: How many count as the top.
    """
    found = _library.functions(predictions.numel()) if predictions.is_cpu and targets.is_cpu else None
    if found is None:
        return None
    rows, chosen = predictions.resolve_neg().contiguous(), targets.contiguous()
    count, classes = rows.shape
    made = torch.empty(count, dtype=torch.bool)
    found.in_top_k(address(rows), address(chosen), chosen.itemsize == 8, count, classes, k, address(made))
    return made


def histogram(values: torch.Tensor, low: float, step: float, bins: int) -> torch.Tensor | None:
    """How many values are in each bin, as int64; None where there is no library, or no number among the values.

    Args:
        values: Of any floating dtype; those that are neither float32 nor float64 are left to the caller.
        low: Where the first bin begins, finite.
        step: How wide a bin is, finite.
        bins: How many there are.
    """
    if bins > MOST_BINS or not values.is_cpu or values.dtype not in (torch.float32, torch.float64):
        return None
    found = _library.functions(values.numel())
    if found is None:
        return None
    given, made = values.resolve_neg().contiguous(), torch.zeros(bins, dtype=torch.int64)
    whole = found.histograms[values.dtype](address(given), given.numel(), low, step, bins, address(made))
    return made if whole else None
