"""Random tensors, from a sequence determined by the global seed and the op's seed (`ops.seeds`).

An op draws the standard form of a distribution; a mean, a deviation or bounds, which may be
tensors that broadcast, are applied to it by ordinary arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from ctypes import c_float
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.dtype import FIXED, FLOATING, INDEX, STRING, WIDE_UNSIGNED, DType, DTypes, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape, brackets, broadcast
from situs._src.base.streams import BLOCKS_PER_OUTPUT, Position
from situs._src.base.tensor import Tensor, read
from situs._src.base.typing import ArrayLike, DTypeLike, HostValue, IntLike, IntsLike, ShapeLike, SizesOf
from situs._src.ir.registry.kernel import dtype_list
from situs._src.ir.registry.traits import DRAWS, FRESH, VIEW
from situs._src.ops.array import also_by_bits, partly
from situs._src.ops.constant import convert_to_tensor, zeros_like
from situs._src.ops.define import CPU, GPU, all_finite, of_sizes, op, same_shape
from situs._src.ops.math import add, divide, maximum, multiply, subtract
from situs._src.ops.naming import Composed
from situs._src.ops.philox import draw as philox
from situs._src.ops.philox import rejection
from situs._src.ops.philox.words import Begin
from situs._src.ops.seeds import Seed, generator, next_seeds, reserve
from situs._src.ops.sum_to import sum_to
from situs._src.runtime import dispatch
from situs._src.runtime.eager.bridge import TORCH_DTYPE
from situs._src.runtime.eager.torch_private import standard_gamma, standard_gamma_grad

_MOST_ELEMENTS = 2**63 - 1
_INTEGERS = frozenset({int})


# Shapes of samples.


def checked_sizes(shape: Any) -> tuple[int, ...]:
    """The sizes of a tensor to draw.

    Raises:
        InvalidArgumentError: `shape` is no vector of integers of at least 0, or too large.
    """
    are_sizes = type(shape) is tuple and _INTEGERS.issuperset(map(type, shape)) and min(shape, default=0) >= 0
    if are_sizes and math.prod(shape) <= _MOST_ELEMENTS:
        return shape  # type: ignore[no-any-return]
    if not isinstance(shape, tuple) or any(isinstance(size, tuple) for size in shape):
        found = np.shape(shape) if isinstance(shape, tuple) else ()
        raise ArgumentError(f"shape must be a vector of {{int32,int64}}, got shape {brackets(found)}: {shape!r}")
    for size in shape:
        if not isinstance(size, int) or isinstance(size, bool):
            raise ArgumentError(f"shape must be a vector of {{int32,int64}}, got {shape!r}")
        if size < 0:
            raise ArgumentError(f"Dimension {size} must be >= 0")
    if math.prod(shape) > _MOST_ELEMENTS:
        raise ArgumentError(f"Shape {brackets(shape)} would have more than 2**63 - 1 elements")
    return shape


def drawn_shape(shape: HostValue, *rest: Any, **attrs: Any) -> TensorShape:
    """The shape rule of ops whose first input is the shape of the result."""
    return UNKNOWN if shape is None else TensorShape(partly(checked_sizes, shape))


def drawn_per_parameter_shape(shape: HostValue, parameter: TensorShape, *rest: Any, **attrs: Any) -> TensorShape:
    """The shape rule of ops that draw `shape` samples for each element of a parameter."""
    return UNKNOWN if shape is None else TensorShape(partly(checked_sizes, shape)) + parameter


# Draws: what the kernels here and those of `ops.stateless` share. They begin at a position of a stream (`ops.philox`),
# which may lie in the memory of the device, or nowhere: then the generator is the device's own, whose numbers nobody
# can predict.


def draw_normal(sizes: tuple[int, ...], dtype: DType, device: torch.device, begin: Begin | None) -> torch.Tensor:
    """Samples of the normal distribution with mean 0 and deviation 1."""
    kind = TORCH_DTYPE[dtype]
    if begin is not None:
        return philox.normal(sizes, kind, begin, device)
    return torch.randn(sizes, dtype=kind, device=device, generator=generator(device))


def draw_uniform(sizes: tuple[int, ...], dtype: DType, device: torch.device, begin: Begin | None) -> torch.Tensor:
    """Samples of the uniform distribution over [0, 1)."""
    kind = TORCH_DTYPE[dtype]
    if begin is not None:
        return philox.uniform(sizes, kind, begin, device)
    return torch.rand(sizes, dtype=kind, device=device, generator=generator(device))


def draw_truncated_normal(
    sizes: tuple[int, ...], dtype: DType, device: torch.device, begin: Begin | None
) -> torch.Tensor:
    """Samples of the normal distribution, given that they lie within two deviations."""
    kind = TORCH_DTYPE[dtype]
    if begin is not None:
        return philox.truncated_normal(sizes, kind, begin, device)
    wide = torch.float64 if dtype is dt.float64 else torch.float32  # halves have too few tail values
    edge = math.erf(math.sqrt(2.0))
    mass = torch.empty(sizes, dtype=wide, device=device).uniform_(-edge, edge, generator=generator(device))
    return mass.erfinv_().mul_(math.sqrt(2.0)).clamp_(-2.0, 2.0).to(kind)


def draw_uniform_int(
    sizes: tuple[int, ...], minval: int, maxval: int, dtype: DType, device: torch.device, begin: Begin | None
) -> torch.Tensor:
    """Integers of the uniform distribution over [minval, maxval)."""
    kind = TORCH_DTYPE[dtype]
    if begin is not None:
        return philox.integers(sizes, minval, maxval, kind, begin, device)
    return torch.randint(minval, maxval, sizes, dtype=kind, device=device, generator=generator(device))


def draw_order(count: int, device: torch.device, begin: Position | None) -> torch.Tensor:
    """The numbers below `count` in random order."""
    if begin is None:
        return torch.randperm(count, device=device, generator=generator(device))
    return torch.from_numpy(philox.permutation(count, begin)).to(device)


def draw_categories(logits: torch.Tensor, count: int, dtype: DType, begin: Position | None) -> torch.Tensor:
    """For each row of `logits`, `count` classes with probabilities softmax(row).

    Classes whose logits are not finite are never drawn. Of a row without finite logits the class
    is the number of classes, which is not one of them, as in TensorFlow.
    """
    if not logits.numel():
        return torch.empty(len(logits), count, dtype=TORCH_DTYPE[dtype], device=logits.device)
    if begin is not None:
        return rejection.categories(logits, count, begin).to(TORCH_DTYPE[dtype])
    source = generator(logits.device)
    if logits.device.type == "cpu" and all_finite(logits):
        if logits.shape[0] * count * logits.shape[1] <= _FEW and logits.dtype is torch.float32:
            return _draw_few(logits.numpy(), count, dtype, source)
        known = logits.to(torch.float64)
        weights = (known - known.amax(dim=1, keepdim=True)).exp_()
    else:
        known = logits.to(torch.float64).masked_fill(~torch.isfinite(logits), -math.inf)
        weights = torch.exp(known - known.amax(dim=1, keepdim=True).clamp_min(torch.finfo(torch.float64).min))
    cumulated = weights.cumsum(dim=1)
    total = cumulated[:, -1:]
    points = torch.rand(len(logits), count, dtype=torch.float64, device=source.device, generator=source) * total
    return torch.searchsorted(cumulated, points, right=True).to(TORCH_DTYPE[dtype])


_FEW = 1024  # comparisons that NumPy makes sooner than PyTorch finds out how


def _draw_few(logits: Any, count: int, dtype: DType, source: torch.Generator) -> torch.Tensor:
    known = logits.astype(np.float64)
    cumulated = np.exp(known - known.max(1, keepdims=True)).cumsum(1)
    points = torch.rand(len(logits), count, dtype=torch.float64, generator=source).numpy() * cumulated[:, -1:]
    return torch.from_numpy((cumulated[:, None, :] <= points[:, :, None]).sum(2, dtype=dtype.as_numpy_dtype))


def draw_gamma(sizes: tuple[int, ...], alpha: torch.Tensor, begin: Position | None) -> torch.Tensor:
    """Samples of the gamma distribution with rate 1, `sizes` for each element of `alpha`; they may be too small."""
    if begin is not None:
        return rejection.gamma(sizes, alpha, begin).to(alpha.dtype)
    wide = alpha.to(torch.float64 if alpha.dtype is torch.float64 else torch.float32)
    shape = wide.expand(sizes + wide.shape).contiguous()
    drawn = standard_gamma(shape.nan_to_num(1.0).clamp_min(0.0), generator=generator(alpha.device))
    return drawn.masked_fill(~(shape >= 0), math.nan).to(alpha.dtype)


# Above this rate a Poisson variable is drawn as a rounded normal one, which differs from it by less
# than 1e-4 of its deviation; PyTorch counts in 32 bits on a GPU and would overflow.
_LARGE_RATE = 1e8


def draw_poisson(sizes: tuple[int, ...], rate: torch.Tensor, dtype: DType, begin: Position | None) -> torch.Tensor:
    """Samples of the Poisson distribution, `sizes` for each element of `rate`."""
    drawn = _poisson_unseeded(sizes, rate) if begin is None else rejection.poisson(sizes, rate, begin)
    if dtype.is_integer:
        high = float(np.nextafter(float(dtype.max), 0)) if dtype is dt.int64 else float(dtype.max)
        drawn = drawn.masked_fill(drawn.isnan(), 0.0).clamp_max(high)
    return drawn.to(TORCH_DTYPE[dtype])


def _poisson_unseeded(sizes: tuple[int, ...], rate: torch.Tensor) -> torch.Tensor:
    source = generator(rate.device)
    wide = rate.to(torch.float64).expand(sizes + rate.shape).contiguous()
    drawn = torch.poisson(wide.nan_to_num(0.0).clamp(0.0, _LARGE_RATE), generator=source)
    large = wide > _LARGE_RATE
    spread = torch.randn(wide.shape, dtype=torch.float64, device=source.device, generator=source)
    drawn = torch.where(large, torch.round(wide + wide.sqrt() * spread), drawn)
    return drawn.masked_fill(wide == math.inf, math.inf).masked_fill(wide.isnan(), math.nan)


def _begin(seed: Seed, seed2: int, outputs: int, *drawn: Hashable) -> Position | None:
    """Where a draw of so many outputs begins."""
    return reserve(seed, seed2, outputs * BLOCKS_PER_OUTPUT, *drawn)


SEEDED: dict[str, Any] = {"stateful": True, "seed": 0, "seed2": 0}  # what ops that draw from a stream have


# Normal.

_standard_normal = op(
    "RandomStandardNormal",
    "shape: host -> output: dtype",
    traits={FRESH, DRAWS},
    dtype=FLOATING,
    **SEEDED,
)
_standard_normal.shape(drawn_shape)


@_standard_normal.kernel(CPU, GPU)
def _standard_normal_kernel(
    shape: HostValue, *, dtype: DType, seed: Seed, seed2: int, device: torch.device
) -> torch.Tensor:
    sizes = checked_sizes(shape)
    begin = reserve(seed, seed2, math.prod(sizes) * BLOCKS_PER_OUTPUT, "RandomStandardNormal", dtype.name, device)
    return draw_normal(sizes, dtype, device, begin)


_draw_normal = dispatch.sized(_standard_normal)


@export("random.normal", v1=("random_normal", "random.normal"))
def normal(
    shape: ShapeLike,
    mean: ArrayLike = 0.0,
    stddev: ArrayLike = 1.0,
    dtype: DTypeLike = dt.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws from the normal distribution.

    Args:
        shape: The shape of the result.
        mean: The mean; a number, or a tensor that broadcasts with the result.
        stddev: The standard deviation; likewise.
        dtype: A floating-point dtype.
        seed: A seed for this op.
        name: A name for the op.
    """
    standard = is_standard(stddev, mean)
    if standard and here.graph is None:  # no name scope
        return _draw_normal(as_dtype(dtype), shape, **next_seeds(seed), name=name)
    with Composed(name, "random_normal") as last:
        drawn = _standard_normal(shape, dtype=as_dtype(dtype), **next_seeds(seed), name=last if standard else None)
        return shifted(drawn, stddev, mean, last)


