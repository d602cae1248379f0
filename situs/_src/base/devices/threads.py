"""The requested number of threads of CPU kernels.

``intra`` limits the threads inside one kernel and is passed to PyTorch when the devices are created; ``inter`` limits
the ops that a graph runs in parallel. 0 leaves the choice to the runtime.
"""

from __future__ import annotations

from dataclasses import dataclass

from situs._src.base.devices.inventory import process
from situs._src.base.errors import ArgumentError


@dataclass
class Threads:
    """The bounds of this process."""

    intra: int = 0
    inter: int = 0


current = Threads()


def set_intra(count: int) -> None:
    """Bounds the threads inside one CPU kernel; before the devices are made."""
    count = _checked(count)
    message = "Intra op parallelism cannot be modified after initialization"
    process.change(count != current.intra, message, lambda: setattr(current, "intra", count))


def set_inter(count: int) -> None:
    """Bounds the ops that run side by side in a graph; before the devices are made."""
    count = _checked(count)
    message = "Inter op parallelism cannot be modified after initialization"
    process.change(count != current.inter, message, lambda: setattr(current, "inter", count))


def _checked(count: int) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise ArgumentError(f"The number of threads is an integer of at least 0, got {count!r}.")
    return count


def _forget() -> None:
    current.intra = current.inter = 0


process.on_reset(_forget)
