"""Initializers and regularizers of ``tf.contrib.layers``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.tensor import Tensor
from situs._src.base.tree import listed
from situs._src.base.typing import ArrayLike, DTypeLike
from situs._src.ir.graph.context import add_to_collection, get_collection, name_scope
from situs._src.ops.attribute import as_float
from situs._src.ops.constant import constant
from situs._src.ops.cumulative import add_n
from situs._src.ops.math import abs as magnitude
from situs._src.ops.math import multiply
from situs._src.ops.nn.loss import l2_loss
from situs._src.ops.reduce import reduce_sum
from situs._src.v1.frontend import builds
from situs._src.variables.collections import GraphKeys
from situs._src.variables.initializers import Initializer, RandomUniform, TruncatedNormal, fans

Regularizer = Callable[[Any], Any]


class variance_scaling_initializer(Initializer):  # noqa: N801 - the name programs use
    """Draws with a variance that depends on the number of inputs, of outputs, or their mean.

    Args:
        factor: The variance times that number.
        mode: ``"FAN_IN"``, ``"FAN_OUT"`` or ``"FAN_AVG"``.
        uniform: Whether to draw uniformly; else from the normal distribution, cut off at two deviations.
        seed: A seed.
        dtype: The dtype of the result.
    """

    _arguments = ("factor", "mode", "uniform", "seed")

    def __init__(
        self,
        factor: float = 2.0,
        mode: str = "FAN_IN",
        uniform: bool = False,
        seed: int | None = None,
        dtype: DTypeLike = dt.float32,
    ) -> None:
        super().__init__(dtype)
        if not self.dtype.is_floating:
            raise DTypeError("Cannot create initializer for non-floating point type.")
        if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
            raise DTypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")
        self.factor, self.mode, self.uniform, self.seed = factor, mode, uniform, seed

    def _make(self, sizes: tuple[int, ...], dtype: DType, full: tuple[int, ...]) -> Tensor:
        entering, leaving = fans(full)
        count = {"FAN_IN": entering, "FAN_OUT": leaving, "FAN_AVG": (entering + leaving) / 2}[self.mode]
        if self.uniform:
            bound = (3 * self.factor / count) ** 0.5
            return RandomUniform(-bound, bound, self.seed, dtype)(list(sizes))
        # What is cut off takes about as much variance away as the factor gives back.
        return TruncatedNormal(0.0, (1.3 * self.factor / count) ** 0.5, self.seed, dtype)(list(sizes))


def xavier_initializer(uniform: bool = True, seed: int | None = None, dtype: DTypeLike = dt.float32) -> Initializer:
    """Draws with variance ``2 / (inputs + outputs)``: Xavier's, or Glorot's, initializer."""
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


def _as_scale(scale: ArrayLike) -> float:
    number = as_float(scale, "scale")
    if number < 0:
        raise ArgumentError(f"Setting a scale less than 0 on a regularizer: {number:g}")
    return number


def l1_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """The loss ``scale * sum(|weights|)``; none at all if `scale` is 0.0."""
    number = _as_scale(scale)

    @builds
    def regularize(weights: Any) -> Tensor | None:
        if number == 0:
            return None
        with name_scope(scope or "l1_regularizer") as inside:
            return multiply(constant(number, weights.dtype.base_dtype), reduce_sum(magnitude(weights)), name=inside)

    return regularize


def l2_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """The loss ``scale * sum(weights ** 2) / 2``; none at all if `scale` is 0.0."""
    number = _as_scale(scale)

    @builds
    def regularize(weights: Any) -> Tensor | None:
        if number == 0:
            return None
        with name_scope(scope or "l2_regularizer") as inside:
            return multiply(constant(number, weights.dtype.base_dtype), l2_loss(weights), name=inside)

    return regularize


def l1_l2_regularizer(scale_l1: float = 1.0, scale_l2: float = 1.0, scope: str | None = None) -> Regularizer:
    """The sum of `l1_regularizer` and `l2_regularizer`."""
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope or "l1_l2_regularizer")


def sum_regularizer(regularizer_list: list[Regularizer | None], scope: str | None = None) -> Regularizer:
    """The sum of regularizers."""
    given = [regularizer for regularizer in listed(regularizer_list, "regularizers") if regularizer is not None]
    if not all(map(callable, given)):
        raise DTypeError(f"Regularizers are functions of weights, got {shown(regularizer_list)}.")

    @builds
    def regularize(weights: ArrayLike) -> Tensor | None:
        with name_scope(scope or "sum_regularizer"):
            losses = [loss for loss in (regularizer(weights) for regularizer in given) if loss is not None]
            return add_n(losses) if losses else None

    return regularize


@builds
def apply_regularization(regularizer: Regularizer, weights_list: Any = None) -> Tensor:
    """The sum of a regularizer's losses of weights, which joins ``REGULARIZATION_LOSSES``.

    Args:
        regularizer: The regularizer.
        weights_list: The weights; by default those of the collection ``WEIGHTS``.
    """
    if not callable(regularizer):
        raise DTypeError(f"A regularizer is a function of weights, got {shown(regularizer)}.")
    weights = get_collection(GraphKeys.WEIGHTS) if weights_list is None else listed(weights_list, "weights")
    if not weights:
        raise ArgumentError("No weights to regularize.")
    losses = [loss for loss in map(regularizer, weights) if loss is not None]
    total = add_n(losses) if losses else constant(0.0)
    add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
    return total
