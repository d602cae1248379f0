"""Tracing: calling a Python function with symbolic tensors and recording its ops as a graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from situs._src.base.devices.scope import ROOT, Scope, here
from situs._src.base.errors import ArgumentError, DTypeError, InvalidArgumentError
from situs._src.base.progress import working
from situs._src.base.tensor import is_tensor
from situs._src.base.tree import MAX_DEPTH, take_apart
from situs._src.ir.graph.context import as_default
from situs._src.ir.graph.function import FunctionGraph
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.inner import leaf_or_none, symbolic
from situs._src.tracing.kind import Kind


class TracedGraph(FunctionGraph):
    """The graph of a ``tf.function``. It is not extended after tracing.

    Attributes:
        called_under: The device scope of the traced call.
        given: The arguments of that call, as far as known.
    """

    is_function = True
    called_under: Scope = ROOT
    given: Sequence[Any] = ()

    def _check_open(self) -> None:
        if self.finalized:
            raise DTypeError(
                "A tensor is out of scope and cannot be used here: it was made inside a tf.function, while its graph "
                "was made, and has no value outside. Return it from the function, or make it a tf.Variable."
            )


class TraceAgain(BaseException):
    """Aborts a trace, which is then repeated: the code that raises this will trace differently next time.

    It is not an `Exception`, so that programs do not catch it by accident.
    """


class Traced:
    """A graph, and the structure of the function's results."""

    def __init__(self, graph: FunctionGraph, form: Any) -> None:
        self.graph = graph
        self.form = form
        self.effects = [node for node in graph.operations if node.op_def.stateful]


def trace(
    function: Callable[..., Any],
    kind: Kind,
    names: Sequence[str],
    outer: Graph | None = None,
    tensors: Sequence[Any] = (),
) -> Traced:
    """Traces a Python function into a graph.

    Args:
        function: The function.
        kind: The arguments to call it with; symbolic tensors stand for the tensors.
        names: Names for these.
        outer: The graph that calls the function; None for eager code.
        tensors: The arguments of the traced call; initial values of variables may be computed from them.
    """
    while True:
        try:
            return _traced(function, kind, names, outer, tensors)
        except TraceAgain:
            continue  # with a new graph: the unfinished one is dropped


def _traced(
    function: Callable[..., Any], kind: Kind, names: Sequence[str], outer: Graph | None, tensors: Sequence[Any]
) -> Traced:
    graph = TracedGraph(outer, True if outer is None else None)
    graph.called_under, graph.given = here.scope, tensors
    graph.runs_effects = True
    name = getattr(function, "__name__", type(function).__name__)
    with working(f"Tracing {name}", lambda: f"{len(graph.operations)} operations"), as_default(graph):
        given = [
            graph.add_argument(spec.dtype, spec.shape, spec.name or name)
            for spec, name in zip(kind.specs, names, strict=True)
        ]
        args, kwargs = kind.structure(given)
        before = [_contents(value) for value in (*args, *kwargs.values())]
        form, leaves = take_apart(_called(function, args, kwargs, outer), leaf_or_none, factories=False)
        _check_unchanged(function, args, kwargs, before)
        graph.results = [_result(graph, leaf, function) for leaf in leaves]
    graph.finalize()
    graph.given = ()
    return Traced(graph, form)


def _contents(value: Any, depth: int = 0) -> Any:
    """The contents of a list or dictionary, which may change; anything else itself."""
    if depth > MAX_DEPTH or type(value) not in (list, dict, tuple):
        return value
    if type(value) is dict:
        return dict, [(key, _contents(item, depth + 1)) for key, item in value.items()]
    return type(value), [_contents(item, depth + 1) for item in value]


def _is_same(before: Any, after: Any) -> bool:
    if type(before) in (list, tuple) and type(before) is type(after) and len(before) == len(after):
        return all(map(_is_same, before, after))
    return before is after or (isinstance(before, (str, int)) and type(before) is type(after) and before == after)


def _check_unchanged(function: Callable[..., Any], args: Any, kwargs: Any, before: list[Any]) -> None:
    """Raises if a function has modified a list or dictionary argument: the caller would not see it."""
    names = [*_parameters(function, len(args)), *kwargs]
    given = [*args, *kwargs.values()]
    changed = [
        name for name, was, value in zip(names, before, given, strict=True) if not _is_same(was, _contents(value))
    ]
    if changed:
        raise ArgumentError(
            f"{getattr(function, '__name__', 'function')}({', '.join(names)}) should not modify its Python input "
            "arguments. Modifying a copy is allowed. The following parameter(s) were modified: "
            f"{', '.join(changed)}"
        )


def _parameters(function: Callable[..., Any], count: int) -> list[str]:
    try:
        named = [name for name, p in inspect.signature(function).parameters.items() if p.kind is not p.VAR_POSITIONAL]
    except (TypeError, ValueError):
        named = []
    return [*named, *[f"args_{number}" for number in range(count)]][:count]


def _called(function: Callable[..., Any], args: Any, kwargs: Any, outer: Graph | None) -> Any:
    """Calls the function; on infinite recursion, the outermost call raises the error."""
    try:
        return function(*args, **kwargs)
    except RecursionError:
        while outer is not None:
            if isinstance(outer, TracedGraph):
                raise
            outer = outer.outer
    raise EndlessRecursionError(
        f"The graph of {function!r} cannot be made: it calls itself without end. A tf.function that calls itself is "
        "traced for every call, so it must stop for a Python value, not for that of a tensor; use tf.while_loop."
    )


class EndlessRecursionError(InvalidArgumentError, RecursionError):
    """A function calls itself without end during tracing."""


def _result(graph: FunctionGraph, leaf: object, function: Callable[..., Any]) -> SymbolicTensor:
    try:
        return symbolic(graph, leaf)
    except (TypeError, ValueError):
        if is_tensor(leaf):
            raise
        raise DTypeError(
            "To be compatible with tf.function, Python functions must return zero or more Tensors or None values; "
            f"{function!r} returned a value of type {type(leaf).__name__}, which is not a Tensor: {leaf!r}."
        ) from None
