"""Verifying the results of kernels against the shapes and dtypes of the graph, while a plan runs.

Used in the tests, and with ``SITUS_VERIFY=1``: a mismatch is a bug in Situs or in the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base.errors import InternalError
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import FED
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.eager.verify import dtype_of
from situs._src.runtime.plan.plan import Call, Plan


def checking(plan: Plan) -> Callable[[int, Call], Callable[..., Any]]:
    """Wraps each call of a plan to check its results, for `emit`."""

    def around(number: int, call: Call) -> Callable[..., Any]:
        node = call.node
        if node is None or not node.outputs:
            return call.function
        outputs = node.outputs[: len(call.outputs)]  # a gradient may add to them later

        def checked(*values: Any) -> Any:
            made = call.function(*values)
            for tensor, value in zip(outputs, (made,) if call.single else made, strict=True):
                _check(tensor, value)
            return made

        return checked

    return around


def _check(tensor: SymbolicTensor, value: Any) -> None:
    if isinstance(value, Cell) or tensor.dtype.name in ("resource", "variant"):
        return
    if value is None and FED in tensor.op.op_def.traits:  # one that is only waited for
        return
    found = dtype_of(value)
    if found is not tensor.dtype:
        raise InternalError(f"{tensor!r} was made as {found.name if found else type(value).__name__}.")
    if not tensor.shape.is_compatible_with(value.shape):
        raise InternalError(f"{tensor!r} was made with shape {tuple(value.shape)}.")
