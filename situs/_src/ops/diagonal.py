"""The diagonals of matrices: made, read, replaced; bands, identities and traces.

Diagonals are counted by ``k``: 0 is the main one, those above it are positive, those below it
negative. A pair ``(low, high)`` names a band of several. A band is stored with one row per
diagonal, the highest first, all as long as the longest of them; `align` says on which side the
shorter ones are padded:

    a b 0        RIGHT_LEFT, k=(-1, 1)     0 b f     (aligned right: upper diagonals)
    d e f   <->                            a e i
    0 h i                                  d h 0     (aligned left: lower diagonals)
"""

from __future__ import annotations

from typing import Any

import torch

from situs._src.base.dtype import FIXED, NUMERIC, WIDE_UNSIGNED, DType, as_dtype, float32
from situs._src.base.errors import ArgumentError, DTypeError, InvalidArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, DTypeLike, HostInput, HostValue, IntLike, ShapeLike, SizesOf
from situs._src.ops.array import also_by_bits, as_integer, as_sizes, partly
from situs._src.ops.attribute import as_word
from situs._src.ops.constant import zeros
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.naming import Composed
from situs._src.ops.reduce import reduce_sum
from situs._src.runtime.eager.bridge import TORCH_DTYPE

ALIGNMENTS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")

# Bands.


def _band(k: HostValue) -> tuple[int, int]:
    """The lowest and the highest diagonal that a host value names."""
    low, high = (k if len(k) == 2 else k * 2) if isinstance(k, tuple) and len(k) in (1, 2) else (k, k)
    if not isinstance(low, int) or not isinstance(high, int):
        raise ArgumentError(f"k must be an integer or a pair of integers, got {k!r}")
    if low > high:
        raise ArgumentError(f"lower_diag_index must not be larger than upper_diag_index: {low} > {high}")
    return low, high


def _length(rows: int, columns: int, k: int) -> int:
    return min(rows + min(k, 0), columns - max(k, 0))


def _check_band(rows: int, columns: int, low: int, high: int) -> None:
    for word, k in (("lower", low), ("upper", high)):
        if k != 0 and not -rows < k < columns:
            raise ArgumentError(f"{word}_diag_index is out of bound: {k}. It must be between {-rows} and {columns}")


def _check_align(align: Any) -> None:
    if as_word(align, "align") not in ALIGNMENTS:
        raise InvalidArgumentError(
            f"Value for attr 'align' of {align!r} is not in the list of allowed values: {', '.join(ALIGNMENTS)}"
        )


def _start(k: int, missing: int, align: str) -> int:
    """Where diagonal `k` starts in its row of a band, if it is `missing` elements short."""
    upper, lower = align.split("_")
    return missing if (upper if k > 0 else lower) == "RIGHT" else 0


def _row(diagonal: torch.Tensor, k: int, low: int, high: int, size: tuple[int, int], align: str) -> torch.Tensor:
    """Diagonal `k` out of a stored band."""
    if low == high:
        return diagonal
    length = _length(*size, k)
    start = _start(k, diagonal.shape[-1] - length, align)
    return diagonal[..., high - k, start : start + length]


# A matrix from its diagonals.

_diag = op(
    "MatrixDiagV3",
    "diagonal: T, k: host, num_rows: host, num_cols: host, padding_value: host -> output: T",
    T=FIXED,
    align="RIGHT_LEFT",
)


@_diag.shape
def _diag_shape(
    diagonal: TensorShape,
    k: HostValue,
    num_rows: HostValue,
    num_cols: HostValue,
    padding_value: HostValue,
    *,
    align: str,
) -> TensorShape:
    _check_align(align)
    if diagonal.rank is None or None in (k, num_rows, num_cols):
        return UNKNOWN
    low, high = _band(k)
    needed = 1 if low == high else 2
    if diagonal.rank < needed:
        raise ArgumentError(f"diagonal must be at least {needed}-dim, received shape: {brackets(diagonal)}")
    if needed == 2 and diagonal[-2] not in (None, high - low + 1):
        raise ArgumentError(
            f"The number of diagonals provided in the input does not match the lower_diag_index and upper_diag_index "
            f"range: {diagonal[-2]} for k = {(low, high)}."
        )
    length = diagonal[-1]
    sizes = (None, None) if length is None else _matrix_size(length, low, high, num_rows, num_cols)
    return diagonal[:-needed] + sizes


