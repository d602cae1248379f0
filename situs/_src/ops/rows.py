"""Going through the rows of tensors, and making tensors of rows: what `ops.functional` is made of.

In eager code that is a Python loop. In a graph it is a `while_loop`, which takes rows out of lists, puts the rows it
makes into lists that go round with the loop variables, and makes tensors of these at the end (`ops.tensor_list`):

    reserve --- While(i, state, list) --- stack
                body:  set(list, i, fn(get(elems, i)))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from situs._src.base.dtype import DType
from situs._src.base.errors import ArgumentError, OpDTypeError
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor, is_tensor, read
from situs._src.base.tree import put_together, take_apart
from situs._src.base.typing import ArrayLike
from situs._src.ir.graph.graph import Graph
from situs._src.ops.array import shape as shape_of
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.inner import building, graph_for, symbolic
from situs._src.ops.join import stack
from situs._src.ops.loop import while_loop
from situs._src.ops.tensor_list import from_tensor, get_row, least_sizes, reserve, set_row, shape_of_rows, stack_rows


class Elems:
    """Tensors whose rows are taken together."""

    def __init__(self, elems: ArrayLike) -> None:
        self.form, leaves = take_apart(elems)
        if not leaves:
            raise ArgumentError(
                f"elems must be a Tensor or (possibly nested) sequence of Tensors. Got {elems!r}, which does not "
                "contain any Tensors."
            )
        self.tensors: list[Tensor] = [convert_to_tensor(leaf) for leaf in leaves]
        self.graph = graph_for(self.tensors)
        self.known = self._count()
        self._lists: list[Tensor] | None = None  # of their rows, where a loop takes these

    def _count(self) -> int | None:
        """How many rows there are, as far as it is known before the graph runs."""
        known: int | None = None
        for tensor in self.tensors:
            if tensor.shape.rank == 0:
                raise ArgumentError("Elements in elems must be 1+ dimensional Tensors, not scalars")
            size = tensor.shape[0]
            if None not in (known, size) and known != size:
                raise ArgumentError(f"Dimensions {known} and {size} are not compatible")
            known = size if known is None else known
        return known

    def count(self) -> Any:
        """How many rows there are: a number, or a tensor of one."""
        return self.known if self.known is not None else shape_of(self.tensors[0])[0]

    def row(self, index: object) -> Any:
        """The rows with one number, in the form of the tensors."""
        if self._lists is None:
            return put_together(self.form, [tensor[index] for tensor in self.tensors])
        kinds = zip(self._lists, self.row_kinds(), strict=True)
        return put_together(self.form, [get_row([rows], index, row_shape=s, dtype=d) for rows, (d, s) in kinds])

    def row_kinds(self) -> list[tuple[DType, TensorShape]]:
        """The dtypes and shapes of rows."""
        return [(tensor.dtype, tensor.shape[1:]) for tensor in self.tensors]

    def hold(self, graph: Graph) -> None:
        """Makes lists of the tensors in the graph that a loop is built in, once for all iterations."""
        self.tensors = [symbolic(graph, tensor) for tensor in self.tensors]
        self._lists = [from_tensor(tensor) for tensor in self.tensors]


Body = Callable[[Any, Any], tuple[Any, list[Any]]]


class Walk:
    """Goes through rows with a state, and keeps what each iteration makes.

    Args:
        elems: What to go through.
        body: From the state and a row to the next state and what is kept.
        wanted: The dtypes of what is kept, and what is known of its shapes.
        reverse: Whether to begin with the last row.
    """

    def __init__(
        self, elems: Elems, body: Body, wanted: Sequence[tuple[DType, TensorShape]] = (), reverse: bool = False
    ) -> None:
        self.elems = elems
        self.body = body
        self.wanted = list(wanted)
        self.shapes = [shape for _, shape in self.wanted]  # as the last iteration that was looked at made them
        self.reverse = reverse

    def run(self, state: object, skip_first: bool = False) -> tuple[Any, list[Tensor]]:
        """Goes through all rows, or all but the first; returns the last state and what was kept, as tensors."""
        graph = self.elems.graph
        if graph is None:
            return self._run_now(state, skip_first)
        with building(graph):
            return self._build(graph, state, skip_first)

    def _kept(self, made: list[Any]) -> list[Tensor]:
        """What an iteration made, as tensors of the right dtypes."""
        kept = []
        for value, (dtype, shape) in zip(made, self.wanted, strict=True):
            tensor = read(value) if is_tensor(value) else convert_to_tensor(value, dtype)
            if tensor.dtype is not dtype:
                raise OpDTypeError(
                    f"TensorArray dtype is {dtype.name} but Op is trying to write dtype {tensor.dtype.name}: pass "
                    f"fn_output_signature=tf.{tensor.dtype.name}, or cast the result to tf.{dtype.name}."
                )
            if not shape.is_compatible_with(tensor.shape):
                raise ArgumentError(f"Incompatible shape for value ({tensor.shape}), expected ({shape})")
            kept.append(tensor)
        self.shapes = [tensor.shape.merge_with(shape) for tensor, (_, shape) in zip(kept, self.wanted, strict=True)]
        return kept

    # In eager code.

    def _run_now(self, state: object, skip_first: bool) -> tuple[Any, list[Tensor]]:
        columns: list[list[Tensor]] = [[] for _ in self.wanted]
        numbers = list(range(int(self.elems.count())))
        ordered = numbers[::-1] if self.reverse else numbers
        for number in ordered[1:] if skip_first else ordered:
            state, made = self.body(state, self.elems.row(number))
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

    def _build(self, graph: Graph, state: object, skip_first: bool) -> tuple[Any, list[Tensor]]:
        self.elems.hold(graph)
        count = self.elems.count()
        skip = int(skip_first)
        first, step = (count - 1 - skip, -1) if self.reverse else (skip, 1)

        def test(number: Any, state: object, rows: object) -> Any:
            return number >= 0 if self.reverse else number < count

        def body(number: Any, state: Any, rows: Any) -> Any:
            state, made = self.body(state, self.elems.row(number))
            place = number - skip if skip and not self.reverse else number
            added = [set_row([row], place, value) for row, value in zip(rows, self._kept(made), strict=True)]
            return number + step, state, added

        start = (convert_to_tensor(first, "int32"), state, [reserve(count - skip) for _ in self.wanted])
        _, state, rows = while_loop(test, body, start)
        return state, [self._stacked(row, i, count - skip) for i, row in enumerate(rows)]

    def _stacked(self, rows: object, number: int, count: Any) -> Tensor:
        shape = self.shapes[number]
        made = stack_rows([rows], row_shape=shape, dtype=self.wanted[number][0])
        if isinstance(count, int) and shape.rank is not None:
            made.set_shape([count, *shape])  # type: ignore[attr-defined]
        return made
