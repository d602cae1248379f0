"""Calls of graphs under a tape: run with the residuals for the backward pass, and recorded as one op.

    forward     the graph's program, which returns the results and the residuals
    backward    another graph, nested in the first: the tensors it captures are the residuals

Both are built once per graph. The backward graph is called like any other, so it is recorded too if an outer tape, or a
persistent one that still records, needs second derivatives. For these the residuals are results as well, whose
gradients flow back into the graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from situs._src.autodiff.graph import differentiate
from situs._src.base import locks
from situs._src.base.devices import threads
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device
from situs._src.base.devices.scope import here
from situs._src.base.dtype import DType, variant
from situs._src.base.tensor import Tensor
from situs._src.base.tree import put_together, take_apart
from situs._src.base.typing import ShapeLike
from situs._src.ir.graph.context import as_default
from situs._src.ir.graph.function import FunctionGraph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.signature import parse_signature
from situs._src.ops.constant import zeros
from situs._src.ops.inner import symbolic
from situs._src.placement import options
from situs._src.runtime.eager.bridge import home_of, host, place
from situs._src.runtime.eager.tape import Record, Tape, has_gradient, key_of
from situs._src.runtime.eager.tensor import EagerTensor, wrap, wrap_checked
from situs._src.runtime.eager.tensor_list import TensorList
from situs._src.runtime.plan.control_flow import effects_of
from situs._src.runtime.run.engine import Engine
from situs._src.runtime.run.state import Run, State
from situs._src.runtime.run.threads import shared_pool
from situs._src.variables.capture import captured_in, captured_variable

# The op of records of calls. It is not registered: programs cannot call it.
_called = Op("FunctionCall", parse_signature("inputs: any* -> outputs: any*"), {}, {}, stateful=False)


class GraphCall:
    """A graph that is called by eager code while a tape records.

    Args:
        graph: The graph; its arguments and captures are its inputs.
        state: The state that its operations work on.
        name: Its name in errors.
    """

    def __init__(self, graph: FunctionGraph, state: State, name: str) -> None:
        self.graph = graph
        self.name = name
        self._state = state
        self._inputs = [*graph.arguments, *graph.captures.values()]
        self._variables = [variable for variable in captured_in(graph) if has_gradient(variable.dtype)]
        # The eager tensors that are constants of the graph, which a tape may watch.
        values = {node.outputs[0]: node.attrs.get("value") for node in graph.get_operations() if node.type == "Const"}
        self._held = {t: v for t, v in values.items() if isinstance(v, EagerTensor) and has_gradient(v.dtype)}
        self._backwards: dict[Any, _Backward] = {}
        self._engines: dict[Any, Engine] = {}
        self._programs: dict[Any, Any] = {}
        self._lock = locks.rlock()

    def __call__(self, tensors: Sequence[EagerTensor]) -> list[EagerTensor]:
        """Runs the graph on tensors, one for each input, and records it on the tapes that watch one of them."""
        held = self._watched_held()
        for tape in here.tapes:
            self._show_variables(tape)
        watching = [tape for tape in here.tapes if self._is_watched(tape, [*tensors, *held.values()])]
        if not watching:
            return self._run(tensors, self.graph.results)
        backwards = self._ways_back([tape.persistent for tape in reversed(watching)], tuple(held))
        fetches = dict.fromkeys([*self.graph.results, *(t for back in backwards for t in (*back.ends, *back.needed))])
        values = dict(zip(fetches, self._run(tensors, list(fetches)), strict=True))
        for tape, back in zip(reversed(watching), backwards, strict=True):
            if back.ends:  # a graph may have no differentiable result
                tape.records.append(self._record(tape, tensors, list(held.values()), values, back))
        return [values[tensor] for tensor in self.graph.results]

    def _watched_held(self) -> dict[SymbolicTensor, EagerTensor]:
        """The eager tensors that are constants of the graph and watched by a tape."""
        keys = {tensor: getattr(value, "_key", None) for tensor, value in self._held.items()}
        return {t: self._held[t] for t, key in keys.items() if any(key in tape.keys for tape in here.tapes)}

    def _show_variables(self, tape: Tape) -> None:
        """Makes tapes watch the variables that the graph reads, as in eager code."""
        for variable in self._variables:
            if variable.trainable and tape.sees_variables:
                tape.keys.add(variable._key)
                tape.variables.setdefault(variable._key, variable)

    def _is_watched(self, tape: Tape, tensors: Sequence[EagerTensor]) -> bool:
        """Whether a tape watches one of the inputs or variables of the graph."""
        keys = [getattr(tensor, "_key", None) for tensor in tensors]
        return any(key in tape.keys for key in keys) or any(v._key in tape.keys for v in self._variables)

    def _record(
        self,
        tape: Tape,
        tensors: Sequence[Any],
        held: Sequence[Any],
        values: dict[SymbolicTensor, EagerTensor],
        back: _Backward,
    ) -> Record:
        inputs = tuple(getattr(tensor, "_key", None) for tensor in tensors)
        outputs = [key_of(values[tensor]) for tensor in back.ends]
        tape.keys.update(outputs)
        kept = tuple(values[tensor] for tensor in back.needed)
        shapes = [getattr(values[tensor]._value, "shape", ()) for tensor in back.ends]
        sources = (*inputs, *(v._key for v in [*self._variables, *held]))
        return _CallRecord(self.name, sources, outputs, kept, back, shapes)

    def _ways_back(self, persistent: Sequence[bool], held: tuple[SymbolicTensor, ...]) -> list[_Backward]:
        """The backward functions for several tapes, the innermost first, which are persistent or not.

        The gradient computed by an inner tape uses residuals, so for the outer tape these are results as well; for a
        persistent tape its own are too, because it may record its gradient computation.
        """
        found: list[_Backward] = []
        further: list[SymbolicTensor] = []
        with self._lock:
            for records_itself in persistent:
                found.append(self._way_back(further, held))
                while records_itself and not found[-1].is_closed():
                    found[-1] = self._way_back([*further, *found[-1].needed], held)
                further = [*further, *found[-1].needed]
        return found

    def _way_back(self, further: Sequence[SymbolicTensor], held: tuple[SymbolicTensor, ...]) -> _Backward:
        """The gradients of the results and of further tensors of the graph."""
        ends = tuple(t for t in dict.fromkeys([*self.graph.results, *further]) if has_gradient(t.dtype))
        if (ends, held) not in self._backwards:
            states = [captured_variable(self.graph, variable) for variable in self._variables]
            sources = [*self._inputs, *states, *held]
            self._backwards[ends, held] = _Backward(self.graph, ends, sources, self._state, self.name)
        return self._backwards[ends, held]

    # Running it.

    def _run(self, tensors: Sequence[EagerTensor], fetches: Sequence[SymbolicTensor]) -> list[EagerTensor]:
        where = tuple(tensor._place.device for tensor in tensors)
        program, homes = self._program(where, tuple(fetches))
        made = program.run(Run(self._state), [tensor._value for tensor in tensors])
        places = (place(home, tensor.dtype) for home, tensor in zip(homes, fetches, strict=True))
        return [wrap_checked(value, at) for value, at in zip(made, places, strict=True)]

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
            self._engines[key] = Engine(
                self.graph, process.devices(), soft=options.current.soft, pool=pool, fixed=fixed
            )
        return self._engines[key]


class _BackwardGraph(FunctionGraph):
    """A graph that runs after its outer graph, so it uses the values that variables had then."""

    def capture(self, tensor: SymbolicTensor) -> SymbolicTensor:
        """The tensor inside for one of the outer graph; for a variable, the value it had."""
        if tensor.is_ref and tensor.graph is not self and tensor not in self.captures:
            self.captures[tensor] = self._stand_in(tensor.dtype, tensor.shape, False, "value")
        return super().capture(tensor)


class _Backward:
    """The graph of the gradients of another one.

    ``ends`` are the tensors whose gradients it takes, ``needed`` the residuals that it takes after them.
    """

    def __init__(
        self,
        graph: FunctionGraph,
        ends: Sequence[SymbolicTensor],
        sources: Sequence[SymbolicTensor],
        state: State,
        name: str,
    ) -> None:
        self._graph, self._sources, self._state, self._name = graph, sources, state, name
        self._back = _BackwardGraph(graph, compares_elements=True)
        self.ends = list(ends)
        with as_default(self._back):
            seeds = [self._back.add_argument(tensor.dtype, tensor.shape, "grad") for tensor in self.ends]
            known = [source for source in sources if has_gradient(source.dtype)]
            made = dict(zip(map(id, known), differentiate(self.ends, seeds, known), strict=True))
            # Sparse gradients stay sparse: optimizers treat dense ones differently.
            self._form, leaves = take_apart([made.get(id(source)) for source in sources])
            self._back.results = [symbolic(self._back, leaf) for leaf in leaves]
        self.needed = list(self._back.captures)
        self._call = GraphCall(self._back, state, f"{name}_backward")
        self._narrower: dict[tuple[bool, ...], _Backward | None] = {}

    def is_closed(self) -> bool:
        """Whether the gradients of all residuals are taken as well."""
        ends = set(self.ends)
        return all(tensor in ends for tensor in self.needed if has_gradient(tensor.dtype))

    def __call__(self, grads: Sequence[Any], kept: Sequence[EagerTensor], attrs: Mapping[str, Any]) -> list[Any]:
        """The gradients of the sources."""
        narrower = None if None not in grads else self._narrowed(tuple(grad is not None for grad in grads))
        if narrower is not None:
            values = dict(zip(self.needed, kept, strict=True))
            return narrower._run([g for g in grads if g is not None], [values[t] for t in narrower.needed])
        known = zip(grads, attrs["shapes"], self.ends, strict=True)
        return self._run([_zeros(shape, end.dtype) if g is None else g for g, shape, end in known], kept)

    def _run(self, grads: Sequence[Any], kept: Sequence[EagerTensor]) -> list[Any]:
        return put_together(self._form, self._call([*grads, *kept]))  # type: ignore[no-any-return]

    def _narrowed(self, wanted: tuple[bool, ...]) -> _Backward | None:
        """The gradients of only some of the ends, if that needs no other residuals."""
        if wanted not in self._narrower:
            ends = [end for end, is_wanted in zip(self.ends, wanted, strict=True) if is_wanted]
            made = _Backward(self._graph, ends, self._sources, self._state, self._name)
            self._narrower[wanted] = made if set(made.needed) <= set(self.needed) else None
        return self._narrower[wanted]


def _zeros(shape: ShapeLike, dtype: DType) -> Tensor:
    return wrap(TensorList(), place(host(), dtype)) if dtype is variant else zeros(shape, dtype)


class _CallRecord(Record):
    """A call of a graph on a tape."""

    __slots__ = ("_name",)

    def __init__(
        self, name: str, inputs: Any, outputs: list[int], kept: tuple[Any, ...], rule: _Backward, shapes: list[Any]
    ) -> None:
        super().__init__(_called, inputs, outputs, kept, {"shapes": shapes})
        self._name = name
        self.rule = rule  # type: ignore[assignment]

    @property
    def name(self) -> str:
        """Its name in errors."""
        return self._name
