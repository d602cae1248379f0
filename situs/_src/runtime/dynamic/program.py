"""A program that looks how long its steps take, and becomes another one when they should be quicker.

    run        enter the engine; plan again if the placement has changed since
               as the pilot says: as it is, recorded, or timed                     pilot.py
    after it   place anew, try one device alone, go back to several: what the pilot says, when nobody else runs

Only the run that leads its engine is watched. A settled program costs what any other costs, and a lock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from situs._src.base.devices.logical import Device
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.placement.dynamic import Decisions
from situs._src.placement.search.plan import Plan as PlacementPlan
from situs._src.placement.summary import seconds_text
from situs._src.runtime import watch
from situs._src.runtime.dynamic.learn import learn, shapes_of
from situs._src.runtime.dynamic.links import wait_for
from situs._src.runtime.dynamic.pilot import Pilot, Step, Verdict
from situs._src.runtime.plan.plan import Plan
from situs._src.runtime.run.program import Program
from situs._src.runtime.run.state import Run
from situs._src.runtime.run.trace import Event, Recorder

if TYPE_CHECKING:
    from situs._src.runtime.dynamic.engine import DynamicEngine

clock: Callable[[], float] = time.perf_counter


@dataclass(frozen=True, eq=False)
class Request:
    """What a run is asked for: what is fed and from where, what is fetched and to where, what else is to run.

    What is fetched to None stays where it is made.
    """

    feeds: tuple[tuple[SymbolicTensor, Device], ...]
    fetches: tuple[tuple[SymbolicTensor, Device | None], ...]
    targets: tuple[Operation, ...]
    roots: Mapping[SymbolicTensor, SymbolicTensor] | None = None

    def is_like(self, other: Request) -> bool:
        """Whether another run is fed and fetches the same."""
        own = [[tensor for tensor, _ in ends] for ends in (self.feeds, self.fetches)]
        theirs = [[tensor for tensor, _ in ends] for ends in (other.feeds, other.fetches)]
        same = all(
            len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))
            for a, b in zip(own, theirs, strict=True)
        )
        return same and self.targets == other.targets


class AdaptiveProgram(Program):
    """A program of a `DynamicEngine`.

    Args:
        engine: The engine.
        request: What is computed.
    """

    def __init__(self, engine: DynamicEngine, request: Request) -> None:
        self.engine = engine
        self.request = request
        self.generation = engine.generation
        self.pilot: Pilot | None = None
        self._recorded: tuple[Plan, Sequence[Event], Mapping[SymbolicTensor, TensorShape]] | None = None
        self._before: Decisions | None = None  # what holds again if one device alone is slower
        super().__init__(engine.planned(request), engine.pool, engine.swaps, engine.ordered, engine.compiles)

    def run(
        self, run: Run, values: Sequence[Any], recorder: Recorder | None = None, stoppable: bool = False
    ) -> tuple[Any, ...]:
        """Runs the plan and returns what it fetches; `Program.run` says what it takes."""
        engine = self.engine
        engine.enter()
        verdict = Verdict.GO_ON
        try:
            if self.generation != engine.generation:
                engine.bring_up_to_date(self)
            pilot = self._watching()
            apart = (
                recorder is not None or watch.watcher is not None
            )  # such runs take longer, and say nothing of others
            step = Step.PLAIN if pilot is None or apart else pilot.next()
            if step is Step.PLAIN:
                made = super().run(run, values, recorder, stoppable)
                if pilot is not None and not apart:
                    verdict = pilot.over(step, 0.0)
            elif step is Step.RECORD:
                noted = Recorder()
                made = super().run(run, values, noted, stoppable)
                self._keep(noted, values)
                verdict = pilot.over(step, 0.0) if pilot is not None else verdict
            else:
                start = clock()
                made = super().run(run, values, None, stoppable)
                wait_for(engine.devices)
                verdict = pilot.over(step, clock() - start) if pilot is not None else verdict
                if pilot is not None and pilot.measured is not None:
                    self._learn(pilot.measured)
        finally:
            engine.leave()
        if verdict is not Verdict.GO_ON and self.pilot is not None:
            self._follow(verdict, self.pilot)
        return made

    def become(self, plan: Plan, generation: int) -> None:
        """Runs another plan from now on, as if it had been made for it; nobody is running it meanwhile."""
        for name in ("_can_swap", "_cards"):
            self.__dict__.pop(name, None)
        engine = self.engine
        Program.__init__(self, plan, engine.pool, engine.swaps, engine.ordered, engine.compiles)
        self.generation = generation

    def _watching(self) -> Pilot | None:
        """The pilot, if this is the run that leads and nothing else has decided."""
        plan = self.engine.plan
        if plan is None or self.engine.placer.plan is not None or not self.engine.leads(self.request):
            return None
        if self.pilot is None:
            self.pilot = Pilot(plan.forecast.value, _has_single(plan), self.engine.placer.period)
        return self.pilot

    def _keep(self, recorder: Recorder, values: Sequence[Any]) -> None:
        """Keeps what was recorded until it is known what a step takes as a whole; shapes are known at once."""
        fed = {
            tensor: TensorShape(tuple(value.shape))
            for (tensor, _), value in zip(self.request.feeds, values, strict=True)
            if not tensor.is_ref and hasattr(value, "shape")
        }
        self._recorded = self.plan, recorder.events, fed
        self.engine.expect(shapes_of(recorder.events, fed))

    def _learn(self, whole: float) -> None:
        """Learns from what was recorded last, now that the time of a step is known."""
        if self._recorded is not None:
            plan, events, fed = self._recorded
            self._recorded = None
            self.engine.note(learn(events, plan, self.engine.store, fed, whole))

    def _follow(self, verdict: Verdict, pilot: Pilot) -> None:
        """Does what the pilot says."""
        engine = self.engine
        if verdict is Verdict.REPLACE:
            changed = engine.place_again(self.request)
            if changed is None or engine.plan is None:
                pilot.gives_up()
            else:
                pilot.replaced(engine.plan.forecast.value, _has_single(engine.plan), not changed)
        elif verdict is Verdict.TRY_SINGLE:
            self._before = engine.place_single(self.request)
            if self._before is None:
                pilot.gives_up()
            else:
                pilot.tries_single()
        elif verdict is Verdict.BACK and self._before is not None:
            if engine.restore(self._before):
                engine.remark(f"measured: {seconds_text(pilot.measured or 0.0)} so, and longer on one device alone")
            self._before = None
        elif verdict is Verdict.KEEP:
            engine.remark(
                f"measured: {seconds_text(pilot.measured or 0.0)} on one device alone, quicker than on several"
            )
            self._before = None


def _has_single(plan: PlacementPlan) -> bool:
    """Whether a plan uses several devices for work where one would do."""
    used = [name for name, busy in plan.forecast.busy.items() if busy > 0]
    return plan.single is not None and len(used) > 1
