"""``tf.keras.models.clone_model``: a model like another one, with variables of its own.

Layers are made again with the arguments they were made with, so the new variables begin anew.
"""

from __future__ import annotations

from typing import Any

from situs.errors import DTypeError, InvalidArgumentError, shown
from situs.graph.structure import flatten, pack_like
from situs.keras.layers.arguments import Arguments
from situs.keras.layers.base import Layer
from situs.keras.layers.symbolic import KerasTensor, replaced
from situs.keras.models.model import Model
from situs.keras.models.sequential import Sequential


def clone_model(model: Any) -> Any:
    """A model of the same form with new variables.

    Args:
        model: A `Sequential`, or a model drawn with `keras.Input`.

    Raises:
        ValueError: it is a class with a `call` of its own: make another object of it.
    """
    if not isinstance(model, Model):
        raise DTypeError(f"clone_model takes a model, got {shown(model)}.")
    if type(model) is Sequential:
        begin = [tensor.node.layer for tensor in model.inputs if tensor.node is not None]
        return Sequential([_again(layer) for layer in [*begin, *model.layers]], name=model.name)
    if type(model) is Model and model._network is not None:
        return _redrawn(model)
    raise InvalidArgumentError(
        f"The model {model.name} is of the class {type(model).__name__}, whose `call` cannot be taken apart. Make "
        f"another object of it: {type(model).__name__}(...), and give it weights with set_weights(model.get_weights())."
    )


def _redrawn(model: Model) -> Model:
    network = model._network
    assert network is not None
    layers = {id(layer): _again(layer) for layer in network.layers}
    tensors: dict[int, Any] = {}

    def new(tensor: KerasTensor) -> Any:
        if id(tensor) not in tensors:
            assert tensor.node is not None
            tensors[id(tensor)] = layers[id(tensor.node.layer)].output
        return tensors[id(tensor)]

    for node in network.nodes:
        made = layers[id(node.layer)](*replaced(list(node.args), new), **replaced(node.kwargs, new))
        tensors.update(zip(map(id, flatten(node.outputs)), flatten(made), strict=True))
    inputs, outputs = (
        pack_like(ends, [new(leaf) for leaf in flatten(ends)]) for ends in (network.inputs, network.outputs)
    )
    return Model(inputs, outputs, name=model.name)


def _again(value: Any) -> Any:
    """A layer made with the arguments of another one; layers among them are made again as well."""
    if isinstance(value, (list, tuple)):
        return type(value)(_again(item) for item in value) if type(value) in (list, tuple) else value
    if not isinstance(value, Layer):
        return value
    if type(value) in (Model, Sequential):
        return clone_model(value)
    made_with: Arguments = value.__dict__["_made_with"]
    named = {**made_with.kwargs, "name": value.name} if "name" in made_with.kwargs else made_with.kwargs
    made = type(value)(*map(_again, made_with.args), **{key: _again(item) for key, item in named.items()})
    made._name = value.name
    return made
