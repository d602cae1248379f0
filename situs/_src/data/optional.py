"""Optionals: an element, or that there is none.

    optional = iterator.get_next_as_optional()
    optional.has_value()        a bool tensor
    optional.get_value()        the element; an error if there is none

In a graph it is a value of its own, which two operations ask.
"""

from __future__ import annotations

import abc
from typing import Any

import torch

from situs._src.base import dtype as dt
from situs._src.base.devices.logical import Device
from situs._src.base.errors import InvalidArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, UNKNOWN
from situs._src.data import iterator_ops as ops
from situs._src.data.element import Element, Spec
from situs._src.data.function import MakeDataset, presented
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.constant import constant
from situs._src.ops.define import CPU, GPU, op
from situs._src.runtime.eager.bridge import Value, host

_EMPTY = "The given optional does not have a value."


@export("data.experimental.Optional")
class Optional(abc.ABC):
    """An element, or that there is none."""

    _spec: Spec

    @abc.abstractmethod
    def has_value(self, name: str | None = None) -> Any:
        """A tensor that says whether there is an element."""

    @abc.abstractmethod
    def get_value(self, name: str | None = None) -> Any:
        """The element.

        Raises:
            InvalidArgumentError: there is none.
        """

    @property
    def element_spec(self) -> Any:
        """The kinds of the tensors in the element, in its structure."""
        return self._spec.structure


class OptionalValue(Optional):
    """An optional of eager code."""

    def __init__(self, spec: Spec, value: Any) -> None:
        self._spec = spec
        self._value = value

    def has_value(self, name: str | None = None) -> Any:
        """A tensor that says whether there is an element."""
        return constant(self._value is not None, dt.bool)

    def get_value(self, name: str | None = None) -> Any:
        """The element."""
        if self._value is None:
            raise InvalidArgumentError(_EMPTY)
        return self._value


class OptionalTensor(Optional):
    """An optional in a graph: known when it runs."""

    def __init__(self, spec: Spec, tensor: SymbolicTensor, where: Device | None, make_dataset: MakeDataset) -> None:
        self._spec = spec
        self._make_dataset = make_dataset
        self._tensor = tensor
        self._where = where

    def has_value(self, name: str | None = None) -> Any:
        """A tensor that says whether there is an element."""
        graph = ops.graph_of(self._tensor)
        with ops.on_device(graph, self._where):
            tensor = graph.capture(self._tensor)
            return ops.add(graph, _has_value, (tensor,), {}, [(dt.bool, SCALAR)], name).outputs[0]

    def get_value(self, name: str | None = None) -> Any:
        """The element; the run fails if there is none."""
        graph = ops.graph_of(self._tensor)
        kinds = [(leaf.dtype, leaf.shape) for leaf in self._spec.leaves]
        attrs = {"output_types": tuple([leaf.dtype for leaf in self._spec.leaves])}
        with ops.on_device(graph, self._where):
            tensor = graph.capture(self._tensor)
            made = ops.add(graph, _get_value, (tensor,), attrs, kinds, name).outputs
        return presented(self._spec, made, self._make_dataset)


def optional_of(
    graph: Graph, handle: SymbolicTensor, spec: Spec, where: Device | None, make_dataset: MakeDataset
) -> OptionalTensor:
    """Adds the operation that takes the next element of an iterator, if there is one."""
    inputs = (graph.capture(handle),)
    return OptionalTensor(spec, ops.add_handle(graph, _next_optional, inputs, {}, where, None), where, make_dataset)


# The operations. The value of an optional is an element with its device, or None.

_next_optional = op("IteratorGetNextAsOptional", "iterator: resource -> optional: resource", stateful=True)
_next_optional.shape(lambda iterator: SCALAR)
_has_value = op("OptionalHasValue", "optional: resource -> has_value: bool", stateful=True)
_has_value.shape(lambda optional: SCALAR)
_get_value = op("OptionalGetValue", "optional: resource -> components: any*", stateful=True, output_types=())
_get_value.shape(lambda optional, *, output_types: [UNKNOWN] * len(output_types))

_Held = tuple[Element | None, Device]


@_next_optional.kernel(CPU, GPU)
def _next_optional_kernel(iterator: ops.Handle, *, run: Any) -> _Held:
    cursor = iterator.cursor
    return cursor.pull(run), cursor.where or host()


@_has_value.kernel(CPU, GPU, host_output=True)
def _has_value_kernel(optional: _Held) -> torch.Tensor:
    return torch.tensor(optional[0] is not None)


@_get_value.kernel(CPU, GPU)
def _get_value_kernel(optional: _Held, *, output_types: Any, run: Any, where: Device) -> list[Value]:
    element, source = optional
    if element is None:
        raise InvalidArgumentError(_EMPTY)
    return ops.brought(element, source, where)
