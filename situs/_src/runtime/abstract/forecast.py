"""The memory use of a run on each device, before it runs.

The calls of a plan are evaluated abstractly (`runtime.abstract.plan`), and the memory of their values is allocated and
freed as it will be in the run: results exist while the inputs still do, and dead values are freed.

    GPU:0    in use before    variables, constants
             + while it runs, at most      the live values at one moment, the *peak*

If a size is known only in the run, the figure is a lower bound and says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from situs._src.base.devices.logical import Device, in_listing_order
from situs._src.base.export import export
from situs._src.ir.graph.origin import line_of
from situs._src.ir.registry.traits import MATRIX_LIBRARY
from situs._src.runtime.abstract.plan import Step, Steps, walk
from situs._src.runtime.abstract.values import AbstractValues, Block, Constants, Fed
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.eager.cuda_memory import work_space
from situs._src.runtime.plan.lifetimes import Lifetimes
from situs._src.runtime.plan.plan import Call, Plan, slots_in

Rounds = Sequence[Sequence[int]]  # numbers of calls
GRAIN = 512  # bytes: PyTorch's allocator on a GPU rounds up to multiples of it


@dataclass(frozen=True)
class Item:
    """An allocation: its operation and op, the line of the program, and the bytes."""

    name: str
    op: str
    line: str
    size: int


@export("memory.DeviceForecast")
@dataclass(frozen=True)
class DeviceForecast:
    """The forecast for one device, in bytes.

    Attributes:
        name: The device's full name.
        peak: The peak memory: of what was there before, and of the run.
        limit: The limit of the device; None for a CPU.
        others: What is in use now for other graphs and eager code; not in `peak`.
        at: The operation at which the peak is reached; None if it is before the first.
        alive: The live values of the run then, largest first.
        persistent: The variables and constants that exist before and after, largest first.
        unknown: What is not in the figure because it is known only in the run.
    """

    name: str
    peak: int
    limit: int | None
    others: int
    at: Item | None
    alive: tuple[Item, ...]
    persistent: tuple[Item, ...]
    unknown: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether the figure is complete; else it is a lower bound."""
        return not self.unknown

    @property
    def fits(self) -> bool:
        """Whether the peak fits on the device, as far as known, besides what is in use now."""
        return self.limit is None or self.peak + self.others <= self.limit

    def to_dict(self) -> dict[str, Any]:
        """The forecast as plain data."""
        return {**asdict(self), "exact": self.exact, "fits": self.fits}


def forecast(
    plan: Plan, fed: Sequence[Fed], constants: Constants, cells: Mapping[str, Cell], rounds: Rounds | None = None
) -> tuple[DeviceForecast, ...]:
    """Forecasts the memory use of a plan on each device.

    Args:
        plan: The plan.
        fed: What is known about the feeds.
        constants: The constants on devices.
        cells: The existing variables of the session, by name.
        rounds: Which calls run in parallel, in order; by default they are sequential.

    Raises:
        OpError: the shapes are incompatible; the error names the operation.
    """
    abstract = AbstractValues(constants, cells.get)
    steps = walk(abstract, plan, [abstract.came(each) for each in fed])
    for cell in cells.values():
        abstract.hold(cell)
    replay = _Replay(abstract)
    replay.keep_work_space({call.device for call in plan.calls if call.node is not None and _multiplies(call)})
    replay.play(steps, rounds)
    return tuple(replay.forecast_of(device) for device in in_listing_order(replay.peaks))


@dataclass(frozen=True)
class _Peak:
    """The peak of a device: how much, after how many allocations and frees, at which call."""

    size: int
    moment: int
    call: Call | None = None
    besides: int = 0  # bytes of the kernel's workspace


