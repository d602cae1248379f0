"""Tensors from values of the program: constants, fills, ranges.

A constant is created on the requested device, else on the best device for its dtype. It is placed by the rules of the
op ``Const``, but it is a value rather than work, so it is listed in explanations and not in the placement log.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.devices import scope as scopes
from situs._src.base.devices.scope import here
from situs._src.base.dtype import FIXED, FLOATING, REAL, STRING, WIDE_UNSIGNED, DType, as_dtype
from situs._src.base.errors import (
    ArgumentError,
    ConversionError,
    DTypeError,
    ResourceExhaustedError,
    UnimplementedError,
    shown,
)
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.base.tensor import Tensor, read
from situs._src.base.typing import ArrayLike, DTypeLike, HostValue, IntLike, ShapeLike
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import find_op
from situs._src.ir.registry.traits import EACH_VALUE, FOLDABLE, FRESH
from situs._src.ops.array import as_sizes, partly, sizes_of
from situs._src.ops.attribute import as_bool
from situs._src.ops.define import CPU, GPU, op, same_shape
from situs._src.ops.spelling import renamed
from situs._src.ops.sum_to import sum_to
from situs._src.placement.candidates import Assignment
from situs._src.runtime.eager.bridge import TORCH_DTYPE, Place, host, place
from situs._src.runtime.eager.convert import PYTHON_NUMBERS, array_to_value, host_to_value, scalar, to_array
from situs._src.runtime.eager.execute import decide, note
from situs._src.runtime.eager.tensor import EagerTensor, copy_to, wrap
from situs._src.runtime.symbolic.bind import SymbolicBinder, has_tensor
from situs._src.runtime.symbolic.bind import constant as symbolic_constant

# Const.

_const = op("Const", "-> output: dtype", value=None)


@_const.shape
def _const_shape(*, value: np.ndarray[Any, Any]) -> TensorShape:
    return TensorShape(value.shape)


@_const.kernel(CPU)
@_const.kernel(GPU, dtype=FIXED)
def _const_kernel(*, value: np.ndarray[Any, Any], dtype: DType, device: torch.device) -> Any:
    # In eager code `constant` does the same by itself: these are kernels for the placement rules to find.
    made = host_to_value(value, dtype)
    return made if dtype is dt.string else made.to(device)


@export(
    "constant",
    differs="A Python integer that does not fit the dtype is a TypeError, where TensorFlow wraps it around; 1e39 "
    "is infinite, as it is with dtype=tf.float32 in both. A NumPy value among the leaves decides the "
    "dtype: [True, 1] is int32, [1, np.float64(2)] is float64, [np.int64(1)] is int64. A tensor is copied "
    "to the device that is asked for. No constant is cached: placement is decided each time.",
    v1=(),
)
def constant(
    value: ArrayLike, dtype: DTypeLike | None = None, shape: ShapeLike | None = None, name: str = "Const"
) -> Tensor:
    """Makes a constant tensor of a Python or NumPy value.

    Args:
        value: A number, a string, nested lists of them, or a NumPy array.
        dtype: The dtype; by default int32, float32, bool, complex128 or string for Python values,
            the array's own for NumPy.
        shape: The shape; by default the value's. A single value fills it.
        name: A name for the op.

    Raises:
        TypeError: the values do not fit the dtype, or their number does not fit the shape.
        ValueError: the value has no tensor, for instance because its rows differ in length.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    value = read(value)
    if isinstance(value, Tensor):
        return _constant_of_tensor(value, wanted, shape)
    array, natural = to_array(value, wanted)
    if shape is not None:
        array = _shaped(array, shape, value)
    if here.graph is not None:
        return symbolic_constant(here.graph, array, natural, name)
    where, assignment = _constant_place(natural, name)
    note(assignment)
    return wrap(array_to_value(array, natural, where.device), where, assignment)


