"""One graph of a ``tf.function``, and the programs that run it.

A program depends on where the arguments lie and on the device that the caller's scope asks for: operations
that ask for none go there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from situs.devices.inventory import process
from situs.devices.logical import Device
from situs.devices.scope import here
from situs.eager.bridge import host, place_of
from situs.eager.execute import OpInfo, note
from situs.eager.tensor import EagerTensor, wrap
from situs.errors import InvalidArgumentError, UnknownDeviceError
from situs.execution.engine import Engine
from situs.execution.program import Program
from situs.execution.state import Run, State
from situs.graph.context import as_default
from situs.graph.function import FunctionGraph
from situs.graph.node import Operation
from situs.graph.structure import flatten, pack_like
from situs.graph.tensor import SymbolicTensor
from situs.ops.constant import convert_to_tensor
from situs.placement import options
from situs.placement.candidates import Assignment
from situs.registry.op import op
from situs.tensor import is_tensor
from situs.tracing.arguments import Arguments
from situs.tracing.spec import TensorSpec
from situs.variables.capture import captured_in

_state = State()  # of the random operations in functions
_call = op("PartitionedCall", "->")


class Traced:
    """A graph, the form of what the function returned, and where in it the tensors are."""

    def __init__(self, graph: FunctionGraph, form: Any, results: list[SymbolicTensor | None]) -> None:
        self.graph = graph
        self.form = form
        self.results = results
        self.tensors = [tensor for tensor in results if tensor is not None]
        self.effects = [node for node in graph.operations if node.op_def.stateful]


def trace(function: Callable[..., Any], arguments: Arguments, names: Sequence[str] = ()) -> Traced:
    """Calls a Python function with symbolic tensors and keeps what it does as a graph."""
    graph = FunctionGraph(None, compares_elements=True)
    with as_default(graph):
        specs = [spec for spec in arguments.specs if spec is not None]
        stand_ins = [graph.add_argument(s.dtype, s.shape, s.name or "arg") for s in specs]
        args, kwargs = arguments.with_tensors(stand_ins)
        made = function(*args, **kwargs)
        leaves = [None if isinstance(leaf, Operation) else leaf for leaf in flatten(made)]
        results = [None if leaf is None else graph.capture(_as_symbolic(leaf)) for leaf in leaves]
    return Traced(graph, made, results)


def _as_symbolic(leaf: Any) -> SymbolicTensor:
    try:
        return convert_to_tensor(leaf)  # type: ignore[return-value]
    except (TypeError, ValueError):
        if is_tensor(leaf):
            raise
        raise InvalidArgumentError(
            f"A tf.function returns tensors, and structures of them; {leaf!r} of type {type(leaf).__name__!r} has none."
        ) from None


class ConcreteFunction:
    """A ``tf.function`` for one kind of arguments: a graph that can be called."""

    def __init__(self, traced: Traced, arguments: Arguments, name: str) -> None:
        self._traced = traced
        self._arguments = arguments
        self.name = name
        self._engines: dict[Any, Engine] = {}
        self._programs: dict[Any, tuple[Program, list[Device], Assignment | None]] = {}
        self._lock = threading.Lock()

    # What it is.

    @property
    def graph(self) -> FunctionGraph:
        """The graph."""
        return self._traced.graph

    @property
    def inputs(self) -> list[SymbolicTensor]:
        """The tensors of the graph that stand for the arguments."""
        return list(self.graph.arguments)

    @property
    def outputs(self) -> list[SymbolicTensor]:
        """The tensors of the graph that are returned."""
        return self._traced.tensors

    @property
    def structured_outputs(self) -> Any:
        """The kinds of the results, in the form the function returns them."""
        return self._packed([TensorSpec.from_tensor(tensor) for tensor in self.outputs])

    @property
    def structured_input_signature(self) -> Any:
        """The kinds of the arguments: positional ones and keywords."""
        return self._arguments.with_tensors([spec for spec in self._arguments.specs if spec is not None])  # type: ignore[arg-type]

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables it uses."""
        return tuple(captured_in(self.graph))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The variables it uses that optimizers should change."""
        return tuple(variable for variable in self.variables if variable.trainable)

    # Calling it.

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the graph on tensors of the kinds it was made for."""
        given = Arguments((args, kwargs))
        tensors = [leaf if isinstance(leaf, EagerTensor) else convert_to_tensor(leaf) for leaf in given.leaves]
        specs = [spec for spec in self._arguments.specs if spec is not None]
        if len(tensors) != len(specs):  # Python values of the trace may be given again, and are left out
            tensors = [tensor for tensor in given.tensors if tensor is not None]
        if len(tensors) != len(specs):
            raise InvalidArgumentError(f"{self.name} takes {len(specs)} tensors, got {len(tensors)}.")
        for spec, tensor in zip(specs, tensors, strict=True):
            if not spec.is_compatible_with(tensor):
                raise InvalidArgumentError(
                    f"{self.name} was made for {spec}, got a tensor of shape {tensor.shape} and dtype "
                    f"{tensor.dtype.name}. Call the tf.function itself, which makes another graph for it."
                )
        return self.call(tensors)  # type: ignore[arg-type]

    def call(self, tensors: Sequence[EagerTensor]) -> Any:
        """Runs the graph on tensors, and returns what the function returns."""
        program, devices = self._program(tuple(tensor._place.device for tensor in tensors))
        made = program.run(Run(_state), [tensor._value for tensor in tensors])
        return self._packed([wrap(value, place_of(device, value)) for value, device in zip(made, devices, strict=True)])

    def _packed(self, values: Sequence[Any]) -> Any:
        rest = iter(values)
        return pack_like(self._traced.form, [None if t is None else next(rest) for t in self._traced.results])

    def _program(self, where: tuple[Device, ...]) -> tuple[Program, list[Device]]:
        default = _default_device(self.name)
        soft, log = options.current.soft, options.current.log
        key = (where, default, soft)
        found = self._programs.get(key)
        if found is None:
            with self._lock:
                found = self._programs[key] = self._make(where, default, soft, log)
        if log:
            print(f"Executing op {self.name} in device {(default or process.devices()[0]).name}", flush=True)
        return found[0], found[1]

    def _make(
        self, where: tuple[Device, ...], default: Device | None, soft: bool, log: bool
    ) -> tuple[Program, list[Device], None]:
        graph, traced = self.graph, self._traced
        fixed = {tensor.op: device for tensor, device in zip(graph.arguments, where, strict=True)}
        engine = Engine(graph, process.devices(), soft=soft, log=log, default=default, fixed=fixed)
        placement = engine.placement()
        homes = [_home(placement[tensor.op], fixed, tensor) for tensor in traced.tensors]
        feeds = list(zip(graph.arguments, where, strict=True))
        program = engine.program(feeds, list(zip(traced.tensors, homes, strict=True)), traced.effects)
        for assignment in program.plan.assignments.values():
            note(assignment)
        return program, homes, None

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.name} at {id(self):#x}>"


def _home(assignment: Assignment, fixed: dict[Operation, Device], tensor: SymbolicTensor) -> Device:
    if tensor.op in fixed:
        return fixed[tensor.op]
    return host() if assignment.kernel.host_output else assignment.device


def _default_device(name: str) -> Device | None:
    """The device that the caller's scope asks for.

    Raises:
        UnknownDeviceError: there is none such, and another one may not be taken.
    """
    if here.scope.stops:
        return None
    request = here.scope.eager_request(OpInfo(_call, name))
    if request is None:
        return None
    for device in process.devices():
        if request.matches(device.spec):
            return device
    if options.current.soft:
        return None
    devices = ", ".join(device.name for device in process.devices())
    raise UnknownDeviceError(
        f"Unable to find any devices for spec {request.to_string()}. All available devices [{devices}]. Pick one of "
        f"these, or call tf.config.set_soft_device_placement(True). [Op:{name}]"
    )
