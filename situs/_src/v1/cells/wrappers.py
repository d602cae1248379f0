"""Cells made of cells: `MultiRNNCell`, `DropoutWrapper`, `ResidualWrapper`, `DeviceWrapper`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from situs._src.base.devices.scope import device
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.base.tree import flatten, form_of, is_structure, made_like, pack_like, parts_of
from situs._src.base.typing import ArrayLike, DTypeLike, IntLike
from situs._src.ir.graph.context import name_scope
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.join import concat, split
from situs._src.ops.math import add, floor
from situs._src.ops.nn.dropout import dropout
from situs._src.ops.random import uniform
from situs._src.ops.tensor_array import TensorArray
from situs._src.v1.cells.base import RNNCell, check_cell
from situs._src.v1.cells.kinds import LSTMStateTuple
from situs._src.v1.frontend import builds
from situs._src.variables.scope import VariableScope, variable_scope


@export(v1="nn.rnn_cell.MultiRNNCell")
class MultiRNNCell(RNNCell):
    """Cells one upon the other: each takes the outputs of the one before.

    Args:
        cells: The cells, the one that takes the inputs first.
        state_is_tuple: Whether states are tuples of the cells' states; else all parts side by side.
    """

    def __init__(self, cells: Any, state_is_tuple: bool = True) -> None:
        super().__init__()
        if not isinstance(cells, (list, tuple)):
            raise DTypeError(f"cells must be a list or tuple, but received: {shown(cells)}.")
        if not cells:
            raise ArgumentError("Must specify at least one cell for MultiRNNCell.")
        for number, cell in enumerate(cells):
            check_cell(cell, f"cells[{number}]")
        if not state_is_tuple and any(is_structure(cell.state_size) for cell in cells):
            sizes = [cell.state_size for cell in cells]
            raise ArgumentError(f"Some cells return tuples of states, but the flag state_is_tuple is not set: {sizes}")
        self._cells = list(cells)
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        """The sizes of the cells' states."""
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        """The size of the last cell's outputs."""
        return self._cells[-1].output_size

    @builds
    def zero_state(self, batch_size: IntLike, dtype: DTypeLike) -> Any:
        """States of zeros."""
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        with name_scope(f"{type(self).__name__}ZeroState"):
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def is_plain(self) -> bool:
        """Whether its cells can go through all steps at once."""
        own = type(self).call is MultiRNNCell.call and type(self).__call__ is RNNCell.__call__
        return own and self._state_is_tuple and all(isinstance(c, RNNCell) and c.is_plain() for c in self._cells)

    def call(self, inputs: ArrayLike, state: Any, lengths: ArrayLike | None = None, at_once: bool = False) -> Any:
        """One step of each cell, or all of them."""
        states = state if self._state_is_tuple else split(state, [cell.state_size for cell in self._cells], axis=1)
        if self._state_is_tuple and (not is_structure(state) or len(state) != len(self._cells)):
            raise ArgumentError(
                f"Expected state to be a tuple of length {len(self._cells)}, but received: {shown(state)}"
            )
        made = []
        for number, (cell, before) in enumerate(zip(self._cells, states, strict=True)):
            with variable_scope(f"cell_{number}"):
                inputs, after = cell.walk(inputs, before, lengths) if at_once else cell(inputs, before)
            made.append(after)
        return inputs, tuple(made) if self._state_is_tuple else concat(made, 1)


