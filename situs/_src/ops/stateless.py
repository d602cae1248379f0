"""Random tensors that depend on nothing but their arguments: ``tf.random.stateless_*``.

The seed is a pair of integers, which is scrambled into the position of a stream where the draw begins (`ops.philox`).
The same seed, shape and dtype give the same values in every run, on every device, and in TensorFlow.

    StatelessRandomNormal(shape, seed)              tf.random.stateless_normal
    StatelessRandomNormalV2(shape, key, counter)    the same from a position as it is: for a tf.random.Generator
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.dtype import FIXED, FLOATING, INDEX, STRING, WIDE_UNSIGNED, DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, InvalidArgumentError, shown
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, UNKNOWN, TensorShape, brackets, broadcast
from situs._src.base.streams import WORD, Position
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, DTypeLike, HostValue, IntLike, ShapeLike
from situs._src.ops import random
from situs._src.ops.array import also_by_bits, partly
from situs._src.ops.attribute import plain
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.join import stack
from situs._src.ops.naming import Composed
from situs._src.ops.philox import draw as philox
from situs._src.ops.philox import rejection
from situs._src.ops.philox.words import Begin, Placed, scrambled
from situs._src.ops.random import categories_shape, categories_sizes, checked_sizes, drawn_shape
from situs._src.runtime.dispatch import SizedFunction, sized
from situs._src.runtime.eager.bridge import TORCH_DTYPE

FULL_INT = frozenset({dt.int32, dt.int64, dt.uint32, dt.uint64})


def begin_of_seed(seed: Any) -> Position:
    """Where the draw of a seed given on the host begins."""
    if type(seed) is tuple and len(seed) == 2 and type(seed[0]) is type(seed[1]) is int:
        return scrambled(*seed)
    if not isinstance(seed, tuple) or len(seed) != 2:
        found = brackets([len(seed)]) if isinstance(seed, tuple) else "[]"
        raise ArgumentError(f"seed must have shape [2], not {found}: {seed!r}")
    if not all(isinstance(part, int) and not isinstance(part, bool) for part in seed):
        raise DTypeError(f"A seed consists of two integers (int32 or int64), got {seed!r}")
    return scrambled(seed[0], seed[1])


def _begin_anywhere(seed: Any) -> Begin:
    """The same of a seed that may lie on the GPU that draws."""
    if not isinstance(seed, torch.Tensor):
        return begin_of_seed(seed)
    if seed.shape != (2,):
        raise ArgumentError(f"seed must have shape [2], not {brackets(seed.shape)}")
    return Placed(seed.to(torch.int64), is_seed=True)


def _position(key: Any, counter: Any) -> Begin:
    """Where a draw with a key and a counter begins, both in words of 64 bits; either may lie on the GPU that draws."""
    given = next((each for each in (key, counter) if isinstance(each, torch.Tensor)), None)
    if given is not None:
        words = [*_words_on(given.device, key, "key")[:1], *_words_on(given.device, counter, "counter")[:2]]
        if len(words) != 3:
            raise ArgumentError(f"key must have shape [1] and counter at least [2], got {key!r} and {counter!r}")
        return Placed(torch.stack(words), is_seed=False)
    if not isinstance(key, tuple) or len(key) != 1:
        raise ArgumentError(f"key must have shape [1], not {brackets(np.shape(key))}: {key!r}")
    if not isinstance(counter, tuple) or len(counter) < 2:
        raise ArgumentError(f"counter must be a vector with length at least 2, got {counter!r}")
    return Position(key[0] % WORD, counter[0] % WORD + counter[1] % WORD * WORD)


def _words_on(device: torch.device, value: Any, what: str) -> list[torch.Tensor]:
    """Words of 64 bits as scalars on a device, without a copy from the host, which could not be recorded."""
    if isinstance(value, torch.Tensor):
        if value.ndim != 1:
            raise ArgumentError(f"{what} must be a vector, got shape {brackets(value.shape)}")
        return list(value.view(torch.int64).unbind())
    signed = ((word + WORD // 2) % WORD - WORD // 2 for word in value)
    return [torch.full((), word, dtype=torch.int64, device=device) for word in signed]


# Floating-point ops of a shape and a seed. On a GPU they take a seed that lies there.

_normal = op("StatelessRandomNormal", "shape: host, seed: host -> output: dtype", dtype=FLOATING)
_normal.shape(drawn_shape)


@_normal.kernel(CPU, GPU)
def _normal_kernel(shape: HostValue, seed: HostValue, *, dtype: DType, device: torch.device) -> torch.Tensor:
    return random.draw_normal(checked_sizes(shape), dtype, device, _begin_anywhere(seed))


@export("random.stateless_normal")
def stateless_normal(
    shape: ShapeLike,
    seed: ArrayLike,
    mean: ArrayLike = 0.0,
    stddev: ArrayLike = 1.0,
    dtype: DTypeLike = dt.float32,
    name: str | None = None,
    alg: str | IntLike = "auto_select",
) -> Tensor:
    """Draws from the normal distribution.

    Args:
        shape: The shape of the result.
        seed: Two integers.
        mean: The mean; a number, or a tensor that broadcasts with the result.
        stddev: The standard deviation; likewise.
        dtype: A floating-point dtype.
        name: A name for the op.
        alg: ``"philox"``, or ``"auto_select"``, which chooses it.
    """
    check_supported(alg)
    if here.graph is None:  # no name scope
        return normal_of(draws_of_seed(seed), shape, mean, stddev, dtype, name)
    with Composed(name, "stateless_random_normal") as last:
        return normal_of(draws_of_seed(seed), shape, mean, stddev, dtype, last)


_truncated_normal = op("StatelessTruncatedNormal", "shape: host, seed: host -> output: dtype", dtype=FLOATING)
_truncated_normal.shape(drawn_shape)


@_truncated_normal.kernel(CPU, GPU)
def _truncated_normal_kernel(shape: HostValue, seed: HostValue, *, dtype: DType, device: torch.device) -> torch.Tensor:
    return random.draw_truncated_normal(checked_sizes(shape), dtype, device, _begin_anywhere(seed))


@export("random.stateless_truncated_normal")
def stateless_truncated_normal(
    shape: ShapeLike,
    seed: ArrayLike,
    mean: ArrayLike = 0.0,
    stddev: ArrayLike = 1.0,
    dtype: DTypeLike = dt.float32,
    name: str | None = None,
    alg: str | IntLike = "auto_select",
) -> Tensor:
    """Draws from the normal distribution, leaving out values over two deviations from the mean.

    The arguments are those of `stateless_normal`.
    """
    check_supported(alg)
    with Composed(name, "stateless_truncated_normal") as last:
        return truncated_of(draws_of_seed(seed), shape, mean, stddev, dtype, last)


_uniform = op("StatelessRandomUniform", "shape: host, seed: host -> output: dtype", dtype=FLOATING)
_uniform.shape(drawn_shape)


@_uniform.kernel(CPU, GPU)
def _uniform_kernel(shape: HostValue, seed: HostValue, *, dtype: DType, device: torch.device) -> torch.Tensor:
    return random.draw_uniform(checked_sizes(shape), dtype, device, _begin_anywhere(seed))


# Integers.

_uniform_int = op(
    "StatelessRandomUniformInt", "shape: host, seed: host, minval: host, maxval: host -> output: dtype", dtype=INDEX
)
_uniform_int.shape(drawn_shape)


@_uniform_int.kernel(CPU, GPU)
def _uniform_int_kernel(
    shape: HostValue, seed: HostValue, minval: Any, maxval: Any, *, dtype: DType, device: torch.device
) -> torch.Tensor:
    random.check_int_bounds(minval, maxval, dtype)
    return random.draw_uniform_int(checked_sizes(shape), minval, maxval, dtype, device, _begin_anywhere(seed))


_full_int = op("StatelessRandomUniformFullInt", "shape: host, seed: host -> output: dtype", dtype=FULL_INT)
_full_int.shape(drawn_shape)


@_full_int.kernel(CPU, GPU)
def _full_int_kernel(shape: HostValue, seed: HostValue, *, dtype: DType, device: torch.device) -> torch.Tensor:
    return philox.bits(checked_sizes(shape), TORCH_DTYPE[dtype], _begin_anywhere(seed), device)


# The same from a position, which graphs that TensorFlow has written make of a seed first.

_get_position = op("StatelessRandomGetKeyCounter", "seed: Tseed -> key: uint64, counter: uint64", Tseed=INDEX)
_get_position.shape(lambda seed: [TensorShape([1]), TensorShape([2])])
_get_position.stops_gradients()


@_get_position.kernel(CPU)
@_get_position.kernel(GPU, host_output=True)
def _get_position_kernel(seed: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    begin = begin_of_seed(tuple(seed.tolist()))
    words = np.array([begin.key, begin.counter % WORD, begin.counter // WORD], np.uint64)
    return torch.from_numpy(words[:1]), torch.from_numpy(words[1:])


_get_algorithm = op("StatelessRandomGetAlg", "-> alg: int32")
_get_algorithm.shape(lambda: SCALAR)


@_get_algorithm.kernel(CPU)
def _get_algorithm_kernel() -> torch.Tensor:
    return torch.tensor(PHILOX, dtype=torch.int32)


_normal_at = op(
    "StatelessRandomNormalV2", "shape: host, key: host, counter: host, alg: host -> output: dtype", dtype=FLOATING
)
_normal_at.shape(drawn_shape)


@_normal_at.kernel(CPU, GPU)
def _normal_at_kernel(
    shape: HostValue, key: HostValue, counter: HostValue, alg: Any, *, dtype: DType, device: torch.device
) -> torch.Tensor:
    return random.draw_normal(checked_sizes(shape), dtype, device, _position(key, counter))


_truncated_normal_at = op(
    "StatelessTruncatedNormalV2", "shape: host, key: host, counter: host, alg: host -> output: dtype", dtype=FLOATING
)
_truncated_normal_at.shape(drawn_shape)


@_truncated_normal_at.kernel(CPU, GPU)
def _truncated_normal_at_kernel(
    shape: HostValue, key: HostValue, counter: HostValue, alg: Any, *, dtype: DType, device: torch.device
) -> torch.Tensor:
    return random.draw_truncated_normal(checked_sizes(shape), dtype, device, _position(key, counter))


_uniform_at = op(
    "StatelessRandomUniformV2", "shape: host, key: host, counter: host, alg: host -> output: dtype", dtype=FLOATING
)
_uniform_at.shape(drawn_shape)


@_uniform_at.kernel(CPU, GPU)
def _uniform_at_kernel(
    shape: HostValue, key: HostValue, counter: HostValue, alg: Any, *, dtype: DType, device: torch.device
) -> torch.Tensor:
    return random.draw_uniform(checked_sizes(shape), dtype, device, _position(key, counter))


_uniform_int_at = op(
    "StatelessRandomUniformIntV2",
    "shape: host, key: host, counter: host, alg: host, minval: host, maxval: host -> output: dtype",
    dtype=INDEX,
)
_uniform_int_at.shape(drawn_shape)


@_uniform_int_at.kernel(CPU, GPU)
def _uniform_int_at_kernel(
    shape: HostValue,
    key: HostValue,
    counter: HostValue,
    alg: Any,
    minval: Any,
    maxval: Any,
    *,
    dtype: DType,
    device: torch.device,
) -> torch.Tensor:
    random.check_int_bounds(minval, maxval, dtype)
    return random.draw_uniform_int(checked_sizes(shape), minval, maxval, dtype, device, _position(key, counter))


_full_int_at = op(
    "StatelessRandomUniformFullIntV2",
    "shape: host, key: host, counter: host, alg: host -> output: dtype",
    dtype=FULL_INT,
)
_full_int_at.shape(drawn_shape)


@_full_int_at.kernel(CPU, GPU)
def _full_int_at_kernel(
    shape: HostValue, key: HostValue, counter: HostValue, alg: Any, *, dtype: DType, device: torch.device
) -> torch.Tensor:
    return philox.bits(checked_sizes(shape), TORCH_DTYPE[dtype], _position(key, counter), device)


for _of_seed in (_normal, _truncated_normal, _uniform, _full_int):
    _of_seed.takes_from_card("seed")
    _of_seed.takes_no_size("seed")
_uniform_int.takes_from_card("seed")
_uniform_int.takes_no_size("seed", "minval", "maxval")
for _of_position in (_normal_at, _truncated_normal_at, _uniform_at, _full_int_at):
    _of_position.takes_from_card("key", "counter")
    _of_position.takes_no_size("key", "counter", "alg")
_uniform_int_at.takes_from_card("key", "counter")
_uniform_int_at.takes_no_size("key", "counter", "alg", "minval", "maxval")


class DrawingOps(NamedTuple):
    """The ops that draw, which take their source of random numbers in one way."""

    normal: SizedFunction
    truncated_normal: SizedFunction
    uniform: SizedFunction
    uniform_int: SizedFunction
    full_int: SizedFunction


_OF_SEED = DrawingOps(*map(sized, (_normal, _truncated_normal, _uniform, _uniform_int, _full_int)))
_AT_POSITION = DrawingOps(*map(sized, (_normal_at, _truncated_normal_at, _uniform_at, _uniform_int_at, _full_int_at)))


class Draws(NamedTuple):
    """A source of random numbers, to draw tensors from.

    Attributes:
        ops: The ops to draw with.
        source: What they are given behind the shape of a draw.
    """

    ops: DrawingOps
    source: Callable[[ShapeLike], tuple[Any, ...]]

    def draw(self, drawn: SizedFunction, shape: ShapeLike, *bounds: Any, dtype: DType, name: str | None) -> Tensor:
        """Draws a tensor by one of the ops; integers are given their bounds."""
        return drawn(dtype, shape, *self.source(shape), *bounds, name=name)


def draws_of_seed(seed: ArrayLike) -> Draws:
    """Draws with a seed of two integers."""
    given = tuple(seed) if type(seed) is list else seed
    return Draws(_OF_SEED, lambda shape: (given,))


def draws_at(position: Callable[[ShapeLike], tuple[Any, Any]], alg: int) -> Draws:
    """Draws from a key and a counter, which a function gives for the shape of each draw."""
    return Draws(_AT_POSITION, lambda shape: (*position(shape), alg))


def key_of_replica(key: Tensor, replica: int) -> Tensor:
    """The key that a replica draws with: the first word of 64 bits of a stream at its number."""
    return _full_int_at([1], key, [replica, 0], 1, dtype=dt.uint64)


def normal_of(draws: Draws, shape: ShapeLike, mean: Any, stddev: Any, dtype: DTypeLike, name: str | None) -> Tensor:
    """Normal numbers with a mean and a deviation."""
    standard = random.is_standard(stddev, mean)
    drawn = draws.draw(draws.ops.normal, shape, dtype=as_dtype(dtype), name=name if standard else None)
    return drawn if standard else random.shifted(drawn, stddev, mean, name)


def truncated_of(draws: Draws, shape: ShapeLike, mean: Any, stddev: Any, dtype: DTypeLike, name: str | None) -> Tensor:
    """Truncated normal numbers with a mean and a deviation."""
    standard = random.is_standard(stddev, mean)
    drawn = draws.draw(draws.ops.truncated_normal, shape, dtype=as_dtype(dtype), name=name if standard else None)
    return drawn if standard else random.shifted(drawn, stddev, mean, name)


def uniform_of(draws: Draws, shape: ShapeLike, minval: Any, maxval: Any, dtype: DTypeLike, name: str | None) -> Tensor:
    """Uniform numbers of an interval, floating-point or integers."""
    chosen = random.check_choice(dtype, FLOATING | FULL_INT)
    if chosen.is_integer:
        return _integers(draws, shape, minval, maxval, chosen, name)
    highest = 1 if maxval is None else maxval
    own = name if random.is_standard(highest, minval) else None
    return random.spread_over(draws.draw(draws.ops.uniform, shape, dtype=chosen, name=own), minval, highest, name)


@export("random.stateless_uniform")
def stateless_uniform(
    shape: ShapeLike,
    seed: ArrayLike,
    minval: Any = 0,
    maxval: ArrayLike | None = None,
    dtype: DTypeLike = dt.float32,
    name: str | None = None,
    alg: str | IntLike = "auto_select",
) -> Tensor:
    """Draws from the uniform distribution over [minval, maxval).

    Args:
        shape: The shape of the result.
        seed: Two integers.
        minval: The lower bound; None, with `maxval`, for all integers of the dtype.
        maxval: The upper bound; 1 by default for floating-point dtypes.
        dtype: A floating-point dtype, int32 or int64; uint32 or uint64 without bounds.
        name: A name for the op.
        alg: ``"philox"``, or ``"auto_select"``, which chooses it.
    """
    check_supported(alg)
    with Composed(name, "stateless_random_uniform") as last:
        return uniform_of(draws_of_seed(seed), shape, minval, maxval, dtype, last)


def _integers(draws: Draws, shape: ShapeLike, minval: Any, maxval: Any, dtype: DType, name: str | None) -> Tensor:
    if (minval is None) != (maxval is None):
        raise ArgumentError(
            f"For integer `dtype` argument {dtype}, argument `minval` and `maxval` must be both None or not None. "
            f"Got `minval`={minval} and `maxval`={maxval}."
        )
    if minval is None:
        return draws.draw(draws.ops.full_int, shape, dtype=dtype, name=name)
    if dtype.is_unsigned:
        raise DTypeError(
            f"Argument `dtype` got invalid value {dtype} when argument `minval` is not None. "
            "Please don't use unsigned integers in this case."
        )
    return draws.draw(draws.ops.uniform_int, shape, minval, maxval, dtype=dtype, name=name)


# Categorical, gamma, Poisson.

_multinomial = op(
    "StatelessMultinomial",
    "logits: T, num_samples: host, seed: host -> output: output_dtype",
    T=FLOATING,
    output_dtype=INDEX,
)
_multinomial.shape(categories_shape)
_multinomial.takes_no_size("seed")


@_multinomial.kernel(CPU, GPU)
def _multinomial_kernel(
    logits: torch.Tensor, num_samples: Any, seed: HostValue, *, output_dtype: DType
) -> torch.Tensor:
    categories_sizes(logits.shape, num_samples=num_samples)
    return random.draw_categories(logits, num_samples, output_dtype, begin_of_seed(seed))


@export("random.stateless_categorical")
def stateless_categorical(
    logits: ArrayLike, num_samples: IntLike, seed: ArrayLike, dtype: DTypeLike = dt.int64, name: str | None = None
) -> Tensor:
    """Draws classes with the probabilities softmax(logits), row by row.

    Args:
        logits: A matrix; ``logits[i]`` holds the unnormalized log-probabilities of row i.
        num_samples: How many independent samples to draw for each row.
        seed: Two integers.
        dtype: int64 or int32.
        name: A name for the op.
    """
    chosen = random.check_choice(dtype, INDEX)
    with Composed(name, "stateless_categorical", "StatelessMultinomial") as last:
        return _multinomial(logits, num_samples, seed, output_dtype=chosen, name=last)


def _ending_in_parameter_shape(shape: HostValue, seed: HostValue, parameter: TensorShape) -> TensorShape:
    if shape is None:
        return UNKNOWN
    sizes = TensorShape(partly(checked_sizes, shape))
    if parameter.rank is not None:
        tail = sizes[len(sizes) - parameter.rank :] if parameter.rank <= len(sizes) else None
        if tail is None or not tail.is_compatible_with(parameter):
            raise ArgumentError(
                f"Shape passed in must end with broadcasted shape: got {brackets(sizes)} for parameters of "
                f"shape {brackets(parameter)}"
            )
    return sizes


def _leading(shape: HostValue, seed: HostValue, parameter: torch.Tensor) -> tuple[int, ...]:
    """The part of the result's shape that comes before the parameter's."""
    _ending_in_parameter_shape(shape, seed, TensorShape(parameter.shape))
    sizes = checked_sizes(shape)
    return sizes[: len(sizes) - parameter.ndim]


_gamma = op("StatelessRandomGamma", "shape: host, seed: host, alpha: T -> output: T", T=FLOATING)
_gamma.shape(_ending_in_parameter_shape)
_gamma.takes_no_size("seed")


@_gamma.kernel(CPU, GPU)
def _gamma_kernel(shape: HostValue, seed: HostValue, alpha: torch.Tensor) -> torch.Tensor:
    return random.draw_gamma(_leading(shape, seed, alpha), alpha, begin_of_seed(seed))


_gamma.gradient(random.gamma_gradient)


@export("random.stateless_gamma")
def stateless_gamma(
    shape: ShapeLike,
    seed: ArrayLike,
    alpha: ArrayLike,
    beta: ArrayLike | None = None,
    dtype: DTypeLike = dt.float32,
    name: str | None = None,
) -> Tensor:
    """Draws from gamma distributions.

    Args:
        shape: The shape of the result; it ends with that of `alpha` and `beta`, broadcast.
        seed: Two integers.
        alpha: The concentrations.
        beta: The rates; 1 by default.
        dtype: A floating-point dtype.
        name: A name for the op.
    """
    dtype = random.check_choice(dtype, FLOATING)
    with Composed(name, "stateless_random_gamma") as last:
        shapes = random.gamma_parameter(alpha, beta, dtype)
        return random.gamma_scaled(_gamma(shape, seed, shapes), beta, last)


_poisson = op(
    "StatelessRandomPoisson",
    "shape: host, seed: host, lam: R -> output: dtype",
    R=FLOATING | INDEX,
    dtype=FLOATING | INDEX,
)
_poisson.shape(_ending_in_parameter_shape)
_poisson.takes_no_size("seed")


@_poisson.kernel(CPU, GPU)
def _poisson_kernel(shape: HostValue, seed: HostValue, lam: torch.Tensor, *, dtype: DType) -> torch.Tensor:
    return random.draw_poisson(_leading(shape, seed, lam), lam, dtype, begin_of_seed(seed))


_poisson.stops_gradients()


@export("random.stateless_poisson")
def stateless_poisson(
    shape: ShapeLike, seed: ArrayLike, lam: ArrayLike, dtype: DTypeLike = dt.int32, name: str | None = None
) -> Tensor:
    """Draws from Poisson distributions.

    Args:
        shape: The shape of the result; it ends with that of `lam`.
        seed: Two integers.
        lam: The rates.
        dtype: A floating-point dtype, int32 or int64.
        name: A name for the op.
    """
    chosen = random.check_choice(dtype, FLOATING | INDEX)
    with Composed(name, "stateless_random_poisson", "StatelessRandomPoisson") as last:
        return _poisson(shape, seed, random.rates(lam, chosen), dtype=chosen, name=last)


BINOMIAL = (FLOATING - {dt.bfloat16}) | INDEX
_binomial = op(
    "StatelessRandomBinomial",
    "shape: host, seed: host, counts: T, probs: T -> output: dtype",
    T=BINOMIAL,
    dtype=BINOMIAL,
)


def _ending_in_both_shapes(shape: Any, seed: Any, counts: TensorShape, probs: TensorShape) -> TensorShape:
    return _ending_in_parameter_shape(shape, seed, broadcast(counts, probs))


_binomial.shape(_ending_in_both_shapes)
_binomial.takes_no_size("seed")


@_binomial.kernel(CPU, GPU)
def _binomial_kernel(shape: Any, seed: Any, counts: torch.Tensor, probs: torch.Tensor, *, dtype: DType) -> torch.Tensor:
    return _successes(shape, counts, probs, dtype, begin_of_seed(seed))


def _successes(
    shape: HostValue, counts: torch.Tensor, probs: torch.Tensor, dtype: DType, begin: Position
) -> torch.Tensor:
    both = np.broadcast_shapes(counts.shape, probs.shape)
    sizes = _leading(shape, None, counts.expand(both))
    drawn = rejection.binomial(sizes, counts.expand(both), probs.expand(both), begin)
    return drawn.nan_to_num(-1.0).to(TORCH_DTYPE[dtype])


_binomial.stops_gradients()

_binomial_at = op(
    "RandomBinomialAt",
    "shape: host, key: host, counter: host, counts: T, probs: T -> output: dtype",
    T=BINOMIAL,
    dtype=BINOMIAL,
)
_binomial_at.takes_no_size("key", "counter")
_binomial_at.stops_gradients()


@_binomial_at.shape
def _binomial_at_shape(
    shape: HostValue, key: HostValue, counter: HostValue, counts: TensorShape, probs: TensorShape
) -> TensorShape:
    return _ending_in_both_shapes(shape, None, counts, probs)


@_binomial_at.kernel(CPU, GPU)
def _binomial_at_kernel(
    shape: HostValue, key: Any, counter: Any, counts: torch.Tensor, probs: torch.Tensor, *, dtype: DType
) -> torch.Tensor:
    begin = _position(key, counter)
    assert isinstance(begin, Position), "the op takes neither word from a card"
    return _successes(shape, counts, probs, dtype, begin)


def binomial_of(
    position: Callable[[int], tuple[Any, Any]], shape: Any, counts: Any, probs: Any, dtype: Any, name: str | None
) -> Tensor:
    """Successes of trials, from a key and a counter that a function gives for the outputs that a draw reserves.

    TensorFlow has a `tf.random.Generator` reserve 200 outputs for four samples of a distribution, begun ones included.
    """
    chosen = random.check_choice(dtype, BINOMIAL)
    count, prob = convert_to_tensor(counts), convert_to_tensor(probs)
    whole, both = checked_sizes(plain(shape, "shape")), broadcast(count.shape, prob.shape)
    _ending_in_both_shapes(whole, None, count.shape, prob.shape)
    if both.rank is None:
        raise ArgumentError(f"The shapes of counts and probs must be known, got {count.shape} and {prob.shape}.")
    rows, each = math.prod(whole[: len(whole) - both.rank]), math.prod(whole[len(whole) - both.rank :])
    key, counter = position(each * 200 * (rows + 3) // 4)
    return _binomial_at(whole, key, counter, count, prob, dtype=chosen, name=name)


@export("random.stateless_binomial")
def stateless_binomial(
    shape: Any, seed: Any, counts: Any, probs: Any, output_dtype: Any = dt.int32, name: str | None = None
) -> Tensor:
    """Draws from binomial distributions: how many of `counts` trials succeed.

    Args:
        shape: The shape of the result; it ends with that of `counts` and `probs` together.
        seed: Two integers.
        counts: How many trials there are; where it is negative, the result is -1.
        probs: How probable success is; where it is not from 0 to 1, the result is -1.
        output_dtype: float16, float32, float64, int32 or int64.
        name: A name for the op.
    """
    chosen = random.check_choice(output_dtype, BINOMIAL)
    with Composed(name, "stateless_random_binomial", "StatelessRandomBinomial") as last:
        prob = convert_to_tensor(probs, dtype_hint=dt.float32)
        return _binomial(shape, seed, cast(counts, prob.dtype), prob, dtype=chosen, name=last)


# Shuffle.

_shuffle = op("StatelessShuffle", "value: T, seed: host -> output: T")
_shuffle.shape(lambda value, seed: value)
_shuffle.takes_no_size()
_shuffle.stops_gradients()


@also_by_bits(_shuffle, CPU, GPU)
@_shuffle.kernel(CPU, GPU, T=FIXED - WIDE_UNSIGNED)
def _shuffle_kernel(value: torch.Tensor, seed: HostValue) -> torch.Tensor:
    begin = begin_of_seed(seed)
    return value if len(value) < 2 else value.index_select(0, random.draw_order(len(value), value.device, begin))


@_shuffle.kernel(CPU, T=STRING)
def _shuffle_strings(value: np.ndarray[Any, Any], seed: HostValue) -> np.ndarray[Any, Any]:
    begin = begin_of_seed(seed)
    return value if len(value) < 2 else np.take(value, philox.permutation(len(value), begin), axis=0)


@export("random.experimental.stateless_shuffle", v1=())
def stateless_shuffle(
    value: ArrayLike, seed: ArrayLike, alg: str | IntLike = "auto_select", name: str | None = None
) -> Tensor:
    """Puts the slices of `value` along its first dimension in the random order of a seed, two integers."""
    check_supported(alg)
    tensor = convert_to_tensor(value)
    if tensor.shape.rank == 0:
        raise ArgumentError("value must have at least one dimension to be shuffled along, got a scalar.")
    return _shuffle(tensor, seed, name=name)


# Seeds from seeds.


@export("random.split", "random.experimental.stateless_split")
def split(seed: ArrayLike, num: int = 2, alg: str | IntLike = "auto_select") -> Tensor:
    """Makes `num` independent seeds of one: a tensor of shape [num, 2]."""
    dtype = convert_to_tensor(seed).dtype
    return stateless_uniform([num, 2], seed, None, None, dtype, alg=alg)


@export("random.fold_in", "random.experimental.stateless_fold_in")
def fold_in(seed: ArrayLike, data: ArrayLike, alg: str | IntLike = "auto_select") -> Tensor:
    """Makes a seed of a seed and a number, such as that of a step."""
    number = convert_to_tensor(data)
    return stack([stateless_uniform([], seed, None, None, number.dtype, alg=alg), number])


PHILOX, THREEFRY, AUTO_SELECT = 1, 2, 3
_ALGORITHMS = {"philox": PHILOX, "threefry": THREEFRY, "autoselect": AUTO_SELECT}


def algorithm_number(alg: object) -> int:
    """The number of an algorithm, which may be given as such, or by its name, in which dashes and case do not count.

    Raises:
        ValueError: there is no such algorithm.
        TypeError: it is neither a number nor a name.
    """
    given = getattr(alg, "value", alg)  # of an enumeration
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        raise DTypeError(f"Can't convert argument `alg` (of value {shown(alg)} and type {type(alg)}) to int.")
    number = (
        _ALGORITHMS.get(given.strip().lower().replace("-", "").replace("_", "")) if isinstance(given, str) else given
    )
    if number not in _ALGORITHMS.values():
        raise ArgumentError(
            f"Argument `alg` got unsupported value {shown(alg)}. Supported values are philox or 1 for the Philox "
            "algorithm, threefry or 2 for the ThreeFry algorithm, and auto_select or 3 for auto-selection."
        )
    return int(number)  # type: ignore[arg-type]


_CHOSEN = frozenset({"auto_select", "philox"})  # by most programs


def check_supported(alg: object) -> None:
    """Raises unless numbers can be drawn by an algorithm; None is a choice as well, as in TensorFlow.

    Raises:
        InvalidArgumentError: it is ThreeFry.
    """
    if alg is not None and not (type(alg) is str and alg in _CHOSEN) and algorithm_number(alg) == THREEFRY:
        raise InvalidArgumentError(
            "counter must be a vector with length at least 2; got shape: [1]. Non-XLA devices don't support the "
            "ThreeFry algorithm. Use alg='philox'."
        )
