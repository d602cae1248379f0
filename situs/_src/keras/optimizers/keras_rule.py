"""Optimizers of Keras that are one op, applied to all variables together.

A class says which op it is, which lists of slots are its states, and what steers it:

    class SGD(Ruled):
        def _rule(self):          return Rule(apply_gradient_descent)
        def _steering(self, m):   return {"alpha": m.rate}

What steers an op is computed once for all variables of a dtype: with numbers in eager code, where they are known on the
host, and with tensors in a graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.dtype import DType
from situs._src.base.tensor import read
from situs._src.ir.registry.op import find_op
from situs._src.keras.optimizers.optimizer import Optimizer
from situs._src.keras.optimizers.processing import in_dtypes
from situs._src.keras.optimizers.update import Group, Update, add, grouped
from situs._src.ops.cast import cast
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.slices import IndexedSlices
from situs._src.variables.apply_ops import Apply, steering_dtype


class Rule(NamedTuple):
    """What changes variables: the op, for each state after the variable the list of slots, and attributes."""

    apply: Apply
    slots: tuple[Sequence[Any], ...] = ()
    attrs: Mapping[str, Any] = {}


class Moment:
    """What steers a step: the learning rate, the number of the step, and how to make numbers to compute with."""

    def __init__(self, rate: Any, step: Any, dtype: DType) -> None:
        self.rate = rate
        self.step = step
        self._dtype = dtype
        self._kind: Any = np.float64 if dtype is dt.float64 else np.float32

    def number(self, value: Any) -> Any:
        """A number of the precision that is computed in."""
        return self._kind(value) if here.graph is None else constant(value, self._dtype)

    def power(self, base: float, later: int = 0) -> Any:
        """A number to the power of the step, or of a later one."""
        step = self.step + later
        return self.number(base) ** (self._kind(step) if here.graph is None else cast(step, self._dtype))


class Ruled(Optimizer):
    """The base of optimizers that are one op."""

    def __init__(self, learning_rate: Any, **kwargs: Any) -> None:
        super().__init__(learning_rate, **kwargs)
        self._groups: dict[Any, list[Group]] = {}

    def _rule(self) -> Rule:
        """What changes variables."""
        raise NotImplementedError

    def _steering(self, m: Moment) -> dict[str, Any]:
        """What the op is given besides states and gradients."""
        raise NotImplementedError

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Changes one variable by its gradient."""
        self._update_together([gradient], [variable], read(learning_rate))

    def _update_all(self, grads: list[Any], variables: list[Any], rate: Any) -> None:
        if type(self).update_step is not Ruled.update_step:
            super()._update_all(grads, variables, rate)
        else:
            self._update_together(grads, variables, rate)

    def _update_together(self, grads: list[Any], variables: list[Any], rate: Any) -> None:
        rule = self._rule()
        whole = [_whole(g, v) if type(g) is IndexedSlices else g for g, v in zip(grads, variables, strict=True)]
        if here.graph is None:
            self._update_now(rule, whole, variables, rate)
            return
        known = {dtype: self._tensors(rate, dtype) for dtype in {variable.dtype for variable in variables}}
        for grad, variable in zip(in_dtypes(whole, variables), variables, strict=True):
            add(Update(rule.apply, self._states(rule, variable), grad, known[variable.dtype], rule.attrs))

    def _tensors(self, rate: Any, dtype: DType) -> dict[str, Any]:
        """What steers updates of variables of a dtype, as tensors of a graph."""
        steering = self._steering(self._moment(rate, dtype))
        return {name: cast(convert_to_tensor(v), steering_dtype(dtype)) for name, v in steering.items()}

    def _moment(self, rate: Any, dtype: DType) -> Moment:
        """The step that is being made, for variables of a dtype."""
        wanted = steering_dtype(dtype)
        return Moment(rate if here.graph is None else cast(rate, wanted), self._changes() + 1, wanted)

    def _update_now(self, rule: Rule, grads: list[Any], variables: list[Any], rate: Any) -> None:
        for group in self._grouped(rule, variables):
            steering = self._steering(self._moment(rate, group.where.dtype))
            group.change([grads[number] for number in group.numbers], steering, rule.attrs)

    def _grouped(self, rule: Rule, variables: list[Any]) -> list[Group]:
        """Variables by device and dtype; found out once for the same variables."""
        key = rule.apply, *map(id, variables)
        found = self._groups.get(key)
        if found is None:
            states = [self._states(rule, variable) for variable in variables]
            found = self._groups[key] = grouped(rule.apply, states)
        return found

    def _states(self, rule: Rule, variable: Any) -> tuple[Any, ...]:
        if not rule.slots:
            return (variable,)
        place = self._places[id(variable)]
        return variable, *[slots[place] for slots in rule.slots]


def _whole(grad: IndexedSlices, variable: Any) -> Any:
    """A gradient of some rows as one of all."""
    return find_op("UnsortedSegmentSum")(grad.values, grad.indices, variable.shape[0])
