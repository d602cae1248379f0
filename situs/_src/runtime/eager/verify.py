"""Checking kernels' results against what their op promises.

Dtypes are checked in every call, also on the fast path: a user's kernel may return anything, and the results of
PyTorch's functions may depend on shapes. Shapes are checked in the tests, and with ``SITUS_VERIFY=1``: graphs are built
with the shape rules, so a rule that disagrees with its kernel is a bug even where eager code never evaluates it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType
from situs._src.base.errors import InternalError
from situs._src.ir.registry.op import Attrs, Op, infer_shapes
from situs._src.ir.registry.signature import ANY
from situs._src.placement.candidates import Assignment
from situs._src.runtime.eager.binding import BoundInputs
from situs._src.runtime.eager.bridge import FROM_TORCH
from situs._src.runtime.eager.rules import rule_inputs
from situs._src.runtime.eager.tensor import EagerTensor
from situs._src.runtime.eager.tensor_list import TensorList


def verify_dtypes(op: Op, types: Mapping[str, DType], made: object, assignment: Assignment) -> None:
    """Raises unless a kernel returned as many values, of the dtypes, as the signature promises.

    Raises:
        InternalError: it returned something else.
    """
    values = list(made) if isinstance(made, (tuple, list)) else [made]
    declared = op.outputs * len(values) if len(op.outputs) == 1 and op.outputs[0].is_list else op.outputs
    if len(values) != len(declared):
        raise _broken(op, assignment, f"{len(values)} results where the signature ({op.signature}) has {len(declared)}")
    for number, (arg, value) in enumerate(zip(declared, values, strict=True)):
        if arg.type is ANY:
            continue
        promised = arg.type if isinstance(arg.type, DType) else types[arg.type]
        found = dtype_of(value)
        if found is not promised:
            what = f"a {type(value).__name__}" if found is None else found.name
            raise _broken(op, assignment, f"{what} as result {number} where the signature promises {promised.name}")


def verify_shapes(op: Op, bound: BoundInputs, attrs: Attrs, result: Any, assignment: Assignment) -> None:
    """Raises unless the results have the shapes that the op's shape rule computes.

    Raises:
        InternalError: they have not, or there is no rule.
    """
    results: list[EagerTensor] = result if isinstance(result, list) else [result]
    if op.shape_rule is None:
        raise InternalError(f"Op {op.name} has no shape rule.")
    shapes = infer_shapes(op, rule_inputs(bound), attrs)
    if len(shapes) != len(results):
        raise _broken(op, assignment, f"{len(results)} results where the shape rule gives {len(shapes)}")
    for number, (shape, tensor) in enumerate(zip(shapes, results, strict=True)):
        if not shape.is_compatible_with(tensor.shape):
            raise _broken(op, assignment, f"shape {tensor.shape} as result {number} where the shape rule says {shape}")


def dtype_of(value: object) -> DType | None:
    """The dtype of a kernel's value; None if it is not such a value."""
    if isinstance(value, torch.Tensor):
        return FROM_TORCH.get(value.dtype)
    if isinstance(value, TensorList):
        return dt.variant
    return dt.string if isinstance(value, np.ndarray) and value.dtype == object else None


def _broken(op: Op, assignment: Assignment, what: str) -> InternalError:
    name = getattr(assignment.kernel.function, "__name__", "kernel")
    return InternalError(f"The {assignment.device.type} kernel {name!r} of op {op.name} returned {what}.")
