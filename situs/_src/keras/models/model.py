"""``tf.keras.Model``: layers with a name, whose training loop the program writes itself.

class Net(tf.keras.Model):                      net = Net()
    def __init__(self):                         with tf.GradientTape() as tape:
        super().__init__()                          loss = loss_of(labels, net(x, training=True))
        self.dense = Dense(10)                  gradients = tape.gradient(loss, net.trainable_variables)
    def call(self, x):                          optimizer.apply_gradients(zip(gradients, net.trainable_variables))
        return self.dense(x)

tf.keras.Model(inputs, outputs)                 drawn with keras.Input and layers: see network.py
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from situs._src.base.errors import ArgumentError, DTypeError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import is_tensor
from situs._src.base.tree import flatten, pack_like
from situs._src.checkpoints.checkpoint import Checkpoint
from situs._src.keras.layers.arguments import Arguments
from situs._src.keras.layers.base import Layer, tensors_of
from situs._src.keras.layers.symbolic import KerasTensor, scratch
from situs._src.keras.models.network import Network
from situs._src.keras.models.summary import summary_lines
from situs._src.ops.attribute import as_int


@export("keras.Model", "keras.models.Model")
class Model(Layer):
    """A layer made of layers.

    Args:
        args: The inputs and the outputs of a drawn model; none for a class with a method `call`.
        inputs: The inputs of a drawn model.
        outputs: Its outputs.
        kwargs: Those of `Layer`.
    """

    def __init__(self, *args: Any, inputs: Any = None, outputs: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if len(args) > 2 or (args and inputs is not None) or (len(args) == 2 and outputs is not None):
            raise DTypeError("A drawn model is made of inputs and outputs: tf.keras.Model(inputs, outputs, name=...).")
        inputs = args[0] if args else inputs
        outputs = args[1] if len(args) == 2 else outputs
        if (inputs is None) != (outputs is None):
            raise ArgumentError("A drawn model has both inputs and outputs: tf.keras.Model(inputs, outputs).")
        self._network = None if inputs is None else Network(inputs, outputs)
        self._drawn = [] if self._network is None else self._network.layers
        self._first_call: Arguments | None = None  # with tensors that have no values
        if self._network is not None:
            self.built = True

    def _checkpoint_children(self) -> dict[str, Any]:
        found = super()._checkpoint_children()
        for book in ("_network", "_first_call", "_drawn"):
            found.pop(book, None)
        return {**found, **{f"layer-{number}": layer for number, layer in enumerate(self.__dict__.get("_drawn", []))}}

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Runs a drawn model; classes override it."""
        if self._network is None:
            raise UnimplementedError(
                f"Model {type(self).__name__} does not have a `call()` method implemented. Write one, or draw the "
                "model: tf.keras.Model(inputs, outputs)."
            )
        return self._network.run(inputs)

    # What it is made of.

    @property
    def layers(self) -> list[Layer]:
        """Its layers."""
        return self._sublayers()

    @layers.setter
    def layers(self, value: Any) -> NoReturn:
        raise ArgumentError("`Model.layers` attribute is reserved and should not be used. Use another name.")

    def get_layer(self, name: str | None = None, index: int | None = None) -> Layer:
        """The layer of a name, or at a place."""
        layers = self.layers
        if index is not None:
            index = as_int(index, "index")
            if not -len(layers) <= index < len(layers):
                raise ArgumentError(f"Was asked to retrieve layer at index {index} but model has {len(layers)}.")
            return layers[index]
        found = [layer for layer in layers if layer.name == name]
        if not found:
            names = [layer.name for layer in layers]
            raise ArgumentError(f"No such layer: {name}. Existing layers are: {names}.")
        return found[0]

    @property
    def inputs(self) -> list[KerasTensor]:
        """The tensors that a drawn model begins with."""
        return [] if self._network is None else list(self._network._inputs)

    @property
    def outputs(self) -> Any:
        """The tensors that a drawn model ends with."""
        return None if self._network is None else self._network.outputs

    @property
    def input(self) -> Any:
        """What a drawn model begins with."""
        return self.inputs[0] if len(self.inputs) == 1 else self.inputs or super().input

    @property
    def output(self) -> Any:
        """What a drawn model ends with."""
        return super().output if self.outputs is None else self.outputs

    @property
    def output_shape(self) -> Any:
        """The shape of the output of a drawn model."""
        outputs = self.outputs
        return outputs.shape if isinstance(outputs, KerasTensor) else None

    # Building.

    def build(self, input_shape: Any) -> None:
        """Makes the variables of all layers, for inputs of a shape; nothing is computed."""
        with scratch() as graph:
            self(tensors_of(graph, self.dtype_policy.compute, input_shape))

    def _build_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._first_call = _without_values(args, kwargs)
        if self._first_call is None and _takes_one(self.call):
            self._first_call = _without_values(args[:1], {})
        if type(self).build is Model.build:
            self.built = True
        else:
            super()._build_for(args, kwargs)

    def _made_again(self) -> Any:
        if type(self) is Model and self._network is not None:
            return Model(*self._network.made_again(), name=self.name)
        return super()._made_again()

    # Showing.

    def summary(
        self,
        line_length: int | None = None,
        positions: Any = None,
        print_fn: Callable[[str], Any] | None = None,
        expand_nested: bool = False,
        show_trainable: bool = False,
        layer_range: Any = None,
    ) -> None:
        """Prints the layers as a table, with the shapes of their outputs and the numbers of their parameters.

        Args:
            line_length: The width of the table; as wide as its contents need by default.
            positions: Accepted for TensorFlow's programs.
            print_fn: What to print with.
            expand_nested: Whether the layers of layers have rows too.
            show_trainable: Whether a column says which layers are trainable.
            layer_range: Accepted for TensorFlow's programs.
        """
        lines = summary_lines(self, expand_nested, show_trainable, line_length)
        (print_fn or print)("\n".join(lines))

    # Files.

    def save_weights(self, filepath: Any, overwrite: bool = True) -> None:
        """Saves the variables as a checkpoint: ``<filepath>.index`` and its data files.

        Args:
            filepath: The path that the names of the files begin with.
            overwrite: Whether a checkpoint that is there may be replaced.
        """
        path = _path(filepath)
        if not overwrite and Path(f"{path}.index").exists():
            raise ArgumentError(f"There is a checkpoint {path} already. Choose another path, or overwrite=True.")
        Checkpoint(model=self).write(path)

    def load_weights(self, filepath: Any, skip_mismatch: bool = False) -> Any:
        """Restores the variables from what `save_weights` saved.

        Variables that the model has not made yet are restored when they are made.
        """
        path = _path(filepath)
        if _is_hdf5(path):
            raise UnimplementedError(
                f"{path} is an HDF5 file of Keras, which Situs does not read. Load it with Keras, and carry the "
                "weights over: model.set_weights(keras_model.get_weights())."
            )
        status = Checkpoint(model=self).read(path)
        return status if skip_mismatch else status.assert_existing_objects_matched()

    # What is left to the program.

    def compile(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: the training loop is the program's own."""
        _refuse("compile")

    def fit(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: the training loop is the program's own."""
        _refuse("fit")

    def evaluate(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: the loop is the program's own."""
        _refuse("evaluate")

    def predict(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: a model is called."""
        _refuse("predict")

    def train_on_batch(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: the training loop is the program's own."""
        _refuse("train_on_batch")

    def save(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: variables are saved, code is not."""
        raise UnimplementedError(
            "Model.save writes the program of a model beside its variables, which Situs does not do. Keep the code, "
            "and save the variables: model.save_weights(path), or tf.train.Checkpoint(model=model).save(path)."
        )


def _without_values(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments | None:
    """The arguments of a call, with tensors that have no values and batches of any size in place of its tensors.

    None if there are objects of other kinds among them, which a model would keep alive.
    """
    given = [list(args), {key: value for key, value in kwargs.items() if key != "training"}]
    leaves = [_without_value(leaf) if is_tensor(leaf) else leaf for leaf in flatten(given)]
    if not all(isinstance(leaf, (KerasTensor, str, int, float, type(None))) for leaf in leaves):
        return None
    by_position, by_name = pack_like(given, leaves)
    return Arguments(tuple(by_position), by_name)


def _takes_one(function: Callable[..., Any]) -> bool:
    """Whether a function can be called with one argument."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    return True


def _without_value(tensor: Any) -> KerasTensor:
    shape = TensorShape(tensor.shape)
    return KerasTensor([None, *tuple(shape)[1:]] if shape.rank else shape, tensor.dtype)


def _path(filepath: Any) -> str:
    try:
        return os.fspath(filepath) if not isinstance(filepath, bytes) else os.fsdecode(filepath)
    except TypeError:
        raise DTypeError(f"The path of weights is a string or a path, got {shown(filepath)}.") from None


def _is_hdf5(path: str) -> bool:
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return file.read(4) == b"\x89HDF"


_LOOP = """    with tf.GradientTape() as tape:
        loss = loss_of(labels, model(inputs, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))"""


def _refuse(name: str) -> NoReturn:
    what = (
        "Call the model: model(inputs, training=False)." if name in ("predict", "evaluate") else f"Write it:\n{_LOOP}"
    )
    raise UnimplementedError(
        f"Model.{name} is not there: in Situs the program writes its loop with tf.GradientTape. {what}\n"
        "docs/training.md shows whole programs."
    )
