"""Branches and loops: ``cond``, ``case``, ``switch_case``, ``while_loop``.

In eager code they are Python's own ``if`` and ``while``. In a graph each is one operation that holds the graphs of
its parts (`situs.graph.function`); tensors that these use from outside become its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from situs.devices.scope import here
from situs.errors import DTypeError, InvalidArgumentError
from situs.graph.context import as_default
from situs.graph.function import FunctionGraph, graph_of
from situs.graph.graph import Graph
from situs.graph.node import Operation
from situs.graph.structure import flatten, pack_like, same_structure
from situs.graph.tensor import SymbolicTensor
from situs.ops.compare import less, logical_and
from situs.ops.constant import constant, convert_to_tensor
from situs.ops.define import CPU, GPU, op
from situs.ops.math import add
from situs.registry.op import Op
from situs.registry.signature import Arg
from situs.shapes import UNKNOWN, TensorShape
from situs.tensor import Tensor, is_tensor

_if = op("If", "cond: bool, input: any* -> output: any*", then_branch=None, else_branch=None, stateful=True)
_while = op("While", "input: any*, captured: any* -> output: any*", cond=None, body=None, stateful=True)
for _declared in (_if, _while):
    _declared.shape(lambda *inputs, **graphs: UNKNOWN)
    _declared.kernel(CPU, GPU)(lambda *inputs, **graphs: None)  # situs.execution.control makes the function


# Branches.


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """Returns ``true_fn()`` if `pred` is true, else ``false_fn()``; only one of them runs.

    Args:
        pred: A boolean scalar.
        true_fn: A function without arguments that returns tensors, or lists, tuples and dictionaries of them.
        false_fn: The same, in the same form and with the same dtypes.
        strict: Whether a list of one tensor stays a list.
        name: A name for the operation.
        fn1: The old name of `true_fn`.
        fn2: The old name of `false_fn`.
    """
    then, otherwise = true_fn or fn1, false_fn or fn2
    if not callable(then) or not callable(otherwise):
        raise DTypeError("cond() takes two functions without arguments, true_fn and false_fn.")
    graph = _graph_for([pred])
    if graph is None or not is_tensor(pred):
        if is_tensor(pred) or isinstance(pred, bool | int):
            return then() if pred else otherwise()
        if graph is None:
            return then() if bool(convert_to_tensor(pred)) else otherwise()
    return _cond_in_graph(graph, pred, then, otherwise, strict, name)


def _cond_in_graph(
    graph: Graph, pred: Any, then: Callable[[], Any], otherwise: Callable[[], Any], strict: bool, name: str | None
) -> Any:
    with _building(graph):
        predicate = graph.capture(convert_to_tensor(pred))  # type: ignore[arg-type]
        if not predicate.dtype.is_bool:
            raise DTypeError(f"The predicate of cond() must be a boolean scalar, got {predicate!r}.")
        first, form = trace(graph, then)
        second, other_form = trace(graph, otherwise)
        same_structure(form, other_form, "true_fn and false_fn")
        _check_same_dtypes(first.results, second.results)
        captured = list(dict.fromkeys([*first.captures, *second.captures]))
        shapes = [_common(a.shape, b.shape) for a, b in zip(first.results, second.results, strict=True)]
        results = [(t.dtype, shape) for t, shape in zip(first.results, shapes, strict=True)]
        attrs = {"then_branch": first, "else_branch": second}
        node = _add(graph, _if, (predicate, captured), attrs, results, name or "cond")
    return _answer(node, form, strict)


def _check_same_dtypes(first: Sequence[Tensor], second: Sequence[Tensor]) -> None:
    for number, (a, b) in enumerate(zip(first, second, strict=True)):
        if a.dtype is not b.dtype:
            raise DTypeError(
                f"true_fn and false_fn must return the same dtypes; result {number} is {a.dtype.name} in the one and "
                f"{b.dtype.name} in the other."
            )


def _common(a: TensorShape, b: TensorShape) -> TensorShape:
    """What holds for both shapes."""
    if a.rank is None or a.rank != b.rank:
        return UNKNOWN
    return TensorShape([x if x == y else None for x, y in zip(a, b, strict=True)])


def _answer(node: Operation, form: Any, strict: bool) -> Any:
    """The results in the form that the functions returned; an operation stands for no results."""
    if form is None:
        return node
    made = pack_like(form, list(node.outputs))
    return made[0] if not strict and isinstance(made, (list, tuple)) and len(made) == 1 and type(made) is list else made


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Runs the function of the first predicate that is true, else `default`, else the last function.

    Args:
        pred_fn_pairs: (predicate, function) pairs, or a dictionary of them.
        default: What to run if no predicate is true.
        exclusive: Whether at most one predicate may be true; the first is taken in any case.
        strict: Whether a list of one tensor stays a list.
        name: A name for the operation.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[1]):
            raise DTypeError(f"case() takes pairs of a predicate and a function, got {pair!r}.")
    if not pairs:
        raise InvalidArgumentError("case() needs at least one (predicate, function) pair.")
    if default is None:
        default = pairs.pop()[1]
    chosen = default
    for predicate, function in reversed(pairs):
        chosen = _either(predicate, function, chosen, strict)
    return chosen()


def _either(predicate: Any, function: Callable[[], Any], otherwise: Callable[[], Any], strict: bool) -> Any:
    return lambda: cond(predicate, function, otherwise, strict)


def switch_case(
    branch_index: Any, branch_fns: Any, default: Callable[[], Any] | None = None, name: str = "switch_case"
) -> Any:
    """Runs the function with the number `branch_index`; `default`, or the last one, for other numbers."""
    pairs = list(branch_fns.items() if isinstance(branch_fns, dict) else enumerate(branch_fns))
    if pairs and isinstance(pairs[0][1], tuple):
        pairs = [pair for _, pair in pairs]
    if not pairs:
        raise InvalidArgumentError("switch_case() needs at least one function.")
    index = convert_to_tensor(branch_index)
    last = default or max(pairs)[1]
    from situs.ops.compare import equal

    return case([(equal(index, number), function) for number, function in pairs], last, strict=False, name=name)


# Loops.


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Runs ``body(*loop_vars)`` as long as ``cond(*loop_vars)`` is true.

    Args:
        cond: A function of the loop variables that returns a boolean scalar.
        body: A function of the loop variables that returns their next values, in the same form.
        loop_vars: The first values: tensors, or lists, tuples and dictionaries of them.
        shape_invariants: Shapes that hold in every turn, where they are less known than at the start.
        parallel_iterations: Accepted for TensorFlow's programs; turns follow each other here.
        back_prop: Accepted for TensorFlow's programs.
        swap_memory: Accepted for TensorFlow's programs.
        name: A name for the operation.
        maximum_iterations: The most turns to make.
        return_same_structure: Whether a list of one loop variable stays a list.

    Returns:
        The loop variables after the last turn.
    """
    if not callable(cond) or not callable(body):
        raise DTypeError("while_loop() takes two functions of the loop variables, cond and body.")
    if not isinstance(loop_vars, (list, tuple)):
        loop_vars = [loop_vars] if is_tensor(loop_vars) else loop_vars
    if loop_vars is None or len(loop_vars) == 0:
        raise InvalidArgumentError("No loop variables provided")
    graph = _graph_for(flatten(loop_vars))
    if graph is None:
        return _loop_now(cond, body, loop_vars, maximum_iterations)
    made = _loop_in_graph(graph, cond, body, loop_vars, shape_invariants, name, maximum_iterations)
    return made if return_same_structure or len(loop_vars) > 1 or isinstance(loop_vars, dict) else made[0]


