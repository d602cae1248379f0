"""Nodes: the parts of a dataset, and how it is iterated.

A dataset is a tree of nodes: a declarative description. Iterating it starts its nodes, from the sources up, each
passing a `Stream` to the next:

    batch(4)   <- map(f)   <- range(10)          nodes
    (stacked)  <- (values) <- 0 1 2 3 ...        streams, made by start(binding)

A stream never raises: the error of an element travels in its place, as a `Failure`, and is raised where the element
arrives. So an iteration continues after an element that failed, also across threads.

A node may depend on tensors of a graph: placeholders, arguments of a function. A `Binding` has their values.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from situs._src.base import locks
from situs._src.base.devices.logical import Device
from situs._src.base.devices.scope import here
from situs._src.base.errors import (
    CancelledError,
    DTypeError,
    FailedPreconditionError,
    InvalidArgumentError,
    OutOfRangeError,
    UnimplementedError,
    shown,
)
from situs._src.base.export import export
from situs._src.base.mixing import unpredictable
from situs._src.base.tensor import read
from situs._src.data.element import Element, Spec
from situs._src.data.seeding import order_seed
from situs._src.data.table import Table
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.attribute import as_int
from situs._src.runtime.run.state import Run, State
from situs._src.runtime.symbolic.fold import constant_value

AUTOTUNE = -1
export("data.AUTOTUNE", "data.experimental.AUTOTUNE")(AUTOTUNE)
INFINITE = -1
export("data.INFINITE_CARDINALITY", "data.experimental.INFINITE_CARDINALITY")(INFINITE)
UNKNOWN = -2
export("data.UNKNOWN_CARDINALITY", "data.experimental.UNKNOWN_CARDINALITY")(UNKNOWN)

Number = int | SymbolicTensor


class Failure:
    """An error, instead of the element that it belongs to."""

    __slots__ = ("_error",)

    def __init__(self, error: BaseException) -> None:
        self._error: BaseException | None = error

    @property
    def error(self) -> BaseException:
        """The error."""
        return self._error or CancelledError("The error of this element has been raised already.")

    def take(self) -> BaseException:
        """The error, to be raised. It is not kept: it holds the frames it goes through, and so what holds this."""
        error, self._error = self.error, None
        return error


def guarded(call: Callable[[Element], Any]) -> Callable[[Any], Any]:
    """A function of elements that gives a `Failure` where it would raise, and passes on those that come in."""

    def run(item: Any) -> Any:
        if type(item) is Failure:
            return item
        try:
            return call(item)
        except OutOfRangeError as error:  # would be taken for the end of the dataset
            return Failure(InvalidArgumentError(f"Function invocation produced OutOfRangeError: {error}"))
        except Exception as error:
            return Failure(error)

    return run


_END: Any = object()


def guarded_items(items: Iterator[Any]) -> Iterator[Any]:
    """The items of a generator; where it would raise, a `Failure`, and nothing after that."""
    take = guarded(lambda _: next(items, _END))
    while (item := take(())) is not _END:
        yield item


class Stream(NamedTuple):
    """What goes from one node to the next while a dataset is iterated.

    Attributes:
        items: Elements, or the numbers of rows of `table`.
        table: Where the rows are; None if the items are elements.
        whole: How many rows there are, if the items are all of them in order.
    """

    items: Iterator[Any]
    table: Table | None = None
    whole: int | None = None

    def elements(self) -> Iterator[Any]:
        """The items as elements."""
        return self.items if self.table is None else self.table.elements(self.items)


class Memory:
    """What a node remembers from one iteration to the next."""

    def __init__(self) -> None:
        self.epochs = 0  # iterations begun
        self.kept: Any = None  # a cache
        self._lock = locks.lock()

    def next_epoch(self) -> int:
        """How often it has been iterated before."""
        with self._lock:
            self.epochs += 1
            return self.epochs - 1

    def go_to_epoch(self, epoch: int) -> None:
        """Makes the next iteration the one with this number."""
        with self._lock:
            self.epochs = epoch


class Life:
    """Whether an iteration continues; checked now and then by everything that waits in it."""

    def __init__(self) -> None:
        self.closed = False
        self._waiting: tuple[int, Run] | None = None  # the thread of a session's run that wants an element now

    def wanted_by(self, run: Run | None) -> None:
        """Notes the run that this thread wants an element for; None when it has it."""
        self._waiting = None if run is None else (threading.get_ident(), run)

    def check(self) -> None:
        """Raises if this thread should not wait any longer.

        Raises:
            CancelledError: the iterator was closed, or the run that waits was told to stop.
            DeadlineExceededError: the time limit of the run passed.
        """
        if self.closed:
            raise CancelledError("The iterator was closed while somebody waited for its next element.")
        if self._waiting is not None and self._waiting[0] == threading.get_ident():
            self._waiting[1].check()


class Draws:
    """What an iteration has drawn at random.

    Attributes:
        seeds: The seeds of the iterations of nodes that have begun, by the identity of the node.
        lost: A node that drew in a way that cannot be repeated; None if there is none.
        lock: Guards them.
    """

    def __init__(self) -> None:
        self.seeds: dict[int, list[int]] = {}
        self.lost: str | None = None
        self.lock = locks.lock()

    def of(self, node: Node, epochs: int) -> tuple[int, list[int]]:
        """The number of the next iteration of a node, and the seeds of those that have begun."""
        with self.lock:
            return epochs, list(self.seeds.get(id(node), ()))


class Binding:
    """What a dataset is iterated with.

    Args:
        values: Values of the tensors it depends on, by the identity of the tensor.
        state: The state of the session; None in eager code.
        life: Says when to give up.
        deterministic: Whether stages that run in parallel keep the order where nothing else is said.
        planned: Seeds for the next iterations of nodes, by the identity of the node.

    Attributes:
        draws: What has been drawn at random.
        memories: What nodes of graphs remember.
    """

    __slots__ = (
        "_outer",
        "_planned",
        "_states",
        "deterministic",
        "draws",
        "life",
        "memories",
        "state",
        "values",
    )

    def __init__(
        self,
        values: dict[int, Any] | None = None,
        state: State | None = None,
        life: Life | None = None,
        deterministic: bool = True,
        planned: dict[int, deque[int]] | None = None,
    ) -> None:
        self.values = values or {}
        self.state = state
        self.life = life or Life()
        self.deterministic = deterministic
        self.memories: dict[int, Memory] = {}
        self._planned = planned or {}
        self.draws = Draws()
        self._outer: Draws | None = None  # of the iteration that this one is part of
        self._states: dict[Any, Any] = {}  # of functions, and those of inputs by the node and the input's number

    def state_of(self, function: object, make: Callable[[], State]) -> State:
        """The state of a function, which is one for all the times that the function is bound in an iteration.

        Args:
            function: The function.
            make: Makes a state where there is none.
        """
        found: State | None = self._states.get(function)
        return self._states.setdefault(function, make()) if found is None else found  # threads may race to here

    def of_inputs(self, node: Node) -> Iterator[tuple[Node, Binding]]:
        """The inputs of a node, each with its binding: a dataset that is two of them has states of its own in each."""
        for number, each in enumerate(node.inputs):
            made = self.with_state(self.state)
            made._states = self._states.setdefault((node, number), {})
            yield each, made

    def within(self, values: dict[int, Any]) -> Binding:
        """A binding for a dataset that a function returned for one element: it belongs to the same iteration."""
        made = Binding(values, self.state, self.life, self.deterministic)
        made._outer, made._states = self._outer or self.draws, self._states
        return made

    def with_state(self, state: State | None) -> Binding:
        """The same, with another state instead of this one's, which it does not hold."""
        made = Binding(self.values, state, self.life, self.deterministic, self._planned)
        made.memories, made.draws, made._outer = self.memories, self.draws, self._outer
        made._states = self._states
        return made

    def value(self, tensor: SymbolicTensor) -> Any:
        """The value of a tensor.

        Raises:
            FailedPreconditionError: it has none here.
        """
        try:
            return self.values[id(tensor)]
        except KeyError:
            raise FailedPreconditionError(
                f"The dataset depends on {tensor!r}, which has no value outside of its graph. Iterate it inside of "
                "the function that made it, or with make_initializable_iterator()."
            ) from None

    def number(self, number: Number) -> int:
        """The value of a number that may be a tensor."""
        return number if isinstance(number, int) else int(self.value(number))

    def known(self, number: Number) -> int | None:
        """The value of a number, if it is known already."""
        if isinstance(number, int):
            return number
        return int(self.values[id(number)]) if id(number) in self.values else None

    def memory(self, node: Node) -> Memory:
        """What a node remembers: for good if it was made in eager code, else for the life of the iterator."""
        return node.memory or self.memories.setdefault(id(node), Memory())

    def order(self, node: Node, seed: int | None, again: bool, drawn: int | None = None) -> int:
        """The seed of the iteration of a node that begins now.

        Args:
            node: The node.
            seed: What the program gave; None if it gave nothing.
            again: Whether every iteration has an order of its own.
            drawn: What the node drew in place of a seed, when it was made; None if every iteration draws again.
        """
        with self.draws.lock:
            chosen = self._planned_for(node)
            begun = self.draws.seeds.get(id(node))
            if chosen is None and begun and not again:
                chosen = begun[-1]  # one order for all of it, also where it goes on after a restart
            if chosen is None:
                epoch = self.memory(node).next_epoch() if again else None
                chosen = order_seed(self._drawn_for(node, drawn) if seed is None else seed, epoch)
            if self._outer is None:
                self.draws.seeds.setdefault(id(node), []).append(chosen)
            elif seed is None or (again and node.memory is not None):
                self._outer.lost = node.title
            return chosen

    def _drawn_for(self, node: Node, drawn: int | None) -> int | None:
        """What a node draws in place of a seed: iterators of a graph draw each for itself."""
        if drawn is None or node.memory is not None:
            return drawn
        memory = self.memory(node)
        memory.kept = unpredictable() if memory.kept is None else memory.kept
        return memory.kept  # type: ignore[no-any-return]

    def _planned_for(self, node: Node) -> int | None:
        planned = self._planned.get(id(node))
        return planned.popleft() if planned else None


