"""How seeds become random numbers: TensorFlow's rules.

A random op has two seeds, which begin its stream (`base.streams`). Where they come from:

    global seed   op seed    the op's seeds
    none          none       (0, 0): no stream; every draw is the device's own generator's, and unpredictable
    none          given      (87654321, op seed)
    set           none       (global seed, the next number):   eager code draws it from Python's `random.Random` of the
                                                               global seed, a graph counts its random operations
    set           given      (global seed, op seed)

and where the stream is kept, from which each draw takes the next part:

    eager code       under the op, its seeds, dtype and device; setting the global seed forgets all streams
    a tf.function    with the operation, in the function; setting the global seed begins it again
    a session        with the operation, in the session

Two calls in eager code with the same op seed thus share a stream, and operations of graphs never do.
"""

from __future__ import annotations

import operator
import random
import threading
from collections.abc import Hashable
from typing import Any, TypedDict

import torch

from situs._src.base import locks
from situs._src.base.devices.scope import here
from situs._src.base.errors import DTypeError, StateError
from situs._src.base.export import export
from situs._src.base.mixing import unpredictable
from situs._src.base.streams import Again, Position, Stream, of_seeds
from situs._src.ir.graph.context import get_default_graph, process_graph
from situs._src.ir.graph.function import outermost
from situs._src.ir.graph.graph import Graph
from situs._src.runtime.eager import determinism

DEFAULT_GLOBAL_SEED = 87654321  # for programs that give op seeds alone
MOST = 2**31 - 1  # seeds are taken modulo this

Seed = int | Stream | Again  # what a kernel is given: eager code's first seed, or the stream of an operation


class Drawn(int):
    """A seed that was drawn for one call: no other has it, so its stream need not be kept."""

    __slots__ = ()


class Counted(int):
    """A seed that is the number of an operation among those that a graph has counted: the next one's is another."""

    __slots__ = ()


class Seeds(TypedDict):
    """The two seeds of an op, as attributes."""

    seed: int
    seed2: int


class SeedSource:
    """Gives each call of a random op in eager code its seeds, and keeps their streams. Safe for many threads."""

    def __init__(self) -> None:
        self._lock = locks.lock()
        self.restarts = 0  # how often the seed was set: functions begin their streams again as well
        self.set(None)

    def set(self, seed: int | None) -> None:
        """Sets the global seed, None for none, and forgets all streams."""
        with self._lock:
            self.seed = None if seed is None else as_seed(seed)
            self._op_seeds = random.Random(self.seed)
            self._streams: dict[Hashable, Stream] = {}
            self.restarts += 1

    def next(self, op_seed: int | None = None) -> tuple[int, int] | None:
        """The seeds of one more call with this op seed; None where there are none."""
        if op_seed is not None:
            return both_seeds(self.seed, op_seed if type(op_seed) is int else as_seed(op_seed))
        with self._lock:
            if self.seed is not None:
                seed, op_seed = both_seeds(self.seed, self._op_seeds.randint(0, MOST))
                return seed, Drawn(op_seed)
        return None

    def stream(self, seed: int, seed2: int, *drawn: Hashable) -> Stream:
        """The stream of what is drawn with these seeds: an op, a dtype, a device."""
        key = (seed, seed2, drawn)
        found = self._streams.get(key)
        if found is None:
            with self._lock:
                found = self._streams.setdefault(key, Stream(of_seeds(seed, seed2)))
        return found


def both_seeds(seed: int | None, op_seed: int) -> tuple[int, int]:
    """The seeds of an op, of the global seed and its own."""
    first, second = (DEFAULT_GLOBAL_SEED if seed is None else seed) % MOST, op_seed % MOST
    return (first, second) if first or second else (0, MOST)


eager = SeedSource()


@export("random.set_seed")
def set_seed(seed: int | None) -> None:
    """Sets the global seed: random ops repeat their sequences from here on.

    Args:
        seed: An integer, or None to make the sequences unpredictable again.
    """
    eager.set(seed)


