"""Convolutions: ``Conv1D``, ``Conv2D``, ``Conv3D``, transposed, and depthwise separable ones.

Conv2D(64, 3, strides=2, padding="same")        kernel: 3 x 3 x channels x 64
Conv2DTranspose(3, 5, strides=2)                kernel: 5 x 5 x 3 x channels
"""

from __future__ import annotations

from typing import Any

from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.ops.array import shape as shape_of
from situs._src.ops.join import pad, stack
from situs._src.ops.nn.bias import bias_add
from situs._src.ops.nn.conv import convolution
from situs._src.ops.nn.conv_transpose import conv_transpose
from situs._src.ops.nn.depthwise import separable_conv2d
from situs._src.v1.by_name import activation_of
from situs._src.v1.layers.base import Layer
from situs._src.v1.layers.checks import FORMATS, check_input, known_size, layout, padding_word, positive, sizes
from situs._src.v1.layers.core import options


class Convolution(Layer):
    """What convolutions share.

    Args:
        filters: The number of channels of the outputs.
        kernel_size: The size of the window; one number for all dimensions, or one for each.
        strides: The steps between windows.
        padding: ``"valid"``, ``"same"``, or for sequences ``"causal"``: no output depends on what comes later.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        dilation_rate: The distance between the elements of a window.
        activation: A function, or its name.
        use_bias: Whether a bias is added.
        kernel_initializer: How the kernel begins; by default as the variable scope says.
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
        self.filters = positive(filters, "filters")
        self.kernel_size = sizes(kernel_size, self.rank, "kernel_size")
        self.strides = sizes(strides, self.rank, "strides")
        self.padding = padding_word(padding, self._paddings)
        self.dilation_rate = sizes(dilation_rate, self.rank, "dilation_rate")
        self.data_format = layout(data_format)
        self.activation = activation_of(activation)
        self.use_bias = use_bias
        self._kernel_options = options(kernel_initializer, kernel_regularizer, kernel_constraint)
        self._bias_options = options(bias_initializer, bias_regularizer, bias_constraint)
        self.kernel: Any = None
        self.bias: Any = None

    @property
    def _axis(self) -> int:
        return 1 if self.data_format == "channels_first" else -1

    @property
    def _format(self) -> str:
        return FORMATS[self.rank][self.data_format == "channels_first"]

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        return (*self.kernel_size, channels, self.filters)

    def build(self, input_shape: Any) -> None:
        """Makes the kernel and the bias."""
        self._channels = known_size(self, input_shape, self._axis, self.rank + 2)
        self.kernel = self.add_weight("kernel", self._kernel_shape(self._channels), **self._kernel_options)
        self.bias = self.add_weight("bias", (self.filters,), **self._bias_options) if self.use_bias else None
        self.built = True

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


@export(v1="layers.Conv1D")
class Conv1D(Convolution):
    """Convolves sequences: batch x steps x channels; the arguments are those of `Convolution`."""

    rank = 1
    _op_name = "Conv1D"
    _paddings = ("valid", "same", "causal")


@export(v1="layers.Conv2D")
class Conv2D(Convolution):
    """Convolves images: batch x height x width x channels; the arguments are those of `Convolution`."""


@export(v1="layers.Conv3D")
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
        data_format: ``"channels_last"`` or ``"channels_first"``.
        kwargs: The other arguments of `Convolution`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        window = (filters, kernel_size, strides, padding, data_format)
        super().__init__(*window, activation=activation, use_bias=use_bias, **kwargs)

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
            name=f"{self._op_name.lower()}_transpose",
        )

    def _output_sizes(self, inputs: Any) -> Any:
        """The shape of the outputs: numbers where they are known, else a tensor."""
        now = list(inputs.shape)
        if None in now:
            later = shape_of(inputs)
            now = [later[place] if size is None else size for place, size in enumerate(now)]
        spatial = now[2:] if self._axis == 1 else now[1:-1]
        found = [
            size * stride + (max(window - stride, 0) if self.padding == "valid" else 0)
            for size, stride, window in zip(spatial, self.strides, self.kernel_size, strict=True)
        ]
        whole = [now[0], self.filters, *found] if self._axis == 1 else [now[0], *found, self.filters]
        return whole if all(isinstance(size, int) for size in whole) else stack(whole)


@export(v1="layers.Conv2DTranspose")
class Conv2DTranspose(ConvolutionTranspose):
    """The way back of a convolution of images."""


@export(v1="layers.Conv3DTranspose")
class Conv3DTranspose(ConvolutionTranspose):
    """The way back of a convolution of volumes."""

    rank = 3
    _op_name = "Conv3D"


@export(v1="layers.SeparableConv2D")
class SeparableConv2D(Convolution):
    """Convolves every channel of images by itself, then mixes the channels into `filters` new ones.

    Args:
        filters: The number of channels of the outputs.
        kernel_size: The size of the window.
        strides: The steps between windows.
        padding: ``"valid"`` or ``"same"``.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        dilation_rate: The distance between the elements of a window.
        depth_multiplier: How many windows each channel has.
        activation: A function, or its name.
        use_bias: Whether a bias is added.
        depthwise_initializer: How the kernel of single channels begins.
        pointwise_initializer: How the kernel that mixes them begins.
        depthwise_regularizer: A loss of the first.
        pointwise_regularizer: A loss of the second.
        depthwise_constraint: What optimizers apply to the first.
        pointwise_constraint: What optimizers apply to the second.
        kwargs: The other arguments of `Convolution`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            *(filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias),
            bias_initializer=bias_initializer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            bias_constraint=bias_constraint,
            **kwargs,
        )
        self.depth_multiplier = positive(depth_multiplier, "depth_multiplier")
        self._depthwise_options = options(depthwise_initializer, depthwise_regularizer, depthwise_constraint)
        self._pointwise_options = options(pointwise_initializer, pointwise_regularizer, pointwise_constraint)
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def build(self, input_shape: Any) -> None:
        """Makes both kernels and the bias."""
        self._channels = known_size(self, input_shape, self._axis, rank=4)
        shape = (*self.kernel_size, self._channels, self.depth_multiplier)
        self.depthwise_kernel = self.add_weight("depthwise_kernel", shape, **self._depthwise_options)
        shape = (1, 1, self._channels * self.depth_multiplier, self.filters)
        self.pointwise_kernel = self.add_weight("pointwise_kernel", shape, **self._pointwise_options)
        self.bias = self.add_weight("bias", (self.filters,), **self._bias_options) if self.use_bias else None
        self.built = True

    def _convolved(self, inputs: Any) -> Tensor:
        strides = [1, 1, *self.strides] if self._axis == 1 else [1, *self.strides, 1]
        return separable_conv2d(
            inputs,
            self.depthwise_kernel,
            self.pointwise_kernel,
            strides=strides,
            padding=self.padding.upper(),
            data_format=self._format,
            dilations=self.dilation_rate,
        )
