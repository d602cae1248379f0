"""The picture of what fills each device: a bar for each of the largest holders, and one for the rest."""

from __future__ import annotations

import re

from situs._src.inspect.bars import SHOWN, bars
from situs._src.inspect.figures import DeviceMemory
from situs._src.inspect.holders import Holder

KIB = 2**10


def drawn(current, sizes):
    """The lengths of the bars of a device, as shares of the longest, and the last text."""
    holders = tuple(Holder(f"Op{number}", "train.py", number + 1, "", 1, size) for number, size in enumerate(sizes))
    device = DeviceMemory("/job:localhost/replica:0/task:0/device:GPU:1", current, current, current, 99, "", holders)
    picture = bars([device])
    widths = [float(width) for width in re.findall(r'<rect [^>]*?width="([\d.]+)"', picture) if float(width) < 800]
    return [round(width / max(widths), 2) for width in widths], re.findall(r">([^<>]+)</text>", picture)[-1]


def test_bars_are_as_long_as_what_they_stand_for():
    assert drawn(6 * KIB, [4 * KIB, 2 * KIB]) == ([1.0, 0.5], "2.0 KiB")


def test_what_holders_leave_unexplained_is_the_last_bar():
    assert drawn(8 * KIB, [4 * KIB, 2 * KIB]) == ([1.0, 0.5, 0.5], "2.0 KiB")


def test_the_smallest_of_many_holders_are_added_up():
    shares, last = drawn((SHOWN + 3) * KIB, [KIB] * (SHOWN + 3))
    assert len(shares) == SHOWN + 1
    assert (shares[-1], last) == (1.0, "3.0 KiB")
