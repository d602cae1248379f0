"""``tf.flags``: options that a program takes on its command line.

    tf.flags.DEFINE_integer("steps", 100, "How many steps to run.")
    FLAGS = tf.flags.FLAGS
    ... FLAGS.steps ...

`situs.compat.v1.flag_values` says what a command line looks like and when it is read.
"""
# ruff: noqa: N802 - TensorFlow's names

from __future__ import annotations

import functools as _functools
import sys as _sys
from collections.abc import Callable as _Callable
from collections.abc import Iterable as _Iterable
from typing import Any as _Any

from situs.compat.v1 import flag_kinds as _kinds
from situs.compat.v1.flag_kinds import DuplicateFlagError as DuplicateFlagError
from situs.compat.v1.flag_kinds import Error as Error
from situs.compat.v1.flag_kinds import Flag as Flag
from situs.compat.v1.flag_kinds import FlagNameConflictsWithMethodError as FlagNameConflictsWithMethodError
from situs.compat.v1.flag_kinds import IllegalFlagValueError as IllegalFlagValueError
from situs.compat.v1.flag_kinds import IllegalFlagValueError as ValidationError
from situs.compat.v1.flag_kinds import UnrecognizedFlagError as UnrecognizedFlagError
from situs.compat.v1.flag_values import FLAGS as FLAGS
from situs.compat.v1.flag_values import FlagValues as FlagValues
from situs.errors import shown as _shown
from situs.tree import listed as _listed


class FlagHolder:
    """What a definition returns: another way to its flag's value."""

    def __init__(self, name: str, flag_values: FlagValues) -> None:
        self.name = name
        self._flag_values = flag_values

    @property
    def value(self) -> _Any:
        """The value."""
        return getattr(self._flag_values, self.name)

    @property
    def default(self) -> _Any:
        """The default."""
        return self._flag_values[self.name].default

    @property
    def present(self) -> int:
        """How often the flag stood on the command line."""
        return self._flag_values[self.name].present


# Definitions. Each takes the keywords of early programs too: flag_name, default_value and docstring.

_EARLY = {"flag_name": "name", "default_value": "default", "docstring": "help"}


def _definition(function: _Callable[..., FlagHolder]) -> _Callable[..., FlagHolder]:
    @_functools.wraps(function)
    def call(*args: _Any, **kwargs: _Any) -> FlagHolder:
        return function(*args, **{_EARLY.get(name, name): value for name, value in kwargs.items()})

    return call


def _define(
    kind: _kinds.Kind,
    name: str,
    default: _Any,
    help: str | None,
    flag_values: FlagValues = FLAGS,
    short_name: str | None = None,
    required: bool = False,
) -> FlagHolder:
    if required and default is not None:
        raise Error(f"The flag '{name}' is required, so its default would never be used: give None, not {default!r}.")
    flag = Flag(name, default, "" if help is None else str(help), kind, short_name, _where(), required)
    flag_values[name] = flag
    if short_name is not None:
        try:
            flag_values[short_name] = flag
        except Error:
            delattr(flag_values, name)
            raise
    return FlagHolder(name, flag_values)


def _where() -> str:
    """The line of the program that calls this module."""
    frame = _sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("situs.compat."):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


@_definition
def DEFINE_string(name: str, default: str | None, help: str | None, **options: _Any) -> FlagHolder:
    """Defines a flag whose value is a text."""
    return _define(_kinds.Kind(_kinds.text), name, default, help, **options)


@_definition
def DEFINE_integer(
    name: str,
    default: int | str | None,
    help: str | None,
    lower_bound: int | None = None,
    upper_bound: int | None = None,
    **options: _Any,
) -> FlagHolder:
    """Defines a flag whose value is a whole number."""
    return _define(_kinds.number(int, lower_bound, upper_bound), name, default, help, **options)


@_definition
def DEFINE_float(
    name: str,
    default: float | str | None,
    help: str | None,
    lower_bound: float | None = None,
    upper_bound: float | None = None,
    **options: _Any,
) -> FlagHolder:
    """Defines a flag whose value is a number."""
    return _define(_kinds.number(float, lower_bound, upper_bound), name, default, help, **options)


