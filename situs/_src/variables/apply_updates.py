"""Updates by optimizers: added to the current graph, or applied immediately, many together.

    Update(apply_adam, (w, m, v), grad, {"lr": 0.01, ...})       one variable, and the hyperparameters

In a graph each update is an operation on the device of its variable; the plan fuses them. In eager code those that
share their hyperparameters are applied in one call for each device and dtype, whatever their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from situs._src.base.devices.scope import here
from situs._src.base.errors import DTypeError, shown
from situs._src.base.tensor import read
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.placement import options
from situs._src.runtime import watch
from situs._src.runtime.eager.bridge import TORCH_DTYPE, Place
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.eager.tape import has_gradient
from situs._src.runtime.eager.tensor import EagerTensor, copy_to
from situs._src.runtime.symbolic.build import apply as build
from situs._src.variables.apply_ops import Apply, hyper_dtype
from situs._src.variables.capture import captured_variable
from situs._src.variables.eager import Variable
from situs._src.variables.symbolic import RefVariable


class Update(NamedTuple):
    """One change of a variable.

    Attributes:
        apply: What to do.
        states: The variable, and what the optimizer keeps beside it.
        grad: The gradient; rows of it, if there are `indices`.
        hyper: The hyperparameters, by name. Updates that are given the same object are made together.
        attrs: The attributes of the op.
        indices: Which rows of the variable the gradient has.
    """

    apply: Apply
    states: tuple[Any, ...]
    grad: Any
    hyper: Mapping[str, Any]
    attrs: Mapping[str, Any] = {}
    indices: Any = None


def state_of(variable: Any, graph: Graph) -> SymbolicTensor:
    """The tensor that stands for a variable's state in a graph."""
    if isinstance(variable, Variable):
        return captured_variable(graph, variable)
    if isinstance(variable, RefVariable):
        return graph.capture(variable._variable)
    raise _no_variable(variable)


def _no_variable(value: Any) -> DTypeError:
    return DTypeError(f"Optimizers change variables, and {shown(value)} is not one. Make one with tf.Variable.")


# In a graph.


def add(update: Update) -> Operation:
    """Adds the operation of an update to the graph being built."""
    graph: Graph = here.graph
    states = [state_of(variable, graph) for variable in update.states]
    dtype = hyper_dtype(update.states[0].dtype)
    given: dict[str, Any] = {arg.name: tensor for arg, tensor in zip(update.apply.op.inputs, states, strict=False)}
    given[update.apply.op.inputs[update.apply.joint].name] = update.grad
    if update.indices is not None:
        given["indices"] = update.indices
    with graph.colocate_with(states[0].op):
        given.update((name, cast(convert_to_tensor(value), dtype)) for name, value in update.hyper.items())
        inputs = tuple(given[arg.name] for arg in update.apply.op.inputs)
        return build(update.apply.op, inputs, dict(update.attrs), None, graph=graph).op  # type: ignore[no-any-return]


def do_all(updates: Sequence[Update]) -> list[Operation]:
    """Adds updates to the graph being built and returns their operations; in eager code makes them at once."""
    if here.graph is not None:
        return [add(update) for update in updates]
    make(updates)
    return []


# At once.


def make(updates: Sequence[Update]) -> None:
    """Makes updates of eager variables, together where their hyperparameters are the same."""
    alike: dict[Any, list[Update]] = {}
    for update in updates:
        alone = id(update) if update.indices is not None else None
        key = update.apply, id(update.hyper), tuple(update.attrs.items()), alone
        alike.setdefault(key, []).append(update)
    for several in alike.values():
        for group in grouped(several[0].apply, [update.states for update in several]):
            _make(group, [several[number] for number in group.numbers])


def _make(group: Group, updates: Sequence[Update]) -> None:
    attrs = dict(updates[0].attrs)
    if updates[0].indices is not None:
        attrs["indices"] = [_value(convert_to_tensor(updates[0].indices), group.where)]
    group.change([update.grad for update in updates], updates[0].hyper, attrs)


class Group:
    """Updates of eager variables of one device and dtype, none of them twice.

    Args:
        apply: What to do.
        where: The device and dtype of the variables.

    Attributes:
        numbers: Which updates they are.
    """

    def __init__(self, apply: Apply, where: Place) -> None:
        self.where = where
        self.numbers: list[int] = []
        self._apply = apply
        self._cells: list[list[Cell]] = [[] for _ in range(apply.states)]
        self._known: set[int] = set()

    def add(self, number: int, states: Sequence[Variable]) -> bool:
        """Adds an update, unless its variable is here already."""
        if id(states[0]) in self._known:
            return False
        self._known.add(id(states[0]))
        self.numbers.append(number)
        for column, variable in zip(self._cells, states, strict=True):
            column.append(variable._component()._cell)
        return True

    def change(self, grads: Sequence[Any], hyper: Mapping[str, Any], attrs: Mapping[str, Any]) -> None:
        """Makes the updates.

        Args:
            grads: The gradients.
            hyper: The hyperparameters of all of them: numbers, tensors or variables.
            attrs: The attributes of the op.
        """
        where = self.where
        if options.current.log:
            print(f"Executing op {self._apply.op.name} in device {where.device.name}", flush=True)
        values = [
            grad._value if type(grad) is EagerTensor and grad._place is where else _gradient(grad, where)
            for grad in grads
        ]
        numbers = {name: _hyper_value(value, where) for name, value in hyper.items()}
        change = self._apply.change
        if watch.watcher is not None:
            change = watch.watcher.update(change, self._apply.op, where.device)
        change(self._cells, values, numbers, attrs)


def grouped(apply: Apply, states: Sequence[Sequence[Any]]) -> list[Group]:
    """Updates by device and dtype; a variable that is changed twice takes its turns.

    Args:
        apply: What to do.
        states: For each update the variable, and what the optimizer keeps beside it.
    """
    groups: dict[Place, list[Group]] = {}
    for number, each in enumerate(states):
        place = _place_of(each[0])
        here_too = groups.setdefault(place, [])
        if not any(group.add(number, each) for group in here_too):
            here_too.append(Group(apply, place))
            here_too[-1].add(number, each)
    return [group for alike in groups.values() for group in alike]


def _place_of(variable: Any) -> Place:
    """Where a variable is, if it can be changed."""
    if not isinstance(variable, Variable):
        raise _no_variable(variable)
    if not has_gradient(variable.dtype):
        raise DTypeError(f"Optimizers change floating-point variables, and '{variable.name}' is {variable.dtype.name}.")
    return variable.place


def _gradient(grad: Any, where: Place) -> Any:
    """A gradient as a value for a variable at a place."""
    value = read(grad)
    tensor = cast(value, where.dtype) if isinstance(value, EagerTensor) else convert_to_tensor(value, where.dtype)
    return _value(tensor, where)


def _value(tensor: Any, where: Place) -> Any:
    return copy_to(tensor, where.device)._value


def _hyper_value(value: Any, where: Place) -> Any:
    """A hyperparameter at the place of variables: a number, or a value there or on the host."""
    value = read(value)
    if not isinstance(value, EagerTensor):
        return value
    if value._value.device.type != "cpu":
        value = copy_to(value, where.device)
    return value._value.to(TORCH_DTYPE[hyper_dtype(where.dtype)])
