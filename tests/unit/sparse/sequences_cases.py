"""Sequences of labels: calls whose results are known.

``cases(tf)`` are calls by name; run with TensorFlow 2.21 they gave the figures in
``tests/data/sequences_figures.json``.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def cases(tf: Any) -> dict[str, Any]:
    """The calls, by name."""

    def show(x):
        if isinstance(x, (list, tuple)):
            return [show(i) for i in x]
        if isinstance(x, tf.SparseTensor):
            return [
                "S",
                x.indices.numpy().tolist(),
                x.values.numpy().tolist(),
                x.dense_shape.numpy().tolist(),
                x.dtype.name,
            ]
        if hasattr(x, "numpy"):
            return ["D", np.round(x.numpy().astype("float64"), 3).tolist(), x.dtype.name]
        return str(x)

    rng = np.random.RandomState(0)
    L = rng.randn(6, 2, 5).astype("float32")
    lab = np.array([[1, 2, 2, 0], [3, 1, 0, 0]], np.int32)
    ll = [3, 2]
    tl = [6, 4]
    sp = tf.SparseTensor([[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]], np.array([1, 2, 2, 3, 1], np.int32), [2, 4])

    def g(f):
        v = tf.Variable(L)
        with tf.GradientTape() as t:
            y = f(v)
        return [y, t.gradient(y, v)]

    T = {
        "dense": lambda: g(lambda v: tf.nn.ctc_loss(lab, v, ll, tl)),
        "blank": lambda: g(lambda v: tf.nn.ctc_loss(lab, v, ll, tl, blank_index=-1)),
        "sparse": lambda: g(lambda v: tf.nn.ctc_loss(sp, v, None, tl, blank_index=-1)),
        "batchmajor": lambda: tf.nn.ctc_loss(lab, tf.transpose(L, [1, 0, 2]), ll, tl, logits_time_major=False),
        "need": lambda: tf.nn.ctc_loss(sp, L, None, tl),
        "greedy": lambda: list(tf.nn.ctc_greedy_decoder(L, tl)),
        "greedy2": lambda: list(tf.nn.ctc_greedy_decoder(L, tl, merge_repeated=False, blank_index=0)),
        "edit": lambda: [
            tf.edit_distance(
                tf.SparseTensor([[0, 0, 0], [1, 0, 0]], ["a", "b"], [2, 1, 1]),
                tf.SparseTensor([[0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0]], ["a", "b", "c", "a"], [2, 2, 2]),
            ),
            tf.edit_distance(sp, sp, normalize=False),
        ],
        "func": lambda: tf.function(lambda v: tf.nn.ctc_loss(lab, v, ll, tl))(tf.constant(L)),
    }
    return {name: lambda call=call: show(call()) for name, call in T.items()}
