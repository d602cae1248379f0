"""Going through the rows of tensors, and making tensors of rows: what `situs.ops.functional` is made of.

In eager code that is a Python loop. In a graph it is a `while_loop`, which keeps the rows it makes in a list that goes
round with the loop variables, and makes one tensor of them at the end:

    begin --- While(i, state, list) --- stack
                body:  add(list, fn(elems[i]))

The list is a Python list in the host's memory; the rows in it stay on their device. Its gradient is a tensor: that of
all its rows, in their order, so the gradient of each row is a part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from situs.dtype import FIXED, DType
from situs.eager.bridge import TORCH_DTYPE
from situs.errors import DTypeError, InvalidArgumentError
from situs.graph.graph import Graph
from situs.ops.array import shape as shape_of
from situs.ops.constant import convert_to_tensor
from situs.ops.define import CPU, GPU, op
from situs.ops.form import put_together, take_apart
from situs.ops.inner import building, graph_for, symbolic
from situs.ops.join import stack
from situs.ops.loop import while_loop
from situs.ops.tensor_list import least_sizes, shape_of_rows
from situs.registry.op import find_op
from situs.shapes import SCALAR, UNKNOWN, TensorShape
from situs.tensor import Tensor, is_tensor, read

# Lists of rows. An input of dtype resource would bind its op to the device of the list; one of `any*` does not, so a
# list is passed as a list of one.

_begin = op("RowsBegin", "-> rows: resource", stateful=True)
_begin.shape(lambda: SCALAR)


@_begin.kernel(CPU)
def _begin_kernel() -> list[Any]:
    return []


_add = op("RowsAdd", "rows: any*, row: T, place: host -> out: resource", stateful=True)
_add.shape(lambda rows, row, place: SCALAR)


@_add.kernel(CPU)
@_add.kernel(GPU, T=FIXED)
def _add_kernel(rows: list[Any], row: Any, place: int) -> Any:
    rows[0].append(row)
    return rows[0]


@_add.gradient
def _add_gradient(grad: Tensor, place: Any) -> tuple[list[Tensor], Any]:
    return [grad], lambda: grad[place]


_stack = op("RowsStack", "rows: any* -> output: dtype", stateful=True, reverse=False, row_shape=UNKNOWN)


@_stack.shape
def _stack_shape(rows: Any, *, reverse: bool, row_shape: TensorShape) -> TensorShape:
    return UNKNOWN if row_shape.rank is None else TensorShape([None, *row_shape])


@_stack.kernel(CPU)
@_stack.kernel(GPU, dtype=FIXED)
def _stack_kernel(rows: list[Any], *, reverse: bool, row_shape: TensorShape, dtype: DType, device: Any) -> Any:
    ordered = rows[0][::-1] if reverse else rows[0]
    shape_of_rows(ordered)  # refuses rows that differ
    if dtype.name == "string":
        return np.stack(ordered) if ordered else np.empty((0, *least_sizes(row_shape)), object)
    if not ordered:
        return torch.empty((0, *least_sizes(row_shape)), dtype=TORCH_DTYPE[dtype], device=device)
    return torch.stack([row.to(device) for row in ordered])


@_stack.gradient
def _stack_gradient(grad: Tensor, *, reverse: bool) -> list[Tensor]:
    return [find_op("ReverseV2")(grad, (0,)) if reverse else grad]


class Elems:
    """Tensors whose rows are taken together."""

    def __init__(self, elems: Any) -> None:
        self.form, leaves = take_apart(elems)
        if not leaves:
            raise InvalidArgumentError(
                f"elems must be a Tensor or (possibly nested) sequence of Tensors. Got {elems!r}, which does not "
                "contain any Tensors."
            )
        self.tensors: list[Tensor] = [convert_to_tensor(leaf) for leaf in leaves]
        self.graph = graph_for(self.tensors)
        self.known = self._count()

    def _count(self) -> int | None:
        """How many rows there are, as far as it is known before the graph runs."""
        known: int | None = None
        for tensor in self.tensors:
            if tensor.shape.rank == 0:
                raise InvalidArgumentError("Elements in elems must be 1+ dimensional Tensors, not scalars")
            size = tensor.shape[0]
            if None not in (known, size) and known != size:
                raise InvalidArgumentError(f"Dimensions {known} and {size} are not compatible")
            known = size if known is None else known
        return known

    def count(self) -> Any:
        """How many rows there are: a number, or a tensor of one."""
        return self.known if self.known is not None else shape_of(self.tensors[0])[0]

    def row(self, index: Any) -> Any:
        """The rows with one number, in the form of the tensors."""
        return put_together(self.form, [tensor[index] for tensor in self.tensors])

    def row_kinds(self) -> list[tuple[DType, TensorShape]]:
        """The dtypes and shapes of rows."""
        return [(tensor.dtype, tensor.shape[1:]) for tensor in self.tensors]

    def hold(self, graph: Graph) -> None:
        """Brings the tensors into the graph that a loop is built in, once for all turns."""
        self.tensors = [symbolic(graph, tensor) for tensor in self.tensors]


Turn = Callable[[Any, Any], tuple[Any, list[Any]]]


class Walk:
    """Goes through rows with a state, and keeps what each turn makes.

    Args:
        elems: What to go through.
        turn: From the state and a row to the next state and what is kept.
        wanted: The dtypes of what is kept, and what is known of its shapes.
        reverse: Whether to begin with the last row.
    """

    def __init__(
        self, elems: Elems, turn: Turn, wanted: Sequence[tuple[DType, TensorShape]] = (), reverse: bool = False
    ) -> None:
        self.elems = elems
        self.turn = turn
        self.wanted = list(wanted)
        self.shapes = [shape for _, shape in self.wanted]  # as the last turn that was looked at made them
        self.reverse = reverse

    def run(self, state: Any, skip_first: bool = False) -> tuple[Any, list[Tensor]]:
        """Goes through all rows, or all but the first; returns the last state and what was kept, as tensors."""
        graph = self.elems.graph
        if graph is None:
            return self._run_now(state, skip_first)
        with building(graph):
            return self._build(graph, state, skip_first)

    def _kept(self, made: list[Any]) -> list[Tensor]:
        """What a turn made, as tensors of the right dtypes."""
        kept = []
        for value, (dtype, shape) in zip(made, self.wanted, strict=True):
            tensor = read(value) if is_tensor(value) else convert_to_tensor(value, dtype)
            if tensor.dtype is not dtype:
                raise DTypeError(
                    f"TensorArray dtype is {dtype.name} but Op is trying to write dtype {tensor.dtype.name}: pass "
                    f"fn_output_signature=tf.{tensor.dtype.name}, or cast the result to tf.{dtype.name}."
                )
            if not shape.is_compatible_with(tensor.shape):
                raise InvalidArgumentError(f"Incompatible shape for value ({tensor.shape}), expected ({shape})")
            kept.append(tensor)
        self.shapes = [tensor.shape.merge_with(shape) for tensor, (_, shape) in zip(kept, self.wanted, strict=True)]
        return kept

    # In eager code.

    def _run_now(self, state: Any, skip_first: bool) -> tuple[Any, list[Tensor]]:
        columns: list[list[Tensor]] = [[] for _ in self.wanted]
        numbers = list(range(int(self.elems.count())))
        ordered = numbers[::-1] if self.reverse else numbers
        for number in ordered[1:] if skip_first else ordered:
            state, made = self.turn(state, self.elems.row(number))
            for column, value in zip(columns, self._kept(made), strict=True):
                column.append(value)
        return state, [self._as_tensor(column, i) for i, column in enumerate(columns)]

    def _as_tensor(self, column: list[Tensor], number: int) -> Tensor:
        if not column:
            dtype, sizes = self.wanted[number][0], least_sizes(self.shapes[number])
            return convert_to_tensor(np.empty((0, *sizes), dtype.as_numpy_dtype), dtype)
        shape_of_rows(column)  # refuses rows that differ
        return stack(column[::-1] if self.reverse else column)

    # In a graph.

    def _build(self, graph: Graph, state: Any, skip_first: bool) -> tuple[Any, list[Tensor]]:
        self.elems.hold(graph)
        count = self.elems.count()
        skip = int(skip_first)
        first, step = (count - 1 - skip, -1) if self.reverse else (skip, 1)

        def test(number: Any, state: Any, rows: Any) -> Any:
            return number >= 0 if self.reverse else number < count

        def body(number: Any, state: Any, rows: Any) -> Any:
            state, made = self.turn(state, self.elems.row(number))
            place = first - number if self.reverse else number - first if skip else number
            added = [_add([row], value, place) for row, value in zip(rows, self._kept(made), strict=True)]
            return number + step, state, added

        start = (convert_to_tensor(first, "int32"), state, [_begin() for _ in self.wanted])
        _, state, rows = while_loop(test, body, start)
        return state, [self._stacked(row, i, count if skip == 0 else None) for i, row in enumerate(rows)]

    def _stacked(self, rows: Any, number: int, count: Any) -> Tensor:
        shape = self.shapes[number]
        made = _stack([rows], reverse=self.reverse, row_shape=shape, dtype=self.wanted[number][0])
        if isinstance(count, int) and shape.rank is not None:
            made.set_shape([count, *shape])  # type: ignore[attr-defined]
        return made
