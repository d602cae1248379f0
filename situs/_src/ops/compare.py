"""Comparison, logic and bits, elementwise.

Comparisons and logic return bool tensors; operations on bits keep the dtype of the integers.
Two inputs have one dtype and broadcast as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from situs._src.base.dtype import FIXED, INTEGER, NUMERIC, REAL, STRING, WIDE_UNSIGNED
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape, brackets, broadcast
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ir.registry.op import find_op
from situs._src.ir.registry.traits import FOLDABLE
from situs._src.ops import quick_numpy
from situs._src.ops.attribute import as_float
from situs._src.ops.define import CPU, GPU, POINTWISE, KernelValue, binary, op, same_shape, unary
from situs._src.runtime import dispatch
from situs._src.runtime.dispatch import BinaryFunction

# Comparison. Sizes are compared while a graph is built.

_COMPARING = POINTWISE | {FOLDABLE}

equal = export("equal", "math.equal")(
    binary("Equal", torch.eq, FIXED | STRING, "Says where x equals y.", gpu=FIXED, result="bool", traits=_COMPARING)
)
not_equal = export("not_equal", "math.not_equal")(
    binary(
        "NotEqual",
        torch.ne,
        FIXED | STRING,
        "Says where x differs from y.",
        gpu=FIXED,
        result="bool",
        traits=_COMPARING,
    )
)
less = export("less", "math.less")(
    binary("Less", torch.lt, REAL, "Says where x < y.", wide=np.less, result="bool", traits=_COMPARING)
)
less_equal = export("less_equal", "math.less_equal")(
    binary("LessEqual", torch.le, REAL, "Says where x <= y.", wide=np.less_equal, result="bool", traits=_COMPARING)
)
greater = export("greater", "math.greater")(
    binary("Greater", torch.gt, REAL, "Says where x > y.", wide=np.greater, result="bool", traits=_COMPARING)
)
greater_equal = export("greater_equal", "math.greater_equal")(
    binary(
        "GreaterEqual", torch.ge, REAL, "Says where x >= y.", wide=np.greater_equal, result="bool", traits=_COMPARING
    )
)

for _name, _of_torch, _of_numpy in (
    ("Equal", torch.eq, np.equal),
    ("NotEqual", torch.ne, np.not_equal),
    ("Less", torch.lt, np.less),
    ("LessEqual", torch.le, np.less_equal),
    ("Greater", torch.gt, np.greater),
    ("GreaterEqual", torch.ge, np.greater_equal),
):
    quick_numpy.add_kernels(find_op(_name), _of_torch, _of_numpy, quick_numpy.COMPARED, is_quicker=True)


@find_op("Equal").kernel(CPU, T=STRING)
def _equal_strings(x: KernelValue, y: KernelValue) -> torch.Tensor:
    return torch.from_numpy(np.asarray(np.equal(x, y), dtype=np.bool_))


@find_op("NotEqual").kernel(CPU, T=STRING)
def _not_equal_strings(x: KernelValue, y: KernelValue) -> torch.Tensor:
    return torch.from_numpy(np.asarray(np.not_equal(x, y), dtype=np.bool_))


_approximate_equal = op("ApproximateEqual", "x: T, y: T -> z: bool", T=NUMERIC - WIDE_UNSIGNED, tolerance=1e-5)


@_approximate_equal.shape
def _approximate_equal_shape(x: TensorShape, y: TensorShape, *, tolerance: float) -> TensorShape:
    if not x.is_compatible_with(y):
        raise ArgumentError(f"x and y must be of the same shape. x shape: {brackets(x)}. y shape: {brackets(y)}")
    return x.merge_with(y)


@_approximate_equal.kernel(CPU, GPU)
def _approximate_equal_kernel(x: torch.Tensor, y: torch.Tensor, *, tolerance: float) -> torch.Tensor:
    if x.shape != y.shape:
        raise ValueError("approximate_equal does not broadcast")  # the shape rule says it better
    return torch.abs(x - y) < tolerance


@export("math.approximate_equal")
def approximate_equal(x: ArrayLike, y: ArrayLike, tolerance: float = 1e-05, name: str | None = None) -> Tensor:
    """Says where two tensors of one shape differ by less than `tolerance`."""
    return _approximate_equal(x, y, tolerance=as_float(tolerance, "tolerance"), name=name)


# Logic.


def _logical(name: str, kernel: Callable[..., torch.Tensor], doc: str) -> BinaryFunction:
    """Declares an op of two booleans and makes its public function.

    The signature names the dtype, so that errors name the input that is wrong.
    """
    declared = op(name, "x: bool, y: bool -> z: bool", traits=POINTWISE)
    declared.shape(broadcast)
    declared.kernel(CPU, GPU)(kernel)
    function = dispatch.binary(declared)
    function.__doc__ = doc
    return function


logical_and = export("logical_and", "math.logical_and")(
    _logical("LogicalAnd", torch.logical_and, "Says where x and y are both true.")
)
logical_or = export("logical_or", "math.logical_or")(
    _logical("LogicalOr", torch.logical_or, "Says where x or y is true, or both are.")
)
logical_xor = export("math.logical_xor", v1=("logical_xor", "math.logical_xor"))(
    _logical("LogicalXor", torch.logical_xor, "Says where one of x and y is true and the other is not.")
)

_logical_not = op("LogicalNot", "x: bool -> y: bool", traits=POINTWISE)
_logical_not.shape(same_shape)
_logical_not.kernel(CPU, GPU)(torch.logical_not)
logical_not = export("logical_not", "math.logical_not")(dispatch.unary(_logical_not))
logical_not.__doc__ = "Says where x is false."


# Bits.


def _within_width(shift: torch.Tensor) -> torch.Tensor:
    # PyTorch shifts everything out beyond the width of the dtype; TensorFlow shifts by the width - 1 at most.
    return shift.clamp(0, 8 * shift.element_size() - 1)


bitwise_and = export("bitwise.bitwise_and")(
    binary("BitwiseAnd", torch.bitwise_and, INTEGER, "Returns the bits set in x and in y.", wide=np.bitwise_and)
)
bitwise_or = export("bitwise.bitwise_or")(
    binary("BitwiseOr", torch.bitwise_or, INTEGER, "Returns the bits set in x or y or both.", wide=np.bitwise_or)
)
bitwise_xor = export("bitwise.bitwise_xor")(
    binary("BitwiseXor", torch.bitwise_xor, INTEGER, "Returns the bits set in x or y alone.", wide=np.bitwise_xor)
)
bitwise_invert = export("bitwise.invert")(
    unary("Invert", torch.bitwise_not, INTEGER, "Returns the bits not set in x.", wide=np.invert)
)
left_shift = export("bitwise.left_shift")(
    binary(
        "LeftShift",
        lambda x, y: torch.bitwise_left_shift(x, _within_width(y)),
        INTEGER,
        "Shifts the bits of x up by y places.",
        wide=lambda x, y: np.left_shift(x, np.clip(y, 0, 8 * y.itemsize - 1)),
    )
)
right_shift = export("bitwise.right_shift")(
    binary(
        "RightShift",
        lambda x, y: torch.bitwise_right_shift(x, _within_width(y)),
        INTEGER,
        "Shifts the bits of x down by y places.",
        wide=lambda x, y: np.right_shift(x, np.clip(y, 0, 8 * y.itemsize - 1)),
    )
)
