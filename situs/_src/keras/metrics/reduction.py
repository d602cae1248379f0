"""Sums and means of values, and of functions of labels and predictions.

    Mean      total / count, where a sample of several values counts once, by its mean
    Sum       total

A weight may be a number, or one for each sample, or one for each value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError, StateError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, read
from situs._src.keras.losses.formulas import floating, same_rank
from situs._src.keras.metrics.base import Metric
from situs._src.ops.array import broadcast_to, shape
from situs._src.ops.cast import cast
from situs._src.ops.constant import ones_like
from situs._src.ops.math import divide_no_nan, multiply
from situs._src.ops.reduce import reduce_mean, reduce_sum

Reduce = Callable[..., Tensor]


def by_sample(values: Any, sample_weight: Any, reduce: Reduce, dtype: dt.DType) -> tuple[Tensor, Tensor | None]:
    """One weighted value for each sample, and one weight.

    Args:
        values: The values; the first dimension runs over samples.
        sample_weight: Their weights, or None.
        reduce: What makes one of the several values of a sample: their mean or their sum.
        dtype: The dtype to compute in.
    """
    found = cast(values, dtype)
    if sample_weight is None:
        return _reduced(found, 1, reduce), None
    found, weight = same_rank(found, floating(sample_weight, dtype))
    depth = weight.shape.rank
    if depth is None:
        raise ArgumentError("A metric needs weights whose rank is known when the function is traced.")
    found = _reduced(found, depth, reduce)
    weight = _spread(weight, found)
    return _reduced(multiply(found, weight), 1, reduce), _reduced(weight, 1, reduce) if depth > 1 else weight


def _reduced(x: Tensor, depth: int, reduce: Reduce) -> Tensor:
    """`x` with no more than `depth` dimensions."""
    rank = x.shape.rank
    if rank is None:
        raise ArgumentError("A metric needs values whose rank is known when the function is traced.")
    return reduce(x, axis=list(range(depth, rank))) if rank > depth else x


def _spread(weight: Tensor, values: Tensor) -> Tensor:
    known = values.shape
    if known.is_fully_defined() and weight.shape == known:
        return weight
    return broadcast_to(weight, shape(values))


@export("metrics.Sum", "keras.metrics.Sum", v1=())
class Sum(Metric):
    """The sum of all values."""

    def __init__(self, name: str | None = "sum", dtype: Any = None) -> None:
        super().__init__(dtype, name)
        self.total = self.add_variable((), "zeros", self._dtype, name="total")

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Adds values, times weights."""
        found, _ = by_sample(values, sample_weight, reduce_sum, self._dtype)
        self.total.assign_add(reduce_sum(found))

    def result(self) -> Tensor:
        """The sum so far."""
        return self.total.value()  # type: ignore[no-any-return]


@export("metrics.Mean", "keras.metrics.Mean", v1=())
class Mean(Metric):
    """The mean of all values.

    Example:
        >>> import situs as tf
        >>> mean = tf.metrics.Mean()
        >>> mean.update_state([1.0, 3.0, 5.0, 7.0])
        >>> float(mean.result())
        4.0
    """

    def __init__(self, name: str | None = "mean", dtype: Any = None) -> None:
        super().__init__(dtype, name)
        self.total = self.add_variable((), "zeros", self._dtype, name="total")
        self.count = self.add_variable((), "zeros", self._dtype, name="count")

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Adds values, times weights."""
        found, weight = by_sample(values, sample_weight, reduce_mean, self._dtype)
        self.total.assign_add(reduce_sum(found))
        self.count.assign_add(self._number(found) if weight is None else reduce_sum(weight))

    def _number(self, values: Tensor) -> Any:
        """How many samples there are."""
        if values.shape.rank == 0:
            return 1.0
        known = values.shape[0]
        return cast(shape(values)[0], self._dtype) if known is None else float(known)

    def result(self) -> Tensor:
        """The mean so far; 0 if there is nothing yet."""
        return divide_no_nan(self.total, self.count)


@export("metrics.MeanMetricWrapper", "keras.metrics.MeanMetricWrapper", v1=())
class MeanMetricWrapper(Mean):
    """The mean of a function of labels and predictions.

    Args:
        fn: The function; it gives a value for each sample.
        name: A name.
        dtype: The dtype of the result.
        **kwargs: What the function is given besides.
    """

    def __init__(self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name, dtype)
        if not callable(fn):
            raise DTypeError(f"{type(self).__name__} is made of a function of labels and predictions, got {shown(fn)}.")
        self._fn = fn
        self._fn_kwargs = kwargs

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        """Adds labels and predictions."""
        super().update_state(self._fn(y_true, y_pred, **self._fn_kwargs), sample_weight)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {**super().get_config(), "fn": self._fn, **self._fn_kwargs}


class FormulaMetric(MeanMetricWrapper):
    """The mean of a formula that the class names: ``class Poisson(FormulaMetric, formula=poisson)``."""

    _formula: ClassVar[Callable[..., Any]]
    _called: ClassVar[str]

    def __init_subclass__(cls, formula: Callable[..., Any], called: str | None = None) -> None:
        """Takes the formula, and the name that metrics of the class have by default."""
        super().__init_subclass__()
        cls._formula = staticmethod(formula)
        cls._called = formula.__name__ if called is None else called

    def __init__(self, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(self._formula, self._called if name is None else name, dtype, **kwargs)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {**Metric.get_config(self), **self._fn_kwargs}


@export("metrics.MeanTensor", "keras.metrics.MeanTensor", v1=())
class MeanTensor(Metric):
    """The mean of each element of tensors of one shape.

    Args:
        name: A name.
        dtype: The dtype of the result.
        shape: The shape, if variables are to be made at once; by default that of the first tensor.
    """

    def __init__(self, name: str | None = "mean_tensor", dtype: Any = None, shape: Any = None) -> None:
        super().__init__(dtype, name)
        self._shape: Any = None
        if shape is not None:
            self._build(shape)

    def _build(self, shape: Any) -> None:
        self._shape = shape
        self.total = self.add_variable(shape, "zeros", self._dtype, name="total")
        self.count = self.add_variable(shape, "zeros", self._dtype, name="count")

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Adds a tensor, times weights that broadcast to it."""
        found = cast(values, self._dtype)
        if self._shape is None:
            self._build(found.shape)
        if not self.total.shape.is_compatible_with(found.shape):
            raise ArgumentError(
                "MeanTensor input values must always have the same shape. Expected shape (set during the first call): "
                f"{self.total.shape}. Got: {found.shape}."
            )
        weight = ones_like(found)
        if sample_weight is not None:
            found, given = same_rank(found, floating(sample_weight, self._dtype))
            weight = _spread(given, found)
            found = multiply(found, weight)
        self.total.assign_add(found)
        self.count.assign_add(weight)

    def result(self) -> Tensor:
        """The mean so far; 0 where there is nothing yet."""
        if self._shape is None:
            raise StateError("MeanTensor does not have any value yet. Please call the MeanTensor first.")
        return divide_no_nan(read(self.total), read(self.count))
