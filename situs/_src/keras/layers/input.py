"""``Input`` and ``InputLayer``: what a model that is drawn begins with.

An input is the output of a call that needs nothing, so that it has a layer like every other tensor of the model."""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.keras.layers.base import Layer
from situs._src.keras.layers.symbolic import KerasTensor, Node


@export("keras.Input", "keras.layers.Input")
def Input(  # noqa: N802 - the name programs use
    shape: Any = None,
    batch_size: int | None = None,
    dtype: Any = None,
    name: str | None = None,
    batch_shape: Any = None,
) -> KerasTensor:
    """A tensor that a model will be called with.

    Args:
        shape: Its shape without the batch.
        batch_size: The size of the batch, if it is settled.
        dtype: Its dtype; float32 by default.
        name: A name.
        batch_shape: The whole shape, in place of the first two.
    """
    layer = InputLayer(shape, batch_size, dtype, batch_shape, name=name)
    return layer.output  # type: ignore[no-any-return]


@export("keras.layers.InputLayer")
class InputLayer(Layer):
    """The first layer of a `Sequential`: it says what shape the inputs have.

    Args:
        shape: The shape without the batch; also called ``input_shape``.
        batch_size: The size of the batch, if it is settled.
        dtype: The dtype; float32 by default.
        batch_shape: The whole shape, in place of the first two.
        name: A name.
        kwargs: Those of `Layer`.
    """

    def __init__(
        self,
        shape: Any = None,
        batch_size: int | None = None,
        dtype: Any = None,
        batch_shape: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype or "float32", **kwargs)
        shape = self._input_shape_arg if shape is None and batch_shape is None else shape
        if (shape is None) == (batch_shape is None):
            raise ArgumentError("An input needs exactly one of `shape`, which leaves out the batch, and `batch_shape`.")
        given = [shape] if isinstance(shape, int) else shape
        sizes = TensorShape(given if batch_shape is None else batch_shape).as_list()
        whole = tuple(sizes) if batch_shape is not None else (batch_size, *sizes)
        node = Node(self, (), {})
        node.outputs = KerasTensor(whole, self.dtype, self.name, node)
        self.nodes.append(node)
        self.built = True

    def call(self, inputs: Any) -> Any:
        """Returns the inputs."""
        return inputs
