"""The gradients of branches, loops and calls of functions in graphs.

    y = cond(p, f, g)           dx = cond(p, gradient of f, gradient of g)
    y = while_loop(c, f, x)     dx = a loop over the turns, last first, of the gradient of f
    y = function(x)             dx = the gradient of its graph, added to the graph around it

The values that they need from inside are handed out by the operation itself (`situs.autodiff.kept`), so nothing is
computed twice, and a random number is the same on the way back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from situs.autodiff.graph import differentiate
from situs.autodiff.kept import Exposed, Kept, See, View, keep_of, turn_of, turns
from situs.dtype import resource
from situs.eager.tape import has_gradient
from situs.graph.function import FunctionGraph
from situs.graph.node import Operation
from situs.graph.tensor import SymbolicTensor
from situs.ops.call import partitioned_call
from situs.ops.constant import zeros_like
from situs.ops.control import cond as branch
from situs.ops.loop import while_loop
from situs.ops.tensor_list import stack_rows
from situs.registry.op import find_op
from situs.shapes import TensorShape
from situs.tensor import read

Tensors = Sequence[SymbolicTensor]


def _inside(view: View, grads: Sequence[Any], sources: Sequence[SymbolicTensor | None]) -> list[Any]:
    """The gradients of tensors of a held graph, None where there are none; `grads` are those of its results."""
    results = view.held.results[: len(grads)]
    pairs = [(end, grad) for end, grad in zip(results, grads, strict=True) if grad is not None]
    pairs = [(end, grad) for end, grad in pairs if has_gradient(end.dtype) or end.dtype is resource]
    known = [source for source in sources if source is not None]
    found = iter(differentiate([end for end, _ in pairs], [grad for _, grad in pairs], known, see=view))
    return [None if source is None else next(found) for source in sources]


def _wanted(tensors: Tensors) -> list[int]:
    return [number for number, tensor in enumerate(tensors) if has_gradient(tensor.dtype)]


def _spread(numbers: Sequence[int], made: Sequence[Any], count: int) -> list[Any]:
    found = dict(zip(numbers, made, strict=True))
    return [found.get(number) for number in range(count)]


def _or_zeros(grad: Any, like: Any) -> Any:
    return zeros_like(like) if grad is None else read(grad)


def _lists(outside: Tensors, held: Sequence[FunctionGraph]) -> dict[int, Operation]:
    """The lists of rows among what graphs take from outside, by number, each with an operation that reads its rows."""
    found: dict[int, Operation] = {}
    for number, tensor in enumerate(outside):
        inside = [graph.captures[tensor] for graph in held if tensor in graph.captures]
        reader = next((node for taken in inside for node in _readers(taken)), None)
        if tensor.dtype is resource and reader is not None and has_gradient(reader.types["dtype"]):
            found[number] = reader
    return found


def _readers(rows: SymbolicTensor) -> Iterator[Operation]:
    """The operations that read rows of a list, also in graphs further inside."""
    for node in rows.consumers():
        if node.type in _READERS:
            yield node
        for held in node.attrs.values():
            if isinstance(held, FunctionGraph) and rows in held.captures:
                yield from _readers(held.captures[rows])


_READERS = ("TensorListGetItem", "TensorListStack")


def _no_rows(rows: Any, reader: Operation) -> Any:
    """The gradient of a list that nothing flows to: zeros for all its rows."""
    return zeros_like(stack_rows([rows], row_shape=reader.attrs["row_shape"], dtype=reader.types["dtype"]))


# Branches.


def _if_gradient(
    grads: list[Any], cond: Any, input: list[Any], *, then_branch: Any, else_branch: Any, _node: Operation, _see: See
) -> tuple[Any, ...]:
    lists = _lists(_node.args[1], [then_branch, else_branch])
    numbers = sorted([*_wanted(_node.args[1]), *lists])
    outside = [_node.args[1][number] for number in numbers]

    def nothing(number: int) -> Any:
        return _no_rows(input[number], lists[number]) if number in lists else zeros_like(input[number])

    def gradient_of(held: FunctionGraph, other: FunctionGraph) -> Callable[[], list[Any]]:
        def build() -> list[Any]:
            sources = [held.captures.get(tensor) for tensor in outside]
            made = _inside(Exposed(held, _see, _node, [other]), grads, sources)
            return [read(grad) if grad is not None else nothing(n) for grad, n in zip(made, numbers, strict=True)]

        return build

    if not numbers:
        return None, [None] * len(input)
    made = branch(cond, gradient_of(then_branch, else_branch), gradient_of(else_branch, then_branch))
    return None, _spread(numbers, made, len(input))


# Calls.


def _call_gradient(grads: list[Any], captured: list[Any], *, f: Any, _node: Operation, _see: See) -> tuple[Any, ...]:
    args, outside = _node.args
    sources = [*f.arguments, *[f.captures.get(tensor) for tensor in outside]]
    wanted = [s if s is not None and (has_gradient(s.dtype) or s.dtype is resource) else None for s in sources]
    made = _inside(Exposed(f, _see, _node), grads, wanted)
    return made[: len(args)], made[len(args) :]


# Loops.


def _while_gradient(
    grads: list[Any],
    input: list[Any],
    captured: list[Any],
    output: list[Any],
    *,
    cond: Any,
    body: Any,
    _node: Operation,
    _see: See,
) -> tuple[Any, ...]:
    keep = _see(keep_of(_node))
    starts, outside = _node.args
    going = [
        number for number, start in enumerate(starts) if has_gradient(start.dtype) or _is_list(start, grads[number])
    ]
    lists = _lists(outside, [body])
    coming = sorted([*_wanted(outside), *lists])
    first = [_or_zeros(grads[number], output[number]) for number in going]
    totals = [_no_rows(captured[n], lists[n]) if n in lists else zeros_like(captured[n]) for n in coming]
    sources = [body.arguments[number] for number in going] + [body.captures.get(outside[number]) for number in coming]

    def turn(number: Any, *state: Any) -> list[Any]:
        given = _spread(going, state[: len(going)], len(body.results))
        view = Kept(body, _see, turn_of(keep, number))
        made = _inside(view, given, sources)
        before = [
            zeros_like(view(body.arguments[i])) if grad is None else read(grad)
            for grad, i in zip(made[: len(going)], going, strict=True)
        ]
        sums = [s if g is None else s + read(g) for s, g in zip(state[len(going) :], made[len(going) :], strict=True)]
        return [number - 1, *before, *sums]

    shapes = [
        grad.shape if starts[number].dtype is resource else _common_shape(starts[number], output[number])
        for number, grad in zip(going, first, strict=True)
    ]
    found = while_loop(
        lambda number, *state: number >= 0,
        turn,
        [turns(keep) - 1, *first, *totals],
        [TensorShape([]), *shapes, *[total.shape for total in totals]],
        name="backward",
    )
    made = found[1:]
    return _spread(going, made[: len(going)], len(starts)), _spread(coming, made[len(going) :], len(outside))


def _is_list(start: SymbolicTensor, grad: Any) -> bool:
    """Whether a variable of a loop is a list of rows (`situs.ops.rows`), whose gradient is a tensor of all rows."""
    return start.dtype is resource and grad is not None


def _common_shape(start: SymbolicTensor, end: SymbolicTensor) -> TensorShape:
    return start.shape if start.shape == end.shape else TensorShape(None)


find_op("If").gradient(_if_gradient)
find_op("While").gradient(_while_gradient)
partitioned_call.gradient(_call_gradient)
