"""Running graphs that are larger than their GPUs: values that are not needed for a while are offloaded to the host.

The calls of a plan are made one after the other. If one runs out of memory on its device, values there
that it does not use are offloaded, those first that are needed last; then the call is
retried. Offloaded inputs are copied back before a call.

    %1 = MatMul(...)      GPU full
    %2 = Exp(...)         no room: %0, needed at the end, is offloaded
    ...
    %9 = Add(%8, %0)      %0 is copied back, something else offloaded

Variables are offloaded in the same way, and copied back when they are read; feeds and constants stay. This is slower,
and only done on request: with `switch` for all graphs, or in the options of a session.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from situs._src.base import locks
from situs._src.base.budget.ledger import LimitReached
from situs._src.base.devices.logical import Device
from situs._src.base.streams import Again, Position
from situs._src.ir.graph.function import graphs_of, operations_in
from situs._src.ir.registry.traits import BLOCKS, DRAWS
from situs._src.runtime.eager.bridge import home_of
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.eager.execute import verifying
from situs._src.runtime.eager.oom import bytes_asked, exhausted, is_shortage
from situs._src.runtime.eager.torch_private import storage_key
from situs._src.runtime.plan.lifetimes import Lifetimes
from situs._src.runtime.plan.plan import OTHERS_MAY_RUN, Call, Literal, Plan, Slot, Source, slots_in
from situs._src.runtime.run.control_flow import Held
from situs._src.runtime.run.emit import value_of
from situs._src.runtime.run.failure import explained, in_call
from situs._src.runtime.run.offload import Away, View, may_move
from situs._src.runtime.run.state import Run
from situs._src.runtime.run.trace import Recorder
from situs._src.runtime.run.verify import checking


class Switch:
    """Whether all graphs may offload values to the host."""

    on = False


switch = Switch()


def can_swap(plan: Plan) -> bool:
    """Whether a plan uses a GPU, and no call may block on another one of the same run."""
    nodes = [node for call in plan.calls if call.node is not None for node in operations_in(call.node)]
    return any(call.device.account is not None for call in plan.calls) and not any(
        BLOCKS in n.op_def.traits for n in nodes
    )


def run_swapping(plan: Plan, run: Run, values: Sequence[Any], recorder: Recorder | None = None) -> tuple[Any, ...]:
    """Runs a plan, offloading values to the host if they do not fit; returns its fetches.

    Raises:
        OpError: a call failed. One that ran out of memory did so although everything else had been offloaded.
    """
    with _one_more:
        return _Swapping(run, recorder).play(plan, values)


class _Running:
    """How many runs swap at the moment: memory that one of them cannot offload, another may free."""

    def __init__(self) -> None:
        self._lock = locks.lock()
        self.count = 0

    def __enter__(self) -> None:
        with self._lock:
            self.count += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self.count -= 1


_one_more = _Running()
PATIENCE = 10.0  # seconds that a run waits for others to free memory, as TensorFlow's allocator does


class _Frame:
    """The values of one plan while it runs: of a graph, or of a branch inside it."""

    def __init__(self, plan: Plan, values: Sequence[Any]) -> None:
        self.plan = plan
        self.number = 0  # the call that is being made
        self.values: dict[int, Any] = dict(zip(plan.inputs, values, strict=True))  # a `View` if offloaded
        self.cells: dict[Cell, None] = dict.fromkeys(_cells_of(plan))  # and those encountered in the run
        self.lifetimes = Lifetimes(plan)
        self.where = {slot: _home(call, plan) for call in plan.calls for slot in call.outputs}
        kept = [*values, *(source.value for call in plan.calls for source in _literals(call.inputs))]
        self.kept = {_key(value) for value in kept if isinstance(value, torch.Tensor)}  # referenced elsewhere

    def sources(self) -> Sequence[Source]:
        """The inputs of the current call; after the last one, the results of the plan."""
        calls = self.plan.calls
        return calls[self.number].inputs if self.number < len(calls) else self.plan.outputs

    def argument(self, source: Source) -> Any:
        """The value of a source, brought back if it is offloaded."""
        for slot in slots_in([source]):
            value = self.values[slot]
            if isinstance(value, View):
                self.values[slot] = value.bring()
        return value_of(source, self.values)

    def keep(self, call: Call, made: Any) -> None:
        """Stores the results of a call, and frees values that are not used after it."""
        for slot, value in zip(call.outputs, (made,) if call.single else made, strict=True):
            self.values[slot] = value
            if isinstance(value, Cell):
                self.cells[value] = None
        for slot in self.lifetimes.ends[self.number]:
            self.values.pop(slot, None)

    def next_use(self, slot: int) -> int:
        """The next call that takes a slot."""
        uses = self.lifetimes.uses.get(slot, [])
        later = bisect_right(uses, self.number)
        return uses[later] if later < len(uses) else len(self.plan.calls) + 1


@dataclass
class _Group:
    """Values and variables on one device that share their memory."""

    storage_size: int
    use: tuple[int, int]  # when it is needed: nesting depth, and call
    slots: list[tuple[_Frame, int]] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)


_NEVER = (1, 0)  # after everything in any frame: these are (0, call), (-1, call) ..., the innermost first


class _Swapping:
    """One run: the frames of the plans it is in, the outermost first."""

    def __init__(self, run: Run, recorder: Recorder | None) -> None:
        self.run = run
        self.recorder = recorder
        self.frames: list[_Frame] = []
        self.stuck: set[int] = set()  # memory that could not be offloaded

    def play(self, plan: Plan, values: Sequence[Any]) -> tuple[Any, ...]:
        """Runs a plan."""
        frame = _Frame(plan, values)
        self.frames.append(frame)
        try:
            for number, call in enumerate(plan.calls):
                self.run.check()
                frame.number = number
                self._call(frame, call)
            frame.number = len(plan.calls)
            return tuple(self._given(frame))
        finally:
            self.frames.pop()
            frame.values.clear()  # a propagating error holds the frame

    def _call(self, frame: _Frame, call: Call) -> None:
        began = None if self.recorder is None or len(self.frames) != 1 else self.recorder.begin(call)
        arguments = self._given(frame)
        function = self._function(frame, call)
        try:
            made = self._with_room(frame, lambda: function(*arguments), _may_repeat(call), arguments)
        finally:
            arguments.clear()
        if self.recorder is not None and began is not None:
            self.recorder.note(call, began, made)
        frame.keep(call, made)

    def _given(self, frame: _Frame) -> list[Any]:
        """The inputs of a call, or the results of the plan, all on their devices."""
        made: list[Any] = self._with_room(frame, lambda: [frame.argument(source) for source in frame.sources()])
        return made

    def _function(self, frame: _Frame, call: Call) -> Callable[..., Any]:
        """The function to call: a branch or a loop with its plans swapped as well."""
        function = call.function
        if isinstance(function, Held):
            function = function.again(self._inner, lambda move: self._roomy(frame, move))
        if verifying() and frame.plan.as_known:
            function = checking(frame.plan)(frame.number, replace(call, function=function))
        if not call.takes_run:
            return function
        draws = call.node is not None and DRAWS in call.node.op_def.traits
        run: Any = _Repeatable(self.run) if draws else self.run
        return lambda *values: function(run, *values)

    def _inner(self, plan: Plan) -> Callable[..., tuple[Any, ...]]:
        def run_inside(run: Run, *values: Any) -> tuple[Any, ...]:
            around, self.run = self.run, run
            try:
                return self.play(plan, values)
            finally:
                self.run = around

        return run_inside

    def _roomy(self, frame: _Frame, copy: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda value: self._with_room(frame, lambda: copy(value))

    # Making room.

    def _with_room(
        self, frame: _Frame, attempt: Callable[[], Any], may_repeat: bool = True, values: list[Any] | None = None
    ) -> Any:
        """Does something for a call, and retries after making room on a GPU, as long as that helps."""
        give_up = time.monotonic() + PATIENCE
        while True:
            others = _one_more.count > 1  # read before: one that ends meanwhile leaves room
            try:
                return attempt()
            except Exception as error:
                full = _shortage(error, frame) if may_repeat else None
                chosen = [] if full is None else self._chosen(*full)
                waits = full is not None and others and time.monotonic() < give_up
                if full is None or not (chosen or waits):
                    raise _explained(error, frame, values) from None
            # Only now: the error, and with it whatever the call had allocated, is gone.
            for key, group in chosen:
                self._move(key, group, full[0])
            if not chosen:
                time.sleep(0.001)

    def _chosen(self, device: Device, need: int) -> list[tuple[int, _Group]]:
        """What to offload from a device: what is needed last, until that is enough."""
        groups = self._groups(device)
        for key in self._protected():
            groups.pop(key, None)
        chosen: list[tuple[int, _Group]] = []
        for key, group in sorted(groups.items(), key=lambda item: (item[1].use, item[1].storage_size), reverse=True):
            chosen.append((key, group))
            need -= group.storage_size
            if need <= 0:
                break
        return chosen

    def _groups(self, device: Device) -> dict[int, _Group]:
        """What is on a device and can be offloaded, grouped by memory."""
        groups: dict[int, _Group] = {}
        for depth, frame in enumerate(self.frames):
            for slot, value in frame.values.items():
                if frame.where.get(slot) is device and _movable(value):
                    group = groups.setdefault(_key(value), _Group(_size(value), _NEVER))
                    group.slots.append((frame, slot))
                    group.use = min(group.use, (-depth, frame.next_use(slot)))
        for cell, use in self._cells(device).items():
            value = cell.value  # another thread may offload it at any time
            if _movable(value):
                group = groups.setdefault(_key(value), _Group(_size(value), _NEVER))
                group.cells.append(cell)
                group.use = min(group.use, use)
        return groups

    def _cells(self, device: Device) -> dict[Cell, tuple[int, int]]:
        """The variables on a device that this run or its session has, and when the run needs them again."""
        met = [cell for frame in self.frames for cell in frame.cells]
        cells = dict.fromkeys([*self.run.state._cells.values(), *met], _NEVER)
        for depth, frame in enumerate(self.frames):
            for slot, value in frame.values.items():
                if isinstance(value, Cell) and value in cells:
                    cells[value] = min(cells[value], (-depth, frame.next_use(slot)))
        return {cell: use for cell, use in cells.items() if cell.place.device is device}

    def _protected(self) -> set[int]:
        """The memory that must stay: inputs of current calls, and values that are referenced elsewhere."""
        found = set(self.stuck)
        for frame in self.frames:
            found |= frame.kept
            for slot in slots_in(frame.sources()):
                value = frame.values.get(slot)
                value = value.value if isinstance(value, Cell) else value
                if isinstance(value, torch.Tensor):
                    found.add(_key(value))
        return found

    def _move(self, key: int, group: _Group, device: Device) -> None:
        """Offloads everything in one block of memory to the host."""
        values = [cell.value for cell in group.cells] + [frame.values[slot] for frame, slot in group.slots]
        storage = next((v.untyped_storage() for v in values if isinstance(v, torch.Tensor) and _key(v) == key), None)
        del values
        if storage is None:
            return  # another run was faster
        away = Away(storage, device)
        for cell in group.cells:
            value = cell.value
            if value is None or _key(value) != key or not cell.move_out(value, away.view(value).bring):
                self.stuck.add(key)  # another run uses it
        for frame, slot in group.slots:
            frame.values[slot] = away.view(frame.values[slot])


class _Repeatable:
    """A run for a call that may be retried: it draws the same random numbers."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._streams = run.streams
        self._drawn: dict[Any, Again] = {}
        self._inside: dict[Any, _Repeatable] = {}

    @property
    def streams(self) -> _Repeatable:
        """Returns itself: the call asks for its stream through it."""
        return self

    def inside(self, call: object) -> _Repeatable:
        """The same for an operation in a function that another one calls."""
        if call not in self._inside:
            self._inside[call] = _Repeatable(self._run.inside(call))
        return self._inside[call]

    def of(self, node: object, begin: Position) -> Again:
        """The stream of a random operation, at the same position in each retry."""
        if node not in self._drawn:
            self._drawn[node] = Again(self._streams.of(node, begin))
        return self._drawn[node]


