"""``tf.experimental.numpy.random``: random numbers as NumPy's older functions give them."""

from __future__ import annotations

from typing import Any

import numpy as np

from situs._src.base.dtype import float64, int32, int64
from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, DTypeLike
from situs._src.numpy_api.arrays import to_tensor
from situs._src.numpy_api.dtypes import wanted
from situs._src.numpy_api.refusing import refuse_by_our_errors
from situs._src.ops import array as shapes
from situs._src.ops import random as numbers
from situs._src.ops import seeds


def _sizes(size: Any) -> Any:
    if size is None:
        return []
    return [size] if isinstance(size, (int, np.integer)) or getattr(size, "shape", None) == () else size


@export("experimental.numpy.random.seed")
def seed(s: Any) -> None:
    """Sets the seed, as `tf.random.set_seed` does.

    Raises:
        ValueError: it is no integer.
    """
    try:
        number = int(s)
    except TypeError:
        raise ArgumentError(f"Argument `s` got an invalid value {shown(s)}. Only integers are supported.") from None
    seeds.set_seed(number)


@export("experimental.numpy.random.standard_normal")
def standard_normal(size: Any = None) -> Tensor:
    """Numbers of the standard normal distribution."""
    return numbers.normal(_sizes(size), dtype=float64)


@export("experimental.numpy.random.randn")
def randn(*args: int) -> Tensor:
    """Numbers of the standard normal distribution, in the shape of the arguments."""
    return standard_normal(args)


@export("experimental.numpy.random.uniform")
def uniform(low: ArrayLike = 0.0, high: ArrayLike = 1.0, size: Any = None) -> Tensor:
    """Numbers between `low` and `high`, which broadcast."""
    lower, upper = to_tensor(low, float64), to_tensor(high, float64)
    if size is None:
        size = shapes.broadcast_dynamic_shape(shapes.shape(lower), shapes.shape(upper))
    return numbers.uniform(_sizes(size), lower, upper, dtype=float64)


@export("experimental.numpy.random.random")
def random(size: Any = None) -> Tensor:
    """Numbers between 0 and 1."""
    return uniform(0.0, 1.0, size)


@export("experimental.numpy.random.rand")
def rand(*size: int) -> Tensor:
    """Numbers between 0 and 1, in the shape of the arguments."""
    return uniform(0.0, 1.0, size)


@export("experimental.numpy.random.poisson")
def poisson(lam: ArrayLike = 1.0, size: Any = None) -> Tensor:
    """Numbers of the Poisson distribution, as int64."""
    return numbers.poisson(_sizes(size), lam, dtype=int64)


@export("experimental.numpy.random.randint")
def randint(low: Any, high: Any = None, size: Any = None, dtype: DTypeLike | None = np.int64) -> Tensor:
    """Integers from `low` to before `high`, or from zero to before `low`.

    Raises:
        ValueError: the dtype is neither int32 nor int64.
    """
    asked = wanted(dtype)
    if asked not in (int32, int64):
        raise ArgumentError(f"randint() makes int32 and int64, not {shown(dtype)}.")
    lower, upper = (0, int(low)) if high is None else (int(low), int(high))
    return numbers.uniform(_sizes(size), lower, upper, dtype=asked)


refuse_by_our_errors(globals())
