"""Loss scaling for the optimizers of TensorFlow 1: ``tf.compat.v1.mixed_precision``.

    optimizer = MixedPrecisionLossScaleOptimizer(tf.train.AdamOptimizer(), "dynamic")
    train = optimizer.minimize(loss)

The loss is multiplied by a scale before gradients are computed, and gradients are divided by it. A dynamic scale is
divided by a factor when a gradient is not finite, and that step is skipped; it grows after many good steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError, UnimplementedError
from situs._src.base.export import export
from situs._src.base.tensor import read
from situs._src.ir.graph.context import init_scope
from situs._src.ops.attribute import as_float, as_int
from situs._src.ops.cast import cast
from situs._src.ops.compare import logical_and
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.control import cond
from situs._src.ops.gather import where
from situs._src.ops.join import stack
from situs._src.ops.math import is_finite, maximum
from situs._src.ops.norms import values_of
from situs._src.ops.placeholder import group, no_op
from situs._src.ops.reduce import reduce_all
from situs._src.ops.slices import scaled
from situs._src.v1.optimizers.arguments import as_pairs
from situs._src.v1.optimizers.base import Optimizer, graph_of
from situs._src.variables.symbolic import RefVariable, here_or


@export(v1="mixed_precision.LossScale")
class LossScale:
    """The base of loss scales: called, one gives the scale."""

    def __call__(self) -> Any:
        """The scale, as a tensor."""
        raise UnimplementedError(f"{type(self).__name__} has no method __call__.")

    def update(self, grads: Sequence[Any]) -> tuple[Any, Any]:
        """Adapts the scale to gradients that it led to.

        Returns:
            An operation, and whether the gradients may be used.
        """
        raise UnimplementedError(f"{type(self).__name__} has no method update.")

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        raise UnimplementedError(f"{type(self).__name__} has no method get_config.")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LossScale:
        """A loss scale made with the arguments that `get_config` returned."""
        return cls(**config)


@export(v1="mixed_precision.FixedLossScale")
class FixedLossScale(LossScale):
    """A loss scale that stays as it is.

    Args:
        loss_scale_value: The scale; at least 1.
    """

    def __init__(self, loss_scale_value: float) -> None:
        if not isinstance(loss_scale_value, (int, float)):
            raise ArgumentError(f"loss_scale_value must be a Python int or float. Got {loss_scale_value!r}")
        if loss_scale_value < 1:
            raise ArgumentError("loss_scale_value must be at least 1")
        self._loss_scale_value = as_float(loss_scale_value, "loss_scale_value")

    def __call__(self) -> Any:
        """The scale, as a tensor."""
        return convert_to_tensor(self._loss_scale_value)

    def update(self, grads: Sequence[Any]) -> tuple[Any, Any]:
        """Does nothing: the gradients may be used."""
        return no_op(), True

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {"loss_scale_value": self._loss_scale_value}


@export(v1="mixed_precision.DynamicLossScale")
class DynamicLossScale(LossScale):
    """A loss scale that becomes less when gradients are not finite, and grows when they have been for long.

    Args:
        initial_loss_scale: What it begins with.
        increment_period: After how many steps that went well it grows.
        multiplier: How many times it becomes larger, or less.
    """

    def __init__(
        self, initial_loss_scale: float = 2.0**15, increment_period: int = 2000, multiplier: float = 2.0
    ) -> None:
        self._initial_loss_scale = as_float(initial_loss_scale, "initial_loss_scale")
        self._increment_period = as_int(increment_period, "increment_period")
        self._multiplier = as_float(multiplier, "multiplier")
        with init_scope():
            self._scale = RefVariable(self._initial_loss_scale, trainable=False, dtype=dt.float32, name="loss_scale")
            self._good = RefVariable(0, trainable=False, dtype=dt.int64, name="good_steps")

    def __call__(self) -> Any:
        """The scale, as a tensor."""
        return convert_to_tensor(self._scale)

    def update(self, grads: Sequence[Any]) -> tuple[Any, Any]:
        """Adapts the scale; gradients that are not finite must not be used."""
        finite = all_finite(grads)
        return _either(finite, self._went_well, self._went_wrong), finite

    def _went_well(self) -> Any:
        is_last = read(self._good) + 1 >= self._increment_period
        larger = read(self._scale) * self._multiplier
        grows = logical_and(is_last, is_finite(larger))
        return group(
            self._scale.assign(where(grows, larger, read(self._scale))),
            self._good.assign(where(is_last, constant(0, dt.int64), read(self._good) + 1)),
        )

    def _went_wrong(self) -> Any:
        less = maximum(read(self._scale) / self._multiplier, 1.0)
        return group(self._good.assign(0), self._scale.assign(less))

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {
            "initial_loss_scale": self._initial_loss_scale,
            "increment_period": self._increment_period,
            "multiplier": self._multiplier,
        }


@export(v1="mixed_precision.MixedPrecisionLossScaleOptimizer")
class MixedPrecisionLossScaleOptimizer(Optimizer):
    """An optimizer of TensorFlow 1 around another one, which scales the loss.

    Args:
        opt: The optimizer.
        loss_scale: A loss scale, a number, or ``"dynamic"``.
    """

    def __init__(self, opt: Optimizer, loss_scale: Any) -> None:
        if not isinstance(opt, Optimizer):
            raise ArgumentError(f'"opt" must be an instance of Optimizer, but got: {type(opt).__name__}')
        super().__init__(False, "MixedPrecisionLossScaleOptimizer")
        self._optimizer = opt
        self._loss_scale = _as_scale(loss_scale)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """The gradients of a loss, which is scaled meanwhile; the arguments are those of `Optimizer.minimize`."""
        with here_or(None if callable(loss) else getattr(read(loss), "graph", None)):
            larger = (lambda: self._scaled(loss())) if callable(loss) else self._scaled(loss)
            pairs = self._optimizer.compute_gradients(
                larger, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss
            )
            return [(None if grad is None else self._unscaled(grad), variable) for grad, variable in pairs]

    def _scaled(self, loss: Any) -> Any:
        return read(loss) * cast(self._loss_scale(), read(loss).dtype)

    def _unscaled(self, grad: Any) -> Any:
        return scaled(grad, 1.0 / cast(self._loss_scale(), read(values_of(grad)).dtype))

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Changes variables by their gradients, unless one of these is not finite."""
        pairs = as_pairs(grads_and_vars)
        with here_or(graph_of(pairs)):
            update, usable = self._loss_scale.update([grad for grad, _ in pairs])
            applied = _either(usable, lambda: self._optimizer.apply_gradients(pairs, global_step, name), no_op)
            return group(*[made for made in (applied, update) if made is not None])

    def get_slot(self, var: Any, name: str) -> Any:
        """The slot of that name beside a variable, of the optimizer inside."""
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """The names of slots of the optimizer inside."""
        return self._optimizer.get_slot_names()

    def variables(self) -> list[Any]:
        """All variables of the optimizer inside."""
        return self._optimizer.variables()


def _as_scale(value: Any) -> LossScale:
    if isinstance(value, LossScale):
        return value
    if isinstance(value, str) and value == "dynamic":
        return DynamicLossScale()
    if isinstance(value, (int, float)):
        return FixedLossScale(value)
    raise ArgumentError(f"loss_scale is a LossScale, a number or 'dynamic', got {value!r}.")


def _either(condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    if condition is True:
        return then()
    if here.graph is None:
        return then() if bool(condition) else otherwise()
    return cond(condition, then, otherwise)


def all_finite(grads: Sequence[Any]) -> Any:
    """Whether all elements of gradients are finite, as a tensor; gradients that are None do not count.

    Raises:
        InvalidArgumentError: there are no others.
    """
    parts = [reduce_all(is_finite(read(values_of(grad)))) for grad in grads if grad is not None]
    if not parts:
        raise ArgumentError("No gradients provided for any variable.")
    return reduce_all(stack(parts))
