"""Translating a kernel's exception into one of our errors.

PyTorch's messages are about its own functions. When a kernel fails, the op's shape rule is evaluated on the inputs: it
knows which requirement was violated and says so. Only if the rule is satisfied, and the failure is neither lack of
memory nor of precision, the kernel's own message is passed on, in an error that names the inputs.
"""

from __future__ import annotations

from situs._src.base.dtype import DType
from situs._src.base.errors import (
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    SitusError,
    UnimplementedError,
    UnknownError,
    shown,
)
from situs._src.base.shapes import TensorShape, brackets
from situs._src.ir.registry.op import Attrs, Op, infer_shapes
from situs._src.placement.candidates import Assignment
from situs._src.runtime.eager.binding import BoundInputs
from situs._src.runtime.eager.bridge import lost_card
from situs._src.runtime.eager.oom import exhausted, is_shortage
from situs._src.runtime.eager.rules import results, rule_inputs, size_of
from situs._src.runtime.eager.tensor import EagerTensor
from situs._src.runtime.eager.torch_private import in_bad_fork


def translate(error: Exception, op: Op, bound: BoundInputs, attrs: Attrs, assignment: Assignment) -> SitusError:
    """The error to raise in place of a kernel's exception."""
    card = assignment.device.card
    if card is not None and not card.is_virtual and in_bad_fork():
        return lost_card(assignment.device.name).in_op(op.name)
    if is_shortage(error):
        made = _results(op, bound, attrs)
        like = max(made, key=lambda result: size_of(*result), default=None)
        return exhausted(error, assignment.device, op.name, like).in_op(op.name)
    if isinstance(error, MemoryError) or _says(error, _NO_MEMORY):
        return ResourceExhaustedError(_memory_text(error, op, bound, assignment))
    broken = _broken_rule(op, bound, attrs)
    if broken is not None:
        return broken
    if _says(error, _NO_END):  # only now: a negative size overflows too
        return ResourceExhaustedError(_memory_text(error, op, bound, assignment))
    reason = _first_line(error)
    missing = [arg.name for arg, item in zip(op.inputs, bound.inputs, strict=True) if item is None]
    if missing and "NoneType" in str(error):
        reason = f"{missing[0]} is None, and nothing stands in for it."
    if isinstance(error, OverflowError) or _says(error, _TOO_LARGE):
        reason = "a number among them is too large."
    where = assignment.device.name
    return _kind_of(error)(
        f"{op.name} failed on {where} with inputs {_inputs_text(op, bound)}: {reason} [Op:{op.name}]"
    )


def _results(op: Op, bound: BoundInputs, attrs: Attrs) -> list[tuple[TensorShape, DType]]:
    """The results that were to be made; empty if the rule does not say."""
    try:
        return [result for result in results(op, bound, attrs) if result[0].is_fully_defined()]
    except Exception:
        return []


def _broken_rule(op: Op, bound: BoundInputs, attrs: Attrs) -> SitusError | None:
    if op.shape_rule is None:
        return None
    try:
        infer_shapes(op, rule_inputs(bound), attrs)
    except OpError as broken:
        return broken.in_op(op.name).with_traceback(None)  # its frames hold the inputs
    except Exception:
        return None  # the rule itself failed; the kernel's message is better
    return None


def _kind_of(error: Exception) -> type[OpError]:
    if isinstance(error, NotImplementedError) or "not implemented for" in str(error):
        return UnimplementedError
    if isinstance(error, (RuntimeError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError)):
        return InvalidArgumentError
    return UnknownError


_NO_MEMORY = ("can't allocate memory", "DefaultCPUAllocator")
_NO_END = ("Storage size calculation overflowed", "integer multiplication overflow", "array is too big")
_TOO_LARGE = ("Overflow when unpacking", "without overflow", "Overflow when parsing")


def _says(error: Exception, phrases: tuple[str, ...]) -> bool:
    text = str(error)
    return any(phrase in text for phrase in phrases)


def _memory_text(error: Exception, op: Op, bound: BoundInputs, assignment: Assignment) -> str:
    return (
        f"OOM when running {op.name} with inputs {_inputs_text(op, bound)} on {assignment.device.name}: "
        f"{_first_line(error)} Free tensors or use smaller ones. [Op:{op.name}]"
    )


def _inputs_text(op: Op, bound: BoundInputs) -> str:
    """The inputs in the user's terms: tensors by dtype and shape, shapes and axes by name and value."""
    texts: list[str] = []
    for arg, item in zip(op.inputs, bound.inputs, strict=True):
        tensors = item if isinstance(item, list) else (item,)
        texts += [_input_text(arg.name, tensor) for tensor in tensors]
    return ", ".join(texts[:6]) + (f", ... ({len(texts)} in all)" if len(texts) > 6 else "")


def _input_text(name: str, item: object) -> str:
    if isinstance(item, EagerTensor):
        return f"{item.dtype.name}{brackets(item.shape)}"
    return f"{name}={shown(item)}"


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0] or type(error).__name__
