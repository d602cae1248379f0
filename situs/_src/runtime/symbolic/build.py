"""`apply`: a call of an op becomes a new operation in the graph."""

from __future__ import annotations

from typing import Any

from situs._src.base.dtype import DType
from situs._src.base.errors import OpError
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import Op, infer_shapes
from situs._src.ir.registry.signature import Arg
from situs._src.runtime.symbolic.bind import SymbolicBinder
from situs._src.runtime.symbolic.fold import partial_value


def apply(op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], name: str | None = None, *, graph: Graph) -> Any:
    """Adds an operation to a graph and returns its tensor, or a list of them; the operation if it has no results."""
    attrs = op.complete_attrs(attrs)
    unique = graph.claim_name(op, name)
    args, types = SymbolicBinder(graph, unique).bind(op, inputs, attrs)
    try:
        shapes = infer(op, args, attrs)
    except OpError as error:
        raise error.in_building(op.name) from None
    node = graph.add(op, args, attrs, types, _results(op, types, shapes), f"{unique}/")
    if len(op.outputs) == 1 and not op.outputs[0].is_list:
        return node.outputs[0]
    return list(node.outputs) if op.outputs else node


def infer(op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> list[TensorShape]:
    """The shapes of the results, from the op's shape rule and what is known about the inputs."""
    inputs = tuple(_rule_input(arg, value) for arg, value in zip(op.inputs, args, strict=True))
    if any(_is_partial(value) for value in inputs):
        return _infer_partly(op, inputs, attrs)
    return infer_shapes(op, inputs, attrs)


def _as_far_as_known(value: SymbolicTensor) -> Any:
    """What is known about a host value; for a vector of sizes at least its length."""
    known = partial_value(value)
    if known is None and value.dtype.is_integer and value.shape.rank == 1 and value.shape[0] is not None:
        return (None,) * value.shape[0]
    return known


def _rule_input(arg: Arg, value: Any) -> Any:
    if not arg.is_host:
        return [tensor.shape for tensor in value] if arg.is_list else value.shape
    if isinstance(value, SymbolicTensor):
        return _as_far_as_known(value)
    return _entries(value) if isinstance(value, tuple) else value


def _entries(value: object) -> Any:
    """A host value, with tensors in it replaced by what is known about them."""
    if isinstance(value, SymbolicTensor):
        return _as_far_as_known(value)
    return tuple(map(_entries, value)) if isinstance(value, tuple) else value


def _is_partial(value: object) -> bool:
    return type(value) is tuple and any(item is None or _is_partial(item) for item in value)


def _infer_partly(op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> list[TensorShape]:
    """The result of a rule for a host value with None for unknown entries.

    If the rule fails on it, or is misled by it, the value counts as unknown.
    """
    try:
        return infer_shapes(op, inputs, attrs)
    except Exception:
        return infer_shapes(op, tuple(None if _is_partial(v) else v for v in inputs), attrs)


def _results(op: Op, types: dict[str, DType], shapes: list[TensorShape]) -> list[tuple[Arg, DType, TensorShape]]:
    declared = op.outputs * len(shapes) if len(op.outputs) == 1 and op.outputs[0].is_list else op.outputs
    return [
        (arg, arg.type if isinstance(arg.type, DType) else types[arg.type], shape)
        for arg, shape in zip(declared, shapes, strict=True)
    ]