def _matrix_size(length: int, low: int, high: int, num_rows: HostValue, num_cols: HostValue) -> tuple[int, int]:
    """The size of the matrix: as asked for, else the smallest square, or rectangle, with such diagonals."""
    least_rows, least_columns = length - min(high, 0), length + max(low, 0)
    rows, columns = as_integer(num_rows, "num_rows"), as_integer(num_cols, "num_cols")
    if rows == columns == -1:
        rows = columns = max(least_rows, least_columns)
    rows = least_rows if rows == -1 else rows
    columns = least_columns if columns == -1 else columns
    if rows < least_rows or columns < least_columns:
        raise ArgumentError(
            f"The number of {'rows' if rows < least_rows else 'columns'} is too small: "
            f"a matrix with these diagonals is at least {least_rows} x {least_columns}, not {rows} x {columns}."
        )
    if rows != least_rows and columns != least_columns:
        raise ArgumentError(
            "The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal: "
            f"{rows} x {columns} where one of them should be the least possible, {least_rows} x {least_columns}."
        )
    return rows, columns


@_diag.kernel(CPU, GPU)
def _diag_kernel(
    diagonal: torch.Tensor, k: HostValue, num_rows: HostValue, num_cols: HostValue, padding_value: HostValue, align: str
) -> torch.Tensor:
    shape = _diag_shape(TensorShape(diagonal.shape), k, num_rows, num_cols, padding_value, align=align)
    low, high = _band(k)
    sizes = tuple(size for size in shape if size is not None)
    result = torch.full(sizes, _padding(padding_value, diagonal), dtype=diagonal.dtype, device=diagonal.device)
    for each in range(low, high + 1):
        row = _row(diagonal, each, low, high, (sizes[-2], sizes[-1]), align)
        result.diagonal(each, -2, -1).copy_(row)
    return result


@_diag.gradient
def _diag_gradient(grad: Tensor, k: HostInput, *, align: str) -> Tensor:
    return diag_part(grad, k=k, align=align)


def _padding(value: object, like: torch.Tensor) -> int | float:
    if isinstance(value, int) or (isinstance(value, float) and not _is_whole(like)):
        return value
    raise DTypeError(f"padding_value must be a number of the diagonal's dtype, got {value!r}")


def _is_whole(x: torch.Tensor) -> bool:
    return not (x.dtype.is_floating_point or x.dtype.is_complex)


