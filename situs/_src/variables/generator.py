"""``tf.random.Generator``: a sequence of random tensors that belongs to an object.

A generator is the position of a stream (`base.streams`) in a variable of three words: the counter, low word first, and
the key. A draw starts there and advances the counter by 256 for each element, as in TensorFlow. In a graph a draw
consists of operations: every run draws the next numbers, and so does eager code after it.

    g.normal([2])       eager                  the state -> key, counter; counter + 512
                        in a tf.function       RngReadAndSkip(state, 2) -> the state before
                        both                   StatelessRandomNormalV2(shape, key, counter)
"""

from __future__ import annotations

import enum
import math
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base import locks
from situs._src.base.devices.scope import device, here
from situs._src.base.errors import ArgumentError, FailedPreconditionError, UnimplementedError
from situs._src.base.export import export
from situs._src.base.mixing import unpredictable
from situs._src.base.shapes import TensorShape
from situs._src.base.streams import BLOCKS_PER_OUTPUT, COUNTERS, WORD, Position
from situs._src.base.tensor import Tensor, read
from situs._src.base.typing import ArrayLike, DTypeLike, IntLike, ShapeLike
from situs._src.ir.graph.context import init_scope
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops import stateless
from situs._src.ops.array import as_attribute, reshape
from situs._src.ops.attribute import plain
from situs._src.ops.cast import cast
from situs._src.ops.constant import constant, convert_to_tensor, zeros, zeros_like
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.join import concat, stack
from situs._src.ops.naming import Composed
from situs._src.ops.philox.words import block
from situs._src.ops.random import checked_sizes
from situs._src.ops.reduce import reduce_prod
from situs._src.ops.seeds import as_seed
from situs._src.runtime.eager import determinism
from situs._src.runtime.eager.allocations import enter_variable
from situs._src.runtime.eager.cell import Cell
from situs._src.variables.capture import captured_variable
from situs._src.variables.eager import Variable
from situs._src.variables.replication import strategies
from situs._src.variables.symbolic import here_or


