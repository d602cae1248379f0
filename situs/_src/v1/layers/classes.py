"""The layers of TensorFlow 1 as classes: those of Keras, with `Layer`'s way of making variables."""

from __future__ import annotations

from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError, UnimplementedError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, read
from situs._src.ir.graph.context import name_scope
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.keras.layers import convolution, dense, depthwise, normalization, pooling, simple
from situs._src.keras.layers.checks import check_input
from situs._src.keras.layers.choosing import choose
from situs._src.ops.array import identity
from situs._src.ops.math import multiply, subtract
from situs._src.v1.layers.base import Layer

_FROM_SCOPE: dict[str, Any] = {"kernel_initializer": None}


@export(v1="layers.Dense")
class Dense(Layer, dense.Dense):
    """Multiplies the last dimension with a matrix, adds a bias, and applies a function."""

    _defaults = _FROM_SCOPE


@export(v1="layers.Conv1D")
class Conv1D(Layer, convolution.Conv1D):
    """Convolves sequences."""

    _defaults = _FROM_SCOPE


@export(v1="layers.Conv2D")
class Conv2D(Layer, convolution.Conv2D):
    """Convolves images."""

    _defaults = _FROM_SCOPE


@export(v1="layers.Conv3D")
class Conv3D(Layer, convolution.Conv3D):
    """Convolves volumes."""

    _defaults = _FROM_SCOPE


@export(v1="layers.Conv2DTranspose")
class Conv2DTranspose(Layer, convolution.Conv2DTranspose):
    """The way back of a convolution of images."""

    _defaults = _FROM_SCOPE


@export(v1="layers.SeparableConv2D")
class SeparableConv2D(Layer, depthwise.SeparableConv2D):
    """Convolves every channel of images by itself, then mixes the channels."""

    _defaults = {"depthwise_initializer": None, "pointwise_initializer": None}


@export(v1="layers.MaxPooling1D")
class MaxPooling1D(Layer, pooling.MaxPooling1D):
    """The largest values of windows of sequences."""


@export(v1="layers.MaxPooling2D")
class MaxPooling2D(Layer, pooling.MaxPooling2D):
    """The largest values of windows of images."""


@export(v1="layers.AveragePooling1D")
class AveragePooling1D(Layer, pooling.AveragePooling1D):
    """The means of windows of sequences."""


@export(v1="layers.AveragePooling2D")
class AveragePooling2D(Layer, pooling.AveragePooling2D):
    """The means of windows of images."""


@export(v1="layers.Flatten")
class Flatten(Layer, simple.Flatten):
    """Makes one dimension of all but the batch's."""


@export(v1="layers.Dropout")
class Dropout(Layer, simple.Dropout):
    """While training, sets elements to zero with probability `rate`, and divides the others by ``1 - rate``."""

    _defaults = {"rate": 0.5}


_REFUSED = ("renorm", "virtual_batch_size", "adjustment")


@export(v1="layers.BatchNormalization")
class BatchNormalization(Layer, normalization.BatchNormalization):
    """Normalises every channel by the moments of the batch, or by moving means of them.

    The operations that move them are in ``UPDATE_OPS``: the program runs them with its training step.
    """

    _keeps_kernels_variance = True

    def __init__(self, *args: Any, fused: bool | None = None, **kwargs: Any) -> None:
        for name in _REFUSED:
            if kwargs.pop(name, None):
                raise UnimplementedError(f"batch_normalization has no `{name}` here. Leave it out.")
        for name in ("renorm_clipping", "renorm_momentum"):
            kwargs.pop(name, None)
        super().__init__(*args, **kwargs)
        self.fused = fused

    def _form(self, inputs: Tensor) -> str | None:
        form = None if self.fused is False else super()._form(inputs)
        if self.fused and form is None:
            raise ArgumentError(
                "Batch normalization layers with fused=True only support 4D input tensors with channels on axis 1 or "
                f"3. Received tensor with shape: {inputs.shape}, and axis={self.axis}."
            )
        return form

    def call(self, inputs: Any, training: Any = False) -> Any:  # type: ignore[override]
        """Normalises the inputs."""
        check_input(self, inputs, axis=self._axis, size=self._channels)
        flag = read(training)
        if not isinstance(flag, SymbolicTensor) and (flag is None or not bool(flag)):
            return self._inferred(inputs)
        outputs, mean, variance = choose(
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
