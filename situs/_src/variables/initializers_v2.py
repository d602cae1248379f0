"""The initializers of TensorFlow 2: those of `variables.initializers` with other defaults.

They are made without a dtype, and take it when they are called.
"""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.dtype import BOOL, NUMERIC, as_dtype
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, DTypeLike, ShapeLike
from situs._src.runtime.eager.convert import to_array
from situs._src.variables import initializers as v1
from situs._src.variables.initializers import Initializer as Initializer


class _NumbersOnly(Initializer):
    """An initializer that makes numbers or booleans."""

    _has_dtype = False

    def __call__(self, shape: Any, dtype: Any = dt.float32, partition_info: object = None, **kwargs: Any) -> Tensor:
        """A value of this shape and dtype."""
        wanted = dt.float32 if dtype is None else as_dtype(dtype)
        if wanted not in NUMERIC | BOOL:
            raise ArgumentError(f"Argument `dtype` expected to be numeric or boolean. Received {wanted}.")
        return super().__call__(shape, wanted, partition_info, **kwargs)


@export(
    "zeros_initializer",
    "initializers.Zeros",
    "initializers.zeros",
    "keras.initializers.Zeros",
    "keras.initializers.zeros",
    v1=(),
)
class Zeros(_NumbersOnly, v1.Zeros):
    """Makes zeros."""

    def __init__(self) -> None:
        super().__init__()


@export(
    "ones_initializer",
    "initializers.Ones",
    "initializers.ones",
    "keras.initializers.Ones",
    "keras.initializers.ones",
    v1=(),
)
class Ones(_NumbersOnly, v1.Ones):
    """Makes ones."""

    def __init__(self) -> None:
        super().__init__()


@export(
    "constant_initializer",
    "initializers.Constant",
    "initializers.constant",
    "keras.initializers.Constant",
    "keras.initializers.constant",
    v1=(),
)
class Constant(v1.Constant):
    """Makes a value that is given; its dtype is the value's own unless one is asked for."""

    _has_dtype = False

    def __init__(self, value: ArrayLike = 0, support_partition: bool = False) -> None:
        super().__init__(value)

    def __call__(
        self,
        shape: ShapeLike,
        dtype: DTypeLike | None = None,
        partition_info: object = None,
        verify_shape: bool | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """A value of this shape."""
        wanted = to_array(self.value)[1] if dtype is None else dtype
        return super().__call__(shape, wanted, partition_info, verify_shape, **kwargs)


@export(
    "initializers.Identity",
    "initializers.identity",
    "keras.initializers.Identity",
    "keras.initializers.identity",
    v1=(),
)
class Identity(v1.Identity):
    """Makes the identity matrix, times `gain`."""

    _has_dtype = False

    def __init__(self, gain: float = 1.0) -> None:
        super().__init__(gain)


@export(
    "random_uniform_initializer",
    "initializers.RandomUniform",
    "initializers.random_uniform",
    "keras.initializers.RandomUniform",
    "keras.initializers.random_uniform",
    v1=(),
)
class RandomUniform(_NumbersOnly, v1.RandomUniform):
    """Draws from the uniform distribution over [minval, maxval)."""

    def __init__(self, minval: ArrayLike = -0.05, maxval: Any = 0.05, seed: int | None = None) -> None:
        super().__init__(minval, maxval, seed)


@export(
    "random_normal_initializer",
    "initializers.RandomNormal",
    "initializers.random_normal",
    "keras.initializers.RandomNormal",
    "keras.initializers.random_normal",
    v1=(),
)
class RandomNormal(v1.RandomNormal):
    """Draws from the normal distribution."""

    _has_dtype = False

    def __init__(self, mean: ArrayLike = 0.0, stddev: Any = 0.05, seed: int | None = None) -> None:
        super().__init__(mean, stddev, seed)


@export(
    "initializers.TruncatedNormal",
    "initializers.truncated_normal",
    "keras.initializers.TruncatedNormal",
    "keras.initializers.truncated_normal",
    v1=(),
)
class TruncatedNormal(v1.TruncatedNormal):
    """Draws from the normal distribution, leaving out values over two deviations from the mean."""

    _has_dtype = False

    def __init__(self, mean: ArrayLike = 0.0, stddev: Any = 0.05, seed: int | None = None) -> None:
        super().__init__(mean, stddev, seed)


@export(
    "initializers.VarianceScaling",
    "initializers.variance_scaling",
    "keras.initializers.VarianceScaling",
    "keras.initializers.variance_scaling",
    v1=(),
)
class VarianceScaling(v1.VarianceScaling):
    """Draws with variance ``scale / n``, where n is a number of inputs or outputs."""

    _has_dtype = False

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
    ) -> None:
        super().__init__(scale, mode, distribution, seed)


