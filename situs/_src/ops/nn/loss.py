"""Losses: how far predictions are from labels.

Every loss is one op with a formula that neither overflows nor cancels. The cross entropies of
16-bit logits are computed in float32.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional

from situs._src.base.dtype import BOOL, FLOATING, INDEX, REAL
from situs._src.base.errors import ArgumentError, CallError
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, UNKNOWN, TensorShape, brackets, broadcast, normalize_axis
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, SizesOf
from situs._src.ir.registry.traits import FRESH
from situs._src.ops.array import expand_dims, reshape, sizes_of, stop_gradient
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_bool, as_int
from situs._src.ops.cast import cast
from situs._src.ops.compare import greater_equal, less_equal, logical_and
from situs._src.ops.constant import convert_to_tensor, ones_like, zeros_like
from situs._src.ops.define import CPU, GPU, compiled_as, op
from situs._src.ops.gather import where
from situs._src.ops.join import concat
from situs._src.ops.math import add, divide, exp, log, multiply, negative, sigmoid, subtract
from situs._src.ops.naming import Composed
from situs._src.ops.nn.activation import log_softmax, softplus
from situs._src.ops.nn.loss_gradient import (
    computed_in,
    softmax_cross_entropy_grad,
    softmax_dtype,
    sparse_cross_entropy_grad,
)
from situs._src.ops.positions import any_outside
from situs._src.ops.spelling import renamed
from situs._src.ops.sum_to import sum_to

# One distribution over exclusive classes for every row.

_softmax_cross_entropy = op(
    "SoftmaxCrossEntropyWithLogits",
    "features: T, labels: L -> loss: T",
    traits={FRESH},
    T=FLOATING,
    L=REAL | BOOL,
    axis=-1,
)


@_softmax_cross_entropy.shape
def _softmax_cross_entropy_shape(features: TensorShape, labels: TensorShape, *, axis: int) -> TensorShape:
    if features.rank is None:
        return UNKNOWN
    if features.rank == 0:
        raise ArgumentError("logits must have at least one dimension, for the classes; got a scalar")
    axis = normalize_axis(axis, features.rank)
    rows = features[:axis] + features[axis + 1 :]
    if not _labels_fit(features, labels, axis):
        raise ArgumentError(
            f"logits and labels must be broadcastable: logits_size={brackets(features)} labels_size={brackets(labels)}"
        )
    return rows


def _labels_fit(features: TensorShape, labels: TensorShape, axis: int) -> bool:
    """Whether labels are there for every row, or one row of them for all."""
    if labels.rank is None:
        return True
    if labels.rank > len(features) or labels.rank == 0:
        return False
    dims = [1] * (len(features) - labels.rank) + labels.as_list()
    classes, rows = dims.pop(axis), TensorShape(dims)
    same_rows = rows.is_compatible_with(features[:axis] + features[axis + 1 :])
    same_classes = classes in (1, None) or features[axis] in (None, classes)
    return same_classes and (same_rows or all(dim in (1, None) for dim in dims))


@_softmax_cross_entropy.kernel(CPU, GPU)
def _softmax_cross_entropy_kernel(features: torch.Tensor, labels: torch.Tensor, *, axis: int) -> torch.Tensor:
    if features.shape != labels.shape or features.ndim == 0:
        _softmax_cross_entropy_shape(TensorShape(features.shape), TensorShape(labels.shape), axis=axis)
    wide = computed_in(features.dtype)
    products = torch.log_softmax(features, axis, dtype=wide) * labels.to(wide)
    return _negative(products.sum(axis)).to(features.dtype)


def _negative(x: torch.Tensor) -> torch.Tensor:
    return torch.rsub(x, 0)  # unlike -x this makes no negative zeros, which look odd in a loss


@_softmax_cross_entropy.gradient
def _softmax_cross_entropy_gradient(
    grad: Tensor, features: Tensor, labels: Tensor, labels_shape: SizesOf, *, axis: int
) -> tuple[Any, Any]:
    def of_labels() -> Tensor:
        made = negative(multiply(expand_dims(grad, axis), log_softmax(features, axis)))
        return sum_to(cast(made, labels.dtype), labels_shape)

    return lambda: softmax_cross_entropy_grad(grad, features, labels, axis), of_labels


@export("nn.softmax_cross_entropy_with_logits", v1=())
def softmax_cross_entropy_with_logits(
    labels: ArrayLike, logits: ArrayLike, axis: int = -1, name: str | None = None
) -> Tensor:
    """Computes the cross entropy between label distributions and the softmax of logits.

    Args:
        labels: A probability for every class; rows should sum to one. They are cast to the dtype of `logits`.
        logits: Unscaled log probabilities, in the same shape.
        axis: The dimension that runs over the classes.
        name: A name for the op.

    Returns:
        A loss for every row: the shape of `logits` without `axis`.
    """
    with Composed(name, "softmax_cross_entropy_with_logits", "Reshape_2") as last:
        return _by_rows(logits, labels, as_int(axis, "axis"), last)


def _by_rows(logits: Any, labels: Any, axis: int, name: str | None) -> Tensor:
    """The cross entropy; labels of a higher rank than the logits are taken row by row, as TensorFlow takes all."""
    scores, wanted = convert_to_tensor(logits), convert_to_tensor(labels)
    rank, rank_of_labels = scores.shape.rank, wanted.shape.rank
    if rank is None or rank_of_labels is None or rank_of_labels <= rank or axis not in (-1, rank - 1):
        return _softmax_cross_entropy(scores, wanted, axis=axis, name=name)
    flat = [reshape(each, concat([[-1], shape_of(each)[-1:]], 0)) for each in (scores, wanted)]
    return reshape(_softmax_cross_entropy(*flat, axis=-1), sizes_of(scores)[:-1], name=name)


_sparse_cross_entropy = op(
    "SparseSoftmaxCrossEntropyWithLogits",
    "features: T, labels: Tlabels -> loss: T",
    traits={FRESH},
    T=FLOATING,
    Tlabels=INDEX,
)


@_sparse_cross_entropy.shape
def _sparse_cross_entropy_shape(features: TensorShape, labels: TensorShape) -> TensorShape:
    if features.rank is None:
        return labels
    if features.rank == 0:
        raise ArgumentError("`logits` cannot be a scalar.")
    if labels.rank is not None and labels.rank != features.rank - 1:
        raise CallError(
            f"`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: labels.shape={labels} of rank "
            f"{labels.rank} and logits.shape={features} of rank {features.rank}"
        )
    if not labels.is_compatible_with(features[:-1]):
        raise ArgumentError(
            f"`labels.shape` must equal `logits.shape` except for the last dimension. Received: labels.shape={labels} "
            f"and logits.shape={features}"
        )
    if features[-1] == 0:
        raise ArgumentError(f"Must have at least one class, but got logits shape {brackets(features)}")
    return labels.merge_with(features[:-1])


@_sparse_cross_entropy.kernel(CPU)
def _sparse_cross_entropy_on_cpu(features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    _check_rows(features, labels)
    try:
        return _picked(features, labels)
    except (IndexError, RuntimeError):
        _check_labels(labels, features.shape[-1])
        raise


@_sparse_cross_entropy.kernel(GPU)
def _sparse_cross_entropy_on_gpu(features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    # Looking at the labels would wait for the device; a label out of range gives NaN, as in TensorFlow.
    _check_rows(features, labels)
    known = labels.clamp(0, features.shape[-1] - 1)
    return _picked(features, known).where(known == labels, torch.nan)


compiled_as(
    _sparse_cross_entropy_on_cpu,
    _sparse_cross_entropy_on_gpu,
    lambda features, labels: any_outside(labels, features.shape[-1]),
)
compiled_as(_sparse_cross_entropy_on_gpu, _sparse_cross_entropy_on_gpu)


def _check_rows(features: torch.Tensor, labels: torch.Tensor) -> None:
    if features.ndim == 0 or features.shape[:-1] != labels.shape or features.shape[-1] == 0:
        raise ValueError("shapes do not fit")  # the shape rule says it better


def _picked(features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    scores = torch.log_softmax(features, -1, dtype=softmax_dtype(features))
    return _negative(scores.gather(-1, labels.long().unsqueeze(-1)).squeeze(-1)).to(features.dtype)


@_sparse_cross_entropy.gradient
def _sparse_cross_entropy_gradient(grad: Tensor, features: Tensor, labels: Tensor) -> tuple[Any, None]:
    return lambda: sparse_cross_entropy_grad(grad, features, labels), None


def _check_labels(labels: torch.Tensor, classes: int) -> None:
    wrong = labels[(labels < 0) | (labels >= classes)]
    if wrong.numel():
        some = " ".join(str(label) for label in labels.flatten()[:20].tolist())
        raise ArgumentError(
            f"Received a label value of {wrong[0].item()} which is outside the valid range of [0, {classes}).  "
            f"Label values: {some}{' ...' if labels.numel() > 20 else ''}"
        )


@export("nn.sparse_softmax_cross_entropy_with_logits", v1=())
def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any, name: str | None = None) -> Tensor:
    """Computes the cross entropy between class numbers and the softmax of logits.

    Args:
        labels: The number of the right class for every row, int32 or int64.
        logits: Unscaled log probabilities; the last dimension runs over the classes.
        name: A name for the op.

    Raises:
        InvalidArgumentError: a label is not a class, on the CPU; on a GPU its loss is NaN.
    """
    with Composed(name, "SparseSoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits") as last:
        return _sparse_cross_entropy(logits, labels, name=last)


# Classes that do not exclude each other.

_sigmoid_cross_entropy = op(
    "SigmoidCrossEntropyWithLogits", "logits: T, labels: T -> loss: T", traits={FRESH}, T=FLOATING
)


@_sigmoid_cross_entropy.shape
def _same_shapes(logits: TensorShape, labels: TensorShape) -> TensorShape:
    if not labels.is_compatible_with(logits):
        raise CallError(f"`logits` and `labels` must have the same shape, received ({logits} vs {labels}).")
    return labels.merge_with(logits)


@_sigmoid_cross_entropy.kernel(CPU, GPU)
def _sigmoid_cross_entropy_kernel(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    _check_same(labels, logits)
    return torch.relu(logits).addcmul_(logits, labels, value=-1).add_(_log1p_exp_minus_abs(logits))


@_sigmoid_cross_entropy.gradient
def _sigmoid_cross_entropy_gradient(grad: Tensor, logits: Tensor, labels: Tensor) -> tuple[Any, Any]:
    return (
        lambda: multiply(grad, subtract(sigmoid(logits), labels)),
        lambda: negative(multiply(grad, logits)),
    )


def _log1p_exp_minus_abs(x: torch.Tensor) -> torch.Tensor:
    return functional.softplus(x.abs().neg_())


def _check_same(labels: torch.Tensor, logits: torch.Tensor) -> None:
    if labels.shape != logits.shape:
        raise ValueError("shapes differ")  # PyTorch would broadcast; the shape rule says why we do not


@export("nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(
    labels: ArrayLike | None = None, logits: ArrayLike | None = None, name: str | None = "logistic_loss"
) -> Tensor:
    """Computes the cross entropy of independent yes-or-no predictions, element-wise.

    Args:
        labels: Probabilities, of the dtype and shape of `logits`.
        logits: Unscaled log odds.
        name: A name for the op.
    """
    _both_given("sigmoid_cross_entropy_with_logits", labels, logits)
    return _sigmoid_cross_entropy(logits, labels, name=name)


_weighted_cross_entropy = op(
    "WeightedCrossEntropyWithLogits", "logits: T, labels: T, pos_weight: T -> loss: T", traits={FRESH}, T=FLOATING
)


@_weighted_cross_entropy.shape
def _weighted_shape(logits: TensorShape, labels: TensorShape, pos_weight: TensorShape) -> TensorShape:
    return broadcast(_same_shapes(logits, labels), pos_weight)


@_weighted_cross_entropy.kernel(CPU, GPU)
def _weighted_cross_entropy_kernel(
    logits: torch.Tensor, labels: torch.Tensor, pos_weight: torch.Tensor
) -> torch.Tensor:
    _check_same(labels, logits)
    weight = 1 + (pos_weight - 1) * labels
    return (1 - labels) * logits + weight * (_log1p_exp_minus_abs(logits) + torch.relu(-logits))


@_weighted_cross_entropy.gradient
def _weighted_cross_entropy_gradient(
    grad: Tensor, logits: Tensor, labels: Tensor, pos_weight: Tensor, logits_shape: SizesOf, pos_weight_shape: SizesOf
) -> tuple[Any, Any, Any]:
    def of_logits() -> Tensor:
        weight = add(multiply(subtract(pos_weight, 1), labels), 1)
        slope = subtract(subtract(1, labels), multiply(weight, sigmoid(negative(logits))))
        return sum_to(multiply(grad, slope), logits_shape)

    def of_labels() -> Tensor:
        slope = subtract(multiply(subtract(pos_weight, 1), softplus(negative(logits))), logits)
        return sum_to(multiply(grad, slope), logits_shape)

    def of_weight() -> Tensor:
        return sum_to(multiply(grad, multiply(labels, softplus(negative(logits)))), pos_weight_shape)

    return of_logits, of_labels, of_weight


@export(
    "nn.weighted_cross_entropy_with_logits",
    v1=(),
    differs="The gradient at 0 is the derivative; TensorFlow gives 0.",
)
def weighted_cross_entropy_with_logits(
    labels: ArrayLike, logits: Any, pos_weight: Any, name: str | None = "logistic_loss"
) -> Tensor:
    """Computes the cross entropy of yes-or-no predictions, with a factor for the positive labels.

    Args:
        labels: Probabilities, of the dtype and shape of `logits`.
        logits: Unscaled log odds.
        pos_weight: The factor; it broadcasts.
        name: A name for the op.
    """
    _both_given("weighted_cross_entropy_with_logits", labels, logits)
    return _weighted_cross_entropy(logits, labels, pos_weight, name=name)


# Sums of squares, and counts.

_l2_loss = op("L2Loss", "t: T -> output: T", traits={FRESH}, T=FLOATING)


@_l2_loss.shape
def _l2_loss_shape(t: TensorShape) -> TensorShape:
    return SCALAR


@_l2_loss.kernel(CPU, GPU)
def _l2_loss_kernel(t: torch.Tensor) -> torch.Tensor:
    return (t.square().sum(dtype=computed_in(t.dtype)) / 2).to(t.dtype)


_l2_loss.gradient(lambda grad, t: multiply(t, grad))


@export("nn.l2_loss")
def l2_loss(t: ArrayLike, name: str | None = None) -> Tensor:
    """Returns half of the sum of the squares of all elements."""
    return _l2_loss(t, name=name)


_log_poisson_loss = op(
    "LogPoissonLoss", "log_input: T, targets: T -> loss: T", traits={FRESH}, T=FLOATING, compute_full_loss=False
)


@_log_poisson_loss.shape
def _log_poisson_shape(log_input: TensorShape, targets: TensorShape, *, compute_full_loss: bool) -> TensorShape:
    if not targets.is_compatible_with(log_input):
        raise CallError(f"`log_input` and `targets` must have the same shape, received ({log_input} vs {targets}).")
    return targets.merge_with(log_input)


@_log_poisson_loss.kernel(CPU, GPU)
def _log_poisson_kernel(log_input: torch.Tensor, targets: torch.Tensor, *, compute_full_loss: bool) -> torch.Tensor:
    _check_same(targets, log_input)
    loss = torch.exp(log_input).addcmul_(log_input, targets, value=-1)
    if compute_full_loss:
        stirling = targets * targets.log() - targets + 0.5 * (2 * math.pi * targets).log()
        loss += stirling.masked_fill_((targets >= 0) & (targets <= 1), 0)
    return loss


@_log_poisson_loss.gradient
def _log_poisson_gradient(
    grad: Tensor, log_input: Tensor, targets: Tensor, *, compute_full_loss: bool
) -> tuple[Any, Any]:
    def of_targets() -> Tensor:
        slope = negative(log_input)
        if compute_full_loss:
            small = logical_and(greater_equal(targets, 0), less_equal(targets, 1))
            counts = where(small, ones_like(targets), targets)  # whatever the formula makes of small ones, it is unused
            stirling = add(log(counts), divide(0.5, counts))
            slope = add(slope, where(small, zeros_like(stirling), stirling))
        return multiply(grad, slope)

    return lambda: multiply(grad, subtract(exp(log_input), targets)), of_targets


@export("nn.log_poisson_loss")
def log_poisson_loss(
    targets: ArrayLike, log_input: ArrayLike, compute_full_loss: bool = False, name: str | None = "log_poisson_loss"
) -> Tensor:
    """Computes the negative log likelihood of counts under Poisson distributions, element-wise.

    Args:
        targets: The counts.
        log_input: The logarithms of the expected counts, of the same dtype and shape.
        compute_full_loss: Whether to add the term that does not depend on `log_input`, by Stirling's formula.
        name: A name for the op.
    """
    return _log_poisson_loss(
        log_input, targets, compute_full_loss=as_bool(compute_full_loss, "compute_full_loss"), name=name
    )


# As TensorFlow 1 spells it.


@export(v1="nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits_v1(
    labels: Any = None, logits: ArrayLike | None = None, dim: int = -1, name: str | None = None, axis: int | None = None
) -> Tensor:
    """Computes the cross entropy between label distributions and logits; nothing flows back to the labels.

    TensorFlow 1 also calls the axis `dim`.
    """
    _both_given("softmax_cross_entropy_with_logits", labels, logits)
    axis = dim if axis is None else axis
    with Composed(name, "softmax_cross_entropy_with_logits_sg", "Reshape_2") as last:
        constant = stop_gradient(labels, "labels_stop_gradient")
        return _by_rows(logits, constant, as_int(axis, "axis"), last)


@export(v1="nn.softmax_cross_entropy_with_logits_v2")
def softmax_cross_entropy_with_logits_v2(
    labels: ArrayLike, logits: ArrayLike, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """Computes the cross entropy between label distributions and logits, under the name of TensorFlow 1.5 to 1.15."""
    axis = renamed("axis", axis, "dim", dim)
    return softmax_cross_entropy_with_logits(labels, logits, -1 if axis is None else axis, name)


@export(v1="nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits_v1(
    labels: ArrayLike | None = None, logits: ArrayLike | None = None, name: str | None = None
) -> Tensor:
    """Computes the cross entropy between class numbers and logits, with TensorFlow 1's arguments."""
    _both_given("sparse_softmax_cross_entropy_with_logits", labels, logits)
    return sparse_softmax_cross_entropy_with_logits(labels, logits, name)


@export(v1="nn.weighted_cross_entropy_with_logits")
def weighted_cross_entropy_with_logits_v1(
    labels: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    pos_weight: ArrayLike | None = None,
    name: str | None = "logistic_loss",
    targets: ArrayLike | None = None,
) -> Tensor:
    """Computes the weighted cross entropy of predictions; TensorFlow 1 also calls the labels `targets`."""
    return weighted_cross_entropy_with_logits(renamed("labels", labels, "targets", targets), logits, pos_weight, name)


def _both_given(function: str, labels: Any, logits: Any) -> None:
    if labels is None or logits is None:
        missing = "labels" if labels is None else "logits"
        raise ArgumentError(f"Both `labels` and `logits` must be provided for {function}; `{missing}` is missing.")
