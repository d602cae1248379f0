"""Compiling regions of a plan to fused kernels: after some runs, with results compared and times measured.

    run 1       uncompiled
    run 2       uncompiled, recording shapes (`passes.regions.Seen`); then the regions are traced and compiled
    run 3       each region both ways: the uncompiled results are used, the compiled ones compared with them
    runs 4-13   each region alternately compiled and uncompiled, and timed: the faster version wins
    later       one call in place of many

That is ``jit_compile=True``; with the environment variable or ``tf.config.optimizer.set_jit``, it starts after ten
runs. Other long-running programs on GPUs can be compiled in the background (`runtime.run.background`).

Guarantees:

- A region never changes a result by more than rounding (`runtime.run.compiled_region`): one that differs, or fails
  although its calls do not, is dropped with one warning.
- For other shapes, strides or sizes, and for invalid values, the calls of a region are made one by
  one, which gives the right result or Situs' own error. The same happens if anything else fails in a region that
  updates no variable.
- A region returns fresh memory where its calls would, and it is not overwritten later: a
  compiler may return an input, or the same result twice.
- A region is kept only if it is faster than its calls.

Programs on virtual GPUs, with swapping, and runs that are traced, verified or cancellable are never compiled.
"""

from __future__ import annotations

import atexit
import logging
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from situs._src.base import locks, settings
from situs._src.base.errors import NotFoundError
from situs._src.ir.graph.graph import Tally
from situs._src.ir.graph.node import Operation
from situs._src.runtime.passes.regions import (
    Division,
    Layout,
    Region,
    Seen,
    anew,
    compiles,
    divide,
    form_of,
    is_passed,
    why_never,
)
from situs._src.runtime.passes.unpack import unpacked
from situs._src.runtime.plan.plan import Call, Literal, Plan, Slot, Source
from situs._src.runtime.run import inductor, region_cache
from situs._src.runtime.run.background import Beside, Pace, Settled, courteous
from situs._src.runtime.run.carry import NotCarriedError, packed
from situs._src.runtime.run.compile_worker import order_of
from situs._src.runtime.run.compiled_region import CompiledRegion
from situs._src.runtime.run.control_flow import Held, Part
from situs._src.runtime.run.emit import Function, as_host_value, emit
from situs._src.runtime.run.region_body import Body, body_of, trace_body
from situs._src.runtime.run.region_cache import Outcome
from situs._src.runtime.run.state import Run
from situs._src.runtime.run.torchscript import scripted
from situs._src.runtime.run.workers import MOST, Workers, free_cores

ASKED_AFTER = 1  # runs: of a function with jit_compile=True
COMPILED_AFTER = 10  # runs: of any other program, where graphs are compiled
MANY = (
    8  # graphs of one function, for as many kinds of arguments: each further one is compiled after twice as many runs
)
LONGEST_REHEARSAL = 20.0  # seconds that a process waits for one before it ends
DIVISIONS = 8  # of one plan: tracing finds what cannot be traced all at once, so two are the rule


@dataclass(frozen=True)
class Found:
    """The result of compiling a region.

    Attributes:
        function: The compiled function; None if there is none.
        refuses: Whether its last result is the flag for invalid values.
        refused: The numbers of its calls that cannot be in a region, with the reason.
        failure: Why the compiler failed; empty unless it did.
    """

    function: inductor.Compiled | None = None
    refuses: bool = False
    refused: Mapping[int, str] = field(default_factory=dict)
    failure: str = ""


# Regions by structure (`form_of`).
Known = dict[Hashable, Found]

_logger = logging.getLogger("situs")
_told: set[str] = set()  # missing tools, reported once
_one_program = locks.lock()  # one compilation at a time: it uses all the processes there is room for
_on_card = locks.lock()  # held while a thread of ours uses the GPU: the process must not exit meanwhile


@dataclass
class Switch:
    """Whether all graphs are compiled after some runs: ``tf.config.optimizer.set_jit``."""

    on: bool = False


switch = Switch()


@dataclass(frozen=True)
class Wish:
    """A request to compile a program.

    Attributes:
        asked: Requested by the function itself, so a missing compiler is an error.
        beside: Not requested: compiled in the background after running for long.
    """

    asked: bool
    beside: bool = False

    @property
    def after(self) -> int:
        """The number of runs before compiling."""
        return ASKED_AFTER if self.asked else COMPILED_AFTER


