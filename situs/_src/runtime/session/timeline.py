"""``timeline.Timeline``: the trace of a step, for a browser (``chrome://tracing``, Perfetto).

    trace = Timeline(run_metadata.step_stats).generate_chrome_trace_format(show_memory=True)
    Path("timeline.json").write_text(trace)

Every device has two "processes": one with its ops, one with its tensors. Ops of a device that overlap in time get
different lanes ("threads"). Arrows go from the op that produced a tensor to the ops that use it. Process 0 is for the
allocators. The statistics are only read.

    {"ph": "M"}              the name of a process
    {"ph": "X"}              an op, from its start for its duration
    {"ph": "s"}, {"ph": "t"} an arrow, from and to
    {"ph": "N"}, "O", "D"    a tensor is created, described, deleted
    {"ph": "C"}              the memory in use of an allocator, from here on
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, UnimplementedError
from situs._src.base.export import export
from situs._src.base.proto.stats import DeviceStepStats, NodeExecStats, NodeOutput, StepStats

_Event = dict[str, Any]
_ALLOCATORS = 0


@export("python.client.timeline.Timeline", v1=())
class Timeline:
    """The trace of one step."""

    def __init__(self, step_stats: StepStats, graph: object = None) -> None:
        """Takes ``run_metadata.step_stats``; the graph is accepted for TensorFlow's programs and not needed."""
        if not isinstance(step_stats, StepStats):
            raise DTypeError(
                f"Timeline() takes the StepStats of a run, such as run_metadata.step_stats; "
                f"got a {type(step_stats).__name__}."
            )
        self._step_stats = step_stats

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """The trace as JSON text.

        Args:
            show_dataflow: Whether arrows show which op uses the tensors of which.
            show_memory: Whether tensors and allocators are shown.
            op_time: Only ``"schedule"``, the times that the executor recorded.
        """
        if op_time in ("gpu", "all"):
            raise UnimplementedError(f"op_time={op_time!r} is not done by Situs; use 'schedule'.")
        if op_time != "schedule":
            raise ArgumentError(f"op_time is 'schedule'; got {op_time!r}.")
        ops = _lay_out(self._step_stats)
        tensors = _made_by(ops)
        events = [_process("Allocators", _ALLOCATORS)]
        events += [event for i, device in enumerate(self._step_stats.dev_stats) for event in _processes(i, device)]
        if show_memory:
            events += [event for tensor in tensors.values() for event in tensor.births()]
        events += _compute(ops, tensors, show_dataflow)
        if show_memory:
            events += [tensor.death() for tensor in tensors.values()]
            events += _counters(list(tensors.values()))
        return json.dumps({"traceEvents": events}, indent=4)


@dataclass(frozen=True)
class _Op:
    """One op that ran: its position, and its label."""

    stats: NodeExecStats
    pid: int
    lane: int
    name: str
    op: str
    inputs: list[str]

    @property
    def start(self) -> int:
        return int(self.stats.all_start_micros)

    @property
    def end(self) -> int:
        return _end(self.stats)

    def event(self) -> _Event:
        arguments = {"name": self.name, "op": self.op} | {f"input{i}": name for i, name in enumerate(self.inputs)}
        return _at("X", "Op", self.op, self.pid, self.lane, self.start, dur=self.end - self.start, args=arguments)


@dataclass
class _Tensor:
    """One output of an op, from its creation to its last use."""

    name: str
    number: int
    maker: _Op
    output: NodeOutput
    last_use: int

    @property
    def pid(self) -> int:
        return self.maker.pid + 1

    @property
    def size(self) -> int:
        return int(self.output.tensor_description.allocation_description.requested_bytes)

    @property
    def allocator(self) -> str:
        return str(self.output.tensor_description.allocation_description.allocator_name)

    def births(self) -> Iterator[_Event]:
        described = str(self.output.tensor_description).replace('"', "")
        snapshot = {"snapshot": {"tensor_description": described}}
        lane, end = self.maker.lane, self.maker.end - 1
        yield _at("N", "Tensor", self.name, self.pid, lane, self.maker.start, id=self.number)
        yield _at("O", "Tensor", self.name, self.pid, lane, end, id=self.number, args=snapshot)

    def death(self) -> _Event:
        return _at("D", "Tensor", self.name, self.pid, 0, self.last_use, id=self.number)


