"""The variables created by ``tf.get_variable``, by name; every graph has its own store.

A variable is found by its full name, ``scope/name``. Whether it may, must or must not exist already depends on the
variable scope: ``reuse`` is None, True or `AUTO_REUSE`.
"""

from __future__ import annotations

import enum
import inspect
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.typing import DTypeLike, InitializerLike
from situs._src.ir.graph.context import process_graph
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.origin import text_of
from situs._src.ops.constant import convert_to_tensor
from situs._src.variables.collections import GraphKeys
from situs._src.variables.initializers import GlorotUniform, Zeros
from situs._src.variables.symbolic import RefVariable


class ReuseMode(enum.Enum):
    """How a variable scope shares variables, besides True and None."""

    AUTO_REUSE = 1


AUTO_REUSE = ReuseMode.AUTO_REUSE
export(v1="AUTO_REUSE")(AUTO_REUSE)


class _Position(threading.local):
    """Where one thread is: its variable scope, and how often it has opened each.

    Attributes:
        kept: In eager code, the variables of the template that is being called, by name; None if none is.
    """

    def __init__(self) -> None:
        self.kept: dict[str, Any] | None = None
        self.scope: Any = None  # set by situs._src.variables.scope, which lies above
        self.opened: Counter[str] = Counter()


class VariableStore:
    """Variables by name. That of eager code has no graph and keeps nothing but for templates: its variables are
    Python's objects."""

    def __init__(self, graph: Graph | None = None) -> None:
        self.graph = graph
        self.variables: dict[str, RefVariable] = {}
        self.partitioned: dict[str, Any] = {}
        self.position = _Position()

    def get(
        self,
        name: str,
        shape: Any = None,
        dtype: DTypeLike | None = None,
        initializer: InitializerLike | None = None,
        regularizer: Callable[[Any], Any] | None = None,
        reuse: bool | ReuseMode | None = None,
        **details: Any,
    ) -> Any:
        """The variable of a name, found or made.

        Args:
            name: The full name.
            shape: Its shape; not to be given with an initializer that is a value.
            dtype: Its dtype.
            initializer: A value, a function of a shape, or a function of nothing.
            regularizer: A function from the variable to a loss, which joins ``REGULARIZATION_LOSSES``.
            reuse: Whether it is to be found (True), to be made (None), or either.
            details: What `RefVariable` is given besides.
        """
        is_value = initializer is not None and not callable(initializer)
        if is_value and shape is not None:
            raise ArgumentError("If initializer is a constant, do not specify shape.")
        wanted = None if shape is None else TensorShape(shape)
        known = self.variables if self.graph is not None else self.position.kept
        if known is not None and name in known:
            return _found(known[name], name, wanted, as_dtype(dtype), reuse)
        if reuse is True and known is not None:
            raise ArgumentError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you mean to set "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
        made = _made(name, wanted, as_dtype(dtype), initializer, details)
        if known is not None:
            known[name] = made
        if regularizer is not None:
            _regularize(self.graph, name, made, regularizer)
        return made


def _found(found: Any, name: str, shape: TensorShape | None, dtype: DType, reuse: bool | ReuseMode | None) -> Any:
    """A variable that there is, if it may be shared, and is what is asked for."""
    is_symbolic = isinstance(found, RefVariable)
    if not reuse:
        where = f" Originally defined at:\n\n{text_of(found.op.made_at)}" if is_symbolic else ""
        raise ArgumentError(
            f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in "
            f"VarScope?{where}"
        )
    if shape is not None and not shape.is_compatible_with(found.shape):
        raise ArgumentError(
            f"Trying to share variable {name}, but specified shape {shape} and found shape {found.shape}."
        )
    if dtype is not found.dtype:
        raise ArgumentError(
            f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
            f"{found.dtype.name}{'_ref' if is_symbolic else ''}."
        )
    return found


_STORE = "__variable_store"  # a collection: what is kept there lives as long as the graph
_eager_stores: WeakKeyDictionary[Graph, VariableStore] = WeakKeyDictionary()  # numbers begin again with a reset


def store_of(graph: Graph | None) -> VariableStore:
    """The store of a graph; that of eager code for None."""
    if graph is None:
        process = process_graph()
        return _eager_stores.get(process) or _eager_stores.setdefault(process, VariableStore())
    found = graph.get_collection_ref(_STORE)
    if not found:
        found.append(VariableStore(graph))
    return found[0]  # type: ignore[no-any-return]


# Making variables.


def _made(name: str, shape: TensorShape | None, dtype: DType, initializer: Any, details: dict[str, Any]) -> RefVariable:
    if initializer is None:
        initializer = default_initializer(name, shape, dtype)
    if not callable(initializer):
        return RefVariable(initializer, name=name, **details)
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape is not None and shape.is_fully_defined():
        return RefVariable(_of_shape(initializer, shape, dtype), name=name, dtype=dtype, shape=shape, **details)
    if _needs_no_arguments(initializer):
        return RefVariable(initializer, name=name, **details)
    raise ArgumentError(
        f"The initializer passed is not valid. It should be a callable with no arguments and the shape should not be "
        "provided or an instance of `tf.keras.initializers.*' and `shape` should be fully defined. "
        f"Variable {name} has shape {shape}."
    )


def default_initializer(name: str, shape: TensorShape | None, dtype: DType) -> GlorotUniform | Zeros:
    """What a variable is initialized by that got no initializer.

    Raises:
        ValueError: its shape is not known, or there is none for its dtype.
    """
    if shape is None:
        raise ArgumentError(f"Variable {name} did not get an initializer, so its `shape` argument must be specified.")
    if dtype.is_floating:
        return GlorotUniform()
    if dtype.is_integer or dtype.is_bool or dtype.name == "string":
        return Zeros()
    raise ArgumentError(f"An initializer for variable {name} of {dtype} is required")


def _of_shape(initializer: Any, shape: TensorShape, dtype: DType) -> Callable[[], Any]:
    """A function of nothing, as `RefVariable` takes it."""
    return partial(initializer, shape.as_list(), dtype=dtype)


def _needs_no_arguments(initializer: Any) -> bool:
    try:
        parameters = inspect.signature(initializer).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


def _regularize(graph: Graph | None, name: str, variable: Any, regularizer: Callable[[Any], Any]) -> None:
    if not callable(regularizer):
        raise DTypeError(f"A regularizer is a function of a variable, got {shown(regularizer)}.")
    if graph is None:
        loss = regularizer(variable)
    else:
        with graph.colocate_with(variable.op), graph.name_scope(f"{name}/Regularizer/"):
            loss = regularizer(variable)
    if loss is not None:
        collected = process_graph() if graph is None else graph
        collected.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, convert_to_tensor(loss))
