"""Finding a device of a report by the name that a program gives it: ``GPU:0``, ``/gpu:0``, or the whole name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from situs._src.base.devices.spec import parse_spec
from situs._src.base.errors import InvalidArgumentError, NotFoundError, shown
from situs._src.base.typing import DeviceLike


class Named(Protocol):
    """What is about one device."""

    @property
    def name(self) -> str:
        """The device's full name."""


N = TypeVar("N", bound=Named)


def find(items: Sequence[N], device: DeviceLike) -> N:
    """The item about a device.

    Raises:
        ValueError: this is not a name of one device.
        NotFoundError: there is nothing about it.
    """
    if not isinstance(device, str):
        raise InvalidArgumentError(f"A device is named as in 'GPU:0', got {shown(device)}.")
    wanted = parse_spec(device)
    if wanted.device_type is None or wanted.device_index is None:
        raise InvalidArgumentError(f"{device!r} does not name one device: write its type and number, as in 'GPU:0'.")
    for item in items:
        spec = parse_spec(item.name)
        if (spec.device_type, spec.device_index) == (wanted.device_type, wanted.device_index):
            return item
    names = ", ".join(short_name(item.name) for item in items) or "no device at all"
    raise NotFoundError(f"There is nothing about {device!r} here, but about {names}.")


def short_name(name: str) -> str:
    """A device's name without the machine: ``GPU:0``."""
    return name.rpartition("device:")[2]
