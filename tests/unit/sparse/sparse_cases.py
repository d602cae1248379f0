"""Sparse tensors: calls whose results are known.

``cases(tf)`` are calls by name; run with TensorFlow 2.21 they gave the figures in ``tests/data/sparse_figures.json``.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def shown(tf: Any, x: Any) -> Any:
    """A result as JSON has it."""

    def show(x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return [show(i) for i in x]
        if isinstance(x, tf.SparseTensor):
            return [
                "S",
                x.indices.numpy().tolist(),
                x.values.numpy().tolist(),
                x.dense_shape.numpy().tolist(),
                str(x.shape),
                x.dtype.name,
            ]
        if hasattr(x, "numpy"):
            return [
                "D",
                np.round(x.numpy(), 4).tolist()
                if x.dtype is tf.float32
                else np.asarray(x.numpy()).tolist()
                if x.dtype != tf.string
                else [str(v) for v in x.numpy().ravel()],
                x.dtype.name,
            ]
        return str(x)

    return show(x)


def cases(tf: Any) -> dict[str, Any]:
    """The calls, by name."""

    def show(x: Any) -> Any:
        return shown(tf, x)

    sp = tf.SparseTensor([[0, 0], [1, 2], [2, 1]], [1.0, 2.0, -3.0], [3, 4])
    sq = tf.SparseTensor([[0, 0], [1, 1]], [10.0, 20.0], [3, 4])
    un = tf.SparseTensor([[2, 1], [0, 0], [1, 2]], [-3.0, 1.0, 2.0], [3, 4])
    s3 = tf.SparseTensor([[0, 0, 1], [0, 1, 0], [1, 1, 1]], [1, 2, 3], [2, 2, 2])
    d = tf.reshape(tf.range(12.0), [3, 4])
    T = {
        "from_dense": lambda: tf.sparse.from_dense([[0, 3], [4, 0]]),
        "from_str": lambda: tf.sparse.from_dense([["", "a"], ["b", ""]]),
        "to_dense": lambda: tf.sparse.to_dense(sp),
        "to_dense_d": lambda: tf.sparse.to_dense(sp, default_value=9.0),
        "to_dense_s": lambda: tf.sparse.to_dense(tf.sparse.from_dense([["", "a"], ["b", ""]]), default_value="z"),
        "to_dense_un": lambda: tf.sparse.to_dense(un),
        "to_dense_un2": lambda: tf.sparse.to_dense(un, validate_indices=False),
        "to_dense_oob": lambda: tf.sparse.to_dense(tf.SparseTensor([[5, 5]], [1.0], [2, 2])),
        "reorder": lambda: tf.sparse.reorder(un),
        "add": lambda: tf.sparse.add(sp, sq),
        "add_t": lambda: tf.sparse.add(sp, sq, threshold=3.0),
        "add_d": lambda: tf.sparse.add(sp, d),
        "matmul": lambda: tf.sparse.sparse_dense_matmul(sp, tf.transpose(d)),
        "matmul_a": lambda: tf.sparse.sparse_dense_matmul(sp, d, adjoint_a=True),
        "matmul_b": lambda: tf.sparse.sparse_dense_matmul(sp, d, adjoint_b=True),
        "matmul_ds": lambda: tf.sparse.sparse_dense_matmul(tf.transpose(d), sp),
        "rsum": lambda: [
            tf.sparse.reduce_sum(sp),
            tf.sparse.reduce_sum(sp, 0),
            tf.sparse.reduce_sum(sp, 1),
            tf.sparse.reduce_sum(sp, [0], keepdims=True),
            tf.sparse.reduce_sum(s3, axis=[0, 2]),
        ],
        "rmax": lambda: [
            tf.sparse.reduce_max(sp),
            tf.sparse.reduce_max(sp, 0),
            tf.sparse.reduce_max(sp, -1, keepdims=True),
        ],
        "rsum_s": lambda: tf.sparse.reduce_sum(sp, 0, output_is_sparse=True),
        "slice": lambda: tf.sparse.slice(sp, [1, 0], [2, 3]),
        "concat0": lambda: tf.sparse.concat(0, [sp, sq]),
        "concat1": lambda: tf.sparse.concat(-1, [sp, sq]),
        "concat_e": lambda: tf.sparse.concat(
            0, [sp, tf.SparseTensor([[0, 6]], [1.0], [1, 7])], expand_nonconcat_dims=True
        ),
        "concat_bad": lambda: tf.sparse.concat(0, [sp, tf.SparseTensor([[0, 6]], [1.0], [1, 7])]),
        "reshape": lambda: tf.sparse.reshape(sp, [2, -1]),
        "reshape_bad": lambda: tf.sparse.reshape(sp, [5, 5]),
        "expand": lambda: [
            tf.sparse.expand_dims(sp),
            tf.sparse.expand_dims(sp, 0),
            tf.sparse.expand_dims(sp, 1),
            tf.sparse.expand_dims(sp, -2),
        ],
        "transpose": lambda: [tf.sparse.transpose(sp), tf.sparse.transpose(s3, [1, 0, 2])],
        "retain": lambda: tf.sparse.retain(sp, [True, False, True]),
        "reset": lambda: [tf.sparse.reset_shape(sp), tf.sparse.reset_shape(sp, [5, 5])],
        "fill_empty": lambda: tf.sparse.fill_empty_rows(tf.SparseTensor([[0, 1], [2, 0]], [1, 2], [4, 2]), 7),
        "softmax": lambda: tf.sparse.softmax(tf.SparseTensor([[0, 0], [0, 2], [2, 1]], [1.0, 2.0, -3.0], [3, 4])),
        "split": lambda: tf.sparse.split(sp, 2, axis=1),
        "split3": lambda: tf.sparse.split(sp, 3, axis=1),
        "max": lambda: tf.sparse.maximum(sp, sq),
        "min": lambda: tf.sparse.minimum(sp, sq),
        "map_values": lambda: tf.sparse.map_values(tf.abs, sp),
        "map2": lambda: tf.sparse.map_values(tf.add, sp, sp),
        "eye": lambda: tf.sparse.eye(2, 3),
        "ind": lambda: tf.sparse.to_indicator(tf.SparseTensor([[0, 0], [1, 1]], [1, 2], [2, 2]), 4),
        "cast": lambda: tf.cast(sp, tf.int32),
        "mul": lambda: sp * d,
        "div": lambda: sp / 2.0,
        "neg": lambda: -sp,
        "bincount": lambda: [
            tf.sparse.to_dense(tf.sparse.bincount([[1, 1, 3], [0, 2, 2]], axis=-1)),
            tf.sparse.to_dense(tf.sparse.bincount([1, 1, 3])),
        ],
        "bincount_b": lambda: tf.sparse.bincount([[1, 1, 3], [0, 2, 2]], axis=-1, binary_output=True, minlength=6),
        "empty": lambda: tf.sparse.to_dense(
            tf.SparseTensor(np.zeros((0, 2), np.int64), np.zeros((0,), np.float32), [2, 2])
        ),
        "empty_add": lambda: tf.sparse.add(
            tf.SparseTensor(np.zeros((0, 2), np.int64), np.zeros((0,), np.float32), [3, 4]), sp
        ),
        "bad_rank": lambda: tf.SparseTensor([1, 2], [1.0], [2]),
        "bad_n": lambda: tf.SparseTensor([[1, 2]], [1.0, 2.0], [2, 2]),
        "bad_in": lambda: tf.sparse.to_dense(3),
    }

    def fun():
        @tf.function
        def f(s):
            return (
                tf.sparse.add(s, s),
                tf.sparse.to_dense(tf.sparse.reshape(tf.sparse.transpose(s), [-1, 6])),
                tf.sparse.reduce_sum(s, 0),
            )

        return f(sp)

    T["function"] = fun

    def grad():
        v = tf.Variable([1.0, 2.0, 3.0])
        b = tf.Variable(tf.transpose(d))
        with tf.GradientTape() as t:
            s = tf.SparseTensor([[0, 0], [1, 2], [2, 1]], v, [3, 4])
            y = (
                tf.reduce_sum(tf.sparse.sparse_dense_matmul(s, b) ** 2)
                + tf.reduce_sum(tf.sparse.to_dense(s) ** 3)
                + tf.reduce_sum(tf.sparse.softmax(s).values * s.values)
            )
        return list(t.gradient(y, [v, b]))

    T["grad"] = grad

    def spec_fun():
        @tf.function(input_signature=[tf.SparseTensorSpec([None, 4], tf.float32)])
        def f(s):
            return tf.sparse.sparse_dense_matmul(s, tf.ones([4, 1])), s

        return f(sp)

    T["spec"] = spec_fun
    return T
