"""Initializers: functions from a shape to the initial value of a variable.

>>> Constant([1.0, 2.0])([2]).numpy().tolist()
[1.0, 2.0]

An initializer has only numbers, so it can be serialized (`get_config`) and rebuilt (`from_config`). It calls ops: in
eager code it returns a value, in a graph the operations that compute one, each time again.

The classes are those of TensorFlow 1, which take an optional dtype. Those of TensorFlow 2
(`variables.initializers_v2`) differ from them only in their defaults.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, UnimplementedError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, DTypeLike, ShapeLike
from situs._src.ir.graph.context import name_scope
from situs._src.ops import random
from situs._src.ops.array import reshape, transpose
from situs._src.ops.attribute import as_float
from situs._src.ops.constant import constant, ones, zeros
from situs._src.ops.decompose import qr
from situs._src.ops.diagonal import diag_part, eye
from situs._src.ops.indexing import slice as slice_of
from situs._src.ops.math import add, multiply, sign


class Initializer:
    """What all initializers share: a dtype, and their arguments by name.

    A subclass names its arguments in `_arguments` and keeps them in attributes of these names.
    """

    _arguments: tuple[str, ...] = ()
    _has_dtype = True  # whether it was made with one, as in TensorFlow 1

    def __init__(self, dtype: DTypeLike = dt.float32) -> None:
        self.dtype = as_dtype(dtype)

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike | None = None, partition_info: Any = None, **kwargs: Any
    ) -> Tensor:
        """A value of this shape.

        Args:
            shape: The shape; fully known.
            dtype: The dtype; by default the initializer's.
            partition_info: Which part of a larger variable this is, with ``full_shape`` and ``var_offset``.
            kwargs: ``partition_shape`` and ``partition_offset``, as TensorFlow 2 passes them.
        """
        wanted = self.dtype if dtype is None else as_dtype(dtype)
        sizes = _sizes(kwargs.pop("partition_shape", None) or shape)
        kwargs.pop("partition_offset", None)
        if kwargs:
            allowed = ["partition_shape", "partition_offset"]
            raise DTypeError(f"Keyword argument should be one of {allowed}. Received: {next(iter(kwargs))}")
        full = sizes if partition_info is None else _sizes(partition_info.full_shape)
        return self._make(sizes, wanted, full)

    def _make(self, sizes: tuple[int, ...], dtype: DType, full: tuple[int, ...]) -> Tensor:
        """The value; `full` is the shape of the variable that it is a part of."""
        raise UnimplementedError(f"{type(self).__name__} must override `__call__(self, shape, dtype)`.")

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with, as plain values."""
        config = {name: getattr(self, name) for name in self._arguments}
        return {**config, "dtype": self.dtype.name} if self._has_dtype else config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """An initializer made with the arguments that `get_config` returned."""
        return cls(**config)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.get_config().items())
        return f"<{type(self).__name__} initializer({arguments})>"


def _sizes(shape: Any) -> tuple[int, ...]:
    known = TensorShape(shape)
    if not known.is_fully_defined():
        raise ArgumentError(f"An initializer needs a fully known shape, got {known}.")
    return tuple(size for size in known if size is not None)


# Constants.


@export(v1=("zeros_initializer", "initializers.zeros"))
class Zeros(Initializer):
    """Makes zeros: False, or empty strings."""

    def _make(self, sizes: tuple[int, ...], dtype: DType, full: tuple[int, ...]) -> Tensor:
        return zeros(sizes, dtype, name="zeros")


@export(v1=("ones_initializer", "initializers.ones"))
class Ones(Initializer):
    """Makes ones."""

    def _make(self, sizes: tuple[int, ...], dtype: DType, full: tuple[int, ...]) -> Tensor:
        return ones(sizes, dtype, name="ones")


