"""Strings: joining, cutting, changing case, and conversion to and from numbers.

A string tensor holds bytes. It lies in the host's memory as a NumPy array of ``bytes`` objects,
and its ops run on the CPU. Regular expressions are in `ops.regex`; tensors as text in
`ops.printing`.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import INDEX, STRING, DType, as_dtype
from situs._src.base.errors import (
    ArgumentError,
    DTypeError,
    InvalidArgumentError,
    OutOfRangeError,
    shown,
)
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, UNKNOWN, TensorShape, brackets, broadcast
from situs._src.base.tensor import Tensor, read
from situs._src.base.typing import ArrayLike, AxisLike, DTypeLike, HostValue, IntLike, ShapeLike
from situs._src.ir.registry.traits import EACH_VALUE
from situs._src.ops import quick_strings
from situs._src.ops.attribute import as_bool, as_int, as_word
from situs._src.ops.cast import as_index
from situs._src.ops.constant import kept_number
from situs._src.ops.define import CPU, of_sizes, op, same_shape
from situs._src.ops.farmhash import fingerprint64
from situs._src.ops.join import unstack
from situs._src.ops.murmur import murmur64
from situs._src.ops.reduce import EVERY_AXIS
from situs._src.ops.siphash import siphash
from situs._src.ops.spelling import renamed
from situs._src.runtime.dispatch import typed, unary, with_host_inputs

Array = np.ndarray[Any, Any]

BYTE, UTF8_CHAR = "BYTE", "UTF8_CHAR"


def strings_of(items: Iterable[bytes], shape: Any) -> Array:
    """The value of a string tensor, from its elements."""
    flat = items if type(items) is list else list(items)
    return np.fromiter(flat, object, len(flat)).reshape(tuple(shape))


def each(function: Callable[[bytes], bytes], value: Array) -> Array:
    """The value of a string tensor with a function applied to each element."""
    return strings_of(list(map(function, value.ravel().tolist())), value.shape)


def joined(items: list[bytes]) -> bytes | None:
    """All strings in one, each ended by a newline, to be worked on together; None if one has a newline in it."""
    text = b"\n".join([*items, b""])
    if len(items) < _MANY:
        return text if text.count(b"\n") == len(items) else None
    newlines = np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n"))  # many are found sooner all at once
    return text if newlines == len(items) else None


def common_length(text: bytes | None, count: int) -> int:
    """How long each of so many strings is that were `joined`; 0 if they differ."""
    if text is None or count < _MANY or len(text) % count:
        return 0
    size = len(text) // count - 1
    return size if text[size :: size + 1] == b"\n" * count else 0


def strings_of_rows(text: bytes, count: int, size: int, shape: ShapeLike) -> Array:
    """The value of a string tensor, from so many rows of bytes of which the first `size` are wanted."""
    row = np.dtype({"names": ["wanted"], "formats": [f"V{size}"], "offsets": [0], "itemsize": len(text) // count})
    return np.frombuffer(text, row)["wanted"].astype(object).reshape(shape)


_MANY = 32  # from how many elements on working on all of them together pays


def lines(text: bytes) -> list[bytes]:
    """The strings that were `joined`."""
    return text.split(b"\n")[:-1]


# From numbers to strings.

LONGEST = 2**20  # characters of one number
_as_string = op(
    "AsString",
    "input: T -> output: string",
    traits={EACH_VALUE},
    precision=-1,
    scientific=False,
    shortest=False,
    width=-1,
    fill="",
)
_as_string.shape(same_shape)


@_as_string.kernel(CPU)
def _as_string_kernel(
    input: torch.Tensor, *, precision: int, scientific: bool, shortest: bool, width: int, fill: str
) -> Array:
    _check_fill(fill)
    _check_lengths(precision, width)
    if scientific and shortest:
        raise ArgumentError("Cannot select both scientific and shortest notation")
    if not (input.is_floating_point() or input.is_complex()):
        notation = scientific or shortest
        kind = str(input.dtype).removeprefix("torch.")
        if notation:
            raise ArgumentError(f"scientific and shortest format not supported for datatype {kind}")
        if precision >= 0:
            raise ArgumentError(f"precision not supported for datatype {kind}")
    if input.dtype is torch.bool:
        return strings_of((b"true" if item else b"false" for item in input.ravel().tolist()), input.shape)
    letter = "e" if scientific else "g" if shortest else "f"
    places = f".{precision}" if precision >= 0 else ""
    return strings_of(_number_texts(input, fill, str(width) if width > 0 else "", places + letter), input.shape)


def _check_fill(fill: str) -> None:
    if len(fill) > 1:
        raise ArgumentError(f"Fill string must be one or fewer characters, got {fill!r}")
    if fill not in ("", " ", "0", "+", "-"):
        raise ArgumentError(f'Fill argument not supported: "{fill}"')


def _check_lengths(precision: int, width: int) -> None:
    if max(precision, width) > LONGEST:
        raise ArgumentError(f"precision {precision} and width {width} must not be more than {LONGEST}.")


def _number_texts(input: torch.Tensor, fill: str, width: str, kind: str) -> list[bytes]:
    if input.is_complex():
        real, imag = (_number_texts(part, fill, width, kind) for part in (input.real, input.imag))
        return [b"(%b,%b)" % pair for pair in zip(real, imag, strict=True)]
    if not input.is_floating_point():
        return _formatted(f"%{fill}{width}d", input.numpy().ravel().tolist())
    filled, spaced = f"%{fill}{width}{kind}", f"%{fill.replace('0', '')}{width}{kind}"  # C fills no "inf" with zeros
    if filled == "%f" and input.numel() >= _MANY and input.itemsize <= 4:
        texts = _fixed_point(input.ravel().to(torch.float64).numpy())
        if texts is not None:
            return texts
    numbers = input.to(torch.float64).ravel().tolist()
    if filled == spaced or bool(input.isfinite().all()):
        return _formatted(filled, numbers)
    return [((filled if math.isfinite(item) else spaced) % item).encode() for item in numbers]


def _formatted(form: str, numbers: list[Any]) -> list[bytes]:
    """Numbers written in one form: all at once, which costs half of one by one."""
    return lines((form.encode() + b"\n") * len(numbers) % tuple(numbers))


_DIGITS = np.array([list(b"%03d" % number) for number in range(1000)], np.uint8)
_FIRST_DIGITS = np.array([list((b"%d" % number).rjust(3, b"\0")) for number in range(1000)], np.uint8)


def _fixed_point(numbers: Array) -> list[bytes] | None:
    """Numbers with 24 binary digits as ``%f`` writes them; None where one is too large for it, or not finite.

    A million times such a number is exact in float64, so rounding it to even is rounding it as C does.
    """
    if not np.abs(numbers).max() < 1e9:  # nor with NaN
        return None
    millionths = np.rint(np.abs(numbers) * 1e6).astype(np.int64)
    whole, behind = np.divmod(millionths, 1_000_000)
    if whole.max() < 1000:
        head = _FIRST_DIGITS.take(whole, 0)
    else:
        groups = [whole // 1_000_000, whole // 1000 % 1000, whole % 1000]
        head = np.concatenate([_DIGITS.take(group, 0) for group in groups], 1)
        head[:, :-1][np.logical_and.accumulate(head[:, :-1] == ord("0"), 1)] = 0
    text = np.zeros((len(numbers), head.shape[1] + 9), np.uint8)  # what stays 0 is taken out in the end
    text[:, 0] = np.signbit(numbers) * np.uint8(ord("-"))
    text[:, 1:-8] = head
    text[:, -8] = ord(".")
    text[:, -7:-4], text[:, -4:-1] = _DIGITS.take(behind // 1000, 0), _DIGITS.take(behind % 1000, 0)
    text[:, -1] = ord("\n")
    return lines(text.tobytes().translate(None, b"\0"))


@_as_string.kernel(CPU, T=STRING)
def _pad_strings(input: Array, *, precision: int, scientific: bool, shortest: bool, width: int, fill: str) -> Array:
    _check_fill(fill)
    _check_lengths(precision, width)
    end = None if precision < 0 else precision
    return each(lambda item: item[:end].ljust(width) if fill == "-" else item[:end].rjust(width), input)


@export("as_string", "strings.as_string", v1=("as_string", "strings.as_string", "dtypes.as_string"))
def as_string(
    input: ArrayLike,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Writes numbers as C's printf does.

    Args:
        input: A tensor of any dtype.
        precision: Digits after the point of floating-point numbers; -1 for printf's six.
        scientific: Whether to write them with an exponent.
        shortest: Whether to write them in the shorter of the two forms.
        width: The least number of characters; -1 for any.
        fill: What fills shorter numbers: a space, ``"0"``; ``"-"`` to fill on the right, ``"+"`` for signs.
        name: A name for the op.
    """
    return _written(
        input,
        precision=as_int(precision, "precision"),
        scientific=as_bool(scientific, "scientific"),
        shortest=as_bool(shortest, "shortest"),
        width=as_int(width, "width"),
        fill=as_word(fill, "fill"),
        name=name,
    )


