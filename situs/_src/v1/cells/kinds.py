"""The cells of ``tf.nn.rnn_cell``: `BasicRNNCell`, `GRUCell`, `BasicLSTMCell`, `LSTMCell`.

The inputs and the previous output are concatenated, so that a step is one matrix product. The gates of an LSTM are in
the order input, candidate, forget, output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from situs._src.base.errors import ArgumentError, DTypeError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, DTypeLike, InitializerLike
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_int
from situs._src.ops.compare import less
from situs._src.ops.constant import constant
from situs._src.ops.constant import range as range_of
from situs._src.ops.contract import tensordot
from situs._src.ops.gather import gather_nd, where
from situs._src.ops.join import concat, repeat, split, stack
from situs._src.ops.linalg import matmul
from situs._src.ops.math import clip_by_value, minimum, sigmoid, tanh
from situs._src.ops.nn.bias import bias_add
from situs._src.ops.nn.recurrent import lstm
from situs._src.v1.by_name import activation_of, initializer_of
from situs._src.v1.cells.base import RNNCell
from situs._src.v1.layers.base import Layer
from situs._src.variables.initializers import Constant, Zeros
from situs._src.variables.scope import VariableScope
from situs._src.variables.store import ReuseMode

_WIDE = 3e4  # so far from zero that a gate is closed, or open; a half-precision number too


@export(v1="nn.rnn_cell.LSTMStateTuple")
class LSTMStateTuple(NamedTuple):
    """The state of an LSTM: what it carries, and its last output."""

    c: Any
    h: Any

    @property
    def dtype(self) -> Any:
        """The dtype of both."""
        if self.c.dtype != self.h.dtype:
            raise DTypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype


class LayerRNNCell(RNNCell):
    """A cell that makes its variables in `build`.

    Args:
        num_units: The size of the outputs.
        activation: The function of candidates and outputs; None for tanh.
        reuse: Whether to find the variables of a cell of this name.
        kwargs: Those of `RNNCell`.
    """

    def __init__(
        self, num_units: int, activation: Any = None, reuse: bool | ReuseMode | None = None, **kwargs: Any
    ) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units = as_int(num_units, "num_units")
        if self._num_units < 1:
            raise ArgumentError(f"{type(self).__name__} has at least one unit, got num_units={num_units}.")
        self._activation = activation_of(activation) if activation else tanh

    @property
    def state_size(self) -> int:
        """The size of an example's state."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """The size of an example's output."""
        return self._num_units

    def __call__(self, inputs: Any, state: object, scope: str | VariableScope | None = None, **kwargs: Any) -> Any:
        """One step: the outputs and the next state."""
        rank = getattr(getattr(inputs, "shape", None), "rank", None)
        if rank not in (2, None):
            raise ArgumentError(
                f"{type(self).__name__} takes inputs of shape [batch, size], got a tensor of shape {inputs.shape}. "
                "tf.nn.dynamic_rnn takes a cell through the steps of a sequence."
            )
        given = {} if scope is None else {"scope": scope}
        return Layer.__call__(self, inputs, state, **given, **kwargs)

    def _inputs_size(self, shape: Any) -> int:
        """The size of an example's inputs."""
        if not shape or shape[-1] is None:
            raise ArgumentError(
                f"Expected inputs of shape [batch, size] with a known size for {type(self).__name__}, saw shape: "
                f"{'unknown' if shape is None else list(shape)}"
            )
        return int(shape[-1])

    def _kernel_and_bias(self, prefix: str, inputs: int, outputs: int, starts: tuple[Any, Any]) -> tuple[Any, Any]:
        kernel = self.add_variable(f"{prefix}kernel", shape=[inputs, outputs], initializer=starts[0])
        return kernel, self.add_variable(f"{prefix}bias", shape=[outputs], initializer=starts[1])