@_definition
def DEFINE_boolean(name: str, default: bool | str | int | None, help: str | None, **options: _Any) -> FlagHolder:
    """Defines a flag that is on, ``--name``, or off, ``--noname``."""
    return _define(_kinds.Kind(_kinds.boolean, boolean=True), name, default, help, **options)


DEFINE_bool = DEFINE_boolean


@_definition
def DEFINE_enum(
    name: str,
    default: str | None,
    enum_values: _Iterable[str],
    help: str | None,
    case_sensitive: bool = True,
    **options: _Any,
) -> FlagHolder:
    """Defines a flag whose value is one of some texts."""
    return _define(_kinds.choice(enum_values, case_sensitive), name, default, help, **options)


@_definition
def DEFINE_list(name: str, default: _Any, help: str | None, **options: _Any) -> FlagHolder:
    """Defines a flag whose value is a list of texts, with commas between them."""
    return _define(_kinds.Kind(_kinds.comma_separated, "a comma separated list"), name, default, help, **options)


@_definition
def DEFINE_spaceseplist(name: str, default: _Any, help: str | None, **options: _Any) -> FlagHolder:
    """Defines a flag whose value is a list of texts, with spaces between them."""
    return _define(_kinds.Kind(_kinds.space_separated, "a whitespace separated list"), name, default, help, **options)


@_definition
def DEFINE_multi_string(name: str, default: _Any, help: str | None, **options: _Any) -> FlagHolder:
    """Defines a flag that may be given several times, each time with a text."""
    return _define(_kinds.Kind(_kinds.text, multi=True), name, default, help, **options)


@_definition
def DEFINE_multi_integer(name: str, default: _Any, help: str | None, **options: _Any) -> FlagHolder:
    """Defines a flag that may be given several times, each time with a whole number."""
    one = _kinds.number(int, options.pop("lower_bound", None), options.pop("upper_bound", None))
    return _define(_kinds.Kind(one.parse, one.note, multi=True), name, default, help, **options)


@_definition
def DEFINE_multi_float(name: str, default: _Any, help: str | None, **options: _Any) -> FlagHolder:
    """Defines a flag that may be given several times, each time with a number."""
    one = _kinds.number(float, options.pop("lower_bound", None), options.pop("upper_bound", None))
    return _define(_kinds.Kind(one.parse, one.note, multi=True), name, default, help, **options)


# Demands on values.


def mark_flag_as_required(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    """Refuses a command line that gives this flag no value."""
    flag_values[flag_name].required = True


def mark_flags_as_required(flag_names: _Iterable[str], flag_values: FlagValues = FLAGS) -> None:
    """Refuses a command line that gives one of these flags no value."""
    for name in _listed(flag_names, "flags"):
        mark_flag_as_required(name, flag_values)


def register_validator(
    flag_name: str,
    checker: _Callable[[_Any], _Any],
    message: str = "Flag validation failed",
    flag_values: FlagValues = FLAGS,
) -> None:
    """Refuses values for which `checker` is not true."""
    flag = flag_values[flag_name]
    if not callable(checker):
        raise Error(f"The validator of the flag '{flag_name}' is a function of its value, got {_shown(checker)}.")
    flag.checks.append((checker, message))


def validator(flag_name: str, message: str = "Flag validation failed", flag_values: FlagValues = FLAGS) -> _Any:
    """A decorator that makes a function the check of a flag."""

    def register(checker: _Callable[[_Any], _Any]) -> _Callable[[_Any], _Any]:
        register_validator(flag_name, checker, message, flag_values)
        return checker

    return register


def set_default(flag_holder: FlagHolder, value: _Any) -> None:
    """Gives a flag another default."""
    if not isinstance(flag_holder, FlagHolder):
        raise Error(f"set_default takes what a DEFINE function returned, got {_shown(flag_holder)}.")
    flag_holder._flag_values.set_default(flag_holder.name, value)


def declare_key_flag(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    """Accepted for TensorFlow's programs, if there is such a flag: the help tells of all flags."""
    flag_values[flag_name]


def adopt_module_key_flags(module: _Any, flag_values: FlagValues = FLAGS) -> None:
    """Accepted for TensorFlow's programs: the help tells of all flags."""
