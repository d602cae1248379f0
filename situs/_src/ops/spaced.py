"""Evenly spaced numbers between tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError, KernelError
from situs._src.base.export import export
from situs._src.base.shapes import normalize_axis
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.base.typing import AxisLike
from situs._src.ops.array import expand_dims, reshape
from situs._src.ops.attribute import as_int
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal
from situs._src.ops.constant import convert_to_tensor, linspace_of_numbers
from situs._src.ops.constant import range as range_
from situs._src.ops.gather import where
from situs._src.ops.math import add, divide, maximum, multiply, subtract
from situs._src.ops.naming import Composed

_NUMBERS = (int, float, np.integer, np.floating)


@export("linspace", v1=("linspace", "lin_space"))
def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: AxisLike = 0) -> Tensor:
    """Makes `num` evenly spaced values from `start` to `stop`, both included.

    Args:
        start: The first value, or a tensor of first values.
        stop: The last value, or a tensor of last values; both broadcast.
        num: How many.
        name: A name for the op.
        axis: The axis of the result along which the values follow each other.
    """
    place = as_int(axis, "axis")
    if isinstance(start, _NUMBERS) and isinstance(stop, _NUMBERS):
        normalize_axis(place, 1)
        num = num if is_tensor(num) else as_int(num, "num")
        return linspace_of_numbers(start, stop, num, name)
    if not is_tensor(num):
        num = as_int(num, "num")
        if num < 0:
            refused = KernelError if here.graph is None else ArgumentError  # in a graph, a rule of shapes says so
            raise refused(f"Requires num >= 0: {num}")
    with Composed(name, "linspace") as last:
        first, final = _alike(start, stop)
        step = subtract(final, first)
        if step.shape.rank is None:
            raise ArgumentError("linspace takes tensors whose rank is known before the graph runs.")
        place, beside = normalize_axis(place, step.shape.rank + 1), [1] * (step.shape.rank + 1)
        beside[place] = -1
        end = maximum(subtract(convert_to_tensor(num), 1), 1)
        numbers = reshape(range_(num), beside)
        first, final, step = (expand_dims(_ranked(each, step), place) for each in (first, final, step))
        there = multiply(divide(step, cast(end, step.dtype)), cast(numbers, step.dtype))
        return where(equal(numbers, end), final, add(first, there), last)


def _alike(start: Any, stop: Any) -> tuple[Tensor, Tensor]:
    """Both ends as tensors of one dtype, in which they can be divided."""
    dtype = next((value.dtype for value in (start, stop) if is_tensor(value)), None)
    first = convert_to_tensor(start, dtype)
    final = convert_to_tensor(stop, first.dtype)
    if first.dtype.is_integer:
        return cast(first, dt.float64), cast(final, dt.float64)
    return first, final


def _ranked(x: Tensor, other: Tensor) -> Tensor:
    """A tensor with axes of size 1 in front, up to the rank of one that it broadcasts to."""
    for _ in range((other.shape.rank or 0) - (x.shape.rank or 0)):
        x = expand_dims(x, 0)
    return x
