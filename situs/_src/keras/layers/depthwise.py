"""Convolutions of every channel by itself: ``DepthwiseConv2D`` and ``SeparableConv2D``."""

from __future__ import annotations

from typing import Any

from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.keras import activations
from situs._src.keras.layers.base import Layer
from situs._src.keras.layers.checks import check_input, known_size, layout, padding_word, positive, sizes
from situs._src.keras.layers.dense import add_with
from situs._src.ops.nn.bias import bias_add
from situs._src.ops.nn.depthwise import depthwise_conv2d, separable_conv2d


class _Depthwise(Layer):
    """What both share: a kernel for each channel, and a bias."""

    def __init__(
        self,
        kernel_size: Any,
        strides: Any,
        padding: str,
        depth_multiplier: int,
        data_format: str | None,
        dilation_rate: Any,
        activation: Any,
        use_bias: bool,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.kernel_size = sizes(kernel_size, 2, "kernel_size")
        self.strides = sizes(strides, 2, "strides")
        self.padding = padding_word(padding)
        self.depth_multiplier = positive(depth_multiplier, "depth_multiplier")
        self.data_format = layout(data_format)
        self.dilation_rate = sizes(dilation_rate, 2, "dilation_rate")
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.bias: Any = None

    @property
    def _axis(self) -> int:
        return 1 if self.data_format == "channels_first" else -1

    @property
    def _window(self) -> dict[str, Any]:
        first = self._axis == 1
        strides = [1, 1, *self.strides] if first else [1, *self.strides, 1]
        form = "NCHW" if first else "NHWC"
        return {
            "strides": strides,
            "padding": self.padding.upper(),
            "data_format": form,
            "dilations": self.dilation_rate,
        }

    def _check(self, inputs: Any) -> Any:
        check_input(self, inputs, rank=4, axis=self._axis, size=self._channels)
        return self._floating(inputs)

    _channels: int

    def _finished(self, outputs: Tensor) -> Tensor:
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias, "NCHW" if self._axis == 1 else None)
        return self.activation(outputs)  # type: ignore[no-any-return]


@export("keras.layers.DepthwiseConv2D")
class DepthwiseConv2D(_Depthwise):
    """Convolves every channel of images with `depth_multiplier` windows of its own."""

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        window = (kernel_size, strides, padding, depth_multiplier, data_format, dilation_rate)
        super().__init__(*window, activation, use_bias, activity_regularizer=activity_regularizer, **kwargs)
        self._kernel_options = (depthwise_initializer, depthwise_regularizer, depthwise_constraint)
        self._bias_options = (bias_initializer, bias_regularizer, bias_constraint)
        self.kernel: Any = None

    def build(self, input_shape: Any) -> None:
        """Makes the kernel and the bias."""
        self._channels = known_size(self, input_shape, self._axis, rank=4)
        shape = (*self.kernel_size, self._channels, self.depth_multiplier)
        self.kernel = add_with(self, "kernel", shape, self._kernel_options)
        if self.use_bias:
            self.bias = add_with(self, "bias", (self._channels * self.depth_multiplier,), self._bias_options)

    @property
    def depthwise_kernel(self) -> Any:
        """The old name of `kernel`."""
        return self.kernel

    def call(self, inputs: Any) -> Tensor:
        """Applies the layer."""
        return self._finished(depthwise_conv2d(self._check(inputs), self.kernel, **self._window))


@export("keras.layers.SeparableConv2D")
class SeparableConv2D(_Depthwise):
    """Convolves every channel of images by itself, then mixes the channels into `filters` new ones."""

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
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
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
        window = (kernel_size, strides, padding, depth_multiplier, data_format, dilation_rate)
        super().__init__(*window, activation, use_bias, activity_regularizer=activity_regularizer, **kwargs)
        self.filters = positive(filters, "filters")
        self._depthwise_options = (depthwise_initializer, depthwise_regularizer, depthwise_constraint)
        self._pointwise_options = (pointwise_initializer, pointwise_regularizer, pointwise_constraint)
        self._bias_options = (bias_initializer, bias_regularizer, bias_constraint)
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def build(self, input_shape: Any) -> None:
        """Makes both kernels and the bias."""
        self._channels = known_size(self, input_shape, self._axis, rank=4)
        shape = (*self.kernel_size, self._channels, self.depth_multiplier)
        self.depthwise_kernel = add_with(self, "depthwise_kernel", shape, self._depthwise_options)
        point = (1, 1, self._channels * self.depth_multiplier, self.filters)
        self.pointwise_kernel = add_with(self, "pointwise_kernel", point, self._pointwise_options)
        if self.use_bias:
            self.bias = add_with(self, "bias", (self.filters,), self._bias_options)

    def call(self, inputs: Any) -> Tensor:
        """Applies the layer."""
        inputs = self._check(inputs)
        return self._finished(separable_conv2d(inputs, self.depthwise_kernel, self.pointwise_kernel, **self._window))
