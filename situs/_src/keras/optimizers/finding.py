"""Optimizers by their names, and as plain data: ``tf.optimizers.get``, ``serialize`` and ``deserialize``."""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.keras.optimizers.adam import Adam, Adamax, AdamW, Nadam
from situs._src.keras.optimizers.configuration import deserialize_object, serialize_object
from situs._src.keras.optimizers.loss_scale import LossScaleOptimizer
from situs._src.keras.optimizers.optimizer import Optimizer
from situs._src.keras.optimizers.rules import SGD, Adadelta, Adagrad, Ftrl, Lion, RMSprop

_BY_NAME: dict[str, type[Optimizer]] = {
    kind.__name__: kind
    for kind in (
        SGD,
        Adadelta,
        Adagrad,
        Adam,
        AdamW,
        Adamax,
        Ftrl,
        Lion,
        LossScaleOptimizer,
        Nadam,
        RMSprop,
    )
}


@export("optimizers.serialize", "keras.optimizers.serialize", v1=())
def serialize(optimizer: Any) -> dict[str, Any]:
    """An optimizer as plain data: its class and its arguments."""
    return serialize_object(optimizer, "keras.optimizers", _BY_NAME)


@export("optimizers.deserialize", "keras.optimizers.deserialize", v1=())
def deserialize(config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
    """The optimizer that `serialize` made plain data of.

    Args:
        config: The data.
        custom_objects: Classes of the program's own, by name.
    """
    return deserialize_object(config, _BY_NAME, "optimizer", custom_objects)


@export("optimizers.get", "keras.optimizers.get", v1=())
def get(identifier: Any) -> Any:
    """An optimizer: from its name, from plain data, or itself.

    Raises:
        ValueError: it is not one of these.
    """
    if identifier is None or isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, str):
        identifier = {"class_name": identifier, "config": {}}
    if isinstance(identifier, dict):
        return deserialize(identifier)
    raise ArgumentError(f"Could not interpret optimizer identifier: {shown(identifier)}")
