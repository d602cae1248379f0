"""``tf.variable_scope`` and ``tf.get_variable``: variables found by name.

    with tf.variable_scope("layer"):
        w = tf.get_variable("w", [3, 4])        made: layer/w
    with tf.variable_scope("layer", reuse=True):
        w = tf.get_variable("w", [3, 4])        found: the same variable

A variable scope is two things at once: a prefix of the names of variables, with defaults for their creation, and a name
scope for other operations. Entered a second time it has the same prefix, but another name scope: ``layer/w``, and
operations in ``layer_1/``. Name scopes do not change the names of these variables.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, FailedPreconditionError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor, read
from situs._src.base.tree import listed
from situs._src.base.typing import ArrayLike, DeviceLike, DTypeLike, InitializerLike, ShapeLike
from situs._src.ir.graph.context import current_name_scope, get_default_graph, name_scope
from situs._src.ops.attribute import as_int
from situs._src.ops.indexing import slice as slice_of
from situs._src.runtime.eager.convert import to_array
from situs._src.variables.collections import GraphKeys
from situs._src.variables.partitioned import PartitionedVariable, checked_partitions, pieces
from situs._src.variables.replication import VariableAggregation, VariableSynchronization
from situs._src.variables.slicing import SaveSliceInfo
from situs._src.variables.store import AUTO_REUSE, ReuseMode, VariableStore, default_initializer, store_of
from situs._src.variables.symbolic import here_or, makes_graph_variables


def _check_reuse(reuse: bool | ReuseMode | None) -> None:
    if reuse is not None and reuse is not AUTO_REUSE and not isinstance(reuse, bool):
        raise ArgumentError("The reuse parameter must be True or False or None.")


@export(v1="VariableScope")
class VariableScope:
    """A prefix of variables' names, and defaults for those that are made under it.

    Attributes are what `variable_scope` was given; ``name`` is the prefix without its slash, and
    ``original_name_scope`` the name scope that was opened with it, with its slash.
    """

    def __init__(
        self,
        reuse: bool | ReuseMode | None,
        name: str = "",
        initializer: InitializerLike | None = None,
        regularizer: Callable[..., Any] | None = None,
        caching_device: DeviceLike | None = None,
        partitioner: Callable[..., Any] | None = None,
        custom_getter: Callable[..., Any] | None = None,
        name_scope: str = "",
        dtype: DTypeLike = dt.float32,
        use_resource: bool | None = None,
        constraint: Callable[..., Any] | None = None,
    ) -> None:
        _check_reuse(reuse)
        if not isinstance(name, str):
            raise DTypeError(f"The name of a VariableScope is a string, got {shown(name)}.")
        self.reuse = reuse or False
        self.name = name
        self.initializer = initializer
        self.regularizer = regularizer
        self.caching_device = caching_device
        self.partitioner = partitioner
        self.custom_getter = custom_getter
        self.original_name_scope = name_scope
        self.dtype = as_dtype(dtype)
        self.use_resource = use_resource
        self.constraint = constraint

    def reuse_variables(self) -> None:
        """Lets variables be found, and none be made, from here on."""
        self.reuse = True

    def set_initializer(self, initializer: InitializerLike) -> None:
        """Sets the initializer of variables that are made without one."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: Callable[..., Any]) -> None:
        """Sets the regularizer of variables that are made without one."""
        self.regularizer = regularizer

    def set_caching_device(self, caching_device: DeviceLike) -> None:
        """Sets where variables are read to."""
        self.caching_device = caching_device

    def set_partitioner(self, partitioner: Callable[..., Any]) -> None:
        """Sets how variables are cut into parts."""
        self.partitioner = partitioner

    def set_custom_getter(self, custom_getter: Callable[..., Any]) -> None:
        """Sets the function that is called in place of `get_variable`."""
        self.custom_getter = custom_getter

    def set_dtype(self, dtype: DTypeLike) -> None:
        """Sets the dtype of variables that are made without one."""
        self.dtype = as_dtype(dtype)

    def set_use_resource(self, use_resource: bool | None) -> None:
        """Accepted for TensorFlow's programs: there is one kind of variable."""
        self.use_resource = use_resource

    # The variables under it.

    def global_variables(self) -> list[Any]:
        """The variables whose names begin with this scope's."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """The local variables whose names begin with this scope's."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def trainable_variables(self) -> list[Any]:
        """The trainable variables whose names begin with this scope's."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def get_collection(self, name: Any) -> list[Any]:
        """The items of a collection whose names begin with this scope's."""
        return get_default_graph().get_collection(name, f"{self.name}/" if self.name else None)

    def get_variable(
        self,
        name: str,
        shape: ShapeLike | None = None,
        dtype: DTypeLike | None = None,
        initializer: InitializerLike | None = None,
        **details: Any,
    ) -> Any:
        """The variable of a name under this scope, found or made; the arguments are those of `get_variable`."""
        if not isinstance(name, str) or not name:
            raise DTypeError(f"The name of a variable is a string that is not empty, got {name!r}.")
        store = current_store()
        custom_getter = details.pop("custom_getter", None) or self.custom_getter
        if custom_getter is not None and not callable(custom_getter):
            raise DTypeError(f"A custom_getter is a function, got {shown(custom_getter)}.")
        arguments = self._complete(shape, dtype, initializer, details)
        full = f"{self.name}/{name}" if self.name else name
        with _outside_name_scopes(store):
            if custom_getter is not None:
                return custom_getter(partial(_true_get, store), name=full, **arguments)
            return _true_get(store, full, **arguments)

    def _complete(self, shape: Any, dtype: Any, initializer: Any, details: dict[str, Any]) -> dict[str, Any]:
        """The arguments with this scope's defaults filled in."""
        for name in ("regularizer", "caching_device", "partitioner", "use_resource", "constraint"):
            if details.get(name) is None:
                details[name] = getattr(self, name)
        if details.get("reuse") is None:
            details["reuse"] = self.reuse
        details["synchronization"] = details.get("synchronization") or VariableSynchronization.AUTO
        details["aggregation"] = details.get("aggregation") or VariableAggregation.NONE
        read_late = details.get("synchronization") is VariableSynchronization.ON_READ
        if read_late and details.get("trainable"):
            raise ArgumentError(
                "Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable variables. "
                "You have specified trainable=True and synchronization=VariableSynchronization.ON_READ."
            )
        if details.get("trainable") is None:
            details["trainable"] = not read_late  # what a custom getter is told
        initializer = self.initializer if initializer is None else initializer
        if dtype is None:
            dtype = self.dtype
            if initializer is not None and not callable(initializer):
                dtype = _dtype_of(initializer)
        elif initializer is not None and not callable(initializer) and _dtype_of(initializer) is not as_dtype(dtype):
            raise ArgumentError(
                f"Initializer type '{_dtype_of(initializer)}' and explicit dtype '{as_dtype(dtype)}' don't match."
            )
        return {"shape": shape, "dtype": dtype, "initializer": initializer, **details}


