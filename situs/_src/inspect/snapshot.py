"""A snapshot: the memory use of every device at one moment, and what uses it.

    snapshot = tf.memory.snapshot()
    print(snapshot)                          # a table
    snapshot["GPU:0"].current                # bytes
    snapshot["GPU:0"].holders[0].line        # 'train.py:12'
    snapshot.save("memory.html")             # or .svg, .json

The figures of a GPU are those of its ledger; those of a CPU come from a census, taken now.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from situs._src.base.budget import policy
from situs._src.base.budget.ledger import Account
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device, in_listing_order
from situs._src.base.export import export
from situs._src.base.typing import PathLike
from situs._src.inspect.bars import bars
from situs._src.inspect.census import census
from situs._src.inspect.figures import DeviceMemory
from situs._src.inspect.holders import Holder, joined, maker
from situs._src.inspect.names import find, short_name
from situs._src.inspect.output import write
from situs._src.inspect.page import fragment, page
from situs._src.inspect.table import Table, holder_table, text_of
from situs._src.runtime.eager.oom import size_text


@export("memory.Snapshot")
@dataclass(frozen=True, repr=False)
class Snapshot:
    """The memory of all devices at one moment: index it by device, iterate, print or save it."""

    devices: tuple[DeviceMemory, ...]

    def __getitem__(self, device: str) -> DeviceMemory:
        return find(self.devices, device)

    def __iter__(self) -> Iterator[DeviceMemory]:
        return iter(self.devices)

    def __len__(self) -> int:
        return len(self.devices)

    def by_op(self) -> Snapshot:
        """The same with holders joined by op, wherever in the program it was called."""
        return Snapshot(tuple(device.by_op() for device in self.devices))

    def by_line(self) -> Snapshot:
        """The same with holders joined by the line of the program, whatever ops it called."""
        return Snapshot(tuple(device.by_line() for device in self.devices))

    def to_dict(self) -> dict[str, Any]:
        """The snapshot as plain data that JSON can hold."""
        return {"devices": [device.to_dict() for device in self.devices]}

    def save(self, path: PathLike) -> None:
        """Writes the snapshot to a file: data (``.json``), a picture (``.svg``) or a page with both (``.html``).

        Raises:
            ValueError: the name of the file ends in none of these.
            OpError: the file cannot be written.
        """
        as_text: dict[str, Callable[[], str]] = {
            ".json": lambda: json.dumps(self.to_dict(), indent=2),
            ".svg": lambda: bars(self.devices),
            ".html": lambda: page("Memory", bars(self.devices), self._tables()),
        }
        write(path, as_text)

    def _tables(self) -> list[Table]:
        held = [device for device in self.devices if device.current]
        filled = holder_table((short_name(device.name), device.holders, device.current) for device in held)
        return [_figures(self.devices), *([filled] if filled.rows else [])]

    def __str__(self) -> str:
        return "\n\n".join(text_of(table) for table in self._tables())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return fragment(bars(self.devices), "Memory", self._tables())


def _figures(devices: Iterable[DeviceMemory]) -> Table:
    titles = ("device", "current", "peak", "reserved", "limit", "policy")
    rows = []
    for device in devices:
        sizes = (device.current, device.peak, device.reserved, device.limit)
        texts = ("-" if size is None else size_text(size) for size in sizes)
        rows.append((short_name(device.name), *texts, device.policy or "-"))
    return Table(titles, rows)


@export("memory.snapshot")
def snapshot() -> Snapshot:
    """Says how much memory every device holds now, and which ops and lines of the program made what is held.

    GPUs are exact, virtual ones too. On a whole real GPU, tensors below 64 KiB and work space are in the total only.
    Of the CPU there is a census of the tensors that are alive: no peak, and no lines.

    Returns:
        A `Snapshot`, which prints as a table; ``to_dict()`` gives it as plain data, ``save()`` writes a picture.

    Example:
        >>> import situs as tf
        >>> with tf.device("/cpu:0"):
        ...     kept = tf.ones([1024, 1024])
        >>> snapshot()["CPU:0"].current >= 4 * 1024 * 1024
        True
    """
    counted = census()
    devices = in_listing_order(process.devices())
    return Snapshot(tuple(_of_cpu(d, counted.get(d, ())) if d.account is None else _of_gpu(d.account) for d in devices))


def _of_cpu(device: Device, holders: tuple[Holder, ...]) -> DeviceMemory:
    return DeviceMemory(device.name, sum(holder.size for holder in holders), None, None, None, "", holders)


def _of_gpu(account: Account) -> DeviceMemory:
    usage, held = account.usage(), account.holdings()
    holders = joined((maker(holding.op, holding.made_at), 1, holding.size) for holding in held)
    # Another thread may have made a tensor between the two: where all are listed, the list says what there is.
    current = sum(holder.size for holder in holders) if account.meter is None else usage.current
    policy_text = str(policy.of(account.device))
    peak = max(usage.peak, current)
    return DeviceMemory(account.device.name, current, peak, usage.reserved, usage.limit, policy_text, holders)
