"""Splitting strings: words, characters, code points. Rows of parts differ in length."""

from __future__ import annotations

import codecs
from itertools import pairwise
from typing import Any

import torch

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape, brackets
from situs._src.ir.registry.traits import EACH_VALUE
from situs._src.ops.array import reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_bool, as_int
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, op, same_shape
from situs._src.ops.reduce import reduce_prod
from situs._src.ops.strings import split_rows, strings_of
from situs._src.ragged.tensor import RaggedTensor
from situs._src.sparse.tensor import SparseTensor

_ERRORS = ("strict", "replace", "ignore")
_UNKNOWN = "The encoding {given} is not known. UTF-8, UTF-16-BE and UTF-32-BE are."


def _by_rows(text: Any, rows: Any) -> Any:
    """What a function from a vector to ragged rows gives for strings of any shape, ragged ones too."""
    if isinstance(text, RaggedTensor):
        return text.with_flat_values(_by_rows(text.flat_values, rows))
    given = convert_to_tensor(text, dt.string)
    rank = given.shape.rank
    if rank is None:
        raise ArgumentError("The number of dimensions of the strings is not known.")
    if rank == 0:
        return rows(reshape(given, [1])).values
    if rank == 1:
        return rows(given)
    sizes = shape_of(given, dt.int64)
    made = rows(reshape(given, [-1]))
    for axis in range(rank - 1, 0, -1):  # where rows are empty, the values do not say how many there are
        made = RaggedTensor.from_uniform_row_length(made, sizes[axis], reduce_prod(sizes[:axis]), validate=False)
    return made


@export("strings.split", v1=())
def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """Splits strings at each separator.

    Args:
        input: Strings.
        sep: The separator; by default any run of white space, with none left at the ends.
        maxsplit: The most splits to make of each; -1 for no limit.
        name: A name for the op.

    Returns:
        A ragged tensor with a row for each string; a tensor for a scalar.

    Example:
        >>> split(["a b", "", "c"]).to_list()
        [[b'a', b'b'], [], [b'c']]
    """
    limit = as_int(maxsplit, "maxsplit")

    def rows(text: Any) -> RaggedTensor:
        indices, values, shape = split_rows(text, "" if sep is None else sep, limit, name)
        return RaggedTensor.from_value_rowids(values, indices[:, 0], shape[0], validate=False)

    return _by_rows(input, rows)


