"""The gradients of branches, loops and function calls in graphs.

    y = cond(p, f, g)           dx = cond(p, gradient of f, gradient of g)
    y = while_loop(c, f, x)     dx = a loop over the iterations, last first, of the gradient of f
    y = function(x)             dx = the gradient of its graph, added to the graph around it

The residuals that they need are additional results of the operation itself (`autodiff.residuals`), so nothing is
computed twice, and a random number is the same in the backward pass. These results have gradients as well: for second
derivatives, the gradient of a residual flows back into the graph that it comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from situs._src.autodiff.graph import differentiate, operations_before
from situs._src.autodiff.residuals import IterationView, ResultView, See, View, history_of, with_shape
from situs._src.base import dtype as dt
from situs._src.base.devices.scope import device, here
from situs._src.base.dtype import DType, variant
from situs._src.base.shapes import SCALAR, TensorShape
from situs._src.base.tensor import Tensor, read
from situs._src.ir.graph.context import as_default
from situs._src.ir.graph.function import FunctionGraph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import find_op
from situs._src.ops.array import shape as shape_op
from situs._src.ops.call import partitioned_call
from situs._src.ops.cast import cast
from situs._src.ops.constant import range as range_op
from situs._src.ops.constant import zeros, zeros_like
from situs._src.ops.control import branch
from situs._src.ops.inner import Inner
from situs._src.ops.loop import settling_loop
from situs._src.ops.slices import IndexedSlices
from situs._src.ops.tensor_list import add_all, get_row, length, reserve, row_gradient
from situs._src.runtime.eager.tape import has_gradient

Tensors = Sequence[SymbolicTensor]
Wants = Callable[[SymbolicTensor], bool]


def _gradients(view: View, results: Tensors, grads: Sequence[Any], sources: Sequence[Any]) -> list[Any]:
    """The gradients of tensors of an inner graph, given those of its results; None for those without."""
    pairs = [(end, grad) for end, grad in zip(results, grads, strict=True) if grad is not None]
    pairs = [(end, grad) for end, grad in pairs if has_gradient(end.dtype)]
    known = [source for source in sources if source is not None]
    before, here.look = here.look, view.look  # a custom gradient may use any tensor of the inner graph
    try:
        found = iter(differentiate([end for end, _ in pairs], [grad for _, grad in pairs], known, see=view))
    finally:
        here.look = before
    return [None if source is None else next(found) for source in sources]


def _with_gradients(tensors: Tensors, wants: Wants = lambda tensor: True) -> list[int]:
    return [number for number, tensor in enumerate(tensors) if has_gradient(tensor.dtype) and wants(tensor)]


def _spread(numbers: Sequence[int], made: Sequence[Any], count: int) -> list[Any]:
    found = dict(zip(numbers, made, strict=True))
    return [found.get(number) for number in range(count)]


def _zeros_for(tensor: Any) -> Tensor:
    """The gradient of a tensor that does not contribute."""
    return reserve(0) if tensor.dtype is variant else zeros_like(tensor)


# Branches.


@find_op("If").gradient
def _if_gradient(
    grads: list[Any],
    cond: Any,
    input: list[Any],
    *,
    then_branch: Any,
    else_branch: Any,
    _node: Operation,
    _see: See,
    _wants: Wants,
) -> tuple[Any, ...]:
    graphs = [then_branch, else_branch]
    count = len(grads) - len(then_branch.results)
    numbers = _with_gradients(_node.args[1], _wants)
    outside = [_node.args[1][number] for number in numbers]

    def gradient_of(number: int) -> Callable[[], list[Any]]:
        inner: FunctionGraph = graphs[number]
        results = [*inner.results, *(residual[number] for residual in _node.residuals[:count])]

        def build() -> list[Any]:
            sources = [inner.captures.get(tensor) for tensor in outside]
            return _gradients(ResultView(inner, _see, _node, graphs), results, grads, sources)

        return build

    if not numbers:
        return None, [None] * len(input)
    wanted = [input[number] for number in numbers]
    graph = here.graph if here.graph is not None else _node.graph
    made = branch(graph, cond, gradient_of(0), gradient_of(1), None, lambda a, b: _make_alike(a, b, wanted))
    pairs = zip(made, wanted, strict=True)
    found = [IndexedSlices(grad[0], grad[1], _whole_shape(x)) if isinstance(grad, list) else grad for grad, x in pairs]
    return None, _spread(numbers, found, len(input))


def _make_alike(first: Inner, second: Inner, tensors: Sequence[Any]) -> None:
    """Makes gradients equal in form in both branches: if one is sparse, so is the other."""
    both = list(zip(first.made, second.made, strict=True))
    as_rows = [any(isinstance(grad, IndexedSlices) for grad in pair) for pair in both]
    kinds = [{grad.indices.dtype for grad in pair if isinstance(grad, IndexedSlices)} for pair in both]
    for inner in (first, second):
        with as_default(inner.graph):
            inner.made = [
                _rows(grad, tensor, next(iter(kind)) if len(kind) == 1 else dt.int64)
                if rows
                else _zeros_for(tensor)
                if grad is None
                else read(grad)
                for grad, tensor, rows, kind in zip(inner.made, tensors, as_rows, kinds, strict=True)
            ]


def _rows(grad: Any, tensor: Any, kind: DType) -> list[Any]:
    """A gradient as rows and indices."""
    if grad is None:
        return [zeros_like(tensor[:0]), zeros([0], kind)]
    if isinstance(grad, IndexedSlices):
        return [read(grad.values), cast(grad.indices, kind)]
    return [read(grad), cast(range_op(shape_op(grad)[0]), kind)]


def _whole_shape(tensor: Any) -> Any:
    return tuple(tensor.shape.as_list()) if tensor.shape.is_fully_defined() else shape_op(tensor)


# Calls.


@partitioned_call.gradient
def _call_gradient(
    grads: list[Any], captured: list[Any], *, f: Any, _node: Operation, _see: See, _wants: Wants
) -> tuple[Any, ...]:
    args, outside = _node.args
    pairs = [*zip(args, f.arguments, strict=True), *[(tensor, f.captures.get(tensor)) for tensor in outside]]
    wanted = [inside if has_gradient(tensor.dtype) and _wants(tensor) else None for tensor, inside in pairs]
    residuals = [residual[0] for residual in _node.residuals[: len(grads) - len(f.results)]]
    made = _gradients(ResultView(f, _see, _node, [f]), [*f.results, *residuals], grads, wanted)
    return made[: len(args)], made[len(args) :]


# Loops.


@find_op("While").gradient
def _while_gradient(
    grads: list[Any],
    input: list[Any],
    captured: list[Any],
    output: list[Any],
    *,
    cond: object,
    body: Any,
    _node: Operation,
    _see: See,
    _wants: Wants,
) -> tuple[Any, ...]:
    """A loop over the iterations in reverse.

    It carries the gradients of the loop variables, which the gradient of the body maps to those of the previous
    iteration, and the sums of the gradients of the captures of the body. Loop variables without gradients are left out.
    """
    starts, outside = _node.args
    numbers, invariants = _with_gradients(starts), _with_gradients(outside, _wants)
    history, history_grad = _see(history_of(_node)), grads[len(starts)] if len(grads) > len(starts) else None
    saved = [tensor for (tensor,) in _node.residuals] if history_grad is not None else []
    states = numbers if saved else _reached(body, numbers, grads)
    first = [_zeros_for(output[n]) if grads[n] is None else _shaped_like(output[n], read(grads[n])) for n in states]
    sums = [_zeros_for(captured[n]) for n in invariants]
    sources = [body.arguments[n] for n in states] + [body.captures.get(outside[n]) for n in invariants]

    def step(number: Any, *state: Any) -> list[Any]:
        with device(None):  # lists are on the host
            row = get_row([history], number, dtype=variant, row_shape=SCALAR)
        view = IterationView(body, _see, _node, row)
        of_saved = _saved_gradients(history_grad, number, saved, view)
        given = _spread(states, state[: len(states)], len(body.results))
        made = _gradients(view, [*body.results, *saved], [*given, *of_saved], sources)
        before = [
            _zeros_for(view(body.arguments[n])) if grad is None else read(grad)
            for grad, n in zip(made[: len(states)], states, strict=True)
        ]
        pairs = zip(state[len(states) :], made[len(states) :], strict=True)
        return [number - 1, *before, *[total if grad is None else _plus(total, grad) for total, grad in pairs]]

    shapes = [SCALAR, *[_common_shape(starts[n], output[n]) for n in states], *[total.shape for total in sums]]
    with device(None):  # the counter is on the host, wherever the loop is pinned
        last = length([history]) - 1
    _, *found = settling_loop(lambda number, *state: number >= 0, step, [last, *first, *sums], shapes, "backward")
    of_states, of_invariants = found[: len(states)], found[len(states) :]
    rest = [number for number in numbers if number not in states]
    of_states += [_zeros_for(input[number]) for number in rest]
    return _spread([*states, *rest], of_states, len(starts)), _spread(invariants, of_invariants, len(outside))


def _reached(body: FunctionGraph, numbers: Sequence[int], grads: Sequence[Any]) -> list[int]:
    """The loop variables that have gradients: those with one, and those they are computed from."""
    todo = [number for number in numbers if grads[number] is not None]
    found = set(todo)
    while todo:
        before = set(operations_before([body.results[todo.pop()]]))
        further = [n for n in numbers if n not in found and body.arguments[n].op in before]
        found.update(further)
        todo += further
    return sorted(found)


def _saved_gradients(history_grad: Any, number: object, saved: Tensors, view: View) -> list[Any]:
    """The gradients of the residuals of an iteration, one for each; None for those without."""
    if not saved:
        return []
    of_iteration = row_gradient(history_grad, number, (), variant)
    return [
        row_gradient(of_iteration, place, _shape(tensor, view), tensor.dtype) if has_gradient(tensor.dtype) else None
        for place, tensor in enumerate(saved)
    ]


def _shape(tensor: SymbolicTensor, view: View) -> Any:
    if tensor.dtype is variant or tensor.shape.is_fully_defined():
        return tuple(tensor.shape.as_list())
    return shape_op(view(tensor))


def _plus(total: Any, grad: Any) -> Any:
    return add_all([total, grad]) if total.dtype is variant else total + read(grad)


def _shaped_like(tensor: Any, grad: Any) -> Any:
    """The gradient of a tensor, with the static shape of the tensor."""
    return grad if tensor.dtype is variant or tensor.shape == grad.shape else with_shape(grad, tensor.shape)


def _common_shape(start: SymbolicTensor, end: SymbolicTensor) -> TensorShape:
    if start.dtype is variant:
        return SCALAR
    return start.shape if start.shape == end.shape else TensorShape(None)
