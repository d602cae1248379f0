"""From Python and NumPy values to tensors, with TensorFlow's rules for dtypes.

    Python bool -> bool, int -> int32 (int64 if it does not fit), float -> float32,
    complex -> complex128, str and bytes -> string; NumPy values keep their dtype.

A requested dtype must be able to hold the values: floats do not become integers, numbers do not become
strings, and an integer that does not fit is an error, where TensorFlow wraps around.
"""

from __future__ import annotations

import array
import builtins
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.devices.logical import Device
from situs._src.base.dtype import FLOAT8, DType, as_dtype
from situs._src.base.errors import ArgumentError, ConversionError, DTypeError, ResourceExhaustedError, shown
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor, is_tensor, read
from situs._src.base.tree import deeper
from situs._src.runtime.eager.allocations import counted, on_release
from situs._src.runtime.eager.bridge import TORCH_DTYPE, Place, Value, host, place, torch_device
from situs._src.runtime.eager.oom import exhausted, is_shortage
from situs._src.runtime.eager.tensor import EagerTensor, copy_to, to_numpy, wrap

PYTHON_NUMBERS = (builtins.bool, int, float, complex)
MAX_RANK = 64  # NumPy's and PyTorch's
_FLOATS = {float}
_PYTHON_DTYPES = ((complex, dt.complex128), (float, dt.float32), (int, dt.int32))
_SCALAR_CACHE_SIZE = 4096
_scalars: dict[tuple[type, Any, Place], EagerTensor] = {}
on_release.append(_scalars.clear)


def to_tensor(value: object, dtype: DType | None = None, device: Device | None = None) -> EagerTensor:
    """Converts a value to a tensor.

    Args:
        value: A tensor, NumPy array or scalar, Python number, string, or nested lists of these.
        dtype: The dtype; by default the value's natural one.
        device: The device; by default the host.

    Raises:
        ValueError, TypeError: the value cannot be converted to a tensor, or not to that dtype.
    """
    device = device or host()
    value = read(value)
    if isinstance(value, EagerTensor):
        if dtype is not None and value.dtype is not dtype:
            raise _cast_first(value, dtype)
        return copy_to(value, device)
    values, natural = to_array(value, dtype)
    return wrap(array_to_value(values, natural, device), place(device, natural))


def scalar(value: object, where: Place) -> EagerTensor | None:
    """The cached tensor for a Python number at a place; None if it does not fit there."""
    key = (type(value), value, where)
    found = _scalars.get(key)
    if found is None:
        if not _number_fits(value, where.dtype):
            return None
        found = to_tensor(value, where.dtype, where.device)
        # Different values with equal keys: 0.0 and -0.0, also as parts of complex numbers. NaN equals no key at all.
        if value and value == value and type(value) is not complex:
            if len(_scalars) >= _SCALAR_CACHE_SIZE:
                _scalars.clear()
            _scalars[key] = found
    return found


def to_array(value: object, dtype: DType | None = None) -> tuple[np.ndarray[Any, Any], DType]:
    """The value as a fresh NumPy array, with its dtype.

    Strings become an array of ``bytes`` objects.
    """
    if type(value) is list and dtype is None and set(map(type, value)) == _FLOATS:
        # By far the most common constant. Python's own array makes a float that is too large infinite, which
        # is what it becomes with an explicit dtype too; NumPy would warn, and suppressing that costs more than this.
        return np.frombuffer(array.array("f", value), np.float32), dt.float32
    if isinstance(value, (np.ndarray, np.generic)):
        return _from_numpy(value, dtype)
    if isinstance(value, (torch.Tensor, TensorShape)) or hasattr(type(value), "__array__"):
        return _from_array_like(value, dtype)
    return _from_python(value, dtype)


def array_to_value(values: np.ndarray[Any, Any], dtype: DType, device: Device) -> Value:
    """A NumPy array as the value of a tensor on a device. Takes ownership of the array's memory."""
    value = host_to_value(values, dtype)
    return value if device.type == "CPU" else _place_on(value, device)


