"""What ops do with ragged tensors.

element by element     the elements change, the rows stay: ``rt + 1``, ``tf.strings.lower(rt)``
reductions             along the rows, or along the numbers of the rows
joining and choosing   ``tf.concat``, ``tf.stack``, ``tf.expand_dims``, ``tf.gather``

Other ops refuse a ragged tensor in words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, read
from situs._src.base.tree import flatten
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.traits import EACH_VALUE, ELEMENTWISE
from situs._src.ops.array import broadcast_to, reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor, fill
from situs._src.ops.cumulative import (
    unsorted_segment_max,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sum,
)
from situs._src.ops.gather import gather, gather_nd
from situs._src.ops.join import concat
from situs._src.ops.reduce import reduce_max
from situs._src.ragged.making import flat_places
from situs._src.ragged.rows import expanded, gathered, joined
from situs._src.ragged.tensor import RaggedTensor, splits_of
from situs._src.runtime.dispatch import on_composite
from situs._src.runtime.eager.tensor import EagerTensor


def _run(op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], name: str | None) -> Any:
    """Runs an op of which one input is ragged."""
    if op.name in _SPECIAL:
        return _SPECIAL[op.name](inputs, attrs)
    if op.name == "OneHot" and attrs.get("axis", -1) != -1:
        raise ArgumentError("The new dimension of a ragged tensor is the last one: axis=-1.")
    if not op.traits.isdisjoint((ELEMENTWISE, EACH_VALUE)):
        return _each(op, inputs, attrs, name)
    raise DTypeError(
        f"{op.name} takes no RaggedTensor. Use its values, a function of tf.ragged, or rt.to_tensor(): {shown(inputs)}"
    )


on_composite[RaggedTensor] = _run


# Element by element.


def _each(op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], name: str | None) -> Any:
    like = next(each for each in flatten(list(inputs)) if isinstance(each, RaggedTensor))
    args = [
        [_flat(item, like) for item in value] if isinstance(value, list) else _flat(value, like) for value in inputs
    ]
    return like.with_flat_values(op(*args, name=name, **attrs))


def _flat(value: Any, like: RaggedTensor) -> Any:
    """A value as elements that go with those of a ragged tensor."""
    if isinstance(value, RaggedTensor):
        _check_rows(value, like)
        return value.flat_values
    given = read(value)
    if not isinstance(given, Tensor) or given.shape.rank == 0:
        return value
    inner = (like.flat_values.shape.rank or 1) - 1
    if given.shape.rank is not None and given.shape.rank <= inner:
        return value
    sizes = like.bounding_shape()
    return gather_nd(broadcast_to(given, sizes), flat_places(like))


def _check_rows(one: RaggedTensor, other: RaggedTensor) -> None:
    if one.ragged_rank != other.ragged_rank:
        raise ArgumentError(f"The rows of {shown(one)} and {shown(other)} differ in how deep they are nested.")
    for mine, theirs in zip(one.nested_row_splits, other.nested_row_splits, strict=True):
        if mine is theirs or not isinstance(mine, EagerTensor) or not isinstance(theirs, EagerTensor):
            continue
        if mine.numpy().tolist() != theirs.numpy().tolist():
            raise ArgumentError(
                f"Inputs have incompatible shapes: the rows of {shown(one)} and {shown(other)} have other lengths."
            )


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
            return value.flat_values
        return [values(item) for item in value] if isinstance(value, list) else value

    if not callable(op):
        raise DTypeError(f"`op` is a function, got {shown(op)}.")
    given, named = [values(arg) for arg in args], {name: values(arg) for name, arg in kwargs.items()}
    for other in found[1:]:
        _check_rows(other, found[0])
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
        keep = bool(attrs.get("keep_dims") or (len(inputs) > 2 and inputs[2]))
        if axis is None or not isinstance(axis, (int, list, tuple)):
            axes = list(range(rt.shape.rank or 0))
        else:
            axes = [axis] if isinstance(axis, int) else list(axis)
        rank = rt.shape.rank
        axes = sorted({each + rank if each < 0 and rank is not None else each for each in axes}, reverse=True)
        if any(each < 0 or (rank is not None and each >= rank) for each in axes):
            raise ArgumentError(
                f"Invalid reduction dimension of {shown(axis)} for a ragged tensor of {rank} dimensions."
            )
        if not keep and rank is not None and len(axes) == rank:
            return _whole(kind, rt.flat_values)
        made = rt
        for each in axes:
            made = _along(kind, made, each)
            made = _expand(made, each) if keep else made
        return made

    return run


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
    if kind == "Mean":
        ones = value.with_flat_values(fill(shape_of(value.flat_values), cast(1, value.dtype)))
        return _along("Sum", value, axis) / _along("Sum", ones, axis)
    if kind in ("All", "Any"):
        number = value.with_flat_values(cast(value.flat_values, dt.int32))
        return cast(_along("Min" if kind == "All" else "Max", number, axis) > 0, dt.bool)
    if axis == 1:
        return _in_segments(_SEGMENTS[kind], value.values, value.value_rowids(), value.nrows())
    longest = reduce_max(concat([value.row_lengths(), fill([1], cast(0, value.row_splits.dtype))], 0))
    return _in_segments(_SEGMENTS[kind], value.values, value.positions(), longest)


def _in_segments(function: Callable[..., Any], values: Any, ids: Any, count: Any) -> Any:
    """Values of one number put together; where these are rows, value by value."""
    if not isinstance(values, RaggedTensor):
        return function(values, ids, count)
    lengths = values.row_lengths()
    from situs._src.ops.math import maximum

    sizes = maximum(unsorted_segment_max(lengths, ids, count), cast(0, lengths.dtype))
    splits = splits_of(sizes)
    slots = gather(splits, gather(ids, values.value_rowids())) + values.positions()
    return RaggedTensor(_in_segments(function, values.values, slots, splits[-1]), splits, internal=True)


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
    axis = int(rest[0]) if rest else 0
    if axis or attrs.get("batch_dims"):
        raise DTypeError("Rows of ragged tensors are gathered along the first axis, without batch dimensions.")
    if isinstance(indices, RaggedTensor):
        return indices.with_flat_values(
            _gather((params, indices.flat_values), {})
            if isinstance(params, RaggedTensor)
            else gather(params, indices.flat_values)
        )
    given = convert_to_tensor(indices)
    if given.shape.rank == 0:
        return params[given]
    if given.shape.rank == 1:
        return gathered(params, given)
    sizes = shape_of(given, params.row_splits.dtype)
    rows = gathered(params, reshape(given, [-1]))
    for axis_ in range((given.shape.rank or 1) - 1, 0, -1):
        rows = RaggedTensor.from_uniform_row_length(rows, sizes[axis_], validate=False)
    return rows


def _size(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    from situs._src.ragged.rows import count_all

    return cast(count_all(inputs[0]), attrs.get("out_type", dt.int32))


class RaggedShape:
    """What ``tf.shape`` says of a ragged tensor: the sizes of its dimensions, as far as all rows have them.

    Args:
        rows: The ragged tensor.
        dtype: The dtype of the sizes.
    """

    def __init__(self, rows: RaggedTensor, dtype: Any) -> None:
        self._rows, self.dtype = rows, dtype

    @property
    def rank(self) -> int | None:
        """The number of dimensions."""
        return self._rows.shape.rank

    def __getitem__(self, axis: Any) -> Any:
        rank = self.rank
        number = axis + rank if axis < 0 and rank is not None else axis
        if number == 0:
            return self._rows.nrows(self.dtype)
        known = self._rows.shape[number]
        if known is not None:
            return convert_to_tensor(known, self.dtype)
        if number <= self._rows.ragged_rank:
            raise ArgumentError(f"Index {axis} is not uniform: the rows of {shown(self._rows)} differ in length.")
        return shape_of(self._rows.flat_values, self.dtype)[number - self._rows.ragged_rank]

    def __repr__(self) -> str:
        return f"<RaggedShape of {self._rows.shape}>"


def _shape(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> RaggedShape:
    return RaggedShape(inputs[0], attrs.get("out_type", dt.int32))


def _identity(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    return inputs[0]


_SPECIAL: dict[str, Callable[..., Any]] = {
    **{kind: _reducer(kind) for kind in ("Sum", "Mean", "Prod", "Max", "Min", "All", "Any")},
    "ConcatV2": _concat,
    "Pack": _pack,
    "ExpandDims": _expand_dims,
    "GatherV2": _gather,
    "Size": _size,
    "Shape": _shape,
    "Identity": _identity,
}


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
            from situs._src.ops.gather import where

            return gathered(rows, reshape(where(chosen), [-1]))
        kept = RaggedTensor.from_tensor(chosen)
    _check_rows(rows, kept)
    if rows.ragged_rank > 1:
        return rows.with_values(boolean_mask(rows.values, kept.values))
    counts = unsorted_segment_sum(cast(kept.values, dt.int64), kept.value_rowids(), kept.nrows())
    return RaggedTensor(dense_mask(rows.values, kept.values), splits_of(counts), internal=True)
