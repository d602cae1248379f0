"""``tf.optimizers.Adam`` and those like it: momentum over a measure of how large gradients have been.

Each is an op, the slots it changes besides the variable, and what steers it (`keras.optimizers.keras_rule`). Arguments
that are not listed here are those of `keras.optimizers.optimizer.Optimizer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import read
from situs._src.keras.optimizers.keras_rule import Moment, Rule, Ruled
from situs._src.variables import apply_ops as ops


@export("optimizers.Adam", "keras.optimizers.Adam", "optimizers.legacy.Adam", "keras.optimizers.legacy.Adam", v1=())
class Adam(Ruled):
    """Adam: momentum, over the root of the mean square of gradients, both corrected for having begun with 0.

    Args:
        learning_rate: How long the steps are.
        beta_1: How slowly the momentum fades.
        beta_2: How slowly the mean square fades.
        epsilon: Keeps the root from being 0.
        amsgrad: Whether the largest mean square so far is taken.
        kwargs: See `Optimizer`.
    """

    _arguments = ("beta_1", "beta_2", "epsilon", "amsgrad")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.amsgrad = amsgrad

    def build(self, variables: Sequence[Any]) -> None:
        """Makes the variables that are kept beside those to be trained."""
        if self.built:
            return
        super().build(variables)
        self._momentums, self._velocities = self.add_optimizer_variables(variables, ["momentum", "velocity"])
        self._velocity_hats = self.add_optimizer_variables(variables, "velocity_hat") if self.amsgrad else []

    @property
    def _decays_in_step(self) -> bool:
        """Whether weight decay is part of the op: where it holds for all variables."""
        return bool(self.weight_decay) and not self.amsgrad and self._excluded == (frozenset(), ())

    def _apply_weight_decay(self, variables: Sequence[Any], rate: Any) -> None:
        if not self._decays_in_step or type(self).update_step is not Ruled.update_step:
            super()._apply_weight_decay(variables, rate)

    def _rule(self) -> Rule:
        attrs = {"beta1": self.beta_1, "beta2": self.beta_2, "epsilon": self.epsilon}
        if self.amsgrad:
            slots = (self._momentums, self._velocities, self._velocity_hats)
            return Rule(ops.apply_adam_with_amsgrad, slots, attrs)
        attrs["weight_decay"] = self.weight_decay if self.weight_decay and self._decays_in_step else 0.0
        return Rule(ops.apply_adam_w, (self._momentums, self._velocities), attrs)

    def _steering(self, m: Moment) -> dict[str, Any]:
        return {"beta1_power": m.power(self.beta_1), "beta2_power": m.power(self.beta_2), "lr": m.rate}


@export("optimizers.AdamW", "keras.optimizers.AdamW", v1=())
class AdamW(Adam):
    """Adam with weight decay.

    Args:
        learning_rate: How long the steps are.
        weight_decay: How much of a variable is taken away in each step, times the learning rate.
        beta_1: How slowly the momentum fades.
        beta_2: How slowly the mean square fades.
        epsilon: Keeps the root from being 0.
        amsgrad: Whether the largest mean square so far is taken.
        kwargs: See `Optimizer`.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        weight_decay: float = 0.004,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, amsgrad, weight_decay=weight_decay, **kwargs)
        if self.weight_decay is None:
            raise ArgumentError("Argument `weight_decay` must be a float. Received: weight_decay=None")


@export(
    "optimizers.Adamax", "keras.optimizers.Adamax", "optimizers.legacy.Adamax", "keras.optimizers.legacy.Adamax", v1=()
)
class Adamax(Ruled):
    """Adam with the largest gradient, which fades, in the place of the root of the mean square.

    Args:
        learning_rate: How long the steps are.
        beta_1: How slowly the momentum fades.
        beta_2: How slowly the largest gradient fades.
        epsilon: Keeps it from being 0.
        kwargs: See `Optimizer`.
    """

    _arguments = ("beta_1", "beta_2", "epsilon")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon

    def build(self, variables: Sequence[Any]) -> None:
        """Makes the variables that are kept beside those to be trained."""
        if not self.built:
            super().build(variables)
            self._m, self._u = self.add_optimizer_variables(variables, ["momentum", "norm"])

    def _rule(self) -> Rule:
        return Rule(ops.apply_ada_max, (self._m, self._u))

    def _steering(self, m: Moment) -> dict[str, Any]:
        return {
            "beta1_power": m.power(self.beta_1),
            "lr": m.rate,
            "beta1": self.beta_1,
            "beta2": self.beta_2,
            "epsilon": self.epsilon,
        }


@export("optimizers.Nadam", "keras.optimizers.Nadam", "optimizers.legacy.Nadam", "keras.optimizers.legacy.Nadam", v1=())
class Nadam(Ruled):
    """Adam with Nesterov's momentum, which grows in the first steps.

    Args:
        learning_rate: How long the steps are.
        beta_1: How slowly the momentum fades.
        beta_2: How slowly the mean square fades.
        epsilon: Keeps the root from being 0.
        kwargs: See `Optimizer`.
    """

    _arguments = ("beta_1", "beta_2", "epsilon")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon

    def build(self, variables: Sequence[Any]) -> None:
        """Makes the variables that are kept beside those to be trained."""
        if not self.built:
            super().build(variables)
            self._momentums, self._velocities = self.add_optimizer_variables(variables, ["momentum", "velocity"])
            dtype = variables[0].dtype if variables else None
            self._u_product = self.add_variable([], 1.0, dtype, name="u_product")

    def _update_all(self, grads: list[Any], variables: list[Any], rate: Any) -> None:
        m = self._moment(rate, self._u_product.dtype)
        self._u_product.assign(read(self._u_product) * self._momentum_at(m, 0))
        super()._update_all(grads, variables, rate)

    def _momentum_at(self, m: Moment, later: int) -> Any:
        """The momentum of this step, or of a later one."""
        return m.number(self.beta_1) * (m.number(1.0) - m.number(0.5) * m.power(0.96, later))

    def _rule(self) -> Rule:
        return Rule(ops.apply_nadam, (self._momentums, self._velocities))

    def _steering(self, m: Moment) -> dict[str, Any]:
        return {
            "lr": m.rate,
            "beta1": m.number(self.beta_1),
            "beta2": m.number(self.beta_2),
            "epsilon": self.epsilon,
            "beta2_power": m.power(self.beta_2),
            "now": self._momentum_at(m, 0),
            "after": self._momentum_at(m, 1),
            "product": self._u_product,
        }
