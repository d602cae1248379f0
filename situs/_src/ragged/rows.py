"""Rows of ragged tensors: by index, sliced, concatenated, with dimensions merged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError, OutOfRangeError, UnimplementedError, shown
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.tree import flatten, pack_like
from situs._src.ops.array import reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_int
from situs._src.ops.cast import cast
from situs._src.ops.compare import less
from situs._src.ops.constant import constant, convert_to_tensor, fill
from situs._src.ops.constant import range as range_of
from situs._src.ops.gather import gather, where
from situs._src.ops.join import concat, repeat
from situs._src.ops.loop import while_loop
from situs._src.ops.math import maximum, minimum
from situs._src.ops.tensor_array import TensorArray
from situs._src.ragged.tensor import RaggedTensor, RaggedTensorSpec, count_of, splits_of
from situs._src.runtime.eager.tensor import EagerTensor

_ALL = slice(None)


def gathered(rt: RaggedTensor, numbers: Any) -> RaggedTensor:
    """The rows of some numbers, which are a vector."""
    chosen = cast(convert_to_tensor(numbers), rt.row_splits.dtype)
    lengths = gather(rt.row_lengths(), chosen)
    return _cut(rt, gather(rt.row_starts(), chosen), lengths)


def _cut(rt: RaggedTensor, starts: Any, lengths: Any) -> RaggedTensor:
    """Rows that begin at some values, and have some lengths."""
    splits = splits_of(lengths)
    rows = shape_of(lengths, splits.dtype)[0]
    ids = repeat(range_of(rows), lengths)
    places = range_of(splits[-1]) - gather(splits, ids) + gather(starts, ids)
    inner = gathered(rt.values, places) if isinstance(rt.values, RaggedTensor) else gather(rt.values, places)
    return RaggedTensor(inner, splits, internal=True)


def item(rt: RaggedTensor, key: Any) -> Any:
    """What ``rt[key]`` is.

    Raises:
        IndexError: there is no such row.
        UnimplementedError: the key has what ragged tensors do not know.
    """
    keys = list(key) if isinstance(key, tuple) else [key]
    if Ellipsis in [each for each in keys if not isinstance(each, Tensor)]:
        place = next(number for number, each in enumerate(keys) if each is Ellipsis)
        rank = rt.shape.rank
        if rank is None:
            raise UnimplementedError("An ellipsis needs a ragged tensor of known rank.")
        keys[place : place + 1] = [_ALL] * max(rank - len(keys) + 1, 0)
    if not keys:
        return rt
    first, *rest = keys
    if first is None:
        from situs._src.ops.array import expand_dims

        whole: Any = rt
        made: Any = expand_dims(whole, 0)
        return made[(_ALL, *rest)] if rest else made
    if isinstance(first, slice):
        made = rt if first == _ALL else gathered(rt, _numbers(first, rt.nrows()))
        return _inside(made, rest) if rest else made
    row = _row(rt, first)
    return row[tuple(rest)] if rest else row


def _row(rt: RaggedTensor, number: Any) -> Any:
    """One row: a tensor, or a ragged one."""
    if not isinstance(number, Tensor):
        number = as_int(number, "The number of a row")
    count = rt.nrows()
    if isinstance(count, EagerTensor) and not (isinstance(number, Tensor) and not isinstance(number, EagerTensor)):
        size, wanted = int(count), int(number)
        if not -size <= wanted < size:
            raise OutOfRangeError(f"slice index {wanted} of dimension 0 out of bounds: there are {size} rows.")
    place = cast(convert_to_tensor(number), rt.row_splits.dtype)
    place = where(less(place, 0), place + count, place)
    begin, end = gather(rt.row_splits, place), gather(rt.row_splits, place + 1)
    return rt.values[begin:end]


def _numbers(part: slice, count: Any) -> Any:
    """The numbers that a slice of so many things names."""
    step = 1 if part.step is None else as_int(part.step, "The step of a slice")
    if step == 0:
        raise ArgumentError("slice step cannot be zero")
    first, last = _bounds(part, count, step)
    return range_of(first, last, cast(step, count.dtype))


def _bounds(part: slice, count: Any, step: int) -> tuple[Any, Any]:
    """Where a slice begins and ends, as Python counts."""
    zero, one = cast(0, count.dtype), cast(1, count.dtype)
    low, high = (zero, count) if step > 0 else (-one, count - one)

    def at(value: Any, default: Any) -> Any:
        if value is None:
            return default
        place = cast(convert_to_tensor(value), count.dtype)
        return minimum(maximum(where(less(place, 0), place + count, place), low), high)

    return at(part.start, low if step > 0 else high), at(part.stop, high if step > 0 else low)


def _inside(rt: RaggedTensor, keys: list[Any]) -> Any:
    """The same rows, of which only a part is taken."""
    first, *rest = keys
    if first is None:
        from situs._src.ops.array import expand_dims

        whole: Any = rt
        made: Any = expand_dims(whole, 1)
        return _inside(made, [_ALL, *rest]) if rest else made
    if isinstance(first, slice):
        step = 1 if first.step is None else as_int(first.step, "The step of a slice")
        if step != 1:
            raise UnimplementedError(f"The rows of a ragged tensor are sliced with the step 1, got {step}.")
        made = rt
        if first != _ALL:
            lengths = rt.row_lengths()
            begin, end = _bounds(first, lengths, 1)
            made = _cut(rt, rt.row_starts() + begin, maximum(end - begin, cast(0, lengths.dtype)))
        if not rest:
            return made
        inner = made.values
        part = _inside(inner, rest) if isinstance(inner, RaggedTensor) else inner[(_ALL, *rest)]
        return made.with_values(part)
    number = cast(convert_to_tensor(first), rt.row_splits.dtype)
    lengths = rt.row_lengths()
    places = where(less(number, 0), lengths + number, fill(shape_of(lengths), number))
    if isinstance(places, EagerTensor):
        wrong = (places.numpy() < 0) | (places.numpy() >= lengths.numpy())
        if wrong.any():
            raise ArgumentError(
                f"slice index {shown(first)} is out of bounds: a row has the length {lengths.numpy()[wrong][0]}."
            )
    places = places + rt.row_starts()
    found = gathered(rt.values, places) if isinstance(rt.values, RaggedTensor) else gather(rt.values, places)
    return found[(_ALL, *rest)] if rest else found


def joined(values: list[Any], axis: int) -> Any:
    """Ragged tensors, one behind the other along a dimension."""
    rows = [as_ragged(value) for value in values]
    rank = rows[0].shape.rank
    number = axis + rank if axis < 0 and rank is not None else axis
    if number < 0 or (rank is not None and number >= rank):
        raise ArgumentError(f"axis {axis} is out of range for ragged tensors of {rank} dimensions.")
    if number == 0:
        return _one_after_another(rows)
    if number == 1:
        whole = _one_after_another(rows)
        counts = [each.nrows() for each in rows]
        order = reshape(
            convert_to_tensor(
                [range_of(counts[0]) + sum(counts[:place], cast(0, counts[0].dtype)) for place in range(len(rows))]
            ),
            [len(rows), -1],
        )
        from situs._src.ops.array import transpose

        mixed = gathered(whole, reshape(transpose(order), [-1]))
        lengths = sum((each.row_lengths() for each in rows[1:]), rows[0].row_lengths())
        return RaggedTensor(mixed.values, splits_of(lengths), internal=True)
    inner = [each.values for each in rows]
    made = (
        joined(inner, number - 1)
        if any(isinstance(each, RaggedTensor) for each in inner)
        else concat(inner, number - 1)
    )
    return rows[0].with_values(made)


def _one_after_another(rows: list[RaggedTensor]) -> RaggedTensor:
    inner = [each.values for each in rows]
    ragged = any(isinstance(each, RaggedTensor) for each in inner)
    values = _one_after_another([as_ragged(each) for each in inner]) if ragged else concat(inner, 0)
    splits, offset = [rows[0].row_splits[:1]], cast(0, rows[0].row_splits.dtype)
    for each in rows:
        splits.append(each.row_splits[1:] + offset)
        offset = offset + each.row_splits[-1]
    return RaggedTensor(values, concat(splits, 0), internal=True)


def as_ragged(value: Any) -> RaggedTensor:
    """A ragged tensor, or the rows of a dense one."""
    return value if isinstance(value, RaggedTensor) else RaggedTensor.from_tensor(value)


def expanded(rt: RaggedTensor, axis: int) -> RaggedTensor:
    """The same rows with one more dimension of size 1."""
    rank = rt.shape.rank
    if axis < 0:
        if rank is None:
            raise ArgumentError("A negative axis needs a ragged tensor of known rank.")
        axis += rank + 1
    if axis < 0 or (rank is not None and axis > rank):
        raise ArgumentError(f"axis {axis} is out of range for a ragged tensor of {rank} dimensions.")
    if axis == 0:
        ends = concat([fill([1], cast(0, rt.row_splits.dtype)), reshape(rt.nrows(), [1])], 0)
        return RaggedTensor(rt, ends, internal=True, uniform=rt.shape[0] if rank is not None else None)
    if axis == 1:
        return RaggedTensor(rt, range_of(rt.nrows() + 1), internal=True, uniform=1)
    if isinstance(rt.values, RaggedTensor):
        return rt.with_values(expanded(rt.values, axis - 1))
    from situs._src.ops.array import expand_dims

    return rt.with_values(expand_dims(rt.values, axis - 1))


def merged_dims(rt: RaggedTensor, outer_axis: int, inner_axis: int) -> Any:
    """The same elements with the dimensions from one to another as one.

    Raises:
        ValueError: there are no such dimensions.
    """
    rank = rt.shape.rank
    outer, inner = as_int(outer_axis, "outer_axis"), as_int(inner_axis, "inner_axis")
    if rank is not None:
        outer, inner = (each + rank if each < 0 else each for each in (outer, inner))
    if not 0 <= outer <= inner or (rank is not None and inner >= rank):
        raise ArgumentError(
            f"Expected outer_axis ({outer_axis}) to be at most inner_axis ({inner_axis}) of {rank} dimensions."
        )
    if outer == inner:
        return rt
    if outer > 0:
        values = rt.values
        if isinstance(values, RaggedTensor):
            made = merged_dims(values, outer - 1, inner - 1) if outer > 1 else values
            if outer > 1:
                return rt.with_values(made)
            for _ in range(inner - outer):
                rt = _without_inner(rt)
            return rt
        return _flattened(rt, outer, inner)
    found: Any = rt
    for _ in range(inner):
        found = found.values if isinstance(found, RaggedTensor) else _merged_dense(found)
    return found


def _without_inner(rt: RaggedTensor) -> RaggedTensor:
    """Rows of rows as longer rows."""
    values = rt.values
    if isinstance(values, RaggedTensor):
        return RaggedTensor(values.values, gather(values.row_splits, rt.row_splits), internal=True)
    width = shape_of(values, rt.row_splits.dtype)[1]
    return RaggedTensor(_merged_dense(values), rt.row_splits * width, internal=True)


def _flattened(rt: RaggedTensor, outer: int, inner: int) -> RaggedTensor:
    if outer == 1:
        for _ in range(inner - outer):
            rt = _without_inner(rt)
        return rt
    sizes = shape_of(rt.values)
    kept = concat([sizes[: outer - 1], [-1], sizes[inner:]], 0)
    return rt.with_values(reshape(rt.values, kept))


def _merged_dense(values: Any) -> Any:
    sizes = shape_of(values)
    return reshape(values, concat([[-1], sizes[2:]], 0))


def count_all(rt: RaggedTensor) -> Any:
    """How many elements there are, int64."""
    flat = rt.flat_values
    return cast(count_of(flat), dt.int64) * (1 if flat.shape.rank == 1 else _inner_size(flat))


def _inner_size(flat: Any) -> Any:
    from situs._src.ops.reduce import reduce_prod

    return reduce_prod(shape_of(flat, dt.int64)[1:])


def mapped(rt: RaggedTensor, function: Callable[[Any], Any], signature: Any) -> Any:
    """What a function makes of each row, stacked.

    Args:
        rt: The rows.
        function: The function.
        signature: The dtype or spec of what it returns; by default the same kind of rows.
    """
    from situs._src.ops.functional import map_fn
    from situs._src.ops.join import stack as stack_dense
    from situs._src.ragged.dispatch import stack

    if here.graph is not None or not isinstance(rt.row_splits, EagerTensor):
        if signature is None:
            return rows_of_results(function, rt, RaggedTensorSpec(rt.shape[1:], rt.dtype, rt.ragged_rank - 1))
        return map_fn(lambda number: function(rt[number]), range_of(rt.nrows()), fn_output_signature=signature)
    results = [function(row) for row in rt]
    if not results:
        dtype = rt.dtype if signature is None else getattr(signature, "dtype", signature)
        none = fill([0], "" if dtype is dt.string else cast(0, dtype))
        return RaggedTensor.from_row_splits(none, [0]) if signature is None else none
    return stack(results) if signature is None else stack_dense(results)


def rows_of_results(function: Callable[[Any], Any], elems: Any, spec: RaggedTensorSpec) -> RaggedTensor:
    """What a function makes of each row of some elements, as rows of their own lengths.

    Args:
        function: The function.
        elems: Tensors in any structure, ragged or not, which have as many rows.
        spec: What the function returns.
    """
    if spec.ragged_rank:
        raise UnimplementedError(f"A function that map_fn calls returns tensors, or one row of values, not {spec!r}.")
    parts = [part if isinstance(part, RaggedTensor) else convert_to_tensor(part) for part in flatten(elems)]
    count = cast(count_of(parts[0]), dt.int32)
    inner = spec.shape[1:] if spec.shape.rank else TensorShape(None)
    values = TensorArray(spec.dtype, count, infer_shape=False, element_shape=TensorShape([None]).concatenate(inner))
    lengths = TensorArray(spec.row_splits_dtype, count, element_shape=[])

    def step(number: Any, values: TensorArray, lengths: TensorArray) -> tuple[Any, TensorArray, TensorArray]:
        made = convert_to_tensor(function(pack_like(elems, [part[number] for part in parts])), spec.dtype)
        length = shape_of(made, spec.row_splits_dtype)[0]
        return number + 1, values.write(number, made), lengths.write(number, length)

    _, values, lengths = while_loop(lambda number, *_: number < count, step, (constant(0), values, lengths))
    return RaggedTensor(values.concat(), splits_of(lengths.stack()), internal=True)
