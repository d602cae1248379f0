"""`Graph`: operations in order of creation, and the state for the next one.

While a graph is built, each thread has a name scope, control dependencies and colocations in it (`Building`); device
scopes are in `base.devices.scope`. A new operation gets its name, its device and its control inputs from these, and is
appended. Several threads may build one graph together.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from situs._src.base.devices.scope import ROOT, build_into, here
from situs._src.base.dtype import DType
from situs._src.base.errors import (
    ArgumentError,
    DTypeError,
    InvalidArgumentError,
    NotFoundError,
    StateError,
    show_as,
    shown,
)
from situs._src.base.export import export
from situs._src.base.settings import switch
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.collecting import Collections, as_key
from situs._src.ir.graph.names import Names, check_node_name, check_scope_name
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.origin import origin
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.signature import Arg


class Controller:
    """One ``with control_dependencies(...)``: its control inputs, and the operations created inside."""

    def __init__(self, first: Sequence[Operation]) -> None:
        self.first = first
        self.inside: set[Operation] = set()


class Building(threading.local):
    """The state of one thread for the operations it adds."""

    def __init__(self) -> None:
        self.name_scope = ""
        self.gradient_names: dict[str, str] = {}  # by type of op
        self.controllers: list[Controller] = []
        self.colocations: list[Operation | None] = []  # None begins again
        self.scope = ROOT  # the thread's device scope when it switched to another graph


class Tally:
    """What is counted of all graphs of a ``tf.function`` together.

    Attributes:
        compiled: How many of them were compiled.
    """

    def __init__(self) -> None:
        self.compiled = 0


@export("Graph")
class Graph(Collections):
    """A dataflow graph.

    Example:
        with tf.Graph().as_default() as graph:
            c = tf.constant(4.0)
    """

    compares_elements = False  # whether == between its tensors is an op
    outer: Graph | None = None  # the graph that a function's graph belongs to
    is_inner = False  # whether it is the graph of a function, a branch or a loop
    is_function = False  # whether it is the graph of a ``tf.function``
    title = ""  # the name of that function
    compiles: bool | None = None  # what its ``tf.function`` was told by `jit_compile`
    tally: Tally | None = None  # of that function
    has_dimensions = True  # whether the dimensions of its tensors have a `value`: in TensorFlow 1's dialect

    def __init__(self) -> None:
        super().__init__()
        self._operations: list[Operation] = []
        self._by_name: dict[str, Operation] = {}
        self.left_out: dict[str, str] = {}  # operations that an imported graph has elsewhere: why not here
        self._names = Names()
        self._finalized = False
        self.placed = 0  # how many operations a session has placed
        self.restricted: set[SymbolicTensor | Operation] = set()  # not to be fed or fetched
        self.building = Building()
        self.known_values: dict[
            SymbolicTensor, Any
        ] = {}  # found out before the graph runs; see situs._src.runtime.symbolic.fold
        self.gradient_names: dict[Operation, str] = {}  # of operations with an overridden gradient
        self.seed: int | None = None
        self.seeds_used = 0  # how many random operations took their seed from the graph's

    def __reduce__(self) -> Any:
        raise DTypeError("cannot pickle or copy a Graph: graph.as_graph_def() and tf.import_graph_def make it again.")

    # Adding operations.

    def add(
        self,
        op_def: Op,
        args: tuple[Any, ...],
        attrs: Mapping[str, Any],
        types: Mapping[str, DType],
        results: Sequence[tuple[Arg, DType, TensorShape]],
        name: str | None = None,
    ) -> Operation:
        """Appends an operation and gives it its name, device and control inputs."""
        self._check_open()
        with self._lock:
            node = Operation(self, op_def, self._free_name(op_def, name), args, attrs, types, origin())
            node.outputs = [
                SymbolicTensor(node, number, dtype, shape, arg.is_ref)
                for number, (arg, dtype, shape) in enumerate(results)
            ]
            self._set_device(node)
            self._set_controls(node)
            for held in attrs.values():
                if hasattr(held, "waits_for"):  # what a branch or a loop body waits for
                    self.add_controls(node, held.waits_for)
            if op_def.name in self.building.gradient_names:
                self.gradient_names[node] = self.building.gradient_names[op_def.name]
            self._append(node)
        return node

    def _append(self, node: Operation) -> None:
        node.index = len(self._operations)
        self._operations.append(node)
        self._by_name[node.name] = node
        inputs = node.inputs
        if len(inputs) == 1:
            inputs[0].op.consumers.append(node)
            return
        for producer in {tensor.op for tensor in inputs}:
            producer.consumers.append(node)

    def add_copies(self, copies: Iterable[Operation]) -> None:
        """Appends copies of operations (`ir.graph.copying`), which have names and control inputs already.

        Raises:
            ValueError: an operation of the graph has the name of one of them.
        """
        self._check_open()
        with self._lock:
            for node in copies:
                if node.name in self._by_name:
                    raise ArgumentError(f"Duplicate node name in graph: '{node.name}', of a copy.")
                self._names.take(node.name)
                for other in node.control_inputs:
                    other.followers.append(node)
                self._append(node)

    def _check_open(self) -> None:
        if self._finalized:
            raise StateError("Graph is finalized and cannot be modified.")

    def claim_name(self, op_def: Op, name: str | None) -> str:
        """Reserves the name of the next operation, which is passed to `add` with a final slash."""
        self._check_open()
        with self._lock:
            return self._name_for(op_def, name)

    def _free_name(self, op_def: Op, name: str | None) -> str:
        """The name of the next operation, which no other has."""
        chosen = self._name_for(op_def, name)
        if chosen in self._by_name:
            raise ArgumentError(
                f"Duplicate node name in graph: '{chosen}'. A name with a slash at its end is taken as it is; without "
                "the slash, a number is added where that is needed."
            )
        self._names.take(chosen)
        return chosen

    def absolute_name(self, name: str) -> str:
        """Reserves a name outside the current scope, with a number if necessary."""
        with self._lock:
            return self._names.unique(name)

    def _name_for(self, op_def: Op, name: str | None) -> str:
        if name is None:
            name = op_def.name
        elif isinstance(name, str) and name[-1:] == "/":  # the name of a scope, to be taken as it is
            check_node_name(name[:-1])
            return name[:-1]
        scope = self.building.name_scope
        check_node_name(name, nested=bool(scope))
        return self._names.unique(f"{scope}/{name}" if scope else name)

    def _set_device(self, node: Operation) -> None:
        companions = self._companions()
        if companions:
            node.colocated_with = tuple(sorted({name for other in companions for name in _group_of(other)}))
            node.device = next((other.device for other in reversed(companions) if other.device), "")
        if not node.device and not here.scope.stops:
            node.device = here.scope.written(node)

    def _companions(self) -> list[Operation]:
        """The operations that the next one is to be colocated with."""
        found: list[Operation] = []
        for other in self.building.colocations:
            found = [] if other is None else [*found, other]
        return found

    def _set_controls(self, node: Operation) -> None:
        controllers = self.building.controllers
        if not controllers:
            return
        first: dict[Operation, None] = {}
        for controller in controllers:
            if not any(tensor.op in controller.inside for tensor in node.inputs):  # else it waits already
                first.update(dict.fromkeys(controller.first))
            controller.inside.add(node)
        self.add_controls(node, [other for other in first if all(tensor.op is not other for tensor in node.inputs)])

    def capture(self, tensor: SymbolicTensor) -> SymbolicTensor:
        """The tensor of this graph for `tensor`: only function graphs can capture others.

        Raises:
            ValueError: it belongs to another graph.
        """
        tensor = here.look(tensor) if here.look is not None else tensor
        if tensor.op.graph is not self:
            raise ArgumentError(
                f"{tensor} must be from the same graph as the operation that takes it: it belongs to "
                f"{tensor.graph!r}, and this is {self!r}. Build both under one `with graph.as_default():`."
            )
        return tensor

    def add_controls(self, node: Operation, first: Iterable[Operation]) -> None:
        """Makes `node` wait for other operations."""
        known = {node, *node.control_inputs}
        added = [other for other in dict.fromkeys(first) if other not in known]
        node.control_inputs = [*node.control_inputs, *added]
        for other in added:
            other.followers.append(node)

    # Scopes.

    def as_default(self) -> Any:
        """A context in which ops are added to this graph, for this thread."""
        from situs._src.ir.graph.context import as_default

        return as_default(self)

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """A context that prefixes the names of operations with `name` and a slash; None or "" leads to the top."""
        outer = self.building.name_scope
        self.building.name_scope = self._scope_name(name, outer)
        try:
            yield f"{self.building.name_scope}/" if name else ""
        finally:
            self.building.name_scope = outer

    def _scope_name(self, name: str | None, outer: str) -> str:
        if name is None or (isinstance(name, str) and not name):
            return ""
        check_scope_name(name, nested=bool(outer))
        if name[-1] == "/":
            return name[:-1]  # a scope that exists is entered again
        return self.unique_name(name)

    @contextmanager
    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> Iterator[None]:
        """A context in which operations of some types get gradients that are registered under other names.

        Args:
            op_type_map: The names, by type of op.
        """
        if not isinstance(op_type_map, Mapping):
            raise DTypeError(f"op_type_map must be a dictionary mapping strings to strings, got {shown(op_type_map)}.")
        if not all(isinstance(item, str) for pair in op_type_map.items() for item in pair):
            raise DTypeError(f"op_type_map must map strings to strings, got {shown(op_type_map)}.")
        outer = self.building.gradient_names
        self.building.gradient_names = {**outer, **op_type_map}
        try:
            yield
        finally:
            self.building.gradient_names = outer

    def get_name_scope(self) -> str:
        """The name scope this thread is in."""
        return self.building.name_scope

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Reserves an unused name in the current scope."""
        _check_text(name, "Operation")
        scope = self.building.name_scope
        with self._lock:
            return self._names.unique(f"{scope}/{name}" if scope else name, mark_as_used)

    @contextmanager
    def control_dependencies(self, control_inputs: object) -> Iterator[None]:
        """A context whose operations run after the given ones; None clears the outer ones."""
        clears = control_inputs is None
        if clears:
            first: list[Operation] = []
        else:
            found = [self._as_control(item) for item in _listed(control_inputs)]
            first = [operation for operation in found if operation is not None]
        controllers = self.building.controllers
        self.building.controllers = [] if clears else [*controllers, Controller(first)]
        try:
            yield
        finally:
            self.building.controllers = controllers

    def _as_control(self, item: object) -> Operation | None:
        item = getattr(item, "op", item)  # a tensor, a variable, an assignment: the operation behind it
        found = self.as_graph_element(item)
        return found.op if isinstance(found, SymbolicTensor) else found

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """A context whose operations are colocated with `op`, overriding the device scopes around it.

        If several are nested, the innermost that has a device counts; if none has, an inner device scope does.

        Args:
            op: The operation, or a tensor or variable of it; None for none, if `ignore_existing` is set.
            ignore_existing: Whether to ignore outer colocations and device scopes.
        """
        if op is None and not ignore_existing:
            raise ArgumentError("Trying to reset colocation (op is None) but ignore_existing is not True")
        outer = self.building.colocations
        anew = switch(ignore_existing, "ignore_existing")
        begin: list[Operation | None] = [None] if anew else outer
        companion = None if op is None else self._as_control(op)
        self.building.colocations = begin if companion is None else [*begin, companion]
        before = build_into(here.graph, ROOT)
        try:
            yield
        finally:
            build_into(*before)
            self.building.colocations = outer

    def device(self, device_name_or_function: Any) -> Any:
        """A context that requests a device for operations of this graph."""
        from situs._src.ir.graph.context import device_in

        return device_in(self, device_name_or_function)

    # Finding things.

    @property
    def operations(self) -> tuple[Operation, ...]:
        """All operations, in the order they were made."""
        return tuple(self._operations)

    def __len__(self) -> int:
        return len(self._operations)

    def __bool__(self) -> bool:
        return True

    def get_operations(self) -> list[Operation]:
        """All operations, in the order they were made."""
        return list(self._operations)

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of that name.

        Raises:
            KeyError: there is none.
        """
        _check_text(name, "Operation")
        return self.as_graph_element(name, allow_tensor=False)  # type: ignore[no-any-return]

    def get_tensor_by_name(self, name: str) -> SymbolicTensor:
        """The tensor of that name, such as ``MatMul:0``.

        Raises:
            KeyError: there is none.
        """
        _check_text(name, "Tensor")
        return self.as_graph_element(name, allow_operation=False)  # type: ignore[no-any-return]

    def as_graph_element(self, obj: object, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """The tensor or operation of this graph for an object: itself, by name, or by conversion.

        Raises:
            TypeError: it cannot be converted.
            ValueError: it belongs to another graph, or is the wrong one of the two.
            KeyError: there is none of that name.
        """
        element = getattr(obj, "_as_graph_element", None)
        if callable(element):
            obj = element()
        if isinstance(obj, bytes):
            obj = obj.decode(errors="replace")
        if isinstance(obj, str):
            return self._named(obj, allow_tensor, allow_operation)
        if isinstance(obj, SymbolicTensor) and allow_tensor:
            return self._own(obj, obj.graph, "Tensor")
        if isinstance(obj, Operation) and allow_operation:
            return self._own(obj, obj.graph, "Operation")
        wanted = " or ".join(kind for kind, ok in (("Tensor", allow_tensor), ("Operation", allow_operation)) if ok)
        raise DTypeError(f"Can not convert a {type(obj).__name__} into a {wanted}.")

    def _own(self, obj: object, graph: Graph, kind: str) -> Any:
        if graph is not self:
            raise ArgumentError(f"{kind} {obj} is not an element of this graph.")
        return obj

    def _named(self, name: str, allow_tensor: bool, allow_operation: bool) -> Operation | SymbolicTensor:
        operation, colon, number = name.rpartition(":")
        if colon and allow_tensor:
            return self._named_tensor(name, operation, number)
        if colon or not allow_operation:
            raise self._wrong_form(name, tensor=not colon)
        if name not in self._by_name:
            raise NameNotFoundError(f"The name '{name}' refers to an Operation not in the graph.{self._why(name)}")
        return self._by_name[name]

    def _why(self, name: str) -> str:
        return f" It was left out when the graph was imported: {self.left_out[name]}" if name in self.left_out else ""

    def _wrong_form(self, name: str, tensor: bool) -> InvalidArgumentError:
        if not tensor:
            return ArgumentError(f"The name '{name}' appears to refer to a Tensor, not a Operation.")
        what = "refers to an Operation" if name in self._by_name else "looks like an (invalid) Operation name"
        return ArgumentError(
            f"The name '{name}' {what}, not a Tensor. Tensor names must be of the form \"<op_name>:<output_index>\"."
        )

    def _named_tensor(self, name: str, operation: str, number: str) -> SymbolicTensor:
        if not number.isdecimal() or ":" in operation:
            raise ArgumentError(
                f"The name '{name}' looks a like a Tensor name, but is not a valid one. Tensor names must be of the "
                'form "<op_name>:<output_index>".'
            )
        node = self._by_name.get(operation)
        if node is None:
            raise NameNotFoundError(
                f"The name '{name}' refers to a Tensor which does not exist. The operation, '{operation}', does not "
                f"exist in the graph.{self._why(operation)}"
            )
        if len(number) > 9 or int(number) >= len(node.outputs):  # Python reads no numbers of thousands of digits
            raise NameNotFoundError(
                f"The name '{name}' refers to a Tensor which does not exist. The operation, '{operation}', exists but "
                f"only has {len(node.outputs)} outputs."
            )
        return node.outputs[int(number)]

    def is_feedable(self, tensor: object) -> bool:
        """Whether the tensor can be fed."""
        return _as_element(tensor) not in self.restricted

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """Whether the tensor or operation can be fetched."""
        return _as_element(getattr(tensor_or_op, "op", tensor_or_op)) not in self.restricted

    def prevent_feeding(self, tensor: object) -> None:
        """Forbids feeding this tensor from now on."""
        self.restricted.add(_as_element(tensor))

    def prevent_fetching(self, op: Any) -> None:
        """Forbids fetching this operation, and its results, from now on."""
        self.restricted.add(_as_element(getattr(op, "op", op)))

    # The graph as a whole.

    def finalize(self) -> None:
        """Forbids changes from now on."""
        self._finalized = True

    def reopen(self) -> None:
        """Allows changes again, after a temporary `finalize`."""
        self._finalized = False

    @property
    def finalized(self) -> bool:
        """Whether changes are forbidden."""
        return self._finalized

    def operations_since(self, version: int) -> list[Operation]:
        """The operations that came after the graph had that `version`."""
        return self._operations[version:]

    @property
    def version(self) -> int:
        """A number that grows with the graph."""
        return len(self._operations)

    def as_graph_def(
        self, from_version: int | None = None, add_shapes: bool = False, use_pybind11_proto: bool = False
    ) -> Any:
        """The graph as a ``GraphDef``; with `from_version`, only what came after. The last argument changes nothing."""
        from situs._src.ir.graph.serialize import to_graph_def

        return to_graph_def(self, 0 if from_version is None else from_version, add_shapes)

    def verify(self) -> None:
        """Checks that the graph is well formed; if it is not, that is a bug in Situs.

        Raises:
            InternalError: it is not; the message shows the neighbourhood of the fault.
        """
        from situs._src.ir.graph.verify import verify

        verify(self)

    def __str__(self) -> str:
        from situs._src.ir.graph.printer import graph_text

        return graph_text(self)

    def __repr__(self) -> str:
        return f"<Graph of {len(self)} operations>"


class NameNotFoundError(NotFoundError, KeyError):
    """Nothing in the graph has this name."""

    def __str__(self) -> str:
        return self.message


show_as(NameNotFoundError, KeyError)


def _listed(control_inputs: Any) -> Iterable[Any]:
    """The argument of ``control_dependencies`` as an iterable: a single tensor is allowed, too."""
    one = isinstance(control_inputs, (str, SymbolicTensor, Operation)) or not isinstance(control_inputs, Iterable)
    return [control_inputs] if one or hasattr(control_inputs, "_as_graph_element") else control_inputs


def _as_element(obj: object) -> Any:
    return as_key(obj, "What is fed and fetched are the tensors and operations of a graph")


def _group_of(node: Operation) -> tuple[str, ...]:
    return node.colocated_with or (node.name,)


def _check_text(name: Any, kind: str) -> None:
    if not isinstance(name, str):
        raise DTypeError(f"{kind} names are strings (or similar), not {type(name).__name__}.")
