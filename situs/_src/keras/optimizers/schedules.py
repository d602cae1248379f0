"""``tf.optimizers.schedules``: learning rates that depend on the step.

>>> ExponentialDecay(0.5, decay_steps=10, decay_rate=0.5)(10).numpy().tolist()
0.25
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any, ClassVar

from situs._src.base.errors import ArgumentError, DTypeError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.ir.graph.context import name_scope
from situs._src.keras.optimizers import formulas
from situs._src.keras.optimizers.arguments import check_number
from situs._src.keras.optimizers.configuration import deserialize_object, serialize_object
from situs._src.keras.optimizers.formulas import NUMBERS, TENSORS, Arithmetic

__all__ = [
    "CosineDecay",
    "CosineDecayRestarts",
    "ExponentialDecay",
    "InverseTimeDecay",
    "LearningRateSchedule",
    "PiecewiseConstantDecay",
    "PolynomialDecay",
    "deserialize",
    "serialize",
]


@export("optimizers.schedules.LearningRateSchedule", "keras.optimizers.schedules.LearningRateSchedule", v1=())
class LearningRateSchedule:
    """The base of schedules; a class of one's own defines ``__call__(step)`` and ``get_config()``."""

    def __call__(self, step: Any) -> Any:
        """The learning rate at a step."""
        raise UnimplementedError(
            f"Learning rate schedule '{type(self).__name__}' must override `__call__(self, step)`."
        )

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        raise UnimplementedError(
            f"Learning rate schedule '{type(self).__name__}' must override `get_config()` in order to be serializable."
        )

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LearningRateSchedule:
        """A schedule made with the arguments that `get_config` returned."""
        return cls(**config)


class Formula(LearningRateSchedule):
    """The base of schedules that are a formula; their arguments are attributes of the same names."""

    _arguments: ClassVar[tuple[str, ...]] = ()
    name: str

    def __call__(self, step: Any) -> Any:
        """The learning rate at a step, as a tensor."""
        with name_scope(self.name):
            return self._rate(TENSORS, step)

    def at(self, step: int) -> float:
        """The learning rate at a step that is known, as a number."""
        return float(self._rate(NUMBERS, step))

    def _rate(self, m: Arithmetic, step: Any) -> Any:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {name: getattr(self, name) for name in self._arguments}


def _positive(**values: Any) -> None:
    check_number(**values)
    for name, value in values.items():
        if value <= 0:
            raise ArgumentError(f"Argument `{name}` must be > 0. Received: {name}={value}")


