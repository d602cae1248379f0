"""Resized images, in C.

`ops.image_resize` and `ops.image_filter` go over images axis by axis. By PyTorch's ops each step along an axis gathers
pixels of a few channels, which takes several passes over memory; in C

    bilinear    a row of the result lies between two rows of the image, each brought to the new width once
    weighted    a row of the result is a sum of rows of the image, brought to the new width while it is in a cache

so that an image is read once, and of a smaller result only the rows that count. Sums are taken in the same order, and
the results are those of PyTorch's ops to the bit, which take over where there is no compiler.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch

from situs._src.base.compile_c import Deferred
from situs._src.runtime.eager.addresses import address

WORTH_COMPILING = 10_000_000  # elements that a process has seen: by then PyTorch's ops have spent some 100 ms on them

SOURCE = r"""
#include <stdint.h>

#define ALWAYS static inline __attribute__((always_inline))

/* `sizes`: the height, the width, the channels, the new height, the new width. */

#define RESIZING(pixel)                                                                                            \
    ALWAYS void between_##pixel(const pixel *restrict row, const int64_t *lower, const int64_t *upper,             \
                                const float *part, int64_t columns, int64_t channels, float *restrict line) {      \
        for (int64_t x = 0; x < columns; x++) {                                                                    \
            const pixel *one = row + lower[x] * channels, *other = row + upper[x] * channels;                      \
            for (int64_t c = 0; c < channels; c++) {                                                               \
                float first = one[c];                                                                              \
                line[x * channels + c] = ((float)other[c] - first) * part[x] + first;                              \
            }                                                                                                      \
        }                                                                                                          \
    }                                                                                                              \
                                                                                                                   \
    static void line_##pixel(const pixel *row, const int64_t *lower, const int64_t *upper, const float *part,      \
                             int64_t columns, int64_t channels, float *line) {                                     \
        if (channels == 1) between_##pixel(row, lower, upper, part, columns, 1, line);                             \
        else if (channels == 3) between_##pixel(row, lower, upper, part, columns, 3, line);                        \
        else between_##pixel(row, lower, upper, part, columns, channels, line);                                    \
    }                                                                                                              \
                                                                                                                   \
    /* `lines` has space for two rows of the result: they are kept for the next row, which often lies between the  \
       same ones. */                                                                                               \
    void bilinear_##pixel(const pixel *images, int64_t batch, const int64_t *sizes, const int64_t *lower_rows,     \
                          const int64_t *upper_rows, const float *row_part, const int64_t *lower,                  \
                          const int64_t *upper, const float *part, float *lines, float *restrict out) {            \
        int64_t height = sizes[0], width = sizes[1], channels = sizes[2], rows = sizes[3], columns = sizes[4];     \
        int64_t wide = columns * channels;                                                                         \
        for (int64_t n = 0; n < batch; n++, images += height * width * channels) {                                 \
            float *line[2] = { lines, lines + wide };                                                              \
            int64_t row_of[2] = { -1, -1 };                                                                        \
            for (int64_t y = 0; y < rows; y++, out += wide) {                                                      \
                int64_t wanted[2] = { lower_rows[y], upper_rows[y] };                                              \
                if (row_of[0] != wanted[0] && row_of[1] == wanted[0]) {                                            \
                    float *swapped = line[0];                                                                      \
                    line[0] = line[1], line[1] = swapped;                                                          \
                    row_of[1] = row_of[0], row_of[0] = wanted[0];                                                  \
                }                                                                                                  \
                for (int side = 0; side < 2; side++)                                                               \
                    if (row_of[side] != wanted[side]) {                                                            \
                        line_##pixel(images + wanted[side] * width * channels, lower, upper, part, columns,        \
                                     channels, line[side]);                                                        \
                        row_of[side] = wanted[side];                                                               \
                    }                                                                                              \
                const float *top = line[0], *bottom = line[1];                                                     \
                float share = row_part[y];                                                                         \
                for (int64_t i = 0; i < wide; i++) out[i] = (bottom[i] - top[i]) * share + top[i];                 \
            }                                                                                                      \
        }                                                                                                          \
    }                                                                                                              \
                                                                                                                   \
    /* `line` has space for a row of the image. Each new row has `row_taps` places with their weights. */          \
    void weighted_##pixel(const pixel *images, int64_t batch, const int64_t *sizes, const int64_t *row_places,     \
                          const float *row_weights, int64_t row_taps, const int64_t *places,                       \
                          const float *weights, int64_t taps, float *restrict line, float *restrict out) {         \
        int64_t height = sizes[0], width = sizes[1], channels = sizes[2], rows = sizes[3], columns = sizes[4];     \
        int64_t wide = width * channels;                                                                           \
        for (int64_t n = 0; n < batch; n++, images += height * wide)                                               \
            for (int64_t y = 0; y < rows; y++, out += columns * channels) {                                        \
                for (int64_t t = 0; t < row_taps; t++) {                                                           \
                    const pixel *row = images + row_places[y * row_taps + t] * wide;                               \
                    float weight = row_weights[y * row_taps + t];                                                  \
                    if (t == 0) for (int64_t i = 0; i < wide; i++) line[i] = row[i] * weight;                      \
                    else for (int64_t i = 0; i < wide; i++) line[i] += row[i] * weight;                            \
                }                                                                                                  \
                if (channels == 1) sums(line, places, weights, columns, taps, 1, out);                             \
                else if (channels == 3) sums(line, places, weights, columns, taps, 3, out);                        \
                else sums(line, places, weights, columns, taps, channels, out);                                    \
            }                                                                                                      \
    }

