"""Large graphs, many traces, recurrent layers and loops, written once for both libraries; prints figures as JSON.

python graph_programs.py situs|tensorflow [large_graph] [many_traces] [recurrent] [loops] [long_session]
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
    """Seconds of CPU time that the quickest call takes."""
    found = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        call()
        found = min(found, time.process_time() - start)
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

    programs = {
        "LSTM unrolled": (unrolled, [w, b]),
        "LSTM in a loop": (looped, [w, b]),
        "LSTM as a layer": (lambda x: tf.reduce_sum(layer(x) ** 2), weights),
    }
    return both_ways(tf, programs, x)


def both_ways(tf, programs, x):
    """Figures of functions of a tensor, each with its variables: forwards, and with their gradients."""
    figures = {}
    for name, (program, variables) in programs.items():

        def gradients(x, program=program, variables=variables):
            with tf.GradientTape() as tape:
                y = program(x)
            return tape.gradient(y, variables)

        forward, both = tf.function(program), tf.function(gradients)
        for _ in range(12):
            forward(x), both(x)
        figures[f"{name}, forwards"] = best(lambda run=forward: run(x).numpy(), 30)
        figures[f"{name}, and back"] = best(lambda run=both: tf.convert_to_tensor(run(x)[0]).numpy(), 30)
    return figures


def loops(tf):
    """Other recurrent layers, and loops of the kinds that programs write."""
    values = np.random.default_rng(1)
    x = tf.constant(values.normal(size=(STEPS, BATCH, INPUTS)).astype(np.float32))
    across = tf.Variable(values.normal(size=(INPUTS, UNITS)).astype(np.float32) * 0.1)
    along = tf.Variable(values.normal(size=(UNITS, UNITS)).astype(np.float32) * 0.1)
    first = tf.zeros([BATCH, UNITS])

    def step(h, row):
        return tf.tanh(tf.matmul(row, across) + tf.matmul(h, along))

    def by_range(x):
        h = first
        for t in tf.range(STEPS):
            h = step(h, x[t])
        return tf.reduce_sum(h * h)

    def mapped(x):
        made = tf.map_fn(lambda row: tf.tanh(tf.matmul(row, across)), x)
        return tf.reduce_sum(made * made)

    def counted(x):
        total = along[0, 0]
        for number in tf.range(1000):
            total = total * 0.999 + tf.cast(number, tf.float32) * 0.001
        return total

    def branching(x):
        total = along[0, 0]
        for _ in tf.range(500):
            total = total * 0.9 if total > 0.5 else total * 1.1 + 0.01
        return total

    programs = {
        "for over tf.range": (by_range, [across, along]),
        "tf.scan": (lambda x: tf.reduce_sum(tf.scan(step, x, first) ** 2), [across, along]),
        "tf.map_fn": (mapped, [across]),
        "1,000 turns of scalars": (counted, [along]),
        "500 turns with a branch": (branching, [along]),
    }
    for kind in ("GRU", "SimpleRNN"):
        layer = getattr(tf.keras.layers, kind)(UNITS, return_sequences=True)
        layer(x)
        weights = [v if callable(v.value) else v.value for v in layer.trainable_variables]
        programs[f"{kind} as a layer"] = (lambda x, layer=layer: tf.reduce_sum(layer(x) ** 2), weights)
    return both_ways(tf, programs, x)


def long_session(tf):
    """A chain of 5,000 small operations in a session: built, differentiated, and run."""
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        x, w = v1.placeholder(tf.float32, [2, 2]), v1.get_variable("w", [2, 2])
        start = time.process_time()
        h = x
        for _ in range(2500):
            h = tf.tanh(h) * w
        y = tf.reduce_sum(h)
        built = time.process_time() - start
        start = time.process_time()
        gradients = v1.gradients(y, [w, x])
        differentiated = time.process_time() - start
        config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
        with v1.Session(config=config) as session:
            session.run(v1.global_variables_initializer())
            feed = {x: np.full([2, 2], 0.1, np.float32)}
            first = best(lambda: session.run(gradients, feed), 1)
            for _ in range(12):
                session.run(y, feed), session.run(gradients, feed)
            return {
                "building 5,000 operations": built,
                "their gradients": differentiated,
                "the first run of these": first,
                "a run of 5,000 operations": best(lambda: session.run(y, feed)),
                "a run of their gradients": best(lambda: session.run(gradients, feed)),
            }


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    library = importlib.import_module(sys.argv[1])
    if sys.argv[1] == "tensorflow":
        library.config.threading.set_intra_op_parallelism_threads(1)
        library.config.threading.set_inter_op_parallelism_threads(1)
    parts = (large_graph, many_traces, recurrent, loops, long_session)
    chosen = [part for part in parts if part.__name__ in sys.argv[2:]] or parts
    print(json.dumps({case: figure for part in chosen for case, figure in part(library).items()}))
