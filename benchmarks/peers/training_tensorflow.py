"""Training steps in TensorFlow: a ``tf.function``, a tape, gradient descent."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
from models import RATE, batch, labels, weights
from training_loop import main


def forward(made, h):
    """The layers of a network."""
    for number, (w, b) in enumerate(made):
        if len(w.shape) == 4:
            h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(h, w, 1, "SAME"), b))
            h = tf.nn.max_pool2d(h, 3, 2, "VALID")
            continue
        if len(h.shape) > 2:
            h = tf.reshape(h, [-1, w.shape[0]])
        h = tf.nn.bias_add(tf.matmul(h, w), b)
        if number < len(made) - 1:
            h = tf.nn.relu(h)
    return h


def classifier(model):
    """A step by gradient descent; the update is the op itself, without an optimizer around it."""

    def make():
        made = [(tf.Variable(w), tf.Variable(b)) for w, b in weights(model)]
        variables = [variable for pair in made for variable in pair]
        x, y = tf.constant(batch(model)), tf.constant(labels())

        @tf.function
        def step(x, y):
            with tf.GradientTape() as tape:
                logits = forward(made, x)
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
            for variable, grad in zip(variables, tape.gradient(loss, variables), strict=True):
                variable.assign_sub(RATE * grad)
            return loss

        return lambda: step(x, y)

    return make


if __name__ == "__main__":
    main({model: classifier(model) for model in ("mlp", "cnn")})