def _loop_now(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, maximum: Any) -> Any:
    state, turns = loop_vars, 0
    while (maximum is None or turns < int(maximum)) and cond(*state):
        made = body(*state)
        state = made if isinstance(made, (list, tuple)) else (made,)
        same_structure(loop_vars, type(loop_vars)(state) if type(loop_vars) in (list, tuple) else state, "the loop")
        turns += 1
    converted = [convert_to_tensor(v) if not is_tensor(v) else v for v in flatten(state)]
    return pack_like(loop_vars, converted)


def _loop_in_graph(
    graph: Graph,
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any,
    name: str | None,
    maximum: Any,
) -> Any:
    with _building(graph):
        if maximum is not None:
            counted = _counting(graph, cond, body, maximum)
            first = [constant(0), *loop_vars]
            invariants = None if shape_invariants is None else [TensorShape([]), *shape_invariants]
            made = _loop_in_graph(graph, *counted, first, invariants, name, None)
            return type(loop_vars)(made[1:])
        start = [graph.capture(convert_to_tensor(v)) for v in flatten(loop_vars)]  # type: ignore[arg-type]
        shapes = _loop_shapes(start, shape_invariants)
        test = _trace_part(graph, cond, loop_vars, start, shapes)
        step, test, shapes = _settled(graph, cond, body, loop_vars, start, shapes, test, shape_invariants is None)
        captured = list(dict.fromkeys([*test.captures, *step.captures]))
        results = [(tensor.dtype, shape) for tensor, shape in zip(start, shapes, strict=True)]
        node = _add(graph, _while, (start, captured), {"cond": test, "body": step}, results, name or "while")
    return pack_like(loop_vars, list(node.outputs))