class _Wrapper(RNNCell):
    """A cell around another, whose variable scope is that one's."""

    def __init__(self, cell: RNNCell, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_cell(cell)
        self.cell = cell

    @property
    def wrapped_cell(self) -> Any:
        """The cell inside."""
        return self.cell

    @property
    def state_size(self) -> Any:
        """That of the cell inside."""
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        """That of the cell inside."""
        return self.cell.output_size

    @builds
    def zero_state(self, batch_size: IntLike, dtype: DTypeLike) -> Any:
        """The cell's state of zeros."""
        with name_scope(f"{type(self).__name__}ZeroState"):
            return self.cell.zero_state(batch_size, dtype)

    @builds
    def __call__(
        self, inputs: ArrayLike, state: object, scope: str | VariableScope | None = None, **kwargs: Any
    ) -> Any:
        """One step of the cell, wrapped."""
        given = {} if scope is None else {"scope": scope}
        return self._wrap(lambda x: self.cell(x, state, **given, **kwargs), inputs)

    def is_plain(self) -> bool:
        """Whether the cell inside can go through all steps at once."""
        own = type(self).__call__ is _Wrapper.__call__ and type(self).__module__ == __name__
        return own and isinstance(self.cell, RNNCell) and self.cell.is_plain()

    def walk(self, rows: Any, state: Any, lengths: ArrayLike) -> Any:
        """All steps of the cell, wrapped."""
        return self._wrap(lambda x: self.cell.walk(x, state, lengths), rows)

    def _wrap(self, step: Callable[[Any], Any], inputs: ArrayLike) -> Any:
        raise NotImplementedError


@export(v1="nn.rnn_cell.ResidualWrapper")
class ResidualWrapper(_Wrapper):
    """Adds the inputs of a cell to its outputs.

    Args:
        cell: The cell.
        residual_fn: A function of inputs and outputs, instead of their sum.
        kwargs: Those of `RNNCell`.
    """

    def __init__(self, cell: RNNCell, residual_fn: Callable[..., Any] | None = None, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def is_plain(self) -> bool:
        """Whether the cell inside can go through all steps at once, and sums are all there is besides."""
        return self._residual_fn is None and super().is_plain()

    def _wrap(self, step: Callable[[Any], Any], inputs: ArrayLike) -> tuple[Any, Any] | tuple[Tensor, Any]:
        outputs, state = step(inputs)
        if self._residual_fn is not None:
            return self._residual_fn(inputs, outputs), state
        if form_of(inputs) != form_of(outputs):
            raise ArgumentError(f"ResidualWrapper adds inputs to outputs, which have another form: {outputs!r}.")
        pairs = list(zip(flatten(inputs), flatten(outputs), strict=True))
        for given, made in pairs:
            given.shape.assert_is_compatible_with(made.shape)
        return pack_like(outputs, [add(given, made) for given, made in pairs]), state


@export(v1="nn.rnn_cell.DeviceWrapper")
class DeviceWrapper(_Wrapper):
    """Puts a cell on a device.

    Args:
        cell: The cell.
        device: What ``tf.device`` takes.
        kwargs: Those of `RNNCell`.
    """

    def __init__(self, cell: RNNCell, device: Any, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    @builds
    def zero_state(self, batch_size: IntLike, dtype: DTypeLike) -> Any:
        """The cell's state of zeros, on the device."""
        with device(self._device):
            return super().zero_state(batch_size, dtype)

    def _wrap(self, step: Callable[[Any], Any], inputs: ArrayLike) -> Any:
        with device(self._device):
            return step(inputs)


def _drops(state: object) -> LSTMStateTuple | bool:
    """What of a state is dropped: the output of an LSTM, and not what it carries."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(state, TensorArray)


@export(v1="nn.rnn_cell.DropoutWrapper")
class DropoutWrapper(_Wrapper):
    """Drops elements of a cell's inputs, outputs and states.

    Args:
        cell: The cell.
        input_keep_prob: The probability with which an element of the inputs is kept; a number or a scalar tensor.
        output_keep_prob: That of the outputs.
        state_keep_prob: That of the states.
        variational_recurrent: Whether the same elements are dropped in all steps, and for all examples.
        input_size: The size of an example's inputs, which `variational_recurrent` with `input_keep_prob` needs.
        dtype: The dtype of inputs, states and outputs, which `variational_recurrent` needs.
        seed: Makes the choices repeat.
        dropout_state_filter_visitor: A function from a state to True or False, or a structure of them: whether to drop
            elements of it. By default what LSTMs carry is left alone.
        kwargs: Those of `RNNCell`.
    """

    def __init__(
        self,
        cell: RNNCell,
        input_keep_prob: Any = 1.0,
        output_keep_prob: ArrayLike = 1.0,
        state_keep_prob: ArrayLike = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: DTypeLike | None = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise DTypeError("dropout_state_filter_visitor must be callable")
        self._filter = dropout_state_filter_visitor or _drops
        self._seed = seed
        self._keep = {
            "input": _probability(input_keep_prob, "input_keep_prob"),
            "state": _probability(state_keep_prob, "state_keep_prob"),
            "output": _probability(output_keep_prob, "output_keep_prob"),
        }
        self._noise: dict[str, list[Any]] = {}
        if variational_recurrent:
            if dtype is None:
                raise ArgumentError("When variational_recurrent=True, dtype must be provided")
            if _is_less(self._keep["input"]) and input_size is None:
                raise ArgumentError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size must be "
                    "provided"
                )
            self._draw({"input": input_size, "state": cell.state_size, "output": cell.output_size}, dtype)

    def is_plain(self) -> bool:
        """Whether the cell inside can go through all steps at once, and its states are left alone."""
        return not self._noise and not _is_less(self._keep["state"]) and super().is_plain()

    @builds
    def _draw(self, sizes: dict[str, Any], dtype: DTypeLike) -> None:
        """The choices for all steps."""
        for part, size in sizes.items():
            if _is_less(self._keep[part]):
                shapes = [_with_batch_of_one(leaf) for leaf in _leaves(size)]
                self._noise[part] = [
                    uniform(shape, dtype=dtype, seed=self._seed_of(part, number)) for number, shape in enumerate(shapes)
                ]

    def _seed_of(self, part: str, number: int) -> int | None:
        if self._seed is None:
            return None
        salted = f"{self._seed}{part}_{number}".encode()
        return int(hashlib.md5(salted, usedforsecurity=False).hexdigest()[:8], 16) & 0x7FFFFFFF

    def _wrap(self, step: Callable[[Any], Any], inputs: ArrayLike) -> tuple[Tensor, Any]:
        outputs, state = step(self._dropped("input", inputs))
        if _is_less(self._keep["state"]):
            state = self._filtered(state, self._filter(state), count())
        return self._dropped("output", outputs), state

    def _dropped(self, part: str, values: ArrayLike) -> Any:
        if not _is_less(self._keep[part]):
            return values
        return pack_like(values, [self._drop(part, number, leaf) for number, leaf in enumerate(flatten(values))])

    def _filtered(self, state: Any, choice: Any, numbers: Iterator[int]) -> Any:
        """A state with elements dropped where `choice` says so."""
        if not is_structure(state):
            number = next(numbers)
            return self._drop("state", number, state) if choice else state
        parts = parts_of(state) or []
        if isinstance(choice, bool):
            choices = [self._filter(part) if choice else False for part in parts]
        else:
            choices = parts_of(choice) or []
        made = zip(parts, choices, strict=True)
        return made_like(state, [self._filtered(part, each, numbers) for part, each in made])

    def _drop(self, part: str, number: int, value: ArrayLike) -> Any:
        keep = self._keep[part]
        if part not in self._noise:
            return dropout(value, 1.0 - keep, seed=self._seed_of(part, number))
        return value / keep * floor(keep + self._noise[part][number])


@builds
def _probability(value: Any, what: str) -> float | Tensor:
    if is_tensor(value):
        return convert_to_tensor(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise DTypeError(f"Parameter {what} is a number or a scalar tensor, got {shown(value)}.") from None
    if not 0 <= number <= 1:
        raise ArgumentError(f"Parameter {what} must be between 0 and 1: {number:g}")
    return number


def _is_less(keep: Any) -> bool:
    """Whether not everything is kept, as far as it is known."""
    return is_tensor(keep) or keep < 1


def _leaves(sizes: Any) -> list[Any]:
    return [sizes] if isinstance(sizes, TensorShape) else flatten(sizes)


def _with_batch_of_one(size: Any) -> list[int]:
    return [1, *(size if isinstance(size, TensorShape) else [size])]
