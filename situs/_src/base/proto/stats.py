"""Statistics of a run: ``tf.RunMetadata`` with the times and the memory of every node.

    run_metadata.step_stats.dev_stats[i]          a device: its name and its nodes
      .node_stats[j]                              a node: times in microseconds since all_start_micros
        .all_start_micros, .op_start_rel_micros, .op_end_rel_micros, .all_end_rel_micros
        .memory[k], .output[k]                    an allocator; an output tensor

`runtime.session.timeline` converts it to a trace for a browser.
"""

from __future__ import annotations

from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats, NodeOutput, StepStats

from situs._src.base.export import export
from situs._src.base.proto.own import documented

documented(RunMetadata, "What ``session.run`` reports when it is asked to.")
documented(StepStats, "All devices of one step.")
documented(DeviceStepStats, "The nodes that ran on one device.")
documented(NodeExecStats, "The times and the memory of one node.")
documented(NodeOutput, "One output of a node.")

__all__ = ["DeviceStepStats", "NodeExecStats", "NodeOutput", "RunMetadata", "StepStats"]

export(v1="RunMetadata")(RunMetadata)
