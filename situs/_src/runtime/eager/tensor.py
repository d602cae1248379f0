"""Eager tensors: values on a device.

An ``EagerTensor`` has a PyTorch tensor (for strings: a NumPy array of bytes), its `Place`, and the assignment of the op
that created it. It is immutable: ops return new tensors, which may share memory with their inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base import html
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device
from situs._src.base.dtype import FLOAT8, DType
from situs._src.base.errors import (
    ArgumentError,
    DTypeError,
    InternalError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownDeviceError,
)
from situs._src.base.shapes import TensorShape, known_shape
from situs._src.base.tensor import Tensor
from situs._src.ir.graph.origin import Origin
from situs._src.placement.candidates import LOCAL, Assignment, unknown_device_text
from situs._src.runtime.eager.bridge import FROM_TORCH, STRINGS, TORCH_DTYPE, Place, Value, copier, host, place
from situs._src.runtime.eager.oom import exhausted, is_shortage


class EagerTensor(Tensor):
    """A tensor with a value. Created by ops, by ``tf.constant`` and by ``tf.convert_to_tensor``."""

    # No ``__dict__``: it would cost every op 24 ns. Keras' attributes have slots of their own.
    __slots__ = ("_keras_logits", "_keras_mask", "_key", "_made_by", "_part_of", "_place", "_value", "trainable")
    _value: Value
    _place: Place
    _made_by: Assignment | None
    _key: int  # its key in tapes; set at first use
    _part_of: tuple[Any, Any]  # the variable and the index, if it is ``variable[index]``

    # What the tensor is.

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._place.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape; always fully known."""
        return known_shape(self._value.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._value.ndim  # type: ignore[no-any-return]

    @property
    def device(self) -> str:
        """The full name of the tensor's device."""
        return self._place.device.name

    @property
    def backing_device(self) -> str:
        """The same as ``device``: Situs reports the actual location."""
        return self._place.device.name

    @property
    def name(self) -> str:
        """Not defined in eager mode."""
        raise AttributeError("Tensor.name is undefined when eager execution is enabled.")

    # Its value.

    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy of the value as a NumPy array; a NumPy scalar, or bytes, for a scalar."""
        return to_client(self._value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = to_numpy(self)
        casts = dtype is not None and array.dtype != np.dtype(dtype)
        if copy is False and (casts or getattr(self._value, "is_cuda", False)):
            raise ArgumentError("A tensor on a GPU, or with another dtype, needs a copy to become a NumPy array.")
        if casts:
            return array.astype(dtype)
        if copy:
            return array.copy()
        view = array.view()
        view.flags.writeable = False  # shares memory with a tensor, which is immutable
        return view

    def __dlpack__(self, **arguments: Any) -> Any:
        try:
            return self._numeric("__dlpack__").__dlpack__(**arguments)
        except (AssertionError, BufferError, RuntimeError) as error:
            raise ArgumentError(f"This tensor cannot be given to another library as {arguments}: {error}") from None

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self._numeric("__dlpack__").__dlpack_device__()

    def _numeric(self, what: str) -> torch.Tensor:
        if not isinstance(self._value, torch.Tensor):
            raise ArgumentError(f"{what} is not defined for string tensors.")
        return self._value

    def __bool__(self) -> bool:
        array = to_numpy(self)
        if array.size > 1:
            raise ArgumentError(
                f"The truth value of a tensor of shape {self.shape} is ambiguous. Use tf.reduce_any or tf.reduce_all."
            )
        return bool(array) if array.size else False

    def __int__(self) -> int:
        return int(self._scalar())

    def __float__(self) -> float:
        return float(self._scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())

    def __index__(self) -> int:
        if not self.dtype.is_integer:
            raise DTypeError(f"Only integer tensors can be used as an index, this one is {self.dtype.name}.")
        return int(self._scalar())

    def _scalar(self) -> np.ndarray[Any, Any]:
        if self._value.ndim != 0:
            raise DTypeError(
                f"Only scalar tensors can be converted to Python numbers, this one has shape {self.shape}."
            )
        return to_numpy(self)[()]

    def __len__(self) -> int:
        if self._value.ndim == 0:
            raise DTypeError("Scalar tensor has no `len()`")
        return int(self._value.shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        if self._value.ndim == 0:
            raise DTypeError("Cannot iterate over a scalar tensor.")
        return (self[i] for i in range(len(self)))

    # Where it is.

    def cpu(self) -> EagerTensor:
        """A copy on the host's CPU."""
        return copy_to(self, host())

    def gpu(self, gpu_index: int = 0) -> EagerTensor:
        """A copy on a GPU.

        Raises:
            RuntimeError: there is no such GPU.
        """
        for device in process.devices():
            if device.type == "GPU" and device.index == gpu_index:
                return copy_to(self, device)
        name = f"{LOCAL}/device:GPU:{gpu_index}"
        raise UnknownDeviceError(unknown_device_text(name, process.devices(), soft=False))

    # As an object.

    def set_shape(self, shape: Any) -> None:
        """Checks that `shape` is compatible with the tensor's shape."""
        if not self.shape.is_compatible_with(shape):
            raise ArgumentError(
                f"Tensor's shape {self.shape} is not compatible with supplied shape {TensorShape(shape)}."
            )

    def __hash__(self) -> int:
        raise DTypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    def __copy__(self) -> EagerTensor:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> EagerTensor:
        return self

    def __reduce__(self) -> tuple[Any, tuple[Any, str]]:
        return _unpickle, (self.numpy(), self.dtype.name)

    def __format__(self, spec: str) -> str:
        return format(self.numpy(), spec)

    def __str__(self) -> str:
        return f"tf.Tensor({_numpy_text(self, repr_of=False)}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={_numpy_text(self, repr_of=True)}>"

    def _repr_html_(self) -> str:
        return html_of(self, "tf.Tensor")


_SHOWN = 20  # rows and columns of a table


def html_of(tensor: EagerTensor, title: str) -> str:
    """A tensor's HTML in a notebook: a table if it is small and flat enough, else NumPy's text."""
    where = tensor._place.device.short_name
    caption = f"{title} of shape {tensor.shape}, {tensor.dtype.name}, on {where}"
    sizes = tuple(tensor._value.shape)
    if len(sizes) > 2 or any(size > _SHOWN for size in sizes) or 0 in sizes:
        return html.table((), [], caption) + html.text(_numpy_text(tensor, repr_of=False))
    values = np.asarray(tensor.numpy(), object if tensor.dtype is dt.string else None)
    rows = values.reshape((1, 1) if not sizes else (1, -1) if len(sizes) == 1 else sizes)
    return html.table((), [[str(cell) for cell in row] for row in rows], caption)


def wrap(value: Value, where: Place, made_by: Assignment | None = None) -> EagerTensor:
    """A tensor from a value at a place."""
    tensor = EagerTensor()
    tensor._value = value
    tensor._place = where
    tensor._made_by = made_by
    return tensor


def wrap_checked(value: Value, where: Place, made_by: Assignment | None = None) -> EagerTensor:
    """The same for a result of a graph, which must have the dtype that the graph promised.

    Raises:
        InternalError: it has another.
    """
    if getattr(value, "dtype", None) is not TORCH_DTYPE.get(where.dtype, STRINGS) and where.dtype.kind not in "rv":
        found = getattr(value, "dtype", type(value).__name__)
        what = "A result" if made_by is None else made_by.node or made_by.op
        raise InternalError(f"{what} was computed as {found} where the graph promises {where.dtype.name}.")
    return wrap(value, where, made_by)


def to_numpy(tensor: EagerTensor) -> np.ndarray[Any, Any]:
    """The value as a NumPy array that shares memory with the tensor if it is on the host."""
    return to_numpy_value(tensor._value)


def to_numpy_value(value: Value) -> np.ndarray[Any, Any]:
    """A kernel's value as a NumPy array that shares memory with it if it is on the host."""
    if not isinstance(value, torch.Tensor):
        return value  # type: ignore[no-any-return]
    value = value.detach().cpu().resolve_conj().resolve_neg()
    if value.dtype is torch.bfloat16:
        return value.view(torch.int16).numpy().view(dt.bfloat16.as_numpy_dtype)  # type: ignore[no-any-return]
    if value.element_size() == 1 and FROM_TORCH[value.dtype] in FLOAT8:
        return value.view(torch.uint8).numpy().view(FROM_TORCH[value.dtype].as_numpy_dtype)  # type: ignore[no-any-return]
    try:
        return value.numpy()  # type: ignore[no-any-return]
    except ValueError:
        raise UnimplementedError(f"NumPy's arrays have at most 64 dimensions, this tensor has {value.ndim}.") from None


def to_client(value: Value) -> np.ndarray[Any, Any]:
    """A kernel's value for the program: a separate array; for a scalar, a NumPy scalar or bytes.

    Raises:
        ResourceExhaustedError: the host is out of memory.
    """
    array = to_numpy_value(value)
    try:
        return array.copy() if array.ndim else array[()]
    except MemoryError:
        shape = TensorShape(value.shape)
        raise ResourceExhaustedError(f"OOM when copying a tensor of shape {shape} to NumPy.") from None


def copy_to(tensor: EagerTensor, device: Device, op: str = "Copy", made_at: Origin | None = None) -> EagerTensor:
    """The tensor on another device; itself if it is there already. For the other arguments see `copier`."""
    if tensor._place.device is device:
        return tensor
    if tensor._place.dtype is dt.string and device.type != "CPU":
        raise ArgumentError(f"Strings live on the CPU; they cannot be copied to {device.name}.")
    copy = copier(tensor._place.device, device, op, made_at)
    try:
        value = tensor._value if copy is None else copy(tensor._value)
    except Exception as error:
        if is_shortage(error):
            raise exhausted(error, device, op, tensor._value) from None
        raise
    return wrap(value, place(device, tensor._place.dtype), tensor._made_by)


def _unpickle(array: Any, dtype: str) -> EagerTensor:
    from situs._src.runtime.eager.convert import to_tensor

    return to_tensor(array, dt.as_dtype(dtype))


def _numpy_text(tensor: EagerTensor, repr_of: bool) -> str:
    array = to_numpy(tensor)
    if array.ndim == 0:
        scalar: Any = array[()]
        # TensorFlow shows a scalar's repr as a Python number, with digits that float32 cannot hold.
        text = repr(array.item()) if repr_of or isinstance(scalar, bytes) else str(scalar)
    else:
        text = repr(array) if repr_of else str(array)
    return "\n" + text if "\n" in text else text
