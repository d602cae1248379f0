"""Ops on ragged tensors.

elementwise            the elements change, the rows stay: ``rt + 1``, ``tf.strings.lower(rt)``
reductions             along the rows, or across them
joining and choosing   ``tf.concat``, ``tf.stack``, ``tf.expand_dims``, ``tf.gather``

Other ops reject a ragged tensor with an explanation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError, InvalidArgumentError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, read
from situs._src.base.tree import flatten
from situs._src.ir.graph.context import control_dependencies
from situs._src.ir.registry.op import Op, find_op
from situs._src.ir.registry.traits import EACH_VALUE, ELEMENTWISE
from situs._src.ops.array import broadcast_to, identity, reshape, squeeze, stop_gradient
from situs._src.ops.array import shape as shape_of
from situs._src.ops.array import size as size_of
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal, logical_and
from situs._src.ops.constant import convert_to_tensor, fill, zeros_like
from situs._src.ops.constant import range as range_of
from situs._src.ops.count import bincount_flat
from situs._src.ops.cumulative import (
    cumsum,
    unsorted_segment_max,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sum,
)
from situs._src.ops.debug import assert_equal
from situs._src.ops.gather import gather, gather_nd, where
from situs._src.ops.join import concat, tile
from situs._src.ops.join import stack as pack
from situs._src.ops.math import exp, is_finite, log, maximum, minimum
from situs._src.ops.nn.activation import softmax
from situs._src.ops.rearrange import reverse
from situs._src.ops.reduce import reduce_all, reduce_max, reduce_sum
from situs._src.ops.scatter import dynamic_partition
from situs._src.ops.static_value import get_static_value
from situs._src.ops.strings import reduce_join, unsorted_segment_join
from situs._src.ragged.gathering import gather_rows
from situs._src.ragged.rows import expanded, gathered, joined
from situs._src.ragged.shape import DynamicRaggedShape
from situs._src.ragged.tensor import RaggedTensor, once, splits_of
from situs._src.runtime.dispatch import on_composite
from situs._src.runtime.eager.tensor import EagerTensor


def _run(op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], name: str | None) -> Any:
    """Runs an op of which one input is ragged."""
    if op.name in _SPECIAL:
        return _SPECIAL[op.name](inputs, attrs)
    if op.name == "OneHot" and attrs.get("axis", -1) != -1:
        raise ArgumentError("The new dimension of a ragged tensor is the last one: axis=-1.")
    if op.name in _BY_VALUE or not op.traits.isdisjoint((ELEMENTWISE, EACH_VALUE)):
        return _each(op, inputs, attrs, name)
    raise DTypeError(
        f"{op.name} takes no RaggedTensor. Use its values, a function of tf.ragged, or rt.to_tensor(): {shown(inputs)}"
    )


_BY_VALUE = frozenset({"AddN", "CheckNumerics", "Gelu", "Real"})  # elements in, elements out, as in ``tf.add``

on_composite[RaggedTensor] = _run


# Element by element.


def _each(op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], name: str | None) -> Any:
    given = [
        [_given(item, inputs) for item in value] if _lists_tensors(value) else _given(value, inputs) for value in inputs
    ]
    alone = [item for value in given for item in (value if isinstance(value, list) else [value])]
    rank = max([item.shape.rank or 0 for item in alone if isinstance(item, (RaggedTensor, Tensor))])
    rows = next((_first_size(item) for item in alone if _first_size(item) != 1 and _rank(item) == rank), 1)
    given = [
        [_grown(item, rank, rows) for item in value] if isinstance(value, list) else _grown(value, rank, rows)
        for value in given
    ]
    ragged = [item for item in flatten(given) if isinstance(item, RaggedTensor)]
    like = max(ragged, key=lambda each: each.ragged_rank)  # the result has its rows
    args = [
        [flat_for(item, like) for item in value] if isinstance(value, list) else flat_for(value, like)
        for value in given
    ]
    return like.with_flat_values(op(*args, name=name, **attrs))


def _lists_tensors(value: object) -> bool:
    """Whether an input is a list of tensors, not one tensor that is written as a list."""
    return isinstance(value, list) and any(isinstance(item, RaggedTensor) for item in value)


def _rank(value: Any) -> int | None:
    return value.shape.rank if isinstance(value, (RaggedTensor, Tensor)) else 0


def _first_size(value: Any) -> int | None:
    return value.shape[0] if _rank(value) else 1


def _grown(value: Any, rank: int, rows: int | None) -> Any:
    """A ragged tensor with so many dimensions; its one row is repeated if others have more."""
    if not isinstance(value, RaggedTensor) or value.shape.rank is None:
        return value
    while value.shape.rank < rank:
        value = expanded(value, 0)
    if value.shape[0] == 1 and rows not in (1, None):
        value = gathered(value, fill([rows], cast(0, value.row_splits.dtype)))
    return value


def _given(value: Any, inputs: tuple[Any, ...]) -> Any:
    """An input as a tensor, unless it is a number of the program's, which goes with everything."""
    value = read(value)
    if isinstance(value, (RaggedTensor, Tensor)) or np.isscalar(value) or value is None:
        return value
    made = convert_to_tensor(value)
    dtype = next(each.dtype for each in flatten(list(inputs)) if isinstance(each, RaggedTensor))
    weak = isinstance(value, (list, tuple)) and not made.dtype.is_bool and made.dtype is not dtype
    return convert_to_tensor(value, dtype) if weak else made