_truncated_normal = op(
    "TruncatedNormal",
    "shape: host -> output: dtype",
    traits={FRESH, DRAWS},
    dtype=FLOATING,
    **SEEDED,
)
_truncated_normal.shape(drawn_shape)


@_truncated_normal.kernel(CPU, GPU)
def _truncated_normal_kernel(
    shape: HostValue, *, dtype: DType, seed: Seed, seed2: int, device: torch.device
) -> torch.Tensor:
    sizes = checked_sizes(shape)
    begin = reserve(seed, seed2, math.prod(sizes) * BLOCKS_PER_OUTPUT, "TruncatedNormal", dtype.name, device)
    return draw_truncated_normal(sizes, dtype, device, begin)


_draw_truncated = dispatch.sized(_truncated_normal)


@export("random.truncated_normal", v1=("truncated_normal", "random.truncated_normal"))
def truncated_normal(
    shape: ShapeLike,
    mean: ArrayLike = 0.0,
    stddev: ArrayLike = 1.0,
    dtype: DTypeLike = dt.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws from the normal distribution, leaving out values over two deviations from the mean.

    The arguments are those of `normal`.
    """
    standard = is_standard(stddev, mean)
    if standard and here.graph is None:
        return _draw_truncated(as_dtype(dtype), shape, **next_seeds(seed), name=name)
    with Composed(name, "truncated_normal") as last:
        drawn = _truncated_normal(shape, dtype=as_dtype(dtype), **next_seeds(seed), name=last if standard else None)
        return shifted(drawn, stddev, mean, last)


def is_standard(scale: ArrayLike, shift: ArrayLike) -> bool:
    """Whether `shifted` has nothing to do."""
    if type(scale) is float and type(shift) is float:
        return scale == 1.0 and shift == 0.0
    return _is_number(scale, 1) and _is_number(shift, 0)


def shifted(drawn: Tensor, scale: ArrayLike, shift: ArrayLike, name: str | None = None) -> Tensor:
    """``drawn * scale + shift``, without the work that Python's 1 and 0 would make."""
    stays = _is_number(shift, 0)
    if not _is_number(scale, 1):
        drawn = multiply(drawn, _operand(scale, drawn.dtype), name if stays else "mul")
    return drawn if stays else add(drawn, _operand(shift, drawn.dtype), name)


def _is_number(value: object, number: int) -> bool:
    return isinstance(value, (int, float)) and value == number


def _operand(value: Any, dtype: DType) -> float | Tensor:
    return in_dtype(value, dtype) if isinstance(value, (int, float)) else convert_to_tensor(value, dtype)


def in_dtype(value: float, dtype: DType) -> float:
    """A number as the dtype holds it: what is computed with it is then rounded as if it were a tensor."""
    if dtype is dt.float32:
        return c_float(value).value
    return float(value) if dtype is dt.float64 else torch.tensor(float(value), dtype=TORCH_DTYPE[dtype]).item()


# Uniform.

_uniform = op(
    "RandomUniform",
    "shape: host -> output: dtype",
    traits={FRESH, DRAWS},
    dtype=FLOATING,
    **SEEDED,
)
_uniform.shape(drawn_shape)


@_uniform.kernel(CPU, GPU)
def _uniform_kernel(shape: HostValue, *, dtype: DType, seed: Seed, seed2: int, device: torch.device) -> torch.Tensor:
    sizes = checked_sizes(shape)
    begin = reserve(seed, seed2, math.prod(sizes) * BLOCKS_PER_OUTPUT, "RandomUniform", dtype.name, device)
    return draw_uniform(sizes, dtype, device, begin)


_draw_uniform = dispatch.sized(_uniform)


_uniform_int = op(
    "RandomUniformInt",
    "shape: host, minval: host, maxval: host -> output: Tout",
    traits={DRAWS},
    Tout=INDEX,
    **SEEDED,
)
_uniform_int.shape(drawn_shape)
_uniform_int.takes_no_size("minval", "maxval")


@_uniform_int.kernel(CPU, GPU)
def _uniform_int_kernel(
    shape: HostValue,
    minval: Any,
    maxval: Any,
    *,
    Tout: DType,  # noqa: N803
    seed: Seed,
    seed2: int,
    device: torch.device,
) -> torch.Tensor:
    check_int_bounds(minval, maxval, Tout)
    sizes = checked_sizes(shape)
    begin = _begin(seed, seed2, math.prod(sizes), "RandomUniformInt", Tout, device)
    return draw_uniform_int(sizes, minval, maxval, Tout, device, begin)


def check_int_bounds(minval: Any, maxval: Any, dtype: DType) -> None:
    """Raises unless [minval, maxval) is a range of integers of that dtype, and not empty."""
    for what, value in (("minval", minval), ("maxval", maxval)):
        if isinstance(value, tuple):
            raise ArgumentError(f"{what} must be 0-D, got shape {brackets(np.shape(value))}")
        if not isinstance(value, int) or isinstance(value, bool) or not dtype.min <= value <= dtype.max:
            raise DTypeError(f"Cannot convert {value!r} to EagerTensor of dtype {dtype.name}: it is the {what}.")
    if minval >= maxval:
        raise ArgumentError(f"Need minval < maxval, got {minval} >= {maxval}")


@export("random.uniform", v1=("random_uniform", "random.uniform"))
def uniform(
    shape: ShapeLike,
    minval: ArrayLike = 0,
    maxval: ArrayLike | None = None,
    dtype: DTypeLike = dt.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws from the uniform distribution over [minval, maxval).

    Args:
        shape: The shape of the result.
        minval: The lower bound; a number, or for floating-point dtypes a tensor that broadcasts.
        maxval: The upper bound, likewise; 1 by default, but integers need one.
        dtype: A floating-point dtype, int32 or int64.
        seed: A seed for this op.
        name: A name for the op.
    """
    dtype = check_choice(dtype, FLOATING | INDEX)
    if maxval is None:
        if dtype.is_integer:
            raise ArgumentError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    own = _is_number(minval, 0) and _is_number(maxval, 1) and not dtype.is_integer  # nothing follows the draw
    if own and here.graph is None:
        return _draw_uniform(dtype, shape, **next_seeds(seed), name=name)
    with Composed(name, "random_uniform", "RandomUniform" if own else None) as last:
        if dtype.is_integer:
            return _uniform_int(shape, minval, maxval, Tout=dtype, **next_seeds(seed), name=last)
        drawn = _uniform(shape, dtype=dtype, **next_seeds(seed), name=last if own else None)
        return spread_over(drawn, minval, maxval, last)


def spread_over(drawn: Tensor, minval: ArrayLike, maxval: ArrayLike, name: str | None = None) -> Tensor:
    """Samples over [0, 1) brought to [minval, maxval)."""
    if isinstance(minval, (int, float)) and isinstance(maxval, (int, float)):
        least, most = in_dtype(minval, drawn.dtype), in_dtype(maxval, drawn.dtype)
        return shifted(drawn, most - least, least, name)
    low = convert_to_tensor(minval, drawn.dtype)
    return shifted(drawn, subtract(convert_to_tensor(maxval, drawn.dtype), low), low, name)


def check_choice(dtype: DTypeLike, choices: DTypes) -> DType:
    """The dtype, if it is one of those that the function draws.

    Raises:
        ValueError: it is another.
    """
    wanted = as_dtype(dtype)
    if wanted not in choices:
        raise DTypeError(f"Argument `dtype` got invalid value {wanted}. Accepted dtypes are: {dtype_list(choices)}.")
    return wanted


# Shuffle and crop.

_shuffle = op("RandomShuffle", "value: T -> output: T", traits={DRAWS}, **SEEDED)
_shuffle.shape(same_shape)


@also_by_bits(_shuffle, CPU, GPU)
@_shuffle.kernel(CPU, GPU, T=FIXED - WIDE_UNSIGNED)
def _shuffle_kernel(value: torch.Tensor, *, seed: Seed, seed2: int) -> torch.Tensor:
    if value.ndim == 0 or len(value) < 2:
        return value
    begin = reserve(seed, seed2, _blocks_of_order(len(value)), "RandomShuffle", value.dtype, value.device)
    return value.index_select(0, draw_order(len(value), value.device, begin))


@_shuffle.kernel(CPU, T=STRING)
def _shuffle_strings(value: np.ndarray[Any, Any], *, seed: Seed, seed2: int) -> np.ndarray[Any, Any]:
    if value.ndim == 0 or len(value) < 2:
        return value
    begin = reserve(seed, seed2, _blocks_of_order(len(value)), "RandomShuffle", dt.string)
    return np.take(value, draw_order(len(value), torch.device("cpu"), begin).numpy(), axis=0)


def _blocks_of_order(count: int) -> int:
    return -(-(count - 1) // 4)  # a word for each element but the last


_shuffle.stops_gradients()


@export("random.shuffle", v1=("random_shuffle", "random.shuffle"))
def shuffle(value: ArrayLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """Puts the slices of `value` along its first dimension in random order."""
    return _shuffle(value, **next_seeds(seed), name=name)


_crop = op("RandomCrop", "image: T, size: host -> output: T", traits={VIEW, DRAWS}, T=FIXED, **SEEDED)


_crop.shape(lambda image, size, *, seed, seed2: crop_shape(image, size))


def crop_shape(image: TensorShape, size: HostValue) -> TensorShape:
    """The shape rule of ops that cut a block out of an image."""
    if size is None:
        return UNKNOWN if image.rank is None else TensorShape([None] * image.rank)
    sizes = partly(checked_sizes, size)
    if image.rank not in (None, len(sizes)):
        raise ArgumentError(f"Need a size for each dimension of value, got {brackets(image)} and {brackets(sizes)}")
    if image.rank is not None and any(
        have is not None and want is not None and have < want for have, want in zip(image, sizes, strict=True)
    ):
        raise ArgumentError(f"Need value.shape >= size, got {brackets(image)} and {brackets(sizes)}")
    return TensorShape(sizes)


@_crop.kernel(CPU, GPU)
def _crop_kernel(image: torch.Tensor, size: tuple[int, ...], *, seed: Seed, seed2: int) -> torch.Tensor:
    crop_shape(TensorShape(image.shape), size)
    host = torch.device("cpu")  # where the offsets are needed
    begin = _begin(seed, seed2, image.ndim, "RandomUniformInt", dt.int32, host)
    drawn = draw_uniform_int((image.ndim,), 0, dt.int32.max, dt.int32, host, begin).tolist()
    return cropped_at(image, drawn, size)


def cropped_at(image: torch.Tensor, drawn: Sequence[int], size: Sequence[int]) -> torch.Tensor:
    """A block of an image, at the offset that drawn numbers leave when they are divided by how many there are."""
    for axis, (have, want, number) in enumerate(zip(image.shape, size, drawn, strict=True)):
        image = image.narrow(axis, number % (have - want + 1), want)
    return image


@export("image.random_crop", v1=("random_crop", "image.random_crop"))
def random_crop(value: ArrayLike, size: IntsLike, seed: int | None = None, name: str | None = "random_crop") -> Tensor:
    """Cuts a block of shape `size` out of `value`, at a random place.

    Args:
        value: A tensor.
        size: The shape of the block, one size for each dimension of `value`.
        seed: A seed for this op.
        name: A name for the op.
    """
    return _crop(value, size, **next_seeds(seed), name=name)


# Categorical.

_multinomial = op(
    "Multinomial",
    "logits: T, num_samples: host -> output: output_dtype",
    traits={DRAWS},
    T=FLOATING,
    output_dtype=INDEX,
    **SEEDED,
)


@_multinomial.shape
def categories_shape(logits: TensorShape, num_samples: HostValue, *rest: Any, **attrs: Any) -> TensorShape:
    """The shape rule of ops that draw classes for rows of logits."""
    if logits.rank not in (None, 2):
        raise ArgumentError(f"logits should be a matrix, got shape {brackets(logits)}")
    if logits[1] == 0 and logits[0] != 0:
        raise ArgumentError("num_classes should be positive, got 0")
    if num_samples is None:
        return TensorShape([logits[0], None])
    if not isinstance(num_samples, int) or isinstance(num_samples, bool):
        raise ArgumentError(f"num_samples should be an integer scalar, got {num_samples!r}")
    if num_samples < 0:
        raise ArgumentError(f"num_samples should be non-negative, got {num_samples}")
    return TensorShape([logits[0], num_samples])


categories_sizes = of_sizes(categories_shape)


@_multinomial.kernel(CPU, GPU)
def _multinomial_kernel(
    logits: torch.Tensor, num_samples: Any, *, output_dtype: DType, seed: Seed, seed2: int
) -> torch.Tensor:
    categories_sizes(logits.shape, num_samples=num_samples)
    outputs = len(logits) * (-(-num_samples // 4) * 4) * 2  # two words each, and rows in whole blocks
    begin = _begin(seed, seed2, outputs, "Multinomial", logits.dtype, output_dtype, logits.device)
    return draw_categories(logits, num_samples, output_dtype, begin)


@export("random.categorical")
def categorical(
    logits: ArrayLike,
    num_samples: IntLike,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws classes with the probabilities softmax(logits), row by row.

    Args:
        logits: A matrix; ``logits[i]`` holds the unnormalized log-probabilities of row i.
        num_samples: How many independent samples to draw for each row.
        dtype: int64, the default, or int32.
        seed: A seed for this op.
        name: A name for the op.
    """
    chosen = check_choice(dt.int64 if dtype is None else dtype, INDEX)
    with Composed(name, "categorical", "Multinomial") as last:
        return _multinomial(logits, num_samples, output_dtype=chosen, **next_seeds(seed), name=last)


@export(v1=("multinomial", "random.multinomial"))
def multinomial(
    logits: ArrayLike,
    num_samples: IntLike,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
) -> Tensor:
    """Draws classes with the probabilities softmax(logits): TensorFlow 1's name of `categorical`."""
    return categorical(logits, num_samples, output_dtype, seed, name)


# Gamma and Poisson.

_gamma = op("RandomGamma", "shape: host, alpha: T -> output: T", traits={DRAWS}, T=FLOATING, **SEEDED)
_gamma.shape(drawn_per_parameter_shape)


@_gamma.kernel(CPU, GPU)
def _gamma_kernel(shape: HostValue, alpha: torch.Tensor, *, seed: Seed, seed2: int) -> torch.Tensor:
    sizes = checked_sizes(shape)
    outputs = math.prod(sizes) * alpha.numel()
    return draw_gamma(sizes, alpha, _begin(seed, seed2, outputs, "RandomGamma", alpha.dtype, alpha.device))


_gamma_grad = op("RandomGammaGrad", "alpha: T, sample: T -> output: T", T=FLOATING)
_gamma_grad.shape(broadcast)


@_gamma_grad.kernel(CPU, GPU)
def _gamma_grad_kernel(alpha: torch.Tensor, sample: torch.Tensor) -> torch.Tensor:
    wide = torch.float64 if alpha.dtype is torch.float64 else torch.float32
    alphas, samples = torch.broadcast_tensors(alpha.to(wide), sample.to(wide))  # type: ignore[no-untyped-call]
    return standard_gamma_grad(alphas, samples.clamp_min(torch.finfo(alpha.dtype).tiny)).to(alpha.dtype)


def gamma_gradient(grad: Tensor, alpha: Tensor, output: Tensor, alpha_shape: SizesOf) -> Tensor:
    """The gradient rule of ops that draw gamma variables: how each sample would move with its concentration."""
    return sum_to(multiply(grad, _gamma_grad(alpha, output)), alpha_shape)


_gamma.gradient(gamma_gradient)


@export("random.gamma", v1=("random_gamma", "random.gamma"))
def gamma(
    shape: ShapeLike,
    alpha: ArrayLike,
    beta: ArrayLike | None = None,
    dtype: DTypeLike = dt.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws from gamma distributions: `shape` samples for each pair of parameters.

    Args:
        shape: The shape of the samples of one distribution; the result's starts with it.
        alpha: The concentrations.
        beta: The rates, which broadcast with `alpha`; 1 by default.
        dtype: A floating-point dtype.
        seed: A seed for this op.
        name: A name for the op.
    """
    dtype = check_choice(dtype, FLOATING)
    with Composed(name, "random_gamma") as last:
        shapes = gamma_parameter(alpha, beta, dtype)
        return gamma_scaled(_gamma(shape, shapes, **next_seeds(seed)), beta, last)


def gamma_parameter(alpha: ArrayLike, beta: Any, dtype: DType) -> Tensor:
    """The concentrations, broadcast with the rates."""
    shapes = convert_to_tensor(alpha, dtype)
    return shapes if beta is None else add(shapes, zeros_like(convert_to_tensor(beta, dtype)))


def gamma_scaled(drawn: Tensor, beta: Any, name: str | None = None) -> Tensor:
    """Samples with rate 1 brought to their rates; never 0, whose logarithm programs take."""
    scaled = drawn if beta is None else divide(drawn, convert_to_tensor(beta, drawn.dtype))
    return maximum(scaled, float(torch.finfo(TORCH_DTYPE[drawn.dtype]).tiny), name)


_poisson = op(
    "RandomPoissonV2",
    "shape: host, rate: R -> output: dtype",
    traits={DRAWS},
    R=FLOATING | INDEX,
    dtype=FLOATING | INDEX,
    **SEEDED,
)
_poisson.shape(drawn_per_parameter_shape)


@_poisson.kernel(CPU, GPU)
def _poisson_kernel(shape: HostValue, rate: torch.Tensor, *, dtype: DType, seed: Seed, seed2: int) -> torch.Tensor:
    sizes = checked_sizes(shape)
    outputs = math.prod(sizes) * rate.numel()
    begin = _begin(seed, seed2, outputs, "RandomPoissonV2", rate.dtype, dtype, rate.device)
    return draw_poisson(sizes, rate, dtype, begin)


@export("random.poisson", v1=())
def poisson(
    shape: ShapeLike, lam: ArrayLike, dtype: DTypeLike = dt.float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Draws from Poisson distributions: `shape` samples for each rate in `lam`.

    Args:
        shape: The shape of the samples of one distribution; the result's starts with it.
        lam: The rates.
        dtype: A floating-point dtype, int32 or int64.
        seed: A seed for this op.
        name: A name for the op.
    """
    chosen = check_choice(dtype, FLOATING | INDEX)
    with Composed(name, "random_poisson", "RandomPoissonV2") as last:
        return _poisson(shape, rates(lam, chosen), dtype=chosen, **next_seeds(seed), name=last)


@export(v1=("random_poisson", "random.poisson"))
def poisson_v1(
    lam: ArrayLike, shape: ShapeLike, dtype: DTypeLike = dt.float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Draws from Poisson distributions: `poisson` with TensorFlow 1's order of arguments."""
    return poisson(shape, lam, dtype, seed, name)


def rates(lam: ArrayLike, dtype: DType) -> Tensor:
    """The rates as a tensor, of the result's dtype where it has fractions."""
    found = read(lam)
    if isinstance(found, Tensor):
        return found
    return convert_to_tensor(lam, dtype if dtype.is_floating else dt.float32)
