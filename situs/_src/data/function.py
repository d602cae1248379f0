"""User functions in datasets, as programs that run on elements.

A function is traced once, when the dataset is created, with symbolic tensors for an element, as in a ``tf.function``.
The graph runs for each element:

    ds.map(lambda x, y: x * y)        graph:   (x, y) -> Mul         runs on (3., 2.), (5., 4.), ...

A function may capture tensors of the outer graph; they become symbols of the dataset. It may also return a dataset: an
operation of its graph takes the tensors that this one depends on, and returns the dataset with their values.

    ds.flat_map(lambda n: Dataset.range(n))      graph:   n -> DatasetVariant(n)     dataset: Range(n)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import ref

import torch

from situs._src.base import dtype as dt
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device
from situs._src.base.devices.scope import ROOT, build_into, here
from situs._src.base.devices.spec import parse_spec
from situs._src.base.errors import ArgumentError, CancelledError, DTypeError, InvalidArgumentError, shown
from situs._src.base.shapes import SCALAR
from situs._src.base.tensor import is_tensor
from situs._src.base.tree import LEAF, Form
from situs._src.data.element import DatasetSpec, Element, Leaf, Spec, take_apart_element
from situs._src.data.node import UNKNOWN, Binding, Node, Stream, symbols_of
from situs._src.ir.graph.function import FunctionGraph, graphs_of
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import CHECK
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, op
from situs._src.ops.inner import symbolic
from situs._src.placement import options
from situs._src.runtime.eager.bridge import Value, host
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.plan.plan import Plan
from situs._src.runtime.run.engine import Engine
from situs._src.runtime.run.program import Program
from situs._src.runtime.run.state import Run, State
from situs._src.tracing import function as _tracing  # noqa: F401 - gives AutoGraph the ops
from situs._src.tracing.autograph.calls import converted
from situs._src.tracing.concrete import FunctionState
from situs._src.tracing.hooks import creating_variables
from situs._src.tracing.kind import Kind
from situs._src.tracing.spec import TensorSpec
from situs._src.tracing.trace import trace

MakeDataset = Callable[[Node], Any]  # from a node to the dataset that programs see


class ElementFunction:
    """A function of elements, traced.

    Args:
        function: The program's function. It takes the parts of a tuple one by one, and any other element as it is.
        spec: What the elements are.
        what: What the function was given to, for messages.
        make_dataset: Makes datasets of nodes, for a function that takes some.
        homes: The devices that the tensors of an element are on; the host by default.

    Attributes:
        spec: What the function returns.
        captures: The tensors of the graph around it that it uses.
    """

    def __init__(
        self,
        function: Any,
        spec: Spec,
        what: str,
        make_dataset: MakeDataset,
        homes: Sequence[Device | None] | None = None,
    ) -> None:
        if not callable(function):
            raise ArgumentError(
                f"Argument `func` must be a callable. Received func={shown(function)} (of type {type(function)})"
            )
        self._what = what
        self._homes = [None] * len(spec.leaves) if homes is None else homes
        self._datasets: dict[int, Node] = {}  # among what is returned, by position
        self._programs: dict[tuple[Device, ...], Program] = {}
        self.spec = spec
        traced = self._traced(function, spec, make_dataset)
        self._graph: FunctionGraph = traced.graph
        self._effects = traced.effects
        self._captured = list(self._graph.captures)
        self.captures = [tensor for tensor in self._captured if not tensor.is_ref]

    @classmethod
    def of_graph(cls, graph: FunctionGraph, spec: Spec, what: str) -> ElementFunction:
        """A function out of a graph that was written down, with what it returns."""
        if len(graph.results) != len(spec.leaves):
            raise InvalidArgumentError(f"A function of {what}() has {len(graph.results)} results for {spec!r}.")
        made = object.__new__(cls)
        made._what, made.spec, made._graph = what, spec, graph
        made._homes = [None] * len(graph.arguments)
        made._programs = {}
        variants = {number: tensor.op for number, tensor in enumerate(graph.results) if tensor.op.op_def is _variant}
        made._datasets = {number: node.attrs["dataset"] for number, node in variants.items()}
        made._effects = [node for node in graph.operations if node.op_def.stateful]
        made._captured = list(graph.captures)
        made.captures = [tensor for tensor in made._captured if not tensor.is_ref]
        return made

    @property
    def returned(self) -> list[Node]:
        """The datasets among what it returns."""
        return list(self._datasets.values())

    @property
    def states(self) -> list[SymbolicTensor]:
        """The variables that it uses."""
        return [_root(tensor) for tensor in self._captured if tensor.is_ref]

    def stateful_op(self) -> str | None:
        """The type of an operation in it that may do something else the next time; None if there is none."""
        pending: list[Any] = [self._graph]
        while pending:
            for node in pending.pop().operations:
                inside = [graph for _, graph in graphs_of(node)]
                if node.op_def.stateful and CHECK not in node.op_def.traits and not inside:
                    return str(node.type)
                pending += inside
        return next((state.op.type for state in self.states), None)

    # Tracing.

    def _traced(self, function: Any, spec: Spec, make_dataset: MakeDataset) -> Any:
        call = converted(function)

        def flat(*leaves: Any) -> list[Any]:
            given = presented(spec, leaves, make_dataset)
            return self._results(call(*given) if type(given) is tuple else call(given))

        kinds = [TensorSpec(leaf.shape, leaf.dtype) for leaf in spec.leaves]
        form = Form(tuple, (Form(tuple, (LEAF,) * len(kinds)), Form(dict, ())))
        names = [f"args_{number}" for number in range(len(kinds))]
        title = getattr(function, "__name__", "function")
        with creating_variables(True, title) as created:  # a layer makes its variables when it is first called
            traced = trace(flat, Kind(form, kinds), names, here.graph)
        if created.count:
            with creating_variables(False, title):
                traced = trace(flat, Kind(form, kinds), names, here.graph)
        return traced

    def _results(self, made: object) -> list[Any]:
        """What a function returned, flat: its tensors, and those that its datasets depend on. Notes the spec."""
        made = tuple(made) if type(made) is list else made
        if made is None:
            raise ArgumentError(
                f"The function passed to Dataset.{self._what}() returned None. It must return at least one tensor."
            )
        form, leaves = take_apart_element(made)
        kinds: list[Leaf] = []
        flat: list[Any] = []
        for number, leaf in enumerate(leaves):
            node = getattr(leaf, "_node", None)
            if isinstance(node, Node):
                self._datasets[number] = node
                kinds.append(DatasetSpec(node.spec))
                flat.append(variant_of(node))
            elif isinstance(leaf, DatasetArray):
                kinds.append(leaf.leaf)
                flat.append(leaf.value)
            else:
                tensor = self._as_tensor(leaf)
                kinds.append(TensorSpec(tensor.shape, tensor.dtype))
                flat.append(tensor)
        self.spec = Spec(form, kinds)
        return flat

    def _as_tensor(self, leaf: Any) -> Any:
        try:
            return convert_to_tensor(leaf)
        except (TypeError, ValueError):
            if is_tensor(leaf) or isinstance(leaf, list):
                raise
            raise DTypeError(
                f"Unsupported return value from function passed to Dataset.{self._what}(): {shown(leaf)}."
            ) from None

    # Running.

    def bind(self, binding: Binding) -> Callable[[Element], Element]:
        """The function, for one iteration, in which its random operations go on however often it is bound."""
        if not all(_is_there(tensor, binding) for tensor in self._captured):
            return self._bound_later(binding)
        captured = [_captured_value(tensor, binding) for tensor in self._captured]
        homes = tuple([value.place.device if isinstance(value, Cell) else host() for value in captured])
        program = self._programs.get(homes) or self._programs.setdefault(homes, self._program(homes))
        outer = binding.state
        state = binding.state_of(self, FunctionState if outer is None else partial(_Borrowed, outer))
        run = ElementRun(state, binding.with_state(None if outer is None else state))
        execute = program.run
        if not captured:
            return lambda element: execute(run, element)
        return lambda element: execute(run, (*element, *captured))

    def _bound_later(self, binding: Binding) -> Callable[[Element], Element]:
        """The function, bound when the first element comes: a variable of the session is not initialized yet."""
        bound: list[Callable[[Element], Element]] = []

        def call(element: Element) -> Element:
            if not bound:
                for tensor in self._captured:
                    _captured_value(tensor, binding)  # which says what is missing still
                bound.append(self.bind(binding))
            return bound[0](element)

        return call

    def _program(self, homes: Sequence[Device]) -> Program:
        graph, devices = self._graph, process.devices()
        graph.compiles = False  # it is small, and there may be many: only a function that it calls may ask for more
        feeds = [(tensor, home or host()) for tensor, home in zip(graph.arguments, self._homes, strict=True)]
        feeds += [(graph.captures[tensor], home) for tensor, home in zip(self._captured, homes, strict=True)]
        roots = {graph.captures[tensor]: _root(tensor) for tensor in self._captured if tensor.is_ref}
        fixed = {tensor.op: device for tensor, device in feeds}
        engine = Engine(graph, devices, soft=options.current.soft, default=host(), fixed=fixed)
        program = engine.program(feeds, [(tensor, host()) for tensor in graph.results], self._effects, roots)
        if torch.get_num_threads() > 1:
            _leave_threads_alone(program.plan)
        return program


def _leave_threads_alone(plan: Plan) -> None:
    """Has kernels that know how compute in the thread that calls them: the cores are for who takes the elements.

    Between the steps of a program PyTorch's threads go to sleep. Waking them for the rows of a batch takes longer than
    copying them.
    """
    for call in plan.calls:
        if call.node is not None and call.device.account is None and not call.takes_run:
            alone = getattr(plan.assignments[call.node].kernel.function, "alone", None)
            if alone is not None:
                call.function = partial(alone, **call.node.attrs)


def _as_argument(tensor: Any, leaf: Leaf, make_dataset: MakeDataset) -> Any:
    if not isinstance(leaf, DatasetSpec):
        return tensor
    return make_dataset(Given(tensor, leaf.spec)) if leaf.shape.rank == 0 else DatasetArray(tensor, leaf)


def presented(spec: Spec, tensors: Sequence[Any], make_dataset: MakeDataset) -> Any:
    """An element of a graph as programs get it: its tensors, and datasets, in their structure."""
    if not spec.has_datasets:
        return spec.pack(tensors)
    return spec.pack([_as_argument(*each, make_dataset) for each in zip(tensors, spec.leaves, strict=True)])


def _is_there(tensor: SymbolicTensor, binding: Binding) -> bool:
    """Whether a tensor from outside has a value already, as all have but variables of sessions."""
    variable = _root(tensor).op
    if not tensor.is_ref or variable.attrs.get("cell") is not None or binding.state is None:
        return True
    return binding.state.has_cell(variable.attrs["shared_name"])


def _captured_value(tensor: SymbolicTensor, binding: Binding) -> Any:
    """The value of a tensor from outside; of a variable, its cell."""
    if not tensor.is_ref:
        return binding.value(tensor)
    variable = _root(tensor).op
    cell = variable.attrs.get("cell")
    if cell is not None:
        return cell
    if binding.state is None:
        raise InvalidArgumentError(f"The dataset uses the variable {variable.name!r}, and is iterated in no session.")
    name = variable.name

    def refuse() -> Cell:
        raise InvalidArgumentError(f"The dataset uses the variable {name!r}, which has not been initialized.")

    return binding.state.cell(variable.attrs["shared_name"], refuse)


def _root(tensor: SymbolicTensor) -> SymbolicTensor:
    """The tensor of the outermost graph that one of a function's stands for."""
    while isinstance(tensor.graph, FunctionGraph):
        outside = [outer for outer, inner in tensor.graph.captures.items() if inner is tensor]
        if not outside:
            break
        tensor = outside[0]
    return tensor


