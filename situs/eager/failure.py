"""What a kernel's exception means, in our words.

PyTorch's messages speak of its own functions. When a kernel fails, the op's shape rule is asked
about the inputs: it knows the rule that was broken and says it. Only when the rule is content is
the kernel's own message passed on, inside an error of ours.
"""

from __future__ import annotations

from typing import Any

import torch

from situs.eager.binding import BoundInputs
from situs.eager.tensor import EagerTensor
from situs.errors import (
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    SitusError,
    UnimplementedError,
    UnknownError,
)
from situs.placement.candidates import Assignment
from situs.registry.op import Attrs, Op, infer_shapes
from situs.shapes import brackets


def rule_inputs(bound: BoundInputs) -> tuple[Any, ...]:
    """The inputs as a shape rule takes them: shapes for tensors, values for host inputs."""
    return tuple(_rule_input(item) for item in bound.inputs)


def _rule_input(item: Any) -> Any:
    if isinstance(item, EagerTensor):
        return item.shape
    return [tensor.shape for tensor in item] if isinstance(item, list) else item


def translate(error: Exception, op: Op, bound: BoundInputs, attrs: Attrs, assignment: Assignment) -> SitusError:
    """The error to raise in place of a kernel's exception."""
    if isinstance(error, torch.OutOfMemoryError) or _is_allocation_failure(error):
        return ResourceExhaustedError(_memory_text(error, op, bound, assignment))
    broken = _broken_rule(op, bound, attrs)
    if broken is not None:
        return broken
    kind = _kind_of(error)
    where = assignment.device.name
    return kind(f"{op.name} failed on {where} with inputs {_inputs_text(bound)}: {_first_line(error)} [Op:{op.name}]")


def _broken_rule(op: Op, bound: BoundInputs, attrs: Attrs) -> SitusError | None:
    if op.shape_rule is None:
        return None
    try:
        infer_shapes(op, rule_inputs(bound), attrs)
    except OpError as broken:
        return broken.in_op(op.name)
    except Exception:
        return None  # the rule itself could not cope; the kernel's message is the better one
    return None


def _kind_of(error: Exception) -> type[OpError]:
    if isinstance(error, NotImplementedError) or "not implemented for" in str(error):
        return UnimplementedError
    if isinstance(error, (RuntimeError, ValueError, IndexError, TypeError)):
        return InvalidArgumentError
    return UnknownError


def _is_allocation_failure(error: Exception) -> bool:
    return (
        isinstance(error, MemoryError) or "can't allocate memory" in str(error) or "DefaultCPUAllocator" in str(error)
    )


def _memory_text(error: Exception, op: Op, bound: BoundInputs, assignment: Assignment) -> str:
    return (
        f"OOM when running {op.name} with inputs {_inputs_text(bound)} on {assignment.device.name}: "
        f"{_first_line(error)} Free tensors or use smaller ones. [Op:{op.name}]"
    )


def _inputs_text(bound: BoundInputs) -> str:
    flat = [t for item in bound.inputs for t in (item if isinstance(item, list) else (item,))]
    texts = [f"{t.dtype.name}{brackets(t.shape)}" if isinstance(t, EagerTensor) else repr(t) for t in flat[:6]]
    return ", ".join(texts) + (f", ... ({len(flat)} in all)" if len(flat) > 6 else "")


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0] or type(error).__name__