@export(v1=("constant_initializer", "initializers.constant"))
class Constant(Initializer):
    """Makes a value that is given.

    Args:
        value: A number that fills the shape, or as many as it has elements.
        dtype: The dtype of the result.
        verify_shape: Whether the value must have the very shape that is asked for.
    """

    _arguments = ("value",)

    def __init__(self, value: ArrayLike = 0, dtype: Any = dt.float32, verify_shape: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise DTypeError(
                f"Invalid type for initial value={value} of type: {type(value).__name__}. Expected Python scalar, list "
                "or tuple of values, or numpy.ndarray."
            )
        super().__init__(dtype)
        self.value = value
        self.verify_shape = verify_shape

    def __call__(
        self,
        shape: Any,
        dtype: Any = None,
        partition_info: object = None,
        verify_shape: bool | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """A value of this shape; `verify_shape` overrides what the initializer was made with."""
        if self.verify_shape if verify_shape is None else verify_shape:
            found = TensorShape(np.shape(self.value))
            if found != TensorShape(shape):
                raise DTypeError(f"Expected a value with shape {TensorShape(shape)}, but got shape {found}.")
        return super().__call__(shape, dtype, partition_info, **kwargs)

    def _make(self, sizes: tuple[int, ...], dtype: DType, full: tuple[int, ...]) -> Tensor:
        value = self.value
        if here.graph is not None and not np.isscalar(value):  # in a graph the last value fills what is left
            flat = np.ravel(np.asarray(value, object))
            left = math.prod(sizes) - len(flat)
            value = [*flat.tolist(), *flat[-1:].tolist() * left] if left > 0 else value
        return constant(value, dtype, sizes)


@export(v1="initializers.identity")
class Identity(Initializer):
    """Makes the identity matrix, times `gain`."""

    _arguments = ("gain",)

    def __init__(self, gain: float = 1.0, dtype: Any = dt.float32) -> None:
        super().__init__(dtype)
        self.gain = gain

    def _make(self, sizes: tuple[int, ...], dtype: DType, full: tuple[int, ...]) -> Tensor:
        if len(full) != 2:
            raise ArgumentError(
                "The tensor to initialize, specified by argument `shape` must be at least two-dimensional. Received "
                f"shape={list(full)}"
            )
        matrix = eye(full[0], full[1], dtype=dtype)
        return matrix if self.gain == 1.0 else multiply(matrix, self.gain)

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike | None = None, partition_info: Any = None, **kwargs: Any
    ) -> Tensor:
        """The identity matrix of this shape, or that part of it."""
        whole = super().__call__(shape, dtype, partition_info, **kwargs)
        return whole if partition_info is None else slice_of(whole, partition_info.var_offset, _sizes(shape))


# Random values. Their operations have TensorFlow's names: w/Initializer/random_normal/RandomStandardNormal, .../mul.


def _drawn(
    scope: str,
    draw: Callable[..., Any],
    sizes: tuple[int, ...],
    dtype: DType,
    seed: int | None,
    scale: ArrayLike,
    shift: Any,
) -> Tensor:
    """``draw * scale + shift`` in a name scope, under whose name the result is found."""
    with name_scope(None, scope) as inside:
        drawn = draw(sizes, dtype=dtype, seed=seed)
        return add(multiply(drawn, scale, name="mul"), shift, name=inside)


@export(v1=("random_uniform_initializer", "initializers.random_uniform"))
class RandomUniform(Initializer):
    """Draws from the uniform distribution over [minval, maxval).

    Args:
        minval: The lower bound.
        maxval: The upper bound; 1 by default for floating-point dtypes.
        seed: A seed.
        dtype: The dtype of the result.
    """

    _arguments = ("minval", "maxval", "seed")

    def __init__(
        self, minval: ArrayLike = 0.0, maxval: Any = None, seed: int | None = None, dtype: DTypeLike = dt.float32
    ) -> None:
        super().__init__(dtype)
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def _make(self, sizes: tuple[int, ...], dtype: DType, full: tuple[int, ...]) -> Tensor:
        if isinstance(self.minval, (int, float)) and dtype.is_floating:
            width = (1.0 if self.maxval is None else self.maxval) - self.minval
            return _drawn("random_uniform", random.uniform, sizes, dtype, self.seed, width, self.minval)
        low = int(self.minval) if isinstance(self.minval, float) else self.minval
        high = int(self.maxval) if isinstance(self.maxval, float) else self.maxval
        return random.uniform(sizes, low, high, dtype, self.seed)


@export(v1=("random_normal_initializer", "initializers.random_normal"))
class RandomNormal(Initializer):
    """Draws from the normal distribution."""

    _arguments = ("mean", "stddev", "seed")
    _draws = ("random_normal", staticmethod(random.normal))

    def __init__(
        self, mean: ArrayLike = 0.0, stddev: Any = 1.0, seed: int | None = None, dtype: DTypeLike = dt.float32
    ) -> None:
        super().__init__(_floating(dtype))
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def _make(self, sizes: tuple[int, ...], dtype: DType, full: tuple[int, ...]) -> Tensor:
        scope, draw = self._draws
        return _drawn(scope, draw, sizes, _floating(dtype), self.seed, self.stddev, self.mean)


@export(v1=("truncated_normal_initializer", "initializers.truncated_normal"))
class TruncatedNormal(RandomNormal):
    """Draws from the normal distribution, leaving out values over two deviations from the mean."""

    _draws = ("truncated_normal", staticmethod(random.truncated_normal))


def _floating(dtype: DTypeLike) -> DType:
    wanted = as_dtype(dtype)
    if not wanted.is_floating:
        raise ArgumentError(f"Argument `dtype` is expected to be floating point. Received: {wanted}.")
    return wanted


@export(v1=("uniform_unit_scaling_initializer", "initializers.uniform_unit_scaling"))
class UniformUnitScaling(Initializer):
    """Draws uniformly, so that a matrix product keeps the scale of its input: within sqrt(3 / inputs) * factor."""

    _arguments = ("factor", "seed")

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: DTypeLike = dt.float32) -> None:
        super().__init__(_floating(dtype))
        self.factor, self.seed = as_float(factor, "factor"), seed

    def _make(self, sizes: tuple[int, ...], dtype: DType, full: tuple[int, ...]) -> Tensor:
        edge = math.sqrt(3 / max(1.0, float(math.prod(full[:-1])))) * self.factor
        return _drawn("random_uniform", random.uniform, sizes, dtype, self.seed, 2 * edge, -edge)


