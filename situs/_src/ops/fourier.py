"""Fourier transforms: ``tf.signal.fft`` and the like.

fft, fft2d, fft3d       of complex numbers, along the last one, two or three axes; with an i in front, back again
rfft, irfft, ...        of real numbers: of n along the last axis, only the first n/2 + 1 results are kept
fftnd, rfftnd, ...      along any axes
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import COMPLEX, DType
from situs._src.base.errors import ArgumentError, InvalidArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ir.registry.op import Op
from situs._src.ops.array import reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import plain
from situs._src.ops.cast import cast, complex_dtype, real
from situs._src.ops.compare import equal, logical_or
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.constant import range as range_of
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.gather import where
from situs._src.ops.indexing import slice
from situs._src.ops.join import concat, pad, stack
from situs._src.ops.math import divide, floordiv, maximum, minimum, multiply, subtract
from situs._src.ops.rearrange import roll
from situs._src.ops.reduce import reduce_prod
from situs._src.ops.work import n_log_n

_REAL = frozenset({dt.float32, dt.float64})


# Transforms along any axes: the others have these as their gradients.


def _axes_of(axes: Any, rank: int | None) -> list[int]:
    """The axes of a transform, counted from the last."""
    numbers = [int(axis) for axis in axes]
    if rank is not None:
        for axis in numbers:
            if not -rank <= axis < rank:
                raise InvalidArgumentError(
                    f"axes must be in [{-rank}, {rank}) for a tensor of rank {rank}, got {axis}."
                )
        numbers = [axis - rank if axis >= 0 else axis for axis in numbers]
    if len(set(numbers)) != len(numbers):
        raise InvalidArgumentError(f"axes must be different ones, got {numbers}.")
    return numbers


def _result_shape(input: TensorShape, lengths: Any, axes: Sequence[int], halves: bool) -> TensorShape:
    """The shape of a transform to `lengths`, of which the last may be halved."""
    if input.rank is None:
        return UNKNOWN
    if input.rank < len(axes):
        raise ArgumentError(f"Shape must be at least rank {len(axes)} but is rank {input.rank}, shape {input}.")
    sizes: list[Any] = list(input)
    known = [None] * len(axes) if lengths is None else list(lengths)
    if len(known) != len(axes):
        raise ArgumentError(f"fft_length must have {len(axes)} elements, one for each axis, got {known}.")
    for place, (axis, length) in enumerate(zip(axes, known, strict=True)):
        if length is not None and length < 0:
            raise InvalidArgumentError(f"fft_length[{place}] must be >= 0, got {length}.")
        last = halves and place == len(axes) - 1
        sizes[axis] = length if length is None or not last else length // 2 + 1 if length else 0
    return TensorShape(sizes)


def _transform(x: torch.Tensor, kind: str, lengths: Sequence[int], axes: Sequence[int]) -> torch.Tensor:
    """What PyTorch computes; nothing of it is left where a length is zero."""
    wanted = _result_shape(TensorShape(x.shape), lengths, axes, kind == "rfftn")
    sizes = [int(size or 0) for size in wanted]
    if not x.numel() or 0 in sizes:
        made = x.dtype
        if kind == "rfftn":
            made = complex_dtype_of(x.dtype)
        elif kind == "irfftn":
            made = real_dtype_of(x.dtype)
        return torch.zeros(sizes, dtype=made, device=x.device)
    function: Callable[..., torch.Tensor] = getattr(torch.fft, kind)
    return function(x, [int(length) for length in lengths], list(axes))


def complex_dtype_of(part: torch.dtype) -> torch.dtype:
    """PyTorch's complex dtype for numbers of a dtype."""
    return torch.complex128 if part == torch.float64 else torch.complex64


def real_dtype_of(whole: torch.dtype) -> torch.dtype:
    """PyTorch's dtype for the parts of a complex number."""
    return torch.float64 if whole == torch.complex128 else torch.float32


