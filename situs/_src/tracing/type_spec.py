"""``TypeSpec``: the spec of a value. ``CompositeTensor``: a value that consists of tensors.

Functions, branches and loops flatten a composite into its tensors, its components; its spec rebuilds it on the other
side. Two classes define a type of composites:

    class Pair(CompositeTensor):                 class PairSpec(TypeSpec):
        _type_spec = property(...)                   value_type = Pair
                                                     _component_specs     the specs of the components
                                                     _to_components(pair)       ->  (first, second)
                                                     _from_components(parts)    ->  a pair
                                                     _serialize()         what distinguishes specs

A spec is part of the kind of a call: there is a graph for each. Differences between components, such as their shapes,
need not be in `_serialize()`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import is_tensor as is_one_tensor
from situs._src.base.tree import composites, key_of, listed, made_like, named_parts, put_together, take_apart
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.inner import common


@export("TypeSpec")
class TypeSpec:
    """The spec of a value: what is known about it in advance."""

    __slots__ = ()

    @property
    def value_type(self) -> Any:
        """The class of the values."""
        raise NotImplementedError(f"{type(self).__name__}.value_type")

    @property
    def _component_specs(self) -> Any:
        """The specs of the components, in their structure."""
        raise NotImplementedError(f"{type(self).__name__}._component_specs")

    def _to_components(self, value: Any) -> Any:
        """Flattens a value into a structure of tensors."""
        raise NotImplementedError(f"{type(self).__name__}._to_components()")

    def _from_components(self, components: Any) -> Any:
        """Rebuilds a value from such a structure."""
        raise NotImplementedError(f"{type(self).__name__}._from_components()")

    def _with_components(self, specs: Any) -> Any:
        """The same spec with other component specs, such as batches; itself, if it does not depend on them."""
        return self

    def _serialize(self) -> tuple[Any, ...]:
        """The constructor arguments of the spec: ``type(spec)(*spec._serialize())`` is equal to it."""
        raise NotImplementedError(f"{type(self).__name__}._serialize()")

    @classmethod
    def _deserialize(cls, serialization: Any) -> Any:
        """The spec for the result of `_serialize`."""
        return cls(*serialization)

    # Comparing.

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether a value, or every value with a spec, is compatible with this spec."""
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else getattr(spec_or_value, "_type_spec", None)
        return type(other) is type(self) and _merged(self._serialize(), other._serialize(), _compatible) is not _NOTHING

    def is_subtype_of(self, other: Any) -> bool:
        """Whether all values of this spec are also of the other."""
        return bool(self.most_specific_common_supertype([other]) == other)

    def most_specific_common_supertype(self, others: Sequence[Any]) -> TypeSpec | None:
        """The most specific spec that includes all of these; None if there is none."""
        parts: Any = self._serialize()
        for other in listed(others, "TypeSpecs"):
            if type(other) is not type(self):
                return None
            parts = _merged(parts, other._serialize(), _supertype)
            if parts is _NOTHING:
                return None
        return self._deserialize(tuple(parts))  # type: ignore[no-any-return]

    def most_specific_compatible_type(self, other: object) -> TypeSpec:
        """The most specific spec that includes this and another one.

        Raises:
            ValueError: there is none.
        """
        found = self.most_specific_common_supertype([other])
        if found is None:
            raise ArgumentError(f"No TypeSpec is compatible with both {self} and {other}")
        return found

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Any:
        return key_of(self._serialize())

    def __reduce__(self) -> Any:
        return type(self), self._serialize()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._serialize()))})"


class CompositeTensor:
    """A value that consists of tensors, as its ``_type_spec`` describes."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Registers a new class for flattening by functions, branches and loops."""
        super().__init_subclass__(**kwargs)
        composites.add(cls)

    @property
    def _type_spec(self) -> Any:
        """The spec of this value."""
        raise NotImplementedError(f"{type(self).__name__}._type_spec")

    def __components__(self) -> tuple[Any, ...]:
        """The components of the value."""
        return (self._type_spec._to_components(self),)


@export("is_tensor")
def is_tensor(x: object) -> bool:
    """Whether `x` is a tensor, dense, sparse or ragged, or tensor-like as a variable is."""
    return is_one_tensor(x) or hasattr(type(x), "__apply__")


@export("is_symbolic_tensor", v1=())
def is_symbolic_tensor(tensor: Any) -> bool:
    """Whether something is a tensor of a graph, which has no value before the graph runs."""
    return isinstance(tensor, SymbolicTensor)


class Described(CompositeTensor):
    """Stands for a composite of which only the spec is known, such as in an input signature."""

    def __init__(self, spec: TypeSpec) -> None:
        self._spec = spec

    @property
    def _type_spec(self) -> TypeSpec:
        return self._spec

    def __components__(self) -> tuple[Any, ...]:
        """The kinds of what a value is made of."""
        form, leaves = take_apart(self._spec._component_specs)
        return (put_together(form, [Described(leaf) if _is_composite(leaf) else leaf for leaf in leaves]),)


def _is_composite(spec: Any) -> bool:
    return isinstance(spec, TypeSpec) and issubclass(spec.value_type, CompositeTensor)


# Merging two specs, part by part.

_NOTHING: Any = object()


def _merged(one: object, other: object, merge: Callable[[Any, Any], Any]) -> Any:
    """The common part of two structures; `_NOTHING` if they differ in more than shapes and specs."""
    parts, others = named_parts(one), named_parts(other)
    if parts is None or others is None:
        if isinstance(one, (TensorShape, TypeSpec)):
            return merge(one, other)
        return one if type(one) is type(other) and one == other else _NOTHING
    if type(one) is not type(other) or [key for key, _ in parts] != [key for key, _ in others]:
        return _NOTHING
    made = [_merged(part, match, merge) for (_, part), (_, match) in zip(parts, others, strict=True)]
    return _NOTHING if any(part is _NOTHING for part in made) else made_like(one, made)


def _supertype(one: Any, other: Any) -> Any:
    if isinstance(one, TensorShape):
        return common(one, other) if isinstance(other, TensorShape) else _NOTHING
    found = one.most_specific_common_supertype([other]) if isinstance(other, TypeSpec) else None
    return _NOTHING if found is None else found


def _compatible(one: Any, other: Any) -> Any:
    comparable = isinstance(other, TensorShape if isinstance(one, TensorShape) else TypeSpec)
    return one if comparable and one.is_compatible_with(other) else _NOTHING
