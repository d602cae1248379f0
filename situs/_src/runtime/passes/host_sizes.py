"""Computing sizes on the host, wherever their operations are placed.

    %3 = Shape(%2)                 GPU:0, but its result is on the host
    %4 = StridedSlice(%3, 0)       placed on GPU:0 as well: its kernel would copy the size to the GPU and back

The host needs sizes to launch the next kernel, and would have to synchronize with the GPU each time. So integers
computed from sizes and constants only are computed by CPU kernels, just as TensorFlow keeps small integers in host
memory. The ops concerned have the traits `SHAPE_ONLY` and `SIZE_ARITHMETIC`.
"""

from __future__ import annotations

from dataclasses import replace

from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import SHAPE_ONLY, SIZE_ARITHMETIC
from situs._src.placement.candidates import Assignment
from situs._src.runtime.eager.bridge import host


class Sizes:
    """The tensors of a plan that are sizes, or computed from sizes."""

    def __init__(self) -> None:
        self._known: set[SymbolicTensor] = set()

    def placed(self, node: Operation, assignment: Assignment) -> Assignment:
        """The device of an operation: the host if it computes sizes, else where it was placed."""
        if SHAPE_ONLY in node.op_def.traits:
            if assignment.kernel.host_output:
                self._known.update(node.outputs)
            return assignment
        if not self._is_arithmetic(node):
            return assignment
        kernel = node.op_def.kernel_for("CPU", node.types)
        if kernel is None:
            return assignment
        self._known.update(node.outputs)
        return replace(assignment, device=host(), kernel=kernel)

    def _is_arithmetic(self, node: Operation) -> bool:
        if SIZE_ARITHMETIC not in node.op_def.traits or node.control_inputs or self._known.isdisjoint(node.inputs):
            return False
        if not all(tensor in self._known or tensor.op.type == "Const" for tensor in node.inputs):
            return False
        return all(tensor.dtype.is_integer for tensor in node.outputs)
