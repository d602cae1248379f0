"""Graphs of functions, branches and loop bodies.

A `FunctionGraph` is nested in another graph. When one of its operations takes a tensor of an outer graph, the tensor is
*captured*: an operation ``Captured`` stands for it inside, and the operation that contains the function graph takes the
tensor as an input.

    outer:   x ----------------.           inside:   Captured --- Mul --- result
    outer:   pred --- If(pred, x)                                 2.0 --'
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.dtype import ALL, DType, resource, variant
from situs._src.base.errors import DTypeError
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.replicas import Replicas
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.kernel import CPU, GPU
from situs._src.ir.registry.op import op
from situs._src.ir.registry.signature import Arg
from situs._src.ir.registry.traits import FED

captured = op("Captured", "-> output: dtype", traits={FED}, dtype=ALL | {resource, variant})
captured.shape(lambda: UNKNOWN)
captured.kernel(CPU, GPU)(lambda: None)  # never called: its value is passed in; the placer requires one


class FunctionGraph(Graph):
    """A graph nested in another one, or of a ``tf.function``.

    Args:
        outer: The outer graph; None for a ``tf.function`` called by eager code.
        compares_elements: Whether ``==`` between its tensors is an op, as it is in a ``tf.function``.
    """

    is_inner = True
    will_run = True  # or it is there to find out the shapes of results, and is dropped then

    def __init__(self, outer: Graph | None, compares_elements: bool | None = None) -> None:
        super().__init__()
        self.outer = outer
        self.has_dimensions = outer is not None and outer.has_dimensions
        if compares_elements is None:
            compares_elements = outer is not None and outer.compares_elements
        self.compares_elements = compares_elements
        self.captures: dict[SymbolicTensor, SymbolicTensor] = {}  # outside -> inside
        self.arguments: list[SymbolicTensor] = []
        self.replicas: Replicas | None = None  # which run at the same time
        # Whether operations with side effects run even if no result needs them: in a tf.function, and everything
        # nested.
        self.runs_effects: bool = compares_elements or getattr(outer, "runs_effects", False)
        self.waits_for: dict[Operation, None] = {}  # operations further out
        self.run_anyway: list[Operation] = []  # operations that were returned instead of tensors
        self.results: list[SymbolicTensor] = []
        if outer is not None:
            self._collections = outer._collections  # what a branch collects belongs to the program
            self.seed = outer.seed

    def add_argument(self, dtype: DType, shape: TensorShape, name: str = "arg") -> SymbolicTensor:
        """Adds an argument of the function: a tensor that the caller passes."""
        tensor = self._stand_in(dtype, shape, False, name)
        self.arguments.append(tensor)
        return tensor

    def capture(self, tensor: SymbolicTensor) -> SymbolicTensor:
        """The inner tensor for one of an outer graph."""
        if tensor.graph is self:
            return tensor
        tensor = here.look(tensor) if here.look is not None else tensor
        if tensor.graph is self:
            return tensor
        found = self.captures.get(tensor)
        if found is None:
            if self.outer is None:  # nothing lies further out: the graphs have nothing to do with each other
                if isinstance(tensor.graph, FunctionGraph):
                    raise DTypeError(
                        f"{tensor!r} is out of scope and cannot be used here: it was made inside a tf.function, while "
                        "its graph was made, and has no value outside. Return it from that function, and use what a "
                        "call returns."
                    )
                return super().capture(tensor)
            outside = self.outer.capture(tensor)
            found = self.captures.get(outside)
            if found is None:
                found = self._stand_in(outside.dtype, outside.shape, outside.is_ref, _last_part(outside.op.name))
                self.captures[outside] = found
        return found

    def _as_control(self, item: object) -> Operation | None:
        """A control input; for an outer one, the operation that contains this graph waits."""
        node = getattr(item, "op", item)
        if not isinstance(node, Operation) or node.graph is self or self.outer is None:
            return super()._as_control(item)
        outside = self.outer._as_control(node)
        if outside is not None:
            self.waits_for[outside] = None
        return None

    def _stand_in(self, dtype: DType, shape: TensorShape, is_ref: bool, name: str) -> SymbolicTensor:
        """A placeholder for a value from outside: without control inputs and device request."""
        result = (Arg("output", "dtype", is_ref=is_ref), dtype, shape)
        with self.control_dependencies(None), self.colocate_with(None, ignore_existing=True):
            return self.add(captured, (), {}, {"dtype": dtype}, [result], name).outputs[0]

    def emptied(self, outer: Graph) -> FunctionGraph:
        """An empty graph of the same kind, to be filled with copies.

        Args:
            outer: Its outer graph.
        """
        made = object.__new__(type(self))
        FunctionGraph.__init__(made, outer, self.compares_elements)
        made.has_dimensions, made.runs_effects, made.compiles = self.has_dimensions, self.runs_effects, self.compiles
        made.seed, made.seeds_used = self.seed, self.seeds_used
        return made

    def __repr__(self) -> str:
        return f"<FunctionGraph of {len(self)} operations>"


def _last_part(name: str) -> str:
    return name.rpartition("/")[2].lstrip("_") or "captured"


def outermost(graph: Graph) -> Graph:
    """The outermost graph of a function's graph."""
    while graph.outer is not None:
        graph = graph.outer
    return graph


def graph_of(values: Any, depth: int = 8) -> Graph | None:
    """The graph of the first symbolic tensor among inputs of any kind; None if there is none.

    Lists are searched only to a limited depth: one that contains itself raises a better error later.
    """
    for value in values:
        if isinstance(value, SymbolicTensor):
            return value.op.graph
        if isinstance(value, (list, tuple)):
            found = graph_of(value, depth - 1) if depth else None
            if found is not None:
                return found
        elif hasattr(type(value), "_as_graph_element"):  # a variable of a graph
            return value.graph  # type: ignore[no-any-return]
    return None


# The graphs of an operation that its results come from, and its residuals.
GIVING: dict[str, tuple[str, ...]] = {
    "If": ("then_branch", "else_branch"),
    "While": ("body",),
    "PartitionedCall": ("f",),
}


def graphs_of(node: Operation) -> list[tuple[str, FunctionGraph]]:
    """The graphs of an operation, with the names of the attributes."""
    found: list[tuple[str, FunctionGraph]] = []
    for name, value in node.attrs.items():
        several = isinstance(value, (list, tuple))
        for number, item in enumerate(value if several else (value,)):
            if isinstance(item, FunctionGraph):
                found.append((f"{name}[{number}]" if several else name, item))
    return found


def operations_in(node: Operation) -> Iterator[Operation]:
    """An operation, and those in its graphs."""
    yield node
    for _, graph in graphs_of(node):
        for inner in graph.operations:
            yield from operations_in(inner)