_written = with_host_inputs(_as_string)


# From strings to numbers.

_NUMBERS = frozenset({dt.float32, dt.float64, dt.int32, dt.int64, dt.uint32, dt.uint64})
_DECIMAL = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_HEX_FLOAT = re.compile(rb"[+-]?0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(p[+-]?\d+)?", re.IGNORECASE)
_NAMED_FLOAT = re.compile(rb"([+-]?)(inf(?:inity)?|nan)(?:\(\w*\))?", re.IGNORECASE)
_WHOLE = re.compile(rb"([+-]?)0*(\d{1,20})")  # no dtype holds more digits

_to_number = op("StringToNumber", "string_tensor: string -> output: out_type", traits={EACH_VALUE}, out_type=_NUMBERS)
_to_number.shape(same_shape)


@_to_number.kernel(CPU)
def _to_number_kernel(string_tensor: Array, *, out_type: DType) -> torch.Tensor:
    array = quick_strings.numbers(string_tensor, out_type.is_floating)
    if array is not None and (out_type.is_floating or _fits(array, out_type)):
        return torch.from_numpy(array.astype(out_type.as_numpy_dtype, copy=False))
    items = string_tensor.ravel().tolist()
    array = _plain_numbers(items, out_type) if len(items) >= _MANY else None
    if array is not None:
        return torch.from_numpy(array.astype(out_type.as_numpy_dtype).reshape(string_tensor.shape))
    parse = _parse_float if out_type.is_floating else _parse_whole
    numbers = [parse(item, out_type) for item in items]
    array = np.array(numbers, np.float64 if out_type.is_floating else out_type.as_numpy_dtype)
    with np.errstate(over="ignore"):
        return torch.from_numpy(array.astype(out_type.as_numpy_dtype).reshape(string_tensor.shape))


