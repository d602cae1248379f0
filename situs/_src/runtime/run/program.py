"""Programs: executable plans.

A sequential plan runs as straight-line code in the caller's thread. A plan with work that can
overlap (several devices, slow or blocking operations) runs on a thread pool. Runs that are traced,
verified or have a deadline use separate code, so that others pay nothing for it; so do runs that may offload
values to the host (`runtime.run.swap`). A program that should be compiled is compiled after it has run
(`runtime.run.compiled`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
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
from situs._src.runtime.passes.idioms import with_idioms
from situs._src.runtime.passes.sum_parts import with_sums
from situs._src.runtime.plan.plan import Plan, slots_in
from situs._src.runtime.run import swap, threads, trace
from situs._src.runtime.run.compiled import CompiledProgram, Wish, demand_compiler, wish_for
from situs._src.runtime.run.cuda_graph import capturing, may_capture
from situs._src.runtime.run.emit import Function, emit
from situs._src.runtime.run.failure import explained
from situs._src.runtime.run.state import Run
from situs._src.runtime.run.torchscript import scripted
from situs._src.runtime.run.trace import Recorder
from situs._src.runtime.run.verify import checking

SCRIPTED_AFTER = 10  # runs


class Way(Enum):
    """How the calls of a program are executed, once it has warmed up."""

    STRAIGHT = "one call after the other"
    THREADS = "on several threads"
    CAPTURED = "recorded as a CUDA graph"


def way_of(plan: Plan, pool: threads.Pool | None, ordered: bool = False) -> Way:
    """How a program of a plan will run; the arguments are those of `Program`."""
    schedule = None if pool is None else threads.schedule(plan, pool, ordered)
    return _way(schedule is not None, not verifying() and may_capture(plan))


def _way(side_by_side: bool, captures: bool) -> Way:
    return Way.THREADS if side_by_side else Way.CAPTURED if captures else Way.STRAIGHT


clock: Callable[[], float] = time.perf_counter


@dataclass(frozen=True)
class Listener:
    """Receives runs while profiling: nothing of a program's first run, then every other run call by call.

    Attributes:
        recorded: Called with a run that was recorded.
        timed: Called with a run that was not, and the seconds it took undisturbed.
    """

    recorded: Callable[[Plan, Recorder, Way], None]
    timed: Callable[[Plan, float], None]


listener: Listener | None = None


class Program:
    """An executable plan, which can run any number of times and in any number of threads.

    Args:
        plan: The plan.
        pool: The threads for work that can overlap; None to run everything in the caller's thread.
        swaps: Whether values may be offloaded to the host if they do not fit on a GPU, even if that is off for other
        graphs.
        ordered: Whether side effects happen in program order, also on a pool.
        compiles: Whether to compile it if its functions leave it open; None for the process-wide setting.
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
        self._relayed: tuple[trace.Relay, Function] | None = None  # while a watcher is installed
        self._is_final = False  # the function will not be rebuilt
        self._runs = 0
        self._joined: dict[Operation, str] = {}  # operations that are fused with others
        self._profiled = 0  # runs since profiling began: the first is not worth recording
        wish = wish_for(plan, compiles)
        self._capturing = None if verifying() else capturing(plan, wish)
        self._why_uncompiled = self._refused(wish)
        compiles_here = wish is not None and self._capturing is None and not self._why_uncompiled
        self._compiling = CompiledProgram(plan, wish) if wish is not None and compiles_here else None
        self._needs_compiler = wish is not None and wish.asked and not self._why_uncompiled

    def run(
        self, run: Run, values: Sequence[Any], recorder: Recorder | None = None, stoppable: bool = False
    ) -> tuple[Any, ...]:
        """Runs the plan and returns its fetches.

        Args:
            run: The run.
            values: The feeds.
            recorder: Records each call.
            stoppable: Whether the run may be cancelled, so that no call begins after that.

        Raises:
            NotFoundError: a function asked to be compiled, and there is no compiler.
            OpError: a call failed; the error names the operation and the user's line that created it.
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
        asked = recorder  # by the caller or a profiler; a watcher takes a compiled run as a whole
        if watcher is not None:
            began, in_calls = trace.now(), True
            recorder = noted = asked or watcher.begin(self)
        try:
            with below_autograd():  # nothing here is recorded by PyTorch's autograd
                if (swap.switch.on or self._swaps) and self._can_swap:
                    results = swap.run_swapping(self.plan, run, values, recorder)
                elif (
                    self._compiling is not None
                    and asked is None
                    and not stoppable
                    and (made := self._compiling.run(run, values)) is not None
                ) or (
                    watcher is not None
                    and self._capturing is not None
                    and asked is None
                    and self.schedule is None
                    and not stoppable
                    and (made := self._capturing.run(run, values)) is not None
                ):
                    results, in_calls = made, False
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
                if told is not None and asked is not None:
                    told.recorded(self.plan, asked, self.way)
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

    @property
    def way(self) -> Way:
        """How it runs now: what is to be captured runs as straight-line code until then."""
        is_captured = self._capturing is not None and self._capturing.captured is not None
        return _way(self.schedule is not None, is_captured)

    @property
    def settles_after(self) -> int:
        """The number of runs after which its form is final."""
        return 0 if self._capturing is None or self.schedule is not None else self._capturing.after

    @property
    def is_captured(self) -> bool:
        """Whether it runs as a CUDA graph, as far as possible."""
        return self._capturing is not None

    def ways(self) -> dict[Operation, str]:
        """How each operation runs, if the program is compiled, or should be: in which region, or why in none.

        For a program that is not compiled and has warmed up: which operations are one kernel.
        """
        if self._why_uncompiled:
            return dict.fromkeys(self.plan.assignments, f"kernel: {self._why_uncompiled}")
        found = self._compiling or self._capturing
        ways = {} if found is None else found.ways()
        return ways or ({} if not self._joined else {n: self._joined.get(n, "kernel") for n in self.plan.assignments})

    def _refused(self, wish: Wish | None) -> str:
        """Why a program is not compiled though that is requested; empty if it is."""
        if wish is None:
            return ""
        if verifying():
            return "runs are verified (SITUS_VERIFY)"
        if self._swaps or swap.switch.on:
            return "its values may be moved to the host"
        return "" if wish.asked or self.schedule is None else "it runs on several threads"

    def _stoppable(self, recorder: Recorder | None) -> Function:
        """The plan as a function that checks for cancellation before each call."""
        if recorder is not None:
            return emit(self.plan, recorder.around, stoppable=True).function
        if self._asking is None:
            self._asking = emit(self.plan, stoppable=True).function
        return self._asking

    def _watched(self, recorder: Recorder, run: Run, values: Sequence[Any]) -> tuple[Any, ...]:
        """A run recorded by a watcher: the code emitted for it is cached."""
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
        """Synchronizes with the GPUs: a run without fetches ends when its work is done, like one with fetches."""
        for card in self._cards:
            torch.cuda.current_stream(card).synchronize()

    @cached_property
    def _cards(self) -> list[torch.device]:
        return [torch_device(device) for device in {call.device for call in self.plan.calls} if device.is_card]

    def _rewritten(self) -> Plan:
        """The plan with elementwise calls fused, and sums accumulated where their terms are produced."""
        plan = self.plan
        if not plan.as_known:
            return plan
        kept = slots_in(plan.outputs)
        fused = with_idioms(plan.calls, kept, plan.slots)
        self._joined = fused.names
        calls = with_sums(fused.calls, kept, plan.assignments | fused.placed)
        if calls is plan.calls:
            return plan
        return replace(plan, calls=calls, slots=fused.slots, assignments=plan.assignments | fused.placed)

    def _function(self) -> Function:
        """The plan as a function: in Python at first, and partly in TorchScript after a few runs."""
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
            plan = self.plan if verifying() else scripted(self._rewritten())
            if plan is not self.plan:
                self._emitted = emit(plan).function


def _alone(failure: Exception, error: Exception) -> Exception:
    """The error to raise, detached from the frames that hold the values of the run."""
    if failure is not error:
        error.__traceback__ = failure.__traceback__ = None
    return failure
