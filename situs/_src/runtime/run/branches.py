"""Capturing the work of several logical devices of one GPU in parallel, with a stream for each.

    capture stream     fork ── GPU:0 ── GPU:0 ────────── wait ── GPU:0 ── join ──
                          \\                            /                 /
    another stream         └── GPU:1 ── GPU:1 ── mark ┘  ── GPU:1 ──────┘

The result is one CUDA graph in which each call waits only for its dependencies, so kernels of different replicas
overlap on the GPU. Calls of one device run in plan order. Calls of different
devices are ordered only by data dependencies. This is sufficient, because

- memory belongs to a device, and only calls of that device read or write it, and copies of it to another one;
- a copy is made on the stream of the device whose memory it reads, so that no later call of that device writes there
  before it has been read;
- values that are copied, or shared instead of copied (`runtime.passes.share_copies`), are kept alive until all streams
  have joined: the allocator works per stream, and would otherwise reuse the memory on the producing stream
  while the other one still reads it.

`steps_of` computes this schedule, and `Branches` applies it during capture.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from situs._src.base.devices.logical import Device
from situs._src.runtime.plan.plan import Call, Plan, makers, slots_in
from situs._src.runtime.run.emit import Function, emit
from situs._src.runtime.run.stream_capture import Streams


@dataclass
class Step:
    """How a call is captured.

    Attributes:
        branch: The number of its stream, which is that of a device.
        waits: The calls on other streams that it waits for.
        is_awaited: Whether a call on another stream waits for it.
    """

    branch: int
    waits: list[int]
    is_awaited: bool = False


def steps_of(calls: Sequence[Call], devices: Sequence[Device], sizes: set[int]) -> list[Step]:
    """The stream of each call, and the calls that it waits for.

    Args:
        calls: The calls, in order.
        devices: The devices, one for each stream.
        sizes: The slots that are on the host, and known at capture.
    """
    maker = makers(calls)
    branches = {device: number for number, device in enumerate(devices)}
    steps: list[Step] = []
    for call in calls:
        made_by = [maker[slot] for slot in slots_in(call.inputs) if slot in maker and slot not in sizes]
        home = calls[made_by[0]].device if call.copies is not None and made_by else call.device
        branch = branches[home]
        others = sorted({number for number in made_by if steps[number].branch != branch})
        for number in others:
            steps[number].is_awaited = True
        steps.append(Step(branch, others))
    return steps


class Branches:
    """Work as a function that enqueues its calls on several streams, and returns when they have joined.

    Args:
        plan: The work.
        devices: The devices, one for each stream; the first one's is the stream that the function is called on.
        sizes: The slots that lie on the host.
        streams: The streams.
    """

    def __init__(self, plan: Plan, devices: Sequence[Device], sizes: set[int], streams: Streams) -> None:
        self._steps = steps_of(plan.calls, devices, sizes)
        self._streams = streams
        self._marks: dict[int, Any] = {}
        self._held: list[Any] = []  # values that cross streams
        self._function: Function = emit(plan, self._around).function

    def __call__(self, run: Any, *values: Any) -> tuple[Any, ...]:
        """Enqueues the calls; it has the arguments and results of the emitted plan."""
        self._streams.fork()
        try:
            return self._function(run, *values)
        finally:
            self._streams.join()
            self._held.clear()
            self._marks.clear()

    def _around(self, number: int, call: Call) -> Callable[..., Any]:
        step, function, streams = self._steps[number], call.function, self._streams

        def order(*values: Any) -> Any:
            with streams.on(step.branch):
                for other in step.waits:
                    streams.wait(self._marks[other])
                made = function(*values)
                if step.is_awaited:
                    self._marks[number] = streams.mark()
                    self._held.append(made)
            return made

        return order
