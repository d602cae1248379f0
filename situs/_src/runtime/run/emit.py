"""Emitting plans as Python functions: straight-line code, one line per call.

    def run(r, v0, v1):
        v0 = f0(v0, v1); v1 = None
        v0 = f1(v0, c1)
        return (v0,)

A local variable is reused as soon as its value is dead, so values are freed as
early as possible: a chain of calls keeps two of them alive at a time, or one where results overwrite inputs
(`runtime.passes.reuse`). The overhead is that of a Python call, without any lookups. When a call
fails, the line number identifies it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch

from situs._src.runtime.eager.binding import host_value
from situs._src.runtime.eager.tensor import to_numpy_value
from situs._src.runtime.plan.lifetimes import Lifetimes
from situs._src.runtime.plan.plan import Call, Known, Literal, Plan, Slot, Source
from situs._src.runtime.run.failure import register

FILENAME = "<situs plan>"
_WHOLE = frozenset({torch.int32, torch.int64})
Around = Callable[[int, Call], Callable[..., Any]]
Function = Callable[..., tuple[Any, ...]]


class Emitted:
    """A compiled plan: `function` takes the run and the input values, and returns a tuple."""

    def __init__(self, function: Function, source: str) -> None:
        self.function = function
        self.source = source


def emit(plan: Plan, around: Around | None = None, stoppable: bool = False) -> Emitted:
    """Compiles a plan.

    Args:
        plan: The plan.
        around: May wrap the function of each call, to time or check it.
        stoppable: Whether to check before each call whether the run was cancelled.
    """
    writer = _Writer(plan)
    lines = [f"def run({', '.join(['r', *(writer.take(slot) for slot in plan.inputs)])}):"]
    ask = " r.check();" if stoppable else ""
    lines += [f"{ask}{writer.line(number, call, around)}" for number, call in enumerate(plan.calls)]
    lines.append(f" return ({''.join(f'{writer.expression(source)}, ' for source in plan.outputs)})")
    source = "\n".join(lines)
    namespace: dict[str, Any] = writer.constants
    exec(compile(source, FILENAME, "exec"), namespace)
    function = namespace.pop("run")  # out of its own globals: its constants are freed with the function, without the GC
    register(namespace, plan, writer.arguments)
    return Emitted(function, source)


class _Writer:
    """Writes the lines; tracks free names."""

    def __init__(self, plan: Plan) -> None:
        self.constants: dict[str, Any] = {"h": as_host_value}
        self.names: dict[int, str] = {}
        self.free: list[str] = []
        self.fresh = (f"v{number}" for number in itertools.count())
        self.lifetimes = Lifetimes(plan)
        self.asked: set[int] = set()  # slots whose host value has a name already
        self.literals: dict[int, str] = {}
        self.arguments: list[list[str]] = []  # of each call, to explain failures

    def take(self, slot: int) -> str:
        """A free name for a slot."""
        name = self.free.pop() if self.free else next(self.fresh)
        self.names[slot] = name
        return name

    def line(self, number: int, call: Call, around: Around | None) -> str:
        """The line of one call, which also frees values that it was the last to use."""
        function = call.function if around is None else around(number, call)
        arguments = [self.expression(source) for source in call.inputs]
        self.arguments.append(arguments)
        if type(function) is Known:
            text = self._constant("c", function.value)
        else:
            text = f"{self._constant('f', function)}({', '.join(['r', *arguments] if call.takes_run else arguments)})"
        released = [self.names.pop(slot) for slot in self.lifetimes.ends[number] if slot in self.names]
        self.free += released
        targets = [self.take(slot) for slot in call.outputs]
        unused = [self.names.pop(slot) for slot in call.outputs if slot not in self.lifetimes.uses]
        self.free += unused
        empty = [name for name in released if name not in targets] + unused
        if targets:
            text = f"{', '.join(targets)}{'' if call.single else ','} = {text}"
        return f" {text}" + (f"; {' = '.join(empty)} = None" if empty else "")

    def expression(self, source: Source) -> str:
        """A source as a Python expression."""
        if isinstance(source, Slot):
            if not source.host:
                return self.names[source.number]
            if source.number in self.asked:
                return f"p{source.number}"
            if len(self.lifetimes.uses[source.number]) == 1:
                return f"h({self.names[source.number]})"
            self.asked.add(source.number)
            return f"(p{source.number} := h({self.names[source.number]}))"  # computed once
        if isinstance(source, Literal):
            return self._literal(source)
        inside = "".join(f"{self.expression(item)}, " for item in source)
        return f"[{inside}]" if isinstance(source, list) else f"({inside})"

    def _literal(self, literal: Literal) -> str:
        name = self.literals.get(id(literal))
        if name is None:
            name = self.literals[id(literal)] = self._constant("c", literal.value)
        return name

    def _constant(self, letter: str, value: object) -> str:
        name = f"{letter}{len(self.constants)}"
        self.constants[name] = value
        return name


def value_of(source: Source, values: Any) -> Any:
    """The value of a source, from the values by slot, for interpreters of plans."""
    if isinstance(source, Slot):
        value = values[source.number]
        return as_host_value(value) if source.host else value
    if isinstance(source, Literal):
        return source.value
    return type(source)(value_of(item, values) for item in source)


def as_host_value(value: object) -> Any:
    """A kernel's value as a host input: numbers, and tuples of them."""
    if type(value) is torch.Tensor and value.dtype in _WHOLE and value.ndim < 2:  # an index, a shape: the fast path
        found = value.tolist()
        return tuple(found) if value.ndim else found
    return host_value(to_numpy_value(value))
