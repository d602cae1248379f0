"""The engine of the dynamic placer: a set of devices, and placements for them by predicted time.

Operations are placed when a run first needs them, for that run: its feeds and fetches, and the sizes that were
observed. Runs share variables, so one of them leads:

    init          first, and cheap            variables are placed where they fit
    train step    heavier: it leads now       everything is placed again for it; existing variables move
    evaluation    lighter than the leader     what it shares with the others stays; the rest is placed around that

Nothing moves during a run: a run *enters* the engine and *leaves* it, and placements change only when no run is inside.
Each change starts a new *generation*, for which programs are planned again.

The memory of a placement is estimated by the simulator first, and then by a forecast of its plan
(`runtime.abstract.forecast`), which knows what the runtime reuses and fuses. If the plan does not fit by that, the
search is repeated with a lower limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from situs._src.base.devices.logical import Device
from situs._src.base.dtype import resource, variant
from situs._src.base.errors import OpError
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.function import FunctionGraph
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import STATE
from situs._src.placement import dynamic
from situs._src.placement.assembly import Assembly, Running, assemble
from situs._src.placement.costs.model import Cost, CostModel
from situs._src.placement.costs.store import CostStore, shared_store
from situs._src.placement.costs.work import shape_bytes
from situs._src.placement.dynamic import Choice, Decisions
from situs._src.placement.log import print_assignment
from situs._src.placement.placer import Placement, Preferences, Wish, place
from situs._src.placement.placer_setting import Placer
from situs._src.placement.search.conflict import InfeasibleError
from situs._src.placement.search.plan import Plan
from situs._src.runtime.abstract.forecast import forecast
from situs._src.runtime.abstract.values import Fed
from situs._src.runtime.dynamic.learn import Learned
from situs._src.runtime.dynamic.moving import move_variables
from situs._src.runtime.dynamic.program import AdaptiveProgram, Request
from situs._src.runtime.eager.bridge import home_of
from situs._src.runtime.eager.cuda_memory import work_space
from situs._src.runtime.plan.plan import Placed
from situs._src.runtime.plan.plan import Plan as RunPlan
from situs._src.runtime.plan.prune import producers, prune
from situs._src.runtime.run.capture_regions import recording_of
from situs._src.runtime.run.engine import Engine
from situs._src.runtime.run.program import Program, Way, way_of
from situs._src.runtime.run.state import State
from situs._src.runtime.run.threads import Pool, schedule
from situs._src.runtime.symbolic.reinfer import with_shapes

HEAVIER = 1.5  # how many times longer than the leading run another one must take to lead
ATTEMPTS = 4  # searches for one placement, each with less memory than the last
OF_A_CARD = 0.95  # of its free memory: the allocator fragments it
PIECE = 20 * 2**20  # bytes: the allocator reserves this much of a GPU at a time


class DynamicEngine(Engine):
    """Places the operations of a graph by predicted time, and makes programs from them.

    Args:
        graph: The graph.
        devices: The devices to use, best first.
        placer: The budget and the seed of searches, or a given plan.
        soft: Whether another device may be used if the requested one is not possible.
        log: Whether to print the device of each operation.
        pool: The threads for work that can overlap; None to run everything in the caller's thread.
        default: The device that is preferred among equals.
        pruned: Whether operations that no run needs may be impossible to place.
        swaps: Whether runs may offload values to the host if they do not fit on a GPU.
        ordered: Whether side effects happen in program order, also on a pool.
        fixed: Operations whose devices are given, such as the arguments of a function.
        compiles: Whether to compile programs whose functions leave it open; None for the process-wide setting.
        caller: The device that the scope around a call requests: operations without a request go there if possible.
        state: Returns the state whose variables move with their operations; None if these do not move.
        store: The measured costs; by default those of the user.
    """

    def __init__(
        self,
        graph: Graph,
        devices: Sequence[Device],
        placer: Placer,
        *,
        soft: bool = False,
        log: bool = False,
        pool: Pool | None = None,
        default: Device | None = None,
        pruned: bool = False,
        swaps: bool = False,
        ordered: bool = False,
        fixed: Mapping[Operation, Device] | None = None,
        compiles: bool | None = None,
        caller: Device | None = None,
        state: Callable[[], State] | None = None,
        store: CostStore | None = None,
    ) -> None:
        super().__init__(
            graph,
            devices,
            soft=soft,
            log=log,
            pool=pool,
            default=default,
            pruned=pruned,
            swaps=swaps,
            ordered=ordered,
            fixed=fixed,
            compiles=compiles,
        )
        self.placer = placer
        self.plan: Plan | None = None  # of the leading run
        self.generation = 0
        self.fails_to_record = False  # whether capturing a run as a CUDA graph has failed
        self.store = shared_store() if store is None else store
        self._caller = caller
        self._state = state
        self._decisions: Decisions = {}
        self._seen: dict[Operation, None] = {}
        self._shapes: dict[SymbolicTensor, TensorShape] = {}
        self._held: dict[tuple[str, str], Cost] = {}
        self._leader: Request | None = None
        self._assembly: Assembly | None = None  # the search problem of the leading run
        self._weight = 0.0
        self._running = 0
        self._logged: dict[Operation, Device] = {}
        recordings = {device: recording_of(device) for device in self.devices if device.is_card}
        self._running_as = Running(recordings=recordings, converts=state is not None)

    # Runs in progress.

    def enter(self) -> None:
        """Starts a run: nothing moves until it leaves."""
        with self._lock:
            self._running += 1

    def leave(self) -> None:
        """Ends a run."""
        with self._lock:
            self._running -= 1

    def bring_up_to_date(self, program: AdaptiveProgram) -> None:
        """Plans a program again if the placement has changed since; one thread at a time."""
        with self._lock:
            if program.generation != self.generation:
                program.become(self.planned(program.request), self.generation)

    # Knowledge.

    def expect(self, shapes: Mapping[SymbolicTensor, TensorShape]) -> None:
        """Records shapes that tensors are fed with."""
        with self._lock:
            self._shapes.update(shapes)

    def note(self, learned: Learned) -> None:
        """Records what was learned from a recorded run."""
        with self._lock:
            self._shapes.update(learned.shapes)
            self._held.update(learned.held)

    def model(self) -> CostModel:
        """The costs of operations and copies, as far as known now."""
        return CostModel(self.store, self._held)

    # Placements and programs.

    def placement(self) -> Placement:
        """The device of every operation of the graph, with the reason; by the simple placer if not needed yet."""
        with self._lock:
            found = self._place(self.graph.operations)
            found.plan = self.plan
            self.version = self.graph.placed = self.graph.version
            return found

    def prepare(
        self,
        feeds: Sequence[tuple[SymbolicTensor, Device]],
        results: Sequence[SymbolicTensor],
        targets: Iterable[Operation],
    ) -> None:
        """Places what a run needs whose results stay on their devices."""
        with self._lock:
            self._place_run(Request(tuple(feeds), tuple((tensor, None) for tensor in results), tuple(targets)))

    def program(
        self,
        feeds: Sequence[tuple[SymbolicTensor, Device]],
        fetches: Sequence[tuple[SymbolicTensor, Device]],
        targets: Iterable[Operation] = (),
        roots: Mapping[SymbolicTensor, SymbolicTensor] | None = None,
    ) -> Program:
        """A program that computes `fetches` and runs `targets`, given `feeds`, and times itself."""
        request = Request(tuple(feeds), tuple(fetches), tuple(targets), roots)
        with self._lock:
            self._place_run(request)
            if self.version != self.graph.version:
                self.follow()  # placement errors are raised now, as by the simple placer
            return AdaptiveProgram(self, request)

    def placement_for(
        self,
        feeds: Iterable[tuple[SymbolicTensor, Device]],
        fetches: Iterable[tuple[SymbolicTensor, Device]],
        targets: Iterable[Operation],
    ) -> Placed:
        """The devices of everything that such a run needs."""
        with self._lock:
            request = Request(tuple(feeds), tuple(fetches), tuple(targets))
            self._place_run(request)
            return self._place(_needed(request))

    def planned(self, request: Request) -> RunPlan:
        """The plan of a run, by the current placement."""
        with self._lock:
            return self._planned(request, self._place(_needed(request)))

    def leads(self, request: Request) -> bool:
        """Whether the current placement was made for this run."""
        return self._leader is not None and request.is_like(self._leader)

    def _planned(self, request: Request, placement: Placed) -> RunPlan:
        fetches = [(tensor, home or home_of(placement[tensor.op])) for tensor, home in request.fetches]
        return self._planner.plan(placement, request.feeds, fetches, request.targets, request.roots)

    # Decisions.

    def _place_run(self, request: Request) -> None:
        nodes = _needed(request)
        weight = self._weight_of(nodes)
        if self._leader is not None and weight <= HEAVIER * self._weight:
            if any(node not in self._seen for node in nodes):
                placed = {node: self._placed[node] for node in nodes if node in self._seen}
                self._take(self._decide(request, nodes, placed), nodes)
            return
        held = {} if not self._running else self._homes(nodes)
        choice = self._decide(request, nodes, held)
        self._leader, self._weight = request, weight
        self._take(choice, nodes)
        self._changed()

    def place_again(self, request: Request) -> bool | None:
        """Searches once more for the leading run, with what is known now.

        Returns:
            Whether the placement has changed; None if it could not: another run is in progress, or the better informed
            search finds no room for what runs at present.
        """
        with self._lock:
            if self._running:
                return None
            nodes = _needed(request)
            before = {node: self._placed[node] for node in nodes if node in self._placed}
            try:
                choice = self._decide(request, nodes, {}, before)
            except InfeasibleError:
                return None
            self._take(choice, nodes)
            placement = self._place(nodes)
            if all(placement.device_of(node) is device for node, device in before.items()):
                return False
            self._changed()
            return True

    def place_single(self, request: Request) -> Decisions | None:
        """Puts everything possible on the single device that would do; returns the previous decisions.

        None if that is not possible: another run is in progress, or no device would do.
        """
        with self._lock:
            if self._running or self.plan is None or self.plan.single is None:
                return None
            alone = dynamic.device_named(self.plan.single[0], self.devices)
            before, found = self._decisions, dict[Operation, tuple[Device, tuple[str, str]]]()

            def choose(wishes: Sequence[Wish]) -> Preferences:
                reason = "dynamic", f"measured: quicker on {alone.short_name} alone than over several devices"
                found.update({wish.node: (alone, reason) for wish in wishes if alone in wish.devices})
                return found

            self._placed_by(_needed(request), self._bound(), choose)
            self._decisions = {**before, **self._spread(found)}
            self._changed()
            return before

    def remark(self, *notes: str) -> None:
        """Records how the leading run was placed in the end, and remarks about it."""
        with self._lock:
            if self.plan is None or self._assembly is None:
                return
            nodes = [wish.node for wish in self._assembly.wishes.values()]
            placement = self._place(sorted(nodes, key=lambda node: node.index))
            placed = {node: placement.device_of(node) for node in nodes}
            self.plan = dynamic.noted(dynamic.as_placed(self._assembly, self.plan, placed), *notes)

    def restore(self, decisions: Decisions) -> bool:
        """Restores the previous decisions; False if another run is in progress."""
        with self._lock:
            if self._running:
                return False
            self._decisions = decisions
            self._changed()
            return True

    def _take(self, choice: Choice | None, nodes: Sequence[Operation]) -> None:
        self._seen.update(dict.fromkeys(nodes))
        if choice is not None:
            self._decisions.update(self._spread(choice.decisions))
            if self._leader is not None and set(nodes) >= set(_needed(self._leader)):
                self.plan, self._assembly = choice.plan, choice.assembly
                if self.placer.plan is not None:
                    self.remark()

    def _spread(self, decisions: Decisions) -> Decisions:
        """Decisions for operations, and for those colocated with them, also if only an earlier run has needed them."""
        found = dict(decisions)

        def choose(wishes: Sequence[Wish]) -> Preferences:
            groups = {wish.group: decisions[wish.node] for wish in reversed(wishes) if wish.node in decisions}
            found.update({w.node: groups[w.group] for w in wishes if w.group in groups and w.group is not None})
            return {}

        nodes = sorted({*self._seen, *decisions}, key=lambda node: node.index)
        self._placed_by(nodes, self._bound(), choose)
        return found | decisions

    def _changed(self) -> None:
        """Starts a new generation: variables move to their operations."""
        self.generation += 1
        self.close()  # constants are copied to their devices again
        placement = self._place(sorted(self._seen, key=lambda node: node.index))
        if self._state is not None:
            move_variables(self._state(), {n: placement.device_of(n) for n in self._seen if _has_cell(n)})

    def _decide(
        self,
        request: Request,
        nodes: Sequence[Operation],
        held: Mapping[Operation, Device],
        previous: Mapping[Operation, Device] | None = None,
    ) -> Choice | None:
        """Finds a placement of operations, some of which are fixed; None if there is nothing to choose."""
        free = self._free(nodes)
        running = self._at_first(nodes)
        knows_how = False
        refusal: InfeasibleError | None = None
        choice: Choice | None = None
        for _ in range(ATTEMPTS + 1):
            try:
                choice = self._chosen(request, nodes, held, previous, free, running)
            except InfeasibleError as error:
                if choice is not None:
                    break  # less was allowed than there is, and none is found for that
                if refusal is not None or not free:
                    raise (refusal or error) from None
                refusal = error  # an overestimate may still fit: the forecast decides
                free = {device: size * dynamic.SLACK for device, size in free.items()}
                continue
            if choice is None:
                return None
            plan, over = self._looked_at(request, nodes, held, choice)
            found = running if plan is None else self._as_found(plan, choice, running)
            if found != running and not knows_how:
                running, knows_how = found, True  # once: two ways of running may imply each other
                continue
            if not over or self.placer.plan is not None:
                return choice
            free = {device: max(0.0, size - over.get(device, 0.0)) for device, size in free.items()}
        if refusal is not None:
            raise refusal
        assert choice is not None
        if not over:
            return choice
        worst = ", ".join(f"{device.short_name} by {dynamic.bytes_text(size)}" for device, size in over.items())
        return replace(choice, plan=dynamic.noted(choice.plan, f"the forecast of memory exceeds {worst}"))

    def _chosen(
        self,
        request: Request,
        nodes: Sequence[Operation],
        held: Mapping[Operation, Device],
        previous: Mapping[Operation, Device] | None,
        free: Mapping[Device, float],
        running: Running,
    ) -> Choice | None:
        found: list[Choice] = []
        fetches = [(tensor, home) for tensor, home in request.fetches if home is not None]
        known = with_shapes(nodes, self._shapes)

        whole = self._wishes_of_graph({**self._bound(), **held})

        def choose(wishes: Sequence[Wish]) -> Preferences:
            left = [self._called(whole.get(wish.node, wish)) for wish in wishes]
            forced: Decisions = {
                now.node: (
                    now.devices[0],
                    ("dynamic", "all that the rest of the graph or the caller's scope leaves to it"),
                )
                for before, now in zip(wishes, left, strict=True)
                if len(now.devices) == 1 < len(before.devices)
            }
            self._decisions.update(forced)
            wishes = left
            if self.placer.plan is not None:
                names = (node.name for node in self.graph.operations)
                given = dynamic.follow(self.placer.plan, wishes, self.devices, names)
                made = assemble(
                    wishes, self.devices, self.model(), request.feeds, fetches, known, free, self._shapes, running
                )
                found.append(Choice(given, self.placer.plan, made))
                return given
            if all(len(wish.devices) == 1 for wish in wishes):
                return forced
            found.append(
                dynamic.decide(
                    wishes,
                    self.devices,
                    self.model(),
                    feeds=request.feeds,
                    fetches=fetches,
                    known=known,
                    memory=free,
                    shapes=self._shapes,
                    budget=self.placer.budget,
                    seed=self.placer.seed,
                    previous=previous,
                    running=running,
                )
            )
            return {**forced, **found[0].decisions}

        self._placed_by(nodes, {**self._bound(), **held}, choose)
        return found[0] if found else None

    def _at_first(self, nodes: Sequence[Operation]) -> Running:
        """How a run of operations is assumed to execute before anything is planned."""
        converts = self._running_as.converts and any(
            node.op_def.stateful and STATE not in node.op_def.traits for node in nodes
        )
        return replace(self._running_as, converts=converts)

    def _as_found(self, plan: RunPlan, choice: Choice, running: Running) -> Running:
        """How a run executes: whether it is captured as a CUDA graph, and on how many threads."""
        cards = [device.short_name for device in self.devices if device.is_card]
        forecast = choice.plan.forecast if self.placer.plan is None else self._as_given(choice).forecast
        if not any(forecast.busy.get(name, 0.0) for name in cards):
            return running
        way = way_of(plan, self.pool, self.ordered)
        side_by_side, is_recorded = way is Way.THREADS, way is Way.CAPTURED and not self.fails_to_record
        if running.side_by_side != side_by_side:
            running = replace(running, side_by_side=side_by_side)
        if is_recorded == (forecast.ordering == 0):
            return running
        return replace(running, orders=False) if is_recorded else replace(running, orders=True, recordings={})

    def _as_given(self, choice: Choice) -> Plan:
        """A given plan, as a placement."""
        nodes = [wish.node for wish in choice.assembly.wishes.values()]
        placement = self._placed_by(
            sorted(nodes, key=lambda node: node.index),
            self._bound(),
            lambda wishes: {**self._decided(wishes), **choice.decisions},
        )
        return dynamic.as_placed(choice.assembly, choice.plan, {node: placement.device_of(node) for node in nodes})

    def feeding(self, request: Request) -> float:
        """The predicted seconds for processing the feeds before a run."""
        if not self._at_first(_needed(request)).converts:
            return 0.0
        cost = self.model().feeding(self.devices[-1])
        shapes = {tensor: self._shapes.get(tensor, tensor.shape) for tensor, _ in request.feeds}
        return sum(cost.seconds(shape_bytes(shape, tensor.dtype)) for tensor, shape in shapes.items())

    def _looked_at(
        self, request: Request, nodes: Sequence[Operation], held: Mapping[Operation, Device], choice: Choice
    ) -> tuple[RunPlan | None, dict[Device, float]]:
        """The plan of a run, and by how many bytes it exceeds the devices' free memory; None if there cannot be one."""
        placement = self._placed_by(
            nodes, {**self._bound(), **held}, lambda wishes: {**self._decided(wishes), **choice.decisions}
        )
        kept, self._planner.constants = self._planner.constants, {}
        fed = [Fed(tensor, device, self._shapes.get(tensor, tensor.shape)) for tensor, device in request.feeds]
        try:
            plan = self._planned(request, placement)
            side_by_side = None if self.pool is None else schedule(plan, self.pool, self.ordered)
            rounds = None if side_by_side is None else side_by_side.rounds()
            found = forecast(plan, fed, self._planner.constants, {}, rounds)
        except OpError:
            return None, {}  # the run will raise the error
        finally:
            self._planner.constants = kept
        peaks = {device.name: each.peak for device in self.devices for each in found if each.name == device.name}
        allowed = self._free(nodes)
        for device in allowed:  # a forecast includes workspaces where the allocator does
            if device.is_card and device.account is not None and device.account.meter is not None:
                allowed[device] += work_space(device)
        over = {
            device: peaks[device.name] - size for device, size in allowed.items() if peaks.get(device.name, 0) > size
        }
        return plan, over

    def _free(self, nodes: Sequence[Operation]) -> dict[Device, float]:
        """How much memory a run may take on each device with a limit, its own variables included."""
        own = (
            {}
            if self._state is None
            else self._state().bytes_on(node.attrs["shared_name"] for node in nodes if _has_cell(node))
        )
        free = {}
        for device in self.devices:
            if device.account is None:
                continue
            others = max(0.0, device.account.usage().current - own.get(device, 0))
            if device.is_card:
                sharing = sum(each.physical is device.physical for each in self.devices)
                is_metered = device.account.meter is not None
                free[device] = room_of_card(device.account.limit, others, work_space(device), sharing, is_metered)
            else:
                free[device] = max(0.0, device.account.limit - others)
        return free

    def _weight_of(self, nodes: Sequence[Operation]) -> float:
        """Roughly how long a run takes, wherever it is placed."""
        known, model = with_shapes(nodes, self._shapes), self.model()
        host = self.devices[-1]
        return sum(model.time(known.get(node, node), host).seconds for node in nodes)

    # Placing by the decisions.

    def _place(self, operations: Sequence[Operation]) -> Placement:
        placement = self._placed_by(operations, self._bound(), self._decided)
        for node in operations:
            device = self._placed[node] = placement.device_of(node)
            self._requested.setdefault(node, node.device)
            if self.log and self._logged.get(node) is not device:
                self._logged[node] = device
                print_assignment(node, device)
        return placement

    def _place_inner(self, graph: FunctionGraph, fixed: dict[Operation, Device], holder: Device) -> Placement:
        """Places a graph of an operation: operations without a request go to the device of that operation."""
        return place(graph.operations, self.devices, soft=self.soft, log=self.log, default=holder, fixed=fixed)

    def _placed_by(
        self,
        operations: Sequence[Operation],
        fixed: Mapping[Operation, Device],
        choose: Callable[[Sequence[Wish]], Preferences],
    ) -> Placement:
        return place(operations, self.devices, soft=self.soft, default=self.default, fixed=fixed, choose=choose)

    def _decided(self, wishes: Sequence[Wish]) -> Preferences:
        return {wish.node: self._decisions[wish.node] for wish in wishes if wish.node in self._decisions}

    def _bound(self) -> dict[Operation, Device]:
        """Operations that cannot move: arguments; queues and tables; requests that come too late."""
        staying = {
            node: device
            for node, device in self._placed.items()
            if _is_bound(node) or self._requested.get(node, node.device) != node.device
        }
        return staying | self._fixed

    def _wishes_of_graph(self, fixed: Mapping[Operation, Device]) -> dict[Operation, Wish]:
        """The choices that the whole graph leaves to operations: what a run does not need may pin its variables."""
        found: dict[Operation, Wish] = {}

        def choose(wishes: Sequence[Wish]) -> Preferences:
            found.update({wish.node: wish for wish in wishes})
            return {}

        if not self.pruned:
            self._placed_by(self.graph.operations, fixed, choose)
        return found

    def _called(self, wish: Wish) -> Wish:
        """The choices that the scope around the call leaves to an operation."""
        if self._caller is None or wish.rule != "default" or self._caller not in wish.devices:
            return wish
        return wish._replace(devices=(self._caller,))

    def _homes(self, nodes: Sequence[Operation]) -> dict[Operation, Device]:
        """The devices of variables that a run may be using."""
        return {node: self._placed[node] for node in nodes if _has_cell(node) and node in self._placed}


