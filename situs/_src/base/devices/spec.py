"""Device names: parse, print, merge, match.

A device is named by up to five fields, any of which may be left open:

    /job:localhost/replica:0/task:0/device:GPU:1
     ---job------- --replica- -task- ---type-index

Programs use short forms too: ``/gpu:1``, ``gpu``, ``/device:GPU:*``, ``/job:w/task:3/cpu:0``.
The canonical print always spells the long form, upper-case type last.

    >>> DeviceSpec.from_string("/gpu:1/job:w").to_string()
    '/job:w/device:GPU:1'

``DeviceSpec`` is immutable. ``MutableDeviceSpec`` is its TensorFlow 1 variant, whose fields can be set.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export

# Types that may be written without "device:", in any case.
SHORT_TYPES = frozenset({"CPU", "GPU", "TPU", "CUSTOM", "EPU"})


class Fields(NamedTuple):
    """The five parts of a device name; None where the name leaves one open."""

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None


def _number(field: str, value: Any) -> int | None:
    try:
        return None if value is None else int(value)
    except Exception:  # whatever an object that is not a number raises
        raise ArgumentError(f"The {field} of a device spec is an integer, got {shown(value)}.") from None


class _SpecBase:
    """What both spellings of a device spec share: everything that does not change one."""

    __slots__ = ("_fields",)
    _fields: Fields

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self._fields = Fields(
            None if job is None else str(job),
            _number("replica", replica),
            _number("task", task),
            None if device_type is None else _upper_common(str(device_type)),
            _number("device_index", device_index),
        )

    def to_string(self) -> str:
        """The canonical name; fields left open are left out, an open index prints as ``*``."""
        job, replica, task, device_type, device_index = self._fields
        text = "" if job is None else f"/job:{job}"
        text += "" if replica is None else f"/replica:{replica}"
        text += "" if task is None else f"/task:{task}"
        if device_type is not None:
            text += f"/device:{device_type}:{'*' if device_index is None else device_index}"
        return text

    @classmethod
    def from_string(cls, spec: str) -> Any:
        """Reads a device name.

        Raises:
            ValueError: the text is no device name; the message says which part.
        """
        return cls(*parse(spec))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SpecBase) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields)

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={value}" for name, value in self._fields._asdict().items())
        return f"<DeviceSpec({parts})>"

    __str__ = __repr__


def _readable(name: str) -> Callable[[_SpecBase], Any]:
    def read(self: _SpecBase) -> Any:
        return getattr(self._fields, name)

    read.__doc__ = f"The {name.replace('_', ' ')}, or None where it is left open."
    return read


@export("DeviceSpec", v1=())
class DeviceSpec(_SpecBase):
    """A possibly partial device name, as an immutable value.

    Example:
        >>> DeviceSpec(job="a") == DeviceSpec.from_string("/job:a")
        True
        >>> DeviceSpec.from_string("/gpu:3").make_merged_spec(DeviceSpec.from_string("/cpu"))
        <DeviceSpec(job=None, replica=None, task=None, device_type=CPU, device_index=3)>
    """

    __slots__ = ()

    job = property(_readable("job"))
    replica = property(_readable("replica"))
    task = property(_readable("task"))
    device_type = property(_readable("device_type"))
    device_index = property(_readable("device_index"))

    @classmethod
    def parse_from_string(cls, spec: str) -> DeviceSpec:
        """The same as ``from_string``."""
        return DeviceSpec(*parse(spec))

    def make_merged_spec(self, dev: _SpecBase) -> DeviceSpec:
        """Returns this spec with every field that `dev` sets taken from `dev`.

        The index is inherited on its own: ``/cpu:2`` merged with ``/gpu`` is ``/device:GPU:2``.
        """
        if not isinstance(dev, _SpecBase):
            raise ArgumentError(f"A device spec merges with another one, got {dev!r}. Use DeviceSpec.from_string.")
        merged = [mine if theirs is None else theirs for mine, theirs in zip(self._fields, dev._fields, strict=True)]
        return DeviceSpec(*merged)  # type: ignore[arg-type]

    def replace(self, **fields: Any) -> DeviceSpec:
        """Returns this spec with some fields exchanged."""
        unknown = fields.keys() - set(Fields._fields)
        if unknown:
            raise DTypeError(f"DeviceSpec has no field {sorted(unknown)[0]!r}; it has {', '.join(Fields._fields)}.")
        return DeviceSpec(**{**self._fields._asdict(), **fields})

    def matches(self, device: _SpecBase) -> bool:
        """Whether every field that this spec sets is equal in `device`."""
        pairs = zip(self._fields, device._fields, strict=True)
        return all(mine is None or mine == theirs or mine == "*" for mine, theirs in pairs)

    def completed(self) -> DeviceSpec:
        """This spec with open fields filled from the local host's ``CPU:0``, as eager scopes do."""
        spec = LOCAL_CPU.make_merged_spec(self)
        return spec.replace(device_type="CPU") if spec.device_type == "*" else spec  # any type will do

    def __bool__(self) -> bool:
        return any(field is not None for field in self._fields)


