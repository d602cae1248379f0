"""``tf.contrib.rnn``: what became ``tf.nn.rnn_cell``, and cells that differ from those in name only."""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError as _ArgumentError
from situs._src.base.typing import ArrayLike, DTypeLike
from situs._src.ops.join import concat as _concat
from situs._src.v1.cells import kinds as _kinds
from situs._src.v1.cells.base import RNNCell as RNNCell
from situs._src.v1.cells.kinds import BasicLSTMCell as BasicLSTMCell
from situs._src.v1.cells.kinds import BasicRNNCell as BasicRNNCell
from situs._src.v1.cells.kinds import GRUCell as GRUCell
from situs._src.v1.cells.kinds import LSTMCell as LSTMCell
from situs._src.v1.cells.kinds import LSTMStateTuple as LSTMStateTuple
from situs._src.v1.cells.rnn import bidirectional_dynamic_rnn as _bidirectional
from situs._src.v1.cells.rnn import static_bidirectional_rnn as static_bidirectional_rnn
from situs._src.v1.cells.rnn import static_rnn as static_rnn
from situs._src.v1.cells.rnn import static_state_saving_rnn as static_state_saving_rnn
from situs._src.v1.cells.wrappers import DeviceWrapper as DeviceWrapper
from situs._src.v1.cells.wrappers import DropoutWrapper as DropoutWrapper
from situs._src.v1.cells.wrappers import MultiRNNCell as MultiRNNCell
from situs._src.v1.cells.wrappers import ResidualWrapper as ResidualWrapper
from situs._src.v1.contrib.absent import without as _without
from situs._src.v1.frontend import builds as _builds
from situs._src.variables.scope import VariableScope
from situs._src.variables.scope import variable_scope as _variable_scope
from situs._src.variables.store import ReuseMode


class LSTMBlockCell(_kinds.LSTMCell):
    """`LSTMCell` by another name: one that TensorFlow ran as one op; so does ``tf.nn.dynamic_rnn`` here.

    Args:
        num_units: The size of the outputs.
        forget_bias: What is added to the forget gate.
        cell_clip: A limit for what is carried.
        use_peephole: Whether gates also see what is carried, element by element.
        dtype: The dtype of its variables; by default that of the first inputs.
        reuse: Whether to find the variables of a cell of this name.
        name: The name of the cell and of its variable scope.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: DTypeLike | None = None,
        reuse: bool | ReuseMode | None = None,
        name: str = "lstm_cell",
    ) -> None:
        super().__init__(
            num_units, use_peephole, cell_clip, forget_bias=forget_bias, dtype=dtype, reuse=reuse, name=name
        )


class GRUBlockCellV2(_kinds.GRUCell):
    """`GRUCell` by another name.

    Args:
        num_units: The size of the outputs.
        cell_size: The old name of `num_units`.
        reuse: Whether to find the variables of a cell of this name.
        name: The name of the cell and of its variable scope.
    """

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: bool | ReuseMode | None = None,
        name: str = "gru_cell",
    ) -> None:
        if (num_units is None) == (cell_size is None):
            raise _ArgumentError("Exactly one of num_units or cell_size must be provided.")
        size = num_units if num_units is not None else cell_size
        assert size is not None
        super().__init__(size, reuse=reuse, name=name)


@_builds
def stack_bidirectional_dynamic_rnn(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: ArrayLike,
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: DTypeLike | None = None,
    sequence_length: ArrayLike | None = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
    swap_memory: bool = False,
) -> tuple[Any, Any, Any]:
    """Both directions, layer upon layer: each takes the outputs of both directions of the one before, side by side.

    Args:
        cells_fw: The cells that begin at the first step, the one that takes the inputs first.
        cells_bw: The cells that begin at the last step.
        inputs: See ``tf.nn.bidirectional_dynamic_rnn``, as with the arguments that are not named here.
        initial_states_fw: The states that `cells_fw` begin with.
        initial_states_bw: The states that `cells_bw` begin with.
        dtype: See there.
        sequence_length: See there.
        parallel_iterations: See there.
        time_major: See there.
        scope: The variable scope; ``"stack_bidirectional_rnn"`` by default.
        swap_memory: See there.

    Returns:
        The outputs of the last layer's directions, side by side; the last states of each.
    """
    for cells, what in ((cells_fw, "cells_fw"), (cells_bw, "cells_bw")):
        if not isinstance(cells, list) or not cells:
            raise _ArgumentError(f"Must specify at least one cell in a list for {what}.")
    if len(cells_fw) != len(cells_bw):
        raise _ArgumentError("Forward and Backward cells must have the same depth.")
    nothing = [None] * len(cells_fw)
    each = zip(cells_fw, cells_bw, initial_states_fw or nothing, initial_states_bw or nothing, strict=True)
    last_fw, last_bw = [], []
    with _variable_scope(scope or "stack_bidirectional_rnn"):
        for number, (fw, bw, first_fw, first_bw) in enumerate(each):
            with _variable_scope(f"cell_{number}"):
                outputs, (after_fw, after_bw) = _bidirectional(
                    fw, bw, inputs, sequence_length, first_fw, first_bw, dtype, time_major=time_major
                )
            inputs = _concat(outputs, 2)
            last_fw.append(after_fw)
            last_bw.append(after_bw)
    return inputs, tuple(last_fw), tuple(last_bw)


__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "GRUBlockCellV2",
    "GRUCell",
    "LSTMBlockCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
    "ResidualWrapper",
    "stack_bidirectional_dynamic_rnn",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
]

__getattr__ = _without("tf.contrib.rnn")
