"""Plans: the calls that a run makes, in order, with the values they pass to each other.

The values of a `Plan` have numbers, *slots*; a slot holds one tensor on one device. `str(plan)` shows it:

    GPU:0   %2 = MatMul(%0, %1)
    CPU:0   %3 = copy %2
    CPU:0   %4 = AddN([%3, ...])

`runtime.plan.planner` makes plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from situs._src.base.devices.logical import Device
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import BLOCKS, CALLS_PYTHON
from situs._src.placement.candidates import Assignment

OTHERS_MAY_RUN = frozenset({BLOCKS, CALLS_PYTHON})  # while a call of such an op waits, another run may change variables
FIRST_LINE = 2  # of the code that a plan is emitted as: call 0 stands on it


@dataclass(frozen=True)
class Slot:
    """A value that an earlier call made, or that came in; `host` reads it as plain Python."""

    number: int
    host: bool = False


@dataclass(frozen=True, eq=False)
class Literal:
    """A value known when the plan is made."""

    value: Any


Source = Slot | Literal | tuple["Source", ...] | list["Source"]
Placed = Mapping[Operation, Assignment]


def slots_in(sources: Iterable[Source]) -> list[int]:
    """Every slot that sources read."""
    found: list[int] = []
    for source in sources:
        if isinstance(source, Slot):
            found.append(source.number)
        elif not isinstance(source, Literal):
            found += slots_in(source)
    return found


@dataclass(eq=False)
class Call:
    """One call: a function of values, and the slots of its results. A copy has no operation."""

    function: Callable[..., Any]
    inputs: list[Source]
    outputs: list[int]
    device: Device
    node: Operation | None = None
    takes_run: bool = False
    single: bool = True  # the function returns a value, rather than a sequence of them
    after: list[int] = field(default_factory=list)  # calls that must be over, besides those that make the inputs
    copies: SymbolicTensor | None = None
    reads: Operation | None = None  # whose value of a variable this is
    overwrites: int | None = None  # the slot whose memory the result is written to
    anew: Callable[..., Any] | None = None  # the function to call if that slot must stay as it is


def makers(calls: Sequence[Call]) -> dict[int, int]:
    """For each slot the number of the call that makes it; what comes in is made by none."""
    return {slot: number for number, call in enumerate(calls) for slot in call.outputs}


def waits_for(call: Call, maker: Mapping[int, int]) -> set[int]:
    """The numbers of the calls that must be over before a call begins, one step back."""
    return {maker[slot] for slot in slots_in(call.inputs) if slot in maker} | set(call.after)


@dataclass(eq=False)
class Plan:
    """Calls in order; the slots that come in, and what goes out."""

    calls: list[Call]
    inputs: list[int]
    outputs: list[Source]
    slots: int
    assignments: dict[Operation, Assignment]  # of the operations that are called
    changes_state: bool = False
    placed: dict[Operation, Assignment] = field(default_factory=dict)  # of all that the run needs, constants and all
    as_known: bool = True  # whether what the graph knows of shapes holds: nothing unusual is fed

    def __str__(self) -> str:
        from situs._src.runtime.plan.printer import plan_text  # it imports this module

        return plan_text(self)
