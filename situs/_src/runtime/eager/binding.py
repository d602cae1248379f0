"""From a call's arguments to a kernel's inputs: binding them to an op's signature.

Tensors determine the type variables; Python values are then converted to them, if that loses nothing, and NumPy values
are always converted. Host inputs (shapes, axes, sizes) become plain Python values.

    tf.add(float32_tensor, 1)                   T = float32, 1 becomes 1.0
    tf.add(int32_tensor, np.float64(1.5))       T = int32, 1.5 becomes 1, as NumPy converts
    tf.add(int32_tensor, 1.5)                   an error that says what to cast
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from situs._src.base.devices.logical import Device
from situs._src.base.dtype import INDEX, DType, int32
from situs._src.base.errors import ArgumentError, DTypeError, OpError, shown
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor, is_tensor, read
from situs._src.ir.registry.kernel import dtype_list
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.signature import ANY, Arg
from situs._src.runtime.eager.bridge import place
from situs._src.runtime.eager.convert import PYTHON_NUMBERS, scalar, to_tensor
from situs._src.runtime.eager.tensor import EagerTensor, to_numpy

PLAIN = frozenset({int, float, bool, str, bytes})
_HOST_TYPES = frozenset({EagerTensor, np.ndarray, np.int32, np.int64, TensorShape, DType})


class BoundInputs(NamedTuple):
    """The inputs of one call: tensors or host values in order, and the type variables."""

    inputs: tuple[Any, ...]  # an EagerTensor, a list of them, or a host value, as the signature says
    types: dict[str, DType]


class Binder:
    """Converts the program's values to inputs, for one runtime; `runtime.symbolic.bind` has the other."""

    def bind(self, op: Op, inputs: Sequence[Any], attrs: dict[str, Any]) -> BoundInputs:
        """Converts the inputs of a call to what the op's signature requires.

        Raises:
            TypeError: the number of inputs is wrong.
            InvalidArgumentError: an input cannot be converted to a tensor, or the wrong dtype.
        """
        if len(inputs) != len(op.inputs):
            raise TypeError(f"{op.name} takes {len(op.inputs)} inputs ({op.signature}), got {len(inputs)}.")
        inputs = [[read(item) for item in v] if isinstance(v, (list, tuple)) else read(v) for v in inputs]
        types = {name: attrs[name] for name in op.given_types}
        _types_from_tensors(op, inputs, types)
        bound = tuple([self._bind_one(op, number, value, types) for number, value in enumerate(inputs)])
        for variable, dtype in types.items():
            if dtype not in op.types[variable]:
                raise self.refusal(_not_allowed(op, variable, dtype), op)
        return BoundInputs(bound, types)

    def tensor(self, value: object, wanted: DType | None, arg: Arg) -> Any:
        """The tensor for a value, of the wanted dtype if the value can be converted."""
        raise NotImplementedError

    def host(self, value: object) -> Any:
        """The host value for a value."""
        raise NotImplementedError

    def refusal(self, error: DTypeError, op: Op) -> OpError:
        """The error to raise for a tensor of a dtype that the op does not accept."""
        raise NotImplementedError

    def _bind_one(self, op: Op, number: int, value: object, types: dict[str, DType]) -> Any:
        arg = op.inputs[number]
        if arg.is_host:
            return self.host(value)
        if not arg.is_list:
            return self._bind_tensor(op, arg, number, value, types)
        if not isinstance(value, (list, tuple)):
            raise DTypeError(f"Input {arg.name!r} of {op.name} is a list of tensors, got {type(value).__name__}.")
        return [self._bind_tensor(op, arg, number + i, item, types) for i, item in enumerate(value)]

    def _bind_tensor(self, op: Op, arg: Arg, number: int, value: object, types: dict[str, DType]) -> Any:
        wanted = types.get(arg.type) if isinstance(arg.type, str) else arg.type
        try:
            tensor = self.tensor(value, wanted, arg)
        except DTypeError:
            if not (op.hints_dtype and number and wanted is not None):
                raise
            tensor = self.tensor(value, None, arg)
        if arg.type is ANY:
            return tensor
        if wanted is None:
            assert isinstance(arg.type, str)
            if op.types[arg.type] == INDEX and not isinstance(value, Tensor) and tensor.dtype.is_integer:
                tensor = tensor if tensor.dtype in INDEX else self.tensor(value, int32, arg)
            types[arg.type] = tensor.dtype
        elif tensor.dtype is not wanted:
            raise self.refusal(_mismatch(op, arg, number, wanted, tensor.dtype), op)
        return tensor


