"""``tf.gradients``: adds operations to a graph that compute gradients.

The operations between the sources and the targets become records (`autodiff.backprop`). The rule of each one adds its
operations under the name ``gradients/OPERATION_grad/``: colocated with the operation if requested, else with the same
device request, unless the program is in a device scope of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from situs._src.autodiff.backprop import Pending, backward, call_rule
from situs._src.autodiff.registered import rule_of
from situs._src.autodiff.residuals import See
from situs._src.autodiff.unconnected import as_choice, filled
from situs._src.base.devices.scope import ROOT, here
from situs._src.base.errors import ArgumentError, DTypeError, StateError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.tensor import read
from situs._src.base.tree import flatten
from situs._src.base.typing import ArrayLike
from situs._src.ir.graph.function import captured
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.gradient import INPUT, NODE, OUTPUT, SEE, WANTS, GradientRule, Need
from situs._src.ir.registry.op import Op, find_op
from situs._src.ops.array import shape as shape_op
from situs._src.ops.constant import convert_to_tensor, ones_like
from situs._src.ops.placeholder import tuple as gate
from situs._src.runtime.eager.tape import Keys, has_gradient
from situs._src.runtime.eager.tensor import EagerTensor
from situs._src.variables.capture import captured_variable
from situs._src.variables.eager import Variable, variable_behind
from situs._src.variables.replication import strategies

Key = Callable[[Any], int]


@export("gradients", v1=())
def gradients_v2(
    ys: object,
    xs: object,
    grad_ys: object = None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method: object = None,
    stop_gradients: object = None,
    unconnected_gradients: object = "none",
    colocate_gradients_with_ops: bool = False,
) -> list[Any]:
    """Adds operations that compute the derivatives of the sum of `ys` with respect to each of `xs`.

    Args:
        ys: A tensor, or several.
        xs: Tensors or variables.
        grad_ys: The gradients of `ys`; ones by default.
        name: A name scope for the operations.
        gate_gradients: As in ``tf.compat.v1.gradients``.
        aggregation_method: How gradients of one tensor are summed.
        stop_gradients: Tensors that count as constants.
        unconnected_gradients: The gradient of an x that `ys` do not depend on: ``"none"`` or ``"zero"``.
        colocate_gradients_with_ops: Whether each gradient is colocated with its operation.
    """
    return gradients(
        ys,
        xs,
        grad_ys,
        name,
        colocate_gradients_with_ops,
        gate_gradients,
        aggregation_method,
        stop_gradients,
        unconnected_gradients,
    )


@export(v1="gradients")
def gradients(
    ys: object,
    xs: object,
    grad_ys: object = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: object = None,
    stop_gradients: object = None,
    unconnected_gradients: object = "none",
) -> list[Any]:
    """Adds operations that compute the derivatives of the sum of `ys` with respect to each of `xs`.

    Args:
        ys: A tensor, or several.
        xs: Tensors or variables.
        grad_ys: The gradients of `ys`; ones by default.
        name: A name for the scope of the operations.
        colocate_gradients_with_ops: Whether each operation's gradient is colocated with it.
        gate_gradients: Whether gradients are available only after all are computed.
        aggregation_method: Accepted for TensorFlow's programs: it has no effect.
        stop_gradients: Tensors that count as constants.
        unconnected_gradients: ``"none"`` or ``"zero"``: the gradient of an x that no y depends on.

    Returns:
        One gradient for each x.
    """
    strategies.differs("gradients by tf.gradients, which may go through a meeting of replicas")
    if here.graph is None and not any(isinstance(read(each), SymbolicTensor) for each in [*flatten(ys), *flatten(xs)]):
        raise StateError("tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead.")
    targets, sources = _tensors(ys), [_source(x) for x in flatten(xs)]
    choice = as_choice(unconnected_gradients)
    graph = _graph_of([*targets, *sources])
    if graph is None or not all(isinstance(target, SymbolicTensor) for target in targets):
        raise ArgumentError("tf.gradients works on the tensors of a graph. Use tf.GradientTape in eager code.")
    with graph.as_default() if here.graph is not graph else nullcontext(), graph.name_scope(name):
        origins = Origins()
        stops = {origins.key(graph.capture(_of_graph(tensor))) for tensor in _tensors(stop_gradients)}
        pairs = _seeds(targets, _flat_or_none(grad_ys, len(targets)))
        ends, seeds = [graph.capture(target) for target, _ in pairs], [seed for _, seed in pairs]
        found = differentiate(ends, seeds, sources, stops=stops, colocated=colocate_gradients_with_ops, origins=origins)
        made = [filled(grad, source, choice) for grad, source in zip(found, sources, strict=True)]
        return gate(made) if gate_gradients and len(made) > 1 else made


def _source(x: ArrayLike) -> EagerTensor | SymbolicTensor:
    """The tensor that gradients of a source flow to: for a variable, its state, however it is read."""
    x = variable_behind(x)
    if isinstance(x, Variable):
        if here.graph is None:
            raise ArgumentError(f"Variable '{x.name}' is an eager one: use tf.GradientTape.")
        return captured_variable(here.graph, x)
    x = getattr(x, "_variable", x)
    if isinstance(x, EagerTensor) and here.graph is not None:
        return x
    if not isinstance(x, SymbolicTensor):
        raise DTypeError(f"tf.gradients takes tensors and variables of a graph, got {x!r}.")
    return x


def _tensors(values: Any) -> list[SymbolicTensor]:
    return [] if values is None else [convert_to_tensor(read(value)) for value in flatten(values)]  # type: ignore[misc]


def _flat_or_none(grad_ys: object, count: int) -> list[Any]:
    if grad_ys is None:
        return [None] * count
    found = list(grad_ys) if isinstance(grad_ys, (list, tuple)) else [grad_ys]
    if len(found) != count:
        raise ArgumentError(f"Passed {len(found)} grad_ys for {count} ys.")
    return found


def _graph_of(tensors: Sequence[Any]) -> Graph | None:
    """The graph to build in: the current one if there is one, since the others enclose it."""
    if here.graph is not None:
        return here.graph  # type: ignore[no-any-return]
    return next((tensor.graph for tensor in tensors if isinstance(tensor, SymbolicTensor)), None)


def _of_graph(tensor: object) -> SymbolicTensor:
    if not isinstance(tensor, SymbolicTensor):
        raise ArgumentError(f"`stop_gradients` are tensors of the graph, got {shown(tensor)}.")
    return tensor


def _seeds(targets: Sequence[SymbolicTensor], grad_ys: Sequence[Any]) -> list[tuple[SymbolicTensor, Any]]:
    """The differentiable targets, which integers are not, with their gradients."""
    seeds: list[tuple[SymbolicTensor, Any]] = []
    for number, (target, grad) in enumerate(zip(targets, grad_ys, strict=True)):
        if not has_gradient(target.dtype):
            continue
        if grad is None and target.dtype.is_complex:
            raise DTypeError(
                f"Gradients of complex tensors ({target!r}) must set grad_ys (y.dtype = {target.dtype.name})"
            )
        if grad is None:
            grad = ones_like(target, name=f"grad_ys_{number}")
        elif not hasattr(grad, "indices"):
            grad = convert_to_tensor(grad, target.dtype, name=f"grad_ys_{number}")
        seeds.append((target, grad))
    return seeds


class Origins:
    """Resolves captures: a placeholder for a captured tensor is the same as the tensor.

    Args:
        reads: Whether the value of a variable counts as the variable.
    """

    def __init__(self, reads: bool = False) -> None:
        self._reads = reads
        self._outside: dict[int, dict[int, SymbolicTensor]] = {}  # by graph, and tensor inside

    def __call__(self, tensor: object) -> Any:
        """The outermost tensor that a tensor stands for; for a constant from an eager tensor, this one."""
        while isinstance(tensor, SymbolicTensor):
            node = tensor.op
            if node.op_def is captured:
                further: Any = self._captures(node.graph).get(id(tensor))
            elif node.type == "Const":
                value = node.attrs["value"]
                further = value if isinstance(value, EagerTensor) else None
            else:
                further = node.inputs[0] if self._reads and _is_read(node) else None
            if further is None:
                break
            tensor = further
        return tensor

    def key(self, tensor: object) -> int:
        """A key that is equal for all placeholders of one tensor."""
        return id(self(tensor))

    def _captures(self, graph: Any) -> dict[int, SymbolicTensor]:
        found = self._outside.get(id(graph))
        if found is None or len(found) != len(graph.captures):
            found = {id(inside): outside for outside, inside in graph.captures.items()}
            self._outside[id(graph)] = found
        return found


def _is_read(node: Operation) -> bool:
    """Whether an operation reads a variable."""
    return len(node.inputs) == 1 and node.inputs[0].is_ref and node.op_def is find_op("Identity")


class _NodeRecord:
    """An operation of a graph, as a record for `backward`.

    ``see`` maps a tensor of the operation to the graph where the gradient is built; ``key`` maps equal tensors to one
    key.
    """

    def __init__(self, node: Operation, stops: set[int], see: See, key: Key) -> None:
        self.node = node
        self.op: Op = node.op_def
        self.name = node.name
        self.rule: GradientRule | None = rule_of(node)
        self.attrs = {**node.types, **node.attrs, NODE: node, SEE: see}
        self.inputs = _keys(node, key)
        # A stopped tensor has a gradient all the same; it only does not propagate further.
        self.outputs = [key(tensor) if key(tensor) not in stops else 0 for tensor in node.outputs]
        self.see = see

    @property
    def kept(self) -> tuple[Any, ...]:
        """The residuals of the rule; unknown shapes are computed when the graph runs."""
        return () if self.rule is None else tuple(self._kept(need) for need in self.rule.needs)

    def _kept(self, need: Need) -> Any:
        if need.kind is OUTPUT:
            several = len(self.op.outputs) == 1 and self.op.outputs[0].is_list
            return self._seen(self.node.outputs if several else self.node.outputs[need.number])
        value = self.node.args[need.number]
        if need.kind is INPUT:
            return self._seen(value)
        return [self._shape(tensor) for tensor in value] if isinstance(value, list) else self._shape(value)

    def _seen(self, value: object) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(self._seen(item) for item in value)
        return self.see(value) if isinstance(value, SymbolicTensor) else value

    def _shape(self, tensor: SymbolicTensor) -> Any:
        """The shape as a tuple if it is known, else as a tensor."""
        known = tensor.shape.is_fully_defined()
        return tuple(tensor.shape.as_list()) if known else shape_op(self.see(tensor))


def _keys(node: Operation, key: Key) -> Keys:
    def known(tensor: object) -> int | None:
        return key(tensor) if isinstance(tensor, SymbolicTensor) and has_gradient(tensor.dtype) else None

    pairs = zip(node.op_def.inputs, node.args, strict=True)
    return tuple(tuple(map(known, v)) if arg.is_list else known(v) for arg, v in pairs if not arg.is_host)


def differentiate(
    targets: Sequence[SymbolicTensor],
    seeds: Sequence[Any],
    sources: Sequence[Any],
    *,
    stops: set[int] | None = None,
    see: See | None = None,
    colocated: bool = False,
    origins: Origins | None = None,
    nodes: Sequence[Operation] | None = None,
) -> list[Any]:
    """Adds the gradient operations of targets to the current graph, and returns the gradients of the sources.

    Args:
        targets: Tensors of one graph: the current one, an outer one, or another if `see` maps it.
        seeds: Their gradients, in the current graph.
        sources: The tensors to differentiate with respect to, in the graph of the targets.
        stops: The keys of tensors that count as constants: their ids, if there are no `origins`.
        see: Maps a tensor of that graph to the current one; by default the identity.
        colocated: Whether gradient operations are colocated with their forward operations.
        origins: Tells which tensors of nested graphs are the same; by default each only equals itself.
        nodes: The operations to differentiate; by default all that the targets depend on.
    """
    looked_at = see or (lambda tensor: tensor)
    key: Key = id if origins is None else origins.key
    nodes = operations_before(targets, origins) if nodes is None else nodes
    records: Any = [_NodeRecord(node, stops or set(), looked_at, key) for node in nodes]
    grads: dict[int, Any] = {}
    for target, seed in zip(targets, seeds, strict=True):
        grads[key(target)] = seed if key(target) not in grads else grads[key(target)] + seed

    def call(record: Any, given: Sequence[Any], on_the_way: set[int], pending: Pending) -> None:
        record.attrs[WANTS] = lambda tensor: key(tensor) in on_the_way
        if here.replica is not None and record.node in strategies.collectives:
            raise UnimplementedError(
                f"tf.gradients does not go through a collective of replicas ({record.node.name}), because what other "
                "replicas do with its result counts too: use tf.GradientTape around the forward pass."
            )
        with _beside(record.node, colocated):
            call_rule(record, given, on_the_way, pending)

    graph: Graph = here.graph
    makers = {key(tensor): record.node for record in records for tensor in record.node.outputs} if colocated else {}

    def beside(made: int) -> AbstractContextManager[None] | nullcontext[None]:
        maker = makers.get(made)
        near = maker is not None and maker.graph is graph
        return graph.colocate_with(maker, ignore_existing=True) if near else nullcontext()

    found = backward(records, grads, [key(source) for source in sources], call, beside=beside if colocated else None)
    return [found.get(key(source)) for source in sources]


def operations_before(tensors: Sequence[Any], origins: Origins | None = None) -> list[Operation]:
    """The operations that tensors depend on, in order of creation."""
    found: dict[Operation, None] = {}
    todo = list(tensors)
    while todo:
        tensor = todo.pop() if origins is None else origins(todo.pop())
        if isinstance(tensor, SymbolicTensor) and tensor.op not in found:
            found[tensor.op] = None
            todo += tensor.op.inputs
    return sorted(found, key=lambda node: node.serial)


@contextmanager
def _beside(node: Operation, colocated: bool) -> Iterator[None]:
    graph: Graph = here.graph
    if colocated and node.graph is graph:
        place: Any = graph.colocate_with(node, ignore_existing=True)
    else:
        place = graph.device(node.device) if node.device and here.scope is ROOT else nullcontext()
    with graph.name_scope(f"{node.name}_grad"), place:
        yield
