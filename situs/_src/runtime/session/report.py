"""A traced run as a ``RunMetadata``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.runtime.plan.plan import Call, Plan
from situs._src.runtime.run.trace import Event, Recorder

if TYPE_CHECKING:
    from situs._src.base.proto.stats import RunMetadata


def fill_metadata(
    metadata: RunMetadata, recorder: Recorder | None, plan: Plan, fetched: Sequence[SymbolicTensor]
) -> None:
    """Writes the events of a run into `metadata`, replacing its contents; fetched constants take no time."""
    metadata.Clear()
    if recorder is not None:
        metadata.step_stats.SetInParent()
        _fill_stats(metadata.step_stats, recorder)
        ran = {event.call.node for event in recorder.events}
        for node in dict.fromkeys(tensor.op for tensor in fetched):
            if node.type == "Const" and node not in ran:
                _add_constant(metadata.step_stats, node, plan.placed[node].device.name)


def _add_constant(step_stats: Any, node: Operation, device: str) -> None:
    known = [stats for stats in step_stats.dev_stats if stats.device == device]
    stats = known[0] if known else step_stats.dev_stats.add(device=device)
    stats.node_stats.add(node_name=node.name, timeline_label=f"{node.name} = Const()")


def _fill_stats(step_stats: Any, recorder: Recorder) -> None:
    by_device: dict[str, list[Event]] = {}
    for event in recorder.events:
        by_device.setdefault(event.call.device.name, []).append(event)
    threads = {thread: number for number, thread in enumerate(dict.fromkeys(e.thread for e in recorder.events))}
    for name, events in sorted(by_device.items()):
        stats = step_stats.dev_stats.add(device=name)
        for event in sorted(events, key=lambda event: event.start):
            _fill_node(stats.node_stats.add(), event, threads[event.thread])


def _fill_node(stats: Any, event: Event, thread: int) -> None:
    stats.node_name = name_of(event.call)
    stats.timeline_label = _label(event.call)
    stats.all_start_micros = event.start // 1000
    stats.op_end_rel_micros = stats.all_end_rel_micros = max(1, (event.end - event.start) // 1000)
    stats.all_start_nanos = event.start
    stats.op_end_rel_nanos = stats.all_end_rel_nanos = event.end - event.start
    stats.thread_id = thread
    device = event.call.device
    allocator = "cpu" if device.type == "CPU" else f"GPU_{device.index}_bfc"
    total = sum(size for _, _, size in event.results)
    if total:
        stats.memory.add(allocator_name=allocator, total_bytes=total, peak_bytes=total)
    for slot, result in enumerate(event.results):
        _fill_output(stats.output.add(slot=slot), event.call, slot, result, allocator)


def _fill_output(output: Any, call: Call, slot: int, result: Any, allocator: str) -> None:
    shape, _, size = result
    described = output.tensor_description
    tensor = call.copies if call.node is None else call.node.outputs[slot]
    if tensor is not None:
        described.dtype = tensor.dtype.as_datatype_enum
    for dim in shape:
        described.shape.dim.add(size=dim)
    described.allocation_description.requested_bytes = described.allocation_description.allocated_bytes = size
    described.allocation_description.allocator_name = allocator


def name_of(call: Call) -> str:
    """The name of a call: its operation's, or that of the copied or read tensor."""
    if call.node is not None or call.reads is not None:
        return (call.node or call.reads).name  # type: ignore[union-attr]
    return f"edge_{call.copies.op.index}_{call.copies.op.name}" if call.copies is not None else "read"


def _label(call: Call) -> str:
    if call.node is None:
        kind = "Read" if call.copies is None else "_Copy"
        source = "" if call.copies is None else call.copies.op.name
        return f"{name_of(call)} = {kind}({source})"
    return f"{call.node.name} = {call.node.type}({', '.join(tensor.op.name for tensor in call.node.inputs)})"
