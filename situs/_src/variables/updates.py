"""Updates of variables as functions, ``tf.assign(v, value)``, and the methods that both kinds of variable share.

An update runs on the variable's device. In a graph it is an operation, whose tensor is the new state; in eager code it
takes effect immediately, and the variable is returned.

    tf.scatter_add(v, [0, 2], [[1.0, 1.0], [2.0, 2.0]])     rows 0 and 2 of v
    tf.scatter_nd_add(v, [[0, 1]], [5.0])                   element (0, 1) of v
"""

from __future__ import annotations

from typing import Any

import numpy as np

from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, read
from situs._src.base.typing import AnyTensor, ArrayLike, SlicesLike
from situs._src.ir.graph.context import name_scope
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import Op
from situs._src.ops.array import broadcast_to
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_bool, as_int
from situs._src.ops.constant import constant
from situs._src.ops.gather import gather, gather_nd
from situs._src.ops.join import stack
from situs._src.runtime.dispatch import apply
from situs._src.variables import scatter_ops, state_ops


class Updatable:
    """What variables can do besides ``assign``.

    The methods named ``scatter_...`` take slices: an object with ``indices`` and ``values``, such as
    ``tf.IndexedSlices``.
    """

    def _update(self, update: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], name: str | None) -> Any:
        """Runs an op on the state, or adds it to the graph being built."""
        raise NotImplementedError

    def scatter_update(self, sparse_delta: SlicesLike, use_locking: bool = False, name: str | None = None) -> Any:
        """Puts slices instead of rows."""
        return self._update(scatter_ops.scatter_update, _slices(sparse_delta), {}, name)

    def scatter_add(self, sparse_delta: SlicesLike, use_locking: bool = False, name: str | None = None) -> Any:
        """Adds slices to rows."""
        return self._update(scatter_ops.scatter_add, _slices(sparse_delta), {}, name)

    def scatter_sub(self, sparse_delta: SlicesLike, use_locking: bool = False, name: str | None = None) -> Any:
        """Subtracts slices from rows."""
        return self._update(scatter_ops.scatter_sub, _slices(sparse_delta), {}, name)

    def scatter_mul(self, sparse_delta: SlicesLike, use_locking: bool = False, name: str | None = None) -> Any:
        """Multiplies rows by slices."""
        return self._update(scatter_ops.scatter_mul, _slices(sparse_delta), {}, name)

    def scatter_div(self, sparse_delta: SlicesLike, use_locking: bool = False, name: str | None = None) -> Any:
        """Divides rows by slices."""
        return self._update(scatter_ops.scatter_div, _slices(sparse_delta), {}, name)

    def scatter_min(self, sparse_delta: SlicesLike, use_locking: bool = False, name: str | None = None) -> Any:
        """Keeps the smaller of rows and slices."""
        return self._update(scatter_ops.scatter_min, _slices(sparse_delta), {}, name)

    def scatter_max(self, sparse_delta: SlicesLike, use_locking: bool = False, name: str | None = None) -> Any:
        """Keeps the larger of rows and slices."""
        return self._update(scatter_ops.scatter_max, _slices(sparse_delta), {}, name)

    def batch_scatter_update(self, sparse_delta: SlicesLike, use_locking: bool = False, name: str | None = None) -> Any:
        """Puts slices instead of rows, batch by batch."""
        return batch_scatter_update(self, *_slices(sparse_delta), use_locking, name)

    def scatter_nd_update(self, indices: ArrayLike, updates: ArrayLike, name: str | None = None) -> Any:
        """Replaces the elements or slices that vectors of indices name."""
        return self._update(scatter_ops.scatter_nd_update, (indices, updates), {}, name)

    def scatter_nd_add(self, indices: ArrayLike, updates: ArrayLike, name: str | None = None) -> Any:
        """Adds to the elements or slices that vectors of indices name."""
        return self._update(scatter_ops.scatter_nd_add, (indices, updates), {}, name)

    def scatter_nd_sub(self, indices: ArrayLike, updates: ArrayLike, name: str | None = None) -> Any:
        """Subtracts from the elements or slices that vectors of indices name."""
        return self._update(scatter_ops.scatter_nd_sub, (indices, updates), {}, name)

    def scatter_nd_max(self, indices: ArrayLike, updates: ArrayLike, name: str | None = None) -> Any:
        """Keeps the larger of updates and the elements or slices that vectors of indices name."""
        return self._update(scatter_ops.scatter_nd_max, (indices, updates), {}, name)

    def scatter_nd_min(self, indices: ArrayLike, updates: ArrayLike, name: str | None = None) -> Any:
        """Keeps the smaller of updates and the elements or slices that vectors of indices name."""
        return self._update(scatter_ops.scatter_nd_min, (indices, updates), {}, name)

    def sparse_read(self, indices: ArrayLike, name: str | None = None) -> Tensor:
        """The rows that indices name."""
        return gather(self, indices, name=name)

    def gather_nd(self, indices: ArrayLike, name: str | None = None) -> Tensor:
        """The elements or slices that vectors of indices name."""
        return gather_nd(self, indices, name=name)


