"""Graphs inside operations: the common part of branches, loops and function calls.

A Python function is traced once into a separate graph, which becomes part of one operation. Its captures become inputs
of that operation:

    with building(graph):
        made = Inner(graph, function)       calls the function
        made.finish()                       makes results of what it returned
        made.graph.captures                 what the operation has to take
        made.form, made.graph.results       what it returns
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.dtype import DType
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.base.tensor import read
from situs._src.base.tree import LEAF, flatten, put_together, take_apart
from situs._src.ir.graph.context import as_default
from situs._src.ir.graph.function import FunctionGraph, graph_of
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.signature import Arg
from situs._src.ops.constant import convert_to_tensor
from situs._src.runtime.eager.tensor import EagerTensor
from situs._src.runtime.symbolic.bind import held

Kinds = Sequence[tuple[DType, TensorShape]]


def graph_for(values: Sequence[Any]) -> Graph | None:
    """The graph that an operation on these values is added to; None if it runs at once."""
    return here.graph if here.graph is not None else graph_of(values)


def building(graph: Graph) -> AbstractContextManager[Any]:
    """A context in which ops are added to `graph`."""
    return nullcontext() if here.graph is graph else as_default(graph)


def symbolic(graph: Graph, value: object, dtype: DType | None = None) -> SymbolicTensor:
    """The tensor of `graph`, which is being built, for a value of any kind; `dtype` is for what has none yet."""
    value = read(value)
    if isinstance(value, SymbolicTensor):
        return graph.capture(value)
    if isinstance(value, EagerTensor):
        return held(graph, value)
    return graph.capture(convert_to_tensor(value, dtype))  # type: ignore[arg-type]


class Inner:
    """A Python function as a graph inside another one.

    Args:
        outer: The graph that the operation goes into.
        function: The function; called at once.
        arguments: The dtypes and shapes of the tensors it takes.
        form: The form in which it takes them; one after the other by default.
    """

    def __init__(self, outer: Graph, function: Callable[..., Any], arguments: Kinds = (), form: Any = None) -> None:
        self.graph = FunctionGraph(outer)
        self.form: Any = None
        with as_default(self.graph):
            given = [self.graph.add_argument(dtype, shape, "loop_var") for dtype, shape in arguments]
            self.made = function(*(given if form is None else put_together(form, given)))

    def finish(self, dtypes: Sequence[DType | None] = ()) -> None:
        """Turns what the function returned into the results of the graph; `dtypes` are for what has none yet."""
        with as_default(self.graph):
            self.form, leaves = take_apart(self.made, leaf_or_none, composites=True)
            wanted = [*dtypes, *[None] * (len(leaves) - len(dtypes))]
            pairs = zip(leaves, wanted[: len(leaves)], strict=True)
            self.graph.results = [symbolic(self.graph, leaf, dtype) for leaf, dtype in pairs]
            self.graph.run_anyway = [leaf for leaf in flatten(self.made) if isinstance(leaf, Operation)]

    @property
    def kinds(self) -> list[tuple[DType, TensorShape]]:
        """The dtypes and shapes of the results."""
        return [(tensor.dtype, tensor.shape) for tensor in self.graph.results]


def leaf_or_none(value: object) -> Any:
    """What a form keeps of a result: None for None, and for an operation, which has no value."""
    return None if value is None or isinstance(value, Operation) else LEAF


def hold(
    graph: Graph, op_def: Op, args: tuple[Any, ...], graphs: dict[str, Any], results: Kinds, name: str
) -> Operation:
    """Adds the operation that holds some graphs."""
    declared = [(Arg("output", "any"), dtype, shape) for dtype, shape in results]
    return graph.add(op_def, args, graphs, {}, declared, name)


def captured_by(*graphs: FunctionGraph) -> list[SymbolicTensor]:
    """What some graphs take from outside, each tensor once."""
    return list(dict.fromkeys(tensor for graph in graphs for tensor in graph.captures))


def common(a: TensorShape, b: TensorShape) -> TensorShape:
    """What holds for both shapes."""
    if a.rank is None or a.rank != b.rank:
        return UNKNOWN
    return TensorShape([x if x == y else None for x, y in zip(a, b, strict=True)])