def _may_repeat(call: Call) -> bool:
    """Whether a call that ran out of memory has changed nothing."""
    node = call.node
    if node is None:
        return True
    if graphs_of(node):
        return False  # calls inside were retried there, if possible
    return node.op_def.traits.isdisjoint(OTHERS_MAY_RUN) and call.overwrites is None


def _shortage(error: Exception, frame: _Frame) -> tuple[Device, int] | None:
    """The device that ran out of memory, and the missing bytes; None for errors that more memory would not cure."""
    if isinstance(error, LimitReached):
        account = error.account
        return (account.device, error.size + error.held - account.limit) if error.size <= account.limit else None
    return (_device(frame), bytes_asked(error) or 1) if is_shortage(error) else None


def _explained(error: Exception, frame: _Frame, values: list[Any] | None) -> Exception:
    """The error to raise: of a call on its `values`, or of bringing values back."""
    failure = explained(error)
    if values is None and is_shortage(failure):
        failure = exhausted(failure, _device(frame), "Swap")
    if frame.number < len(frame.plan.calls):
        failure = in_call(failure, frame.plan, frame.number, values or [])
    if failure is not error:
        error.__traceback__ = failure.__traceback__ = None  # its frames hold values
    return failure


def _device(frame: _Frame) -> Device:
    """The device of the current call; for results, that of the last call."""
    calls = frame.plan.calls
    return calls[min(frame.number, len(calls) - 1)].device


def _cells_of(plan: Plan) -> list[Cell]:
    """The cells of the eager variables that a plan uses."""
    found = [call.node.attrs.get("cell") for call in plan.calls if call.node is not None]
    return [cell for cell in found if isinstance(cell, Cell)]


def _home(call: Call, plan: Plan) -> Device:
    """The device of the results of a call."""
    return call.device if call.node is None else home_of(plan.assignments[call.node])


def _literals(sources: Iterable[Source]) -> Iterator[Literal]:
    for source in sources:
        if isinstance(source, Literal):
            yield source
        elif not isinstance(source, Slot):
            yield from _literals(source)


def _key(value: torch.Tensor) -> int:
    return storage_key(value.untyped_storage())


def _size(value: torch.Tensor) -> int:
    return value.untyped_storage().nbytes()


def _movable(value: object) -> bool:
    return isinstance(value, torch.Tensor) and may_move(value)