def flat_for(value: Any, like: RaggedTensor) -> Any:
    """A value as elements that go with those of a ragged tensor: what has size 1 in a dimension is repeated along it.

    Raises:
        InvalidArgumentError: its rows are others.
    """
    if isinstance(value, RaggedTensor):
        outer = value.ragged_rank
        if outer == like.ragged_rank:
            return _of_the_same_rows(value, like)
        if value.shape.rank != like.shape.rank:
            raise ArgumentError(f"The rows of {shown(value)} and {shown(like)} differ in how deep they are nested.")
        flat: Any = _of_the_same_rows(value, like, outer)
    else:
        outer, flat = 0, value
        inner = (like.flat_values.shape.rank or 1) - 1
        if not isinstance(value, Tensor) or value.shape.rank is None or value.shape.rank <= inner:
            return value
        missing = (like.shape.rank or value.shape.rank) - value.shape.rank
        flat = reshape(value, concat([fill([missing], 1), shape_of(value)], 0)) if missing else value
    levels, positions = _places(like)
    lengths = [like.nrows(), *like.nested_row_lengths()]
    columns = [levels[outer] if outer else _along_size(levels[0], flat, 0, lengths[0], like)]
    for number, position in enumerate(positions[outer:], 1):
        columns.append(_along_size(position, flat, number, lengths[outer + number], like))
    return gather_nd(flat, pack(columns, 1))


def _along_size(position: Any, flat: Any, axis: int, lengths: Any, like: RaggedTensor) -> Any:
    """Where elements stand along a dimension of a dense tensor, whose size is 1 or the length of all rows."""
    size = flat.shape[axis]
    if size == 1:
        return zeros_like(position)
    dynamic = cast(shape_of(flat)[axis], position.dtype)
    if size is None:
        return minimum(position, dynamic - 1)
    said = f"Inputs have incompatible shapes: a dimension of size {size} and the rows of {like.shape}."
    with control_dependencies([assert_equal(cast(lengths, position.dtype), dynamic, message=said)]):
        return identity(position)


def _places(rt: RaggedTensor) -> tuple[list[Any], list[Any]]:
    """Of each innermost element the number of its row, at each level; and its position in the rows of each level."""
    ids, positions = rt.value_rowids(), rt.positions()
    if not isinstance(rt.values, RaggedTensor):
        return [ids], [positions]
    levels, inner = _places(rt.values)
    return [gather(ids, levels[0]), *levels], [gather(positions, levels[0]), *inner]


