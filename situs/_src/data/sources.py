"""Sources of elements in memory, or generated: tensors, their slices, ranges and random numbers.

    from_tensors((x, y))           one element
    from_tensor_slices((x, y))     an element for each row of x and y
    range(2, 10, 3)                2 5 8

Values are copied when the dataset is created; symbolic tensors are read when it is iterated.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Sequence
from itertools import count as count_from
from typing import Any, Self

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, InvalidArgumentError, OutOfRangeError
from situs._src.base.mixing import unpredictable
from situs._src.base.shapes import SCALAR, TensorShape
from situs._src.base.tensor import read
from situs._src.base.tree import deeper, specs_in
from situs._src.base.typing import DTypeLike, IntLike
from situs._src.data.base import DatasetV2
from situs._src.data.composites import groups_of, rows_in, spec_of_rows
from situs._src.data.element import DatasetSpec, Element, Spec, take_apart_element
from situs._src.data.function import Bound, DatasetArray
from situs._src.data.node import INFINITE, UNKNOWN, Binding, Node, Number, Stream, as_number
from situs._src.data.seeding import seed_for, words_of
from situs._src.data.table import Counting, Table
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.attribute import as_bool
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.inner import graph_for
from situs._src.ops.philox.sequence import Words
from situs._src.runtime.eager.bridge import host
from situs._src.runtime.eager.convert import to_tensor
from situs._src.tracing.spec import TensorSpec

INT64 = Spec(*take_apart_element(TensorSpec(SCALAR, dt.int64)))


class Sources(DatasetV2):
    """The ways to make a dataset of what is in memory."""

    @classmethod
    def from_tensors(cls, tensors: object, name: str | None = None) -> Self:
        """A dataset of one element: these tensors."""
        return cls._of(Tensors(*components_of(tensors)))

    @classmethod
    def from_tensor_slices(cls, tensors: object, name: str | None = None) -> Self:
        """A dataset with an element for each row of the tensors, which must have as many.

        Args:
            tensors: A tensor or array, or a tuple or dictionary of some; a list is a tensor.
            name: Accepted for TensorFlow's programs.
        """
        form, components = components_of(tensors)
        return cls._of((CompositeSlices if specs_in(form) else Slices)(form, components))

    @classmethod
    def range(cls, *args: Any, **kwargs: Any) -> Self:
        """A dataset of numbers in a row: ``range(stop)``, ``range(start, stop)`` or ``range(start, stop, step)``.

        Args:
            args: The bounds.
            kwargs: ``output_type``, int64 by default, and ``name``.
        """
        wanted = as_dtype(kwargs.pop("output_type", dt.int64))
        kwargs.pop("name", None)
        if kwargs:
            raise DTypeError(f"Dataset.range() got an unexpected keyword argument {sorted(kwargs)[0]!r}.")
        if not 1 <= len(args) <= 3:
            raise ArgumentError(f"Invalid `args`. The length of `args` should be between 1 and 3 but was {len(args)}.")
        numbers = [as_number(arg, name) for arg, name in zip(args, _BOUNDS[len(args)], strict=True)]
        return cls._of(Range(numbers, wanted))

    @classmethod
    def random(
        cls, seed: int | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> Self:
        """An endless dataset of random integers, from 0 to 2**32 - 1.

        Args:
            seed: Makes the numbers the same in every program.
            rerandomize_each_iteration: Whether each iteration gives other numbers; by default all give the same.
            name: Accepted for TensorFlow's programs.
        """
        again = as_bool(rerandomize_each_iteration, "rerandomize_each_iteration")
        return cls._of(RandomNumbers(seed_for(seed), again))

    @classmethod
    def counter(cls, start: Any = 0, step: IntLike = 1, dtype: DTypeLike = dt.int64, name: str | None = None) -> Self:
        """An endless dataset that counts from `start` in steps."""
        return cls._of(Counter(as_number(start, "start"), as_number(step, "step"), as_dtype(dtype)))


_BOUNDS = {1: ("stop",), 2: ("start", "stop"), 3: ("start", "stop", "step")}


def components_of(structure: object) -> tuple[Any, list[Any]]:
    """The form of an element, and its tensors: values on the host, or tensors of a graph."""
    form, leaves = take_apart_element(structure)
    return form, [_component(leaf) for leaf in leaves]


def _component(leaf: object) -> Any:
    """A tensor of a graph where it has to be; else a value, also while a graph is being built."""
    leaf = read(leaf)
    if isinstance(leaf, (DatasetV2, DatasetArray)) or _has_datasets(leaf):
        return Datasets.of(leaf)
    if isinstance(leaf, SymbolicTensor) or (isinstance(leaf, list) and graph_for([leaf]) and _has_symbols(leaf)):
        return convert_to_tensor(leaf)
    return to_tensor(leaf, device=host())


def _has_symbols(values: list[Any], depth: int = 0) -> bool:
    further = deeper(depth)
    return any(_has_symbols(v, further) if isinstance(v, list) else isinstance(read(v), SymbolicTensor) for v in values)


class Datasets:
    """A component that is a dataset, or an array of datasets.

    Args:
        leaf: What it is.
        nodes: The datasets: one, or an array of them in NumPy's form; None if a tensor of a graph has them.
        source: That tensor, or the array of values.

    Attributes:
        inputs: The nodes that an element goes through beside those of its dataset.
    """

    dtype = dt.resource

    def __init__(self, leaf: DatasetSpec, nodes: Any = None, source: Any = None) -> None:
        self.leaf = leaf
        self.shape = leaf.shape
        self.source = source
        self._nodes = nodes
        self.inputs: list[Node] = [] if nodes is None else np.asarray(nodes, dtype=object).ravel().tolist()

    @staticmethod
    def of(given: Any) -> Datasets:
        """The component for a dataset, a list of datasets, or an array of some that a function was given."""
        if isinstance(given, DatasetArray):
            return Datasets(given.leaf, None, given.value)
        if isinstance(given, DatasetV2):
            return Datasets(DatasetSpec(given._node.spec), given._node)
        nodes = np.empty(len(given), dtype=object)
        nodes[:] = [dataset._node for dataset in given]
        for node in nodes[1:]:
            if node.spec != nodes[0].spec:
                raise DTypeError(
                    "A list of datasets is an array of them, whose elements must be alike; found "
                    f"{nodes[0].spec.structure!r} and {node.spec.structure!r}."
                )
        return Datasets(DatasetSpec(nodes[0].spec, nodes.shape), nodes)

    def value(self, binding: Binding) -> Any:
        """The datasets with what they are iterated with."""
        if self._nodes is None:
            return binding.value(self.source) if isinstance(self.source, SymbolicTensor) else self.source
        if isinstance(self._nodes, Node):
            return Bound(self._nodes, binding)
        made = np.empty(self._nodes.shape, dtype=object)
        made[:] = [Bound(node, binding) for node in self._nodes]
        return made


def _has_datasets(leaf: object) -> bool:
    return isinstance(leaf, list) and bool(leaf) and all(isinstance(item, DatasetV2) for item in leaf)


def _value(component: Any, binding: Binding) -> Any:
    if isinstance(component, Datasets):
        return component.value(binding)
    return binding.value(component) if isinstance(component, SymbolicTensor) else component._value


def _leaf(component: Any, shape: TensorShape) -> DatasetSpec | TensorSpec:
    """What elements have of a component, in a shape."""
    if isinstance(component, Datasets):
        return DatasetSpec(component.leaf.spec, shape)
    return TensorSpec(shape, component.dtype)


def _inputs(components: Sequence[Any]) -> list[Node]:
    return [node for component in components if isinstance(component, Datasets) for node in component.inputs]


def _depends_on(components: Sequence[Any]) -> list[Any]:
    return [component.source if isinstance(component, Datasets) else component for component in components]


def row_of(stream: Stream, index: int) -> Element:
    """A row of a stream that is a whole table.

    Raises:
        OutOfRangeError: it has no such row.
    """
    assert stream.table is not None
    assert stream.whole is not None
    if not 0 <= index < stream.whole:
        raise OutOfRangeError(f"Index out of range [0, {stream.whole}): {index}")
    return stream.table.row(index)


class Tensors(Node):
    """One element."""

    title = "Tensor"

    def __init__(self, form: Any, components: Sequence[Any]) -> None:
        spec = Spec(form, [_leaf(component, component.shape) for component in components])
        super().__init__(spec, _inputs(components), _depends_on(components))
        self._components = components

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        element: Element = tuple([_value(component, binding) for component in self._components])
        return Stream(iter([element]))

    def at(self, binding: Binding, index: int) -> Element:
        """The one element."""
        self.checked_index(binding, index)
        return next(self.start(binding).items)

    def cardinality(self, binding: Binding) -> int:
        """There is one element."""
        return 1


class Slices(Node):
    """The rows of tensors."""

    title = "TensorSlice"

    def __init__(self, form: Any, components: Sequence[Any]) -> None:
        for component in components:
            if component.shape.rank == 0:
                raise ArgumentError(
                    "Unbatching a tensor is only supported for rank >= 1: from_tensor_slices() cannot slice the scalar "
                    f"{component!r}. Use from_tensors()."
                )
        leaves = [_leaf(component, component.shape[1:]) for component in components]
        super().__init__(Spec(form, leaves), _inputs(components), _depends_on(components))
        self._components = components
        self._size = _common_size([component.shape[0] for component in components])

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration over the numbers of the rows."""
        columns = [_value(component, binding) for component in self._components]
        size = _common_size([len(column) for column in columns])
        assert size is not None
        return Stream(iter(builtins.range(size)), Table(columns), size)

    def at(self, binding: Binding, index: int) -> Element:
        """One row."""
        return row_of(self.start(binding), index)

    def cardinality(self, binding: Binding) -> int:
        """The number of rows, if it is known."""
        return UNKNOWN if self._size is None else self._size


