"""A bar chart of what uses each device's memory at one moment.

GPU:0: 12.0 MiB of 64.0 MiB, ...
  MatMul  train.py:12  ████████████  8.0 MiB
   Const  train.py:3   ██████        4.0 MiB
"""

from __future__ import annotations

from collections.abc import Sequence

from situs._src.inspect.figures import DeviceMemory
from situs._src.inspect.holders import Holder
from situs._src.inspect.names import short_name
from situs._src.inspect.svg import OTHERS, WIDTH, box, label, short, svg
from situs._src.runtime.eager.oom import size_text

SHOWN = OTHERS  # holders of one device; the others are added up
_LEFT, _RIGHT, _HEAD, _ROW = 320, 100, 36, 22


def bars(devices: Sequence[DeviceMemory]) -> str:
    """What fills each device: a bar for each of its largest holders, and one for the rest."""
    parts: list[str] = []
    y = 0
    for device in devices:
        parts.append(label(16, y + 24, _title(device), "head"))
        y += _HEAD
        for number, (text, hover, size) in enumerate(_rows(device)):
            parts += _bar(number, text, hover, size, size / device.current, y)
            y += _ROW
    return svg(parts, y + 12, "Memory")


def _title(device: DeviceMemory) -> str:
    title = f"{short_name(device.name)}: {size_text(device.current)}"
    if device.limit is None or device.peak is None:
        return title
    return f"{title} of {size_text(device.limit)}, at most {size_text(device.peak)} so far ({device.policy})"


def _rows(device: DeviceMemory) -> list[tuple[str, str, int]]:
    """What to write beside each bar, what to show on it, and its size."""
    shown = device.holders[:SHOWN]
    rows = [(_name(holder), _details(holder), holder.size) for holder in shown]
    rest = device.current - sum(holder.size for holder in shown)
    return [*rows, ("other", "other tensors and work space", rest)] if rest > 0 else rows


def _name(holder: Holder) -> str:
    return ", ".join(short(part, 24) for part in (holder.op, holder.line) if part)


def _details(holder: Holder) -> str:
    where = f"{holder.file}:{holder.lineno}" if holder.file else ""
    caller = f"called from {holder.caller}" if holder.caller else ""
    parts = (holder.op, where, caller, f"{holder.count} blocks", size_text(holder.size))
    return ", ".join(part for part in parts if part)


def _bar(number: int, text: str, hover: str, size: int, share: float, y: float) -> list[str]:
    width = share * (WIDTH - _LEFT - _RIGHT)
    return [
        label(_LEFT - 10, y + 12, text, "right", hover),
        box(number, _LEFT, y, max(width, 1), 16, hover),
        label(_LEFT + width + 8, y + 12, size_text(size)),
    ]
