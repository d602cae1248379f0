"""Iterators in graphs: ``make_one_shot_iterator`` and the like.

    iterator = tf.data.make_initializable_iterator(dataset)
    x = iterator.get_next()                        an operation: each run takes the next element
    sess.run(iterator.initializer, {p: 3})         starts, with the current feeds
    sess.run(x)                                    OutOfRangeError at the end

The position of an iteration belongs to the session: two sessions iterate independently.
"""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.devices.logical import Device
from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError, DTypeError, UnimplementedError
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR
from situs._src.base.tensor import Tensor
from situs._src.data import iterator_ops as ops
from situs._src.data.base import node_of
from situs._src.data.element import Spec, spec_from
from situs._src.data.function import MakeDataset, presented
from situs._src.data.iterator import IteratorBase
from situs._src.data.node import Node
from situs._src.data.optional import Optional, optional_of
from situs._src.data.presenting import no_dataset
from situs._src.ir.graph.context import get_default_graph
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.attribute import as_name
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.inner import building, symbolic
from situs._src.tracing.spec import TensorSpec


@export(v1="data.Iterator")
class Iterator(IteratorBase):
    """An iterator in a graph. Made by `make_one_shot_iterator` and its like, or by `from_structure`.

    Args:
        handle: The tensor that stands for it.
        spec: What its elements are.
        where: The device that they are on; None for the host.
        initializer: The operation that begins an iteration, if there is one.
        make_dataset: Makes datasets of nodes, for elements that have some.
    """

    def __init__(
        self,
        handle: SymbolicTensor,
        spec: Spec,
        where: Device | None = None,
        initializer: Operation | None = None,
        make_dataset: MakeDataset | None = None,
    ) -> None:
        self._handle = handle
        self._spec = spec
        self._where = where
        self._string: Any = None  # what stands for it, once it was asked for
        self._initializer = initializer
        self._make_dataset = make_dataset or no_dataset

    # Making one.

    @staticmethod
    def from_structure(
        output_types: object,
        output_shapes: object = None,
        shared_name: str | None = None,
        output_classes: object = None,
    ) -> Iterator:
        """An iterator without a dataset: `make_initializer` gives it one, or several by turns.

        Args:
            output_types: The dtypes of the elements, in their structure.
            output_shapes: Their shapes, in the same structure; unknown by default.
            shared_name: A name under which a session has only one such iterator.
            output_classes: Accepted for TensorFlow's programs.
        """
        return Iterator(_handle(_graph(), shared_name, None), spec_from(output_types, output_shapes))

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: object, output_shapes: object = None, output_classes: object = None
    ) -> Iterator:
        """The iterator of the session whose `string_handle` is fed.

        Args:
            string_handle: A string scalar, such as a placeholder.
            output_types: The dtypes of the elements, in their structure.
            output_shapes: Their shapes, in the same structure; unknown by default.
            output_classes: Accepted for TensorFlow's programs.
        """
        graph, spec = _graph(), spec_from(output_types, output_shapes)
        attrs = {
            "output_types": tuple([leaf.dtype for leaf in spec.leaves]),
            "output_shapes": tuple([leaf.shape for leaf in spec.leaves]),
        }
        with building(graph):
            text = symbolic(graph, convert_to_tensor(string_handle, dt.string))
            handle = ops.add_handle(graph, ops.from_string, (text,), attrs, None, None)
        return Iterator(handle, spec)

    @property
    def initializer(self) -> Operation:
        """The operation that begins an iteration.

        Raises:
            ValueError: it has none.
        """
        if self._initializer is None:
            raise ArgumentError(
                "The iterator does not have an initializer. This means it was likely created using "
                "`tf.data.Dataset.make_one_shot_iterator()`. For an initializable iterator, use "
                "`tf.data.Dataset.make_initializable_iterator()` instead."
            )
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Operation:
        """An operation that begins an iteration of a dataset, which must have such elements."""
        node = node_of(dataset, "make_initializer()")
        self._check(node.spec)
        graph = ops.graph_of(self._handle)
        with building(graph):
            return _initializer(graph, self._handle, node, self._where, name)

    def _check(self, spec: Spec) -> None:
        if spec.form != self._spec.form or dtypes_of(spec) != dtypes_of(self._spec):
            raise DTypeError(
                f"Expected output types {dtypes_of(self._spec)!r} but got dataset with output types "
                f"{dtypes_of(spec)!r}."
            )
        for wanted, found in zip(self._spec.leaves, spec.leaves, strict=True):
            if not wanted.shape.is_compatible_with(found.shape):
                raise DTypeError(
                    f"Expected output shapes compatible with {shapes_of(self._spec)!r} but got dataset with output "
                    f"shapes {shapes_of(spec)!r}."
                )

    # Using it.

    def get_next(self, name: str | None = None) -> Any:
        """The tensors of the next element: every run takes one."""
        graph = ops.graph_of(self._handle)
        with building(graph):
            named = as_name(name, "IteratorGetNext")
            tensors = ops.add_get_next(graph, self._handle, self._spec, self._where, named)
            return presented(self._spec, tensors, self._make_dataset)

    def get_next_as_optional(self) -> Optional:
        """The next element of a run, or that there is none."""
        graph = ops.graph_of(self._handle)
        with building(graph):
            return optional_of(graph, self._handle, self._spec, self._where, self._make_dataset)

    def string_handle(self, name: str | None = None) -> Any:
        """A string that stands for this iterator in the session that computes it: one tensor, unless it is named."""
        if name is not None or self._string is None or self._string.graph is not ops.graph_of(self._handle):
            made = self._add_string_handle(name)
            if name is not None:
                return made
            self._string = made
        return self._string

    def _add_string_handle(self, name: str | None) -> SymbolicTensor:
        graph = ops.graph_of(self._handle)
        with building(graph), ops.on_device(graph, self._where):
            inputs = (graph.capture(self._handle),)
            return ops.add(graph, ops.to_string, inputs, {}, [(dt.string, SCALAR)], name).outputs[0]

    def __next__(self) -> Any:
        raise UnimplementedError("An iterator of a graph has no values in Python: run get_next() in a session.")

    # What it is.

    @property
    def output_types(self) -> Any:
        """The dtypes of the elements, in their structure."""
        return dtypes_of(self._spec)

    @property
    def output_shapes(self) -> Any:
        """The shapes of the elements, in their structure."""
        return shapes_of(self._spec)

    @property
    def output_classes(self) -> Any:
        """The classes of the elements: tensors, in their structure."""
        return classes_of(self._spec)