@export(v1="nn.rnn_cell.BasicRNNCell")
class BasicRNNCell(LayerRNNCell):
    """The output, which is the state: a function of the inputs and the output before.

    Args:
        num_units: The size of the outputs.
        activation: The function; None for tanh.
        reuse: Whether to find the variables of a cell of this name.
        name: The name of the cell and of its variable scope.
        dtype: The dtype of its variables; by default that of the first inputs.
        kwargs: Those of `RNNCell`.
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: bool | ReuseMode | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name=name, dtype=dtype, **kwargs)

    def build(self, input_shape: Any) -> None:
        """Makes the kernel and the bias."""
        size = self._inputs_size(input_shape) + self._num_units
        self._kernel, self._bias = self._kernel_and_bias("", size, self._num_units, (None, Zeros()))

    def call(self, inputs: ArrayLike, state: object) -> Any:
        """One step."""
        output = self._activation(_linear([inputs, state], self._kernel, self._bias))
        return output, output


@export(v1="nn.rnn_cell.GRUCell")
class GRUCell(LayerRNNCell):
    """A gated recurrent unit; its reset gate is applied before the multiplication.

    Args:
        num_units: The size of the outputs.
        activation: The function of candidates; None for tanh.
        reuse: Whether to find the variables of a cell of this name.
        kernel_initializer: How the kernels begin.
        bias_initializer: How the biases begin; by default those of the gates with ones, of candidates with zeros.
        name: The name of the cell and of its variable scope.
        dtype: The dtype of its variables; by default that of the first inputs.
        kwargs: Those of `RNNCell`.
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: bool | ReuseMode | None = None,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name=name, dtype=dtype, **kwargs)
        self._starts = initializer_of(kernel_initializer), initializer_of(bias_initializer)

    def build(self, input_shape: Any) -> None:
        """Makes the kernels and the biases."""
        units = self._num_units
        size = self._inputs_size(input_shape) + units
        kernel, bias = self._starts
        self._gates = self._kernel_and_bias("gates/", size, 2 * units, (kernel, bias or Constant(1.0)))
        self._candidate = self._kernel_and_bias("candidate/", size, units, (kernel, bias or Zeros()))

    def call(self, inputs: ArrayLike, state: Any) -> Any:
        """One step."""
        reset, kept = split(sigmoid(_linear([inputs, state], *self._gates)), 2, axis=1)
        candidate = self._activation(_linear([inputs, reset * state], *self._candidate))
        output = kept * state + (1 - kept) * candidate
        return output, output


class _LSTM(LayerRNNCell):
    """What both LSTM cells share; their state is a pair, or both parts side by side."""

    def __init__(self, num_units: int, forget_bias: float, state_is_tuple: bool, **kwargs: Any) -> None:
        super().__init__(num_units, **kwargs)
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        """The sizes of an example's state."""
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    def build(self, input_shape: Any) -> None:
        """Makes the kernel and the bias."""
        self._build(input_shape, None)

    def _build(self, input_shape: Any, initializer: Any) -> None:
        size = self._inputs_size(input_shape) + self.output_size
        self._kernel, self._bias = self._kernel_and_bias("", size, 4 * self._num_units, (initializer, Zeros()))

    def parted(self, state: Any) -> list[Tensor] | tuple[Any, Any] | list[Any]:
        """What a state carries, and its output."""
        if self._state_is_tuple:
            if not isinstance(state, (list, tuple)) or len(state) != 2:
                raise ArgumentError(
                    f"The state of {type(self).__name__} is a pair (c, h) with state_is_tuple=True, got {shown(state)}."
                )
            return state
        return split(state, [self._num_units, self.output_size], axis=1)

    def joined(self, c: Any, h: Any) -> LSTMStateTuple | Tensor:
        """A state of its parts."""
        return LSTMStateTuple(c, h) if self._state_is_tuple else concat([c, h], 1)

    def call(self, inputs: ArrayLike, state: object, lengths: ArrayLike | None = None, at_once: bool = False) -> Any:
        """One step, or all of them."""
        if at_once:
            return self._all_steps(inputs, state, lengths)
        c, h = self.parted(state)
        entering, candidate, kept, leaving = split(_linear([inputs, h], self._kernel, self._bias), 4, axis=1)
        return self._output(c, entering, candidate, kept + self._forget_bias, leaving)

    def _output(
        self, c: Any, entering: object, candidate: object, kept: Any, leaving: object
    ) -> tuple[Any | Tensor, LSTMStateTuple | Tensor]:
        """The output and the next state, of the gates before their functions."""
        carried = c * sigmoid(kept) + sigmoid(entering) * self._activation(candidate)
        output = self._activation(carried) * sigmoid(leaving)
        return output, self.joined(carried, output)

    def _is_special(self) -> bool:
        return self._activation is not tanh

    def is_plain(self) -> bool:
        """Whether a step does what `ops.nn.recurrent.lstm` does."""
        kind = type(self)
        return kind.call is _LSTM.call and kind.__call__ is LayerRNNCell.__call__ and not self._is_special()

    def _all_steps(self, rows: Any, state: Any, lengths: Any) -> tuple[Tensor, LSTMStateTuple | Tensor]:
        """All steps as one op. Steps after an example's end keep what is carried, and let nothing out."""
        c, h = self.parted(state)
        size, units = rows.shape[2], self._num_units
        of_rows, recurrent = split(_reordered(self._kernel), [size, units], axis=0)
        bias = _reordered(self._bias) + repeat(constant([0, self._forget_bias, 0, 0], c.dtype), units)
        z = tensordot(rows, of_rows, 1) + bias
        if lengths is None:
            y, h, c = lstm(z, recurrent, h, c)
            return y, self.joined(c, h)
        closed = repeat(constant([-_WIDE, _WIDE, 0, -_WIDE], c.dtype), units)
        y, _, c = lstm(where(before_end(rows, lengths), z, closed), recurrent, h, c)
        outputs = concat([h[None], y], 0)
        count = minimum(lengths, shape_of(rows)[0])
        return y, self.joined(c, gather_nd(outputs, stack([count, range_of(shape_of(count)[0])], 1)))


