"""Summing the gradients of slices in one buffer.

    %4 = StridedSliceGrad(..., %1)          zeros, with one slice filled in
    %5 = StridedSliceGrad(..., %2)          adds its slice to %4, in place
    %6 = StridedSliceGrad(..., %3)          adds its slice to %5, in place
    %7 = AddN([%4, %5, %6])                 is %6

The gradient of slicing a tensor n times is a sum of n terms, each as large as the whole tensor: n * n slices of memory
traffic. If the kernels of the terms can accumulate (``adds_into``), the first term becomes the sum, and the others are
added to it in place. The same goes
for matrix products, which cuBLAS and BLAS can accumulate.

In work captured on a GPU, terms may come from several logical devices, through elided copies
(`passes.share_copies`): gradients of replicas are summed while the last of them is computed. There, the ledger counts
the memory of the capture as a whole, so it does not matter that it does not see every term.

A term is fused only if nothing else uses it, and all shapes are known to be equal. It is computed at the same position,
so its inputs may still be overwritten afterwards. Sums are rounded in plan order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch

from situs._src.runtime.passes.share_copies import is_shared
from situs._src.runtime.plan.plan import Call, Placed, Slot, Source, makers, slots_in


def with_sums(calls: list[Call], kept: Iterable[int], placed: Placed, is_recorded: bool = False) -> list[Call]:
    """The calls, with terms of sums accumulated where they are computed; the same list if there are none.

    Args:
        calls: The calls, in order.
        kept: The slots that are used after them.
        placed: The kernels of the operations.
        is_recorded: Whether they are work that is captured on one GPU.
    """
    uses = Counter(slot for call in calls for slot in slots_in(call.inputs))
    uses.update(kept)
    maker = makers(calls)
    changed: dict[int, Call] = {}
    for number, call in enumerate(calls):
        terms = _terms(call, placed)
        origin = {slot: _origin(calls, maker, uses, slot) if is_recorded else slot for slot in terms}
        parts = [
            slot
            for slot in terms
            if uses[origin[slot]] == uses[slot] == 1
            and _adds_into(calls, maker.get(origin[slot]), call, placed, is_recorded)
        ]
        if len(parts) < 2:
            continue
        in_order = sorted(parts, key=lambda slot: maker[origin[slot]])
        numbers = [maker[origin[slot]] for slot in in_order]
        for before, after in pairwise(numbers):
            changed[after] = _added(calls[after], calls[before].outputs[0], placed)
        rest: list[Source] = [Slot(in_order[-1]), *(Slot(slot) for slot in terms if slot not in parts)]
        changed[number] = replace(call, function=_sum, inputs=[rest], overwrites=None, anew=None)
    return [changed.get(number, call) for number, call in enumerate(calls)] if changed else calls


def _origin(calls: Sequence[Call], maker: Mapping[int, int], uses: Mapping[int, int], slot: int) -> int:
    """The slot whose memory a term is: its own, or that of another device which a shared copy passes on."""
    while slot in maker and uses[slot] == 1 and is_shared(calls[maker[slot]]):
        (slot,) = slots_in(calls[maker[slot]].inputs)
    return slot


def _terms(call: Call, placed: Placed) -> list[int]:
    """The slots that a call adds up; none if it is not a sum."""
    if call.node is None or not getattr(placed[call.node].kernel.function, "adds_up", False):
        return []
    (terms,) = call.inputs
    slots = [source.number for source in terms if isinstance(source, Slot)] if isinstance(terms, list) else []
    return slots if isinstance(terms, list) and len(slots) == len(terms) == len(set(slots)) else []


def _adds_into(calls: Sequence[Call], number: int | None, sum_: Call, placed: Placed, is_recorded: bool) -> bool:
    """Whether the call that computes a term can add it to a sum of known shape, on the same device or GPU."""
    if number is None:
        return False
    call = calls[number]
    if call.node is None or sum_.node is None or call.takes_run or call.overwrites is not None:
        return False
    account = call.device.account
    if not is_recorded and (call.device is not sum_.device or (account is not None and account.enters_all)):
        return False
    shape, wanted = call.node.outputs[0].shape, sum_.node.outputs[0].shape
    known = shape.is_fully_defined() and wanted.is_fully_defined() and shape.as_list() == wanted.as_list()
    return known and call.node.op_def.is_fresh(call.node) and hasattr(placed[call.node].kernel.function, "adds_into")


def _added(call: Call, whole: int, placed: Placed) -> Call:
    """A call that adds its result to a sum, and passes that on."""
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
    """The first term, which owns its memory, with the others added to it."""
    total, *others = terms
    for term in others:
        total.add_(term)
    return total