@export(v1="constant")
def constant_v1(
    value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """Makes a constant; in a graph the last of too few elements fills the rest of `shape`.

    Args:
        value: A number, a string, nested lists of them, or a NumPy array.
        dtype: The dtype; by default the value's.
        shape: The shape; by default the value's.
        name: A name for the op.
        verify_shape: Whether a value of another shape is an error.

    Raises:
        TypeError: the shapes differ and `verify_shape` is set.
        ValueError: there are more elements than the shape has.
    """
    must_fit = as_bool(verify_shape, "verify_shape")
    if shape is None or isinstance(read(value), Tensor):
        return constant(value, dtype, shape, name)
    array, natural = to_array(value, None if dtype is None else as_dtype(dtype))
    sizes: Any = shape
    wanted = TensorShape(sizes)
    count = wanted.num_elements()
    if must_fit and wanted != TensorShape(array.shape):
        raise DTypeError(f"Expected Tensor's shape: {tuple(wanted)}, got {array.shape}.")
    if here.graph is not None and count is not None and array.size not in (0, count):
        if array.size > count:
            raise ArgumentError(f"Too many elements provided. Needed at most {count}, but received {array.size}")
        flat = array.reshape(-1)
        value = np.concatenate([flat, np.full(count - flat.size, flat[-1], dtype=flat.dtype)])
    return constant(value, natural, shape, name)


@export("convert_to_tensor", v1=())
def convert_to_tensor(
    value: Any, dtype: DTypeLike | None = None, dtype_hint: Any = None, name: str | None = None
) -> Tensor:
    """Returns `value` as a tensor; a tensor is returned as it is.

    Args:
        value: A tensor, or anything `constant` takes.
        dtype: The dtype to have; a tensor of another dtype is an error, tensors in a list are cast.
        dtype_hint: A dtype to try first when `dtype` is not given.
        name: A name for the op.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    value = value.__tf_tensor__(wanted, name) if hasattr(type(value), "__tf_tensor__") else read(value)
    if isinstance(value, Tensor):
        if wanted is not None and value.dtype is not wanted:
            raise ConversionError(
                f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype {value.dtype.name}: {value!r}. "
                f"Use tf.cast(tensor, tf.{wanted.name})."
            )
        return value
    if isinstance(value, (list, tuple)) and here.graph is not None and has_tensor(value):
        items = value if wanted is None else _cast_in(value, wanted)
        packed: Tensor = SymbolicBinder(here.graph, name or "Const").tensor(items, wanted, _const.outputs[0])
        return packed
    if wanted is None and dtype_hint is not None:
        hint = as_dtype(dtype_hint)
        try:
            return constant(value, hint, name=name or "Const")
        except (TypeError, ValueError):
            pass  # a hint is only a hint
    try:
        return constant(value, wanted, name=name or "Const")
    except (TypeError, ValueError):
        if wanted is None or not isinstance(value, (list, tuple)) or not has_tensor(value):
            raise
    return constant(_cast_in(value, wanted), wanted, name=name or "Const")


@export(v1="convert_to_tensor")
def convert_to_tensor_v1(
    value: Any,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
) -> Tensor:
    """Returns `value` as a tensor, with the argument order of TensorFlow 1, where a hint is also a preferred dtype."""
    hint = renamed("dtype_hint", dtype_hint, "preferred_dtype", preferred_dtype)
    return convert_to_tensor(value, dtype, hint, name)


def _cast_in(value: object, dtype: DType) -> Any:
    """Nested lists, with the tensors in them cast."""
    if isinstance(value, (list, tuple)):
        return [_cast_in(item, dtype) for item in value]
    tensor = read(value)
    if not isinstance(tensor, Tensor) or tensor.dtype is dtype:
        return tensor
    return find_op("Cast")(tensor, DstT=dtype)


def kept_number(value: object, dtype: DType) -> Any:
    """In eager code, the tensor that the host keeps of a Python number; anything else as it is.

    An op with an input that is a number and steers it, such as a position, is so found among the steps remembered.
    """
    if here.graph is None and type(value) in (int, float):
        found = scalar(value, place(host(), dtype))
        return value if found is None else found
    return value


def _constant_of_tensor(value: Tensor, wanted: DType | None, shape: Any) -> Tensor:
    if wanted is not None and value.dtype is not wanted:
        raise DTypeError(
            f"Expected tensor {value} with dtype {wanted!r}, but got dtype {value.dtype!r}. "
            f"Use tf.cast(tensor, {wanted!r})."
        )
    if shape is None or value.shape == TensorShape(shape):
        # The tensor on the device that a constant of its dtype would be made on.
        if isinstance(value, SymbolicTensor):
            return value
        assert isinstance(value, EagerTensor)
        if here.graph is not None:
            return symbolic_constant(here.graph, value, value.dtype)
        return copy_to(value, _constant_place(value.dtype, "Const")[0].device)
    if isinstance(value, SymbolicTensor):
        raise DTypeError(f"tf.constant takes values, not the symbolic {value!r}. Use tf.reshape or tf.fill.")
    assert isinstance(value, EagerTensor)
    return constant(value.numpy(), value.dtype, shape)


def _constant_place(dtype: DType, name: str) -> tuple[Place, Assignment]:
    """Where the scope puts a constant of this dtype; remembered like the steps of ops."""
    scope = here.scope
    found = scope.memo.get((_const, dtype))
    if found is None:
        rules = scopes.generation()
        assignment = decide(_const, {"dtype": dtype}, name)
        found = place(assignment.device, dtype), assignment
        if not scope.calls_functions:
            scopes.remember(scope.memo, (_const, dtype), found, rules)
    return found


def _shaped(array: np.ndarray[Any, Any], shape: Any, value: object) -> np.ndarray[Any, Any]:
    wanted = TensorShape(shape)
    count = wanted.num_elements()
    if count is None:
        raise ArgumentError(f"The shape of a constant must be fully known, got {wanted}.")
    sizes: Any = tuple(wanted)
    if array.size == count:
        return array.reshape(sizes)
    if array.size == 1:
        try:
            return np.broadcast_to(array.reshape(()), sizes).copy()
        except (MemoryError, ValueError):  # ValueError: more elements than NumPy can count
            raise ResourceExhaustedError(f"OOM when making a constant of shape {wanted}.") from None
    raise DTypeError(
        f"Eager execution of tf.constant with unsupported shape. Tensor {array} (converted from {value}) has "
        f"{array.size} elements, but got `shape` {wanted} with {count} elements)."
    )


# Fill, zeros, ones.

_fill = op("Fill", "dims: host, value: T -> output: T", traits={FOLDABLE})


@_fill.shape
def _fill_shape(dims: HostValue, value: TensorShape) -> TensorShape:
    if value.rank not in (None, 0):
        raise ArgumentError(f"value must be a scalar, but has shape {value}")
    return UNKNOWN if dims is None else TensorShape(partly(_checked_dims, dims))


def _checked_dims(dims: HostValue) -> tuple[int, ...]:
    for size in as_sizes(dims):
        if size < 0:
            raise ArgumentError(f"Dimension {size} must be >= 0")
    return as_sizes(dims)


@_fill.kernel(CPU, GPU, T=FIXED)
def _fill_kernel(dims: HostValue, value: torch.Tensor) -> torch.Tensor:
    if value.ndim:
        raise ValueError("value must be a scalar")
    # A fresh tensor rather than an expanded view, whose elements would share one cell.
    return value.expand(_checked_dims(dims)).clone(memory_format=torch.contiguous_format)


@_fill.kernel(CPU, T=STRING)
def _fill_strings(dims: HostValue, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if value.ndim:
        raise ValueError("value must be a scalar")
    return np.broadcast_to(value, _checked_dims(dims)).copy()


@_fill.gradient
def _fill_gradient(grad: Tensor) -> Tensor:
    return sum_to(grad, ())


@export("fill")
def fill(dims: Any, value: ArrayLike, name: str | None = None, layout: object = None) -> Tensor:
    """Makes a tensor of shape `dims` with `value` in every element; its `layout` is None."""
    if layout is not None:
        _refuse_layout(layout)
    given = convert_to_tensor(value) if type(value) in PYTHON_NUMBERS and here.graph is None else value
    return _fill(dims, given, name=name)


def _refuse_layout(layout: object) -> None:
    raise UnimplementedError(f"A layout spreads a tensor over a mesh, which Situs has not: leave out {shown(layout)}.")


@export("zeros")
def zeros(shape: ShapeLike, dtype: DTypeLike = dt.float32, name: str | None = "zeros", layout: object = None) -> Tensor:
    """Makes a tensor of zeros (empty strings, False) of the given shape and dtype; its `layout` is None."""
    if layout is not None:
        _refuse_layout(layout)
    return _full(shape, value=0, dtype=as_dtype(dtype), name=name)


@export("ones")
def ones(shape: ShapeLike, dtype: DTypeLike = dt.float32, name: str | None = "ones", layout: object = None) -> Tensor:
    """Makes a tensor of ones of the given shape and dtype; its `layout` is None."""
    if layout is not None:
        _refuse_layout(layout)
    if as_dtype(dtype) is dt.string:
        raise DTypeError("tf.ones is not defined for strings; use tf.fill.")
    return _full(shape, value=1, dtype=as_dtype(dtype), name=name)


# Full: the fill whose value is known beforehand, so that nothing has to be copied to the device.

_full = op("Full", "dims: host -> output: dtype", traits={FOLDABLE}, value=0)


@_full.shape
def _full_shape(dims: HostValue, *, value: int) -> TensorShape:
    return UNKNOWN if dims is None else TensorShape(partly(_checked_dims, dims))


@_full.kernel(CPU, GPU, dtype=FIXED)
def _full_kernel(dims: HostValue, *, value: int, dtype: DType, device: torch.device) -> torch.Tensor:
    return torch.full(_checked_dims(dims), value, dtype=TORCH_DTYPE[dtype], device=device)


@_full.kernel(CPU, dtype=STRING)
def _full_strings(dims: HostValue, *, value: int, dtype: DType) -> np.ndarray[Any, Any]:
    return np.full(_checked_dims(dims), b"", dtype=object)


_zeros_like = op("ZerosLike", "x: T -> y: T", traits={FRESH, EACH_VALUE})
_zeros_like.shape(same_shape)
_zeros_like.kernel(CPU, GPU, T=FIXED)(torch.zeros_like)


@_zeros_like.kernel(CPU, T=STRING)
def _zeros_like_strings(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.full(x.shape, b"", dtype=object)


_ones_like = op("OnesLike", "x: T -> y: T", traits={FRESH, EACH_VALUE}, T=FIXED)
_ones_like.shape(same_shape)
_ones_like.kernel(CPU, GPU)(torch.ones_like)
_zeros_like.stops_gradients()
_ones_like.stops_gradients()


@export("zeros_like", v1=())
def zeros_like(
    input: ArrayLike, dtype: DTypeLike | None = None, name: str | None = None, layout: object = None
) -> Tensor:
    """Makes zeros with the shape of `input`, and its dtype unless another is given; its `layout` is None."""
    if layout is not None:
        _refuse_layout(layout)
    if hasattr(type(input), "with_flat_values"):  # rows of different lengths stay such
        ragged: Any = input
        return ragged.with_flat_values(zeros_like(ragged.flat_values, dtype, name))  # type: ignore[no-any-return]
    tensor = convert_to_tensor(input)
    if dtype is None or as_dtype(dtype) is tensor.dtype:
        return _zeros_like(tensor, name=name)
    return zeros(sizes_of(tensor), dtype, name)


@export(v1="zeros_like")
def zeros_like_v1(
    tensor: ArrayLike, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Makes zeros with the shape of `tensor`; `optimize` is accepted, and the result is the same without it."""
    as_bool(optimize, "optimize")
    return zeros_like(tensor, dtype, name)


@export("ones_like", v1=())
def ones_like(
    input: ArrayLike, dtype: DTypeLike | None = None, name: str | None = None, layout: object = None
) -> Tensor:
    """Makes ones with the shape of `input`, and its dtype unless another is given; its `layout` is None."""
    if layout is not None:
        _refuse_layout(layout)
    if hasattr(type(input), "with_flat_values"):  # rows of different lengths stay such
        ragged: Any = input
        return ragged.with_flat_values(ones_like(ragged.flat_values, dtype, name))  # type: ignore[no-any-return]
    tensor = convert_to_tensor(input)
    if dtype is None or as_dtype(dtype) is tensor.dtype:
        return _ones_like(tensor, name=name)
    return ones(sizes_of(tensor), dtype, name)


@export(v1="ones_like")
def ones_like_v1(
    tensor: ArrayLike, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Makes ones with the shape of `tensor`; `optimize` is accepted, and the result is the same without it."""
    as_bool(optimize, "optimize")
    return ones_like(tensor, dtype, name)


# Ranges.

_range = op("Range", "start: host, limit: host, delta: host -> output: Tidx", traits={FOLDABLE}, Tidx=REAL)


@_range.shape
def _range_shape(start: Any, limit: Any, delta: Any) -> TensorShape:
    if start is None or limit is None or delta is None:
        return TensorShape([None])
    lengths = {_range_length(start, limit, delta, dtype) for dtype in (dt.float32, dt.float64)}
    return TensorShape([lengths.pop() if len(lengths) == 1 else None])  # which of them, the dtype decides


def _range_length(start: float, limit: float, delta: float, dtype: DType) -> int:
    for value in (start, limit, delta):
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ArgumentError(f"Range takes three finite scalars, got start={start}, limit={limit}, delta={delta}")
    if delta == 0:
        raise ArgumentError(f"Requires delta != 0: {delta}")
    if (limit < start) if delta > 0 else (limit > start):
        sign = "<=" if delta > 0 else ">="
        raise ArgumentError(f"Requires start {sign} limit when delta {'>' if delta > 0 else '<'} 0: {start}/{limit}")
    if isinstance(start, int) and isinstance(limit, int) and isinstance(delta, int):
        return len(builtins.range(start, limit, delta))
    if dtype is dt.float32:  # which decides whether the limit is reached: 3 / 0.00375 is 800 there, and more in float64
        with np.errstate(all="ignore"):
            return math.ceil(abs((np.float32(limit) - np.float32(start)) / np.float32(delta)))
    return math.ceil(abs((limit - start) / delta))


@_range.kernel(CPU)
@_range.kernel(GPU, Tidx=REAL - WIDE_UNSIGNED)
def _range_kernel(start: Any, limit: Any, delta: Any, *, Tidx: DType, device: torch.device) -> torch.Tensor:  # noqa: N803
    steps = torch.arange(_range_length(start, limit, delta, Tidx), device=device, dtype=torch.int64)
    exact = steps if Tidx.is_integer else steps.to(torch.float32 if Tidx is dt.float32 else torch.float64)
    values: torch.Tensor = exact * delta + start
    return values.to(TORCH_DTYPE[Tidx])


@export("range")
def range(
    start: ArrayLike,
    limit: ArrayLike | None = None,
    delta: ArrayLike = 1,
    dtype: DTypeLike | None = None,
    name: str = "range",
) -> Tensor:
    """Makes a sequence from `start` up to, not including, `limit` in steps of `delta`.

    ``range(n)`` counts from 0 to n - 1. The dtype is int32 for Python integers and float32 for
    Python floats, unless a tensor or `dtype` says otherwise.
    """
    if limit is None:
        start, limit = 0, start
    values = [read(value) for value in (start, limit, delta)]
    wanted = _range_dtype(values) if dtype is None else as_dtype(dtype)
    if dtype is not None and wanted.is_integer:
        for value in values:
            if isinstance(value, float):
                raise DTypeError(f"Cannot convert {value} to EagerTensor of dtype {wanted.name}")
    return _range(*values, Tidx=wanted, name=name)


def _range_dtype(values: Sequence[Any]) -> DType:
    dtypes = [value.dtype if isinstance(value, Tensor) else to_array(value)[1] for value in values]
    order = (dt.int32, dt.int64, dt.float32, dt.float64)
    for dtype in dtypes:
        if dtype not in order:
            raise DTypeError(f"range takes int32, int64, float32 or float64, got {dtype.name}.")
    return max(dtypes, key=order.index)


_linspace = op("LinSpace", "start: host, stop: host, num: host -> output: T", T=FLOATING)


@_linspace.shape
def _linspace_shape(start: HostValue, stop: HostValue, num: HostValue) -> TensorShape:
    for value in (start, stop):
        if value is not None and not isinstance(value, (int, float)):
            raise ArgumentError(f"linspace takes scalars, got start={start!r}, stop={stop!r}")
    return TensorShape([None if num is None else _as_num(num)])


def _as_num(num: Any) -> int:
    if not isinstance(num, int) or isinstance(num, bool) or num < 0:
        raise ArgumentError(f"Requires num >= 0: {num}")
    return num


@_linspace.kernel(CPU, GPU)
def _linspace_kernel(start: Any, stop: Any, num: Any, *, T: DType, device: torch.device) -> torch.Tensor:  # noqa: N803
    _linspace_shape(start, stop, num)
    return torch.linspace(start, stop, num, dtype=torch.float64, device=device).to(TORCH_DTYPE[T])


def linspace_of_numbers(start: ArrayLike, stop: ArrayLike, num: IntLike, name: str | None = None) -> Tensor:
    """Makes `num` evenly spaced values from one number to another, both included."""
    given = [v.dtype for v in (start, stop) if isinstance(v, np.generic)]
    whole = isinstance(start, int) and isinstance(stop, int)
    dtype = as_dtype(given[0]) if given else dt.int32 if whole else dt.float32
    if dtype.is_integer:
        dtype = dt.float64  # as TensorFlow: there are no integer steps
    return _linspace(start, stop, num, T=dtype, name=name)
