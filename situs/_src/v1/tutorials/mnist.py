"""``tensorflow.examples.tutorials.mnist.mnist``: the network with two hidden layers of the first tutorial."""

from __future__ import annotations

import math

from situs._src.base import dtype as dt
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ir.graph.context import name_scope
from situs._src.ir.graph.node import Operation
from situs._src.ops.cast import cast
from situs._src.ops.constant import zeros
from situs._src.ops.linalg import matmul
from situs._src.ops.nn.activation import relu
from situs._src.ops.random import truncated_normal
from situs._src.ops.reduce import reduce_sum
from situs._src.ops.search import in_top_k_v1
from situs._src.summaries.graph_summaries import scalar
from situs._src.v1.frontend import builds
from situs._src.v1.losses import sparse_softmax_cross_entropy
from situs._src.v1.optimizers.optimizers import GradientDescentOptimizer
from situs._src.variables.symbolic import RefVariable

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


@builds
def inference(images: ArrayLike, hidden1_units: int, hidden2_units: int) -> Tensor:
    """What the network makes of images, batch x 784: batch x 10, before the softmax.

    Args:
        images: The images.
        hidden1_units: The size of the first hidden layer.
        hidden2_units: The size of the second one.
    """
    values, size = images, IMAGE_PIXELS
    for name, units in (("hidden1", hidden1_units), ("hidden2", hidden2_units), ("softmax_linear", NUM_CLASSES)):
        with name_scope(name):
            first = truncated_normal([size, units], stddev=1.0 / math.sqrt(float(size)))
            weights = RefVariable(first, name="weights")
            biases = RefVariable(zeros([units]), name="biases")
            linear = matmul(values, weights) + biases
            values, size = linear if name == "softmax_linear" else relu(linear), units
    return linear


@builds
def loss(logits: ArrayLike, labels: ArrayLike) -> Tensor:
    """The mean cross-entropy of labels, which are integers."""
    return sparse_softmax_cross_entropy(labels=cast(labels, dt.int64), logits=logits)


@builds
def training(loss: Tensor, learning_rate: float) -> Operation:
    """A step of gradient descent, which is counted, with a summary of the loss."""
    scalar("loss", loss)
    optimizer = GradientDescentOptimizer(learning_rate)
    step = RefVariable(0, name="global_step", trainable=False)
    made: Operation = optimizer.minimize(loss, global_step=step)
    return made


@builds
def evaluation(logits: ArrayLike, labels: ArrayLike) -> Tensor:
    """How many of a batch are recognized."""
    return reduce_sum(cast(in_top_k_v1(logits, labels, 1), dt.int32))


__all__ = ["IMAGE_PIXELS", "IMAGE_SIZE", "NUM_CLASSES", "evaluation", "inference", "loss", "training"]
