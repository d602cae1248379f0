"""Learning rates as functions of the step: formulas, written once for tensors and for numbers.

    exponential(NUMBERS, 0.1, 10, decay_steps=10, decay_rate=0.5)     0.05

A formula is given the arithmetic to compute with. With `TENSORS` it adds operations to a graph, or runs ops; with
`NUMBERS` it computes on the host, as an eager optimizer does that knows its step: no device is asked for anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from situs._src.base.errors import DTypeError, shown
from situs._src.base.tensor import is_tensor, read
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.gather import where
from situs._src.ops.math import ceil, cos, exp, floor, log, minimum, pow

Number = Any


class Arithmetic(Protocol):
    """What formulas compute with, besides the operators of Python."""

    def number(self, value: Any, like: Any = None) -> Number:
        """A value to compute with; in the precision of another one, if that is given."""
        ...

    def call(self, function: str, *values: Number) -> Number:
        """Computes a function, by its name."""
        ...

    def choose(self, condition: Any, then: Number, otherwise: Number) -> Number:
        """One of two values."""
        ...


class _Tensors:
    """Arithmetic of tensors."""

    functions: ClassVar[dict[str, Any]] = {
        "ceil": ceil,
        "cos": cos,
        "equal": equal,
        "exp": exp,
        "floor": floor,
        "log": log,
        "minimum": minimum,
        "power": pow,
    }

    def number(self, value: Any, like: Any = None) -> Number:
        return convert_to_tensor(value) if like is None else cast(_converted(value), like.dtype)

    def call(self, function: str, *values: Number) -> Number:
        return self.functions[function](*values)

    def choose(self, condition: Any, then: Number, otherwise: Number) -> Number:
        return where(condition, then, otherwise)


class _Numbers:
    """Arithmetic of NumPy's numbers: float32, as tensors have unless they are made otherwise."""

    def number(self, value: Any, like: Any = None) -> Number:
        if not hasattr(value, "__float__"):  # NumPy would take None for a NaN
            raise DTypeError(f"A learning rate is computed from numbers, got {shown(value)}.")
        return np.float32(value)

    def call(self, function: str, *values: Number) -> Number:
        with np.errstate(all="ignore"):
            return getattr(np, function)(*values)

    def choose(self, condition: Any, then: Number, otherwise: Number) -> Number:
        return then if condition else otherwise


TENSORS: Arithmetic = _Tensors()
NUMBERS: Arithmetic = _Numbers()


def _converted(value: Any) -> Any:
    return read(value) if is_tensor(value) else convert_to_tensor(value)


# The formulas. `m` is the arithmetic, `rate` the learning rate to begin with.


def exponential(m: Arithmetic, rate: Any, step: Any, decay_steps: Any, decay_rate: Any, staircase: bool) -> Number:
    """``rate decay_rate ^ (step / decay_steps)``."""
    rate = m.number(rate)
    part = _part(m, rate, step, decay_steps, staircase)
    return rate * m.call("power", m.number(decay_rate, rate), part)


def natural_exponential(
    m: Arithmetic, rate: Any, step: Any, decay_steps: Any, decay_rate: Any, staircase: bool
) -> Number:
    """``rate e ^ (-decay_rate step / decay_steps)``."""
    rate = m.number(rate)
    part = _part(m, rate, step, decay_steps, staircase)
    return rate * m.call("exp", -m.number(decay_rate, rate) * part)


def inverse_time(m: Arithmetic, rate: Any, step: Any, decay_steps: Any, decay_rate: Any, staircase: bool) -> Number:
    """``rate / (1 + decay_rate step / decay_steps)``."""
    rate = m.number(rate)
    part = _part(m, rate, step, decay_steps, staircase)
    return rate / (1 + m.number(decay_rate, rate) * part)


def _part(m: Arithmetic, rate: Number, step: Any, decay_steps: Any, staircase: bool = False) -> Number:
    part = m.number(step, rate) / m.number(decay_steps, rate)
    return m.call("floor", part) if staircase else part


