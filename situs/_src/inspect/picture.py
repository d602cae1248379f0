"""A picture of memory over time: one panel per device, stacked by op, with the limit as a line.

    GPU:0: at most 48.0 MiB of 64.0 MiB
    64 MiB - - - - - - - - - - - - - -      at the peak
    32 MiB      _____|‾‾|____               MatMul   32.0 MiB
         0 ____|             |____          Const    16.0 MiB
           0 ms     20 ms     40 ms

However many events there were, a panel has a bounded number of points, and the peak is among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from situs._src.inspect.names import short_name
from situs._src.inspect.svg import OTHERS, WIDTH, area, box, label, line, number, short, svg
from situs._src.inspect.track import OPS_SHOWN, Layer, Track, layers, moments
from situs._src.runtime.eager.oom import size_text

POINTS = 1000  # of one panel, at most: more than it has pixels
_LEFT, _RIGHT = 80, 240  # beside a panel: the sizes, the ops
_TOP, _HEIGHT, _BELOW = 34, 186, 46  # a panel: its title, itself, the times
_PLOT = WIDTH - _LEFT - _RIGHT
_TIME_UNITS = (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1))


def timeline(tracks: Sequence[Track], begin: int, end: int, nothing: str) -> str:
    """Memory over time, by op.

    Args:
        tracks: The devices to show; each has events.
        begin: The time at which the picture begins, in nanoseconds.
        end: The time at which it ends.
        nothing: What to write if there is no device.
    """
    if not tracks:
        return svg([label(16, 26, nothing)], 44, nothing)
    parts: list[str] = []
    colours: dict[str, int] = {}
    for row, track in enumerate(tracks):
        parts += _panel(track, begin, end, row * (_TOP + _HEIGHT + _BELOW) + _TOP, colours)
    return svg(parts, len(tracks) * (_TOP + _HEIGHT + _BELOW), "Memory over time")


class _Scale(NamedTuple):
    """From nanoseconds and bytes to places in the picture."""

    begin: int
    span: int
    highest: float  # bytes
    ground: float

    def x(self, time: float) -> float:
        """Where a time is."""
        return _LEFT + (time - self.begin) / self.span * _PLOT

    def y(self, size: float) -> float:
        """Where a size is."""
        return self.ground - size / self.highest * _HEIGHT


def _panel(track: Track, begin: int, end: int, y: float, colours: dict[str, int]) -> list[str]:
    chosen = moments(track, POINTS)
    found = layers(track, chosen)
    coloured = _coloured(found, colours)
    shows_limit = track.peak * 4 >= track.limit  # else the line would press everything to the ground
    highest = max(track.limit if shows_limit else 0, track.peak) * 1.05
    scale = _Scale(begin, max(end - begin, 1), highest, y + _HEIGHT)
    title = f"{short_name(track.name)}: at most {size_text(track.peak)} of {size_text(track.limit)}"
    parts = [label(_LEFT, y - 12, title, "head"), *_sizes(scale), *_times(scale)]
    parts += _areas(found, coloured, scale, track.times[chosen])
    if shows_limit:
        parts.append(line("limit", _LEFT, scale.y(track.limit), _LEFT + _PLOT, scale.y(track.limit), "the limit"))
    return parts + _legend(found, coloured, y)


def _coloured(found: Sequence[Layer], colours: dict[str, int]) -> list[int]:
    """The colour of each layer: that of its op in other panels, if no other op has it in this one."""
    chosen: list[int] = []
    for row, layer in enumerate(found):
        wanted = OTHERS if row == OPS_SHOWN else colours.get(layer.op)
        if wanted is None or wanted in chosen:
            free = [colour for colour in range(OTHERS) if colour not in chosen]
            wanted = next((colour for colour in free if colour not in colours.values()), free[0])
            colours.setdefault(layer.op, wanted)
        chosen.append(wanted)
    return chosen


def _areas(found: Sequence[Layer], coloured: Sequence[int], scale: _Scale, times: npt.NDArray[np.int64]) -> list[str]:
    """One area a layer, what changes little at the bottom.

    The topmost is drawn first, and down to the ground: the others then cover what is theirs.
    """
    order = sorted(range(len(found)), key=lambda row: -_steadiness(found[row]))
    tops = np.cumsum([found[row].values for row in order], axis=0)
    x = [number(scale.x(time)) for time in times.tolist()]
    parts = []
    for row, top in reversed(list(zip(order, tops, strict=True))):
        y = [number(scale.y(size)) for size in top.tolist()]
        parts.append(area(coloured[row], _steps(x, y, number(scale.ground)), _story(found[row])))
    return parts


def _steadiness(layer: Layer) -> float:
    return float(layer.values.mean() / max(layer.values.max(), 1))


def _story(layer: Layer) -> str:
    return f"{layer.op}: at most {size_text(int(layer.values.max()))}, at the peak {size_text(layer.at_peak)}"


def _steps(x: Sequence[str], y: Sequence[str], ground: str) -> str:
    """The outline under a line that stays as it is from one point to the next, and then to the picture's end."""
    parts = [f"M{x[0]} {ground}"]
    height = ground
    for here, there in zip(x, y, strict=True):
        if there != height:
            parts.append(f"H{here}V{there}")
            height = there
    return "".join(parts) + f"H{_LEFT + _PLOT}V{ground}Z"


def _legend(found: Sequence[Layer], coloured: Sequence[int], y: float) -> list[str]:
    left = _LEFT + _PLOT + 14
    parts = [label(WIDTH - 8, y - 12, "at the peak", "right")]
    for row, (layer, colour) in enumerate(zip(found, coloured, strict=True)):
        parts.append(box(colour, left, y + 17 * row, 11, 11))
        parts.append(label(left + 17, y + 17 * row + 10, short(layer.op, 18), hover=_story(layer)))
        parts.append(label(WIDTH - 8, y + 17 * row + 10, size_text(layer.at_peak), "right"))
    return parts


# Axes.


def _sizes(scale: _Scale) -> list[str]:
    parts = []
    for size in _size_ticks(scale.highest):
        y = scale.y(size)
        parts.append(line("grid" if size else "axis", _LEFT, y, _LEFT + _PLOT, y))
        parts.append(label(_LEFT - 8, y + 4, size_text(size).replace(".0 ", " ") if size else "0", "right"))
    return parts


def _size_ticks(highest: float) -> list[int]:
    """Up to eight round sizes from 0 on."""
    step = 1
    while highest / step >= 8:
        step *= 2
    return [step * tick for tick in range(floor(highest / step) + 1)]


def _times(scale: _Scale) -> list[str]:
    # A round number of nanoseconds that fits up to eight times into a span.
    rough = max(scale.span / 8, 1)
    power = int(10 ** floor(log10(rough)))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    unit, length = next(found for found in _TIME_UNITS if scale.span >= found[1])
    parts = []
    for tick in range(floor(scale.span / step) + 1):
        x = scale.x(scale.begin + tick * step)
        parts.append(line("axis", x, scale.ground, x, scale.ground + 4))
        parts.append(label(x, scale.ground + 17, f"{tick * step / length:g} {unit}", "middle"))
    return parts