@export(v1="strings.split")
def split_v1(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> Any:
    """Splits strings at each separator, with TensorFlow 1's arguments.

    Args:
        input: Strings.
        sep: The separator; any run of white space by default.
        maxsplit: The most splits to make of each; -1 for no limit.
        result_type: ``"SparseTensor"`` or ``"RaggedTensor"``.
        source: The same as `input`.
        name: A name for the op.
    """
    text = source if input is None else input
    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise ArgumentError(f"`result_type` must be 'RaggedTensor' or 'SparseTensor', got {shown(result_type)}.")
    if not isinstance(text, RaggedTensor):
        text = convert_to_tensor(text, dt.string)
        text = reshape(text, [1]) if text.shape.rank == 0 else text
    made = split(text, sep, maxsplit, name)
    return made.to_sparse() if result_type == "SparseTensor" else made


@export(v1="string_split")
def string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = " ",
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """Splits the strings of a vector at any character of a delimiter.

    Args:
        source: A vector of strings.
        sep: The same as `delimiter`.
        skip_empty: Whether empty parts are left out.
        delimiter: The characters to split at; the empty string splits into bytes.
        result_type: ``"SparseTensor"`` or ``"RaggedTensor"``.
        name: A name for the op.
    """
    given = convert_to_tensor(source, dt.string)
    if given.shape.rank not in (1, None):
        raise ArgumentError(f"`source` is a vector of strings, got the shape {given.shape}.")
    indices, values, shape = _split_at.many(
        given,
        convert_to_tensor(delimiter if sep is None else sep, dt.string),
        skip_empty=as_bool(skip_empty, "skip_empty"),
    )
    made = SparseTensor(indices, values, shape)
    return made if result_type == "SparseTensor" else RaggedTensor.from_sparse(made)


_split_at = op(
    "StringSplit", "input: string, delimiter: string -> indices: int64, values: string, shape: int64", skip_empty=True
)
_split_at.shape(lambda input, delimiter, *, skip_empty: [TensorShape([None, 2]), TensorShape([None]), TensorShape([2])])


@_split_at.kernel(CPU)
def _split_at_kernel(input: Any, delimiter: Any, *, skip_empty: bool) -> tuple[Any, Any, Any]:
    marks = set(bytes(delimiter[()]))
    rows = [_parts(item, marks, skip_empty) for item in input.tolist()]
    places = [(row, column) for row, parts in enumerate(rows) for column in range(len(parts))]
    values = [part for parts in rows for part in parts]
    longest = max(map(len, rows), default=0)
    return (
        torch.tensor(places, dtype=torch.int64).reshape(-1, 2),
        strings_of(values, [len(values)]),
        torch.tensor([len(rows), longest]),
    )


def _parts(item: bytes, marks: set[int], skip_empty: bool) -> list[bytes]:
    if not marks:
        return [item[number : number + 1] for number in range(len(item))]
    found, begin = [], 0
    for number, byte in enumerate(item):
        if byte in marks:
            found.append(item[begin:number])
            begin = number + 1
    found.append(item[begin:])
    return [part for part in found if part] if skip_empty else found


@export("strings.bytes_split")
def bytes_split(input: Any, name: str | None = None) -> Any:
    """Splits strings into their bytes, each a string.

    Args:
        input: Strings.
        name: A name for the op.
    """

    def rows(text: Any) -> RaggedTensor:
        indices, values, shape = _split_at.many(text, convert_to_tensor(b""), skip_empty=False)
        return RaggedTensor.from_value_rowids(values, indices[:, 0], shape[0], validate=False)

    return _by_rows(input, rows)


# Words in a row.

_ngrams = op(
    "StringNGrams",
    "data: string, data_splits: int64 -> ngrams: string, ngrams_splits: int64",
    separator=" ",
    ngram_widths=(),
    left_pad="",
    right_pad="",
    pad_width=0,
    preserve_short_sequences=False,
)
_ngrams.shape(lambda data, data_splits, **attrs: [TensorShape([None]), data_splits])


@_ngrams.kernel(CPU)
def _ngrams_kernel(
    data: Any,
    data_splits: torch.Tensor,
    *,
    separator: str,
    ngram_widths: tuple[int, ...],
    left_pad: str,
    right_pad: str,
    pad_width: int,
    preserve_short_sequences: bool,
) -> tuple[Any, torch.Tensor]:
    items, between = data.tolist(), separator.encode()
    if not items:
        return strings_of([], [0]), torch.zeros_like(data_splits)  # no pads alone, if there are no words at all
    made: list[bytes] = []
    splits = [0]
    for begin, end in pairwise(data_splits.tolist()):
        for width in ngram_widths:
            pad = width - 1 if pad_width < 0 else min(pad_width, width - 1)
            row = [left_pad.encode()] * pad + items[begin:end] + [right_pad.encode()] * pad
            made += [between.join(row[at : at + width]) for at in range(len(row) - width + 1)]
        if preserve_short_sequences and end > begin and len(made) == splits[-1]:  # too short for every width
            pad = max(pad_width, 0)
            made.append(between.join([left_pad.encode()] * pad + items[begin:end] + [right_pad.encode()] * pad))
        splits.append(len(made))
    return strings_of(made, [len(made)]), torch.tensor(splits)


@export("strings.ngrams")
def ngrams(
    data: Any,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Neighbouring words, joined.

    Args:
        data: Rows of words: a tensor or a ragged one.
        ngram_width: How many words to join; a list for several at a time.
        separator: What stands between them.
        pad_values: What stands before the first word and behind the last: one string, or a pair.
        padding_width: How many of these; as many as needed by default.
        preserve_short_sequences: Whether rows that are too short are kept, joined.
        name: A name for the op.

    Example:
        >>> ngrams(["a", "b", "c"], 2).numpy().tolist()
        [b'a b', b'b c']
    """
    widths = list(ngram_width) if isinstance(ngram_width, (list, tuple)) else [ngram_width]
    numbers = tuple(as_int(each, "ngram_width") for each in widths)
    if not numbers or min(numbers) < 1:
        raise ArgumentError(f"ngram_width must be greater or equal to 1, got {shown(ngram_width)}.")
    pads = (pad_values, pad_values) if isinstance(pad_values, str) else tuple(pad_values or ("", ""))
    if len(pads) != 2 or not all(isinstance(each, str) for each in pads):
        raise DTypeError(f"`pad_values` is a string or a pair of them, got {shown(pad_values)}.")
    width = 0 if pad_values is None else -1 if padding_width is None else as_int(padding_width, "padding_width")
    rows: Any = data if isinstance(data, RaggedTensor) else convert_to_tensor(data, dt.string)
    is_vector = not isinstance(rows, RaggedTensor) and rows.shape.rank == 1
    if is_vector:
        rows = RaggedTensor.from_uniform_row_length(rows, shape_of(rows, dt.int64)[0], 1, validate=False)
    elif not isinstance(rows, RaggedTensor):
        if rows.shape.rank in (0, None):
            raise ArgumentError(f"`data` has at least one dimension, got {shown(data)}.")
        whole = RaggedTensor.from_tensor(rows, ragged_rank=rows.shape.rank - 1)
        made = ngrams(whole, ngram_width, separator, pad_values, padding_width, preserve_short_sequences)
        return made.to_tensor("")
    if isinstance(rows.values, RaggedTensor):
        inner = ngrams(rows.values, ngram_width, separator, pad_values, padding_width, preserve_short_sequences)
        return rows.with_values(inner)
    values, splits = _ngrams.many(
        rows.values,
        cast(rows.row_splits, dt.int64),
        separator=separator,
        ngram_widths=numbers,
        left_pad=pads[0],
        right_pad=pads[1],
        pad_width=width,
        preserve_short_sequences=as_bool(preserve_short_sequences, "preserve_short_sequences"),
    )
    return values if is_vector else RaggedTensor(values, splits, internal=True)


# Characters.

_decode = op(
    "UnicodeDecodeWithOffsets",
    "input: string -> row_splits: int64, char_values: int32, char_to_byte_starts: int64",
    input_encoding="UTF-8",
    errors="replace",
    replacement_char=65533,
    replace_control_characters=False,
)
_decode.shape(lambda input, **attrs: [TensorShape([None]), TensorShape([None]), TensorShape([None])])


@_decode.kernel(CPU)
def _decode_kernel(
    input: Any, *, input_encoding: str, errors: str, replacement_char: int, replace_control_characters: bool
) -> tuple[Any, Any, Any]:
    codec = _codec(input_encoding)
    splits, values, starts = [0], [], []
    for item in input.ravel().tolist():
        for code, start in _codes(item, codec, errors, replacement_char):
            if replace_control_characters and (code < 32 or 127 <= code < 160):
                code = replacement_char
            values.append(code)
            starts.append(start)
        splits.append(len(values))
    return torch.tensor(splits), torch.tensor(values, dtype=torch.int32), torch.tensor(starts, dtype=torch.int64)


def _codec(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise ArgumentError(_UNKNOWN.format(given=shown(encoding))) from None


def _codes(item: bytes, codec: str, errors: str, replacement: int) -> list[tuple[int, int]]:
    """The numbers of the characters of a string, with the byte at which each begins."""
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(item):
        try:
            text, end, wrong = item[at:].decode(codec), len(item), None
        except UnicodeDecodeError as error:
            text, end, wrong = item[at : at + error.start].decode(codec), at + error.start, error
        for character in text:
            found.append((ord(character), at))
            at += len(character.encode(codec))
        if wrong is not None:
            if errors == "strict":
                raise ArgumentError(f"Invalid formatting on input string: {item!r} is not {codec}.")
            if errors == "replace":
                found.append((replacement, end))
            at = end + max(wrong.end - wrong.start, 1)
    return found


def _checked(errors: Any, replacement_char: Any) -> tuple[str, int]:
    if errors not in _ERRORS:
        raise ArgumentError(f"`errors` is one of {', '.join(_ERRORS)}; got {shown(errors)}.")
    number = as_int(replacement_char, "replacement_char")
    if not 0 <= number < 0x110000:
        raise ArgumentError(f"`replacement_char` is the number of a character, got {number}.")
    return errors, number


def _decoded(
    text: Any, encoding: str, errors: str, replacement_char: int, control: bool
) -> tuple[RaggedTensor, RaggedTensor]:
    how, number = _checked(errors, replacement_char)
    splits, values, starts = _decode.many(
        text,
        input_encoding=_word(encoding),
        errors=how,
        replacement_char=number,
        replace_control_characters=as_bool(control, "replace_control_characters"),
    )
    return RaggedTensor(values, splits, internal=True), RaggedTensor(starts, splits, internal=True)


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise DTypeError(f"An encoding is a string, got {shown(value)}.")
    _codec(value)
    return value


@export("strings.unicode_decode")
def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The numbers of the characters of strings, int32.

    Args:
        input: Strings.
        input_encoding: How they are written: ``"UTF-8"``, ``"UTF-16-BE"``, ``"UTF-32-BE"``.
        errors: What becomes of bytes that are not a character: ``"strict"``, ``"replace"`` or ``"ignore"``.
        replacement_char: The number that stands for them.
        replace_control_characters: Whether it stands for control characters too.
        name: A name for the op.

    Returns:
        A ragged tensor with a row for each string; a tensor for a scalar.

    Example:
        >>> unicode_decode(["a\\u00e9", "b"], "UTF-8").to_list()
        [[97, 233], [98]]
    """
    return _by_rows(
        input, lambda text: _decoded(text, input_encoding, errors, replacement_char, replace_control_characters)[0]
    )


@export("strings.unicode_decode_with_offsets")
def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The numbers of the characters of strings, and the byte at which each begins.

    The arguments are those of `unicode_decode`.
    """
    given = (input_encoding, errors, replacement_char, replace_control_characters)
    return _by_rows(input, lambda text: _decoded(text, *given)[0]), _by_rows(
        input, lambda text: _decoded(text, *given)[1]
    )


_encode_each = op(
    "UnicodeCharacters",
    "input: int32 -> output: string",
    output_encoding="UTF-8",
    errors="replace",
    replacement_char=65533,
)
_encode_each.shape(same_shape)


@_encode_each.kernel(CPU)
def _encode_each_kernel(input: torch.Tensor, *, output_encoding: str, errors: str, replacement_char: int) -> Any:
    codec = _codec(output_encoding)
    made = [_character(code, codec, errors, replacement_char) for code in input.reshape(-1).tolist()]
    return strings_of(made, input.shape)


def _character(code: int, codec: str, errors: str, replacement: int) -> bytes:
    if 0 <= code < 0x110000 and not 0xD800 <= code < 0xE000:
        return chr(code).encode(codec)
    if errors == "strict":
        raise ArgumentError(f"Code point is out of range for Unicode, or a noncharacter: {code}.")
    return chr(replacement).encode(codec) if errors == "replace" else b""


@export("strings.unicode_split")
def unicode_split(
    input: Any, input_encoding: str, errors: str = "replace", replacement_char: int = 0xFFFD, name: str | None = None
) -> Any:
    """Splits strings into their characters, each a string.

    Args:
        input: Strings.
        input_encoding: How they are written: ``"UTF-8"``, ``"UTF-16-BE"``, ``"UTF-32-BE"``.
        errors: What becomes of bytes that are not a character: ``"strict"``, ``"replace"`` or ``"ignore"``.
        replacement_char: The number of the character that stands for them.
        name: A name for the op.

    Returns:
        A ragged tensor with a row for each string; a tensor for a scalar.
    """
    return unicode_split_with_offsets(input, input_encoding, errors, replacement_char, name)[0]


@export("strings.unicode_split_with_offsets")
def unicode_split_with_offsets(
    input: Any, input_encoding: str, errors: str = "replace", replacement_char: int = 0xFFFD, name: str | None = None
) -> tuple[Any, Any]:
    """The characters of strings, and the byte at which each begins; the arguments are those of `unicode_split`."""
    codes, starts = unicode_decode_with_offsets(input, input_encoding, errors, replacement_char)
    attrs: dict[str, Any] = {"output_encoding": input_encoding, "errors": errors, "replacement_char": replacement_char}
    if isinstance(codes, RaggedTensor):
        return codes.with_flat_values(_encode_each(codes.flat_values, **attrs)), starts
    return _encode_each(codes, **attrs), starts


_encode = op(
    "UnicodeEncode",
    "input_values: int32, input_splits: int64 -> output: string",
    output_encoding="UTF-8",
    errors="replace",
    replacement_char=65533,
)


@_encode.shape
def _encode_shape(input_values: TensorShape, input_splits: TensorShape, **attrs: Any) -> TensorShape:
    if input_splits.rank not in (1, None):
        raise ArgumentError(f"The splits are a vector, got {brackets(input_splits)}.")
    size = input_splits[0] if input_splits.rank else None
    return TensorShape([None if size is None else size - 1])


@_encode.kernel(CPU)
def _encode_kernel(
    input_values: torch.Tensor, input_splits: torch.Tensor, *, output_encoding: str, errors: str, replacement_char: int
) -> Any:
    codec = _codec(output_encoding)
    made = [_character(code, codec, errors, replacement_char) for code in input_values.tolist()]
    ends = input_splits.tolist()
    rows = [b"".join(made[begin:end]) for begin, end in pairwise(ends)]
    return strings_of(rows, [len(rows)])


@export("strings.unicode_encode")
def unicode_encode(
    input: Any, output_encoding: str, errors: str = "replace", replacement_char: int = 0xFFFD, name: str | None = None
) -> Any:
    """Strings of the numbers of their characters: the last dimension becomes a string.

    Args:
        input: Integers: a tensor, or a ragged one.
        output_encoding: How to write them: ``"UTF-8"``, ``"UTF-16-BE"`` or ``"UTF-32-BE"``.
        errors: What becomes of numbers that are not a character: ``"strict"``, ``"replace"`` or ``"ignore"``.
        replacement_char: The number of the character that stands for them.
        name: A name for the op.
    """
    how, number = _checked(errors, replacement_char)
    attrs: dict[str, Any] = {"output_encoding": _word(output_encoding), "errors": how, "replacement_char": number}
    if isinstance(input, RaggedTensor):
        if input.ragged_rank > 1:
            return input.with_values(unicode_encode(input.values, output_encoding, errors, replacement_char))
        if input.flat_values.shape.rank == 1:
            return _encode(cast(input.values, dt.int32), cast(input.row_splits, dt.int64), **attrs)
        return input.with_values(unicode_encode(input.values, output_encoding, errors, replacement_char))
    given = cast(convert_to_tensor(input), dt.int32)
    if given.shape.rank in (0, None):
        raise ArgumentError(f"`input` has at least one dimension, got {shown(input)}.")
    if given.shape.rank == 1:
        ends = convert_to_tensor([0, 1], dt.int64) * shape_of(given, dt.int64)[0]
        return reshape(_encode(given, ends, **attrs), [])
    rows = RaggedTensor.from_tensor(reshape(given, [-1, given.shape[-1] or -1]))
    return reshape(unicode_encode(rows, output_encoding, errors, replacement_char), shape_of(given)[:-1])


_transcode = op(
    "UnicodeTranscode",
    "input: string -> output: string",
    traits={EACH_VALUE},
    input_encoding="UTF-8",
    output_encoding="UTF-8",
    errors="replace",
    replacement_char=65533,
    replace_control_characters=False,
)
_transcode.shape(same_shape)


@_transcode.kernel(CPU)
def _transcode_kernel(
    input: Any,
    *,
    input_encoding: str,
    output_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
) -> Any:
    source, target = _codec(input_encoding), _codec(output_encoding)
    made = []
    for item in input.ravel().tolist():
        codes = [code for code, _ in _codes(item, source, errors, replacement_char)]
        if replace_control_characters:
            codes = [replacement_char if code < 32 or 127 <= code < 160 else code for code in codes]
        made.append("".join(map(chr, codes)).encode(target))
    return strings_of(made, input.shape)


@export("strings.unicode_transcode")
def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Strings written in another encoding.

    Args:
        input: Strings.
        input_encoding: How they are written.
        output_encoding: How to write them.
        errors: What becomes of bytes that are not a character: ``"strict"``, ``"replace"`` or ``"ignore"``.
        replacement_char: The number of the character that stands for them.
        replace_control_characters: Whether it stands for control characters too.
        name: A name for the op.
    """
    how, number = _checked(errors, replacement_char)
    return _transcode(
        input,
        input_encoding=_word(input_encoding),
        output_encoding=_word(output_encoding),
        errors=how,
        replacement_char=number,
        replace_control_characters=as_bool(replace_control_characters, "replace_control_characters"),
        name=name,
    )
