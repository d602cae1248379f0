"""Shared by all streaming metrics: local variables, the error in eager code, the collections of a graph."""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.errors import StateError
from situs._src.base.tensor import Tensor
from situs._src.ir.graph.context import add_to_collections
from situs._src.ops.constant import convert_to_tensor, zeros
from situs._src.v1.ranks import fitted_weights, squeezed_alike
from situs._src.variables.collections import GraphKeys
from situs._src.variables.symbolic import RefVariable, makes_graph_variables

Metric = tuple[Any, Any]  # the value, and the update that is to be run for each batch


def refuse_eager(function: str) -> None:
    """Refuses eager code and ``tf.function``, which have no session to run updates in.

    Raises:
        RuntimeError: no graph is being built for a session.
    """
    if here.graph is None or not makes_graph_variables():
        raise StateError(
            f"tf.metrics.{function} is not supported when eager execution is enabled. It adds local variables to a "
            "graph that a session runs; the classes of tf.keras.metrics work everywhere else."
        )


def metric_variable(shape: Any, dtype: dt.DType, name: str) -> Any:
    """A new local variable of zeros, placed as the scopes around it say."""
    collections = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
    return RefVariable(lambda: zeros(shape, dtype), trainable=False, collections=collections, name=name)


def collected(value: Any, update: Any, metrics_collections: Any, updates_collections: Any) -> Metric:
    """A value and its update, put into the collections that were asked for."""
    if metrics_collections:
        add_to_collections(metrics_collections, value)
    if updates_collections:
        add_to_collections(updates_collections, update)
    return value, update


def fitted(labels: Any, predictions: Any, weights: Any) -> tuple[Tensor, Tensor, Tensor | None]:
    """Labels, predictions and weights of one rank, where they differ by a last dimension of one.

    Raises:
        ValueError: the shapes of labels and predictions do not fit.
    """
    labels, predictions = squeezed_alike(labels, predictions)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions, None if weights is None else fitted_weights(convert_to_tensor(weights), predictions)
