"""Constant folding: what is known about a tensor's value before the graph runs.

Shape rules need the values of shapes, axes and sizes. Known are the values of constants, of static shapes, and of small
pure ops on known values, which are evaluated immediately. A shape may also be known in part: ``(None, 784)``
(`runtime.symbolic.partial`).
"""

from __future__ import annotations

import math
from typing import Any

from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import FOLDABLE, MOVES, SHAPE_ONLY
from situs._src.runtime.eager.binding import host_value
from situs._src.runtime.eager.execute import compute
from situs._src.runtime.eager.tensor import EagerTensor
from situs._src.runtime.symbolic.partial import SMALL, Known, Part, parts_of, with_values


def constant_value(tensor: SymbolicTensor) -> Any:
    """The value as plain Python: numbers and tuples of them; None if it is unknown."""
    found = known_value(tensor)
    return None if found is None else host_value(found)


def partial_value(tensor: SymbolicTensor) -> Any:
    """The value with None for unknown entries; None if nothing is known, or if it is partly known and not a vector."""
    found, partly = _look(tensor)
    if tensor in found:
        return host_value(found[tensor])
    if tensor not in partly or tensor.shape.rank != 1:
        return None
    entries, unknown = partly[tensor]
    return tuple(None if hidden else entry for entry, hidden in zip(entries.tolist(), unknown.tolist(), strict=True))


def known_value(tensor: SymbolicTensor) -> Any:
    """The value as a NumPy array, a tensor or a number; None if it is unknown.

    Known values are cached with the graph; unknown ones may become known later, when more is known about a shape.
    """
    return _look(tensor)[0].get(tensor)


def _look(tensor: SymbolicTensor) -> tuple[Known, dict[SymbolicTensor, Part]]:
    """What is known about a value and its ancestors: completely, and in part."""
    found = tensor.graph.known_values
    partly: dict[SymbolicTensor, Part] = {}
    for node in _behind(tensor.op, found):
        value = _value_of(node, found)
        if value is not None:
            found[node.outputs[0]] = value
            continue
        for output, part in parts_of(node, found, partly):
            if not part[1].any():
                found[output] = part[0]
            elif not part[1].all():
                partly[output] = part
    return found, partly


def _behind(last: Operation, found: Known) -> list[Operation]:
    """The operations that the value of `last` depends on, earlier ones first."""
    needed: set[Operation] = set()
    waiting = [last]
    while waiting:
        node = waiting.pop()
        if node in needed or (node.outputs and all(output in found for output in node.outputs)):
            continue
        needed.add(node)
        if FOLDABLE in node.op_def.traits or MOVES in node.op_def.traits:
            waiting += [source.op for source in node.inputs]
    return sorted(needed, key=lambda node: node.index)


def _value_of(node: Operation, found: Known) -> Any:
    if node.type == "Const":
        value = node.attrs["value"]
        count = math.prod(value._value.shape) if isinstance(value, EagerTensor) else value.size
        return value if count <= SMALL else None
    if SHAPE_ONLY in node.op_def.traits and node.op_def.static_rule is not None:
        value = node.op_def.static_rule(node, constant_value)
        return None if isinstance(value, tuple) and None in value else value
    if FOLDABLE in node.op_def.traits and len(node.outputs) == 1 and all(source in found for source in node.inputs):
        return _run_now(node, found)
    return None


def _run_now(node: Operation, found: Known) -> EagerTensor | None:
    count = node.outputs[0].shape.num_elements()
    if count is None or count > SMALL:
        return None
    try:
        return compute(node.op_def, with_values(node.args, found), dict(node.attrs))
    except Exception:
        return None  # the run will raise the error