def wish_for(plan: Plan, session: bool | None = None) -> Wish | None:
    """Whether a plan is to be compiled, according to its functions, the program and the environment.

    Args:
        plan: The plan.
        session: The setting of its session; None if unset.
    """
    environment = settings.compile_graphs()
    if environment is False:
        return None
    calls = list(all_calls(plan))
    told = {compiles(graph) for graph in {call.node.graph for call in calls if call.node is not None}}
    if True in told:
        return Wish(asked=True)
    if None not in told:
        return None
    if environment is True or session or (switch.on and session is None):
        return Wish(asked=False)
    if session is False:
        return None
    if environment == "auto" and any(call.device.is_card and why_never(call) is None for call in calls):
        return Wish(asked=False, beside=True)
    return Wish(asked=False, beside=True) if environment == "auto-cpu" else None


def all_calls(plan: Plan) -> Iterator[Call]:
    """The calls of a plan, and those in its branches, loops and called functions."""
    for call in plan.calls:
        yield call
        if isinstance(call.function, Held):
            for part in call.function.bodies:
                yield from all_calls(part.plan)


class CompiledProgram:
    """A program that is compiled after a few runs.

    So are the branches, steps of loops and called functions in it: each is a program of its own, which counts its runs.

    Args:
        plan: The plan.
        wish: The request: when, and how strict.
    """

    def __init__(self, plan: Plan, wish: Wish) -> None:
        self._bodies: list[CompiledProgram] = []
        self._plan = replace(plan, calls=[self._with_bodies(call, wish) for call in plan.calls])
        self._wish = wish
        self._runs = 0
        self._lock = locks.lock()
        self._function: Function | None = None
        self._compilation: Compilation | None = None
        self._is_over = False  # it will not be compiled
        self._why = ""  # not, or not yet; empty as long as it waits for its time
        self._is_settled = False  # it is known of all regions which way they go
        can_be = [why_never(call) is None for call in all_calls(plan)]
        self._settled = Settled(sum(can_be), len(can_be))
        self._beside: Beside[Compilation] | None = None
        graphs = (call.node.graph for call in plan.calls if call.node is not None)
        self._tally = next((graph.tally for graph in graphs if graph.tally is not None), Tally())

    def run(self, run: Run, values: Sequence[Any]) -> tuple[Any, ...] | None:
        """Runs the program and returns its fetches; None, with no effect, if the caller should run it uncompiled.

        Raises:
            NotFoundError: compilation was requested, and there is no compiler.
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

    def _with_bodies(self, call: Call, wish: Wish) -> Call:
        """A call whose graphs, if it holds such, are compiled when they have run."""
        held = call.function
        if not isinstance(held, Held):
            return call
        return replace(call, function=held.with_parts([self._body(part, held, wish) for part in held.parts]))

    def _body(self, part: Part, held: Held, wish: Wish) -> Part:
        if part.side_by_side or part not in held.bodies:
            return part
        program, usual = CompiledProgram(part.plan, wish), part.function
        self._bodies.append(program)

        def run(run: Run, *values: Any) -> tuple[Any, ...]:
            made = program.run(run, values)
            return usual(run, *values) if made is None else made

        return replace(part, function=run)

    def _is_time(self) -> bool:
        """Whether to compile in this run, or to adopt what was compiled."""
        if self._beside is not None:
            return self._beside.is_over
        is_first, self._runs = not self._runs, self._runs + 1
        is_time = self._settled.now() if self._wish.beside else self._runs > self._after
        if is_time if self._wish.beside else is_first:
            self._ask_for_compiler()
        return is_time and not self._is_over

    @property
    def _after(self) -> int:
        """After how many runs it is compiled: later, if many graphs of the same function were.

        A function whose shapes change in every step has a graph for each of them.
        """
        return self._wish.after << max(self._tally.compiled + 1 - MANY, 0)

    def ways(self) -> dict[Operation, str]:
        """How each operation runs, those in branches and loops included: in which region, or why not."""
        if self._compilation is not None:
            found = self._compilation.ways()
        else:
            why = self._why or why_not_yet(self._wish, self._after)
            reasons = ((call.node, why_never(call) or why) for call in self._plan.calls)
            found = {node: f"kernel: {reason}" for node, reason in reasons if node is not None}
        for body in self._bodies:
            found.update(body.ways())
        return found

    def _ask_for_compiler(self) -> None:
        lacking = lacking_for(self._plan)
        if all(why_never(call) is not None for call in all_calls(self._plan)):
            self._give_up("nothing in the program can be compiled")
        elif lacking is not None:
            refuse(lacking, self._wish)
            self._give_up(f"no compiler: it needs {lacking}")

    def _noted(self, run: Run, values: Sequence[Any]) -> tuple[Any, ...]:
        """A run the usual way, in which shapes are noted; then the regions are compiled."""
        self._tally.compiled += 1
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
        """Adopts the result of background compilation from the next run on."""
        if beside.made is None:
            self._give_up(f"the compiler failed: {beside.failure}")
        else:
            self._take(beside.made)

    def _take(self, compilation: Compilation) -> None:
        self._compilation = compilation
        if not compilation.regions and not self._bodies:
            self._is_over = True
        else:
            self._function = emit(unpacked(compilation.plan)).function

    def _settle(self) -> None:
        """Goes back to the uncompiled program, if no region is worth it."""
        assert self._compilation is not None
        regions = self._compilation.regions
        self._is_settled = all(region.is_settled for region in regions) and all(each.is_known for each in self._bodies)
        if self._is_settled and all(region.dropped for region in regions) and all(b._is_over for b in self._bodies):
            self._is_over, self._function = True, None

    @property
    def is_known(self) -> bool:
        """Whether it is known which way it goes: it has settled, or will not be compiled."""
        return self._is_over or self._is_settled

    def _give_up(self, why: str) -> None:
        self._is_over, self._why = True, why


def why_not_yet(wish: Wish, after: int) -> str:
    """Why a program that is to be compiled is not compiled yet."""
    if wish.beside:
        return "compiled when the program has run for long, which it has not"
    return f"compiled after {after} run{'s' if after > 1 else ''}, which have not been"


def lacking_for(plan: Plan) -> str | None:
    """What has to be installed before anything of a plan is compiled; None if nothing, or nothing can be compiled."""
    on_card = {call.device.is_card for call in all_calls(plan) if why_never(call) is None}
    return inductor.missing(on_card=True in on_card) if on_card else None


def demand_compiler(plan: Plan) -> None:
    """Raises if there is no compiler for a plan that is to be compiled, unless nothing of it can be.

    Raises:
        NotFoundError: there is none.
    """
    lacking = lacking_for(plan)
    if lacking is not None:
        refuse(lacking, Wish(asked=True))


def refuse(lacking: str, wish: Wish) -> None:
    """Reports that there is no compiler: as an error if it was requested, else once in the log.

    Raises:
        NotFoundError: the function asked to be compiled.
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
        seen: The layouts that a run has shown.
        exact: Whether fused values are rounded after each op.
        in_trial: Whether regions are timed, and kept only if they are faster than their calls.
        known: A cache of compiled regions, which this adds to: equal regions are compiled once.
        beside: Whether it is done in the background, in a thread that should take little time.
        may_refuse: Whether regions may contain kernels that validate values: the flag is read after each run, which
            on a GPU means synchronizing.

    Attributes:
        plan: The plan with one call for each region.
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
        self._calls = plan.calls
        start = time.perf_counter()
        compiler = _Beside(exact) if beside else _Here(exact)
        division, found = _found(plan, seen, may_refuse, compiler, {} if known is None else known)
        self.regions: list[CompiledRegion] = []
        self._of_region: dict[Call, CompiledRegion] = {}
        self._reasons = dict(division.reasons)
        calls: list[Call] = []
        inside = {call for region in division.regions for call in region.calls}
        of_regions = {slot for call in inside for slot in call.outputs}
        for step in division.steps:
            made = self._call(step, found[step], plan, seen, in_trial) if isinstance(step, Region) else None
            if made is not None:
                calls.append(made)
            else:  # results of a region are never overwritten
                each = step.calls if isinstance(step, Region) else [step]
                calls += [replace(anew(c) if c.overwrites in of_regions else c, after=[]) for c in each]
        self.plan = replace(plan, calls=calls)
        self.seconds = time.perf_counter() - start
        _logger.debug("Compiled %d regions in %.1f s.", len(self.regions), self.seconds)

    def _call(self, region: Region, found: Found, plan: Plan, seen: Seen, in_trial: bool) -> Call | None:
        """The call of a region; None if it could not be compiled."""
        if found.function is None:
            reason = f"the compiler failed: {found.failure}"
            _logger.warning("%d ops of a graph run as they are: %s", len(region.calls), reason)
            self._reasons.update(dict.fromkeys(region.calls, reason))
            return None
        number = len(self.regions) + 1
        made = CompiledRegion(region, number, found.function, _alone(region, plan), seen, in_trial, found.refuses)
        self.regions.append(made)
        self._of_region.update(dict.fromkeys(region.calls, made))
        sources: list[Source] = [*region.sources, *(Slot(slot, host=True) for slot in region.sizes)]
        return Call(made, sources, region.kept, region.device, single=False)

    def drop(self, why: str) -> None:
        """Records that the regions are not used."""
        for region in self.regions:
            region.dropped = region.dropped or why

    def ways(self) -> dict[Operation, str]:
        """How each operation runs: in which region, or why in none."""
        found: dict[Operation, str] = {}
        for call in self._calls:
            region = self._of_region.get(call)
            if call.node is not None:
                found[call.node] = f"kernel: {self._reasons[call]}" if region is None else region.way
        return found


