"""``tf.keras.Sequential``: layers one after the other.

    model = tf.keras.Sequential([keras.Input((784,)), Dense(128, "relu"), Dense(10)])
    model.add(Softmax())

With an input, or a first layer that knows its ``input_shape``, layers are built when they are added; otherwise when the
model is called first.
"""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.keras.layers.base import Layer
from situs._src.keras.layers.calling import inside
from situs._src.keras.layers.input import Input, InputLayer
from situs._src.keras.layers.simple import Lambda
from situs._src.keras.layers.symbolic import KerasTensor
from situs._src.keras.models.model import Model


@export("keras.Sequential", "keras.models.Sequential")
class Sequential(Model):
    """Layers one after the other.

    Args:
        layers: The layers; the first may be a `keras.Input`.
        kwargs: Those of `Layer`.

    Example:
        >>> import situs as tf
        >>> model = tf.keras.Sequential([tf.keras.layers.Dense(3), tf.keras.layers.ReLU()])
        >>> model(tf.ones([2, 4])).shape, len(model.weights)
        (TensorShape([2, 3]), 2)
    """

    def __init__(self, layers: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._list: list[Layer] = []
        self._ends: tuple[KerasTensor, KerasTensor] | None = None  # the input and the output, where they are known
        if layers is not None and not isinstance(layers, (list, tuple)):
            layers = [layers]
        for layer in layers or ():
            self.add(layer)

    def add(self, layer: Any) -> None:
        """Adds a layer at the end."""
        if isinstance(layer, (KerasTensor, InputLayer)):
            self._begin(layer if isinstance(layer, KerasTensor) else layer.output)
            return
        layer = layer if isinstance(layer, Layer) or not callable(layer) or isinstance(layer, type) else Lambda(layer)
        if not isinstance(layer, Layer):
            raise DTypeError(
                f"Only instances of keras layers can be added to a Sequential model. Received: {shown(layer)}"
            )
        layer._check_made()
        if any(layer.name == other.name for other in self._list):
            raise ArgumentError(
                "All layers added to a Sequential model should have unique names. Name "
                f'"{layer.name}" is already the name of a layer in this model. Update the `name` argument.'
            )
        if not self._list and self._ends is None and layer._input_shape_arg is not None:
            self._begin(Input(layer._input_shape_arg))
        self._extend(layer)
        self._list.append(layer)

    def _begin(self, start: KerasTensor) -> None:
        if self._list or self._ends is not None:
            raise ArgumentError("An input can only be the first thing in a Sequential model.")
        self._ends = (start, start)

    def _extend(self, layer: Layer) -> None:
        """Builds a layer that is to be added, if the shape of its input is known."""
        if self._ends is None:
            self.built = False
            return
        with inside(self.name):
            self._ends = (self._ends[0], layer(self._ends[1]))
        self.built = True

    def pop(self, rebuild: bool = True) -> Layer:
        """Takes the last layer away."""
        if not self._list:
            raise ArgumentError("There are no layers in the model.")
        gone = self._list.pop()
        if self._ends is not None:
            start, end = self._ends
            self._ends = (start, start if end is start or end.node is None else end.node.inputs[0])
        return gone

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Applies the layers."""
        for layer in self._list:
            inputs = layer(inputs)
        return inputs

    def _checkpoint_children(self) -> dict[str, Any]:
        found = super()._checkpoint_children()
        found.pop("_ends", None)
        found.pop("_list", None)
        return {**found, **{f"layer-{number}": layer for number, layer in enumerate(self.__dict__.get("_list", []))}}

    @property
    def inputs(self) -> list[KerasTensor]:
        """The tensor that it begins with, where its shape is known."""
        return [] if self._ends is None else [self._ends[0]]

    @property
    def outputs(self) -> Any:
        """The tensor that it ends with, where its shape is known."""
        return None if self._ends is None else self._ends[1]

    def _made_again(self) -> Any:
        if type(self) is not Sequential:
            return super()._made_again()
        begin = [Input(dtype=each.dtype, name=each.name, batch_shape=each.shape) for each in self.inputs]
        return Sequential([*begin, *(layer._made_again() for layer in self._list)], name=self.name)
