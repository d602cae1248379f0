"""Enumerations: numbers with names, used as a kind of field.

    >>> Level = EnumType("Level", L1=0, L0=-1)
    >>> Level.Name(-1), Level.Value("L0"), Level.L0
    ('L0', -1, -1)

A field holds the number, may be set by name, and prints the name. As in protocol buffers (version 3) a number
without a name is kept and printed as a number, so that a message of a newer program survives.
"""

from __future__ import annotations

from typing import Any, Final

from situs.errors import InvalidArgumentError
from situs.proto.errors import FieldError
from situs.proto.kind import INT32, Kind


class EnumType(Kind[int]):
    """A named set of named numbers; the first is the default."""

    def __init__(self, enum_name: str, /, **numbers: int) -> None:
        super().__init__(f"a number or a name of the enum {enum_name}", next(iter(numbers.values())))
        self.enum_name: Final = enum_name
        self._numbers: Final = numbers
        self._names: Final = {number: name for name, number in reversed(numbers.items())}

    def Name(self, number: int) -> str:  # noqa: N802
        """The name of a number."""
        if isinstance(number, bool) or not hasattr(number, "__index__") or number not in self._names:
            raise InvalidArgumentError(
                f"Enum {self.enum_name} has no name defined for value {number!r}; it has {self._known()}."
            )
        return self._names[number]

    def Value(self, name: str) -> int:  # noqa: N802
        """The number of a name."""
        if not isinstance(name, str) or name not in self._numbers:
            raise InvalidArgumentError(
                f"Enum {self.enum_name} has no value defined for name {name!r}; it has {self._known()}."
            )
        return self._numbers[name]

    def keys(self) -> list[str]:
        """The names, in the order declared."""
        return list(self._numbers)

    def values(self) -> list[int]:
        """The numbers, in the order declared."""
        return list(self._numbers.values())

    def items(self) -> list[tuple[str, int]]:
        """Names with their numbers, in the order declared."""
        return list(self._numbers.items())

    def check(self, value: Any, path: str) -> int:
        """Takes a name, or any number of 32 bits."""
        if isinstance(value, str):
            return self.Value(value)
        try:
            return INT32.check(value, path)
        except TypeError:
            self.refuse(value, path, f" It has {self._known()}.")

    def spell(self, value: int) -> str:
        """The name, or the number where there is no name."""
        return self._names.get(value, str(value))

    def __getattr__(self, name: str) -> int:
        numbers: dict[str, int] = self.__dict__.get("_numbers", {})
        if name not in numbers:
            raise FieldError(f"Enum {self.__dict__.get('enum_name')} has no name {name!r}.")
        return numbers[name]

    def __repr__(self) -> str:
        return f"EnumType({self.enum_name!r}, {self._known()})"

    def _known(self) -> str:
        known = [f"{name}={number}" for name, number in self.items()]
        return ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
