"""Residuals: values from inside a branch, a called function or a loop that its gradient needs later, outside.

An operation that contains graphs returns them as additional results, listed in its ``residuals``. The branch that is
not taken returns zeros for them. A loop saves them in every iteration, in one additional result, its *history*: a list
with a list of residuals for each iteration (`ops.tensor_list`).

    If(pred, x)  ->  y, residual...
    While(i, x)  ->  i, x, history        history[5][2]: the third residual of the sixth iteration

The results are added to the operation when a gradient is requested; a plan that was made before does without them. They
are results like any other, with gradients of their own, so higher derivatives go through them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from situs._src.base.devices.scope import here
from situs._src.base.dtype import variant
from situs._src.base.shapes import SCALAR, UNKNOWN, TensorShape
from situs._src.ir.graph.context import as_default
from situs._src.ir.graph.function import FunctionGraph
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.array import identity
from situs._src.ops.tensor_list import get_row, reserve
from situs._src.runtime.eager.tensor import EagerTensor
from situs._src.runtime.symbolic.bind import constant

See = Callable[[SymbolicTensor], Any]  # maps a tensor to the graph where a gradient is built


def history_of(loop: Operation) -> SymbolicTensor:
    """The result of a loop with the residuals of its iterations; added if it has none."""
    states = len(loop.args[0])
    if len(loop.outputs) == states:
        loop.outputs.append(SymbolicTensor(loop, states, variant, SCALAR, False))
    return loop.outputs[states]


class View:
    """Maps the tensors of an inner graph to where its gradient is built.

    Args:
        inner: The graph.
        see: Maps the tensors of the outer graph.
        node: The operation that contains it.
    """

    def __init__(self, inner: FunctionGraph, see: See, node: Operation) -> None:
        self.inner = inner
        self.see = see
        self.node = node
        self._outside = {inside: outside for outside, inside in inner.captures.items()}
        self._seen: dict[tuple[SymbolicTensor, Graph], Any] = {}

    def __call__(self, tensor: SymbolicTensor) -> Any:
        """The counterpart of a tensor: the outer one, if it was captured; the same constant; else its residual."""
        if tensor.graph is not self.inner:
            return tensor
        if tensor in self._outside:
            return self.see(self._outside[tensor])
        key = (tensor, here.graph)
        if key not in self._seen:
            is_constant = tensor.op.type == "Const" and not isinstance(tensor.op.attrs["value"], EagerTensor)
            self._seen[key] = self._constant(tensor) if is_constant else self.value(tensor)
        return self._seen[key]

    def look(self, tensor: SymbolicTensor) -> Any:
        """The counterpart of a tensor of the inner graph, or of an outer one whose gradient is being built as well."""
        view: Any = self
        while isinstance(view, View):
            if tensor.graph is view.inner:
                return view(tensor)
            view = view.see
        return tensor

    def _constant(self, tensor: SymbolicTensor) -> SymbolicTensor:
        return constant(here.graph, tensor.op.attrs["value"], tensor.dtype)

    def value(self, tensor: SymbolicTensor) -> Any:
        """The outer tensor with the value of an inner one."""
        raise NotImplementedError


class ResultView(View):
    """The view of a branch or of a called function, whose residuals are additional results.

    Args:
        inner: The graph.
        see: Maps the tensors of the outer graph.
        node: The operation that contains it.
        graphs: The graphs of the operation: this one, and that of the other branch.
    """

    def __init__(self, inner: FunctionGraph, see: See, node: Operation, graphs: Sequence[FunctionGraph]) -> None:
        super().__init__(inner, see, node)
        self._graphs = graphs
        self._number = next(number for number, graph in enumerate(graphs) if graph is inner)

    def value(self, tensor: SymbolicTensor) -> Any:
        """The result with the value of an inner tensor, added to the operation if there is none."""
        seen = self.see(self._result(tensor))
        return seen if seen.shape == tensor.shape else with_shape(seen, tensor.shape)

    def _result(self, tensor: SymbolicTensor) -> SymbolicTensor:
        results, residuals = self.inner.results, self.node.residuals
        if len(self._graphs) == 1:
            known = next((n for n, result in enumerate(results) if result is tensor), None)
            if known is not None:
                return self.node.outputs[known]
        for number, residual in enumerate(residuals):
            if residual[self._number] is tensor:
                return self.node.outputs[len(results) + number]
        residuals.append(tuple(tensor if graph is self.inner else _zero(graph, tensor) for graph in self._graphs))
        shape = tensor.shape if len(self._graphs) == 1 or tensor.dtype is variant else UNKNOWN
        made = SymbolicTensor(self.node, len(self.node.outputs), tensor.dtype, shape, False)
        self.node.outputs.append(made)
        return made


class IterationView(View):
    """The view of one iteration of a loop.

    Args:
        inner: The graph of the body.
        see: Maps the tensors of the outer graph.
        node: The loop.
        saved: The list of the residuals of the iteration.
    """

    def __init__(self, inner: FunctionGraph, see: See, node: Operation, saved: Any) -> None:
        super().__init__(inner, see, node)
        self._saved = saved

    def value(self, tensor: SymbolicTensor) -> Any:
        """The saved value of a tensor in the iteration."""
        residuals = self.node.residuals
        number = next((n for n, (known,) in enumerate(residuals) if known is tensor), None)
        if number is None:
            number = len(residuals)
            residuals.append((tensor,))
        return get_row([self._saved], number, dtype=tensor.dtype, row_shape=tensor.shape)


def with_shape(tensor: Any, shape: TensorShape) -> Any:
    """A tensor, with its shape refined."""
    known: Any = identity(tensor)
    known.set_shape(shape)
    return known


def _zero(graph: FunctionGraph, like: SymbolicTensor) -> SymbolicTensor:
    with as_default(graph):
        if like.dtype is variant:
            return reserve(0)  # type: ignore[return-value]
        return constant(graph, np.zeros((), like.dtype.as_numpy_dtype), like.dtype)
