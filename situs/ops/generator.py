"""``tf.random.Generator``: a sequence of random tensors that belongs to an object.

A generator is a key and a count of the draws made so far; each draw is a stateless one with a
seed made of the two. The state lives in Python: a generator used while a graph is built gives the
graph one draw, which every run of the graph repeats.
"""

from __future__ import annotations

import enum
import threading
from typing import Any

import numpy as np

from situs import dtype as dt
from situs.errors import InvalidArgumentError, ResourceExhaustedError
from situs.mixing import mix, mix_each, unpredictable
from situs.ops import stateless
from situs.ops.array import as_attribute
from situs.ops.attribute import plain
from situs.ops.constant import constant
from situs.ops.seeds import as_seed
from situs.tensor import Tensor

_WORD = 2**64


class Algorithm(enum.Enum):
    """TensorFlow's names of algorithms; here all stand for PyTorch's generator of the device."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


class Generator:
    """Draws random tensors, each call the next ones of its own sequence. Safe for many threads.

    Made with ``from_seed`` or ``from_non_deterministic_state``.

    Example:
        >>> g = Generator.from_seed(1)
        >>> g.normal([2, 3]).shape
        TensorShape([2, 3])
    """

    def __init__(self, copy_from: Generator | None = None, state: Any = None, alg: Any = None) -> None:
        if not isinstance(copy_from, (Generator, type(None))) or (copy_from is None) == (state is None):
            raise InvalidArgumentError(
                f"A Generator is made of another one or of a state, got copy_from={copy_from!r} and state={state!r}. "
                "To make one of a number, use tf.random.Generator.from_seed."
            )
        self._lock = threading.Lock()
        self._algorithm: int = _algorithm_number(alg) if copy_from is None else copy_from._algorithm
        self._counter, self._key = _read_state(state) if copy_from is None else copy_from._position()

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Generator:
        """A generator whose sequence the seed, an integer, decides."""
        return cls(state=_seed_state(seed), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """A generator whose sequence nothing predicts."""
        return cls(state=_seed_state(unpredictable()), alg=alg)

    @classmethod
    def from_state(cls, state: Any, alg: Any) -> Generator:
        """A generator that goes on from the state of another."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any) -> Generator:
        """A generator with this key that has made ``counter[0]`` draws."""
        return cls(state=_key_counter_state(key, counter), alg=alg)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_state, (self.state, self.algorithm)

    # State.

    @property
    def state(self) -> Tensor:
        """The state, as `reset` takes it: the count of draws, 0, and the key."""
        return _as_state(*self._position())

    @property
    def key(self) -> Tensor:
        """The key, a scalar."""
        return constant(np.int64(_signed(self._key)))

    @property
    def algorithm(self) -> int:
        """The number of the algorithm asked for."""
        return self._algorithm

    def _position(self) -> tuple[int, int]:
        """The counter and the key."""
        with self._lock:
            return self._counter, self._key

    def reset(self, state: Any) -> None:
        """Goes on from a state."""
        counter, key = _read_state(state)
        with self._lock:
            self._counter, self._key = counter, key

    def reset_from_seed(self, seed: Any) -> None:
        """Goes on as a generator made with ``from_seed(seed)`` begins."""
        self.reset(_seed_state(seed))

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        """Goes on as a generator made with ``from_key_counter(key, counter)`` begins."""
        self.reset(_key_counter_state(key, counter))

    def skip(self, delta: Any) -> Tensor:
        """Leaves out `delta` draws and returns the state before."""
        key, counter = self._advance(as_attribute(delta, "The number of draws to skip"))
        return _as_state(counter, key)

    def _advance(self, count: int) -> tuple[int, int]:
        """The key, and the counter before the next `count` draws, which the caller makes."""
        with self._lock:
            counter = self._counter
            self._counter = (counter + count) % _WORD
            return self._key, counter

    def _seed(self) -> tuple[int, int]:
        key, counter = self._advance(1)
        return mix((4, key, counter)), counter

    # Draws.

    def normal(
        self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dt.float32, name: str | None = None
    ) -> Tensor:
        """Draws from the normal distribution; the arguments are those of ``tf.random.normal``."""
        return stateless.stateless_normal(shape, self._seed(), mean, stddev, dtype, name)

    def truncated_normal(
        self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dt.float32, name: str | None = None
    ) -> Tensor:
        """Draws from the normal distribution without values over two deviations from the mean."""
        return stateless.stateless_truncated_normal(shape, self._seed(), mean, stddev, dtype, name)

    def uniform(
        self, shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = dt.float32, name: str | None = None
    ) -> Tensor:
        """Draws from the uniform distribution; the arguments are those of ``tf.random.stateless_uniform``."""
        return stateless.stateless_uniform(shape, self._seed(), minval, maxval, dtype, name)

    def uniform_full_int(self, shape: Any, dtype: Any = dt.uint64, name: str | None = None) -> Tensor:
        """Draws from all integers of a dtype: int32, int64, uint32 or uint64."""
        return stateless.stateless_uniform(shape, self._seed(), None, None, dtype, name)

    # More generators.

    def make_seeds(self, count: Any = 1) -> Tensor:
        """Makes seeds for stateless ops: a tensor of shape [2, count], a seed in each column."""
        seeds = self._keys(count)
        return constant(np.stack([seeds, np.zeros_like(seeds)]))

    def split(self, count: int = 1) -> list[Generator]:
        """Makes generators whose sequences are independent of this one's and of each other's."""
        return [Generator.from_key_counter(key, [0, 0], self._algorithm) for key in self._keys(count).tolist()]

    def _keys(self, count: Any) -> np.ndarray[Any, Any]:
        number = as_attribute(count, "The number of seeds")
        if number < 0:
            raise InvalidArgumentError(f"Dimension {number} must be >= 0")
        try:
            offsets = np.arange(number, dtype=np.uint64)
        except (MemoryError, ValueError, OverflowError):
            raise ResourceExhaustedError(f"OOM when making {number} seeds.") from None
        key, counter = self._advance(number)
        return mix_each((5, key), counter, offsets)


