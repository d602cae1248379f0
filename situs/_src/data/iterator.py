"""``iter(dataset)``: elements one after the other, in eager code and in ``tf.function``.

    for x in dataset: ...                       eager: tensors
    it = iter(dataset); it.get_next()           raises OutOfRangeError at the end; next(it) raises StopIteration

An iterator created in eager code may also be used by the graph of a ``tf.function``: each run takes the next elements.
One created inside the function starts over with each call. A loop over a dataset in there becomes a loop of the graph
(`data.autograph_loop`).
"""

from __future__ import annotations

import abc
from collections.abc import Hashable
from typing import Any
from weakref import WeakKeyDictionary

from situs._src.base import dtype as dt
from situs._src.base.devices.logical import Device
from situs._src.base.devices.scope import here
from situs._src.base.errors import DTypeError, OutOfRangeError, StateError, UnimplementedError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.checkpoints.resumable import Resumable
from situs._src.data import iterator_ops as ops
from situs._src.data.cursor import Cursor
from situs._src.data.element import Spec, spec_of
from situs._src.data.function import MakeDataset, presented
from situs._src.data.node import Binding, Node
from situs._src.data.optional import Optional, optional_now, optional_of
from situs._src.data.presenting import no_dataset, presenter
from situs._src.data.resuming import Position, check_fits, go_to, position_of
from situs._src.ir.graph.function import outermost
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.constant import constant
from situs._src.runtime.eager.bridge import host, place
from situs._src.runtime.eager.tensor import EagerTensor, wrap
from situs._src.tracing.memo import OneTensor
from situs._src.tracing.spec import TensorSpec
from situs._src.tracing.type_spec import CompositeTensor, TypeSpec

_MOST = 1000  # elements that one trace takes from an iterator


@export("data.Iterator", v1=())
class IteratorBase(Resumable, CompositeTensor):
    """What gives the elements of a dataset one after the other. ``iter(dataset)`` makes one."""

    _spec: Spec
    _where: Device | None
    _make_dataset: MakeDataset

    def _as_tensor(self) -> Any:
        """The tensor that stands for it where it is an argument of a function.

        Raises:
            TypeError: it is an iterator of TensorFlow 1's graphs, which sessions run.
        """
        raise DTypeError(f"{self!r} has no value outside of its graph: pass the tensors of its get_next().")

    @property
    def _type_spec(self) -> IteratorSpec:
        return IteratorSpec._like(self)

    @property
    def element_spec(self) -> Any:
        """The kinds of the tensors in the elements, in the structure that these have."""
        return self._spec.structure

    @abc.abstractmethod
    def get_next(self) -> Any:
        """The next element.

        Raises:
            OutOfRangeError: there is none.
        """

    @abc.abstractmethod
    def get_next_as_optional(self) -> Any:
        """The next element, or that there is none, as a ``tf.experimental.Optional``."""

    @abc.abstractmethod
    def __next__(self) -> Any: ...

    def __iter__(self) -> IteratorBase:
        return self

    def _saved_state(self) -> bytes:
        raise UnimplementedError(
            f"The position of {self!r} is in the runs of its graph, and cannot be saved or restored. Leave it out of "
            "the checkpoint, or use iter(dataset) in eager code."
        )

    def _check_state(self, state: bytes) -> None:
        self._saved_state()

    def _resume(self, state: bytes) -> None:
        self._saved_state()


class OwnedIterator(IteratorBase, OneTensor):
    """An iterator of eager code.

    Args:
        node: The dataset.
        make_dataset: Makes datasets of nodes, for elements that have some.
    """

    def __init__(self, node: Node, make_dataset: MakeDataset) -> None:
        self._node = node
        self._spec = node.spec
        self._where = node.where
        self._cursor = Cursor(node, Binding())
        self._make_dataset = make_dataset
        self._as_tensors = presenter(node.spec, node.where, make_dataset)
        self._handles: WeakKeyDictionary[Graph, SymbolicTensor] = WeakKeyDictionary()

    def __next__(self) -> Any:
        if here.graph is not None:
            return self.get_next()
        element = self._cursor.pull()
        if element is None:
            raise StopIteration
        return self._as_tensors(element)

    def next(self) -> Any:
        """The same as ``next(iterator)``."""
        return next(self)

    def get_next(self) -> Any:
        """The next element.

        Raises:
            OutOfRangeError: there is none.
        """
        if here.graph is not None:
            tensors = ops.add_get_next(here.graph, self._handle(here.graph), self._spec, self._where, None)
            return presented(self._spec, tensors, self._make_dataset)
        element = self._cursor.pull()
        if element is None:
            raise OutOfRangeError("End of sequence [Op:IteratorGetNext]")
        return self._as_tensors(element)

    def get_next_as_optional(self) -> Optional:
        """The next element, or that there is none."""
        if here.graph is not None:
            return optional_of(here.graph, self._handle(here.graph), self._spec, self._where, self._make_dataset)
        return optional_now(self._cursor.pull(), self._spec, self._where, self._make_dataset)

    def has_next(self) -> Tensor:
        """A tensor that says whether there is another element; in a graph, whether its run finds one."""
        if here.graph is not None:
            return ops.add_has_next(here.graph, self._handle(here.graph), self._where)
        return constant(self._cursor.has_next(), dt.bool)

    def close(self) -> None:
        """Ends the iteration and its threads; so does dropping the iterator."""
        self._cursor.close()

    def _saved_state(self) -> bytes:
        return position_of(self._cursor, self._node).to_bytes()

    def _check_state(self, state: bytes) -> None:
        check_fits(self._node, Position.from_bytes(state))

    def _resume(self, state: bytes) -> None:
        go_to(self._cursor, self._node, Position.from_bytes(state))

    def _handle(self, graph: Graph) -> SymbolicTensor:
        """The tensor that stands for this iterator in a graph, made once in the outermost one."""
        top = outermost(graph)
        if top not in self._handles:
            with top.as_default(), top.control_dependencies(None), top.colocate_with(None, ignore_existing=True):
                attrs = {"handle": ops.Borrowed(self._cursor)}
                self._handles[top] = ops.add_handle(top, ops.iterator, (), attrs, self._where, "Iterator")
        return graph.capture(self._handles[top])

    def _as_tensor(self) -> Any:
        if here.graph is not None:
            return self._handle(here.graph)
        return wrap(self._value, place(self._where or host(), dt.resource))

    @property
    def _call_key(self) -> Hashable:
        return self._spec, self._where

    @property
    def _value(self) -> Lent:
        return Lent(self, self._cursor)

    def _is_behind(self, value: object) -> bool:
        return isinstance(value, Lent) and value.iterator is self

    def __repr__(self) -> str:
        return f"<OwnedIterator element_spec={self.element_spec!r}>"


