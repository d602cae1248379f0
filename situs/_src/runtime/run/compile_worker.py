"""A low-priority process that traces and compiles region bodies for another process.

    python -m situs._src.runtime.run.compile_worker

    stdin    <- 8 bytes, a length; then as many bytes: a packed `Order` (`runtime.run.carry`), to be traced
    stdout   -> 8 bytes, a length; then as many: a pickled `Outcome`, with the calls that cannot be traced, if any

    stdin    <- a length; then as many: the number of an order as text, to be compiled
    stdout   -> a length; then as many: its `Outcome`

All regions are traced before any is compiled: if one has calls that cannot be traced, the plan is partitioned again.
The process runs at nice 19, and exits as soon as the other one has exited or closed the pipe, even in the middle of a
compilation.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from dataclasses import dataclass
from typing import IO

import torch

from situs._src.runtime.eager import determinism, precision
from situs._src.runtime.run import inductor
from situs._src.runtime.run.carry import unpacked
from situs._src.runtime.run.region_body import Body, trace_body
from situs._src.runtime.run.region_cache import Outcome

LENGTH = 8  # bytes
WATCHED = 0.5  # seconds between two checks of the parent process


@dataclass(frozen=True)
class Order:
    """A request to compile a body.

    Attributes:
        body: The body.
        exact: Whether fused values are rounded after each op.
        tensor_float_32: Whether products of float32 may use tensor cores.
        is_deterministic: Whether results must be bitwise reproducible.
        threads: The number of compute threads of the parent process.
    """

    body: Body
    exact: bool
    tensor_float_32: bool
    is_deterministic: bool
    threads: int


def order_of(body: Body, exact: bool) -> Order:
    """An order with the settings of this process."""
    return Order(body, exact, precision.tensor_float_32(), determinism.is_required(), torch.get_num_threads())


def compiled_outcome(traced: inductor.Traced, exact: bool) -> Outcome:
    """The result of compiling a graph, or why it failed."""
    try:
        kernels = inductor.saved(inductor.compiled(traced, exact))
    except Exception as error:  # a bug of the compiler, or of the machine's
        return Outcome(failure=inductor.failure_of(error))
    return Outcome(kernels=kernels, refuses=traced.refuses)


class Worker:
    """Answers messages."""

    def __init__(self) -> None:
        self._traced: list[tuple[inductor.Traced | None, bool]] = []

    def answer(self, message: bytes) -> Outcome:
        """Traces an order, or compiles one that has been traced."""
        if message.isdigit():
            traced, exact = self._traced[int(message)]
            return Outcome(failure="it was not traced") if traced is None else compiled_outcome(traced, exact)
        order: Order = unpacked(message)
        precision.set_tensor_float_32(order.tensor_float_32)
        if any(layout.device.type != "cpu" for layout in order.body.inputs):
            precision.apply()
        if order.is_deterministic:
            determinism.require()
        torch.set_num_threads(order.threads)  # CPU code is compiled for a number of threads
        traced, refused = trace_body(order.body)
        self._traced.append((traced, order.exact))
        return Outcome(refused)


def send(pipe: IO[bytes], data: bytes) -> None:
    """Writes a message."""
    pipe.write(len(data).to_bytes(LENGTH, "little") + data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes | None:
    """Reads a message; None if the pipe is closed."""
    head = pipe.read(LENGTH)
    if len(head) < LENGTH:
        return None
    size = int.from_bytes(head, "little")
    data = pipe.read(size)
    return data if len(data) == size else None


def main() -> None:
    """Serves orders until there are no more."""
    os.nice(19)
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # other output must not mix with the answers
    parent = os.getppid()
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    worker = Worker()
    while (data := receive(sys.stdin.buffer)) is not None:
        send(results, pickle.dumps(worker.answer(data), protocol=pickle.HIGHEST_PROTOCOL))
    os._exit(0)  # even if the compiler is still busy


def _watch(parent: int) -> None:
    """Exits when the parent process has exited."""
    while os.getppid() == parent:
        time.sleep(WATCHED)
    os._exit(0)


if __name__ == "__main__":
    main()