class _Borrowed(State):
    """The state of a session, as long as the session is there.

    The threads of an iteration hold it. If they held the session's own state, which holds the iteration, neither would
    ever go away.
    """

    def __init__(self, state: State) -> None:
        super().__init__()
        self._owner: ref[State] = state._owner if isinstance(state, _Borrowed) else ref(state)
        self.closed = state.closed

    def _state(self) -> State:
        found = self._owner()
        if found is None:
            raise CancelledError("The session of this iterator is gone.")
        return found

    def cell(self, name: str, make: Callable[[], Cell]) -> Cell:
        """The cell of a variable of the session."""
        return self._state().cell(name, make)

    def has_cell(self, name: str) -> bool:
        """Whether a variable of the session has a cell already."""
        return self._state().has_cell(name)

    def resource(self, name: str, make: Callable[[], Any]) -> Any:
        """What the session holds under a name."""
        return self._state().resource(name, make)


# Datasets as values.


class ElementRun(Run):
    """A run for an element of an iteration, whose binding the datasets that it makes belong to."""

    __slots__ = ("binding",)

    def __init__(self, state: State, binding: Binding) -> None:
        super().__init__(state)
        self.binding = binding


_variant = op("DatasetVariant", "other_arguments: any* -> variant: resource", dataset=None)
_variant.shape(lambda other_arguments, *, dataset: SCALAR)