@export("random.Algorithm", "random.experimental.Algorithm")
class Algorithm(enum.Enum):
    """TensorFlow's names of algorithms. Philox is what is chosen; ThreeFry exists under XLA alone."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


@export("random.Generator", "random.experimental.Generator")
class Generator:
    """Draws random tensors, each call the next ones of its own sequence. Safe for many threads.

    Made with ``from_seed`` or ``from_non_deterministic_state``. Its state is a variable: a ``tf.function`` may make it
    only where it may make variables, and a checkpoint saves it. Made in the scope of a strategy, it draws other numbers
    in each replica, with a key of its own.

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
        self._is_replicated = strategies.has_strategy()
        self._algorithm: int = _algorithm_number(alg) if copy_from is None else copy_from._algorithm
        first = self._as_state(state) if copy_from is None else copy_from._state_var.read_value()
        with device("/cpu:0"):
            self._state_var: Any = Variable(first, trainable=False, name="StateVar", dtype=dt.int64)

    @classmethod
    def from_seed(cls, seed: IntLike, alg: str | IntLike | None = None) -> Generator:
        """A generator whose sequence the seed decides: an integer, or up to three words of the state, the key last."""
        return cls(state=_seed_state(seed, _state_size(_algorithm_number(alg))), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: str | IntLike | None = None) -> Generator:
        """A generator whose sequence nothing predicts."""
        if determinism.is_required():
            raise FailedPreconditionError(
                '"from_non_deterministic_state" cannot be called when determinism is enabled.'
            )
        return cls(state=tuple(unpredictable() for _ in range(_state_size(_algorithm_number(alg)))), alg=alg)

    @classmethod
    def from_state(cls, state: object, alg: str | IntLike) -> Generator:
        """A generator that goes on from the state of another."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_key_counter(cls, key: object, counter: Any, alg: str | IntLike) -> Generator:
        """A generator with this key, whose counter has these two words."""
        return cls(state=_key_counter_state(key, counter, _state_size(_algorithm_number(alg))), alg=alg)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_state, (self._state_var.read_value(), self.algorithm)

    # State.

    @property
    def state(self) -> Any:
        """The state, as `reset` takes it, a variable: the counter, in two words, and the key."""
        return self._state_var

    @property
    def key(self) -> Tensor:
        """The key, a scalar."""
        return self._state_var[_state_size(self._algorithm) - 1]  # type: ignore[no-any-return]

    @property
    def algorithm(self) -> int:
        """The number of the algorithm asked for."""
        return self._algorithm

    @property
    def _symbolic(self) -> bool:
        """Whether a draw made now is made of operations."""
        return here.graph is not None or not isinstance(self._state_var, Variable)

    def reset(self, state: object) -> None:
        """Goes on from a state."""
        self._state_var.assign(self._as_state(state))

    def reset_from_seed(self, seed: IntLike) -> None:
        """Goes on as a generator made with ``from_seed(seed)`` begins."""
        self.reset(_seed_state(seed, _state_size(self._algorithm)))

    def reset_from_key_counter(self, key: object, counter: Any) -> None:
        """Goes on as a generator made with ``from_key_counter(key, counter)`` begins."""
        self.reset(_key_counter_state(key, counter, _state_size(self._algorithm)))

    def _as_state(self, state: object) -> Any:
        return _as_state(state, _state_size(self._algorithm))

    def skip(self, delta: ArrayLike) -> Tensor:
        """Leaves out as many numbers as a tensor of `delta` elements has, and returns the state before."""
        self._check_supported()
        if self._symbolic:
            return self._run(_skip, self._algorithm, delta)  # type: ignore[no-any-return]
        words = _advance(self._state_var._cell, as_attribute(delta, "The number of draws to skip"))
        return constant(np.array(words, np.int64))

    def _check_supported(self) -> None:
        if self._algorithm == stateless.THREEFRY:
            raise UnimplementedError("Non-XLA devices don't support the ThreeFry algorithm. Use alg='philox'.")

    def _run(self, operation: Any, *inputs: Any) -> Any:
        """Adds an operation on the state to the graph being built, or to that of the state."""
        if isinstance(self._state_var, Variable):
            return operation(captured_variable(here.graph, self._state_var), *inputs)
        with here_or(self._state_var.graph):
            return operation(here.graph.capture(self._state_var._as_graph_element()), *inputs)

    def _position(self, shape: ShapeLike) -> tuple[Any, Any]:
        """The key and the counter that a draw of this shape begins with."""
        return self._position_of(
            _elements(shape) if self._symbolic else math.prod(checked_sizes(plain(shape, "shape")))
        )

    def _position_of(self, outputs: Any) -> tuple[Any, Any]:
        """The key and the counter that a draw of so many outputs begins with."""
        self._check_supported()
        replica = strategies.replica_number() if self._is_replicated else None
        if self._symbolic:
            before = self.skip(outputs)
            key = before[2:3] if replica is None else stateless.key_of_replica(before[2:3], replica)
            return key, before[0:2]
        low, high, word = _advance(self._state_var._cell, outputs)
        if replica is not None:
            first, second, *_ = block(Position(word % WORD, replica))
            word = first + (second << 32)
        return (word,), (low, high)

    @property
    def _draws(self) -> stateless.Draws:
        return stateless.draws_at(self._position, self._algorithm)

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
        if here.graph is None:  # no name scope
            return stateless.normal_of(self._draws, shape, mean, stddev, dtype, name)
        with Composed(name, "stateful_normal") as last:
            return stateless.normal_of(self._draws, shape, mean, stddev, dtype, last)

    def truncated_normal(
        self,
        shape: ShapeLike,
        mean: ArrayLike = 0.0,
        stddev: ArrayLike = 1.0,
        dtype: DTypeLike = dt.float32,
        name: str | None = None,
    ) -> Tensor:
        """Draws from the normal distribution without values over two deviations from the mean."""
        with Composed(name, "truncated_normal") as last:
            return stateless.truncated_of(self._draws, shape, mean, stddev, dtype, last)

    def uniform(
        self,
        shape: ShapeLike,
        minval: ArrayLike = 0,
        maxval: ArrayLike | None = None,
        dtype: DTypeLike = dt.float32,
        name: str | None = None,
    ) -> Tensor:
        """Draws from the uniform distribution; the arguments are those of ``tf.random.stateless_uniform``."""
        with Composed(name, "stateful_uniform") as last:
            return stateless.uniform_of(self._draws, shape, minval, maxval, dtype, last)

    def uniform_full_int(self, shape: ShapeLike, dtype: DTypeLike = dt.uint64, name: str | None = None) -> Tensor:
        """Draws from all integers of a dtype: int32, int64, uint32 or uint64."""
        with Composed(name, "stateful_uniform_full_int") as last:
            return stateless.uniform_of(self._draws, shape, None, None, dtype, last)

    def binomial(
        self,
        shape: ShapeLike,
        counts: ArrayLike,
        probs: ArrayLike,
        dtype: DTypeLike = dt.int32,
        name: str | None = None,
    ) -> Tensor:
        """Draws how many of `counts` trials succeed, each with probability `probs`.

        Args:
            shape: The shape of the result, which must be known; it ends with that of `counts` and `probs` together.
            counts: How many trials there are.
            probs: How probable success is, in the dtype of `counts`.
            dtype: float16, float32, float64, int32 or int64.
            name: A name for the op.
        """
        with Composed(name, "binomial") as last:
            return stateless.binomial_of(self._position_of, shape, counts, probs, dtype, last)

    # More generators.

    def make_seeds(self, count: IntLike = 1) -> Tensor:
        """Makes seeds for stateless ops: a tensor of shape [2, count], a seed in each column."""
        number = count if isinstance(read(count), SymbolicTensor) else as_attribute(count, "The number of seeds")
        keys = self.uniform_full_int([number], dt.int64)
        return stack([keys, zeros_like(keys)])

    def split(self, count: int = 1) -> list[Generator]:
        """Makes generators whose sequences are independent of this one's and of each other's."""
        number = as_attribute(count, "The number of generators")
        keys = self.make_seeds(number)[0]
        return [Generator.from_key_counter(keys[place], [0, 0], self._algorithm) for place in range(number)]


# The state: words of 64 bits, which an int64 holds with their sign.


def _advance(cell: Cell, count: int) -> tuple[int, int, int]:
    """The state before the next `count` numbers, which the caller draws."""
    with cell.lock:
        before = cell.read()
        low, high, key = before.tolist()
        further, above = low + count * BLOCKS_PER_OUTPUT, high
        if not 0 <= low <= further < WORD // 2:  # there is a sign, or a carry
            counter = (low % WORD + high % WORD * WORD + count * BLOCKS_PER_OUTPUT) % COUNTERS
            further, above = _signed(counter % WORD), _signed(counter // WORD)
        after = torch.tensor((further, above, key))
        cell.value = after.to(before.device) if before.is_cuda else after
        return low, high, key


_skip = op("RngReadAndSkip", "ref: T&, alg: host, delta: host -> value: T", T=frozenset({dt.int64}), stateful=True)
_skip.shape(lambda ref, alg, delta: TensorShape([3]))


@_skip.kernel(CPU)
def _skip_kernel(ref: Cell, alg: Any, delta: Any) -> torch.Tensor:
    return torch.tensor(_advance(ref, int(delta)))


@_skip.kernel(GPU)
def _skip_on_card(ref: Cell, alg: Any, delta: Any) -> torch.Tensor:
    """The same where the state lies on a GPU: it is changed there, and nobody waits for it."""
    with ref.lock:
        before: torch.Tensor = ref.read()
        ref.value = _advanced(before, int(delta))
    enter_variable(ref.value, ref.place.device, ref.name)
    return before


def _advanced(state: torch.Tensor, count: int) -> torch.Tensor:
    """The state after `count` numbers, by PyTorch's ops: sums of 64 bits wrap around, and a carry is seen in them."""
    high, low = divmod(count * BLOCKS_PER_OUTPUT, WORD)
    total = state[0] + _signed(low)
    carry = (total ^ _LEAST) < (state[0] ^ _LEAST)  # without signs
    return torch.stack([total, state[1] + carry + _signed(high), state[2]])


