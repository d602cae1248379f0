"""``cond``, ``case`` and ``while_loop`` as TensorFlow 1 has them.

They differ in what they return: a list or tuple of one tensor is the tensor itself, unless the program says otherwise.

    tf.cond(p, lambda: [x], lambda: [y])                 a tensor
    tf.cond(p, lambda: [x], lambda: [y], strict=True)    a list of one tensor
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.export import export
from situs._src.base.tree import deeper
from situs._src.base.typing import ArrayLike
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.calling import calls_functions
from situs._src.ops import control
from situs._src.ops.constant import constant
from situs._src.ops.control import Branch, check_branch
from situs._src.ops.inner import graph_for
from situs._src.ops.loop import Holders, Loop, check_loop


@export(
    v1="cond",
    differs="An If operation that holds its branches as graphs: what is inside a branch cannot be fetched, and a "
    "session that fetches one result runs the branch with all of them. Functions that return None are errors: "
    "return a tensor or an operation.",
)
@calls_functions
def cond(
    pred: ArrayLike,
    true_fn: Branch | None = None,
    false_fn: Branch | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Branch | None = None,
    fn2: Branch | None = None,
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

    Raises:
        TypeError: one of them is not a function, or what they return in a graph differs in form or dtype.
        ValueError: one of them returns nothing.
    """
    then = check_branch(_one_of(true_fn, fn1, "true_fn", "fn1"), "true_fn")
    otherwise = check_branch(_one_of(false_fn, fn2, "false_fn", "fn2"), "false_fn")
    graph = graph_for([pred])
    if graph is None:
        made = control.cond(pred, then, otherwise, name)
        return made if strict else _unpacked(made)
    first, second = _returning(then, "true_fn", strict), _returning(otherwise, "false_fn", strict)
    made = control.branch(graph, pred, first, second, name)
    return made if strict else _unpacked(made)


def _one_of(new: Branch | None, old: Branch | None, name: str, old_name: str) -> Branch | None:
    if new is not None and old is not None:
        raise DTypeError(f"cond(): '{name}' and '{old_name}' may not be set simultaneously.")
    return old if new is None else new


def _returning(function: Branch, name: str, strict: bool) -> Branch:
    """The function of a branch, with a tensor, True, instead of each operation that it returns."""

    def run() -> Any:
        made = function()
        if made is None:
            raise ArgumentError(f"'{name}' must have a return value: a tensor or an operation.")
        made = _with_tensors(made)
        return made if strict else _unpacked(made)

    return run


def _with_tensors(made: Any, depth: int = 0) -> Any:
    if isinstance(made, Operation):
        with made.graph.control_dependencies([made]):
            return constant(True)
    if type(made) in (list, tuple):
        below = deeper(depth)
        return type(made)(_with_tensors(item, below) for item in made)
    return made


def _unpacked(made: object) -> Any:
    return made[0] if isinstance(made, (list, tuple)) and len(made) == 1 else made


@export(v1="case")
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
        strict: Whether a list of one tensor stays a list.
        name: A name for the operation.

    Raises:
        TypeError: these are not pairs.
        InvalidArgumentError: no predicate is true and there is no `default`, or several are and `exclusive` is set.
    """

    def one(pred: ArrayLike, true_fn: Branch, false_fn: Branch, name: str) -> Any:
        return cond(pred, true_fn, false_fn, strict, name)

    return control.choose(pred_fn_pairs, default, exclusive, name, one)


@export(v1="while_loop")
@calls_functions
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: object,
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
        loop_vars: A list or tuple of the first values: tensors, or lists, tuples and dictionaries of them.
        shape_invariants: Shapes that hold in every iteration, where they are less known than at the start.
        parallel_iterations: Accepted for TensorFlow's programs; iterations follow each other here.
        back_prop: Accepted for TensorFlow's programs.
        swap_memory: Accepted for TensorFlow's programs.
        name: A name for the operation.
        maximum_iterations: The most iterations to make.
        return_same_structure: Whether the result has the form of `loop_vars`.

    Returns:
        The loop variables after the last iteration, in the form in which the body returns them; a single one as it is,
        unless `return_same_structure` is set.
    """
    check_loop(cond, body, loop_vars, parallel_iterations)
    if holders := Holders(loop_vars):
        made = holders.run(cond, body, shape_invariants, maximum_iterations, name)
        return made[0] if len(made) == 1 and not return_same_structure else made
    loop = Loop(cond, body, loop_vars, shape_invariants, maximum_iterations)
    graph = graph_for(loop.start)
    made = loop.run_now() if graph is None else loop.run_in(graph, name)
    if return_same_structure:
        return made
    return made[0] if len(made) == 1 else loop.as_body(made)