def next_seeds(op_seed: int | None = None) -> Seeds:
    """The seeds of one call of a random op, or of one operation of a graph."""
    if type(op_seed) is int and here.graph is None:  # as below, without looking further
        seed, seed2 = both_seeds(eager.seed, op_seed)
        return {"seed": seed, "seed2": seed2}
    found = known_seeds(op_seed)
    if found is None and determinism.is_required():
        raise StateError(
            "Random ops require a seed to be set when determinism is enabled. Please set a seed before running the op, "
            "e.g. by calling tf.random.set_seed(1)."
        )
    return Seeds(seed=0, seed2=0) if found is None else Seeds(seed=found[0], seed2=found[1])


def known_seeds(op_seed: int | None = None) -> tuple[int, int] | None:
    """The same as a pair, and None where there are none."""
    if here.graph is None:
        return eager.next(op_seed)
    return _graph_seeds(here.graph, None if op_seed is None else as_seed(op_seed))


def _graph_seeds(graph: Graph, op_seed: int | None) -> tuple[int, int] | None:
    """The seeds of an operation. A graph has a seed of its own; the graph of a ``tf.function`` has the eager one.

    What has no op seed is counted, in each graph of a function, a branch or a loop from 0; but where branches and loops
    are parts of the graph, as in TensorFlow 1, with it.
    """
    whole = outermost(graph)
    seed = eager.seed if whole.compares_elements else whole.seed
    if op_seed is not None:
        return both_seeds(seed, op_seed)
    if seed is None:
        return None
    counting = graph
    if not _counts_apart(graph, whole):
        counting = whole
    number = counting.seeds_used
    counting.seeds_used += 1
    first, second = both_seeds(seed, number)
    return first, Counted(second)


def _counts_apart(graph: Graph, whole: Graph) -> bool:
    """Whether a graph counts its own random operations: not if it is a branch or a loop that is part of another one."""
    while graph is not whole and not graph.is_function:
        assert graph.outer is not None
        graph = graph.outer
    return graph.is_function or (control_flow.is_apart and whole is not process_graph())


class ControlFlow:
    """Whether branches and loops of graphs are graphs of their own, as programs have said (``disable_v2_behavior``)."""

    is_apart = True


control_flow = ControlFlow()


@export(v1=("set_random_seed", "random.set_random_seed"))
def set_graph_seed(seed: int | None) -> None:
    """Sets the seed of the default graph: operations made from here on draw the same numbers in every session."""
    get_default_graph().seed = None if seed is None else as_seed(seed)


@export(v1=("random.get_seed", "get_seed"))
def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The two seeds that an op with this op seed would be given, which are counted as given; None for none."""
    return known_seeds(op_seed) or (None, None)


def as_seed(seed: Any) -> int:
    """A seed as an integer.

    Raises:
        TypeError: it is not an integer.
    """
    try:
        return operator.index(seed)
    except TypeError:
        raise DTypeError(f"A seed is an integer or None, got {seed!r} of type {type(seed).__name__!r}.") from None


def reserve(seed: Seed, seed2: int, blocks: int, *drawn: Hashable) -> Position | None:
    """Where the draw of a kernel begins; None where there is no seed, and the device's own generator is to be used.

    Args:
        seed: What the kernel was given.
        seed2: Likewise.
        blocks: How many blocks further on the next draw shall begin.
        drawn: What eager code keeps the stream under: the op, the dtype, the device.
    """
    if not isinstance(seed, int):
        return seed.reserve(blocks)
    if not seed and not seed2:
        return None
    if type(seed2) is Drawn:
        return of_seeds(seed, seed2)
    return eager.stream(seed, seed2, *drawn).reserve(blocks)


class _Generators(threading.local):
    def __init__(self) -> None:
        self.by_device: dict[torch.device, torch.Generator] = {}


_generators = _Generators()


def generator(device: torch.device) -> torch.Generator:
    """A generator on `device` that nothing predicts, to be used up before the next is asked for.

    There is one per thread and device: seeding it again (1.1 us on a CPU) is half the price of another.
    """
    found = _generators.by_device.get(device)
    if found is None:
        found = _generators.by_device[device] = torch.Generator(device)
    return found.manual_seed(unpredictable())
