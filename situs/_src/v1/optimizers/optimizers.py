"""The optimizers of TensorFlow 1: ``tf.train.GradientDescentOptimizer`` and the like.

Each is a rule (`v1.optimizers.rule`): an op, the slots it updates besides the variable, and its hyperparameters. A
parameter may be a number, a tensor, or a function without arguments that returns one of these.
"""

from __future__ import annotations

from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import is_tensor, read
from situs._src.ir.graph.context import control_dependencies
from situs._src.ir.graph.function import outermost
from situs._src.ops.math import maximum
from situs._src.ops.placeholder import group
from situs._src.v1.optimizers.arguments import check_number
from situs._src.v1.optimizers.rule import Rule, RuleOptimizer
from situs._src.variables import apply_ops as ops
from situs._src.variables.apply_updates import state_of

_LEARNING_RATE = ("_learning_rate_tensor", "_learning_rate", "learning_rate")


@export("train.GradientDescentOptimizer")
class GradientDescentOptimizer(RuleOptimizer):
    """Gradient descent: each variable goes a step against its gradient.

    Args:
        learning_rate: How long the steps are.
        use_locking: Accepted for TensorFlow's programs.
        name: The name of the operations.

    Example:
        >>> import situs as tf
        >>> x = tf.Variable(1.0)
        >>> tf.compat.v1.train.GradientDescentOptimizer(0.25).minimize(lambda: x * x)
        >>> float(x)
        0.5
    """

    _parameters = (_LEARNING_RATE,)

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _rule(self) -> Rule:
        return Rule(ops.apply_gradient_descent, hyper={"alpha": "_learning_rate_tensor"})

    def _rows_rule(self) -> Rule:
        return Rule(ops.sparse_apply_gradient_descent, hyper={"alpha": "_learning_rate_tensor"})


@export("train.MomentumOptimizer")
class MomentumOptimizer(RuleOptimizer):
    """Gradient descent with momentum: gradients of earlier steps go on, fading.

    Args:
        learning_rate: How long the steps are.
        momentum: How much of the earlier steps goes on.
        use_locking: Accepted for TensorFlow's programs.
        name: The name of the operations and slots.
        use_nesterov: Whether the step is the one that the momentum will have led to.
    """

    _parameters = (_LEARNING_RATE, ("_momentum_tensor", "_momentum", "momentum"))

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: list[Any]) -> None:
        for variable in var_list:
            self._zeros_slot(variable, "momentum", self._name)

    def _rule(self) -> Rule:
        return self._with(ops.apply_momentum)

    def _rows_rule(self) -> Rule:
        return self._with(ops.sparse_apply_momentum)

    def _with(self, apply: ops.Apply) -> Rule:
        hyper = {"lr": "_learning_rate_tensor", "momentum": "_momentum_tensor"}
        return Rule(apply, ("momentum",), hyper, {"use_nesterov": self._use_nesterov})


@export("train.AdagradOptimizer")
class AdagradOptimizer(RuleOptimizer):
    """Adagrad: steps become shorter where gradients have been large.

    Args:
        learning_rate: How long the steps are.
        initial_accumulator_value: What the sum of squares begins with; more than 0.
        use_locking: Accepted for TensorFlow's programs.
        name: The name of the operations and slots.
    """

    _parameters = (_LEARNING_RATE,)

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        check_number(initial_accumulator_value=initial_accumulator_value)
        if initial_accumulator_value <= 0.0:
            raise ArgumentError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: list[Any]) -> None:
        for variable in var_list:
            self._filled_slot(variable, "accumulator", self._name, self._initial_accumulator_value)

    def _rule(self) -> Rule:
        return Rule(ops.apply_adagrad, ("accumulator",), {"lr": "_learning_rate_tensor"})

    def _rows_rule(self) -> Rule:
        return Rule(ops.sparse_apply_adagrad, ("accumulator",), {"lr": "_learning_rate_tensor"})


