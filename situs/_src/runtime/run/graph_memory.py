"""Accounting for the memory of a CUDA graph in the ledgers of its logical devices.

    memory = GraphMemory(devices)
    memory.noted(record)         captures work whose calls `memory.noting` has wrapped
    memory.is_held               from here on, while `memory` is alive

Memory that is allocated during capture returns to the graph's private pool, and stays there. If PyTorch's allocator
does the accounting for a device, it includes that. But if several logical devices share a GPU, each has a ledger that
tracks tensors, and would consider the memory free after the capture: so the peak of each device during
the capture, minus what is left of it as tensors, is entered as one holding, *CUDA graph*. If it does not fit,
the ledger raises an error as for a tensor, and the work is not captured.

Allocations of other threads on the same device are counted as well: the holding may be too large, never too
small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from situs._src.base.budget.ledger import Account
from situs._src.base.devices.logical import Device
from situs._src.ir.graph.origin import origin
from situs._src.runtime.plan.plan import Call

T = TypeVar("T")


class GraphMemory:
    """The memory of one CUDA graph.

    Args:
        devices: The logical devices whose work is captured.
    """

    def __init__(self, devices: Iterable[Device]) -> None:
        found: list[Account] = [device.account for device in devices if device.account is not None]
        self._accounts = [account for account in found if account.meter is None]
        self._most: dict[Account, int] | None = None  # during capture
        self._pools: list[_Pool] = []

    @property
    def is_held(self) -> bool:
        """Whether some of it has been entered."""
        return bool(self._pools)

    def let_go(self) -> None:
        """Removes it from the ledgers: the graph is freed."""
        self._pools = []

    def noting(self, call: Call) -> Call:
        """Wraps a call to record its device's memory use; unchanged where the ledger does not count."""
        account: Account | None = call.device.account
        if account is None or account not in self._accounts:
            return call
        return replace(call, function=self._noting(call.function, account))

    def _noting(self, function: Callable[..., Any], account: Account) -> Callable[..., Any]:
        def run(*values: Any) -> Any:
            made = function(*values)
            if self._most is not None:
                self._most[account] = max(self._most[account], account.usage().current)
            return made

        return run

    def noted(self, record: Callable[[], T]) -> T:
        """Tracks memory use while `record` captures work, and enters it afterwards; returns its result.

        Raises:
            LimitReached: it does not fit.
        """
        self.let_go()  # of an earlier recording
        self._most = {account: account.usage().current for account in self._accounts}
        try:
            made = record()
            for account, most in self._most.items():
                size = most - account.usage().current
                if size > 0:
                    self._pools.append(_Pool())
                    account.hold(self._pools[-1], -id(self._pools[-1]), size, "CUDA graph", origin)
            return made
        finally:
            self._most = None


class _Pool:
    """Stands for the memory of a graph in a ledger."""
