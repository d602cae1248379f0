"""Layers that make one tensor of several: ``Add``, ``Multiply``, ``Concatenate`` and their like.

Add()([x, y])               also as a function: add([x, y])
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from situs.errors import ArgumentError, InvalidArgumentError, shown
from situs.keras.layers.base import Layer
from situs.keras.layers.checks import check_input
from situs.ops import math
from situs.ops.attribute import as_int
from situs.ops.contract import einsum
from situs.ops.join import concat
from situs.ops.nn.normalize import l2_normalize
from situs.shapes import normalize_axis
from situs.tensor import Tensor


class _Merge(Layer):
    """What merging layers share: they are called with a list."""

    _least = 2

    def call(self, inputs: Any) -> Tensor:
        """Merges the inputs."""
        if not isinstance(inputs, (list, tuple)) or len(inputs) < self._least:
            count = len(inputs) if isinstance(inputs, (list, tuple)) else 1
            raise ArgumentError(
                f"A `{type(self).__name__}` layer should be called on a list of at least {self._least} inputs. "
                f"Received {count}."
            )
        return self._merged(list(inputs))

    def _merged(self, inputs: list[Any]) -> Tensor:
        raise NotImplementedError


def _all(function: Callable[[Any, Any], Tensor], inputs: list[Any]) -> Tensor:
    """What a function of two tensors makes of all of them, from the first on."""
    return reduce(function, inputs)  # type: ignore[no-any-return]


class Add(_Merge):
    """The sum of tensors."""

    def _merged(self, inputs: list[Any]) -> Tensor:
        return _all(math.add, inputs)


class Subtract(_Merge):
    """The difference of two tensors."""

    def _merged(self, inputs: list[Any]) -> Tensor:
        if len(inputs) != 2:
            raise ArgumentError(f"A `Subtract` layer should be called on exactly 2 inputs, got {len(inputs)}.")
        return math.subtract(inputs[0], inputs[1])


class Multiply(_Merge):
    """The product of tensors."""

    def _merged(self, inputs: list[Any]) -> Tensor:
        return _all(math.multiply, inputs)


class Average(_Merge):
    """The mean of tensors."""

    def _merged(self, inputs: list[Any]) -> Tensor:
        return math.divide(_all(math.add, inputs), float(len(inputs)))


class Maximum(_Merge):
    """The largest of tensors, element by element."""

    def _merged(self, inputs: list[Any]) -> Tensor:
        return _all(math.maximum, inputs)


class Minimum(_Merge):
    """The smallest of tensors, element by element."""

    def _merged(self, inputs: list[Any]) -> Tensor:
        return _all(math.minimum, inputs)


class Concatenate(_Merge):
    """Puts tensors one after the other along an axis."""

    _least = 1

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def _merged(self, inputs: list[Any]) -> Tensor:
        return concat(inputs, self.axis)


class Dot(_Merge):
    """The products of the vectors along one axis of each of two tensors; `normalize` gives their cosines."""

    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axes, self.normalize = axes, normalize
        self._pair = tuple(as_int(axis, "axes") for axis in (axes if isinstance(axes, (list, tuple)) else (axes, axes)))
        if len(self._pair) != 2:
            raise ArgumentError(f"`axes` of Dot is one axis, or one for each of two tensors, got {shown(axes)}.")

    def _merged(self, inputs: list[Any]) -> Tensor:
        if len(inputs) != 2:
            raise ArgumentError(f"A `Dot` layer should be called on exactly 2 inputs, got {len(inputs)}.")
        axes = [self._axis(x, axis) for x, axis in zip(inputs, self._pair, strict=True)]
        if self.normalize:
            inputs = [l2_normalize(x, axis=axis) for axis, x in zip(axes, inputs, strict=True)]
        left = ["a", *"bcdefgh"[: inputs[0].shape.rank - 1]]
        right = ["a", *"mnopqrs"[: inputs[1].shape.rank - 1]]
        left[axes[0]] = right[axes[1]] = "z"
        rest = [letter for letter in left if letter != "z"] + [letter for letter in right[1:] if letter != "z"]
        products = einsum(f"{''.join(left)},{''.join(right)}->{''.join(rest)}", *inputs)
        return products[:, None] if products.shape.rank == 1 else products

    def _axis(self, x: Any, axis: int) -> int:
        """The place of an axis, which is not that of the batch."""
        check_input(self, x, least=2)
        if x.shape.rank is None:
            raise ArgumentError(f"Dot '{self.name}' needs to know the number of dimensions of its inputs.")
        place = normalize_axis(axis, x.shape.rank)
        if place == 0:
            raise ArgumentError("A `Dot` layer cannot sum over axis 0, which is the batch.")
        return place


def add(inputs: Any, **kwargs: Any) -> Any:
    """The sum of tensors."""
    return Add(**kwargs)(inputs)


def subtract(inputs: Any, **kwargs: Any) -> Any:
    """The difference of two tensors."""
    return Subtract(**kwargs)(inputs)


def multiply(inputs: Any, **kwargs: Any) -> Any:
    """The product of tensors."""
    return Multiply(**kwargs)(inputs)


def average(inputs: Any, **kwargs: Any) -> Any:
    """The mean of tensors."""
    return Average(**kwargs)(inputs)


def maximum(inputs: Any, **kwargs: Any) -> Any:
    """The largest of tensors, element by element."""
    return Maximum(**kwargs)(inputs)


def minimum(inputs: Any, **kwargs: Any) -> Any:
    """The smallest of tensors, element by element."""
    return Minimum(**kwargs)(inputs)


def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Any:
    """Tensors one after the other along an axis."""
    return Concatenate(axis, **kwargs)(inputs)


def dot(inputs: Any, axes: Any = -1, **kwargs: Any) -> Any:
    """The products of the vectors along one axis of each of two tensors."""
    return Dot(axes, **kwargs)(inputs)
