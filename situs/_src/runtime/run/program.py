"""Programs: plans made ready to run, in the way that suits them.

A plan whose calls follow each other runs as straight-line code in the caller's thread. One with work that can
go on side by side (several devices, slow or waiting operations) runs on a pool of threads. Runs that are traced,
verified or limited in time use code of their own, so that the others pay nothing for it; so do runs that may move
values to the host (`runtime.run.swap`). A program that is to be compiled is compiled when it has run
(`runtime.run.compiled`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch

from situs._src.base import locks
from situs._src.ir.graph.node import Operation
from situs._src.runtime import watch
from situs._src.runtime.eager import heap
from situs._src.runtime.eager.bridge import torch_device
from situs._src.runtime.eager.execute import verifying
from situs._src.runtime.eager.torch_private import below_autograd
from situs._src.runtime.passes.sum_parts import with_sums
from situs._src.runtime.plan.plan import Plan, slots_in
from situs._src.runtime.run import swap, threads, trace
from situs._src.runtime.run.compiled import CompiledProgram, Wish, demand_compiler, wish_for
from situs._src.runtime.run.cuda_graph import capturing
from situs._src.runtime.run.emit import Function, emit
from situs._src.runtime.run.failure import explained
from situs._src.runtime.run.state import Run
from situs._src.runtime.run.torchscript import scripted
from situs._src.runtime.run.trace import Recorder
from situs._src.runtime.run.verify import checking

SCRIPTED_AFTER = 10  # runs
clock: Callable[[], float] = time.perf_counter


@dataclass(frozen=True)
class Listener:
    """Who is told of runs, while somebody profiles: of a program's first run nothing, then of every other call by call.

    Attributes:
        recorded: Told of a run that was recorded.
        timed: Told of a run that was not: how many seconds it took as it is.
    """

    recorded: Callable[[Plan, Recorder], None]
    timed: Callable[[Plan, float], None]


listener: Listener | None = None


class Program:
    """A plan that can run, any number of times and in any number of threads.

    Args:
        plan: The plan.
        pool: The threads for work that can overlap; None to run everything in the caller's thread.
        swaps: Whether values may be moved to the host if they do not fit on a GPU, though not all graphs may do so.
        ordered: Whether effects happen in the order of the program, also on a pool.
        compiles: Whether it is compiled if its functions say nothing of that; None leaves it to the process.
    """

    def __init__(
        self,
        plan: Plan,
        pool: threads.Pool | None,
        swaps: bool = False,
        ordered: bool = False,
        compiles: bool | None = None,
    ) -> None:
        self.plan = plan
        self._swaps = swaps
        self.schedule = None if pool is None else threads.schedule(plan, pool, ordered)
        if not all(call.device.is_card for call in plan.calls):
            heap.keep()
        self._lock = locks.lock()
        self._emitted: Function | None = None
        self._asking: Function | None = None
        self._relayed: tuple[trace.Relay, Function] | None = None  # while somebody watches
        self._is_final = False  # the function will not be made again
        self._runs = 0
        self._profiled = 0  # runs since somebody profiles: the first is not worth recording
        wish = wish_for(plan, compiles)
        self._capturing = None if verifying() else capturing(plan, wish)
        self._why_uncompiled = self._refused(wish)
        compiles_here = wish is not None and self._capturing is None and not self._why_uncompiled
        self._compiling = CompiledProgram(plan, wish) if wish is not None and compiles_here else None
        self._needs_compiler = wish is not None and wish.asked and not self._why_uncompiled

    def run(
        self, run: Run, values: Sequence[Any], recorder: Recorder | None = None, stoppable: bool = False
    ) -> tuple[Any, ...]:
        """Runs the plan and returns what it fetches.

        Args:
            run: The run.
            values: What is fed.
            recorder: What to note each call with.
            stoppable: Whether the run may be told to stop, so that no call begins after that.

        Raises:
            NotFoundError: a function was to be compiled, and there is no compiler.
            OpError: a call failed; the error names the operation and the user's line that made it.
        """
        if self._needs_compiler:
            demand_compiler(self.plan)
            self._needs_compiler = False
        told = listener if recorder is None else None
        if told is not None:
            recorder = Recorder() if self._profiled % 2 else None
            self._profiled += 1
        watcher = watch.watcher
        start = clock() if told is not None else 0.0
        if watcher is not None:
            began, noted = trace.now(), recorder or watcher.begin(self)
            in_calls = recorder is not None or self._compiling is None or self.schedule is not None or stoppable
            recorder = noted if in_calls else None
        try:
            with below_autograd():  # nothing here is recorded for PyTorch's own gradients
                if (swap.switch.on or self._swaps) and self._can_swap:
                    results = swap.run_swapping(self.plan, run, values, recorder)
                elif (
                    self._compiling is not None
                    and recorder is None
                    and not stoppable
                    and (made := self._compiling.run(run, values)) is not None
                ):
                    results = made
                elif self.schedule is not None:
                    results = self.schedule.run(run, values, recorder)
                elif stoppable:
                    results = self._stoppable(recorder)(run, *values)
                elif recorder is not None and watcher is not None:
                    results = self._watched(recorder, run, values)
                elif recorder is not None:
                    results = emit(self.plan, recorder.around).function(run, *values)
                else:
                    captured = None if self._capturing is None else self._capturing.run(run, values)
                    results = self._function()(run, *values) if captured is None else captured
                if not results:
                    self._wait()
                if told is not None and recorder is not None:
                    told.recorded(self.plan, recorder)
                elif told is not None and self._profiled > 1:
                    self._wait()
                    told.timed(self.plan, clock() - start)
                if watcher is not None:
                    watcher.end(self, noted, began, in_calls, None)
                return results
        except Exception as error:
            if watcher is not None:
                watcher.end(self, noted, began, in_calls, error)
            raise _alone(explained(error), error) from None

    def ways(self) -> dict[Operation, str]:
        """How each operation runs, if the program is, or was to be, compiled: in which region, or why not."""
        if self._why_uncompiled:
            return dict.fromkeys(self.plan.assignments, f"kernel: {self._why_uncompiled}")
        found = self._compiling or self._capturing
        return {} if found is None else found.ways()

    def _refused(self, wish: Wish | None) -> str:
        """Why a program is not compiled though that is wished for; nothing if it is."""
        if wish is None:
            return ""
        if verifying():
            return "runs are verified (SITUS_VERIFY)"
        if self._swaps or swap.switch.on:
            return "its values may be moved to the host"
        return "" if wish.asked or self.schedule is None else "it runs on several threads"

    def _stoppable(self, recorder: Recorder | None) -> Function:
        """The plan as a function that asks before each call whether to go on."""
        if recorder is not None:
            return emit(self.plan, recorder.around, stoppable=True).function
        if self._asking is None:
            self._asking = emit(self.plan, stoppable=True).function
        return self._asking

    def _watched(self, recorder: Recorder, run: Run, values: Sequence[Any]) -> tuple[Any, ...]:
        """A run that is recorded as all others are: what is emitted for it is kept."""
        if self._relayed is None:
            relay = trace.Relay()
            self._relayed = relay, emit(self.plan, relay.around).function
        relay, function = self._relayed
        with relay.to(recorder):
            return function(run, *values)

    @cached_property
    def _can_swap(self) -> bool:
        return swap.can_swap(self.plan)

    def _wait(self) -> None:
        """Waits for the cards: a run that fetches nothing is over when its work is, as one that fetches."""
        for card in self._cards:
            torch.cuda.current_stream(card).synchronize()

    @cached_property
    def _cards(self) -> list[torch.device]:
        return [torch_device(device) for device in {call.device for call in self.plan.calls} if device.is_card]

    def _with_sums(self) -> Plan:
        plan = self.plan
        calls = with_sums(plan.calls, slots_in(plan.outputs), plan.assignments) if plan.as_known else plan.calls
        return plan if calls is plan.calls else replace(plan, calls=calls)

    def _function(self) -> Function:
        """The plan as a function: in Python at first, and partly in TorchScript when it has run a few times."""
        self._runs += 1
        if self._emitted is None or (self._runs >= SCRIPTED_AFTER and not self._is_final):
            with self._lock:
                self._emit()
        assert self._emitted is not None
        return self._emitted

    def _emit(self) -> None:
        if self._emitted is None:
            checks = verifying() and self.plan.as_known
            self._emitted = emit(self.plan, checking(self.plan) if checks else None).function
        if self._runs >= SCRIPTED_AFTER and not self._is_final:
            self._is_final = True
            plan = self.plan if verifying() else scripted(self._with_sums())
            if plan is not self.plan:
                self._emitted = emit(plan).function


def _alone(failure: Exception, error: Exception) -> Exception:
    """The failure to raise in place of an error, which no longer holds the values of the run in its frames."""
    if failure is not error:
        error.__traceback__ = failure.__traceback__ = None
    return failure
