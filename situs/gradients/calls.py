"""Calls of graphs under a tape: run with what the way back needs, and recorded as one op.

    forward     the graph's program, which returns the results and the values that the gradient needs
    backward    another graph, around which the first one lies: the tensors it takes from there are those values

Both are made once for each graph. The backward graph is called like any other, so it is recorded too where an outer tape asks
for gradients of gradients.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from situs.devices import threads
from situs.devices.inventory import process
from situs.devices.logical import Device
from situs.devices.scope import here
from situs.eager.bridge import place
from situs.eager.tape import Record, Tape, has_gradient, key_of
from situs.eager.tensor import EagerTensor, wrap
from situs.execution.control import effects_of, home_of
from situs.execution.engine import Engine
from situs.execution.parallel import shared_pool
from situs.execution.state import Run, State
from situs.gradients.graph import differentiate
from situs.graph.context import as_default
from situs.graph.function import FunctionGraph
from situs.graph.tensor import SymbolicTensor
from situs.ops.constant import zeros
from situs.placement import options
from situs.registry.op import op
from situs.tensor import read
from situs.variables.capture import captured_in, captured_variable

_called = op("FunctionCall", "inputs: any* -> outputs: any*")  # what records of calls are records of


class GraphCall:
    """A graph that is called by eager code while a tape records.

    Args:
        graph: The graph; its arguments and what it takes from around it are its inputs.
        state: The state that its operations work on.
        name: What errors call it.
    """

    def __init__(self, graph: FunctionGraph, state: State, name: str) -> None:
        self.graph = graph
        self.name = name
        self._state = state
        self._inputs = [*graph.arguments, *graph.captures.values()]
        self._variables = [variable for variable in captured_in(graph) if has_gradient(variable.dtype)]
        self._backward: _Backward | None = None
        self._engines: dict[Any, Engine] = {}
        self._programs: dict[Any, Any] = {}
        self._lock = threading.RLock()

    def __call__(self, tensors: Sequence[EagerTensor]) -> list[EagerTensor]:
        """Runs the graph on tensors, one for each input, and records it on the tapes that watch one of them."""
        watching = [tape for tape in here.tapes if self._is_watched(tape, tensors)]
        if not watching:
            return self._run(tensors, self.graph.results)
        backward = self._back()
        made = self._run(tensors, [*self.graph.results, *backward.needed])
        results, kept = made[: len(self.graph.results)], made[len(self.graph.results) :]
        shapes = [tuple(tensor._value.shape) for tensor in results if has_gradient(tensor.dtype)]
        for tape in watching:
            record = self._record(tape, tensors, results, kept, backward)
            record.attrs["shapes"] = shapes
            tape.records.append(record)
        return results

    def _is_watched(self, tape: Tape, tensors: Sequence[EagerTensor]) -> bool:
        for variable in self._variables:
            if variable.trainable and tape.sees_variables:
                tape.keys.add(variable._key)
                tape.variables.setdefault(variable._key, variable)
        keys = [getattr(tensor, "_key", None) for tensor in tensors]
        return any(key in tape.keys for key in keys) or any(v._key in tape.keys for v in self._variables)

    def _record(
        self, tape: Tape, tensors: Sequence[Any], results: list[EagerTensor], kept: list[EagerTensor], backward: _Backward
    ) -> Record:
        inputs = tuple(getattr(tensor, "_key", None) for tensor in tensors)
        outputs = [key_of(tensor) for tensor in results]
        tape.keys.update(key for key, tensor in zip(outputs, results, strict=True) if has_gradient(tensor.dtype))
        return _CallRecord(self.name, (*inputs, *(v._key for v in self._variables)), outputs, tuple(kept), backward)

    def _back(self) -> _Backward:
        with self._lock:
            if self._backward is None:
                states = [captured_variable(self.graph, variable) for variable in self._variables]
                self._backward = _Backward(self.graph, [*self._inputs, *states], self._state, self.name)
            return self._backward

    # Running it.

    def _run(self, tensors: Sequence[EagerTensor], fetches: Sequence[SymbolicTensor]) -> list[EagerTensor]:
        where = tuple(tensor._place.device for tensor in tensors)
        program, homes = self._program(where, tuple(fetches))
        made = program.run(Run(self._state), [tensor._value for tensor in tensors])
        places = (place(home, tensor.dtype) for home, tensor in zip(homes, fetches, strict=True))
        return [wrap(value, at) for value, at in zip(made, places, strict=True)]

    def _program(self, where: tuple[Device, ...], fetches: tuple[SymbolicTensor, ...]) -> tuple[Any, list[Device]]:
        key = (where, fetches, options.current.soft, here.scope)
        with self._lock:
            if key not in self._programs:
                feeds = list(zip(self._inputs, where, strict=True))
                fixed = {tensor.op: device for tensor, device in feeds}
                engine = self._engine(where, fixed)
                placement, given = engine.placement(), dict(feeds)
                homes = [given.get(tensor) or home_of(placement[tensor.op]) for tensor in fetches]
                wanted = list(zip(fetches, homes, strict=True))
                self._programs[key] = engine.program(feeds, wanted, effects_of(self.graph)), homes
            return self._programs[key]  # type: ignore[no-any-return]

    def _engine(self, where: tuple[Device, ...], fixed: dict[Any, Device]) -> Engine:
        key = (where, options.current.soft, here.scope)
        if key not in self._engines:
            effects = effects_of(self.graph)
            pool = None if effects else shared_pool(threads.current.inter)
            self._engines[key] = Engine(self.graph, process.devices(), soft=options.current.soft, pool=pool, fixed=fixed)
        return self._engines[key]


class _Backward:
    """The graph of the gradients of another one.

    ``needed`` are the tensors of that one whose values it takes, after the gradients of the results.
    """

    def __init__(self, graph: FunctionGraph, sources: Sequence[SymbolicTensor], state: State, name: str) -> None:
        self._back = FunctionGraph(graph, compares_elements=True)
        self._ends = [number for number, tensor in enumerate(graph.results) if has_gradient(tensor.dtype)]
        ends = [graph.results[number] for number in self._ends]
        self._kinds = [(tensor.dtype, tensor.shape) for tensor in ends]
        with as_default(self._back):
            seeds = [self._back.add_argument(tensor.dtype, tensor.shape, "grad") for tensor in ends]
            known = [source for source in sources if has_gradient(source.dtype)]
            made = dict(zip(map(id, known), differentiate(ends, seeds, known), strict=True))
            found = [made.get(id(source)) for source in sources]
            self._connected = [grad is not None for grad in found]
            self._back.results = [read(grad) for grad in found if grad is not None]
        self.needed = list(self._back.captures)
        self._call = GraphCall(self._back, state, f"{name}_backward")

    def __call__(self, grads: Sequence[Any], kept: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
        """The gradients of the sources."""
        seeds = [grads[number] for number in self._ends]
        shapes = attrs["shapes"]
        given = [zeros(shapes[n], dtype) if seed is None else seed for n, (seed, (dtype, _)) in enumerate(zip(seeds, self._kinds, strict=True))]
        made = iter(self._call([*given, *kept]))
        return [next(made) if connected else None for connected in self._connected]


class _CallRecord(Record):
    """A call of a graph on a tape."""

    __slots__ = ("_name", "_rule")

    def __init__(self, name: str, inputs: Any, outputs: list[int], kept: tuple[Any, ...], rule: Any) -> None:
        super().__init__(_called, inputs, outputs, kept, {})
        self._name = name
        self._rule = rule

    @property
    def rule(self) -> Any:
        """How gradients flow back through it."""
        return self._rule

    @property
    def name(self) -> str:
        """What errors call it."""
        return self._name
