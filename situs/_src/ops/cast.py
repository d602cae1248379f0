"""From one dtype to another: casts, bit casts, and the parts of complex numbers.

A cast converts values and may lose some of them: floats lose their fraction as integers, integers
wrap around in narrower dtypes, complex numbers lose their imaginary part. `saturate_cast` clamps
instead of wrapping around; `bitcast` keeps the bits, not the values.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import FIXED, FLOAT8, NUMERIC, REAL, STRING, WIDE_UNSIGNED, DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, UnimplementedError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape, brackets, broadcast
from situs._src.base.tensor import Tensor, is_tensor, read
from situs._src.base.typing import ArrayLike, DTypeLike, SizesOf
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import EACH_VALUE, FOLDABLE, FRESH, SIZE_ARITHMETIC, ZERO_OF_ZERO
from situs._src.ops.compare import greater, less, logical_or
from situs._src.ops.constant import zeros_like
from situs._src.ops.define import CPU, GPU, KernelValue, numpy_kernel, op, same_shape
from situs._src.ops.masked import masked, unmasked
from situs._src.ops.naming import Composed
from situs._src.ops.sum_to import sum_to
from situs._src.runtime import dispatch
from situs._src.runtime.eager.bridge import TORCH_DTYPE
from situs._src.runtime.eager.convert import to_array

_E4M3FN_END = 464.0  # half way from the largest number, 448, to what would be the next
_PARTS = frozenset({dt.float32, dt.float64})  # the dtypes that a complex number is made of


def dtype_of(value: object) -> DType:
    """The dtype that `value` has, or would have as a tensor."""
    given = getattr(value, "dtype", None)
    return to_array(value)[1] if given is None else as_dtype(given)


# Cast.

_cast = op("Cast", "x: SrcT -> y: DstT", traits={FOLDABLE, SIZE_ARITHMETIC, EACH_VALUE, ZERO_OF_ZERO}, Truncate=False)
_cast.shape(same_shape)
_run_cast = dispatch.typed(_cast)


@_cast.fresh_when
def _is_no_view(node: Operation) -> bool:
    """What is cast to its own dtype, and the real part of a complex number, is a view."""
    source = node.inputs[0].dtype
    return source is not node.outputs[0].dtype and not source.is_complex


def _known_cast(x: Tensor, *, DstT: DType, Truncate: bool) -> Callable[[Any], Any] | None:  # noqa: N803
    """In a graph, PyTorch's own cast, unless an imaginary part has to be left out first."""
    wanted = TORCH_DTYPE[DstT]
    return None if x.dtype.is_complex or wanted is torch.float8_e4m3fn else lambda x: x.to(wanted)


@_cast.kernel(CPU, GPU, SrcT=FIXED | FLOAT8, DstT=FIXED | FLOAT8, lower=_known_cast)
def _cast_kernel(x: torch.Tensor, *, DstT: DType, Truncate: bool) -> torch.Tensor:  # noqa: N803
    # A complex number is true, for TensorFlow, if its real part is; PyTorch looks at both.
    whole = x.real if x.is_complex() and not DstT.is_complex else x
    if DstT is dt.float8_e4m3fn:  # no infinity: too large is NaN, where PyTorch saturates
        whole = whole.float()
        whole = torch.where(whole.abs() > _E4M3FN_END, math.nan, whole)
    return whole.to(TORCH_DTYPE[DstT])


@_cast.kernel(CPU, SrcT=STRING)
def _cast_from_string(x: KernelValue, *, DstT: DType, Truncate: bool) -> KernelValue:  # noqa: N803
    if DstT is not dt.string:
        raise UnimplementedError(f"Cast string to {DstT.name} is not supported; tf.strings.to_number parses numbers.")
    return x