def host_to_value(values: np.ndarray[Any, Any], dtype: DType) -> Value:
    """A NumPy array as the value of a tensor on the host. Takes ownership of the array's memory."""
    if dtype is dt.string:
        return values
    if dtype is dt.bfloat16:
        return torch.from_numpy(values.view(np.int16)).view(torch.bfloat16)
    if dtype in FLOAT8:
        return torch.from_numpy(values.view(np.uint8)).view(TORCH_DTYPE[dtype])
    return torch.from_numpy(values)


def _place_on(value: torch.Tensor, device: Device) -> torch.Tensor:
    """Copies a constant to a GPU; for a virtual one, fresh host memory is used as it is."""
    where = torch_device(device)
    bring = counted(lambda: value if where.type == "cpu" else value.to(where), device, "Const")
    try:
        return bring()  # type: ignore[no-any-return]
    except Exception as error:
        if is_shortage(error):
            raise exhausted(error, device, "Const", value) from None
        raise


def _from_numpy(value: Any, dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    natural = _numpy_dtype(value)
    if natural is dt.string:
        if dtype not in (None, dt.string):
            raise DTypeError(f"Cannot convert a NumPy array of {value.dtype} to a tensor of dtype {dtype!r}.")
        return _bytes_array(value), dt.string
    wanted = dtype or natural
    if wanted is dt.string or (natural.is_complex and not wanted.is_complex):
        raise DTypeError(f"Cannot convert a NumPy array of {value.dtype} to a tensor of dtype {wanted.name}.")
    with np.errstate(all="ignore"):  # conversions lose information as in TensorFlow
        return np.array(value, dtype=wanted.as_numpy_dtype, order="C"), wanted


def _numpy_dtype(value: Any) -> DType:
    if value.dtype.kind in "SUO":
        return dt.string
    try:
        return as_dtype(value.dtype)
    except TypeError:
        raise DTypeError(f"NumPy's dtype {value.dtype} has no tensor dtype. Convert the array first.") from None


def _from_array_like(value: object, dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    if isinstance(value, TensorShape):
        if not value.is_fully_defined():
            raise ArgumentError(f"Cannot convert a partially known TensorShape {value} to a Tensor.")
        return to_array(np.array(value.as_list(), np.int32), dtype)
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        if value.dtype is torch.bfloat16:
            value = value.view(torch.int16).numpy().view(dt.bfloat16.as_numpy_dtype)
    return _from_numpy(np.asarray(value), dtype)


def _from_python(value: object, dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    try:
        kinds = set(_leaf_types(value))
    except RecursionError:
        raise ArgumentError(
            "Can't convert a Python sequence that contains itself, or is nested without end, to Tensor."
        ) from None
    if any(map(_is_sequence, kinds)):
        value = _as_lists(value, 0)
        kinds = set(_leaf_types(value))
    natural = _natural_dtype(value, kinds)
    wanted = dtype or natural
    _check_kind(value, natural, wanted)
    if any(issubclass(k, Tensor) or hasattr(k, "__tensor__") for k in kinds):
        value = _tensors_to_arrays(value, wanted)
    if wanted is dt.string:
        return _bytes_array(np.array(value, dtype=object)), dt.string
    if wanted.is_integer and natural.is_integer:
        return _integers(value, wanted, fixed=dtype is not None or natural is not dt.int32)
    with np.errstate(over="ignore"):  # a float that is too large becomes infinite
        return _rectangular(value, wanted.as_numpy_dtype, wanted), wanted


def _integers(value: object, wanted: DType, fixed: bool) -> tuple[np.ndarray[Any, Any], DType]:
    """Integers that must fit; int32 is widened to int64 unless the program asked for int32."""
    wide = _rectangular(value, np.uint64 if wanted is dt.uint64 else np.int64, wanted)
    low, high = wanted.limits
    if wide.size and not (low <= int(wide.min()) and int(wide.max()) <= high):
        if fixed:
            raise DTypeError(f"{shown(value)} does not fit {wanted.name}, which holds {low} to {high}.")
        wanted = dt.int64
    return wide.astype(wanted.as_numpy_dtype), wanted


def _rectangular(value: object, numpy_dtype: Any, wanted: DType) -> np.ndarray[Any, Any]:
    try:
        return np.array(value, dtype=numpy_dtype)
    except (OverflowError, TypeError):  # TypeError: bfloat16's overflow
        raise DTypeError(
            f"Can't convert Python sequence with out-of-range integer to Tensor. Got {shown(value)}, "
            f"which does not fit {wanted.name}."
        ) from None
    except MemoryError:
        raise ResourceExhaustedError(f"OOM when making a tensor of {shown(value)}.") from None
    except ValueError:
        if _depth(value) > MAX_RANK:
            raise ArgumentError(
                f"Can't convert a Python sequence nested {_depth(value)} levels deep to Tensor; "
                f"{MAX_RANK} are the most."
            ) from None
        raise ArgumentError(f"Can't convert non-rectangular Python sequence to Tensor. Got {shown(value)}.") from None


def _leaf_types(value: object) -> Iterator[type]:
    if not isinstance(value, (list, tuple)):
        if isinstance(value, range):
            yield int
        else:
            yield type(value)
        return
    kinds = set(map(type, value))
    if kinds.isdisjoint((list, tuple)) and not any(issubclass(k, (list, tuple)) for k in kinds):
        yield from kinds
        return
    for item in value:
        yield from _leaf_types(item)


def _is_sequence(kind: type) -> bool:
    """Whether objects of a class can be indexed, and are neither text nor arrays nor mappings."""
    has_items = hasattr(kind, "__len__") and hasattr(kind, "__getitem__")
    return (
        has_items
        and not issubclass(kind, (str, bytes, Mapping, np.ndarray, np.generic, Tensor, torch.Tensor))
        and (not hasattr(kind, "__tensor__") and not hasattr(kind, "__tf_tensor__"))
    )


def _as_lists(value: Any, depth: int) -> Any:
    """User-defined sequences, at any depth, as lists."""
    if not isinstance(value, (list, tuple)) and not _is_sequence(type(value)):
        return value
    below = deeper(depth)
    items = value if hasattr(type(value), "__iter__") else [value[number] for number in range(len(value))]
    return [_as_lists(item, below) for item in items]


def _natural_dtype(value: object, kinds: set[type]) -> DType:
    """The dtype for leaves of these Python types."""
    if not kinds:
        return dt.float32  # an empty list
    if all(issubclass(k, (str, bytes)) for k in kinds):
        return dt.string
    if any(not issubclass(k, PYTHON_NUMBERS) or issubclass(k, np.generic) for k in kinds):
        return _dtype_of_leaves(value)
    for python_type, dtype in _PYTHON_DTYPES:
        if any(issubclass(k, python_type) and k is not builtins.bool for k in kinds):
            return dtype
    return dt.bool


def _dtype_of_leaves(value: object) -> DType:
    """The dtype if NumPy values or tensors are among the leaves.

    It is the first one's, unless a later leaf needs more: a float among integers, a complex number.
    """
    fixed: list[DType] = []
    adapting: list[DType] = []  # of Python numbers, which adapt to others of their kind
    seen: set[type] = set()
    for leaf in _leaves(value):
        kind = type(leaf)
        if kind in seen:
            continue
        if not isinstance(leaf, (np.ndarray, torch.Tensor)) and not is_tensor(leaf):
            seen.add(kind)  # the type of a scalar determines its dtype
        (adapting if kind in PYTHON_NUMBERS else fixed).append(_dtype_of_leaf(leaf))
    dtypes = [*fixed, *adapting]
    if dt.string in dtypes and set(dtypes) != {dt.string}:
        raise ArgumentError(f"Can't convert Python sequence with mixed types to Tensor. Got {shown(value)}.")
    return max(dtypes, key=_width_of_kind)


def _dtype_of_leaf(leaf: object) -> DType:
    leaf = read(leaf)
    if isinstance(leaf, Tensor):
        return leaf.dtype
    if isinstance(leaf, (np.ndarray, np.generic)):
        return _numpy_dtype(leaf)
    if isinstance(leaf, torch.Tensor):
        return to_array(leaf)[1]
    if isinstance(leaf, (str, bytes)):
        return dt.string
    if isinstance(leaf, builtins.bool):
        return dt.bool
    for python_type, dtype in _PYTHON_DTYPES:
        if isinstance(leaf, python_type):
            return dtype
    if not hasattr(type(leaf), "__index__"):
        raise ArgumentError(
            f"Attempt to convert a value ({shown(leaf)}) with an unsupported type ({type(leaf)}) to a Tensor."
        )
    return dt.int32


def _width_of_kind(dtype: DType) -> int:
    return "sbifc".index(dtype.kind.replace("u", "i"))


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _tensors_to_arrays(value: object, wanted: DType) -> object:
    """The same nested lists with arrays for tensors, which must have the dtype: they are not promoted."""
    if isinstance(value, (list, tuple)):
        return [_tensors_to_arrays(item, wanted) for item in value]
    value = read(value)
    if not isinstance(value, EagerTensor):
        return value
    if value.dtype is not wanted:
        raise _cast_first(value, wanted)
    return to_numpy(value)


def _cast_first(tensor: EagerTensor, wanted: DType) -> DTypeError:
    return ConversionError(
        f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype {tensor.dtype.name}: "
        f"{shown(tensor)}. Use tf.cast(tensor, tf.{wanted.name})."
    )


def _check_kind(value: object, natural: DType, wanted: DType) -> None:
    """Rejects lossy conversions: floats as integers, numbers as bools or strings, strings as numbers."""
    if (wanted is dt.string) is (natural is dt.string) and _width_of_kind(natural) <= _width_of_kind(wanted):
        return
    if natural is not dt.float32 or list(_leaves(value)):  # an empty list has nothing to lose
        raise DTypeError(f"Cannot convert {shown(value)} to EagerTensor of dtype {wanted.name}")


def _number_fits(value: object, dtype: DType) -> bool:
    kind = type(value)
    if dtype.is_floating:
        return kind is float or kind is int or kind is builtins.bool
    if dtype.is_complex:
        return True
    if dtype.is_integer:
        return kind is builtins.bool or (kind is int and dtype.limits[0] <= value <= dtype.limits[1])
    return dtype.is_bool and kind is builtins.bool


def _bytes_array(texts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    flat = [_as_bytes(item) for item in np.asarray(texts, dtype=object).ravel()]
    result = np.empty(len(flat), dtype=object)
    result[:] = flat
    return result.reshape(np.shape(texts))


def _as_bytes(item: object) -> bytes:
    if isinstance(item, np.ndarray) and item.ndim == 0:
        item = item[()]
    if isinstance(item, str):
        return _encoded(item)
    if isinstance(item, (bytes, np.bytes_)):
        return bytes(item)
    if isinstance(item, (list, tuple)):
        raise ArgumentError(f"Can't convert non-rectangular Python sequence to Tensor. Got {shown(item)} in it.")
    raise DTypeError(f"A string tensor holds str or bytes, got {item!r} of type {type(item).__name__!r}.")


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(
            f"Error converting unicode string while converting Python sequence to Tensor: {shown(text)} has half of "
            f"a surrogate pair at position {error.start}, which UTF-8 cannot hold. Pass bytes instead."
        ) from None


def _depth(value: object) -> int:
    depth = 0
    while isinstance(value, (list, tuple)) and value:
        value, depth = value[0], depth + 1
    return depth