def _declare(name: str, kind: str, signature: str, rank: int | None) -> Op:
    """An op, with its shape rule and kernel, along its last `rank` axes, or those it is told."""
    known = {"Treal": _REAL, "Tcomplex": COMPLEX}
    types: dict[str, Any] = {name: dtypes for name, dtypes in known.items() if name in signature}
    declared = op(name, signature, **types)
    given = list(range(-rank, 0)) if rank else None

    def places(shape: TensorShape, axes: Any) -> list[int] | None:
        if given is not None:
            return given
        return None if axes is None else _axes_of(axes, shape.rank)

    def infer(input: TensorShape, fft_length: Any = None, axes: Any = None, **dtypes: DType) -> TensorShape:
        known = places(input, axes)
        if known is None:
            return TensorShape([None] * input.rank) if input.rank is not None else UNKNOWN
        if "fft_length" not in signature:
            _result_shape(input, None, known, False)  # refuses what has too few axes
            return input
        return _result_shape(input, fft_length, known, kind == "rfftn")

    def kernel(input: torch.Tensor, fft_length: Any = None, axes: Any = None, **dtypes: DType) -> torch.Tensor:
        known = places(TensorShape(input.shape), axes)
        assert known is not None, "the axes are known when the op runs"
        if fft_length is None:
            _result_shape(TensorShape(input.shape), None, known, False)
            fft_length = [input.shape[axis] for axis in known]
        return _transform(input, kind, fft_length, known)

    declared.shape(infer)
    declared.kernel(CPU, GPU)(kernel)
    declared.work(n_log_n)
    return declared


_KINDS = {"": "fftn", "I": "ifftn", "R": "rfftn", "IR": "irfftn"}
_ANY_AXES = {
    "": "input: Tcomplex, fft_length: host, axes: host -> output: Tcomplex",
    "I": "input: Tcomplex, fft_length: host, axes: host -> output: Tcomplex",
    "R": "input: Treal, fft_length: host, axes: host -> output: Tcomplex",
    "IR": "input: Tcomplex, fft_length: host, axes: host -> output: Treal",
}
_nd = {key: _declare(f"{key}FFTND", _KINDS[key], signature, None) for key, signature in _ANY_AXES.items()}
_last = {
    (key, rank): _declare(f"{key}FFT{'' if rank == 1 else f'{rank}D'}", _KINDS[key], signature, rank)
    for rank in (1, 2, 3)
    for key, signature in (
        ("", "input: Tcomplex -> output: Tcomplex"),
        ("I", "input: Tcomplex -> output: Tcomplex"),
        ("R", "input: Treal, fft_length: host -> output: Tcomplex"),
        ("IR", "input: Tcomplex, fft_length: host -> output: Treal"),
    )
}


# Gradients. Each transform is linear, so its gradient is the transform the other way.


def _count(lengths: Any, dtype: DType) -> Tensor:
    """How many elements one transform has."""
    if isinstance(lengths, (tuple, list)) and all(isinstance(length, int) for length in lengths):
        return constant(math.prod(lengths), dtype)
    return cast(reduce_prod(lengths), dtype)


def _fitted(x: Tensor, sizes: Any) -> Tensor:
    """A tensor cut, or filled up with zeros, to the sizes that the input of a transform had."""
    if isinstance(sizes, tuple) and x.shape.is_fully_defined():
        have = x.shape.as_list()
        if list(sizes) == have:
            return x
        common = [min(size, other) for size, other in zip(have, sizes, strict=True)]
        cut = slice(x, [0] * len(have), common)
        return pad(cut, [[0, size - less] for size, less in zip(sizes, common, strict=True)])
    whole, wanted = shape_of(x), convert_to_tensor(sizes, dt.int32)
    smaller = minimum(whole, wanted)
    none = multiply(smaller, 0)
    return pad(slice(x, none, smaller), stack([none, subtract(wanted, smaller)], 1))


def _real_gradient(grad: Tensor, sizes: Any, lengths: Any, axes: Sequence[int]) -> Tensor:
    whole = real(_nd["I"](grad, lengths, axes))
    return _fitted(multiply(whole, _count(lengths, whole.dtype)), sizes)


