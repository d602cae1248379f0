"""Staging buffers: feeds of a captured run on their way from the host to the GPU.

    fed        pageable memory      y  seed      x
                                     \\  |         |         written once, by this thread
    staged     pinned memory       [ y | seed ]  [ x ]      two halves: one is filled while the GPU reads the other
                                         |         |         one asynchronous copy each
    buffers    the GPU             [ y | seed ]  [ x ]      where the kernels read them

A copy from pageable memory would wait for all work launched before. Small values are packed into one block, on both
sides: launching a copy takes the host equally long for four bytes or four thousand. One event per run tells when a half
has been read, so the host is never more than two runs ahead of the GPU.

Up to `ALONE_UP_TO` bytes are written by this thread alone. On an H200's host with 16 cores, 400 kB that were in no
cache took it 31 us, and PyTorch's idle threads 19. But between the steps of a program those threads go to sleep: in a
profile of Keras' `fit` the same copy took them about 100 us, and this thread 57.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from situs._src.runtime.eager.torch_private import raw_stream

SMALL_UP_TO = 2**16  # bytes of a value that is packed into the block
LARGE_UP_TO = 2**26  # bytes of a value that is staged at all: two halves of it stay pinned
ALONE_UP_TO = 2**22  # bytes of a value that this thread writes alone
ALIGNED = 256  # bytes: as CUDA's own allocations are, at least

Write = Callable[[torch.Tensor], None]


class Block:
    """Values of known shapes packed into one block of memory.

    Args:
        like: Tensors with the shapes and dtypes of the values.
        allocate: Allocates a number of bytes, as a tensor of uint8.
    """

    def __init__(self, like: Sequence[torch.Tensor], allocate: Callable[[int], torch.Tensor]) -> None:
        starts, end = [], 0
        for each in like:
            starts.append(end)
            end += -(-each.nbytes // ALIGNED) * ALIGNED
        self.whole = allocate(end)
        self.parts = [self._part(start, each) for start, each in zip(starts, like, strict=True)]

    def _part(self, start: int, like: torch.Tensor) -> torch.Tensor:
        return self.whole[start : start + like.nbytes].view(like.dtype).view(like.shape)


class Staging:
    """Pinned memory in two halves that host values go through.

    Args:
        small: The block on the GPU that small values go to, and the position of each among the feeds.
        large: The buffers on the GPU of other values, by position.
    """

    def __init__(self, small: tuple[Block, list[int]] | None, large: dict[int, torch.Tensor]) -> None:
        self._halves = [_Half(small, large) for _ in range(2)]
        self._device = (small[0].whole if small is not None else next(iter(large.values()))).device
        self._turn = 0
        self._stream: tuple[int | None, Any] = None, None

    def send(self, fed: Sequence[torch.Tensor]) -> None:
        """Fills the buffers with host values, before the work that is enqueued next."""
        half = self._halves[self._turn]
        self._turn = 1 - self._turn
        half.is_read.synchronize()
        for place, write in half.writes:
            write(fed[place])
        for buffer, staged in half.crossings:
            buffer.copy_(staged, non_blocking=True)
        half.is_read.record(self._current_stream())

    def _current_stream(self) -> Any:
        """The current stream; creating its object takes longer than checking which one it is."""
        number = raw_stream(self._device.index)
        if number is None or number != self._stream[0]:
            self._stream = number, current_stream(self._device)
        return self._stream[1]


class _Half:
    """One of the two: how it is written, and its copies to the GPU."""

    def __init__(self, small: tuple[Block, list[int]] | None, large: dict[int, torch.Tensor]) -> None:
        self.is_read: Any = event()  # when the GPU has read it
        self.writes: list[tuple[int, Write]] = []
        self.crossings: list[tuple[torch.Tensor, torch.Tensor]] = []
        if small is not None:
            block, places = small
            staged = Block(block.parts, pinned)
            self.crossings.append((block.whole, staged.whole))
            self.writes += [(place, writer(part)) for place, part in zip(places, staged.parts, strict=True)]
        for place, buffer in large.items():
            alone = Block([buffer], pinned)
            self.crossings.append((buffer, alone.parts[0]))
            self.writes.append((place, writer(alone.parts[0])))


def writer(target: torch.Tensor) -> Write:
    """A function that writes values into host memory."""
    if target.nbytes < SMALL_UP_TO or target.nbytes > ALONE_UP_TO or target.dtype not in _NUMPYS:
        return target.copy_  # type: ignore[return-value]  # which returns what it wrote to
    array = target.numpy()
    return lambda value: np.copyto(array, value.numpy())


_WHOLE = {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
_NUMPYS = _WHOLE | {torch.float16, torch.float32, torch.float64, torch.complex64, torch.complex128}


# What belongs to CUDA.


def crosses(device: torch.device) -> bool:
    """Whether host values reach a device by asynchronous copies."""
    return device.type == "cuda"


def pinned(size: int) -> torch.Tensor:
    """Pinned memory of a number of bytes."""
    return torch.empty(size, dtype=torch.uint8, pin_memory=True)


def event() -> Any:
    """An event, complete if nothing was recorded."""
    return torch.cuda.Event()  # type: ignore[no-untyped-call]


def current_stream(device: torch.device) -> Any:
    """The stream that this thread enqueues work on."""
    return torch.cuda.current_stream(device)