_PULLS = (
    _LEARNING_RATE,
    ("_l1_regularization_strength_tensor", "_l1_regularization_strength", "l1_regularization_strength"),
    ("_l2_regularization_strength_tensor", "_l2_regularization_strength", "l2_regularization_strength"),
)
_PULLED_BY = {"l1": "_l1_regularization_strength_tensor", "l2": "_l2_regularization_strength_tensor"}


@export("train.ProximalGradientDescentOptimizer")
class ProximalGradientDescentOptimizer(RuleOptimizer):
    """Gradient descent, whose steps end with one towards 0: many variables become 0.

    Args:
        learning_rate: How long the steps are.
        l1_regularization_strength: What pulls variables to 0, whatever their size.
        l2_regularization_strength: What pulls variables towards 0, the more the larger they are.
        use_locking: Accepted for TensorFlow's programs.
        name: The name of the operations.
    """

    _parameters = _PULLS

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _rule(self) -> Rule:
        return Rule(ops.apply_proximal_gradient_descent, hyper={"alpha": "_learning_rate_tensor", **_PULLED_BY})

    def _rows_rule(self) -> Rule:
        return Rule(ops.sparse_apply_proximal_gradient_descent, hyper={"alpha": "_learning_rate_tensor", **_PULLED_BY})


@export("train.ProximalAdagradOptimizer")
class ProximalAdagradOptimizer(RuleOptimizer):
    """Adagrad, whose steps end with one towards 0: many variables become 0.

    Args:
        learning_rate: How long the steps are.
        initial_accumulator_value: What the sum of squares begins with; more than 0.
        l1_regularization_strength: What pulls variables to 0, whatever their size.
        l2_regularization_strength: What pulls variables towards 0, the more the larger they are.
        use_locking: Accepted for TensorFlow's programs.
        name: The name of the operations and slots.
    """

    _parameters = _PULLS

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        check_number(initial_accumulator_value=initial_accumulator_value)
        if initial_accumulator_value <= 0.0:
            raise ArgumentError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _create_slots(self, var_list: list[Any]) -> None:
        for variable in var_list:
            self._filled_slot(variable, "accumulator", self._name, self._initial_accumulator_value)

    def _rule(self) -> Rule:
        return Rule(ops.apply_proximal_adagrad, ("accumulator",), {"lr": "_learning_rate_tensor", **_PULLED_BY})

    def _rows_rule(self) -> Rule:
        hyper = {"lr": "_learning_rate_tensor", **_PULLED_BY}
        return Rule(ops.sparse_apply_proximal_adagrad, ("accumulator",), hyper)


@export("train.AdadeltaOptimizer")
class AdadeltaOptimizer(RuleOptimizer):
    """Adadelta: steps are as long as recent steps were, in proportion to recent gradients.

    Args:
        learning_rate: A factor for the steps; the paper has 1.
        rho: How slowly what is recent fades.
        epsilon: Keeps the first steps from being 0.
        use_locking: Accepted for TensorFlow's programs.
        name: The name of the operations and slots.
    """

    _parameters = (("_lr_t", "_lr", "lr"), ("_rho_t", "_rho", "rho"), ("_epsilon_t", "_epsilon", "epsilon"))

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._rho = rho
        self._epsilon = epsilon

    def _create_slots(self, var_list: list[Any]) -> None:
        for variable in var_list:
            self._zeros_slot(variable, "accum", self._name)
            self._zeros_slot(variable, "accum_update", self._name)

    def _rule(self) -> Rule:
        return self._with(ops.apply_adadelta)

    def _rows_rule(self) -> Rule:
        return self._with(ops.sparse_apply_adadelta)

    def _with(self, apply: ops.Apply) -> Rule:
        hyper = {"lr": "_lr_t", "rho": "_rho_t", "epsilon": "_epsilon_t"}
        return Rule(apply, ("accum", "accum_update"), hyper)


