"""Functions on elements, one by one: map, filter, take_while, scan, enumerate.

    range(4).map(lambda x: x * x)                          0 1 4 9
    range(4).filter(lambda x: x % 2 == 0)                  0 2
    range(4).scan(0, lambda s, x: (s + x, s + x))          0 1 3 6

`data.function` describes how functions are traced.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, Self

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError, InvalidArgumentError
from situs._src.base.tree import Form
from situs._src.base.typing import IntLike
from situs._src.data.base import DatasetV2
from situs._src.data.combining import Zip
from situs._src.data.element import Element, Spec
from situs._src.data.function import ElementFunction
from situs._src.data.node import AUTOTUNE, Binding, Failure, Node, Number, Stream, Transformation, as_number, guarded
from situs._src.data.parallel import mapped, tuned
from situs._src.data.sources import Counter, Tensors, components_of
from situs._src.ops.attribute import as_bool


class Mapping(DatasetV2):
    """Functions on elements."""

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: IntLike | None = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """What a function makes of each element.

        Args:
            map_func: The function. It takes the parts of a tuple one by one, and returns tensors in any structure.
            num_parallel_calls: How many elements to work on at a time; ``AUTOTUNE`` to find out.
            deterministic: Whether results made in parallel keep the order of the elements; by default the options say.
            synchronous: Accepted for TensorFlow's programs.
            use_unbounded_threadpool: Accepted for TensorFlow's programs.
            name: Accepted for TensorFlow's programs.
        """
        function = self._function(map_func, "map")
        return self._of(Map(self._node, function, as_calls(num_parallel_calls), as_order(deterministic)))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Self:
        """The elements for which a function returns true."""
        return self._of(Filter(self._node, self._predicate(predicate, "filter")))

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Self:
        """The elements up to the first for which a function returns false."""
        return self._of(TakeWhile(self._node, self._predicate(predicate, "take_while")))

    def _predicate(self, predicate: Callable[..., Any], what: str) -> ElementFunction:
        function = self._function(predicate, what)
        leaves = function.spec.leaves
        if len(leaves) != 1 or leaves[0].dtype is not dt.bool or leaves[0].shape.rank not in (0, None):
            raise ArgumentError(
                "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its return type is "
                f"{function.spec.structure!r}."
            )
        return function

    def scan(self, initial_state: object, scan_func: Callable[..., Any], name: str | None = None) -> Self:
        """Goes through the elements with a state: ``state, output = scan_func(state, element)`` for each.

        Args:
            initial_state: What the state is at first: tensors in any structure.
            scan_func: The function; the elements of the new dataset are its outputs.
            name: Accepted for TensorFlow's programs.
        """
        start = Tensors(*components_of(initial_state))
        function, state = settled(self, start.spec, scan_func, "scan", _new_state)
        return self._of(Scan(self._node, start, function, state))

    def enumerate(self, start: Any = 0, name: str | None = None) -> Self:
        """Pairs of numbers, from `start` on, and elements."""
        numbers = Counter(as_number(start, "start"), 1, dt.int64)
        return self._of(Zip([numbers, self._node]))


def as_calls(number: object) -> Number | None:
    """The number of parallel calls; None for one after the other.

    Raises:
        InvalidArgumentError: there cannot be so many.
    """
    if number is None:
        return None
    calls = as_number(number, "num_parallel_calls")
    if isinstance(calls, int) and calls < 1 and calls != AUTOTUNE:
        raise InvalidArgumentError(f"num_parallel_calls must be greater than zero, or AUTOTUNE; got {calls}.")
    return calls


def as_order(deterministic: Any) -> bool | None:
    """What the program says of the order; None if it says nothing."""
    return None if deterministic is None else as_bool(deterministic, "deterministic")


_MOST_THREADS = 512


def workers_for(calls: int) -> int:
    """The number of threads for so many parallel calls."""
    return min(calls, _MOST_THREADS) if calls > 0 else (os.cpu_count() or 1)


class Computed(Transformation):
    """A node whose elements a function decides on, or makes."""

    def __init__(self, input: Node, function: ElementFunction, spec: Spec | None = None, *depends_on: Any) -> None:
        super().__init__(input, spec, (*function.captures, *depends_on))
        self.function = function


class Made(Computed):
    """A node whose elements a function makes. They are on the host."""

    def __init__(self, input: Node, function: ElementFunction, spec: Spec, *depends_on: Any) -> None:
        super().__init__(input, function, spec, *depends_on)
        self.where = None


class Map(Made):
    """What a function makes of each element."""

    title = "Map"

    def __init__(self, input: Node, function: ElementFunction, calls: Number | None, ordered: bool | None) -> None:
        super().__init__(input, function, function.spec, calls)
        self._calls = calls
        self._ordered = ordered
        self.title = "Map" if calls is None else "ParallelMap"

    def keeps_order(self, by_default: bool) -> bool:
        """Whether elements come in the order of those they are made of."""
        return self._calls is None or (by_default if self._ordered is None else self._ordered)

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration: in this thread, or with a pool of its own."""
        return self.start_after(binding, 0)

    def start_after(self, binding: Binding, count: int) -> Stream:
        """Begins an iteration behind the first elements, without making them."""
        items = self.input.start_after(binding, count).elements()
        call = guarded(self.function.bind(binding))
        if self._calls is None:
            return Stream(map(call, items))
        calls = binding.number(self._calls)
        run = tuned if calls == AUTOTUNE else mapped
        return Stream(run(items, call, workers_for(calls), self.keeps_order(binding.deterministic), binding.life))

    def at(self, binding: Binding, index: int) -> Element:
        """What the function makes of one element."""
        return self.function.bind(binding)(self.input.at(binding, index))

    def cardinality(self, binding: Binding) -> int:
        """As many as there were."""
        return self.input.cardinality(binding)


