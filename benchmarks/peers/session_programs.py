"""The graph programs that are measured, written once for both libraries: `tf` is the module of either.

Every measurement gives seconds, the best of several; memory is in bytes.
"""

import json
import re
import sys
import time
from pathlib import Path

import numpy as np

SMALL = np.eye(2, dtype=np.float32)
LAYERS, SIDE = 200, 4096  # activations of 64 MiB


def best(call, number, rounds=9):
    """Seconds per call, the best of several rounds."""
    call()
    found = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(number):
            call()
        found = min(found, (time.perf_counter() - start) / number)
    return found


def one_op(tf):
    """(a) A run of one op with one feed."""
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32, [2, 2])
    y = tf.matmul(x, x)
    with tf.Session() as session:
        return best(lambda: session.run(y, {x: SMALL}), 500)


def chain_graph(tf, nodes=1000):
    """The graph of (b): alternating products and sums, each of the one before."""
    x = tf.placeholder(tf.float32, [2, 2])
    w = tf.constant(SMALL)
    h = x
    for _ in range(nodes // 2):
        h = tf.matmul(h, w)
        h = tf.add(h, w)
    return x, h


def tiny_chain(tf):
    """(b) 1,000 tiny nodes that follow each other."""
    tf.reset_default_graph()
    x, h = chain_graph(tf)
    with tf.Session() as session:
        for _ in range(20):
            session.run(h, {x: SMALL})
        return best(lambda: session.run(h, {x: SMALL}), 20)


def wide_products(tf):
    """(c) 100 independent products of 512 x 512 matrices."""
    tf.reset_default_graph()
    values = np.random.default_rng(0).random((101, 512, 512), dtype=np.float32)
    x = tf.placeholder(tf.float32, [512, 512])
    operations = [tf.matmul(x, tf.constant(value)).op for value in values[1:]]
    with tf.Session() as session:
        return best(lambda: session.run(operations, {x: values[0]}), 1, 15)


def build_and_place(tf, nodes=10_000):
    """(d) Building a graph of 10,000 nodes and placing it: a first run of one of them places them all."""

    def once():
        tf.reset_default_graph()
        start = time.perf_counter()
        x, _ = chain_graph(tf, nodes)
        with tf.Session() as session:
            session.run(x, {x: SMALL})
        return time.perf_counter() - start

    return min(once() for _ in range(3))


def deep_memory(tf):
    """(e) What a chain of 200 layers takes beside its input, in activations. To be asked of a fresh process."""
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32, [SIDE, SIDE])
    h = x
    for _ in range(LAYERS):
        h = tf.tanh(h)
    with tf.Session() as session:
        small = tf.reduce_sum(h)
        value = np.ones((SIDE, SIDE), np.float32)
        session.run(tf.reduce_sum(tf.tanh(tf.constant(SMALL))))  # what the library itself takes
        before = peak_bytes()
        session.run(small, {x: value})
        return (peak_bytes() - before) / value.nbytes


def peak_bytes():
    """The most memory this process has held; not from getrusage, which counts the parent's before the start."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+) kB", status).group(1)) * 1024


CASES = {
    "one op, one feed": one_op,
    "1000 tiny nodes": tiny_chain,
    "100 products of 512x512": wide_products,
    "build and place 10,000 nodes": build_and_place,
}


def main(tf):
    """Prints the figures as JSON: everything, or the memory alone."""
    if sys.argv[1:] == ["memory"]:
        print(json.dumps({"peak of 200 layers": deep_memory(tf)}))
    else:
        print(json.dumps({name: case(tf) for name, case in CASES.items()}))
