"""Programs as CUDA graphs: all kernel launches of a run are captured once, and replayed with one launch.

Launching a small kernel takes longer than running it. When a program has run a few times with the same shapes and can
be split by `runtime.run.capture_regions`, the launches of its work are captured:

    feeds  --copy-->  buffers  --replay-->  results  --copy-->  fetches
                       variables in place

A feed is copied from the host directly into its buffer, without other memory on the GPU. It goes through pinned
memory (`runtime.run.staging`), so the copy is asynchronous, and the host does not wait for the previous run.

The memory of a variable is captured directly, without a buffer, for reads and updates. It still belongs
to the variable; the capture holds a weak reference. If a variable has other memory by now, or its value is referenced
elsewhere while the work would update it, the run is executed uncaptured and the program is captured again; a
variable that is only read then gets a buffer, into which its value is copied.

A capture costs as much as many runs. One that is replayed often enough pays for itself; after a few that were not,
the program is not captured any more.

The work may use several logical devices of one GPU, such as the replicas of a strategy. Each has a stream of
its own in the capture (`runtime.run.branches`), and read-only values are not copied between them. The
ledger of each device counts its buffers, its results, and, as long as the capture exists, its part of the
graph's memory (`runtime.run.graph_memory`). If a device runs out of memory, such captures are
freed.

Inputs that differ between runs (random numbers, the next batch) are produced before the replay. A program whose capture
fails runs as before. One thread replays at a time; another one meanwhile runs the program uncaptured.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakSet, ref

import torch

from situs._src.base import locks
from situs._src.base.devices.logical import Device
from situs._src.ir.graph.node import Operation
from situs._src.runtime.eager.allocations import enter, on_release
from situs._src.runtime.eager.bridge import torch_device
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.eager.in_place import Recorded, with_values
from situs._src.runtime.passes.fuse_bias import with_biases
from situs._src.runtime.passes.idioms import with_idioms
from situs._src.runtime.passes.regions import Seen, number_places, why_never
from situs._src.runtime.passes.share_copies import with_shared
from situs._src.runtime.passes.sum_parts import with_sums
from situs._src.runtime.plan.plan import Call, Plan, Slot, Source, slots_in
from situs._src.runtime.run import inductor, staging
from situs._src.runtime.run.background import Beside, Bits, Settled
from situs._src.runtime.run.branches import Branches
from situs._src.runtime.run.capture_regions import Parts, kept_views, parts_of
from situs._src.runtime.run.compiled import Compilation, Known, Wish, refuse, why_not_yet
from situs._src.runtime.run.compiled_region import TRIALS
from situs._src.runtime.run.emit import as_host_value, emit
from situs._src.runtime.run.graph_memory import GraphMemory
from situs._src.runtime.run.state import Run
from situs._src.runtime.run.stream_capture import Launches, Streams

CAPTURED_AFTER = 20  # runs
AGAIN_AFTER = 3  # runs, if captured memory of a variable was replaced: others may be about to change, too
MOST = 8  # captures of one program that did not pay off
PAID = 50  # replays, after which a capture has paid off
FEW = 16  # elements

Function = Callable[..., tuple[Any, ...]]


class CapturedProgram:
    """A program that is captured after a few runs, and then replayed.

    Args:
        plan: The plan.
        parts: Its parts.
        wish: Whether and when to compile its work.

    Attributes:
        after: How many uncaptured runs come first.
    """

    def __init__(self, plan: Plan, parts: Parts, wish: Wish | None = None) -> None:
        self._plan = plan
        self._parts = parts
        self._wish = wish
        self.after = CAPTURED_AFTER if wish is None or wish.beside else min(wish.after, CAPTURED_AFTER)
        self._why_uncompiled = "" if wish is None else why_not_yet(wish, self.after)
        self._settled = Settled(sum(why_never(call) is None for call in parts.work), len(parts.work))
        self._noted: tuple[Plan, Seen] | None = None  # of the captured work
        self._beside: tuple[Captured, Beside[Compilation]] | None = None
        self._adopting: tuple[Captured, Bits] | None = None
        self._is_over = False  # it will not be compiled
        self._compiled_before: Known = {}  # compiled regions, for the next capture
        self._runs = 0
        self._captures = 0
        self._changing: set[int] = set()  # variables whose memory is known to change: they are copied in, like feeds
        self._lock = locks.lock()
        self._functions: tuple[Function, Function] | None = None
        self.captured: Captured | None = None

    def run(self, run: Run, values: Sequence[Any]) -> tuple[Any, ...] | None:
        """Runs the program and returns its fetches; None, with no effect, if the caller should run it normally.

        That is so in the first runs, after captures have failed, and for shapes that were not captured.
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
        """How each operation runs, if the program is compiled, or should be: in which region, or why in none."""
        captured = self.captured
        if self._wish is None:
            joined = {} if captured is None else captured.joined
            return {node: joined.get(node, "kernel") for node in self._plan.assignments} if joined else {}
        known = {} if captured is None or captured.compilation is None else captured.compilation.ways()
        rest = self._why_uncompiled if not known else "not in the work that is recorded as a CUDA graph"
        nodes = ((call.node, why_never(call) or rest) for call in self._plan.calls)
        return {node: known.get(node, f"kernel: {reason}") for node, reason in nodes if node is not None}

    def give_back(self) -> None:
        """Frees a capture whose memory is counted, unless it is in use; the program may be captured again."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if self.captured is not None and self.captured.memory.is_held:
                self._captures -= self.captured.replays >= PAID
                self.captured.let_go()
                self.captured, self._runs = None, 0
        finally:
            self._lock.release()

    def _is_time(self) -> bool:
        if not self._runs and self._wish is not None and not self._wish.beside:
            self._ask_for_compiler(self._wish)
        self._runs += 1
        return self._runs > self.after and self._captures < MOST

    def _ask_for_compiler(self, wish: Wish) -> None:
        lacking = inductor.missing(on_card=True)
        if lacking is not None:
            refuse(lacking, wish)
            self._is_over = True
            self._why_uncompiled = f"no compiler: it needs {lacking}"

    def _emitted(self) -> tuple[Function, Function]:
        """Emits the part before the work, and the rest for uncaptured runs."""
        if self._functions is None:
            plan, parts = self._plan, self._parts
            boundary = parts.boundary
            bring = replace(plan, calls=parts.before, outputs=[Slot(slot) for slot in boundary])
            rest = [call for call in plan.calls if call not in parts.before]
            self._functions = emit(bring).function, emit(replace(plan, calls=rest, inputs=boundary)).function
        return self._functions

    def _replayed(self, run: Run, values: Sequence[Any], brought: Sequence[Any]) -> tuple[Any, ...] | None:
        """The results of a replay; None if it is not possible."""
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
            self.captured, self._runs = None, max(self.after - AGAIN_AFTER, 1)
            return None
        finally:
            self._lock.release()

    def _compile_beside(self, wish: Wish, captured: Captured) -> None:
        """Starts compiling the work in the background when that pays, and adopts the result in slices."""
        if self._adopting is not None:
            self._adopt(captured, *self._adopting)
        elif self._beside is None:
            if not self._settled.now():
                return
            self._ask_for_compiler(wish)
            if not self._is_over and self._noted is not None:
                self._why_uncompiled = "being compiled"
                (work, seen), known = self._noted, self._compiled_before
                self._beside = captured, Beside(lambda: _compiled_beside(work, seen, known))
        elif self._beside[1].is_over:
            origin, beside = self._beside
            self._beside = None
            if beside.made is None:
                self._is_over, self._why_uncompiled = True, f"the compiler failed: {beside.failure}"
            elif origin is captured:  # else there is a newer capture: the compiled code is cached, and tried again
                self._adopting = captured, Bits(captured.adopting(beside.made))

    def _adopt(self, captured: Captured, origin: Captured, bits: Bits) -> None:
        if origin is not captured:
            self._adopting = None
            return
        try:
            bits.go_on()
            self._is_over = bits.is_over
        except Exception as error:  # no memory for copies, for instance: it is captured uncompiled
            self._why_uncompiled = f"compiled, it could not be tried: {type(error).__name__}"
            self._is_over, self.captured = True, None
        if self._is_over:
            self._adopting = None

    def _capture(self, values: Sequence[Any], brought: Sequence[Any]) -> None:
        self._captures += 1
        try:
            captured = Captured(self._plan, self._parts, shapes_of(values), brought, self._changing)
            if self._wish is not None and not self._is_over and inductor.missing(on_card=True) is None:
                if self._wish.beside:
                    self._noted = captured.noted()
                else:
                    captured.compile(exact=not self._wish.asked, known=self._compiled_before)
            captured.record()
            self.captured = captured
            _captured_ones.add(self)
        except Exception as error:  # a kernel that reads its results, for instance
            logging.getLogger("situs").debug("A program was not captured as a CUDA graph: %s", error)
            self._captures = MOST


_captured_ones: WeakSet[CapturedProgram] = WeakSet()


def _give_back() -> None:
    """Frees captures: a device is out of memory, and each of them holds the memory of a run."""
    for program in list(_captured_ones):
        program.give_back()


on_release.append(_give_back)


def _compiled_beside(work: Plan, seen: Seen, known: Known) -> Compilation:
    return Compilation(work, seen, exact=True, in_trial=False, known=known, may_refuse=False, beside=True)


def capturing(plan: Plan, wish: Wish | None = None) -> CapturedProgram | None:
    """A captured program for a plan, if it can be captured; its work is compiled first, if requested."""
    parts = parts_of(plan)
    if isinstance(parts, Parts):
        return CapturedProgram(plan, parts, wish)
    if any(call.device.is_card for call in plan.calls):
        logging.getLogger("situs").debug("A program will not be captured as a CUDA graph: %s.", parts)
    return None


def may_capture(plan: Plan) -> bool:
    """Whether `capturing` returns a program for a plan."""
    return isinstance(parts_of(plan), Parts)


class OutdatedCapture(Exception):  # noqa: N818 -- it never leaves the program
    """A variable has other memory than was captured, or a reference to it must not see it change."""

    def __init__(self, changed: set[int]) -> None:
        super().__init__()
        self.changed = changed


class Captured:
    """A program captured for certain shapes.

    Args:
        plan: The plan.
        parts: Its parts.
        shapes: The shapes of the feeds.
        brought: The values at the boundary of the parts, in the current run.
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
        self._device = torch_device(parts.devices[0])
        self._launches = Launches(self._device)
        self.memory = GraphMemory(parts.devices)
        results = _results(plan, parts)
        self._homes_of = _homes(plan, parts)
        self._outputs = [_only_slot(source) for source in plan.outputs]
        copied = kept_views(parts, set(results))
        work = [self._on_memory(call, copied) for call in parts.work]
        self._whole = replace(plan, calls=work, inputs=parts.incoming, outputs=[Slot(slot) for slot in results])
        self._numbers = {call: number for number, call in enumerate(plan.calls)}
        shared = with_shared(work, parts.states, parts.sizes, plan.assignments)
        fused = with_idioms(shared, results, plan.slots)
        known = plan.assignments | fused.placed
        summed = with_sums(fused.calls, results, known, is_recorded=True)
        joined = with_biases(summed, results)
        self._work = self._emitted(replace(self._whole, calls=joined, slots=fused.slots, assignments=known))
        self.joined = fused.names
        self.compilation: Compilation | None = None
        passed = sorted(set(parts.boundary) & _wanted(plan, parts))
        self._passed = [parts.boundary.index(slot) for slot in passed]
        self._fetch = emit(replace(plan, calls=parts.after, inputs=[*results, *passed])).function
        self._take(brought, changing | copied)
        self._changes = False  # whether updates of variables take effect
        self._trial: list[Any] | None = None  # inputs of trial runs: copies of the variables that it updates
        self._results: tuple[Any, ...] = ()
        self.replays = 0

    # Inputs.

    def _take(self, brought: Sequence[Any], buffered: set[int]) -> None:
        """Takes the inputs: cells, values of variables, and buffers for everything else."""
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
        self._may_change = [slot in parts.reads or slot in parts.arrivals for slot in copied]
        fed = [brought[number] for number in self._copied]
        arriving = [place for place, slot in enumerate(copied) if slot in parts.arrivals and _is_of_host(fed[place])]
        filled = [place for place, buffer in enumerate(self._buffers) if not buffer.is_meta]
        self._direct = filled  # the places of inputs that are copied directly into their buffers
        self._staging = self._staged(arriving) if staging.crosses(self._device) else None
        self._shapes = shapes_of(self._buffers)
        cells: list[Cell] = [brought[number] for number in self._states]
        for cell in cells:
            cell.is_recorded = True
        self._memory = Recorded([cell.read() for cell in cells])

    def _source(self, slot: int) -> int:
        """The slot of the value that is copied into a buffer of the work."""
        arrival = self._parts.arrivals.get(slot)
        return slot if arrival is None else slots_in(arrival.inputs)[0]

    def _buffer(self, slot: int, value: Any) -> torch.Tensor:
        arrival = self._parts.arrivals.get(slot)
        if slot in self._parts.measured and arrival is None:
            return torch.empty(value.shape, dtype=torch.uint8, device="meta")  # only its shape is used
        made = value if arrival is None else arrival.function(value)
        if not self._is_here(made):
            raise TypeError("something that comes in does not lie on the card")
        return self._entered(made.clone(), slot) if arrival is None else made  # an arrival is not referenced elsewhere

    def _staged(self, arriving: list[int]) -> staging.Staging | None:
        """Stages host values for their buffers; small ones get new buffers then, in one block."""
        sizes = {place: self._buffers[place].nbytes for place in arriving}
        small = [place for place in arriving if 0 < sizes[place] < staging.SMALL_UP_TO]
        large = [place for place in arriving if staging.SMALL_UP_TO <= sizes[place] <= staging.LARGE_UP_TO]
        self._direct = [place for place in self._direct if place not in {*small, *large}]
        block = None
        if small:
            block = staging.Block([self._buffers[place] for place in small], self._room)
            for place, part in zip(small, block.parts, strict=True):
                self._buffers[place] = part.copy_(self._buffers[place])
        if not small and not large:
            return None
        pair = None if block is None else (block, small)
        return staging.Staging(pair, {place: self._buffers[place] for place in large})

    def _room(self, size: int) -> torch.Tensor:
        return self._entered(torch.empty(size, dtype=torch.uint8, device=self._device), None)

    def _incoming(self) -> list[Any]:
        """The inputs of the work, in order."""
        named = dict(zip(self._state_slots, self._memory.homes, strict=True))
        named.update(zip((slot for slot, _ in self._borrowed), self._lent, strict=True))
        buffers = iter(self._buffers)
        return [named[slot]() if slot in named else next(buffers) for slot in self._parts.incoming]

    # The work.

    def _on_memory(self, call: Call, copied: set[int]) -> Call:
        """A call of the work as it is captured: it takes the memory of variables instead of their cells."""
        if call.reads is not None:
            return replace(call, function=torch.clone if call.outputs[0] in copied else _itself)
        if call.copies is not None and self._parts.sizes.issuperset(slots_in(call.inputs)):
            return replace(call, function=self._filled)
        function = getattr(call.function, "on_memory", None)
        if function is None:
            return call
        return replace(call, function=self._when_it_counts(function, number_places(call)))

    def _when_it_counts(self, function: Function, numbers: Collection[int]) -> Callable[..., Any]:
        def change(*values: Any) -> Any:
            return function(*values) if self._changes else values[0]

        change.on_memory, change.numbers = function, numbers  # type: ignore[attr-defined]  # for a compiler
        return change

    def _emitted(self, work: Plan) -> Function:
        """Work as a function; that of several logical devices is enqueued on as many streams."""
        counted = replace(work, calls=[self.memory.noting(call) for call in work.calls])
        devices = self._parts.devices
        if len(devices) == 1:
            return emit(counted).function
        return Branches(counted, devices, self._parts.sizes, Streams(self._device, len(devices)))

    def _filled(self, value: torch.Tensor) -> torch.Tensor:
        """A few numbers, known from shapes, on the GPU: they become constants of the launches."""
        if value.numel() > FEW:
            raise TypeError("too many numbers to bring to the card while capturing")
        made = torch.empty(value.shape, dtype=value.dtype, device=self._device)
        for place, number in zip(made.view(-1), value.reshape(-1).tolist(), strict=True):
            place.fill_(number)
        return made

    def record(self) -> None:
        """Captures the launches of the work."""
        self._changes = self._trial is not None  # of copies; without them, updates are left out
        self._launches.prepare(self._tried(self._work))
        self._trial = None
        self._changes = True
        self._results = self.memory.noted(lambda: self._launches.record(lambda: self._work(None, *self._incoming())))

    # The work, compiled.

    def compile(self, exact: bool, known: Known) -> None:
        """Compiles the work before it is captured, and uses the compiled code if it is faster.

        Args:
            exact: Whether fused values are rounded after each op.
            known: The cache of compiled regions, which this adds to.
        """
        whole, seen = self.noted()
        for _ in self._trying(Compilation(whole, seen, exact, in_trial=False, known=known, may_refuse=False)):
            pass

    def noted(self) -> tuple[Plan, Seen]:
        """The work as a plan, and the layouts of a trial run; it has no effect."""
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

    def adopting(self, compilation: Compilation) -> Iterator[None]:
        """Replaces captured work by compiled work, if it is faster, and captures that.

        It yields where the program may continue: the old capture stays valid until the end.
        """
        yield from self._trying(compilation)
        if self._trial is not None:
            self._launches = Launches(self._device)
            self.record()

    def _trying(self, compilation: Compilation) -> Iterator[None]:
        """Replaces work by compiled work, if it is faster; it is not captured yet."""
        self.compilation = compilation
        if not compilation.regions:
            return
        compiled = self._emitted(compilation.plan)
        self._try_on_copies()
        for _ in range(2):  # the first is compared, in the second Triton autotunes
            Launches(self._device).prepare(self._tried(compiled))
            yield
        times: list[float] = []
        for work in (compiled, self._work):
            launches, held = self._recorded(work)
            yield
            times.append(self._milliseconds(launches))
            del launches, held
            yield
        if times[0] <= times[1]:
            self._work = compiled
        else:
            compilation.drop(f"slower compiled, {times[0]:.3g} against {times[1]:.3g} ms")
            self._trial = None

    def _try_on_copies(self) -> None:
        """Makes the work update copies of variables until it is captured: compiled code cannot leave updates out."""
        pairs = zip(self._parts.incoming, self._incoming(), strict=True)
        self._trial = [value.clone() if slot in self._state_slots else value for slot, value in pairs]
        self._changes = True

    def _tried(self, work: Function) -> Callable[[], tuple[Any, ...]]:
        """Some work as a function without arguments and side effects."""
        return lambda: work(None, *(self._incoming() if self._trial is None else self._trial))

    def _in_order(self) -> list[Call]:
        """The calls of the work with dependencies numbered within the work, rather than within the plan."""
        now = {self._numbers[call]: number for number, call in enumerate(self._parts.work)}
        pairs = zip(self._whole.calls, self._parts.work, strict=True)
        return [replace(call, after=[now[n] for n in old.after if n in now]) for call, old in pairs]

    def _recorded(self, work: Function) -> tuple[Launches, tuple[Any, ...]]:
        """Captures some work on copies of variables; also returns its results, to be kept alive meanwhile."""
        launches = Launches(self._device)
        launches.prepare(self._tried(work))
        return launches, launches.record(self._tried(work))

    def _milliseconds(self, launches: Launches) -> float:
        """The best time of captured work."""
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
        return min(found[1:])

    # Running it.

    def run(self, run: Run, brought: Sequence[Any]) -> tuple[Any, ...] | None:
        """Replays the launches and returns the fetches; None if an input has another shape.

        Raises:
            OutdatedCapture: a variable has other memory than was captured, or its value is referenced elsewhere.
        """
        fed = [brought[number] for number in self._copied]
        if shapes_of(fed) != self._shapes:
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
        return tuple([self._own(value, slot) for value, slot in zip(made, self._outputs, strict=True)])

    def let_go(self) -> None:
        """Frees the memory of the graph at once; it cannot be replayed any more."""
        self._results, self._buffers = (), []
        self._staging = None
        del self._launches
        self.memory.let_go()

    def _copy_in(self, fed: list[Any]) -> None:
        """Fills the buffers; unchanged values are not copied again, unless their memory may have changed."""
        if self._staging is not None:
            self._staging.send(fed)
        for place in self._direct:
            value = fed[place]
            if value is not self._seen[place]:
                self._buffers[place].copy_(value, non_blocking=True)
                if not self._may_change[place]:
                    self._seen[place] = value

    def _replay_on(self, values: list[Any]) -> None:
        """Replays the launches, which update these values of variables, if they are the captured ones and unshared."""
        if not self._memory.is_alone_with(values):
            raise OutdatedCapture(set())
        self._launches.replay()

    def _own(self, value: Any, slot: int | None) -> Any:
        """Copies results that stay on the GPU, also inside composites: the next replay overwrites the buffers."""
        if self._is_here(value):
            return self._entered(value.clone(), slot)
        mapped = getattr(value, "mapped", None)  # of an optional
        return value if mapped is None else mapped(lambda part: self._own(part, slot))

    def _is_here(self, value: object) -> bool:
        return isinstance(value, torch.Tensor) and value.device == self._device

    def _entered(self, value: torch.Tensor, slot: int | None) -> torch.Tensor:
        """A value, counted for the device of its slot."""
        home = self._parts.devices[0] if slot is None else self._homes_of.get(slot, self._parts.devices[0])
        return value if home.account is None else enter(value, home.account, "CUDA graph")


def _homes(plan: Plan, parts: Parts) -> dict[int, Device]:
    """The logical devices of the GPU that slots are on: where they are produced, or where the work takes them."""
    here = set(parts.devices)
    calls = [call for call in [*parts.work, *plan.calls] if call.device in here]
    taken = {slot: call.device for call in calls if call.copies is None for slot in slots_in(call.inputs)}
    return taken | {slot: call.device for call in calls for slot in call.outputs}


def _only_slot(source: Source) -> int | None:
    return source.number if isinstance(source, Slot) else None


def _is_of_host(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type == "cpu"


def _itself(value: object) -> Any:
    return value


def _wanted(plan: Plan, parts: Parts) -> set[int]:
    """The slots that are returned, or used after the work."""
    return set(slots_in(plan.outputs)) | {slot for call in parts.after for slot in slots_in(call.inputs)}


def _results(plan: Plan, parts: Parts) -> list[int]:
    return sorted({slot for call in parts.work for slot in call.outputs} & _wanted(plan, parts))


def shapes_of(values: Sequence[Any]) -> tuple[Any, ...]:
    """The shapes of the incoming values."""
    return tuple([value.shape for value in values])