def polynomial(
    m: Arithmetic, rate: Any, step: Any, decay_steps: Any, end_learning_rate: Any, power: Any, cycle: bool
) -> Number:
    """From `rate` to `end_learning_rate` in `decay_steps`, along a power; over and over again if it is a cycle."""
    rate = m.number(rate)
    end, now, steps = m.number(end_learning_rate, rate), m.number(step, rate), m.number(decay_steps, rate)
    if cycle:
        steps = steps * m.choose(m.call("equal", now, 0), m.number(1.0, rate), m.call("ceil", now / steps))
    else:
        now = m.call("minimum", now, steps)
    return (rate - end) * m.call("power", 1 - now / steps, m.number(power, rate)) + end


def piecewise(m: Arithmetic, step: Any, boundaries: Sequence[Any], values: Sequence[Any]) -> Number:
    """The value of the part that the step is in; a boundary is the last step of its part."""
    found = m.number(values[0])
    now = read(step)
    for boundary, value in zip(boundaries, values[1:], strict=True):
        limit = m.number(boundary, now) if is_tensor(now) else boundary
        found = m.choose(now > limit, m.number(value, found), found)
    return found


def cosine(
    m: Arithmetic, rate: Any, step: Any, decay_steps: Any, alpha: Any, warmup_target: Any = None, warmup_steps: Any = 0
) -> Number:
    """From `rate` to `alpha` times that in `decay_steps`, along a cosine, after a straight line up to the target."""
    rate = m.number(rate)
    now, steps = m.number(step, rate), m.number(decay_steps, rate)
    if warmup_target is None:
        return rate * _cosine(m, m.call("minimum", now, steps) / steps, alpha, rate)
    target, warmup = m.number(warmup_target, rate), m.number(warmup_steps, rate)
    now = m.call("minimum", now, steps + warmup)
    rising = (target - rate) * (now / m.choose(warmup > 0, warmup, m.number(1.0, rate))) + rate
    return m.choose(now < warmup, rising, target * _cosine(m, (now - warmup) / steps, alpha, rate))


def _cosine(m: Arithmetic, part: Number, alpha: Any, like: Number, height: Number = 1.0) -> Number:
    down = 0.5 * height * (1.0 + m.call("cos", m.number(math.pi, like) * part))
    return (1 - m.number(alpha, like)) * down + m.number(alpha, like)


def cosine_with_restarts(
    m: Arithmetic, rate: Any, step: Any, first_decay_steps: Any, t_mul: float, m_mul: float, alpha: Any
) -> Number:
    """Cosines after each other, each `t_mul` times as long and `m_mul` times as high as the one before it."""
    rate = m.number(rate)
    part = _part(m, rate, step, first_decay_steps)
    if t_mul == 1.0:
        turn = m.call("floor", part)
        part = part - turn
    else:
        longer = m.number(t_mul, rate)
        turn = m.call("floor", m.call("log", 1.0 - part * (1.0 - longer)) / m.call("log", longer))
        length = m.call("power", longer, turn)
        part = (part - (1.0 - length) / (1.0 - longer)) / length
    return rate * _cosine(m, part, alpha, rate, m.call("power", m.number(m_mul, rate), turn))


def linear_cosine(
    m: Arithmetic, rate: Any, step: Any, decay_steps: Any, num_periods: Any, alpha: Any, beta: Any, noise: Number = 0.0
) -> Number:
    """A cosine of several periods on a straight line down; `noise` is added to the line."""
    rate = m.number(rate)
    steps = m.number(decay_steps, rate)
    now = m.call("minimum", m.number(step, rate), steps)
    turns = 2.0 * m.number(num_periods, rate) * now / steps
    wave = 0.5 * (1.0 + m.call("cos", m.number(math.pi, rate) * turns))
    line = (steps - now) / steps + noise
    return rate * ((m.number(alpha, rate) + line) * wave + m.number(beta, rate))
