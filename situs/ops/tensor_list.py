"""Lists of tensors as values of a graph: what ``tf.TensorArray`` is made of there.

    Reserve(3)  ->  [ , , ]  --Set(1, row)->  [ , row, ]  --Stack->  a tensor; what was never set is zeros

A list is never changed: setting a row makes another list, which shares the others. In a graph it has the dtype
``resource``. Its gradient is a tensor, that of all its rows in their order: the gradient of a row is a part of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from situs.dtype import FIXED, DType
from situs.eager.bridge import TORCH_DTYPE
from situs.errors import InvalidArgumentError, OutOfRangeError
from situs.ops.define import CPU, GPU, op
from situs.shapes import SCALAR, UNKNOWN, TensorShape, brackets
from situs.tensor import Tensor

# An input of dtype resource would bind its op to the device of the list; one of `any*` does not, so a list is passed
# as a list of one.

reserve = op("TensorListReserve", "num_elements: host -> handle: resource", stateful=True)
reserve.shape(lambda num_elements: SCALAR)


@reserve.kernel(CPU)
def reserved(num_elements: int) -> list[Any]:
    """A list of so many rows, none of which is set.

    Raises:
        InvalidArgumentError: the number is negative.
    """
    if num_elements < 0:
        raise InvalidArgumentError(f"The num_elements to reserve must be a non negative number, but got {num_elements}")
    return [None] * num_elements


length = op("TensorListLength", "rows: any* -> length: int32", stateful=True)
length.shape(lambda rows: SCALAR)


@length.kernel(CPU)
def _length_kernel(rows: list[Any]) -> torch.Tensor:
    return torch.tensor(len(rows[0]), dtype=torch.int32)


# Rows in.

set_row = op(
    "TensorListSetItem", "rows: any*, index: host, row: T -> output_handle: resource", stateful=True, resizes=False
)
set_row.shape(lambda rows, index, row, *, resizes: SCALAR)


@set_row.kernel(CPU)
@set_row.kernel(GPU, T=FIXED)
def _set_kernel(rows: list[Any], index: int, row: Any, *, resizes: bool) -> list[Any]:
    changed = list(rows[0])
    check_write(index, len(changed), resizes)
    changed += [None] * (index + 1 - len(changed))
    changed[index] = row
    return changed


def check_write(index: int, size: int, resizes: bool) -> None:
    """Raises unless there is, or can be, a row with that number.

    Raises:
        OutOfRangeError: there cannot be.
    """
    if index < 0:
        raise OutOfRangeError(f"Writing to negative indices (index {index}) is not allowed.")
    if index >= size and not resizes:
        raise OutOfRangeError(f"Tried to write to index {index} but array is not resizeable and size is: {size}")


_set_grad = op("TensorListSetItemGrad", "grad: T, rows: any*, index: host -> output: T", T=FIXED, stateful=True)
_set_grad.shape(lambda grad, rows, index: UNKNOWN if grad.rank is None else TensorShape([None]) + grad[1:])


@_set_grad.kernel(CPU, GPU)
def _set_grad_kernel(grad: torch.Tensor, rows: list[Any], index: int) -> torch.Tensor:
    """What flows to the rows of the list before: not to one that was written over."""
    before = rows[0]
    kept = grad[: len(before)]
    if index < len(before) and before[index] is not None:
        kept = kept.clone()
        kept[index] = 0
    return kept


@set_row.gradient
def _set_gradient(grad: Tensor, rows: Any, index: Any, *, resizes: bool) -> tuple[list[Tensor], Any]:
    return [_set_grad(grad, rows, index)], lambda: grad[index]


from_tensor = op("TensorListFromTensor", "tensor: T -> output_handle: resource", stateful=True)
from_tensor.shape(lambda tensor: SCALAR)


@from_tensor.kernel(CPU)
@from_tensor.kernel(GPU, T=FIXED)
def _from_tensor_kernel(tensor: Any) -> list[Any]:
    return list(tensor.unbind(0)) if isinstance(tensor, torch.Tensor) else [np.asarray(row, object) for row in tensor]


from_tensor.gradient(lambda grad: grad)

# Rows out.

get_row = op("TensorListGetItem", "rows: any*, index: host -> item: dtype", stateful=True, row_shape=UNKNOWN)


@get_row.shape
def _get_shape(rows: Any, index: Any, *, row_shape: TensorShape) -> TensorShape:
    return row_shape


@get_row.kernel(CPU)
@get_row.kernel(GPU, dtype=FIXED)
def _get_kernel(rows: list[Any], index: int, *, row_shape: TensorShape, dtype: DType, device: Any) -> Any:
    check_read(index, len(rows[0]))
    row = rows[0][index]
    if row is None:
        return _zeros(_known_shape(rows[0], row_shape), dtype, device)
    return row.to(device) if isinstance(row, torch.Tensor) else row


def check_read(index: int, size: int) -> None:
    """Raises unless there is a row with that number.

    Raises:
        OutOfRangeError: there is none.
    """
    if not 0 <= index < size:
        raise OutOfRangeError(f"Tried to read from index {index} but array size is: {size}")


_get_grad = op("TensorListGetItemGrad", "grad: T, rows: any*, index: host -> output: T", T=FIXED, stateful=True)
_get_grad.shape(lambda grad, rows, index: UNKNOWN if grad.rank is None else TensorShape([None]) + grad)


@_get_grad.kernel(CPU, GPU)
def _get_grad_kernel(grad: torch.Tensor, rows: list[Any], index: int) -> torch.Tensor:
    made = grad.new_zeros((len(rows[0]), *grad.shape))
    made[index] = grad
    return made


@get_row.gradient
def _get_gradient(grad: Tensor, rows: Any, index: Any) -> list[Tensor]:
    return [_get_grad(grad, rows, index)]


stack_rows = op("TensorListStack", "rows: any* -> tensor: dtype", stateful=True, row_shape=UNKNOWN)


@stack_rows.shape
def _stack_shape(rows: Any, *, row_shape: TensorShape) -> TensorShape:
    return UNKNOWN if row_shape.rank is None else TensorShape([None]) + row_shape


@stack_rows.kernel(CPU)
@stack_rows.kernel(GPU, dtype=FIXED)
def _stack_kernel(rows: list[Any], *, row_shape: TensorShape, dtype: DType, device: Any) -> Any:
    shape = _known_shape(rows[0], row_shape)
    if not rows[0]:
        return _zeros((0, *shape), dtype, device)
    filled = [_zeros(shape, dtype, device) if row is None else row for row in rows[0]]
    return np.stack(filled) if dtype.name == "string" else torch.stack([row.to(device) for row in filled])


stack_rows.gradient(lambda grad: [grad])


def _known_shape(rows: list[Any], row_shape: TensorShape) -> tuple[int, ...]:
    """The shape of the rows: that of those that were set, else what was said of it."""
    shape = shape_of_rows(row for row in rows if row is not None)
    if shape is not None:
        return shape
    if not row_shape.is_fully_defined() and rows:
        raise InvalidArgumentError(
            f"No row was written, and the shape of rows is not known: it is {row_shape}. Give element_shape."
        )
    return least_sizes(row_shape)


def shape_of_rows(rows: Iterable[Any]) -> tuple[int, ...] | None:
    """The shape that all rows have; None if there are no rows.

    Raises:
        InvalidArgumentError: they differ.
    """
    shapes = {tuple(row.shape) for row in rows}
    if len(shapes) > 1:
        listed = ", ".join(brackets(shape) for shape in sorted(shapes))
        raise InvalidArgumentError(f"The rows must have the same shape to become one tensor; they have {listed}.")
    return shapes.pop() if shapes else None


def least_sizes(shape: TensorShape) -> tuple[int, ...]:
    """The sizes of a shape, with 0 for those that are not known: what a tensor of no rows has."""
    return () if shape.rank is None else tuple(size or 0 for size in shape)


def _zeros(shape: tuple[int, ...], dtype: DType, device: Any) -> Any:
    if dtype.name == "string":
        return np.full(shape, b"", object)
    return torch.zeros(shape, dtype=TORCH_DTYPE[dtype], device=device)