_EXACT = 15  # decimal digits that float64 holds, whatever they are
_POWERS = 10.0 ** np.arange(_EXACT + 1)


def _plain_numbers(items: list[bytes], out_type: DType) -> Array | None:
    """Numbers written as ``-12.5`` with few digits, all together; None if one is written otherwise, or is not a number.

    Their digits are an integer, read by NumPy, which a power of ten divides: both exact, so the quotient is rounded
    once, as it should be.
    """
    text = b"\n".join(items) + b"\n"
    if text.translate(None, b"0123456789.-+\n"):
        return None
    codes = np.frombuffer(text, np.uint8)
    ends = (codes == ord("\n")).nonzero()[0]
    is_point = codes == ord(".")
    points = np.count_nonzero(is_point)
    if len(ends) != len(items) or (points and not out_type.is_floating):
        return None
    starts = np.empty_like(ends)
    starts[0] = 0
    np.add(ends[:-1], 1, out=starts[1:])
    signed = codes[starts] < ord(".")  # "+" and "-" come before it, and so does the end of an empty string
    digits = ends - starts - signed
    behind: Any = 0  # digits behind the point
    fewest = 1
    if points:
        behind = len(items[0]) - items[0].rfind(b".") - 1
        if points == len(items) and is_point[ends - behind - 1].all():  # in each at the same place from the end
            digits -= 1
            fewest = max(behind, 1)  # else it is the point of the string before
        else:
            places = is_point.nonzero()[0]
            owners = np.searchsorted(ends, places)
            if (owners[1:] == owners[:-1]).any():
                return None
            behind = np.zeros(len(items), np.int64)
            behind[owners] = ends[owners] - places - 1
            digits[owners] -= 1
    signs = np.count_nonzero(codes < ord(".")) - len(items)  # "+" and "-", without the newlines
    if digits.min() < fewest or digits.max() > _EXACT or signs != np.count_nonzero(signed):
        return None
    if points:
        text = text.translate(None, b".")
    whole = np.fromstring(text, np.int64, sep="\n")
    if not out_type.is_floating:
        return whole if _fits(whole, out_type) else None
    numbers: Array = whole / _POWERS[behind]
    if np.count_nonzero(whole) < len(whole):  # a zero may have had a sign
        np.negative(numbers, out=numbers, where=(whole == 0) & (codes[starts] == ord("-")))
    return numbers


def _fits(whole: Array, out_type: DType) -> bool:
    return bool(out_type.min <= whole.min() and whole.max() <= out_type.max)


def _parse_float(item: bytes, out_type: DType) -> float:
    text = item.strip(b" \t\n\v\f\r")
    named = _NAMED_FLOAT.fullmatch(text)
    if named is not None:
        return float(named[1] + named[2])
    if _HEX_FLOAT.fullmatch(text):
        return _from_hex(text.decode())
    if not _DECIMAL.fullmatch(text):
        raise _no_number(item)
    return float(text)


