"""Programs as CUDA graphs: all launches of a run recorded once, and ordered again in one go.

Ordering a small kernel takes longer than running it. When a program has run a few times with the same shapes and has
the parts of `runtime.run.capture_regions`, the launches of its work are captured:

    feeds  --copy-->  buffers  --replay-->  results  --copy-->  fetches
                       variables in place

A feed is copied from the host straight into its buffer, and takes no other memory on the card. A large one goes
through pinned memory: the card takes it from there when it comes to it, and the host does not wait for the run before.

The memory of a variable is captured as it is, without a buffer: what the work reads, and what it changes. It is
nevertheless the variable's own, and a capture holds it weakly. If a variable has got other memory since, or somebody
holds its value while the work would change it, the run goes the usual way and the program is captured once more; a
variable that the work only reads gets a buffer then, and its value is copied in.

A capture costs as much as many runs. One that was replayed often enough has paid for itself; of the others there may
be a few in the life of a program, and then it is captured no more.

What depends on the run (random numbers, the next batch) is made before the replay. A program whose capture fails goes
on as before. One thread replays at a time; another that comes meanwhile runs the program the usual way.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from weakref import ref

import torch

from situs._src.base import locks
from situs._src.ir.graph.node import Operation
from situs._src.runtime.eager.allocations import enter
from situs._src.runtime.eager.bridge import torch_device
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.eager.in_place import shared_ones, with_values
from situs._src.runtime.passes.fuse_bias import with_biases
from situs._src.runtime.passes.regions import Seen, why_never
from situs._src.runtime.passes.sum_parts import with_sums
from situs._src.runtime.plan.plan import Call, Plan, Slot, slots_in
from situs._src.runtime.run import inductor
from situs._src.runtime.run.background import Beside, Settled
from situs._src.runtime.run.capture_regions import Parts, kept_views, parts_of
from situs._src.runtime.run.compiled import Compilation, Known, Wish, refuse, why_not_yet
from situs._src.runtime.run.compiled_region import TRIALS
from situs._src.runtime.run.emit import as_host_value, emit
from situs._src.runtime.run.state import Run
from situs._src.runtime.run.stream_capture import Launches, Staging

CAPTURED_AFTER = 20  # runs
AGAIN_AFTER = 3  # runs, if a variable has changed whose memory was captured: others may be about to change, too
MOST = 8  # captures of one program that did not pay
PAID = 50  # replays, after which a capture has paid
FEW = 16  # elements
PINNED_FROM, PINNED_UP_TO = 2**16, 2**26  # bytes: CUDA copies less at once, whatever memory it lies in

Function = Callable[..., tuple[Any, ...]]


class CapturedProgram:
    """A program that is captured when it has run a few times, and then replayed.

    Args:
        plan: The plan.
        parts: Its parts.
        wish: That its work be compiled, and when.
    """

    def __init__(self, plan: Plan, parts: Parts, wish: Wish | None = None) -> None:
        self._plan = plan
        self._parts = parts
        self._wish = wish
        self._after = CAPTURED_AFTER if wish is None or wish.beside else min(wish.after, CAPTURED_AFTER)
        self._why_uncompiled = "" if wish is None else why_not_yet(wish, self._after)
        self._settled = Settled(sum(why_never(call) is None for call in parts.work))
        self._beside: tuple[Captured, Beside[Compilation]] | None = None
        self._is_over = False  # it will not be compiled
        self._compiled_before: Known = {}  # regions, for the next capture
        self._runs = 0
        self._captures = 0
        self._changing: set[int] = set()  # slots of variables that are known to change: they are copied in, like feeds
        self._lock = locks.lock()
        self._functions: tuple[Function, Function] | None = None
        self.captured: Captured | None = None

    def run(self, run: Run, values: Sequence[Any]) -> tuple[Any, ...] | None:
        """Runs the program and returns what it fetches; None, and nothing has happened, if it should go the usual way.

        That is so in the first runs, when captures have failed, and for other shapes than it was captured for.
        """
        captured = self.captured
        if captured is None and not self._is_time():
            return None
        if captured is not None and captured.shapes != shapes_of(values):
            return None
        bring, go_on = self._emitted()
        brought = bring(run, *values)
        made = self._replayed(run, values, brought)
        return go_on(run, *brought) if made is None else made

    def ways(self) -> dict[Operation, str]:
        """How each operation runs, if the program is, or was to be, compiled: in which region, or why not."""
        if self._wish is None:
            return {}
        captured = self.captured
        known = {} if captured is None or captured.compilation is None else captured.compilation.ways()
        rest = self._why_uncompiled if not known else "not in the work that is recorded as a CUDA graph"
        nodes = ((call.node, why_never(call) or rest) for call in self._plan.calls)
        return {node: known.get(node, f"kernel: {reason}") for node, reason in nodes if node is not None}

    def _is_time(self) -> bool:
        if not self._runs and self._wish is not None and not self._wish.beside:
            self._ask_for_compiler(self._wish)
        self._runs += 1
        return self._runs > self._after and self._captures < MOST

    def _ask_for_compiler(self, wish: Wish) -> None:
        lacking = inductor.missing(on_card=True)
        if lacking is not None:
            refuse(lacking, wish)
            self._is_over = True
            self._why_uncompiled = f"no compiler: it needs {lacking}"

    def _emitted(self) -> tuple[Function, Function]:
        """What brings values, and what goes on from there in the usual way."""
        if self._functions is None:
            plan, parts = self._plan, self._parts
            boundary = parts.boundary
            bring = replace(plan, calls=parts.before, outputs=[Slot(slot) for slot in boundary])
            rest = [call for call in plan.calls if call not in parts.before]
            self._functions = emit(bring).function, emit(replace(plan, calls=rest, inputs=boundary)).function
        return self._functions

    def _replayed(self, run: Run, values: Sequence[Any], brought: Sequence[Any]) -> tuple[Any, ...] | None:
        """The results of a captured run; None if it cannot be one."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            if self.captured is None:
                self._capture(values, brought)
            if self.captured is None:
                return None
            if self._wish is not None and self._wish.beside and not self._is_over:
                self._compile_beside(self._wish, self.captured)
            return None if self.captured is None else self.captured.run(run, brought)
        except OutdatedCapture as outdated:
            assert self.captured is not None
            self._captures -= self.captured.replays >= PAID
            self._changing |= outdated.changed
            self.captured, self._runs = None, max(self._after - AGAIN_AFTER, 1)
            return None
        finally:
            self._lock.release()

    def _compile_beside(self, wish: Wish, captured: Captured) -> None:
        """Begins to compile the work in the background when that pays, and takes up what was made."""
        if self._beside is None:
            if not self._settled.now():
                return
            self._ask_for_compiler(wish)
            if not self._is_over:
                self._why_uncompiled = "being compiled"
                work, seen = captured.noted()
                known = self._compiled_before
                self._beside = captured, Beside(lambda: _compiled_beside(work, seen, known))
            return
        origin, beside = self._beside
        if not beside.is_over:
            return
        if beside.made is None:
            self._is_over, self._why_uncompiled = True, f"the compiler failed: {beside.failure}"
        elif origin is captured:
            self._is_over = True
            try:
                captured.adopt(beside.made)
                captured.record_again()
            except Exception as error:  # no room for copies, for instance: it is captured as it was
                self._why_uncompiled = f"compiled, it could not be tried: {type(error).__name__}"
                self.captured = None
        self._beside = None  # what was captured is another one by now: what is compiled is known, and tried once more

    def _capture(self, values: Sequence[Any], brought: Sequence[Any]) -> None:
        self._captures += 1
        try:
            captured = Captured(self._plan, self._parts, shapes_of(values), brought, self._changing)
            if self._wish is not None and not self._wish.beside and inductor.missing(on_card=True) is None:
                captured.compile(exact=not self._wish.asked, known=self._compiled_before)
            captured.record()
            self.captured = captured
        except Exception as error:  # a kernel that looks at its results, for instance
            logging.getLogger("situs").debug("A program was not captured as a CUDA graph: %s", error)
            self._captures = MOST