def _skip_in_memory(state: torch.Tensor, alg: Any, delta: Any) -> torch.Tensor:
    """The same in the memory of the state, which can be recorded (`runtime.plan.kernels`)."""
    before = state.clone()
    state.copy_(_advanced(before, int(delta)))
    return before


_skip_on_card.on_memory, _skip_on_card.numbers = _skip_in_memory, (1, 2)  # type: ignore[attr-defined]
_LEAST = -(2**63)


def _elements(shape: ShapeLike) -> IntLike:
    """How many elements a tensor of a shape has, which may be known when the graph runs only."""
    given = read(shape)
    sizes = given if isinstance(given, (list, tuple)) else (given,)
    if any(isinstance(read(size), SymbolicTensor) for size in sizes):
        return reduce_prod(convert_to_tensor(given))
    return math.prod(checked_sizes(plain(given, "shape")))


# The generator of the program.

_global: Generator | None = None
_global_lock = locks.lock()


@export("random.get_global_generator", "random.experimental.get_global_generator")
def get_global_generator() -> Generator:
    """The generator that the whole program shares; unpredictable unless it was set or reset."""
    global _global
    with _global_lock:
        if _global is None:
            with init_scope():
                _global = Generator.from_non_deterministic_state()
        return _global


@export("random.set_global_generator", "random.experimental.set_global_generator")
def set_global_generator(generator: Generator) -> None:
    """Makes `generator` the one that the whole program shares."""
    global _global
    if not isinstance(generator, Generator):
        raise ArgumentError(f"The global generator is a tf.random.Generator, got {generator!r}.")
    with _global_lock:
        _global = generator


