"""Shape inference for a function call, which may know more than the function's graph.

A graph that was traced for tensors of any shape can be called with one of shape ``(3, 4)``, or with a known number that
a shape depends on. Then the shape rules of its operations are evaluated again:

    f(x, n)   made for float32[?], int32[]     tf.reshape(x, [n, -1])     float32[?,?]
    f(y, 2)   y is float32[6]                                             float32[2,3]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.function import FunctionGraph, captured
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.runtime.symbolic.build import infer
from situs._src.runtime.symbolic.fold import known_value


def shapes_for(function: FunctionGraph, given: Sequence[SymbolicTensor]) -> list[TensorShape]:
    """The shapes of a function's results when it is called with these tensors.

    Args:
        function: The graph of the function.
        given: Its arguments, followed by its captures.
    """
    shapes = [tensor.shape for tensor in function.results]
    inside = [*function.arguments, *function.captures.values()]
    if all(shape.is_fully_defined() for shape in shapes) or not any(map(_tells_more, inside, given)):
        return shapes
    again = _Again()
    for tensor, source in zip(inside, given, strict=True):
        again.enter(tensor, source)
    for node in _behind(function.results):
        again.add(node)
    return [again.found[tensor].shape for tensor in function.results]


def with_shapes(nodes: Sequence[Operation], shapes: Mapping[SymbolicTensor, TensorShape]) -> dict[Operation, Operation]:
    """Copies of operations, with the shapes inferred if some tensors have the given ones.

    Args:
        nodes: Operations of one graph, in order; inputs from other operations are used as they are.
        shapes: The shapes of some tensors, as they were fed or computed in a run.

    Returns:
        For each operation its copy; empty if all shapes are known anyway.
    """
    if all(tensor.shape.is_fully_defined() for node in nodes for tensor in (*node.inputs, *node.outputs)):
        return {}
    again = _Again()
    found: dict[Operation, Operation] = {}
    for node in nodes:
        for tensor in node.inputs:
            if tensor not in again.found:
                again.enter_shape(tensor, _narrowed(tensor.shape, shapes.get(tensor, tensor.shape)))
        found[node] = again.added(node, shapes)
    return found


def _tells_more(inside: SymbolicTensor, given: SymbolicTensor) -> bool:
    return inside.shape != given.shape or (_steers(given) and known_value(given) is not None)


def _steers(tensor: SymbolicTensor) -> bool:
    return tensor.dtype.is_integer and (tensor.shape.rank or 0) <= 1


def _behind(results: Sequence[SymbolicTensor]) -> list[Operation]:
    """The operations that results depend on, earlier ones first."""
    needed: set[Operation] = set()
    waiting = [tensor.op for tensor in results]
    while waiting:
        node = waiting.pop()
        if node not in needed:
            needed.add(node)
            waiting += [source.op for source in node.inputs]
    return sorted(needed, key=lambda node: node.index)


class _Again:
    """A graph with the same operations, of which only the shapes matter."""

    def __init__(self) -> None:
        self.found: dict[SymbolicTensor, SymbolicTensor] = {}
        self._graph = Graph()
        self._count = 0

    def enter(self, inside: SymbolicTensor, given: SymbolicTensor) -> None:
        """Replaces a tensor of the function by the caller's: its value, if known, else its shape."""
        node = self._made(inside.op, captured, (), {})
        self._give(node, [inside], [_narrowed(inside.shape, given.shape)])
        value = known_value(given) if _steers(given) else None
        if value is not None:
            self._graph.known_values[node.outputs[0]] = value

    def enter_shape(self, inside: SymbolicTensor, shape: TensorShape) -> None:
        """Gives a tensor a shape, whatever produces it."""
        self._give(self._made(inside.op, captured, (), {}), [inside], [shape])

    def added(self, node: Operation, shapes: Mapping[SymbolicTensor, TensorShape]) -> Operation:
        """Adds an operation, some of whose results have known shapes; returns its copy."""
        args = self._with_tensors(node.args)
        made = self._made(node, node.op_def, args, node.attrs)
        before = {tensor: self.found[tensor] for tensor in node.outputs if tensor in self.found}  # it is fed
        inferred = zip(node.outputs, self._shapes(node, args), strict=True)
        self._give(made, node.outputs, [_narrowed(shape, shapes.get(tensor, shape)) for tensor, shape in inferred])
        self.found.update(before)
        return made

    def add(self, node: Operation) -> None:
        """Adds an operation, with the shapes that its rule infers now."""
        if all(tensor in self.found for tensor in node.outputs):
            return
        args = self._with_tensors(node.args)
        made = self._made(node, node.op_def, args, node.attrs)
        self._give(made, node.outputs, self._shapes(node, args))

    def _shapes(self, node: Operation, args: Any) -> list[TensorShape]:
        before = [tensor.shape for tensor in node.outputs]
        if node.type == "PartitionedCall":
            now = shapes_for(node.attrs["f"], [*args[0], *args[1]])
        else:
            try:
                now = infer(node.op_def, args, dict(node.attrs))
            except Exception:  # errors of the call are raised when it runs
                return before
        return [_narrowed(*pair) for pair in zip(before, now, strict=True)] if len(now) == len(before) else before

    def _made(self, node: Operation, op_def: Any, args: Any, attrs: Any) -> Operation:
        made = Operation(self._graph, op_def, node.name, args, attrs, node.types, node.made_at)
        made.index, self._count = self._count, self._count + 1
        return made

    def _give(self, made: Operation, tensors: Sequence[SymbolicTensor], shapes: Sequence[TensorShape]) -> None:
        for number, (tensor, shape) in enumerate(zip(tensors, shapes, strict=True)):
            made.outputs.append(SymbolicTensor(made, number, tensor.dtype, shape, tensor.is_ref))
            self.found[tensor] = made.outputs[-1]

    def _with_tensors(self, arg: object) -> Any:
        if isinstance(arg, SymbolicTensor):
            return self.found[arg]
        return type(arg)(self._with_tensors(item) for item in arg) if isinstance(arg, (list, tuple)) else arg


def _narrowed(before: TensorShape, now: TensorShape) -> TensorShape:
    """What is known from both; the previous shape, if they disagree."""
    return before.merge_with(now) if before.is_compatible_with(now) else before
