"""``tf.function``.

    call(args)
      bind     the arguments to the parameters, tensors apart from the rest       parameters.py, kind.py
      find     the graph for this signature, or trace one                         trace.py
      run      its program, or add a call to the graph being built                concrete.py

A repeated call skips the first two steps (memo.py). Python side effects happen during tracing,
not when the graph runs.
"""

from __future__ import annotations

import copy
import functools
import itertools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

from situs._src.autodiff import idioms
from situs._src.base.devices import scope
from situs._src.base.devices.scope import here
from situs._src.base.export import export
from situs._src.base.settings import switch
from situs._src.ir.graph.function import outermost
from situs._src.ir.graph.graph import Graph, Tally
from situs._src.ir.graph.replicas import Replicas, together
from situs._src.ops.inner import building, graph_for
from situs._src.placement.candidates import Assignment
from situs._src.placement.placer_setting import Placer, as_placer
from situs._src.placement.search.plan import Plan
from situs._src.runtime import watch
from situs._src.runtime.run.trace import now
from situs._src.tracing import hooks
from situs._src.tracing.autograph.calls import requested
from situs._src.tracing.concrete import ConcreteFunction
from situs._src.tracing.kind import Kind
from situs._src.tracing.lock import tracing
from situs._src.tracing.memo import Memo
from situs._src.tracing.parameters import Parameters, described
from situs._src.tracing.retracing import Watch, reason_for, watch_of
from situs._src.tracing.trace import trace
from situs._src.tracing.traces import Traces
from situs._src.variables.replication import strategies

if TYPE_CHECKING:
    from situs._src.placement.placer_setting import AnyPlacer

_CALLED = "__called_functions"  # a collection: its elements live as long as the graph
_numbers = itertools.count()
_eagerly = False