class Filter(Computed):
    """The elements that a predicate holds for."""

    title = "Filter"

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        items, holds = self.input.start(binding).elements(), _judge(self.function.bind(binding))
        return Stream(_filtered(items, holds))


class TakeWhile(Computed):
    """The elements before the first that a predicate does not hold for."""

    title = "TakeWhile"

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        items, holds = self.input.start(binding).elements(), _judge(self.function.bind(binding))
        return Stream(_taken_while(items, holds))


def _judge(call: Callable[[Element], Element]) -> Callable[[Any], Any]:
    """Whether a predicate holds for an element; a `Failure` if that cannot be told."""
    return guarded(lambda element: bool(call(element)[0]))


def _filtered(items: Iterator[Any], holds: Callable[[Any], Any]) -> Iterator[Any]:
    for item in items:
        found = holds(item)
        if type(found) is Failure:
            yield found
        elif found:
            yield item


def _taken_while(items: Iterator[Any], holds: Callable[[Any], Any]) -> Iterator[Any]:
    for item in items:
        found = holds(item)
        if type(found) is Failure:
            yield found
        elif found:
            yield item
        else:
            return


# Functions with a state.


def settled(
    face: DatasetV2, state: Spec, function: Any, what: str, new_state: Callable[[Spec, int], Spec]
) -> tuple[ElementFunction, Spec]:
    """A function of states and elements, and what the states are: traced again with less known shapes if need be.

    Args:
        face: The dataset that the elements are of.
        state: What the first state is.
        function: The program's function.
        what: The method that it was given to.
        new_state: What the new state is, from all that the function returns and the number of leaves of a state.

    Raises:
        DTypeError: the function changes the form of the state or a dtype.
    """
    while True:
        traced = face._function(function, what, state)
        after = new_state(traced.spec, len(state.leaves))
        merged = state.merged(after)
        if merged is None:
            raise DTypeError(
                f"The element types for the new state must match the initial state. Expected {state.structure!r}; "
                f"{what}_func returned {after.structure!r}."
            )
        if merged == state:
            return traced, state
        state = merged


def _new_state(returned: Spec, count: int) -> Spec:
    """The state in what a function of ``scan`` returns."""
    form = returned.form
    if not isinstance(form, Form) or form.kind is not tuple or len(form.items) != 2:
        raise DTypeError(
            "The scan function must return a pair comprising the new state and the output value; it returned "
            f"{returned.structure!r}."
        )
    return _parts(returned, count)[0]


def _parts(pair: Spec, count: int) -> tuple[Spec, Spec]:
    """A pair as two specs: the first part has so many leaves."""
    one, other = pair.form.items
    return Spec(one, pair.leaves[:count]), Spec(other, pair.leaves[count:])


class Scan(Made):
    """The outputs of a function that carries a state from element to element."""

    title = "Scan"

    def __init__(self, input: Node, first: Tensors, function: ElementFunction, state: Spec) -> None:
        super().__init__(input, function, _parts(function.spec, len(state.leaves))[1], *first.symbols)
        self._first = first
        self._count = len(state.leaves)

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration, with the first state."""
        state: Element = next(self._first.start(binding).items)
        call = guarded(self.function.bind(binding))
        return Stream(self._outputs(self.input.start(binding).elements(), state, call))

    def _outputs(self, items: Iterator[Any], state: Element, call: Callable[[Element], Any]) -> Iterator[Any]:
        for item in items:
            made = item if isinstance(item, Failure) else call((*state, *item))
            if isinstance(made, Failure):
                yield made
                continue
            state = made[: self._count]
            yield made[self._count :]

    def cardinality(self, binding: Binding) -> int:
        """As many as there were."""
        return self.input.cardinality(binding)
