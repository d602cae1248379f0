"""Capturing kernel launches as a CUDA graph, also on several streams.

    launches = Launches(device)
    results = launches.record(work)      runs the work to capture its launches; nothing is computed
    launches.replay()                    computes it: the results have new values

Memory that the work allocates belongs to the graph, and is reused in every replay. Work that launches kernels on
several streams, which fork from the capturing stream and join it again, is captured as a whole (`Streams`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from situs._src.runtime.eager.torch_private import clear_cublas_workspaces


class Launches:
    """The launches of some work on one GPU."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._graph = torch.cuda.CUDAGraph()
        self._side = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def prepare(self, work: Callable[[], Any]) -> None:
        """Runs some work on the capture stream, for what kernels set up at first use."""
        self._side.wait_stream(torch.cuda.current_stream(self._device))
        with _own_work_space(), torch.cuda.stream(self._side):
            work()
        torch.cuda.current_stream(self._device).wait_stream(self._side)
        torch.cuda.synchronize(self._device)

    def record(self, work: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Captures some work and returns its results, whose values are computed by `replay`."""
        # "thread_local": allocations of other threads meanwhile do not concern this capture.
        graph = torch.cuda.graph(self._graph, stream=self._side, capture_error_mode="thread_local")
        with _own_work_space(), graph:
            return work()

    def replay(self) -> None:
        """Enqueues the launches; the GPU runs them asynchronously."""
        self._graph.replay()


class Streams:
    """Streams of one GPU for parallel work, between `fork` and `join`.

    Args:
        device: The GPU.
        count: How many. Number 0 is whatever stream is current when they fork.
    """

    def __init__(self, device: torch.device, count: int) -> None:
        self._device = device
        self._others = [torch.cuda.Stream(device) for _ in range(count - 1)]  # type: ignore[no-untyped-call]
        self._all: list[Any] = []

    def fork(self) -> None:
        """Makes all streams continue from the current one."""
        first = torch.cuda.current_stream(self._device)
        for other in self._others:
            other.wait_stream(first)
        self._all = [first, *self._others]

    def join(self) -> None:
        """Makes the first stream wait for the others."""
        first, *others = self._all
        for other in others:
            first.wait_stream(other)

    @contextmanager
    def on(self, number: int) -> Iterator[None]:
        """Makes one of them the current stream."""
        with torch.cuda.stream(self._all[number]):
            yield

    def mark(self) -> Any:
        """An event at the current position of the current stream."""
        return torch.cuda.current_stream(self._device).record_event()

    def wait(self, mark: Any) -> None:
        """Makes the current stream wait for an event of another one."""
        torch.cuda.current_stream(self._device).wait_event(mark)


_stays = False  # whether a graph uses a workspace that is not its own


@contextmanager
def _own_work_space() -> Iterator[None]:
    """Frees cuBLAS workspaces before and after: each stream has one, and a graph has its own.

    Not while there are other threads, which may be enqueueing work that uses theirs. A graph that is captured then uses
    the workspace of its stream, which must stay from then on.
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
