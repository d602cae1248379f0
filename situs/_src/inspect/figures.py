"""The figures of one device: current memory use, limit and peak, and what uses it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from situs._src.base.export import export
from situs._src.inspect.holders import Holder, by_line, by_op


@export("memory.DeviceMemory")
@dataclass(frozen=True)
class DeviceMemory:
    """The memory of one device, in bytes.

    Attributes:
        name: The device's full name.
        current: What tensors hold now.
        peak: What they held at most, since the start or the last reset; None for a CPU.
        reserved: What is taken from the GPU; None for a CPU.
        limit: What tensors may hold; None for a CPU.
        policy: How memory is reserved on the GPU, in words; empty for a CPU.
        holders: What fills it, largest first.
    """

    name: str
    current: int
    peak: int | None
    reserved: int | None
    limit: int | None
    policy: str
    holders: tuple[Holder, ...]

    @property
    def other(self) -> int:
        """What the holders leave unexplained: on a whole real GPU, small tensors and the work space of kernels."""
        return self.current - sum(holder.size for holder in self.holders)

    def by_op(self) -> DeviceMemory:
        """The same with holders joined by op."""
        return replace(self, holders=by_op(self.holders))

    def by_line(self) -> DeviceMemory:
        """The same with holders joined by the line of the program."""
        return replace(self, holders=by_line(self.holders))

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain data."""
        figures = {"current": self.current, "peak": self.peak, "reserved": self.reserved, "limit": self.limit}
        holders = [holder.to_dict() for holder in self.holders]
        return {"name": self.name, **figures, "policy": self.policy, "holders": holders, "other": self.other}
