"""What a run has taken: ``tf.RunMetadata`` with the times and the memory of every node.

    run_metadata.step_stats.dev_stats[i]          a device: its name and its nodes
      .node_stats[j]                              a node: times in microseconds since all_start_micros
        .all_start_micros, .op_start_rel_micros, .op_end_rel_micros, .all_end_rel_micros
        .memory[k], .output[k]                    an allocator; an output tensor

`situs.session.timeline` turns it into a trace that a browser shows.
"""

from __future__ import annotations

from situs.proto.config import SessionMetadata
from situs.proto.field import Nested, RepeatedNested, RepeatedScalar, Scalar, ValueMapField
from situs.proto.graph import GraphDef
from situs.proto.kind import BOOL, INT32, INT64, STRING, UINT32, UINT64
from situs.proto.message import Message
from situs.proto.tensor import DataType, TensorShapeProto


class AllocationRecord(Message):
    """One change of what an allocator has given out."""

    alloc_micros = Scalar(1, INT64)
    alloc_bytes = Scalar(2, INT64)


class AllocatorMemoryUsed(Message):
    """What a node took from one allocator."""

    allocator_name = Scalar(1, STRING)
    total_bytes = Scalar(2, INT64)
    peak_bytes = Scalar(3, INT64)
    live_bytes = Scalar(4, INT64)
    allocation_records = RepeatedNested(6, AllocationRecord)
    allocator_bytes_in_use = Scalar(5, INT64)


class AllocationDescription(Message):
    """The memory behind one tensor."""

    requested_bytes = Scalar(1, INT64)
    allocated_bytes = Scalar(2, INT64)
    allocator_name = Scalar(3, STRING)
    allocation_id = Scalar(4, INT64)
    has_single_reference = Scalar(5, BOOL)
    ptr = Scalar(6, UINT64)


class TensorDescription(Message):
    """A tensor without its values."""

    dtype = Scalar(1, DataType)
    shape = Nested(2, TensorShapeProto)
    allocation_description = Nested(4, AllocationDescription)


class NodeOutput(Message):
    """One output of a node."""

    slot = Scalar(1, INT32)
    tensor_description = Nested(3, TensorDescription)


class MemoryStats(Message):
    """What a kernel held for itself."""

    temp_memory_size = Scalar(1, INT64)
    persistent_memory_size = Scalar(3, INT64)
    persistent_tensor_alloc_ids = RepeatedScalar(5, INT64)
    device_temp_memory_size = Scalar(2, INT64)
    device_persistent_memory_size = Scalar(4, INT64)
    device_persistent_tensor_alloc_ids = RepeatedScalar(6, INT64)


class NodeExecStats(Message):
    """The times and the memory of one node."""

    node_name = Scalar(1, STRING)
    all_start_micros = Scalar(2, INT64)
    op_start_rel_micros = Scalar(3, INT64)
    op_end_rel_micros = Scalar(4, INT64)
    all_end_rel_micros = Scalar(5, INT64)
    memory = RepeatedNested(6, AllocatorMemoryUsed)
    output = RepeatedNested(7, NodeOutput)
    timeline_label = Scalar(8, STRING)
    scheduled_micros = Scalar(9, INT64)
    thread_id = Scalar(10, UINT32)
    referenced_tensor = RepeatedNested(11, AllocationDescription)
    memory_stats = Nested(12, MemoryStats)
    all_start_nanos = Scalar(13, INT64)
    op_start_rel_nanos = Scalar(14, INT64)
    op_end_rel_nanos = Scalar(15, INT64)
    all_end_rel_nanos = Scalar(16, INT64)
    scheduled_nanos = Scalar(17, INT64)


class DeviceStepStats(Message):
    """The nodes that ran on one device."""

    device = Scalar(1, STRING)
    node_stats = RepeatedNested(2, NodeExecStats)
    thread_names = ValueMapField(3, UINT32, STRING)


class StepStats(Message):
    """All devices of one step."""

    dev_stats = RepeatedNested(1, DeviceStepStats)


class RunMetadata(Message):
    """What ``session.run`` reports when it is asked to."""

    class FunctionGraphs(Message):
        """A function's graph, before and after it was optimised."""

        partition_graphs = RepeatedNested(1, GraphDef)
        pre_optimization_graph = Nested(2, GraphDef)
        post_optimization_graph = Nested(3, GraphDef)

    step_stats = Nested(1, StepStats)
    partition_graphs = RepeatedNested(3, GraphDef)
    function_graphs = RepeatedNested(4, FunctionGraphs)
    session_metadata = Nested(5, SessionMetadata)
