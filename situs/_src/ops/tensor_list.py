"""Lists of tensors as values of a graph: what ``tf.TensorArray`` is made of there, and what loops save for gradients.

    Reserve(3)  ->  [ , , ]  --SetItem(1, row)->  [ , row, ]  --Stack->  a tensor; what was never set is zeros

A list is never changed: setting a row makes another list (`runtime.eager.tensor_list`). In a graph it has the dtype
``variant``. The gradient of a list is a list too, of the gradients of its rows, where a row that is not set stands for
zeros; it may be shorter. So the gradient of each op here is another one of them, and gradients exist to any order:

    SetItem    GetGrad for the row, WithoutItem for the list
    GetItem    ItemAt: a list with nothing but that row
    Stack      FromTensor, and the other way round
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from situs._src.base.dtype import ALL, FIXED, DType, variant
from situs._src.base.errors import ArgumentError, InvalidArgumentError, OutOfRangeError
from situs._src.base.shapes import SCALAR, UNKNOWN, TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import HostInput, HostValue, SizesOf
from situs._src.ops.define import CPU, GPU, KernelValue, op
from situs._src.runtime.eager.bridge import TORCH_DTYPE
from situs._src.runtime.eager.tensor_list import TensorList, add_lists

# A list is passed as a list of one, of `any*`: the rows stay on their devices, and so does what takes them.

reserve = op("TensorListReserve", "num_elements: host -> handle: variant")
reserve.shape(lambda num_elements: SCALAR)


@reserve.kernel(CPU)
def _reserve_kernel(num_elements: int) -> TensorList:
    return TensorList(size=check_size(num_elements))


def check_size(size: int) -> int:
    """A number of rows, which is returned.

    Raises:
        InvalidArgumentError: it is negative.
    """
    if size < 0:
        raise ArgumentError(f"The num_elements to reserve must be a non negative number, but got {size}")
    return size


length = op("TensorListLength", "rows: any* -> length: int32")
length.shape(lambda rows: SCALAR)


@length.kernel(CPU)
def _length_kernel(rows: list[Any]) -> torch.Tensor:
    return torch.tensor(len(rows[0]), dtype=torch.int32)


# Rows in.

set_row = op(
    "TensorListSetItem",
    "rows: any*, index: host, row: dtype -> output_handle: variant",
    dtype=ALL | {variant},
    resizes=False,
)
set_row.shape(lambda rows, index, row, *, resizes: SCALAR)


@set_row.kernel(CPU)
@set_row.kernel(GPU, dtype=FIXED)
def _set_kernel(rows: list[TensorList], index: int, row: KernelValue, *, resizes: bool) -> TensorList:
    if not 0 <= index < len(rows[0]) and not (index >= 0 and resizes):
        raise InvalidArgumentError(f"Trying to modify element {index} in a list with {len(rows[0])} elements.")
    return rows[0].with_row(index, row)


def check_write(index: int, size: int, resizes: bool) -> None:
    """Raises unless an array of eager code has, or can have, a row with that number.

    Raises:
        OutOfRangeError: it cannot.
    """
    if index < 0:
        raise OutOfRangeError(f"Writing to negative indices (index {index}) is not allowed.")
    if index >= size and not resizes:
        raise OutOfRangeError(f"Tried to write to index {index} but array is not resizeable and size is: {size}")


@set_row.gradient
def _set_gradient(grad: Any, index: object, row_shape: SizesOf, *, dtype: DType) -> tuple[list[Any], Any]:
    return [_without_row([grad], index)], lambda: row_gradient(grad, index, row_shape, dtype)


_without_row = op("TensorListWithoutItem", "rows: any*, index: host -> output_handle: variant")
_without_row.shape(lambda rows, index: SCALAR)
_without_row.kernel(CPU)(lambda rows, index: rows[0].with_row(index, None))
_without_row.gradient(lambda grad, index: [_without_row([grad], index)])


row_at = op("TensorListItemAt", "row: dtype, index: host -> output_handle: variant", dtype=ALL | {variant})
row_at.shape(lambda row, index: SCALAR)
row_at.kernel(CPU)(lambda row, index: TensorList().with_row(index, row))
row_at.kernel(GPU, dtype=FIXED)(lambda row, index: TensorList().with_row(index, row))
row_at.gradient(lambda grad, index, row_shape, *, dtype: row_gradient(grad, index, row_shape, dtype))


from_tensor = op("TensorListFromTensor", "tensor: dtype -> output_handle: variant")
from_tensor.shape(lambda tensor: SCALAR)


@from_tensor.kernel(CPU)
@from_tensor.kernel(GPU, dtype=FIXED)
def _from_tensor_kernel(tensor: KernelValue) -> TensorList:
    if isinstance(tensor, torch.Tensor):
        return TensorList(tensor.contiguous().unbind(0))  # rows of what was transposed are slow to take in
    return TensorList([np.asarray(row, object) for row in tensor])


@from_tensor.gradient
def _from_tensor_gradient(grad: Any, tensor_shape: SizesOf, *, dtype: DType) -> Tensor:
    return _stack_grad([grad], tensor_shape, dtype=dtype)


for _indexed in (set_row, _without_row, row_at):
    _indexed.takes_no_size()  # a list has room for its rows alone, whatever their numbers


same = op("TensorListIdentity", "rows: any* -> output_handle: variant", stateful=True)
same.shape(lambda rows: SCALAR)
same.kernel(CPU)(lambda rows: rows[0])
same.gradient(lambda grad: [grad])


split_rows = op("TensorListSplit", "tensor: dtype, lengths: host -> output_handle: variant")
split_rows.shape(lambda tensor, lengths: SCALAR)


@split_rows.kernel(CPU)
@split_rows.kernel(GPU, dtype=FIXED)
def _split_kernel(tensor: KernelValue, lengths: HostValue) -> TensorList:
    return TensorList(_parts(tensor, check_lengths(lengths, len(tensor))))


def _parts(tensor: Any, sizes: Sequence[int]) -> list[Any]:
    ends = np.cumsum(sizes).tolist()
    return [tensor[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def check_lengths(lengths: Any, rows: int) -> list[int]:
    """The lengths of the parts of a tensor, which must be as many rows as it has in all.

    Raises:
        InvalidArgumentError: they are not.
    """
    if not isinstance(lengths, (tuple, list)):
        raise InvalidArgumentError(f"Expected lengths to be a vector, received shape: []: {lengths}.")
    if sum(lengths) != rows or any(size < 0 for size in lengths):
        raise InvalidArgumentError(
            f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is {sum(lengths)} and value's "
            f"shape[0] is {rows}."
        )
    return list(lengths)


@split_rows.gradient
def _split_gradient(grad: Any, lengths: HostInput, tensor_shape: SizesOf, *, dtype: DType) -> Tensor:
    return _split_grad([grad], lengths, tensor_shape, dtype=dtype)


_split_grad = op("TensorListSplitGrad", "rows: any*, lengths: host, shape: host -> tensor: dtype", dtype=FIXED)
_split_grad.shape(lambda rows, lengths, shape: UNKNOWN if shape is None else TensorShape(shape))
_split_grad.gradient(lambda grad, lengths: [split_rows(grad, lengths)])


@_split_grad.kernel(CPU, GPU)
def _split_grad_kernel(
    rows: list[TensorList], lengths: Sequence[int], shape: Sequence[int], *, dtype: DType, device: torch.device
) -> KernelValue:
    """All parts of a gradient behind one another, with zeros for those that there is none of."""
    found = [rows[0].get(number) for number in range(len(lengths))]
    pairs = zip(found, lengths, strict=True)
    whole = [_zeros((size, *shape[1:]), dtype, device) if row is None else row.to(device) for row, size in pairs]
    return torch.cat(whole) if whole else _zeros(tuple(shape), dtype, device)


add_all = op("TensorListAdd", "lists: any* -> sum: variant")
add_all.shape(lambda lists: SCALAR)
add_all.gradient(lambda grad, lists: [grad] * len(lists))


@add_all.kernel(CPU)
def _add_kernel(lists: list[TensorList]) -> TensorList:
    total = lists[0]
    for other in lists[1:]:
        total = add_lists(total, other)
    return total


# Rows out.

get_row = op(
    "TensorListGetItem",
    "rows: any*, index: host -> item: dtype",
    dtype=ALL | {variant},
    row_shape=UNKNOWN,
)
get_row.shape(lambda rows, index, *, row_shape: row_shape)
get_row.takes_no_size()


@get_row.kernel(CPU)
@get_row.kernel(GPU, dtype=FIXED)
def _get_kernel(rows: list[Any], index: int, *, row_shape: TensorShape, dtype: DType, device: torch.device) -> Any:
    given = rows[0]
    if not 0 <= index < given.size:
        raise InvalidArgumentError(f"Trying to access element {index} in a list with {given.size} elements.")
    row = given.get(index)
    if row is None:
        return _zeros(_known_shape(given.rows(), row_shape), dtype, device)
    return row if type(row) is not torch.Tensor or row.device == device else row.to(device)


def check_read(index: int, size: int) -> None:
    """Raises unless an array of eager code has a row with that number.

    Raises:
        OutOfRangeError: it has none.
    """
    if not 0 <= index < size:
        raise OutOfRangeError(f"Tried to read from index {index} but array size is: {size}")


@get_row.gradient
def _get_gradient(grad: Any, index: object) -> list[Any]:
    return [row_at(grad, index)]


_get_grad = op(
    "TensorListGetGrad",
    "rows: any*, index: host, shape: host -> item: dtype",
    dtype=ALL | {variant},
)
_get_grad.shape(lambda rows, index, shape: UNKNOWN if shape is None else TensorShape(shape))
_get_grad.gradient(lambda grad, index: [row_at(grad, index)])


@_get_grad.kernel(CPU)
@_get_grad.kernel(GPU, dtype=FIXED)
def _get_grad_kernel(
    rows: list[TensorList], index: int, shape: Sequence[int], *, dtype: DType, device: torch.device
) -> Any:
    row = rows[0].get(index)
    if row is None:
        return _zeros(tuple(shape), dtype, device)
    return row if type(row) is not torch.Tensor or row.device == device else row.to(device)


def row_gradient(grad: Any, index: object, shape: HostInput, dtype: DType) -> Tensor:
    """The gradient of one row, by that of its list; zeros of the row's shape where there is none."""
    return _get_grad([grad], index, () if dtype is variant else shape, dtype=dtype)


