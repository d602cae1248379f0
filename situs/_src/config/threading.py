"""``tf.config.threading``: limits for the CPU's threads."""

from __future__ import annotations

from situs._src.base.devices import threads
from situs._src.base.export import export

__all__ = [
    "get_inter_op_parallelism_threads",
    "get_intra_op_parallelism_threads",
    "set_inter_op_parallelism_threads",
    "set_intra_op_parallelism_threads",
]


@export("config.threading.set_intra_op_parallelism_threads", as_is=True)
def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Bounds the threads that one CPU kernel uses; 0 leaves the choice to the runtime."""
    threads.set_intra(num_threads)


@export("config.threading.get_intra_op_parallelism_threads", as_is=True)
def get_intra_op_parallelism_threads() -> int:
    """The bound on threads inside one CPU kernel; 0 means the runtime chooses."""
    return threads.current.intra


@export("config.threading.set_inter_op_parallelism_threads", as_is=True)
def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Bounds the ops that a graph runs side by side; 0 leaves the choice to the runtime."""
    threads.set_inter(num_threads)


@export("config.threading.get_inter_op_parallelism_threads", as_is=True)
def get_inter_op_parallelism_threads() -> int:
    """The bound on ops side by side; 0 means the runtime chooses."""
    return threads.current.inter
