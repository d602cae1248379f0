"""Where values come in, and operations that compute nothing: placeholders, `no_op`, `group`, `tuple`."""

from __future__ import annotations

import builtins
from typing import Any

from situs._src.base.devices.scope import device as device_scope
from situs._src.base.devices.scope import here
from situs._src.base.dtype import FIXED, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.base.tensor import Tensor, read
from situs._src.base.tree import deeper, listed
from situs._src.base.typing import ArrayLike, DTypeLike
from situs._src.ir.graph.context import control_dependencies, name_scope
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import ALIAS, FED, NO_WORK
from situs._src.ops.array import identity
from situs._src.ops.attribute import as_name
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.slices import IndexedSlices

_placeholder = op("Placeholder", "-> output: dtype", traits={FED}, shape=UNKNOWN)


@_placeholder.shape
def _placeholder_shape(*, shape: TensorShape) -> TensorShape:
    return shape


# Never called: fed, it is cut off the graph, and unfed, the plan refuses it by name. The placer asks for one.
_placeholder.kernel(CPU)(lambda *, shape, dtype: None)
_placeholder.kernel(GPU, dtype=FIXED)(lambda *, shape, dtype: None)


@export(v1="placeholder")
def placeholder(dtype: DTypeLike, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor whose value is fed when the graph runs.

    Args:
        dtype: The dtype of the values.
        shape: Their shape, as far as it is fixed; None for any.
        name: A name for the operation.
    """
    _need_graph("placeholder")
    return _placeholder(dtype=as_dtype(dtype), shape=TensorShape(shape), name=name)


_default = op("PlaceholderWithDefault", "input: dtype -> output: dtype", traits={ALIAS, FED}, shape=None)


@_default.shape
def _default_shape(input: TensorShape, *, shape: TensorShape) -> TensorShape:
    input.assert_is_compatible_with(shape)
    return shape


_default.kernel(CPU, GPU)(lambda input, *, shape: input)
_default.gradient(lambda grad: grad)


@export(v1="placeholder_with_default")
def placeholder_with_default(input: ArrayLike, shape: Any, name: str | None = None) -> Tensor:
    """A tensor that passes `input` on unless a value of `shape` is fed in its place."""
    if here.graph is None:
        return identity(input, name)
    return _default(input, shape=TensorShape(shape), name=name)


def _need_graph(what: str) -> None:
    if here.graph is None:
        raise ArgumentError(
            f"tf.{what}() is not compatible with eager execution: it belongs to a graph. Use `import situs.compat.v1 "
            "as tf`, or call it under `with tf.Graph().as_default():`."
        )


_no_op = op("NoOp", "->", traits={NO_WORK})
_no_op.shape(list)
_no_op.kernel(CPU, GPU)(lambda: ())


@export("no_op")
def no_op(name: str | None = None) -> Operation | None:
    """An operation that does nothing; useful as something to depend on."""
    return None if here.graph is None else _no_op(name=name)  # type: ignore[return-value]


@export("group")
def group(*inputs: Any, name: str | None = None, **kwargs: Any) -> Operation | None:
    """An operation that is over when all of `inputs` are: operations, tensors, or lists of them."""
    if kwargs:
        raise ArgumentError(f"group() got unexpected keyword arguments {sorted(kwargs)}.")
    if here.graph is None:
        return None
    operations = [_operation(item) for item in _flat(inputs)]
    by_device: dict[str, list[Operation]] = {}
    for operation in operations:
        by_device.setdefault(operation.device, []).append(operation)
    if len(by_device) <= 1:
        return _waiting_for(operations, as_name(name, "group_deps"), next(iter(by_device), ""))
    with name_scope(name, "group_deps") as scope:
        parts = [_waiting_for(by_device[device], None, device) for device in sorted(by_device)]
        return _waiting_for(parts, scope, "")


def _waiting_for(operations: list[Any], name: str | None, device: str) -> Operation | None:
    with control_dependencies(operations):
        if not device:
            return no_op(name)
        with device_scope(device):
            return no_op(name)


def _operation(item: object) -> Operation:
    item = item.op if hasattr(item, "op") else read(item)  # an eager variable, in a tf.function, is read
    if isinstance(item, SymbolicTensor):
        return item.op
    if not isinstance(item, Operation):
        raise DTypeError(f"Expected tf.Operation, tf.Tensor or tf.Variable in group(), got {shown(item)}.")
    return item


def _flat(items: Any, depth: int = 0) -> list[Any]:
    found: list[Any] = []
    below = deeper(depth)
    for item in items:
        if isinstance(item, (list, builtins.tuple)):
            found += _flat(item, below)
        elif isinstance(item, dict):
            found += _flat(item.values(), below)
        elif item is not None:
            found.append(item)
    return found


@export(v1="tuple")
def tuple(tensors: Any, name: str | None = None, control_inputs: object = None) -> list[Any]:
    """The tensors, each available only when all of them are."""
    tensors = listed(tensors, "tensors")
    if here.graph is None:
        return [None if tensor is None else convert_to_tensor(tensor) for tensor in tensors]
    given = [tensor for tensor in tensors if tensor is not None]
    if not given:
        raise ArgumentError(f"Must have at least one Tensor in tf.tuple, got {tensors!r}.")
    with name_scope(name, "tuple"):
        gate = group(*given, *([] if control_inputs is None else listed(control_inputs, "operations")))
        with control_dependencies([gate]):
            return [None if tensor is None else _passed(tensor) for tensor in tensors]


@export("tuple", v1=())
def tuple_v2(tensors: Any, control_inputs: object = None, name: str | None = None) -> list[Any]:
    """The tensors, each available only when all of them are.

    Args:
        tensors: The tensors, of which some may be None.
        control_inputs: Operations that must be over as well.
        name: A name for the ops.
    """
    return tuple(tensors, name, control_inputs)


def _passed(tensor: ArrayLike) -> IndexedSlices | Tensor:
    if isinstance(tensor, IndexedSlices):
        return IndexedSlices(identity(tensor.values), identity(tensor.indices), tensor.dense_shape)
    return identity(tensor)


__all__ = ["group", "no_op", "placeholder", "placeholder_with_default", "tuple"]
