"""``tf.TensorArray``: tensors by number, written and read one by one.

    array = tf.TensorArray(tf.float32, size=3)
    for i in tf.range(3):
        array = array.write(i, tf.cast(i, tf.float32))
    array.stack()                                              [0., 1., 2.]

In eager code it holds the tensors. In a graph it holds a list of the graph (`ops.tensor_list`), which a loop or a
branch carries: each ``write`` returns another array, and what is known of the rows is known to all of them.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, InvalidArgumentError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor, is_tensor, read
from situs._src.base.tree import listed
from situs._src.base.typing import ArrayLike, DTypeLike, IntLike, IntsLike
from situs._src.ir.graph.function import graph_of
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops import tensor_list
from situs._src.ops.attribute import as_bool
from situs._src.ops.constant import constant, convert_to_tensor, zeros
from situs._src.ops.gather import gather
from situs._src.ops.join import concat, split, stack, unstack
from situs._src.runtime.symbolic.fold import constant_value


class _Known:
    """What all arrays that come of one another know."""

    def __init__(self, dtype: DType, shape: TensorShape, resizes: bool, infers: bool, clears: bool) -> None:
        self.count: int | None = None  # of the rows of all of these arrays in a graph, where it is known and stays
        self.dtype = dtype
        self.shape = shape
        self.resizes = resizes
        self.infers = infers
        self.clears = clears


@export(
    "TensorArray",
    v1=(),
    differs="stack() of zero rows of unknown shape is empty; in TensorFlow it is an error in functions.",
)
class TensorArray:
    """Tensors of one dtype by number.

    Args:
        dtype: The dtype of the tensors.
        size: How many there are.
        dynamic_size: Whether writing beyond the end makes the array longer.
        clear_after_read: Whether a tensor can be read only once, in eager code.
        tensor_array_name: Accepted for TensorFlow's programs, as are `handle`, `colocate_with_first_write_call`.
        infer_shape: Whether all tensors must have the shape of the first.
        element_shape: What is known of their shapes.
        flow: The list of a graph that the array stands for.
        name: Accepted for TensorFlow's programs.

    Example:
        >>> TensorArray("int32", size=2).write(0, 5).write(1, 7).stack().numpy().tolist()
        [5, 7]
    """

    def __init__(
        self,
        dtype: DTypeLike,
        size: IntsLike | None = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        resizes = as_bool(dynamic_size, "dynamic_size")
        clears = True if clear_after_read is None else as_bool(clear_after_read, "clear_after_read")
        shape = TensorShape(element_shape)
        self._known = _Known(as_dtype(dtype), shape, resizes, as_bool(infer_shape, "infer_shape"), clears)
        self._rows: list[Any] = []
        self._cleared: set[int] = set()
        self._flow = flow
        if flow is None and (here.graph is not None or graph_of([size]) is not None):
            count = _host_number(0 if size is None else size, "size")
            self._flow = tensor_list.reserve(count)
            known = constant_value(count) if isinstance(count, SymbolicTensor) else count
            self._known.count = known if isinstance(known, int) and known >= 0 and not resizes else None
        elif flow is None:
            self._rows = [None] * tensor_list.check_size(0 if size is None else _as_number(size, "size"))

    # What it is.

    @property
    def dtype(self) -> DType:
        """The dtype of the tensors."""
        return self._known.dtype

    @property
    def element_shape(self) -> TensorShape:
        """What is known of the shapes of the tensors."""
        return self._known.shape

    @property
    def dynamic_size(self) -> bool:
        """Whether writing beyond the end makes the array longer."""
        return self._known.resizes

    @property
    def flow(self) -> Any:
        """The list of the graph that the array stands for; None in eager code."""
        return self._flow

    def size(self, name: str | None = None) -> Tensor:
        """How many tensors there are, as a scalar."""
        if self._flow is None:
            return constant(len(self._rows), dt.int32)
        return tensor_list.length([self._flow], name=name)

    def identity(self) -> TensorArray:
        """An array with the same tensors."""
        if self._flow is not None:
            return self._with(tensor_list.same([self._flow]))
        same = self._with(None)
        same._rows, same._cleared = list(self._rows), set(self._cleared)
        return same

    def close(self, name: str | None = None) -> None:
        """Forgets the tensors."""
        self._rows = []

    def grad(self, source: object, flow: Any = None, name: str | None = None) -> Any:
        """Raises: gradients go through arrays by themselves.

        Raises:
            DTypeError: always.
        """
        raise DTypeError("TensorArray.grad is not supported: tf.GradientTape and tf.gradients go through arrays.")

    # One by one.

    def write(self, index: IntLike, value: ArrayLike, name: str | None = None) -> TensorArray:
        """The array with a tensor in one place.

        Args:
            index: The number of the place.
            value: The tensor.
            name: A name for the op.

        Raises:
            OutOfRangeError: there is no such place.
            ValueError: it has another shape than the others.
        """
        row = self._checked(value)
        if self._flow is not None:
            number = _host_number(index, "index")
            return self._with(tensor_list.set_row([self._flow], number, row, resizes=self._known.resizes, name=name))
        number = _as_number(index, "index")
        tensor_list.check_write(number, len(self._rows), self._known.resizes)
        self._rows += [None] * (number + 1 - len(self._rows))
        self._rows[number] = row
        self._cleared.discard(number)
        return self

    def _checked(self, value: object) -> Tensor:
        row = self._as_tensor(value)
        if row.dtype is not self._known.dtype:
            raise InvalidArgumentError(self._other_dtype(row.dtype))
        self._note(row.dtype, row.shape)
        return row

    def _other_dtype(self, dtype: DType) -> str:
        return f"TensorArray dtype is {self._known.dtype.name} but Op is trying to write dtype {dtype.name}"

    def _as_tensor(self, value: Any) -> Tensor:
        """A value as a tensor: of the array's dtype, if it can be."""
        if is_tensor(value):
            return convert_to_tensor(value)
        try:
            return convert_to_tensor(value, self._known.dtype)
        except InvalidArgumentError:
            return convert_to_tensor(value)  # of another dtype, which is refused by its name

    def _note(self, dtype: DType, shape: TensorShape) -> None:
        """Checks the dtype and the shape of a row, and notes what the shape tells of all rows."""
        known = self._known
        if dtype is not known.dtype:
            raise ArgumentError(self._other_dtype(dtype))
        if not known.shape.is_compatible_with(shape):
            raise ArgumentError(f"Incompatible shape for value ({shape}), expected ({known.shape})")
        if known.infers:
            known.shape = known.shape.merge_with(shape)

    def _note_count(self, count: int | None) -> None:
        """Forgets how many rows there are, if there are arrays of more than one length."""
        if self._known.count != count:
            self._known.count = None

    def read(self, index: object, name: str | None = None) -> Tensor:
        """The tensor in one place; zeros if none was written.

        Args:
            index: The number of the place.
            name: A name for the op.

        Raises:
            OutOfRangeError: there is no such place.
        """
        known = self._known
        if self._flow is not None:
            number = _host_number(index, "index")
            return tensor_list.get_row([self._flow], number, row_shape=known.shape, dtype=known.dtype, name=name)
        number = _as_number(index, "index")
        tensor_list.check_read(number, len(self._rows))
        if number in self._cleared:
            raise ArgumentError(
                f"Could not read index {number} twice because it was cleared after a previous read (perhaps try "
                "setting clear_after_read = false?)"
            )
        row = self._row(number)
        if known.clears:
            self._rows[number] = None
            self._cleared.add(number)
        return row

    def _row(self, number: int) -> Tensor:
        found: Tensor | None = self._rows[number]
        if found is not None:
            return found
        if not self._known.shape.is_fully_defined():
            raise ArgumentError(
                f"Nothing was written to index {number}, and the shape of the tensors is not known: "
                f"{self._known.shape}. Give element_shape."
            )
        return zeros(self._known.shape.as_list(), self._known.dtype)

    # All at once.

    def stack(self, name: str | None = None) -> Tensor:
        """All tensors as one, with a dimension more; zeros where none was written."""
        known = self._known
        if self._flow is not None:
            made = tensor_list.stack_rows([self._flow], row_shape=known.shape, dtype=known.dtype, name=name)
            if known.count is not None and known.shape.rank is not None:
                made.set_shape([known.count, *known.shape])  # type: ignore[attr-defined]
            return made
        if self._rows:
            return stack([self._row(number) for number in range(len(self._rows))])
        return zeros([0, *tensor_list.least_sizes(known.shape)], known.dtype)

    def unstack(self, value: object, name: str | None = None) -> TensorArray:
        """The array of the rows of a tensor."""
        given = self._as_tensor(value)
        if given.shape.rank == 0:
            kind = ArgumentError if self._flow is None else InvalidArgumentError
            raise kind("Tensor must be at least a vector, but saw shape: []: unstack() takes the rows of a tensor.")
        self._note(given.dtype, given.shape[1:])
        if self._flow is not None or here.graph is not None or graph_of([given]) is not None:
            self._note_count(None if given.shape.rank is None else given.shape[0])
            return self._with(tensor_list.from_tensor(given, name=name))
        rows = unstack(given)
        if rows:
            tensor_list.check_write(len(rows) - 1, len(self._rows), self._known.resizes)
        self._rows, self._cleared = list(rows), set()
        return self

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Some of the tensors as one."""
        return gather(self.stack(), indices, name=name)

    def scatter(self, indices: ArrayLike, value: object, name: str | None = None) -> TensorArray:
        """The array with the rows of a tensor in some places.

        Args:
            indices: The numbers of the places, which must be known.
            value: The rows.
            name: Accepted for TensorFlow's programs.
        """
        array, rows = self, unstack(self._as_tensor(value))
        numbers = [indices] if isinstance(indices, (int, np.integer)) else listed(indices, "indices")
        if len(numbers) != len(rows):
            raise InvalidArgumentError(
                f"Expected len(indices) == tensor.shape[0], but saw: {len(numbers)} vs. {len(rows)}"
            )
        for number, row in zip(numbers, rows, strict=True):
            array = array.write(number, row)
        return array

    def split(self, value: object, lengths: ArrayLike, name: str | None = None) -> TensorArray:
        """The array of parts of a tensor, of so many rows each."""
        given = self._as_tensor(value)
        if given.shape.rank == 0:
            raise InvalidArgumentError("Expected value to be at least a vector, but received shape: []")
        if self._flow is not None or graph_of([given, lengths]) is not None:
            self._note_parts(given, lengths)
            self._note_count(None)
            return self._with(tensor_list.split_rows(given, lengths, name=name))
        array = self
        sizes = [_as_number(size, "length") for size in listed(lengths, "lengths")]
        if len(sizes) != len(self._rows) and not self._known.resizes:
            raise InvalidArgumentError(
                f"TensorArray's size is not equal to the size of lengths ({len(self._rows)} vs. {len(sizes)}), and the "
                "TensorArray is not marked as dynamically resizeable."
            )
        for number, part in enumerate(split(given, tensor_list.check_lengths(sizes, given.shape.as_list()[0] or 0))):
            array = array.write(number, part)
        return array

    def _note_parts(self, given: Tensor, lengths: ArrayLike) -> None:
        """Notes what the parts of a tensor tell of the rows: their first dimension only if all have the same."""
        known = constant_value(lengths) if isinstance(lengths, SymbolicTensor) else lengths
        sizes = set() if known is None else {_as_number(size, "length") for size in listed(known, "lengths")}
        first = sizes.pop() if len(sizes) == 1 else None
        self._note(given.dtype, given.shape if given.shape.rank is None else TensorShape([first]) + given.shape[1:])

    def concat(self, name: str | None = None) -> Tensor:
        """All tensors behind one another; they may differ in their first dimension."""
        known = self._known
        if self._flow is not None:
            return tensor_list.concat_rows([self._flow], row_shape=known.shape, dtype=known.dtype, name=name)
        if not self._rows:
            raise InvalidArgumentError("concat() of a TensorArray needs at least one tensor, and its size is 0.")
        return concat([self._row(number) for number in range(len(self._rows))], 0)

    # In loops and branches.

    def _carried(self) -> Any:
        """What a loop or a branch of a graph carries instead of this array."""
        if self._flow is None:
            raise ArgumentError(
                "A TensorArray of eager code cannot be changed by a graph. Make it inside of the function."
            )
        return self._flow

    def _with(self, flow: Any) -> TensorArray:
        """The same array with another list of the graph."""
        other: TensorArray = object.__new__(TensorArray)
        other._known, other._flow, other._rows, other._cleared = self._known, flow, [], set()
        return other

    def __repr__(self) -> str:
        return f"<TensorArray dtype={self.dtype.name} element_shape={self.element_shape}>"


def _host_number(value: object, what: str) -> Any:
    """A number for a graph: a tensor as it is."""
    return value if is_tensor(value) else _as_number(value, what)


def _as_number(value: object, what: str) -> int:
    try:
        return operator.index(read(value))
    except TypeError:
        raise DTypeError(f"The {what} of a TensorArray is an integer, got {shown(value)}.") from None
