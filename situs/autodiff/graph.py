"""``tf.gradients``: operations added to a graph that compute gradients of others in it.

The operations between the sources and the targets become records (`situs.autodiff.backprop`). Each one's
rule adds its operations under the name ``gradients/OPERATION_grad/`` and beside the operation itself: colocated with
it if the program wants that, else asking for the device that it asked for, unless the program is in a device scope
of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from situs.autodiff.backprop import Pending, backward, call_rule
from situs.autodiff.residuals import See
from situs.autodiff.unconnected import as_choice, filled
from situs.devices.scope import ROOT, here
from situs.eager.tape import Keys, has_gradient
from situs.errors import DTypeError, InvalidArgumentError, shown
from situs.graph.graph import Graph
from situs.graph.node import Operation
from situs.graph.structure import flatten
from situs.graph.tensor import SymbolicTensor
from situs.ops.array import shape as shape_op
from situs.ops.constant import convert_to_tensor, ones_like
from situs.ops.placeholder import tuple as gate
from situs.registry.gradient import INPUT, NODE, OUTPUT, SEE, GradientRule, Need
from situs.registry.op import Op
from situs.tensor import read
from situs.variables.capture import captured_variable
from situs.variables.eager import Variable


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = "none",
) -> list[Any]:
    """Adds operations that compute the derivatives of the sum of `ys` with respect to each of `xs`.

    Args:
        ys: A tensor, or several.
        xs: Tensors or variables.
        grad_ys: The gradients of `ys`; ones by default.
        name: A name for the scope of the operations.
        colocate_gradients_with_ops: Whether each operation's gradient is bound to its device.
        gate_gradients: Whether no gradient may be used before all are computed.
        aggregation_method: Accepted for TensorFlow's programs: gradients are added as they come.
        stop_gradients: Tensors to be taken as constants.
        unconnected_gradients: ``"none"`` or ``"zero"``: what to give for an x that no y depends on.

    Returns:
        One gradient for each x.
    """
    targets, sources = _tensors(ys), [_source(x) for x in flatten(xs)]
    choice = as_choice(unconnected_gradients)
    graph = _graph_of([*targets, *sources])
    if graph is None or not all(isinstance(target, SymbolicTensor) for target in targets):
        raise InvalidArgumentError("tf.gradients works on the tensors of a graph. Use tf.GradientTape in eager code.")
    with graph.as_default() if here.graph is not graph else nullcontext(), graph.name_scope(name):
        stops = {id(graph.capture(_of_graph(tensor))) for tensor in _tensors(stop_gradients)}
        seeds = _seeds(targets, _flat_or_none(grad_ys, len(targets)))
        ends, begins = [graph.capture(target) for target in targets], [graph.capture(source) for source in sources]
        found = differentiate(ends, seeds, begins, stops=stops, colocated=colocate_gradients_with_ops)
        made = [filled(grad, source, choice) for grad, source in zip(found, sources, strict=True)]
        return gate(made) if gate_gradients and len(made) > 1 else made


def _source(x: Any) -> SymbolicTensor:
    """The tensor that gradients of a source flow to: of a variable, its state, whichever way it is read."""
    if isinstance(x, Variable):
        if here.graph is None:
            raise InvalidArgumentError(f"Variable '{x.name}' is an eager one: use tf.GradientTape.")
        return captured_variable(here.graph, x)
    x = getattr(x, "_variable", x)
    if not isinstance(x, SymbolicTensor):
        raise DTypeError(f"tf.gradients takes tensors and variables of a graph, got {x!r}.")
    return x


def _tensors(values: Any) -> list[SymbolicTensor]:
    return [] if values is None else [convert_to_tensor(read(value)) for value in flatten(values)]  # type: ignore[misc]


def _flat_or_none(grad_ys: Any, count: int) -> list[Any]:
    if grad_ys is None:
        return [None] * count
    found = list(grad_ys) if isinstance(grad_ys, (list, tuple)) else [grad_ys]
    if len(found) != count:
        raise InvalidArgumentError(f"Passed {len(found)} grad_ys for {count} ys.")
    return found


def _graph_of(tensors: Sequence[Any]) -> Graph | None:
    """The graph to build in: the one being built if there is one, since the others lie around it."""
    if here.graph is not None:
        return here.graph  # type: ignore[no-any-return]
    return next((tensor.graph for tensor in tensors if isinstance(tensor, SymbolicTensor)), None)


def _of_graph(tensor: Any) -> SymbolicTensor:
    if not isinstance(tensor, SymbolicTensor):
        raise InvalidArgumentError(f"`stop_gradients` are tensors of the graph, got {shown(tensor)}.")
    return tensor


def _seeds(targets: Sequence[SymbolicTensor], grad_ys: Sequence[Any]) -> list[Any]:
    seeds: list[Any] = []
    for number, (target, grad) in enumerate(zip(targets, grad_ys, strict=True)):
        if not has_gradient(target.dtype) and grad is None:
            raise DTypeError(
                f"Gradients of {target.dtype.name} targets do not exist: {target!r}. Cast it to a floating dtype first."
            )
        if grad is None:
            grad = ones_like(target, name=f"grad_ys_{number}")
        elif not hasattr(grad, "indices"):
            grad = convert_to_tensor(grad, target.dtype, name=f"grad_ys_{number}")
        seeds.append(grad)
    return seeds


class _NodeRecord:
    """An operation of a graph, as `backward` goes through it.

    ``see`` gives the tensor that stands for one of the operation's where the gradient is built.
    """

    def __init__(self, node: Operation, stops: set[int], see: See) -> None:
        self.node = node
        self.op: Op = node.op_def
        self.name = node.name
        self.rule: GradientRule | None = node.op_def.gradient_rule
        self.attrs = {**node.types, **node.attrs, NODE: node, SEE: see}
        self.inputs = _keys(node)
        # What stops has a gradient all the same; it only goes no further back.
        self.outputs = [id(tensor) if id(tensor) not in stops else 0 for tensor in node.outputs]
        self.see = see

    @property
    def kept(self) -> tuple[Any, ...]:
        """What the rule asks for; shapes that are not known are asked of the tensor when the graph runs."""
        return () if self.rule is None else tuple(self._kept(need) for need in self.rule.needs)

    def _kept(self, need: Need) -> Any:
        if need.kind is OUTPUT:
            several = len(self.op.outputs) == 1 and self.op.outputs[0].is_list
            return self._seen(self.node.outputs if several else self.node.outputs[need.number])
        value = self.node.args[need.number]
        if need.kind is INPUT:
            return self._seen(value)
        return [self._shape(tensor) for tensor in value] if isinstance(value, list) else self._shape(value)

    def _seen(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(self._seen(item) for item in value)
        return self.see(value) if isinstance(value, SymbolicTensor) else value

    def _shape(self, tensor: SymbolicTensor) -> Any:
        """The shape as a tuple if it is known, else as a tensor."""
        known = tensor.shape.is_fully_defined()
        return tuple(tensor.shape.as_list()) if known else shape_op(self.see(tensor))


def _keys(node: Operation) -> Keys:
    def key(tensor: Any) -> int | None:
        if not isinstance(tensor, SymbolicTensor):
            return None
        return id(tensor) if has_gradient(tensor.dtype) else None

    pairs = zip(node.op_def.inputs, node.args, strict=True)
    return tuple(tuple(map(key, v)) if arg.is_list else key(v) for arg, v in pairs if not arg.is_host)


def differentiate(
    targets: Sequence[SymbolicTensor],
    seeds: Sequence[Any],
    sources: Sequence[SymbolicTensor],
    *,
    stops: set[int] | None = None,
    see: See | None = None,
    colocated: bool = False,
) -> list[Any]:
    """Adds the operations for the gradients of targets to the graph being built, and returns those of the sources.

    Args:
        targets: Tensors of one graph: that being built, one around it, or another if `see` knows of it.
        seeds: Their gradients, in the graph being built.
        sources: What to find the gradients of, in the graph of the targets.
        stops: The ids of tensors that count as constants.
        see: Gives what stands for a tensor of that graph in the graph being built; by default itself.
        colocated: Whether the operations are bound to the devices of those that they are the gradients of.
    """
    looked_at = see or (lambda tensor: tensor)
    records: Any = [_NodeRecord(node, stops or set(), looked_at) for node in _operations_before(targets)]
    grads: dict[int, Any] = {}
    for target, seed in zip(targets, seeds, strict=True):
        grads[id(target)] = seed if id(target) not in grads else grads[id(target)] + seed

    def call(record: Any, given: Sequence[Any], on_the_way: set[int], pending: Pending) -> None:
        with _beside(record.node, colocated):
            call_rule(record, given, on_the_way, pending)

    found = backward(records, grads, [id(source) for source in sources], call)
    return [found.get(id(source)) for source in sources]


def _operations_before(tensors: Sequence[SymbolicTensor]) -> list[Operation]:
    """The operations that tensors depend on, in the order of the graph."""
    found: dict[Operation, None] = {}
    todo = [tensor.op for tensor in tensors]
    while todo:
        node = todo.pop()
        if node not in found:
            found[node] = None
            todo += [tensor.op for tensor in node.inputs]
    return sorted(found, key=lambda node: node.index)


@contextmanager
def _beside(node: Operation, colocated: bool) -> Iterator[None]:
    graph: Graph = here.graph
    if colocated and node.graph is graph:
        place: Any = graph.colocate_with(node, ignore_existing=True)
    else:
        place = graph.device(node.device) if node.device and here.scope is ROOT else nullcontext()
    with graph.name_scope(f"{node.name}_grad"), place:
        yield