@contextmanager
def _outside_name_scopes(store: VariableStore) -> Iterator[None]:
    """A context outside the name scopes of the store's graph, and of the branches and loops that are made in it."""
    graphs = [store.graph]
    inner = here.graph
    while inner is not None and inner is not store.graph:
        graphs.append(inner)
        inner = inner.outer
    with ExitStack() as scopes:
        for graph in graphs:
            scopes.enter_context(name_scope(None) if graph is None else graph.name_scope(None))
        yield


def _dtype_of(value: ArrayLike) -> dt.DType:
    value = read(value)
    return value.dtype if isinstance(value, Tensor) else to_array(value)[1]


def _true_get(
    store: VariableStore,
    name: str,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike | None = None,
    **arguments: Any,
) -> Any:
    partitioner = arguments.pop("partitioner", None)
    if partitioner is not None and not callable(partitioner):
        raise ArgumentError(f"Partitioner must be callable, but received: {shown(partitioner)}")
    known = store.partitioned.get(name)
    if known is not None and partitioner is None and arguments.get("reuse"):
        return known
    whole = _whole_shape(shape, initializer)
    if partitioner is None or (whole is not None and whole.rank == 0):
        return store.get(name, shape=shape, dtype=dtype, initializer=initializer, **arguments)
    if whole is None or not whole.is_fully_defined():
        raise ArgumentError(
            f"Shape of a new partitioned variable ({name}) must be fully defined, but instead was {whole}."
        )
    counts = checked_partitions(partitioner(shape=whole, dtype=as_dtype(dtype)), whole, name)
    if known is not None:
        return _shared_parts(known, counts, name, arguments.get("reuse"))
    made = [
        _made_part(store, info, f"{name}/part_{number}", dtype, initializer, arguments)
        for number, info in enumerate(pieces(whole, counts, name))
    ]
    found = PartitionedVariable(name, whole, as_dtype(dtype), made, counts)
    if store.graph is not None:
        store.partitioned[name] = found
    return found


