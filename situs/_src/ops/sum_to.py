"""The way back from broadcasting: the sum of everything that one element was spread to.

Gradient rules of ops that broadcast end with it: ``sum_to(grad, x_shape)`` has the shape of `x`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from situs._src.base.dtype import INDEX, NUMERIC, WIDE_UNSIGNED
from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import UNKNOWN, Dim, TensorShape, brackets, broadcast
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ShapeLike, SizesOf
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import find_op
from situs._src.ops.define import CPU, GPU, op
from situs._src.runtime import dispatch
from situs._src.runtime.eager.tensor import EagerTensor
from situs._src.runtime.symbolic.fold import partial_value

_sum_to = op("SumTo", "x: T, shape: host -> y: T", T=NUMERIC - WIDE_UNSIGNED)


@_sum_to.shape
def _sum_to_shape(x: TensorShape, shape: Any) -> TensorShape:
    return UNKNOWN if shape is None else TensorShape(shape)


def _known_sum(x: Tensor, shape: ShapeLike) -> Callable[[Any, Any], Any] | None:
    """In a graph, the sum over the first dimension, where that is all; None where it may not be."""
    sizes = list(x.shape)[1:] if x.shape.rank else None
    is_first = isinstance(shape, tuple) and list(shape) == sizes and None not in sizes
    return (lambda x, shape: x.sum(0)) if is_first and x.dtype.is_floating else None


@_sum_to.kernel(CPU, GPU, lower=_known_sum)
def _sum_to_kernel(x: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    return x.sum_to_size(shape) if x.ndim else x


@_sum_to.gradient
def _sum_to_gradient(grad: Tensor, x_shape: SizesOf) -> Tensor:
    return find_op("BroadcastTo")(grad, x_shape)


_run = dispatch.with_host_inputs(_sum_to)


def sum_to(x: Tensor, shape: Any, other: Any = None) -> Tensor:
    """Sums a tensor over the dimensions along which something of this shape was broadcast to it.

    Args:
        x: A tensor.
        shape: A tuple of sizes, or a tensor with them.
        other: The shape of what it was broadcast with: in a graph it may tell beforehand that there is nothing to sum.
    """
    if type(x) is EagerTensor:
        return x if isinstance(shape, tuple) and x._value.shape == shape else _run(x, shape)
    return x if _is_whole(x.shape, _known(shape), _known(other)) else _sum_to(x, shape)


def _known(shape: ShapeLike) -> tuple[Dim, ...] | None:
    """The sizes of a shape as far as they are known; None if not even their number is."""
    found = partial_value(shape) if isinstance(shape, SymbolicTensor) else shape
    return found if isinstance(found, tuple) else None


def _is_whole(made: TensorShape, sizes: tuple[Dim, ...] | None, others: tuple[Dim, ...] | None) -> bool:
    """Whether a result surely has the sizes of one input: each is known, or the other input has no say in it."""
    if sizes is None or made.rank != len(sizes) or (others is not None and len(others) > len(sizes)):
        return False
    aligned = (None,) * len(sizes) if others is None else (1,) * (len(sizes) - len(others)) + others
    triples = zip(sizes, made, aligned, strict=True)
    return all(other == 1 if size is None else size == dim for size, dim, other in triples)


# Which axes those are, in the gradients of graphs that TensorFlow has written.

_broadcast_gradient_args = op("BroadcastGradientArgs", "s0: T, s1: T -> r0: T, r1: T", T=INDEX)
_broadcast_gradient_args.shape(lambda s0, s1: [TensorShape([None]), TensorShape([None])])
_broadcast_gradient_args.stops_gradients()


@_broadcast_gradient_args.kernel(CPU)
@_broadcast_gradient_args.kernel(GPU, host_output=True)
def _broadcast_gradient_args_kernel(s0: torch.Tensor, s1: torch.Tensor) -> list[torch.Tensor]:
    """For each of two shapes the axes, of the result of broadcasting them, that it is summed over."""
    if s0.ndim != 1 or s1.ndim != 1:
        raise ArgumentError(f"In[0] and In[1] must be vectors, got {brackets(s0.shape)} and {brackets(s1.shape)}")
    shapes = s0.tolist(), s1.tolist()
    rank = len(broadcast(TensorShape(shapes[0]), TensorShape(shapes[1])))
    aligned = [[1] * (rank - len(shape)) + shape for shape in shapes]
    summed = [[axis for axis, size in enumerate(shape) if size == 1] for shape in aligned]
    return [torch.tensor([] if shapes[0] == shapes[1] else axes, dtype=s0.dtype) for axes in summed]