_MODES = ("fan_in", "fan_out", "fan_avg")
_DISTRIBUTIONS = ("normal", "uniform", "truncated_normal", "untruncated_normal")
_TRUNCATED_DEVIATION = 0.87962566103423978  # of the standard normal distribution within [-2, 2]


@export(v1=("variance_scaling_initializer", "initializers.variance_scaling"))
class VarianceScaling(Initializer):
    """Draws with variance ``scale / n``.

    Args:
        scale: A positive number.
        mode: What n is: ``fan_in``, the number of inputs of a layer; ``fan_out``, of outputs; ``fan_avg``, their mean.
        distribution: ``truncated_normal`` (or ``normal``), ``untruncated_normal`` or ``uniform``.
        seed: A seed.
        dtype: The dtype of the result.
    """

    _arguments: tuple[str, ...] = ("scale", "mode", "distribution", "seed")

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: DTypeLike = dt.float32,
    ) -> None:
        if not as_float(scale, "scale") > 0.0:
            raise ArgumentError(f"Argument `scale` must be a positive float. Received: {scale}")
        if not isinstance(mode, str) or mode not in _MODES:
            raise ArgumentError(f"Argument `mode` should be one of {_MODES}. Received: {mode}")
        if not isinstance(distribution, str) or distribution not in _DISTRIBUTIONS:
            raise ArgumentError(f"Argument `distribution` should be one of {_DISTRIBUTIONS}. Received: {distribution}")
        super().__init__(_floating(dtype))
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed

    def _make(self, sizes: tuple[int, ...], dtype: DType, full: tuple[int, ...]) -> Tensor:
        fan_in, fan_out = fans(full)
        count = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        deviation = math.sqrt(self.scale / max(1.0, count))
        return self._distributed(sizes, _floating(dtype), deviation)

    def _distributed(self, sizes: tuple[int, ...], dtype: DType, deviation: float) -> Tensor:
        if self.distribution == "uniform":
            edge = math.sqrt(3.0) * deviation
            return _drawn("random_uniform", random.uniform, sizes, dtype, self.seed, 2 * edge, -edge)
        if self.distribution == "untruncated_normal":
            return _drawn("random_normal", random.normal, sizes, dtype, self.seed, deviation, 0.0)
        wider = deviation / _TRUNCATED_DEVIATION
        return _drawn("truncated_normal", random.truncated_normal, sizes, dtype, self.seed, wider, 0.0)


