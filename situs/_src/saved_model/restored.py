"""Functions rebuilt from messages: their graphs are imported, and no code from the file runs.

body        nodes, their inputs, which of them are variables, their results             a function, or a signature
concrete    one body as a function that can be called: in eager code, or in an outer graph
restored    a ``tf.function`` with the graphs that it was saved with, and no other
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from situs._src.base import locks
from situs._src.base.devices.scope import here
from situs._src.base.errors import (
    ArgumentError,
    DataLossError,
    DTypeError,
    InvalidArgumentError,
    NotFoundError,
    SitusError,
    UnimplementedError,
    shown,
)
from situs._src.base.proto.graph import FunctionDef, NodeDef
from situs._src.base.tensor import Tensor
from situs._src.base.tree import LEAF, Form, put_together, take_apart
from situs._src.ir.graph.context import as_default
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.constant import constant
from situs._src.ops.table import Store, hash_table
from situs._src.runtime.symbolic.importer import Importer
from situs._src.runtime.symbolic.node_def import Source, parse_input
from situs._src.tracing.concrete import ConcreteFunction
from situs._src.tracing.function import Function
from situs._src.tracing.kind import Kind, kind_of
from situs._src.tracing.parameters import Parameters, fitted
from situs._src.tracing.spec import IndexedSlicesSpec, TensorSpec
from situs._src.tracing.trace import Traced, TracedGraph
from situs._src.tracing.type_spec import Described, TypeSpec
from situs._src.variables.capture import captured_variable

_MADE = "__restored_functions"  # a collection: what is kept there lives as long as the graph
_numbers = count()


@dataclass(frozen=True)
class Body:
    """What a function does.

    Attributes:
        nodes: Its nodes.
        library: The functions that they may hold.
        feeds: What its arguments stand for.
        variables: The variables that stand for nodes, by name, and constants and tables.
        fetches: The names of the tensors that it returns.
        title: What it is called.
    """

    nodes: Sequence[NodeDef]
    library: Mapping[str, FunctionDef]
    feeds: Sequence[Source]
    variables: Mapping[str, Any]
    fetches: Sequence[str]
    title: str

    def traced(self, kind: Kind, form: Any, names: Sequence[str], outer: Graph | None) -> Traced:
        """The graph of the function.

        Args:
            kind: What it takes.
            form: The form of what it returns.
            names: Names for what it takes.
            outer: The graph around it.

        Raises:
            DataLossError: there is no such graph.
        """
        graph = TracedGraph(outer, True if outer is None else None)
        graph.runs_effects = True
        try:
            with as_default(graph):
                given = [
                    graph.add_argument(spec.dtype, spec.shape, spec.name or name)
                    for spec, name in zip(kind.specs, names, strict=True)
                ]
                inputs: dict[Source, Any] = dict(zip(self.feeds, given, strict=True))
                for name, value in self.variables.items():
                    inputs[Source(name, 0)] = _standing_for(graph, value)
                stand_ins = {source.name for source in inputs}
                nodes = [node for node in self.nodes if node.name not in stand_ins]
                importer = Importer(graph, nodes, "", self.library, used_in(nodes, inputs))
                importer.run()
                graph.results = [self._result(importer, inputs, text) for text in self.fetches]
        except (NotFoundError, UnimplementedError) as error:  # an op that Situs has not
            raise UnimplementedError(f"The function {self.title} cannot be made again: {error}") from None
        except (SitusError, ValueError, TypeError, LookupError) as error:
            raise DataLossError(f"The function {self.title} cannot be made again: {error}") from None
        graph.finalize()
        return Traced(graph, form)

    def _result(self, importer: Importer, inputs: dict[Source, Any], text: str) -> SymbolicTensor:
        source = parse_input(text)
        found = inputs[source] if source in inputs else importer.element(str(source))
        if not isinstance(found, SymbolicTensor):
            raise ArgumentError(f"{text!r} is no tensor.")
        return found


def _standing_for(graph: Graph, value: Any) -> Any:
    """The tensor in a graph that stands for a variable, a constant or a table."""
    if isinstance(value, Tensor):
        return constant(value)
    if isinstance(value, Store):
        return hash_table(store=value, key_dtype=value.key_dtype, value_dtype=value.value_dtype)
    return captured_variable(graph, value)


def used_in(nodes: Sequence[NodeDef], inputs: Mapping[Source, Any]) -> dict[Source, Any]:
    """Those of the inputs that nodes take."""
    taken = {parse_input(text) for node in nodes for text in node.input}
    return {source: tensor for source, tensor in inputs.items() if source in taken}


def portable(node: NodeDef, variables: Iterable[str]) -> NodeDef:
    """A node that may run anywhere, and waits for none of the variables, which stand outside of the function now."""
    node.device = ""
    gone = {f"^{name}" for name in variables}
    kept = [text for text in node.input if text not in gone]
    if len(kept) < len(node.input):
        del node.input[:]
        node.input.extend(kept)
    if "_class" in node.attr:
        del node.attr["_class"]  # where it is to run
    return node


class Signature(ConcreteFunction):
    """A loaded signature, which takes and returns tensors by name."""

    @property
    def structured_input_signature(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The specs of the arguments by name, also that of a single one, which may be given without it."""
        args, named = super().structured_input_signature
        return (), {**{spec.name: spec for spec in args}, **named}

    @property
    def structured_outputs(self) -> Any:
        """The specs of the results, by name."""
        return {
            name: TensorSpec(tensor.shape, tensor.dtype, name) for name, tensor in super().structured_outputs.items()
        }