def _of_the_same_rows(one: RaggedTensor, other: RaggedTensor, levels: int | None = None) -> Tensor:
    """The innermost values of a ragged tensor that has the rows of another, at the first levels or at all.

    Raises:
        InvalidArgumentError: it has not, which in a graph is found when this runs.
    """
    if levels is None and one.ragged_rank != other.ragged_rank:
        raise ArgumentError(f"The rows of {shown(one)} and {shown(other)} differ in how deep they are nested.")
    values: Tensor = one.flat_values
    for mine, theirs in zip(one.nested_row_splits[:levels], other.nested_row_splits[:levels], strict=True):
        if mine is theirs:
            continue
        if not isinstance(mine, EagerTensor) or not isinstance(theirs, EagerTensor):
            mine, theirs = cast(mine, dt.int64), cast(theirs, dt.int64)
            one_size = equal(size_of(mine), size_of(theirs))
            count = minimum(size_of(mine), size_of(theirs))
            same = logical_and(one_size, reduce_all(equal(mine[:count], theirs[:count])))
            values = once(values, (same, "Inputs have incompatible shapes: the rows have other lengths. The values:"))
        elif mine.numpy().tolist() != theirs.numpy().tolist():
            raise InvalidArgumentError(
                f"Inputs have incompatible shapes: the rows of {shown(one)} and {shown(other)} have other lengths."
            )
    return values


