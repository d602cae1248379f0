"""In-place accumulators of loops.

    acc, ... = body(acc, ...)        with      acc' = acc + StridedSliceGrad(dy, t)

Without this pass, each iteration allocates zeros of the size of the sum, fills in one row and adds the two: a loop over
n rows moves n * n of them. But if a loop variable is used only for that addition, nothing observes the intermediate
sums. So the loop copies the initial value, and each iteration adds to it in place: only to the slice, for ops whose
kernels know how (``adds_into``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from situs._src.runtime.plan.plan import Call, Plan, Slot, slots_in

_ADDS = frozenset({"AddV2"})


class Part:
    """A term that covers a part of a sum, instead of a tensor padded with zeros."""

    __slots__ = ("_add", "_values")

    def __init__(self, add: Callable[..., None], values: tuple[Any, ...]) -> None:
        self._add = add
        self._values = values

    def add_to(self, whole: torch.Tensor) -> None:
        """Adds it in place."""
        self._add(whole, *self._values)


def accumulating(plan: Plan, results: int, parts: bool = True) -> tuple[Plan, list[int]]:
    """The plan of a loop's step with in-place accumulation, and the loop variables that are such sums.

    Args:
        plan: The plan; its first inputs and outputs are the loop variables.
        results: The number of loop variables.
        parts: Whether parts may be added without padding.
    """
    uses = Counter(slots_in([source for call in plan.calls for source in call.inputs]) + slots_in(plan.outputs))
    made_by = {slot: call for call in plan.calls for slot in call.outputs}
    changed: dict[int, Call] = {}  # by the identity of the call that they replace
    follows: dict[int, Call] = {}  # additions that follow immediately, by the call that produces the term
    sums: list[int] = []
    for number in range(results):
        source, coming = plan.outputs[number], plan.inputs[number]
        call = made_by.get(source.number) if isinstance(source, Slot) else None
        if call is None or not _is_sum(call, coming, uses):
            continue
        added = next(slot for slot in call.inputs if slot != Slot(coming))
        maker = made_by.get(added.number) if isinstance(added, Slot) and uses[added.number] == 1 else None
        add = _adds_into(maker, plan) if parts and maker is not None else None
        if maker is not None and add is not None:
            changed[id(maker)] = replace(maker, function=_later(add))
            follows[id(maker)] = call
        plain = call.function if call.anew is None else call.anew
        function = _adding(plain, call.inputs[0] == Slot(coming))
        changed[id(call)] = replace(call, function=function, overwrites=None, anew=plain)
        sums.append(number)
    return (_reordered(plan, changed, follows), sums) if sums else (plan, sums)


def _is_sum(call: Call, coming: int, uses: Mapping[int, int]) -> bool:
    """Whether a call adds to a loop variable that has no other use, on a device whose ledger does not count memory."""
    node, account = call.node, call.device.account
    return (
        node is not None
        and node.type in _ADDS
        and node.outputs[0].dtype.is_floating
        and len(call.inputs) == 2
        and Slot(coming) in call.inputs
        and uses[coming] == uses[call.outputs[0]] == 1
        and not call.takes_run
        and (account is None or not account.enters_all)
    )


def _adds_into(maker: Call, plan: Plan) -> Callable[..., None] | None:
    """How the result of a call is accumulated without being materialized; None if it cannot be."""
    node = maker.node
    if node is None or maker.takes_run or maker.overwrites is not None:
        return None
    add = getattr(plan.assignments[node].kernel.function, "adds_into", None)
    if add is None:
        return None
    attrs = dict(node.attrs)
    return lambda whole, *values: add(whole, *values, **attrs)


def _later(add: Callable[..., None]) -> Callable[..., Part]:
    return lambda *values: Part(add, values)


def _adding(plain: Callable[..., Any], sum_first: bool) -> Callable[..., Any]:
    def add(first: Any, second: Any) -> Any:
        whole, added = (first, second) if sum_first else (second, first)
        if type(added) is Part:
            added.add_to(whole)
            return whole
        if type(whole) is type(added) is torch.Tensor and whole.shape == added.shape:
            return whole.add_(added)
        return plain(first, second)

    return add


def _reordered(plan: Plan, changed: Mapping[int, Call], follows: Mapping[int, Call]) -> Plan:
    """The plan with each addition right after the call that produces its term: later, the term may be overwritten."""
    moved = {id(call) for call in follows.values()}
    order: list[Call] = []
    for call in plan.calls:
        if id(call) not in moved:
            order.append(call)
        if id(call) in follows:
            order.append(follows[id(call)])
    numbers = {id(call): number for number, call in enumerate(order)}
    calls = []
    for call in order:
        after = [numbers[id(plan.calls[number])] for number in call.after]
        calls.append(replace(changed.get(id(call), call), after=after))
    return replace(plan, calls=calls)


def own(values: Sequence[Any], sums: Sequence[int]) -> tuple[Any, ...]:
    """The initial values of loop variables, with copies of those that are accumulated in place."""
    owned = list(values)
    for number in sums:
        if type(owned[number]) is torch.Tensor:
            owned[number] = owned[number].clone(memory_format=torch.contiguous_format)
    return tuple(owned)