def _from_hex(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:  # a decimal number as large is infinite too
        return -math.inf if text.startswith("-") else math.inf


def _parse_whole(item: bytes, out_type: DType) -> int:
    digits = _WHOLE.fullmatch(item.strip(b" \t\n\v\f\r"))
    number = None if digits is None else int(digits[1] + digits[2])
    if number is None or not out_type.min <= number <= out_type.max:
        raise _no_number(item)
    return number


def _no_number(item: bytes) -> InvalidArgumentError:
    return ArgumentError(
        f"StringToNumberOp could not correctly convert string: {item.decode(errors='backslashreplace')}"
    )


@export("strings.to_number", v1=())
def to_number(input: ArrayLike, out_type: DTypeLike = dt.float32, name: str | None = None) -> Tensor:
    """Reads each string as a number.

    Args:
        input: A string tensor.
        out_type: float32, float64, int32, int64, uint32 or uint64.
        name: A name for the op.

    Raises:
        InvalidArgumentError: a string is not a number of that dtype.
    """
    return _as_number(input, as_dtype(out_type), name=name)


_as_number = typed(_to_number)


@export(v1=("string_to_number", "strings.to_number"))
def string_to_number(
    string_tensor: ArrayLike | None = None,
    out_type: DTypeLike = dt.float32,
    name: str | None = None,
    input: ArrayLike | None = None,
) -> Tensor:
    """Reads each string as a number: `to_number` with TensorFlow 1's argument names."""
    return to_number(renamed("input", input, "string_tensor", string_tensor), out_type, name)


# Join.

_join = op("StringJoin", "inputs: string* -> output: string", traits={EACH_VALUE}, separator="")


@_join.shape
def _join_shape(inputs: list[TensorShape], *, separator: str) -> TensorShape:
    result = SCALAR
    for shape in inputs:
        if shape.rank == 0:
            continue
        if not result.is_compatible_with(shape) and result.rank != 0:
            raise ArgumentError(f"Input shapes do not match: {brackets(result)} vs. {brackets(shape)}")
        result = shape if result.rank == 0 else result.merge_with(shape)
    return result


_join_sizes = of_sizes(lambda *inputs, separator: _join_shape(list(inputs), separator=separator))


@_join.kernel(CPU)
def _join_kernel(inputs: list[Array], *, separator: str) -> Array:
    sizes = tuple(_join_sizes(*[array.shape for array in inputs], separator=separator))
    rows = [(array if array.shape == sizes else np.broadcast_to(array, sizes)).ravel().tolist() for array in inputs]
    between = separator.encode(errors="backslashreplace")
    return strings_of(list(map(between.join, zip(*rows, strict=True))) if rows else [b""], sizes)


@export("strings.join", v1=("string_join", "strings.join"))
def join(inputs: ArrayLike, separator: str = "", name: str | None = None) -> Tensor:
    """Joins the strings of several tensors, element by element.

    Args:
        inputs: A list of string tensors of one shape; scalars among them are joined to every element.
        separator: What to put between two strings.
        name: A name for the op.
    """
    return _join(
        unstack(inputs) if isinstance(read(inputs), Tensor) else inputs,
        separator=as_word(separator, "separator"),
        name=name,
    )


_reduce_join = op(
    "ReduceJoin", "inputs: string, reduction_indices: host -> output: string", keep_dims=False, separator=""
)


@_reduce_join.shape
def _reduce_join_shape(
    inputs: TensorShape, reduction_indices: HostValue, *, keep_dims: bool, separator: str
) -> TensorShape:
    if inputs.rank is None or reduction_indices is None:
        return SCALAR if reduction_indices == EVERY_AXIS and not keep_dims else UNKNOWN
    joined = _joined_axes(reduction_indices, inputs.rank)
    if keep_dims:
        return TensorShape(1 if axis in joined else size for axis, size in enumerate(inputs))
    return TensorShape(size for axis, size in enumerate(inputs) if axis not in joined)


def _joined_axes(indices: Any, rank: int) -> list[int]:
    """The axes to join over, in the order given; by default all, so that rows are joined first."""
    if indices == EVERY_AXIS:
        return list(reversed(range(rank)))
    joined: list[int] = []
    for index in np.ravel(indices).tolist():
        if not isinstance(index, int) or not -rank <= index < rank:
            raise OutOfRangeError(f"Invalid reduction dimension {index} for input with {rank} dimension(s)")
        if index % rank in joined:
            raise ArgumentError(f"Duplicate reduction dimension {index}")
        joined.append(index % rank)
    return joined


@_reduce_join.kernel(CPU)
def _reduce_join_kernel(inputs: Array, reduction_indices: HostValue, *, keep_dims: bool, separator: str) -> Array:
    joined = _joined_axes(reduction_indices, inputs.ndim)
    shape = _reduce_join_shape(TensorShape(inputs.shape), reduction_indices, keep_dims=keep_dims, separator=separator)
    kept = [axis for axis in range(inputs.ndim) if axis not in joined]
    length = int(np.prod([inputs.shape[axis] for axis in joined], dtype=np.int64))
    count = int(np.prod([inputs.shape[axis] for axis in kept], dtype=np.int64))
    rows = inputs.transpose(kept + joined[::-1]).reshape(count, length)  # the first axis joined varies fastest
    between = separator.encode(errors="backslashreplace")
    return strings_of((between.join(row) for row in rows), shape)


@export("strings.reduce_join", v1=())
def reduce_join(
    inputs: ArrayLike,
    axis: AxisLike | None = None,
    keepdims: bool | None = False,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """Joins the strings of a tensor along some axes.

    Args:
        inputs: A string tensor.
        axis: An axis, or a list of them that is joined in its order; by default all, row by row.
        keepdims: Whether the axes stay, with size 1.
        separator: What to put between two strings.
        name: A name for the op.
    """
    axes = EVERY_AXIS if axis is None else axis
    return _reduce_join(
        inputs, axes, keep_dims=as_bool(keepdims, "keepdims"), separator=as_word(separator, "separator"), name=name
    )


@export(v1=("reduce_join", "strings.reduce_join"))
def reduce_join_v1(
    inputs: ArrayLike,
    axis: AxisLike | None = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: AxisLike | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Joins the strings of a tensor along some axes: `reduce_join` with TensorFlow 1's argument names."""
    return reduce_join(
        inputs,
        renamed("axis", axis, "reduction_indices", reduction_indices),
        renamed("keepdims", keepdims, "keep_dims", keep_dims),
        separator,
        name,
    )


_segment_join = op(
    "UnsortedSegmentJoin",
    "inputs: string, segment_ids: Tindices, num_segments: host -> output: string",
    Tindices=INDEX,
    separator="",
)


@_segment_join.shape
def _segment_join_shape(
    inputs: TensorShape, segment_ids: TensorShape, num_segments: HostValue, *, separator: str
) -> TensorShape:
    if num_segments is not None and not isinstance(num_segments, int):
        raise ArgumentError(f"num_segments should be a scalar integer, got {num_segments!r}")
    if num_segments is not None and num_segments < 0:
        raise ArgumentError(f"Number of segments must be non-negative but got {num_segments}")
    if segment_ids.rank == 0:
        raise ArgumentError("Segment_id cannot have rank 0")
    if inputs.rank is None or segment_ids.rank is None:
        return UNKNOWN
    if not inputs[: segment_ids.rank].is_compatible_with(segment_ids):
        raise ArgumentError(
            f"inputs.shape = {brackets(inputs)} does not start with segment_ids.shape = {brackets(segment_ids)}"
        )
    return TensorShape([num_segments]) + inputs[segment_ids.rank :]


_segment_join_sizes = of_sizes(_segment_join_shape)


@_segment_join.kernel(CPU)
def _segment_join_kernel(inputs: Array, segment_ids: torch.Tensor, num_segments: Any, *, separator: str) -> Array:
    shape = _segment_join_sizes(inputs.shape, tuple(segment_ids.shape), num_segments=num_segments, separator=separator)
    ids = segment_ids.reshape(-1).tolist()
    if ids and not 0 <= min(ids) <= max(ids) < num_segments:
        raise ArgumentError("segment_ids are not allowed to exceed num_segments or to have negative values.")
    size = int(np.prod(inputs.shape[segment_ids.ndim :], dtype=np.int64))
    parts: list[list[bytes]] = [[] for _ in range(num_segments * size)]
    for segment, row in zip(ids, inputs.reshape(len(ids), size).tolist(), strict=True):
        for column, item in enumerate(row):
            parts[segment * size + column].append(item)
    between = separator.encode(errors="backslashreplace")
    return strings_of(map(between.join, parts), shape)


@export("strings.unsorted_segment_join")
def unsorted_segment_join(
    inputs: ArrayLike, segment_ids: ArrayLike, num_segments: IntLike, separator: str = "", name: str | None = None
) -> Tensor:
    """Joins the strings of each segment, in their order.

    Args:
        inputs: Strings.
        segment_ids: The segment of each string, or of each slice.
        num_segments: How many segments there are; one without strings is empty.
        separator: What to put between two strings.
        name: A name for the op.

    Example:
        >>> unsorted_segment_join(["a", "b", "c"], [1, 0, 1], 2, separator="-").numpy().tolist()
        [b'b', b'a-c']
    """
    word = as_word(separator, "separator")
    return _segment_join(inputs, as_index(segment_ids), num_segments, separator=word, name=name)


# Length, case, blanks.

_length = op("StringLength", "input: string -> output: int32", traits={EACH_VALUE}, unit=BYTE)


@_length.shape
def _length_shape(input: TensorShape, *, unit: str) -> TensorShape:
    _is_byte(unit)
    return input


@_length.kernel(CPU)
def _length_kernel(input: Array, *, unit: str) -> torch.Tensor:
    in_bytes = _is_byte(unit)
    quickly = quick_strings.lengths(input, in_bytes)
    if quickly is not None:
        return torch.from_numpy(quickly)
    items = input.ravel().tolist()
    sizes = _sizes_together(items, in_bytes) if len(items) >= _MANY else None
    if sizes is None:
        sizes = np.fromiter(map(len, items if in_bytes else map(_first_bytes, items)), np.int32, len(items))
    return torch.from_numpy(sizes.reshape(input.shape))


def _sizes_together(items: list[bytes], in_bytes: bool) -> Array | None:
    """The lengths of all strings, from where each ends; None if one has a newline in it."""
    text = b"\n".join([*items, b""])
    ends = np.flatnonzero(np.frombuffer(text if in_bytes else _first_bytes(text), np.uint8) == ord("\n"))
    if len(ends) != len(items):
        return None
    sizes = ends.astype(np.int32)
    np.subtract(ends[1:], ends[:-1] + 1, out=sizes[1:], casting="same_kind")
    return sizes


def _first_bytes(text: bytes) -> bytes:
    """As many bytes as there are characters."""
    return text if text.isascii() else text.translate(None, _INNER_BYTES)


def _is_byte(unit: str) -> bool:
    if as_word(unit, "unit") not in (BYTE, UTF8_CHAR):
        raise InvalidArgumentError(
            f'Value for attr \'unit\' of "{unit}" is not in the list of allowed values: "BYTE", "UTF8_CHAR"'
        )
    return unit == BYTE


_INNER_BYTES = bytes(range(0x80, 0xC0))  # of characters in UTF-8, all but the first byte


@export("strings.length", v1=())
def length(input: ArrayLike, unit: str = BYTE, name: str | None = None) -> Tensor:
    """Counts the bytes of each string, or its characters with ``unit="UTF8_CHAR"``."""
    return _length_of(input, unit=unit, name=name)


_length_of = with_host_inputs(_length)


@export(v1="strings.length")
def length_v1(input: ArrayLike, name: str | None = None, unit: str = BYTE) -> Tensor:
    """Counts the bytes of each string: `length` with TensorFlow 1's order of arguments."""
    return length(input, unit, name)


def _decoded(change: Callable[[str], str]) -> Callable[[bytes], bytes]:
    return lambda item: change(item.decode(errors="replace")).encode()


def _case_kernel(in_bytes: Callable[[bytes], bytes], in_text: Callable[[str], str]) -> Callable[..., Array]:
    def kernel(input: Array, *, encoding: str) -> Array:
        if as_word(encoding, "encoding") not in ("", "utf-8"):
            raise ArgumentError(f"only utf-8 or '' (no encoding) is supported, received {encoding}")
        quickly = None if encoding else quick_strings.cased(input, in_bytes is bytes.upper)
        return each(_decoded(in_text) if encoding else in_bytes, input) if quickly is None else quickly

    return kernel


_lower = op("StringLower", "input: string -> output: string", traits={EACH_VALUE}, encoding="")
_lower.shape(same_shape)
_lower.kernel(CPU)(_case_kernel(bytes.lower, str.lower))

_upper = op("StringUpper", "input: string -> output: string", traits={EACH_VALUE}, encoding="")
_upper.shape(same_shape)
_upper.kernel(CPU)(_case_kernel(bytes.upper, str.upper))

_strip = op("StringStrip", "input: string -> output: string", traits={EACH_VALUE})
_strip.shape(same_shape)


@_strip.kernel(CPU)
def _strip_kernel(input: Array) -> Array:
    return each(bytes.strip, input)


@export("strings.lower")
def lower(input: ArrayLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Makes ASCII letters lower case, and with ``encoding="utf-8"`` all letters."""
    return _in_lower_case(input, encoding=encoding, name=name)


@export("strings.upper")
def upper(input: ArrayLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Makes ASCII letters upper case, and with ``encoding="utf-8"`` all letters."""
    return _in_upper_case(input, encoding=encoding, name=name)


@export("strings.strip", v1=("string_strip", "strings.strip"))
def strip(input: ArrayLike, name: str | None = None) -> Tensor:
    """Removes ASCII white space from both ends of each string."""
    return _stripped(input, name)


_in_lower_case, _in_upper_case, _stripped = with_host_inputs(_lower), with_host_inputs(_upper), unary(_strip)


# Parts of strings.

_substr = op("Substr", "input: string, pos: T, len: T -> output: string", traits={EACH_VALUE}, T=INDEX, unit=BYTE)


@_substr.shape
def _substr_shape(input: TensorShape, pos: TensorShape, length: TensorShape, *, unit: str) -> TensorShape:
    _is_byte(unit)
    if not pos.is_compatible_with(length):
        raise ArgumentError(f"pos and len should have the same shape, got: {brackets(pos)} vs. {brackets(length)}")
    return broadcast(input, pos)


_substr_sizes = of_sizes(lambda input, pos, length: _substr_shape(input, pos, length, unit=BYTE))


@_substr.kernel(CPU)
def _substr_kernel(input: Array, pos: torch.Tensor, length: torch.Tensor, *, unit: str) -> Array:
    sizes = tuple(_substr_sizes(input.shape, pos.shape, length.shape))
    if pos.ndim == 0 and input.size >= _MANY and _is_byte(unit):
        start, count = int(pos), int(length)
        alike = quick_strings.parts(input, start, count)
        if alike is None:
            alike = _cut_alike(input, start, count)
        if alike is not None:
            return alike
    items = (input if input.shape == sizes else np.broadcast_to(input, sizes)).ravel().tolist()
    in_bytes = _is_byte(unit)
    if not in_bytes and all(map(bytes.isascii, items)):
        in_bytes = True
    if pos.ndim == 0:
        start, count = int(pos), int(length)
        if in_bytes and start >= 0:
            parts = list(map(itemgetter(_part(start, count)), items))
            if start == 0 or all(parts) or min(map(len, items)) >= start:  # else one ends before
                return strings_of(parts, sizes)
        starts, counts = [start] * len(items), [count] * len(items)
    else:
        starts, counts = (np.broadcast_to(value.numpy(), sizes).ravel().tolist() for value in (pos, length))
    cut = _cut_bytes if in_bytes else _cut_characters
    return strings_of(list(map(cut, items, starts, counts, range(len(items)))), sizes)


def _cut_alike(input: Array, start: int, count: int) -> Array | None:
    """A part of every string, cut out of all together; None where one may end before, or the part is long."""
    end = start + count
    if start < 0 or count < 1 or end > _SHORT:
        return None
    heads = input.astype(f"S{end}")
    rows = heads.view(np.uint8).reshape(-1, end)
    if not rows[:, -1].all():  # shorter ones are filled with zeros
        return None
    return strings_of_rows(rows[:, start:].tobytes(), len(rows), count, input.shape)


_SHORT = 64  # bytes, so that the beginnings of all strings take little memory


def _part(start: int, count: int) -> slice:
    """The part of a string from a place in it, which may be counted from the end; a negative count is all the rest."""
    end = start + count
    return slice(start, None if count < 0 or end >= 0 > start else end)


def _cut_bytes(item: bytes, start: int, count: int, index: int) -> bytes:
    if not -len(item) <= start <= len(item):
        raise ArgumentError(f"pos {start} out of range for string {item!r} at index {index}")
    return item[_part(start, count)]


def _cut_characters(item: bytes, start: int, count: int, index: int) -> bytes:
    starts = [at for at, byte in enumerate(item) if byte & 0xC0 != 0x80] + [len(item)]
    characters = len(starts) - 1
    if not -characters <= start <= characters:
        raise ArgumentError(f"pos {start} out of range for string at index {index}: {item!r}")
    start = start + characters if start < 0 else start
    end = characters if count < 0 else min(start + count, characters)
    return item[starts[start] : starts[end]]


@export("strings.substr", v1=())
def substr(input: ArrayLike, pos: ArrayLike, len: ArrayLike, unit: str = BYTE, name: str | None = None) -> Tensor:
    """Cuts a part out of each string.

    Args:
        input: A string tensor.
        pos: Where the part begins; negative positions count from the end. Broadcasts with `input`.
        len: The length of the part; less if the string ends before. Of the same shape as `pos`.
        unit: What is counted: ``"BYTE"`` or ``"UTF8_CHAR"``.
        name: A name for the op.
    """
    if type(pos) is int and type(len) is int:
        pos, len = kept_number(pos, dt.int32), kept_number(len, dt.int32)
    return _substr(input, pos, len, unit=unit, name=name)


@export(v1=("substr", "strings.substr"))
def substr_v1(input: ArrayLike, pos: ArrayLike, len: ArrayLike, name: str | None = None, unit: str = BYTE) -> Tensor:
    """Cuts a part out of each string: `substr` with TensorFlow 1's order of arguments."""
    return substr(input, pos, len, unit, name)


_split = op("StringSplitV2", "input: string, sep: string -> indices: int64, values: string, shape: int64", maxsplit=-1)


@_split.shape
def _split_shape(input: TensorShape, sep: TensorShape, *, maxsplit: int) -> list[TensorShape]:
    if input.rank not in (None, 1):
        raise ArgumentError(f"input must be a vector, got shape: {brackets(input)}")
    if sep.rank not in (None, 0):
        raise ArgumentError(f"sep must be a scalar, got shape: {brackets(sep)}")
    return [TensorShape([None, 2]), TensorShape([None]), TensorShape([2])]


@_split.kernel(CPU)
def _split_kernel(input: Array, sep: Array, *, maxsplit: int) -> tuple[torch.Tensor, Array, torch.Tensor]:
    _split_shape(TensorShape(input.shape), TensorShape(sep.shape), maxsplit=maxsplit)
    rows = [_split_one(item, sep.item(), maxsplit) for item in input]
    indices = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    values = [piece for row in rows for piece in row]
    shape = [len(rows), max(map(len, rows), default=0)]
    return (
        torch.tensor(indices, dtype=torch.int64).reshape(-1, 2),
        strings_of(values, [len(values)]),
        torch.tensor(shape, dtype=torch.int64),
    )


def _split_one(item: bytes, sep: bytes, maxsplit: int) -> list[bytes]:
    if maxsplit == 0:
        return [item]
    parts = item.split(sep or None, max(maxsplit, -1))
    if not sep and len(parts) == maxsplit:
        parts.append(b"")  # what is left after the last split, though it is only white space
    return parts


def split_rows(input: Any, sep: Any, maxsplit: int, name: str | None = None) -> list[Tensor]:
    """The parts of the strings of a vector: a row and a column for each, the parts, and the shape of all.

    Args:
        input: The strings.
        sep: The separator; any run of white space if it is empty.
        maxsplit: The most splits to make of each; -1 for no limit.
        name: A name for the op.
    """
    return _split.many(input, sep, maxsplit=maxsplit, name=name)


# Base64, in the alphabet that is safe in URLs.

_strong = op("StringToHashBucketStrong", "input: string -> output: int64", traits={EACH_VALUE}, num_buckets=1, key=())


@_strong.shape
def _strong_shape(input: TensorShape, *, num_buckets: int, key: tuple[int, ...]) -> TensorShape:
    if num_buckets < 1:
        raise ArgumentError(
            f"Attr 'num_buckets' of 'StringToHashBucketStrong' Op passed {num_buckets} less than minimum 1."
        )
    return input


@_strong.kernel(CPU)
def _strong_kernel(input: Array, *, num_buckets: int, key: tuple[int, ...]) -> torch.Tensor:
    if len(key) != 2:
        raise ArgumentError("Key must have 2 elements")
    found = [siphash(item, key[0], key[1]) % num_buckets for item in input.ravel().tolist()]
    return torch.tensor(found, dtype=torch.int64).reshape(input.shape)


@export("strings.to_hash_bucket_strong", v1=("string_to_hash_bucket_strong", "strings.to_hash_bucket_strong"))
def to_hash_bucket_strong(input: ArrayLike, num_buckets: int, key: object, name: str | None = None) -> Tensor:
    """Puts strings into buckets by a hash that is unpredictable without the key.

    Args:
        input: Strings.
        num_buckets: How many buckets there are.
        key: Two integers.
        name: A name for the op.

    Returns:
        The number of the bucket of each string, int64.

    Example:
        >>> to_hash_bucket_strong(["Hello", "TF"], 3, [1, 2]).numpy().tolist()
        [2, 0]
    """
    count = as_int(num_buckets, "num_buckets")
    if not isinstance(key, (list, tuple)):
        raise DTypeError(f"Expected list for 'key' argument to 'string_to_hash_bucket_strong' Op, not {shown(key)}.")
    numbers = tuple(as_int(each, "key") for each in key)
    return _strong(input, num_buckets=count, key=numbers, name=name)


_murmur = op("StringToHashBucket", "string_tensor: string -> output: int64", traits={EACH_VALUE}, num_buckets=1)


@_murmur.shape
def _murmur_shape(string_tensor: TensorShape, *, num_buckets: int) -> TensorShape:
    if num_buckets < 1:
        raise ArgumentError(f"Attr 'num_buckets' of 'StringToHashBucket' Op passed {num_buckets} less than minimum 1.")
    return string_tensor


@_murmur.kernel(CPU)
def _murmur_kernel(string_tensor: Array, *, num_buckets: int) -> torch.Tensor:
    found = [murmur64(item) % num_buckets for item in string_tensor.ravel().tolist()]
    return torch.tensor(found, dtype=torch.int64).reshape(string_tensor.shape)


@export("strings.to_hash_bucket", v1=())
def to_hash_bucket(input: ArrayLike, num_buckets: int, name: str | None = None) -> Tensor:
    """Puts strings into buckets by a hash that programs of TensorFlow have used since its first releases.

    Args:
        input: Strings.
        num_buckets: How many buckets there are.
        name: A name for the op.

    Returns:
        The number of the bucket of each string, int64.

    Example:
        >>> to_hash_bucket(["a", "abc"], 100).numpy().tolist()
        [68, 10]
    """
    return _murmur(input, num_buckets=as_int(num_buckets, "num_buckets"), name=name)


@export(v1=("string_to_hash_bucket", "strings.to_hash_bucket"))
def to_hash_bucket_v1(
    string_tensor: ArrayLike | None = None,
    num_buckets: int | None = None,
    name: str | None = None,
    input: ArrayLike | None = None,
) -> Tensor:
    """Puts strings into buckets: `to_hash_bucket` with TensorFlow 1's argument names."""
    given: Any = renamed("input", input, "string_tensor", string_tensor)
    return _murmur(given, num_buckets=as_int(num_buckets, "num_buckets"), name=name)


_fast = op("StringToHashBucketFast", "input: string -> output: int64", traits={EACH_VALUE}, num_buckets=1)


@_fast.shape
def _fast_shape(input: TensorShape, *, num_buckets: int) -> TensorShape:
    if num_buckets < 1:
        raise ArgumentError(
            f"Attr 'num_buckets' of 'StringToHashBucketFast' Op passed {num_buckets} less than minimum 1."
        )
    return input


@_fast.kernel(CPU)
def _fast_kernel(input: Array, *, num_buckets: int) -> torch.Tensor:
    found = [fingerprint64(item) % num_buckets for item in input.ravel().tolist()]
    return torch.tensor(found, dtype=torch.int64).reshape(input.shape)


@export("strings.to_hash_bucket_fast", v1=("string_to_hash_bucket_fast", "strings.to_hash_bucket_fast"))
def to_hash_bucket_fast(input: ArrayLike, num_buckets: int, name: str | None = None) -> Tensor:
    """Puts strings into buckets by a hash that is the same everywhere.

    Args:
        input: Strings.
        num_buckets: How many buckets there are.
        name: A name for the op.

    Returns:
        The number of the bucket of each string, int64.

    Example:
        >>> to_hash_bucket_fast(["Hello", "TensorFlow", "2.x"], 3).numpy().tolist()
        [0, 2, 2]
    """
    return _fast(input, num_buckets=as_int(num_buckets, "num_buckets"), name=name)


_encode_base64 = op("EncodeBase64", "input: string -> output: string", traits={EACH_VALUE}, pad=False)
_encode_base64.shape(same_shape)


@_encode_base64.kernel(CPU)
def _encode_base64_kernel(input: Array, *, pad: bool) -> Array:
    quickly = quick_strings.encoded(input, pad)
    if quickly is not None:
        return quickly
    items = input.ravel().tolist()
    together = joined(items) if len(items) >= _MANY else None
    size = common_length(together, len(items))
    if together is not None and size and not (pad and size % 3):
        text = binascii.b2a_base64(together.replace(b"\n", b"\0" * (-size % 3)), newline=False)
        text = text.replace(b"+", b"-").replace(b"/", b"_")
        return strings_of_rows(text, len(items), -(-size * 4 // 3), input.shape)
    text = b"".join(map(binascii.b2a_base64, items))  # each with a newline behind it
    text = text.replace(b"+", b"-").replace(b"/", b"_")
    return strings_of(lines(text if pad else text.replace(b"=", b"")), input.shape)


_decode_base64 = op("DecodeBase64", "input: string -> output: string", traits={EACH_VALUE})
_decode_base64.shape(same_shape)


@_decode_base64.kernel(CPU)
def _decode_base64_kernel(input: Array) -> Array:
    quickly = quick_strings.decoded(input)
    if quickly is not None:
        return quickly
    items = input.ravel().tolist()
    text = joined(items)
    size = common_length(text, len(items))
    if text is not None and size and size % 4 != 1 and not any(sign in text for sign in (b"+", b"/", b"=")):
        together = text.replace(b"\n", b"A" * (-size % 4)).replace(b"-", b"+").replace(b"_", b"/")
        try:
            read = binascii.a2b_base64(together, strict_mode=True)
        except binascii.Error:
            pass  # one has something wrong, and is found below
        else:
            return strings_of_rows(read, len(items), size * 3 // 4, input.shape)
    if text is not None and not text.translate(None, _BASE64 + b"\n"):  # none is padded, and none has anything wrong
        common = text.replace(b"-", b"+").replace(b"_", b"/").replace(b"\n", b"==\n")
        try:
            return strings_of(list(map(binascii.a2b_base64, lines(common))), input.shape)
        except binascii.Error:
            pass  # one is too short, and is found below
    return each(_from_base64, input)


_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def _from_base64(item: bytes) -> bytes:
    bare = item.rstrip(b"=")
    if len(bare) % 4 == 1 and bare == item:
        raise ArgumentError(f"Base64 string length cannot be 1 modulo 4, got {item!r}")
    padded = bare + b"=" * (-len(bare) % 4)
    if not re.fullmatch(rb"[A-Za-z0-9_-]*", bare) or item not in (bare, padded):
        raise ArgumentError(f"Invalid character found in base64: {item!r}")
    try:
        return base64.urlsafe_b64decode(padded)
    except binascii.Error as error:
        raise ArgumentError(f"Invalid base64 string {item!r}: {error}") from None


@export("io.encode_base64", v1=("encode_base64", "io.encode_base64"))
def encode_base64(input: ArrayLike, pad: bool = False, name: str | None = None) -> Tensor:
    """Writes each string in URL-safe Base64, ended with ``=`` to a multiple of four if `pad`."""
    return _in_base64(input, pad=as_bool(pad, "pad"), name=name)


@export("io.decode_base64", v1=("decode_base64", "io.decode_base64"))
def decode_base64(input: ArrayLike, name: str | None = None) -> Tensor:
    """Reads strings written in URL-safe Base64, padded or not."""
    return _out_of_base64(input, name)


_in_base64, _out_of_base64 = with_host_inputs(_encode_base64), unary(_decode_base64)
