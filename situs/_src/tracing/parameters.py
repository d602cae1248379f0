"""The parameters of a ``tf.function``: binding arguments, and checking them against an input signature.

@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def f(x, scale=2.0): ...

f([1, 2])         x becomes a float32 tensor; scale is 2.0 in the one graph there is
f(x, scale=3.0)   an error: the graph was traced for 2.0
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.tensor import Tensor, read
from situs._src.base.tree import LEAF, Form, put_together, take_apart
from situs._src.runtime.eager.convert import to_tensor
from situs._src.tracing.kind import Kind, Literal, kind_of
from situs._src.tracing.spec import IndexedSlicesSpec, TensorSpec
from situs._src.tracing.type_spec import Described, TypeSpec

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
Bound = tuple[tuple[Any, ...], dict[str, Any]]


class Parameters:
    """The parameters of a function, and their input signature.

    Args:
        function: The function.
        input_signature: TensorSpecs of the positional arguments; None to accept anything.

    Raises:
        TypeError: it is not a function, or the signature does not match it.
    """

    def __init__(self, function: Callable[..., Any], input_signature: Any = None) -> None:
        self.signature = signature_of(function)
        self.input_signature = check_signature(input_signature)
        kinds = [parameter.kind for parameter in self.signature.parameters.values()]
        self._count = len(kinds) if all(kind in _POSITIONAL for kind in kinds) else -1
        if next(iter(self.signature.parameters), "") not in ("self", "cls"):  # else it is checked when it is bound
            self.wanted  # noqa: B018 - finds out now whether the input signature fits

    # Binding.

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Bound:
        """The arguments as positional ones and keywords, with defaults filled in.

        Raises:
            TypeError: they do not match the parameters.
        """
        if not kwargs and len(args) == self._count:
            return args, kwargs
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise self.refusal(error, args, kwargs) from None
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def refusal(self, reason: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> DTypeError:
        """The error for arguments that do not match."""
        return DTypeError(
            f"Binding inputs to tf.function failed due to `{reason}`. Received args: {args} and kwargs: {kwargs} for "
            f"signature: {self}."
        )

    def kind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Kind, list[Any]]:
        """The kind of graph that a call needs, and its tensors."""
        bound = self.bind(args, kwargs)
        if self.wanted is None:
            return kind_of(*bound)
        try:
            return self.wanted, fitted(self.wanted, bound)
        except DTypeError as error:
            raise self.refusal(error, args, kwargs) from None

    def completed(self, kind: Kind, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Bound:
        """The arguments for a graph of some kind, with the non-tensor ones filled in.

        Raises:
            TypeError: they do not match the parameters.
        """
        positional, keywords = _literals(kind)
        made_for = self.signature.bind(*positional, **keywords).arguments
        try:
            bound = self.signature.bind_partial(*args, **kwargs)
        except TypeError as error:
            raise DTypeError(str(error)) from None
        for name, parameter in self.signature.parameters.items():
            if name not in bound.arguments and name in made_for:
                if _has_tensors(made_for[name]) and parameter.default is inspect.Parameter.empty:
                    raise DTypeError(f"missing a required argument: {name!r}")
                bound.arguments[name] = made_for[name]
        bound.arguments = {name: bound.arguments[name] for name in self.signature.parameters if name in bound.arguments}
        bound.apply_defaults()
        return bound.args, bound.kwargs

    # The input signature.

    @cached_property
    def wanted(self) -> Kind | None:
        """The one kind of arguments that the input signature allows; None if there is no signature."""
        if self.input_signature is None:
            return None
        rest = list(described(self.input_signature))
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for parameter in self.signature.parameters.values():
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                args, rest = args + rest, []
            elif parameter.kind in _POSITIONAL and rest:
                args.append(rest.pop(0))
            elif parameter.kind is not inspect.Parameter.VAR_KEYWORD:
                self._add_default(parameter, args, kwargs)
        if rest:
            raise DTypeError(f"input_signature contains {len(rest)} extra type constraints.")
        return kind_of(tuple(args), kwargs)[0]

    def _add_default(self, parameter: inspect.Parameter, args: list[Any], kwargs: dict[str, Any]) -> None:
        by_keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        if parameter.default is inspect.Parameter.empty:
            raise DTypeError(
                f"Since input_signature is defined, keyword-only parameter `{parameter.name}` must have a default value"
                if by_keyword
                else f"input_signature missing type constraint for {parameter.name}"
            )
        if by_keyword:
            kwargs[parameter.name] = parameter.default
        else:
            args.append(parameter.default)

    # Names.

    def names(self, form: Form) -> list[str]:
        """A name for each tensor of a call, after the parameters: ``x``, ``pair_0``, ``options_rate``."""
        return [_clean(name) for title, part in self._parts(form) for name in _paths(part, title)]

    def flat_names(self, kind: Kind) -> list[str]:
        """The name of each tensor of a flat list: its spec's, else that of its parameter."""
        titles = [title for title, part in self._parts(kind.form) for _ in _paths(part, title)]
        names: list[str] = []
        for spec, title in zip(kind.specs, titles, strict=True):
            name, number = spec.name or title, 0
            while (unique := f"{name}_{number}" if number else name) in names:
                number += 1
            names.append(unique)
        return names

    def _parts(self, form: Form) -> list[tuple[str, Any]]:
        """The structure of each argument, with the name of its parameter."""
        positional, keywords = form.items
        titles = [*titles_of(self.signature, len(positional.items)), *map(str, keywords.keys)]
        return list(zip(titles, [*positional.items, *keywords.items], strict=True))

    def __str__(self) -> str:
        return str(self.signature)


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters of a function.

    Raises:
        TypeError: it is not a function.
        ValueError: its parameters are not known.
    """
    if not callable(function):
        raise DTypeError(f"{function!r} is not a callable object; tf.function takes a Python function.")
    try:
        return inspect.signature(function)
    except ValueError:
        raise ArgumentError(f"The parameters of {function!r} cannot be found; wrap it in a function.") from None


def check_signature(signature: Any) -> tuple[Any, ...] | None:
    """An input signature as a tuple.

    Raises:
        TypeError: it is not a sequence of TensorSpecs.
    """
    if signature is None:
        return None
    if not isinstance(signature, (list, tuple)):
        raise DTypeError(f"input_signature must be either a tuple or a list, got {type(signature)}.")
    _, leaves = take_apart(signature, lambda leaf: LEAF)
    wrong = [leaf for leaf in leaves if not isinstance(leaf, TypeSpec)]
    if wrong:
        raise DTypeError(
            f"input_signature must be a possibly nested sequence of TensorSpec objects, got invalid args {wrong} with "
            f"types {[type(leaf) for leaf in wrong]}."
        )
    return tuple(signature)


def described(structure: Any) -> Any:
    """Arguments, or an input signature, with the specs of composites as structures of TensorSpecs."""
    form, leaves = take_apart(structure, lambda leaf: LEAF)
    if not any(isinstance(leaf, TypeSpec) and not isinstance(leaf, TensorSpec) for leaf in leaves):
        return structure
    return put_together(form, map(_argument, leaves))


def _argument(spec: Any) -> Any:
    if isinstance(spec, TensorSpec) or not isinstance(spec, TypeSpec):
        return spec
    return spec.components() if isinstance(spec, IndexedSlicesSpec) else Described(spec)


def _literals(kind: Kind) -> Bound:
    """The arguments that a graph was traced for, with a mark instead of each tensor."""
    return kind.structure([LEAF] * len(kind.specs))


def _has_tensors(value: object) -> bool:
    return any(leaf is LEAF for leaf in take_apart(value, lambda leaf: LEAF)[1])


# Converting values to a kind.


def fitted(kind: Kind, bound: Bound) -> list[Any]:
    """The tensors of a call, converted to the kind that a graph was traced for.

    Raises:
        TypeError: they cannot be converted.
    """
    return list(_fit(kind.form, bound, iter(kind.specs)))


def _fit(form: object, value: object, specs: Iterator[TensorSpec]) -> Iterator[Any]:
    if form is LEAF:
        yield fit_tensor(next(specs), value)
    elif isinstance(form, Form):
        for item, part in zip(form.items, _parts(form, value), strict=True):
            yield from _fit(item, part, specs)
    elif Literal(value) != form:
        raise DTypeError(f"Can not cast {value!r} to Literal[{form!r}]")


def _parts(form: Form, value: object) -> list[Any]:
    parts = form.parts_like(value)
    if parts is None:
        other = "different keys with the TraceType" if form.is_mapping else "another structure than"
        raise DTypeError(f"{value!r} has {other} {form}")
    return parts


def fit_tensor(spec: TensorSpec, value: object) -> Any:
    """A value converted to a tensor of some kind; a tensor, or its spec, unchanged.

    Raises:
        TypeError: it is not one of that kind.
    """
    value = read(value)
    if not isinstance(value, (Tensor, TensorSpec)):
        try:
            value = to_tensor(value, spec.dtype)
        except (TypeError, ValueError) as error:
            raise DTypeError(str(error)) from None
    if not spec.is_compatible_with(value):
        found = TensorSpec(value.shape, value.dtype)
        raise DTypeError(f"Can not cast {found} to {TensorSpec(spec.shape, spec.dtype)}")
    return value


# Names.


def titles_of(signature: inspect.Signature, count: int) -> list[str]:
    """The names of positional arguments; those of ``*args`` are numbered."""
    titles: list[str] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind in _POSITIONAL:
            titles.append(name)
        elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            titles += [f"{name}_{number}" for number in range(count - len(titles))]
    return titles[:count]


def _paths(form: object, title: str) -> list[str]:
    if form is LEAF:
        return [title]
    if not isinstance(form, Form):
        return []
    keys = form.keys or range(len(form.items))
    return [name for key, item in zip(keys, form.items, strict=True) for name in _paths(item, f"{title}_{key}")]


def _clean(name: str) -> str:
    swapped = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)
    return swapped if swapped[:1].isalpha() else f"arg_{swapped}"