@export("train.RMSPropOptimizer")
class RMSPropOptimizer(RuleOptimizer):
    """RMSProp: steps are divided by the root of the mean square of recent gradients.

    Args:
        learning_rate: How long the steps are.
        decay: How slowly recent gradients fade.
        momentum: How much of the earlier steps goes on.
        epsilon: Keeps the root from being 0.
        use_locking: Accepted for TensorFlow's programs.
        centered: Whether the variance of gradients takes the place of their mean square.
        name: The name of the operations and slots.
    """

    _parameters = (
        _LEARNING_RATE,
        ("_decay_tensor", "_decay", "decay"),
        ("_momentum_tensor", "_momentum", "momentum"),
        ("_epsilon_tensor", "_epsilon", "epsilon"),
    )

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered

    def _create_slots(self, var_list: list[Any]) -> None:
        for variable in var_list:
            self._filled_slot(variable, "rms", self._name, 1.0)
            if self._centered:
                self._zeros_slot(variable, "mg", self._name)
            self._zeros_slot(variable, "momentum", self._name)

    def _rule(self) -> Rule:
        return self._with(ops.apply_centered_rms_prop if self._centered else ops.apply_rms_prop)

    def _rows_rule(self) -> Rule:
        return self._with(ops.sparse_apply_centered_rms_prop if self._centered else ops.sparse_apply_rms_prop)

    def _with(self, apply: ops.Apply) -> Rule:
        slots = ("mg", "rms", "momentum") if self._centered else ("rms", "momentum")
        hyper = {
            "lr": "_learning_rate_tensor",
            "rho": "_decay_tensor",
            "momentum": "_momentum_tensor",
            "epsilon": "_epsilon_tensor",
        }
        return Rule(apply, slots, hyper)


@export("train.AdamOptimizer")
class AdamOptimizer(RuleOptimizer):
    """Adam: momentum, over the root of the mean square of gradients, both corrected for having begun with 0.

    Args:
        learning_rate: How long the steps are.
        beta1: How slowly the momentum fades.
        beta2: How slowly the mean square fades.
        epsilon: Keeps the root from being 0.
        use_locking: Accepted for TensorFlow's programs.
        name: The name of the operations and slots.
        use_own_namescope_for_non_slot_vars: Accepted for TensorFlow's programs.
    """

    _parameters = (
        ("_lr_t", "_lr", "learning_rate"),
        ("_beta1_t", "_beta1", "beta1"),
        ("_beta2_t", "_beta2", "beta2"),
        ("_epsilon_t", "_epsilon", "epsilon"),
    )

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
        use_own_namescope_for_non_slot_vars: bool = False,
    ) -> None:
        super().__init__(use_locking, name, use_own_namescope_for_non_slot_vars)
        self._lr = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon

    def _create_slots(self, var_list: list[Any]) -> None:
        first = min(var_list, key=lambda variable: str(variable.name))
        for name, given in (("beta1_power", self._beta1), ("beta2_power", self._beta2)):
            self._create_non_slot_variable(self._call_if_callable(given), name, first)
        for variable in var_list:
            self._zeros_slot(variable, "m", self._name)
            self._zeros_slot(variable, "v", self._name)

    def _prepare(self) -> None:
        super()._prepare()
        self._beta1_power, self._beta2_power = self._get_beta_accumulators()

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        """The variables that hold beta1 and beta2 to the power of the step."""
        outside = None if here.graph is None else outermost(here.graph)
        graph = None if outside is None or outside.compares_elements else outside
        return self._get_non_slot_variable("beta1_power", graph), self._get_non_slot_variable("beta2_power", graph)

    def _rule(self) -> Rule:
        hyper = {
            "beta1_power": "_beta1_power",
            "beta2_power": "_beta2_power",
            "lr": "_lr_t",
            "beta1": "_beta1_t",
            "beta2": "_beta2_t",
            "epsilon": "_epsilon_t",
        }
        return Rule(ops.apply_adam, ("m", "v"), hyper)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        pairs = zip(self._get_beta_accumulators(), ("_beta1_t", "_beta2_t"), strict=True)
        with control_dependencies(update_ops):
            update_ops = update_ops + [_multiplied(power, getattr(self, beta)) for power, beta in pairs]
        return group(*update_ops, name=name_scope)


