"""Buffer reuse: a result overwrites an input that is no longer needed.

    %2 = MatMul(%0, %1)
    %3 = AddV2(%2, b)      written over %2
    %4 = Relu(%3)          written over %3: all three results share one buffer

A value may be overwritten by the call that reads it last, if

- it owns its memory: it was produced in this plan by an operation whose results are fresh (`ir.registry.traits`), and
  is read only by such operations, which keep no view of it. So feeds, fetches, constants, copies and values of
  variables are never touched;
- the result is known to have its dtype and shape: the op is elementwise, and the other inputs broadcast into it.

How to overwrite an input is known for PyTorch's own functions; for other kernels, the op has a rule (`Op.in_place`).

If calls run in parallel, the overwriting call waits for the other readers of the value. It does not wait
for slow ones such as matrix products: then it allocates memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import torch

from situs._src.base.dtype import STRING, WIDE_UNSIGNED
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.traits import ELEMENTWISE, FRESH_FIRST, PRODUCT
from situs._src.runtime.plan.plan import Call, Placed, Slot, Source, makers, slots_in, waits_for

Function = Callable[..., Any]
NOT_TORCHS = WIDE_UNSIGNED | STRING  # their kernels are NumPy's


def overwrite(calls: Sequence[Call], outputs: Sequence[Source], placed: Placed) -> None:
    """Makes elementwise calls of a plan overwrite inputs, where that is safe.

    Args:
        calls: The calls, in order; those that overwrite get another function, and wait for other readers.
        outputs: The results of the plan.
        placed: The kernels of the operations.
    """
    values = _Values(calls, outputs, placed)
    for number, call in enumerate(calls):
        if call.overwrites is not None:
            continue  # inlined from a function
        for place, slot in _inputs(call):
            function = overwriting(call, placed, place) if values.may_go(slot, number) else None
            if function is not None:
                call.function, call.anew, call.overwrites = function, call.function, slot
                call.after = sorted({*call.after, *values.readers[slot]} - {number})
                break


def _inputs(call: Call) -> Iterator[tuple[int, int]]:
    """The inputs that a call might overwrite: their positions and slots."""
    places = () if call.node is None else _places(call.node)
    sources = _flat(call) if places else ()
    for place in places:
        source = sources[place] if place < len(sources) else None
        if isinstance(source, Slot) and not source.host:
            yield place, source.number


def _places(node: Operation) -> tuple[int, ...]:
    """The inputs that the result of an operation may overwrite."""
    if node.op_def.in_place_rule is not None:
        return node.op_def.in_place_rule.places
    return tuple(range(len(node.op_def.inputs))) if ELEMENTWISE in node.op_def.traits else ()


def _flat(call: Call) -> Sequence[Source]:
    first = call.inputs[0]
    return first if isinstance(first, list) else call.inputs


# Whether a value may be overwritten.


class _Values:
    """The producer and the readers of each value of a plan."""

    def __init__(self, calls: Sequence[Call], outputs: Sequence[Source], placed: Placed) -> None:
        self.calls = calls
        self.placed = placed
        self.maker = makers(calls)
        self.readers: dict[int, list[int]] = {}
        for number, call in enumerate(calls):
            for slot in slots_in(call.inputs):
                self.readers.setdefault(slot, []).append(number)
        self.returned = set(slots_in(outputs))

    def may_go(self, slot: int, number: int) -> bool:
        """Whether a value owns its memory, and this call is the last to read it, and reads it once."""
        others = self.readers[slot][:-1]
        if number in others or slot in self.returned or not self._is_own(slot, number):
            return False
        return all(self._makes_new(other) and not self._is_long_wait(other, number) for other in others)

    def _is_own(self, slot: int, number: int) -> bool:
        maker = self.maker.get(slot)
        if maker is None:
            return False  # an input of the plan
        call = self.calls[maker]
        if call.node is None or call.device is not self.calls[number].device:
            return False
        kernel = self.placed[call.node].kernel
        if FRESH_FIRST in call.node.op_def.traits:
            return slot == call.outputs[0] and kernel.keeps_traits
        return self._makes_new(maker) and not kernel.host_output

    def _makes_new(self, number: int) -> bool:
        node = self.calls[number].node
        return node is not None and node.op_def.is_fresh(node) and self.placed[node].kernel.keeps_traits

    def _is_long_wait(self, other: int, number: int) -> bool:
        """Whether another reader takes long and may run in parallel with this call."""
        node = self.calls[other].node
        return node is not None and PRODUCT in node.op_def.traits and not self._before[number] >> other & 1

    @cached_property
    def _before(self) -> list[int]:
        """For each call the calls that have finished when it starts, as a bit mask."""
        found: list[int] = []
        for call in self.calls:
            bits = 0
            for other in waits_for(call, self.maker):
                bits |= found[other] | 1 << other
            found.append(bits)
        return found


# How a result overwrites an input.


class Over:
    """One of PyTorch's functions, with its result written into one of its inputs."""

    __slots__ = ("function", "place")

    def __init__(self, function: Function, place: int) -> None:
        self.function = function
        self.place = place

    def __call__(self, *values: Any) -> Any:
        """Calls the function and returns the overwritten input."""
        return self.function(*values, out=values[self.place])


def overwriting(call: Call, placed: Placed, place: int) -> Function | None:
    """The function that computes a call's result in the memory of an input; None if there is none, or it may not fit.

    Args:
        call: The call of an operation.
        placed: The kernels of the operations.
        place: Which input: its index in the list, for an op that takes a list.
    """
    node = call.node
    if node is None or not _fits(node, place):
        return None
    kernel = placed[node].kernel
    lowered = None if kernel.lower is None else kernel.lower(*node.args, **node.attrs)
    function = kernel.function if lowered is None else lowered
    if _is_torch(function):
        return _of_torch(function, place, takes_out=len(node.op_def.inputs) == 2)
    declared = node.op_def.in_place_rule
    return declared.rule(node, place) if declared is not None and kernel.keeps_traits else None


def _fits(node: Operation, place: int) -> bool:
    """Whether the result certainly has the dtype and shape of an input."""
    dtype = node.outputs[0].dtype
    if node.inputs[place].dtype is not dtype or dtype in NOT_TORCHS:
        return False
    declared = node.op_def.in_place_rule
    if declared is not None and declared.fits is not None:
        return declared.fits(node, place)
    into = node.inputs[place].shape
    return all(_broadcasts(other.shape, into) for number, other in enumerate(node.inputs) if number != place)


def _broadcasts(shape: TensorShape, into: TensorShape) -> bool:
    """Whether a tensor of one shape certainly broadcasts into another shape without changing it."""
    if shape.rank is None or (shape.rank and into.rank is None):
        return False
    if not shape.rank:
        return True
    pairs = zip(reversed(shape.as_list()), reversed(into.as_list()), strict=False)
    return shape.rank <= len(into) and all(size == 1 or (size is not None and size == other) for size, other in pairs)


def _is_torch(function: Function) -> bool:
    return getattr(torch, getattr(function, "__name__", ""), None) is function


def _of_torch(function: Function, place: int, takes_out: bool) -> Function | None:
    """The in-place variant of one of PyTorch's functions, which overwrites the first input."""
    name = f"{function.__name__}_"
    found: Function | None = getattr(torch.Tensor, name, None) or getattr(torch, name, None)
    if place == 0 and found is not None:
        return found
    return Over(function, place) if takes_out else None
