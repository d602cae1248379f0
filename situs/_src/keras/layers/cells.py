"""What recurrent layers do at one step: ``SimpleRNNCell``, ``LSTMCell``, ``GRUCell``.

    project(inputs)             the part that needs no state; a layer does it for all steps at once
    step(projected, states)     the outputs, and the next states

The gates stand side by side in the kernels: input, forget, candidate, output (LSTM); update, reset, candidate (GRU).
"""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.keras import activations
from situs._src.keras.initializers import get as get_initializer
from situs._src.keras.layers.base import Layer
from situs._src.keras.layers.checks import check_input, known_size, positive
from situs._src.keras.layers.dense import add_with
from situs._src.ops.array import shape as shape_of
from situs._src.ops.constant import ones, zeros
from situs._src.ops.contract import tensordot
from situs._src.ops.join import concat, split, stack
from situs._src.ops.linalg import matmul
from situs._src.ops.math import sigmoid, tanh
from situs._src.ops.nn.bias import bias_add
from situs._src.ops.nn.recurrent import lstm, lstm_step


class Cell(Layer):
    """What the cells share.

    Args:
        units: The size of the outputs.
        activation: The function of candidates and outputs.
        use_bias: Whether biases are added.
        kernel_initializer: How the kernel of the inputs begins.
        recurrent_initializer: How the kernel of the states begins.
        bias_initializer: How the bias begins.
        kernel_regularizer: A loss of the inputs' kernel.
        recurrent_regularizer: A loss of the states' kernel.
        bias_regularizer: A loss of the bias.
        kernel_constraint: What optimizers apply to the inputs' kernel.
        recurrent_constraint: What optimizers apply to the states' kernel.
        bias_constraint: What optimizers apply to the bias.
        dropout: The probability with which inputs are dropped while training; the choice holds for all steps.
        recurrent_dropout: Refused.
        kwargs: Those of `Layer`.
    """

    _gates = 1

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if recurrent_dropout:
            raise UnimplementedError(f"{type(self).__name__} has no recurrent_dropout here; use dropout on its inputs.")
        self.units = positive(units, "units")
        self.activation = activations.get(activation)
        self.use_bias, self.dropout = use_bias, dropout
        self._kernel_options = (kernel_initializer, kernel_regularizer, kernel_constraint)
        self._recurrent_options = (recurrent_initializer, recurrent_regularizer, recurrent_constraint)
        self._bias_options = (bias_initializer, bias_regularizer, bias_constraint)
        self.kernel: Any = None
        self.recurrent_kernel: Any = None
        self.bias: Any = None

    @property
    def state_size(self) -> Any:
        """The size of the state, or a list of sizes."""
        return self.units

    @property
    def output_size(self) -> int:
        """The size of the outputs."""
        return self.units

    def build(self, input_shape: Any) -> None:
        """Makes the kernels and the bias."""
        wide = self.units * self._gates
        self.kernel = add_with(self, "kernel", (known_size(self, input_shape), wide), self._kernel_options)
        self.recurrent_kernel = add_with(self, "recurrent_kernel", (self.units, wide), self._recurrent_options)
        if self.use_bias:
            self.bias = add_with(self, "bias", self._bias_shape(), self._bias_options)

    def _bias_shape(self) -> tuple[int, ...]:
        return (self.units * self._gates,)

    def get_initial_state(self, batch_size: Any = None, inputs: Any = None, dtype: Any = None) -> list[Tensor]:
        """Zeros, for a number of examples."""
        count = shape_of(inputs)[0] if batch_size is None else batch_size
        wanted = dtype or self.dtype_policy.compute
        return [zeros(stack([count, size]), wanted) for size in state_sizes(self)]

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        """One step: the outputs, and the next states in the form of `states`."""
        check_input(self, inputs)
        output, made = self.step(self.project(self._floating(inputs)), as_states(self, states))
        return output, made if isinstance(states, (list, tuple)) else made[0]

    def project(self, inputs: Any) -> Tensor:
        """The part of a step that needs no state, for one step or many."""
        product = matmul(inputs, self.kernel) if inputs.shape.rank == 2 else tensordot(inputs, self.kernel, 1)
        bias = self._input_bias()
        return product if bias is None else bias_add(product, bias)

    def _input_bias(self) -> Any:
        return self.bias

    def step(self, projected: Any, states: list[Any]) -> tuple[Tensor, list[Tensor]]:
        """The part of a step that needs the state."""
        raise NotImplementedError

    def walk(self, projected: Any, states: list[Any]) -> tuple[Tensor, list[Tensor]] | None:
        """All steps at once: the outputs, steps first, and the last states; None if they are to be taken one by one."""
        return None


def state_sizes(cell: Any) -> list[Any]:
    """The sizes of the states of a cell, of which it may have one or several."""
    return list(cell.state_size) if isinstance(cell.state_size, (list, tuple)) else [cell.state_size]


def as_states(cell: Any, states: Any) -> list[Any]:
    """The states that a program gave to a cell, as a list."""
    given = list(states) if isinstance(states, (list, tuple)) else [states]
    wanted = len(state_sizes(cell))
    if len(given) != wanted:
        raise ArgumentError(f"{type(cell).__name__} has {wanted} states, got {len(given)}: {shown(states)}.")
    return given


