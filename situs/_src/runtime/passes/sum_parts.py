"""Sums of parts of a tensor, written into one piece of memory.

    %4 = StridedSliceGrad(..., %1)          zeros, and a part of them filled
    %5 = StridedSliceGrad(..., %2)          adds its part to %4, in place
    %6 = StridedSliceGrad(..., %3)          adds its part to %5, in place
    %7 = AddN([%4, %5, %6])                 is %6

What a tensor was sliced into comes back as as many gradients as there are slices, each as large as the whole, and they
are added up: for n slices that goes through memory n times n. Where the kernels of the terms say how they are added to
a sum (``adds_into``), the first of them is the sum, and the others are added to it where they are made. The same holds
for products, which the matrix library adds as it computes them.

A term is joined only if nobody else takes it, and if all shapes are known to be the same. It is made where it was made,
so what it takes may be overwritten afterwards as before. Sums are rounded in the order of the plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch

from situs._src.runtime.plan.plan import Call, Placed, Slot, Source, makers, slots_in


def with_sums(calls: list[Call], kept: Iterable[int], placed: Placed) -> list[Call]:
    """The calls, with terms of sums added where they are made; the same list if there are none.

    Args:
        calls: The calls, in order.
        kept: The slots that somebody sees after them.
        placed: The kernels of the operations.
    """
    uses = Counter(slot for call in calls for slot in slots_in(call.inputs))
    uses.update(kept)
    maker = makers(calls)
    changed: dict[int, Call] = {}
    for number, call in enumerate(calls):
        terms = _terms(call, placed)
        parts = [slot for slot in terms if uses[slot] == 1 and _adds_into(calls, maker.get(slot), call, placed)]
        if len(parts) < 2:
            continue
        numbers = sorted(maker[slot] for slot in parts)
        for before, after in pairwise(numbers):
            changed[after] = _added(calls[after], calls[before].outputs[0], placed)
        last = calls[numbers[-1]].outputs[0]
        rest: list[Source] = [Slot(last), *(Slot(slot) for slot in terms if slot not in parts)]
        changed[number] = replace(call, function=_sum, inputs=[rest], overwrites=None, anew=None)
    return [changed.get(number, call) for number, call in enumerate(calls)] if changed else calls


def _terms(call: Call, placed: Placed) -> list[int]:
    """The slots that a call adds up; none if it does something else."""
    if call.node is None or not getattr(placed[call.node].kernel.function, "adds_up", False):
        return []
    (terms,) = call.inputs
    slots = [source.number for source in terms if isinstance(source, Slot)] if isinstance(terms, list) else []
    return slots if isinstance(terms, list) and len(slots) == len(terms) == len(set(slots)) else []


def _adds_into(calls: Sequence[Call], number: int | None, sum_: Call, placed: Placed) -> bool:
    """Whether the call that makes a term can add it to a sum of known shape, on the same device."""
    if number is None:
        return False
    call = calls[number]
    if call.node is None or sum_.node is None or call.device is not sum_.device or call.takes_run:
        return False
    account = call.device.account
    if call.overwrites is not None or (account is not None and account.enters_all):
        return False
    shape, wanted = call.node.outputs[0].shape, sum_.node.outputs[0].shape
    known = shape.is_fully_defined() and wanted.is_fully_defined() and shape.as_list() == wanted.as_list()
    return known and call.node.op_def.is_fresh(call.node) and hasattr(placed[call.node].kernel.function, "adds_into")


def _added(call: Call, whole: int, placed: Placed) -> Call:
    """A call that adds what it makes to a sum, and passes that on."""
    assert call.node is not None
    function: Any = placed[call.node].kernel.function
    adds = _adding(function.adds_into, dict(call.node.attrs))
    return replace(call, function=adds, inputs=[Slot(whole), *call.inputs], overwrites=whole, anew=None)


def _adding(add: Callable[..., None], attrs: Mapping[str, Any]) -> Callable[..., torch.Tensor]:
    def added(whole: torch.Tensor, *values: Any) -> torch.Tensor:
        add(whole, *values, **attrs)
        return whole

    return added


def _sum(terms: list[torch.Tensor]) -> torch.Tensor:
    """The first term, which is memory of its own, with the others added to it."""
    total, *others = terms
    for term in others:
        total.add_(term)
    return total
