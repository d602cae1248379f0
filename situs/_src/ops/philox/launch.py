"""Launching one Triton kernel repeatedly, bypassing Triton's own dispatch.

Triton's own launcher inspects every argument again, to find the kernel that was compiled for it. Here the arguments of
a kernel always have the same types: 64-bit integers, and memory that the allocator has aligned. So the kernel that the
first launch on a GPU has found is cached, and launched by the function that Triton itself calls in the end:

    first      function[grid](*tensors, *numbers, *constants)                     compiles; milliseconds to seconds
    later      compiled.run(grid, stream, function, metadata, ..., addresses)     nothing is looked at
               compiled[grid](*addresses, stream=stream)                          where a Triton has no such `run`

This is the only file that knows how Triton's compiled kernels are called (3.0 and later: ``run`` takes three sizes of
the grid, the stream, the function, its metadata, what hooks are told and two hooks, and the arguments). A Triton whose
``run`` takes others refuses the call with a `TypeError` before anything is launched, and is called by its grid. Hooks
of Triton's own profiler are not called; CUDA's profilers see the launches all the same.

A kernel launched here must give the same results when it is launched twice with the same arguments: the first launch
is made again, to see which way is understood.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from situs._src.runtime.eager.torch_private import current_card, current_stream

Launch = Callable[..., object]  # of the number of programs, the stream, and the arguments as integers


class Kernel:
    """A kernel of Triton's.

    Args:
        function: What ``triton.jit`` made. Its arguments are tensors, integers, and constants, in this order.
        options: What it is compiled with.
    """

    __slots__ = ("_function", "_launches", "_options")

    def __init__(self, function: Any, **options: object) -> None:
        self._function = function
        self._options = options
        self._launches: dict[tuple[int, tuple[int, ...]], Launch] = {}  # by the number of a GPU, and constants

    def launch(
        self,
        card: int,
        programs: int,
        tensors: tuple[torch.Tensor, ...],
        numbers: tuple[int, ...],
        constants: tuple[int, ...],
    ) -> None:
        """Orders the kernel on a GPU, in its current stream.

        Args:
            card: PyTorch's number of the GPU.
            programs: How many programs the kernel consists of.
            tensors: Memory on that GPU.
            numbers: Integers that fit 64 bits with their sign.
            constants: What the kernel is compiled for.
        """
        if card != current_card():  # Triton launches on the current one
            with torch.cuda.device(card):
                self.launch(card, programs, tensors, numbers, constants)
            return
        known = self._launches.get((card, constants))
        if known is not None:
            known(programs, current_stream(card), *[each.data_ptr() for each in tensors], *numbers, *constants)
            return
        compiled = self._function[programs,](*tensors, *numbers, *constants, **self._options)
        plain = (*[each.data_ptr() for each in tensors], *numbers, *constants)
        self._launches[card, constants] = _quickest(compiled, programs, current_stream(card), *plain)


def _quickest(compiled: Any, *first: int) -> Launch:
    """The quickest way to launch a kernel that this Triton has, found by a launch."""
    try:
        run, function, metadata = compiled.run, compiled.function, compiled.packed_metadata

        def launch(programs: int, stream: int, *arguments: int) -> None:
            run(programs, 1, 1, stream, function, metadata, None, None, None, *arguments)

        launch(*first)
    except (AttributeError, TypeError):
        return lambda programs, stream, *arguments: compiled[programs, 1, 1](*arguments, stream=stream)
    return launch
