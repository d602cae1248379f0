"""Assignable slices of variables: ``v[1].assign(row)``.

    v[0:2, 1]                       a tensor: what is there now
    v[0:2, 1].assign([9.0, 8.0])    StridedSliceAssign: the variable with these two elements in their places

The variable of a slice is stored with the tensor, or next to it if it is symbolic, as long as it lives: tensors that
are not slices have no ``assign``, by which programs distinguish them from variables. A slice accepts values that
broadcast to its shape, as in TensorFlow.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from situs._src.base.dtype import ALL, FIXED, STRING, WIDE_UNSIGNED
from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, HostValue
from situs._src.ops.array import also_by_bits
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.indexing import entries, getitem, is_mask, part_shape, put_part
from situs._src.runtime.eager.tensor import EagerTensor

_sources: dict[int, tuple[Callable[[], Any], Any, Any]] = {}  # by tensor: a reference to it, its variable, the index


def part_of(variable: Any, key: object) -> Tensor:
    """Returns ``variable[key]``, a tensor that can be assigned to unless the key is a mask."""
    part = getitem(variable, key)
    if type(key) is int or not is_mask(key):
        if type(part) is EagerTensor:
            part._part_of = variable, key
        else:
            number = id(part)
            _sources[number] = weakref.ref(part, lambda _: _sources.pop(number, None)), variable, key
    return part


def install_parts(cls: Any) -> None:
    """Makes the parts of a class of variables such tensors."""
    cls.__getitem__ = part_of


def _assign(tensor: Tensor) -> Any:
    """What assigns to the part of a variable that a tensor is; any other tensor has no such attribute."""
    source = getattr(tensor, "_part_of", None) if type(tensor) is EagerTensor else _sources.get(id(tensor), (None,))[1:]
    if not source:
        raise AttributeError(
            f"{type(tensor).__name__!r} object has no attribute 'assign': tensors do not change. Assign to a "
            "tf.Variable, or to a part of one."
        )
    return partial(_assign_part, *source)


Tensor.assign = property(_assign)  # type: ignore[attr-defined]


def _assign_part(variable: Any, key: object, value: ArrayLike, name: str | None = None) -> Any:
    """Puts a value instead of a part of a variable, and returns what assignments return."""
    begin, end, strides, masks = entries(key)
    return variable._update(assign_part, (begin, end, strides, value), masks, name)


# The op.

assign_part = op(
    "StridedSliceAssign",
    "ref: T&, begin: host, end: host, strides: host, value: T -> output_ref: T&",
    T=ALL,
    stateful=True,
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
)
assign_part.stops_gradients()


@assign_part.shape
def _assign_part_shape(
    ref: TensorShape, begin: HostValue, end: HostValue, strides: HostValue, value: TensorShape, **masks: int
) -> TensorShape:
    part = part_shape(ref, begin, end, strides, **masks)
    if part.is_fully_defined() and value.is_fully_defined():
        _check_fits(tuple(value.as_list()), tuple(part.as_list()))
    return ref


def _check_fits(value: tuple[Any, ...], part: tuple[Any, ...]) -> None:
    if len(value) > len(part) or any(a not in (1, b) for a, b in zip(value[::-1], part[::-1], strict=False)):
        raise ArgumentError(f"Cannot broadcast input shape {brackets(value)} into final shape {brackets(part)}")


@also_by_bits(assign_part, CPU, GPU)
@assign_part.kernel(CPU, T=FIXED - WIDE_UNSIGNED)
@assign_part.kernel(GPU, T=FIXED - WIDE_UNSIGNED)
def _assign_part_kernel(
    ref: torch.Tensor, begin: HostValue, end: HostValue, strides: HostValue, value: torch.Tensor, **masks: int
) -> torch.Tensor:
    part = _known_shape(ref, begin, end, strides, masks)
    _check_fits(tuple(value.shape), part)
    return put_part(ref.clone(), begin, end, strides, value.expand(part), **masks)  # type: ignore[no-any-return]


def _known_shape(
    ref: Any, begin: HostValue, end: HostValue, strides: HostValue, masks: dict[str, int]
) -> tuple[int, ...]:
    return tuple(part_shape(TensorShape(ref.shape), begin, end, strides, **masks).as_list())  # type: ignore[arg-type]


@assign_part.kernel(CPU, T=STRING)
def _assign_strings(ref: Any, begin: Any, end: Any, strides: Any, value: Any, **masks: int) -> Any:
    part = _known_shape(ref, begin, end, strides, masks)
    _check_fits(value.shape, part)
    return put_part(ref.copy(), begin, end, strides, np.broadcast_to(value, part), **masks)
