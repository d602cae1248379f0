"""Optionals: an element, or none.

    optional = iterator.get_next_as_optional()
    optional.has_value()        a bool tensor
    optional.get_value()        the element; an error if there is none

An optional consists of one tensor of the dtype ``variant``, as which functions, loops and branches pass it. The value
of the tensor is a `Held`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from situs._src.base import dtype as dt
from situs._src.base.devices.logical import Device
from situs._src.base.devices.scope import here
from situs._src.base.errors import InvalidArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, UNKNOWN
from situs._src.base.tensor import Tensor
from situs._src.data import iterator_ops as ops
from situs._src.data.element import Element, Spec, spec_of, take_apart_element
from situs._src.data.function import MakeDataset, presented
from situs._src.data.presenting import no_dataset, present
from situs._src.ir.graph.function import graph_of
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.inner import building, symbolic
from situs._src.runtime.eager.bridge import Value, host, place
from situs._src.runtime.eager.tensor import EagerTensor, wrap
from situs._src.runtime.run.state import Run
from situs._src.tracing.spec import TensorSpec
from situs._src.tracing.type_spec import CompositeTensor, TypeSpec

_YES, _NO = torch.tensor(True), torch.tensor(False)
_EMPTY = "The given optional does not have a value."


class Held:
    """The value of an optional: the values of an element and where each lies; None if there is none.

    Args:
        element: The values.
        devices: The device of each.
        tensors: The tensors that eager code made it of: tapes know these.
    """

    __slots__ = ("devices", "element", "tensors")
    shape = ()  # as a value it is a scalar, whatever it holds
    ndim = 0

    def __init__(
        self,
        element: Element | None,
        devices: tuple[Device, ...] = (),
        tensors: tuple[EagerTensor, ...] | None = None,
    ) -> None:
        self.element = element
        self.devices = devices
        self.tensors = tensors

    def mapped(self, function: Callable[[Any], Any]) -> Held:
        """The same with what a function makes of the values."""
        return self if self.element is None else Held(tuple(map(function, self.element)), self.devices)


@export(
    "data.experimental.Optional",
    "experimental.Optional",
    differs="The element spec that empty(None) leaves open is found out by a loop that puts an element in.",
)
class Optional(CompositeTensor):
    """An element, or that there is none.

    Made by `from_value`, `empty` and ``iterator.get_next_as_optional()``.

    Example:
        >>> import situs as tf
        >>> one = tf.experimental.Optional.from_value({"x": tf.constant(3)})
        >>> bool(one.has_value()), int(one.get_value()["x"])
        (True, 3)
        >>> bool(tf.experimental.Optional.empty(one.element_spec).has_value())
        False
    """

    def __init__(
        self,
        spec: Spec | None,
        tensor: Any,
        where: Device | None = None,
        make_dataset: MakeDataset = no_dataset,
        of_iterator: bool = False,
    ) -> None:
        self._spec = spec
        self._tensor = tensor
        self._where = where
        self._make_dataset = make_dataset
        self._of_iterator = of_iterator  # whether the element lies at `where`

    @staticmethod
    def from_value(value: object) -> Optional:
        """An optional with an element.

        Args:
            value: A tensor, or a structure of tensors; what can become a tensor will.
        """
        form, leaves = take_apart_element(value)
        tensors: list[Any] = [convert_to_tensor(leaf) for leaf in leaves]
        spec = Spec(form, [TensorSpec(tensor.shape, tensor.dtype) for tensor in tensors])
        graph = here.graph or graph_of(tensors)
        if graph is None:
            devices = tuple([tensor._place.device for tensor in tensors])
            held = Held(tuple([tensor._value for tensor in tensors]), devices, tuple(tensors))
            return Optional(spec, wrap(held, place(host(), dt.variant)))
        with building(graph), _beside_strings(graph, spec):
            inputs = ([symbolic(graph, tensor) for tensor in tensors],)
            return Optional(spec, ops.add(graph, _from_value, inputs, {}, [(dt.variant, SCALAR)], None).outputs[0])

    @staticmethod
    def empty(element_spec: object) -> Optional:
        """An optional without an element.

        Args:
            element_spec: The kinds of the tensors in the element that it might have, in their structure.
        """
        spec = None if element_spec is None else spec_of(element_spec)
        if here.graph is None:
            return Optional(spec, wrap(Held(None), place(host(), dt.variant)))
        with ops.on_device(here.graph, None):
            return Optional(spec, ops.add(here.graph, _none, (), {}, [(dt.variant, SCALAR)], None).outputs[0])

    def has_value(self, name: str | None = None) -> Tensor:
        """A tensor that says whether there is an element."""
        if self._is_eager():  # asked in every batch of Keras' `fit`, which waits for nothing: the host knows
            return wrap(_NO if self._tensor._value.element is None else _YES, place(host(), dt.bool))
        graph = ops.graph_of(self._tensor)
        with building(graph), ops.on_device(graph, self._where):
            return ops.add(graph, _has_value, (symbolic(graph, self._tensor),), {}, [(dt.bool, SCALAR)], name).outputs[
                0
            ]

    def get_value(self, name: str | None = None) -> Any:
        """The element; in a graph, the run fails if there is none.

        Raises:
            InvalidArgumentError: there is none.
        """
        if self._is_eager() and self._tensor._value.element is None:
            raise InvalidArgumentError(_EMPTY)
        if self._spec is None:
            raise InvalidArgumentError(
                "What an optional holds is not known: it was made by Optional.empty(None). Give the element_spec."
            )
        if self._is_eager():
            held = self._tensor._value
            if held.tensors is not None:
                return self._spec.pack(held.tensors)
            return present(self._spec, held.element, held.devices, self._make_dataset)
        graph = ops.graph_of(self._tensor)
        kinds = [(leaf.dtype, leaf.shape) for leaf in self._spec.leaves]
        attrs = {"output_types": tuple([leaf.dtype for leaf in self._spec.leaves])}
        there = ops.on_device(graph, self._where) if self._of_iterator else _beside_strings(graph, self._spec)
        with building(graph), there:
            made = ops.add(graph, _get_value, (symbolic(graph, self._tensor),), attrs, kinds, name).outputs
        return presented(self._spec, made, self._make_dataset)

    def _is_eager(self) -> bool:
        return here.graph is None and isinstance(self._tensor, EagerTensor)

    @property
    def element_spec(self) -> Any:
        """The kinds of the tensors in the element, in its structure."""
        return None if self._spec is None else self._spec.structure

    @property
    def _element_spec(self) -> Any:
        """The same; code that learns later what an empty optional might hold sets it."""
        return self.element_spec

    @_element_spec.setter
    def _element_spec(self, element_spec: object) -> None:
        self._spec = None if element_spec is None else spec_of(element_spec)

    @property
    def _type_spec(self) -> OptionalSpec:
        return OptionalSpec._like(self)

    def __repr__(self) -> str:
        return f"<Optional element_spec={self.element_spec!r}>"


@export("OptionalSpec")
class OptionalSpec(TypeSpec):
    """Describes an optional.

    Args:
        element_spec: The kinds of the tensors in the element, in their structure; None if they are not known.
    """

    __slots__ = ("_like_value", "_spec")
    value_type = Optional

    def __init__(self, element_spec: Any) -> None:
        self._spec = None if element_spec is None else spec_of(element_spec)
        self._like_value: tuple[Any, ...] = ()

    @classmethod
    def _like(cls, value: Optional) -> OptionalSpec:
        """The kind of an optional, with where its element lies, which tells no kind from another."""
        made = object.__new__(cls)
        made._spec = value._spec
        made._like_value = (value._where, value._make_dataset, value._of_iterator)
        return made

    @staticmethod
    def from_value(value: Optional) -> OptionalSpec:
        """The kind of an optional."""
        return value._type_spec

    @property
    def element_spec(self) -> Any:
        """The kinds of the tensors in the element, in their structure."""
        return None if self._spec is None else self._spec.structure

    @property
    def _component_specs(self) -> TensorSpec:
        return TensorSpec([], dt.variant)

    def _to_components(self, value: Optional) -> Any:
        return value._tensor

    def _from_components(self, components: object) -> Optional:
        return Optional(self._spec, components, *self._like_value)

    def _serialize(self) -> tuple[Any, ...]:
        return (self.element_spec,)

    def is_subtype_of(self, other: object) -> bool:
        """Whether all optionals of this kind are of the other."""
        return isinstance(other, OptionalSpec) and (other._spec is None or super().is_subtype_of(other))

    def most_specific_common_supertype(self, others: Any) -> OptionalSpec | TypeSpec | None:
        """The narrowest kind that all of these are of; one that is not known yet is that of the others."""
        known = [spec for spec in (self, *others) if not isinstance(spec, OptionalSpec) or spec._spec is not None]
        if len(known) <= 1:
            return known[0] if known and isinstance(known[0], OptionalSpec) else self if not known else None
        first, *rest = known
        return TypeSpec.most_specific_common_supertype(first, rest) if isinstance(first, OptionalSpec) else None

    def _key(self) -> Spec | None:
        return self._spec


def optional_of(
    graph: Graph, handle: SymbolicTensor, spec: Spec, where: Device | None, make_dataset: MakeDataset
) -> Optional:
    """Adds the operation that takes the next element of an iterator, if there is one."""
    with ops.on_device(graph, where):
        inputs = (graph.capture(handle),)
        tensor = ops.add(graph, _next_optional, inputs, {}, [(dt.variant, SCALAR)], None).outputs[0]
    return Optional(spec, tensor, where, make_dataset, of_iterator=True)


def optional_now(element: Element | None, spec: Spec, where: Device | None, make_dataset: MakeDataset) -> Optional:
    """The optional of an element that an iterator of eager code has given."""
    tensor = wrap(_held(element, where), place(host(), dt.variant))
    return Optional(spec, tensor, where, make_dataset, of_iterator=True)


def _beside_strings(graph: Graph, spec: Spec) -> AbstractContextManager[None]:
    """Where an operation on an element goes: wherever it is asked to, but strings are on the host."""
    strings = any(leaf.dtype is dt.string for leaf in spec.leaves)
    return ops.on_device(graph, None) if strings else nullcontext()


def _held(element: Element | None, where: Device | None) -> Held:
    return Held(None) if element is None else Held(element, (where or host(),) * len(element))


# The operations.

_next_optional = op("IteratorGetNextAsOptional", "iterator: resource -> optional: variant", stateful=True)
_next_optional.shape(lambda iterator: SCALAR)
_none = op("OptionalNone", "-> optional: variant")
_none.shape(lambda: SCALAR)
_from_value = op("OptionalFromValue", "components: any* -> optional: variant")
_from_value.shape(lambda *components: SCALAR)
_has_value = op("OptionalHasValue", "optional: variant -> has_value: bool", stateful=True)
_has_value.shape(lambda optional: SCALAR)
_get_value = op("OptionalGetValue", "optional: variant -> components: any*", stateful=True, output_types=())
_get_value.shape(lambda optional, *, output_types: [UNKNOWN] * len(output_types))


@_next_optional.kernel(CPU, GPU)
def _next_optional_kernel(iterator: ops.Handle, *, run: Run) -> Held:
    cursor = iterator.cursor
    return _held(cursor.pull(run), cursor.where)


@_none.kernel(CPU, GPU)
def _none_kernel() -> Held:
    return Held(None)


@_from_value.kernel(CPU, GPU)
def _from_value_kernel(components: list[Value], *, run: Run, where: Device) -> Held:
    return Held(tuple(components), (where,) * len(components))


@_has_value.kernel(CPU, GPU, host_output=True)
def _has_value_kernel(optional: Held) -> torch.Tensor:
    return (_NO if optional.element is None else _YES).clone()  # a quarter of the time of making one from a bool


@_get_value.kernel(CPU, GPU)
def _get_value_kernel(optional: Held, *, output_types: object, run: Run, where: Device) -> list[Value]:
    if optional.element is None:
        raise InvalidArgumentError(_EMPTY)
    if len(set(optional.devices)) == 1:
        return ops.brought(optional.element, optional.devices[0], where)
    pairs = zip(optional.element, optional.devices, strict=True)
    return [value for one, device in pairs for value in ops.brought((one,), device, where)]
