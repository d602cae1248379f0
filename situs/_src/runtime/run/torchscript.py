"""Sequences of PyTorch calls as TorchScript functions, without returning to Python after each call.

The Python overhead of calling a PyTorch function is as large as the work of a small kernel. Consecutive
calls become one TorchScript function, whose interpreter is a C++ loop: 1,000 small
products and sums then take 0.6 of the time (decision 8). Only PyTorch's own functions of tensors qualify. These
are pure, so if one fails, the calls are repeated one by one, to find the one that failed.

    def run(x0, x1):
     v2 = torch.mm(x0, x1)
     v3 = v2.add_(x1)
     return (v3, )

Because it may be repeated, such a function must not modify its inputs: only values that it has created itself
are overwritten. Building the function takes about 30 us per call, so this is done only after a few runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any

import torch

from situs._src.ir.graph.node import Operation
from situs._src.runtime.eager.torch_private import compilation_unit, read_script_optimize, write_script_optimize
from situs._src.runtime.passes.reuse import Over
from situs._src.runtime.plan.plan import Call, Literal, Plan, Slot, Source, slots_in
from situs._src.runtime.run.emit import emit

SHORTEST = 16  # calls: calling TorchScript costs as much as it saves on ten to twelve calls from Python
LONGEST = 2000
LARGE = 2**16  # elements: from here on, another allocation costs more than Python does


def scripted(plan: Plan) -> Plan:
    """The plan with sequences of PyTorch functions joined; the plan itself if there are none."""
    calls: list[Call] = []
    uses = Counter(slots_in(plan.outputs))
    for call in plan.calls:
        uses.update(slots_in(call.inputs))
    run = _Run()
    for call in plan.calls:
        if run.take(call):
            continue
        calls += run.joined(plan, uses)
        run = _Run()
        if not run.take(call):
            calls.append(call)
    calls += run.joined(plan, uses)
    return plan if len(calls) == len(plan.calls) else replace(plan, calls=calls)


class _Run:
    """Consecutive calls on one device: as in the plan, and as in the joined function."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.inside: list[Call] = []
        self.made: set[int] = set()

    def take(self, call: Call) -> bool:
        """Adds a call, unless it cannot be joined with the others."""
        inside = call if call.overwrites in self.made else _sparing(call)
        if inside is None or not _qualifies(inside) or len(self.calls) == LONGEST:
            return False
        if self.calls and self.calls[-1].device is not call.device:
            return False
        self.calls.append(call)
        self.inside.append(inside)
        self.made.update(call.outputs)
        return True

    def joined(self, plan: Plan, uses: Mapping[int, int]) -> list[Call]:
        """One call for the sequence; the calls themselves if they are few or TorchScript cannot compile them.

        Args:
            plan: Their plan.
            uses: How often each slot is used in it.
        """
        if len(self.calls) < SHORTEST:
            return self.calls
        sources, used = _outside(self.inside, self.made), _used_outside(self.calls, uses)
        kept = [slot for call in self.calls for slot in call.outputs if slot in used]
        try:
            function = _compiled(self.inside, sources, kept)
        except Exception:  # a function that TorchScript does not support: only a little time is lost
            return self.calls
        together = _or_one_by_one(function, _alone(self.inside, sources, kept, plan))
        return [Call(together, list(sources), kept, self.calls[0].device, single=False)]


def _sparing(call: Call) -> Call | None:
    """A call that overwrites nothing; None if saving the memory is better."""
    if call.overwrites is None:
        return call
    if call.node is None or call.anew is None or _known_size(call.node) >= LARGE:
        return None
    return replace(call, function=call.anew, overwrites=None, anew=None)


def _known_size(node: Operation) -> int:
    """The number of elements of the result, as far as known: an unknown dimension counts as 1."""
    shape = node.outputs[0].shape
    return 0 if shape.rank is None else prod(size for size in shape if size is not None)