def _inverse_real_gradient(grad: Tensor, sizes: Any, lengths: Any, axes: Sequence[int]) -> Tensor:
    """The gradient of `irfft`: all but the first and the middle result stand for two, themselves and their mirror."""
    back = _nd["R"](grad, lengths, axes, Tcomplex=complex_dtype(grad.dtype))
    last = lengths[len(axes) - 1]
    number = range_of(floordiv(last, 2) + 1 if isinstance(last, Tensor) else last // 2 + 1)
    alone = logical_or(equal(number, 0), equal(number * 2, last))
    weights = where(alone, constant(1.0, grad.dtype), constant(2.0, grad.dtype))
    weights = reshape(divide(weights, _count(lengths, grad.dtype)), [-1] + [1] * (-axes[-1] - 1))
    return _fitted(multiply(back, cast(weights, back.dtype)), sizes)


def _add_gradients(rank: int) -> None:
    axes = tuple(range(-rank, 0))

    def count(sizes: Any, dtype: DType) -> Tensor:
        return _count(sizes[-rank:], dtype)

    @_last["", rank].gradient
    def _forth(grad: Tensor, input_shape: Any) -> Tensor:
        return multiply(_last["I", rank](grad), count(input_shape, grad.dtype))

    @_last["I", rank].gradient
    def _back(grad: Tensor, input_shape: Any) -> Tensor:
        return divide(_last["", rank](grad), count(input_shape, grad.dtype))

    @_last["R", rank].gradient
    def _of_real(grad: Tensor, input_shape: Any, fft_length: Any) -> Tensor:
        return _real_gradient(grad, input_shape, fft_length, axes)

    @_last["IR", rank].gradient
    def _to_real(grad: Tensor, input_shape: Any, fft_length: Any) -> Tensor:
        return _inverse_real_gradient(grad, input_shape, fft_length, axes)


for _rank in (1, 2, 3):
    _add_gradients(_rank)


@_nd[""].gradient
def _fftnd_gradient(grad: Tensor, input_shape: Any, fft_length: Any, axes: Any) -> Tensor:
    back = _nd["I"](grad, fft_length, axes)
    return _fitted(multiply(back, _count(fft_length, grad.dtype)), input_shape)


@_nd["I"].gradient
def _ifftnd_gradient(grad: Tensor, input_shape: Any, fft_length: Any, axes: Any) -> Tensor:
    back = _nd[""](grad, fft_length, axes)
    return _fitted(divide(back, _count(fft_length, grad.dtype)), input_shape)


@_nd["R"].gradient
def _rfftnd_gradient(grad: Tensor, input_shape: Any, fft_length: Any, axes: Any) -> Tensor:
    return _real_gradient(grad, input_shape, fft_length, axes)


@_nd["IR"].gradient
def _irfftnd_gradient(grad: Tensor, input_shape: Any, fft_length: Any, axes: Any) -> Tensor:
    return _inverse_real_gradient(grad, input_shape, fft_length, _axes_of(axes, grad.shape.rank))


# The public functions.


Function = Callable[..., Tensor]
_ALONG = {1: "last axis", 2: "last two axes", 3: "last three axes"}


def _named(function: Function, key: str, rank: int, doc: str) -> Function:
    function.__name__ = function.__qualname__ = f"{key.lower()}fft{'' if rank == 1 else f'{rank}d'}"
    function.__doc__ = doc
    return function


def _complex_function(key: str, rank: int) -> Function:
    declared, what = _last[key, rank], "inverse Fourier transform" if key else "Fourier transform"

    def transform(input: Any, name: str | None = None) -> Tensor:
        return declared(input, name=name)

    return _named(transform, key, rank, f"The {what} of complex numbers along the {_ALONG[rank]}.")


def _as_lengths(fft_length: Any, rank: int) -> Any:
    """The argument `fft_length`, as an op takes it."""
    lengths = convert_to_tensor(fft_length, dt.int32) if not isinstance(fft_length, (list, tuple)) else fft_length
    count = lengths.shape if isinstance(lengths, Tensor) else TensorShape([len(lengths)])
    if not count.is_compatible_with([rank]):
        raise ArgumentError(f"Shape must be [{rank}], one length for each axis, but fft_length is {fft_length!r}.")
    return lengths


def _real_function(rank: int) -> Function:
    def transform(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
        given = convert_to_tensor(input_tensor, dtype_hint=dt.float32)
        if given.dtype not in _REAL:
            raise ArgumentError(f"RFFT requires tf.float32 or tf.float64 inputs, got: {given!r}")
        lengths = _sizes_at(given, range(-rank, 0)) if fft_length is None else _as_lengths(fft_length, rank)
        return _last["R", rank](given, lengths, Tcomplex=complex_dtype(given.dtype), name=name)

    doc = f"""The Fourier transform of real numbers along the {_ALONG[rank]}; of the last, n/2 + 1 results are kept.

    Args:
        input_tensor: A tensor of float32 or float64.
        fft_length: How many numbers are transformed, by axis: the input is cut, or filled up with zeros.
        name: A name for the op.
    """
    return _named(transform, "R", rank, doc)


def _to_real_function(rank: int) -> Function:
    def transform(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
        given = convert_to_tensor(input_tensor, dtype_hint=dt.complex64)
        if given.dtype not in COMPLEX:
            raise ArgumentError(f"IRFFT requires tf.complex64 or tf.complex128 inputs, got: {given!r}")
        lengths = _doubled_sizes(given, range(-rank, 0)) if fft_length is None else _as_lengths(fft_length, rank)
        return _last["IR", rank](given, lengths, Treal=given.dtype.real_dtype, name=name)

    doc = f"""The real numbers whose Fourier transform along the {_ALONG[rank]} is given by its first n/2 + 1 results.

    Args:
        input_tensor: A tensor of complex64 or complex128.
        fft_length: How many numbers are made, by axis; by default the last axis gets an even number.
        name: A name for the op.
    """
    return _named(transform, "IR", rank, doc)


def _sizes_at(x: Tensor, axes: Any) -> Any:
    """The sizes of a tensor along some axes: plain numbers where they are known."""
    rank = x.shape.rank
    if rank is not None and rank < len(axes):
        raise ArgumentError(f"Shape must be at least rank {len(axes)} but is rank {rank}: {x.shape}.")
    known = [None] * len(axes) if rank is None else [x.shape[axis] for axis in axes]
    if None not in known:
        return [int(size) for size in known if size is not None]
    sizes = shape_of(x)
    return stack([sizes[axis] for axis in axes])


def _doubled_sizes(x: Tensor, axes: Any) -> Any:
    """What `irfft` makes of a tensor if nothing is said: the last axis came from an even number."""
    sizes = _sizes_at(x, axes)
    if isinstance(sizes, list):
        return [*sizes[:-1], max(0, 2 * (sizes[-1] - 1))]
    return concat([sizes[:-1], maximum(2 * (sizes[-1:] - 1), 0)], 0)


fft = export("signal.fft", v1=("fft", "signal.fft", "spectral.fft"))(_complex_function("", 1))
fft2d = export("signal.fft2d", v1=("fft2d", "signal.fft2d", "spectral.fft2d"))(_complex_function("", 2))
fft3d = export("signal.fft3d", v1=("fft3d", "signal.fft3d", "spectral.fft3d"))(_complex_function("", 3))
ifft = export("signal.ifft", v1=("ifft", "signal.ifft", "spectral.ifft"))(_complex_function("I", 1))
ifft2d = export("signal.ifft2d", v1=("ifft2d", "signal.ifft2d", "spectral.ifft2d"))(_complex_function("I", 2))
ifft3d = export("signal.ifft3d", v1=("ifft3d", "signal.ifft3d", "spectral.ifft3d"))(_complex_function("I", 3))
rfft = export("signal.rfft", v1=("signal.rfft", "spectral.rfft"))(_real_function(1))
rfft2d = export("signal.rfft2d", v1=("signal.rfft2d", "spectral.rfft2d"))(_real_function(2))
rfft3d = export("signal.rfft3d", v1=("signal.rfft3d", "spectral.rfft3d"))(_real_function(3))
irfft = export("signal.irfft", v1=("signal.irfft", "spectral.irfft"))(_to_real_function(1))
irfft2d = export("signal.irfft2d", v1=("signal.irfft2d", "spectral.irfft2d"))(_to_real_function(2))
irfft3d = export("signal.irfft3d", v1=("signal.irfft3d", "spectral.irfft3d"))(_to_real_function(3))

_AXES_DOC = """

    Args:
        input_tensor: The numbers.
        fft_length: How many of them are transformed, by axis: the input is cut, or filled up with zeros.
        axes: The axes; all if nothing is said, or the last ones of which there are lengths.
        norm: Which direction is divided by the number of elements: ``"backward"`` (None is the same), ``"forward"``,
            or both by its root, ``"ortho"``.
        name: A name for the op.
    """


def _any_axes(key: str, what: str) -> Callable[..., Tensor]:
    is_real, back = key == "R", key.startswith("I")

    def transform(
        input_tensor: Any, fft_length: Any = None, axes: Any = None, norm: str | None = None, name: str | None = None
    ) -> Tensor:
        given = convert_to_tensor(input_tensor, dtype_hint=dt.float32 if is_real else dt.complex64)
        if given.dtype not in (_REAL if is_real else COMPLEX):
            allowed = "tf.float32 or tf.float64" if is_real else "tf.complex64 or tf.complex128"
            raise ArgumentError(f"{key}FFTND requires {allowed} inputs, got: {given!r}")
        if norm not in (None, "backward", "forward", "ortho"):
            raise ArgumentError(f"norm must be 'backward', 'forward', 'ortho' or None, got {norm!r}.")
        if not given.shape.rank:
            raise ArgumentError(f"{key}FFTND needs a tensor with axes, whose rank is known, got {given!r}")
        if axes is None:
            count = given.shape.rank if fft_length is None else int(convert_to_tensor(fft_length).shape[0] or 0)
            axes = list(range(-count, 0))
        places = _axes_of(plain(axes, "axes"), given.shape.rank)
        if not places:
            raise ArgumentError(f"{key}FFTND needs one axis or more, got axes {axes!r}.")
        if fft_length is not None:
            lengths = _as_lengths(fft_length, len(places))
        else:
            lengths = _doubled_sizes(given, places) if key == "IR" else _sizes_at(given, places)
        dtypes: dict[str, DType] = {"R": {"Tcomplex": complex_dtype(given.dtype)}}.get(key, {})
        if key == "IR":
            dtypes = {"Treal": given.dtype.real_dtype}
        plainly = norm in (None, "backward")
        out = _nd[key](given, lengths, places, **dtypes, name=name if plainly else None)
        if plainly:
            return out
        size = _count(lengths, out.dtype)
        scale = size**0.5 if norm == "ortho" else size
        return multiply(out, scale, name=name) if back else divide(out, scale, name=name)

    transform.__name__ = transform.__qualname__ = f"{key.lower()}fftnd"
    transform.__doc__ = what + _AXES_DOC
    return transform


fftnd = export("signal.fftnd", v1=("fftnd", "signal.fftnd"))(
    _any_axes("", "The Fourier transform of complex numbers along any axes.")
)
ifftnd = export("signal.ifftnd", v1=("ifftnd", "signal.ifftnd"))(
    _any_axes("I", "The inverse Fourier transform of complex numbers along any axes.")
)
rfftnd = export("signal.rfftnd", v1=("rfftnd", "signal.rfftnd"))(
    _any_axes("R", "The Fourier transform of real numbers along any axes; of the last, n/2 + 1 results are kept.")
)
irfftnd = export("signal.irfftnd", v1=("irfftnd", "signal.irfftnd"))(
    _any_axes("IR", "The real numbers whose Fourier transform along any axes is given by its first half.")
)


@export("signal.fftshift")
def fftshift(x: ArrayLike, axes: Any = None, name: str | None = None) -> Tensor:
    """Moves the zero frequency of a transform to the middle, along `axes` (all by default)."""
    return _shifted(x, axes, 1, name)


@export("signal.ifftshift")
def ifftshift(x: ArrayLike, axes: Any = None, name: str | None = None) -> Tensor:
    """Moves the zero frequency back to the beginning: undoes `fftshift`."""
    return _shifted(x, axes, -1, name)


def _shifted(x: Any, axes: Any, direction: int, name: str | None) -> Tensor:
    given = convert_to_tensor(x)
    if given.shape.rank is None and axes is None:
        raise ArgumentError(f"Shifting all axes needs a tensor whose rank is known, got {given!r}")
    chosen = list(range(given.shape.rank or 0)) if axes is None else plain(axes, "axes")
    places = [int(axis) for axis in (chosen if isinstance(chosen, (list, tuple)) else [chosen])]
    if not places:
        return given
    sizes = _sizes_at(given, places)
    if isinstance(sizes, list):
        return roll(given, [size // 2 if direction > 0 else -(size // 2) for size in sizes], places, name=name)
    half = floordiv(sizes, 2)
    return roll(given, half if direction > 0 else -half, places, name=name)
