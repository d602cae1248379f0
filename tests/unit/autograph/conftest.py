"""Symbolic tensors that secretly know their value, and ops that trace both branches as a graph would.

With them a converted function runs its symbolic path, and its result can still be compared with what
plain Python gives.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from situs._src.base import dtype
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.tracing.autograph import hooks
from situs.errors import OperatorNotAllowedInGraphError


class Symbolic(Tensor):
    """A tensor of a pretended graph."""

    __slots__ = ("array",)
    __hash__ = None

    def __init__(self, value: Any) -> None:
        value = value.array if isinstance(value, Symbolic) else np.asarray(value)
        small = {np.dtype("int64"): np.int32, np.dtype("float64"): np.float32}
        self.array = value.astype(small.get(value.dtype, value.dtype))

    @property
    def dtype(self) -> dtype.DType:
        return dtype.as_dtype("string" if self.array.dtype.kind in "US" else self.array.dtype.name)

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self.array.shape)

    def __bool__(self) -> bool:
        raise OperatorNotAllowedInGraphError("a symbolic tensor has no value")

    __iter__ = __len__ = __index__ = __bool__

    def __repr__(self) -> str:
        return f"Symbolic({self.array.tolist()})"

    def __getitem__(self, index: Any) -> Symbolic:
        return Symbolic(self.array[_plain(index)])


def _plain(value: Any) -> Any:
    return value.array if isinstance(value, Symbolic) else value


def _binary(function: Callable[[Any, Any], Any]) -> Any:
    return lambda self, other: Symbolic(function(self.array, _plain(other)))


for _name in ("add", "sub", "mul", "mod", "lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Symbolic, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in ("add", "sub", "mul"):
    _function = getattr(operator, _name)
    setattr(Symbolic, f"__r{_name}__", _binary(lambda a, b, function=_function: function(b, a)))
Symbolic.__neg__ = lambda self: Symbolic(-self.array)


def _cond(pred: Symbolic, true_fn: Callable[[], list[Any]], false_fn: Callable[[], list[Any]]) -> list[Any]:
    one, other = true_fn(), false_fn()
    assert len(one) == len(other)
    return [Symbolic(value) for value in (one if pred.array else other)]


def _while_loop(cond: Callable[..., Any], body: Callable[..., list[Any]], loop_vars: list[Any]) -> list[Any]:
    start = [Symbolic(value) for value in loop_vars]
    cond(*start)
    assert len(body(*start)) == len(start)  # traced, even if the loop runs no iteration
    values = start
    while Symbolic(cond(*values)).array:
        values = [Symbolic(value) for value in body(*values)]
    return values


def _element(tensor: Symbolic, index: Symbolic) -> Symbolic:
    if index.array < len(tensor.array):
        return tensor[index]
    return Symbolic(np.zeros(tensor.array.shape[1:], tensor.array.dtype))  # only traced, never run


def _assertion(condition: Symbolic, message: Any) -> None:
    if not condition.array:
        raise AssertionError(f"in the graph: {message}")


@pytest.fixture
def symbolic() -> Iterator[type[Symbolic]]:
    """Installs the pretended ops; gives the class of their tensors."""
    before = hooks.install(
        is_symbolic=lambda value: isinstance(value, Symbolic),
        cond=_cond,
        while_loop=_while_loop,
        logical_and=lambda a, b: Symbolic(_plain(a) & _plain(b)),
        logical_or=lambda a, b: Symbolic(_plain(a) | _plain(b)),
        logical_not=lambda a: Symbolic(~a.array),
        length=lambda t: Symbolic(len(t.array)),
        element=_element,
        range_=lambda *args: Symbolic(np.arange(*map(_plain, args))),
        assertion=_assertion,
        blanks=lambda function: [Symbolic(np.zeros_like(_plain(leaf))) for leaf in function(Symbolic(0))],
    )
    yield Symbolic
    hooks.restore(before)
