"""``FLAGS``: the flags of a program, read from its command line.

    --name=value   --name value   -name=value   --on   --noon   --   what follows is no flag

``tf.app.run`` reads the command line and refuses flags it does not know. A program that does without it may use
``FLAGS`` all the same: the first flag it reads makes it read ``sys.argv``, and what is unknown there is left alone.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from situs.compat.v1.flag_kinds import (
    DuplicateFlagError,
    Error,
    Flag,
    FlagNameConflictsWithMethodError,
    UnrecognizedFlagError,
)

_HELP = ("help", "helpshort", "helpfull", "?")


class FlagValues:
    """Flags by their names: ``FLAGS.steps`` is a value, ``FLAGS["steps"]`` the flag."""

    _flags: dict[str, Flag]
    _parsed: bool
    _on_demand: bool

    def __init__(self) -> None:
        self.__dict__.update(_flags={}, _parsed=False, _on_demand=False)

    # As a dictionary of flags.

    def __setitem__(self, name: str, flag: Flag) -> None:
        _check_name(name)
        if hasattr(type(self), name):
            raise FlagNameConflictsWithMethodError(
                f'Cannot define a flag named "{name}": FLAGS.{name} is a method. Give it another name.'
            )
        if name in self._flags:
            first = self._flags[name]
            raise DuplicateFlagError(
                f"The flag '{name}' is defined twice. First at {first.where}, second at {flag.where}. Description from "
                f"first occurrence: {first.help}"
            )
        self._flags[name] = flag
        if self._on_demand:  # its value may stand on the command line that was read before
            self.__dict__["_parsed"] = False

    def __getitem__(self, name: str) -> Flag:
        if name not in self:
            raise self._unrecognized(name)
        return self._flags[name]

    def __delattr__(self, name: str) -> None:
        flag = self[name]
        for key in [key for key, value in self._flags.items() if value is flag]:
            del self._flags[key]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._flags

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._flags))

    def __len__(self) -> int:
        return len(self._flags)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._flags})

    # Values.

    def __getattr__(self, name: str) -> Any:
        if name == "_flags":  # not made yet: someone copies or unpickles it
            raise AttributeError(name)
        flag = self[name]
        self._parse_flags()
        return flag.value

    def __setattr__(self, name: str, value: Any) -> None:
        flag = self[name]
        before = flag.value, flag.settled
        flag.value, flag.settled = value, True
        try:
            flag.validate()
        except Exception:  # what the program's own check raises, too
            flag.value, flag.settled = before
            raise

    def flag_values_dict(self) -> dict[str, Any]:
        """The values of all flags, by name."""
        self._parse_flags()
        return {flag.name: flag.value for flag in self._flags.values()}

    def get_flag_value(self, name: str, default: Any) -> Any:
        """The value of a flag; `default` if it is None or there is no such flag."""
        value = getattr(self, name) if name in self else None
        return default if value is None else value

    def set_default(self, name: str, value: Any) -> None:
        """Gives a flag another default, which is its value too unless the program or its user have said otherwise."""
        flag = self[name]
        flag.default = flag.read(value)
        if not flag.settled:
            flag.value = flag.default

    # Reading a command line.

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Reads a command line, whose first item is the program; returns what is no flag.

        Args:
            argv: The program and its arguments.
            known_only: Whether unknown flags are returned too, and not refused.
        """
        if not _is_command_line(argv):
            raise Error(f"A command line is a list: the program and its arguments. Got {argv!r}.")
        given, left = self._read(list(argv[1:]), known_only)
        for flag, value in given:
            flag.value, flag.settled, flag.present = value, True, flag.present + 1
        self.__dict__.update(_parsed=True, _on_demand=False)
        self.validate_all_flags()
        return [argv[0], *left]

    def _parse_flags(self) -> None:
        """Reads ``sys.argv``, if nothing was read before; what the program has set itself stays."""
        if self._parsed:
            return
        given, _ = self._read(sys.argv[1:], known_only=True)
        for flag, value in given:
            if not flag.settled:
                flag.value, flag.settled, flag.present = value, True, flag.present + 1
        self.validate_all_flags()
        self.__dict__.update(_parsed=True, _on_demand=True)

    def _read(self, arguments: list[str], known_only: bool) -> tuple[list[tuple[Flag, Any]], list[str]]:
        """The flags on a command line with their values, and the rest; nothing is changed yet."""
        texts: dict[str, list[Any]] = {}
        left: list[str] = []
        rest = iter(arguments)
        for argument in rest:
            if argument == "--":
                left += rest
            elif not argument.startswith("-") or argument == "-":
                left.append(argument)
            elif (found := self._find(argument, rest)) is not None:
                texts.setdefault(found[0].name, []).append(found[1])
            elif known_only:
                left.append(argument)
            else:
                raise self._unrecognized(_split(argument)[0])
        flags = [(self._flags[name], values) for name, values in texts.items()]
        return [(flag, flag.read(values if flag.kind.multi else values[-1])) for flag, values in flags], left

    def _find(self, argument: str, rest: Iterator[str]) -> tuple[Flag, Any] | None:
        """The flag that an argument is about and its value, which may be the next argument; None if unknown."""
        name, value = _split(argument)
        flag = self._flags.get(name)
        if flag is not None:
            return flag, _value(flag, argument, value, rest)
        denied = self._flags.get(name[2:]) if name.startswith("no") else None
        if denied is not None and denied.kind.boolean:
            if value is not None:
                raise Error(f"{argument} does not take an argument; write --{denied.name}={value}")
            return denied, False
        if name in _HELP and value is None:
            print(self.get_help())
            sys.exit(1)
        return None

    def is_parsed(self) -> bool:
        """Whether a command line has been read."""
        return self._parsed

    def mark_as_parsed(self) -> None:
        """Leaves the flags as they are: ``sys.argv`` is not read."""
        self.__dict__["_parsed"] = True

    def unparse_flags(self) -> None:
        """Gives the flags their defaults back and lets the next use read the command line again."""
        for flag in self._flags.values():
            flag.value, flag.settled, flag.present = flag.default, False, 0
        self.__dict__.update(_parsed=False, _on_demand=False)

    def validate_all_flags(self) -> None:
        """Raises an error unless all values pass what was registered for their flags."""
        for flag in self._flags.values():
            flag.validate()

    def get_help(self) -> str:
        """What ``--help`` prints."""
        head = getattr(sys.modules.get("__main__"), "__doc__", None) or f"\nUSAGE: {sys.argv[0]} [flags]"
        flags = {flag.name: flag for flag in self._flags.values()}
        return "\n".join([head, "flags:\n", *(flags[name].describe() for name in sorted(flags))])

    def _unrecognized(self, name: str) -> UnrecognizedFlagError:
        near = difflib.get_close_matches(name, self._flags, n=3) if isinstance(name, str) else []
        hint = f". Did you mean: {', '.join(near)} ?" if near else ""
        return UnrecognizedFlagError(f"Unknown command line flag '{name}'{hint}")


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name or name.startswith("-") or any(c.isspace() or c == "=" for c in name):
        raise Error(f"A flag's name is a word without spaces, '=' or a leading dash, got {name!r}.")


def _is_command_line(argv: Any) -> bool:
    listed = isinstance(argv, Sequence) and not isinstance(argv, (str, bytes))
    return listed and len(argv) > 0 and all(isinstance(argument, str) for argument in argv)


def _split(argument: str) -> tuple[str, str | None]:
    name, equals, value = argument.removeprefix("-").removeprefix("-").partition("=")
    return name, value if equals else None


def _value(flag: Flag, argument: str, value: str | None, rest: Iterator[str]) -> Any:
    if value is not None:
        return value
    if flag.kind.boolean:
        return True
    following = next(rest, None)
    if following is None:
        raise Error(f"Missing value for flag {argument}")
    return following


FLAGS = FlagValues()
