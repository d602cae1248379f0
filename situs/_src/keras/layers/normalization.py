"""``BatchNormalization`` and ``LayerNormalization``.

    training     (x - mean) / sqrt(variance + epsilon) * gamma + beta, with the moments of the batch, which are also
                 added to moving_mean and moving_variance
    otherwise    the same, with the moving moments

Images go through one kernel. It gives the variance that divides by n - 1; Keras keeps the one that divides by n, and
TensorFlow 1 keeps that of the kernel for images and the other one for everything else.
"""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.base.shapes import normalize_axis
from situs._src.base.tensor import Tensor, read
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.keras import regularizers
from situs._src.keras.layers.base import Layer
from situs._src.keras.layers.checks import check_input, known_axes, known_shape, known_size
from situs._src.keras.layers.choosing import choose
from situs._src.keras.layers.dense import add_with
from situs._src.ops.array import identity, reshape, size
from situs._src.ops.attribute import as_float, as_int
from situs._src.ops.cast import cast
from situs._src.ops.constant import ones, zeros
from situs._src.ops.math import add, multiply, rsqrt, square
from situs._src.ops.nn.normalize import batch_normalization, fused_batch_norm, layer_norm, moments
from situs._src.ops.reduce import reduce_mean
from situs._src.variables.symbolic import makes_graph_variables

_NARROW = frozenset({dt.float16, dt.bfloat16})


