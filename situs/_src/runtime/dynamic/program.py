"""A program that times its steps, and is replaced if a better placement is found.

    run        enter the engine; plan again if the placement has changed since
               by the pilot's decision: plainly, recorded, or timed                     pilot.py
    after it   place again, try one device alone, go back to several: the pilot's verdict, when no other run is inside

Only the leading run of an engine is watched. A settled program costs what any other costs, plus a lock.
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
from situs._src.runtime.run.program import Program, Way
from situs._src.runtime.run.state import Run
from situs._src.runtime.run.trace import Event, Recorder

if TYPE_CHECKING:
    from situs._src.runtime.dynamic.engine import DynamicEngine

clock: Callable[[], float] = time.perf_counter
AND_A_FEW = 3  # steps: the recorded one runs other code, and the captured one is slow


@dataclass(frozen=True, eq=False)
class Request:
    """A requested run: its feeds and their devices, its fetches and their targets, and other operations to run.

    A fetch with target None stays on its device.
    """

    feeds: tuple[tuple[SymbolicTensor, Device], ...]
    fetches: tuple[tuple[SymbolicTensor, Device | None], ...]
    targets: tuple[Operation, ...]
    roots: Mapping[SymbolicTensor, SymbolicTensor] | None = None

    def is_like(self, other: Request) -> bool:
        """Whether another run has the same feeds and fetches."""
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
        request: The run.
    """

    def __init__(self, engine: DynamicEngine, request: Request) -> None:
        self.engine = engine
        self.request = request
        self.generation = engine.generation
        self.pilot: Pilot | None = None
        self._recorded: tuple[Plan, Sequence[Event], Mapping[SymbolicTensor, TensorShape]] | None = None
        self._feeding = 0.0  # predicted seconds before a run begins
        self._before: Decisions | None = None  # the decisions to restore if one device alone is slower
        super().__init__(engine.planned(request), engine.pool, engine.swaps, engine.ordered, engine.compiles)

    def run(
        self, run: Run, values: Sequence[Any], recorder: Recorder | None = None, stoppable: bool = False
    ) -> tuple[Any, ...]:
        """Runs the plan and returns its fetches; see `Program.run` for the arguments."""
        engine = self.engine
        engine.enter()
        verdict = Verdict.GO_ON
        try:
            if self.generation != engine.generation:
                engine.bring_up_to_date(self)
            pilot = self._watching()
            apart = (
                recorder is not None or watch.watcher is not None
            )  # such runs take longer, and are not representative
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
                seconds = clock() - start + self._feeding
                verdict = pilot.over(step, seconds) if pilot is not None else verdict
                if pilot is not None and pilot.measured is not None:
                    engine.fails_to_record |= bool(self.settles_after) and self.way is Way.STRAIGHT
                    self._learn(pilot.measured - self._feeding)
        finally:
            engine.leave()
        if verdict is not Verdict.GO_ON and self.pilot is not None:
            self._follow(verdict, self.pilot)
        return made

    def become(self, plan: Plan, generation: int) -> None:
        """Switches to another plan; no run may be in progress."""
        for name in ("_can_swap", "_cards"):
            self.__dict__.pop(name, None)
        engine = self.engine
        Program.__init__(self, plan, engine.pool, engine.swaps, engine.ordered, engine.compiles)
        self.generation = generation

    def _watching(self) -> Pilot | None:
        """The pilot, if this is the leading run and nothing else has decided."""
        plan = self.engine.plan
        if plan is None or self.engine.placer.plan is not None or not self.engine.leads(self.request):
            return None
        if self.pilot is None:
            self._feeding = self.engine.feeding(self.request)
            self.pilot = Pilot(plan.forecast.value, _has_single(plan), self.engine.placer.period)
        self.pilot.formed = AND_A_FEW + self.settles_after if self.settles_after else 0
        return self.pilot

    def _keep(self, recorder: Recorder, values: Sequence[Any]) -> None:
        """Keeps a recording until the time of a whole step is known; its shapes are used at once."""
        fed = {
            tensor: TensorShape(tuple(value.shape))
            for (tensor, _), value in zip(self.request.feeds, values, strict=True)
            if not tensor.is_ref and hasattr(value, "shape")
        }
        self._recorded = self.plan, recorder.events, fed
        self.engine.expect(shapes_of(recorder.events, fed))

    def _learn(self, whole: float) -> None:
        """Learns from the last recording, now that the time of a step is known."""
        if self._recorded is not None:
            plan, events, fed = self._recorded
            self._recorded = None
            self.engine.note(learn([events], plan, self.engine.store, fed, whole, self.way))

    def _follow(self, verdict: Verdict, pilot: Pilot) -> None:
        """Carries out the pilot's verdict."""
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
    """Whether a plan spreads work over several devices that one could do, and expects to gain by it."""
    used = [name for name, busy in plan.forecast.busy.items() if busy > 0]
    return plan.single is not None and len(used) > 1 and plan.single[1] > plan.forecast.value
