"""Message classes that no package provides: their descriptors are built at import.

    Int64List, = message_classes(__name__, {"Int64List": ("Integers.", {"value": (1, "int64*")})})

A type is a scalar type, or the name of a message among them; a ``*`` suffix means that the field is repeated, and
``map<string, Feature>`` a map. Fields that end in ``kind``, ``(1, "BytesList", "kind")``, exclude each other (oneof).

The descriptors have a pool and names of their own: a process may have TensorFlow loaded as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

_MAP = re.compile(r"map<(\w+), (\w+)>")

Fields = Mapping[str, tuple[int, str] | tuple[int, str, str]]


def documented(kind: object, doc: str) -> None:
    """Gives a class of messages its docstring, which generated classes have not."""
    kind.__doc__ = doc


def message_classes(module: str, declared: Mapping[str, tuple[str, Fields]]) -> list[Any]:
    """The classes of messages that are declared by name, each with its docstring and fields, for a module.

    Args:
        module: The module in which the classes are found under their names.
        declared: A docstring, and a number and type by the name of each field, by the name of the message.
    """
    package = f"situs.{module.rpartition('.')[2]}"
    file = FileDescriptorProto(name=f"{module.replace('.', '/')}.proto", package=package, syntax="proto3")
    for name, (_, fields) in declared.items():
        made = file.message_type.add(name=name)
        for number, (field, said) in enumerate(fields.items()):
            _add_field(made, f".{package}", field, said[0], said[1])
            if len(said) == 3:
                if not any(oneof.name == said[2] for oneof in made.oneof_decl):
                    made.oneof_decl.add(name=said[2])
                made.field[number].oneof_index = [oneof.name for oneof in made.oneof_decl].index(said[2])
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    classes = []
    for name, (doc, _) in declared.items():
        found = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        found.__module__ = module  # where pickles look for it
        documented(found, doc)
        classes.append(found)
    return classes


def _add_field(message: DescriptorProto, package: str, name: str, number: int, spelled: str) -> None:
    made = message.field.add(name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
    if found := _MAP.fullmatch(spelled):
        entry = f"{name.title().replace('_', '')}Entry"
        inner = message.nested_type.add(name=entry, options={"map_entry": True})
        for position, part in enumerate(("key", "value"), start=1):
            _add_field(inner, package, part, position, found[position])
        spelled, package = f"{entry}*", f"{package}.{message.name}"
    if spelled.endswith("*"):
        made.label = FieldDescriptorProto.LABEL_REPEATED
    spelled = spelled.removesuffix("*")
    scalar = f"TYPE_{spelled.upper()}"
    if scalar in FieldDescriptorProto.Type.keys():  # noqa: SIM118 - an enum is no dict
        made.type = FieldDescriptorProto.Type.Value(scalar)
    else:
        made.type, made.type_name = FieldDescriptorProto.TYPE_MESSAGE, f"{package}.{spelled}"