ALWAYS void sums(const float *restrict line, const int64_t *places, const float *weights, int64_t columns,
                 int64_t taps, int64_t channels, float *restrict out) {
    for (int64_t x = 0; x < columns; x++, places += taps, weights += taps, out += channels)
        for (int64_t t = 0; t < taps; t++) {
            const float *pixel = line + places[t] * channels;
            if (t == 0) for (int64_t c = 0; c < channels; c++) out[c] = pixel[c] * weights[t];
            else for (int64_t c = 0; c < channels; c++) out[c] += pixel[c] * weights[t];
        }
}

RESIZING(float)
RESIZING(uint8_t)
"""

Function = Callable[..., None]
Functions = dict[tuple[str, torch.dtype], Function]
_PIXELS = {torch.float32: "float", torch.uint8: "uint8_t"}


def _declared(found: ctypes.CDLL) -> Functions:
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    sizes = ctypes.POINTER(number * 5)
    taps = [pointer, pointer, number]
    made: Functions = {}
    for dtype, word in _PIXELS.items():
        for name, along in (("bilinear", [pointer] * 6), ("weighted", taps * 2)):
            function = getattr(found, f"{name}_{word}")
            function.argtypes = (pointer, number, sizes, *along, pointer, pointer)
            function.restype = None
            made[name, dtype] = function
    return made


def deferred(worth_compiling: int = WORTH_COMPILING) -> Deferred[Functions]:
    """The library, which is compiled after so many elements."""
    return Deferred("resize", SOURCE, _declared, worth_compiling)


_library = deferred()
Between = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # for each new pixel the lower one, the upper one, the part
Taps = tuple[torch.Tensor, torch.Tensor]  # for each new pixel some places, and their weights


def bilinear(images: torch.Tensor, rows: Between, columns: Between) -> torch.Tensor | None:
    """Images whose pixels lie between two rows and two columns; None where PyTorch's ops are to be used."""
    new = len(rows[0]), len(columns[0])
    return _resized("bilinear", images, new, [*rows, *columns], 4, 2 * new[1])


def weighted(images: torch.Tensor, rows: Taps, columns: Taps) -> torch.Tensor | None:
    """Images whose pixels are weighted sums along both axes; None where PyTorch's ops are to be used."""
    new, taps = zip(rows[0].shape, columns[0].shape, strict=True)
    return _resized("weighted", images, new, [*rows, taps[0], *columns, taps[1]], sum(taps), images.shape[2])


def _resized(
    name: str, images: torch.Tensor, new: tuple[int, ...], how: list[Any], work: int, scratch: int
) -> torch.Tensor | None:
    """Runs a function of the library.

    Args:
        name: Which one.
        images: Of any dtype of pixels, channels last.
        new: The new height and width.
        how: Its arguments that say how the result is made of the images.
        work: Pixels that a new one is made of.
        scratch: The pixels that it needs space for.
    """
    if not images.is_cpu or images.is_neg():
        return None
    batch, height, width, channels = images.shape
    found = _library.functions(batch * new[0] * new[1] * channels * work)
    if found is None:
        return None
    images = (images if images.dtype is torch.uint8 else images.to(torch.float32)).contiguous()
    made, lines = torch.empty(batch, *new, channels), torch.empty(scratch * channels)
    sizes = (ctypes.c_int64 * 5)(height, width, channels, *new)
    given = [address(each) if isinstance(each, torch.Tensor) else each for each in (*how, lines, made)]
    found[name, images.dtype](address(images), batch, sizes, *given)
    return made
