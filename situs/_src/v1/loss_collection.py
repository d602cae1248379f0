"""The losses of a graph, in the collections ``LOSSES`` and ``REGULARIZATION_LOSSES``; programs minimize their sum."""

from __future__ import annotations

from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.ir.graph.context import add_to_collection, get_collection
from situs._src.ops.attribute import as_bool
from situs._src.ops.constant import constant
from situs._src.ops.cumulative import add_n
from situs._src.variables.collections import GraphKeys

_LOSSES = GraphKeys.LOSSES


@export(v1="losses.add_loss")
def add_loss(loss: Any, loss_collection: str | None = _LOSSES) -> None:
    """Puts a loss into a collection of the graph being built; in eager code there is none."""
    if loss_collection and here.graph is not None:
        add_to_collection(loss_collection, loss)


@export(v1="losses.get_losses")
def get_losses(scope: str | None = None, loss_collection: str | None = _LOSSES) -> list[Any]:
    """The losses of a collection of the default graph; those under a scope, if one is given."""
    return get_collection(loss_collection, scope)


@export(v1="losses.get_regularization_losses")
def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """The losses that regularizers of variables have added to the default graph."""
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@export(v1="losses.get_regularization_loss")
def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """The sum of the losses that regularizers have added; zero if there are none."""
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else constant(0.0)


@export(v1="losses.get_total_loss")
def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """The sum of all losses of the default graph.

    Args:
        add_regularization_losses: Whether those of regularizers are among them.
        name: A name for the sum.
        scope: Only what is under this scope.

    Raises:
        ValueError: there are none.
    """
    losses = get_losses(scope=scope)
    if as_bool(add_regularization_losses, "add_regularization_losses"):
        losses = losses + get_regularization_losses(scope=scope)
    if not losses:
        raise ArgumentError(
            "There are no losses to add up: the collections are empty. The functions of tf.losses put losses there, "
            "and so does tf.losses.add_loss."
        )
    return add_n(losses, name=name)
