"""Convolutions: ``Conv1D``, ``Conv2D``, ``Conv3D``, and the way back, ``Conv1DTranspose`` and ``Conv2DTranspose``.

Conv2D(64, 3, strides=2, padding="same")        kernel: 3 x 3 x channels x 64
Conv2DTranspose(3, 5, strides=2)                kernel: 5 x 5 x 3 x channels
"""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError, UnimplementedError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.keras import activations
from situs._src.keras.layers.base import Layer
from situs._src.keras.layers.checks import FORMATS, check_input, known_size, layout, padding_word, positive, sizes
from situs._src.keras.layers.dense import add_with
from situs._src.ops.array import shape as shape_of
from situs._src.ops.join import pad, stack
from situs._src.ops.nn.bias import bias_add
from situs._src.ops.nn.conv import convolution
from situs._src.ops.nn.conv_transpose import conv_transpose


class Convolution(Layer):
    """What convolutions share.

    Args:
        filters: The number of channels of the outputs.
        kernel_size: The size of the window; one number for all dimensions, or one for each.
        strides: The steps between windows.
        padding: ``"valid"``, ``"same"``, or for sequences ``"causal"``: no output depends on what comes later.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        dilation_rate: The distance between the elements of a window.
        groups: In how many groups the channels are convolved by themselves.
        activation: A function, or its name.
        use_bias: Whether a bias is added.
        kernel_initializer: How the kernel begins.
        bias_initializer: How the bias begins.
        kernel_regularizer: A loss of the kernel.
        bias_regularizer: A loss of the bias.
        activity_regularizer: A loss of the outputs.
        kernel_constraint: What optimizers apply to the kernel.
        bias_constraint: What optimizers apply to the bias.
        kwargs: Those of `Layer`.
    """

    rank = 2
    _op_name = "Conv2D"
    _paddings: tuple[str, ...] = ("valid", "same")

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        groups: int = 1,
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
        self.filters = positive(filters, "filters")
        self.groups = positive(groups, "groups")
        self.kernel_size = sizes(kernel_size, self.rank, "kernel_size")
        self.strides = sizes(strides, self.rank, "strides")
        self.padding = padding_word(padding, self._paddings)
        self.dilation_rate = sizes(dilation_rate, self.rank, "dilation_rate")
        self.data_format = layout(data_format)
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self._kernel_options = (kernel_initializer, kernel_regularizer, kernel_constraint)
        self._bias_options = (bias_initializer, bias_regularizer, bias_constraint)
        self.kernel: Any = None
        self.bias: Any = None
        if self.filters % self.groups:
            raise ArgumentError(
                f"The number of filters must be evenly divisible by the number of groups. Received: groups={groups}, "
                f"filters={filters}."
            )

    @property
    def _axis(self) -> int:
        return 1 if self.data_format == "channels_first" else -1

    @property
    def _format(self) -> str:
        return FORMATS[self.rank][self.data_format == "channels_first"]

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        if channels % self.groups:
            raise ArgumentError(
                f"The number of input channels must be evenly divisible by the number of groups. Received groups="
                f"{self.groups}, but the input has {channels} channels."
            )
        return (*self.kernel_size, channels // self.groups, self.filters)

    def build(self, input_shape: Any) -> None:
        """Makes the kernel and the bias."""
        self._channels = known_size(self, input_shape, self._axis, self.rank + 2)
        self.kernel = add_with(self, "kernel", self._kernel_shape(self._channels), self._kernel_options)
        self.bias = add_with(self, "bias", (self.filters,), self._bias_options) if self.use_bias else None

    def call(self, inputs: Any) -> Tensor:
        """Applies the layer."""
        check_input(self, inputs, rank=self.rank + 2, axis=self._axis, size=self._channels)
        return self._finished(self._convolved(self._floating(inputs)))

    def _convolved(self, inputs: Any) -> Tensor:
        padding = self.padding.upper()
        if padding == "CAUSAL":
            before = self.dilation_rate[0] * (self.kernel_size[0] - 1)
            edges = [[0, 0], [0, 0], [before, 0]] if self._axis == 1 else [[0, 0], [before, 0], [0, 0]]
            inputs, padding = pad(inputs, edges), "VALID"
        return convolution(
            inputs, self.kernel, self.strides, padding, self._format, self.dilation_rate, name=self._op_name
        )

    def _finished(self, outputs: Tensor) -> Tensor:
        """Adds the bias and applies the activation."""
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias, "NCHW" if self._axis == 1 else None)
        return self.activation(outputs)  # type: ignore[no-any-return]


