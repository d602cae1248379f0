"""The result of ``tf.memory.plan``: the predicted peak of every device, where it is reached, and what is alive there.

planned = tf.memory.plan(loss, {x: (128, 784)})
print(planned)                        # a table
planned["GPU:0"].peak                 # bytes
planned["GPU:0"].alive[0].line        # 'train.py:12'
planned.fits                          # False: the run would be out of memory
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from situs._src.base import html
from situs._src.base.export import export
from situs._src.inspect.names import find, short_name
from situs._src.inspect.page import fragment
from situs._src.inspect.table import SHOWN, Table, text_of
from situs._src.runtime.abstract.forecast import DeviceForecast, Item
from situs._src.runtime.eager.oom import size_text


@export("memory.MemoryPlan")
@dataclass(frozen=True, repr=False)
class MemoryPlan:
    """The memory that a run will hold: index it by device, iterate or print it.

    Attributes:
        devices: What is predicted for each device that the run uses.
        in_order: Whether the calls follow each other. Where they run side by side, the order in which they happen to
            end decides, and the figures assume that all slow ones take equally long.
    """

    devices: tuple[DeviceForecast, ...]
    in_order: bool = True

    def __getitem__(self, device: str) -> DeviceForecast:
        return find(self.devices, device)

    def __iter__(self) -> Iterator[DeviceForecast]:
        return iter(self.devices)

    def __len__(self) -> int:
        return len(self.devices)

    @property
    def exact(self) -> bool:
        """Whether nothing is missing in the figures; else those that miss something are lower bounds."""
        return all(device.exact for device in self.devices)

    @property
    def fits(self) -> bool:
        """Whether every device has room, as far as it is known."""
        return all(device.fits for device in self.devices)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data that JSON can hold."""
        return {"devices": [device.to_dict() for device in self.devices], "in_order": self.in_order}

    def __str__(self) -> str:
        if not self.devices:
            return "The run holds nothing on any device."
        held = _held(self.devices)
        parts = [text_of(_figures(self.devices)), *([text_of(held)] if held.rows else [])]
        return "\n\n".join([*parts, *self._remarks()])

    def _remarks(self) -> list[str]:
        lines = [f"{short_name(d.name)} holds more: {what}." for d in self.devices for what in d.unknown]
        if not self.in_order:
            lines.append("Some calls run side by side; the figures assume that these take equally long.")
        return ["\n".join(lines)] if lines else []

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        if not self.devices:
            return html.text(str(self))
        tables = [_figures(self.devices), _held(self.devices)]
        return "\n".join([fragment("", "", filter(attrgetter("rows"), tables)), *map(html.text, self._remarks())])


def _figures(devices: Sequence[DeviceForecast]) -> Table:
    titles = ("device", "peak", "limit", "held by others", "fits", "reached at")
    return Table(titles, [_row(device) for device in devices])


def _row(device: DeviceForecast) -> tuple[str, ...]:
    peak = f"{'' if device.exact else 'at least '}{size_text(device.peak)}"
    others = size_text(device.others) if device.others else "-"
    if device.limit is None:
        return short_name(device.name), peak, "-", others, "-", _where(device)
    return short_name(device.name), peak, size_text(device.limit), others, _fits(device), _where(device)


def _fits(device: DeviceForecast) -> str:
    if not device.fits:
        return "no"
    return "yes" if device.exact else "perhaps"


def _where(device: DeviceForecast) -> str:
    return "the start" if device.at is None else f"{device.at.name}  {device.at.line}".rstrip()


def _held(devices: Sequence[DeviceForecast]) -> Table:
    rows: list[tuple[str, ...]] = []
    for device in devices:
        for items, kind in ((device.persistent, "before and after"), (device.alive, "at the peak")):
            rows += [(short_name(device.name), *row) for row in _item_rows(items, kind)]
    return Table(("device", "size", "held", "op", "operation", "line"), rows)


def _item_rows(items: Sequence[Item], kind: str) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        (size_text(item.size), kind, item.op, item.name, item.line) for item in items[:SHOWN]
    ]
    rest = items[SHOWN:]
    if rest:
        rows.append((size_text(sum(item.size for item in rest)), kind, f"({len(rest)} more)", "", ""))
    return rows
