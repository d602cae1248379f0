"""Eliding copies between logical devices of one GPU, in captured work, where both can read the same memory.

    GPU:1   %4 = MatMul(...)             a gradient of the second replica
    GPU:0   %5 = copy %4                 the same memory, if it is not written to any more
    GPU:0   %6 = AddN([%2, %5])
    GPU:1   %7 = copy %6                 here too: both replicas read one sum

Logical devices of a GPU have separate limits, but share one memory. A copy protects a value from writes by the other
device; if neither side writes to it after the copy, the copy is unnecessary. The
value stays in the ledger of the device that allocated it.

Memory that is written to: that of variables, by their updates; and inputs that a call overwrites. A slot may
alias the inputs of the call that produces it, unless the results of its op are fresh; aliasing is propagated through
views of views, conservatively. Only captured work is transformed (`runtime.run.cuda_graph`):
there, copies are neither traced nor part of a forecast.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Any

from situs._src.runtime.plan.plan import Call, Placed, slots_in


def with_shared(calls: list[Call], states: Iterable[int], sizes: set[int], placed: Placed) -> list[Call]:
    """The calls, with copies that are not needed passing their input on; one for each, in the same order.

    Args:
        calls: The calls of the work, in order.
        states: The slots that are the memory of variables which the work updates.
        sizes: The slots that are on the host: copies of these put numbers on the GPU.
        placed: The kernels of the operations.
    """
    memory = _Memory(calls, set(states), placed)
    return [
        replace(call, function=_itself) if _is_between_devices(call, sizes) and memory.share(number, call) else call
        for number, call in enumerate(calls)
    ]


def is_shared(call: Call) -> bool:
    """Whether a call is a copy that passes its input on."""
    return call.copies is not None and call.function is _itself


def _is_between_devices(call: Call, sizes: set[int]) -> bool:
    return call.copies is not None and sizes.isdisjoint(slots_in(call.inputs))


def _itself(value: object) -> Any:
    return value


class _Memory:
    """Which slots may alias, and when their memory is last written to."""

    def __init__(self, calls: list[Call], states: set[int], placed: Placed) -> None:
        self._above: dict[int, int] = {}  # union-find: from a slot to the representative of all that may alias it
        self._last: dict[int, int] = {}  # by representative, the number of the last call that writes
        for number, call in enumerate(calls):
            changed = self._changed(call, states)
            if call.overwrites is not None:
                self._join(call.outputs[0], call.overwrites)
                changed.append(call.overwrites)
            for slot in changed:
                self._last[self._first(slot)] = number
            taken = changed if _updates(call) else slots_in(call.inputs)
            if call.copies is None and not _makes_new(call, placed):
                for pair in product(call.outputs, taken):
                    self._join(*pair)

    def share(self, number: int, copy: Call) -> bool:
        """Whether a copy may alias its input; from now on it does."""
        (source,), (made,) = slots_in(copy.inputs), copy.outputs
        if max(self._last.get(self._first(slot), -1) for slot in (source, made)) > number:
            return False
        self._join(made, source)
        return True

    def _changed(self, call: Call, states: set[int]) -> list[int]:
        """The slots with memory of variables that a call updates."""
        if not _updates(call):
            return []
        owners = {self._first(slot) for slot in states}
        return [slot for slot in slots_in(call.inputs) if self._first(slot) in owners]

    def _first(self, slot: int) -> int:
        while (above := self._above.get(slot, slot)) != slot:
            slot = above
        return slot

    def _join(self, one: int, other: int) -> None:
        one, other = self._first(one), self._first(other)
        if one != other:
            self._above[one] = other
            self._last[other] = max(self._last.pop(one, -1), self._last.get(other, -1))


def _updates(call: Call) -> bool:
    return call.node is not None and call.node.op_def.updates


def _makes_new(call: Call, placed: Placed) -> bool:
    node = call.node
    return node is not None and node.op_def.is_fresh(node) and placed[node].kernel.keeps_traits