@export("keras.layers.Conv1D", "keras.layers.Convolution1D")
class Conv1D(Convolution):
    """Convolves sequences: batch x steps x channels; the arguments are those of `Convolution`."""

    rank = 1
    _op_name = "Conv1D"
    _paddings = ("valid", "same", "causal")


@export("keras.layers.Conv2D", "keras.layers.Convolution2D")
class Conv2D(Convolution):
    """Convolves images: batch x height x width x channels; the arguments are those of `Convolution`."""


@export("keras.layers.Conv3D")
class Conv3D(Convolution):
    """Convolves volumes: batch x depth x height x width x channels; the arguments are those of `Convolution`."""

    rank = 3
    _op_name = "Conv3D"


class ConvolutionTranspose(Convolution):
    """The way back of a convolution: each element of the inputs adds a window to the outputs.

    Args:
        filters: The number of channels of the outputs.
        kernel_size: The size of the window.
        strides: The steps between windows in the outputs.
        padding: ``"valid"`` or ``"same"``.
        output_padding: What to add at the end of the outputs, less than the strides; None for the usual size.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        dilation_rate: The distance between the elements of a window.
        kwargs: The other arguments of `Convolution`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        output_padding: Any = None,
        data_format: str | None = None,
        dilation_rate: Any = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, **kwargs)
        if self.groups != 1:
            raise UnimplementedError(f"{type(self).__name__} has no groups, got groups={self.groups}.")
        self.output_padding = None if output_padding is None else sizes(output_padding, self.rank, "output_padding", 0)

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        return (*self.kernel_size, self.filters, channels)

    def _convolved(self, inputs: Any) -> Tensor:
        return conv_transpose(
            inputs,
            self.kernel,
            self._output_sizes(inputs),
            self.strides,
            self.padding.upper(),
            self._format,
            self.dilation_rate,
            name=f"{self._op_name.lower()}_transpose",
        )

    def _output_sizes(self, inputs: Any) -> Any:
        """The shape of the outputs: numbers where they are known, else a tensor."""
        now = list(inputs.shape)
        if None in now:
            later = shape_of(inputs)
            now = [later[place] if size is None else size for place, size in enumerate(now)]
        spatial = now[2:] if self._axis == 1 else now[1:-1]
        found = [self._output_size(size, place) for place, size in enumerate(spatial)]
        whole = [now[0], self.filters, *found] if self._axis == 1 else [now[0], *found, self.filters]
        return whole if all(isinstance(size, int) for size in whole) else stack(whole)

    def _output_size(self, size: Any, place: int) -> Any:
        stride = self.strides[place]
        window = (self.kernel_size[place] - 1) * self.dilation_rate[place] + 1
        if self.output_padding is None:
            return size * stride + (max(window - stride, 0) if self.padding == "valid" else 0)
        cut = window // 2 if self.padding == "same" else 0
        return (size - 1) * stride + window - 2 * cut + self.output_padding[place]


@export("keras.layers.Conv1DTranspose")
class Conv1DTranspose(ConvolutionTranspose):
    """The way back of a convolution of sequences."""

    rank = 1
    _op_name = "Conv1D"


@export("keras.layers.Conv2DTranspose", "keras.layers.Convolution2DTranspose")
class Conv2DTranspose(ConvolutionTranspose):
    """The way back of a convolution of images."""
