"""`verify`: checks the invariants of a graph.

One function per invariant:

    names      every operation is in the table under its name, and at its position
    results    numbered from 0 and owned by their operation
    inputs     results of earlier operations of the same graph
    controls   the same of control inputs
    requests   devices and colocations are requested by strings
    links      operations know the users of their results, and who waits for them
    signature  inputs, dtypes and results are those that the op declares
    shapes     static shapes do not contradict the op's shape rule
    inner      the same inside nested graphs; their captures are inputs here

A graph that breaks one is a bug in Situs: the error says which, and shows the lines around the operation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from situs._src.base.dtype import DType, variant
from situs._src.base.errors import InternalError
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.function import GIVING, FunctionGraph, captured, graphs_of
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation, tensors_in
from situs._src.ir.graph.printer import neighbourhood
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import infer_shapes
from situs._src.ir.registry.signature import ANY, Arg


def verify(graph: Graph) -> None:
    """Checks a graph, and the graphs inside it.

    Raises:
        InternalError: it breaks an invariant; the message says which, and shows where.
    """
    operations = graph.operations
    if len(graph._by_name) != len(operations):
        lost = sorted(graph._by_name.keys() - {node.name for node in operations})
        raise InternalError(
            f"The graph has {len(operations)} operations and {len(graph._by_name)} names; without operation: {lost}."
        )
    for number, node in enumerate(operations):
        if node.index != number:
            _fail(node, f"it is operation {number} of the graph and says it is {node.index}.", graph)
        if node.graph is not graph:
            _fail(node, f"it stands in {graph!r} and says it belongs to {node.graph!r}.", graph)
        verify_operation(node)
    _links(operations)
    if isinstance(graph, FunctionGraph):
        _function(graph)


def verify_operation(node: Operation) -> None:
    """Checks one operation, and its graphs.

    Raises:
        InternalError: it breaks an invariant.
    """
    for check in (_names, _results, _inputs, _controls, _requests, _signature, _shapes, _inner):
        check(node.graph, node)


def _fail(node: Operation, what: str, graph: Graph | None = None) -> NoReturn:
    shown = neighbourhood(node.graph if graph is None else graph, node)
    raise InternalError(f"Operation '{node.name}' ({node.type}): {what}\n\n{shown}")


def _names(graph: Graph, node: Operation) -> None:
    if graph._by_name.get(node.name) is not node:
        _fail(node, f"under its name the graph finds {graph._by_name.get(node.name)!r}.")


def _results(graph: Graph, node: Operation) -> None:
    for place, tensor in enumerate(node.outputs):
        if tensor.op is not node:
            _fail(node, f"result {place} says it belongs to {tensor.op!r}.")
        if tensor.value_index != place:
            _fail(node, f"result {place} says it is result {tensor.value_index}.")


def _inputs(graph: Graph, node: Operation) -> None:
    if not _same_objects(node.inputs, tensors_in(node.args)):
        _fail(node, "its inputs are not the tensors in its args.")
    for tensor in node.inputs:
        _check_earlier(graph, node, tensor.op, f"input {tensor.name}")
        if not any(tensor is own for own in tensor.op.outputs):
            _fail(node, f"input {tensor.name} is no result of that operation.")


def _controls(graph: Graph, node: Operation) -> None:
    for other in node.control_inputs:
        _check_earlier(graph, node, other, f"control input ^{other.name}")
    if len(set(node.control_inputs)) != len(node.control_inputs):
        _fail(node, "it waits twice for the same operation.")


def _links(operations: Sequence[Operation]) -> None:
    """Data and control inputs know their users: all of them, once each, and no others."""
    consumers: dict[Operation, list[Operation]] = {}
    followers: dict[Operation, list[Operation]] = {}
    for node in operations:
        for producer in {tensor.op for tensor in node.inputs}:
            consumers.setdefault(producer, []).append(node)
        for other in node.control_inputs:
            followers.setdefault(other, []).append(node)
    for node in operations:
        _check_known(node, "consumers", node.consumers, consumers.get(node, []))
        _check_known(node, "followers", node.followers, followers.get(node, []))


def _check_known(node: Operation, what: str, known: list[Operation], real: list[Operation]) -> None:
    wrong = Counter(known)
    wrong.subtract(real)
    for other, times in wrong.items():
        if times:
            _fail(node, f"'{other.name}' stands {known.count(other)} times among its {what}, not {real.count(other)}.")


def _check_earlier(graph: Graph, node: Operation, other: Operation, what: str) -> None:
    if other.graph is not graph:
        _fail(node, f"its {what} belongs to another graph, {other.graph!r}.")
    if not 0 <= other.index < node.index:
        _fail(node, f"its {what} is operation {other.index}, and not made before operation {node.index}.")
    if graph._operations[other.index] is not other:
        _fail(node, f"its {what} belongs to an operation that is not in the graph.")


def _same_objects(a: Iterable[Any], b: Iterable[Any]) -> bool:
    # Tensors may compare elementwise, so == cannot be used.
    return [id(item) for item in a] == [id(item) for item in b]


def _requests(graph: Graph, node: Operation) -> None:
    if not isinstance(node.device, str):
        _fail(node, f"its device request is no text, but {node.device!r}.")
    if not isinstance(node.colocated_with, tuple) or not all(isinstance(name, str) for name in node.colocated_with):
        _fail(node, f"its colocations are no names, but {node.colocated_with!r}.")


# Signatures.


def _signature(graph: Graph, node: Operation) -> None:
    declared = node.op_def
    if len(node.args) != len(declared.inputs):
        _fail(node, f"the op takes {len(declared.inputs)} inputs ({declared.signature}), it has {len(node.args)}.")
    for variable in declared.signature.variables:
        dtype = node.types.get(variable)
        if variable != ANY and dtype is None:
            _fail(node, f"it has no dtype for {variable!r} ({node.op_def.signature}).")
        if dtype is not None and dtype not in node.op_def.types[variable]:
            _fail(node, f"the op does not allow {variable} = {dtype.name}.")
    for arg, value in zip(declared.inputs, node.args, strict=True):
        _check_arg(node, arg, value)
    for arg, tensor in zip(_declared_results(node), node.outputs, strict=True):
        _check_dtype(node, arg, tensor, f"result {tensor.value_index}")
        if tensor.is_ref != arg.is_ref and declared is not captured:
            _fail(
                node, f"result {tensor.value_index} is {'' if tensor.is_ref else 'not '}state, unlike the op declares."
            )


def _check_arg(node: Operation, arg: Arg, value: Any) -> None:
    if arg.is_host:
        return
    if arg.is_list != isinstance(value, (list, tuple)):
        _fail(node, f"input {arg.name!r} is {'a list' if arg.is_list else 'one tensor'}, it has {value!r}.")
    for tensor in value if arg.is_list else [value]:
        if not isinstance(tensor, SymbolicTensor):
            _fail(node, f"input {arg.name!r} is no tensor of a graph, but {tensor!r}.")
        _check_dtype(node, arg, tensor, f"input {arg.name!r}")
        if arg.is_ref and not tensor.is_ref:
            _fail(node, f"input {arg.name!r} must be state, {tensor.name} is a value.")


def _check_dtype(node: Operation, arg: Arg, tensor: SymbolicTensor, what: str) -> None:
    wanted = arg.type if isinstance(arg.type, DType) else node.types.get(arg.type)
    if wanted is not None and tensor.dtype is not wanted:
        _fail(node, f"{what} is {tensor.dtype.name}, not {wanted.name} as {arg}.")


def _declared_results(node: Operation) -> list[Arg]:
    declared = list(node.op_def.outputs)
    if len(declared) == 1 and declared[0].is_list:
        return declared * len(node.outputs)
    if len(declared) != len(node.outputs):
        _fail(node, f"the op has {len(declared)} results ({node.op_def.signature}), it has {len(node.outputs)}.")
    return declared


# Shapes.


def _shapes(graph: Graph, node: Operation) -> None:
    if node.op_def.shape_rule is None or any(arg.type == ANY for arg in node.op_def.outputs):
        return
    try:
        shapes = infer_shapes(node.op_def, _rule_inputs(node), node.attrs)
    except Exception as error:
        if not _is_known(node):
            return  # some rules need the value that is not known yet
        _fail(node, f"its shape rule refuses the inputs: {error}")
    if len(shapes) != len(node.outputs):
        _fail(node, f"its shape rule says {len(shapes)} results, it has {len(node.outputs)}.")
    for tensor, shape in zip(node.outputs, shapes, strict=True):
        if not tensor.shape.is_compatible_with(shape):
            _fail(node, f"result {tensor.value_index} has the shape {tensor.shape}, its shape rule says {shape}.")


def _rule_inputs(node: Operation) -> tuple[Any, ...]:
    return tuple(_rule_input(arg, value) for arg, value in zip(node.op_def.inputs, node.args, strict=True))


def _rule_input(arg: Arg, value: Any) -> Any:
    if arg.is_host:
        return None if tensors_in([value]) else value
    return [tensor.shape for tensor in value] if arg.is_list else value.shape


def _is_known(node: Operation) -> bool:
    """Whether all host inputs are static."""
    hosts = [value for arg, value in zip(node.op_def.inputs, node.args, strict=True) if arg.is_host]
    return not tensors_in(hosts)


# Graphs inside.


def _inner(graph: Graph, node: Operation) -> None:
    for name, inner in graphs_of(node):
        if inner.outer is not graph:
            _fail(node, f"its {name} lies in {inner.outer!r}, not in the graph of the operation.")
        for outside in inner.captures:
            if not any(outside is tensor for tensor in node.args[-1]):
                _fail(node, f"its {name} captures {outside.name}, which is not among its inputs.")
        try:
            verify(inner)
        except InternalError as error:
            raise InternalError(f"Inside {name} of '{node.name}': {error}") from None
    _check_parts(node)


def _check_parts(node: Operation) -> None:
    """The dtypes of inputs and outputs of branches, loop bodies and called functions."""
    inner, made = dict(graphs_of(node)), [tensor.dtype for tensor in node.outputs]
    _check_residuals(node)
    given = {"then_branch": [], "else_branch": [], "f": [tensor.dtype for tensor in tensors_in(node.args[:1])]}
    if node.type == "While":
        states = [tensor.dtype for tensor in node.args[0]]
        given |= {"cond": states, "body": states}
        if made not in (states, [*states, variant]):  # with a history or without
            _fail(node, f"it takes {_dtypes(states)}, and gives {_dtypes(made)}.")
        made = states
    for number, name in enumerate(GIVING.get(node.type, ())):
        further = [] if node.type == "While" else [residual[number] for residual in node.residuals]
        if (found := [tensor.dtype for tensor in [*inner[name].results, *further]]) != made:
            _fail(node, f"its {name} gives {_dtypes(found)}, the operation {_dtypes(made)}.")
    for name, wanted in given.items():
        if name in inner and (found := [tensor.dtype for tensor in inner[name].arguments]) != wanted:
            _fail(node, f"its {name} takes {_dtypes(found)}, and is given {_dtypes(wanted)}.")


def _check_residuals(node: Operation) -> None:
    graphs = [node.attrs[name] for name in GIVING.get(node.type, ())]
    for residual in node.residuals:
        if [tensor.graph for tensor in residual] != graphs:
            _fail(node, f"its residual {[tensor.name for tensor in residual]} is not one tensor of each of its graphs.")
    if node.residuals and node.type == "While" and len(node.outputs) == len(node.args[0]):
        _fail(node, "it has residuals, and no history that they are in.")


def _dtypes(dtypes: list[DType]) -> str:
    return f"({', '.join(dtype.name for dtype in dtypes)})"


def _function(graph: FunctionGraph) -> None:
    for outside, inside in graph.captures.items():
        if outside.graph is not graph.outer:
            _fail(inside.op, f"it stands for {outside.name}, which does not belong to the graph outside.")
        if outside.dtype is not inside.dtype or not outside.shape.is_compatible_with(inside.shape):
            _fail(inside.op, f"it stands for {outside.name}, which is {outside.dtype.name}{_brackets(outside.shape)}.")
    for tensor in [*graph.arguments, *graph.captures.values(), *graph.results]:
        if tensor.graph is not graph:
            raise InternalError(f"{tensor.name} comes into or out of {graph!r}, but does not belong to it.\n\n{graph}")
    known = {id(tensor.op) for tensor in [*graph.arguments, *graph.captures.values()]}
    for node in graph.operations:
        if (node.op_def is captured) != (id(node) in known):
            _fail(node, "what comes from outside is an argument or captured, and nothing else is.")


def _brackets(shape: TensorShape) -> str:
    return "" if shape.rank is None else str(shape.as_list())
