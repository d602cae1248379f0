"""Launches on a card, recorded as a CUDA graph; and the pinned memory that feeds go through.

    launches = Launches(device)
    results = launches.record(work)      work is run for its launches, but nothing is computed
    launches.replay()                    now it is: what the results hold is new

What the work allocates belongs to the graph, and is used again in every replay.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from situs._src.runtime.eager.torch_private import clear_cublas_workspaces


class Launches:
    """The launches of some work on one card."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._graph = torch.cuda.CUDAGraph()
        self._side = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def prepare(self, work: Callable[[], Any]) -> None:
        """Runs some work on the stream to record it on, for what kernels set up when they are first used."""
        self._side.wait_stream(torch.cuda.current_stream(self._device))
        with _own_work_space(), torch.cuda.stream(self._side):
            work()
        torch.cuda.current_stream(self._device).wait_stream(self._side)
        torch.cuda.synchronize(self._device)

    def record(self, work: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Records some work and returns its results; what is in them is made by `replay`."""
        # "thread_local": what other threads allocate meanwhile is none of this capture's business.
        graph = torch.cuda.graph(self._graph, stream=self._side, capture_error_mode="thread_local")
        with _own_work_space(), graph:
            return work()

    def replay(self) -> None:
        """Orders the launches; the card makes them by and by."""
        self._graph.replay()


class Staging:
    """Pinned memory that what is fed goes through, twice: the host fills one half while the card reads the other.

    CUDA would first wait for all that was ordered before it copied from other memory.

    Args:
        buffer: Where on the card it goes.
    """

    def __init__(self, buffer: torch.Tensor) -> None:
        self._buffer = buffer
        self._halves = [torch.empty_like(buffer, device="cpu", pin_memory=True) for _ in range(2)]
        event: Any = torch.cuda.Event
        self._read = [event(), event()]  # when the card has read a half
        self._turn = 0

    def send(self, value: torch.Tensor) -> None:
        """Fills the buffer with a value of the host's, before what is ordered next."""
        half, read = self._halves[self._turn], self._read[self._turn]
        self._turn = 1 - self._turn
        read.synchronize()
        half.copy_(value)
        self._buffer.copy_(half, non_blocking=True)
        read.record(torch.cuda.current_stream(self._buffer.device))


_stays = False  # whether a graph uses work space that is not its own


@contextmanager
def _own_work_space() -> Iterator[None]:
    """Lets go of the matrix library's work space before and after: each stream has one, and a graph has its own.

    Not while there are other threads, which may be ordering work that uses theirs. A graph that is recorded then uses
    the work space of its stream, which must stay from then on.
    """
    global _stays
    _stays = _stays or threading.active_count() > 1
    if not _stays:
        clear_cublas_workspaces()
    try:
        yield
    finally:
        if not _stays:
            clear_cublas_workspaces()
