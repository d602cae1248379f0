"""``tf.random.Generator``: a sequence of random tensors that belongs to an object.

A generator is a key and a count of the draws made so far, in a variable; each draw is a stateless one with a seed made
of the two. In a graph a draw is made of operations: every run makes the next ones, and so does eager code after it.

    g.normal([2])       eager                  key, count -> seed; count + 1
                        in a tf.function       GeneratorDraw(state) -> seed          and the stateless op takes it
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base import locks
from situs._src.base.devices.scope import device, here
from situs._src.base.errors import ArgumentError, FailedPreconditionError, ResourceExhaustedError
from situs._src.base.export import export
from situs._src.base.mixing import mix, mix_each, unpredictable
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor, read
from situs._src.base.typing import ArrayLike, DTypeLike, IntLike, ShapeLike
from situs._src.ir.graph.context import init_scope
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops import stateless
from situs._src.ops.array import as_attribute
from situs._src.ops.attribute import plain
from situs._src.ops.cast import cast
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.define import CPU, op
from situs._src.ops.join import stack
from situs._src.ops.seeds import as_seed
from situs._src.runtime.eager import determinism
from situs._src.runtime.eager.cell import Cell
from situs._src.variables.capture import captured_variable
from situs._src.variables.eager import Variable
from situs._src.variables.symbolic import here_or

_WORD = 2**64


@export("random.Algorithm", "random.experimental.Algorithm", v1="random.Algorithm")
class Algorithm(enum.Enum):
    """TensorFlow's names of algorithms; here all stand for PyTorch's generator of the device."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