concat_rows = op("TensorListConcat", "rows: any* -> tensor: dtype", row_shape=UNKNOWN)


@concat_rows.gradient
def _concat_gradient(grad: Tensor, rows: object) -> list[Any]:
    return [_concat_grad(grad, rows)]


@concat_rows.shape
def _concat_shape(rows: object, *, row_shape: TensorShape) -> TensorShape:
    return UNKNOWN if row_shape.rank is None else TensorShape([None]) + row_shape[1:]


@concat_rows.kernel(CPU)
@concat_rows.kernel(GPU, dtype=FIXED)
def _concat_kernel(rows: list[TensorList], *, row_shape: TensorShape, dtype: DType, device: torch.device) -> Any:
    given = rows[0].rows()
    if not given:
        return _zeros((0, *least_sizes(row_shape)[1:]), dtype, device)
    blank: Any = None
    if any(row is None for row in given):
        blank = _zeros(_known_shape(given, row_shape), dtype, device)
    filled = [blank if row is None else row for row in given]
    if any(len(row.shape) == 0 for row in filled):
        raise ArgumentError("Concat saw a scalar shape at index 0 but requires at least vectors.")
    inner = {tuple(row.shape[1:]) for row in filled}
    if len(inner) > 1:
        raise ArgumentError(
            "TensorArray has inconsistent shapes: the rows must be alike but for their first dimension, they have "
            f"{', '.join(brackets(shape) for shape in sorted(inner))}."
        )
    return np.concatenate(filled) if dtype.name == "string" else torch.cat([row.to(device) for row in filled])


