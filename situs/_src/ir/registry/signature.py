"""Op signatures: inputs, outputs, and how their dtypes are related.

A signature is written as TensorFlow prints one:

    "a: T, b: T -> product: T"              two tensors of one dtype, one result of the same
    "x: T, shape: host -> T"                the second input is read on the host, as a Python value
    "values: T*, axis: host -> T"           any number of tensors of one dtype
    "x: T -> values: T, indices: int32"     two results
    "x: SrcT -> DstT"                       DstT occurs in no input: the caller passes it
    "ref: T&, value: T -> T&"               & marks state: the result is the new state

A lower-case dtype name is that dtype; ``host`` is a value such as a shape or an axis that
is a static argument of the op, not computed with; ``any`` is a tensor of any dtype, which need not be that of its
neighbours in a list; any other word is a type variable.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, shown

HOST = "host"
ANY = "any"
TENSOR, LIST = "tensor", "list"  # besides `HOST`, the kinds of inputs
NO_SIZE = "no size"  # a `HOST` input that cannot make a result large (`Op.takes_no_size`)


@dataclass(frozen=True)
class Arg:
    """One input or output: its name, its dtype or type variable, whether it is a list, or state."""

    name: str
    type: str | DType
    is_list: bool = False
    is_ref: bool = False

    @property
    def is_host(self) -> bool:
        """Whether the op reads this input on the host."""
        return self.type is HOST

    def __str__(self) -> str:
        kind = self.type.name if isinstance(self.type, DType) else self.type
        return f"{self.name}: {kind}{'*' if self.is_list else ''}{'&' if self.is_ref else ''}"


@dataclass(frozen=True)
class Signature:
    """The parsed form of a signature string."""

    inputs: tuple[Arg, ...]
    outputs: tuple[Arg, ...]

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """For each input, whether it is read on the host (`HOST`), a `TENSOR` or a `LIST` of them."""
        return tuple(HOST if arg.is_host else LIST if arg.is_list else TENSOR for arg in self.inputs)

    @property
    def variables(self) -> tuple[str, ...]:
        """Every type variable, in order of first appearance."""
        words = (arg.type for arg in self.inputs + self.outputs)
        return tuple(dict.fromkeys(w for w in words if isinstance(w, str) and w not in (HOST, ANY)))

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.inputs))} -> {', '.join(map(str, self.outputs))}"


def parse_signature(text: str) -> Signature:
    """Reads a signature string.

    Raises:
        ValueError: the text is not a signature.
    """
    left, arrow, right = text.partition("->") if isinstance(text, str) else ("", "", "")
    if not arrow:
        raise ArgumentError(f"An op signature is written 'inputs -> outputs', got {shown(text)}.")
    inputs, outputs = _parse_args(left, "input"), _parse_args(right, "output")
    if len({arg.name for arg in inputs}) != len(inputs):
        raise ArgumentError(f"The inputs of an op signature need different names, got {text!r}.")
    return Signature(inputs, outputs)


def _parse_args(text: str, default_name: str) -> tuple[Arg, ...]:
    pieces = [piece.strip() for piece in text.split(",") if piece.strip()]
    return tuple(_parse_arg(piece, default_name) for piece in pieces)


def _parse_arg(piece: str, default_name: str) -> Arg:
    name, colon, kind = piece.partition(":")
    if not colon:
        name, kind = default_name, piece
    kind = kind.strip()
    is_list, is_ref = kind.endswith("*"), kind.endswith("&")
    kind = kind.rstrip("*&").strip()
    if not kind.isidentifier() or not name.strip().isidentifier():
        raise ArgumentError(f"Cannot read {piece!r} in an op signature; write it like 'x: T'.")
    return Arg(name.strip(), _as_type(kind), is_list, is_ref)


def _as_type(kind: str) -> str | DType:
    if kind == HOST:
        return HOST  # the singleton, so that `is` works
    if kind == ANY:
        return ANY
    if not kind.islower():
        return kind
    try:
        return as_dtype(kind)
    except TypeError:
        return kind
