"""What tracing needs from the layers beside it: AutoGraph's operators, and the rule for variables.

A ``tf.function`` may create variables only the first time a graph is made: otherwise every new kind of
arguments would give it new ones.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from situs.autograph import hooks as autograph
from situs.errors import InvalidArgumentError
from situs.graph.tensor import SymbolicTensor
from situs.ops import array, compare, constant, control, loop
from situs.variables import eager


def install() -> None:
    """Gives AutoGraph the ops that branches and loops become."""
    autograph.install(
        cond=control.cond,
        while_loop=loop.while_loop,
        is_symbolic=lambda value: isinstance(value, SymbolicTensor),
        logical_and=compare.logical_and,
        logical_or=compare.logical_or,
        logical_not=compare.logical_not,
        length=lambda tensor: array.shape(tensor)[0],
        element=lambda tensor, index: tensor[index],
        range_=constant.range,
    )
    eager.on_create.append(_check_creation)


class _Creation(threading.local):
    def __init__(self) -> None:
        self.allowed = True
        self.function = ""


_creation = _Creation()


@contextmanager
def creating_variables(allowed: bool, function: str) -> Iterator[None]:
    """A context in which variables may, or may not, be made."""
    before = _creation.allowed, _creation.function
    _creation.allowed, _creation.function = allowed, function
    try:
        yield
    finally:
        _creation.allowed, _creation.function = before


def _check_creation(variable: Any) -> None:
    if not _creation.allowed:
        raise InvalidArgumentError(
            f"tf.function only supports singleton tf.Variables created on the first call: {_creation.function}() makes "
            "one every time a graph is made for it. Make the variable outside of the function, or only if it does not "
            "exist yet."
        )
