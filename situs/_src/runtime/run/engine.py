"""The engine: a set of devices and options, and the placements and programs for them.

A session has one for its graph, and so has each ``tf.function``. When the graph has
grown, the whole graph is placed again, but operations with state keep their device.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from situs._src.base import locks
from situs._src.base.devices.logical import Device
from situs._src.base.errors import OpError
from situs._src.ir.graph.function import FunctionGraph
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.placement.placer import Placement, place
from situs._src.runtime import watch
from situs._src.runtime.plan.plan import Literal, Placed
from situs._src.runtime.plan.planner import Planner
from situs._src.runtime.plan.prune import producers, prune
from situs._src.runtime.run.program import Program
from situs._src.runtime.run.threads import Pool


class Engine:
    """Places the operations of a graph and makes programs from them.

    Args:
        graph: The graph.
        devices: The devices to use, best first.
        soft: Whether another device may be used if the requested one is not possible.
        log: Whether to print the device of each operation.
        pool: The threads for work that can overlap; None to run everything in the caller's thread.
        default: The device for operations that request none, if it can run them.
        pruned: Whether to place only what a run needs, rather than the whole graph.
        swaps: Whether runs may offload values to the host if they do not fit on a GPU.
        ordered: Whether side effects happen in program order, also on a pool.
        fixed: Operations whose devices are given, such as the arguments of a function.
        compiles: Whether to compile programs whose functions leave it open; None for the process-wide setting.
    """

    def __init__(
        self,
        graph: Graph,
        devices: Sequence[Device],
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
    ) -> None:
        self.compiles = compiles
        self.graph = graph
        self.devices = devices
        self.soft = soft
        self.log = log
        self.pool = pool
        self.default = default
        self.pruned = pruned
        self.swaps = swaps
        self.ordered = ordered
        self._lock = locks.rlock()
        self._fixed = dict(fixed or {})
        self._placed: dict[Operation, Device] = {}
        self._requested: dict[Operation, str] = {}  # the request when an operation was first placed
        self._placement: Placement | None = None
        self.version = -1  # how much of the graph has been placed
        self._planner = Planner(self._place_inner, side_by_side=self.pool is not None)

    @property
    def constants(self) -> Mapping[tuple[Operation, Device], Literal]:
        """The constants on devices, shared by all plans."""
        return self._planner.constants

    def placement(self) -> Placement:
        """The device of every operation of the graph, with the reason."""
        with self._lock:
            if self._placement is None or self.version != self.graph.version:
                operations = self.graph.operations
                self._placement = self._place(operations)
                self.version = self.graph.placed = len(operations)
            return self._placement

    def follow(self) -> None:
        """Places what was added to the graph since; does nothing if only what a run needs is placed.

        Raises:
            InvalidArgumentError: something cannot be placed. Every run fails until that is fixed, as in TensorFlow.
        """
        if self.pruned:
            self.version = self.graph.placed = self.graph.version
        else:
            self.placement()

    def program(
        self,
        feeds: Sequence[tuple[SymbolicTensor, Device]],
        fetches: Sequence[tuple[SymbolicTensor, Device]],
        targets: Iterable[Operation] = (),
        roots: Mapping[SymbolicTensor, SymbolicTensor] | None = None,
    ) -> Program:
        """A program that computes `fetches` and runs `targets`, given `feeds`; `Planner.plan` says what `roots` are."""
        targets = list(targets)
        with self._lock:
            placement = self.placement_for(feeds, fetches, targets)
            plan = self._planner.plan(placement, feeds, fetches, targets, roots)
            return Program(plan, self.pool, self.swaps, self.ordered, self.compiles)

    def placement_for(
        self,
        feeds: Iterable[tuple[SymbolicTensor, Device]],
        fetches: Iterable[tuple[SymbolicTensor, Device]],
        targets: Iterable[Operation],
    ) -> Placed:
        """The devices of everything that such a run needs."""
        if not self.pruned:
            return self.placement()
        fed = {tensor for tensor, _ in feeds}
        return self._place(prune([*producers((tensor for tensor, _ in fetches), fed), *targets], fed))

    def close(self) -> None:
        """Frees the constants on devices; runs in progress keep theirs."""
        with self._lock:
            self._planner.constants = {}

    def _place(self, operations: Sequence[Operation]) -> Placement:
        fixed = {node: device for node, device in self._placed.items() if self._stays(node)} | self._fixed
        placement = self._placed_with(operations, fixed)
        for node in operations:
            self._placed[node] = placement.device_of(node)
            self._requested.setdefault(node, node.device)
        return placement

    def _stays(self, node: Operation) -> bool:
        """Whether an operation keeps its device: it has state there, or was asked to move too late."""
        return node.op_def.stateful or self._requested[node] != node.device

    def _place_inner(self, graph: FunctionGraph, fixed: dict[Operation, Device], holder: Device) -> Placement:
        """Places a graph of an operation by the rules of this engine, whatever the operation's device."""
        return self._placed_with(graph.operations, fixed)

    def _placed_with(self, operations: Sequence[Operation], fixed: dict[Operation, Device]) -> Placement:
        try:
            return place(operations, self.devices, soft=self.soft, log=self.log, default=self.default, fixed=fixed)
        except OpError as error:
            if watch.watcher is not None:
                node = error.op
                known = (node.name, node.device) if isinstance(node, Operation) else ("", "")
                watch.watcher.refused(*known, error)
            raise