class EagerBinder(Binder):
    """Binds to eager tensors; Python numbers are put on the device of the first one."""

    def __init__(self, near: Device | None) -> None:
        self.near = near

    def refusal(self, error: DTypeError, op: Op) -> OpError:
        """The error of an op that is about to run."""
        return error.in_op(op.name)

    def tensor(self, value: object, wanted: DType | None, arg: Arg) -> EagerTensor:
        """The eager tensor for a value."""
        return _as_tensor(value, wanted, self.near)

    def host(self, value: object) -> Any:
        """The plain Python value for a value."""
        return host_value(value)


def bind(op: Op, inputs: Sequence[Any], attrs: dict[str, Any]) -> BoundInputs:
    """Converts the inputs of an eager call to what the op's signature requires."""
    return EagerBinder(_device_of_first(inputs)).bind(op, inputs, attrs)


def is_host_value(value: Any) -> bool:
    """Whether `host_value` can certainly read a value: it is neither symbolic nor of a class of the program's own."""
    kind = type(value)
    if value is None or kind in PLAIN or kind in _HOST_TYPES:
        return True
    if kind is not list and kind is not tuple:
        return False
    return all(type(item) in PLAIN or type(item) in _HOST_TYPES for item in value) or _is_table(value)


def _is_table(value: list[Any] | tuple[Any, ...]) -> bool:
    """Whether these are rows of plain values, all of the same length: paddings, for example."""
    for row in value:
        if (type(row) is not list and type(row) is not tuple) or len(row) != len(value[0]):
            return False
        if not PLAIN.issuperset(map(type, row)):
            return False
    return True


def host_value(value: Any) -> Any:
    """A shape, axis or size as plain Python: numbers, strings and tuples of them.

    Tensors are read back from their device, which synchronizes with it.
    """
    kind = type(value)
    if value is None or kind in PLAIN:
        return value
    if (kind is list or kind is tuple) and PLAIN.issuperset(map(type, value)):
        return tuple(value)
    if isinstance(value, (list, tuple)):
        try:
            return _rectangular(tuple(host_value(item) for item in value))
        except RecursionError:
            raise ArgumentError("Expected a number or a shape, got a list that contains itself.") from None
    value = read(value)
    if isinstance(value, EagerTensor):
        return _freeze(to_numpy(value).tolist())
    if isinstance(value, TensorShape):
        return tuple(value)
    if isinstance(value, np.ndarray):
        return _freeze(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (DType, slice)):
        return value
    if hasattr(kind, "__index__"):
        return int(value)
    if hasattr(kind, "__array__"):
        return host_value(np.asarray(value))
    raise DTypeError(f"Expected a number, a shape or a tensor of them, got {shown(value)} of type {kind.__name__!r}.")


def _rectangular(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if len({len(item) if isinstance(item, tuple) else None for item in values}) > 1:
        raise ArgumentError(f"Can't convert non-rectangular Python sequence to Tensor. Got {shown(values)}.")
    return values


def _freeze(value: object) -> Any:
    return tuple(_freeze(item) for item in value) if isinstance(value, list) else value


def _types_from_tensors(op: Op, inputs: Sequence[Any], types: dict[str, DType]) -> None:
    for arg, value in zip(op.inputs, inputs, strict=True):
        if isinstance(arg.type, str) and not arg.is_host and arg.type is not ANY and arg.type not in types:
            for item in value if arg.is_list and isinstance(value, (list, tuple)) else (value,):
                if isinstance(item, Tensor):
                    types[arg.type] = item.dtype
                    break


def _device_of_first(inputs: Sequence[Any]) -> Device | None:
    for value in map(read, inputs):
        if isinstance(value, EagerTensor):
            return value._place.device
    return None


def _as_tensor(value: Any, wanted: DType | None, near: Device | None) -> EagerTensor:
    if isinstance(value, EagerTensor):
        return value
    if wanted is not None:
        if near is not None and type(value) in PYTHON_NUMBERS:
            found = scalar(value, place(near, wanted))
            if found is not None:
                return found
        if not is_tensor(value):
            return to_tensor(value, wanted)
        try:
            return to_tensor(value, wanted)
        except DTypeError:
            pass  # a variable, say: it has a dtype of its own, and the mismatch is reported
    return to_tensor(value)


def _mismatch(op: Op, arg: Arg, number: int, wanted: DType, got: DType) -> DTypeError:
    return DTypeError(
        f"cannot compute {op.name} as input #{number}(zero-based) was expected to be a {wanted.proto_name} tensor "
        f"but is a {got.proto_name} tensor. Tensors are not promoted: cast input {arg.name!r} with "
        f"tf.cast({arg.name}, tf.{wanted.name}), or the others to tf.{got.name}. [Op:{op.name}]"
    )


def _not_allowed(op: Op, variable: str, dtype: DType) -> DTypeError:
    return DTypeError(
        f"Value for attr '{variable}' of {dtype.proto_name} is not in the list of allowed values: "
        f"{dtype_list(op.types[variable])}. {op.name} takes ({op.signature}); cast the input with tf.cast. "
        f"[Op:{op.name}]"
    )