_concat_grad = op("TensorListConcatGrad", "grad: dtype, rows: any* -> output_handle: variant", dtype=FIXED)
_concat_grad.shape(lambda grad, rows: SCALAR)
_concat_grad.gradient(lambda grad, *, dtype: (concat_rows([grad], dtype=dtype), None))


@_concat_grad.kernel(CPU, GPU)
def _concat_grad_kernel(grad: torch.Tensor, rows: list[TensorList]) -> TensorList:
    given = rows[0].rows()
    known = next((len(row) for row in given if row is not None), 0)  # rows that were not set are like others
    return TensorList(_parts(grad, [known if row is None else len(row) for row in given]))


stack_rows = op("TensorListStack", "rows: any* -> tensor: dtype", row_shape=UNKNOWN)
stack_rows.gradient(lambda grad: [from_tensor(grad)])


@stack_rows.shape
def _stack_shape(rows: object, *, row_shape: TensorShape) -> TensorShape:
    return UNKNOWN if row_shape.rank is None else TensorShape([None]) + row_shape


@stack_rows.kernel(CPU)
@stack_rows.kernel(GPU, dtype=FIXED)
def _stack_kernel(rows: list[TensorList], *, row_shape: TensorShape, dtype: DType, device: torch.device) -> Any:
    given = rows[0].rows()
    return _stacked(given, _known_shape(given, row_shape), dtype, device)


