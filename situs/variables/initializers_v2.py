"""The initializers of TensorFlow 2: those of `situs.variables.initializers` with other defaults.

They are made without a dtype, and take it when they are called.
"""

from __future__ import annotations

from typing import Any

from situs import dtype as dt
from situs.dtype import BOOL, NUMERIC, as_dtype
from situs.eager.convert import to_array
from situs.errors import ArgumentError
from situs.tensor import Tensor
from situs.variables import initializers as v1
from situs.variables.initializers import Initializer as Initializer


class _NumbersOnly(Initializer):
    """An initializer that makes numbers or booleans."""

    _has_dtype = False

    def __call__(self, shape: Any, dtype: Any = dt.float32, partition_info: Any = None, **kwargs: Any) -> Tensor:
        """A value of this shape and dtype."""
        wanted = dt.float32 if dtype is None else as_dtype(dtype)
        if wanted not in NUMERIC | BOOL:
            raise ArgumentError(f"Argument `dtype` expected to be numeric or boolean. Received {wanted}.")
        return super().__call__(shape, wanted, partition_info, **kwargs)


class Zeros(_NumbersOnly, v1.Zeros):
    """Makes zeros."""

    def __init__(self) -> None:
        super().__init__()


class Ones(_NumbersOnly, v1.Ones):
    """Makes ones."""

    def __init__(self) -> None:
        super().__init__()


class Constant(v1.Constant):
    """Makes a value that is given; its dtype is the value's own unless one is asked for."""

    _has_dtype = False

    def __init__(self, value: Any = 0, support_partition: bool = False) -> None:
        super().__init__(value)

    def __call__(
        self, shape: Any, dtype: Any = None, partition_info: Any = None, verify_shape: bool | None = None, **kwargs: Any
    ) -> Tensor:
        """A value of this shape."""
        wanted = to_array(self.value)[1] if dtype is None else dtype
        return super().__call__(shape, wanted, partition_info, verify_shape, **kwargs)


class Identity(v1.Identity):
    """Makes the identity matrix, times `gain`."""

    _has_dtype = False

    def __init__(self, gain: float = 1.0) -> None:
        super().__init__(gain)


class RandomUniform(_NumbersOnly, v1.RandomUniform):
    """Draws from the uniform distribution over [minval, maxval)."""

    def __init__(self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None) -> None:
        super().__init__(minval, maxval, seed)


class RandomNormal(v1.RandomNormal):
    """Draws from the normal distribution."""

    _has_dtype = False

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None) -> None:
        super().__init__(mean, stddev, seed)


class TruncatedNormal(v1.TruncatedNormal):
    """Draws from the normal distribution, leaving out values over two deviations from the mean."""

    _has_dtype = False

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None) -> None:
        super().__init__(mean, stddev, seed)


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


class GlorotUniform(_Scaled):
    """Draws uniformly with variance ``2 / (inputs + outputs)``."""

    _settled = (1.0, "fan_avg", "uniform")


class GlorotNormal(_Scaled):
    """Draws from the truncated normal distribution with variance ``2 / (inputs + outputs)``."""

    _settled = (1.0, "fan_avg", "truncated_normal")


class HeUniform(_Scaled):
    """Draws uniformly with variance ``2 / inputs``."""

    _settled = (2.0, "fan_in", "uniform")


class HeNormal(_Scaled):
    """Draws from the truncated normal distribution with variance ``2 / inputs``."""

    _settled = (2.0, "fan_in", "truncated_normal")


class LecunUniform(_Scaled):
    """Draws uniformly with variance ``1 / inputs``."""

    _settled = (1.0, "fan_in", "uniform")


class LecunNormal(_Scaled):
    """Draws from the truncated normal distribution with variance ``1 / inputs``."""

    _settled = (1.0, "fan_in", "truncated_normal")


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
