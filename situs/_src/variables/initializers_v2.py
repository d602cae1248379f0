"""The initializers of TensorFlow 2 that are not Keras': those of `variables.initializers` with other defaults.

They are created without a dtype, which is passed when they are called.
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


@export("zeros_initializer", v1=())
class Zeros(_NumbersOnly, v1.Zeros):
    """Makes zeros."""

    def __init__(self) -> None:
        super().__init__()


@export("ones_initializer", v1=())
class Ones(_NumbersOnly, v1.Ones):
    """Makes ones."""

    def __init__(self) -> None:
        super().__init__()


@export("constant_initializer", v1=())
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


@export("random_uniform_initializer", v1=())
class RandomUniform(_NumbersOnly, v1.RandomUniform):
    """Draws from the uniform distribution over [minval, maxval)."""

    def __init__(self, minval: ArrayLike = -0.05, maxval: Any = 0.05, seed: int | None = None) -> None:
        super().__init__(minval, maxval, seed)


@export("random_normal_initializer", v1=())
class RandomNormal(v1.RandomNormal):
    """Draws from the normal distribution."""

    _has_dtype = False

    def __init__(self, mean: ArrayLike = 0.0, stddev: Any = 0.05, seed: int | None = None) -> None:
        super().__init__(mean, stddev, seed)
