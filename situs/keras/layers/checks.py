"""What built-in layers check: their arguments, and the shapes of what they are called with."""

from __future__ import annotations

from typing import Any

from situs.errors import InvalidArgumentError, shown
from situs.ops.attribute import as_int
from situs.shapes import TensorShape

FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def positive(value: Any, name: str) -> int:
    """A whole number above zero."""
    found = as_int(value, name)
    if found <= 0:
        raise InvalidArgumentError(
            f"Received an invalid value for `{name}`, expected a positive integer. Got {value!r}."
        )
    return found


def sizes(value: Any, n: int, name: str, least: int = 1) -> tuple[int, ...]:
    """One number for each of `n` spatial dimensions; a single one stands for all."""
    given = tuple(value) if isinstance(value, (list, tuple)) else (value,) * n
    if len(given) != n:
        raise InvalidArgumentError(
            f"The `{name}` argument must be an integer or a tuple of {n} integers. Received: {name}={shown(value)}"
        )
    found = tuple(as_int(size, name) for size in given)
    if any(size < least for size in found):
        raise InvalidArgumentError(f"The `{name}` argument must hold numbers >= {least}. Received: {shown(value)}")
    return found


def channels_first(data_format: Any) -> bool:
    """Whether the channels stand before the spatial dimensions; None is ``"channels_last"``."""
    found = "channels_last" if data_format is None else data_format
    if found not in ("channels_last", "channels_first"):
        raise InvalidArgumentError(
            "The `data_format` argument must be one of 'channels_first', 'channels_last'. Received: "
            f"{shown(data_format)}"
        )
    return bool(found == "channels_first")


def padding_word(padding: Any, allowed: tuple[str, ...] = ("valid", "same")) -> str:
    """The padding in small letters."""
    found = padding.lower() if isinstance(padding, str) else padding
    if found not in allowed:
        raise InvalidArgumentError(f"The `padding` argument must be one of {allowed}. Received: {shown(padding)}")
    return str(found)


def known_size(layer: Any, input_shape: Any, axis: int = -1) -> int:
    """The size of one dimension of the input, which a layer needs to make its variables."""
    rank = None if input_shape is None else len(input_shape)
    size = None if rank is None or not -rank <= axis < rank else input_shape[axis]
    if size is None:
        raise InvalidArgumentError(
            f"Layer {layer.name} ({type(layer).__name__}) needs to know dimension {axis} of its inputs to make its "
            f"variables; their shape is {input_shape}. Give the input a shape with that dimension."
        )
    return int(size)


def check_input(
    layer: Any, value: Any, rank: int | None = None, least: int | None = None, axis: int = -1, size: int | None = None
) -> None:
    """Refuses an input that does not fit a layer.

    Args:
        layer: The layer.
        value: The input.
        rank: How many dimensions it must have.
        least: How many it must have at least.
        axis: A dimension whose size is settled.
        size: That size; None if it is not settled.
    """
    shape: TensorShape = value.shape
    if shape.rank is None:
        return
    start = f'Input 0 of layer "{layer.name}" is incompatible with the layer: '
    if rank is not None and shape.rank != rank:
        raise InvalidArgumentError(
            f"{start}expected ndim={rank}, found ndim={shape.rank}. Full shape received: {shape}"
        )
    if least is not None and shape.rank < least:
        raise InvalidArgumentError(
            f"{start}expected min_ndim={least}, found ndim={shape.rank}. Full shape received: {shape}"
        )
    if size is not None and shape[axis] not in (None, size):
        raise InvalidArgumentError(
            f"{start}expected axis {axis} of input shape to have value {size}, but received input with shape {shape}"
        )
