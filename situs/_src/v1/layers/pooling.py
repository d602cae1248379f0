"""Pooling: the maximum or the mean of windows. ``MaxPooling2D(2, 2)`` halves height and width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.ops.nn.pool import avg_pool, max_pool
from situs._src.v1.layers.base import Layer
from situs._src.v1.layers.checks import FORMATS, check_input, layout, padding_word, sizes


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


@export(v1="layers.MaxPooling1D")
class MaxPooling1D(Pooling):
    """The largest values of windows of sequences."""

    rank = 1
    _pool = (max_pool, "MaxPool")


@export(v1="layers.MaxPooling2D")
class MaxPooling2D(Pooling):
    """The largest values of windows of images."""

    _pool = (max_pool, "MaxPool")


@export(v1="layers.MaxPooling3D")
class MaxPooling3D(Pooling):
    """The largest values of windows of volumes."""

    rank = 3
    _pool = (max_pool, "MaxPool3D")


@export(v1="layers.AveragePooling1D")
class AveragePooling1D(Pooling):
    """The means of windows of sequences."""

    rank = 1
    _pool = (avg_pool, "AvgPool")


@export(v1="layers.AveragePooling2D")
class AveragePooling2D(Pooling):
    """The means of windows of images."""

    _pool = (avg_pool, "AvgPool")


@export(v1="layers.AveragePooling3D")
class AveragePooling3D(Pooling):
    """The means of windows of volumes."""

    rank = 3
    _pool = (avg_pool, "AvgPool3D")