@_variant.kernel(CPU)
def _variant_kernel(other_arguments: list[Value], *, dataset: Node, run: Run) -> Bound:
    values = {id(tensor): value for tensor, value in zip(symbols_of(dataset), other_arguments, strict=True)}
    if isinstance(run, ElementRun):
        return Bound(dataset, run.binding.within(values))
    return Bound(dataset, Binding(values, run.state))


def variant_of(node: Node) -> SymbolicTensor:
    """The tensor of the graph being built that a dataset is there."""
    graph = here.graph
    assert graph is not None
    inputs = ([symbolic(graph, tensor) for tensor in symbols_of(node)],)
    before = build_into(graph, ROOT.child(parse_spec("/device:CPU:0")))
    try:
        results = [(_variant.outputs[0], dt.resource, SCALAR)]
        made: SymbolicTensor = graph.add(_variant, inputs, {"dataset": node}, {}, results, "DatasetVariant").outputs[0]
        return made
    finally:
        build_into(*before)


class Bound:
    """A dataset with the values of the tensors it depends on: what stands for it in an element.

    An array of datasets is a NumPy array of these; the value of one dataset may be an array without dimensions.
    """

    __slots__ = ("binding", "node")
    shape = ()

    def __init__(self, node: Node, binding: Binding) -> None:
        self.node = node
        self.binding = binding

    def start(self) -> Stream:
        """Begins an iteration."""
        return self.node.start(self.binding)

    def __getitem__(self, key: tuple[()]) -> Bound:
        """Itself, as an array without dimensions gives what it holds."""
        return self


