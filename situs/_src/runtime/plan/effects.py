"""What keeps the effects of a plan in order where its calls run side by side.

A function promises that its effects happen in the order of the program. Calls one after another keep that by
themselves. In a plan whose calls run side by side, such as a step of several replicas, the order is kept where somebody
could notice:

    a variable      what reads it comes after what changed it before; what changes it, after all that read it before
    other effects   one after another on each device: what is printed, what is drawn
    what may do anything (calls Python, waits for others)       after all effects before it, and before all later ones

    GPU:0   read v0 -> ... -> AssignSub v0 -.            the two devices have nothing to do with each other here
    GPU:1   read v1 -> ... -> AssignSub v1 -+-> barrier
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping

from situs._src.ir.registry.traits import STATE
from situs._src.runtime.plan.plan import OTHERS_MAY_RUN, Call, Plan, slots_in


def in_order(plan: Plan, states: Mapping[int, Hashable] | None = None) -> list[set[int]]:
    """For each call of a plan the earlier calls whose effects have to have happened.

    Args:
        plan: The plan.
        states: The variables that come in, by their slots.
    """
    variables: dict[int, Hashable] = dict(states or {})  # by the slots that stand for them
    changed: dict[Hashable, int] = {}
    read: defaultdict[Hashable, list[int]] = defaultdict(list)
    last: dict[Hashable, int] = {}  # other effects, by device
    since: list[int] = []  # all effects and reads after the last call that may do anything
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
        if has_effect and touched:  # what it gives may stand for the variable that it changed
            one = next(iter(touched))
            variables.update((slot, one) for slot in call.outputs if len(touched) == 1)
        found.append(before)
    return found


def _identity(call: Call, slot: int) -> Hashable:
    """What tells a variable: its cell, if the operation that stands for it has one; else the slot."""
    cell = None if call.node is None else call.node.attrs.get("cell")
    return slot if cell is None else id(cell)
