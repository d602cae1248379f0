"""Updates that optimizers ask for: added to the graph being built, or made at once, many together.

    Update(apply_adam, (w, m, v), grad, {"lr": 0.01, ...})       one variable, and what steers it

In a graph each update is an operation on the device of its variable; the plan joins them. In eager code those that
share what steers them are made in one go for each device and dtype, whatever their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from situs.devices.scope import here
from situs.eager.bridge import TORCH_DTYPE, Place
from situs.eager.tensor import EagerTensor, copy_to
from situs.errors import DTypeError
from situs.graph.graph import Graph
from situs.graph.node import Operation
from situs.graph.tensor import SymbolicTensor
from situs.ops.cast import cast
from situs.ops.constant import convert_to_tensor
from situs.placement import options
from situs.symbolic.build import apply as build
from situs.tensor import read
from situs.variables.apply_ops import Apply, steering_dtype
from situs.variables.capture import captured_variable
from situs.variables.eager import Variable
from situs.variables.symbolic import RefVariable


class Update(NamedTuple):
    """One change of a variable.

    Attributes:
        apply: What to do.
        states: The variable, and what the optimizer keeps beside it.
        grad: The gradient; rows of it, if there are `indices`.
        steering: The other inputs of the op, by name. Updates that are given the same object are made together.
        attrs: The attributes of the op.
        indices: Which rows of the variable the gradient has.
    """

    apply: Apply
    states: tuple[Any, ...]
    grad: Any
    steering: Mapping[str, Any]
    attrs: Mapping[str, Any] = {}
    indices: Any = None


def state_of(variable: Any, graph: Graph) -> SymbolicTensor:
    """The tensor that stands for a variable's state in a graph."""
    if isinstance(variable, Variable):
        return captured_variable(graph, variable)
    if isinstance(variable, RefVariable):
        return graph.capture(variable._variable)
    raise DTypeError(f"Optimizers change variables, and {variable!r} is none. Make one with tf.Variable.")


# In a graph.


def add(update: Update) -> Operation:
    """Adds the operation of an update to the graph being built."""
    graph: Graph = here.graph
    states = [state_of(variable, graph) for variable in update.states]
    dtype = steering_dtype(update.states[0].dtype)
    given: dict[str, Any] = {arg.name: tensor for arg, tensor in zip(update.apply.op.inputs, states, strict=False)}
    given[update.apply.op.inputs[update.apply.joint].name] = update.grad
    if update.indices is not None:
        given["indices"] = update.indices
    with graph.colocate_with(states[0].op):
        given.update((name, cast(convert_to_tensor(value), dtype)) for name, value in update.steering.items())
        inputs = tuple(given[arg.name] for arg in update.apply.op.inputs)
        made = build(update.apply.op, inputs, dict(update.attrs), None, graph=graph)
    return made.op  # type: ignore[no-any-return]


# At once.


def make(updates: Sequence[Update]) -> None:
    """Makes updates of eager variables, together where they are steered alike."""
    groups: dict[Any, list[Update]] = {}
    for update in updates:
        variable = update.states[0]
        if not isinstance(variable, Variable):
            raise DTypeError(f"Optimizers change variables, and {variable!r} is none. Make one with tf.Variable.")
        alone = id(update) if update.indices is not None else None
        key = update.apply, variable.place, id(update.steering), tuple(update.attrs.items()), alone
        groups.setdefault(key, []).append(update)
    for group in groups.values():
        _make_group(group)


def _make_group(group: Sequence[Update]) -> None:
    first = group[0]
    where = first.states[0].place
    attrs = dict(first.attrs)
    if first.indices is not None:
        attrs["indices"] = [_value(first.indices, where)]
    grads = [gradient_value(update.grad, where) for update in group]
    change(first.apply, [update.states for update in group], grads, first.steering, attrs)


def change(
    apply: Apply,
    states: Sequence[Sequence[Variable]],
    grads: Sequence[Any],
    steering: Mapping[str, Any],
    attrs: Mapping[str, Any],
) -> None:
    """Makes updates of eager variables of one place.

    Args:
        apply: What to do.
        states: For each update the variable and what the optimizer keeps beside it.
        grads: Their gradients, as values on the variables' device.
        steering: What steers all of them: numbers, tensors or variables.
        attrs: The attributes of the op.
    """
    where = states[0][0].place
    if options.current.log:
        print(f"Executing op {apply.op.name} in device {where.device.name}", flush=True)
    numbers = {name: steering_value(value, where) for name, value in steering.items()}
    for part in _without_repetition(states):
        cells = [[states[number][column]._cell for number in part] for column in range(len(states[0]))]
        apply.change(cells, [grads[number] for number in part], numbers, attrs)


def _without_repetition(states: Sequence[Sequence[Variable]]) -> list[Sequence[int]]:
    """The numbers of updates in parts that change each variable once: what is changed twice takes its turns."""
    turns: dict[int, int] = {}
    parts: list[list[int]] = []
    for number, (variable, *_) in enumerate(states):
        turn = turns.get(id(variable), 0)
        turns[id(variable)] = turn + 1
        if turn == len(parts):
            parts.append([])
        parts[turn].append(number)
    return parts  # type: ignore[return-value]


def gradient_value(grad: Any, where: Place) -> Any:
    """A gradient as a value for a variable at a place."""
    if isinstance(grad, EagerTensor) and grad._place is where:
        return grad._value
    given = convert_to_tensor(grad, where.dtype)
    assert isinstance(given, EagerTensor)
    return copy_to(given, where.device)._value


def _value(tensor: Any, where: Place) -> Any:
    given = convert_to_tensor(tensor)
    assert isinstance(given, EagerTensor)
    return copy_to(given, where.device)._value


def steering_value(value: Any, where: Place) -> Any:
    """What steers updates of variables at a place: a number, or a value there or on the host."""
    value = read(value)
    if not isinstance(value, EagerTensor):
        return value
    if value._value.device.type != "cpu":
        value = copy_to(value, where.device)
    return value._value.to(TORCH_DTYPE[steering_dtype(where.dtype)])
