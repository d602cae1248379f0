"""Checks of built-in layers: their arguments, and the shapes of their inputs."""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.shapes import TensorShape, normalize_axis
from situs._src.ops.attribute import as_int

FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def positive(value: Any, name: str) -> int:
    """A whole number above zero."""
    found = as_int(value, name)
    if found <= 0:
        raise ArgumentError(f"Received an invalid value for `{name}`, expected a positive integer. Got {value!r}.")
    return found


def sizes(value: Any, n: int, name: str, least: int = 1) -> tuple[int, ...]:
    """One number for each of `n` spatial dimensions; a single one stands for all."""
    given = tuple(value) if isinstance(value, (list, tuple)) else (value,) * n
    if len(given) != n:
        raise ArgumentError(
            f"The `{name}` argument must be an integer or a tuple of {n} integers. Received: {name}={shown(value)}"
        )
    found = tuple(as_int(size, name) for size in given)
    if any(size < least for size in found):
        raise ArgumentError(f"The `{name}` argument must hold numbers >= {least}. Received: {shown(value)}")
    return found


def layout(data_format: Any) -> str:
    """Where the channels stand: ``"channels_first"``, or ``"channels_last"``, which None stands for too."""
    found = "channels_last" if data_format is None else data_format
    if found not in ("channels_last", "channels_first"):
        raise ArgumentError(
            "The `data_format` argument must be one of 'channels_first', 'channels_last'. Received: "
            f"{shown(data_format)}"
        )
    return str(found)


def padding_word(padding: Any, allowed: tuple[str, ...] = ("valid", "same")) -> str:
    """The padding in small letters."""
    found = padding.lower() if isinstance(padding, str) else padding
    if found not in allowed:
        raise ArgumentError(f"The `padding` argument must be one of {allowed}. Received: {shown(padding)}")
    return str(found)


def known_shape(layer: Any, input_shape: Any, rank: int | None = None, least: int = 0) -> TensorShape:
    """The shape of the one tensor that a layer makes its variables for; see `check_input` for the arguments."""
    parts = input_shape if isinstance(input_shape, (list, tuple, TensorShape)) else None
    if parts is None or any(isinstance(part, (list, tuple, dict, TensorShape)) for part in parts):
        raise ArgumentError(
            f"Layer {layer.name} ({type(layer).__name__}) takes one tensor, and needs to know the number of its "
            f"dimensions to make its variables; the shape of its inputs is {shown(input_shape)}."
        )
    shape = TensorShape(parts)
    _check_rank(layer, shape, rank, least)
    return shape


def known_size(layer: Any, input_shape: Any, axis: int = -1, rank: int | None = None, least: int = 0) -> int:
    """The size of one dimension of the input, which a layer needs to make its variables; see `check_input`."""
    shape = known_shape(layer, input_shape, rank, least)
    size = shape[axis] if -len(shape) <= axis < len(shape) else None
    if size is None:
        raise ArgumentError(
            f"Layer {layer.name} ({type(layer).__name__}) needs to know dimension {axis} of its inputs to make its "
            f"variables; their shape is {input_shape}. Give the input a shape with that dimension."
        )
    return int(size)


def check_input(
    layer: Any, value: Any, rank: int | None = None, least: int = 0, axis: int = -1, size: int | None = None
) -> None:
    """Refuses an input that does not fit a layer.

    Args:
        layer: The layer.
        value: The input.
        rank: How many dimensions it must have; None for any number.
        least: How many it must have at least.
        axis: A dimension whose size is settled.
        size: That size; None if it is not settled.
    """
    shape = getattr(value, "shape", None)
    if not isinstance(shape, TensorShape):
        raise DTypeError(f'Layer "{layer.name}" ({type(layer).__name__}) takes a tensor, got {shown(value)}.')
    if shape.rank is None:
        return
    _check_rank(layer, shape, rank, least)
    if size is not None and shape[axis] not in (None, size):
        raise ArgumentError(
            f"{_misfit(layer)}expected axis {axis} of input shape to have value {size}, but received input with shape "
            f"{shape}"
        )


def _check_rank(layer: Any, shape: TensorShape, rank: int | None, least: int) -> None:
    found = len(shape)
    if rank is not None and found != rank:
        raise ArgumentError(f"{_misfit(layer)}expected ndim={rank}, found ndim={found}. Full shape received: {shape}")
    if found < least:
        raise ArgumentError(
            f"{_misfit(layer)}expected min_ndim={least}, found ndim={found}. Full shape received: {shape}"
        )


def _misfit(layer: Any) -> str:
    return f'Input 0 of layer "{layer.name}" is incompatible with the layer: '


def known_axes(layer: Any, axes: Any, rank: int) -> list[int]:
    """The places of one axis or several, of inputs with `rank` dimensions, in order."""
    given = axes if isinstance(axes, (list, tuple)) else [axes]
    return sorted(normalize_axis(as_int(axis, f"axis of {type(layer).__name__}"), rank) for axis in given)
