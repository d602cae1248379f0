"""The calls on the way from some tensors to others, in an order in which they can run: what a drawn model is.

x = keras.Input((4,));  y = Dense(3)(x);  z = Add()([y, y])
Network(x, z)               [call of dense, call of add]
"""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.tree import flatten
from situs._src.keras.layers.base import Layer
from situs._src.keras.layers.input import Input, InputLayer
from situs._src.keras.layers.symbolic import KerasTensor, Node, replaced


class Network:
    """A model that has been drawn.

    Args:
        inputs: The tensors to begin with: one, or a list or dictionary of them.
        outputs: The tensors to end with, in the same forms.

    Raises:
        ValueError: an output needs an input that is not named.
    """

    def __init__(self, inputs: Any, outputs: Any) -> None:
        for what, value in (("inputs", inputs), ("outputs", outputs)):
            for leaf in flatten(value):
                if not isinstance(leaf, KerasTensor):
                    raise DTypeError(
                        f"The {what} of a model are tensors that come from keras.Input, got {shown(leaf)}. To run "
                        "tensors with values, call the layers, or write a class with a method `call`."
                    )
        self.inputs, self.outputs = inputs, outputs
        self._inputs: list[KerasTensor] = flatten(inputs)
        self.nodes = _ordered(self._inputs, flatten(outputs))

    @property
    def layers(self) -> list[Layer]:
        """The layers of the inputs and those that are called, each once, in order."""
        made_by = [tensor.node for tensor in self._inputs]
        begin = [node.layer for node in made_by if node is not None and isinstance(node.layer, InputLayer)]
        return list({id(layer): layer for layer in [*begin, *(node.layer for node in self.nodes)]}.values())

    def made_again(self) -> tuple[Any, Any]:
        """Inputs and outputs of a model like this one, whose layers are made again."""
        layers = {id(node.layer): node.layer._made_again() for node in self.nodes}
        tensors: dict[int, Any] = {
            id(tensor): Input(dtype=tensor.dtype, name=tensor.name, batch_shape=tensor.shape) for tensor in self._inputs
        }

        def new(tensor: KerasTensor) -> Any:
            return tensors[id(tensor)]

        for node in self.nodes:
            made = layers[id(node.layer)](*replaced(list(node.args), new), **replaced(node.kwargs, new))
            tensors.update(zip(map(id, flatten(node.outputs)), flatten(made), strict=True))
        return replaced(self.inputs, new), replaced(self.outputs, new)

    def run(self, inputs: Any) -> Any:
        """Calls the layers with tensors that have values."""
        given = self._given(inputs)
        values: dict[int, Any] = dict(zip(map(id, self._inputs), given, strict=True))

        def value_of(tensor: KerasTensor) -> Any:
            return values[id(tensor)]

        for node in self.nodes:
            made = node.layer(*replaced(list(node.args), value_of), **replaced(node.kwargs, value_of))
            values.update(zip(map(id, flatten(node.outputs)), flatten(made), strict=True))
        return replaced(self.outputs, value_of)

    def _given(self, inputs: Any) -> list[Any]:
        if isinstance(inputs, dict):
            inputs = self._by_name(inputs)
        given = flatten(inputs)
        if len(given) != len(self._inputs):
            names = ", ".join(tensor.name for tensor in self._inputs)
            raise ArgumentError(f"The model has {len(self._inputs)} inputs ({names}), got {len(given)}.")
        for tensor, value in zip(self._inputs, given, strict=True):
            _check(tensor, value)
        return given

    def _by_name(self, inputs: dict[Any, Any]) -> Any:
        """The inputs of the model in a dictionary: under the keys that it was drawn with, or the tensors' names."""
        keys = list(self.inputs) if isinstance(self.inputs, dict) else [tensor.name for tensor in self._inputs]
        lacking = [str(key) for key in keys if key not in inputs]
        if lacking:
            raise ArgumentError(f"The model has inputs that were not given: {', '.join(lacking)}.")
        chosen = {key: inputs[key] for key in keys}
        return chosen if isinstance(self.inputs, dict) else list(chosen.values())


def _check(tensor: KerasTensor, value: Any) -> None:
    wanted = tensor.spec()[1]
    if hasattr(value, "shape") and not wanted.is_compatible_with(value.shape):
        raise ArgumentError(
            f"Input '{tensor.name}' of the model has shape {wanted}, but received a tensor of shape {value.shape}."
        )


def _ordered(inputs: list[KerasTensor], outputs: list[KerasTensor]) -> list[Node]:
    """The calls that lead to the outputs, each after those that it needs."""
    known = set(map(id, inputs))
    order: list[Node] = []
    done: set[int] = set()
    waiting: list[tuple[KerasTensor, bool]] = [(tensor, False) for tensor in reversed(outputs)]
    while waiting:
        tensor, entered = waiting.pop()
        node = tensor.node
        if id(tensor) in known or (node is not None and id(node) in done):
            continue
        if node is None or isinstance(node.layer, InputLayer):
            names = ", ".join(leaf.name for leaf in inputs)
            raise ArgumentError(
                f"The outputs of the model need {tensor!r}, which is not one of its inputs ({names}). Name it there."
            )
        if entered:
            done.add(id(node))
            order.append(node)
        else:
            waiting.append((tensor, True))
            waiting += [(leaf, False) for leaf in reversed(node.inputs)]
    return order
