"""Numbers as they would be after rounding to few bits: ``tf.quantization.fake_quant_*``.

A range from `min` to `max` is divided into ``2 ** num_bits - 1`` steps (one less in a narrow range), and shifted so
that zero is one of them. Every number becomes the nearest step; its gradient passes as if nothing had happened, and
goes to the end of the range where the number lies beyond it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from situs._src.base.errors import ArgumentError, InvalidArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ir.registry.op import Op
from situs._src.ops.attribute import as_bool, as_float, as_int
from situs._src.ops.define import CPU, GPU, op

_BITS: dict[str, Any] = {"num_bits": 8, "narrow_range": False}
_ENDS: dict[str, Any] = {"min": -6.0, "max": 6.0, **_BITS}


class _Steps(NamedTuple):
    """The steps of a range: its ends after the shift, and how far they are apart."""

    low: torch.Tensor
    high: torch.Tensor
    width: torch.Tensor

    @classmethod
    def of(cls, least: torch.Tensor, most: torch.Tensor, num_bits: int, narrow_range: bool) -> _Steps:
        """Those between two numbers, or between numbers by channel."""
        first, last = float(narrow_range), float(2**num_bits - 1)
        width = (most - least) / (last - first)
        from_first = first - least / width
        half_up = torch.floor(from_first.abs() + 0.5) * torch.sign(from_first)
        zero = torch.where(from_first < first, first, torch.where(from_first > last, last, half_up))
        return cls((first - zero) * width, (last - zero) * width, width)


def _check_bits(num_bits: int) -> None:
    if not 2 <= num_bits <= 16:
        raise InvalidArgumentError(f"num_bits must be between 2 and 16, inclusive, got {num_bits}")


def _rounded(x: torch.Tensor, least: torch.Tensor, most: torch.Tensor, bits: int, narrow: bool) -> torch.Tensor:
    steps = _Steps.of(least, most, bits, narrow)
    shifted = torch.maximum(torch.minimum(x, steps.high), steps.low) - steps.low
    each = 1.0 / steps.width
    zero = torch.floor(-steps.low * each + 0.5)
    made = torch.floor(shifted * each - zero + 0.5) * steps.width
    return torch.where((least == 0) & (most == 0), torch.zeros_like(x), made)


def _slopes(
    grad: torch.Tensor, x: torch.Tensor, least: torch.Tensor, most: torch.Tensor, bits: int, narrow: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What flows back to the numbers, to the low and to the high end, before sums are taken."""
    steps = _Steps.of(least, most, bits, narrow)
    none, empty = torch.zeros_like(grad), (least == 0) & (most == 0)
    inside = (x >= steps.low) & (x <= steps.high)
    below, above = (x < steps.low) & ~empty, (x > steps.high) & ~empty
    return (
        torch.where(inside | empty, grad, none),
        torch.where(below, grad, none),
        torch.where(above, grad, none),
    )


# One range for all, as numbers.

_args = op("FakeQuantWithMinMaxArgs", "inputs: float32 -> outputs: float32", **_ENDS)
_args_grad = op("FakeQuantWithMinMaxArgsGradient", "gradients: float32, inputs: float32 -> backprops: float32", **_ENDS)
_args.shape(lambda inputs, **attrs: inputs)


@_args_grad.shape
def _same(gradients: TensorShape, inputs: TensorShape, **attrs: Any) -> TensorShape:
    if not gradients.is_compatible_with(inputs):
        raise ArgumentError(f"gradient and input must be the same size, got shapes {gradients} and {inputs}.")
    return gradients.merge_with(inputs)


def _ends(x: torch.Tensor, least: float, most: float, num_bits: int) -> tuple[torch.Tensor, torch.Tensor]:
    _check_bits(num_bits)
    if least >= most:
        raise InvalidArgumentError(f"min has to be smaller than max, was: {least:g} >= {most:g}")
    return x.new_tensor(least), x.new_tensor(most)


@_args.kernel(CPU, GPU)
def _args_kernel(inputs: torch.Tensor, *, min: float, max: float, num_bits: int, narrow_range: bool) -> torch.Tensor:
    return _rounded(inputs, *_ends(inputs, min, max, num_bits), num_bits, narrow_range)