hooks.install()
idioms.install()


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Makes every ``tf.function`` call its Python function directly, for debugging."""
    global _eagerly
    _eagerly = switch(run_eagerly, "run_eagerly")
    scope.forget()


def functions_run_eagerly() -> bool:
    """Whether every ``tf.function`` calls its Python function directly."""
    return _eagerly


@export("inside_function", v1=())
def inside_function() -> bool:
    """Whether a ``tf.function`` is being traced."""
    return here.graph is not None and outermost(here.graph).compares_elements


# One for all functions: tracing one may trace another.


class Function:
    """A Python function that runs as a graph. Created by ``tf.function``."""

    def __init__(
        self,
        python_function: Callable[..., Any],
        input_signature: Any = None,
        autograph: bool = True,
        reduce_retracing: bool = False,
        name: str | None = None,
        placer: Placer | None = None,
        jit_compile: bool | None = None,
    ) -> None:
        functools.update_wrapper(self, python_function)
        self.python_function = python_function
        self._name = str(name or getattr(python_function, "__name__", type(python_function).__name__))
        self._autograph = autograph
        self._reduce_retracing = reduce_retracing
        self._placer = placer
        self._jit_compile = jit_compile
        self._tally = Tally()
        self._parameters = Parameters(python_function, input_signature)
        self._traced_function = requested(python_function) if autograph else python_function
        self._graphs = Traces()
        self._of_replicas: dict[int, Traces] = {}  # of a strategy: each has its own variables
        self._of_one_replica = Traces()  # of functions that depend on a strategy, for saving
        self._memo = Memo()
        self._traces = 0
        self._kinds: set[Kind] = set()  # for which there is a graph, at any nesting
        self._watch = watch_of(python_function)
        self._methods: dict[int, tuple[Callable[[], Any], Function]] = {}  # by the identity of the instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function: as a graph in eager code, as part of the graph being built elsewhere."""
        if here.graph is None and not here.tapes and here.replica is None:
            if not kwargs:
                ready = self._memo.find(args)
                if ready is not None:
                    self._watch.calls += 1
                    return ready([arg._value for arg in args])
            found = self._memo.find_mixed(args, kwargs)
            if found is not None:
                self._watch.calls += 1
                return found[0](found[1])
        return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _eagerly:
            return self.python_function(*args, **kwargs)
        self._watch.calls += 1
        rules = scope.generation()
        kind, tensors = self._parameters.kind(args, kwargs)
        graph = graph_for(tensors)
        if graph is not None:
            with building(graph):
                return self._in(graph, kind).call_in(graph, tensors)
        graphs = self._graphs if here.replica is None else self._of_replicas.setdefault(here.replica, Traces())
        if here.tapes:
            return self._find(graphs, kind, None, tensors).recorded(tensors)
        ready = self._find(graphs, kind, None, tensors).ready(tensors)
        if here.replica is None:
            self._memo.keep(args, kwargs, tensors, ready, rules)
        return ready([tensor._value for tensor in tensors])

    # Graphs.

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The graph for one kind of arguments, given as tensors, values or specs."""
        self._watch.calls += 1
        tensors: Sequence[Any] = ()
        if not args and not kwargs and self._parameters.wanted is not None:
            kind = self._parameters.wanted
        else:
            kind, tensors = self._parameters.kind(*described((args, kwargs)))
        return self._find(self._graphs, kind, None, tensors) if here.graph is None else self._in(here.graph, kind)

    def _list_all_concrete_functions(self) -> list[ConcreteFunction]:
        """The graphs traced by eager code; that of the input signature is traced now, if there is one."""
        if self._parameters.wanted is not None and here.graph is None:
            self.get_concrete_function()
        return list(self._graphs)

    def concrete_functions_to_save(self) -> list[ConcreteFunction]:
        """The same for ``tf.saved_model.save``: a strategy's functions are retraced for one replica."""
        made = {concrete.kind: concrete for concrete in self._list_all_concrete_functions()}
        for traces in self._of_replicas.values():
            made |= {concrete.kind: concrete for concrete in traces if concrete.kind not in made}
        return [self.for_one_replica(concrete) for concrete in made.values()]

    def for_one_replica(self, concrete: ConcreteFunction) -> ConcreteFunction:
        """A graph of this function without strategies, if it depends on them."""
        by_replicas = any(concrete is each for traces in self._of_replicas.values() for each in traces)
        if not by_replicas and not any(hasattr(each, "_distributed_container") for each in concrete.variables):
            return concrete
        with strategies.saving():
            return self._find(self._of_one_replica, concrete.kind, None)

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, ConcreteFunction]:
        """The graphs of the function, for Keras when it saves a model."""
        if save_type == "checkpoint":
            return {}
        return {f"trace_{number}": made for number, made in enumerate(self._list_all_concrete_functions())}

    def experimental_get_tracing_count(self) -> int:
        """The number of traces."""
        return self._traces

    def assignments(self) -> list[Assignment]:
        """The devices of its graphs' operations, as far as it has been called; ``tf.explain`` prints it."""
        return [assignment for graph in self._graphs for assignment in graph.assignments()]

    def replicas(self) -> Replicas | None:
        """The replicas of its graphs under a strategy; None if there are none."""
        found = [replicas for graph in self._graphs if (replicas := graph.replicas()) is not None]
        return together(found) if found else None

    def placement_plan(self) -> Plan | None:
        """The plan of the dynamic placer for the first of its graphs that it has placed."""
        plans = (graph.placement_plan() for graph in self._graphs)
        return next((plan for plan in plans if plan is not None), None)

    def _in(self, graph: Graph, kind: Kind) -> ConcreteFunction:
        """The function's graph nested in another one, whose device scope applies as well."""
        kept = graph.get_collection_ref(_CALLED)
        if not kept:
            kept.append({})
        return self._find(kept[0].setdefault((self, graph, here.scope, here.replica), Traces()), kind, graph)

    def _find(self, graphs: Traces, kind: Kind, outer: Graph | None, tensors: Sequence[Any] = ()) -> ConcreteFunction:
        found = graphs.get(kind)
        if found is not None:
            return found
        with tracing:
            found = graphs.serving(kind)
            if found is None:
                if self._reduce_retracing:
                    kind = graphs.common(kind)
                found = self._trace(kind, outer, tensors)
                graphs.add(kind, found)
            return found

    def _trace(self, kind: Kind, outer: Graph | None, tensors: Sequence[Any]) -> ConcreteFunction:
        """Traces a graph: twice if variables were created the first time, to detect functions that keep creating them.

        A function whose graph is nested in another one is called again when that is traced for the second time.
        """
        if kind not in self._kinds:
            self._watch.note(self.python_function)
        watcher, start = watch.watcher, now()
        reason = "" if watcher is None else reason_for(kind, list(self._kinds), self._parameters)
        names = self._parameters.names(kind.form)
        function = self._traced_function
        with hooks.creating_variables(self._traces == 0, self._name) as created:
            traced = trace(function, kind, names, outer, tensors)
        self._traces += 1
        if created.count and (outer is None or not created.is_inner):
            with hooks.creating_variables(False, self._name):
                traced = trace(function, kind, names, outer, tensors)
            self._traces += 1
        self._kinds.add(kind)
        traced.graph.title = self._name
        if watcher is not None:
            watcher.traced(self._name, traced.graph, reason, start)
        traced.graph.compiles, traced.graph.tally = self._jit_compile, self._tally
        number, title = next(_numbers), _title(self._name)
        return ConcreteFunction(traced, kind, self._parameters, title, number, self._in, self._placer)

    # As a method.

    def __get__(self, instance: object, owner: type | None = None) -> Function | Method:
        """A method: bound to its instance, with separate graphs."""
        if instance is None:
            return self
        found = self._methods.get(id(instance))
        if found is None or found[0]() is not instance:
            found = self._methods[id(instance)] = self._bound_to(instance)
        return Method(found[1], instance)

    def _bound_to(self, instance: object) -> tuple[Callable[[], Any], Function]:
        methods, number = self._methods, id(instance)
        try:
            weakly: Callable[[], Any] = ref(instance, lambda gone: methods.pop(number, None))
        except TypeError:  # of a class with __slots__ and without __weakref__
            weakly = lambda: instance  # noqa: E731
        function = object.__new__(Function)
        function._become_method(self, instance, weakly)
        return weakly, function

    def _become_method(self, original: Function, instance: object, weakly: Callable[[], Any]) -> None:
        """Makes this the function of one instance, which it references weakly."""
        self.__dict__.update(original.__dict__)
        self.python_function = _Weak(original.python_function, weakly)
        self._traced_function = _Weak(original._traced_function, weakly)
        bound = original.python_function.__get__(instance)
        self._parameters = Parameters(bound, original.input_signature)
        self._graphs, self._of_replicas, self._methods, self._memo = Traces(), {}, {}, Memo()
        self._of_one_replica = Traces()
        self._traces = 0
        self._kinds = set()
        self._watch = Watch()

    # As an object.

    @property
    def input_signature(self) -> tuple[Any, ...] | None:
        """The TensorSpecs of the arguments, if they were given."""
        return self._parameters.input_signature

    @property
    def function_spec(self) -> Parameters:
        """The parameters of the Python function."""
        return self._parameters

    @property
    def name(self) -> str:
        """The name of the Python function."""
        return self._name

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """The signatures of its graphs."""
        return "\n\n".join(made.pretty_printed_signature(verbose) for made in self._graphs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Function:
        return Function(copy.deepcopy(self.python_function, memo), *self._options())

    def __reduce__(self) -> Any:
        return Function, (self.python_function, *self._options())

    def _options(self) -> tuple[Any, ...]:
        options = (self._autograph, self._reduce_retracing, self._name, self._placer, self._jit_compile)
        return self.input_signature, *options

    def __repr__(self) -> str:
        return f"<tf.function {self.python_function!r}>"


def _title(name: str) -> str:
    """The name of a function as a valid prefix for operation names."""
    return re.sub(r"[^A-Za-z0-9_.]", "", name).lstrip("_") or "function"


class _Weak:
    """A method of a weakly referenced object. The caller keeps the object alive."""

    def __init__(self, function: Callable[..., Any], weakly: Callable[[], Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._weakly = weakly

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(self._weakly(), *args, **kwargs)

    def __repr__(self) -> str:
        return f"<bound method {self.__dict__.get('__qualname__', '')} of {self._weakly()!r}>"


class Method:
    """A ``tf.function`` bound to an instance, which it keeps alive."""

    __slots__ = ("__func__", "__self__", "__weakref__")

    def __init__(self, function: Function, instance: Any) -> None:
        self.__func__ = function
        self.__self__ = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function."""
        return self.__func__(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__func__, name)
        return found.__get__(self.__self__) if name == "__wrapped__" else found  # its signature has no `self`

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Method) and self.__func__ is other.__func__

    def __hash__(self) -> int:
        return hash(self.__func__)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return getattr(copy.deepcopy(self.__self__, memo), self.__func__._name)

    def __repr__(self) -> str:
        return repr(self.__func__)


@export("function")
def function(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool | None = None,
    experimental_implements: Any = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
    placer: AnyPlacer | None = None,
) -> Any:
    """Compiles a Python function into a callable graph.

    Args:
        func: The function; without one, a decorator is returned.
        input_signature: TensorSpecs of the arguments: there is one graph for all calls.
        autograph: Whether ``if``, ``while`` and ``for`` on tensors become control flow of the graph.
        jit_compile: Whether its graphs are compiled into fused kernels at their second run, which requires a C++
        compiler,
            or Triton on a GPU. By default, ``tf.config.optimizer.set_jit`` decides.
        reduce_retracing: Whether a second shape of an argument is traced for all shapes.
        experimental_implements: Accepted for TensorFlow's programs.
        experimental_autograph_options: Accepted for TensorFlow's programs.
        experimental_attributes: Accepted for TensorFlow's programs.
        experimental_relax_shapes: The old name of `reduce_retracing`.
        experimental_compile: The old name of `jit_compile`.
        experimental_follow_type_hints: Accepted for TensorFlow's programs.
        placer: How its graphs are placed, as in ``tf.config.set_placer``: ``"simple"``, ``"dynamic"``, or
            a plan. Not in TensorFlow.

    Example:
        >>> import situs as tf
        >>> @tf.function
        ... def length(x):
        ...     return tf.sqrt(tf.reduce_sum(x * x))
        >>> float(length(tf.constant([3.0, 4.0])))
        5.0
    """
    relax = bool(experimental_relax_shapes)
    if reduce_retracing is not None:
        relax = switch(reduce_retracing, "reduce_retracing") or relax
    autograph = switch(autograph, "autograph")
    chosen = None if placer is None else as_placer(placer)
    jit_compile = experimental_compile if jit_compile is None else jit_compile
    compiles = None if jit_compile is None else switch(jit_compile, "jit_compile")

    def decorate(python_function: Callable[..., Any]) -> Function:
        return Function(python_function, input_signature, autograph, relax, placer=chosen, jit_compile=compiles)

    return decorate if func is None else decorate(func)