def room_of_card(limit: float, others: float, library: float, sharing: int, is_metered: bool) -> float:
    """How many bytes a run may use of a logical GPU on a physical GPU.

    The cuBLAS workspace belongs to the physical GPU: its logical GPUs share it, and where its allocator does the
    counting (`is_metered`), the memory in use may include it. They share the allocator too, which reserves memory in
    blocks: the last block may be used only partly.

    >>> room_of_card(1000, 0, 100, 1, True), room_of_card(1000, 100, 100, 1, True)
    (850.0, 850.0)
    >>> room_of_card(160 * 2**20, 0, 32 * 2**20, 2, False) / 2**20
    126.0
    """
    theirs = max(0.0, others - library) if is_metered else others
    piece = 0.0 if is_metered else PIECE / sharing
    return max(0.0, OF_A_CARD * (limit - theirs) - library / sharing - piece)


def _needed(request: Request) -> list[Operation]:
    """The operations of a run, in order."""
    fed = {tensor for tensor, _ in request.feeds}
    return prune([*producers((tensor for tensor, _ in request.fetches), fed), *request.targets], fed)


def _has_cell(node: Operation) -> bool:
    """Whether an operation is a session's variable, which can move."""
    return STATE in node.op_def.traits and node.attrs.get("cell") is None


def _is_bound(node: Operation) -> bool:
    if not node.op_def.stateful:
        return False
    return any(tensor.dtype in (resource, variant) for tensor in (*node.inputs, *node.outputs))