class CompositeSlices(Node):
    """The rows of tensors, of which some are sparse or ragged."""

    title = "TensorSlice"

    def __init__(self, form: Any, components: Sequence[Any]) -> None:
        whole = Spec(form, [_leaf(component, component.shape) for component in components])
        super().__init__(spec_of_rows(whole), _inputs(components), _depends_on(components))
        self._components = components
        self._groups = groups_of(form)

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        return Stream(iter(self._rows(binding)))

    def at(self, binding: Binding, index: int) -> Element:
        """One row."""
        return self._rows(binding)[self.checked_index(binding, index)]

    def cardinality(self, binding: Binding) -> int:
        """The number of rows, if no tensor of a graph says it."""
        return UNKNOWN if self.symbols else len(self._rows(binding))

    def _rows(self, binding: Binding) -> list[Element]:
        return rows_in(self._groups, [_value(component, binding) for component in self._components])


def _common_size(sizes: Sequence[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    for size in known:
        if size != known[0]:
            raise ArgumentError(
                f"Dimensions {known[0]} and {size} are not compatible: from_tensor_slices() takes tensors with as many "
                "rows each."
            )
    return known[0] if known else None


class Range(Node):
    """Numbers in a row."""

    title = "Range"

    def __init__(self, numbers: Sequence[Number], dtype: DType) -> None:
        super().__init__(Spec(INT64.form, [TensorSpec(SCALAR, dtype)]), (), numbers)
        self._bounds: tuple[Number, Number, Number] = (
            numbers[0] if len(numbers) > 1 else 0,
            numbers[-1] if len(numbers) == 1 else numbers[1],
            numbers[2] if len(numbers) > 2 else 1,
        )
        self._dtype = _checked_dtype(dtype, "range")
        if self._bounds[2] == 0:
            raise InvalidArgumentError(_NO_STEP)

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration over the positions in the sequence."""
        start, stop, step = [binding.number(bound) for bound in self._bounds]
        size = _length(start, stop, step)
        return Stream(iter(builtins.range(size)), Counting(start, step, self._dtype), size)

    def at(self, binding: Binding, index: int) -> Element:
        """One number of the sequence."""
        return row_of(self.start(binding), index)

    def cardinality(self, binding: Binding) -> int:
        """How many numbers there are, if the bounds are known."""
        start, stop, step = [binding.known(bound) for bound in self._bounds]
        return UNKNOWN if start is None or stop is None or step is None else _length(start, stop, step)


_NO_STEP = "step must be a non-zero integer."


def _length(start: int, stop: int, step: int) -> int:
    """How many numbers a range has, as far as an int64 can count them."""
    if not step:
        raise InvalidArgumentError(_NO_STEP)
    return min(max(-((start - stop) // step), 0), sys.maxsize)


def _checked_dtype(dtype: DType, what: str) -> DType:
    if not (dtype.is_integer or dtype.is_floating):
        raise DTypeError(f"Dataset.{what}() gives integers or floats, not {dtype.name}.")
    return dtype


class Counter(Node):
    """Numbers in a row, without end."""

    title = "Counter"

    def __init__(self, start: Number, step: Number, dtype: DType) -> None:
        super().__init__(Spec(INT64.form, [TensorSpec(SCALAR, dtype)]), (), (start, step))
        self._start, self._step, self._dtype = start, step, _checked_dtype(dtype, "counter")

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration over the positions in the sequence."""
        table = Counting(binding.number(self._start), binding.number(self._step), self._dtype)
        return Stream(count_from(), table, sys.maxsize)

    def at(self, binding: Binding, index: int) -> Element:
        """One number of the sequence."""
        return row_of(self.start(binding), index)

    def cardinality(self, binding: Binding) -> int:
        """It does not end."""
        return INFINITE


class RandomNumbers(Node):
    """Random integers, without end."""

    title = "Random"
    _CHUNK = 256

    def __init__(self, seed: int | None, again: bool) -> None:
        super().__init__(INT64)
        self._seed, self._drawn = seed, unpredictable()
        self._again = again

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        seed = binding.order(self, self._seed, self._again, self._drawn)
        return Stream(self._numbers(words_of(seed)))

    def _numbers(self, words: Words) -> Any:
        while True:
            for number in torch.tensor([words.next() for _ in builtins.range(self._CHUNK)]).unbind(0):
                yield (number,)

    def cardinality(self, binding: Binding) -> int:
        """It does not end."""
        return INFINITE
