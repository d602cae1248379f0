"""``tf.experimental.numpy.experimental_enable_numpy_behavior``: tensors that behave as NumPy's arrays.

methods       x.T, x.reshape(2, -1), x.astype("float32"), x.mean(), ...
operators     tensors of two dtypes are promoted by NumPy's rules
indexing      x[[0, 2]], x[:, ids], x[rows, columns]
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.dtype import as_dtype
from situs._src.base.errors import ArgumentError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.base.typing import DTypeLike
from situs._src.ops import indexing, operators
from situs._src.ops.array import broadcast_dynamic_shape, broadcast_to, reshape, shape, size, transpose
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.gather import gather_nd, where
from situs._src.ops.join import stack
from situs._src.ops.math import clip_by_value, rint
from situs._src.ops.reduce import reduce_max, reduce_mean, reduce_min

_MODES = ("off", "legacy", "safe", "all")
_before: list[tuple[type, str, Any]] = []  # what classes had, to be put back


@export("experimental.numpy.experimental_enable_numpy_behavior", v1=())
def experimental_enable_numpy_behavior(prefer_float32: bool = False, dtype_conversion_mode: str = "legacy") -> None:
    """Makes tensors behave as NumPy's arrays: methods, operators between dtypes, and indexing.

    Args:
        prefer_float32: Whether operators on Python's numbers and integers give float32 where NumPy gives float64.
        dtype_conversion_mode: ``"legacy"``: NumPy's rules; ``"off"``: as before. not ``"safe"`` and ``"all"``.

    Raises:
        ValueError: there is no such mode.
        NotImplementedError: Situs does not have this mode.

    Example:
        >>> import situs as tf
        >>> tf.experimental.numpy.experimental_enable_numpy_behavior()
        >>> x = tf.constant([[1, 2], [3, 4]])
        >>> (x.T.reshape(-1) + tf.constant(0.5)).numpy().tolist()
        [1.5, 3.5, 2.5, 4.5]
        >>> tf.experimental.numpy.experimental_enable_numpy_behavior(dtype_conversion_mode="off")
    """
    if dtype_conversion_mode not in _MODES:
        raise ArgumentError(
            f"dtype_conversion_mode must be one of {', '.join(_MODES)}, got {shown(dtype_conversion_mode)}."
        )
    if dtype_conversion_mode in ("safe", "all"):
        raise UnimplementedError(
            f'Situs has no dtype_conversion_mode="{dtype_conversion_mode}". "legacy" promotes by NumPy\'s rules.'
        )
    while _before:
        owner, name, old = _before.pop()
        if old is None:
            delattr(owner, name)
        else:
            setattr(owner, name, old)
    if dtype_conversion_mode == "legacy":
        _enable(prefer_float32)


def _enable(prefer_float32: bool) -> None:
    for name, method in _METHODS.items():
        _set(Tensor, name, method)
    for owner in operators.owners:
        for name in operators.BINARY:
            for dunder in (f"__{name}__", f"__r{name}__"):
                if dunder in vars(owner):
                    _set(owner, dunder, _promoting(vars(owner)[dunder], prefer_float32))
        if vars(owner).get("__getitem__") is indexing.getitem:
            _set(owner, "__getitem__", _getitem)


def _set(owner: type, name: str, value: Any) -> None:
    _before.append((owner, name, vars(owner).get(name)))
    setattr(owner, name, value)


# Operators.


def _promoting(function: Callable[..., Any], prefer_float32: bool) -> Callable[..., Any]:
    def promoted(x: Any, *y: Any) -> Any:
        dtypes = [_dtype_of(value) for value in (x, *y)]
        if all(dtype is not None for dtype in dtypes) and len({str(dtype) for dtype in dtypes}) > 1:
            found = as_dtype(np.result_type(*dtypes))
            if prefer_float32:
                found = {dt.float64: dt.float32, dt.complex128: dt.complex64}.get(found, found)
            x, *y = [_as(value, found) for value in (x, *y)]  # type: ignore[assignment]
        return function(x, *y)

    return promoted


def _dtype_of(value: Any) -> Any:
    """What NumPy takes for a value's dtype: a Python number itself; None for what is no number."""
    if is_tensor(value) or isinstance(value, (np.ndarray, np.generic)):
        dtype = as_dtype(value.dtype)
        return dtype.as_numpy_dtype if dtype.is_numeric or dtype.is_bool else None
    return value if isinstance(value, numbers.Number) else None


def _as(value: Any, dtype: dt.DType) -> Any:
    return cast(value, dtype) if is_tensor(value) else convert_to_tensor(value, dtype)


# Methods.


