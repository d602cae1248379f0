"""``tf.Module``: a class whose variables and submodules are found through its attributes.

    class Dense(tf.Module):
        def __init__(self, size, units, name=None):
            super().__init__(name)
            self.w = tf.Variable(tf.random.normal([size, units]), name="w")

    Dense(3, 4).trainable_variables             the variables of its attributes, by name, then those of its submodules

Attributes may be lists, tuples and dictionaries of variables and modules. Nothing is registered: the current attributes
count, so a module may be changed at any time.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from situs._src.base.errors import ArgumentError, FailedPreconditionError, shown
from situs._src.base.export import export
from situs._src.base.tree import deeper, named_parts
from situs._src.checkpoints.cells import is_variable
from situs._src.checkpoints.trackable import Trackable
from situs._src.ir.graph.context import name_scope as _name_scope

_IDENTIFIER = re.compile(r"^[a-zA-Z_]\w*$")


@export("Module")
class Module(Trackable):
    """The base of classes that hold variables.

    Args:
        name: A name, which is also that of its name scope; by default the name of the class, in small letters.

    Example:
        >>> import situs as tf
        >>> class Scale(tf.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.factor = tf.Variable(2.0)
        ...     def __call__(self, x):
        ...         return self.factor * x
        >>> scale = Scale()
        >>> scale.name, len(scale.trainable_variables), float(scale(3.0))
        ('scale', 1, 6.0)
    """

    def __init__(self, name: str | None = None) -> None:
        wanted = snake_case(type(self).__name__) if name is None else name
        if not isinstance(wanted, str) or not _IDENTIFIER.match(wanted):
            raise ArgumentError(
                f"{shown(wanted)} is not a valid module name. Module names must be valid Python identifiers (e.g. a "
                "valid class name)."
            )
        self._name = wanted
        with _name_scope(wanted) as scope:
            self._own_scope = _name_scope(scope)

    @property
    def name(self) -> str:
        """The name it was made with."""
        self._check_made()
        return self._name

    @property
    def name_scope(self) -> Any:
        """A context whose operations have this module's name before theirs; its ``name`` ends with a slash."""
        self._check_made()
        own = self.__dict__.get("_own_scope")  # which layers do not have: they are named when they are called
        return _name_scope(self._name) if own is None else own

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Decorates a method so that it is called in the module's name scope."""

        @functools.wraps(method)
        def scoped(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped

    # What it leads to.

    @property
    def variables(self) -> tuple[Any, ...]:
        """Its variables and those of its parts."""
        return tuple(self._flatten(predicate=is_variable))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The variables that optimizers should change."""
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Any, ...]:
        """The variables that optimizers should leave alone."""
        return tuple(variable for variable in self.variables if not variable.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """The modules it is made of, at any depth."""
        return tuple(self._flatten(predicate=lambda value: isinstance(value, Module)))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
    ) -> Iterator[Any]:
        """What attributes lead to: first its own, then that of its parts; with the way to it if asked for.

        Args:
            recursive: Whether to go into modules.
            predicate: Which values count; all of them by default.
            attribute_traversal_key: By what the names of attributes are sorted; by themselves by default.
            with_path: Whether to give pairs of a path and a value.
        """
        found = _walk(self, recursive, predicate or (lambda value: True), attribute_traversal_key, (), {id(self)})
        return found if with_path else (value for _, value in found)

    def _check_made(self) -> None:
        if "_name" not in self.__dict__:
            raise FailedPreconditionError(
                f"A module of the class {type(self).__name__} has no name yet: call `super().__init__(name)` first in "
                "its `__init__`."
            )


def _walk(
    module: Module,
    recursive: bool,
    predicate: Callable[[Any], bool],
    order: Callable[[str], Any] | None,
    path: tuple[Any, ...],
    seen: set[int],
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    inside: list[tuple[tuple[Any, ...], Module]] = []
    for name in sorted(vars(module), key=order):
        if name == "_own_scope":
            continue
        for key, value in _leaves(name, vars(module)[name]):
            if id(value) in seen:
                continue
            seen.add(id(value))
            if predicate(value):
                yield (*path, *key), value
            if recursive and isinstance(value, Module):
                inside.append(((*path, *key), value))
    for key, value in inside:
        yield from _walk(value, recursive, predicate, order, key, seen)


def _leaves(name: Any, value: object, depth: int = 0) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The values of an attribute with the ways to them: one, unless it is a list, tuple or dictionary."""
    parts = named_parts(value)
    if parts is None:
        yield (name,), value
        return
    below = deeper(depth)
    for place, part in parts:
        for way, leaf in _leaves(place, part, below):
            yield (name, *way), leaf


def snake_case(class_name: str) -> str:
    """The name of a class in small letters: ``MyLayer`` becomes ``my_layer``."""
    return re.sub("([a-z0-9])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z]+)", r"\1_\2", class_name)).lower()
