"""``tf.losses.Loss``: the costs of samples, weighted and reduced to one number.

call(y_true, y_pred)      a cost for each sample
times sample_weight       a number, or one for each sample
reduction                 "sum_over_batch_size" divides by how many there are; "sum"; "none"; ...

loss = tf.losses.MeanSquaredError()
loss([[0., 1.]], [[0., 3.]])      2.0
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.ir.graph.context import name_scope
from situs._src.keras.losses.formulas import floating, same_rank
from situs._src.keras.losses.naming import unique_name
from situs._src.ops.array import size
from situs._src.ops.cast import cast
from situs._src.ops.math import divide_no_nan, multiply
from situs._src.ops.reduce import reduce_mean, reduce_sum


@export("losses.Reduction", "keras.losses.Reduction", v1=())
class Reduction:
    """How the costs of samples become one number."""

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"
    MEAN = "mean"
    MEAN_WITH_SAMPLE_WEIGHT = "mean_with_sample_weight"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All of them."""
        return cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE, cls.MEAN, cls.MEAN_WITH_SAMPLE_WEIGHT

    @classmethod
    def validate(cls, key: Any) -> None:
        """Refuses what is not one of them.

        Raises:
            ValueError: it is not one.
        """
        if key is not None and key not in cls.all():
            raise ArgumentError(
                f"Invalid value for argument `reduction`. Expected one of {(*cls.all(), None)}. Received: "
                f"reduction={shown(key)}"
            )


@export("losses.Loss", "keras.losses.Loss", v1=())
class Loss:
    """The base of losses; one of one's own overrides `call`.

    Args:
        name: A name; by default that of the class.
        reduction: ``"sum_over_batch_size"``, ``"sum"``, ``"mean"``, ``"mean_with_sample_weight"``, or ``"none"``.
        dtype: The dtype of the computation; float32 by default.
    """

    def __init__(self, name: str | None = None, reduction: Any = "sum_over_batch_size", dtype: Any = None) -> None:
        if name in Reduction.all() and reduction == "sum_over_batch_size":  # Keras 2 had the reduction first
            name, reduction = None, name
        Reduction.validate(reduction)
        self.name = unique_name(type(self).__name__) if name is None else str(name)
        self.reduction = "sum_over_batch_size" if reduction == Reduction.AUTO else reduction
        self._dtype = dt.float32 if dtype is None else dt.as_dtype(dtype)

    @property
    def dtype(self) -> str:
        """The dtype of the computation."""
        return self._dtype.name

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Tensor:
        """The loss of predictions.

        Args:
            y_true: The labels.
            y_pred: The predictions.
            sample_weight: How much samples count: a number, or one for each.
        """
        with name_scope(self.name):
            y_pred, y_true = self._converted(y_pred), self._labels(y_true)
            weight = self._weight(y_true, y_pred, sample_weight)
            return self._reduced(floating(self.call(y_true, y_pred), self._dtype), weight)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """The cost of each sample."""
        raise UnimplementedError(f"{type(self).__name__} has no method `call`, which computes the cost of each sample.")

    def _labels(self, y_true: Any) -> Any:
        return self._converted(y_true)

    def _converted(self, value: Any) -> Any:
        """Tensors of the dtype; dictionaries and lists of tensors stay such, for losses that know what they are."""
        try:
            return self._each_converted(value)
        except RecursionError:
            raise ArgumentError(f"{type(self).__name__} takes no {type(value).__name__} in itself.") from None

    def _each_converted(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: self._each_converted(part) for key, part in value.items()}
        if isinstance(value, (list, tuple)) and any(is_tensor(part) for part in value):
            return [self._each_converted(part) for part in value]
        return floating(value, self._dtype)

    def _weight(self, y_true: Any, y_pred: Any, sample_weight: Any) -> Tensor | None:
        """How much samples count: as the program says, and not at all where `_counted` says so."""
        weight = None if sample_weight is None else floating(sample_weight, self._dtype)
        counted = self._counted(y_true, y_pred)
        if counted is None:
            return weight
        mask = cast(counted, self._dtype)
        if self.reduction in ("mean", "sum_over_batch_size"):  # the mean is that of those that count
            mask = multiply(mask, divide_no_nan(cast(size(mask), self._dtype), reduce_sum(mask)))
        return mask if weight is None else multiply(*same_rank(mask, weight))

    def _counted(self, y_true: Any, y_pred: Any) -> Tensor | None:
        """Which samples count at all; None for all of them."""
        return None

    def _reduced(self, values: Tensor, weight: Tensor | None) -> Tensor:
        if weight is not None:
            values, weight = same_rank(values, weight)
            values = multiply(values, weight)
        if self.reduction in (None, "none") or values.shape.rank == 0 or values.shape.as_list() == [0]:
            return values
        if self.reduction == "sum":
            return reduce_sum(values)
        if self.reduction == "mean_with_sample_weight" and weight is not None:
            return divide_no_nan(reduce_sum(values), reduce_sum(weight))
        return _mean(values)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {"name": self.name, "reduction": self.reduction}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A loss made with the arguments that `get_config` returned."""
        return cls(**config)


def _mean(values: Tensor) -> Tensor:
    if values.shape.is_fully_defined() and values.shape.num_elements():
        return reduce_mean(values)
    return divide_no_nan(reduce_sum(values), cast(size(values), values.dtype))


@export("losses.LossFunctionWrapper", "keras.losses.LossFunctionWrapper", v1=())
class LossFunctionWrapper(Loss):
    """A loss made of a function of labels and predictions.

    Args:
        fn: The function; it gives a cost for each sample.
        reduction: See `Loss`.
        name: A name.
        dtype: See `Loss`.
        **kwargs: What the function is given besides.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        reduction: Any = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, reduction, dtype)
        if not callable(fn):
            raise DTypeError(f"{type(self).__name__} is made of a function of labels and predictions, got {shown(fn)}.")
        self.fn = fn
        self._fn_kwargs = kwargs

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """The cost of each sample."""
        if isinstance(y_true, Tensor) and isinstance(y_pred, Tensor):
            y_true, y_pred = same_rank(y_true, y_pred)
        return self.fn(y_true, y_pred, **self._fn_kwargs)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {**super().get_config(), "fn": self.fn, **self._fn_kwargs}


class FormulaLoss(LossFunctionWrapper):
    """A loss with a formula of its own, which its class names: ``class Poisson(FormulaLoss, formula=poisson)``."""

    _formula: ClassVar[Callable[..., Any]]
    _called: ClassVar[str]

    def __init_subclass__(cls, formula: Callable[..., Any], called: str | None = None) -> None:
        """Takes the formula, and the name that losses of the class have by default."""
        super().__init_subclass__()
        cls._formula = staticmethod(formula)
        cls._called = formula.__name__ if called is None else called

    def __init__(
        self, reduction: Any = "sum_over_batch_size", name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(self._formula, reduction, self._called if name is None else name, dtype, **kwargs)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {**Loss.get_config(self), **self._fn_kwargs}
