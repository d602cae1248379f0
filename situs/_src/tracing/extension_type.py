"""``tf.experimental.ExtensionType``: user-defined classes whose values consist of tensors.

    class Masked(tf.experimental.ExtensionType):
        values: tf.Tensor
        mask: tf.Tensor
        name: str = ""

    Masked([1, 2], [True, False])          a value: tensor fields are converted, other types are checked
    Masked.Spec(tf.TensorSpec([2], tf.int32), tf.TensorSpec([2], tf.bool), "")        its spec

Values are immutable. Functions, branches, loops and datasets flatten them into their tensors; the rest of a value is
part of its spec. Fields are tensors, numbers, strings, None, dtypes, shapes, other extension types, and ``Optional``,
``Union``, ``Literal``, ``tuple`` and ``Mapping`` of these.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.ops.compare import equal
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.join import stack
from situs._src.ops.reduce import reduce_all
from situs._src.tracing.spec import TensorSpec
from situs._src.tracing.type_spec import CompositeTensor, TypeSpec

_PLAIN = (bool, int, float, str, bytes, type(None))
_ALLOWED = (*_PLAIN, Tensor, DType, TensorShape, CompositeTensor)
_MISSING: Any = inspect.Parameter.empty
_RESERVED = ("Spec", "_type_spec")
_by_name: dict[str, type[TypeSpec]] = {"tf.TensorSpec": TensorSpec}


class _Frozen(dict[Any, Any]):
    """An immutable mapping in a field."""

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise DTypeError("A mapping in a field of an ExtensionType does not change.")

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


class _Field(NamedTuple):
    """One field of a class: its type, and its default."""

    name: str
    type: Any
    default: Any


# Types of fields.


def _check_type(type_: Any, where: str) -> None:
    """Rejects annotations that are not valid types for a field."""
    origin, arguments = typing.get_origin(type_), typing.get_args(type_)
    if origin in (typing.Union, types.UnionType):
        for argument in arguments:
            _check_type(argument, where)
    elif origin is tuple:
        for argument in arguments:
            if argument is not Ellipsis:
                _check_type(argument, where)
    elif origin is Mapping and len(arguments) == 2:
        _check_type(arguments[0], where)
        _check_type(arguments[1], where)
    elif origin is typing.Literal or isinstance(type_, TensorSpec):
        return
    elif type_ is not None and not (isinstance(type_, type) and issubclass(type_, _ALLOWED)):
        raise DTypeError(f"In {where}: unsupported type annotation {shown(type_)}.")


def _as(type_: Any, value: Any, where: str, specs: bool) -> Any:
    """A value of a field, converted to its type; with `specs`, the spec of such a value.

    Raises:
        TypeError: it cannot be converted.
    """
    origin, arguments = typing.get_origin(type_), typing.get_args(type_)
    if origin in (typing.Union, types.UnionType):
        return _one_of(arguments, value, where, specs)
    if origin is typing.Literal:
        if any(value == word and type(value) is type(word) for word in arguments):
            return value
    elif origin is tuple:
        if isinstance(value, (tuple, list)):
            wanted = [arguments[0]] * len(value) if arguments[-1:] == (Ellipsis,) else list(arguments)
            if len(wanted) == len(value):
                pairs = enumerate(zip(wanted, value, strict=True))
                return tuple([_as(inner, part, f"{where}[{i}]", specs) for i, (inner, part) in pairs])
    elif origin is Mapping:
        if isinstance(value, Mapping):
            inner = arguments[1]
            return _Frozen(
                {
                    _as(arguments[0], key, f"{where}.keys()", False): _as(inner, part, f"{where}[{key!r}]", specs)
                    for key, part in value.items()
                }
            )
    elif isinstance(type_, TensorSpec) or (isinstance(type_, type) and issubclass(type_, Tensor)):
        return _tensor(type_, value, where, specs)
    elif isinstance(type_, type) and issubclass(type_, CompositeTensor):
        kind = value.value_type if specs and isinstance(value, TypeSpec) else type(value)
        if isinstance(value, TypeSpec) == specs and isinstance(kind, type) and issubclass(kind, type_):
            return value
    elif type_ is DType:
        return as_dtype(value)
    elif type_ is TensorShape:
        return TensorShape(value)
    elif type_ is None or type(value) is type_:
        if type_ is not None or value is None:
            return value
    elif type_ is float and type(value) is int:
        return float(value)
    raise DTypeError(f"{where}: expected {_name(type_)}, got {shown(value)} of type {type(value).__name__!r}.")


def _one_of(choices: tuple[Any, ...], value: Any, where: str, specs: bool) -> Any:
    """A value converted to the first of some types that it fits; types that need no conversion come first."""
    for choice in choices:
        if choice in (None, type(None)) and value is None:
            return None
        if isinstance(choice, type) and type(value) is choice:
            return value
    for choice in choices:
        try:
            return _as(choice, value, where, specs)
        except (TypeError, ValueError):
            continue
    names = ", ".join(map(_name, choices))
    raise DTypeError(f"{where}: expected one of {names}, got {shown(value)} of type {type(value).__name__!r}.")


def _tensor(type_: Any, value: Any, where: str, specs: bool) -> Any:
    wanted = type_ if isinstance(type_, TensorSpec) else None
    if specs:
        if isinstance(value, TensorSpec) and (wanted is None or wanted.is_compatible_with(value)):
            return value
        raise DTypeError(f"{where}: expected a tf.TensorSpec, got {shown(value)} of type {type(value).__name__!r}.")
    if value is None or isinstance(value, (CompositeTensor, TypeSpec)):
        raise DTypeError(f"{where}: expected a Tensor, got {shown(value)} of type {type(value).__name__!r}.")
    try:
        made = convert_to_tensor(value, None if wanted is None else wanted.dtype)
    except (TypeError, ValueError) as error:
        raise DTypeError(f"{where}: expected a Tensor, got {shown(value)}: {error}") from None
    if wanted is not None and not wanted.shape.is_compatible_with(made.shape):
        raise DTypeError(f"{where}: expected a Tensor of shape {wanted.shape}, got one of shape {made.shape}.")
    return made


def _name(type_: Any) -> str:
    return "None" if type_ in (None, type(None)) else getattr(type_, "__name__", None) or str(type_)


# Values.


class _Maker(type):
    """The metaclass: it creates a value, validates it, and makes it immutable."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(name, bases, namespace)
        if "_has_fields" not in namespace:
            frame = sys._getframe(1)  # where the class is defined: quoted names are resolved there
            try:
                cls._fields({**frame.f_globals, **frame.f_locals})
            except NameError:  # a class that is defined later: it is resolved when there is a value
                pass

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        value = super().__call__(*args, **kwargs)
        state = value.__dict__
        for field in cls._fields():
            if field.name not in state:
                raise DTypeError(f"{cls.__name__} constructor: field {field.name!r} has no value.")
            state[field.name] = _as(field.type, state[field.name], f"{cls.__name__}.{field.name}", False)
        unknown = state.keys() - {field.name for field in cls._fields()}
        if unknown:
            raise DTypeError(f"{cls.__name__} constructor: there is no field {sorted(unknown)[0]!r}.")
        state["_is_made"] = True
        value.__validate__()
        return value

    def _fields(cls, names: dict[str, Any] | None = None) -> tuple[_Field, ...]:
        """The fields of a class, those of base classes first. Names in annotations are resolved lazily."""
        known: tuple[_Field, ...] | None = cls.__dict__.get("_known_fields")
        if known is None:
            by_name: dict[str, _Field] = {}
            for above in reversed(cls.__mro__):
                if isinstance(above, _Maker) and "_has_fields" not in vars(above):
                    for name, annotation in inspect.get_annotations(above).items():
                        type_ = _evaluated(annotation, above, name, names)
                        by_name[name] = _Field(name, type_, cls.__dict__.get(name, getattr(cls, name, _MISSING)))
            known = tuple(by_name.values())
            for field in known:
                _check_type(field.type, f"field {field.name!r} of {cls.__name__}")
            type.__setattr__(cls, "_known_fields", known)
        return known