@export("random.Generator", "random.experimental.Generator", v1="random.Generator")
class Generator:
    """Draws random tensors, each call the next ones of its own sequence. Safe for many threads.

    Made with ``from_seed`` or ``from_non_deterministic_state``. Its state is a variable: a ``tf.function`` may make it
    only where it may make variables, and a checkpoint saves it.

    Example:
        >>> g = Generator.from_seed(1)
        >>> g.normal([2, 3]).shape
        TensorShape([2, 3])
    """

    def __init__(self, copy_from: Generator | None = None, state: Any = None, alg: str | IntLike | None = None) -> None:
        if not isinstance(copy_from, (Generator, type(None))) or (copy_from is None) == (state is None):
            raise ArgumentError(
                f"A Generator is made of another one or of a state, got copy_from={copy_from!r} and state={state!r}. "
                "To make one of a number, use tf.random.Generator.from_seed."
            )
        self._algorithm: int = _algorithm_number(alg) if copy_from is None else copy_from._algorithm
        first = _as_state(state) if copy_from is None else copy_from._state_var.read_value()
        with device("/cpu:0"):
            self._state_var: Any = Variable(first, trainable=False, name="StateVar", dtype=dt.int64)

    @classmethod
    def from_seed(cls, seed: IntLike, alg: str | IntLike | None = None) -> Generator:
        """A generator whose sequence the seed, an integer, decides."""
        return cls(state=_seed_state(seed), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: str | IntLike | None = None) -> Generator:
        """A generator whose sequence nothing predicts."""
        if determinism.is_required():
            raise FailedPreconditionError(
                '"from_non_deterministic_state" cannot be called when determinism is enabled.'
            )
        return cls(state=_seed_state(unpredictable()), alg=alg)

    @classmethod
    def from_state(cls, state: object, alg: str | IntLike) -> Generator:
        """A generator that goes on from the state of another."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_key_counter(cls, key: object, counter: Any, alg: str | IntLike) -> Generator:
        """A generator with this key that has made ``counter[0]`` draws."""
        return cls(state=_key_counter_state(key, counter), alg=alg)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_state, (self._state_var.read_value(), self.algorithm)

    # State.

    @property
    def state(self) -> Any:
        """The state, as `reset` takes it, a variable: the count of draws, 0, and the key."""
        return self._state_var

    @property
    def key(self) -> Tensor:
        """The key, a scalar."""
        return self._state_var[2]  # type: ignore[no-any-return]

    @property
    def algorithm(self) -> int:
        """The number of the algorithm asked for."""
        return self._algorithm

    @property
    def _symbolic(self) -> bool:
        """Whether a draw made now is made of operations."""
        return here.graph is not None or not isinstance(self._state_var, Variable)

    def reset(self, state: object) -> Any:
        """Goes on from a state."""
        return self._state_var.assign(_as_state(state))

    def reset_from_seed(self, seed: IntLike) -> Any:
        """Goes on as a generator made with ``from_seed(seed)`` begins."""
        return self.reset(_seed_state(seed))

    def reset_from_key_counter(self, key: object, counter: Any) -> Any:
        """Goes on as a generator made with ``from_key_counter(key, counter)`` begins."""
        return self.reset(_key_counter_state(key, counter))

    def skip(self, delta: ArrayLike) -> Tensor:
        """Leaves out `delta` draws and returns the state before."""
        if self._symbolic:
            return self._run(_skip, delta)  # type: ignore[no-any-return]
        counter, key = _advance(self._state_var._cell, as_attribute(delta, "The number of draws to skip"))
        return constant(np.array([counter, 0, key], np.int64))

    def _run(self, operation: Any, *inputs: Any) -> Any:
        """Adds an operation on the state to the graph being built, or to that of the state."""
        if isinstance(self._state_var, Variable):
            return operation(captured_variable(here.graph, self._state_var), *inputs)
        with here_or(self._state_var.graph):
            return operation(here.graph.capture(self._state_var._as_graph_element()), *inputs)

    def _seed(self) -> Any:
        return self._run(_draw) if self._symbolic else _next_seed(self._state_var._cell)

    # Draws.

    def normal(
        self,
        shape: ShapeLike,
        mean: ArrayLike = 0.0,
        stddev: ArrayLike = 1.0,
        dtype: DTypeLike = dt.float32,
        name: str | None = None,
    ) -> Tensor:
        """Draws from the normal distribution; the arguments are those of ``tf.random.normal``."""
        return stateless.stateless_normal(shape, self._seed(), mean, stddev, dtype, name)

    def truncated_normal(
        self,
        shape: ShapeLike,
        mean: ArrayLike = 0.0,
        stddev: ArrayLike = 1.0,
        dtype: DTypeLike = dt.float32,
        name: str | None = None,
    ) -> Tensor:
        """Draws from the normal distribution without values over two deviations from the mean."""
        return stateless.stateless_truncated_normal(shape, self._seed(), mean, stddev, dtype, name)

    def uniform(
        self,
        shape: ShapeLike,
        minval: ArrayLike = 0,
        maxval: ArrayLike | None = None,
        dtype: DTypeLike = dt.float32,
        name: str | None = None,
    ) -> Tensor:
        """Draws from the uniform distribution; the arguments are those of ``tf.random.stateless_uniform``."""
        return stateless.stateless_uniform(shape, self._seed(), minval, maxval, dtype, name)

    def uniform_full_int(self, shape: ShapeLike, dtype: DTypeLike = dt.uint64, name: str | None = None) -> Tensor:
        """Draws from all integers of a dtype: int32, int64, uint32 or uint64."""
        return stateless.stateless_uniform(shape, self._seed(), None, None, dtype, name)

    # More generators.

    def make_seeds(self, count: IntLike = 1) -> Tensor:
        """Makes seeds for stateless ops: a tensor of shape [2, count], a seed in each column."""
        if self._symbolic:
            return self._run(_seeds, count)  # type: ignore[no-any-return]
        keys = _next_keys(self._state_var._cell, as_attribute(count, "The number of seeds"))
        return constant(np.stack([keys, np.zeros_like(keys)]))

    def split(self, count: int = 1) -> list[Generator]:
        """Makes generators whose sequences are independent of this one's and of each other's."""
        number = as_attribute(count, "The number of generators")
        keys = self.make_seeds(number)[0]
        return [Generator.from_key_counter(keys[place], [0, 0], self._algorithm) for place in range(number)]


# The state: words of 64 bits, which an int64 holds with their sign.


def _advance(cell: Cell, count: int) -> tuple[int, int]:
    """The counter before the next `count` draws, which the caller makes, and the key."""
    with cell.lock:
        counter, middle, key = cell.read().tolist()
        cell.value = torch.tensor([_signed((counter + count) % _WORD), middle, key])
        return counter, key


def _next_seed(cell: Cell) -> tuple[int, int]:
    counter, key = _advance(cell, 1)
    return mix((4, key, counter)), counter


def _next_keys(cell: Cell, count: int) -> np.ndarray[Any, Any]:
    if count < 0:
        raise ArgumentError(f"Dimension {count} must be >= 0")
    try:
        offsets = np.arange(count, dtype=np.uint64)
    except (MemoryError, ValueError, OverflowError):
        raise ResourceExhaustedError(f"OOM when making {count} seeds.") from None
    counter, key = _advance(cell, count)
    return mix_each((5, key), counter, offsets)


_draw = op("GeneratorDraw", "ref: T& -> seed: T", T=frozenset({dt.int64}), stateful=True)
_draw.shape(lambda ref: TensorShape([2]))
_skip = op("RngReadAndSkip", "ref: T&, delta: host -> value: T", T=frozenset({dt.int64}), stateful=True)
_skip.shape(lambda ref, delta: TensorShape([3]))
_seeds = op("GeneratorSeeds", "ref: T&, count: host -> seeds: T", T=frozenset({dt.int64}), stateful=True)
_seeds.shape(lambda ref, count: TensorShape([2, count if isinstance(count, int) else None]))
_from_seed = op("GeneratorState", "seed: host -> state: int64")
_from_seed.shape(lambda seed: TensorShape([3]))


@_draw.kernel(CPU)
def _draw_kernel(ref: Cell) -> torch.Tensor:
    return torch.tensor([_signed(word) for word in _next_seed(ref)])


@_skip.kernel(CPU)
def _skip_kernel(ref: Cell, delta: Any) -> torch.Tensor:
    counter, key = _advance(ref, int(delta))
    return torch.tensor([counter, 0, key])


@_seeds.kernel(CPU)
def _seeds_kernel(ref: Cell, count: Any) -> torch.Tensor:
    keys = _next_keys(ref, int(count))
    return torch.from_numpy(np.stack([keys, np.zeros_like(keys)]))


@_from_seed.kernel(CPU)
def _from_seed_kernel(seed: Any) -> torch.Tensor:
    return torch.tensor([0, 0, mix((6, int(seed)))])


# The generator of the program.

_global: Generator | None = None
_global_lock = locks.lock()


@export("random.get_global_generator", "random.experimental.get_global_generator", v1="random.get_global_generator")
def get_global_generator() -> Generator:
    """The generator that the whole program shares; unpredictable unless it was set or reset."""
    global _global
    with _global_lock:
        if _global is None:
            with init_scope():
                _global = Generator.from_non_deterministic_state()
        return _global


@export("random.set_global_generator", "random.experimental.set_global_generator", v1="random.set_global_generator")
def set_global_generator(generator: Generator) -> None:
    """Makes `generator` the one that the whole program shares."""
    global _global
    if not isinstance(generator, Generator):
        raise ArgumentError(f"The global generator is a tf.random.Generator, got {generator!r}.")
    with _global_lock:
        _global = generator


# States that programs give.


@export("random.create_rng_state", "random.experimental.create_rng_state", v1="random.create_rng_state")
def create_rng_state(seed: IntLike, alg: str | IntLike) -> Tensor:
    """The state of a generator that is made with ``from_seed(seed, alg)``, as a tensor."""
    _algorithm_number(alg)
    return convert_to_tensor(_as_state(_seed_state(seed)))


def _algorithm_number(alg: Any) -> int:
    if alg is None:
        return Algorithm.PHILOX.value
    stateless.check_algorithm(alg)
    number = alg.value if isinstance(alg, Algorithm) else alg
    return number if isinstance(number, int) else Algorithm[number.upper()].value


def _seed_state(seed: IntLike) -> Tensor | tuple[int, int, int]:
    seed = read(seed)
    if isinstance(seed, SymbolicTensor):
        return _from_seed(seed)
    return 0, 0, mix((6, as_seed(plain(seed, "seed"))))


def _key_counter_state(key: object, counter: Any) -> Any:
    key, counter = read(key), read(counter)
    if isinstance(key, SymbolicTensor) or isinstance(counter, SymbolicTensor):
        first = counter[0] if isinstance(counter, SymbolicTensor) else plain(counter, "counter")[0]
        words = [convert_to_tensor(word) for word in (first, 0, key)]
        return stack([cast(word, dt.int64) for word in words])
    counts = plain(counter, "counter")
    if not isinstance(counts, tuple) or len(counts) != 2:
        raise ArgumentError(f"A counter consists of two integers, got {counter!r}.")
    return counts[0], 0, plain(key, "key")


def _as_state(state: object) -> Any:
    """The words of a state, as a variable takes them."""
    state = read(state)
    if isinstance(state, SymbolicTensor):
        if not state.shape.is_compatible_with([3]):
            raise ArgumentError(f"The state of a Generator consists of three integers, got {state!r}.")
        return cast(state, dt.int64)
    words = plain(state, "state")
    if not isinstance(words, tuple) or len(words) != 3:
        raise ArgumentError(f"The state of a Generator consists of three integers, got {state!r}.")
    counter, key = (_signed(as_seed(word) % _WORD) for word in (words[0], words[2]))
    return np.array([counter, 0, key], np.int64)


def _signed(word: int) -> int:
    return word - _WORD if word >= _WORD // 2 else word