class Node:
    """One stage of a dataset: a source, or a transformation of others.

    Args:
        spec: What its elements are.
        inputs: The nodes it takes elements from.
        depends_on: What it depends on besides; tensors of a graph among these become symbols.

    Attributes:
        where: The device that the elements are on; None for the host.
    """

    title = ""  # what its dataset is called when it is printed
    classes: ClassVar[dict[str, type[Node]]] = {}  # by name, for datasets that were written down
    made_with: tuple[tuple[Any, ...], dict[str, Any]]  # what the class was called with

    def __init_subclass__(cls) -> None:
        Node.classes[cls.__name__] = cls

    def __new__(cls, *args: Any, **kwargs: Any) -> Node:
        """A node that knows what it was made with."""
        made = super().__new__(cls)
        made.made_with = args, kwargs
        return made

    def __init__(self, spec: Spec, inputs: Sequence[Node] = (), depends_on: Iterable[Any] = ()) -> None:
        self.spec = spec
        self.inputs = tuple(inputs)
        self.where: Device | None = _common_device(self.inputs)
        self.symbols = tuple([item for item in depends_on if isinstance(item, SymbolicTensor)])
        self.memory = Memory() if here.graph is None else None

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        raise NotImplementedError

    def pass_over(self, binding: Binding) -> None:
        """Leaves out an iteration, of what would begin with it: those that count theirs are one further on."""
        for node in self.inputs:
            node.pass_over(binding)

    def start_after(self, binding: Binding, count: int) -> Stream:
        """Begins an iteration behind the first `count` elements, none of which is an error."""
        stream = self.start(binding)
        next(itertools.islice(stream.items, count, count), None)
        return Stream(stream.items, stream.table)

    def at(self, binding: Binding, index: int) -> Element:
        """The element with a number, made without those before it.

        Raises:
            OutOfRangeError: there is no such element.
            UnimplementedError: the elements of this node have no numbers.
        """
        raise UnimplementedError(
            f"Random access is not implemented for a dataset of {self.title}: its elements are not known by their "
            "numbers. Use cache() behind it."
        )

    def checked_index(self, binding: Binding, index: int) -> int:
        """The number of an element, if there is one with it.

        Raises:
            OutOfRangeError: there is none.
        """
        size = self.cardinality(binding)
        if index < 0 or 0 <= size <= index:
            raise OutOfRangeError(f"Index out of range [0, {size if size >= 0 else '...'}): {index}")
        return index

    def cardinality(self, binding: Binding) -> int:
        """The number of elements, as far as it is known: `INFINITE` or `UNKNOWN` where it is not."""
        return UNKNOWN


