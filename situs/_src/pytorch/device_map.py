"""``situs.torch.device_map``: where the parts of an ``nn.Module`` should go, by predicted time and memory.

    trace      one run on tensors without elements                     trace.py
    divide     parts that are placed as wholes, parts that stay together    units.py
    cost       arithmetic and bytes of each part, on each device
    search     the placer's own search; accelerate's map is one of its starting points
    map        names of modules to devices, as ``accelerate.dispatch_model`` and transformers' ``device_map=`` take it

A device map is interpreted by accelerate. A part on ``"cpu"`` or ``"disk"`` next to GPUs computes on the first GPU: its
weights are copied there each time.

    0, 1, ...    weights stay there, ops run there
    "cpu"        beside GPUs: weights in the host's memory, copied over the bus for each run; else ops run there
    "disk"       the same from a disk
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.base.settings import parse_bytes
from situs._src.placement.costs.kinds import CPU_BANDWIDTH, CPU_CALL, GPU_LAUNCH, GPU_STEPS, STEPS_PER_CORE, Speed
from situs._src.placement.costs.model import CARD_LATENCY, PCIE_BANDWIDTH, PEER_BANDWIDTH, estimate
from situs._src.placement.costs.work import Work
from situs._src.placement.search.plan import Plan
from situs._src.placement.search.problem import Device, Link, Node, Objective, Problem, Tensor
from situs._src.placement.search.search import search
from situs._src.placement.summary import bytes_text, summary
from situs._src.pytorch.trace import Trace, trace
from situs._src.pytorch.units import Units, find_units

Where = int | str
CPU, DISK = "cpu", "disk"
DISK_BANDWIDTH = 5e8  # bytes a second
OF_FREE = 0.9  # of what is free now: what a device is given if nothing is said
STREAMS = 2.0 * 1e6 * 128  # arithmetic a second of one multiprocessor and one megahertz


class DeviceMap(dict[str, Where]):
    """Devices by names of modules: a dictionary that accelerate and transformers take as it is.

    Attributes:
        report: What is expected of it, in words.
        plan: What the search found, with all it tried.
    """

    def __init__(self, devices: Mapping[str, Where], plan: Plan, report: str) -> None:
        super().__init__(devices)
        self.plan = plan
        self.report = report


@export("torch.device_map", v1=())
def device_map(
    module: torch.nn.Module,
    example_inputs: Any,
    devices: Sequence[Where | torch.device] | None = None,
    max_memory: Mapping[Where, int | str] | None = None,
    objective: Objective = "step",
    no_split: Iterable[str] = (),
    budget: float = 2.0,
    seed: int = 0,
) -> DeviceMap:
    """Finds devices for the parts of a module, so that a call should take the least time and everything fits.

    The module is traced without computing anything, so it may be on the ``meta`` device, and the devices may be those
    of another machine.

    Args:
        module: The module.
        example_inputs: What it is called with: a tensor, a tuple of arguments, or a dictionary of keywords.
        devices: The devices to use: numbers of GPUs, ``"cpu"``, ``"disk"``; by default those in `max_memory`, or all
            GPUs and the CPU.
        max_memory: How much each may hold, weights and activations together, in bytes or as text such as ``"10GiB"``.
        objective: ``"step"``: the time of one call. ``"max_load"``: that of the busiest device, for pipelines.
        no_split: Classes of modules that must not be split, besides those that the model names itself.
        budget: How many seconds the search may take.
        seed: Where chance begins in it.

    Returns:
        A dictionary for ``accelerate.dispatch_model`` or ``device_map=``, with a ``report``.

    Raises:
        InvalidArgumentError: the module cannot be called so, or does not fit; the message says what is in the way.

    Example:
        >>> import torch, situs.torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
        >>> situs.torch.device_map(model, torch.zeros(2, 8), max_memory={0: "1GiB", "cpu": "4GiB"})
        {'': 0}
    """
    if not isinstance(module, torch.nn.Module):
        raise ArgumentError(f"device_map takes a torch.nn.Module, got {shown(module)}.")
    machine = _machine(devices, max_memory)
    found = trace(module, example_inputs)
    units = find_units(module, found, no_split)
    made = _Builder(found, units, machine)
    seeds = {name: made.spread(seed_map) for name, seed_map in _seeds(module, units, machine, no_split)}
    reserved = 0.0
    while True:
        problem = made.problem(reserved)
        plan = search(problem, objective, budget, seed, seeds=seeds)
        chosen = {unit: machine.names[plan.placement[made.first(unit)]] for unit in units.sizes}
        needed = machine.room_for_offloaded(chosen, units.sizes)
        if needed <= reserved:
            break
        reserved = needed  # the first GPU also takes what is brought to it, a part at a time
    return DeviceMap(_joined(module, chosen), plan, _report(plan, chosen, units, found))


# Devices.


@dataclass(frozen=True)
class _Machine:
    """Devices for a module: what each may hold and how fast it is; the first GPU computes for what is offloaded."""

    where: tuple[Where, ...]
    memory: Mapping[Where, float | None]
    speed: Mapping[Where, Speed]

    @property
    def names(self) -> dict[str, Where]:
        return {str(each): each for each in self.where}

    @property
    def first_card(self) -> Where | None:
        return next((each for each in self.where if isinstance(each, int)), None)

    def is_offload(self, where: Where) -> bool:
        """Whether weights are kept there, while the first GPU computes."""
        return where == DISK or (where == CPU and self.first_card is not None)

    def room_for_offloaded(self, chosen: Mapping[str, Where], sizes: Mapping[str, int]) -> float:
        """What the first GPU needs for the largest part that is brought to it."""
        return max((float(sizes[unit]) for unit, where in chosen.items() if self.is_offload(where)), default=0.0)


def _machine(devices: Sequence[Where | torch.device] | None, limits: Mapping[Where, int | str] | None) -> _Machine:
    given = {_where(key): _bytes(size) for key, size in (limits or {}).items()}
    wanted = list(given) if devices is None else [_where(each) for each in devices]
    if not wanted:
        wanted = [*range(torch.cuda.device_count()), CPU]
    if len(set(wanted)) < len(wanted):
        raise ArgumentError(f"A device stands twice in {shown(wanted)}.")
    if wanted == [DISK]:
        raise ArgumentError("Nothing can be computed on a disk alone: add a GPU or the CPU to `devices`.")
    ordered = sorted(wanted, key=lambda each: (not isinstance(each, int), each == DISK, str(each)))
    memory = {each: given.get(each, _free(each)) for each in ordered}
    return _Machine(tuple(ordered), memory, {each: _speed(each) for each in ordered})


def _where(given: object) -> Where:
    if isinstance(given, torch.device):
        given = str(given)
    if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
        return given
    if given in (CPU, DISK):
        return str(given)
    if isinstance(given, str):
        number = given.removeprefix("cuda:") if given != "cuda" else "0"
        if number.isdecimal():
            return int(number)
    raise ArgumentError(f"A device is the number of a GPU, 'cuda:0', 'cpu' or 'disk'; got {shown(given)}.")


def _bytes(size: object) -> float:
    if isinstance(size, str):
        return float(parse_bytes(size))
    if isinstance(size, bool) or not isinstance(size, (int, float)) or not 0 <= size < float("inf"):
        raise ArgumentError(f"max_memory is in bytes, or text such as '10GiB'; got {shown(size)}.")
    return float(size)


def _free(where: Where) -> float | None:
    """The usable memory of a device of this machine; None if unknown, and for disks."""
    if isinstance(where, int) and where < torch.cuda.device_count():
        return OF_FREE * torch.cuda.mem_get_info(where)[0]
    return None


def _speed(where: Where) -> Speed:
    """How fast a device of this machine is taken to be; a GPU that is not there is taken for a usual one."""
    if not isinstance(where, int):
        return Speed(STEPS_PER_CORE * torch.get_num_threads(), CPU_BANDWIDTH, CPU_CALL)
    steps = GPU_STEPS
    if where < torch.cuda.device_count():
        found = torch.cuda.get_device_properties(where)
        steps = found.multi_processor_count * float(getattr(found, "clock_rate", 0) or 1.5e6) * 1e-3 * STREAMS
    return Speed(steps, steps / 30, GPU_LAUNCH)


# The problem.


class _Builder:
    """Makes a problem of the ops of a run, joined where one unit runs several in a row."""

    def __init__(self, found: Trace, units: Units, machine: _Machine) -> None:
        self.found = found
        self.units = units
        self.machine = machine
        self.segments: list[tuple[str, list[int]]] = []  # a unit, and the ops that it runs one after the other
        for number, unit in enumerate(units.of_op):
            if self.segments and self.segments[-1][0] == unit:
                self.segments[-1][1].append(number)
            else:
                self.segments.append((unit, [number]))
        idle = [unit for unit in units.sizes if unit not in {unit for unit, _ in self.segments}]
        self.segments += [(unit, []) for unit in idle]
        self.weighs: dict[str, int] = {}  # bytes of groups
        for unit, size in units.sizes.items():
            self.weighs[units.group[unit]] = self.weighs.get(units.group[unit], 0) + size
        self._first: dict[str, str] = {}
        self.names = []
        for number, (unit, _) in enumerate(self.segments):
            self.names.append(f"{unit or 'module'} [{number}]")
            self._first.setdefault(unit, self.names[-1])

    def first(self, unit: str) -> str:
        """The node that stands for a unit: it holds the weights."""
        return self._first[unit]

    def spread(self, devices: Mapping[str, Where]) -> dict[str, str]:
        """A placement of units as one of nodes."""
        return {name: str(devices[unit]) for name, (unit, _) in zip(self.names, self.segments, strict=True)}

    def problem(self, reserved: float) -> Problem:
        """The problem, with some room on the first GPU that is not to be used."""
        nodes = tuple(self._node(number) for number in range(len(self.segments)))
        devices = tuple(self._device(where, reserved) for where in self.machine.where)
        calls = sum(op.calls for op in self.found.ops)
        basis = f"{calls} ops traced {'in a run' if self.found.ran_for_real else 'without elements'}, times estimated"
        return Problem(nodes, tuple(self._tensors()), devices, tuple(self._links()), (basis,))

    def _device(self, where: Where, reserved: float) -> Device:
        limit = self.machine.memory[where]
        if limit is not None and where == self.machine.first_card:
            limit = max(0.0, limit - reserved)
        return Device(str(where), "CPU" if where == CPU else "disk" if where == DISK else "GPU", limit)

    def _node(self, number: int) -> Node:
        unit, ops = self.segments[number]
        work = Work(calls=0)
        for each in ops:
            op = self.found.ops[each]
            work += Work(op.steps, op.bytes, int(op.calls))
        holds = self.names[number] == self._first[unit]
        weights = float(self.units.sizes[unit]) if holds else 0.0
        brought = self.units.tensors[unit] if holds and ops else 0
        times = tuple(self._time(where, work, weights if ops else 0.0, brought) for where in self.machine.where)
        group = self.units.group[unit]
        return Node(self.names[number], times, weights, 0.0, group, None if self.weighs[group] else self._real())

    def _real(self) -> tuple[int, ...]:
        """The devices that compute themselves: what has no weights is not offloaded."""
        found = [number for number, where in enumerate(self.machine.where) if not self.machine.is_offload(where)]
        return tuple(found) or tuple(range(len(self.machine.where)))

    def _time(self, where: Where, work: Work, weights: float, tensors: int) -> float:
        """What ops take; the tensors of weights that are offloaded are brought one by one before that."""
        if not self.machine.is_offload(where):
            return estimate(work, self.machine.speed[where])
        card = self.machine.first_card
        computes = self.machine.speed[CPU if card is None and CPU in self.machine.speed else card or where]
        bandwidth = DISK_BANDWIDTH if where == DISK else PCIE_BANDWIDTH
        return estimate(work, computes) + tensors * CARD_LATENCY + weights / bandwidth

    def _tensors(self) -> Iterable[Tensor]:
        segment_of = {op: number for number, (_, ops) in enumerate(self.segments) for op in ops}
        maker: dict[int, int] = {}
        users: dict[int, dict[int, None]] = {}
        for number, op in enumerate(self.found.ops):
            here = segment_of[number]
            for root in {self.found.root[n] for n in op.inputs}:
                if root in maker and maker[root] != here:
                    users.setdefault(root, {})[here] = None
            for n in op.outputs:
                maker.setdefault(self.found.root[n], here)
        results = {self.found.root[n] for n in self.found.results}
        for root, here in maker.items():
            taken = tuple(sorted(user for user in users.get(root, ()) if user > here))
            if taken or root in results:
                yield Tensor(here, float(self.found.sizes[root]), taken)

    def _links(self) -> Iterable[Link]:
        where = self.machine.where
        for source in range(len(where)):
            for target in range(len(where)):
                if source != target:
                    yield self._link(source, target)

    def _link(self, source: int, target: int) -> Link:
        ends = (self.machine.where[source], self.machine.where[target])
        # What is offloaded computes on the first GPU, so that is where its results are.
        real = [self.machine.first_card if self.machine.is_offload(end) else end for end in ends]
        if real[0] == real[1]:
            return Link(source, target)
        bandwidth = PEER_BANDWIDTH if all(isinstance(end, int) for end in real) else PCIE_BANDWIDTH
        return Link(source, target, CARD_LATENCY, 1 / bandwidth, (f"{real[0]} out", f"{real[1]} in"))


# Starting points.


def _seeds(
    module: torch.nn.Module, units: Units, machine: _Machine, no_split: Iterable[str]
) -> Iterable[tuple[str, dict[str, Where]]]:
    yield "fill in definition order", _filled(units, machine)
    theirs = _of_accelerate(module, units, machine, no_split)
    if theirs is not None:
        yield "accelerate", theirs


def _filled(units: Units, machine: _Machine) -> dict[str, Where]:
    """Fills one device after the other, in the order in which units are defined, groups together."""
    totals: dict[str, int] = {}
    for unit, size in units.sizes.items():
        totals[units.group[unit]] = totals.get(units.group[unit], 0) + size
    place: dict[str, Where] = {}
    current, held = 0, 0.0
    for group, size in totals.items():
        while current < len(machine.where) - 1:
            limit = machine.memory[machine.where[current]]
            if limit is None or held + size <= limit:
                break
            current, held = current + 1, 0.0
        place[group] = machine.where[current]
        held += size
    return {unit: place[units.group[unit]] for unit in units.sizes}


def _of_accelerate(
    module: torch.nn.Module, units: Units, machine: _Machine, no_split: Iterable[str]
) -> dict[str, Where] | None:
    """What accelerate would do, if it is installed and finds something for all units."""
    try:
        from accelerate import infer_auto_device_map
    except ImportError:
        return None
    limits = {where: int(size) for where, size in machine.memory.items() if size is not None and where != DISK}
    limits |= {where: 2**62 for where, size in machine.memory.items() if size is None and where != DISK}
    whole = (part for name, part in module.named_modules() if name in units.sizes and next(part.children(), None))
    classes = sorted({*no_split, *(type(part).__name__ for part in whole)})
    log = logging.getLogger("accelerate.utils.modeling")
    level = log.level
    log.setLevel(logging.ERROR)  # it warns of devices that this machine does not have
    try:
        found = infer_auto_device_map(module, max_memory=limits, no_split_module_classes=classes)
    except (ValueError, KeyError, RuntimeError):
        return None  # it gives up on some modules; there are other places to start from
    finally:
        log.setLevel(level)
    place: dict[str, Where] = {}
    for unit in units.sizes:
        name = unit
        while name and name not in found:
            name = name.rpartition(".")[0]
        where = found.get(name)
        if where not in machine.where:
            return None
        place[unit] = where
    for unit in units.sizes:  # what must stay together goes with the first of them
        place[unit] = place[units.group[unit]]
    return place


# The answer.


def _joined(module: torch.nn.Module, chosen: Mapping[str, Where]) -> dict[str, Where]:
    """The map, with a module instead of its parts where these are all on one device."""
    found: dict[str, Where] = {}

    def visit(name: str, part: torch.nn.Module) -> None:
        inside = [unit for unit in chosen if not name or unit == name or unit.startswith(f"{name}.")]
        if not inside:
            return
        if len({chosen[unit] for unit in inside}) == 1:
            found[name] = chosen[inside[0]]
            return
        for own, _ in (*part.named_parameters(recurse=False), *part.named_buffers(recurse=False)):
            full = f"{name}.{own}" if name else own
            if full in chosen:
                found[full] = chosen[full]
        for child_name, child in part.named_children():
            visit(f"{name}.{child_name}" if name else child_name, child)

    visit("", module)
    return found


def _report(plan: Plan, chosen: Mapping[str, Where], units: Units, found: Trace) -> str:
    lines = []
    for where in dict.fromkeys(chosen.values()):
        parts = [unit for unit in units.sizes if chosen[unit] == where]
        lines.append(f"{where}: {len(parts)} parts, {bytes_text(sum(units.sizes[unit] for unit in parts))} of weights")
    return "\n".join([*lines, summary(plan)])
