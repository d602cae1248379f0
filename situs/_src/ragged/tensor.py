"""``RaggedTensor``: rows of different lengths.

    RaggedTensor(values=[3, 1, 4, 1, 5], row_splits=[0, 2, 2, 5])        [[3, 1], [], [4, 1, 5]]

The values may be ragged themselves. Row ``i`` has the values from ``row_splits[i]`` to ``row_splits[i + 1]``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, InvalidArgumentError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.tree import flatten
from situs._src.ir.graph.context import control_dependencies
from situs._src.ops import operators
from situs._src.ops.array import identity, reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal
from situs._src.ops.composite_values import RaggedTensorValue
from situs._src.ops.constant import constant, convert_to_tensor, fill
from situs._src.ops.constant import range as range_of
from situs._src.ops.debug import Assert
from situs._src.ops.gather import gather
from situs._src.ops.join import concat, repeat, stack
from situs._src.ops.math import maximum
from situs._src.ops.reduce import reduce_all, reduce_max
from situs._src.ops.scatter import tensor_scatter_nd_update
from situs._src.ops.static_value import get_static_value
from situs._src.runtime.eager.tensor import EagerTensor
from situs._src.tracing.extension_type import name_spec
from situs._src.tracing.spec import TensorSpec
from situs._src.tracing.type_spec import CompositeTensor, TypeSpec


@export("RaggedTensor")
class RaggedTensor(CompositeTensor):
    """A tensor whose rows differ in length. Made by `tf.ragged.constant`, or by one of the methods ``from_...``.

    Example:
        >>> import situs as tf
        >>> rows = tf.RaggedTensor.from_row_splits([3, 1, 4, 1, 5], [0, 2, 2, 5])
        >>> rows.to_list(), rows.to_tensor().numpy().tolist()
        ([[3, 1], [], [4, 1, 5]], [[3, 1, 0], [0, 0, 0], [4, 1, 5]])
    """

    __array_priority__ = 100

    def __init__(self, values: Any, row_splits: Any, internal: bool = False, uniform: int | None = None) -> None:
        if not internal:
            raise ArgumentError(
                "RaggedTensor constructor is private; please use one of the factory methods instead (e.g., "
                "RaggedTensor.from_row_lengths())"
            )
        self._values = values
        self._row_splits = row_splits
        self._uniform = uniform  # how long all rows are, if that is known

    # Making one.

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows that begin and end at splits.

        Args:
            values: What is in the rows.
            row_splits: Where each row begins, and where the last one ends.
            name: A name for the op.
            validate: Whether to look at the splits.

        Raises:
            InvalidArgumentError: the splits do not go up from 0 to the number of values.
        """
        inner, splits = as_values(values), as_integers(row_splits, "row_splits")
        if splits.shape.rank not in (1, None):
            raise ArgumentError(f"`row_splits` is a vector, got the shape {splits.shape}.")
        if splits.shape.rank == 1 and splits.shape[0] == 0:
            raise ArgumentError("row_splits tensor may not be empty.")
        if validate:
            count = inner.nrows() if isinstance(inner, RaggedTensor) else shape_of(inner, dt.int64)[0]
            given, known = get_static_value(splits), get_static_value(count)
            if given is None or known is None:
                words = "Arguments to from_row_splits do not form a valid RaggedTensor: "
                rises = reduce_all(splits[1:] >= splits[:-1]) & equal(splits[0], 0)
                reaches = equal(cast(splits[-1], dt.int64), cast(count, dt.int64))
                splits = once(
                    splits,
                    (rises, f"{words}splits go up from 0, got"),
                    (reaches, f"{words}the last split is not the number of values:"),
                )
            elif given[0] != 0 or (np.diff(given) < 0).any():
                raise InvalidArgumentError(
                    f"Arguments to from_row_splits do not form a valid RaggedTensor: splits go up from 0, got "
                    f"{given.tolist()}."
                )
            elif int(given[-1]) != int(known):
                raise InvalidArgumentError(
                    f"Arguments to from_row_splits do not form a valid RaggedTensor: the last split is {given[-1]}, "
                    f"and there are {int(known)} values."
                )
        if isinstance(inner, RaggedTensor) and inner.row_splits.dtype is not splits.dtype:
            inner, splits = inner.with_row_splits_dtype(dt.int64), cast(splits, dt.int64)
        return cls(inner, splits, internal=True)

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows of some lengths, one after the other."""
        lengths = as_integers(row_lengths, "row_lengths")
        if validate and isinstance(lengths, EagerTensor) and (lengths.numpy() < 0).any():
            raise InvalidArgumentError(
                "Arguments to from_row_lengths do not form a valid RaggedTensor: a length is negative."
            )
        return cls.from_row_splits(values, splits_of(lengths), validate=validate)

    @classmethod
    def from_value_rowids(
        cls, values: Any, value_rowids: Any, nrows: Any = None, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Values with the number of the row of each, in order.

        Args:
            values: What is in the rows.
            value_rowids: The number of the row of each value; none is smaller than the one before.
            nrows: How many rows there are; one more than the last number by default.
            name: A name for the op.
            validate: Whether to look at the numbers.
        """
        from situs._src.ops.cumulative import unsorted_segment_sum

        ids = as_integers(value_rowids, "value_rowids")
        given = get_static_value(ids) if validate else None
        if given is not None and given.size and (given[0] < 0 or (np.diff(given) < 0).any()):
            raise InvalidArgumentError(
                "Arguments to from_value_rowids do not form a valid RaggedTensor: row numbers do not go up from 0, "
                f"got {given.tolist()}."
            )
        largest: Any = reduce_max(concat([ids, fill([1], cast(-1, ids.dtype))], 0))
        count = cast(largest + 1 if nrows is None else convert_to_tensor(nrows), ids.dtype)
        if validate and not isinstance(ids, EagerTensor):
            words = "Arguments to from_value_rowids do not form a valid RaggedTensor: row numbers do not go up from 0"
            ids = once(
                ids,
                (reduce_all(ids[1:] >= ids[:-1]) & reduce_all(ids >= 0), f"{words}, got"),
                (largest < count, f"{words} to the number of rows, got"),
            )
        if validate and isinstance(ids, EagerTensor) and isinstance(count, EagerTensor):
            last = int(largest)
            if last >= int(count):
                raise InvalidArgumentError(f"There is a value of row {last}, and there are {int(count)} rows.")
        ones = fill(shape_of(ids), cast(1, ids.dtype))
        lengths = unsorted_segment_sum(ones, ids, count)
        return cls.from_row_splits(values, splits_of(lengths), validate=validate)

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows that begin at some places, and end where the next begins."""
        inner, starts = as_values(values), as_integers(row_starts, "row_starts")
        end = reshape(cast(count_of(inner), starts.dtype), [1])
        return cls.from_row_splits(inner, concat([starts, end], 0), validate=validate)

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows that end at some places, and begin where the one before ends."""
        limits = as_integers(row_limits, "row_limits")
        return cls.from_row_splits(values, concat([fill([1], cast(0, limits.dtype)), limits], 0), validate=validate)

    @classmethod
    def from_uniform_row_length(
        cls, values: Any, uniform_row_length: Any, nrows: Any = None, validate: bool = True, name: str | None = None
    ) -> RaggedTensor:
        """Rows of one length."""
        inner = as_values(values)
        length = cast(convert_to_tensor(uniform_row_length), dt.int64)
        count = count_of(inner) // maximum(length, cast(1, dt.int64)) if nrows is None else nrows
        rows = cast(convert_to_tensor(count), dt.int64)
        made = cls.from_row_splits(inner, range_of(cast(0, dt.int64), rows + 1) * length, validate=validate)
        known = get_static_value(length)
        made._uniform = None if known is None else int(known)
        return made

    @classmethod
    def from_nested_row_splits(
        cls, flat_values: Any, nested_row_splits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Rows of rows, by the splits of each level, the outermost first."""
        made = as_values(flat_values)
        for splits in reversed(list(nested_row_splits)):
            made = cls.from_row_splits(made, splits, validate=validate)
        return made

    @classmethod
    def from_nested_row_lengths(
        cls, flat_values: Any, nested_row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Rows of rows, by the lengths of each level, the outermost first."""
        made = as_values(flat_values)
        for lengths in reversed(list(nested_row_lengths)):
            made = cls.from_row_lengths(made, lengths, validate=validate)
        return made

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = dt.int64,
    ) -> RaggedTensor:
        """The rows of a dense tensor; see `situs._src.ragged.making`."""
        from situs._src.ragged.making import from_tensor

        return from_tensor(tensor, lengths, padding, ragged_rank, as_dtype(row_splits_dtype))

    @classmethod
    def from_sparse(cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = dt.int64) -> RaggedTensor:
        """The rows of a sparse matrix, whose values stand at the beginning of each."""
        from situs._src.ragged.making import from_sparse

        return from_sparse(st_input)

    # What it is made of.

    @property
    def values(self) -> Any:
        """What is in the rows, one after the other: a tensor, or a ragged one."""
        return self._values

    @property
    def row_splits(self) -> Any:
        """Where the rows begin, and where the last one ends."""
        return self._row_splits

    @property
    def flat_values(self) -> Any:
        """The elements, without any rows."""
        inner = self._values
        while isinstance(inner, RaggedTensor):
            inner = inner.values
        return inner

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The splits of each level, the outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensor) else ()
        return (self._row_splits, *inner)

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._values.dtype  # type: ignore[no-any-return]

    @property
    def ragged_rank(self) -> int:
        """How many dimensions, after the first, have sizes that may differ."""
        return len(self.nested_row_splits)

    @property
    def shape(self) -> TensorShape:
        """The shape; None for the dimensions whose sizes differ."""
        count = self._row_splits.shape[0] if self._row_splits.shape.rank else None
        inner = self._values.shape
        if inner.rank is None:
            return TensorShape(None)
        return TensorShape([None if count is None else count - 1, self._uniform, *inner[1:]])

    def get_shape(self) -> TensorShape:
        """The same as ``shape``."""
        return self.shape

    @property
    def uniform_row_length(self) -> Any:
        """How long all rows are, as a tensor; None if that is not known."""
        return None if self._uniform is None else constant(self._uniform, self._row_splits.dtype)

    def nrows(self, out_type: Any = None, name: str | None = None) -> Any:
        """How many rows there are."""
        return cast(shape_of(self._row_splits, dt.int64)[0] - 1, out_type or self._row_splits.dtype)

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """How long the rows are; with `axis`, those further inside."""
        if axis == 0:
            return self.nrows()
        if axis == 1:
            return self._row_splits[1:] - self._row_splits[:-1]
        if not isinstance(self._values, RaggedTensor):
            size = shape_of(self._values, self._row_splits.dtype)[axis - 1]
            return self.with_values(fill([count_of(self._values)], size))
        return self.with_values(self._values.row_lengths(axis - 1))

    def nested_row_lengths(self, name: str | None = None) -> tuple[Any, ...]:
        """How long the rows of each level are."""
        return tuple(splits[1:] - splits[:-1] for splits in self.nested_row_splits)

    def row_starts(self, name: str | None = None) -> Any:
        """Where the rows begin."""
        return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Any:
        """Where the rows end."""
        return self._row_splits[1:]

    def value_rowids(self, name: str | None = None) -> Any:
        """The number of the row of each value."""
        return repeat(range_of(self.nrows()), self.row_lengths())

    def positions(self) -> Any:
        """Where each value stands in its row."""
        ids = self.value_rowids()
        return range_of(cast(count_of(self._values), ids.dtype)) - gather(self._row_splits, ids)

    def bounding_shape(self, axis: Any = None, name: str | None = None, out_type: Any = None) -> Any:
        """The smallest dense shape that holds all rows."""
        wanted = self._row_splits.dtype if out_type is None else as_dtype(out_type)
        longest = reduce_max(concat([self.row_lengths(), fill([1], cast(0, self._row_splits.dtype))], 0))
        if isinstance(self._values, RaggedTensor):
            inner = cast(self._values.bounding_shape(), wanted)[1:]
        else:
            inner = shape_of(self._values, wanted)[1:]
        sizes = concat([stack([cast(self.nrows(), wanted), cast(longest, wanted)]), inner], 0)
        return sizes if axis is None else gather(sizes, axis)

    def with_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of other values."""
        return RaggedTensor(as_values(new_values), self._row_splits, internal=True, uniform=self._uniform)

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """The same rows with other elements."""
        inner = self._values.with_flat_values(new_values) if isinstance(self._values, RaggedTensor) else new_values
        return self.with_values(inner)

    def with_row_splits_dtype(self, dtype: Any) -> RaggedTensor:
        """The same with splits of another dtype: int32 or int64."""
        wanted = as_dtype(dtype)
        if wanted not in (dt.int32, dt.int64):
            raise ArgumentError(f"Argument `row_splits` dtype must be int32 or int64, got {wanted.name}.")
        inner = self._values.with_row_splits_dtype(wanted) if isinstance(self._values, RaggedTensor) else self._values
        return RaggedTensor(inner, cast(self._row_splits, wanted), internal=True, uniform=self._uniform)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """The same elements with the dimensions from one to another as one."""
        from situs._src.ragged.rows import merged_dims

        return merged_dims(self, outer_axis, inner_axis)

    # As something else.

    def to_tensor(self, default_value: Any = None, name: str | None = None, shape: Any = None) -> Tensor:
        """The rows as a dense tensor, filled up to one length.

        Args:
            default_value: What short rows are filled up with; zero, or the empty string, by default.
            name: A name for the op.
            shape: The shape of the result: rows are filled up, or cut; None for sizes that are as large as needed.
        """
        if default_value is None:
            default_value = "" if self.dtype is dt.string else cast(0, self.dtype)
        return _dense(self, convert_to_tensor(default_value, self.dtype), _limits(shape))

    def to_sparse(self, name: str | None = None) -> Any:
        """The same as a sparse tensor."""
        from situs._src.ragged.making import to_sparse

        return to_sparse(self)

    def to_list(self) -> list[Any]:
        """The rows as nested lists."""
        splits = self._row_splits.numpy().tolist()
        inner = self._values.to_list() if isinstance(self._values, RaggedTensor) else self._values.numpy().tolist()
        return [inner[begin:end] for begin, end in pairwise(splits)]

    def numpy(self) -> Any:
        """The rows as an array of arrays; a plain array if they have one length."""
        values = self._values.numpy()
        rows = np.split(values, self._row_splits.numpy()[1:-1])[: int(self.nrows())]
        if not rows:
            return np.array([], values.dtype)
        if len({len(row) for row in rows}) == 1:
            return np.stack(rows)
        made = np.empty([len(rows)], dtype=object)
        for number, row in enumerate(rows):
            made[number] = row
        return made

    def __len__(self) -> int:
        return int(self.nrows())

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        return _item(self, key)

    def consumers(self) -> list[Any]:
        """The operations that take one of the tensors."""
        parts = [self.flat_values, *self.nested_row_splits]
        return list({node: None for part in parts for node in part.consumers()})

    @property
    def _type_spec(self) -> RaggedTensorSpec:
        return RaggedTensorSpec(self.shape, self.dtype, self.ragged_rank, self._row_splits.dtype)

    def __apply__(self, function: Callable[[Any], Any]) -> RaggedTensor:
        return self.with_flat_values(function(self.flat_values))

    def __mapped__(self, function: Callable[[Any], Any], signature: Any) -> Any:
        from situs._src.ragged.rows import mapped

        return mapped(self, function, signature)

    def __repr__(self) -> str:
        if isinstance(self.flat_values, EagerTensor):
            with np.printoptions(formatter={"all": _text}):
                return f"<tf.RaggedTensor {_text(self.numpy())}>"
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"

    __str__ = __repr__


def _text(value: Any) -> str:
    """Rows as text: NumPy's, with commas; where there are no elements, the empty rows."""
    if not isinstance(value, np.ndarray):
        return str(value)
    return np.array2string(value, separator=", ") if value.size else repr(value.tolist())