def _slices(sparse_delta: SlicesLike) -> tuple[Any, Any]:
    try:
        return sparse_delta.indices, sparse_delta.values
    except AttributeError:
        raise DTypeError(
            f"sparse_delta is not IndexedSlices: {sparse_delta!r}. Give an object with `indices` and `values`, or use "
            "the function of this name, as in tf.compat.v1.scatter_update(v, indices, updates)."
        ) from None


# Functions.


@export(v1="assign")
def assign(
    ref: AnyTensor,
    value: ArrayLike,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Gives a variable a new value.

    Args:
        ref: A variable.
        value: The value.
        validate_shape: False lets a value of another shape be assigned.
        use_locking: Accepted for TensorFlow's programs; every change is guarded.
        name: A name for the operation.
    """
    if isinstance(ref, Tensor) and hasattr(ref, "assign"):  # a part of a variable, such as v[1:]
        return ref.assign(value, name=name)
    attrs = {} if validate_shape is None else {"validate_shape": as_bool(validate_shape, "validate_shape")}
    return _changed(ref, state_ops.assign, (value,), attrs, name)


@export(v1="assign_add")
def assign_add(ref: AnyTensor, value: ArrayLike, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Adds to a variable."""
    return _changed(ref, state_ops.assign_add, (value,), {}, name)


@export(v1="assign_sub")
def assign_sub(ref: AnyTensor, value: ArrayLike, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Subtracts from a variable."""
    return _changed(ref, state_ops.assign_sub, (value,), {}, name)


@export(v1="count_up_to")
def count_up_to(ref: AnyTensor, limit: int, name: str | None = None) -> Any:
    """Returns the value of an integer variable and adds 1 to it, until it reaches `limit`."""
    return _changed(ref, state_ops.count_up_to, (), {"limit": as_int(limit, "limit")}, name)


def _changed(ref: AnyTensor, update: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], name: str | None) -> Any:
    if isinstance(ref, Updatable):
        return ref._update(update, inputs, attrs, name)
    if isinstance(ref, SymbolicTensor) and ref.is_ref:  # what an assignment returned
        return apply(update, (ref, *inputs), attrs, name)
    raise DTypeError(
        f"{update.name} changes a variable, and {ref!r} is not one. Make one with tf.Variable or tf.get_variable."
    )


@export(v1="scatter_update")
def scatter_update(
    ref: AnyTensor, indices: ArrayLike, updates: ArrayLike, use_locking: bool = True, name: str | None = None
) -> Any:
    """Replaces rows of a variable; of several updates of one row the last is taken.

    Args:
        ref: A variable.
        indices: Integers: which rows. One that does not exist is an error on the CPU and is left out on a GPU.
        updates: One slice for each index, or a scalar for all of their elements.
        use_locking: Accepted for TensorFlow's programs; every change is guarded.
        name: A name for the operation.
    """
    return _changed(ref, scatter_ops.scatter_update, (indices, updates), {}, name)


@export(v1="scatter_add")
def scatter_add(
    ref: AnyTensor, indices: ArrayLike, updates: ArrayLike, use_locking: bool = False, name: str | None = None
) -> Any:
    """Adds to rows of a variable."""
    return _changed(ref, scatter_ops.scatter_add, (indices, updates), {}, name)


@export(v1="scatter_sub")
def scatter_sub(
    ref: AnyTensor, indices: ArrayLike, updates: ArrayLike, use_locking: bool = False, name: str | None = None
) -> Any:
    """Subtracts from rows of a variable."""
    return _changed(ref, scatter_ops.scatter_sub, (indices, updates), {}, name)


@export(v1="scatter_mul")
def scatter_mul(
    ref: AnyTensor, indices: ArrayLike, updates: ArrayLike, use_locking: bool = False, name: str | None = None
) -> Any:
    """Multiplies rows of a variable."""
    return _changed(ref, scatter_ops.scatter_mul, (indices, updates), {}, name)


@export(v1="scatter_div")
def scatter_div(
    ref: AnyTensor, indices: ArrayLike, updates: ArrayLike, use_locking: bool = False, name: str | None = None
) -> Any:
    """Divides rows of a variable; integers are rounded towards zero."""
    return _changed(ref, scatter_ops.scatter_div, (indices, updates), {}, name)


@export(v1="scatter_min")
def scatter_min(
    ref: AnyTensor, indices: ArrayLike, updates: ArrayLike, use_locking: bool = False, name: str | None = None
) -> Any:
    """Keeps the smaller of rows of a variable and updates."""
    return _changed(ref, scatter_ops.scatter_min, (indices, updates), {}, name)


@export(v1="scatter_max")
def scatter_max(
    ref: AnyTensor, indices: ArrayLike, updates: ArrayLike, use_locking: bool = False, name: str | None = None
) -> Any:
    """Keeps the larger of rows of a variable and updates."""
    return _changed(ref, scatter_ops.scatter_max, (indices, updates), {}, name)


@export(v1="scatter_nd_update")
def scatter_nd_update(
    ref: AnyTensor, indices: ArrayLike, updates: ArrayLike, use_locking: bool = True, name: str | None = None
) -> Any:
    """Replaces the elements or slices of a variable that vectors of indices name."""
    return _changed(ref, scatter_ops.scatter_nd_update, (indices, updates), {}, name)


@export(v1="scatter_nd_add")
def scatter_nd_add(
    ref: AnyTensor, indices: ArrayLike, updates: ArrayLike, use_locking: bool = False, name: str | None = None
) -> Any:
    """Adds to the elements or slices of a variable that vectors of indices name."""
    return _changed(ref, scatter_ops.scatter_nd_add, (indices, updates), {}, name)


@export(v1="scatter_nd_sub")
def scatter_nd_sub(
    ref: AnyTensor, indices: ArrayLike, updates: ArrayLike, use_locking: bool = False, name: str | None = None
) -> Any:
    """Subtracts from the elements or slices of a variable that vectors of indices name."""
    return _changed(ref, scatter_ops.scatter_nd_sub, (indices, updates), {}, name)


@export(v1="batch_scatter_update")
def batch_scatter_update(
    ref: Any, indices: ArrayLike, updates: ArrayLike, use_locking: bool = True, name: str | None = None
) -> Any:
    """Replaces slices of a variable, batch by batch: ``ref[b, indices[b, i]] = updates[b, i]``.

    Args:
        ref: A variable.
        indices: Integers; their dimensions but the last are those of the batches, and the first ones of `ref`.
        updates: One slice for each index.
        use_locking: Accepted for TensorFlow's programs; every change is guarded.
        name: A name for the operation.
    """
    with name_scope(name, "batch_scatter_update") as scope:
        given = read(indices)
        rows = given if isinstance(given, Tensor) else constant(given, name="indices")
        batches = rows.shape[:-1]
        if not batches.is_fully_defined():
            raise ArgumentError(f"batch_scatter_update needs to know the sizes of the batches, got {rows!r}")
        places = np.indices((*batches, 1)).reshape(len(batches) + 1, *batches, 1)[:-1]
        parts = [broadcast_to(constant(place, rows.dtype), shape_of(rows)) for place in places]
        return scatter_nd_update(ref, stack([*parts, rows], axis=-1), updates, use_locking, scope)
