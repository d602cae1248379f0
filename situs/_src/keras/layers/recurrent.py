"""Recurrent layers: a cell, taken through the steps of sequences.

    LSTM(32)(x)                             batch x steps x size becomes batch x 32, the last outputs
    LSTM(32, return_sequences=True)(x)      batch x steps x 32

In a graph the steps are a loop, so that its size does not depend on their number; those of an LSTM with its usual
functions are one op (`ops.nn.recurrent`).
"""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.tree import flatten, pack_like
from situs._src.keras.layers.base import Layer
from situs._src.keras.layers.cells import Cell, GRUCell, LSTMCell, SimpleRNNCell, as_states, state_sizes
from situs._src.keras.layers.checks import check_input, known_shape
from situs._src.keras.layers.choosing import choose
from situs._src.ops.array import reshape, transpose
from situs._src.ops.array import shape as shape_of
from situs._src.ops.constant import zeros
from situs._src.ops.join import concat, stack
from situs._src.ops.nn.dropout import dropout
from situs._src.ops.rearrange import reverse
from situs._src.ops.rows import Elems, Walk


@export("keras.layers.RNN")
class RNN(Layer):
    """Takes a cell through the steps of sequences.

    Args:
        cell: A layer with ``call(inputs, states)``, ``state_size`` and ``output_size``, or ``units``.
        return_sequences: Whether to return the outputs of all steps, not of the last alone.
        return_state: Whether to return the last states as well.
        go_backwards: Whether to begin with the last step.
        stateful: Refused.
        unroll: Accepted for TensorFlow's programs.
        kwargs: Those of `Layer`.
    """

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not hasattr(cell, "call") or not hasattr(cell, "state_size"):
            raise ArgumentError(
                f"Argument `cell` should have a `call` method and a `state_size` attribute. Received: {shown(cell)}"
            )
        if stateful:
            raise UnimplementedError(
                "stateful=True keeps states between calls, which Situs does not do. Use return_state=True, and pass "
                "the states to the next call: layer(x, initial_state=states)."
            )
        self.cell = cell
        self.return_sequences, self.return_state, self.go_backwards = return_sequences, return_state, go_backwards

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with, and which way it goes: `Bidirectional` turns layers round."""
        return {**super().get_config(), "go_backwards": self.go_backwards}

    def _made_again(self) -> Any:
        made = super()._made_again()
        made.go_backwards = self.go_backwards
        return made

    def build(self, input_shape: Any) -> None:
        """Builds the cell."""
        batch, _, size = known_shape(self, input_shape, rank=3)
        if isinstance(self.cell, Layer) and not self.cell.built:
            self.cell._path = f"{self.path}/{self.cell.name}"
            self.cell.build((batch, size))
            self.cell.built = True

    def call(self, inputs: Any, initial_state: Any = None, mask: Any = None, training: Any = False) -> Any:
        """Goes through the steps."""
        check_input(self, inputs, rank=3)
        if mask is not None:
            raise UnimplementedError("Recurrent layers take no mask here; cut the sequences, or weigh the losses.")
        inputs = self._floating(inputs)
        states = self._first_states(inputs, initial_state)
        rate = getattr(self.cell, "dropout", 0)
        if rate:
            shared = [None, 1, None]
            given = inputs
            inputs = choose(training, lambda: dropout(given, rate, shared), lambda: given)
        outputs, states = self._walk(inputs, states)
        outputs = transpose(outputs, [1, 0, *range(2, outputs.shape.rank)]) if self.return_sequences else outputs[-1]
        return [outputs, *states] if self.return_state else outputs

    def _first_states(self, inputs: Any, given: Any) -> list[Any]:
        if given is not None:
            return as_states(self.cell, given)
        if isinstance(self.cell, Cell):
            return self.cell.get_initial_state(inputs=inputs)
        count = shape_of(inputs)[0]
        return [zeros(stack([count, size]), inputs.dtype) for size in state_sizes(self.cell)]

    def _walk(self, inputs: Any, states: list[Any]) -> tuple[Any, list[Any]]:
        """The outputs of all steps, steps first, and the last states."""
        rows = transpose(inputs, [1, 0, 2])
        rows = reverse(rows, [0]) if self.go_backwards else rows
        if isinstance(self.cell, Cell):
            rows, first = self.cell.project(rows), states[0]
            made = self.cell.walk(rows, states)
            if made is not None:
                return made
        else:
            first = self._first_output(inputs)
        walk = Walk(Elems(rows), self._step, [(first.dtype, first.shape)])
        states, (outputs,) = walk.run(states)
        return outputs if inputs.shape[1] is None else _with_rows(outputs, inputs.shape[1]), states

    def _first_output(self, inputs: Any) -> Tensor:
        size = getattr(self.cell, "output_size", None) or getattr(self.cell, "units", None)
        if not isinstance(size, int):
            raise DTypeError(f"The cell {shown(self.cell)} must tell the size of its outputs: output_size, or units.")
        return zeros(stack([shape_of(inputs)[0], size]), inputs.dtype)

    def _step(self, states: list[Any], row: Any) -> tuple[list[Any], list[Any]]:
        """The states after a step, and its output."""
        if isinstance(self.cell, Cell):
            output, after = self.cell.step(row, states)
        else:
            many = isinstance(self.cell.state_size, (list, tuple))
            output, after = self.cell(row, states if many else states[0])
        return list(after) if isinstance(after, (list, tuple)) else [after], [output]


def _with_rows(tensor: Any, rows: int) -> Any:
    """A tensor of a loop, whose number of rows is known."""
    sizes = [rows, *list(tensor.shape)[1:]]
    if tensor.shape[0] is None and sizes.count(None) <= 1:
        return reshape(tensor, [-1 if size is None else size for size in sizes])
    return tensor


_OF_LAYER = (
    "return_sequences", "return_state", "go_backwards", "stateful", "unroll", "name", "trainable",
    "activity_regularizer", "input_shape", "batch_input_shape", "input_dim",
)  # fmt: skip


class _Recurrent(RNN):
    """A recurrent layer with a cell of its own; its arguments are those of `RNN` and of the cell."""

    _cell: type[Cell]

    def __init__(self, units: int, **kwargs: Any) -> None:
        own = {key: kwargs.pop(key) for key in _OF_LAYER if key in kwargs}
        if kwargs.pop("time_major", False):
            raise UnimplementedError("time_major=True is not supported: transpose the inputs to batch x steps x size.")
        for unused in ("implementation", "use_cudnn", "seed", "reset_state"):
            kwargs.pop(unused, None)
        cell = self._cell(units, name=self._cell.__name__.lower(), **kwargs)
        super().__init__(cell, dtype=kwargs.get("dtype"), **own)
        self.units = self.cell.units

    def __getattr__(self, name: str) -> Any:
        if name in ("kernel", "recurrent_kernel", "bias", "activation", "use_bias"):
            return getattr(self.cell, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


@export("keras.layers.SimpleRNN")
class SimpleRNN(_Recurrent):
    """Takes a `SimpleRNNCell` through sequences."""

    _cell = SimpleRNNCell


@export("keras.layers.LSTM")
class LSTM(_Recurrent):
    """Takes an `LSTMCell` through sequences."""

    _cell = LSTMCell


@export("keras.layers.GRU")
class GRU(_Recurrent):
    """Takes a `GRUCell` through sequences."""

    _cell = GRUCell


# Around other layers.


@export("keras.layers.Bidirectional")
class Bidirectional(Layer):
    """Goes through sequences in both directions, and merges the outputs.

    Args:
        layer: A recurrent layer.
        merge_mode: ``"concat"``, ``"sum"``, ``"mul"``, ``"ave"``, or None for a list of both.
        backward_layer: The layer for the other direction; by default one like `layer`.
        kwargs: Those of `Layer`.
    """

    def __init__(
        self, layer: Any, merge_mode: str | None = "concat", backward_layer: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(layer, RNN):
            raise ArgumentError(f"Bidirectional goes around a recurrent layer, got {shown(layer)}.")
        if merge_mode not in ("concat", "sum", "mul", "ave", None):
            raise ArgumentError(f"Invalid merge mode {merge_mode!r}: 'concat', 'sum', 'mul', 'ave' or None.")
        self.merge_mode = merge_mode
        self.forward_layer = layer
        self.backward_layer = _turned(layer) if backward_layer is None else backward_layer
        back = self.backward_layer
        if not isinstance(back, RNN) or back.go_backwards == layer.go_backwards:
            raise ArgumentError(
                f"`backward_layer` is a recurrent layer that goes the other way, with "
                f"go_backwards={not layer.go_backwards}; got {shown(back)}."
            )

    def call(self, inputs: Any, initial_state: Any = None, training: Any = None) -> Any:
        """Goes both ways."""
        first, second = _halves(initial_state)
        there = self.forward_layer(inputs, initial_state=first, training=training)
        back = self.backward_layer(inputs, initial_state=second, training=training)
        kept: list[Any] = []
        if self.forward_layer.return_state:
            kept = [*there[1:], *back[1:]]
            there, back = there[0], back[0]
        if self.forward_layer.return_sequences:
            back = reverse(back, [1])
        merged = self._merged(there, back)
        return [merged, *kept] if kept else merged

    def _merged(self, there: Any, back: Any) -> Any:
        if self.merge_mode is None:
            return [there, back]
        if self.merge_mode == "concat":
            return concat([there, back], -1)
        if self.merge_mode == "mul":
            return there * back
        return there + back if self.merge_mode == "sum" else (there + back) / 2.0


def _turned(layer: RNN) -> RNN:
    """A layer made like another one, with variables of its own, which goes the other way."""
    turned: RNN = layer._made_again()
    turned.go_backwards, turned._name = not layer.go_backwards, f"backward_{layer.name}"
    return turned


def _halves(states: Any) -> tuple[Any, Any]:
    """The states of the two directions, which a program gives one after the other."""
    if states is None:
        return None, None
    if not isinstance(states, (list, tuple)) or len(states) % 2:
        raise ArgumentError(
            f"initial_state of Bidirectional is a list: the states of one direction, then of the other; got "
            f"{shown(states)}."
        )
    half = len(states) // 2
    return states[:half], states[half:]


@export("keras.layers.TimeDistributed")
class TimeDistributed(Layer):
    """Applies a layer to each step of sequences."""

    def __init__(self, layer: Layer, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(layer, Layer):
            raise DTypeError(f"TimeDistributed goes around a layer, got {shown(layer)}.")
        self.layer = layer

    def call(self, inputs: Any, training: Any = None) -> Any:
        """Applies the layer to all steps at once."""
        check_input(self, inputs, least=3)
        rest = list(inputs.shape)[2:]
        outputs = self.layer(reshape(inputs, [-1, *rest]), training=training)
        return pack_like(outputs, [_in_steps(output, inputs) for output in flatten(outputs)])


def _in_steps(rows: Any, like: Any) -> Tensor:
    """Rows with their first dimension parted into the batch and the steps of another tensor."""
    steps, rest = like.shape[1], list(rows.shape)[1:]
    if steps:
        return reshape(rows, [-1, steps, *rest])
    return reshape(rows, concat([shape_of(like)[:2], rest], 0))