@export("keras.layers.BatchNormalization")
class BatchNormalization(Layer):
    """Normalises every channel by the moments of the batch, or by moving means of them.

    Args:
        axis: The axis of the channels.
        momentum: How much of the moving moments stays at each update.
        epsilon: A small number that keeps the division safe.
        center: Whether `beta` is added.
        scale: Whether there is a factor `gamma`.
        beta_initializer: How `beta` begins.
        gamma_initializer: How `gamma` begins.
        moving_mean_initializer: How the moving mean begins.
        moving_variance_initializer: How the moving variance begins.
        beta_regularizer: A loss of `beta`.
        gamma_regularizer: A loss of `gamma`.
        beta_constraint: What optimizers apply to `beta`.
        gamma_constraint: What optimizers apply to `gamma`.
        synchronized: Accepted for TensorFlow's programs: there is one replica.
        kwargs: Those of `Layer`.
    """

    _keeps_kernels_variance = False

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        synchronized: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.axis = axis
        self.momentum, self.epsilon = momentum, as_float(epsilon, "epsilon")
        self.center, self.scale = center, scale
        self._beta_options = (beta_initializer, beta_regularizer, beta_constraint)
        self._gamma_options = (gamma_initializer, gamma_regularizer, gamma_constraint)
        self._moving_initializers = (moving_mean_initializer, moving_variance_initializer)
        self._updates: list[Any] = []
        self.beta: Any = None
        self.gamma: Any = None
        self.beta_regularizer = regularizers.get(beta_regularizer)
        self.gamma_regularizer = regularizers.get(gamma_regularizer)

    def build(self, input_shape: Any) -> None:
        """Makes the factors and the moving moments."""
        axes = known_axes(self, self.axis, len(known_shape(self, input_shape)))
        if len(axes) != 1:
            raise ArgumentError(f"BatchNormalization has one axis of channels, got axis={shown(self.axis)}.")
        self._axis = axes[0]
        self._channels = known_size(self, input_shape, self._axis)
        shape = (self._channels,)
        if self.scale:
            self.gamma = add_with(self, "gamma", shape, self._gamma_options)
        if self.center:
            self.beta = add_with(self, "beta", shape, self._beta_options)
        for name, initializer in zip(("moving_mean", "moving_variance"), self._moving_initializers, strict=True):
            made = self.add_weight(name=name, shape=shape, initializer=initializer, trainable=False, autocast=False)
            setattr(self, name, made)

    moving_mean: Any
    moving_variance: Any

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Normalises the inputs."""
        if mask is not None:
            raise ArgumentError(f"Layer {self.name} was given a mask; Situs normalises whole batches.")
        check_input(self, inputs, axis=self._axis, size=self._channels)
        inputs = self._floating(inputs)
        training = training if self.trainable else False
        if isinstance(read(training), SymbolicTensor) and makes_graph_variables():
            return self._trained_if(training, inputs)
        return choose(training, lambda: self._trained(inputs), lambda: self._inferred(inputs))

    def _trained(self, inputs: Tensor) -> Tensor:
        outputs, mean, variance = self._with_moved_moments(inputs)
        self._updates = [self.moving_mean.assign(mean), self.moving_variance.assign(variance)]
        return outputs

    def _trained_if(self, training: Any, inputs: Tensor) -> Tensor:
        """The same for a session, which runs the updates by themselves: they cannot stand in a branch."""
        outputs, mean, variance = choose(
            training,
            lambda: self._with_moved_moments(inputs),
            lambda: [self._inferred(inputs), identity(self.moving_mean), identity(self.moving_variance)],
        )
        self._updates = [self.moving_mean.assign(mean), self.moving_variance.assign(variance)]
        return outputs  # type: ignore[no-any-return]

    @property
    def updates(self) -> list[Any]:
        """The operations that move the moments, in a graph for a session, which runs what it is told to run."""
        return [update for update in self._updates if isinstance(update, SymbolicTensor)]

    def _with_moved_moments(self, inputs: Tensor) -> list[Tensor]:
        """The outputs, and what the moving moments become."""
        outputs, mean, variance = self._with_batch_moments(inputs)
        return [outputs, self._moved_value(self.moving_mean, mean), self._moved_value(self.moving_variance, variance)]

    def _moved_value(self, moving: Any, value: Tensor) -> Any:
        return moving * self.momentum + cast(value, moving.dtype) * (1.0 - self.momentum)

    def _with_batch_moments(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The outputs, and the moments of the batch to keep."""
        form = self._form(inputs)
        if form is not None:
            gamma, beta = self._factors()
            outputs, mean, variance = fused_batch_norm(inputs, gamma, beta, None, None, self.epsilon, form)
            return outputs, mean, variance if self._keeps_kernels_variance else _biased(variance, inputs)
        wide = cast(inputs, dt.float32) if inputs.dtype in _NARROW else inputs
        rest = [axis for axis in range(inputs.shape.rank or 0) if axis != self._axis]
        mean, variance = moments(wide, rest)
        return self._normalized(inputs, mean, variance), mean, variance

    def _inferred(self, inputs: Tensor) -> Tensor:
        form = self._form(inputs)
        mean, variance = self.moving_mean, self.moving_variance
        if form is None:
            return self._normalized(inputs, mean, variance)
        return fused_batch_norm(inputs, *self._factors(), mean, variance, self.epsilon, form, is_training=False)[0]

    def _form(self, inputs: Tensor) -> str | None:
        """The layout, if the kernel for images serves these inputs."""
        if inputs.shape.rank != 4 or inputs.dtype is dt.float64 or self._axis not in (1, 3):
            return None
        return "NHWC" if self._axis == 3 else "NCHW"

    def _factors(self) -> tuple[Any, Any]:
        gamma = ones([self._channels]) if self.gamma is None else cast(self.gamma, dt.float32)
        return gamma, zeros([self._channels]) if self.beta is None else cast(self.beta, dt.float32)

    def _normalized(self, inputs: Tensor, mean: Any, variance: Any) -> Tensor:
        given = (mean, variance, self.beta, self.gamma)
        dtype = dt.float32 if inputs.dtype in _NARROW else inputs.dtype
        wide = [None if value is None else cast(value, dtype) for value in given]
        if self._axis != inputs.shape.rank - 1:  # type: ignore[operator]
            shape = [-1] + [1] * (inputs.shape.rank - self._axis - 1)  # type: ignore[operator]
            wide = [None if value is None else reshape(value, shape) for value in wide]
        return batch_normalization(inputs, wide[0], wide[1], wide[2], wide[3], self.epsilon)


