"""The base of the cells of ``tf.nn.rnn_cell``: `RNNCell`, a layer of two arguments.

    output, state = cell(inputs, state)         one step of a sequence, for a batch
    cell.zero_state(batch, tf.float32)          where a sequence begins

A state is a tensor, or a structure of tensors: `state_size` has the same structure, with the size per example.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base.dtype import as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor, is_tensor, read
from situs._src.base.tree import flatten, pack_like
from situs._src.base.typing import ArrayLike, DTypeLike, IntLike
from situs._src.ir.graph.context import name_scope
from situs._src.ops.array import shape as shape_of
from situs._src.ops.constant import convert_to_tensor, zeros
from situs._src.ops.join import concat
from situs._src.v1.frontend import builds
from situs._src.v1.layers.base import Layer
from situs._src.variables.scope import VariableScope, get_variable_scope, variable_scope

_PARTS = {
    "output_size": "'output_size' property is missing",
    "state_size": "'state_size' property is missing",
    "zero_state": "either 'zero_state' or 'get_initial_state' method is required",
}


def check_cell(cell: Any, what: str = "cell") -> None:
    """Raises unless something is a cell.

    Raises:
        TypeError: it lacks one of a cell's parts.
    """
    found = dir(cell) if not isinstance(cell, type) else []
    lacking = [words for name, words in _PARTS.items() if name not in found]
    if "get_initial_state" in found and _PARTS["zero_state"] in lacking:
        lacking.remove(_PARTS["zero_state"])
    if not callable(cell):
        lacking.append("is not callable")
    if lacking:
        hint = " It is a class: make one, as tf.nn.rnn_cell.LSTMCell(128)." if isinstance(cell, type) else ""
        raise DTypeError(f"The argument {what!r} ({shown(cell)}) is not an RNNCell: {', '.join(lacking)}.{hint}")


@export(v1="nn.rnn_cell.RNNCell")
class RNNCell(Layer):
    """The base of cells; one of one's own says `state_size` and `output_size`, and overrides `call`.

    Args:
        trainable: Whether its variables join ``TRAINABLE_VARIABLES``.
        name: The name of the layer and of its variable scope.
        dtype: The dtype of its variables; by default that of the first inputs.
        kwargs: Those of ``tf.layers.Layer``.
    """

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: DTypeLike | None = None, **kwargs: Any
    ) -> None:
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)

    @property
    def state_size(self) -> Any:
        """The size of an example's state, an integer or a shape, or a structure of such."""
        raise UnimplementedError(f"{type(self).__name__} does not say its `state_size`.")

    @property
    def output_size(self) -> Any:
        """The size of an example's output, an integer or a shape."""
        raise UnimplementedError(f"{type(self).__name__} does not say its `output_size`.")

    def __call__(
        self, inputs: ArrayLike, state: object, scope: str | VariableScope | None = None, **kwargs: Any
    ) -> Any:
        """One step: the outputs and the next state. Variables that `call` asks ``get_variable`` for become its own."""
        around = get_variable_scope() if scope is None else scope
        with variable_scope(around, custom_getter=self._noted, auxiliary_name_scope=scope is not None) as entered:
            given = {} if scope is None else {"scope": entered}
            return super().__call__(inputs, state, **given, **kwargs)

    def _noted(self, getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        variable = getter(*args, **kwargs)
        if not any(variable is known for known in self._added):
            self._added.append(variable)
        return variable

    def is_plain(self) -> bool:
        """Whether it can go through all steps of sequences at once: `walk`."""
        return False

    def walk(self, rows: object, state: object, lengths: ArrayLike) -> Any:
        """Goes through all steps at once.

        Args:
            rows: The inputs: steps x batch x size.
            state: The state before the first step.
            lengths: How many steps each example has; None for all.

        Returns:
            The outputs, which mean nothing after an example's end, and the last state.
        """
        return Layer.__call__(self, rows, state, lengths=lengths, at_once=True)

    @builds
    def zero_state(self, batch_size: IntLike, dtype: DTypeLike) -> Any:
        """A state of zeros.

        Args:
            batch_size: The number of examples; an integer or a scalar tensor.
            dtype: The dtype of the state.
        """
        with name_scope(f"{type(self).__name__}ZeroState"):
            return zero_tensors(self.state_size, batch_size, dtype)

    @builds
    def get_initial_state(
        self, inputs: ArrayLike | None = None, batch_size: IntLike | None = None, dtype: DTypeLike | None = None
    ) -> Any:
        """A state of zeros, for the batch and the dtype of `inputs` or for those given."""
        if inputs is not None:
            inputs = convert_to_tensor(inputs)
            known = inputs.shape[0]
            if batch_size is not None and not is_tensor(batch_size) and known != batch_size:
                raise ArgumentError(
                    "batch size from input tensor is different from the input param. Input tensor batch: "
                    f"{known}, batch_size: {batch_size}"
                )
            if dtype is not None and inputs.dtype is not as_dtype(dtype):
                raise ArgumentError(
                    "dtype from input tensor is different from the input param. Input tensor dtype: "
                    f"{inputs.dtype.name}, dtype: {as_dtype(dtype).name}"
                )
            batch_size, dtype = shape_of(inputs)[0] if known is None else known, inputs.dtype
        if batch_size is None or dtype is None:
            raise ArgumentError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)


def zero_tensors(sizes: Any, batch_size: IntLike, dtype: DTypeLike) -> Any:
    """Zeros for a batch, in the form of `sizes`: an integer or a shape, or a structure of such."""
    if isinstance(sizes, TensorShape):
        return _zeros(sizes, batch_size, dtype)
    return pack_like(sizes, [_zeros(size, batch_size, dtype) for size in flatten(sizes)])


def _zeros(size: Any, batch_size: IntLike, dtype: Any) -> Tensor:
    batch = read(batch_size)
    example = size if isinstance(size, TensorShape) else TensorShape([size])
    if not example.is_fully_defined():
        raise ArgumentError(f"A state of zeros needs sizes that are known, got {example}.")
    if not is_tensor(batch):
        return zeros([int(batch), *example], dtype)
    return zeros(concat([[batch], [*example]], 0), dtype)
