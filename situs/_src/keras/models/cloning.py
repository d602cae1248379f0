"""``tf.keras.models.clone_model``: a model like another one, with variables of its own.

Layers are made again with the arguments they were made with, so the new variables begin anew.
"""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.keras.models.model import Model
from situs._src.keras.models.sequential import Sequential


@export("keras.models.clone_model")
def clone_model(model: Any) -> Any:
    """A model of the same form with new variables.

    Args:
        model: A `Sequential`, or a model drawn with `keras.Input`.

    Raises:
        ValueError: it is a class with a `call` of its own: make another object of it.
    """
    if not isinstance(model, Model):
        raise DTypeError(f"clone_model takes a model, got {shown(model)}.")
    if type(model) is Sequential or (type(model) is Model and model._network is not None):
        return model._made_again()
    raise ArgumentError(
        f"The model {model.name} is of the class {type(model).__name__}, whose `call` cannot be taken apart. Make "
        f"another object of it: {type(model).__name__}(...), and give it weights with set_weights(model.get_weights())."
    )