def _counting(graph: Graph, cond: Callable[..., Any], body: Callable[..., Any], maximum: Any) -> tuple[Any, Any]:
    """The two functions of a loop, with one more variable that counts the turns."""
    most = convert_to_tensor(maximum, "int32")

    def count_and_test(turn: Any, *state: Any) -> Any:
        return logical_and(less(turn, most), cond(*state))

    def count_and_step(turn: Any, *state: Any) -> Any:
        made = body(*state)
        return [add(turn, 1), *(made if isinstance(made, (list, tuple)) else [made])]

    return count_and_test, count_and_step


def _loop_shapes(start: Sequence[Tensor], invariants: Any) -> list[TensorShape]:
    if invariants is None:
        return [tensor.shape for tensor in start]
    shapes = [TensorShape(shape) for shape in _flat_shapes(invariants)]
    if len(shapes) != len(start):
        raise InvalidArgumentError(
            f"while_loop() got {len(shapes)} shape invariants for {len(start)} loop variables; give one for each."
        )
    for tensor, shape in zip(start, shapes, strict=True):
        tensor.shape.assert_is_compatible_with(shape)
    return shapes


def _flat_shapes(invariants: Any) -> list[Any]:
    if isinstance(invariants, dict):
        return [shape for item in invariants.values() for shape in _flat_shapes(item)]
    if isinstance(invariants, (list, tuple)) and not all(isinstance(d, int | None) for d in invariants):
        return [shape for item in invariants for shape in _flat_shapes(item)]
    return [invariants]


def _settled(
    graph: Graph,
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    start: list[SymbolicTensor],
    shapes: list[TensorShape],
    test: FunctionGraph,
    may_relax: bool,
) -> tuple[FunctionGraph, FunctionGraph, list[TensorShape]]:
    """The body, traced again with less known shapes until a turn keeps what is known."""
    while True:
        step = _trace_part(graph, body, loop_vars, start, shapes, is_body=True)
        _check_body(start, step.results)
        kept = [_common(shape, result.shape) for shape, result in zip(shapes, step.results, strict=True)]
        if kept == shapes:
            return step, test, shapes
        if not may_relax:
            _refuse_change(start, shapes, step.results)
        shapes = kept
        test = _trace_part(graph, cond, loop_vars, start, shapes)


