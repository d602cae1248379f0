"""Updates of many variables as one call: what optimizers end every step with.

    %7 = ApplyAdam(w, w/m, w/v, lr, %5)
    %8 = ApplyAdam(b, b/m, b/v, lr, %6)         become one call, where the last of them stands

Updates are joined that do the same with the same values for learning rates and such, on one device. The joined
call looks like the last of them to whoever goes through the plan; its gradient is a list, and what belongs to the
others stands behind it:

    ApplyAdam(b, b/m, b/v, lr, [%6, w, w/m, w/v, %5])

An update may be put off until the last one only if nothing in between waits for it, or has to do with the same
variables: a plan says in which order things are done to a variable by the order of its calls alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import torch

from situs._src.ir.graph.function import graphs_of
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import DRAWS, STATE
from situs._src.runtime.plan.plan import Call, Literal, Slot, Source, makers, slots_in, waits_for

Root = Callable[[SymbolicTensor], Any]


class Update(Protocol):
    """The function of an update that may be joined with others."""

    states: int  # how many of the inputs, the first ones, are states
    joint: int  # which input is the variable's own besides
    kind: Hashable  # what is the same for updates that may be joined; None if none may

    def __call__(self, *inputs: Any) -> Any:
        """Makes one update."""
        ...

    @property
    def together(self) -> Callable[..., Any]:
        """The function that makes joined updates."""
        ...


def join(calls: list[Call], outputs: Sequence[Source], root: Root) -> list[Call]:
    """The calls of a plan with updates joined.

    Args:
        calls: The calls, in order.
        outputs: What the plan returns.
        root: Gives the variable behind a tensor that stands for state, or for what it holds.
    """
    updates = [call for call in calls if hasattr(call.function, "joint")]
    if not updates:
        return calls
    _bring_to_host(updates)
    groups = _Groups(calls, outputs, root).found()
    return _joined(calls, [group for group in groups if len(group) > 1])


def _bring_to_host(updates: Iterable[Call]) -> None:
    """Has hyperparameters that are constants lie on the host, where kernels read them without waiting for a card."""
    known: dict[Literal, Literal] = {}
    for call in updates:
        for number, source in _hyper(call):
            if isinstance(source, Literal) and _is_scalar(source.value):
                if source not in known:
                    known[source] = Literal(source.value.cpu())
                call.inputs[number] = known[source]


def _hyper(call: Call) -> list[tuple[int, Source]]:
    """The inputs that are the same for updates that are joined."""
    function: Update = call.function  # type: ignore[assignment]
    own = {*range(function.states), function.joint}
    return [(number, source) for number, source in enumerate(call.inputs) if number not in own]


def _is_scalar(value: object) -> bool:
    return isinstance(value, torch.Tensor) and not value.ndim


# Which updates go together.


class _Groups:
    """Goes through the calls and keeps, for each kind of update, those that may be made together so far."""

    def __init__(self, calls: Sequence[Call], outputs: Sequence[Source], root: Root) -> None:
        self.calls = calls
        self.root = root
        self.used = set(slots_in(outputs)).union(*(slots_in(call.inputs) for call in calls))
        self.maker = makers(calls)
        self.open: dict[Hashable, _Group] = {}
        self.groups: list[list[int]] = []

    def found(self) -> list[list[int]]:
        """The numbers of the calls that go together."""
        for number, call in enumerate(self.calls):
            self._see(number, call)
        return self.groups

    def _see(self, number: int, call: Call) -> None:
        variables = self._variables(call)
        for key, group in list(self.open.items()):
            if variables is None or group.is_met_by(waits_for(call, self.maker), variables):
                del self.open[key]
        key = self._key(call)
        if key is None or variables is None:
            return
        if key not in self.open:
            self.open[key] = _Group()
            self.groups.append(self.open[key].members)
        self.open[key].add(number, variables)

    def _variables(self, call: Call) -> set[Any] | None:
        """The variables that a call has to do with; None if that cannot be told."""
        node = call.node
        if call.reads is not None:
            return {self.root(tensor) for tensor in call.reads.outputs}
        if node is None or not node.op_def.stateful or STATE in node.op_def.traits:
            return None if node is not None and graphs_of(node) else set()
        if DRAWS in node.op_def.traits:
            return set()
        pairs = list(zip(node.op_def.inputs, node.args, strict=True))
        return {self.root(value) for arg, value in pairs if arg.is_ref} or None

    def _key(self, call: Call) -> Hashable:
        """What updates must have in common; None for what is no update, or whose result is used."""
        kind = getattr(call.function, "kind", None)
        if kind is None or not self.used.isdisjoint(call.outputs):
            return None
        hyper = [_identity(source) for _, source in _hyper(call)]
        return kind, call.device, call.node.types["T"] if call.node else None, tuple(hyper)


class _Group:
    """Updates that may be made together, and what must not come between them."""

    def __init__(self) -> None:
        self.members: list[int] = []
        self._variables: set[Any] = set()

    def is_met_by(self, before: Iterable[int], variables: set[Any]) -> bool:
        """Whether a call waits for a member, or has to do with its variables."""
        return not set(self.members).isdisjoint(before) or not self._variables.isdisjoint(variables)

    def add(self, number: int, variables: set[Any]) -> None:
        """Adds a call."""
        self.members.append(number)
        self._variables |= variables


def _identity(source: Source) -> Hashable:
    """What two sources of the same value have in common."""
    if isinstance(source, Slot):
        return source
    if isinstance(source, Literal):
        return (source.value.dtype, source.value.item()) if _is_scalar(source.value) else id(source)
    return tuple(_identity(item) for item in source)


# One call in the place of several.


def _joined(calls: list[Call], groups: Sequence[Sequence[int]]) -> list[Call]:
    place = {number: group[-1] for group in groups for number in group}  # where an update will be
    made = {group[-1]: _together([calls[number] for number in group]) for group in groups}
    kept = [number for number in range(len(calls)) if place.get(number, number) == number]
    renumbered = {old: new for new, old in enumerate(kept)}
    for number in kept:
        call = made.get(number, calls[number])
        call.after = sorted({renumbered[place.get(other, other)] for other in call.after})
    return [made.get(number, calls[number]) for number in kept]


def _together(members: Sequence[Call]) -> Call:
    *others, last = members
    function: Update = last.function  # type: ignore[assignment]
    inputs = list(last.inputs)
    inputs[function.joint] = [inputs[function.joint], *(source for call in others for source in _own(call, function))]
    after = {number for call in members for number in call.after}
    return replace(last, function=function.together, inputs=inputs, after=sorted(after))


def _own(call: Call, function: Update) -> list[Source]:
    return [*call.inputs[: function.states], call.inputs[function.joint]]
