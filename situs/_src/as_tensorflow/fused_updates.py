"""Fused updates for Keras' optimizers: one op for each device and dtype, not a dozen for each variable.

    Adam.update_step(grad, variable, rate)      what Keras has: subtract, multiply, assign_add, square, ...
    ApplyAdamW                                  what runs in its place, for all variables that have a gradient

Keras passes every step to ``maybe_merge_call``, where a strategy may handle it. Here an optimizer whose `update_step`
is one that Keras ships is one op (`variables.apply_ops`): its states are Keras' own slot variables, and the other
inputs are computed once per step. Other optimizers, and sparse gradients, use Keras' implementation.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.dtype import DType
from situs._src.base.tensor import read
from situs._src.distribute.context import get_replica_context
from situs._src.ops.cast import cast
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.slices import IndexedSlices
from situs._src.variables import apply_ops as ops
from situs._src.variables.apply_ops import Apply, hyper_dtype
from situs._src.variables.apply_updates import Group, Update, add, do_all, grouped
from situs._src.variables.eager import Variable


def maybe_merge_call(fn: Callable[..., Any], strategy: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls what changes variables, ``fn(strategy, ...)``; a step of an optimizer that is one op runs as that op."""
    if not strategy.can_update_apart and (replica := get_replica_context()) is not None:
        return replica.merge_call(fn, args=args, kwargs=kwargs)
    optimizer = getattr(fn, "__self__", None)
    if optimizer is not None and getattr(fn, "__name__", "") == "_distributed_tf_update_step":
        pairs, rate = args
        rest = update_together(optimizer, pairs, rate)
        return fn(strategy, rest, rate, **kwargs) if rest else None
    if getattr(fn, "__name__", "") == "distributed_apply_weight_decay" and "self" in fn.__code__.co_freevars:
        return _decay_together(inspect.getclosurevars(fn).nonlocals["self"], *args)
    return fn(strategy, *args, **kwargs)


def update_together(optimizer: Any, pairs: Sequence[tuple[Any, Any]], rate: Any) -> list[tuple[Any, Any]]:
    """Makes a step of an optimizer of Keras.

    Args:
        optimizer: The optimizer.
        pairs: Gradients and their variables.
        rate: The learning rate of the step.

    Returns:
        The pairs that are left for Keras to do.
    """
    rule_of = _rules().get(type(optimizer).update_step)
    if rule_of is None:
        return list(pairs)
    rest = [pair for pair in pairs if not _can_join(*pair)]
    together = [pair for pair in pairs if _can_join(*pair)]
    if together:
        rule = rule_of(optimizer)
        if here.graph is None:
            _update_now(optimizer, rule, together, rate)
        else:
            _add_updates(optimizer, rule, together, rate)
    return rest


def _can_join(grad: Any, variable: Any) -> bool:
    return grad is not None and not isinstance(grad, IndexedSlices) and variable.dtype.is_floating


def _add_updates(optimizer: Any, rule: Rule, pairs: Sequence[tuple[Any, Any]], rate: Any) -> None:
    """Adds the updates to the graph of a function; its plan joins those of one device."""
    numbers: dict[DType, dict[str, Any]] = {}
    for grad, variable in pairs:
        dtype = hyper_dtype(variable.dtype)
        if dtype not in numbers:
            found = rule.numbers(Step(optimizer, rate, dtype, as_tensors=True))
            numbers[dtype] = {name: cast(convert_to_tensor(value), dtype) for name, value in found.items()}
        states = (variable, *_slots(optimizer, rule, variable))
        add(Update(rule.apply, states, cast(read(grad), variable.dtype), numbers[dtype], rule.attrs))


_groups: WeakKeyDictionary[Any, dict[Any, list[Group]]] = WeakKeyDictionary()


