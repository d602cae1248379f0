"""Checking kernels against their op's rules: on in the tests, and with ``SITUS_VERIFY=1``.

A result must have the dtypes that the signature promises and the shapes that the shape rule
gives. The rules are what graphs are built with, so a rule that disagrees with its kernel is a
bug even where eager code never asks it.
"""

from __future__ import annotations

from typing import Any

from situs.dtype import DType
from situs.eager.binding import BoundInputs
from situs.eager.failure import rule_inputs
from situs.eager.tensor import EagerTensor
from situs.errors import InternalError
from situs.placement.candidates import Assignment
from situs.registry.op import Attrs, Op, infer_shapes


def verify(op: Op, bound: BoundInputs, attrs: Attrs, result: Any, assignment: Assignment) -> None:
    """Raises unless the result is what the op promises.

    Raises:
        InternalError: a dtype or a shape differs.
    """
    results: list[EagerTensor] = result if isinstance(result, list) else [result]
    _verify_dtypes(op, bound, results, assignment)
    if op.shape_rule is None:
        raise InternalError(f"Op {op.name} has no shape rule.")
    shapes = infer_shapes(op, rule_inputs(bound), attrs)
    if len(shapes) != len(results):
        raise InternalError(f"{op.name}: the shape rule gives {len(shapes)} shapes, the kernel {len(results)} results.")
    for number, (shape, tensor) in enumerate(zip(shapes, results, strict=True)):
        if not shape.is_compatible_with(tensor.shape):
            raise InternalError(
                f"{op.name}: the shape rule says {shape} for result {number}, the {assignment.device.type} kernel "
                f"made {tensor.shape}."
            )


def _verify_dtypes(op: Op, bound: BoundInputs, results: list[EagerTensor], assignment: Assignment) -> None:
    declared = op.outputs * len(results) if len(op.outputs) == 1 and op.outputs[0].is_list else op.outputs
    for number, (arg, tensor) in enumerate(zip(declared, results, strict=True)):
        promised = arg.type if isinstance(arg.type, DType) else bound.types[arg.type]
        if tensor.dtype is not promised:
            raise InternalError(
                f"{op.name}: the signature promises {promised.name} for result {number}, the "
                f"{assignment.device.type} kernel made {tensor.dtype.name}."
            )
