"""One graph of a ``tf.function``, and the programs that run it.

A program depends on the devices of the arguments and on the caller's device scope: operations without a request go
there. Inside another graph a call is one operation:

    PartitionedCall(x, y | captured)     f    the graph
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from situs._src.autodiff.calls import GraphCall
from situs._src.base import locks
from situs._src.base.devices import threads
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device
from situs._src.base.devices.scope import generation, here
from situs._src.base.errors import DTypeError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, read
from situs._src.base.tree import LEAF, put_together
from situs._src.ir.graph.function import FunctionGraph, graphs_of
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.replicas import Replicas, together
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops import seeds
from situs._src.ops.call import partitioned_call
from situs._src.ops.inner import building, graph_for, hold, symbolic
from situs._src.placement import options
from situs._src.placement.candidates import Assignment
from situs._src.placement.placer_setting import Placer
from situs._src.placement.search.plan import Plan
from situs._src.runtime.dynamic.engine import DynamicEngine
from situs._src.runtime.dynamic.program import AdaptiveProgram
from situs._src.runtime.eager.bridge import Place, home_of, place
from situs._src.runtime.eager.execute import decide, note
from situs._src.runtime.eager.tensor import EagerTensor, wrap_checked
from situs._src.runtime.plan.control_flow import assigned_in, assignments_in
from situs._src.runtime.run.engine import Engine
from situs._src.runtime.run.program import Program
from situs._src.runtime.run.state import Run, State, Streams
from situs._src.runtime.run.threads import shared_pool
from situs._src.runtime.symbolic.reinfer import shapes_for
from situs._src.tracing.inlined import inlined
from situs._src.tracing.kind import Kind
from situs._src.tracing.memo import Memo
from situs._src.tracing.parameters import Parameters, fit_tensor, fitted
from situs._src.tracing.spec import TensorSpec
from situs._src.tracing.text import FunctionType, input_texts, type_text
from situs._src.tracing.trace import Traced
from situs._src.variables.capture import captured_in

on_call: list[Callable[[ConcreteFunction], None]] = []  # told of calls by eager code, except of those like the last
_shared = State()  # what functions hold together: queues and the like
_idle = Run(_shared)  # for programs that ask nothing of a run, and never stop it


class FunctionState(State):
    """The state of one function: resources are shared, but its random operations have streams of their own.

    The streams start over when the seed is set.
    """

    def __init__(self) -> None:
        super().__init__()
        self._restarts = 0

    def resource(self, name: str, make: Callable[[], Any]) -> Any:
        """A named resource shared by functions; created at first use."""
        return _shared.resource(name, make)

    @property
    def streams(self) -> Streams:
        """The streams of its random operations since the seed was set."""
        restarts = seeds.eager.restarts
        if restarts != self._restarts:
            self._restarts, self._streams = restarts, Streams()
        return self._streams


class Ready:
    """A program, and how its results are wrapped."""

    __slots__ = ("_assignments", "_form", "_places", "_program", "_single", "_state")

    def __init__(
        self, program: Program, state: State, form: Any, places: list[Place], assignments: list[Assignment]
    ) -> None:
        self._program = program
        uses_run = program.schedule is not None or any(call.takes_run for call in program.plan.calls)
        self._state = state if uses_run else None
        self._form = form
        self._places = places
        self._assignments = assignments
        self._single = form is LEAF

    def __call__(self, values: list[Any]) -> Any:
        """Runs the program on values, and returns the function's results."""
        made = self._program.run(_idle if self._state is None else Run(self._state), values)
        if self._single:
            return wrap_checked(made[0], self._places[0], self._assignments[0])
        return put_together(self._form, list(map(wrap_checked, made, self._places, self._assignments)))

    def assignments(self) -> list[Assignment]:
        """The devices of the program's operations, and how they run, if it is compiled."""
        plan, ways = self._program.plan, self._program.ways()
        if not ways:
            return list(assignments_in(plan))
        inner = "kernel: in a branch, a loop or a function that is called"
        return [replace(each, runs_as=ways.get(node, inner)) for node, each in assigned_in(plan)]

    def placement_plan(self) -> Plan | None:
        """The plan of the dynamic placer, if that has placed the program."""
        return self._program.engine.plan if isinstance(self._program, AdaptiveProgram) else None


