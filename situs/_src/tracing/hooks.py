"""What tracing tells the layers below it: the ops that AutoGraph's branches and loops become, and a rule for variables.

A ``tf.function`` may create variables only the first time a graph is made: otherwise every new kind of
arguments would give it new ones.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.dtype import int32
from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import SCALAR
from situs._src.base.tensor import Tensor
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops import array, compare, constant, control, debug, loop
from situs._src.ops.inner import Inner
from situs._src.tracing.autograph import hooks as autograph
from situs._src.tracing.lift import value_now
from situs._src.variables import eager


def install() -> None:
    """Gives AutoGraph the ops that branches and loops become."""
    autograph.install(
        cond=control.cond,
        while_loop=loop.settling_loop,
        is_symbolic=lambda value: isinstance(value, SymbolicTensor),
        logical_and=compare.logical_and,
        logical_or=compare.logical_or,
        logical_not=compare.logical_not,
        length=lambda tensor: array.shape(tensor)[0],
        element=_element,
        range_=constant.range,
        blanks=_blanks,
        assertion=lambda condition, message: debug.Assert(condition, [message]),
    )
    eager.on_create.append(_check_creation)
    eager.value_now = value_now


def _element(tensor: SymbolicTensor, index: object) -> Tensor:
    """A row of a tensor; where this is a range of integers, the number itself, which need not be read from anywhere."""
    if tensor.op.type == "Range" and tensor.dtype is int32 and isinstance(index, SymbolicTensor):
        start, _, delta = tensor.op.args
        if type(start) is int and type(delta) is int:
            scaled = index if delta == 1 else index * delta
            return scaled if start == 0 else scaled + start
    return tensor[index]


def _blanks(function: Callable[[Any], list[Any]]) -> list[Any]:
    """Zeros like the tensors that a function of a number gives, which is called for a graph that never runs."""
    trial = Inner(here.graph, function, [(int32, SCALAR)])
    trial.finish()
    return [constant.zeros([dim or 0 for dim in shape.dims or ()], dtype) for dtype, shape in trial.kinds]


class _Creation(threading.local):
    """What holds for variables made in this thread."""

    def __init__(self) -> None:
        self.allowed = True
        self.function = ""
        self.count = 0  # of the variables made while a graph is


_creation = _Creation()


class Created:
    """How many variables were made while a graph was, and whether that is part of making another function's graph."""

    def __init__(self, is_inner: bool) -> None:
        self.count = 0
        self.is_inner = is_inner


@contextmanager
def creating_variables(allowed: bool, function: str) -> Iterator[Created]:
    """A context in which a graph is made: variables may be made as well, or not."""
    before = _creation.allowed, _creation.function, _creation.count
    _creation.allowed, _creation.function = allowed and before[0], function
    created = Created(bool(before[1]))
    try:
        yield created
    finally:
        created.count = _creation.count - before[2]
        _creation.allowed, _creation.function = before[:2]


def _check_creation(variable: Any) -> None:
    if here.graph is None:
        return  # it is eager code that makes it
    if not _creation.allowed:
        raise ArgumentError(
            "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is "
            f"only created once or created outside tf.function: {_creation.function}() makes one every time a graph is "
            "made for it. Make it outside, or only if it does not exist yet."
        )
    _creation.count += 1
