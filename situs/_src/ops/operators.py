"""The operators of tensors: ``a + b``, ``a[1:]``, ``a == b``, ...

They are installed from here because they are ops, and `base.tensor` is below all ops. The same ones are installed on
other tensor-like classes, such as variables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base.errors import InvalidArgumentError
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.base.typing import ArrayLike
from situs._src.ir.graph.tensor import SymbolicTensor, comparison
from situs._src.ops import compare, constant, indexing, linalg, math

Function = Callable[..., Any]


def _logical_or_bitwise(logical: Function, bitwise: Function) -> Function:
    """Booleans combine logically, integers bit by bit."""

    def combine(x: ArrayLike, *y: Any) -> Any:
        dtype = next(v.dtype for v in (x, *y) if is_tensor(v))
        return (logical if dtype.is_bool else bitwise)(x, *y)

    return combine


def _comparison(function: Function, otherwise: bool) -> Function:
    """Compares element by element; with None, or with a tensor whose shape does not fit, the answer is `otherwise`."""

    def compared(x: Any, y: Any) -> Any:
        if y is None:
            return otherwise
        try:
            return function(x, y)
        except InvalidArgumentError as error:
            if "Incompatible shapes" in error.message:
                return constant.constant(otherwise)
            raise

    return compared


_equal = _comparison(compare.equal, False)
_not_equal = _comparison(compare.not_equal, True)


# name: (function, whether Python also has the form with exchanged operands)
BINARY: dict[str, tuple[Function, bool]] = {
    "add": (math.add, True),
    "sub": (math.subtract, True),
    "mul": (math.multiply, True),
    "truediv": (math.divide, True),
    "floordiv": (math.floordiv, True),
    "mod": (math.floormod, True),
    "pow": (math.pow, True),
    "matmul": (linalg.matmul, True),
    "and": (_logical_or_bitwise(compare.logical_and, compare.bitwise_and), True),
    "or": (_logical_or_bitwise(compare.logical_or, compare.bitwise_or), True),
    "xor": (_logical_or_bitwise(compare.logical_xor, compare.bitwise_xor), True),
    "lt": (compare.less, False),
    "le": (compare.less_equal, False),
    "gt": (compare.greater, False),
    "ge": (compare.greater_equal, False),
    "eq": (_equal, False),
    "ne": (_not_equal, False),
}
OTHER: dict[str, Function] = {
    "getitem": indexing.getitem,
    "neg": math.negative,
    "abs": math.abs,
    "invert": _logical_or_bitwise(compare.logical_not, compare.bitwise_invert),
}
# The operators whose operations in graphs have their name, not the op's.
NAMED = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")


def install_named(cls: type) -> None:
    """Gives the tensors of graphs the operators, with TensorFlow's names for their operations."""
    for name in NAMED:
        function = _named(BINARY[name][0], name)
        setattr(cls, f"__{name}__", function)
        setattr(cls, f"__r{name}__", _reversed(function))
    comparison.update(equal=_equal, not_equal=_not_equal)


def _named(function: Function, name: str) -> Function:
    return lambda x, y: function(x, y, name=name)


# Methods of NumPy's arrays, which tensors have after tf.experimental.numpy.experimental_enable_numpy_behavior().
NUMPYS = {
    "T": "tf.transpose(x)",
    "astype": "tf.cast(x, dtype)",
    "clip": "tf.clip_by_value(x, low, high)",
    "flatten": "tf.reshape(x, [-1])",
    "max": "tf.reduce_max(x)",
    "mean": "tf.reduce_mean(x)",
    "min": "tf.reduce_min(x)",
    "ravel": "tf.reshape(x, [-1])",
    "reshape": "tf.reshape(x, shape)",
    "size": "tf.size(x)",
    "tolist": "x.numpy().tolist()",
    "transpose": "tf.transpose(x)",
}


class _Absent:
    """Stands for one of these, and says what there is."""

    def __init__(self, name: str, instead: str) -> None:
        self._name, self._instead = name, instead

    def __get__(self, tensor: object, owner: type) -> Any:
        raise AttributeError(
            f"{owner.__name__!r} object has no attribute {self._name!r}. Use {self._instead}; tensors have the methods "
            "of NumPy's arrays after tf.experimental.numpy.experimental_enable_numpy_behavior()."
        )


def install(cls: type) -> None:
    """Gives a class the operators of tensors."""
    for name, (function, reversible) in BINARY.items():
        setattr(cls, f"__{name}__", function)
        if reversible:
            setattr(cls, f"__r{name}__", _reversed(function))
    for name, function in OTHER.items():
        setattr(cls, f"__{name}__", function)


def _reversed(function: Function) -> Function:
    return lambda x, y: function(y, x)


install(Tensor)
install_named(SymbolicTensor)
for _name, _instead in NUMPYS.items():
    setattr(Tensor, _name, _Absent(_name, _instead))
