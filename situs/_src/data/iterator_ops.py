"""The ops of iterators; `data.iterator` and `data.graph_iterator` have the classes that programs use.

An iterator in a graph is an operation whose value is a handle, a `Handle` of the session. Others take it:

    IteratorV2 ---handle---> MakeIterator(tensors the dataset depends on)     starts an iteration
               `--handle---> IteratorGetNext                                  the components of the next element
    OneShotIterator ------->                                                  starts by itself, once per session
    AnonymousIterator(...) ->                                                 starts whenever it runs: in a tf.function

They run where the elements are: on the CPU, or on the GPU that a pipeline prefetches to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import ref

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base import locks
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device
from situs._src.base.devices.scope import ROOT, build_into, here
from situs._src.base.devices.spec import parse_spec
from situs._src.base.dtype import DType
from situs._src.base.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from situs._src.base.shapes import SCALAR, UNKNOWN, TensorShape, brackets
from situs._src.data.cursor import Cursor, binding_for
from situs._src.data.element import Element, Spec
from situs._src.data.node import Binding, Node, symbols_of
from situs._src.data.resuming import Position, check_fits, functions_of, go_to, position_of, with_functions
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.signature import Arg
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.inner import symbolic
from situs._src.placement import options
from situs._src.runtime.eager.bridge import Value, copier, host
from situs._src.runtime.plan.prune import prune
from situs._src.runtime.run.engine import Engine
from situs._src.runtime.run.state import Run


class Handle:
    """What a session holds for an iterator: an iteration, if one has begun.

    Args:
        name: What string handles call it.
        cursor: The iteration.
    """

    def __init__(self, name: str, cursor: Cursor | None = None) -> None:
        self.name = name
        self._cursor = cursor
        self._lock = locks.lock()

    def begin_once(self, make: Callable[[], Cursor]) -> None:
        """Begins an iteration, if none has begun."""
        with self._lock:
            if self._cursor is None:
                self._cursor = make()

    def begin(self, cursor: Cursor) -> None:
        """Puts another iteration instead of the one there is."""
        before, self._cursor = self._cursor, cursor
        if before is not None:
            before.close()

    @property
    def cursor(self) -> Cursor:
        """The iteration.

        Raises:
            FailedPreconditionError: none has begun.
        """
        if self._cursor is None:
            raise FailedPreconditionError(
                "GetNext() failed because the iterator has not been initialized. Ensure that you have run the "
                "initializer operation for this iterator before getting the next element."
            )
        return self._cursor

    def wake(self) -> None:
        """Called when the session is closed."""
        if self._cursor is not None:
            self._cursor.close()


class Borrowed(Handle):
    """Stands for an iterator of eager code. It ends when the program drops it, though graphs still know it."""

    def __init__(self, cursor: Cursor) -> None:
        super().__init__("")
        self._weakly = ref(cursor)

    @property
    def cursor(self) -> Cursor:
        """The iteration.

        Raises:
            FailedPreconditionError: the program has dropped the iterator.
        """
        found = self._weakly()
        if found is None:
            raise FailedPreconditionError("The iterator that this function takes elements from is gone. Keep it.")
        return found


# Handles.

_NAMES: dict[str, Any] = {"container": "", "shared_name": "", "node_name": ""}
iterator = op("IteratorV2", "-> handle: resource", stateful=True, handle=None, **_NAMES)
one_shot = op("OneShotIterator", "-> handle: resource", stateful=True, dataset=None, **_NAMES)
anonymous = op("AnonymousIterator", "other_arguments: any* -> handle: resource", stateful=True, dataset=None)
for _declared in (iterator, one_shot, anonymous):
    _declared.shape(lambda *inputs, **attrs: SCALAR)


@iterator.kernel(CPU, GPU)
def _iterator_kernel(*, handle: Handle | None, run: Run, **names: str) -> Handle:
    if handle is not None:
        return handle  # an iterator of eager code
    found: Handle = run.state.resource(_key(**names), lambda: Handle(_key(**names)))
    return found


@one_shot.kernel(CPU, GPU)
def _one_shot_kernel(*, dataset: Node, run: Run, **names: str) -> Handle:
    found: Handle = run.state.resource(_key(**names), lambda: Handle(_key(**names)))
    found.begin_once(lambda: Cursor(dataset, _constants(dataset, run)))
    return found


@anonymous.kernel(CPU, GPU)
def _anonymous_kernel(other_arguments: list[Value], *, dataset: Node, run: Run) -> Handle:
    return Handle("", Cursor(dataset, binding_for(dataset, other_arguments, run)))


def _key(*, container: str, shared_name: str, node_name: str) -> str:
    return f"iterator:{container}/{shared_name or node_name}"


def _constants(dataset: Node, run: Run) -> Binding:
    """A binding with the tensors that a dataset depends on, computed now; `check_constant` says that this can be."""
    symbols = symbols_of(dataset)
    if not symbols:
        return Binding(None, run.state)
    engine = Engine(symbols[0].graph, process.devices(), soft=options.current.soft, default=host(), pruned=True)
    values = engine.program([], [(tensor, host()) for tensor in symbols]).run(run, [])
    return Binding({id(tensor): value for tensor, value in zip(symbols, values, strict=True)}, run.state)


def check_constant(dataset: Node) -> None:
    """Raises unless a dataset depends on nothing that a run decides.

    Raises:
        InvalidArgumentError: it depends on a placeholder, a variable or the like.
    """
    functions = [function for stage in with_functions(dataset) for function in functions_of(stage)]
    states = [state for function in functions for state in function.states]
    for node in prune([tensor.op for tensor in (*symbols_of(dataset), *states)], ()):
        fed = node.type.startswith("Placeholder")
        if fed or node.op_def.stateful:
            raise InvalidArgumentError(
                f"Cannot capture a {'placeholder' if fed else 'stateful node'} (name:{node.name}, type:{node.type}) by "
                "value. A one-shot iterator initializes itself, so its dataset "
                "cannot depend on feeds or on variables. Use `make_initializable_iterator()` instead."
            )


# Beginning, and taking elements.

make_iterator = op("MakeIterator", "other_arguments: any*, iterator: resource ->", stateful=True, dataset=None)
make_iterator.shape(lambda *inputs, **attrs: [])
_OUT: dict[str, Any] = {"output_types": ()}
get_next = op("IteratorGetNext", "iterator: resource -> components: any*", stateful=True, **_OUT)
get_next.shape(lambda iterator, *, output_types: [UNKNOWN] * len(output_types))
has_next = op("IteratorHasNext", "iterator: resource -> has_next: bool", stateful=True)
has_next.shape(lambda iterator: SCALAR)


@make_iterator.kernel(CPU, GPU)
def _make_kernel(other_arguments: list[Value], iterator: Handle, *, dataset: Node, run: Run) -> tuple[()]:
    iterator.begin(Cursor(dataset, binding_for(dataset, other_arguments, run)))
    return ()


@get_next.kernel(CPU, GPU)
def _get_next_kernel(iterator: Handle, *, output_types: object, run: Run, where: Device) -> list[Value]:
    cursor = iterator.cursor
    element = cursor.pull(run)
    if element is None:
        raise OutOfRangeError("End of sequence")
    return brought(element, cursor.where or host(), where)


def brought(element: Element, source: Device, target: Device) -> list[Value]:
    """The values of an element on a device, which as a rule they are on already."""
    copy = copier(source, target)
    if copy is None:
        return list(element)
    return [copy(value) if isinstance(value, torch.Tensor) else value for value in element]


@has_next.kernel(CPU, GPU, host_output=True)
def _has_next_kernel(iterator: Handle, *, run: Run) -> torch.Tensor:
    return torch.tensor(iterator.cursor.has_next(run))


# Where an iteration is, as a string.

serialize = op(
    "SerializeIterator", "resource_handle: resource -> serialized: string", stateful=True, external_state_policy=None
)
serialize.shape(lambda resource_handle, *, external_state_policy: SCALAR)
deserialize = op("DeserializeIterator", "resource_handle: resource, serialized: string ->", stateful=True)
deserialize.shape(lambda *inputs: [])


@serialize.kernel(CPU, GPU, host_output=True)
def _serialize_kernel(resource_handle: Handle, *, external_state_policy: int | None) -> np.ndarray[Any, Any]:
    cursor = resource_handle.cursor
    return np.array(position_of(cursor, cursor.node, external_state_policy).to_bytes(), dtype=object)


@deserialize.kernel(CPU, GPU)
def _deserialize_kernel(resource_handle: Handle, serialized: Any, *, run: Run) -> tuple[()]:
    cursor, position = resource_handle.cursor, Position.from_bytes(serialized[()])
    check_fits(cursor.node, position)
    go_to(cursor, cursor.node, position, run.state)
    return ()


# Handles as strings.

to_string = op("IteratorToStringHandle", "resource_handle: resource -> string_handle: string", stateful=True)
to_string.shape(lambda resource_handle: SCALAR)
from_string = op(
    "IteratorFromStringHandleV2",
    "string_handle: string -> resource_handle: resource",
    stateful=True,
    output_types=(),
    output_shapes=(),
)
from_string.shape(lambda string_handle, *, output_types, output_shapes: SCALAR)


@to_string.kernel(CPU, GPU, host_output=True)
def _to_string_kernel(resource_handle: Handle) -> np.ndarray[Any, Any]:
    return np.array(resource_handle.name.encode(), dtype=object)


@from_string.kernel(CPU, GPU)
def _from_string_kernel(string_handle: Any, *, output_types: Any, output_shapes: Any, run: Run) -> Handle:
    name = string_handle[()].decode(errors="replace")

    def refuse() -> Handle:
        raise InvalidArgumentError(
            f"Could not parse the string handle {name!r}: this session has no such iterator. Run the iterator's "
            "string_handle() in the same session, and feed what it gives."
        )

    found: Handle = run.state.resource(name, refuse) if name.startswith("iterator:") else refuse()
    if output_types and found._cursor is not None:  # graphs that older versions wrote do not say
        _check_elements(found._cursor.node.spec, output_types, output_shapes)
    return found


def _check_elements(spec: Spec, types: Sequence[DType], shapes: Sequence[TensorShape]) -> None:
    """Refuses an iterator whose elements are not what was said of them."""
    if len(spec.leaves) != len(types):
        raise InvalidArgumentError(
            f"Number of components does not match: expected {len(types)} types but got {len(spec.leaves)}."
        )
    for number, (leaf, dtype, shape) in enumerate(zip(spec.leaves, types, shapes, strict=True)):
        if leaf.dtype is not dtype:
            raise InvalidArgumentError(
                f"Data type mismatch at component {number}: expected {dtype.name} but got {leaf.dtype.name}."
            )
        if not leaf.shape.is_compatible_with(shape):
            raise InvalidArgumentError(
                f"Incompatible shapes at component {number}: expected {brackets(shape)} but got {brackets(leaf.shape)}."
            )


# Adding them to graphs.


def graph_of(handle: SymbolicTensor) -> Graph:
    """The graph to add to: the one being built, else that of the handle."""
    graph = here.graph or handle.graph
    assert isinstance(graph, Graph)
    return graph


def add(
    graph: Graph, op_def: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], results: Sequence[Any], name: str | None
) -> Operation:
    """Adds an operation to a graph; `results` are dtypes and shapes."""
    declared = [(_result_arg(op_def), dtype, shape) for dtype, shape in results]
    return graph.add(op_def, inputs, {**op_def.attrs, **attrs}, {}, declared, name or op_def.name)


def _result_arg(op_def: Op) -> Arg:
    arg = op_def.outputs[0]
    return Arg(arg.name, "any") if arg.is_list else arg


def add_handle(
    graph: Graph, op_def: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], where: Device | None, name: str | None
) -> SymbolicTensor:
    """Adds an operation whose value is a handle."""
    with on_device(graph, where):
        return add(graph, op_def, inputs, attrs, [(dt.resource, SCALAR)], name).outputs[0]


@contextmanager
def on_device(graph: Graph, where: Device | None) -> Iterator[None]:
    """A context whose operations go to the device of some elements, whatever is asked around it."""
    spec = parse_spec("/device:CPU:0") if where is None else where.spec
    before = build_into(graph, ROOT.child(spec))
    try:
        yield
    finally:
        build_into(*before)


def dependencies(graph: Graph, dataset: Node) -> list[SymbolicTensor]:
    """The tensors that a dataset depends on, as a graph knows them."""
    return [symbolic(graph, tensor) for tensor in symbols_of(dataset)]


def add_get_next(graph: Graph, handle: SymbolicTensor, spec: Spec, where: Device | None, name: str | None) -> list[Any]:
    """Adds the operation that takes the next element, and returns its tensors."""
    kinds = [(leaf.dtype, leaf.shape) for leaf in spec.leaves]
    attrs = {"output_types": tuple([leaf.dtype for leaf in spec.leaves])}
    with on_device(graph, where):
        return add(graph, get_next, (graph.capture(handle),), attrs, kinds, name).outputs


def add_has_next(graph: Graph, handle: SymbolicTensor, where: Device | None) -> SymbolicTensor:
    """Adds the operation that asks whether there is another element."""
    with on_device(graph, where):
        return add(graph, has_next, (graph.capture(handle),), {}, [(dt.bool, SCALAR)], None).outputs[0]
