"""Layers that make one tensor of several: ``Add``, ``Multiply``, ``Concatenate`` and their like.

Add()([x, y])               also as a function: add([x, y])
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.base.shapes import normalize_axis
from situs._src.base.tensor import Tensor
from situs._src.keras.layers.base import Layer
from situs._src.keras.layers.checks import check_input
from situs._src.ops import math
from situs._src.ops.attribute import as_int
from situs._src.ops.contract import einsum
from situs._src.ops.join import concat
from situs._src.ops.nn.normalize import l2_normalize


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


@export("keras.layers.Add")
class Add(_Merge):
    """The sum of tensors."""

    def _merged(self, inputs: list[Any]) -> Tensor:
        return _all(math.add, inputs)


@export("keras.layers.Subtract")
class Subtract(_Merge):
    """The difference of two tensors."""

    def _merged(self, inputs: list[Any]) -> Tensor:
        if len(inputs) != 2:
            raise ArgumentError(f"A `Subtract` layer should be called on exactly 2 inputs, got {len(inputs)}.")
        return math.subtract(inputs[0], inputs[1])


@export("keras.layers.Multiply")
class Multiply(_Merge):
    """The product of tensors."""

    def _merged(self, inputs: list[Any]) -> Tensor:
        return _all(math.multiply, inputs)


@export("keras.layers.Average")
class Average(_Merge):
    """The mean of tensors."""

    def _merged(self, inputs: list[Any]) -> Tensor:
        return math.divide(_all(math.add, inputs), float(len(inputs)))


@export("keras.layers.Maximum")
class Maximum(_Merge):
    """The largest of tensors, element by element."""

    def _merged(self, inputs: list[Any]) -> Tensor:
        return _all(math.maximum, inputs)


@export("keras.layers.Minimum")
class Minimum(_Merge):
    """The smallest of tensors, element by element."""

    def _merged(self, inputs: list[Any]) -> Tensor:
        return _all(math.minimum, inputs)


@export("keras.layers.Concatenate")
class Concatenate(_Merge):
    """Puts tensors one after the other along an axis."""

    _least = 1

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def _merged(self, inputs: list[Any]) -> Tensor:
        return concat(inputs, self.axis)


@export("keras.layers.Dot")
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


@export("keras.layers.add")
def add(inputs: Any, **kwargs: Any) -> Any:
    """The sum of tensors."""
    return Add(**kwargs)(inputs)


@export("keras.layers.subtract")
def subtract(inputs: Any, **kwargs: Any) -> Any:
    """The difference of two tensors."""
    return Subtract(**kwargs)(inputs)


@export("keras.layers.multiply")
def multiply(inputs: Any, **kwargs: Any) -> Any:
    """The product of tensors."""
    return Multiply(**kwargs)(inputs)


@export("keras.layers.average")
def average(inputs: Any, **kwargs: Any) -> Any:
    """The mean of tensors."""
    return Average(**kwargs)(inputs)


@export("keras.layers.maximum")
def maximum(inputs: Any, **kwargs: Any) -> Any:
    """The largest of tensors, element by element."""
    return Maximum(**kwargs)(inputs)


@export("keras.layers.minimum")
def minimum(inputs: Any, **kwargs: Any) -> Any:
    """The smallest of tensors, element by element."""
    return Minimum(**kwargs)(inputs)


@export("keras.layers.concatenate")
def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Any:
    """Tensors one after the other along an axis."""
    return Concatenate(axis, **kwargs)(inputs)


@export("keras.layers.dot")
def dot(inputs: Any, axes: Any = -1, **kwargs: Any) -> Any:
    """The products of the vectors along one axis of each of two tensors."""
    return Dot(axes, **kwargs)(inputs)
