"""The graphs of functions as calls in one graph, for the file:

    w = Variable                                        each variable once
    functions/f/x = Placeholder                         the arguments of a function
    functions/f = PartitionedCall(x | w)                the function

A session can run such a graph as well. Functions are saved as they were traced: no user code runs.
"""

from __future__ import annotations

from typing import Any

from situs._src.base.devices.scope import device
from situs._src.base.errors import FailedPreconditionError
from situs._src.base.proto.graph import FunctionDef
from situs._src.ir.graph.context import as_default
from situs._src.ir.graph.function import FunctionGraph
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.names import as_node_name
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.serialize import to_function_defs
from situs._src.ops.call import partitioned_call
from situs._src.ops.constant import zeros
from situs._src.ops.inner import hold
from situs._src.ops.placeholder import placeholder
from situs._src.runtime.symbolic.importer import Importer, Interface
from situs._src.runtime.symbolic.node_def import Source
from situs._src.runtime.symbolic.reinfer import shapes_for
from situs._src.saved_model.objects import first_component
from situs._src.saved_model.restored import portable, used_in
from situs._src.tracing.concrete import ConcreteFunction
from situs._src.variables.capture import captured_variables
from situs._src.variables.symbolic import RefVariable

FOLDER = "functions"


class Exported:
    """A function in the graph: the operation that calls it, and the variables that it uses."""

    def __init__(self, call: Operation, arguments: list[Operation], variables: list[Any]) -> None:
        self.call = call
        self.arguments = arguments
        self.variables = variables


class UntrackedError(FailedPreconditionError, AssertionError):
    """A function uses what the objects to be saved do not lead to; TensorFlow raises an ``AssertionError``."""


class Exporter:
    """Collects functions and variables in one graph."""

    def __init__(self) -> None:
        self.graph = Graph()
        self._variables: dict[int, RefVariable] = {}
        self._functions: dict[int, Exported] = {}
        self._kept: list[Any] = []  # whose identities are keys

    def add_variable(self, variable: Any) -> str:
        """Adds a variable, and returns the name that it has in the graph."""
        sizes = [] if variable.shape.rank is None else [0 if size is None else size for size in variable.shape]
        with as_default(self.graph), device(None):
            made = RefVariable(
                zeros(sizes, variable.dtype),
                trainable=variable.trainable,
                name=as_node_name(variable.name.removesuffix(":0")),
                shape=variable.shape,
            )
        for each in (variable, first_component(variable)):
            self._variables[id(each)] = made
        self._kept.append(variable)
        return made.op.name

    def add(self, concrete: ConcreteFunction, title: str) -> Exported:
        """Adds a function, unless the same graph has been added before.

        Args:
            concrete: The function.
            title: What to call it.

        Raises:
            AssertionError: it uses a variable that has not been added.
            InvalidArgumentError: it holds an object of Python's, such as the function of a ``py_func``.
        """
        graph = concrete.graph
        found = self._functions.get(id(graph))
        if found is None:
            found = self._functions[id(graph)] = self._added(graph, title)
            self._kept.append(graph)
        return found

    def _added(self, graph: FunctionGraph, title: str) -> Exported:
        used = captured_variables(graph)
        for variable, _ in used:
            if id(variable) not in self._variables:
                raise UntrackedError(
                    "Tried to export a function which references an 'untracked' resource: the variable "
                    f"{variable.name!r} of shape {variable.shape} is used by {title}, but no attribute of the objects "
                    "that are saved leads to it. Keep it as an attribute of the object, or of an object that it has."
                )
        *library, function = to_function_defs(title, graph)
        with as_default(self.graph), device(None):
            name = self.graph.unique_name(f"{FOLDER}/{title}")
            inner = self._imported(function, library, {node.op.name: variable for variable, node in used})
            given: list[Any] = [
                placeholder(tensor.dtype, tensor.shape, name=f"{name}/{tensor.op.name}") for tensor in graph.arguments
            ]
            captured = list(inner.captures)
            shapes = shapes_for(inner, [*given, *captured])
            results = [(tensor.dtype, shape) for tensor, shape in zip(inner.results, shapes, strict=True)]
            call = hold(self.graph, partitioned_call, (given, captured), {"f": inner}, results, f"{name}/")
        by_tensor = {self._variables[id(variable)].op.outputs[0]: variable for variable, _ in used}
        return Exported(call, [tensor.op for tensor in given], [by_tensor[tensor] for tensor in captured])

    def _imported(self, function: FunctionDef, library: list[FunctionDef], variables: dict[str, Any]) -> FunctionGraph:
        """The graph of a function inside of the whole, with its variables."""
        name = function.signature.name
        interface = Interface(function, self.graph, (), (name,))
        inner = interface.graph
        inputs = {Source(own, 0): inner.capture(self._variables[id(v)].op.outputs[0]) for own, v in variables.items()}
        nodes = [portable(node, variables) for node in function.node_def if node.name not in variables]
        functions = {each.signature.name: each for each in library}
        for each in library:
            for node in each.node_def:
                node.device = ""
        importer = Importer(inner, nodes, "", functions, used_in(nodes, inputs), interface)
        with as_default(inner):
            importer.run()
        interface.finish(importer)
        return inner
