"""Branches: ``cond``, ``case`` and ``switch_case``.

In eager code they are Python's ``if``. In a graph a branch is one operation with two graphs, of which only one runs:

    If(pred, x, y)    then_branch    x + y
                      else_branch    x - y
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN
from situs._src.base.tensor import Tensor, is_tensor, read
from situs._src.base.tree import LEAF, Form, common_form, put_together
from situs._src.base.typing import ArrayLike, IntLike
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.calling import calls_functions
from situs._src.ir.registry.traits import STATE_ANYWHERE
from situs._src.ops.attribute import as_name
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.debug import Assert
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.inner import Inner, building, captured_by, common, graph_for, hold, symbolic
from situs._src.ops.join import stack
from situs._src.ops.reduce import reduce_sum
from situs._src.ops.slices import IndexedSlices

Branch = Callable[[], Any]

_if = op(
    "If",
    "cond: bool, input: any* -> output: any*",
    traits={STATE_ANYWHERE},
    then_branch=None,
    else_branch=None,
    stateful=True,
)
_if.shape(lambda *inputs, **graphs: UNKNOWN)
_if.kernel(CPU, GPU)(lambda *inputs, **graphs: None)  # situs._src.runtime.plan.control_flow makes the function


@export("cond", v1=())
@calls_functions
def cond(
    pred: ArrayLike, true_fn: Branch | None = None, false_fn: Branch | None = None, name: str | None = None
) -> Any:
    """Returns ``true_fn()`` if `pred` is true, else ``false_fn()``; only one of them runs.

    Args:
        pred: A boolean scalar.
        true_fn: A function without arguments that returns tensors, or lists, tuples and dictionaries of them.
        false_fn: The same, in the same form and with the same dtypes.
        name: A name for the operation.

    Raises:
        TypeError: one of them is not a function, or what they return in a graph differs in form or dtype.

    Example:
        >>> import situs as tf
        >>> int(tf.cond(tf.constant(2) > 1, lambda: tf.constant(10), lambda: tf.constant(20)))
        10
    """
    then, otherwise = check_branch(true_fn, "true_fn"), check_branch(false_fn, "false_fn")
    graph = graph_for([pred])
    if graph is None:
        return then() if _truth(pred) else otherwise()
    return branch(graph, pred, then, otherwise, name)


def smart_cond(pred: Any, true_fn: Branch, false_fn: Branch) -> Any:
    """``cond``, decided at once where the predicate is known to Python; None counts as false."""
    value = read(pred)
    if not isinstance(value, Tensor):
        return true_fn() if value is not None and bool(value) else false_fn()
    if not isinstance(value, SymbolicTensor):
        return true_fn() if _truth(value) else false_fn()
    return cond(value if value.dtype.is_bool else cast(value, "bool"), true_fn, false_fn)


def check_branch(function: Any, name: str, what: str = "cond") -> Branch:
    """A function for a branch.

    Raises:
        TypeError: it is missing, or no function.
    """
    if function is None:
        raise DTypeError(f"{what}(): '{name}' argument required, a function that takes no arguments.")
    if not callable(function):
        raise DTypeError(f"'{name}' must be callable: {what}() takes functions without arguments, got {function!r}.")
    return function  # type: ignore[no-any-return]


def _truth(pred: ArrayLike) -> bool:
    value = read(pred)
    return bool(value if isinstance(value, (Tensor, bool, int, float)) else convert_to_tensor(value))


def branch(
    graph: Graph,
    pred: ArrayLike,
    then: Branch,
    otherwise: Branch,
    name: str | None,
    alike: Callable[[Inner, Inner], None] | None = None,
) -> Any:
    """Adds the operation of a branch to a graph, and returns its results in the form that the functions give.

    Args:
        graph: The graph.
        pred: The predicate.
        then: What to run if it is true.
        otherwise: What to run if it is false.
        name: A name for the operation.
        alike: Gives what the two functions have made one form, if they have not.
    """
    if isinstance(pred, bool):
        raise DTypeError(
            f"pred must not be a Python bool: {pred} is known already, so write `if` in Python, or tf.constant({pred})."
        )
    with building(graph):
        predicate = symbolic(graph, pred)
        if not predicate.dtype.is_bool:
            raise DTypeError(f"The predicate of cond() must be a boolean scalar, got {predicate!r}.")
        first, second = Inner(graph, then), Inner(graph, otherwise)
        if alike is not None:
            alike(first, second)
        _finish(first, second)
        shapes = [common(a, b) for (_, a), (_, b) in zip(first.kinds, second.kinds, strict=True)]
        results = [(dtype, shape) for (dtype, _), shape in zip(first.kinds, shapes, strict=True)]
        graphs = {"then_branch": first.graph, "else_branch": second.graph}
        args = (predicate, captured_by(first.graph, second.graph))
        node = hold(graph, _if, args, graphs, results, as_name(name, "cond"))
    if isinstance(first.made, Operation) or isinstance(second.made, Operation):
        return node  # something to run, where nothing is returned
    return put_together(common_form(first.form, second.form), node.outputs)


def _finish(first: Inner, second: Inner) -> None:
    """Makes graphs of what two branches returned.

    Raises:
        TypeError: the results of the two differ in form or dtype.
    """
    first.finish()
    second.finish()
    if first.form == second.form:
        _match_indices(first, second)
    dtypes = [[dtype for dtype, _ in inner.kinds] for inner in (first, second)]
    if first.form != second.form and not (isinstance(first.form, Form) and first.form.matches(second.form)):
        found = f"{first.form} is not {second.form}"
    elif dtypes[0] != dtypes[1]:
        number = next(i for i, (a, b) in enumerate(zip(*dtypes, strict=True)) if a is not b)
        found = f"result {number} is {dtypes[0][number].name} in the one and {dtypes[1][number].name} in the other"
    else:
        return
    raise DTypeError(
        "true_fn and false_fn arguments to tf.cond must have the same number, type, and overall structure of return "
        f"values.\n\ntrue_fn output: {first.made}\nfalse_fn output: {second.made}\n\nError details:\n{found}"
    )


def _match_indices(first: Inner, second: Inner) -> None:
    """Makes the indices of slices int64 in both branches, where these have different dtypes, as TensorFlow does."""
    for number in _index_places(first.form, count()):
        tensors = [inner.graph.results[number] for inner in (first, second)]
        if tensors[0].dtype is not tensors[1].dtype:
            for inner, tensor in zip((first, second), tensors, strict=True):
                with building(inner.graph):
                    inner.graph.results[number] = symbolic(inner.graph, cast(tensor, "int64"))


def _index_places(form: object, numbers: Iterator[int]) -> Iterator[int]:
    """Which of the leaves of a form are the indices of slices; `numbers` counts the leaves."""
    if form is LEAF:
        next(numbers)
    elif isinstance(form, Form):
        for place, item in enumerate(form.items):
            if form.kind is IndexedSlices and place == 1:
                yield next(numbers)
            else:
                yield from _index_places(item, numbers)


# Several branches.


@export("case", v1=())
@calls_functions
def case(
    pred_fn_pairs: Any,
    default: Branch | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Runs the function of the first predicate that is true, else `default`.

    Args:
        pred_fn_pairs: (predicate, function) pairs, or a dictionary of them.
        default: What to run if no predicate is true; without it, that is an error.
        exclusive: Whether it is an error if more than one predicate is true.
        strict: Whether a list of one tensor stays a list; it does here in any case.
        name: A name for the operation.

    Raises:
        TypeError: these are not pairs.
        InvalidArgumentError: no predicate is true and there is no `default`, or several are and `exclusive` is set.
    """
    return choose(pred_fn_pairs, default, exclusive, name, cond)


