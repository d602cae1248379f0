"""Variables of graphs: what ``tf.Variable`` creates in the TensorFlow 1 dialect.

A variable ``a`` is four operations:

    a                    Variable     its state, per session
    a/initial_value      Const        what it begins with (any operation may give it)
    a/Assign             Assign       puts it there: the initializer
    a/read               Identity     what it holds; this is what ops are given when they are given ``a``

Assignments are on the device of ``a``, because they are colocated with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import ROOT, build_into, here
from situs._src.base.devices.scope import device as device_scope
from situs._src.base.dtype import as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.base.tensor import Tensor, read
from situs._src.base.tree import flatten
from situs._src.base.typing import ArrayLike, DeviceLike, DTypeLike, SessionLike, ShapeLike
from situs._src.ir.graph.context import get_default_graph, init_scope, session_for
from situs._src.ir.graph.function import outermost
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import Op, find_op
from situs._src.ops import operators
from situs._src.ops.array import identity
from situs._src.ops.attribute import as_bool, as_int
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.control import cond
from situs._src.runtime.symbolic.bind import SymbolicBinder
from situs._src.runtime.symbolic.build import apply
from situs._src.variables import state_ops
from situs._src.variables.collections import GraphKeys
from situs._src.variables.creators import Created
from situs._src.variables.dependency import independent
from situs._src.variables.eager import Variable
from situs._src.variables.parts import install_parts
from situs._src.variables.replication import VariableAggregation, VariableSynchronization, check_constraint, settled
from situs._src.variables.slicing import SaveSliceInfo
from situs._src.variables.updates import Updatable

if TYPE_CHECKING:
    from situs._src.base.proto.meta_graph import VariableDef


def _found_or_to_feed(graph: Graph, name: str, dtype: dt.DType) -> Any:
    """An operation or tensor; if it was left out when the graph was imported, what has to be fed in its place."""
    operation = name.partition(":")[0]
    if operation not in graph.left_out:
        return graph.as_graph_element(name)
    stand_in: Any = find_op("Placeholder")(dtype=dtype, shape=UNKNOWN, name=f"{operation}_left_out")
    return stand_in if ":" in name else stand_in.op


@export(
    v1="Variable",
    differs="In graphs the operations Variable, Assign and Identity, as in TensorFlow's first releases, not "
    "VariableV2 or a resource; op.type is Variable.",
)
class RefVariable(Updatable, metaclass=Created):
    """A variable of a graph.

    Args:
        initial_value: What it begins with: a tensor, anything `tf.constant` takes, or a function that gives one.
        trainable: Whether optimizers should change it.
        collections: The collections it joins; ``GLOBAL_VARIABLES`` by default.
        validate_shape: Whether its shape is fixed; False lets every assignment choose it.
        caching_device: Where its value is read to.
        name: A name; ``Variable`` by default.
        dtype: The dtype; by default that of the initial value.

    Example:
        >>> import situs.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     a = tf.Variable(3.0, name="a")
        ...     [operation.name for operation in tf.get_default_graph().get_operations()]
        ['a/initial_value', 'a', 'a/Assign', 'a/read']
    """

    __array_priority__ = 100
    arguments = (
        *("initial_value", "trainable", "collections", "validate_shape", "caching_device", "name", "variable_def"),
        *("dtype", "expected_shape", "import_scope", "constraint", "use_resource", "synchronization", "aggregation"),
        "shape",
    )

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """A variable of the graph being built; an eager one where ops run at once."""
        if not makes_graph_variables():
            given = {**dict(zip(cls.arguments, args, strict=False)), **kwargs}
            return Variable(**{k: v for k, v in given.items() if k not in _GRAPH_ONLY})
        return super().__new__(cls)

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Sequence[str] | None = None,
        validate_shape: bool = True,
        caching_device: DeviceLike | None = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: DTypeLike | None = None,
        expected_shape: ShapeLike | None = None,
        import_scope: Any = None,
        constraint: Callable[[Tensor], Tensor] | None = None,
        use_resource: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: ShapeLike | None = None,
    ) -> None:
        if variable_def is not None:
            if initial_value is not None:
                raise ArgumentError("variable_def and initial_value are mutually exclusive.")
            self._found_in(here.graph if here.graph is not None else get_default_graph(), variable_def, import_scope)
            return
        if initial_value is None:
            raise ArgumentError("initial_value must be specified.")
        check_constraint(constraint)
        self._synchronization, self._aggregation, self.trainable = settled(
            synchronization, aggregation, None if trainable is None else bool(trainable), name
        )
        self.constraint = constraint
        if collections is not None and not isinstance(collections, (list, tuple, set)):
            raise ArgumentError(
                "collections argument to Variable constructor must be a list, tuple, or set. "
                f"Got {collections} of type {type(collections)}"
            )
        self._stands_alone = use_resource is None or as_bool(use_resource, "use_resource")
        self._read_before_changes = caching_device is not None and bool(use_resource)
        graph = here.graph if here.graph is not None else get_default_graph()
        with graph.as_default(), init_scope(), here.graph.control_dependencies(None):
            self._build(initial_value, validate_shape, caching_device, name, dtype, shape)
            self._join(collections)

    def _build(
        self, initial_value: Any, validate_shape: bool, caching_device: Any, name: str | None, dtype: Any, shape: Any
    ) -> None:
        graph = here.graph
        wanted = None if dtype is None else as_dtype(dtype)
        computed = _is_function(initial_value)
        with graph.name_scope("Variable" if name is None else name) as inside:
            self._initial_value = _initial_tensor(graph, initial_value, wanted, inside)
            first = self._initial_value.shape if shape is None else TensorShape(shape)
            if as_bool(validate_shape, "validate_shape") and not first.is_fully_defined() and shape is None:
                raise ArgumentError(
                    f"initial_value must have a shape specified: {self._initial_value}. Give it one, or pass "
                    "validate_shape=False."
                )
            self._shape = first if validate_shape else UNKNOWN
            self._variable = self._add_state(graph, inside)
            if computed:
                self._variable.op.colocated_with = (inside[:-1],)
            with graph.colocate_with(self._variable.op):
                self._initializer = apply(
                    state_ops.assign,
                    (self._variable, self._initial_value),
                    {"validate_shape": validate_shape},
                    "Assign",
                    graph=graph,
                ).op
            self._snapshot = self._add_read(graph, caching_device)

    def begin_with(self, initial_value: Callable[[], Any]) -> None:
        """Lets its initializer put another value in its place: the one that a function gives."""
        with (
            self.graph.as_default(),
            init_scope(),
            here.graph.control_dependencies(None),
            here.graph.name_scope(f"{self.op.name}/"),
            here.graph.colocate_with(self._variable.op),
        ):
            value: Any = convert_to_tensor(initial_value(), self.dtype)
            self._initial_value = value
            self._initializer = apply(state_ops.assign, (self._variable, value), {}, "Assign", graph=here.graph).op

    def _add_state(self, graph: Graph, inside: str) -> SymbolicTensor:
        attrs = {
            "shape": self._shape,
            "shared_name": inside[:-1],
            "cell": None,
            "dtype": self._initial_value.dtype,
        }
        result = (state_ops.variable.outputs[0], self._initial_value.dtype, self._shape)
        types = {"dtype": self._initial_value.dtype}
        return graph.add(state_ops.variable, (), attrs, types, [result], inside).outputs[0]

    def _add_read(self, graph: Graph, caching_device: Any) -> Tensor:
        if caching_device is not None:
            around = graph.colocate_with(None, ignore_existing=True) if self._stands_alone else nullcontext()
            with around, device_scope(caching_device):
                # The state itself is what one reads of it; a copy of that stays as it is when the state changes.
                state = identity(self._variable, name="state") if self._read_before_changes else self._variable
                return identity(state, name="read")
        with graph.colocate_with(self._variable.op):
            return identity(self._variable, name="read")

    def _join(self, collections: Any) -> None:
        names = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if self.trainable and GraphKeys.TRAINABLE_VARIABLES not in names:
            names.append(GraphKeys.TRAINABLE_VARIABLES)
        self.graph.add_to_collections(names, self)

    # As a message.

    def to_proto(self, export_scope: str | None = None) -> VariableDef | None:
        """The names of its operations as a message; None if it is not in a scope that was asked for.

        Args:
            export_scope: A name scope, whose name is left out of the names.
        """
        from situs._src.base.proto.meta_graph import VariableDef  # here, because it loads protobuf

        scope = "" if export_scope is None else f"{export_scope}/"
        if not self.name.startswith(scope):
            return None
        message = VariableDef(
            variable_name=self.name.removeprefix(scope),
            initializer_name=self._initializer.name.removeprefix(scope),
            snapshot_name=_name(self._snapshot).removeprefix(scope),
            initial_value_name=_name(self._initial_value).removeprefix(scope),
            trainable=self.trainable,
            synchronization=self._synchronization.value,
            aggregation=self._aggregation.value,
        )
        if self._save_slice_info is not None:
            message.save_slice_info_def.CopyFrom(self._save_slice_info.to_proto(export_scope))
        return message

    @staticmethod
    def from_proto(variable_def: VariableDef, import_scope: str | None = None) -> RefVariable:
        """The variable of the default graph that a message names.

        Args:
            variable_def: The message.
            import_scope: A name scope, whose name goes before the names.

        Raises:
            InvalidArgumentError: the graph has no such variable.
        """
        made = object.__new__(RefVariable)
        made._found_in(here.graph if here.graph is not None else get_default_graph(), variable_def, import_scope)
        return made

    def _found_in(self, graph: Graph, message: VariableDef, import_scope: str | None) -> None:
        """Makes this the variable of operations that are there."""
        from situs._src.base.proto.meta_graph import VariableDef  # here, because it loads protobuf

        if not isinstance(message, VariableDef):
            raise DTypeError(f"A variable is found by a VariableDef, got {shown(message)}.")
        scope = f"{import_scope}/" if import_scope else ""
        state = graph.as_graph_element(scope + message.variable_name)
        if not isinstance(state, SymbolicTensor) or state.op.type != "Variable":
            raise ArgumentError(
                f"'{message.variable_name}' is called a variable, but this graph has none of that name."
            )
        self._variable, self._shape = state, state.shape
        self._read_before_changes = False
        self._initializer = _found_or_to_feed(graph, scope + message.initializer_name, state.dtype)
        self._snapshot = graph.as_graph_element(scope + message.snapshot_name)
        self._initial_value = _found_or_to_feed(graph, scope + message.initial_value_name, state.dtype)
        self.trainable, self.constraint = message.trainable, None
        self._synchronization = VariableSynchronization(message.synchronization)
        self._aggregation = VariableAggregation(message.aggregation)
        if message.HasField("save_slice_info_def"):
            self._save_slice_info = SaveSliceInfo(save_slice_info_def=message.save_slice_info_def)

    # What it is.

    SaveSliceInfo = SaveSliceInfo
    _save_slice_info: Any = None  # of a part of a larger variable: a `SaveSliceInfo`

    @property
    def synchronization(self) -> VariableSynchronization:
        """What it was made with; a session has one copy of it."""
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        """What it was made with; a session has one copy of it."""
        return self._aggregation

    @property
    def handle(self) -> SymbolicTensor:
        """The tensor of its state, which ops on variables take."""
        return self._variable

    def is_initialized(self, name: str | None = None) -> Tensor:
        """A tensor that says whether it has a value in the session that computes it."""
        with here_or(self.graph):
            return state_ops.is_initialized(self._variable, name=name)

    @property
    def name(self) -> str:
        """The name of its state: ``a:0``."""
        return self._variable.name

    @property
    def op(self) -> Operation:
        """The operation that is its state."""
        return self._variable.op

    @property
    def graph(self) -> Graph:
        """The graph it belongs to."""
        return self._variable.graph

    @property
    def dtype(self) -> dt.DType:
        """The dtype of the elements."""
        return self._variable.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is fixed."""
        return self._variable.shape

    @property
    def device(self) -> str:
        """The device that the program asked for; empty if it did not."""
        return self._variable.device

    @property
    def initializer(self) -> Operation:
        """The operation that gives it its first value."""
        return self._initializer  # type: ignore[no-any-return]

    @property
    def initial_value(self) -> Tensor:
        """The tensor it begins with."""
        return self._initial_value

    def get_shape(self) -> TensorShape:
        """The same as ``shape``, of which all dimensions have a ``value``."""
        return self._variable.get_shape()

    def set_shape(self, shape: Any) -> None:
        """Adds to what is known of the shape."""
        self._variable.set_shape(shape)
        self._snapshot.set_shape(shape)  # type: ignore[attr-defined]

    # Its value.

    def value(self) -> Tensor:
        """What it holds, as read at the start of a run."""
        return self._snapshot

    def read_value(self) -> Tensor:
        """What it holds, read by an operation of its own."""
        with here_or(self.graph):
            return identity(self._variable, name="read")

    def initialized_value(self) -> Tensor:
        """What it holds if it has been initialized, else its initial value."""
        with here_or(self.graph), init_scope():
            known = state_ops.is_initialized(self._variable)
            return cond(known, self.read_value, lambda: self._initial_value)  # type: ignore[no-any-return]

    def eval(self, session: SessionLike | None = None) -> Any:
        """What it holds in a session, or in the default one."""
        return self._snapshot.eval(session=session)  # type: ignore[attr-defined]

    def load(self, value: ArrayLike, session: SessionLike | None = None) -> None:
        """Puts a value in its place in a session, or in the default one."""
        found = session_for(session, self.graph, "load variable", "load")
        found.run(self._initializer, {self._initializer.inputs[1]: value})

    def __tensor__(self) -> Tensor:
        graph = here.graph
        if graph is not None and graph is not self._variable.graph and getattr(graph, "runs_effects", False):
            return identity(graph.capture(self._variable))  # a traced function reads what it holds when it runs
        return self._snapshot

    def _as_graph_element(self) -> SymbolicTensor:
        return self._snapshot if self._read_before_changes else self._variable  # type: ignore[return-value]

    def ref(self) -> Any:
        """A hashable reference to this variable."""
        return Tensor.ref(self)  # type: ignore[arg-type]

    def __iter__(self) -> Any:
        raise DTypeError("'Variable' object is not iterable.")

    def __hash__(self) -> int:
        return id(self)

    def __copy__(self) -> RefVariable:
        return self

    def __reduce__(self) -> Any:
        raise DTypeError(
            f"cannot pickle or copy the variable {self.name}: it belongs to a graph, and a session holds its value. "
            "tf.train.Saver saves the values of variables."
        )

    # Assignment.

    def assign(
        self, value: ArrayLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """An operation that gives the variable a new value; its tensor is the state afterwards."""
        return self._changed(state_ops.assign, value, name, read_value)

    def assign_add(
        self, delta: ArrayLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """An operation that adds `delta`."""
        return self._changed(state_ops.assign_add, delta, name, read_value)

    def assign_sub(
        self, delta: ArrayLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """An operation that subtracts `delta`."""
        return self._changed(state_ops.assign_sub, delta, name, read_value)

    def count_up_to(self, limit: int) -> Tensor:
        """An operation that returns the value and adds 1, until it reaches `limit`."""
        return self._update(state_ops.count_up_to, (), {"limit": as_int(limit, "limit")}, None)  # type: ignore[no-any-return]

    def _changed(self, update: Op, value: ArrayLike, name: str | None, read_value: bool) -> Any:
        made = self._update(update, (value,), {}, name)
        return made if read_value else made.op

    def _update(self, update: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], name: str | None) -> Any:
        graph = here.graph if here.graph is not None else self.graph
        with here_or(graph):
            state = graph.capture(self._variable)
            unique = graph.claim_name(update, name)
            # What is assigned goes where the scopes say; only the assignment is with the variable.
            args, _ = SymbolicBinder(graph, unique).bind(update, (state, *inputs), update.complete_attrs(attrs))
            # A copy that others read is made before the state changes: which of the two they see is not left to chance.
            before = graph.control_dependencies([self._snapshot]) if self._read_before_changes else nullcontext()
            with graph.colocate_with(state.op), before:
                return apply(update, args, attrs, f"{unique}/", graph=graph)

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}_ref>"


_GRAPH_ONLY = frozenset({"collections", "expected_shape", "use_resource"})
eager_by_default: Callable[[], bool] = lambda: False  # noqa: E731 - the frontend of TensorFlow 1 puts its own here


def makes_graph_variables() -> bool:
    """Whether variables made now belong to a graph: not in eager code, and not in a ``tf.function`` that it calls."""
    return not (eager_by_default() if here.graph is None else outermost(here.graph).compares_elements)


def _name(tensor: Any) -> str:
    return tensor.name  # type: ignore[no-any-return]


def _is_function(value: object) -> bool:
    return callable(value) and not isinstance(value, (Tensor, RefVariable, Variable))


def _initial_tensor(graph: Graph, value: Any, wanted: dt.DType | None, inside: str) -> SymbolicTensor:
    if _is_function(value):
        with with_variable(graph, inside[:-1]), graph.name_scope("Initializer"):
            return _initial_tensor(graph, value(), wanted, inside)
    if isinstance(value, RefVariable):
        value = value.initialized_value()
    tensor = _as_tensor(value, wanted)
    if not isinstance(tensor, SymbolicTensor):  # an eager one: its value becomes a constant of the graph
        tensor = identity(tensor)
    assert isinstance(tensor, SymbolicTensor)
    return independent(graph, tensor, inside[:-1])


def _as_tensor(value: ArrayLike, wanted: dt.DType | None) -> Tensor:
    value = read(value)
    if isinstance(value, Tensor) or any(isinstance(read(leaf), Tensor) for leaf in flatten(value)):
        return convert_to_tensor(value, wanted)
    return constant(value, wanted, name="initial_value")


@contextmanager
def with_variable(graph: Graph, name: str) -> Iterator[None]:
    """A context whose operations go to the device of the variable `name`, which is to be made afterwards."""
    outer = graph.building.colocations
    graph.building.colocations = [None, _ToBe(name)]  # type: ignore[list-item]
    before = build_into(here.graph, ROOT)
    try:
        yield
    finally:
        build_into(*before)
        graph.building.colocations = outer


class _ToBe:
    """Stands for an operation that does not exist yet, where others are colocated with it."""

    device = ""
    colocated_with: tuple[str, ...] = ()

    def __init__(self, name: str) -> None:
        self.name = name


def here_or(graph: Graph | None) -> Any:
    """A context that builds into `graph`, unless a graph is being built already; for None, eager code goes on."""
    return nullcontext() if here.graph is not None or graph is None else graph.as_default()


operators.install(RefVariable)
operators.install_named(RefVariable)
install_parts(RefVariable)
# The operators compare elements; variables of graphs are compared themselves, as keys of dictionaries must be.
RefVariable.__eq__ = lambda self, other: self is other  # type: ignore[method-assign]
RefVariable.__ne__ = lambda self, other: self is not other  # type: ignore[method-assign]
