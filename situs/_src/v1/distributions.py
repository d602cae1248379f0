"""``tf.distributions``: what agents that learn by trial draw their actions from.

    policy = tf.distributions.Normal(loc=mean, scale=deviation)
    action = policy.sample(seed=1)
    loss = -policy.log_prob(action) * advantage

Samples are TensorFlow's: each class draws by the same op, in the same shape, as it does there.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.dtype import as_dtype
from situs._src.base.errors import ArgumentError, UnimplementedError
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, TensorShape, broadcast
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, DTypeLike
from situs._src.ir.graph.context import name_scope
from situs._src.ops import math as m
from situs._src.ops.array import broadcast_dynamic_shape, broadcast_to, reshape, transpose
from situs._src.ops.array import shape as shape_of
from situs._src.ops.cast import cast
from situs._src.ops.checks import lbeta
from situs._src.ops.compare import greater, greater_equal, less, logical_and, logical_or
from situs._src.ops.constant import constant, convert_to_tensor, ones_like, zeros_like
from situs._src.ops.constant import range as range_
from situs._src.ops.gather import where
from situs._src.ops.join import concat
from situs._src.ops.nn.activation import log_softmax, softmax, softplus
from situs._src.ops.nn.loss import sigmoid_cross_entropy_with_logits, sparse_softmax_cross_entropy_with_logits
from situs._src.ops.random import gamma, multinomial, normal, uniform
from situs._src.ops.reduce import argmax, reduce_prod, reduce_sum
from situs._src.v1.frontend import builds


@export(v1="distributions.ReparameterizationType")
class ReparameterizationType:
    """Whether samples have a gradient with respect to the parameters."""

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = export(v1="distributions.FULLY_REPARAMETERIZED")(
    ReparameterizationType("FULLY_REPARAMETERIZED")
)
NOT_REPARAMETERIZED = export(v1="distributions.NOT_REPARAMETERIZED")(ReparameterizationType("NOT_REPARAMETERIZED"))

_divergences: dict[tuple[type, type], Callable[..., Tensor]] = {}


@export(v1="distributions.Distribution")
class Distribution:
    """What all distributions can be asked. A subclass answers by methods with an underscore.

    Args:
        dtype: The dtype of samples.
        reparameterization_type: `FULLY_REPARAMETERIZED` or `NOT_REPARAMETERIZED`.
        validate_args: Kept for whoever asks; parameters are not checked.
        allow_nan_stats: Kept for whoever asks.
        parameters: What it was made with, by name.
        graph_parents: Accepted for TensorFlow's programs.
        name: A name for its operations.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        reparameterization_type: ReparameterizationType,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        parameters: dict[str, Any] | None = None,
        graph_parents: object = None,
        name: str | None = None,
    ) -> None:
        self._name = _scope_of(name or type(self).__name__)
        self._dtype = as_dtype(dtype)
        self._reparameterization_type = reparameterization_type
        self._validate_args = validate_args
        self._allow_nan_stats = allow_nan_stats
        self._parameters = {key: value for key, value in (parameters or {}).items() if key not in ("self", "__class__")}

    name = property(lambda self: self._name, doc="The name of its scope.")
    dtype = property(lambda self: self._dtype, doc="The dtype of samples.")
    parameters = property(lambda self: dict(self._parameters), doc="What it was made with, by name.")
    reparameterization_type = property(lambda self: self._reparameterization_type, doc="Whether samples have one.")
    allow_nan_stats = property(lambda self: self._allow_nan_stats, doc="What it was made with.")
    validate_args = property(lambda self: self._validate_args, doc="What it was made with.")

    # What subclasses say.

    def _batch(self) -> list[Tensor]:
        """The parameters whose shapes, broadcast, are the shape of the batch."""
        raise self._lacks("batch_shape")

    def _event(self) -> Tensor | None:
        """A parameter whose last dimension is that of an event; None for scalars."""
        return None

    def _lacks(self, what: str) -> UnimplementedError:
        return UnimplementedError(f"{what} is not implemented: {type(self).__name__}")

    def _answer(self, what: str, *values: ArrayLike) -> Tensor:
        own = getattr(self, f"_{what}", None)
        if own is None:
            raise self._lacks(what)
        with name_scope(f"{self._name}{what}/"):
            made: Tensor = own(*values)
            return made

    def _has(self, *names: str) -> str | None:
        return next((name for name in names if hasattr(self, f"_{name}")), None)

    def _given(self, value: ArrayLike) -> Tensor:
        """A value to ask about, in the dtype of samples."""
        return convert_to_tensor(value, None if hasattr(value, "dtype") else self._dtype)

    # Shapes.

    @property
    def batch_shape(self) -> TensorShape:
        """How many distributions this is, as far as it is known."""
        found = SCALAR
        for each in self._batch():
            found = broadcast(found, TensorShape(each.shape))
        return found

    @property
    def event_shape(self) -> TensorShape:
        """The shape of one sample of one of them."""
        event = self._event()
        return SCALAR if event is None else TensorShape(event.shape)[-1:]

    @builds
    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """`batch_shape` as a tensor."""
        if self.batch_shape.is_fully_defined():
            sizes: Any = self.batch_shape.as_list()
            return constant(sizes, dt.int32, shape=[len(self.batch_shape)], name=name)
        found = constant([], dt.int32)
        for each in self._batch():
            found = broadcast_dynamic_shape(found, shape_of(each))
        return found

    @builds
    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """`event_shape` as a tensor."""
        event = self._event()
        return constant([], dt.int32, name=name) if event is None else shape_of(event)[-1:]

    @builds
    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        """Whether a sample is a number."""
        return constant(self.event_shape.rank == 0, name=name)

    @builds
    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Tensor:
        """Whether this is one distribution."""
        return constant(self.batch_shape.rank == 0, name=name)

    # Samples.

    @builds
    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample") -> Tensor:
        """Draws.

        Args:
            sample_shape: How many samples; they stand before the batch in the shape of the result.
            seed: A seed.
            name: A name for the operations.
        """
        with name_scope(f"{self._name}{name}/"):
            many = convert_to_tensor(sample_shape, dt.int32)
            known = TensorShape(sample_shape) if not isinstance(sample_shape, Tensor) else TensorShape(None)
            many = reshape(many, [-1])
            drawn: Tensor = self._sample_n(reduce_prod(many), seed)  # type: ignore[attr-defined]
            made: Any = reshape(drawn, concat([many, shape_of(drawn)[1:]], 0))
            rest = self.batch_shape.concatenate(self.event_shape)
            if known.rank is not None and rest.rank is not None:
                made.set_shape(known.concatenate(rest))
            samples: Tensor = made
            return samples

    def _shape_of_samples(self, count: Tensor) -> Tensor:
        return concat([reshape(count, [1]), self.batch_shape_tensor()], 0)

    # Probabilities.

    @builds
    def log_prob(self, value: ArrayLike, name: str = "log_prob") -> Tensor:
        """The logarithm of the density, or of the probability, of a value."""
        if self._has("log_prob") is None and self._has("prob"):
            return m.log(self._answer("prob", self._given(value)))
        return self._answer("log_prob", self._given(value))

    @builds
    def prob(self, value: ArrayLike, name: str = "prob") -> Tensor:
        """The density, or the probability, of a value."""
        if self._has("prob") is None and self._has("log_prob"):
            return m.exp(self._answer("log_prob", self._given(value)))
        return self._answer("prob", self._given(value))

    @builds
    def cdf(self, value: ArrayLike, name: str = "cdf") -> Tensor:
        """The probability of at most a value."""
        return self._answer("cdf", self._given(value))

    @builds
    def log_cdf(self, value: ArrayLike, name: str = "log_cdf") -> Tensor:
        """The logarithm of `cdf`."""
        if self._has("log_cdf"):
            return self._answer("log_cdf", self._given(value))
        return m.log(self._answer("cdf", self._given(value)))

    @builds
    def survival_function(self, value: ArrayLike, name: str = "survival_function") -> Tensor:
        """The probability of more than a value."""
        if self._has("survival_function"):
            return self._answer("survival_function", self._given(value))
        return 1.0 - self._answer("cdf", self._given(value))

    @builds
    def log_survival_function(self, value: ArrayLike, name: str = "log_survival_function") -> Tensor:
        """The logarithm of `survival_function`."""
        if self._has("log_survival_function"):
            return self._answer("log_survival_function", self._given(value))
        return m.log1p(-self._answer("cdf", self._given(value)))

    @builds
    def quantile(self, value: ArrayLike, name: str = "quantile") -> Tensor:
        """What is not exceeded with a probability."""
        return self._answer("quantile", value if self._has("quantile") is None else self._given(value))

    # Numbers that describe it.

    @builds
    def mean(self, name: str = "mean") -> Tensor:
        """The mean."""
        return self._answer("mean")

    @builds
    def mode(self, name: str = "mode") -> Tensor:
        """What is most likely."""
        return self._answer("mode")

    @builds
    def variance(self, name: str = "variance") -> Tensor:
        """The variance."""
        return m.square(self._answer("stddev")) if self._has("variance") is None else self._answer("variance")

    @builds
    def stddev(self, name: str = "stddev") -> Tensor:
        """The standard deviation."""
        if self._has("stddev") is None and self._has("variance"):
            return m.sqrt(self._answer("variance"))
        return self._answer("stddev")

    @builds
    def entropy(self, name: str = "entropy") -> Tensor:
        """The entropy, in nats."""
        return self._answer("entropy")

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Tensor:
        """How many nats are lost where `other` stands for this one."""
        found: Tensor = kl_divergence(self, other, name=name)
        return found

    @builds
    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Tensor:
        """The entropy, and `kl_divergence`."""
        found: Tensor = self.entropy() + kl_divergence(self, other)
        return found

    def __str__(self) -> str:
        return (
            f'tfp.distributions.{type(self).__name__}("{self._name}", batch_shape={self.batch_shape}, '
            f"event_shape={self.event_shape}, dtype={self._dtype.name})"
        )

    def __repr__(self) -> str:
        return (
            f"<tfp.distributions.{type(self).__name__} '{self._name}' batch_shape={self.batch_shape} "
            f"event_shape={self.event_shape} dtype={self._dtype.name}>"
        )