def _found(
    plan: Plan, seen: Seen, may_refuse: bool, compiler: _Here | _Beside, known: Known
) -> tuple[Division, dict[Region, Found]]:
    """The regions of a plan whose calls can all be traced, with the results of compiling them."""
    refused: dict[Call, str] = {}
    for _ in range(DIVISIONS):
        division = divide(plan, seen, refused)
        before = len(refused)
        keys = {region: form_of(region, seen) for region in division.regions}
        new = {key: region for region, key in keys.items() if key not in known}  # one of each group of equal regions
        bodies = [body_of(region, seen, may_refuse) for region in new.values()]
        made = zip(new, compiler.found(bodies), strict=True)
        known.update({key: found for key, found in made if found is not None})
        for region, key in keys.items():
            found = known.get(key, Found())
            refused.update({region.calls[number]: reason for number, reason in found.refused.items()})
        if len(refused) == before:
            return division, {region: known[key] for region, key in keys.items()}
    refused.update({call: "cannot be traced with the others" for call in plan.calls if call not in refused})
    return divide(plan, seen, refused), {}


# Where regions are compiled.


class _Here:
    """Compiles in this process and thread, unless the disk cache has the region.

    If cores are free, several regions are compiled by other processes in parallel.

    Args:
        exact: Whether fused values are rounded after each op.
    """

    def __init__(self, exact: bool) -> None:
        self._exact = exact

    def found(self, bodies: Sequence[Body]) -> list[Found | None]:
        """Compiles bodies; None for those that were not compiled because another has calls that cannot be traced."""
        if len(bodies) > 1 and free_cores() > 1:
            with suppress(NotCarriedError):
                return _Beside(self._exact, is_asked=True).found(bodies)
        keys = [region_cache.key_of(body, self._exact) for body in bodies]
        found = [None if key is None else _loaded(region_cache.kept(key), self._exact) for key in keys]
        traced: dict[int, inductor.Traced] = {}
        for number, body in enumerate(bodies):
            if found[number] is None:
                graph, refused = trace_body(body)
                if graph is not None:
                    traced[number] = graph
                else:
                    found[number] = Found(refused=refused)
                    _keep(keys[number], Outcome(refused))
        if any(each is not None and each.refused for each in found):
            return found
        for number, graph in traced.items():
            found[number] = self._compiled(graph, keys[number])
        return found

    def _compiled(self, traced: inductor.Traced, key: str | None) -> Found:
        try:
            function = inductor.compiled(traced, self._exact)
        except Exception as error:  # a bug of the compiler, or of the machine's: the calls are there
            return Found(failure=inductor.failure_of(error))
        if key is not None:
            _keep(key, Outcome(kernels=inductor.saved(function), refuses=traced.refuses))
        return Found(function, traced.refuses)


