"""Sets in the last dimension of tensors: ``tf.sets``.

    a = [[1, 2, 2],          intersection       [[2],
         [3, 4, 5]]                              [3, 5]]
    b = [[2, 6],             union              [[1, 2, 6],
         [5, 3]]                                 [3, 4, 5]]

All dimensions but the last tell which set an element is in, and are those of both tensors. A result is sparse: each
set has its elements once, in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.ops.array import reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_bool
from situs._src.ops.constant import convert_to_tensor, fill
from situs._src.ops.define import CPU, op
from situs._src.ops.gather import where
from situs._src.sparse.tensor import SparseTensor

_ELEMENTS = frozenset({dt.string, dt.int8, dt.int16, dt.int32, dt.int64, dt.uint8, dt.uint16})
Sets = dict[tuple[int, ...], set[Any]]
_OPERATIONS: dict[str, Callable[[set[Any], set[Any]], set[Any]]] = {
    "a-b": lambda a, b: a - b,
    "b-a": lambda a, b: b - a,
    "intersection": lambda a, b: a & b,
    "union": lambda a, b: a | b,
}

_combined = op(
    "SetOperation",
    "set1_indices: int64, set1_values: T, set1_shape: int64, set2_indices: int64, set2_values: T, set2_shape: int64 -> "
    "result_indices: int64, result_values: T, result_shape: int64",
    T=_ELEMENTS,
    set_operation="",
)
_combined.stops_gradients()


@_combined.shape
def _combined_shape(*shapes: TensorShape, set_operation: str) -> list[TensorShape]:
    rank = next((shape[0] for shape in (shapes[2], shapes[5]) if shape.rank == 1 and shape[0] is not None), None)
    return [TensorShape([None, rank]), TensorShape([None]), TensorShape([rank])]


@_combined.kernel(CPU)
def _combined_kernel(
    set1_indices: torch.Tensor,
    set1_values: Any,
    set1_shape: torch.Tensor,
    set2_indices: torch.Tensor,
    set2_values: Any,
    set2_shape: torch.Tensor,
    *,
    set_operation: str,
) -> tuple[torch.Tensor, Any, torch.Tensor]:
    outer = set1_shape[:-1].tolist()
    if outer != set2_shape[:-1].tolist():
        raise ArgumentError(
            f"Sets of two tensors go together one by one: all dimensions but the last must be the same, got "
            f"{set1_shape.tolist()} and {set2_shape.tolist()}."
        )
    ours, theirs = _sets(set1_indices, set1_values), _sets(set2_indices, set2_values)
    combine, nothing = _OPERATIONS[set_operation], set[Any]()
    places: list[tuple[int, ...]] = []
    values: list[Any] = []
    longest = 0
    for place in sorted({*ours, *theirs}):
        found = sorted(combine(ours.get(place, nothing), theirs.get(place, nothing)))
        places += [(*place, number) for number in range(len(found))]
        values += found
        longest = max(longest, len(found))
    if isinstance(set1_values, torch.Tensor):
        made: Any = torch.tensor(values, dtype=set1_values.dtype)
    else:
        made = np.empty(len(values), object)
        made[:] = values
    indices = torch.tensor(places, dtype=torch.int64).reshape(-1, len(outer) + 1)
    return indices, made, torch.tensor([*outer, longest])


def _sets(indices: torch.Tensor, values: Any) -> Sets:
    """The sets by their places."""
    found: Sets = {}
    for place, value in zip(indices.tolist(), values.tolist(), strict=True):
        found.setdefault(tuple(place[:-1]), set()).add(value)
    return found


_size = op("SetSize", "set_indices: int64, set_values: T, set_shape: int64 -> size: int32", T=_ELEMENTS)
_size.stops_gradients()


@_size.shape
def _size_shape(set_indices: TensorShape, set_values: TensorShape, set_shape: TensorShape) -> TensorShape:
    rank = set_shape[0] if set_shape.rank == 1 else None
    return TensorShape(None if rank is None else [None] * (rank - 1))


@_size.kernel(CPU)
def _size_kernel(set_indices: torch.Tensor, set_values: Any, set_shape: torch.Tensor) -> torch.Tensor:
    made = torch.zeros(set_shape[:-1].tolist(), dtype=torch.int32)
    for place, found in _sets(set_indices, set_values).items():
        made[place] = len(found)
    return made


def _parts(given: Any, what: str) -> tuple[Any, Any, Any]:
    """The places, the values and the shape of sets, dense or sparse.

    Raises:
        TypeError: they are of another dtype.
        ValueError: there is no last dimension.
    """
    is_sparse = isinstance(given, SparseTensor)
    elements = given.values if is_sparse else convert_to_tensor(given)
    shape = given.shape if is_sparse else elements.shape
    if elements.dtype not in _ELEMENTS:
        raise DTypeError(f"Elements of sets are integers or strings, got {elements.dtype.name} for `{what}`.")
    if shape.rank == 0 or (shape.rank == 1 and not is_sparse):
        raise ArgumentError(f"`{what}` has sets in its last dimension and at least one more, got the shape {shape}.")
    if is_sparse:
        return given.indices, elements, given.dense_shape
    return where(fill(shape_of(elements), True)), reshape(elements, [-1]), shape_of(elements, dt.int64)


def _operation(a: Any, b: Any, operation: str, validate_indices: Any) -> SparseTensor:
    as_bool(validate_indices, "validate_indices")
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        raise DTypeError("A sparse `a` goes with a sparse `b`: give the dense one first.")
    ours, theirs = _parts(a, "a"), _parts(b, "b")
    if ours[1].dtype is not theirs[1].dtype:
        raise DTypeError(f"Types don't match, {ours[1].dtype.name} vs {theirs[1].dtype.name}.")
    return SparseTensor(*_combined.many(*ours, *theirs, set_operation=operation))


@export("sets.intersection", v1=("sets.intersection", "sets.set_intersection"))
def intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """What is in the sets of both tensors.

    Args:
        a: Sets in the last dimension: a tensor of integers or strings, dense or sparse.
        b: The same, with the same other dimensions; sparse if `a` is.
        validate_indices: Accepted for TensorFlow's programs: the places need no order here.

    Example:
        >>> import situs as tf
        >>> tf.sparse.to_dense(tf.sets.intersection([[1, 2, 3]], [[3, 2, 9]])).numpy().tolist()
        [[2, 3]]
    """
    return _operation(a, b, "intersection", validate_indices)


@export("sets.difference", v1=("sets.difference", "sets.set_difference"))
def difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """What is in the sets of one tensor and not in those of the other.

    Args:
        a: Sets in the last dimension: a tensor of integers or strings, dense or sparse.
        b: The same, with the same other dimensions; sparse if `a` is.
        aminusb: Whether `b` is taken from `a`, rather than `a` from `b`.
        validate_indices: Accepted for TensorFlow's programs: the places need no order here.
    """
    return _operation(a, b, "a-b" if as_bool(aminusb, "aminusb") else "b-a", validate_indices)


@export("sets.union", v1=("sets.union", "sets.set_union"))
def union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """What is in the sets of one tensor or of the other.

    Args:
        a: Sets in the last dimension: a tensor of integers or strings, dense or sparse.
        b: The same, with the same other dimensions; sparse if `a` is.
        validate_indices: Accepted for TensorFlow's programs: the places need no order here.
    """
    return _operation(a, b, "union", validate_indices)


@export("sets.size", v1=("sets.size", "sets.set_size"))
def size(a: Any, validate_indices: bool = True) -> Tensor:
    """How many different elements each set of a sparse tensor has, int32.

    Args:
        a: Sets in the last dimension of a sparse tensor of integers or strings.
        validate_indices: Accepted for TensorFlow's programs: the places need no order here.
    """
    as_bool(validate_indices, "validate_indices")
    if not isinstance(a, SparseTensor):
        raise DTypeError(f"Expected `SparseTensor`, got {type(a).__name__}.")
    found: Tensor = _size(*_parts(a, "a"))
    return found