class Maker:
    """Makes one function wherever it is called: for eager code, and in graphs.

    Args:
        body: What it does.
        kind: What it takes.
        form: The form of what it returns.
        parameters: Its parameters.
        of: The class of the function.
    """

    def __init__(
        self,
        body: Body,
        kind: Kind,
        form: Any,
        parameters: Parameters,
        of: type[ConcreteFunction] = ConcreteFunction,
    ) -> None:
        self.body, self.kind, self.form, self.parameters, self.of = body, kind, form, parameters, of
        self.names = parameters.names(kind.form)

    def make(self, outer: Graph | None = None) -> ConcreteFunction:
        """The function, with a graph that lies in another one."""
        traced = self.body.traced(self.kind, self.form, self.names, outer)
        return self.of(traced, self.kind, self.parameters, self.body.title, next(_numbers), self._inside)

    def _inside(self, graph: Graph, kind: Kind) -> ConcreteFunction:
        kept = graph.get_collection_ref(_MADE)
        if not kept:
            kept.append({})
        key = (self, graph, here.scope)
        with _lock:
            if key not in kept[0]:
                kept[0][key] = self.make(graph)
            return kept[0][key]  # type: ignore[no-any-return]


_lock = locks.rlock()


# What functions take and return.


def kind_from(structure: Any) -> Kind:
    """The kind of arguments that a structure of specs and plain values describes: positional ones and keywords.

    Raises:
        DataLossError: it describes none.
    """
    if not (isinstance(structure, tuple) and len(structure) == 2) or not isinstance(structure[1], dict):
        raise DataLossError(f"A function takes positional arguments and keywords, not {shown(structure)}.")
    args, kwargs = _described(structure)
    if not isinstance(args, (tuple, list)):
        raise DataLossError(f"A function takes a list of positional arguments, not {shown(args)}.")
    return kind_of(tuple(args), kwargs)[0]


def form_from(structure: Any) -> Any:
    """The form of results that a structure of specs describes, and how many there are."""
    form, leaves = take_apart(_described(structure), lambda leaf: LEAF if isinstance(leaf, TensorSpec) else None)
    return form, len(leaves)


def _described(structure: Any) -> Any:
    """A structure with values in the places of specs, as far as these are not of tensors."""
    form, leaves = take_apart(structure, lambda leaf: LEAF)
    return put_together(form, [_value(leaf) for leaf in leaves])


def _value(leaf: Any) -> Any:
    if not isinstance(leaf, TypeSpec) or isinstance(leaf, TensorSpec):
        return leaf
    return leaf.components() if isinstance(leaf, IndexedSlicesSpec) else Described(leaf)


def dictionary(names: Sequence[str]) -> Any:
    """The form of a dictionary of tensors, in this order."""
    return Form(dict, (LEAF,) * len(names), tuple(names))


def parameters_from(spec: Any, input_signature: Any) -> Parameters:
    """The parameters of a function.

    Args:
        spec: What `inspect.getfullargspec` would say of it.
        input_signature: The specs of its arguments, if they were given.

    Raises:
        DataLossError: this is not what functions have.
    """
    kind = inspect.Parameter
    try:
        defaults = list(spec.defaults or ())
        needed = len(spec.args) - len(defaults)
        listed = [
            kind(
                name, kind.POSITIONAL_OR_KEYWORD, default=defaults[number - needed] if number >= needed else kind.empty
            )
            for number, name in enumerate(spec.args)
        ]
        if spec.varargs:
            listed.append(kind(spec.varargs, kind.VAR_POSITIONAL))
        only = spec.kwonlydefaults or {}
        listed += [kind(name, kind.KEYWORD_ONLY, default=only.get(name, kind.empty)) for name in spec.kwonlyargs]
        if spec.varkw:
            listed.append(kind(spec.varkw, kind.VAR_KEYWORD))
        return Parameters(_Stub(inspect.Signature(listed)), input_signature)
    except (AttributeError, TypeError, ValueError) as error:
        raise DataLossError(f"The parameters of a function cannot be read: {shown(error)}.") from None


