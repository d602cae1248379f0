"""Steps of training as ``tf.contrib.layers`` has them: `optimize_loss`; and summaries of its layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.ir.graph.context import control_dependencies, get_default_graph
from situs._src.ir.graph.node import Operation
from situs._src.ops.array import identity
from situs._src.ops.clip import clip_by_global_norm
from situs._src.ops.constant import convert_to_tensor
from situs._src.summaries.graph_summaries import histogram, scalar
from situs._src.v1.frontend import builds
from situs._src.v1.optimizers import optimizers
from situs._src.v1.optimizers.base import Optimizer
from situs._src.v1.optimizers.global_step import get_global_step
from situs._src.variables.collections import GraphKeys
from situs._src.variables.scope import variable_scope


@builds
def optimize_loss(
    loss: Any,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Any = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Callable[[Any, Any], Any] | None = None,
    update_ops: Any = None,
    variables: Any = None,
    name: str | None = None,
    summaries: Any = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Any:
    """A step of training that gives the loss.

    Args:
        loss: What to make small.
        global_step: The variable that counts steps; the graph's by default.
        learning_rate: A number, a tensor, or None, if the optimizer has its own.
        optimizer: An optimizer, a class of one, a function from a rate to one, or a name: ``"Adagrad"``, ``"Adam"``,
            ``"Ftrl"``, ``"Momentum"``, ``"RMSProp"`` or ``"SGD"``.
        gradient_noise_scale: Refused: noise that is added to gradients.
        gradient_multipliers: Numbers for variables, or their names: what to multiply their gradients by.
        clip_gradients: The largest norm of all gradients together; or a function of pairs.
        learning_rate_decay_fn: A function of the rate and the global step.
        update_ops: Operations to run before; by default those of the collection ``UPDATE_OPS``.
        variables: What to change; all trainable variables by default.
        name: The variable scope: ``OptimizeLoss`` by default.
        summaries: Accepted for TensorFlow's programs: which summaries to add. ``loss`` and ``learning_rate`` are.
        colocate_gradients_with_ops: Whether gradients are where their ops are.
        increment_global_step: Whether a step is counted.

    Raises:
        ValueError: there is no such optimizer, or no gradient.
    """
    if gradient_noise_scale is not None:
        raise ArgumentError("Situs adds no noise to gradients: give clip_gradients a function that does.")
    step = get_global_step() if global_step is None else global_step
    with variable_scope(name, "OptimizeLoss", [loss, step]):
        updates = set(get_default_graph().get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else update_ops)
        if updates:
            with control_dependencies(list(updates)):
                loss = identity(loss)
        if learning_rate is not None and learning_rate_decay_fn is not None:
            learning_rate = learning_rate_decay_fn(learning_rate, step)
        if learning_rate is not None:
            scalar("learning_rate", learning_rate)
        made = _optimizer_of(optimizer, learning_rate)
        pairs = made.compute_gradients(loss, variables, colocate_gradients_with_ops=colocate_gradients_with_ops)
        if gradient_multipliers is not None:
            pairs = [_multiplied(gradient, variable, gradient_multipliers) for gradient, variable in pairs]
        if callable(clip_gradients):
            pairs = clip_gradients(pairs)
        elif clip_gradients is not None:
            clipped, _ = clip_by_global_norm([gradient for gradient, _ in pairs], clip_gradients)
            pairs = [(gradient, variable) for gradient, (_, variable) in zip(clipped, pairs, strict=True)]
        scalar("loss", loss)
        train = made.apply_gradients(pairs, global_step=step if increment_global_step else None, name="train")
        with control_dependencies([train]):
            return identity(loss, name="control_dependency")


_OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "Adagrad": optimizers.AdagradOptimizer,
    "Adam": optimizers.AdamOptimizer,
    "Ftrl": optimizers.FtrlOptimizer,
    "Momentum": lambda rate: optimizers.MomentumOptimizer(rate, momentum=0.9),
    "RMSProp": optimizers.RMSPropOptimizer,
    "SGD": optimizers.GradientDescentOptimizer,
}


def _optimizer_of(optimizer: Any, rate: Any) -> Any:
    if isinstance(optimizer, str):
        if optimizer not in _OPTIMIZERS:
            names = ", ".join(_OPTIMIZERS)
            raise ArgumentError(f"Optimizer name should be one of [{names}], you provided {optimizer}.")
        if rate is None:
            raise ArgumentError("Learning rate must be specified when using string name of optimizer.")
        return _OPTIMIZERS[optimizer](rate)
    if isinstance(optimizer, Optimizer):
        return optimizer
    if not callable(optimizer):
        raise ArgumentError(f"Unrecognized optimizer: {shown(optimizer)}.")
    return optimizer() if rate is None and not isinstance(optimizer, type) else optimizer(rate)


def _multiplied(gradient: Any, variable: Any, by: Any) -> tuple[Any, Any]:
    factor = by.get(variable, by.get(variable.op.name)) if gradient is not None else None
    return (gradient if factor is None else gradient * factor), variable


@builds
def summarize_tensor(tensor: Any, tag: str | None = None) -> Any:
    """A summary of a tensor: of a number its value, else a histogram."""
    name = _name_of(tensor) if tag is None else tag
    given = convert_to_tensor(tensor)
    return scalar(name, given) if given.shape.rank == 0 else histogram(name, given)


def _name_of(tensor: Any) -> str:
    """The name of the operation that makes a tensor, or of a variable.

    Raises:
        TypeError: it is neither.
    """
    made_by = getattr(tensor, "op", None)
    if not isinstance(made_by, Operation):
        raise DTypeError(f"A summary of a tensor of a graph has its name, got {shown(tensor)}.")
    return made_by.name


@builds
def summarize_activation(op: Any) -> Any:
    """A histogram of what a layer gives."""
    return histogram(f"{_name_of(op)}/activation", op)


@builds
def summarize_tensors(tensors: Any, summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    """Summaries of tensors."""
    if not isinstance(tensors, (list, tuple)):
        raise DTypeError(f"Summaries are made of a list of tensors, got {shown(tensors)}.")
    return [summarizer(tensor) for tensor in tensors]
