"""Max pooling of channels-last images, in C.

In C one pass over the windows finds values and places, all channels of a pixel at once, in a third of the time that
PyTorch takes on one thread:

    first       an element that begins its window is its largest yet, at its place
    others      take over where they are larger; a NaN is larger than nothing, and nothing is larger than a NaN

So a result is a NaN only where one stands first, and infinite below only where all of a window is: the caller looks at
the results for both, and does those tensors by PyTorch's ops, as everything where there is no compiler. The results are
equal, and the tests compare them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch

from situs._src.base.compile_c import Deferred
from situs._src.ops.nn.pool_window import Ints
from situs._src.ops.nn.window import Slide
from situs._src.runtime.eager.addresses import address

WORTH_COMPILING = 10_000_000  # elements seen by a process: by then PyTorch has spent some 10 ms on them
_OF_A_THREAD = 2**15  # elements that PyTorch gives a thread at least
_THREADS = 4  # as many of PyTorch's are as fast

SOURCE = r"""
#include <stdint.h>
#include <string.h>

enum { LANES = 16 };
typedef float floats __attribute__((vector_size(4 * LANES)));
typedef int32_t integers __attribute__((vector_size(4 * LANES)));
typedef int64_t wide __attribute__((vector_size(8 * LANES)));

/* `windows`: two each of the sizes of the input, of the output, of windows, of steps, of dilations, of the padding
   before. Every window holds an element of the input, which has less than 2^31 pixels. */
void max_pool(const float *restrict input, int64_t batch, int64_t channels, const int64_t *restrict windows,
              float *restrict out, int64_t *restrict places) {
    int64_t height = windows[0], width = windows[1], rows = windows[2], columns = windows[3];
    for (int64_t n = 0; n < batch; n++, input += height * width * channels)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++, out += channels, places += channels) {
                int64_t top = i * windows[6] - windows[10], left = j * windows[7] - windows[11];
                for (int64_t begin = 0; begin < channels; begin += LANES) {
                    size_t many = (size_t)(channels - begin < LANES ? channels - begin : LANES);
                    floats most = { 0 };
                    integers where = { 0 };
                    int is_first = 1;
                    for (int64_t a = 0; a < windows[4]; a++) {
                        int64_t y = top + a * windows[8];
                        if (y < 0 || y >= height) continue;
                        for (int64_t b = 0; b < windows[5]; b++) {
                            int64_t x = left + b * windows[9];
                            if (x < 0 || x >= width) continue;
                            int64_t place = y * width + x;
                            const float *pixel = input + place * channels + begin;
                            floats found = { 0 };
                            if (many == LANES) memcpy(&found, pixel, sizeof found);
                            else memcpy(&found, pixel, many * sizeof(float));
                            integers here = (integers){ 0 } + (int32_t)place;
                            integers more = is_first ? (integers){ 0 } - 1 : found > most;
                            most = (floats)(((integers)found & more) | ((integers)most & ~more));
                            where = (here & more) | (where & ~more);
                            is_first = 0;
                        }
                    }
                    wide long_places = __builtin_convertvector(where, wide);
                    if (many == LANES) {
                        memcpy(out + begin, &most, sizeof most);
                        memcpy(places + begin, &long_places, sizeof long_places);
                    } else {
                        memcpy(out + begin, &most, many * sizeof(float));
                        memcpy(places + begin, &long_places, many * sizeof(int64_t));
                    }
                }
            }
}
"""

Pooling = Callable[..., None]


def _declared(found: ctypes.CDLL) -> Pooling:
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    found.max_pool.argtypes = (pointer, number, number, ctypes.POINTER(number * 12), pointer, pointer)
    found.max_pool.restype = None
    return found.max_pool


def deferred(worth_compiling: int = WORTH_COMPILING) -> Deferred[Pooling]:
    """The library, which is compiled after so many elements."""
    return Deferred("pool", SOURCE, _declared, worth_compiling)


_library = deferred()


def max_pool(x: torch.Tensor, windows: Ints, laid: Slide) -> tuple[torch.Tensor, torch.Tensor] | None:
    """The largest elements of windows, and their places; None where PyTorch's way is to be taken.

    That is where there is no library, for other dtypes and layouts, for many threads, and for a window without an
    element. A NaN that stands first in its window is its result.

    Args:
        x: ``batch x channels x height x width`` of float32, in memory with the channels last.
        windows: The height and the width of a window.
        laid: How the windows lie.
    """
    size = x.numel()
    if x.dtype is not torch.float32 or x.ndim != 4 or min(size // _OF_A_THREAD, torch.get_num_threads()) >= _THREADS:
        return None
    pixels = x.permute(0, 2, 3, 1)
    if x.shape[2] * x.shape[3] >= 2**31:
        return None
    if not pixels.is_contiguous() or x.is_neg() or any(_is_outside(axis, x, windows, laid) for axis in (0, 1)):
        return None
    found = _library.functions(size)
    if found is None:
        return None
    batch, height, width, channels = pixels.shape
    rows, columns = (int(count) for count in laid.counts)  # type: ignore[arg-type]
    made = torch.empty(batch, rows, columns, channels)
    places = torch.empty(made.shape, dtype=torch.int64)
    given = (ctypes.c_int64 * 12)(height, width, rows, columns, *windows, *laid.strides, *laid.dilations, *laid.before)
    found(address(pixels), batch, channels, given, address(made), address(places))
    return made.permute(0, 3, 1, 2), places.permute(0, 3, 1, 2)


def _is_outside(axis: int, x: torch.Tensor, windows: Ints, laid: Slide) -> bool:
    """Whether a first or a last window, with its dilation, may hold no element of the input."""
    size, window, dilation = x.shape[2 + axis], windows[axis], laid.dilations[axis]
    last = (int(laid.counts[axis] or 0) - 1) * laid.strides[axis] - laid.before[axis]
    return last >= size or (window - 1) * dilation < laid.before[axis] or dilation > size