def _compiled_beside(work: Plan, seen: Seen, known: Known) -> Compilation:
    return Compilation(work, seen, exact=True, in_trial=False, known=known, may_refuse=False, beside=True)


def capturing(plan: Plan, wish: Wish | None = None) -> CapturedProgram | None:
    """A program that is captured, for a plan that can be; its work is compiled before, if that is wished for."""
    parts = parts_of(plan)
    return None if parts is None else CapturedProgram(plan, parts, wish)


class OutdatedCapture(Exception):  # noqa: N818 -- it never leaves the program
    """A variable has other memory now than was captured, or somebody holds it who must not see it change."""

    def __init__(self, changed: set[int]) -> None:
        super().__init__()
        self.changed = changed


class Captured:
    """A program captured for some shapes.

    Args:
        plan: The plan.
        parts: Its parts.
        shapes: The shapes of what is fed.
        brought: The values at the boundary of the parts, in the run that is under way.
        changing: The slots among them that are values of variables and need buffers.
    """

    def __init__(
        self,
        plan: Plan,
        parts: Parts,
        shapes: tuple[Any, ...],
        brought: Sequence[Any],
        changing: set[int],
    ) -> None:
        self.shapes = shapes
        self._parts = parts
        self._device = torch_device(parts.device)
        self._account = parts.device.account
        self._launches = Launches(self._device)
        results = _results(plan, parts)
        copied = kept_views(parts, set(results))
        work = [self._on_memory(call, copied) for call in parts.work]
        self._whole = replace(plan, calls=work, inputs=parts.incoming, outputs=[Slot(slot) for slot in results])
        self._numbers = {call: number for number, call in enumerate(plan.calls)}
        summed = with_sums(work, results, plan.assignments)
        self._work = emit(replace(self._whole, calls=with_biases(summed, results))).function
        self.compilation: Compilation | None = None
        passed = sorted(set(parts.boundary) & _wanted(plan, parts))
        self._passed = [parts.boundary.index(slot) for slot in passed]
        self._fetch = emit(replace(plan, calls=parts.after, inputs=[*results, *passed])).function
        self._take(brought, changing | copied)
        self._changes = False  # whether what would change variables does so
        self._trial: list[Any] | None = None  # what the work is tried with: copies of variables that it changes
        self._results: tuple[Any, ...] = ()
        self.replays = 0

    # What comes in.

    def _take(self, brought: Sequence[Any], buffered: set[int]) -> None:
        """Takes what comes in: cells, values of variables as they are, and buffers for all else."""
        parts = self._parts
        where = {slot: number for number, slot in enumerate(parts.boundary)}
        self._states = [where[slot] for slot in parts.states]
        self._state_slots = parts.states
        self._borrowed = [(slot, where[slot]) for slot in sorted(parts.reads - buffered)]
        self._lent = [ref(brought[number]) for _, number in self._borrowed]
        given = set(parts.states) | parts.reads - buffered
        copied = [slot for slot in parts.incoming if slot not in given]
        self._copied = [where[self._source(slot)] for slot in copied]
        self._buffers = [self._buffer(slot, brought[number]) for slot, number in zip(copied, self._copied, strict=True)]
        self._seen: list[Any] = [None] * len(copied)
        self._staging: dict[int, Staging] = {}  # by places among the buffers
        self._may_change = [slot in parts.reads or slot in parts.arrivals for slot in copied]
        cells: list[Cell] = [brought[number] for number in self._states]
        for cell in cells:
            cell.is_recorded = True
        self._homes = [ref(cell.read()) for cell in cells]

    def _source(self, slot: int) -> int:
        """The slot of what is copied into a buffer of the work."""
        arrival = self._parts.arrivals.get(slot)
        return slot if arrival is None else slots_in(arrival.inputs)[0]

    def _buffer(self, slot: int, value: Any) -> torch.Tensor:
        arrival = self._parts.arrivals.get(slot)
        made = value if arrival is None else arrival.function(value)
        if not self._is_here(made):
            raise TypeError("something that comes in does not lie on the card")
        return self._entered(made.clone()) if arrival is None else made  # what arrives is nobody else's

    def _incoming(self) -> list[Any]:
        """What the work is given, in the order of its inputs."""
        named = dict(zip(self._state_slots, self._homes, strict=True))
        named.update(zip((slot for slot, _ in self._borrowed), self._lent, strict=True))
        buffers = iter(self._buffers)
        return [named[slot]() if slot in named else next(buffers) for slot in self._parts.incoming]

    # The work.

    def _on_memory(self, call: Call, copied: set[int]) -> Call:
        """A call of the work as it is captured: it takes the memory of variables in the place of their cells."""
        if call.reads is not None:
            return replace(call, function=torch.clone if call.outputs[0] in copied else _itself)
        if call.copies is not None:
            return replace(call, function=self._filled)
        function = getattr(call.function, "on_memory", None)
        return call if function is None else replace(call, function=self._when_it_counts(function))

    def _when_it_counts(self, function: Function) -> Callable[..., Any]:
        def change(*values: Any) -> Any:
            return function(*values) if self._changes else values[0]

        change.on_memory = function  # type: ignore[attr-defined]  # for a compiler
        return change

    def _filled(self, value: torch.Tensor) -> torch.Tensor:
        """A few numbers, known from shapes, on the card: they become part of the launches."""
        if value.numel() > FEW:
            raise TypeError("too many numbers to bring to the card while capturing")
        made = torch.empty(value.shape, dtype=value.dtype, device=self._device)
        for place, number in zip(made.view(-1), value.reshape(-1).tolist(), strict=True):
            place.fill_(number)
        return made

    def record(self) -> None:
        """Records the launches of the work."""
        self._changes = self._trial is not None  # of copies; without them, changes are left out
        self._launches.prepare(self._tried(self._work))
        self._trial = None
        self._changes = True
        self._results = self._launches.record(lambda: self._work(None, *self._incoming()))

    def record_again(self) -> None:
        """Records the launches of the work anew, if it is another one now."""
        if self._trial is not None:
            self._launches = Launches(self._device)
            self.record()

    # The work, compiled.

    def compile(self, exact: bool, known: Known) -> None:
        """Compiles the work, before it is recorded, and takes that in its place if it is faster.

        Args:
            exact: Whether what is fused is rounded after each op.
            known: What was compiled for earlier captures, and what this one adds.
        """
        whole, seen = self.noted()
        self.adopt(Compilation(whole, seen, exact, in_trial=False, known=known, may_refuse=False))

    def noted(self) -> tuple[Plan, Seen]:
        """The work as a plan, and what a run of it shows; nothing has changed."""
        whole = replace(self._whole, calls=self._in_order())
        seen = Seen(whole, as_host_value, self._state_slots)
        given = self._incoming()
        seen.note(whole.inputs, given)
        del given
        changes = self._changes
        self._try_on_copies()
        try:
            Launches(self._device).prepare(self._tried(emit(whole, seen.around).function))
        finally:
            self._trial, self._changes = None, changes
        return whole, seen

    def adopt(self, compilation: Compilation) -> None:
        """Takes compiled work in the place of the work, if it is faster; it is not yet recorded."""
        self.compilation = compilation
        if not compilation.regions:
            return
        self._try_on_copies()
        compiled = emit(compilation.plan).function
        for _ in range(2):  # the first is compared, in the second Triton chooses among its kernels
            Launches(self._device).prepare(self._tried(compiled))
        times = self._milliseconds(compiled), self._milliseconds(self._work)
        if times[0] <= times[1]:
            self._work = compiled
        else:
            compilation.drop(f"slower compiled, {times[0]:.3g} against {times[1]:.3g} ms")
            self._trial = None

    def _try_on_copies(self) -> None:
        """Has the work change copies of variables, until it is recorded: what is compiled cannot leave changes out."""
        pairs = zip(self._parts.incoming, self._incoming(), strict=True)
        self._trial = [value.clone() if slot in self._state_slots else value for slot, value in pairs]
        self._changes = True

    def _tried(self, work: Function) -> Callable[[], tuple[Any, ...]]:
        """Some work, to be called without arguments and without consequences."""
        return lambda: work(None, *(self._incoming() if self._trial is None else self._trial))

    def _in_order(self) -> list[Call]:
        """The calls of the work, waiting for each other by their numbers in the work; the plan's count in the plan."""
        now = {self._numbers[call]: number for number, call in enumerate(self._parts.work)}
        pairs = zip(self._whole.calls, self._parts.work, strict=True)
        return [replace(call, after=[now[n] for n in old.after if n in now]) for call, old in pairs]

    def _milliseconds(self, work: Function) -> float:
        """The best time of some work, recorded as it will be, but on copies of variables."""
        launches = Launches(self._device)
        launches.prepare(self._tried(work))
        held = launches.record(self._tried(work))
        found: list[float] = []
        event: Any = torch.cuda.Event
        with torch.cuda.device(self._device):
            for _ in range(1 + TRIALS):
                start, end = (event(enable_timing=True) for _ in range(2))
                start.record()
                launches.replay()
                end.record()
                end.synchronize()
                found.append(start.elapsed_time(end))
        del held
        return min(found[1:])

    # Running it.

    def run(self, run: Run, brought: Sequence[Any]) -> tuple[Any, ...] | None:
        """Replays the launches and returns what is fetched; None if something has another shape than it had.

        Raises:
            OutdatedCapture: a variable has other memory than was captured, or its value is held by somebody.
        """
        fed = [brought[number] for number in self._copied]
        if shapes_of(fed) != shapes_of(self._buffers):
            return None
        pairs = zip(self._borrowed, self._lent, strict=True)
        changed = {slot for (slot, number), lent in pairs if lent() is not brought[number]}
        if changed:
            raise OutdatedCapture(changed)
        self._copy_in(fed)
        self.replays += 1
        if self._states:
            with_values([brought[number] for number in self._states], self._replay_on)
        else:
            self._launches.replay()
        made = self._fetch(run, *self._results, *(brought[number] for number in self._passed))
        return tuple([self._own(value) for value in made])

    def _copy_in(self, fed: list[Any]) -> None:
        """Fills the buffers; what is there already is not copied again, unless its memory may have changed."""
        for place, value in enumerate(fed):
            if value is not self._seen[place]:
                if self._is_staged(value):
                    self._staged(place).send(value)
                else:
                    self._buffers[place].copy_(value, non_blocking=True)
                if not self._may_change[place]:
                    self._seen[place] = value

    def _is_staged(self, value: torch.Tensor) -> bool:
        is_copied_late = value.device.type == "cpu" and self._device.type == "cuda" and not value.is_pinned()
        return is_copied_late and PINNED_FROM <= value.nbytes <= PINNED_UP_TO

    def _staged(self, place: int) -> Staging:
        found = self._staging.get(place)
        if found is None:
            found = self._staging[place] = Staging(self._buffers[place])
        return found

    def _replay_on(self, values: list[Any]) -> None:
        """Replays the launches, which change these values of variables, if they are what was captured and unshared."""
        if not all(home() is value for home, value in zip(self._homes, values, strict=True)) or shared_ones(values):
            raise OutdatedCapture(set())
        self._launches.replay()

    def _own(self, value: Any) -> Any:
        """What stays on the card is copied, also inside of another value: the next replay writes into the buffers."""
        if self._is_here(value):
            return self._entered(value.clone())
        mapped = getattr(value, "mapped", None)  # of an optional
        return value if mapped is None else mapped(self._own)

    def _is_here(self, value: object) -> bool:
        return isinstance(value, torch.Tensor) and value.device == self._device

    def _entered(self, value: torch.Tensor) -> torch.Tensor:
        return value if self._account is None else enter(value, self._account, "CUDA graph")


def _itself(value: object) -> Any:
    return value


def _wanted(plan: Plan, parts: Parts) -> set[int]:
    """The slots that are returned, or that something after the work takes."""
    return set(slots_in(plan.outputs)) | {slot for call in parts.after for slot in slots_in(call.inputs)}


def _results(plan: Plan, parts: Parts) -> list[int]:
    return sorted({slot for call in parts.work for slot in call.outputs} & _wanted(plan, parts))


def shapes_of(values: Sequence[Any]) -> tuple[Any, ...]:
    """The shapes of the values that come in."""
    return tuple([value.shape for value in values])
