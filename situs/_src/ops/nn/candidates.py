"""Candidate sampling, for losses that do not use all classes (`ops.nn.sampled_loss`).

    log_uniform_candidate_sampler       class k with probability log((k + 2) / (k + 1)) / log(classes + 1)
    uniform_candidate_sampler           all alike
    fixed_unigram_candidate_sampler     by weights
    learned_unigram_candidate_sampler   by how often each was a true class before
    all_candidate_sampler               all classes, each once

A sampler also says how often each class is to be expected in a sample, which the losses make up for: ``number x p``
where a class may come twice, or none did, else ``1 - (1 - p) ** tries`` of the tries that it took.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base import locks
from situs._src.base.errors import ArgumentError, InvalidArgumentError, UnimplementedError
from situs._src.base.export import export
from situs._src.base.mixing import unpredictable
from situs._src.base.shapes import TensorShape
from situs._src.base.streams import Position, Stream
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.traits import DRAWS
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_bool, as_int
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal
from situs._src.ops.constant import convert_to_tensor, fill
from situs._src.ops.define import CPU, op
from situs._src.ops.gather import where
from situs._src.ops.naming import Composed
from situs._src.ops.philox.sequence import Words, doubles, pairs
from situs._src.ops.seeds import Drawn, Seed, eager, generator, known_seeds, next_seeds, reserve

Array = np.ndarray[Any, Any]

_RESULTS = (
    "true_classes: int64 -> sampled_candidates: int64, true_expected_count: float32, sampled_expected_count: float32"
)


def _shapes(true_classes: TensorShape, *, num_true: int, num_sampled: int, **attrs: Any) -> tuple[TensorShape, ...]:
    if true_classes.rank not in (2, None):
        raise ArgumentError(f"true_classes must be a matrix, got one of shape {true_classes}.")
    if not true_classes.is_compatible_with([None, num_true]):
        raise ArgumentError(f"true_classes must have num_true={num_true} columns, got a matrix of {true_classes}.")
    return TensorShape([num_sampled]), true_classes.merge_with([None, num_true]), TensorShape([num_sampled])


def _sampler(name: str, **attrs: Any) -> Op:
    numbers = {"num_true": 1, "num_sampled": 1, "unique": True, "seed": 0, "seed2": 0}
    declared = op(name, _RESULTS, traits={DRAWS}, stateful=True, **numbers, **attrs)
    declared.shape(_shapes)
    declared.stops_gradients()
    return declared


def _sample(
    true: torch.Tensor, count: int, unique: bool, draw: Callable[[int], Array], odds: Callable[[Array], Array]
) -> tuple[torch.Tensor, ...]:
    """A sample, and how often the true classes and those of the sample were to be expected in it.

    Args:
        true: The true classes.
        count: How many classes to draw.
        unique: Whether no class may come twice.
        draw: Draws so many classes.
        odds: The probabilities of classes.
    """
    drawn, tries = (_distinct(draw, count)) if unique else (draw(count), count)

    def expected(classes: Array) -> torch.Tensor:
        p = odds(classes).astype(np.float32)  # TensorFlow's rounding: all of it in single precision
        counts = p * np.float32(count) if tries == count else -np.expm1(np.float32(tries) * np.log1p(-p))
        return torch.from_numpy(counts)

    return torch.from_numpy(drawn), expected(true.numpy()), expected(drawn)


def _check_range(true: torch.Tensor, range_max: int) -> None:
    """Raises unless the true classes are those of a sampler of so many."""
    outside = (true < 0) | (true >= range_max)
    if bool(outside.any()):
        raise InvalidArgumentError(
            f"`true_candidate` out of range [0, {range_max}), received {int(true[outside].reshape(-1)[0])}"
        )


def _distinct(draw: Callable[[int], Array], count: int) -> tuple[Array, int]:
    """So many classes of which none comes twice, and how many had to be drawn for them."""
    drawn = draw(2 * count)
    while True:
        _, firsts = np.unique(drawn, return_index=True)
        if len(firsts) >= count:
            places = np.sort(firsts)[:count]
            return drawn[places], int(places[-1]) + 1 if count else 0
        drawn = np.concatenate([drawn, draw(len(drawn))])


_RESERVED_WORDS = 2048  # for each class of a sample
_HOST = torch.device("cpu")


class _Numbers:
    """Draws numbers for a sample of so many classes, from a stream or at random."""

    def __init__(self, seed: Seed, seed2: int, count: int, *drawn: Hashable) -> None:
        self._begin = reserve(seed, seed2, _RESERVED_WORDS * count // 4, count, *drawn)
        self._taken = 0

    def units(self, count: int) -> Array:
        """Numbers of [0, 1)."""
        if self._begin is None:
            return torch.rand(count, dtype=torch.float64, generator=generator(_HOST)).numpy()
        self._taken += count
        return doubles(self._begin, self._taken - count, count)

    def integers(self, below: int, count: int) -> Array:
        """Integers below another."""
        if self._begin is None:
            return torch.randint(below, (count,), generator=generator(_HOST)).numpy()
        self._taken += count
        return (pairs(self._begin, self._taken - count, count) % np.uint64(below)).astype(np.int64)

    def words(self) -> Words:
        """Words one after the other."""
        return Words(Position(unpredictable(), 0) if self._begin is None else self._begin)


_log_uniform = _sampler("LogUniformCandidateSampler", range_max=1)
_uniform = _sampler("UniformCandidateSampler", range_max=1)
_fixed = _sampler("FixedUnigramCandidateSampler", weights=())
_learned = _sampler("LearnedUnigramCandidateSampler", range_max=1)
_all = _sampler("AllCandidateSampler")


@_log_uniform.kernel(CPU)
def _log_uniform_kernel(
    true_classes: torch.Tensor, *, num_true: int, num_sampled: int, unique: bool, seed: Seed, seed2: int, range_max: int
) -> tuple[torch.Tensor, ...]:
    _check_range(true_classes, range_max)
    width = np.log1p(range_max)
    random = _Numbers(seed, seed2, num_sampled, "LogUniformCandidateSampler", num_true, unique, range_max)

    def draw(count: int) -> Array:
        drawn: Array = (np.exp(random.units(count) * width).astype(np.int64) - 1) % range_max
        return drawn

    return _sample(true_classes, num_sampled, unique, draw, lambda k: np.log((k + 2.0) / (k + 1.0)) / width)


@_uniform.kernel(CPU)
def _uniform_kernel(
    true_classes: torch.Tensor, *, num_true: int, num_sampled: int, unique: bool, seed: Seed, seed2: int, range_max: int
) -> tuple[torch.Tensor, ...]:
    _check_range(true_classes, range_max)
    random = _Numbers(seed, seed2, num_sampled, "UniformCandidateSampler", num_true, unique, range_max)

    def draw(count: int) -> Array:
        return random.integers(range_max, count)

    return _sample(true_classes, num_sampled, unique, draw, lambda k: np.full(k.shape, 1.0 / range_max))


def _alias_table(odds: Array) -> tuple[list[float], list[int]]:
    """Walker's table: a class is drawn of all alike, and kept so often; else it is another one.

    Classes that are drawn too seldom are paired with those drawn too often, the last of both first.
    """
    share = (odds * len(odds)).tolist()
    rare = [number for number, each in enumerate(share) if each < 1.0]
    common = [number for number, each in enumerate(share) if each >= 1.0]
    others = list(range(len(share)))
    while rare and common:
        taker, giver = rare.pop(), common.pop()
        others[taker] = giver
        share[giver] -= 1.0 - share[taker]
        (rare if share[giver] < 1.0 else common).append(giver)
    for number in rare + common:
        share[number] = 1.0  # but for rounding
    return [float(np.float32(each)) for each in share], others


def _alias_sample(words: Words, keeps: list[float], others: list[int]) -> int:
    kept = (words.next() & 0x7FFFFF) * 2.0**-23
    number = words.exactly_below(len(keeps))
    return number if kept < keeps[number] else others[number]


@_fixed.kernel(CPU)
def _fixed_kernel(
    true_classes: torch.Tensor,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: Seed,
    seed2: int,
    weights: tuple[float, ...],
) -> tuple[torch.Tensor, ...]:
    odds = np.asarray(weights) / np.sum(weights)
    words = _Numbers(seed, seed2, num_sampled, "FixedUnigramCandidateSampler", num_true, unique, weights).words()
    keeps, others = _alias_table(odds)

    def draw(count: int) -> Array:
        return np.array([_alias_sample(words, keeps, others) for _ in range(count)], np.int64)

    def known(classes: Array) -> Array:
        inside = (classes >= 0) & (classes < len(odds))
        return np.where(inside, odds[np.clip(classes, 0, len(odds) - 1)], 0.0)

    return _sample(true_classes, num_sampled, unique, draw, known)


class _Learned:
    """How often each class was a true one, and once more. Safe to use from many threads."""

    def __init__(self, classes: int) -> None:
        self._counts = np.ones(classes, np.int64)
        self._lock = locks.lock()

    def counts(self) -> Array:
        """The counts so far."""
        with self._lock:
            return self._counts.copy()

    def update(self, true: Array) -> None:
        """Counts true classes."""
        with self._lock:
            self._counts += np.bincount(true.reshape(-1), minlength=len(self._counts))


_by_stream: WeakKeyDictionary[Stream, _Learned] = WeakKeyDictionary()  # lives as long as an operation's stream
_unseeded: dict[Hashable, _Learned] = {}


def _learned_by(seed: Seed, seed2: int, classes: int, *drawn: Hashable) -> _Learned:
    """What has been learned where a sample is drawn: with the stream of an operation, or of eager code."""
    if not isinstance(seed, int):
        return _by_stream.setdefault(seed if isinstance(seed, Stream) else seed.stream, _Learned(classes))
    if not seed and not seed2:
        return _unseeded.setdefault((classes, *drawn), _Learned(classes))
    if type(seed2) is Drawn:
        return _Learned(classes)
    return _by_stream.setdefault(eager.stream(seed, seed2, *drawn), _Learned(classes))


@_learned.kernel(CPU)
def _learned_kernel(
    true_classes: torch.Tensor, *, num_true: int, num_sampled: int, unique: bool, seed: Seed, seed2: int, range_max: int
) -> tuple[torch.Tensor, ...]:
    true = true_classes.numpy()
    if true.size and (true.min() < 0 or true.max() >= range_max):
        raise ArgumentError(f"The true classes must be below range_max={range_max}, got {true.min()} to {true.max()}.")
    drawn = ("LearnedUnigramCandidateSampler", num_true, unique, range_max)
    words = _Numbers(seed, seed2, num_sampled, *drawn).words()
    learned = _learned_by(seed, seed2, range_max, num_sampled, *drawn)
    counts = learned.counts()
    ends = counts.cumsum()

    def draw(count: int) -> Array:
        picked = np.array([words.exactly_below(int(ends[-1])) for _ in range(count)], np.int64)
        return np.searchsorted(ends, picked, side="right")

    made = _sample(true_classes, num_sampled, unique, draw, lambda k: (counts[k] / ends[-1]).astype(np.float32))
    learned.update(true)
    return made


@_all.kernel(CPU)
def _all_kernel(
    true_classes: torch.Tensor, *, num_true: int, num_sampled: int, unique: bool, seed: Seed, seed2: int
) -> tuple[torch.Tensor, ...]:
    return torch.arange(num_sampled), torch.ones(true_classes.shape), torch.ones(num_sampled)


class LogUniformCandidateSampler(NamedTuple):
    """The result of `log_uniform_candidate_sampler`."""

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


class UniformCandidateSampler(NamedTuple):
    """The result of `uniform_candidate_sampler`."""

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


class FixedUnigramCandidateSampler(NamedTuple):
    """The result of `fixed_unigram_candidate_sampler`."""

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


class LearnedUnigramCandidateSampler(NamedTuple):
    """The result of `learned_unigram_candidate_sampler`."""

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


class AllCandidateSampler(NamedTuple):
    """The result of `all_candidate_sampler`."""

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


class ComputeAccidentalHits(NamedTuple):
    """The result of `compute_accidental_hits`."""

    indices: Tensor
    ids: Tensor
    weights: Tensor


_Sampled = TypeVar(
    "_Sampled",
    LogUniformCandidateSampler,
    UniformCandidateSampler,
    FixedUnigramCandidateSampler,
    LearnedUnigramCandidateSampler,
    AllCandidateSampler,
)


def _numbers(num_true: Any, num_sampled: Any, unique: Any, classes: int) -> dict[str, Any]:
    numbers = {"num_true": as_int(num_true, "num_true"), "num_sampled": as_int(num_sampled, "num_sampled")}
    for name, number in (*numbers.items(), ("range_max", classes)):
        if number < 1:
            raise ArgumentError(f"A sampler needs {name} >= 1, got {number}.")
    if as_bool(unique, "unique") and numbers["num_sampled"] > classes:
        raise ArgumentError(
            f"Sampler's range is too small: {numbers['num_sampled']} different classes cannot be drawn of {classes}."
        )
    return {**numbers, "unique": unique}


@export(
    "random.log_uniform_candidate_sampler",
    v1=("nn.log_uniform_candidate_sampler", "random.log_uniform_candidate_sampler"),
)
def log_uniform_candidate_sampler(
    true_classes: ArrayLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> LogUniformCandidateSampler:
    """Draws classes, the first ones most often, as suits classes that are sorted by how often they occur.

    Args:
        true_classes: A matrix of classes, a row for each example.
        num_true: The number of its columns.
        num_sampled: How many classes to draw.
        unique: Whether no class may come twice.
        range_max: The number of classes.
        seed: A seed.
        name: A name for the op.

    Returns:
        The sample; how often the true classes were to be expected in it; how often those of the sample were.
    """
    classes = as_int(range_max, "range_max")
    given = _numbers(num_true, num_sampled, unique, classes)
    return _made(
        LogUniformCandidateSampler, _log_uniform, true_classes, name, **given, **next_seeds(seed), range_max=classes
    )


@export("random.uniform_candidate_sampler", v1=("nn.uniform_candidate_sampler", "random.uniform_candidate_sampler"))
def uniform_candidate_sampler(
    true_classes: ArrayLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> UniformCandidateSampler:
    """Draws classes, all with the same probability; the arguments are those of `log_uniform_candidate_sampler`."""
    classes = as_int(range_max, "range_max")
    given = _numbers(num_true, num_sampled, unique, classes)
    return _made(UniformCandidateSampler, _uniform, true_classes, name, **given, **next_seeds(seed), range_max=classes)


@export(
    "random.fixed_unigram_candidate_sampler",
    "nn.fixed_unigram_candidate_sampler",
    v1=("nn.fixed_unigram_candidate_sampler", "random.fixed_unigram_candidate_sampler"),
)
def fixed_unigram_candidate_sampler(
    true_classes: ArrayLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Any = (),
    seed: int | None = None,
    name: str | None = None,
) -> FixedUnigramCandidateSampler:
    """Draws classes by weights; the other arguments are those of `log_uniform_candidate_sampler`.

    Args:
        true_classes: See there.
        num_true: See there.
        num_sampled: See there.
        unique: See there.
        range_max: See there.
        vocab_file: Refused.
        distortion: The power of the weights that is used.
        num_reserved_ids: How many classes before the first weight are never drawn.
        num_shards: Must be 1.
        shard: Must be 0.
        unigrams: A weight for each class.
        seed: See there.
        name: See there.
    """
    if vocab_file or (num_shards, shard) != (1, 0):
        raise UnimplementedError(
            "fixed_unigram_candidate_sampler takes all weights as `unigrams`; read them from the file, and leave "
            "vocab_file, num_shards and shard out."
        )
    classes = as_int(range_max, "range_max")
    weights = (*([0.0] * as_int(num_reserved_ids, "num_reserved_ids")), *(float(w) ** distortion for w in unigrams))
    if len(weights) != classes or not sum(weights) > 0 or min(weights) < 0:
        raise ArgumentError(
            f"fixed_unigram_candidate_sampler needs a weight of at least 0 for each of {classes} classes, those "
            f"that are reserved included, and one above 0; got {len(weights)}."
        )
    given = _numbers(num_true, num_sampled, unique, sum(weight > 0 for weight in weights) if unique else classes)
    return _made(FixedUnigramCandidateSampler, _fixed, true_classes, name, **given, **next_seeds(seed), weights=weights)


@export(
    "random.learned_unigram_candidate_sampler",
    "nn.learned_unigram_candidate_sampler",
    v1=("nn.learned_unigram_candidate_sampler", "random.learned_unigram_candidate_sampler"),
)
def learned_unigram_candidate_sampler(
    true_classes: ArrayLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> LearnedUnigramCandidateSampler:
    """Draws classes as often as they were true classes of earlier calls; all alike at first.

    What has been learned belongs to the operation, in a session or a function, and in eager code to the seed. The
    arguments are those of `log_uniform_candidate_sampler`.
    """
    classes = as_int(range_max, "range_max")
    if classes > 2**31 - 1:
        raise ArgumentError(f"Value of range_max:{classes} is too large to handle")
    given = _numbers(num_true, num_sampled, unique, classes)
    return _made(
        LearnedUnigramCandidateSampler, _learned, true_classes, name, **given, **next_seeds(seed), range_max=classes
    )


@export(
    "random.all_candidate_sampler",
    "nn.all_candidate_sampler",
    v1=("nn.all_candidate_sampler", "random.all_candidate_sampler"),
)
def all_candidate_sampler(
    true_classes: ArrayLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> AllCandidateSampler:
    """All classes, each once; the arguments are those of `log_uniform_candidate_sampler`."""
    given = _numbers(num_true, num_sampled, unique, as_int(num_sampled, "num_sampled"))
    return _made(AllCandidateSampler, _all, true_classes, name, **given, **next_seeds(seed))


def _made(kind: type[_Sampled], sampler: Op, true_classes: ArrayLike, name: str | None, **attrs: Any) -> _Sampled:
    return kind(*sampler.many(cast(convert_to_tensor(true_classes), dt.int64), **attrs, name=name))


@export("nn.compute_accidental_hits")
def compute_accidental_hits(
    true_classes: ArrayLike,
    sampled_candidates: ArrayLike,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> ComputeAccidentalHits:
    """Where classes of a sample are true ones.

    Args:
        true_classes: A matrix of classes, a row for each example.
        sampled_candidates: The sample.
        num_true: The number of columns of `true_classes`.
        seed: A seed: nothing is drawn, but it is counted, as TensorFlow does.
        name: A name for the ops.

    Returns:
        For each hit the number of the example, the place in the sample, and the least number of float32.
    """
    known_seeds(seed)
    with Composed(name, "compute_accidental_hits"):
        true = cast(convert_to_tensor(true_classes), dt.int64)
        if not true.shape.is_compatible_with([None, as_int(num_true, "num_true")]):
            raise ArgumentError(f"true_classes must be a matrix of num_true={num_true} columns, got {true.shape}.")
        places = where(equal(true[:, :, None], cast(convert_to_tensor(sampled_candidates), dt.int64)))
        example, place = cast(places[:, 0], dt.int32), places[:, 2]
        return ComputeAccidentalHits(example, place, fill(shape_of(places)[:1], dt.float32.min))
