"""Questions about placement: why an op ran where it ran, and which kernels there are.

tf.explain()            the last ops, with their devices and reasons
tf.explain(tensor)      the op that made a tensor
tf.explain(session)     the operations of a session's graph
tf.explain(function)    the operations of a tf.function, as far as it has been called
tf.explain(model)       those of a Keras model's `fit`, `evaluate` and `predict`, as far as they have run
tf.kernels("MatMul")    device types and dtypes that have a kernel
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import CellType
from typing import Any

from situs._src import ops as ops  # declares every op
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import read
from situs._src.ir.registry.kernel import Kernel
from situs._src.ir.registry.op import Op, find_op
from situs._src.placement import explain as explanations
from situs._src.placement.explain import Explanation
from situs._src.runtime.eager.tensor import EagerTensor
from situs._src.runtime.session.session import BaseSession, ways_in
from situs._src.tracing.concrete import ConcreteFunction
from situs._src.tracing.function import Function, Method


@export("explain")
def explain(what: Any = None) -> Explanation:
    """Says why ops ran where they ran.

    Args:
        what: A tensor or variable, for the op that made it; a session, for its graph; a ``tf.function``, for the
            graphs of its calls, or a Python function around one, such as ``model.train_function``; a Keras model, for
            those of its training, evaluation and prediction; a number, for that many of the last ops; nothing, for all
            that are remembered.

    Returns:
        A sequence of assignments that prints as a table; ``to_dicts()`` gives it as plain data. Where the dynamic
        placer has placed a graph, its ``plan`` says what that expects of a step, and the table ends with it. For a
        function or a session that is compiled it says of each op how it runs: in which region, or why not.

    Example:
        >>> import situs as tf
        >>> with tf.device("/cpu:0"):
        ...     tf.explain(tf.add(1, 2))[0].reason
        'requested: /device:CPU:0'
    """
    if isinstance(what, BaseSession):
        placement, ways = what.placement(), ways_in(what)
        found = [replace(each, runs_as=ways.get(each.node, "")) if ways else each for each in placement.values()]
        return Explanation(found, plan=placement.plan)
    if isinstance(what, (Function, Method, ConcreteFunction)):
        return _of_functions([what])
    if inspect.isfunction(what) or hasattr(what, "train_function"):
        return _of_functions(_functions_around(what))
    what = read(what)
    if isinstance(what, EagerTensor):
        return Explanation([] if what._made_by is None else [what._made_by])
    if what is None or (isinstance(what, int) and not isinstance(what, bool) and what >= 0):
        return explanations.last(what)
    raise ArgumentError(f"explain takes a tensor, a session, a tf.function, a number of ops or nothing, got {what!r}.")


def _of_functions(functions: Sequence[Function | Method | ConcreteFunction]) -> Explanation:
    assignments = [assignment for function in functions for assignment in function.assignments()]
    replicas = next((found for function in functions if (found := function.replicas()) is not None), None)
    plan = next((found for function in functions if (found := function.placement_plan()) is not None), None)
    return Explanation(assignments, replicas, plan)


def _functions_around(what: Any) -> list[Function | Method | ConcreteFunction]:
    """The functions with graphs that a model calls, or that a Python function has in its closure.

    Raises:
        InvalidArgumentError: there are none.
    """
    pending = [what]
    if not inspect.isfunction(what):  # a model: these are None until they are first used
        pending = [getattr(what, f"{name}_function", None) for name in ("train", "test", "predict")]
    found: list[Function | Method | ConcreteFunction] = []
    seen: set[int] = set()
    while pending:
        each = pending.pop(0)
        if isinstance(each, (Function, Method, ConcreteFunction)):
            found += [each] if id(each) not in seen else []
        elif inspect.isfunction(each) and id(each) not in seen:
            pending[:0] = [cell.cell_contents for cell in each.__closure__ or () if _is_filled(cell)]
        seen.add(id(each))
    if not found:
        raise ArgumentError(
            f"{what!r} has no tf.function to explain yet. A Keras model has one when fit(), evaluate() or predict() "
            "has run, unless it was compiled with run_eagerly=True; a Python function has those in its closure."
        )
    return found


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # a name that nothing was assigned to
        return False


@dataclass(frozen=True)
class KernelList(Sequence[Kernel]):
    """The kernels of an op: a sequence that prints one line a kernel."""

    op: Op
    kernels: tuple[Kernel, ...]

    def __len__(self) -> int:
        return len(self.kernels)

    def __getitem__(self, index: Any) -> Any:
        return self.kernels[index]

    def __str__(self) -> str:
        return f"{self.op.name}({self.op.signature})\n" + "\n".join(f"  {kernel}" for kernel in self.kernels)

    __repr__ = __str__


@export("kernels")
def kernels(op: str | Op) -> KernelList:
    """Lists the kernels of an op: for which device types and dtypes it can run.

    Raises:
        NotFoundError: there is no such op; the message names near ones.
    """
    if not isinstance(op, (str, Op)):
        raise ArgumentError(f"kernels takes the name of an op, such as 'MatMul', got {op!r}.")
    found = op if isinstance(op, Op) else find_op(op)
    return KernelList(found, tuple(found.kernels))
