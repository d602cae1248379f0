"""``tf.function``.

    call(args)
      bind     the arguments to the parameters, tensors apart from the rest       arguments.py
      find     the concrete function for this kind of arguments, or trace one     concrete.py
      run      its program

Inside a graph, and inside another ``tf.function``, the Python function is called and becomes part of what is
being built. Python's own side effects happen when a graph is made, not when it runs.
"""

from __future__ import annotations

import functools
import itertools
import logging
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from situs.autograph.convert import convert
from situs.devices.scope import here
from situs.errors import InvalidArgumentError
from situs.graph.context import name_scope
from situs.shapes import TensorShape
from situs.tracing import hooks
from situs.tracing.arguments import Arguments, bind, check_signature, fit, signature_of
from situs.tracing.concrete import ConcreteFunction, trace
from situs.tracing.spec import TensorSpec

RETRACING_WARNING = 5  # graphs made in as many of the last calls
_CALLS_WATCHED = 6
_numbers = itertools.count()
_eagerly = False

hooks.install()


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Lets every ``tf.function`` call its Python function directly, for debugging."""
    global _eagerly
    _eagerly = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Whether every ``tf.function`` calls its Python function directly."""
    return _eagerly


class Function:
    """A Python function that runs as a graph. Made by ``tf.function``."""

    def __init__(
        self,
        python_function: Callable[..., Any],
        input_signature: Any = None,
        autograph: bool = True,
        reduce_retracing: bool = False,
        name: str | None = None,
    ) -> None:
        functools.update_wrapper(self, python_function)
        self.python_function = python_function
        self.input_signature = check_signature(input_signature)
        self._name = name or getattr(python_function, "__name__", "function")
        self._autograph = autograph
        self._reduce_retracing = reduce_retracing
        self._signature = signature_of(python_function)
        self._traced_function = convert(python_function) if autograph else python_function
        self._concrete: dict[Any, ConcreteFunction] = {}
        self._lock = threading.RLock()
        self._recent: list[bool] = []  # of the last calls: whether they made a graph
        self._warned = False
        self._bound: WeakKeyDictionary[Any, Function] = WeakKeyDictionary()

    @property
    def function_spec(self) -> Any:
        """The parameters of the Python function."""
        return self._signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function: as a graph in eager code, as part of the graph being built elsewhere."""
        if _eagerly:
            return self.python_function(*args, **kwargs)
        if here.graph is not None:
            with name_scope(self._name):
                return self._traced_function(*args, **kwargs)
        arguments = self._arguments(args, kwargs)
        return self._find(arguments).call(arguments.tensors)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The graph for one kind of arguments, given as tensors, values or TensorSpecs."""
        if not args and not kwargs and self.input_signature is not None:
            args = self.input_signature
        return self._find(self._arguments(args, kwargs))

    def experimental_get_tracing_count(self) -> int:
        """How many graphs have been made."""
        return len(self._concrete)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A method: bound to its instance, with graphs of its own."""
        if instance is None:
            return self
        try:
            found = self._bound.get(instance)
            if found is None:
                found = self._bound[instance] = self._bind(instance)
            return found
        except TypeError:  # it cannot be referred to weakly, or is not hashable
            return self._bind(instance)

    def _bind(self, instance: Any) -> Function:
        method = self.python_function.__get__(instance)
        return Function(method, self.input_signature, self._autograph, self._reduce_retracing, self._name)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        arguments = bind(self._signature, args, kwargs)
        return arguments if self.input_signature is None else fit(self.input_signature, arguments, self._name)

    def _find(self, arguments: Arguments) -> ConcreteFunction:
        key = None if self.input_signature is not None else arguments.key()
        found = self._concrete.get(key)
        self._watch(found is None)
        if found is not None:
            return found
        with self._lock:
            found = self._concrete.get(key) or self._relaxed(arguments)
            if found is None:
                found = self._trace(self._for_trace(arguments))
            self._concrete[key] = found
            return found

    def _for_trace(self, arguments: Arguments) -> Arguments:
        """What to make a graph for: the signature's kinds, or less known shapes if graphs have been too many."""
        if self.input_signature is not None:
            args, _ = arguments.form
            from situs.graph.structure import flatten, pack_like

            return Arguments((pack_like(args, flatten(list(self.input_signature))), {}))
        if self._reduce_retracing and self._concrete:
            return _generalized(arguments, [made._arguments for made in self._concrete.values()])
        return arguments

    def _relaxed(self, arguments: Arguments) -> ConcreteFunction | None:
        """A graph made before for less known shapes, which these arguments fit."""
        if not self._reduce_retracing:
            return None
        for made in self._concrete.values():
            if _fits(arguments, made._arguments):
                return made
        return None

    def _trace(self, arguments: Arguments) -> ConcreteFunction:
        first = not self._concrete
        with hooks.creating_variables(first, self._name):
            traced = trace(self._traced_function, arguments)
        return ConcreteFunction(traced, arguments, f"__inference_{self._name}_{next(_numbers)}")

    def _watch(self, traced: bool) -> None:
        self._recent = [*self._recent[1 - _CALLS_WATCHED :], traced]
        if traced and not self._warned and sum(self._recent) >= RETRACING_WARNING:
            self._warned = True
            logging.getLogger("situs").warning(
                "%d out of the last %d calls to %r triggered tf.function retracing. Making a graph is expensive; the "
                "cause may be Python numbers that change from call to call (pass tensors), tensors of many shapes (use "
                "reduce_retracing=True or an input_signature), or a tf.function defined inside a loop.",
                sum(self._recent),
                len(self._recent),
                self._name,
            )

    def __repr__(self) -> str:
        return f"<situs.tracing.Function of {self.python_function!r}>"


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: Any = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Any:
    """Makes a Python function run as a graph.

    Args:
        func: The function; without one, a decorator is returned.
        input_signature: TensorSpecs of the arguments: one graph for all calls.
        autograph: Whether ``if``, ``while`` and ``for`` on tensors become branches and loops of the graph.
        jit_compile: Accepted for TensorFlow's programs: graphs are planned, not compiled.
        reduce_retracing: Whether a second shape of an argument leads to a graph for all shapes.
        experimental_implements: Accepted for TensorFlow's programs.
        experimental_autograph_options: Accepted for TensorFlow's programs.
        experimental_attributes: Accepted for TensorFlow's programs.
        experimental_relax_shapes: The old name of `reduce_retracing`.
        experimental_compile: The old name of `jit_compile`.
        experimental_follow_type_hints: Accepted for TensorFlow's programs.

    Example:
        >>> import situs as tf
        >>> @tf.function
        ... def total(n):
        ...     s = tf.constant(0)
        ...     for i in tf.range(n):
        ...         s += i
        ...     return s
        >>> int(total(tf.constant(5)))
        10
    """
    relax = reduce_retracing or bool(experimental_relax_shapes)

    def decorate(python_function: Callable[..., Any]) -> Function:
        if isinstance(python_function, Function):
            python_function = python_function.python_function
        return Function(python_function, input_signature, autograph, relax)

    return decorate if func is None else decorate(func)