class DatasetArray:
    """An array of datasets, as a function or a program gets it: ``from_tensor_slices`` and the like take it apart.

    Args:
        value: The tensor of a graph, or the NumPy array, that has them.
        leaf: What they are.
    """

    def __init__(self, value: Any, leaf: DatasetSpec) -> None:
        self.value = value
        self.leaf = leaf

    def __repr__(self) -> str:
        return f"<DatasetArray {self.leaf!r}>"


class Given(Node):
    """A dataset that a function takes: which one, is known when the function runs."""

    title = "Variant"

    def __init__(self, tensor: SymbolicTensor, spec: Spec) -> None:
        super().__init__(spec, (), (tensor,))

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration of the dataset that was given."""
        return self._bound(binding).start()

    def _bound(self, binding: Binding) -> Bound:
        return binding.value(self.symbols[0])[()]  # type: ignore[no-any-return]

    def at(self, binding: Binding, index: int) -> Element:
        """An element of the dataset that was given."""
        bound = self._bound(binding)
        return bound.node.at(bound.binding, index)

    def cardinality(self, binding: Binding) -> int:
        """The number of elements of the dataset that was given, once one was."""
        if id(self.symbols[0]) not in binding.values:
            return UNKNOWN
        bound = self._bound(binding)
        return bound.node.cardinality(bound.binding)


class Ready(Node):
    """A dataset that came as part of an element."""

    title = "Variant"

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound.node.spec)
        self._bound = bound

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration, with the values that came with it."""
        return self._bound.start()

    def at(self, binding: Binding, index: int) -> Element:
        """An element, with the values that came with it."""
        return self._bound.node.at(self._bound.binding, index)

    def cardinality(self, binding: Binding) -> int:
        """The number of elements, as far as it is known."""
        return self._bound.node.cardinality(self._bound.binding)
