"""``tf.keras.mixed_precision.LossScaleOptimizer``: keeps gradients in float16 from vanishing.

    scaled = optimizer.scale_loss(loss)          the loss, times a large number
    gradients of that                            large enough for float16
    optimizer.apply_gradients(...)               divided by the number again

If a gradient is infinite or no number, the scale was too large: it is halved, and the step is left out. After many
steps that went well it is doubled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.tensor import read
from situs._src.base.tree import listed
from situs._src.keras.optimizers.known import Known
from situs._src.keras.optimizers.optimizer import Optimizer
from situs._src.keras.optimizers.processing import all_finite, divided
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal
from situs._src.ops.norms import values_of


@export(
    "optimizers.LossScaleOptimizer",
    "keras.mixed_precision.LossScaleOptimizer",
    "keras.optimizers.LossScaleOptimizer",
    v1=(),
)
class LossScaleOptimizer(Optimizer):
    """An optimizer around another one, which scales the loss.

    Args:
        inner_optimizer: The optimizer.
        initial_scale: The scale to begin with: rather too large than too small.
        dynamic_growth_steps: After how many steps that went well it is doubled.
        name: A name.
        kwargs: ``dynamic``, which must be True.
    """

    def __init__(
        self,
        inner_optimizer: Optimizer,
        initial_scale: float = 2.0**15,
        dynamic_growth_steps: int = 2000,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if not kwargs.pop("dynamic", True):
            raise ArgumentError(
                "LossScaleOptimizer no longer supports `dynamic=False`. Instead, simply set `loss_scale_factor` "
                "directly on the `inner_optimizer`."
            )
        if kwargs:
            raise ArgumentError(
                f"LossScaleOptimizer does not support arguments: `{'`, `'.join(kwargs)}`. Instead, set them on the "
                "`inner_optimizer`."
            )
        if not isinstance(inner_optimizer, Optimizer):
            raise DTypeError(f"LossScaleOptimizer goes around another optimizer, got {shown(inner_optimizer)}.")
        super().__init__(0.0, name=name)
        self.inner_optimizer = inner_optimizer
        self.initial_scale = initial_scale
        self.dynamic_growth_steps = dynamic_growth_steps
        inner_optimizer.loss_scale_factor = None  # else gradients would be divided twice

    def build(self, variables: Sequence[Any]) -> None:
        """Makes the variables that hold the scale, and those of the optimizer inside."""
        if not self.built:
            self.step_counter = self.add_variable([], 0.0, "int64", name="step_counter")
            self.dynamic_scale = self.add_variable([], self.initial_scale, "float32", name="dynamic_scale")
            self._counter = Known(self.step_counter)
            self.inner_optimizer.build(variables)
            super().build(variables)

    @property
    def variables(self) -> list[Any]:
        """Its own variables, and those of the optimizer inside."""
        return [*self._variables, *self.inner_optimizer.variables]

    @property
    def iterations(self) -> Any:
        """How many steps the optimizer inside has made."""
        return self.inner_optimizer.iterations

    @property
    def learning_rate(self) -> Any:
        """The learning rate of the optimizer inside."""
        return self.inner_optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, learning_rate: Any) -> None:
        self.inner_optimizer.learning_rate = learning_rate

    def scale_loss(self, loss: Any) -> Any:
        """The loss times the scale."""
        loss = read(loss)
        if not self.built:
            return loss * self.initial_scale
        return loss * _like(read(self.dynamic_scale), loss)

    def apply(self, grads: Sequence[Any], trainable_variables: Sequence[Any] | None = None) -> None:
        """Changes variables by their gradients, unless one of these is not finite."""
        grads = listed(grads, "gradients")
        variables = self._expected(grads, trainable_variables)
        finite = self.check_finite(grads)
        self._either(
            bool(finite) if here.graph is None else finite,
            lambda: self._go_on(grads, variables),
            lambda: self._change_scale(0.5),
        )

    def check_finite(self, grads: Sequence[Any]) -> Any:
        """Whether all elements of gradients are finite."""
        return all_finite(grads)

    def _go_on(self, grads: list[Any], variables: list[Any]) -> None:
        scale = read(self.dynamic_scale)
        unscaled = [None if g is None else divided([g], _like(scale, values_of(g)))[0] for g in grads]
        self.inner_optimizer.apply(unscaled, variables)
        last = self.dynamic_growth_steps - 1
        is_last = self._counter.number() == last if here.graph is None else equal(read(self.step_counter), last)
        self._either(is_last, lambda: self._change_scale(2.0), lambda: self.step_counter.assign_add(1))

    def _change_scale(self, factor: float) -> None:
        self.step_counter.assign(0)
        self.dynamic_scale.assign(read(self.dynamic_scale) * factor)

    def finalize_variable_values(self, var_list: Sequence[Any]) -> None:
        """Gives variables their averages as values, if averages are kept."""
        self.inner_optimizer.finalize_variable_values(var_list)

    def _checkpoint_children(self) -> dict[str, Any]:
        """What a ``tf.train.Checkpoint`` saves of it."""
        return {**super()._checkpoint_children(), "inner_optimizer": self.inner_optimizer}

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        from situs._src.keras.optimizers.finding import serialize  # which finds this class, too

        return {
            "name": self.name,
            "inner_optimizer": serialize(self.inner_optimizer),
            "initial_scale": self.initial_scale,
            "dynamic_growth_steps": self.dynamic_growth_steps,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
        """An optimizer made with the arguments that `get_config` returned."""
        from situs._src.keras.optimizers.finding import deserialize  # which finds this class, too

        config = dict(config)
        if "inner_optimizer" not in config:
            raise ArgumentError(f"The config of a LossScaleOptimizer has an `inner_optimizer`, got {config}.")
        return cls(deserialize(config.pop("inner_optimizer"), custom_objects), **config)


def _like(scale: Any, value: Any) -> Any:
    """A scale in the dtype of what it is multiplied with."""
    return cast(scale, read(value).dtype)
