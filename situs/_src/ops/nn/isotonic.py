"""Isotonic regression: the closest sequence, by least squares, that does not rise."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import FLOATING, REAL
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape, normalize_axis
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ops.array import reshape, sizes_of, transpose
from situs._src.ops.attribute import as_bool, as_int
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, op
from situs._src.ops.math import negative
from situs._src.runtime.eager.bridge import TORCH_DTYPE

_isotonic = op("IsotonicRegression", "input: T -> output: output_dtype, segments: int32", T=REAL)
_spread = op("IsotonicMean", "grad: T, segments: int32 -> output: T", T=FLOATING)
_spread.shape(lambda grad, segments: grad)


@_isotonic.shape
def _isotonic_shape(input: TensorShape) -> tuple[TensorShape, TensorShape]:
    return input, input


@_isotonic.kernel(CPU)
def _isotonic_kernel(input: torch.Tensor, *, output_dtype: dt.DType) -> tuple[torch.Tensor, torch.Tensor]:
    rows = input.to(torch.float64).reshape(-1, input.shape[-1] if input.ndim else 1).numpy()
    fitted, segments = np.empty_like(rows), np.empty(rows.shape, np.int32)
    for row, target, numbers in zip(rows, fitted, segments, strict=True):
        _fit(row, target, numbers)
    made = torch.from_numpy(fitted).reshape(input.shape).to(TORCH_DTYPE[output_dtype])
    return made, torch.from_numpy(segments).reshape(input.shape)


def _fit(row: Any, target: Any, numbers: Any) -> None:
    """Pools neighbours that rise into segments of their mean, until none does."""
    sums: list[float] = []
    counts: list[int] = []
    for value in row:
        sums.append(float(value))
        counts.append(1)
        while len(sums) > 1 and sums[-2] * counts[-1] < sums[-1] * counts[-2]:
            sums[-2:], counts[-2:] = [sums[-2] + sums[-1]], [counts[-2] + counts[-1]]
    start = 0
    for number, (total, count) in enumerate(zip(sums, counts, strict=True)):
        target[start : start + count], numbers[start : start + count] = total / count, number
        start += count


@_spread.kernel(CPU)
def _spread_kernel(grad: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
    """The mean over its segment for each element."""
    flat, places = grad.reshape(-1, grad.shape[-1]), segments.reshape(-1, grad.shape[-1]).long()
    sums = torch.zeros_like(flat).scatter_add_(1, places, flat)
    counts = torch.zeros_like(flat).scatter_add_(1, places, torch.ones_like(flat))
    return (sums.gather(1, places) / counts.gather(1, places)).reshape(grad.shape)


@_isotonic.gradient
def _isotonic_gradient(grads: list[Any], segments: Tensor) -> Tensor | None:
    return None if grads[0] is None else _spread(grads[0], segments)


@_spread.gradient
def _spread_gradient(grad: Tensor, segments: Tensor) -> tuple[Any, None]:
    return lambda: _spread(grad, segments), None


@export("nn.isotonic_regression")
def isotonic_regression(inputs: ArrayLike, decreasing: bool = True, axis: int = -1) -> tuple[Tensor, Tensor]:
    """Finds the sequence along an axis that does not rise, or fall, and is closest to `inputs` by least squares.

    Args:
        inputs: A tensor of real numbers, of at least one dimension.
        decreasing: Whether the sequence must not rise; otherwise it must not fall.
        axis: The axis.

    Returns:
        The sequence, float32 for integers of up to 16 bits and float64 for wider ones, and the numbers of the runs of
        equal values that it consists of.
    """
    x = convert_to_tensor(inputs)
    rank = x.shape.rank
    if rank is None or rank == 0:
        raise ArgumentError(f"isotonic_regression takes tensors of a known rank of at least 1, got {x.shape}.")
    place = normalize_axis(as_int(axis, "axis"), rank)
    order = [each for each in range(rank) if each != place] + [place]
    back = sorted(range(rank), key=order.__getitem__)
    moved = transpose(x, order)
    rising = not as_bool(decreasing, "decreasing")
    wide = dt.float64 if np.dtype(x.dtype.as_numpy_dtype).itemsize > 2 else dt.float32
    fitted, segments = _isotonic.many(
        negative(moved) if rising else moved, output_dtype=x.dtype if x.dtype.is_floating else wide
    )
    if rising:
        fitted = negative(fitted)
    return transpose(reshape(fitted, sizes_of(moved)), back), transpose(segments, back)
