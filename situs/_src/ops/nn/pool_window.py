"""The windows of pooling, and the corresponding arguments for PyTorch.

PyTorch pads both sides alike, and by half a window at most. `fit_to` finds arguments for which PyTorch's windows
include TensorFlow's; most often the two are the same.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import Dim
from situs._src.ops.nn.window import Slide, slide, spatial

Ints = tuple[int, ...]

# The names of the ops, by the number of spatial dimensions.
MAX_POOL = {1: "MaxPool1D", 2: "MaxPool", 3: "MaxPool3D"}
AVG_POOL = {1: "AvgPool1D", 2: "AvgPool", 3: "AvgPool3D"}


class Fit(NamedTuple):
    """PyTorch's arguments, and the first of its windows that is one of ours, per dimension."""

    margins: Ints
    beyond: bool  # PyTorch's ceil_mode: windows may hang over the end
    starts: Ints
    exact: bool  # whether all of PyTorch's windows are ours


@lru_cache(maxsize=4096)
def fit_to(sizes: Ints, windows: Ints, laid: Slide) -> Fit | None:
    """PyTorch's windows for ours; None if there are none."""
    if not any(laid.before) and not any(laid.after):
        return Fit(laid.before, False, laid.before, True)
    each = zip(sizes, windows, laid.counts, laid.before, laid.strides, laid.dilations, strict=True)
    fits = [_fit_one(*one) for one in each]
    if None in fits:
        return None
    margins, starts, made = zip(*fits, strict=True)
    return Fit(margins, True, starts, made == laid.counts)


def _fit_one(
    size: int, window: int, count: Any, before: int, stride: int, dilation: int
) -> tuple[int, int, int] | None:
    """The margin to ask for, how many windows come before the first of ours, and how many there are in all."""
    reach = (window - 1) * dilation + 1
    for skipped in range(reach):
        margin = before + skipped * stride
        if margin > reach // 2:
            return None
        made = -(-(size + 2 * margin - reach) // stride) + 1
        if (made - 1) * stride >= size + margin:  # PyTorch makes no window that starts behind the input
            made -= 1
        if made >= skipped + count:
            return margin, skipped, made
    return None


@lru_cache(maxsize=4096)
def lay(sizes: tuple[Dim, ...], ksize: Ints, data_format: str, **window: Any) -> tuple[Ints, Slide]:
    """The spatial sizes of a window, and how windows lie.

    Raises:
        InvalidArgumentError, UnimplementedError: the windows cannot be pooled.
    """
    if min(ksize) <= 0:
        raise ArgumentError(f"Sliding window ksize must be positive. The specified ksize is: {list(ksize)}")
    windows = spatial(ksize, data_format, "pooling")
    laid = slide(sizes, windows, data_format, **window)
    for size, before, after in zip(windows, laid.before, laid.after, strict=True):
        if window["padding"] == "EXPLICIT" and max(before, after) >= size:
            raise ArgumentError(f"Padding {max(before, after)} needs to be smaller than the window size {size}")
    return windows, laid


def lifted(windows: Ints, laid: Slide) -> tuple[Ints, Slide]:
    """Both for PyTorch, which sees one spatial dimension as two."""
    return windows if len(windows) > 1 else (1, *windows), laid.lifted()
