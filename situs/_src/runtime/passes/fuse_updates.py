"""Fusing the updates of many variables into one call, as at the end of every training step.

    %7 = ApplyAdam(w, w/m, w/v, lr, %5)
    %8 = ApplyAdam(b, b/m, b/v, lr, %6)         become one call, at the position of the last

Updates are fused if they are the same op with the same hyperparameters (learning rate and so on) on one device. To
other passes, the fused call looks like the last of them; its gradient argument is a list that also contains the
arguments of the others:

    ApplyAdam(b, b/m, b/v, lr, [%6, w, w/m, w/v, %5])

An update may be delayed until the last one only if nothing in between depends on it or uses the same
variables: the order of accesses to a variable is given by the order of calls alone.
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
    """The function of an update that can be fused with others."""

    states: int  # how many of the first inputs are states
    joint: int  # the other input that is specific to the variable
    kind: Hashable  # the key of updates that may be fused; None if they may not

    def __call__(self, *inputs: Any) -> Any:
        """Makes one update."""
        ...

    @property
    def together(self) -> Callable[..., Any]:
        """The function of fused updates."""
        ...


def join(calls: list[Call], outputs: Sequence[Source], root: Root) -> list[Call]:
    """The calls of a plan with updates fused.

    Args:
        calls: The calls, in order.
        outputs: The results of the plan.
        root: Returns the variable behind a tensor that stands for its state or value.
    """
    updates = [call for call in calls if hasattr(call.function, "joint")]
    if not updates:
        return calls
    _bring_to_host(updates)
    groups = _Groups(calls, outputs, root).found()
    return _joined(calls, [group for group in groups if len(group) > 1])


def _bring_to_host(updates: Iterable[Call]) -> None:
    """Keeps constant hyperparameters on the host, where kernels read them without synchronizing with a GPU."""
    known: dict[Literal, Literal] = {}
    for call in updates:
        for number, source in _hyper(call):
            if isinstance(source, Literal) and _is_scalar(source.value):
                if source not in known:
                    known[source] = Literal(source.value.cpu())
                call.inputs[number] = known[source]


def _hyper(call: Call) -> list[tuple[int, Source]]:
    """The inputs that fused updates have in common."""
    function: Update = call.function  # type: ignore[assignment]
    own = {*range(function.states), function.joint}
    return [(number, source) for number, source in enumerate(call.inputs) if number not in own]


def _is_scalar(value: object) -> bool:
    return isinstance(value, torch.Tensor) and not value.ndim


# Which updates are fused.


class _Groups:
    """Goes through the calls and keeps, for each kind of update, the group that can be fused so far."""

    def __init__(self, calls: Sequence[Call], outputs: Sequence[Source], root: Root) -> None:
        self.calls = calls
        self.root = root
        self.used = set(slots_in(outputs)).union(*(slots_in(call.inputs) for call in calls))
        self.maker = makers(calls)
        self.open: dict[Hashable, _Group] = {}
        self.groups: list[list[int]] = []

    def found(self) -> list[list[int]]:
        """The numbers of the calls in each group."""
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
        """The variables that a call uses; None if unknown."""
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
        """What updates must have in common; None for a call that is not an update, or whose result is used."""
        kind = getattr(call.function, "kind", None)
        if kind is None or not self.used.isdisjoint(call.outputs):
            return None
        hyper = [_identity(source) for _, source in _hyper(call)]
        return kind, call.device, call.node.types["T"] if call.node else None, tuple(hyper)


class _Group:
    """Updates that may be fused, and what must not come between them."""

    def __init__(self) -> None:
        self.members: list[int] = []
        self._variables: set[Any] = set()

    def is_met_by(self, before: Iterable[int], variables: set[Any]) -> bool:
        """Whether a call depends on a member, or uses its variables."""
        return not set(self.members).isdisjoint(before) or not self._variables.isdisjoint(variables)

    def add(self, number: int, variables: set[Any]) -> None:
        """Adds a call."""
        self.members.append(number)
        self._variables |= variables


def _identity(source: Source) -> Hashable:
    """A key that is equal for two sources of the same value."""
    if isinstance(source, Slot):
        return source
    if isinstance(source, Literal):
        return (source.value.dtype, source.value.item()) if _is_scalar(source.value) else id(source)
    return tuple(_identity(item) for item in source)


# One call instead of several.


def _joined(calls: list[Call], groups: Sequence[Sequence[int]]) -> list[Call]:
    place = {number: group[-1] for group in groups for number in group}  # the new position of an update
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