def _check_body(start: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    if len(start) != len(results):
        raise InvalidArgumentError(
            f"The body of a while_loop() must return as many values as there are loop variables: {len(start)}, it "
            f"returned {len(results)}."
        )
    for number, (before, after) in enumerate(zip(start, results, strict=True)):
        if before.dtype is not after.dtype:
            raise DTypeError(
                f"Loop variable {number} enters the loop as {before.dtype.name}, and the body returns "
                f"{after.dtype.name}. Cast it to tf.{before.dtype.name}."
            )


def _refuse_change(start: Sequence[Any], shapes: Sequence[TensorShape], results: Sequence[Tensor]) -> None:
    for tensor, shape, result in zip(start, shapes, results, strict=True):
        if _common(shape, result.shape) != shape:
            raise InvalidArgumentError(
                f"The shape invariant specified for {tensor.name} is not compatible with the shape of the loop "
                f"variable after one turn: {shape} became {result.shape}. Say so in shape_invariants."
            )


def _trace_part(
    graph: Graph,
    function: Callable[..., Any],
    loop_vars: Any,
    start: Sequence[Tensor],
    shapes: Sequence[TensorShape],
    is_body: bool = False,
) -> FunctionGraph:
    inner = FunctionGraph(graph)
    arguments = [inner.add_argument(t.dtype, s, "loop_var") for t, s in zip(start, shapes, strict=True)]
    with as_default(inner):
        made = function(*_as_arguments(pack_like(loop_vars, arguments)))
        if is_body and not isinstance(made, (list, tuple)) and len(start) == 1:
            made = [made]
        flat = flatten(made) if is_body else [made]
        wanted = [t.dtype if is_body and i < len(start) else None for i, t in enumerate([*start, *flat])]
        inner.results = [_result(inner, value, dtype) for value, dtype in zip(flat, wanted, strict=False)]
    if not is_body and not inner.results[0].dtype.is_bool:
        raise DTypeError(f"The condition of a while_loop() must return a boolean scalar, got {inner.results[0]!r}.")
    return inner


def _as_arguments(state: Any) -> Any:
    return state.values() if isinstance(state, dict) else state


def _result(inner: FunctionGraph, value: Any, dtype: Any) -> SymbolicTensor:
    if not is_tensor(value) and dtype is not None:
        return inner.capture(convert_to_tensor(value, dtype))  # type: ignore[arg-type]
    return inner.capture(convert_to_tensor(value))  # type: ignore[arg-type]


# Shared.


def trace(outer: Graph, function: Callable[[], Any]) -> tuple[FunctionGraph, Any]:
    """Runs a function of no arguments in a graph of its own; returns the graph and the form of its results."""
    inner = FunctionGraph(outer)
    with as_default(inner):
        made = function()
        if made is None or isinstance(made, Operation):
            return inner, None
        form = _without_operations(made)
        inner.results = [inner.capture(convert_to_tensor(value)) for value in flatten(form)]  # type: ignore[arg-type]
    return inner, form


def _without_operations(made: Any) -> Any:
    """Operations in the results of a branch stand for True, as something to fetch."""
    if isinstance(made, Operation):
        return constant(True)
    if isinstance(made, (list, tuple)) and not hasattr(made, "_fields"):
        return type(made)(_without_operations(item) for item in made)
    return made


def _graph_for(values: Sequence[Any]) -> Graph | None:
    return here.graph if here.graph is not None else graph_of(values)


def _building(graph: Graph) -> Any:
    from contextlib import nullcontext

    return nullcontext() if here.graph is graph else as_default(graph)


def _add(
    graph: Graph, op_def: Op, args: tuple[Any, ...], attrs: dict[str, Any], results: list[Any], name: str
) -> Operation:
    declared = [(Arg("output", "any"), dtype, shape) for dtype, shape in results]
    return graph.add(op_def, args, attrs, {}, declared, name)