def _stacked(rows: list[Any], shape: tuple[int, ...], dtype: DType, device: Any) -> Any:
    if not rows:
        return _zeros((0, *shape), dtype, device)
    filled = [_zeros(shape, dtype, device) if row is None else row for row in rows]
    return np.stack(filled) if dtype.name == "string" else torch.stack([row.to(device) for row in filled])


_stack_grad = op("TensorListStackGrad", "rows: any*, shape: host -> tensor: dtype", dtype=FIXED)
_stack_grad.shape(lambda rows, shape: UNKNOWN if shape is None else TensorShape(shape))
_stack_grad.gradient(lambda grad: [from_tensor(grad)])


@_stack_grad.kernel(CPU, GPU)
def _stack_grad_kernel(
    rows: list[TensorList], shape: Sequence[int], *, dtype: DType, device: torch.device
) -> torch.Tensor:
    """All rows of a gradient, as a tensor of the shape of what the list was made of."""
    count, *row_shape = shape
    return _stacked([rows[0].get(number) for number in range(count)], tuple(row_shape), dtype, device)  # type: ignore[no-any-return]


def _known_shape(rows: list[Any], row_shape: TensorShape) -> tuple[int, ...]:
    """The shape of the rows: that of those that were set, else what was said of it."""
    shape = shape_of_rows(row for row in rows if row is not None)
    if shape is not None:
        return shape
    if not row_shape.is_fully_defined() and rows:
        raise ArgumentError(
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
        raise ArgumentError(f"The rows must have the same shape to become one tensor; they have {listed}.")
    return shapes.pop() if shapes else None


def least_sizes(shape: TensorShape) -> tuple[int, ...]:
    """The sizes of a shape, with 0 for those that are not known: what a tensor of no rows has."""
    return () if shape.rank is None else tuple(size or 0 for size in shape)


def _zeros(shape: tuple[int, ...], dtype: DType, device: Any) -> Any:
    if dtype is variant:
        return TensorList()
    if dtype.name == "string":
        return np.full(shape, b"", object)
    return torch.zeros(shape, dtype=TORCH_DTYPE[dtype], device=device)
