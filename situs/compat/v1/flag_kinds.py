"""One flag of the command line: how its text becomes a value, and how it is described.

--steps=100         Flag("steps", 10, "How many.", number(int))     100
--steps=many        IllegalFlagValueError: flag --steps=many: invalid literal for int() ...
"""

from __future__ import annotations

import csv
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from situs.errors import AlreadyExistsError, InvalidArgumentError, shown
from situs.tree import listed


class Error(InvalidArgumentError):
    """A flag was defined or used wrongly."""


class DuplicateFlagError(Error, AlreadyExistsError):
    """Two flags have one name."""


class FlagNameConflictsWithMethodError(Error):
    """A flag has the name of a method of ``FLAGS``, so that it could not be read."""


class IllegalFlagValueError(Error):
    """A value does not fit its flag."""


class UnrecognizedFlagError(Error, AttributeError, KeyError):
    """There is no such flag."""


@dataclass(frozen=True)
class Kind:
    """What values a flag takes.

    Attributes:
        parse: Makes a value of a text, or of a value that a program gives; raises ValueError or TypeError.
        note: What the help says of it.
        boolean: Whether the flag alone means True, and ``no`` before its name False.
        multi: Whether the flag may be given several times, and has a list of values.
    """

    parse: Callable[[Any], Any]
    note: str = ""
    boolean: bool = False
    multi: bool = False


@dataclass
class Flag:
    """A flag and its value.

    Attributes:
        where: The line of the program that defines it.
        settled: Whether a command line or an assignment has said what its value is.
        present: How often it stood on the command line.
    """

    name: str
    default: Any
    help: str
    kind: Kind
    short_name: str | None = None
    where: str = ""
    required: bool = False
    value: Any = None
    settled: bool = False
    present: int = 0
    checks: list[tuple[Callable[[Any], Any], str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.default = self.value = self.read(self.default)

    def read(self, given: Any) -> Any:
        """The value that is meant by a default or by the texts of a command line; None stays None."""
        if given is None or not self.kind.multi:
            return self._read_one(given)
        return [self._read_one(one) for one in (given if isinstance(given, (list, tuple)) else [given])]

    def _read_one(self, given: Any) -> Any:
        try:
            return None if given is None else self.kind.parse(given)
        except (TypeError, ValueError) as error:
            raise IllegalFlagValueError(f"flag --{self.name}={given}: {error}") from error

    def validate(self) -> None:
        """Raises an error unless the value passes what was registered for it."""
        if self.required and self.value is None:
            raise IllegalFlagValueError(
                f"flag --{self.name}=None: Flag --{self.name} must have a value other than None."
            )
        for check, message in self.checks:
            if not check(self.value):
                raise IllegalFlagValueError(f"flag --{self.name}={self.value}: {message}")

    def describe(self) -> str:
        """A few lines of help."""
        name = f"[no]{self.name}" if self.kind.boolean else self.name
        short = f"-{self.short_name}," if self.short_name else ""
        text = f"{short}--{name}: {self.help}" + (";\nrepeat to give a list of values" if self.kind.multi else "")
        lines = [*text.splitlines(), *([] if self.default is None else [f"(default: {self._shown_default()})"])]
        lines += [f"({self.kind.note})"] if self.kind.note else []
        wrapped = [row for line in lines for row in textwrap.wrap(line, 74) or [""]]
        return "\n".join(("  " if number == 0 else "    ") + row for number, row in enumerate(wrapped))

    def _shown_default(self) -> str:
        if self.kind.boolean:
            return repr(str(self.default).lower())
        if isinstance(self.default, list):
            return repr(",".join(map(str, self.default)))
        return repr(str(self.default))


# Kinds.


def text(given: Any) -> str:
    """Any text as it is."""
    if not isinstance(given, str):
        raise TypeError(f'flag value must be a string, found "{type(given)}"')
    return given


def boolean(given: Any) -> bool:
    """True or False, as a word or a digit."""
    word = str(given).lower() if isinstance(given, (str, bool)) or given in (0, 1) else ""
    if word in ("true", "t", "1"):
        return True
    if word in ("false", "f", "0"):
        return False
    raise ValueError(f"Non-boolean argument to boolean flag: {given!r}; true, t, 1, false, f and 0 would do")


def number(kind: type[int] | type[float], lower: float | None = None, upper: float | None = None) -> Kind:
    """Whole numbers or real ones, perhaps within bounds."""
    noun = "an integer" if kind is int else "a number"
    note = noun + _range(lower, upper)

    def parse(given: Any) -> Any:
        value = _whole(given) if kind is int else _real(given)
        if (lower is not None and value < lower) or (upper is not None and value > upper):
            raise ValueError(f"{value} is not {note}")
        return value

    return Kind(parse, note)


def _range(lower: float | None, upper: float | None) -> str:
    if lower is not None and upper is not None:
        return f" in the range [{lower}, {upper}]"
    return "" if lower is upper else f" >= {lower}" if upper is None else f" <= {upper}"


def _whole(given: Any) -> int:
    if not isinstance(given, (str, int)):
        raise TypeError(f"Expect argument to be a string or int, found {type(given)}")
    if isinstance(given, str) and given.strip().lower().startswith(("0x", "0o")):
        return int(given, 0)
    return int(given)


def _real(given: Any) -> float:
    if not isinstance(given, (str, int, float)):
        raise TypeError(f"Expect argument to be a string, int, or float, found {type(given)}")
    try:
        return float(given)
    except OverflowError:
        raise ValueError("it is too large for a number with a fraction") from None


def choice(values: Iterable[str], case_sensitive: bool = True) -> Kind:
    """One of some texts; in any case of letters, the text of the list is taken."""
    options: list[str] = listed(values, "values of a flag")
    if not all(isinstance(option, str) for option in options):
        raise Error(f"The values of an enum flag are texts, got {shown(values)}.")
    if not options:
        raise Error("An enum flag takes one of some values, and none were given.")
    found = {(option if case_sensitive else option.lower()): option for option in options}

    def parse(given: Any) -> str:
        wanted = given if case_sensitive or not isinstance(given, str) else given.lower()
        if not isinstance(given, str) or wanted not in found:
            raise ValueError(f"value should be one of <{'|'.join(options)}>")
        return found[wanted]

    return Kind(parse, f"one of <{'|'.join(options)}>")


def comma_separated(given: Any) -> list[str]:
    """Texts with commas between them; quotes keep a comma in a text."""
    if isinstance(given, (list, tuple)):
        return list(given)
    try:
        rows = list(csv.reader([text(given)], strict=True)) if given else []
    except csv.Error as error:
        raise ValueError(f"it is no list of texts with commas between them: {error}") from None
    return [item.strip() for item in rows[0]] if rows else []


def space_separated(given: Any) -> list[str]:
    """Texts with spaces between them."""
    return list(given) if isinstance(given, (list, tuple)) else text(given).split()
