"""The current graph, and the default session.

Each thread has a stack of default graphs; at its bottom is one graph of the process, which programs of the TensorFlow 1
dialect build into implicitly. A graph that is made the default starts outside the enclosing device scopes: device
scopes belong to the graph they were opened in.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from situs._src.base import locks
from situs._src.base.devices.scope import ROOT, as_request, build_into, device, here
from situs._src.base.errors import ArgumentError, DTypeError, FailedPreconditionError, shown
from situs._src.base.export import export
from situs._src.base.tree import listed
from situs._src.base.typing import SessionLike
from situs._src.ir.graph.function import outermost
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.names import check_is_text
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor


class _Stacks(threading.local):
    def __init__(self) -> None:
        self.graphs: list[Graph] = []
        self.sessions: list[Any] = []
        self.eager_scope = ""  # the name scope of eager code


_stacks = _Stacks()
_process_graph = Graph()
_lock = locks.lock()


def build_by_default() -> None:
    """Makes this thread's ops build the process's graph from here on, also outside of any ``as_default``."""
    if here.graph is None:
        build_into(get_default_graph(), here.scope)


@export(v1="get_default_graph", as_is=True)
def get_default_graph() -> Graph:
    """The graph that this thread's ops are added to."""
    return _stacks.graphs[-1] if _stacks.graphs else _process_graph


def process_graph() -> Graph:
    """The graph of the process, which also has the collections of eager code."""
    return _process_graph


@export(v1="reset_default_graph", as_is=True)
def reset_default_graph() -> None:
    """Replaces the process's default graph by an empty one.

    Raises:
        AssertionError: a graph is the default by ``as_default``.
    """
    global _process_graph
    if _stacks.graphs:
        raise NestedGraphError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit the nesting "
            "and create a new graph."
        )
    with _lock:
        _process_graph = Graph()
    if here.graph is not None:
        build_into(_process_graph, here.scope)


class NestedGraphError(FailedPreconditionError, AssertionError):
    """The default graph cannot be replaced while another one is nested in it."""


class NestingError(FailedPreconditionError, AssertionError):
    """Contexts must be left in reverse order."""


@contextmanager
def as_default(graph: Graph) -> Iterator[Graph]:
    """A context in which this thread's ops are added to `graph`, under the device scopes opened in that graph."""
    left, entered = outermost(get_default_graph()).building, outermost(graph).building
    kept = left.scope
    if left is not entered:
        left.scope = here.scope
    before = build_into(graph, here.scope if left is entered else entered.scope)
    depth = len(_stacks.graphs)
    _stacks.graphs.append(graph)
    try:
        yield graph
    finally:
        nested = len(_stacks.graphs) == depth + 1
        if len(_stacks.graphs) > depth:  # else an outer context has been left already
            del _stacks.graphs[depth:]
            build_into(*before)
            left.scope = kept
    if not nested:
        raise NestingError(f"Nesting violated for default stack of {type(graph)} objects")


def device_in(graph: Graph, name: Any) -> AbstractContextManager[None] | device:
    """A context that requests a device for operations of `graph`, whether or not it is the default."""
    if outermost(get_default_graph()) is outermost(graph):
        return device(name)
    return _device_elsewhere(outermost(graph), as_request(name))


@contextmanager
def _device_elsewhere(graph: Graph, request: Any) -> Iterator[None]:
    outer = graph.building.scope
    entered = graph.building.scope = outer.child(request)
    try:
        yield
    finally:
        nested = graph.building.scope is entered
        graph.building.scope = outer if nested else ROOT
    if not nested:
        raise FailedPreconditionError("Exiting device scope without proper scope nesting.")


@export("init_scope", as_is=True)
@contextmanager
def init_scope() -> Iterator[None]:
    """A context outside all function graphs and control flow: what is created here lives as long as the program.

    The name scope is kept.
    """
    graph = None if here.graph is None else outermost(here.graph)
    names = _names_inside(here.graph)
    if graph is None or graph.compares_elements:  # a tf.function is called by eager code
        outside = here.scope if here.scope is not ROOT else getattr(graph, "called_under", ROOT)
        before = build_into(None, outside)
        try:
            with nullcontext() if graph is None else _eager_scope(names):
                yield
        finally:
            build_into(*before)
    else:
        with as_default(graph), graph.name_scope(names), graph.control_dependencies(None):
            yield


def _names_inside(graph: Graph | None) -> str:
    """The name scope of a graph, to be entered; that of a branch or a loop is inside the outer one."""
    found: list[str] = []
    while graph is not None:
        found = [graph.get_name_scope(), *found]
        graph = None if graph.is_function else graph.outer
    names = "/".join(filter(None, found))
    return f"{names}/" if names else ""


# Scopes of the default graph.


