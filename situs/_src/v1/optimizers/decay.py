"""The learning rate schedules of TensorFlow 1: ``tf.train.exponential_decay`` and the like.

    rate = tf.train.exponential_decay(0.1, global_step, 1000, 0.96)

In a graph a function returns a tensor, computed in every run. In eager code it returns a function without arguments,
for an optimizer, which calls it in every step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, is_tensor, read
from situs._src.ir.graph.context import name_scope
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.array import identity
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.gather import where
from situs._src.ops.math import ceil, cos, exp, floor, log, minimum, pow, sqrt
from situs._src.ops.random import normal
from situs._src.variables.symbolic import RefVariable, here_or


def _decayed(name: str | None, default: str, step: Any, formula: Callable[[], Any]) -> Any:
    graph = _graph_of(step)
    if graph is None:
        return formula
    with here_or(graph), name_scope(name, default) as scope:
        return identity(formula(), name=scope)


def _graph_of(step: Any) -> Graph | None:
    """The graph to build in: that being built, or the step's."""
    if here.graph is not None:
        return here.graph  # type: ignore[no-any-return]
    return step.graph if isinstance(step, (SymbolicTensor, RefVariable)) else None


def _needs_step(global_step: Any, of: str) -> None:
    if global_step is None:
        raise ArgumentError(f"global_step is required for {of}.")


def _converted(rate: Any, *others: Any) -> list[Tensor]:
    """The rate as a tensor, and other values as tensors of its dtype."""
    rate = convert_to_tensor(rate)
    return [rate, *(cast(read(each) if is_tensor(each) else convert_to_tensor(each), rate.dtype) for each in others)]


def _exponential(rate: Any, step: Any, steps: Any, factor: Any, staircase: bool) -> Any:
    rate, step, steps, factor = _converted(rate, step, steps, factor)
    part = step / steps
    return rate * pow(factor, floor(part) if staircase else part)


def _natural_exponential(rate: Any, step: Any, steps: Any, factor: Any, staircase: bool) -> Any:
    rate, step, steps, factor = _converted(rate, step, steps, factor)
    part = step / steps
    return rate * exp(-factor * (floor(part) if staircase else part))


def _inverse_time(rate: Any, step: Any, steps: Any, factor: Any, staircase: bool) -> Any:
    rate, step, steps, factor = _converted(rate, step, steps, factor)
    part = step / steps
    return rate / (1 + factor * (floor(part) if staircase else part))


def _polynomial(rate: Any, step: Any, steps: Any, end: Any, power: Any, cycle: bool) -> Any:
    rate, step, steps, end, power = _converted(rate, step, steps, end, power)
    if cycle:
        steps = steps * where(equal(step, 0), cast(1.0, rate.dtype), ceil(step / steps))
    else:
        step = minimum(step, steps)
    return (rate - end) * pow(1 - step / steps, power) + end


def _piecewise(step: Any, boundaries: Sequence[Any], values: Sequence[Any]) -> Any:
    found = convert_to_tensor(values[0])
    now = read(step)
    for boundary, value in zip(boundaries, values[1:], strict=True):
        limit = _converted(now, boundary)[1] if is_tensor(now) else boundary
        found = where(now > limit, _converted(found, value)[1], found)
    return found


def _half_cosine(part: Tensor, alpha: Tensor, height: Any = 1.0) -> Any:
    return (1 - alpha) * (0.5 * height * (1.0 + cos(cast(math.pi, part.dtype) * part))) + alpha


def _cosine(rate: Any, step: Any, steps: Any, alpha: Any) -> Any:
    rate, step, steps, alpha = _converted(rate, step, steps, alpha)
    return rate * _half_cosine(minimum(step, steps) / steps, alpha)


def _cosine_with_restarts(rate: Any, step: Any, steps: Any, longer: Any, higher: Any, alpha: Any) -> Any:
    is_even = not is_tensor(longer) and longer == 1.0
    rate, step, steps, longer, higher, alpha = _converted(rate, step, steps, longer, higher, alpha)
    part = step / steps
    if is_even:
        restarts = floor(part)
        part = part - restarts
    else:
        restarts = floor(log(1.0 - part * (1.0 - longer)) / log(longer))
        length = pow(longer, restarts)
        part = (part - (1.0 - length) / (1.0 - longer)) / length
    return rate * _half_cosine(part, alpha, pow(higher, restarts))


def _linear_cosine(rate: Any, step: Any, steps: Any, periods: Any, alpha: Any, beta: Any, noise: Any = 0.0) -> Any:
    rate, step, steps, periods, alpha, beta = _converted(rate, step, steps, periods, alpha, beta)
    step = minimum(step, steps)
    wave = 0.5 * (1.0 + cos(cast(math.pi, rate.dtype) * (2.0 * periods * step / steps)))
    return rate * ((alpha + (steps - step) / steps + noise) * wave + beta)


