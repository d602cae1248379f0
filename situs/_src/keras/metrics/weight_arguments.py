"""The arguments of ``add_weight``, which Keras 2 and Keras 3 take in different orders.

add_weight("total", shape=(3,))             Keras 2: the name first
add_weight((3,), "zeros", name="total")     Keras 3: the shape first
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from situs._src.base.errors import DTypeError

_ACCEPTED = frozenset({  # for TensorFlow's programs, without effect
    "use_resource", "synchronization", "aggregation", "overwrite_with_gradient", "layout", "collections", "partitioner",
    "getter", "caching_device", "experimental_autocast",
})  # fmt: skip


def by_name(
    args: tuple[Any, ...], kwargs: dict[str, Any], keras2: Sequence[str], keras3: Sequence[str]
) -> dict[str, Any]:
    """The arguments of a call by their names.

    Args:
        args: Those given by position.
        kwargs: Those given by name.
        keras2: The names by position where the first argument is a string.
        keras3: The names by position where it is not.

    Raises:
        DTypeError: one is unknown, or given twice.
    """
    names = keras2 if args and isinstance(args[0], str) else keras3
    by_position = dict(zip(names, args, strict=False))
    if len(args) > len(names) or by_position.keys() & kwargs.keys():
        raise DTypeError(f"add_weight takes each of {', '.join(names)} once, got {len(args)} by position and {kwargs}.")
    unknown = sorted(kwargs.keys() - {*keras2, *keras3} - _ACCEPTED)
    if unknown:
        raise DTypeError(f"Unknown keyword arguments of add_weight: {', '.join(unknown)}.")
    return {**by_position, **kwargs}
