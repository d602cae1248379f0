"""A model as a Situs graph, in a process of its own: prints, as JSON, what it holds, was to hold and keeps.

    python memory_situs.py cnn 1000 [train]

The second argument is the number of runs after warming up, over which memory must not grow. With ``train``, a run is a
step of gradient descent.
"""

import json
import os
import sys

import numpy as np
import torch
from models import RATE, WARM, batch, labels, weights

if not torch.cuda.is_available():
    os.environ["SITUS_VIRTUAL_GPUS"] = "1x4GiB"
os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"

import situs.compat.v1 as tf
from situs._src.base.budget.ledger import accounts
from situs._src.inspect.planning import plan


def model_graph(model, x):
    """The forward pass, on the GPU."""
    h = x
    made = weights(model)
    for number, (matrix, bias) in enumerate(made):
        w, b = tf.Variable(matrix), tf.Variable(bias)
        if matrix.ndim == 4:
            h = tf.nn.bias_add(tf.nn.conv2d(h, w, strides=[1, 1, 1, 1], padding="SAME"), b)
            h = tf.nn.max_pool(tf.nn.relu(h), [1, 3, 3, 1], [1, 2, 2, 1], "VALID")
            continue
        if h.shape.rank > 2:
            h = tf.reshape(h, [-1, matrix.shape[0]])
        h = tf.nn.bias_add(tf.matmul(h, w), b)
        if number < len(made) - 1:
            h = tf.nn.relu(h)
    return h


def peak():
    """The most that tensors held since the last reset, in bytes: as PyTorch's allocator counts them, on a card."""
    return torch.cuda.max_memory_allocated() if torch.cuda.is_available() else accounts()[0].usage().peak


def reserved():
    """What is taken from the card."""
    return torch.cuda.memory_reserved() if torch.cuda.is_available() else accounts()[0].usage().reserved


def built(model, train):
    """What to fetch, and what to feed: the model's results, or the loss and a step."""
    data = batch(model)
    with tf.device("/gpu:0"):
        x, y = tf.placeholder(tf.float32, [None, *data.shape[1:]]), tf.placeholder(tf.int64, [None])
        made = model_graph(model, x)
        if not train:
            return [made], {x: data}
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=made))
        return [loss, tf.train.GradientDescentOptimizer(RATE).minimize(loss)], {x: data, y: labels()}


def measure(model, steps, train):
    """Bytes by what they are."""
    fetches, feed = built(model, train)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        shapes = {tensor: value.shape for tensor, value in feed.items()}
        planned = plan(fetches, shapes, session)["GPU:0"].peak
        session.run(fetches, feed)
        accounts()[0].reset_peak()
        result = np.atleast_2d(session.run(fetches, feed)[0])
        first = peak()  # of a run like any other: the matrix library has its work space by now
        for _ in range(WARM):
            session.run(fetches, feed)
        before, settled = reserved(), peak()
        for _ in range(steps):
            session.run(fetches, feed)
        figures = {"first": first, "peak": settled, "planned": planned, "grown": reserved() - before}
        return figures | {"result": result[:2].tolist()}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), "train" in sys.argv[3:])))