def _keep(key: str | None, outcome: Outcome) -> None:
    if key is not None:
        region_cache.keep(key, outcome)


class _Beside:
    """Lets other processes trace and compile; this thread serializes, waits and loads.

    Args:
        exact: Whether fused values are rounded after each op.
        is_asked: Whether the program waits for it. Otherwise it keeps running: this thread yields, and does a warm-up
        run
            of the compiled code, so that the first run in the program is not slow.
    """

    def __init__(self, exact: bool, is_asked: bool = False) -> None:
        self._exact = exact
        self._is_asked = is_asked

    def found(self, bodies: Sequence[Body]) -> list[Found | None]:
        """Compiles bodies; None for those that were not compiled because another has calls that cannot be traced.

        Raises:
            NotCarriedError: the program waits, and a body cannot be serialized.
        """
        with _one_program:
            keys: list[str | None] = []
            found: list[Found | None] = []
            orders: dict[int, bytes] = {}
            with self._politely():
                for number, body in enumerate(bodies):
                    key = region_cache.key_of(body, self._exact)
                    keys.append(key)
                    found.append(None if key is None else _loaded(region_cache.kept(key), self._exact))
                    if found[number] is None:
                        found[number] = self._ordered(number, body, orders)
            if any(each is not None and each.refused for each in found):
                return found
            if orders:
                with Workers(min(MOST, max(free_cores(), 1))) as workers:
                    outcomes = workers.outcomes(list(orders.values()))
            with self._politely():
                for number, outcome in zip(orders, outcomes if orders else (), strict=True):
                    if outcome is not None:
                        _keep(keys[number], outcome)
                        failure = outcome.failure or "it made nothing"
                        found[number] = _loaded(outcome, self._exact) or Found(failure=failure)
                if not self._is_asked:
                    for each, body in zip(found, bodies, strict=True):
                        _rehearse(each or Found(), body)
            return found

    def _politely(self) -> AbstractContextManager[None]:
        return nullcontext() if self._is_asked else courteous()

    def _ordered(self, number: int, body: Body, orders: dict[int, bytes]) -> Found | None:
        """Adds an order for a body; returns the calls that cannot be serialized."""
        try:
            orders[number] = packed(order_of(body, self._exact))
        except NotCarriedError:
            if self._is_asked:
                raise
            return Found(refused=_not_carried(body))
        return None


