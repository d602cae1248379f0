"""The signature of a call, called its *kind*: what a graph is traced for.

Tensors and arrays are described by dtype and shape; their values are inputs of the graph. Everything else is part
of the signature itself, numbers and strings by value, other objects by identity:

    f(x, [y, 2], mode="fast")      form    ((*, [*, 2]), {mode: "fast"})
                                   specs   float32[3], int32[]

An object is held weakly, so that a graph made for it does not keep it alive. One whose class has a method
``__tf_tracing_type__`` counts by what that returns, a `TraceType`, which also says what it is while a graph is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import MethodType
from typing import Any
from weakref import ref

import numpy as np
import torch

from situs._src.base.errors import DTypeError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.tree import LEAF, put_together, take_apart
from situs._src.runtime.eager.convert import to_tensor
from situs._src.tracing.spec import TensorSpec

_BY_VALUE = (bool, int, str, bytes, type(None))
_ARRAYS = (np.ndarray, np.generic, torch.Tensor)
_TENSORS = (Tensor, TensorSpec, *_ARRAYS)


@export("types.experimental.TraceType")
class TraceType(ABC):
    """What an argument of a ``tf.function`` counts as: a graph made for one serves others that are equal to it.

    Classes say so by a method ``__tf_tracing_type__(self, context)`` that returns one; it can be hashed and compared.
    """

    @abstractmethod
    def is_subtype_of(self, other: TraceType) -> bool:
        """Whether a graph made for `other` serves this."""

    @abstractmethod
    def most_specific_common_supertype(self, others: Sequence[TraceType]) -> TraceType | None:
        """What serves this and others; None if nothing does."""

    @abstractmethod
    def placeholder_value(self, placeholder_context: Any = None) -> Any:
        """What the function is given while its graph is made."""

    def cast(self, value: Any, cast_context: Any = None) -> Any:
        """What the graph is given for a value."""
        return value

    def flatten(self) -> list[Any]:
        """The kinds of the tensors in it."""
        return []

    def to_tensors(self, value: Any) -> list[Any]:
        """The tensors in a value."""
        return []

    def from_tensors(self, tensors: Any) -> Any:
        """A value of tensors."""
        return self.placeholder_value()

    @abstractmethod
    def __hash__(self) -> int:
        """The same for those that are equal."""

    @abstractmethod
    def __eq__(self, other: object) -> bool:
        """Whether a graph made for one serves the other."""


class Literal:
    """An argument that is not a tensor. Equal to another if a graph traced for one can serve the other."""

    __slots__ = ("_key", "_value")

    def __init__(self, value: Any) -> None:
        self._key, self._value = _key_of(value)

    @property
    def value(self) -> Any:
        """The argument; None if it was an object that has been freed."""
        return self._value() if isinstance(self._value, ref) else self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return repr(self.value)


def _key_of(value: Any) -> tuple[Any, Any]:
    """The key of an argument, and the argument or a reference to it.

    Raises:
        TypeError: it may change without notice.
    """
    kind = type(value)
    if kind in _BY_VALUE:
        return (kind, value), value
    if hasattr(kind, "__tf_tracing_type__"):
        counts_as = value.__tf_tracing_type__(None)
        return (TraceType, counts_as), counts_as.placeholder_value(None)
    if kind is float or kind is complex:
        return (kind, repr(value)), value  # distinguishes 0.0 from -0.0, and NaN equals itself
    if kind is MethodType:  # created anew at each attribute access
        return (kind, _identity(value.__self__), _identity(value.__func__)), value
    if getattr(kind, "__hash__", None) is None and kind.__module__ == "builtins":
        raise DTypeError(
            f"A tf.function cannot take {value!r}: it is no tensor and could change after the graph is made, as it is "
            "not hashable. Pass a tensor, a tuple, or an object of your own."
        )
    try:
        weakly = ref(value)
    except TypeError:  # such as a range, or an enum; unhashable ones count by identity
        return (kind, id(value) if kind.__hash__ is None else value), value
    return (kind, _Identity(weakly)), weakly


def _identity(value: object) -> _Identity | int:
    try:
        return _Identity(ref(value))
    except TypeError:
        return id(value)


class _Identity:
    """Stands for one object. There is one weak reference per object, as long as it is in use."""

    __slots__ = ("_ref",)

    def __init__(self, weakly: ref[Any]) -> None:
        self._ref = weakly

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self._ref is other._ref

    def __hash__(self) -> int:
        return id(self._ref)


class Kind:
    """The structure of some arguments, and the dtypes and shapes of their tensors."""

    __slots__ = ("_key", "form", "specs")

    def __init__(self, form: Any, specs: Sequence[TensorSpec]) -> None:
        self.form = form
        self.specs = tuple(specs)
        self._key = (form, *[(spec.dtype, spec.shape) for spec in specs])

    def structure(self, leaves: Sequence[Any], specs: bool = False) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, with `leaves` for the tensors, and the specs of composites if requested."""
        return put_together(self.form, leaves, _value_of, specs)  # type: ignore[no-any-return]

    def accepts(self, other: Kind) -> bool:
        """Whether a graph traced for this kind can serve the other."""
        return self.form == other.form and all(
            theirs.is_subtype_of(ours) for ours, theirs in zip(self.specs, other.specs, strict=True)
        )

    def widened(self, other: Kind) -> Kind:
        """The most specific kind that serves another one too, if only shapes differ; else this one."""
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
    """The kind of some arguments, and their tensors; for a TensorSpec, the spec itself."""
    form, leaves = take_apart((args, kwargs), keep, _is_range, factories=False)
    tensors = [to_tensor(leaf) if isinstance(leaf, _ARRAYS) else leaf for leaf in leaves]
    return Kind(form, [_spec_of(tensor) for tensor in tensors]), tensors


def _is_range(structure: object) -> bool:
    return type(structure) is range  # a value, like a number


def keep(leaf: object) -> Any:
    """What represents an argument in the structure of a call."""
    return LEAF if isinstance(leaf, _TENSORS) else Literal(leaf)


def _spec_of(tensor: Any) -> TensorSpec:
    return tensor if isinstance(tensor, TensorSpec) else TensorSpec(tensor.shape, tensor.dtype)