def _settable(name: str, coerce: Callable[[Any], Any]) -> property:
    def write(self: MutableDeviceSpec, value: object) -> None:
        self._fields = self._fields._replace(**{name: None if value is None else coerce(value)})

    return property(_readable(name), write)


@export(v1="DeviceSpec")
class MutableDeviceSpec(_SpecBase):
    """A device spec whose fields can be set: ``tf.compat.v1.DeviceSpec``."""

    __slots__ = ()
    __hash__ = _SpecBase.__hash__

    job = _settable("job", str)
    replica = _settable("replica", partial(_number, "replica"))
    task = _settable("task", partial(_number, "task"))
    device_type = _settable("device_type", lambda value: _upper_common(str(value)))
    device_index = _settable("device_index", partial(_number, "device_index"))

    def parse_from_string(self, spec: str) -> MutableDeviceSpec:
        """Reads a device name into this object and returns it."""
        self._fields = DeviceSpec(*parse(spec))._fields
        return self

    def make_merged_spec(self, dev: _SpecBase) -> MutableDeviceSpec:
        """A new spec with every field that `dev` sets taken from `dev`."""
        return MutableDeviceSpec(*DeviceSpec(*self._fields).make_merged_spec(dev)._fields)

    def replace(self, **fields: Any) -> MutableDeviceSpec:
        """A new spec with some fields exchanged."""
        return MutableDeviceSpec(*DeviceSpec(*self._fields).replace(**fields)._fields)

    def merge_from(self, dev: _SpecBase) -> None:
        """Takes over every field that `dev` sets."""
        self._fields = DeviceSpec(*self._fields).make_merged_spec(dev)._fields


@lru_cache(maxsize=4096)
def parse_spec(text: str) -> DeviceSpec:
    """Reads a device name into a value; remembers the ones it has seen."""
    return DeviceSpec(*parse(text))


def parse(text: str | None) -> Fields:
    """Reads a device name into its fields.

    Pieces stand in any order, empty ones are skipped, a repeated job, replica or task
    counts the last time it is written.

    Raises:
        ValueError: the text is no device name.
    """
    if text is None:
        return Fields()
    if not isinstance(text, str):
        raise ArgumentError(f"Expecting a string device name. Got {type(text)}({text!r})")
    found: dict[str, Any] = {}
    for piece in text.split("/"):
        if not piece:
            continue
        key, *values = piece.split(":")
        if key == "job" and len(values) == 1:
            found["job"] = values[0]
        elif key in ("replica", "task") and len(values) == 1:
            found[key] = _parse_int(values[0], text)
        elif key.upper() in SHORT_TYPES and len(values) <= 1:
            _add_device(found, key.upper(), values[0] if values else "*", text)
        elif key == "device" and len(values) == 2:
            _add_device(found, _upper_common(values[0]), values[1], text)
        else:
            raise ArgumentError(
                f"Unknown attribute {key!r} is encountered while parsing the device spec: {text!r}. "
                "Write a device like '/gpu:1', '/device:GPU:1' or '/job:localhost/replica:0/task:0/device:GPU:1'."
            )
    return Fields(**found)


def _add_device(found: dict[str, Any], device_type: str, index: str, text: str) -> None:
    if "device_type" in found:
        raise ArgumentError(f"Multiple device types are not allowed while parsing the device spec: {text}.")
    found["device_type"] = device_type
    found["device_index"] = None if index == "*" else _parse_int(index, text)


def _parse_int(digits: str, text: str) -> int:
    try:
        return int(digits)
    except ValueError as error:
        raise ArgumentError(f"{error}, while parsing the device spec: {text!r}.") from None


def _upper_common(device_type: str) -> str:
    return device_type.upper() if device_type in ("cpu", "gpu") else device_type


LOCAL_CPU = DeviceSpec(job="localhost", replica=0, task=0, device_type="CPU", device_index=0)
EMPTY = DeviceSpec()
