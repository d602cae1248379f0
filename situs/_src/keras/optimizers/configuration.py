"""Objects as plain data, and back: a class by its name, and the arguments it was made with.

    {"module": "keras.optimizers", "class_name": "SGD", "config": {...}, "registered_name": None}

Only classes that are known by name are made: data never says what code to run.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown


def serialize_object(value: Any, module: str, known: Mapping[str, type]) -> dict[str, Any]:
    """An object as plain data.

    Args:
        value: The object; it has a method ``get_config``.
        module: Where its class is, if it is one of the known.
        known: The classes that need no help to be found again, by name.
    """
    if not hasattr(value, "get_config") or isinstance(value, type):
        raise DTypeError(f"An optimizer or a schedule, with a method get_config, is expected here, got {shown(value)}.")
    kind = type(value)
    is_known = known.get(kind.__name__) is kind
    return {
        "module": module if is_known else kind.__module__,
        "class_name": kind.__name__,
        "config": value.get_config(),
        "registered_name": None if is_known else kind.__name__,
    }


def deserialize_object(config: Any, known: Mapping[str, Any], what: str, custom_objects: Any = None) -> Any:
    """The object that plain data stands for.

    Args:
        config: The data.
        known: The classes that may be made, by name.
        what: What is expected, for messages.
        custom_objects: Classes of the program's own, by name.

    Raises:
        InvalidArgumentError: the data is malformed, or names an unknown class.
    """
    if not isinstance(config, Mapping) or not isinstance(config.get("class_name"), str):
        raise ArgumentError(f"Improper config format for a {what}: {shown(config)}.")
    if custom_objects is not None and not isinstance(custom_objects, Mapping):
        raise DTypeError(f"`custom_objects` is a dictionary of classes by name, got {shown(custom_objects)}.")
    name, arguments = config["class_name"], config.get("config", {})
    classes = {**known, **(custom_objects or {})}
    kind = classes.get(name) or {key.lower(): value for key, value in classes.items()}.get(name.lower())
    if kind is None:
        raise ArgumentError(
            f"Unknown {what}: '{name}'. Known are {', '.join(sorted(classes))}; name others in `custom_objects`."
        )
    if not hasattr(kind, "from_config"):
        raise DTypeError(f"A {what} is made by the method from_config of its class, which {shown(kind)} has not.")
    if not isinstance(arguments, Mapping):
        raise ArgumentError(f"The config of {what} '{name}' is a dictionary, got {shown(arguments)}.")
    if "custom_objects" in inspect.signature(kind.from_config).parameters:
        return kind.from_config(dict(arguments), custom_objects=custom_objects)
    return kind.from_config(dict(arguments))