class Lent(ops.Handle):
    """What a function gets for an iterator of eager code that is its argument."""

    shape = ()  # as a value it is a scalar
    ndim = 0

    def __init__(self, iterator: OwnedIterator, cursor: Cursor) -> None:
        super().__init__("", cursor)
        self.iterator = iterator


class FunctionIterator(IteratorBase):
    """An iterator in the graph of a ``tf.function``: an argument, or one that was made there.

    Args:
        handle: The tensor that stands for it.
        spec: What its elements are.
        where: The device that they are on; None for the host.
        make_dataset: Makes datasets of nodes, for elements that have some.
    """

    def __init__(self, handle: Any, spec: Spec, where: Device | None, make_dataset: MakeDataset) -> None:
        self._handle = handle
        self._spec = spec
        self._where = where
        self._make_dataset = make_dataset
        self._taken = 0

    @classmethod
    def of(cls, node: Node, graph: Graph, make_dataset: MakeDataset) -> FunctionIterator:
        """An iterator of a dataset made while the graph is: each run of the graph begins an iteration."""
        inputs = (ops.dependencies(graph, node),)
        handle = ops.add_handle(graph, ops.anonymous, inputs, {"dataset": node}, node.where, None)
        return cls(handle, node.spec, node.where, make_dataset)

    def _as_tensor(self) -> Any:
        return self._handle

    def get_next(self) -> Any:
        """The next element of the run."""
        tensors = ops.add_get_next(ops.graph_of(self._handle), self._handle, self._spec, self._where, None)
        return presented(self._spec, tensors, self._make_dataset)

    def get_next_as_optional(self) -> Optional:
        """The next element of the run, or that there is none."""
        graph = ops.graph_of(self._handle)
        return optional_of(graph, self._handle, self._spec, self._where, self._make_dataset)

    def has_next(self) -> SymbolicTensor:
        """A tensor that says whether the run finds another element."""
        return ops.add_has_next(ops.graph_of(self._handle), self._handle, self._where)

    def __next__(self) -> Any:
        self._taken += 1
        if self._taken > _MOST:
            raise StateError(
                f"{_MOST} elements of a dataset were taken while the graph of a function was made. A Python loop over "
                "a dataset does not end there: let AutoGraph convert it, or iterate outside of the function."
            )
        return self.get_next()


@export("data.IteratorSpec", v1=())
class IteratorSpec(TypeSpec):
    """Describes an iterator: functions have one graph for all iterators of a kind.

    Args:
        element_spec: The kinds of the tensors in the elements, in the structure that these have.
    """

    __slots__ = ("_make_dataset", "_spec", "_where")
    value_type = IteratorBase

    def __init__(self, element_spec: Any) -> None:
        self._spec = spec_of(element_spec)
        self._where: Device | None = None
        self._make_dataset: MakeDataset = no_dataset

    @classmethod
    def _like(cls, iterator: IteratorBase) -> IteratorSpec:
        made = object.__new__(cls)
        made._spec, made._where, made._make_dataset = iterator._spec, iterator._where, iterator._make_dataset
        return made

    @staticmethod
    def from_value(value: IteratorBase) -> IteratorSpec:
        """The kind of an iterator."""
        return value._type_spec

    @property
    def element_spec(self) -> Any:
        """The kinds of the tensors in the elements, in their structure."""
        return self._spec.structure

    @property
    def _component_specs(self) -> TensorSpec:
        return TensorSpec([], dt.resource)

    def _to_components(self, value: IteratorBase) -> Any:
        return value._as_tensor()

    def _from_components(self, components: object) -> IteratorBase:
        if isinstance(components, EagerTensor) and isinstance(components._value, Lent):
            return components._value.iterator
        return FunctionIterator(components, self._spec, self._where, self._make_dataset)

    def _serialize(self) -> tuple[Any, ...]:
        return (self.element_spec,)

    def _key(self) -> tuple[Spec, Device | None]:
        return self._spec, self._where