def _biased(variance: Tensor, inputs: Tensor) -> Tensor:
    """The variance that divides by n, from the one that divides by n - 1."""
    channels = variance.shape[0]
    count = inputs.shape.num_elements()
    if count is not None:
        n = count / channels if channels else 0.0
        return variance if n <= 1 else multiply(variance, (n - 1) / n)
    n_later = cast(size(inputs), dt.float32) / float(channels or 1)
    return multiply(variance, (n_later - 1.0) / n_later)


@export("keras.layers.LayerNormalization")
class LayerNormalization(Layer):
    """Normalises every example by its own moments.

    Args:
        axis: The axis or axes along which the moments are taken.
        epsilon: A small number that keeps the division safe.
        center: Whether `beta` is added.
        scale: Whether there is a factor `gamma`.
        beta_initializer: How `beta` begins.
        gamma_initializer: How `gamma` begins.
        beta_regularizer: A loss of `beta`.
        gamma_regularizer: A loss of `gamma`.
        beta_constraint: What optimizers apply to `beta`.
        gamma_constraint: What optimizers apply to `gamma`.
        kwargs: Those of `Layer`.
    """

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.axis = axis
        self.epsilon = as_float(epsilon, "epsilon")
        self.center, self.scale = center, scale
        self._beta_options = (beta_initializer, beta_regularizer, beta_constraint)
        self._gamma_options = (gamma_initializer, gamma_regularizer, gamma_constraint)
        self.beta: Any = None
        self.gamma: Any = None

    def build(self, input_shape: Any) -> None:
        """Makes the factors."""
        self._axes = known_axes(self, self.axis, len(known_shape(self, input_shape)))
        self._sizes = tuple(known_size(self, input_shape, axis) for axis in self._axes)
        if self.scale:
            self.gamma = add_with(self, "gamma", self._sizes, self._gamma_options)
        if self.center:
            self.beta = add_with(self, "beta", self._sizes, self._beta_options)

    def call(self, inputs: Any) -> Tensor:
        """Normalises the inputs."""
        check_input(self, inputs)
        inputs = self._floating(inputs)
        gamma = ones(self._sizes, inputs.dtype) if self.gamma is None else cast(self.gamma, inputs.dtype)
        beta = zeros(self._sizes, inputs.dtype) if self.beta is None else cast(self.beta, inputs.dtype)
        return layer_norm(inputs, gamma, beta, self._axes, self.epsilon)


@export("keras.layers.RMSNormalization")
class RMSNormalization(Layer):
    """Divides every example by the root of the mean of its squares, and multiplies it with `scale`."""

    def __init__(self, axis: int = -1, epsilon: float = 1e-6, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis, self.epsilon = axis, as_float(epsilon, "epsilon")
        self.scale: Any = None

    def build(self, input_shape: Any) -> None:
        """Makes the factor."""
        rank = len(known_shape(self, input_shape))
        self._axis = normalize_axis(as_int(self.axis, "axis"), rank)
        shape = [known_size(self, input_shape, self._axis)]
        self.scale = self.add_weight(name="scale", shape=shape, initializer="ones")
        self._shape = [-1] + [1] * (rank - self._axis - 1)

    def call(self, inputs: Any) -> Tensor:
        """Normalises the inputs."""
        check_input(self, inputs)
        wide = cast(inputs, dt.float32) if inputs.dtype in _NARROW else self._floating(inputs)
        factor = rsqrt(add(reduce_mean(square(wide), self._axis, keepdims=True), self.epsilon))
        scale = reshape(cast(self.scale, wide.dtype), self._shape)
        return cast(multiply(multiply(wide, factor), scale), self.dtype_policy.compute)