def fans(sizes: tuple[int, ...]) -> tuple[float, float]:
    """The numbers of inputs and outputs of one unit of a layer with weights of this shape."""
    if len(sizes) < 2:
        size = float(sizes[0]) if sizes else 1.0
        return size, size
    window = math.prod(sizes[:-2])
    return float(sizes[-2] * window), float(sizes[-1] * window)


@export(v1=("glorot_uniform_initializer", "initializers.glorot_uniform"))
class GlorotUniform(VarianceScaling):
    """Draws uniformly with variance ``2 / (inputs + outputs)``; also known as Xavier's."""

    _arguments = ("seed",)

    def __init__(self, seed: int | None = None, dtype: Any = dt.float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


@export(v1=("glorot_normal_initializer", "initializers.glorot_normal"))
class GlorotNormal(VarianceScaling):
    """Draws from the truncated normal distribution with variance ``2 / (inputs + outputs)``."""

    _arguments = ("seed",)

    def __init__(self, seed: int | None = None, dtype: Any = dt.float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


@export(v1="initializers.he_normal")
def he_normal(seed: int | None = None) -> VarianceScaling:
    """Draws from the truncated normal distribution with variance ``2 / inputs``."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


@export(v1="initializers.he_uniform")
def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Draws uniformly with variance ``2 / inputs``."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


@export(v1="initializers.lecun_normal")
def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Draws from the truncated normal distribution with variance ``1 / inputs``."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


@export(v1="initializers.lecun_uniform")
def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Draws uniformly with variance ``1 / inputs``."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


@export(v1=("orthogonal_initializer", "initializers.orthogonal"))
class Orthogonal(Initializer):
    """Makes a matrix with orthogonal rows or columns, whichever are fewer, of length `gain`.

    A tensor of more dimensions is made as a matrix whose columns are its last dimension.
    """

    _arguments = ("gain", "seed")

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = dt.float32) -> None:
        super().__init__(_floating(dtype))
        self.gain, self.seed = gain, seed

    def _make(self, sizes: tuple[int, ...], dtype: DType, full: tuple[int, ...]) -> Tensor:
        if len(sizes) < 2:
            raise ArgumentError(
                "The tensor to initialize, specified by argument `shape` must be at least two-dimensional. Received "
                f"shape={list(sizes)}"
            )
        rows, columns = math.prod(sizes[:-1]), sizes[-1]
        drawn = random.normal((max(rows, columns), min(rows, columns)), dtype=_floating(dtype), seed=self.seed)
        q, r = qr(drawn)
        q = multiply(q, sign(diag_part(r)))  # so that every orthogonal matrix is as likely
        q = transpose(q) if rows < columns else q
        return multiply(reshape(q, sizes), self.gain)


# The names that TensorFlow's programs use.
zeros_initializer, ones_initializer, constant_initializer = Zeros, Ones, Constant
identity_initializer, orthogonal_initializer = Identity, Orthogonal
random_uniform_initializer, random_normal_initializer = RandomUniform, RandomNormal
truncated_normal_initializer, uniform_unit_scaling_initializer = TruncatedNormal, UniformUnitScaling
variance_scaling_initializer = VarianceScaling
glorot_uniform_initializer, glorot_normal_initializer = GlorotUniform, GlorotNormal