def _loaded(outcome: Outcome | None, exact: bool) -> Found | None:
    """Loads compiled or cached code as a function; None if there is none, or it cannot be loaded."""
    if outcome is None:
        return None
    if outcome.refused:
        return Found(refused=outcome.refused)
    if outcome.kernels is None:
        return None
    try:
        return Found(inductor.loaded(outcome.kernels, exact), outcome.refuses)
    except Exception as error:  # of another version, or its files were deleted: it is compiled again
        _logger.debug("What was compiled cannot be loaded: %s: %s", type(error).__name__, error)
        return None


def _not_carried(body: Body) -> dict[int, str]:
    """The calls of a body that cannot be serialized; all of them if no single one is the cause."""
    found: dict[int, str] = {}
    for number, step in enumerate(body.steps):
        try:
            packed(step)
        except NotCarriedError as error:
            found[number] = f"cannot be compiled in the background: {error}"
    return found or dict.fromkeys(range(len(body.steps)), "cannot be compiled in the background")


def _rehearse(found: Found, body: Body) -> None:
    """Does a warm-up run of code compiled for a GPU, on zeros: that loads its kernels, and Triton autotunes them."""
    function = found.function
    card = next((layout.device for layout in body.inputs if layout.device.type != "cpu"), None)
    if function is None or card is None:
        return
    bytes_taken = sum(_extent(layout) * layout.dtype.itemsize for layout in body.inputs)
    if 4 * bytes_taken > torch.cuda.mem_get_info(card)[0]:
        return
    side = torch.cuda.Stream(card)  # type: ignore[no-untyped-call]
    try:
        with _on_card, torch.no_grad(), torch.cuda.stream(side), inductor.chosen_quickly(Pace()):
            function([_zeros(layout) for layout in body.inputs])
            side.synchronize()
    except Exception as error:  # out of memory, for instance: the program will find out, and compare
        _logger.debug("What was compiled could not be rehearsed: %s: %s", type(error).__name__, error)


@atexit.register
def _leave_card() -> None:
    """Waits until no thread of ours uses a GPU, and lets none start: the driver is torn down with the process."""
    _on_card.acquire(timeout=LONGEST_REHEARSAL)


def _extent(layout: Layout) -> int:
    """The number of elements in the memory of a tensor."""
    if 0 in layout.shape:
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(layout.shape, layout.stride, strict=True))


def _zeros(layout: Layout) -> torch.Tensor:
    flat = torch.zeros(_extent(layout), dtype=layout.dtype, device=layout.device)
    return flat.as_strided(layout.shape, layout.stride)


def _alone(region: Region, plan: Plan) -> Function:
    """The calls of a region one by one, as without a compiler; sizes are passed as plain Python values."""
    slots = plan.slots
    named: dict[int, Slot] = {}  # the local names of the sources
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