def _evaluated(annotation: Any, owner: type, name: str, names: dict[str, Any] | None) -> Any:
    """An annotation with quoted names resolved, wherever they are in it."""
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is typing.Literal or not any(isinstance(part, (str, typing.ForwardRef)) for part in arguments):
            return annotation
        parts = tuple([_evaluated(part, owner, name, names) for part in arguments])
        if origin in (typing.Union, types.UnionType):
            return functools.reduce(operator.or_, parts)
        return Mapping[parts] if origin is Mapping else tuple[parts]  # type: ignore[valid-type,misc]
    module = sys.modules.get(owner.__module__)
    try:
        return eval(annotation, (dict(vars(module)) if module else {}) | (names or {}), {owner.__name__: owner})
    except NameError as error:
        raise NameError(f"In field {name!r} of {owner.__name__}: {error}, in the annotation {annotation!r}.") from None


@export("experimental.ExtensionType")
class ExtensionType(CompositeTensor, metaclass=_Maker):
    """A user-defined class whose values consist of tensors: subclasses declare their fields by annotations.

    A subclass may have methods and properties, defaults for its fields, a constructor that sets all fields, and a
    method ``__validate__`` that raises an error if the fields are inconsistent. ``__name__``, a name with a dot in it,
    is the name of its spec in saved models.

    Example:
        >>> import situs as tf
        >>> class Masked(tf.experimental.ExtensionType):
        ...     values: tf.Tensor
        ...     mask: tf.Tensor
        ...     def filled(self, other):
        ...         return tf.where(self.mask, self.values, other)
        >>> tf.function(lambda x: x.filled(0))(Masked([1, 2], [True, False])).numpy().tolist()
        [1, 0]
    """

    Spec: Any
    _has_fields = False  # of its own

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Creates the spec class of a new class."""
        super().__init_subclass__(**kwargs)
        for name in inspect.get_annotations(cls):
            if name in _RESERVED or (name.startswith("_tf_extension_type_")):
                raise ArgumentError(f"The field annotations for {cls.__name__} use the reserved name {name!r}.")
        bare = [
            name
            for name, value in vars(cls).items()
            if is_tensor(value) and name not in inspect.get_annotations(cls) and not name.startswith("__")
        ]
        if bare:
            raise ArgumentError(f"Attribute {bare[0]!r} of {cls.__name__} is a tensor, and has no type annotation.")
        given = cls.__dict__.get("Spec")
        bases = (ExtensionTypeSpec,) if given is None else (given, ExtensionTypeSpec)
        members = {"value_class": cls, "__qualname__": f"{cls.__qualname__}.Spec"}
        if given is not None and "__init__" in vars(given):
            members["__init__"] = _constructor_of_spec(given.__init__)
        cls.Spec = type("Spec", bases, members)
        cls.Spec.__module__ = cls.__module__
        if "__name__" in cls.__dict__:
            _by_name[str(cls.__dict__["__name__"])] = cls.Spec

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        for name, value in _bound(type(self), args, kwargs, type(self).__name__).items():
            setattr(self, name, value)

    def __validate__(self) -> None:
        """Raises an error if the fields are inconsistent; for subclasses to override."""

    def __setattr__(self, name: str, value: Any) -> None:
        if "_is_made" in self.__dict__:
            raise AttributeError(f"Cannot mutate attribute {name!r} outside the constructor of {type(self).__name__}.")
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Cannot mutate attribute {name!r} outside the constructor of {type(self).__name__}.")

    @property
    def _type_spec(self) -> Any:
        return type(self).Spec.from_value(self)

    def __repr__(self) -> str:
        fields = type(self)._fields()
        return f"{type(self).__name__}({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in fields)})"

    def __eq__(self, other: object) -> Any:
        if type(other) is not type(self):
            return False
        spec = self._type_spec
        if spec != other._type_spec:
            return False
        parts = list(zip(spec._to_components(self), spec._to_components(other), strict=True))
        same = [reduce_all(equal(one, two)) if is_tensor(one) else one == two for one, two in parts]
        return reduce_all(stack([convert_to_tensor(each) for each in same])) if same else True

    def __ne__(self, other: object) -> Any:
        same = self == other
        return ~same if is_tensor(same) else not same

    __hash__ = None  # type: ignore[assignment]  # == returns a tensor

    def __reduce__(self) -> Any:
        return _remade, (type(self), {field.name: getattr(self, field.name) for field in type(self)._fields()})


def _bound(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], what: str) -> dict[str, Any]:
    """The field values of a class, from the arguments of a call."""
    parameters = [
        inspect.Parameter(field.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=field.default)
        for field in sorted(cls._fields(), key=lambda field: field.default is not _MISSING)
    ]
    try:
        bound = inspect.Signature(parameters).bind(*args, **kwargs)
    except TypeError as error:
        raise DTypeError(f"{what}(): {error}") from None
    bound.apply_defaults()
    return dict(bound.arguments)


def _remade(cls: Any, fields: dict[str, Any]) -> Any:
    """A value with these fields, without calling its constructor."""
    value = object.__new__(cls)
    value.__dict__.update(fields)
    value.__dict__["_is_made"] = True
    return value


# Specs.


def _constructor_of_spec(own: Callable[..., None]) -> Callable[..., None]:
    """The constructor of a spec whose class has one of its own, which sets the fields."""

    @functools.wraps(own)
    def init(self: ExtensionTypeSpec, *args: Any, **kwargs: Any) -> None:
        state = self.__dict__
        state["_is_open"] = True
        own(self, *args, **kwargs)
        del state["_is_open"]
        cls = self.value_class
        for field in cls._fields():
            where = f"{cls.__name__}.Spec.{field.name}"
            if field.name not in state:
                raise DTypeError(f"{cls.__name__}.Spec constructor: field {field.name!r} has no value.")
            state[field.name] = _as(field.type, state[field.name], where, True)

    return init


@export("experimental.ExtensionTypeSpec")
class ExtensionTypeSpec(TypeSpec):
    """The spec of a value: for each field, the specs of its tensors, and the rest unchanged."""

    value_class: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        cls = getattr(self, "value_class", None)
        if cls is None:
            raise DTypeError("tf.experimental.ExtensionTypeSpec is a base: each ExtensionType has a Spec of its own.")
        given = _bound(cls, args, kwargs, f"{cls.__name__}.Spec")
        for field in cls._fields():
            where = f"{cls.__name__}.Spec.{field.name}"
            object.__setattr__(self, field.name, _as(field.type, given[field.name], where, True))

    @classmethod
    def from_value(cls, value: Any) -> Any:
        """The spec of a value."""
        made = object.__new__(cls)
        for field in cls.value_class._fields():
            object.__setattr__(made, field.name, _spec_of(getattr(value, field.name)))
        return made

    @property
    def value_type(self) -> Any:
        """The class of the values."""
        return self.value_class

    def __setattr__(self, name: str, value: Any) -> None:
        if "_is_open" not in self.__dict__:
            raise AttributeError(f"Cannot mutate attribute {name!r} of {type(self).__qualname__}.")
        self.__dict__[name] = value

    def _fields(self) -> list[tuple[str, Any]]:
        return [(field.name, getattr(self, field.name)) for field in self.value_class._fields()]

    @property
    def _component_specs(self) -> Any:
        return tuple([spec for _, part in self._fields() for spec in _specs_in(part)])

    def _to_components(self, value: Any) -> Any:
        return tuple([leaf for name, part in self._fields() for leaf in _leaves(part, getattr(value, name))])

    def _from_components(self, components: Any) -> Any:
        leaves = iter(components)
        return _remade(self.value_class, {name: _filled(part, leaves) for name, part in self._fields()})

    def _with_components(self, specs: Any) -> Any:
        """The same spec with other component specs, such as those of batches."""
        leaves, made = iter(specs), object.__new__(type(self))
        for name, part in self._fields():
            object.__setattr__(made, name, _filled(part, leaves))
        return made

    def _serialize(self) -> tuple[Any, ...]:
        return tuple([part for _, part in self._fields()])

    @classmethod
    def _deserialize(cls, serialization: Any) -> Any:
        """The spec with these fields, without calling its constructor."""
        made = object.__new__(cls)
        for field, part in zip(cls.value_class._fields(), serialization, strict=True):
            object.__setattr__(made, field.name, part)
        return made

    def __reduce__(self) -> Any:
        return _spec_again, (self.value_class, self._serialize())

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={part!r}" for name, part in self._fields())
        return f"{self.value_class.__name__}.Spec({inside})"


def _spec_again(cls: Any, parts: tuple[Any, ...]) -> Any:
    return cls.Spec._deserialize(parts)


def _spec_of(part: Any) -> Any:
    """The spec of a tensor; for a structure, a structure of specs; anything else unchanged."""
    if isinstance(part, CompositeTensor):
        return part._type_spec
    if is_tensor(part):
        return TensorSpec(part.shape, part.dtype)
    if isinstance(part, tuple):
        return tuple(map(_spec_of, part))
    return _Frozen({key: _spec_of(item) for key, item in part.items()}) if isinstance(part, _Frozen) else part


def _specs_in(part: Any) -> Iterator[Any]:
    yield from (spec for spec, _ in _pairs(part, part))


def _leaves(part: Any, value: Any) -> Iterator[Any]:
    yield from (leaf for _, leaf in _pairs(part, value))


def _pairs(part: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """Every spec in a part of a spec, paired with its counterpart in another one."""
    if isinstance(part, TypeSpec):
        yield part, value
    elif isinstance(part, tuple):
        for inner, item in zip(part, value, strict=True):
            yield from _pairs(inner, item)
    elif isinstance(part, _Frozen):
        for key, inner in part.items():
            yield from _pairs(inner, value[key])


def _filled(part: Any, leaves: Iterator[Any]) -> Any:
    """A part of a spec, with its tensor specs replaced."""
    if isinstance(part, TypeSpec):
        return next(leaves)
    if isinstance(part, tuple):
        return tuple([_filled(inner, leaves) for inner in part])
    return _Frozen({key: _filled(inner, leaves) for key, inner in part.items()}) if isinstance(part, _Frozen) else part


@export("experimental.extension_type.as_dict")
def as_dict(value: ExtensionType) -> dict[str, Any]:
    """The fields of a value by name; values in fields stay as they are.

    Raises:
        TypeError: it is no value of an extension type.
    """
    if not isinstance(value, ExtensionType):
        raise DTypeError(f"as_dict takes a value of an ExtensionType, got {shown(value)}.")
    return {field.name: getattr(value, field.name) for field in type(value)._fields()}


@export("experimental.BatchableExtensionType")
class BatchableExtensionType(ExtensionType):
    """An `ExtensionType` whose tensors share a first axis: datasets can batch and slice its values."""


# Specs by name.


def name_spec(name: str, spec: type[TypeSpec]) -> None:
    """Registers the name under which a spec class is saved."""
    _by_name[name] = spec


def named_spec(name: str) -> Callable[..., Any]:
    """The spec class with a name, for loading.

    Raises:
        ValueError: there is none.
    """
    if name not in _by_name:
        raise ArgumentError(f"No TypeSpec has been registered with name {name!r}")
    return _by_name[name]


def name_of_spec(cls: Any) -> str:
    """The name of a spec class, for saving.

    Raises:
        ValueError: it has none.
    """
    for name, known in _by_name.items():
        if known is cls:
            return name
    raise ArgumentError(f"TypeSpec {cls.__module__}.{cls.__qualname__} has not been registered.")
