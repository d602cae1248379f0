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

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from situs.checkpoints.checkpoint import Checkpoint
from situs.errors import InvalidArgumentError, UnimplementedError
from situs.keras.layers.base import Layer
from situs.keras.layers.symbolic import KerasTensor, as_tuple, scratch
from situs.keras.models.network import Network
from situs.keras.models.summary import summary_lines
from situs.shapes import TensorShape


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
        given = [*args, inputs, outputs] if args else [inputs, outputs]
        inputs, outputs = given[0], given[1] if len(args) != 1 else outputs
        if (inputs is None) != (outputs is None):
            raise InvalidArgumentError("A drawn model has both inputs and outputs: tf.keras.Model(inputs, outputs).")
        self._network = None if inputs is None else Network(inputs, outputs)
        self._drawn = [] if self._network is None else self._network.layers
        self._first_shapes: Any = None
        if self._network is not None:
            self.built = True

    def _checkpoint_children(self) -> dict[str, Any]:
        found = super()._checkpoint_children()
        for book in ("_network", "_first_shapes", "_drawn"):
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
        raise InvalidArgumentError("`Model.layers` attribute is reserved and should not be used. Use another name.")

    def get_layer(self, name: str | None = None, index: int | None = None) -> Layer:
        """The layer of a name, or at a place."""
        layers = self.layers
        if index is not None:
            if not -len(layers) <= index < len(layers):
                raise InvalidArgumentError(f"Was asked to retrieve layer at index {index} but model has {len(layers)}.")
            return layers[index]
        found = [layer for layer in layers if layer.name == name]
        if not found:
            names = [layer.name for layer in layers]
            raise InvalidArgumentError(f"No such layer: {name}. Existing layers are: {names}.")
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
        shapes = input_shape if isinstance(input_shape, list) else [input_shape]
        many = isinstance(input_shape, list) and isinstance(input_shape[0], (list, tuple, TensorShape))
        with scratch() as graph:
            dtype = self.dtype_policy.compute
            tensors = [graph.add_argument(dtype, TensorShape(shape)) for shape in (shapes if many else [input_shape])]
            self(tensors if many else tensors[0])

    def _build_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        shape = getattr(args[0], "shape", None) if args else None
        if shape is not None and TensorShape(shape).rank:
            self._first_shapes = (None, *as_tuple(TensorShape(shape))[1:]), args[0].dtype
        if type(self).build is Model.build:
            self.built = True
        else:
            super()._build_for(args, kwargs)

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
        path = str(filepath)
        if not overwrite and Path(f"{path}.index").exists():
            raise InvalidArgumentError(f"There is a checkpoint {path} already. Choose another path, or overwrite=True.")
        Checkpoint(model=self).write(path)

    def load_weights(self, filepath: Any, skip_mismatch: bool = False) -> Any:
        """Restores the variables from what `save_weights` saved.

        Variables that the model has not made yet are restored when they are made.
        """
        if Path(str(filepath)).is_file() and Path(str(filepath)).read_bytes()[:4] == b"\x89HDF":
            raise UnimplementedError(
                f"{filepath} is an HDF5 file of Keras, which Situs does not read. Load it with Keras, and carry the "
                "weights over: model.set_weights(keras_model.get_weights())."
            )
        status = Checkpoint(model=self).read(str(filepath))
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