def before_end(rows: Any, lengths: Any) -> Tensor:
    """For steps x batch x size: which steps come before an example's end, steps x batch x 1."""
    return less(range_of(shape_of(rows)[0])[:, None, None], lengths[:, None])


def _reordered(gates: Any) -> Tensor:
    """Gates as `ops.nn.recurrent` has them: input, forget, candidate, output."""
    entering, candidate, kept, leaving = split(gates, 4, axis=-1)
    return concat([entering, kept, candidate, leaving], -1)


@export(v1="nn.rnn_cell.BasicLSTMCell")
class BasicLSTMCell(_LSTM):
    """A long short-term memory.

    Args:
        num_units: The size of the outputs.
        forget_bias: What is added to the forget gate.
        state_is_tuple: Whether states are pairs; else they are tensors, both parts side by side.
        activation: The function of candidates and outputs; None for tanh.
        reuse: Whether to find the variables of a cell of this name.
        name: The name of the cell and of its variable scope.
        dtype: The dtype of its variables; by default that of the first inputs.
        kwargs: Those of `RNNCell`.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Callable[..., Any] | None = None,
        reuse: bool | ReuseMode | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        options = {"activation": activation, "reuse": reuse, "name": name, "dtype": dtype, **kwargs}
        super().__init__(num_units, forget_bias, state_is_tuple, **options)


@export(
    v1="nn.rnn_cell.LSTMCell",
    differs="num_unit_shards is an error.",
)
class LSTMCell(_LSTM):
    """A long short-term memory, with peepholes, limits and a projection on demand.

    Args:
        num_units: The size of what it carries.
        use_peepholes: Whether gates also see what is carried, element by element.
        cell_clip: A limit for what is carried.
        initializer: How kernels and peepholes begin.
        num_proj: The size of the outputs, which a matrix then makes; None for no matrix.
        proj_clip: A limit for these outputs.
        num_unit_shards: Refused; a variable scope's ``partitioner`` parts variables.
        num_proj_shards: Refused, likewise.
        forget_bias: What is added to the forget gate.
        state_is_tuple: Whether states are pairs; else they are tensors, both parts side by side.
        activation: The function of candidates and outputs; None for tanh.
        reuse: Whether to find the variables of a cell of this name.
        name: The name of the cell and of its variable scope.
        dtype: The dtype of its variables; by default that of the first inputs.
        kwargs: Those of `RNNCell`.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: InitializerLike | None = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Callable[..., Any] | None = None,
        reuse: bool | ReuseMode | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        options = {"activation": activation, "reuse": reuse, "name": name, "dtype": dtype, **kwargs}
        super().__init__(num_units, forget_bias, state_is_tuple, **options)
        if (num_unit_shards or 1) > 1 or (num_proj_shards or 1) > 1:
            raise UnimplementedError(
                "LSTMCell does not part its kernels. Leave num_unit_shards and num_proj_shards out, or place the cell "
                "on several devices with tf.nn.rnn_cell.DeviceWrapper."
            )
        self._use_peepholes, self._cell_clip = use_peepholes, cell_clip
        self._initializer = initializer_of(initializer)
        self._num_proj = None if not num_proj else as_int(num_proj, "num_proj")
        self._proj_clip = proj_clip

    @property
    def output_size(self) -> int:
        """The size of an example's output."""
        return self._num_proj or self._num_units

    def build(self, input_shape: Any) -> None:
        """Makes the kernel, the bias, the peepholes and the matrix of the outputs."""
        self._build(input_shape, self._initializer)
        self._peepholes = [
            self.add_variable(f"w_{gate}_diag", shape=[self._num_units], initializer=self._initializer)
            for gate in ("fio" if self._use_peepholes else "")
        ]
        if self._num_proj:
            shape = [self._num_units, self._num_proj]
            self._proj_kernel = self.add_variable("projection/kernel", shape=shape, initializer=self._initializer)

    def _is_special(self) -> bool:
        return bool(self._use_peepholes or self._num_proj) or self._cell_clip is not None or super()._is_special()

    def _output(self, c: Any, entering: object, candidate: object, kept: Any, leaving: object) -> Any:
        if self._use_peepholes:
            to_kept, to_entering, to_leaving = self._peepholes
            kept, entering = kept + to_kept * c, entering + to_entering * c
        carried = sigmoid(kept) * c + sigmoid(entering) * self._activation(candidate)
        if self._cell_clip is not None:
            carried = clip_by_value(carried, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            leaving = leaving + to_leaving * carried
        output = sigmoid(leaving) * self._activation(carried)
        if self._num_proj:
            output = matmul(output, self._proj_kernel)
            if self._proj_clip is not None:
                output = clip_by_value(output, -self._proj_clip, self._proj_clip)
        return output, self.joined(carried, output)


def _linear(parts: list[Any], kernel: Any, bias: Any) -> Tensor:
    return bias_add(matmul(concat(parts, 1), kernel), bias)
