"""The eager cases in TensorFlow; prints nanoseconds per call as JSON."""

import json
import os
import timeit

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

VALUES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
with tf.device("/cpu:0"):
    a, b, c = tf.constant(VALUES, shape=[2, 3]), tf.constant(VALUES, shape=[3, 2]), tf.ones([2, 3])
    v, w = tf.Variable(tf.ones([3, 2])), tf.Variable(tf.ones([2, 3]))
    layer = tf.keras.layers.Dense(2)
    layer(a)


def best(call):
    call()
    return min(timeit.repeat(call, number=2000, repeat=7)) / 2000 * 1e9


figures = {
    "matmul 2x3 @ 3x2": best(lambda: tf.matmul(a, b)),
    "add 2x3": best(lambda: tf.add(a, c)),
    "a + b": best(lambda: a + c),
    "a * 2.0": best(lambda: a * 2.0),
    "matmul(a, v)": best(lambda: tf.matmul(a, v)),
    "matmul(v, a)": best(lambda: tf.matmul(v, a)),
    "add(a, w)": best(lambda: tf.add(a, w)),
    "w + a": best(lambda: w + a),
    "w * w": best(lambda: w * w),
    "w * 2.0": best(lambda: w * 2.0),
    "relu(w)": best(lambda: tf.nn.relu(w)),
    "reduce_sum(w)": best(lambda: tf.reduce_sum(w)),
    "w[0]": best(lambda: w[0]),
    "w.assign(a)": best(lambda: w.assign(a)),
    "w.assign_add(a)": best(lambda: w.assign_add(a)),
    "Dense layer": best(lambda: layer(a)),
    "a[0]": best(lambda: a[0]),
    "a[:, 1:3]": best(lambda: a[:, 1:3]),
    "a[..., None]": best(lambda: a[..., None]),
    "reshape": best(lambda: tf.reshape(a, [3, 2])),
    "reshape [-1]": best(lambda: tf.reshape(a, [-1])),
    "transpose": best(lambda: tf.transpose(a)),
    "reduce_sum": best(lambda: tf.reduce_sum(a)),
    "reduce_mean axis=1": best(lambda: tf.reduce_mean(a, axis=1)),
    "reduce_max": best(lambda: tf.reduce_max(a)),
    "argmax": best(lambda: tf.argmax(a, 1)),
    "concat": best(lambda: tf.concat([a, c], 0)),
    "stack": best(lambda: tf.stack([a, c])),
    "cast": best(lambda: tf.cast(a, tf.int32)),
    "shape": best(lambda: tf.shape(a)),
    "constant of six floats": best(lambda: tf.constant(VALUES)),
}
with tf.device("/cpu:0"):
    figures["matmul in device scope"] = best(lambda: tf.matmul(a, b))
    figures["add in device scope"] = best(lambda: tf.add(a, c))
print(json.dumps(figures))
