"""Function calls in graphs: one operation that contains the graph of the function.

PartitionedCall(x, y | captured)     f    the graph
"""

from __future__ import annotations

from situs._src.base.shapes import UNKNOWN
from situs._src.ops.define import CPU, GPU, op

partitioned_call = op("PartitionedCall", "args: any*, captured: any* -> output: any*", f=None, stateful=True)
partitioned_call.shape(lambda *inputs, **graphs: UNKNOWN)
partitioned_call.kernel(CPU, GPU)(
    lambda *inputs, **graphs: None
)  # situs._src.runtime.plan.control_flow makes the function