def _shared_parts(
    known: PartitionedVariable, counts: list[int], name: str, reuse: bool | ReuseMode | None
) -> PartitionedVariable:
    """A variable in parts that there is, if it may be shared, and is cut as is asked for."""
    if not reuse:
        raise ArgumentError(
            f"Partitioned variable {name} already exists, disallowed. Did you mean to set reuse=True or "
            "reuse=tf.AUTO_REUSE in VarScope?"
        )
    if known._get_partitions() != counts:
        raise ArgumentError(
            f"Trying to reuse partitioned variable {name}, but specified partitions {counts} and found partitions "
            f"{known._get_partitions()}."
        )
    return known


def _whole_shape(shape: Any, initializer: Any) -> TensorShape | None:
    if shape is not None:
        return TensorShape(shape)
    if initializer is None or callable(initializer):
        return None
    value = read(initializer)
    return value.shape if isinstance(value, Tensor) else TensorShape(to_array(value)[0].shape)


def _made_part(
    store: VariableStore, info: SaveSliceInfo, name: str, dtype: Any, initializer: Any, arguments: dict[str, Any]
) -> Any:
    if initializer is None or callable(initializer):
        initializer = _of_part(initializer, info, as_dtype(dtype), name)
        part = store.get(name, shape=info.var_shape, dtype=dtype, initializer=initializer, **arguments)
    else:
        with here_or(store.graph):
            value = slice_of(initializer, info.var_offset, info.var_shape)
        part = store.get(name, dtype=dtype, initializer=value, **arguments)
    part._save_slice_info = info
    return part


def _of_part(initializer: Any, info: SaveSliceInfo, dtype: DType, name: str) -> Any:
    """An initializer that is told which part of a larger variable it makes, if it asks for that."""
    if initializer is None:
        initializer = default_initializer(name, TensorShape(info.full_shape), dtype)
    made: Any = initializer() if inspect.isclass(initializer) else initializer
    try:
        asks = "partition_info" in inspect.signature(made).parameters
    except (TypeError, ValueError):
        asks = False
    return partial(made, partition_info=info) if asks else made


@export(v1="create_partitioned_variables")
def create_partitioned_variables(
    shape: Any,
    slicing: Any,
    initializer: InitializerLike,
    dtype: DTypeLike = dt.float32,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
    name: str | None = None,
    reuse: bool | ReuseMode | None = None,
) -> list[Any]:
    """The parts of a variable that is cut as `slicing` says, as a list; see ``get_variable(partitioner=...)``.

    Args:
        shape: The shape of the whole.
        slicing: How many parts there are in each dimension.
        initializer: The value of the whole, or a function of the shape of a part.
        dtype: The dtype, if the initializer has none.
        trainable: Whether optimizers should change them.
        collections: The collections they join.
        name: The name of the whole; ``PartitionedVariable`` by default, with a number if there has been one.
        reuse: As in a variable scope.
    """
    whole, counts = TensorShape(shape), [as_int(count, "slicing") for count in listed(slicing, "slicing")]
    if not callable(initializer):
        given = _whole_shape(None, initializer)
        if given is not None and not given.is_compatible_with(whole):
            raise ArgumentError(f"The initializer has shape {given}, and the variable {whole}.")
        dtype = _dtype_of(initializer)
    with variable_scope(name, "PartitionedVariable", reuse=reuse) as scope:
        full = scope.name
    arguments: dict[str, Any] = {"trainable": trainable, "collections": collections, "reuse": scope.reuse}
    store = current_store()
    with name_scope(None) if store.graph is None else store.graph.name_scope(None):
        made = _true_get(store, full, whole, dtype, initializer, partitioner=lambda **kwargs: counts, **arguments)
    return list(made)


def current_store() -> VariableStore:
    """The store of the graph being built, or of eager code."""
    if not makes_graph_variables():
        return store_of(None)
    return store_of(here.graph if here.graph is not None else get_default_graph())


@export(v1="get_variable_scope")
def get_variable_scope() -> VariableScope:
    """The variable scope this thread is in."""
    return _scope_in(current_store())


