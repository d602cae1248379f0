"""``tf.metrics.Metric``: a number about a stream of batches, kept in variables.

    accuracy = tf.metrics.SparseCategoricalAccuracy()
    for x, y in batches:
        accuracy.update_state(y, model(x))
    print(accuracy.result())
    accuracy.reset_state()

Updates and results are made of ops, so they work in eager code and in a ``tf.function``. The variables are where the
device scope said when the metric was made, and a ``tf.train.Checkpoint`` saves them.
"""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, StateError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.checkpoints.trackable import Trackable
from situs._src.ir.graph.context import init_scope
from situs._src.keras.losses.naming import unique_name
from situs._src.keras.metrics.weight_arguments import by_name
from situs._src.ops.constant import constant, fill, zeros
from situs._src.variables.eager import Variable
from situs._src.variables.symbolic import RefVariable

_KERAS2 = ("name", "shape", "aggregation", "synchronization", "initializer", "dtype")
_KERAS3 = ("shape", "initializer", "dtype", "name")


@export("metrics.Metric", "keras.metrics.Metric", v1=())
class Metric(Trackable):
    """The base of metrics; one of one's own makes variables with `add_weight` and overrides two methods.

    Args:
        dtype: The dtype of results; float32 by default.
        name: A name; by default that of the class.

    Example:
        >>> import situs as tf
        >>> class Largest(tf.metrics.Metric):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.largest = self.add_weight(name="largest")
        ...     def update_state(self, values):
        ...         self.largest.assign(tf.maximum(self.largest, tf.reduce_max(values)))
        ...     def result(self):
        ...         return self.largest.value()
        >>> largest = Largest()
        >>> float(largest([1.0, 3.0, 2.0]))
        3.0
    """

    def __init__(self, dtype: Any = None, name: str | None = None) -> None:
        if isinstance(dtype, str) and not _is_dtype(dtype) and (name is None or _is_dtype(name)):
            dtype, name = name, dtype  # Keras 2 had the name first
        self._variables: list[Any] = []
        self._metrics: list[Metric] = []
        self.name = unique_name(type(self).__name__) if name is None else str(name)
        self._dtype = dt.float32 if dtype is None else dt.as_dtype(dtype)

    # What it does.

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a batch."""
        raise UnimplementedError(f"{type(self).__name__} has no method `update_state`, which adds a batch.")

    def result(self) -> Any:
        """The metric of all batches so far."""
        raise UnimplementedError(f"{type(self).__name__} has no method `result`, which gives the metric so far.")

    def reset_state(self) -> None:
        """Forgets all batches."""
        for variable in self.variables:
            variable.assign(zeros(variable.shape, variable.dtype))

    def reset_states(self) -> None:
        """The old name of `reset_state`."""
        self.reset_state()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a batch, and gives the metric with it."""
        self._check_made()
        self.update_state(*args, **kwargs)
        return self.result()

    # What it is.

    @property
    def dtype(self) -> str:
        """The name of the dtype of results."""
        return self._dtype.name

    @property
    def variables(self) -> list[Any]:
        """Its variables, and those of metrics that it is made of."""
        self._check_made()
        return self._variables + [variable for metric in self._metrics for variable in metric.variables]

    @property
    def weights(self) -> list[Any]:
        """The old name of `variables`."""
        return self.variables

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        self._check_made()
        return {"name": self.name, "dtype": self.dtype}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A metric made with the arguments that `get_config` returned."""
        return cls(**config)

    def __repr__(self) -> str:
        self._check_made()
        return f"<{type(self).__name__} name={self.name}>"

    # Its variables.

    def add_weight(self, *args: Any, **kwargs: Any) -> Any:
        """A new variable; the arguments are those of `add_variable`, with the name first in the order of Keras 2."""
        given = by_name(args, kwargs, _KERAS2, _KERAS3)
        return self.add_variable(
            given.get("shape", ()), given.get("initializer"), given.get("dtype"), name=given.get("name")
        )

    def add_variable(
        self,
        shape: Any = (),
        initializer: Any = None,
        dtype: Any = None,
        aggregation: Any = "sum",
        name: str | None = None,
    ) -> Any:
        """A new variable, placed as the device scope says.

        Args:
            shape: Its shape.
            initializer: ``"zeros"``, ``"ones"``, a number, or a function of a shape and a dtype; zeros by default.
            dtype: Its dtype; float32 by default.
            aggregation: Accepted for TensorFlow's programs.
            name: Its name.
        """
        self._check_made()
        wanted = dt.float32 if dtype is None else dt.as_dtype(dtype)
        with init_scope():
            made: Any = Variable(_first(initializer, shape, wanted), False, name=f"{self.name}/{name or 'variable'}")
        if isinstance(made, RefVariable):
            raise UnimplementedError(
                f"Metric '{self.name}' was made while a graph is built for a session. The metrics of Keras work in "
                "eager code and in tf.function; use those of tf.compat.v1.metrics here."
            )
        self._variables.append(made)
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        known = self.__dict__.get("_variables")
        if known is not None and isinstance(value, Variable) and not any(value is other for other in known):
            known.append(value)
        if known is not None and isinstance(value, Metric) and value not in self._metrics:
            self._metrics.append(value)
        super().__setattr__(name, value)

    def _check_made(self) -> None:
        if "_variables" not in self.__dict__:
            raise StateError(
                "You forgot to call `super().__init__()` in the `__init__()` method of "
                f"{type(self).__name__}. Call it first."
            )


def _is_dtype(name: str) -> bool:
    try:
        dt.as_dtype(name)
    except (TypeError, ValueError):
        return False
    return True


def _first(initializer: Any, shape: Any, dtype: dt.DType) -> Any:
    """What a variable begins with."""
    if isinstance(initializer, str):
        initializer = {"zeros": 0, "ones": 1}.get(initializer, initializer)
    if initializer is None:
        return zeros(shape, dtype)
    if isinstance(initializer, (int, float)):
        return fill(shape, constant(initializer, dtype))
    if isinstance(initializer, type):
        initializer = initializer()
    if not callable(initializer):
        raise ArgumentError(
            "An initializer is 'zeros', 'ones', a number, or a function of a shape and a dtype; got "
            f"{shown(initializer)}."
        )
    return initializer(shape, dtype=dtype)