operators.install(RaggedTensor)
RaggedTensor.__getitem__ = lambda self, key: _item(self, key)  # type: ignore[method-assign]
RaggedTensor.__hash__ = object.__hash__  # type: ignore[method-assign]


def _item(rt: RaggedTensor, key: Any) -> Any:
    from situs._src.ragged.rows import item

    return item(rt, key)


# Values and splits.


def as_values(values: Any) -> Any:
    """What is in rows: a tensor of at least one dimension, or a ragged tensor."""
    if isinstance(values, RaggedTensor):
        return values
    given = convert_to_tensor(values)
    if given.shape.rank == 0:
        raise ArgumentError(f"The values of a ragged tensor have at least one dimension, got {shown(values)}.")
    return given


def as_integers(value: Any, what: str) -> Any:
    """Splits, lengths or numbers of rows: int32 or int64."""
    if isinstance(value, Tensor):
        if value.dtype not in (dt.int32, dt.int64):
            raise ArgumentError(f"Argument `{what}` dtype must be int32 or int64, got {value.dtype.name}.")
        if value.shape.rank == 0:
            raise ArgumentError(f"Argument `{what}` is a vector, got a scalar.")
        return value
    try:
        given = np.asarray(value)
    except (TypeError, ValueError, RecursionError):
        raise DTypeError(f"`{what}` has integers, got {shown(value)}.") from None
    if given.ndim != 1:
        raise DTypeError(f"`{what}` is a vector of integers, got {shown(value)}.")
    if given.dtype == np.int32 and isinstance(value, np.ndarray):
        return convert_to_tensor(given)
    if given.size and given.dtype.kind not in "iu":
        raise DTypeError(f"`{what}` has integers, got {shown(value)}.")
    return constant(given.astype(np.int64), dt.int64)


