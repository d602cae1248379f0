"""What the values of a field may be: a `Kind` checks a value and knows the default.

    INT32.check(4, "ConfigProto.placement_period")     4
    INT32.check(True, ...)                             DTypeError: a bool is not an int
    INT32.check(2**31, ...)                            InvalidArgumentError: out of range

A checked value is a plain Python one (``int``, ``float``, ``bool``, ``str``, ``bytes``) or a message: NumPy's
scalars are accepted and turned into those.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeVar

from situs.errors import DTypeError, InvalidArgumentError
from situs.proto.errors import FieldError
from situs.proto.literal import quote, spell_float, to_single

if TYPE_CHECKING:
    from situs.proto.message import Message

T = TypeVar("T")
M = TypeVar("M", bound="Message")


class Kind(ABC, Generic[T]):
    """The values that a field, or an element of a repeated field, may have."""

    def __init__(self, name: str, default: T) -> None:
        self.name: Final = name
        self.default: Final = default

    @abstractmethod
    def check(self, value: Any, path: str) -> T:
        """Returns the value as this kind keeps it, or says what is wrong with it at `path`."""

    @abstractmethod
    def spell(self, value: T) -> str:
        """The value in the text format."""

    def is_default(self, value: T) -> bool:
        """Whether a field with this value counts as not set."""
        return value == self.default

    def same(self, x: T, y: T) -> bool:
        """Whether two checked values are equal; NaN equals NaN."""
        return x == y or (x != x and y != y)

    def refuse(self, value: object, path: str, hint: str = "") -> NoReturn:
        """Raises the error for a value of a wrong type."""
        raise DTypeError(f"{path} is {self.name}; got {value!r} of type {type(value).__name__}.{hint}")


class Integer(Kind[int]):
    """Whole numbers of a fixed width."""

    def __init__(self, bits: int, signed: bool = True) -> None:
        super().__init__(f"an {'' if signed else 'u'}int{bits}", 0)
        self.low: Final = -(2 ** (bits - 1)) if signed else 0
        self.high: Final = 2 ** (bits - 1) - 1 if signed else 2**bits - 1

    def check(self, value: Any, path: str) -> int:
        """Refuses bools, floats and what does not fit the width."""
        number = _whole(value)
        if number is None or isinstance(_plain(value), bool):
            self.refuse(value, path)
        if not self.low <= number <= self.high:
            raise InvalidArgumentError(
                f"{path} is {self.name}, from {self.low} to {self.high}. Value out of range: {_shorten(number)}"
            )
        return number

    def spell(self, value: int) -> str:
        """In decimal."""
        return str(value)


class Real(Kind[float]):
    """Floating-point numbers: float32 when single, else float64."""

    def __init__(self, single: bool) -> None:
        super().__init__("a float" if single else "a double", 0.0)
        self.single: Final = single

    def check(self, value: Any, path: str) -> float:
        """Takes integers as well; a float32 is rounded, to infinity if need be."""
        plain = _plain(value)
        if isinstance(plain, (bool, str, bytes)) or not hasattr(plain, "__float__"):
            self.refuse(value, path)
        try:
            number = float(plain)
        except OverflowError:
            raise InvalidArgumentError(f"{path} is {self.name}. Value out of range: {_shorten(plain)}") from None
        except (TypeError, ValueError):
            self.refuse(value, path)
        return to_single(number) if self.single else number

    def is_default(self, value: float) -> bool:
        """Minus zero is not the default: it prints."""
        return value == 0 and math.copysign(1, value) > 0

    def spell(self, value: float) -> str:
        """With as many digits as it takes to read it back."""
        return spell_float(value, self.single)


class Boolean(Kind[bool]):
    """True or false."""

    def __init__(self) -> None:
        super().__init__("a bool", False)

    def check(self, value: Any, path: str) -> bool:
        """Takes integers as well, as protocol buffers do: ``allow_growth=1``."""
        number = _whole(value)
        if number is None:
            self.refuse(value, path)
        return bool(number)

    def spell(self, value: bool) -> str:
        """In lower case."""
        return "true" if value else "false"


class Text(Kind[str]):
    """Unicode strings."""

    def __init__(self) -> None:
        super().__init__("a string", "")

    def check(self, value: Any, path: str) -> str:
        """Takes bytes as well, if they are UTF-8."""
        if not isinstance(value, (str, bytes)):
            self.refuse(value, path)
        try:
            return value.decode() if isinstance(value, bytes) else value.encode().decode()
        except UnicodeError as error:
            raise InvalidArgumentError(f"{path} is a string that UTF-8 can spell; got {value!r}: {error}.") from None

    def spell(self, value: str) -> str:
        """In double quotes."""
        return quote(value)


class Bytes(Kind[bytes]):
    """Strings of bytes."""

    def __init__(self) -> None:
        super().__init__("bytes", b"")

    def check(self, value: Any, path: str) -> bytes:
        """Refuses str: which bytes it stands for is for the caller to say."""
        if not isinstance(value, bytes):
            hint = " Use .encode() to turn a string into bytes." if isinstance(value, str) else ""
            self.refuse(value, path, hint)
        return bytes(value)

    def spell(self, value: bytes) -> str:
        """In double quotes, everything outside ASCII escaped."""
        return quote(value)


class MessageKind(Kind[M]):
    """Messages of one class; the class may be named later, by a function, where two name each other."""

    def __init__(self, source: type[M] | Callable[[], type[M]]) -> None:
        self._source: Final = source

    @property
    def type(self) -> type[M]:
        """The class of the messages."""
        return self._source if isinstance(self._source, type) else self._source()

    def check(self, value: Any, path: str) -> M:
        """Takes only a message of the very class."""
        if type(value) is not self.type:
            raise DTypeError(f"{path} is a {self.type.__qualname__} message; got a {type(value).__qualname__}.")
        return value

    def build(self, value: Any, path: str) -> M:
        """A new message with the content of a message, or of a dict of its fields."""
        if isinstance(value, Mapping):
            if not all(isinstance(name, str) for name in value):
                raise FieldError(f"{path}: the names of fields are strings; got the dict {value!r}.")
            return self.type(**value)
        message = self.type()
        message.CopyFrom(self.check(value, path))
        return message

    def spell(self, value: M) -> str:
        """The fields, one a line, without the braces around them."""
        return str(value)

    def same(self, x: M, y: M) -> bool:
        """Whether all their fields are equal."""
        return x == y


MAX_DEPTH: Final = 100  # of messages inside messages, when they are read; protocol buffers have the same limit

INT32: Final = Integer(32)
INT64: Final = Integer(64)
UINT32: Final = Integer(32, signed=False)
UINT64: Final = Integer(64, signed=False)
FLOAT: Final = Real(single=True)
DOUBLE: Final = Real(single=False)
BOOL: Final = Boolean()
STRING: Final = Text()
BYTES: Final = Bytes()


def _plain(value: Any) -> Any:
    """NumPy's scalars as Python's."""
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value


def _whole(value: Any) -> int | None:
    try:
        return operator.index(_plain(value))
    except TypeError:
        return None


def _shorten(number: object) -> str:
    # Python refuses to spell integers of more than 4300 digits.
    return (
        f"an integer of {number.bit_length()} bits" if isinstance(number, int) and abs(number) >> 128 else str(number)
    )