@export("optimizers.schedules.ExponentialDecay", "keras.optimizers.schedules.ExponentialDecay", v1=())
class ExponentialDecay(Formula):
    """The learning rate is multiplied by `decay_rate` every `decay_steps`, gradually or, as a staircase, at once.

    Args:
        initial_learning_rate: What it begins with.
        decay_steps: How many steps that takes; more than 0.
        decay_rate: The factor.
        staircase: Whether it happens at once.
        name: A name for the operations.
    """

    _arguments = ("initial_learning_rate", "decay_steps", "decay_rate", "staircase", "name")

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str = "ExponentialDecay",
    ) -> None:
        _positive(decay_steps=decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.decay_rate = decay_rate
        self.staircase = staircase
        self.name = name

    def _rate(self, m: Arithmetic, step: Any) -> Any:
        rate, steps = self.initial_learning_rate, self.decay_steps
        return formulas.exponential(m, rate, step, steps, self.decay_rate, self.staircase)


@export("optimizers.schedules.InverseTimeDecay", "keras.optimizers.schedules.InverseTimeDecay", v1=())
class InverseTimeDecay(Formula):
    """The learning rate is divided by 1, 1 + `decay_rate`, 1 + 2 `decay_rate`, ... every `decay_steps`.

    The arguments are those of `ExponentialDecay`.
    """

    _arguments = ("initial_learning_rate", "decay_steps", "decay_rate", "staircase", "name")

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str = "InverseTimeDecay",
    ) -> None:
        _positive(decay_steps=decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.decay_rate = decay_rate
        self.staircase = staircase
        self.name = name

    def _rate(self, m: Arithmetic, step: Any) -> Any:
        rate, steps = self.initial_learning_rate, self.decay_steps
        return formulas.inverse_time(m, rate, step, steps, self.decay_rate, self.staircase)


@export("optimizers.schedules.PiecewiseConstantDecay", "keras.optimizers.schedules.PiecewiseConstantDecay", v1=())
class PiecewiseConstantDecay(Formula):
    """The learning rate is one of several values, by the part of the training that the step is in.

    Args:
        boundaries: The last step of each part but the last.
        values: The learning rate of each part.
        name: A name for the operations.
    """

    _arguments = ("boundaries", "values", "name")

    def __init__(self, boundaries: Sequence[Any], values: Sequence[Any], name: str = "PiecewiseConstant") -> None:
        for given, what in ((boundaries, "boundaries"), (values, "values")):
            if not isinstance(given, Sized):
                raise DTypeError(f"The {what} of a piecewise constant are a list, got {shown(given)}.")
        if len(boundaries) != len(values) - 1:
            raise ArgumentError(
                "The length of boundaries should be 1 less than the length of values. Received: "
                f"boundaries={boundaries} of length {len(boundaries)}, and values={values} of length {len(values)}."
            )
        self.boundaries = boundaries
        self.values = values
        self.name = name

    def _rate(self, m: Arithmetic, step: Any) -> Any:
        return formulas.piecewise(m, step, self.boundaries, self.values)


@export("optimizers.schedules.PolynomialDecay", "keras.optimizers.schedules.PolynomialDecay", v1=())
class PolynomialDecay(Formula):
    """The learning rate goes from one value to another in `decay_steps`, along a power.

    Args:
        initial_learning_rate: What it begins with.
        decay_steps: How many steps that takes; more than 0.
        end_learning_rate: What it ends with.
        power: The power; 1 is a straight line.
        cycle: Whether it begins again, with more steps each time.
        name: A name for the operations.
    """

    _arguments = ("initial_learning_rate", "decay_steps", "end_learning_rate", "power", "cycle", "name")

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        end_learning_rate: Any = 0.0001,
        power: Any = 1.0,
        cycle: bool = False,
        name: str = "PolynomialDecay",
    ) -> None:
        _positive(decay_steps=decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.end_learning_rate = end_learning_rate
        self.power = power
        self.cycle = cycle
        self.name = name

    def _rate(self, m: Arithmetic, step: Any) -> Any:
        rate, steps = self.initial_learning_rate, self.decay_steps
        return formulas.polynomial(m, rate, step, steps, self.end_learning_rate, self.power, self.cycle)


@export("optimizers.schedules.CosineDecay", "keras.optimizers.schedules.CosineDecay", v1=())
class CosineDecay(Formula):
    """The learning rate goes down along half a cosine, after a straight line up if there is a target for that.

    Args:
        initial_learning_rate: What it begins with.
        decay_steps: How many steps it takes to go down; more than 0.
        alpha: What it ends with, as a part of what it began to go down from.
        name: A name for the operations.
        warmup_target: Where it goes up to first.
        warmup_steps: How many steps that takes.
    """

    _arguments = ("initial_learning_rate", "decay_steps", "alpha", "name", "warmup_target", "warmup_steps")

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        alpha: Any = 0.0,
        name: str = "CosineDecay",
        warmup_target: Any = None,
        warmup_steps: Any = 0,
    ) -> None:
        _positive(decay_steps=decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.alpha = alpha
        self.name = name
        self.warmup_target = warmup_target
        self.warmup_steps = warmup_steps

    def _rate(self, m: Arithmetic, step: Any) -> Any:
        rate, steps = self.initial_learning_rate, self.decay_steps
        return formulas.cosine(m, rate, step, steps, self.alpha, self.warmup_target, self.warmup_steps)


@export("optimizers.schedules.CosineDecayRestarts", "keras.optimizers.schedules.CosineDecayRestarts", v1=())
class CosineDecayRestarts(Formula):
    """The learning rate goes down along cosines after each other.

    Args:
        initial_learning_rate: What it begins with.
        first_decay_steps: How many steps the first one takes; more than 0.
        t_mul: How many times as long each is as the one before it.
        m_mul: How many times as high.
        alpha: What they end with, as a part of what they begin with.
        name: A name for the operations.
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        first_decay_steps: Any,
        t_mul: float = 2.0,
        m_mul: float = 1.0,
        alpha: Any = 0.0,
        name: str = "SGDRDecay",
    ) -> None:
        _positive(first_decay_steps=first_decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.first_decay_steps = first_decay_steps
        self._t_mul = t_mul
        self._m_mul = m_mul
        self.alpha = alpha
        self.name = name

    def _rate(self, m: Arithmetic, step: Any) -> Any:
        rate, steps = self.initial_learning_rate, self.first_decay_steps
        return formulas.cosine_with_restarts(m, rate, step, steps, self._t_mul, self._m_mul, self.alpha)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "first_decay_steps": self.first_decay_steps,
            "t_mul": self._t_mul,
            "m_mul": self._m_mul,
            "alpha": self.alpha,
            "name": self.name,
        }


_BY_NAME = {
    kind.__name__: kind
    for kind in (
        CosineDecay,
        CosineDecayRestarts,
        ExponentialDecay,
        InverseTimeDecay,
        PiecewiseConstantDecay,
        PolynomialDecay,
    )
}


@export("optimizers.schedules.serialize", "keras.optimizers.schedules.serialize", v1=())
def serialize(learning_rate_schedule: LearningRateSchedule) -> dict[str, Any]:
    """A schedule as plain data: its class and its arguments."""
    return serialize_object(learning_rate_schedule, "keras.optimizers.schedules", _BY_NAME)


@export("optimizers.schedules.deserialize", "keras.optimizers.schedules.deserialize", v1=())
def deserialize(config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
    """The schedule that `serialize` made plain data of.

    Args:
        config: The data.
        custom_objects: Classes of the program's own, by name.
    """
    return deserialize_object(config, _BY_NAME, "learning rate schedule", custom_objects)
