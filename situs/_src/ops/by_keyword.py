"""``tf.raw_ops``: every op as a function of keyword arguments, under TensorFlow's name.

    >>> import situs as tf
    >>> tf.raw_ops.Bucketize(input=[1.0, 5.0, 10.0], boundaries=[2.0, 8.0]).numpy().tolist()
    [0, 1, 2]

A function takes the declared inputs and attributes, and returns the result; several results as a named tuple. There is
one for each op of Situs.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from functools import cache
from typing import Any

from situs._src.base.dtype import DType, int32, int64
from situs._src.base.errors import DTypeError, NotFoundError
from situs._src.ir.registry.op import Op, all_ops, find_op

_LONG = frozenset({"ArgMax", "ArgMin"})  # whose results are int64 by default


@cache
def by_keyword(declared: Op) -> Callable[..., Any]:
    """An op as a function of keywords."""
    inputs = [arg.name for arg in declared.inputs]
    outputs = [arg.name for arg in declared.outputs]
    attrs = sorted(declared.attr_names)
    result: Any = namedtuple(declared.name, outputs) if len(outputs) > 1 else None

    def call(*positional: Any, name: str | None = None, **arguments: Any) -> Any:
        if positional:
            raise DTypeError(f"{declared.name} only takes keyword args (possible keys: {[*inputs, *attrs, 'name']}).")
        missing = [each for each in inputs if each not in arguments]
        if missing:
            raise DTypeError(f"{declared.name}() missing required keyword-only argument: {missing[0]!r}")
        unknown = arguments.keys() - {*inputs, *attrs}
        if unknown:
            raise DTypeError(
                f"{declared.name}() got an unexpected keyword argument {sorted(unknown)[0]!r}; it takes "
                f"{', '.join([*inputs, *attrs])}."
            )
        given = [arguments.pop(each) for each in inputs]
        chosen = {key: tuple(value) if isinstance(value, list) else value for key, value in arguments.items()}
        made = Op.apply(declared, tuple(given), {**_defaults(declared), **chosen}, name)
        return made if result is None else result(*made)

    call.__name__ = call.__qualname__ = declared.name
    call.__doc__ = f"{declared.name}({declared.signature})"
    return call


def _defaults(declared: Op) -> dict[str, DType]:
    """The dtypes that only the caller knows, where TensorFlow has a default for them: those of indices."""
    default = int64 if declared.name in _LONG else int32
    given = {name: declared.types[name] for name in declared.given_types}
    return {name: default for name, types in given.items() if default in types and all(t.is_integer for t in types)}


def attach(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Returns ``__getattr__``, ``__dir__`` and ``__all__`` for ``situs.raw_ops``, which has no names of its own."""

    def find(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        try:
            return by_keyword(find_op(name))
        except NotFoundError as error:
            raise AttributeError(f"module {module!r} has no attribute {name!r}: {error}") from None

    def names() -> list[str]:
        find_op("NoOp")  # loads all
        return list(all_ops())

    return find, names, []
