"""The optimizers of Keras: ``tf.optimizers.SGD``, ``RMSprop`` and their kind; those like Adam have a file of their own.

Each is an op, the slots it changes besides the variable, and what steers it (`keras.optimizers.keras_rule`). Arguments
that are not listed here are those of `keras.optimizers.optimizer.Optimizer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.keras.optimizers.arguments import check_number
from situs._src.keras.optimizers.keras_rule import Moment, Rule, Ruled
from situs._src.variables import apply_ops as ops


@export("optimizers.SGD", "keras.optimizers.SGD", "optimizers.legacy.SGD", "keras.optimizers.legacy.SGD", v1=())
class SGD(Ruled):
    """Gradient descent, with momentum if that is given.

    Args:
        learning_rate: How long the steps are.
        momentum: How much of the earlier steps goes on, from 0 to 1.
        nesterov: Whether the step is the one that the momentum will have led to.
        kwargs: See `Optimizer`.

    Example:
        >>> import situs as tf
        >>> x = tf.Variable(1.0)
        >>> _ = tf.optimizers.SGD(0.25).minimize(lambda: x * x, [x])
        >>> float(x)
        0.5
    """

    _arguments = ("momentum", "nesterov")

    def __init__(self, learning_rate: Any = 0.01, momentum: float = 0.0, nesterov: bool = False, **kwargs: Any) -> None:
        super().__init__(learning_rate, **kwargs)
        if not isinstance(momentum, (int, float)) or not 0 <= momentum <= 1:
            raise ArgumentError(f"`momentum` must be a float between [0, 1]. Received: momentum={momentum}")
        self.momentum = momentum
        self.nesterov = nesterov

    def build(self, variables: Sequence[Any]) -> None:
        """Makes the variables that are kept beside those to be trained."""
        if not self.built:
            super().build(variables)
            self.momentums = self.add_optimizer_variables(variables, "momentum") if self.momentum else []

    def _rule(self) -> Rule:
        if not self.momentum:
            return Rule(ops.apply_gradient_descent)
        return Rule(ops.apply_keras_momentum, (self.momentums,), {"use_nesterov": self.nesterov})

    def _steering(self, m: Moment) -> dict[str, Any]:
        return {"lr": m.rate, "momentum": self.momentum} if self.momentum else {"alpha": m.rate}


@export(
    "optimizers.RMSprop",
    "keras.optimizers.RMSprop",
    "optimizers.legacy.RMSprop",
    "keras.optimizers.legacy.RMSprop",
    v1=(),
)
class RMSprop(Ruled):
    """RMSprop: steps are divided by the root of the mean square of recent gradients.

    Args:
        learning_rate: How long the steps are.
        rho: How slowly recent gradients fade.
        momentum: How much of the earlier steps goes on.
        epsilon: Keeps the root from being 0.
        centered: Whether the variance of gradients takes the place of their mean square.
        kwargs: See `Optimizer`.
    """

    _arguments = ("rho", "momentum", "epsilon", "centered")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.rho = rho
        self.momentum = momentum
        self.epsilon = epsilon
        self.centered = centered

    def build(self, variables: Sequence[Any]) -> None:
        """Makes the variables that are kept beside those to be trained."""
        if self.built:
            return
        super().build(variables)
        self._velocities = self.add_optimizer_variables(variables, "velocity")
        self._momentums = self.add_optimizer_variables(variables, "momentum") if self.momentum else []
        self._average_gradients = self.add_optimizer_variables(variables, "average_gradient") if self.centered else []

    def _rule(self) -> Rule:
        slots = [self._velocities]
        if self.centered:
            slots.insert(0, self._average_gradients)
        if self.momentum:
            slots.append(self._momentums)
        plain = ops.apply_plain_centered_rms_prop if self.centered else ops.apply_plain_rms_prop
        moving = ops.apply_centered_rms_prop if self.centered else ops.apply_rms_prop
        return Rule(moving if self.momentum else plain, tuple(slots))

    def _steering(self, m: Moment) -> dict[str, Any]:
        steering = {"lr": m.rate, "rho": self.rho, "epsilon": self.epsilon}
        return {**steering, "momentum": self.momentum} if self.momentum else steering


@export(
    "optimizers.Adagrad",
    "keras.optimizers.Adagrad",
    "optimizers.legacy.Adagrad",
    "keras.optimizers.legacy.Adagrad",
    v1=(),
)
class Adagrad(Ruled):
    """Adagrad: steps become shorter where gradients have been large.

    Args:
        learning_rate: How long the steps are.
        initial_accumulator_value: What the sum of squares begins with.
        epsilon: Keeps the root from being 0.
        kwargs: See `Optimizer`.
    """

    _arguments = ("initial_accumulator_value", "epsilon")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.initial_accumulator_value = initial_accumulator_value
        self.epsilon = epsilon

    def build(self, variables: Sequence[Any]) -> None:
        """Makes the variables that are kept beside those to be trained."""
        if not self.built:
            super().build(variables)
            first = self.initial_accumulator_value
            self._accumulators = self.add_optimizer_variables(variables, "accumulator", first)

    def _rule(self) -> Rule:
        return Rule(ops.apply_keras_adagrad, (self._accumulators,))

    def _steering(self, m: Moment) -> dict[str, Any]:
        return {"lr": m.rate, "epsilon": self.epsilon}


@export(
    "optimizers.Adadelta",
    "keras.optimizers.Adadelta",
    "optimizers.legacy.Adadelta",
    "keras.optimizers.legacy.Adadelta",
    v1=(),
)
class Adadelta(Ruled):
    """Adadelta: steps are as long as recent steps were, in proportion to recent gradients.

    Args:
        learning_rate: A factor for the steps; the paper has 1.
        rho: How slowly what is recent fades.
        epsilon: Keeps the first steps from being 0.
        kwargs: See `Optimizer`.
    """

    _arguments = ("rho", "epsilon")

    def __init__(self, learning_rate: Any = 0.001, rho: float = 0.95, epsilon: float = 1e-7, **kwargs: Any) -> None:
        super().__init__(learning_rate, **kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def build(self, variables: Sequence[Any]) -> None:
        """Makes the variables that are kept beside those to be trained."""
        if not self.built:
            super().build(variables)
            names = ["accumulated_grad", "accumulated_delta_var"]
            self._accumulated_grads, self._accumulated_delta_vars = self.add_optimizer_variables(variables, names)

    def _rule(self) -> Rule:
        return Rule(ops.apply_adadelta, (self._accumulated_grads, self._accumulated_delta_vars))

    def _steering(self, m: Moment) -> dict[str, Any]:
        return {"lr": m.rate, "rho": self.rho, "epsilon": self.epsilon}


@export("optimizers.Ftrl", "keras.optimizers.Ftrl", "optimizers.legacy.Ftrl", "keras.optimizers.legacy.Ftrl", v1=())
class Ftrl(Ruled):
    """Follow the regularized leader: keeps many variables at 0.

    Args:
        learning_rate: How long the steps are.
        learning_rate_power: How the steps become shorter; at most 0, where 0 keeps their length.
        initial_accumulator_value: What the sum of squares begins with; at least 0.
        l1_regularization_strength: What pulls variables to 0, whatever their size.
        l2_regularization_strength: What pulls variables towards 0, the more the larger they are.
        l2_shrinkage_regularization_strength: The same as a part of the gradient.
        beta: A part of the regularization that becomes less with the learning rate.
        kwargs: See `Optimizer`.
    """

    _arguments = (
        "learning_rate_power",
        "initial_accumulator_value",
        "l1_regularization_strength",
        "l2_regularization_strength",
        "l2_shrinkage_regularization_strength",
        "beta",
    )

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        check_number(learning_rate_power=learning_rate_power)
        if learning_rate_power > 0.0:
            raise ArgumentError(
                "`learning_rate_power` needs to be negative or zero. Received: "
                f"learning_rate_power={learning_rate_power}."
            )
        self.learning_rate_power = learning_rate_power
        self.initial_accumulator_value = initial_accumulator_value
        self.l1_regularization_strength = l1_regularization_strength
        self.l2_regularization_strength = l2_regularization_strength
        self.l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self.beta = beta
        for name in self._arguments[1:-1]:
            value = getattr(self, name)
            check_number(**{name: value})
            if value < 0.0:
                raise ArgumentError(f"`{name}` needs to be positive or zero. Received: {name}={value}.")

    def build(self, variables: Sequence[Any]) -> None:
        """Makes the variables that are kept beside those to be trained."""
        if not self.built:
            super().build(variables)
            firsts = [self.initial_accumulator_value, "zeros"]
            names = ["accumulator", "linear"]
            self._accumulators, self._linears = self.add_optimizer_variables(variables, names, firsts)

    def _rule(self) -> Rule:
        return Rule(ops.apply_ftrl_v2, (self._accumulators, self._linears))

    def _steering(self, m: Moment) -> dict[str, Any]:
        return {
            "lr": m.rate,
            "l1": self.l1_regularization_strength,
            "l2": self.l2_regularization_strength + (self.beta / (2.0 * m.rate) if self.beta else 0.0),
            "l2_shrinkage": self.l2_shrinkage_regularization_strength,
            "lr_power": self.learning_rate_power,
        }


@export("optimizers.Lion", "keras.optimizers.Lion", v1=())
class Lion(Ruled):
    """Lion: steps of one length, in the direction of the momentum.

    Args:
        learning_rate: How long the steps are.
        beta_1: How much of the momentum is in a step, the rest being the gradient.
        beta_2: How slowly the momentum fades.
        kwargs: See `Optimizer`.
    """

    _arguments = ("beta_1", "beta_2")

    def __init__(self, learning_rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.99, **kwargs: Any) -> None:
        super().__init__(learning_rate, **kwargs)
        check_number(beta_1=beta_1)
        if beta_1 <= 0 or beta_1 > 1:
            raise ArgumentError(
                "Argument `beta_1` must be in the [0, 1] range. Otherwise, the optimizer degenerates to SignSGD. "
                f"Received: beta_1={beta_1}."
            )
        self.beta_1 = beta_1
        self.beta_2 = beta_2

    def build(self, variables: Sequence[Any]) -> None:
        """Makes the variables that are kept beside those to be trained."""
        if not self.built:
            super().build(variables)
            self._momentums = self.add_optimizer_variables(variables, "momentum")

    def _rule(self) -> Rule:
        return Rule(ops.apply_lion, (self._momentums,))

    def _steering(self, m: Moment) -> dict[str, Any]:
        return {"lr": m.rate, "beta1": self.beta_1, "beta2": self.beta_2}
