"""Tensors as text: ``tf.print``, ``tf.strings.format``, and TensorFlow 1's ``tf.Print``.

Text is made by one op per tensor, `TensorText`, and put together and printed by others, all on the
CPU whatever the scope says. A large tensor is shortened to the ends of each dimension:

    [[0 1 2 ... 4 5 6]
     ...
     [42 43 44 ... 46 47 48]]
"""

from __future__ import annotations

import collections
import itertools
import pprint
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.devices import scope
from situs._src.base.dtype import FIXED, STRING
from situs._src.base.errors import ArgumentError, DTypeError, NotFoundError, PermissionDeniedError, UnknownError
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, TensorShape
from situs._src.base.tensor import Tensor, read
from situs._src.base.typing import ArrayLike
from situs._src.ir.registry.traits import CHECK, VIEW
from situs._src.ops import strings
from situs._src.ops.attribute import as_int, as_word
from situs._src.ops.define import CPU, GPU, KernelValue, op, same_shape
from situs._src.runtime.run.state import Run

# One element.

_ESCAPES = {0x0A: r"\n", 0x0D: r"\r", 0x09: r"\t", 0x22: r"\"", 0x27: r"\'", 0x5C: r"\\"}


def _number_text(number: Any) -> str:
    """A number as C++ would stream it: enough digits to read it back, and no more."""
    if isinstance(number, (np.bool_, np.integer)):
        return str(int(number))
    if isinstance(number, np.complexfloating):
        return f"({_number_text(number.real)},{_number_text(number.imag)})"
    short, long = (6, 9) if isinstance(number, np.float32) else (15, 17)
    text = f"{float(number):.{short}g}"
    with np.errstate(over="ignore"):  # the largest number rounds up beyond it
        exact = type(number)(text) == number or number != number
    return text if exact else f"{float(number):.{long}g}"


def _quoted(item: bytes) -> str:
    return '"' + "".join(_escaped(byte) for byte in item) + '"'


def _escaped(byte: int) -> str:
    if byte in _ESCAPES:
        return _ESCAPES[byte]
    # Bytes of UTF-8 pass through, one character each until the text is encoded again.
    return f"\\{byte:03o}" if byte < 0x20 or byte == 0x7F else chr(byte)


def _raw(item: bytes) -> str:
    return item.decode("latin-1")


# One tensor.

NEW, OLD = "new", "old"  # the styles of tf.print and of tf.Print

_text = op("TensorText", "x: T -> text: string", summarize=3, style=NEW)


@_text.shape
def _text_shape(x: TensorShape, *, summarize: int, style: str) -> TensorShape:
    return SCALAR


@_text.kernel(CPU, T=FIXED)
def _text_of_numbers(x: torch.Tensor, *, summarize: int, style: str) -> np.ndarray[Any, Any]:
    return strings.strings_of([text_of(x, summarize, style)], ())


@_text.kernel(CPU, T=STRING)
def _text_of_strings(x: KernelValue, *, summarize: int, style: str) -> np.ndarray[Any, Any]:
    return strings.strings_of([text_of(x, summarize, style)], ())


def text_of(value: object, summarize: int, style: str) -> bytes:
    """The value of a tensor as text, for kernels."""
    if not isinstance(value, torch.Tensor):
        return _summary(value, summarize, style, _quoted if style == NEW else _raw).encode("latin-1")
    if value.dtype in (torch.float16, torch.bfloat16):
        value = value.to(torch.float32)
    array = value.cpu().resolve_conj().resolve_neg().numpy()
    return _summary(array, summarize, style, _number_text).encode("latin-1")


def _summary(array: Any, summarize: int, style: str, element: Callable[[Any], str]) -> str:
    if style == OLD:
        # The first `summarize` elements; rows in brackets, but none around the whole.
        limit = array.size if summarize < 0 else min(summarize, array.size)
        text = _rows(np.atleast_1d(array), limit, element, outermost=True)
        return text + ("..." if array.size > limit else "")
    return _bracketed(array, array.size if summarize < 0 else min(summarize, array.size), element)


def _bracketed(array: Any, ends: int, element: Callable[[Any], str], depth: int = 1) -> str:
    """The elements in brackets, at most `ends` of them at each end of a dimension."""
    if np.ndim(array) == 0:
        return element(array[()] if isinstance(array, np.ndarray) else array)
    gap = " " if array.ndim == 1 else "\n" * (array.ndim - 1) + " " * depth
    first = [_bracketed(item, ends, element, depth + 1) for item in array[:ends]]
    last = [_bracketed(item, ends, element, depth + 1) for item in array[max(ends, len(array) - ends) :]]
    middle = ["..."] if len(array) > 2 * ends else []
    return "[" + gap.join(first) + "".join(gap + text for text in middle + last) + "]"


