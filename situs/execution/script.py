"""Runs of calls that PyTorch can make by itself, without coming back to Python after each.

A call of one of PyTorch's own functions costs Python as much again as the work of a small kernel. Where several
follow each other, they become one function in TorchScript, whose interpreter is a loop in C++: 1,000 small
products and sums then take 0.6 of the time (decision 8). Only PyTorch's own functions of tensors qualify, and these
depend on nothing else, so if one fails, the same calls are made again one by one, and the one that fails says why.

Making the function takes about 30 us a call, so a program does it only after it has run a few times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import BuiltinFunctionType
from typing import Any

import torch

from situs.execution.emit import emit
from situs.execution.plan import Call, Literal, Plan, Slot, Source, slots_in

SHORTEST = 4  # calls: calling TorchScript costs about as much as two of them
LONGEST = 2000


def scripted(plan: Plan) -> Plan:
    """The plan with runs of PyTorch's own functions put together; the plan itself if there are none."""
    calls: list[Call] = []
    run: list[Call] = []
    for call in [*plan.calls, None]:
        if call is not None and _qualifies(call) and len(run) < LONGEST and _together(run, call):
            run.append(call)
            continue
        calls += _joined(run, plan) if len(run) >= SHORTEST else run
        run = []
        if call is not None:
            if _qualifies(call):
                run = [call]
            else:
                calls.append(call)
    return plan if len(calls) == len(plan.calls) else replace(plan, calls=calls)


def _qualifies(call: Call) -> bool:
    function = call.function
    return (
        isinstance(function, BuiltinFunctionType)
        and getattr(torch, function.__name__, None) is function
        and call.single
        and not call.takes_run
        and all(_is_tensor(source) for source in call.inputs)
    )


def _is_tensor(source: Source) -> bool:
    if isinstance(source, Literal):
        return isinstance(source.value, torch.Tensor)
    return isinstance(source, Slot) and not source.host


def _together(run: Sequence[Call], call: Call) -> bool:
    return not run or run[-1].device is call.device


def _joined(run: list[Call], plan: Plan) -> list[Call]:
    """One call in the place of several; these themselves if TorchScript will not have them."""
    made = [slot for call in run for slot in call.outputs]
    sources = _outside(run, set(made))
    used = _used_outside(run, plan)
    kept = [slot for slot in made if slot in used]
    try:
        function = _compiled(run, sources, kept)
    except Exception:  # a function without a TorchScript form: nothing is lost but a little time
        return run
    together = _or_one_by_one(function, _alone(run, sources, kept, plan))
    return [Call(together, list(sources), kept, run[0].device, single=False)]


def _outside(run: list[Call], made: set[int]) -> list[Source]:
    """The values that a run of calls takes from outside of it, each once."""
    found: dict[Any, Source] = {}
    for call in run:
        for source in call.inputs:
            if isinstance(source, Literal):
                found.setdefault(id(source.value), source)
            elif isinstance(source, Slot) and source.number not in made:
                found.setdefault(source, source)
    return list(found.values())


def _used_outside(run: list[Call], plan: Plan) -> set[int]:
    inside = set(map(id, run))
    used = set(slots_in(plan.outputs))
    for call in plan.calls:
        if id(call) not in inside:
            used.update(slots_in(call.inputs))
    return used


def _compiled(run: list[Call], sources: list[Source], kept: list[int]) -> Callable[..., Any]:
    names = {_key(source): f"x{number}" for number, source in enumerate(sources)}
    lines = [f"def run({', '.join(names.values())}):"]
    for call in run:
        arguments = ", ".join(names[_key(source)] for source in call.inputs)
        name = names[_key(Slot(call.outputs[0]))] = f"v{call.outputs[0]}"
        lines.append(f" {name} = torch.{call.function.__name__}({arguments})")
    lines.append(f" return ({''.join(f'v{slot}, ' for slot in kept)})")
    unit = torch._C.CompilationUnit()
    known: Any = {"torch": torch}.get
    unit.define("\n".join([*lines, ""]), known)
    return unit.find_function("run")


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
    single = _set_optimize

    def run(*values: Any) -> Any:
        before = torch._C._get_graph_executor_optimize()
        single(False)  # no profiling runs, no rewriting: the calls as they are
        try:
            return function(*values)
        except RuntimeError:
            return alone(None, *values)
        finally:
            single(before)

    return run


_set_optimize = torch._C._set_graph_executor_optimize
