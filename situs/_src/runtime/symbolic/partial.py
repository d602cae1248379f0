"""Partly known values: ``tf.shape(x)`` of a tensor of shape ``(None, 784)``.

An op that only moves entries, or works on them one by one, is run on the entries, with zeros for unknown ones, and once
more on the mask of these:

    shape(x)      entries (0, 784)    unknown (True, False)
    shape(x)[1]   entries 784         unknown False: known
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import ELEMENTWISE, FOLDABLE, MOVES, SHAPE_ONLY
from situs._src.runtime.eager.convert import to_tensor
from situs._src.runtime.eager.execute import compute

SMALL = 1024  # elements: shapes do not depend on larger values
Known = Mapping[SymbolicTensor, Any]
Part = tuple[Any, Any]  # arrays: the entries, and whether each of them is unknown


def parts_of(
    node: Operation, found: Known, partly: Mapping[SymbolicTensor, Part]
) -> Iterator[tuple[SymbolicTensor, Part]]:
    """What is known about the results of an operation, if they are integers.

    Args:
        node: The operation.
        found: What is known about earlier tensors.
        partly: Those of them that are known in part.
    """
    if not node.outputs or not node.outputs[0].dtype.is_integer:
        return
    rule = node.op_def.static_rule
    if SHAPE_ONLY in node.op_def.traits and rule is not None:
        sizes = rule(node, lambda tensor: None)
        if isinstance(sizes, tuple):
            kind = node.outputs[0].dtype.as_numpy_dtype
            yield node.outputs[0], (np.array([size or 0 for size in sizes], kind), np.array([s is None for s in sizes]))
    elif MOVES in node.op_def.traits or _is_one_by_one(node):
        given = {source: _part(source, found, partly) for source in _steered(node)}
        if all(part is not None for part in given.values()) and all(s in found or s in given for s in node.inputs):
            yield from zip(node.outputs, _made(node, found, given), strict=False)


def _is_one_by_one(node: Operation) -> bool:
    traits = node.op_def.traits
    return FOLDABLE in traits and (ELEMENTWISE in traits or node.type == "Cast")


def _steered(node: Operation) -> list[SymbolicTensor]:
    """The inputs whose entries make up the results; the others determine which, and where they go."""
    found: list[SymbolicTensor] = []
    for arg, value in zip(node.op_def.inputs, node.args, strict=True):
        if not arg.is_host and (arg.type == node.op_def.outputs[0].type or node.type == "Cast"):
            found += value if arg.is_list else [value]
    return found


def _part(tensor: SymbolicTensor, found: Known, partly: Mapping[SymbolicTensor, Part]) -> Part | None:
    kind = tensor.dtype.as_numpy_dtype
    if tensor in found:
        entries = to_tensor(found[tensor], tensor.dtype).numpy()
        return entries, np.zeros(np.shape(entries), bool)
    if tensor in partly:
        return partly[tensor]
    count = tensor.shape.num_elements()
    if count is None or count > SMALL:
        return None
    return np.zeros(tensor.shape.as_list(), kind), np.ones(tensor.shape.as_list(), bool)


def _made(node: Operation, found: Known, given: Mapping[SymbolicTensor, Any]) -> list[Part]:
    entries = _run_on(node, {**found, **{source: part[0] for source, part in given.items()}})
    if _is_one_by_one(node):
        hidden = np.logical_or.reduce(np.broadcast_arrays(*[part[1] for part in given.values()]))
        return [(made, hidden) for made in entries]
    marks = {source: part[1].astype(source.dtype.as_numpy_dtype) for source, part in given.items()}
    hidden = _run_on(node, {**found, **marks})
    return [(made, np.asarray(mark, bool)) for made, mark in zip(entries, hidden, strict=True)]


def _run_on(node: Operation, values: Known) -> list[Any]:
    """The results of an operation on some values, as arrays; empty if it fails: the run will raise the error."""
    if node.type == "Unpack":
        array = np.asarray(values[node.inputs[0]])
        axis = node.attrs["axis"]
        return list(np.moveaxis(array, axis, 0)) if -array.ndim <= axis < array.ndim else []
    try:
        return [np.asarray(compute(node.op_def, with_values(node.args, values), dict(node.attrs)).numpy())]
    except Exception:
        return []


def with_values(args: Any, values: Known) -> list[Any]:
    """The arguments of an operation with tensors replaced by their values."""
    return [_with_values(arg, values) for arg in args]


def _with_values(arg: object, values: Known) -> Any:
    if isinstance(arg, SymbolicTensor):
        value = values[arg]
        return to_tensor(value.astype(arg.dtype.as_numpy_dtype) if isinstance(value, np.ndarray) else value, arg.dtype)
    return type(arg)(_with_values(item, values) for item in arg) if isinstance(arg, (list, tuple)) else arg