def dtypes_of(spec: Spec) -> Any:
    """The dtypes of elements, in their structure."""
    return spec.pack([leaf.dtype for leaf in spec.leaves])


def shapes_of(spec: Spec) -> Any:
    """The shapes of elements, in their structure."""
    return spec.pack([leaf.shape for leaf in spec.leaves])


def classes_of(spec: Spec) -> Any:
    """The classes of what stands in elements, in their structure."""
    return spec.pack([Tensor if isinstance(leaf, TensorSpec) else type(leaf) for leaf in spec.leaves])


def _graph() -> Graph:
    return here.graph or get_default_graph()


def _handle(graph: Graph, shared_name: str | None, where: Device | None) -> SymbolicTensor:
    with building(graph):
        unique = graph.unique_name("IteratorV2")
        attrs = {"shared_name": shared_name or "", "node_name": unique}
        return ops.add_handle(graph, ops.iterator, (), attrs, where, f"{unique}/")


def _initializer(graph: Graph, handle: SymbolicTensor, node: Node, where: Device | None, name: str | None) -> Operation:
    inputs = (ops.dependencies(graph, node), graph.capture(handle))
    with ops.on_device(graph, where):
        return ops.add(graph, ops.make_iterator, inputs, {"dataset": node}, [], name)


# Iterators of datasets.


def initializable(node: Node, shared_name: str | None, make_dataset: MakeDataset) -> Iterator:
    """An iterator of a dataset, which begins when its initializer runs."""
    graph = _graph()
    handle = _handle(graph, shared_name, node.where)
    with building(graph):
        starts = _initializer(graph, handle, node, node.where, None)
    return Iterator(handle, node.spec, node.where, starts, make_dataset)


def one_shot(node: Node, make_dataset: MakeDataset) -> Iterator:
    """An iterator of a dataset, which begins by itself."""
    graph = _graph()
    ops.check_constant(node)
    with building(graph):
        unique = graph.unique_name("OneShotIterator")
        attrs = {"dataset": node, "node_name": unique}
        handle = ops.add_handle(graph, ops.one_shot, (), attrs, node.where, f"{unique}/")
    return Iterator(handle, node.spec, node.where, None, make_dataset)
