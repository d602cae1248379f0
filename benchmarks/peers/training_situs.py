"""Training steps in Situs, as functions and in sessions; on the card if there is one."""

import os

import torch

os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"

from models import GPT_RATE, HEADS, LAYERS, RATE, WIDTH, batch, gpt_batch, gpt_weights, labels, weights
from training_loop import main

import situs as tf
import situs.compat.v1 as tf1


def network(nn, matmul, reshape, made, h):
    """The layers of a network with given weights: pairs of a filter or matrix, and a bias."""
    for number, (w, b) in enumerate(made):
        if len(w.shape) == 4:
            h = nn.relu(nn.bias_add(nn.conv2d(h, w, strides=[1, 1, 1, 1], padding="SAME"), b))
            h = nn.max_pool(h, [1, 3, 3, 1], [1, 2, 2, 1], "VALID")
            continue
        if len(h.shape) > 2:
            h = reshape(h, [-1, w.shape[0]])
        h = nn.bias_add(matmul(h, w), b)
        if number < len(made) - 1:
            h = nn.relu(h)
    return h


def classifier(model):
    """A step as a function, by gradient descent."""

    def make():
        made = [(tf.Variable(w), tf.Variable(b)) for w, b in weights(model)]
        variables = [variable for pair in made for variable in pair]
        x, y = tf.identity(tf.constant(batch(model))), tf.identity(tf.constant(labels()))
        optimizer = tf.keras.optimizers.SGD(RATE)

        @tf.function
        def step(x, y):
            with tf.GradientTape() as tape:
                logits = network(tf.nn, tf.matmul, tf.reshape, made, x)
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
                loss = tf.reduce_mean(losses)
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            return loss

        return lambda: step(x, y)

    return make


def in_session(model):
    """A step of a session that is fed, by gradient descent."""

    def make():
        data = batch(model)
        with tf1.Graph().as_default():
            x = tf1.placeholder(tf.float32, [None, *data.shape[1:]])
            y = tf1.placeholder(tf.int64, [None])
            made = [(tf1.Variable(w), tf1.Variable(b)) for w, b in weights(model)]
            logits = network(tf1.nn, tf1.matmul, tf1.reshape, made, x)
            loss = tf1.reduce_mean(tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
            train = tf1.train.GradientDescentOptimizer(RATE).minimize(loss)
            session = tf1.Session()
            session.run(tf1.global_variables_initializer())
        feed = {x: data, y: labels()}
        return lambda: session.run([loss, train], feed)[0]

    return make


def tape():
    """100 small ops recorded in eager code, and their gradient."""
    with tf.device("/cpu:0"):
        x = tf.constant([0.5] * 8)

    def step():
        with tf.device("/cpu:0"), tf.GradientTape() as tape:
            tape.watch(x)
            h = x
            for _ in range(50):
                h = h * x + x
            total = tf.reduce_sum(h)
        tape.gradient(total, x)
        return total

    return step


def gpt(attend):
    """A step of the GPT as a function, by AdamW; `attend` makes one of queries, keys and values."""
    return lambda: gpt_step(attend)


def gpt_step(attend):
    w = {name: tf.Variable(tf.cast(value, tf.bfloat16)) for name, value in gpt_weights().items()}
    variables = list(w.values())
    tokens, following = (tf.identity(tf.constant(part)) for part in gpt_batch())
    optimizer = tf.keras.optimizers.AdamW(GPT_RATE, weight_decay=0.1, epsilon=1e-8)

    @tf.function
    def step(tokens, following):
        with tf.GradientTape() as tape:
            logits = tf.cast(gpt_logits(w, tokens, attend), tf.float32)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=following, logits=logits)
            loss = tf.reduce_mean(losses)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return lambda: step(tokens, following)


def gpt_logits(w, tokens, attend):
    """What may come next, before the softmax."""
    h = tf.gather(w["wte"], tokens) + w["wpe"][: tokens.shape[1]]
    for layer in range(LAYERS):
        h += attention(w, f"{layer}/", norm(w, f"{layer}/before attention", h), attend)
        h += mlp(w, f"{layer}/", norm(w, f"{layer}/before mlp", h))
    return tf.matmul(norm(w, "last", h), w["wte"], transpose_b=True)


def norm(w, name, h):
    return tf.nn.layer_norm(h, w[f"{name}/scale"], w[f"{name}/shift"], epsilon=1e-5)


def dense(w, name, h):
    return tf.matmul(h, w[name]) + w[f"{name}/bias"]


def mlp(w, at, h):
    return dense(w, at + "down", tf.nn.gelu(dense(w, at + "up", h), approximate=True))


def attention(w, at, h, attend):
    size, length, _ = h.shape
    parts = tf.split(dense(w, at + "qkv", h), 3, -1)
    made = attend(*(tf.reshape(part, [size, length, HEADS, -1]) for part in parts))
    return dense(w, at + "out", tf.reshape(made, [size, length, WIDTH]))


def written_out(query, key, value):
    length = query.shape[1]
    q, k, v = (tf.transpose(part, [0, 2, 1, 3]) for part in (query, key, value))
    scores = tf.matmul(q, k, transpose_b=True) * (WIDTH // HEADS) ** -0.5
    allowed = tf.linalg.band_part(tf.ones([length, length], tf.bool), -1, 0)
    made = tf.matmul(tf.nn.softmax(tf.where(allowed, scores, scores.dtype.min)), v)
    return tf.transpose(made, [0, 2, 1, 3])


def fused(query, key, value):
    return tf.nn.dot_product_attention(query, key, value, is_causal=True)


def bytes_held():
    """The most that tensors held, in a step like any other."""
    return torch.cuda.max_memory_allocated() if torch.cuda.is_available() else None


if __name__ == "__main__":
    models = {model: classifier(model) for model in ("mlp", "cnn")}
    models |= {f"{model}, session": in_session(model) for model in ("mlp", "cnn")}
    models |= {"gpt": gpt(written_out), "gpt, attention fused": gpt(fused)}
    main(models | {"tape": tape}, memory=bytes_held)