class _Scaled(v1.VarianceScaling):
    """Variance scaling with all but the seed settled."""

    _has_dtype = False
    _arguments = ("seed",)
    _settled: tuple[float, str, str]

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(*self._settled, seed)


@export(
    "initializers.GlorotUniform",
    "initializers.glorot_uniform",
    "keras.initializers.GlorotUniform",
    "keras.initializers.glorot_uniform",
    v1=(),
)
class GlorotUniform(_Scaled):
    """Draws uniformly with variance ``2 / (inputs + outputs)``."""

    _settled = (1.0, "fan_avg", "uniform")


@export(
    "initializers.GlorotNormal",
    "initializers.glorot_normal",
    "keras.initializers.GlorotNormal",
    "keras.initializers.glorot_normal",
    v1=(),
)
class GlorotNormal(_Scaled):
    """Draws from the truncated normal distribution with variance ``2 / (inputs + outputs)``."""

    _settled = (1.0, "fan_avg", "truncated_normal")


@export(
    "initializers.HeUniform",
    "initializers.he_uniform",
    "keras.initializers.HeUniform",
    "keras.initializers.he_uniform",
    v1=(),
)
class HeUniform(_Scaled):
    """Draws uniformly with variance ``2 / inputs``."""

    _settled = (2.0, "fan_in", "uniform")


@export(
    "initializers.HeNormal",
    "initializers.he_normal",
    "keras.initializers.HeNormal",
    "keras.initializers.he_normal",
    v1=(),
)
class HeNormal(_Scaled):
    """Draws from the truncated normal distribution with variance ``2 / inputs``."""

    _settled = (2.0, "fan_in", "truncated_normal")


@export(
    "initializers.LecunUniform",
    "initializers.lecun_uniform",
    "keras.initializers.LecunUniform",
    "keras.initializers.lecun_uniform",
    v1=(),
)
class LecunUniform(_Scaled):
    """Draws uniformly with variance ``1 / inputs``."""

    _settled = (1.0, "fan_in", "uniform")


@export(
    "initializers.LecunNormal",
    "initializers.lecun_normal",
    "keras.initializers.LecunNormal",
    "keras.initializers.lecun_normal",
    v1=(),
)
class LecunNormal(_Scaled):
    """Draws from the truncated normal distribution with variance ``1 / inputs``."""

    _settled = (1.0, "fan_in", "truncated_normal")


@export(
    "initializers.Orthogonal",
    "initializers.orthogonal",
    "keras.initializers.Orthogonal",
    "keras.initializers.orthogonal",
    v1=(),
)
class Orthogonal(v1.Orthogonal):
    """Makes a matrix with orthogonal rows or columns, whichever are fewer, of length `gain`."""

    _has_dtype = False

    def __init__(self, gain: float = 1.0, seed: int | None = None) -> None:
        super().__init__(gain, seed)


# The same in the other spelling that ``tf.initializers`` has.
zeros, ones, constant, identity, orthogonal = Zeros, Ones, Constant, Identity, Orthogonal
random_uniform, random_normal, truncated_normal = RandomUniform, RandomNormal, TruncatedNormal
variance_scaling, glorot_uniform, glorot_normal = VarianceScaling, GlorotUniform, GlorotNormal
he_uniform, he_normal, lecun_uniform, lecun_normal = HeUniform, HeNormal, LecunUniform, LecunNormal
