"""``Dense``, ``Dropout`` and ``Flatten``.

Dense(4)            outputs = activation(inputs @ kernel + bias)        kernel: inputs x 4
"""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.ops.array import expand_dims, identity, reshape, transpose
from situs._src.ops.array import shape as shape_of
from situs._src.ops.contract import tensordot
from situs._src.ops.control import smart_cond
from situs._src.ops.join import stack
from situs._src.ops.linalg import matmul
from situs._src.ops.math import multiply
from situs._src.ops.nn.bias import bias_add
from situs._src.ops.nn.dropout import dropout
from situs._src.ops.reduce import reduce_prod
from situs._src.v1.by_name import activation_of
from situs._src.v1.layers.base import Layer
from situs._src.v1.layers.checks import check_input, known_size, layout, positive


def options(initializer: Any, regularizer: Any, constraint: Any) -> dict[str, Any]:
    """What the variables of built-in layers are made with."""
    return {"initializer": initializer, "regularizer": regularizer, "constraint": constraint}


@export(v1="layers.Dense")
class Dense(Layer):
    """Multiplies the last dimension with a matrix, adds a bias, and applies a function.

    Args:
        units: The size of the last dimension of the outputs.
        activation: A function, or its name.
        use_bias: Whether a bias is added.
        kernel_initializer: How the matrix begins; by default as the variable scope says.
        bias_initializer: How the bias begins.
        kernel_regularizer: A loss of the matrix.
        bias_regularizer: A loss of the bias.
        activity_regularizer: A loss of the outputs.
        kernel_constraint: What optimizers apply to the matrix.
        bias_constraint: What optimizers apply to the bias.
        kwargs: Those of `Layer`.
    """

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.units = positive(units, "units")
        self.activation = activation_of(activation)
        self.use_bias = use_bias
        self.kernel: Any = None
        self.bias: Any = None
        self._kernel_options = options(kernel_initializer, kernel_regularizer, kernel_constraint)
        self._bias_options = options(bias_initializer, bias_regularizer, bias_constraint)

    def build(self, input_shape: Any) -> None:
        """Makes the matrix and the bias."""
        size = known_size(self, input_shape)
        self.kernel = self.add_weight("kernel", (size, self.units), **self._kernel_options)
        self.bias = self.add_weight("bias", (self.units,), **self._bias_options) if self.use_bias else None
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        """Applies the layer."""
        check_input(self, inputs, least=2, size=self.kernel.shape[0])
        inputs = self._floating(inputs)
        outputs = matmul(inputs, self.kernel) if inputs.ndim in (None, 2) else tensordot(inputs, self.kernel, 1)
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias)
        return self.activation(outputs)  # type: ignore[no-any-return]


@export(v1="layers.Dropout")
class Dropout(Layer):
    """While training, sets elements to zero with probability `rate`, and divides the others by ``1 - rate``.

    Args:
        rate: The probability.
        noise_shape: The shape of the random choices, which broadcasts to that of the inputs.
        seed: A seed for the choices.
        kwargs: Those of `Layer`.
    """

    def __init__(self, rate: Any = 0.5, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if isinstance(rate, (int, float)) and not 0 <= rate <= 1:
            raise ArgumentError(f"The `rate` of dropout is a number from 0 to 1, got {rate}.")
        self.rate, self.seed, self.noise_shape = rate, seed, noise_shape

    def call(self, inputs: Any, training: Any = False) -> Any:
        """Drops elements, if it is training."""
        if isinstance(self.rate, (int, float)) and self.rate >= 1:
            return smart_cond(training, lambda: multiply(inputs, 0.0), lambda: identity(inputs))
        return smart_cond(
            training, lambda: dropout(inputs, self.rate, self.noise_shape, self.seed), lambda: identity(inputs)
        )


@export(v1="layers.Flatten")
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
        batch = inputs.shape[0]
        if batch is None:  # -1 finds it, unless there is nothing to find it from
            batch = -1 if count else shape_of(inputs)[0]
        return reshape(inputs, [batch, count])