def choose(pairs: Any, default: Branch | None, exclusive: bool, name: str, cond_of: Callable[..., Any]) -> Any:
    """`case`, with the `cond` that makes each branch."""
    pairs = _checked_pairs(pairs)
    if default is not None:
        check_branch(default, "default", "case")
    predicates = [predicate for predicate, _ in pairs]
    checks = _checks(predicates, default is None, exclusive)

    def chosen() -> Any:
        last = default if default is not None else pairs[-1][1]
        for predicate, function in reversed(pairs if default is not None else pairs[:-1]):
            last = _either(predicate, function, last, name, cond_of)
        return last()

    return _after(checks, chosen)


def _checked_pairs(pairs: Any) -> list[tuple[Any, Branch]]:
    if not isinstance(pairs, (list, tuple, dict)):
        raise DTypeError(f"'pred_fn_pairs' must be a list, tuple, or dict. Received: {type(pairs)}")
    found = list(pairs.items() if isinstance(pairs, dict) else pairs)
    if not found:
        raise ArgumentError("case() needs at least one (predicate, function) pair.")
    for pair in found:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise DTypeError(f"Each entry in 'pred_fn_pairs' must be a 2-tuple. Received {shown(pair)}.")
        predicate, function = pair
        dtype = getattr(read(predicate), "dtype", type(predicate))
        if not callable(function):
            raise DTypeError(f"fn for pred {predicate!r} must be callable, got {function!r}.")
        if not getattr(dtype, "is_bool", dtype in (bool, np.bool_)):
            raise DTypeError(f"pred must be Tensor of type bool: {predicate!r}")
    return found


