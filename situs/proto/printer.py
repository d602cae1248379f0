"""Messages as text, in the text format of protocol buffers.

    gpu_options {
      per_process_gpu_memory_fraction: 0.4
      allow_growth: true
    }

Fields come in the order of their numbers, those that are not set are left out, and the entries of a map come in the
order of their keys. `situs.proto.text` reads it back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from situs.proto.field import MapField
from situs.proto.kind import Kind, MessageKind

if TYPE_CHECKING:
    from situs.proto.message import Message


def to_text(message: Message) -> str:
    """The message in the text format, one line a field; empty when nothing is set."""
    return "".join(f"{line}\n" for line in _lines(message))


def _lines(message: Message) -> Iterator[str]:
    for field, value in message.ListFields():
        if isinstance(field, MapField):
            for key in sorted(value):
                yield from _block(field.name, _entry(field, key, value[key]))
        else:
            for element in [value] if field.singular else value:
                yield from _item(field.name, field.kind, element)


def _entry(field: MapField, key: Any, value: Any) -> Iterator[str]:
    yield from _item("key", field.key, key)
    yield from _item("value", field.kind, value)


def _item(name: str, kind: Kind[Any], value: Any) -> Iterator[str]:
    if isinstance(kind, MessageKind):
        yield from _block(name, _lines(value))
    else:
        yield f"{name}: {kind.spell(value)}"


def _block(name: str, inside: Iterator[str]) -> Iterator[str]:
    yield f"{name} {{"
    for line in inside:
        yield f"  {line}"
    yield "}"
