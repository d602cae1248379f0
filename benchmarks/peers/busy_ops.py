"""Ops of some size on the CPU, in Situs or TensorFlow; prints the median of each in microseconds as JSON."""

import json
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
if sys.argv[1] == "situs":
    import situs as tf
else:
    import tensorflow as tf

AT_LEAST = 0.3  # seconds for each op

x, y, m = tf.ones([256, 256]), tf.ones([1024, 1024]), tf.ones([512, 512])
image, kernel = tf.ones([8, 32, 32, 16]), tf.ones([3, 3, 16, 32])
ops = {
    "add 256x256": lambda: x + x,
    "add 1024x1024": lambda: y + y,
    "sum 1024x1024": lambda: tf.reduce_sum(y),
    "matmul 256": lambda: tf.matmul(x, x),
    "matmul 512": lambda: tf.matmul(m, m),
    "conv 3x3": lambda: tf.nn.conv2d(image, kernel, 1, "SAME"),
}


def median(call):
    for _ in range(5):
        call()
    times, end = [], time.perf_counter() + AT_LEAST
    while time.perf_counter() < end or len(times) < 20:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2] * 1e6


print(json.dumps({name: median(call) for name, call in ops.items()}))