class ConcreteFunction:
    """A ``tf.function`` traced for one kind of arguments: a callable graph.

    Args:
        traced: The graph.
        kind: The kind of arguments it was traced for.
        parameters: The parameters of the Python function.
        name: The name of the Python function.
        number: The number of this graph in the program.
        inside: Returns the graph for a kind, nested in another graph.
        placer: How it is placed; None for the program's setting.
    """

    def __init__(
        self,
        traced: Traced,
        kind: Kind,
        parameters: Parameters,
        name: str,
        number: int,
        inside: Callable[[Graph, Kind], ConcreteFunction],
        placer: Placer | None = None,
    ) -> None:
        self.kind = kind
        self._placer = placer
        self.name = f"__inference_{name}_{number}"
        self._title = name
        self._traced = traced
        self._parameters = parameters
        self._inside = inside
        self._programs: dict[Any, Ready] = {}
        self._memo = Memo()
        self._state = FunctionState()
        self._lock = locks.lock()
        self._under_tape: GraphCall | None = None

    # Properties.

    @property
    def is_placed(self) -> bool:
        """Whether its operations have been placed, which is final."""
        return bool(self._programs)

    @property
    def title(self) -> str:
        """The name of the Python function."""
        return self._title

    @property
    def function_spec(self) -> Parameters:
        """The parameters of the Python function."""
        return self._parameters

    @property
    def form(self) -> Any:
        """The structure of its results."""
        return self._traced.form

    @property
    def graph(self) -> FunctionGraph:
        """The graph."""
        return self._traced.graph

    @property
    def inputs(self) -> list[SymbolicTensor]:
        """The graph's placeholders for the arguments and captures."""
        return [*self.graph.arguments, *self.graph.captures.values()]

    @property
    def outputs(self) -> list[SymbolicTensor]:
        """The returned tensors of the graph."""
        return list(self.graph.results)

    @property
    def structured_outputs(self) -> Any:
        """The returned tensors of the graph, in the structure of the function's results."""
        return put_together(self._traced.form, self.outputs)

    @property
    def structured_input_signature(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The specs of the arguments: positional ones and keywords."""
        names = self._parameters.names(self.kind.form)
        specs = [TensorSpec(s.shape, s.dtype, s.name or name) for s, name in zip(self.kind.specs, names, strict=True)]
        return self.kind.structure(specs, specs=True)

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of the results."""
        return put_together(self._traced.form, [tensor.dtype for tensor in self.outputs])

    @property
    def output_shapes(self) -> Any:
        """The shapes of the results."""
        return put_together(self._traced.form, [tensor.shape for tensor in self.outputs])

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables it uses."""
        return tuple(captured_in(self.graph))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The trainable variables it uses."""
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def captured_inputs(self) -> list[SymbolicTensor]:
        """The tensors that it captures from the outer graph."""
        return list(self.graph.captures)

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """What it takes and gives, as a small table, or in one line."""
        return repr(self.function_type) if verbose else str(self.function_type)

    @property
    def function_type(self) -> FunctionType:
        """What it takes and gives."""
        inputs = input_texts(self._parameters, self.kind)
        output = type_text(self._traced.form, iter([TensorSpec(t.shape, t.dtype) for t in self.outputs]))
        return FunctionType(inputs, output, [str(tensor) for tensor in self.graph.captures])

    @property
    def inference_fn(self) -> AtomicFunction:
        """The graph, to be called."""
        return AtomicFunction(self)

    def __str__(self) -> str:
        return f"ConcreteFunction {self.pretty_printed_signature()}"

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.pretty_printed_signature(verbose=False)} at {id(self):#x}>"

    def assignments(self) -> list[Assignment]:
        """The devices of its operations, in the programs made so far."""
        return [assignment for ready in list(self._programs.values()) for assignment in ready.assignments()]

    def replicas(self) -> Replicas | None:
        """The replicas of its graph, and of the functions that it calls; None if there are none."""
        graphs, found = [self.graph], []
        for graph in graphs:  # the list grows during the loop
            found += [] if graph.replicas is None else [graph.replicas]
            graphs += [held for node in graph.operations for _, held in graphs_of(node)]
        return together(found) if found else None

    def placement_plan(self) -> Plan | None:
        """The plan of the dynamic placer for the first program that it has placed."""
        plans = (ready.placement_plan() for ready in list(self._programs.values()))
        return next((plan for plan in plans if plan is not None), None)

    # Calling it.

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the graph on tensors of the kind it was traced for; other arguments may be omitted."""
        if not kwargs and here.graph is None and not here.tapes:
            found = self._memo.find(args)
            if found is not None:
                return found([arg._value for arg in args])
        rules = generation()
        tensors = self._bound(args, kwargs)
        graph = graph_for(tensors)
        if graph is None and here.tapes:
            return self.recorded(tensors)
        if graph is None:
            ready = self.ready(tensors)
            self._memo.keep(args, kwargs, tensors, ready, rules)
            return ready([tensor._value for tensor in tensors])
        return self._called_in(graph, tensors)

    def run(self, tensors: Sequence[Any]) -> Any:
        """Runs the graph on matching tensors, one for each spec of its kind."""
        graph = graph_for(tensors)
        if graph is not None:
            return self._called_in(graph, tensors)
        return self.recorded(tensors) if here.tapes else self.ready(tensors)([tensor._value for tensor in tensors])

    def _called_in(self, graph: Graph, tensors: Sequence[Any]) -> Any:
        with building(graph):
            here_too = self if self.graph.outer is graph else self._inside(graph, self.kind)
            return here_too.call_in(graph, tensors)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        try:
            return fitted(self.kind, self._parameters.completed(self.kind, args, kwargs))
        except DTypeError as error:
            for names in (self._parameters.names(self.kind.form), self._parameters.flat_names(self.kind)):
                flat = [*args, *[kwargs[name] for name in names[len(args) :] if name in kwargs]]
                is_flat = len(flat) == len(self.kind.specs) == len(args) + len(kwargs)
                if is_flat and all(isinstance(read(value), (Tensor, TensorSpec)) for value in flat):
                    return self._flat(flat, args, kwargs)
            raise self._refused(str(error), args, kwargs) from None

    def _flat(self, flat: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The tensors, given as a flat list."""
        try:
            return [fit_tensor(spec, value) for spec, value in zip(self.kind.specs, flat, strict=True)]
        except DTypeError as error:
            raise self._refused(str(error), args, kwargs) from None

    def _refused(self, reason: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> DTypeError:
        return DTypeError(
            f"Binding inputs to tf.function failed due to `{reason}`. Received args: {args} and kwargs: {kwargs} for "
            f"signature: {self.pretty_printed_signature(verbose=False)}. Call the tf.function itself to have a graph "
            "made for other arguments."
        )

    def call_in(self, graph: Graph, tensors: Sequence[Any]) -> Any:
        """Adds a call to a graph in which this function's graph is nested."""
        given = [symbolic(graph, tensor) for tensor in tensors]
        captured = list(self.graph.captures)
        shapes = shapes_for(self.graph, [*given, *captured])
        results = [(tensor.dtype, shape) for tensor, shape in zip(self.outputs, shapes, strict=True)]
        node = hold(graph, partitioned_call, (given, captured), {"f": self.graph}, results, self._title)
        return put_together(self._traced.form, node.outputs)

    def recorded(self, tensors: Sequence[EagerTensor]) -> Any:
        """Runs the graph on tensors while a tape records."""
        self._tell()
        with self._lock:
            if self._under_tape is None:
                self._under_tape = GraphCall(self.graph, self._state, self.name)
        return put_together(self._traced.form, self._under_tape(tensors))

    def ready(self, tensors: Sequence[EagerTensor]) -> Ready:
        """The program for tensors on these devices, under the caller's device scope."""
        if any(isinstance(tensor, TensorSpec) for tensor in tensors):
            raise DTypeError(f"{self._title} is called with tensors; a TensorSpec is for get_concrete_function(...).")
        self._tell()
        where = tuple([tensor._place.device for tensor in tensors])
        wanted = None if here.scope.stops else decide(partitioned_call, {}, self.name)
        default = None if wanted is None else wanted.device
        asked = wanted is not None and wanted.kind == "requested"
        soft, log = options.current.soft, options.current.log
        key = (where, default, asked, soft, log, self._placer or options.current.placer)
        found = self._programs.get(key)
        if found is None:
            with self._lock:  # another thread may have made it meanwhile
                found = self._programs.get(key) or self._make(where, default, soft, log, asked)
                self._programs[key] = found
        if log:
            print(f"Executing op {self.name} in device {(default or process.devices()[0]).name}", flush=True)
        return found

    def _tell(self) -> None:
        for listener in on_call:
            listener(self)

    def _make(
        self, where: tuple[Device, ...], default: Device | None, soft: bool, log: bool, asked: bool = False
    ) -> Ready:
        placer = self._placer or options.current.placer
        graph = inlined(self.graph) if placer.is_dynamic else self.graph
        feeds = list(zip(graph.arguments, where, strict=True))
        fixed = {tensor.op: device for tensor, device in feeds}
        effects = [node for node in graph.operations if node.op_def.stateful]
        ordered = bool(effects)  # sequential, or with dependencies that keep them in order
        pool = shared_pool(threads.current.inter) if self.replicas() is not None or not ordered else None
        devices = process.devices()
        engine: Engine
        if placer.is_dynamic:
            engine = DynamicEngine(
                graph,
                devices,
                placer,
                soft=soft,
                log=log,
                pool=pool,
                default=default,
                fixed=fixed,
                ordered=ordered,
                caller=default if asked else None,
            )
            engine.prepare(feeds, graph.results, effects)
        else:
            engine = Engine(
                graph, devices, soft=soft, log=log, pool=pool, default=default, fixed=fixed, ordered=ordered
            )
        placement = engine.placement()
        assignments = [placement[tensor.op] for tensor in graph.results]
        homes = [home_of(assignment) for assignment in assignments]
        program = engine.program(feeds, list(zip(graph.results, homes, strict=True)), effects)
        made = list(assignments_in(program.plan))
        for assignment in made:
            note(assignment)
        if log and (found := self.replicas()) is not None:
            print(*found.summary({each.node: each.device.short_name for each in made}), sep="\n", flush=True)
        places = [place(home, tensor.dtype) for home, tensor in zip(homes, graph.results, strict=True)]
        return Ready(program, self._state, self._traced.form, places, assignments)


@export("types.experimental.AtomicFunction")
class AtomicFunction:
    """A graph of a ``tf.function`` that is called with tensors.

    Args:
        concrete: The function that has the graph.
    """

    def __init__(self, concrete: ConcreteFunction) -> None:
        self._concrete = concrete

    @property
    def name(self) -> bytes:
        """The name of the graph."""
        return self._concrete.name.encode()

    @property
    def graph(self) -> FunctionGraph:
        """The graph."""
        return self._concrete.graph

    @property
    def function_type(self) -> FunctionType:
        """What it takes and gives."""
        return self._concrete.function_type

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the graph."""
        return self._concrete(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<AtomicFunction> {self._concrete.name}{self.function_type}"
