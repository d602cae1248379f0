"""NumPy's behaviour of tensors themselves: methods, operators and indexing, once a program asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from situs._src.base.errors import ArgumentError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, is_tensor, read
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.numpy_api import comparing, elementwise, indexing, products, reducing, shaping
from situs._src.numpy_api.dtypes import Preference
from situs._src.numpy_api.refusing import refuse_by_our_errors
from situs._src.ops import operators
from situs._src.ops.cast import cast
from situs._src.runtime.dispatch import on_composite
from situs._src.runtime.eager.cell import VARIABLES
from situs._src.runtime.eager.tensor import EagerTensor

Function = Callable[..., Any]

BINARY: dict[str, Function] = {
    "add": elementwise.add,
    "sub": elementwise.subtract,
    "mul": elementwise.multiply,
    "truediv": elementwise.true_divide,
    "floordiv": elementwise.floor_divide,
    "mod": elementwise.mod,
    "pow": elementwise.power,
    "matmul": products.matmul,
    "and": elementwise.bitwise_and,
    "or": elementwise.bitwise_or,
    "xor": elementwise.bitwise_xor,
    "lt": comparing.less,
    "le": comparing.less_equal,
    "gt": comparing.greater,
    "ge": comparing.greater_equal,
    "eq": comparing.equal,
    "ne": comparing.not_equal,
}
_before: list[tuple[type, str, Any]] = []  # what classes had under a name, to undo it
_NONE = object()


def _size(x: Tensor) -> Any:
    """The number of elements, if it is known."""
    count = x.shape.num_elements()
    return None if count is None else np.int64(count)


def _reshape(x: Tensor, *newshape: Any, order: str = "C") -> Tensor:
    """The elements in another shape, given as a sequence or as arguments."""
    sizes = newshape[0] if len(newshape) == 1 and not isinstance(newshape[0], int) else newshape
    return shaping.reshape(x, sizes, order)


def _transpose(x: Tensor, *axes: Any) -> Tensor:
    """The axes in another order, given as a sequence or as arguments."""
    return shaping.transpose(x, (axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes) or None)


def _to_list(x: Tensor) -> Any:
    """The elements in nested lists.

    Raises:
        ValueError: the tensor is one of a graph.
    """
    if not isinstance(x, EagerTensor):
        raise ArgumentError("Symbolic Tensors do not support the tolist API.")
    return x.numpy().tolist()


METHODS: dict[str, Any] = {
    "T": property(lambda x: shaping.transpose(x)),
    "size": property(_size),
    "data": property(lambda x: x),
    "tolist": _to_list,
    "transpose": _transpose,
    "flatten": shaping.flatten,
    "reshape": _reshape,
    "ravel": shaping.ravel,
    "clip": elementwise.clip,
    "astype": cast,
    "max": reducing.amax,
    "mean": reducing.mean,
    "min": reducing.amin,
    "__round__": elementwise.around,
}


@export("experimental.numpy.experimental_enable_numpy_behavior")
def experimental_enable_numpy_behavior(prefer_float32: bool = False, dtype_conversion_mode: str = "legacy") -> None:
    """Gives tensors NumPy's methods, such as ``T`` and ``reshape``, its rules for operators, and its indexing.

    It holds for the rest of the process.

    Args:
        prefer_float32: Whether Python's floats are float32 in these functions; they are float64 by default.
        dtype_conversion_mode: ``legacy``: operands of different dtypes take the one that NumPy gives them together.
            ``off``: they are an error, as before.

    Raises:
        UnimplementedError: the mode is ``safe`` or ``all``.
        ValueError: it is something else.

    Example:
        >>> import situs as tf
        >>> tf.experimental.numpy.result_type(tf.ones([2], tf.int32), tf.ones([2]))
        tf.float64
    """
    mode = dtype_conversion_mode.lower() if isinstance(dtype_conversion_mode, str) else dtype_conversion_mode
    if mode in ("safe", "all"):
        raise UnimplementedError(
            f"The dtypes of dtype_conversion_mode={shown(mode)} depend on whether each tensor was made without a "
            "dtype, which tensors do not remember. Use dtype_conversion_mode='legacy'."
        )
    if mode not in ("off", "legacy"):
        raise ArgumentError(f"dtype_conversion_mode is 'off' or 'legacy', got {shown(dtype_conversion_mode)}.")
    undo()
    Preference.float32 = bool(prefer_float32)
    for name, method in METHODS.items():
        _set(Tensor, name, method)
    _set(Tensor, "__pos__", elementwise.positive)
    _set(Tensor, "__getitem__", indexing.getitem)
    if mode == "legacy":
        for kind in (Tensor, SymbolicTensor, *sorted(VARIABLES, key=repr)):
            for name, function in BINARY.items():
                _promote(kind, name, function)


def _promote(kind: type, name: str, function: Function) -> None:
    before, is_reversible = operators.BINARY[name]

    def forward(x: Any, y: Any) -> Any:
        x, y = read(x), read(y)  # Keras' variables stand for tensors
        return function(x, y) if _takes(x, y) else before(x, y)

    _set(kind, f"__{name}__", forward)
    if is_reversible:
        _set(kind, f"__r{name}__", lambda x, y: forward(y, x))


def _takes(x: Any, y: Any) -> bool:
    """Whether NumPy's rules are for these operands: not for None, strings or ragged and sparse tensors."""
    for value in (x, y):
        if value is None or type(value) in on_composite or isinstance(value, (str, bytes)):
            return False
        if is_tensor(value) and not (value.dtype.is_numeric or value.dtype.is_bool):
            return False
    return True


def _set(kind: type, name: str, value: Any) -> None:
    _before.append((kind, name, vars(kind).get(name, _NONE)))
    setattr(kind, name, value)


def undo() -> None:
    """Takes away what was given to tensors: they behave as before."""
    Preference.float32 = False
    while _before:
        kind, name, value = _before.pop()
        if value is _NONE:
            delattr(kind, name)
        else:
            setattr(kind, name, value)


refuse_by_our_errors(globals())
