"""``Dense``: a matrix product, a bias and an activation; ``EinsumDense``: any product of the kind.

Dense(4)            outputs = activation(inputs @ kernel + bias)        kernel: inputs x 4
"""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.tree import listed
from situs._src.keras import activations
from situs._src.keras.layers.base import Layer
from situs._src.keras.layers.checks import check_input, known_shape, known_size, positive
from situs._src.ops.attribute import as_word
from situs._src.ops.contract import einsum, tensordot
from situs._src.ops.linalg import matmul
from situs._src.ops.math import add
from situs._src.ops.nn.bias import bias_add


@export("keras.layers.Dense")
class Dense(Layer):
    """Multiplies the last dimension with a matrix, adds a bias, and applies a function.

    Args:
        units: The size of the last dimension of the outputs.
        activation: A function, or its name.
        use_bias: Whether a bias is added.
        kernel_initializer: How the matrix begins.
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
        kernel_initializer: Any = "glorot_uniform",
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
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self._kernel_options = (kernel_initializer, kernel_regularizer, kernel_constraint)
        self._bias_options = (bias_initializer, bias_regularizer, bias_constraint)
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        """Makes the matrix and the bias."""
        size = known_size(self, input_shape)
        self.kernel = add_with(self, "kernel", (size, self.units), self._kernel_options)
        self.bias = add_with(self, "bias", (self.units,), self._bias_options) if self.use_bias else None

    def _build_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if args:  # `build` itself looks at the last dimension alone
            check_input(self, args[0], least=2)
        super()._build_for(args, kwargs)

    def call(self, inputs: Any) -> Tensor:
        """Applies the layer."""
        check_input(self, inputs, least=2, size=self.kernel.shape[0])
        inputs = self._floating(inputs)
        outputs = matmul(inputs, self.kernel) if inputs.ndim in (None, 2) else tensordot(inputs, self.kernel, 1)
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias)
        return self.activation(outputs)  # type: ignore[no-any-return]


def add_with(layer: Layer, name: str, shape: Any, options: tuple[Any, Any, Any]) -> Any:
    """A variable of a layer, with an initializer, a regularizer and a constraint."""
    initializer, regularizer, constraint = options
    return layer.add_weight(
        name=name, shape=shape, initializer=initializer, regularizer=regularizer, constraint=constraint
    )


@export("keras.layers.EinsumDense")
class EinsumDense(Layer):
    """Multiplies inputs and a kernel as an equation says.

    Args:
        equation: Such as ``"ab,bc->ac"`` or ``"...b,bc->...c"``: inputs, kernel, outputs.
        output_shape: The shape of the outputs without the batch; None where it is the input's.
        activation: A function, or its name.
        bias_axes: The letters of the outputs that the bias has; None for no bias.
        kernel_initializer: How the kernel begins.
        bias_initializer: How the bias begins.
        kwargs: Those of `Layer`.
    """

    def __init__(
        self,
        equation: str,
        output_shape: Any,
        activation: Any = None,
        bias_axes: str | None = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.equation = as_word(equation, "equation")
        given = [output_shape] if isinstance(output_shape, int) else listed(output_shape, "sizes")
        self.partial_output_shape = tuple(given)
        self.activation = activations.get(activation)
        self.bias_axes = bias_axes
        self._initializers = (kernel_initializer, bias_initializer)
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        """Makes the kernel and the bias."""
        inputs, kernel, outputs = _terms(self.equation)
        shape = known_shape(self, input_shape)
        known = _sizes(outputs, (None, *self.partial_output_shape))
        known.update((letter, size) for letter, size in _sizes(inputs, tuple(shape)).items() if size is not None)
        lacking = [letter for letter in kernel if known.get(letter) is None]
        if lacking:
            raise ArgumentError(f"The sizes of {lacking} in {self.equation!r} are unknown for inputs of shape {shape}.")
        self.kernel = self.add_weight(
            name="kernel", shape=[known[letter] for letter in kernel], initializer=self._initializers[0]
        )
        if self.bias_axes:
            outputs = outputs.replace(".", "." * (len(shape) - len(inputs.replace(".", ""))))
            bias_shape = self._bias_shape(outputs, known)
            self.bias = self.add_weight(name="bias", shape=bias_shape, initializer=self._initializers[1])

    def _bias_shape(self, outputs: str, known: dict[str, Any]) -> list[Any]:
        """The sizes of the outputs from the bias's first letter on, with 1 for what it does not have."""
        axes = as_word(self.bias_axes, "bias_axes")
        strange = sorted(set(axes) - {letter for letter in outputs if known.get(letter) is not None})
        if strange:
            raise ArgumentError(
                f"The bias has the letters {strange}, which are no letters of known size in the outputs of "
                f"{self.equation!r}."
            )
        first = min(map(outputs.index, axes))
        return [known[letter] if letter in axes else 1 for letter in outputs[first:]]

    def call(self, inputs: Any) -> Tensor:
        """Applies the layer."""
        check_input(self, inputs)
        outputs = einsum(self.equation, self._floating(inputs), self.kernel)
        return self.activation(outputs if self.bias is None else add(outputs, self.bias))  # type: ignore[no-any-return]


def _terms(equation: str) -> tuple[str, str, str]:
    """The letters of the inputs, the kernel and the outputs; a dot stands for any number of dimensions."""
    left, arrow, outputs = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    if not arrow or len(parts) != 2:
        raise ArgumentError(f"An equation of EinsumDense is like 'ab,bc->ac', got {equation!r}.")
    return parts[0].replace("...", "."), parts[1], outputs.replace("...", ".")


def _sizes(letters: str, sizes: tuple[Any, ...]) -> dict[str, Any]:
    """The sizes of letters: of those before the dot from the first on, of the others from the last on."""
    before, _, after = letters.rpartition(".")
    return {
        **dict(zip(before, sizes, strict=False)),
        **dict(zip(reversed(after), reversed(sizes), strict=False)),
    }
