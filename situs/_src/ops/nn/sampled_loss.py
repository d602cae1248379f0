"""Losses over samples of many classes.

    nce_loss                    is it this class, or one of the sample? with the sigmoid
    sampled_softmax_loss        which one of the true classes and the sample? with the softmax

Both make up for how often a class was to be expected in the sample (`ops.nn.candidates`). They are for training:
to evaluate, take all classes.
"""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ops.array import reshape, stop_gradient
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_int
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal
from situs._src.ops.constant import convert_to_tensor, ones_like, zeros_like
from situs._src.ops.gather import where
from situs._src.ops.join import concat, split
from situs._src.ops.linalg import matmul
from situs._src.ops.math import log, multiply
from situs._src.ops.naming import Composed
from situs._src.ops.nn.candidates import log_uniform_candidate_sampler
from situs._src.ops.nn.embedding import embedding_lookup_v1
from situs._src.ops.nn.loss import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits
from situs._src.ops.reduce import reduce_any, reduce_sum
from situs._src.ops.seeds import known_seeds


@export("nn.nce_loss", v1=())
def nce_loss(
    weights: ArrayLike,
    biases: ArrayLike,
    labels: ArrayLike,
    inputs: ArrayLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: ArrayLike | None = None,
    remove_accidental_hits: bool = False,
    name: str = "nce_loss",
) -> Tensor:
    """The noise-contrastive loss of each example.

    Args:
        weights: A row for each class: classes x size; or a list of shards of it.
        biases: A number for each class.
        labels: The true classes: batch x `num_true`.
        inputs: batch x size.
        num_sampled: How many classes to draw for the batch.
        num_classes: The number of classes.
        num_true: The number of true classes of an example.
        sampled_values: What a sampler gave; by default that of `log_uniform_candidate_sampler`.
        remove_accidental_hits: Whether classes of the sample do not count for examples whose true ones they are.
        name: A name for the ops.
    """
    return nce_loss_v1(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, remove_accidental_hits,
        "div", name,
    )  # fmt: skip


@export(v1="nn.nce_loss")
def nce_loss_v1(
    weights: ArrayLike,
    biases: ArrayLike,
    labels: ArrayLike,
    inputs: ArrayLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: ArrayLike | None = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:
    """`nce_loss`, where shards of weights may hold every n-th row: ``partition_strategy="mod"``."""
    with Composed(name, "nce_loss"):
        sample = _Sample(num_sampled, num_classes, num_true, sampled_values, None)
        logits, targets = sample.logits(weights, biases, labels, inputs, remove_accidental_hits, partition_strategy)
        return reduce_sum(sigmoid_cross_entropy_with_logits(labels=targets, logits=logits), 1)


@export("nn.sampled_softmax_loss", v1=())
def sampled_softmax_loss(
    weights: ArrayLike,
    biases: ArrayLike,
    labels: ArrayLike,
    inputs: ArrayLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: ArrayLike | None = None,
    remove_accidental_hits: bool = True,
    seed: int | None = None,
    name: str = "sampled_softmax_loss",
) -> Tensor:
    """The cross-entropy of each example over its true classes and a sample; for the arguments see `nce_loss`."""
    return sampled_softmax_loss_v1(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, remove_accidental_hits,
        "div", name, seed,
    )  # fmt: skip


@export(v1="nn.sampled_softmax_loss")
def sampled_softmax_loss_v1(
    weights: ArrayLike,
    biases: ArrayLike,
    labels: ArrayLike,
    inputs: ArrayLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: ArrayLike | None = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """`sampled_softmax_loss`, where shards of weights may hold every n-th row: ``partition_strategy="mod"``."""
    with Composed(name, "sampled_softmax_loss"):
        sample = _Sample(num_sampled, num_classes, num_true, sampled_values, seed)
        logits, targets = sample.logits(weights, biases, labels, inputs, remove_accidental_hits, partition_strategy)
        return softmax_cross_entropy_with_logits(labels=stop_gradient(targets), logits=logits)


class _Sample:
    """A sample of classes, drawn or given; the arguments are those of `nce_loss`."""

    def __init__(self, count: Any, classes: Any, num_true: Any, given: Any, seed: int | None) -> None:
        self.count = as_int(count, "num_sampled")
        self.classes = as_int(classes, "num_classes")
        self.num_true = as_int(num_true, "num_true")
        self.given = given
        self.seed = seed

    def logits(
        self,
        weights: ArrayLike,
        biases: ArrayLike,
        labels: ArrayLike,
        inputs: ArrayLike,
        removes_hits: bool,
        strategy: str,
    ) -> tuple[Tensor, Tensor]:
        """The logits of the true classes and of the sample, and the targets for them."""
        x = convert_to_tensor(inputs)
        true = cast(convert_to_tensor(labels), dt.int64)
        if true.shape.rank == 1 and self.num_true == 1:
            true = true[:, None]
        if true.shape.rank not in (2, None) or not true.shape.is_compatible_with([None, self.num_true]):
            raise ArgumentError(f"labels must be a matrix of num_true={self.num_true} columns, got {true.shape}.")
        sample, of_true, of_sample = self._drawn(true)
        ids = concat([reshape(true, [-1]), sample], 0)
        parts = [shape_of(reshape(true, [-1]))[0], shape_of(sample)[0]]
        true_w, sample_w = split(cast(embedding_lookup_v1(weights, ids, strategy), x.dtype), parts, axis=0)
        true_b, sample_b = split(cast(embedding_lookup_v1(biases, ids, strategy), x.dtype), parts, axis=0)
        rows = reshape(true_w, concat([[-1, self.num_true], shape_of(true_w)[1:]], 0))
        true_logits = reduce_sum(multiply(x[:, None], rows), 2) + reshape(true_b, [-1, self.num_true])
        sample_logits = matmul(x, sample_w, transpose_b=True) + sample_b
        if removes_hits:
            known_seeds()  # TensorFlow counts looking for them as a random operation
            hits = reduce_any(equal(true[:, :, None], sample), 1)
            sample_logits = where(hits, sample_logits + x.dtype.min, sample_logits)
        true_logits = true_logits - log(cast(of_true, x.dtype))
        sample_logits = sample_logits - log(cast(of_sample, x.dtype))
        targets = [ones_like(true_logits) / self.num_true, zeros_like(sample_logits)]
        return concat([true_logits, sample_logits], 1), concat(targets, 1)

    def _drawn(self, true: Tensor) -> list[Tensor]:
        given = self.given
        if given is None:
            given = log_uniform_candidate_sampler(true, self.num_true, self.count, True, self.classes, self.seed)
        if not isinstance(given, (list, tuple)) or len(given) != 3:
            raise ArgumentError("sampled_values is what a sampler gives: a sample, and two tensors of expected counts.")
        sample, of_true, of_sample = (stop_gradient(convert_to_tensor(each)) for each in given)
        return [cast(sample, dt.int64), of_true, of_sample]