def _fits(arguments: Arguments, made_for: Arguments) -> bool:
    if arguments.key()[0] != made_for.key()[0]:
        return False
    pairs = zip(arguments.specs, made_for.specs, arguments.leaves, made_for.leaves, strict=True)
    return all(
        (a is None and b is None and x == y) if a is None or b is None else a.is_subtype_of(b) for a, b, x, y in pairs
    )


def _generalized(arguments: Arguments, before: list[Arguments]) -> Arguments:
    """Arguments of less known shapes: where an earlier call of the same form had another size, the size is open."""
    leaves = list(arguments.leaves)
    for other in before:
        if other.key()[0] != arguments.key()[0]:
            continue
        for number, (spec, known) in enumerate(zip(arguments.specs, other.specs, strict=True)):
            if spec is not None and known is not None and spec.dtype is known.dtype:
                leaves[number] = TensorSpec(
                    _common(TensorSpec.from_tensor(leaves[number]).shape, known.shape), spec.dtype
                )
    from situs.graph.structure import pack_like

    return Arguments(pack_like(arguments.form, leaves))


def _common(a: TensorShape, b: TensorShape) -> TensorShape:
    if a.rank is None or a.rank != b.rank:
        return TensorShape(None)
    return TensorShape([x if x == y else None for x, y in zip(a, b, strict=True)])


def check_not_in_function(what: str) -> None:
    """Raises inside a ``tf.function``.

    Raises:
        InvalidArgumentError: a graph of a function is being built.
    """
    if here.graph is not None and here.graph.compares_elements:
        raise InvalidArgumentError(f"{what} cannot be used inside a tf.function.")
