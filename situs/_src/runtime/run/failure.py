"""Translating a failure inside a plan into terms of the graph: which operation failed, and which line created it.

The line number of the emitted code in the traceback tells which call failed. The values of its inputs
are still in the frame, so the explanation is the same as in eager code.
"""

from __future__ import annotations

from types import FrameType, TracebackType
from typing import Any

from situs._src.base.errors import OpError, SitusError
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.origin import line_of, text_of
from situs._src.runtime.eager.failure import translate
from situs._src.runtime.eager.oom import exhausted, is_shortage
from situs._src.runtime.plan.kernels import bound_inputs
from situs._src.runtime.plan.plan import FIRST_LINE, Call, Plan, slots_in

_PLAN = "emitted_from"  # in the globals of emitted code, so that it is freed with the code


def register(namespace: dict[str, Any], plan: Plan, arguments: list[list[str]]) -> None:
    """Links emitted code to its plan and the text of each call's arguments; `namespace` is its globals."""
    namespace[_PLAN] = plan, arguments


def explained(error: Exception) -> Exception:
    """The error to raise in place of one that came out of emitted code."""
    found = _innermost(error.__traceback__)
    if found is None:
        return error
    frame, line = found
    plan, arguments = frame.f_globals[_PLAN]
    number = line - FIRST_LINE
    if number >= len(plan.calls):
        return error  # it was not in a call
    values = [eval(text, frame.f_globals, frame.f_locals) for text in arguments[number]]
    return in_call(error, plan, number, values)


def in_call(error: Exception, plan: Plan, number: int, values: list[Any]) -> Exception:
    """The error to raise in place of one that a call of a plan raised for these values."""
    call = plan.calls[number]
    if call.node is not None and not isinstance(error, SitusError):
        error = _translated(error, call.node, plan, call, values)
    elif is_shortage(error):
        error = exhausted(error, call.device, "Copy", values[0] if call.reads is None else None)
    node = call.node or _node_of(plan, number)
    return error if node is None else in_node(error, node)


def in_node(error: Exception, node: Operation) -> Exception:
    """The error, naming the operation that failed and the user's line that created it."""
    if isinstance(error, OpError) and error.op is None:
        error = error.in_op()
        where = line_of(node.made_at)
        error.message = (
            f"{error.message}\n\t [[{{{{node {node.name}}}}}]]"
            + (f" (made at {where})" if where else "")
            + (f"\n\nOperation '{node.name}' was made at:\n{text_of(node.made_at)}".rstrip() if where else "")
        )
        error.args = (error.message,)
        error.op = node
        error.node_def = node
    return error


def _innermost(trace: TracebackType | None) -> tuple[FrameType, int] | None:
    found = None
    while trace is not None:
        if _PLAN in trace.tb_frame.f_globals:
            found = trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next
    return found


def _node_of(plan: Plan, number: int) -> Operation | None:
    """The operation that a copy, or a read of a variable, belongs to."""
    if plan.calls[number].reads is not None:
        return plan.calls[number].reads
    made = set(plan.calls[number].outputs)
    for call in plan.calls[number + 1 :]:
        if call.node is not None and made & set(slots_in(call.inputs)):
            return call.node
    copied = plan.calls[number].copies
    return None if copied is None else copied.op


def _translated(error: Exception, node: Operation, plan: Plan, call: Call, values: list[Any]) -> Exception:
    if len(values) != len(node.op_def.inputs):
        return error
    bound = bound_inputs(node, values, call.device)
    return translate(error, node.op_def, bound, node.attrs, plan.assignments[node])
