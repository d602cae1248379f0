"""The kind of a call: what a graph is made for.

Tensors and arrays count by dtype and shape: their values come in when the graph runs. Everything else is part
of the kind itself, numbers and words by their value, other objects by their identity:

    f(x, [y, 2], mode="fast")      form    ((*, [*, 2]), {mode: "fast"})
                                   specs   float32[3], int32[]

An object is held weakly, so that a graph made for it does not keep it alive.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MethodType
from typing import Any
from weakref import ref

import numpy as np
import torch

from situs._src.base.errors import DTypeError
from situs._src.base.tensor import Tensor
from situs._src.base.tree import LEAF, put_together, take_apart
from situs._src.runtime.eager.convert import to_tensor
from situs._src.tracing.spec import TensorSpec

_BY_VALUE = (bool, int, str, bytes, type(None))
_ARRAYS = (np.ndarray, np.generic, torch.Tensor)
_TENSORS = (Tensor, TensorSpec, *_ARRAYS)


class Literal:
    """An argument that is no tensor. Equal to another if a graph made for the one serves the other."""

    __slots__ = ("_key", "_value")

    def __init__(self, value: Any) -> None:
        self._key, self._value = _key_of(value)

    @property
    def value(self) -> Any:
        """The argument; None if it was an object that is gone."""
        return self._value() if isinstance(self._value, ref) else self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return repr(self.value)


def _key_of(value: Any) -> tuple[Any, Any]:
    """What an argument is compared by, and the argument or a reference to it.

    Raises:
        TypeError: it may change without notice.
    """
    kind = type(value)
    if kind in _BY_VALUE:
        return (kind, value), value
    if kind is float or kind is complex:
        return (kind, repr(value)), value  # tells 0.0 from -0.0, and finds a NaN again
    if kind is MethodType:  # made anew each time that it is looked up
        return (kind, _identity(value.__self__), _identity(value.__func__)), value
    if getattr(kind, "__hash__", None) is None and kind.__module__ == "builtins":
        raise DTypeError(
            f"A tf.function cannot take {value!r}: it is no tensor and could change after the graph is made, as it is "
            "not hashable. Pass a tensor, a tuple, or an object of your own."
        )
    try:
        weakly = ref(value)
    except TypeError:  # such as a range, or a named number; one without a hash counts by its identity
        return (kind, id(value) if kind.__hash__ is None else value), value
    return (kind, _Identity(weakly)), weakly


def _identity(value: object) -> _Identity | int:
    try:
        return _Identity(ref(value))
    except TypeError:
        return id(value)


class _Identity:
    """Stands for one object. There is one reference of its kind for an object, as long as somebody holds it."""

    __slots__ = ("_ref",)

    def __init__(self, weakly: ref[Any]) -> None:
        self._ref = weakly

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self._ref is other._ref

    def __hash__(self) -> int:
        return id(self._ref)


class Kind:
    """The form of some arguments, and the dtypes and shapes of the tensors in them."""

    __slots__ = ("_key", "form", "specs")

    def __init__(self, form: Any, specs: Sequence[TensorSpec]) -> None:
        self.form = form
        self.specs = tuple(specs)
        self._key = (form, *[(spec.dtype, spec.shape) for spec in specs])

    def structure(self, leaves: Sequence[Any], specs: bool = False) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, with `leaves` in the place of the tensors, and the specs of composites if asked for."""
        return put_together(self.form, leaves, _value_of, specs)  # type: ignore[no-any-return]

    def accepts(self, other: Kind) -> bool:
        """Whether a graph made for this kind serves the other."""
        return self.form == other.form and all(
            theirs.is_subtype_of(ours) for ours, theirs in zip(self.specs, other.specs, strict=True)
        )

    def widened(self, other: Kind) -> Kind:
        """The kind that serves another one too, if only shapes differ; else this one."""
        if self.form != other.form:
            return self
        specs = [a.most_specific_common_supertype([b]) for a, b in zip(self.specs, other.specs, strict=True)]
        found = [spec for spec in specs if spec is not None]
        return self if len(found) < len(specs) else Kind(self.form, found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kind) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _value_of(literal: Literal) -> Any:
    return literal.value


def kind_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Kind, list[Any]]:
    """The kind of some arguments, and the tensors in them; for a TensorSpec, the spec itself."""
    form, leaves = take_apart((args, kwargs), keep, _is_range, factories=False)
    tensors = [to_tensor(leaf) if isinstance(leaf, _ARRAYS) else leaf for leaf in leaves]
    return Kind(form, [_spec_of(tensor) for tensor in tensors]), tensors


def _is_range(structure: object) -> bool:
    return type(structure) is range  # a value, as a number is


def keep(leaf: object) -> Any:
    """What stands in the form of a call for an argument."""
    return LEAF if isinstance(leaf, _TENSORS) else Literal(leaf)


def _spec_of(tensor: Any) -> TensorSpec:
    return tensor if isinstance(tensor, TensorSpec) else TensorSpec(tensor.shape, tensor.dtype)
