"""Options of the enclosing loop: ``tf.autograph.experimental.set_loop_options``.

    for x in tensor:
        tf.autograph.experimental.set_loop_options(shape_invariants=[(found, tf.TensorShape([None]))])
        found = tf.concat([found, [x]], 0)

It is called in the body, and sets the options of the loop that is being traced. In a Python loop it does nothing, as in
TensorFlow.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.typing import IntLike
from situs._src.tracing.autograph import hooks


@export("autograph.experimental.set_loop_options", v1=())
def set_loop_options(
    parallel_iterations: IntLike | None = None,
    swap_memory: Any = None,
    maximum_iterations: IntLike | None = None,
    shape_invariants: Any = None,
) -> None:
    """Sets options of the enclosing loop; should be the first statement in it.

    Args:
        parallel_iterations: Accepted for TensorFlow's programs.
        swap_memory: Accepted for TensorFlow's programs.
        maximum_iterations: The maximum number of iterations.
        shape_invariants: Pairs of a loop variable and its shape invariant.

    Raises:
        ValueError: a variable does not have such a shape before the loop, or is not a loop variable.
    """
    loop = _loops.of_thread[-1] if _loops.of_thread else None
    if loop is None:
        return
    if not isinstance(shape_invariants, (Iterable, type(None))):
        raise ArgumentError(f"shape_invariants are a list of pairs, got {shown(shape_invariants)}")
    for pair in shape_invariants or ():
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ArgumentError(f"shape_invariants are pairs of a variable and a shape, got {shown(pair)}")
        loop.free(*pair)
    if maximum_iterations is not None:
        loop.limit(maximum_iterations)


class LoopOptions:
    """The options of one loop.

    Args:
        where: The location of the loop.

    Attributes:
        variables: The loop variables of the iteration that is being traced.
    """

    def __init__(self, where: str) -> None:
        self.variables: list[Any] = []
        self._where = where
        self._freed: list[Any] = []
        self.most: Any = None
        self.counts = False

    def free(self, variable: Any, shape: Any) -> None:
        """Allows a variable any shape that is compatible with `shape` after an iteration."""
        wanted = TensorShape(shape)
        if not any(variable is known for known in self.variables):
            raise ArgumentError(
                f"shape_invariants names {shown(variable)}, which is no variable of the loop ({self._where})."
            )
        if not _covers(wanted, variable.shape):
            raise ArgumentError(
                f"A variable has shape {variable.shape} before the loop, which does not conform with the shape "
                f"invariant {wanted} ({self._where})."
            )
        self._freed.append(variable)

    def allows(self, variable: Any) -> bool:
        """Whether a variable may have another shape after the iteration."""
        return any(variable is freed for freed in self._freed)

    def limit(self, most: Any) -> None:
        """Limits the number of iterations; the first time, the loop has to be traced again."""
        self.most = most
        if not self.counts:
            raise _Counted


def _covers(wanted: TensorShape, found: TensorShape) -> bool:
    if wanted.rank is None:
        return True
    return found.rank == wanted.rank and all(a in (None, b) for a, b in zip(wanted, found, strict=True))


class _Counted(Exception):  # noqa: N818 - no error: it leaves a trace that lacks a variable
    """The loop has to count its iterations."""


class _Loops(threading.local):
    def __init__(self) -> None:
        self.of_thread: list[LoopOptions | None] = []


_loops = _Loops()


def run_loop(
    options: LoopOptions,
    again: Callable[..., Any],
    once: Callable[..., list[Any]],
    start: Sequence[Any],
    finish: Callable[[list[Any]], None],
) -> None:
    """Builds a loop in the graph, and passes its results to `finish`."""
    first = list(start) or [0]  # a loop without variables still needs one

    def noted(*values: Any) -> list[Any]:
        _loops.of_thread.append(options)
        try:
            return once(*values)
        finally:
            _loops.of_thread.pop()

    try:
        finish(hooks.listed(hooks.current.while_loop(again, noted, first), len(first)))
    except _Counted:
        options.counts = True
        made = hooks.current.while_loop(
            lambda iteration, *values: hooks.current.logical_and(iteration < options.most, again(*values)),
            lambda iteration, *values: [iteration + 1, *noted(*values)],
            [0, *first],
        )
        finish(hooks.listed(made, len(first) + 1)[1:])
