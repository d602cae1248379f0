"""Hooks that tracing installs in the layers below: the ops for AutoGraph's branches and loops, and a rule for
variables.

A ``tf.function`` may create variables only in its first trace: otherwise every new signature
would create new ones.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.dtype import float32, int32, string
from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import SCALAR
from situs._src.base.tensor import Tensor
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops import array, compare, constant, control, debug, loop
from situs._src.ops.cast import cast
from situs._src.ops.inner import Inner
from situs._src.ops.strings import to_number
from situs._src.tracing.autograph import hooks as autograph
from situs._src.tracing.lift import value_now
from situs._src.variables import eager


def install() -> None:
    """Installs the ops for AutoGraph's branches and loops."""
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
        number=_number,
        blanks=_blanks,
        assertion=lambda condition, message: debug.Assert(condition, [message]),
    )
    eager.on_create.append(_check_creation)
    eager.value_now = value_now


def _element(tensor: SymbolicTensor, index: object) -> Tensor:
    """A row of a tensor; for a range of integers, the number itself, which need not be read from memory."""
    if tensor.op.type == "Range" and tensor.dtype is int32 and isinstance(index, SymbolicTensor):
        start, _, delta = tensor.op.args
        if type(start) is int and type(delta) is int:
            scaled = index if delta == 1 else index * delta
            return scaled if start == 0 else scaled + start
    return tensor[index]


def _number(value: SymbolicTensor, kind: type) -> Tensor:
    """``int(value)`` or ``float(value)``, an int32 or a float32 whatever the dtype of the value."""
    dtype = int32 if kind is int else float32
    return to_number(value, dtype) if value.dtype is string else cast(value, dtype)


def _blanks(function: Callable[[Any], list[Any]]) -> list[Any]:
    """Zeros like the results of a function of a number, which is traced into a graph that never runs."""
    trial = Inner(here.graph, function, [(int32, SCALAR)])
    trial.finish()
    return [constant.zeros([dim or 0 for dim in shape.dims or ()], dtype) for dtype, shape in trial.kinds]


class _Creation(threading.local):
    """Whether this thread may create variables."""

    def __init__(self) -> None:
        self.allowed = True
        self.function = ""
        self.count = 0  # of variables created during tracing


_creation = _Creation()


class Created:
    """How many variables were created during a trace, and whether it is nested in the trace of another function."""

    def __init__(self, is_inner: bool) -> None:
        self.count = 0
        self.is_inner = is_inner


@contextmanager
def creating_variables(allowed: bool, function: str) -> Iterator[Created]:
    """A context for tracing, in which variables may or may not be created."""
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
        return  # created by eager code
    if not _creation.allowed:
        raise ArgumentError(
            "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is "
            f"only created once or created outside tf.function: {_creation.function}() makes one every time a graph is "
            "made for it. Make it outside, or only if it does not exist yet."
        )
    _creation.count += 1
