"""``tf.config.threading``: bounds on the threads of the CPU."""

from __future__ import annotations

from situs.devices import threads

__all__ = [
    "get_inter_op_parallelism_threads",
    "get_intra_op_parallelism_threads",
    "set_inter_op_parallelism_threads",
    "set_intra_op_parallelism_threads",
]


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Bounds the threads that one CPU kernel uses; 0 leaves the choice to the runtime."""
    threads.set_intra(num_threads)


def get_intra_op_parallelism_threads() -> int:
    """The bound on threads inside one CPU kernel; 0 means the runtime chooses."""
    return threads.current.intra


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Bounds the ops that a graph runs side by side; 0 leaves the choice to the runtime."""
    threads.set_inter(num_threads)


def get_inter_op_parallelism_threads() -> int:
    """The bound on ops side by side; 0 means the runtime chooses."""
    return threads.current.inter