def _multiplied(power: Any, beta: Any) -> Any:
    if here.graph is None:
        return power.assign(read(power) * beta)
    with here.graph.colocate_with(state_of(power, here.graph).op):
        return power.assign(read(power) * beta)


@export("train.FtrlOptimizer")
class FtrlOptimizer(RuleOptimizer):
    """Follow the regularized leader: keeps many variables at 0.

    Args:
        learning_rate: How long the steps are.
        learning_rate_power: How the steps become shorter; at most 0, where 0 keeps their length.
        initial_accumulator_value: What the sum of squares begins with; at least 0.
        l1_regularization_strength: What pulls variables to 0, whatever their size.
        l2_regularization_strength: What pulls variables towards 0, the more the larger they are.
        use_locking: Accepted for TensorFlow's programs.
        name: The name of the operations and slots.
        accum_name: The name of the slot for squares.
        linear_name: The name of the slot for sums.
        l2_shrinkage_regularization_strength: The same as a part of the gradient.
        beta: A part of the regularization that becomes less with the learning rate.
    """

    _parameters = (
        _LEARNING_RATE,
        ("_l1_regularization_strength_tensor", "_l1_regularization_strength", "l1_regularization_strength"),
        (
            "_adjusted_l2_regularization_strength_tensor",
            "_adjusted_l2",
            "adjusted_l2_regularization_strength",
        ),
        (
            "_l2_shrinkage_regularization_strength_tensor",
            "_l2_shrinkage_regularization_strength",
            "l2_shrinkage_regularization_strength",
        ),
        ("_learning_rate_power_tensor", "_learning_rate_power", "learning_rate_power"),
    )

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float | None = None,
    ) -> None:
        super().__init__(use_locking, name)
        _check_at_least_0(
            initial_accumulator_value=initial_accumulator_value,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
            l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength,
        )
        check_number(learning_rate_power=learning_rate_power)
        if learning_rate_power > 0.0:
            raise ArgumentError(f"learning_rate_power {learning_rate_power:f} needs to be negative or zero")
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self._beta = 0.0 if beta is None else beta
        self._accum_name = accum_name
        self._linear_name = linear_name

    def _adjusted_l2(self) -> Any:
        """The regularization, with the part of it that the learning rate belongs to."""
        if not self._beta:
            return self._l2_regularization_strength
        rate = self._call_if_callable(self._learning_rate)
        rate = maximum(rate, 1e-36) if is_tensor(rate) else max(rate, 1e-36)
        return self._l2_regularization_strength + self._beta / (2.0 * rate)

    def _create_slots(self, var_list: list[Any]) -> None:
        for variable in var_list:
            name = self._accum_name or self._name
            self._filled_slot(variable, "accum", name, self._initial_accumulator_value)
            self._zeros_slot(variable, "linear", self._linear_name or self._name)

    def _rule(self) -> Rule:
        return self._with(ops.apply_ftrl, ops.apply_ftrl_v2)

    def _rows_rule(self) -> Rule:
        return self._with(ops.sparse_apply_ftrl, ops.sparse_apply_ftrl_v2)

    def _with(self, plain: ops.Apply, shrinking: ops.Apply) -> Rule:
        hyper = {
            "lr": "_learning_rate_tensor",
            "l1": "_l1_regularization_strength_tensor",
            "l2": "_adjusted_l2_regularization_strength_tensor",
            "lr_power": "_learning_rate_power_tensor",
        }
        if self._l2_shrinkage_regularization_strength <= 0.0:
            return Rule(plain, ("accum", "linear"), hyper)
        hyper["l2_shrinkage"] = "_l2_shrinkage_regularization_strength_tensor"
        return Rule(shrinking, ("accum", "linear"), hyper)


def _check_at_least_0(**values: float) -> None:
    check_number(**values)
    for name, value in values.items():
        if value < 0.0:
            raise ArgumentError(f"{name} {value:f} needs to be positive or zero")