@export("name_scope", v1=())
class name_scope:  # noqa: N801 - the name programs use
    """A context that prefixes the names of operations with a name and a slash. It is reentrant.

    Args:
        name: The name; None for `default_name`. The name of an existing scope, with its slash, reenters it.
        default_name: The name if `name` is None.
        values: Accepted for TensorFlow's programs.

    Raises:
        ValueError: the name is not a string.
    """

    __slots__ = ("_entered", "_name")

    def __init__(self, name: str | None, default_name: str | None = None, values: Any = None) -> None:
        self._name = default_name if name is None else name
        if not (self._name is None or isinstance(self._name, str)):
            raise ArgumentError(f"name for name_scope must be a string, got {shown(self._name)}.")
        self._entered: list[Any] = []

    @property
    def name(self) -> str | None:
        """The name it was made with."""
        return self._name

    def __enter__(self) -> str:
        scope = _eager_scope(self._name) if here.graph is None else here.graph.name_scope(self._name)
        entered: str = scope.__enter__()
        self._entered.append(scope)
        return entered

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)


@contextmanager
def _eager_scope(name: str | None) -> Iterator[str]:
    """A name scope of eager code: only summaries use it."""
    if name is not None:
        check_is_text(name, "scope")
    outer = _stacks.eager_scope
    absolute = not name or name[-1] == "/" or not outer
    _stacks.eager_scope = (name or "").removesuffix("/") if absolute else f"{outer}/{name}"
    try:
        yield f"{_stacks.eager_scope}/" if name else ""
    finally:
        _stacks.eager_scope = outer


@export("get_current_name_scope", as_is=True)
def current_name_scope() -> str:
    """The current name scope, without the final slash."""
    return _stacks.eager_scope if here.graph is None else here.graph.get_name_scope()


@export(v1="executing_eagerly_outside_functions", as_is=True)
def executing_eagerly_outside_functions() -> bool:
    """Whether the program runs eagerly, even if a function is being traced just now."""
    with init_scope():
        return here.graph is None


@export("control_dependencies", v1=(), as_is=True)
def control_dependencies(control_inputs: object) -> Any:
    """A context whose operations run after the given ones; in eager code everything runs in order anyway.

    In eager code, functions among them are called.
    """
    if here.graph is not None:
        return here.graph.control_dependencies(control_inputs)
    for item in () if control_inputs is None else listed(control_inputs, "control_inputs"):
        if callable(item):
            item()
    return nullcontext()


@export(v1="colocate_with", as_is=True)
def colocate_with(op: Any, ignore_existing: bool = False) -> Any:
    """A context whose operations are colocated with `op`."""
    return get_default_graph().colocate_with(op, ignore_existing)


# Collections of the default graph.


@export(v1="add_to_collection", as_is=True)
def add_to_collection(name: Any, value: object) -> None:
    """Appends a value to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


@export(v1="add_to_collections", as_is=True)
def add_to_collections(names: object, value: object) -> None:
    """Appends a value to several collections of the default graph."""
    get_default_graph().add_to_collections(names, value)


@export(v1="get_collection", as_is=True)
def get_collection(key: object, scope: str | None = None) -> list[Any]:
    """A copy of a collection of the default graph."""
    return get_default_graph().get_collection(key, scope)


@export(v1="get_collection_ref", as_is=True)
def get_collection_ref(key: object) -> list[Any]:
    """A collection of the default graph itself."""
    return get_default_graph().get_collection_ref(key)


# Sessions.


@export(v1="get_default_session", as_is=True)
def get_default_session() -> Any:
    """The session that runs ``eval()`` and ``run()`` in this thread; None if there is none."""
    return _stacks.sessions[-1] if _stacks.sessions else None


def push_session(session: SessionLike) -> None:
    """Makes a session the default of this thread."""
    _stacks.sessions.append(session)


def pop_session(session: SessionLike, nested: bool = True) -> None:
    """Undoes `push_session`.

    Raises:
        AssertionError: another session became the default later.
    """
    violated = nested and bool(_stacks.sessions) and _stacks.sessions[-1] is not session
    if session in _stacks.sessions:
        del _stacks.sessions[len(_stacks.sessions) - 1 - _stacks.sessions[::-1].index(session)]
    if violated:
        raise NestingError(f"Nesting violated for default stack of {type(session)} objects")


def session_for(session: Any, graph: Graph, what: str, method: str) -> Any:
    """The session that runs an element of `graph`.

    Raises:
        ValueError: there is none, or it has another graph.
    """
    found = get_default_session() if session is None else session
    if found is None:
        raise ArgumentError(
            f"Cannot {what} using `{method}()`: No default session is registered. Use `with sess.as_default()` or pass "
            f"an explicit session to `{method}(session=sess)`"
        )
    if not isinstance(getattr(found, "graph", None), Graph) or not callable(getattr(found, "run", None)):
        raise DTypeError(f"Argument `session` must be a tf.Session, but got {shown(found)}")
    if found.graph is not graph:
        which = "the default session" if session is None else "the given session"
        raise ArgumentError(
            f"Cannot use {which} to {what}: the {what.split()[1]}'s graph is different from the session's graph. Pass "
            f"a session of the right graph to `{method}(session=sess)`; this one runs {found.graph!r}."
        )
    return found


def as_graph_element(obj: object) -> SymbolicTensor | Operation:
    """The tensor or operation of the default graph for an object: itself, by name, or by conversion."""
    return get_default_graph().as_graph_element(obj)  # type: ignore[no-any-return]
