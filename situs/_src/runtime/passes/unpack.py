"""Fusing reads of several rows of one tensor list with constant indices.

    %12 = TensorListGetItem([%10], 0)                 %12, %20, %21 = unpack %10
    %20 = TensorListGetItem([%10], 1)        ->
    %21 = TensorListGetItem([%10], 2)

The gradient of a loop reads the residuals of each forward iteration (`autodiff.residuals`), often ten values
or more; each read is a call that costs as much as a small kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from situs._src.base.devices.logical import Device
from situs._src.runtime.eager.bridge import torch_device
from situs._src.runtime.plan.plan import Call, Literal, Plan, Slot


def unpacked(plan: Plan) -> Plan:
    """The plan with such reads merged, at the position of the first; the plan itself if there are none."""
    groups: dict[tuple[int, Device], list[int]] = {}
    for number, call in enumerate(plan.calls):
        rows = _rows_read(call)
        if rows is not None:
            groups.setdefault((rows, call.device), []).append(number)
    stands_for: dict[int, int] = {}  # for each merged call, the number of the one it is merged into
    together: dict[int, Call] = {}
    for (rows, device), numbers in groups.items():
        if len(numbers) > 1:
            stands_for.update(dict.fromkeys(numbers[1:], numbers[0]))
            calls = [plan.calls[number] for number in numbers]
            slots = [slot for call in calls for slot in call.outputs]
            together[numbers[0]] = Call(_reading(calls, device), [Slot(rows)], slots, device, single=False)
    if not together:
        return plan
    kept = [number for number in range(len(plan.calls)) if number not in stands_for]
    places = {old: new for new, old in enumerate(kept)}
    made = []
    for number in kept:
        call = together.get(number, plan.calls[number])
        after = sorted({places[stands_for.get(other, other)] for other in call.after})
        made.append(replace(call, after=after))
    return replace(plan, calls=made)


def _rows_read(call: Call) -> int | None:
    """The slot of the list from which a call reads a row with a known index; None if it is not such a call."""
    if call.node is None or call.node.type != "TensorListGetItem" or call.takes_run or call.after:
        return None
    rows, index = call.inputs
    if not isinstance(index, Literal) or type(index.value) is not int or not isinstance(rows, list):
        return None
    return rows[0].number if isinstance(rows[0], Slot) else None


def _reading(calls: Sequence[Call], device: Device) -> Callable[[Any], list[Any]]:
    functions: list[tuple[Callable[..., Any], int]] = []
    for call in calls:
        index = call.inputs[1]
        assert isinstance(index, Literal)
        functions.append((call.function, index.value))
    numbers = [number for _, number in functions]
    where = torch_device(device)

    def read(rows: Any) -> list[Any]:
        found: list[Any] = rows.some(numbers)
        for place, row in enumerate(found):
            if type(row) is not torch.Tensor or row.device != where:  # not set, a list, or elsewhere
                function, number = functions[place]
                found[place] = function([rows], number)
        return found

    return read