@export("linalg.diag", v1=("matrix_diag", "linalg.diag"))
def diag(
    diagonal: ArrayLike,
    name: str | None = "diag",
    k: Any = 0,
    num_rows: IntLike = -1,
    num_cols: IntLike = -1,
    padding_value: ArrayLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Makes matrices with the given diagonals.

    Args:
        diagonal: The diagonals: vectors for a single `k`, bands (see the module) for a pair.
        name: A name for the op.
        k: Which diagonal it is, or the lowest and the highest.
        num_rows: The number of rows; by default as few as possible.
        num_cols: The number of columns; by default as few as possible.
        padding_value: What stands everywhere else.
        align: How the shorter diagonals of a band are stored.
    """
    return _diag(diagonal, k, num_rows, num_cols, padding_value, align=align, name=name)


# The diagonals of a matrix.

_diag_part = op(
    "MatrixDiagPartV3", "input: T, k: host, padding_value: host -> diagonal: T", T=FIXED, align="RIGHT_LEFT"
)


@_diag_part.shape
def _diag_part_shape(input: TensorShape, k: HostValue, padding_value: HostValue, *, align: str) -> TensorShape:
    _check_align(align)
    if isinstance(padding_value, tuple):
        raise ArgumentError(f"padding_value must be a scalar, got {padding_value!r}")
    if input.rank is None or k is None:
        return UNKNOWN
    if input.rank < 2:
        raise ArgumentError(f"input must be at least 2-dim, received shape: {brackets(input)}")
    low, high = _band(k)
    rows, columns = input[-2], input[-1]
    several = [] if low == high else [high - low + 1]
    if rows is None or columns is None:
        return input[:-2] + several + [None]
    _check_band(rows, columns, low, high)
    return input[:-2] + several + [min(rows + min(high, 0), columns - max(low, 0))]


@_diag_part.kernel(CPU, GPU)
def _diag_part_kernel(input: torch.Tensor, k: HostValue, padding_value: HostValue, align: str) -> torch.Tensor:
    shape = _diag_part_shape(TensorShape(input.shape), k, padding_value, align=align)
    low, high = _band(k)
    if low == high:
        return input.diagonal(low, -2, -1)
    sizes = tuple(size for size in shape if size is not None)
    result = torch.full(sizes, _padding(padding_value, input), dtype=input.dtype, device=input.device)
    for each in range(low, high + 1):
        row = _row(result, each, low, high, (input.shape[-2], input.shape[-1]), align)
        row.copy_(input.diagonal(each, -2, -1))
    return result


@_diag_part.gradient
def _diag_part_gradient(grad: Tensor, input_shape: SizesOf, k: HostInput, *, align: str) -> Tensor:
    return diag(grad, k=k, num_rows=input_shape[-2], num_cols=input_shape[-1], align=align)


@export("linalg.diag_part", v1=("matrix_diag_part", "linalg.diag_part"))
def diag_part(
    input: ArrayLike,
    name: str | None = "diag_part",
    k: Any = 0,
    padding_value: ArrayLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Returns the diagonals of matrices.

    Args:
        input: A tensor of rank at least 2.
        name: A name for the op.
        k: Which diagonal, or the lowest and the highest of a band (see the module).
        padding_value: What fills up the shorter diagonals of a band.
        align: How the shorter diagonals of a band are stored.
    """
    return _diag_part(input, k, padding_value, align=align, name=name)


# Matrices with other diagonals.

_set_diag = op("MatrixSetDiagV3", "input: T, diagonal: T, k: host -> output: T", T=FIXED, align="RIGHT_LEFT")


@_set_diag.shape
def _set_diag_shape(input: TensorShape, diagonal: TensorShape, k: HostValue, *, align: str) -> TensorShape:
    if diagonal.rank == 0:
        raise ArgumentError("diagonal must be at least 1-dim, received shape: []")
    expected = _diag_part_shape(input, k, 0, align=align)
    if not expected.is_compatible_with(diagonal):
        raise ArgumentError(
            f"The diagonal does not fit the input. Input shape: {brackets(input)} Diagonal shape: "
            f"{brackets(diagonal)} Expected diagonal shape: {brackets(expected)}"
        )
    return input


@_set_diag.kernel(CPU, GPU)
def _set_diag_kernel(input: torch.Tensor, diagonal: torch.Tensor, k: HostValue, align: str) -> torch.Tensor:
    _set_diag_shape(TensorShape(input.shape), TensorShape(diagonal.shape), k, align=align)
    low, high = _band(k)
    result = input.clone(memory_format=torch.contiguous_format)
    for each in range(low, high + 1):
        row = _row(diagonal, each, low, high, (input.shape[-2], input.shape[-1]), align)
        result.diagonal(each, -2, -1).copy_(row)
    return result


@_set_diag.gradient
def _set_diag_gradient(grad: Tensor, diagonal_shape: SizesOf, k: HostInput, *, align: str) -> tuple[Any, Any]:
    return (
        lambda: set_diag(grad, zeros(diagonal_shape, grad.dtype), k=k, align=align),
        lambda: diag_part(grad, k=k, align=align),
    )


@export("linalg.set_diag", v1=("matrix_set_diag", "linalg.set_diag"))
def set_diag(
    input: ArrayLike, diagonal: ArrayLike, name: str | None = "set_diag", k: Any = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """Returns matrices with their diagonals replaced; the arguments are those of `diag` and `diag_part`."""
    return _set_diag(input, diagonal, k, align=align, name=name)


@export("linalg.trace", v1=("trace", "linalg.trace"))
def trace(x: ArrayLike, name: str | None = None) -> Tensor:
    """Sums the main diagonals of matrices."""
    with Composed(name, "Trace") as last:
        return reduce_sum(diag_part(x), -1, name=last)


# Tensors as diagonals: a tensor of rank r on the diagonal of one of rank 2 r.

_tensor_diag = op("Diag", "diagonal: T -> output: T", T=NUMERIC)
_tensor_diag_part = op("DiagPart", "input: T -> diagonal: T", T=NUMERIC)


@_tensor_diag.shape
def _tensor_diag_shape(diagonal: TensorShape) -> TensorShape:
    if diagonal.rank == 0:
        raise ArgumentError("Input must be at least rank 1, got 0")
    return diagonal + diagonal


@_tensor_diag.kernel(CPU, GPU)
def _tensor_diag_kernel(diagonal: torch.Tensor) -> torch.Tensor:
    _tensor_diag_shape(TensorShape(diagonal.shape))
    return torch.diag_embed(diagonal.reshape(-1)).reshape(diagonal.shape * 2)


@_tensor_diag_part.shape
def _tensor_diag_part_shape(input: TensorShape) -> TensorShape:
    if input.rank is None:
        return UNKNOWN
    half = input.rank // 2
    if input.rank == 0 or input.rank % 2:
        raise ArgumentError(f"The rank of the tensor should be even and positive, got shape {brackets(input)}")
    for i in range(half):
        if not input[i : i + 1].is_compatible_with(input[i + half : i + half + 1]):
            raise ArgumentError(f"Invalid shape {brackets(input)}: dimensions {i} and {i + half} do not match.")
    return input[:half].merge_with(input[half:])


@_tensor_diag_part.kernel(CPU, GPU)
def _tensor_diag_part_kernel(input: torch.Tensor) -> torch.Tensor:
    _tensor_diag_part_shape(TensorShape(input.shape))
    shape = input.shape[: input.ndim // 2]
    return input.reshape(shape.numel(), shape.numel()).diagonal().reshape(shape)


_tensor_diag.gradient(lambda grad: _tensor_diag_part(grad))
_tensor_diag_part.gradient(lambda grad: _tensor_diag(grad))


@export("linalg.tensor_diag", v1=("diag", "linalg.tensor_diag"))
def tensor_diag(diagonal: ArrayLike, name: str | None = None) -> Tensor:
    """Makes a tensor of twice the rank, with `diagonal` on its diagonal and zeros elsewhere."""
    return _tensor_diag(diagonal, name=name)


@export("linalg.tensor_diag_part", v1=("diag_part", "linalg.tensor_diag_part"))
def tensor_diag_part(input: ArrayLike, name: str | None = None) -> Tensor:
    """Returns the diagonal of a tensor of even rank, which has half the rank."""
    return _tensor_diag_part(input, name=name)


# Bands of matrices.

_band_part = op("MatrixBandPart", "input: T, num_lower: host, num_upper: host -> band: T", T=FIXED)


@_band_part.shape
def _band_part_shape(input: TensorShape, num_lower: HostValue, num_upper: HostValue) -> TensorShape:
    if input.rank is None:
        return UNKNOWN
    if input.rank < 2:
        raise ArgumentError(f"input must be at least 2-dim, received shape: {brackets(input)}")
    for number, size, word, what in (
        (num_lower, input[-2], "num_lower", "rows"),
        (num_upper, input[-1], "num_upper", "columns"),
    ):
        if number is not None and not isinstance(number, int):
            raise ArgumentError(f"{word} must be a scalar integer, got {number!r}")
        if number is not None and size is not None and number > size:
            raise ArgumentError(f"{word} must be negative or less or equal to number of {what} ({size}) got: {number}")
    return input


@also_by_bits(_band_part, CPU)
@_band_part.kernel(CPU, GPU, T=FIXED - WIDE_UNSIGNED)
def _band_part_kernel(input: torch.Tensor, num_lower: Any, num_upper: Any) -> torch.Tensor:
    _band_part_shape(TensorShape(input.shape), num_lower, num_upper)
    upper = input if num_lower < 0 else input.triu(-num_lower)
    return upper if num_upper < 0 else upper.tril(num_upper)


@_band_part.gradient
def _band_part_gradient(grad: Tensor, num_lower: HostInput, num_upper: HostInput) -> Tensor:
    return band_part(grad, num_lower, num_upper)


@export("linalg.band_part", v1=("matrix_band_part", "linalg.band_part"))
def band_part(input: ArrayLike, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """Sets everything outside a band around the main diagonals of matrices to zero.

    Args:
        input: A tensor of rank at least 2.
        num_lower: How many diagonals below the main one to keep; all if negative.
        num_upper: How many diagonals above it to keep; all if negative.
        name: A name for the op.
    """
    return _band_part(input, num_lower, num_upper, name=name)


# Identities.

_eye = op("Eye", "num_rows: host, num_columns: host, batch_shape: host -> output: dtype", dtype=FIXED)


@_eye.shape
def _eye_shape(num_rows: HostValue, num_columns: HostValue, batch_shape: HostValue) -> TensorShape:
    rows, columns = (None if size is None else _eye_size(size) for size in (num_rows, num_columns))
    return UNKNOWN if batch_shape is None else TensorShape([*partly(_batch_sizes, batch_shape), rows, columns])


def _eye_size(size: HostValue) -> int:
    if not isinstance(size, int) or size < 0:
        raise ArgumentError(f"Arguments `num_rows` and `num_columns` must be integers of at least 0, got {size!r}")
    return size


def _batch_sizes(batch_shape: HostValue) -> tuple[int, ...]:
    return tuple(_eye_size(size) for size in as_sizes(batch_shape))


@_eye.kernel(CPU, GPU)
def _eye_kernel(
    num_rows: HostValue, num_columns: HostValue, batch_shape: HostValue, *, dtype: DType, device: torch.device
) -> torch.Tensor:
    batch = _batch_sizes(batch_shape)
    one = torch.zeros(_eye_size(num_rows), _eye_size(num_columns), dtype=TORCH_DTYPE[dtype], device=device)
    one.diagonal().fill_(1)
    return one.expand(*batch, *one.shape)


@export("eye", "linalg.eye")
def eye(
    num_rows: Any,
    num_columns: IntLike | None = None,
    batch_shape: ShapeLike | None = None,
    dtype: DTypeLike = float32,
    name: str | None = "eye",
) -> Tensor:
    """Makes an identity matrix, or a batch of them.

    Args:
        num_rows: The number of rows.
        num_columns: The number of columns; by default that of rows.
        batch_shape: The shape of the batch; by default there is none.
        dtype: The dtype of the elements.
        name: A name for the op.
    """
    columns = num_rows if num_columns is None else num_columns
    return _eye(num_rows, columns, () if batch_shape is None else batch_shape, dtype=as_dtype(dtype), name=name)