def _reshape(self: Tensor, *newshape: Any, order: str = "C") -> Tensor:
    """The same elements in another shape; a size of -1 is found out."""
    if order not in ("C", "F"):
        raise ArgumentError(f"Unsupported order argument. Received: {shown(order)}")
    new = newshape[0] if len(newshape) == 1 else newshape
    if order == "C":
        return reshape(self, [new] if isinstance(new, int) else new)
    sizes = convert_to_tensor([new] if isinstance(new, int) else new, dt.int32)
    return transpose(reshape(transpose(self), sizes[::-1]))


def _transpose(self: Tensor, axes: Any = None) -> Tensor:
    """The dimensions in another order, or in the opposite one."""
    return transpose(self, axes)


def _astype(self: Tensor, dtype: DTypeLike) -> Tensor:
    """The elements in another dtype."""
    return cast(self, as_dtype(dtype))


def _clip(self: Tensor, a_min: Any = None, a_max: Any = None) -> Tensor:
    """The elements between two limits."""
    low = self.dtype.min if a_min is None else a_min
    found: Tensor = clip_by_value(self, low, self.dtype.max if a_max is None else a_max)
    return found


def _mean(self: Tensor, axis: Any = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
    """The mean; that of integers is a float64."""
    if dtype is None and (self.dtype.is_integer or self.dtype.is_bool):
        dtype = dt.float64
    return reduce_mean(self if dtype is None else cast(self, as_dtype(dtype)), axis, keepdims)


def _size(self: Tensor) -> Any:
    count = self.shape.num_elements()
    return size(self) if count is None else count


def _round(self: Tensor, decimals: int = 0) -> Tensor:
    """The elements rounded, half to even."""
    if self.dtype.is_integer:
        return self
    factor = 10.0**decimals
    return cast(rint(self * factor) / factor, self.dtype)


_METHODS: dict[str, Any] = {
    "__round__": _round,
    "T": property(transpose, doc="The dimensions in the opposite order."),
    "astype": _astype,
    "clip": _clip,
    "data": property(lambda self: self, doc="The tensor itself."),
    "flatten": lambda self, order="C": _reshape(self, -1, order=order),
    "max": lambda self, axis=None, keepdims=False: reduce_max(self, axis, keepdims),
    "mean": _mean,
    "min": lambda self, axis=None, keepdims=False: reduce_min(self, axis, keepdims),
    "ravel": lambda self, order="C": _reshape(self, -1, order=order),
    "reshape": _reshape,
    "size": property(_size, doc="The number of elements."),
    "tolist": lambda self: self.numpy().tolist(),
    "transpose": _transpose,
}


# Indexing.


def _getitem(self: Any, key: Any) -> Tensor:
    keys = list(key) if isinstance(key, tuple) else [key]
    if not any(map(_is_list, keys)):
        return indexing.getitem(self, key)
    return _picked(convert_to_tensor(self), keys)


def _is_list(key: Any) -> bool:
    """Whether a key is an array of positions or of booleans, not one of the entries of a slice."""
    if isinstance(key, (list, tuple)):
        return True
    return (isinstance(key, np.ndarray) or is_tensor(key)) and len(key.shape) > 0


def _picked(tensor: Tensor, keys: list[Any]) -> Tensor:
    """``tensor[keys]`` where some of the keys are arrays: NumPy's advanced indexing."""
    entries: list[Any] = []
    for key in keys:
        array = convert_to_tensor(key) if _is_list(key) else key
        if is_tensor(array) and array.dtype.is_bool:
            places = where(array)
            entries += [places[:, number] for number in range(len(array.shape))]
        else:
            entries.append(array)
    used = sum(entry is not None and entry is not Ellipsis for entry in entries)
    rest = [slice(None)] * (len(tensor.shape) - used)
    at = next((number for number, entry in enumerate(entries) if entry is Ellipsis), len(entries))
    entries[at : at + 1] = rest
    chosen = [number for number, entry in enumerate(entries) if not (entry is None or isinstance(entry, slice))]
    part = indexing.getitem(tensor, tuple([slice(None) if n in chosen else e for n, e in enumerate(entries)]))
    others = [number for number in range(len(entries)) if number not in chosen]
    ids = _broadcast([cast(convert_to_tensor(entries[number]), dt.int64) for number in chosen])
    sizes = cast(shape(part), dt.int64)
    ids = [where(each < 0, each + sizes[number], each) for each, number in zip(ids, chosen, strict=True)]
    found = gather_nd(transpose(part, chosen + others), stack(ids, axis=-1))
    if chosen != list(range(chosen[0], chosen[-1] + 1)) or chosen[0] == 0:
        return found
    width, first = len(ids[0].shape), chosen[0]
    order = [*range(width, width + first), *range(width), *range(width + first, width + len(others))]
    return transpose(found, order)


def _broadcast(tensors: Sequence[Tensor]) -> list[Tensor]:
    common = shape(tensors[0])
    for each in tensors[1:]:
        common = broadcast_dynamic_shape(common, shape(each))
    return [broadcast_to(each, common) for each in tensors]
