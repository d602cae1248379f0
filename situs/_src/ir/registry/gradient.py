"""Gradient rules: from the gradients of an op's results to those of its inputs.

    @_mul.gradient
    def _(grad, x, y, x_shape, y_shape):
        return lambda: sum_to(grad * conj(y), x_shape), lambda: sum_to(grad * conj(x), y_shape)

The names of a rule's parameters say what it needs; only these residuals are kept for it:

    grad        the gradient of the result; of an op with several results `grads`, a list with None
                where nothing depends on a result
    x, product  an input or a result, by its name in the signature; a host input as the value it had
    x_shape     the shape of an input: a tuple of sizes where it is known, else a tensor
    *, axis     attributes and dtypes, by keyword; in a graph, ``_node`` is the operation itself, ``_see`` maps
                a tensor of its graph to where the gradient is built, and ``_wants`` tells whether
                the gradient of one of its inputs is needed

A rule is written with ops, so it serves eager code, where its ops run immediately, and graphs, to which they are added,
and gradients are differentiable. It returns one value for each tensor input in the order of the signature, not in a
tuple if there is only one: a tensor, None for no gradient, a list of these for a list of tensors, or a function that
computes it, which is called only if it is needed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from situs._src.base.errors import ArgumentError
from situs._src.ir.registry.signature import Arg, Signature

Rule = Callable[..., Any]
INPUT, OUTPUT, SHAPE = "input", "output", "shape"
NODE, SEE, WANTS = "_node", "_see", "_wants"
_SHAPE_OF = "_shape"
_NOTHING: dict[str, Any] = {}


class Need(NamedTuple):
    """What a parameter of a rule refers to: an input, a result, or the shape of an input, by number."""

    kind: str
    number: int


class GradientRule:
    """A rule, and its residuals.

    Args:
        rule: The function.
        signature: The signature of its op.
        attr_names: The attributes and dtypes that it may use.
    """

    __slots__ = (
        "attrs",
        "function",
        "has_one",
        "is_plain",
        "keep",
        "needs",
        "stops",
        "takes_list",
        "takes_slices",
        "tensor_inputs",
    )

    def __init__(self, rule: Rule, signature: Signature, attr_names: Sequence[str]) -> None:
        self.function = rule
        parameters = list(inspect.signature(rule).parameters.values())
        first = parameters[0].name if parameters else ""
        if first not in ("grad", "grads"):
            raise ArgumentError(f"A gradient rule's first parameter is 'grad' or 'grads', got {first!r}.")
        self.takes_list = first == "grads"
        self.stops = False  # whether it has no gradient, so its inputs are unconnected
        self.takes_slices = False  # whether sparse gradients stay sparse; else the rule gets the dense tensor
        named = [p.name for p in parameters[1:] if p.kind is not inspect.Parameter.KEYWORD_ONLY]
        self.needs = tuple(_need(name, signature) for name in named)
        self.attrs = tuple(p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY)
        unknown = set(self.attrs) - {*attr_names, NODE, SEE, WANTS}
        if unknown:
            raise ArgumentError(f"A gradient rule asks for {sorted(unknown)}; the op has {sorted(attr_names)}.")
        self.tensor_inputs = tuple(i for i, arg in enumerate(signature.inputs) if not arg.is_host)
        self.has_one = len(self.tensor_inputs) == 1
        self.is_plain = not (self.takes_list or self.attrs or self.has_one)  # it takes the residuals only
        self.keep = _keeper(self.needs)

    def __call__(self, grads: Sequence[Any], kept: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The gradients of the tensor inputs, from those of the results and the residuals."""
        first = list(grads) if self.takes_list else grads[0]
        by_name = {name: attrs[name] for name in self.attrs} if self.attrs else _NOTHING
        made = self.function(first, *kept, **by_name)
        return (made,) if self.has_one else tuple(made)


def _keeper(needs: Sequence[Need]) -> Callable[[Sequence[Any], Sequence[Any]], tuple[Any, ...]]:
    """A function of an op's inputs and results, all of them single tensors, that picks the residuals of a rule.

    It is generated code, because it is called for every op that a tape records: a loop takes four times as long.
    """
    forms = {INPUT: "i[{}]", OUTPUT: "o[{}]", SHAPE: "i[{}]._value.shape"}
    picked = "".join(f"{forms[need.kind].format(need.number)}, " for need in needs)
    return eval(f"lambda i, o: ({picked})")  # type: ignore[no-any-return]


def _need(name: str, signature: Signature) -> Need:
    for kind, args in ((INPUT, signature.inputs), (OUTPUT, signature.outputs)):
        number = _find(name, args)
        if number is not None:
            return Need(kind, number)
    number = _find(name.removesuffix(_SHAPE_OF), signature.inputs) if name.endswith(_SHAPE_OF) else None
    if number is None:
        raise ArgumentError(f"A gradient rule asks for {name!r}, which is not in the signature ({signature}).")
    return Need(SHAPE, number)


def _find(name: str, args: Sequence[Arg]) -> int | None:
    return next((number for number, arg in enumerate(args) if arg.name == name), None)