def keyword_parameters(names: Sequence[str]) -> Parameters:
    """The parameters of a signature: keywords; a single one may be given without its name."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if len(names) == 1 else inspect.Parameter.KEYWORD_ONLY
    try:
        signature = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    except ValueError:  # names that Python's functions cannot have
        signature = inspect.Signature([inspect.Parameter("inputs", inspect.Parameter.VAR_KEYWORD)])
    return Parameters(_Stub(signature))


class _Stub:
    """In the place of a Python function that was not saved: its parameters are known."""

    def __init__(self, signature: inspect.Signature, name: str = "restored_function") -> None:
        self.__signature__ = signature
        self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise ArgumentError(f"The code of {self.__name__} was not saved, only its graphs.")


class RestoredFunction(Function):
    """A ``tf.function`` of a saved program: it has the graphs that it was saved with.

    Args:
        name: Its name.
        parameters: Its parameters.
        concretes: The graphs.
    """

    def __init__(self, name: str, parameters: Parameters, concretes: Sequence[ConcreteFunction]) -> None:
        super().__init__(_Stub(parameters.signature, name), autograph=False, name=name)
        self._parameters = parameters
        self._concretes = list(concretes)

    @property
    def concrete_functions(self) -> list[ConcreteFunction]:
        """The graphs that it was saved with."""
        return list(self._concretes)

    def _list_all_concrete_functions(self) -> list[ConcreteFunction]:
        return list(self._concretes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the graph that was saved for such arguments; values are converted to tensors if there is none."""
        concrete, tensors = self._matching(args, kwargs)
        return concrete.run(tensors)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The graph that was saved for such arguments; without any, the only one."""
        if not args and not kwargs and len(self._concretes) == 1:
            return self._concretes[0]
        return self._matching(args, kwargs)[0]

    def _matching(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[ConcreteFunction, list[Any]]:
        if not self._concretes:
            raise ArgumentError(
                f"Found zero restored functions for caller function {self.name}: it was saved without having been "
                "called, so that there is no graph of it."
            )
        bound = self._parameters.bind(args, kwargs)
        if len(self._concretes) > 1:
            kind, tensors = _kind_or_none(bound)
            for concrete in self._concretes if kind is not None else ():
                if concrete.kind.accepts(kind):
                    return concrete, tensors
        for concrete in self._concretes:
            try:
                return concrete, fitted(concrete.kind, bound)
            except InvalidArgumentError:
                continue
        raise ArgumentError(self._refusal(bound))

    def _refusal(self, bound: tuple[tuple[Any, ...], dict[str, Any]]) -> str:
        options = [
            f"Option {number}:\n  {concrete.pretty_printed_signature(verbose=False)}"
            for number, concrete in enumerate(self._concretes, start=1)
        ]
        given = "\n".join(f"    * {shown(value)}" for value in bound[0])
        return (
            "Could not find matching concrete function to call loaded from the SavedModel. Got:\n"
            f"  Positional arguments ({len(bound[0])} total):\n{given}\n  Keyword arguments: {shown(bound[1])}\n\n"
            f"Expected these arguments to match one of the following {len(options)} option(s):\n\n"
            + "\n\n".join(options)
        )

    def __repr__(self) -> str:
        return f"<tf.function {self.name} of a saved program>"


_ANY = Parameters(
    _Stub(
        inspect.Signature(
            [
                inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
            ]
        )
    )
)


class LazyFunction(RestoredFunction):
    """A restored function whose graphs are made when they are first needed.

    A graph that cannot be made is left out; a call that no other fits says why.

    Args:
        name: Its name.
        parameters: Its parameters; those of its only graph if they are not given.
        makers: What makes the graphs.
    """

    def __init__(
        self, name: str, parameters: Parameters | None, makers: Sequence[Callable[[], ConcreteFunction]]
    ) -> None:
        super().__init__(name, _ANY if parameters is None else parameters, ())
        self._makers: Sequence[Callable[[], ConcreteFunction]] | None = makers
        self._refused: list[str] = []
        self._takes_any = parameters is None

    def _made(self) -> None:
        with _lock:
            if self._makers is None:
                return
            for make in self._makers:
                try:
                    self._concretes.append(make())
                except UnimplementedError as error:
                    self._refused.append(str(error))
            if self._takes_any and self._concretes:
                self._parameters = self._concretes[0].function_spec
            self._makers = None

    @property
    def concrete_functions(self) -> list[ConcreteFunction]:
        """The graphs that it was saved with, as far as they can be made."""
        self._made()
        return super().concrete_functions

    def _list_all_concrete_functions(self) -> list[ConcreteFunction]:
        return self.concrete_functions

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The graph that was saved for such arguments; without any, the only one."""
        self._made()
        return super().get_concrete_function(*args, **kwargs)

    def _matching(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[ConcreteFunction, list[Any]]:
        self._made()
        if self._refused and not self._concretes:
            raise UnimplementedError(self._refused[0])
        return super()._matching(args, kwargs)

    def _refusal(self, bound: tuple[tuple[Any, ...], dict[str, Any]]) -> str:
        return "\n\n".join([super()._refusal(bound), *self._refused])


def _kind_or_none(bound: tuple[tuple[Any, ...], dict[str, Any]]) -> tuple[Any, list[Any]]:
    try:
        return kind_of(*bound)
    except DTypeError:
        return None, []
