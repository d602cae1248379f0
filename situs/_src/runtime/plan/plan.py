"""Plans: the kernel calls of a run, in order, and the values between them.

The values of a `Plan` are numbered *slots*; a slot holds one tensor on one device. `str(plan)` prints it:

    GPU:0   %2 = MatMul(%0, %1)
    CPU:0   %3 = copy %2
    CPU:0   %4 = AddN([%3, ...])

`runtime.plan.planner` builds plans.
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
FIRST_LINE = 2  # the line of call 0 in emitted code


@dataclass(frozen=True)
class Slot:
    """A value that an earlier call produced, or an input; `host` reads it as a host value."""

    number: int
    host: bool = False


@dataclass(frozen=True, eq=False)
class Literal:
    """A value known when the plan is made."""

    value: Any


@dataclass(frozen=True, eq=False)
class Known:
    """The function of a call that returns the same in every run, such as the cell of an eager variable."""

    value: Any

    def __call__(self) -> Any:
        """Returns it."""
        return self.value


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
    single: bool = True  # the function returns one value, rather than a sequence
    after: list[int] = field(default_factory=list)  # calls that must finish first, besides the producers of the inputs
    copies: SymbolicTensor | None = None
    reads: Operation | None = None  # whose value of a variable this is
    overwrites: int | None = None  # the slot whose memory the result is written to
    anew: Callable[..., Any] | None = None  # the function that writes over no input, if the other one does


def makers(calls: Sequence[Call]) -> dict[int, int]:
    """For each slot the number of the call that produces it; inputs have none."""
    return {slot: number for number, call in enumerate(calls) for slot in call.outputs}


def waits_for(call: Call, maker: Mapping[int, int]) -> set[int]:
    """The numbers of the calls that a call directly depends on."""
    return {maker[slot] for slot in slots_in(call.inputs) if slot in maker} | set(call.after)


@dataclass(eq=False)
class Plan:
    """Calls in order; the input slots, and the outputs."""

    calls: list[Call]
    inputs: list[int]
    outputs: list[Source]
    slots: int
    assignments: dict[Operation, Assignment]  # of the operations that are called
    changes_state: bool = False
    placed: dict[Operation, Assignment] = field(default_factory=dict)  # of all that the run needs, constants too
    as_known: bool = True  # whether static shapes hold: no unusual feeds

    def __str__(self) -> str:
        from situs._src.runtime.plan.printer import plan_text  # circular

        return plan_text(self)
