"""Large graphs, many traces and recurrent layers, written once for both libraries; prints figures as JSON.

python graph_programs.py situs|tensorflow
"""

import importlib
import json
import logging
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np

NODES = 32_000
TRACES = 1200
BATCH, STEPS, INPUTS, UNITS = 32, 50, 32, 64


def best(call, rounds=15):
    """Seconds of the quickest call."""
    found = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        found = min(found, time.perf_counter() - start)
    return found


def large_graph(tf):
    """A graph of 32,000 nodes: written as a message, with shapes too, and imported."""
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        h = v1.placeholder(tf.float32, [2, 2])
        w = tf.constant(np.eye(2, dtype=np.float32))
        for _ in range(NODES // 2):
            h = tf.add(tf.matmul(h, w), w)

    content = graph.as_graph_def()

    def imported():
        with tf.Graph().as_default():
            v1.import_graph_def(content, name="")

    return {
        "as_graph_def of 32,000 nodes": best(graph.as_graph_def, 5),
        "the same with shapes": best(lambda: graph.as_graph_def(add_shapes=True), 5),
        "import_graph_def of 32,000 nodes": best(imported, 3),
    }


def many_traces(tf):
    """A function called with 1,200 shapes: a trace among the last hundred; how much longer than the first hundred."""
    function = tf.function(lambda x: tf.reduce_sum(tf.nn.relu(x * 2.0 + 1.0)))
    seconds = []
    for number in range(TRACES):
        x = tf.zeros([2 + number % 60, 2 + number // 60])
        seconds.append(best(lambda x=x: function(x), 1))
    last, first = np.median(seconds[-100:]), np.median(seconds[:100])
    return {"a trace after 1,200 others": float(last), "growth of traces over 1,200": float(last / first)}


def recurrent(tf):
    """An LSTM unrolled, as tf.while_loop and as a layer: forwards, and with its gradients."""
    values = np.random.default_rng(0)
    w = tf.Variable(values.normal(size=(INPUTS + UNITS, 4 * UNITS)).astype(np.float32) * 0.1)
    b = tf.Variable(np.zeros(4 * UNITS, np.float32))
    x = tf.constant(values.normal(size=(BATCH, STEPS, INPUTS)).astype(np.float32))
    layer = tf.keras.layers.LSTM(UNITS, return_sequences=True)
    layer(x)
    weights = [v if callable(v.value) else v.value for v in layer.trainable_variables]  # Keras wraps TensorFlow's

    def cell(x, h, c):
        i, f, g, o = tf.split(tf.matmul(tf.concat([x, h], 1), w) + b, 4, 1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(c), c

    def unrolled(x):
        h = c = tf.zeros([BATCH, UNITS])
        for step in range(STEPS):
            h, c = cell(x[:, step], h, c)
        return tf.reduce_sum(h * h)

    def looped(x):
        rows = tf.TensorArray(tf.float32, STEPS).unstack(tf.transpose(x, [1, 0, 2]))
        made = tf.TensorArray(tf.float32, STEPS)

        def body(t, h, c, made):
            h, c = cell(rows.read(t), h, c)
            return t + 1, h, c, made.write(t, h)

        zeros = tf.zeros([BATCH, UNITS])
        state = (tf.constant(0), zeros, zeros, made)
        return tf.reduce_sum(tf.while_loop(lambda t, *_: t < STEPS, body, state)[3].stack() ** 2)

    figures = {}
    programs = {
        "unrolled": (unrolled, [w, b]),
        "in a loop": (looped, [w, b]),
        "as a layer": (lambda x: tf.reduce_sum(layer(x) ** 2), weights),
    }
    for name, (program, variables) in programs.items():

        def gradients(x, program=program, variables=variables):
            with tf.GradientTape() as tape:
                y = program(x)
            return tape.gradient(y, variables)

        forward, both = tf.function(program, autograph=False), tf.function(gradients, autograph=False)
        for _ in range(12):
            forward(x), both(x)
        figures[f"LSTM {name}, forwards"] = best(lambda run=forward: run(x).numpy(), 30)
        figures[f"LSTM {name}, and back"] = best(lambda run=both: run(x)[0].numpy(), 30)
    return figures


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    library = importlib.import_module(sys.argv[1])
    print(json.dumps(large_graph(library) | many_traces(library) | recurrent(library)))
