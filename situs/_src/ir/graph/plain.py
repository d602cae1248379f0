"""Values as JSON: host inputs, and attributes that no field of an ``AttrValue`` can represent.

    >>> from situs._src.base.dtype import float32
    >>> dumps((2, None, float32))
    '[2, null, {"dtype": "float32"}]'
    >>> loads('[2, null, {"dtype": "float32"}]')
    (2, None, tf.float32)

Numbers, strings, None and tuples are plain JSON; anything else is an object with one key that names its type.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, InvalidArgumentError
from situs._src.base.shapes import TensorShape
from situs._src.base.tree import MAX_DEPTH

Number = Callable[[Any], int | None]


class NotPlainError(InvalidArgumentError):
    """The value is a Python object of this process."""


def dumps(value: object, number: Number = lambda value: None) -> str:
    """The value as JSON text.

    Args:
        value: Numbers, strings, dtypes, shapes, slices, and tuples of them.
        number: Returns the index of an input for a tensor; None if it is not an input.

    Raises:
        NotPlainError: it contains something else.
    """
    return json.dumps(_written(value, number))


def _written(value: object, number: Number) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)):
        return [_written(item, number) for item in value]
    if (position := number(value)) is not None:
        return {"input": position}
    for name, (kind, write, _) in _KINDS.items():
        if isinstance(value, kind):
            return {name: write(value)}
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "ndim", None) == 0:  # a NumPy number
        return _written(item(), number)
    raise NotPlainError(f"a Python object of type {type(value).__name__}")


def loads(text: str | bytes, inputs: Sequence[Any] = ()) -> Any:
    """The value for a text of `dumps`, with `inputs` for its tensors.

    Raises:
        InvalidArgumentError: the text is invalid.
    """
    try:
        return _read(json.loads(text), inputs, 0)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise ArgumentError(f"Cannot read the value {text[:100]!r}: {error}.") from None


def _read(content: object, inputs: Sequence[Any], depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ArgumentError(f"it is nested more than {MAX_DEPTH} deep")
    if isinstance(content, list):
        return tuple(_read(item, inputs, depth + 1) for item in content)
    if not isinstance(content, dict):
        return content
    ((name, inside),) = content.items()
    return inputs[inside] if name == "input" else _KINDS[name][2](inside)


def inputs_in(text: str | bytes) -> set[int]:
    """The indices of the inputs in a text of `dumps`."""
    numbers: set[int] = set()

    class Everything:
        def __getitem__(self, number: Any) -> None:
            numbers.add(int(number))

    loads(text, Everything())  # type: ignore[arg-type]
    return numbers


_KINDS: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "bytes": (bytes, lambda v: base64.b64encode(v).decode(), lambda v: base64.b64decode(v, validate=True)),
    "dtype": (DType, lambda v: v.name, as_dtype),
    "shape": (TensorShape, lambda v: None if v.rank is None else v.as_list(), TensorShape),
    "slice": (slice, lambda v: [v.start, v.stop, v.step], lambda v: slice(*v)),
    "complex": (complex, lambda v: [v.real, v.imag], lambda v: complex(*v)),
}