# States that programs give.


@export("random.create_rng_state", "random.experimental.create_rng_state")
def create_rng_state(seed: IntLike, alg: str | IntLike) -> Tensor:
    """The state of a generator that is made with ``from_seed(seed, alg)``, as a tensor."""
    size = _state_size(stateless.algorithm_number(alg))
    return convert_to_tensor(_as_state(_seed_state(seed, size), size))


def _algorithm_number(alg: object) -> int:
    return stateless.PHILOX if alg is None else stateless.algorithm_number(alg)


def _state_size(algorithm: int) -> int:
    """How many words of 64 bits a state has: the counter, two but for ThreeFry, and the key."""
    return 2 if algorithm == stateless.THREEFRY else 3


def _seed_state(seed: Any, size: int) -> Any:
    """The state of a seed: an integer fills the words from the first on, words of its own stand at the end."""
    seed = read(seed)
    if isinstance(seed, SymbolicTensor):
        words = cast(reshape(seed, [-1]), dt.int64)
        missing = 0 if words.shape[0] is None else size - words.shape[0]
        return concat([zeros([missing], dt.int64), words], 0) if missing > 0 else words[:size]
    given = plain(seed, "seed")
    if isinstance(given, tuple):
        return (0,) * (size - len(given)) + given[:size]
    number = as_seed(given)
    if not isinstance(seed, int):
        return *([0] * (size - 1)), number  # a tensor of one word
    return tuple((number >> 64 * place) % WORD for place in range(size))


def _key_counter_state(key: object, counter: Any, size: int) -> Any:
    key, counter = read(key), read(counter)
    if isinstance(key, SymbolicTensor) or isinstance(counter, SymbolicTensor):
        words = [convert_to_tensor(word) for word in (*(counter[place] for place in range(size - 1)), key)]
        return stack([cast(word, dt.int64) for word in words])
    counts = plain(counter, "counter")
    if not isinstance(counts, tuple) or len(counts) != size - 1:
        count = "one integer" if size == 2 else "two integers"
        raise ArgumentError(f"A counter consists of {count} for this algorithm, got {counter!r}.")
    return *counts, plain(key, "key")


def _as_state(state: object, size: int) -> Any:
    """The words of a state, as a variable takes them."""
    state = read(state)
    if isinstance(state, SymbolicTensor):
        if not state.shape.is_compatible_with([size]):
            raise ArgumentError(f"The state of this Generator consists of {_COUNTED[size]} integers, got {state!r}.")
        return cast(state, dt.int64)
    words = plain(state, "state")
    if not isinstance(words, tuple) or len(words) != size:
        raise ArgumentError(f"The state of this Generator consists of {_COUNTED[size]} integers, got {state!r}.")
    return np.array([_signed(as_seed(word) % WORD) for word in words], np.int64)


_COUNTED = {2: "two", 3: "three"}


def _signed(word: int) -> int:
    return word - WORD if word >= WORD // 2 else word
