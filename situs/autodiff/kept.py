"""Values from inside a branch, a called function or a loop, for its gradient, which is computed outside, later.

A branch or a called function returns them as further results; the branch that is not taken returns a zero in
their place. A loop keeps them for every turn, in one further result, a *keep*:

    If(pred, x)  ->  y, exposed...
    While(i, x)  ->  i, x, keep       KeptValue(KeptTurn(keep, 5), 2)      the third kept value of the sixth turn

The operation gets these results when somebody asks for a gradient; what was planned before is not concerned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from situs import dtype as dt
from situs.devices.scope import here
from situs.dtype import ALL
from situs.eager.tensor import EagerTensor
from situs.errors import UnimplementedError
from situs.graph.context import as_default
from situs.graph.function import FunctionGraph
from situs.graph.graph import Graph
from situs.graph.node import Operation
from situs.graph.tensor import SymbolicTensor
from situs.ops.array import identity
from situs.ops.define import CPU, GPU, op
from situs.shapes import UNKNOWN, TensorShape
from situs.symbolic.bind import constant

_value = op("KeptValue", "keep: resource -> value: dtype", dtype=ALL | {dt.resource}, index=0, known_shape=UNKNOWN)
_value.shape(lambda keep, *, index, known_shape: known_shape)
_turn = op("KeptTurn", "keep: resource, turn: host -> keep_of_turn: resource")
_turn.shape(lambda keep, turn: TensorShape([]))
_count = op("KeptCount", "keep: resource -> turns: int32")
_count.shape(lambda keep: TensorShape([]))


@_value.kernel(CPU, GPU)
def _value_kernel(keep: Any, *, index: int, known_shape: TensorShape, dtype: Any, device: torch.device) -> Any:
    kept = keep[index]
    return kept.to(device) if isinstance(kept, torch.Tensor) else kept


@_value.gradient
def _value_gradient(grad: Any) -> Any:
    raise UnimplementedError(
        "The gradient of a gradient is not defined through a while_loop. Write the loop in Python, or take the first "
        "gradient with a tape in eager code."
    )


_turn.gradient(lambda grad: grad)
# On a GPU as well, because what takes a keep goes where it was made; what they give is the host's business.
_turn.kernel(CPU, GPU, host_output=True)(lambda keep, turn: keep[turn])
_count.kernel(CPU, GPU, host_output=True)(lambda keep: torch.tensor(len(keep), dtype=torch.int32))


def turn_of(keep: Any, turn: Any) -> Any:
    """The keep of one turn of a loop."""
    return _turn(keep, turn)


def turns(keep: Any) -> Any:
    """How many turns a loop has made."""
    return _count(keep)


def keep_of(node: Operation) -> SymbolicTensor:
    """The result of a loop that has what its turns keep; added to it if it has none."""
    last = node.outputs[-1] if node.outputs else None
    if last is None or last.dtype is not dt.resource or not node.attrs.get(KEEPS):
        node.attrs = {**node.attrs, KEEPS: True}
        last = SymbolicTensor(node, len(node.outputs), dt.resource, TensorShape([]), False)
        node.outputs.append(last)
    return last


KEEPS = "_keeps"  # an attribute: the last result of the operation is a keep


See = Callable[[SymbolicTensor], Any]  # gives what stands for a tensor where a gradient is built


class View:
    """The tensors of a held graph as they are seen from where its gradient is built.

    Args:
        held: The graph.
        see: How the tensors of the graph around it are seen from there.
    """

    def __init__(self, held: FunctionGraph, see: See) -> None:
        self.held = held
        self.see = see
        self._outside = {inside: outside for outside, inside in held.captures.items()}
        self._seen: dict[tuple[SymbolicTensor, Graph], Any] = {}

    def __call__(self, tensor: SymbolicTensor) -> Any:
        """What stands for a tensor: itself outside, if it was captured; the same constant; else its value."""
        if tensor.graph is not self.held:
            return tensor
        if tensor in self._outside:
            return self.see(self._outside[tensor])
        key = (tensor, here.graph)
        if key not in self._seen:
            is_constant = tensor.op.type == "Const" and not isinstance(tensor.op.attrs["value"], EagerTensor)
            self._seen[key] = self._constant(tensor) if is_constant else self.value(tensor)
        return self._seen[key]

    def _constant(self, tensor: SymbolicTensor) -> Any:
        return constant(here.graph, tensor.op.attrs["value"], tensor.dtype)

    def value(self, tensor: SymbolicTensor) -> Any:
        """The tensor outside that has the value of one inside."""
        raise NotImplementedError


class Exposed(View):
    """A view of a branch or of a called function.

    Args:
        held: The graph.
        see: How the tensors around it are seen.
        node: The operation that holds it.
        others: The graphs of the branches that are not taken when this one is.
    """

    def __init__(self, held: FunctionGraph, see: See, node: Operation, others: Sequence[FunctionGraph] = ()) -> None:
        super().__init__(held, see)
        self._node = node
        self._others = others

    def value(self, tensor: SymbolicTensor) -> Any:
        """The further result that has a value from inside."""
        for result, outside in zip(self.held.results, self._node.outputs, strict=False):
            if result is tensor and not self._others:
                return self.see(outside)
        self.held.results.append(tensor)
        for other in self._others:
            with as_default(other):
                zero = constant(other, _zero_of(tensor), tensor.dtype)
            other.results.append(zero)
        shape = UNKNOWN if self._others else tensor.shape
        exposed = SymbolicTensor(self._node, len(self._node.outputs), tensor.dtype, shape, False)
        self._node.outputs.append(exposed)
        seen = self.see(exposed)
        return seen if seen.shape == tensor.shape else _with_shape(seen, tensor.shape)


class Kept(View):
    """A view of one turn of a loop.

    Args:
        held: The graph of the body.
        see: How the tensors around the loop are seen.
        keep: What the turn has kept.
    """

    def __init__(self, held: FunctionGraph, see: See, keep: Any) -> None:
        super().__init__(held, see)
        self._keep = keep

    def value(self, tensor: SymbolicTensor) -> Any:
        """The kept value of a tensor."""
        number = self.held.kept.setdefault(tensor, len(self.held.kept))
        return _value(self._keep, dtype=tensor.dtype, index=number, known_shape=tensor.shape)


def _with_shape(tensor: Any, shape: TensorShape) -> Any:
    known: Any = identity(tensor)
    known.set_shape(shape)
    return known


def _zero_of(tensor: SymbolicTensor) -> Any:
    return np.zeros((), tensor.dtype.as_numpy_dtype)
