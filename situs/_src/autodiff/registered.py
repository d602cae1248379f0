"""Custom gradient functions by name: for types of ops, and for `Graph.gradient_override_map`.

    @tf.RegisterGradient("ClippedIdentity")
    def _(op, grad):
        return tf.clip_by_value(grad, -1.0, 1.0)

    with graph.gradient_override_map({"Identity": "ClippedIdentity"}):
        y = tf.identity(x)

A function gets the operation and the gradient of each of its results, and returns that of each of its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from situs._src.autodiff.backprop import NoGradientError
from situs._src.base.errors import ArgumentError, DTypeError, show_as, shown
from situs._src.base.export import export
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.gradient import GradientRule
from situs._src.ir.registry.op import all_ops
from situs._src.ops.constant import zeros_like

F = TypeVar("F", bound=Callable[..., Any])
_functions: dict[str, Callable[..., Any] | None] = {}


@export("RegisterGradient")
class RegisterGradient:
    """A decorator that registers a gradient function for a type of op, or under a custom name.

    Args:
        op_type: The type of op, as in `Operation.type`, or a name for `Graph.gradient_override_map`.

    Raises:
        KeyError: the type or the name already has a gradient.
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise DTypeError(f"op_type must be a string, got {shown(op_type)}.")
        self._op_type = op_type

    def __call__(self, f: F) -> F:
        """Registers a function of the operation and the gradients of its results."""
        _register(self._op_type, f)
        return f


@export("no_gradient", v1=("NoGradient", "NotDifferentiable", "no_gradient"))
def no_gradient(op_type: str) -> None:
    """Declares ops of a type as not differentiable.

    Raises:
        KeyError: the type already has a gradient.
    """
    if not isinstance(op_type, str):
        raise DTypeError(f"op_type must be a string, got {shown(op_type)}.")
    _register(op_type, None)


NoGradient = NotDifferentiable = no_gradient


def rule_of(node: Operation) -> GradientRule | None:
    """The gradient rule of an operation: by the graph's or the program's override, else by its op's rule."""
    name = node.graph.gradient_names.get(node)
    if name is not None and name not in _functions:
        known = all_ops().get(name)
        if known is None or known.gradient_rule is None:
            raise NoGradientError(
                f"No gradient defined for operation '{node.name}' (op type: {node.type}): the program gives it the "
                f"gradient {name!r}, which nothing is registered for. Use tf.RegisterGradient({name!r})."
            )
        return known.gradient_rule
    if name is None:
        if node.op_def.gradient_rule is not None or node.type not in _functions:
            return node.op_def.gradient_rule
        name = node.type
    return _as_rule(node, _functions[name], name)


class RegisteredTwiceError(ArgumentError, KeyError):
    """There is a gradient of that name already."""

    def __str__(self) -> str:
        return self.message


show_as(RegisteredTwiceError, KeyError)


def _register(name: str, function: Callable[..., Any] | None) -> None:
    known = all_ops().get(name)
    if name in _functions or (known is not None and known.gradient_rule is not None):
        raise RegisteredTwiceError(f"Registering two gradient with name '{name}'!")
    _functions[name] = function


def _as_rule(node: Operation, function: Callable[..., Any] | None, name: str) -> GradientRule:
    def rule(grads: list[Any], *, _node: Operation, _see: Callable[[Any], Any]) -> Any:
        given = [zeros_like(_see(out)) if g is None else g for g, out in zip(grads, _node.outputs, strict=True)]
        made = function(_node, *given) if function is not None else [None] * len(_node.op_def.inputs)
        return _by_input(_node, list(made) if isinstance(made, (list, tuple)) else [made], name)

    made = GradientRule(rule, node.op_def.signature, ())
    made.stops = function is None
    return made


def _by_input(node: Operation, made: list[Any], name: str) -> Any:
    """The result of a function in the form of a rule: only for tensors, with lists of tensors grouped."""
    args = list(zip(node.op_def.inputs, node.args, strict=True))
    tensors = [(arg, value) for arg, value in args if not arg.is_host]
    wanted = args if len(made) == _count(args) else tensors
    if len(made) != _count(wanted):
        raise ArgumentError(
            f"Num gradients {len(made)} generated for op {node.name} do not match num inputs {_count(args)}: "
            f"the gradient function {name!r} returns one for each input, None where nothing flows back."
        )
    found, begin = [], 0
    for arg, value in wanted:
        end = begin + (len(value) if arg.is_list else 1)
        if not arg.is_host:
            found.append(made[begin:end] if arg.is_list else made[begin])
        begin = end
    return found[0] if len(found) == 1 else found


def _count(args: Sequence[Any]) -> int:
    return sum(len(value) if arg.is_list else 1 for arg, value in args)