def _qualifies(call: Call) -> bool:
    return (
        _text(call.function, ["x"] * len(call.inputs)) is not None
        and call.single
        and not call.takes_run
        and all(_is_tensor(source) for source in call.inputs)
    )


def _text(function: Callable[..., Any], arguments: list[str]) -> str | None:
    """The call of a function in TorchScript; None if it is not one of PyTorch's own."""
    in_script = getattr(function, "in_script", None)
    if in_script is not None:  # declared by the kernel
        return str(in_script).format(*arguments)
    if isinstance(function, Over):
        return _text(function.function, [*arguments, f"out={arguments[function.place]}"])
    if isinstance(function, MethodDescriptorType) and getattr(torch.Tensor, function.__name__, None) is function:
        return f"{arguments[0]}.{function.__name__}({', '.join(arguments[1:])})"
    if isinstance(function, BuiltinFunctionType) and getattr(torch, function.__name__, None) is function:
        return f"torch.{function.__name__}({', '.join(arguments)})"
    return None


def _is_tensor(source: Source) -> bool:
    if isinstance(source, Literal):
        return isinstance(source.value, torch.Tensor)
    return isinstance(source, Slot) and not source.host


def _outside(run: list[Call], made: set[int]) -> list[Source]:
    """The values that a sequence takes from outside, each once."""
    found: dict[Any, Source] = {}
    for call in run:
        for source in call.inputs:
            if isinstance(source, Literal):
                found.setdefault(id(source.value), source)
            elif isinstance(source, Slot) and source.number not in made:
                found.setdefault(source, source)
    return list(found.values())


def _used_outside(run: list[Call], uses: Mapping[int, int]) -> set[int]:
    """The results of a sequence that are used elsewhere."""
    inside: Counter[int] = Counter()
    for call in run:
        inside.update(slots_in(call.inputs))
    return {slot for call in run for slot in call.outputs if uses[slot] > inside[slot]}


def _compiled(run: list[Call], sources: list[Source], kept: list[int]) -> Callable[..., Any]:
    names = {_key(source): f"x{number}" for number, source in enumerate(sources)}
    lines = [f"def run({', '.join(names.values())}):"]
    for call in run:
        text = _text(call.function, [names[_key(source)] for source in call.inputs])
        name = names[_key(Slot(call.outputs[0]))] = f"v{call.outputs[0]}"
        lines.append(f" {name} = {text}")
    lines.append(f" return ({''.join(f'v{slot}, ' for slot in kept)})")
    unit = compilation_unit()
    known: Any = {"torch": torch}.get
    unit.define("\n".join([*lines, ""]), known)
    found: Callable[..., Any] = unit.find_function("run")
    return found


def _key(source: Source) -> Any:
    return id(source.value) if isinstance(source, Literal) else source


def _alone(run: list[Call], sources: list[Source], kept: list[int], plan: Plan) -> Callable[..., Any]:
    """The same calls in Python, to find out which of them fails."""
    slots = plan.slots
    inputs: list[int] = []
    by_value: dict[int, Slot] = {}
    for source in sources:
        if isinstance(source, Slot):
            inputs.append(source.number)
        elif isinstance(source, Literal):
            by_value[id(source.value)] = Slot(slots)
            inputs.append(slots)
            slots += 1
    calls = [replace(c, inputs=[by_value.get(_key(s), s) for s in c.inputs]) for c in run]
    outputs: list[Source] = [Slot(slot) for slot in kept]
    return emit(Plan(calls, inputs, outputs, slots, plan.assignments)).function


def _or_one_by_one(function: Callable[..., Any], alone: Callable[..., Any]) -> Callable[..., Any]:
    def run(*values: Any) -> Any:
        before = read_script_optimize()
        write_script_optimize(False)  # no profiling runs, no rewriting
        try:
            return function(*values)
        except RuntimeError:
            return alone(None, *values)
        finally:
            write_script_optimize(before)

    return run
