"""Several datasets as one: zip, concatenate, choose_from_datasets, sample_from_datasets.

    zip((a, b))                    (a0, b0) (a1, b1) ...        as long as both have elements
    a.concatenate(b)               a0 a1 ... b0 b1 ...
    choose_from_datasets([a, b], choices)                       the next element of the chosen dataset

Whole tables that are zipped become one table: they are shuffled and batched together.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError, FailedPreconditionError, InvalidArgumentError, shown
from situs._src.base.tree import LEAF, Form, take_apart
from situs._src.base.typing import ArrayLike
from situs._src.data.base import DatasetV2, node_of
from situs._src.data.element import Element, Spec, joined
from situs._src.data.node import INFINITE, UNKNOWN, Binding, Failure, Node, Stream
from situs._src.data.seeding import seed_for, words_of
from situs._src.data.table import SideBySide
from situs._src.ops.array import reshape
from situs._src.ops.attribute import as_bool
from situs._src.ops.math import log
from situs._src.ops.philox.sequence import Words, doubles
from situs._src.ops.philox.words import scrambled
from situs._src.ops.stateless import stateless_categorical


class Combining(DatasetV2):
    """Several datasets as one."""

    @classmethod
    def zip(cls, *args: Any, datasets: Any = None, name: str | None = None) -> Self:
        """A dataset whose elements have an element of each of some datasets, in the structure that these are given in.

        Args:
            args: The datasets one by one, or one tuple or dictionary of datasets.
            datasets: The same, as a keyword.
            name: Accepted for TensorFlow's programs.
        """
        if not args and datasets is None:
            raise DTypeError("Must pass at least one dataset to `zip`.")
        if args and datasets is not None:
            raise DTypeError("Both `*args` and `datasets` cannot be set.")
        given = datasets if datasets is not None else args[0] if len(args) == 1 else args
        form, zipped = take_apart(given)
        _check_zipped(form, zipped)
        return cls._of(Zip([dataset._node for dataset in zipped], form))

    def concatenate(self, dataset: Any, name: str | None = None) -> Self:
        """The elements of this dataset, and then those of another."""
        return self._of(Concatenate(self._node, node_of(dataset, "concatenate()")))

    @classmethod
    def choose_from_datasets(
        cls, datasets: Any, choice_dataset: Any, stop_on_empty_dataset: bool = True, name: str | None = None
    ) -> Self:
        """Elements of some datasets, in the order in which another gives their numbers.

        Args:
            datasets: The datasets.
            choice_dataset: A dataset of int64 scalars.
            stop_on_empty_dataset: Whether to stop when an empty one is chosen, rather than leave it out.
            name: Accepted for TensorFlow's programs.
        """
        choices = node_of(choice_dataset, "choose_from_datasets()")
        leaf = choices.spec.leaves[0]
        if choices.spec.form is not LEAF or leaf.dtype is not dt.int64 or leaf.shape.rank not in (0, None):
            raise DTypeError(
                "The elements of `choice_dataset` must be scalar `tf.int64` tensors, they are "
                f"{choices.spec.structure!r}."
            )
        nodes = _nodes_of(datasets, "choose_from_datasets()")
        return cls._of(Choose(nodes, choices, as_bool(stop_on_empty_dataset, "stop_on_empty_dataset")))

    @classmethod
    def sample_from_datasets(
        cls,
        datasets: Any,
        weights: ArrayLike | DatasetV2 | None = None,
        seed: Any = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """Elements of some datasets, at random.

        Args:
            datasets: The datasets.
            weights: How likely each is, one number for each; or a dataset of such numbers, of which each draw takes
                the next; equally likely by default.
            seed: Makes the choices the same in every program.
            stop_on_empty_dataset: Whether to stop when an empty one is drawn, rather than draw from the others.
            rerandomize_each_iteration: Whether each iteration draws again; only without a seed by default.
            name: Accepted for TensorFlow's programs.
        """
        nodes = _nodes_of(datasets, "sample_from_datasets()")
        if isinstance(weights, DatasetV2):
            given: Any = weights
            seeds = given.random(seed, rerandomize_each_iteration).batch(2)
            choices = given.zip((given.map(lambda *chances: log(chances)), seeds)).map(_choice)
            return cls.choose_from_datasets(datasets, choices, stop_on_empty_dataset)
        chances = [1.0] * len(nodes) if weights is None else _as_chances(weights)
        if len(chances) != len(nodes) or not nodes or min(chances) < 0 or not 0 < sum(chances) < math.inf:
            raise ArgumentError(
                "Invalid `datasets` or `weights`. sample_from_datasets() takes at least one dataset, and a finite "
                f"weight for each that is not negative, not all zero; got {len(nodes)} datasets and weights {chances}."
            )
        stops = as_bool(stop_on_empty_dataset, "stop_on_empty_dataset")
        again = as_bool(rerandomize_each_iteration, "rerandomize_each_iteration")
        return cls._of(Sample(nodes, chances, seed_for(seed), stops, again))


def _choice(logits: Any, seed: Any) -> Any:
    return reshape(stateless_categorical(reshape(logits, [1, -1]), 1, seed), [])


def _nodes_of(datasets: Any, what: str) -> list[Node]:
    if not isinstance(datasets, Iterable) or isinstance(datasets, DatasetV2):
        raise DTypeError(f"{what} takes a list of datasets, got {shown(datasets)}.")
    if isinstance(datasets, np.ndarray) and not datasets.ndim:
        raise DTypeError(f"{what} takes a list of datasets, got an array without dimensions.")
    return [node_of(dataset, what) for dataset in datasets]


def _as_chances(weights: Any) -> list[float]:
    try:
        return [float(weight) for weight in weights]
    except (TypeError, ValueError):
        raise DTypeError(f"The weights of sample_from_datasets() are numbers, got {shown(weights)}.") from None


def _check_zipped(form: object, datasets: Sequence[Any]) -> None:
    if not datasets:
        raise DTypeError("Must pass at least one dataset to `zip`.")
    if isinstance(form, Form) and form.kind is list:
        raise DTypeError(
            "Invalid input to `zip`. Inputs are expected to be (nested) structures of `tf.data.Dataset` objects. "
            "Python `list` is not supported and you should use `tuple` instead."
        )
    for dataset in datasets:
        if not isinstance(dataset, DatasetV2):
            raise DTypeError(
                "Invalid input to `zip`. Inputs are expected to be (nested) structures of `tf.data.Dataset` objects "
                f"but encountered object of type {type(dataset)}."
            )


class Zip(Node):
    """Elements side by side."""

    title = "Zip"

    def __init__(self, inputs: Sequence[Node], form: Any = None) -> None:
        outer = Form(tuple, (LEAF,) * len(inputs)) if form is None else form
        specs = iter([node.spec for node in inputs])
        super().__init__(joined([node.spec for node in inputs], _filled(outer, specs)), inputs)

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration of each; whole tables become one."""
        streams = [node.start(own) for node, own in binding.of_inputs(self)]
        tables = [stream.table for stream in streams if stream.table is not None]
        sizes = [stream.whole for stream in streams if stream.whole is not None]
        if len(tables) == len(sizes) == len(streams):
            return Stream(iter(builtins.range(min(sizes))), SideBySide(tables), min(sizes))
        return Stream(_zipped([stream.elements() for stream in streams]))

    def at(self, binding: Binding, index: int) -> Element:
        """One element of each."""
        self.checked_index(binding, index)
        return tuple([value for node in self.inputs for value in node.at(binding, index)])

    def cardinality(self, binding: Binding) -> int:
        """That of the shortest."""
        sizes = [node.cardinality(binding) for node in self.inputs]
        if UNKNOWN in sizes:
            return 0 if 0 in sizes else UNKNOWN
        return min((size for size in sizes if size >= 0), default=INFINITE)


