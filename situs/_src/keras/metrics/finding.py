"""Metrics by their names, and as plain data: ``tf.metrics.get``, ``serialize`` and ``deserialize``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.keras.losses import finding as losses
from situs._src.keras.losses.naming import in_words
from situs._src.keras.metrics import accuracies, area, confusion, means, overlap, rates, reduction, scores
from situs._src.keras.metrics.base import Metric
from situs._src.keras.optimizers.configuration import deserialize_object, serialize_object

_BASES = ("Counting", "FormulaMetric", "RateAtRate")
_CLASSES: dict[str, type[Metric]] = {
    kind.__name__: kind
    for module in (accuracies, area, confusion, means, overlap, rates, reduction, scores)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Metric) and kind.__module__ == module.__name__
    if not kind.__name__.startswith("_") and kind.__name__ not in _BASES
}
_ACCURACIES: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        accuracies.accuracy,
        accuracies.binary_accuracy,
        accuracies.categorical_accuracy,
        accuracies.sparse_categorical_accuracy,
        accuracies.sparse_top_k_categorical_accuracy,
        accuracies.top_k_categorical_accuracy,
    )
}


@export("metrics.serialize", "keras.metrics.serialize", v1=())
def serialize(metric: Any) -> Any:
    """A metric as plain data: its class and its arguments, or the name of a function."""
    functions = {**losses.FUNCTIONS, **_ACCURACIES}
    if metric is not None and functions.get(name := getattr(metric, "__name__", "")) is metric:
        return name
    if not isinstance(metric, Metric):
        raise DTypeError(f"A metric, or one of the functions of tf.metrics, is expected here; got {shown(metric)}.")
    return serialize_object(metric, "keras.metrics", _CLASSES)


@export("metrics.deserialize", "keras.metrics.deserialize", v1=())
def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The metric that `serialize` made plain data of.

    Args:
        config: The data.
        custom_objects: Classes and functions of the program's own, by name.
    """
    if isinstance(config, str):
        found = _by_name(config, custom_objects or {})
        if found is None:
            raise ArgumentError(f"Could not interpret metric identifier: {shown(config)}")
        return found() if isinstance(found, type) else found
    return deserialize_object(config, _CLASSES, "metric", custom_objects)


@export("metrics.get", "keras.metrics.get", v1=())
def get(identifier: Any) -> Any:
    """A metric: from its name, from plain data, or itself.

    Raises:
        ValueError: it is not one of these.
    """
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if isinstance(identifier, type) and issubclass(identifier, Metric):
        return identifier()
    if identifier is None or callable(identifier):
        return identifier
    raise ArgumentError(f"Could not interpret metric identifier: {shown(identifier)}")


def _by_name(name: str, custom: dict[str, Any]) -> Any:
    """A class by its name, in either spelling; else a function."""
    if name in custom:
        return custom[name]
    spelled = {in_words(known): kind for known, kind in _CLASSES.items()}
    return _CLASSES.get(name) or spelled.get(name) or _ACCURACIES.get(name) or losses.FUNCTIONS.get(name)
