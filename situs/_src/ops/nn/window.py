"""Sliding windows: the common part of convolution and pooling.

`slide` computes how many windows fit and how much padding they take, exactly as TensorFlow does:
``SAME`` puts the odd element of padding at the end. Strides and dilations are vectors with one
entry per dimension of the input, in the order of the data format (``(1, 2, 2, 1)`` for ``NHWC``).

PyTorch keeps channels before the spatial dimensions. `channels_first` gives its view of a tensor
without a copy: a contiguous ``NHWC`` tensor is what PyTorch calls channels-last memory.
One spatial dimension is treated as two, of which the first has size 1, because PyTorch has
channels-last kernels for two and three dimensions only.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch

from situs._src.base.errors import ArgumentError, DTypeError, InvalidArgumentError, UnimplementedError, shown
from situs._src.base.shapes import Dim, TensorShape
from situs._src.base.typing import PaddingLike
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.attribute import as_int, as_word, plain
from situs._src.runtime.eager.convert import to_array

FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}

_TO_FIRST = {1: (0, 2, 1), 2: (0, 3, 1, 2), 3: (0, 4, 1, 2, 3)}
_TO_LAST = {1: (0, 2, 1), 2: (0, 2, 3, 1), 3: (0, 2, 3, 4, 1)}


class Slide(NamedTuple):
    """How windows lie along the spatial dimensions: how many, the padding around the input, the steps."""

    counts: tuple[Dim, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]

    def lifted(self) -> Slide:
        """The same for PyTorch, which sees one spatial dimension as two."""
        if len(self.counts) > 1:
            return self
        return Slide((1, *self.counts), (0, *self.before), (0, *self.after), (1, *self.strides), (1, *self.dilations))

    def amounts(self) -> list[int]:
        """The padding as ``torch.nn.functional.pad`` takes it, last dimension first."""
        return [amount for pair in zip(self.before[::-1], self.after[::-1], strict=True) for amount in pair]


def multiplications(node: Operation) -> int | None:
    """How many multiplications a convolution takes, or its way back: for each result, those of one filter."""
    results, second = node.outputs[0].shape.num_elements(), node.inputs[1].shape
    count = second.num_elements()
    return None if results is None or count is None else results * (count // (second[-1] or 1))


# What the program passed.


def rank_of(value: object) -> int | None:
    """The rank of a tensor, or of anything that can become one; None if it is unknown."""
    return shape_of(value).rank


def shape_of(value: object) -> TensorShape:
    """The shape of a tensor, or of anything that can become one, as far as it is known."""
    shape = getattr(value, "shape", None)
    return TensorShape(to_array(value)[0].shape if shape is None else shape)


def format_of(data_format: str | None, n: int) -> str:
    """The data format for `n` spatial dimensions; channels come last by default.

    Raises:
        InvalidArgumentError: there is no such format.
    """
    last, first = FORMATS[n]
    if data_format is None or as_word(data_format, "data_format") == last:
        return last
    if data_format == first:
        return first
    if n == 1 and data_format in FORMATS[2]:  # TensorFlow runs one dimension as two and takes those names too
        return first if data_format == "NCHW" else last
    raise InvalidArgumentError(
        f'Value for attr \'data_format\' of "{data_format}" is not in the list of allowed values: "{last}", "{first}"'
    )


def vector(value: object, n: int, data_format: str, name: str) -> tuple[int, ...]:
    """Strides, dilations or window sizes as one entry per dimension of the input.

    Args:
        value: One number, one per spatial dimension, or one per dimension; None for all ones.
        n: The number of spatial dimensions.
        data_format: Where the channels stand.
        name: What the error messages call it.

    Raises:
        InvalidArgumentError: the length or an entry is wrong.
    """
    entries = _entries(value, name)
    if len(entries) == n + 2:
        return entries
    if len(entries) == 1:
        entries *= n
    elif len(entries) != n:
        raise ArgumentError(
            f"{name} should be of length 1, {n} or {n + 2}. Received: {name}={value} of length {len(entries)}"
        )
    return (1, 1, *entries) if data_format[1] == "C" else (1, *entries, 1)


def _entries(value: object, name: str) -> tuple[int, ...]:
    if value is None:
        return (1,)
    if type(value) is int:
        return (value,)
    if isinstance(value, SymbolicTensor):
        value = plain(value, name)
    try:
        items = value if isinstance(value, (list, tuple)) else np.atleast_1d(np.asarray(value)).tolist()
        return tuple(as_int(item, name) for item in items)
    except TypeError:
        raise DTypeError(f"Expected int or list of ints for argument '{name}' not {value!r}.") from None


def as_padding(padding: PaddingLike, n: int) -> tuple[str, tuple[int, ...]]:
    """The kind of padding, and the amounts when they are explicit.

    Raises:
        InvalidArgumentError: it is not a kind of padding, nor a pair for each dimension.
    """
    if isinstance(padding, str):
        if padding in ("SAME", "VALID"):
            return padding, ()
        raise InvalidArgumentError(
            f'Value for attr \'padding\' of "{padding}" is not in the list of allowed values: "SAME", "VALID"; '
            "explicit padding is a list of pairs"
        )
    if isinstance(padding, np.ndarray):
        padding = padding.tolist()
    if not isinstance(padding, (list, tuple)):
        raise DTypeError(f"Expected string for argument 'padding' not {shown(padding)}.")
    if len(padding) != n + 2:
        raise ArgumentError(
            f"When padding is a list, it must be of size {n + 2}. Received: padding={shown(padding)} of size "
            f"{len(padding)}"
        )
    return "EXPLICIT", tuple(amount for pair in padding for amount in _pair(pair, padding))


def _pair(pair: Any, padding: PaddingLike) -> tuple[int, ...]:
    amounts = pair.tolist() if isinstance(pair, np.ndarray) else pair
    if not isinstance(amounts, (list, tuple)) or len(amounts) != 2:
        raise ArgumentError(f"Each element of padding must be a list of size 2. Received: padding={padding}")
    return _entries(amounts, "padding")


def attributes(n: int, strides: Any, padding: PaddingLike, data_format: str | None, dilations: Any) -> dict[str, Any]:
    """The attributes of an op with windows, from what the program passed."""
    data_format = format_of(data_format, n)
    kind, explicit = as_padding(padding, n)
    return {
        "strides": vector(strides, n, data_format, "strides"),
        "padding": kind,
        "explicit_paddings": explicit,
        "data_format": data_format,
        "dilations": vector(dilations, n, data_format, "dilations"),
    }


def defaults(n: int) -> dict[str, Any]:
    """The attributes of an op with windows when the program passes none."""
    return attributes(n, None, "VALID", None, None)


def passing_on(rule: Callable[..., Any], *more: str) -> Callable[..., Any]:
    """A gradient rule that takes the attributes of an op with windows as ``**window``, to pass them on.

    A rule names what it wants, so this one names them for it; `more` are other attributes that it takes.
    """
    given = inspect.signature(rule).parameters.values()
    named = [parameter for parameter in given if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
    kind = inspect.Parameter.KEYWORD_ONLY
    named += [inspect.Parameter(name, kind) for name in (*more, *defaults(2)) if name not in {p.name for p in named}]

    def whole(*args: Any, **window: Any) -> Any:
        return rule(*args, **window)

    whole.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    return whole


# How windows lie.


@lru_cache(maxsize=4096)
def slide(
    sizes: tuple[Dim, ...],
    windows: tuple[Dim, ...],
    data_format: str,
    *,
    strides: tuple[int, ...],
    padding: str,
    explicit_paddings: tuple[int, ...],
    dilations: tuple[int, ...],
) -> Slide:
    """Lays windows over the spatial dimensions of an input.

    Args:
        sizes: The input's spatial sizes; None where unknown.
        windows: The sizes of a window, before dilation; None where unknown.
        data_format: Where the channels stand.
        strides: The steps, one per dimension of the input.
        padding: ``"SAME"``, ``"VALID"`` or ``"EXPLICIT"``.
        explicit_paddings: The amounts of explicit padding, two per dimension of the input.
        dilations: The distances between elements of a window, one per dimension of the input.

    Raises:
        InvalidArgumentError: a number is out of range, or no window could ever fit.
    """
    steps = spatial(strides, data_format, "strides")
    gaps = spatial(dilations, data_format, "dilations")
    pairs = _explicit_pairs(explicit_paddings, data_format) if padding == "EXPLICIT" else ((0, 0),) * len(sizes)
    laid = [_slide_one(*each, padding) for each in zip(sizes, windows, steps, gaps, pairs, strict=True)]
    counts, before, after = zip(*laid, strict=True)
    return Slide(counts, before, after, steps, gaps)


def spatial(full: Sequence[int], data_format: str, name: str) -> tuple[int, ...]:
    """The spatial entries of a vector.

    Raises:
        InvalidArgumentError: an entry is not positive.
        UnimplementedError: the vector says something of batch or channels.
    """
    first = data_format[1] == "C"
    entries = tuple(full[2:] if first else full[1:-1])
    if full[0] != 1 or full[1 if first else -1] != 1:
        raise UnimplementedError(
            f"Current implementation does not yet support {name} in the batch and depth dimensions, got {list(full)}."
        )
    if min(entries) <= 0:
        raise ArgumentError(f"The spatial {name} should be larger than 0, got {list(full)}.")
    return entries


def _explicit_pairs(explicit: tuple[int, ...], data_format: str) -> tuple[tuple[int, int], ...]:
    pairs = tuple(zip(explicit[::2], explicit[1::2], strict=True))
    if min(explicit) < 0:
        raise ArgumentError(f"All elements of explicit_paddings must be nonnegative, got {list(explicit)}")
    first = data_format[1] == "C"
    if any(pairs[0]) or any(pairs[1 if first else -1]):
        raise ArgumentError(
            f"Nonzero explicit padding in the batch or depth dimensions is not supported, got {list(explicit)}"
        )
    return pairs[2:] if first else pairs[1:-1]


def _slide_one(
    size: Dim, window: Dim, stride: int, dilation: int, pair: tuple[int, int], padding: str
) -> tuple[Dim, int, int]:
    if size is None or (window is None and padding != "SAME"):
        return None, 0, 0
    reach = 1 if window is None else (window - 1) * dilation + 1
    if padding == "SAME":
        count = -(-size // stride)
        total = max((count - 1) * stride + reach - size, 0)
        return count, total // 2, total - total // 2
    room = size + sum(pair) - reach + stride
    count = room // stride if room >= 0 else -(-room // stride)  # C++ rounds towards zero
    if count < 0:
        raise ArgumentError(
            f"Computed output size would be negative: {count} [input_size: {size + sum(pair)}, "
            f"effective_filter_size: {reach}, stride: {stride}]"
        )
    return count, *pair


# PyTorch's view of it.


def channels_first(x: torch.Tensor, n: int, data_format: str) -> torch.Tensor:
    """PyTorch's view of an input: channels first, and at least two spatial dimensions."""
    if data_format[1] != "C":
        x = x.permute(_TO_FIRST[n])
    return x.unsqueeze(2) if n == 1 else x


def as_given(y: torch.Tensor, n: int, data_format: str) -> torch.Tensor:
    """The way back from `channels_first`."""
    if n == 1:
        y = y.squeeze(2)
    return y if data_format[1] == "C" else y.permute(_TO_LAST[n])


def split_shape(shape: TensorShape, n: int, data_format: str) -> tuple[TensorShape, Dim, tuple[Dim, ...]]:
    """A shape of known rank as batch dimensions, channels, and spatial sizes."""
    batch = shape[: -n - 1]
    if data_format[1] == "C":
        return batch, shape[-n - 1], tuple(shape[-n:])
    return batch, shape[-1], tuple(shape[-n - 1 : -1])


def join_shape(batch: TensorShape, channels: Dim, sizes: Sequence[Dim], data_format: str) -> TensorShape:
    """The way back from `split_shape`."""
    return batch + ([channels, *sizes] if data_format[1] == "C" else [*sizes, channels])