def _common_device(nodes: Sequence[Node]) -> Device | None:
    where = {node.where for node in nodes}
    if len(where) > 1:
        names = ", ".join(sorted("the host" if device is None else device.short_name for device in where))
        raise InvalidArgumentError(
            f"The elements of these datasets are on different devices: {names}. Combine them first, and bring the "
            "result to a device."
        )
    return where.pop() if where else None


class Transformation(Node):
    """A node with one input, whose elements it passes on in its own way."""

    def __init__(self, input: Node, spec: Spec | None = None, depends_on: Iterable[Any] = ()) -> None:
        super().__init__(input.spec if spec is None else spec, (input,), depends_on)

    @property
    def input(self) -> Node:
        """Where the elements come from."""
        return self.inputs[0]


def stages_of(node: Node) -> list[Node]:
    """A node and all below it, each once, level by level."""
    stages = [node]
    seen = {id(node)}
    for stage in stages:  # which grows meanwhile
        for below in stage.inputs:
            if id(below) not in seen:
                seen.add(id(below))
                stages.append(below)
    return stages


def symbols_of(node: Node) -> list[SymbolicTensor]:
    """The tensors of a graph that a node and all below it depend on, each once."""
    return list({id(tensor): tensor for stage in stages_of(node) for tensor in stage.symbols}.values())


# Numbers that programs give.


def as_number(value: object, name: str) -> Number:
    """An integer, or a scalar of a graph that will be one.

    Raises:
        DTypeError: it is not an integer.
        InvalidArgumentError: it does not fit into an int64.
    """
    value = read(value)
    if not isinstance(value, SymbolicTensor):
        number = as_int(value, name)
        if not -(2**63) <= number < 2**63:
            raise InvalidArgumentError(f"`{name}` must fit into an int64, got {shown(number)}.")
        return number
    if not value.dtype.is_integer or value.shape.rank not in (0, None):
        raise DTypeError(f"Expected int for argument '{name}' not {value!r}.")
    known = constant_value(value)
    return value if known is None else int(known)


def positive(number: int, message: str) -> int:
    """A number that must be positive; `message` says what it is.

    Raises:
        InvalidArgumentError: it is not.
    """
    if number <= 0:
        raise InvalidArgumentError(f"{message} (got {number}).")
    return number