def _filled(form: object, specs: Iterator[Spec]) -> Any:
    """A form with the forms of elements in the places of its leaves."""
    if form is LEAF:
        return next(specs).form
    if not isinstance(form, Form):
        return form
    return form.with_items([_filled(item, specs) for item in form.items])


def _zipped(streams: list[Iterator[Any]]) -> Iterator[Any]:
    for items in builtins.zip(*streams, strict=False):
        failed = [item for item in items if type(item) is Failure]
        yield failed[0] if failed else tuple([value for item in items for value in item])


class Concatenate(Node):
    """The elements of one dataset after those of another."""

    title = "Concatenate"

    def __init__(self, first: Node, second: Node) -> None:
        super().__init__(_common_spec([first, second]), (first, second))

    def pass_over(self, binding: Binding) -> None:
        """Leaves out an iteration of the first: the others would begin later."""
        self.inputs[0].pass_over(binding)

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration of the first; that of the second begins at its end."""
        return Stream(self._all(binding))

    def at(self, binding: Binding, index: int) -> Element:
        """One element, of the first or of the second."""
        first, second = self.inputs
        before = first.cardinality(binding)
        if before == INFINITE or index < before:
            return first.at(binding, index)
        self.checked_index(binding, index)
        if before == UNKNOWN:
            raise FailedPreconditionError("Random access behind a dataset needs to know how many elements it has.")
        return second.at(binding, index - before)

    def _all(self, binding: Binding) -> Iterator[Any]:
        for node, own in binding.of_inputs(self):
            yield from node.start(own).elements()

    def cardinality(self, binding: Binding) -> int:
        """The sum."""
        sizes = [node.cardinality(binding) for node in self.inputs]
        return INFINITE if INFINITE in sizes else UNKNOWN if UNKNOWN in sizes else sum(sizes)


def _common_spec(nodes: Sequence[Node]) -> Spec:
    spec: Spec | None = nodes[0].spec
    for node in nodes[1:]:
        spec = None if spec is None else spec.merged(node.spec)
        if spec is None:
            raise DTypeError(
                f"Incompatible dataset elements:\n  {nodes[0].spec.structure!r} vs.   {node.spec.structure!r}"
            )
    assert spec is not None
    return spec


class Choose(Node):
    """The next element of the dataset whose number comes."""

    title = "DirectedInterleave"

    def __init__(self, nodes: Sequence[Node], choices: Node, stops: bool) -> None:
        if not nodes:
            raise ArgumentError("Invalid `datasets`. `datasets` should not be empty.")
        super().__init__(_common_spec(nodes), (*nodes, choices))
        self._stops = stops

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration of the choices, and of each."""
        *inputs, last = binding.of_inputs(self)
        choices, *streams = [node.start(own).elements() for node, own in (last, *inputs)]
        return Stream(self._chosen(streams, choices))

    def _chosen(self, streams: list[Iterator[Any]], choices: Iterator[Any]) -> Iterator[Any]:
        left = {*builtins.range(len(streams))}
        while left and (choice := next(choices, _END)) is not _END:
            if type(choice) is Failure:
                yield choice
                continue
            number = int(choice[0])
            if not 0 <= number < len(streams):
                yield Failure(
                    InvalidArgumentError(
                        f"Selector index out of range: {number} >= {len(streams)}: there are only so many datasets."
                    )
                )
                continue
            item = next(streams[number], _END)
            if item is not _END:
                yield item
            elif self._stops:
                return
            else:
                left.discard(number)