def _rows(array: Any, limit: int, element: Callable[[Any], str], outermost: bool = False) -> str:
    if array.ndim == 1:
        cut = "" if outermost or len(array) <= limit else "..."
        return " ".join(element(item) for item in array[:limit]) + cut
    size = int(np.prod(array.shape[1:], dtype=np.int64))
    shown = -(-limit // size) if size else 0  # rows of which at least one element is shown
    return "".join(f"[{_rows(row, limit - i * size, element)}]" for i, row in enumerate(array[:shown]))


def tensor_text(tensor: ArrayLike, summarize: int = 3, style: str = NEW) -> Tensor:
    """A tensor as a string scalar."""
    with scope.device(None):
        return _text(tensor, summarize=as_int(summarize, "summarize"), style=style)


@export("strings.format")
def format(
    template: str, inputs: ArrayLike, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """Puts tensors as text into a template.

    Args:
        template: A text with a placeholder for each tensor.
        inputs: A tensor, or a list or tuple of tensors.
        placeholder: What stands for a tensor in the template.
        summarize: How many elements to show at each end of a dimension; -1 for all.
        name: A name for the op.

    Raises:
        ValueError: the template has not as many placeholders as there are inputs.
    """
    if not isinstance(template, str) or not isinstance(placeholder, str) or not placeholder:
        raise DTypeError(f"A template and its placeholder are strings, got {template!r} and {placeholder!r}.")
    tensors = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    pieces = template.split(placeholder)
    if len(pieces) - 1 != len(tensors):
        raise ArgumentError(
            f"The template expects {len(pieces) - 1} tensors, but the inputs only has {len(tensors)}. Please ensure "
            "the number of placeholders in template matches inputs length."
        )
    texts = [tensor_text(tensor, summarize) for tensor in tensors]
    with scope.device(None):
        return strings.join([pieces[0], *itertools.chain(*zip(texts, pieces[1:], strict=True))], name=name)


# Printing.

_print = op("PrintV2", "input: host ->", traits={CHECK}, stateful=True, output_stream="stderr", end="\n")


@_print.shape
def _print_shape(input: Any, *, output_stream: Any, end: str) -> list[TensorShape]:
    return []


@_print.kernel(CPU)
def _print_kernel(input: Any, *, output_stream: Any, end: str) -> tuple[()]:
    text = input if isinstance(input, bytes) else str(input).encode(errors="backslashreplace")
    if callable(output_stream):
        output_stream(text.decode(errors="backslashreplace"))
    elif output_stream.startswith("file://"):
        _append(Path(output_stream.removeprefix("file://")), text + end.encode(errors="backslashreplace"))
    else:
        _write(output_stream, text + end.encode(errors="backslashreplace"))
    return ()


def _write(stream: str, text: bytes) -> None:
    """Writes to what Python calls its output now, which notebooks and tests exchange."""
    target = sys.stdout if stream == "stdout" else sys.stderr
    target.write(text.decode(errors="backslashreplace"))
    target.flush()


def _append(path: Path, text: bytes) -> None:
    try:
        with path.open("ab") as file:
            file.write(text)
    except FileNotFoundError:
        raise NotFoundError(f"{path}; No such file or directory") from None
    except PermissionError:
        raise PermissionDeniedError(f"{path}; Permission denied") from None
    except OSError as error:
        raise UnknownError(f"{path}; {error.strerror}") from None


@export("print")
def print(
    *inputs: Any,
    output_stream: Any = None,
    end: str = "\n",
    sep: str = " ",
    summarize: int = 3,
    name: str | None = None,
) -> list[Tensor] | None:
    """Prints tensors and other values, on standard error unless told otherwise.

    Args:
        inputs: Tensors, Python values, and lists, tuples and dictionaries of them.
        output_stream: ``sys.stderr``, ``sys.stdout``, ``"file://"`` and a path to append to, or a
            function that logs a text.
        end: What to print at the end.
        sep: What to print between two inputs.
        summarize: How many elements of a tensor to show at each end of a dimension; -1 for all.
        name: A name for the op.
    """
    end, sep = as_word(end, "end"), as_word(sep, "sep")
    text = _joined_texts(inputs, sep, as_int(summarize, "summarize"))
    with scope.device(None):
        return _print.many(text, output_stream=_stream(output_stream), end=end, name=name) or None


def _stream(output_stream: Any) -> Any:
    """The output as the op keeps it: a name, or a function."""
    for name in ("stderr", "stdout"):
        if output_stream is getattr(sys, name) or output_stream is getattr(sys, f"__{name}__"):
            return name
    if output_stream is None:
        return "stderr"
    if callable(output_stream) or (isinstance(output_stream, str) and output_stream.startswith("file://")):
        return output_stream
    raise ArgumentError(
        f"Unsupported output stream, logging level, or file.{output_stream}. Supported streams are sys.stdout, "
        "sys.stderr, and functions such as logging.info. File needs to be in the form of 'file://<filepath>'."
    )


def _joined_texts(inputs: tuple[Any, ...], sep: str, summarize: int) -> Any:
    if len(inputs) == 1 and isinstance(read(inputs[0]), Tensor):
        only = read(inputs[0])
        if only.dtype is dt.string and only.shape.rank == 0:
            return only  # printed as it is
    pieces: list[Any] = []
    for number, value in enumerate(inputs):
        if number:
            pieces.append(sep)
        pieces += _pieces(value, summarize)
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces)
    with scope.device(None):
        return strings.join(pieces)


def _pieces(value: object, summarize: int) -> list[Any]:
    """A value as texts and string tensors to be joined."""
    if isinstance(value, str):
        return [value]
    tensors: list[Any] = []
    try:
        shown = pprint.pformat(_with_holes(value, tensors))
    except RecursionError:
        raise ArgumentError("Cannot print a structure that contains itself, or is nested without end.") from None
    texts = iter(_HOLE.split(shown))
    pieces: list[Any] = [next(texts)]
    for number, text in zip(texts, texts, strict=True):  # in turn the number of a tensor and the text behind it
        pieces += [tensor_text(tensors[ord(number) - _FIRST], summarize), text]
    return pieces


# A tensor's place in a pretty-printed structure: as wide as TensorFlow's '{}', so that lines break at the
# same places, and of characters that the repr of a string would escape.
_FIRST = 0xF0000
_HOLE = re.compile("\ue000([\U000f0000-\U0010ffff])\ue000\ue000")


class _Hole:
    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"\ue000{chr(_FIRST + self.number)}\ue000\ue000"


def _with_holes(value: object, tensors: list[Any]) -> Any:
    """The structure with its tensors replaced by holes, and taken out into a list."""
    value = read(value)
    if isinstance(value, Tensor):
        tensors.append(value)
        return _Hole(len(tensors) - 1)
    if isinstance(value, dict):
        kind = collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict
        return kind((key, _with_holes(item, tensors)) for key, item in value.items())
    if isinstance(value, tuple):
        items = [_with_holes(item, tensors) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, (list, range)):
        return [_with_holes(item, tensors) for item in value]
    return value


# TensorFlow 1's Print: an identity that prints other tensors.

_print_v1 = op(
    "Print", "input: T, data: host -> output: T", traits={CHECK, VIEW}, stateful=True, message="", first_n=-1, count=""
)
_counts = itertools.count()  # each op counts its turns under a key of its own, in the state of the session


@_print_v1.shape
def _print_v1_shape(input: TensorShape, data: Any, **attrs: Any) -> TensorShape:
    return same_shape(input)


@_print_v1.kernel(CPU)
@_print_v1.kernel(GPU, T=FIXED)
def _print_v1_kernel(
    input: KernelValue, data: KernelValue, *, message: str, first_n: int, count: str, run: Run | None = None
) -> KernelValue:
    turn = 0 if run is None or first_n < 0 else run.state.count(count)
    if first_n < 0 or turn < first_n:
        _write("stderr", message.encode() + b"".join(b"[" + text + b"]" for text in data) + b"\n")
    return input


_print_v1.gradient(lambda grad: grad)


@export(v1="Print")
def Print(  # noqa: N802 - the name programs use
    input_: ArrayLike,
    data: ArrayLike,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns `input_`, and prints the tensors of `data` on standard error each time it is computed.

    Args:
        input_: A tensor.
        data: A list of tensors to print.
        message: What to print before them.
        first_n: How often to print at most; None for always.
        summarize: How many elements of each tensor to print; 3 by default, -1 for all.
        name: A name for the op.
    """
    if not isinstance(data, (list, tuple)):
        raise DTypeError(f"Print takes a list of tensors to print, got {data!r}.")
    shown = 3 if summarize is None else as_int(summarize, "summarize")
    texts = [tensor_text(item, shown, OLD) for item in data]
    limit = -1 if first_n is None else as_int(first_n, "first_n")
    said = "" if message is None else as_word(message, "message")
    return _print_v1(input_, texts, message=said, first_n=limit, count=f"Print {next(_counts)}", name=name)
