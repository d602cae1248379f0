"""Identical replicas are traced once: the others are copies of the first.

    tf.function                 replica 0                   replicas 1, 2, ...
    strategy.run(fn, (x,))      fn(x0), traced       -->    a copy of its ops: x0 becomes x1, v:0 v/replica_1:0,
      a collective              all_reduce(g0)              GPU:0 becomes GPU:1; so g0 becomes g1
                                for all: sum(g0, g1, ...)
                                continues with s0    -->    copied, with s1 in place of s0
      the end                   returns r0                  r1 is the copy of r0

The ops between two collectives (merge calls included) are a *segment*. When the first replica reaches a collective or
its end, its segment is copied for the others, in order, so that the graph is the same as if each had been traced: the
same operations, devices and seeds, and side effects in the same order. The merge function is called as usual, with the
values of all replicas.

The program's Python code runs for the first replica only, so it must not differ between replicas. It does if

    - arguments of replicas differ in more than the values of their tensors: shapes, dtypes, Python values, constants;
    - the function depends on its replica: its id or device, the device of a variable, or a component;
    - it pins operations to the device of the first replica, or to "the CPU of the same number", or by a function;
    - there is a merge_call under a tape, or gradients are built by tf.gradients: what is on the other side of a merge
      call depends on the position of the replica (all_reduce and all_gather have gradients of their own);
    - it passes to a collective, or returns, arbitrary Python objects.

Then every replica is traced. If this is detected in the first segment, nothing has been copied yet, and tracing the
others starts. Later, the graph is traced again from the beginning (`TraceAgain`), and the function is marked.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from situs._src.base.devices.scope import Request, device, here
from situs._src.base.devices.spec import DeviceSpec, parse_spec
from situs._src.base.dtype import DType
from situs._src.base.shapes import TensorShape
from situs._src.base.tree import put_together, take_apart
from situs._src.distribute.values import PerReplica, container_of, local_values, select
from situs._src.ir.graph.copying import Copier, originals
from situs._src.ir.graph.function import FunctionGraph, outermost
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import DRAWS
from situs._src.ops.array import identity
from situs._src.ops.seeds import Counted, next_seeds
from situs._src.ops.slices import IndexedSlices
from situs._src.runtime.eager.tensor import EagerTensor
from situs._src.runtime.symbolic.fold import partial_value
from situs._src.tracing.trace import TraceAgain
from situs._src.variables.capture import captured_like, captured_variables
from situs._src.variables.eager import Variable

# Shared by all replicas, whoever created it.
_WORDS = (type(None), bool, int, float, complex, str, bytes, enum.Enum, DType, TensorShape, DeviceSpec, type)
_PLAIN = (*_WORDS, np.ndarray, np.generic, EagerTensor)


class Alike:
    """The replicas of one call, of which all but the first are copied.

    Args:
        graph: The graph that is being built.
        devices: The devices of the replicas.
    """

    def __init__(self, graph: FunctionGraph, devices: Sequence[str]) -> None:
        self.graph, self._devices = graph, devices
        self.requests: list[Request] = []  # the device requests of the first replica
        self.why = ""  # the replicas differ, if they do
        self._has_copied = False
        self._made: set[Operation] = set()  # the copies
        self._seen = graph.version  # operations up to here have been handled
        self._seeds = graph.seeds_used
        self._redrawn = 0
        scope = graph.get_name_scope()
        self._prefix = f"{scope}/" if scope else ""
        self._copiers = [self._copier(number) for number in range(1, len(devices))]
        self._states: dict[SymbolicTensor, Variable] = {}

    def _copier(self, number: int) -> Copier:
        scope = self.graph.unique_name(f"replica_{number}")
        prefix = self._prefix

        def renamed(name: str) -> str:
            return f"{scope}/{name.removeprefix(prefix)}"

        def look(tensor: SymbolicTensor) -> SymbolicTensor:
            return self._from_outside(tensor, number)

        return Copier(self.graph, look, renamed, {self._devices[0]: self._devices[number]})

    def begin(self, given: Any) -> bool:
        """Registers the arguments of the replicas.

        Args:
            given: The arguments, with ``PerReplica`` values.

        Returns:
            Whether they are identical.
        """
        _, leaves = take_apart(given, whole=lambda value: isinstance(value, PerReplica))
        if any(leaf.is_told for leaf in leaves if isinstance(leaf, PerReplica)):
            return False
        for leaf in leaves:
            parts = [take_apart(select(leaf, number), composites=True) for number in range(len(self._devices))]
            if any(form != parts[0][0] for form, _ in parts):
                return False
            for column in zip(*(row for _, row in parts), strict=True):
                if isinstance(leaf, PerReplica) and not _same_kind(column):
                    return False
                if isinstance(column[0], SymbolicTensor) and not self._map([self.graph.capture(t) for t in column]):
                    return False
        return True

    def differs(self, what: str) -> None:
        """Records that the first replica got something specific to it."""
        self.why = self.why or what

    def settled(self) -> bool:
        """Whether the replicas are identical so far; to be called when the first one has stopped.

        Raises:
            TraceAgain: they are not, and a first segment has been copied.
        """
        own = parse_spec(self._devices[0])
        if not self.why and any(_is_own(request, own) for request in self.requests):
            self.differs("operations on the device of its replica")
        self.requests.clear()
        if not self.why and self._copiers[0].changed():
            self.differs("more of what it computed before a meeting")
        if self.why and self._has_copied:
            raise TraceAgain(self.why)
        return not self.why

    # Copying.

    def copy(self, of_node: dict[str, int]) -> None:
        """Copies what the first replica did since the last merge call.

        Args:
            of_node: Called with the replica of each copy.

        Raises:
            TraceAgain: the replicas differ.
        """
        self._has_copied = True
        given = originals(self.graph.operations_since(self._seen), self._drawn_anew, DRAWS)
        self._states = {state: variable for variable, state in captured_variables(outermost(self.graph))}
        drawn, self._redrawn = self.graph.seeds_used - self._seeds, 0
        for number, copier in enumerate(self._copiers, 1):
            before = self.graph.version
            self._made.update(copier.copy(given))
            of_node.update((node.name, number) for node in self.graph.operations_since(before))
        if self._redrawn != drawn * len(self._copiers):
            raise self._again("seeds that it did not give to operations")
        self.go_on()

    def go_on(self) -> None:
        """Marks everything in the graph as handled."""
        self._seen, self._seeds = self.graph.version, self.graph.seeds_used

    def _drawn_anew(self, node: Operation) -> Mapping[str, Any]:
        """The attributes of a copy that draws random numbers: with its own seeds, if the graph counts them."""
        if type(node.attrs["seed2"]) is not Counted:
            return node.attrs
        self._redrawn += 1
        return {**node.attrs, **next_seeds()}

    def _from_outside(self, tensor: SymbolicTensor, number: int) -> SymbolicTensor:
        """The counterpart of a tensor that was not copied: the component of a variable, or the tensor itself."""
        if tensor.op in self._made:
            raise self._again("something of another replica")
        state = tensor
        graph: Any = self.graph
        while state.is_ref and state not in self._states and graph.outer is not None:
            state = next((outside for outside, inside in graph.captures.items() if inside is state), state)
            graph = graph.outer
        variable = self._states.get(state)
        container = None if variable is None else container_of(variable)
        components = () if container is None else container._components
        if len(components) == 1 or not components or variable is not components[0]:
            return tensor
        return captured_like(self.graph, state, components[number])

    def _again(self, why: str) -> TraceAgain:
        self.differs(why)
        return TraceAgain(why)

    # Values passed to and from merge calls.

    def _map(self, column: Sequence[SymbolicTensor]) -> bool:
        """Registers the counterparts of a tensor of the first replica; False if it has others already."""
        first, *others = column
        known = [copier.known(first) for copier in self._copiers]
        if any(was is not None and was is not now for was, now in zip(known, others, strict=True)):
            return False
        for copier, now in zip(self._copiers, others, strict=True):
            copier.learn(first, now)
        return True

    def images(self, structure: Any) -> list[Any]:
        """The counterparts of a structure of the first replica, in all replicas.

        Raises:
            TraceAgain: it contains something that cannot be copied.
        """
        form, leaves = take_apart(structure, whole=_are_slices, composites=True)
        rows = [[self._image(leaf, number) for leaf in leaves] for number in range(1, len(self._devices))]
        return [structure, *[put_together(form, row) for row in rows]]

    def _image(self, leaf: Any, number: int) -> Any:
        copier = self._copiers[number - 1]
        if isinstance(leaf, SymbolicTensor):
            return copier.tensor(leaf) if leaf.graph is self.graph else leaf
        if isinstance(leaf, IndexedSlices):
            return IndexedSlices(
                *[self._image(part, number) for part in (leaf.values, leaf.indices, leaf._dense_shape)]
            )
        if isinstance(leaf, Operation):
            return copier.node(leaf)
        if isinstance(leaf, Variable):
            container = container_of(leaf)
            return leaf if container is None else local_values(container)[min(number, len(container._components) - 1)]
        if not _is_plain(leaf):
            raise self._again(f"an object of its own, {type(leaf).__name__}")
        return leaf

    def answered(self, answer: Any) -> Any:
        """The first replica's part of a merge call's result, with its counterparts registered.

        Raises:
            TraceAgain: a replica's part cannot be copied.
        """
        everyone = range(len(self._devices))
        parts = [take_apart(select(answer, number), whole=_are_slices, composites=True) for number in everyone]
        form = parts[0][0]
        if any(each != form for each, _ in parts):
            raise self._again("answers of another form")
        given = [self._given(column) for column in zip(*(leaves for _, leaves in parts), strict=True)]
        return put_together(form, given)

    def _given(self, column: Sequence[Any]) -> Any:
        first = column[0]
        if isinstance(first, SymbolicTensor):
            tensors = [self.graph.capture(tensor) for tensor in column]
            if not self._map(tensors):  # a tensor of the first replica that has copies: needs a new identity
                with device(self._devices[0]):
                    alias: Any = identity(tensors[0])
                self._map([alias, *tensors[1:]])
                return alias
            return tensors[0]
        if isinstance(first, IndexedSlices):
            values, places = [each.values for each in column], [each.indices for each in column]
            shape = self._given([each._dense_shape for each in column])
            return IndexedSlices(self._given(values), self._given(places), shape)
        is_shared = all(value is first for value in column)
        if is_shared and (isinstance(first, Variable) or _is_plain(first)):
            return first
        if isinstance(first, Variable) and all(container_of(value) is container_of(first) for value in column):
            return first
        raise self._again("answers that are not tensors")


def _same_kind(values: Sequence[Any]) -> bool:
    """Whether values are symbolic tensors without visible differences."""
    first = values[0]
    if not isinstance(first, SymbolicTensor):
        return all(value is first for value in values) and _is_plain(first)
    return all(
        isinstance(value, SymbolicTensor)
        and (value.dtype, value._shape.dims) == (first.dtype, first._shape.dims)
        and partial_value(value) is None
        for value in values
    )


def _are_slices(value: object) -> bool:
    return isinstance(value, IndexedSlices)


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    if isinstance(value, FunctionType):
        return value.__closure__ is None
    return isinstance(value, _PLAIN)


def _is_own(request: Request, own: DeviceSpec) -> bool:
    """Whether a request means a different device in every replica, or may mean that of the first one.

    Args:
        request: The argument of ``with device``.
        own: The device of the first replica.
    """
    if request is None:
        return False
    if not isinstance(request, DeviceSpec):
        return True
    if request.device_index is None:
        return request.device_type is not None
    return request.device_index == own.device_index and request.device_type in (None, own.device_type)


def alike(graph: Any, devices: Sequence[str], given: Any) -> Alike | None:
    """The replicas of a call that may be copied from the first one; None if each of them must be traced.

    Args:
        graph: The current graph, if any.
        devices: The devices of the replicas.
        given: The arguments of all replicas.
    """
    inside: Any = graph
    while isinstance(inside, FunctionGraph) and not inside.is_function:
        inside = inside.outer
    if not isinstance(inside, FunctionGraph) or here.tapes:  # not a tf.function, which can be traced again
        return None
    if len({parse_spec(name).device_type for name in devices}) != 1:
        return None
    made = Alike(graph, devices)
    return made if made.begin(given) else None