def _scope_in(store: VariableStore) -> VariableScope:
    if store.position.scope is None:
        store.position.scope = VariableScope(False)
    return store.position.scope  # type: ignore[no-any-return]


@export(v1="get_variable")
def get_variable(
    name: str,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool | None = None,
    collections: Sequence[str] | None = None,
    caching_device: DeviceLike | None = None,
    partitioner: Callable[..., Any] | None = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Callable[..., Any] | None = None,
    constraint: Callable[..., Any] | None = None,
    synchronization: VariableSynchronization | None = None,
    aggregation: VariableAggregation | None = None,
) -> Any:
    """The variable of a name in the current variable scope, found or made.

    Args:
        name: The name; the scope's is put before it.
        shape: The shape; needed unless the initializer has one.
        dtype: The dtype; the scope's by default, which is float32 unless it says otherwise.
        initializer: A value, or a function from a shape and a dtype to one; by default the scope's, else
            Glorot's uniform one for floating-point dtypes and zeros for others.
        regularizer: A function from the variable to a loss, which joins ``REGULARIZATION_LOSSES``.
        trainable: Whether optimizers should change it; True by default.
        collections: The collections it joins; ``GLOBAL_VARIABLES`` by default.
        caching_device: Where its value is read to.
        partitioner: A function that says how to cut it into parts; the result is a ``PartitionedVariable``.
        validate_shape: Whether its shape is fixed.
        use_resource: Accepted for TensorFlow's programs: there is one kind of variable.
        custom_getter: A function that is called in place of this one, with it as its first argument.
        constraint: A function that optimizers apply after a change.
        synchronization: Accepted for TensorFlow's programs.
        aggregation: Accepted for TensorFlow's programs.

    Raises:
        ValueError: the scope says that it must be made and there is one, or the other way round; or it has
            another shape or dtype.
    """
    return get_variable_scope().get_variable(
        name,
        shape,
        dtype,
        initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


@export(v1="get_local_variable")
def get_local_variable(name: str, *args: Any, collections: Sequence[str] | None = None, **kwargs: Any) -> Any:
    """The variable of a name, found or made, as `get_variable` does it; it is not saved, nor changed by optimizers."""
    given = () if collections is None else (collections,) if isinstance(collections, str) else collections
    kwargs.update(trainable=False, collections=[*listed(given, "collections"), GraphKeys.LOCAL_VARIABLES])
    return get_variable(name, *args, **kwargs)


@export(v1="no_regularizer")
def no_regularizer(_: Any) -> None:
    """A regularizer that adds no loss; it stands where a scope's should not hold."""


@export(v1="variable_scope")
class variable_scope:  # noqa: N801 - the name programs use
    """A context that puts a name and a slash before the names of variables, and opens a name scope.

    Args:
        name_or_scope: A name, or a `VariableScope` to enter again.
        default_name: What to take if `name_or_scope` is None, with a number if there has been one.
        values: Accepted for TensorFlow's programs.
        initializer: For variables that are made without one; so with the other arguments of `get_variable`.
        regularizer: See `get_variable`.
        caching_device: See `get_variable`.
        partitioner: See `get_variable`.
        custom_getter: See `get_variable`; it is given the one of the scope around it as its getter.
        reuse: True to find variables, `AUTO_REUSE` to find or make them; None for what holds around it.
        dtype: See `get_variable`.
        use_resource: See `get_variable`.
        constraint: See `get_variable`.
        auxiliary_name_scope: Whether a name scope is opened.
    """

    def __init__(
        self,
        name_or_scope: Any,
        default_name: str | None = None,
        values: ArrayLike | None = None,
        initializer: InitializerLike | None = None,
        regularizer: Callable[..., Any] | None = None,
        caching_device: DeviceLike | None = None,
        partitioner: Callable[..., Any] | None = None,
        custom_getter: Callable[..., Any] | None = None,
        reuse: bool | ReuseMode | None = None,
        dtype: DTypeLike | None = None,
        use_resource: bool | None = None,
        constraint: Callable[..., Any] | None = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if name_or_scope is None and default_name is None:
            raise DTypeError("If default_name is None then name_or_scope is required")
        if not isinstance(default_name, (str, type(None))):
            raise DTypeError(f"VariableScope: default_name must be a string, got {shown(default_name)}.")
        if not isinstance(name_or_scope, (str, VariableScope, type(None))):
            raise DTypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        _check_reuse(reuse)
        if not isinstance(auxiliary_name_scope, bool):
            raise DTypeError(f"The auxiliary_name_scope must be `True` or `False`, while get {auxiliary_name_scope}")
        self._name_or_scope = name_or_scope
        self._default_name = default_name
        self._reuse = reuse or None
        self._opens_name_scope = auxiliary_name_scope
        self._custom_getter = custom_getter
        self._changes = {
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "partitioner": partitioner,
            "dtype": None if dtype is None else as_dtype(dtype),
            "use_resource": use_resource,
            "constraint": constraint,
        }
        self._entered: list[tuple[VariableStore, VariableScope, Any, AbstractContextManager[str], VariableScope]] = []

    def __enter__(self) -> VariableScope:
        store = current_store()
        outer, opened = _scope_in(store), copy.copy(store.position.opened)
        name, name_scope = self._names(store, outer)
        names = self._name_scope(store, name_scope)
        scope = self._new_scope(outer, name, names.__enter__())
        self._entered.append((store, outer, opened, names, scope))
        store.position.scope = scope
        store.position.opened[scope.name] += 1
        return scope

    def __exit__(self, *error: Any) -> None:
        store, outer, opened, names, entered = self._entered.pop()
        left = store.position.scope
        store.position.scope = outer
        if isinstance(self._name_or_scope, VariableScope):
            store.position.opened = opened
        else:
            for name in [n for n in store.position.opened if n.startswith(f"{left.name}/")]:
                del store.position.opened[name]  # numbers of default names begin again when a scope is entered again
        names.__exit__(*error)
        if left is not entered:
            raise FailedPreconditionError("Improper nesting of variable_scope.")

    def _names(self, store: VariableStore, outer: VariableScope) -> tuple[str, str]:
        """The name of the scope's own part of the prefix, and the name scope to open."""
        given = self._name_or_scope
        if isinstance(given, VariableScope):
            return given.name, given.name.rpartition("/")[2]
        if isinstance(given, str):
            return given, given
        if self._reuse:
            raise ArgumentError("reuse=True cannot be used without a name_or_scope")
        assert self._default_name is not None
        return _unused(store, outer.name, self._default_name), self._default_name

    def _name_scope(self, store: VariableStore, name: str) -> AbstractContextManager[str]:
        """The name scope to open; that of the empty default name is the outermost."""
        graph = here.graph if here.graph is not None else store.graph
        if self._opens_name_scope and (name or self._name_or_scope is None):
            return name_scope(name) if graph is None else graph.name_scope(name)
        current = current_name_scope() if graph is None else graph.get_name_scope()
        return nullcontext(f"{current}/" if current and not self._opens_name_scope else "")

    def _new_scope(self, outer: VariableScope, name: str, name_scope: str) -> VariableScope:
        given = self._name_or_scope
        if isinstance(given, VariableScope):
            scope = copy.copy(given)
            scope.reuse = self._reuse or given.reuse
        else:
            scope = copy.copy(outer)
            scope.name = f"{outer.name}/{name}" if outer.name else name  # "a/" for an empty name, as in checkpoints
            scope.original_name_scope = name_scope
            scope.reuse = self._reuse or outer.reuse
        for attribute, value in self._changes.items():
            if value is not None:
                setattr(scope, attribute, value)
        if self._custom_getter is not None:
            scope.custom_getter = _composed(self._custom_getter, scope.custom_getter)
        return scope


def _unused(store: VariableStore, outer: str, name: str) -> str:
    """The name, or the name with the first number under which no scope has been opened."""
    prefix = f"{outer}/" if outer else ""
    opened, number, unused = store.position.opened, 0, name
    while opened[f"{prefix}{unused}"]:
        number += 1
        unused = f"{name}_{number}"
    return unused


def _composed(inner: Any, outer: Any) -> Any:
    """A custom getter whose getter is another custom getter."""
    if outer is None:
        return inner
    return lambda getter, *args, **kwargs: inner(partial(outer, getter), *args, **kwargs)


@export(v1="variable_op_scope")
def variable_op_scope(
    values: ArrayLike, name_or_scope: str | VariableScope, default_name: str | None = None, **kwargs: Any
) -> variable_scope:
    """The old spelling of `variable_scope`."""
    return variable_scope(name_or_scope, default_name, values, **kwargs)