@_cast.kernel(CPU, SrcT=FIXED, DstT=STRING)
def _cast_to_string(x: torch.Tensor, *, DstT: DType, Truncate: bool) -> KernelValue:  # noqa: N803
    source = str(x.dtype).removeprefix("torch.")
    raise UnimplementedError(f"Cast {source} to string is not supported; tf.strings.as_string prints numbers.")


@_cast.gradient
def _cast_gradient(grad: Tensor, x: Tensor) -> Tensor | None:
    return cast(grad, x.dtype) if x.dtype.is_floating or x.dtype.is_complex else None


@export(
    "cast",
    "dtypes.cast",
    differs="NaN, infinities and numbers out of range become the integers that PyTorch makes of them, which "
    "depend on the device; TensorFlow's depend on the CPU and on the length of the tensor.",
)
def cast(x: Any, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Converts the elements of `x` to another dtype; a tensor that has it already is returned as it is.

    Args:
        x: A tensor, or anything that converts to one.
        dtype: The dtype to have. Floats are truncated towards zero on their way to integers.
        name: A name for the op.

    Raises:
        UnimplementedError: one of the dtypes is string.
    """
    target = dtype if type(dtype) is DType else as_dtype(dtype)
    if hasattr(type(x), "__apply__"):  # slices of a tensor stay slices
        return x.__apply__(lambda values: cast(values, target, name))  # type: ignore[no-any-return]
    if not isinstance(x, Tensor) and is_tensor(x):  # a variable, of Keras too: it is read, and mostly has the dtype
        x = read(x)
    if isinstance(x, Tensor) and x.dtype is target:
        return x
    return _run_cast(x, target, name=name)


def as_index(x: ArrayLike) -> Any:
    """Indices as what ops of indices take: int16 becomes int32."""
    return cast(x, dt.int32) if isinstance(x, Tensor) and x.dtype is dt.int16 else x


@export(v1="to_float")
def to_float(x: ArrayLike, name: str = "ToFloat") -> Tensor:
    """Casts to float32."""
    return cast(x, dt.float32, name)


@export(v1="to_double")
def to_double(x: ArrayLike, name: str = "ToDouble") -> Tensor:
    """Casts to float64."""
    return cast(x, dt.float64, name)


@export(v1="to_int32")
def to_int32(x: ArrayLike, name: str = "ToInt32") -> Tensor:
    """Casts to int32."""
    return cast(x, dt.int32, name)


@export(v1="to_int64")
def to_int64(x: ArrayLike, name: str = "ToInt64") -> Tensor:
    """Casts to int64."""
    return cast(x, dt.int64, name)


@export(v1="to_bfloat16")
def to_bfloat16(x: ArrayLike, name: str = "ToBFloat16") -> Tensor:
    """Casts to bfloat16."""
    return cast(x, dt.bfloat16, name)


@export(v1="to_complex64")
def to_complex64(x: ArrayLike, name: str = "ToComplex64") -> Tensor:
    """Casts to complex64."""
    return cast(x, dt.complex64, name)


@export(v1="to_complex128")
def to_complex128(x: ArrayLike, name: str = "ToComplex128") -> Tensor:
    """Casts to complex128."""
    return cast(x, dt.complex128, name)


# ClipByValue, and the saturating cast made of it.

_clip = op("ClipByValue", "t: T, clip_value_min: T, clip_value_max: T -> output: T", traits={FRESH, EACH_VALUE}, T=REAL)


@_clip.shape
def _clip_shape(t: TensorShape, clip_value_min: TensorShape, clip_value_max: TensorShape) -> TensorShape:
    for bound in (clip_value_min, clip_value_max):
        if bound.rank != 0 and not bound.is_compatible_with(t):
            raise ArgumentError(
                "clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. "
                f"input shape: {brackets(t)}, bound: {brackets(bound)}"
            )
    return t


@_clip.kernel(CPU, GPU, T=REAL - WIDE_UNSIGNED)
def _clip_kernel(t: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    return torch.clamp(t, low, high)


_clip.in_place(0)(lambda node, place: torch.Tensor.clamp_)
_clip.kernel(CPU, T=WIDE_UNSIGNED)(numpy_kernel(np.clip))


@_clip.gradient
def _clip_gradient(
    grad: Tensor,
    t: Tensor,
    clip_value_min: Tensor,
    clip_value_max: Tensor,
    clip_value_min_shape: SizesOf,
    clip_value_max_shape: SizesOf,
) -> tuple[Any, ...]:
    below, above = less(t, clip_value_min), greater(t, clip_value_max)
    return (
        lambda: unmasked(logical_or(below, above), grad),
        lambda: sum_to(masked(below, grad), clip_value_min_shape),
        lambda: sum_to(masked(above, grad), clip_value_max_shape),
    )


@export("saturate_cast", "dtypes.saturate_cast")
def saturate_cast(value: ArrayLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Converts the elements to another dtype, the ones outside its range to its nearest end.

    Args:
        value: A numeric tensor; of a complex one only the real part is used, unless `dtype` is complex.
        dtype: A numeric dtype.
        name: A name for the op.
    """
    source, target = dtype_of(value), as_dtype(dtype)
    for each in (source, target):
        if each not in NUMERIC:
            raise DTypeError(f"saturate_cast clamps numbers to the range of a dtype, and {each!r} has none.")
    part = target.real_dtype
    with Composed(name, "saturate_cast") as last:
        if source.is_complex and target.is_complex:
            parts = _clamp(real(value), part), _clamp(imag(value), part)
            return cast(complex(*parts, last if source is target else None), target, last)
        clamped = _clamp(real(value), part, last if source.real_dtype is target else None)
        return cast(clamped, target, last)


def _clamp(value: Tensor, target: DType, name: str | None = None) -> Tensor:
    low, high = (_not_beyond(limit, value.dtype) for limit in target.limits)
    return _clip(value, low, high, name=name)


def _not_beyond(limit: ArrayLike, source: DType) -> float | int:
    """The number of dtype `source` that lies nearest to `limit` and not beyond it."""
    low, high = (_as_python(end) for end in source.limits)
    bounded = min(max(_as_python(limit), low), high)
    if source.is_integer:
        return int(bounded)
    number = source.as_numpy_dtype
    nearest = number(float(bounded))
    # Python compares integers and floats exactly: float32 has 2**31 but not 2**31 - 1.
    return float(np.nextafter(nearest, number(0)) if builtins.abs(float(nearest)) > builtins.abs(bounded) else nearest)


def _as_python(number: Any) -> int | float:
    return number if isinstance(number, int) else float(number)


# Bitcast.

_bitcast = op("Bitcast", "input: T -> output: type", T=NUMERIC, type=NUMERIC, sizes=(1, 1))


@_bitcast.shape
def _bitcast_shape(input: TensorShape, *, sizes: tuple[int, int]) -> TensorShape:
    """The shape rule; `sizes` are the bytes of an element before and after."""
    source, target = sizes
    if input.rank is None:
        return UNKNOWN
    if source >= target:
        return input if source == target else input.concatenate([source // target])
    if input.rank == 0 or input[-1] not in (None, target // source):
        raise ArgumentError(
            f"Cannot bitcast {brackets(input)} from elements of {source} bytes to {target} bytes: "
            f"the last dimension must be {target // source}"
        )
    return input[:-1]


@_bitcast.kernel(CPU, GPU)
def _bitcast_kernel(input: torch.Tensor, *, type: DType, sizes: tuple[int, int]) -> torch.Tensor:
    source, target = sizes
    if source == target:
        return input.view(TORCH_DTYPE[type])
    if source > target:
        return input.unsqueeze(-1).contiguous().view(TORCH_DTYPE[type])
    _bitcast_shape(TensorShape(input.shape), sizes=sizes)
    # A copy starts where the wider elements are aligned, which a slice may not.
    return input.clone(memory_format=torch.contiguous_format).view(TORCH_DTYPE[type]).squeeze(-1)


@export("bitcast")
def bitcast(input: ArrayLike, type: DTypeLike, name: str | None = None) -> Tensor:
    """Reads the bytes of `input` as elements of another dtype.

    Narrower elements add a dimension at the end; wider ones take the last dimension away, which
    must have just the length that fills one of them.

    Args:
        input: A numeric tensor.
        type: A numeric dtype.
        name: A name for the op.
    """
    target = as_dtype(type)
    return _bitcast(input, type=target, sizes=(dtype_of(input).size, target.size), name=name)


# Complex numbers and their parts.


def complex_dtype(part: DType) -> DType:
    """The complex dtype for numbers of this dtype: complex128 for what has double precision, else complex64."""
    return dt.complex128 if part.real_dtype is dt.float64 else dt.complex64


_complex = op("Complex", "real: T, imag: T -> out: Tout", T=_PARTS)
_complex.shape(broadcast)


@_complex.kernel(CPU, GPU)
def _complex_kernel(real: torch.Tensor, imag: torch.Tensor, *, Tout: DType) -> torch.Tensor:  # noqa: N803
    return torch.complex(real, imag)


@_complex.gradient
def _complex_gradient(grad: Tensor, real_shape: SizesOf, imag_shape: SizesOf) -> tuple[Any, ...]:
    return lambda: sum_to(real(grad), real_shape), lambda: sum_to(imag(grad), imag_shape)


@export("complex", "dtypes.complex")
def complex(real: ArrayLike, imag: ArrayLike, name: str | None = None) -> Tensor:
    """Makes complex numbers of their real and imaginary parts, which broadcast.

    Args:
        real: A tensor of float32 or float64.
        imag: A tensor of the same dtype.
        name: A name for the op.
    """
    part = dtype_of(imag if is_tensor(imag) and not is_tensor(real) else real)
    if part not in _PARTS:
        raise DTypeError(
            f"The `real` and `imag` components have incorrect types: {part.name} {dtype_of(imag).name}. "
            "They must be consistent, and one of [tf.float32, tf.float64]"
        )
    return _complex(real, imag, Tout=complex_dtype(part), name=name)


_real = op("Real", "input: T -> output: Tout", traits={ZERO_OF_ZERO}, T=NUMERIC)
_real.shape(same_shape)


@_real.kernel(CPU, GPU)
def _real_kernel(input: torch.Tensor, *, Tout: DType) -> torch.Tensor:  # noqa: N803
    return input.real


@_real.gradient
def _real_gradient(grad: Tensor, input: Tensor) -> Tensor:
    return cast(grad, input.dtype)


@export("math.real", v1=("real", "math.real"))
def real(input: ArrayLike, name: str | None = None) -> Tensor:
    """Returns the real part of every element; in a graph, a tensor of real numbers itself."""
    if isinstance(input, SymbolicTensor) and not input.dtype.is_complex:
        return input
    return _real(input, Tout=dtype_of(input).real_dtype, name=name)


_imag = op("Imag", "input: T -> output: Tout", traits={ZERO_OF_ZERO}, T=FIXED)
_imag.shape(same_shape)


@_imag.kernel(CPU, GPU)
def _imag_kernel(input: torch.Tensor, *, Tout: DType) -> torch.Tensor:  # noqa: N803
    return input.imag if input.is_complex() else torch.zeros_like(input)


@_imag.gradient
def _imag_gradient(grad: Tensor, input: Tensor) -> Tensor | None:
    return complex(zeros_like(grad), grad) if input.dtype.is_complex else None


@export("math.imag", v1=("imag", "math.imag"))
def imag(input: ArrayLike, name: str | None = None) -> Tensor:
    """Returns the imaginary part of every element; that of a real number is zero."""
    return _imag(input, Tout=dtype_of(input).real_dtype, name=name)
