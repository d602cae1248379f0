"""Larger and smaller images: ``ZeroPadding2D``, ``Cropping2D``, ``UpSampling2D``, and those of sequences."""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.keras.layers.base import Layer
from situs._src.keras.layers.checks import check_input, layout, sizes
from situs._src.ops.attribute import as_int
from situs._src.ops.join import pad, repeat


def _edges(value: Any, n: int, name: str) -> tuple[tuple[int, int], ...]:
    """Amounts before and after, for each of `n` dimensions: from one number, one for each, or pairs."""
    given = (value,) * n if isinstance(value, int) else value
    if n == 1 and isinstance(given, (list, tuple)) and len(given) == 2:
        given = (given,)
    if not isinstance(given, (list, tuple)) or len(given) != n:
        raise ArgumentError(f"`{name}` is a number, or a tuple of {n} numbers or pairs, got {shown(value)}.")
    pairs = tuple(tuple(each) if isinstance(each, (list, tuple)) else (each, each) for each in given)
    if any(len(pair) != 2 or min(as_int(amount, name) for amount in pair) < 0 for pair in pairs):
        raise ArgumentError(f"`{name}` holds pairs of numbers that are not negative, got {shown(value)}.")
    return pairs


class _Borders(Layer):
    """What layers have in common that treat the spatial dimensions of their inputs."""

    rank = 2

    def __init__(self, data_format: str | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = layout(data_format)

    def _around(self, spatial: list[Any], other: Any) -> list[Any]:
        """The spatial entries in their places, with another one for the batch and the channels."""
        return [other, other, *spatial] if self.data_format == "channels_first" else [other, *spatial, other]


@export("keras.layers.ZeroPadding2D")
class ZeroPadding2D(_Borders):
    """Adds zeros around images; `padding` is a number, one for each dimension, or pairs."""

    def __init__(self, padding: Any = (1, 1), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.padding = _edges(padding, self.rank, "padding")

    def call(self, inputs: Any) -> Tensor:
        """Pads the inputs."""
        check_input(self, inputs, rank=self.rank + 2)
        return pad(inputs, self._around([list(pair) for pair in self.padding], [0, 0]))


@export("keras.layers.ZeroPadding1D")
class ZeroPadding1D(ZeroPadding2D):
    """Adds zeros before and after sequences."""

    rank = 1

    def __init__(self, padding: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(padding, data_format, **kwargs)


@export("keras.layers.Cropping2D")
class Cropping2D(_Borders):
    """Cuts off what is around images; `cropping` is a number, one for each dimension, or pairs."""

    def __init__(self, cropping: Any = ((0, 0), (0, 0)), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.cropping = _edges(cropping, self.rank, "cropping")

    def call(self, inputs: Any) -> Any:
        """Crops the inputs."""
        check_input(self, inputs, rank=self.rank + 2)
        spatial = [slice(before, -after if after else None) for before, after in self.cropping]
        return inputs[tuple(self._around(spatial, slice(None)))]


@export("keras.layers.Cropping1D")
class Cropping1D(Cropping2D):
    """Cuts off the ends of sequences."""

    rank = 1

    def __init__(self, cropping: Any = (1, 1), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(cropping, data_format, **kwargs)


@export("keras.layers.UpSampling2D")
class UpSampling2D(_Borders):
    """Repeats the rows and columns of images.

    Args:
        size: How often; one number, or one for each dimension.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        interpolation: ``"nearest"``; others are refused.
        kwargs: Those of `Layer`.
    """

    def __init__(
        self, size: Any = 2, data_format: str | None = None, interpolation: str = "nearest", **kwargs: Any
    ) -> None:
        super().__init__(data_format, **kwargs)
        self.size = sizes(size, self.rank, "size")
        self.interpolation = interpolation
        if interpolation != "nearest":
            raise UnimplementedError(
                f"{type(self).__name__} with interpolation={interpolation!r} needs image resizing, which Situs does "
                "not have. Use interpolation='nearest', or a Conv2DTranspose."
            )

    def call(self, inputs: Any) -> Any:
        """Repeats rows and columns."""
        check_input(self, inputs, rank=self.rank + 2)
        start = 2 if self.data_format == "channels_first" else 1
        for place, times in enumerate(self.size):
            inputs = inputs if times == 1 else repeat(inputs, times, axis=start + place)
        return inputs


@export("keras.layers.UpSampling1D")
class UpSampling1D(UpSampling2D):
    """Repeats the steps of sequences."""

    rank = 1