_global: Generator | None = None
_global_lock = threading.Lock()


def get_global_generator() -> Generator:
    """The generator that the whole program shares; unpredictable unless it was set or reset."""
    global _global
    with _global_lock:
        if _global is None:
            _global = Generator.from_non_deterministic_state()
        return _global


def set_global_generator(generator: Generator) -> None:
    """Makes `generator` the one that the whole program shares."""
    global _global
    if not isinstance(generator, Generator):
        raise InvalidArgumentError(f"The global generator is a tf.random.Generator, got {generator!r}.")
    with _global_lock:
        _global = generator


def _algorithm_number(alg: Any) -> int:
    if alg is None:
        return Algorithm.PHILOX.value
    stateless.check_algorithm(alg)
    number = alg.value if isinstance(alg, Algorithm) else alg
    return number if isinstance(number, int) else Algorithm[number.upper()].value


def _seed_state(seed: Any) -> tuple[int, int, int]:
    return 0, 0, mix((6, as_seed(plain(seed, "seed"))))


def _key_counter_state(key: Any, counter: Any) -> tuple[Any, int, Any]:
    counts = plain(counter, "counter")
    if not isinstance(counts, tuple) or len(counts) != 2:
        raise InvalidArgumentError(f"A counter consists of two integers, got {counter!r}.")
    return counts[0], 0, plain(key, "key")


def _read_state(state: Any) -> tuple[int, int]:
    """The counter and the key of a state."""
    words = plain(state, "state")
    if not isinstance(words, tuple) or len(words) != 3:
        raise InvalidArgumentError(f"The state of a Generator consists of three integers, got {state!r}.")
    return as_seed(words[0]) % _WORD, as_seed(words[2]) % _WORD


def _as_state(counter: int, key: int) -> Tensor:
    return constant(np.array([_signed(counter), 0, _signed(key)], np.int64))


def _signed(word: int) -> int:
    return word - _WORD if word >= _WORD // 2 else word
