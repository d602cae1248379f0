"""The arguments that layers are made with: kept as they were, and shown as plain data."""

from __future__ import annotations

import inspect
from typing import Any

from situs._src.base.dtype import DType
from situs._src.base.errors import ArgumentError
from situs._src.base.tree import listed

_SHAPES = ("input_shape", "batch_input_shape", "input_dim", "batch_shape", "batch_size", "input_dtype", "input_length")


class Arguments:
    """What a constructor was called with.

    Args:
        args: By position.
        kwargs: By name.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs

    def of(self, kind: type) -> dict[str, Any]:
        """The arguments by the names that the constructor of a class has for them, with its defaults."""
        signature = inspect.signature(kind.__init__)  # type: ignore[misc]
        bound = signature.bind(None, *self.args, **self.kwargs)
        bound.apply_defaults()
        found: dict[str, Any] = {}
        for name, parameter in list(signature.parameters.items())[1:]:
            if parameter.kind is parameter.VAR_KEYWORD:
                found.update(bound.arguments[name])
            elif parameter.kind is not parameter.VAR_POSITIONAL:
                found[name] = bound.arguments[name]
        return found


def plain(value: Any) -> Any:
    """A value as plain data: an object by its class and arguments, a function by its name."""
    if hasattr(value, "get_config") and not isinstance(value, type):
        return {"module": type(value).__module__, "class_name": type(value).__name__, "config": value.get_config()}
    if isinstance(value, DType):
        return value.name
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value) if type(value) in (list, tuple) else value
    return getattr(value, "__name__", value) if callable(value) else value


def split_legacy(kwargs: dict[str, Any], kind: str) -> tuple[Any, ...] | None:
    """The shape of the input, without the batch, if the first layer of a model was told it.

    Raises:
        DTypeError: there are arguments that no layer has.
    """
    unknown = sorted(kwargs.keys() - set(_SHAPES))
    if unknown:
        raise ArgumentError(f"Unrecognized keyword arguments passed to {kind}: {', '.join(unknown)}")
    whole = kwargs.get("batch_input_shape") or kwargs.get("batch_shape")
    if whole is not None:
        return tuple(listed(whole, "sizes"))[1:]
    if kwargs.get("input_dim") is not None:
        length = kwargs.get("input_length")
        return (kwargs["input_dim"],) if length is None else (length, kwargs["input_dim"])
    shape = kwargs.get("input_shape")
    return None if shape is None else tuple(listed(shape, "sizes"))