@export("keras.layers.SimpleRNNCell")
class SimpleRNNCell(Cell):
    """``h = activation(x @ kernel + h @ recurrent_kernel + bias)``; the arguments are those of `Cell`."""

    def step(self, projected: Any, states: list[Any]) -> tuple[Tensor, list[Tensor]]:
        """The next state, which is the output too."""
        made = self.activation(projected + matmul(states[0], self.recurrent_kernel))
        return made, [made]


@export("keras.layers.LSTMCell")
class LSTMCell(Cell):
    """A long short-term memory: an output and a carried state.

    Args:
        units: The size of the outputs.
        activation: The function of candidates and outputs.
        recurrent_activation: The function of gates.
        unit_forget_bias: Whether the bias of the forget gate begins with ones.
        kwargs: Those of `Cell`.
    """

    _gates = 4

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        unit_forget_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, activation, **kwargs)
        self.recurrent_activation = activations.get(recurrent_activation)
        if unit_forget_bias and self._bias_options[0] is not None:
            self._bias_options = (self._forgetful(get_initializer(self._bias_options[0])), *self._bias_options[1:])

    def _forgetful(self, initializer: Any) -> Any:
        """A bias whose second quarter, that of the forget gate, is ones."""

        def made(shape: Any, dtype: Any = None) -> Tensor:
            first, rest = initializer((self.units,), dtype=dtype), initializer((2 * self.units,), dtype=dtype)
            return concat([first, ones((self.units,), dtype), rest], 0)

        return made

    @property
    def state_size(self) -> list[int]:
        """The sizes of the output and of the carried state."""
        return [self.units, self.units]

    def step(self, projected: Any, states: list[Any]) -> tuple[Tensor, list[Tensor]]:
        """The output, and the next states."""
        z = projected + matmul(states[0], self.recurrent_kernel)
        made, carried = lstm_step(z, states[1], self.recurrent_activation, self.activation)
        return made, [made, carried]

    def walk(self, projected: Any, states: list[Any]) -> tuple[Tensor, list[Tensor]] | None:
        """All steps by one op, if this is the cell that the op is made for."""
        functions = (self.activation, self.recurrent_activation)
        if type(self).step is not LSTMCell.step or functions not in _OF_THE_OP or not _are_alike(projected, states):
            return None
        outputs, output, carried = lstm(projected, self.recurrent_kernel, *states)
        return outputs, [output, carried]


_OF_THE_OP = [(activations.get("tanh"), activations.get("sigmoid")), (tanh, sigmoid)]


def _are_alike(projected: Any, states: list[Any]) -> bool:
    """Whether there is a state for each example, of the dtype of the inputs: an op neither broadcasts nor casts."""
    row = projected.shape[1:2].concatenate([None])
    dtype = projected.dtype
    return all(is_tensor(x) and x.dtype is dtype and x.shape.is_compatible_with(row) for x in states)


@export("keras.layers.GRUCell")
class GRUCell(Cell):
    """A gated recurrent unit.

    Args:
        units: The size of the outputs.
        activation: The function of candidates.
        recurrent_activation: The function of gates.
        reset_after: Whether the reset gate works after the product with the state, which then has a bias of its own.
        kwargs: Those of `Cell`.
    """

    _gates = 3

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        reset_after: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, activation, **kwargs)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.reset_after = reset_after

    def _bias_shape(self) -> tuple[int, ...]:
        return (2, 3 * self.units) if self.reset_after else (3 * self.units,)

    def _input_bias(self) -> Any:
        return self.bias if self.bias is None or not self.reset_after else self.bias[0]

    def step(self, projected: Any, states: list[Any]) -> tuple[Tensor, list[Tensor]]:
        """The next state, which is the output too."""
        (state,) = states
        made = self._reset_after(projected, state) if self.reset_after else self._reset_before(projected, state)
        return made, [made]

    def _reset_after(self, projected: Any, state: Any) -> Tensor:
        inner = matmul(state, self.recurrent_kernel)
        if self.bias is not None:
            inner = bias_add(inner, self.bias[1])
        (x_update, x_reset, x_new), (s_update, s_reset, s_new) = split(projected, 3, axis=-1), split(inner, 3, axis=-1)
        update = self.recurrent_activation(x_update + s_update)
        new = self.activation(x_new + self.recurrent_activation(x_reset + s_reset) * s_new)
        return update * state + (1.0 - update) * new  # type: ignore[no-any-return]

    def _reset_before(self, projected: Any, state: Any) -> Tensor:
        gates = 2 * self.units
        kernel = self.recurrent_kernel
        x_gates, x_new = projected[:, :gates], projected[:, gates:]
        update, reset = split(self.recurrent_activation(x_gates + matmul(state, kernel[:, :gates])), 2, axis=-1)
        new = self.activation(x_new + matmul(reset * state, kernel[:, gates:]))
        return update * state + (1.0 - update) * new  # type: ignore[no-any-return]