def once(value: Tensor, *checks: tuple[Any, str]) -> Tensor:
    """A tensor whose use waits for checks when the graph runs: each is a boolean, and what to say where it is false."""
    made = [Assert(holds, [words, value]) for holds, words in checks]
    with control_dependencies(flatten(made)):
        return identity(value)


def count_of(values: Any) -> Any:
    """How many values there are, int64."""
    return values.nrows(dt.int64) if isinstance(values, RaggedTensor) else shape_of(values, dt.int64)[0]


def splits_of(lengths: Any) -> Any:
    """Where rows of some lengths begin, and where the last one ends."""
    from situs._src.ops.cumulative import cumsum

    return concat([fill([1], cast(0, lengths.dtype)), cumsum(lengths)], 0)


def _limits(shape: Any) -> list[int | None]:
    if shape is None:
        return []
    known = TensorShape(shape)
    return [] if known.rank is None else known.as_list()


def _dense(rt: RaggedTensor, default: Any, limits: list[int | None]) -> Tensor:
    wanted_rows, wanted_length = (*limits, None, None)[:2]
    inner = rt.values
    if isinstance(inner, RaggedTensor):
        inner = _dense(inner, default, [None, *limits[2:]] if limits else [])
    ids, places = rt.value_rowids(), rt.positions()
    rows = rt.nrows() if wanted_rows is None else cast(wanted_rows, ids.dtype)
    longest = reduce_max(concat([rt.row_lengths(), fill([1], cast(0, ids.dtype))], 0))
    length = longest if wanted_length is None else cast(wanted_length, ids.dtype)
    if limits:
        from situs._src.ops.compare import less, logical_and
        from situs._src.ops.gather import boolean_mask

        kept = logical_and(less(places, length), less(ids, rows))
        ids, places, inner = boolean_mask(ids, kept), boolean_mask(places, kept), boolean_mask(inner, kept)
    sizes = concat([stack([rows, length]), cast(shape_of(inner)[1:], ids.dtype)], 0)
    made = tensor_scatter_nd_update(fill(sizes, default), stack([ids, places], 1), inner)
    known = TensorShape([wanted_rows if wanted_rows is not None else rt.shape[0], wanted_length]).concatenate(
        TensorShape([*inner.shape[1:]]) if inner.shape.rank else TensorShape(None)
    )
    if not isinstance(made, EagerTensor):
        made.set_shape(known)  # type: ignore[attr-defined]
    return made


