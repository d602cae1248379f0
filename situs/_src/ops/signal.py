"""Signals: frames and windows, transforms frame by frame, and features of sounds: ``tf.signal``.

A signal is the last axis of a tensor. `frame` cuts it into pieces that may overlap, `overlap_and_add` puts them
together again; a window is what each piece is multiplied by. `stft` is both with a Fourier transform.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.dtype import FLOATING, DType, as_dtype
from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, is_tensor, read
from situs._src.base.typing import ArrayLike, DTypeLike, IntLike
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.array import reshape, squeeze, transpose
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_bool, as_float, as_int, is_plain, plain
from situs._src.ops.cast import cast, complex, complex_dtype, real
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.constant import range as range_of
from situs._src.ops.cumulative import cumsum, unsorted_segment_sum
from situs._src.ops.fourier import irfft, rfft
from situs._src.ops.gather import gather
from situs._src.ops.join import concat, pad, tile
from situs._src.ops.math import bessel_i0 as bessel
from situs._src.ops.math import cos, floormod, maximum, multiply, sin, sqrt, square
from situs._src.ops.naming import Composed
from situs._src.ops.rearrange import reverse
from situs._src.ops.reduce import reduce_sum

Window = Callable[..., Tensor]


def _whole(value: Any, name: str) -> Any:
    """A number of samples: a plain integer where it is known, else a tensor.

    Raises:
        ValueError: it is not an integer, or no scalar.
    """
    if is_tensor(read(value)):
        given = convert_to_tensor(value)
        if given.shape.rank not in (0, None):
            raise ArgumentError(f"{name} must be a scalar, got a tensor of shape {given.shape}.")
        if not given.dtype.is_integer:
            raise ArgumentError(f"{name} must be an integer, got {given.dtype.name}.")
        if not is_plain(given):
            return cast(given, dt.int32)
        return int(np.asarray(plain(given, name)))
    try:
        number = as_int(value, name)
    except TypeError:
        raise ArgumentError(f"{name} must be an integer, got {shown(value)}.") from None
    if abs(number) > dt.int32.max:
        raise ArgumentError(f"{name} must fit int32, got {shown(value)}.")
    return number


def _positive(value: Any, name: str) -> Any:
    number = _whole(value, name)
    if isinstance(number, int) and number <= 0:
        raise ArgumentError(f"{name} must be positive, got {number}.")
    return number


def _size(x: Tensor, axis: int) -> Any:
    """The size of an axis: a plain integer where it is known."""
    known = x.shape[axis] if x.shape.rank is not None else None
    return shape_of(x)[axis] if known is None else int(known)


def _over_zero(number: Any) -> Any:
    return max(number, 0) if isinstance(number, int) else maximum(number, 0)


# Frames.


_SMALL = 1 << 16  # up to which places that are known are computed once, and kept in the graph


@export("signal.frame")
def frame(
    signal: Any,
    frame_length: ArrayLike,
    frame_step: ArrayLike,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Cuts an axis of a tensor into frames, which may overlap.

    Args:
        signal: The tensor.
        frame_length: The length of frames.
        frame_step: How far their beginnings are apart.
        pad_end: Whether frames that reach past the end are filled up with `pad_value`, instead of left out.
        pad_value: What they are filled up with.
        axis: The axis. In the result two stand in its place: the frames, and what is in each.
        name: A name for the ops.
    """
    with Composed(name, "frame") as last:
        given = convert_to_tensor(signal)
        length, step = _positive(frame_length, "frame_length"), _positive(frame_step, "frame_step")
        rank = given.shape.rank
        if rank is None:
            raise ArgumentError(f"frame needs a signal whose rank is known, got {given!r}")
        place = as_int(axis, "axis")
        if not -rank <= place < rank:
            raise ArgumentError(f"axis must be in [{-rank}, {rank}) for a signal of shape {given.shape}, got {axis}.")
        place %= rank
        have = _size(given, place)
        if as_bool(pad_end, "pad_end"):
            count = -(-have // step)
            more = _over_zero(length + step * (count - 1) - have)
            widths: list[list[Any]] = [[0, 0] for _ in range(rank)]
            widths[place] = [0, more]
            if not isinstance(more, int) or more:
                filler = convert_to_tensor(pad_value, given.dtype)
                given = pad(given, widths, constant_values=filler)
        else:
            count = _over_zero(1 + (have - length) // step)
        begins = range_of(count) * step
        places = begins[:, None] + range_of(length)[None]
        if place:
            return gather(given, places, axis=place, name=last)
        return squeeze(gather(given[None], places, axis=1), 0, name=last)  # rows of axis 0 have gradients of slices


@export("signal.overlap_and_add")
def overlap_and_add(signal: Any, frame_step: ArrayLike, name: str | None = None) -> Tensor:
    """Puts frames together, adding where they overlap.

    Args:
        signal: Frames: ``[..., frames, frame_length]``.
        frame_step: How far their beginnings are apart.
        name: A name for the ops.
    """
    with Composed(name, "overlap_and_add") as last:
        frames = convert_to_tensor(signal)
        if frames.shape.rank is None or frames.shape.rank < 2:
            raise ArgumentError(
                f"overlap_and_add takes frames of rank 2 or more, got a tensor of shape {frames.shape}."
            )
        step = _positive(frame_step, "frame_step")
        count, length = _size(frames, -2), _size(frames, -1)
        total = _over_zero(length + step * (count - 1))
        known = isinstance(count, int) and isinstance(length, int) and isinstance(step, int)
        if known and max(count * length, step) <= _SMALL:
            begins, inside = np.arange(count, dtype=np.int32) * step, np.arange(length, dtype=np.int32)
            places: Any = np.add.outer(begins, inside)
        else:
            places = range_of(0, count * step, step)[:, None] + range_of(length)[None]
        outer = frames.shape.as_list()[:-2]
        batch: Any = outer if None not in outer else shape_of(frames)[:-2]
        if not outer:
            return unsorted_segment_sum(reshape(frames, [-1]), reshape(places, [-1]), total, name=last)
        axes = list(range(frames.shape.rank))
        front = transpose(frames, axes[-2:] + axes[:-2])
        added = unsorted_segment_sum(front, places, total)
        result = transpose(added, [*axes[1:-1], 0], name=last)
        if isinstance(result, SymbolicTensor) and isinstance(batch, list):
            result.set_shape([*batch, total if isinstance(total, int) else None])
        return result


# Windows.


def _as_floating(dtype: Any, what: str) -> DType:
    wanted = as_dtype(dtype)
    if wanted not in FLOATING:
        raise ArgumentError(f"dtype must be a floating point type, got {wanted!r} for {what}.")
    return wanted


def _raised_cosine(length: Any, periodic: Any, dtype: Any, name: str | None, what: str, low: float) -> Tensor:
    with Composed(name, what) as last:
        wanted, count = _as_floating(dtype, what), _whole(length, "window_length")
        is_periodic = as_bool(plain(periodic, "periodic"), "periodic")
        if isinstance(count, int):
            if count < 0:
                raise ArgumentError(f"window_length must not be negative, got {count}.")
            if count == 1:
                return constant([1.0], wanted)
            period: Any = constant(float(count - 1 + (is_periodic and count % 2 == 0)), wanted)
        else:
            period = cast(maximum(count - 1 + (1 - floormod(count, 2) if is_periodic else 0), 1), wanted)
        turn = constant(2 * math.pi, wanted) * cast(range_of(count), wanted) / period
        made = constant(low, wanted) - constant(1 - low, wanted) * cos(turn)
        return multiply(made, constant(1.0, wanted), name=last)


@export("signal.hann_window")
def hann_window(
    window_length: ArrayLike, periodic: bool = True, dtype: DTypeLike = dt.float32, name: str | None = None
) -> Tensor:
    """The Hann window: ``0.5 - 0.5 cos``.

    Args:
        window_length: How many samples it has.
        periodic: Whether one of an even length ends one sample before it is zero again.
        dtype: The dtype of the result, of floating-point numbers.
        name: A name for the ops.
    """
    return _raised_cosine(window_length, periodic, dtype, name, "hann_window", 0.5)


@export("signal.hamming_window")
def hamming_window(
    window_length: ArrayLike, periodic: bool = True, dtype: DTypeLike = dt.float32, name: str | None = None
) -> Tensor:
    """The Hamming window: ``0.54 - 0.46 cos``. The arguments are those of `hann_window`."""
    return _raised_cosine(window_length, periodic, dtype, name, "hamming_window", 0.54)


@export("signal.kaiser_window")
def kaiser_window(
    window_length: ArrayLike, beta: float = 12.0, dtype: DTypeLike = dt.float32, name: str | None = None
) -> Tensor:
    """The Kaiser window.

    Args:
        window_length: How many samples it has.
        beta: How narrow it is.
        dtype: The dtype of the result, of floating-point numbers.
        name: A name for the ops.
    """
    with Composed(name, "kaiser_window") as last:
        wanted, count = _as_floating(dtype, "kaiser_window"), _whole(window_length, "window_length")
        if count == 1:
            return constant([1.0], wanted)
        narrow = as_float(beta, "beta") if not is_tensor(read(beta)) else cast(beta, wanted)
        half = cast(convert_to_tensor(count - 1), wanted) / constant(2.0, wanted)
        place = (cast(range_of(count), wanted) - half) / half
        arc = sqrt(maximum(constant(1.0, wanted) - square(place), constant(0.0, wanted)))
        scale = convert_to_tensor(narrow, wanted)
        return multiply(bessel(scale * arc), constant(1.0, wanted) / bessel(scale), name=last)


@export("signal.kaiser_bessel_derived_window")
def kaiser_bessel_derived_window(
    window_length: ArrayLike, beta: float = 12.0, dtype: DTypeLike = dt.float32, name: str | None = None
) -> Tensor:
    """The Kaiser-Bessel-derived window of an even length. The arguments are those of `kaiser_window`."""
    with Composed(name, "kaiser_bessel_derived_window") as last:
        count = _whole(window_length, "window_length")
        if isinstance(count, int) and count % 2:
            raise ArgumentError(f"window_length must be even, got {count}.")
        half = count // 2
        kaiser = kaiser_window(half + 1, beta, dtype)
        sums = cumsum(kaiser)
        rising = sqrt(sums[:-1] / sums[-1])
        return concat([rising, reverse(rising, [0])], 0, name=last)


@export("signal.vorbis_window")
def vorbis_window(window_length: ArrayLike, dtype: DTypeLike = dt.float32, name: str | None = None) -> Tensor:
    """The window of Vorbis' sound files.

    Args:
        window_length: How many samples it has.
        dtype: The dtype of the result, of floating-point numbers.
        name: A name for the ops.
    """
    with Composed(name, "vorbis_window") as last:
        wanted, count = _as_floating(dtype, "vorbis_window"), _whole(window_length, "window_length")
        place = cast(range_of(count), wanted) + constant(0.5, wanted)
        inner = sin(constant(math.pi, wanted) / cast(convert_to_tensor(count), wanted) * place)
        return sin(constant(math.pi / 2, wanted) * square(inner), name=last)


# The Fourier transform frame by frame.


def _power_of_two(number: Any) -> int:
    if not isinstance(number, int):
        raise ArgumentError("fft_length must be given where frame_length is not known when the graph is built.")
    return 1 << max(number - 1, 0).bit_length()


def _windowed(frames: Tensor, length: Any, window_fn: Window | None, name: str | None = None) -> Tensor:
    if window_fn is None:
        return frames
    if not callable(window_fn):
        raise ArgumentError(f"window_fn is a function of a length and a dtype, or None, got {window_fn!r}.")
    return multiply(frames, window_fn(length, dtype=frames.dtype), name=name)


@export("signal.stft")
def stft(
    signals: Any,
    frame_length: ArrayLike,
    frame_step: ArrayLike,
    fft_length: ArrayLike | None = None,
    window_fn: Window | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """The Fourier transforms of the frames of real signals: ``[..., frames, fft_length / 2 + 1]``.

    Args:
        signals: ``[..., samples]``, float32 or float64.
        frame_length: The length of frames.
        frame_step: How far their beginnings are apart.
        fft_length: The length of each transform; the power of two that a frame fits in if nothing is said.
        window_fn: A function that makes a window of a length and a dtype; None for none.
        pad_end: Whether frames that reach past the end are filled up with zeros, instead of left out.
        name: A name for the ops.
    """
    with Composed(name, "stft") as last:
        given = convert_to_tensor(signals, dtype_hint=dt.float32)
        if given.shape.rank == 0:
            raise ArgumentError("stft takes signals of rank 1 or more, got a scalar.")
        length = _positive(frame_length, "frame_length")
        wide = _power_of_two(length) if fft_length is None else _positive(fft_length, "fft_length")
        frames = frame(given, length, frame_step, pad_end=pad_end)
        return rfft(_windowed(frames, length, window_fn), [wide], name=last)


@export("signal.inverse_stft")
def inverse_stft(
    stfts: Any,
    frame_length: ArrayLike,
    frame_step: ArrayLike,
    fft_length: ArrayLike | None = None,
    window_fn: Window | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """The signals of which `stft` made transforms; `inverse_stft_window_fn` makes the window that gives them back.

    Args:
        stfts: ``[..., frames, fft_length / 2 + 1]``, complex numbers.
        frame_length: The length of frames.
        frame_step: How far their beginnings are apart.
        fft_length: The length of each transform; the power of two that a frame fits in if nothing is said.
        window_fn: A function that makes a window of a length and a dtype; None for none.
        name: A name for the ops.
    """
    with Composed(name, "inverse_stft") as last:
        given = convert_to_tensor(stfts, dtype_hint=dt.complex64)
        if given.shape.rank is not None and given.shape.rank < 2:
            raise ArgumentError(f"inverse_stft takes stfts of rank 2 or more, got shape {given.shape}.")
        length = _positive(frame_length, "frame_length")
        wide = _power_of_two(length) if fft_length is None else _positive(fft_length, "fft_length")
        frames = irfft(given, [wide])
        more = _over_zero(length - wide)
        frames = frames[..., :length]
        if not isinstance(more, int) or more:
            assert frames.shape.rank is not None, "irfft knows the rank of its result"
            frames = pad(frames, [[0, 0]] * (frames.shape.rank - 1) + [[0, more]])
        return overlap_and_add(_windowed(frames, length, window_fn), frame_step, name=last)


@export("signal.inverse_stft_window_fn")
def inverse_stft_window_fn(
    frame_step: ArrayLike, forward_window_fn: Window = hann_window, name: str | None = None
) -> Window:
    """The function for `window_fn` of `inverse_stft` by which it undoes an `stft`.

    Args:
        frame_step: How far the beginnings of frames are apart.
        forward_window_fn: The function that made the window of that `stft`.
        name: A name for the ops.
    """
    step = _positive(frame_step, "frame_step")

    def window(frame_length: Any, dtype: Any) -> Tensor:
        with Composed(name, "inverse_stft_window_fn") as last:
            length = _positive(frame_length, "frame_length")
            forth = forward_window_fn(length, dtype=dtype)
            overlaps = -(-length // step)
            filled = pad(square(forth), [[0, overlaps * step - length]])
            sums = reduce_sum(reshape(filled, [overlaps, step]), 0, keepdims=True)
            whole = reshape(tile(sums, [overlaps, 1]), [overlaps * step])
            return multiply(forth, 1.0 / whole[:length], name=last)

    return window


# Cosine transforms.


@export("signal.dct", v1=("signal.dct", "spectral.dct"))
def dct(
    input: ArrayLike,
    type: int = 2,
    n: IntLike | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete cosine transform along the last axis.

    Args:
        input: A tensor of float32 or float64.
        type: 1, 2, 3 or 4.
        n: How many numbers are transformed: the input is cut, or filled up with zeros.
        axis: -1.
        norm: ``"ortho"`` for a transform that keeps lengths (not for type 1), or None.
        name: A name for the ops.
    """
    _check_cosine(input, type, n, axis, norm)
    with Composed(name, "dct") as last:
        given = convert_to_tensor(input, dtype_hint=dt.float32)
        if n is not None:
            given = _of_length(given, _positive(n, "n"))
        return multiply(_cosine(given, type, norm), constant(1.0, given.dtype), name=last)


@export("signal.idct", v1=("signal.idct", "spectral.idct"))
def idct(
    input: ArrayLike,
    type: int = 2,
    n: IntLike | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The transform that undoes a `dct` of a type, up to a factor if `norm` is None. It has the same arguments."""
    _check_cosine(input, type, n, axis, norm)
    return dct(input, {2: 3, 3: 2}.get(type, type), n, axis, norm, name)


def _check_cosine(input: Any, kind: Any, n: Any, axis: Any, norm: Any) -> None:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1, got: {axis}")
    if kind not in (1, 2, 3, 4):
        raise ArgumentError(f"Types I, II, III and IV (I)DCT are supported, got type {kind!r}.")
    if norm not in (None, "ortho"):
        raise ArgumentError(f"norm must be None or 'ortho', got: {norm!r}")
    if kind == 1:
        given = convert_to_tensor(input, dtype_hint=dt.float32)
        if norm == "ortho":
            raise ArgumentError("Normalization is not supported for the Type-I DCT.")
        length = n if n is not None else given.shape[-1] if given.shape.rank else None
        if isinstance(length, int) and length < 2:
            raise ArgumentError(f"Type-I DCT requires the dimension to be greater than one, got {length}.")


def _of_length(x: Tensor, length: Any) -> Tensor:
    """A tensor cut, or filled up with zeros, along its last axis."""
    have = _size(x, -1)
    cut = x[..., :length]
    more = _over_zero(length - have)
    if isinstance(more, int) and not more:
        return cut
    if cut.shape.rank is None:
        raise ArgumentError(f"The number of dimensions of the signal is not known: {shown(x)}.")
    return pad(cut, [[0, 0]] * (cut.shape.rank - 1) + [[0, more]])


def _turned(count: Any, step: float, dtype: DType) -> Tensor:
    """``exp(step * i * k / count)`` for k from 0 to `count`."""
    angle = cast(range_of(count), dtype) * constant(step, dtype) / cast(convert_to_tensor(count), dtype)
    return complex(cos(angle), sin(angle))


def _cosine(x: Tensor, kind: int, norm: str | None) -> Tensor:
    count, dtype = _size(x, -1), x.dtype
    size = cast(convert_to_tensor(count), dtype)
    two = constant(2.0, dtype)
    if kind == 1:
        return real(rfft(concat([x, x[..., -2:0:-1]], -1)))
    if kind == 2:
        scale = _turned(count, -math.pi / 2, dtype) * cast(two, complex_dtype(dtype))
        made = real(rfft(x, [2 * count])[..., :count] * scale)
        if norm is None:
            return made
        first = constant(0.5, dtype) / sqrt(size)
        return made * concat([first[None], tile((first * sqrt(two))[None], [count - 1])], 0)
    if kind == 3:
        if norm is None:
            weighted = x * size
        else:
            root = sqrt(size)
            weighted = x * concat([root[None], tile((root / sqrt(two))[None], [count - 1])], 0)
        scale = _turned(count, math.pi / 2, dtype) * cast(two, complex_dtype(dtype))
        return irfft(scale * cast(weighted, complex_dtype(dtype)), [2 * count])[..., :count]
    made = _cosine(_of_length(x, 2 * count), 2, None)[..., 1::2]
    return made if norm is None else made * (sqrt(constant(0.5, dtype)) / sqrt(size))


@export("signal.mdct")
def mdct(
    signals: Any,
    frame_length: ArrayLike,
    window_fn: Window | None = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The modified cosine transforms of frames that overlap by half: ``[..., frames, frame_length / 2]``.

    Args:
        signals: ``[..., samples]``, float32 or float64.
        frame_length: The length of frames, divisible by four.
        window_fn: A function that makes a window of a length and a dtype; None for none.
        pad_end: Whether frames that reach past the end are filled up with zeros, instead of left out.
        norm: ``"ortho"``, or None.
        name: A name for the ops.
    """
    with Composed(name, "mdct") as last:
        given = convert_to_tensor(signals, dtype_hint=dt.float32)
        if given.shape.rank == 0:
            raise ArgumentError("mdct takes signals of rank 1 or more, got a scalar.")
        length = as_int(frame_length, "frame_length")
        if length % 4 or length <= 0:
            raise ArgumentError(f"The frame length must be a multiple of 4, got {length}.")
        quarter = length // 4
        frames = frame(given, length, length // 2, pad_end=pad_end)
        frames = _windowed(frames, length, window_fn, None)
        if window_fn is None:
            frames = frames * constant(math.sqrt(0.5), given.dtype)
        a, b, c, d = (frames[..., i * quarter : (i + 1) * quarter] for i in range(4))
        halves = concat([-reverse(c, [-1]) - d, a - reverse(b, [-1])], -1)
        return dct(halves, type=4, norm=norm, name=last)


@export("signal.inverse_mdct")
def inverse_mdct(
    mdcts: Any, window_fn: Window | None = vorbis_window, norm: str | None = None, name: str | None = None
) -> Tensor:
    """The signals of which `mdct` made transforms, but for half a frame at both ends.

    Args:
        mdcts: ``[..., frames, frame_length / 2]``.
        window_fn: The function that made the window of `mdct`.
        norm: That of `mdct`.
        name: A name for the ops.
    """
    with Composed(name, "inverse_mdct") as last:
        given = convert_to_tensor(mdcts, dtype_hint=dt.float32)
        if given.shape.rank is not None and given.shape.rank < 2:
            raise ArgumentError(f"inverse_mdct takes mdcts of rank 2 or more, got shape {given.shape}.")
        half = _size(given, -1)
        if not isinstance(half, int):
            raise ArgumentError("inverse_mdct needs mdcts whose last size is known.")
        if norm is None:
            parts = dct(given, type=4) * constant(0.5 / half, given.dtype)
        else:
            parts = dct(given, type=4, norm=norm)
        first, second = parts[..., : half // 2], parts[..., half // 2 :]
        frames = concat([second, -reverse(second, [-1]), -reverse(first, [-1]), -first], -1)
        frames = _windowed(frames, 2 * half, window_fn)
        if window_fn is None:
            frames = frames * constant(math.sqrt(0.5), given.dtype)
        return overlap_and_add(frames, half, name=last)


# Features of sounds.

_MEL_BREAK, _MEL_SCALE = 700.0, 1127.0


def _mel(hertz: Any) -> Any:
    return _MEL_SCALE * np.log(1.0 + np.asarray(hertz, np.float64) / _MEL_BREAK)


@export("signal.linear_to_mel_weight_matrix")
def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: DTypeLike = dt.float32,
    name: str | None = None,
) -> Tensor:
    """A matrix by which spectrograms become mel spectrograms: ``[num_spectrogram_bins, num_mel_bins]``.

    Args:
        num_mel_bins: How many bands there are, of equal width on the mel scale.
        num_spectrogram_bins: How many frequencies a spectrogram has: ``fft_length / 2 + 1``.
        sample_rate: Samples a second.
        lower_edge_hertz: Where the lowest band begins.
        upper_edge_hertz: Where the highest band ends.
        dtype: The dtype of the result, of floating-point numbers.
        name: A name for the op.
    """
    wanted = _as_floating(dtype, "linear_to_mel_weight_matrix")
    bands, bins = as_int(num_mel_bins, "num_mel_bins"), as_int(num_spectrogram_bins, "num_spectrogram_bins")
    if max(bands, 1) * max(bins, 1) > dt.int32.max:
        raise ArgumentError(f"A matrix of {shown(bins)} by {shown(bands)} is too large.")
    rate = float(np.asarray(plain(sample_rate, "sample_rate")))
    low, high = as_float(lower_edge_hertz, "lower_edge_hertz"), as_float(upper_edge_hertz, "upper_edge_hertz")
    if bands <= 0:
        raise ArgumentError(f"num_mel_bins must be positive. Got: {bands}")
    if bins <= 0:
        raise ArgumentError(f"num_spectrogram_bins must be positive. Got: {bins}")
    if low < 0:
        raise ArgumentError(f"lower_edge_hertz must be non-negative. Got: {low}")
    if low >= high:
        raise ArgumentError(f"lower_edge_hertz {low:.1f} >= upper_edge_hertz {high:.1f}")
    if rate <= 0:
        raise ArgumentError(f"sample_rate must be positive. Got: {rate}")
    if high > rate / 2:
        raise ArgumentError(f"upper_edge_hertz must not be larger than the Nyquist frequency {rate / 2}. Got: {high}")
    places = _mel(np.linspace(0.0, rate / 2, bins)[1:])[:, None]
    edges = np.linspace(_mel(low), _mel(high), bands + 2)
    start, middle, end = edges[None, :-2], edges[None, 1:-1], edges[None, 2:]
    rising, falling = (places - start) / (middle - start), (end - places) / (end - middle)
    weights = np.maximum(0.0, np.minimum(rising, falling))
    return constant(np.pad(weights, [[1, 0], [0, 0]]), wanted, name=name or "linear_to_mel_weight_matrix")


@export("signal.mfccs_from_log_mel_spectrograms")
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """The mel-frequency cepstral coefficients of sounds: a `dct` of ``[..., num_mel_bins]``."""
    with Composed(name, "mfccs_from_log_mel_spectrograms") as last:
        given = convert_to_tensor(log_mel_spectrograms, dtype_hint=dt.float32)
        if not given.shape.rank:
            raise ArgumentError(f"mfccs_from_log_mel_spectrograms takes a tensor with bands, got shape {given.shape}.")
        bands = _size(given, -1)
        if isinstance(bands, int) and bands == 0:
            raise ArgumentError("num_mel_bins must be positive. Got: 0")
        count = cast(convert_to_tensor(bands), given.dtype)
        return multiply(dct(given, type=2), constant(1.0, given.dtype) / sqrt(count * 2.0), name=last)
