"""Pooling: the largest or the mean value of windows, or of everything.

MaxPooling2D(2)                 halves height and width
GlobalAveragePooling2D()        batch x height x width x channels becomes batch x channels
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.keras.layers.base import Layer
from situs._src.keras.layers.checks import FORMATS, check_input, layout, padding_word, sizes
from situs._src.ops.nn.pool import avg_pool, max_pool
from situs._src.ops.reduce import reduce_max, reduce_mean


class Pooling(Layer):
    """What pooling in windows shares.

    Args:
        pool_size: The size of the window; one number for all dimensions, or one for each.
        strides: The steps between windows; by default their size.
        padding: ``"valid"`` or ``"same"``.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        kwargs: Those of `Layer`.
    """

    rank = 2
    _pool: tuple[Callable[..., Tensor], str]

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.pool_size = sizes(pool_size, self.rank, "pool_size")
        self.strides = self.pool_size if strides is None else sizes(strides, self.rank, "strides")
        self.padding = padding_word(padding)
        self.data_format = layout(data_format)

    def call(self, inputs: Any) -> Tensor:
        """Pools the inputs."""
        check_input(self, inputs, rank=self.rank + 2)
        function, name = self._pool
        form = FORMATS[self.rank][self.data_format == "channels_first"]
        return function(inputs, self.pool_size, self.strides, self.padding.upper(), form, name=name)


@export("keras.layers.MaxPool1D", "keras.layers.MaxPooling1D")
class MaxPooling1D(Pooling):
    """The largest values of windows of sequences."""

    rank = 1
    _pool = (max_pool, "MaxPool")


@export("keras.layers.MaxPool2D", "keras.layers.MaxPooling2D")
class MaxPooling2D(Pooling):
    """The largest values of windows of images."""

    _pool = (max_pool, "MaxPool")


@export("keras.layers.MaxPooling3D")
class MaxPooling3D(Pooling):
    """The largest values of windows of volumes."""

    rank = 3
    _pool = (max_pool, "MaxPool3D")


@export("keras.layers.AveragePooling1D", "keras.layers.AvgPool1D")
class AveragePooling1D(Pooling):
    """The means of windows of sequences."""

    rank = 1
    _pool = (avg_pool, "AvgPool")


@export("keras.layers.AveragePooling2D", "keras.layers.AvgPool2D")
class AveragePooling2D(Pooling):
    """The means of windows of images."""

    _pool = (avg_pool, "AvgPool")


@export("keras.layers.AveragePooling3D")
class AveragePooling3D(Pooling):
    """The means of windows of volumes."""

    rank = 3
    _pool = (avg_pool, "AvgPool3D")


class GlobalPooling(Layer):
    """What pooling of everything shares.

    Args:
        data_format: ``"channels_last"`` or ``"channels_first"``.
        keepdims: Whether the pooled dimensions stay, with size 1.
        kwargs: Those of `Layer`.
    """

    rank = 2
    _reduce: tuple[Callable[..., Tensor]]

    def __init__(self, data_format: str | None = None, keepdims: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = layout(data_format)
        self.keepdims = keepdims

    def call(self, inputs: Any) -> Tensor:
        """Pools the inputs."""
        check_input(self, inputs, rank=self.rank + 2)
        start = 2 if self.data_format == "channels_first" else 1
        return self._reduce[0](inputs, list(range(start, start + self.rank)), keepdims=self.keepdims)


@export("keras.layers.GlobalAveragePooling1D", "keras.layers.GlobalAvgPool1D")
class GlobalAveragePooling1D(GlobalPooling):
    """The mean of each channel of sequences."""

    rank = 1
    _reduce = (reduce_mean,)


@export("keras.layers.GlobalAveragePooling2D", "keras.layers.GlobalAvgPool2D")
class GlobalAveragePooling2D(GlobalPooling):
    """The mean of each channel of images."""

    _reduce = (reduce_mean,)


@export("keras.layers.GlobalMaxPool1D", "keras.layers.GlobalMaxPooling1D")
class GlobalMaxPooling1D(GlobalPooling):
    """The largest value of each channel of sequences."""

    rank = 1
    _reduce = (reduce_max,)


@export("keras.layers.GlobalMaxPool2D", "keras.layers.GlobalMaxPooling2D")
class GlobalMaxPooling2D(GlobalPooling):
    """The largest value of each channel of images."""

    _reduce = (reduce_max,)
