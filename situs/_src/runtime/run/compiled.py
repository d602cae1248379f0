"""Regions of a plan as fused kernels: compiled when a program has run, compared, timed, and left where they do not pay.

    run 1       the usual way
    run 2       the usual way, while shapes are noted (`passes.regions.Seen`); then the regions are traced and compiled
    run 3       each region both ways: the results of the usual way count, those of the compiled one are compared
    runs 4-13   each region in turns, and timed: from then on the faster
    later       one call in the place of many

That is ``jit_compile=True``; where the environment or ``tf.config.optimizer.set_jit`` asks, it begins after ten runs.
Programs on cards of which nothing is said are compiled when they have run for long, beside them
(`runtime.run.background`).

What holds:

- A region never changes a result by more than rounding (`runtime.run.compiled_region`): one that differs, or fails
  although its calls do not, is dropped with one warning.
- For other shapes, strides or sizes, and whenever a value is refused inside, the calls of a region are made one by
  one, which gives the right result or Situs' own error. So are they when something else fails in a region that changes
  no variable.
- What a region returns is memory of its own where its calls would make such, and nothing is written over it later: a
  compiler may return an input, or one result twice.
- A region is kept only if it is faster than its calls.

Programs on virtual GPUs, with swapping, and runs that are traced, verified or stoppable are never compiled.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import torch

from situs._src.base import locks, settings
from situs._src.base.errors import NotFoundError
from situs._src.ir.graph.node import Operation
from situs._src.runtime.passes.regions import (
    Division,
    Layout,
    Region,
    Seen,
    anew,
    compiles,
    divide,
    is_change,
    is_passed,
    why_never,
)
from situs._src.runtime.plan.plan import Call, Literal, Plan, Slot, Source
from situs._src.runtime.run import inductor
from situs._src.runtime.run.background import Beside, Pace, Settled
from situs._src.runtime.run.compiled_region import CompiledRegion
from situs._src.runtime.run.emit import Function, as_host_value, emit
from situs._src.runtime.run.state import Run
from situs._src.runtime.run.torchscript import scripted

ASKED_AFTER = 1  # runs: of a function with jit_compile=True
COMPILED_AFTER = 10  # runs: of any other program, where graphs are compiled
DIVISIONS = 8  # of one plan: tracing finds what cannot be traced all at once, so two are the rule

# Compiled functions of regions, by their operations, the layouts of what they take and the slots of what they return.
Known = dict[tuple[tuple[Operation | None, ...], tuple[Layout, ...], tuple[int, ...]], inductor.Compiled]

_logger = logging.getLogger("situs")
_told: set[str] = set()  # what is missing, said once


@dataclass
class Switch:
    """Whether all graphs are compiled that settle: ``tf.config.optimizer.set_jit``."""

    on: bool = False


switch = Switch()


@dataclass(frozen=True)
class Wish:
    """That a program be compiled.

    Attributes:
        asked: By its function itself, so that a compiler must be there.
        beside: By nobody: when it has run for long, in the background.
    """

    asked: bool
    beside: bool = False

    @property
    def after(self) -> int:
        """After how many runs."""
        return ASKED_AFTER if self.asked else COMPILED_AFTER


def wish_for(plan: Plan, session: bool | None = None) -> Wish | None:
    """Whether a plan is to be compiled, by what its functions, the program and the environment say.

    Args:
        plan: The plan.
        session: What the configuration of its session says; None if nothing.
    """
    environment = settings.compile_graphs()
    if environment is False:
        return None
    told = {compiles(graph) for graph in {call.node.graph for call in plan.calls if call.node is not None}}
    if True in told:
        return Wish(asked=True)
    if None not in told:
        return None
    if environment is True or session or (switch.on and session is None):
        return Wish(asked=False)
    if session is False:
        return None
    if environment == "auto" and any(call.device.is_card and why_never(call) is None for call in plan.calls):
        return Wish(asked=False, beside=True)
    return Wish(asked=False, beside=True) if environment == "auto-cpu" else None


class CompiledProgram:
    """A program that is compiled when it has run a few times.

    Args:
        plan: The plan.
        wish: When, and how much that was asked for.
    """

    def __init__(self, plan: Plan, wish: Wish) -> None:
        self._plan = plan
        self._wish = wish
        self._runs = 0
        self._lock = locks.lock()
        self._function: Function | None = None
        self._compilation: Compilation | None = None
        self._is_over = False  # it will not be compiled
        self._is_settled = False  # it is known of all regions which way they go
        self._settled = Settled(sum(why_never(call) is None for call in plan.calls))
        self._beside: Beside[Compilation] | None = None
        self._why = why_not_yet(wish, wish.after)

    def run(self, run: Run, values: Sequence[Any]) -> tuple[Any, ...] | None:
        """Runs the program and returns what it fetches; None, and nothing has happened, if it should go the usual way.

        Raises:
            NotFoundError: the program was to be compiled, and there is no compiler.
        """
        function = self._function
        if function is not None:
            if not self._is_settled:
                self._settle()
            return function(run, *values)
        if self._is_over or not self._is_time() or not self._lock.acquire(blocking=False):
            return None
        try:
            if self._beside is None:
                return None if self._is_over else self._noted(run, values)
            self._take_up(self._beside)
            return None
        finally:
            self._lock.release()

    def _is_time(self) -> bool:
        """Whether to compile in this run, or to take up what was compiled."""
        if self._beside is not None:
            return self._beside.is_over
        is_first, self._runs = not self._runs, self._runs + 1
        is_time = self._settled.now() if self._wish.beside else self._runs > self._wish.after
        if is_time if self._wish.beside else is_first:
            self._ask_for_compiler()
        return is_time and not self._is_over

    def ways(self) -> dict[Operation, str]:
        """How each operation runs: in which region, or why not."""
        if self._compilation is not None:
            return self._compilation.ways()
        reasons = ((call.node, why_never(call) or self._why) for call in self._plan.calls)
        return {node: f"kernel: {reason}" for node, reason in reasons if node is not None}

    def _ask_for_compiler(self) -> None:
        lacking = lacking_for(self._plan)
        if all(why_never(call) is not None for call in self._plan.calls):
            self._give_up("nothing in the program can be compiled")
        elif lacking is not None:
            refuse(lacking, self._wish)
            self._give_up(f"no compiler: it needs {lacking}")

    def _noted(self, run: Run, values: Sequence[Any]) -> tuple[Any, ...]:
        """A run the usual way, in which shapes are noted; then the regions are compiled."""
        seen = Seen(self._plan, as_host_value)
        seen.note(self._plan.inputs, values)
        results = emit(self._plan, seen.around).function(run, *values)
        if self._wish.beside:
            self._why = "being compiled"
            self._beside = Beside(lambda: Compilation(self._plan, seen, exact=True, beside=True))
        else:
            self._take(Compilation(self._plan, seen, exact=not self._wish.asked))
        return results

    def _take_up(self, beside: Beside[Compilation]) -> None:
        """Takes what was compiled in the background; from the next run on it runs."""
        if beside.made is None:
            self._give_up(f"the compiler failed: {beside.failure}")
        else:
            self._take(beside.made)

    def _take(self, compilation: Compilation) -> None:
        self._compilation = compilation
        if not compilation.regions:
            self._is_over = True
        else:
            self._function = emit(compilation.plan).function

    def _settle(self) -> None:
        """Goes back to the usual way, if no region is worth it."""
        assert self._compilation is not None
        regions = self._compilation.regions
        self._is_settled = all(region.is_settled for region in regions)
        if self._is_settled and all(region.dropped for region in regions):
            self._is_over, self._function = True, None

    def _give_up(self, why: str) -> None:
        self._is_over, self._why = True, why


def why_not_yet(wish: Wish, after: int) -> str:
    """Why a program that is to be compiled is not, before it is."""
    if wish.beside:
        return "compiled when the program has run for long, which it has not"
    return f"compiled after {after} run{'s' if after > 1 else ''}, which have not been"


def lacking_for(plan: Plan) -> str | None:
    """What has to be installed before anything of a plan is compiled; None if nothing, or nothing can be compiled."""
    on_card = {call.device.is_card for call in plan.calls if why_never(call) is None}
    return inductor.missing(on_card=True in on_card) if on_card else None


def demand_compiler(plan: Plan) -> None:
    """Raises unless there is a compiler for a plan that is to be compiled, or nothing of it can be.

    Raises:
        NotFoundError: there is none.
    """
    lacking = lacking_for(plan)
    if lacking is not None:
        refuse(lacking, Wish(asked=True))


def refuse(lacking: str, wish: Wish) -> None:
    """Says that there is no compiler: as an error if one must be there, else once in a line of the log.

    Raises:
        NotFoundError: the function was to be compiled.
    """
    if wish.asked:
        raise NotFoundError(
            f"A function with jit_compile=True is compiled, and this machine lacks {lacking}. Install that, or leave "
            "jit_compile out: the function then runs with the same results; SITUS_COMPILE=0 does so for all functions."
        )
    if lacking not in _told:
        _told.add(lacking)
        _logger.warning("Graphs are not compiled: this machine lacks %s. They run as they are.", lacking)


# From a plan to a plan with regions.


class Compilation:
    """A plan with its regions compiled.

    Args:
        plan: The plan.
        seen: What a run of it has shown.
        exact: Whether what is fused is rounded after each op.
        in_trial: Whether regions are timed, and kept only where they are faster than their calls.
        known: Regions that were compiled before, and what is compiled now: the same region is compiled once.
        beside: Whether it is made in the background, in a thread that is to take little time.
        may_refuse: Whether regions may hold kernels that refuse some values: after each run of theirs somebody looks
            whether there were such values, which on a card means waiting for it.

    Attributes:
        plan: The plan with one call in the place of each region.
        regions: The regions.
    """

    def __init__(
        self,
        plan: Plan,
        seen: Seen,
        exact: bool,
        in_trial: bool = True,
        known: Known | None = None,
        may_refuse: bool = True,
        beside: bool = False,
    ) -> None:
        self._beside = beside
        self._calls = plan.calls
        self._known: Known = {} if known is None else known
        start = time.perf_counter()
        division, traced = _traced(plan, seen, may_refuse, Pace() if beside else None)
        self.regions: list[CompiledRegion] = []
        self._of_region: dict[Call, CompiledRegion] = {}
        self._reasons = dict(division.reasons)
        calls: list[Call] = []
        inside = {call for region in division.regions for call in region.calls}
        of_regions = {slot for call in inside for slot in call.outputs}
        for step in division.steps:
            made = self._compiled(step, plan, seen, traced, exact, in_trial) if isinstance(step, Region) else None
            if made is not None:
                calls.append(made)
            else:  # what a region returns is never written over
                each = step.calls if isinstance(step, Region) else [step]
                calls += [replace(anew(c) if c.overwrites in of_regions else c, after=[]) for c in each]
        self.plan = replace(plan, calls=calls)
        self.seconds = time.perf_counter() - start
        _logger.debug("Compiled %d regions in %.1f s.", len(self.regions), self.seconds)

    def _compiled(
        self,
        region: Region,
        plan: Plan,
        seen: Seen,
        traced: Mapping[Region, inductor.Traced],
        exact: bool,
        in_trial: bool,
    ) -> Call | None:
        """The call of a region; None if the compiler will not have it."""
        layouts = tuple([seen.layout(source) for source in region.sources])
        key = tuple([call.node or call.reads for call in region.calls]), layouts, tuple(region.kept)
        try:
            function = self._known.get(key) or inductor.compiled(traced[region], exact, self._beside)
            self._known[key] = function
        except Exception as error:  # a bug of the compiler, or of the machine's: the calls are there
            first = str(error).strip().partition("\n")[0]
            reason = f"the compiler failed: {type(error).__name__}: {first[:200]}"
            _logger.warning("%d ops of a graph run as they are: %s", len(region.calls), reason)
            self._reasons.update(dict.fromkeys(region.calls, reason))
            return None
        refuses = traced[region].refuses
        made = CompiledRegion(region, len(self.regions) + 1, function, _alone(region, plan), seen, in_trial, refuses)
        self.regions.append(made)
        self._of_region.update(dict.fromkeys(region.calls, made))
        sources: list[Source] = [*region.sources, *(Slot(slot, host=True) for slot in region.sizes)]
        return Call(made, sources, region.kept, region.device, single=False)

    def drop(self, why: str) -> None:
        """Notes that the regions are not used."""
        for region in self.regions:
            region.dropped = region.dropped or why

    def ways(self) -> dict[Operation, str]:
        """How each operation runs: in which region, or why not."""
        found: dict[Operation, str] = {}
        for call in self._calls:
            region = self._of_region.get(call)
            if call.node is not None:
                found[call.node] = f"kernel: {self._reasons[call]}" if region is None else region.way
        return found


def _traced(
    plan: Plan, seen: Seen, may_refuse: bool, pace: Pace | None
) -> tuple[Division, dict[Region, inductor.Traced]]:
    """The regions of a plan that can be traced, and their graphs."""
    refused: dict[Call, str] = {}
    known: dict[tuple[Call, ...], inductor.Traced] = {}
    for _ in range(DIVISIONS):
        division = divide(plan, seen, refused)
        before = len(refused)
        for region in division.regions:
            key = tuple(region.calls)
            if key not in known:
                body = _Body(region, seen, may_refuse, pace)
                changed = [place for place, s in enumerate(region.sources) if region.key(s) in region.changed]
                try:
                    graph = inductor.trace(body, [seen.layout(source) for source in region.sources], changed)
                    graph.refuses = body.refuses
                except Exception as error:  # of the tracer itself, and of no call
                    reason = inductor.reason_of(error)
                    blamed = list(filter(is_change, region.calls)) or region.calls
                    body.refused.update({call: reason for call in blamed if call not in body.refused})
                if body.refused:
                    refused.update(body.refused)
                else:
                    known[key] = graph
        if len(refused) == before:
            return division, {region: known[tuple(region.calls)] for region in division.regions}
    refused.update({call: "cannot be traced with the others" for call in plan.calls if call not in refused})
    return divide(plan, seen, refused), {}


class _Body:
    """The calls of a region as a function of what it takes, to be traced.

    It returns what the variables hold that it changes; then what others use of its results; then, if one of its kernels
    refuses some values, whether there are such values: the variables then hold what they held before.

    A call that fails there is noted, and something of the same layout goes on in the place of its results, so that one
    trace finds all such calls.

    Args:
        region: The region.
        seen: What a run has shown.
        may_refuse: Whether somebody will look at what kernels refuse.
        pace: Slows the thread down, after each call.
    """

    def __init__(self, region: Region, seen: Seen, may_refuse: bool, pace: Pace | None = None) -> None:
        self._pace = pace
        self._region = region
        self._seen = seen
        self._may_refuse = may_refuse
        self._watch = inductor.Watch()
        self._held: dict[int, torch.Tensor] = {}  # what variables hold by now
        self._numbers: dict[int, Any] = {}  # scalars that changes take, such as learning rates, if they are constants
        for call in filter(is_change, region.calls):
            for source in call.inputs:
                if isinstance(source, Literal) and isinstance(source.value, torch.Tensor) and not source.value.ndim:
                    self._numbers[region.key(source)] = source.value.item()
        self._refusals: list[torch.Tensor] = []
        self.refused: dict[Call, str] = {}

    @property
    def refuses(self) -> bool:
        """Whether the last result says that values were refused."""
        return bool(self._refusals)

    def __call__(self, *values: torch.Tensor) -> list[torch.Tensor]:
        region = self._region
        known = dict(zip(map(region.key, region.sources), values, strict=True))
        before = {state: known[state] for state in region.changed}
        self._held = {key: value for key, value in known.items() if key in region.states}
        self._refusals = []
        for call in region.calls:
            if self._pace is not None:
                self._pace()
            if call.reads is not None:
                known[call.outputs[0]] = self._held[self._seen.states_in(call)[0]]
            elif is_change(call):
                self._change(call, known)
            else:
                known.update(zip(call.outputs, self._made(call, known), strict=True))
        kept = [slot for slot in region.kept if slot not in region.states]
        results = [known[slot].clone() if slot in region.views else known[slot] for slot in kept]
        after = [self._held[state] for state in region.changed]
        if not self._refusals:
            return [*after, *results]
        is_refused = torch.stack(self._refusals).any()
        old = (before[state] for state in region.changed)
        return [*(torch.where(is_refused, a, b) for a, b in zip(old, after, strict=True)), *results, is_refused]

    def _made(self, call: Call, known: Mapping[int, torch.Tensor]) -> Sequence[torch.Tensor]:
        layouts = [self._seen.layouts[slot] for slot in call.outputs]
        usual = anew(call).function
        try:
            inputs = [self._value(source, known) for source in call.inputs]
            refuses = _of_kernel(usual, "refuses")
            if refuses is not None:
                if not self._may_refuse:
                    raise ValueError("It refuses values.")
                self._refusals.append(refuses(*inputs))
            made = (_of_kernel(usual, "when_compiled") or usual)(*inputs)
            results: Sequence[torch.Tensor] = (made,) if call.single else tuple(made)
            unchecked = self._watch.unchecked(*_checks(call))
            kinds = [(each.shape, each.dtype) for each in results]
            if unchecked is None and kinds == [(layout.shape, layout.dtype) for layout in layouts]:
                return results
            self.refused[call] = unchecked or "cannot be traced: its results come out otherwise"
        except Exception as error:
            self._watch.skip()
            self.refused[call] = inductor.reason_of(error)
        return [torch.empty_strided(x.shape, x.stride, dtype=x.dtype, device=x.device) for x in layouts]

    def _change(self, call: Call, known: Mapping[int, torch.Tensor]) -> None:
        """Changes what variables hold, in copies of it: the compiler writes the last of them into their memory."""
        new = {state: self._held[state].clone() for state in self._seen.states_in(call)}
        function: Any = call.function
        try:
            function.on_memory(*[self._value(source, {**known, **new}, self._numbers) for source in call.inputs])
            unchecked = self._watch.unchecked(*_checks(call))
            if unchecked is None:
                self._held.update(new)
            else:
                self.refused[call] = unchecked
        except Exception as error:
            self._watch.skip()
            self.refused[call] = inductor.reason_of(error)

    def _value(
        self, source: Source, known: Mapping[int, torch.Tensor], numbers: Mapping[int, Any] = MappingProxyType({})
    ) -> Any:
        if isinstance(source, Literal):
            key = self._region.key(source)
            return known[key] if is_passed(source) else numbers.get(key, source.value)
        if isinstance(source, Slot):
            return self._seen.sizes[source.number] if source.host else known[self._region.key(source)]
        return type(source)(self._value(each, known, numbers) for each in source)


def _checks(call: Call) -> tuple[bool, bool]:
    """Whether a call takes tensors of integers, and whether its kernel says itself what it is compiled as."""
    takes_integers = call.node is not None and any(tensor.dtype.is_integer for tensor in call.node.inputs)
    return takes_integers, _of_kernel(call.function, "when_compiled") is not None


def _of_kernel(function: Callable[..., Any], name: str) -> Callable[..., Any] | None:
    """What a kernel says of itself, for the inputs of a call; None if it says nothing.

    That is ``when_compiled``, the function that is traced in its place, and ``refuses``, which says of the same inputs
    whether the kernel would raise an error because of a value among them.
    """
    kernel = function.func if isinstance(function, partial) else function
    found: Callable[..., Any] | None = getattr(kernel, name, None)
    return partial(found, *function.args, **function.keywords) if found and isinstance(function, partial) else found


def _alone(region: Region, plan: Plan) -> Function:
    """The calls of a region one by one, as they would run without a compiler; sizes come as plain Python."""
    slots = plan.slots
    named: dict[int, Slot] = {}  # what the sources are called here
    for source in region.sources:
        if isinstance(source, Literal):
            named[region.key(source)] = Slot(slots)
            slots += 1
        else:
            named[region.key(source)] = Slot(source.number)
    made = {slot for call in region.calls for slot in call.outputs}

    def given(source: Source) -> Source:
        if isinstance(source, Literal):
            return named[region.key(source)] if is_passed(source) else source
        if not isinstance(source, Slot):
            return type(source)(map(given, source))
        is_state = not source.host and source.number in region.states and source.number not in made
        return named[region.key(source)] if is_state else Slot(source.number)

    own = [call if call.overwrites in made else anew(call) for call in region.calls]
    calls = [replace(call, inputs=[given(source) for source in call.inputs], after=[]) for call in own]
    inputs = [named[region.key(source)].number for source in region.sources]
    outputs: list[Source] = [Slot(slot) for slot in region.kept]
    return emit(scripted(Plan(calls, [*inputs, *region.sizes], outputs, slots, plan.assignments))).function
