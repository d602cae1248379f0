"""From a call's arguments to an operation's inputs: symbolic tensors and host values.

The rules are those of `runtime.eager.binding`. Only two steps differ: a Python value becomes a ``Const`` operation,
and a host value may be, or contain, a tensor whose value is not known yet.
"""

from __future__ import annotations

from typing import Any

from situs._src.base.dtype import DType
from situs._src.base.errors import ArgumentError, DTypeError, OpError
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor, read
from situs._src.base.tree import deeper
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import Op, find_op
from situs._src.ir.registry.signature import Arg
from situs._src.runtime.eager.binding import Binder, host_value
from situs._src.runtime.eager.convert import to_array
from situs._src.runtime.eager.tensor import EagerTensor


class SymbolicBinder(Binder):
    """Binds inputs for one operation of a graph; constants are named after the operation."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.name = name

    def tensor(self, value: object, wanted: DType | None, arg: Arg) -> Any:
        """The symbolic tensor for a value of the program."""
        if isinstance(value, SymbolicTensor):
            return self.graph.capture(value)
        name = f"{self.graph.absolute_name(f'{self.name}/{arg.name}')}/"
        if isinstance(value, EagerTensor):
            return held(self.graph, value, name)
        if isinstance(value, (list, tuple)) and has_tensor(value):
            return self._packed(value, wanted, arg)
        if wanted is not None:
            try:
                return constant(self.graph, *to_array(value, wanted), name)
            except DTypeError:
                pass  # it does not fit: take its natural dtype, and let the mismatch be reported
        return constant(self.graph, *to_array(value), name)

    def refusal(self, error: DTypeError, op: Op) -> OpError:
        """The error of an op that is added to a graph."""
        return error.in_building(op.name)

    def _packed(self, values: Any, wanted: DType | None, arg: Arg) -> Any:
        from situs._src.runtime.symbolic.build import apply  # circular

        dtype = wanted or next(t.dtype for t in _flat(values) if isinstance(t, Tensor))
        return apply(find_op("Pack"), ([self.tensor(read(v), dtype, arg) for v in values],), {}, graph=self.graph)

    def host(self, value: object) -> Any:
        """A host value: plain, or with tensors in it where it is not known yet."""
        value = read(value)
        if isinstance(value, SymbolicTensor):
            return self.graph.capture(value)  # even if its value is known: another one may be fed
        if isinstance(value, TensorShape) and not value.is_fully_defined():
            raise ArgumentError(
                f"The shape {value} is not fully known before the graph runs. Use tf.shape(x) where sizes are needed."
            )
        if isinstance(value, (list, tuple)) and has_tensor(value):
            return tuple(self.host(item) for item in value)
        return host_value(value)


def constant(graph: Graph, value: Any, dtype: DType, name: str | None = None) -> SymbolicTensor:
    """Adds a ``Const`` operation for a NumPy array or an eager tensor."""
    op_def: Op = find_op("Const")
    attrs = {"value": value, "dtype": dtype}
    results = [(op_def.outputs[0], dtype, TensorShape(value.shape))]
    return graph.add(op_def, (), attrs, {"dtype": dtype}, results, name).outputs[0]


def held(graph: Graph, value: EagerTensor, name: str | None = None) -> SymbolicTensor:
    """The constant for an eager tensor; one that may have a gradient is captured from the outermost graph."""
    outermost: Any = graph
    while value.dtype.kind in "fc" and getattr(outermost, "outer", None) is not None:
        outermost = outermost.outer
    return graph.capture(constant(outermost, value, value.dtype, name if outermost is graph else None))


def has_tensor(values: Any) -> bool:
    """Whether nested lists contain a tensor, or something that is converted to one."""
    return any(isinstance(read(v), Tensor) for v in _flat(values))


def _flat(values: Any, depth: int = 0) -> list[Any]:
    found: list[Any] = []
    below = deeper(depth)
    for value in values:
        found += _flat(value, below) if isinstance(value, (list, tuple)) else [read(value)]
    return found
