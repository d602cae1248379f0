"""Losses by their names, and as plain data: ``tf.losses.get``, ``serialize`` and ``deserialize``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.keras.losses import cross_entropy, formulas, kinds
from situs._src.keras.losses.base import FormulaLoss, Loss
from situs._src.keras.optimizers.configuration import deserialize_object, serialize_object

_CLASSES: dict[str, type[FormulaLoss]] = {
    kind.__name__: kind
    for kind in (
        kinds.BinaryCrossentropy,
        kinds.BinaryFocalCrossentropy,
        kinds.CategoricalCrossentropy,
        kinds.CategoricalFocalCrossentropy,
        kinds.CategoricalHinge,
        kinds.CosineSimilarity,
        kinds.Dice,
        kinds.Hinge,
        kinds.Huber,
        kinds.KLDivergence,
        kinds.LogCosh,
        kinds.MeanAbsoluteError,
        kinds.MeanAbsolutePercentageError,
        kinds.MeanSquaredError,
        kinds.MeanSquaredLogarithmicError,
        kinds.Poisson,
        kinds.SparseCategoricalCrossentropy,
        kinds.SquaredHinge,
        kinds.Tversky,
    )
}
_SHORT = {
    "mse": formulas.mean_squared_error,
    "mae": formulas.mean_absolute_error,
    "mape": formulas.mean_absolute_percentage_error,
    "msle": formulas.mean_squared_logarithmic_error,
    "bce": cross_entropy.binary_crossentropy,
    "kld": formulas.kl_divergence,
    "kullback_leibler_divergence": formulas.kl_divergence,
    "logcosh": formulas.log_cosh,
    "huber_loss": formulas.huber,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {kind._formula.__name__: kind._formula for kind in _CLASSES.values()}
FUNCTIONS |= _SHORT | {name.upper(): function for name, function in _SHORT.items() if len(name) <= 4}


@export("losses.serialize", "keras.losses.serialize", v1=())
def serialize(loss: Any) -> Any:
    """A loss as plain data: its class and its arguments, or the name of a function."""
    if loss is not None and FUNCTIONS.get(name := getattr(loss, "__name__", "")) is loss:
        return name
    if not isinstance(loss, Loss):
        raise DTypeError(f"A loss, or one of the functions of tf.losses, is expected here; got {shown(loss)}.")
    return serialize_object(loss, "keras.losses", _CLASSES)


@export("losses.deserialize", "keras.losses.deserialize", v1=())
def deserialize(name: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The loss that `serialize` made plain data of.

    Args:
        name: The data.
        custom_objects: Classes and functions of the program's own, by name.
    """
    if isinstance(name, str):
        found = {**FUNCTIONS, **_CLASSES, **(custom_objects or {})}.get(name)
        if found is None:
            raise ArgumentError(f"Could not interpret loss identifier: {shown(name)}")
        return found() if isinstance(found, type) else found
    return deserialize_object(name, _CLASSES, "loss", custom_objects)


@export("losses.get", "keras.losses.get", v1=())
def get(identifier: Any) -> Any:
    """A loss: from its name, from plain data, or itself.

    Raises:
        ValueError: it is not one of these.
    """
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if identifier is None or callable(identifier):
        return identifier
    raise ArgumentError(f"Could not interpret loss identifier: {shown(identifier)}")