@export("train.exponential_decay")
def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """A learning rate that is multiplied by `decay_rate` every `decay_steps`.

    Args:
        learning_rate: What it begins with.
        global_step: The step.
        decay_steps: How many steps that takes.
        decay_rate: The factor.
        staircase: Whether it happens at once, rather than gradually.
        name: A name for the operations.
    """
    _needs_step(global_step, "exponential_decay")
    arguments = (learning_rate, global_step, decay_steps, decay_rate, staircase)
    return _decayed(name, "ExponentialDecay", global_step, partial(_exponential, *arguments))


@export("train.natural_exp_decay")
def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """The same with the factor ``exp(-decay_rate)``."""
    _needs_step(global_step, "natural_exp_decay")
    arguments = (learning_rate, global_step, decay_steps, decay_rate, staircase)
    return _decayed(name, "NaturalExpDecay", global_step, partial(_natural_exponential, *arguments))


@export("train.inverse_time_decay")
def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """A learning rate that is divided by 1, 1 + `decay_rate`, 1 + 2 `decay_rate`, ... every `decay_steps`."""
    _needs_step(global_step, "inverse_time_decay")
    arguments = (learning_rate, global_step, decay_steps, decay_rate, staircase)
    return _decayed(name, "InverseTimeDecay", global_step, partial(_inverse_time, *arguments))


@export("train.polynomial_decay")
def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Any:
    """A learning rate that goes to `end_learning_rate` in `decay_steps`, along a power.

    Args:
        learning_rate: What it begins with.
        global_step: The step.
        decay_steps: How many steps that takes.
        end_learning_rate: What it ends with.
        power: The power; 1 is a straight line.
        cycle: Whether it begins again, with more steps each time.
        name: A name for the operations.
    """
    _needs_step(global_step, "polynomial_decay")
    arguments = (learning_rate, global_step, decay_steps, end_learning_rate, power, cycle)
    return _decayed(name, "PolynomialDecay", global_step, partial(_polynomial, *arguments))


@export("train.piecewise_constant", "train.piecewise_constant_decay")
def piecewise_constant(x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None) -> Any:
    """A learning rate that is one of several values, by the part of the training that the step is in.

    Args:
        x: The step.
        boundaries: The last step of each part but the last, of the dtype of `x`.
        values: The learning rate of each part.
        name: A name for the operations.
    """
    for given, what in ((boundaries, "boundaries"), (values, "values")):
        if not isinstance(given, (list, tuple)):
            raise DTypeError(f"The {what} of a piecewise constant are a list, got {shown(given)}.")
    if len(boundaries) != len(values) - 1:
        raise ArgumentError("The length of boundaries should be 1 less than the length of values")
    _check_boundaries(x, boundaries)
    arguments = (x, boundaries, values)
    return _decayed(name, "PiecewiseConstant", x, partial(_piecewise, *arguments))


def _check_boundaries(x: Any, boundaries: Sequence[Any]) -> None:
    """Refuses boundaries that a whole number never equals."""
    step = read(x)
    is_whole = step.dtype.is_integer if hasattr(step, "dtype") and hasattr(step.dtype, "is_integer") else False
    for boundary in boundaries:
        if is_whole and isinstance(boundary, float):
            raise ArgumentError(
                f"Boundaries ({boundary}) must have the same dtype as x ({step.dtype.name}): give whole numbers."
            )


piecewise_constant_decay = piecewise_constant


@export("train.cosine_decay")
def cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, alpha: Any = 0.0, name: str | None = None
) -> Any:
    """A learning rate that goes down to `alpha` times itself in `decay_steps`, along half a cosine."""
    _needs_step(global_step, "cosine_decay")
    arguments = (learning_rate, global_step, decay_steps, alpha)
    return _decayed(name, "CosineDecay", global_step, partial(_cosine, *arguments))


@export("train.cosine_decay_restarts")
def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: float = 2.0,
    m_mul: float = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Any:
    """A learning rate that goes down along cosines, each `t_mul` times as long and `m_mul` times as high as before."""
    _needs_step(global_step, "cosine_decay_restarts")
    arguments = (learning_rate, global_step, first_decay_steps, t_mul, m_mul, alpha)
    return _decayed(name, "SGDRDecay", global_step, partial(_cosine_with_restarts, *arguments))


@export("train.linear_cosine_decay")
def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Any:
    """A learning rate that goes down along a line and a cosine of `num_periods` periods."""
    _needs_step(global_step, "linear_cosine_decay")
    arguments = (learning_rate, global_step, decay_steps, num_periods, alpha, beta)
    return _decayed(name, "LinearCosineDecay", global_step, partial(_linear_cosine, *arguments))


@export("train.noisy_linear_cosine_decay")
def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: Any = 1.0,
    variance_decay: Any = 0.55,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Any:
    """The same with noise on the line, whose variance goes down with the step."""
    _needs_step(global_step, "noisy_linear_cosine_decay")

    def formula() -> Any:
        rate = convert_to_tensor(learning_rate)
        step = cast(read(global_step), rate.dtype)
        variance = initial_variance / pow(1.0 + step, cast(variance_decay, rate.dtype))
        noise = normal([], dtype=rate.dtype) * sqrt(variance)
        return _linear_cosine(rate, step, decay_steps, num_periods, alpha, beta, noise)

    return _decayed(name, "NoisyLinearCosineDecay", global_step, formula)