def _checks(predicates: list[Any], one_needed: bool, exclusive: bool) -> list[Any]:
    """The assertions that a `case` makes before it runs anything."""
    if not one_needed and not exclusive:
        return []
    values = stack([convert_to_tensor(predicate) for predicate in predicates])
    true = reduce_sum(cast(values, "int32"))
    made = []
    if exclusive:
        text = f"Input error: exclusive=True: more than 1 conditions ({len(predicates)} in all) evaluated as True:"
        made.append(Assert(true < 2, [text, values], summarize=len(predicates)))
    if one_needed:
        text = "Input error: None of conditions evaluated as True:"
        made.append(Assert(true > 0, [text, values], summarize=len(predicates)))
    return made


def _after(checks: list[Any], function: Branch) -> Any:
    first = [check for check in checks if isinstance(check, Operation)]
    if not first:
        return function()
    with first[0].graph.control_dependencies(first):
        return function()


def _either(predicate: Any, function: Branch, otherwise: Branch, name: str, cond_of: Callable[..., Any]) -> Branch:
    def decide() -> Any:
        if isinstance(predicate, bool):
            return function() if predicate else otherwise()
        return cond_of(predicate, function, otherwise, name=name)

    return decide


@export("switch_case")
@calls_functions
def switch_case(
    branch_index: IntLike, branch_fns: Any, default: Branch | None = None, name: str = "switch_case"
) -> Any:
    """Runs the function with the number `branch_index`; `default`, or the last one, for other numbers.

    Args:
        branch_index: An integer scalar.
        branch_fns: Functions, (number, function) pairs, or a dictionary of them; the numbers begin at 0.
        default: What to run for other numbers.
        name: A name for the operation.

    Raises:
        TypeError: these are not functions, or no numbers.
        ValueError: there are no functions, or numbers are left out.
    """
    functions = _checked_functions(branch_fns)
    if not is_tensor(branch_index) or not read(branch_index).dtype.is_integer:
        raise DTypeError(f"'branch_index' must be an integer Tensor, got {branch_index!r}.")
    index = cast(read(branch_index), "int32")
    last = functions.pop() if default is None else check_branch(default, "default", "switch_case")
    for number, function in reversed(list(enumerate(functions))):
        last = _either(equal(index, number), function, last, name, cond)
    return last()


def _checked_functions(branch_fns: Any) -> list[Branch]:
    if not isinstance(branch_fns, (list, tuple, dict)):
        raise DTypeError(f"'branch_fns' must be a list, tuple, or dict. Received: {type(branch_fns)}")
    if not branch_fns:
        raise ArgumentError("Must provide at least one item in 'branch_fns'")
    if not isinstance(branch_fns, dict) and all(callable(function) for function in branch_fns):
        return list(branch_fns)
    return _by_number(list(branch_fns.items() if isinstance(branch_fns, dict) else branch_fns))


def _by_number(pairs: Sequence[Any]) -> list[Branch]:
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise DTypeError(f"Each entry in 'branch_fns' must be a 2-tuple. Received {shown(pair)}.")
        if not isinstance(pair[0], int):
            raise DTypeError(f"key must be a Python `int`, got {type(pair[0])}")
        check_branch(pair[1], f"branch_fns[{pair[0]}]", "switch_case")
    numbers = sorted(pair[0] for pair in pairs)
    if numbers != list(range(len(pairs))):
        found = ",".join(map(str, numbers))
        raise ArgumentError(
            f"branch indices (keys) must form contiguous range of [0 to {len(pairs)}) but found {{{found}}}"
        )
    return [function for _, function in sorted(pairs, key=lambda pair: pair[0])]