class _Replay:
    """Simulates the allocations and frees of a plan's values."""

    def __init__(self, abstract: AbstractValues) -> None:
        self.peaks: dict[Device, _Peak] = {}
        self._unknown = abstract.unknown
        self._held: Counter[Device] = Counter({device: 0 for device, _ in abstract.unknown})
        self._holders: Counter[Block] = Counter()
        self._log: list[tuple[Block, bool]] = []  # allocations and frees
        self._contents = {box: box.first for box in abstract.boxes.values()}
        self._persistent = [block for block in self._contents.values() if block is not None] + abstract.constants
        self._hold(self._persistent)
        self._work_space: dict[Device, int] = {}

    def keep_work_space(self, devices: Iterable[Device]) -> None:
        """Counts the cuBLAS workspaces on GPUs, once they are in use."""
        for device in devices:
            if _sees_kernels(device):
                self._work_space[device] = work_space(device)
                self._held[device] += work_space(device)

    def play(self, steps: Steps, rounds: Rounds | None = None) -> None:
        """Runs a plan, in rounds or sequentially.

        In the end, its results are freed as well: the caller holds them by then.
        """
        uses = {slot: len(calls) for slot, calls in Lifetimes(steps.plan).uses.items()}
        came = [block for value in steps.fed for block in value.blocks()]
        self._hold(came)  # the caller holds them until the end
        self._measure(None)
        alive: dict[int, list[Block]] = {}
        for numbers in rounds or [[number] for number in range(len(steps.steps))]:
            together = [steps.steps[number] for number in numbers]
            for step in together:
                self._step(step)
                alive.update((slot, made.blocks()) for slot, made in zip(step.call.outputs, step.made, strict=True))
            for step in together:
                for slot in _ended(step.call, uses):
                    self._release(alive.pop(slot, ()))
        self._release([*came, *(block for blocks in alive.values() for block in blocks)])

    def _step(self, step: Step) -> None:
        """One call: its results are allocated before anything is freed."""
        for steps in step.inside:
            self.play(steps)
        before = self._held[step.call.device]
        self._hold(block for made in step.made for block in made.blocks())
        self._hold(block for _, new in step.changes for block in new.blocks())
        results = self._held[step.call.device] - before
        self._measure(step.call, max(0, step.meanwhile - results))
        for box, new in step.changes:
            old, self._contents[box] = self._contents.get(box), new.block
            self._release(() if old is None else (old,))

    # Memory.

    def _hold(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            self._holders[block] += 1
            if self._holders[block] == 1:
                self._held[block.device] += _rounded(block)
                self._log.append((block, True))

    def _release(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            self._holders[block] -= 1
            if not self._holders[block]:
                self._held[block.device] -= _rounded(block)
                self._log.append((block, False))

    def _measure(self, call: Call | None, besides: int = 0) -> None:
        for device, held in self._held.items():
            extra = besides if call is not None and call.device is device and _sees_kernels(device) else 0
            if device not in self.peaks or held + extra > self.peaks[device].size:
                self.peaks[device] = _Peak(held + extra, len(self._log), call, extra)

    # The result.

    def forecast_of(self, device: Device) -> DeviceForecast:
        """The forecast for one device."""
        peak = self.peaks[device]
        alive = self._alive(device, peak)
        there = dict.fromkeys(block for block in self._persistent if block.device is device)
        run = [_item(block) for block in alive if block not in there]
        if peak.besides and peak.call is not None:
            run.append(replace(_item_of(peak.call), size=peak.besides, op=f"{_op_of(peak.call)}, for itself"))
        return DeviceForecast(
            device.name,
            peak.size,
            None if device.account is None else device.account.limit,
            max(0, _others(device, there) - self._work_space.get(device, 0)),
            None if peak.call is None else _item_of(peak.call),
            _largest_first(run),
            _largest_first([*map(_item, there), *self._library(device)]),
            tuple(what for where, what in self._unknown if where is device),
        )

    def _library(self, device: Device) -> list[Item]:
        size = self._work_space.get(device)
        return [] if size is None else [Item("", "work space of the matrix library", "", size)]

    def _alive(self, device: Device, peak: _Peak) -> list[Block]:
        alive: dict[Block, None] = {}
        for block, came in self._log[: peak.moment]:
            if block.device is device and came:
                alive[block] = None
            elif block.device is device:
                del alive[block]
        return list(alive)


def _ended(call: Call, uses: dict[int, int]) -> list[int]:
    """The slots that are dead after a call; counts its uses."""
    taken = dict.fromkeys(slots_in(call.inputs))
    for slot in taken:
        uses[slot] -= 1
    return [slot for slot in (*taken, *call.outputs) if not uses.get(slot)]


def _multiplies(call: Call) -> bool:
    return call.node is not None and MATRIX_LIBRARY in call.node.op_def.traits


def _sees_kernels(device: Device) -> bool:
    """Whether a kernel's workspace counts: an allocator sees it, the ledger sees results only."""
    return device.account is not None and device.account.meter is not None


def _rounded(block: Block) -> int:
    return -(-block.size // GRAIN) * GRAIN if _sees_kernels(block.device) else block.size


def _others(device: Device, there: Iterable[Block]) -> int:
    """The memory in use on the device that is not this graph's."""
    if device.account is None:
        return 0
    now = sum(_rounded(block) for block in there if block.is_there)
    current: int = device.account.usage().current
    return max(0, current - now)


def _item(block: Block) -> Item:
    return Item(block.name, block.op, line_of(block.made_at), block.size)


def _item_of(call: Call) -> Item:
    node = call.node or call.reads or (None if call.copies is None else call.copies.op)
    return Item("" if node is None else node.name, _op_of(call), "" if node is None else line_of(node.made_at), 0)


def _op_of(call: Call) -> str:
    if call.node is not None:
        return call.node.type
    return "Read" if call.copies is None else "Copy"


def _largest_first(items: Iterable[Item]) -> tuple[Item, ...]:
    return tuple(sorted(items, key=lambda item: -item.size))
