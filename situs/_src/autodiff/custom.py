"""``tf.custom_gradient``: functions that define their own gradient.

The results pass through one operation, ``CustomGradient``, together with the arguments and the variables that were
used. The rule of that operation calls the custom gradient; how the results were computed does not matter:

    args ----> f ----> results ----> CustomGradient ----> results
       '-----------------------------'      rule: grad_fn(grads) for args, None for what came out of f

A serialized graph, as written by ``tf.saved_model.save``, has the operation but not the custom gradient, which is
Python
code: the loaded graph computes the results, and raises an error if its gradient is needed.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

from situs._src.autodiff.graph import Origins
from situs._src.autodiff.graph_tape import GraphRecording, is_variable, state_or_tensor
from situs._src.autodiff.tape import GradientTape
from situs._src.base.devices.scope import here, record_on
from situs._src.base.errors import ArgumentError, DTypeError, UnimplementedError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.base.tree import flatten, put_together, take_apart
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.objects import install
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.array import identity
from situs._src.ops.constant import convert_to_tensor, zeros_like
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.inner import building, graph_for, hold, symbolic
from situs._src.runtime.eager.tape import Tape, has_gradient
from situs._src.variables.capture import captured_variable
from situs._src.variables.eager import Variable


class OwnGradient:
    """The custom gradient of a function; None in a graph that was loaded from a file."""

    def __init__(self, call: Callable[..., list[Any]] | None) -> None:
        self._call = call

    def __call__(self, *grads: Any) -> list[Any]:
        """The gradients of the arguments and variables."""
        if self._call is None:
            raise UnimplementedError(
                "The gradient of a function of tf.custom_gradient is Python code, which is not saved with its graph. "
                "Train the original model, or define the function again."
            )
        return self._call(*grads)


install(OwnGradient, "own_gradient", lambda gradient, place: ("", []), lambda text, graphs, inputs: OwnGradient(None))

_custom = op("CustomGradient", "results: any*, args: any* -> output: any*", grad_fn=None)


@_custom.shape
def _custom_shape(results: list[TensorShape], args: list[TensorShape], *, grad_fn: Any) -> list[TensorShape]:
    return results


@_custom.kernel(CPU, GPU)
def _custom_kernel(results: list[Any], args: list[Any], *, grad_fn: Any) -> list[Any]:
    return list(results)


@_custom.gradient
def _custom_gradient(grads: list[Any], results: list[Any], args: list[Any], *, grad_fn: Any) -> tuple[Any, ...]:
    whole = [zeros_like(result) if grad is None else grad for grad, result in zip(grads, results, strict=True)]
    return [None] * len(results), lambda: _checked(grad_fn(*whole), len(args))


def _checked(made: object, count: int) -> list[Any]:
    found = flatten(made)
    if len(found) != count:
        raise ArgumentError(
            f"custom_gradient function expected to return {count} gradients, but returned {len(found)} instead."
        )
    return found


@export("custom_gradient")
def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """Makes a function with a custom gradient.

    Args:
        f: A function of tensors that returns its results and a function from the gradients of these to those of its
            arguments; that one takes ``variables`` too, and returns their gradients as well, if `f` uses any.

    Example:
        >>> import situs as tf
        >>> @tf.custom_gradient
        ... def clipped(x):
        ...     return x * 1.0, lambda grad: tf.clip_by_value(grad, -1.0, 1.0)
        >>> x = tf.constant(3.0)
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = clipped(x) * 100.0
        >>> float(tape.gradient(y, x))
        1.0
    """
    if f is None:
        return custom_gradient
    _check_function(f, "tf.custom_gradient")

    return _Differentiated(f, _call)


class _Differentiated:
    """A function whose calls have a gradient of their own; as an attribute of a class, a method.

    The object that a method belongs to is no argument: it is no tensor, and has no gradient.

    Args:
        f: The function.
        call: Calls it with arguments and keywords.
    """

    __slots__ = ("__dict__", "__weakref__", "_call", "_f")  # __dict__ is for decorators, which copy what is in it

    def __init__(self, f: Callable[..., Any], call: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self._f = f
        self._call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(self._f, args, kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> _Differentiated:
        return self if instance is None else _Differentiated(MethodType(self._f, instance), self._call)

    def __reduce__(self) -> str:
        return str(self._f.__qualname__)  # like a function, it is copied and pickled by its name

    def __repr__(self) -> str:
        return repr(self._f)


def _check_function(f: Any, name: str) -> None:
    if not callable(f):
        raise DTypeError(f"{name} decorates a function, got {f!r}.")


def _call(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], hidden: bool = False) -> Any:
    form, leaves = take_apart(list(args))
    tensors = [leaf if is_variable(leaf) else convert_to_tensor(leaf) for leaf in leaves]
    if not any(is_tensor(leaf) for leaf in leaves) and not here.tapes and here.graph is None:
        return _results_and_gradient(f(*args, **kwargs))[0]
    (made, grad_fn), variables = _traced(f, put_together(form, tensors), kwargs, hidden)
    used = [variable for variable in variables if not _is_given(variable, tensors)]
    result_form, results = take_apart(made)
    whole = _with_variables(grad_fn, used, len(tensors))
    return put_together(result_form, with_gradient([convert_to_tensor(r) for r in results], [*tensors, *used], whole))


def _is_given(variable: Any, tensors: list[Any]) -> bool:
    """Whether a variable, or in a graph its value, is among some arguments."""
    if any(variable is tensor for tensor in tensors):
        return True
    graph = here.graph
    if graph is None:
        return False
    origins = Origins(reads=True)
    state = origins.key(_state_of(graph, variable))
    return any(origins.key(tensor) == state for tensor in tensors if isinstance(tensor, SymbolicTensor))


def with_gradient(results: list[Tensor], args: list[Any], gradient: Callable[..., list[Any]]) -> list[Any]:
    """Results, having passed through the operation with a gradient of its own.

    Args:
        results: What was computed of the arguments, however that was done.
        args: The arguments.
        gradient: From the gradients of the results to those of the arguments.
    """
    grad_fn = OwnGradient(gradient)
    graph = graph_for([*results, *args])
    if graph is None:
        return _custom.many(results, args, grad_fn=grad_fn)
    with building(graph):
        given = [symbolic(graph, result) for result in results], [_state_of(graph, arg) for arg in args]
        kinds = [(result.dtype, result.shape) for result in given[0]]
        return hold(graph, _custom, given, {"grad_fn": grad_fn}, kinds, "CustomGradient").outputs


def _state_of(graph: Graph, arg: object) -> SymbolicTensor:
    """The tensor that the gradient of an argument flows to."""
    return captured_variable(graph, arg) if isinstance(arg, Variable) else symbolic(graph, state_or_tensor(arg))


def _traced(
    f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], hidden: bool
) -> tuple[tuple[Any, Any], list[Any]]:
    """The results of a function, and the variables that it used; tapes see its ops unless they are hidden.

    Its custom gradient bypasses them. Values that its gradient function uses have gradients like any others.
    """
    tape, recording = Tape(), GraphRecording(sees_variables=True)
    recording.note_graph()
    before = record_on((tape,) if hidden else (*here.tapes, tape))
    recording.start()
    try:
        pair = f(*args, **kwargs)
    finally:
        recording.stop()
        record_on(before)
    return _results_and_gradient(pair), [*tape.variables.values(), *recording.variables()]


def _results_and_gradient(pair: Any) -> tuple[Any, Any]:
    """The two things that a function returns, checked."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not callable(pair[1]):
        raise DTypeError(
            "A function under tf.custom_gradient returns its results and a function for their gradients, got "
            f"{type(pair).__name__}."
        )
    return pair[0], pair[1]


