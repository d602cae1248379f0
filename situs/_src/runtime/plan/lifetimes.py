"""Lifetimes of the values of a plan: which calls use each of them, and which is the last.

    0   %2 = MatMul(%0, %1)
    1   %3 = Relu(%2)              %2 is used at 1, and freed after it
    2   %4 = Add(%3, %1)           %1 at 0 and 2
        return %4                  %4 at 3, past all calls

Emitted code, swapping and forecasts free values by this rule.
"""

from __future__ import annotations

from situs._src.runtime.plan.plan import Plan, slots_in


class Lifetimes:
    """The uses of the slots of a plan.

    Attributes:
        uses: For each slot the calls that use it, in order; the number past all calls if the plan returns it.
        ends: For each call the slots that are not used after it.
    """

    def __init__(self, plan: Plan) -> None:
        self.uses: dict[int, list[int]] = {}
        for number, call in enumerate(plan.calls):
            for slot in dict.fromkeys(slots_in(call.inputs)):
                self.uses.setdefault(slot, []).append(number)
        for slot in dict.fromkeys(slots_in(plan.outputs)):
            self.uses.setdefault(slot, []).append(len(plan.calls))
        self.ends: list[list[int]] = [[] for _ in plan.calls]
        for slot, uses in self.uses.items():
            if uses[-1] < len(plan.calls):
                self.ends[uses[-1]].append(slot)
        for number, call in enumerate(plan.calls):
            self.ends[number] += [slot for slot in call.outputs if slot not in self.uses]
