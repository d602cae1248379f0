"""Objects of Keras by name: ``get("relu")``, ``get({"class_name": ..., "config": ...})``, ``get(None)``.

shelf = Shelf("initializer", "keras.initializers", [Zeros, Ones], {"zeros": Zeros})
shelf.get("zeros")                  an object of the class
shelf.serialize(Zeros())            plain data, from which `shelf.deserialize` makes it again
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from situs._src.base.errors import ArgumentError, shown
from situs._src.keras.losses.naming import in_words
from situs._src.keras.optimizers.configuration import deserialize_object, serialize_object


class Shelf:
    """The classes of one kind, by their names.

    Args:
        what: What they are, for messages.
        module: Where they are, in plain data.
        classes: The classes.
        short: More names for them.
    """

    def __init__(
        self, what: str, module: str, classes: Iterable[type], short: Mapping[str, Callable[..., Any]] | None = None
    ) -> None:
        self.what = what
        self.module = module
        self.classes = {kind.__name__: kind for kind in classes}
        by_words = {in_words(name): kind for name, kind in self.classes.items()}
        self.names: dict[str, Callable[..., Any]] = {**self.classes, **by_words, **(short or {})}

    def get(self, identifier: Any) -> Any:
        """The object that a name, plain data or the object itself stands for; None for None.

        Raises:
            ValueError: it is not one of these.
        """
        if identifier is None:
            return None
        if isinstance(identifier, (str, Mapping)):
            return self.deserialize(identifier)
        if isinstance(identifier, type):
            return identifier()
        if callable(identifier):
            return identifier
        raise ArgumentError(f"Could not interpret {self.what} identifier: {shown(identifier)}")

    def deserialize(self, config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
        """The object that `serialize` made plain data of.

        Args:
            config: The data, or a name.
            custom_objects: Classes and functions of the program's own, by name.
        """
        if not isinstance(config, str):
            return deserialize_object(config, self.classes, self.what, custom_objects)
        if custom_objects and config in custom_objects:
            found = custom_objects[config]
            return found() if isinstance(found, type) else found
        if config not in self.names:
            raise ArgumentError(f"Could not interpret {self.what} identifier: {shown(config)}")
        return self.names[config]()

    def serialize(self, value: Any) -> Any:
        """An object as plain data; a function by its name."""
        if not hasattr(value, "get_config"):
            return getattr(value, "__name__", None) or shown(value)
        return serialize_object(value, self.module, self.classes)
