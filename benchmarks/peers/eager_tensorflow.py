"""The eager cases in TensorFlow; prints nanoseconds per call as JSON."""

import json
import os
import timeit

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

VALUES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
with tf.device("/cpu:0"):
    a, b, c = tf.constant(VALUES, shape=[2, 3]), tf.constant(VALUES, shape=[3, 2]), tf.ones([2, 3])


def best(call):
    call()
    return min(timeit.repeat(call, number=2000, repeat=7)) / 2000 * 1e9


figures = {
    "matmul 2x3 @ 3x2": best(lambda: tf.matmul(a, b)),
    "add 2x3": best(lambda: tf.add(a, c)),
    "a + b": best(lambda: a + c),
    "a * 2.0": best(lambda: a * 2.0),
    "a[0]": best(lambda: a[0]),
    "reduce_sum": best(lambda: tf.reduce_sum(a)),
    "reshape": best(lambda: tf.reshape(a, [3, 2])),
    "constant of six floats": best(lambda: tf.constant(VALUES)),
}
with tf.device("/cpu:0"):
    figures["matmul in device scope"] = best(lambda: tf.matmul(a, b))
    figures["add in device scope"] = best(lambda: tf.add(a, c))
print(json.dumps(figures))