def _lay_out(step_stats: StepStats) -> list[_Op]:
    """All ops, device by device, each in the first lane that is free when it starts."""
    ops = []
    for i, device in enumerate(step_stats.dev_stats):
        free_from: list[int] = [-1]
        for stats in device.node_stats:
            lane = next((n for n, end in enumerate(free_from) if stats.all_start_micros > end), len(free_from))
            free_from[lane : lane + 1] = [_end(stats)]
            ops.append(_Op(stats, 1 + 2 * i, lane, *_described(stats, device.device)))
    return ops


def _end(stats: NodeExecStats) -> int:
    return int(stats.all_start_micros + max(0, stats.all_end_rel_micros))


def _described(stats: NodeExecStats, device: str) -> tuple[str, str, list[str]]:
    """The node, its op and its inputs, as far as the labels tell."""
    if "/stream:" in device or "/memcpy" in device:
        name, _, op = _annotation(stats).partition(":")
        return name, op.partition(":")[0] or "unknown", []
    if stats.node_name == "RecvTensor":
        return stats.node_name, "RecvTensor", []
    return stats.node_name, *_call(stats.timeline_label)


def _annotation(stats: NodeExecStats) -> str:
    """The ``node:op`` that a kernel on a GPU ran for, from a label such as ``kernel@@node:op#step=1#``."""
    _, found, rest = stats.timeline_label.partition("@@")
    annotation, end, _ = rest.partition("#")
    return str(annotation if found and end and annotation else stats.node_name)


def _call(label: str) -> tuple[str, list[str]]:
    """The op and the inputs in a label such as ``c = Add(a, b:1)``."""
    _, assigned, call = label.partition(" = ")
    op, opened, rest = call.partition("(")
    inside, closed, _ = rest.rpartition(")")
    if not (assigned and opened and closed):
        return "unknown", []
    return op, inside.split(", ") if inside else []


def _made_by(ops: list[_Op]) -> dict[str, _Tensor]:
    """The tensors by name; for a name that was produced more than once, the last."""
    tensors: dict[str, _Tensor] = {}
    numbers = itertools.count()
    for op in ops:
        for index, output in enumerate(op.stats.output):
            name = f"{op.stats.node_name}:{index}" if index else op.stats.node_name
            tensors[name] = _Tensor(name, next(numbers), op, output, last_use=op.end)
    return tensors


def _compute(ops: list[_Op], tensors: dict[str, _Tensor], show_dataflow: bool) -> Iterator[_Event]:
    arrows = 0
    for op in ops:
        yield op.event()
        for tensor in filter(None, (_find(name, tensors) for name in op.inputs)):
            tensor.last_use = max(tensor.last_use, op.end - 1)
            maker = tensor.maker
            if show_dataflow and (maker.pid, maker.lane) != (op.pid, op.lane):  # within a lane the order shows it
                yield _at("s", "DataFlow", tensor.name, maker.pid, maker.lane, maker.end, id=arrows)
                yield _at("t", "DataFlow", tensor.name, op.pid, op.lane, op.start, id=arrows)
                arrows += 1


def _find(name: str, tensors: dict[str, _Tensor]) -> _Tensor | None:
    """The tensor with that name. A receiving node, ``a/_3``, stands for the sent ``a``."""
    sent, received, _ = name.rpartition("/_")
    return tensors.get(name) or (tensors.get(sent) if received else None)


def _counters(tensors: list[_Tensor]) -> Iterator[_Event]:
    for allocator in dict.fromkeys(tensor.allocator for tensor in tensors):
        own = [tensor for tensor in tensors if tensor.allocator == allocator]
        changes = [(tensor.maker.start, tensor.size, tensor.name) for tensor in own]
        changes += [(tensor.last_use, -tensor.size, tensor.name) for tensor in own]
        total = 0
        for time, change, _ in sorted(changes):
            total += change
            yield _at("C", "Memory", allocator, _ALLOCATORS, 0, time, args={allocator: total})


def _processes(index: int, device: DeviceStepStats) -> list[_Event]:
    return [
        _process(f"{device.device} Compute", 1 + 2 * index),
        _process(f"{device.device} Tensors", 2 + 2 * index),
    ]


def _process(name: str, pid: int) -> _Event:
    return {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}


def _at(phase: str, category: str, name: str, pid: int, lane: int, time: int, **more: Any) -> _Event:
    return {"ph": phase, "cat": category, "name": name, "pid": pid, "tid": lane, "ts": time, **more}
