"""Layers without variables: activations, dropout, other shapes, functions.

Activation("relu"), ReLU(), Softmax(), Dropout(0.5), Flatten(), Reshape((3, 4)), Lambda(lambda x: x * 2)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.tree import listed
from situs._src.keras import activations
from situs._src.keras.layers.base import Layer
from situs._src.keras.layers.checks import check_input, layout, positive
from situs._src.keras.layers.choosing import choose
from situs._src.ops.array import expand_dims, identity, reshape, transpose
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_float, as_int
from situs._src.ops.cast import cast
from situs._src.ops.join import stack, tile
from situs._src.ops.math import add, multiply
from situs._src.ops.nn.dropout import dropout
from situs._src.ops.random import normal
from situs._src.ops.reduce import reduce_prod


@export("keras.layers.Activation")
class Activation(Layer):
    """Applies a function, given itself or by its name."""

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.activation = activations.get(activation)

    def call(self, inputs: Any) -> Any:
        """Applies the function."""
        return self.activation(inputs)


@export("keras.layers.ReLU")
class ReLU(Layer):
    """``max(x, 0)``, unless other arguments are given; see `tf.keras.activations.relu`."""

    def __init__(
        self, max_value: float | None = None, negative_slope: float = 0.0, threshold: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold

    def call(self, inputs: Any) -> Tensor:
        """Applies the function."""
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)


@export("keras.layers.LeakyReLU")
class LeakyReLU(Layer):
    """``x`` where it is positive, ``negative_slope * x`` elsewhere; ``alpha`` is the slope's old name."""

    def __init__(self, negative_slope: float = 0.3, alpha: float | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.negative_slope = as_float(negative_slope if alpha is None else alpha, "negative_slope")
        if self.negative_slope < 0:
            raise ArgumentError(f"negative_slope of LeakyReLU is not negative, got {self.negative_slope}.")

    def call(self, inputs: Any) -> Tensor:
        """Applies the function."""
        return activations.leaky_relu(inputs, self.negative_slope)


@export("keras.layers.ELU")
class ELU(Layer):
    """``x`` where it is positive, ``alpha * (exp(x) - 1)`` elsewhere."""

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = alpha

    def call(self, inputs: Any) -> Tensor:
        """Applies the function."""
        return activations.elu(inputs, self.alpha)


@export("keras.layers.Softmax")
class Softmax(Layer):
    """``exp(x)``, divided by its sum along an axis; where `mask` is False, the result is zero."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any, mask: Any = None) -> Tensor:
        """Applies the function."""
        return activations.softmax(inputs if mask is None else masked(inputs, mask), self.axis)


def masked(scores: Any, mask: Any) -> Tensor:
    """Scores that are very small where a mask is False."""
    smallest = -3e4 if scores.dtype.name == "float16" else -1e9
    return add(scores, multiply(1.0 - cast(mask, scores.dtype), smallest))


@export("keras.layers.Dropout")
class Dropout(Layer):
    """While training, sets elements to zero with probability `rate`, and divides the others by ``1 - rate``.

    Args:
        rate: The probability.
        noise_shape: The shape of the random choices, which broadcasts to that of the inputs.
        seed: A seed for the choices.
        kwargs: Those of `Layer`.
    """

    def __init__(self, rate: Any, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if isinstance(rate, (int, float)) and not 0 <= rate <= 1:
            raise ArgumentError(
                f"Invalid value received for argument `rate`. Expected a float value between 0 and 1. Received: {rate}"
            )
        self.rate, self.seed, self.noise_shape = rate, seed, noise_shape

    def call(self, inputs: Any, training: Any = False) -> Any:
        """Drops elements, if it is training."""
        return choose(training, lambda: self._dropped(inputs), lambda: identity(inputs))

    def _dropped(self, inputs: Any) -> Tensor:
        if isinstance(self.rate, (int, float)) and self.rate >= 1:
            return multiply(inputs, 0.0)
        return dropout(inputs, self.rate, self._noise_shape(inputs), self.seed)

    def _noise_shape(self, inputs: Any) -> Any:
        return self.noise_shape


@export("keras.layers.SpatialDropout1D")
class SpatialDropout1D(Dropout):
    """Drops whole channels of sequences."""

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(rate, None, seed, **kwargs)

    def _noise_shape(self, inputs: Any) -> Any:
        check_input(self, inputs, least=2)
        return [None, *[1] * (inputs.shape.rank - 2), None]


@export("keras.layers.SpatialDropout2D")
class SpatialDropout2D(SpatialDropout1D):
    """Drops whole channels of images, whose channels stand last."""


@export("keras.layers.Rescaling")
class Rescaling(Layer):
    """``inputs * scale + offset``."""

    def __init__(self, scale: Any, offset: Any = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale, self.offset = scale, offset

    def call(self, inputs: Any) -> Tensor:
        """Rescales the inputs."""
        check_input(self, inputs)
        inputs = self._floating(inputs)
        return add(multiply(inputs, self.scale), self.offset)


@export("keras.layers.GaussianNoise")
class GaussianNoise(Layer):
    """While training, adds noise from the normal distribution."""

    def __init__(self, stddev: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stddev, self.seed = as_float(stddev, "stddev"), seed

    def call(self, inputs: Any, training: Any = False) -> Any:
        """Adds noise, if it is training."""
        return choose(training, lambda: add(inputs, self._noise(inputs)), lambda: identity(inputs))

    def _noise(self, inputs: Any) -> Tensor:
        check_input(self, inputs)
        return normal(shape_of(inputs), stddev=self.stddev, dtype=inputs.dtype, seed=self.seed)


# Shapes.


@export("keras.layers.Flatten")
class Flatten(Layer):
    """Makes one dimension of all but the batch's."""

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._first = layout(data_format) == "channels_first"

    def call(self, inputs: Any) -> Tensor:
        """Flattens the inputs."""
        check_input(self, inputs, least=1)
        rank = inputs.shape.rank
        if rank == 1:
            return expand_dims(inputs, 1)
        if self._first and rank is not None and rank > 2:
            inputs = transpose(inputs, [0, *range(2, rank), 1])
        count = None if rank is None else inputs.shape[1:].num_elements()
        if count is None:
            sizes = shape_of(inputs)
            return reshape(inputs, stack([sizes[0], reduce_prod(sizes[1:])]))
        return reshape(inputs, [_batch_of(inputs, count), count])


def _batch_of(inputs: Any, count: int) -> Any:
    """The size of the batch as `reshape` takes it: -1 where it is unknown, unless there is nothing to find it from."""
    known = inputs.shape[0]
    return known if known is not None else -1 if count else shape_of(inputs)[0]


@export("keras.layers.Reshape")
class Reshape(Layer):
    """Gives the elements of each example another shape; one size may be -1."""

    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        given = target_shape if isinstance(target_shape, (list, tuple, TensorShape)) else (target_shape,)
        self.target_shape = tuple(as_int(size, "target_shape") for size in given)
        if any(size < -1 for size in self.target_shape) or self.target_shape.count(-1) > 1:
            raise ArgumentError(
                f"`target_shape` of Reshape holds sizes, one of which may be -1, got {shown(target_shape)}."
            )

    def call(self, inputs: Any) -> Tensor:
        """Reshapes the inputs."""
        check_input(self, inputs, least=1)
        count = None if inputs.shape.rank is None else inputs.shape[1:].num_elements()
        if count is None:
            return reshape(inputs, stack([shape_of(inputs)[0], *self.target_shape]))
        return reshape(inputs, [_batch_of(inputs, count), *self._sizes(count)])

    def _sizes(self, count: int) -> list[int]:
        """The target shape of `count` elements, without -1."""
        known = math.prod(size for size in self.target_shape if size != -1)
        open_size = count // known if known else 0
        sizes = [open_size if size == -1 else size for size in self.target_shape]
        if math.prod(sizes) != count:
            raise ArgumentError(
                f"The total size of the tensor must be unchanged: Reshape '{self.name}' got {count} elements an "
                f"example for the shape {self.target_shape}."
            )
        return sizes


@export("keras.layers.Permute")
class Permute(Layer):
    """Exchanges the dimensions of each example; they are counted from 1."""

    def __init__(self, dims: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(as_int(axis, "dims") for axis in listed(dims, "dimensions"))
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ArgumentError(
                f"Invalid permutation argument `dims` for Permute Layer: the indices in `dims` must be 1 to "
                f"{len(self.dims)}, each once. Received dims={self.dims}"
            )

    def call(self, inputs: Any) -> Tensor:
        """Exchanges the dimensions."""
        return transpose(inputs, [0, *self.dims])


@export("keras.layers.RepeatVector")
class RepeatVector(Layer):
    """Repeats vectors `n` times: batch x size becomes batch x n x size."""

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n = positive(n, "n")

    def call(self, inputs: Any) -> Tensor:
        """Repeats the inputs."""
        check_input(self, inputs, rank=2)
        return tile(expand_dims(inputs, 1), [1, self.n, 1])


# Functions.


@export("keras.layers.Identity")
class Identity(Layer):
    """Returns its inputs."""

    def call(self, inputs: Any) -> Any:
        """Returns the inputs."""
        return inputs


@export("keras.layers.Lambda")
class Lambda(Layer):
    """Applies a Python function.

    Args:
        function: A function of tensors; variables that it uses are not found by the layer.
        output_shape: Accepted for TensorFlow's programs.
        mask: Accepted for TensorFlow's programs.
        arguments: More arguments for the function, by name.
        kwargs: Those of `Layer`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        output_shape: Any = None,
        mask: Any = None,
        arguments: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not callable(function):
            raise DTypeError(f"A Lambda layer is made of a function, got {shown(function)}.")
        if arguments is not None and not isinstance(arguments, dict):
            raise DTypeError(f"`arguments` of Lambda is a dictionary, got {shown(arguments)}.")
        self.function, self.arguments = function, arguments or {}

    def call(self, inputs: Any) -> Any:
        """Applies the function."""
        return self.function(inputs, **self.arguments)
