"""Gradient buckets: values that are reduced together, in the order in which they are ready, and the ops that pack them.

    backward      layer 3 | layer 2 | layer 1 |
    reductions              bucket 0 (layer 3)  | bucket 1 (layers 2, 1)

A model's gradients are reduced in a few transfers: while the gradients of the first layers are still being computed,
those of the last layers are already being reduced. The first bucket is small, so that communication starts early; the
others are large enough for full bandwidth. A small model has one bucket. A large value is not copied into a bucket, but
sent on its own.

In a graph, values are ready in the order of the operations that produce them; in eager code, gradients usually come in
the order of layers, so the last one is assumed to be ready first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from situs._src.base.dtype import FIXED
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import FRESH, VIEW
from situs._src.ops.constant import zeros
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.slices import IndexedSlices

FIRST_BYTES = 2**20  # of the first bucket
BUCKET_BYTES = 25 * 2**20  # of the others
PACKED_UP_TO = 2**16  # elements of a value that is packed: a larger one costs more to copy than to send


def buckets(columns: Sequence[Sequence[Any]], packed_up_to: int | None = PACKED_UP_TO) -> list[list[int]]:
    """Which values are sent together, by position in a replica's list: the first bucket is available first.

    Args:
        columns: For each position, the values of all replicas.
        packed_up_to: The maximum number of elements of a value that is packed; None for any number.
    """
    found: list[list[int]] = []
    filled: dict[Any, tuple[list[int], int]] = {}  # the open bucket of each dtype
    for place in sorted(range(len(columns)), key=lambda place: ready_at(columns[place][0], place)):
        counts = [elements_of(value) for value in columns[place]]
        count = None if None in counts else max(number for number in counts if number is not None)
        if count is None or (packed_up_to is not None and count > packed_up_to):
            found.append([place])
            continue
        dtype = columns[place][0].dtype
        size = count * dtype.size
        members, before = filled.get(dtype, ([], 0))
        is_first = not found or found[0] is members
        if not members or before + size > (FIRST_BYTES if is_first else BUCKET_BYTES):
            members, before = [], 0
            found.append(members)
        members.append(place)
        filled[dtype] = members, before + size
    return found


def ready_at(value: Any, place: int) -> int:
    """A sort key: smaller if a value is available earlier."""
    first = value.values if isinstance(value, IndexedSlices) else value
    return first.op.index if isinstance(first, SymbolicTensor) else -place


def elements_of(value: Any) -> int | None:
    """The number of elements of a value; None for sparse rows, and if unknown."""
    return None if isinstance(value, IndexedSlices) else value.shape.num_elements()


_pack = op("PackValues", "values: T* -> buffer: T", traits={FRESH}, T=FIXED)
_unpack = op("UnpackValues", "buffer: T -> values: T*", traits={VIEW}, T=FIXED, shapes=())


@_pack.shape
def _pack_shape(values: list[TensorShape]) -> TensorShape:
    counts = [shape.num_elements() for shape in values]
    return TensorShape([None if None in counts else sum(count for count in counts if count is not None)])


@_unpack.shape
def _unpack_shape(buffer: TensorShape, *, shapes: tuple[tuple[int, ...], ...]) -> list[TensorShape]:
    return [TensorShape(shape) for shape in shapes]


@_pack.kernel(CPU, GPU)
def _pack_kernel(values: list[torch.Tensor]) -> torch.Tensor:
    return torch.cat([value.reshape(-1) for value in values])


@_unpack.kernel(CPU, GPU)
def _unpack_kernel(buffer: torch.Tensor, *, shapes: tuple[tuple[int, ...], ...]) -> list[torch.Tensor]:
    sizes = [torch.Size(shape) for shape in shapes]
    parts = buffer.split_with_sizes([size.numel() for size in sizes])
    return [part.view(size) for part, size in zip(parts, sizes, strict=True)]


@_pack.gradient
def _pack_gradient(grad: Any, values_shape: list[Any]) -> list[Tensor]:
    return _unpack.many(grad, shapes=tuple(tuple(int(size) for size in shape) for shape in values_shape))


@_unpack.gradient
def _unpack_gradient(grads: list[Any], *, shapes: tuple[tuple[int, ...], ...]) -> Any:
    like = next(grad.dtype for grad in grads if grad is not None)
    whole = [zeros(shape, like) if grad is None else grad for grad, shape in zip(grads, shapes, strict=True)]
    return _pack(whole)


def packed(values: Sequence[Any]) -> Any:
    """Packs values of one dtype into a buffer, on the device of the current scope."""
    return _pack(list(values))


def unpacked(buffer: Any, shapes: Sequence[TensorShape]) -> list[Any]:
    """Unpacks values of known shapes from a buffer."""
    return _unpack.many(buffer, shapes=tuple(tuple(shape.as_list()) for shape in shapes))
