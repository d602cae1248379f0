"""``tf.config.gpu``: how much memory this process takes of every GPU."""

from __future__ import annotations

from situs.devices.inventory import process
from situs.memory import policy

__all__ = [
    "set_per_process_memory_fraction",
    "set_per_process_memory_growth",
]


def set_per_process_memory_growth(enabled: bool = True) -> None:
    """Starts with little memory of each GPU and takes more as the program needs it."""
    for device in process.physical("GPU"):
        policy.set_growth(device, enabled)


def set_per_process_memory_fraction(fraction: float) -> None:
    """Takes this share of each GPU's total memory, and never more.

    Args:
        fraction: Above 0, at most 1; 0.4 takes 40 % of each card.
    """
    policy.set_fraction(fraction)
