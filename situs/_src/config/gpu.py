"""``tf.config.gpu`` (``tf.gpu`` is another name for it): how much memory this process takes of every GPU."""

from __future__ import annotations

from situs._src.base.budget import policy
from situs._src.base.export import export

__all__ = [
    "set_per_process_memory_fraction",
    "set_per_process_memory_growth",
]


@export("config.gpu.set_per_process_memory_growth", as_is=True)
def set_per_process_memory_growth(enabled: bool = True) -> None:
    """Starts with little memory of each GPU and takes more as the program needs it.

    Combines with a fraction, and with the memory limits of logical GPUs.

    Raises:
        RuntimeError: the devices have been made already.
    """
    policy.set_growth_everywhere(enabled)


@export("config.gpu.set_per_process_memory_fraction", as_is=True)
def set_per_process_memory_fraction(fraction: float) -> None:
    """Takes this share of each GPU's total memory, and never more.

    Args:
        fraction: Above 0, at most 1; 0.4 takes 40 % of each GPU.

    Raises:
        ValueError: there is no such share, or a GPU is split with memory limits.
        RuntimeError: the devices have been made already.
    """
    policy.set_fraction(fraction)