_END: Any = object()


class Sample(Node):
    """The next element of a dataset drawn at random."""

    title = "SampleFrom"

    def __init__(self, nodes: Sequence[Node], chances: list[float], seed: int | None, stops: bool, again: bool) -> None:
        super().__init__(_common_spec(nodes), nodes)
        self._chances, self._seed, self._stops, self._again = chances, seed, stops, again

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration of each."""
        seed = binding.order(self, self._seed, self._again)
        streams = [node.start(own).elements() for node, own in binding.of_inputs(self)]
        return Stream(self._drawn(streams, words_of(seed)))

    def _drawn(self, streams: list[Iterator[Any]], words: Words) -> Iterator[Any]:
        """Each draw is a stateless one of a category, whose seed is two words; of what has ended nothing comes."""
        going = [number for number, chance in enumerate(self._chances) if chance]
        edges = np.cumsum([self._chances[number] for number in going])
        left = set(going)
        while left:
            point = doubles(scrambled(words.next(), words.next()), 0, 1)[0] * edges[-1]
            number = going[min(int(np.searchsorted(edges, point, side="right")), len(going) - 1)]
            item = next(streams[number], _END) if number in left else _END
            if item is not _END:
                yield item
            elif self._stops:
                return
            else:
                left.discard(number)