@builds
def _scope_of(name: str) -> str:
    """A name scope of its own, with the stroke at its end."""
    with name_scope(name) as scope:
        return scope or f"{name}/"


@export(v1="distributions.RegisterKL")
class RegisterKL:
    """Says how the divergence of two classes of distributions is computed: ``@RegisterKL(Normal, Normal)``.

    Args:
        dist_cls_a: The class of the first.
        dist_cls_b: The class of the second.
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
        if self._key in _divergences:
            raise ArgumentError(
                f"KL({self._key[0].__name__} || {self._key[1].__name__}) has already been registered to: "
                f"{_divergences[self._key]}"
            )
        _divergences[self._key] = kl_fn
        return kl_fn


@export(v1="distributions.kl_divergence", as_is=True)
@builds
def kl_divergence(
    distribution_a: Distribution, distribution_b: Distribution, allow_nan_stats: bool = True, name: str | None = None
) -> Tensor:
    """How many nats are lost where one distribution stands for another.

    Args:
        distribution_a: The one that samples come from.
        distribution_b: The one that stands for it.
        allow_nan_stats: Accepted for TensorFlow's programs.
        name: A name for the operations.

    Raises:
        NotImplementedError: nobody has said how it is computed for these two.
    """
    for first in type(distribution_a).__mro__:
        for second in type(distribution_b).__mro__:
            if (first, second) in _divergences:
                with name_scope(name or "KullbackLeibler"):
                    return _divergences[first, second](distribution_a, distribution_b)
    raise UnimplementedError(
        f"No KL(distribution_a || distribution_b) registered for distribution_a type {type(distribution_a).__name__} "
        f"and distribution_b type {type(distribution_b).__name__}"
    )


def _floats(*values: ArrayLike) -> list[Tensor]:
    """Parameters as tensors of one floating-point dtype."""
    kind = next((as_dtype(value.dtype) for value in values if hasattr(value, "dtype")), dt.float32)
    return [convert_to_tensor(value, None if hasattr(value, "dtype") else kind) for value in values]


def _tensors(*values: ArrayLike) -> list[Tensor]:
    made: list[Tensor] = builds(_floats)(*values)
    return made


# Of numbers.


@export(v1="distributions.Normal")
class Normal(Distribution):
    """The normal distribution.

    Args:
        loc: The mean.
        scale: The standard deviation.
        validate_args: See `Distribution`, as for the arguments that follow.
        allow_nan_stats: See there.
        name: See there.
    """

    def __init__(
        self,
        loc: ArrayLike,
        scale: ArrayLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Normal",
    ) -> None:
        given = dict(locals())
        self._loc, self._scale = _tensors(loc, scale)
        super().__init__(self._scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, given, name=name)

    loc = property(lambda self: self._loc, doc="The mean.")
    scale = property(lambda self: self._scale, doc="The standard deviation.")

    def _batch(self) -> list[Tensor]:
        return [self._loc, self._scale]

    def _sample_n(self, count: Tensor, seed: int | None) -> Tensor:
        drawn = normal(self._shape_of_samples(count), dtype=self._dtype, seed=seed)
        return drawn * self._scale + self._loc

    def _z(self, x: Tensor) -> Tensor:
        return (x - self._loc) / self._scale

    def _log_prob(self, x: Tensor) -> Tensor:
        return -0.5 * m.square(self._z(x)) - (0.5 * math.log(2.0 * math.pi) + m.log(self._scale))

    def _cdf(self, x: Tensor) -> Tensor:
        return _below(self._z(x))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return _log_below(self._z(x))

    def _survival_function(self, x: Tensor) -> Tensor:
        return _below(-self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return _log_below(-self._z(x))

    def _quantile(self, p: Tensor) -> Tensor:
        return m.ndtri(p) * self._scale + self._loc

    def _mean(self) -> Tensor:
        return self._loc * ones_like(self._scale)

    _mode = _mean

    def _stddev(self) -> Tensor:
        return self._scale * ones_like(self._loc)

    def _entropy(self) -> Tensor:
        return 0.5 * math.log(2.0 * math.pi * math.e) + m.log(self._scale * ones_like(self._loc))


def _below(z: Tensor) -> Tensor:
    """How likely a standard normal number is below `z`."""
    return 0.5 * m.erfc(-z * math.sqrt(0.5))


def _log_below(z: Tensor) -> Tensor:
    """The logarithm of `_below`, also far out, where that is zero."""
    near = where(less(z, -5.0), -5.0 * ones_like(z), z)
    high = m.log1p(-_below(-near))
    middle = m.log(_below(near))
    far = where(less(z, -5.0), z, -5.0 * ones_like(z))
    inverse = 1.0 / m.square(far)
    series = 1.0 + inverse * (-1.0 + inverse * (3.0 + inverse * (-15.0 + inverse * 105.0)))
    low = -0.5 * m.square(far) - m.log(-far) - 0.5 * math.log(2.0 * math.pi) + m.log(series)
    return where(less(z, -5.0), low, where(greater(z, 0.0), high, middle))


@RegisterKL(Normal, Normal)
def _kl_of_normals(a: Normal, b: Normal) -> Tensor:
    first, second = m.square(a.scale), m.square(b.scale)
    ratio = first / second
    return m.square(a.loc - b.loc) / (2.0 * second) + 0.5 * (ratio - 1.0 - m.log(ratio))


@export(v1="distributions.Uniform")
class Uniform(Distribution):
    """The uniform distribution: from `low`, below `high`.

    Args:
        low: The lower end.
        high: The upper end.
        validate_args: See `Distribution`, as for the arguments that follow.
        allow_nan_stats: See there.
        name: See there.
    """

    def __init__(
        self,
        low: ArrayLike = 0.0,
        high: ArrayLike = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:
        given = dict(locals())
        self._low, self._high = _tensors(low, high)
        super().__init__(self._low.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, given, name=name)

    low = property(lambda self: self._low, doc="The lower end.")
    high = property(lambda self: self._high, doc="The upper end.")

    def range(self, name: str = "range") -> Tensor:
        """`high` less `low`."""
        made: Tensor = builds(m.subtract)(self._high, self._low, name)
        return made

    def _batch(self) -> list[Tensor]:
        return [self._low, self._high]

    def _sample_n(self, count: Tensor, seed: int | None) -> Tensor:
        drawn = uniform(self._shape_of_samples(count), dtype=self._dtype, seed=seed)
        return self._low + (self._high - self._low) * drawn

    def _prob(self, x: Tensor) -> Tensor:
        whole = x * ones_like(self._low + self._high)
        inside = ones_like(whole) / (self._high - self._low)
        is_outside = logical_or(less(whole, self._low), greater_equal(whole, self._high))
        return where(m.is_nan(whole), whole, where(is_outside, zeros_like(inside), inside))

    def _cdf(self, x: Tensor) -> Tensor:
        shape = broadcast_dynamic_shape(shape_of(x), self.batch_shape_tensor())
        one, whole = broadcast_to(constant(1.0, self._dtype), shape), broadcast_to(x, shape)
        inside = (whole - self._low) / (self._high - self._low)
        return where(less(whole, self._low), zeros_like(whole), where(greater_equal(whole, self._high), one, inside))

    def _mean(self) -> Tensor:
        return (self._low + self._high) / 2.0

    def _variance(self) -> Tensor:
        return m.square(self._high - self._low) / 12.0

    def _stddev(self) -> Tensor:
        return (self._high - self._low) / math.sqrt(12.0)

    def _entropy(self) -> Tensor:
        return m.log(self._high - self._low)


@export(v1="distributions.Laplace")
class Laplace(Distribution):
    """The Laplace distribution: exponential on both sides.

    Args:
        loc: The middle.
        scale: How far the sides reach.
        validate_args: See `Distribution`, as for the arguments that follow.
        allow_nan_stats: See there.
        name: See there.
    """

    def __init__(
        self,
        loc: ArrayLike,
        scale: ArrayLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Laplace",
    ) -> None:
        given = dict(locals())
        self._loc, self._scale = _tensors(loc, scale)
        super().__init__(self._loc.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, given, name=name)

    loc = property(lambda self: self._loc, doc="The middle.")
    scale = property(lambda self: self._scale, doc="How far the sides reach.")

    def _batch(self) -> list[Tensor]:
        return [self._loc, self._scale]

    def _sample_n(self, count: Tensor, seed: int | None) -> Tensor:
        kind = self._dtype.as_numpy_dtype
        least = np.nextafter(kind(-1.0), kind(0.0))
        drawn = uniform(self._shape_of_samples(count), float(least), 1.0, dtype=self._dtype, seed=seed)
        return self._loc - self._scale * m.sign(drawn) * m.log1p(-m.abs(drawn))

    def _z(self, x: Tensor) -> Tensor:
        return (x - self._loc) / self._scale

    def _log_prob(self, x: Tensor) -> Tensor:
        return -m.abs(self._z(x)) - (math.log(2.0) + m.log(self._scale))

    def _cdf(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return 0.5 + 0.5 * m.sign(z) * (1.0 - m.exp(-m.abs(z)))

    def _mean(self) -> Tensor:
        return self._loc + zeros_like(self._scale)

    _mode = _mean

    def _stddev(self) -> Tensor:
        return math.sqrt(2.0) * self._scale + zeros_like(self._loc)

    def _entropy(self) -> Tensor:
        return math.log(2.0) + 1.0 + m.log(self._scale + zeros_like(self._loc))


@export(v1="distributions.Gamma")
class Gamma(Distribution):
    """The gamma distribution.

    Args:
        concentration: How many exponential waits it sums, as it were.
        rate: The rate of these.
        validate_args: See `Distribution`, as for the arguments that follow.
        allow_nan_stats: See there.
        name: See there.
    """

    def __init__(
        self,
        concentration: ArrayLike,
        rate: ArrayLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:
        given = dict(locals())
        self._concentration, self._rate = _tensors(concentration, rate)
        super().__init__(
            self._concentration.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, given, name=name
        )

    concentration = property(lambda self: self._concentration, doc="How many waits it sums.")
    rate = property(lambda self: self._rate, doc="The rate of the waits.")

    def _batch(self) -> list[Tensor]:
        return [self._concentration, self._rate]

    def _sample_n(self, count: Tensor, seed: int | None) -> Tensor:
        return gamma(reshape(count, [1]), self._concentration, self._rate, self._dtype, seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        least = m.lgamma(self._concentration) - self._concentration * m.log(self._rate)
        return m.xlogy(self._concentration - 1.0, x) - self._rate * x - least

    def _cdf(self, x: Tensor) -> Tensor:
        return m.igamma(self._concentration + zeros_like(self._rate * x), self._rate * x)

    def _mean(self) -> Tensor:
        return self._concentration / self._rate

    def _variance(self) -> Tensor:
        return self._concentration / m.square(self._rate)

    def _stddev(self) -> Tensor:
        return m.sqrt(self._concentration) / self._rate

    def _mode(self) -> Tensor:
        mode = (self._concentration - 1.0) / self._rate
        return where(greater(self._concentration + zeros_like(mode), 1.0), mode, math.nan * ones_like(mode))

    def _entropy(self) -> Tensor:
        shape = self._concentration
        return shape - m.log(self._rate) + m.lgamma(shape) + (1.0 - shape) * m.digamma(shape)


@RegisterKL(Gamma, Gamma)
def _kl_of_gammas(a: Gamma, b: Gamma) -> Tensor:
    found: Tensor = (
        (a.concentration - b.concentration) * m.digamma(a.concentration)
        + m.lgamma(b.concentration)
        - m.lgamma(a.concentration)
        + b.concentration * m.log(a.rate)
        - b.concentration * m.log(b.rate)
        + a.concentration * (b.rate / a.rate - 1.0)
    )
    return found


@export(v1="distributions.Exponential")
class Exponential(Gamma):
    """The exponential distribution.

    Args:
        rate: The inverse of the mean.
        validate_args: See `Distribution`, as for the arguments that follow.
        allow_nan_stats: See there.
        name: See there.
    """

    def __init__(
        self, rate: ArrayLike, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Exponential"
    ) -> None:
        given = {"rate": rate, "validate_args": validate_args, "allow_nan_stats": allow_nan_stats, "name": name}
        (held,) = _tensors(rate)
        super().__init__(builds(ones_like)(held), held, validate_args, allow_nan_stats, name)
        self._parameters = given

    def _sample_n(self, count: Tensor, seed: int | None) -> Tensor:
        least = float(np.finfo(self._dtype.as_numpy_dtype).tiny)
        drawn = uniform(self._shape_of_samples(count), least, 1.0, dtype=self._dtype, seed=seed)
        return -m.log(drawn) / self._rate

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return -self._rate * x


@export(v1="distributions.Beta", differs="It has no cdf.")
class Beta(Distribution):
    """The beta distribution, of numbers between 0 and 1.

    Args:
        concentration1: What draws them to 1.
        concentration0: What draws them to 0.
        validate_args: See `Distribution`, as for the arguments that follow.
        allow_nan_stats: See there.
        name: See there.
    """

    def __init__(
        self,
        concentration1: ArrayLike | None = None,
        concentration0: ArrayLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        given = dict(locals())
        first = 1.0 if concentration1 is None else concentration1
        self._one, self._zero = _tensors(first, 1.0 if concentration0 is None else concentration0)
        super().__init__(self._one.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, given, name=name)

    concentration1 = property(lambda self: self._one, doc="What draws samples to 1.")
    concentration0 = property(lambda self: self._zero, doc="What draws samples to 0.")

    @property
    def total_concentration(self) -> Tensor:
        """The sum of both."""
        made: Tensor = builds(m.add)(self._one, self._zero)
        return made

    def _batch(self) -> list[Tensor]:
        return [self._one, self._zero]

    def _sample_n(self, count: Tensor, seed: int | None) -> Tensor:
        ones = ones_like(self._one + self._zero)
        size = reshape(count, [1])
        first = gamma(size, ones * self._one, dtype=self._dtype, seed=seed)
        second = gamma(size, ones * self._zero, dtype=self._dtype, seed=_next_seed(seed, "beta"))
        return first / (first + second)

    def _log_prob(self, x: Tensor) -> Tensor:
        return m.xlogy(self._one - 1.0, x) + (self._zero - 1.0) * m.log1p(-x) - self._least()

    def _least(self) -> Tensor:
        return m.lgamma(self._one) + m.lgamma(self._zero) - m.lgamma(self._one + self._zero)

    def _mean(self) -> Tensor:
        return self._one / (self._one + self._zero)

    def _variance(self) -> Tensor:
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self._one + self._zero)

    def _mode(self) -> Tensor:
        mode = (self._one - 1.0) / (self._one + self._zero - 2.0)
        is_known = logical_and(greater(self._one + zeros_like(mode), 1.0), greater(self._zero + zeros_like(mode), 1.0))
        return where(is_known, mode, math.nan * ones_like(mode))

    def _entropy(self) -> Tensor:
        total = self._one + self._zero
        parts = (self._one - 1.0) * m.digamma(self._one) + (self._zero - 1.0) * m.digamma(self._zero)
        return self._least() - parts + (total - 2.0) * m.digamma(total)


@RegisterKL(Beta, Beta)
def _kl_of_betas(a: Beta, b: Beta) -> Tensor:
    total_a, total_b = a.concentration1 + a.concentration0, b.concentration1 + b.concentration0
    found: Tensor = (
        b._least()
        - a._least()
        - m.digamma(a.concentration1) * (b.concentration1 - a.concentration1)
        - m.digamma(a.concentration0) * (b.concentration0 - a.concentration0)
        + m.digamma(total_a) * (total_b - total_a)
    )
    return found


def _next_seed(seed: int | None, salt: str) -> int | None:
    """Another seed, made from one as TensorFlow makes it."""
    if seed is None:
        return None
    digest = hashlib.md5(f"{seed}{salt}".encode(), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) & 0x7FFFFFFF


# Of vectors.


@export(v1="distributions.Dirichlet")
class Dirichlet(Distribution):
    """The Dirichlet distribution, of vectors of probabilities.

    Args:
        concentration: What draws samples to each corner: at least a vector.
        validate_args: See `Distribution`, as for the arguments that follow.
        allow_nan_stats: See there.
        name: See there.
    """

    def __init__(
        self,
        concentration: ArrayLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ) -> None:
        given = dict(locals())
        (self._concentration,) = _tensors(concentration)
        super().__init__(
            self._concentration.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, given, name=name
        )

    concentration = property(lambda self: self._concentration, doc="What draws samples to each corner.")

    @property
    def total_concentration(self) -> Tensor:
        """The sum over the corners."""
        made: Tensor = builds(reduce_sum)(self._concentration, -1)
        return made

    def _batch(self) -> list[Tensor]:
        return [self.total_concentration]

    def _event(self) -> Tensor:
        return self._concentration

    def _sample_n(self, count: Tensor, seed: int | None) -> Tensor:
        drawn = gamma(reshape(count, [1]), self._concentration, dtype=self._dtype, seed=seed)
        return drawn / reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, x: Tensor) -> Tensor:
        return reduce_sum(m.xlogy(self._concentration - 1.0, x), -1) - lbeta(self._concentration)

    def _mean(self) -> Tensor:
        return self._concentration / reduce_sum(self._concentration, -1, keepdims=True)

    def _variance(self) -> Tensor:
        mean, total = self._mean(), reduce_sum(self._concentration, -1, keepdims=True)
        return mean * (1.0 - mean) / (1.0 + total)

    def _mode(self) -> Tensor:
        count = cast(self.event_shape_tensor()[0], self._dtype)
        mode = (self._concentration - 1.0) / (reduce_sum(self._concentration, -1, keepdims=True) - count)
        return where(greater(self._concentration, 1.0), mode, math.nan * ones_like(mode))

    def _entropy(self) -> Tensor:
        count, total = cast(self.event_shape_tensor()[0], self._dtype), self.total_concentration
        parts = reduce_sum((self._concentration - 1.0) * m.digamma(self._concentration), -1)
        return lbeta(self._concentration) + (total - count) * m.digamma(total) - parts


@RegisterKL(Dirichlet, Dirichlet)
def _kl_of_dirichlets(a: Dirichlet, b: Dirichlet) -> Tensor:
    whole = m.digamma(reduce_sum(a.concentration, -1, keepdims=True))
    apart = (a.concentration - b.concentration) * (m.digamma(a.concentration) - whole)
    return reduce_sum(apart, -1) - lbeta(a.concentration) + lbeta(b.concentration)


# Of events.


def _one_of(logits: Any, probs: Any) -> None:
    if (logits is None) == (probs is None):
        raise ArgumentError("Must pass probs or logits, but not both.")


@export(v1="distributions.Bernoulli")
class Bernoulli(Distribution):
    """A coin, which need not be fair.

    Args:
        logits: The logarithm of the odds for 1.
        probs: The probability of 1, in its place.
        dtype: The dtype of samples.
        validate_args: See `Distribution`, as for the arguments that follow.
        allow_nan_stats: See there.
        name: See there.
    """

    def __init__(
        self,
        logits: ArrayLike | None = None,
        probs: ArrayLike | None = None,
        dtype: DTypeLike = dt.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        given = dict(locals())
        _one_of(logits, probs)
        if logits is not None:
            (self._logits,) = _tensors(logits)
            self._probs = builds(m.sigmoid)(self._logits)
        else:
            assert probs is not None, "one of them is given"
            (self._probs,) = _tensors(probs)
            self._logits = builds(lambda p: m.log(p) - m.log1p(-p))(self._probs)
        super().__init__(dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, given, name=name)

    logits = property(lambda self: self._logits, doc="The logarithm of the odds for 1.")
    probs = property(lambda self: self._probs, doc="The probability of 1.")

    def _batch(self) -> list[Tensor]:
        return [self._logits]

    def _sample_n(self, count: Tensor, seed: int | None) -> Tensor:
        drawn = uniform(self._shape_of_samples(count), dtype=self._probs.dtype, seed=seed)
        return cast(less(drawn, self._probs), self._dtype)

    def _log_prob(self, x: Tensor) -> Tensor:
        event = cast(x, self._logits.dtype)
        zeros = zeros_like(event + self._logits)
        return -sigmoid_cross_entropy_with_logits(labels=event + zeros, logits=self._logits + zeros)

    def _mean(self) -> Tensor:
        found: Tensor = self._probs
        return found

    def _variance(self) -> Tensor:
        found: Tensor = self._probs * (1.0 - self._probs)
        return found

    def _mode(self) -> Tensor:
        return cast(greater(self._probs, 0.5), self._dtype)

    def _entropy(self) -> Tensor:
        return -self._logits * (m.sigmoid(self._logits) - 1.0) + softplus(-self._logits)


@RegisterKL(Bernoulli, Bernoulli)
def _kl_of_bernoullis(a: Bernoulli, b: Bernoulli) -> Tensor:
    zero = softplus(b.logits) - softplus(a.logits)
    one = softplus(-b.logits) - softplus(-a.logits)
    return m.sigmoid(a.logits) * one + m.sigmoid(-a.logits) * zero


@export(v1="distributions.Categorical")
class Categorical(Distribution):
    """One of several classes.

    Args:
        logits: Logarithms of what the probabilities are in proportion to, one for each class.
        probs: What they are in proportion to, in its place.
        dtype: The dtype of samples.
        validate_args: See `Distribution`, as for the arguments that follow.
        allow_nan_stats: See there.
        name: See there.
    """

    def __init__(
        self,
        logits: ArrayLike | None = None,
        probs: ArrayLike | None = None,
        dtype: DTypeLike = dt.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        given = dict(locals())
        _one_of(logits, probs)
        if logits is not None:
            (self._logits,) = _tensors(logits)
            self._probs = builds(softmax)(self._logits)
        else:
            assert probs is not None, "one of them is given"
            (self._probs,) = _tensors(probs)
            self._logits = builds(m.log)(self._probs)
        super().__init__(dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, given, name=name)

    logits = property(lambda self: self._logits, doc="Logarithms of what the probabilities are in proportion to.")
    probs = property(lambda self: self._probs, doc="The probabilities.")

    @property
    def event_size(self) -> Tensor:
        """How many classes there are."""
        made: Tensor = builds(lambda logits: shape_of(logits)[-1])(self._logits)
        return made

    @property
    def batch_shape(self) -> TensorShape:
        """How many distributions this is, as far as it is known."""
        return TensorShape(self._logits.shape)[:-1]

    @builds
    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """`batch_shape` as a tensor."""
        return shape_of(self._logits)[:-1]

    def _sample_n(self, count: Tensor, seed: int | None) -> Tensor:
        rows = reshape(self._logits, concat([[-1], shape_of(self._logits)[-1:]], 0))
        drawn = transpose(cast(multinomial(rows, count, seed), self._dtype))
        return reshape(drawn, self._shape_of_samples(count))

    def _log_prob(self, k: Tensor) -> Tensor:
        chosen = cast(k, dt.int32) if not k.dtype.is_integer else k
        both = broadcast_dynamic_shape(shape_of(chosen), shape_of(self._logits)[:-1])
        logits = broadcast_to(self._logits, concat([both, shape_of(self._logits)[-1:]], 0))
        return -sparse_softmax_cross_entropy_with_logits(labels=broadcast_to(chosen, both), logits=logits)

    def _cdf(self, k: Tensor) -> Tensor:
        classes = range_(shape_of(self._logits)[-1])
        before = less(classes, cast(k, dt.int32)[..., None])
        return reduce_sum(where(before, self._probs, zeros_like(self._probs)), -1)

    def _mode(self) -> Tensor:
        return cast(argmax(self._logits, -1), self._dtype)

    def _entropy(self) -> Tensor:
        values = log_softmax(self._logits)
        return -reduce_sum(m.exp(values) * values, -1)


@RegisterKL(Categorical, Categorical)
def _kl_of_categoricals(a: Categorical, b: Categorical) -> Tensor:
    return reduce_sum(softmax(a.logits) * (log_softmax(a.logits) - log_softmax(b.logits)), -1)