def _update_now(optimizer: Any, rule: Rule, pairs: Sequence[tuple[Any, Any]], rate: Any) -> None:
    """Makes the updates at once, by device and dtype, which are found out once for the same variables."""
    pairs = [(grad, variable._component()) for grad, variable in pairs]
    known = _groups.setdefault(optimizer, {})
    key = rule.apply, *(id(variable) for _, variable in pairs)
    if key not in known:
        states = [(variable, *_slots(optimizer, rule, variable)) for _, variable in pairs]
        known[key] = grouped(rule.apply, states)
    on_host = getattr(read(optimizer._iterations.value), "_value", None)
    as_tensors = on_host is not None and on_host.device.type != "cpu"  # asking a GPU for the step would be to wait
    for group in known[key]:
        step = Step(optimizer, rate, hyper_dtype(group.where.dtype), as_tensors)
        group.change([pairs[number][0] for number in group.numbers], rule.numbers(step), rule.attrs)


def _slots(optimizer: Any, rule: Rule, variable: Any) -> list[Any]:
    if not rule.slots:
        return []
    place = optimizer._get_variable_index(variable)
    return [slots[place].value._component() for slots in rule.slots]


def _decay_together(optimizer: Any, variables: Sequence[Any]) -> None:
    """Takes a part of variables away, as the argument ``weight_decay`` of an optimizer says."""
    numbers = {"lr": _value(optimizer.learning_rate)}
    decayed = [each for each in variables if optimizer._use_weight_decay(each)]
    own = [each if isinstance(each, Variable) else each.value for each in decayed]
    do_all([Update(ops.apply_weight_decay, (each,), optimizer.weight_decay, numbers) for each in own])


class Step:
    """The numbers of one step: Python's where they are known on the host, else tensors.

    Args:
        optimizer: The optimizer.
        rate: The learning rate.
        dtype: What to compute in.
        as_tensors: Whether numbers are tensors.
    """

    def __init__(self, optimizer: Any, rate: Any, dtype: DType, as_tensors: bool) -> None:
        self._as_tensors = as_tensors
        self._dtype = dtype
        self._kind: Any = np.float64 if dtype is dt.float64 else np.float32
        step = _value(optimizer.iterations)
        self._step = cast(step, dtype) + 1 if as_tensors else self._kind(int(step) + 1)
        rate = _value(rate)
        self.rate = cast(rate, dtype) if as_tensors else self._kind(float(rate))

    def number(self, value: float) -> Any:
        """A number of the precision that is computed in."""
        return constant(value, self._dtype) if self._as_tensors else self._kind(value)

    def power(self, base: float, later: int = 0) -> Any:
        """A number to the power of this step, or of a later one."""
        return self.number(base) ** (self._step + later)


def _value(value: Any) -> Any:
    """What a variable of Keras', a tensor or a number is now."""
    return read(value.value if hasattr(value, "value") and not isinstance(value, Variable) else value)


class Rule(NamedTuple):
    """An optimizer as one op.

    Attributes:
        apply: The op.
        slots: For each state after the variable, the list of Keras' variables that are it.
        attrs: The attributes of the op.
        numbers: What the op is given besides, for a step.
    """

    apply: Apply
    slots: tuple[Sequence[Any], ...]
    attrs: Mapping[str, Any]
    numbers: Callable[[Step], dict[str, Any]]


def _sgd(o: Any) -> Rule:
    if not o.momentum:
        return Rule(ops.apply_gradient_descent, (), {}, lambda step: {"alpha": step.rate})
    numbers: Callable[[Step], dict[str, Any]] = lambda step: {"lr": step.rate, "momentum": o.momentum}  # noqa: E731
    return Rule(ops.apply_keras_momentum, (o.momentums,), {"use_nesterov": o.nesterov}, numbers)


def _adam(o: Any) -> Rule:
    attrs = {"beta1": o.beta_1, "beta2": o.beta_2, "epsilon": o.epsilon}
    slots = (o._momentums, o._velocities)

    def numbers(step: Step) -> dict[str, Any]:
        return {"beta1_power": step.power(o.beta_1), "beta2_power": step.power(o.beta_2), "lr": step.rate}

    if o.amsgrad:
        return Rule(ops.apply_adam_with_amsgrad, (*slots, o._velocity_hats), attrs, numbers)
    return Rule(ops.apply_adam_w, slots, {**attrs, "weight_decay": 0.0}, numbers)  # Keras has decayed them before


