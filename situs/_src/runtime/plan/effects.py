"""Control dependencies that keep side effects in order when calls run in parallel.

A function guarantees that its side effects happen in program order. Sequential execution does so by
itself. In a plan whose calls run in parallel, such as a step of several replicas, order is enforced where it is
observable:

    a variable      a read comes after earlier updates; an update, after all earlier reads
    other effects   in order on each device: prints, random ops
    anything (calls Python, waits for others)       a barrier: after all earlier effects, before all later ones

    GPU:0   read v0 -> ... -> AssignSub v0 -.            the two devices are independent here
    GPU:1   read v1 -> ... -> AssignSub v1 -+-> barrier
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping

from situs._src.ir.registry.traits import STATE
from situs._src.runtime.plan.plan import OTHERS_MAY_RUN, Call, Plan, slots_in


def in_order(plan: Plan, states: Mapping[int, Hashable] | None = None) -> list[set[int]]:
    """For each call of a plan, the earlier calls whose side effects must come first.

    Args:
        plan: The plan.
        states: The variables that come in, by their slots.
    """
    variables: dict[int, Hashable] = dict(states or {})  # by slot
    changed: dict[Hashable, int] = {}
    read: defaultdict[Hashable, list[int]] = defaultdict(list)
    last: dict[Hashable, int] = {}  # other effects, by device
    since: list[int] = []  # all effects and reads after the last call with arbitrary effects
    barrier: int | None = None
    found: list[set[int]] = []
    for number, call in enumerate(plan.calls):
        before: set[int] = set()
        touched = {variables[slot] for slot in slots_in(call.inputs) if slot in variables}
        node = call.node
        is_state = node is not None and STATE in node.op_def.traits
        has_effect = node is not None and node.op_def.stateful and not is_state
        if is_state:
            variables.update((slot, _identity(call, slot)) for slot in call.outputs)
        elif node is not None and has_effect and not node.op_def.traits.isdisjoint(OTHERS_MAY_RUN):
            before.update(since)
            before.update(() if barrier is None else (barrier,))
            since, barrier = [], number
        elif has_effect or touched:
            before.update(() if barrier is None else (barrier,))
            for variable in touched:
                if variable in changed:
                    before.add(changed[variable])
                if has_effect:
                    before.update(read.pop(variable, ()))
                    changed[variable] = number
                else:
                    read[variable].append(number)
            if has_effect and not touched:
                if call.device in last:
                    before.add(last[call.device])
                last[call.device] = number
            since.append(number)
        if has_effect and touched:  # its result may be the variable that it updated
            one = next(iter(touched))
            variables.update((slot, one) for slot in call.outputs if len(touched) == 1)
        found.append(before)
    return found


def _identity(call: Call, slot: int) -> Hashable:
    """The identity of a variable: its cell, if its operation has one; else the slot."""
    cell = None if call.node is None else call.node.attrs.get("cell")
    return slot if cell is None else id(cell)