@export("ragged.map_flat_values")
def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function with the elements of ragged tensors in their places; the result has their rows.

    Args:
        op: The function.
        *args: Its arguments.
        **kwargs: More arguments.

    Raises:
        ValueError: the ragged tensors have other rows.

    Example:
        >>> import situs as tf
        >>> tf.ragged.map_flat_values(tf.square, tf.ragged.constant([[1, 2], [3]])).to_list()
        [[1, 4], [9]]
    """
    found: list[RaggedTensor] = []

    def values(value: Any) -> Any:
        if isinstance(value, RaggedTensor):
            found.append(value)
            return _of_the_same_rows(value, found[0])
        return [values(item) for item in value] if isinstance(value, list) else value

    if not callable(op):
        raise DTypeError(f"`op` is a function, got {shown(op)}.")
    given, named = [values(arg) for arg in args], {name: values(arg) for name, arg in kwargs.items()}
    made = op(*given, **named)
    return found[0].with_flat_values(made) if found else made


# Reductions.

_SEGMENTS: dict[str, Callable[..., Any]] = {
    "Sum": unsorted_segment_sum,
    "Prod": unsorted_segment_prod,
    "Max": unsorted_segment_max,
    "Min": unsorted_segment_min,
}


def _reducer(kind: str) -> Callable[..., Any]:
    def run(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        rt, axis = inputs[0], inputs[1] if len(inputs) > 1 else None
        if kind == "Mean":  # not the mean of means: rows that are longer weigh more
            ones = rt.with_flat_values(fill(shape_of(rt.flat_values), cast(1, rt.dtype)))
            return sums((rt, *inputs[1:]), attrs) / sums((ones, *inputs[1:]), attrs)
        keep = bool(attrs.get("keep_dims") or (len(inputs) > 2 and inputs[2]))
        rank = rt.shape.rank
        axes = _axes(rt, axis)
        if not keep and (axis is None or isinstance(axis, str) or (rank is not None and len(axes) == rank)):
            return _whole(kind, rt.flat_values)
        made = rt
        for each in axes:
            made = _along(kind, made, each)
            made = _expand(made, each) if keep else made
        return made

    sums = _reducer("Sum") if kind == "Mean" else run
    return run


def _axes(rt: RaggedTensor, axis: Any) -> list[int]:
    """The dimensions that an axis names, the innermost first."""
    rank = rt.shape.rank
    if axis is None or isinstance(axis, str):  # EVERY_AXIS
        return list(reversed(range(rank or 0)))
    known = axis if isinstance(axis, (int, list, tuple)) else get_static_value(axis)
    if known is None:
        raise ArgumentError(f"The axes to reduce a ragged tensor along are known numbers, got {shown(axis)}.")
    given = np.reshape(known, [-1]).tolist()
    axes = sorted({each + rank if each < 0 and rank is not None else each for each in given}, reverse=True)
    if any(each < 0 or (rank is not None and each >= rank) for each in axes):
        raise ArgumentError(f"Invalid reduction dimension of {shown(axis)} for a ragged tensor of {rank} dimensions.")
    return axes


def _expand(value: Any, axis: int) -> Any:
    from situs._src.ops.array import expand_dims

    return expand_dims(value, axis)


def _whole(kind: str, values: Any) -> Any:
    from situs._src.ops import reduce

    names = {"All": "reduce_all", "Any": "reduce_any"}
    return getattr(reduce, names.get(kind, f"reduce_{kind.lower()}"))(values)


def _along(kind: str, value: Any, axis: int) -> Any:
    if not isinstance(value, RaggedTensor):
        from situs._src.ops import reduce

        return getattr(reduce, f"reduce_{kind.lower()}")(value, axis)
    if axis > 1:
        return value.with_values(_along(kind, value.values, axis - 1))
    if kind in ("All", "Any"):
        number = value.with_flat_values(cast(value.flat_values, dt.int32))
        return cast(_along("Min" if kind == "All" else "Max", number, axis) > 0, dt.bool)
    return _across(_SEGMENTS[kind], value, axis)


def _across(function: Callable[..., Any], value: RaggedTensor, axis: int) -> Any:
    """Values put together along the rows of the outermost dimension, or across them."""
    if axis == 1:
        return _in_segments(function, value.values, value.value_rowids(), value.nrows())
    longest = reduce_max(concat([value.row_lengths(), fill([1], cast(0, value.row_splits.dtype))], 0))
    return _in_segments(function, value.values, value.positions(), longest)


def _in_segments(function: Callable[..., Any], values: Any, ids: Any, count: Any) -> Any:
    """Values of one number put together; where these are rows, value by value."""
    if not isinstance(values, RaggedTensor):
        return function(values, ids, count)
    lengths = values.row_lengths()
    sizes = maximum(unsorted_segment_max(lengths, ids, count), cast(0, lengths.dtype))
    splits = splits_of(sizes)
    slots = gather(splits, gather(ids, values.value_rowids())) + values.positions()
    return RaggedTensor(_in_segments(function, values.values, slots, splits[-1]), splits, internal=True)


def _reduce_join(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    rt, axis = inputs
    separator, keep = attrs.get("separator", ""), bool(attrs.get("keep_dims"))
    if axis is None or isinstance(axis, str):  # EVERY_AXIS
        return reduce_join(rt.flat_values, None, keep, separator)
    made = rt
    for each in _axes(rt, axis):
        made = _joined_along(made, each, separator)
        made = _expand(made, each) if keep else made
    return made


def _joined_along(value: Any, axis: int, separator: str) -> Any:
    if not isinstance(value, RaggedTensor):
        return reduce_join(value, axis, separator=separator)
    if axis > 1:
        return value.with_values(_joined_along(value.values, axis - 1, separator))
    return _across(partial(unsorted_segment_join, separator=separator), value, axis)


def _softmax(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    rt, axis = inputs[0], attrs.get("axis", -1)
    if axis not in (-1, (rt.shape.rank or 0) - 1):
        raise ArgumentError(f"The softmax of a ragged tensor is along its last dimension, got axis={axis}.")
    if isinstance(rt.values, RaggedTensor):
        return rt.with_values(_softmax((rt.values,), {}))
    if rt.values.shape.rank != 1:
        return rt.with_values(softmax(rt.values))
    ids, count = rt.value_rowids(), rt.nrows()
    powers = exp(rt.values - gather(unsorted_segment_max(rt.values, ids, count), ids))
    return rt.with_values(powers / gather(unsorted_segment_sum(powers, ids, count), ids))


# Joining and choosing.


def _concat(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    values, axis = inputs
    return joined(list(values), int(axis))


def _pack(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    axis = int(attrs.get("axis", 0))
    return joined([_expand(value, axis) for value in inputs[0]], axis)


def _expand_dims(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    return expanded(inputs[0], int(inputs[1]))


def _gather(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    params, indices, *rest = inputs
    return gather_rows(params, indices, int(rest[0]) if rest else None, int(attrs.get("batch_dims", 0)))


def _size(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    from situs._src.ragged.rows import count_all

    return cast(count_all(inputs[0]), attrs.get("out_type", dt.int32))


def _shape(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> DynamicRaggedShape:
    return DynamicRaggedShape.from_tensor(inputs[0], attrs.get("out_type", dt.int32))


def _tile(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    made, counts = inputs[0], get_static_value(inputs[1])
    if counts is None or len(counts) != made.shape.rank:
        raise ArgumentError(
            f"`multiples` has a known number for each dimension of {made.shape}, got {shown(inputs[1])}."
        )
    for axis, count in enumerate(int(each) for each in counts):
        if axis == 0:
            made = gathered(made, tile(range_of(made.nrows()), [count]))
        elif count == 0:
            made = _emptied(made, axis)
        elif count > 1:
            made = joined([made] * count, axis)
    return made


def _emptied(value: Any, axis: int) -> Any:
    """A tensor whose rows are empty along a dimension."""
    if not isinstance(value, RaggedTensor):
        return tile(value, [int(number != axis) for number in range(value.shape.rank)])
    if axis > 1:
        return value.with_values(_emptied(value.values, axis - 1))
    nothing = zeros_like(value.row_splits[:0])
    none = gathered(value.values, nothing) if isinstance(value.values, RaggedTensor) else gather(value.values, nothing)
    return RaggedTensor(none, zeros_like(value.row_splits), internal=True)


def _reverse(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    made, axes = inputs[0], get_static_value(inputs[1])
    rank = made.shape.rank
    if axes is None or rank is None:
        raise ArgumentError(f"`axis` is known numbers, and the rank of the tensor is known; got {shown(inputs[1])}.")
    for axis in np.reshape(axes, [-1]).tolist():
        if not -rank <= axis < rank:
            raise ArgumentError(f"`axis`={axis} must be in range [{-rank}, {rank}) for a ragged tensor of rank {rank}.")
        made = _reversed(made, axis % rank)
    return made


def _reversed(value: Any, axis: int) -> Any:
    if not isinstance(value, RaggedTensor):
        return reverse(value, [axis])
    if axis == 0:
        return gathered(value, value.nrows() - 1 - range_of(value.nrows()))
    if axis > 1:
        return value.with_values(_reversed(value.values, axis - 1))
    ids = value.value_rowids()
    last = gather(value.row_limits(), ids) - 1
    return value.with_values(gather(value.values, last - value.positions()))


def _partitioned(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    data, numbers = inputs
    if isinstance(numbers, RaggedTensor):
        if not isinstance(data, RaggedTensor) or data.ragged_rank != numbers.ragged_rank:
            raise ArgumentError(f"The partitions have the rows of the data, got {shown(data)} and {shown(numbers)}.")
        return dynamic_partition(_of_the_same_rows(data, numbers), numbers.flat_values, attrs["num_partitions"])
    numbers = convert_to_tensor(numbers, dt.int32)
    if numbers.shape.rank != 1:
        raise ArgumentError(f"The partitions of a ragged tensor are those of its rows, got {shown(numbers)}.")
    chosen = dynamic_partition(range_of(data.nrows()), numbers, attrs["num_partitions"])
    return [gathered(data, each) for each in chosen]


def _squeeze(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    made, rank = inputs[0], inputs[0].shape.rank
    dims = attrs.get("squeeze_dims", ())
    if not dims or rank is None or not all(-rank <= axis < rank for axis in dims):
        raise ArgumentError(f"`axis` names dimensions of a ragged tensor of rank {rank}, got {dims or None}.")
    for axis in sorted({axis % rank for axis in dims}, reverse=True):
        made = _without(made, axis)
    return made


def _without(value: Any, axis: int) -> Any:
    """A tensor without a dimension, in which every row has one element."""
    if not isinstance(value, RaggedTensor):
        return squeeze(value, [axis])
    if axis > 1:
        return value.with_values(_without(value.values, axis - 1))
    lengths = value.row_lengths() if axis else reshape(value.nrows(), [1])
    said = f"Only rows of one element can be left out, along dimension {axis} of {shown(value)}."
    with control_dependencies([assert_equal(lengths, cast(1, lengths.dtype), message=said)]):
        if axis == 1:
            return identity(value.values) if isinstance(value.values, Tensor) else value.values
        return value.values


def _split(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    value, sizes, axis = inputs if isinstance(inputs[0], RaggedTensor) else (inputs[1], None, inputs[0])
    if get_static_value(axis) not in (0, -(value.shape.rank or 0)):
        raise ArgumentError(f"A ragged tensor is split along its first dimension, got axis={shown(axis)}.")
    count, rows = attrs["num_split"], value.nrows()
    if sizes is None:
        with control_dependencies([assert_equal(rows % count, cast(0, rows.dtype), message=f"{count} equal parts")]):
            lengths = fill([count], rows // count)
    else:
        lengths = cast(convert_to_tensor(sizes), rows.dtype)
        rest = rows - reduce_sum(maximum(lengths, cast(0, rows.dtype)))
        lengths = where(lengths < 0, rest, lengths)
        with control_dependencies([assert_equal(reduce_sum(lengths), rows, message="The sizes of all parts")]):
            lengths = identity(lengths)
    ends = cumsum(lengths)
    return [gathered(value, range_of(ends[at] - lengths[at], ends[at])) for at in range(count)]


def _where(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    places = inputs[0].to_sparse()
    return gather(places.indices, reshape(where(places.values), [-1]))


def _gather_nd(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    value, given = inputs
    if not isinstance(value, RaggedTensor) or isinstance(given, RaggedTensor) or attrs.get("batch_dims"):
        raise ArgumentError("tf.gather_nd of ragged tensors takes dense indices, and batch_dims=0.")
    indices = cast(convert_to_tensor(given), value.row_splits.dtype)
    depth = indices.shape[-1] if indices.shape.rank else None
    if not depth:
        raise ArgumentError(f"The last dimension of the indices of a ragged tensor is known, got {indices.shape}.")
    place = indices[..., 0]
    for number in range(1, depth):
        if not isinstance(value, RaggedTensor):
            rest = [indices[..., each] for each in range(number, depth)]
            return gather_nd(value, pack([place, *rest], -1))
        inner = indices[..., number]
        fits = logical_and(inner >= 0, inner < gather(value.row_lengths(), place))
        with control_dependencies([assert_equal(reduce_all(fits), True, message="indices that are in their rows")]):
            value, place = value.values, gather(value.row_splits, place) + inner
    return gather(value, place)


def _cumsum(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    rt, axis = inputs
    if rt.ragged_rank != 1:
        raise ArgumentError(f"cumsum takes ragged tensors with one ragged dimension, got {shown(rt)}.")
    return RaggedTensor.from_tensor(cumsum(rt.to_tensor(), axis, **attrs), rt.row_lengths())


def _by_segment(kind: str) -> Callable[..., Any]:
    return lambda inputs, attrs: _in_segments(_SEGMENTS[kind], inputs[0], convert_to_tensor(inputs[1]), inputs[2])


def _logsumexp(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    rt, axis = inputs[0], inputs[1] if len(inputs) > 1 else None
    highest = _reducer("Max")((rt, axis), {**attrs, "keep_dims": True})
    highest = stop_gradient(where(is_finite(highest), highest, zeros_like(highest)))
    total = log(_reducer("Sum")((exp(rt - highest), axis), {**attrs, "keep_dims": True})) + highest
    if attrs.get("keep_dims"):
        return total
    axes = _axes(rt, axis)
    return _squeeze((total,), {"squeeze_dims": axes}) if isinstance(total, RaggedTensor) else squeeze(total, axes)


def _identity(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    return inputs[0]


def _bincount(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    rt, weights, minlength, maxlength = inputs
    if not isinstance(rt, RaggedTensor):
        raise ArgumentError(f"`weights` must be a tensor, as `arr` is, got {shown(weights)}")
    if isinstance(weights, RaggedTensor):
        weights = _of_the_same_rows(weights, rt)
    elif not (isinstance(weights, Tensor) and weights.shape == [0]):
        raise ArgumentError(f"`weights` must be a RaggedTensor, as `arr` is, got {shown(weights)}")
    by_row = attrs["per_row"]
    if by_row and rt.shape.rank != 2:
        raise ArgumentError(f"Counting along axis -1 takes arr of rank at most 2, got {rt.shape}")
    rows, count = (rt.value_rowids(), rt.nrows()) if by_row else (None, None)
    return bincount_flat(rt.flat_values, rows, count, weights, minlength, maxlength, attrs)


_SPECIAL: dict[str, Callable[..., Any]] = {
    **{kind: _reducer(kind) for kind in ("Sum", "Mean", "Prod", "Max", "Min", "All", "Any")},
    "ReduceJoin": _reduce_join,
    "Softmax": _softmax,
    "Rank": lambda inputs, attrs: convert_to_tensor(inputs[0].shape.rank, dt.int32),
    "ConcatV2": _concat,
    "Pack": _pack,
    "ExpandDims": _expand_dims,
    "GatherV2": _gather,
    "Size": _size,
    "Shape": _shape,
    "Identity": _identity,
    "Tile": _tile,
    "DynamicPartition": _partitioned,
    "Squeeze": _squeeze,
    "Split": _split,
    "SplitV": _split,
    "Where": _where,
    "GatherNd": _gather_nd,
    "Cumsum": _cumsum,
    "ReduceLogSumExp": _logsumexp,
    **{f"UnsortedSegment{kind}": _by_segment(kind) for kind in _SEGMENTS},
    "DenseBincount": _bincount,
    "ReverseV2": _reverse,
    "BroadcastTo": lambda inputs, attrs: _run_shaped(find_op("BroadcastTo"), inputs, attrs, None),
}


# Ops that take the shape of a ragged tensor.


def _run_shaped(op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], name: str | None) -> Any:
    """Runs an op of which one input is the shape of a ragged tensor."""
    if op.name in ("Fill", "Full"):
        shape, *rest = inputs
        return shape.rows_of(op(shape.inner_shape, *rest, name=name, **attrs))
    value: Any
    value, shape = inputs if len(inputs) == 2 else (None, None)
    if op.name == "Reshape" and isinstance(shape, DynamicRaggedShape):
        flat = value.flat_values if isinstance(value, RaggedTensor) else value
        return shape.rows_of(op(flat, shape.inner_shape, name=name, **attrs))
    if op.name == "BroadcastTo" and isinstance(shape, DynamicRaggedShape):
        like = shape.rows_of(fill(shape.inner_shape, 0))
        if not isinstance(like, RaggedTensor):
            return broadcast_to(value, shape.inner_shape)
        flat = flat_for(_given(value, (like,)), like)
        return like.with_flat_values(broadcast_to(flat, shape.inner_shape))
    raise DTypeError(f"{op.name} takes no DynamicRaggedShape: {shown(inputs)}")


on_composite[DynamicRaggedShape] = _run_shaped


@export("ragged.stack")
def stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    """Tensors, ragged or not, stacked: rows of different lengths are fine.

    Args:
        values: The tensors.
        axis: The new dimension.
        name: A name for the op.

    Example:
        >>> import situs as tf
        >>> tf.ragged.stack([tf.constant([1, 2]), tf.constant([3])]).to_list()
        [[1, 2], [3]]
    """
    if not isinstance(values, (list, tuple)) or not values:
        raise ArgumentError(f"values may not be empty: a list of tensors, got {shown(values)}.")
    given: list[Any] = [each if isinstance(each, RaggedTensor) else convert_to_tensor(each) for each in values]
    if all(isinstance(each, Tensor) and each.shape.rank == 1 for each in given) and axis == 0:
        lengths = convert_to_tensor([shape_of(each, dt.int64)[0] for each in given])
        return RaggedTensor(concat(given, 0), splits_of(lengths), internal=True)
    if all(isinstance(each, Tensor) and each.shape.rank == 0 for each in given):
        return convert_to_tensor(given)
    ragged = [each if isinstance(each, RaggedTensor) else RaggedTensor.from_tensor(each) for each in given]
    return joined([_expand(each, axis) for each in ragged], axis)


@export("ragged.boolean_mask")
def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """The elements of a tensor where a mask is true, as rows.

    Args:
        data: A tensor, ragged or not.
        mask: Booleans of the same shape; ragged where `data` is.
        name: A name for the op.
    """
    from situs._src.ops.gather import boolean_mask as dense_mask

    rows = data if isinstance(data, RaggedTensor) else None
    kept = mask if isinstance(mask, RaggedTensor) else None
    if rows is None and kept is None:
        given, chosen = convert_to_tensor(data), convert_to_tensor(mask, dt.bool)
        if (chosen.shape.rank or 1) < 2:
            return dense_mask(given, chosen)
        rows, kept = RaggedTensor.from_tensor(given), RaggedTensor.from_tensor(chosen)
    elif rows is None:
        rows = RaggedTensor.from_tensor(data)
    if kept is None:
        chosen = convert_to_tensor(mask, dt.bool)
        if chosen.shape.rank == 1:
            return gathered(rows, reshape(where(chosen), [-1]))
        kept = RaggedTensor.from_tensor(chosen)
    rows = rows.with_flat_values(_of_the_same_rows(rows, kept))
    if rows.ragged_rank > 1:
        return rows.with_values(boolean_mask(rows.values, kept.values))
    counts = unsorted_segment_sum(cast(kept.values, dt.int64), kept.value_rowids(), kept.nrows())
    return RaggedTensor(dense_mask(rows.values, kept.values), splits_of(counts), internal=True)