def _adamax(o: Any) -> Rule:
    def numbers(step: Step) -> dict[str, Any]:
        rest = {"beta1": o.beta_1, "beta2": o.beta_2, "epsilon": o.epsilon}
        return {"beta1_power": step.power(o.beta_1), "lr": step.rate, **rest}

    return Rule(ops.apply_ada_max, (o._m, o._u), {}, numbers)


def _nadam(o: Any) -> Rule:
    def numbers(step: Step) -> dict[str, Any]:
        def momentum(later: int) -> Any:
            return step.number(o.beta_1) * (step.number(1.0) - step.number(0.5) * step.power(0.96, later))

        return {
            "lr": step.rate,
            "beta1": step.number(o.beta_1),
            "beta2": step.number(o.beta_2),
            "epsilon": o.epsilon,
            "beta2_power": step.power(o.beta_2),
            "now": momentum(0),
            "after": momentum(1),
            "product": o._u_product.value,
        }

    return Rule(ops.apply_nadam, (o._momentums, o._velocities), {}, numbers)


def _rms_prop(o: Any) -> Rule:
    slots = [o._average_gradients] if o.centered else []
    slots += [o._velocities, *([o._momentums] if o.momentum else [])]
    plain = ops.apply_plain_centered_rms_prop if o.centered else ops.apply_plain_rms_prop
    moving = ops.apply_centered_rms_prop if o.centered else ops.apply_rms_prop

    def numbers(step: Step) -> dict[str, Any]:
        found = {"lr": step.rate, "rho": o.rho, "epsilon": o.epsilon}
        return {**found, "momentum": o.momentum} if o.momentum else found

    return Rule(moving if o.momentum else plain, tuple(slots), {}, numbers)


def _adagrad(o: Any) -> Rule:
    return Rule(ops.apply_keras_adagrad, (o._accumulators,), {}, lambda step: {"lr": step.rate, "epsilon": o.epsilon})


def _adadelta(o: Any) -> Rule:
    def numbers(step: Step) -> dict[str, Any]:
        return {"lr": step.rate, "rho": o.rho, "epsilon": o.epsilon}

    return Rule(ops.apply_adadelta, (o._accumulated_grads, o._accumulated_delta_vars), {}, numbers)


def _ftrl(o: Any) -> Rule:
    def numbers(step: Step) -> dict[str, Any]:
        return {
            "lr": step.rate,
            "l1": o.l1_regularization_strength,
            "l2": o.l2_regularization_strength + (o.beta / (2.0 * step.rate) if o.beta else 0.0),
            "l2_shrinkage": o.l2_shrinkage_regularization_strength,
            "lr_power": o.learning_rate_power,
        }

    return Rule(ops.apply_ftrl_v2, (o._accumulators, o._linears), {}, numbers)


def _lion(o: Any) -> Rule:
    def numbers(step: Step) -> dict[str, Any]:
        return {"lr": step.rate, "beta1": o.beta_1, "beta2": o.beta_2}

    return Rule(ops.apply_lion, (o._momentums,), {}, numbers)


@cache
def _rules() -> dict[Any, Callable[[Any], Rule]]:
    """The optimizers that are one op, by what a class of Keras' does in a step."""
    known = {
        "SGD": _sgd,
        "Adam": _adam,
        "Adamax": _adamax,
        "Nadam": _nadam,
        "RMSprop": _rms_prop,
        "Adagrad": _adagrad,
        "Adadelta": _adadelta,
        "Ftrl": _ftrl,
        "Lion": _lion,
    }
    keras = importlib.import_module("keras")
    return {getattr(keras.optimizers, name).update_step: rule for name, rule in known.items()}