@export("RaggedTensorSpec")
class RaggedTensorSpec(TypeSpec):
    """Describes a `RaggedTensor`.

    Args:
        shape: The shape; None for the dimensions whose sizes differ.
        dtype: The dtype of the elements.
        ragged_rank: How many dimensions after the first have sizes that may differ; all but the last by default.
        row_splits_dtype: int32 or int64.
        flat_values_spec: Accepted for TensorFlow's programs.

    Example:
        >>> RaggedTensorSpec([None, None], "int32")
        RaggedTensorSpec(TensorShape([None, None]), tf.int32, 1, tf.int64)
    """

    __slots__ = ("_dtype", "_ragged_rank", "_row_splits_dtype", "_shape")
    value_type = RaggedTensor

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = dt.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: Any = dt.int64,
        flat_values_spec: Any = None,
    ) -> None:
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self._row_splits_dtype = as_dtype(row_splits_dtype)
        rank = self._shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ArgumentError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        if not isinstance(ragged_rank, int) or isinstance(ragged_rank, bool):
            raise DTypeError(f"`ragged_rank` must be an int, got {shown(ragged_rank)}.")
        if ragged_rank < 0 or (rank is not None and ragged_rank >= rank):
            raise ArgumentError(
                f"ragged_rank ({ragged_rank}) is not negative, and less than the rank of the shape {self._shape}."
            )
        self._ragged_rank = ragged_rank

    def __mapped__(self, function: Callable[[Any], Any], elems: Any) -> RaggedTensor:
        from situs._src.ragged.rows import rows_of_results

        return rows_of_results(function, elems, self)

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is fixed."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def ragged_rank(self) -> int:
        """How many dimensions after the first have sizes that may differ."""
        return self._ragged_rank

    @property
    def row_splits_dtype(self) -> DType:
        """The dtype of the splits."""
        return self._row_splits_dtype

    @classmethod
    def from_value(cls, value: Any) -> RaggedTensorSpec:
        """The kind of a ragged tensor."""
        if not isinstance(value, RaggedTensor):
            raise DTypeError(f"Expected a RaggedTensor, got {shown(value)}.")
        return value._type_spec

    @property
    def _component_specs(self) -> tuple[TensorSpec, ...]:
        inner = TensorShape(None)
        if self._shape.rank is not None:
            inner = TensorShape([None, *self._shape[self._ragged_rank + 1 :]])
        if self._ragged_rank == 0:
            return (TensorSpec(self._shape, self._dtype),)
        count = self._shape[0] if self._shape.rank else None
        splits = [TensorSpec([None if count is None else count + 1], self._row_splits_dtype)]
        splits += [TensorSpec([None], self._row_splits_dtype)] * (self._ragged_rank - 1)
        return TensorSpec(inner, self._dtype), *splits

    def _to_components(self, value: Any) -> tuple[Any, ...]:
        return (value.flat_values, *value.nested_row_splits) if self._ragged_rank else (value,)

    def _from_components(self, components: Any) -> Any:
        values, *splits = components
        if all(isinstance(part, (np.ndarray, np.generic)) for part in components):
            for each in reversed(splits):
                values = RaggedTensorValue(values, each)
            return values
        for level, each in reversed(list(enumerate(splits, start=1))):
            known = self._shape[level] if self._shape.rank is not None else None
            values = RaggedTensor(values, each, internal=True, uniform=known)
        return values

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype

    # In datasets.

    def _unbatch(self) -> RaggedTensorSpec:
        """The kind of one row: with a ragged rank of 0 it is a tensor, whose length may be another one each time."""
        if self._ragged_rank == 0:
            raise ArgumentError(f"The rows of {self!r} cannot be taken apart any further.")
        return RaggedTensorSpec(self._shape[1:], self._dtype, self._ragged_rank - 1, self._row_splits_dtype)

    def _batch(self, size: int | None) -> RaggedTensorSpec:
        """The kind of rows joined."""
        shape = TensorShape([size]).concatenate(self._shape)
        return RaggedTensorSpec(shape, self._dtype, self._ragged_rank + 1, self._row_splits_dtype)

    def _unstacked(self, values: Any) -> list[Any]:
        """The rows of one, on the host."""
        flat, outer, *inner = values
        splits = outer.tolist()
        rows = []
        for begin, end in pairwise(splits):
            parts = []
            for each in inner:
                part = each[begin : end + 1]
                begin, end = int(part[0]), int(part[-1])
                parts.append(part - begin)
            rows.append((flat[begin:end], *parts))
        return rows

    def _stacked(self, rows: Any) -> list[Any]:
        """Rows joined, on the host."""
        dtype = torch.int32 if self._row_splits_dtype is dt.int32 else torch.int64
        flat = [row[0] for row in rows]
        joined = np.concatenate(flat) if isinstance(flat[0], np.ndarray) else torch.cat(flat)
        levels = [[row[1 + level] for row in rows] for level in range(self._ragged_rank)]
        counts = [len(row[1]) - 1 if self._ragged_rank else len(row[0]) for row in rows]
        splits = [torch.tensor([0, *np.cumsum(counts).tolist()], dtype=dtype)]
        for level in levels:
            parts, offset = [torch.zeros(1, dtype=dtype)], 0
            for part in level:
                parts.append(part[1:] + offset)
                offset += int(part[-1])
            splits.append(torch.cat(parts))
        return [joined, *splits]


name_spec("tf.RaggedTensorSpec", RaggedTensorSpec)
