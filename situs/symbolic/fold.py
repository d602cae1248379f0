"""What is known of a tensor's value before the graph runs.

Shape rules ask for the values of shapes, axes and sizes. A constant's value is known; so is the
shape of a tensor whose shape is; and so is what small pure ops make of these, which are run at once
to find out. A shape may also be known in part: ``(None, 784)``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from situs.eager.binding import host_value
from situs.eager.convert import to_tensor
from situs.eager.execute import compute
from situs.eager.tensor import EagerTensor
from situs.graph.node import Operation
from situs.graph.tensor import SymbolicTensor
from situs.registry.traits import FOLDABLE, SHAPE_ONLY

SMALL = 1024  # elements: larger values steer nothing


def constant_value(tensor: SymbolicTensor) -> Any:
    """The value as plain Python: numbers and tuples of them; None if it is not known."""
    found = known_value(tensor)
    return None if found is None else host_value(found)


def partial_value(tensor: SymbolicTensor) -> Any:
    """The value with None for what is not known of it; None if nothing is."""
    whole = constant_value(tensor)
    if whole is not None:
        return whole
    rule = tensor.op.op_def.static_rule
    return None if rule is None else rule(tensor.op, constant_value)


def known_value(tensor: SymbolicTensor) -> Any:
    """The value as a NumPy array, a tensor or a number; None if it is not known.

    What was found out once is kept with the graph; what is not known may be later, when more is known of a shape.
    """
    found = tensor.graph.known_values
    for node in _behind(tensor.op, found):
        value = _value_of(node, found)
        if value is not None:
            found[node] = value
    return found.get(tensor.op) if tensor.value_index == 0 else None


def _behind(last: Operation, found: Mapping[Operation, Any]) -> list[Operation]:
    """The operations whose values the value of `last` is made of, earlier ones first."""
    needed: set[Operation] = set()
    waiting = [last]
    while waiting:
        node = waiting.pop()
        if node in needed or node in found:
            continue
        needed.add(node)
        if FOLDABLE in node.op_def.traits and len(node.outputs) == 1:
            waiting += [source.op for source in node.inputs]
    return sorted(needed, key=lambda node: node.index)


def _value_of(node: Operation, found: Mapping[Operation, Any]) -> Any:
    if node.type == "Const":
        value = node.attrs["value"]
        count = math.prod(value._value.shape) if isinstance(value, EagerTensor) else value.size
        return value if count <= SMALL else None
    if SHAPE_ONLY in node.op_def.traits and node.op_def.static_rule is not None:
        value = node.op_def.static_rule(node, constant_value)
        return None if isinstance(value, tuple) and None in value else value
    if FOLDABLE in node.op_def.traits and len(node.outputs) == 1 and all(source.op in found for source in node.inputs):
        return _run_now(node, found)
    return None


def _run_now(node: Operation, found: Mapping[Operation, Any]) -> Any:
    count = node.outputs[0].shape.num_elements()
    if count is None or count > SMALL:
        return None
    try:
        return compute(node.op_def, [_with_values(arg, found) for arg in node.args], dict(node.attrs))
    except Exception:
        return None  # the run will say what is wrong


def _with_values(arg: Any, found: Mapping[Operation, Any]) -> Any:
    """An operation's argument with tensors replaced by their values."""
    if isinstance(arg, SymbolicTensor):
        return to_tensor(found[arg.op], arg.dtype)
    return type(arg)(_with_values(item, found) for item in arg) if isinstance(arg, (list, tuple)) else arg
