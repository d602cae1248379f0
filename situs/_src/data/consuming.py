"""A whole dataset as a value: reduce, get_single_element, cardinality.

    range(5).reduce(np.int64(0), lambda state, x: state + x)        10

In eager code the dataset is iterated immediately. In a graph the whole iteration is one operation, whose inputs are the
tensors that the dataset depends on.

    ReduceDataset(state, tensors it depends on)      dataset, f
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import torch

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.errors import DTypeError, InvalidArgumentError, shown
from situs._src.base.shapes import SCALAR
from situs._src.base.shapes import UNKNOWN as UNKNOWN_SHAPE
from situs._src.data.base import DatasetV2
from situs._src.data.cursor import Cursor, binding_for
from situs._src.data.element import Element, Spec
from situs._src.data.function import ElementFunction, presented
from situs._src.data.iterator_ops import add, brought, dependencies
from situs._src.data.mapping import settled
from situs._src.data.node import INFINITE, UNKNOWN, Binding, Failure, Node, Stream, Transformation, symbols_of
from situs._src.data.presenting import presenter
from situs._src.data.sources import Tensors, components_of
from situs._src.ir.graph.graph import Graph
from situs._src.ir.registry.op import Op
from situs._src.ops.constant import constant
from situs._src.ops.define import CPU, op
from situs._src.runtime.eager.bridge import Value, host
from situs._src.runtime.run.state import Run


class Consuming(DatasetV2):
    """What becomes of a whole dataset."""

    def reduce(self, initial_state: object, reduce_func: Callable[..., Any], name: str | None = None) -> Any:
        """Goes through the elements with a state: ``state = reduce_func(state, element)`` for each.

        Args:
            initial_state: What the state is at first: tensors in any structure.
            reduce_func: The function.
            name: A name for the operation.

        Returns:
            The last state.
        """
        first = Tensors(*components_of(initial_state))
        function, state = settled(self, first.spec, reduce_func, "reduce", lambda returned, _: returned)
        return self._consumed(_reduce, Reduction(self._node, first, function), state, name)

    def get_single_element(self, name: str | None = None) -> Any:
        """The element of a dataset that has one.

        Raises:
            InvalidArgumentError: it has none, or more.
        """
        return self._consumed(_single, Single(self._node), self._node.spec, name)

    def _consumed(self, op_def: Op, node: Node, spec: Spec, name: str | None) -> Any:
        """The one element of a node, as tensors: now, or as an operation of the graph being built."""
        if here.graph is not None:
            declared = [(leaf.dtype, leaf.shape) for leaf in spec.leaves]
            return presented(spec, added(here.graph, op_def, node, declared, name), self._of)
        element = Cursor(node, Binding()).pull()
        assert element is not None
        return presenter(node.spec, node.where, self._of)(element)

    # How many.

    def cardinality(self) -> Any:
        """The number of elements as an int64 tensor, or ``INFINITE_CARDINALITY`` or ``UNKNOWN_CARDINALITY``."""
        number = self._node.cardinality(Binding())
        if here.graph is not None and number == UNKNOWN and symbols_of(self._node):
            return added(here.graph, _cardinality, self._node, [(dt.int64, SCALAR)], None)[0]
        return constant(number, dt.int64)

    def __len__(self) -> int:
        number = self._node.cardinality(Binding())
        if number == INFINITE:
            raise DTypeError("The dataset is infinite.")
        if number == UNKNOWN:
            raise DTypeError("The dataset length is unknown.")
        return number

    def __bool__(self) -> bool:
        return True

    def apply(self, transformation_func: Callable[[Any], Any]) -> Any:
        """What a function from dataset to dataset makes of this one."""
        if not callable(transformation_func):
            raise DTypeError(f"`transformation_func` must be a function, got {shown(transformation_func)}.")
        made = transformation_func(self)
        if not isinstance(made, DatasetV2):
            raise DTypeError(f"`transformation_func` must return a `tf.data.Dataset` object. Got {type(made)}.")
        return made


# The nodes behind them: datasets of one element.


class Reduction(Transformation):
    """The last state of a function that goes through the elements."""

    def __init__(self, input: Node, first: Tensors, function: ElementFunction) -> None:
        super().__init__(input, function.spec, (*first.symbols, *function.captures))
        self._first = first
        self._function = function
        self.where = None

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration, whose only element is made by going through all of the others."""
        return Stream(self._last_state(binding))

    def _last_state(self, binding: Binding) -> Iterator[Any]:
        state: Element = next(self._first.start(binding).items)
        call = self._function.bind(binding)
        for item in self.input.start(binding).elements():
            binding.life.check()  # the run that waits may be told to stop, and there may be no end
            if type(item) is Failure:
                yield item
                return
            state = call((*state, *item))
        yield state


class Single(Transformation):
    """The only element."""

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration, which asks for two elements: there must be no second."""
        return Stream(self._only(self.input.start(binding).elements()))

    def _only(self, items: Iterator[Any]) -> Iterator[Any]:
        taken = list(islice(items, 2))
        failed = [item for item in taken if type(item) is Failure]
        if failed:
            yield failed[0]
        elif not taken:
            raise InvalidArgumentError("Dataset was empty.")
        elif len(taken) > 1:
            raise InvalidArgumentError("Dataset had more than one element.")
        else:
            yield taken[0]


# The operations.

_reduce = op("ReduceDataset", "other_arguments: any* -> components: any*", stateful=True, dataset=None)
_single = op("DatasetToSingleElement", "other_arguments: any* -> components: any*", stateful=True, dataset=None)
_cardinality = op("DatasetCardinality", "other_arguments: any* -> cardinality: any*", stateful=True, dataset=None)
for _declared in (_reduce, _single, _cardinality):
    _declared.shape(lambda other_arguments, *, dataset: [UNKNOWN_SHAPE] * len(dataset.spec.leaves))


def added(graph: Graph, op_def: Op, node: Node, results: Sequence[Any], name: str | None) -> list[Any]:
    """The results of an operation that does something with a whole dataset."""
    return add(graph, op_def, (dependencies(graph, node),), {"dataset": node}, results, name).outputs


@_reduce.kernel(CPU)
@_single.kernel(CPU)
def _consume_kernel(other_arguments: list[Value], *, dataset: Node, run: Run) -> list[Value]:
    element = Cursor(dataset, binding_for(dataset, other_arguments, run)).pull(run)
    assert element is not None
    return brought(element, dataset.where or host(), host())


@_cardinality.kernel(CPU)
def _cardinality_kernel(other_arguments: list[Value], *, dataset: Node, run: Run) -> list[Value]:
    return [torch.tensor(dataset.cardinality(binding_for(dataset, other_arguments, run)), dtype=torch.int64)]
