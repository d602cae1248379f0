"""Pooling: the largest or the mean value of windows, or of everything.

MaxPooling2D(2)                 halves height and width
GlobalAveragePooling2D()        batch x height x width x channels becomes batch x channels
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs.keras.layers.base import Layer
from situs.keras.layers.checks import FORMATS, check_input, layout, padding_word, sizes
from situs.ops.nn.pool import avg_pool, max_pool
from situs.ops.reduce import reduce_max, reduce_mean
from situs.tensor import Tensor


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


class MaxPooling1D(Pooling):
    """The largest values of windows of sequences."""

    rank = 1
    _pool = (max_pool, "MaxPool")


class MaxPooling2D(Pooling):
    """The largest values of windows of images."""

    _pool = (max_pool, "MaxPool")


class MaxPooling3D(Pooling):
    """The largest values of windows of volumes."""

    rank = 3
    _pool = (max_pool, "MaxPool3D")


class AveragePooling1D(Pooling):
    """The means of windows of sequences."""

    rank = 1
    _pool = (avg_pool, "AvgPool")


class AveragePooling2D(Pooling):
    """The means of windows of images."""

    _pool = (avg_pool, "AvgPool")


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


class GlobalAveragePooling1D(GlobalPooling):
    """The mean of each channel of sequences."""

    rank = 1
    _reduce = (reduce_mean,)


class GlobalAveragePooling2D(GlobalPooling):
    """The mean of each channel of images."""

    _reduce = (reduce_mean,)


class GlobalMaxPooling1D(GlobalPooling):
    """The largest value of each channel of sequences."""

    rank = 1
    _reduce = (reduce_max,)


class GlobalMaxPooling2D(GlobalPooling):
    """The largest value of each channel of images."""

    _reduce = (reduce_max,)
