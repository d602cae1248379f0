"""The engine of the dynamic placer: one set of devices, and placements for them by predicted time.

Operations are placed when a run first needs them, for that run: what it feeds and fetches, and the sizes that it was
seen to have. Runs share variables, so one of them leads:

    init          first, and light            variables get a place where they fit
    train step    heavier: it leads now       all is placed anew for it; variables that are there already move
    evaluation    lighter than the leader     what it shares with the others stays; the rest is placed around that

Nothing is moved while a run goes on: a run *enters* the engine and *leaves* it, and placements change when nobody is
inside. Each change is a new *generation*, for which programs plan themselves again.

The memory of a placement is counted by the simulator first, and then by a forecast of its plan
(`runtime.abstract.forecast`), which knows what the runtime reuses and joins. A plan that does not fit by that is
searched for again, with less room.
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
from situs._src.placement.assembly import Assembly, assemble
from situs._src.placement.costs.model import Cost, CostModel
from situs._src.placement.costs.store import CostStore, shared_store
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
from situs._src.runtime.run.engine import Engine
from situs._src.runtime.run.program import Program
from situs._src.runtime.run.state import State
from situs._src.runtime.run.threads import Pool, schedule
from situs._src.runtime.symbolic.reinfer import with_shapes

HEAVIER = 1.5  # by how much more time a run must take than the one that leads, to lead itself
ATTEMPTS = 4  # searches for one placement, each with less room than the last
OF_A_CARD = 0.95  # of its free memory: the allocator's pieces do not fit without gaps


class DynamicEngine(Engine):
    """Places the operations of a graph by predicted time, and makes programs of them.

    Args:
        graph: The graph.
        devices: The devices to use, best first.
        placer: The budget and the seed of searches, or a plan that is given.
        soft: Whether another device may be taken where the requested one cannot be.
        log: Whether to print where each operation goes.
        pool: The threads for work that can overlap; None to run everything in the caller's thread.
        default: The device that comes first among equals.
        pruned: Whether operations that no run needs may be impossible to place.
        swaps: Whether runs may move values to the host that do not fit on a GPU.
        ordered: Whether effects happen in the order of the program, also on a pool.
        fixed: Operations whose devices are given, such as the arguments of a function.
        compiles: Whether programs are compiled of whose functions nothing is said; None leaves it to the process.
        caller: The device that the scope around a call asks for: what asks for none of its own goes there if it can.
        state: Gives the state whose variables move with their operations; None where these have homes of their own.
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
        self.plan: Plan | None = None  # of the run that leads
        self.generation = 0
        self.store = shared_store() if store is None else store
        self._caller = caller
        self._state = state
        self._decisions: Decisions = {}
        self._seen: dict[Operation, None] = {}
        self._shapes: dict[SymbolicTensor, TensorShape] = {}
        self._held: dict[tuple[str, str], Cost] = {}
        self._leader: Request | None = None
        self._assembly: Assembly | None = None  # what the leader was placed by
        self._weight = 0.0
        self._running = 0
        self._logged: dict[Operation, Device] = {}

    # Who is inside.

    def enter(self) -> None:
        """Begins a run: nothing moves until it leaves."""
        with self._lock:
            self._running += 1

    def leave(self) -> None:
        """Ends a run."""
        with self._lock:
            self._running -= 1

    def bring_up_to_date(self, program: AdaptiveProgram) -> None:
        """Lets a program plan again if the placement has changed since it did; one thread at a time."""
        with self._lock:
            if program.generation != self.generation:
                program.become(self.planned(program.request), self.generation)

    # What is known.

    def expect(self, shapes: Mapping[SymbolicTensor, TensorShape]) -> None:
        """Notes shapes that tensors are fed with."""
        with self._lock:
            self._shapes.update(shapes)

    def note(self, learned: Learned) -> None:
        """Notes what a recorded run has taught."""
        with self._lock:
            self._shapes.update(learned.shapes)
            self._held.update(learned.held)

    def model(self) -> CostModel:
        """What operations and copies cost, as far as it is known now."""
        return CostModel(self.store, self._held)

    # Placements and programs.

    def placement(self) -> Placement:
        """Where every operation of the graph goes, and why; what no run has needed yet, by the simple placer."""
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
        """Places what a run needs whose results stay where they are made."""
        with self._lock:
            self._place_run(Request(tuple(feeds), tuple((tensor, None) for tensor in results), tuple(targets)))

    def program(
        self,
        feeds: Sequence[tuple[SymbolicTensor, Device]],
        fetches: Sequence[tuple[SymbolicTensor, Device]],
        targets: Iterable[Operation] = (),
        roots: Mapping[SymbolicTensor, SymbolicTensor] | None = None,
    ) -> Program:
        """A program that computes `fetches` and runs `targets`, given `feeds`, and looks how long that takes."""
        request = Request(tuple(feeds), tuple(fetches), tuple(targets), roots)
        with self._lock:
            self._place_run(request)
            if self.version != self.graph.version:
                self.follow()  # what cannot be placed is said now, as the simple placer says it
            return AdaptiveProgram(self, request)

    def placement_for(
        self,
        feeds: Iterable[tuple[SymbolicTensor, Device]],
        fetches: Iterable[tuple[SymbolicTensor, Device]],
        targets: Iterable[Operation],
    ) -> Placed:
        """Where everything that such a run needs goes."""
        with self._lock:
            request = Request(tuple(feeds), tuple(fetches), tuple(targets))
            self._place_run(request)
            return self._place(_needed(request))

    def planned(self, request: Request) -> RunPlan:
        """The plan of a run, by the placement that holds now."""
        with self._lock:
            return self._planned(request, self._place(_needed(request)))

    def leads(self, request: Request) -> bool:
        """Whether the placement that holds now was made for this run."""
        return self._leader is not None and request.is_like(self._leader)

    def _planned(self, request: Request, placement: Placed) -> RunPlan:
        fetches = [(tensor, home or home_of(placement[tensor.op])) for tensor, home in request.fetches]
        return self._planner.plan(placement, request.feeds, fetches, request.targets, request.roots)

    # Deciding.

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
        """Searches once more for the run that leads, with what is known now.

        Returns:
            Whether the placement has changed; None where it could not be, because another run goes on.
        """
        with self._lock:
            if self._running:
                return None
            nodes = _needed(request)
            before = {node: self._placed[node] for node in nodes if node in self._placed}
            choice = self._decide(request, nodes, {}, before)
            self._take(choice, nodes)
            placement = self._place(nodes)
            if all(placement.device_of(node) is device for node, device in before.items()):
                return False
            self._changed()
            return True

    def place_single(self, request: Request) -> Decisions | None:
        """Puts all that can be there on the one device that would do; returns what was decided before.

        None where that could not be: another run goes on, or no device would do.
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
        """Notes how the run that leads was placed in the end, and what is to be known of it."""
        with self._lock:
            if self.plan is None or self._assembly is None:
                return
            nodes = [wish.node for wish in self._assembly.wishes.values()]
            placement = self._place(sorted(nodes, key=lambda node: node.index))
            placed = {node: placement.device_of(node) for node in nodes}
            self.plan = dynamic.noted(dynamic.as_placed(self._assembly, self.plan, placed), *notes)

    def restore(self, decisions: Decisions) -> bool:
        """Puts all back to where it was decided to be before; False where another run goes on."""
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
        """Decisions for operations, and for all that must be with them, also if only an earlier run has needed it."""
        found = dict(decisions)

        def choose(wishes: Sequence[Wish]) -> Preferences:
            groups = {wish.group: decisions[wish.node] for wish in reversed(wishes) if wish.node in decisions}
            found.update({w.node: groups[w.group] for w in wishes if w.group in groups and w.group is not None})
            return {}

        nodes = sorted({*self._seen, *decisions}, key=lambda node: node.index)
        self._placed_by(nodes, self._bound(), choose)
        return found | decisions

    def _changed(self) -> None:
        """Begins a new generation: variables go where their operations are."""
        self.generation += 1
        self.close()  # constants are put on their devices anew
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
        """Finds a placement of operations, some of which stay where they are; None where there is nothing to choose."""
        free = self._free(nodes)
        refusal: InfeasibleError | None = None
        for _ in range(ATTEMPTS):
            try:
                choice = self._chosen(request, nodes, held, previous, free)
            except InfeasibleError as error:
                if refusal is not None or not free:
                    raise (refusal or error) from None
                refusal = error  # what counts more than the run will hold may still fit: the forecast decides
                free = {device: size * dynamic.SLACK for device, size in free.items()}
                continue
            if choice is None or self.placer.plan is not None:
                return choice
            over = self._overflow(request, nodes, held, choice)
            if not over:
                return choice
            free = {device: size - over.get(device, 0.0) for device, size in free.items()}
        if refusal is not None:
            raise refusal
        assert choice is not None
        worst = ", ".join(f"{device.short_name} by {dynamic.bytes_text(size)}" for device, size in over.items())
        return replace(choice, plan=dynamic.noted(choice.plan, f"the forecast of memory exceeds {worst}"))

    def _chosen(
        self,
        request: Request,
        nodes: Sequence[Operation],
        held: Mapping[Operation, Device],
        previous: Mapping[Operation, Device] | None,
        free: Mapping[Device, float],
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
                made = assemble(wishes, self.devices, self.model(), request.feeds, fetches, known, free, self._shapes)
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
                )
            )
            return {**forced, **found[0].decisions}

        self._placed_by(nodes, {**self._bound(), **held}, choose)
        return found[0] if found else None

    def _overflow(
        self, request: Request, nodes: Sequence[Operation], held: Mapping[Operation, Device], choice: Choice
    ) -> dict[Device, float]:
        """By how many bytes the run exceeds the devices' free memory, by a forecast of its plan."""
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
            return {}  # the run will say what is wrong with it
        finally:
            self._planner.constants = kept
        peaks = {device.name: each.peak for device in self.devices for each in found if each.name == device.name}
        allowed = self._free(nodes)
        for device in allowed:  # a forecast counts the matrix library where the allocator does
            if device.is_card and device.account is not None and device.account.meter is not None:
                allowed[device] += work_space(device)
        return {
            device: peaks[device.name] - size for device, size in allowed.items() if peaks.get(device.name, 0) > size
        }

    def _free(self, nodes: Sequence[Operation]) -> dict[Device, float]:
        """How much memory a run may take of each device that has a limit, its own variables included."""
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
        """About how long a run takes, wherever it is placed."""
        known, model = with_shapes(nodes, self._shapes), self.model()
        host = self.devices[-1]
        return sum(model.time(known.get(node, node), host).seconds for node in nodes)

    # Placing by what was decided.

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
        """Places a graph that an operation holds: what asks for nothing goes to the device of the holder."""
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
        """Operations that stay where they are: arguments; queues and tables, which cannot move; what asks too late."""
        staying = {
            node: device
            for node, device in self._placed.items()
            if _is_bound(node) or self._requested.get(node, node.device) != node.device
        }
        return staying | self._fixed

    def _wishes_of_graph(self, fixed: Mapping[Operation, Device]) -> dict[Operation, Wish]:
        """What is left to operations by the whole graph: what a run does not need may bind a variable that it does."""
        found: dict[Operation, Wish] = {}

        def choose(wishes: Sequence[Wish]) -> Preferences:
            found.update({wish.node: wish for wish in wishes})
            return {}

        if not self.pruned:
            self._placed_by(self.graph.operations, fixed, choose)
        return found

    def _called(self, wish: Wish) -> Wish:
        """What is left to an operation by the scope around the call."""
        if self._caller is None or wish.rule != "default" or self._caller not in wish.devices:
            return wish
        return wish._replace(devices=(self._caller,))

    def _homes(self, nodes: Sequence[Operation]) -> dict[Operation, Device]:
        """Where variables are now that a run may be using."""
        return {node: self._placed[node] for node in nodes if _has_cell(node) and node in self._placed}


def room_of_card(limit: float, others: float, library: float, sharing: int, is_metered: bool) -> float:
    """How many bytes a run may take of a logical GPU on a card.

    The work space of the matrix library is the card's: logical GPUs that share a card share it, and where the card's
    allocator is what counts (`is_metered`), what is held already may include it.

    >>> room_of_card(1000, 0, 100, 1, True), room_of_card(1000, 100, 100, 1, True), room_of_card(1000, 0, 100, 2, False)
    (850.0, 850.0, 900.0)
    """
    theirs = max(0.0, others - library) if is_metered else others
    return max(0.0, OF_A_CARD * (limit - theirs) - library / sharing)


def _needed(request: Request) -> list[Operation]:
    """The operations of a run, in order."""
    fed = {tensor for tensor, _ in request.feeds}
    return prune([*producers((tensor for tensor, _ in request.fetches), fed), *request.targets], fed)


def _has_cell(node: Operation) -> bool:
    """Whether an operation is a variable of a session, which can move."""
    return STATE in node.op_def.traits and node.attrs.get("cell") is None


def _is_bound(node: Operation) -> bool:
    if not node.op_def.stateful:
        return False
    return any(tensor.dtype in (resource, variant) for tensor in (*node.inputs, *node.outputs))
