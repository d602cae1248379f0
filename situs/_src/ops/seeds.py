"""How seeds become random numbers.

Every call of a random op gets one integer, and its kernel draws from a generator seeded with
that integer on the kernel's device. So a kernel depends on nothing but its inputs and attributes,
and all state is here, in a `SeedSource`:

    global seed   op seed    the integer of a call depends on
    none          none       nothing: it is taken from the operating system
    set           none       the global seed, and the number of calls since it was set
    set or none   given      both seeds, and the number of calls with this op seed since then

In a graph the integer belongs to the operation, and each of its draws in a session mixes in their number.

The numbers are not TensorFlow's. They are the same in every run on the same type of device.
"""

from __future__ import annotations

import operator
import threading
from collections import Counter
from typing import Any

import torch

from situs._src.base import locks
from situs._src.base.devices.scope import here
from situs._src.base.errors import DTypeError, StateError
from situs._src.base.export import export
from situs._src.base.mixing import UNPREDICTABLE, mix, unpredictable
from situs._src.ir.graph.context import get_default_graph
from situs._src.ir.graph.function import outermost
from situs._src.ir.graph.graph import Graph
from situs._src.runtime.eager import determinism

_DEFAULT_GLOBAL_SEED = 87654321  # TensorFlow's, for programs that give op seeds alone


class SeedSource:
    """Gives each call of a random op its integer. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = locks.lock()
        self.restarts = 0  # how often the seed was set: functions begin their sequences anew as well
        self.set(None)

    def set(self, seed: int | None) -> None:
        """Sets the global seed, None for none, and restarts all sequences."""
        with self._lock:
            self.seed = None if seed is None else as_seed(seed)
            self._calls = 0
            self._uses: Counter[int] = Counter()
            self.restarts += 1

    def next(self, op_seed: int | None = None) -> int:
        """The integer for one more call with this op seed."""
        if op_seed is not None:
            return self._next_of(as_seed(op_seed))
        with self._lock:
            seed, calls = self.seed, self._calls
            self._calls += 1
        if seed is None:
            _check_determinism()
        return unpredictable() if seed is None else mix((1, seed, calls))

    def _next_of(self, op_seed: int) -> int:
        with self._lock:
            uses = self._uses[op_seed]
            self._uses[op_seed] += 1
            seed = _DEFAULT_GLOBAL_SEED if self.seed is None else self.seed
        return mix((2, seed, op_seed, uses))


def _check_determinism() -> None:
    if determinism.is_required():
        raise StateError(
            "Random ops require a seed to be set when determinism is enabled. Please set a seed before running the op, "
            "e.g. by calling tf.random.set_seed(1)."
        )


eager = SeedSource()


@export("random.set_seed")
def set_seed(seed: int | None) -> None:
    """Sets the global seed: random ops repeat their sequences from here on.

    Args:
        seed: An integer, or None to make the sequences unpredictable again.
    """
    eager.set(seed)


def next_seed(op_seed: int | None = None) -> int:
    """The integer for one call of a random op, or for one operation of a graph."""
    if here.graph is None:
        return eager.next(op_seed)
    return _graph_seed(outermost(here.graph), None if op_seed is None else as_seed(op_seed))


def _graph_seed(graph: Graph, op_seed: int | None) -> int:
    """The integer of an operation; each run mixes in how often it has drawn in its session.

    A graph has a seed of its own; the graph of a ``tf.function`` has the eager one.
    """
    seed = eager.seed if graph.compares_elements else graph.seed
    if op_seed is not None:
        return mix((4, _DEFAULT_GLOBAL_SEED if seed is None else seed, op_seed))
    if seed is None:
        _check_determinism()
        return UNPREDICTABLE
    graph.seeds_used += 1
    return mix((3, seed, graph.seeds_used))


@export(v1=("set_random_seed", "random.set_random_seed"))
def set_graph_seed(seed: int | None) -> None:
    """Sets the seed of the default graph: operations made from here on draw the same numbers in every session."""
    get_default_graph().seed = None if seed is None else as_seed(seed)


def as_seed(seed: Any) -> int:
    """A seed as an integer.

    Raises:
        TypeError: it is no integer.
    """
    try:
        return operator.index(seed)
    except TypeError:
        raise DTypeError(f"A seed is an integer or None, got {seed!r} of type {type(seed).__name__!r}.") from None


class _Generators(threading.local):
    def __init__(self) -> None:
        self.by_device: dict[torch.device, torch.Generator] = {}


_generators = _Generators()


def generator(number: int, device: torch.device) -> torch.Generator:
    """A generator on `device`, seeded with `number`, to be used up before the next is asked for.

    There is one per thread and device: seeding it anew (1.1 us on a CPU) is half the price of another.
    """
    found = _generators.by_device.get(device)
    if found is None:
        found = _generators.by_device[device] = torch.Generator(device)
    return found.manual_seed(number)
