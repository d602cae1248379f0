"""Evaluating an op's shape rule on actual inputs: the shapes and dtypes of its results."""

from __future__ import annotations

from typing import Any

from situs._src.base.dtype import DType
from situs._src.base.shapes import TensorShape
from situs._src.ir.registry.op import Attrs, Op, infer_shapes
from situs._src.runtime.eager.binding import BoundInputs
from situs._src.runtime.eager.tensor import EagerTensor

_REFERENCE = 8  # bytes


def rule_inputs(bound: BoundInputs) -> tuple[Any, ...]:
    """The inputs as a shape rule takes them: shapes for tensors, values for host inputs."""
    return tuple(_rule_input(item) for item in bound.inputs)


def _rule_input(item: object) -> Any:
    if isinstance(item, EagerTensor):
        return item.shape
    return [tensor.shape for tensor in item] if isinstance(item, list) else item


def results(op: Op, bound: BoundInputs, attrs: Attrs) -> list[tuple[TensorShape, DType]]:
    """The shape and dtype of each result.

    Raises:
        OpError: the inputs violate the rule.
    """
    shapes = infer_shapes(op, rule_inputs(bound), attrs)
    return list(zip(shapes, _dtypes(op, bound, len(shapes)), strict=True))


def _dtypes(op: Op, bound: BoundInputs, count: int) -> list[DType]:
    declared = op.outputs * count if len(op.outputs) == 1 else op.outputs
    return [arg.type if isinstance(arg.type, DType) else bound.types[arg.type] for arg in declared]


def size_of(shape: TensorShape, dtype: DType) -> int:
    """The bytes of a result, as far as known; for strings, those of the references to them."""
    return (shape.num_elements() or 0) * (dtype.size or _REFERENCE)