@_args_grad.kernel(CPU, GPU)
def _args_grad_kernel(
    gradients: torch.Tensor, inputs: torch.Tensor, *, min: float, max: float, num_bits: int, narrow_range: bool
) -> torch.Tensor:
    return _slopes(gradients, inputs, *_ends(inputs, min, max, num_bits), num_bits, narrow_range)[0]


@_args.gradient
def _args_gradient(
    grad: Tensor, inputs: Tensor, *, min: float, max: float, num_bits: int, narrow_range: bool
) -> Tensor:
    return _args_grad(grad, inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range)


# Ranges as tensors: one for all, or one for each channel, which is the last axis.

_SIGNATURE = "inputs: float32, min: float32, max: float32 -> outputs: float32"
_SLOPES = (
    "gradients: float32, inputs: float32, min: float32, max: float32"
    " -> backprops_wrt_input: float32, backprop_wrt_min: float32, backprop_wrt_max: float32"
)
_vars = op("FakeQuantWithMinMaxVars", _SIGNATURE, **_BITS)
_vars_grad = op("FakeQuantWithMinMaxVarsGradient", _SLOPES, **_BITS)
_channels = op("FakeQuantWithMinMaxVarsPerChannel", _SIGNATURE, **_BITS)
_channels_grad = op("FakeQuantWithMinMaxVarsPerChannelGradient", _SLOPES, **_BITS)


def _check_ends(inputs: TensorShape, min: TensorShape, max: TensorShape, rank: int) -> None:
    for name, shape in (("min", min), ("max", max)):
        if shape.rank not in (rank, None):
            raise InvalidArgumentError(f"`{name}` must be rank {rank} but is rank {shape.rank}")
        if rank and inputs.rank:
            have, wanted = shape[0] if shape.rank else None, inputs[-1]
            if None not in (have, wanted) and have != wanted:
                raise InvalidArgumentError(f"{name} has incorrect size, expected {wanted} was {have}")
    if rank and inputs.rank == 0:
        raise InvalidArgumentError("Shape must be at least rank 1 but is rank 0: there are no channels")


def _declare(forth: Op, back: Op, rank: int) -> None:
    @forth.shape
    def _forth_shape(inputs: TensorShape, min: TensorShape, max: TensorShape, **attrs: Any) -> TensorShape:
        _check_ends(inputs, min, max, rank)
        return inputs

    @back.shape
    def _back_shape(
        gradients: TensorShape, inputs: TensorShape, min: TensorShape, max: TensorShape, **attrs: Any
    ) -> tuple[TensorShape, ...]:
        _check_ends(inputs, min, max, rank)
        ends = TensorShape([inputs[-1] if inputs.rank else None]) if rank else SCALAR
        return _same(gradients, inputs), ends, ends

    @forth.kernel(CPU, GPU)
    def _forth_kernel(
        inputs: torch.Tensor, min: torch.Tensor, max: torch.Tensor, *, num_bits: int, narrow_range: bool
    ) -> torch.Tensor:
        _check_bits(num_bits)
        _check_ends(TensorShape(inputs.shape), TensorShape(min.shape), TensorShape(max.shape), rank)
        return _rounded(inputs, min, max, num_bits, narrow_range)

    @back.kernel(CPU, GPU)
    def _back_kernel(
        gradients: torch.Tensor,
        inputs: torch.Tensor,
        min: torch.Tensor,
        max: torch.Tensor,
        *,
        num_bits: int,
        narrow_range: bool,
    ) -> tuple[torch.Tensor, ...]:
        _check_bits(num_bits)
        _check_ends(TensorShape(inputs.shape), TensorShape(min.shape), TensorShape(max.shape), rank)
        inner, below, above = _slopes(gradients, inputs, min, max, num_bits, narrow_range)
        if rank:
            count = inputs.shape[-1]
            return inner, below.reshape(-1, count).sum(0), above.reshape(-1, count).sum(0)
        return inner, below.sum(), above.sum()

    @forth.gradient
    def _gradient(
        grad: Tensor, inputs: Tensor, min: Tensor, max: Tensor, *, num_bits: int, narrow_range: bool
    ) -> tuple[Tensor, ...]:
        made: Any = back(grad, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range)
        return tuple(made)


