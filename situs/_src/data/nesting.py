"""Datasets of datasets, flattened: flat_map and interleave.

    range(3).flat_map(lambda x: from_tensors(x).repeat(2))                     0 0 1 1 2 2
    range(3).interleave(lambda x: from_tensors(x).repeat(2), cycle_length=2)   0 1 0 1 2 2

A cycle has a number of slots; each has the dataset of one element, and yields a block of elements in turn. A slot whose
dataset has ended takes the next element. With ``num_parallel_calls`` the datasets read ahead, in threads; the order
stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Self

from situs._src.base.errors import DTypeError
from situs._src.base.typing import IntLike
from situs._src.data.base import DatasetV2
from situs._src.data.element import DatasetSpec, Element, is_dataset
from situs._src.data.function import Bound, ElementFunction
from situs._src.data.mapping import Computed, as_calls, as_order, workers_for
from situs._src.data.node import (
    AUTOTUNE,
    INFINITE,
    UNKNOWN,
    Binding,
    Failure,
    Node,
    Number,
    Stream,
    as_number,
    guarded,
    positive,
)
from situs._src.data.parallel import Limit, prefetched, read_ahead
from situs._src.data.worker_pool import WorkerPool

Opened = Iterator[Any] | Failure


class Nesting(DatasetV2):
    """Functions that make a dataset of each element."""

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Self:
        """The elements of the datasets that a function makes of the elements, one dataset after the other."""
        return self._of(FlatMap(self._node, self._nested(map_func, "flat_map")))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: IntLike | None = None,
        block_length: IntLike | None = None,
        num_parallel_calls: IntLike | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """The elements of the datasets that a function makes of the elements, in turn.

        Args:
            map_func: The function; it returns a dataset.
            cycle_length: How many datasets take turns; by default as many as there are cores, or threads if these are
                fewer.
            block_length: How many elements one gives before the next has its turn; 1 by default.
            num_parallel_calls: How many threads read ahead; None for none, ``AUTOTUNE`` for one a core.
            deterministic: Accepted for TensorFlow's programs: the order does not depend on the threads.
            name: Accepted for TensorFlow's programs.
        """
        as_order(deterministic)
        cycle = as_number(AUTOTUNE if cycle_length is None else cycle_length, "cycle_length")
        block = as_number(1 if block_length is None else block_length, "block_length")
        function = self._nested(map_func, "interleave")
        return self._of(Interleave(self._node, function, cycle, block, as_calls(num_parallel_calls)))

    def _nested(self, map_func: Callable[..., Any], what: str) -> ElementFunction:
        function = self._function(map_func, what)
        if not is_dataset(function.spec):
            raise DTypeError(
                f"The `map_func` argument of {what}() must return a `Dataset` object. Got {function.spec.structure!r}."
            )
        return function


class _Flattened(Computed):
    """The elements of the datasets that a function returns."""

    def __init__(self, input: Node, function: ElementFunction, *depends_on: Any) -> None:
        leaf = function.spec.leaves[0]
        assert isinstance(leaf, DatasetSpec)
        super().__init__(input, function, leaf.spec, *depends_on)
        self.where = function.returned[0].where if function.returned else None

    def _open(self, binding: Binding) -> Callable[[Any], Any]:
        """From an item to the items of its dataset; a `Failure` if there is none."""
        call = self.function.bind(binding)
        return guarded(lambda element: _begin(call(element)))


def _begin(made: Element) -> Iterator[Any]:
    bound: Bound = made[0][()]
    return bound.start().elements()


class FlatMap(_Flattened):
    """One dataset after the other."""

    title = "FlatMap"

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        return Stream(one_by_one(map(self._open(binding), self.input.start(binding).elements())))


def one_by_one(opened: Iterator[Opened]) -> Iterator[Any]:
    """The items of the opened datasets, one dataset after the other."""
    for inner in opened:
        if isinstance(inner, Failure):
            yield inner
        else:
            yield from inner


class Interleave(_Flattened):
    """Datasets in turn."""

    title = "Interleave"

    def __init__(
        self, input: Node, function: ElementFunction, cycle: Number, block: Number, calls: Number | None
    ) -> None:
        super().__init__(input, function, cycle, block, calls)
        self._cycle = cycle if not isinstance(cycle, int) or cycle == AUTOTUNE else _checked_cycle(cycle)
        self._block = _checked_block(block) if isinstance(block, int) else block
        self._calls = calls
        self.title = "Interleave" if calls is None else "ParallelInterleave"

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        asked, calls = binding.number(self._cycle), None if self._calls is None else binding.number(self._calls)
        cycle = _checked_cycle(asked) if asked != AUTOTUNE else workers_for(AUTOTUNE)
        if asked == AUTOTUNE and calls is not None and calls != AUTOTUNE:
            cycle = min(cycle, calls)  # no more at a time than there are threads for
        block = _checked_block(binding.number(self._block))
        opened = map(self._open(binding), self.input.start(binding).elements())
        if calls is None:
            return Stream(_in_turn(opened, cycle, block))
        workers = workers_for(calls)
        return Stream(in_turn_ahead(opened, cycle, block, min(workers, 2 * cycle), binding))

    def cardinality(self, binding: Binding) -> int:
        """Without end, if there are datasets without end; asked of those that are read ahead only, as in TensorFlow."""
        return INFINITE if self._calls is not None and self.input.cardinality(binding) == INFINITE else UNKNOWN


def _checked_cycle(cycle: int) -> int:
    return positive(cycle, "cycle_length must be greater than zero")


def _checked_block(block: int) -> int:
    return positive(block, "block_length must be greater than zero")


_END: Any = object()


def _in_turn(opened: Iterator[Opened], cycle: int, block: int) -> Iterator[Any]:
    """The items of the opened datasets, so many of which take turns."""
    places: list[Iterator[Any] | None] = [None] * cycle
    turn, given, active, ended = 0, 0, 0, False
    while not ended or active:
        place = places[turn]
        if place is not None:
            item = next(place, _END)
            if item is not _END:
                yield item
                given += 1
            else:
                places[turn] = None
                active -= 1
            if item is _END or given == block:
                turn, given = (turn + 1) % cycle, 0
        elif ended:
            turn, given = (turn + 1) % cycle, 0
        else:
            inner = next(opened, _END)
            if isinstance(inner, Failure):
                yield inner
            elif inner is _END:
                ended = True
            else:
                places[turn] = inner
                active += 1


def in_turn_ahead(opened: Iterator[Opened], cycle: int, block: int, workers: int, binding: Binding) -> Iterator[Any]:
    """The same, with the datasets of the cycle, and as many after them, reading ahead.

    One thread opens datasets, so that a source of slow elements does not hold up the others, which read.
    """
    pool = WorkerPool(workers, "interleave")
    try:
        reading = prefetched(map(partial(_reading, pool, binding), opened), Limit(cycle), binding.life, "open")
        yield from _in_turn(reading, cycle, block)
    finally:
        pool.close()


def _reading(pool: WorkerPool, binding: Binding, inner: Opened) -> Opened:
    return inner if isinstance(inner, Failure) else read_ahead(inner, pool, binding.life)
