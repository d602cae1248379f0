"""The calls of a region as a function of tensors, independent of their plan: what is traced, here or in a worker.

    region of a plan                      body
    %7 = read %0                          #3 = what #0 holds            values have numbers: inputs first, then results
    %9 = Mul(%7, const)                   #4 = mul(#3, 0.5)
    %0 = AssignSub(%0, %9)                #0 = assign_sub(#0, #4)

A body refers to no operation, device or variable: it contains functions, numbers and layouts. So it can be serialized
for another process, and described by a text that is the same in every process (`runtime.run.carry`).

The traced function returns the new values of variables; then its results that others use; then, if one of its kernels
validates values, a flag that says whether one is invalid: the variables then keep their old values.

A call that fails during tracing is recorded, and tensors of the same layout stand in for its results, so that one trace
finds all such calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import torch

from situs._src.runtime.passes.regions import Layout, Region, Seen, anew, is_change, is_passed, number_places
from situs._src.runtime.plan.plan import Call, Literal, Slot, Source
from situs._src.runtime.run import inductor


@dataclass(frozen=True)
class Step:
    """One call of a body.

    Attributes:
        function: The function; None for one that only passes on the value of a variable.
        inputs: Values by their numbers, and constants.
        outputs: The numbers of its results.
        layouts: Their layouts; empty if it updates variables.
        single: Whether the function returns a value, rather than a sequence of them.
        states: The inputs of the body that are variables, and that it reads or updates.
        changes: Whether it updates them.
        refuses: Takes the same inputs and returns whether the call would raise an error for a value; None if it never
        would.
        takes_integers: Whether it takes integer tensors, which may be indices.
        says_itself: Whether the kernel declares what it is compiled as.
    """

    function: Callable[..., Any] | None
    inputs: list[Source]
    outputs: list[int]
    layouts: list[Layout]
    single: bool
    states: list[int]
    changes: bool
    refuses: Callable[..., torch.Tensor] | None
    takes_integers: bool
    says_itself: bool


@dataclass(frozen=True)
class Body:
    """The calls of a region.

    Attributes:
        inputs: The layouts of its inputs.
        steps: The calls, in order.
        states: The places of the inputs that are variables.
        changed: The places of those that it updates.
        kept: The numbers of the results that others use.
        views: Those of them that are copied, because they may alias the memory of a variable.
        may_refuse: Whether the flag for invalid values will be read.
    """

    inputs: list[Layout]
    steps: list[Step]
    states: list[int]
    changed: list[int]
    kept: list[int]
    views: frozenset[int]
    may_refuse: bool


def body_of(region: Region, seen: Seen, may_refuse: bool) -> Body:
    """The body of a region.

    Args:
        region: The region.
        seen: The layouts that a run has shown.
        may_refuse: Whether the flag for invalid values will be read.
    """
    places = {region.key(source): place for place, source in enumerate(region.sources)}
    numbers = dict(places)

    def given(source: Source, as_number: bool) -> Source:
        if isinstance(source, Literal):
            if is_passed(source):
                return Slot(places[region.key(source)])
            is_scalar = isinstance(source.value, torch.Tensor) and not source.value.ndim
            return Literal(source.value.item()) if as_number and is_scalar else source
        if isinstance(source, Slot):
            return Literal(seen.sizes[source.number]) if source.host else Slot(numbers[region.key(source)])
        return type(source)(given(each, as_number) for each in source)

    steps: list[Step] = []
    values = len(places)
    for call in region.calls:
        changes = is_change(call)
        rates = number_places(call)
        inputs = [given(source, place in rates) for place, source in enumerate(call.inputs) if call.reads is None]
        states = [places[state] for state in seen.states_in(call)] if changes or call.reads is not None else []
        outputs = [] if changes else list(range(values, values + len(call.outputs)))
        if not changes:
            numbers.update(zip(call.outputs, outputs, strict=True))
            values += len(outputs)
        steps.append(_step(call, inputs, outputs, states, changes, seen))
    return Body(
        [seen.layout(source) for source in region.sources],
        steps,
        [place for key, place in places.items() if key in region.states],
        [places[state] for state in region.changed],
        [numbers[slot] for slot in region.kept if slot not in region.states],
        frozenset(numbers[slot] for slot in region.views if slot not in region.states),
        may_refuse,
    )


def _step(call: Call, inputs: list[Source], outputs: list[int], states: list[int], changes: bool, seen: Seen) -> Step:
    takes_integers = call.node is not None and any(tensor.dtype.is_integer for tensor in call.node.inputs)
    says_itself = _of_kernel(call.function, "when_compiled") is not None
    if call.reads is not None:
        function, refuses = None, None
    elif changes:
        changing: Any = call.function
        function, refuses = changing.on_memory, None
    else:
        usual = anew(call).function
        function, refuses = _of_kernel(usual, "when_compiled") or usual, _of_kernel(usual, "refuses")
    layouts = [seen.layouts[slot] for slot in call.outputs] if outputs and call.reads is None else []
    return Step(function, inputs, outputs, layouts, call.single, states, changes, refuses, takes_integers, says_itself)


def _of_kernel(function: Callable[..., Any], name: str) -> Callable[..., Any] | None:
    """What a kernel declares for a compiler, for the inputs of a call; None if nothing.

    That is ``when_compiled``, the function that is traced instead of it, and ``refuses``, which takes the same inputs
    and returns whether the kernel would raise an error for a value.
    """
    kernel = function.func if isinstance(function, partial) else function
    found: Callable[..., Any] | None = getattr(kernel, name, None)
    return partial(found, *function.args, **function.keywords) if found and isinstance(function, partial) else found


def trace_body(body: Body, pause: Callable[[], None] | None = None) -> tuple[inductor.Traced | None, dict[int, str]]:
    """Traces a body.

    Args:
        body: The body.
        pause: Called before each call: throttles the thread.

    Returns:
        The graph, or None if a call cannot be traced; and the numbers of such calls, with the reasons.
    """
    tracing = _Tracing(body, pause)
    try:
        graph = inductor.trace(tracing, body.inputs, body.changed)
    except Exception as error:  # from the tracer itself, not from a call
        reason = inductor.reason_of(error)
        changes = [number for number, step in enumerate(body.steps) if step.changes]
        for number in changes or range(len(body.steps)):
            tracing.refused.setdefault(number, reason)
        return None, tracing.refused
    graph.refuses = tracing.refuses
    return None if tracing.refused else graph, tracing.refused


class _Tracing:
    """A body as a function during tracing.

    Args:
        body: The body.
        pause: Called before each call.

    Attributes:
        refused: The numbers of the calls that cannot be traced, with the reasons.
    """

    def __init__(self, body: Body, pause: Callable[[], None] | None) -> None:
        self._body = body
        self._pause = pause
        self._watch = inductor.Watch()
        self._held: dict[int, torch.Tensor] = {}  # the current values of variables
        self._refusals: list[torch.Tensor] = []
        self.refused: dict[int, str] = {}

    @property
    def refuses(self) -> bool:
        """Whether the last result is the flag for invalid values."""
        return bool(self._refusals)

    def __call__(self, *values: torch.Tensor) -> list[torch.Tensor]:
        body = self._body
        known = dict(enumerate(values))
        before = [known[place] for place in body.changed]
        self._held = {place: known[place] for place in body.states}
        self._refusals = []
        for number, step in enumerate(body.steps):
            if self._pause is not None:
                self._pause()
            if step.changes:
                self._change(number, step, known)
            elif step.function is None:
                known[step.outputs[0]] = self._held[step.states[0]]
            else:
                known.update(zip(step.outputs, self._made(number, step, known), strict=True))
        results = [known[number].clone() if number in body.views else known[number] for number in body.kept]
        after = [self._held[place] for place in body.changed]
        if not self._refusals:
            return [*after, *results]
        is_refused = torch.stack(self._refusals).any()
        return [*(torch.where(is_refused, a, b) for a, b in zip(before, after, strict=True)), *results, is_refused]

    def _made(self, number: int, step: Step, known: Mapping[int, torch.Tensor]) -> Sequence[torch.Tensor]:
        assert step.function is not None
        try:
            inputs = [_value(source, known) for source in step.inputs]
            if step.refuses is not None:
                if not self._body.may_refuse:
                    raise ValueError("It refuses values.")
                self._refusals.append(step.refuses(*inputs))
            made = step.function(*inputs)
            results: Sequence[torch.Tensor] = (made,) if step.single else tuple(made)
            unchecked = self._watch.unchecked(step.takes_integers, step.says_itself)
            kinds = [(each.shape, each.dtype) for each in results]
            if unchecked is None and kinds == [(layout.shape, layout.dtype) for layout in step.layouts]:
                return results
            self.refused[number] = unchecked or "cannot be traced: its results come out otherwise"
        except Exception as error:
            self._watch.skip()
            self.refused[number] = inductor.reason_of(error)
        return [torch.empty_strided(x.shape, x.stride, dtype=x.dtype, device=x.device) for x in step.layouts]

    def _change(self, number: int, step: Step, known: Mapping[int, torch.Tensor]) -> None:
        """Updates copies of the variables' values: the compiler writes the last ones into their memory."""
        assert step.function is not None
        new = {place: self._held[place].clone() for place in step.states}
        try:
            step.function(*[_value(source, {**known, **new}) for source in step.inputs])
            unchecked = self._watch.unchecked(step.takes_integers, step.says_itself)
            if unchecked is None:
                self._held.update(new)
            else:
                self.refused[number] = unchecked
        except Exception as error:
            self._watch.skip()
            self.refused[number] = inductor.reason_of(error)


def _value(source: Source, known: Mapping[int, torch.Tensor] = MappingProxyType({})) -> Any:
    """The value of a source of a body."""
    if isinstance(source, Literal):
        return source.value
    if isinstance(source, Slot):
        return known[source.number]
    return type(source)(_value(each, known) for each in source)