_declare(_vars, _vars_grad, 0)
_declare(_channels, _channels_grad, 1)


def _bits(num_bits: Any, narrow_range: Any) -> dict[str, Any]:
    return {"num_bits": as_int(num_bits, "num_bits"), "narrow_range": as_bool(narrow_range, "narrow_range")}


@export(
    "quantization.fake_quant_with_min_max_args",
    v1=("fake_quant_with_min_max_args", "quantization.fake_quant_with_min_max_args"),
)
def fake_quant_with_min_max_args(
    inputs: ArrayLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Rounds numbers to the steps of a range.

    Args:
        inputs: Numbers of float32.
        min: The low end of the range.
        max: The high end of the range.
        num_bits: From 2 to 16: there are ``2 ** num_bits`` steps.
        narrow_range: Whether there is one less.
        name: A name for the op.
    """
    ends = {"min": as_float(min, "min"), "max": as_float(max, "max")}
    return _args(inputs, **ends, **_bits(num_bits, narrow_range), name=name)


@export(
    "quantization.fake_quant_with_min_max_args_gradient",
    v1=("fake_quant_with_min_max_args_gradient", "quantization.fake_quant_with_min_max_args_gradient"),
)
def fake_quant_with_min_max_args_gradient(
    gradients: Any,
    inputs: ArrayLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """What flows back through `fake_quant_with_min_max_args`, whose arguments the others are."""
    ends = {"min": as_float(min, "min"), "max": as_float(max, "max")}
    return _args_grad(gradients, inputs, **ends, **_bits(num_bits, narrow_range), name=name)


@export(
    "quantization.fake_quant_with_min_max_vars",
    v1=("fake_quant_with_min_max_vars", "quantization.fake_quant_with_min_max_vars"),
)
def fake_quant_with_min_max_vars(
    inputs: ArrayLike, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """Rounds numbers to the steps of a range whose ends are tensors, and learn.

    Args:
        inputs: Numbers of float32.
        min: The low end of the range, a scalar.
        max: The high end of the range, a scalar.
        num_bits: From 2 to 16: there are ``2 ** num_bits`` steps.
        narrow_range: Whether there is one less.
        name: A name for the op.
    """
    return _vars(inputs, min, max, **_bits(num_bits, narrow_range), name=name)


@export(
    "quantization.fake_quant_with_min_max_vars_gradient",
    v1=("fake_quant_with_min_max_vars_gradient", "quantization.fake_quant_with_min_max_vars_gradient"),
)
def fake_quant_with_min_max_vars_gradient(
    gradients: Any,
    inputs: ArrayLike,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """What flows back through `fake_quant_with_min_max_vars` to the inputs, to `min` and to `max`."""
    made: Any = _vars_grad(gradients, inputs, min, max, **_bits(num_bits, narrow_range), name=name)
    return made[0], made[1], made[2]


@export(
    "quantization.fake_quant_with_min_max_vars_per_channel",
    v1=("fake_quant_with_min_max_vars_per_channel", "quantization.fake_quant_with_min_max_vars_per_channel"),
)
def fake_quant_with_min_max_vars_per_channel(
    inputs: ArrayLike, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """`fake_quant_with_min_max_vars` with a range for each channel: `min` and `max` are as long as the last axis."""
    return _channels(inputs, min, max, **_bits(num_bits, narrow_range), name=name)


@export(
    "quantization.fake_quant_with_min_max_vars_per_channel_gradient",
    v1=(
        "fake_quant_with_min_max_vars_per_channel_gradient",
        "quantization.fake_quant_with_min_max_vars_per_channel_gradient",
    ),
)
def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: Any,
    inputs: ArrayLike,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """What flows back through `fake_quant_with_min_max_vars_per_channel` to the inputs, to `min` and to `max`."""
    made: Any = _channels_grad(gradients, inputs, min, max, **_bits(num_bits, narrow_range), name=name)
    return made[0], made[1], made[2]