def _with_variables(grad_fn: Callable[..., Any], variables: list[Any], count: int) -> Callable[..., list[Any]]:
    """The gradients of the arguments and then of the variables, in one list."""
    takes = "variables" in inspect.signature(grad_fn).parameters or any(
        p.kind is p.VAR_KEYWORD for p in inspect.signature(grad_fn).parameters.values()
    )
    if variables and not takes:
        raise DTypeError(
            "If using @custom_gradient with a function that uses variables, then grad_fn must accept a 'variables' "
            "keyword argument."
        )

    def whole(*grads: Any) -> list[Any]:
        if not variables:
            return _checked(grad_fn(*grads), count)
        pair = grad_fn(*grads, variables=variables)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ArgumentError(
                "A gradient function that takes `variables` returns two things, the gradients of the arguments and "
                f"those of the variables; got {type(pair).__name__}."
            )
        of_args, of_variables = pair
        return [*_checked(of_args, count), *_checked(of_variables, len(variables))]

    return whole


@export("grad_pass_through")
def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function whose gradient is that of the identity (straight-through)."""
    _check_function(f, "tf.grad_pass_through")

    return _Differentiated(f, _passing_through)


def _passing_through(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    def passing(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        def pass_on(*grads: Any, variables: Any = None) -> Any:
            of_args = grads[0] if len(grads) == 1 else list(grads)
            return (of_args, [None] * len(variables)) if variables is not None else of_args

        return f(*args, **kwargs), pass_on

    return _call(passing, args, kwargs)


@export("recompute_grad")
def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function that is recomputed in the backward pass, rather than keeping its residuals (checkpointing)."""
    _check_function(f, "tf.recompute_grad")

    return _Differentiated(f, _recomputed)


def _recomputed(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    def forgetting(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        def again(*grads: Any, variables: Any = None) -> Any:
            form, leaves = take_apart(list(args))
            # One tensor may be passed twice: each occurrence has its own gradient.
            given = [leaf if is_variable(leaf) else identity(leaf) for leaf in leaves]
            with GradientTape() as tape:
                tape.watch([leaf for leaf in given if has_gradient(leaf.dtype)])
                made = f(*put_together(form, given), **kwargs)
            sources = [*given, *(variables or ())]
            found = tape.gradient(made, sources, list(grads) if len(grads) > 1 else grads[0])
            of_args = found[: len(given)]
            return (of_args, found[len(given) :]) if variables is not None else of_args

        return f(*args, **kwargs), again

    return _call(forgetting, args, kwargs, hidden=True)
