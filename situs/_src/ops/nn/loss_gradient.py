"""Gradients of the cross entropies, as ops of their own.

For logits ``x`` and labels ``y`` it is ``softmax(x) - y``, times the gradient of each row's loss. As in TensorFlow the
labels of a row are taken to sum to one, whether they do or not. For 16-bit logits the arithmetic is float32's.
"""

from __future__ import annotations

from typing import Any

import torch

from situs._src.base.dtype import BOOL, FLOATING, INDEX, REAL
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.typing import SizesOf
from situs._src.ops.array import expand_dims
from situs._src.ops.cast import cast
from situs._src.ops.constant import ones_like
from situs._src.ops.define import CPU, GPU, compiled_as, op
from situs._src.ops.math import multiply, negative, subtract
from situs._src.ops.nn.activation import softmax
from situs._src.ops.nn.activation_gradient import softmax_grad
from situs._src.ops.positions import any_outside
from situs._src.ops.reduce import reduce_sum
from situs._src.ops.sum_to import sum_to


def computed_in(dtype: torch.dtype) -> torch.dtype:
    """The dtype that a loss of logits of this dtype is computed in."""
    return torch.float32 if dtype.itemsize == 2 else dtype


def softmax_dtype(features: torch.Tensor) -> torch.dtype:
    """The dtype to ask for where a result of softmax needs no more precision than the logits have.

    A GPU computes it in float32 inside and rounds the result; the CPU rounds on the way. Of 8 x 512 rows of 50,257
    16-bit logits, float32 in memory costs a GPU 3 ms.
    """
    return features.dtype if features.is_cuda else computed_in(features.dtype)


# Labels that are distributions.

_softmax_cross_entropy_grad = op(
    "SoftmaxCrossEntropyGrad",
    "gradients: T, features: T, labels: L -> backprop: T",
    T=FLOATING,
    L=REAL | BOOL,
    axis=-1,
)


@_softmax_cross_entropy_grad.shape
def _grad_shape(gradients: TensorShape, features: TensorShape, labels: TensorShape, **attrs: Any) -> TensorShape:
    return features


@_softmax_cross_entropy_grad.kernel(CPU, GPU)
def _softmax_cross_entropy_grad_kernel(
    gradients: torch.Tensor, features: torch.Tensor, labels: torch.Tensor, *, axis: int
) -> torch.Tensor:
    wide = computed_in(features.dtype)
    difference = torch.softmax(features, axis, dtype=wide).sub_(labels.to(wide))
    return difference.mul_(gradients.unsqueeze(axis)).to(features.dtype)


def softmax_cross_entropy_grad(gradients: Tensor, features: Tensor, labels: Tensor, axis: int) -> Tensor:
    """The gradient of logits."""
    return _softmax_cross_entropy_grad(gradients, features, labels, axis=axis)


@_softmax_cross_entropy_grad.gradient
def _softmax_cross_entropy_grad_gradient(
    grad: Tensor, gradients: Tensor, features: Tensor, labels: Tensor, labels_shape: SizesOf, *, axis: int
) -> tuple[Any, Any, Any]:
    def of_gradients() -> Tensor:
        difference = subtract(softmax(features, axis), cast(labels, features.dtype))
        return reduce_sum(multiply(grad, difference), axis)

    def of_labels() -> Tensor:
        return sum_to(cast(negative(weighted()), labels.dtype), labels_shape)

    def weighted() -> Tensor:
        return multiply(grad, expand_dims(gradients, axis))

    return of_gradients, lambda: softmax_grad(weighted(), softmax(features, axis), axis), of_labels


# Labels that are class numbers.

_sparse_cross_entropy_grad = op(
    "SparseSoftmaxCrossEntropyGrad",
    "gradients: T, features: T, labels: Tlabels -> backprop: T",
    T=FLOATING,
    Tlabels=INDEX,
)
_sparse_cross_entropy_grad.shape(_grad_shape)


@_sparse_cross_entropy_grad.kernel(CPU)
def _sparse_grad_on_cpu(gradients: torch.Tensor, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return _at_labels(gradients, features, labels)  # the loss has looked at the labels


@_sparse_cross_entropy_grad.kernel(GPU)
def _sparse_grad_on_gpu(gradients: torch.Tensor, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    # A label out of range makes its row NaN, as it does with the loss.
    known = labels.clamp(0, features.shape[-1] - 1)
    return _at_labels(gradients.where(known == labels, torch.nan), features, known)


compiled_as(
    _sparse_grad_on_cpu,
    _sparse_grad_on_gpu,
    lambda gradients, features, labels: any_outside(labels, features.shape[-1]),
)
compiled_as(_sparse_grad_on_gpu, _sparse_grad_on_gpu)


def _at_labels(gradients: torch.Tensor, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    difference = torch.softmax(features, -1, dtype=softmax_dtype(features))
    difference.scatter_(-1, labels.long().unsqueeze(-1), -1, reduce="add")
    return difference.mul_(gradients.unsqueeze(-1)).to(features.dtype)


def sparse_cross_entropy_grad(gradients: Tensor, features: Tensor, labels: Tensor) -> Tensor:
    """The gradient of logits whose labels are class numbers."""
    return _sparse_cross_entropy_grad(gradients, features, labels)


@_sparse_cross_entropy_grad.gradient
def _sparse_cross_entropy_grad_gradient(
    grad: Tensor, gradients: Tensor, features: Tensor, labels: Tensor
) -> tuple[Any, Any, None]:
    def of_gradients() -> Tensor:
        difference = sparse_cross_entropy_grad(ones_like(gradients), features, labels)
        return reduce_sum(multiply(grad, difference), -1)

    def of_features() -> Tensor:
        return softmax_grad(multiply(grad, expand_dims(gradients, -1)), softmax(features), -1)

    return of_gradients, of_features, None
