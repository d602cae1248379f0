"""``BatchNormalization``.

    training     (x - mean) / sqrt(variance + epsilon) * gamma + beta, with the moments of the batch, towards which
                 operations in ``UPDATE_OPS`` move moving_mean and moving_variance
    otherwise    the same, with the moving moments

Images use a fused kernel, whose moving variance is the one that divides by n - 1; everything else uses the one that
divides by n.
"""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, read
from situs._src.ir.graph.context import name_scope
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.array import identity, reshape
from situs._src.ops.attribute import as_float
from situs._src.ops.cast import cast
from situs._src.ops.constant import ones, zeros
from situs._src.ops.control import smart_cond
from situs._src.ops.math import multiply, subtract
from situs._src.ops.nn.normalize import batch_normalization, fused_batch_norm, moments
from situs._src.v1.layers.base import Layer
from situs._src.v1.layers.checks import check_input, known_axes, known_shape, known_size
from situs._src.v1.layers.core import options

_NARROW = frozenset({dt.float16, dt.bfloat16})
_REFUSED = ("renorm", "virtual_batch_size", "adjustment")


@export(v1="layers.BatchNormalization")
class BatchNormalization(Layer):
    """Normalises every channel by the moments of the batch, or by moving means of them.

    The operations that move them are in ``UPDATE_OPS``: the program runs them with its training step.

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
        fused: Whether the kernel for images is used; by default where it can be.
        kwargs: Those of `Layer`.
    """

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
        fused: bool | None = None,
        **kwargs: Any,
    ) -> None:
        for name in _REFUSED:
            if kwargs.pop(name, None):
                raise UnimplementedError(f"batch_normalization has no `{name}` here. Leave it out.")
        for name in ("renorm_clipping", "renorm_momentum"):
            kwargs.pop(name, None)
        super().__init__(**kwargs)
        self.axis, self.fused = axis, fused
        self.momentum, self.epsilon = momentum, as_float(epsilon, "epsilon")
        self.center, self.scale = center, scale
        self._beta_options = options(beta_initializer, beta_regularizer, beta_constraint)
        self._gamma_options = options(gamma_initializer, gamma_regularizer, gamma_constraint)
        self._moving_initializers = (moving_mean_initializer, moving_variance_initializer)
        self.beta: Any = None
        self.gamma: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None

    def build(self, input_shape: Any) -> None:
        """Makes the factors and the moving moments."""
        axes = known_axes(self, self.axis, len(known_shape(self, input_shape)))
        if len(axes) != 1:
            raise ArgumentError(f"BatchNormalization has one axis of channels, got axis={shown(self.axis)}.")
        self._axis = axes[0]
        self._channels = known_size(self, input_shape, self._axis)
        shape = (self._channels,)
        if self.scale:
            self.gamma = self.add_weight("gamma", shape, **self._gamma_options)
        if self.center:
            self.beta = self.add_weight("beta", shape, **self._beta_options)
        for name, initializer in zip(("moving_mean", "moving_variance"), self._moving_initializers, strict=True):
            setattr(self, name, self.add_weight(name, shape, initializer=initializer, trainable=False))
        self.built = True

    def call(self, inputs: Any, training: Any = False) -> Any:
        """Normalises the inputs."""
        check_input(self, inputs, axis=self._axis, size=self._channels)
        flag = read(training)
        if not isinstance(flag, SymbolicTensor) and (flag is None or not bool(flag)):
            return self._inferred(inputs)
        outputs, mean, variance = smart_cond(
            flag,
            lambda: list(self._with_batch_moments(inputs)),
            lambda: [self._inferred(inputs), identity(self.moving_mean), identity(self.moving_variance)],
        )
        self.add_update([self._moved(self.moving_mean, mean), self._moved(self.moving_variance, variance)])
        return outputs

    def _moved(self, moving: Any, value: Any) -> Any:
        """Moves a variable towards a value; not at all if that is its own, as when it is not training."""
        if here.graph is None:
            return moving.assign_sub((moving - value) * (1.0 - self.momentum))
        with name_scope("AssignMovingAvg") as inside:
            delta = multiply(subtract(moving, value), 1.0 - self.momentum, name="mul")
            return moving.assign_sub(delta, name=inside)

    def _with_batch_moments(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The outputs, and the moments of the batch to keep."""
        form = self._form(inputs)
        if form is not None:
            return fused_batch_norm(inputs, *self._factors(), None, None, self.epsilon, form)
        wide = cast(inputs, dt.float32) if inputs.dtype in _NARROW else inputs
        rest = [axis for axis in range(inputs.shape.rank or 0) if axis != self._axis]
        mean, variance = moments(wide, rest)
        return self._normalized(inputs, mean, variance), mean, variance

    def _form(self, inputs: Tensor) -> str | None:
        """The layout, if the kernel for images serves these inputs."""
        is_image = inputs.shape.rank == 4 and inputs.dtype is not dt.float64 and self._axis in (1, 3)
        if self.fused and not is_image:
            raise ArgumentError(
                "Batch normalization layers with fused=True only support 4D input tensors with channels on axis 1 or "
                f"3. Received tensor with shape: {inputs.shape}, and axis={self.axis}."
            )
        if self.fused is False or not is_image:
            return None
        return "NHWC" if self._axis == 3 else "NCHW"

    def _inferred(self, inputs: Tensor) -> Tensor:
        form = self._form(inputs)
        mean, variance = self.moving_mean, self.moving_variance
        if form is None:
            return self._normalized(inputs, mean, variance)
        return fused_batch_norm(inputs, *self._factors(), mean, variance, self.epsilon, form, is_training=False)[0]

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
