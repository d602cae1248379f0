"""Partial runs: fetch something, look at it, feed something else, continue.

The results of an operation are kept for later parts, so that every operation runs at most once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from situs._src.base.devices.logical import Device
from situs._src.base.errors import InternalError, InvalidArgumentError
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.runtime.eager.bridge import Value, copier, home_of, host
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.plan.prune import producers, prune
from situs._src.runtime.run.engine import Engine
from situs._src.runtime.run.state import Run
from situs._src.runtime.session.fetches import Fetches


class PartialRun:
    """The state of a partial run; the result of ``partial_run_setup``."""

    def __init__(self, engine: Engine, run: Run, fetches: Sequence[Any], feeds: Sequence[SymbolicTensor]) -> None:
        self._engine = engine
        self._run = run
        self._fetches, self._feeds = frozenset(fetches), frozenset(feeds)
        self._open_fetches, self._open_feeds = set(fetches), set(feeds)
        self._known: dict[SymbolicTensor, tuple[Device, Value]] = {}  # values, and the cells of variables
        self._roots: dict[SymbolicTensor, SymbolicTensor] = {}  # whose cells they are
        self._ran: set[Operation] = set()

    def advance(self, wanted: Fetches, fed: dict[SymbolicTensor, Value]) -> list[Value]:
        """Runs one part: the values of its fetches.

        Raises:
            InvalidArgumentError: something was fetched or fed that was not announced, or twice.
        """
        _check_open(self._open_feeds, self._feeds, fed, "fed")
        _check_open(self._open_fetches, self._fetches, wanted.elements, "fetched")
        self._open_feeds.difference_update(fed)
        self._known.update((tensor, (host(), value)) for tensor, value in fed.items())
        targets = [node for node in wanted.operations if node not in self._ran]
        self._compute([t for t in wanted.tensors if t not in self._known], targets)
        self._open_fetches.difference_update(wanted.elements)  # not before: a part that fails can be tried again
        return [self._on_host(tensor) for tensor in wanted.tensors]

    def _compute(self, tensors: list[SymbolicTensor], targets: list[Operation]) -> None:
        known = self._known
        nodes = [n for n in prune([*producers(tensors, known), *targets], known) if n not in self._ran]
        placement = self._engine.placement_for([(tensor, device) for tensor, (device, _) in known.items()], (), nodes)
        made = [t for node in nodes for t in node.outputs if not t.is_ref and t not in known]
        where = [home_of(placement[tensor.op]) for tensor in made]
        feeds = [(tensor, device) for tensor, (device, _) in known.items()]
        program = self._engine.program(feeds, list(zip(made, where, strict=True)), nodes, self._roots)
        values = program.run(self._run, [value for _, value in known.values()])
        known.update((t, (d, v)) for t, d, v in zip(made, where, values, strict=True))
        for tensor in [t for node in nodes for t in node.outputs if t.is_ref and t not in known]:
            self._keep_state(tensor, placement[tensor.op].device)
        self._ran.update(nodes)

    def _keep_state(self, tensor: SymbolicTensor, device: Device) -> None:
        """Keeps the cell behind the state that an operation has updated, so that it does not run again for it."""
        root = tensor
        while changed := [source for source in root.op.inputs if source.is_ref]:
            root = changed[0]
        cell = root.op.attrs["cell"]
        self._known[tensor] = device, cell or self._run.state.cell(root.op.attrs["shared_name"], _no_cell)
        self._roots[tensor] = root

    def _on_host(self, tensor: SymbolicTensor) -> Value:
        device, value = self._known[tensor]
        if tensor.is_ref:
            value = value.read()
        copy = copier(device, host())
        return value if copy is None else copy(value)


def _check_open(still_open: set[Any], announced: frozenset[Any], given: Iterable[Any], done: str) -> None:
    for element in given:
        if element not in announced:
            raise InvalidArgumentError(f"{element.name} was not specified in partial_run_setup.")
        if element not in still_open:
            raise InvalidArgumentError(f"{element.name} has already been {done}.")


def _no_cell() -> Cell:
    raise InternalError("A variable was changed in a part of a run, and has no cell after it.")
