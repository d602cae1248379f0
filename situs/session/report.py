"""What a traced run looked like, as a ``RunMetadata``."""

from __future__ import annotations

from typing import Any

from situs.execution.plan import Call, Plan
from situs.execution.trace import Event, Recorder
from situs.proto.stats import RunMetadata


def fill_metadata(metadata: RunMetadata, plan: Plan, recorder: Recorder | None, graphs: bool) -> None:
    """Writes the events of a run into `metadata`, and the parts of the graph by device if they are wanted."""
    metadata.Clear()
    if recorder is not None:
        _fill_stats(metadata.step_stats, recorder)
    if graphs:
        _fill_graphs(metadata, plan)


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
    total = sum(size for _, _, size in event.results)
    if total:
        where = "cpu" if event.call.device.type == "CPU" else f"GPU_{event.call.device.index}_bfc"
        stats.memory.add(allocator_name=where, total_bytes=total, peak_bytes=total)
    for slot, (shape, _, size) in enumerate(event.results):
        output = stats.output.add(slot=slot)
        for dim in shape:
            output.tensor_description.shape.dim.add(size=dim)
        output.tensor_description.allocation_description.requested_bytes = size


def name_of(call: Call) -> str:
    """The name of a call: its operation's, or what it copies."""
    if call.node is not None:
        return call.node.name
    return f"edge_{call.copies.op.index}_{call.copies.op.name}" if call.copies is not None else "read"


def _label(call: Call) -> str:
    if call.node is None:
        kind = "Read" if call.copies is None else "_Copy"
        source = "" if call.copies is None else call.copies.op.name
        return f"{name_of(call)} = {kind}({source})"
    return f"{call.node.name} = {call.node.type}({', '.join(tensor.op.name for tensor in call.node.inputs)})"


def _fill_graphs(metadata: RunMetadata, plan: Plan) -> None:
    """One graph per device; where a tensor crosses, a `_Send` stands in one and a `_Recv` in the other."""
    from situs.graph.serialize import to_node_def

    graphs: dict[str, Any] = {}
    for call in plan.calls:
        graph = graphs.setdefault(call.device.name, None)
        if graph is None:
            graph = graphs[call.device.name] = metadata.partition_graphs.add()
        if call.node is not None:
            graph.node.add().CopyFrom(to_node_def(call.node))
        elif call.copies is not None:
            edge = name_of(call)
            sender = plan.assignments.get(call.copies.op)
            source = graphs.get(sender.device.name) if sender is not None else None
            if source is not None:
                source.node.add(name=f"{call.copies.op.name}/_send", op="_Send", input=[call.copies.op.name])
            received = graph.node.add(name=f"{call.copies.op.name}/_recv", op="_Recv")
            received.attr["tensor_name"].s = edge.encode()
